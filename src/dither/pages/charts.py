"""Charts in plain SVG: bars with intervals, lines with bands, and histograms; ``heat`` has tables as colours.

Each has a title, axes with units, a legend where several things are drawn, and a description in words. None is drawn
without axes. Numbers that are missing or not finite leave a gap; an interval without an end reaches the edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.pages.digits import in_digits
from dither.pages.frame import (
    Axis,
    Chart,
    Entry,
    Frame,
    colour_of,
    dashes_of,
    described,
    filled,
    lined,
    width_of,
)
from dither.pages.labels import Labels, same_length, told, wide_enough
from dither.pages.markup import Markup, tag
from dither.pages.scales import Scale, number, scale_of
from dither.pages.style import COLOURS

#: Longer lines are drawn without a dot at each point.
_MOST_DOTS: Final = 30


@dataclass(frozen=True)
class Bars:
    """Heights, one for each category.

    Args:
        name: what the legend says.
        values: the heights; None leaves a gap.
        low: where intervals begin, if there are any.
        high: where they end.

    """

    name: str
    values: Sequence[Any]
    low: Sequence[Any] = ()
    high: Sequence[Any] = ()

    def __post_init__(self) -> None:
        _as_tuples(self, "values", "low", "high")


@dataclass(frozen=True)
class Line:
    """Points, in order.

    Args:
        name: what the legend says.
        x: horizontal places.
        y: vertical places.
        low: where a band around them begins, if there is one.
        high: where it ends.
        is_joined: whether a line goes through them; else they are dots.

    """

    name: str
    x: Sequence[Any]
    y: Sequence[Any]
    low: Sequence[Any] = ()
    high: Sequence[Any] = ()
    is_joined: bool = True

    def __post_init__(self) -> None:
        _as_tuples(self, "x", "y", "low", "high")


def _as_tuples(record: object, *names: str) -> None:
    """Keep sequences as tuples, arrays among them."""
    for name in names:
        object.__setattr__(record, name, tuple(getattr(record, name)))


@dataclass(frozen=True)
class Limit:
    """A level that is marked across the whole picture."""

    name: str
    value: float


def bar_chart(
    title: str,
    labels: Sequence[str],
    series: Sequence[Bars],
    *,
    across: Axis,
    up: Axis,
    truth: Sequence[Any] = (),
    limit: Limit | None = None,
    shaded: Sequence[float] = (),
    shading: str = "",
    is_coloured: bool = False,
    largest: float = 0.0,
    width: float | None = None,
    area: float = 190,
) -> Chart:
    """Return bars side by side for each category, with whiskers for intervals and dots for the truth.

    Args:
        title: what is shown.
        labels: of the categories.
        series: heights for each category, all in one colour a series.
        across: what the categories are.
        up: what the heights count.
        truth: true heights, where they are known because the data is generated.
        limit: a level to be marked.
        shaded: how strongly the ground behind each category is shaded, between 0 and 1.
        shading: what that means.
        is_coloured: whether each category has a colour of its own, for a single series of few.
        largest: a height that has room at the least.
        width: of the picture; by default as the categories need.
        area: height of the area.

    """
    truth, shaded = tuple(truth), tuple(shaded)
    for one in series:
        same_length("series", labels, one.values, one.low, one.high)
    same_length("truth", labels, truth, shaded)
    many = len(labels)
    scale = scale_of(
        [
            *(value for one in series for value in (*one.values, *one.low, *one.high)),
            *truth,
            limit.value if limit else 0,
            largest,
        ],
        is_share=up.is_share,
        with_zero=True,
    )
    entries = [] if is_coloured else [Entry(one.name, colour_of(place)) for place, one in enumerate(series)]
    true = "s2" if len(series) == 1 else "ink"
    entries += [Entry("truth", true, "dot")] if truth else []
    entries += [Entry(shading, "event")] if any(shaded) else []
    entries += [Entry(limit.name, "alarm", "dashes")] if limit else []
    whole = width or wide_enough(labels, len(series))
    beside = 26 + max(width_of(label) for label in scale.labels)
    names = Labels(labels, whole - beside - 14, beside)
    slot = names.slot
    frame = Frame(
        title,
        entries=entries,
        up=up,
        up_scale=scale,
        width=whole,
        area=area,
        below=names.height + 24,
        left=names.left - 26,
    )
    for place in range(many):
        middle, wide = frame.x((place + 0.5) / many), slot * (0.72 if len(series) == 1 else 0.84)
        if any(shaded) and shaded[place] > 0:
            spot = {"x": middle - slot / 2, "y": frame.top, "width": slot, "height": frame.bottom - frame.top}
            frame.parts.append(filled("event", opacity=float(min(shaded[place], 1)), **spot))
        for nth, one in enumerate(series):
            each, colour = wide / len(series), colour_of(place if is_coloured else nth)
            _bar(frame, scale, labels[place], one, place, middle - wide / 2 + each * nth, each, colour)
        known = number(truth[place]) if truth else None
        if known is not None:
            words = tag("title", f"{labels[place]}: truth {told(known, up)}")
            spot = {"cx": middle, "cy": frame.y(scale.place(known)), "r": min(4.0, max(1.5, slot / 5))}
            frame.parts.append(filled(true, "circle", words, stroke=COLOURS["ground"][0], stroke_width=1, **spot))
    if limit is not None:
        _limit(frame, scale, limit, up)
    _zero(frame, scale)
    names.draw(frame)
    frame.under(across, frame.bottom + names.height + 14)
    said = [
        f"{label}: " + ", ".join(_height(one, place, up, len(series) > 1) for one in series)
        for place, label in enumerate(labels)
    ]
    return frame.chart(f"Bar chart of {up.heading} by {across.heading}. {described(said)}", is_empty=not said)


def line_chart(
    title: str,
    lines: Sequence[Line],
    *,
    across: Axis,
    up: Axis,
    limit: Limit | None = None,
    width: float = 480,
    area: float = 210,
) -> Chart:
    """Return lines with bands around them, or clouds of dots.

    Args:
        title: what is shown.
        lines: what is drawn, each in a colour of its own.
        across: what the horizontal axis counts.
        up: what the vertical axis counts.
        limit: a level to be marked.
        width: of the picture.
        area: height of the area.

    """
    for one in lines:
        same_length("lines", one.x, one.y, one.low, one.high)
    horizontal = scale_of(
        [x for one in lines for x in one.x],
        is_log=across.is_log,
        is_share=across.is_share,
        marks=max(2, int(width // 90)),
    )
    heights = [y for one in lines for y in (*one.y, *one.low, *one.high)]
    vertical = scale_of([*heights, *([limit.value] if limit else [])], is_log=up.is_log, is_share=up.is_share)
    entries = [
        Entry(one.name, colour_of(place), "line" if one.is_joined else "dot", dashes_of(place))
        for place, one in enumerate(lines)
    ]
    entries += [Entry(limit.name, "alarm", "dashes")] if limit else []
    right = 8 + width_of(horizontal.labels[-1]) / 2
    frame = Frame(
        title, entries=entries, up=up, up_scale=vertical, width=width, area=area, below=42, right=max(14.0, right)
    )
    for place, one in enumerate(lines):
        _line(frame, horizontal, vertical, one, place, (across, up))
    if limit is not None:
        _limit(frame, vertical, limit, up)
    _zero(frame, vertical)
    frame.across(horizontal, across)
    said = [f"{one.name}: {_course(one, up)}" for one in lines]
    is_empty = not any(_known(one) for one in lines)
    return frame.chart(f"Chart of {up.heading} over {across.heading}. {described(said)}", is_empty=is_empty)


def histogram(
    title: str,
    edges: Sequence[Any],
    counts: Sequence[Any],
    *,
    across: Axis,
    up: Axis,
    low: Sequence[Any] = (),
    high: Sequence[Any] = (),
    band: str = "interval",
    width: float = 480,
    area: float = 190,
) -> Chart:
    """Return adjoining bars over ranges of numbers, with a band where their heights may be.

    Args:
        title: what is shown.
        edges: where ranges begin and end, in order: one more than there are counts.
        counts: the heights.
        across: what the ranges are of.
        up: what the heights count.
        low: where intervals of the heights begin, if there are any.
        high: where they end.
        band: what the legend calls the intervals.
        width: of the picture.
        area: height of the area.

    """
    counts, low, high = tuple(counts), tuple(low), tuple(high)
    places = [number(edge) for edge in edges]
    finite = [place for place in places if place is not None]
    if len(finite) != len(places) or finite != sorted(finite) or (counts and len(edges) != len(counts) + 1):
        raise InvalidParameter("edges", list(edges), f"{len(counts) + 1} finite numbers in ascending order")
    same_length("low and high", counts, low, high)
    horizontal = scale_of(finite, is_log=across.is_log, is_share=across.is_share, marks=max(2, int(width // 90)))
    vertical = scale_of([*counts, *low, *high, 0], is_share=up.is_share, with_zero=True)
    right = max(14.0, 8 + width_of(horizontal.labels[-1]) / 2)
    entries = [Entry(band, "line", is_needed=True)] if low and high else []
    frame = Frame(title, entries=entries, up=up, up_scale=vertical, width=width, area=area, below=42, right=right)
    one = Bars("", counts, low, high)
    labels = [f"{told(first, across)} to {told(last, across)}" for first, last in pairwise(finite)]
    for place, label in enumerate(labels[: len(counts)]):
        begin, end = (frame.x(horizontal.place(edge)) for edge in finite[place : place + 2])
        _bar(frame, vertical, label, one, place, begin, end - begin, "s1", gap=0.5, has_whisker=False)
    if low and high:
        _band(frame, vertical, [frame.x(horizontal.place(edge)) for edge in finite], one)
    _zero(frame, vertical)
    frame.across(horizontal, across)
    said = [f"{label}: {_height(one, place, up, False)}" for place, label in enumerate(labels[: len(counts)])]
    return frame.chart(f"Histogram of {across.heading}. {described(said)}", is_empty=not said)


def _known(one: Line) -> list[float]:
    return [shown for shown in map(number, one.y) if shown is not None]


def _height(one: Bars, place: int, up: Axis, is_named: bool) -> str:
    value = number(one.values[place])
    said = f"{one.name} " if is_named else ""
    low, high = (number(end[place]) if end else None for end in (one.low, one.high))
    if value is None:
        return f"{said}not known"
    if low is None or high is None:
        return said + told(value, up)
    if up.is_share:
        return f"{said}{told(value, up)} ({told(low, up)} to {told(high, up)})"
    # A count has no decimals, also where it is handed over as a float.
    is_whole = all(part.is_integer() for part in (value, low, high))
    digits = in_digits(*(int(part) if is_whole else part for part in (value, low, high)))
    shown, least, most = (part.replace("-", "\N{MINUS SIGN}") for part in digits)
    return f"{said}{shown} ({least} to {most})"


def _course(one: Line, up: Axis) -> str:
    found = _known(one)
    if not found:
        return "nothing"
    if not one.is_joined:
        return f"{len(found)} points between {told(min(found), up)} and {told(max(found), up)}"
    return f"from {told(found[0], up)} to {told(found[-1], up)}"


def _zero(frame: Frame, scale: Scale) -> None:
    """Mark zero where numbers stand on both sides of it."""
    if scale.low < 0 < scale.high:
        y = frame.y(scale.place(0.0))
        frame.parts.append(lined("axis", x1=frame.left, x2=frame.right, y1=y, y2=y))


def _limit(frame: Frame, scale: Scale, limit: Limit, up: Axis) -> None:
    y = frame.y(scale.place(limit.value))
    said = tag("title", f"{limit.name}: {told(limit.value, up)}")
    ends = {"x1": frame.left, "x2": frame.right, "y1": y, "y2": y}
    frame.parts.append(lined("alarm", "line", said, stroke_width=1.5, stroke_dasharray="5 3", **ends))


def _bar(
    frame: Frame,
    scale: Scale,
    label: str,
    one: Bars,
    place: int,
    left: float,
    wide: float,
    colour: str,
    gap: float = 0.0,
    has_whisker: bool = True,
) -> None:
    """Draw one bar from zero, with its whisker."""
    value, low, high = (number(of[place]) if of else None for of in (one.values, one.low, one.high))
    if value is not None:
        first, last = sorted((frame.y(scale.place(0.0)), frame.y(scale.place(value))))
        said = tag(
            "title", " ".join(part for part in (label, one.name) if part) + f": {_height(one, place, Axis(''), False)}"
        )
        spot = {"x": left + gap, "y": first, "width": max(wide - gap, 0.5), "height": last - first}
        frame.parts.append(filled(colour, "rect", said, opacity=0.9, **spot))
    ends = [of[place] if of else None for of in (one.low, one.high)]
    if not has_whisker or value is None or ends[0] is None or ends[1] is None:
        return
    middle, cap = left + wide / 2, min(5.0, wide / 3)
    # An interval without an end reaches the edge of the area, and has no cap there.
    bottom, top = (
        (frame.bottom if low is None else frame.y(scale.place(low))),
        (frame.top if high is None else frame.y(scale.place(high))),
    )
    path = f"M{middle:.1f} {bottom:.1f}V{top:.1f}"
    path += "".join(
        f"M{middle - cap:.1f} {y:.1f}h{2 * cap:.1f}" for y, end in ((bottom, low), (top, high)) if end is not None
    )
    frame.parts.append(lined("ink", "path", d=path, fill="none", stroke_width=1.4))


def _band(frame: Frame, scale: Scale, edges: Sequence[float], one: Bars) -> None:
    """Shade where the heights of adjoining bars may be; whiskers on all of them would hide the bars."""
    drawn = []
    for (left, right), least, largest in zip(pairwise(edges), one.low, one.high, strict=False):
        if least is None or largest is None:
            continue
        low, high = number(least), number(largest)
        bottom = frame.bottom if low is None else frame.y(scale.place(low))
        top = frame.top if high is None else frame.y(scale.place(high))
        drawn.append(f"M{left:.1f} {bottom:.1f}V{top:.1f}H{right:.1f}V{bottom:.1f}z")
    if drawn:
        frame.parts.append(filled("ink", "path", d="".join(drawn), opacity=0.2))


def _line(frame: Frame, horizontal: Scale, vertical: Scale, one: Line, place: int, axes: tuple[Axis, Axis]) -> None:
    """Draw one line, its band and its points."""
    colour = colour_of(place)

    def at(x: Any, y: Any) -> tuple[float, float] | None:
        """Return where a point stands, or None where a logarithm or a number is missing."""
        across, up = number(x), number(y)
        if across is None or up is None or (horizontal.is_log and across <= 0) or (vertical.is_log and up <= 0):
            return None
        return frame.x(horizontal.place(across)), frame.y(vertical.place(up))

    if one.low and one.high:
        edge = [at(x, y) for x, y in zip(one.x, one.low, strict=True)]
        back = [at(x, y) for x, y in zip(one.x, one.high, strict=True)]
        known = [(low, high) for low, high in zip(edge, back, strict=True) if low and high]
        around = [low for low, _ in known] + [high for _, high in reversed(known)]
        frame.parts.append(filled(colour, "polygon", points=_points(around), opacity=0.18))
    run: list[tuple[float, float]] = []
    for point in [*(at(x, y) for x, y in zip(one.x, one.y, strict=True)), None]:
        if point is not None:
            run.append(point)
            continue
        if one.is_joined and len(run) > 1:
            dashes = dashes_of(place)
            frame.parts.append(
                lined(colour, "polyline", points=_points(run), fill="none", stroke_width=2, stroke_dasharray=dashes)
            )
        run = []
    across, up = axes
    for x, y in zip(one.x, one.y, strict=True):
        spot = at(x, y)
        if spot is not None and (not one.is_joined or len(one.x) <= _MOST_DOTS):
            said = f"{one.name}: {told(number(y) or 0.0, up)} at {told(number(x) or 0.0, across)}"
            size = {"r": 2.6, "opacity": None} if one.is_joined else {"r": 2.2, "opacity": 0.55}
            frame.parts.append(filled(colour, "circle", tag("title", said), cx=spot[0], cy=spot[1], **size))


def _points(places: Iterable[tuple[float, float]]) -> Markup:
    return Markup(" ".join(f"{x:.1f},{y:.1f}" for x, y in places))
