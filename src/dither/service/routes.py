"""The one table of routes: what can be reached over HTTP, by whom, and what is told.

The router, the OpenAPI text, the check of who may reach what and the client are made of it. A route that is not here
cannot be reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from dither.curator.delivering import QUOTED, VERBS
from dither.curator.people import Role, Scope

EVERY_ROLE: Final = frozenset(Role)
ASKING: Final = frozenset({Role.ANALYST, Role.CURATOR})
READING: Final = frozenset({Role.AUDITOR, Role.CURATOR})
DECIDING: Final = frozenset({Role.CURATOR})

_TEXT: Final = {"type": "string"}
_LOSS: Final = {
    "type": "object",
    "description": 'What may be lost, in exact figures: {"kind": "pure", "epsilon": "1/10"}.',
    "properties": {"kind": _TEXT, "epsilon": _TEXT, "delta": _TEXT, "rho": _TEXT},
    "required": ["kind"],
}
_WORDS: Final = {
    "type": "object",
    "description": "The arguments of the verb, by name: see the guide to the service for how figures are written.",
}
_VERB: Final = {"type": "string", "enum": list(VERBS)}
_QUOTED: Final = {"type": "string", "enum": list(QUOTED)}
_RELEASE: Final = {
    "type": "object",
    "properties": {"verb": _VERB, "words": _WORDS},
    "required": ["verb", "words"],
    "additionalProperties": False,
}
_QUOTE: Final = {
    "type": "object",
    "properties": {"verb": _QUOTED, "words": _WORDS, "losses": {"type": "array", "items": _LOSS, "maxItems": 64}},
    "required": ["verb", "words"],
    "additionalProperties": False,
}
_LOGIN: Final = {
    "type": "object",
    "properties": {"id_token": _TEXT},
    "required": ["id_token"],
    "additionalProperties": False,
}
_ROOM: Final = {
    "type": "object",
    "properties": {"loss": _LOSS, "counted": {"type": "boolean"}},
    "required": ["loss"],
    "additionalProperties": False,
}


def _object(required: tuple[str, ...], **fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these fields, some of which must be there, and no others."""
    plain = {"type": "object", "properties": dict(fields), "additionalProperties": False}
    return {**plain, "required": list(required)} if required else plain


_NUMBER: Final = {"type": "integer"}
_OR_NULL: Final = {"anyOf": [_LOSS, {"type": "null"}]}
_ALLOWANCE: Final = _object(("each", "days"), each=_TEXT, days=_NUMBER)
_APPROVAL: Final = _object((), above=_OR_NULL, approvers=_NUMBER)
_GRANT: Final = _object(
    ("person", "quota"),
    person=_TEXT,
    quota=_LOSS,
    most=_OR_NULL,
    usual=_OR_NULL,
    allowance=_ALLOWANCE,
    approval=_APPROVAL,
)
_OPEN: Final = _object(("name", "words"), name=_TEXT, words=_WORDS)
_QUESTIONS: Final = _object(
    ("questions",), questions={"type": "array", "items": _TEXT, "maxItems": 1000}, confidence=_TEXT
)
_PART: Final = _object(("words",), words=_WORDS)
_ERROR: Final = _object(("words",), words=_WORDS)
_TICKS: Final = _object((), until={"anyOf": [_NUMBER, {"type": "null"}]}, after=_NUMBER)
_STAGES: Final = ["open", "paused", "closed", "retired"]
_STAGE: Final = _object(("stage",), stage={"type": "string", "enum": _STAGES}, reason=_TEXT)
_ADD: Final = _object(
    ("schema",),
    schema={"type": "object", "description": "What a schema file says; sources are paths below the roots, or tables."},
    budget=_LOSS,
    draft={"type": "boolean"},
)
_BUDGET: Final = _object(("budget", "reason"), budget=_LOSS, reason=_TEXT)
_DECISION: Final = _object(("decision",), decision={"type": "string", "enum": ["approve", "decline"]}, because=_TEXT)
_PUBLISH: Final = _object(("release",), release={"type": ["integer", "string"]}, title=_TEXT)


@dataclass(frozen=True)
class Route:
    """One thing that can be asked over HTTP.

    Args:
        name: what it is called in code.
        method: as HTTP has it.
        path: with names in braces.
        summary: one line for people.
        roles: who may reach it; None for everybody, with a token or without.
        scope: what a token must be good for.
        body: what the body must be, as JSON Schema; None where there is none.
        is_new: whether a release may be made, so that the time of its answer is held back.
        takes_key: whether a caller may give the request a name, under which it is answered once.

    """

    name: str
    method: str
    path: str
    summary: str
    roles: frozenset[Role] | None = None
    scope: Scope | None = None
    body: Mapping[str, Any] | None = None
    is_new: bool = False
    takes_key: bool = False


