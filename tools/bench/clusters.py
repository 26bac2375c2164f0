"""k-means: how far the cost of private centres lies above Lloyd's, at one total epsilon for every method.

The comparison of Lu's thesis (2021, chapter 7) made fair: every method spends the same total, its zones are made of
noisy means, and starts hold no records. Points come from the folder in ``DITHER_DATA`` where that is set (S1, A1, A3,
unbalance, Birch2), else from scikit-learn and from a generator. Figures are against the true points: a
benchmark on public data, never a release.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.clusters import (
    BlockClusters,
    CoresetClusters,
    GridClusters,
    LloydClusters,
    PrivGene,
    RefinedClusters,
    SuClusters,
)
from dither.learn.clusters.lloyd import packed
from dither.learn.clusters.points import Frame, nearest, spread_starts, weighted_clusters
from dither.learn.clusters.zones import ZONES, zoned
from dither.learn.rows import STEPS, Floats
from dither.mechanisms import perform
from dither.mechanisms.core.public import PublicArray
from dither.privacy import ApproxDP, Loss, PureDP

EPSILONS: Final = ("0.1", "0.5", "1")
DELTA: Final = "1e-6"
#: How long k-means on a million points of ten columns in ten clusters may take, in seconds.
GOAL: Final = 10.0
#: A run has found Lloyd's optimum when its cost is within this factor, as the thesis counts it.
_SAME: Final = 1.01
_MOST_ROUNDS: Final = 200
_STEPS_OF_THESIS: Final = 6
#: Files of points in two columns: their largest number, clusters, and of how many points one is taken.
_FILES: Final = (
    ("s1", 10**6, 15, 1),
    ("a1", 70_000, 20, 1),
    ("a3", 70_000, 50, 1),
    ("unbalance", 10**6, 8, 1),
    ("birch2", 10**6, 100, 10),
)
#: More points times clusters than these take the genetic search too long.
_MOST_OF_GENES: Final = 10**5


@dataclass(frozen=True)
class Points:
    """A data set: points, the labels that they came with, public bounds, and how many clusters are looked for."""

    name: str
    values: Floats
    labels: NDArray[np.int64]
    lower: Floats
    upper: Floats
    clusters: int

    @property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(PublicArray(self.lower), PublicArray(self.upper))


@dataclass(frozen=True)
class ClusterFigures:
    """One method at one loss: medians over the runs.

    Args:
        method: its name.
        gap: the cost of its centres over Lloyd's.
        same: in what share of the runs the cost was within a hundredth of Lloyd's.
        seconds: of one run.

    """

    method: str
    gap: float
    same: float
    seconds: float


Build = Callable[[Loss, dict[str, Any], int], Any]


def _gene(loss: Loss, public: dict[str, Any], rows: int) -> Any:
    return PrivGene.calibrated(loss, **public, population=32) if rows * public["clusters"] <= _MOST_OF_GENES else None


def _grid(loss: Loss, public: dict[str, Any], rows: int) -> Any:
    return GridClusters.calibrated(loss, **public, records=rows) if len(public["lower"]) <= 6 else None


def _refined(loss: Loss, public: dict[str, Any], rows: int) -> Any:
    return RefinedClusters.calibrated(loss, **public, records=rows) if len(public["lower"]) <= 6 else None


def _su(loss: Loss, public: dict[str, Any], rows: int) -> Any:
    return SuClusters.calibrated(loss, **public, records=rows) if isinstance(loss, PureDP) else None


#: Methods by name. Their numbers of steps and generations are fixed in advance; the grids and SU are told how many rows
#: there are, which is a public guess elsewhere.
METHODS: Final[Mapping[str, Build]] = {
    "coreset": lambda loss, public, _: CoresetClusters.calibrated(loss, **public),
    "refined": _refined,
    "grid (SU, EUGkM)": _grid,
    "lloyd": lambda loss, public, _: LloydClusters.calibrated(loss, **public),
    "su (SU)": _su,
    "lloyd, even (BLUM)": lambda loss, public, _: LloydClusters.calibrated(loss, **public, steps=_STEPS_OF_THESIS),
    "lloyd, halving (DWORK)": lambda loss, public, _: LloydClusters.calibrated(
        loss, **public, steps=_STEPS_OF_THESIS, schedule="halving"
    ),
    "zones, past": lambda loss, public, _: LloydClusters.calibrated(
        loss, **public, steps=_STEPS_OF_THESIS, zone="past"
    ),
    "zones, past and future": lambda loss, public, _: LloydClusters.calibrated(
        loss, **public, steps=_STEPS_OF_THESIS, zone="future"
    ),
    "blocks (GUPT)": lambda loss, public, _: BlockClusters.calibrated(loss, **public),
    "priv-gene": _gene,
}


def data_sets(folder: str | None = None) -> Iterator[Points]:
    """Return the available data sets, each with round public bounds."""
    bundled: Any = importlib.import_module("sklearn.datasets")
    iris = bundled.load_iris()
    yield Points("Iris", iris.data, iris.target, np.array([4.0, 2, 1, 0]), np.array([8.0, 5, 7, 3]), 3)
    digits = bundled.load_digits()
    yield Points("digits", digits.data, digits.target, np.zeros(64), np.full(64, 16.0), 10)
    if folder is not None:
        for name, top, clusters, every in _FILES:
            path = Path(folder) / "clusters" / f"{name}.csv.gz"
            if path.is_file():
                table = _table(path, ("x", "y", "label"))[::every]
                labels = table[:, 2].astype(np.int64)
                yield Points(name, table[:, :2], labels, np.zeros(2), np.full(2, float(top)), clusters)
    yield made_up(20_000, 10, 20)
    yield made_up(20_000, 6, 30)


def made_up(count: int, columns: int, clusters: int) -> Points:
    """Return clusters of unequal sizes about centres drawn evenly in [-0.8, 0.8]."""
    numbers = np.random.default_rng(7)
    centres, shares = numbers.uniform(-0.8, 0.8, (clusters, columns)), numbers.dirichlet(np.full(clusters, 3.0))
    labels = numbers.choice(clusters, count, p=shares)
    values = centres[labels] + numbers.normal(0, 0.05, (count, columns))
    return Points("made up", values, labels, np.full(columns, -1.0), np.full(columns, 1.0), clusters)


def lloyd_cost(data: Points, starts: int = 3) -> float:
    """Return the cost of the best of several starts of Lloyd's algorithm, in columns scaled by their bounds.

    One start is the means of the labels that the points came with, where their number is that of the clusters.
    """
    scaled = data.frame.scaled(data.values)
    numbers = np.random.default_rng().random((starts, data.clusters))
    drawn = list(spread_starts(scaled, np.ones(len(scaled)), data.clusters, numbers))
    known = np.unique(data.labels)
    if len(known) == data.clusters:
        drawn.append(np.array([scaled[data.labels == label].mean(axis=0) for label in known]))
    centres, _ = weighted_clusters(scaled, np.ones(len(scaled)), data.clusters, iter(drawn))
    return cost(data, centres)


def cost(data: Points, centres: Floats) -> float:
    """Return the sum of squared distances from the nearest centres, in columns scaled by their bounds."""
    scaled = data.frame.scaled(data.values)
    squared = (scaled**2).sum(axis=1)[:, None] - 2 * scaled @ centres.T + (centres**2).sum(axis=1)
    return float(np.maximum(squared.min(axis=1), 0.0).sum())


def measure(
    data: Points, loss: Loss, *, runs: int = 5, least: float | None = None, methods: Mapping[str, Build] = METHODS
) -> Iterator[ClusterFigures]:
    """Return the figures of each method at one loss; a method not meant for this number of columns is left out.

    Args:
        data: the points.
        loss: the whole of what each method may lose.
        runs: the number of runs, each with its own seed.
        least: Lloyd's cost; by default that of ``lloyd_cost``.
        methods: which methods.

    """
    best = lloyd_cost(data) if least is None else least
    public: dict[str, Any] = {"lower": data.lower, "upper": data.upper, "clusters": data.clusters}
    for name, build in methods.items():
        gaps, took = [], []
        for run in range(runs):
            mechanism = build(loss, {**public, "public_seed": str(run)}, len(data.values))
            if mechanism is None:
                break
            start = time.perf_counter()
            found = perform(mechanism, data.values)
            took.append(time.perf_counter() - start)
            gaps.append(cost(data, found.centres.values) / best)
        if gaps:
            same = sum(gap <= _SAME for gap in gaps) / len(gaps)
            yield ClusterFigures(name, statistics.median(gaps), same, statistics.median(took))


@dataclass(frozen=True)
class ZoneFigures:
    """How a zone of the thesis moves without noise, from the same starts as Lloyd's algorithm.

    Args:
        zone: its name.
        rounds: how many passes over the points it took, in the mean; a look ahead is a pass.
        ratio: that over Lloyd's.
        same: in what share of the starts its cost ended within a hundredth of Lloyd's.

    """

    zone: str
    rounds: float
    ratio: float
    same: float


def measure_zones(data: Points, starts: int = 5) -> Iterator[ZoneFigures]:
    """Yield the passes of each zone without noise until no point changes its centre, and how good its end is."""
    steps = data.frame.steps(data.values)
    found = {zone: [_without_noise(steps, data, zone, f"start {number}") for number in range(starts)] for zone in ZONES}
    plain = found["mean"]
    rounds = statistics.fmean(passes for passes, _ in plain)
    for zone, ends in found.items():
        same = sum(end <= _SAME * there for (_, end), (_, there) in zip(ends, plain, strict=True)) / starts
        own = statistics.fmean(passes for passes, _ in ends)
        yield ZoneFigures(zone, own, own / rounds, same)


def _without_noise(steps: Floats, data: Points, zone: str, public_seed: str) -> tuple[int, float]:
    """Return the passes until assignments stay, and the cost where they do."""
    centres = np.rint(packed(data.clusters, steps.shape[1], public_seed) * 0.7 * STEPS)
    before, last = centres, np.full(len(steps), -1)
    for passes in range(1, _MOST_ROUNDS + 1):
        owner = nearest(steps, np.rint(centres))
        held = np.bincount(owner, minlength=data.clusters)[:, None]
        sums = np.stack([np.bincount(owner, weights=column, minlength=data.clusters) for column in steps.T], axis=1)
        means = np.where(held > 0, sums / np.maximum(held, 1), centres)
        if np.array_equal(owner, last):
            return passes, cost(data, means / STEPS)
        last = owner
        centres, before = zoned(zone, before, centres, means, passes - 1, public_seed), centres
    return _MOST_ROUNDS, cost(data, centres / STEPS)


def lines(runs: int = 5) -> Iterator[str]:
    """Return the figures for people."""
    for data in data_sets(os.environ.get("DITHER_DATA") or None):
        rows, columns = data.values.shape
        best = lloyd_cost(data)
        yield f"{data.name}: {rows:,} points, {columns} columns, {data.clusters} clusters, median of {runs} seeds"
        yield f"method | cost over Lloyd's at total epsilon {', '.join(EPSILONS)} | as good as Lloyd's at 1 | s"
        kinds: list[tuple[str, list[Loss]]] = [
            ("", [PureDP(epsilon) for epsilon in EPSILONS]),
            (f", delta {DELTA}", [ApproxDP(epsilon, DELTA) for epsilon in EPSILONS]),
        ]
        for words, losses in kinds:
            for name, build in METHODS.items():
                if words and name not in ("coreset", "lloyd", "grid (SU, EUGkM)"):
                    continue
                found = [
                    one for loss in losses for one in measure(data, loss, runs=runs, least=best, methods={name: build})
                ]
                if found:
                    gaps = " ".join(f"{one.gap:.2f}" for one in found)
                    yield f"{name}{words} | {gaps} | {found[-1].same:.0%} | {found[-1].seconds:.2f}"
        for zone in measure_zones(data):
            yield (
                f"without noise, {zone.zone} | {zone.rounds:.1f} passes, {zone.ratio:.2f} of Lloyd's | "
                f"{zone.same:.0%} end as well"
            )
    large = made_up(10**6, 10, 10)
    own = {"coreset": METHODS["coreset"]}
    for one in measure(large, ApproxDP(1, "1e-9"), runs=1, least=10**7 * 0.05**2, methods=own):
        yield f"a million points, 10 columns, 10 clusters: {one.seconds:.1f} s (goal {GOAL:.0f}), gap {one.gap:.2f}"


def _table(path: Path, columns: tuple[str, ...]) -> Floats:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        return np.array([[float(row[name]) for name in columns] for row in csv.DictReader(stream)])
