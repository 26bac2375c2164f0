"""An issuer of OpenID Connect: who somebody is, as it has signed it, for browsers (PKCE) and programs (device flow).

What is believed is an ID token that the issuer has signed with one of its published keys, by an algorithm with a public
key, for this client, now, and, where a browser asked, for this very sign-in. Nothing else of an answer is: neither
names nor addresses. Issuer and subject are the identity.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from dither.errors import DitherError, InvalidParameter, MissingExtra
from dither.service.settings import Settings, is_safe_address

#: With a public key: whoever can check a token cannot make one, and "none" is no signature.
ALGORITHMS: Final = ("RS256", "PS256", "ES256", "EdDSA")
#: How far clocks may be apart, and how old a token may be that a program shows.
SKEW: Final = 60
OLDEST: Final = 600
_SECONDS: Final = 10.0
_LARGEST: Final = 2**20
#: How long what an issuer publishes is believed, and how soon it is asked again for keys that are not known.
_KEPT_SECONDS: Final = 3600.0
_AGAIN_SECONDS: Final = 60.0


class NotSigned(DitherError):
    """A token that proves nothing, or an issuer that says nothing; why is nobody's business who shows it."""


#: Sends a form, or gets an address where that is None, and returns what is there as plain data.
Fetch = Callable[[str, Mapping[str, str] | None], Any]


class Statement(NamedTuple):
    """What an ID token states: whom it is about, and a digest of all its claims."""

    subject: str
    digest: str


