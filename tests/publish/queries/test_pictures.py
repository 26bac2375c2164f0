"""Pictures of answers: bars with intervals, lines where groups are many, histograms of ranges; pages that escape."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.errors import InvalidParameter
from dither.mechanisms.claims import claims
from dither.privacy import PureDP
from dither.publish.queries.pictures import answer_page, picture
from dither.publish.queries.result import QueryResult, ResultColumn

HOSTILE = "<script>alert(1)</script>"


def answer(keys: dict[str, list[object]], counts: list[int], name: str = "n") -> QueryResult:
    """Return an answer whose numbers have an interval of one to either side."""
    columns = [ResultColumn(key, "text", True) for key in keys]
    rows = tuple((*row, count) for *row, count in zip(*keys.values(), counts, strict=True))
    ends = [tuple((*(None for _ in keys), row[-1] + side) for row in rows) for side in (-1, 1)]
    return QueryResult(
        columns=(*columns, ResultColumn(name, "integer", False, "number of rows", "limited to 3 a person")),
        rows=rows,
        low=ends[0],
        high=ends[1],
        confidence=Fraction(19, 20),
        is_simultaneous=False,
        loss=PureDP(1),
        unit="persons",
        notes=("a note",),
    )


def test_groups_are_bars_with_intervals_and_truth() -> None:
    chart = picture(answer({"ward": ["heart", "skin"]}, [5, 7]), truth=[5, 6])
    assert chart.title == "n, with 95 % intervals"
    assert "heart: 5 (4 to 6); skin: 7 (6 to 8)" in chart.description
    assert chart.body.count("truth") == 3


def test_many_groups_are_a_line_with_a_band() -> None:
    chart = picture(answer({"place": [str(n) for n in range(300)]}, list(range(300))))
    assert "<polygon" in chart.body
    assert "<polyline" in chart.body


def test_adjoining_ranges_are_a_histogram_and_others_are_not() -> None:
    ranges = {"age_from": [0, 10, 20], "age_to": [10, 20, 40]}
    assert picture(answer(ranges, [3, 4, 5])).description.startswith("Histogram of age.")
    for changed in ({"age_from": [0, 20, 10]}, {"age_to": [10, 20, None]}, {"age_to": [10, 15, 40]}):
        assert picture(answer(ranges | changed, [3, 4, 5])).description.startswith("Bar chart")
    titled = picture(answer(ranges | {"age_to": [10, 20, None]}, [3, 4, 5]))
    assert "by age. " in titled.description
    assert "age_from" not in titled.description
    assert "<title>count by age</title>" in answer_page(answer(ranges, [3, 4, 5], name="count2")).replace(
        "count2", "count"
    )
    other = {"age_from": [0, 10], "height_to": [10, 20]}
    assert picture(answer(other, [3, 4])).description.startswith("Bar chart")


def test_a_page_says_all_that_must_be_known_and_escapes_it() -> None:
    made = answer({HOSTILE: [HOSTILE, "b"]}, [5, 7], name=f"{HOSTILE}2")
    text = answer_page(made)
    assert HOSTILE not in text
    for words in ("number of rows", "limited to 3 a person", "a note", *claims(), "unledgered"):
        assert words in text
    assert text.count("<svg") == 1
    # A single row is a table and no picture.
    assert "<svg" not in answer_page(answer({}, [5]))


def test_what_is_not_a_number_is_not_drawn() -> None:
    made = answer({"ward": ["heart"]}, [5])
    with pytest.raises(InvalidParameter, match="a number: n"):
        picture(made, "ward")
