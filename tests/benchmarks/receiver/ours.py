"""The bot's receiver alone, as production runs it: uvicorn with uvloop and httptools.

`python -m tests.benchmarks.receiver.ours PORT [FOLDER]`; with a folder, deliveries are stored in a database there.
"""

import logging
import os
import sys
from pathlib import Path

import structlog
import uvicorn
from litestar import Litestar

from bot.inbox import Inbox as StoringInbox
from bot.inbox import Stored
from bot.store import Store
from webhooks.delivery import Delivery
from webhooks.receiver import Inbox, github_webhook


class Forgetting:
    """Takes everything and keeps nothing: what is measured is verifying and decoding."""

    async def put(self, _delivery: Delivery, /) -> bool:
        return True


async def _nothing(_stored: Stored) -> str:
    return "nothing"


def _inbox(folder: Path | None) -> Inbox:
    if folder is None:
        return Forgetting()
    store = Store(f"sqlite:///{folder / 'bot.sqlite'}")
    store.migrate()
    return StoringInbox(store, _nothing)


def main(port: int, folder: Path | None) -> None:
    """Serve until terminated."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    route = github_webhook(_inbox(folder), os.environ["WEBHOOK_SECRET"])
    app = Litestar([route], openapi_config=None, logging_config=None)
    uvicorn.run(
        app, host="127.0.0.1", port=port, loop="uvloop", http="httptools", log_level="warning", access_log=False
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
