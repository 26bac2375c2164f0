"""Reconstruction: too many answers, or too accurate ones, reveal the data.

Two totals that differ in one person, one total asked again and again, counts of random subsets, the tables of a small
block: each gives back values that no single answer shows.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import ADELAIDE, BOOK, KAR, KENTUCKY, attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive


@attack(
    "differencing",
    source=f"{BOOK}, section 2.1; {ADELAIDE}, section 1.1",
)
def differencing(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Ask for a total with a person and for the same total without them, and subtract.

    Two totals that differ in one person tell that person's value.

    Each target is in a separate table. Without protection the difference of two exact counts is the secret; with
    it, both counts carry noise for one total loss, and their difference says little.
    """
    drawn = public_generator()
    people = 50
    secrets = drawn.integers(0, 2, size=(targets, people))
    # The two questions: everybody, and everybody but the first.
    answers = np.stack([secrets.sum(axis=1), secrets[:, 1:].sum(axis=1)], axis=1)
    exact = answers[:, 0] - answers[:, 1]
    # Anybody but the target is in both questions: one person moves the pair by 2 at most.
    private = noisy_counts(answers, epsilon, moved=2)
    difference = private[:, 0] - private[:, 1]
    truth = secrets[:, 0]
    return Outcome(
        attack="differencing",
        measure="share of people whose yes or no is inferred correctly",
        unprotected=float(np.mean(exact == truth)),
        protected=float(np.mean((difference >= 1) == truth)),
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's answer, both questions together",
        words=f"Two exact counts in a table of {people} give each target's secret bit by subtraction. With noise for "
        f"both questions together, the difference is off by {np.mean(np.abs(difference - truth)):.1f} on average.",
    )


_REPEATS = 400


