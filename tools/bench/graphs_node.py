"""Graphs where nodes are protected: errors of edges, triangles and degree distributions, by how the bound is chosen.

Six public graphs from the folder in ``DITHER_DATA`` where that is set, else a made-up one. Counts are relative errors
in per cent, degree distributions Kolmogorov distances; of each the median and the 90 % quantile of 200 releases at
epsilon 1 over all parts. The generalised exponential mechanism, as printed, and the best fixed bound, which nobody
knows, stand beside the methods. ``python -m tools.bench graphs-node``.
"""

from __future__ import annotations

import gzip
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import perform
from dither.mechanisms.generalised_exponential import GeneralisedExponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import PureDP
from dither.publish.graphs import (
    ChosenCopies,
    ChosenDegrees,
    ChosenDegreeSum,
    ChosenEdges,
    ChosenStars,
    ChosenTriangles,
    FlowEdges,
    GraphRace,
    QuickTriangles,
    RecursiveCount,
    TruncatedCount,
    chosen_degree_sum,
    chosen_degrees,
    chosen_edges,
    chosen_stars,
    chosen_triangles,
    flow_edges,
    quick_triangles,
    race,
    recursive_count,
)
from dither.publish.graphs.copies import copies_of
from dither.publish.graphs.copy_blocks import Copies, triangles_of
from dither.publish.graphs.counts import star_count
from dither.publish.graphs.degree_flow import added_up, nodes_above
from dither.publish.graphs.flow import twice_flow
from dither.publish.graphs.node_planning import copy_bounds
from dither.publish.graphs.packing import PARTS, most_bound, packed
from dither.publish.graphs.patterns import CLIQUES, K_TRIANGLES, STARS, count, named
from dither.publish.graphs.projection import projected
from dither.publish.graphs.quick_triangles import standing_out_in_triangles
from dither.publish.graphs.recursive_count import steps_of_bound
from dither.publish.graphs.simple_graph import Ints, SimpleGraph, graph_of
from dither.publish.graphs.standing_out import doubling

GRAPHS: Final = ("ca_grqc", "ca_hepth", "ca_hepph", "ca_astroph", "ca_condmat", "email_enron")
#: Linear programmes for all bounds take minutes on the others.
WITH_TRIANGLES: Final = ("ca_grqc", "ca_hepth", "ca_condmat")
RELEASES: Final = 200
DEGREES: Final = doubling(1, 4096)
TRIANGLES: Final = doubling(16, 8192)
#: What degrees 1, 2, 3, ... are worth: nodes with an edge, and at most three edges of each.
WORTH: Final = ((1,), (1, 2, 3))
_LOSS: Final = PureDP(1)
#: Of the source: how many of its noise a bound is set back, beside the penalty of the choice.
_HALF: Final = Fraction(1, 2)


def read(name: str) -> tuple[int, Ints]:
    """Return the number of nodes of a public graph, and its edges."""
    folder = os.environ.get("DITHER_DATA")
    if folder is None:
        dice = np.random.default_rng(5)
        weights = 1 / np.arange(1, 2001) ** 0.7
        ends = dice.choice(2000, (9000, 2), p=weights / weights.sum())
        return 2000, graph_of(ends, 2000).edges
    with gzip.open(Path(folder) / "graphs" / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        ends = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.int64, usecols=(0, 1))
    names, numbers = np.unique(ends, return_inverse=True)
    return len(names), graph_of(numbers.reshape(ends.shape), len(names)).edges


class Remembered:
    """Flows, programmes and projections of one graph, each computed once: they have no randomness."""

    def __init__(self, graph: SimpleGraph) -> None:
        self.flow = cache(lambda bound: twice_flow(graph, bound))
        self.packed = cache(lambda bound: packed(self.triangles(), bound))
        self.degrees = cache(lambda bound: projected(graph, bound))
        self.above = cache(lambda bound, degrees: nodes_above(graph, bound, degrees))
        self.sums = cache(lambda bound, levels: added_up(graph, bound, levels))
        self.triangles = cache(lambda: triangles_of(graph))
        self.graph = graph

    def __enter__(self) -> Remembered:
        self._kept: list[tuple[Any, str, Any]] = []
        for module in (chosen_edges, flow_edges, race):
            self._put(module, "twice_flow", lambda _, bound: self.flow(bound))
        for module in (chosen_triangles, quick_triangles, race):
            self._put(module, "packed", lambda _, bound: self.packed(bound))
            self._put(module, "triangles_of", lambda _: None)
        for module in (chosen_edges, chosen_degrees, chosen_stars, chosen_triangles, flow_edges, quick_triangles, race):
            self._put(module, "graph_of", lambda *_: self.graph)
        edges = Copies.of(self.graph.edges, self.graph.nodes)
        of_edges = cache(lambda bound: packed(edges, bound))
        self._put(recursive_count, "graph_of", lambda *_: self.graph)
        self._put(recursive_count, "triangles_of", lambda _: None)
        self._put(recursive_count, "packed", lambda of, at: self.packed(at) if of is None else of_edges(at))
        steps = cache(lambda pattern, pace: steps_of_bound(self.graph, pattern, pace))
        self._put(recursive_count, "steps_of_bound", lambda _, pattern, pace: steps(pattern, pace))
        standing = cache(lambda bounds: standing_out_in_triangles(self.graph, bounds))
        self._put(quick_triangles, "standing_out_in_triangles", lambda _, bounds: standing(bounds))
        self._put(chosen_degree_sum, "added_up", lambda _, bound, levels: self.sums(bound, tuple(levels)))
        self._put(chosen_degree_sum, "graph_of", lambda *_: self.graph)
        self._put(chosen_stars, "projected", lambda _, bound: self.degrees(bound))
        self._put(chosen_degrees, "nodes_above", lambda _, bound, degrees: self.above(bound, degrees))
        return self

    def _put(self, module: Any, name: str, value: Any) -> None:
        self._kept.append((module, name, getattr(module, name)))
        setattr(module, name, value)

    def __exit__(self, *_: object) -> None:
        for module, name, value in self._kept:
            setattr(module, name, value)


