"""Pairs in which one side has a row in a corner of its domain: such a row moves sums by their whole bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dither.mechanisms import Mechanism
from dither.privacy import Relation, Unit
from dither.testing.hostile import Pair

_FAR = 1e6
_CROWD = 1000
_MOST_TARGETS = 4


def far_pairs(mechanism: Mechanism[Any, Any], data: Any) -> list[Pair]:
    """Return pairs of nothing, or of a crowd, and the same with one row in a corner of the domain."""
    distance, corners, crowd = mechanism.distance, list(_corners(data)), _crowd(mechanism, data)
    # Where a loss grows with a measured distance, two corners are farther apart than one unit.
    if not isinstance(distance, Unit) or distance.relation is Relation.METRIC or not corners:
        return []
    if distance.relation is not Relation.ADD_REMOVE:
        return [(corners[0], row, 1) for row in corners[1:]]
    crowded = [] if crowd is None else [(crowd, np.concatenate([crowd, row]), 1) for row in corners]
    return [*crowded, *((data[:0], row, 1) for row in corners)]


def _crowd(mechanism: Any, data: Any) -> Any | None:
    """Return many rows near the middle of a declared box, with targets that balance each other.

    What is surveyed of them is known in spite of much noise, so that a loss goes where one row more is seen.
    """
    lower, upper = (getattr(getattr(mechanism, name, None), "values", None) for name in ("lower", "upper"))
    if lower is None or upper is None or not (isinstance(data, np.ndarray) and data.dtype.kind == "f"):
        return None
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    rows = np.stack([middle + half / 4, middle - half / 4] * 2)
    if data.shape[1] > rows.shape[1]:
        ends = [float(getattr(mechanism, name, place)) for place, name in enumerate(("target_lower", "target_upper"))]
        rows = np.column_stack([rows, [ends[0], ends[0], ends[1], ends[1]]])
    return np.tile(rows, (_CROWD // 4, 1))


def _corners(data: Any) -> Iterator[Any]:
    """Return rows in the corners of a domain, with targets that occur: they move a sum by its whole bound."""
    if not (isinstance(data, np.ndarray) and data.dtype.kind == "f" and data.ndim == 2 and len(data)):
        return
    width = data.shape[1]
    signs = [np.ones(width), -np.ones(width), np.where(np.arange(width) % 2, -1.0, 1.0)]
    targets = np.unique(data[np.isfinite(data[:, -1]), -1])
    for sign in signs:
        # What lies outside of a domain is clipped to its border.
        row = _FAR * sign[None, :]
        yield row
        for target in targets[:_MOST_TARGETS]:
            yield np.column_stack([row[:, :-1], [[target]]])
