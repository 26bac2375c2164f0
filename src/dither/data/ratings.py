"""Ratings: what is public about a table whose rows say what a person thinks of an item.

The items are public: they are what the column of items declares, a range of integers or a list. Who rated, what was
rated and how well are private. A row whose item is not declared does not count; of the rows of one person and one item
the last one counts, by time; a value beyond its bounds is the nearest bound, and a missing one is the middle of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final

from dither.data.expressions import Kind
from dither.data.kinds import Declaration, declares
from dither.errors import InvalidParameter
from dither.exact import typed

if TYPE_CHECKING:
    from dither.data.schema import DataSet, Table

#: How many items a catalogue may have.
MOST_ITEMS: Final = 2**20


@declares
@dataclass(frozen=True)
@typed
class Ratings(Declaration):
    """Ratings in a table.

    Args:
        item: the column of items: integers with bounds, or integers or strings with categories.
        value: the column of values: a number with bounds.
        time: the column by which the last of several ratings of one item is known; where None the largest value counts.
        items: a public table with one row for each item, whose key is the item: what is known of the items.

    >>> Ratings("film", "stars", time="day").columns
    ('film', 'stars', 'day')

    """

    item: str
    value: str
    time: str | None = None
    items: str | None = None

    kind: ClassVar[str] = "ratings"
    called: ClassVar[str] = "ratings"
    keys: ClassVar[Mapping[str, str]] = MappingProxyType({key: key for key in ("item", "value", "time", "items")})
    asked_with: ClassVar[str] = "a recommender"
    hint: ClassVar[str] = "If rows say who likes what: 'ratings: {item: COLUMN, value: COLUMN}' below."

    def __post_init__(self) -> None:
        """Refuse one column in two places."""
        if len(set(self.columns)) != len(self.columns):
            raise InvalidParameter("ratings", self.columns, "different columns for item, value and time")

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are named."""
        return tuple(name for name in (self.item, self.value, self.time) if name is not None)

    @property
    def naming(self) -> tuple[str, ...]:
        """The item: a rating of what is not declared does not count."""
        return (self.item,)

    @property
    def uncut(self) -> tuple[str, ...]:
        """The item: two of them must not become one."""
        return (self.item,)

    def size(self, table: Table) -> int:
        """Return the number of items that the table declares."""
        column = table.column(self.item)
        if column.categories is not None:
            return len(column.categories)
        if isinstance(column.lower, int) and isinstance(column.upper, int):
            return column.upper - column.lower + 1
        return 0

    def check(self, table: Table) -> None:
        """Refuse ratings of a public table, items that are not declared, and values without bounds."""
        here, columns = f"ratings of {table.name}", {column.name: column for column in table.columns}
        if table.is_public:
            raise InvalidParameter(here, self.columns, "not allowed for a public table")
        for name in self.columns:
            if name not in columns:
                raise InvalidParameter(here, name, f"one of its columns {', '.join(columns)}")
            if name == table.person:
                raise InvalidParameter(here, name, "a column other than the privacy id")
        if columns[self.item].kind not in (Kind.INTEGER, Kind.TEXT) or not 1 <= self.size(table) <= MOST_ITEMS:
            rule = f"integers with bounds, or integers or strings with categories: at most {MOST_ITEMS} public items"
            raise InvalidParameter(here, self.item, rule)
        value = columns[self.value]
        if not value.kind.is_number or value.lower is None or value.upper is None or not value.lower < value.upper:  # type: ignore[operator]
            raise InvalidParameter(here, self.value, "a column of numbers with bounds, the lower below the upper")
        if self.time is not None and columns[self.time].kind in (Kind.TEXT, Kind.BOOLEAN):
            raise InvalidParameter(here, self.time, "a column of numbers, dates or timestamps")

    def check_in(self, table: Table, dataset: DataSet) -> None:
        """Refuse units other than people, and a catalogue that is not a public table of the items."""
        here = f"ratings of {table.name}"
        if not dataset.protects_persons or table.person is None:
            rule = "declared for a table with a privacy id, where the unit is a person"
            raise InvalidParameter(here, self.item, rule)
        if self.items is None:
            return
        found = next((other for other in dataset.tables if other.name == self.items and other.is_public), None)
        if found is None or len(found.key) != 1:
            raise InvalidParameter(here, self.items, "the name of a public table with a key of one column")
        if found.column(found.key[0]).kind is not table.column(self.item).kind:
            raise InvalidParameter(here, self.items, f"a table whose key is of the kind of {self.item}")

    def first_command(self, dataset: DataSet, called: str) -> str:
        """Return what is made of ratings first: a recommender."""
        table = next(one.name for one in dataset.tables if self in one.declared)
        return f"dither fit {called} {table} --model recommender"
