"""The ``places:`` of a table in a schema file, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dither.data.expressions import Kind, Value
from dither.data.place_tables import DEGREES, DROP, Places
from dither.data.yaml_tree import Node
from dither.errors import InvalidParameter

_PAIRS: Final = ("at", "to", "zones")
_WORDS: Final = ("coordinates", "outside", "trip", "time")
#: Limits by their name in the file.
_LIMITS: Final = {"trips per person": "trips", "points per trip": "points"}
_KEYS: Final = (*_PAIRS, "box", *_WORDS, *_LIMITS)


def places_from(node: Node, value: Callable[[Node, Kind], Value]) -> Places:
    """Return what is public about the places in a table.

    Args:
        node: the mapping below ``places:``.
        value: reads a scalar by its kind.

    """
    parts = node.mapping("places", _KEYS)
    said: dict[str, Any] = {
        key: tuple(part.text("a column") for part in parts[key].items("two columns")) for key in _PAIRS if key in parts
    }
    if "box" in parts:
        ends = [value(part, Kind.REAL) for part in parts["box"].items("south, west, north, east")]
        said["box"] = tuple(float(end) for end in ends if isinstance(end, int | float))
    said |= {key: parts[key].text("a name") for key in _WORDS if key in parts}
    said |= {field: value(parts[key], Kind.INTEGER) for key, field in _LIMITS.items() if key in parts}
    try:
        return Places(**said)
    except InvalidParameter as error:
        shown = {field: key for key, field in _LIMITS.items()}.get(error.parameter, error.parameter)
        raise parts.get(shown, node).refuse(error.offender, error.rule) from None


def places_lines(places: Places, scalar: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines below ``places:``, which are read back to an equal record.

    Args:
        places: what is public about the places.
        scalar: writes a text.

    """
    for key in _PAIRS:
        columns = getattr(places, key)
        if columns:
            yield f"{key}: [{', '.join(map(scalar, columns))}]"
    if places.box:
        yield f"box: [{', '.join(repr(float(end)) for end in places.box)}]"
    for key, usual in (("coordinates", DEGREES), ("outside", DROP), ("trip", None), ("time", None)):
        word = getattr(places, key)
        if word != usual:
            yield f"{key}: {scalar(word)}"
    for key, field in _LIMITS.items():
        if getattr(places, field) is not None:
            yield f"{key}: {getattr(places, field)}"
