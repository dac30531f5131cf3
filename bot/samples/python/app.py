"""A shop window of one page."""

from flask import Flask

app = Flask(__name__)

OPEN = "Open from nine to five."


@app.get("/")
def home() -> str:
    """The page."""
    return f"<!doctype html><title>The corner shop</title><h1>The corner shop</h1><p>{OPEN}</p>"
