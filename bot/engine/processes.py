"""The commands of one session: started, recorded with their output, waited for, killed."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import structlog

from bot.engine.errors import ApiError, bad_request
from bot.engine.guest import Guest, GuestError
from bot.engine.output import STREAMS, Output
from bot.engine.pipes import PipeReader, PipeWriter, make_pipe
from bot.engine.records import CommandRecord, now, save
from bot.engine.verdicts import Verdict

log = structlog.get_logger()
_SIGKILL = 9
_GRACE = 0.25  # seconds for what a command left behind to say its last words; output after that belongs to nobody


class Command:
    """A command that was started in this process's lifetime. `ended` is set when its output is complete as well."""

    def __init__(self, record: CommandRecord, folder: Path, limit: int, verdict: Verdict) -> None:
        self.record = record
        self.output = Output(folder / f"{record.id}.ndjson", limit)
        self.ended = asyncio.Event()
        self.stdin: PipeWriter | None = None
        self.number = 0
        self._file = folder / f"{record.id}.json"
        self._readers: list[PipeReader] = []
        self._code: int | None = None
        self._verdict = verdict
        self._overdue: str | None = None
        self._told_when_ended: list[Callable[[Command], None]] = []
        self._timers: list[asyncio.TimerHandle] = []
        save(self._file, record)

    def when_ended(self, tell: Callable[["Command"], None]) -> None:
        """Call `tell` at the end, or now if that is over."""
        if self.ended.is_set():
            tell(self)
        else:
            self._told_when_ended.append(tell)

    def listen(self, stdout: int, stderr: int) -> None:
        for stream, descriptor in zip(STREAMS, (stdout, stderr), strict=True):
            self._readers.append(PipeReader(descriptor, partial(self._hear, stream)))

    def limit_time(self, seconds: float, guest: Guest) -> None:
        def expire() -> None:
            self._overdue = f"killed at its time limit of {seconds:g} s"
            self._killing = asyncio.create_task(guest.kill(self.number, _SIGKILL))

        self._timers.append(asyncio.get_running_loop().call_later(seconds, expire))

    def exited(self, code: int) -> None:
        self._code = code
        for reader in self._readers:
            reader.drain()
        if all(reader.ended for reader in self._readers):
            self._finish()
        else:
            self._timers.append(asyncio.get_running_loop().call_later(_GRACE, self._finish))

    def discard(self) -> None:
        """It never started: leave no trace."""
        self.output.finish()
        for reader in self._readers:
            reader.close()
        self._file.unlink(missing_ok=True)
        self.output.path.unlink(missing_ok=True)

    def _hear(self, stream: str, data: bytes) -> None:
        self.output.write(stream, data, last=not data)
        if self._code is not None and all(reader.ended for reader in self._readers):
            self._finish()

    def _finish(self) -> None:
        if self.ended.is_set() or self._code is None:
            return
        for timer in self._timers:
            timer.cancel()
        if self.stdin:
            self.stdin.close()
        if reason := self._overdue or self._verdict(self._code):
            self.output.say(reason)
        self.output.finish()
        self.record = replace(self.record, exit_code=self._code, ended_at=now())
        try:
            save(self._file, self.record)
        except OSError as error:
            log.error("a command's end is not on disk", command=self.record.id, reason=str(error))  # noqa: TRY400
        self.ended.set()
        for tell in self._told_when_ended:
            tell(self)


async def start_command(
    guest: Guest,
    argv: Sequence[str],
    *,
    session_id: str,
    cwd: str,
    env: Mapping[str, str],
    folder: Path,
    owner: int,
    output_limit: int,
    attach_stdin: bool,
    verdict: Verdict,
) -> Command:
    """Start and record; `verdict` will say why it was killed.

    Raises `ApiError` 400 for a missing executable or working directory.
    """
    record = CommandRecord(
        id=f"cmd_{uuid4().hex}",
        session_id=session_id,
        name=argv[0],
        args=tuple(argv[1:]),
        cwd=cwd,
        started_at=now(),
    )
    command = Command(record, folder, output_limit, verdict)
    theirs = _connect_streams(command, owner, attach_stdin=attach_stdin)
    try:
        command.number = await guest.run(argv, cwd=cwd, env=env, streams=theirs, on_exit=command.exited)
    except BaseException as error:
        command.discard()
        if isinstance(error, GuestError):
            raise cannot_start(error, argv[0], cwd) from error
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    return command


def _connect_streams(command: Command, owner: int, *, attach_stdin: bool) -> list[int]:
    """The command's ends of its three streams."""
    if attach_stdin:
        standard_input, ours = make_pipe(owner)
        command.stdin = PipeWriter(ours)
    else:
        standard_input = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    stdout, their_stdout = make_pipe(owner)
    stderr, their_stderr = make_pipe(owner)
    command.listen(stdout, stderr)
    return [standard_input, their_stdout, their_stderr]


def cannot_start(error: GuestError, executable: str, cwd: str) -> ApiError:
    if error.step == "cwd":
        return bad_request(f"cannot work in {cwd}: {error}", "cwd_not_found")
    if error.step == "executable":
        return bad_request(f"cannot run {executable}: {error}", "executable_not_found")
    return bad_request(f"cannot start {executable}: {error}", "command_not_started")
