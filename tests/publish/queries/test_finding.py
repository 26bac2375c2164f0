"""Private bounds and limits: cells hold what they say, ends are magnitudes that occur, and nothing else is charged."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.data import Column, DataSet, Kind, Scan, Table
from dither.data.evaluation import evaluate
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter, Unanswerable
from dither.mechanisms import PublicArray, perform
from dither.privacy import ROW, ZCDP, Loss, PureDP
from dither.publish.queries import Answered, plan_query, present
from dither.publish.queries.builder import table
from dither.publish.queries.finding import FoundBounds, bounds_query, edges_of, found_bounds, limits_query

TABLE = Table(
    "visits",
    (
        Column("id", Kind.INTEGER),
        Column("whole", Kind.INTEGER),
        Column("real", Kind.REAL),
        Column("few", Kind.INTEGER, lower=-3, upper=100),
        Column("some", Kind.REAL, lower=0, upper=10),
        Column("note", Kind.TEXT),
    ),
    "visits.csv",
    person="id",
)
CLINIC = DataSet("clinic", (TABLE,), person_unit("id"), rows=20, groups=5)
VISITS = table("visits")


@lru_cache
def answer_of(column: str, loss: Loss | None = None) -> Any:
    return plan_query(bounds_query(CLINIC, VISITS, column), loss or PureDP("0.5"))


def shown(column: str, counts: dict[int, int]) -> FoundBounds:
    answer = answer_of(column)
    cells = np.zeros(len(answer.design.groups), dtype=np.int64)
    for place, count in counts.items():
        cells[place] = count
    return found_bounds(answer, Answered(None, (PublicArray(cells),)), column)


VALUES: dict[str, Any] = {
    "whole": st.one_of(st.integers(-9, 9), st.integers(-(2**63) + 1, 2**63 - 1)),
    "real": st.one_of(st.floats(-9, 9), st.floats(-1e140, 1e140)),
    "few": st.integers(-3, 100),
    "some": st.floats(0, 10),
}


@pytest.mark.parametrize("column", sorted(VALUES))
@settings(max_examples=60)
@given(st.data())
def test_a_value_lies_between_the_ends_of_its_cell(column: str, data: Any) -> None:
    value = data.draw(VALUES[column])
    query = bounds_query(CLINIC, VISITS, column)
    cell = evaluate(query.keys[0].value, {column: value})
    assert cell in (query.keys[0].values or ())
    low, high = shown(column, {cell: 10**6}).bounds
    # What is nearer to 0 than 2^-32 is 0.
    assert low - 2.0**-32 <= value <= high + 2.0**-32
    if abs(value) >= 1 and column in ("whole", "real") and abs(value) < 2**62:
        assert max(abs(low), abs(high)) <= 2 * abs(value) * (1 + 1e-12)


def test_null_lies_in_no_cell() -> None:
    query = bounds_query(CLINIC, VISITS, "real")
    assert evaluate(query.keys[0].value, {"real": None}) is None
    assert None not in (query.keys[0].values or ())


def test_declared_bounds_are_narrowed_and_never_left() -> None:
    assert edges_of("few", Scan(TABLE)) == (-2, -1, 0, 1, 2, 4, 8, 16, 32, 64)
    every = shown("few", dict.fromkeys(range(11), 10**6))
    assert every.bounds == (-3, 100)
    assert shown("some", dict.fromkeys(range(len(edges_of("some", Scan(TABLE))) + 1), 10**6)).bounds == (0, 10)


@settings(max_examples=60)
@given(st.data())
def test_where_no_noise_exceeds_its_reach_both_ends_occur_and_the_rest_is_counted(data: Any) -> None:
    """Any counts, and any noise within the reach of each cell: what is said of the ends is so."""
    answer = answer_of("few")
    cells = len(answer.design.groups)
    true = np.array(data.draw(st.lists(st.sampled_from([0, 0, 1, 3, 500]), min_size=cells, max_size=cells)))
    reach = shown("few", {}).reach
    noise = np.array(data.draw(st.lists(st.integers(-reach, reach), min_size=cells, max_size=cells)))
    found = found_bounds(answer, Answered(None, (PublicArray(true + noise),)), "few")
    if found.lower is None or found.upper is None:
        assert (true <= 2 * reach).all()
        return
    lows = [-3, *edges_of("few", Scan(TABLE))]
    highs = [*(edge - 1 for edge in lows[1:]), 100]
    first, last = lows.index(found.lower), highs.index(found.upper)  # type: ignore[arg-type]
    assert true[first] > 0
    assert true[last] > 0
    assert max([*true[:first], *true[last + 1 :]], default=0) <= 2 * reach


@pytest.mark.statistical(false_alarm=1e-9)
def test_what_lies_outside_is_bounded_as_often_as_is_said() -> None:
    """n = 300 releases of the same counts; 95 % is refuted at 1e-9 below 250. Would catch: the noise of one cell."""
    answer = answer_of("real")
    true = np.zeros(len(answer.design.groups), dtype=np.int64)
    true[100:110] = [3, 9, 40, 200, 900, 900, 200, 40, 9, 3]
    drawn, held = answer.design.parts[0].drawn(len(true)), 0
    from dither.noise import system_noise

    for noisy in drawn.draw_many(true, 300, system_noise()):
        found = found_bounds(answer, Answered(None, (PublicArray(noisy),)), "real")
        places = [place for place in range(len(true)) if noisy[place] > found.reach]
        outside = int(true[: places[0]].sum() + true[places[-1] + 1 :].sum())
        held += outside <= found.outside and true[places[0]] > 0 and true[places[-1]] > 0
    assert held >= 250


@pytest.mark.parametrize("loss", [PureDP("0.5"), ZCDP("0.1")])
def test_a_person_counts_once_whatever_the_limits_are(loss: Loss) -> None:
    answer = answer_of("real", loss)
    assert answer.loss(1) <= loss
    assert answer.design.sensitivities[0].l1 == 1
    assert answer.design.sensitivities[0].l2 == 1
    rows = DataSet("rows", (Table("visits", TABLE.columns, "v.csv"),), ROW)
    assert plan_query(bounds_query(rows, VISITS, "real"), loss).design.sensitivities[0].l1 == 1


def test_bounds_and_limits_are_found() -> None:
    """Noise of scale 1e-3: what is counted is what is there."""
    rows = [
        {"id": person, "whole": 5 + person % 20, "real": 0.3 if person % 2 else -70.0}
        for person in range(200)
        for _ in range(1 + person % 10)
    ]
    engine = ReferenceEngine(CLINIC, {"visits": rows})
    for column, wanted in (("whole", (4, 31)), ("real", (-128, 0.5))):
        answer = answer_of(column, PureDP(1000))
        found = found_bounds(answer, perform(answer, engine), column)
        assert found.bounds == wanted
        assert found.counted == 200
        assert found.outside <= 5
    for share, wanted_limit in (("0.5", 5), ("1", 10), ("0.95", 10)):
        answer = plan_query(limits_query(CLINIC, VISITS, share, 64), PureDP(1000))
        assert answer.design.levels[0].sensitivity.l1 == 1
        assert present(answer, perform(answer, engine)).rows == ((wanted_limit,),)


def test_nothing_found_is_said() -> None:
    found = shown("real", {})
    assert (found.lower, found.upper) == (None, None)
    assert "no range is known" in str(found)
    with pytest.raises(Unanswerable, match="spend more"):
        _ = found.bounds
    assert FoundBounds.stored(found.to_json(), "unledgered") == found


@pytest.mark.parametrize("loss", [PureDP("1e-18"), PureDP("1e-299"), ZCDP("1e-300")])
def test_noise_beyond_every_count_is_said_instead_of_failing_after_the_charge(loss: Loss) -> None:
    answer = answer_of("few", loss)
    cells = np.zeros(len(answer.design.groups), dtype=np.int64)
    found = found_bounds(answer, Answered(None, (PublicArray(cells),)), "few")
    assert found.lower is None
    assert found.outside >= found.reach > 10**18
    assert FoundBounds.stored(found.to_json(), "r").outside == found.outside


def test_what_has_no_magnitude_is_refused() -> None:
    for column, rule in (("note", "a column of numbers"), ("nothing", "one of id")):
        with pytest.raises(InvalidParameter, match=rule):
            bounds_query(CLINIC, VISITS, column)
    rows = DataSet("rows", (Table("visits", TABLE.columns, "v.csv"),), ROW)
    with pytest.raises(Unanswerable, match="nothing to limit"):
        limits_query(rows, VISITS, "0.95", 64)
    for share, most in (("2", 64), ("0.5", 0)):
        with pytest.raises(InvalidParameter):
            limits_query(CLINIC, VISITS, share, most)


def test_the_record_comes_back_from_the_ledger() -> None:
    found = shown("few", {4: 999, 5: 2})
    again = FoundBounds.stored(found.to_json(), "ledger:1:x")
    assert (again.bounds, again.receipt, again.confidence) == (found.bounds, "ledger:1:x", Fraction(19, 20))
    assert "CLAMP(few, 1, 1)" in str(found)