_SET: Final = "/v1/datasets/{dataset}"
ROUTES: Final = (
    Route("health", "GET", "/healthz", "Whether the process answers; needs nothing."),
    Route("ready", "GET", "/readyz", "Whether requests are taken: the ledger can be read, and nobody is stopping it."),
    Route("openapi", "GET", "/v1/openapi.json", "This table as OpenAPI 3.1."),
    Route("me", "GET", "/v1/me", "Who you are, and what you may ask.", EVERY_ROLE, Scope.READ),
    Route("datasets", "GET", "/v1/datasets", "The data sets that you may see.", EVERY_ROLE, Scope.READ),
    Route("add", "POST", "/v1/datasets", "Add a data set, or other rows of one.", DECIDING, Scope.DECIDE, _ADD),
    Route("dataset", "GET", _SET, "What is declared about a data set; never where its rows are.", ASKING, Scope.READ),
    Route("card", "GET", f"{_SET}/card", "Its release card.", ASKING, Scope.READ),
    Route("balance", "GET", f"{_SET}/balance", "What you have spent and may still spend.", ASKING, Scope.READ),
    Route("room", "POST", f"{_SET}/room", "Whether a loss would fit, and how often.", ASKING, Scope.READ, _ROOM),
    Route("quote", "POST", f"{_SET}/quotes", "What a release would cost, and its error.", ASKING, Scope.READ, _QUOTE),
    Route(
        *("loss_for_error", "POST", f"{_SET}/losses", "The least loss at which a column of a query errs by so much."),
        *(ASKING, Scope.READ, _ERROR),
    ),
    Route(
        *("release", "POST", f"{_SET}/releases", "Release an answer, charged to your quota; the same again is free."),
        *(ASKING, Scope.ASK, _RELEASE),
        is_new=True,
        takes_key=True,
    ),
    Route("releases", "GET", f"{_SET}/releases", "What you were answered; a page of it.", ASKING, Scope.READ),
    Route("job", "GET", f"{_SET}/jobs/{{job}}", "How far a release has come that you wait for.", ASKING, Scope.READ),
    Route("cancel", "DELETE", f"{_SET}/jobs/{{job}}", "Cancel it, as long as it is not debited.", ASKING, Scope.ASK),
    Route("answer", "GET", f"{_SET}/releases/{{entry}}", "A stored answer again.", ASKING, Scope.READ),
    Route("receipt", "GET", f"{_SET}/releases/{{entry}}/receipt", "Its receipt.", ASKING, Scope.READ),
    Route("conversations", "GET", f"{_SET}/conversations", "Your conversations with it.", ASKING, Scope.READ),
    Route(
        *("open_conversation", "POST", f"{_SET}/conversations", "Pay for a conversation, or find it open."),
        *(ASKING, Scope.ASK, _OPEN),
    ),
    Route("conversation", "GET", f"{_SET}/conversations/{{name}}", "One, with its answers.", ASKING, Scope.READ),
    Route(
        *("converse", "POST", f"{_SET}/conversations/{{name}}/questions", "Ask it, at no further cost."),
        *(ASKING, Scope.ASK, _QUESTIONS),
    ),
    Route("partitions", "GET", f"{_SET}/parts", "Your accounts of its parts.", ASKING, Scope.READ),
    Route(
        *("open_parts", "POST", f"{_SET}/parts", "Pay for questions about its parts, or find them paid for."),
        *(ASKING, Scope.ASK, _OPEN),
    ),
    Route("parts", "GET", f"{_SET}/parts/{{name}}", "One, with what is left of each part.", ASKING, Scope.READ),
    Route(
        *("ask_part", "POST", f"{_SET}/parts/{{name}}/questions", "Ask about one part, at no further cost."),
        *(ASKING, Scope.ASK, _PART),
        takes_key=True,
    ),
    Route("streams", "GET", f"{_SET}/streams", "Your streams of it.", ASKING, Scope.READ),
    Route(
        *("open_stream", "POST", f"{_SET}/streams", "Pay for a query on a stream, or find it open."),
        *(ASKING, Scope.ASK, _OPEN),
    ),
    Route("stream", "GET", f"{_SET}/streams/{{name}}", "One, with what it has released.", ASKING, Scope.READ),
    Route(
        *("release_ticks", "POST", f"{_SET}/streams/{{name}}/ticks", "Release the ticks that have ended."),
        *(ASKING, Scope.ASK, _TICKS),
    ),
    Route("end_stream", "DELETE", f"{_SET}/streams/{{name}}", "Release nothing more of it.", ASKING, Scope.ASK),
    Route("grants", "GET", f"{_SET}/grants", "Who is granted what of it.", DECIDING, Scope.READ),
    Route("grant", "POST", f"{_SET}/grants", "Let a person ask, on terms.", DECIDING, Scope.DECIDE, _GRANT),
    Route("end_grant", "DELETE", f"{_SET}/grants/{{person}}", "Let them ask no more.", DECIDING, Scope.DECIDE),
    Route("stage", "POST", f"{_SET}/stage", "Open, pause, close or retire it.", DECIDING, Scope.DECIDE, _STAGE),
    Route("budget", "POST", f"{_SET}/budget", "Raise its budget, with a reason.", DECIDING, Scope.DECIDE, _BUDGET),
    Route("publish", "POST", f"{_SET}/published", "Let everybody see an answer.", DECIDING, Scope.DECIDE, _PUBLISH),
    Route("withdraw", "DELETE", f"{_SET}/published/{{entry}}", "Show it no more.", DECIDING, Scope.DECIDE),
    Route("questions", "GET", "/v1/approvals", "The releases that need an approval.", READING, Scope.READ),
    Route(
        *("answer_question", "POST", "/v1/approvals/{question}", "Agree to a release, or do not; never to one's own."),
        *(DECIDING, Scope.DECIDE, _DECISION),
    ),
    Route("published", "GET", "/v1/published", "What everybody may see; a page of it."),
    Route("published_answer", "GET", "/v1/published/{entry}", "A published answer."),
    Route("published_receipt", "GET", "/v1/published/{entry}/receipt", "Its receipt."),
    Route("balances", "GET", "/v1/ledger/balances", "What every data set has spent.", READING, Scope.READ),
    Route("entries", "GET", "/v1/ledger/entries", "The chain of the ledger; a page of it.", READING, Scope.READ),
    Route("verification", "GET", "/v1/ledger/verification", "Whether the books are true.", READING, Scope.READ),
    Route("key", "GET", "/v1/key", "The key with which receipts are checked."),
    Route("keys", "GET", "/v1/keys", "The notes by which earlier keys hand over to the present one."),
    Route("checkpoint", "GET", "/v1/checkpoint", "The signed head of the ledger."),
    Route("consistency", "GET", "/v1/consistency", "That the ledger of 'size' begins with that of 'earlier' entries."),
    Route("sign_in", "GET", "/sign-in/{code}", "The link that is shown when the service starts; works once."),
    Route("sign_in_elsewhere", "GET", "/sign-in", "Sign in with a browser, at the issuer of OpenID Connect."),
    Route("signed_in", "GET", "/signed-in", "Where the issuer sends a browser back to."),
    Route("issuer_told", "GET", "/v1/login", "Where programs sign in: the issuer, its endpoints and our name there."),
    Route("login", "POST", "/v1/login", "A token for an ID token of the issuer.", body=_LOGIN),
)
BY_NAME: Final[Mapping[str, Route]] = MappingProxyType({route.name: route for route in ROUTES})


def openapi(version: str) -> dict[str, Any]:
    """Return the table as OpenAPI 3.1.

    Args:
        version: of the package.

    """
    paths: dict[str, dict[str, Any]] = {}
    problem = {"description": "A problem.", "content": {"application/problem+json": {"schema": {"type": "object"}}}}
    for route in ROUTES:
        names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
        operation: dict[str, Any] = {
            "operationId": route.name,
            "summary": route.summary,
            "parameters": [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in names],
            "responses": {"200": {"description": "Done."}, "default": problem},
            "security": [] if route.roles is None else [{"token": []}],
        }
        if route.body is not None:
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": route.body}}}
        named = {"Idempotency-Key": route.takes_key, "Prefer": route.is_new}
        headers = [name for name, is_taken in named.items() if is_taken]
        operation["parameters"] += [
            {"name": name, "in": "header", "required": False, "schema": _TEXT} for name in headers
        ]
        if route.is_new:
            operation["responses"]["202"] = {"description": "Begun, or waiting for an approval; see Location."}
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    security = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": version, "description": "Private answers, priced before they look."},
        "paths": paths,
        "components": {"securitySchemes": security},
    }
