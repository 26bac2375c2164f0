"""Repeat and select: the best of a secret random number of runs, each of a candidate chosen at random.

For the choice of hyper-parameters: trying many and keeping the best costs two or three runs, however many are tried.
Cost: the expected number of runs. Correction: the number of runs is drawn in secret from a law that makes the choice
private; the best of a fixed number of runs, or of one run of each candidate, costs as much as all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Field, Number, Positive, Whole, non_negative
from dither.mechanisms.core.mechanism import Composed, Mechanism, Numerics, NumericsOf, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import Category
from dither.mechanisms.geometric import Geometric
from dither.noise import Noise
from dither.privacy import DIFFERENT, Best, Distance, InOrder, Loss, Metric, Plan, PureDP, Repeats, Unit, Use, Within

AnyMechanism = Mechanism[Any, Any]
#: More runs than this a selection may not expect: it would hardly end.
MOST_RUNS: Final = 2**20


def _examples() -> Iterator[Example]:
    counts = (Geometric(scale=4), Geometric(scale=8))
    pairs = ((0, 1, 1), (5, 3, 2), (2**60, 2**60 - 1, 1))
    yield Example(RepeatAndSelect(candidates=counts, stop="1/2", shape=1), 3, pairs)
    yield Example(RepeatAndSelect(candidates=counts[:1], stop="1/4", shape=0), 3, pairs)


class _Candidates(Field["tuple[AnyMechanism, ...]", "tuple[AnyMechanism, ...]"]):
    """One or more mechanisms with pure losses and the same distance."""

    def convert(self, name: str, value: tuple[AnyMechanism, ...]) -> tuple[AnyMechanism, ...]:
        listed = tuple(value) if isinstance(value, tuple | list) else ()
        if not listed or not all(isinstance(candidate, Primitive | Composed) for candidate in listed):
            raise InvalidParameter(name, value, "one or more primitives or composed mechanisms")
        if any(candidate.distance != listed[0].distance for candidate in listed):
            raise InvalidParameter(name, value, "mechanisms that all count the same distance")
        if not all(isinstance(candidate.loss(1), PureDP) for candidate in listed):
            raise InvalidParameter(name, value, "mechanisms with pure losses: selection is priced for no other")
        return listed

    def offenders(self) -> Iterator[Any]:
        """Return mechanisms with different distances, and anything that is not a tuple of mechanisms."""
        one = Geometric(scale=1)
        yield from ((), (0,), (one, None), one, (one, Lottery(tickets=2)), None, object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return fewer candidates, and more."""
        given = tuple(kept or (Geometric(scale=1),))
        yield from (given[:1], (*given, given[0]))


@dataclass(frozen=True, kw_only=True)
class Lottery(Primitive[int, int]):
    """Draw one of ``tickets`` numbers uniformly, without looking at the value.

    Guarantee: nothing is lost, because the draw does not depend on the value.

    >>> Lottery(tickets=6).loss(1)
    PureDP('0')
    """

    name: ClassVar[str] = "lottery"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    tickets: Whole = Whole(least=1, most=2**32)

    @property
    def distance(self) -> Metric:
        """Whether two values differ; the draw is the same either way."""
        return DIFFERENT

    @property
    def domain(self) -> Category:
        """Any integer."""
        return Category(1)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return a loss of zero."""
        non_negative("d_in", d_in)
        return PureDP(0)

    def draw_many(self, value: int, count: int, noise: Noise) -> NDArray[Any]:
        """Return uniform numbers."""
        return np.asarray(noise.uniform_below(self.tickets, count))


@dataclass(frozen=True, kw_only=True)
class OneRun(Composed[Any, tuple[Any, tuple[int, Any]]]):
    """Run one randomly chosen candidate, and return its score, its number and its result.

    Guarantee: one run loses what the candidate loses that loses most.

    >>> OneRun(candidates=(Geometric(scale=4), Geometric(scale=8))).loss(1).epsilon
    Fraction(1, 4)
    """

    name: ClassVar[str] = "one-run"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = NumericsOf("candidates")  # type: ignore[assignment]

    candidates: _Candidates = _Candidates()

    @property
    def distance(self) -> Distance:
        """The candidates' distance."""
        return self.candidates[0].distance

    @cached_property
    def lottery(self) -> Lottery:
        """The random choice of a candidate."""
        return Lottery(tickets=len(self.candidates))

    def plan(self) -> Plan:
        """Return a random number, then any one candidate, at the price of the most expensive."""
        dearest = PureDP(max(candidate.loss(1).pure or Fraction(0) for candidate in self.candidates))
        kinds = tuple(dict.fromkeys(type(candidate) for candidate in self.candidates))
        unit = self.distance if isinstance(self.distance, Unit) else None
        return InOrder.of(Use(self.lottery), Within(dearest, kinds, unit))

    def release(self, data: Any, run: Runner) -> tuple[Any, tuple[int, Any]]:
        """Return the score, and the number of the candidate with its result."""
        number = run(self.lottery, 0)
        candidate: Any = self.candidates[number]
        score, result = _scored(run.within()(candidate, data))
        return score, (number, result)


