"""Counters on streams."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dither.audit.specimens.laws import HALF, chance
from dither.audit.specimens.record import BOOK, Odds, Source, Specimen
from dither.exact import log_up
from dither.privacy import PureDP


def partial_sums(stream: Sequence[int]) -> list[int]:
    """Return the sums of dyadic blocks from which a counter answers at every step.

    >>> partial_sums([1, 0, 0, 0])
    [1, 1, 0, 1]
    """
    # Step t ends the block as long as the largest power of two that divides t.
    return [sum(stream[step - (step & -step) : step]) for step in range(1, len(stream) + 1)]


def too_few_levels(stream: Sequence[int], other_stream: Sequence[int]) -> Odds:
    """Return the odds that every noisy block sum is that of the first stream, noise of ratio 1/2 on each."""
    target = partial_sums(stream)
    least = most = Fraction(1)
    for wanted, there in zip(target, partial_sums(other_stream), strict=True):
        least *= chance(HALF, 0)
        most *= chance(HALF, wanted - there)
    return Odds(f"the block sums {target}", least, most)


_LEVELS = 2

SPECIMENS = (
    Specimen(
        name="counter-with-too-few-levels",
        source=Source(BOOK, "4.3.2, with noise of scale log2(T) / epsilon"),
        claim=PureDP(_LEVELS * log_up(Fraction(2))),
        what_is_wrong="Of T = 4 steps the first is in three block sums, not in log2(4) = 2: "
        "whenever T is a power of two one level is forgotten.",
        value=(0, 0, 0, 0),
        neighbour=(1, 0, 0, 0),
        step="one event is added",
        refuted_by="closed form",
        replacement="prefix-counter",
        weigh=too_few_levels,
    ),
)
