"""What the bot reads from GitHub and writes to it."""

import asyncio

import pytest

from bot import github as github_module
from bot.errors import GitHubUnavailable, OperatorFault, SourceUnavailable
from bot.preview import RepoId


async def test_a_repository_is_found_by_its_number_under_its_name_of_today(github, shop):
    assert await github.repository(shop.known.id, shop.known.installation_id) == shop.known
    await shop.driver.rename("store")
    found = await github.repository(shop.known.id, shop.known.installation_id)
    assert (found.id, found.name) == (shop.known.id, f"{shop.owner.login}/store")
    await shop.driver.delete()
    assert await github.repository(shop.known.id, shop.known.installation_id) is None


async def test_a_pull_request_is_read_with_all_that_policy_asks(github, shop):
    sha = await shop.driver.push({"a": "1"}, branch="change")
    number = await shop.driver.open_pull("change", title="A change", draft=True)
    await shop.driver.label(number, "ui", "wip")
    await shop.driver.lock(number)
    pull = await github.pull(shop.known.id, number, shop.known.installation_id)
    assert (pull.number, pull.title, pull.open, pull.draft, pull.locked) == (number, "A change", True, True, True)
    assert (pull.author, pull.author_is_bot, pull.from_fork) == (shop.owner.login, False, False)
    assert (pull.head_sha, pull.head_ref, pull.base_ref) == (sha, "change", "main")
    assert pull.labels == {"ui", "wip"}
    await shop.driver.close(number)
    assert not (await github.pull(shop.known.id, number, shop.known.installation_id)).open
    assert await github.pull(shop.known.id, 999, shop.known.installation_id) is None


async def test_a_fork_s_pull_request_stays_one_when_the_fork_is_deleted(as_app, open_shop, forge):
    shop = await open_shop(private=False)
    stranger = await forge.user(f"eve-{shop.known.id}")
    fork = await shop.driver.fork(stranger)
    await fork.push({"a": "1"}, branch="change")
    number = await shop.driver.open_pull(f"{stranger.login}:change", by=stranger)
    github = as_app(shop.app)
    pull = await github.pull(shop.known.id, number, shop.known.installation_id)
    assert (pull.from_fork, pull.head_repo_id, pull.author) == (True, fork.id, stranger.login)
    await fork.delete()
    pull = await github.pull(shop.known.id, number, shop.known.installation_id)
    assert (pull.from_fork, pull.head_repo_id) == (True, None)


async def test_only_those_with_write_permission_may_write(as_app, open_shop, forge):
    roles = {f"{role}{id(forge)}": role for role in ("read", "triage", "write", "maintain", "admin")}
    for login in (*roles, f"nobody{id(forge)}"):
        await forge.user(login)
    shop = await open_shop(people=roles)
    github = as_app(shop.app)
    may = {role: await github.may_write(shop.known, login) for login, role in roles.items()}
    assert may == {"read": False, "triage": False, "write": True, "maintain": True, "admin": True}
    assert await github.may_write(shop.known, shop.owner.login)
    assert not await github.may_write(shop.known, f"nobody{id(forge)}")
    assert not await github.may_write(shop.known, "no-such-user")


async def test_our_comment_is_found_through_all_pages_by_marker_and_author(github, shop):
    number = await _pull(shop)
    await shop.driver.comment(number, "<!-- ours --> but written by a person")
    for count in range(105):
        await shop.driver.comment(number, f"chatter {count}")
    assert await github.find_comment(shop.known, number, "<!-- ours -->") is None
    await github.create_comment(shop.known, number, "<!-- another -->\nIt printed <!-- ours -->")
    assert await github.find_comment(shop.known, number, "<!-- ours -->") is None
    ours = await github.create_comment(shop.known, number, "<!-- ours -->\nHello")
    assert await github.find_comment(shop.known, number, "<!-- ours -->") == ours
    assert await github.find_comment(shop.known, 999, "<!-- ours -->") is None


async def test_a_repository_that_took_over_the_name_is_never_commented_on(as_app, open_shop, forge):
    shop = await open_shop(private=False)
    github, number = as_app(shop.app), await _pull(shop)
    await shop.driver.rename("store")
    other = await forge.repository(shop.owner, "shop")
    await forge.install(shop.app, shop.owner, [shop.driver, other])
    await other.push({"a": "1"})
    await other.push({"a": "2"}, branch="change")
    assert await other.open_pull("change") == number
    ours = await github.create_comment(shop.known, number, "<!-- ours -->")
    assert await github.edit_comment(shop.known, ours, "<!-- ours -->\nReady")
    assert await other.comments(number) == []
    assert [comment["body"] for comment in await shop.driver.comments(number)] == ["<!-- ours -->\nReady"]


