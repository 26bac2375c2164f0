"""Census-style reconstruction: the tables of a small block have few populations that fit them, often only one.

A town of small blocks; for each block the three two-way tables of sex, age group and origin are published. An integer
programme finds people who fit them. The attacker knows who lives in a block, their sex and age, and reads their origin
off the people found.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_SIZES = (2, 10, 4)
_PAIRS = ((0, 1), (0, 2), (1, 2))
_PER_BLOCK = 8


def marginal_matrix() -> NDArray[np.float64]:
    """Return the matrix that takes the counts of all cells to the three two-way tables, one after the other."""
    cells = list(itertools.product(*map(range, _SIZES)))
    rows = [
        [float((cell[first], cell[second]) == (one, other)) for cell in cells]
        for first, second in _PAIRS
        for one, other in itertools.product(range(_SIZES[first]), range(_SIZES[second]))
    ]
    return np.array(rows)


def fitted(matrix: NDArray[np.float64], tables: NDArray[np.float64], people: int) -> NDArray[np.int64]:
    """Return whole counts of cells with the least sum of absolute deviations from the tables."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    entries, cells = matrix.shape
    cost = np.concatenate([np.zeros(cells), np.ones(2 * entries)])
    deviations = LinearConstraint(np.hstack([matrix, np.eye(entries), -np.eye(entries)]), tables, tables)
    total = LinearConstraint(np.concatenate([np.ones(cells), np.zeros(2 * entries)])[None, :], people, people)
    whole = np.concatenate([np.ones(cells), np.zeros(2 * entries)])
    highest = np.concatenate([np.full(cells, people), np.full(2 * entries, np.inf)])
    found = milp(cost, integrality=whole, bounds=Bounds(0, highest), constraints=(deviations, total))
    return np.asarray(np.rint(found.x[:cells]), dtype=np.int64)


def _right(found: NDArray[np.int64], people: NDArray[np.int64], draws: NDArray[np.float64]) -> int:
    """Return for how many people of a block the likeliest origin among those found is the true one."""
    table = found.reshape(_SIZES)
    # Ties, and people who were not found at all, are decided by lot.
    guesses = np.argmax(table[people[:, 0], people[:, 1]] + draws, axis=1)
    return int(np.sum(guesses == people[:, 2]))


@attack(
    "census",
    source="Understanding Database Reconstruction Attacks on Public Data (Garfinkel, Abowd, Martindale 2018)",
    most=2000,
)
def census(targets: int = 200, epsilon: Number = "1/2") -> Outcome:
    """Find the people of every block who fit its published tables, by integer programming."""
    drawn = public_generator()
    matrix = marginal_matrix()
    blocks = -(-targets // _PER_BLOCK)
    people = np.stack([drawn.integers(0, size, size=(blocks, _PER_BLOCK)) for size in _SIZES], axis=2)
    cells = np.zeros((blocks, *_SIZES), dtype=np.int64)
    for block, one in enumerate(people):
        np.add.at(cells[block], tuple(one.T), 1)
    tables = np.rint(cells.reshape(blocks, -1) @ matrix.T).astype(np.int64)
    # Another origin of one person moves two entries in each of two tables; sex and age are known to the attacker.
    private = noisy_counts(tables, epsilon, moved=4)
    lots = drawn.uniform(0, 0.5, size=(2, blocks, _PER_BLOCK, _SIZES[2]))
    exact = [fitted(matrix, table.astype(np.float64), _PER_BLOCK) for table in tables]
    blurred = [fitted(matrix, table.astype(np.float64), _PER_BLOCK) for table in private]
    counted = blocks * _PER_BLOCK
    unprotected = sum(map(_right, exact, people, lots[0])) / counted
    protected = sum(map(_right, blurred, people, lots[1])) / counted
    same = float(np.mean([np.array_equal(found, true.ravel()) for found, true in zip(exact, cells, strict=True)]))
    return Outcome(
        attack="census",
        measure="share of people whose origin is told rightly",
        unprotected=unprotected,
        protected=protected,
        chance=1 / _SIZES[2],
        ceiling=ceiling(1 / _SIZES[2], epsilon),
        n=counted,
        loss=f"{plainly(epsilon)} for one person's origin, all tables together",
        words=f"{blocks} blocks of {_PER_BLOCK} people, three two-way tables each. The integer programme finds exactly "
        f"the true people in {same:.0%} of the blocks, and {unprotected:.0%} of all origins are then known.",
        figures=(("share of blocks found exactly", same),),
    )
