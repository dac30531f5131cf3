"""The first record of a sandbox: from what its creator asks for, or from the sandbox that it is a fork of."""

from collections.abc import Set
from dataclasses import replace
from uuid import uuid4

from bot.engine.records import SandboxRecord, Status, new_session, now
from bot.engine.sources import repository_name
from bot.engine.wire import CreateBody, GitSource

DEFAULT_VCPUS, MEMORY_PER_VCPU = 2, 2048
# What a fork inherits unless its creator sends it: our word, and the field's.
_INHERITED = {
    "timeout": "timeout",
    "env": "env",
    "tags": "tags",
    "policy": "network_policy",
    "persistent": "persistent",
    "vcpus": "resources",
    "memory": "resources",
    "snapshot_expiration": "snapshot_expiration",
    "retention": "keep_last_snapshots",
}


def first_record(body: CreateBody, name: str) -> SandboxRecord:
    vcpus, memory = resources(body.resources.vcpus or DEFAULT_VCPUS, body.resources.memory)
    created = now()
    return SandboxRecord(
        id=f"sbx_{uuid4().hex}",
        name=name,
        project=body.project_id,
        status=Status.PENDING,
        created_at=created,
        updated_at=created,
        status_updated_at=created,
        persistent=body.persistent,
        timeout=body.timeout,
        vcpus=vcpus,
        memory=memory,
        env=body.env,
        tags=body.tags,
        policy=body.network_policy.parse(),
        routes={},
        repository=repository_name(body.source.url) if isinstance(body.source, GitSource) else None,
        sessions=(new_session(body.timeout),),
        snapshot_expiration=body.snapshot_expiration,
        retention=body.keep_last_snapshots.parse() if body.keep_last_snapshots else None,
        mounts={target: mount.parse() for target, mount in body.mounts.items()},
    )


def inherit(record: SandboxRecord, parent: SandboxRecord, sent: Set[str]) -> SandboxRecord:
    """A fork's record: everything of its parent that is not among the fields that were `sent`."""
    taken = {ours: getattr(parent, ours) for ours, field in _INHERITED.items() if field not in sent}
    fork = replace(record, project=record.project or parent.project, **taken)
    return replace(fork, sessions=(new_session(fork.timeout),))


def resources(vcpus: int, memory: int | None) -> tuple[int, int]:
    return vcpus, memory or vcpus * MEMORY_PER_VCPU
