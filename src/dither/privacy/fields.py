"""Fields that say what unit a record protects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dither.errors import InvalidParameter
from dither.exact import Field
from dither.exact.parameters import REQUIRED
from dither.privacy.distances import EDGE, NODE, ROW, ROW_REPLACED, Relation, Unit, person


class RowUnit(Field[Unit, Unit]):
    """ROW or ROW_REPLACED. Someone with several rows would contribute several times, so other units are rejected.

    Args:
        default: where the parameter may be left out.
        rule: what a row is, for the refusal.

    """

    def __init__(self, default: Unit = REQUIRED, *, rule: str = "ROW or ROW_REPLACED") -> None:
        super().__init__(default)
        self._rule = rule

    def convert(self, name: str, value: Unit) -> Unit:
        """Return the unit itself."""
        for unit in (ROW, ROW_REPLACED):
            if type(value) is Unit and value == unit:
                return unit
        raise InvalidParameter(name, value, self._rule)

    def offenders(self) -> Iterator[Any]:
        """Return other units, and anything that is not a unit."""
        yield from ("row", None, EDGE, NODE, person("id", Relation.ADD_REMOVE), Relation.REPLACE, object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return both units."""
        yield from (ROW, ROW_REPLACED)
