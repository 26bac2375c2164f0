"""Rows of a sample with weights: how many people each stands for, and so how likely it is found in the population.

Source: Benedetti and Franconi (1998), as in sdcMicro and mu-Argus. A class of the sample with f rows whose weights add
up to W is taken to be a share p = f / W of its class in the population, and the size F of that class to be f plus a
negative binomial number of others. Then a class with one row has no other in the population with probability p, and
a row is found with probability E(1/F) = p/f 2F1(1, 1; f + 1; 1 - p). It is a model: weights say nothing for certain
about any one class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.disguise.classes import Counts, Figures, classes_of
from dither.disguise.microaggregation import numbers_of
from dither.disguise.table import Table
from dither.errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class WeightedRisk:
    """What a sample with weights is estimated to give away.

    Args:
        population: the sum of the weights.
        alone: rows that are alone in the population, expected.
        found: rows that are found again, expected, if everybody is looked for.
        highest: the greatest probability of a row to be found.
        rows: that probability for every row.

    """

    population: float
    alone: float
    found: float
    highest: float
    rows: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, without those of single rows."""
        return {name: value for name, value in asdict(self).items() if name != "rows"}


def weighted_risk(table: Table, quasi: Sequence[str], weights: str) -> WeightedRisk:
    """Return what a sample with weights is estimated to give away.

    Args:
        table: the sample.
        quasi: the quasi-identifiers.
        weights: the column of weights, each at least 1: how many people of the population a row stands for.

    """
    if not len(table):
        raise InvalidParameter("table", 0, "one or more rows long")
    heavy = numbers_of(table, weights)
    if heavy.min() < 1:
        row = int(heavy.argmin())
        raise InvalidParameter(weights, f"{heavy[row]:g} in row {row + 1}", "at least 1: a row represents itself")
    classes = classes_of(table, quasi)
    shares = classes.sizes / np.bincount(classes.of_row, weights=heavy, minlength=len(classes))
    risks = found_again(classes.sizes, np.minimum(shares, 1.0))
    rows = risks[classes.of_row]
    alone = float(np.minimum(shares, 1.0)[classes.sizes == 1].sum())
    return WeightedRisk(float(heavy.sum()), alone, float(rows.sum()), float(rows.max()), rows)


def found_again(sizes: Counts, shares: Figures) -> Figures:
    """Return E(1/F) for classes of a sample: their sizes, and which share of their class in the population they are.

    >>> found_again(np.array([1, 4]), np.array([1.0, 1.0])).tolist()
    [1.0, 0.25]

    """
    from scipy.special import hyp2f1

    return np.asarray(shares / sizes * hyp2f1(1, 1, sizes + 1.0, 1 - shares))
