"""The whole error tree.

::

    DitherError
    ├── InvalidParameter (ValueError)     a public argument breaks its rule
    │   ├── LossNotStated                 the loss of a release is not stated, and there is no default
    │   ├── InvalidValue                  a private value has the wrong type or shape (its content is not shown)
    │   └── InvalidSchema                 a schema file breaks a rule
    ├── IncompatibleDistance (ValueError) two units, or a unit and a metric, were mixed
    ├── NoGuarantee                       no sound loss can be stated for the request
    ├── BudgetExceeded                    the release would cost more than is left
    │   └── QuotaExceeded                 the budget has room, the analyst's share of it has not
    │       └── AllowanceExceeded         the share has room, the allowance that paces it has not yet
    ├── NotApproved                       others must agree to a release first; nothing was debited
    │   ├── ApprovalPending               they were asked, and have not decided
    │   └── ApprovalDeclined              they do not agree
    ├── AnalystUnknown                    the data set has quotas, and the analyst has none
    ├── DataSetNotOpen                    the data set is a draft, paused or closed; nothing is debited to it
    ├── DataSetRetired                    the owner has retired the data set; nothing more is debited to it
    ├── RequestCancelled                  the request was cancelled before it was debited
    ├── KeyReused                         an idempotency key came again with another request
    ├── RequestSealed                     every attempt at a request failed; it will not be answered any more
    ├── RequestUnderWay                   somebody else still works on the request; ask again with the same key
    ├── LedgerUnavailable                 the ledger cannot be read or written; nothing more is spent
    ├── LedgerCorrupted                   the ledger contradicts itself, or is not a ledger
    │   └── LedgerBehindAnchor            the ledger lacks entries that its anchor remembers
    ├── StreamUnavailable                 the book of a stream cannot be read or written, or is not its own
    ├── PlanViolation                     a mechanism drew what its plan does not contain
    ├── HandleMisuse                      an interactive handle was copied, moved or used after its end
    │   └── NotAnExample (TypeError)      a step of a training was unpacked as if it were examples
    ├── UnknownMechanism (LookupError)    no mechanism is registered under that name and version
    ├── NotSerialisable                   a record does not belong in a request
    ├── EntropyFailure                    the system gave no random bits; nothing is drawn instead
    ├── EngineUnavailable                 the tables of a data set cannot be opened as declared
    ├── EngineFailure                     an engine failed midway; one fixed text, and the charge stays
    │   └── ReleaseFailed                 a release failed after noise was drawn; it is not drawn again
    ├── NotDelivered                      a paid answer is kept, but could not be written or shown
    ├── Unanswerable                      a query that cannot be answered privately as asked, and what can
    ├── NotFound (LookupError)            no folder or data set has that name
    ├── NotFitted (ValueError)            a model was used before it was fitted
    └── MissingExtra (ImportError)        an optional part of the installation is absent

Every message names the parameter and the rule, and the offender where the rule says what it must be. None contains a
private value: errors are raised from public parameters, types and shapes only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, Self

_LONGEST_OFFENDER = 80
#: How a rule begins that is about whether a parameter is passed, and not about its value.
_ABOUT_PRESENCE = r"(required|not allowed)\b"
#: Beyond this number of entries a field is sent to another process as its description.
_MOST_ENTRIES = 1000
_DEEPEST = 20
_PLAIN = frozenset(
    (
        *(type(None), type(...), bool, int, float, complex, str, bytes, Fraction, Decimal, date, timedelta),
        *(PosixPath, WindowsPath, PurePosixPath, PureWindowsPath),
    )
)


def _shorten(offender: object) -> str:
    try:
        text = repr(offender)
    except Exception:
        # An integer too long to print, or a repr that fails, must not hide the refusal itself.
        text = f"an object of type {type(offender).__name__} that cannot be printed"
    return text if len(text) <= _LONGEST_OFFENDER else text[: _LONGEST_OFFENDER - 1] + "…"


@dataclass(frozen=True, repr=False)
class _Shown:
    """Stands for a value of which only the description may be kept."""

    text: str

    def __repr__(self) -> str:
        return self.text


class DitherError(Exception):
    """Base of everything this package raises on purpose.

    Copies and pickles keep message, fields and notes, so that a refusal in a pool of processes reaches the caller as it
    is. A field that another process might be unable to rebuild is replaced by its description.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process rebuilds this error: from message and fields, without calling its constructor."""
        args = tuple(_sendable(value) for value in self.args)
        return _rebuilt, (type(self), args), {name: _sendable(value) for name, value in vars(self).items()}

    def __copy__(self) -> Self:
        """Return the same error with the same fields."""
        made: Self = _rebuilt(type(self), self.args)
        made.__dict__.update(vars(self))
        if "__notes__" in vars(self):
            made.__notes__ = list(self.__notes__)  # else a note on the copy would stand on the original, too
        return made


def _rebuilt(kind: type[Any], args: tuple[Any, ...]) -> Any:
    """Return an error of that class with these arguments of its built-in base; fields are set afterwards."""
    made = kind.__new__(kind, *args)
    # ImportError keeps its message apart from the arguments.
    built_in: Any = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    built_in.__init__(made, *args)
    return made


def _sendable(value: object) -> object:
    """Return a value that any process can rebuild: itself, a plain text, or its description."""
    if isinstance(value, str):
        return str.__str__(value)
    if type(value) is list and all(isinstance(one, str) for one in value):
        return list(map(str.__str__, value))  # notes
    return value if _is_plain(value, [_MOST_ENTRIES], _DEEPEST) else _Shown(_shorten(value))


def _is_plain(value: Any, left: list[int], depth: int) -> bool:
    """Return whether a value consists of Python's own plain types and of this package's records.

    Whatever else pickles may fail to unpickle elsewhere, which breaks a whole pool.
    """
    left[0] -= 1
    if left[0] < 0 or depth < 0:
        return False
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is dict:
        return all(_is_plain(one, left, depth - 1) for item in value.items() for one in item)
    if kind in (tuple, list, set, frozenset):
        return all(_is_plain(one, left, depth - 1) for one in value)
    if kind is type:
        return value.__module__ == "builtins" and "<" not in value.__qualname__
    if kind.__module__ == "numpy":
        return not value.dtype.hasobject and value.size <= _MOST_ENTRIES
    if not kind.__module__.startswith("dither.") or "<" in kind.__qualname__:
        return False
    if isinstance(value, Enum):
        return True
    has_own_way = any("__reduce__" in vars(base) or "__reduce_ex__" in vars(base) for base in kind.__mro__[:-1])
    if has_own_way or not is_dataclass(value):
        return False
    parts = {field.name: getattr(value, field.name, None) for field in fields(value)} | getattr(value, "__dict__", {})
    return all(_is_plain(one, left, depth - 1) for one in parts.values())


class InvalidParameter(DitherError, ValueError):
    """A public argument breaks its rule; nothing was drawn and nothing was spent.

    How the rule begins decides the form of the message. A rule that begins with ``required`` or ``not allowed`` is
    about whether the argument is passed, and its value is not shown. Any other rule states what the argument must be.

    >>> for rule in ("2 or more", "required for stars: 2 or more", "not allowed for edges"):
    ...     print(InvalidParameter("k", 1, rule))
    k must be 2 or more, got 1
    k is required for stars: 2 or more
    k is not allowed for edges
    """

    def __init__(self, parameter: str, offender: object, rule: str) -> None:
        self.parameter = parameter
        self.offender = offender
        self.rule = rule
        super().__init__(self.worded(parameter, _shorten(offender)))

    def worded(self, name: str, shown: str) -> str:
        """Return the message with another name of the parameter, and with the offender as its reader would type it."""
        if re.match(_ABOUT_PRESENCE, self.rule):
            return f"{name} {'are' if ', ' in name else 'is'} {self.rule}"
        return f"{name} must be {self.rule}{shown and f', got {shown}'}"


class LossNotStated(InvalidParameter):
    """The loss of a release is not stated; it has no default, and nothing was spent."""

    def __init__(self, parameter: str = "epsilon", left: object = None, most: object = None) -> None:
        self.left, self.most = left, most
        has = "" if left is None else f"; remaining budget: {left}"
        has += "" if most is None else f", at most {most} for one release"
        rule = f"required (alone, with delta, or replaced by rho): add {parameter}=0.1, or --{parameter} 0.1{has}"
        super().__init__(parameter, None, rule)


class InvalidValue(InvalidParameter):
    """A private value has the wrong type or shape; the message shows those and never the value itself."""

    def __init__(self, parameter: str, value: Any, rule: str) -> None:
        super().__init__(parameter, _kind(value), rule)


def _kind(value: Any) -> _Shown:
    """Return the public description of a value: its type, its number of axes and, for a table, its number of columns.

    Never how long its first axis is: that is a number of private rows.
    """
    kind = type(value).__name__
    try:
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    except Exception:
        shape = dtype = None  # of a caller's own class, whose words might show a value
    # The name of the type alone: the full dtype of texts tells how long the longest one is.
    entry = getattr(dtype, "type", type(dtype)).__name__
    return _Shown(kind if dtype is None else f"{kind} of {entry}{_axes(shape)}")


def _axes(shape: Any) -> str:
    """Return the number of axes, and the width of a table."""
    if not isinstance(shape, tuple):
        return ""
    columns = f" and {shape[1]} column{'' if shape[1] == 1 else 's'}" if len(shape) == 2 else ""
    return f" with {len(shape)} {'axis' if len(shape) == 1 else 'axes'}{columns}"


class IncompatibleDistance(DitherError, ValueError):
    """Losses under different units, or a unit and a metric, cannot be added or compared."""

    def __init__(self, parameter: str, expected: object, found: object) -> None:
        self.parameter = parameter
        self.expected = expected
        self.found = found
        super().__init__(f"{parameter} must count {expected}, got {found}; guarantees are never mixed")


class NoGuarantee(DitherError):
    """No sound loss can be stated for the request."""


class BudgetExceeded(DitherError):
    """The release would cost more than is left; nothing was spent."""

    def __init__(self, requested: object, spent: object, budget: object, more: str = "") -> None:
        self.requested = requested
        self.spent = spent
        self.budget = budget
        super().__init__(f"a release of {requested} does not fit: {spent} of {budget} is spent already{more}")


class QuotaExceeded(BudgetExceeded):
    """The release would cost more than is left of the analyst's quota; nothing was spent."""

    def __init__(self, requested: object, spent: object, quota: object, analyst: str, more: str = "") -> None:
        self.analyst = analyst
        super().__init__(requested, spent, f"the quota of {_shorten(analyst)}, {quota},", more)


