"""All graphs with five nodes, by the bits of their edges."""

from __future__ import annotations

import itertools
from functools import cache

from dither.publish.graphs.simple_graph import SimpleGraph, graph_of

PAIRS = list(itertools.combinations(range(5), 2))
#: Which edges are left without those of each node.
WITHOUT = [sum(1 << place for place, pair in enumerate(PAIRS) if node not in pair) for node in range(5)]


def edges_at(bits: int) -> list[tuple[int, int]]:
    """Return the edges of the graph that has these bits."""
    return [pair for place, pair in enumerate(PAIRS) if bits >> place & 1]


@cache
def graph_at(bits: int) -> SimpleGraph:
    """Return the graph that has these bits."""
    return graph_of(edges_at(bits), 5)


@cache
def classes() -> dict[int, int]:
    """Return for each graph the first that is the same but for the order of its nodes."""
    found = dict[int, int]()
    place = {pair: place for place, pair in enumerate(PAIRS)}
    orders = [[place[min(o[a], o[b]), max(o[a], o[b])] for a, b in PAIRS] for o in itertools.permutations(range(5))]
    for bits in range(1 << len(PAIRS)):
        if bits not in found:
            chosen = [one for one in range(len(PAIRS)) if bits >> one & 1]
            for order in orders:
                found[sum(1 << order[one] for one in chosen)] = bits
    return found
