"""The private learner of a single point: the point with the most positive rows, if there are enough of them.

For a universe of any size, even one too large to list: a stability histogram of the positive points needs rows in
proportion to ln(1 / delta) and not to the size of the universe. Cost: one pass over the rows, one draw for each
positive point. Correction: the answer may be the concept that is never 1, which is not a point function; where that is
not allowed (proper learning), a pure epsilon needs rows in proportion to the logarithm of the universe.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither.exact import Of
from dither.learn.theory.concepts import NEVER, Concept, IntervalConcept
from dither.learn.theory.labelled import pairs_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.stability_selection import OneSelection, StabilitySelection
from dither.privacy import ROW, ROW_REPLACED, Loss, Unit


def _examples() -> Iterator[Example]:
    rows = np.array([[7, 1], [7, 1], [7, 1], [3, 0], [2, 1]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    yield Example(PointLearner(selection=StabilitySelection(unit=ROW, max_keys=1, scale=1, threshold=3)), rows, pairs)
    swapped = ((rows, np.vstack([rows[1:], [[9, 1]]]), 1),)
    replaced = StabilitySelection(unit=ROW_REPLACED, max_keys=1, scale=2, threshold=6)
    yield Example(PointLearner(selection=replaced), rows, swapped)


@register(
    examples=_examples,
    source="Private Learning and Sanitization: Pure vs. Approximate Differential Privacy (Beimel, Nissim, Stemmer "
    "2013); Differential Privacy and Applications (Zhu et al. 2017), section 6.2.3",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PointLearner(OneSelection, Composed[Any, Concept]):
    """Learn which single point is labelled 1, from the noisy counts of positive rows that reach a threshold.

    Guarantee: data ``d_in`` rows apart loses what ``selection`` loses at ``d_in``.

    Releases the point with the largest published count, or the concept that is never 1 where none is published.

    Args:
        selection: the noise and the threshold, for one key a row.

    >>> from dither.privacy import ApproxDP
    >>> learner = PointLearner.calibrated(ApproxDP(1, "1e-6"), unit=ROW)
    >>> learner.selection.threshold, learner.loss(1) <= ApproxDP(1, "1e-6")
    (15, True)

    """

    name: ClassVar[str] = "point-learner"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "a point says nothing about how many rows it represents"

    selection: Of[StabilitySelection] = Of(
        StabilitySelection, where=lambda one: one.max_keys == 1, rule="a StabilitySelection of one key a row"
    )

    @classmethod
    def calibrated(cls, within: Loss, *, unit: Unit = ROW) -> Self:
        """Return the learner with the least noise and threshold for ``within``, which has a delta."""
        return cls(selection=StabilitySelection.calibrated(within, unit=unit, max_keys=1, fresh=False))

    def release(self, data: Any, run: Runner) -> Concept:
        """Return the point with the largest published count, the smaller of equals, or the concept that is never 1."""
        keys: list[Any] = [str(point) if label == 1 else () for point, label in pairs_of(data).tolist()]
        published = {int(key): count for key, count in run(self.selection, keys).items()}
        if not published:
            return NEVER
        found = min(published, key=lambda point: (-published[point], point))
        return IntervalConcept(found, found)
