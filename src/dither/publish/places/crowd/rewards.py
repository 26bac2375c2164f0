"""Rewards: how far to look for workers, and how to divide a total reward among tasks, from released densities.

A worker at d km accepts a reward w with probability tanh(c w / d). With a density of workers, the mean distance inside
a radius r is 2 r / 3, and the radius follows from how likely an acceptance shall be. Corrections: the printed linear
form of that equation has negative radii where workers are dense; here the equation itself is solved, by bracketing.
Densities at or below 0 count as a small one, so that every task has a radius.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import positive, probability

#: The smallest density, in workers for each square kilometre.
LEAST_DENSITY: Final = 1e-6
_HALVINGS: Final = 200
#: Powers of the radius by which rewards are divided.
_POWERS: Final = (-1.0, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.5)


def acceptance(reward: Any, kilometres: Any, *, constant: float, floor: float = 0.0, farthest: float = math.inf) -> Any:
    """Return how likely a worker is to accept: tanh(c w / d), 0 below the floor of rewards and beyond the farthest.

    >>> round(float(acceptance(1.0, 2.0, constant=1.0)), 4), float(acceptance(0.1, 2.0, constant=1.0, floor=0.5))
    (0.4621, 0.0)
    """
    pay, away = np.broadcast_arrays(np.asarray(reward, dtype=np.float64), np.asarray(kilometres, dtype=np.float64))
    with np.errstate(divide="ignore"):
        chance = np.tanh(constant * pay / away)
    return np.where((pay >= floor) & (away <= farthest), chance, 0.0)


def radius(wanted: float, density: Any, reward: Any, *, constant: float) -> NDArray[np.float64]:
    """Return the radius in km within which somebody accepts with the probability ``wanted``.

    Solves 1 - (1 - tanh(c w / (2 r / 3)))^(pi r^2 density) = wanted in the form
    -ln(1 - wanted) / (pi density) = r^2 (ln(1 + e^(k / r)) - ln 2), k = 3 c w, whose right side grows with r.

    >>> radius(0.9, [10, 1], [1 / 3, 1], constant=1).round(4).tolist()
    [0.0775, 0.2599]

    """
    aim = probability("wanted", wanted, open_below=True)
    rate = 3 * float(positive("constant", constant))
    known = np.maximum(np.nan_to_num(np.asarray(density, dtype=np.float64)), LEAST_DENSITY)
    dense, pay = np.broadcast_arrays(known, np.asarray(reward, dtype=np.float64))
    if not (np.isfinite(pay).all() and (pay > 0).all()):
        raise InvalidParameter("reward", "another array", "numbers above 0")
    target = -math.log1p(-float(aim)) / (math.pi * dense)
    factor = rate * pay
    low, high = np.full(dense.shape, 1e-12), np.ones(dense.shape)
    while (short := _grown(high, factor) < target).any():
        high = np.where(short, 2 * high, high)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        below = _grown(middle, factor) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


def _grown(reach: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return r^2 (ln(1 + e^(k / r)) - ln 2), without overflow."""
    ratio = factor / reach
    return np.asarray(reach * reach * (np.maximum(ratio, 0) + np.log1p(np.exp(-np.abs(ratio))) - math.log(2)))


def allocate(
    density: Any,
    *,
    wanted: float,
    total: float,
    floor: float,
    constant: float,
    farthest: float = math.inf,
    optimised: bool = True,
) -> NDArray[np.float64]:
    """Return the reward of each task: equal shares, or more where workers are rare.

    The optimised division gives each task the floor and a share of the rest in proportion to a power of its radius
    under equal shares. Of several powers, 0 (equal shares) and 1 (the book's rule) among them, it takes the best of
    those that are nowhere worse than equal shares: in rejected tasks, in travel, and in how far a density that is off
    by a quarter would move the radii, all under the released densities.

    Args:
        density: released densities of workers at the tasks, for each square kilometre.
        wanted: how likely an acceptance shall be.
        total: all rewards together.
        floor: the least reward of a task.
        constant: c of the acceptance.
        farthest: beyond this mean distance, in km, a task is rejected.
        optimised: whether to divide unequally.

    """
    dense = np.maximum(np.nan_to_num(np.asarray(density, dtype=np.float64)), LEAST_DENSITY)
    count = dense.size
    whole, least = float(positive("total", total)), float(floor)
    if not (count and 0 <= least * count <= whole and math.isfinite(least)):
        raise InvalidParameter("floor", floor, f"at least 0, and {count or 'some'} times in the total")
    equal = np.full(count, whole / count)
    if not optimised:
        return equal

    def costs(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        found = radius(wanted, dense, rewards, constant=constant)
        shifted = radius(wanted, 1.25 * dense, rewards, constant=constant)
        return np.array([np.mean(2 * found / 3 > farthest), np.sum(dense * found**3), np.sum(found - shifted)])

    reaches = radius(wanted, dense, equal, constant=constant)
    fair, best = costs(equal), (3.0, equal)
    for power in _POWERS:
        shares = reaches**power
        rewards = np.maximum(least + shares / shares.sum() * (whole - least * count), 1e-12)
        cost = costs(rewards)
        if (cost <= fair).all():
            best = min(
                best,
                (float((cost / np.maximum(fair, 1e-300))[fair > 0].sum() + (fair == 0).sum()), rewards),
                key=_first,
            )
    return best[1]


def _first(pair: tuple[float, NDArray[np.float64]]) -> float:
    return pair[0]


@dataclass(frozen=True)
class Measures:
    """How a division of rewards does, in kilometres and workers.

    The book names these measures and defines none. Here, with the radius r of a task from the released density:

    Args:
        distance_error: the mean of |2 r / 3 - 2 r' / 3|, r' being the radius under the true density (DE).
        rejected: the share of tasks with 2 r / 3 beyond the farthest (RejR).
        travel: the sum over tasks of true workers inside the radius times 2 r / 3 (EC).

    """

    distance_error: float
    rejected: float
    travel: float


def measure(rewards: Any, released: Any, true: Any, *, wanted: float, constant: float, farthest: float) -> Measures:
    """Return the measures of rewards for tasks with released and true densities. As secret as the true ones."""
    found = radius(wanted, released, rewards, constant=constant)
    exact = radius(wanted, true, rewards, constant=constant)
    inside = math.pi * found**2 * np.maximum(np.asarray(true, dtype=np.float64), 0)
    return Measures(
        distance_error=float(np.mean(np.abs(found - exact)) * 2 / 3),
        rejected=float(np.mean(2 * found / 3 > farthest)),
        travel=float(np.sum(inside * 2 * found / 3)),
    )


def densities(
    counts: NDArray[np.float64], columns: int, cell_area: float, at: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return released densities at cells: the mean of a cell and its neighbours, for each square kilometre.

    >>> densities(np.array([0.0, 9.0, 0.0]), 3, 3.0, np.array([1])).tolist()
    [1.0]
    """
    table = counts.reshape(-1, columns)
    padded, ones = np.pad(table, 1), np.pad(np.ones_like(table), 1)
    high, wide = table.shape
    window = [(up, along) for up in range(3) for along in range(3)]
    total = np.sum([padded[up : up + high, along : along + wide] for up, along in window], axis=0)
    many = np.sum([ones[up : up + high, along : along + wide] for up, along in window], axis=0)
    return np.asarray((total / many / cell_area).ravel()[at])
