"""The one table of routes: what can be reached over HTTP, by whom, what is told, and what is refused.

The router, the OpenAPI text, the check of who may reach what, the client and docs/api.md are made of it. A route that
is not here cannot be reached, and a parameter of an address that is not here is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final

from dither.curator.people import Role, Scope
from dither.service import records
from dither.service.forms import FORMS
from dither.service.long_lived_kinds import SERVED, Served, Step
from dither.service.records import Schema

EVERY_ROLE: Final = frozenset(Role)
ASKING: Final = frozenset({Role.ANALYST, Role.CURATOR})
READING: Final = frozenset({Role.AUDITOR, Role.CURATOR})
DECIDING: Final = frozenset({Role.CURATOR})

#: The largest body of a request, in bytes, where a route has none of its own.
LARGEST_BODY: Final = 2**20
_LARGEST_LOGIN: Final = 2**16


class Rate(Enum):
    """Whose requests are counted, so that nobody asks too often."""

    PERSON = "each person"
    ADDRESS = "each address"
    STRANGER = "each address, as one that shows wrong tokens"
    NOBODY = "nobody"


# What is refused, by the names of problems. What all routes of a kind may say:
ANYWHERE: Final = (
    *("InvalidParameter", "MalformedRequest", "MethodNotAllowed", "HeadersTooLarge", "EngineFailure"),
    *("LedgerUnavailable", "LedgerCorrupted", "LedgerBehindAnchor"),
)
PROTECTED: Final = ("NotAuthenticated", "NotAllowed", "Stopping")
OF_A_SET: Final = ("EngineUnavailable", "DataSetRetired")
WITH_BODY: Final = ("TooLarge", "UnsupportedEncoding")
# What some say, as their own:
_PLANNED: Final = (
    *("LossNotStated", "InvalidValue", "IncompatibleDistance", "NotSerialisable", "UnknownMechanism"),
    *("Unanswerable", "NoGuarantee", "MissingExtra"),
)
_DEBITED: Final = (
    *("BudgetExceeded", "QuotaExceeded", "AllowanceExceeded", "KeyReused", "DataSetNotOpen"),
    *("ApprovalDeclined", "RequestCancelled", "RequestUnderWay", "RequestSealed", "ReleaseFailed"),
)
_OPENED: Final = (*_PLANNED, *_DEBITED, "ApprovalPending", "StreamUnavailable")
_GOING_ON: Final = ("StreamUnavailable", "ReleaseFailed", "Unanswerable", "NoGuarantee")
_SIGNING_IN: Final = ("NotFound", "NotAuthenticated")
_IN_FORMS: Final = ("NotAcceptable",)

#: Stored answers are JSON but for those that are bytes of their own; rows have other forms, too.
_STORED: Final = (*(form.kind for form in FORMS), "application/octet-stream")
_PLAIN: Final = ("text/plain",)
_PAGE: Final = ("text/html",)


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
        answer: what is told, as JSON Schema; or the media types of what is no JSON of our own.
        query: the parameters of its address, as JSON Schema each.
        names: the names in its path, as JSON Schema each, where they are not those of ``records.PATH``.
        needed: those of them that must be there.
        errors: the names of problems that it tells beside those that all routes of its kind do.
        largest: how many bytes a body may have.
        rate: whose requests are counted; None for those of the person, or of the address where nobody is known.
        status: as HTTP has it, where all is well.
        is_new: whether a release may be made, so that the time of its answer is held back.
        takes_key: whether a caller may give the request a name, under which it is answered once.
        is_tagged: whether the answer has a tag, and whoever has it already is told so.
        is_open: whether other parameters are passed over: an issuer adds what it likes.

    """

    name: str
    method: str
    path: str
    summary: str
    roles: frozenset[Role] | None = None
    scope: Scope | None = None
    body: Schema | None = None
    _: KW_ONLY
    answer: Schema | tuple[str, ...]
    query: Mapping[str, Schema] = field(default_factory=dict)
    names: Mapping[str, Schema] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    largest: int = LARGEST_BODY
    rate: Rate | None = None
    status: int = 200
    is_new: bool = False
    takes_key: bool = False
    is_tagged: bool = False
    is_open: bool = False

    @property
    def in_path(self) -> dict[str, Schema]:
        """The names in its path, as JSON Schema each."""
        found = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        return {name: self.names.get(name, records.PATH[name]) for name in found}

    @property
    def counted(self) -> Rate:
        """Whose requests are counted."""
        return self.rate or (Rate.ADDRESS if self.roles is None else Rate.PERSON)

    @property
    def problems(self) -> tuple[str, ...]:
        """The names of all problems that it tells."""
        kinds = {
            ANYWHERE: True,
            ("TooManyRequests",): self.counted is not Rate.NOBODY,
            PROTECTED: self.roles is not None,
            ("NotFound",): "{" in self.path,
            OF_A_SET: "{dataset}" in self.path,
            WITH_BODY: self.body is not None,
            ("OtherSite",): self.method != "GET",
        }
        found = [name for names, is_said in kinds.items() if is_said for name in names]
        return tuple(dict.fromkeys((*found, *self.errors)))


