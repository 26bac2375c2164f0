"""Frequent itemsets: which of the k best sets each method finds, the error of its supports, and its time.

Real baskets from the folder in ``DITHER_DATA`` where that is set (retail, mushroom, BMS-WebView-1 and T10I4D100K), else
made-up ones. Figures here are against the true sets without noise: a benchmark on public data, never a release.
"""

from __future__ import annotations

import gzip
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from dither.errors import InvalidParameter
from dither.learn.itemsets import (
    BestFirstItemsets,
    BinaryEstimation,
    Itemsets,
    Miner,
    PatternSampling,
    PrivateTree,
    PrivBasis,
    Transactions,
    TruncatedApriori,
    TruncatedFrequency,
    f1_score,
    relative_support_error,
)
from dither.learn.itemsets.common import ItemsetMethod
from dither.learn.itemsets.pattern_sampling import MOST_PATTERNS
from dither.learn.itemsets.universe import Universe
from dither.mechanisms import perform
from dither.privacy import ApproxDP, Loss, PureDP

EPSILONS: Final = ("0.1", "0.5", "1")
SIZES: Final = (50, 100)
DELTA: Final = "1e-8"
#: How long mining the largest set of baskets may take, in seconds.
GOAL: Final = 30.0
_FILES: Final = ("retail", "mushroom", "bms_webview1")
_LARGEST: Final = "t10i4d100k"
_LONGEST_TRUE: Final = 8

Build = Callable[[Loss, int, int, int], ItemsetMethod | None]


def _shortest_universe(items: int) -> int | None:
    """Return the longest length, up to 3, at which all sets can be listed."""
    fitting = [length for length in (1, 2, 3) if Universe(items, length).size <= MOST_PATTERNS]
    return max(fitting, default=None)


def _listed(loss: Loss, items: int, chosen: int, threshold: int) -> ItemsetMethod | None:
    longest = _shortest_universe(items)
    return None if longest is None else PatternSampling.calibrated(loss, items=items, chosen=chosen, longest=longest)


#: Methods by name: from a loss, the number of items, how many sets are wanted and the support of the last of them. That
#: support is used only where a threshold must be declared, as if it were public, which flatters those methods.
METHODS: Final[Mapping[str, Build]] = {
    "best-first-itemsets": lambda loss, items, k, _: BestFirstItemsets.calibrated(
        loss, items=items, chosen=k, longest=_LONGEST_TRUE
    ),
    "priv-basis": lambda loss, items, k, _: PrivBasis.calibrated(loss, items=items, chosen=k, longest=_LONGEST_TRUE),
    "binary-estimation": lambda loss, items, k, threshold: BinaryEstimation.calibrated(
        loss, items=items, chosen=k, longest=4, threshold=threshold
    ),
    "truncated-apriori": lambda loss, items, k, _: TruncatedApriori.calibrated(loss, items=items, chosen=k),
    "truncated-frequency": lambda loss, items, k, _: TruncatedFrequency.calibrated(loss, items=items, chosen=k),
    "private-fp-tree (choice)": lambda loss, items, k, _: PrivateTree.calibrated(loss, items=items, chosen=k),
    "private-fp-tree (sparse vector)": lambda loss, items, k, threshold: PrivateTree.calibrated(
        loss, items=items, chosen=k, threshold=threshold
    ),
    "pattern-sampling": _listed,
}


@dataclass(frozen=True)
class ItemsetFigures:
    """One method on one set of baskets: medians over the runs."""

    method: str
    f1: float
    support_error: float
    seconds: float


def baskets(name: str, folder: str | None = None) -> Transactions:
    """Return baskets of the folder, with their items numbered in the order of their names; without one, made-up ones.

    The items of a real collection are those that occur: taken as public here, because the data is.
    """
    if folder is None:
        return made_up()
    path = Path(folder) / "itemsets" / f"{name}.dat.gz"
    if not path.is_file():
        raise InvalidParameter("DITHER_DATA", folder, f"a folder with itemsets/{name}.dat.gz")
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [line.split() for line in stream]
    numbers = {item: number for number, item in enumerate(sorted({item for row in rows for item in row}))}
    return Transactions.of(len(numbers), [[numbers[item] for item in row] for row in rows])


def made_up(count: int = 20_000, items: int = 300) -> Transactions:
    """Return baskets whose items fall off in frequency, some of them bought together."""
    numbers = np.random.default_rng(7)
    shares = 1 / (np.arange(items) + 3.0)
    lengths = 1 + numbers.poisson(5, count)
    drawn = numbers.choice(items, size=int(lengths.sum()), p=shares / shares.sum())
    rows = [piece.tolist() for piece in np.split(drawn, np.cumsum(lengths)[:-1])]
    for row in rows:
        row += [item + 1 for item in row if item % 10 == 0]
    return Transactions.of(items, rows)


def measure(
    data: Transactions, methods: Sequence[str], loss: Loss, *, chosen: int, runs: int = 3
) -> Iterator[ItemsetFigures]:
    """Return the figures of each method at one loss; a method whose candidates cannot be listed is left out."""
    miner = Miner(data)
    best = miner.top(chosen, _LONGEST_TRUE)
    true, threshold = [itemset for itemset, _ in best], max(best[-1][1], 1) if best else 1
    for name in methods:
        method = METHODS[name](loss, data.items, chosen, threshold)
        if method is None:
            continue
        scores, errors, took = [], [], []
        for _ in range(runs):
            start = time.perf_counter()
            found: Itemsets = perform(method, data)
            took.append(time.perf_counter() - start)
            scores.append(f1_score(found.sets, true))
            known = dict(zip(found.sets, miner.supports(found.sets).tolist(), strict=True))
            errors.append(relative_support_error(found, known))
        yield ItemsetFigures(name, statistics.median(scores), statistics.median(errors), statistics.median(took))


def lines(runs: int = 3) -> Iterator[str]:
    """Return the figures for people."""
    folder = os.environ.get("DITHER_DATA") or None
    for name in _FILES if folder else ("made up",):
        data = baskets(name, folder)
        for chosen in SIZES:
            yield f"{name}: {len(data):,} baskets, {data.items:,} items, {chosen} best sets, median of {runs}"
            yield f"method | F1 at epsilon {', '.join(EPSILONS)}, delta {DELTA} | pure | support error at 1 | s"
            yield from _rows(data, chosen, runs)
    name = _LARGEST if folder else "made up"
    data = baskets(name, folder)
    yield f"largest: {name}, {len(data):,} baskets, {data.values.size:,} entries, 100 best sets, epsilon 1"
    for one in measure(data, ("best-first-itemsets",), ApproxDP(1, DELTA), chosen=100, runs=1):
        yield f"{one.method} | F1 {one.f1:.2f} | {one.seconds:.1f} s, goal {GOAL:.0f}"


def _rows(data: Transactions, chosen: int, runs: int) -> Iterator[str]:
    for method in METHODS:
        losses: list[list[Loss]] = [
            [ApproxDP(epsilon, DELTA) for epsilon in EPSILONS],
            [PureDP(epsilon) for epsilon in EPSILONS],
        ]
        found = [
            [figure for loss in kind for figure in measure(data, (method,), loss, chosen=chosen, runs=runs)]
            for kind in losses
        ]
        if found[0]:
            approx, pure = (" ".join(f"{one.f1:.2f}" for one in kind) for kind in found)
            last = found[0][-1]
            yield f"{method} | {approx} | {pure} | {last.support_error:.3f} | {last.seconds:.2f}"