class AllowanceExceeded(QuotaExceeded):
    """The release would cost more than the analyst's allowance has room for by now; nothing was spent."""

    def __init__(
        self,
        requested: object,
        spent: object,
        allowed: object,
        analyst: str,
        allowance: str,
        more_from: str | None,
        more: str = "",
    ) -> None:
        self.analyst, self.more_from = analyst, more_from
        when = more if more_from is None else f"{more}; more from {more_from} on"
        told = f"the {allowed} that {_shorten(analyst)} is allowed by now, {allowance},"
        BudgetExceeded.__init__(self, requested, spent, told, when)


class NotApproved(DitherError):
    """A release that others must agree to before it is debited; nothing was spent."""


class ApprovalPending(NotApproved):
    """Others were asked to agree to a release; nothing was spent, and asking again finds out."""

    def __init__(self, dataset: str, entry: int) -> None:
        self.dataset, self.entry = dataset, entry
        super().__init__(
            f"this release from {dataset} waits for an approval (question {entry}); nothing was debited: ask the same "
            "again once it is approved"
        )


class ApprovalDeclined(NotApproved):
    """Others do not agree to a release; nothing was spent."""

    def __init__(self, dataset: str, entry: int, because: str = "") -> None:
        self.dataset, self.entry, self.because = dataset, entry, because
        why = f": {_shorten(because)}" if because else ""
        super().__init__(f"this release from {dataset} was declined (question {entry}{why}); nothing was debited")


