"""How people come to a token: by the link that works once, or at an issuer of OpenID Connect.

A browser keeps its token in a cookie that no script reads and no other site can have sent along; each sign-in makes a
new one. What a browser must remember while it is at the issuer is in a cookie of its own, signed, for ten minutes: that
one comes back from another site, and says nothing to anybody but us. Whoever waits for the issuer does so on threads
that serve nothing else.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response

from dither.curator.people import Bearer
from dither.errors import InvalidParameter
from dither.service.limits import line_of
from dither.service.oidc import Issuer, NotSigned
from dither.service.problems import NOT_ALLOWED, Problem, Refused
from dither.service.queue import FairPool
from dither.service.sign_in import Link, link_page
from dither.service.state_cookie import SECONDS, SignInState, read_state

if TYPE_CHECKING:
    from dither.service.desk import Desk
    from dither.service.settings import Settings

COOKIE: Final = "__Host-dither"
_GOING: Final = "__Host-dither-going"
_BROWSER_DAYS: Final = 1
_PROGRAM_DAYS: Final = 30
_NO_ISSUER: Final = Problem(404, "NotFound", "this service has no issuer at which people sign in: use a token")
_NOT_PROVED: Final = Problem(401, "NotAuthenticated", "the issuer's word was not given for this sign-in; begin again")
_SHOWN_BEFORE: Final = Problem(401, "NotAuthenticated", "this ID token was used before; sign in again to get another")
_USED: Final = Problem(410, "LinkUsed", "the link was used, or its ten minutes are over; start again")


def shown_token(request: Request) -> tuple[str, str]:
    """Return how a token is shown, in small letters, and the token: by a program, or by a browser that signed in."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if not scheme and COOKIE in request.cookies:
        return "bearer", request.cookies[COOKIE]
    return scheme.lower(), token.strip()


def is_for_program(accept: str) -> bool:
    """Whether a client asks for plain text and not for a page.

    >>> is_for_program("text/plain"), is_for_program("text/html, text/plain"), is_for_program("*/*")
    (True, False, False)
    """
    kinds = {one.partition(";")[0].strip().lower() for one in accept.split(",")}
    return "text/plain" in kinds and "text/html" not in kinds


class SigningIn:
    """The routes by which people come to a token; a part of the service."""

    desk: Desk
    settings: Settings
    _link: Link | None
    _issuer: Issuer | None
    _read: Callable[[str, Callable[[], Any]], Awaitable[Any]]
    _write: Callable[[str, Callable[[], Any]], Awaitable[Any]]
    _asking_issuer: FairPool

    async def _sign_in(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        link, code = self._link, str(request.path_params["code"])
        token = None if link is None else await self._write(line_of(request), lambda: link.token(code))
        if token is None:
            raise Refused(_USED)
        if is_for_program(request.headers.get("accept", "")):
            # To be read into a variable: export DITHER_TOKEN=$(curl -H "Accept: text/plain" ...).
            return PlainTextResponse(f"{token}\n")
        return _kept(HTMLResponse(link_page(token)), token)

    async def _sign_in_elsewhere(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        issuer = self._known_issuer()
        begun, key = SignInState.new(), await self._state_key(request)
        where = await self._asked_of_issuer(request, lambda: issuer.authorization(self._return, *begun))
        response = RedirectResponse(where, 302)
        response.set_cookie(
            # The issuer's site sends the browser back: a strict cookie would stay behind.
            *(_GOING, begun.signed(key, time.time()), SECONDS),
            path="/",
            secure=True,
            httponly=True,
            samesite="lax",
        )
        return response

    async def _signed_in(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        issuer = self._known_issuer()
        begun = read_state(request.cookies.get(_GOING, ""), await self._state_key(request), time.time())
        state, code = request.query_params.get("state", ""), request.query_params.get("code", "")
        if begun is None or not code or not hmac.compare_digest(begun.state.encode(), state.encode()):
            # The issuer is not contacted for what was not begun here.
            raise Refused(_NOT_PROVED)

        def work() -> str:
            return issuer.subject(issuer.exchanged(code, self._return, begun.verifier), begun.nonce)

        token = await self._token_of(request, issuer, await self._asked_of_issuer(request, work), _BROWSER_DAYS)
        response = _kept(HTMLResponse(link_page(token)), token)
        response.delete_cookie(_GOING, path="/", secure=True, httponly=True, samesite="lax")
        return response

    async def _issuer_told(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        issuer = self._known_issuer()

        def work() -> dict[str, str]:
            ends = {name: issuer.endpoint(f"{name}_endpoint") for name in ("device_authorization", "token")}
            return {"issuer": issuer.address, "client": issuer.client, "scope": "openid", **ends}

        return JSONResponse(await self._asked_of_issuer(request, work))

    async def _login(self, request: Request, _bearer: Bearer | None, body: Any) -> Response:
        issuer, shown = self._known_issuer(), body.get("id_token")
        if set(body) != {"id_token"} or not isinstance(shown, str):
            raise InvalidParameter("body", "something else", "an object of id_token, a string")
        subject, proof = await self._asked_of_issuer(request, lambda: issuer.statement(shown, None))
        return JSONResponse({"token": await self._token_of(request, issuer, subject, _PROGRAM_DAYS, proof)})

    @property
    def _return(self) -> str:
        return f"{self.settings.address}/signed-in"

    def _known_issuer(self) -> Issuer:
        if self._issuer is None:
            raise Refused(_NO_ISSUER)
        return self._issuer

    async def _asked_of_issuer(self, request: Request, work: Callable[[], Any]) -> Any:
        try:
            return await asyncio.wrap_future(self._asking_issuer.submit(line_of(request), work))
        except NotSigned:
            raise Refused(_NOT_PROVED) from None

    async def _state_key(self, request: Request) -> bytes:
        key: bytes = await self._read(line_of(request), lambda: self.desk.receipts.secret_for("sign-in"))
        return key

    async def _token_of(
        self, request: Request, issuer: Issuer, subject: str, days: int, proof: str | None = None
    ) -> str:
        people = self.desk.people
        person = await self._read(line_of(request), lambda: people.identified(issuer.address, subject))
        if person is None:
            told = f"no person is declared as {subject[:200]!r} of {issuer.address}; ask the curator"
            raise Refused(Problem(403, NOT_ALLOWED.kind, told))
        made: str | None = await self._write(
            line_of(request), lambda: people.new_token(person.name, days=days, proof=proof)
        )
        if made is None:
            raise Refused(_SHOWN_BEFORE)
        return made


def _kept(response: Response, token: str) -> Response:
    """Have a browser keep a token, for pages of this site alone."""
    response.set_cookie(
        *(COOKIE, token, _BROWSER_DAYS * 86_400), path="/", secure=True, httponly=True, samesite="strict"
    )
    return response
