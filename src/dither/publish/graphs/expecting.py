"""How far a release of a graph may be off, in words, before it is made: from public parameters alone.

Where the noise follows the graph, no one number is public. Then what is said is the error for several guesses of how
far one edge moves the count, or for the least and the largest bound that may be chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from dither.errors import NoGuarantee
from dither.lift.lifted import Lifted
from dither.pages.digits import two_digits
from dither.privacy import Loss
from dither.publish.graphs.choosing import LADDER, NOISY_LOCAL, SMOOTH, choose_count
from dither.publish.graphs.chosen_degree_sum import ChosenDegreeSum
from dither.publish.graphs.chosen_edges import ChosenEdges
from dither.publish.graphs.chosen_stars import ChosenStars
from dither.publish.graphs.chosen_triangles import ChosenTriangles
from dither.publish.graphs.degree_tail import DegreeTail
from dither.publish.graphs.ladder_count import LadderCount
from dither.publish.graphs.local_count import LocalCount
from dither.publish.graphs.packing import PARTS, moved
from dither.publish.graphs.patterns import reach
from dither.publish.graphs.quick_triangles import QuickTriangles
from dither.publish.graphs.smooth_count import SmoothCount
from dither.publish.graphs.standing_out import UNIT

_METHODS: Final[dict[type[Any], str]] = {LadderCount: LADDER, SmoothCount: SMOOTH, LocalCount: NOISY_LOCAL}
#: How far one edge is guessed to move a count.
_GUESSES: Final = (10, 100)
_HALF: Final = Fraction(1, 2)


def expected_error(made: Lifted, stated: Loss, confidence: Fraction) -> str:
    """Return what is known of the error before a release, in one line.

    Args:
        made: the mechanism.
        stated: what it may lose.
        confidence: of a bound on the error.

    """
    method: Any = made.method
    bound = made.error(confidence)
    if bound is not None:
        return bound.words
    if type(method) in _METHODS:
        return _guessed(made, stated) or f"not known before: {method.no_error_because}"
    if isinstance(method, DegreeTail):
        middle = method.node.error(_HALF).value
        return f"median {two_digits(middle)} for each number of nodes above a degree, before these are put in order"
    moves = _moves(method)
    if moves is not None:
        ends = dict.fromkeys((method.bounds[0], method.bounds[-1]))
        noise = float(method.noise.error(_HALF).value) / UNIT
        said = ", ".join(f"{two_digits(noise * moves(end))} at a bound of {end:,}" for end in ends)
        return f"median of the noise {said}; what is beyond the bound is missing on top"
    return f"not known before: {method.no_error_because}"


def _moves(method: Any) -> Callable[[int], float] | None:
    """Return how far one node moves what is counted within a bound; None where no bound is chosen for a count."""
    if isinstance(method, ChosenEdges):
        return float
    if isinstance(method, ChosenTriangles | QuickTriangles):
        return lambda bound: moved(bound) / PARTS
    return method.moved if isinstance(method, ChosenStars | ChosenDegreeSum) else None


def _guessed(made: Lifted, stated: Loss) -> str | None:
    """Return median errors for guesses of how far one edge moves a count."""
    method: Any = made.method
    worst = max(reach(method.nodes, method.pattern, method.k), 1)
    edges, found = float(max(made.source.moves().values())), []
    for moves in (*(guess for guess in _GUESSES if guess < worst), worst):
        try:
            choice = choose_count(stated, nodes=method.nodes, pattern=method.pattern, k=method.k, moves=moves)
        except NoGuarantee:  # a loss in which there is no epsilon to go by
            return None
        error = choice.errors.get(_METHODS[type(method)])
        if error is None:
            return None
        found.append(f"{two_digits(edges * error)} if one edge moves the count by {moves:,}")
    return f"median about {', '.join(found)}, the most in any graph"
