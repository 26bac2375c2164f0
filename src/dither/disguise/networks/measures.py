"""What other weights keep: curves of weights and lengths, paths that stay the shortest, edges that look alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dither.disguise.networks.graph import Numbers, Weighted
from dither.disguise.networks.paths import Pairs, pairs_of, paths_of
from dither.errors import InvalidParameter

_EQUAL = 1e-9


def weight_curve(before: Weighted, after: Weighted, within: Sequence[float]) -> list[float]:
    """Return the share of changed weights whose relative change is at most each of these."""
    changed = before.weights != after.weights
    return _curve((np.abs(after.weights - before.weights) / before.weights)[changed], within)


def length_curve(
    before: Weighted, after: Weighted, within: Sequence[float], pairs: Iterable[tuple[int, int]] | None = None
) -> list[float]:
    """Return the share of shortest lengths whose relative change is at most each of these; over all pairs if None."""
    old, new = before.lengths(), after.lengths()
    chosen = np.isfinite(old) & (old > 0)
    if pairs is not None:
        wanted = np.zeros_like(chosen)
        for first, last in pairs_of(pairs):
            wanted[first, last] = True
        chosen &= wanted
    return _curve(np.abs(new[chosen] - old[chosen]) / old[chosen], within)


def _curve(changes: Numbers, within: Sequence[float]) -> list[float]:
    return [float(np.mean(changes <= reach)) if len(changes) else 1.0 for reach in within]


def paths_kept(before: Weighted, after: Weighted, pairs: Iterable[tuple[int, int]]) -> float:
    """Return the share of pairs whose shortest path before is a shortest one after; 1 if there are no pairs."""
    paths, _ = paths_of(before, pairs_of(pairs))
    if not len(paths):
        return 1.0
    shortest = after.lengths()[paths.first, paths.last]
    return float(np.mean(paths.lengths_in(after.weights) <= shortest * (1 + _EQUAL)))


def alike_edges(graph: Weighted, k: int, mu: float) -> NDArray[np.bool_]:
    """Return which edges are mu-weighted k-anonymous.

    An edge is if at least k edges of its first node, itself among them, have a weight within mu of its own. A node with
    fewer edges than k needs all of them within mu, and the rest of k anywhere else in the network. An undirected edge
    counts at both of its ends, and must be anonymous at both.
    """
    if k < 1:
        raise InvalidParameter("k", k, "at least 1")
    if not 0 <= mu < float("inf"):
        raise InvalidParameter("mu", mu, "at least 0 and finite")
    both = graph.both_ways()
    # Sums of decimals are rarely exact: what misses by rounding is within.
    reach = mu + _EQUAL * float(both.weights.mean())
    everywhere = np.sort(both.weights)
    out = np.zeros(len(both.weights), dtype=np.bool_)
    order = np.argsort(both.ends[:, 0], kind="stable")
    for edges in np.split(order, np.flatnonzero(np.diff(both.ends[order, 0])) + 1):
        weights = both.weights[edges]
        ordered = np.sort(weights)
        near = _within(ordered, weights, reach)
        if len(edges) >= k:
            out[edges] = near >= k
        else:
            out[edges] = (near == len(edges)) & (_within(everywhere, weights, reach) >= k)
    if graph.directed:
        return out
    half = len(graph.weights)
    return out[:half] & out[half:]


def _within(ordered: Numbers, weights: Numbers, reach: float) -> NDArray[np.int64]:
    above = np.searchsorted(ordered, weights + reach, side="right")
    return np.asarray(above - np.searchsorted(ordered, weights - reach, side="left"))


def kept_figures(before: Weighted, after: Weighted, pairs: Pairs) -> tuple[tuple[str, float], ...]:
    """Return the share of chosen paths kept and the mean relative change of their lengths, both measured afresh."""
    kept = ("chosen paths preserved", paths_kept(before, after, pairs))
    if not pairs:
        return (kept,)
    ends = np.array(pairs)
    old, new = (graph.lengths()[ends[:, 0], ends[:, 1]] for graph in (before, after))
    return kept, ("relative change of a chosen length, on average", float(np.mean(np.abs(new - old) / old)))
