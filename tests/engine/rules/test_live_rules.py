"""Rules and policies that change while a sandbox runs."""

import pytest
from asking import SECRET, answer, custom, fetch, injection
from rule_world import API
from vercel.sandbox import (
    NetworkPolicy,
)

pytestmark = pytest.mark.bwrap


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
