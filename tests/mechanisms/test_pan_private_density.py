"""The pan-private density estimator: the joint law of coins and answer, audits of both, and estimators that must fail.

The closed form of the law uses no line of ``dither``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from dither.audit import audit
from dither.audit.samplers import BlockNoise
from dither.errors import HandleMisuse, InvalidValue
from dither.mechanisms import Intrusion, PanPrivateDensity
from dither.noise import Noise, SystemEntropy, system_noise
from dither.privacy import PureDP
from dither.testing.branching import branch_outcomes

SEEN = Intrusion.UNANNOUNCED
EPSILON, SCALE = 0.5, 2
ONE = PanPrivateDensity(users=1, steps=2, bit_epsilon=EPSILON, scale=SCALE)


def told(density: PanPrivateDensity, script: Any, noise: Noise) -> tuple[int, ...]:
    state = density.begin(noise)
    return tuple(density.reply(state, value, noise)[0] for value in script)


def laplace(x: int) -> float:
    q = math.exp(-1 / SCALE)
    return (1 - q) / (1 + q) * q ** abs(x)


def coin(bit: int, is_biased: bool) -> float:
    heads = 1 - math.exp(-EPSILON) / 2 if is_biased else 0.5
    return heads if bit else 1 - heads


def joint(script: Any, bit: int, answer: int) -> float:
    """Return the probability of a bit at the intrusion and of an answer: user 0 is the only one, 1 is nobody."""
    place = script.index(SEEN)
    before, after = 0 in script[:place], 0 in script[place:]
    if not after:
        return coin(bit, before) * laplace(answer - bit)
    return coin(bit, before) * sum(coin(last, True) * laplace(answer - last) for last in (0, 1))


STREAMS = [[0, SEEN, 1], [1, SEEN, 0], [0, SEEN, 0], [1, SEEN, 1], [SEEN, 0, 0], [0, 1, SEEN]]


@pytest.mark.parametrize("script", STREAMS[:5], ids=("before", "after", "both", "never", "later"))
def test_coins_and_answer_have_the_joint_law_of_the_closed_form(script: list[Any]) -> None:
    law = branch_outcomes(partial(told, ONE, script), runs=200)
    place = script.index(SEEN)
    for outcome in sorted(law.mass, key=lambda found: -law.mass[found])[:8]:
        true = joint(script, outcome[place], outcome[-1])
        assert float(law.mass[outcome]) <= true * (1 + 1e-9)
        assert true <= float(law.mass[outcome] + law.undecided) + 1e-12
    assert float(law.undecided) < 0.5


def test_the_loss_holds_for_all_outcomes_and_is_nearly_reached() -> None:
    """A user who appears before and after the intrusion, beside one who never does."""
    stated, found = float(ONE.loss(1).epsilon), 0.0
    for here, there in itertools.permutations([STREAMS[0], STREAMS[1], STREAMS[2], STREAMS[3]], 2):
        for bit, answer in itertools.product((0, 1), range(-40, 40)):
            found = max(found, math.log(joint(here, bit, answer) / joint(there, bit, answer)))
    assert found <= stated
    # The coin gives away all of its share; the answer less, as nobody knows the last coin.
    assert found > EPSILON
    assert stated == EPSILON + 1 / SCALE


def test_no_coin_of_a_larger_bias_would_do() -> None:
    """Tails are e^epsilon times likelier for who did not appear, exactly; heads are less than that."""
    assert coin(0, False) / coin(0, True) == pytest.approx(math.exp(EPSILON))
    assert coin(1, True) / coin(1, False) < math.exp(EPSILON)
    assert coin(1, True) - 0.5 == pytest.approx(ONE.bias)
    assert ONE.bias > 1.5 * EPSILON / 4


# Audits of memory and answer together.


@dataclass(frozen=True, kw_only=True)
class EmptyCoins(PanPrivateDensity):
    """Starts with tails everywhere: heads say who appeared."""

    def begin(self, noise: Noise) -> Any:
        state = super().begin(noise)
        state.bits[:] = False
        return state


@dataclass(frozen=True, kw_only=True)
class BareSum(PanPrivateDensity):
    """Answers with the sum of the coins: private alone, and not beside the coins seen before."""

    def reply(self, state: Any, value: Any, noise: Noise) -> tuple[int, bool]:
        answer, is_over = super().reply(state, value, noise)
        return (int(state.bits.sum()) if is_over else answer), is_over


PLANTED: list[tuple[Any, Any, Any]] = [
    (EmptyCoins, [0, SEEN, 1, 1], [1, SEEN, 1, 1]),
    (BareSum, [SEEN, 0, 0, 1], [SEEN, 1, 1, 1]),
]


@pytest.mark.statistical(n=1_600, false_alarm=1e-10, miss=1e-9, catches="coins, or an answer, without noise")
@pytest.mark.parametrize(("kind", "here", "there"), PLANTED, ids=[kind.__name__ for kind, _, _ in PLANTED])
def test_audits_of_coins_and_answer_together(kind: Any, here: Any, there: Any) -> None:
    """Who must fail shows with positive chance what has none on the other side; the sound one passes."""
    public: dict[str, Any] = {"users": 1, "steps": 3, "bit_epsilon": 1, "scale": 1}
    noise = BlockNoise(SystemEntropy())

    def sampler(density: PanPrivateDensity) -> Any:
        return lambda script, count: np.array([told(density, script, noise) for _ in range(count)])

    common: dict[str, Any] = {"samples": 1_600, "claim": PureDP(2), "false_alarm": 1e-10}
    assert audit(sampler(kind(**public)), here, there, **common).is_refuted
    assert not audit(sampler(PanPrivateDensity(**public)), here, there, **common).is_refuted


# The estimate and the conversation.


@pytest.mark.statistical(n=100, false_alarm=1e-9, catches="an estimate that counts visits, or misses a third")
def test_estimates_cover_the_number_of_different_users() -> None:
    """100 streams of 60 users, 25 of whom appear, some four times: intervals of 0.9, Hoeffding's, miss hardly ever."""
    density = PanPrivateDensity(users=60, steps=40, bit_epsilon=2, scale=1)
    script, noise = [*range(20), *[20, 21, 22, 23, 24] * 4], BlockNoise(SystemEntropy())
    finals = np.array([told(density, script, noise)[-1] for _ in range(100)])
    interval = density.interval(finals, "0.9")
    # At most 65 of 100 at a chance of 0.9 each: below 1e-10.
    assert ((interval.low <= 25) & (interval.high >= 25)).sum() > 65
    # The deviation of one estimate is below sqrt(60 / 4 + 2) / bias < 9.6, of the mean of 100 below 0.96.
    assert abs(density.estimate(finals).mean() - 25) < 6.5 * 0.96


def test_the_memory_is_shown_once() -> None:
    density, noise = PanPrivateDensity(users=3, steps=2, bit_epsilon=1, scale=1), system_noise()
    state = density.begin(noise)
    assert 0 <= density.reply(state, SEEN, noise)[0] < 8
    for again in Intrusion:
        with pytest.raises(HandleMisuse, match="one unannounced intrusion"):
            density.reply(state, again, noise)
    assert density.reply(state, -5, noise) == (0, False)
    with pytest.raises(InvalidValue):
        density.reply(state, "0", noise)
    assert density.reply(state, 2**70, noise)[1]


def test_streams_are_compared_user_by_user() -> None:
    metric = PanPrivateDensity(users=3, steps=9, bit_epsilon=1, scale=1).distance
    assert metric.measure([0, 1, 0, SEEN], [3, 1, 3, SEEN]) == 1
    assert metric.measure([0, 1, 2], [1, 0, 2]) == 2
    assert metric.measure([3, 7, 99], [5, 3, 3]) == 0
    assert metric.measure([0, SEEN], [SEEN, 0]) is None
    assert metric.measure([0], [0, 0]) is None