async def test_a_comment_is_edited_and_missed_when_it_is_gone(github, shop):
    number = await _pull(shop)
    ours = await github.create_comment(shop.known, number, "One")
    assert await github.edit_comment(shop.known, ours, "Two")
    (comment,) = await shop.driver.comments(number)
    assert (comment["body"], comment["user"]["login"]) == ("Two", shop.app.login)
    await shop.driver.rest("DELETE", f"/issues/comments/{ours}")
    assert not await github.edit_comment(shop.known, ours, "Three")


async def test_a_comment_on_a_pull_request_that_is_gone_is_nobody_s(github, shop):
    assert await github.create_comment(shop.known, 999, "Hello?") is None


async def test_a_reaction_is_given_once_however_often(github, shop):
    number = await _pull(shop)
    comment = await shop.driver.comment(number, "/preview")
    for _ in range(2):
        await github.react(shop.known, comment, "eyes")
    reactions = await shop.driver.rest("GET", f"/issues/comments/{comment}/reactions")
    assert [reaction["content"] for reaction in reactions] == ["eyes"]


async def test_the_name_under_which_we_write(github, shop, as_app):
    assert await github.login() == shop.app.login
    person = as_app(None, GITHUB_TOKEN=shop.owner.token)
    assert await person.login() == shop.owner.login


async def test_a_public_repository_is_cloned_without_credentials(as_app, open_shop):
    shop = await open_shop(private=False)
    assert await as_app(shop.app).clone_credentials(shop.known) is None


async def test_clone_credentials_read_one_repository_and_nothing_else(github, shop, forge, redactor):
    other = await forge.repository(shop.owner, "secret", private=True)
    credentials = await github.clone_credentials(shop.known)
    assert credentials.username == "x-access-token"
    assert (await forge.rest(credentials.password, "GET", f"/repos/{shop.known.name}"))["id"] == shop.known.id
    for method, path in (("GET", f"/repos/{other.full_name}"), ("POST", f"/repos/{shop.known.name}/issues/1/comments")):
        with pytest.raises(Exception, match=r"40[34]"):
            await forge.rest(credentials.password, method, path, {"body": "x"} if method == "POST" else None)
    assert credentials.password not in redactor.mask(f"leaked: {credentials.password}")


async def test_clone_credentials_of_an_app_that_was_removed_are_the_repository_s_fault(github, shop, forge):
    jwt_caller = github._app()
    jwt_caller.requester.requestJsonAndCheck("DELETE", f"/app/installations/{shop.known.installation_id}")
    with pytest.raises(SourceUnavailable, match="not installed on this repository any more"):
        await github.clone_credentials(shop.known)
    assert await github.repository(shop.known.id, shop.known.installation_id) is None


async def test_with_a_plain_token_that_token_clones(as_app, shop):
    credentials = await as_app(None, GITHUB_TOKEN=shop.owner.token).clone_credentials(shop.known)
    assert (credentials.username, credentials.password) == ("x-access-token", shop.owner.token)


async def test_an_installation_token_is_kept_and_renewed_before_it_ends(github, shop, monkeypatch, forge):
    async def read():
        return await github.repository(shop.known.id, shop.known.installation_id)

    await read()
    await forge.fault("server_error", method="POST", path="/access_tokens$")
    assert await read() == shop.known
    monkeypatch.setattr(github_module, "TOKEN_MARGIN_SECONDS", 2 * 3600)
    with pytest.raises(GitHubUnavailable):
        await read()


async def test_calls_at_the_same_time_never_get_each_other_s_answers(github, shop):
    await shop.driver.push({"a": "1"}, branch="branch")
    clone = await shop.driver._clone(shop.owner)
    branches = [f"HEAD:refs/heads/branch{count}" for count in range(16)]
    await shop.driver.git(clone, "push", "--quiet", "origin", *branches, by=shop.owner)
    numbers = [await shop.driver.open_pull(f"branch{count}", title=f"Title {count}") for count in range(16)]
    for _ in range(3):
        pulls = await asyncio.gather(
            *(github.pull(shop.known.id, number, shop.known.installation_id) for number in numbers)
        )
        assert [(pull.number, pull.title) for pull in pulls] == [
            (number, f"Title {count}") for count, number in enumerate(numbers)
        ]
    written = await asyncio.gather(*(github.create_comment(shop.known, n, f"for {n}") for n in numbers))
    for number, comment_id in zip(numbers, written, strict=True):
        (comment,) = await shop.driver.comments(number)
        assert (comment["id"], comment["body"]) == (comment_id, f"for {number}")


async def test_an_event_without_an_installation_is_the_operator_s_fault_when_we_are_an_app(github):
    with pytest.raises(OperatorFault, match="without an installation"):
        await github.repository(RepoId(1), None)


async def _pull(shop) -> int:
    await shop.driver.push({"a": "1"}, branch="change")
    return await shop.driver.open_pull("change")
