"""Errors as HTTP tells them, and back: one type for each class of ``errors``, so that a client raises what was raised.

Before a debit an error says what it says here, and what it carries travels with it. After a debit one fixed text is
told, whatever happened: why a release failed may follow from private rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dither import errors
from dither.errors import DitherError
from dither.privacy import Loss

MEDIA_TYPE: Final = "application/problem+json"
_FIXED: Final = "the request failed; any charge stands. Retry with the same key to find out whether it was answered"
_CLOSED: Final = "the rows cannot be opened as declared; the curator can see why"
_BOOKS: Final = "the ledger cannot be read or written now; nothing more is charged"


class _Told(NamedTuple):
    """How an error and those derived from it are told."""

    kind: type[DitherError]
    status: int
    #: What is told in place of the error's own words, and of all that it carries; None for those words.
    said: str | None = None


#: The most special first. What is not here, or derived from what is, tells nobody outside anything: handles, plans and
#: random bits are the service's own, and what becomes of them may follow from rows.
_TOLD: Final = (
    _Told(errors.InvalidParameter, 400),
    _Told(errors.IncompatibleDistance, 400),
    _Told(errors.NotSerialisable, 400),
    _Told(errors.UnknownMechanism, 400),
    _Told(errors.NotFound, 404),
    _Told(errors.BudgetExceeded, 409),
    _Told(errors.AnalystUnknown, 409),
    _Told(errors.KeyReused, 409),
    _Told(errors.NotApproved, 409),
    _Told(errors.StreamUnavailable, 409),
    _Told(errors.DataSetNotOpen, 409),
    _Told(errors.RequestCancelled, 409),
    _Told(errors.RequestUnderWay, 409),
    _Told(errors.RequestSealed, 410),
    _Told(errors.DataSetRetired, 410),
    _Told(errors.Unanswerable, 422),
    _Told(errors.NoGuarantee, 422),
    # After the debit, and so in one text.
    _Told(errors.EngineFailure, 500, _FIXED),
    _Told(errors.MissingExtra, 501),
    _Told(errors.EngineUnavailable, 503, _CLOSED),
    _Told(errors.LedgerUnavailable, 503, _BOOKS),
    _Told(errors.LedgerCorrupted, 503, _BOOKS),
)
#: What errors carry beside their words, and those derived from them as well. What was offered to an InvalidParameter
#: stands in its words, and is whatever somebody gave.
_CARRIED: Final[Mapping[type[DitherError], tuple[str, ...]]] = MappingProxyType(
    {
        errors.InvalidParameter: ("parameter", "rule"),
        errors.LossNotStated: ("left", "most"),
        errors.IncompatibleDistance: ("parameter", "expected", "found"),
        errors.BudgetExceeded: ("requested", "spent", "budget"),
        errors.QuotaExceeded: ("analyst",),
        errors.AllowanceExceeded: ("more_from",),
        errors.ApprovalPending: ("dataset", "entry"),
        errors.ApprovalDeclined: ("dataset", "entry", "because"),
        errors.AnalystUnknown: ("analyst", "dataset"),
        errors.DataSetNotOpen: ("dataset", "stage"),
        errors.DataSetRetired: ("dataset",),
        errors.RequestCancelled: ("key",),
        errors.KeyReused: ("key",),
        errors.RequestSealed: ("key", "attempts"),
        errors.RequestUnderWay: ("key", "seconds"),
        errors.LedgerUnavailable: ("place", "reason"),
        errors.LedgerCorrupted: ("place", "reason"),
        errors.StreamUnavailable: ("stream", "reason"),
        errors.Unanswerable: ("reason", "instead"),
        errors.MissingExtra: ("extra",),
    }
)
#: Of those that no class stands for: they are about a request, and not about what it asks.
_OTHERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "MalformedRequest": 400,
        "NotAuthenticated": 401,
        "NotAllowed": 403,
        "OtherSite": 403,
        "MethodNotAllowed": 405,
        "NotAcceptable": 406,
        "NotCancelled": 409,
        "LinkUsed": 410,
        "TooLarge": 413,
        "UnsupportedEncoding": 415,
        "TooManyRequests": 429,
        "HeadersTooLarge": 431,
        "EngineFailure": 500,
        "Stopping": 503,
        "NotReady": 503,
    }
)


@dataclass(frozen=True)
class Problem:
    """What went wrong, for a client.

    Args:
        status: as HTTP has it.
        kind: the name of the error's class.
        detail: one text that names the field and the fix.
        fields: what else the error carries.

    """

    status: int
    kind: str
    detail: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as RFC 9457 has it."""
        said = {"type": f"/problems/{_dashed(self.kind)}", "title": self.kind, "status": self.status}
        return {**said, "detail": self.detail, **self.fields}


