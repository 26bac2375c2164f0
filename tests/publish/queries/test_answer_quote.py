"""Quotes: what is said beforehand is what happens, and a target error finds its loss."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.data import Name
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import ROW, ZCDP, ApproxDP, PureDP, Use
from dither.publish.queries import loss_for_error, plan_query, present, quote, quote_of
from dither.publish.queries.examples import clinic_query
from dither.publish.queries.query import Key
from dither.publish.queries.split import Need, divide
from dither.publish.queries.sql import parse_sql
from tests.publish.queries.exact import CLINIC, tables

PERSON = person_unit("person")


def test_a_quote_says_what_the_answer_costs_and_protects() -> None:
    query = clinic_query("count", "sum", "quantile", "mode", unit=PERSON)
    found = quote(query, PureDP("1/2"))
    assert found.loss.pure == Fraction(1, 2)
    assert found.rows == 2
    assert found.numerics == "exact"
    # A coin and epsilon: e^epsilon / (1 + e^epsilon), and never less than what all parts together can tell.
    assert 0.5 < found.risk <= math.exp(0.5) / (1 + math.exp(0.5)) + 1e-9
    assert sum(column.share for column in found.columns) == pytest.approx(1)
    assert "scale" not in str(found), "laws and scales are for those who ask"
    text = found.text(verbose=True)
    for words in (
        "epsilon = 0.5",
        "at most 3 rows, 2 groups, 2 rows in a group",
        "discrete Laplace",
        "permute-and-flip",
    ):
        assert words in text
    assert json.loads(found.to_json())["columns"][1]["name"] == "sum"
    assert found.column("sum").estimand.startswith("sum of cost clamped to [0, 10]")
    with pytest.raises(InvalidParameter, match="one of count"):
        found.column("other")


def test_discovered_groups_are_quoted_with_their_threshold() -> None:
    found = quote(clinic_query("count", unit=PERSON, groups="discovered"), ApproxDP(1, "1e-6"))
    assert found.rows is None
    assert str(found).startswith(f"groups     shown only if about {found.threshold} people share it")
    assert 0 < found.loss.delta <= Fraction("1e-6")
    limited = dataclasses.replace(clinic_query("count"), limit=1)
    assert quote(limited, PureDP(1)).rows == 1
    assert "all simultaneously" in str(quote(limited, PureDP(1)))


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("loss", [PureDP("0.05"), ZCDP("0.0005")], ids=["laplace", "gaussian"])
def test_the_quoted_error_is_exceeded_in_one_case_of_twenty(loss: Any) -> None:
    """n = 3,000 empty groups; six standard errors (false alarm below 1e-8 for each side of the two checks)."""
    groups = 3000
    key = Key("number", Name("cost"), tuple(range(groups)))
    query = dataclasses.replace(
        clinic_query("count", "sum"), keys=(key,), outputs=(("count", Name("count")), ("sum", Name("sum")))
    )
    answer = plan_query(query, loss)
    data = ReferenceEngine(query.dataset, {"visits": []})
    result = present(answer, Runner(Use(answer), system_noise())(answer, data))
    for name in ("count", "sum"):
        error = quote_of(answer).column(name).error
        beyond = np.mean([abs(value) > error for value in result.column(name)])  # type: ignore[arg-type]
        assert abs(beyond - 0.05) < 6.2 * math.sqrt(0.05 * 0.95 / groups) + 0.01, name


@pytest.mark.parametrize(
    ("functions", "column", "target", "others"),
    [
        (("count",), "count", 10, {}),
        (("count", "sum"), "sum", "12.5", {}),
        (("count", "sum"), "sum", "12.5", {"concentrated": True}),
        (("mean",), "mean", "0.1", {"rows": 500}),
        (("quantile",), "quantile", 50, {}),
        (("mode",), "mode", 25, {}),
        (("deviation",), "deviation", 1, {"rows": 10_000}),
    ],
    ids=["count", "sum", "rho", "mean", "quantile", "mode", "deviation"],
)
def test_a_target_error_finds_the_loss(functions: Any, column: str, target: Any, others: dict[str, Any]) -> None:
    """At the loss found the quote has that error, and at a hundredth less it does not."""
    query = clinic_query(*functions)
    loss = loss_for_error(query, column, target, **others)
    rows = others.get("rows", 1)
    assert quote(query, loss).column(column).error / rows <= Fraction(target)
    less = ZCDP(loss.rho * Fraction(97, 100)) if isinstance(loss, ZCDP) else PureDP(loss.pure * Fraction(97, 100))  # type: ignore[operator]
    assert quote(query, less).column(column).error / rows > Fraction(target)


def test_a_target_error_of_a_mean_needs_a_magnitude() -> None:
    with pytest.raises(InvalidParameter, match="rows"):
        loss_for_error(clinic_query("mean"), "mean", 1)
    for wrong in (0, -1, "small"):
        with pytest.raises(InvalidParameter, match="target_error"):
            loss_for_error(clinic_query("count"), "count", wrong)
    with pytest.raises(InvalidParameter, match="one of count"):
        loss_for_error(clinic_query("count"), "other", 1)


def test_discovered_groups_need_a_delta_for_a_target() -> None:
    query = clinic_query("count", groups="discovered", unit=ROW)
    loss = loss_for_error(query, "count", 10, delta="1e-6")
    assert isinstance(loss, ApproxDP)
    assert loss.delta == Fraction("1e-6")


def test_shares_equalise_errors_and_add_up() -> None:
    needs = [
        Need("a", (0,), (Fraction(2),)),
        Need("b", (1, 2), (Fraction(3), Fraction(5))),
        Need("c", (0,), (Fraction(2),)),
    ]
    for is_gaussian in (False, True):
        shares = divide(needs, 3, is_gaussian=is_gaussian)
        assert sum(shares) == 1
        power = 2 if is_gaussian else 1
        errors = [
            sum(float(load) ** power / float(shares[part]) for part, load in zip(need.parts, need.loads, strict=True))
            for need in needs
        ]
        assert errors == pytest.approx([errors[0]] * 3, rel=1e-4)
    # What the user says is what each gets.
    said = divide(needs, 3, is_gaussian=False, shares={"a": Fraction(1), "b": Fraction(3), "c": Fraction(1)})
    assert said[0] == Fraction(1, 4)


def test_the_best_split_within_a_column_beats_others() -> None:
    """Against a search over 99 other splits of a mean's loss between its sum and its count."""
    answer = plan_query(clinic_query("mean"), PureDP("0.001"))
    need = answer.design.needs[0]
    loads, shares = [float(load) for load in need.loads], [float(share) for share in answer.design.split]
    best = sum(load / share for load, share in zip(loads, shares, strict=True))
    others = [loads[0] / (share / 100) + loads[1] / (1 - share / 100) for share in range(1, 100)]
    assert best <= min(others) * (1 + 1e-4)


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("GROUP BY region", "rows with NULL or a value that is not declared in region are in no group"),
        ("GROUP BY smoker", None),  # NULL is one of its declared values
        ("GROUP BY YEAR(day)", "rows with NULL in key_1 are in no group"),
        ("WHERE age > 3 GROUP BY region", "rows with NULL or a value that is not declared in region are in no group"),
        ("WHERE region IN ('north', 'south') GROUP BY region", None),  # the query itself leaves them out
        ("GROUP BY CASE WHEN age < 18 THEN 'child' ELSE 'adult' END", None),
        ("GROUP BY COALESCE(region, 'north')", None),
        ("GROUP BY note", None),
        ("", None),
    ],
)
def test_rows_that_are_in_no_group_are_spoken_of(clause: str, said: str | None) -> None:
    """From the schema and the text alone: NULL in a column that may not have it was dropped without a word."""
    plan = plan_query(parse_sql(f"SELECT COUNT(*) AS n FROM visits {clause}", CLINIC), ApproxDP(1, "1e-6"))  # noqa: S608
    quoted = str(quote_of(plan))
    result = present(plan, Runner(Use(plan), system_noise())(plan, ReferenceEngine(CLINIC, tables())))
    if said is None:
        assert "in no group" not in quoted
        assert not any("in no group" in note for note in result.notes)
    else:
        assert said in quoted
        assert said in result.notes
