"""The pan-private counter: the joint law of memory and reports, audits of both together, and counters that must fail.

The closed form of the law uses no line of ``dither``.
"""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.audit import audit
from dither.audit.samplers import BlockNoise
from dither.checks.law import check_law_by_branching
from dither.errors import HandleMisuse, InvalidParameter, InvalidValue
from dither.mechanisms import Budget, Intrusion, PanPrivateCounter, converse
from dither.noise import Noise, SystemEntropy, system_noise
from dither.privacy import EVENT, ApproxDP, PureDP
from dither.testing.branching import branch_outcomes

UNKNOWN, ANNOUNCED = Intrusion.UNANNOUNCED, Intrusion.ANNOUNCED
SCALE = 2
COUNTER = PanPrivateCounter(scale=SCALE, steps=4, every=2, announced=1)


def told(counter: PanPrivateCounter, script: Any, noise: Noise) -> tuple[int, ...]:
    """Return the answers to a script of values and intrusions."""
    state = counter.begin(noise)
    return tuple(counter.reply(state, value, noise)[0] for value in script)


@cache
def chance(x: int, scale: float = SCALE) -> float:
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(x)


@cache
def chance_of_two(moved: int) -> float:
    """Return the probability that two noises add up to ``moved``."""
    return sum(chance(x) * chance(moved - x) for x in range(-80, 81))


def transcript_chance(script: Any, answers: Any) -> float:
    """Return the probability of what was told: noise stands between any two numbers that were shown, and nothing else.

    From one number that was shown to the next goes the sum of the values between them and one noise when either is the
    memory, two when both are reports.
    """
    total, shown, since, is_memory, report, fed = 1.0, 0, 0, False, 0, 0
    for value, answer in zip(script, answers, strict=True):
        if value is UNKNOWN:
            total *= chance(answer - shown - since)
            shown, since, is_memory = answer, 0, True
            continue
        fed += value is not ANNOUNCED
        since += 0 if value is ANNOUNCED else value
        if value is ANNOUNCED or fed % 2 == 0:
            moved = answer - shown - since
            total *= chance(moved) if is_memory else chance_of_two(moved)
            shown, since, is_memory = answer, 0, False
            report = report if value is ANNOUNCED else answer
        if value is not ANNOUNCED and answer != report:
            return 0.0
    return total


SCRIPTS: list[list[Any]] = [
    [3, UNKNOWN, 2],
    [UNKNOWN, 1, 0],
    [1, 0, UNKNOWN],
    [0, UNKNOWN, ANNOUNCED],
    [1, ANNOUNCED, UNKNOWN],
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: "-".join(str(getattr(x, "value", x)) for x in script))
def test_memory_and_reports_have_the_joint_law_of_the_closed_form(script: list[Any]) -> None:
    law = branch_outcomes(partial(told, COUNTER, script), runs=150)
    likeliest = sorted(law.mass, key=lambda outcome: -law.mass[outcome])[:8]
    for outcome in likeliest:
        true = transcript_chance(script, outcome)
        assert float(law.mass[outcome]) <= true * (1 + 1e-9)
        assert true <= float(law.mass[outcome] + law.undecided) + 1e-12
    assert float(law.undecided) < 0.9


def placed(place: int) -> list[tuple[Any, Any]]:
    """Return pairs of streams that differ in one event, with an intrusion at one place."""
    found = []
    for event in range(4):
        here = [0, 0, 0, 0]
        there = [*here[:event], 1, *here[event + 1 :]]
        found.append(([*here[:place], UNKNOWN, *here[place:]], [*there[:place], UNKNOWN, *there[place:]]))
    return found


@pytest.mark.parametrize("place", range(5))
def test_one_intrusion_anywhere_keeps_the_ratio_by_the_closed_form(place: int) -> None:
    """Over a grid of outcomes and all places of event and intrusion: no ratio above e^(1 / scale).

    Some reach it, unless the intruder comes after the last report and sees two noises on everything.
    """
    largest = 0.0
    for here, there in placed(place):
        for shown in itertools.product(range(-3, 4), repeat=3):
            numbers, answers, report, fed = iter(shown), [], 0, 0
            for value in here:
                if value is UNKNOWN:
                    answers.append(next(numbers))
                    continue
                fed += 1
                report = next(numbers) if fed % 2 == 0 else report
                answers.append(report)
            ratio = transcript_chance(here, answers) / transcript_chance(there, answers)
            largest = max(largest, abs(math.log(ratio)))
    assert largest <= 1 / SCALE * (1 + 1e-9)
    assert place == 4 or largest >= 1 / SCALE * (1 - 1e-9)
    assert PureDP(f"1/{SCALE}") == COUNTER.loss(1)


# Audits of memory and reports together.


@dataclass(frozen=True, kw_only=True)
class EmptyMemory(PanPrivateCounter):
    """Starts from nothing, and draws noise for its reports alone: private without intrusions."""

    def begin(self, noise: Noise) -> Any:
        state = super().begin(noise)
        state.noisy_sum = 0
        return state


@dataclass(frozen=True, kw_only=True)
class MemoryReported(PanPrivateCounter):
    """Reports the memory as it stands: private for who sees the memory or the reports, and not for who sees both."""

    def _shown(self, state: Any, noise: Noise) -> int:
        shown = int(state.noisy_sum)
        state.noisy_sum, state.is_seen = shown + self._fresh(noise), False
        return shown


