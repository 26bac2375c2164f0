"""Shown numbers: inside their interval, inside the range that is public, and covered as often as is said."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.data import Call, Column, DataSet, Kind, Limits, Name, Scan, Table
from dither.mechanisms import PublicArray
from dither.privacy import ROW, PureDP
from dither.publish import count_tables
from dither.publish.queries import Aggregate, Answer, Answered, Key, Query, QueryResult, plan_query, present
from dither.publish.queries.display_values import believable
from dither.publish.workloads import Workload

TABLE = Table(
    "visits",
    (
        Column("group", Kind.INTEGER, lower=0, upper=400),
        Column("x", Kind.INTEGER, lower=0, upper=16),
        Column("y", Kind.REAL, lower=-3, upper=5),
        Column("debt", Kind.INTEGER, lower=-9, upper=0),
    ),
    "visits.csv",
)
DATASET = DataSet("clinic", (TABLE,), ROW)
X, Y, DEBT = ((Name("x"), (0.0, 16.0)),), ((Name("y"), (-3.0, 5.0)),), ((Name("debt"), (-9.0, 0.0)),)
#: What each aggregate is of, and the range in which it surely lies.
EVERY: dict[str, tuple[str, Any, float, float]] = {
    "rows": ("count", (), 0, math.inf),
    "known": ("count_of", X, 0, math.inf),
    "sum": ("sum", X, 0, math.inf),
    "owed": ("sum", DEBT, -math.inf, 0),
    "either": ("sum", Y, -math.inf, math.inf),
    "mean": ("mean", Y, -3, 5),
    "variance": ("variance", X, 0, 64),
    "deviation": ("deviation", X, 0, 8),
    "sample": ("sample_variance", X, 0, 128),
    "covariance": ("covariance", (*X, *Y), -32, 32),
    "correlation": ("correlation", (*X, *Y), -1, 1),
}


def asked(*names: str, groups: int = 1, **others: Any) -> Query:
    aggregates = tuple(
        Aggregate(
            name,
            EVERY[name][0],
            tuple(value for value, _ in EVERY[name][1]),
            () if EVERY[name][0].startswith("count") else tuple(bounds for _, bounds in EVERY[name][1]),
        )
        for name in names
    )
    key = Key("group", Name("group"), tuple(range(groups)))
    outputs = tuple((name, Name(name)) for name in names)
    return dataclasses.replace(Query(DATASET, Scan(TABLE), (key,), aggregates, outputs, Limits()), **others)


numbers = st.one_of(st.integers(-60, 60), st.integers(-(10**9), 10**9))


@given(numbers, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(-50, 50), st.integers(0, 50))
def test_what_is_shown_lies_in_the_range_and_keeps_all_that_its_interval_held(
    value: int, below: int, above: int, least: int, length: int
) -> None:
    one = np.array([value])
    shown, low, high = (int(part[0]) for part in believable(one, one - below, one + above, least, least + length))
    assert least <= low <= shown <= high <= least + length
    assert shown == min(max(value, least), least + length)
    kept = range(max(least, value - below), min(least + length, value + above) + 1)
    assert all(low <= truth <= high for truth in kept)


@lru_cache
def every_answer() -> Answer:
    return plan_query(asked(*EVERY), PureDP(1))


@given(st.lists(numbers, min_size=40, max_size=40), st.sampled_from(["0.5", "0.95", "0.999"]))
def test_every_statistic_of_any_numbers_is_shown_inside_an_interval_inside_its_range(
    drawn: list[int], confidence: str
) -> None:
    answer = every_answer()
    released = Answered(None, tuple(PublicArray(np.array([drawn[n]])) for n in range(len(answer.design.measured))))
    result = present(answer, released, confidence=confidence)
    for name, (_, _, least, most) in EVERY.items():
        ((low, high),), (value,) = result.interval(name), result.column(name)
        margin = 1e-6
        assert least - margin <= low <= value <= high <= most + margin, name  # type: ignore[operator]
    # The least that a mean, a variance or a correlation is made of: shown values do not hang on the confidence.
    assert result.rows == present(answer, released, confidence="0.9").rows


@pytest.mark.parametrize("truth", [0, 1, 4, 30])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "2"])
def test_intervals_of_counts_cover_exactly_as_often_as_they_say(truth: int, epsilon: str) -> None:
    """Exactly: each group is one possible draw, with its probability. Would catch: [0, 0] for a count of 1 or more."""
    reach = int(30 / float(epsilon)) + 1
    noise = np.arange(-reach, reach + 1)
    answer = plan_query(asked("rows", groups=len(noise)), PureDP(epsilon))
    result = present(answer, Answered(None, (PublicArray(truth + noise),)))
    ratio = math.exp(-float(epsilon))
    chance = (1 - ratio) / (1 + ratio) * ratio ** np.abs(noise)
    covered = sum(
        part for part, (low, high) in zip(chance, result.interval("rows"), strict=True) if low <= truth <= high
    )
    assert covered >= 0.95
    alone = math.fsum(chance[np.abs(noise) <= answer.design.parts[0].drawn().reach(0.05)])
    assert covered >= alone - 1e-12, "never less often than the interval of the noise alone"


def test_a_count_far_below_zero_is_shown_as_zero_in_an_interval_as_long_as_its_noise() -> None:
    answer = plan_query(asked("rows", "sum", groups=2), PureDP("0.001"))
    released = Answered(None, (PublicArray(np.array([-19296, 7])), PublicArray(np.array([-(10**7), 3]))))
    result = present(answer, released)
    assert result.column("rows") == (0, 7)
    assert result.column("rows", raw=True) == (-19296, 7)
    assert result.raw[0] == (-19296, -(10**7))
    (low, high), _ = result.interval("rows")
    assert low == 0
    assert high == int(answer.design.parts[0].drawn().reach(0.05))
    assert "-19296" not in str(result)
    again = QueryResult.from_json(result.to_json())
    assert again == result
    assert again.to_rows(raw=True)[0]["rows_raw"] == -19296
    assert "rows_raw" not in again.to_rows()[0]


def test_a_result_without_raw_values_is_read_as_it_was_stored() -> None:
    answer = plan_query(asked("rows"), PureDP(1))
    result = present(answer, Answered(None, (PublicArray(np.array([5])),)))
    assert '"raw"' not in result.to_json()
    assert QueryResult.from_json(result.to_json()).raw == result.rows


def test_raw_values_of_expressions_are_made_of_raw_numbers() -> None:
    outputs = (("twice", Call("add", (Name("rows"), Name("rows")))),)
    answer = plan_query(asked("rows", outputs=outputs), PureDP(1))
    result = present(answer, Answered(None, (PublicArray(np.array([-5])),)))
    assert (result.rows, result.raw) == (((0,),), ((-10,),))


def planned(kind: str) -> tuple[Any, int]:
    from dither.lift.cells import cells_of

    cells = cells_of(DATASET, "visits", ("x",), None, outside=None)
    if kind == "histogram":
        made = count_tables.plan_histogram(cells, PureDP(1), method="identity")
    else:
        made = count_tables.plan_workload(cells, Workload.all_ranges(17), PureDP(1), method="identity")
    return made, 17 if kind == "histogram" else 153


@pytest.mark.parametrize("kind", ["histogram", "workload"])
def test_tables_of_counts_follow_the_same_rule(kind: str) -> None:
    made, many = planned(kind)
    out = np.linspace(-900.0, 300.0, many)
    if kind == "histogram":
        result = count_tables.present_histogram(made, out, confidence=Fraction(19, 20), non_negative=True)
    else:
        result = count_tables.present_workload(made, out, confidence=Fraction(19, 20))
    assert result.column("count", raw=True) == tuple(out.tolist())
    for value, (low, high) in zip(result.column("count"), result.interval("count"), strict=True):
        assert 0 <= low <= value <= high  # type: ignore[operator]
        assert high > 0  # type: ignore[operator]


def test_marginals_follow_the_same_rule() -> None:
    made, sets = count_tables.plan_marginals(DATASET, "visits", [("x",), ("debt",)], PureDP(1))
    out = np.linspace(-900.0, 300.0, 27)
    found = count_tables.present_marginals(made, sets, out, confidence=Fraction(19, 20))
    for result in found.values():
        for value, (low, high) in zip(result.column("count"), result.interval("count"), strict=True):
            assert 0 <= low <= value <= high  # type: ignore[operator]


def test_differences_of_counts_may_be_below_zero() -> None:
    made, _ = planned("histogram")
    signed = Workload.matrix_of(np.eye(17) - np.eye(17, k=1))
    assert not count_tables.adds_up(signed.matrix)
    result = count_tables.present_workload(
        count_tables.plan_workload(made.cells, signed, PureDP(1), method="identity"),
        np.full(17, -50.0),
        confidence=Fraction(19, 20),
    )
    assert set(result.column("count")) == {-50.0}
