"""Paths published by answers on pairs: the thesis's own example, its 122 sizes, recovery, and the endpoint attack."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.attack.places import chance_of_no_branch
from dither.errors import InvalidParameter
from dither.mechanisms.pair_response import NO_EDGE, OTHER_EDGE, PATH_EDGE
from dither.publish.places.paths import (
    Network,
    PairResponse,
    draw_levels,
    is_comparability,
    orientation,
    path_states,
    publish_path,
    recover_path,
)

# The worked example of sections 6.2.3 and 6.3.1, from 0: the path 1-2-3-4-5-6, and no edges (1,3), (1,4), (1,5).
_EXAMPLE = Network.of(
    6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 3), (1, 4), (1, 5), (2, 4), (2, 5), (3, 5)]
)


def test_the_worked_example_is_drawn_and_read_back() -> None:
    made = path_states(_EXAMPLE, range(6))
    states = dict(zip(_EXAMPLE.pairs, made.states.tolist(), strict=True))
    assert sorted(pair for pair, state in states.items() if state == PATH_EDGE) == [(n, n + 1) for n in range(5)]
    off_path = sorted(pair for pair, state in states.items() if state == OTHER_EDGE)
    assert off_path == [(0, 5), (1, 3), (1, 4), (1, 5), (2, 4), (2, 5), (3, 5)]
    assert sorted(pair for pair, state in states.items() if state == NO_EDGE) == [(0, 2), (0, 3), (0, 4)]
    # The thesis's coins put (1, 3) into one branch, and the two others apart.
    drawing = draw_levels(6, [*off_path, (0, 2)])
    assert drawing.is_whole
    assert drawing.comparable == frozenset([*off_path, (0, 2)])
    assert recover_path(_EXAMPLE, drawing, True) == (0, 1, 2, 3, 4, 5)
    assert recover_path(_EXAMPLE, drawing, False) == (5, 4, 3, 2, 1, 0)


def test_the_cyclic_example_gets_copies() -> None:
    """Figure 6.4: 1-2-3-4-5-2-3-6 becomes 1.0-2.0-3.0-4.0-5.0-2.1-3.1-6.0."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 4), (2, 5)]
    network = Network.of(6, edges, copies=2)
    made = path_states(network, [0, 1, 2, 3, 4, 1, 2, 5])
    assert [(copy % 6, copy // 6) for copy in made.path] == [
        *((0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (1, 1), (2, 1), (5, 0)),
    ]
    states = dict(zip(network.pairs, made.states.tolist(), strict=True))
    assert states[1, 6 + 2] == OTHER_EDGE
    assert states[1, 6 + 1] == NO_EDGE
    told = [pair for pair, state in states.items() if state == OTHER_EDGE]
    assert recover_path(network, draw_levels(12, told), True) in ((0, 1, 2, 3, 4, 1, 2, 5), (5, 2, 1, 4, 3, 2, 1, 0))


def slow_comparability(vertices: int, edges: list[tuple[int, int]]) -> bool:
    """Return whether any way of directing the edges is transitive, by trying all."""
    for flips in itertools.product((False, True), repeat=len(edges)):
        directed = {edge[::-1] if flip else edge for edge, flip in zip(edges, flips, strict=True)}
        if all((a, d) in directed for a, b in directed for c, d in directed if b == c):
            return True
    return False


def test_orientations_are_transitive_and_found_where_there_is_one() -> None:
    """All 1,024 graphs on 5 vertices, against trying all directions."""
    pairs = list(itertools.combinations(range(5), 2))
    for chosen in itertools.product((False, True), repeat=len(pairs)):
        edges = list(itertools.compress(pairs, chosen))
        found = orientation(5, edges)
        if len(edges) <= 6:
            assert (found is not None) == slow_comparability(5, edges)
        if found is not None:
            assert {tuple(sorted(edge)) for edge in found} == set(edges)
            assert all((a, d) in found for a, b in found for c, d in found if b == c)


def test_every_graph_can_be_drawn_in_pieces() -> None:
    pairs = list(itertools.combinations(range(5), 2))
    split = 0
    for chosen in itertools.product((False, True), repeat=len(pairs)):
        edges = list(itertools.compress(pairs, chosen))
        drawing = draw_levels(5, edges)
        assert drawing.comparable == frozenset(edges)
        assert all(drawing.level[above] < drawing.level[under] for above, under in drawing.below)
        split += not drawing.is_whole
    # The 5-cycle is the only graph on 5 vertices that is no comparability graph: 12 of them.
    assert split == 12


def usable_share(vertices: int, extra: int) -> float:
    """Return the share of networks with that many edges off a path through all vertices that can be drawn whole."""
    off_path = [pair for pair in itertools.combinations(range(vertices), 2) if pair[1] - pair[0] > 1]
    drawn = [is_comparability(vertices, chosen) for chosen in itertools.combinations(off_path, extra)]
    return sum(drawn) / len(drawn)


def test_there_are_122_sizes_of_which_36_can_always_be_drawn() -> None:
    """BM08. A graph with four edges has no odd cycle without a chord; and what lies off a path in a complete network
    is a permutation graph. All networks of 5 and 6 vertices are tried; for more, the densest and some.
    """
    sizes = [(n, extra) for n in range(5, 11) for extra in range(math.comb(n, 2) - n + 2)]
    assert len(sizes) == 122
    always = [(n, extra) for n, extra in sizes if extra <= 4 or extra == math.comb(n, 2) - n + 1]
    assert len(always) == 36
    for n in (5, 6):
        shares = {extra: usable_share(n, extra) for extra in range(math.comb(n, 2) - n + 2)}
        assert {extra for extra, share in shares.items() if share == 1} == {extra for m, extra in always if m == n}
    for n in range(7, 11):
        off_path = [pair for pair in itertools.combinations(range(n), 2) if pair[1] - pair[0] > 1]
        assert is_comparability(n, off_path)
        assert all(is_comparability(n, off_path[start : start + 4]) for start in range(len(off_path) - 3))


def test_recovery_is_exact_if_and_only_if_no_answer_about_an_edge_is_false() -> None:
    """All answers for a network of 5 vertices and 7 edges: the path comes back with probability (1 - eta)^7."""
    network = Network.of(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (1, 3), (0, 4)])
    made = path_states(network, range(5))
    eta = 0.2
    chance = 0.0
    for bits in itertools.product((0, 1), repeat=10):
        weight = math.prod(
            0.5 if state == NO_EDGE else 1 - eta if bit == (state == OTHER_EDGE) else eta
            for bit, state in zip(bits, made.states.tolist(), strict=True)
        )
        told = list(itertools.compress(network.pairs, bits))
        chance += weight * (recover_path(network, draw_levels(5, told), True) == (0, 1, 2, 3, 4))
    assert abs(chance - (1 - eta) ** 7) < 1e-12


def test_the_loss_is_that_of_the_largest_ratio() -> None:
    method = PairResponse(epsilon=2, pairs=1)
    eta = method.lie
    chances = {NO_EDGE: 0.5, PATH_EDGE: eta, OTHER_EDGE: 1 - eta}
    worst = max(
        abs(math.log(a / b))
        for one, two in itertools.permutations(chances.values(), 2)
        for a, b in [(one, two), (1 - one, 1 - two)]
    )
    assert abs(worst - 2) < 1e-12
    assert 0.93 <= PairResponse(epsilon=5, pairs=1).all_true(10) < 0.94
    assert round(PairResponse(epsilon=1, pairs=1).all_true(10), 2) == 0.04


def test_a_published_path_comes_back_without_noise() -> None:
    """At an epsilon of 60 a lie has probability e^-60."""
    published = publish_path(_EXAMPLE, [5, 4, 3, 2, 1, 0], epsilon=60)
    assert recover_path(_EXAMPLE, published.drawing, published.forward) == (5, 4, 3, 2, 1, 0)


@pytest.mark.parametrize(("thesis", "share"), [(0.5, 0.18), (1, 0.24), (5, 0.79), (10, 0.98)])
def test_the_endpoint_attack_finds_the_missing_edge(thesis: float, share: float) -> None:
    # Three other pairs of loose ends are struck out unless they fall into no common branch.
    assert round((1 - chance_of_no_branch(thesis)) ** 3, 2) == share


def test_odd_paths_have_a_meaning_and_odd_networks_are_refused() -> None:
    assert path_states(_EXAMPLE, []).path == ()
    assert path_states(_EXAMPLE, [0, 0, 99, "x", 2, 1]).path == (0, 1)  # type: ignore[list-item]
    assert np.array_equal(path_states(_EXAMPLE, [0]).states, path_states(_EXAMPLE, []).states)
    with pytest.raises(InvalidParameter, match="edges"):
        Network.of(3, [(0, 3)])
    with pytest.raises(InvalidParameter, match="edges"):
        Network.of(3, [(1, 1)])
    with pytest.raises(InvalidParameter, match="copies"):
        Network.of(3, [(0, 1)], copies=0)
    with pytest.raises(InvalidParameter, match="drawing"):
        recover_path(Network.of(2, [(0, 1)]), draw_levels(5, []), True)
