"""``CLAMP(x, AUTO)``: a range and an answer for one price, the answer's loss debited before the range is found."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dither
from dither.curator.access import Run, curator_of
from dither.curator.price import Price
from dither.curator.session import Session
from dither.errors import BudgetExceeded, EngineFailure, InvalidParameter, KeyReused, LossNotStated, Unanswerable
from dither.privacy import PureDP
from dither.publish.queries import QueryResult

SUM = "SELECT ward, SUM(CLAMP(waited, AUTO)) AS s FROM visits GROUP BY ward"


def spent(session: Session) -> Fraction:
    return Fraction(session.balance().spent.to_dict()["epsilon"])


def kinds(session: Session) -> list[tuple[str, str | None]]:
    entries = curator_of(session).ledger.entries(session.dataset.name)
    return [(entry.kind, (entry.key or "")[:5]) for entry in entries if entry.kind != "register"]


def test_both_are_priced_together_and_charged_once_each(session: Session) -> None:
    priced: Any = session.quote(SUM, epsilon=2)
    assert isinstance(priced, Price)
    assert priced.loss <= PureDP(2)
    assert priced.fits
    assert spent(session) == 0
    explained: Any = session.sql(f"EXPLAIN PRIVACY {SUM}", epsilon=2)
    assert explained == priced
    first = session.sql(SUM, epsilon=2, key="monday")
    assert spent(session) == 2
    assert first.loss == PureDP("9/5")
    assert "waited was clamped to [" in first.notes[-1]
    assert "for another epsilon = 0.2" in first.notes[-1]
    # The debit of the answer comes before that of the range, and each is drawn after its own.
    assert kinds(session) == [
        ("reserve", "monda"), ("reserve", "auto-"), ("draw", "auto-"), ("answer", "auto-"),
        ("draw", "monda"), ("answer", "monda"),
    ]  # fmt: skip
    again = session.sql(SUM, epsilon=2, key="monday", auto_share="0.10")
    assert again.to_json() == first.to_json()
    assert again.receipt == first.receipt
    assert spent(session) == 2


def test_groups_are_discovered_with_the_rest_of_the_loss() -> None:
    """Where groups are not declared, delta and the threshold's share are the query's, said in the text or beside it."""
    rows = {"n": [f"n{number % 2}" for number in range(400)], "x": [number % 50 for number in range(400)]}
    frame = pytest.importorskip("pandas").DataFrame(rows)
    session = dither.private(frame, budget=9, delta="1e-3", unit="row", name="t")
    text = "SELECT n, SUM(CLAMP(x, AUTO)) AS s FROM t GROUP BY n"
    how: dict[str, Any] = {"epsilon": 8, "delta": "1e-4"}
    found = session.sql(f"{text} OPTION (THRESHOLD_SHARE = 0.4)", **how)
    assert set(found.column("n")) <= {"n0", "n1"}
    priced: Any = session.quote(f"{text} OPTION (THRESHOLD_SHARE = 0.4)", **how)
    assert priced == session.quote(text, **how, threshold_share="0.4")
    with pytest.raises(InvalidParameter, match="set once"):
        session.sql(f"{text} OPTION (THRESHOLD_SHARE = 0.4)", **how, threshold_share="0.4")


def test_another_request_under_the_key_is_refused(session: Session) -> None:
    session.sql(SUM, epsilon=2, key="monday")
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        (SUM, {"auto_share": "0.5"}),
        (SUM.replace("AUTO", "0, 50"), {}),
        (SUM.replace("SUM", "AVG"), {}),
    )
    for text, how in cases:
        with pytest.raises(KeyReused):
            session.sql(text, epsilon=2, key="monday", **how)
    assert spent(session) == 2


def test_what_does_not_fit_as_a_whole_costs_nothing(session: Session) -> None:
    session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=8)
    # Nine tenths of it would fit.
    with pytest.raises(BudgetExceeded, match=r"epsilon = 2\.2"):
        session.sql(SUM, epsilon="2.2", key="monday")
    assert spent(session) == 8
    whole = session.sql(SUM, epsilon=2, key="monday")
    assert spent(session) == 10
    # Nothing is left, and the stored answer is given all the same.
    assert session.sql(SUM, epsilon=2, key="monday").rows == whole.rows


def test_what_is_wrong_is_refused_before_anything_is_charged(session: Session) -> None:
    for text, how, failure in (
        (SUM, {}, LossNotStated),
        (SUM, {"epsilon": 1, "auto_share": 1}, InvalidParameter),
        (SUM, {"epsilon": 1, "noise": "pink"}, InvalidParameter),
        (SUM.replace("waited", "note"), {"epsilon": 1}, InvalidParameter),
        (SUM.replace("waited", "nothing"), {"epsilon": 1}, InvalidParameter),
        (SUM.replace("waited,", "waited * 2,"), {"epsilon": 1}, Unanswerable),
        (SUM.replace("GROUP BY ward", ""), {"epsilon": 1}, Unanswerable),
        (SUM.replace("FROM visits", "FROM nowhere"), {"epsilon": 1}, InvalidParameter),
    ):
        with pytest.raises(failure):
            session.sql(text, **how)
        with pytest.raises(failure):
            session.quote(text, **how)
    assert spent(session) == 0


def test_a_range_with_which_the_query_cannot_be_asked_does_not_cost_the_answer() -> None:
    """All of it is debited by then: the public clamp takes its place, and the answer says so.

    The loss leaves no noise, which would widen the range of x now and then until the query can be asked.
    """
    frame = pytest.importorskip("pandas").DataFrame({"x": [1, 2, 3, 2] * 500, "y": [10**9, -(10**9)] * 1000})
    session = dither.private(frame, budget=1_000_000, unit="row", name="t", bounds={"x": (0, 50)})
    texts = (
        "SELECT COUNT(*) AS n FROM t WHERE CLAMP(x, AUTO) > 45",  # never true within what is found
        "SELECT CLAMP(y, AUTO) AS y, COUNT(*) AS n FROM t GROUP BY 1",  # more groups than can be public
    )
    for number, (text, clamp) in enumerate(zip(texts, ("[0, 50]", "[-1, 1]"), strict=True), 1):
        found = session.sql(text, epsilon=200_000, key=f"k{number}")
        assert spent(session) == 200_000 * number
        assert f"clamped to {clamp}: with the range that was found" in found.notes[-1]
        assert session.sql(text, epsilon=200_000, key=f"k{number}").to_json() == found.to_json()
        assert spent(session) == 200_000 * number


def test_a_condition_on_a_range_that_nobody_declared_is_tried_with_wider_ones() -> None:
    """Within [-1, 1] it could never be true, and was refused although a range was to be found."""
    frame = pytest.importorskip("pandas").DataFrame({"x": [10, 40, 30, 20] * 500})
    session = dither.private(frame, budget=100, unit="row", name="t")
    asked = "SELECT COUNT(*) AS n FROM t WHERE CLAMP(x, AUTO) > {}"
    found = session.sql(asked.format(25), epsilon=20)
    assert found.column("n")[0] == pytest.approx(1000, abs=30)
    assert "which was found" in found.notes[-1]
    far = session.sql(asked.format(5000), epsilon=20)  # never true within what is found
    assert "clamped to [-1e+06, 1e+06]: with the range that was found" in far.notes[-1]
    with pytest.raises(Unanswerable, match="can never be true"):
        session.sql(asked.format("1e300"), epsilon=20)


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_midway_keeps_the_debits_and_the_same_key_goes_on(
    session: Session, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """The first run of the range, or that of the query, fails before noise is drawn."""
    calls = []
    plain = Run.carry_out

    def run(work: Any, engine: Any, words: Any) -> Any:
        calls.append(work.mechanism)
        if len(calls) == failing + 1:
            raise RuntimeError("a cable")
        return plain(work, engine, words)

    monkeypatch.setattr(Run, "carry_out", run)
    with pytest.raises(EngineFailure) as caught:
        session.sql(SUM, epsilon=2, key="monday")
    assert any(" with key='monday'" in note for note in caught.value.__notes__)
    assert spent(session) == 2
    assert isinstance(session.sql(SUM, epsilon=2, key="monday"), QueryResult)
    assert spent(session) == 2
    assert len(calls) == 3  # a range that was found is not found again


def test_a_delta_is_for_the_query_and_rho_is_divided(session: Session) -> None:
    priced: Any = session.quote(SUM, rho="0.1", auto_share="1/4")
    # Noise of a round scale costs a little less.
    assert Fraction(99, 1000) <= Fraction(priced.loss.to_dict()["rho"]) <= Fraction(1, 10)
    priced = session.quote(SUM, epsilon=1, delta="1e-6")
    assert priced.loss.to_dict()["epsilon"] == "1"
    assert Fraction(priced.loss.to_dict()["delta"]) <= Fraction(1, 10**6)


@pytest.mark.statistical(n=1, false_alarm=1e-9, catches="a range or a sum that is not that of the rows")
def test_the_answer_is_about_the_rows(session: Session) -> None:
    """All of 200 people wait less than 50: at this loss the noise of a count or sum is beyond 25 scales less often."""
    found = session.sql("SELECT SUM(CLAMP(waited, AUTO)) AS s FROM visits", epsilon=10, auto_share="1/2")
    truth = sum(person % 50 for person in range(200))
    (value,) = found.column("s")
    assert isinstance(value, int | float)
    # Two rows of a person count, within [0, 100] at most: a scale of 2 * 100 / 5. Of 200 people who wait 0 to 3
    # minutes less than the first cell that is found, each is clamped by that much at most.
    assert abs(value - truth) <= 25 * (2 * 100 / 5) + 600
