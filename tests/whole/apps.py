"""Small repositories for the stories."""

PAGE = {"index.html": "<!doctype html><h1>Hello</h1>"}
"""Needs nothing installed: the fastest preview there is."""


def page(text: str) -> dict[str, str]:
    """The page with another heading."""
    return {"index.html": f"<!doctype html><h1>{text}</h1>"}
