"""Real git against the forge."""

import asyncio
import gzip
import random
import subprocess

import httpx
import pytest

from tests.forge_driver import git_environment


async def git(*arguments, token=None, **settings):
    process = await asyncio.create_subprocess_exec(
        "git",
        *map(str, arguments),
        env=git_environment(token) | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    output, complaint = await process.communicate()
    return process.returncode, output.decode().strip(), complaint.decode()


async def test_a_public_repository_is_cloned_by_anybody(shop, tmp_path):
    code, _, complaint = await git("clone", "--quiet", shop.clone_url, tmp_path / "copy")
    assert (code, complaint) == (0, "")
    assert (tmp_path / "copy" / "README.md").read_text() == "# Shop\n"


async def test_a_shallow_clone_holds_one_commit(shop, tmp_path):
    await shop.push({"a": "1"})
    await git("clone", "--quiet", "--depth", "1", shop.clone_url, tmp_path / "copy")
    assert (await git("-C", tmp_path / "copy", "rev-list", "--count", "HEAD"))[1] == "1"


@pytest.mark.parametrize("version", ["0", "2"])
async def test_a_commit_that_no_branch_holds_is_fetched_by_its_sha(shop, tmp_path, version):
    lost = await shop.push({"a": "1"}, branch="topic")
    await shop.push({"a": "2"}, branch="topic", start="main")
    await git("init", "--quiet", tmp_path / "copy")
    protocol = ("-c", f"protocol.version={version}")
    code, _, complaint = await git("-C", tmp_path / "copy", *protocol, "fetch", "--quiet", shop.clone_url, lost)
    assert (code, complaint) == (0, "")
    assert (await git("-C", tmp_path / "copy", "rev-parse", "FETCH_HEAD"))[1] == lost


async def test_a_partial_clone_leaves_blobs_behind(shop, tmp_path):
    code, _, complaint = await git(
        "clone", "--quiet", "--bare", "--filter=blob:none", shop.clone_url, tmp_path / "copy"
    )
    assert (code, complaint) == (0, "")
    missing = await git("-C", tmp_path / "copy", "rev-list", "--objects", "--all", "--missing=print")
    assert "?" in missing[1]


async def test_the_head_of_a_pull_request_can_be_fetched_and_follows_pushes(shop, pull):
    sha = await shop.push({"index.html": "<h1>Hi</h1>"}, branch="feature")
    _, listing, _ = await git("ls-remote", shop.clone_url, f"refs/pull/{pull}/head")
    assert listing.split() == [sha, f"refs/pull/{pull}/head"]


async def test_nobody_may_push_to_the_head_of_a_pull_request(shop, pull, ada):
    clone = await shop._clone(ada)
    with pytest.raises(subprocess.CalledProcessError) as refused:
        await shop.git(clone, "push", "origin", f"HEAD:refs/pull/{pull}/head", by=ada)
    assert b"deny updating a hidden ref" in refused.value.stderr


async def test_a_large_push_arrives_in_chunks(shop, tmp_path):
    noise = random.Random(1).randbytes(3_000_000)
    sha = await shop.push({"noise.bin": noise})
    await git("clone", "--quiet", shop.clone_url, tmp_path / "copy")
    assert (await git("-C", tmp_path / "copy", "rev-parse", "HEAD"))[1] == sha
    assert (tmp_path / "copy" / "noise.bin").read_bytes() == noise


async def test_a_compressed_request_is_understood(forge, shop):
    request = b"0014command=ls-refs\n" + b"0016object-format=sha1" + b"0001" + b"0000"
    headers = {
        "Content-Type": "application/x-git-upload-pack-request",
        "Content-Encoding": "gzip",
        "Git-Protocol": "version=2",
    }
    url = f"/{shop.full_name}.git/git-upload-pack"
    answer = await forge.http.post(url, content=gzip.compress(request), headers=headers)
    assert answer.status_code == 200
    assert b"refs/heads/main" in answer.content


async def test_a_private_repository_asks_strangers_for_credentials(forge, ada):
    vault = await forge.repository(ada, "vault", private=True)
    answer = await forge.http.get(f"/{vault.full_name}.git/info/refs?service=git-upload-pack")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Basic realm="GitHub"'


async def test_a_private_repository_is_hidden_from_people_without_access(forge, ada, bob):
    vault = await forge.repository(ada, "vault", private=True)
    await vault.push({"gold": "1"})
    code, _, complaint = await git("ls-remote", vault.clone_url, token=bob.token)
    assert code != 0
    assert "not found" in complaint
    assert (await git("ls-remote", vault.clone_url, token=ada.token))[0] == 0


async def test_a_missing_repository_looks_like_a_private_one_to_strangers(forge, ada):
    answer = await forge.http.get(f"/{ada.login}/nothing.git/info/refs?service=git-upload-pack")
    assert answer.status_code == 401


async def test_a_wrong_token_is_refused_even_for_a_public_repository(forge, shop):
    url = f"/{shop.full_name}.git/info/refs?service=git-upload-pack"
    assert (await forge.http.get(url, auth=("x-access-token", "nonsense"))).status_code == 401


async def test_a_token_as_password_or_as_user_name_opens_the_door(forge, ada):
    vault = await forge.repository(ada, "vault", private=True)
    url = f"/{vault.full_name}.git/info/refs?service=git-upload-pack"
    for auth in (("x-access-token", ada.token), (ada.login, ada.token), (ada.token, "x-oauth-basic")):
        assert (await forge.http.get(url, auth=httpx.BasicAuth(*auth))).status_code == 200


async def test_every_push_needs_credentials(forge, shop):
    answer = await forge.http.get(f"/{shop.full_name}.git/info/refs?service=git-receive-pack")
    assert answer.status_code == 401


async def test_a_reader_may_not_push(shop, bob):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        await shop.push({"a": "1"}, by=bob)
    assert b"403" in refused.value.stderr


async def test_a_writer_may_push(forge, ada, bob):
    shared = await forge.repository(ada, "shared", permissions={bob.login: "write"})
    assert await shared.push({"a": "1"}, by=bob)


async def test_a_clone_token_reads_its_one_repository_and_cannot_push(forge, ada, tmp_path):
    vault = await forge.repository(ada, "vault", private=True)
    attic = await forge.repository(ada, "attic", private=True)
    await vault.push({"gold": "1"})
    await attic.push({"dust": "1"})
    installation = await forge.install(await forge.app("cloner", owner=ada), ada)
    token = await forge.installation_token(installation, repository_ids=[vault.id], permissions={"contents": "read"})
    assert (await git("clone", "--quiet", vault.clone_url, tmp_path / "copy", token=token))[0] == 0
    assert (await git("ls-remote", attic.clone_url, token=token))[0] != 0
    code, _, complaint = await git("-C", tmp_path / "copy", "push", "origin", "HEAD:main2", token=token)
    assert code != 0
    assert "403" in complaint


async def test_an_archived_repository_takes_no_push(shop):
    await shop.rest("PATCH", "", {"archived": True})
    with pytest.raises(subprocess.CalledProcessError) as refused:
        await shop.push({"a": "1"})
    assert b"403" in refused.value.stderr


async def test_an_old_name_still_leads_to_the_repository(shop, tmp_path):
    old = shop.clone_url
    await shop.rename("store")
    assert (await git("clone", "--quiet", old, tmp_path / "copy"))[0] == 0
