"""`POST /webhooks/github` over real sockets: what is answered, what is stored, what is logged."""

import asyncio
import socket
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from webhooks.body import Body, Buffer
from webhooks.delivery import MAX_BODY_BYTES
from webhooks.receiver import github_webhook
from webhooks.refusals import DeliveryNotStored

PATH = "/webhooks/github"


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[Any]]:
    with capture_logs() as entries:
        yield entries


def post(port: int, request: Any, **headers: str) -> httpx.Response:
    return httpx.post(f"http://127.0.0.1:{port}{PATH}", content=request.body, headers=_text(request) | headers)


def _text(request: Any) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in request.headers.items()}


def head(request: Any, *more: str) -> bytes:
    """The head of a request, for tests that send the body in their own way."""
    lines = [f"POST {PATH} HTTP/1.1", "host: bot", *(f"{k}: {v}" for k, v in _text(request).items()), *more]
    return "\r\n".join([*lines, "", ""]).encode()


def answer_on(connection: socket.socket) -> tuple[int, bytes]:
    """The status and everything else until the server closes or the announced body is there."""
    received = b""
    while b"\r\n\r\n" not in received or b'"}' not in received:
        more = connection.recv(65_536)
        if not more:
            break
        received += more
    return int(received.split(b" ", 2)[1]), received


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def test_an_accepted_delivery_is_on_the_disk_when_it_is_answered(port: int, inbox: Any, opened: Any) -> None:
    response = post(port, opened)
    assert (response.status_code, response.json()) == (202, {"status": "accepted"})
    assert response.headers["content-type"] == "application/json"
    assert inbox.stored() == [("72d3162e-cc78-11e3-81ab-4c9367dc0958", "pull_request", opened.body)]


def test_a_delivery_that_means_nothing_is_told_so_logged_and_not_stored(
    port: int, inbox: Any, opened: Any, logged: list[Any]
) -> None:
    response = post(port, opened, **{"x-github-event": "watch"})
    assert response.status_code == 202
    assert response.json() == {"status": "ignored", "reason": "watch opened: nothing to do"}
    assert inbox.stored() == []
    assert logged == [
        {
            "event": "delivery ignored",
            "log_level": "info",
            "reason": "watch opened: nothing to do",
            "delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
            "event_name": "watch",
        }
    ]


def test_a_repeated_delivery_is_a_duplicate_only_once_it_was_processed(port: int, inbox: Any, opened: Any) -> None:
    """B28: an id whose first run died must not be swallowed."""
    assert [post(port, opened).json()["status"] for _ in range(3)] == ["accepted"] * 3
    inbox.process_all()
    response = post(port, opened)
    assert (response.status_code, response.json()) == (202, {"status": "duplicate"})
    assert len(inbox.stored()) == 1


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("x-hub-signature-256", "sha256=" + "0" * 64, 401),
        ("content-type", "application/x-www-form-urlencoded", 415),
        ("x-github-delivery", "not-a-guid", 400),
        ("x-github-event", "Not An Event", 400),
    ],
)
def test_every_refusal_says_why_and_is_logged(
    port: int, inbox: Any, opened: Any, logged: list[Any], header: str, value: str, status: int
) -> None:
    response = post(port, opened, **{header: value})
    assert response.status_code == status
    assert response.json()["status"] == "refused"
    assert inbox.stored() == []
    (entry,) = logged
    assert (entry["event"], entry["status"]) == ("delivery refused", status)
    assert entry["reason"] == response.json()["reason"]
    assert entry["delivery"] in ("72d3162e-cc78-11e3-81ab-4c9367dc0958", None)


