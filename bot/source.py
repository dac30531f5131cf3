"""A repository's files as detection sees them: a listing, and the text of what was read.

Detection is pure, yet reading a sandbox takes a round trip. So a tree holds the listing and what was read so far, and
raises `FilesWanted` for a listed file that was not: whoever owns the files reads it and asks again.
"""

import fnmatch
import json
import posixpath
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

MAX_FILE_BYTES = 1_000_000
"""No manifest worth reading is larger; a larger one counts as unreadable."""

HEAD_BYTES = 4096
"""As much of a lockfile as is worth reading: its first lines hold the format's version."""

SEARCHED_CHARACTERS = 100_000
SEARCHED_LINE = 500

_LOCKFILES = frozenset({"pnpm-lock.yaml", "yarn.lock", "package-lock.json", "uv.lock", "poetry.lock", "pdm.lock"})


def bytes_worth_reading(path: str) -> int:
    """How many of a file's first bytes a reader should fetch.

    A lockfile that is longer is cut there; any other file that is longer counts as unreadable (None).
    """
    return HEAD_BYTES if posixpath.basename(path) in _LOCKFILES else MAX_FILE_BYTES


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

    @cached_property
    def _sorted(self) -> tuple[str, ...]:
        return tuple(sorted(self._paths, key=lambda path: (path.count("/"), path)))

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for path in self._sorted:
            index.setdefault(path.rpartition("/")[2], []).append(path)
        return index

    def named(self, *names: str) -> list[str]:
        """The files with one of these base names, nearest to the root first."""
        found = [path for name in names for path in self._by_name.get(name, ())]
        return sorted(found, key=lambda path: (path.count("/"), path))

    @cached_property
    def _by_folder(self) -> dict[str, tuple[list[str], list[str]]]:
        """Folder to the names of its files and the paths of its folders."""
        index: dict[str, tuple[list[str], list[str]]] = {folder: ([], []) for folder in (".", *self._folders)}
        for path in self._sorted:
            folder, _, name = path.rpartition("/")
            index[folder or "."][0].append(name)
        for folder in sorted(self._folders):
            index[folder.rpartition("/")[0] or "."][1].append(folder)
        return index

    def within(self, folder: str, depth: int) -> list[str]:
        """The files at most `depth` levels below a folder, as paths relative to it, nearest first."""
        found: list[str] = []
        level = [folder]
        for _ in range(depth):
            for place in level:
                inside = "" if place == folder else f"{place.removeprefix(f'{folder}/')}/"
                found += [f"{inside}{name}" for name in self._by_folder.get(place, ([], []))[0]]
            level = [below for place in level for below in self._by_folder.get(place, ([], []))[1]]
        return found

    def has(self, path: str) -> bool:
        """Whether a file or folder of that path exists."""
        path = _normal(path)
        return path in self._paths or path in self._folders or path == "."

    def read(self, path: str) -> str | None:
        """A file's text (invalid UTF-8 replaced, byte order mark dropped), or None when it cannot be read.

        Raises FilesWanted when the file exists and was not read yet.
        """
        path = _normal(path)
        if path not in self._paths:
            return None
        if path not in self._contents:
            raise FilesWanted(frozenset({path}))
        content = self._contents[path]
        return None if content is None else content.decode("utf-8-sig", "replace")

    def want(self, *paths: str) -> None:
        """Ask for several files at once, so that they cost one round trip. Raises FilesWanted if any is unread."""
        unread = {p for p in map(_normal, paths) if p in self._paths and p not in self._contents}
        if unread:
            raise FilesWanted(frozenset(unread))

    def glob(self, pattern: str) -> list[str]:
        """The files that match a shell pattern, sorted, nearest to the root first. `*` does cross folders."""
        return fnmatch.filter(self._sorted, pattern)

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

    def yaml(self, path: str) -> Any:
        """A YAML file's value (its own tags read as None), or None when it cannot be parsed."""
        text = self.read(path)
        if text is None:
            return None
        try:
            return yaml.load(text, Loader=_PlainLoader)  # noqa: S506  (a safe loader that knows fewer tags, not more)
        except (yaml.YAMLError, ValueError, RecursionError):
            return None

    def with_contents(self, contents: Mapping[str, bytes | None]) -> "SourceTree":
        """The same tree with more of its files read."""
        other = copy(self)
        other._contents = {**self._contents, **contents}
        return other


def _normal(path: str) -> str:
    """The path without `.` and `..`; most have none, and asking is what detection does most."""
    return posixpath.normpath(path) if ("." in path and ("./" in path or path[-1] == ".")) or "//" in path else path


def _parents(path: str) -> Iterable[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder of a tree; names given to it are relative to the folder. `path` is `.` for the top of the clone."""

    tree: SourceTree
    path: str = "."

    def at(self, name: str) -> str:
        """The path, relative to the clone, of something in this folder."""
        return _normal(name if self.path == "." else f"{self.path}/{name}")

    def has(self, name: str) -> bool:
        """Whether the folder holds such a file or folder."""
        return self.tree.has(self.at(name))

    def first(self, *names: str) -> str | None:
        """The first of these names that exists."""
        return next((name for name in names if self.has(name)), None)

    def read(self, name: str) -> str | None:
        """A file's text; see `SourceTree.read`."""
        return self.tree.read(self.at(name))

    def text(self, name: str) -> str:
        """A file's text as far as it is worth searching: its first 100 kB, and 500 characters of a line.

        So no pattern meets more than it can try in a moment. Empty when there is no such file.
        """
        lines = (self.read(name) or "")[:SEARCHED_CHARACTERS].splitlines()
        return "\n".join(line[:SEARCHED_LINE] for line in lines)

    def json(self, name: str) -> dict[str, Any] | None:
        """A JSON file's object; see `SourceTree.json`."""
        return self.tree.json(self.at(name))

    def toml(self, name: str) -> dict[str, Any] | None:
        """A TOML file's table; see `SourceTree.toml`."""
        return self.tree.toml(self.at(name))

    def yaml(self, name: str) -> Any:
        """A YAML file's value; see `SourceTree.yaml`."""
        return self.tree.yaml(self.at(name))

    def want(self, *names: str) -> None:
        """Ask for several files at once; see `SourceTree.want`."""
        self.tree.want(*map(self.at, names))

    def files(self, depth: int = 1) -> list[str]:
        """The files at most `depth` levels down, nearest first; 1 means directly in the folder."""
        return self.tree.within(self.path, depth)

    def upwards(self) -> Iterator["Folder"]:
        """This folder and those around it, up to the top of the clone."""
        path = self.path
        while path != ".":
            yield Folder(self.tree, path)
            path = posixpath.dirname(path) or "."
        yield Folder(self.tree)


class _PlainLoader(yaml.CSafeLoader):
    """Reads plain data. `!!python/name:` and other tags, which MkDocs files hold, become None instead of an error."""


_PlainLoader.add_multi_constructor("", lambda _loader, _suffix, _node: None)
_PlainLoader.add_multi_constructor("tag:", lambda _loader, _suffix, _node: None)

# In YAML 1.1 `1:30` is a number to the base of 60. None of our files means it so, and a long one takes minutes to read.
_NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(?:0|[1-9][0-9]{0,18}|0[0-7]{1,18}|0x[0-9a-fA-F]{1,16})$"),
    "tag:yaml.org,2002:float": re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{0,18}(?:[eE][-+]?[0-9]{1,3})?$"),
}
_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag not in _NUMBERS]
    for first, known in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
for _tag, _pattern in _NUMBERS.items():
    _PlainLoader.add_implicit_resolver(_tag, _pattern, list("-+0123456789"))
