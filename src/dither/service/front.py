"""What a person finds who opens the address of a service in a browser: a page to begin at, and the table of routes.

Both pages are made of public constants: they name no data set, run no script and load nothing.
"""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

import dither
from dither.curator.people import Bearer
from dither.pages.markup import Markup, joined, tag
from dither.pages.page import bullets, code, details, link, listing, note, page, paragraph, section, table
from dither.service.openapi import openapi
from dither.service.problems import status_of
from dither.service.routes import BY_NAME, ROUTES, Route
from dither.service.shapes import shape
from dither.service.shell_lines import asking_line, listing_line

if TYPE_CHECKING:
    from dither.service.oidc import Issuer
    from dither.service.settings import Settings

_HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_QUERY: Final = "SELECT COUNT(*) AS n FROM visits"


@functools.cache
def openapi_text() -> bytes:
    """Return the table of routes as OpenAPI."""
    return json.dumps(openapi(dither.__version__)).encode()


class Front:
    """The pages at the root of the service; a part of it."""

    settings: Settings
    _issuer: Issuer | None

    async def _home(self, request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        return HTMLResponse(home_page(self._address_of(request), has_issuer=self._issuer is not None))

    async def _docs(self, _request: Request, _bearer: Bearer | None, _body: Any) -> Response:
        return HTMLResponse(docs_page())

    def _address_of(self, request: Request) -> str:
        """Return where a browser has found the service: as it is set, or as the browser says if that is an address."""
        host = request.headers.get("host", "")
        if self.settings.address or not _HOST.fullmatch(host):
            return self.settings.address or f"http://{self.settings.host}:{self.settings.port}"
        return f"{request.url.scheme}://{host}"


def home_page(address: str, *, has_issuer: bool) -> str:
    """Return the page at the root.

    Args:
        address: of the service.
        has_issuer: whether people sign in at an issuer of OpenID Connect.

    """
    shell = [
        "export DITHER_TOKEN=...",
        listing_line(address),
        asking_line(address, "visits", _QUERY),
    ]
    python = [
        "import dither",
        f'session = dither.connect("{address}").session("visits")    # reads DITHER_TOKEN',
        f'print(session.quote("{_QUERY}", epsilon=0.1))    # the price; free',
        f'print(session.sql("{_QUERY}", epsilon=0.1))',
    ]
    return page(
        "dither",
        paragraph(
            "This server answers queries about private tables with differential privacy. Each answer has an error bar. "
            "Each price is shown before the query runs, and each charge is recorded in a signed ledger."
        ),
        section(
            "Where to go",
            bullets(
                [
                    joined((_to(BY_NAME["published"].path, "Published answers"), ": open to everyone, with receipts.")),
                    joined((_to(BY_NAME["docs"].path, "API documentation"), ": every route, for people.")),
                    joined((_to(BY_NAME["root_openapi"].path, "OpenAPI 3.1"), ": every route, for programs.")),
                    joined(
                        (
                            _to(BY_NAME["key"].path, "Public key"),
                            " and ",
                            _to(BY_NAME["checkpoint"].path, "signed head of the ledger"),
                            ": to verify receipts.",
                        )
                    ),
                ]
            ),
        ),
        section("Sign in", *_signing_in(address, has_issuer=has_issuer)),
        section("Ask from a shell", listing("\n".join(shell)), _replace()),
        section("Ask from Python", listing("\n".join(python)), _replace()),
        note(f"dither {dither.__version__}"),
    )


def _replace() -> Markup:
    return note(
        "Replace visits with the name of a data set that you may query. The last line is charged to your quota."
    )


def _signing_in(address: str, *, has_issuer: bool) -> list[Markup]:
    by_hand = paragraph(
        "Every query needs a token. The curator of the data creates one with ",
        code("dither token new NAME"),
        "; set the environment variable ",
        code("DITHER_TOKEN"),
        " to it.",
    )
    if not has_issuer:
        return [by_hand]
    path = BY_NAME["sign_in_elsewhere"].path
    browser = paragraph(_to(path, "Sign in with this browser"), ", or from a shell:")
    return [browser, listing(f"dither login {address}"), by_hand]


@functools.cache
def docs_page() -> str:
    """Return the table of routes as a page."""
    rows = [
        (joined((code(route.method), " ", link(code(route.path), route.name))), _who(route), route.summary)
        for route in ROUTES
    ]
    return page(
        "dither API",
        paragraph(
            "Send a token in the header ",
            code("Authorization: Bearer TOKEN"),
            ". Requests and answers are JSON unless a route lists other types. Errors are ",
            code("application/problem+json"),
            ". The same table for programs: ",
            _to(BY_NAME["root_openapi"].path, "openapi.json"),
            ".",
        ),
        section("Routes", table(("route", "who", "what"), rows)),
        section("Details", *(_detail(route) for route in ROUTES)),
    )


def _who(route: Route) -> str:
    if route.roles is None:
        return "everyone"
    scope = "" if route.scope is None else f"; token scope: {route.scope.value}"
    return ", ".join(sorted(role.value for role in route.roles)) + scope


def _detail(route: Route) -> Markup:
    parameters = [
        (code(name), place, code(schema["pattern"]) if "pattern" in schema else shape(schema), schema["description"])
        for place, schemas in (("path", route.in_path), ("query", route.query))
        for name, schema in schemas.items()
    ]
    answer = " or ".join(route.answer) or "a redirect" if isinstance(route.answer, tuple) else shape(route.answer)
    problems: dict[int, list[str]] = {}
    for name in route.problems:
        problems.setdefault(status_of(name), []).append(name)
    parts: list[object] = [paragraph(route.summary), paragraph("Who: ", _who(route), ".")]
    parts += [table(("parameter", "in", "form", "meaning"), parameters)] if parameters else []
    if route.body is not None:
        parts += [paragraph(f"Body, at most {route.largest:,} bytes:"), listing(json.dumps(route.body, indent=1))]
    parts += [
        paragraph(f"Answer, status {route.status}: ", code(answer)),
        paragraph("Errors: ", "; ".join(f"{status} {', '.join(names)}" for status, names in sorted(problems.items()))),
    ]
    return details(joined((code(route.method), " ", code(route.path))), *parts, anchor=route.name)


def _to(path: str, words: str) -> Markup:
    """Return a link to a path of this service."""
    return tag("a", words, href=path)
