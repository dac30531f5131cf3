"""Long lists of names, written as running text so that a reader sees them at a glance."""


def words(text: str) -> tuple[str, ...]:
    """The words of a text, in order."""
    return tuple(text.split())
