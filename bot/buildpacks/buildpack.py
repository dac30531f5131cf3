"""What a buildpack is: a module whose `find` says what a folder holds, and what it may answer."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from bot.plan import LaunchPlan, Note
from bot.source import Folder


class Role(IntEnum):
    """What a reviewer gets to see, in the order in which it is wanted."""

    SITE = 0
    """Pages for people."""
    API = 1
    """A server for programs."""
    DOCS = 2
    """A documentation site."""
    COMPONENTS = 3
    """A component workshop, such as Storybook."""
    PART = 4
    """A server that a published package brings along, or a container that only Docker can start."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A folder that can be started."""

    plan: LaunchPlan
    role: Role
    toolchain: bool = True
    """Whether a sandbox can be expected to have what the plan runs: Node and Python are there, Ruby and Go are not."""
    offered: bool = False
    """Only when it is asked for: the manual of a library is named in the remedy instead of being taken for the app."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A folder that is understood, and holds nothing to preview. A `final` one lets no later buildpack try."""

    reason: str
    file: str
    remedy: str = ""
    final: bool = False
    points_at: tuple[str, ...] = ()
    """Names or folders of the packages that its scripts hand over to."""


def noted(text: str, folder: Folder, name: str, *, at: str = "") -> Note:
    """A note that names the file which decided, and the line in it that holds `at`."""
    lines = folder.text(name).splitlines() if at else []
    return Note(text=text, file=folder.at(name), line=next((n for n, line in enumerate(lines, 1) if at in line), None))


class Buildpack(Protocol):
    """A module of this package.

    `find` returns None when the folder is none of its business. It is pure, and may raise `FilesWanted` to be
    asked again when those files are read.
    """

    def find(self, folder: Folder) -> Finding | Refusal | None:
        """What the folder holds, as far as this buildpack can tell."""
        ...