def errors(release: Callable[[], Any], error: Callable[[Any], float], releases: int) -> NDArray[np.float64]:
    """Return the errors of several releases."""
    return np.array([error(release()) for _ in range(releases)])


def as_printed(values: Sequence[Fraction], bounds: Sequence[int]) -> Callable[[], float]:
    """Return a release that chooses among bounds by the generalised exponential mechanism, with half of the loss."""
    choice = GeneralisedExponential.calibrated(PureDP(_HALF), sensitivities=bounds)
    scores = np.array([round(value - bound / _HALF) for value, bound in zip(values, bounds, strict=True)])

    def release() -> float:
        place = int(perform(choice, scores, stability=1))
        noise = perform(Geometric(scale=bounds[place] / _HALF), 0, stability=1)
        return float(values[place]) + float(noise)

    return release


def fixed(values: Sequence[Fraction], bounds: Sequence[int], truth: int, releases: int) -> NDArray[np.float64]:
    """Return the errors with the bound that has the least median, at the whole loss."""
    tried = []
    for value, bound in zip(values, bounds, strict=True):
        noise = np.asarray(
            perform(Geometric(scale=bound, shape=(releases,)), np.zeros(releases, dtype=np.int64), stability=1)
        )
        tried.append(100 * np.abs(float(value) + noise - truth) / truth)
    return min(tried, key=lambda found: float(np.median(found)))


def distance(out: Ints, degrees: Ints) -> float:
    """Return the Kolmogorov distance of released numbers of nodes by degree from the true distribution."""
    nodes = len(degrees)
    size = max(len(out), int(degrees.max(initial=0)) + 1)
    here = np.cumsum(np.pad(out, (0, size - len(out))))
    there = np.cumsum(np.bincount(degrees, minlength=size))
    return float(np.abs(here - there).max()) / nodes


