"""Cloaked and obfuscated places: squares hold k people, discs hold the place; neither says anything of a loss."""

from __future__ import annotations

import numpy as np
import pytest

from dither.disguise.crowds import cloak, obfuscate
from dither.errors import InvalidParameter


def test_squares_hold_k_people_and_their_place() -> None:
    places = np.random.default_rng().uniform(0, 100, (300, 2))
    for k in (1, 5, 40):
        squares = cloak(places, k=k, low=[0, 0], high=[100, 100])
        assert (squares[:, :2] <= places).all()
        assert (places <= squares[:, 2:]).all()
        for square in np.unique(squares, axis=0):
            inside = ((places >= square[:2]) & (places < square[2:])).all(axis=1)
            assert inside.sum() >= k


def test_discs_hold_the_place() -> None:
    places = np.zeros((500, 2))
    moved = obfuscate(places, radius=10)
    assert (np.hypot(*moved.T) <= 10).all()
    assert len(np.unique(moved, axis=0)) > 1


def test_odd_input_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="places"):
        cloak([1, 2], k=1, low=[0, 0], high=[1, 1])
    with pytest.raises(InvalidParameter, match="low, high"):
        cloak([[1, 2]], k=1, low=[0, 0], high=[0, 1])
    with pytest.raises(InvalidParameter, match="radius"):
        obfuscate([[1, 2]], radius=0)
    assert cloak(np.zeros((0, 2)), k=1, low=[0, 0], high=[1, 1]).shape == (0, 4)
