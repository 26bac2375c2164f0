"""Linear reconstruction: too many counts, too accurate, are the column itself.

Dinur and Nissim's theorem: answers to a few times n random subset counts with an error well below the square root of n
fix all but a vanishing share of n secret bits. The bits are found by a linear programme (least sum of absolute
deviations with every bit between 0 and 1) or, faster and nearly as well, by least squares, and rounded.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import BOOK
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

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
    """Ask for many random subset counts, and solve a linear programme for everybody's bit."""
    return _shown("reconstruction-lp", targets, epsilon)


@attack("reconstruction-least-squares", source=_SOURCE, most=1000)
def reconstruction_by_least_squares(targets: int = 200, epsilon: Number = "1/2") -> Outcome:
    """Ask for many random subset counts, and solve least squares for everybody's bit."""
    return _shown("reconstruction-least-squares", targets, epsilon)
