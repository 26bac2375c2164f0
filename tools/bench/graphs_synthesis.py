"""Synthetic graphs beside the graph they stand for: degrees, clustering, paths, assortativity, communities, triangles.

The graphs are those of the folder ``DITHER_DATA/graphs``, else two made-up ones: groups that know each other, and a
preferential attachment. All methods spend the same epsilon. Then Graph Update's experiment: degrees of 1 to 200 nodes
that were chosen at random, with the answer 0 and noise on all degrees at once beside it.
"""

from __future__ import annotations

import csv
import gzip
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.table import Table

from dither.mechanisms import Geometric, PublicArray, perform
from dither.privacy import PureDP
from dither.publish.graphs import DegreeVector, counts
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of
from dither.publish.graphs.synthesis import GraphUpdate
from dither.publish.graphs.synthesis.partition import communities, modularity
from dither.publish.graphs.synthesis.planning import KINDS

EPSILONS: Final = ("0.5", "2", "8")
GRAPHS: Final = ("ego_facebook", "wiki_vote", "p2p_gnutella08", "ca_grqc")
MEASURES: Final = ("degrees", "clustering", "paths", "assortativity", "communities", "triangles")
ASKED: Final = (1, 20, 50, 100, 200)
#: From how many nodes path lengths are measured.
_FROM: Final = 60


@dataclass(frozen=True)
class Facts:
    """What is compared of a graph."""

    degrees: Any
    clustering: float
    paths: float
    assortativity: float
    communities: float
    triangles: int


@dataclass(frozen=True)
class Compared:
    """How far a synthetic graph is from the true one, by measure, as the median of several runs."""

    graph: str
    epsilon: str
    method: str
    off: dict[str, float]
    seconds: float


def graphs() -> dict[str, SimpleGraph]:
    """Return the graphs by name."""
    folder = os.environ.get("DITHER_DATA")
    if not folder:
        return {"groups": _groups(), "attachment": _attachment()}
    return {name: _read(Path(folder) / "graphs" / f"{name}.csv.gz") for name in GRAPHS}


def _read(path: Path) -> SimpleGraph:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    number: dict[str, int] = {}
    pairs = [[number.setdefault(end, len(number)) for end in row[:2]] for row in rows]
    return graph_of(np.array(pairs, dtype=np.int64), len(number))


def _groups() -> SimpleGraph:
    drawn = np.random.default_rng(1)
    within = [pair for start in range(0, 2000, 20) for pair in combinations(range(start, start + 20), 2)]
    kept = np.array(within)[drawn.random(len(within)) < 0.4]
    return graph_of(np.vstack([kept, drawn.integers(0, 2000, (1000, 2))]), 2000)


def _attachment() -> SimpleGraph:
    drawn = np.random.default_rng(2)
    ends = [0, 1]
    for node in range(2, 3000):
        for other in drawn.choice(ends, 3).tolist():
            ends += [node, other]
    return graph_of(np.array(ends).reshape(-1, 2), 3000)


def facts(graph: SimpleGraph) -> Facts:
    """Return what is compared of a graph."""
    degrees = graph.degrees
    around = np.bincount(graph.edges.ravel(), weights=np.repeat(counts.supports(graph), 2), minlength=graph.nodes) / 2
    wedges = degrees * (degrees - 1) / 2
    local = np.divide(around, wedges, out=np.zeros(graph.nodes), where=wedges > 0)
    ends = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    beside = degrees[ends].astype(np.float64)
    is_varied = len(beside) > 0 and beside[:, 0].std() > 0
    labels = communities(graph.edges, np.ones(len(graph.edges)), graph.nodes)
    return Facts(
        np.sort(degrees),
        float(local.mean()),
        _paths(graph),
        float(np.corrcoef(beside.T)[0, 1]) if is_varied else 0.0,
        modularity(graph.edges, labels),
        counts.triangle_count(graph),
    )


