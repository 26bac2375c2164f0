"""Full-domain generalisation: one level for all cells of a quasi-identifier; the best choice of levels, or a quick one.

``Optimal`` finds the choice with the smallest penalty of all. No choice has less than its penalty without suppression,
which grows with every level; so whatever has more than the best found so far need not be looked at. Where rules are
kept by coarser classes (no suppression, or rules on sizes and distinct values alone), a choice that fails rules out all
finer ones, and one that does not spares all coarser ones: they are looked for by halving chains through the lattice.

Sources: Incognito (LeFevre, DeWitt, Ramakrishnan 2005), Flash (Kohlmayer et al. 2012), Datafly (Sweeney 1998).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.hierarchies import Hierarchy
from dither.disguise.lattice import OBJECTIVES, Checked, Lattice, Node, Objective, rows_allowed
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Table
from dither.errors import InvalidParameter

#: Attacks on tables with one level for each quasi-identifier.
LEVELS_ATTACKED: Final = ("homogeneity", "background", "skewness", "similarity", "minimality")


@disguise
@dataclass(frozen=True)
class Optimal(Disguise):
    """The levels with the smallest penalty of all that leave out few enough rows.

    Args:
        roles: of the columns.
        rules: that every class fulfils.
        hierarchies: of all quasi-identifiers.
        suppression: the share of rows that may be left out.
        objective: what is to be as small as it can be: the width of cells (``penalty``), the squares of class sizes
            (``discernibility``), the bits that labels leave open (``entropy``), or the sum of levels (``height``).

    >>> wards = Hierarchy.tree({"front": ["a", "b"], "back": ["c", "d"]})
    >>> made = Optimal(Roles(("ward",)), Rules(k=2), {"ward": wards}).apply({"ward": ["a", "b", "c", "d"]})
    >>> made.frame()["ward"]
    ['front', 'front', 'back', 'back']

    """

    name: ClassVar[str] = "optimal"
    source: ClassVar[str] = "Incognito (LeFevre et al. 2005); Flash (Kohlmayer et al. 2012)"
    attacks: ClassVar[tuple[str, ...]] = LEVELS_ATTACKED

    roles: Roles
    rules: Rules
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: float = 0.0
    objective: Objective = "penalty"

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InvalidParameter("objective", self.objective, f"one of {', '.join(OBJECTIVES)}")

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the quasi-identifiers on the best levels."""
        allowed = rows_allowed(self.rules, self.suppression, len(table))
        lattice = Lattice.of(table, self.roles.quasi, self.hierarchies, trial, self.objective)
        search = Search(lattice, allowed, tagged=not allowed or self.rules.survives_mixing)
        node = search.best()
        looked = f"The best of {search.floor.size:,} choices of levels; {search.looked:,} of them were evaluated."
        return lattice.recoded(table, node, (looked,))

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> Optimal:
        """Return masks of all quasi-identifiers."""
        return cls(roles, rules, masked(table, roles), 0.0 if rules.compares else 0.1)


@disguise
@dataclass(frozen=True)
class Datafly(Disguise):
    """One level up where a quasi-identifier has most values, until few enough rows are left out.

    Args:
        roles: of the columns.
        rules: that every class fulfils.
        hierarchies: of all quasi-identifiers.
        suppression: the share of rows that may be left out.

    """

    name: ClassVar[str] = "datafly"
    source: ClassVar[str] = "Datafly (Sweeney 1998)"
    attacks: ClassVar[tuple[str, ...]] = LEVELS_ATTACKED

    roles: Roles
    rules: Rules
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: float = 0.0

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the quasi-identifiers on the levels that were reached."""
        allowed = rows_allowed(self.rules, self.suppression, len(table))
        lattice = Lattice.of(table, self.roles.quasi, self.hierarchies, trial)
        node = [0] * len(lattice.quasi)
        # On the last levels all rows are in one class, which fulfils the rules.
        while lattice.check(tuple(node)).suppressed > allowed:
            counts = [
                len(np.unique(some[level])) if level + 1 < len(some) else 0
                for some, level in zip(lattice.codes, node, strict=True)
            ]
            node[int(np.argmax(counts))] += 1
        return lattice.recoded(table, tuple(node), ())

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> Datafly:
        """Return masks of all quasi-identifiers."""
        return cls(roles, rules, masked(table, roles), 0.0 if rules.compares else 0.1)


def masked(table: Table, roles: Roles) -> dict[str, Hierarchy]:
    """Return masks of all quasi-identifiers of a table."""
    return {name: Hierarchy.masks(table[name].values) for name in roles.quasi}


class Search:
    """The search for the best node of a lattice.

    Args:
        lattice: of the table.
        allowed: how many rows may be left out.
        tagged: whether a node that passes makes all coarser ones pass.

    """

    def __init__(self, lattice: Lattice, allowed: int, *, tagged: bool) -> None:
        self.floor = lattice.floor()
        self.looked = 0
        self._lattice, self._allowed, self._tagged = lattice, allowed, tagged
        self._seen: dict[Node, Checked] = {}
        # 1 where a node is known to pass, -1 where it is known to fail.
        self._known = np.zeros(lattice.shape, dtype=np.int8)
        self._least = np.inf
        self._found: Node = tuple(size - 1 for size in lattice.shape)

    def best(self) -> Node:
        """Return the node with the smallest penalty among those that pass; of several, the one with fewer levels."""
        order = self._by_floor()
        if self._tagged:
            for node in order:
                if self._is_open(node) and not self._known[node]:
                    self._halve(list(self._chain(node)))
            # Without suppression every loss grows with levels: no tagged node has less than the one that tagged it.
            order = [node for node in order if self._known[node] > 0] if self._allowed else []
        for node in order:
            if self.floor[node] > self._least:
                break
            if self._is_open(node):
                self._look(node)
        return self._found

    def _by_floor(self) -> list[Node]:
        places = np.argsort(self.floor, axis=None, kind="stable")
        return list(zip(*(axis.tolist() for axis in np.unravel_index(places, self.floor.shape)), strict=True))

    def _is_open(self, node: Node) -> bool:
        """Return whether a node may be better than the best one found."""
        return (float(self.floor[node]), sum(node)) < (self._least, sum(self._found))

    def _look(self, node: Node) -> bool:
        """Return whether a node passes, and keep what is known by that."""
        if node not in self._seen:
            self.looked += 1
            self._seen[node] = self._lattice.check(node)
        checked = self._seen[node]
        passes = checked.suppressed <= self._allowed
        if passes and (checked.penalty, sum(node)) < (self._least, sum(self._found)):
            self._least, self._found = checked.penalty, node
        if self._tagged:
            some = tuple(slice(level, None) if passes else slice(0, level + 1) for level in node)
            self._known[some] = 1 if passes else -1
        return passes

    def _chain(self, node: Node) -> Iterator[Node]:
        """Yield a node and coarser ones of which nothing is known, each one level above the one before."""
        step: Node | None = node
        while step is not None:
            yield step
            above = [
                (*step[:place], level + 1, *step[place + 1 :])
                for place, level in enumerate(step)
                if level + 1 < self.floor.shape[place]
            ]
            unknown = [one for one in above if not self._known[one]]
            step = min(unknown, key=self.floor.__getitem__, default=None)

    def _halve(self, chain: list[Node]) -> None:
        """Look for the first node of a chain that passes."""
        low, high = 0, len(chain)
        while low < high:
            middle = (low + high) // 2
            if self._look(chain[middle]):
                high = middle
            else:
                low = middle + 1
