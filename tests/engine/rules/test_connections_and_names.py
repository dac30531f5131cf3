"""Connections are held to the name that they were made for, and hosts to theirs."""

import pytest
from asking import custom, fetch, injection, request, speak
from engine_process import wait_until
from rule_world import API, OTHER
from vercel.sandbox import (
    GitSource,
    NetworkPolicy,
    SandboxApiError,
    TarballSource,
)

pytestmark = pytest.mark.bwrap


@pytest.mark.parametrize("rules", [[], [injection()]], ids=["allowed", "with rules"])
async def test_a_connection_to_one_name_cannot_ask_for_another(make_sandbox, world, rules: list) -> None:
    sandbox = await make_sandbox(network_policy=custom(api=rules))
    assert await speak(sandbox, API, 443, API, request(API)) == "HTTP/1.1 200 OK"
    world.secure.asked.clear()
    for server_name in (OTHER, "elsewhere.test", ""):
        assert await speak(sandbox, API, 443, server_name, request(API)) == "cut"
    for asked in (
        request("elsewhere.test"),
        request(API, "http://elsewhere.test/"),
        "\\r\\n" + request("elsewhere.test"),
        f"GET / HTTP/1.1\\r\\nHost: {API}\\r\\nHost: elsewhere.test\\r\\n\\r\\n",
        "get / http/1.1\\r\\nHost: elsewhere.test\\r\\n\\r\\n",
    ):
        assert (await speak(sandbox, API, 80, "-", asked)).startswith(("HTTP/1.1 421", "HTTP/1.1 400"))
    if rules:
        assert (await speak(sandbox, API, 443, API, request("elsewhere.test"))).startswith("HTTP/1.1 421")
    assert world.secure.asked == world.plain.asked == []


async def test_a_second_request_is_held_to_the_name_as_well(make_sandbox, world) -> None:
    sandbox = await make_sandbox(network_policy=custom())
    said = await speak(sandbox, API, 80, "-", request(API, "/one") + request("elsewhere.test", "/two"))
    assert said.startswith("HTTP/1.1 200")
    wait_until(lambda: [one.target for one in world.plain.asked] == ["/one"])


async def test_rules_are_for_http_and_nothing_else_passes_them(make_sandbox, world) -> None:
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    assert await speak(sandbox, API, 5432, "-", "\\x00\\x00\\x00\\x08binary") == "cut"


async def test_a_host_that_cannot_prove_its_name_gets_nothing(make_sandbox, world) -> None:
    name = "unproven.rules.test"
    world.proxy.secure, secure = world.plain, world.proxy.secure
    try:
        sandbox = await make_sandbox(network_policy=NetworkPolicy.custom({name: [injection()]}))
        assert (await fetch(sandbox, f"https://{name}/")).startswith("502")
    finally:
        world.proxy.secure = secure
    assert world.plain.asked == []


@pytest.mark.parametrize("name", ["localhost", "x.localhost", "db.internal", "printer", "metadata.google.internal"])
async def test_a_proxy_is_not_asked_for_private_names(make_sandbox, world, name: str) -> None:
    sandbox = await make_sandbox()
    world.proxy.asked.clear()
    assert (await fetch(sandbox, f"http://{name}/")).startswith("failed")
    assert world.proxy.asked == []


@pytest.mark.parametrize(
    "source", [GitSource(url="https://git.rules.test/app"), TarballSource(url="https://git.rules.test/app.tar.gz")]
)
async def test_sources_are_fetched_by_way_of_the_proxy(make_sandbox, world, source) -> None:
    world.proxy.asked.clear()
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(source=source)
    assert "git.rules.test:443" in world.proxy.asked
    assert refused.value.status_code == 400
    assert world.proxy.password not in str(refused.value)
