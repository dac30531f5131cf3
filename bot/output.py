"""What commands print: both streams in one, and only the end of it kept."""

import io

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


def merged(argv: Argv) -> Argv:
    """The command with both output streams in one, so that their order is kept."""
    return ("sh", "-c", 'exec "$@" 2>&1', "sh", *argv)
