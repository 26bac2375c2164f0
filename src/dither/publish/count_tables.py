"""Histograms, accurate counts, workloads and marginals of a data set: planned from public facts, presented as tables.

Nothing here reads rows.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dither.data import DataSet, Relation
from dither.data.columns import ColumnRows, Values
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number
from dither.lift.axes import Axis
from dither.lift.cells import Cells, SparseCells, cells_of
from dither.lift.lifted import Lifted
from dither.lift.regions import RegionCells
from dither.mechanisms.accuracy_first import AccuracyFirst
from dither.mechanisms.core.purse import Purse
from dither.privacy import ApproxDP, Loss, PureDP
from dither.privacy.losses import states_rho
from dither.publish.choose import Choice, choose
from dither.publish.histograms.identity import IdentityHistogram
from dither.publish.histograms.sparse_filter import SparseHistogram
from dither.publish.lifting import lifted_marginals, lifted_sparse
from dither.publish.methods import build_method, without_negatives
from dither.publish.queries import QueryResult, ResultColumn
from dither.publish.queries.display_values import believable, nearest
from dither.publish.queries.limited_rows import Limited, limited_cells
from dither.publish.queries.stored_columns import to_plain
from dither.publish.workloads import Hdmm, Identity, Kron, MatrixMechanism, Strategy, Workload
from dither.publish.workloads.marginals import Marginals
from dither.publish.workloads.matrices import Dense, Matrix, Total
from dither.publish.workloads.products import Union
from dither.publish.workloads.ranges import AllRanges, Prefixes, Ranges

AUTO = "auto"
#: Axes up to this length have their strategy searched for in seconds.
_MOST_SEARCHED = 512
#: Cells of all marginals together: what is stored of a release is then a hundred megabytes or so.
_MOST_IN_MARGINALS = 2**20
#: Cells and columns of a table on which a strategy for marginals is searched for as well.
_MOST_TABLED, _MOST_AXES = 2**18, 16
#: A count and its ends, with what stands between.
_LONGEST_NUMBERS = 3 * 32
_ONE_SIDED = (
    "cells were measured together, and how they share their count is not known: such a cell holds from 0 to what the "
    "cells that show its number may hold together"
)
_FAILURE = 0.05
_QUESTIONS = ("cells", "ranges")
_AGREEING = "counts are at least 0; the raw ones, as drawn, agree with those of the other marginals"
_KINDS = {bool: "boolean", int: "integer", float: "real", str: "text"}


@dataclass(frozen=True)
class Planned:
    """A release that is priced but not yet made: the mechanism, and why it was chosen."""

    mechanism: Lifted
    cells: Cells | RegionCells
    choice: Choice | None = None


def plan_histogram(
    cells: Cells | RegionCells,
    loss: Loss,
    *,
    method: str = AUTO,
    questions: str | None = None,
    data_dependent: bool = False,
    rows: int | None = None,
) -> Planned:
    """Return the release of all cells.

    Args:
        cells: what is counted.
        loss: what it may lose; of an (epsilon, delta) its epsilon alone, or what converts to it, whichever errs less.
        method: one of the registered ones, or 'auto' for what errs least in what will be asked.
        questions: for 'auto', what will be asked of the table: 'cells' or 'ranges' of them; None for ranges along axes
            that have an order, and for cells along the others.
        data_dependent: whether 'auto' may take methods that look at the counts.
        rows: for these, about how many rows there are.

    """
    if questions not in (None, *_QUESTIONS):
        raise InvalidParameter("questions", questions, f"omitted, or one of {', '.join(map(repr, _QUESTIONS))}")
    if questions is not None and method != AUTO:
        raise InvalidParameter(
            "questions", questions, f"not allowed with method={method!r}: questions only applies to method='auto'"
        )
    if isinstance(cells, Cells):
        if method == SparseHistogram.name:
            return Planned(lifted_sparse(loss, cells), cells)
        cells.check_dense()
    if method != AUTO:
        return _least(
            loss,
            lambda within: Planned(
                Lifted.calibrated(within, source=cells, build=lambda each: build_method(method, each, cells.shape)),
                cells,
            ),
        )
    kinds = [questions or ("ranges" if axis.is_ordered else "cells") for axis in cells.axes]
    asked: str | Workload = kinds[0]
    if len(set(kinds)) > 1:
        makers = {"ranges": Workload.all_ranges, "cells": Workload.cells_of}
        asked = Workload.kron(*(makers[kind](size) for kind, size in zip(kinds, cells.shape, strict=True)))

    def planned(within: Loss) -> Planned:
        each = Purse.within(within).per(cells.sensitivity.l1).loss
        choice = choose(asked, cells.shape, loss=each, data_dependent=data_dependent, rows=rows)
        chosen = replace(choice, because=f"chosen for {_said(kinds, cells.axes)}: {choice.because}")
        made = Lifted.calibrated(
            within, source=cells, build=lambda part: build_method(choice.method, part, cells.shape)
        )
        return Planned(made, cells, chosen)

    return _least(loss, planned)


def _said(kinds: Sequence[str], axes: Sequence[Axis]) -> str:
    """Return which questions a method was chosen for, in words."""
    words = {"ranges": "ranges of cells", "cells": "single cells"}
    if len(set(kinds)) == 1:
        return words[kinds[0]]
    return ", ".join(f"{words[kind]} of {axis.name}" for kind, axis in zip(kinds, axes, strict=True))


def _least(loss: Loss, planned: Callable[[Loss], Planned]) -> Planned:
    """Return the plan with less error within (epsilon, delta): by epsilon alone, or by a rho that converts to it.

    SQL makes the same choice, so that the same counts cost the same there.
    """
    if not isinstance(loss, ApproxDP) or not loss.delta or states_rho(loss):
        return planned(loss)
    found = [planned(PureDP(loss.epsilon))]
    # A delta too small for any rho leaves epsilon alone.
    with contextlib.suppress(NoGuarantee):
        found.append(planned(loss))
    methods = [one.mechanism.method for one in found]
    if all(isinstance(one, IdentityHistogram) for one in methods):
        # By the error of one cell, as SQL does.
        reaches = [one.node.reach(_FAILURE) for one in methods if isinstance(one, IdentityHistogram)]
        return found[reaches.index(min(reaches))]
    return min(found, key=_error_of)


def _error_of(planned: Planned) -> float:
    """Return a query's mean error, or the bound on the cells' errors: whichever the method states."""
    if planned.choice is not None:
        return planned.choice.error
    bound = planned.mechanism.error(Fraction(19, 20))
    return math.inf if bound is None else bound.value


def plan_workload(cells: Cells, workload: Workload, loss: Loss, *, method: str = AUTO) -> Planned:
    """Return the release of a workload's answers; ``auto`` searches for a strategy if that takes only seconds."""
    cells.check_dense()
    if workload.domain != cells.shape and workload.domain != (math.prod(cells.shape),):
        raise InvalidParameter("workload", workload.domain, f"over the table of counts, of shape {cells.shape}")
    name = method
    if method == AUTO:
        name = "hdmm" if max(workload.domain) <= _MOST_SEARCHED else "identity"

    def build(each: Loss) -> Any:
        if name == "hdmm":
            return Hdmm.calibrated(each, sensitivity=1, workload=workload)
        if name == "identity":
            sizes = workload.domain
            strategy = Strategy(Identity(sizes[0]) if len(sizes) == 1 else Kron(tuple(map(Identity, sizes))))
            return MatrixMechanism.calibrated(each, sensitivity=1, workload=workload, strategy=strategy)
        raise InvalidParameter("method", method, f"'{AUTO}', 'hdmm' or 'identity'")

    return _least(loss, lambda within: Planned(Lifted.calibrated(within, source=cells, build=build), cells))


