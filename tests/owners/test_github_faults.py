"""What becomes of a call when GitHub, or the way to it, fails."""

import pytest

from bot.errors import GitHubUnavailable, OperatorFault
from bot.stage import free_port


@pytest.fixture
async def number(shop) -> int:
    await shop.driver.push({"a": "1"}, branch="change")
    return await shop.driver.open_pull("change")


async def read(github, shop):
    return await github.repository(shop.known.id, shop.known.installation_id)


async def test_a_token_that_stopped_working_is_replaced_once(github, shop, forge):
    await read(github, shop)
    await forge.fault("unauthorized", path=f"/repositories/{shop.known.id}$")
    assert await read(github, shop) == shop.known


async def test_credentials_that_stay_refused_are_the_operator_s_fault(github, shop, forge):
    await forge.fault("unauthorized", path=f"/repositories/{shop.known.id}$", times=2)
    with pytest.raises(OperatorFault, match=r"refuses the credentials.*GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY"):
        await read(github, shop)


async def test_a_wrong_token_is_the_operator_s_fault(as_app, shop):
    with pytest.raises(OperatorFault, match="check GITHUB_TOKEN"):
        await read(as_app(None, GITHUB_TOKEN="ghp_wrong"), shop)


async def test_a_key_that_is_none_is_named(as_app, shop):
    wrong = as_app(shop.app, GITHUB_APP_PRIVATE_KEY="-----BEGIN NONSENSE-----\nAAAA\n-----END NONSENSE-----")
    with pytest.raises(OperatorFault, match=r"^GITHUB_APP_PRIVATE_KEY: this is no private key in PEM form"):
        await wrong.login()


async def test_an_app_that_github_does_not_know_is_the_operator_s_fault(as_app, shop):
    with pytest.raises(OperatorFault, match="GITHUB_APP_ID"):
        await as_app(shop.app, GITHUB_APP_ID="99999999").login()


async def test_a_missing_permission_names_what_to_give(open_shop, as_app):
    shop = await open_shop(contents="read", pull_requests="read", issues="read")
    await shop.driver.push({"a": "1"}, branch="change")
    number = await shop.driver.open_pull("change")
    with pytest.raises(OperatorFault, match=r"GitHub forbids this .*contents: read and pull requests: write"):
        await as_app(shop.app).create_comment(shop.known, number, "Hello")


async def test_a_read_is_tried_again_after_an_error_of_the_server(github, shop, forge):
    await forge.fault("server_error", method="GET", path=f"/repositories/{shop.known.id}$")
    assert await read(github, shop) == shop.known


async def test_a_server_that_stays_broken_is_the_world_s_fault(github, shop, forge):
    await forge.fault("server_error", method="GET", path=f"/repositories/{shop.known.id}$", times=9)
    with pytest.raises(GitHubUnavailable):
        await read(github, shop)


@pytest.mark.parametrize(
    ("kind", "details", "wait"),
    [
        ("secondary_limit", {"retry_after": 7}, 7),
        ("too_many_requests", {"retry_after": 3}, 3),
        ("primary_limit", {"retry_after": 600}, None),
        ("server_error", {}, None),
        ("redirect", {"location": "/elsewhere"}, None),
        ("reset", {}, None),
    ],
)
async def test_a_write_that_fails_is_not_repeated_by_itself(github, shop, forge, number, kind, details, wait):
    await forge.fault(kind, method="POST", path="/comments$", **details)
    with pytest.raises(GitHubUnavailable) as told:
        await github.create_comment(shop.known, number, "Hello")
    assert await shop.driver.comments(number) == []
    assert wait is None or told.value.retry_after == wait


async def test_a_write_whose_answer_is_lost_is_found_again(github, shop, forge, number):
    await forge.fault("lost_answer", method="POST", path="/comments$")
    with pytest.raises(GitHubUnavailable):
        await github.create_comment(shop.known, number, "<!-- m --> Hello")
    (comment,) = await shop.driver.comments(number)
    assert await github.find_comment(shop.known, number, "<!-- m -->") == comment["id"]


async def test_a_limit_on_the_way_to_a_permission_means_no(github, shop, forge):
    await forge.fault("server_error", path="/permission$", times=9)
    with pytest.raises(GitHubUnavailable):
        await github.may_write(shop.known, shop.owner.login)


async def test_a_github_that_nobody_answers_for_is_named(as_app, shop):
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(GitHubUnavailable, match=f"does not answer at {url}"):
        await read(as_app(None, GITHUB_API_URL=url, GITHUB_TOKEN="token"), shop)
