"""Inference attacks in general: what is released, what is already known, what is concluded.

The definition of the Adelaide thesis: of private records X, an analytic f is released; an adversary who already holds
records A concludes Y = g(f(X), A). The attack succeeds if Y holds a record of X that was not in A. Computation that
hides its inputs protects against an empty A, anonymity against one A that was foreseen, differential
privacy against any A, up to all records but one. Records are counted: of two equal ones, one may be known and the other
leak.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dither.errors import InvalidParameter

Record = TypeVar("Record", bound=Hashable)
Released = TypeVar("Released")


@dataclass(frozen=True)
class InferenceAttack(Generic[Record, Released]):
    """A release and an attacker's way of drawing conclusions from it.

    Args:
        release: f, which takes all records to what is released.
        conclude: g, which takes what was released and the records already known to records believed to be in the data.

    >>> def positives(people):
    ...     return sum(is_positive for _, is_positive in people)
    >>> def who_is_left(count, known):
    ...     return [("Ada", count > positives(known))]
    >>> attack = InferenceAttack(positives, who_is_left)
    >>> attack.leaked([("Ada", True), ("Bea", False)], [("Bea", False)])
    Counter({('Ada', True): 1})

    """

    release: Callable[[tuple[Record, ...]], Released]
    conclude: Callable[[Released, tuple[Record, ...]], Iterable[Record]]

    def leaked(self, data: Iterable[Record], known: Iterable[Record] = ()) -> Counter[Record]:
        """Return the records of the data that were concluded and not known before, and how many of each.

        None means that the attack failed.

        Args:
            data: all private records; equal ones are several.
            known: those that the adversary has already; they need not all be in the data.

        """
        everybody, before = tuple(data), tuple(known)
        concluded = Counter(self.conclude(self.release(everybody), before))
        # What is true first: a record that is concluded more often than it occurs leaks no more than its occurrences.
        return (concluded & Counter(everybody)) - Counter(before)

    def success_rate(self, cases: Iterable[tuple[Iterable[Record], Iterable[Record]]]) -> float:
        """Return the share of cases, each of data and prior knowledge, in which anything was leaked."""
        outcomes = [bool(self.leaked(data, known)) for data, known in cases]
        if not outcomes:
            raise InvalidParameter("cases", 0, "at least one case")
        return sum(outcomes) / len(outcomes)