_SET: Final = "/v1/datasets/{dataset}"
_READ: Final = (ASKING, Scope.READ)
_ASK: Final = (ASKING, Scope.ASK)
_DECIDE: Final = (DECIDING, Scope.DECIDE)


def routes_of(served: Served) -> tuple[Route, ...]:
    """Return the routes of what lives longer than a call: those that list, open and look at one, and its steps.

    Args:
        served: the kind.

    """
    several, (listing, opening, looking) = f"{_SET}/{served.plural}", served.summaries
    place, looked = f"{several}/{{name}}", served.looked or served.told
    names = records.names_of(served.plural)
    return (
        Route(served.lists, "GET", several, listing, *_READ, answer=names, query=records.AFTER_NAME),
        Route(served.opens, "POST", several, opening, *_ASK, records.OPEN, answer=served.told, errors=_OPENED),
        Route(served.verb, "GET", place, looking, *_READ, answer=looked, query=served.query, errors=_GOING_ON),
        *(_route_of(step, place) for step in served.steps),
    )


def _route_of(step: Step, place: str) -> Route:
    path, is_stored = f"{place}/{step.path}" if step.path else place, step.answer is None
    return Route(
        *(step.name, step.method, path, step.summary, *_ASK, step.body),
        answer=_STORED if step.answer is None else step.answer,
        errors=(*_OPENED, *_IN_FORMS) if is_stored else _GOING_ON,
        takes_key=is_stored,
    )


