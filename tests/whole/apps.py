"""Small repositories for the stories: pages, and apps whose every command is the test's own."""

import json
from collections.abc import Mapping

PAGE = {"index.html": "<!doctype html><h1>Hello</h1>"}
"""Needs nothing installed: the fastest preview there is."""
PORT = 3000
GATE = "/tmp/gate"
"""A file in the sandbox; what `waits_for_the_gate` goes on when it is there."""


def page(text: str) -> dict[str, str]:
    """The page with another heading."""
    return {"index.html": f"<!doctype html><h1>{text}</h1>"}


def app(text: str = "Hello", *, scripts: Mapping[str, str] | None = None, **config: object) -> dict[str, str]:
    """A server of our own that shows `text`, configured by `.github/preview.toml`; `scripts` are further files.

    Its file's name says nothing to detection: what runs is what the configuration says.
    """
    values = {"start": "python3 dev-server", "port": PORT, **config}
    toml = "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    return {".github/preview.toml": toml, "dev-server": server(text), **(scripts or {})}


def server(text: str, *, status: int = 200, host: str = "0.0.0.0", port: int = PORT) -> str:
    """A server's program: the answer to everything is `text`, then the process id of the server."""
    return f"""\
import http.server, os, socket

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"<h1>{text}</h1> by process {{os.getpid()}}".encode()
        self.send_response({status})
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in {host!r} else socket.AF_INET

Server(({host!r}, {port}), Answer).serve_forever()
"""


def waits_for_the_gate(name: str, then: str = "true") -> str:
    """A shell script that would go on for minutes; `name` makes its process known."""
    return f"echo {name} begins\nfor i in $(seq 6000); do\n  test -e {GATE} && break\n  sleep 0.05\ndone\n{then}\n"
