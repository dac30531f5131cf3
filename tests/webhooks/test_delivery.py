"""Verify, then construct: what makes a POST a delivery, and what refuses it."""

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.events import Ignored, PullRequestChanged
from webhooks.delivery import MAX_BODY_BYTES, Delivery, sign
from webhooks.refusals import ContentTypeRefused, PayloadInvalid, PayloadTooLarge, SignatureRefused

SECRET = "It's a Secret to Everybody"


def test_githubs_own_example_is_signed_alike() -> None:
    """The test values of GitHub's page on validating webhook deliveries."""
    assert sign(b"Hello, World!", SECRET) == "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


def test_a_signed_delivery_holds_what_was_sent(opened: Any) -> None:
    delivery = Delivery.from_http(opened.headers, opened.body, SECRET)
    assert delivery.id == "72d3162e-cc78-11e3-81ab-4c9367dc0958"
    assert delivery.event == "pull_request"
    assert delivery.body == opened.body
    assert isinstance(delivery.meaning, PullRequestChanged)
    assert repr(delivery) == "Delivery(id='72d3162e-cc78-11e3-81ab-4c9367dc0958', event='pull_request')"


@pytest.mark.parametrize(
    "body",
    [
        '{"zen":"\U0001f680 Grüße"}'.encode(),
        '{"zen":"a\u2028b\u2029c"}'.encode(),
        b'{"zen":"\\ud83d\\ude80 \\u00e9 \\/ \\u2028"}',
        b'{ "zen" : 1.0 ,\r\n"big": 12345678901234567890 }\n',
    ],
    ids=["emoji", "separators", "escapes", "spacing"],
)
def test_the_signature_is_over_the_raw_bytes(opened: Any, signed: Any, body: bytes) -> None:
    headers = opened.headers | {b"x-github-event": b"ping", b"x-hub-signature-256": signed(body)}
    delivery = Delivery.from_http(headers, body, SECRET)
    assert delivery.body == body
    assert isinstance(delivery.meaning, Ignored)
    redumped = json.dumps(json.loads(body)).encode()
    with pytest.raises(SignatureRefused):
        Delivery.from_http(headers, redumped, SECRET)


@settings(deadline=None)
@given(position=st.integers(min_value=0, max_value=21_369), bit=st.integers(min_value=0, max_value=7))
def test_one_changed_bit_breaks_the_signature(position: int, bit: int) -> None:
    body = b'{"a":"' + b"x" * 21_400 + b'"}'
    headers = {b"x-hub-signature-256": sign(body, SECRET).encode()}
    changed = bytearray(body)
    changed[position] ^= 1 << bit
    with pytest.raises(SignatureRefused):
        Delivery.from_http(headers, bytes(changed), SECRET)


def _sha1(body: bytes) -> bytes:
    return b"sha1=" + hmac.new(SECRET.encode(), body, hashlib.sha1).hexdigest().encode()


@pytest.mark.parametrize(
    "forge",
    [
        lambda body, right: right[:-1],
        lambda body, right: right.removeprefix(b"sha256="),
        lambda body, right: right.replace(b"sha256=", b"sha1="),
        lambda body, right: b"sha256=" + b"0" * 64,
        lambda body, right: b"sha256=",
        lambda body, right: b"",
        lambda body, right: "sha256=é☃".encode(),
        lambda body, right: _sha1(body),
        lambda body, right: sign(body, "another secret").encode(),
        lambda body, right: sign(body, SECRET + " ").encode(),
    ],
)
def test_a_wrong_signature_is_refused(opened: Any, forge: Any) -> None:
    headers = opened.headers | {b"x-hub-signature-256": forge(opened.body, opened.headers[b"x-hub-signature-256"])}
    with pytest.raises(SignatureRefused) as refused:
        Delivery.from_http(headers, opened.body, SECRET)
    assert refused.value.status == 401


def test_a_missing_signature_is_refused(opened: Any) -> None:
    del opened.headers[b"x-hub-signature-256"]
    with pytest.raises(SignatureRefused, match="X-Hub-Signature-256 is missing"):
        Delivery.from_http(opened.headers, opened.body, SECRET)


