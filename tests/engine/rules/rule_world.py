"""A small internet for tests of rules: an HTTPS and an HTTP host that note what they are asked, behind a proxy."""

import http.server
import json
import socket
import socketserver
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bot.engine.authority import Authority

API, OTHER = "api.rules.test", "other.rules.test"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int  # the client's port: the same for requests that share a connection


class Host(http.server.ThreadingHTTPServer):
    """Answers `{"path": …}`; `/lines` waits for `gate` before its second line; `/echo` switches protocol and echoes;
    `/leave` closes after its answer without a word about that.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, authority: Authority | None) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: list[Request] = []
        self.gate = threading.Event()
        if authority:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.sni_callback = lambda end, name, _: setattr(end, "context", authority.context_for(name))
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Connections that tests cut are none of our business."""


class _Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Host

    def _serve(self) -> None:
        if self.headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append(Request(self.command, self.path, headers, body, self.client_address[1]))
        paths = {"/lines": self._lines, "/echo": self._echo, "/leave": self._leave}
        paths.get(self.path, self._answer)(len(body))

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def _answer(self, size: int) -> None:
        body = json.dumps({"path": self.path, "size": size}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _lines(self, _: int) -> None:
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for line in (b"first\n", b"second\n", b""):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
            if line == b"first\n":
                self.server.gate.wait(30)

    def _leave(self, size: int) -> None:
        self._answer(size)
        self.close_connection = True

    def _echo(self, _: int) -> None:
        self.send_response(101)
        self.send_header("connection", "upgrade")
        self.send_header("upgrade", "websocket")
        self.end_headers()
        while data := self.rfile.read1(100):
            self.wfile.write(data)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class Proxy(socketserver.ThreadingTCPServer):
    """An HTTP proxy for `CONNECT` that leads every name to one host for TLS and another for the rest."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, secure: Host, plain: Host, password: str) -> None:
        super().__init__(("127.0.0.1", 0), _Tunnel)
        self.secure, self.plain, self.password = secure, plain, password
        self.asked: list[str] = []
        self.hung_up = 0  # by hosts, and passed on
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://engine:{self.password}@127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """As with hosts."""


class _Tunnel(socketserver.StreamRequestHandler):
    server: Proxy

    def handle(self) -> None:
        place = self.rfile.readline().split()[1].decode()
        headers = {}
        while line := self.rfile.readline().strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        self.server.asked.append(place)
        if "proxy-authorization" not in headers:
            self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        host = self.server.secure if place.endswith(":443") else self.server.plain
        with socket.create_connection(("127.0.0.1", host.port)) as upstream:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=self._carry_back, args=(upstream,))
            back.start()
            _copy(self.connection, upstream)
            back.join()

    def _carry_back(self, upstream: socket.socket) -> None:
        _copy(upstream, self.connection)
        self.server.hung_up += 1


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@dataclass
class RuleWorld:
    """`certificates` is the bundle that its hosts are verified with."""

    folder: Path
    secure: Host = field(init=False)
    plain: Host = field(init=False)
    proxy: Proxy = field(init=False)

    def __post_init__(self) -> None:
        authority = Authority.open(self.folder)
        self.secure, self.plain = Host(authority), Host(None)
        self.proxy = Proxy(self.secure, self.plain, "to-the-proxy")
        self.certificates.write_bytes(authority.pem)

    @property
    def certificates(self) -> Path:
        return self.folder / "bundle.pem"

    def close(self) -> None:
        for server in (self.proxy, self.secure, self.plain):
            server.shutdown()
            server.server_close()
