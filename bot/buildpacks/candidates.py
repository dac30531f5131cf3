"""Which folder of a repository to preview: the top if it can be started, else the best one below it.

Order: what the scripts at the top hand over to, then what a sandbox has the toolchain for, then how the folder is
called (examples and tests never count), then what it shows (pages before an API before documentation before a component
workshop), then depth, then name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.buildpacks.buildpack import Buildpack, Finding, Refusal, Role
from bot.buildpacks.words import words
from bot.errors import NothingToPreview
from bot.plan import LaunchPlan, Note
from bot.source import FilesWanted, Folder, SourceTree

MANIFESTS = words(
    "package.json manage.py requirements.txt pyproject.toml Pipfile Gemfile composer.json go.mod Cargo.toml "
    "pom.xml build.gradle build.gradle.kts mix.exs deno.json deno.jsonc hugo.toml _config.yml conf.py mkdocs.yml"
)
_DEEPEST = 3
_MOST_FOLDERS = 80
_NEVER = frozenset(
    words(
        "node_modules vendor third_party test tests __tests__ spec e2e fixtures __fixtures__ example examples sample "
        "samples template templates playground playgrounds sandbox benchmark benchmarks bench cypress testdata "
        "scripts tools tooling infra deploy terraform dist build out target integration-tests starters recipes "
        "snippets"
    )
)
_FRONT = words("web site www app frontend client webapp ui nextjs next website dashboard")
_BEHIND = frozenset(words("docs doc documentation admin storybook worker workers cron jobs mobile expo native proxy"))
_SEVERAL = 4


class SeveralToPreview(NothingToPreview):
    """A collection: so many unrelated folders could be started that choosing one would be guessing."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A folder with what was found in it."""

    folder: Folder
    finding: Finding

    def called(self, names: tuple[str, ...]) -> bool:
        """Whether one of the names means this folder: its path, its last part, or its package's name."""
        package = self.folder.json("package.json") if names else None
        own = (self.folder.path, self.folder.path.rpartition("/")[2], (package or {}).get("name"))
        return any(name in own for name in names)

    @property
    def rank(self) -> tuple[bool, int, Role, int, int, str]:
        """Sorts the best one first."""
        name = self.folder.path.rpartition("/")[2].lower()
        front = _FRONT.index(name) if name in _FRONT else len(_FRONT)
        behind = 1 if name in _BEHIND else 0
        return (
            not self.finding.toolchain,
            behind,
            self.finding.role,
            front,
            self.folder.path.count("/"),
            self.folder.path,
        )


def choose(tree: SourceTree, buildpacks: Sequence[Buildpack], root: str = ".") -> Finding:
    """The best finding of the tree below `root`.

    Raises NothingToPreview, naming what was looked at, and FilesWanted.
    """
    top = Folder(tree, root)
    here = _look(top, buildpacks)
    if isinstance(here, Finding) and here.toolchain and here.role <= Role.API:
        return here
    below, refusals = _survey(top, buildpacks)
    candidates = [Candidate(top, here)] if isinstance(here, Finding) else []
    if not candidates and _is_collection(tree, top, below):
        raise _several(below)
    offered = [candidate.folder.path for candidate in below if candidate.finding.offered]
    candidates += [candidate for candidate in below if not candidate.finding.offered]
    if not candidates:
        raise _nothing(top, [here] if isinstance(here, Refusal) else refusals, offered)
    pointed = here.points_at if isinstance(here, Refusal) else ()
    best, *others = sorted(candidates, key=lambda candidate: (not candidate.called(pointed), candidate.rank))
    return _named(best, others, here)


def _look(folder: Folder, buildpacks: Sequence[Buildpack]) -> Finding | Refusal | None:
    """The first buildpack's answer that holds; what several buildpacks want to read is asked for at once."""
    wanted: set[str] = set()
    refused: Refusal | None = None
    for buildpack in buildpacks:
        try:
            found = buildpack.find(folder)
        except FilesWanted as unread:
            wanted |= unread.paths
            continue
        if isinstance(found, Finding):
            if wanted:
                break
            return found
        if isinstance(found, Refusal):
            refused = refused or found
            if found.final:
                break
    if wanted:
        raise FilesWanted(frozenset(wanted))
    return refused


