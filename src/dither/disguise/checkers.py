"""Models of anonymity, checked on any table: the strictest number for which each of them holds.

Each function returns a number and promises nothing about people: an attacker may know more than the quasi-identifiers,
and two tables that are anonymous each need not be so together. ``dither attack`` shows how each model fails.

Sources: k-anonymity (Samarati, Sweeney 1998), those named in ``dither.disguise.figures``, delta-presence (Nergiz et al.
2007), k-map (Sweeney 2001), k^m-anonymity (Terrovitis et al. 2008).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dither.disguise import figures
from dither.disguise.classes import Figure, classes_of, group, tallies
from dither.disguise.hierarchies import Hierarchy
from dither.disguise.rules import Distance, Diversity, Rules, Values, diversity_of
from dither.disguise.table import Column, Table
from dither.disguise.wildcards import fitting
from dither.errors import InvalidParameter
from dither.exact import whole

Missing = Literal["own", "wildcard"]


def k_anonymity(table: Any, quasi: Sequence[str], *, missing: Missing = "own") -> int:
    """Return the size of the smallest class: k, where each row looks like at least k rows, itself included.

    Somebody who knows the quasi-identifiers of a person in the table, and nothing else, finds the person's row with a
    probability of at most 1/k.

    Args:
        table: a table or a frame.
        quasi: the columns that others may know.
        missing: a missing cell is a value of its ``own``, or a ``wildcard`` that fits any value.

    >>> k_anonymity({"age": ["3*", "3*", "4*", "4*", "4*"]}, ["age"])
    2

    """
    given = Table.of(table)
    if missing == "wildcard":
        return int(fitting(given, quasi).min()) if len(given) else 0
    if missing != "own":
        raise InvalidParameter("missing", missing, "own or wildcard")
    return classes_of(given, quasi).k


def l_diversity(
    table: Any, quasi: Sequence[str], sensitive: str, *, diversity: Diversity = "distinct", c: float = 1.0
) -> float:
    """Return how diverse the sensitive values of the least diverse class are.

    Args:
        table: a table or a frame.
        quasi: the columns that others may know.
        sensitive: the column that they should not learn.
        diversity: ``distinct`` values; e to their ``entropy``; or the l of ``recursive`` (c, l)-diversity.
        c: of recursive diversity.

    """
    rules = Rules(diversity=diversity, c=c)
    return _worst(Table.of(table), quasi, sensitive, rules, diversity_of(rules), largest=False)


def t_closeness(
    table: Any,
    quasi: Sequence[str],
    sensitive: str,
    *,
    distance: Distance = "equal",
    tree: Hierarchy | None = None,
) -> float:
    """Return the earth mover's distance from the whole table of the class that is farthest from it.

    Args:
        table: a table or a frame.
        quasi: the columns that others may know.
        sensitive: the column that they should not learn.
        distance: between values: ``equal``, ``ordered`` (numbers by size, texts by the alphabet) or ``hierarchical``.
        tree: the hierarchy of the sensitive column, for the last.

    """
    return _worst(Table.of(table), quasi, sensitive, Rules(distance=distance), None, tree=tree)


def alpha_k(table: Any, quasi: Sequence[str], sensitive: str) -> tuple[float, int]:
    """Return the greatest share of a sensitive value in a class, and the size of the smallest class."""
    given = Table.of(table)
    return _worst(given, quasi, sensitive, Rules(), figures.largest_share), k_anonymity(given, quasi)


def beta_likeness(table: Any, quasi: Sequence[str], sensitive: str) -> float:
    """Return the greatest relative gain of a sensitive value in a class over its share in the table."""
    return _worst(Table.of(table), quasi, sensitive, Rules(), figures.likeness)


def delta_disclosure(table: Any, quasi: Sequence[str], sensitive: str) -> float:
    """Return the greatest |log| of a value's share in a class over its share in the table.

    It is infinite if a class lacks a value. A table has delta-disclosure privacy for every delta above it.
    """
    return _worst(Table.of(table), quasi, sensitive, Rules(), figures.disclosure)


@dataclass(frozen=True)
class Presence:
    """How the classes of a table stand in a population.

    Args:
        k: the fewest people of the population that look like a row of the table: its k-map.
        least: the smallest share of a class of the population that is in the table.
        most: the largest such share: who is in that class is in the table with this probability.

    """

    k: int
    least: float
    most: float


def presence(table: Any, population: Any, quasi: Sequence[str]) -> Presence:
    """Return the k-map of a table and its delta-presence in a population.

    Args:
        table: a table or a frame, of people of the population, whose quasi-identifiers are written in the same way.
        population: everybody.
        quasi: the columns that others may know.

    """
    sample, everybody = Table.of(table), Table.of(population)
    if not len(sample):
        raise InvalidParameter("table", 0, "one or more rows long")
    both = [Column.of([*sample[name].cells(), *everybody[name].cells()]) for name in quasi]
    classes = group([column.codes for column in both], [len(column.values) for column in both])
    inside = np.bincount(classes.of_row[: len(sample)], minlength=len(classes))
    around = classes.sizes - inside
    if np.any(inside > around):
        row = int(np.flatnonzero((inside > around)[classes.of_row])[0])
        cells = ", ".join(str(column.values[column.codes[row]]) for column in both)
        raise InvalidParameter("population", cells, "everybody: a class of the table is larger than its class there")
    shares = inside / around
    return Presence(int(around[inside > 0].min()), float(shares.min()), float(shares.max()))


def km_anonymity(baskets: Iterable[Iterable[Hashable]], m: int) -> int:
    """Return how many baskets contain the rarest combination of at most m items that some basket contains.

    Somebody who knows m items of a basket finds at least this number of baskets with them; 0 if there are no items.

    >>> km_anonymity([{"a", "b"}, {"a", "b"}, {"a"}], 2)
    2

    """
    whole("m", m, least=1)
    seen: Counter[frozenset[Hashable]] = Counter()
    for basket in baskets:
        items = set(basket)
        for size in range(1, min(m, len(items)) + 1):
            seen.update(map(frozenset, itertools.combinations(items, size)))
    return min(seen.values(), default=0)


def _worst(
    table: Table,
    quasi: Sequence[str],
    sensitive: str,
    rules: Rules,
    figure: Figure | None,
    *,
    tree: Hierarchy | None = None,
    largest: bool = True,
) -> float:
    """Return a figure of the class that is worst by it."""
    if sensitive in quasi:
        raise InvalidParameter("sensitive", sensitive, "no quasi-identifier")
    classes = classes_of(table, quasi)
    if not len(table):
        raise InvalidParameter("table", 0, "one or more rows long")
    values = Values.of(table[sensitive], rules, tree)
    asked = values.distance if figure is None else figure
    parts = [
        asked(counts, values.shares)
        for counts in tallies(classes.of_row, len(classes), values.codes, len(values.shares))
    ]
    return float(max(part.max() for part in parts) if largest else min(part.min() for part in parts))
