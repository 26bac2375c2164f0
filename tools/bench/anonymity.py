"""Models of anonymity by their definitions, one class after another: the slow twins of the checkers, and tables."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog

from dither.disguise import Hierarchy, Roles, Rules

Columns = dict[str, list[Any]]


def classes(table: Columns, quasi: Sequence[str]) -> list[list[int]]:
    """Return the rows of each class."""
    found = defaultdict(list)
    for row in range(len(table[quasi[0]])):
        found[tuple(table[name][row] for name in quasi)].append(row)
    return list(found.values())


def in_classes(table: Columns, quasi: Sequence[str], sensitive: str) -> list[Counter[Any]]:
    """Return how often each sensitive value occurs in each class."""
    return [Counter(table[sensitive][row] for row in rows) for rows in classes(table, quasi)]


def distinct(seen: Counter[Any]) -> float:
    """Return how many values a class has."""
    return len(seen)


def entropy(seen: Counter[Any]) -> float:
    """Return e to the entropy of the values of a class."""
    return math.exp(-sum(count / seen.total() * math.log(count / seen.total()) for count in seen.values()))


def recursive(seen: Counter[Any], c: float) -> float:
    """Return the l of recursive (c, l)-diversity."""
    ordered = sorted(seen.values(), reverse=True)
    return max((place for place in range(1, len(ordered) + 1) if ordered[0] < c * sum(ordered[place - 1 :])), default=0)


def gains(seen: Counter[Any], whole: Counter[Any]) -> list[float]:
    """Return how many times as frequent each value is in a class as in the table."""
    return [seen[value] / seen.total() / (whole[value] / whole.total()) for value in whole]


def moved(seen: Counter[Any], whole: Counter[Any], distance: Callable[[Any, Any], float]) -> float:
    """Return the earth mover's distance, as the linear programme that it is."""
    values = list(whole)
    cost = [distance(one, other) for one in values for other in values]
    size = len(values)
    leaves = np.kron(np.eye(size), np.ones(size))
    arrives = np.kron(np.ones(size), np.eye(size))
    shares = [seen[value] / seen.total() for value in values] + [whole[value] / whole.total() for value in values]
    return float(linprog(cost, A_eq=np.vstack([leaves, arrives]), b_eq=shares).fun)


def tree_distance(lines: dict[Any, tuple[str, ...]]) -> Callable[[Any, Any], float]:
    """Return the distance of two values by the height of the lowest node above both."""

    def distance(one: Any, other: Any) -> float:
        if one == other:
            return 0.0
        height = next(level for level, (a, b) in enumerate(zip(lines[one], lines[other], strict=True), 1) if a == b)
        return height / len(lines[one])

    return distance


RULES = (
    Rules(k=2),
    Rules(k=3, l=2),
    Rules(k=2, l=1.5, diversity="entropy"),
    Rules(k=1, l=2, diversity="recursive", c=4),
    Rules(k=2, t=0.4),
    Rules(k=1, t=0.3, distance="ordered"),
    Rules(k=2, alpha=0.8),
    Rules(k=2, beta=2),
    Rules(k=2, delta=1.5),
)


def drawn(rows: int | None = None, *, missing: bool = True) -> Columns:
    """Return a table with two columns of numbers, one of texts, and one of few sensitive values, all of which occur."""
    numbers = np.random.default_rng()
    rows = rows or int(numbers.integers(8, 40))
    table = {
        "name": [f"person {row}" for row in range(rows)],
        "age": numbers.integers(-5, 20, rows).tolist(),
        "pay": numbers.integers(0, 4, rows).tolist(),
        "ward": numbers.choice(["aa", "ab", "ba", "c"], rows).tolist(),
        "ill": [*("x", "y", "z") * 2, *numbers.choice(["x", "y", "z"], rows - 6).tolist()],
    }
    if missing and numbers.integers(2):
        table["age"][0] = table["ward"][1] = None
    return table


PEOPLE = Roles(("age", "pay", "ward"), ("ill",), ("name",))


def broken(table: Columns, quasi: tuple[str, ...], rules: Rules) -> list[Counter[Any]]:
    """Return the classes that break a rule, by the definitions."""
    whole = Counter(table["ill"])
    places = {value: place for place, value in enumerate(sorted(whole))}
    far: dict[str, Callable[[Any, Any], float]] = {
        "equal": lambda one, other: float(one != other),
        "ordered": lambda one, other: abs(places[one] - places[other]) / max(len(places) - 1, 1),
    }

    def breaks(seen: Counter[Any]) -> bool:
        least: dict[str, Callable[[Counter[Any]], float]] = {"distinct": distinct, "entropy": entropy}
        least["recursive"] = lambda some: recursive(some, rules.c)
        ratios = gains(seen, whole)
        return (
            seen.total() < rules.k
            or (rules.l is not None and least[rules.diversity](seen) < rules.l - 1e-9)
            or (rules.t is not None and moved(seen, whole, far[rules.distance]) > rules.t + 1e-6)
            or (rules.alpha is not None and max(seen.values()) / seen.total() > rules.alpha + 1e-9)
            or (rules.beta is not None and max(ratios) - 1 > rules.beta + 1e-9)
            or (rules.delta is not None and max(abs(np.log(np.maximum(ratios, 1e-300)))) >= rules.delta)
        )

    return [seen for seen in in_classes(table, quasi, "ill") if breaks(seen)]


def trees_of(table: Columns) -> dict[str, Hierarchy]:
    """Return hierarchies of the quasi-identifiers of a generated table."""
    return {
        "age": Hierarchy.intervals(table["age"], [5, 10]),
        "pay": Hierarchy.tree({"low": [0, 1], "high": [2, 3]}),
        "ward": Hierarchy.masks(table["ward"]),
    }


def least_penalty(table: Columns, trees: dict[str, Hierarchy], k: int, diverse: int, allowed: int) -> float:
    """Return the smallest penalty of all choices of levels, by trying them all, row by row."""
    quasi, rows, best = list(trees), len(table["ill"]), 1.0
    for node in itertools.product(*(range(tree.height + 1) for tree in trees.values())):
        cells = {
            name: [tree.label(value, level) for value in table[name]]
            for (name, tree), level in zip(trees.items(), node, strict=True)
        }
        penalty, gone = 0.0, 0
        for some in classes(cells, quasi):
            if len(some) < k or len({table["ill"][row] for row in some}) < diverse:
                gone += len(some)
                continue
            for name, level in zip(quasi, node, strict=True):
                every = trees[name].labels
                alike = sum(trees[name].label(value, level) == cells[name][some[0]] for value in every)
                penalty += len(some) * (alike - 1) / max(len(every) - 1, 1) / len(quasi)
        if gone <= allowed:
            best = min(best, (penalty + gone) / rows)
    return best
