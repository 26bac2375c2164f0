"""How large a table of counts may be that is planned: a limit for those who plan for others.

To plan a table takes time by the number of its cells, before it has a price. Whoever plans for many people at once says
how many cells are enough, and may count them as steps of planning; the limit is public, and so is every refusal.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.lift.stored import LARGEST_ANSWER

#: A table is looked at a few times before it has a price: this many cells are a step each time.
_CELLS_OF_STEP: Final = 8


class _Here(threading.local):
    most: int | None = None
    count: Callable[[int], None] | None = None


_here = _Here()


@contextmanager
def planned_within(most: int | None, count: Callable[[int], None] | None = None) -> Iterator[None]:
    """Refuse larger tables, and longer lists, that this thread would plan meanwhile.

    Args:
        most: cells, or listed values; None for as many as can be stored.
        count: is told how many steps a table or a list takes; None where nobody counts.

    """
    before = _here.most, _here.count
    _here.most, _here.count = most, count
    try:
        yield
    finally:
        _here.most, _here.count = before


def _count(cells: int) -> None:
    if _here.count is not None:
        _here.count(cells // _CELLS_OF_STEP)


def check_cells(cells: int) -> None:
    """Refuse a table that is too large to be planned here."""
    if _here.most is not None and cells > _here.most:
        rule = f"few enough for a table of at most {_here.most} cells, the limit of this service; use fewer bins"
        raise InvalidParameter("bins", f"{cells} cells", rule)
    _count(cells)


def check_listed(parameter: str, values: int) -> None:
    """Refuse more listed values than are planned with here.

    Args:
        parameter: what lists them.
        values: how many there are.

    """
    if _here.most is not None and values > _here.most:
        rule = f"a list of at most {_here.most} values, the limit of this service"
        raise InvalidParameter(parameter, f"{values} values", rule)
    _count(values)


def check_bins(bins: Any, row: int = 0) -> None:
    """Refuse numbers of bins that make too large a table, before the bins themselves are made.

    Args:
        bins: a number, a list of edges, or either for each column; as a table of counts takes them.
        row: how many bytes a cell has at least in the answer; 0 where the answer is not the table.

    """
    cells = _stated(bins)
    check_cells(cells)
    most = LARGEST_ANSWER // row if row else cells
    if cells > most:
        rule = (
            f"few enough for at most {most:,} cells, the limit of one answer; a histogram with method "
            "'sparse-histogram' only returns cells that seem not to be empty"
        )
        raise InvalidParameter("bins", f"{cells:,} cells", rule)


def _stated(bins: Any) -> int:
    """Return how many cells are asked for at least."""
    if isinstance(bins, Mapping):
        return math.prod(_stated(one) for one in bins.values())
    if isinstance(bins, int) and not isinstance(bins, bool):
        return max(bins, 1)
    return max(len(bins) - 1, 1) if isinstance(bins, list | tuple) else 1
