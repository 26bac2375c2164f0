"""Maps without tiles: cells in steps of one colour, and lines over them, as SVG that needs nothing from outside.

Cells of one step that lie side by side are drawn as one rectangle and all of a step as one path, so that a hundred
thousand cells stay below a few megabytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.pages.frame import Axis, Chart, Entry, Frame, colour_of, described, filled, lined, width_of, words_at
from dither.pages.labels import told
from dither.pages.markup import Markup

#: How strong the steps of the colour are, from the least to the most.
_STRENGTHS: Final = (0.12, 0.25, 0.4, 0.55, 0.72, 0.92)
_WIDTH: Final = 560.0
_TALLEST: Final = 900.0
_LEAST: Final = 120.0
_MOST_LINES: Final = 2000


@dataclass(frozen=True)
class Ground:
    """The ground that a map shows.

    Args:
        south: the least first coordinate.
        west: the least second coordinate.
        north: the largest first coordinate.
        east: the largest second coordinate.
        is_degrees: whether coordinates are latitudes and longitudes; else both have one scale.

    """

    south: float
    west: float
    north: float
    east: float
    is_degrees: bool

    @property
    def height(self) -> float:
        """How high the map is drawn, its width being fixed."""
        shrunk = math.cos(math.radians((self.south + self.north) / 2)) if self.is_degrees else 1.0
        wide = (self.east - self.west) * max(shrunk, 0.05)
        return min(max(_WIDTH * (self.north - self.south) / wide, _LEAST), _TALLEST)


@dataclass(frozen=True)
class Lines:
    """Lines of one kind: what they are called, and points, each of a first and a second coordinate.

    Args:
        name: in the legend.
        paths: the lines.
        width: how broad they are drawn.
        is_dashed: whether they are drawn with gaps, because they are less certain.

    """

    name: str
    paths: Sequence[Sequence[tuple[float, float]]]
    width: float = 1.3
    is_dashed: bool = False


def ground_map(
    title: str,
    ground: Ground,
    *,
    cells: NDArray[Any] | None = None,
    shown: Axis | None = None,
    lines: Sequence[Lines] = (),
    error: str = "",
) -> Chart:
    """Return a map of cells in steps of one colour, with lines over them.

    Args:
        title: what is shown.
        ground: the area.
        cells: a number for each, the southernmost row first; at least 0.
        shown: what the numbers are.
        lines: over the cells.
        error: how far the numbers may be off, for the key; "" where that is not known.

    """
    steps = [] if cells is None else steps_of(cells)
    axis = shown or Axis("count")
    entries = []
    if steps:
        colours = f"{axis.heading} from {told(steps[0], axis)} (pale) to {told(steps[-1], axis)} and more"
        entries = [Entry(colours, "warm", is_needed=True)]
    entries += [Entry(error, "ink", "words", is_needed=True)] if error else []
    entries += [
        Entry(layer.name, colour_of(place + 1), "dashes" if layer.is_dashed else "line")
        for place, layer in enumerate(lines)
    ]
    # The ends of the vertical axis stand beside the ground: upon it, cells would hide them.
    ends = (f"{ground.north:g}", f"{ground.south:g}")
    left = 6 + max(width_of(word) for word in ends)
    frame = Frame(
        title,
        entries=entries,
        up=Axis("latitude" if ground.is_degrees else "y"),
        up_scale=None,
        width=_WIDTH + 40 + left,
        area=ground.height,
        below=34,
        left=left,
        right=14,
    )
    width = frame.width - frame.left - 14
    frame.parts.append(filled("panel", x=frame.left, y=frame.top, width=width, height=ground.height))
    if cells is not None:
        for low, high, strength in zip(steps, [*steps[1:], math.inf], _STRENGTHS, strict=False):
            drawn = _cells_path(np.asarray(cells), low, high, (frame.left, frame.top), (width, ground.height))
            if drawn:
                frame.parts.append(filled("warm", "path", d=drawn, opacity=float(strength)))
    for place, layer in enumerate(lines):
        drawn = "".join(_line_path(path, ground, (frame.left, frame.top), width) for path in layer.paths[:_MOST_LINES])
        if drawn:
            dashes = "5 3" if layer.is_dashed else None
            look = {"fill": "none", "stroke_width": float(layer.width), "stroke_dasharray": dashes}
            frame.parts.append(lined(colour_of(place + 1), "path", d=drawn, **look))
    for word, x, anchor in ((f"{ground.west:g}", frame.left, "start"), (f"{ground.east:g}", frame.left + width, "end")):
        frame.parts.append(words_at(word, x, frame.top + ground.height + 14, text_anchor=anchor))
    for word, y in zip(ends, (frame.top + 10, frame.top + ground.height), strict=True):
        frame.parts.append(words_at(word, frame.left - 5, y, text_anchor="end"))
    frame.under(Axis("longitude" if ground.is_degrees else "x"), frame.bottom + 24)
    said = [f"{layer.name}: {len(layer.paths)} {'line' if len(layer.paths) == 1 else 'lines'}" for layer in lines]
    if cells is not None:
        found = np.asarray(cells)
        said.insert(0, f"{found.size:,} cells, the largest {told(float(found.max()), axis)}")
    said += [error] if error else []
    return frame.chart(f"Map. {described(said)}")


def steps_of(cells: NDArray[Any]) -> list[float]:
    """Return where the steps of the colour begin: numbers above 0, each a like factor above the one before.

    >>> steps_of(np.array([[0.0, 1.0], [50.0, 1000.0]]))
    [1.0, 2.0, 10.0, 20.0, 100.0, 200.0]

    """
    above = np.asarray(cells, dtype=np.float64)
    largest = float(above.max()) if above.size else 0.0
    if largest <= 0:
        return []
    least = max(largest / 1000, min(float(above[above > 0].min()), largest))
    wanted = np.geomspace(least, largest, len(_STRENGTHS) + 1)[:-1]
    return sorted({_round(float(value)) for value in wanted})


def _round(value: float) -> float:
    """Return the nearest of 1, 2, 5 times a power of ten, from below where it can be."""
    power = 10.0 ** math.floor(math.log10(value))
    return max((factor * power for factor in (1.0, 2.0, 5.0) if factor * power <= value * 1.0000001), default=power)


def _cells_path(
    cells: NDArray[Any], low: float, high: float, corner: tuple[float, float], size: tuple[float, float]
) -> str:
    """Return the path around all cells between two numbers; runs along a row are one rectangle."""
    rows, columns = cells.shape
    wide, tall = size[0] / columns, size[1] / rows
    is_in = np.zeros((rows, columns + 2), dtype=np.int8)
    is_in[:, 1:-1] = (cells >= low) & (cells < high)
    change = np.diff(is_in, axis=1)
    starts, ends = np.argwhere(change == 1), np.argwhere(change == -1)
    parts = []
    for (row, first), (_, last) in zip(starts.tolist(), ends.tolist(), strict=True):
        x, y = corner[0] + first * wide, corner[1] + size[1] - (row + 1) * tall
        parts.append(f"M{x:.5g} {y:.5g}h{(last - first) * wide:.4g}v{tall:.4g}h{(first - last) * wide:.4g}z")
    return "".join(parts)


def _line_path(
    path: Sequence[tuple[float, float]], ground: Ground, corner: tuple[float, float], width: float
) -> Markup:
    height, east_west, north_south = ground.height, ground.east - ground.west, ground.north - ground.south
    points = [
        (
            corner[0] + (second - ground.west) / east_west * width,
            corner[1] + (ground.north - first) / north_south * height,
        )
        for first, second in path
    ]
    return Markup("M" + "L".join(f"{x:.5g} {y:.5g}" for x, y in points) if points else "")
