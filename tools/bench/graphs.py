"""Graphs: exact counts beside those in print, the time they take, and the error of private ones by method.

Six public graphs (ca-GrQc, ca-HepTh, ca-HepPh, ca-AstroPh, ca-CondMat, email-Enron) from the folder in ``DITHER_DATA``;
where that is not set, a generated one. Figures are against the true counts: a benchmark on public data, no release.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.core.release import perform
from dither.noise import system_noise
from dither.privacy import ApproxDP, PureDP
from dither.publish.graphs import DegreeSequence, LadderCount, LaplaceCount, LocalCount, SmoothCount, patterns
from dither.publish.graphs.counts import largest_common, triangle_count
from dither.publish.graphs.simple_graph import SimpleGraph, graph_of

#: Triangles, 3-stars, 4-cliques and 2-triangles, as the Saskatchewan thesis prints them in table 4.2.
PRINTED: Final[Mapping[str, tuple[int, int, int, int]]] = {
    "ca_grqc": (48_260, 2_482_748, 329_297, 2_041_499),
    "ca_hepth": (28_339, 2_098_336, 65_592, 429_013),
    "ca_hepph": (3_358_499, 1_276_967_000, 150_281_372, 936_890_335),
    "ca_astroph": (1_351_441, 545_677_550, 9_580_415, 72_355_715),
    "ca_condmat": (173_361, 37_115_060, 294_008, 2_349_650),
    "email_enron": (727_044, 4_909_606_844, 2_341_639, 36_528_276),
}
#: What is counted, with the largest median error and 95 % quantile of the ladder, in per cent, that are aimed at.
GOALS: Final = {
    ("triangles", 0): (0.20, None),
    ("stars", 3): (0.40, None),
    ("k-triangles", 2): (1.2, 5.5),
    ("cliques", 4): (None, None),
}
#: Of the mean absolute error of single degrees with noise.
DEGREE_GOAL: Final = 0.12
RUNS: Final = 2000
DEGREE_RUNS: Final = 200
DELTA: Final = "1e-6"
#: The large graph: edges, and the largest degree; seconds for triangles and local sensitivity, and bytes.
LARGE: Final = (10**7, 10**4)
LARGE_GOALS: Final = (60.0, 120.0, 2 * 2**30)


@cache
def read(name: str) -> SimpleGraph:
    """Return one of the six graphs, its nodes numbered anew."""
    place = Path(os.environ["DITHER_DATA"]) / "graphs" / f"{name}.csv.gz"
    pairs = np.loadtxt(place, delimiter=",", skiprows=1, dtype=np.int64)[:, :2]
    nodes, numbers = np.unique(pairs, return_inverse=True)
    return graph_of(numbers.reshape(-1, 2), len(nodes))


def names() -> list[str]:
    """Return the graphs that are at hand."""
    return list(PRINTED) if os.environ.get("DITHER_DATA") else []


def generated(edges: int, most: int) -> NDArray[np.int32]:
    """Return edges among about a million nodes with degrees of a heavy tail up to about ``most``."""
    dice = np.random.default_rng(1)
    weights = np.minimum((dice.pareto(1.2, 2**20) + 1) * 4, most)
    ends = np.cumsum(weights)
    # Some pairs are drawn twice, and some are loops.
    chosen = dice.random((edges + edges // 40, 2)) * ends[-1]
    found: NDArray[np.int32] = np.searchsorted(ends, chosen).astype(np.int32)
    return found


@dataclass(frozen=True)
class Quality:
    """Relative errors of a method on one graph, in per cent: the median, and what 95 of 100 releases keep."""

    graph: str
    pattern: str
    k: int
    method: str
    median: float
    high: float


def qualities(name: str, pattern: str, k: int, epsilon: int = 1) -> Iterator[Quality]:
    """Return the errors of all methods for one count, from many draws of their noise around the exact count."""
    graph, noise = read(name), system_noise()
    true = patterns.count(graph, pattern, k)
    facts: dict[str, Any] = {"nodes": graph.nodes, "pattern": pattern, "k": k}
    widths = patterns.ladder(graph, pattern, k, LadderCount.calibrated(PureDP(epsilon), **facts).rungs)
    ladder = LadderCount.calibrated(PureDP(epsilon), **facts).part
    laplace = LaplaceCount.calibrated(PureDP(epsilon), **facts).part
    local = LocalCount.calibrated(ApproxDP(epsilon, DELTA), **facts).part
    triple = [true, int(widths[0]), patterns.base(graph, pattern)]
    drawn: dict[str, Any] = {
        "ladder": ladder.draw_many(np.concatenate([[true], widths]), RUNS, noise),
        "worst case": laplace.draw_many(true, RUNS, noise),
        f"noisy local, delta {DELTA}": local.draw_many(triple, RUNS, noise)[:, 0],
    }
    for title, within in (("smooth", PureDP(epsilon)), (f"smooth, delta {DELTA}", ApproxDP(epsilon, DELTA))):
        made = SmoothCount.calibrated(within, **facts)
        drawn[title] = _smooth_draws(made, true, widths, noise)
    for method, out in drawn.items():
        off = np.abs(np.asarray(out, dtype=np.float64) - true) / true * 100
        yield Quality(name, pattern, k, method, float(np.median(off)), float(np.quantile(off, 0.95)))


def _smooth_draws(made: SmoothCount, true: int, widths: Any, noise: Any) -> Any:
    from dither.privacy.sensitivity.smooth import smooth_bound

    bound = smooth_bound(widths.astype(np.float64), most=made.reach, smoothness=made.noise.smoothness)
    return made.noise.draw_many([true, bound], RUNS, noise)


def degree_share(name: str) -> float:
    """Return the mean absolute error of the degree sequence as a share of that of the noise on single degrees."""
    graph = read(name)
    method = DegreeSequence.calibrated(PureDP(1), nodes=graph.nodes)
    ordered = np.sort(graph.degrees)
    off = statistics.fmean(
        float(np.abs(np.asarray(perform(method, graph.edges)) - ordered).mean()) for _ in range(DEGREE_RUNS)
    )
    plain = np.abs(method.node.draw_many(0, 10**5, system_noise()).astype(np.float64)).mean()
    return off / float(plain)


def best_of(times: int, work: Callable[[], object]) -> float:
    """Return the least processor time of some runs, in seconds."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def triangle_rivals(graph: SimpleGraph) -> Iterator[tuple[str, float | None]]:
    """Return the times in which others count the triangles of a graph; None where they are not installed."""
    from scipy.sparse import csr_matrix

    rows, columns = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    matrix = csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(graph.nodes, graph.nodes))
    yield "SciPy, A @ A", best_of(3, lambda: (matrix @ matrix).multiply(matrix).sum())
    for title, count in (("NetworkX", _networkx), ("igraph", _igraph), ("networkit", _networkit)):
        try:
            ready = count(graph)
        except ImportError:
            yield title, None
        else:
            yield title, best_of(3, ready)