def _paths(graph: SimpleGraph) -> float:
    """Return the mean length of shortest paths from some nodes, to those that they reach."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    rows, columns = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(graph.nodes, graph.nodes))
    begun = np.flatnonzero(graph.degrees)
    if not len(begun):
        return 0.0
    lengths = dijkstra(matrix, unweighted=True, indices=np.random.default_rng(3).choice(begun, _FROM))
    return float(lengths[np.isfinite(lengths) & (lengths > 0)].mean())


def differences(true: Facts, drawn: Facts) -> dict[str, float]:
    """Return how far measures are apart.

    Degrees: the largest gap of the two distributions. Clustering, assortativity and modularity: the gap. Paths and
    triangles: the gap in relation to the true number.
    """
    grid = np.unique(np.concatenate([true.degrees, drawn.degrees]))
    below = [np.searchsorted(one.degrees, grid, side="right") / len(one.degrees) for one in (true, drawn)]
    return {
        "degrees": float(np.abs(below[0] - below[1]).max()),
        "clustering": abs(true.clustering - drawn.clustering),
        "paths": abs(true.paths - drawn.paths) / max(true.paths, 1e-9),
        "assortativity": abs(true.assortativity - drawn.assortativity),
        "communities": abs(true.communities - drawn.communities),
        "triangles": abs(true.triangles - drawn.triangles) / max(true.triangles, 1),
    }


def measure(runs: int = 3) -> Iterator[Compared]:
    """Yield how far each method's graphs are from each graph at each epsilon."""
    for name, graph in graphs().items():
        true = facts(graph)
        # The declared limit: twice the edges that there are, as a curator might know it.
        most = 2 * len(graph.edges)
        for epsilon in EPSILONS:
            for method, kind in KINDS.items():
                seen, took = [], 0.0
                for _ in range(runs):
                    start = time.process_time()
                    made = kind.calibrated(PureDP(epsilon), nodes=graph.nodes, most=most)
                    drawn = graph_of(perform(made, graph.edges, stability=1), graph.nodes)
                    took += time.process_time() - start
                    seen.append(differences(true, facts(drawn)))
                middle = {one: float(np.median([each[one] for each in seen])) for one in MEASURES}
                yield Compared(name, epsilon, method, middle, took / runs)


def places(found: list[Compared]) -> dict[tuple[str, str, str], int]:
    """Return on how many measures a method is best or second, by graph, epsilon and method."""
    counted: dict[tuple[str, str, str], int] = {}
    for graph, epsilon in {(one.graph, one.epsilon) for one in found}:
        beside = [one for one in found if (one.graph, one.epsilon) == (graph, epsilon)]
        for one in beside:
            counted[graph, epsilon, one.method] = sum(
                sum(other.off[name] < one.off[name] for other in beside) < 2 for name in MEASURES
            )
    return counted


def table(found: list[Compared]) -> Table:
    """Return the figures side by side."""
    shown = Table(title="synthetic graphs: distance from the true one, and places 1 or 2 of six", title_justify="left")
    for title in ("graph", "epsilon", "method", *MEASURES, "best or second", "s"):
        shown.add_column(title)
    won = places(found)
    for one in found:
        shown.add_row(
            *(one.graph, one.epsilon, one.method),
            *(f"{one.off[name]:.3f}" for name in MEASURES),
            *(str(won[one.graph, one.epsilon, one.method]), f"{one.seconds:.2f}"),
        )
    return shown


def measure_update(runs: int = 20, epsilon: str = "1") -> Iterator[tuple[str, int, dict[str, float]]]:
    """Yield the mean absolute error of the degrees of asked nodes, by graph and number of questions."""
    for name, graph in graphs().items():
        for many in ASKED:
            off: dict[str, list[float]] = {"divided": [], "update": [], "zero": [], "vector": []}
            for _ in range(runs):
                asked = np.random.default_rng().choice(graph.nodes, many, replace=False)
                true = graph.degrees[asked]
                divided = Geometric.calibrated(PureDP(epsilon), sensitivity=many, shape=(many,))
                made = GraphUpdate.calibrated(PureDP(epsilon), nodes=graph.nodes, asked=PublicArray(asked), most=10**6)
                vector = DegreeVector.calibrated(PureDP(epsilon), nodes=graph.nodes)
                answers = {
                    "divided": perform(divided, true, stability=many),
                    "update": perform(made, graph.edges, stability=1)[0],
                    "zero": np.zeros(many),
                    "vector": perform(vector, graph.edges, stability=1)[asked],
                }
                for method, answer in answers.items():
                    off[method].append(float(np.abs(np.asarray(answer) - true).mean()))
            yield name, many, {method: float(np.mean(all_off)) for method, all_off in off.items()}


def update_table(found: list[tuple[str, int, dict[str, float]]]) -> Table:
    """Return the errors side by side."""
    shown = Table(title="degrees of asked nodes, mean absolute error at epsilon 1", title_justify="left")
    for title in ("graph", "questions", "epsilon divided", "graph update, sound", "answer 0", "all degrees at once"):
        shown.add_column(title)
    for name, many, off in found:
        row = (off[method] for method in ("divided", "update", "zero", "vector"))
        shown.add_row(name, str(many), *(f"{one:.2f}" for one in row))
    return shown
