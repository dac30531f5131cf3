"""The clone inside a sandbox, through its own git: what is in it, and how it moves to another commit."""

import asyncio
import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.buildpacks import detect, worth_prefetching
from bot.errors import SandboxUnavailable, SourceUnavailable
from bot.plan import Argv, LaunchPlan
from bot.preview import CommitSha
from bot.sandbox import Box
from bot.source import FilesWanted, SourceTree, bytes_worth_reading

PACK_PATH = "/tmp/preview-update.pack"  # noqa: S108 - inside the sandbox, whose /tmp is its own
MAX_ROUND_TRIPS = 8
"""Detection asks for files in groups; more groups than this is a bug of ours."""
MAX_READ_FILES = 2_000
MAX_READ_BYTES = 12_000_000
"""How many files, and how much of them, one round trip reads: those nearest to the top. The others are unreadable."""
_REGULAR = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of one commit: path -> (blob id, size in bytes). Links and submodules are listed without a blob."""

    blobs: dict[str, tuple[str, int]]
    others: frozenset[str]

    def key(self, paths: Iterable[str], *argv: Argv) -> str:
        """A digest of the content of these files (absent ones too) and of these commands."""
        parts = [f"{path}\0{self.blobs.get(path, ('', 0))[0]}" for path in sorted(set(paths))]
        parts += ["\0".join(words) for words in argv]
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


async def head(box: Box) -> CommitSha:
    """The commit that is checked out. Raises SandboxUnavailable when what is said there is no commit's id."""
    said = (await box.read(("git", "rev-parse", "HEAD"))).decode("utf-8", "replace").strip()
    if not re.fullmatch("[0-9a-f]{40}", said):
        raise SandboxUnavailable(f"the sandbox holds no commit, but {said[:80]!r}")
    return CommitSha(said)


async def list_files(box: Box) -> Listing:
    """What the checked-out commit holds, in one round trip."""
    raw = await box.read(("git", "ls-tree", "-r", "-l", "-z", "HEAD"))
    blobs, others = {}, set()
    for entry in raw.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, path = entry.partition("\t")
        if not path:
            continue
        mode, _kind, blob, size = facts.split()
        if mode in _REGULAR:
            blobs[path] = (blob, int(size))
        else:
            others.add(path)
    return Listing(blobs, frozenset(others))


async def detect_plan(box: Box, listing: Listing) -> LaunchPlan:
    """The plan for the checked-out commit. Raises NothingToPreview, or another RepositoryFault for its configuration.

    Blobs are read from git, not from the working tree: no link can lead elsewhere. Detection has a thread of its own,
    so that nobody waits for a repository that takes long to look through.
    """
    tree = SourceTree([*listing.blobs, *listing.others], dict.fromkeys(listing.others))
    wanted = frozenset(path for path in listing.blobs if worth_prefetching(path))
    for _ in range(MAX_ROUND_TRIPS):
        tree = tree.with_contents(await _read_blobs(box, listing, wanted))
        try:
            return await asyncio.to_thread(detect, tree)
        except FilesWanted as error:
            wanted = error.paths
            tree = tree.with_contents(dict.fromkeys(wanted))
    raise RuntimeError(f"detection still asks for files after {MAX_ROUND_TRIPS} round trips: {sorted(wanted)[:5]}")


async def _read_blobs(box: Box, listing: Listing, paths: Iterable[str]) -> dict[str, bytes | None]:
    """The content of these files in one round trip: whole, or the head of those that are long (lockfiles)."""
    limits = {path: bytes_worth_reading(path) for path in paths if path in listing.blobs}
    chosen = _within_reach(listing, limits)
    whole = sorted({blob for path, (blob, size) in chosen.items() if size <= limits[path]})
    heads = sorted({f"{blob}:{limits[path]}" for path, (blob, size) in chosen.items() if size > limits[path]})
    if not chosen:
        return {}
    lines = (await box.read(("sh", "-c", _READ_SCRIPT, "sh", str(len(whole)), *whole, *heads))).split(b"\n")
    contents = dict(_parse_batch(base64.b64decode(lines[0])))
    contents |= {name.partition(":")[0]: base64.b64decode(line) for name, line in zip(heads, lines[1:], strict=False)}
    return {path: contents.get(blob) for path, (blob, _) in chosen.items()}


def _within_reach(listing: Listing, limits: Mapping[str, int]) -> dict[str, tuple[str, int]]:
    """As many of these files as are read at once."""
    chosen, total = {}, 0
    for path in sorted(limits, key=lambda path: (path.count("/"), path))[:MAX_READ_FILES]:
        blob, size = listing.blobs[path]
        total += min(size, limits[path])
        if total > MAX_READ_BYTES:
            break
        chosen[path] = (blob, size)
    return chosen


_READ_SCRIPT = """
n=$1; shift; i=0
while [ "$i" -lt "$n" ]; do echo "$1"; shift; i=$((i + 1)); done |
    git cat-file --batch | base64 -w0; echo
shift "$n" 2>/dev/null
for pair in "$@"; do git cat-file blob "${pair%%:*}" | head -c "${pair#*:}" | base64 -w0; echo; done
"""


_BATCH_LINE = re.compile(rb"([0-9a-f]{40}) blob ([0-9]{1,10})\n")


def _parse_batch(raw: bytes) -> Iterable[tuple[str, bytes]]:
    """The answers of `git cat-file --batch`: https://git-scm.com/docs/git-cat-file#_batch_output"""
    position = 0
    while position < len(raw):
        match = _BATCH_LINE.match(raw, position)
        if match is None:
            raise SandboxUnavailable("git in the sandbox does not answer as git does")
        position = match.end() + int(match[2])
        yield match[1].decode(), raw[match.end() : position]
        position += len("\n")


async def move_to(box: Box, sha: CommitSha, pack: bytes) -> None:
    """Check out a commit whose missing objects are in `pack`. Files that git does not track stay as they are.

    The commit's parents are not there: it is entered as a shallow boundary, as `git fetch --depth=1` does.
    """
    await box.write(PACK_PATH, pack)
    script = (
        'git index-pack --fix-thin --stdin <"$2" >/dev/null && rm -f "$2" && '
        'dir=$(git rev-parse --absolute-git-dir) && echo "$1" >>"$dir/shallow" && rm -f "$dir/index.lock" && '
        'git -c advice.detachedHead=false checkout --quiet --force --detach "$1"'
    )
    done = await box.run(("sh", "-c", script, "sh", sha, PACK_PATH), limit=120)
    if done.exit_code or await head(box) != sha:
        raise SourceUnavailable("The new commit could not be checked out in the running sandbox.", log=done.output)
