"""Contingency tables: every method, by the total variation distance of all marginals on one, two or three attributes.

The error of a trial is the mean over the marginals of half the L1 distance between published and true counts, over the
number of rows. Negative counts are taken away first, the total kept: that is free, and all methods have it. The rows
are drawn from a table with replacement, as many as the scale says; of its attributes the first few are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.bench.compared import data
from dither.bench.comparison import Comparison, Grid, Outcome, Trial
from dither.estimate.projections import non_negative_with_total
from dither.mechanisms import perform
from dither.privacy import L1, L2
from dither.publish.marginals import (
    Attributes,
    ContingencyTable,
    DataCubes,
    FourierMarginals,
    NoisyMarginals,
    PriView,
    ResidualPlanner,
    choose_cuboids,
    covering_views,
)
from dither.publish.workloads import Strategy, WeightedMarginals, Workload, opt_marginals

ORDERS: Final = {"1-way": 1, "2-way": 2, "3-way": 3}
#: Cells of the full table, and of all marginals together: beyond these a trial takes longer than there is time for.
_MOST_DENSE: Final = 2**20
_MOST_ASKED: Final = 2**21
#: The linear programme, the search for cuboids, and the search for weights have their own limits.
_MOST_PROGRAMME: Final = 8
_MOST_CUBOIDS: Final = 128
_MOST_WEIGHTED: Final = 14
#: Cells of marginals that are reconstructed, one after the other, where no view holds them.
_MOST_RECONSTRUCTED: Final = 2**14
_BASELINE: Final = "noisy-marginals-apart"

Sets = tuple[tuple[str, ...], ...]
Build = Callable[[Trial, data.Records, Sets], Any]


def _plain(kind: Any, **rest: Any) -> Build:
    return lambda trial, table, sets: kind.calibrated(trial.loss, attributes=table.attributes, marginals=sets, **rest)


def _cubes(trial: Trial, table: data.Records, sets: Sets) -> Any:
    cuboids = _cuboids(trial.shape, trial.cells, trial.asked, trial.delta == "0")
    return DataCubes.calibrated(trial.loss, attributes=table.attributes, marginals=sets, cuboids=cuboids)


@lru_cache(maxsize=64)
def _cuboids(shape: str, kept: int, asked: str, is_pure: bool) -> tuple[tuple[str, ...], ...]:
    table = data.tables()[shape].first(kept).attributes
    axes = [table.axes(names) for names in table.every(ORDERS[asked])]
    return tuple(table.named(each) for each in choose_cuboids(table, axes, 2 if is_pure else 1))


def _views(trial: Trial, table: data.Records, sets: Sets) -> Any:
    views = _covering(trial.shape, trial.cells, trial.asked)
    return PriView.calibrated(trial.loss, attributes=table.attributes, views=views)


@lru_cache(maxsize=64)
def _covering(shape: str, kept: int, asked: str) -> tuple[tuple[str, ...], ...]:
    # Views for pairs, as the source has it: marginals on three attributes are reconstructed where no view holds them.
    return covering_views(data.tables()[shape].first(kept).attributes, strength=min(2, ORDERS[asked]))


def _weighted(trial: Trial, table: data.Records, sets: Sets) -> Any:
    workload, strategy = _searched(trial.shape, trial.cells, trial.asked, trial.delta == "0")
    return WeightedMarginals.calibrated(trial.loss, sensitivity=1, workload=workload, strategy=strategy)


@lru_cache(maxsize=64)
def _searched(shape: str, kept: int, asked: str, is_pure: bool) -> tuple[Workload, Strategy]:
    workload = Workload.marginals(data.tables()[shape].first(kept).attributes.sizes, ORDERS[asked])
    return workload, opt_marginals(workload.matrix, L1 if is_pure else L2, largest=_MOST_DENSE)  # type: ignore[arg-type]


_METHODS: Final[dict[str, Build]] = {
    _BASELINE: _plain(NoisyMarginals, agreeing=False),
    "noisy-marginals": _plain(NoisyMarginals),
    "contingency-table": _plain(ContingencyTable),
    "fourier-marginals": _plain(FourierMarginals),
    "fourier-marginals-programme": _plain(FourierMarginals, non_negative=True),
    "data-cubes": _cubes,
    "priview": _views,
    "weighted-marginals": _weighted,
    "residual-planner": _plain(ResidualPlanner),
}


def fits(trial: Trial) -> bool:
    """Return whether a method suits a table of these attributes and this number of marginals."""
    table = data.tables()[trial.shape]
    if not ORDERS[trial.asked] <= trial.cells <= len(table.attributes.names):
        return False
    kept = table.first(trial.cells).attributes
    sets = [kept.axes(names) for names in kept.every(ORDERS[trial.asked])]
    cells = sum(map(kept.cells_of, sets))
    if cells > _MOST_ASKED:
        return False
    limits = {
        "priview": ORDERS[trial.asked] <= 2 or cells <= _MOST_RECONSTRUCTED,
        "contingency-table": kept.cells <= _MOST_DENSE,
        "fourier-marginals": set(kept.sizes) == {2},
        "fourier-marginals-programme": set(kept.sizes) == {2} and trial.cells <= _MOST_PROGRAMME,
        "data-cubes": len(sets) <= _MOST_CUBOIDS,
        "weighted-marginals": trial.cells <= _MOST_WEIGHTED,
        "residual-planner": trial.delta != "0",
    }
    return limits.get(trial.method, True)


def trials(grid: Grid) -> list[Trial]:
    """Return every trial of a grid, whose domains are numbers of attributes."""
    return grid.trials(methods=_METHODS, shapes=data.tables(), asked=ORDERS, fits=fits)


def mechanism(trial: Trial) -> Any:
    """Return the mechanism of a trial."""
    table = data.tables()[trial.shape].first(trial.cells)
    return _METHODS[trial.method](trial, table, table.attributes.every(ORDERS[trial.asked]))


def run(trial: Trial) -> Outcome:
    """Return the error of a trial."""
    table = data.tables()[trial.shape].first(trial.cells)
    attributes, chosen, errors = table.attributes, mechanism(trial), []
    sets = attributes.every(ORDERS[trial.asked])
    for repeat in range(trial.repeats):
        rows = table.rows[trial.generator(repeat).integers(0, len(table.rows), size=trial.scale)]
        codes = attributes.codes(rows)
        published = _tables(chosen, rows, attributes, sets)
        apart = [
            float(np.abs(non_negative_with_total(found) - attributes.count(codes, attributes.axes(names))).sum())
            for names, found in zip(sets, published, strict=True)
        ]
        errors.append(sum(apart) / len(apart) / (2 * trial.scale))
    return Outcome.of(trial, errors)


def _tables(chosen: Any, rows: NDArray[np.int64], attributes: Attributes, sets: Sets) -> list[NDArray[np.float64]]:
    released = perform(chosen, rows)
    if isinstance(chosen, PriView):
        return [chosen.reconstruct(released, names) for names in sets]
    if isinstance(chosen, WeightedMarginals):
        asked: Any = chosen.workload.matrix
        pieces = asked.split(np.asarray(released))
        # Named by the numbers of their attributes, in the same order as the names.
        by_axes = dict(zip(asked.sets, pieces, strict=True))
        return [by_axes[attributes.axes(names)].reshape(attributes.shape_of(attributes.axes(names))) for names in sets]
    found = chosen.tables(released)
    return [found[names] for names in sets]


MARGINALS: Final = Comparison(
    name="marginals",
    title="Marginals of contingency tables",
    about="Mean total variation distance of all marginals on one, two or three attributes, half the L1 distance of "
    "counts over the rows, without negative counts. Ratios to the best single method in hindsight of each setting "
    "(marginals, data, scale, attributes, loss).",
    trials=trials,
    run=run,
    baseline=_BASELINE,
)
