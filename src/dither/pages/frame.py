"""What stands around every drawing: title, legend, axes with their marks, and words for those who cannot see it."""

from __future__ import annotations

import importlib
import textwrap
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from dither.errors import MissingExtra
from dither.pages.markup import Markup, joined, tag
from dither.pages.scales import Scale
from dither.pages.style import CHART_STYLE, COLOURS, SERIES

SMALL: Final = 11
LARGE: Final = 13
_ROW: Final = 18
_DASHES: Final = (None, "6 3", "2 3", "8 3 2 3")
_LONGEST_DESCRIPTION: Final = 12
#: How far a picture is made smaller to fit a narrow window, of which this is the room: below that no text can be read.
_LEAST_SCALE: Final = 0.55
_NARROW: Final = 350


@dataclass(frozen=True)
class Axis:
    """What an axis counts.

    Args:
        title: in words.
        unit: in which it counts, if any.
        is_log: whether equal factors are drawn at equal distances.
        is_share: whether numbers are shares, written in per cent.

    """

    title: str
    unit: str = ""
    is_log: bool = False
    is_share: bool = False

    @property
    def heading(self) -> str:
        """What stands beside the axis."""
        marks = [mark for mark in (self.unit, "log scale" if self.is_log else "") if mark]
        return f"{self.title} ({', '.join(marks)})" if marks else self.title


@dataclass(frozen=True)
class Entry:
    """A line of the legend: what something is called, its colour, how it is drawn, and whether it stands alone, too."""

    name: str
    colour: str
    drawn: Literal["box", "line", "dot", "dashes", "words"] = "box"
    dashes: str | None = None
    is_needed: bool = False


@dataclass(frozen=True)
class Chart:
    """A picture: SVG that stands alone in a notebook or a file, or within a page.

    Args:
        title: what it shows.
        description: the same in words, for those who cannot see it.
        width: in pixels, before it is fitted to a narrow page.
        height: likewise.
        body: what is drawn.

    """

    title: str
    description: str
    width: float
    height: float
    body: Markup = field(repr=False)

    def markup(self) -> Markup:
        """Return the picture for a page, which brings the colours; a wide one scrolls in narrow windows."""
        least = round(_LEAST_SCALE * self.width)
        if least <= _NARROW:
            return self._svg(Markup())
        drawn = self._svg(Markup(), style=f"min-width: {least}px")
        return tag("div", drawn, class_="scroll", tabindex=0, role="group", aria_label="Picture")

    def svg(self) -> str:
        """Return the picture with its colours: a file of its own."""
        return str(self.alone())

    def alone(self) -> Markup:
        """Return the picture with its colours, as markup for where no page brings them."""
        ground = tag("rect", width=self.width, height=self.height, class_="f-ground", fill=COLOURS["ground"][0])
        return self._svg(joined((tag("style", Markup(CHART_STYLE)), ground)))

    def captioned(self, words: str) -> Chart:
        """Return the picture with a caption below it: what must be known to read it, as a loss."""
        lines = textwrap.wrap(words, max(24, int((self.width - 16) / (0.54 * SMALL))))
        below = [words_at(line, 8.0, self.height + 12.0 + 15 * place) for place, line in enumerate(lines)]
        height = round(self.height + 15 * len(lines) + 6) if lines else self.height
        said = f"{self.description} {words}".strip()
        return replace(self, description=said, height=height, body=joined((self.body, *below)))

    def save(self, path: Path | str) -> Path:
        """Write the picture to a file ending in .svg, .html or .png, and return its path; PNG needs 'plots'."""
        from dither.pages.page import figure, page, page_target

        target = page_target(path, option="path", endings=(".svg", ".html", ".png"))
        if target.suffix.lower() == ".png":
            try:
                vl_convert: Any = importlib.import_module("vl_convert")
            except ImportError:
                raise MissingExtra("PNG pictures", "plots") from None
            target.write_bytes(vl_convert.svg_to_png(self.svg(), scale=2))
        else:
            is_page = target.suffix.lower() == ".html"
            target.write_text(page(self.title, figure(self.markup())) if is_page else self.svg(), encoding="utf-8")
        return target

    def _repr_svg_(self) -> str:
        """Show the picture in a notebook."""
        return self.svg()

    def _svg(self, before: Markup, style: str | None = None) -> Markup:
        mark = f"chart-{zlib.crc32(f'{self.title}{self.description}{self.body}'.encode('utf-8', 'replace')):08x}"
        words = (tag("title", self.title, id=f"{mark}-title"), tag("desc", self.description, id=f"{mark}-words"))
        return tag(
            "svg",
            *words,
            before,
            self.body,
            xmlns="http://www.w3.org/2000/svg",
            class_="dither-chart",
            role="img",
            aria_labelledby=f"{mark}-title {mark}-words",
            width=self.width,
            height=self.height,
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            style=style,
        )


