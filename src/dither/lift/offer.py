"""Offers: what a session can price or release, built from public facts alone.

Every verb of a session makes one. To price it, nothing is opened; to release it, the session debits the ledger, runs
the mechanism on the opened data, stores what is presented and reads it back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from dither.errors import HandleMisuse
from dither.lift.over_data import OverData
from dither.mechanisms.core.mechanism import Numerics
from dither.privacy import Loss

T = TypeVar("T")


def _nothing() -> None:
    """Hold nothing, and let go of nothing."""


def not_released(*_: Any) -> NoReturn:
    """Stand for how an answer is stored and read, of what is opened and never released at once."""
    raise HandleMisuse("this offer cannot be released directly: open it first")


@dataclass(frozen=True)
class Offer(Generic[T]):
    """A release that is priced but not yet made.

    Args:
        verb: what kind of release, such as "query"; requests of one key must agree in it.
        words: what would be released, in one line for people.
        mechanism: what would run on the opened data.
        asked: the parameters, as plain JSON data: with verb and loss they decide what is released.
        stated: the requested loss.
        present: makes of what was released the bytes that are stored.
        read: makes of the stored bytes, and the place in the ledger where the charge is written down, what the caller
            gets.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        forget: lets go of what was presented and could not be stored, where any of it is held.
        spent: reads from the stored bytes what the release has lost, where that may be less than its loss; the ledger
            gives the rest back where it can.
        expected: how far the answer may be off, in words, as far as that is public, or what finds these words; "" where
            nothing is said.
        unit: whom it protects, in words, where more is to be said than the data set's own unit.
        opened_by: the verb of a session that opens it, where it goes on after it was paid for; "" for one release.

    """

    verb: str
    words: str
    mechanism: OverData[Any]
    asked: Mapping[str, Any]
    stated: Loss
    present: Callable[[Any], bytes]
    read: Callable[[bytes, str], T]
    key: str | None = None
    forget: Callable[[], None] = _nothing
    spent: Callable[[bytes], Loss] | None = None
    expected: str | Callable[[], str] = ""
    opened_by: str = ""
    unit: str = ""

    @property
    def loss(self) -> Loss:
        """The loss of the release, which is charged."""
        return self.mechanism.loss(1)

    def check_released(self) -> None:
        """Refuse to release at once what goes on, before anything is charged."""
        if self.opened_by:
            raise HandleMisuse(
                f"this offer cannot be released directly; open it with ``session.{self.opened_by}(...)``"
            )

    @property
    def is_idealised(self) -> bool:
        """Whether the proof holds over the reals only."""
        return self.mechanism.numerics is Numerics.IDEALISED
