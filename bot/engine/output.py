"""The output of one command on disk, in the very records that clients read, so that every replay is identical.

A client that lost its connection reads again from the beginning and skips as many characters as it had: nothing that
was written may ever change or move (the SDK's `/logs` has no offset). So the first bytes are kept, not the last.
"""

import asyncio
import codecs
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import structlog

log = structlog.get_logger()
_CHUNK = 1 << 16
_HEARTBEAT = 15.0  # seconds of silence before an empty line proves the connection alive; clients skip empty lines
STREAMS = ("stdout", "stderr")
_encode = msgspec.json.Encoder().encode


class Output:
    """Written by one command, followed by any number of readers. `limit` is bytes kept of each stream."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.finished = False
        self._limit = limit
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in STREAMS}
        self._kept = dict.fromkeys(STREAMS, 0)
        self._size = 0
        self._grown = asyncio.Event()

    def write(self, stream: str, data: bytes, *, last: bool = False) -> None:
        """Append what a stream said. Past its limit it is counted out with a marker, once, and dropped."""
        if self.finished or self._kept[stream] > self._limit:
            return
        text = self._decoders[stream].decode(data, final=last)
        if not text:
            return
        record = _encode({"stream": stream, "data": text})
        self._kept[stream] += len(record)
        if self._kept[stream] > self._limit:
            record = _encode({"stream": stream, "data": _marker(self._limit)})
        self._append(record + b"\n")
        self._tell_readers()

    def say(self, text: str) -> None:
        """Add a line of the engine's own at the end of standard error, also past the limit."""
        self.write("stderr", b"", last=True)
        self._append(_encode({"stream": "stderr", "data": f"\n[{text}]\n"}) + b"\n")

    def finish(self) -> None:
        if self.finished:
            return
        for stream in STREAMS:
            self.write(stream, b"", last=True)
        self.finished = True
        os.close(self._file)
        self._tell_readers()

    async def follow(self) -> AsyncIterator[bytes]:
        """Everything from the beginning, then what comes, until the command has ended."""
        file, position = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC), 0
        try:
            while True:
                grown, finished = self._grown, self.finished
                while data := os.pread(file, _CHUNK, position):
                    position += len(data)
                    yield data
                if finished:
                    return
                try:
                    await asyncio.wait_for(grown.wait(), _HEARTBEAT)
                except TimeoutError:
                    yield b"\n"
        finally:
            os.close(file)

    def _append(self, record: bytes) -> None:
        """Write a whole record or, on a full disk, none, and then nothing more: what readers have seen must stay."""
        try:
            whole = os.write(self._file, record) == len(record)
        except OSError as error:
            log.warning("output is lost", reason=str(error))
            whole = False
        if whole:
            self._size += len(record)
        else:
            os.ftruncate(self._file, self._size)
            self._kept = dict.fromkeys(STREAMS, self._limit + 1)

    def _tell_readers(self) -> None:
        """Wake all who wait: each took the event of its time, so a new one replaces it."""
        self._grown.set()
        self._grown = asyncio.Event()


async def replay(path: Path) -> AsyncIterator[bytes]:
    """The output of a command that ended earlier."""
    file, position = os.open(path, os.O_RDONLY | os.O_CLOEXEC), 0
    try:
        while data := os.pread(file, _CHUNK, position):
            position += len(data)
            yield data
    finally:
        os.close(file)


def _marker(limit: int) -> str:
    return f"\n[output beyond {limit >> 20} MiB is not kept]\n"