def width_of(words: str, size: float = SMALL) -> float:
    """Return about how wide a text is drawn."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in words)
    return size * (0.54 * (len(words) - wide) + wide)


def shortened(words: str, most: int) -> str:
    """Return a text of at most that many characters; what is missing is marked."""
    words = " ".join(words.split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def described(said: Sequence[str]) -> str:
    """Return the first of several statements, and how many more there are."""
    more = len(said) - _LONGEST_DESCRIPTION
    return "; ".join(said[:_LONGEST_DESCRIPTION]) + (f"; and {more} more" if more > 0 else "")


def colour_of(place: int) -> str:
    """Return the colour of a series."""
    return f"s{place % SERIES + 1}"


def dashes_of(place: int) -> str | None:
    """Return how the line of a series is dashed: series that share a colour differ in that."""
    return _DASHES[place // SERIES % len(_DASHES)]


def filled(name: str, kind: str = "rect", /, *inside: object, **attributes: object) -> Markup:
    """Return a shape in one of the colours."""
    return tag(kind, *inside, class_=f"f-{name}", fill=COLOURS[name][0], **attributes)


def lined(name: str, kind: str = "line", /, *inside: object, **attributes: object) -> Markup:
    """Return a line in one of the colours."""
    return tag(kind, *inside, class_=f"l-{name}", stroke=COLOURS[name][0], **attributes)


def words_at(
    words: str, x: float, y: float, *, colour: str = "soft", size: int = SMALL, **attributes: object
) -> Markup:
    """Return a text at a place."""
    family = "system-ui, sans-serif"
    return filled(colour, "text", words, x=x, y=y, font_size=size, font_family=family, **attributes)


class Frame:
    """The area of a drawing, and what stands around it.

    Args:
        title: above it.
        entries: of the legend; a single one that the title can speak for is left out.
        up: the vertical axis.
        up_scale: its scale; None where the vertical axis has no numbers.
        width: of the whole picture.
        area: how high the area is.
        below: how much room the horizontal axis needs.
        left: how much room is left beside the vertical axis at the least.
        right: how much room is left beside it.

    """

    def __init__(
        self,
        title: str,
        *,
        entries: Sequence[Entry],
        up: Axis,
        up_scale: Scale | None,
        width: float,
        area: float,
        below: float,
        left: float = 0.0,
        right: float = 14.0,
    ) -> None:
        self.title, self.width = title, width
        labels = () if up_scale is None else up_scale.labels
        self.left = 26 + max([left, *(width_of(label) for label in labels)])
        self.right = width - right
        self.parts: list[Markup] = []
        lines = textwrap.wrap(shortened(title, 200), max(12, int((width - 16) / (0.56 * LARGE)))) or [""]
        for place, line in enumerate(lines):
            self.parts.append(words_at(line, 8.0, 16.0 + _ROW * place, colour="ink", size=LARGE, font_weight="600"))
        self.top = 16.0 + _ROW * len(lines) + self._legend(entries, 10.0 + _ROW * len(lines))
        self.bottom = self.top + area
        self.height = self.bottom + below
        middle = (self.top + self.bottom) / 2
        turned = f"rotate(-90 12 {middle:.1f})"
        heading = shortened(up.heading, max(10, int(area / 5.6)))
        self.parts.append(words_at(heading, 12.0, middle, text_anchor="middle", transform=turned))
        if up_scale is not None:
            self._up(up_scale)

    def x(self, share: float) -> float:
        """Return where a share of the width lies."""
        return self.left + share * (self.right - self.left)

    def y(self, share: float) -> float:
        """Return where a share of the height lies, counted from below."""
        return self.bottom - share * (self.bottom - self.top)

    def across(self, scale: Scale, axis: Axis) -> None:
        """Draw the horizontal axis of numbers."""
        end = -1e9
        for tick, label in zip(scale.ticks, scale.labels, strict=True):
            x, half = self.x(scale.place(tick)), width_of(label) / 2
            self.parts.append(lined("axis", x1=x, x2=x, y1=self.bottom, y2=self.bottom + 4))
            if x - half > end + 4:
                self.parts.append(words_at(label, x, self.bottom + 16, text_anchor="middle"))
                end = x + half
        self.under(axis, self.bottom + 33)

    def under(self, axis: Axis, y: float) -> None:
        """Draw the line of the horizontal axis, and write what it counts."""
        self.parts.append(lined("axis", x1=self.left, x2=self.right, y1=self.bottom, y2=self.bottom))
        heading = shortened(axis.heading, max(10, int((self.right - self.left) / 5.6)))
        self.parts.append(words_at(heading, (self.left + self.right) / 2, y, text_anchor="middle"))

    def chart(self, description: str, *, is_empty: bool = False) -> Chart:
        """Return what was drawn."""
        if is_empty:
            x, y = (self.left + self.right) / 2, (self.top + self.bottom) / 2
            self.parts.append(words_at("nothing to show", x, y, text_anchor="middle"))
            description += " Nothing is shown."
        return Chart(self.title, description, round(self.width), round(self.height), joined(self.parts))

    def _up(self, scale: Scale) -> None:
        for tick, label in zip(scale.ticks, scale.labels, strict=True):
            y = self.y(scale.place(tick))
            self.parts.append(lined("line", x1=self.left, x2=self.right, y1=y, y2=y))
            self.parts.append(words_at(label, self.left - 6, y + 4, text_anchor="end"))
        self.parts.append(lined("axis", x1=self.left, x2=self.left, y1=self.top, y2=self.bottom))

    def _legend(self, entries: Sequence[Entry], y: float) -> float:
        """Draw the legend, and return how high it is."""
        if len(entries) < 2 and not any(entry.drawn == "dashes" or entry.is_needed for entry in entries):
            return 0.0
        x, first = 8.0, y
        for entry in entries:
            name = shortened(entry.name, 40)
            beside = 0 if entry.drawn == "words" else 22
            wide = 12 + beside + width_of(name)
            if x > 8 and x + wide > self.width:
                x, y = 8.0, y + _ROW
            if beside:
                self.parts.append(_sample(entry, x, y + 8))
            self.parts.append(words_at(name, x + beside, y + 12, colour="ink"))
            x += wide
        return y - first + _ROW + 4


def _sample(entry: Entry, x: float, y: float) -> Markup:
    if entry.drawn == "box":
        return filled(entry.colour, x=x + 3, y=y - 5, width=11, height=11, rx=2)
    if entry.drawn == "dot":
        return filled(entry.colour, "circle", cx=x + 9, cy=y, r=4)
    dashes = "5 3" if entry.drawn == "dashes" else entry.dashes
    return lined(entry.colour, x1=x, x2=x + 18, y1=y, y2=y, stroke_width=2, stroke_dasharray=dashes)
