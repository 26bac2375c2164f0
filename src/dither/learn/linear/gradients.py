"""Gradients in integers: how strongly one record pulls at each score, never by more than a bounded length.

The loss of a record depends on its scores, integers themselves. A pull is read from public tables by the cell in
which the score lies, so that no record's pull depends on where it stands in an array, as floating-point exponentials
may.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.centred import LENGTH as LENGTH
from dither.learn.rows import Floats, into_ball

#: Steps of a weight per unit.
WEIGHT_STEPS: Final = 2**16
#: The longest pull of a record, in whole steps.
PULL: Final = 2**12
#: A weight never grows beyond this, so that scores stay below 2^53.
LARGEST_WEIGHT: Final = 2.0**12
#: Width of the rounding of the hinge.
WIDTH: Final = 0.5

_CELLS, _REACH = 64, 16  # cells of a unit of score, and how far tables reach
_CELL = LENGTH * WEIGHT_STEPS // _CELLS
_FINE, _FINE_CELLS = LENGTH * WEIGHT_STEPS // 256, 16 * 256

LOSSES: Final = ("logistic", "hinge")


@dataclass(frozen=True)
class Curvature:
    """The largest rate at which the pull of a loss changes, per unit of score."""

    logistic: float = 0.25
    multinomial: float = 0.5
    hinge: float = 1 / (2 * WIDTH)


def curvature(loss: str, scores: int) -> float:
    """Return the largest rate at which pulls change: it decides the length of a step."""
    known = Curvature()
    if loss == "hinge":
        return known.hinge
    return known.logistic if scores == 1 else known.multinomial


def pulls(loss: str, scores: Floats, classes: NDArray[np.int64]) -> Floats:
    """Return the derivative of each record's loss in its scores, in steps, of length at most ``PULL``.

    Args:
        loss: logistic or hinge.
        scores: integers, in steps of 1 / (LENGTH * WEIGHT_STEPS); one column for two classes.
        classes: the class of each record.

    """
    if loss == "hinge":
        sides = _sides(classes, scores.shape[1])
        found = -sides * _table("hinge")[_cells(scores * sides)]
    elif scores.shape[1] == 1:
        found = _table("logistic")[_cells(scores)] - PULL * classes[:, None]
    else:
        return _multinomial(scores, classes)
    return into_ball(found, PULL, PULL) if found.shape[1] > 1 else found


def _multinomial(scores: Floats, classes: NDArray[np.int64]) -> Floats:
    """Return the pulls of several classes: class by class, because rows of few numbers are slow to go through."""
    across = np.ascontiguousarray(scores.T)
    # A product with a power of two is exact, and faster than a quotient; nothing here is below 0.
    behind = (across.max(axis=0) - across) * (1 / _FINE)
    raised = _table("exponential")[np.minimum(behind, _FINE_CELLS - 1).astype(np.int64)]
    found = np.floor(raised * PULL / raised.sum(axis=0))
    found[classes, np.arange(len(classes))] -= PULL
    # As in ``into_ball``: squared lengths are integers below 2^53, so that their order of adding does not matter.
    factors = PULL / np.maximum(np.sqrt((found * found).sum(axis=0)), PULL)
    return np.ascontiguousarray(np.trunc(found * factors).T)


def _cells(scores: Floats) -> NDArray[np.int64]:
    """Return the cell of each score; scores beyond the reach lie in the outermost cells."""
    cells = np.floor(scores * (1 / _CELL))
    return np.clip(cells, -_REACH * _CELLS, _REACH * _CELLS - 1).astype(np.int64) + _REACH * _CELLS


def _sides(classes: NDArray[np.int64], scores: int) -> Floats:
    """Return 1 where a score should be high and -1 where it should be low."""
    positive = classes[:, None] == (1 if scores == 1 else np.arange(scores))
    return np.where(positive, 1.0, -1.0)


@lru_cache(maxsize=4)
def _table(name: str) -> Floats:
    """Return public integers: the pull in the middle of each cell of score."""
    if name == "exponential":
        table = np.rint(2.0**20 * np.exp(-np.arange(_FINE_CELLS) / 256))
    else:
        middle = (np.arange(2 * _REACH * _CELLS) + 0.5) / _CELLS - _REACH
        if name == "logistic":
            table = np.rint(PULL / (1 + np.exp(-middle)))
        else:
            table = np.rint(PULL * np.clip((1 + WIDTH - middle) / (2 * WIDTH), 0, 1))
    table.setflags(write=False)
    return table
