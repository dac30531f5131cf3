"""`python -m bot.engine`."""

import sys

from bot.engine.server import main

sys.exit(main())
