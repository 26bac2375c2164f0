"""Regressors on queries: what learns from noisy answers to answer other queries.

A query weighs cells; its answer is the weighted sum of counts. *Ridge* learns a weight for each cell, which is a
histogram by least squares, kept near an even one. *Tree* looks at where a query begins and ends, how much it weighs and
where its middle is, and answers with the mean of the answers of queries like it. Settings are chosen by what the
regressor errs on noisy answers that it has not seen. Post-processing only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.lift.stored import keep_record

Floats = NDArray[np.float64]
RIDGE, TREE = "ridge", "tree"
REGRESSORS: Final = (RIDGE, TREE)
_FOLDS: Final = 5
#: Penalties in terms of the mean squared length of a query, and the fewest queries in a leaf.
_PENALTIES: Final = tuple(10.0**power for power in range(-4, 4))
_LEAVES: Final = (1, 2, 4, 8, 16)
_DEEPEST: Final = 12


@dataclass(frozen=True, eq=False)
class QueryModel:
    """A released regressor that answers queries over the same cells, at no further cost.

    Args:
        regressor: "ridge" or "tree".
        cells: how many.
        numbers: for ridge a weight for each cell; for a tree five for each node: the feature, the threshold, the nodes
            to the left and right, and the answer. A leaf has the feature -1.
        setting: the penalty or the size of a leaf that was chosen.

    """

    regressor: str
    cells: int
    numbers: Floats
    setting: float

    def answer(self, queries: Any) -> Floats:
        """Return the answers to some queries, a row of weights for each.

        Args:
            queries: an array with a column for each cell.

        """
        asked = np.atleast_2d(np.asarray(queries, dtype=np.float64))
        if asked.ndim != 2 or asked.shape[1] != self.cells or not np.isfinite(asked).all():
            raise InvalidParameter(
                "queries", asked.shape, f"finite weights of {self.cells} cells, a row for each query"
            )
        if self.regressor == RIDGE:
            return np.asarray(asked @ self.numbers)
        return _descend(self.numbers.reshape(-1, 5), features(asked))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, exactly."""
        numbers = [float(one).hex() for one in self.numbers]
        return {"regressor": self.regressor, "cells": self.cells, "numbers": numbers, "setting": self.setting}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the model that ``to_dict`` wrote, or reject one that cannot answer."""
        numbers = np.array([float.fromhex(one) for one in record["numbers"]])
        kind, cells = record["regressor"], int(record["cells"])
        is_whole = len(numbers) == cells if kind == RIDGE else len(numbers) > 0 and len(numbers) % 5 == 0
        if kind not in REGRESSORS or not is_whole or not np.isfinite(numbers).all():
            raise InvalidParameter("numbers", len(numbers), "finite, of the same number as those of the regressor")
        if kind == TREE:
            _check_tree(numbers.reshape(-1, 5))
        return cls(kind, cells, numbers, float(record["setting"]))


keep_record("answering", QueryModel)


def fitted(regressor: str, queries: Floats, answers: Floats) -> QueryModel:
    """Return the regressor with the setting that errs least on answers that were held back, learned from all.

    Args:
        regressor: "ridge" or "tree".
        queries: a row of weights for each.
        answers: noisy.

    """
    settings = _PENALTIES if regressor == RIDGE else _LEAVES
    fold = np.arange(len(answers)) % _FOLDS
    errors = []
    for setting in settings:
        total = 0.0
        for number in range(_FOLDS):
            held = fold == number
            if held.any() and not held.all():
                model = _learned(regressor, queries[~held], answers[~held], setting)
                total += float(np.square(model.answer(queries[held]) - answers[held]).sum())
        errors.append(total)
    return _learned(regressor, queries, answers, settings[int(np.argmin(errors))])


def _learned(regressor: str, queries: Floats, answers: Floats, setting: float) -> QueryModel:
    cells = queries.shape[1]
    if regressor == RIDGE:
        return QueryModel(RIDGE, cells, ridge(queries, answers, setting), setting)
    nodes: list[list[float]] = []
    _grow(nodes, features(queries), answers, int(setting), _DEEPEST)
    return QueryModel(TREE, cells, np.array(nodes).ravel(), setting)


def ridge(queries: Floats, answers: Floats, penalty: float) -> Floats:
    """Return a weight for each cell: an even one by least squares, and what is left over by ridge regression.

    >>> ridge(np.eye(3), np.array([3.0, 1.0, 2.0]), 1e-9).round(4).tolist()
    [3.0, 1.0, 2.0]

    """
    sizes = queries.sum(axis=1)
    even = float(sizes @ answers) / max(float(sizes @ sizes), 1e-300)
    scale = max(float(np.square(queries).sum(axis=1).mean()), 1e-9)
    left, small = answers - even * sizes, penalty * scale
    if len(answers) >= queries.shape[1]:
        inner = queries.T @ queries + small * np.eye(queries.shape[1])
        return np.asarray(even + np.linalg.solve(inner, queries.T @ left))
    # In terms of queries, of which there are fewer than cells.
    inner = queries @ queries.T + small * np.eye(len(answers))
    return np.asarray(even + queries.T @ np.linalg.solve(inner, left))


def features(queries: Floats) -> Floats:
    """Return what a tree looks at: the first and last cell of a query, its weight, and its middle.

    >>> features(np.array([[0.0, 1.0, 1.0, 0.0]])).tolist()
    [[1.0, 2.0, 2.0, 1.5]]

    """
    used = queries != 0
    cells = queries.shape[1]
    first = np.argmax(used, axis=1)
    last = cells - 1 - np.argmax(used[:, ::-1], axis=1)
    weight = queries.sum(axis=1)
    size = np.abs(queries).sum(axis=1)
    middle = np.abs(queries) @ np.arange(cells) / np.where(size > 0, size, 1.0)
    return np.column_stack([first, last, weight, middle]).astype(np.float64)


def _grow(nodes: list[list[float]], rows: Floats, answers: Floats, least: int, depth: int) -> int:
    """Add the best tree for some queries to the nodes, and return the number of its root."""
    place = len(nodes)
    nodes.append([-1.0, 0.0, 0.0, 0.0, float(answers.mean())])
    split = _split(rows, answers, least) if depth else None
    if split is not None:
        feature, threshold = split
        left = rows[:, feature] <= threshold
        below = _grow(nodes, rows[left], answers[left], least, depth - 1)
        above = _grow(nodes, rows[~left], answers[~left], least, depth - 1)
        nodes[place] = [float(feature), threshold, float(below), float(above), nodes[place][4]]
    return place


def _split(rows: Floats, answers: Floats, least: int) -> tuple[int, float] | None:
    """Return the feature and threshold that leave the least squared error; None where none leaves less."""
    count = len(answers)
    best, found = float(np.square(answers - answers.mean()).sum()) * (1 - 1e-12), None
    for feature in range(rows.shape[1]):
        order = np.argsort(rows[:, feature], kind="stable")
        values, sorted_answers = rows[order, feature], answers[order]
        sums, squares = np.cumsum(sorted_answers), np.cumsum(np.square(sorted_answers))
        sizes = np.arange(1, count)
        left = squares[:-1] - sums[:-1] ** 2 / sizes
        right = squares[-1] - squares[:-1] - (sums[-1] - sums[:-1]) ** 2 / (count - sizes)
        allowed = (values[1:] > values[:-1]) & (sizes >= least) & (count - sizes >= least)
        if allowed.any():
            errors = np.where(allowed, left + right, np.inf)
            cut = int(np.argmin(errors))
            if errors[cut] < best:
                best, found = float(errors[cut]), (feature, float(values[cut] + values[cut + 1]) / 2)
    return found


def _descend(nodes: Floats, rows: Floats) -> Floats:
    """Return the answer of the leaf of each query."""
    here = np.zeros(len(rows), dtype=np.int64)
    for _ in range(_DEEPEST + 1):
        feature = nodes[here, 0].astype(np.int64)
        goes = feature >= 0
        below = rows[np.arange(len(rows)), np.maximum(feature, 0)] <= nodes[here, 1]
        here = np.where(goes, np.where(below, nodes[here, 2], nodes[here, 3]).astype(np.int64), here)
    return np.asarray(nodes[here, 4])


def _check_tree(nodes: Floats) -> None:
    """Reject nodes that lead out of the tree, or back."""
    inner = nodes[nodes[:, 0] >= 0]
    places = np.flatnonzero(nodes[:, 0] >= 0)
    is_inside = (
        (inner[:, 0] < 4).all() and (inner[:, 2:4] < len(nodes)).all() and (inner[:, 2:4] > places[:, None]).all()
    )
    if not is_inside or not (inner[:, [0, 2, 3]] % 1 == 0).all():
        raise InvalidParameter("numbers", len(nodes), "a tree whose nodes lead forward")