class Refused(Exception):
    """A request that is not carried out, and what its sender is told."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem.detail)
        self.problem, self.headers = problem, dict(headers or {})


#: The same bytes for a data set that is absent and for one that is not the caller's.
NOT_THERE: Final = Problem(404, "NotFound", "there is no data set of that name, or you have no access to it")
NOT_KNOWN: Final = Problem(
    401, "NotAuthenticated", "no token was sent (Authorization: Bearer ...), or one that is unknown, revoked or expired"
)
MALFORMED: Final = Problem(
    400,
    "MalformedRequest",
    "not a valid HTTP request: its length is stated once, by Content-Length or by Transfer-Encoding: chunked, and its "
    "headers are short; the connection is closed",
)
NO_METHOD: Final = Problem(
    405, "MethodNotAllowed", "this path does not support this method; the Allow header lists those it does"
)
NOT_ALLOWED: Final = Problem(403, "NotAllowed", "your role or your token's scope does not reach this")
ELSEWHERE: Final = Problem(403, "OtherSite", "sent by a page of another site; pages of this one and programs may ask")
FAILED: Final = Problem(500, "EngineFailure", _FIXED)
TOO_MANY: Final = Problem(429, "TooManyRequests", "too many simultaneous requests; retry in a second")
#: For the log alone: nobody is there to read it.
GONE: Final = Problem(499, "ClientGone", "the client went away; planning has ended, and nothing was debited")
NOT_READY: Final = Problem(503, "NotReady", "the ledger or its key cannot be read, or the service is stopping")
STOPPING: Final = Problem(503, "Stopping", "the service is stopping; nothing was debited: come again in a moment")


def problem_of(error: BaseException) -> Problem:
    """Return what a client is told of an error.

    >>> problem_of(errors.NotFound("no such")).to_dict()["type"]
    '/problems/not-found'
    """
    for kind, status, said in _TOLD:
        if isinstance(error, kind):
            if said is not None:
                return Problem(status, type(error).__name__, said)
            detail = "; ".join([str(error), *getattr(error, "__notes__", ())])
            carried = {name: getattr(error, name, None) for name in _carried_by(type(error))}
            fields = {name: _written(value) for name, value in carried.items() if value is not None}
            return Problem(status, type(error).__name__, detail, fields)
    return FAILED


def status_of(name: str) -> int:
    """Return the status with which a problem of a name is told.

    >>> status_of("QuotaExceeded"), status_of("TooManyRequests")
    (409, 429)
    """
    if name in _OTHERS:
        return _OTHERS[name]
    return next(status for kind, status, _ in _TOLD if issubclass(_KINDS[name], kind))


def error_of(record: Mapping[str, Any]) -> DitherError:
    """Return the error that a problem tells of: of the class that was raised, with what it carried, or None for that.

    Args:
        record: what ``Problem.to_dict`` wrote.

    """
    kind = _KINDS.get(str(record.get("title")), DitherError)
    made = kind.__new__(kind)
    Exception.__init__(made, str(record.get("detail", "the service says no more")))
    for name in _carried_by(kind):
        setattr(made, name, _read(name, record.get(name)))
    if isinstance(made, errors.InvalidParameter):
        made.offender = None
        made.parameter, made.rule = made.parameter or "", made.rule or ""
    return made


def _carried_by(kind: type[DitherError]) -> tuple[str, ...]:
    """Return what errors of a class carry."""
    return tuple(name for base, names in _CARRIED.items() if issubclass(kind, base) for name in names)


def _written(value: Any) -> Any:
    """Return what an error carries as plain data: losses by their figures, other numbers with a fraction as texts."""
    if isinstance(value, Loss):
        return value.to_dict()
    return value if isinstance(value, str | int) else str(value)


def _read(name: str, value: Any) -> Any:
    """Return what ``_written`` wrote, as an error here would carry it; what makes no sense stays as it is."""
    try:
        if isinstance(value, dict):
            return Loss.from_dict(value)
        return float(value) if name == "seconds" and value is not None else value
    except (DitherError, ValueError, TypeError, KeyError):
        return value


def _dashed(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


_KINDS: Final[Mapping[str, type[DitherError]]] = MappingProxyType(
    {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, DitherError)}
)
