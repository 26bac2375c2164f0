"""The most common key, released exactly if its lead is large: the distance to instability.

For one winner among keys not known in advance, when it is clear who wins: the answer is then exact. Cost: one
pass over the rows, one draw. Correction: the lead is compared less 1, because a lead of 1 can become a tie; delta is
that of the discrete noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue
from dither.exact import Number, Whole, non_negative, probability
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE, Domain, saturating_sum
from dither.mechanisms.propose_test_release import passing_delta
from dither.mechanisms.stability_selection import ALL_KEYS, persons_of
from dither.noise import Noise
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, Loss, Metric, Plan, PureDP, Unit, Use
from dither.privacy.fields import RowUnit

_MOST_THRESHOLD = 2**60


class _Label(Domain):
    """A distance and a label."""

    def admit(self, value: Any) -> tuple[int, str]:
        is_pair = isinstance(value, tuple) and len(value) == 2
        if not (is_pair and type(value[0]) is int and type(value[1]) is str):
            raise InvalidValue("value", value, "a distance and a string")
        return min(max(value[0], 0), LARGEST_VALUE), value[1]


class _SameLabel(Metric):
    """Between pairs of a distance and a label: units that each keep the label unless both distances are 0."""

    def measure(self, first: Any, second: Any) -> Fraction:
        near, far = sorted((int(first[0]), int(second[0])))
        return Fraction(max(far - near, 0 if first[1] == second[1] else far + 1))


_SAME_LABEL = _SameLabel("SAME_LABEL", "units, each keeping the label unless both distances are 0")


@dataclass(frozen=True, kw_only=True)
class StableLabel(Primitive[Any, "str | None"]):
    """Release a label if the noisy distance to data with another label reaches a threshold; otherwise None.

    Guarantee: data ``d_in`` units apart loses epsilon = ``d_in / scale`` and delta = P[X >= threshold - d_in + 1].

    >>> StableLabel(scale=2, threshold=30).loss(1).epsilon
    Fraction(1, 2)
    """

    name: ClassVar[str] = "stable-label"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    scale: DiscreteScale = DiscreteScale()
    threshold: Whole = Whole(least=1, most=_MOST_THRESHOLD)

    @property
    def distance(self) -> Metric:
        """Units of data, as far as they can be told from a distance and a label."""
        return _SAME_LABEL

    @property
    def domain(self) -> _Label:
        """A distance and a label."""
        return _Label()

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = d_in / scale, and the delta of the test."""
        units = non_negative("d_in", d_in)
        if units == 0:
            return PureDP(0)
        return ApproxDP(units / self.scale, passing_delta(self.scale, self.threshold, units))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return the label where the test passed."""
        distance, label = self.domain.admit(value)
        tested = saturating_sum(np.array([distance]), noise.discrete_laplace(self.scale, count))
        released = np.empty(count, dtype=object)
        released[tested >= self.threshold] = label
        return released


def _examples() -> Iterator[Example]:
    rows = [("a", "b"), "a", "a", "b", "c"]
    pairs: tuple[tuple[Any, Any, int], ...]
    pairs = ((["a"], [], 1), (["a", "b"], ["a", "b", "b"], 1), (rows, rows[::-1], 1))
    yield Example(StableMode(unit=ROW, scale=1, threshold=3), rows, pairs)
    yield Example(StableMode(unit=ROW_REPLACED, scale=2, threshold=9), rows, ((["a", "b"], ["b", "b"], 1),))


@register(
    examples=_examples,
    source="The Algorithmic Foundations of Differential Privacy (Dwork, Roth 2014), section 7.3",
)
@dataclass(frozen=True, kw_only=True)
class StableMode(Composed[Any, "str | None"]):
    """Release the most common key if its lead over the second is large, and nothing otherwise.

    Guarantee: data ``d_in`` rows apart, each row holding all keys of one person, loses epsilon =
    ``touched * d_in / scale`` and delta = P[X >= threshold - touched * d_in + 1], where touched is 1 for rows added or
    removed and 2 for rows replaced.

    Args:
        unit: ROW or ROW_REPLACED. A row is one text or a collection of texts: the keys of one person.
        scale: the scale of the discrete Laplace noise of the lead.
        threshold: what the noisy lead, less 1, must reach.

    >>> mode = StableMode(unit=ROW, scale=1, threshold=20)
    >>> mode.loss(1).epsilon, float(mode.loss(1).delta)
    (Fraction(1, 1), 1.5068...e-09)

    """

    name: ClassVar[str] = "stable-mode"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "a released key is the most common one but for an event of probability delta"

    unit: RowUnit = RowUnit(rule=ALL_KEYS)
    scale: DiscreteScale = DiscreteScale()
    threshold: Whole = Whole(least=1, most=_MOST_THRESHOLD)

    @property
    def distance(self) -> Unit:
        """The declared unit."""
        return self.unit

    @property
    def part(self) -> StableLabel:
        """The test."""
        return StableLabel(scale=self.scale, threshold=self.threshold)

    def plan(self) -> Plan:
        """One draw; replacing a person moves the lead by 2."""
        return Use(self.part, self.unit.touched)

    def error(self, confidence: Number) -> Bound:
        """Return the largest lead that may still fail the test."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = discrete_laplace_reach(self.scale, share_of_failure(wanted))
        return Bound(float(self.threshold + reach + 1), wanted, "the lead of a most common key that is not released")

    def release(self, data: Any, run: Runner) -> str | None:
        """Return the most common key, or None."""
        persons = persons_of(data, None)
        leader = min(persons, key=lambda key: (-persons[key], key), default="")
        lead = persons[leader] - max((count for key, count in persons.items() if key != leader), default=0)
        return run(self.part, (max(0, lead - 1), leader), stability=self.unit.touched)
