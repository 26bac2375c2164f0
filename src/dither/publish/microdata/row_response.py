"""Randomised rows: every merged attribute of every row is reported truthfully, or as any other code.

What it takes to publish the rows themselves, as the printed PrivFuzzy does, and be private: randomised response with as
many answers as a merged attribute has codes. Two mechanisms: ``RowResponse``, a primitive on rows of codes, and
``PerturbedRows``, which merges and un-merges around it. It is here so that its cost can be seen: histograms of the same
groups are better by far. Corrections: the printed method adds noise of scale 1 / epsilon, or d / (n epsilon), to the
codes of a row; one row moves all of its codes by up to their whole range.

How many rows there are is published with them, so rows are replaced and their number is public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue
from dither.exact import Number, Of, Positive, TupleOf, Whole, non_negative, whole
from dither.lift.attributes import Attributes
from dither.mechanisms.core.mechanism import Composed, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import IntegerArray
from dither.privacy import ROW_REPLACED, Loss, Metric, Plan, PureDP, Relation, Unit, Use
from dither.privacy.calibration import check_loss, laplace_scale
from dither.publish.microdata.merged import MergedAttributes, merged_of
from dither.publish.microdata.priv_fuzzy import GroupNames

if TYPE_CHECKING:
    from dither.noise import Noise

MOST_ROWS: Final = 2**24
_MOST_CODES: Final = 2**31


class RowsReplaced(Metric):
    """How many rows of the first table must be replaced to make the second, in any order."""

    def __init__(self, columns: int) -> None:
        super().__init__(f"ROWS_REPLACED({columns})", "the number of rows that are replaced")
        self._columns = columns

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the number; None for tables of different lengths."""
        here, there = (np.asarray(rows).reshape(-1, self._columns).tolist() for rows in (first, second))
        if len(here) != len(there):
            return None
        return Fraction((Counter(map(tuple, here)) - Counter(map(tuple, there))).total())

    def moved_by(self, unit: Unit) -> Fraction | None:
        """Return 1 if a row is replaced; every other change alters the number of rows."""
        return Fraction(1) if unit.is_one_record and unit.relation is Relation.REPLACE else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowsReplaced) and self._columns == other._columns

    def __hash__(self) -> int:
        return hash((RowsReplaced, self._columns))


def _part_examples() -> Iterator[Example]:
    pairs = ((np.array([[0]]), np.array([[2]]), 1), (np.array([[1]]), np.array([[-5]]), 1))
    yield Example(RowResponse(rows=1, sizes=(3,), epsilon=1), np.array([[1]]), pairs)
    swapped = (np.array([[0, 1], [1, 2]]), np.array([[1, 2], [0, 0]]), 1)
    yield Example(RowResponse(rows=2, sizes=(2, 3), epsilon="1/2"), np.array([[0, 1], [1, 2]]), (swapped,))


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 3, "c": 2})
    rows = np.array([[0, 1, 0], [1, 2, 1], [5, -3, 9]])
    other = np.array([[1, 2, 1], [5, -3, 9], [1, 1, 1]])
    yield Example(PerturbedRows(attributes=table, groups=(("a", "b"),), rows=3, epsilon=1), rows, ((rows, other, 1),))