def test_the_old_sha1_signature_does_not_count(opened: Any) -> None:
    del opened.headers[b"x-hub-signature-256"]
    with pytest.raises(SignatureRefused, match="SHA-1"):
        Delivery.from_http(opened.headers | {b"x-hub-signature": _sha1(opened.body)}, opened.body, SECRET)


def test_without_a_secret_even_the_matching_signature_is_refused(opened: Any) -> None:
    headers = opened.headers | {b"x-hub-signature-256": sign(opened.body, "").encode()}
    with pytest.raises(SignatureRefused, match="no webhook secret"):
        Delivery.from_http(headers, opened.body, "")


@pytest.mark.parametrize("value", [b"application/json", b"application/json; charset=utf-8", b"Application/JSON ;a=b"])
def test_json_may_be_spelled_in_any_way(opened: Any, value: bytes) -> None:
    assert Delivery.from_http(opened.headers | {b"content-type": value}, opened.body, SECRET)


@pytest.mark.parametrize("value", [b"", b"text/plain", b"application/jsonp", b"multipart/form-data; boundary=json"])
def test_another_content_type_is_refused(opened: Any, value: bytes) -> None:
    with pytest.raises(ContentTypeRefused) as refused:
        Delivery.from_http(opened.headers | {b"content-type": value}, opened.body, SECRET)
    assert refused.value.status == 415


def test_form_encoding_is_refused_with_the_remedy(opened: Any, signed: Any) -> None:
    body = b"payload=%7B%22zen%22%3A%22Keep+it+logically+awesome.%22%7D"
    headers = opened.headers | {
        b"content-type": b"application/x-www-form-urlencoded",
        b"x-hub-signature-256": signed(body),
    }
    with pytest.raises(ContentTypeRefused, match="set the webhook's content type to application/json"):
        Delivery.from_http(headers, body, SECRET)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (b"x-github-delivery", None),
        (b"x-github-delivery", b""),
        (b"x-github-delivery", b"1"),
        (b"x-github-delivery", b"72d3162e-cc78-11e3-81ab-4c9367dc0958'; drop table"),
        (b"x-github-delivery", b"72d3162e-cc78-11e3-81ab-4c9367dc095\xe9"),
        (b"x-github-event", None),
        (b"x-github-event", b""),
        (b"x-github-event", b"pull request"),
        (b"x-github-event", b"../ping"),
        (b"x-github-event", b"p" * 100),
    ],
)
def test_a_missing_or_odd_id_or_event_is_refused(opened: Any, header: bytes, value: bytes | None) -> None:
    del opened.headers[header]
    if value is not None:
        opened.headers[header] = value
    with pytest.raises(PayloadInvalid, match="missing or not") as refused:
        Delivery.from_http(opened.headers, opened.body, SECRET)
    assert refused.value.status == 400


def test_an_id_is_the_same_in_capitals(opened: Any) -> None:
    headers = opened.headers | {b"x-github-delivery": b"72D3162E-CC78-11E3-81AB-4C9367DC0958"}
    assert Delivery.from_http(headers, opened.body, SECRET).id == "72d3162e-cc78-11e3-81ab-4c9367dc0958"


def test_a_body_above_githubs_cap_is_refused_before_anything_else() -> None:
    with pytest.raises(PayloadTooLarge) as refused:
        Delivery.from_http({}, b" " * (MAX_BODY_BYTES + 1), SECRET)
    assert refused.value.status == 413


def test_whoever_cannot_sign_learns_nothing_about_the_rest() -> None:
    with pytest.raises(SignatureRefused):
        Delivery.from_http({b"content-type": b"text/plain"}, b"not json", SECRET)


def test_a_signed_body_that_is_no_json_object_is_refused(opened: Any, signed: Any) -> None:
    with pytest.raises(PayloadInvalid, match="not an object"):
        Delivery.from_http(opened.headers | {b"x-hub-signature-256": signed(b"[1]")}, b"[1]", SECRET)
