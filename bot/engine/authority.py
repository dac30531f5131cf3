"""The certificate authority of this engine: speaks for the domains whose requests are changed on their way out.

Its key never leaves the data folder, where only the engine's user reads it, and no sandbox sees that folder. Whether a
program in a sandbox believes it is a matter of the bundle that it is told to use; see `rootfs.trust`.
"""

import os
import ssl
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Sandbox egress authority")])
_LIFE, _LEAF_LIFE, _RENEWAL = timedelta(days=3650), timedelta(days=30), timedelta(days=7)
_EARLIER = timedelta(hours=1)  # clocks in other places may be behind
_MOST_CONTEXTS = 256
_KEY_FILE, _CERTIFICATE_FILE = "key.pem", "certificate.pem"


@dataclass(frozen=True, slots=True)
class _Issued:
    context: ssl.SSLContext
    renew_at: datetime


class Authority:
    """Make with `open`."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._key, self._certificate = key, certificate
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._issued: OrderedDict[str, _Issued] = OrderedDict()

    @classmethod
    def open(cls, folder: Path) -> "Authority":
        """The one in `folder`, made at first. Raises `ValueError` or `TypeError` when what is there cannot be read."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key_file, certificate_file = folder / _KEY_FILE, folder / _CERTIFICATE_FILE
        if not certificate_file.exists():
            fresh = ec.generate_private_key(ec.SECP256R1())
            _write_privately(key_file, _key_pem(fresh))
            _write_privately(certificate_file, _root(fresh).public_bytes(serialization.Encoding.PEM))
        key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{key_file} does not hold the key that an engine made")
        return cls(key, x509.load_pem_x509_certificate(certificate_file.read_bytes()))

    @property
    def pem(self) -> bytes:
        """The certificate to trust; not a secret."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def context_for(self, name: str) -> ssl.SSLContext:
        """What a server of `name` would answer TLS with; HTTP/1.1 only, since that is what is spoken behind it."""
        now = datetime.now(UTC)
        issued = self._issued.pop(name, None)
        if issued is None or issued.renew_at < now:
            issued = _Issued(self._issue(name, now), now + _RENEWAL)
        self._issued[name] = issued
        if len(self._issued) > _MOST_CONTEXTS:
            self._issued.popitem(last=False)
        return issued.context

    def _issue(self, name: str, now: datetime) -> ssl.SSLContext:
        leaf = (
            _begin(self._leaf_key, self._key, now, _LEAF_LIFE)
            .subject_name(x509.Name([]))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        # Python's ssl reads certificates from files only: one without a name in any folder.
        descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, _key_pem(self._leaf_key) + leaf.public_bytes(serialization.Encoding.PEM))
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
        return context


def _root(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    usage = dict.fromkeys(("key_encipherment", "data_encipherment", "key_agreement", "content_commitment"), False)
    return (
        _begin(key, key, datetime.now(UTC), _LIFE)
        .subject_name(_NAME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
                **usage,
            ),
            critical=True,
        )
        .sign(key, hashes.SHA256())
    )


def _begin(
    key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write_privately(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)