class DataSetNotOpen(DitherError):
    """The data set is a draft, paused or closed: nothing is debited to it, and nothing was spent."""

    def __init__(self, dataset: str, stage: str) -> None:
        self.dataset, self.stage = dataset, stage
        told = {"draft": "it can be priced, and is not open yet", "paused": "its curator has paused it"}
        why = told.get(stage, "stored answers stay, and it takes no more requests")
        super().__init__(f"the data set {dataset} is {'a draft' if stage == 'draft' else stage}: {why}")


class RequestCancelled(DitherError):
    """The request was cancelled before it was debited; nothing was spent."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the request with key {_shorten(key)} was cancelled before it was debited")


class AnalystUnknown(DitherError):
    """The data set has quotas and the analyst has none; nothing was spent."""

    def __init__(self, analyst: str, dataset: str) -> None:
        self.analyst, self.dataset = analyst, dataset
        fix = f"'dither datasets set-quota {dataset} {analyst} --epsilon E' gives one"
        super().__init__(f"{_shorten(analyst)} has no quota of {dataset}, whose budget is divided into quotas; {fix}")


class DataSetRetired(DitherError):
    """The owner has retired the data set: nothing more is debited to it, and nothing was spent."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        fix = "'dither answer ID' still gives the answers that were stored"
        super().__init__(f"the data set {dataset} is retired and takes no more requests; {fix}")


