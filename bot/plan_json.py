"""The answer of `preview plan --json`: one flat object, whether there is a plan or not."""

from typing import Any

from bot.buildpacks.candidates import SeveralToPreview
from bot.errors import NothingToPreview
from bot.plan import Argv, LaunchPlan, spoken


def plan_json(answer: LaunchPlan | NothingToPreview) -> dict[str, Any]:
    """The plan as plain values. Commands are spelled as the repository's people would type them."""
    if isinstance(answer, NothingToPreview):
        return _NOTHING | {
            "ambiguous": isinstance(answer, SeveralToPreview),
            "reason": " ".join(part for part in (answer.cause, answer.remedy) if part),
        }
    return {
        "previewable": True,
        "kind": answer.kind,
        "root": answer.root,
        "install_root": answer.install_root,
        "package_manager": answer.package_manager,
        "install": _words(answer.install),
        "setup": [_words(command) for command in answer.setup],
        "start": _words(answer.start),
        "port": answer.port,
        "health_path": answer.readiness.path,
        "runtime": dict(answer.runtime),
        "needs_env": list(answer.needs_env),
        "ambiguous": answer.ambiguous,
        "reason": "; ".join(f"{note.text} ({note.file})" if note.file else note.text for note in answer.notes),
    }


_NOTHING: dict[str, Any] = {
    "previewable": False,
    "kind": None,
    "root": ".",
    "install_root": ".",
    "package_manager": None,
    "install": None,
    "setup": [],
    "start": None,
    "port": None,
    "health_path": None,
    "runtime": {},
    "needs_env": [],
}


def _words(argv: Argv | None) -> list[str] | None:
    return None if argv is None else list(spoken(argv))