def _survey(top: Folder, buildpacks: Sequence[Buildpack]) -> tuple[list[Candidate], list[Refusal]]:
    """What every folder below holds; the files that they want are asked for together."""
    found: list[Candidate] = []
    refused: list[Refusal] = []
    wanted: set[str] = set()
    for folder in _folders(top):
        try:
            answer = _look(folder, buildpacks)
        except FilesWanted as unread:
            wanted |= unread.paths
            continue
        if isinstance(answer, Finding):
            found.append(Candidate(folder, answer))
        elif answer:
            refused.append(answer)
    if wanted:
        raise FilesWanted(frozenset(wanted))
    return found, refused


def _folders(top: Folder) -> list[Folder]:
    """The folders below that hold a manifest, nearest first; those for tests and examples are left out."""
    prefix = "" if top.path == "." else f"{top.path}/"
    paths: dict[str, None] = {}
    for path in top.tree.named(*MANIFESTS):
        inside = path.removeprefix(prefix) if path.startswith(prefix) else ""
        parts = inside.split("/")[:-1]
        hidden = any(part.lower() in _NEVER or part.startswith((".", "{")) for part in parts)
        if parts and len(parts) <= _DEEPEST and not hidden:
            paths[path.rpartition("/")[0]] = None
    return [Folder(top.tree, path) for path in list(paths)[:_MOST_FOLDERS]]


def _is_collection(tree: SourceTree, top: Folder, below: list[Candidate]) -> bool:
    """Whether the folders below have nothing to do with each other: many kinds, and nothing at the top ties them."""
    kinds = {candidate.finding.plan.kind for candidate in below if candidate.folder.path.count("/") <= 1}
    tied = top.first("package.json", "pnpm-workspace.yaml", "nx.json", "turbo.json", "pyproject.toml", "Makefile",
                     "docker-compose.yml", "compose.yaml", "compose.yml", "docker-compose.yaml")  # fmt: skip
    samples = [path for path in tree.named("compose.yaml", "docker-compose.yml", "compose.yml") if path.count("/") == 1]
    return tied is None and (len(kinds) >= _SEVERAL or len(samples) > _SEVERAL)


def _several(below: list[Candidate]) -> SeveralToPreview:
    names = [candidate.folder.path for candidate in below]
    shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    return SeveralToPreview(
        f"This is a collection of separate projects ({shown})."
        if names
        else "This is a collection of separate projects.",
        remedy='Name the one to preview in .github/preview.toml: root = "folder".',
        looked_at=names,
    )


def _nothing(top: Folder, refusals: list[Refusal], offered: list[str]) -> NothingToPreview:
    looked_at = sorted({refusal.file for refusal in refusals}) or top.files()[:12]
    if refusals:
        first = refusals[0]
        manual = f'Its manual can be previewed: root = "{offered[0]}" in .github/preview.toml.' if offered else ""
        return NothingToPreview(
            f"Nothing to preview: {first.reason}.", remedy=manual or first.remedy, looked_at=looked_at
        )
    return NothingToPreview(
        "Nothing to preview: no manifest, no page and no server was found.",
        remedy='Name the command in .github/preview.toml: start = "…" and port = ….',
        looked_at=looked_at,
    )


def _named(best: Candidate, others: list[Candidate], here: Finding | Refusal | None) -> Finding:
    """The chosen finding, with a note that says so when there was a choice."""
    plan: LaunchPlan = best.finding.plan
    notes: list[Note] = []
    if isinstance(here, Refusal) and best.finding.role >= Role.DOCS:
        notes.append(Note(text=f"at the top {here.reason}; this is its {plan.root} folder", file=here.file))
    if others:
        paths = ", ".join(sorted(other.folder.path for other in others)[:6])
        notes.append(Note(text=f"{paths} could be previewed as well; root in .github/preview.toml chooses"))
    tie = bool(others) and others[0].rank[:3] == best.rank[:3]
    ambiguous = tie or (isinstance(here, Refusal) and best.finding.role >= Role.DOCS)
    changed = plan.model_copy(update={"notes": (*plan.notes, *notes), "ambiguous": ambiguous})
    return Finding(changed, best.finding.role, best.finding.toolchain)