ROUTES: Final = (
    # The process.
    Route(
        *("health", "GET", "/healthz", "Whether the process answers; needs nothing."),
        answer=records.ALIVE,
        rate=Rate.NOBODY,
    ),
    Route(
        *(
            "ready",
            "GET",
            "/readyz",
            "Whether requests are accepted: the ledger can be read, and the service is not stopping.",
        ),
        answer=records.READY,
        errors=("NotReady",),
    ),
    Route(
        *("openapi", "GET", "/v1/openapi.json", "This table as OpenAPI 3.1."), answer=records.OPENAPI, is_tagged=True
    ),
    # What a browser finds.
    Route(*("home", "GET", "/", "What this is, where to go and how to sign in."), answer=_PAGE, is_tagged=True),
    Route(*("docs", "GET", "/docs", "This table as a page."), answer=_PAGE, is_tagged=True),
    Route(
        *("root_openapi", "GET", "/openapi.json", "The same as /v1/openapi.json."),
        answer=records.OPENAPI,
        is_tagged=True,
    ),
    # Data sets.
    Route(*("me", "GET", "/v1/me", "Who you are, and what you may ask.", EVERY_ROLE, Scope.READ), answer=records.ME),
    Route(
        *("datasets", "GET", "/v1/datasets", "The data sets that you may see; a page of them."),
        *(EVERY_ROLE, Scope.READ),
        answer=records.DATASETS,
        query=records.AFTER_NAME,
    ),
    Route(
        *("add", "POST", "/v1/datasets", "Add a data set, or other rows of one.", *_DECIDE, records.ADD),
        answer=records.ADDED,
        errors=("InvalidSchema", "NotFound", "MissingExtra", *OF_A_SET),
    ),
    Route(
        *("dataset", "GET", _SET, "What is declared about a data set; never where its rows are.", *_READ),
        answer=records.DECLARED,
    ),
    Route("card", "GET", f"{_SET}/card", "Its release card.", *_READ, answer=records.OBJECT),
    Route(
        *("balance", "GET", f"{_SET}/balance", "What you have spent and may still spend.", *_READ),
        answer=records.BALANCE,
    ),
    Route(
        *("room", "POST", f"{_SET}/room", "Whether a loss would fit, and how often.", *_READ, records.ROOM),
        answer=records.FITS,
        errors=("IncompatibleDistance",),
    ),
    Route(
        *("quote", "POST", f"{_SET}/quotes", "What a release would cost, and its error.", *_READ, records.QUOTE),
        answer=records.QUOTED_AT,
        errors=_PLANNED,
    ),
    # Releases.
    Route(
        *(
            "loss_for_error",
            "POST",
            f"{_SET}/losses",
            "The least loss at which a column of a query has at most a given error.",
        ),
        *(*_READ, records.ERROR),
        answer=records.LEAST,
        errors=_PLANNED,
    ),
    Route(
        *("release", "POST", f"{_SET}/releases", "Release an answer, charged to your quota; the same again is free."),
        *(*_ASK, records.RELEASE),
        answer=_STORED,
        errors=(*_PLANNED, *_DEBITED, *_IN_FORMS),
        is_new=True,
        takes_key=True,
    ),
    Route(
        *("releases", "GET", f"{_SET}/releases", "What you were answered; a page of it.", *_READ),
        answer=records.RELEASES,
        query=records.AFTER_ENTRY,
    ),
    Route(
        *("job", "GET", f"{_SET}/jobs/{{job}}", "The progress of a release that you wait for.", *_READ),
        answer=records.JOB,
    ),
    Route(
        *("cancel", "DELETE", f"{_SET}/jobs/{{job}}", "Cancel it, as long as it is not debited.", *_ASK),
        answer=records.JOB,
        errors=("NotCancelled",),
    ),
    Route(
        *("answer", "GET", f"{_SET}/releases/{{entry}}", "A stored answer again.", *_READ),
        answer=_STORED,
        errors=_IN_FORMS,
        is_tagged=True,
    ),
    Route(
        *("receipt", "GET", f"{_SET}/releases/{{entry}}/receipt", "Its receipt.", *_READ),
        answer=records.RECEIPT,
        is_tagged=True,
    ),
    # What goes on after it was paid for.
    *(route for served in SERVED.values() for route in routes_of(served)),
    # Decisions.
    Route(
        *("grants", "GET", f"{_SET}/grants", "Who is granted what of it; a page of them.", DECIDING, Scope.READ),
        answer=records.GRANTS,
        query=records.AFTER_NAME,
    ),
    Route(
        *("grant", "POST", f"{_SET}/grants", "Let a person ask, on terms.", *_DECIDE, records.GRANT),
        answer=records.GRANTED,
        errors=("BudgetExceeded", "IncompatibleDistance"),
    ),
    Route(
        *("end_grant", "DELETE", f"{_SET}/grants/{{person}}", "Let them ask no more.", *_DECIDE),
        answer=records.GRANT_ENDED,
    ),
    Route(
        *("stage", "POST", f"{_SET}/stage", "Open, pause, close or retire it.", *_DECIDE, records.STAGE),
        answer=records.STAGED,
    ),
    Route(
        *("budget", "POST", f"{_SET}/budget", "Raise its budget, with a reason.", *_DECIDE, records.BUDGET),
        answer=records.RAISED,
        errors=("IncompatibleDistance",),
    ),
    Route(
        *("publish", "POST", f"{_SET}/published", "Let everybody see an answer.", *_DECIDE, records.PUBLISH),
        answer=records.SHOWN,
    ),
    Route(
        *("withdraw", "DELETE", f"{_SET}/published/{{entry}}", "Show it no more.", *_DECIDE),
        answer=records.WITHDRAWN,
        query=records.BECAUSE,
    ),
    Route(
        *("questions", "GET", "/v1/approvals", "The releases that need an approval; a page of them."),
        *(READING, Scope.READ),
        answer=records.WAITING_QUESTIONS,
        query=records.AFTER_ENTRY,
    ),
    Route(
        *("answer_question", "POST", "/v1/approvals/{question}", "Agree to a release, or do not; never to one's own."),
        *(*_DECIDE, records.DECISION),
        answer=records.QUESTION,
    ),
    # What everybody may see.
    Route(
        *("published", "GET", "/v1/published", "What everybody may see; a page of it."),
        answer=records.PUBLISHED,
        query=records.AFTER_ENTRY,
    ),
    Route(
        *("published_answer", "GET", "/v1/published/{entry}", "A published answer."),
        answer=_STORED,
        names=records.PUBLISHED_ENTRY,
        errors=_IN_FORMS,
        is_tagged=True,
    ),
    Route(
        *("published_receipt", "GET", "/v1/published/{entry}/receipt", "Its receipt."),
        answer=records.RECEIPT,
        names=records.PUBLISHED_NUMBER,
        is_tagged=True,
    ),
    # The books, and what outsiders check.
    Route(
        *("balances", "GET", "/v1/ledger/balances", "What every data set has spent; a page of them."),
        *(READING, Scope.READ),
        answer=records.BALANCES,
        query=records.AFTER_NAME,
    ),
    Route(
        *("entries", "GET", "/v1/ledger/entries", "The chain of the ledger; a page of it.", READING, Scope.READ),
        answer=records.ENTRIES,
        query=records.AFTER_ENTRY,
        is_tagged=True,
    ),
    Route(
        *("verification", "GET", "/v1/ledger/verification", "Whether the books are true.", READING, Scope.READ),
        answer=records.VERIFICATION,
    ),
    Route(*("key", "GET", "/v1/key", "The key with which receipts are checked."), answer=_PLAIN, is_tagged=True),
    Route(
        *("keys", "GET", "/v1/keys", "The notes by which earlier keys hand over to the present one."),
        answer=records.KEYS,
        is_tagged=True,
    ),
    Route(*("checkpoint", "GET", "/v1/checkpoint", "The signed head of the ledger."), answer=_PLAIN),
    Route(
        *("consistency", "GET", "/v1/consistency", "That the ledger of 'size' begins with that of 'earlier' entries."),
        answer=records.CONSISTENCY,
        query=records.SIZES,
        needed=("earlier", "size"),
        is_tagged=True,
    ),
    # Signing in.
    Route(
        *("sign_in", "GET", "/sign-in/{code}", "The link that is shown when the service starts; works once."),
        answer=(*_PAGE, *_PLAIN),
        errors=("LinkUsed",),
    ),
    Route(
        *("sign_in_elsewhere", "GET", "/sign-in", "Sign in with a browser, at the issuer of OpenID Connect."),
        answer=(),
        errors=_SIGNING_IN,
        rate=Rate.STRANGER,
        status=302,
    ),
    Route(
        *("signed_in", "GET", "/signed-in", "Where the issuer sends a browser back to."),
        answer=_PAGE,
        query=records.SENT_BACK,
        errors=(*_SIGNING_IN, "NotAllowed"),
        rate=Rate.STRANGER,
        is_open=True,
    ),
    Route(
        *("issuer_told", "GET", "/v1/login", "Where programs sign in: the issuer, its endpoints and our name there."),
        answer=records.ISSUER,
        errors=_SIGNING_IN,
        rate=Rate.STRANGER,
    ),
    Route(
        *("login", "POST", "/v1/login", "A token for an ID token of the issuer."),
        body=records.LOGIN,
        answer=records.TOKEN,
        errors=(*_SIGNING_IN, "NotAllowed"),
        largest=_LARGEST_LOGIN,
        rate=Rate.STRANGER,
    ),
)
BY_NAME: Final[Mapping[str, Route]] = MappingProxyType({route.name: route for route in ROUTES})
#: All methods that any route has.
METHODS: Final = tuple(sorted({route.method for route in ROUTES}))


def path_to(route: str, /, **names: str) -> tuple[str, ...]:
    """Return the parts of a route's path, with names in place of those in braces.

    >>> path_to("answer", dataset="visits", entry="17.csv")
    ('v1', 'datasets', 'visits', 'releases', '17.csv')
    """
    parts = BY_NAME[route].path.split("/")[1:]
    return tuple(names[part[1:-1]] if part.startswith("{") else part for part in parts)


def methods_at(path: str) -> tuple[str, ...]:
    """Return the methods of the routes that a path may belong to, none where it belongs to no route.

    >>> methods_at("/v1/datasets"), methods_at("/v1/datasets/visits/jobs/7"), methods_at("/v2")
    (('GET', 'POST'), ('DELETE', 'GET'), ())
    """
    parts = path.split("/")

    def is_at(route: Route) -> bool:
        wanted = route.path.split("/")
        pairs = zip(wanted, parts, strict=False)
        return len(wanted) == len(parts) and all(one == part or (one[:1] == "{" and part) for one, part in pairs)

    return tuple(sorted({route.method for route in ROUTES if is_at(route)}))
