"""Git objects, fetched with real git from the forge and handed over as a pack."""

import asyncio
import base64
import os
import stat
import subprocess
from pathlib import Path

import pytest

from bot.errors import GitHubUnavailable, OperatorFault, SourceUnavailable
from bot.github import CloneCredentials
from bot.objects import Objects
from bot.preview import CommitSha, RepoId, RepoName, Repository
from bot.stage import free_port

BIG = os.urandom(300_000)


@pytest.fixture
def objects(tmp_path) -> Objects:
    return Objects(tmp_path / "git")


@pytest.fixture
def credentials(shop) -> CloneCredentials:
    return CloneCredentials("x-access-token", shop.owner.token)


@pytest.fixture
async def commits(shop) -> tuple[CommitSha, CommitSha]:
    """One commit with a big file, and the next one, which changes a small one."""
    first = await shop.driver.push({"big.bin": BIG, "page.html": "one"}, branch="change")
    second = await shop.driver.push({"page.html": "two"}, branch="change")
    return CommitSha(first), CommitSha(second)


def git(*words: str, given: bytes | None = None) -> str:
    done = subprocess.run(["git", *words], input=given, check=True, capture_output=True)
    return done.stdout.decode().strip()


def checkout(folder: Path, shop, sha: str) -> None:
    """What a sandbox holds: this commit alone."""
    pair = base64.b64encode(f"x:{shop.owner.token}".encode()).decode()
    git("init", "--quiet", str(folder))
    config = ("-c", f"http.extraHeader=Authorization: Basic {pair}")
    git("-C", str(folder), *config, "fetch", "--quiet", "--depth=1", shop.driver.clone_url, sha)
    git("-C", str(folder), "checkout", "--quiet", "--detach", sha)


def move(folder: Path, sha: str, pack: bytes) -> None:
    """What the bot does in a sandbox with a pack."""
    git("-C", str(folder), "index-pack", "--fix-thin", "--stdin", given=pack)
    with (folder / ".git" / "shallow").open("a") as boundary:
        boundary.write(f"{sha}\n")
    git("-C", str(folder), "checkout", "--quiet", "--force", "--detach", sha)


async def test_a_pack_holds_no_more_than_the_checkout_lacks(objects, shop, commits, credentials, tmp_path):
    first, second = commits
    pack = await objects.pack(shop.known, have=first, want=second, credentials=credentials)
    assert len(pack) < 2_000
    checkout(tmp_path / "sandbox", shop, first)
    move(tmp_path / "sandbox", second, pack)
    assert (tmp_path / "sandbox" / "page.html").read_text() == "two"
    assert (tmp_path / "sandbox" / "big.bin").read_bytes() == BIG
    assert git("-C", str(tmp_path / "sandbox"), "status", "--porcelain") == ""


async def test_a_force_push_that_left_the_old_commit_behind_is_followed(objects, shop, commits, credentials, tmp_path):
    first, _ = commits
    checkout(tmp_path / "sandbox", shop, first)
    forced = CommitSha(await shop.driver.push({"page.html": "forced"}, branch="change", start="main"))
    pack = await objects.pack(shop.known, have=first, want=forced, credentials=credentials)
    move(tmp_path / "sandbox", forced, pack)
    assert (tmp_path / "sandbox" / "page.html").read_text() == "forced"
    assert not (tmp_path / "sandbox" / "big.bin").exists()


async def test_when_github_lost_the_old_commit_the_pack_holds_everything(objects, shop, commits, credentials, tmp_path):
    _, second = commits
    pack = await objects.pack(shop.known, have=CommitSha("d" * 40), want=second, credentials=credentials)
    assert len(pack) > len(BIG)
    git("init", "--quiet", str(tmp_path / "sandbox"))
    move(tmp_path / "sandbox", second, pack)
    assert (tmp_path / "sandbox" / "page.html").read_text() == "two"


async def test_a_commit_that_github_does_not_have_is_the_repository_s_fault(objects, shop, commits, credentials):
    with pytest.raises(SourceUnavailable, match="does not have this commit any more"):
        await objects.pack(shop.known, have=commits[0], want=CommitSha("d" * 40), credentials=credentials)


