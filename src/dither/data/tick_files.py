"""The ``stream:`` of a table in a schema file, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dither.data.expressions import Kind, Value
from dither.data.ticks import Ticks, seconds_of, words_of
from dither.data.yaml_tree import Node
from dither.errors import InvalidParameter

_LENGTH: Final = "a fixed length of time, such as 1 hour, 15 minutes or 7 days"
_LIMITS: Final = {"rows per tick": "rows", "ticks per person": "ticks", "ticks between": "gap", "horizon": "horizon"}
_KEYS: Final = ("time", "tick", "start", "horizon", "watermark", "late", *list(_LIMITS)[:3])


def ticks_from(node: Node, value: Callable[[Node, Kind], Value]) -> Ticks:
    """Return how the rows of a table arrive.

    Args:
        node: the mapping below ``stream:``.
        value: reads a scalar by its kind.

    """
    parts = node.mapping("how rows arrive", _KEYS)
    for key in ("time", "tick", "start"):
        if key not in parts:
            raise node.refuse("nothing", "given", key)
    said: dict[str, Any] = {"time": parts["time"].text("the column that holds the moment of a row")}
    said["seconds"] = _seconds(parts["tick"])
    said["start"] = value(parts["start"], Kind.TIMESTAMP)
    if "watermark" in parts:
        said["watermark"] = _seconds(parts["watermark"])
    if "late" in parts:
        said["late"] = parts["late"].text("drop or next")
    for key, field in _LIMITS.items():
        if key in parts:
            said[field] = value(parts[key], Kind.INTEGER)
    try:
        return Ticks(**said)
    except InvalidParameter as error:
        raise parts.get(error.parameter, node).refuse(error.offender, error.rule) from None


def ticks_lines(ticks: Ticks, scalar: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines below ``stream:``, which are read back to an equal record.

    Args:
        ticks: how rows arrive.
        scalar: writes a text.

    """
    yield f"time: {scalar(ticks.time)}"
    yield f"tick: {words_of(ticks.seconds)}"
    yield f'start: "{ticks.start}"'
    if ticks.horizon is not None:
        yield f"horizon: {ticks.horizon}"
    if ticks.watermark:
        yield f"watermark: {words_of(ticks.watermark)}"
    if ticks.late != "drop":
        yield f"late: {ticks.late}"
    if ticks.rows is not None:
        yield f"rows per tick: {ticks.rows}"
        yield f"ticks per person: {ticks.ticks}"
    if ticks.gap != 1:
        yield f"ticks between: {ticks.gap}"


def _seconds(node: Node) -> int:
    words = node.text(_LENGTH)
    found = seconds_of(words)
    if found is None:
        raise node.refuse(words, _LENGTH)
    return found
