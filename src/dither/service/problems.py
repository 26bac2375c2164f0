"""Errors as HTTP tells them, and back: one type for each class of ``errors``, so that a client raises what was raised.

Before a debit an error says what it says here. After it one fixed text is told, whatever happened: why a release failed
may follow from private rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from dither import errors
from dither.errors import DitherError

MEDIA_TYPE: Final = "application/problem+json"
_FIXED: Final = "something failed; what was debited stays debited, and asking again with the same key finds out"
_CLOSED: Final = "the rows cannot be opened as they are declared; the curator can see why"
#: By class, the most special first: status, and what is told in place of the error's own words, if anything.
_STATUSES: Final[tuple[tuple[type[DitherError], int, str | None], ...]] = (
    (errors.InvalidParameter, 400, None),
    (errors.IncompatibleDistance, 400, None),
    (errors.NotSerialisable, 400, None),
    (errors.UnknownMechanism, 400, None),
    (errors.BudgetExceeded, 409, None),
    (errors.KeyReused, 409, None),
    (errors.NotApproved, 409, None),
    (errors.StreamUnavailable, 409, None),
    (errors.DataSetNotOpen, 409, None),
    (errors.RequestCancelled, 409, None),
    (errors.RequestUnderWay, 409, None),
    (errors.RequestSealed, 410, None),
    (errors.DataSetRetired, 410, None),
    (errors.Unanswerable, 422, None),
    (errors.NoGuarantee, 422, None),
    (errors.NotFound, 404, None),
    (errors.ReleaseFailed, 500, None),
    (errors.EngineUnavailable, 503, _CLOSED),
    (errors.LedgerUnavailable, 503, "the ledger cannot be written; nothing more is spent"),
    (errors.LedgerCorrupted, 503, "the ledger cannot be written; nothing more is spent"),
    (errors.MissingExtra, 501, None),
)
#: Of those that no class stands for: they are about a request, and not about what it asks.
_OTHERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "NotAuthenticated": 401,
        "NotAllowed": 403,
        "OtherSite": 403,
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
#: What an error carries beside its words, where that is a text or a number.
_CARRIED: Final = ("parameter", "rule", "key", "analyst", "dataset", "entry", "because", "stage", "more_from")


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
NOT_THERE: Final = Problem(404, "NotFound", "no data set of that name can be asked by you")
NOT_KNOWN: Final = Problem(
    401, "NotAuthenticated", "no token was sent (Authorization: Bearer ...), or one that is unknown, revoked or expired"
)
NOT_ALLOWED: Final = Problem(403, "NotAllowed", "your role or your token's scope does not reach this")
ELSEWHERE: Final = Problem(403, "OtherSite", "sent by a page of another site; pages of this one and programs may ask")
FAILED: Final = Problem(500, "EngineFailure", _FIXED)
TOO_MANY: Final = Problem(429, "TooManyRequests", "too many requests at once; come again in a second")
NOT_READY: Final = Problem(503, "NotReady", "the ledger or its key cannot be read, or the service is stopping")
STOPPING: Final = Problem(503, "Stopping", "the service is stopping; nothing was debited: come again in a moment")


def problem_of(error: BaseException) -> Problem:
    """Return what a client is told of an error.

    >>> problem_of(errors.NotFound("no such")).to_dict()["type"]
    '/problems/not-found'
    """
    for kind, status, said in _STATUSES:
        if isinstance(error, kind):
            notes = getattr(error, "__notes__", ())
            detail = said or "; ".join([str(error), *notes])
            carried = {name: getattr(error, name, None) for name in _CARRIED} if said is None else {}
            fields = {name: value for name, value in carried.items() if isinstance(value, str | int)}
            return Problem(status, type(error).__name__, detail, fields)
    return FAILED


def status_of(name: str) -> int:
    """Return the status with which a problem of a name is told.

    >>> status_of("QuotaExceeded"), status_of("TooManyRequests")
    (409, 429)
    """
    if name in _OTHERS:
        return _OTHERS[name]
    return next(status for kind, status, _ in _STATUSES if issubclass(_KINDS[name], kind))


def error_of(record: Mapping[str, Any]) -> DitherError:
    """Return the error that a problem tells of, of the class that was raised.

    Args:
        record: what ``Problem.to_dict`` wrote.

    """
    kind = _KINDS.get(str(record.get("title")), DitherError)
    made = kind.__new__(kind)
    Exception.__init__(made, str(record.get("detail", "the service says no more")))
    for name in _CARRIED:
        if name in record:
            setattr(made, name, record[name])
    if isinstance(made, errors.InvalidParameter):
        made.offender = None
        made.parameter, made.rule = str(record.get("parameter", "")), str(record.get("rule", ""))
    if isinstance(made, errors.LossNotStated):
        made.left = None
    return made


def _dashed(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


_KINDS: Final[Mapping[str, type[DitherError]]] = MappingProxyType(
    {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, DitherError)}
)
