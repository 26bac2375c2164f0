"""Subgraphs as items, against all triples of nodes; frequent ones by methods on itemsets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.itemsets import BinaryEstimation, PatternSampling
from dither.learn.itemsets.subgraphs import Subgraphs
from dither.mechanisms import perform
from dither.privacy import PureDP

LABELS = ("b", "a", "c")


def slow(labels: list[str], edges: set[tuple[int, int]]) -> set[str]:
    """Return the names of all patterns, by all ordered triples."""
    place = {label: number for number, label in enumerate(LABELS)}

    def is_edge(one: int, other: int) -> bool:
        return (one, other) in edges or (other, one) in edges

    def ordered(nodes: tuple[int, ...]) -> list[str]:
        return sorted((labels[node] for node in nodes), key=place.__getitem__)

    found = {"-".join(ordered(edge)) for edge in edges}
    for a, b, c in itertools.permutations(range(len(labels)), 3):
        if is_edge(a, b) and is_edge(b, c):
            first, last = ordered((a, c))
            found.add(f"{first}-{labels[b]}-{last}")
            if is_edge(a, c):
                found.add(f"({'-'.join(ordered((a, b, c)))})")
    return found


def test_patterns_are_those_of_all_triples() -> None:
    drawn = np.random.default_rng()
    patterns = Subgraphs(LABELS)
    assert patterns.items == 6 + 3 * 6 + 10
    for _ in range(60):
        labels = [LABELS[number] for number in drawn.integers(0, 3, 5)]
        edges = {pair for pair in itertools.combinations(range(5), 2) if drawn.random() < 0.4}
        found = patterns.items_of((labels, list(edges)))
        assert {patterns.names[item] for item in found} == slow(labels, edges)


def test_what_is_no_graph_is_empty_and_labels_are_public() -> None:
    patterns = Subgraphs(LABELS)
    for odd in (None, "graph", (1, 2), (["a"], [(0, 0), (0, 5), "x", (0,)]), (["z", "a"], [(0, 1)]), ([], []), 3):
        assert patterns.items_of(odd) == []
    for labels in ([], ["a", "a"], [1], [str(number) for number in range(257)]):
        with pytest.raises(InvalidParameter, match="labels"):
            Subgraphs(labels)  # type: ignore[arg-type]


def test_frequent_subgraphs_are_found() -> None:
    patterns = Subgraphs(LABELS)
    graphs = [(["a", "b", "c"], [(0, 1), (1, 2)])] * 3000 + [(["a", "a", "a"], [(0, 1), (1, 2), (0, 2)])] * 500
    baskets = patterns.transactions(graphs)
    sampled = PatternSampling.calibrated(PureDP(20), items=patterns.items, chosen=3, longest=1)
    names = {patterns.names[one] for (one,) in perform(sampled, baskets, stability=1).sets}
    assert names == {"b-a", "b-c", "a-b-c"}
    searched = BinaryEstimation.calibrated(PureDP(20), items=patterns.items, chosen=4, longest=1, threshold=2000)
    assert {patterns.names[one] for (one,) in perform(searched, baskets, stability=1).sets} == names
