"""Comments, reactions, files, pages of lists, and what every answer carries, mostly through PyGithub."""

import asyncio
import itertools

import pytest
from github import GithubException, UnknownObjectException


@pytest.fixture
def repo(as_user, ada, shop):
    return as_user(ada).get_repo(shop.full_name)


async def test_comments_are_written_edited_and_deleted(repo, pull, ada):
    comment = repo.get_pull(pull).create_issue_comment("First")
    assert (comment.body, comment.user.login) == ("First", ada.login)
    comment.edit("Second")
    assert [row.body for row in repo.get_issue(pull).get_comments()] == ["Second"]
    assert repo.get_issue(pull).comments == 1
    comment.delete()
    assert list(repo.get_issue(pull).get_comments()) == []


async def test_comments_come_oldest_first_page_by_page(repo, pull):
    for number in range(7):
        repo.get_issue(pull).create_comment(str(number))
    repo._requester.per_page = 3
    bodies = [row.body for row in repo.get_issue(pull).get_comments()]
    assert bodies == list("0123456")


async def test_the_links_of_a_list_lead_through_all_of_it(forge, shop, pull):
    for number in range(5):
        await shop.comment(pull, str(number))
    url, seen, links = f"{forge.api}/repos/{shop.full_name}/issues/{pull}/comments?per_page=2", [], []
    while url:
        answer = await forge.http.get(url)
        seen += [row["body"] for row in answer.json()]
        links.append(sorted(answer.links))
        url = answer.links.get("next", {}).get("url")
    assert seen == list("01234")
    assert links == [["last", "next"], ["first", "last", "next", "prev"], ["first", "prev"]]


async def test_an_empty_comment_is_refused(repo, pull):
    with pytest.raises(GithubException) as refused:
        repo.get_issue(pull).create_comment("")
    assert refused.value.status == 422
    assert refused.value.data["message"] == "Validation Failed"
    assert refused.value.data["errors"][0]["field"] == "body"


async def test_a_comment_holds_65536_characters_and_not_one_more(repo, pull):
    comment = repo.get_issue(pull).create_comment("x" * 65_536)
    with pytest.raises(GithubException) as refused:
        comment.edit("x" * 65_537)
    assert "Body is too long" in str(refused.value.data)


async def test_what_is_not_json_is_a_bad_request(forge, shop, pull, ada):
    url, headers = (
        f"{shop.forge.api}/repos/{shop.full_name}/issues/{pull}/comments",
        {"Authorization": f"token {ada.token}"},
    )
    answer = await forge.http.post(url, content=b"{", headers=headers)
    assert (answer.status_code, answer.json()["message"]) == (400, "Problems parsing JSON")


async def test_only_authors_and_writers_change_a_comment(as_user, bob, shop, pull):
    comment_id = await shop.comment(pull, "mine")
    with pytest.raises(GithubException) as refused:
        as_user(bob).get_repo(shop.full_name).get_issue(pull).get_comment(comment_id).edit("yours")
    assert refused.value.status == 403


async def test_a_locked_conversation_is_for_writers(as_user, ada, bob, shop, pull):
    await shop.lock(pull)
    with pytest.raises(GithubException) as refused:
        as_user(bob).get_repo(shop.full_name).get_issue(pull).create_comment("hello?")
    assert (refused.value.status, refused.value.data["message"]) == (
        403,
        "Unable to create comment because issue is locked.",
    )
    assert as_user(ada).get_repo(shop.full_name).get_issue(pull).create_comment("hello!")


async def test_reactions_are_counted_listed_and_taken_back(repo, pull):
    comment = repo.get_issue(pull).create_comment("First")
    reaction = comment.create_reaction("rocket")
    assert comment.create_reaction("rocket").id == reaction.id
    assert [row.content for row in comment.get_reactions()] == ["rocket"]
    assert repo.get_issue(pull).get_comment(comment.id).reactions["rocket"] == 1
    comment.delete_reaction(reaction.id)
    assert list(comment.get_reactions()) == []


async def test_an_unknown_reaction_is_refused(repo, pull):
    with pytest.raises(GithubException) as refused:
        repo.get_issue(pull).create_comment("First").create_reaction("party")
    assert refused.value.status == 422


async def test_files_and_folders_are_read_at_a_ref(repo, shop):
    sha = await shop.push({".github/preview.toml": "port = 1\n", "deep/er/file": "x"}, branch="feature")
    assert repo.get_contents(".github/preview.toml", ref="feature").decoded_content == b"port = 1\n"
    assert repo.get_contents(".github/preview.toml", ref=sha).decoded_content == b"port = 1\n"
    assert {entry.path for entry in repo.get_contents("", ref=sha)} == {".github", "README.md", "deep"}
    assert [(entry.path, entry.type) for entry in repo.get_contents("deep", ref=sha)] == [("deep/er", "dir")]
    assert [(entry.path, entry.type) for entry in repo.get_contents("deep/er", ref=sha)] == [("deep/er/file", "file")]
    for path, ref in ((".github/preview.toml", "main"), ("README.md", "nowhere"), ("README.md/x", "main")):
        with pytest.raises(GithubException) as missing:
            repo.get_contents(path, ref=ref)
        assert missing.value.status == 404


async def test_branches_and_commits_are_listed(repo, shop):
    sha = await shop.push({"a": "1"}, branch="topic/one", message="One")
    assert {branch.name: branch.commit.sha for branch in repo.get_branches()}["topic/one"] == sha
    assert repo.get_branch("topic/one").commit.sha == sha
    assert [commit.commit.message for commit in repo.get_commits(sha="topic/one")] == ["One", "First"]
    assert repo.get_commit(sha).sha == sha


@pytest.mark.parametrize(
    ("role", "permission"),
    [("read", "read"), ("triage", "read"), ("write", "write"), ("maintain", "write"), ("admin", "admin")],
)
async def test_permission_is_told_in_old_words_and_in_new(as_user, forge, ada, bob, role, permission):
    shared = await forge.repository(ada, "shared", permissions={bob.login: role}, private=True)
    told = await shared.rest("GET", f"/collaborators/{bob.login}/permission")
    assert (told["permission"], told["role_name"]) == (permission, role)
    assert as_user(ada).get_repo(shared.full_name).get_collaborator_permission(bob.login) == permission


async def test_strangers_read_what_is_public_and_nothing_else(forge, ada, bob):
    public, private = await forge.repository(ada, "public"), await forge.repository(ada, "private", private=True)
    assert (await public.rest("GET", f"/collaborators/{bob.login}/permission"))["permission"] == "read"
    assert (await private.rest("GET", f"/collaborators/{bob.login}/permission"))["permission"] == "none"


async def test_an_unchanged_answer_is_304_and_costs_nothing(repo, pull, shop):
    shown = repo.get_pull(pull)
    assert shown.update() is False
    await shop.comment(pull, "news")
    assert shown.update() is True


