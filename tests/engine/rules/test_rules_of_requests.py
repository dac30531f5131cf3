"""Rules for the requests to a domain, seen from inside the sandbox, from the host that is asked, and from the API."""

import httpx
import pytest
from asking import SECRET, answer, custom, fetch, injection, request, speak
from engine_process import EngineProcess
from rule_world import API, RuleWorld
from vercel.sandbox import (
    NetworkPolicyKeyValueMatcher,
    NetworkPolicyMatcher,
    NetworkPolicyRule,
    Sandbox,
)

pytestmark = pytest.mark.bwrap


async def engine_policy(engine: EngineProcess, sandbox: Sandbox) -> dict:
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {engine.token}"}) as http:
        read = await http.get(f"{engine.url}/v2/sandboxes/{sandbox.name}")
    return read.json()["sandbox"]["networkPolicy"]


async def test_an_https_api_gets_a_header_that_the_sandbox_does_not_know(make_sandbox, world: RuleWorld) -> None:
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    assert await fetch(sandbox, f"https://{API}/user") == '200 {"path": "/user", "size": 0}'
    assert world.secure.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert await fetch(sandbox, f"https://{API}/user", "GET", "", "authorization=mine") != ""
    assert world.secure.asked[1].headers["authorization"] == f"Bearer {SECRET}"


SEARCH = """
import pathlib, sys
word = sys.argv[1][::-1].encode()  # turned round: the search must not find itself
places = [*pathlib.Path("/proc").glob("[0-9]*/environ"), *pathlib.Path("/proc").glob("[0-9]*/cmdline")]
for top in ("/vercel", "/opt/preview/trust", "/etc", "/run", "/tmp"):
    places += [place for place in pathlib.Path(top).rglob("*") if place.is_file()]
for place in places:
    try:
        if word in place.read_bytes():
            print(place)
    except OSError:
        pass
"""


async def test_the_secret_and_the_authority_s_key_are_nowhere_in_the_sandbox(make_sandbox, engine) -> None:
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    await fetch(sandbox, f"https://{API}/user")
    await sandbox.fs.write_text("/tmp/control", "words that are there")
    key = engine.data / "authority" / "key.pem"
    found = [
        (await sandbox.run_process("/usr/bin/python3", ["-c", SEARCH, word[::-1]], capture_output=True)).stdout
        for word in (SECRET, key.read_text().splitlines()[1], "words that are there")
    ]
    assert found == ["", "", "/tmp/control\n"]
    assert key.stat().st_mode & 0o777 == 0o600


async def test_what_the_api_tells_of_a_policy_names_headers_and_no_values(make_sandbox, engine: EngineProcess) -> None:
    rules = [
        injection(method=["POST"], path=NetworkPolicyMatcher.starts_with("/v1/")),
        NetworkPolicyRule(forward_url="https://proxy.rules.test/base"),
        answer(403, "no"),
    ]
    sandbox = await make_sandbox(network_policy=custom(api=rules))
    again = await engine_policy(engine, sandbox)
    assert again["injectionRules"] == [
        {"domain": API, "headerNames": ["authorization"], "matchDimensions": ["path", "method"]}
    ]
    assert again["forwardRules"] == [{"domain": API, "forwardURL": "https://proxy.rules.test/base"}]
    assert again["responseRules"] == [{"domain": API, "statusCode": 403}]
    assert SECRET not in str(again)
    assert sandbox.network_policy.injection_rules[0].header_names == ("authorization",)


