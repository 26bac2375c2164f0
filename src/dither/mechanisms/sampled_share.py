"""Intervals for a share of ones that is known from a sample of randomised bits, by the law of what was added up.

What is kept of a sample is a number S, whose law follows from how many ones there are and never falls with that number.
So the ends of an interval are the least and the largest number of ones for which S is not too far out on one side, each
with half of the failure (Clopper and Pearson 1934). No guarantee depends on these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Laws are computed as far as this many standard deviations and steps, beyond which less than 1e-13 lies.
_DEVIATIONS: Final = 40
#: Wider laws, and smaller chances, are left to bounds.
_WIDEST: Final = 2**20
LEAST_CHANCE: Final = 1e-9
# Widens by far more than the error of the float functions that compute laws.
_OUTWARDS: Final = 1e-9


def ends_of_ones(total: int, low_tail: Callable[[int, int], float], ones: int, failure: float) -> tuple[int, int]:
    """Return the least and the largest number of ones that a total does not rule out.

    Args:
        total: what was added up.
        low_tail: P[S <= total] for a total and a number of ones, which falls as the ones rise.
        ones: the most there may be.
        failure: of both ends together.

    """
    half = failure / 2 - 1e-12
    largest = _last(lambda many: low_tail(total, many) > half, ones)
    least = ones - _last(lambda few: 1 - low_tail(total - 1, ones - few) > half, ones)
    return least, largest


def _last(holds: Callable[[int], bool], most: int) -> int:
    """Return the largest number up to which a falling condition holds; 0 where it never does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def sampled_response_ends(total: int, size: int, truth: float, failure: float) -> tuple[float, float]:
    """Return the ends of the share of ones of a stream of which ``size`` bits were drawn and randomised.

    Args:
        total: how many of the randomised bits are ones.
        size: of the sample, drawn without replacement.
        truth: the difference of the two chances of a one, for a bit that is one and for one that is not.
        failure: of both ends together.

    """
    from scipy.special import betaincinv

    high = float(betaincinv(total + 1, size - total, 1 - failure / 2)) if total < size else 1.0
    low = float(betaincinv(total, size - total + 1, failure / 2)) if total > 0 else 0.0
    # Hoeffding's comparison with a binomial law holds from one step beside the mean on.
    low, high = min(low, (total - 1) / size), max(high, (total + 1) / size)
    return tuple((each - (1 - truth) / 2) / truth for each in (low - _OUTWARDS, high + _OUTWARDS))  # type: ignore[return-value]


def response_tail(size: int, chance: float) -> Callable[[int, int], float]:
    """Return P[S <= total] where all of ``size`` bits were kept with that chance, and turned otherwise."""
    from scipy.special import bdtr

    def tail(total: int, ones: int) -> float:
        if total < 0:
            return 0.0
        spread = _DEVIATIONS * (math.sqrt(ones * chance * (1 - chance)) + 1)
        places = np.arange(max(0, math.floor(ones * chance - spread)), min(ones, math.ceil(ones * chance + spread)) + 1)
        below = np.where(places > 0, bdtr(np.maximum(places - 1.0, 0), ones, chance), 0.0)
        kept = np.where(places < ones, bdtr(np.minimum(places, ones - 1.0), ones, chance), 1.0) if ones else 1.0
        rest, others = total - places, size - ones
        turned = np.where(rest < others, bdtr(np.clip(rest, 0.0, max(others, 1)), max(others, 1), 1 - chance), 1.0)
        return float(np.sum((kept - below) * np.where(rest < 0, 0.0, turned)))

    return tail


def noise_tail(size: int, rate: float, bits: int) -> Callable[[int, int], float] | None:
    """Return P[S <= total] where S is the ones of a sample and the geometric noise of each of its bits.

    Args:
        size: of the sample.
        rate: one over the scale of the noise.
        bits: how many there are; the sample is drawn from them without replacement, and is all of them if they are few.

    """
    ratio = math.exp(-rate)
    deviation = math.sqrt(2 * ratio * size) / (1 - ratio)
    # Tails of a few draws are wider than those of many: as far as one draw has 1e-17 left.
    reach = math.ceil(_DEVIATIONS * (deviation + 1 / rate)) + 2
    length = 1 << (2 * reach + 1).bit_length()
    if length > _WIDEST or size > _WIDEST:
        return None
    angles = 2 * math.pi * np.arange(length // 2 + 1) / length
    transform = ((1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(angles) + ratio**2)) ** size
    # From -length / 2 on.
    chances = np.roll(np.fft.irfft(transform, length), length // 2)
    cumulative = np.clip(np.cumsum(chances), 0.0, 1.0)

    def below(values: NDArray[np.int64]) -> Floats:
        places = values + length // 2
        return np.where(places < 0, 0.0, np.where(places >= length, 1.0, cumulative[np.clip(places, 0, length - 1)]))

    def tail(total: int, ones: int) -> float:
        if bits <= size:
            return float(below(np.array([total - ones]))[0])
        places, law = hypergeometric(bits, ones, size)
        return float(law @ below(total - places))

    return tail


def hypergeometric(bits: int, ones: int, size: int) -> tuple[NDArray[np.int64], Floats]:
    """Return how many ones a sample without replacement may have, and with which chances, but for 1e-13.

    By the ratio of neighbouring chances, so that no large factorial is rounded.

    >>> places, law = hypergeometric(5, 2, 3)
    >>> places.tolist(), law.round(6).tolist()
    ([0, 1, 2], [0.1, 0.6, 0.3])
    """
    least, most = max(0, size - (bits - ones)), min(size, ones)
    middle = min(max((size + 1) * (ones + 1) // (bits + 2), least), most)
    share = ones / bits
    spread = math.ceil(_DEVIATIONS * (math.sqrt(size * share * (1 - share)) + 1))
    places = np.arange(max(least, middle - spread), min(most, middle + spread) + 1)
    here = places[:-1].astype(np.float64)
    steps = np.log((ones - here) / (here + 1)) + np.log((size - here) / (bits - ones - size + here + 1))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    law = np.exp(logs - logs.max())
    return places, law / law.sum()