@attack(
    "averaging",
    source=f"{KENTUCKY}, section 10.1; {KAR}, section 3.4",
)
def averaging(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Ask one question many times, each time with fresh noise, and average the answers.

    The same question, asked again and again with fresh noise, gives the noise away by its average.

    Noise of the right size for one answer protects nothing if its draws are not counted. The defended curator
    pays for all repeats out of one budget (dither's own goes further and returns the stored answer to a repeated
    request).
    """
    truth = public_generator().integers(0, 2, size=targets)
    repeated = np.repeat(truth[:, None], _REPEATS, axis=1)
    # Everybody but the target is known and subtracted, so the count that is left is the target's own bit.
    careless = noisy_counts(repeated, positive("epsilon", epsilon) * _REPEATS, moved=_REPEATS)
    budgeted = noisy_counts(repeated, epsilon, moved=_REPEATS)
    asked = np.unique(np.geomspace(1, _REPEATS, 24).astype(int))
    shares = {
        name: [float(np.mean((answers[:, :count].mean(axis=1) > 0.5) == truth)) for count in asked.tolist()]
        for name, answers in (("no account", careless), ("one budget for all", budgeted))
    }
    unprotected, protected = (curve[-1] for curve in shares.values())
    return Outcome(
        attack="averaging",
        measure="share of people whose yes or no is inferred correctly",
        unprotected=unprotected,
        protected=protected,
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's answer, all {_REPEATS} repeats together",
        words=(
            f"Each answer alone loses {plainly(epsilon)}. After {_REPEATS} fresh ones without an account, the average "
            f"reveals {unprotected:.0%} of the bits; out of one budget the repeats add nothing."
        ),
        axes=("answers averaged", "share inferred correctly"),
        curves=tuple(Curve(name, tuple(map(float, asked)), tuple(curve)) for name, curve in shares.items()),
    )


_SOURCE = f"Revealing Information while Preserving Privacy (Dinur, Nissim 2003); {BOOK}, section 4.1.1"
_QUERIES_PER_PERSON = 4


def by_least_squares(subsets: NDArray[np.float64], answers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bits nearest to the solution with the least squared deviation from the answers."""
    solution, *_ = np.linalg.lstsq(subsets, answers, rcond=None)
    return (solution > 0.5).astype(np.int64)


def by_linear_programme(subsets: NDArray[np.float64], answers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bits nearest to the point of the unit cube with the least sum of absolute deviations."""
    from scipy.optimize import linprog

    queries, people = subsets.shape
    # Answers are explained as count + over - under; what is over and under is to be small.
    equations = np.hstack([subsets, np.eye(queries), -np.eye(queries)])
    cost = np.concatenate([np.zeros(people), np.ones(2 * queries)])
    bounds = [(0.0, 1.0)] * people + [(0.0, None)] * (2 * queries)
    found = linprog(cost, A_eq=equations, b_eq=answers, bounds=bounds, method="highs")
    return np.asarray(found.x[:people] > 0.5, dtype=np.int64)


def _shown(name: str, targets: int, epsilon: Number) -> Outcome:
    decode = by_linear_programme if name == "reconstruction-lp" else by_least_squares
    drawn = public_generator()
    truth = drawn.integers(0, 2, size=targets)
    queries = _QUERIES_PER_PERSON * targets
    subsets = drawn.integers(0, 2, size=(queries, targets))
    answers = subsets @ truth

    def share(given: NDArray[np.generic]) -> float:
        return float(np.mean(decode(subsets.astype(np.float64), given.astype(np.float64)) == truth))

    errors = [math.sqrt(targets) * part for part in (0.0, 0.125, 0.5, 1.0, 2.0, 4.0)]
    # The careless curator blurs each answer by a number of that size, which is not noise for any stated loss.
    curve = [share(answers + drawn.uniform(-error, error, size=queries).round()) for error in errors]
    private = noisy_counts(answers, epsilon, moved=queries)
    protected = share(private)
    return Outcome(
        attack=name,
        measure="share of secret bits recovered",
        unprotected=curve[1],
        protected=protected,
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's bit, all {queries} counts together",
        words=f"{queries} subset counts about {targets} people, each wrong by up to an eighth of the square root of "
        f"their number ({errors[1]:.1f}), give back {curve[1]:.1%} of the bits. With noise that pays for all counts "
        f"together the answers are wrong by {np.mean(np.abs(private - answers)):.0f} on average.",
        axes=("largest error of an answer, in square roots of the number of people", "share of bits recovered"),
        curves=(
            Curve("careless blur", tuple(error / math.sqrt(targets) for error in errors), tuple(curve)),
            Curve("noise for a stated loss", (0.0, 4.0), (protected, protected)),
        ),
    )


@attack("reconstruction-lp", source=_SOURCE, most=300)
def reconstruction_by_linear_programme(targets: int = 80, epsilon: Number = "1/2") -> Outcome:
    """Ask for many random subset counts, and solve a linear programme for the bits of all people.

    Linear reconstruction: too many counts, too accurate, are the column itself.

    Dinur and Nissim's theorem: answers to a few times n random subset counts with an error well below the square root
    of n fix all but a vanishing share of n secret bits. The bits are found by a linear programme (least sum of absolute
    deviations with every bit between 0 and 1) or by least squares, and rounded. Least squares is faster, and
    recovers more where every answer is blurred alike; where most are exact and some are wild, the programme does.
    """
    return _shown("reconstruction-lp", targets, epsilon)


@attack("reconstruction-least-squares", source=_SOURCE, most=1000)
def reconstruction_by_least_squares(targets: int = 200, epsilon: Number = "1/2") -> Outcome:
    """Ask for many random subset counts, and solve least squares for the bits of all people."""
    return _shown("reconstruction-least-squares", targets, epsilon)


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
    """Return the number of people of a block whose likeliest origin among those found is the true one."""
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
    """Find the people of every block who fit its published tables, by integer programming.

    Census-style reconstruction: the tables of a small block have few populations that fit them, often only one.

    A town of small blocks; for each block the three two-way tables of sex, age group and origin are published. An
    integer programme finds people who fit them. The attacker knows who lives in a block, their sex and age, and reads
    their origin off the people found.
    """
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
        measure="share of people whose origin is inferred correctly",
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
