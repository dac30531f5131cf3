"""The answer of `preview plan` for a person."""

import shlex

from bot.plan import LaunchPlan, Note, spoken


def plan_text(plan: LaunchPlan) -> str:
    """The plan, and which file decided each choice."""
    rows = [("Detected", plan.title)]
    if plan.root != ".":
        rows.append(("Folder", plan.root))
    if plan.install:
        where = f"   (in {plan.install_root})" if plan.install_root != plan.root else ""
        rows.append(("Install", shlex.join(spoken(plan.install)) + where))
    rows += [("Set up", shlex.join(spoken(argv))) for argv in plan.setup]
    if plan.build:
        rows.append(("Build", shlex.join(spoken(plan.build))))
    rows += [("Start", shlex.join(spoken(plan.start))), ("Port", str(plan.port)), ("Ready when", plan.readiness.path)]
    rows += [("Runtime", f"{tool} {version}") for tool, version in plan.runtime.items()]
    if plan.needs_env:
        rows.append(("Needs", ", ".join(plan.needs_env)))
    lines = [f"{name:<11} {value}" for name, value in rows]
    if plan.notes:
        lines += ["", "Why"]
        lines += [f"  {note.text}{_place(note)}" for note in plan.notes]
    return "\n".join(lines)


def _place(note: Note) -> str:
    if note.file is None:
        return ""
    return f"   [{note.file}]" if note.line is None else f"   [{note.file}:{note.line}]"
