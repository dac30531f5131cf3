"""What HTTP can do still works where rules are applied to it."""

import pytest
from asking import SECRET, custom, injection
from engine_process import wait_until
from rule_world import API

pytestmark = pytest.mark.bwrap


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


async def test_a_client_goes_on_though_the_host_has_closed_an_idle_connection(make_sandbox, world) -> None:
    script = (
        "import http.client, sys; c = http.client.HTTPSConnection(sys.argv[1], timeout=20)\n"
        "c.request('GET', '/leave'); print(len(c.getresponse().read()), flush=True)\n"
        "c.auto_open = 0; open('/tmp/gate').read()\n"
        "c.request('GET', '/next'); print(c.getresponse().status, flush=True)\n"
    )
    sandbox = await make_sandbox(network_policy=custom(api=[injection()]))
    await sandbox.run_process("mkfifo", ["/tmp/gate"])
    before = world.proxy.hung_up
    process = await sandbox.create_process("/usr/bin/python3", ["-c", script, API], stdout=-1)
    assert await process.stdout.readline() == "29\n"
    wait_until(lambda: world.proxy.hung_up > before)
    await sandbox.run_process("sh", ["-c", "echo > /tmp/gate"])
    assert await process.stdout.readline() == "200\n"
    assert len({one.connection for one in world.secure.asked}) == 2