class KeyReused(DitherError):
    """An idempotency key was used again for a different request; nothing was spent."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"key {_shorten(key)} was used for another request: choose a new key for a new request")


class RequestSealed(DitherError):
    """Every attempt at a request failed: its debit stands, and it will not be answered under this key."""

    def __init__(self, key: str, attempts: int) -> None:
        self.key = key
        self.attempts = attempts
        super().__init__(
            f"the request with key {_shorten(key)} is sealed: {attempts} attempts were begun and none was answered; "
            "what was debited stays debited, and a new key is a new request"
        )


class RequestUnderWay(DitherError):
    """Another caller is still working on this request: nothing is lost; ask again with the same key."""

    def __init__(self, key: str, seconds: float) -> None:
        self.key = key
        self.seconds = seconds
        super().__init__(
            f"the request with key {_shorten(key)} is still being worked on by another caller after {seconds:g} s of "
            "waiting; nothing is lost and nothing more was charged: ask again with the same key"
        )


class LedgerUnavailable(DitherError):
    """The ledger cannot be read or written; a debit in flight may or may not stand: the same key finds out."""

    def __init__(self, place: object, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"the ledger {place} cannot be used: {reason}")


class LedgerCorrupted(DitherError):
    """The ledger contradicts itself, or is not a ledger; nothing more is spent from it."""

    def __init__(self, place: object, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"the ledger {place} is not to be trusted: {reason}")


class LedgerBehindAnchor(LedgerCorrupted):
    """The ledger lacks entries that its anchor remembers, as a restored copy does."""


class PlanViolation(DitherError):
    """A mechanism asked for a draw that its plan does not contain; the draw was not made."""


class HandleMisuse(DitherError):
    """An interactive handle was copied, used from another thread or process, or used after its end."""


class NotAnExample(HandleMisuse, TypeError):
    """A step of a training was unpacked as if it were examples, which stay secret."""


class UnknownMechanism(DitherError, LookupError):
    """No mechanism is registered under that name and version."""


class NotSerialisable(DitherError, TypeError):
    """A record does not belong in a request."""


class EntropyFailure(DitherError):
    """The system gave no random bits; no other source is ever used instead."""


class MissingExtra(DitherError, ImportError):
    """An optional part of the installation is missing."""

    def __init__(self, feature: str, extra: str, *, besides: str = "") -> None:
        self.extra = extra
        needs = besides or f"the optional part '{extra}': pip install 'dither[{extra}]'"
        super().__init__(f"{feature} needs {needs}")


class StreamUnavailable(DitherError):
    """The book of a stream cannot be read or written, or is not the one that was written; nothing was released.

    Conversations are kept in the same kind of book: ``what`` says which of the two it is.
    """

    def __init__(self, stream: object, reason: str, what: str = "stream") -> None:
        self.stream = stream
        self.reason = reason
        super().__init__(f"the {what} {stream} cannot be used: {reason}")


class EngineUnavailable(DitherError):
    """The tables of a data set cannot be opened as declared; nothing was charged."""


class EngineFailure(DitherError):
    """An engine failed midway. The text is always the same: what failed may depend on private rows.

    A session adds a note that says how many attempts are left.
    """

    def __init__(self) -> None:
        super().__init__("the query engine failed; the charge stands")


class ReleaseFailed(EngineFailure):
    """A release failed after noise was drawn for it, and is not tried again: why it failed may follow from the noise.

    Another draw for the same charge would tell more than was paid for.
    """

    def __init__(self) -> None:
        DitherError.__init__(
            self,
            "the release failed after noise was drawn for it; the charge stands, and this request is not tried "
            "again. A new request is charged again",
        )


class NotDelivered(DitherError):
    """A paid answer could not be written or shown; it is kept, and its key returns it again.

    >>> str(NotDelivered("", "the disk is full")).endswith("the same command returns it at no additional cost")
    True
    """

    def __init__(self, key: str, reason: str, *, has_files: bool = False) -> None:
        self.key, self.reason = key, reason
        again = f" with --key {key}" if key else ""  # a service has a name of its own for what nobody has named
        force = " --force" if has_files else ""  # some of its files are there already
        super().__init__(
            f"the answer was paid for and is stored, but could not be written or shown: {reason}; the same "
            f"command{again}{force} returns it at no additional cost"
        )


class Unanswerable(DitherError):
    """A query that cannot be answered privately as asked; the message says why and what can be asked instead."""

    def __init__(self, reason: str, instead: str = "") -> None:
        self.reason, self.instead = reason, instead
        super().__init__(f"{reason}{'; ' if instead else ''}{instead}")


class InvalidSchema(InvalidParameter):
    """A schema file breaks a rule; the message names the place in it."""


class NotFound(DitherError, LookupError):
    """No folder or data set has that name; the message lists the existing names."""


class NotFitted(DitherError, ValueError):
    """A model was used before it was fitted."""

    def __init__(self, needed: str) -> None:
        super().__init__(f"nothing has been learned yet: call {needed} first")


class LostCells(UserWarning):
    """Many cells of a column are not of its declared kind and count as NULL; for the owner of the rows alone."""


class EarlierEdition(UserWarning):
    """A stored answer that was asked for again is about rows that others have taken the place of. Not an error."""
