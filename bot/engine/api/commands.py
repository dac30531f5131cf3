"""Routes about the commands of a session: run, wait, logs, kill, standard input."""

import base64
import binascii
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from litestar import Request, Response, Router, get, post
from litestar.response import Stream

from bot.engine.api.answers import Json, command_json
from bot.engine.api.doors import read_body
from bot.engine.errors import ApiError, bad_request
from bot.engine.output import replay
from bot.engine.processes import Command, start_command
from bot.engine.records import CommandRecord
from bot.engine.rootfs import CWD
from bot.engine.sandbox import Sandbox
from bot.engine.sandboxes import Sandboxes
from bot.engine.users import without_wrapper
from bot.engine.wire import CommandBody, KillBody, StdinBody

AnyRequest = Request[Any, Any, Any]
_NDJSON = "application/x-ndjson"


@post("/v2/sandboxes/sessions/{session_id:str}/cmd", status_code=200)
async def run_command(request: AnyRequest, sandboxes: Sandboxes, session_id: str) -> Response[Any]:
    """Start a command; with `wait` or `logs` stream its output, else answer at once.

    `sudo` is accepted and changes nothing; see `bot.engine.users`.
    """
    body = await read_body(request, CommandBody)
    sandbox = sandboxes.of_session(session_id)
    command = await _start(sandbox, session_id, body)
    sandbox.commands.add(command)
    if body.wait or body.logs:
        return Stream(_tell(command, command.record), media_type=_NDJSON)
    return Response({"command": command_json(command.record)})


@get("/v2/sandboxes/sessions/{session_id:str}/cmd")
async def list_commands(sandboxes: Sandboxes, session_id: str) -> Json:
    return {"commands": [command_json(one) for one in sandboxes.of_session(session_id).commands.of_session(session_id)]}


@get("/v2/sandboxes/sessions/{session_id:str}/cmd/{command_id:str}")
async def get_command(sandboxes: Sandboxes, session_id: str, command_id: str, wait: bool = False) -> Json:
    command = sandboxes.of_session(session_id).commands.find(command_id)
    if wait and isinstance(command, Command):
        await command.ended.wait()
    return {"command": command_json(_record(command))}


@get("/v2/sandboxes/sessions/{session_id:str}/cmd/{command_id:str}/logs")
async def read_logs(sandboxes: Sandboxes, session_id: str, command_id: str) -> Stream:
    """All output from the beginning, and what comes until the command has ended."""
    sandbox = sandboxes.of_session(session_id)
    command = sandbox.commands.find(command_id)
    if isinstance(command, Command):
        return Stream(command.output.follow(), media_type=_NDJSON)
    return Stream(replay(sandbox.commands.output(command)), media_type=_NDJSON)


@post("/v2/sandboxes/sessions/{session_id:str}/cmd/{command_id:str}/kill", status_code=200)
async def kill_command(request: AnyRequest, sandboxes: Sandboxes, session_id: str, command_id: str) -> Json:
    """Signal the command's process group; one that has ended already is no error."""
    body = await read_body(request, KillBody)
    sandbox = sandboxes.of_session(session_id)
    command = sandbox.commands.find(command_id)
    if isinstance(command, Command) and not command.ended.is_set():
        box = await sandbox.running(session_id)
        await box.guest.kill(command.number, body.signal)
    return {"command": command_json(_record(command))}


@post("/v2/sandboxes/sessions/{session_id:str}/cmd/{command_id:str}/stdin", status_code=200)
async def write_stdin(request: AnyRequest, sandboxes: Sandboxes, session_id: str, command_id: str) -> Json:
    body = await read_body(request, StdinBody)
    command = sandboxes.of_session(session_id).commands.find(command_id)
    if not isinstance(command, Command) or command.ended.is_set():
        raise ApiError(404, "not_found", "the command has ended")
    if command.stdin is None:
        raise bad_request("the command was started without standard input", "command_stdin_unavailable")
    try:
        await command.stdin.write(base64.b64decode(body.data or "", validate=True), body.offset)
    except binascii.Error as error:
        raise bad_request("data is not base64") from error
    except BrokenPipeError as error:
        raise bad_request("the command reads its standard input no more", "command_stdin_unavailable") from error
    if body.close:
        command.stdin.close()
    return {"command": command_json(command.record), "bytesWritten": command.stdin.written}


async def _start(sandbox: Sandbox, session_id: str, body: CommandBody) -> Command:
    """Start in the wanted directory, or in the clone itself when that is asked for by the repository's name."""
    try:
        return await _start_in(sandbox, session_id, body, sandbox.place(body.cwd))
    except ApiError as error:
        if error.code != "cwd_not_found" or not body.cwd or body.cwd != sandbox.record.repository:
            raise
        return await _start_in(sandbox, session_id, body, CWD)


async def _start_in(sandbox: Sandbox, session_id: str, body: CommandBody, cwd: str) -> Command:
    box = await sandbox.running(session_id)
    command = await start_command(
        box.guest,
        without_wrapper([body.command, *body.args]),
        session_id=session_id,
        cwd=cwd,
        env={**sandbox.environment, **body.env},
        folder=sandbox.folder.commands,
        owner=sandbox.workshop.owner,
        output_limit=sandbox.workshop.settings.output_limit,
        attach_stdin=body.attach_stdin,
        verdict=sandbox.verdicts.on_a_command(),
    )
    if body.timeout:
        command.limit_time(body.timeout / 1000, box.guest)
    return command


async def _tell(command: Command, started: CommandRecord) -> AsyncIterator[bytes]:
    """The command, its output as it comes, then the command with its exit code."""
    yield _line(started)
    async for records in command.output.follow():
        yield records
    await command.ended.wait()
    yield _line(command.record)


def _line(record: CommandRecord) -> bytes:
    return msgspec.json.encode({"command": command_json(record)}) + b"\n"


def _record(command: Command | CommandRecord) -> CommandRecord:
    return command.record if isinstance(command, Command) else command


router = Router("/", route_handlers=[run_command, list_commands, get_command, read_logs, kill_command, write_stdin])
