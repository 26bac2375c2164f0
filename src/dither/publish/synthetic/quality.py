"""The quality of a synthetic table: figures from the released model alone, and figures against real records.

The first kind is public: it says how well drawn rows follow the model and what the model cost. The second kind looks at
real records without any noise. **It is not private**: whoever is shown such a figure learns something about the records
that no budget accounts for. It exists so that a curator can judge a table before sharing it, on the curator's machine,
and it is marked wherever it appears.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.public_randomness import Generator, public_generator
from dither.lift.attributes import Attributes
from dither.publish.synthetic.models import Model
from dither.publish.synthetic.result import SyntheticTable

Codes = NDArray[np.int64]

#: The most sets of columns that are compared: all of them, or this many drawn at random.
_MOST_SETS: Final = 500
#: Cells up to which a marginal is compared by a table of counts.
_MOST_CELLS: Final = 2**24
#: Rows that are compared with each other one by one.
_MOST_ROWS: Final = 2000
_QUERIES: Final = 500


@dataclass(frozen=True)
class Figure:
    """One number, and its meaning.

    Args:
        name: what was measured.
        value: the number; None where it could not be measured.
        meaning: how to read it.
        is_private: whether it reveals nothing beyond what was paid for. False: it was read off real records.

    """

    name: str
    value: float | None
    meaning: str
    is_private: bool


@dataclass(frozen=True)
class Quality:
    """All figures about one synthetic table, and the data for pictures."""

    figures: tuple[Figure, ...]
    compares_real: bool
    drawn: Codes
    real: Codes | None = field(default=None, repr=False)

    def value(self, name: str) -> float | None:
        """Return one figure."""
        return next(figure.value for figure in self.figures if figure.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "is_private": not self.compares_real,
            "figures": [
                {"name": one.name, "value": one.value, "meaning": one.meaning, "is_private": one.is_private}
                for one in self.figures
            ],
        }


def quality_of(table: SyntheticTable, rows: int | None = None) -> Quality:
    """Return figures from the release alone: post-processing, which costs nothing."""
    drawn, attributes = table.codes(rows), table.model.attributes
    figures = [
        Figure("rows", float(len(drawn)), "drawn rows", True),
        Figure("estimated rows", float(table.estimated_rows), "how many rows the model says there are", True),
    ]
    for order in (1, 2):
        if len(attributes.sizes) >= order and len(drawn):
            far = []
            for axes in _sets(attributes, order, public_generator()):
                law = table.model.table(axes).ravel()
                far.append(_variation(_law(drawn, attributes, axes), law / max(law.sum(), 1e-300)))
            meaning = f"mean total variation between drawn rows and the model, over sets of {_said(order)}"
            figures.append(Figure(f"drawn against model, {order}-way", _mean(far), meaning, True))
    return Quality(tuple(figures), False, drawn)


def compare_with_real(
    table: SyntheticTable,
    real: Codes,
    *,
    target: str | None = None,
    refit: Callable[[Codes], Model] | None = None,
) -> Quality:
    """Return all figures, including those against real records. NOT PRIVATE: for the curator's eyes only.

    Args:
        table: what was released.
        real: real records as codes, in the order of the codings of the table.
        target: the column that a classifier is trained to predict; None for the last with few values.
        refit: makes a model of other records in the same way. With it classifiers are tested, and guessing who was in
            the table is tried, on a model of half of the real records, against the other half, which it has not seen.

    """
    public = quality_of(table)
    attributes, drawn, generator = table.model.attributes, public.drawn, public_generator()
    figures = list(public.figures)

    def add(name: str, value: float | None, meaning: str) -> None:
        figures.append(Figure(name, value, meaning, False))

    if len(real) and len(drawn):
        for order in (1, 2, 3):
            if len(attributes.sizes) >= order:
                sets = _sets(attributes, order, generator)
                far = [_variation(_law(real, attributes, axes), _law(drawn, attributes, axes)) for axes in sets]
                add(f"total variation, {order}-way", _mean(far), f"mean over sets of {_said(order)}; 0 is perfect")
        add("largest difference of correlations", _correlations(real, drawn), "between columns, as ordered codes")
        add("workload error", _workload(real, drawn, attributes, generator), "mean error of random queries, in shares")
        shuffled = generator.permutation(len(real))
        half = Half(real[shuffled[: len(real) // 2]], real[shuffled[len(real) // 2 :]], drawn, is_unseen=False)
        if refit is not None and len(real) >= 2:
            again = refit(half.inside).draw(len(half.inside), generator)
            half = Half(half.inside, half.outside, again, is_unseen=True)
        found = [*_learning(half, attributes, target), *_closeness(real, drawn, generator)]
        if half.is_unseen:
            found.append(_guessing(half, generator))
        for name, value, meaning in found:
            add(name, value, meaning)
    return Quality(tuple(figures), True, drawn, real)


@dataclass(frozen=True)
class Half:
    """Real records in two halves, and synthetic ones.

    Args:
        inside: half of the real records.
        outside: the other half.
        drawn: synthetic records.
        is_unseen: whether the synthetic records come from a model of ``inside`` alone.

    """

    inside: Codes
    outside: Codes
    drawn: Codes
    is_unseen: bool


def _said(order: int) -> str:
    return "one column" if order == 1 else f"{order} columns"


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _sets(attributes: Attributes, order: int, generator: Generator) -> list[tuple[int, ...]]:
    width = len(attributes.sizes)
    if math.comb(width, order) <= _MOST_SETS:
        found = list(itertools.combinations(range(width), order))
    else:
        drawn = {tuple(sorted(generator.choice(width, order, replace=False).tolist())) for _ in range(_MOST_SETS)}
        found = sorted(drawn)
    return [axes for axes in found if attributes.cells_of(axes) <= _MOST_CELLS]


def _law(codes: Codes, attributes: Attributes, axes: tuple[int, ...]) -> NDArray[np.float64]:
    counts = attributes.count(np.ascontiguousarray(codes.T), axes).ravel()
    return counts / max(len(codes), 1)


def _variation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.abs(one - other).sum() / 2)


def correlation_matrix(codes: Codes) -> NDArray[np.float64]:
    """Return the correlations between columns as ordered codes; 0 where a column is constant."""
    centred = codes - codes.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
    found: NDArray[np.float64] = scaled.T @ scaled
    return found


def _correlations(real: Codes, drawn: Codes) -> float:
    return float(np.abs(correlation_matrix(real) - correlation_matrix(drawn)).max())


def _workload(real: Codes, drawn: Codes, attributes: Attributes, generator: Generator) -> float:
    """Return the mean absolute difference in the share of rows that random conditions on three columns select."""
    width, errors = len(attributes.sizes), []
    for _ in range(_QUERIES):
        shares = np.ones(len(real), dtype=bool), np.ones(len(drawn), dtype=bool)
        for axis in generator.choice(width, min(3, width), replace=False).tolist():
            wanted = generator.random(attributes.sizes[axis]) < 0.5
            shares = shares[0] & wanted[real[:, axis]], shares[1] & wanted[drawn[:, axis]]
        errors.append(abs(float(shares[0].mean()) - float(shares[1].mean())))
    return float(np.mean(errors))


def _learning(half: Half, attributes: Attributes, target: str | None) -> list[tuple[str, float | None, str]]:
    """Return how well classifiers do on one half of real rows, trained on synthetic rows and on the other half."""
    few = [axis for axis, size in enumerate(attributes.sizes) if 2 <= size <= 20]
    label = attributes.axes([target])[0] if target is not None else (few[-1] if few else None)
    name = "train on synthetic, test on real"
    if label is None or len(attributes.sizes) < 2:
        return [(name, None, "not measured: no column of few values to predict")]
    try:
        trees: Any = importlib.import_module("sklearn.ensemble")
        # One thread: on few rows most of the work of several is waiting for each other.
        limits: Any = importlib.import_module("threadpoolctl").threadpool_limits
    except ImportError:
        return [(name, None, "not measured: it needs scikit-learn, pip install 'dither[ml]'")]
    features = [axis for axis in range(len(attributes.sizes)) if axis != label]
    test, found = half.outside, []
    seen = "that no model was made of" if half.is_unseen else "that the table was made of: too good"
    for said, rows, of in ((name, half.drawn, seen), ("train on real, test on real", half.inside, "of the other half")):
        value: float | None = None
        if len(test) and len(np.unique(rows[:, label])) > 1:
            with limits(1):
                model = trees.HistGradientBoostingClassifier(max_iter=50).fit(rows[:, features], rows[:, label])
                value = float((model.predict(test[:, features]) == test[:, label]).mean())
        found.append((said, value, f"accuracy of predicting {attributes.names[label]} in rows {of}"))
    common = float(np.bincount(test[:, label]).max() / len(test)) if len(test) else None
    found.append(("most common value", common, f"accuracy of always saying the same {attributes.names[label]}"))
    return found


def _closeness(real: Codes, drawn: Codes, generator: Generator) -> list[tuple[str, float | None, str]]:
    """Return how close synthetic rows come to real ones."""
    shown, some = _some(drawn, generator), _some(real, generator)
    near = _nearest(shown, some)
    return [
        ("median distance to the closest real row", float(np.median(near)), "columns in which a drawn row differs"),
        ("share of drawn rows that equal a real row", float((near == 0).mean()), "frequent rows recur by chance"),
    ]


def _guessing(half: Half, generator: Generator) -> tuple[str, float | None, str]:
    """Return the advantage of guessing membership by the distance to the closest synthetic row."""
    inside, outside, drawn = half.inside, half.outside, _some(half.drawn, generator)
    members, others = _nearest(_some(inside, generator), drawn), _nearest(_some(outside, generator), drawn)
    advantage = max(float((members <= cut).mean() - (others <= cut).mean()) for cut in range(inside.shape[1] + 1))
    chance = 1 / math.sqrt(len(members))
    meaning = (
        "separating rows that a model was made of from rows that it was not, by their distance to synthetic rows: "
        f"hits less false alarms, the best cut, {len(members)} rows a side; chance alone gives about {chance:.2f}"
    )
    return "advantage of guessing membership", advantage, meaning


def _some(rows: Codes, generator: Generator) -> Codes:
    return rows[generator.permutation(len(rows))[:_MOST_ROWS]]


def _nearest(rows: Codes, others: Codes) -> NDArray[np.int64]:
    """Return, for each row, in how many columns the closest of the others differs."""
    best = np.full(len(rows), rows.shape[1], dtype=np.int64)
    for start in range(0, len(others), 64):
        block = others[start : start + 64]
        best = np.minimum(best, (rows[:, None, :] != block[None, :, :]).sum(axis=2).min(axis=1))
    return best
