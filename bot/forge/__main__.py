"""`python -m bot.forge`."""

import sys

from bot.forge.server import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
