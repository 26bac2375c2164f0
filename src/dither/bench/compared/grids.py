"""Histograms of two dimensions: every method, by the error of two thousand random rectangles, as in DPBench."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.bench.compared import data
from dither.bench.comparison import Comparison, Grid, Outcome, Trial
from dither.mechanisms import perform
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1
from dither.publish.histograms import EquiWidthHistogram, HierarchicalHistogram, MedianTree
from dither.publish.methods import METHODS, build_method
from dither.publish.workloads import Hdmm, Hierarchy, Kron, MatrixMechanism, Strategy, Workload, find_strategy

RECTANGLES: Final = "rectangles"
_QUERIES: Final = 2000
#: Blocks of the equi-width histogram along each side.
_BLOCKS: Final = 16
_MOST: Final = {"hdmm": 128**2, "ahp": 128**2}


def _equi_width(trial: Trial) -> Any:
    side = isqrt(trial.cells)
    return EquiWidthHistogram.calibrated(trial.loss, shape=(side, side), widths=(max(1, side // _BLOCKS),) * 2)


def _trees(trial: Trial) -> Any:
    """Return the product of two trees, each with the branching that suits ranges along one axis best."""
    side = isqrt(trial.cells)
    branching = HierarchicalHistogram.calibrated(trial.loss, cells=side).branching
    return _measured(MatrixMechanism, trial, Strategy(Kron((Hierarchy(side, branching), Hierarchy(side, branching)))))


def _hdmm(trial: Trial) -> Any:
    return _measured(Hdmm, trial, _searched(isqrt(trial.cells)))


@lru_cache(maxsize=4)
def _searched(side: int) -> Strategy:
    return find_strategy(Workload.kron(Workload.all_ranges(side), Workload.all_ranges(side)), L1).strategy


def _measured(kind: type[MatrixMechanism | Hdmm], trial: Trial, strategy: Strategy) -> Any:
    side = isqrt(trial.cells)
    workload = Workload.kron(Workload.all_ranges(side), Workload.all_ranges(side))
    noise = Geometric.calibrated(trial.loss, sensitivity=strategy.sensitivity(L1))
    return kind(workload=workload, strategy=strategy, noise=noise, of_cells=True)


def _median_tree(trial: Trial) -> Any:
    side = isqrt(trial.cells)
    return MedianTree.calibrated(trial.loss, shape=(side, side))


_EXTRA: Final[dict[str, Callable[[Trial], Any]]] = {
    "hierarchical": _trees,
    "hdmm": _hdmm,
    "equi-width": _equi_width,
    "median-tree": _median_tree,
}
_NAMES: Final = tuple(dict.fromkeys([*(name for name, one in METHODS.items() if one.fits((2, 2))), *_EXTRA]))


def fits(trial: Trial) -> bool:
    """Return whether a method suits a square of this size."""
    side = isqrt(trial.cells)
    if trial.delta != "0" or trial.cells > _MOST.get(trial.method, trial.cells):
        return False
    return trial.method in _EXTRA or METHODS[trial.method].fits((side, side))


def trials(grid: Grid) -> list[Trial]:
    """Return every trial of a grid."""
    shapes = data.grids(max(grid.domains))
    for cells in grid.domains:
        data.grids(cells)
    return grid.trials(methods=_NAMES, shapes=shapes, asked=[RECTANGLES], fits=fits)


def mechanism(trial: Trial) -> Any:
    """Return the mechanism of a trial."""
    return _built(trial.method, trial.cells, trial.epsilon)


@lru_cache(maxsize=64)
def _built(method: str, cells: int, epsilon: str) -> Any:
    # What is checked of a strategy takes longer than its release, and is the same for all data.
    trial, side = Trial("", 1, cells, epsilon, method, 1), isqrt(cells)
    return _EXTRA[method](trial) if method in _EXTRA else build_method(method, trial.loss, (side, side))


@lru_cache(maxsize=8)
def rectangles(side: int) -> NDArray[np.int64]:
    """Return the queries, a row each: first and last row, first and last column, the same in every run."""
    generator = np.random.default_rng(side)
    ends = [np.sort(generator.integers(0, side, size=(_QUERIES, 2)), axis=1) for _ in range(2)]
    return np.concatenate(ends, axis=1).astype(np.int64)


def answers(table: NDArray[np.float64], asked: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums of rectangles, from the sums of all that begin in the first corner."""
    sums = np.zeros((table.shape[0] + 1, table.shape[1] + 1))
    sums[1:, 1:] = table.cumsum(axis=0).cumsum(axis=1)
    top, bottom, left, right = asked[:, 0], asked[:, 1] + 1, asked[:, 2], asked[:, 3] + 1
    return np.asarray(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])


def run(trial: Trial) -> Outcome:
    """Return the error of a trial."""
    side = isqrt(trial.cells)
    share, chosen, errors = data.grids(trial.cells)[trial.shape], mechanism(trial), []
    asked = rectangles(side)
    for repeat in range(trial.repeats):
        counts = trial.generator(repeat).multinomial(trial.scale, share.ravel()).reshape(side, side)
        off = np.asarray(perform(chosen, counts, stability=1), dtype=np.float64) - counts
        errors.append(float(np.linalg.norm(answers(off, asked))) / (trial.scale * len(asked)))
    return Outcome.of(trial, errors)


GRIDS: Final = Comparison(
    name="histograms",
    title="Histogram methods in two dimensions",
    about="Scaled error per query of 2,000 random rectangles, as DPBench has it; ratios to the best single method in "
    "hindsight of each setting (data, scale, cells, epsilon).",
    trials=trials,
    run=run,
    baseline="identity",
)
