"""Sandboxes made from git repositories, served by a real git over HTTP."""

import os
from pathlib import Path

import pytest
from engine_git_server import GitServer, Repository
from vercel.sandbox import GitSource, Sandbox, SandboxApiError, SandboxClient

pytestmark = pytest.mark.bwrap

TOKEN = "hunter2-the-token"


async def output_of(sandbox: Sandbox, script: str) -> str:
    ran = await sandbox.run_process("sh", ["-c", script], capture_output=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


async def test_the_exact_commit_is_there(make_sandbox, git_server: GitServer, repository: Repository) -> None:
    wanted = repository.commit(page__html="old")
    repository.commit(page__html="new")
    sandbox = await make_sandbox(source=GitSource(url=f"{git_server.url}/app", revision=wanted, depth=1))
    assert await output_of(sandbox, "git rev-parse HEAD; cat page.html") == f"{wanted}\nold"
    assert await output_of(sandbox, "git rev-list --count HEAD; git status --porcelain") == "1\n"


async def test_a_branch_or_nothing_means_its_newest_commit(make_sandbox, git_server, repository) -> None:
    repository.commit(file="main")
    repository.git("-C", str(repository.path), "checkout", "--quiet", "-b", "other")
    other = repository.commit(file="other")
    repository.git("-C", str(repository.path), "checkout", "--quiet", "main")
    on_branch = await make_sandbox(source=GitSource(url=f"{git_server.url}/app", revision="other"))
    assert await output_of(on_branch, "git rev-parse HEAD") == f"{other}\n"
    by_default = await make_sandbox(source=GitSource(url=f"{git_server.url}/app"))
    assert await output_of(by_default, "cat file") == "main"


async def test_the_clone_can_be_worked_with_as_its_owner(make_sandbox, git_server, repository) -> None:
    repository.commit(file="x")
    sandbox = await make_sandbox(source=GitSource(url=f"{git_server.url}/app"))
    assert await output_of(sandbox, "git remote get-url origin") == f"{git_server.url}/app\n"
    changed = (
        "echo y > file && git -c user.name=n -c user.email=e commit --quiet --all --message m && git log --oneline"
    )
    assert len((await output_of(sandbox, changed)).splitlines()) == 2


async def test_a_local_repository_can_be_cloned(make_sandbox, repository: Repository) -> None:
    for folder in (*repository.path.parents, repository.path):
        if folder.stat().st_uid == os.getuid() and folder.is_relative_to("/tmp/"):
            folder.chmod(0o755)
    wanted = repository.commit(file="x")
    sandbox = await make_sandbox(source=GitSource(url=f"file://{repository.path}", revision=wanted))
    assert await output_of(sandbox, "git rev-parse HEAD") == f"{wanted}\n"


async def test_a_private_clone_leaves_no_credential_anywhere(make_sandbox, private_git_server, repository) -> None:
    repository.commit(file="secret code")
    source = GitSource(url=f"{private_git_server.url}/app", username="x-access-token", password=TOKEN)
    sandbox = await make_sandbox(source=source)
    assert await output_of(sandbox, "cat file") == "secret code"
    search = (
        "grep -rls -e 'hunter2' -e 'aHVudGVyMi' -e 'eC1hY2Nlc3MtdG9rZW4' /vercel /tmp /run /etc /proc/[0-9]*/environ"
    )
    found = await sandbox.run_process("sh", ["-c", f"{search} /proc/[0-9]*/cmdline; env"], capture_output=True)
    assert "hunter2" not in found.stdout
    assert "/vercel" not in found.stdout.replace("/vercel/sandbox\n", "").replace("/vercel/home", "")
    assert (
        await output_of(sandbox, "git config --list --show-origin | grep -ci -e header -e credential || true") == "0\n"
    )


async def test_credentials_in_the_url_do_not_reach_the_remote(make_sandbox, private_git_server, repository) -> None:
    repository.commit(file="x")
    url = private_git_server.url.replace("http://", f"http://x-access-token:{TOKEN}@")
    sandbox = await make_sandbox(source=GitSource(url=f"{url}/app"))
    assert await output_of(sandbox, "git remote get-url origin") == f"{private_git_server.url}/app\n"


async def test_a_failed_clone_says_why_and_leaves_nothing(client: SandboxClient, make_sandbox, git_server) -> None:
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(name="never-was", source=GitSource(url=f"{git_server.url}/no-such-repository"))
    assert (refused.value.status_code, refused.value.code) == (400, "git_clone_failed")
    assert "no-such-repository" in str(refused.value)
    with pytest.raises(SandboxApiError) as unknown:
        await client.get_sandbox(name="never-was")
    assert unknown.value.status_code == 404


async def test_a_commit_that_the_server_does_not_have_is_refused(make_sandbox, git_server, repository) -> None:
    repository.commit(file="x")
    missing = "1234567890" * 4
    with pytest.raises(SandboxApiError, match=missing) as refused:
        await make_sandbox(source=GitSource(url=f"{git_server.url}/app", revision=missing))
    assert refused.value.code == "git_clone_failed"


async def test_a_refused_password_is_reported_without_it(make_sandbox, private_git_server) -> None:
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(source=GitSource(url=f"{private_git_server.url}/app", password="wrong-hunter3"))
    assert refused.value.code == "git_clone_failed"
    assert "hunter3" not in str(refused.value)


@pytest.mark.parametrize("url", ["ext::sh -c touch% /tmp/pwned", "ssh://host/app", "--upload-pack=touch /tmp/pwned"])
async def test_transports_that_run_programs_are_refused(make_sandbox, url: str) -> None:
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(source=GitSource(url=url))
    assert refused.value.status_code == 400
    assert not Path("/tmp/pwned").exists()


async def test_a_revision_that_looks_like_an_option_is_no_option(make_sandbox, git_server, repository) -> None:
    repository.commit(file="x")
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(source=GitSource(url=f"{git_server.url}/app", revision="--upload-pack=touch /tmp/pwned"))
    assert refused.value.code == "git_clone_failed"
    assert not Path("/tmp/pwned").exists()