async def test_304_does_not_count_against_the_limit(forge, shop, ada):
    url, headers = f"{forge.api}/repos/{shop.full_name}", {"Authorization": f"Bearer {ada.token}"}
    first = await forge.http.get(url, headers=headers)
    again = await forge.http.get(url, headers=headers | {"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-ratelimit-remaining"] == first.headers["x-ratelimit-remaining"]
    third = await forge.http.get(url, headers=headers)
    assert int(third.headers["x-ratelimit-remaining"]) == int(first.headers["x-ratelimit-remaining"]) - 1


async def test_an_old_name_redirects_reads_by_301_and_writes_by_307(forge, shop, pull, ada):
    old = shop.full_name
    await shop.rename("store")
    path, headers = f"/api/v3/repos/{old}/issues/{pull}/comments", {"Authorization": f"Bearer {ada.token}"}
    read = await forge.http.get(f"{path}?per_page=1", headers=headers)
    target = f"{forge.api}/repositories/{shop.id}/issues/{pull}/comments"
    assert (read.status_code, read.headers["location"]) == (301, f"{target}?per_page=1")
    write = await forge.http.post(path, json={"body": "hi"}, headers=headers)
    assert (write.status_code, write.headers["location"], write.json()["url"]) == (307, target, target)
    assert await shop.comments(pull) == []
    followed = await forge.http.post(path, json={"body": "hi"}, headers=headers, follow_redirects=True)
    assert followed.status_code == 201
    assert [row["body"] for row in await shop.comments(pull)] == ["hi"]


async def test_an_old_name_that_is_used_again_belongs_to_the_new_repository(as_user, forge, shop, ada):
    await shop.rename("store")
    newcomer = await forge.repository(ada, "shop")
    assert as_user(ada).get_repo(newcomer.full_name).id == newcomer.id


async def test_a_repository_is_found_by_id_under_its_new_name(as_user, shop, ada):
    await shop.rename("store")
    assert as_user(ada).get_repo(shop.id).name == "store"


async def test_what_does_not_exist_is_404_in_github_s_words(forge, shop):
    for path in (
        "/nothing",
        f"/repos/{shop.full_name}/pulls/99",
        f"/repos/{shop.full_name}/nothing",
        "/repositories/1",
    ):
        answer = await forge.http.get(f"/api/v3{path}")
        assert (answer.status_code, answer.json()["message"]) == (404, "Not Found")
        assert answer.json()["documentation_url"]


async def test_a_private_repository_is_404_to_strangers(as_user, forge, ada, bob):
    vault = await forge.repository(ada, "vault", private=True)
    with pytest.raises(UnknownObjectException):
        as_user(bob).get_repo(vault.full_name)


async def test_writing_needs_credentials(forge, shop, pull):
    answer = await forge.http.post(f"/api/v3/repos/{shop.full_name}/issues/{pull}/comments", json={"body": "hi"})
    assert (answer.status_code, answer.json()["message"]) == (401, "Requires authentication")


async def test_a_wrong_token_is_bad_credentials(forge):
    answer = await forge.http.get("/api/v3/user", headers={"Authorization": "Bearer nonsense"})
    assert (answer.status_code, answer.json()["message"]) == (401, "Bad credentials")


async def test_commit_statuses_are_set_and_listed(repo, shop):
    sha = await shop.push({"a": "1"})
    repo.get_commit(sha).create_status("pending", context="preview", description="starting")
    repo.get_commit(sha).create_status("success", "http://localhost/", context="preview")
    told = [(row.state, row.context) for row in repo.get_commit(sha).get_statuses()]
    assert told == [("success", "preview"), ("pending", "preview")]


async def test_deployments_and_their_statuses(repo, shop):
    sha = await shop.push({"a": "1"})
    made = repo.create_deployment(sha, environment="preview/1", required_contexts=[], auto_merge=False)
    made.create_status("in_progress")
    made.create_status("success", environment_url="http://localhost:1/", description="up")
    assert [status.state for status in made.get_statuses()] == ["success", "in_progress"]
    assert next(iter(made.get_statuses())).environment_url == "http://localhost:1/"
    assert [row.id for row in repo.get_deployments(environment="preview/1")] == [made.id]
    assert list(repo.get_deployments(environment="other")) == []


async def test_a_success_retires_the_one_before_it(repo, shop):
    sha = await shop.push({"a": "1"})
    older, newer = (repo.create_deployment(sha, environment="e", required_contexts=[]) for _ in range(2))
    older.create_status("success")
    newer.create_status("success")
    assert next(iter(older.get_statuses())).state == "inactive"
    assert next(iter(newer.get_statuses())).state == "success"


async def test_an_active_deployment_among_others_is_not_deleted(repo, shop):
    sha = await shop.push({"a": "1"})
    first, second = (repo.create_deployment(sha, environment=name, required_contexts=[]) for name in ("one", "two"))
    first.create_status("success")
    with pytest.raises(GithubException) as refused:
        repo._requester.requestJsonAndCheck("DELETE", first.url)
    assert refused.value.status == 422
    first.create_status("inactive")
    repo._requester.requestJsonAndCheck("DELETE", first.url)
    assert [row.id for row in repo.get_deployments()] == [second.id]


async def test_hooks_belong_to_admins(as_user, ada, bob, shop):
    made = (
        as_user(ada)
        .get_repo(shop.full_name)
        .create_hook("web", {"url": "http://127.0.0.1:1/", "secret": "s"}, ["push"], active=False)
    )
    assert made.config["secret"] == "********"
    made.edit("web", {"url": "http://127.0.0.1:2/"}, events=["pull_request"])
    assert [hook.events for hook in as_user(ada).get_repo(shop.full_name).get_hooks()] == [["pull_request"]]
    with pytest.raises(GithubException) as refused:
        list(as_user(bob).get_repo(shop.full_name).get_hooks())
    assert refused.value.status == 403


async def test_comments_written_at_once_are_all_kept_in_the_order_of_their_ids(forge, shop, pull):
    await asyncio.gather(*(shop.comment(pull, str(number)) for number in range(40)))
    rows = await shop.comments(pull)
    assert {row["body"] for row in rows} == {str(number) for number in range(40)}
    assert all(one["id"] < other["id"] for one, other in itertools.pairwise(rows))
