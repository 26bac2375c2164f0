"""Exit codes: what a script learns from a command without reading a word. ``docs/command.md`` lists them for people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from dither.cli.option_errors import refusal_words
from dither.errors import (
    BudgetExceeded,
    DitherError,
    EngineFailure,
    EngineUnavailable,
    EntropyFailure,
    HandleMisuse,
    InvalidParameter,
    LedgerCorrupted,
    LedgerUnavailable,
    LossNotStated,
    NotDelivered,
    NotFound,
    PlanViolation,
    RequestSealed,
    RequestUnderWay,
    UnknownMechanism,
)

DONE: Final = 0
ANSWER_IS_NO: Final = 1
WRONG_REQUEST: Final = 2
OVER_BUDGET: Final = 3
NOT_FOUND: Final = 4
FAILED: Final = 5
NOT_DELIVERED: Final = 6
INTERRUPTED: Final = 130

MEANINGS: Final[Mapping[int, str]] = MappingProxyType(
    {
        DONE: "done",
        ANSWER_IS_NO: "the answer is no: a claim was refuted, a ledger is not intact, a loss would not fit",
        WRONG_REQUEST: "the request was wrong; nothing was charged",
        OVER_BUDGET: "the budget or the quota has no room for it, or the owner must decide first; nothing was charged",
        NOT_FOUND: "no folder, data set or mechanism has that name; nothing was charged",
        FAILED: "the engine, the ledger or the system failed; the message says whether a charge stands",
        NOT_DELIVERED: "the answer was paid for and is stored, but not written or shown; its key returns it again",
        INTERRUPTED: "interrupted; the message says whether a charge stands, and how to come to the answer",
    }
)
_FAILURES: Final = (
    EngineFailure,
    EngineUnavailable,
    EntropyFailure,
    HandleMisuse,
    LedgerCorrupted,
    LedgerUnavailable,
    PlanViolation,
    RequestSealed,
    RequestUnderWay,
)


def code_of(failure: DitherError) -> int:
    """Return the exit code of an error.

    >>> code_of(NotFound("no data set is registered as 'x'"))
    4
    """
    if isinstance(failure, BudgetExceeded):
        return OVER_BUDGET
    if isinstance(failure, NotFound | UnknownMechanism):
        return NOT_FOUND
    if isinstance(failure, NotDelivered):
        return NOT_DELIVERED
    # Only where something has failed: what is loaded for it is of use to nobody else.
    from dither.service.transport import ServiceUnreachable

    return FAILED if isinstance(failure, (*_FAILURES, ServiceUnreachable)) else WRONG_REQUEST


def words_of_failure(failure: DitherError | Warning) -> str:
    """Return what an error says to somebody who typed a command, with the notes on how to go on."""
    said = refusal_words(failure) if isinstance(failure, InvalidParameter) else str(failure)
    if isinstance(failure, LossNotStated):
        left = "" if failure.left is None else f"; {failure.left} is left"
        said = f"the privacy loss is required and has no default: add --{failure.parameter} 0.1{left}"
    return "; ".join([said, *getattr(failure, "__notes__", ())])


def record_of(failure: DitherError) -> dict[str, Any]:
    """Return an error as plain data, as ``--json`` prints it.

    >>> record_of(NotFound("no data set is registered as 'x'"))["error"]["exit_code"]
    4
    """
    said: dict[str, Any] = {
        "kind": type(failure).__name__,
        "message": words_of_failure(failure),
        "exit_code": code_of(failure),
    }
    for name in ("parameter", "rule", "key"):
        if isinstance(getattr(failure, name, None), str):
            said[name] = getattr(failure, name)
    return {"error": said}
