"""What a sandbox reaches of the network, and that a changed policy holds at once."""

import socket

import pytest
from vercel.sandbox import NetworkPolicy, Sandbox

pytestmark = pytest.mark.bwrap

CONNECT = """
import socket, ssl, sys
host, port = sys.argv[1], int(sys.argv[2])
trusting = ssl._create_unverified_context()
try:
    connection = socket.create_connection((host, port), 15)
    if port == 443:
        connection = trusting.wrap_socket(connection, server_hostname="registry.npmjs.org")
    else:
        connection.sendall(b"hello")
        connection.recv(10)
    print("answered")
except socket.gaierror:
    print("no such name")
except OSError as error:
    print("refused", type(error).__name__)
"""
HOLD = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 443), 15)
connection.settimeout(None)
print("connected", flush=True)
try:
    print("closed" if not connection.recv(1) else "data", flush=True)
except OSError as error:
    print("cut", flush=True)
"""


async def connect(sandbox: Sandbox, host: str, port: int = 443) -> str:
    ran = await sandbox.run_process("/usr/bin/python3", ["-c", CONNECT, host, str(port)], capture_output=True)
    return ran.stdout


def own_address() -> str:
    """This host's address on its way out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        return probe.getsockname()[0]


async def test_npm_installs_a_package(sandbox: Sandbox, registry: str) -> None:
    await sandbox.fs.write_text("package.json", '{"name": "x", "dependencies": {"is-number": "7.0.0"}}')
    ran = await sandbox.run_process("npm", ["install"], capture_output=True)
    assert ran.returncode == 0, ran.stderr
    used = await sandbox.run_process("node", ["-p", "require('is-number')(5)"], capture_output=True)
    assert used.stdout == "true\n"


async def test_uv_installs_a_package(sandbox: Sandbox, registry: str) -> None:
    made = await sandbox.run_process("uv", ["venv", "--python", "/usr/bin/python3"], capture_output=True)
    assert made.returncode == 0, made.stderr
    ran = await sandbox.run_process("uv", ["pip", "install", "iniconfig==2.0.0"], capture_output=True)
    assert ran.returncode == 0, ran.stderr
    assert "Failed to hardlink" not in ran.stderr
    used = await sandbox.run_process(".venv/bin/python", ["-c", "import iniconfig"], capture_output=True)
    assert used.returncode == 0, used.stderr


async def test_deny_all_reaches_nothing_and_knows_no_names(make_sandbox, registry: str) -> None:
    sandbox = await make_sandbox(network_policy=NetworkPolicy.deny_all())
    assert await connect(sandbox, registry) == "no such name\n"
    assert (await connect(sandbox, socket.gethostbyname(registry))).startswith("refused")


async def test_an_allow_list_lets_only_its_names_through(make_sandbox, registry: str) -> None:
    sandbox = await make_sandbox(network_policy=NetworkPolicy.custom({"*.npmjs.org": []}))
    assert await connect(sandbox, registry) == "answered\n"
    assert await connect(sandbox, "pypi.org") == "no such name\n"
    assert (await connect(sandbox, socket.gethostbyname(registry))).startswith("refused")


async def test_a_name_that_does_not_exist_does_not_resolve(sandbox: Sandbox) -> None:
    assert await connect(sandbox, "does-not-exist.invalid") == "no such name\n"


async def test_a_stricter_policy_cuts_what_it_forbids(make_sandbox, registry: str) -> None:
    sandbox = await make_sandbox()
    process = await sandbox.create_process("/usr/bin/python3", ["-c", HOLD, registry], stdout=-1)
    assert await process.stdout.readline() == "connected\n"
    await sandbox.update(network_policy=NetworkPolicy.deny_all())
    assert await process.stdout.readline() == "cut\n"
    assert sandbox.network_policy.mode == "deny-all"
    assert await connect(sandbox, registry) == "no such name\n"
    await sandbox.update(network_policy=NetworkPolicy.allow_all())
    assert await connect(sandbox, registry) == "answered\n"


async def test_a_policy_that_still_allows_a_connection_leaves_it(make_sandbox, registry: str) -> None:
    sandbox = await make_sandbox()
    process = await sandbox.create_process("/usr/bin/python3", ["-c", HOLD, registry], stdout=-1)
    assert await process.stdout.readline() == "connected\n"
    await sandbox.update(network_policy=NetworkPolicy.custom({registry: []}))
    ran = await sandbox.run_process("ps", ["-C", "python3", "-o", "args="], capture_output=True)
    assert registry in ran.stdout


@pytest.fixture
def host_service():
    """A port that listens on every address of this host."""
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0.0.0.0",
        "::1",
        "::ffff:127.0.0.1",
        "localhost",
        "169.254.169.254",
        "10.1.2.3",
        "OWN",
    ],
)
async def test_the_host_and_private_networks_are_out_of_reach(sandbox: Sandbox, host_service: int, host: str) -> None:
    said = await connect(sandbox, own_address() if host == "OWN" else host, host_service)
    assert said.startswith(("refused", "no such name"))


async def test_the_host_s_own_name_is_out_of_reach(sandbox: Sandbox, host_service: int) -> None:
    said = await connect(sandbox, socket.gethostname(), host_service)
    assert said == "no such name\n" or "refused" in said


async def test_the_host_s_abstract_sockets_are_out_of_reach(sandbox: Sandbox) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0preview-test")
        listener.listen()
        script = "import socket; socket.socket(socket.AF_UNIX).connect('\\0preview-test')"
        ran = await sandbox.run_process("/usr/bin/python3", ["-c", script], capture_output=True)
    assert "ConnectionRefusedError" in ran.stderr


async def test_no_traffic_but_tcp_and_dns_leaves(sandbox: Sandbox) -> None:
    script = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.5);"
        "s.sendto(b'x', ('203.0.113.1', 443)); s.recv(1)"
    )
    ran = await sandbox.run_process("/usr/bin/python3", ["-c", script], capture_output=True)
    assert ran.returncode == 1
    interfaces = await sandbox.run_process("cat", ["/proc/net/dev"], capture_output=True)
    assert [line.split(":")[0].strip() for line in interfaces.stdout.splitlines()[2:]] == ["lo"]
