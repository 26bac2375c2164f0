"""Windows: a further column of each row, computed from rows of the same person. See ``relations``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from dither.data.base_relations import Over, Relation, distinct_columns, need_persons
from dither.data.expressions import Expression, Kind, Name, kind_of
from dither.data.measures import Sum, kind_of_measure
from dither.errors import InvalidParameter
from dither.exact import typed, whole

#: Functions of a window that follow from the order of its rows, and those that measure rows.
ORDERED: Final = ("row_number", "rank", "dense_rank", "lag", "lead", "first", "last")
MEASURED: Final = ("count", "sum", "smallest", "largest")
_UNVALUED: Final = ("row_number", "rank", "dense_rank")
#: Functions in which rows that the order leaves equal count as equal.
PEERS: Final = ("rank", "dense_rank")
#: The most rows that a lag reaches, and an end of a frame.
FARTHEST: Final = 10_000
#: The most rows of a frame that moves: some engines read all of them for each row.
WIDEST_FRAME: Final = 1_000


@dataclass(frozen=True)
@typed
class Window(Over):
    """A further column computed within each person and each value of ``partition``.

    ``function`` is one of

    - 'row_number', 'rank', 'dense_rank'; 'lag' and 'lead' of ``value``, ``offset`` rows away (1 unless given); 'first'
      and 'last', the ``value`` of the first and the last row. They need ``order``;
    - 'count', 'sum' (of integers), 'smallest', 'largest' over the whole partition, or over the rows that ``running``
      says: 'range' for those up to and including the rows that ``order`` leaves equal, 'rows' for those up to this one.
      'count' counts rows, or with ``value`` as ``CountOf`` does; 'sum' is as in ``PerPerson``.

    ``frame`` has the places of the first and of the last row that is measured, counted from this one: negative numbers
    for rows before it, None for the first row of all. 'first' and 'last' are those of the frame. Of a frame without
    rows 'count' and 'sum' are 0, and other values NULL.

    In an order NULL is less than every value: first, or last where large values come first. Rows that ``order`` leaves
    equal follow each other by all their columns, ascending, so that the result does not depend on where rows are
    stored; ranks are equal for them.
    """

    relation: Relation
    name: str
    function: str
    value: Expression | None
    partition: tuple[Expression, ...]
    order: tuple[tuple[Expression, bool], ...]  # an expression, and whether large values come first
    running: str | None = None
    offset: int | None = None
    frame: tuple[int | None, int] | None = None

    def __post_init__(self) -> None:
        """Refuse windows over several people."""
        need_persons(self.relation, "a window")
        if self.function not in (*ORDERED, *MEASURED):
            raise InvalidParameter("window", self.function, f"one of {', '.join((*ORDERED, *MEASURED))}")
        if (self.function in ORDERED or self.running is not None or self.frame is not None) and not self.order:
            raise InvalidParameter("order", (), f"required for {self.function}")
        if self.function != "count" and (self.value is None) != (self.function in _UNVALUED):
            rule = "not allowed" if self.value else "required"
            raise InvalidParameter("value", self.value, f"{rule} for {self.function}")
        if self.running is not None and (self.running not in ("range", "rows") or self.function not in MEASURED):
            raise InvalidParameter("running", self.running, "range or rows, of a count, sum, smallest or largest")
        if self.offset is not None:
            if self.function not in ("lag", "lead"):
                raise InvalidParameter("offset", self.offset, f"absent for {self.function}")
            whole("offset", self.offset, least=2, most=FARTHEST)
        if self.frame is not None:
            self._check_frame(*self.frame)
        below = self.relation.columns
        for expression in (*self.partition, *(part for part, _ in self.order)):
            kind_of(expression, below)
        if self.value is not None and self.function == "sum":
            kind_of_measure(Sum(self.value), below)

    def _check_frame(self, start: int | None, end: int) -> None:
        """Refuse a frame of another function, one that ends before it starts, and one that is too wide."""
        if self.running is not None or self.function not in (*MEASURED, "first", "last"):
            raise InvalidParameter("frame", self.frame, f"absent for {self.running or self.function}")
        whole("end of the frame", end, least=-FARTHEST, most=FARTHEST)
        if start is not None:
            whole("start of the frame", start, least=max(-FARTHEST, end - WIDEST_FRAME + 1), most=end)

    @property
    def most_framed(self) -> int | None:
        """The largest number of rows of a frame; None where it is not limited by its form."""
        if self.frame is None or self.frame[0] is None:
            return None
        return self.frame[1] - self.frame[0] + 1

    @property
    def may_be_empty(self) -> bool:
        """Whether a frame may have no rows, because this row is not in it."""
        return self.frame is not None and not (self.frame[0] or 0) <= 0 <= self.frame[1]

    @property
    def is_sorted_out(self) -> bool:
        """Whether rows that the order leaves equal are told apart by all their columns."""
        return (
            (self.function in ORDERED and self.function not in PEERS)
            or self.running == "rows"
            or (self.frame is not None)
        )

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """The columns below and the new one."""
        below = self.relation.columns
        is_count = self.function in (*_UNVALUED, "count") or self.value is None
        kind = Kind.INTEGER if is_count else kind_of(self.value or Name(""), below)
        return distinct_columns([*below.items(), (self.name, kind)])
