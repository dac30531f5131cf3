"""The processes of this machine, those in sandboxes included."""

from contextlib import suppress
from pathlib import Path

from tests.forge_driver import until


def processes(word: str) -> list[str]:
    """The command lines that hold this word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if word in line]


async def running(word: str) -> None:
    """Wait until a process has this word in its command line."""

    async def found() -> bool:
        return bool(processes(word))

    await until(found, what=f"a process with {word!r}", deadline=60)
