"""Names that other systems see: one pure function each."""

from bot.preview import RepoId


def sandbox_name(repo_id: RepoId, number: int) -> str:
    """The name of a preview's sandbox. Numbers only: it survives renames, and no branch name reaches a URL."""
    return f"preview-{repo_id}-{number}"