@dataclass(frozen=True, kw_only=True)
class NeverRenewed(PanPrivateCounter):
    """Goes on from the same memory after a report: a second intrusion subtracts the first."""

    def _shown(self, state: Any, noise: Noise) -> int:
        state.is_seen = False
        return int(state.noisy_sum) + self._fresh(noise)


def sampler(counter: PanPrivateCounter) -> Any:
    noise = BlockNoise(SystemEntropy())
    return lambda script, count: np.array([told(counter, script, noise) for _ in range(count)])


PLANTED: list[tuple[Any, Any, Any]] = [
    (EmptyMemory, [0, UNKNOWN, 0], [1, UNKNOWN, 0]),
    (MemoryReported, [UNKNOWN, 0, 0], [UNKNOWN, 1, 0]),
    (NeverRenewed, [UNKNOWN, 0, 0, UNKNOWN], [UNKNOWN, 1, 0, UNKNOWN]),
]
PUBLIC: dict[str, Any] = {"scale": 1, "steps": 4, "every": 2, "announced": 1}


@pytest.mark.statistical(n=3_000, false_alarm=1e-10, miss=1e-9, catches="a memory, or a report, without its own noise")
@pytest.mark.parametrize(("kind", "here", "there"), PLANTED, ids=[kind.__name__ for kind, _, _ in PLANTED])
def test_audits_of_memory_and_reports_together(kind: Any, here: Any, there: Any) -> None:
    """The counter that must fail gives the event away with certainty; the sound one passes on the same streams."""
    common: dict[str, Any] = {"samples": 3_000, "claim": PureDP(1), "false_alarm": 1e-10}
    assert audit(sampler(kind(**PUBLIC)), here, there, **common).is_refuted
    assert not audit(sampler(PanPrivateCounter(**PUBLIC)), here, there, **common).is_refuted


def test_the_law_of_a_counter_that_must_fail_is_refuted_coin_by_coin() -> None:
    """What the contract runs on every registered mechanism would have caught it."""
    _, here, there = PLANTED[1]
    sound, broken = PanPrivateCounter(scale=1, steps=2, every=2), MemoryReported(scale=1, steps=2, every=2)
    check_law_by_branching(partial(told, sound, here), partial(told, sound, there), PureDP(1), runs=200)
    with pytest.raises(Exception, match="differ"):
        check_law_by_branching(partial(told, broken, here), partial(told, broken, there), PureDP(1), runs=200)


# The conversation.


@given(st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=30), st.integers(1, 7))
def test_without_noise_it_counts(values: list[int], every: int) -> None:
    period = min(every, len(values))
    counter = PanPrivateCounter(scale="1/1099511627776", steps=len(values), every=period)
    sums = [0, *itertools.accumulate(values)]
    expected = [sums[n if n == len(values) else n - n % period] for n in range(1, len(values) + 1)]
    assert list(told(counter, values, system_noise())) == expected


def test_a_stream_through_the_door() -> None:
    budget = Budget(epsilon=1, unit=EVENT)
    counter = PanPrivateCounter.calibrated(PureDP("1/2"), sensitivity=3, steps=4, every=2, announced=1)
    handle = converse(counter, budget=budget, stability=3)
    assert budget.spent == PureDP("1/2")
    assert handle.ask(3) == 0
    handle.ask(UNKNOWN)
    with pytest.raises(HandleMisuse, match="one unannounced intrusion"):
        handle.ask(UNKNOWN)
    report = handle.ask(2)
    assert handle.ask(1) == report
    assert isinstance(handle.ask(UNKNOWN), int)
    handle.ask(ANNOUNCED)
    handle.ask(UNKNOWN)
    with pytest.raises(HandleMisuse, match="1 announced"):
        handle.ask(ANNOUNCED)
    with pytest.raises(InvalidValue):
        handle.ask("1")
    handle.ask(2**80)
    assert handle.is_over
    with pytest.raises(HandleMisuse):
        copy.copy(handle)


@pytest.mark.statistical(n=2_000, false_alarm=1e-10, catches="a coverage of 0.8 for a stated 0.9")
def test_intervals_cover_all_reports_at_once() -> None:
    counter, covered, noise = PanPrivateCounter(scale=3, steps=6, every=2, announced=1), 0, BlockNoise(SystemEntropy())
    script = [5, 0, ANNOUNCED, 1, 1, 2, 2]
    for _ in range(2_000):
        reports = np.array(told(counter, script, noise))[[1, 4, 6]]
        interval = counter.interval(reports, "0.9")
        covered += bool(((interval.low <= [5, 7, 11]) & (interval.high >= np.array([5, 7, 11]))).all())
    # Less than 1,650 of 2,000 at a chance of 0.9 each: below 1e-20.
    assert covered > 1_650
    assert counter.error("0.9").value == float(interval.high[0] - reports[0])


def test_a_break_after_the_last_step_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="every"):
        PanPrivateCounter(**(PUBLIC | {"every": 5}))


def test_calibration_uses_its_budget() -> None:
    counter = PanPrivateCounter.calibrated(ApproxDP("1/4", "1e-9"), sensitivity=2, steps=10, every=5)
    assert counter.loss(2) == PureDP("1/4")


def test_streams_are_compared_with_the_same_intrusions() -> None:
    assert COUNTER.distance.measure([1, UNKNOWN, 5], [3, UNKNOWN, 4]) == 3
    assert COUNTER.distance.measure(np.array([1, 5]), np.array([1, 5])) == 0
    for other in ([1, 5, UNKNOWN], [1, ANNOUNCED, 5], [1, 0, 5], [1, UNKNOWN]):
        assert COUNTER.distance.measure([1, UNKNOWN, 5], other) is None
