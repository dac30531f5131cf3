"""A phase that fails is told with its cause, what to do, and its last lines; nothing is left, and a push mends it."""

import json

import pytest

from tests.whole import texts
from tests.whole.apps import PAGE, app, page, server
from tests.whole.story import Story
from tests.whole.town import Town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]

FETCHING = "while fetching the commit"
DETECTING = "while looking for what to start"
INSTALLING = "while installing"
PREPARING = "while preparing the app"
STARTING = "while starting the dev server"


async def fails(story: Story) -> str:
    """The comment that tells of the newest commit's failure; nothing is left of the launch."""
    body = await story.reads("🔴", story.sha)
    await story.no_sandbox()
    return story.plain(body)


async def mended(story: Story, files: dict[str, str | None] | None = None) -> None:
    """A push of what works is ready again, in the same comment."""
    await story.push(files or app("Mended"))
    assert "<h1>Mended</h1>" in await story.page(await story.ready())


async def test_a_commit_that_vanished_before_it_was_fetched(town: Town):
    story = await town.story(PAGE)
    await story.push(page("One"))
    await town.forge.fault("slow", method="GET", path=story.git_path, seconds=2)
    story.number = await story.repository.open_pull("change")
    await story.reads("is fetching", story.sha)
    await story.lose_head()
    assert await fails(story) == texts.failed(FETCHING, "GitHub does not have this commit any more.")
    await mended(story, page("Mended"))


async def test_nothing_to_preview(town: Town):
    story = await town.story({"notes.txt": "Milk, bread"})
    await story.open_pull({"notes.txt": "Milk, bread, tea"})
    cause = "Nothing to preview: no manifest, no page and no server was found."
    remedy = 'Name the command in .github/preview.toml: start = "…" and port = ….'
    assert await fails(story) == texts.failed(DETECTING, cause, remedy=remedy)
    await mended(story)


async def test_a_configuration_that_cannot_be_read(town: Town):
    story = await town.story({"notes.txt": "Milk, bread"})
    await story.open_pull({".github/preview.toml": 'strat = "python3 dev-server"\n'})
    cause = '.github/preview.toml: unknown key "strat".'
    assert await fails(story) == texts.failed(DETECTING, cause, remedy='Did you mean "start"?')
    await story.push({".github/preview.toml": 'start = "npm ci && npm start"\n'})
    cause = ".github/preview.toml: start holds '&&', but no shell runs it: write a script and call that."
    assert await fails(story) == texts.failed(DETECTING, cause)
    await mended(story)


async def test_an_install_that_fails(town: Town):
    story = await town.story({"notes.txt": "Milk, bread"})
    await story.open_pull(app(install="sh install", scripts={"install": "echo one\necho two >&2\nexit 3\n"}))
    cause = "`sh install` exited with code 3."
    assert await fails(story) == texts.failed(INSTALLING, cause, detected=texts.OWN, log="one\ntwo")
    await mended(story)


async def test_an_install_that_the_package_manager_refuses(town: Town):
    story = await town.story({"main.py": server("Hello", port=8000)})
    files = {"requirements.txt": "./broken\n", "broken/setup.py": "raise SystemExit('this package is broken')\n"}
    await story.open_pull(files)
    body = await fails(story)
    assert "failed while installing\n\n`uv pip install -r requirements.txt` exited with code 1.\n" in body
    assert "this package is broken" in body


async def test_a_lockfile_that_does_not_match_is_left_out_once_and_said_so(town: Town):
    package = {"name": "shop", "version": "1.0.0", "scripts": {"dev": "node server.js"}}
    lock = {"name": "shop", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": package}}
    listening = "require('http').createServer((_, answer) => answer.end(require('local'))).listen(3000)\n"
    local = {"local/package.json": '{"name": "local", "version": "1.0.0"}', "local/index.js": "module.exports = 'Hi'"}
    story = await town.story({"package-lock.json": json.dumps(lock), "server.js": listening, **local})
    await story.open_pull({"package.json": json.dumps(package | {"dependencies": {"local": "file:./local"}})})
    assert await story.page(await story.ready()) == "Hi"
    (body,) = await story.comments()
    note = "The lockfile does not match its manifest; dependencies were installed without it."
    assert story.plain(body) == texts.ready("Node with npm, started with npm run dev", note)


async def test_a_preparation_that_fails(town: Town):
    story = await town.story({"notes.txt": "Milk, bread"})
    await story.open_pull(app(setup=["true", "sh migrate"], scripts={"migrate": "echo no database\nexit 4\n"}))
    cause = "`sh migrate` exited with code 4."
    assert await fails(story) == texts.failed(PREPARING, cause, detected=texts.OWN, log="no database")
    await story.push(app(build="sh bundle", scripts={"bundle": "echo no bundler\nexit 5\n"}))
    cause = "`sh bundle` exited with code 5."
    assert await fails(story) == texts.failed(PREPARING, cause, detected=texts.OWN, log="no bundler")
    await mended(story)
