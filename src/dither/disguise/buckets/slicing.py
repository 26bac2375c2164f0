"""Slicing: columns that belong together stay together, and within a bucket of rows each of them is shuffled by itself.

Source: Li, Li, Zhang and Molloy (2012). Columns are put together by exact k-medoids over the mean-square contingency
coefficient. Rows are cut in two as long as the slices are l-diverse: with p(t, B) how well the quasi-identifiers of a
row match bucket B, as a share over all buckets, and D(t, B) the sensitive values of what matches in it, no value may
have more than 1/l of the sum of p(t, B) D(t, B). That bounds what is learned by whoever knows all quasi-identifiers and
reasons in this way, and nobody else.

The sensitive column may stand in several slices (overlapped slicing), each of which shows it beside other columns. Then
whoever knows a row takes the slices of a bucket to be drawn independently given the value: with n(s) rows of a bucket
that have value s, and c(s) of them that match in a slice, s has the weight n(s) times all c(s) / n(s). The check holds
for this, and for each of these slices by itself. It tells more than plain slicing, and its buckets are larger.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from dither.disguise.classes import Figures, classes_of, group
from dither.disguise.contract import WARNING
from dither.disguise.roles import Roles
from dither.disguise.rules import ordered_values
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.exact import whole

_MOST_CHOICES: Final = 20_000
_BINS: Final = 10
_SLACK: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Sliced:
    """A sliced table and what was measured. It carries no loss.

    Args:
        table: the columns and the number of the bucket, in the order of buckets.
        done: what was done, a sentence each.
        columns: which of them stay together.
        most: the greatest share of a sensitive value for a row, by the check of l-diverse slicing.

    """

    table: Table
    done: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    most: float

    warning: ClassVar[str] = WARNING

    def frame(self) -> Any:
        """Return the table as what it was given as: a frame of the same library, else a dictionary of columns."""
        return self.table.frame()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain data."""
        return {
            "disguise": Slicing.name,
            "warning": self.warning,
            "done": list(self.done),
            "columns": [list(some) for some in self.columns],
            "most": self.most,
        }

    def to_json(self) -> str:
        """Return everything but the rows as JSON."""
        return json.dumps(self.to_dict(), indent=2)


