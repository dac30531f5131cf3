"""A push to a running preview changes no more than it must: files always, the server and dependencies when needed."""

import json
import re

import pytest

from tests.whole import texts
from tests.whole.apps import PAGE, app, page
from tests.whole.story import Story
from tests.whole.town import Town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]

NODE = """\
const answer = () => `${require('local')} by process ${process.pid}`
require('http').createServer((_, reply) => reply.end(answer())).listen(3000)
"""


async def inside(story: Story, *argv: str) -> str:
    """What a command prints that is run in the sandbox."""
    box = await story.town.sandboxes.find(story.sandbox)
    assert box
    return (await box.read(argv)).decode()


async def servers(story: Story) -> list[str]:
    """Process ids of the static server."""
    return (await inside(story, "pgrep", "-f", "http.server")).split()


def process(body: str) -> str:
    """The process id that a page names."""
    match = re.search(r"by process (\d+)", body)
    assert match, body
    return match[1]


async def test_a_page_changes_under_the_server_that_runs(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    url = await story.ready()
    before = await servers(story)
    await story.push(page("Two"))
    assert await story.ready() == url
    assert "<h1>Two</h1>" in await story.page(url)
    assert await servers(story) == before
    (body,) = await story.comments()
    assert story.plain(body) == texts.ready(texts.STATIC, how="Updated in place")


async def test_a_server_that_does_not_reload_is_started_anew(town: Town):
    story = await town.story({"notes.txt": "Milk, bread"})
    await story.open_pull(app("One"))
    url = await story.ready()
    before = process(await story.page(url))
    await story.push(app("Two"))
    assert await story.ready() == url
    after = await story.page(url)
    assert "<h1>Two</h1>" in after
    assert process(after) != before
    (body,) = await story.comments()
    assert story.plain(body) == texts.ready(texts.OWN)


async def test_a_changed_manifest_installs_and_starts_anew(town: Town):
    package = {"name": "shop", "version": "1.0.0", "scripts": {"dev": "node server.js"}}
    local = {f"{name}/package.json": '{"name": "local", "version": "1.0.0"}' for name in ("one", "two")}
    local |= {f"{name}/index.js": f"module.exports = '{name}'\n" for name in ("one", "two")}
    story = await town.story({"server.js": NODE, **local})
    await story.open_pull({"package.json": json.dumps({**package, "dependencies": {"local": "file:./one"}})})
    url = await story.ready()
    before = await story.page(url)
    await story.push({"package.json": json.dumps({**package, "dependencies": {"local": "file:./two"}})})
    assert await story.ready() == url
    after = await story.page(url)
    assert (before.split()[0], after.split()[0]) == ("one", "two")
    assert process(before) != process(after)
    assert "install" in (await story.comments())[0]


async def test_files_that_the_commit_deletes_are_gone_and_those_git_does_not_know_stay(town: Town):
    story = await town.story(PAGE)
    await story.open_pull({"old.html": "<h1>Old</h1>", "folder/deep.html": "<h1>Deep</h1>"})
    url = await story.ready()
    assert "<h1>Old</h1>" in await story.page(f"{url}/old.html")
    await inside(story, "sh", "-c", "echo upload >upload.txt")
    await story.push({"old.html": None, "folder/deep.html": None, "new.html": "<h1>New</h1>"})
    await story.ready()
    assert "<h1>New</h1>" in await story.page(f"{url}/new.html")
    assert "File not found" in await story.page(f"{url}/old.html")
    assert "File not found" in await story.page(f"{url}/folder/deep.html")
    assert await story.page(f"{url}/upload.txt") == "upload\n"
    assert await inside(story, "git", "status", "--short") == "?? upload.txt\n"


async def test_what_the_app_did_to_its_own_files_does_not_hinder_an_update(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    url = await story.ready()
    await inside(story, "sh", "-c", "echo mine >index.html; touch .git/index.lock; mkdir new.html; touch new.html/x")
    await story.push(page("Two") | {"new.html": "<h1>New</h1>"})
    assert await story.ready() == url
    assert "<h1>Two</h1>" in await story.page(url)
    assert "<h1>New</h1>" in await story.page(f"{url}/new.html")


async def test_an_update_that_fails_takes_the_preview_down_and_the_next_push_brings_it_back(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    await story.ready()
    await story.push(app(install="false"))
    await story.reads("🔴", story.sha)
    await story.no_sandbox()
    await story.push(app("Three"))
    assert "<h1>Three</h1>" in await story.page(await story.ready())


async def test_a_sandbox_that_died_is_made_anew_by_a_push(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    await story.ready()
    await town.sandboxes.destroy(story.sandbox)
    await story.push(page("Two"))
    assert "<h1>Two</h1>" in await story.page(await story.ready())
