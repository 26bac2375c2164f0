"""The comparison of k-means methods: costs beside slow twins, and figures of every method on few points."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the data sets need the extra 'ml'")

from dither.privacy import PureDP
from tools.bench import clusters


def test_costs_are_those_of_the_nearest_centres() -> None:
    data = clusters.made_up(60, 3, 4)
    centres = np.random.default_rng().uniform(-1, 1, (4, 3))
    scaled = np.clip(data.values, -1, 1)
    slow = sum(min(float(((row - centre) ** 2).sum()) for centre in centres) for row in scaled)
    assert clusters.cost(data, centres) == pytest.approx(slow)
    assert clusters.lloyd_cost(data) <= clusters.cost(data, centres)


def test_every_method_and_every_zone_has_figures() -> None:
    data = clusters.made_up(120, 2, 3)
    found = list(clusters.measure(data, PureDP(50), runs=1))
    assert [one.method for one in found] == list(clusters.METHODS)
    assert all(one.gap > 0.9 and one.seconds >= 0 and one.same in (0.0, 1.0) for one in found)
    zones = {one.zone: one for one in clusters.measure_zones(data, starts=2)}
    assert zones["mean"].ratio == 1
    assert zones["mean"].same == 1
    assert all(2 <= one.rounds <= 200 for one in zones.values())


def test_the_data_sets_at_hand_are_within_their_bounds() -> None:
    for data in clusters.data_sets():
        inside = (data.values >= data.lower) & (data.values <= data.upper)
        assert inside.mean() > 0.98
        assert len(data.labels) == len(data.values)