def test_neither_answer_nor_log_holds_any_of_a_refused_body(
    port: int, opened: Any, signed: Any, logged: list[Any]
) -> None:
    for body in (b"TOP-SECRET", b'["TOP-SECRET"]', b'{"action":"opened","number":"TOP-SECRET"}'):
        opened.body = body
        for signature in (signed(body).decode(), "sha256=TOP-SECRET"):
            response = post(port, opened, **{"x-hub-signature-256": signature, "x-github-delivery": "TOP-SECRET"})
            assert response.status_code in (400, 401)
            assert b"SECRET" not in response.content
            assert post(port, opened, **{"x-hub-signature-256": signature}).status_code in (400, 401)
    assert len(logged) == 12
    assert "SECRET" not in str(logged)


def test_a_body_of_another_alphabet_is_accepted_byte_for_byte(
    port: int, inbox: Any, opened: Any, signed: Any, example: Any
) -> None:
    """B45: the signature is over the bytes, whatever they hold."""
    opened.body = opened.body.replace(b'"title":"', '"title":"\U0001f680 é \u2028 \\/ \\u2028 '.encode(), 1)
    assert post(port, opened).status_code == 401
    opened.headers[b"x-hub-signature-256"] = signed(opened.body)
    assert post(port, opened).status_code == 202
    assert inbox.stored()[0][2] == opened.body


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_only_post_is_allowed(port: int, opened: Any, method: str) -> None:
    body = opened.body if method in ("PUT", "PATCH") else None
    response = httpx.request(method, f"http://127.0.0.1:{port}{PATH}", content=body, headers=_text(opened))
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert (response.content == b"") == (method == "HEAD")


