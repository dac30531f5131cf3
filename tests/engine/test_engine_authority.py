"""The engine's certificate authority."""

import ssl
from pathlib import Path

import pytest

from bot.engine.authority import Authority


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """Both ends in memory. Raises what the client does when it does not believe the server."""
    one, other = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs = client.wrap_bio(one, other, server_hostname=name)
    ours = server.wrap_bio(other, one, server_side=True)
    for _ in range(4):
        for end in (theirs, ours):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return theirs


def trusting(authority: Authority) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.pem.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@pytest.mark.parametrize("name", ["api.example.com", "a" * 60 + "." + "b" * 60 + ".example"])
def test_who_trusts_it_believes_the_name_and_gets_http_1(tmp_path: Path, name: str) -> None:
    authority = Authority.open(tmp_path)
    connection = shake_hands(authority.context_for(name), trusting(authority), name)
    assert connection.selected_alpn_protocol() == "http/1.1"
    assert ("DNS", name) in connection.getpeercert()["subjectAltName"]


def test_a_certificate_is_for_its_name_only(tmp_path: Path) -> None:
    authority = Authority.open(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(authority.context_for("one.example"), trusting(authority), "two.example")


def test_another_install_is_not_believed(tmp_path: Path) -> None:
    ours, theirs = Authority.open(tmp_path / "ours"), Authority.open(tmp_path / "theirs")
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(theirs.context_for("one.example"), trusting(ours), "one.example")


def test_it_stays_the_same_and_its_key_is_for_its_owner_only(tmp_path: Path) -> None:
    first = Authority.open(tmp_path / "authority")
    assert Authority.open(tmp_path / "authority").pem == first.pem
    assert (tmp_path / "authority").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "authority" / "key.pem").stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE" not in first.pem


def test_a_name_s_certificate_is_made_once(tmp_path: Path) -> None:
    authority = Authority.open(tmp_path)
    assert authority.context_for("a.example") is authority.context_for("a.example")
    assert authority.context_for("a.example") is not authority.context_for("b.example")