@dataclass(frozen=True)
class Slicing:
    """Buckets of rows in which every group of columns is shuffled by itself.

    Args:
        roles: of the columns; one of them is sensitive. Columns without a role are dropped.
        l: no sensitive value may have more than 1/l, by the check.
        columns: which columns stay together, each quasi-identifier in one group, the sensitive column in one or more;
            found from the rows if not given.
        parts: how many groups are looked for.
        least: rows of a bucket, at least.

    >>> people = {"age": [31, 35, 52, 58], "ill": ["flu", "cold", "flu", "cold"]}
    >>> made = Slicing(Roles(("age",), ("ill",)), 2, columns=(("age",), ("ill",)), least=2).apply(people)
    >>> made.frame()["bucket"], made.most
    ([1, 1, 2, 2], 0.5)

    """

    roles: Roles
    l: float  # noqa: E741 - what everybody calls it
    columns: tuple[tuple[str, ...], ...] | None = None
    parts: int = 2
    least: int = 2

    name: ClassVar[str] = "slicing"
    source: ClassVar[str] = "Li, Li, Zhang, Molloy (2012)"
    attacks: ClassVar[tuple[str, ...]] = ("background", "skewness", "definetti")

    def __post_init__(self) -> None:
        whole("least", self.least, least=1)
        whole("parts", self.parts, least=1)
        if not 1 <= self.l < math.inf:
            raise InvalidParameter("l", self.l, "at least 1 and finite")
        if len(self.roles.sensitive) != 1:
            raise InvalidParameter("sensitive", list(self.roles.sensitive), "one column")
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(tuple(some) for some in self.columns))
            every = list(itertools.chain.from_iterable(self.columns or ()))
            others = sorted(name for name in every if name not in self.roles.sensitive)
            tidy = all(some and len(set(some)) == len(some) for some in self.columns or ())
            if others != sorted(self.roles.quasi) or self.roles.sensitive[0] not in every or not tidy:
                rule = "every quasi-identifier in one group, and the sensitive column in one or more"
                raise InvalidParameter("columns", self.columns, rule)

    def apply(self, table: Any) -> Sliced:
        """Return the sliced table.

        Args:
            table: a frame of pandas or Polars, an Arrow table, a mapping from names to columns, or a table.

        """
        given = Table.of(table)
        names = (*self.roles.quasi, *self.roles.sensitive)
        for name in names:
            given[name]
        if len(given) < self.least:
            raise InvalidParameter("least", self.least, f"at most the number of rows, {len(given)}")
        if "bucket" in names:
            raise InvalidParameter("column", "bucket", "named otherwise: buckets are numbered in a column of that name")
        columns = best_columns(given, names, self.parts) if self.columns is None else self.columns
        view = _View.of(given, columns, self.roles)
        buckets = self._cut(given, view)
        most = view.worst(buckets)
        if most > 1 / self.l + 2 * _SLACK:
            raise RuntimeError(f"a value has {most:.6g} of a row's share, more than 1/{self.l:g}")
        drawn = public_generator()
        made: dict[str, Column] = {}
        again: dict[str, Column] = {}
        for some in columns:
            order = np.concatenate([drawn.permutation(rows) for rows in buckets])
            slice_of = {name: given[name].taken(order) for name in some}
            # The sensitive column of a further slice says beside which columns it stands.
            for name in (one for one in some if one in made):
                again[f"{name} by {', '.join(one for one in some if one != name)}"] = slice_of.pop(name)
            made |= slice_of
        shown = {name: made[name] for name in names} | again
        shown["bucket"] = Column.of(np.repeat(np.arange(len(buckets)) + 1, [len(rows) for rows in buckets]).tolist())
        dropped = [name for name in given.names if name not in names]
        done = [
            f"{len(buckets):,} buckets; within each, these are shuffled separately: "
            f"{'; '.join(', '.join(some) for some in columns)}.",
            *([f"Dropped: {', '.join(dropped)}."] if dropped else []),
        ]
        return Sliced(Table(shown, given.origin), tuple(done), columns, most)

    def _cut(self, table: Table, view: _View) -> list[Codes]:
        """Return buckets: the widest quasi-identifier is cut at its middle, as long as the check holds afterwards."""
        ranks = [_ranks(table[name]) for name in self.roles.quasi]
        whole_table = np.arange(len(table))
        matched, guessed = view.matches(whole_table)
        limit = 1 / self.l + _SLACK
        if _largest(matched, guessed) > limit:
            rule = f"small enough for the table as one bucket: {_largest(matched, guessed):.4g} is the largest share"
            raise InvalidParameter("l", self.l, rule)
        waiting, final = [whole_table], []
        while waiting:
            rows = waiting.pop()
            before = view.matches(rows)
            widths = [np.ptp(one[rows]) / max(int(one.max()), 1) for one in ranks]
            for place in np.argsort(widths)[::-1].tolist():
                halves = _halves(ranks[place], rows, self.least)
                if halves is None:
                    continue
                after = [view.matches(half) for half in halves]
                new = matched - before[0] + sum(one[0] for one in after)
                own = guessed - before[1] + sum(one[1] for one in after)
                if _largest(new, own) <= limit:
                    matched, guessed = new, own
                    waiting.extend(halves)
                    break
            else:
                final.append(rows)
        return final


@dataclass(frozen=True, eq=False)
class _View:
    """What somebody who knows the quasi-identifiers of a row sees of a bucket.

    Args:
        keys: for each group of columns, the combination of quasi-identifiers in it, by row.
        homes: which groups have the sensitive column.
        secret: the sensitive value of each row.
        size: how many values there are.
        asked: one row for each different combination of all quasi-identifiers.

    """

    keys: tuple[Codes, ...]
    homes: tuple[int, ...]
    secret: Codes
    size: int
    asked: Codes

    @classmethod
    def of(cls, table: Table, columns: Sequence[Sequence[str]], roles: Roles) -> _View:
        secret = roles.sensitive[0]
        quasi = [[name for name in some if name != secret] for some in columns]
        zeros = np.zeros(len(table), dtype=np.int64)
        keys = tuple(classes_of(table, some).of_row if some else zeros for some in quasi)
        homes = tuple(place for place, some in enumerate(columns) if secret in some)
        asked = np.unique(classes_of(table, roles.quasi).of_row, return_index=True)[1]
        return cls(keys, homes, table[secret].codes, len(table[secret].values), asked)

    def matches(self, rows: Codes) -> tuple[Figures, Figures]:
        """Return how well each asked combination matches a bucket, and that by sensitive value.

        Both begin with an axis for the ways to reason: by all groups with the sensitive column, and by each of them.
        """
        shares, held = [], []
        values = np.maximum(np.bincount(self.secret[rows], minlength=self.size), 1)
        for place, keys in enumerate(self.keys):
            shares.append(np.bincount(keys[rows], minlength=int(keys.max()) + 1)[keys[self.asked]] / len(rows))
            if place in self.homes:
                counts = np.zeros((int(keys.max()) + 1, self.size))
                np.add.at(counts, (keys[rows], self.secret[rows]), 1)
                held.append(counts[keys[self.asked]])
        ways = [self.homes] if len(self.homes) == 1 else [self.homes, *((home,) for home in self.homes)]
        guessed = []
        for way in ways:
            weight = np.ones((len(self.asked), self.size)) * values / len(rows)
            for place, share in enumerate(shares):
                if place in way:
                    weight *= held[self.homes.index(place)] / values
                else:
                    weight *= share[:, None]
            guessed.append(weight)
        stacked = np.stack(guessed)
        return stacked.sum(axis=2), stacked

    def worst(self, buckets: Sequence[Codes]) -> float:
        """Return the largest share of a value for any row."""
        seen = [self.matches(rows) for rows in buckets]
        return _largest(sum((one[0] for one in seen), np.zeros(1)), sum((one[1] for one in seen), np.zeros(1)))


