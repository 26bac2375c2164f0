"""Queries in SQL whose sensitivity is tried by brute force: clamps with fractions, bounds per group, limits, functions.

They read the table ``visits`` of ``queries``, whose cells are hostile and whose columns declare no bounds.
"""

from __future__ import annotations

from typing import Final

from dither.data import DataSet
from dither.noise import Noise
from dither.publish.queries.query import Query
from dither.publish.queries.sql import parse_sql

_SITES: Final = "FROM visits WHERE site IN ('a', 'b') GROUP BY site"
_DRUGS: Final = "FROM visits WHERE drug IN ('x', 'y', 'z') GROUP BY drug"
#: For every unit.
TEXTS: Final = (
    "SELECT SUM(CLAMP(cost, -2.5, 3.5)), AVG(CLAMP(cost, 0, 9.5)), MEDIAN(CLAMP(cost, 0.5, 7.5)) FROM visits",
    "SELECT WIDTH_BUCKET(CLAMP(cost, 0, 9), 0, 9, 4) AS b, COUNT(*), SUM(CLAMP(age, 0, 9.5)) FROM visits GROUP BY b",
    "SELECT RIGHT(LPAD(COALESCE(drug, '-'), 3, '*'), 1) IN ('x', 'y') AS k, COUNT(SPLIT_PART(drug, 'x', 2)), "
    "SUM(BITAND(CLAMP(cost, 0, 13), 7)), COUNT(*) FROM visits GROUP BY k",
    "SELECT DECODE(drug, 'x', 1, 'y', 2, 3) AS k, COUNT(*), SUM(TRUNC(CLAMP(age, -2.5, 2.5))), "
    "COUNT(NULLIFZERO(cost)) FROM visits GROUP BY k",
    "SELECT APPROX_QUANTILES(CLAMP(age, 0, 100), 4)[OFFSET(1)] AS a, APPROX_QUANTILES(CLAMP(cost, -7, 13), 2) AS q "
    "FROM visits",
    "SELECT STRPOS(drug, 'y') > 0 AS k, COUNT(*), SUM(CLAMP(SAFE_DIVIDE(cost, age), -1.5, 1.5)) FROM visits GROUP BY k",
)
#: Where people are the unit.
OF_PEOPLE: Final = (
    f"SELECT site, SUM(cost, contribution_bounds_per_group => (-7, 13)), COUNT(DISTINCT person) {_SITES}",
    f"SELECT site, COUNT(*, contribution_bounds_per_group => (0, 2)), "
    f"SUM(CLAMP(age, 0, 100), contribution_bounds_per_group => (0, 50.5)) {_SITES}",
    "SELECT drug, ANON_AVG(CLAMP(age, 0, 100) CLAMPED BETWEEN 20 AND 60), "
    f"ANON_COUNT(* CLAMPED BETWEEN 1 AND 3) {_DRUGS}",
    "SELECT SUM(cost, contribution_bounds_per_group => (-2.5, 3.5)), COUNT(DISTINCT person) FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) drug, COUNT(*), "
    f"SUM(CLAMP(cost, -7, 13)) {_DRUGS}",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 1) drug, COUNT(*), "
    f"AVG(CLAMP(age, 0, 9.5)) {_DRUGS}",
)


def word_query(dataset: DataSet, noise: Noise) -> Query:
    """Return one of the queries, drawn at random, for the data set's unit."""
    texts = (*TEXTS, *OF_PEOPLE) if dataset.protects_persons else TEXTS
    return parse_sql(texts[int(noise.uniform_below(len(texts), 1)[0])], dataset)
