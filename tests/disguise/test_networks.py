"""Networks with other weights: figures of the literature, brute force on small graphs, and what is refused."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest

from dither.data import wire
from dither.disguise.matrices import FewRanks, Perturbed, Restored
from dither.disguise.networks import (
    AlikeWeights,
    KeptPaths,
    NetworkDisguise,
    RandomisedPaths,
    ScaledWeights,
    Slack,
    Weighted,
    alike_edges,
    length_curve,
    paths_kept,
    weight_curve,
)
from dither.errors import InvalidParameter, NotSerialisable
from dither.estimate.public_randomness import public_generator
from dither.mechanisms.core.spec import to_spec

#: Fig. 4.3 of Liu's thesis after its first two steps: nodes 1 to 6 are 0 to 5.
FIGURE = Weighted.of(
    [
        (0, 1, 6.0),
        (0, 2, 10.0),
        (1, 2, 6.0),
        (1, 4, 5.0),
        (2, 4, 13.0),
        (3, 4, 10.0),
        (4, 5, 6.0),
        (1, 3, 8.0),
        (3, 5, 21.0),
    ]
)
CHOSEN = ((0, 5), (3, 5), (2, 5))
MIDDLE = 3  # the edge between nodes 2 and 5 of the figure


def some(nodes: int = 9, share: float = 0.6, *, directed: bool = False) -> Weighted:
    """A connected network with random weights: a ring, and some of the other edges."""
    drawn = public_generator()
    ring = [(node, (node + 1) % nodes) for node in range(nodes)]
    others = permutations(range(nodes), 2) if directed else combinations(range(nodes), 2)
    known = set(ring) if directed else {tuple(sorted(edge)) for edge in ring}
    edges = ring + [edge for edge in others if edge not in known and drawn.uniform() < share]
    return Weighted.of([(*edge, float(drawn.uniform(10, 100))) for edge in edges], directed=directed)


def half_of_pairs(graph: Weighted) -> tuple[tuple[int, int], ...]:
    drawn = public_generator()
    every = permutations(range(graph.nodes), 2) if graph.directed else combinations(range(graph.nodes), 2)
    return tuple(pair for pair in every if drawn.uniform() < 0.5)


def floyd(graph: Weighted) -> np.ndarray:
    """All lengths by three loops."""
    out = graph.matrix()
    np.fill_diagonal(out, 0.0)
    for middle in range(graph.nodes):
        out = np.minimum(out, out[:, middle, None] + out[middle])
    return out


def without(graph: Weighted, edge: int) -> Weighted:
    keep = np.arange(len(graph.weights)) != edge
    return Weighted(graph.nodes, graph.ends[keep], graph.weights[keep], graph.directed)


def test_the_figure_has_its_bounds() -> None:
    slack = Slack(FIGURE, CHOSEN)
    assert slack.path_lengths().tolist() == [17.0, 16.0, 17.0]
    assert slack.up(MIDDLE) == 2
    assert slack.down(MIDDLE) == 3


def test_both_directions_bound_the_fall_of_an_edge() -> None:
    """Nodes s1, j, i, s2: the printed bound looks from i to j alone, and lets the edge fall by all it weighs."""
    edges = [(0, 1, 1.0), (2, 1, 5.0), (2, 3, 1.0), (0, 3, 6.0)]
    assert Slack(Weighted.of(edges), ((0, 3),)).down(1) == 1
    one_way = [*edges, (1, 0, 1.0), (3, 2, 1.0)]
    assert Slack(Weighted.of(one_way, directed=True), ((0, 3),)).down(1) == 5


@pytest.mark.parametrize("directed", [False, True])
def test_the_slack_is_that_of_brute_force(directed: bool) -> None:
    for _ in range(4):
        graph = some(directed=directed)
        slack = Slack(graph, half_of_pairs(graph))
        lengths = floyd(graph)
        assert np.allclose(slack.lengths, lengths)
        for edge, (near, far) in enumerate(graph.ends.tolist()):
            detours, weight = floyd(without(graph, edge)), graph.weights[edge]
            using = set(slack.paths.using(edge).tolist())
            up, down = [math.inf], [weight]
            for place, (first, last) in enumerate(zip(slack.paths.first, slack.paths.last, strict=True)):
                if place in using:
                    up.append(detours[first, last] - lengths[first, last])
                    continue
                ways = [(near, far)] if directed else [(near, far), (far, near)]
                down += [lengths[first, a] + weight + lengths[b, last] - lengths[first, last] for a, b in ways]
            assert slack.up(edge) == pytest.approx(min(up))
            assert slack.down(edge) == pytest.approx(min(down))


@pytest.mark.parametrize("directed", [False, True])
def test_lengths_stay_current_while_edges_move(directed: bool) -> None:
    drawn = public_generator()
    for share in (0.0, 0.3, 0.8):
        graph = some(8, share, directed=directed)
        slack = Slack(graph, half_of_pairs(graph))
        for edge in drawn.integers(0, len(graph.weights), size=25).tolist():
            slack.move(edge, float(drawn.uniform(-0.9, 1.5)) * slack.weight(edge))
            assert np.allclose(slack.lengths, floyd(graph.reweighted(slack.weights)))


@pytest.mark.parametrize("directed", [False, True])
def test_weights_of_all_sizes_keep_lengths_current(directed: bool) -> None:
    """Some edges are shorter than the rounding of others."""
    drawn = public_generator()
    graph = some(7, 0.5, directed=directed)
    graph = graph.reweighted(10 ** drawn.uniform(-9, 9, size=len(graph.weights)))
    slack = Slack(graph, half_of_pairs(graph))
    for edge in drawn.integers(0, len(graph.weights), size=25).tolist():
        slack.move(edge, float(drawn.uniform(-0.9, 9.0)) * slack.weight(edge))
        largest = slack.lengths.max()
        assert np.allclose(slack.lengths, floyd(graph.reweighted(slack.weights)), rtol=1e-9, atol=1e-12 * largest)
    assert dict(KeptPaths(half_of_pairs(graph)).apply(graph).measured)["chosen paths preserved"] == 1


def test_a_bridge_may_grow_without_end_and_a_tie_not_at_all() -> None:
    assert Slack(Weighted.of([(0, 1, 1.0), (1, 2, 1.0)]), ((0, 2),)).up(0) == math.inf
    tie = Weighted.of([(0, 1, 1.0), (1, 2, 1.0), (0, 3, 1.0), (3, 2, 1.0)])
    slack = Slack(tie, ((0, 2),))
    used, unused = (0, 2) if len(slack.paths.using(0)) else (2, 0)
    assert slack.up(used) == 0
    assert slack.down(unused) == 0
    made = KeptPaths(((0, 2),)).apply(tie).graph
    assert paths_kept(tie, made, ((0, 2),)) == 1


@pytest.mark.parametrize("directed", [False, True])
def test_greedy_perturbation_keeps_every_chosen_path(directed: bool) -> None:
    """The literature's 931 of 931 paths: half of the pairs of generated networks of 14 nodes."""
    for _ in range(3):
        graph = some(14, 0.3, directed=directed)
        pairs = half_of_pairs(graph)
        made = KeptPaths(pairs).apply(graph)
        assert dict(made.measured)["chosen paths preserved"] == 1
        assert paths_kept(graph, made.graph, pairs) == 1
        assert np.all(np.abs(made.graph.weights / graph.weights - 1) <= 0.5)
        assert (made.graph.ends == graph.ends).all()
        # Each kept path is still the only shortest one: without any of its edges the way is longer.
        slack = Slack(made.graph, pairs)
        assert all(slack.up(edge) > 0 for edge in np.flatnonzero(slack.paths.uses()).tolist())