async def test_a_private_repository_needs_credentials(objects, shop, commits):
    with pytest.raises(SourceUnavailable):
        await objects.pack(shop.known, have=commits[0], want=commits[1], credentials=None)


async def test_a_github_that_does_not_answer_is_worth_another_try(objects, commits):
    gone = Repository(RepoId(1), RepoName("a/b"), f"http://127.0.0.1:{free_port()}/a/b.git", private=False)
    with pytest.raises(GitHubUnavailable, match="git cannot fetch"):
        await objects.pack(gone, have=commits[0], want=commits[1], credentials=None)


async def test_an_error_of_github_s_server_is_worth_another_try(objects, shop, commits, credentials, forge):
    await forge.fault("server_error", path="info/refs$|git-upload-pack$", status=503, times=4)
    with pytest.raises(GitHubUnavailable):
        await objects.pack(shop.known, have=commits[0], want=commits[1], credentials=credentials)


async def test_credentials_stay_out_of_arguments_and_off_the_disk(
    objects, shop, commits, credentials, tmp_path, monkeypatch
):
    seen = tmp_path / "arguments"
    spy = tmp_path / "bin" / "git"
    spy.parent.mkdir()
    real = git("--exec-path") + "/git"
    spy.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{seen}\nexec {real} "$@"\n')
    spy.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{spy.parent}:{os.environ['PATH']}")
    await objects.pack(shop.known, have=commits[0], want=commits[1], credentials=credentials)
    pair = base64.b64encode(f"x-access-token:{credentials.password}".encode()).decode()
    assert "fetch" in seen.read_text()
    files = [seen, *(path for path in (tmp_path / "git").rglob("*") if path.is_file())]
    assert len(files) > 5
    leaks = [path for path in files for secret in (credentials.password, pair) if secret.encode() in path.read_bytes()]
    assert leaks == []


async def test_a_clone_url_cannot_name_a_command(objects, commits, tmp_path):
    for url in (f"ext::sh -c 'touch {tmp_path}/pwned'", f"--upload-pack=touch {tmp_path}/pwned"):
        hostile = Repository(RepoId(2), RepoName("a/b"), url, private=False)
        with pytest.raises((SourceUnavailable, GitHubUnavailable)):
            await objects.pack(hostile, have=commits[0], want=commits[1], credentials=None)
    assert not (tmp_path / "pwned").exists()


async def test_the_machine_s_git_configuration_has_no_say(objects, shop, commits, credentials, monkeypatch, tmp_path):
    (tmp_path / ".gitconfig").write_text(f'[url "http://127.0.0.1:{free_port()}/"]\n\tinsteadOf = http://\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    assert await objects.pack(shop.known, have=commits[0], want=commits[1], credentials=credentials)


async def test_pushes_at_the_same_time_share_one_cache(objects, shop, commits, credentials):
    asked = [objects.pack(shop.known, have=commits[0], want=commits[1], credentials=credentials) for _ in range(4)]
    assert len(set(await asyncio.gather(*asked))) == 1


async def test_a_forgotten_cache_is_made_anew(objects, shop, commits, credentials, tmp_path):
    first, second = commits
    await objects.pack(shop.known, have=first, want=second, credentials=credentials)
    assert (tmp_path / "git" / f"{shop.known.id}.git").exists()
    objects.forget(shop.known.id)
    assert not (tmp_path / "git" / f"{shop.known.id}.git").exists()
    assert await objects.pack(shop.known, have=first, want=second, credentials=credentials)


async def test_a_folder_that_cannot_be_used_names_the_setting(tmp_path, shop, commits):
    (tmp_path / "file").touch()
    with pytest.raises(OperatorFault, match=r"^PREVIEW_DATA_DIR: cannot use"):
        await Objects(tmp_path / "file" / "git").pack(shop.known, have=commits[0], want=commits[1], credentials=None)


async def test_a_machine_without_git_is_told_so(objects, shop, commits, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(OperatorFault, match="git is not installed on this machine"):
        await objects.pack(shop.known, have=commits[0], want=commits[1], credentials=None)
