"""The commands of one sandbox: those that run at hand, those that ended on disk."""

import asyncio
from collections import deque
from dataclasses import replace
from pathlib import Path

from bot.engine.errors import not_found
from bot.engine.guest import KILLED
from bot.engine.processes import Command
from bot.engine.records import CommandRecord, load

_MOST_ENDED = 1000  # remembered with their output; older ones are forgotten


class CommandHistory:
    """Over all sessions of a sandbox, including those of an earlier engine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._live: dict[str, Command] = {}
        earlier = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        self._ended = deque(path.stem for path in earlier)

    def add(self, command: Command) -> None:
        self._live[command.record.id] = command
        command.when_ended(self._archive)

    def find(self, command_id: str) -> Command | CommandRecord:
        """A command that runs, or the record of one that ended. Raises `ApiError` 404."""
        if command_id in self._live:
            return self._live[command_id]
        record = load(self._folder / f"{command_id}.json", CommandRecord) if command_id.isidentifier() else None
        if record is None:
            raise not_found("command")
        # Without an exit code it ran when its engine died, and ended with it.
        return record if record.exit_code is not None else replace(record, exit_code=KILLED)

    def output(self, record: CommandRecord) -> Path:
        return self._folder / f"{record.id}.ndjson"

    def of_session(self, session_id: str) -> list[CommandRecord]:
        """Newest first."""
        found = [self.find(command_id) for command_id in (*self._live, *self._ended)]
        records = [one.record if isinstance(one, Command) else one for one in found]
        mine = [record for record in records if record.session_id == session_id]
        return sorted(mine, key=lambda record: record.started_at, reverse=True)

    async def all_ended(self) -> None:
        """Wait until no command runs; for when their sandbox has ended."""
        await asyncio.gather(*(command.ended.wait() for command in list(self._live.values())))

    def _archive(self, command: Command) -> None:
        self._ended.append(command.record.id)
        del self._live[command.record.id]
        while len(self._ended) > _MOST_ENDED:
            oldest = self._ended.popleft()
            for suffix in (".json", ".ndjson"):
                (self._folder / f"{oldest}{suffix}").unlink(missing_ok=True)