def plan_accurate(cells: Cells, loss: Loss, *, share: Number, levels: int, confidence: Fraction) -> Planned:
    """Return the release of all cells with the most noise that leaves errors a small share of the total.

    Args:
        cells: what is counted.
        loss: a pure loss, which the finest level has.
        share: of the true total, by which each count may err.
        levels: how many there are, each with half the noise of the one before.
        confidence: with which the errors keep to the share.

    """
    cells.check_dense()
    if not isinstance(loss, PureDP):
        raise InvalidParameter("loss", loss, "an epsilon alone: what a level loses is an epsilon")

    def build(each: Loss) -> AccuracyFirst:
        shape = cells.shape
        return AccuracyFirst.calibrated(
            each, sensitivity=1, shape=shape, share=share, levels=levels, confidence=confidence
        )

    return Planned(Lifted.calibrated(loss, source=cells, build=build), cells)


def plan_marginals(
    dataset: DataSet,
    table: str | Relation,
    sets: Sequence[Sequence[str]],
    loss: Loss,
    *,
    bins: Mapping[str, Any] | None = None,
    outside: str | None = None,
) -> tuple[Planned, tuple[tuple[str, ...], ...]]:
    """Return the release of several marginals of one table, and their columns in order.

    The columns may have any number of cells together: marginals alone are counted. Under a pure loss, where the table
    of all columns is small, the strategy that a search finds on it is taken if it errs less.
    """
    wanted = tuple(tuple(names) for names in sets)
    if not wanted or any(not names or len(set(names)) != len(names) for names in wanted):
        raise InvalidParameter("sets", sets, "at least one set of different columns")
    if len({frozenset(names) for names in wanted}) != len(wanted):
        raise InvalidParameter("sets", sets, "sets that differ")
    columns = tuple(dict.fromkeys(itertools.chain.from_iterable(wanted)))
    cells = cells_of(dataset, table, columns, dict(bins or {}), outside=outside)
    axes = [tuple(sorted(columns.index(name) for name in names)) for names in wanted]
    ordered = tuple(tuple(columns[place] for place in part) for part in axes)
    many = sum(math.prod(cells.shape[place] for place in part) for part in axes)
    if many > _MOST_IN_MARGINALS:
        rule = f"at most {_MOST_IN_MARGINALS} cells of all marginals together; ask for fewer columns at a time"
        raise InvalidParameter("sets", f"{many} cells", rule)
    release = lifted_marginals(loss, cells, ordered)
    if not isinstance(loss, PureDP) or math.prod(cells.shape) > _MOST_TABLED or len(columns) > _MOST_AXES:
        return Planned(release, cells), ordered
    workload = Workload.marginals(cells.shape, axes)
    tabled = Lifted.calibrated(
        loss, source=cells, build=lambda each: Hdmm.calibrated(each, sensitivity=1, workload=workload)
    )
    measured: Any = release.method
    searched: Any = tabled.method
    is_better = searched.root_mean_square_error**2 < float(measured.variances.mean())
    return Planned(tabled if is_better else release, cells), ordered


