"""Coverage by counting, with looks in between: as few trials as distinguish a coverage that holds from one that fails.

Most intervals cover more often than they say, and one that is wrong is often grossly so: a few dozen trials tell. So
one looks after 32 trials, after half as many again, and so on, and stops where one of two hypotheses is refuted: that
intervals cover as often as they say, or that they cover no more often than the defect that a test is for lets them.
Both levels are spent over the looks, so that a union bound holds over all of them, whenever one stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

FIRST_LOOK: Final = 32
#: Of the level, what is kept for the last look; all others share the rest.
_LAST_SHARE: Final = 0.75
#: The chance that a coverage of the defect passes at an early look.
MISS: Final = 1e-9


def looks(most: int) -> Iterator[tuple[int, float]]:
    """Yield after how many trials one looks, and which share of a level each look may spend; they add up to 1 at most.

    >>> [after for after, _ in looks(150)]
    [32, 48, 72, 108, 150]
    >>> sum(share for _, share in looks(10**6)) <= 1
    True

    """
    after, number = FIRST_LOOK, 1
    while after < most:
        yield after, (1 - _LAST_SHARE) / (number * (number + 1))
        after, number = 3 * after // 2, number + 1
    yield most, _LAST_SHARE


def noticed(confidence: float, most: int, false_alarm: float) -> float:
    """Return the coverage that all trials together would refute about every other time."""
    from scipy.special import bdtr

    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if bdtr(middle, most, confidence) < false_alarm else (low, middle - 1)
    return low / most


def covers(
    trials: Iterable[bool],
    confidence: float,
    *,
    most: int,
    false_alarm: float,
    catches: float | None = None,
) -> bool:
    """Return whether trials cover as often as they say, as far as that many can show, and stop as soon as it is known.

    Guarantee: trials that are independent and cover with probability ``confidence`` or more are refused with a
    probability of ``false_alarm`` at most. Such that cover with probability ``catches`` or less pass at an early look
    with a probability of 1e-9 at most; those that reach the last look are refused where so few covered have a chance
    of three quarters of ``false_alarm``.

    Args:
        trials: whether the truth was covered, in one trial after another; no more are made than are needed.
        confidence: how often they say that they cover.
        most: the largest number of trials.
        false_alarm: the probability that what is right is refused.
        catches: the coverage of the defect that is looked for; what ``most`` trials would notice where it is None.

    >>> covers((True for _ in range(1000)), 0.9, most=1000, false_alarm=1e-9)
    True
    >>> covers((trial % 2 == 0 for trial in range(1000)), 0.9, most=1000, false_alarm=1e-9)
    False

    """
    wrong = noticed(confidence, most, _LAST_SHARE * false_alarm) if catches is None else catches
    left, covered, done = iter(trials), 0, 0
    for after, share in looks(most):
        made = [bool(one) for one in islice(left, after - done)]
        covered, done = covered + sum(made), done + len(made)
        if done < after:
            raise ValueError(f"{done} trials were made, and {after} were requested")
        known = told(covered, done, confidence, wrong, share * false_alarm, share * MISS if done < most else 1.0)
        if known is not None:
            return known
    raise AssertionError("the last look decides")


def told(covered: int, done: int, confidence: float, wrong: float, false_alarm: float, miss: float) -> bool | None:
    """Return what one look finds of two coverages, or None where neither is refuted at its level."""
    from scipy.special import bdtr, bdtrc

    if bdtr(covered, done, confidence) < false_alarm:
        return False
    return True if miss == 1 or (covered and bdtrc(covered - 1, done, wrong) < miss) else None


def trials_of(made: Callable[[int], Iterable[bool]], at_once: int) -> Iterator[bool]:
    """Yield trials that are made in lots, each lot when it is needed."""
    while True:
        yield from made(at_once)