@register(
    examples=_part_examples,
    source="A study on privacy preserving data publishing with differential privacy (Kar 2017), section 3.4.3, with "
    "randomised response (Warner 1965; Extremal Mechanisms for Local Differential Privacy, Kairouz et al. 2014)",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class RowResponse(Primitive[Any, Any]):
    """Report every code of every row, or each other code with probability e^-epsilon times that of the truth.

    Guarantee: tables of which ``d_in`` rows are replaced lose ``d_in * epsilon`` for each column that has more than one
    code. Rows are reported in the order of what they say, not in the order in which they came.

    Args:
        rows: how many there are; public.
        sizes: how many codes each column has, numbered from 0.
        epsilon: what one code of one row loses.

    >>> RowResponse(rows=100, sizes=(4, 9, 1), epsilon="1/2").loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "row-response"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a single report is right or wrong; only many of them estimate a frequency"
    no_interval_because: ClassVar[str] = "a single report names a code, which has no interval"

    rows: Whole = Whole(least=1, most=MOST_ROWS)
    sizes: TupleOf = TupleOf(Whole(least=1, most=_MOST_CODES), rule="at least one number of codes")
    epsilon: Positive = Positive()

    @property
    def distance(self) -> Metric:
        """Rows that are replaced."""
        return RowsReplaced(len(self.sizes))

    @property
    def domain(self) -> IntegerArray:
        """A code for each column of each row; a code out of range becomes the nearest."""
        return IntegerArray(self.draw_shape)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """The table's rows and columns."""
        return (self.rows, len(self.sizes))

    def loss(self, d_in: Number = 1) -> Loss:
        """Return d_in times epsilon for each column that has more than one code."""
        return PureDP(non_negative("d_in", d_in) * self.epsilon * sum(size > 1 for size in self.sizes))

    def truth(self, size: int) -> float:
        """Return the probability of reporting the truth in a column of ``size`` codes, to float precision."""
        return float(1 / (1 + (size - 1) * np.exp(-float(self.epsilon))))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent reports of the table, each with its rows in increasing order."""
        last = np.array(self.sizes, dtype=np.int64) - 1
        table = np.clip(self.domain.admit(value).reshape(self.draw_shape), 0, last)
        drawn = np.empty((count, *self.draw_shape), dtype=np.int64)
        for column, size in enumerate(self.sizes):
            truth = np.tile(table[:, column], count)
            if size > 1:
                lies = ~noise.bernoulli_truth(self.epsilon, truth.size, others=size - 1)
                shift = 1 + noise.uniform_below(size - 1, truth.size)
                truth = np.where(lies, (truth + shift) % size, truth).astype(np.int64)
            drawn[:, :, column] = truth.reshape(count, self.rows)
        for number in range(count):
            drawn[number] = drawn[number][np.lexsort(drawn[number].T[::-1])]
        return drawn


@register(
    examples=_examples,
    source="A study on privacy preserving data publishing with differential privacy (Kar 2017), section 3.4.3: its "
    "perturbed rows, with their true cost",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PerturbedRows(Composed[Any, NDArray[np.int64]]):
    """Publish every row with each of its merged attributes randomised.

    Guarantee: tables of which ``d_in`` rows are replaced lose ``d_in * epsilon`` for each group of attributes that has
    more than one combination.

    Args:
        attributes: names and sizes, as encodings say; public.
        groups: public groups, each merged into one attribute; others stay alone.
        rows: how many there are; public, because they are all published.
        epsilon: what one merged attribute of one row loses.

    >>> people = Attributes.of({"age": 4, "job": 5, "sex": 2})
    >>> method = PerturbedRows.calibrated(PureDP(2), attributes=people, groups=[("age", "job")], rows=1000)
    >>> method.loss(1), method.epsilon, round(method.part.truth(20), 3)
    (PureDP('2'), Fraction(1, 1), 0.125)

    """

    name: ClassVar[str] = "perturbed-rows"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a row is reported correctly or not; see frequencies for what many of them show"
    no_interval_because: ClassVar[str] = "a row has no interval; see frequencies for what many of them show"

    attributes: Of[Attributes] = Of(Attributes)
    groups: GroupNames = GroupNames(())
    rows: Whole = Whole(least=1, most=MOST_ROWS)
    epsilon: Positive = Positive()

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", merged_of(self.attributes, self.groups).groups)

    @classmethod
    def calibrated(
        cls, within: Loss, *, attributes: Attributes, rows: int, groups: Sequence[Sequence[str]] = ()
    ) -> Self:
        """Return the mechanism that reports the truth most often with a loss within ``within`` for one row replaced.

        Args:
            within: the loss not to exceed.
            attributes: names and sizes.
            rows: how many there are.
            groups: public groups.

        """
        check_loss(within)
        sizes = merged_of(attributes, groups).merged.sizes
        moved = max(sum(size > 1 for size in sizes), 1)
        return cls(attributes=attributes, groups=groups, rows=rows, epsilon=1 / laplace_scale(within, moved))

    @property
    def distance(self) -> Unit:
        """Rows replaced."""
        return ROW_REPLACED

    @cached_property
    def merged(self) -> MergedAttributes:
        """The merged attributes."""
        return merged_of(self.attributes, self.groups)

    @property
    def part(self) -> RowResponse:
        """The response of all rows."""
        return RowResponse(rows=self.rows, sizes=self.merged.merged.sizes, epsilon=self.epsilon)

    def plan(self) -> Plan:
        """One draw for all rows; a replaced row is one merged row."""
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return rows of codes, sorted by content."""
        codes = self.attributes.codes(data)
        if codes.shape[1] != self.rows:
            raise InvalidValue("data", data, f"exactly {self.rows} rows, as declared")
        return self.merged.unmerge(np.asarray(run(self.part, self.merged.merge(codes.T))))

    def frequencies(self, out: NDArray[np.int64], group: int) -> NDArray[np.float64]:
        """Return unbiased estimates of how many rows have each code of a merged attribute: post-processing.

        Args:
            out: the released rows.
            group: the number of the merged attribute.

        """
        size = self.merged.merged.sizes[whole("group", group, most=len(self.merged.groups) - 1)]
        seen = np.bincount(self.merged.merge(np.asarray(out))[:, group], minlength=size).astype(np.float64)
        if size == 1:
            return seen
        truth = self.part.truth(size)
        other = (1 - truth) / (size - 1)
        return (seen - self.rows * other) / (truth - other)
