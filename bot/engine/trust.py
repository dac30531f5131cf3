"""The certificates that programs in a sandbox trust while rules apply there: the system's, and this engine's own.

The bundle lies in every sandbox, read-only and used by nothing: a program trusts what these variables name, and only
commands of a sandbox whose policy has rules get them. Programs with a store of their own, such as Java's, do not look
at them; to those the domains with rules are not who they say.
"""

from collections.abc import Mapping
from pathlib import Path

from bot.engine.authority import Authority

FOLDER = "/opt/preview/trust"
_BUNDLE = "bundle.pem"
_DEFAULT = "/etc/ssl/certs/ca-certificates.crt"
_VARIABLES = (
    *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO"),
    *("CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "DENO_CERT", "NIX_SSL_CERT_FILE", "npm_config_cafile"),
)
ENVIRONMENT: Mapping[str, str] = dict.fromkeys(_VARIABLES, f"{FOLDER}/{_BUNDLE}")


def publish(authority: Authority, folder: Path, environment: Mapping[str, str]) -> None:
    """Write the bundle to where sandboxes see it; `environment` names the one that they trust anyway."""
    system = Path(environment.get("SSL_CERT_FILE", _DEFAULT))
    known = system.read_bytes().rstrip() + b"\n" if system.is_file() else b""
    fresh = folder / f".{_BUNDLE}"
    fresh.write_bytes(known + authority.pem)
    fresh.chmod(0o644)
    fresh.replace(folder / _BUNDLE)
