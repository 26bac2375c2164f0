"""Charts: well-formed, with axes, titles and words; they stand whatever the numbers and the names are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.pages.charts import Bars, Limit, Line, bar_chart, histogram, line_chart
from dither.pages.frame import Axis, Chart, shortened
from dither.pages.heat import heat_map
from dither.pages.scales import number, scale_of, written

SVG = "{http://www.w3.org/2000/svg}"
NAN, INF = math.nan, math.inf
#: What a column of numbers may hold.
ANY = st.one_of(st.none(), st.floats(), st.integers(-(10**400), 10**400))
NAMES = st.text(max_size=60)


def parsed(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(chart.svg().encode("utf-8"))  # noqa: S314


def read(chart: Chart) -> ElementTree.Element:
    """Return a chart as XML, after what holds of every chart was checked."""
    root = parsed(chart)
    assert root.get("role") == "img"
    title, words = root[0], root[1]
    assert (title.tag, words.tag) == (f"{SVG}title", f"{SVG}desc")
    assert root.get("aria-labelledby") == f"{title.get('id')} {words.get('id')}"
    assert (words.text or "").strip()
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    assert width > 0 < height
    for element in root.iter():
        for name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "r"):
            if name in element.attrib:
                assert -1 <= float(element.attrib[name]) <= max(width, height) + 1, (element.tag, name)
        assert "nan" not in (element.get("points") or element.get("d") or "")
    return root


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(found.itertext()) for found in root.iter(f"{SVG}text")]


def bars(values: list[object], labels: list[str] | None = None, **options: object) -> Chart:
    names = [f"c{place}" for place in range(len(values))] if labels is None else labels
    given = {"across": Axis("ward"), "up": Axis("visits", "a year")} | options
    return bar_chart("Visits", names, [Bars("released", values)], **given)  # type: ignore[arg-type]


def filled_rects(root: ElementTree.Element, colour: str = "s1") -> list[ElementTree.Element]:
    return [found for found in root.iter(f"{SVG}rect") if found.get("class") == f"f-{colour}" and len(found)]


def test_bars_stand_for_their_values() -> None:
    root = read(bars([10, 20, 40]))
    heights = [float(found.get("height", "")) for found in filled_rects(root)]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.03)
    assert heights[2] == pytest.approx(4 * heights[0], abs=0.03)
    shown = texts(root)
    for word in ("Visits", "visits (a year)", "ward", "c0", "c1", "c2", "0", "40"):
        assert word in shown
    assert "c1: 20" in (root[1].text or "")


def test_negative_bars_hang_below_zero() -> None:
    up, down = filled_rects(read(bars([3, -6])))
    zero = float(up.get("y", "")) + float(up.get("height", ""))
    assert float(down.get("y", "")) == pytest.approx(zero, abs=0.03)
    assert float(down.get("height", "")) == pytest.approx(2 * float(up.get("height", "")), abs=0.03)


def test_intervals_truth_limit_and_event_are_drawn_and_named() -> None:
    chart = bar_chart(
        "Visits",
        ["a", "b"],
        [Bars("released", [5, 7], [4, -INF], [6, INF]), Bars("other", [1, None])],
        across=Axis("ward"),
        up=Axis("visits"),
        truth=[5, NAN],
        limit=Limit("ceiling", 8),
        shaded=[0, 0.5],
        shading="the event",
    )
    root = read(chart)
    paths = [found.get("d", "") for found in root.iter(f"{SVG}path")]
    # One whisker with two caps, and one without ends, which has none.
    assert sorted(path.count("h") for path in paths) == [0, 2]
    assert len([found for found in root.iter(f"{SVG}circle") if len(found)]) == 1
    for word in ("released", "other", "truth", "the event", "ceiling"):
        assert word in texts(root)
    assert "a: released 5 (4 to 6), other 1; b: released 7, other not known" in (root[1].text or "")


def test_an_empty_chart_says_so_and_has_axes() -> None:
    empty = [
        bars([]),
        line_chart("t", [], across=Axis("x"), up=Axis("y")),
        line_chart("t", [Line("a", [1], [NAN])], across=Axis("x"), up=Axis("y")),
        histogram("t", [], [], across=Axis("x"), up=Axis("y")),
        heat_map("t", [], [], [], across=Axis("x"), up=Axis("y"), shown=Axis("z")),
    ]
    for chart in empty:
        root = read(chart)
        assert "nothing to show" in texts(root)
        assert "Nothing is shown" in (root[1].text or "")
        assert [found for found in root.iter(f"{SVG}line") if found.get("class") == "l-axis"]


def test_one_point_is_a_dot_within_the_axes() -> None:
    root = read(line_chart("t", [Line("a", [3], [1e12])], across=Axis("x"), up=Axis("y", "people")))
    assert len([found for found in root.iter(f"{SVG}circle") if len(found)]) == 1
    assert not list(root.iter(f"{SVG}polyline"))
    assert "1×10¹²" in texts(root)


def test_a_gap_parts_a_line_and_a_band_follows_it() -> None:
    line = Line("a", [1, 2, 3, 4, 5], [1, 2, None, 4, 5], [0, 1, 2, 3, 4], [2, 3, 4, 5, 6])
    root = read(line_chart("t", [line], across=Axis("x"), up=Axis("y")))
    assert len(list(root.iter(f"{SVG}polyline"))) == 2
    (band,) = root.iter(f"{SVG}polygon")
    assert len(band.get("points", "").split()) == 10


def test_lines_beyond_the_colours_differ_in_dashes() -> None:
    lines = [Line(f"m{place}", [1, 2], [place, place + 1]) for place in range(14)]
    root = read(line_chart("t", lines, across=Axis("x"), up=Axis("y")))
    looks = {(found.get("class"), found.get("stroke-dasharray")) for found in root.iter(f"{SVG}polyline")}
    assert len(looks) == 14


def test_dots_are_not_joined() -> None:
    root = read(line_chart("t", [Line("a", [1, 2], [3, 4], is_joined=False)], across=Axis("x"), up=Axis("y")))
    assert not list(root.iter(f"{SVG}polyline"))


def test_many_categories_and_long_names_stay_readable() -> None:
    names = [f"category number {place} of a list that is long" for place in range(120)]
    root = read(bars(list(range(120)), names))
    shown = [word for word in texts(root) if word.startswith("category")]
    # The heading of the axis is "ward"; of the names not all are written, and none is written out.
    assert 10 < len(shown) < 60
    assert all(len(word) <= 24 and word.endswith("…") for word in shown)
    assert len(filled_rects(root)) == 120
    assert names[7] in ElementTree.tostring(root, encoding="unicode")


def test_a_histogram_adjoins_and_needs_its_edges() -> None:
    root = read(histogram("Ages", [0, 10, 20, 40], [5, 7, 1], across=Axis("age", "years"), up=Axis("people")))
    widths = [float(found.get("width", "")) for found in filled_rects(root)]
    assert widths[2] == pytest.approx(2 * widths[1], abs=1)
    assert "age (years)" in texts(root)
    for edges in ([0, 1], [0, 2, 1, 3], [0, 1, 2, INF]):
        with pytest.raises(InvalidParameter, match="ascending"):
            histogram("Ages", edges, [1, 2, 3], across=Axis("age"), up=Axis("people"))


def test_a_histogram_has_a_band_and_no_whiskers() -> None:
    ends = {"low": [0, 0, 0], "high": [9, None, 5], "band": "95 % interval"}
    root = read(histogram("Ages", [0, 10, 20, 40], [5, 7, 1], across=Axis("age"), up=Axis("people"), **ends))
    (band,) = [found.get("d", "") for found in root.iter(f"{SVG}path")]
    # The bin without an upper end is left out of the band, and the others have a piece each.
    assert band.count("z") == 2
    assert "95 % interval" in texts(root)
    assert "0 to 10: 5 (0 to 9)" in (root[1].text or "")


def test_a_heat_map_has_a_cell_for_every_number() -> None:
    values = [[1, -0.5], [0, None]]
    across, up, shown = Axis("column"), Axis("row"), Axis("correlation")
    root = read(heat_map("Both", ["a", "b"], ["c", "d"], values, across=across, up=up, shown=shown, largest=1))
    cells = {found[0].text: found for found in root.iter(f"{SVG}rect") if len(found)}
    assert set(cells) == {"a, c: 1", "a, d: −0.5", "b, c: 0", "b, d: not known"}
    assert cells["a, c: 1"].get("class") == "f-warm"
    assert cells["a, d: −0.5"].get("class") == "f-cold"
    assert float(cells["a, c: 1"].get("opacity", "")) > float(cells["a, d: −0.5"].get("opacity", ""))
    assert "−0.5" in texts(root)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: bars([1, 2], ["only one"]),
        lambda: bar_chart("t", ["a"], [Bars("b", [1], [0, 1])], across=Axis("x"), up=Axis("y")),
        lambda: bars([1], truth=[1, 2]),
        lambda: line_chart("t", [Line("a", [1, 2], [1])], across=Axis("x"), up=Axis("y")),
        lambda: heat_map("t", ["a"], ["b"], [[1, 2]], across=Axis("x"), up=Axis("y"), shown=Axis("z")),
    ],
)
def test_what_does_not_fit_together_is_refused(draw: Callable[[], Chart]) -> None:
    with pytest.raises(InvalidParameter, match="as long as"):
        draw()


def test_arrays_are_drawn_as_lists_are() -> None:
    assert bars(np.array([1.0, 2.0])).svg() == bars([1.0, 2.0]).svg()  # type: ignore[arg-type]


@settings(max_examples=60)
@given(st.lists(st.tuples(NAMES, ANY, ANY, ANY), max_size=8), NAMES, st.integers(40, 900))
def test_bars_stand_whatever_they_are_given(rows: list[tuple[object, ...]], name: str, width: int) -> None:
    labels, values, low, high = ([row[place] for row in rows] for place in range(4))
    truth = values[::-1]
    series = [Bars(name, values, low, high), Bars(name, high)]
    axis = Axis(name, name)
    read(bar_chart(name, [str(label) for label in labels], series, across=axis, up=axis, truth=truth))
    parsed(bars(values, [str(label) for label in labels], width=width))


@settings(max_examples=60)
@given(st.lists(st.tuples(ANY, ANY, ANY, ANY), max_size=8), st.booleans(), st.booleans(), st.booleans())
def test_lines_stand_whatever_they_are_given(
    rows: list[tuple[object, ...]], log_x: bool, log_y: bool, share: bool
) -> None:
    x, y, low, high = ([row[place] for row in rows] for place in range(4))
    lines = [Line("<a>", x, y, low, high), Line("&", x, y, is_joined=False)]
    read(line_chart("]]>", lines, across=Axis("x", is_log=log_x), up=Axis("y", is_log=log_y, is_share=share)))


@settings(max_examples=40)
@given(st.lists(st.lists(ANY, min_size=3, max_size=3), min_size=1, max_size=6), NAMES)
def test_heat_maps_stand_whatever_they_are_given(values: list[list[object]], name: str) -> None:
    axis = Axis(name)
    read(heat_map(name, [name] * len(values), [name] * 3, values, across=axis, up=axis, shown=axis))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.booleans())
def test_marks_are_few_even_and_around_all_numbers(values: list[float], with_zero: bool) -> None:
    scale = scale_of(values, with_zero=with_zero)
    known = [number(value) or 0.0 for value in values]
    apart = scale.ticks[1] - scale.ticks[0]
    assert 2 <= len(scale.ticks) <= 12
    assert scale.low - 1e-6 * apart <= min(known)
    assert max(known) <= scale.high + 1e-6 * apart
    gaps = np.diff(scale.ticks)
    assert np.allclose(gaps, gaps[0], rtol=1e-2)
    assert len(set(scale.labels)) == len(scale.ticks)
    assert not with_zero or scale.low <= 0 <= scale.high
    assert [scale.place(scale.low), scale.place(scale.high)] == [0, 1]


@given(st.lists(st.floats(1e-300, 1e300), min_size=1))
def test_marks_of_factors_are_around_all_numbers(values: list[float]) -> None:
    scale = scale_of(values, is_log=True)
    assert scale.low <= min(values) * (1 + 1e-6)
    assert max(values) <= scale.high * (1 + 1e-6)
    assert 2 <= len(scale.ticks) <= 9
    assert list(scale.ticks) == sorted(set(scale.ticks))
    assert len(set(scale.labels)) == len(scale.ticks)


@pytest.mark.parametrize(
    ("value", "step", "shown"),
    [(0, 1, "0"), (-0.0, 0.5, "0.0"), (1234567, 1, "1,234,567"), (2.5e7, 1e6, "2.5×10⁷"), (3e-9, 1e-9, "3×10⁻⁹")],
)
def test_numbers_are_written_as_people_write_them(value: float, step: float, shown: str) -> None:
    assert written(value, step) == shown


def test_a_chart_needs_no_style_sheet_and_follows_one() -> None:
    chart = bars([1, 2])
    for found in re.findall(r"<(?:rect|text|circle|line|path)[^>]*>", chart.body):
        assert re.search(r'(fill|stroke)="#', found)
        assert re.search(r'class="[fl]-', found)
    assert "prefers-color-scheme: dark" in chart.svg()
    assert "<style" not in chart.markup()
    assert chart._repr_svg_() == chart.svg()


def test_long_texts_are_cut_at_a_mark() -> None:
    assert shortened("a  b\nc", 10) == "a b c"
    assert shortened("abcdefgh", 4) == "abc…"


@pytest.mark.parametrize("tiny", [5e-324, 2.2250738585e-313, 9e-301, 1e-300, 1e-299, 3e-280])
def test_the_smallest_numbers_have_marks(tiny: float) -> None:
    for values in ([tiny], [0.0, tiny], [-tiny, tiny], [tiny, 2 * tiny]):
        for is_log in (False, True):
            assert len(scale_of(values, is_log=is_log).labels) > 1