def present_histogram(planned: Planned, out: Any, *, confidence: Fraction, non_negative: bool) -> QueryResult:
    """Return a row for each cell: its place, its count, and the count's interval."""
    release = planned.mechanism
    if isinstance(release.source, SparseCells):
        return _present_sparse(planned, out, confidence)
    cells, flat = planned.cells, np.asarray(out, dtype=np.float64)
    keys, labels = _labels(cells.axes)
    is_ordered = all(axis.is_ordered for axis in cells.axes)
    shown = without_negatives(flat, is_ordered=is_ordered) if non_negative else flat
    notes = [] if planned.choice is None else [f"method {planned.choice.method}: {planned.choice.because}"]
    if non_negative:
        notes.append("negative counts were adjusted; intervals are those of the counts before that, cut at 0")
    return _result(release, keys, labels, shown, flat, confidence, notes, least=0.0 if non_negative else -math.inf)


def present_accurate(planned: Planned, out: Any, *, confidence: Fraction, grouped: bool) -> QueryResult:
    """Return a row for each cell, with what the level that was reached has lost.

    Args:
        planned: what was released.
        out: the level and the counts.
        confidence: at which all intervals hold at once.
        grouped: whether there is a column that tells cells apart; else there is one count.

    """
    release, method = planned.mechanism, cast("AccuracyFirst", planned.mechanism.method)
    keys, labels = _labels(planned.cells.axes) if grouped else ([], ColumnRows([], 1))
    flat, lost = np.asarray(out)[1:].astype(np.float64), release.loss_of(out)
    share = f"{float(method.share):g} of the total, with probability {float(method.confidence):g}"
    found = f"no count has an error of more than {share}"
    if not method.is_reached(out):
        found = f"still too coarse to show that no count has an error of more than {share}"
    notes = [
        f"level {method.level(out) + 1} of {len(method.scales)}: {found}",
        f"this level lost {lost} of at most {release.loss(1)}; a budget of a pure epsilon is charged what was lost",
    ]
    interval = release.interval(out, confidence)
    ends = None if interval is None else (np.ravel(interval.low), np.ravel(interval.high))
    shown = nearest(flat, 0.0)
    table = _table(release, keys, labels, shown, _from_least(flat, shown, ends, 0.0), confidence, notes, raw=flat)
    return replace(table, loss=lost)


