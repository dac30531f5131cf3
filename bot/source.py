"""A repository's files as detection sees them: a listing, and the text of what was read.

Detection is pure, yet reading a sandbox takes a round trip. So a tree holds the listing and what was read so far, and
raises `FilesWanted` for a listed file that was not: whoever owns the files reads it and asks again.
"""

import fnmatch
import json
import posixpath
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

MAX_FILE_BYTES = 1_000_000
"""No manifest worth reading is larger; a larger one counts as unreadable."""


class FilesWanted(Exception):
    """Detection needs the text of these files."""

    def __init__(self, paths: frozenset[str]) -> None:
        super().__init__(f"not read yet: {', '.join(sorted(paths))}")
        self.paths = paths


class SourceTree:
    """The files below one root. Paths are POSIX, relative, without a leading `./`.

    `contents` maps a path to its bytes, or to None when it cannot be read (too large, a link that leaves the tree).
    """

    def __init__(self, paths: Iterable[str], contents: Mapping[str, bytes | None]) -> None:
        self._paths = frozenset(paths)
        self._folders = frozenset(parent for path in self._paths for parent in _parents(path))
        self._contents = dict(contents)

    @property
    def paths(self) -> frozenset[str]:
        """Every file's path."""
        return self._paths

    def has(self, path: str) -> bool:
        """Whether a file or folder of that path exists."""
        path = posixpath.normpath(path)
        return path in self._paths or path in self._folders or path == "."

    def read(self, path: str) -> str | None:
        """A file's text (invalid UTF-8 replaced, byte order mark dropped), or None when it cannot be read.

        Raises FilesWanted when the file exists and was not read yet.
        """
        path = posixpath.normpath(path)
        if path not in self._paths:
            return None
        if path not in self._contents:
            raise FilesWanted(frozenset({path}))
        content = self._contents[path]
        return None if content is None else content.decode("utf-8-sig", "replace")

    def want(self, *paths: str) -> None:
        """Ask for several files at once, so that they cost one round trip. Raises FilesWanted if any is unread."""
        unread = {p for p in map(posixpath.normpath, paths) if p in self._paths and p not in self._contents}
        if unread:
            raise FilesWanted(frozenset(unread))

    def glob(self, pattern: str) -> list[str]:
        """The files that match a shell pattern, sorted, nearest to the root first. `*` does cross folders."""
        found = fnmatch.filter(self._paths, pattern)
        return sorted(found, key=lambda path: (path.count("/"), path))

    def json(self, path: str) -> dict[str, Any] | None:
        """A JSON file's object, or None when there is none that can be parsed."""
        text = self.read(path)
        if text is None:
            return None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def toml(self, path: str) -> dict[str, Any] | None:
        """A TOML file's table, or None when there is none that can be parsed."""
        text = self.read(path)
        if text is None:
            return None
        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError):
            return None

    def with_contents(self, contents: Mapping[str, bytes | None]) -> "SourceTree":
        """The same tree with more of its files read."""
        return SourceTree(self._paths, {**self._contents, **contents})


def _parents(path: str) -> Iterable[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