def test_edges_on_no_path_grow_and_edges_on_all_paths_shrink() -> None:
    made = KeptPaths(CHOSEN).apply(FIGURE).graph
    for edge in (1, 4, 7, 8):
        assert made.weights[edge] > FIGURE.weights[edge]
    assert made.weights[6] < FIGURE.weights[6]


@pytest.mark.parametrize("pairs", [(), ((0, 5),)])
def test_no_pair_and_one_pair_are_fine(pairs: tuple[tuple[int, int], ...]) -> None:
    made = KeptPaths(pairs).apply(FIGURE)
    assert dict(made.measured)["chosen paths preserved"] == 1
    assert (made.graph.weights != FIGURE.weights).all()
    if not pairs:
        assert (made.graph.weights > FIGURE.weights).all()


def test_multiplied_weights_are_never_negative() -> None:
    """A draw with sigma 1 is below -1 in 16 cases of 100: 600 of them without one, 1e-45."""
    graph = Weighted.of([(0, node, 1.0) for node in range(1, 301)], directed=True)
    for _ in range(2):
        assert (ScaledWeights(1.0).apply(graph).graph.weights > 0).all()


def test_the_deviation_is_that_of_the_cut_law() -> None:
    """Against a fine sum over the density."""
    for sigma in (0.1, 0.5, 1.0):
        grid = np.linspace(-1, 1, 20001)
        density = np.exp(-((grid / sigma) ** 2) / 2)
        variance = float((grid**2 * density).sum() / density.sum())
        assert ScaledWeights(sigma).deviation(directed=True) ** 2 == pytest.approx(variance, rel=1e-3)
        assert ScaledWeights(sigma).deviation(directed=False) ** 2 == pytest.approx(variance / 2, rel=1e-3)


