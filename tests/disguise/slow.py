"""Models of anonymity by their definitions, one class after another: the slow twins of the checkers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog

Columns = dict[str, list[Any]]


def classes(table: Columns, quasi: Sequence[str]) -> list[list[int]]:
    found = defaultdict(list)
    for row in range(len(table[quasi[0]])):
        found[tuple(table[name][row] for name in quasi)].append(row)
    return list(found.values())


def in_classes(table: Columns, quasi: Sequence[str], sensitive: str) -> list[Counter[Any]]:
    return [Counter(table[sensitive][row] for row in rows) for rows in classes(table, quasi)]


def distinct(seen: Counter[Any]) -> float:
    return len(seen)


def entropy(seen: Counter[Any]) -> float:
    return math.exp(-sum(count / seen.total() * math.log(count / seen.total()) for count in seen.values()))


def recursive(seen: Counter[Any], c: float) -> float:
    ordered = sorted(seen.values(), reverse=True)
    return max((place for place in range(1, len(ordered) + 1) if ordered[0] < c * sum(ordered[place - 1 :])), default=0)


def gains(seen: Counter[Any], whole: Counter[Any]) -> list[float]:
    return [seen[value] / seen.total() / (whole[value] / whole.total()) for value in whole]


def moved(seen: Counter[Any], whole: Counter[Any], distance: Callable[[Any, Any], float]) -> float:
    """The earth mover's distance, as the linear programme that it is."""
    values = list(whole)
    cost = [distance(one, other) for one in values for other in values]
    size = len(values)
    leaves = np.kron(np.eye(size), np.ones(size))
    arrives = np.kron(np.ones(size), np.eye(size))
    shares = [seen[value] / seen.total() for value in values] + [whole[value] / whole.total() for value in values]
    return float(linprog(cost, A_eq=np.vstack([leaves, arrives]), b_eq=shares).fun)


def tree_distance(lines: dict[Any, tuple[str, ...]]) -> Callable[[Any, Any], float]:
    def distance(one: Any, other: Any) -> float:
        if one == other:
            return 0.0
        height = next(level for level, (a, b) in enumerate(zip(lines[one], lines[other], strict=True), 1) if a == b)
        return height / len(lines[one])

    return distance
