"""What the shapes are drawn from: the state, and where things are."""

from dataclasses import dataclass

from bot.forge.state import State
from bot.forge.urls import Urls


@dataclass(frozen=True, slots=True)
class View:
    """The state as seen through one root URL."""

    state: State
    urls: Urls
