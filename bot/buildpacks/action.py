"""GitHub Actions: an action.yml means that the code here runs in workflows, and serves nothing."""

from bot.buildpacks.buildpack import Refusal
from bot.source import Folder


def find(folder: Folder) -> Refusal | None:
    """The refusal of an action's repository. Later buildpacks may still find a site in it."""
    file = folder.first("action.yml", "action.yaml")
    data = folder.yaml(file) if file else None
    if file and isinstance(data, dict) and "runs" in data:
        return Refusal("this is a GitHub Action, which runs in workflows", folder.at(file))
    return None
