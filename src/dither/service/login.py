"""Signing in from a terminal: a code is typed into a browser, on any machine, and this one gets a token.

The device flow of OAuth 2.0 (RFC 8628) between this program and the issuer; the service is then shown the ID token.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from dither.errors import DitherError
from dither.service.oidc import Fetch, fetched
from dither.service.routes import path_to
from dither.service.transport import Transport

_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_USUAL_INTERVAL: Final = 5.0
_LONGEST: Final = 1800.0


class LoginFailed(DitherError):
    """Nobody signed in."""


def log_in(
    url: str,
    tell: Callable[[str, str], None],
    *,
    fetch: Fetch = fetched,
    wait: Callable[[float], None] = time.sleep,
) -> str:
    """Sign in at a service's issuer, and return a token of the service.

    Args:
        url: of the service.
        tell: told where to go and what to type there.
        fetch: gets what is at an address of the issuer.
        wait: waits for seconds.

    """
    transport = Transport(url, None)
    known = transport.get(*path_to("issuer_told")).json()
    begun = _answer(fetch(known["device_authorization"], {"client_id": known["client"], "scope": known["scope"]}))
    tell(str(begun.get("verification_uri_complete") or begun["verification_uri"]), str(begun["user_code"]))
    interval, waited = float(begun.get("interval") or _USUAL_INTERVAL), 0.0
    longest = min(_LONGEST, float(begun.get("expires_in") or _LONGEST))
    form = {"grant_type": _GRANT, "device_code": str(begun["device_code"]), "client_id": str(known["client"])}
    while waited <= longest:
        wait(interval)
        waited += interval
        said = fetch(known["token"], form)
        problem = said.get("error") if isinstance(said, dict) else "nothing"
        if problem == "slow_down":
            interval += _USUAL_INTERVAL
        elif problem != "authorization_pending":
            shown = _answer(said).get("id_token")
            return str(transport.post(*path_to("login"), body={"id_token": shown}).json()["token"])
    raise LoginFailed("the sign-in code expired; sign in again")


def _answer(said: Any) -> dict[str, Any]:
    if not isinstance(said, dict) or "error" in said:
        why = str(said.get("error", "it says nothing"))[:80] if isinstance(said, dict) else "it says nothing"
        raise LoginFailed(f"the issuer refuses: {why}")
    return said
