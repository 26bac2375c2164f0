"""The units that learners protect: a row added or removed, or a row replaced."""

from __future__ import annotations

from dither.errors import InvalidParameter
from dither.exact import Field
from dither.privacy import ROW, ROW_REPLACED, Unit


class RowsField(Field[Unit, Unit]):
    """ROW or ROW_REPLACED: who has many rows would add to a sum many times."""

    def convert(self, name: str, value: Unit) -> Unit:
        """Return the unit."""
        if value not in (ROW, ROW_REPLACED):
            raise InvalidParameter(name, value, "ROW or ROW_REPLACED")
        return value