def measure(name: str, releases: int = RELEASES) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
    """Yield what is released, by which method, and its errors."""
    nodes, edges = read(name)
    graph = graph_of(edges, nodes)
    bounds = tuple(bound for bound in DEGREES if bound < nodes)

    def relative(truth: int, place: int | None = None) -> Callable[[Any], float]:
        return lambda out: 100 * abs(float(out if place is None else out[place]) - truth) / max(truth, 1)

    def run(made: Any, error: Callable[[Any], float]) -> NDArray[np.float64]:
        return errors(lambda: perform(made, edges, stability=1), error, releases)

    with Remembered(graph) as kept:
        truth = len(edges)
        flows = [Fraction(kept.flow(bound), 2) for bound in bounds]
        yield (
            "edges",
            "chosen bound",
            run(ChosenEdges.calibrated(_LOSS, nodes=nodes, bounds=bounds), relative(truth, 1)),
        )
        yield "edges", "generalised exponential", errors(as_printed(flows, bounds), relative(truth), releases)
        raced = GraphRace.calibrated(_LOSS, nodes=nodes, pattern="edges", bounds=bounds)
        yield "edges", "race", run(raced, relative(truth))
        best = min(bounds, key=lambda bound: abs(float(flows[bounds.index(bound)]) - truth) + 1.4 * bound)
        both = FlowEdges.calibrated(_LOSS, nodes=nodes, degree=best)
        yield "edges", "flow, best bound, both branches", run(both, relative(truth))
        yield "edges", "best fixed bound", fixed(flows, bounds, truth, releases)
        recursive = RecursiveCount.calibrated(_LOSS, nodes=nodes, pattern="edges")
        yield "edges", "recursive", run(recursive, relative(truth, 1))
        made = ChosenDegrees.calibrated(_LOSS, nodes=nodes, bounds=bounds)
        yield "degrees", "chosen bound", run(made, lambda out: distance(out, graph.degrees))
        tried = [ChosenDegrees.calibrated(PureDP("10/9"), nodes=nodes, bounds=(bound,)) for bound in bounds]
        found = [run(one, lambda out: distance(out, graph.degrees)) for one in tried]
        yield "degrees", "best fixed bound", min(found, key=lambda one: float(np.median(one)))
        for worth in WORTH:
            table = np.array([0, *worth])
            truth = int(table[np.minimum(graph.degrees, len(worth))].sum())
            summed = ChosenDegreeSum.calibrated(
                _LOSS, nodes=nodes, worth=worth, bounds=doubling(len(worth), bounds[-1])
            )
            said = f"degrees worth {', '.join(map(str, worth))}"
            yield said, "chosen bound", run(summed, relative(truth, 1))
            yield said, "from released degrees", run(made, _worth_error(table, truth))
        for k in (2, 3):
            stars = ChosenStars.calibrated(_LOSS, nodes=nodes, k=k, bounds=doubling(k, bounds[-1]))
            yield f"{k}-stars", "chosen bound", run(stars, relative(star_count(graph, k), 1))
        truth = kept.triangles().many
        wide = doubling(TRIANGLES[0], TRIANGLES[-1] if name in WITH_TRIANGLES else min(2**16, most_bound(nodes)))
        quick = QuickTriangles.calibrated(_LOSS, nodes=nodes, bounds=wide)
        yield "triangles", "one programme", run(quick, relative(truth, 1))
        if name in WITH_TRIANGLES:
            values = [Fraction(kept.packed(bound), PARTS) for bound in TRIANGLES]
            chosen = ChosenTriangles.calibrated(_LOSS, nodes=nodes, bounds=TRIANGLES)
            yield "triangles", "chosen bound", run(chosen, relative(truth, 1))
            yield (
                "triangles",
                "generalised exponential",
                errors(as_printed(values, TRIANGLES), relative(truth), releases),
            )
            recursive = RecursiveCount.calibrated(_LOSS, nodes=nodes, pattern="triangles")
            yield "triangles", "recursive", run(recursive, relative(truth, 1))
            raced = GraphRace.calibrated(_LOSS, nodes=nodes, pattern="triangles", bounds=TRIANGLES)
            yield "triangles", "race", run(raced, relative(truth))
            yield "triangles", "best fixed bound", fixed(values, TRIANGLES, truth, releases)


def _worth_error(table: Ints, truth: int) -> Callable[[Any], float]:
    """Return how far what released degrees are worth is off, in per cent."""

    def error(out: Any) -> float:
        found = int((np.asarray(out) * table[np.minimum(np.arange(len(out)), len(table) - 1)]).sum())
        return 100 * abs(found - truth) / max(truth, 1)

    return error


def measure_small(releases: int = RELEASES // 4) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
    """Yield the same for cliques, k-triangles and stars of a made-up graph: twelve groups of five, and ties between."""
    nodes, dice = 60, np.random.default_rng(5)
    groups = np.array([pair for one in range(0, nodes, 5) for pair in itertools.combinations(range(one, one + 5), 2)])
    graph = graph_of(np.concatenate([groups, dice.integers(0, nodes, (40, 2))]), nodes)
    degree = int(graph.degrees.max())
    for pattern, k in ((CLIQUES, 4), (K_TRIANGLES, 2), (STARS, 2)):
        truth, bounds = count(graph, pattern, k), copy_bounds(nodes, degree, pattern, k)
        copies = Copies.of(copies_of(graph, pattern, k), nodes)
        values = [Fraction(packed(copies, bound), PARTS) for bound in bounds]
        made = ChosenCopies.calibrated(_LOSS, nodes=nodes, pattern=pattern, k=k, bounds=bounds)
        rival = TruncatedCount.calibrated(_LOSS, nodes=nodes, degree=degree, pattern=pattern, k=k)
        for how, one, place in (("chosen bound", made, 1), ("truncated, largest degree known", rival, None)):
            outs = (perform(one, graph.edges, stability=1) for _ in range(releases))
            found = [float(out if place is None else out[place]) for out in outs]
            yield named(pattern, k), how, 100 * np.abs(np.array(found) - truth) / truth
        yield named(pattern, k), "best fixed bound", fixed(values, bounds, truth, releases)


def lines() -> Iterator[str]:
    """Yield the figures for people."""
    yield "graph | released | method | median | 90 % quantile"
    for what, how, found in measure_small():
        yield f"60 nodes, made up | {what} | {how} | {np.median(found):.3g} | {np.quantile(found, 0.9):.3g}"
    for name in GRAPHS if "DITHER_DATA" in os.environ else GRAPHS[:1]:
        shown = name if "DITHER_DATA" in os.environ else "made up"
        for what, how, found in measure(name):
            yield f"{shown} | {what} | {how} | {np.median(found):.3g} | {np.quantile(found, 0.9):.3g}"
