"""Launches that stay in one phase for minutes, unless they are cut short."""

from tests.whole.apps import app, page
from tests.whole.processes import running
from tests.whole.story import Story

PHASES = ("fetching", "installing", "preparing", "starting")
NOTES = {"notes.txt": "Milk, bread"}
MINUTES = "for i in $(seq 6000); do sleep 0.05; done\n"
_SIGNS = {"installing": "installing dependencies", "preparing": "preparing the app", "starting": "starting the dev"}


async def blocked(story: Story, phase: str) -> str:
    """Open a pull request whose launch stays in that phase; a word that stands in its process's command line."""
    if phase == "fetching":
        await story.push(page("Older"))
        await story.town.forge.fault("slow", method="GET", path=story.git_path, seconds=60)
        story.number = await story.repository.open_pull("change")
        word = story.sha
    else:
        word = f"blocked-{story.repository.id}"
        command = {"installing": "install", "preparing": "setup", "starting": "start"}[phase]
        await story.open_pull(app("Older", scripts={word: MINUTES}, **{command: f"sh {word}"}))
        await story.reads(_SIGNS[phase], story.sha)
    await running(word)
    return word
