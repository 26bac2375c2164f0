"""Releases of a declared graph: planned from public facts. Nothing here reads edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from dither.data.expressions import Value
from dither.data.graphs import MOST_EDGES
from dither.data.schema import DataSet
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import exp_up, round_up
from dither.lift.edges import EdgeDegrees, Edges, GraphSource
from dither.lift.lifted import Lifted
from dither.lift.source import Source
from dither.privacy import EDGE, ApproxDP, Loss, PureDP
from dither.publish.graphs.choosing import COUNTING, LADDER, LAPLACE, NOISY_LOCAL, SMOOTH, TRUNCATED, choose_count
from dither.publish.graphs.degree_histogram import DegreeHistogram
from dither.publish.graphs.degree_tail import DegreeTail
from dither.publish.graphs.degree_vector import DegreeVector
from dither.publish.graphs.graph_ratio import RATIOS, GraphRatio
from dither.publish.graphs.ladder_count import LadderCount
from dither.publish.graphs.laplace_count import LaplaceCount
from dither.publish.graphs.local_count import LocalCount
from dither.publish.graphs.node_planning import DEGREE_SUM, check_node_wish, node_method
from dither.publish.graphs.patterns import CLIQUES, EDGES, K_TRIANGLES, PATTERNS, STARS, check_pattern, named
from dither.publish.graphs.smooth_count import SmoothCount

#: What may be asked of a graph.
DEGREES, BY_NODE, HISTOGRAM = "degrees", "degrees-by-node", "degree-histogram"
WISHES: Final = (*PATTERNS, DEGREES, BY_NODE, HISTOGRAM, DEGREE_SUM, *RATIOS)
METHODS: Final = ("auto", *COUNTING)
_KINDS: Final[dict[str, type[Any]]] = {
    LAPLACE: LaplaceCount,
    LADDER: LadderCount,
    SMOOTH: SmoothCount,
    NOISY_LOCAL: LocalCount,
    TRUNCATED: LaplaceCount,
}
_OTHERS: Final[dict[str, type[Any]]] = {DEGREES: DegreeTail, BY_NODE: DegreeVector, HISTOGRAM: DegreeHistogram}
#: What is made for a delta, and not through a rho.
_WITH_DELTA: Final = (SMOOTH, NOISY_LOCAL, TRUNCATED, *RATIOS)

#: What is left of a delta for the rounding of its share.
_SPARE: Final = Fraction(9999, 10000)


def source_for(
    dataset: DataSet, table: str, wish: str, method: str, *, since: Value = None, until: Value = None
) -> GraphSource:
    """Return what is read of a graph: degrees, counted in the engine, where these are enough; else its edges.

    Args:
        dataset: the schema.
        table: the table of edges.
        wish: one of ``WISHES``.
        method: of a count.
        since: only edges of this date or time, or a later one, count.
        until: only edges of an earlier date or time count.

    """
    found = dataset.table(table)
    graph = found.graph
    if graph is None or graph.directed or dataset.unit != EDGE or method == NOISY_LOCAL:
        return Edges(dataset, table, since, until)
    # The ladder of stars is a little narrower with the edges at hand.
    is_large = graph.most_edges(found.nodes) > MOST_EDGES
    if wish in (EDGES, *_OTHERS) or (wish == STARS and (is_large or method in (LAPLACE, TRUNCATED))):
        return EdgeDegrees(dataset, table, since, until)
    return Edges(dataset, table, since, until)


def plan_graph(
    source: GraphSource,
    loss: Loss,
    wish: str,
    *,
    k: int | None = None,
    method: str = "auto",
    worth: Sequence[int] | None = None,
) -> Lifted:
    """Return the release of something about a graph.

    Args:
        source: its edges.
        loss: what it may lose.
        wish: one of ``WISHES``.
        k: of stars, k-triangles and cliques.
        method: for counts; "auto" takes what ``choose_count`` chooses. Where nodes are protected "auto" chooses a bound
            privately; others are "projection", "flow", "race", "recursive", "programmes" and "quick".
        worth: of "degree-sum", what a node of degree 1, 2, 3, ... counts.

    """
    if wish not in WISHES:
        raise InvalidParameter("what", wish, f"one of {', '.join(WISHES)}")
    degree = source.graph.degree
    if wish == DEGREE_SUM and degree is None:
        rule = (
            "a query for edge privacy: degree-sum needs node privacy. Compute it from a released degree histogram "
            "instead"
        )
        raise InvalidParameter("what", wish, rule)
    is_wrong = worth is not None if wish != DEGREE_SUM else not isinstance(worth, list | tuple)
    if is_wrong:
        raise InvalidParameter("worth", worth, f"required for {DEGREE_SUM}, such as 1,2,3, and not allowed otherwise")
    if degree is not None:
        check_node_wish(wish, method)
    elif method not in METHODS:
        raise InvalidParameter("method", method, f"one of {', '.join(METHODS)}")
    if wish in (STARS, K_TRIANGLES, CLIQUES) and k is None:
        raise InvalidParameter("k", None, f"required for {wish}, such as {4 if wish == CLIQUES else 2}")
    if wish in PATTERNS:
        check_pattern(wish, k or 0)
    elif k is not None or (method != "auto" and degree is None):
        raise InvalidParameter(
            "k" if k is not None else "method", k if k is not None else method, f"not allowed for {wish}"
        )

    chosen = method
    if wish in PATTERNS and method == "auto" and degree is None:
        chosen = LAPLACE if wish == EDGES else choose_count(loss, nodes=source.nodes, pattern=wish, k=k or 0).method

    def build(within: Loss) -> Any:
        if degree is not None:
            return node_method(within, source, degree, wish, k or 0, method, worth or ())
        if wish in RATIOS:
            return GraphRatio.calibrated(within, nodes=source.nodes, ratio=wish)
        if wish in _OTHERS:
            return _OTHERS[wish].calibrated(within, nodes=source.nodes)
        # Other methods and patterns have no directions, and are refused with the source.
        ways = {"directed": True} if source.graph.directed and wish == EDGES and chosen in (LAPLACE, TRUNCATED) else {}
        ways |= {"truncated": True} if chosen == TRUNCATED else {}
        return _KINDS[chosen].calibrated(within, nodes=source.nodes, pattern=wish, k=0 if k is None else k, **ways)

    if (wish if wish in RATIOS else chosen) in _WITH_DELTA and isinstance(loss, ApproxDP) and loss.delta:
        return _with_delta(loss, source, build)
    if chosen in (NOISY_LOCAL, TRUNCATED):
        raise InvalidParameter("delta", None, f"required: the method {chosen} needs an epsilon and a delta")
    return least_noise(loss, source, build, keeps_delta=method == SMOOTH)


def _with_delta(loss: ApproxDP, source: GraphSource, build: Callable[[Loss], Any]) -> Lifted:
    """Return a release by a method that is made for an epsilon and a delta; one edge may move several."""
    size = math.ceil(max(source.moves().values()))
    epsilon = loss.epsilon / size
    # As a group of that size: its delta grows by 1 + e^epsilon + ..., which is rounded up once more when it is stated.
    share = loss.delta * _SPARE / round_up(sum((exp_up(epsilon * step) for step in range(size)), Fraction(0)))
    within = loss if size == 1 else ApproxDP(epsilon, share)
    made = Lifted(source=source, method=build(within))
    if not made.loss(1) <= loss:
        raise NoGuarantee(f"the release would lose {made.loss(1)}, which is not within {loss}")
    return made


def least_noise(loss: Loss, source: Source[Any], build: Callable[[Loss], Any], *, keeps_delta: bool = False) -> Lifted:
    """Return the release with less noise of those within a stated loss: as it is, and without its delta.

    Args:
        loss: what may be lost.
        source: what is read.
        build: makes the method.
        keeps_delta: whether the method is made for a delta.

    """
    is_split = isinstance(loss, ApproxDP) and bool(loss.delta) and not keeps_delta
    ways = [loss, PureDP(loss.epsilon)] if is_split and isinstance(loss, ApproxDP) else [loss]
    made = [Lifted.calibrated(within, source=source, build=build) for within in ways]
    # At an equal amount of noise, what was stated.
    return min(made, key=_width)


def _width(made: Lifted) -> Fraction:
    """Return how wide the noise is, as far as that is public: half the variance, or the scale of a ladder squared."""
    method: Any = made.method
    method = method.parts[-1] if isinstance(method, GraphRatio) else method
    noise = getattr(method, "noise", None) or getattr(method, "node", method)
    if hasattr(noise, "sigma"):
        return Fraction(noise.sigma) ** 2 / 2
    return Fraction(noise.scale) ** 2


def words_of(wish: str, k: int | None, table: str) -> str:
    """Return what would be released, in one line."""
    what = named(wish, k or 0) if wish in PATTERNS else wish.replace("-", " ")
    return f"{what} of the graph {table}"
