"""What is read of a clone whose own code may have replaced git, or filled it beyond all measure."""

import asyncio
import base64

import pytest

from bot import worktree
from bot.errors import SandboxUnavailable
from bot.sandbox import Box, Commit
from bot.worktree import Listing, detect_plan, head, list_files

pytestmark = pytest.mark.bwrap

PLACE = "/vercel/home/.local/bin"
"""A folder on the PATH that a sandbox's code can write to."""


@pytest.fixture
async def box(sandboxes, name, shop) -> Box:
    sha = await shop.driver.push({"index.html": "<h1>Hello</h1>", **{f"{n}/app.py": "x" * 100 for n in range(9)}})
    return await sandboxes.create(name, Commit(shop.driver.clone_url, sha, ("x", shop.owner.token)), 3000)


async def replace_git(box: Box, script: str) -> None:
    """Put another program in git's place."""
    await box.run(("mkdir", "-p", PLACE), limit=60)
    await box.write(f"{PLACE}/git", f"#!/bin/sh\n{script}\n".encode())
    await box.run(("chmod", "+x", f"{PLACE}/git"), limit=60)


@pytest.mark.parametrize(
    "said", ["--upload-pack=touch /tmp/x", "refs/heads/*:refs/heads/*", f"{'0' * 40}\n{'1' * 40}", "HEAD", ""]
)
async def test_only_a_commit_s_id_is_taken_for_one(box, said):
    await replace_git(box, f"cat <<'END'\n{said}\nEND")
    with pytest.raises(SandboxUnavailable, match="holds no commit"):
        await head(box)


@pytest.mark.parametrize("answer", ["0 blob -42\n", "nonsense", f"{'0' * 40} missing\n", f"{'0' * 40} blob -50\n"])
async def test_an_answer_that_git_would_not_give_is_refused(box, answer):
    listing = await list_files(box)
    await replace_git(box, f"echo {base64.b64encode(answer.encode()).decode()} | base64 -d")
    async with asyncio.timeout(30):
        with pytest.raises(SandboxUnavailable, match="does not answer as git does"):
            await detect_plan(box, listing)


async def test_more_files_than_are_read_at_once_do_not_stop_detection(box, monkeypatch):
    listing = await list_files(box)
    monkeypatch.setattr(worktree, "MAX_READ_FILES", 2)
    assert (await detect_plan(box, listing)).kind == "static"
    monkeypatch.setattr(worktree, "MAX_READ_BYTES", 150)
    assert (await detect_plan(box, listing)).kind == "static"


async def test_no_more_is_read_at_once_than_there_is_room_for(box, monkeypatch):
    asked = []

    async def read(argv, *, limit=60):
        asked.append(argv)
        raise SandboxUnavailable("enough")

    monkeypatch.setattr(box, "read", read)
    blobs = {f"{n}/package.json": (f"{n:040x}", 900_000) for n in range(50_000)}
    with pytest.raises(SandboxUnavailable, match="enough"):
        await detect_plan(box, Listing(blobs, frozenset()))
    (argv,) = asked
    assert len(argv) - 5 == worktree.MAX_READ_BYTES // 900_000
