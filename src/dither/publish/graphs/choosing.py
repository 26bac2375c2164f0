"""Choosing a method for a count of a graph by public facts, and saying why. Nothing here reads edges.

The error of noise for the worst case is known. That of the other methods follows how far one edge moves the count in
the graph at hand, which is private: it is reckoned for a guess from public knowledge, and unknown without one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, log_up, positive, probability, round_up, whole
from dither.mechanisms.core.purse import Purse
from dither.privacy import ApproxDP, Loss, PureDP
from dither.publish.graphs.patterns import EDGES, check_pattern, named, reach

LAPLACE, LADDER, SMOOTH, NOISY_LOCAL, TRUNCATED = COUNTING = ("laplace", "ladder", "smooth", "noisy-local", "truncated")
#: Worst cases up to this are no wider than the steps of a ladder.
_NARROW: Final = 2
#: The median size of the noise of smooth-cauchy at an epsilon of 1, for a bound of 1.
_CAUCHY: Final = 2.56
#: Prices are rounded up to this number of binary digits.
_BITS: Final = 20


@dataclass(frozen=True)
class GraphChoice:
    """A method for a count, the median errors that were compared, and the reason.

    Args:
        method: the one to take.
        errors: the median of the absolute error by method; None where it is private.
        because: one line for people.

    """

    method: str
    errors: dict[str, float | None]
    because: str

    def __str__(self) -> str:
        return f"{self.method}: {self.because}"


def choose_count(loss: Loss, *, nodes: int, pattern: str, k: int = 0, moves: int | None = None) -> GraphChoice:
    """Return the method for a count with the least error, as far as that is public.

    Args:
        loss: what it may lose.
        nodes: their number.
        pattern: edges, triangles, stars, k-triangles or cliques.
        k: of stars, k-triangles and cliques.
        moves: how far one edge moves the count in such a graph, guessed from public knowledge: for triangles the
            largest number of common neighbours of two nodes.

    >>> from dither.privacy import PureDP
    >>> choose_count(PureDP(1), nodes=5000, pattern="triangles", moves=50).method
    'ladder'
    >>> print(choose_count(PureDP(1), nodes=5000, pattern="edges"))
    laplace: one edge moves the number of edges by at most 1 in any graph

    """
    check_pattern(pattern, k)
    worst = max(reach(whole("nodes", nodes, least=2), pattern, k), 1)
    epsilon = float(Purse.pure_within(loss).amount)
    plain = math.log(2) * worst / epsilon
    errors: dict[str, float | None] = {LAPLACE: plain}
    what = named(pattern, k)
    if pattern == EDGES or worst <= _NARROW:
        return GraphChoice(LAPLACE, errors, f"one edge moves the number of {what} by at most {worst} in any graph")
    if ladder_median(1, worst, epsilon) >= plain:
        return GraphChoice(
            LAPLACE, errors, f"a ladder of {what} would have a larger error in any graph of so few nodes"
        )
    errors |= {LADDER: None, SMOOTH: None}
    has_delta = isinstance(loss, ApproxDP) and bool(loss.delta)
    if has_delta:
        errors[NOISY_LOCAL] = None
    if moves is None:
        why = f"its noise follows this graph; in the worst one an edge moves the number of {what} by {worst:,}"
        return GraphChoice(LADDER, errors, why)
    if not 0 <= moves <= worst:
        raise InvalidParameter(
            "moves", moves, f"an integer from 0 to {worst}, the largest change by an edge in any graph"
        )
    errors[LADDER] = ladder_median(max(moves, 1), worst, epsilon)
    errors[SMOOTH] = _CAUCHY * max(moves, 1) / epsilon
    if has_delta and isinstance(loss, ApproxDP):
        margin = (math.log(1 / float(loss.delta)) + 1) * 5 / epsilon
        errors[NOISY_LOCAL] = math.log(2) * min(moves + margin, worst) / (0.8 * epsilon)
    best = min((error, name) for name, error in errors.items() if error is not None)[1]
    return GraphChoice(best, errors, f"the least median error where one edge moves the number of {what} by {moves:,}")


def loss_for_error(
    error: Number, confidence: Number, *, nodes: int, pattern: str, k: int = 0, moved: int = 1
) -> PureDP:
    """Return a loss at which noise for the worst case keeps an error with a confidence: accuracy first, then its price.

    Args:
        error: the largest absolute error of the count.
        confidence: how likely that is to hold.
        nodes: their number.
        pattern: edges, triangles, stars, k-triangles or cliques.
        k: of stars, k-triangles and cliques.
        moved: how many edges one edge of the table moves.

    >>> float(loss_for_error(100, "0.95", nodes=1000, pattern="edges").epsilon)
    0.02995...

    """
    check_pattern(pattern, k)
    wanted = positive("error", error)
    failure = 1 - probability("confidence", confidence, open_below=True)
    worst = max(reach(whole("nodes", nodes, least=2), pattern, k), 1) * moved
    # Noise of scale s exceeds s ln(1 / failure) with a smaller probability than that.
    return PureDP(round_up(worst * log_up(1 / failure) / wanted, bits=_BITS))


def ladder_median(first: int, worst: int, epsilon: float) -> float:
    """Return the median size of a ladder's noise whose widths grow by 1: of triangles, and nearly of other counts.

    Args:
        first: the width of the first rung.
        worst: the largest width.
        epsilon: what the ladder loses for inputs one rung apart.

    """
    rungs = min(math.ceil(80 / epsilon) + 2, 2**16)
    widths = np.minimum(first + np.arange(rungs), worst).astype(np.float64)
    # As on the page of the ladder: a rung ends at a share of its own width after all widths before it.
    share = 1 / (1 + math.exp(min(epsilon / 4, 700)))
    ends = np.concatenate([[0], np.cumsum(widths)[:-1]]) + share * widths
    weights = np.diff(ends, prepend=0) * np.exp(-np.arange(rungs) * epsilon / 2)
    below = np.concatenate([[0], np.cumsum(weights) / weights.sum()])
    return float(np.interp(0.5, below, np.concatenate([[0], ends])))
