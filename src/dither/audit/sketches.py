"""Both laws of outcomes as an audit saw them: the data for a picture of the evidence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dither.audit.events import Event
from dither.audit.features import Column

_MOST_DRAWS = 40_000
_MOST_BARS = 40
_TAIL = 0.002


@dataclass(frozen=True)
class Sketch:
    """How often outcomes fell into each cell on either side, and the share of a cell's outcomes in the event."""

    feature: str
    labels: tuple[str, ...]
    here: tuple[float, ...]
    there: tuple[float, ...]
    inside: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def sketch(name: str, event: Event, here: Column, there: Column, *, is_ordered: bool) -> Sketch:
    """Return a sketch of one feature on both sides, from some of the draws."""
    sides = [column[:_MOST_DRAWS] for column in (here, there)]
    pooled = np.concatenate(sides)
    members = event.contains(pooled)
    values, codes = np.unique(pooled, return_inverse=True)
    codes = codes.reshape(-1)
    if values.size <= _MOST_BARS and is_ordered:
        labels = [f"{value:.6g}" for value in values]
    elif is_ordered:
        labels, codes = _ranges(pooled)
    else:
        order = np.argsort(-np.bincount(codes), kind="stable")[: _MOST_BARS - 1]
        place = np.full(values.size, order.size)
        place[order] = np.arange(order.size)
        labels, codes = [f"outcome {number + 1}" for number in range(order.size)], place[codes]
        if values.size > order.size:
            labels.append("others")
    cells, half = len(labels), len(sides[0])
    total = np.bincount(codes, minlength=cells)
    inside = np.bincount(codes, weights=members, minlength=cells) / np.maximum(total, 1)
    counts = [np.bincount(part, minlength=cells) / max(part.size, 1) for part in (codes[:half], codes[half:])]
    return Sketch(name, tuple(labels), tuple(counts[0].tolist()), tuple(counts[1].tolist()), tuple(inside.tolist()))


def _ranges(pooled: Column) -> tuple[list[str], Any]:
    """Return equal ranges between far quantiles, with a cell for values beyond each end or NaN."""
    finite = pooled[np.isfinite(pooled)].astype(np.float64)
    low, high = np.quantile(finite, [_TAIL, 1 - _TAIL]) if finite.size else (0.0, 0.0)
    edges = np.linspace(low, high, _MOST_BARS - 1)
    labels = [f"up to {edges[0]:.4g}", *(f"up to {edge:.4g}" for edge in edges[1:]), f"above {edges[-1]:.4g}"]
    return labels, np.searchsorted(edges, pooled.astype(np.float64), side="left")
