"""Synthetic journeys: they move from neighbour to neighbour, arrive, and with little noise are like the true ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dither.bench.journeys import compared, divergence
from dither.errors import InvalidParameter
from dither.mechanisms.core.release import perform
from dither.privacy import ZCDP, PureDP
from dither.publish.places import JourneySynthesis, MarkovJourneys, PrefixJourneys
from dither.testing.city import city_trips

KINDS = (JourneySynthesis, MarkovJourneys, PrefixJourneys)
CITY = city_trips(600, side=8, longest=30)


def follow_each_other(rows: np.ndarray, side: int) -> bool:
    """Return whether consecutive cells are different neighbours, and nothing follows an end."""
    here, after = rows[:, :-1], rows[:, 1:]
    is_step = (here >= 0) & (after >= 0)
    down, across = np.abs(after // side - here // side), np.abs(after % side - here % side)
    near = np.maximum(down, across) == 1
    return bool(near[is_step].all() and not ((here < 0) & (after >= 0)).any())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [PureDP(1), ZCDP(1), PureDP("0.01")])
def test_journeys_are_walks_of_a_public_shape(kind: Any, loss: Any) -> None:
    method = kind.calibrated(loss, shape=(8, 8), length=30, most=500)
    drawn = perform(method, CITY, stability=1)
    assert method.loss(1) <= loss
    assert drawn.shape[1] == 30
    assert len(drawn) <= 500
    assert follow_each_other(drawn, 8)
    assert ((drawn >= -1) & (drawn < 64)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_no_journeys_and_odd_ones_are_no_error(kind: Any) -> None:
    method = kind.calibrated(PureDP(10**9), shape=(3, 3), length=5)
    for rows in ([], [[-1, 0, 0]], [[9, 0, 0]]):
        data = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
        assert len(perform(method, data, stability=1)) == 0
    still = perform(method, np.full((40, 3), 4), stability=1)
    assert (still[:, 0] == 4).all()
    assert (still[:, 1:] == -1).all()


def test_one_way_among_two_ends_is_found_again() -> None:
    """Noise is 0 but for a chance far below 1e-9."""
    way = [0, 1, 2, 10, 18, 26, 27, 28, 36, 44]
    back = [63, 62, 54, 46, 38, 30, 29, 21, 13, 5]
    true = np.array([[*way]] * 300 + [[*back]] * 100)
    drawn = perform(JourneySynthesis.calibrated(PureDP(10**9), shape=(8, 8), length=20), true, stability=1)
    assert len(drawn) == 400
    taken = [tuple(row[row >= 0].tolist()) for row in drawn]
    assert set(taken) == {tuple(way), tuple(back)}


def test_with_little_noise_journeys_are_like_the_true_ones() -> None:
    """Without noise the measures depend on public numbers alone; walks without a destination stray farther."""
    found = {
        kind: compared(
            CITY, perform(kind.calibrated(PureDP(10**9), shape=(8, 8), length=30), CITY, stability=1), (8, 8)
        )
        for kind in (JourneySynthesis, PrefixJourneys)
    }
    led, cut = found[JourneySynthesis], found[PrefixJourneys]
    assert led["trips"] < 0.05
    assert led["lengths"] < 0.05
    assert led["diameters"] < 0.05
    assert led["queries"] < 0.2
    assert led["patterns"] > 0.8
    assert cut["lengths"] > led["lengths"]


def test_measures_are_0_and_1_for_the_same_journeys() -> None:
    same = compared(CITY, CITY, (8, 8))
    assert same == {"trips": 0.0, "lengths": 0.0, "diameters": 0.0, "queries": 0.0, "patterns": 1.0}
    assert divergence(np.array([1.0, 1.0]), np.array([1.0, 0.0])) == pytest.approx(
        (0.5 * np.log(0.5 / 0.75) + 0.5 * np.log(0.5 / 0.25) + np.log(1 / 0.75)) / 2
    )


def test_grids_beyond_the_model_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="at most 48"):
        JourneySynthesis.calibrated(PureDP(1), shape=(49, 4), length=9)
    with pytest.raises(InvalidParameter, match="one for each cell"):
        PrefixJourneys(
            shape=(5, 5),
            length=4,
            width=9,
            trips=PrefixJourneys.calibrated(PureDP(1), shape=(2, 2), length=4).trips,
            node=PrefixJourneys.calibrated(PureDP(1), shape=(2, 2), length=4).node,
        )
