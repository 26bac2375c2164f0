"""Private models beside scikit-learn without privacy, and beside diffprivlib where it is installed.

Accuracy on rows held out, the median over random divisions (four fifths to learn from), at several epsilons with the
largest delta of three digits below n^-1.5. Adult has its own test rows; its file is looked for in the folder
``DITHER_DATA``, ``tables/adult_train.csv.gz`` and ``tables/adult_test.csv.gz``, and left out where there is none. What
is public is written down here: round numbers around what the columns can be, never the data's own extremes.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.bench.environments import ask_rival, environment

Floats = NDArray[np.float64]
EPSILONS: Final = ("0.1", "1", "10")
SPLITS: Final = 50
_ADULT_RUNS: Final = 5

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
    """Rows to learn from, what is public about them, and how to divide them.

    Args:
        name: of the data set.
        values: rows of columns.
        labels: whole numbers from 0.
        lower: public bounds.
        upper: public bounds.
        held_out: rows and labels for testing; None where the rows are divided at random.

    """

    name: str
    values: Floats
    labels: NDArray[np.int64]
    lower: Floats
    upper: Floats
    held_out: tuple[Floats, NDArray[np.int64]] | None = None

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.labels.max()) + 1

    @property
    def learned_from(self) -> int:
        """How many rows are learned from."""
        return len(self.labels) if self.held_out else len(self.labels) * 4 // 5

    @property
    def delta(self) -> str:
        """The largest number of three digits below n^-1.5."""
        limit = self.learned_from**-1.5
        digits = 10.0 ** (math.floor(math.log10(limit)) - 2)
        return f"{math.floor(limit / digits) * digits:.2e}"

    def divisions(self, count: int) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Return rows and labels to learn from and to test on, so many times."""
        if self.held_out is not None:
            for _ in range(count):
                yield self.values, self.labels, *self.held_out
            return
        generator = np.random.default_rng()
        for _ in range(count):
            order = generator.permutation(len(self.labels))
            train, test = order[: self.learned_from], order[self.learned_from :]
            yield self.values[train], self.labels[train], self.values[test], self.labels[test]


@dataclass(frozen=True)
class LearningFigures:
    """Accuracy of one model on one data set, at each epsilon, and how long a fit takes."""

    task: str
    model: str
    ours: tuple[float, ...]
    goals: tuple[float, ...]
    without_privacy: float
    seconds: float
    seconds_without: float
    rival: tuple[float, ...] | None
    delta: str


#: What must be reached, by data set and model.
GOALS: Final = {
    ("adult", "logistic"): (0.800, 0.842, 0.851),
    ("breast cancer", "logistic"): (0.80, 0.94, 0.95),
    ("digits", "logistic"): (0.20, 0.88, 0.93),
    ("breast cancer", "naive Bayes"): (0.70, 0.90, 0.93),
    ("digits", "naive Bayes"): (0.20, 0.85, 0.88),
}


def tasks() -> list[Task]:
    """Return the data sets that are at hand."""
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
        (values, labels), held_out = _adult(train), _adult(test)
        low, high = zip(*_ADULT_NUMBERS.values(), strict=True)
        rest = values.shape[1] - len(low)
        lower, upper = np.array([*low, *[0] * rest], float), np.array([*high, *[1] * rest], float)
        found.insert(0, Task("adult", values, labels, lower, upper, held_out))
    return found


def measure_learning(
    rivals: Path | None = None, *, given: Sequence[Task] | None = None, splits: int = SPLITS
) -> list[LearningFigures]:
    """Return the figures of every model on every data set at hand, with diffprivlib's where ``rivals`` is a folder."""
    found, places = [], {task.name: task for task in (tasks() if given is None else given)}
    for (name, model), goals in GOALS.items():
        if name in places:
            found.append(_measured(places[name], model, goals, splits, rivals))
    return found


def _measured(task: Task, model: str, goals: tuple[float, ...], splits: int, rivals: Path | None) -> LearningFigures:
    runs = min(splits, _ADULT_RUNS) if task.held_out else splits
    accuracies: list[float] = []
    seconds = math.inf
    for epsilon in EPSILONS:
        scores = []
        for train, labels, test, truth in task.divisions(runs):
            took, fitted = _timed(lambda: _ours(model, task, epsilon).fit(train, labels))  # noqa: B023 - called at once
            seconds = min(seconds, took)
            scores.append(float((fitted.predict(test) == truth).mean()))
        accuracies.append(statistics.median(scores))
    plain, without = [], math.inf
    for train, labels, test, truth in task.divisions(1 if task.held_out else min(runs, 10)):
        took, fitted = _timed(lambda: _without_privacy(model, task).fit(train, labels))  # noqa: B023
        without = min(without, took)
        plain.append(float((fitted.predict(test) == truth).mean()))
    theirs = None if rivals is None else _theirs(rivals, model, task, runs)
    best = statistics.median(plain)
    return LearningFigures(task.name, model, tuple(accuracies), goals, best, seconds, without, theirs, task.delta)


