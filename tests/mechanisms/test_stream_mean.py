"""The mean of a stream from a reservoir of noisy bits: what is read, what is kept, how far it is off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dither.errors import InvalidParameter, InvalidValue
from dither.mechanisms import StreamMean
from dither.noise import system_noise

FALSE_ALARM = 1e-9


class Counted(Sequence[int]):
    """Bits of which every fourth is one, that count how often they are read."""

    def __init__(self, count: int) -> None:
        self._count, self.reads = count, 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        assert 0 <= place < self._count
        self.reads += 1
        return int(place % 4 == 0)


@pytest.mark.parametrize(("power", "reads"), [(4, 2371), (5, 3822), (6, 5273)])
def test_expected_reads_are_those_of_the_harmonic_numbers(power: int, reads: int) -> None:
    mean = StreamMean(kept=630, times=(10**power,), epsilon=1)
    assert mean.expected_reads == pytest.approx(630 + sum(630 / place for place in range(631, 10**power + 1)))
    assert mean.expected_reads == pytest.approx(reads, rel=0.001)
    assert StreamMean(kept=630, times=(100,), epsilon=1).expected_reads == 100


@pytest.mark.statistical(
    n=8, false_alarm=FALSE_ALARM, catches="a bit read in vain, a reservoir that is renewed too often"
)
def test_few_bits_are_read() -> None:
    """The number of reads is a sum of independent coins, of chance n / i at place i."""
    mean, total, runs = StreamMean(kept=200, times=(150, 10**5), epsilon=3), 0, 8
    for _ in range(runs):
        bits = Counted(10**5)
        mean.draw(bits, system_noise())
        total += bits.reads
    chances = 200 / np.arange(201, 10**5 + 1)
    reach = norm.isf(FALSE_ALARM / 4) * math.sqrt(runs * float((chances * (1 - chances)).sum())) + 10

    def refuses(expected: float) -> bool:
        return abs(total - runs * expected) > reach

    assert not refuses(mean.expected_reads)
    assert refuses(1.15 * mean.expected_reads)


@pytest.mark.statistical(n=1200, false_alarm=FALSE_ALARM, catches="a sample that prefers late or early bits")
def test_every_bit_is_as_likely_to_be_kept() -> None:
    """Only the bits of one third of the stream are ones: the mean share is a third, whichever third it is."""
    for third in range(3):
        bits = np.zeros(60, dtype=int)
        bits[20 * third : 20 * (third + 1)] = 1
        drawn = StreamMean(kept=9, times=(60,), epsilon=1000).draw_many(bits, 400, system_noise())
        reach = norm.isf(FALSE_ALARM / 12) * math.sqrt(2 / 9 / 9 / 400)
        assert abs(float(drawn.mean()) - 1 / 3) < reach
        assert abs(float(drawn.mean()) - 1 / 2) > reach


def test_all_bits_are_used_before_the_reservoir_is_full() -> None:
    bits = np.array([1, 1, 0, 0, 1, 1, 1, 0])
    found = StreamMean(kept=6, times=(1, 2, 4, 6), epsilon=1000).draw(bits[:6], system_noise())
    assert found.tolist() == [1.0, 1.0, 0.5, 4 / 6]


@pytest.mark.parametrize("kind", ["response", "noise"])
def test_half_widths_cover_and_shrink(kind: str) -> None:
    """Far more often than they must: 40 streams, none of which may be missed at a failure of 1e-9 / 40."""
    mean = StreamMean(kept=400, times=(100, 3000), epsilon=1, kind=kind)
    wanted = 1 - FALSE_ALARM / 40
    bits = (np.arange(3000) % 4 == 0).astype(int)
    drawn = mean.draw_many(bits, 40, system_noise())
    assert np.abs(drawn[:, 0] - 0.25).max() <= mean.half_width(100, wanted)
    assert np.abs(drawn[:, 1] - 0.25).max() <= mean.half_width(3000, wanted)
    widths = [StreamMean(kept=kept, times=(3000,), epsilon=1, kind=kind).half_width(3000, "0.9") for kept in (50, 500)]
    assert widths[1] < widths[0] / 3
    sized = StreamMean.sized(half_width="0.1", failure="0.1", epsilon=2, times=(5000,), kind=kind)
    assert (
        sized.half_width(5000, "0.9")
        <= 0.1
        < StreamMean(kept=sized.kept - 1, times=(5000,), epsilon=2, kind=kind).half_width(5000, "0.9")
    )
    low, high = mean.interval(np.array([0.0, 0.9]), "0.9").low, mean.interval(np.array([0.0, 0.9]), "0.9").high
    assert low.min() >= 0
    assert high.max() <= 1


def test_odd_bits_and_refusals() -> None:
    mean = StreamMean(kept=6, times=(6,), epsilon=1000)
    assert mean.draw([7, None, "1", float("nan"), -3, True], system_noise()).tolist() == [2 / 6]
    for odd in (np.zeros(6), [1] * 5, "010101", None, np.zeros((6, 1), dtype=int)):
        with pytest.raises(InvalidValue):
            mean.draw(odd, system_noise())
    for words in ({"kept": 0}, {"times": (3, 3)}, {"times": ()}, {"epsilon": 0}, {"kind": "one-sided"}):
        with pytest.raises(InvalidParameter) as caught:
            StreamMean(**{"kept": 6, "times": (6,), "epsilon": 1, **words})  # type: ignore[arg-type]
        assert caught.value.parameter == next(iter(words))
    with pytest.raises(InvalidParameter, match="half_width"):
        StreamMean.sized(half_width="1e-9", failure="0.1", epsilon=1, times=(9,))


def totals(mean: StreamMean, time: int, ones: int) -> dict[int, float]:
    """Return the law of what is added up, term by term: which bits are drawn, and what becomes of each."""
    size = min(mean.kept, time)
    rate = float(mean.epsilon)
    if mean.kind == "response":
        kept = math.exp(rate) / (1 + math.exp(rate))
        steps = {1: {1: kept, 0: 1 - kept}, 0: {1: 1 - kept, 0: kept}}
    else:
        law = {step: math.tanh(rate / 2) * math.exp(-rate * abs(step)) for step in range(-25, 26)}
        steps = {bit: {bit + step: chance for step, chance in law.items()} for bit in (0, 1)}
    found: dict[int, float] = {}
    for drawn in range(max(0, size - time + ones), min(size, ones) + 1):
        ways = math.comb(ones, drawn) * math.comb(time - ones, size - drawn) / math.comb(time, size)
        here = {0: ways}
        for bit in [1] * drawn + [0] * (size - drawn):
            there: dict[int, float] = {}
            for total, chance in here.items():
                for step, part in steps[bit].items():
                    there[total + step] = there.get(total + step, 0.0) + chance * part
            here = there
        for total, chance in here.items():
            found[total] = found.get(total, 0.0) + chance
    return found


@pytest.mark.parametrize(
    ("kind", "kept", "time"),
    [("response", 7, 7), ("response", 7, 12), ("response", 9, 60), ("noise", 3, 3), ("noise", 3, 8)],
)
def test_no_share_is_missed_more_often_than_stated(kind: str, kept: int, time: int) -> None:
    """For every number of ones, by the exact law of what is added up."""
    mean = StreamMean(kept=kept, times=(time,), epsilon=1, kind=kind)
    ends: dict[int, Any] = {}
    for ones in range(time + 1):
        missed = 0.0
        for total, chance in totals(mean, time, ones).items():
            if total not in ends:
                ends[total] = mean.interval([mean._share(total, min(kept, time))], "0.8")
            held = ends[total].low[0] <= ones / time <= ends[total].high[0]
            missed += 0.0 if held else chance
        assert missed <= 0.2


@pytest.mark.parametrize(("kind", "time"), [("response", 10**5), ("response", 1000), ("noise", 10**5), ("noise", 1000)])
def test_an_interval_is_about_as_wide_as_a_normal_law_would_have_it(kind: str, time: int) -> None:
    """At 0.9 within a twentieth, at a share of a quarter: no wider by a union of bounds on sampling and noise."""
    mean, truth = StreamMean(kept=1000, times=(time,), epsilon=1, kind=kind), math.tanh(1 / 2)
    ratio = math.exp(-1)
    own = (1 - truth**2) / 4 / truth**2 if kind == "response" else 2 * ratio / (1 - ratio) ** 2
    drawn = 3 / 16 * (time - 1000) / (time - 1)
    found = mean.interval([0.25], "0.9")
    half = float(norm.isf(0.05)) * math.sqrt((own + drawn) / 1000)
    assert half <= (found.high[0] - found.low[0]) / 2 <= 1.05 * half


def test_what_is_out_of_reach_of_a_law_has_a_bound() -> None:
    """Chances below 1e-9, and noise that is wider than can be added up."""
    far = StreamMean(kept=400, times=(3000,), epsilon=1, kind="noise")
    found = far.interval([0.5], 1 - FALSE_ALARM / 100)
    assert (found.high[0] - found.low[0]) / 2 == pytest.approx(min(far.half_width(3000, 1 - FALSE_ALARM / 100), 0.5))
    wide = StreamMean(kept=400, times=(3000,), epsilon="1e-6", kind="noise")
    assert (wide.interval([0.5], "0.9").low[0], wide.interval([0.5], "0.9").high[0]) == (0.0, 1.0)
