"""What the operator reads in the log."""

import subprocess
import sys

HOSTILE = r"a\nlevel=critical event=fake \x1b[31m\x1b]0;title\x07 b\r\u202e\udc80"
PROGRAM = f"""
import structlog
from webhooks.serve import configure_logging
configure_logging("info")
structlog.get_logger().info("delivery.retry", reason="{HOSTILE}")
"""


def test_what_is_quoted_from_elsewhere_stays_one_line_of_plain_text():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].isprintable()
    assert r"\x1b[31m" in lines[0]
