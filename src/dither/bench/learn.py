"""Private models beside scikit-learn without privacy, and beside a rival if one is available.

What is scored on rows held out is accuracy, the median over random divisions (four fifths to learn from), at several
epsilons with the largest delta of three digits below n^-1.5. Clusters have no rows held out: they are found in all
rows, and their score is the adjusted Rand index against the classes, beside that of centres drawn without any data.
"""

from __future__ import annotations

import importlib
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dither.bench.learning_data import Floats, Task, tasks

EPSILONS: Final = ("0.1", "1", "10")
SPLITS: Final = 50
_ADULT_RUNS: Final = 5
_BLIND_RUNS: Final = 200
#: A rival is slower, and learns from fewer divisions.
RIVAL_RUNS: Final = 10

#: What must be reached at each epsilon, by data set and model.
GOALS: Final = {
    ("adult", "logistic"): (0.800, 0.842, 0.851),
    ("breast cancer", "logistic"): (0.80, 0.94, 0.95),
    ("digits", "logistic"): (0.20, 0.88, 0.93),
    ("breast cancer", "naive Bayes"): (0.70, 0.90, 0.93),
    ("digits", "naive Bayes"): (0.20, 0.85, 0.88),
    ("adult, codes", "trees"): (0.79, 0.83, 0.845),
    ("breast cancer", "k-means"): (0.25, 0.65, 0.74),
}
MODELS: Final = ("logistic", "naive Bayes", "trees", "k-means")


@dataclass(frozen=True)
class LearningFigures:
    """Scores of one model on one data set, at each epsilon, and the time of a fit.

    Args:
        task: the name of the data set.
        model: what was learned.
        epsilons: the loss of each fit.
        delta: beside each epsilon.
        ours: the median score at each epsilon.
        low: the score that a tenth of the fits stay below, at each epsilon.
        goals: what must be reached, where these are the epsilons of the goals.
        without_privacy: the score of scikit-learn.
        without_data: the score of a start without data; None where there is none.
        rival: the rival's median scores; None where it is absent.
        runs: the number of fits at each epsilon.
        seconds: processor time of the fastest fit.
        seconds_without: the same, of scikit-learn.

    """

    task: str
    model: str
    epsilons: tuple[str, ...]
    delta: str
    ours: tuple[float, ...]
    low: tuple[float, ...]
    goals: tuple[float, ...] | None
    without_privacy: float
    without_data: float | None
    rival: tuple[float, ...] | None
    runs: int
    seconds: float
    seconds_without: float


def contests(given: Sequence[Task] | None = None, models: Sequence[str] = MODELS) -> list[tuple[Task, str]]:
    """Return which models are learned from which of the available data sets."""
    places = {task.name: task for task in (tasks() if given is None else given)}
    return [(places[name], model) for name, model in GOALS if name in places and model in models]


#: Learns a model from a task with another library: median scores at each epsilon, None where it is absent.
Rival = Callable[[str, Task, Sequence[str], int], tuple[float, ...] | None]


def measure_learning(
    rival: Rival | None = None,
    *,
    given: Sequence[tuple[Task, str]] | None = None,
    epsilons: Sequence[str] = EPSILONS,
    splits: int = SPLITS,
) -> Iterator[LearningFigures]:
    """Yield the figures of every contest, with a rival's beside ours where one is given."""
    for task, model in contests() if given is None else given:
        yield _measured(task, model, tuple(epsilons), splits, rival)


def _measured(task: Task, model: str, epsilons: tuple[str, ...], splits: int, rival: Rival | None) -> LearningFigures:
    runs = min(splits, _ADULT_RUNS) if task.held_out else splits
    middle, low, seconds = [], [], math.inf
    for epsilon in epsilons:
        scores = []
        for train, labels, test, truth in divisions(task, model, runs):
            took, fitted = _timed(lambda: _ours(model, task, epsilon).fit(train, labels))  # noqa: B023 - called at once
            seconds = min(seconds, took)
            scores.append(_score(model, fitted.predict(test), truth))
        middle.append(statistics.median(scores))
        low.append(float(np.quantile(scores, 0.1)))
    plain, without = [], math.inf
    for train, labels, test, truth in divisions(task, model, 1 if task.held_out else min(runs, 10)):
        took, fitted = _timed(lambda: _without_privacy(model, task.classes).fit(scaled(task, train), labels))  # noqa: B023
        without = min(without, took)
        plain.append(_score(model, fitted.predict(scaled(task, test)), truth))
    return LearningFigures(
        task.name,
        model,
        epsilons,
        task.delta,
        tuple(middle),
        tuple(low),
        GOALS.get((task.name, model)) if epsilons == EPSILONS else None,
        statistics.median(plain),
        _blind(task) if model == "k-means" else None,
        None if rival is None else rival(model, task, epsilons, min(runs, RIVAL_RUNS)),
        runs,
        seconds,
        without,
    )


def divisions(task: Task, model: str, count: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Return rows and labels to learn from, and rows and labels to score on; clusters are found in all rows."""
    if model == "k-means":
        return ((task.values, task.labels, task.values, task.labels) for _ in range(count))
    return task.divisions(count)


def _score(model: str, found: Any, truth: Any) -> float:
    if model == "k-means":
        return float(importlib.import_module("sklearn.metrics").adjusted_rand_score(truth, found))
    return float((found == truth).mean())


def _ours(model: str, task: Task, epsilon: str) -> Any:
    learn: Any = importlib.import_module("dither.learn")
    public: dict[str, Any] = {"bounds": np.column_stack([task.lower, task.upper])}
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": task.delta}
    classes = list(range(task.classes))
    if model == "k-means":
        return learn.KMeans(task.classes, **promise, **public)
    if model == "trees":
        return learn.GradientBoostingClassifier(
            **promise, **public, classes=classes, categorical_features=list(task.categorical)
        )
    return (learn.LogisticRegression if model == "logistic" else learn.GaussianNB)(**promise, **public, classes=classes)


def _without_privacy(model: str, classes: int) -> Any:
    """Return scikit-learn's model; a linear one scales its columns as usual."""
    if model == "k-means":
        return importlib.import_module("sklearn.cluster").KMeans(classes, n_init=10)
    if model == "trees":
        return importlib.import_module("sklearn.ensemble").HistGradientBoostingClassifier()
    if model == "naive Bayes":
        return importlib.import_module("sklearn.naive_bayes").GaussianNB()
    scaler = importlib.import_module("sklearn.preprocessing").StandardScaler()
    logistic = importlib.import_module("sklearn.linear_model").LogisticRegression(max_iter=1000)
    return importlib.import_module("sklearn.pipeline").make_pipeline(scaler, logistic)


def _blind(task: Task) -> float:
    """Return the median score of as many centres as classes, drawn evenly within the bounds and never moved."""
    generator, values = np.random.default_rng(), scaled(task, task.values)
    scores = []
    for _ in range(_BLIND_RUNS):
        centres = generator.uniform(-1, 1, (task.classes, values.shape[1]))
        nearest = ((values[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        scores.append(_score("k-means", nearest, task.labels))
    return statistics.median(scores)


def scaled(task: Task, values: Floats) -> Floats:
    """Return values within the public bounds, moved to [-1, 1]."""
    inside = np.clip(values, task.lower, task.upper)
    return np.asarray((inside - task.lower) / (task.upper - task.lower) * 2 - 1)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found
