"""Ten thousand counting questions about one table, at one price: how far answers err, and how long each takes.

Adult (age, marital status, sex, country, income: 99,960 cells) from the folder in ``DITHER_DATA``, else a made-up table
as wide. Questions are conjunctions of random sets of values of one to three columns, once with ranges of ages in place
of sets of them. Baselines at the same loss: the
loss divided among all questions, multiplicative weights without a model, MWEM on pairs, and a noisy table of all cells.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither import Budget
from dither.bench.compared.data import tables
from dither.lift.attributes import Attributes
from dither.mechanisms import converse, perform
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, PureDP
from dither.publish.interactive import IterativeConstruction, ModelFirst
from dither.publish.synthetic import Mwem

#: Mean error and 95 % quantile in counts, and milliseconds an answer.
GOALS: Final = (50.0, 165.0, 2.0)
_COLUMNS: Final = (0, 4, 8, 12, 13)
_LEVEL: Final = "0.95"
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class TalkFigures:
    """One method: error in counts, milliseconds an answer, and how many intervals held; None where there are none."""

    method: str
    mean: float
    quantile: float
    milliseconds: float
    covered: float | None = None


def table() -> tuple[str, Attributes, Counts]:
    """Return the counts of five columns of people, and the name of the table."""
    found = tables()
    name = next(name for name in ("adult", "people") if name in found)
    records = found[name]
    names = tuple(records.attributes.names[place] for place in _COLUMNS)
    attributes = Attributes(names, tuple(records.attributes.sizes[place] for place in _COLUMNS))
    codes = attributes.codes(np.ascontiguousarray(records.rows[:, _COLUMNS]))
    return name, attributes, attributes.count(codes, tuple(range(len(names))))


def questions(attributes: Attributes, count: int, *, ranges: bool = False) -> Iterator[Mask]:
    """Yield conjunctions of random sets of values of one to three columns; with ``ranges``, of ranges of the first."""
    generator = np.random.default_rng()
    for _ in range(count):
        chosen = generator.choice(len(attributes.sizes), generator.integers(1, 4), replace=False)
        mask = np.ones(attributes.sizes, dtype=np.bool_)
        for axis in chosen:
            shape = [1] * len(attributes.sizes)
            shape[axis] = attributes.sizes[axis]
            size = attributes.sizes[axis]
            chosen_values = generator.random(size) < 0.5
            if ranges and axis == 0:
                first, last = np.sort(generator.integers(0, size, 2))
                chosen_values = (np.arange(size) >= first) & (np.arange(size) <= last)
            mask &= chosen_values.reshape(shape)
        yield mask


def measure(epsilon: int = 1, count: int = 10_000) -> Iterator[TalkFigures]:
    """Yield the figures of each method."""
    loss = PureDP(epsilon)
    _, attributes, counts = table()

    def talked(name: str, method: Any, *, ranges: bool = False) -> TalkFigures:
        talk = converse(method, counts, budget=Budget(epsilon=epsilon, unit=ROW), stability=1)
        errors, covered, known, took = [], 0, 0, 0.0
        for mask in questions(attributes, count, ranges=ranges):
            start = time.process_time()
            answer = talk.ask(mask)
            interval = method.interval(answer, _LEVEL)
            took += time.process_time() - start
            truth = int(counts[mask].sum())
            errors.append(abs(answer.value - truth))
            if interval is not None:
                known += 1
                covered += interval.low <= truth <= interval.high
        return _figures(name, errors, took, covered / known if known else None)

    def published(name: str, noisy: NDArray[Any]) -> TalkFigures:
        errors, took = [], 0.0
        for mask in questions(attributes, count):
            start = time.process_time()
            value = float(np.sum(noisy, where=mask))
            took += time.process_time() - start
            errors.append(abs(value - int(counts[mask].sum())))
        return _figures(name, errors, took, None)

    first = ModelFirst.calibrated(loss, attributes=attributes, questions=count)
    yield talked("model first", first)
    yield talked(f"model first, ranges of {attributes.names[0]}", first, ranges=True)
    each = Geometric(scale=count, shape=(count,))
    split = np.abs(np.asarray(perform(each, np.zeros(count, dtype=np.int64), stability=1)))
    yield _figures("loss divided among all questions", list(split), 0.0, None)
    cold = IterativeConstruction.calibrated(loss, attributes=attributes, questions=count, corrections=80)
    yield talked("multiplicative weights", cold)
    # One row for each record, as MWEM reads them.
    rows = np.repeat(np.argwhere(counts), counts[counts > 0], axis=0)
    mwem = perform(Mwem.calibrated(loss, attributes=attributes), rows, stability=1)
    yield published("MWEM on pairs", mwem.law * mwem.total)
    scale = Geometric.calibrated(loss, sensitivity=1, shape=attributes.sizes)
    yield published("noisy table", np.asarray(perform(scale, counts, stability=1)))


def _figures(name: str, errors: list[Any], seconds: float, covered: float | None) -> TalkFigures:
    far = np.asarray(errors, dtype=np.float64)
    return TalkFigures(name, float(far.mean()), float(np.quantile(far, 0.95)), 1000 * seconds / len(far), covered)


def lines(count: int = 10_000) -> Iterator[str]:
    """Yield the figures for people, one method a line."""
    name, attributes, counts = table()
    mean, quantile, milliseconds = GOALS
    yield f"{name}: {attributes.cells:,} cells, {int(counts.sum()):,} rows, epsilon 1, {count:,} questions"
    goals = f"mean error, goal {mean:.0f} | 95 % quantile, goal {quantile:.0f} | ms, goal {milliseconds:.0f}"
    yield f"method | {goals} | intervals that held"
    for row in measure(count=count):
        held = "no intervals" if row.covered is None else f"{row.covered:.1%}"
        yield f"{row.method} | {row.mean:.1f} | {row.quantile:.1f} | {row.milliseconds:.2f} | {held}"
