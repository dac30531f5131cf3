"""Rules for the requests to a domain, seen from inside the sandbox, from the host that is asked, and from the API."""

import shutil
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from engine_process import EngineProcess, wait_until
from rule_world import API, OTHER, RuleWorld
from vercel.sandbox import (
    GitSource,
    NetworkPolicy,
    NetworkPolicyKeyValueMatcher,
    NetworkPolicyMatcher,
    NetworkPolicyRequestMatcher,
    NetworkPolicyResponse,
    NetworkPolicyRule,
    NetworkPolicyTransform,
    Sandbox,
    SandboxApiError,
    TarballSource,
)

pytestmark = pytest.mark.bwrap
SECRET = "the-secret-that-no-sandbox-sees"

FETCH = """
import sys, urllib.request, urllib.error
url, method, body, *headers = sys.argv[1:]
asked = urllib.request.Request(url, method=method, data=body.encode() or None)
for header in headers:
    asked.add_header(*header.split("=", 1))
try:
    answer = urllib.request.urlopen(asked, timeout=20)
except urllib.error.HTTPError as error:
    answer = error
except OSError as error:
    print("failed", getattr(error, "reason", error)); sys.exit()
print(answer.status, answer.read().decode())
"""
SPEAK = """
import socket, ssl, sys
host, port, server_name, request = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
connection = socket.create_connection((host, port), 20)
try:
    if server_name != "-":
        context = ssl._create_unverified_context()
        connection = context.wrap_socket(connection, server_hostname=server_name or None)
    connection.sendall(request.encode().decode("unicode_escape").encode())
    print(connection.recv(4096).split(b"\\r\\n")[0].decode() or "closed")
except OSError as error:
    print("cut")
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RuleWorld]:
    world = RuleWorld(tmp_path_factory.mktemp("world"))
    yield world
    world.close()


@pytest.fixture(scope="module")
def engine(world: RuleWorld, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    """An engine of its own: all its ways out lead through the proxy, into the small internet."""
    data = tmp_path_factory.mktemp("rules")
    environment = {"SSL_CERT_FILE": str(world.certificates)}
    process = EngineProcess(data, "--egress-proxy", world.proxy.url, env=environment)
    yield process
    assert process.stop() == 0, process.complaint
    shutil.rmtree(data)


@pytest.fixture(autouse=True)
async def asked(world: RuleWorld) -> AsyncIterator[None]:
    for each in (world.secure, world.plain):
        each.asked.clear()
        each.gate.clear()
    yield
    for each in (world.secure, world.plain):
        each.gate.set()


def injection(**match: object) -> NetworkPolicyRule:
    matcher = NetworkPolicyRequestMatcher(**match) if match else None
    headers = {"Authorization": f"Bearer {SECRET}"}
    return NetworkPolicyRule(match=matcher, transform=[NetworkPolicyTransform(headers=headers)])


def answer(status: int, body: str, **match: object) -> NetworkPolicyRule:
    matcher = NetworkPolicyRequestMatcher(**match) if match else None
    response = NetworkPolicyResponse(status_code=status, body=body, content_type="text/plain")
    return NetworkPolicyRule(match=matcher, response=response)


def custom(**rules: list) -> NetworkPolicy:
    return NetworkPolicy.custom({API: rules.get("api", []), OTHER: rules.get("other", [])})


async def fetch(sandbox: Sandbox, url: str, method: str = "GET", body: str = "", *headers: str) -> str:
    ran = await sandbox.run_process("/usr/bin/python3", ["-c", FETCH, url, method, body, *headers], capture_output=True)
    return (ran.stdout + ran.stderr).strip()


async def speak(sandbox: Sandbox, host: str, port: int, server_name: str, request: str) -> str:
    argv = ["-c", SPEAK, host, str(port), server_name, request]
    ran = await sandbox.run_process("/usr/bin/python3", argv, capture_output=True)
    return (ran.stdout + ran.stderr).strip()


def request(host: str, target: str = "/") -> str:
    return f"GET {target} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n"


async def test_an_https_api_gets_a_header_that_the_sandbox_does_not_know(make_sandbox, world: RuleWorld) -> None:
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    assert await fetch(sandbox, f"https://{API}/user") == '200 {"path": "/user", "size": 0}'
    assert world.secure.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert await fetch(sandbox, f"https://{API}/user", "GET", "", "authorization=mine") != ""
    assert world.secure.asked[1].headers["authorization"] == f"Bearer {SECRET}"


async def test_the_secret_and_the_authority_s_key_are_nowhere_in_the_sandbox(make_sandbox, engine) -> None:
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    await fetch(sandbox, f"https://{API}/user")
    for word in (SECRET[4:], "PRIVATE KEY"):
        where = "/proc/[0-9]*/environ /proc/[0-9]*/cmdline /vercel /opt/preview/trust /run /tmp /etc/resolv.conf"
        script = f"env | grep -q '{word[:3]}''{word[3:]}' && echo env; grep -rl '{word[:3]}'\"{word[3:]}\" {where}"
        found = await sandbox.run_process("sh", ["-c", script], capture_output=True)
        assert set(found.stdout.split()) <= {"env"} | {line for line in found.stdout.split() if "cmdline" in line}
        assert "env" not in found.stdout.split()
    key = engine.data / "authority" / "key.pem"
    assert key.stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE KEY" not in (engine.data / "tools" / "trust" / "bundle.pem").read_bytes()


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


async def engine_policy(engine: EngineProcess, sandbox: Sandbox) -> dict:
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {engine.token}"}) as http:
        read = await http.get(f"{engine.url}/v2/sandboxes/{sandbox.name}")
    return read.json()["sandbox"]["networkPolicy"]


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


async def test_requests_of_one_client_share_a_connection_to_the_host(make_sandbox, world) -> None:
    script = (
        "import http.client, ssl, sys; c = http.client.HTTPSConnection(sys.argv[1], timeout=20)\n"
        "for path in ('/a', '/b'):\n"
        "    c.request('POST', path, body=iter([b'x' * 3_000_000, b'y']), encode_chunked=True)\n"
        "    print(c.getresponse().read().decode())\n"
    )
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    ran = await sandbox.run_process("/usr/bin/python3", ["-c", script, API], capture_output=True)
    assert ran.stdout.count('"size": 3000001') == 2, ran.stderr
    assert len({one.connection for one in world.secure.asked}) == 1


async def test_a_response_passes_as_it_comes(make_sandbox, world) -> None:
    script = (
        "import sys, urllib.request; a = urllib.request.urlopen(sys.argv[1], timeout=30)\n"
        "for line in a: print(line.decode().strip(), flush=True)\n"
    )
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    process = await sandbox.create_process("/usr/bin/python3", ["-c", script, f"https://{API}/lines"], stdout=-1)
    assert await process.stdout.readline() == "first\n"
    world.secure.gate.set()
    assert await process.stdout.readline() == "second\n"
    assert await process.wait() == 0


async def test_a_websocket_passes(make_sandbox, world) -> None:
    script = (
        "import socket, ssl, sys; host = sys.argv[1]\n"
        "c = ssl.create_default_context().wrap_socket(socket.create_connection((host, 443)), server_hostname=host)\n"
        "c.sendall(f'GET /echo HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n'"
        ".encode())\n"
        "said = b''\n"
        "while not said.endswith(b'\\r\\n\\r\\n'): said += c.recv(1)\n"
        "print(said.split(b'\\r\\n')[0].decode()); c.sendall(b'ping'); print(c.recv(4).decode())\n"
    )
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    ran = await sandbox.run_process("/usr/bin/python3", ["-c", script, API], capture_output=True)
    assert ran.stdout.startswith("HTTP/1.1 101"), ran.stderr
    assert ran.stdout.endswith("ping\n")
    assert world.secure.asked[0].headers["authorization"] == f"Bearer {SECRET}"


async def test_node_and_curl_trust_the_authority_without_being_told(make_sandbox) -> None:
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    script = f"fetch('https://{API}/n').then(a => a.text()).then(console.log)"
    node = await sandbox.run_process("node", ["-e", script], capture_output=True)
    assert node.stdout == '{"path": "/n", "size": 0}\n', node.stderr
    curl = await sandbox.run_process("curl", ["-sS", "--fail", f"https://{API}/c"], capture_output=True)
    assert curl.stdout == '{"path": "/c", "size": 0}', curl.stderr


async def test_rules_come_and_go_while_the_sandbox_runs(make_sandbox, world) -> None:
    sandbox = await make_sandbox()
    assert "bundle" not in (await sandbox.run_process("env", capture_output=True)).stdout
    await sandbox.update(network_policy=custom(api=[injection()]))
    assert (await fetch(sandbox, f"https://{API}/")).startswith("200")
    assert world.secure.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    await sandbox.update(network_policy=custom(api=[answer(418, "short and stout")]))
    assert await fetch(sandbox, f"https://{API}/") == "418 short and stout"
    await sandbox.update(network_policy=NetworkPolicy.allow_all())
    assert "bundle" not in (await sandbox.run_process("env", capture_output=True)).stdout


async def test_other_rules_cut_what_runs_under_the_old_ones(make_sandbox, world) -> None:
    script = (
        "import sys, urllib.request; a = urllib.request.urlopen(sys.argv[1], timeout=60)\n"
        "print(a.readline().decode().strip(), flush=True)\n"
        "try: print(a.read())\n"
        "except Exception: print('cut', flush=True)\n"
    )
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    process = await sandbox.create_process("/usr/bin/python3", ["-c", script, f"https://{API}/lines"], stdout=-1)
    assert await process.stdout.readline() == "first\n"
    await sandbox.update(network_policy=custom(api=[answer(403, "no")]))
    assert await process.stdout.readline() == "cut\n"


async def test_what_asked_for_another_name_while_nobody_minded_is_cut_later(make_sandbox, world) -> None:
    script = (
        "import socket, ssl, sys; host, server_name, gate = sys.argv[1:]\n"
        "c = socket.create_connection((host, 443), 20)\n"
        "c = ssl._create_unverified_context().wrap_socket(c, server_hostname=server_name)\n"
        "print('connected', flush=True); open(gate).read()\n"
        "request = f'GET / HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n'.encode()\n"
        "try: c.sendall(request); print(c.recv(15).decode(), flush=True)\n"
        "except OSError: print('cut', flush=True)\n"
    )
    sandbox = await make_sandbox()
    await sandbox.run_process("mkfifo", ["/tmp/one", "/tmp/two"])
    pairs = ((API, "/tmp/one"), ("elsewhere.test", "/tmp/two"))
    talks = [
        await sandbox.create_process("/usr/bin/python3", ["-c", script, API, name, gate], stdout=-1)
        for name, gate in pairs
    ]
    assert [await talk.stdout.readline() for talk in talks] == ["connected\n"] * 2
    await sandbox.update(network_policy=custom())
    await sandbox.run_process("sh", ["-c", "echo > /tmp/one; echo > /tmp/two"])
    assert [await talk.stdout.readline() for talk in talks] == ["HTTP/1.1 200 OK\n", "cut\n"]


async def test_a_connection_that_was_silent_before_is_held_to_its_name(make_sandbox, world) -> None:
    script = (
        "import socket, ssl, sys; host, gate = sys.argv[1:]\n"
        "c = socket.create_connection((host, 443), 20); print('connected', flush=True); open(gate).read()\n"
        "try: ssl._create_unverified_context().wrap_socket(c, server_hostname='elsewhere.test'); print('let through')\n"
        "except OSError: print('cut', flush=True)\n"
    )
    sandbox = await make_sandbox()
    await sandbox.run_process("mkfifo", ["/tmp/gate"])
    talk = await sandbox.create_process("/usr/bin/python3", ["-c", script, API, "/tmp/gate"], stdout=-1)
    assert await talk.stdout.readline() == "connected\n"
    await sandbox.update(network_policy=custom())
    await sandbox.run_process("sh", ["-c", "echo > /tmp/gate"])
    assert await talk.stdout.readline() == "cut\n"


async def test_a_rule_survives_a_stop(client, world) -> None:
    sandbox = await client.create_sandbox(name="rules-stay", network_policy=custom(api=[injection()]))
    try:
        await sandbox.stop()
        assert (await fetch(sandbox, f"https://{API}/again")).startswith("200")
        assert world.secure.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    finally:
        await sandbox.destroy()


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
