"""Schemes of generalisation beyond one level for all: which values of a column may become one label together.

Each scheme keeps, for every quasi-identifier, blocks of values that are written alike. At the beginning every value is
a block, at the end one block holds all. In a step one block grows: of all moves that a scheme allows for the values of
rows in classes that break a rule, the one that reaches most such rows for the penalty it adds. What is allowed is all
that differs:

- *subtree*: all values below a node of the hierarchy, or none of them;
- *sibling*: some values below a node become its label, and others may stay;
- *set-partition*: any two blocks, written as a set, without a hierarchy;
- *guided*: values of two groups (the labels of the first level) in one block take both groups with them;
- *guided-ordered*: they take every value between the least of one group and the greatest of the other with them.

Source: the schemes of LeFevre, DeWitt, Ramakrishnan (2005) and of Iyengar (2002), named as in Kar's thesis
(Saskatchewan 2017, section 2.2). The search is greedy: another choice of blocks may lose less.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from dither.disguise.blocks import Blocks, Labelled, grown
from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.hierarchies import ANYTHING, Hierarchy
from dither.disguise.lattice import rows_allowed
from dither.disguise.roles import Roles
from dither.disguise.rules import Mask, Rules, Trial, ordered_values
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter

_ATTACKS: Final = ("homogeneity", "background", "skewness", "similarity", "minimality")
_SOURCE: Final = "named in Kar (Saskatchewan 2017), section 2.2"


@dataclass(frozen=True)
class _Scheme(Disguise):
    """Blocks of values, grown until every class fulfils the rules.

    Args:
        roles: of the columns.
        rules: that every class fulfils.
        hierarchies: of all quasi-identifiers.
        suppression: the share of rows that may be left out.

    """

    source: ClassVar[str] = _SOURCE
    attacks: ClassVar[tuple[str, ...]] = _ATTACKS

    roles: Roles
    rules: Rules
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: float = 0.0

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the quasi-identifiers as labels of blocks."""
        allowed = rows_allowed(self.rules, self.suppression, len(table))
        blocks = [self._blocks(table, name) for name in self.roles.quasi]
        kept, steps = grown(table, self.roles.quasi, blocks, trial, allowed)
        columns, penalty = {}, 0.0
        for name, one in zip(self.roles.quasi, blocks, strict=True):
            column = table[name].taken(kept)
            labels, of_value = one.labels()
            made = Column.of(labels)
            columns[name] = Column(made.values, made.codes[of_value][column.codes])
            if len(kept):
                penalty += float(one.widths()[column.codes].mean()) / len(blocks)
        return Recoded(columns, kept, penalty, (f"Blocks of values ({self.name}) after {steps:,} steps.",))

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> _Scheme:
        """Return masks of all quasi-identifiers."""
        trees = {name: Hierarchy.masks(table[name].values) for name in roles.quasi}
        return cls(roles, rules, trees, 0.0 if rules.compares else 0.1)

    def _blocks(self, table: Table, name: str) -> Blocks:
        column = table[name]
        tree = self.hierarchies.get(name)
        if tree is None:
            raise InvalidParameter("hierarchies", name, "set for every quasi-identifier; this one has no hierarchy")
        return self.started(column, tree.covers(name, column))

    def _no_tree(self, table: Table, name: str) -> Hierarchy:
        """Return the hierarchy that keeps values or gives them up, where none may be given."""
        if self.hierarchies:
            raise InvalidParameter("hierarchies", next(iter(self.hierarchies)), f"not allowed with {self.name}")
        return Hierarchy.flat(table[name].values)

    @abstractmethod
    def started(self, column: Column, tree: Hierarchy) -> Blocks:
        """Return the blocks of single values of a column, which know how they may grow."""


class _Subtrees(Labelled):
    """Blocks that are all values below a node."""

    def moves(self, value: int) -> Iterator[Codes]:
        """Yield the values below the node above a value's block."""
        level = int(self.level[value]) + 1
        if level <= self.height:
            yield self.below(value, level)

    def merge(self, values: Codes) -> None:
        """Write all of them as the node above."""
        self.level[values] = self.above(values)


@disguise
@dataclass(frozen=True)
class Subtree(_Scheme):
    """All values below a node of the hierarchy become its label, or none of them does.

    >>> wards = Hierarchy.tree({"front": ["a", "b"], "back": ["c", "d"]})
    >>> made = Subtree(Roles(("ward",)), Rules(k=2), {"ward": wards}).apply({"ward": ["a", "b", "c", "c", "d", "d"]})
    >>> made.frame()["ward"]
    ['front', 'front', 'c', 'c', 'd', 'd']

    """

    name: ClassVar[str] = "subtree"

    def started(self, column: Column, tree: Hierarchy) -> Blocks:
        """Return blocks that grow to all values below a node."""
        return _Subtrees(column, tree)


class _Siblings(Labelled):
    """Blocks that are some of the values below a node."""

    def moves(self, value: int) -> Iterator[Codes]:
        """Yield a value's block with each of its siblings, and alone."""
        level = min(int(self.level[value]) + 1, self.height)
        mine = self.block_of(value)
        if self.level[value] < level:
            yield mine
        for block in self.others(value, self.below(value, level)):
            if self.level[block[0]] <= level:
                yield np.union1d(mine, block)

    def merge(self, values: Codes) -> None:
        """Write these values, and no other ones, as the node above all of them."""
        self.level[values] = np.maximum(self.level[values], self.above(values))