@pytest.mark.parametrize("directed", [False, True])
def test_mean_lengths_are_those_of_one_absorbing_end_at_a_time(directed: bool) -> None:
    """The twin makes every end absorbing and differentiates the logarithm of the sum of its walks."""
    graph = some(6, 0.5, directed=directed)
    weights = graph.matrix() / graph.weights.mean()

    def log_walks(theta: float, end: int) -> np.ndarray:
        chances = (1 / weights) / (1 / weights).sum(axis=1, keepdims=True)
        walks = chances * np.exp(-theta * weights)
        walks[end] = 0
        return np.log(np.linalg.inv(np.eye(6) - walks)[:, end])

    found = RandomisedPaths.of(graph, theta=3.0).mean_lengths()
    for end in range(6):
        slope = (log_walks(3 + 1e-5, end) - log_walks(3 - 1e-5, end)) / 2e-5
        assert found[:, end] == pytest.approx(-slope * graph.weights.mean(), rel=1e-5, abs=1e-4)


def test_mean_lengths_fall_to_the_shortest() -> None:
    graph = some(7)
    shortest = graph.lengths()
    near, far = (RandomisedPaths.of(graph, theta).mean_lengths() for theta in (60.0, 1.0))
    assert (near >= shortest - 1e-6).all()
    assert near.sum() < far.sum()


@pytest.mark.parametrize("directed", [False, True])
def test_a_changed_weight_needs_no_new_inverse(directed: bool) -> None:
    graph = some(7, directed=directed)
    first, last = graph.ends[3].tolist()
    weights = graph.weights.copy()
    weights[3] *= 0.4
    changed = RandomisedPaths.of(graph, 5.0).with_weight(first, last, float(weights[3]))
    # The unit of the first network is kept, and theta is counted in it.
    fresh = RandomisedPaths.of(graph.reweighted(weights), 5.0 * float(weights.mean() / graph.weights.mean()))
    assert np.allclose(changed.visits, fresh.visits)
    assert np.allclose(changed.mean_lengths(), fresh.mean_lengths())
    assert np.allclose(changed.probabilities().sum(axis=1), 1)


