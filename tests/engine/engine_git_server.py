"""A git server on loopback for tests: git's own http-backend, with or without a password."""

import base64
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_WHO = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@x", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@x"}


class Repository:
    """A repository on disk to commit to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.git("init", "--quiet", "--initial-branch=main", str(path))

    def commit(self, **files: str) -> str:
        """Write files (`__` in a name is a dot), commit them, and return the sha."""
        for name, content in files.items():
            (self.path / name.replace("__", ".")).write_text(content)
        self.git("-C", str(self.path), "add", "--all")
        self.git("-C", str(self.path), "commit", "--quiet", "--message", "a change")
        return self.git("-C", str(self.path), "rev-parse", "HEAD").strip()

    def git(self, *words: str) -> str:
        isolated = {**os.environ, **_WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(["git", *words], env=isolated, check=True, capture_output=True, text=True).stdout


class GitServer:
    """Serves the repositories below `root`; with a `password` only to who shows it. `seen` are the paths asked for."""

    def __init__(self, root: Path, password: str | None = None) -> None:
        self.seen: list[str] = []
        expected = f"Basic {base64.b64encode(f'x-access-token:{password}'.encode()).decode()}" if password else None
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                server.seen.append(self.path)
                if expected and self.headers.get("authorization") != expected:
                    self.send_response(401)
                    self.send_header("www-authenticate", "Basic")
                    self.end_headers()
                    return
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                answer = subprocess.run(
                    ["git", "-c", "safe.directory=*", "http-backend"],
                    input=body,
                    capture_output=True,
                    check=False,  # git tells its client itself what is wrong
                    env={
                        "PATH": os.environ["PATH"],
                        "GIT_PROJECT_ROOT": str(root),
                        "GIT_HTTP_EXPORT_ALL": "1",
                        "GIT_CONFIG_COUNT": "1",
                        "GIT_CONFIG_KEY_0": "safe.directory",
                        "GIT_CONFIG_VALUE_0": "*",
                        "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
                        "REQUEST_METHOD": self.command,
                        "PATH_INFO": path,
                        "QUERY_STRING": query,
                        "CONTENT_TYPE": self.headers.get("content-type", ""),
                    },
                ).stdout
                head, _, content = answer.partition(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
                self.send_response(int(fields.pop("Status", "200").split()[0]))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
