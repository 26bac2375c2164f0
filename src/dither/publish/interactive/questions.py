"""Questions: a WHERE over declared columns becomes a set of cells, by public facts alone.

The condition is computed on every public cell, with the meaning that it has for rows (``data.evaluation``): a part of
it on the cells of the columns that it names, and parts are put together by AND, OR and NOT with SQL's three values.
Where cells are ranges of values, a condition must be the same for all values of a cell, or it is refused: it would ask
for more than was counted.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Call, Expression, Filter, Kind, Literal, Name, Relation
from dither.data.evaluation import evaluator
from dither.data.expressions import Value, names_in
from dither.data.owners import table_of
from dither.errors import InvalidParameter
from dither.publish.interactive.products import MOST_ASKED, Product
from dither.publish.queries.query import Query
from dither.publish.synthetic.columns import Coding

Mask = NDArray[np.bool_]
#: How many values of ranges a condition is computed on.
_MOST_VALUES: Final = 2**16
_TURNED: Final = {"less": "more", "more": "less", "at_most": "at_least", "at_least": "at_most"}


@dataclass(frozen=True)
class _Truth:
    """Where a condition is true, and where it is false; where neither, it is NULL. Axes of length 1 are all alike."""

    true: Mask
    false: Mask


class Questions:
    """The cells of a conversation, as conditions speak of them.

    Args:
        table: the name of the table.
        codings: of its columns, in the order of the axes.
        kinds: of all columns of the table.

    """

    def __init__(self, table: str, codings: Sequence[Coding], kinds: Mapping[str, Kind]) -> None:
        self.table = table
        self.sizes = tuple(coding.size for coding in codings)
        self._codings = tuple(codings)
        self._kinds = dict(kinds)
        self._axes = {coding.column: axis for axis, coding in enumerate(codings)}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that can be asked about."""
        return tuple(self._axes)

    def cells(self, query: Query) -> Mask:
        """Return the cells whose rows a query counts.

        Args:
            query: one COUNT(*) of the table, with a condition or without.

        """
        condition = self._condition(query)
        if condition is None:
            return np.ones(self.sizes, dtype=np.bool_)
        return np.broadcast_to(self._truth(condition).true, self.sizes).copy()

    def product(self, query: Query) -> Product:
        """Return the conditions of a query on single columns; a query that is no conjunction of these is refused.

        Args:
            query: one COUNT(*) of the table, with a condition or without.

        """
        condition = self._condition(query)
        sides: dict[int, Mask] = {}
        for part in () if condition is None else _conjuncts(condition):
            used = sorted(self._axis(name) for name in names_in(part))
            if len(used) > 1:
                names = ", ".join(self._codings[axis].column for axis in used)
                rule = "conditions on one column each, with AND between them: there are too many cells for others"
                raise InvalidParameter("question", f"a condition on {names} together", rule)
            # What names no column is the same for all rows: a condition on the first, as good as on any other.
            axis = used[0] if used else 0
            side = np.broadcast_to(self._truth(part).true.reshape(-1), (self.sizes[axis],))
            sides[axis] = side & sides[axis] if axis in sides else side
        product = Product(sides)
        if len(product.axes) > MOST_ASKED:
            rule = f"conditions on at most {MOST_ASKED} columns"
            raise InvalidParameter("question", f"conditions on {len(product.axes)} columns", rule)
        return product

    def _condition(self, query: Query) -> Expression | None:
        """Return the condition of a query, or reject what is not one count of the table."""
        rule = f"one COUNT(*) of {self.table} with a WHERE over {', '.join(self.columns)}"
        if query.keys or query.having is not None or query.order or query.limit is not None:
            raise InvalidParameter("question", "a query with groups, an order or a limit", rule)
        if len(query.aggregates) != 1 or query.aggregates[0].function != "count" or query.aggregates[0].arguments:
            raise InvalidParameter("question", "something other than one COUNT(*)", rule)
        if len(query.outputs) != 1 or not isinstance(query.outputs[0][1], Name):
            raise InvalidParameter(
                "question", "an expression over a count", f"{rule}; compute the rest from the answer"
            )
        relation: Relation = query.relation
        found: list[Expression] = []
        while isinstance(relation, Filter):
            found.append(relation.condition)
            relation = relation.relation
        table = table_of(relation)
        if table is None or table.name != self.table:
            raise InvalidParameter("question", "other rows, a join or a subquery", rule)
        return None if not found else found[0] if len(found) == 1 else Call("and", tuple(reversed(found)))

    def _truth(self, condition: Expression) -> _Truth:
        if isinstance(condition, Call) and condition.function in ("and", "or", "not"):
            parts = [self._truth(part) for part in condition.arguments]
            if condition.function == "not":
                return _Truth(parts[0].false, parts[0].true)
            first = parts[0]
            for part in parts[1:]:
                both = condition.function == "and"
                first = _Truth(
                    first.true & part.true if both else first.true | part.true,
                    first.false | part.false if both else first.false & part.false,
                )
            return first
        used = tuple(sorted(self._axis(name) for name in names_in(condition)))
        if len(used) == 1 and self._codings[used[0]].edges is not None:
            compared = _compared(condition)
            if compared is not None:
                return self._of_ranges(used[0], *compared)
        return self._computed(condition, used)

    def _axis(self, name: str) -> int:
        if name not in self._axes:
            raise InvalidParameter("question", name, f"about the columns of this conversation: {', '.join(self._axes)}")
        return self._axes[name]

    def _computed(self, condition: Expression, used: tuple[int, ...]) -> _Truth:
        """Return a condition computed on all values of the cells of the columns that it names."""
        names = [self._codings[axis].column for axis in used]
        values = [self._values(axis) for axis in used]
        if math.prod(len(one) for one, _ in values) > max(_MOST_VALUES, math.prod(self.sizes)):
            rule = f"comparisons of one column with a number: {', '.join(names)} have too many values together"
            raise InvalidParameter("question", "a condition on wide ranges", rule)
        compute = evaluator(condition, self._kinds)
        found = [compute(dict(zip(names, row, strict=True))) for row in itertools.product(*(one for one, _ in values))]
        shape = [len(one) for one, _ in values]
        true = np.array([one is True for one in found], dtype=np.bool_).reshape(shape)
        false = np.array([one is False for one in found], dtype=np.bool_).reshape(shape)
        return _Truth(*(self._by_cells(one, used, [starts for _, starts in values]) for one in (true, false)))

    def _by_cells(self, found: Mask, used: tuple[int, ...], starts: Sequence[Sequence[int] | None]) -> Mask:
        """Return what was found for values as what holds for cells, or reject a cell of whose values only some do."""
        for place, (axis, begins) in enumerate(zip(used, starts, strict=True)):
            if begins is None:
                continue
            some = np.logical_or.reduceat(found, begins, axis=place)
            if (some != np.logical_and.reduceat(found, begins, axis=place)).any():
                raise self._within(axis)
            found = some
        shape = [1] * len(self.sizes)
        for axis in used:
            shape[axis] = self.sizes[axis]
        return found.reshape(shape)

    def _within(self, axis: int) -> InvalidParameter:
        """Return the refusal of a condition that divides a cell."""
        coding = self._codings[axis]
        edges = [str(edge) for edge in coding.edges or ()]
        shown = ", ".join(edges if len(edges) <= 12 else [*edges[:6], "...", *edges[-3:]])
        rule = f"the same for all values of a cell: those of {coding.column} begin at {shown} (column < number)"
        return InvalidParameter("question", f"a condition that divides a cell of {coding.column}", rule)

    def _values(self, axis: int) -> tuple[Sequence[Value], Sequence[int] | None]:
        """Return all values of an axis, and where each cell begins among them; None: one value a cell."""
        coding = self._codings[axis]
        if coding.labels is not None:
            return coding.labels, None
        edges = coding.edges or ()
        if coding.kind not in (Kind.INTEGER, Kind.DATE):
            raise self._within(axis)
        step: Any = 1 if coding.kind is Kind.INTEGER else datetime.timedelta(days=1)
        if (edges[-1] - edges[0]) // step >= _MOST_VALUES:  # type: ignore[operator]
            raise self._within(axis)
        values: list[Value] = []
        starts = []
        for place, (low, high) in enumerate(itertools.pairwise(edges)):
            starts.append(len(values))
            count = (high - low) // step + int(place == len(edges) - 2)  # type: ignore[operator]
            values += [low + number * step for number in range(count)]
        if coding.nullable:
            starts.append(len(values))
            values.append(None)
        return values, starts

    def _of_ranges(self, axis: int, function: str, bound: Any) -> _Truth:
        """Return a comparison of a column with a number, where cells are ranges."""
        coding = self._codings[axis]
        edges = coding.edges or ()
        true, false = [], []
        # Of integers and days a range ends with the value before its upper end.
        step: Any = {Kind.INTEGER: 1, Kind.DATE: datetime.timedelta(days=1)}.get(coding.kind)
        for place, (low, high) in enumerate(itertools.pairwise(edges)):
            is_last = place == len(edges) - 2
            is_closed = is_last or step is not None
            top: Any = high if is_last or step is None else high - step
            below = top < bound if is_closed else top <= bound
            if function in ("less", "at_least"):
                holds, fails = below, low >= bound
            else:
                holds, fails = below or top == bound, low > bound
            if not holds and not fails:
                raise self._within(axis)
            is_turned = function in ("more", "at_least")
            true.append(holds != is_turned)
            false.append(fails != is_turned)
        if coding.nullable:
            true.append(False)
            false.append(False)
        shape = [1] * len(self.sizes)
        shape[axis] = coding.size
        return _Truth(*(np.array(one, dtype=np.bool_).reshape(shape) for one in (true, false)))


def _conjuncts(condition: Expression, *, is_turned: bool = False) -> list[Expression]:
    """Return the conditions that all hold where a condition, or its negation, holds."""
    if isinstance(condition, Call):
        if condition.function == "not":
            return _conjuncts(condition.arguments[0], is_turned=not is_turned)
        # Not (a or b) is: not a, and not b; with three values, too.
        if condition.function == ("or" if is_turned else "and"):
            return [one for part in condition.arguments for one in _conjuncts(part, is_turned=is_turned)]
    return [Call("not", (condition,)) if is_turned else condition]


def _compared(condition: Expression) -> tuple[str, Value] | None:
    """Return the function and the bound of a comparison of a column with a number; None for anything else."""
    if not isinstance(condition, Call) or condition.function not in _TURNED:
        return None
    first, second = condition.arguments
    if isinstance(first, Name) and isinstance(second, Literal) and second.value is not None:
        return condition.function, second.value
    if isinstance(second, Name) and isinstance(first, Literal) and first.value is not None:
        return _TURNED[condition.function], first.value
    return None
