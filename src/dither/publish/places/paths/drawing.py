"""Drawing answers as a partial order: two vertices of one branch are comparable, and all others are not.

The graph of the pairs with the answer 1 can be drawn with its vertices whole if and only if it is a comparability
graph: its edges can be directed so that a to b and b to c imply a to c. That is decided in polynomial time by
implication classes. Where it cannot, the edges are covered by bipartite graphs, each of which can be drawn in two
levels, and a vertex has a piece in each. All of it is computed from released answers and public numbers of vertices:
post-processing.
Correction: the printed search over levels is exponential, misses drawings that exist, and follows the order of the
secret path; here the public numbers of vertices decide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

Edge = tuple[int, int]


def _neighbours(vertices: int, edges: Iterable[Edge]) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in range(vertices)]
    for first, second in edges:
        near[first].add(second)
        near[second].add(first)
    return near


def _forced(near: list[set[int]], start: Edge) -> set[Edge]:
    """Return the implication class of a directed edge: all directions that it forces."""
    found, queue = {start}, deque([start])
    while queue:
        tail, head = queue.popleft()
        # tail -> head forces tail -> other where other is no neighbour of head, and other -> head likewise.
        forced = [(tail, other) for other in near[tail] if other != head and other not in near[head]]
        forced += [(other, head) for other in near[head] if other != tail and other not in near[tail]]
        for edge in forced:
            if edge not in found:
                found.add(edge)
                queue.append(edge)
    return found


def orientation(vertices: int, edges: Iterable[Edge]) -> set[Edge] | None:
    """Return a transitive orientation, from the smallest number on; None if there is none.

    Golumbic's algorithm: take an implication class, refuse if it holds an edge in both directions, remove its edges
    from the graph, and go on with what is left.

    >>> orientation(3, [(0, 1), (1, 2)])
    {(0, 1), (2, 1)}
    >>> orientation(5, [(0, 2), (1, 2), (1, 3), (0, 4), (3, 4)]) is None
    True
    """
    left = {(min(edge), max(edge)) for edge in edges}
    directed: set[Edge] = set()
    while left:
        near = _neighbours(vertices, left)
        found = _forced(near, min(left))
        if any((head, tail) in found for tail, head in found):
            return None
        directed |= found
        left -= {(min(edge), max(edge)) for edge in found}
    return directed


def is_comparability(vertices: int, edges: Iterable[Edge]) -> bool:
    """Return whether a graph can be drawn with its vertices whole.

    >>> is_comparability(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    False
    """
    return orientation(vertices, edges) is not None


@dataclass(frozen=True)
class Drawing:
    """Pieces of vertices on levels, and which pieces are comparable.

    Args:
        base: the vertex of each piece; public.
        level: the level of each piece, 0 on top.
        below: pairs of pieces: the first is above the second in one branch.

    """

    base: tuple[int, ...]
    level: tuple[int, ...]
    below: frozenset[Edge]

    @property
    def is_whole(self) -> bool:
        """Whether no vertex was split."""
        return len(set(self.base)) == len(self.base)

    @property
    def comparable(self) -> frozenset[Edge]:
        """Pairs of vertices of which a piece is comparable to a piece of the other."""
        pairs = ((self.base[above], self.base[under]) for above, under in self.below)
        return frozenset((min(pair), max(pair)) for pair in pairs)


def draw_levels(vertices: int, edges: Iterable[Edge]) -> Drawing:
    """Return the drawing of a graph: whole where that is possible, else in pieces.

    >>> draw_levels(3, [(0, 1), (1, 2)]).level, draw_levels(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]).is_whole
    ((0, 1, 0), False)
    """
    pairs = sorted({(min(edge), max(edge)) for edge in edges})
    directed = orientation(vertices, pairs)
    if directed is not None:
        return Drawing(tuple(range(vertices)), _levels(vertices, directed), frozenset(directed))
    colours = _coloured(vertices, pairs)
    base = list(range(vertices))
    pieces: dict[Edge, int] = {}
    below: set[Edge] = set()
    for first, second in pairs:
        # The lowest digit in which two colours differ says to which of the bipartite graphs an edge belongs.
        digit = ((colours[first] ^ colours[second]) & -(colours[first] ^ colours[second])).bit_length() - 1
        ends = []
        for vertex in (first, second):
            if digit and (vertex, digit) not in pieces:
                pieces[vertex, digit] = len(base)
                base.append(vertex)
            ends.append(pieces[vertex, digit] if digit else vertex)
        below.add((ends[0], ends[1]) if not colours[first] >> digit & 1 else (ends[1], ends[0]))
    return Drawing(tuple(base), _levels(len(base), below), frozenset(below))


def _coloured(vertices: int, edges: list[Edge]) -> list[int]:
    """Return colours such that neighbours differ: each vertex takes the first that no earlier neighbour has."""
    near = _neighbours(vertices, edges)
    colours = [-1] * vertices
    for vertex in range(vertices):
        taken = {colours[other] for other in near[vertex]}
        colours[vertex] = next(colour for colour in range(vertices) if colour not in taken)
    return colours


def _levels(vertices: int, directed: Iterable[Edge]) -> tuple[int, ...]:
    """Return how many vertices are on the longest branch above each vertex."""
    children: list[list[int]] = [[] for _ in range(vertices)]
    waiting = [0] * vertices
    for above, under in directed:
        children[above].append(under)
        waiting[under] += 1
    level = [0] * vertices
    ready = deque(vertex for vertex in range(vertices) if not waiting[vertex])
    while ready:
        vertex = ready.popleft()
        for under in children[vertex]:
            level[under] = max(level[under], level[vertex] + 1)
            waiting[under] -= 1
            if not waiting[under]:
                ready.append(under)
    return tuple(level)
