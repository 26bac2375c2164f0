"""Sampling in stages, and analysts who choose by the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.audit import Analyst, Outcome, audit, audit_until, sampler_of
from dither.errors import InvalidParameter
from dither.mechanisms import AboveThreshold, Geometric, InteractivePrimitive, Numerics
from dither.mechanisms.core.values import IntegerArray
from dither.noise import Noise
from dither.privacy import L1, LARGEST, Loss, Metric, PureDP


@pytest.mark.statistical(n=500_000, false_alarm=1e-9, catches="stages that spend more than they have")
def test_a_search_stops_when_it_knows() -> None:
    seen = []
    gross = audit_until(lambda value, count: np.full(count, value), 0, 1, claim=PureDP(1), progress=seen.append)
    assert gross.outcome is Outcome.REFUTED
    assert gross.samples == 1000
    assert tuple(seen) == gross.stages
    # Over 12 runs the first stage showed 0.51 (deviation 0.06), the seventh 0.93 (0.006): six and thirteen deviations.
    tight = audit_until(Geometric(scale=1), 0, 1, tight=0.85, most_samples=500_000, false_alarm=1e-9)
    assert tight.outcome is Outcome.TIGHT
    assert tight.strongest.tightness >= 0.85
    assert sum(stage.evidence.false_alarm for stage in tight.stages) <= 1e-9
    assert len(tight.stages) > 1


def test_a_search_ends() -> None:
    idle = audit_until(lambda value, count: np.zeros(count), 0, 1, claim=PureDP(1), most_samples=10_000)
    assert idle.outcome is Outcome.EXHAUSTED
    assert idle.samples == 10_000
    assert "proves nothing" in str(idle)
    with pytest.raises(InvalidParameter, match="tight"):
        audit_until(Geometric(scale=1), 0, 1, tight=0.0)
    with pytest.raises(InvalidParameter, match="most_samples"):
        audit_until(Geometric(scale=1), 0, 1, most_samples=3)


@dataclass(frozen=True, kw_only=True)
class Echo(InteractivePrimitive[int, int]):
    """Says back what it hears, until it hears 9."""

    name: ClassVar[str] = "echo"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    metric: Metric = LARGEST

    @property
    def distance(self) -> Metric:
        return self.metric

    @property
    def domain(self) -> IntegerArray:
        return IntegerArray(())

    def loss(self, d_in: Any = 1) -> Loss:
        return PureDP(1)

    def begin(self, noise: Noise) -> None:
        return None

    def reply(self, state: None, value: int, noise: Noise) -> tuple[int, bool]:
        return int(value), value == 9


def follows(answers: Sequence[Any]) -> int | None:
    """Ask next for what the last answer points at."""
    return answers[-1] if answers else 0


def test_answers_choose_the_questions() -> None:
    assert sampler_of(Echo())(Analyst([3, 7, 5, 1], follows, 3), 2).tolist() == [[3, 1, 7]] * 2
    # Over at 9: the rest was not asked.
    assert sampler_of(Echo())(Analyst([1, 9], follows, 4), 1).tolist() == [[1, 9, 2, 2]]


def test_an_adaptive_analyst_refutes_what_is_not_private() -> None:
    assert audit(Echo(), Analyst([0, 1], follows, 3), Analyst([1, 0], follows, 3), samples=1000).is_refuted


@pytest.mark.statistical(n=6000, false_alarm=1e-9, catches="a sound conversation refuted")
def test_an_adaptive_analyst_does_not_refute_what_is() -> None:
    mechanism = AboveThreshold(threshold=0, threshold_scale=2, query_scale=4)

    def nagging(answers: Sequence[Any]) -> int:
        return len(answers) % 2

    here, there = Analyst([0, 1], nagging, 4), Analyst([1, 0], nagging, 4)
    assert not audit(mechanism, here, there, samples=6000, false_alarm=1e-9).is_refuted


def test_pairs_of_analysts_that_would_prove_nothing_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="rule"):
        audit(Echo(), Analyst([0], follows, 3), Analyst([1], follows, 2), samples=1000)
    with pytest.raises(InvalidParameter, match="an analyst"):
        audit(Echo(), Analyst([0], follows, 3), [1], samples=1000)
    with pytest.raises(InvalidParameter, match="at most 1"):
        audit(Echo(), Analyst([0], follows, 3), Analyst([5], follows, 3), samples=1000)
    with pytest.raises(InvalidParameter, match="any number of questions"):
        audit(Echo(metric=L1), Analyst([0], follows, 3), Analyst([1], follows, 3), samples=1000)
