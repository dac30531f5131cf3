"""`python -m bot` is the `preview` command."""

from bot.cli import main

main()
