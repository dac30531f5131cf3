"""How much memory the processes below one use together, for where no control group counts it.

By hand because nothing that counts memory fairly for processes that share it comes with Python: the proportional set
size is one line of one file (https://docs.kernel.org/filesystems/proc.html).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

_PROC = Path("/proc")


def children_of_all() -> Mapping[int, Sequence[int]]:
    """Of every process that there is now."""
    children = defaultdict[int, list[int]](list)
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (stat := _read(entry / "stat")):
            parent = stat.rpartition(")")[2].split()[1]  # the name before it may hold anything
            children[int(parent)].append(int(entry.name))
    return children


def memory_below(ancestor: int, children: Mapping[int, Sequence[int]]) -> int:
    """Bytes; what several processes share is divided among them. What has ended or is hidden counts none."""
    total, waiting = 0, [ancestor]
    while waiting:
        process = waiting.pop()
        waiting.extend(children.get(process, ()))
        for line in _read(_PROC / str(process) / "smaps_rollup").splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
