"""How far a released matrix lies from the true one: five measures, none of them a measure of privacy.

VD is the relative change in Frobenius norm. RP is how many places a number moves in the order of its column, on
average, and RK the share of numbers that keep their place; CP and CK are the same for the order of the columns' means.
The source (Liu, section 3.4) prints zero in both cases of CK, and its tables of RP and CP hold the
differences of sorting permutations in place of ranks; ``legacy`` gives those.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

Matrix = NDArray[np.float64]
#: Equal numbers are ranked as they stand, or share the mean of their ranks.
Ties = Literal["ordinal", "mean"]
_TIES: Final = get_args(Ties)


@dataclass(frozen=True)
class Distortion:
    """How far two matrices lie apart.

    Args:
        vd: the Frobenius norm of the difference, over that of the true matrix.
        rp: the mean change of a number's rank in its column.
        rk: the share of numbers that keep their rank.
        cp: the mean change of a column's rank, by the columns' means.
        ck: the share of columns that keep their rank.

    """

    vd: float
    rp: float
    rk: float
    cp: float
    ck: float

    def to_dict(self) -> dict[str, float]:
        """Return the measures by name."""
        return asdict(self)


def distortion(true: Matrix, released: Matrix, *, ties: Ties = "ordinal", legacy: bool = False) -> Distortion:
    """Return how far a released matrix lies from the true one of the same shape.

    Args:
        true: the rows as they are.
        released: the rows as they were published.
        ties: how equal numbers of a column are ranked.
        legacy: compare sorting permutations in place of ranks, as the tables of the source do.

    >>> moved = distortion(np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [3.0], [2.0]]))
    >>> moved.rp, moved.rk, moved.cp, moved.ck
    (0.666..., 0.333..., 0.0, 1.0)

    """
    if true.shape != released.shape:
        raise InvalidParameter("released", released.shape, f"of the shape of the true matrix, {true.shape}")
    if ties not in _TIES:
        raise InvalidParameter("ties", ties, f"one of {', '.join(_TIES)}")
    norm = float(np.linalg.norm(true))
    far = float(np.linalg.norm(true - released))
    moved = np.abs(_places(true, ties, legacy) - _places(released, ties, legacy))
    means = [_places(one.mean(axis=0)[:, None], ties, legacy) for one in (true, released)]
    swapped = np.abs(means[0] - means[1])
    return Distortion(
        vd=far / norm if norm else (0.0 if not far else float("inf")),
        rp=float(moved.mean()),
        rk=float((moved == 0).mean()),
        cp=float(swapped.mean()),
        ck=float((swapped == 0).mean()),
    )


def _places(values: Matrix, ties: Ties, legacy: bool) -> Matrix:
    """Return the ascending rank of each number in its column, from 1."""
    order = np.argsort(values, axis=0, kind="stable")
    if legacy:
        return order.astype(np.float64)
    if ties == "ordinal":
        return (np.argsort(order, axis=0, kind="stable") + 1).astype(np.float64)
    ranks = np.empty(values.shape)
    for column in range(values.shape[1]):
        _, place, counts = np.unique(values[:, column], return_inverse=True, return_counts=True)
        ranks[:, column] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks
