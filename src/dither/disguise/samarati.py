"""Samarati's search: the lowest choices of levels that leave out few enough rows, found by halving the height.

Source: Samarati, Protecting Respondents' Identities in Microdata Release (2001). The height of a choice is the sum of
its levels. Where rules are kept by coarser classes, a height has a choice that passes whenever a lower one has, so the
lowest such height is found by halving; otherwise heights are tried from the lowest up. Of the choices of that height
that pass, the one with the smallest penalty is taken. ``optimal`` may find one of greater height that loses less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dither.disguise.contract import Disguise, Recoded, disguise
from dither.disguise.full_domain import LEVELS_ATTACKED, masked
from dither.disguise.hierarchies import Hierarchy
from dither.disguise.lattice import Lattice, Node, rows_allowed
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules, Trial
from dither.disguise.table import Table


@disguise
@dataclass(frozen=True)
class Samarati(Disguise):
    """Levels whose sum is as small as it can be, and of these the ones with the smallest penalty.

    Args:
        roles: of the columns.
        rules: that every class fulfils.
        hierarchies: of all quasi-identifiers.
        suppression: the share of rows that may be left out.

    >>> wards = Hierarchy.tree({"front": ["a", "b"], "back": ["c", "d"]})
    >>> Samarati(Roles(("ward",)), Rules(k=2), {"ward": wards}).apply({"ward": ["a", "b", "c", "d"]}).frame()
    {'ward': ['front', 'front', 'back', 'back']}

    """

    name: ClassVar[str] = "samarati"
    source: ClassVar[str] = "Protecting Respondents' Identities in Microdata Release (Samarati 2001)"
    attacks: ClassVar[tuple[str, ...]] = LEVELS_ATTACKED

    roles: Roles
    rules: Rules
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: float = 0.0

    def recode(self, table: Table, trial: Trial) -> Recoded:
        """Return the quasi-identifiers on the lowest levels."""
        allowed = rows_allowed(self.rules, self.suppression, len(table))
        lattice = Lattice.of(table, self.roles.quasi, self.hierarchies, trial)
        # What passes is known of coarser classes as well: without suppression always, else by rules that mixing keeps.
        halves = not allowed or self.rules.survives_mixing
        low, high = 0, sum(size - 1 for size in lattice.shape)
        best = _best_at(lattice, high, allowed)
        while low < high:
            middle = (low + high) // 2 if halves else low
            found = _best_at(lattice, middle, allowed)
            if found is not None:
                best, high = found, middle
            else:
                low = middle + 1
        if best is None:
            raise RuntimeError("the last levels do not fulfil the rules")
        return lattice.recoded(table, best, (f"The lowest height of levels that passes: {high}.",))

    @classmethod
    def example(cls, table: Table, roles: Roles, rules: Rules) -> Samarati:
        """Return masks of all quasi-identifiers."""
        return cls(roles, rules, masked(table, roles), 0.0 if rules.compares else 0.1)


def nodes_at(shape: Node, height: int) -> Iterator[Node]:
    """Yield all choices of levels with a given sum.

    >>> list(nodes_at((2, 3), 2))
    [(0, 2), (1, 1)]

    """
    if len(shape) == 1:
        if height < shape[0]:
            yield (height,)
        return
    rest = sum(size - 1 for size in shape[1:])
    for level in range(max(0, height - rest), min(shape[0] - 1, height) + 1):
        yield from ((level, *more) for more in nodes_at(shape[1:], height - level))


def _best_at(lattice: Lattice, height: int, allowed: int) -> Node | None:
    """Return the choice of a height with the smallest penalty among those that pass; None if none does."""
    looked = [(lattice.check(node), node) for node in nodes_at(lattice.shape, height)]
    return min(((found.penalty, node) for found, node in looked if found.suppressed <= allowed), default=(0, None))[1]