def worst_guess(table: Table, columns: Sequence[Sequence[str]], roles: Roles, buckets: Sequence[Codes]) -> float:
    """Return the largest share that the check of l-diverse slicing gives a sensitive value for any row of a table.

    Args:
        table: the true one.
        columns: which of them stay together.
        roles: of the columns; one of them is sensitive.
        buckets: the rows of each.

    """
    return _View.of(table, columns, roles).worst(buckets)


def _largest(matched: Figures, guessed: Figures) -> float:
    return float((guessed.max(axis=2) / matched).max())


def _ranks(column: Column) -> Codes:
    order = ordered_values(column)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[column.codes]


def _halves(ranks: Codes, rows: Codes, least: int) -> list[Codes] | None:
    """Return the rows up to the middle value and those beyond, or before it; None if one half were too small."""
    mine = ranks[rows]
    middle = np.sort(mine)[(len(mine) - 1) // 2]
    for low in (mine <= middle, mine < middle):
        if min(int(low.sum()), int((~low).sum())) >= least:
            return [rows[low], rows[~low]]
    return None


def best_columns(table: Table, names: Sequence[str], parts: int) -> tuple[tuple[str, ...], ...]:
    """Return groups of columns that depend on each other: the medoids with the smallest distances, of all choices.

    Args:
        table: whose columns they are.
        names: of the columns.
        parts: how many groups there are, at most.

    """
    count = min(parts, len(names))
    if math.comb(len(names), count) > _MOST_CHOICES:
        raise InvalidParameter(
            "columns", None, f"required: {len(names)} columns have too many choices of {count} groups"
        )
    codes = [_binned(table[name]) for name in names]
    far = np.array([[0.0 if one is other else 1 - _contingency(one, other) for other in codes] for one in codes])
    chosen = min(itertools.combinations(range(len(names)), count), key=lambda some: far[:, some].min(axis=1).sum())
    nearest = far[:, chosen].argmin(axis=1)
    # A medoid is in its own group, whatever else it is as near to.
    nearest[list(chosen)] = np.arange(count)
    return tuple(
        tuple(name for name, place in zip(names, nearest.tolist(), strict=True) if place == group)
        for group in range(count)
    )


def _binned(column: Column) -> Codes:
    """Return the codes of a column; numbers and dates with many values go into ten bins of about equal counts."""
    ranks = _ranks(column)
    if column.scale() is None or len(column.values) <= _BINS:
        return ranks
    ends = np.sort(ranks)[np.linspace(0, len(ranks) - 1, _BINS + 1).astype(np.int64)[1:-1]]
    return np.searchsorted(ends, ranks, side="left")


def _contingency(one: Codes, other: Codes) -> float:
    """Return the mean-square contingency coefficient, from 0 (independent) to 1."""
    both = group([one, other], [int(one.max()) + 1, int(other.max()) + 1])
    first, second = group([one], [int(one.max()) + 1]), group([other], [int(other.max()) + 1])
    least = min(len(first), len(second)) - 1
    if not least:
        return 0.0
    rows = np.unique(both.of_row, return_index=True)[1]
    expected = first.sizes[first.of_row[rows]] * second.sizes[second.of_row[rows]]
    return float((np.sum(both.sizes**2 / expected) - 1) / least)
