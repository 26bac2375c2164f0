"""A session charges first, answers once, says nothing about rows when it fails, and prices without the data."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import signal
import subprocess
import sys
import threading
import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dither
from dither import Geometric, learn
from dither.curator.access import curator_of
from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.data import DataSet
from dither.errors import (
    BudgetExceeded,
    DitherError,
    EngineFailure,
    EngineUnavailable,
    HandleMisuse,
    InvalidParameter,
    KeyReused,
    LedgerUnavailable,
    QuotaExceeded,
    ReleaseFailed,
    RequestSealed,
    Unanswerable,
)
from dither.lift import Rows, cells_of
from dither.lift.offer import Offer
from dither.lift.verb import verbs_of
from dither.mechanisms import PublicArray
from dither.privacy import ApproxDP, PureDP
from dither.publish.queries import QueryResult, Quote, plan_query, present
from dither.publish.queries.answer import Answered
from dither.publish.queries.builder import col
from dither.publish.workloads import Workload
from dither.verbs import answers as answers_module
from dither.verbs.graphs import Graph
from dither.verbs.offers import Offers
from dither.verbs.places import Places

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


def asked(session: Session, text: str, **how: Any) -> QueryResult:
    result = session.sql(text, **how)
    assert isinstance(result, QueryResult)
    return result


def test_a_loss_that_nobody_stated_says_what_is_left(session: Session) -> None:
    session.sql(COUNT, epsilon=1)
    for ask in (
        lambda: session.sql(COUNT),
        lambda: session.quote(COUNT),
        lambda: session.histogram("visits", "ward"),
        lambda: session.synthesize("visits"),
    ):
        with pytest.raises(
            InvalidParameter, match=r"epsilon is required.*--epsilon 0.1; remaining budget: epsilon = 9"
        ):
            ask()


def test_bounds_and_limits_are_found_and_charged_once(noiseless: Session) -> None:
    found = noiseless.bounds("visits", "waited", epsilon=100_000, key="range")
    # 200 people wait 0 to 49: the cell of 0 holds 4 of them, that of 32 to 64 holds 68, and none waits longer.
    assert found.bounds == (0, 64)
    assert noiseless.bounds("visits", "waited", epsilon=100_000, key="range").receipt == found.receipt
    assert noiseless.limits("visits", epsilon=100_000).column("rows") == (1,)
    assert noiseless.balance().releases == 2


def test_the_share_of_rows_that_a_limit_drops_is_released_under_a_public_cap() -> None:
    # Ten people with 1, 2, ... 10 rows: a limit of 4 drops 6 + 5 + 4 + 3 + 2 + 1 of 55, and 6 * 2 of 46 up to 6 rows.
    frame = pd.DataFrame({"id": [person for person in range(1, 11) for _ in range(person)]})
    with dither.private(frame, budget=10**6, person="id", rows=4, groups=1) as session:
        for most, dropped in ((64, Fraction(21, 55)), (6, Fraction(11, 45))):
            found = session.limits("data", drops=4, most=most, epsilon=10**5)
            assert found.column("dropped")[0] == pytest.approx(float(dropped))
            assert f"rows: 4, dropped: {float(dropped):.2g}, dropped up to: {most}" in str(found)
        for wrong in ({"drops": 0}, {"drops": 64, "most": 64}, {"drops": 4, "share": "0.5"}):
            with pytest.raises(InvalidParameter, match=r"drops|share"):
                session.limits("data", epsilon=1, **wrong)


def test_a_quote_says_how_many_such_queries_are_left(session: Session) -> None:
    session.sql(COUNT, epsilon=1)
    found = session.quote(COUNT, epsilon=2)
    assert (found.left, found.affordable) == ("epsilon = 9", 4)
    assert "epsilon = 9: about 4 such queries" in str(found)
    for number in range(4):
        session.sql(COUNT, epsilon=2, key=str(number))
    assert session.quote(COUNT, epsilon=2).affordable == 0
    with pytest.raises(BudgetExceeded):
        session.sql(COUNT, epsilon=2, key="fifth")
    assert "more than 1,023" in str(session.quote(COUNT, epsilon="1e-9"))


def test_the_share_of_a_threshold_is_said_in_the_text_or_beside_it(curator: Curator, folder: Path) -> None:
    text = "SELECT note, COUNT(*) AS n FROM visits GROUP BY note"
    with curator.session("clinic", analyst="eve") as asked:
        loss = {"epsilon": 1, "delta": "1e-6"}
        said = asked.quote(f"{text} OPTION (THRESHOLD_SHARE = 0.25)", **loss)
        assert said == asked.quote(text, threshold_share="0.25", **loss)
        assert said.threshold_share == Fraction(1, 4)
        assert said != asked.quote(text, **loss)
        with pytest.raises(InvalidParameter, match="set once"):
            asked.quote(f"{text} OPTION (THRESHOLD_SHARE = 0.25)", threshold_share="0.5", **loss)


def test_a_query_may_state_its_own_loss(session: Session) -> None:
    text = COUNT.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2)", 1)
    assert session.quote(text).loss == session.quote(COUNT, epsilon=2).loss
    assert session.sql(f"EXPLAIN PRIVACY {text}") == session.quote(text)
    with pytest.raises(InvalidParameter, match="OPTIONS"):
        session.sql(text, epsilon=3)
    assert session.balance().releases == 0
    session.sql(text, key="one")
    session.sql(text, epsilon=2, key="other")
    assert session.quote(COUNT, epsilon=1).left == "epsilon = 6"


def test_ends_of_intervals_are_stored_and_shown_as_columns(session: Session) -> None:
    text = "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high FROM visits"
    result = session.sql(text, epsilon=1, key="ends")
    ((low, high),) = result.interval("n")
    assert (result.column("low"), result.column("high")) == ((low,), (high,))
    assert session.sql(text, epsilon=1, key="ends").rows == result.rows
    assert "n  ± 6 rows" in str(session.quote(text, epsilon=1))
    assert str(low) in str(result).replace(",", "")


def test_a_refusal_for_lack_of_budget_says_what_would_fit(session: Session) -> None:
    session.sql(COUNT, epsilon=8)
    with pytest.raises(BudgetExceeded, match="epsilon is short: at most epsilon = 2 would fit"):
        session.sql(COUNT, epsilon=3)
    assert session.sql(COUNT, epsilon=2)


def test_an_answer_is_charged_and_has_a_receipt(session: Session) -> None:
    result = asked(session, COUNT, epsilon="0.5")
    assert result.column("ward") == ("heart", "skin")
    assert result.receipt.startswith(curator_of(session).ledger.id)
    assert session.balance().spent.pure == Fraction(1, 2)
    assert curator_of(session).ledger.verify().is_intact


def test_a_large_loss_gives_the_truth(session: Session) -> None:
    result = asked(session, "SELECT ward, COUNT(*) AS n, SUM(waited) AS s FROM visits GROUP BY ward", epsilon=9)
    exact = {"heart": [0, 0], "skin": [0, 0]}
    for person in range(200):
        ward = exact["heart" if person % 3 else "skin"]
        ward[0], ward[1] = ward[0] + 1, ward[1] + person % 50
    # Bands of about 40 scales of the noise, which it leaves with probability e^-40.
    assert abs(result.column("n")[0] - exact["heart"][0]) < 30  # type: ignore[operator]
    assert abs(result.column("s")[1] - exact["skin"][1]) < 2500  # type: ignore[operator]


def test_the_same_key_returns_the_same_bytes_at_no_cost(session: Session) -> None:
    first = asked(session, COUNT, epsilon="0.5", key="monday")
    again = asked(session, COUNT, epsilon="0.5", key="monday")
    assert (first.rows, first.receipt) == (again.rows, again.receipt)
    assert session.balance().spent.pure == Fraction(1, 2)
    with pytest.raises(KeyReused):
        session.sql(COUNT, epsilon="0.25", key="monday")
    assert session.balance().spent.pure == Fraction(1, 2)


def test_without_a_key_every_answer_is_a_new_release(session: Session) -> None:
    for _ in range(2):
        session.sql(COUNT, epsilon="0.5")
    assert session.balance().releases == 2


def test_the_budget_and_the_quota_are_limits(session: Session, curator: Curator) -> None:
    curator.ledger.set_quota("clinic", "ana", PureDP(1))
    with pytest.raises(QuotaExceeded):
        session.sql(COUNT, epsilon=2)
    other = curator.session("clinic", analyst="curator")
    other.sql(COUNT, epsilon=9)
    with pytest.raises(BudgetExceeded):
        other.sql(COUNT, epsilon=2)
    assert session.sql(COUNT, epsilon=1)
    other.close()


def remove_rows(folder: Path) -> None:
    """Remove the file of visits and the copy that was imported of it."""
    (folder / "visits.csv").unlink()
    for copy in (folder / "home" / "data" / "clinic").glob("*.parquet"):
        copy.unlink()


def test_explain_privacy_costs_nothing_and_needs_no_data(session: Session, folder: Path) -> None:
    remove_rows(folder)
    quoted = session.sql(f"EXPLAIN PRIVACY {COUNT}", epsilon=1)
    assert isinstance(quoted, Quote)
    assert str(session.quote(COUNT, epsilon=1)) == str(quoted)
    assert session.balance().releases == 0


def test_a_target_error_finds_its_loss(session: Session) -> None:
    loss = session.loss_for_error(COUNT, "visits", 20)
    assert session.quote(COUNT, loss=loss).columns[0].error <= 20
    smaller = PureDP(loss.pure * Fraction(9, 10)) if loss.pure else None
    assert smaller is not None
    assert session.quote(COUNT, loss=smaller).columns[0].error > 20


def test_the_builder_asks_the_same(session: Session) -> None:
    built = session.table("visits").where(col("waited") > 10).group("ward").count("visits")
    result = session.ask(built, PureDP(1))
    assert result.column("ward") == ("heart", "skin")
    assert session.quote(built, epsilon=1) == session.quote(
        "SELECT ward, COUNT(*) AS visits FROM visits WHERE waited > 10 GROUP BY ward", epsilon=1
    )


def test_disjoint_parts_are_paid_for_once(curator: Curator, folder: Path) -> None:
    text = (folder / "clinic.yaml").read_text().replace("groups: 2", "groups: 1")
    (folder / "copy.csv").write_text((folder / "visits.csv").read_text() + "999,heart,1,n\n")
    (folder / "one.yaml").write_text(text.replace("visits.csv", "copy.csv").replace("dataset: clinic", "dataset: one"))
    curator.add(folder / "one.yaml", budget=PureDP(10))
    session = curator.session("one")
    wards = session.table("visits").partition("ward", {"h": ["heart"], "s": ["skin"]})
    parts = wards.each(lambda rows: rows.count("n"))
    found = session.ask_parts(parts, PureDP(1), key="k")
    assert set(found) == {"h", "s"}
    assert session.balance().spent.pure == 1
    again = session.ask_parts(parts, PureDP(1), key="k")
    assert {label: result.rows for label, result in again.items()} == {
        label: result.rows for label, result in found.items()
    }
    session.close()


def test_everything_that_releases_has_a_price_beforehand(session: Session, folder: Path) -> None:
    remove_rows(folder)
    offer, sites = session.offer, cells_of(session.dataset, "visits", "ward")
    offers: list[Offer[Any]] = [
        offer.sql(COUNT, epsilon=1),
        offer.histogram("visits", "ward", epsilon=1),
        offer.bounds("visits", "waited", epsilon=1),
        offer.limits("visits", epsilon=1),
        offer.marginals("visits", [["ward"]], epsilon=1),
        offer.synthesize("visits", ["ward"], epsilon=1),
        offer.anonymize("visits", ["ward"], epsilon=1),
        offer.method(Geometric(shape=sites.shape, scale=sites.sensitivity.l1), sites),
    ]
    for one in offers:
        price = session.quote(one)
        assert (price.loss.epsilon, price.fits) == (1, True)  # type: ignore[attr-defined]
    assert not session.quote(offer.sql(COUNT, epsilon=11)).fits
    assert session.balance().releases == 0
    with pytest.raises(EngineUnavailable):
        session.sql(COUNT, epsilon=1)


def test_a_session_and_its_offers_have_the_same_verbs() -> None:
    verbs = [verb for verb in verbs_of(Offers) if verb.name != "method"]
    assert len(verbs) > 15
    for verb in verbs:
        assert callable(getattr(Session, verb.name))
        # Streams, conversations and parts are opened under a name, not released.
        if verb.name not in ("stream", "conversation", "parts"):
            here, there = inspect.signature(getattr(Session, verb.name)), inspect.signature(getattr(Offers, verb.name))
            assert here == there
            assert list(here.parameters)[1:] == [one.name for one in verb.arguments]
    for group in (Graph, Places):
        assert {verb.attribute for verb in verbs_of(group)} == {name for name in dir(group) if name[0] != "_"} - {
            "dataset",
            "find",
            "kind",
        }


def test_an_offer_that_a_caller_put_together_is_not_released(session: Session) -> None:
    offer = session.offer.histogram("visits", "ward", epsilon=1)
    for forged in (
        dataclasses.replace(offer, words="mine"),
        Offers(session.dataset).histogram("visits", "ward", rho=1),
    ):
        with pytest.raises(InvalidParameter, match="own ``offer`` has made"):
            session.release(forged)
    assert session.balance().releases == 0
    assert session.release(offer).column("ward") == ("heart", "skin")


def test_any_registered_method_is_released_over_any_source(session: Session) -> None:
    cells = cells_of(session.dataset, "visits", "ward")
    method = Geometric(shape=cells.shape, scale=cells.sensitivity.l1)
    found = session.release(method, cells, key="mine")
    assert found.shape == cells.shape
    np.testing.assert_array_equal(session.release(method, cells, key="mine"), found)
    assert session.balance().releases == 1
    learner = Rows(session.dataset, cells.relation, ("waited",))
    with pytest.raises(InvalidParameter, match="whose distance is"):
        session.release(method, learner)
    with pytest.raises(InvalidParameter, match="registered"):
        session.release(object(), cells)  # type: ignore[call-overload]
    with pytest.raises(InvalidParameter, match="a mechanism and a source"):
        session.release(method)  # type: ignore[call-overload]
    assert session.balance().releases == 1


def test_real_rows_are_compared_for_their_owner_alone(
    session: Session, curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.publish.synthetic.quality._learning", lambda *_: [])
    made = session.synthesize("visits", ["ward"], epsilon=1)
    reads: list[object] = []
    monkeypatch.setattr(session._open(), "aggregate", reads.append)
    with pytest.raises(InvalidParameter, match=r"analyst must be 'curator', who owns the rows.*got 'ana'"):
        session.compare_synthetic(made)
    assert not reads
    assert session.balance().releases == 1
    owner = curator.session("clinic")
    assert owner.compare_synthetic(made).compares_real
    owner.close()


@pytest.mark.parametrize(
    ("text", "how", "error"),
    [
        ("SELECT * FROM visits", {"epsilon": 1}, Unanswerable),
        ("SELECT COUNT(*) FROM nowhere", {"epsilon": 1}, DitherError),
        ("SELECT COUNT(*", {"epsilon": 1}, DitherError),
        (COUNT, {}, InvalidParameter),
        (COUNT, {"epsilon": 0}, InvalidParameter),
        (COUNT, {"epsilon": float("nan")}, InvalidParameter),
        (COUNT, {"epsilon": True}, InvalidParameter),
        (COUNT, {"epsilon": 1, "rho": 1}, InvalidParameter),
        (COUNT, {"epsilon": 1, "delta": 1}, InvalidParameter),
        (COUNT, {"epsilon": 1, "noise": "none"}, InvalidParameter),
        (COUNT, {"epsilon": 1, "confidence": 2}, InvalidParameter),
        (COUNT, {"epsilon": 1, "shares": {"nothing": 1}}, InvalidParameter),
        (COUNT, {"epsilon": 1, "key": ""}, InvalidParameter),
        ("SELECT note, COUNT(*) FROM visits GROUP BY note", {"epsilon": 1}, Unanswerable),
    ],
)
def test_what_is_wrong_costs_nothing(session: Session, text: str, how: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        session.sql(text, **how)
    assert session.balance().releases == 0


def test_a_missing_file_costs_nothing_and_is_named(session: Session, folder: Path) -> None:
    remove_rows(folder)
    with pytest.raises(EngineUnavailable, match="visits"):
        session.sql(COUNT, epsilon=1)
    assert session.balance().releases == 0


def test_an_engine_that_dies_keeps_the_debit_and_says_one_text(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the cause, the text is the same; after three attempts the request is sealed for ever.

    What is left of the attempts is said truly, and the last one promises nothing.
    """
    engine = session._open()
    texts, notes = [], []
    causes: list[Exception] = [MemoryError("row 17"), ValueError("canary-4711"), EngineFailure()]

    def die(aggregation: object) -> object:
        raise causes[len(texts)]

    monkeypatch.setattr(engine, "aggregate", die)
    for _ in causes:
        with pytest.raises(EngineFailure) as caught:
            session.sql(COUNT, epsilon=1, key="k")
        texts.append(str(caught.value))
        notes += caught.value.__notes__
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
    assert len(set(texts)) == 1
    assert "canary" not in texts[0]
    assert "retry" not in texts[0]
    assert notes[0].startswith("2 attempts are left")
    assert notes[1].startswith("1 attempt is left")
    assert all(note.endswith("to continue at no additional cost, retry with key='k'") for note in notes[:2])
    assert notes[2].startswith("this was the last of 3 attempts")
    assert "retry" not in notes[2]
    assert len(notes) == 3
    with pytest.raises(RequestSealed):
        session.sql(COUNT, epsilon=1, key="k")
    assert session.balance().spent.pure == 1
    assert session.balance().sealed == 1


