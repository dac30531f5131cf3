"""What one sandbox may use of the machine."""

import os
import resource
from pathlib import Path

from bot.engine.errors import ApiError
from bot.engine.settings import Settings

MEGABYTE = 1 << 20


def process_limits(settings: Settings, memory: int) -> dict[str, int]:
    """Limits of every process in a sandbox with `memory` MB (see setrlimit(2)).

    DATA and not AS: JavaScript and Go reserve far more address space than they use.
    """
    return {
        "RLIMIT_NPROC": settings.max_processes,
        "RLIMIT_FSIZE": settings.max_file_size,
        "RLIMIT_DATA": memory * MEGABYTE,
        "RLIMIT_CORE": 0,
    }


def require_disk(folder: Path, floor: int) -> None:
    """Raises `ApiError` 507 when less than `floor` bytes are free."""
    free = free_disk(folder)
    if free < floor:
        raise ApiError(
            507, "insufficient_storage", f"{free // MEGABYTE} MiB of disk are free, {floor // MEGABYTE} needed"
        )


def free_disk(folder: Path) -> int:
    """Bytes."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def raise_descriptor_limit() -> None:
    """Connections, pipes and routes of many sandboxes: take all the descriptors that we may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
