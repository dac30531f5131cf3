"""A pull request, a preview and a launch to change what a test is about."""

import dataclasses
from typing import Any

from bot.plan import LaunchPlan
from bot.preview import CommitSha, Launch, Phase, Preview, PullRequest, RepoId, RepoName, Repository

SHA = CommitSha("a" * 40)
OTHER_SHA = CommitSha("b" * 40)
URL = "http://127.0.0.1:4000"
REPOSITORY = Repository(RepoId(7), RepoName("ada/shop"), "https://github.com/ada/shop.git", private=True)
PLAN = LaunchPlan(kind="vite", title="Vite 8 with npm", start=("npm", "run", "dev"), port=5173)


def pull_request(**changes: Any) -> PullRequest:
    """An open pull request of a person, from a branch of the repository itself."""
    usual = PullRequest(
        repository=REPOSITORY,
        number=3,
        title="A change",
        open=True,
        draft=False,
        locked=False,
        author="bob",
        author_is_bot=False,
        head_sha=SHA,
        head_ref="change",
        head_repo_id=REPOSITORY.id,
        base_ref="main",
    )
    return dataclasses.replace(usual, **changes)


def launch(phase: Phase = Phase.QUEUED, **changes: Any) -> Launch:
    """The first launch of SHA, a thousand seconds after the epoch."""
    usual = Launch(preview_id=1, generation=1, sha=SHA, phase=phase, requested_at=1000.0, phase_since=1001.0)
    return dataclasses.replace(usual, **changes)


def preview(phase: Phase | None = None, **changes: Any) -> Preview:
    """A wanted preview, with a launch in that phase."""
    current = launch(phase) if phase else None
    usual = Preview(1, REPOSITORY, 3, "preview-7-3", generation=1, wanted=True, launch=current)
    return dataclasses.replace(usual, **changes)
