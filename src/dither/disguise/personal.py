"""What a person does not want to be told of them, and attacks by whatever happens to be known.

- *Guarding nodes* (Xiao, Tao, Personalized Privacy Preservation 2006): a person names a node of the hierarchy of
  sensitive values; nobody should be able to tell, with more than a stated probability, that the person's value is
  below it. Somebody who knows the person's class takes each of its rows to be equally likely theirs.
- *FF-anonymity* (Wang, Xu, Fu, Wong, When Quasi-identifiers Are Missing 2009): any column may be known and any may be
  sensitive. Some values are observable; somebody who has seen some of a person's observable values A should not be
  able to tell a value b that is not observable: the share of b among all rows with A is at most a bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.disguise.classes import classes_of, group
from dither.disguise.hierarchies import Hierarchy
from dither.disguise.table import Table
from dither.errors import InvalidParameter
from dither.exact import whole

_MOST_SETS: Final = 5000


def guarded(table: Any, quasi: Sequence[str], sensitive: str, guard: str, tree: Hierarchy) -> float:
    """Return the greatest probability with which somebody's value is told to be below the node that guards it.

    Args:
        table: a table or a frame, with a guarding node for each row, which is not published.
        quasi: the columns that others may know.
        sensitive: the column that they should not learn.
        guard: the column of guarding nodes: a value or a label of the hierarchy; missing where a person guards nothing.
        tree: the hierarchy of the sensitive column.

    >>> ills = Hierarchy.tree({"lungs": ["flu", "cold"], "skin": ["rash"]})
    >>> people = {"age": [3, 3, 3], "ill": ["flu", "rash", "rash"], "hides": ["lungs", None, "rash"]}
    >>> guarded(people, ["age"], "ill", "hides", ills)
    0.6666666666666666

    """
    given = Table.of(table)
    if not len(given):
        raise InvalidParameter("table", 0, "one or more rows long")
    values, nodes = given[sensitive], given[guard]
    tree.covers(sensitive, values)
    below = np.zeros((len(nodes.values), len(values.values)), dtype=np.bool_)
    for place, node in enumerate(nodes.values):
        if node is None:
            continue
        lines = [[tree.label(value, level) for level in range(tree.height + 1)] for value in values.values]
        below[place] = [str(node) in line for line in lines]
        if not any(str(node) in (item, *labels) for item, labels in tree.labels.items()):
            raise InvalidParameter(guard, node, "a value or a label of the hierarchy")
    # A guard that the person's own value is not below protects nothing of theirs.
    own = below[nodes.codes, values.codes]
    stray = np.flatnonzero(~own & np.array([node is not None for node in nodes.values])[nodes.codes])
    if len(stray):
        row = int(stray[0])
        cell = nodes.values[nodes.codes[row]]
        raise InvalidParameter(f"{guard} of row {row + 1}", cell, f"a node above {values.values[values.codes[row]]!r}")
    classes = classes_of(given, quasi)
    counts = np.bincount(
        classes.of_row * len(values.values) + values.codes, minlength=len(classes) * len(values.values)
    ).reshape(len(classes), -1)
    pairs = np.unique(classes.of_row * len(nodes.values) + nodes.codes)
    of_class, of_node = pairs // len(nodes.values), pairs % len(nodes.values)
    shares = (counts[of_class] * below[of_node]).sum(axis=1) / classes.sizes[of_class]
    return float(shares.max(initial=0.0))


@dataclass(frozen=True)
class Freeform:
    """The surest conclusion from observable values to one that is not.

    Args:
        share: of rows with the seen values that have the told one; 0 if nothing can be told.
        known: what is seen, by column.
        told: the column and value that follow.
        rows: with what is seen.

    """

    share: float
    known: tuple[tuple[str, Any], ...] = ()
    told: tuple[str, Any] | None = None
    rows: int = 0


def freeform(
    table: Any, observable: Mapping[str, Collection[Any]], *, most: int = 3, columns: Sequence[str] | None = None
) -> Freeform:
    """Return the surest conclusion: the table is FF-anonymous for every bound from its share on.

    A missing cell is neither seen nor told.

    Args:
        table: a table or a frame.
        observable: by column, the values that can be seen; of a column that is not named, none can.
        most: values that somebody has seen of a person, at most.
        columns: those that are looked at; all, if not given.

    >>> people = {"town": ["a", "a", "b"], "ill": ["flu", "flu", "rash"]}
    >>> freeform(people, {"town": ["a"], "ill": ["rash"]}).told
    ('ill', 'flu')

    """
    given = Table.of(table)
    names = tuple(given.names if columns is None else columns)
    whole("most", most, least=1)
    for name in observable:
        if name not in names:
            raise InvalidParameter("observable", name, f"one of {', '.join(names)}")
    seen = {name: _among(given[name].values, observable.get(name, ())) for name in names}
    sources = [name for name in names if seen[name].any()]
    most = min(most, len(sources))
    if sum(comb(len(sources), size) for size in range(1, most + 1)) > _MOST_SETS:
        raise InvalidParameter("most", most, f"small enough for at most {_MOST_SETS:,} sets of columns")
    best = Freeform(0.0)
    for size in range(1, most + 1):
        for some in itertools.combinations(sources, size):
            found = _surest(given, names, some, seen)
            if found.share > best.share:
                best = found
    return best


def _among(values: Sequence[Any], some: Collection[Any]) -> NDArray[np.bool_]:
    """Return which values are among some; what is missing is not."""
    wanted = set(some)
    return np.array([value is not None and value in wanted for value in values], dtype=np.bool_)


def _surest(table: Table, names: Sequence[str], some: Sequence[str], seen: Mapping[str, Any]) -> Freeform:
    """Return the surest conclusion from the values of some columns, all of them observable."""
    shown = np.ones(len(table), dtype=np.bool_)
    for name in some:
        shown &= seen[name][table[name].codes]
    rows = np.flatnonzero(shown)
    best = Freeform(0.0)
    if not len(rows):
        return best
    classes = group([table[name].codes[rows] for name in some], [len(table[name].values) for name in some])
    for name in names:
        if name in some:
            continue
        codes, size = table[name].codes[rows], len(table[name].values)
        there = np.array([value is not None for value in table[name].values], dtype=np.bool_)
        hidden = ~seen[name][codes] & there[codes]
        pairs, counts = np.unique(classes.of_row[hidden] * size + codes[hidden], return_counts=True)
        if not len(pairs):
            continue
        shares = counts / classes.sizes[pairs // size]
        place = int(shares.argmax())
        if shares[place] > best.share:
            number = int(pairs[place] // size)
            row = rows[int(np.flatnonzero(classes.of_row == number)[0])]
            known = tuple((one, table[one].values[table[one].codes[row]]) for one in some)
            told = (name, table[name].values[int(pairs[place] % size)])
            best = Freeform(float(shares[place]), known, told, int(classes.sizes[number]))
    return best