@register(
    examples=_examples,
    source="Hyperparameter Tuning with Renyi Differential Privacy (Papernot, Steinke 2022), section 3; Private "
    "Selection from Private Candidates (Liu, Talwar 2019)",
)
@dataclass(frozen=True, kw_only=True)
class RepeatAndSelect(Composed[Any, tuple[int, Any]]):
    """Run randomly chosen candidates a secret random number of times, and release the best run with its number.

    Guarantee: data ``d_in`` apart loses epsilon = ``(2 + shape) * d_in`` times that of the dearest candidate.

    Args:
        candidates: mechanisms with pure losses that take the same data. Each releases a pair of a score and a result,
            or one number, which is then both. The score is paid for by the candidate: nothing else looks at data.
        stop: the larger, the fewer runs; 1 / stop of them are expected with ``shape`` 1.
        shape: 1 for the geometric law of the number of runs, at three times the price of one run; 0 for the
            logarithmic law, at twice the price.

    >>> tuned = RepeatAndSelect(candidates=(Geometric(scale=4), Geometric(scale=8)), stop="1/10", shape=1)
    >>> tuned.loss(1).epsilon, tuned.repeats.mean
    (Fraction(3, 4), 10.0)

    """

    name: ClassVar[str] = "repeat-and-select"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = NumericsOf("candidates")  # type: ignore[assignment]
    no_error_because: ClassVar[str] = "how good the best run is depends on the candidates and the data"
    no_interval_because: ClassVar[str] = "a result that was chosen because its score was high is no unbiased one"

    candidates: _Candidates = _Candidates()
    stop: Positive = Positive(least=Fraction(1, MOST_RUNS))
    shape: Whole = Whole(most=1)

    def __post_init__(self) -> None:
        Repeats(self.stop, self.shape)

    @property
    def distance(self) -> Distance:
        """The candidates' distance."""
        return self.candidates[0].distance

    @cached_property
    def repeats(self) -> Repeats:
        """The distribution of the number of runs."""
        return Repeats(self.stop, self.shape)

    @cached_property
    def one_run(self) -> OneRun:
        """The run that is repeated."""
        return OneRun(candidates=self.candidates)

    def plan(self) -> Plan:
        """Return the best of a random number of runs."""
        return Best(Use(self.one_run), self.repeats)

    def release(self, data: Any, run: Runner) -> tuple[int, Any]:
        """Return the number of the winning candidate, and its result."""
        return run.best(self.one_run, data, self.repeats)


def _scored(released: Any) -> tuple[Any, Any]:
    """Return a score and a result; a score that is not a number ranks below all others."""
    score, result = released if isinstance(released, tuple) and len(released) == 2 else (released, released)
    is_number = isinstance(score, int | float | Fraction | np.integer | np.floating)
    return score if is_number else -math.inf, result