@pytest.mark.parametrize(("weight", "rule"), [(1e-14, "I - Q is singular"), (1e4, "weigh nothing")])
def test_a_change_that_leaves_the_numbers_of_the_machine_is_refused(weight: float, rule: str) -> None:
    walks = RandomisedPaths.of(Weighted.of([(0, 1, 1.0), (1, 2, 1.0)]), 5.0)
    with pytest.raises(InvalidParameter, match=rule):
        walks.with_weight(0, 1, weight)


def test_the_most_probable_walk_need_not_be_the_shortest() -> None:
    """A direct edge of 1.00 against two of .51: the longer way scores higher at theta 20."""
    direct = -20 * 1.0 + math.log((1 / 1.0) / (1 / 1.0 + 1 / 0.51))
    around = -20 * 1.02 + math.log((1 / 0.51) / (1 / 1.0 + 1 / 0.51))
    assert around > direct


def test_what_no_walk_reaches_is_infinitely_far() -> None:
    graph = Weighted.of([(0, 1, 1.0), (1, 2, 1.0)], directed=True)
    found = RandomisedPaths.of(graph).mean_lengths()
    assert np.isinf(found[2, 0])
    assert found[0, 2] == pytest.approx(2)


def test_the_edges_of_the_figure_become_alike() -> None:
    """Fig. 5.1: 40, 10, 48, 43 are not 4-anonymous within 10, and 35, 32, 36, 33 are."""
    before, after = (
        Weighted.of([(0, end + 1, weight) for end, weight in enumerate(weights)], directed=True)
        for weights in ((40.0, 10.0, 48.0, 43.0), (35.0, 32.0, 36.0, 33.0))
    )
    assert not alike_edges(before, 4, 10.0).any()
    assert alike_edges(before, 3, 10.0).tolist() == [True, False, True, True]
    assert alike_edges(after, 4, 10.0).all()


def test_a_node_with_few_edges_needs_the_others_elsewhere() -> None:
    edges = [(0, 1, 5.0), (0, 2, 6.0), (1, 2, 5.5), (2, 1, 50.0)]
    graph = Weighted.of(edges, directed=True)
    assert alike_edges(graph, 3, 1.0).tolist() == [True, True, True, False]
    assert alike_edges(graph, 3, 0.4).tolist() == [False, False, False, False]


@pytest.mark.parametrize("order", ["descending", "ascending", "random"])
def test_single_changes_make_more_edges_alike_and_keep_the_paths(order: str) -> None:
    for _ in range(2):
        graph = some(10, 0.7, directed=True)
        pairs = half_of_pairs(graph)[:9]
        made = AlikeWeights(3, 10.0, pairs, order=order).apply(graph)  # type: ignore[arg-type]
        told = dict(made.measured)
        assert told["chosen paths preserved"] == 1
        assert told["anonymous edges"] == alike_edges(made.graph, 3, 10.0).mean()
        assert told["anonymous edges before"] == alike_edges(graph, 3, 10.0).mean()
        old, new = graph.lengths(), made.graph.lengths()
        for first, last in pairs:
            assert abs(new[first, last] - old[first, last]) <= 0.1 * old[first, last] + 1e-9


def test_a_lonely_weight_moves_next_to_most_others() -> None:
    graph = Weighted.of([(0, 1, 10.0), (0, 2, 40.0), (0, 3, 48.0), (0, 4, 43.0)], directed=True)
    made = AlikeWeights(4, 10.0, ()).apply(graph).graph
    assert alike_edges(made, 4, 10.0).all()
    # The nearest point that is within 10 of all three: 38.
    assert made.weights == pytest.approx([38.0, 40.0, 48.0, 43.0])


def test_the_curves_count_what_changed() -> None:
    before = Weighted.of([(0, 1, 10.0), (1, 2, 10.0), (0, 2, 30.0)])
    after = before.reweighted(np.array([11.0, 10.0, 30.0]))
    assert weight_curve(before, after, (0.05, 0.2)) == [0.0, 1.0]
    assert length_curve(before, after, (0.04, 0.06, 0.2)) == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert length_curve(before, after, (0.06,), [(0, 2)]) == [1.0]
    assert weight_curve(before, before, (0.0,)) == [1.0]
    assert paths_kept(before, before.reweighted(np.array([11.0, 10.0, 20.0])), [(0, 2), (0, 1)]) == 0.5
    assert paths_kept(before, after, []) == 1


