"""Data sets for learning, and their public facts.

Two come with scikit-learn. Adult has its own test rows; its files are looked for in the folder ``DITHER_DATA``,
``tables/adult_train.csv.gz`` and ``tables/adult_test.csv.gz``, and left out where there are none. What is public is
written down here: round numbers around what the columns can be, never the data's own extremes.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Bounds of the ten measures of cell nuclei: their means, standard errors and worst values.
_CELLS: Final = {
    "radius": ((5, 30), (0, 3), (5, 40)),
    "texture": ((5, 45), (0, 5), (10, 50)),
    "perimeter": ((40, 200), (0, 20), (50, 250)),
    "area": ((100, 2500), (0, 500), (100, 4000)),
    "smoothness": ((0.05, 0.2), (0, 0.03), (0.05, 0.25)),
    "compactness": ((0, 0.4), (0, 0.15), (0, 1)),
    "concavity": ((0, 0.5), (0, 0.3), (0, 1.2)),
    "concave points": ((0, 0.25), (0, 0.05), (0, 0.3)),
    "symmetry": ((0.1, 0.4), (0, 0.1), (0.1, 0.7)),
    "fractal dimension": ((0.04, 0.1), (0, 0.03), (0.05, 0.2)),
}
_ADULT_NUMBERS: Final = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 20_000),
    "capital-loss": (0, 3_000),
    "hours-per-week": (0, 80),
}
#: The categories that the description of the data set lists; "?" is unknown.
_ADULT_CATEGORIES: Final = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked ?",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters "
    "1st-4th 10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces ?",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India "
    "Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland "
    "France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
    "Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands ?",
}


@dataclass(frozen=True)
class Task:
    """Rows to learn from, their public facts, and how to divide them.

    Args:
        name: of the data set.
        values: rows of columns.
        labels: integers from 0.
        lower: public bounds.
        upper: public bounds.
        held_out: rows and labels for testing; None where the rows are divided at random.
        categorical: the places of columns of codes.

    """

    name: str
    values: Floats
    labels: NDArray[np.int64]
    lower: Floats
    upper: Floats
    held_out: tuple[Floats, NDArray[np.int64]] | None = None
    categorical: tuple[int, ...] = ()

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max()) + 1

    @property
    def learned_from(self) -> int:
        """The number of rows that are learned from."""
        return len(self.labels) if self.held_out else len(self.labels) * 4 // 5

    @property
    def delta(self) -> str:
        """The largest number of three digits below n^-1.5."""
        limit = self.learned_from**-1.5
        digits = 10.0 ** (math.floor(math.log10(limit)) - 2)
        return f"{math.floor(limit / digits) * digits:.2e}"

    def divisions(self, count: int) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Return rows and labels to learn from and to test on, ``count`` times."""
        if self.held_out is not None:
            for _ in range(count):
                yield self.values, self.labels, *self.held_out
            return
        generator = np.random.default_rng()
        for _ in range(count):
            order = generator.permutation(len(self.labels))
            train, test = order[: self.learned_from], order[self.learned_from :]
            yield self.values[train], self.labels[train], self.values[test], self.labels[test]


def tasks() -> list[Task]:
    """Return the available data sets."""
    sets: Any = importlib.import_module("sklearn.datasets")
    cells, digits = sets.load_breast_cancer(), sets.load_digits()
    bounds = np.array([_cell_bounds(str(name)) for name in cells.feature_names], dtype=np.float64)
    found = [
        Task("breast cancer", cells.data, cells.target, bounds[:, 0], bounds[:, 1]),
        Task("digits", digits.data, digits.target, np.zeros(64), np.full(64, 16.0)),
    ]
    folder = Path(os.environ.get("DITHER_DATA", "")) / "tables"
    train, test = folder / "adult_train.csv.gz", folder / "adult_test.csv.gz"
    if "DITHER_DATA" in os.environ and train.exists() and test.exists():
        found = [*_adult(train, test), *found]
    return found


def _cell_bounds(name: str) -> tuple[float, float]:
    """Return the bounds of a column by its name: "mean radius", "radius error", "worst radius"."""
    kind = 0 if name.startswith("mean ") else 1 if name.endswith(" error") else 2
    return _CELLS[name.removeprefix("mean ").removeprefix("worst ").removesuffix(" error")][kind]


def _adult(train: Path, test: Path) -> list[Task]:
    """Return whether income is above 50K, by numbers and codes, and by numbers with a 0 or 1 for each category."""
    (values, labels), held_out = _adult_rows(train), _adult_rows(test)
    numbers = len(_ADULT_NUMBERS)
    sizes = [len(text.split()) for text in _ADULT_CATEGORIES.values()]
    low, high = (np.array(side, dtype=np.float64) for side in zip(*_ADULT_NUMBERS.values(), strict=True))
    codes = Task(
        "adult, codes",
        values,
        labels,
        np.append(low, np.zeros(len(sizes))),
        np.append(high, np.array(sizes) - 1.0),
        held_out,
        categorical=tuple(range(numbers, numbers + len(sizes))),
    )
    spread = sum(sizes)
    return [
        Task(
            "adult",
            _spread_out(values, sizes),
            labels,
            np.append(low, np.zeros(spread)),
            np.append(high, np.ones(spread)),
            (_spread_out(held_out[0], sizes), held_out[1]),
        ),
        codes,
    ]


def _adult_rows(path: Path) -> tuple[Floats, NDArray[np.int64]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = [np.array([float(row[name]) for row in rows]) for name in _ADULT_NUMBERS]
    for column, text in _ADULT_CATEGORIES.items():
        code = {word: float(number) for number, word in enumerate(text.split())}
        columns.append(np.array([code[row[column].strip()] for row in rows]))
    return np.column_stack(columns), np.array([">50K" in row["income"] for row in rows], dtype=np.int64)


def _spread_out(values: Floats, sizes: Sequence[int]) -> Floats:
    """Return rows with a column of zeros and ones for each category in the place of codes, which come last."""
    numbers = values.shape[1] - len(sizes)
    pieces = [values[:, :numbers]]
    for place, size in enumerate(sizes, numbers):
        pieces.append((values[:, place, None] == np.arange(size)).astype(np.float64))
    return np.hstack(pieces)


def public_facts(given: Sequence[Task] | None = None) -> list[str]:
    """Return the public bounds in use, a line for each data set."""
    found = []
    for task in tasks() if given is None else given:
        pairs = [f"[{low:g}, {high:g}]" for low, high in zip(task.lower, task.upper, strict=True)]
        shown = sorted(set(pairs), key=pairs.index)
        found.append(f"{task.name}: {len(pairs)} columns within {', '.join(shown)}")
    return found