def test_a_websocket_finds_nobody(port: int) -> None:
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    key = {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert httpx.get(f"http://127.0.0.1:{port}{PATH}", headers=upgrade | key).status_code in (403, 405)


def test_a_body_of_exactly_25_mib_is_read(port: int, opened: Any, signed: Any) -> None:
    opened.body = opened.body.ljust(MAX_BODY_BYTES)
    opened.headers[b"x-hub-signature-256"] = signed(opened.body)
    assert post(port, opened).json() == {"status": "accepted"}


def test_a_body_that_is_announced_too_large_is_refused_before_it_is_sent(port: int, opened: Any) -> None:
    with connect(port) as connection:
        connection.sendall(head(opened, f"content-length: {MAX_BODY_BYTES + 1}", "expect: 100-continue"))
        status, received = answer_on(connection)
    assert status == 413
    assert b"100 Continue" not in received
    assert b"connection: close" in received


def test_whoever_sends_too_large_a_body_to_its_end_still_reads_the_413(port: int, opened: Any) -> None:
    opened.body = b" " * (MAX_BODY_BYTES + 1)
    assert post(port, opened).status_code == 413


def test_a_body_without_a_length_is_cut_at_the_limit(port: int, inbox: Any, opened: Any) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(26):
            yield b" " * 1024 * 1024

    response = httpx.post(f"http://127.0.0.1:{port}{PATH}", content=endless(), headers=_text(opened))
    assert response.status_code == 413
    assert inbox.stored() == []


def test_a_body_in_chunks_is_a_delivery_like_any_other(port: int, inbox: Any, opened: Any) -> None:
    pieces = (opened.body[at : at + 97] for at in range(0, len(opened.body), 97))
    response = httpx.post(f"http://127.0.0.1:{port}{PATH}", content=pieces, headers=_text(opened))
    assert response.json() == {"status": "accepted"}
    assert inbox.stored()[0][2] == opened.body


def test_a_sender_may_ask_before_it_sends(port: int, opened: Any) -> None:
    with connect(port) as connection:
        connection.sendall(head(opened, f"content-length: {len(opened.body)}", "expect: 100-continue"))
        assert connection.recv(1024) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(opened.body)
        assert answer_on(connection)[0] == 202


def test_a_connection_serves_on_after_a_refusal(port: int, opened: Any) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        statuses = [
            client.post(PATH, content=opened.body, headers=_text(opened) | {"x-hub-signature-256": value}).status_code
            for value in ("sha256=no", _text(opened)["x-hub-signature-256"], "")
        ]
    assert statuses == [401, 202, 401]


def test_a_slow_sender_is_told_408(serving: Any, inbox: Any, opened: Any, secret: str) -> None:
    with serving(github_webhook(inbox, secret, deadline_seconds=0.2)) as port, connect(port) as connection:
        connection.sendall(head(opened, f"content-length: {len(opened.body)}") + opened.body[:-1])
        status, received = answer_on(connection)
        assert status == 408
        assert b"connection: close" in received
        assert connection.recv(1) == b""
    assert inbox.stored() == []


def test_a_sender_that_hangs_up_leaves_nothing_but_a_line_in_the_log(
    serving: Any, inbox: Any, opened: Any, secret: str, logged: list[Any]
) -> None:
    with serving(github_webhook(inbox, secret)) as port:
        with connect(port) as connection:
            connection.sendall(head(opened, f"content-length: {len(opened.body)}") + opened.body[:-1])
        assert post(port, opened).status_code == 202
    assert len(inbox.stored()) == 1
    assert [entry["event"] for entry in logged if entry["log_level"] == "warning"] == ["delivery cut off by its sender"]


def test_a_full_disk_is_a_503_and_the_delivery_may_come_again(
    port: int, inbox: Any, opened: Any, logged: list[Any]
) -> None:
    inbox.fill_the_disk()
    response = post(port, opened)
    assert response.status_code == 503
    assert response.headers["retry-after"] == "30"
    assert inbox.stored() == []
    (entry,) = logged
    assert (entry["log_level"], entry["event"]) == ("error", "delivery not stored")
    assert entry["reason"].startswith("OperationalError at conftest.py:")


def test_a_closed_database_is_a_503(port: int, inbox: Any, opened: Any) -> None:
    inbox.close()
    assert post(port, opened).status_code == 503


def test_an_inbox_that_hangs_is_a_503_within_the_deadline(serving: Any, opened: Any, secret: str) -> None:
    class Hanging:
        async def put(self, _delivery: object) -> bool:
            await asyncio.get_running_loop().create_future()
            return True

    with serving(github_webhook(Hanging(), secret, deadline_seconds=0.2)) as port:
        response = post(port, opened)
    assert response.status_code == 503
    assert response.json()["reason"] == "not stored within 0.2 s"


def test_a_time_out_of_the_database_is_not_the_senders_fault(serving: Any, opened: Any, secret: str) -> None:
    class TimingOut:
        async def put(self, _delivery: object) -> bool:
            raise TimeoutError

    with serving(github_webhook(TimingOut(), secret)) as port:
        assert post(port, opened).status_code == 503


def test_a_secret_may_change_while_the_bot_runs(
    serving: Any, inbox: Any, opened: Any, signed: Any, secret: str
) -> None:
    secrets = {"current": secret}
    with serving(github_webhook(inbox, lambda: secrets["current"])) as port:
        assert post(port, opened).status_code == 202
        secrets["current"] = "a newer one"
        assert post(port, opened).status_code == 401
        assert post(port, opened, **{"x-hub-signature-256": signed(opened.body, "a newer one").decode()}).is_success
        secrets.clear()
        assert post(port, opened).status_code == 503


async def test_of_many_deliveries_at_once_none_is_lost(port: int, inbox: Any, opened: Any) -> None:
    ids = [str(uuid.UUID(int=number)) for number in range(100)]
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", limits=httpx.Limits(max_connections=32)
    ) as client:
        headers = _text(opened)
        sent = [client.post(PATH, content=opened.body, headers=headers | {"x-github-delivery": id_}) for id_ in ids]
        answers = await asyncio.gather(*sent)
    assert {answer.status_code for answer in answers} == {202}
    assert sorted(row[0] for row in inbox.stored()) == ids


async def test_unfinished_bodies_together_have_a_limit_and_give_their_memory_back() -> None:
    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * 600, "more_body": True}

    buffer = Buffer(limit=1000)
    body = Body(receive, buffer)
    with pytest.raises(DeliveryNotStored, match="too many large deliveries"):
        await body.read({})
    assert buffer.used == 1200
    body.release()
    assert buffer.used == 0
