"""What a push means: refs before and after become `push`, `delete` and `pull_request.synchronize` events."""

import structlog

from bot.forge import pulls
from bot.forge.forge import Forge
from bot.forge.git import NO_COMMIT, GitFailed, Move
from bot.forge.payloads import delete_event, push_event
from bot.forge.records import Repository
from bot.forge.state import now

log = structlog.get_logger()
BRANCH = "refs/heads/"
MAX_COMMITS = 20
"""How many commits a `push` lists; GitHub stops at 2048."""


async def announce_moves(forge: Forge, repository: Repository, before: dict[str, str], sender: str) -> None:
    """Tell what changed in a repository since `before` was taken. Its lock must be held.

    A deleted head branch closes no pull request: what it last pointed at stays under `refs/pull/N/head`.
    """
    after = await forge.git.refs(repository.id)
    moved = [ref for ref in {**before, **after} if before.get(ref) != after.get(ref)]
    if not moved:
        return
    repository = forge.state.repositories[repository.id].model_copy(update={"pushed_at": now()})
    forge.state.repositories[repository.id] = repository
    for ref in moved:
        move = Move(ref, before.get(ref, NO_COMMIT), after.get(ref, NO_COMMIT))
        await _announce_push(forge, repository, move, sender)
        if ref.startswith(BRANCH) and move.after != NO_COMMIT:
            await _synchronize(forge, repository, ref.removeprefix(BRANCH), sender)


async def _announce_push(forge: Forge, repository: Repository, move: Move, sender: str) -> None:
    created, deleted = move.before == NO_COMMIT, move.after == NO_COMMIT
    commits, forced = [], False
    if not deleted:
        known = None if created else move.before
        commits = await forge.git.commits(repository.id, move.after, without=known, limit=MAX_COMMITS)
        forced = not created and not await _descends(forge, repository, move)
    forge.announce(push_event(forge.view, repository, move, commits=commits, forced=forced, sender=sender))
    if deleted:
        forge.announce(delete_event(forge.view, repository, move.ref, sender))


async def _synchronize(forge: Forge, repository: Repository, branch: str, sender: str) -> None:
    for issue, base in list(forge.state.pulls_from(repository.id, branch)):
        try:
            await pulls.synchronize(forge, base, issue, repository, sender)
        except pulls.NothingToMerge as nothing:
            log.warning("pull request left as it was", repository=base.full_name, number=issue.number, why=str(nothing))


async def _descends(forge: Forge, repository: Repository, move: Move) -> bool:
    try:
        await forge.git.run(repository.id, "merge-base", "--is-ancestor", move.before, move.after)
    except GitFailed:
        return False
    return True
