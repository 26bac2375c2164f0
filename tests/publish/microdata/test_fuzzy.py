"""Public encodings and merged attributes: memberships by hand, codes for whatever comes, and exact inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dither.lift.attributes import Attributes
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.publish.microdata import (
    EvenSteps,
    GaussianSet,
    LinguisticVariable,
    MergedAttributes,
    RuleTable,
    Trapezoidal,
    Triangular,
    attributes_of,
    decoded,
    encoded,
)
from dither.publish.microdata.fuzzy import SHAPES
from dither.publish.microdata.reproduction import PRINTED_ERRORS, PRINTED_SIZES, file_size_ratio, misclassification

ODD: list[Any] = [None, "x", float("nan"), float("inf"), -float("inf"), 10**400, -(10**400), [1], 1j, b"", 5]


def test_memberships_by_hand() -> None:
    x = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 5.0])
    assert Triangular(0, 2, 4).of(x).tolist() == [0, 0, 0.5, 1, 0.5, 0]
    assert Trapezoidal(0, 1, 3, 5).of(x).tolist() == [0, 0, 1, 1, 1, 0]
    assert Trapezoidal(0, 0, 2, 2).of(x).tolist() == [0, 1, 1, 1, 0, 0]
    assert GaussianSet(2, 1).of(x).tolist() == pytest.approx([math.exp(-((b - 2) ** 2) / 2) for b in x])


@pytest.mark.parametrize("shape", SHAPES)
def test_even_terms_are_the_nearest_centre(shape: str) -> None:
    variable = LinguisticVariable.evenly("age", 0, 100, ["very low", "low", "high", "very high"], shape)
    numbers = np.linspace(0, 100, 501)
    gaps = np.abs(numbers[:, None] - np.array([0, 100 / 3, 200 / 3, 100])[None, :])
    # Between two centres both terms fit equally well, and floats decide.
    clear = np.sort(gaps, axis=1)[:, 1] - gaps.min(axis=1) > 1e-6
    assert (variable.codes(numbers) == gaps.argmin(axis=1))[clear].all()
    fits = variable.membership(numbers)
    assert ((fits >= 0) & (fits <= 1)).all()
    assert fits.max(axis=1).min() > 0
    spread = variable.spread(variable.codes(numbers))
    assert (variable.codes(spread) == variable.codes(numbers)).all()
    assert variable.decode(np.arange(4)) == pytest.approx([0, 100 / 3, 200 / 3, 100])


def test_whatever_comes_has_a_code() -> None:
    for encoding in (
        LinguisticVariable.evenly("n", -5, 5, ["a", "b"]),
        EvenSteps("n", 0, 10, 3),
        RuleTable("n", ("x", 5)),
        LinguisticVariable("n", 0, 9, (("few", Triangular(0, 1, 2)), ("many", Triangular(7, 8, 9)))),
    ):
        codes = encoding.codes(ODD)
        assert ((codes >= 0) & (codes < encoding.size)).all()
        assert codes[0] == encoding.size - 1
        assert len(encoding.decode(codes)) == len(ODD)
        assert encoding.codes(np.array([], dtype=np.float64)).size == 0


def test_where_no_term_fits_the_nearest_does() -> None:
    gap = LinguisticVariable("n", 0, 9, (("few", Triangular(0, 1, 2)), ("many", Triangular(7, 8, 9))))
    assert gap.codes([4, 5]).tolist() == [0, 1]
    assert gap.label(0) == "few"
    assert gap.label(2) == "unknown"


def test_tables_of_codes_and_back() -> None:
    encodings = [EvenSteps("gain", 0, 100, 10), RuleTable("job", ("clerk", "cook"))]
    codes = encoded(encodings, {"gain": [5.0, 99.0, None], "job": ["cook", "?", "clerk"]})
    assert attributes_of(encodings).sizes == (11, 3)
    assert codes.tolist() == [[0, 1], [9, 2], [10, 0]]
    columns = decoded(encodings, codes)
    assert columns["job"].tolist() == ["cook", None, "clerk"]
    assert columns["gain"].tolist()[:2] == [5.0, 95.0]
    for columns_given in ({"gain": [1]}, {"gain": [1], "job": []}):
        with pytest.raises(InvalidParameter):
            encoded(encodings, columns_given)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Triangular(2, 1, 3),
        lambda: Trapezoidal(0, 1, 2, float("inf")),
        lambda: GaussianSet(0, 0),
        lambda: LinguisticVariable("n", 1, 1, (("a", GaussianSet(0, 1)),)),
        lambda: LinguisticVariable("n", 0, 1, ()),
        lambda: LinguisticVariable.evenly("n", 0, 1, ["a", "b"], "square"),
        lambda: EvenSteps("n", 0, 1, 0),
        lambda: EvenSteps("n", 0, 1, 1e-9),
        lambda: RuleTable("n", ("a", "a")),
        lambda: MergedAttributes(Attributes.of({"a": 2}), (("b",),)),
        lambda: MergedAttributes(Attributes.of({"a": 2, "b": 2}), (("a",), ("a", "b"))),
        lambda: MergedAttributes(Attributes.of({"a": 2**13, "b": 2**13}), (("a", "b"),)),
        lambda: misclassification([1], [1, 2]),
    ],
    ids=range(13),
)
def test_bad_declarations_are_refused(build: Any) -> None:
    with pytest.raises(InvalidParameter):
        build()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_unmerging_undoes_merging(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    table = Attributes.of({f"x{number}": size for number, size in enumerate(sizes)})
    places = data.draw(st.lists(st.integers(0, 2), min_size=len(sizes), max_size=len(sizes)))
    groups = [[name for name, place in zip(table.names, places, strict=True) if place == group] for group in range(3)]
    merged = MergedAttributes(table, tuple(tuple(group) for group in groups if group))
    rows = np.array([[data.draw(st.integers(0, size - 1)) for size in sizes] for _ in range(4)])
    codes = merged.merge(rows)
    assert (merged.unmerge(codes) == rows).all()
    assert ((codes >= 0) & (codes < np.array(merged.merged.sizes))).all()
    assert math.prod(merged.merged.sizes) == math.prod(sizes)
    texts = merged.texts(codes)
    for name, column in zip(table.names, rows.T, strict=True):
        group, place = merged.place(name)
        assert [int(text[group].split("  ")[place]) for text in texts] == column.tolist()


def test_merging_is_one_to_one() -> None:
    merged = MergedAttributes(Attributes.of({"a": 2, "b": 3, "c": 4}), (("c", "a"),))
    cells = np.array(list(np.ndindex(2, 3, 4)))
    codes = merged.merge(cells)
    assert len({tuple(code) for code in codes.tolist()}) == 24
    # The order of cells of a marginal is that of merged codes.
    assert (codes[:, 0] == cells[:, 0] * 4 + cells[:, 2]).all()
    with pytest.raises(InvalidParameter):
        merged.place("d")


def test_reproductions_say_what_they_are_not() -> None:
    assert "misclassification is not privacy" in str(misclassification([1, 0], [1, 1]))
    merged = MergedAttributes(Attributes.of({"a": 2, "b": 3}), ())
    ratio = file_size_ratio(merged, np.array([[0, 2]]))
    assert ratio.value == 1.0
    assert "reproduction only" in str(ratio)
    assert "not utility" in str(ratio)
    assert PRINTED_SIZES.keys() == PRINTED_ERRORS.keys()


def test_durations_and_dates_are_no_numbers_and_raise_nothing() -> None:
    from dither.publish.microdata.fuzzy import numbers_of

    odd = [np.timedelta64(3, "D"), np.timedelta64(3, "ns"), np.timedelta64("NaT"), np.datetime64("2020-01-01")]
    assert np.isnan(numbers_of([1, *odd])).tolist() == [False, True, True, True, True]
    assert np.isnan(numbers_of(np.array(["2020-01-01"], dtype="datetime64[ns]"))).all()
