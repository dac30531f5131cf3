"""Commands: their output, their end, and how clients follow them."""

import asyncio
import json
import signal
from subprocess import PIPE

import httpx
import pytest
from engine_process import EngineProcess
from vercel.sandbox import GitSource, Sandbox, SandboxApiError

pytestmark = pytest.mark.bwrap


async def test_exit_code_and_both_streams_come_back(sandbox: Sandbox) -> None:
    ran = await sandbox.run_process("sh", ["-c", "echo out; echo err >&2; exit 7"], capture_output=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "out\n", "err\n")


async def test_a_command_killed_by_a_signal_ends_with_128_plus_its_number(sandbox: Sandbox) -> None:
    ran = await sandbox.run_process("sh", ["-c", "kill -TERM $$"])
    assert ran.returncode == 128 + signal.SIGTERM


async def test_a_missing_executable_is_said_before_anything_streams(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxApiError) as refused:
        await sandbox.run_process("no-such-program")
    assert (refused.value.status_code, refused.value.code) == (400, "executable_not_found")


async def test_a_missing_directory_is_said_before_anything_streams(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxApiError) as refused:
        await sandbox.run_process("true", cwd="nowhere")
    assert (refused.value.status_code, refused.value.code) == (400, "cwd_not_found")


async def test_characters_cut_between_reads_and_bytes_that_are_none_survive(sandbox: Sandbox) -> None:
    script = r"printf '\303'; sleep 0.2; printf '\244|\000|\377|'; printf '\342\202'"
    ran = await sandbox.run_process("sh", ["-c", script], capture_output=True)
    assert ran.stdout == "ä|\0|\ufffd|\ufffd"


async def test_a_replay_is_identical_to_what_was_streamed(sandbox: Sandbox) -> None:
    script = "i=0; while [ $i -lt 2000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"
    process = await sandbox.create_process("sh", ["-c", script], stdout=PIPE, stderr=PIPE)
    streamed = await process.communicate()
    again = await sandbox.get_process(process.id)
    assert await again.communicate() == streamed
    assert streamed[0] == "".join(f"out {i}\n" for i in range(2000))


async def test_a_late_reader_gets_the_beginning_and_follows_to_the_end(sandbox: Sandbox) -> None:
    script = "echo first; read _ < /tmp/gate; echo last"
    await sandbox.run_process("mkfifo", ["/tmp/gate"])
    process = await sandbox.create_process("sh", ["-c", script], stdout=PIPE)
    late = await sandbox.get_process(process.id)
    assert await late.stdout.readline() == "first\n"
    await sandbox.run_process("sh", ["-c", "echo > /tmp/gate"])
    assert await late.stdout.readline() == "last\n"
    assert await process.wait() == 0


async def test_killing_reaches_the_whole_process_group(sandbox: Sandbox) -> None:
    process = await sandbox.create_process("sh", ["-c", "sleep 1000 & sleep 1000"])
    await process.kill()
    assert await process.wait() == 128 + signal.SIGKILL
    left = await sandbox.run_process("sh", ["-c", "ps ax | grep -c '[s]leep 1000'"], capture_output=True)
    assert left.stdout == "0\n"


async def test_killing_what_has_ended_is_fine(sandbox: Sandbox) -> None:
    process = await sandbox.create_process("true")
    await process.wait()
    await process.kill()


async def test_kill_after_ends_a_command_that_takes_too_long(sandbox: Sandbox) -> None:
    ran = await sandbox.run_process("sleep", ["1000"], kill_after=0.2)
    assert ran.returncode == 128 + signal.SIGKILL


async def test_a_command_ends_though_its_child_keeps_the_output_open(sandbox: Sandbox) -> None:
    ran = await sandbox.run_process("sh", ["-c", "sleep 1000 & echo started"], capture_output=True)
    assert (ran.returncode, ran.stdout) == (0, "started\n")


async def test_standard_input_is_empty_unless_given(sandbox: Sandbox) -> None:
    assert (await sandbox.run_process("cat", capture_output=True)).stdout == ""
    given = await sandbox.run_process("sh", ["-c", "cat; echo done"], input="some words ", capture_output=True)
    assert given.stdout == "some words done\n"


async def test_output_can_be_reopened_by_its_path(sandbox: Sandbox) -> None:
    ran = await sandbox.run_process("sh", ["-c", "echo a > /dev/stdout; echo b > /dev/stderr"], capture_output=True)
    assert (ran.stdout, ran.stderr) == ("a\n", "b\n")


async def test_many_commands_run_side_by_side(sandbox: Sandbox) -> None:
    ran = await asyncio.gather(
        *(sandbox.run_process("sh", ["-c", f"sleep 0.2; echo {n}"], capture_output=True) for n in range(20))
    )
    assert [one.stdout for one in ran] == [f"{n}\n" for n in range(20)]


async def test_a_command_line_may_be_larger_than_a_socket_s_buffer(sandbox: Sandbox) -> None:
    ran = await sandbox.run_process("sh", ["-c", "echo ${#0} ${#1}", "x" * 120_000, "y" * 120_000], capture_output=True)
    assert ran.stdout == "120000 120000\n"


async def test_a_relative_cwd_named_like_the_repository_is_the_clone_itself(
    make_sandbox, git_server, repository
) -> None:
    repository.commit(file="x")
    sandbox = await make_sandbox(source=GitSource(url=f"{git_server.url}/app"))
    assert (await sandbox.run_process("pwd", cwd="app", capture_output=True)).stdout == "/vercel/sandbox\n"
    await sandbox.fs.mkdir("app")
    assert (await sandbox.run_process("pwd", cwd="app", capture_output=True)).stdout == "/vercel/sandbox/app\n"


async def test_the_stream_has_exactly_the_promised_type_and_records(engine: EngineProcess, sandbox: Sandbox) -> None:
    url = f"{engine.url}/v2/sandboxes/sessions/{sandbox.current_session.id}/cmd"
    async with httpx.AsyncClient(timeout=60, headers={"authorization": f"Bearer {engine.token}"}) as http:
        answer = await http.post(url, json={"command": "echo", "args": ["hi"], "wait": True, "logs": True})
    first, output, last = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert first["command"]["exitCode"] is None
    assert output == {"stream": "stdout", "data": "hi\n"}
    assert (last["command"]["id"], last["command"]["exitCode"]) == (first["command"]["id"], 0)


async def test_commands_are_listed_newest_first(sandbox: Sandbox) -> None:
    for word in ("one", "two"):
        await sandbox.run_process("echo", [word], capture_output=True)
    listed = await sandbox.query_processes()
    assert [process.args[-1] for process in listed][:2] == ["two", "one"]
