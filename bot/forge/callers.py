"""Who is calling: a person, an App, an App's installation, or nobody. Read from the Authorization header.

https://docs.github.com/en/rest/authentication/authenticating-to-the-rest-api
"""

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime

import jwt
from cryptography.hazmat.primitives import serialization

from bot.forge.errors import Forbidden, Unauthorized
from bot.forge.records import App, Installation, Token
from bot.forge.state import State

LONGEST_JWT_LIFE = 600
"""Seconds; a JWT that claims to live longer is refused."""
CLOCK_DRIFT = 60
"""Seconds by which an App's clock may be off."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request. Nobody: no fields. A person: `login` and `token`. An App: `app`. An installation: all."""

    login: str | None = None
    token: Token | None = None
    app: App | None = None
    installation: Installation | None = None

    @property
    def anonymous(self) -> bool:
        """Whether no credentials came with the request."""
        return self.login is None and self.app is None


def identify(state: State, authorization: str | None, moment: datetime) -> Caller:
    """Who an Authorization header speaks for. Raises Unauthorized, and Forbidden for a suspended installation."""
    if not authorization:
        return Caller()
    scheme, _, credentials = authorization.partition(" ")
    if scheme.lower() == "basic":
        return _by_token(state, _password(credentials), moment)
    if scheme.lower() not in ("bearer", "token"):
        raise Unauthorized("Bad credentials")
    if credentials.count(".") == 2:
        return Caller(app=_by_jwt(state, credentials))
    return _by_token(state, credentials, moment)


def _password(credentials: str) -> str:
    try:
        user, _, password = base64.b64decode(credentials, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as wrong:
        raise Unauthorized("Bad credentials") from wrong
    return user if password in ("", "x-oauth-basic") else password


def _by_token(state: State, value: str, moment: datetime) -> Caller:
    token = state.tokens.get(value)
    if token is None or (token.expires_at and token.expires_at <= moment):
        raise Unauthorized("Bad credentials")
    if token.installation_id is None:
        return Caller(login=token.login, token=token)
    installation = state.installations.get(token.installation_id)
    if installation is None:
        raise Unauthorized("Bad credentials")
    if installation.suspended_at:
        raise Forbidden("This installation has been suspended")
    return Caller(token.login, token, state.apps[installation.app_id], installation)


def _by_jwt(state: State, encoded: str) -> App:
    try:
        issuer = str(jwt.decode(encoded, options={"verify_signature": False}).get("iss"))
        app = next(app for app in state.apps.values() if issuer in (str(app.id), app.client_id))
        claims = jwt.decode(
            encoded,
            serialization.load_pem_private_key(app.pem.encode(), None).public_key(),  # type: ignore[arg-type]
            algorithms=["RS256"],
            leeway=CLOCK_DRIFT,
            options={"require": ["exp", "iat"], "verify_iss": False},
        )
    except jwt.ExpiredSignatureError as wrong:
        raise Unauthorized("'Expiration time' claim ('exp') must be a numeric value in the future") from wrong
    except StopIteration as wrong:
        raise Unauthorized("Integration not found") from wrong
    except jwt.PyJWTError as wrong:
        raise Unauthorized("A JSON web token could not be decoded") from wrong
    if claims["exp"] - claims["iat"] > LONGEST_JWT_LIFE + CLOCK_DRIFT:
        raise Unauthorized("'Expiration time' claim ('exp') is too far in the future")
    return app
