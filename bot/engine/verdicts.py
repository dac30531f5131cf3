"""Why the commands of one session were killed, as far as the engine knows: told in their own logs.

The API has no field for it: a command killed for want of memory and one killed by itself both end with 137.
"""

from collections.abc import Callable

from bot.engine.cgroups import Group

Verdict = Callable[[int], str | None]


class Verdicts:
    """`ending` is why the session was ended, for all commands that still ran then; none if somebody wanted it."""

    def __init__(self, group: Group | None = None, memory: int = 0) -> None:
        self.ending: str | None = None
        self._group, self._memory = group, memory

    def on_a_command(self) -> Verdict:
        """For a command that starts now: to be asked, when it has ended, with its exit code."""
        before = self._killed_for_memory()

        def explain(code: int) -> str | None:
            if code and self._killed_for_memory() > before:
                return f"a process was killed: the sandbox's {self._memory} MB of memory were used up"
            return self.ending if code else None

        return explain

    def _killed_for_memory(self) -> int:
        return self._group.killed_for_memory() if self._group else 0
