"""Stability-based selection: counts of keys from a domain that is not known in advance.

For histograms over an open domain: words, places, products. A key is published only if its noisy number of people
reaches a threshold, so that a key of one person alone hardly ever is. Cost: one pass over the rows, one draw a key.
Corrections: delta is that of the discrete noise and of all the keys that one person may have; a count that was
published because it was large is too large on average, so it is drawn afresh or comes with an interval that allows for
it.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue, NoGuarantee
from dither.exact import Maybe, Number, Of, Whole, non_negative, probability
from dither.exact.enclosure import round_down
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE, Domain, raw_set, raw_text, saturating_sum
from dither.mechanisms.propose_test_release import discrete_laplace_tail, threshold_for
from dither.noise import Noise
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, Loss, Metric, Plan, PureDP, Unit, Use
from dither.privacy.calibration import plain_approx
from dither.privacy.fields import RowUnit

Counts = tuple[tuple[str, int], ...]
#: What a row is where keys are counted.
ALL_KEYS = "ROW or ROW_REPLACED, a row being all keys of one person"
_MOST_THRESHOLD = 2**60
# Groups up to this size have the exact delta; for larger ones it is bounded from above.
_SINGLY = 256
# A delta of more bits is rounded up to a multiple of 2^-4096: at a large epsilon it has more digits than a loss takes.
_FINEST = 4096


class KeyCounts(Domain):
    """A ``Counter`` of texts. Entries that are not texts, or whose count is not above 0, are ignored."""

    def admit(self, value: Any) -> Counts:
        """Return the keys in order, with their counts."""
        if not isinstance(value, Counter):
            raise InvalidValue("value", value, "a Counter of strings")
        kept = ((key, count) for key, count in value.items() if type(key) is str and type(count) is int and count > 0)
        return tuple(sorted((key, min(count, LARGEST_VALUE)) for key, count in kept))

    def __str__(self) -> str:
        return "a Counter of strings"


class Touches(Metric):
    """Between two histograms: the number of units, each of which moves at most ``most`` counts by 1."""

    def __init__(self, most: int) -> None:
        super().__init__(f"TOUCHES({most})", f"units, each moving at most {most} counts by 1")
        self.most = most

    def measure(self, first: Any, second: Any) -> Fraction:
        """Return the least number of units: at least the largest change, and enough for all changes together."""
        here, there = dict(first), dict(second)
        changes = [abs(here.get(key, 0) - there.get(key, 0)) for key in here.keys() | there.keys()]
        return Fraction(max([-(-sum(changes) // self.most), *changes]))


@dataclass(frozen=True, kw_only=True)
class ThresholdedCounts(Primitive[Any, dict[str, int]]):
    """Publish the keys whose noisy count reaches a threshold; fresh noise for the count has scale ``value_scale``.

    Guarantee: histograms ``d_in`` apart, each unit moving at most ``max_keys`` counts by 1, lose epsilon =
    ``max_keys * d_in * (1 / scale + 1 / value_scale)``, the last term only with fresh noise, and the delta of the keys
    that only one of the two histograms has.

    >>> ThresholdedCounts(max_keys=2, scale=4, threshold=60).loss(1).epsilon
    Fraction(1, 2)
    """

    name: ClassVar[str] = "thresholded-counts"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    max_keys: Whole = Whole(least=1, most=2**20)
    scale: DiscreteScale = DiscreteScale()
    threshold: Whole = Whole(least=1, most=_MOST_THRESHOLD)
    value_scale: Maybe = Maybe(DiscreteScale())

    @property
    def distance(self) -> Metric:
        """Units that move few counts by 1 each."""
        return Touches(self.max_keys)

    @property
    def domain(self) -> KeyCounts:
        """The number of people for each key."""
        return KeyCounts()

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon for keys in both histograms, and delta for keys in only one of them."""
        units = non_negative("d_in", d_in)
        if units == 0:
            return PureDP(0)
        fresh = 1 / self.value_scale if self.value_scale else Fraction(0)
        return ApproxDP(self.max_keys * units * (1 / self.scale + fresh), self._delta(math.ceil(units)))

    def _delta(self, units: int) -> Fraction:
        """Return the worst-case probability of publishing any key that only one of two histograms has."""
        worst = Fraction(0)
        for least, most in _ranges(units):
            shown = discrete_laplace_tail(self.scale, self.threshold - most)
            keys = -(-self.max_keys * units // least)
            # The union bound is not worse where the power has no digits left.
            worst = max(worst, min(1 - _power_down(1 - shown, keys), keys * shown))
        if worst.denominator.bit_length() > _FINEST:
            worst = Fraction(math.ceil(worst * 2**_FINEST), 2**_FINEST)
        if worst >= 1:
            raise NoGuarantee(f"for {units} units together the threshold says nothing: delta would be 1")
        return worst

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return dictionaries of the published keys, in the order of the keys."""
        counts = self.domain.admit(value)
        exact = np.array([number for _, number in counts], dtype=np.int64)
        published = np.empty(count, dtype=object)
        for index in range(count):
            tested = saturating_sum(exact, noise.discrete_laplace(self.scale, exact.size))
            values = tested
            if self.value_scale:
                values = saturating_sum(exact, noise.discrete_laplace(self.value_scale, exact.size))
            passed = np.flatnonzero(tested >= self.threshold)
            published[index] = {counts[place][0]: int(values[place]) for place in passed}
        return published


def _examples() -> Iterator[Example]:
    rows = [("a", "b"), ("a",), ("a", "c", "d"), "b", ()]
    far: tuple[tuple[Any, Any, int], ...]
    far = (([("a",)], [("a",), ("x", "y", "z")], 1), ([], [("x", "y")], 1), (rows, rows[::-1], 1))
    yield Example(StabilitySelection(unit=ROW, max_keys=2, scale=2, threshold=5), rows, far)
    swapped = (([("a", "b")], [("c", "d")], 1), (rows, [*rows[:-1], ("p", "q")], 1))
    fresh = StabilitySelection(unit=ROW_REPLACED, max_keys=2, scale=2, threshold=7, value_scale=4)
    yield Example(fresh, rows, swapped)


@register(
    examples=_examples,
    source="Releasing Search Queries and Clicks Privately (Korolova et al. 2009); Differential Privacy and "
    "Applications (Zhu et al. 2017), sections 6.2.3 and 11.3",
    made_for={"fresh": True},
)
@dataclass(frozen=True, kw_only=True)
class StabilitySelection(Composed[Any, dict[str, int]]):
    """Count the people with each key, and publish the keys whose noisy count reaches a threshold.

    Guarantee: data ``d_in`` rows apart, each row holding all keys of one person, loses epsilon =
    ``touched * max_keys * d_in * (1 / scale + 1 / value_scale)``, the last term only with fresh noise, where touched is
    1 for rows added or removed and 2 for rows replaced; and delta = 1 - (1 - P[X >= threshold - 1])^max_keys for one
    row added or removed, X the noise of scale ``scale``.

    Args:
        unit: ROW or ROW_REPLACED. A row is one text or a collection of texts: the keys of one person.
        max_keys: the most keys that count for one person; which ones count depends on the person's own keys alone.
        scale: the scale of the discrete Laplace noise that decides.
        threshold: what a noisy count must reach.
        value_scale: the scale of fresh noise for the published counts; without it the noisy count that decided is
            published, which is too large on average.

    >>> histogram = StabilitySelection(unit=ROW, max_keys=1, scale=1, threshold=20)
    >>> histogram.loss(1).epsilon, float(histogram.loss(1).delta)
    (Fraction(1, 1), 4.0959...e-09)

    """

    name: ClassVar[str] = "stability-selection"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    unit: RowUnit = RowUnit(rule=ALL_KEYS)
    max_keys: Whole = Whole(least=1, most=2**20)
    scale: DiscreteScale = DiscreteScale()
    threshold: Whole = Whole(least=1, most=_MOST_THRESHOLD)
    value_scale: Maybe = Maybe(DiscreteScale())

    @classmethod
    def calibrated(cls, within: Loss, *, unit: Unit, max_keys: int, fresh: bool) -> StabilitySelection:
        """Return the least noise and threshold for ``within``; with ``fresh``, half of epsilon is for the counts."""
        wanted, draft = plain_approx(within), cls(unit=unit, max_keys=max_keys, scale=1, threshold=1)
        scale = draft.max_keys * draft.unit.touched * (2 if fresh else 1) / wanted.epsilon

        def built(threshold: int) -> StabilitySelection:
            value_scale = scale if fresh else None
            return cls(unit=unit, max_keys=max_keys, scale=scale, threshold=threshold, value_scale=value_scale)

        def fits(threshold: int) -> bool:
            try:
                return built(threshold).loss(1) <= within
            except NoGuarantee:  # nearly every key would be published
                return False

        # Enough for one key is not enough for all; more than enough for all at once is enough.
        low = 0
        high = threshold_for(scale, wanted.delta / (2 * draft.max_keys * draft.unit.touched)) + draft.unit.touched
        while high - low > 1:
            between = (low + high) // 2
            low, high = (low, between) if fits(between) else (between, high)
        return built(high)

    @property
    def distance(self) -> Unit:
        """The declared unit."""
        return self.unit

    @property
    def part(self) -> ThresholdedCounts:
        """The noise and the threshold."""
        return ThresholdedCounts(
            max_keys=self.max_keys, scale=self.scale, threshold=self.threshold, value_scale=self.value_scale
        )

    def plan(self) -> Plan:
        """One draw; replacing a person removes keys and adds others."""
        return Use(self.part, self.unit.touched)

    def error(self, confidence: Number) -> Bound:
        """Return the number of people from which a key is published with that probability."""
        wanted = probability("confidence", confidence, open_below=True)
        reach = discrete_laplace_reach(self.scale, share_of_failure(wanted))
        return Bound(float(self.threshold + reach), wanted, "the number of people of a key that stays hidden")

    def interval(self, out: dict[str, int], confidence: Number) -> Interval:
        """Return intervals for the numbers of people of all published keys at once, given that these were published."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, max(1, len(out)))
        if self.value_scale:
            reach = discrete_laplace_reach(self.value_scale, failure)
            return Interval(
                {key: max(1, value - reach) for key, value in out.items()},
                {key: max(1, value + reach) for key, value in out.items()},
                wanted,
            )
        # A key far below the threshold is published with a count that says nothing but that it was published.
        silent = math.ceil(float(self.scale) * math.log(2 / failure) * (1 + 1e-9))
        reach = discrete_laplace_reach(self.scale, failure / 2)
        low = {key: max(1, value - reach) if value - self.threshold >= silent else 1 for key, value in out.items()}
        return Interval(low, {key: value + reach for key, value in out.items()}, wanted)

    def release(self, data: Any, run: Runner) -> dict[str, int]:
        """Return the published keys and their counts, in the order of the keys."""
        return run(self.part, persons_of(data, self.max_keys), stability=self.unit.touched)


def persons_of(rows: Iterable[Any], max_keys: int | None) -> Counter[str]:
    """Return the number of people for each key; of a person's keys, the first by a hash of them all count."""
    persons: Counter[str] = Counter()
    for row in rows:
        keys = _keys(row)
        if max_keys is not None and len(keys) > max_keys:
            whole_row = hashlib.sha256("".join(map(repr, sorted(keys))).encode()).digest()
            keys = set(sorted(keys, key=lambda key: hashlib.sha256(whole_row + repr(key).encode()).digest())[:max_keys])
        persons.update(keys)
    return persons


def _keys(row: Any) -> set[str]:
    """Return the distinct texts of a row; anything else in it is ignored."""
    alone = raw_text(row)
    if alone is not None:
        return {alone}
    return {text for text in map(raw_text, raw_set(row)) if text is not None}


def _ranges(units: int) -> Iterator[tuple[int, int]]:
    """Return ranges that together cover 1 to ``units``: single numbers first, then ranges of doubling length."""
    least = 1
    while least <= units:
        most = least if least <= _SINGLY else min(2 * least, units)
        yield least, most
        least = most + 1


def _power_down(base: Fraction, exponent: int) -> Fraction:
    """Return at most ``base ** exponent``, for a base in [0, 1], as a fraction of moderate length."""
    result, base = Fraction(1), round_down(base)
    while exponent:
        if exponent % 2:
            result = round_down(result * base)
        base, exponent = round_down(base * base), exponent // 2
    return result


class OneSelection:
    """A mechanism whose only draw is one selection among keys that it derives from each row separately.

    A mix-in without fields: the mechanism states the selection itself.
    """

    selection: Of[StabilitySelection]

    @property
    def distance(self) -> Unit:
        """The unit of the selection."""
        return self.selection.unit

    def plan(self) -> Plan:
        """Select once."""
        return Use(self.selection)

    def error(self, confidence: Number) -> Bound:
        """Return the number of rows from which a key is published with that probability."""
        return self.selection.error(confidence)
