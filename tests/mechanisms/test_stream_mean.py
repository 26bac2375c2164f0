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