def _networkx(graph: SimpleGraph) -> Callable[[], object]:
    networkx: Any = import_module("networkx")
    made = networkx.Graph(graph.edges.tolist())
    return lambda: sum(networkx.triangles(made).values()) // 3


def _igraph(graph: SimpleGraph) -> Callable[[], object]:
    igraph: Any = import_module("igraph")
    made = igraph.Graph(n=graph.nodes, edges=graph.edges.tolist())
    return lambda: len(made.list_triangles())


def _networkit(graph: SimpleGraph) -> Callable[[], object]:
    networkit: Any = import_module("networkit")
    made = networkit.Graph(graph.nodes)
    for one, other in graph.edges.tolist():
        made.addEdge(one, other)
    return lambda: networkit.sparsification.TriangleEdgeScore(made).run()


def _measure_large(found: Any) -> None:
    """Send the times of a large graph and the memory of this process."""
    start = time.process_time()
    graph = graph_of(generated(*LARGE), 2**20)
    found.send(("edges", len(graph.edges), int(graph.degrees.max()), time.process_time() - start))
    for title, count in (("triangles", triangle_count), ("local sensitivity", largest_common)):
        start = time.process_time()
        value = count(graph)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found.send((title, value, peak, time.process_time() - start))
    found.close()


def large() -> Iterator[tuple[str, int, int, float]]:
    """Return title, value, largest degree or peak bytes, and seconds of the large graph, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_measure_large, args=(there,))
    process.start()
    there.close()
    try:
        while True:
            yield here.recv()
    except EOFError:
        process.join()


def lines() -> Iterator[str]:
    """Yield a report."""
    if not names():
        yield "set DITHER_DATA to a folder with the six graphs for counts and errors on them"
    else:
        yield from _counted()
        yield from _timed()
        yield from _errors()
    for title, value, most, seconds in large():
        if title == "edges":
            yield f"a graph of {value:,} edges, degrees up to {most:,}: made in {seconds:.1f} s"
        else:
            goal = LARGE_GOALS[0 if title == "triangles" else 1]
            yield f"  {title} {value:,} in {seconds:.1f} s (goal {goal:.0f}), peak {most / 2**30:.2f} GB (goal 2)"


def _counted() -> Iterator[str]:
    yield "exact counts, and the difference from those in print"
    for name, printed in PRINTED.items():
        graph = read(name)
        kinds = (("triangles", 0), ("stars", 3), ("cliques", 4), ("k-triangles", 2))
        found = [patterns.count(graph, *kind) for kind in kinds]
        shown = ", ".join(
            f"{patterns.named(*kind)} {ours:,} ({ours - theirs:+d})"
            for kind, ours, theirs in zip(kinds, found, printed, strict=True)
        )
        yield f"  {name}: {shown}"


def _timed() -> Iterator[str]:
    graph = read("email_enron")
    triangle_count(graph)  # imports, and the order of the nodes
    fresh = best_of(5, lambda: triangle_count(SimpleGraph(graph.nodes, graph.edges)))
    yield f"triangles of email_enron: {fresh:.3f} s (processor time, best of 5)"
    for title, seconds in triangle_rivals(graph):
        yield f"  {title}: " + ("not installed" if seconds is None else f"{seconds:.2f} s, {seconds / fresh:.1f} times")


def _errors() -> Iterator[str]:
    for (pattern, k), (median, high) in GOALS.items():
        goal = "" if median is None else f", goal {median} %" + ("" if high is None else f" and {high} %")
        yield f"{patterns.named(pattern, k)}, one edge protected, epsilon 1, {RUNS:,} releases{goal}"
        yield "  per cent of the count: median, 95 % quantile"
        for name in names():
            found = {one.method: one for one in qualities(name, pattern, k)}
            shown = ", ".join(f"{method} {one.median:.3g} {one.high:.3g}" for method, one in found.items())
            best = found["ladder"]
            is_kept = (median is None or best.median <= median) and (high is None or best.high <= high)
            is_light = best.high < found["smooth"].high < found["worst case"].high
            verdict = ("" if is_kept else "; goal missed") + ("" if is_light else "; ladder's tail is not the lightest")
            yield f"  {name}: {shown}{verdict}"
    yield f"degree sequence, share of the noise on single degrees, goal {DEGREE_GOAL}, {DEGREE_RUNS} releases"
    for name in names():
        yield f"  {name}: {degree_share(name):.3f}"