def _present_sparse(planned: Planned, out: dict[int, int], confidence: Fraction) -> QueryResult:
    """Return a row for each published cell."""
    release, method = planned.mechanism, cast("SparseHistogram", planned.mechanism.method)
    keys, parts = _parts(planned.cells.axes)
    places = np.unravel_index(np.array(list(out), dtype=np.int64), planned.cells.shape)
    parts = [part.taken(where) for part, where in zip(parts, places, strict=True)]
    labels = ColumnRows([column for part in parts for column in part.columns], len(out))
    interval, bound = release.interval(out, confidence), release.error(confidence)
    low, high = ({}, {}) if interval is None else (interval.low, interval.high)
    ends = np.array([low[cell] for cell in out], dtype=np.float64), np.array([high[cell] for cell in out], dtype=float)
    most = math.inf if bound is None else bound.value
    notes = [
        f"cells that are not listed count as 0; at this confidence each of them holds at most {most:.0f} rows",
        f"{method.passing_chance * method.cells:.3g} empty cells are listed on average",
    ]
    counts = np.array(list(out.values()), dtype=np.float64)
    shown = nearest(counts, 0.0)
    return _table(release, keys, labels, shown, _from_least(counts, shown, ends, 0.0), confidence, notes, raw=counts)


def present_workload(planned: Planned, out: Any, *, confidence: Fraction) -> QueryResult:
    """Return a row for each query, in the order of the workload; queries that only add counts are at least 0."""
    flat = np.asarray(out, dtype=np.float64)
    keys = [ResultColumn("query", "integer", is_key=True)]
    method: Any = planned.mechanism.method
    least = 0.0 if adds_up(method.workload.matrix) else -math.inf
    labels = ColumnRows([np.arange(flat.size)], flat.size)
    return _result(planned.mechanism, keys, labels, nearest(flat, least), flat, confidence, [], least=least)


def present_marginals(
    planned: Planned, sets: tuple[tuple[str, ...], ...], out: Any, *, confidence: Fraction
) -> dict[tuple[str, ...], QueryResult]:
    """Return a table for each marginal; the raw values are exactly consistent."""
    release, flat = planned.mechanism, np.asarray(out, dtype=np.float64)
    interval = release.interval(flat, confidence)
    axes = {axis.name: axis for axis in planned.cells.axes}
    found, start = {}, 0
    for names in sets:
        keys, labels = _labels([axes[name] for name in names])
        part = slice(start, start + len(labels))
        start += len(labels)
        ends = None if interval is None else (interval.low[part], interval.high[part])
        shown = nearest(flat[part], 0.0)
        shown_ends = _from_least(flat[part], shown, ends, 0.0)
        found[names] = _table(release, keys, labels, shown, shown_ends, confidence, [_AGREEING], raw=flat[part])
    return found


def _result(
    release: Lifted,
    keys: list[ResultColumn],
    labels: ColumnRows,
    shown: NDArray[np.float64],
    plain: NDArray[np.float64],
    confidence: Fraction,
    notes: list[str],
    *,
    least: float,
) -> QueryResult:
    interval = release.interval(plain, confidence)
    ends = None
    if interval is not None:
        low, high = np.asarray(interval.low).ravel(), np.asarray(interval.high).ravel()
        if not np.allclose(low + high, 2 * plain.ravel()):
            notes.append(_ONE_SIDED)
        ends = _from_least(plain.ravel(), shown.ravel(), (low, high), least)
    else:
        notes.append(f"no intervals: {release.method.no_interval_because}")
    return _table(release, keys, labels, shown.ravel(), ends, confidence, notes, raw=plain.ravel())


