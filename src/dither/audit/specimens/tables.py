"""Tables that are published row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.specimens.record import BOOK, SASKATCHEWAN, Odds, Source, Specimen, premise, told_apart
from dither.noise import system_noise
from dither.privacy import PureDP

Table = tuple[tuple[int, ...], ...]


def noise_for_a_mean(table: Table, count: int) -> NDArray[Any]:
    """Return all cells of a table of n rows and d columns plus Laplace noise of scale d / n."""
    cells = np.array(table)
    rows, columns = cells.shape
    noise = system_noise().discrete_laplace(Fraction(columns, rows), count * cells.size)
    return np.asarray(cells.ravel() + noise.reshape(count, cells.size))


def groups(table: Table) -> list[list[int]]:
    """Return the columns grouped by the ceiling of their variance, as PCA finds it where no two are correlated.

    >>> groups(((0, 1), (0, 1)))
    [[0, 1]]
    """
    columns = list(zip(*table, strict=True))
    means = [Fraction(sum(column), len(column)) for column in columns]
    for one, other in product(range(len(columns)), repeat=2):
        pairs = zip(columns[one], columns[other], strict=True)
        covariance = sum((x - means[one]) * (y - means[other]) for x, y in pairs)
        premise(one == other or covariance == 0, "the variances of the components are those of the columns")
    ceilings = [
        math.ceil(sum((x - mean) ** 2 for x in column) / len(column))
        for column, mean in zip(columns, means, strict=True)
    ]
    return [[index for index, found in enumerate(ceilings) if found == wanted] for wanted in sorted(set(ceilings))]


def raw_grouping(table: Table, other_table: Table) -> Odds:
    """Return the odds of the grouping that the info table publishes."""
    here, there = groups(table), groups(other_table)
    return told_apart(here, there, f"the groups {here}")


def projection_alone(record: Sequence[int], other_record: Sequence[int]) -> Odds:
    """Return the odds that a record is projected to 0 by a secret row of random signs, over all rows there are."""
    rows = list(product((-1, 1), repeat=len(record)))

    def is_zero(given: Sequence[int]) -> Fraction:
        hits = sum(sum(sign * entry for sign, entry in zip(row, given, strict=True)) == 0 for row in rows)
        return Fraction(hits, len(rows))

    return Odds("a projection of 0", is_zero(record), is_zero(other_record))


SPECIMENS = (
    Specimen(
        name="noise-for-a-mean-on-a-table",
        source=Source(SASKATCHEWAN, "3.4.3, lemma 2 (PrivFuzzy)"),
        claim=PureDP(1),
        what_is_wrong="d / n is the sensitivity of averages. One record changes its cells of the published table by "
        "their whole range.",
        value=((111, 1), (222, 2), (333, 1), (444, 2)),
        neighbour=((444, 1), (222, 2), (333, 1), (444, 2)),
        step="one row is replaced",
        refuted_by="sampling",
        replacement="noisy-marginals",
        sample=noise_for_a_mean,
    ),
    Specimen(
        name="grouping-by-raw-components",
        source=Source(SASKATCHEWAN, "3.4.2, algorithm 1 (PrivFuzzy)"),
        claim=PureDP(1),
        what_is_wrong="Columns are grouped by a principal component analysis of the raw table, and the grouping is "
        "published: no noise is between the two.",
        value=((0, 1), (0, 1), (0, 1), (0, 1)),
        neighbour=((4, 1), (0, 1), (0, 1), (0, 1)),
        step="one row is replaced",
        refuted_by="exact argument",
        replacement="priv-fuzzy",
        weigh=raw_grouping,
    ),
    Specimen(
        name="projection-alone",
        source=Source(BOOK, "6.1.2.2, on Johnson-Lindenstrauss"),
        claim=PureDP(1),
        what_is_wrong="A random projection without noise keeps zero at zero, and every other record away from it.",
        value=(0, 0, 0),
        neighbour=(1, 0, 0),
        step="one entry of a record moves by 1",
        refuted_by="exact argument",
        replacement="random-projection",
        weigh=projection_alone,
    ),
)
