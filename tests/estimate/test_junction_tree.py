"""Junction trees against their definition, on all small graphs that chance brings up, and against known widths."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.estimate.junction_tree import JunctionTree, junction_tree, model_cells

SETS = st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=3), max_size=12)
SIZES = st.lists(st.integers(1, 5), min_size=7, max_size=7)


def is_connected_for_each_attribute(tree: JunctionTree) -> bool:
    """Whether the cliques that hold an attribute hang together: all but one of them share it with their parent."""
    for axis in range(len(tree.sizes)):
        holding = [place for place, clique in enumerate(tree.cliques) if axis in clique]
        heads = [p for p in holding if tree.parents[p] < 0 or axis not in tree.cliques[tree.parents[p]]]
        if len(heads) != 1:
            return False
    return True


@settings(max_examples=80)
@given(SIZES, SETS)
def test_every_set_lies_in_a_clique_and_attributes_run_through(sizes: list[int], sets: list[set[int]]) -> None:
    given_sets = [tuple(sorted(axes)) for axes in sets]
    tree = junction_tree(sizes, given_sets)
    assert all(tree.holding(axes) is not None for axes in given_sets)
    assert {axis for clique in tree.cliques for axis in clique} == set(range(7))
    assert is_connected_for_each_attribute(tree)
    assert not any(set(a) < set(b) for a, b in itertools.permutations(tree.cliques, 2))
    assert tree.parents[0] == -1
    assert all(0 <= parent < place for place, parent in enumerate(tree.parents) if place)
    assert tree.cells == sum(math.prod(sizes[axis] for axis in clique) for clique in tree.cliques)
    assert tree.cells == model_cells(sizes, given_sets)
    assert junction_tree(sizes, given_sets[::-1]) == tree


def test_chordal_graphs_keep_their_cliques() -> None:
    chain = [(axis, axis + 1) for axis in range(9)]
    assert set(junction_tree([3] * 10, chain).cliques) == set(chain)
    triangles = [(0, 1, 2), (1, 2, 3), (2, 3, 4), (5, 6)]
    assert set(junction_tree([2] * 7, triangles).cliques) == set(triangles)


@settings(max_examples=25)
@given(SIZES, SETS)
def test_the_bound_on_a_further_pair_is_reached_by_a_tree(sizes: list[int], sets: list[set[int]]) -> None:
    """Some elimination order, of many that are tried, keeps within the bound; pairs that share a clique are free."""
    given_sets = [tuple(sorted(axes)) for axes in sets]
    tree = junction_tree(sizes, given_sets)
    for other, bound in enumerate(tree.joining(0)):
        if tree.holding({0, other}) is not None:
            assert bound == 0
            continue
        assert bound > 0
        # All cliques stay, as sets that must be held, and the pair comes to them.
        held = [*tree.cliques, (0, other)]
        assert tree.cells + bound >= best_cells(sizes, held)


def best_cells(sizes: list[int], sets: list[tuple[int, ...]]) -> int:
    """Return the fewest cells that many elimination orders, and the greedy ones, give."""
    best = model_cells(sizes, sets)
    for order in itertools.islice(itertools.permutations(range(len(sizes))), 0, 5040, 199):
        cliques, left = [], [set(axes) for axes in sets]
        for axis in order:
            joined = set().union({axis}, *(axes for axes in left if axis in axes))
            cliques.append(joined)
            left = [axes for axes in left if axis not in axes] + [joined - {axis}]
        kept = [
            c
            for i, c in enumerate(cliques)
            if not any(c <= d and (c < d or i > j) for j, d in enumerate(cliques) if i != j)
        ]
        best = min(best, sum(math.prod(sizes[axis] for axis in clique) for clique in kept))
    return best


@pytest.mark.parametrize("length", range(4, 12))
def test_a_ring_has_width_two(length: int) -> None:
    """All cliques of a triangulated ring are triangles; a bad elimination order would give larger ones."""
    ring = [(axis, (axis + 1) % length) for axis in range(length)]
    tree = junction_tree([2] * length, ring)
    assert len(tree.cliques) == length - 2
    assert {len(clique) for clique in tree.cliques} == {3}


def test_large_attributes_are_kept_apart() -> None:
    """Of the two chords of a square, the one between small attributes is added."""
    sizes = [2, 100, 2, 100]
    assert model_cells(sizes, [(0, 1), (1, 2), (2, 3), (0, 3)]) == 2 * 2 * 2 * 100


@pytest.mark.parametrize(("sizes", "sets"), [([], []), ([0, 2], []), ([2, 2], [(0, 2)]), ([2, 2], [(-1,)])])
def test_what_is_no_graph_is_refused(sizes: list[int], sets: list[tuple[int, ...]]) -> None:
    with pytest.raises(InvalidParameter):
        junction_tree(sizes, sets)
