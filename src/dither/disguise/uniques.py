"""Rows that stand alone: by few columns already (special uniques), and in the population that a sample was drawn from.

A row is a *minimal unique* of some quasi-identifiers if nobody else agrees with it in all of them, and somebody does
once any of them is left out. The fewer columns it takes, the easier it is found; SUDA (Elliot, Manning, Ford 2002;
Manning, Haglin, Keane 2008) adds up a score over all of them. How many rows are alone in the population is estimated
from the sizes of classes, by the methods of Zayatz (1991) and of Hoshino (2001), which takes classes to come from
Pitman's model. Both are models of a population that nobody has seen. How often somebody who finds one row alone, and
takes it for a person whom it fits, is right, is estimated without a model (DIS, Skinner and Elliot 2002).
``docs/theory/uniques.md`` derives every formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb, prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.disguise.classes import classes_of
from dither.disguise.table import Table
from dither.errors import InvalidParameter

#: Minimal uniques of more columns are not looked for.
_MOST_COLUMNS: Final = 3
#: A population beyond this is no population of people.
_MOST_PEOPLE: Final = 10**12
#: Sets of columns: what is more is refused.
_MOST_SETS: Final = 5000


@dataclass(frozen=True, eq=False)
class Special:
    """Minimal uniques of a table.

    Args:
        rows: how many rows have one of each number of columns, from one on; a row may have several.
        any_row: how many rows have one at all.
        scores: of the rows; 0 for a row without one.

    """

    rows: tuple[int, ...]
    any_row: int
    scores: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {"rows": list(self.rows), "any": self.any_row, "highest": float(self.scores.max(initial=0))}


def special_uniques(table: Table, quasi: Sequence[str], most: int | None = None) -> Special:
    """Return the minimal uniques of up to ``most`` columns: 3, or fewer where that would be too many sets of columns.

    A minimal unique of s of A columns scores (A - s)(A - s - 1)...(A - m), m being the largest s looked for.

    >>> special_uniques(Table.of({"a": [1, 1, 2], "b": [1, 2, 2]}), ["a", "b"]).rows
    (2, 1)

    """
    columns = len(quasi)
    if most is None:
        most = max(size for size in range(1, _MOST_COLUMNS + 1) if size == 1 or _sets(columns, size) <= _MOST_SETS)
    most = min(most, columns)
    if most < 1 or _sets(columns, most) > _MOST_SETS:
        raise InvalidParameter("quasi", columns, f"columns that have at most {_MOST_SETS:,} sets of up to {most}")
    # The last factor of all A columns would be nothing: it is left out.
    last = min(most, columns - 1)
    before: dict[tuple[str, ...], NDArray[np.bool_]] = {(): np.full(len(table), len(table) == 1)}
    scores, rows = np.zeros(len(table)), []
    has_any = np.zeros(len(table), dtype=np.bool_)
    for size in range(1, most + 1):
        alone: dict[tuple[str, ...], NDArray[np.bool_]] = {}
        of_size = np.zeros(len(table), dtype=np.bool_)
        weight = float(prod(columns - one for one in range(size, last + 1)))
        for names in combinations(quasi, size):
            classes = classes_of(table, names)
            is_alone = classes.sizes[classes.of_row] == 1
            alone[names] = is_alone
            # Alone by fewer columns is alone by more: the sets with one column less say all.
            minimal = is_alone.copy()
            for fewer in combinations(names, size - 1):
                minimal &= ~before[fewer]
            scores += weight * minimal
            of_size |= minimal
        rows.append(int(np.count_nonzero(of_size)))
        has_any |= of_size
        before = alone
    return Special(tuple(rows), int(np.count_nonzero(has_any)), scores)


def _sets(columns: int, most: int) -> int:
    return sum(comb(columns, size) for size in range(1, most + 1))


@dataclass(frozen=True)
class PopulationUniques:
    """How many rows of a population are alone in it, as estimated from a sample.

    Args:
        population: its size.
        zayatz: by the sizes of the sample's classes.
        pitman: by Pitman's model.
        dis: of all people who fit a row that is alone in the sample, the share whose row it is; None if no row is.

    """

    population: int
    zayatz: float
    pitman: float
    dis: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return asdict(self)


def population_uniques(table: Table, quasi: Sequence[str], fraction: float) -> PopulationUniques:
    """Return how many people of a population are estimated to be alone with their quasi-identifiers.

    Args:
        table: a random sample of the population.
        quasi: the quasi-identifiers.
        fraction: the share of the population that is in the sample.

    """
    if not 0 < fraction <= 1:
        raise InvalidParameter("fraction", fraction, "a share above 0, at most 1")
    if not len(table):
        raise InvalidParameter("table", 0, "one or more rows long")
    if len(table) / fraction > _MOST_PEOPLE:
        raise InvalidParameter(
            "fraction", fraction, f"large enough for a population of at most {_MOST_PEOPLE:,} people"
        )
    sizes = classes_of(table, quasi).sizes
    population = max(round(len(table) / fraction), len(table))
    counts = np.bincount(sizes)
    alpha, theta = pitman_fit(counts)
    uniques = zayatz(counts, population), pitman_uniques(alpha, theta, population)
    return PopulationUniques(population, *uniques, right_matches(counts, fraction))


def right_matches(counts: NDArray[np.int64], fraction: float) -> float | None:
    """Return the share of right ones among all matches of a person with a row that is alone in the sample (DIS).

    With n1 classes of one row and n2 of two, and a share f sampled, it is f n1 over f n1 + 2 (1 - f) n2.

    >>> right_matches(np.array([0, 6, 2]), 0.25)
    0.3333333333333333

    """
    alone, pairs = int(counts[1]), int(counts[2]) if len(counts) > 2 else 0
    return fraction * alone / (fraction * alone + 2 * (1 - fraction) * pairs) if alone else None


def zayatz(counts: NDArray[np.int64], population: int) -> float:
    """Return Zayatz's estimate of the uniques of a population.

    Classes of the population are taken to have the sizes of the sample's, ``counts`` of each size. Then it is known how
    likely one of each size has one row in the sample, and so how likely a class with one row there has no other.
    """
    from scipy.special import gammaln

    places = np.flatnonzero(counts)
    places = places[places > 0]
    rows = int((places * counts[places]).sum())
    if counts[1] == 0:
        return 0.0
    # Hypergeometric: one of the j rows of a class, and the other n - 1 from the N - j others.
    rest = population - places
    fits = rest >= rows - 1
    logs = np.full(len(places), -np.inf)

    def choices(of: NDArray[np.int64], take: int) -> NDArray[np.float64]:
        return np.asarray(gammaln(of + 1.0) - gammaln(take + 1.0) - gammaln(of - take + 1.0))

    logs[fits] = np.log(places[fits]) + choices(rest[fits], rows - 1) - choices(np.array([population]), rows)
    seen = counts[places] * np.exp(logs)
    alone = float(seen[0] / seen.sum())
    return float(counts[1]) * alone * population / rows


def pitman_fit(counts: NDArray[np.int64]) -> tuple[float, float]:
    """Return the likeliest alpha and theta of Pitman's model, given how many classes there are of each size.

    The likelihood is the Ewens-Pitman sampling formula, for alpha from 0 to 1 and theta above 0.
    """
    from scipy.optimize import minimize

    def loss(place: NDArray[np.float64]) -> float:
        alpha, theta = 1 / (1 + np.exp(-place[0])), float(np.exp(place[1]))
        return -pitman_likelihood(counts, float(alpha), theta)

    bounds = [(-20.0, 20.0), (-15.0, 25.0)]
    starts = [(one, two) for one in (-3.0, 0.0, 3.0) for two in (0.0, 6.0)]
    found = [minimize(loss, start, method="Nelder-Mead", bounds=bounds, options={"maxiter": 400}) for start in starts]
    best = min(found, key=lambda one: float(one.fun)).x
    return float(1 / (1 + np.exp(-best[0]))), float(np.exp(best[1]))


def pitman_likelihood(counts: NDArray[np.int64], alpha: float, theta: float) -> float:
    """Return the logarithm of the probability of these sizes, but for a factor without alpha and theta."""
    from scipy.special import gammaln

    places = np.flatnonzero(counts)
    classes, rows = int(counts.sum()), int((places * counts[places]).sum())
    grown = float(np.log(theta + alpha * np.arange(1, classes)).sum())
    within = float((counts[places] * (gammaln(places - alpha) - gammaln(1 - alpha))).sum())
    return grown + within - float(gammaln(theta + rows) - gammaln(theta + 1))


def pitman_uniques(alpha: float, theta: float, population: int) -> float:
    """Return the expected number of classes of one row in Pitman's model of a given number of rows.

    By exchangeability it is N times the probability that the last row opens a class: N (theta + alpha)_(N-1) over
    (theta + 1)_(N-1), the rising factorials. Hoshino has N^alpha Gamma(theta + 1) / Gamma(theta + alpha), for large N.
    """
    from scipy.special import gammaln

    rest = population - 1
    logs = gammaln(theta + alpha + rest) - gammaln(theta + alpha) - gammaln(theta + 1 + rest) + gammaln(theta + 1)
    return float(min(population * np.exp(logs), population))


def household_risk(
    table: Table, quasi: Sequence[str], household: str, risks: NDArray[np.float64] | None = None
) -> float:
    """Return the greatest probability of finding anybody of a household again, each member by their own class.

    Members are taken to be looked for one by one: with probabilities r of being found, it is 1 minus the product of all
    1 - r. A row without a household is one of its own.

    Args:
        table: of people.
        quasi: the quasi-identifiers.
        household: the column that says who lives together.
        risks: the probability of each row to be found; one over the size of its class if not given.

    """
    if not len(table):
        raise InvalidParameter("table", 0, "one or more rows long")
    classes = classes_of(table, quasi)
    homes = table[household]
    missed = 1 - (1 / classes.sizes[classes.of_row] if risks is None else risks)
    left = np.ones(len(homes.values))
    np.multiply.at(left, homes.codes, missed)
    homeless = np.array([value is None for value in homes.values], dtype=np.bool_)[homes.codes]
    return float(1 - np.where(homeless, missed, left[homes.codes]).min())