def _ours(model: str, task: Task, epsilon: str) -> Any:
    learn: Any = importlib.import_module("dither.learn")
    kind = learn.LogisticRegression if model == "logistic" else learn.GaussianNB
    bounds = np.column_stack([task.lower, task.upper])
    return kind(epsilon=epsilon, delta=task.delta, bounds=bounds, classes=list(range(task.classes)))


def _without_privacy(model: str, task: Task) -> Any:
    """Return scikit-learn's model, on columns scaled as usual."""
    pipeline: Any = importlib.import_module("sklearn.pipeline")
    if model != "logistic":
        return importlib.import_module("sklearn.naive_bayes").GaussianNB()
    scaler = importlib.import_module("sklearn.preprocessing").StandardScaler()
    return pipeline.make_pipeline(
        scaler, importlib.import_module("sklearn.linear_model").LogisticRegression(max_iter=1000)
    )


def _theirs(folder: Path, model: str, task: Task, runs: int) -> tuple[float, ...] | None:
    """Return the accuracies of diffprivlib on columns scaled to [-1, 1] by the same bounds; None where it is absent."""
    python = environment(
        folder / "diffprivlib", modules="diffprivlib", packages=["diffprivlib==0.6.6", "scikit-learn<1.6"]
    )
    if python is None:
        return None

    def scaled(values: Floats) -> Floats:
        inside = np.clip(values, task.lower, task.upper)
        return (inside - task.lower) / (task.upper - task.lower) * 2 - 1

    with tempfile.TemporaryDirectory() as scratch:
        for number, (train, labels, test, truth) in enumerate(task.divisions(min(runs, 10))):
            np.savez(
                Path(scratch) / f"{number}.npz", train=scaled(train), labels=labels, test=scaled(test), truth=truth
            )
        found = ask_rival(python, "diffprivlib_learning.py", scratch, model, ",".join(EPSILONS))
    return tuple(float(accuracy) for accuracy in found["accuracies"])


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def _cell_bounds(name: str) -> tuple[float, float]:
    """Return the bounds of a column by its name: "mean radius", "radius error", "worst radius"."""
    kind = 0 if name.startswith("mean ") else 1 if name.endswith(" error") else 2
    return _CELLS[name.removeprefix("mean ").removeprefix("worst ").removesuffix(" error")][kind]


def _adult(path: Path) -> tuple[Floats, NDArray[np.int64]]:
    """Return numbers, a column of zeros and ones for each declared category, and whether income is above 50K."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    pieces = [np.array([[float(row[name]) for name in _ADULT_NUMBERS] for row in rows])]
    for column, text in _ADULT_CATEGORIES.items():
        words = np.array(text.split())
        pieces.append((np.array([row[column].strip() for row in rows])[:, None] == words).astype(np.float64))
    return np.hstack(pieces), np.array([">50K" in row["income"] for row in rows], dtype=np.int64)


def public_facts(given: Sequence[Task] | None = None) -> list[str]:
    """Return the public bounds that are used, a line for each data set."""
    found = []
    for task in tasks() if given is None else given:
        pairs = [f"[{low:g}, {high:g}]" for low, high in zip(task.lower, task.upper, strict=True)]
        shown = sorted(set(pairs), key=pairs.index)
        found.append(f"{task.name}: {len(pairs)} columns within {', '.join(shown)}")
    return found


def lines(rivals: Path | None = None, *, splits: int = SPLITS) -> list[str]:
    """Return the figures for people, one model a line."""
    found = [*public_facts(), "data, model | delta | accuracy at epsilon 0.1 / 1 / 10 | goal | without privacy | "
             "diffprivlib | fit, seconds | over scikit-learn"]  # fmt: skip
    for one in measure_learning(rivals, splits=splits):
        theirs = "absent" if one.rival is None else _shown(one.rival)
        ratio = f"{one.seconds / max(one.seconds_without, 1e-9):.1f}"
        found.append(
            f"{one.task}, {one.model} | {one.delta} | {_shown(one.ours)} | {_shown(one.goals)} | "
            f"{one.without_privacy:.3f} | {theirs} | {one.seconds:.3f} | {ratio}"
        )
    return found


def _shown(accuracies: Sequence[float]) -> str:
    return " / ".join(f"{accuracy:.3f}" for accuracy in accuracies)
