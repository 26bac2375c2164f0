"""The reach of sums of noise with known weights, against laws that are added up term by term."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.estimate.known_weights import gaussian_transform, geometric_transform, known_reach


def law(kind: str, width: float) -> dict[int, float]:
    powers = {k: abs(k) / width if kind == "laplace" else k * k / (2 * width**2) for k in range(-60, 61)}
    weights = {k: math.exp(-power) for k, power in powers.items()}
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


@pytest.mark.parametrize(("kind", "width"), [("laplace", 0.4), ("laplace", 3.0), ("gaussian", 0.5), ("gaussian", 2.0)])
@pytest.mark.parametrize("weights", [[1], [3, -1], [5, 0, 2]])
def test_a_reach_holds_and_is_little_longer_than_it_must_be(kind: str, width: float, weights: list[int]) -> None:
    single, found = law(kind, width), {0: 1.0}
    for weight in weights:
        there: dict[int, float] = {}
        for (total, chance), (step, part) in itertools.product(found.items(), single.items()):
            place = total + weight * step
            there[place] = there.get(place, 0.0) + chance * part
        found = there
    transform = geometric_transform(width) if kind == "laplace" else gaussian_transform(width)
    variance = (2 if kind == "laplace" else 1) * width**2
    deviation = math.sqrt(variance * sum(weight**2 for weight in weights))
    for failure in (0.3, 0.05, 0.001):
        reach = known_reach(np.array(weights, dtype=float), transform, variance, failure)
        assert reach is not None
        assert sum(chance for total, chance in found.items() if abs(total) > reach) <= failure
        shorter = reach - 0.15 * deviation - max(abs(weight) for weight in weights)
        assert sum(chance for total, chance in found.items() if abs(total) >= shorter) > failure


def test_no_noise_has_no_reach_and_what_takes_long_has_none_known() -> None:
    assert known_reach(np.zeros(3), geometric_transform(1.0), 2.0, 0.05) == 0
    assert known_reach(np.ones(3), geometric_transform(1.0), 2.0, 1e-12) is None
    assert known_reach(np.arange(1.0, 10**5), geometric_transform(1.0), 2.0, 0.05) is None
