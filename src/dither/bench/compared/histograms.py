"""Histograms of one dimension: every method, by the error of queries on the published counts.

Asked are all prefix queries, as DPBench asks them; the counts in increasing order, for methods that publish no more;
and the counts of cells not listed in advance. The scaled error per query is the L2 norm of all errors over the
number of rows and the number of queries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.bench.compared import data
from dither.bench.comparison import Comparison, Grid, Outcome, Trial
from dither.mechanisms import perform
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, ROW
from dither.publish.choose import Choice, choose
from dither.publish.histograms import (
    BisectedHistogram,
    EquiWidthHistogram,
    SortedHistogram,
    SparseHistogram,
    StabilityHistogram,
    StructureFirst,
)
from dither.publish.methods import METHODS, build_method, without_negatives
from dither.publish.workloads import Hdmm, Strategy, Workload, find_strategy

AUTO, LOOKING = "auto", "auto-looking"
PREFIXES, SORTED, UNKNOWN = "prefixes", "sorted", "unknown cells"
#: Blocks of the equi-width histogram, buckets of StructureFirst, and its public bound in average counts.
_BLOCKS: Final = 64
_BUCKETS: Final = 16
_BOUND: Final = 16
#: Beyond these a trial takes longer than a comparison has time for.
_MOST: Final = {"hdmm": 1024, "structure-first": 1024, "most-likely": 1024, "php": 2**13}
_MOST_POSTERIOR: Final = 2**22
_MOST_LISTED: Final = 10**6


def _equi_width(trial: Trial) -> Any:
    return EquiWidthHistogram.calibrated(trial.loss, shape=trial.cells, widths=max(1, trial.cells // _BLOCKS))


def _structure_first(trial: Trial) -> Any:
    bound = max(1, _BOUND * trial.scale // trial.cells)
    return StructureFirst.calibrated(trial.loss, cells=trial.cells, buckets=min(_BUCKETS, trial.cells), bound=bound)


def _hdmm(trial: Trial) -> Any:
    # The search needs no loss: it is done once for each domain.
    workload, strategy = _searched(trial.cells)
    noise = Geometric.calibrated(trial.loss, sensitivity=strategy.sensitivity(L1))
    return Hdmm(workload=workload, strategy=strategy, noise=noise, of_cells=True)


@lru_cache(maxsize=4)
def _searched(cells: int) -> tuple[Workload, Strategy]:
    workload = Workload.all_ranges(cells)
    return workload, find_strategy(workload, L1).strategy


def _sorted(trial: Trial) -> Any:
    return SortedHistogram.calibrated(trial.loss, cells=trial.cells)


def _posterior(trial: Trial) -> Any:
    return SortedHistogram.calibrated(trial.loss, cells=trial.cells, top=trial.scale)


def _stability(trial: Trial) -> Any:
    return StabilityHistogram.calibrated(trial.loss, unit=ROW, width=1)


def _sparse(trial: Trial) -> Any:
    return SparseHistogram.calibrated(trial.loss, cells=trial.cells)


def _php(trial: Trial) -> Any:
    return BisectedHistogram.calibrated(trial.loss, cells=trial.cells)


_EXTRA: Final[dict[str, Callable[[Trial], Any]]] = {
    "hdmm": _hdmm,
    "equi-width": _equi_width,
    "structure-first": _structure_first,
    "php": _php,
    "sorted-histogram": _sorted,
    "sorted-histogram-posterior": _posterior,
    "stability-histogram": _stability,
    "sparse-histogram": _sparse,
}
#: Those that take rows and publish some cells with their counts, and whether they need a delta.
_ROWS: Final = {"stability-histogram": True, "sparse-histogram": False}
_NAMES: Final = tuple(dict.fromkeys([*(name for name, one in METHODS.items() if one.fits((2,))), *_EXTRA]))


def fits(trial: Trial) -> bool:
    """Return whether a method suits the queries, and a domain of this size."""
    has_delta = trial.delta != "0"
    if trial.asked == UNKNOWN:
        is_made = trial.method == "identity" or _ROWS.get(trial.method) == has_delta
        return is_made and trial.scale <= _MOST_LISTED
    if has_delta or trial.method in _ROWS:
        return False
    if trial.asked == SORTED:
        if trial.method == "sorted-histogram-posterior":
            return trial.cells * (trial.scale + 1) <= _MOST_POSTERIOR
        return trial.method in ("identity", "sorted-histogram")
    if trial.method.startswith("sorted") or trial.cells > _MOST.get(trial.method, trial.cells):
        return False
    return trial.method in _EXTRA or trial.method not in METHODS or METHODS[trial.method].fits((trial.cells,))


def trials(grid: Grid) -> list[Trial]:
    """Return every trial of a grid."""
    shapes = data.histograms(max(grid.domains))
    return grid.trials(methods=[*_NAMES, AUTO, LOOKING], shapes=shapes, asked=[PREFIXES, SORTED, UNKNOWN], fits=fits)


def mechanism(trial: Trial) -> Any:
    """Return the mechanism of a trial."""
    if trial.method in _EXTRA:
        return _EXTRA[trial.method](trial)
    if trial.method in METHODS:
        return build_method(trial.method, trial.loss, (trial.cells,))
    # What a session does with "auto", and with "auto" where methods that look at the counts are allowed.
    return _chosen(trial.cells, trial.epsilon, trial.scale if trial.method == LOOKING else None).build()


@lru_cache(maxsize=256)
def _chosen(cells: int, epsilon: str, rows: int | None) -> Choice:
    loss = Trial("", 1, cells, epsilon, AUTO, 1).loss
    return choose("ranges", cells, loss=loss, data_dependent=rows is not None, rows=rows)


def run(trial: Trial) -> Outcome:
    """Return the error of a trial."""
    share, chosen, errors = data.histograms(trial.cells)[trial.shape], mechanism(trial), []
    for repeat in range(trial.repeats):
        counts = trial.generator(repeat).multinomial(trial.scale, share)
        off = _off(trial, chosen, counts)
        errors.append(float(np.linalg.norm(off)) / (trial.scale * trial.cells))
    return Outcome.of(trial, errors)


def _off(trial: Trial, chosen: Any, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the error of every answer."""
    if trial.method in _ROWS:
        listed = perform(chosen, np.repeat(np.arange(trial.cells), counts).tolist(), stability=1)
        found = np.zeros(trial.cells)
        found[list(listed)] = list(listed.values())
        return found - counts
    released = np.asarray(perform(chosen, counts, stability=1), dtype=np.float64)
    if trial.asked == UNKNOWN:
        return released - counts
    if trial.asked == SORTED:
        return np.sort(released) - np.sort(counts)
    if trial.method in (AUTO, LOOKING):
        released = without_negatives(released, is_ordered=True)
    return np.asarray(np.cumsum(released - counts))


HISTOGRAMS: Final = Comparison(
    name="histograms",
    title="Histogram methods",
    about="Scaled error per query, as DPBench has it, of all prefix queries; of the counts in increasing order; and of "
    "the counts of unlisted cells. Ratios to the best single method in hindsight of each setting (data, "
    "scale, cells, loss).",
    trials=trials,
    run=run,
    baseline="identity",
    choosers=(AUTO, LOOKING),
)