class Issuer:
    """An issuer, as this service knows it.

    Args:
        address: as its tokens have it.
        client: what the service is called there.
        secret: the client's, where it has one.
        fetch: gets what is at an address.
        clock: tells seconds since 1970.

    """

    def __init__(
        self,
        address: str,
        client: str,
        secret: str | None = None,
        *,
        fetch: Fetch | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.address, self.client = address, client
        self._secret, self._fetch, self._clock = secret, fetch or fetched, clock
        self._guard = threading.Lock()
        self._published: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, Any] | None = None

    @classmethod
    def of(cls, settings: Settings) -> Issuer | None:
        """Return the issuer that the settings name, if they name one."""
        if not settings.oidc_issuer:
            return None
        try:
            import joserfc  # noqa: F401
        except ModuleNotFoundError:
            raise MissingExtra("sign-in with OpenID Connect", "oidc") from None
        secret = None
        if settings.oidc_secret:
            try:
                secret = Path(settings.oidc_secret).read_text(encoding="utf-8").strip()
            except (OSError, ValueError):
                rule = "a file that can be read: put the client's secret there, or leave the setting out"
                raise InvalidParameter("oidc_secret", settings.oidc_secret, rule) from None
        return cls(settings.oidc_issuer, settings.oidc_client, secret)

    def endpoint(self, name: str) -> str:
        """Return an address that the issuer publishes: ``token_endpoint`` and the like."""
        found = self._metadata().get(name)
        if not isinstance(found, str) or not is_safe_address(found):
            raise NotSigned(f"the issuer has no {name} that can be used")
        return found

    def authorization(self, redirect: str, state: str, nonce: str, verifier: str) -> str:
        """Return where a browser is sent to sign in.

        Args:
            redirect: where it comes back to.
            state: what it brings along.
            nonce: what the ID token must have.
            verifier: the secret whose hash is told now, and itself when the code is exchanged.

        """
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": redirect,
            "scope": "openid",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self.endpoint('authorization_endpoint')}?{urlencode(asked)}"

    def exchanged(self, code: str, redirect: str, verifier: str) -> str:
        """Return the ID token for a code that a browser brought back."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "client_id": self.client,
            "code_verifier": verifier,
        }
        if self._secret is not None:
            form["client_secret"] = self._secret
        told = self._fetch(self.endpoint("token_endpoint"), form)
        token = told.get("id_token") if isinstance(told, dict) else None
        if not isinstance(token, str):
            raise NotSigned("the issuer gave no ID token")
        return token

    def subject(self, token: str, nonce: str | None) -> str:
        """Return whom an ID token is about, or refuse it; see ``statement``."""
        return self.statement(token, nonce).subject

    def statement(self, token: str, nonce: str | None) -> Statement:
        """Return what an ID token states, or refuse it.

        Args:
            token: as the issuer gave it.
            nonce: what it must have; None for one that a program shows, which must be young instead, and have none: a
                token with a nonce belongs to the sign-in of a browser.

        """
        claims = self._claims(token)
        now, audience = self._clock(), claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        begun, ends, made = (_moment(claims.get(name)) for name in ("nbf", "exp", "iat"))
        told = claims.get("nonce")
        is_good = (
            claims.get("iss") == self.address
            and self.client in audiences
            and (len(audiences) == 1 or claims.get("azp") == self.client)
            and claims.get("azp", self.client) == self.client
            and ends is not None
            and now < ends + SKEW
            and made is not None
            and made < now + SKEW
            and ("nbf" not in claims or (begun is not None and begun < now + SKEW))
        )
        if nonce is None:
            is_good = is_good and made is not None and now - made < OLDEST and "nonce" not in claims
        else:
            is_good = is_good and isinstance(told, str) and hmac.compare_digest(told.encode(), nonce.encode())
        subject = claims.get("sub")
        if not is_good or not isinstance(subject, str) or not 1 <= len(subject) <= 200 or "\0" in subject:
            raise NotSigned("the ID token is not for this service, this sign-in, or this moment")
        # Of the claims and not of the bytes: a signature, and how it is written, can be altered and still hold.
        text = json.dumps(claims, sort_keys=True)
        return Statement(subject, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())

    def _claims(self, token: str) -> dict[str, Any]:
        from joserfc import jwt
        from joserfc.errors import JoseError

        for is_last in (False, True):
            try:
                return dict(jwt.decode(token, self._key_set(again=is_last), algorithms=list(ALGORITHMS)).claims)
            except (JoseError, ValueError, TypeError, KeyError, AttributeError, UnicodeError):
                # The issuer may have new keys.
                continue
        raise NotSigned("the ID token is not signed by the issuer")

    def _key_set(self, *, again: bool) -> Any:
        from joserfc.jwk import KeySet

        with self._guard:
            now = time.monotonic()
            longest = _AGAIN_SECONDS if again else _KEPT_SECONDS
            if self._keys is None or now - self._keys[0] > longest:
                found = self._fetch(self.endpoint("jwks_uri"), None)
                self._keys = (now, KeySet.import_key_set(found))
            return self._keys[1]

    def _metadata(self) -> dict[str, Any]:
        now = time.monotonic()
        if self._published is None or now - self._published[0] > _KEPT_SECONDS:
            found = self._fetch(f"{self.address}/.well-known/openid-configuration", None)
            if not isinstance(found, dict) or found.get("issuer") != self.address:
                raise NotSigned("the issuer calls itself otherwise")
            self._published = (now, found)
        return self._published[1]


class _Straight(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow nobody anywhere."""


def fetched(address: str, form: Mapping[str, str] | None) -> Any:
    """Return what is at an address, as plain data; what is refused there is returned, too, where it is in JSON.

    Args:
        address: that begins with https, or is on this machine.
        form: what is sent; None where something is only read.

    """
    if not is_safe_address(address):
        raise NotSigned("an address that others could read")
    data = None if form is None else urlencode(form).encode()
    asked = urllib.request.Request(address, data, {"Accept": "application/json"})  # noqa: S310 - checked above
    try:
        with urllib.request.build_opener(_Straight).open(asked, timeout=_SECONDS) as reply:
            return json.loads(reply.read(_LARGEST))
    except urllib.error.HTTPError as problem:
        with problem:
            try:
                return json.loads(problem.read(_LARGEST))
            except (OSError, ValueError):
                raise NotSigned(f"the issuer answered {problem.code}") from None
    except (OSError, ValueError):
        raise NotSigned("the issuer does not answer") from None


def _moment(value: Any) -> float | None:
    is_moment = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**40
    return float(value) if is_moment else None