async def test_the_first_rule_that_fits_decides_and_a_last_one_refuses_the_rest(make_sandbox, world) -> None:
    placeholder = NetworkPolicyKeyValueMatcher(
        key=NetworkPolicyMatcher.exact("X-Key"), value=NetworkPolicyMatcher.exact("placeholder")
    )
    page = NetworkPolicyKeyValueMatcher(
        key=NetworkPolicyMatcher.exact("page"), value=NetworkPolicyMatcher.regex("^[0-9]+$")
    )
    rules = [
        injection(method=["POST"], path=NetworkPolicyMatcher.starts_with("/v1/"), headers=[placeholder]),
        injection(query=[page]),
        answer(403, "not allowed"),
    ]
    sandbox = await make_sandbox(network_policy=custom(api=rules))
    assert (await fetch(sandbox, f"https://{API}/v1/x", "POST", "hi", "x-key=placeholder")).startswith("200")
    assert (await fetch(sandbox, f"https://{API}/list?page=7")).startswith("200")
    for url, method, *headers in (
        ("/v1/x", "GET", "x-key=placeholder"),
        ("/v1/x", "POST", "x-key=else"),
        ("/v2/x", "POST", "x-key=placeholder"),
        ("/list?page=x", "GET"),
    ):
        assert await fetch(sandbox, f"https://{API}{url}", method, "", *headers) == "403 not allowed"
    assert [one.target for one in world.secure.asked] == ["/v1/x", "/list?page=7"]
    assert world.secure.asked[0].body == b"hi"


@pytest.mark.parametrize("path", ["/v1/../admin", "/v1/%2e%2e/admin", "/v1/..%2fadmin", "/v1\\\\..\\\\admin"])
async def test_a_path_that_a_server_may_read_otherwise_is_refused(make_sandbox, world, path: str) -> None:
    rules = [injection(path=NetworkPolicyMatcher.starts_with("/v1")), answer(403, "no")]
    sandbox = await make_sandbox(network_policy=custom(api=rules))
    said = await speak(sandbox, API, 443, API, request(API, path))
    assert said == "HTTP/1.1 400"
    assert world.secure.asked == []


async def test_requests_are_forwarded_with_where_they_were_going(make_sandbox, world) -> None:
    forward = NetworkPolicyRule(forward_url=f"http://127.0.0.1:{world.plain.port}/base")
    sandbox = await make_sandbox(network_policy=custom(api=[forward]))
    said = await fetch(sandbox, f"https://{API}/a?b=c", "POST", "body", "vercel-forwarded-host=lie")
    assert said == '200 {"path": "/base/a?b=c", "size": 4}'
    seen = world.plain.asked[0]
    told = {name: value for name, value in seen.headers.items() if name.startswith("vercel-")}
    assert told == {
        "vercel-forwarded-host": API,
        "vercel-forwarded-scheme": "https",
        "vercel-forwarded-port": "443",
        "vercel-forwarded-path": "/a?b=c",
    }
    assert seen.headers["host"] == f"127.0.0.1:{world.plain.port}"


async def test_a_secret_does_not_travel_in_clear_text(make_sandbox, world) -> None:
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    assert (await fetch(sandbox, f"http://{API}/user")).startswith("200")
    assert "authorization" not in world.plain.asked[0].headers


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({}, "exactly one"),
        ({"forwardURL": "ftp://x"}, "http"),
        ({"forwardURL": "https://x/?a=b"}, "query"),
        ({"transform": [{"headers": {"a b": "c"}}]}, "pattern"),
        ({"transform": [{"headers": {"a": "c\r\nd: e"}}]}, "value of a header"),
        ({"transform": [{"headers": {"Content-Length": "3"}}]}, "connection"),
        ({"response": {"statusCode": 99}}, "200"),
        ({"response": {"statusCode": 204, "body": "x", "contentType": "t"}}, "body"),
        ({"response": {"statusCode": 200}, "match": {"path": {"regex": "(?=x)"}}}, "RE2"),
        ({"response": {"statusCode": 200}, "match": {"path": {"exact": "a", "regex": "b"}}}, "one of"),
    ],
)
async def test_rules_that_cannot_be_kept_are_refused(engine: EngineProcess, rule: dict, reason: str) -> None:
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {engine.token}"}) as http:
        made = await http.post(f"{engine.url}/v3/sandboxes", json={"networkPolicy": {"allow": {API: [rule]}}})
    assert made.status_code == 400
    assert reason in made.json()["error"]["message"]
