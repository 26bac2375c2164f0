"""The stability histogram: bins of a public width over numbers whose range is not known.

For numeric values without public bounds. A bin is published only where its noisy count reaches a threshold, so that a
bin of one person alone hardly ever is. Cost: one pass over the rows, one draw for each bin that is not empty.
Corrections: those of ``mechanisms.stability_selection``, which does the work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from dither.exact import Number, Of, Positive
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import raw_number
from dither.mechanisms.stability_selection import OneSelection, StabilitySelection
from dither.privacy import ROW, Loss, Unit


def _examples() -> Iterator[Example]:
    selection = StabilitySelection(unit=ROW, max_keys=1, scale=2, threshold=4)
    rows = [0.5, 0.7, 0.75, 12.0, -3.0]
    yield Example(StabilityHistogram(width=1, selection=selection), rows, (([], [float("nan")], 1),))


@register(
    examples=_examples,
    source="Releasing Search Queries and Clicks Privately (Korolova et al. 2009); Simultaneous Private Learning of "
    "Multiple Concepts (Bun, Nissim, Stemmer 2016), for histograms by stability",
    made_for={"unit": ROW},
    takes="delta",
)
@dataclass(frozen=True, kw_only=True)
class StabilityHistogram(OneSelection, Composed[Any, dict[int, int]]):
    """Count numbers in bins of a public width, and publish the bins whose noisy count reaches a threshold.

    Guarantee: data ``d_in`` rows apart, each row one number, loses what ``selection`` loses at ``d_in``.

    Releases the numbers of bins, bin k holding k * width up to (k + 1) * width, and their counts.

    Args:
        width: the width of a bin; public.
        selection: the noise and the threshold, for one key a row.

    >>> selection = StabilitySelection(unit=ROW, max_keys=1, scale=1, threshold=20)
    >>> StabilityHistogram(width="1/2", selection=selection).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "stability-histogram"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    selection: Of[StabilitySelection] = Of(
        StabilitySelection, where=lambda one: one.max_keys == 1, rule="a StabilitySelection of one key a row"
    )
    width: Positive = Positive()

    @classmethod
    def calibrated(cls, within: Loss, *, unit: Unit, width: Number, fresh: bool = False) -> Self:
        """Return the least noise and threshold for ``within``; with ``fresh``, half of epsilon is for the counts."""
        return cls(width=width, selection=StabilitySelection.calibrated(within, unit=unit, max_keys=1, fresh=fresh))

    def interval(self, out: dict[int, int], confidence: Number) -> Interval:
        """Return intervals of all published bins at once, given that these bins were published."""
        found = self.selection.interval({str(key): count for key, count in out.items()}, confidence)
        low, high = ({int(key): count for key, count in side.items()} for side in (found.low, found.high))
        return Interval(low, high, found.confidence)

    def release(self, data: Any, run: Runner) -> dict[int, int]:
        """Return the published bins and their counts, in the order of the bins."""
        published = run(self.selection, [self._bin(row) for row in data])
        return dict(sorted((int(key), count) for key, count in published.items()))

    def _bin(self, row: Any) -> str | tuple[str, ...]:
        """Return a number's bin as text; no bin if it is not a finite number."""
        number = raw_number(row)
        if number is None or type(number) is bool or (type(number) is float and not math.isfinite(number)):
            return ()
        ratio = Fraction(number) / self.width
        # Farther bins are one bin on each side: the texts of longer numbers would tell nothing more.
        if abs(ratio.numerator).bit_length() > ratio.denominator.bit_length() + _FARTHEST.bit_length():
            return str(_FARTHEST if ratio > 0 else -_FARTHEST)
        return str(min(max(math.floor(ratio), -_FARTHEST), _FARTHEST))


_FARTHEST = 10**300