def test_a_query_that_meets_the_time_limit_stays_charged_and_counts_as_an_attempt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen people of 4,096 rows each, every row with every other, in a twentieth of a second."""
    lines = "".join(f"{number % 16},heart,1,n\n" for number in range(16 * 4096))
    (folder / "visits.csv").write_text(f"patient,ward,waited,note\n{lines}")
    schema = (folder / "clinic.yaml").read_text()
    (folder / "clinic.yaml").write_text(schema.replace("rows per group: 2}", "rows per group: 2, rows per join: 4096}"))
    monkeypatch.setattr(DataSet, "seconds", 0.05)
    pairs = "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.patient = b.patient AND a.waited + b.waited > 3"
    with contextlib.closing(Curator.create(folder / "home", anchors=folder / "anchors")) as curator:
        curator.add(folder / "clinic.yaml", budget=PureDP(10))
        with contextlib.closing(curator.session("clinic", analyst="ana")) as session:
            texts = set()
            for _ in range(3):
                with pytest.raises(EngineFailure) as caught:
                    session.sql(pairs, epsilon=1, key="k")
                texts.add(str(caught.value))
            assert texts == {str(EngineFailure())}
            with pytest.raises(RequestSealed):
                session.sql(pairs, epsilon=1, key="k")
            assert (session.balance().spent.pure, session.balance().sealed) == (1, 1)
            monkeypatch.setattr(DataSet, "seconds", 3600)
            assert asked(session, "SELECT COUNT(*) AS n FROM visits", epsilon=1).column("n")
            assert session.balance().spent.pure == 2


def test_a_retry_after_a_failure_is_answered_for_the_same_debit(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = session._open()
    real = engine.aggregate
    monkeypatch.setattr(engine, "aggregate", lambda aggregation: 1 / 0)
    with pytest.raises(EngineFailure) as caught:
        session.sql(COUNT, epsilon=1)
    monkeypatch.setattr(engine, "aggregate", real)
    key = caught.value.__notes__[0].split("key=")[1].strip("'")
    assert asked(session, COUNT, epsilon=1, key=key).column("ward") == ("heart", "skin")
    assert session.balance().spent.pure == 1


def test_a_failure_after_the_draw_is_never_drawn_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it fails may follow from the noise: a second draw would tell more than was paid for."""
    draws = []

    def fail(*out: object, **_: object) -> object:
        draws.append(out)
        raise ValueError("because of the noise")

    real = Geometric.draw_many
    monkeypatch.setattr(Geometric, "draw_many", lambda self, *given: draws.append(self) or real(self, *given))
    monkeypatch.setattr("dither.verbs.answers.present", fail)
    for _ in range(3):
        with pytest.raises(ReleaseFailed) as caught:
            session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1, key="k")
        assert caught.value.__context__ is None
        assert not hasattr(caught.value, "__notes__")
    assert len(draws) == 2  # one draw, and one attempt to present it
    assert session.balance().spent.pure == 1
    monkeypatch.undo()
    with pytest.raises(ReleaseFailed):
        session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1, key="k")
    assert asked(session, "SELECT COUNT(*) AS n FROM visits", epsilon=1).column("n")


