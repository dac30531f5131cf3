"""What clients get: the Sandbox API's objects, built from records.

An answer leaves out what is not there: JavaScript clients refuse null for optional fields.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from bot.engine.policy import Mode, NetworkPolicy
from bot.engine.records import CommandRecord, DriveRecord, Retention, SandboxRecord, SessionRecord, SnapshotRecord
from bot.engine.rootfs import CWD
from bot.engine.sandbox import Sandbox

Json = dict[str, Any]
_REGION = "local"
_TERMINAL_PORT = 1  # the `sandbox` command asks whether there is one; terminals come over the API's own port


def sandbox_answer(sandbox: Sandbox, *, resumed: bool | None = None) -> Json:
    """A sandbox with its current session and its routes, as most calls answer."""
    return _present(
        {
            "sandbox": sandbox_json(sandbox.record),
            "session": session_json(sandbox.record, sandbox.record.session, sandbox.policy),
            "routes": routes_json(sandbox),
            "resumed": resumed,
        }
    )


def sandbox_json(record: SandboxRecord) -> Json:
    session = record.session
    return _present(
        {
            "name": record.name,
            "currentSessionId": session.id,
            "projectId": record.project,
            "status": record.status.value,
            "statusUpdatedAt": record.status_updated_at,
            "createdAt": record.created_at,
            "updatedAt": record.updated_at,
            "expiresAt": session.started_at + session.timeout if session.started_at else None,
            "persistent": record.persistent,
            "networkPolicy": policy_json(record.policy),
            "tags": record.tags,
            **_machine(record),
            "timeout": record.timeout,
            "currentSnapshotId": record.current_snapshot,
            "snapshotExpiration": record.snapshot_expiration,
            "mounts": {path: {"drive": one.drive, "mode": one.mode.value} for path, one in record.mounts.items()},
            "keepLastSnapshots": _retention_json(record.retention) if record.retention else None,
        }
    )


def snapshot_json(record: SnapshotRecord) -> Json:
    return _present(
        {
            "id": record.id,
            "sourceSessionId": record.session_id,
            "region": _REGION,
            "status": "created",
            "sizeBytes": sum(layer.size for layer in record.layers),
            "createdAt": record.created_at,
            "updatedAt": record.updated_at,
            "expiresAt": record.expires_at,
            "lastUsedAt": record.last_used_at,
            "creationMethod": record.method.value,
            "parentId": record.parent,
        }
    )


def drive_json(record: DriveRecord, writer: tuple[str, str] | None) -> Json:
    sandbox, session = writer or (None, None)
    return _present(
        {
            "id": record.id,
            "name": record.name,
            "projectId": record.project,
            "region": _REGION,
            "maxSizeBytes": record.max_size,
            "createdAt": record.created_at,
            "updatedAt": record.updated_at,
            "currentSandboxName": sandbox,
            "currentSessionId": session,
            "parentDriveId": record.parent,
            "rootDriveId": record.root,
        }
    )


def session_json(record: SandboxRecord, session: SessionRecord, policy: NetworkPolicy) -> Json:
    return _present(
        {
            "id": session.id,
            "status": session.status.value,
            "sourceSandboxName": record.name,
            "projectId": record.project,
            "requestedAt": session.requested_at,
            "createdAt": session.requested_at,
            "startedAt": session.started_at,
            "stoppedAt": session.stopped_at,
            "updatedAt": session.stopped_at or session.started_at or session.requested_at,
            "networkPolicy": policy_json(policy),
            **_machine(record),
            "timeout": session.timeout,
            "interactivePort": _TERMINAL_PORT,
        }
    )


def routes_json(sandbox: Sandbox) -> list[Json]:
    host = sandbox.workshop.host
    place = f"[{host}]" if ":" in host else host
    return [
        {
            "url": f"http://{place}:{host_port}",
            "port": port,
            "subdomain": f"{sandbox.record.id}-{port}",
            "system": False,
        }
        for port, host_port in sandbox.record.routes.items()
    ]


def command_json(record: CommandRecord) -> Json:
    """`exitCode` is always there, null while the command runs."""
    duration = {"durationMs": record.ended_at - record.started_at} if record.ended_at else {}
    return {
        "id": record.id,
        "name": record.name,
        "args": list(record.args),
        "cwd": record.cwd,
        "sessionId": record.session_id,
        "startedAt": record.started_at,
        "exitCode": record.exit_code,
        **duration,
    }


def page_json(key: str, items: Iterable[Json], following: str | None) -> Json:
    listed = list(items)
    return {key: listed, "pagination": {"count": len(listed), "next": following}}


def policy_json(policy: NetworkPolicy) -> Json:
    """The API's readback form, which is not its request form: no value of a header leaves the engine."""
    if policy.mode is not Mode.CUSTOM:
        return {"mode": policy.mode.value}
    subnets = {"allowedCIDRs": list(policy.allow), "deniedCIDRs": list(policy.deny)}
    listed = {**subnets, **_rules_json(policy)}
    return {"mode": "custom", "allowedDomains": list(policy.domains), **{k: v for k, v in listed.items() if v}}


def _rules_json(policy: NetworkPolicy) -> dict[str, list[Json]]:
    injections, forwards, responses = [], [], []
    for domain in policy.rules:
        for rule in domain.rules:
            about: Json = {"domain": domain.domain}
            if rule.match and rule.match.dimensions:
                about["matchDimensions"] = rule.match.dimensions
            if rule.response:
                responses.append({**about, "statusCode": rule.response.status})
            elif rule.forward_url:
                forwards.append({**about, "forwardURL": rule.forward_url})
            else:
                injections.append({**about, "headerNames": [name for name, _ in rule.headers]})
    return {"injectionRules": injections, "forwardRules": forwards, "responseRules": responses}


def error_json(code: str, message: str) -> Json:
    return {"error": {"code": code, "message": message}}


def _retention_json(retention: Retention) -> Json:
    kept = {"count": retention.count, "expiration": retention.expiration, "deleteEvicted": retention.delete_evicted}
    return _present(kept)


def _machine(record: SandboxRecord) -> Json:
    return {"cwd": CWD, "region": _REGION, "memory": record.memory, "vcpus": record.vcpus}


def _present(values: Mapping[str, Any]) -> Json:
    return {name: value for name, value in values.items() if value is not None}
