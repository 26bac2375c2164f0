"""Anonymized tables: how much of the real ones they keep, by DiffGen, PrivFuzzy and rows told at random; and DiffPart.

Real tables and baskets from the folder in ``DITHER_DATA`` where that is set (Adult, NLTCS, groceries, MSWeb), else
made-up ones. Errors here are against real rows without noise: a benchmark on public data, never a release.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.bench.compared.data import Records
from dither.lift.attributes import Attributes
from dither.mechanisms import perform
from dither.privacy import ApproxDP, Loss, PureDP
from dither.publish.microdata import DiffGen, DiffPart, ItemSets, OrderedCells, PerturbedRows, PrivFuzzy, Taxonomy
from dither.publish.synthetic import IndependentMarginals, MaximumSpanningTree
from tools.bench.itemsets import baskets
from tools.bench.synthetic import accuracy_of, pick, variation

Codes = NDArray[np.int64]

EPSILONS: Final = ("0.1", "1")
DELTA: Final = "1e-9"
#: Values from which on an attribute counts as ordered, and is cut anywhere.
_ORDERED: Final = 20
#: Children of a node of a taxonomy of items.
_FAN_OUT: Final = 4
_MOST_ITEMS: Final = 2**10
_FREQUENT: Final = 50


@dataclass(frozen=True)
class TableFigures:
    """One method on one table: medians over the runs."""

    method: str
    variation: float
    accuracy: float | None
    seconds: float


def hierarchies(attributes: Attributes) -> list[Taxonomy | OrderedCells]:
    """Return what all attributes but the last may be generalised to: cells to be cut, or trees of halves."""
    return [
        OrderedCells(tuple(range(size + 1)))
        if size > _ORDERED
        else Taxonomy.balanced([f"{name} {value}" for value in range(size)])
        for name, size in zip(attributes.names[:-1], attributes.sizes[:-1], strict=True)
    ]


def _diffgen(loss: Loss, records: Records, steps: int, score: str) -> Codes:
    attributes = records.attributes
    method = DiffGen.calibrated(
        loss,
        attributes=attributes,
        trees=hierarchies(attributes),
        class_attribute=attributes.names[-1],
        specialisations=steps,
        score=score,
    )
    return perform(method, records.rows, stability=1).sample()


def _modelled(loss: Loss, records: Records, kind: Any) -> Codes:
    model = perform(kind.calibrated(loss, attributes=records.attributes), records.rows, stability=1)
    drawn: Codes = model.sample()
    return drawn


def _perturbed(loss: Loss, records: Records) -> Codes:
    rows = len(records.rows)
    return perform(PerturbedRows.calibrated(loss, attributes=records.attributes, rows=rows), records.rows)


#: Every method from a loss and a table to anonymized rows; the last two are there to compare with.
METHODS: Final[Mapping[str, Callable[[Loss, Records], Codes]]] = {
    "diffgen, 4 steps": partial(_diffgen, steps=4, score="largest-class"),
    "diffgen, 10 steps": partial(_diffgen, steps=10, score="largest-class"),
    "diffgen, 10 steps, gain": partial(_diffgen, steps=10, score="gain"),
    "priv-fuzzy": partial(_modelled, kind=PrivFuzzy),
    "perturbed-rows": _perturbed,
    "independent": partial(_modelled, kind=IndependentMarginals),
    "mst": partial(_modelled, kind=MaximumSpanningTree),
}


def measure_tables(records: Records, loss: Loss, *, runs: int = 3) -> Iterator[TableFigures]:
    """Return the figures of every method at one loss: mean total variation of pairs, and accuracy of the class."""
    for name, anonymized in METHODS.items():
        far, learned, took = [], [], []
        for _ in range(runs):
            start = time.perf_counter()
            drawn = anonymized(loss, records)
            took.append(time.perf_counter() - start)
            far.append(variation(drawn, records, order=2))
            accuracy = accuracy_of(drawn, records.rows)
            if accuracy is not None:
                learned.append(accuracy)
        best = statistics.median(learned) if learned else None
        yield TableFigures(name, statistics.median(far), best, statistics.median(took))


@dataclass(frozen=True)
class SetFigures:
    """DiffPart on one collection of baskets: medians over the runs."""

    sets: float
    share: float
    error: float
    seconds: float


def made_up_sets(count: int = 100_000, items: int = 256, sets: int = 200) -> NDArray[np.bool_]:
    """Return baskets that are each one of few sets of three items, some far more frequent than others."""
    numbers = np.random.default_rng(7)
    known = np.zeros((sets, items), dtype=np.bool_)
    for row in known:
        row[numbers.choice(items, 3, replace=False)] = True
    shares = 1 / np.arange(1, sets + 1)
    return known[numbers.choice(sets, size=count, p=shares / shares.sum())]


def item_matrix(name: str, folder: str) -> NDArray[np.bool_]:
    """Return real baskets, a row for each and a column for each item; at most a thousand items, the first ones."""
    found = baskets(name, folder)
    rows = np.repeat(np.arange(len(found)), np.diff(found.offsets))
    matrix = np.zeros((len(found), found.items), dtype=np.bool_)
    matrix[rows, found.values] = True
    return matrix[:, :_MOST_ITEMS]


def measure_sets(matrix: NDArray[np.bool_], loss: Loss, *, runs: int = 3) -> SetFigures:
    """Return how many sets DiffPart releases, the share of baskets that these are, and the error of frequent items."""
    names = [f"item {number}" for number in range(matrix.shape[1])]
    flat = len(names) <= 16
    tree = Taxonomy.flat(names) if flat else Taxonomy.balanced(names, fan_out=_FAN_OUT)
    truth = Counter(row.tobytes() for row in np.packbits(matrix, axis=1))
    support = matrix.sum(axis=0)
    frequent = np.argsort(-support)[:_FREQUENT]
    sets, shares, errors, took = [], [], [], []
    for _ in range(runs):
        start = time.perf_counter()
        found: ItemSets = perform(DiffPart.calibrated(loss, taxonomy=tree), matrix, stability=1)
        took.append(time.perf_counter() - start)
        shown = np.zeros((len(found.sets), len(names)), dtype=np.bool_)
        for place, items in enumerate(found.sets):
            shown[place, list(items)] = True
        counts = np.array(found.counts, dtype=np.float64)
        sets.append(len(found.sets))
        shares.append(sum(truth[row.tobytes()] for row in np.packbits(shown, axis=1)) / max(len(matrix), 1))
        seen = (shown * counts[:, None]).sum(axis=0)
        errors.append(float(np.abs(seen - support)[frequent].sum() / max(support[frequent].sum(), 1)))
    return SetFigures(
        statistics.median(sets), statistics.median(shares), statistics.median(errors), statistics.median(took)
    )


def lines(runs: int = 3) -> Iterator[str]:
    """Return the figures for people."""
    folder = os.environ.get("DITHER_DATA") or None
    for narrow in (False, True):
        name, records = pick(narrow=narrow)
        wide = len(records.attributes.names)
        for epsilon in EPSILONS:
            yield f"{name}: {len(records.rows):,} rows, {wide} columns, epsilon {epsilon}, pure, median of {runs}"
            yield "method | 2-way variation | accuracy | s"
            for one in measure_tables(records, PureDP(epsilon), runs=runs):
                told = "" if one.accuracy is None else f"{one.accuracy:.3f}"
                yield f"{one.method} | {one.variation:.4f} | {told} | {one.seconds:.2f}"
    name, records = pick(narrow=False)
    yield f"{name}, epsilon 1, delta {DELTA}, median of {runs}"
    for one in measure_tables(records, ApproxDP(1, DELTA), runs=runs):
        told = "" if one.accuracy is None else f"{one.accuracy:.3f}"
        yield f"{one.method} | {one.variation:.4f} | {told} | {one.seconds:.2f}"
    collections = {"made up": made_up_sets()}
    for file in ("groceries", "msweb") if folder else ():
        collections[file] = item_matrix(file, folder or "")
    yield "diffpart: baskets | epsilon | sets released | share of baskets that these are | error of frequent items | s"
    for file, matrix in collections.items():
        for epsilon in ("1", "5"):
            found = measure_sets(matrix, PureDP(epsilon), runs=runs)
            size = f"{len(matrix):,} baskets of {matrix.shape[1]} items"
            rest = f"{found.sets:.0f} | {found.share:.3f} | {found.error:.3f} | {found.seconds:.2f}"
            yield f"{file}, {size} | {epsilon} | {rest}"
