"""What commands print: both streams in one, and never more of it kept than there is room for."""

import io

from bot.errors import RepositoryFault
from bot.plan import Argv


class Tail(io.StringIO):
    """A text stream that keeps only its last characters, at most `characters` of them."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self._characters = characters
        self._parts: list[str] = []
        self._size = 0

    def write(self, text: str) -> int:
        """Take more text."""
        self._parts.append(text)
        self._size += len(text)
        if self._size > 2 * self._characters:
            self._parts = [self.text()]
            self._size = len(self._parts[0])
        return len(text)

    def text(self) -> str:
        """The last characters."""
        return "".join(self._parts)[-self._characters :]


class Whole(io.StringIO):
    """A text stream for what must be read to its end, which raises RepositoryFault beyond so many `characters`.

    The command is ours, but what it tells of is a repository's: a tree can list more files than there is memory.
    """

    def __init__(self, characters: int) -> None:
        super().__init__()
        self._left = characters

    def write(self, text: str) -> int:
        """Take more text."""
        self._left -= len(text)
        if self._left < 0:
            raise RepositoryFault("The repository holds more files than the bot can look at.")
        return super().write(text)


def merged(argv: Argv) -> Argv:
    """The command with both output streams in one, so that their order is kept."""
    return ("sh", "-c", 'exec "$@" 2>&1', "sh", *argv)