@disguise
@dataclass(frozen=True)
class Sibling(_Scheme):
    """Some values below a node become its label, and the others may stay as they are.

    >>> wards = Hierarchy.tree({"front": ["a", "b", "c"], "back": ["d"]})
    >>> made = Sibling(Roles(("ward",)), Rules(k=2), {"ward": wards}).apply({"ward": ["a", "b", "c", "c", "d", "d"]})
    >>> made.frame()["ward"]
    ['front', 'front', 'c', 'c', 'd', 'd']

    """

    name: ClassVar[str] = "sibling"

    def started(self, column: Column, tree: Hierarchy) -> Blocks:
        """Return blocks that grow by single siblings."""
        return _Siblings(column, tree)


class _Sets(Blocks):
    """Blocks that are sets of any values."""

    def moves(self, value: int) -> Iterator[Codes]:
        """Yield a value's block with each other block, and what that takes with it."""
        mine = self.block_of(value)
        for block in self.others(value):
            yield self.closed(np.union1d(mine, block))

    def closed(self, values: Codes) -> Codes:
        """Return the values that must be in one block if these are."""
        return values


class _Guided(_Sets):
    """Sets that take whole groups with them."""

    def __init__(self, column: Column, groups: Codes) -> None:
        super().__init__(column)
        self.groups = groups

    def closed(self, values: Codes) -> Codes:
        """Return the values with all of their groups, if they are of several."""
        while True:
            groups = np.unique(self.groups[values])
            if len(groups) == 1:
                return values
            more = np.flatnonzero(self.taken(groups))
            # Blocks that are touched come along.
            more = np.flatnonzero(np.isin(self.block, self.block[more]))
            if len(more) == len(values):
                return values
            values = more

    def taken(self, groups: Codes) -> Mask:
        """Return which values several groups in one block take with them."""
        return np.isin(self.groups, groups)


class _Ordered(_Guided):
    """Sets that take everything between their groups with them."""

    def __init__(self, column: Column, groups: Codes) -> None:
        super().__init__(column, groups)
        order = ordered_values(column)
        self.rank = np.empty(len(order), dtype=np.int64)
        self.rank[order] = np.arange(len(order))

    def taken(self, groups: Codes) -> Mask:
        """Return all values from the least of the groups to the greatest."""
        ranks = self.rank[np.isin(self.groups, groups)]
        return np.asarray((self.rank >= ranks.min()) & (self.rank <= ranks.max()))


@disguise
@dataclass(frozen=True)
class SetPartition(_Scheme):
    """Any values may become one set; no hierarchy is needed.

    >>> SetPartition(Roles(("ward",)), Rules(k=2)).apply({"ward": ["a", "b", "c", "c"]}).frame()["ward"]
    ['a | b', 'a | b', 'c', 'c']

    """

    name: ClassVar[str] = "set-partition"

    def started(self, column: Column, tree: Hierarchy) -> Blocks:
        """Return blocks that grow by any other."""
        del tree
        return _Sets(column)

    def _blocks(self, table: Table, name: str) -> Blocks:
        return self.started(table[name], self._no_tree(table, name))

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> SetPartition:
        """Return the method for all quasi-identifiers."""
        del table
        return cls(roles, rules, {}, 0.0 if rules.compares else 0.1)


@disguise
@dataclass(frozen=True)
class Guided(_Scheme):
    """Sets of values; those of two groups in one set take both groups with them. Groups are the labels of level 1.

    >>> wards = Hierarchy.tree({"front": ["a", "b"], "back": ["c", "d"]})
    >>> made = Guided(Roles(("ward",)), Rules(k=3), {"ward": wards}).apply({"ward": ["a", "b", "c", "d", "d", "d"]})
    >>> made.frame()["ward"][0]
    'a | b | c | d'

    """

    name: ClassVar[str] = "guided"

    def started(self, column: Column, tree: Hierarchy) -> Blocks:
        """Return blocks that grow by values of their group, or by whole groups."""
        return _Guided(column, tree.levels(column)[1].codes)


@disguise
@dataclass(frozen=True)
class GuidedOrdered(_Scheme):
    """Sets of values; those of two groups in one set take all values from the first group to the last with them."""

    name: ClassVar[str] = "guided-ordered"

    def started(self, column: Column, tree: Hierarchy) -> Blocks:
        """Return blocks that grow by values of their group, or by all groups between."""
        return _Ordered(column, tree.levels(column)[1].codes)


@disguise
@dataclass(frozen=True)
class ValueSuppression(_Scheme):
    """Some values of a column are struck out in all rows; no hierarchy is needed.

    >>> ValueSuppression(Roles(("ward",)), Rules(k=2)).apply({"ward": ["a", "b", "c", "c"]}).frame()["ward"]
    ['*', '*', 'c', 'c']

    """

    name: ClassVar[str] = "value-suppression"

    def started(self, column: Column, tree: Hierarchy) -> Blocks:
        """Return blocks in which a value stays or is struck out."""
        return _Siblings(column, tree, ANYTHING)

    def _blocks(self, table: Table, name: str) -> Blocks:
        return self.started(table[name], self._no_tree(table, name))

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> ValueSuppression:
        """Return the method for all quasi-identifiers."""
        del table
        return cls(roles, rules, {}, 0.0 if rules.compares else 0.1)
