"""One run and many canaries: the bound against a linear program, a known epsilon, and a leak."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.audit import audit_one_run
from dither.audit.canaries import chance_of_right, epsilon_from_guesses
from dither.errors import InvalidParameter
from dither.noise import system_noise
from dither.privacy import ZCDP, ApproxDP, PureDP

CANARIES = 600


def binomial(guesses: int, coin: float) -> list[float]:
    return [math.comb(guesses, hits) * coin**hits * (1 - coin) ** (guesses - hits) for hits in range(guesses + 1)]


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.02, 0.3])
def test_the_chance_is_what_a_linear_program_finds(epsilon: float, delta: float) -> None:
    """The most that an adversary can add: mass moved from v - i to v costs i, and m delta can be spent."""
    from scipy.optimize import linprog

    guesses, canaries = 9, 12
    masses = binomial(guesses, 1 / (1 + math.exp(-epsilon)))
    for right in range(1, guesses + 1):
        below = [masses[right - i] for i in range(1, right + 1)]
        costs = list(range(1, right + 1))
        found = linprog([-1.0] * right, A_ub=[costs], b_ub=[canaries * delta], bounds=[(0, mass) for mass in below])
        truth = min(1.0, sum(masses[right:]) - found.fun)
        assert chance_of_right(right, guesses, epsilon, canaries=canaries, delta=delta) == pytest.approx(
            truth, abs=1e-8
        )


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
def test_the_chance_grows_with_epsilon(delta: float) -> None:
    chances = [
        chance_of_right(70, 100, epsilon, canaries=200, delta=delta) for epsilon in np.linspace(0, 6, 40).tolist()
    ]
    assert chances == sorted(chances)


def test_the_bound_inverts_the_chance() -> None:
    shown = epsilon_from_guesses(95, 100, canaries=100, false_alarm=1e-3)
    assert shown > 1
    assert chance_of_right(95, 100, shown * 0.999, canaries=100) <= 1e-3
    assert chance_of_right(95, 100, shown * 1.001, canaries=100) > 1e-3
    assert epsilon_from_guesses(50, 100, canaries=100, false_alarm=1e-3) == 0
    # All right by all means: what one coin after the other allows.
    assert epsilon_from_guesses(20, 20, canaries=20, false_alarm=0.5**20) == pytest.approx(0, abs=1e-9)


def noisy_histogram(epsilon: Fraction) -> Callable[[list[int]], Any]:
    def train(rows: list[int]) -> Any:
        counts = np.zeros(CANARIES, dtype=np.int64)
        counts[rows] = 1
        return counts + system_noise().discrete_laplace(1 / epsilon, CANARIES)

    return train


def look_up(output: Any, canary: int) -> float:
    return float(output[canary])


@pytest.mark.statistical(n=CANARIES, false_alarm=1e-9, miss=1e-9, catches="a training run that leaks what it is fed")
def test_an_honest_run_passes_and_a_leaky_one_does_not() -> None:
    """A noisy histogram of the canaries is exactly epsilon-private; at epsilon = 4 about 0.95 of guesses are right."""
    claim = PureDP(4)
    honest = audit_one_run(noisy_histogram(Fraction(4)), range(CANARIES), look_up, claim=claim, false_alarm=1e-9)
    assert not honest.is_refuted, str(honest)
    assert honest.epsilon_lower > 1, str(honest)
    assert honest.to_dict()["claim"] == {"kind": "pure", "epsilon": "4"}
    leaky = audit_one_run(noisy_histogram(Fraction(4)), range(CANARIES), look_up, claim=PureDP(1), false_alarm=1e-9)
    assert leaky.is_refuted, str(leaky)
    assert "REFUTED, epsilon = 1" in str(leaky)


@pytest.mark.statistical(n=CANARIES, false_alarm=1e-9, catches="a bound where the output says nothing")
def test_other_promises() -> None:
    """Everything is kept: at a delta of its own, for zCDP at one that the false alarm can bear."""
    for claim in (ApproxDP(1, "1e-9"), ZCDP("1/50")):
        run = audit_one_run(lambda rows: set(rows), range(CANARIES), lambda kept, row: row in kept, claim=claim)
        assert run.is_refuted, str(run)
        assert run.delta * CANARIES < 1e-6
    blind = audit_one_run(lambda rows: None, range(CANARIES), lambda output, row: 0.0, false_alarm=1e-9)
    assert not blind.is_refuted
    assert blind.epsilon_lower == 0


def test_odd_arguments_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="canaries"):
        audit_one_run(set, [1], lambda output, row: 0.0)
    with pytest.raises(InvalidParameter, match="false_alarm"):
        audit_one_run(set, [1, 2], lambda output, row: 0.0, false_alarm=0)
