"""Checks of what a data set declares about its people as a whole: their number, dropped rows, groups of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.privacy import declared_group, group_of

if TYPE_CHECKING:
    from dither.data.schema import DataSet

#: More people than that are of no data set.
_MOST_PEOPLE: Final = 10**11


def check_known(dataset: DataSet) -> None:
    """Refuse a number of people, or a share of rows, that is impossible or that no unit or limit goes with."""
    people, dropped = dataset.people, dataset.dropped
    if people is not None:
        whole("people", people, least=1, most=_MOST_PEOPLE)
        if not dataset.protects_persons:
            raise InvalidParameter("people", people, "set only where the unit is a person")
    if dropped is None and dataset.dropped_up_to is None:
        return
    if isinstance(dropped, bool) or not isinstance(dropped, int | float) or not 0 <= dropped < 1:
        raise InvalidParameter("dropped", dropped, "a share of all rows: from 0 to below 1, such as 0.27")
    if dataset.rows is None:
        raise InvalidParameter("dropped", dropped, "set only where contribution has a limit of rows")
    if dataset.dropped_up_to is not None:
        whole("dropped_up_to", dataset.dropped_up_to, least=dataset.rows, most=2**31)


def check_group(dataset: DataSet) -> None:
    """Refuse a group size that no group has, and groups of a column that count more rows than their size."""
    unit, size = dataset.unit, dataset.group_size
    if unit.protects != "group":
        if size is not None and dataset.own_kind is not None:
            rule = f"not allowed where the unit is {dataset.own_kind.called}: set it for rows or people"
            raise InvalidParameter("group_size", size, rule)
        if size is not None:
            group_of(unit, size)
        return
    if size is None:
        raise InvalidParameter("group_size", None, "required where groups are the unit: 2 or more")
    columns = {table.person for table in dataset.tables if table.person is not None}
    if unit not in [declared_group(name, size, unit.relation) for name in columns]:
        raise InvalidParameter("unit", str(unit), "the group of a privacy id, of this group size")
    if dataset.rows is None or dataset.rows > size:
        rule = f"at most {size}, the group size: other rows of a group do not count"
        raise InvalidParameter("rows", dataset.rows, rule)