@pytest.mark.parametrize(
    "made", [ScaledWeights(0.1), KeptPaths(CHOSEN), FewRanks(1), Perturbed(), Restored(FewRanks(1))]
)
def test_nothing_of_it_has_a_place_in_a_plan_or_a_request(made: object) -> None:
    for write in (to_spec, wire.encode):
        with pytest.raises((NotSerialisable, AttributeError)):
            write(made)  # type: ignore[operator]
    assert not any(hasattr(made, word) for word in ("loss", "plan", "release", "draw", "distance", "numerics"))


@pytest.mark.parametrize("made", [ScaledWeights(0.1), KeptPaths(CHOSEN), AlikeWeights(2, 3.0, CHOSEN)])
def test_every_release_says_that_it_promises_nothing(made: NetworkDisguise) -> None:
    out = made.apply(FIGURE.both_ways())
    assert "No formal guarantee" in out.to_json()
    assert not any(word in out.to_json() for word in ("epsilon", "delta"))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: Weighted.of([]), "edges"),
        (lambda: Weighted.of([(0, 1, 0.0)]), "edge 0"),
        (lambda: Weighted.of([(0, 1, 1.0), (1, 2, -1.0)]), "edge 1"),
        (lambda: Weighted.of([(0, 1, math.inf)]), "edge 0"),
        (lambda: Weighted.of([(0, 0, 1.0)]), "two different"),
        (lambda: Weighted.of([(0, 1, 1.0), (1, 0, 1.0)]), "listed once"),
        (lambda: Weighted.of([(0, 5, 1.0)], nodes=3), "nodes from 0"),
        (lambda: KeptPaths(((1, 1),)), "pairs"),
        (lambda: KeptPaths((), reach=1.0), "reach"),
        (lambda: KeptPaths(((0, 9),)).apply(FIGURE), "pairs"),
        (lambda: KeptPaths(((0, 2),)).apply(Weighted.of([(0, 1, 1.0), (2, 3, 1.0)])), "connected"),
        (lambda: ScaledWeights(0.0), "sigma"),
        (lambda: AlikeWeights(0, 1.0, ()), "k"),
        (lambda: AlikeWeights(2, 0.0, ()), "mu"),
        (lambda: AlikeWeights(2, 1.0, (), tolerance=1.0), "tolerance"),
        (lambda: AlikeWeights(2, 1.0, (), rounds=0), "rounds"),
        (lambda: AlikeWeights(2, 1.0, (), order="none"), "order"),  # type: ignore[arg-type]
        (lambda: AlikeWeights(2, 1.0, ()).apply(FIGURE), "directed"),
        (lambda: alike_edges(FIGURE, 0, 1.0), "k"),
        (lambda: alike_edges(FIGURE, 2, -1.0), "mu"),
        (lambda: RandomisedPaths.of(FIGURE, 0.0), "theta"),
        (lambda: RandomisedPaths.of(FIGURE, 1e-15), "singular"),
        (lambda: RandomisedPaths.of(FIGURE, 1e4), "floating point"),
        (lambda: RandomisedPaths.of(FIGURE).with_weight(0, 3, 1.0), "edge"),
        (lambda: RandomisedPaths.of(FIGURE).with_weight(0, 99, 1.0), "edge"),
        (lambda: RandomisedPaths.of(FIGURE).with_weight(0, 1, 0.0), "weight"),
        (lambda: Slack(FIGURE, CHOSEN).move(0, -6.0), "change"),
    ],
)
def test_bad_input_is_refused_by_name(call: object, word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        call()  # type: ignore[operator]