def _from_least(
    plain: NDArray[Any], shown: NDArray[Any], ends: tuple[NDArray[Any], NDArray[Any]] | None, least: float
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return the ends that are shown for intervals of plain estimates: they contain the shown values."""
    if ends is None:
        return None
    _, low, high = believable(plain, *ends, least)
    return np.fmin(low, shown), np.fmax(high, shown)


def adds_up(matrix: Matrix) -> bool:
    """Return whether a workload's form shows that no weight is negative: then no true answer is.

    >>> adds_up(Workload.all_ranges(4).matrix), adds_up(Workload.matrix_of([[1, -1]]).matrix)
    (True, False)
    """
    if isinstance(matrix, Dense):
        return bool((matrix.entries.values >= 0).all())
    if isinstance(matrix, Kron | Union):
        return all(map(adds_up, matrix.factors if isinstance(matrix, Kron) else matrix.parts))
    if isinstance(matrix, Marginals):
        return all(weight >= 0 for weight in matrix.weights)
    return isinstance(matrix, Identity | Total | Prefixes | AllRanges | Ranges)


def _table(
    release: Lifted,
    keys: list[ResultColumn],
    labels: ColumnRows,
    values: NDArray[np.float64],
    ends: tuple[NDArray[Any], NDArray[Any]] | None,
    confidence: Fraction,
    notes: list[str],
    raw: NDArray[np.float64] | None = None,
) -> QueryResult:
    what = "the number of rows that the limits on one person leave" if release.source.dataset.protects_persons else ""
    counted = _limited(release.source)
    said = ResultColumn(
        "count", "real", is_key=False, estimand=what or "the number of rows", bias=counted.bias, limit=counted.head
    )
    columns = (*keys, said)

    def rows(of: NDArray[np.float64]) -> ColumnRows:
        return ColumnRows([*labels.columns, of], len(labels))

    def nothing_but(of: NDArray[np.float64] | None) -> ColumnRows:
        return ColumnRows([*(None for _ in keys), of], len(labels))

    low, high = (None, None) if ends is None else ends
    return QueryResult(
        columns,
        rows(values),
        nothing_but(low),
        nothing_but(high),
        confidence,
        True,
        release.loss(1),
        str(release.distance),
        tuple(notes),
        raw=() if raw is None else rows(raw),
    )


def _limited(source: object) -> Limited:
    """Return what the limits of a person do to counts; regions of places name no limit."""
    cells = source.cells if isinstance(source, SparseCells) else source
    return limited_cells(cells.dataset, cells.limits, cells.relation) if isinstance(cells, Cells) else Limited()


def _labels(axes: Sequence[Axis]) -> tuple[list[ResultColumn], ColumnRows]:
    """Return the key columns, and a row for each cell: its value, or the ends of its bin."""
    columns, parts = _parts(axes)
    found: list[Values] = []
    before, after = 1, math.prod(map(len, parts))
    for part in parts:
        after //= len(part)
        found += [_repeated(column, after, before) for column in part.columns]
        before *= len(part)
    return columns, ColumnRows(found, before)


def _repeated(column: Values, each: int, times: int) -> Values:
    """Return a column with each cell repeated for the cells of later axes, and the whole for those of former ones."""
    if isinstance(column, np.ndarray):
        return np.tile(np.repeat(column, each), times)
    return [value for value in column or () for _ in range(each)] * times


def _parts(axes: Sequence[Axis]) -> tuple[list[ResultColumn], list[ColumnRows]]:
    """Return the key columns, and for each axis the entries of each of its cells."""
    columns: list[ResultColumn] = []
    parts: list[ColumnRows] = []
    for axis in axes:
        if axis.labels is not None:
            columns.append(ResultColumn(axis.name, _kind(axis.labels[0]), is_key=True))
            parts.append(ColumnRows([_array(axis.labels)], axis.size))
        else:
            edges = axis.edges or ()
            columns += [ResultColumn(f"{axis.name}_{end}", _kind(edges[0]), is_key=True) for end in ("from", "to")]
            parts.append(ColumnRows([_array(edges[:-1]), _array(edges[1:])], axis.size))
    return columns, parts


def _array(values: Sequence[Any]) -> Values:
    """Return integers of 64 bits or floats as an array, and anything else as a list."""
    types = set(map(type, values))
    if types == {float} or (types == {int} and min(values) >= -(2**63) and max(values) < 2**63):
        return np.array(values)
    return list(values)


def longest_row(axes: Sequence[Axis]) -> int:
    """Return the most bytes that a cell of a table over these axes may take in a stored result.

    There are its labels and a count, as shown and as drawn, and two ends.
    """
    _, parts = _parts(axes)
    # In a list there are a comma and a blank behind each but the last, and brackets around them.
    labels = sum(
        2 * len(part.columns) + int(np.sum([_written_lengths(column) for column in part.columns], axis=0).max())
        for part in parts
    )
    labels += sum(12 * len(part.columns) for part in parts)
    return 2 * (labels + _LONGEST_NUMBERS)


def _written_lengths(column: Values) -> NDArray[np.int64]:
    """Return how many characters each cell takes as JSON."""
    cells = column if isinstance(column, list) else [] if column is None else column.tolist()
    # As JSON writes numbers; a function of C for each.
    is_plain = isinstance(column, np.ndarray) and column.dtype.kind in "if" and bool(np.isfinite(column).all())
    written = map(repr, cells) if is_plain else (json.dumps(to_plain(cell)) for cell in cells)
    return np.fromiter(map(len, written), dtype=np.int64, count=len(cells))


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "timestamp" if hasattr(value, "hour") else "date")
