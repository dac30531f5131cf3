"""A checkout on this machine's disk, read for detection. Links are never followed."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from bot.buildpacks import detect, worth_prefetching
from bot.plan import LaunchPlan
from bot.repo_config import RepoConfig
from bot.source import FilesWanted, SourceTree, bytes_worth_reading

MAX_FILES = 50_000
MAX_TOTAL_BYTES = 32_000_000
_MOST_ROUNDS = 12
_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".next", ".nuxt"})


def read_checkout(path: str | os.PathLike[str]) -> SourceTree:
    """The listing of a directory, and the text of the files in it that detection usually asks for.

    At most `MAX_FILES` files, nearest to the top first; links are listed by name and count as unreadable.
    """
    top = Path(path)
    paths = _listing(top)
    return SourceTree(paths, _contents(top, filter(worth_prefetching, paths)))


def detect_checkout(path: str | os.PathLike[str], config: RepoConfig | None = None) -> LaunchPlan:
    """Detection over a directory. Raises NothingToPreview, as `bot.buildpacks.detect` does."""
    tree = read_checkout(path)
    for _ in range(_MOST_ROUNDS):
        try:
            return detect(tree, config)
        except FilesWanted as unread:
            tree = tree.with_contents(_contents(Path(path), unread.paths))
    raise RuntimeError("detection asked for files again and again")


def _listing(top: Path) -> list[str]:
    """Paths of files, level by level, so that a cap cuts the deepest ones off."""
    found: list[str] = []
    level = [""]
    while level:
        below: list[str] = []
        for folder in level:
            for name, is_folder in _entries(top / folder):
                path = f"{folder}/{name}" if folder else name
                if is_folder:
                    below.append(path)
                else:
                    found.append(path)
                    if len(found) >= MAX_FILES:
                        return found
        level = below
    return found


def _entries(folder: Path) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.name.isprintable() and not (is_folder and entry.name in _SKIPPED):
                    yield entry.name, is_folder
    except OSError:
        return


def _contents(top: Path, names: Iterable[str]) -> dict[str, bytes | None]:
    contents: dict[str, bytes | None] = {}
    total = 0
    for name in names:
        content = _read(top, name, bytes_worth_reading(name)) if total < MAX_TOTAL_BYTES else None
        total += len(content or b"")
        contents[name] = content
    return contents


def _read(top: Path, name: str, limit: int) -> bytes | None:
    """A regular file's bytes; None for a link, a device, or one that is too large to be worth reading."""
    if any((top / part).is_symlink() for part in _prefixes(name)):
        return None
    try:
        descriptor = os.open(top / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            return None
        content = file.read(limit + 1)
    whole = len(content) <= limit or limit < 1_000_000
    return content[:limit] if whole else None


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
