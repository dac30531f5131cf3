"""The file calls of the API. All writing happens inside the sandbox, by its own programs."""

import asyncio
import errno
import os
from collections.abc import AsyncIterable, AsyncIterator

from bot.engine.box import Box
from bot.engine.errands import run_errand
from bot.engine.errors import ApiError, bad_request
from bot.engine.guest import GuestError

_CHUNK = 1 << 20


async def make_directory(box: Box, path: str, *, recursive: bool, owner: int, env: dict[str, str]) -> None:
    parents = ["--parents"] if recursive else []
    ended = await run_errand(box.guest, ["mkdir", *parents, "--", path], owner=owner, cwd="/", env=env)
    if ended.code:
        raise bad_request(ended.output.strip(), "mkdir_failed")


async def write_files(box: Box, archive: AsyncIterable[bytes], folder: str, *, owner: int, env: dict[str, str]) -> None:
    """Unpack a tar.gz below `folder`. Raises `ApiError` 400 if it is none, or leads out of `folder`.

    Unpacked inside, a hostile archive reaches nothing that its sandbox could not reach anyway.
    """
    unpack = ["tar", "--extract", "--gzip", "--file=-", "--no-same-owner", "--same-permissions", "--touch"]
    ended = await run_errand(box.guest, unpack, owner=owner, cwd=folder, env=env, feed=archive)
    if ended.code:
        raise bad_request(ended.output.strip() or "the archive cannot be unpacked", "write_failed")


async def read_file(box: Box, path: str) -> AsyncIterator[bytes]:
    """The content of a regular file, in chunks. Raises `ApiError` before the first one if there is none."""
    try:
        descriptor = await box.guest.open(path)
    except GuestError as error:
        if error.number in (errno.ENOENT, errno.ENOTDIR):
            raise ApiError(404, "not_found", f"{path}: no such file") from error
        raise bad_request(f"{path}: {error}", "read_failed") from error
    return _chunks(descriptor)


async def _chunks(descriptor: int) -> AsyncIterator[bytes]:
    try:
        while data := await asyncio.to_thread(os.read, descriptor, _CHUNK):
            yield data
    finally:
        os.close(descriptor)
