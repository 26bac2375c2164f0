"""Policies: which values of a row are hidden from which others (Blowfish privacy).

A policy is a graph over the public cells of one or more columns of a table. Neighbouring data sets have the same rows,
of which one has another value: one that an edge joins to the value before. The number of rows is public, and so is
everything that no path of the graph connects.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.expressions import Kind, Value
from dither.data.kinds import Declaration, declares
from dither.errors import InvalidParameter
from dither.exact import typed, whole
from dither.privacy import VALUE, Unit

if TYPE_CHECKING:
    from dither.data.schema import Column, DataSet, Table

Places = NDArray[np.int64]
#: The kinds of policies.
GRAPHS: Final = ("full", "attribute", "line", "threshold", "grid", "partition")
#: How many cells a policy has at most.
MOST_CELLS: Final = 2**20
_WITH_THRESHOLD: Final = ("threshold", "grid")


@declares
@dataclass(frozen=True)
@typed
class Policy(Declaration):
    """Which values of some columns are neighbours.

    Args:
        columns: the columns that the policy is about; only they may be asked about.
        graph: "full": any two combinations of values; "attribute": those that differ in one column; "line": those that
            differ in one column, by one step; "threshold": the same by at most ``threshold`` steps; "grid": those that
            are at most ``threshold`` steps apart in all columns together; "partition": any two of one block.
        threshold: the number of steps.
        starts: of a partition, the first value of each block but the first one, in the order of the column.

    >>> Policy(("wage",), "threshold", 3).far(5).tolist()
    [3, 4, 4, 4, 4]

    """

    columns: tuple[str, ...]
    graph: str
    threshold: int | None = None
    starts: tuple[str, ...] = ()

    kind: ClassVar[str] = "policy"
    called: ClassVar[str] = "a policy"
    answers_by_offers: ClassVar[bool] = True
    units: ClassVar[Mapping[str, Unit]] = MappingProxyType({"value": VALUE})
    asked_with: ClassVar[str] = (
        "a count or a sum over the columns of the policy, by session.sql, session.histogram or session.workload"
    )

    def __post_init__(self) -> None:
        """Refuse a graph that does not exist, and numbers that do not go with it."""
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise InvalidParameter("columns", self.columns, "different columns, at least one")
        if self.graph not in GRAPHS:
            raise InvalidParameter("graph", self.graph, f"one of {', '.join(GRAPHS)}")
        if (self.threshold is not None) != (self.graph in _WITH_THRESHOLD):
            rule = f"required for {' and '.join(_WITH_THRESHOLD)}, and not allowed otherwise"
            raise InvalidParameter("threshold", self.threshold, rule)
        if self.threshold is not None:
            whole("threshold", self.threshold, least=1, most=MOST_CELLS)
        if bool(self.starts) != (self.graph == "partition"):
            raise InvalidParameter("starts", self.starts, "required for a partition, and not allowed otherwise")
        if self.graph == "partition" and len(self.columns) != 1:
            raise InvalidParameter("columns", self.columns, "one column where the policy is a partition")

    def check(self, table: Table) -> None:
        """Refuse columns without public values, and blocks that do not begin at one."""
        here = f"policy of {table.name}"
        if table.is_public or table.identifying or len(table.declared) != 1:
            rule = "not allowed, unless the table is private, without privacy id and of no other kind"
            raise InvalidParameter(here, self.columns, rule)
        known = {column.name: column for column in table.columns}
        for name in self.columns:
            if name not in known or public_cells(known[name]) is None:
                rule = "a column with categories, an integer with bounds, a date with bounds or a boolean"
                raise InvalidParameter(here, name, rule)
        if math.prod(self.shape(table)) > MOST_CELLS:
            raise InvalidParameter(here, f"{math.prod(self.shape(table)):,} cells", f"at most {MOST_CELLS:,} cells")
        places = self.block_starts(table)
        if places != sorted(set(places)) or 0 in places:
            rule = "values of the column in its order, without the first one and each once"
            raise InvalidParameter(here, self.starts, rule)

    def check_in(self, table: Table, dataset: DataSet) -> None:
        """Refuse a policy without its unit, and one beside another private table."""
        here = f"policy of {table.name}"
        if dataset.own_kind is not Policy:
            raise InvalidParameter(here, self.graph, "not allowed, unless the unit of the data set is value")
        private = [other.name for other in dataset.tables if not other.is_public]
        if len(private) != 1:
            raise InvalidParameter("tables", private, "one private table where a policy is declared")

    def first_command(self, dataset: DataSet, called: str) -> str:
        """Return how its columns are counted."""
        table = next(one.name for one in dataset.tables if Policy.of(one) is self)
        return f"dither publish histogram {called} {table} {' '.join(self.columns)}"

    def limits(self, table: Table) -> dict[str, Any]:
        """Return the policy."""
        said = {"columns": list(self.columns), "graph": self.graph, "threshold": self.threshold}
        return {f"policy_of_{table.name}": {**said, "starts": list(self.starts)}}

    def __str__(self) -> str:
        """Return the policy as people read it."""
        steps = f" of {self.threshold} steps" if self.threshold is not None else ""
        blocks = f" of {len(self.starts) + 1} blocks" if self.starts else ""
        return f"{self.graph}{steps}{blocks} over {', '.join(self.columns)}"

    def shape(self, table: Table) -> tuple[int, ...]:
        """Return the number of values of each column."""
        return tuple(len(public_cells(table.column(name)) or ()) for name in self.columns)

    def block_starts(self, table: Table) -> list[int]:
        """Return the places at which blocks begin, but the first one."""
        if not self.starts:
            return []
        labels = [str(value) for value in public_cells(table.column(self.columns[0])) or ()]
        missing = [start for start in self.starts if start not in labels]
        if missing:
            raise InvalidParameter(f"policy of {table.name}", missing[0], f"a declared value of {self.columns[0]}")
        return [labels.index(start) for start in self.starts]

    def far(self, size: int, starts: tuple[int, ...] = ()) -> Places:
        """Return, for every cell of one ordered column, the last cell that an edge joins it to, or itself.

        Args:
            size: the number of cells.
            starts: of a partition, where blocks begin.

        """
        place = np.arange(size, dtype=np.int64)
        if self.graph == "partition":
            ends = np.array([*starts, size], dtype=np.int64)
            return np.asarray(ends[np.searchsorted(ends, place, side="right")] - 1)
        return np.minimum(place + self._steps(size), size - 1)

    def _steps(self, size: int) -> int:
        """Return by how many steps a value may move within a column."""
        return {"line": 1}.get(self.graph, size if self.threshold is None else self.threshold)

    def edges(self, shape: tuple[int, ...], starts: tuple[int, ...] = ()) -> Iterator[tuple[Places, Places]]:
        """Yield all edges of the graph as pairs of numbers of cells, in portions.

        Args:
            shape: the number of values of each column.
            starts: of a partition, where blocks begin.

        """
        cells = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
        if self.graph == "partition":
            for start, end in itertools.pairwise([0, *starts, shape[0]]):
                for step in range(1, end - start):
                    yield cells[start : end - step], cells[start + step : end]
            return
        if self.graph == "full":
            flat = cells.reshape(-1)
            for step in range(1, flat.size):
                yield flat[:-step], flat[step:]
            return
        for move in self._moves(shape):
            here = tuple(slice(max(0, -step), size - max(0, step)) for step, size in zip(move, shape, strict=True))
            there = tuple(slice(max(0, step), size - max(0, -step)) for step, size in zip(move, shape, strict=True))
            yield cells[here].reshape(-1), cells[there].reshape(-1)

    def _moves(self, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield the steps of an edge along all columns, each edge once."""
        if self.graph != "grid":
            for axis, size in enumerate(shape):
                for step in range(1, min(self._steps(size), size - 1) + 1):
                    yield tuple(step if place == axis else 0 for place in range(len(shape)))
            return
        reach = [min(self.threshold or 1, size - 1) for size in shape]
        for move in itertools.product(*(range(-most, most + 1) for most in reach)):
            first = next((step for step in move if step), 0)
            if first > 0 and sum(map(abs, move)) <= (self.threshold or 1):
                yield move

    def count(self, shape: tuple[int, ...], starts: tuple[int, ...] = ()) -> int:
        """Return at least the number of edges, without listing them."""
        cells = math.prod(shape)
        if self.graph in ("full", "partition"):
            bounds = [0, *starts, shape[0]] if self.graph == "partition" else [0, cells]
            return sum((end - start) * (end - start - 1) // 2 for start, end in itertools.pairwise(bounds))
        if self.graph == "grid":
            return cells * math.prod(2 * min(self.threshold or 1, size - 1) + 1 for size in shape)
        return cells * sum(min(self._steps(size), size - 1) for size in shape)

    def parts(self, shape: tuple[int, ...], starts: tuple[int, ...] = ()) -> int:
        """Return into how many parts the graph falls: in which of them a value is, is not hidden."""
        return len(starts) + 1 if self.graph == "partition" else 1


def public_cells(column: Column) -> tuple[Value, ...] | None:
    """Return the values of a column in their order, without NULL; None where they are not declared.

    Args:
        column: of a private table.

    """
    if column.kind is Kind.REAL or column.kind is Kind.TIMESTAMP:
        return None
    values = column.public_values
    found = None if values is None else tuple(value for value in values if value is not None)
    return found or None


def policy_of(dataset: DataSet) -> tuple[Table, Policy]:
    """Return the table with the declared policy of a data set, and the policy.

    Args:
        dataset: the schema, whose unit is a value.

    """
    for table in dataset.tables:
        found = Policy.of(table)
        if found is not None:
            return table, found
    raise InvalidParameter("dataset", dataset.name, "one whose schema declares a policy, with the unit value")