def test_an_answer_that_is_too_long_is_a_failure_and_not_drawn_again(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.curator.session.LARGEST_ANSWER", 10)
    for _ in range(2):
        with pytest.raises(ReleaseFailed):
            session.sql(COUNT, epsilon=1, key="k")
    assert session.balance().spent.pure == 1


TOO_LONG: list[Any] = [
    (lambda door: door.sql(COUNT, epsilon=1), "query"),
    (lambda door: door.histogram("visits", "ward", epsilon=1), "columns"),
    (lambda door: door.workload("visits", "ward", Workload.prefixes(2), epsilon=1), "workload"),
    (lambda door: door.marginals("visits", [["ward"]], epsilon=1), "sets"),
    (lambda door: door.synthesize("visits", ["ward"], epsilon=1), "columns"),
    (lambda door: door.anonymize("visits", ["ward"], method="perturbed-rows", rows=40, epsilon=1), "rows"),
    (lambda door: door.release(Geometric(scale=1, shape=(2,)), cells_of(door.dataset, "visits", "ward")), "method"),
]


@pytest.mark.parametrize("way", range(len(TOO_LONG)))
def test_an_answer_that_may_be_too_long_is_refused_before_the_charge(
    session: Session, monkeypatch: pytest.MonkeyPatch, way: int
) -> None:
    ask, parameter = TOO_LONG[way]
    monkeypatch.setattr("dither.lift.stored.LARGEST_ANSWER", 20)
    with pytest.raises(InvalidParameter, match=f"^{parameter} must be small enough for an answer of at most 20 bytes"):
        ask(session)
    assert session.balance().releases == 0
    monkeypatch.undo()
    assert ask(session) is not None


def test_a_stored_table_of_counts_is_no_longer_than_was_known(session: Session) -> None:
    """Of counts as long as they can be written: what a row may have is known beforehand."""
    from dither.publish.count_tables import longest_row

    cells = cells_of(session.dataset, "visits", ["ward", "waited"], {"waited": 7})
    result = session.histogram("visits", ["ward", "waited"], {"waited": 7}, epsilon="0.001", non_negative=False)
    wide = 1.2345678901234567e-300
    many = len(result.rows)
    long = dataclasses.replace(
        result,
        rows=tuple((*row[:-1], -wide) for row in result.rows),
        low=tuple((*row[:-1], -wide) for row in result.low),
        high=tuple((*row[:-1], -wide) for row in result.high),
    )
    head = len(dataclasses.replace(result, rows=(), low=(), high=()).to_json())
    assert len(long.to_json()) - head <= many * longest_row(cells.axes)


def test_an_output_may_have_the_name_of_an_aggregate(session: Session) -> None:
    text = "SELECT CASE WHEN COUNT(*) >= 1 THEN 'x' END AS count FROM visits HAVING COUNT(*) >= 1 ORDER BY count"
    assert asked(session, text, epsilon=9).column("count") == ("x",)


def test_the_same_key_with_other_classes_is_another_request(session: Session) -> None:
    def fitted(*classes: str) -> Any:
        model = learn.LogisticRegression(epsilon=1, classes=list(classes))
        return session.fit(model, "visits", target="ward", features=["waited"], key="k")

    fitted("heart", "skin")
    with pytest.raises(KeyReused):
        fitted("other", "words")


def hanging_on(failure: BaseException) -> list[object]:
    """All that whoever catches an error can reach from it: what it came from, and what its frames hold."""
    found: list[object] = [failure.args, vars(failure), failure.__context__, failure.__cause__]
    trace = failure.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename != __file__:
            found.extend(trace.tb_frame.f_locals.values())
        trace = trace.tb_next
    return found


WAYS_OUT: list[Any] = [
    lambda door: door.sql(COUNT, epsilon=1),
    lambda door: door.sql("SELECT AVG(waited) AS w FROM visits", epsilon=1),
    lambda door: door.histogram("visits", "ward", epsilon=1),
    lambda door: door.workload("visits", "ward", Workload.prefixes(2), epsilon=1),
    lambda door: door.marginals("visits", [["ward"]], epsilon=1),
    lambda door: door.synthesize("visits", ["ward"], epsilon=1),
    lambda door: door.anonymize("visits", ["ward"], epsilon=1),
    lambda door: door.ask_kept("visits", {"ward": ["heart"]}, epsilon=1),
    lambda door: door.fit(learn.LogisticRegression(epsilon=1), "visits", target="ward", features=["waited"]),
]


@pytest.mark.parametrize("way", range(len(WAYS_OUT)))
def test_nothing_hangs_on_a_failure(session: Session, monkeypatch: pytest.MonkeyPatch, way: int) -> None:
    """The first error, its frames and the rows in them are out of reach, whichever way the release was asked for."""
    raised: list[BaseException] = []

    def die(aggregation: object) -> object:
        try:
            rows = ["canary-4711"]
            int(rows[0])
        except ValueError as error:
            raised.append(error)
            raise
        return rows

    monkeypatch.setattr(session._open(), "aggregate", die)
    with pytest.raises(EngineFailure) as caught:
        WAYS_OUT[way](session)
    assert raised
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    for one in hanging_on(caught.value):
        assert not isinstance(one, BaseException | types.TracebackType) or one is caught.value
        assert "canary" not in repr(one)
    assert session.balance().waiting == 1


@pytest.mark.parametrize("engine", ["duckdb"])
def test_nothing_hangs_on_an_engine_s_own_failure(session: Session, engine: str) -> None:
    opened: Any = session._open()
    assert type(opened).__module__.endswith(engine)
    planned = plan_query(session.table("visits").group("ward").count().build(session.dataset), PureDP(1))
    (aggregation,) = planned.aggregations()

    class Quoting:
        def execute(self, text: str) -> object:
            raise ValueError("canary-4711")

        def close(self) -> None:
            """Nothing."""

    opened._connection.close()
    opened._connection = Quoting()
    with pytest.raises(EngineFailure) as caught:
        opened.aggregate(aggregation)
    assert caught.value.__context__ is None
    assert not any("canary" in repr(one) for one in hanging_on(caught.value))


def test_an_answer_that_could_not_be_stored_hangs_on_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not stored, not sent: the error of the ledger does not carry it either, and the same key resumes."""
    ledger, lost = curator_of(session).ledger, []

    def refuse(held: object, answer: bytes, **_: object) -> object:
        lost.append(answer)
        try:
            raise ValueError(answer)
        except ValueError:
            raise LedgerUnavailable("here", "the disk is full") from None

    monkeypatch.setattr(ledger, "complete", refuse)
    with pytest.raises(LedgerUnavailable) as caught:
        session.sql(COUNT, epsilon=1, key="k")
    assert caught.value.__context__ is None
    assert not any("heart" in repr(one) for one in hanging_on(caught.value) if isinstance(one, bytes | BaseException))
    assert "key='k'" in caught.value.__notes__[0]
    monkeypatch.undo()
    assert session.sql(COUNT, epsilon=1, key="k").to_stored().encode() == lost[0]
    assert session.balance().spent.pure == 1


def test_an_answer_is_stored_as_soon_as_the_ledger_is_there_again(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that broke meanwhile is made anew: what was drawn cannot be drawn again."""
    ledger, told = curator_of(session).ledger, []
    real = ledger.complete

    def once(held: Any, answer: bytes, **_: Any) -> Any:
        told.append(answer)
        if len(told) == 1:
            raise LedgerUnavailable("here", "the connection was lost")
        return real(held, answer)

    monkeypatch.setattr(ledger, "complete", once)
    assert asked(session, COUNT, epsilon=1, key="k").column("ward") == ("heart", "skin")
    assert len(set(told)) == 1


def test_nothing_is_drawn_that_the_ledger_does_not_know_of(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger fails when it is told of the draw: no noise is drawn, and the request can be asked again."""
    draws = []
    real = Geometric.draw_many

    def draw(self: Geometric, *given: Any) -> Any:
        drawn = real(self, *given)
        draws.append(drawn)
        return drawn

    def refuse(held: object, **_: object) -> None:
        raise LedgerUnavailable("here", "the disk is full")

    monkeypatch.setattr(Geometric, "draw_many", draw)
    with monkeypatch.context() as broken:
        broken.setattr(curator_of(session).ledger, "begin_draw", refuse)
        with pytest.raises(LedgerUnavailable, match="the disk is full") as caught:
            session.sql(COUNT, epsilon=1, key="k")
    assert not draws
    assert caught.value.__context__ is None
    assert asked(session, COUNT, epsilon=1, key="k").column("ward") == ("heart", "skin")
    assert draws
    assert session.balance().spent.pure == 1


KILLED = """
import os, signal, sys
from dither.curator.folder import Curator
from dither.verbs import answers
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[4] == "presenting":
    answers.present = die
curator = Curator.open(sys.argv[1], anchors=sys.argv[2])
if sys.argv[4] == "storing":
    curator.ledger.complete = die
session = curator.session("clinic", analyst="ana")
if sys.argv[4] == "reading":
    session._open().aggregate = die
session.sql(sys.argv[3], epsilon=1, key="k")
"""


@pytest.mark.parametrize("moment", ["reading", "presenting", "storing"])
def test_a_process_that_dies_is_followed_by_one_that_answers(
    curator: Curator, session: Session, folder: Path, moment: str
) -> None:
    """Killed for good: before the draw the next caller goes on, after it the same noise is drawn again."""
    command = [sys.executable, "-c", KILLED, str(curator.folder), str(folder / "anchors"), COUNT, moment]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert asked(session, COUNT, epsilon=1, key="k").column("ward") == ("heart", "skin")
    rest = ["renew", "draw", "answer"] if moment == "reading" else ["draw", "renew", "answer"]
    kinds = [entry.kind for entry in curator.ledger.entries("clinic")]
    assert kinds[kinds.index("reserve") :] == ["reserve", *rest]
    assert session.balance().spent.pure == 1


def test_sessions_of_one_key_at_once_get_one_answer(curator: Curator) -> None:
    """Eight threads, each with a session of its own: one of them asks the data, and all have the same rows."""
    gate, found = threading.Barrier(8), []

    def ask() -> None:
        with contextlib.closing(curator.session("clinic", analyst="ana")) as mine:
            mine._open()
            gate.wait()
            found.append(asked(mine, COUNT, epsilon=1, key="k"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({(result.rows, result.receipt) for result in found}) == 1
    kinds = [entry.kind for entry in curator.ledger.entries("clinic")]
    assert kinds[kinds.index("reserve") :] == ["reserve", "draw", "answer"]


IN_PROCESSES = """
import os, sys, threading
from dither.curator.folder import Curator
gate, opened = os.pipe()
for number in range(3):
    if os.fork() == 0:
        os.close(opened)
        curator = Curator.open(sys.argv[1], anchors=sys.argv[2])
        def ask():
            session = curator.session("clinic", analyst="ana")
            session._open()
            os.read(gate, 1)
            result = session.sql(sys.argv[3], epsilon=1, key="k")
            os.write(1, f"{result.rows};".encode())
            session.close()
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
os.close(opened)
sys.exit(any([os.wait()[1] for _ in range(3)]))
"""


def test_processes_of_one_key_at_once_get_one_answer(curator: Curator, folder: Path) -> None:
    command = [sys.executable, "-c", IN_PROCESSES, str(curator.folder), str(folder / "anchors"), COUNT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.split(";")[:-1]
    assert (len(told), len(set(told))) == (9, 1), done.stderr
    assert curator.ledger.balance("clinic").spent.pure == 1
    assert [entry.kind for entry in curator.ledger.entries("clinic")] == ["register", "reserve", "draw", "answer"]


def test_the_debit_is_durable_before_the_data_is_asked(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    spent_when_asked = []

    def die(aggregation: object) -> object:
        spent_when_asked.append(session.balance().spent.pure)
        raise EngineFailure

    monkeypatch.setattr(session._open(), "aggregate", die)
    with pytest.raises(EngineFailure):
        session.sql(COUNT, epsilon=1)
    assert spent_when_asked == [Fraction(1)]


HOSTILE = [
    "patient,ward,waited,note\n",
    "patient,ward,waited,note\n,,,\n",
    "patient,ward,waited,note\n1,heart,NaN,canary\n2,heart,inf,x\n3,skin,-1e400,y\n",
    'patient,ward,waited,note\nabc,heart,1,canary\n9223372036854775808,heart,1,x\n1,"he\nart",1,"quo""te"\n',
    "patient,ward,waited,note\n" + "7,heart,1,same\n" * 5000,
    "patient,ward,waited,note\n1,heart\n1,heart,1,a,b,c,d\n\x00\x01,heart,1,z\n",
    "patient,ward,waited,note\n" + "".join(f"{n},new-category-{n},5,canary-{n}\n" for n in range(300)),
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_tables_change_nothing_but_values(curator: Curator, folder: Path, number: int) -> None:
    """Same rows, same columns, same price, no canary, whatever the table holds."""
    (folder / "visits.csv").write_text(HOSTILE[number])
    session = curator.session("clinic")
    text = "SELECT ward, COUNT(*) AS n, AVG(waited) AS w, MEDIAN(waited) AS m FROM visits GROUP BY ward"
    result = asked(session, text, epsilon=1)
    session.close()
    assert result.column("ward") == ("heart", "skin")
    assert result.names == ("ward", "n", "w", "m")
    assert result.loss.pure == 1
    assert "canary" not in str(result)
    assert all(0 <= value <= 100 for name in ("w", "m") for value in result.column(name))  # type: ignore[operator]


def test_the_description_in_the_ledger_is_the_text_that_was_asked(session: Session) -> None:
    session.sql(COUNT, epsilon=1)
    reserved = [entry for entry in curator_of(session).ledger.entries("clinic") if entry.kind == "reserve"]
    assert [entry.record["description"] for entry in reserved] == [COUNT]


def test_frames_of_no_table_are_refused(curator: Curator) -> None:
    """Else the rows that were added would answer in place of those that were given."""
    with pytest.raises(InvalidParameter, match="frames must be rows of one of visits"):
        curator.session("clinic", frames={"visit": []})


def change_by_force(record: Any, name: str, value: Any) -> None:
    object.__setattr__(record, name, value)


@pytest.mark.parametrize(
    "change",
    [
        lambda session: change_by_force(session.dataset, "rows", 1),
        lambda session: change_by_force(session.dataset.tables[0].column("waited"), "upper", 1),
        lambda session: change_by_force(session.dataset.unit, "detail", ""),
        lambda session: setattr(session, "dataset", dataclasses.replace(session.dataset, rows=1)),
    ],
    ids=["rows of a person", "bounds of a column", "unit", "another data set"],
)
def test_a_data_set_that_was_changed_by_force_is_not_priced_or_asked(session: Session, change: Any) -> None:
    verbs: list[Any] = [
        lambda asked: asked.sql("SELECT SUM(waited) AS total FROM visits", epsilon=1),
        lambda asked: asked.histogram("visits", "ward", epsilon=1),
        lambda asked: asked.synthesize("visits", ["ward"], epsilon=1),
    ]
    change(session)
    for verb in verbs:
        with pytest.raises(InvalidParameter, match="dataset"):
            verb(session)
        with pytest.raises(InvalidParameter, match="dataset"):
            session.quote(verb(session.offer))
    assert session.balance().spent.is_zero


def test_threads_that_share_a_session_take_turns_at_its_tables(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine has one statement under way: of two at once, one would be answered with the rows of the other."""
    engine = session._open()
    inside, overlaps, waiting = threading.Lock(), [], threading.Event()

    def alone(before: Any, *words: Any) -> Any:
        if not inside.acquire(blocking=False):
            overlaps.append(before)
            return before(*words)
        try:
            waiting.wait(0.02)
            return before(*words)
        finally:
            inside.release()

    for name in ("check", "prepare", "aggregate"):
        monkeypatch.setattr(engine, name, functools.partial(alone, getattr(engine, name)))
    totals: list[Any] = []

    def ask() -> None:
        totals.append(asked(session, "SELECT COUNT(*) AS n FROM visits", epsilon=2).rows[0][0])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not overlaps
    assert len(totals) == 4


def test_a_session_is_not_asked_in_the_midst_of_a_statement(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler that asks what it interrupted would take the rows of that statement away."""
    engine = session._open()
    before, refused = engine.aggregate, []

    def interrupted(aggregation: Any) -> Any:
        try:
            asked(session, "SELECT COUNT(*) AS n FROM visits", epsilon=1)
        except HandleMisuse as refusal:
            refused.append(refusal)
        return before(aggregation)

    monkeypatch.setattr(engine, "aggregate", interrupted)
    asked(session, "SELECT COUNT(*) AS n FROM visits", epsilon=1)
    assert len(refused) == 1
    assert session.balance().releases == 1


@pytest.mark.parametrize("moment", ["asked", "written", "committed", "anchored", "told"])
def test_a_signal_handler_that_asks_is_refused_wherever_it_comes(
    session: Session, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the midst of a change of the ledger it would wait for what it interrupted; nothing is charged for it."""
    outcomes: list[Any] = []
    ledger: Any = curator_of(session).ledger

    def handler(number: int, frame: Any) -> None:
        monkeypatch.setattr(ledger, "_reach", lambda step: None)
        try:
            outcomes.append(asked(session, "SELECT COUNT(*) AS n FROM visits WHERE 1 = 1", epsilon="1/8"))
        except HandleMisuse as refusal:
            outcomes.append(refusal)

    def reach(step: str) -> None:
        if step == f"reserve: {moment}":
            signal.raise_signal(signal.SIGUSR1)

    monkeypatch.setattr(ledger, "_is_watched", True)
    monkeypatch.setattr(ledger, "_reach", reach)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        asked(session, "SELECT COUNT(*) AS n FROM visits", epsilon="1/4")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(outcomes) == 1
    # Outside of a change both are answered, and in the midst of one the second is refused before it costs anything.
    is_refused = isinstance(outcomes[0], HandleMisuse)
    assert is_refused == (moment in ("written", "committed", "anchored"))
    assert session.balance().releases == (1 if is_refused else 2)


def test_the_ledger_is_not_opened_in_the_midst_of_being_opened(curator: Curator) -> None:
    with curator._opening, pytest.raises(HandleMisuse, match="in the midst of opening the ledger"):
        _ = curator.ledger
    assert curator.ledger is curator.ledger


def _parts(session: Session, column: str) -> Any:
    wards = session.table("visits").partition("ward", {"h": ["heart"], "s": ["skin"]})
    return wards.each(lambda rows: rows.group(column).count("n"))


def _found(answer: Any, groups: int) -> Answered:
    """What would be released for that many discovered groups, with names that JSON escapes."""
    names: tuple[Any, ...] = tuple((f'"{place}\\',) for place in range(groups))
    return Answered(names, tuple(PublicArray(np.arange(groups)) for _ in answer.design.measured))


@pytest.mark.parametrize("counts", [(400, 400), (400, 1), (3, 400)], ids=str)
def test_discovered_groups_of_parts_are_shown_as_far_as_they_fit(
    session: Session, counts: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise all of them would be lost, after the charge, because there are many groups."""
    most = 16_000
    monkeypatch.setattr(answers_module, "LARGEST_ANSWER", most)
    offer = session.offer.ask_parts(_parts(session, "note"), ApproxDP(1, "1e-6"))
    mechanism: Any = offer.mechanism
    released = tuple(_found(one, count) for one, count in zip(mechanism.answers, counts, strict=True))
    stored = offer.present(released)
    assert len(stored) <= most
    for label, count in zip(("h", "s"), counts, strict=True):
        shown = offer.read(stored, "here")[label]
        whole = present(mechanism.answers["hs".index(label)], _found(mechanism.answers[0], count))
        assert shown.rows == whole.rows[: len(shown.rows)]
        is_cut = len(shown.rows) < count
        assert is_cut == (count > 100)
        assert any("only the first rows are shown" in note for note in shown.notes) == is_cut
        assert len(shown.rows) > 10 or count < 10


def test_parts_that_together_are_too_long_to_store_are_refused_before_the_charge(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers_module, "LARGEST_ANSWER", 2000)
    for column, loss in (("note", ApproxDP(1, "1e-6")), ("ward", PureDP(1))):
        with pytest.raises(
            InvalidParameter, match="parts must be fewer, so that all answers together have at most 2,000"
        ):
            session.ask_parts(_parts(session, column), loss)
    assert session.balance().releases == 0


def test_which_values_occur_and_how_many_are_priced_charged_and_stored(folder: Path) -> None:
    """Through the door: a delta is paid where a threshold decides, and a number of values costs its epsilon."""
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(contextlib.closing(Curator.create(folder / "other", anchors=folder / "others")))
        made.add(folder / "clinic.yaml", budget=ApproxDP(1_000_000, "0.1"))
        opened = stack.enter_context(contextlib.closing(made.session("clinic", analyst="ana")))
        notes = asked(opened, "SELECT DISTINCT note FROM visits", epsilon=100_000, delta="0.01", key="notes")
        assert notes.column("note") == ("n0", "n1", "n2", "n3")
        again = asked(opened, "SELECT DISTINCT note FROM visits", epsilon=100_000, delta="0.01", key="notes")
        assert again.rows == notes.rows
        with pytest.raises(Unanswerable, match="costs a delta"):
            opened.sql("SELECT DISTINCT ward FROM visits", epsilon=1)
        counted = asked(opened, "SELECT COUNT(DISTINCT note) AS n, MIN(waited) AS least FROM visits", epsilon=200_000)
        assert counted.loss.pure == 200_000
        # At losses this large noise is 0 but for odds of e^-1000.
        assert counted.column("n") == (4,)
        assert counted.interval("n")[0][0] <= 4 <= counted.interval("n")[0][1]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("verb", "words", "options", "said"),
    [
        ("fit", ("visits",), {}, "fit must be called with estimator, table, target"),
        ("fit", ("visits",), {"epsilon": 1}, "the estimator states the loss"),
        ("histogram", (), {"epsilon": 1}, "missing a required argument: 'table'"),
        ("synthesize", ("visits",), {"epsilom": 1}, "unexpected keyword argument 'epsilom'"),
        ("bounds", ("visits", "waited", "much"), {"epsilon": 1}, "too many positional arguments"),
    ],
)
def test_arguments_that_a_verb_does_not_have_are_refused_in_words(
    session: Session, verb: str, words: tuple[str, ...], options: dict[str, Any], said: str
) -> None:
    """They were errors of Python, about a function that nobody had called."""
    before = list(curator_of(session).ledger.entries())
    for owner in (session, session.offer):
        with pytest.raises(InvalidParameter) as refused:
            getattr(owner, verb)(*words, **options)
        assert said in str(refused.value)
    assert list(curator_of(session).ledger.entries()) == before


def test_quantiles_are_found_as_the_caller_says(session: Session) -> None:
    text = "SELECT MEDIAN(waited) AS m FROM visits"
    assert "exponential" in session.quote(text, epsilon=1).columns[0].mechanism
    assert "tree" in session.quote(text, epsilon=1, quantiles="tree").columns[0].mechanism
    for quantiles in ("tree", "exponential", "auto"):
        ((median,),) = asked(session, text, epsilon=1, quantiles=quantiles).rows
        assert 0 <= median <= 100
    spent = session.balance().spent
    report = "SELECT MEDIAN(waited) / (SELECT COUNT(*) FROM visits WHERE ward = 'skin') AS m FROM visits"
    for wrong, how in ((text, "forest"), (report, "exponential")):
        for verb in (session.sql, session.quote):
            with pytest.raises(InvalidParameter, match="quantiles"):
                verb(wrong, epsilon=1, quantiles=how)
    assert session.balance().spent == spent
