"""Correlated records: noise for how strongly they belong together, where that is read from the records themselves."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dither.audit.specimens.record import BOOK, Odds, Source, Specimen, premise
from dither.exact import exp_down, exp_up, sqrt_down, sqrt_up
from dither.privacy import PureDP

Record = tuple[int, ...]
#: The least correlated degree that counts.
_THRESHOLD = Fraction(6, 10)
_FAR = 10


def squared_degree(one: Record, other: Record) -> Fraction:
    """Return the square of Pearson's correlation of two records whose entries add up to 0.

    >>> squared_degree((1, -1, 0, 0), (1, -1, 1, -1))
    Fraction(1, 2)
    """
    premise(sum(one) == sum(other) == 0, "the entries of a record add up to 0")
    product = sum(x * y for x, y in zip(one, other, strict=True))
    return Fraction(product**2, sum(x * x for x in one) * sum(y * y for y in other))


def correlated_sensitivity(records: Sequence[Record], *, up: bool) -> Fraction:
    """Return a bound on the largest sum of degrees of one record, of those that count: the sensitivity of a count.

    Args:
        records: all of them.
        up: whether the bound is from above.

    """
    root = sqrt_up if up else sqrt_down
    squares = [[squared_degree(one, other) for other in records] for one in records]
    return max(sum((root(square) for square in row if square >= _THRESHOLD**2), Fraction(0)) for row in squares)


def correlation_from_data(records: Sequence[Record], other_records: Sequence[Record]) -> Odds:
    """Return the odds of a count that is far from the number of records, which is the same on both sides.

    Its Laplace noise has the scale of the correlated sensitivity: P[|X| > t] = e^(-t / scale).
    """
    premise(len(records) == len(other_records), "both counts are the same")
    least = exp_down(-_FAR / correlated_sensitivity(records, up=False))
    most = exp_up(-_FAR / correlated_sensitivity(other_records, up=True))
    return Odds(f"a count that is off by more than {_FAR}", least, most)


SPECIMENS = (
    Specimen(
        name="correlation-from-data",
        source=Source(BOOK, "14.4.3 and 14.4.4, with the correlated degrees of the records themselves"),
        claim=PureDP(1),
        what_is_wrong="The scale of the noise is read from the records: one that resembles two others makes it 2.4 "
        "times as wide, at the same count.",
        value=((1, -1, 0, 0), (0, 0, 1, -1), (1, -1, 1, -1)),
        neighbour=((1, -1, 0, 0), (0, 0, 1, -1), (1, 1, -1, -1)),
        step="one record is replaced",
        refuted_by="closed form",
        replacement="grouped",
        weigh=correlation_from_data,
    ),
)
