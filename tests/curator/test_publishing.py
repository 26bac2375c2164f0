"""Histograms, workloads and marginals through a session: charged first, within the loss, refused before any charge."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import pytest

from dither.curator.access import curator_of
from dither.curator.session import Session
from dither.errors import BudgetExceeded, DitherError, InvalidParameter, KeyReused, Unanswerable
from dither.lift.cells import cells_of
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP
from dither.publish.count_tables import plan_histogram, plan_workload
from dither.publish.queries import QueryResult
from dither.publish.workloads import Workload


def truth(low: float, high: float, ward: str | None = None) -> int:
    """Count the rows of the clinic by hand."""
    wards = {person: "heart" if person % 3 else "skin" for person in range(200)}
    return sum(low <= person % 50 < high and ward in (None, wards[person]) for person in range(200))


def near(value: Any, exact: int, within: float = 40) -> bool:
    # Noise of scale 2 / epsilon at epsilon 9: the band is beyond 100 scales, left with a chance below e^-100.
    return abs(value - exact) < within


def test_a_histogram_is_charged_and_has_intervals(session: Session) -> None:
    result = session.histogram("visits", "waited", 10, epsilon=9)
    assert result.names == ("waited_from", "waited_to", "count")
    assert [near(row[2], truth(row[0], row[1])) for row in result.rows] == [True] * 10  # type: ignore[arg-type]
    assert all(low is not None and low <= high for low, high in result.interval("count"))  # type: ignore[operator]
    assert session.balance().spent.pure == Fraction(9)
    assert result.receipt.startswith(curator_of(session).ledger.id)
    assert any("least predicted error" in note for note in result.notes)
    assert QueryResult.from_json(result.to_json()).rows == result.rows


def test_categories_conditions_and_several_columns(session: Session) -> None:
    one = session.histogram("visits", "ward", epsilon=3, where="waited < 20")
    assert one.column("ward") == ("heart", "skin")
    assert near(one.column("count")[0], truth(0, 20, "heart"))
    two = session.histogram("visits", ("ward", "waited"), {"waited": [0, 25, 100]}, epsilon=3, method="identity")
    assert [row[:3] for row in two.rows] == [(w, *e) for w in ("heart", "skin") for e in ((0, 25), (25, 100))]
    assert near(two.rows[0][3], truth(0, 25, "heart"))


def test_a_retry_costs_nothing_and_another_request_is_refused(session: Session) -> None:
    first = session.histogram("visits", "waited", 4, epsilon=1, key="monday")
    assert session.histogram("visits", "waited", 4, epsilon=1, key="monday").rows == first.rows
    assert session.balance().spent.pure == Fraction(1)
    with pytest.raises(KeyReused):
        session.histogram("visits", "waited", 5, epsilon=1, key="monday")


def test_a_method_that_looks_says_why_it_has_no_intervals(session: Session) -> None:
    result = session.histogram("visits", "waited", 16, epsilon=1, method="most-likely")
    assert result.interval("count")[0] == (None, None)
    assert any(note.startswith("no intervals") for note in result.notes)
    assert None not in session.histogram("visits", "waited", 16, epsilon=1, method="dawa").interval("count")[0]


def test_a_workload_is_answered_at_once(session: Session) -> None:
    result = session.workload("visits", "waited", Workload.prefixes(4), 4, epsilon=4)
    assert [near(value, truth(0, 25 * (k + 1))) for k, value in enumerate(result.column("count"))] == [True] * 4
    plain = session.workload("visits", "waited", Workload.ranges(4, [(0, 1)]), 4, epsilon=4, method="identity")
    assert near(plain.column("count")[0], truth(0, 50))


def test_marginals_agree_with_each_other(session: Session) -> None:
    found = session.marginals("visits", [("ward",), ("waited", "ward")], {"waited": 2}, epsilon=8)
    assert list(found) == [("ward",), ("ward", "waited")] or list(found) == [("ward",), ("waited", "ward")]
    alone, together = found.values()
    # Those as drawn agree; what is shown of them is at least 0.
    by_ward = [sum(row[-1] for row in together.raw if ward in row) for ward in ("heart", "skin")]  # type: ignore[misc]
    assert by_ward == pytest.approx(list(alone.column("count", raw=True)))
    assert near(by_ward[0], truth(0, 101, "heart"))


def test_marginals_of_columns_whose_table_is_too_large(session: Session) -> None:
    cells = {"waited": 2**13, "note": [f"n{number}" for number in range(2**11)]}
    sets = [("ward",), ("note", "ward"), ("waited",)]
    found = session.marginals("visits", sets, cells, outside="drop", epsilon=8)
    assert [len(table.rows) for table in found.values()] == [2, 2**12, 2**13]
    alone = list(found["ward",].column("count"))
    # Noise of scale 2 * 3 / 8 in each cell, and sums of thousands agree: beyond 30 standard deviations.
    assert near(alone[0], truth(0, 101, "heart"), within=400)
    together = found["ward", "note"] if ("ward", "note") in found else found["note", "ward"]
    # Those as drawn agree; what is shown of them is at least 0.
    by_ward = [sum(row[-1] for row in together.raw if ward in row) for ward in ("heart", "skin")]  # type: ignore[misc]
    assert by_ward == pytest.approx(found["ward",].column("count", raw=True))
    assert all(low <= high for low, high in together.interval("count"))  # type: ignore[operator]


def test_a_histogram_over_more_cells_than_could_be_held(session: Session) -> None:
    cells = {"waited": 2**16, "note": [f"n{number}" for number in range(2**9)]}
    with pytest.raises(InvalidParameter, match="sparse-histogram"):
        session.histogram("visits", ("waited", "note"), cells, outside="drop", epsilon=9)
    asked: dict[str, Any] = {"outside": "drop", "epsilon": 9, "method": "sparse-histogram"}
    found = session.histogram("visits", ("waited", "note"), cells, **asked)
    assert found.names == ("waited_from", "waited_to", "note", "count")
    assert any("not listed" in note for note in found.notes)
    for row, (low, high) in zip(found.rows, found.interval("count"), strict=True):
        assert 0 <= low <= row[3] <= high  # type: ignore[operator]
    assert session.balance().spent.pure == Fraction(9)


@pytest.mark.parametrize("loss", [PureDP("1/3"), ZCDP("1/8"), ApproxDP(1, "1e-6")], ids=str)
def test_plans_keep_to_every_kind_of_loss(session: Session, loss: Loss) -> None:
    cells = cells_of(session.dataset, "visits", "waited", 12)
    for method in ("auto", "identity", "dawa", "privelet"):
        assert plan_histogram(cells, loss, method=method).mechanism.loss(1) <= loss
    assert plan_workload(cells, Workload.prefixes(12), loss).mechanism.loss(1) <= loss


@pytest.mark.parametrize(
    "bad",
    [
        {"bins": [(0, 60), (50, 100)]},
        {"bins": [0, 50]},
        {"bins": 0},
        {"bins": 10**9},
        {"bins": None},
        {"bins": 4, "method": "quad-tree"},
        {"bins": 4, "outside": "both"},
        {"bins": 4, "where": "1 = 1 GROUP BY ward"},
        {"bins": 4, "where": "nobody = 3"},
        {"bins": 4, "epsilon": 0},
        {"bins": 4, "confidence": 0},
        {"bins": 4, "rows": 0, "data_dependent": True},
        {"bins": 4, "epsilon": 11},
    ],
    ids=str,
)
def test_nothing_is_charged_for_a_bad_request(session: Session, bad: dict[str, Any]) -> None:
    with pytest.raises((InvalidParameter, Unanswerable, BudgetExceeded)):
        session.histogram("visits", "waited", **{"epsilon": 1, **bad})
    assert session.balance().releases == 0


def test_bad_workloads_and_marginals_cost_nothing(session: Session) -> None:
    with pytest.raises(DitherError):
        session.workload("visits", "waited", Workload.prefixes(5), 4, epsilon=1)
    with pytest.raises(DitherError):
        session.workload("visits", "waited", Workload.prefixes(4), 4, epsilon=1, method="magic")
    for sets in ([], [()], [("ward", "ward")], [("ward",), ("ward",)], [("note",)]):
        with pytest.raises(DitherError):
            session.marginals("visits", sets, epsilon=1)
    with pytest.raises(InvalidParameter, match="cells of all marginals"):
        session.marginals("visits", [("waited", "ward")], {"waited": 2**20}, epsilon=1)
    assert session.balance().releases == 0


def test_labels_say_what_they_are() -> None:
    from dither.publish.count_tables import _kind

    days = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)
    assert [_kind(value) for value in (True, 1, 1.5, "a", *days)] == [
        *("boolean", "integer", "real", "text", "date", "timestamp")
    ]
