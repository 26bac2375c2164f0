"""What every class must fulfil before a maker may stop: k, and rules on the sensitive values in it.

All rules are kept when classes that fulfil them are put together: sizes and numbers of different values grow, entropy
is concave, and distances, shares and ratios are convex in the shares. For recursive diversity, the most frequent value
of two classes together is at most as frequent as in both, and all values from the l-th on are at least as many. So a
class may always be made coarser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dither.disguise import figures
from dither.disguise.classes import Counts, Figure, Figures, spectra, tallies
from dither.disguise.hierarchies import Hierarchy
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter
from dither.exact import whole

Diversity = Literal["distinct", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]
Mask = NDArray[np.bool_]
#: With more counts for each row, sorting the rows is faster.
_WIDE: Final = 32
DIVERSITIES: Final[tuple[Diversity, ...]] = get_args(Diversity)
DISTANCES: Final[tuple[Distance, ...]] = get_args(Distance)


@dataclass(frozen=True)
class Rules:
    """What every class must fulfil.

    Args:
        k: rows of a class, at least.
        l: how diverse its sensitive values are, at least.
        diversity: how that is counted: ``distinct`` values, e to the ``entropy``, or ``recursive`` with ``c``.
        c: of recursive (c, l)-diversity.
        t: the earth mover's distance of its sensitive values from those of the whole table, at most.
        distance: between two values: ``equal``, ``ordered``, or ``hierarchical``.
        alpha: the share of its most frequent sensitive value, at most.
        beta: the relative gain of a value over its share in the table, at most.
        delta: |log| of that ratio, less than this.
        trees: hierarchies of sensitive columns, for the hierarchical distance.

    """

    k: int = 1
    l: float | None = None  # noqa: E741 - what everybody calls it
    diversity: Diversity = "distinct"
    c: float = 1.0
    t: float | None = None
    distance: Distance = "equal"
    alpha: float | None = None
    beta: float | None = None
    delta: float | None = None
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole("k", self.k, least=1)
        if self.diversity not in DIVERSITIES:
            raise InvalidParameter("diversity", self.diversity, f"one of {', '.join(DIVERSITIES)}")
        if self.distance not in DISTANCES:
            raise InvalidParameter("distance", self.distance, f"one of {', '.join(DISTANCES)}")
        for name, least, most in (
            ("l", 1, np.inf),
            ("c", 0, np.inf),
            ("t", 0, np.inf),
            ("alpha", 0, 1),
            ("beta", 0, np.inf),
            ("delta", 0, np.inf),
        ):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and least <= value <= most):
                raise InvalidParameter(name, value, f"a number from {least} to {most}")

    @property
    def about_values(self) -> bool:
        """Whether there is a rule on sensitive values."""
        return any(one is not None for one in (self.l, self.t, self.alpha, self.beta, self.delta))

    @property
    def compares(self) -> bool:
        """Whether a rule compares classes with the whole table."""
        return any(one is not None for one in (self.t, self.beta, self.delta))

    @property
    def survives_mixing(self) -> bool:
        """Whether a class that fulfils the rules still does when rows of one that does not are added to it."""
        is_distinct = self.l is None or self.diversity == "distinct"
        return is_distinct and all(one is None for one in (self.t, self.alpha, self.beta, self.delta))

    def said(self) -> str:
        """Return the rules in words."""
        words = [f"k = {self.k}"]
        if self.l is not None:
            how = f" with c = {self.c:g}" if self.diversity == "recursive" else ""
            words.append(f"l = {self.l:g} ({self.diversity}{how})")
        if self.t is not None:
            words.append(f"t = {self.t:g} ({self.distance} distance)")
        words += [
            f"{name} = {value:g}" for name in ("alpha", "beta", "delta") if (value := getattr(self, name)) is not None
        ]
        return ", ".join(words)

    def over(self, table: Table, sensitive: Sequence[str]) -> Trial:
        """Return the trial of classes of rows of a table."""
        if self.about_values and not sensitive:
            raise InvalidParameter("sensitive", list(sensitive), f"one or more columns, for {self.said()}")
        for name in sensitive:
            if name in self.trees:
                self.trees[name].covers(name, table[name])
        return Trial(self, tuple(Values.of(table[name], self, self.trees.get(name)) for name in sensitive))


def diversity_of(rules: Rules) -> Figure:
    """Return the figure that l bounds from below."""
    if rules.diversity == "recursive":
        return figures.recursive(rules.c)
    return figures.distinct if rules.diversity == "distinct" else figures.entropy


@dataclass(frozen=True, eq=False)
class Values:
    """The sensitive values of one column, in order: numbers by size, texts by the alphabet.

    Args:
        codes: of the rows.
        shares: of the values in the whole table.
        distance: the figure that t bounds.

    """

    codes: Codes
    shares: Figures
    distance: Figure

    @classmethod
    def of(cls, column: Column, rules: Rules, tree: Hierarchy | None = None) -> Values:
        """Return the values of a column."""
        order = ordered_values(column)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        codes = ranks[column.codes]
        present = np.bincount(codes, minlength=len(order)) > 0
        codes = (np.cumsum(present) - 1)[codes]
        kept = Column(tuple(column.values[place] for place in order[present]), codes)
        distance: Figure = figures.ordered_distance if rules.distance == "ordered" else figures.equal_distance
        if rules.distance == "hierarchical":
            if tree is None:
                raise InvalidParameter("trees", None, "a hierarchy of every sensitive column, for this distance")
            distance = figures.hierarchical_distance([level.codes for level in tree.levels(kept)[1:]])
        return cls(codes, np.bincount(codes, minlength=len(kept.values)) / max(len(codes), 1), distance)


def ordered_values(column: Column) -> Codes:
    """Return the places of a column's values in their order; what is missing comes first."""
    numbers = column.scale()
    if numbers is not None:
        return np.argsort(np.where(np.isnan(numbers), -np.inf, numbers), kind="stable")
    keys = [(value is not None, str(value)) for value in column.values]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Trial:
    """Rules, and the sensitive values that they are about."""

    rules: Rules
    values: tuple[Values, ...]

    def holds(self, of_row: Codes, sizes: Counts, rows: Codes | None = None, weights: Counts | None = None) -> Mask:
        """Return which classes fulfil the rules.

        Args:
            of_row: the class of each row.
            sizes: of the classes.
            rows: which rows of the table these are; all, in order, if not given.
            weights: how many rows each of them stands for; one if not given.

        """
        good: Mask = sizes >= self.rules.k
        if not self.rules.about_values:
            return good
        for values in self.values:
            codes = values.codes if rows is None else values.codes[rows]
            # Where nothing is compared with the table, it does not matter which values are counted.
            is_wide = not self.rules.compares and len(sizes) * len(values.shares) > _WIDE * len(codes)
            counted = spectra if is_wide else tallies
            parts = [
                self._keeps(counts, values)
                for counts in counted(of_row, len(sizes), codes, len(values.shares), weights)
            ]
            good &= np.concatenate(parts) if parts else good
        return good

    def _keeps(self, counts: Counts, values: Values) -> Mask:
        rules, shares = self.rules, values.shares
        good = np.ones(len(counts), dtype=np.bool_)
        if rules.l is not None:
            good &= diversity_of(rules)(counts, shares) >= rules.l - figures.SLACK
        if rules.t is not None:
            good &= values.distance(counts, shares) <= rules.t + figures.SLACK
        if rules.alpha is not None:
            good &= figures.largest_share(counts, shares) <= rules.alpha + figures.SLACK
        if rules.beta is not None:
            good &= figures.likeness(counts, shares) <= rules.beta + figures.SLACK
        if rules.delta is not None:
            good &= figures.disclosure(counts, shares) < rules.delta
        return good
