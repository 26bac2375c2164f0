"""Parts of a partition, asked one after the other in a session: one debit for all, nothing for each question."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.errors import BudgetExceeded, HandleMisuse, InvalidParameter, Unanswerable
from dither.privacy import ZCDP, PureDP
from dither.publish.queries.builder import col

SCHEMA = """
dataset: visits
unit: {unit}
tables:
  visits:
    source: visits.csv
    {person}
    columns:
      who: {{kind: integer}}
      cost: {{kind: integer, bounds: [0, 10]}}
      site: {{kind: text, categories: [a, b, c]}}
"""
PARTS = {"first": ["a"], "rest": ["b", "c"]}


def made(folder: Path, unit: str = "row", person: str = "", budget: Any = None) -> Curator:
    rows = [f"{number // 3},{number % 11},{'abc'[number % 3]}" for number in range(300)]
    (folder / "visits.csv").write_text("\n".join(["who,cost,site", *rows]))
    (folder / "visits.yaml").write_text(SCHEMA.format(unit=unit, person=person))
    curator = Curator.create(folder / "home", anchors=folder / "anchors")
    curator.add(folder / "visits.yaml", budget=budget or PureDP(2))
    return curator


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with made(tmp_path) as curator, curator.session("visits") as opened:
        yield opened


def _count(rows: Any) -> Any:
    return rows.count()


def test_all_parts_are_paid_for_once(session: Session) -> None:
    """At scales of 2 and less, noise is 60 off with a probability below 1e-12."""
    talk = session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1)
    assert session.balance().spent == talk.loss == PureDP(1)
    first = talk.ask("first", _count, epsilon="1/2", key="one")
    assert abs(first.raw[0][0] - 100) < 60
    # What is asked of one part follows from what another has answered, and costs the first nothing.
    for number in range(2):
        rest = talk.ask("rest", lambda rows: rows.where(col("cost") > 3).count(), epsilon="1/2", key=f"rest {number}")
        assert rest.receipt != first.receipt
    assert (talk.left("first").pure, talk.left("rest").pure) == (PureDP("1/2").pure, 0)
    with pytest.raises(BudgetExceeded):
        talk.ask("rest", _count, epsilon="1/100")
    assert session.balance().spent == PureDP(1)
    assert session.balance().releases == 4
    # Stored: free of the ledger and of the part.
    assert talk.ask("first", _count, epsilon="1/2", key="one").raw == first.raw
    assert talk.left("first").pure == PureDP("1/2").pure
    assert session.curator.ledger.verify().is_intact
    assert "left in first" in repr(talk)


def test_replaced_rows_touch_two_parts(tmp_path: Path) -> None:
    with made(tmp_path, "row replaced") as curator, curator.session("visits") as session:
        talk = session.parts("sites", session.table("visits").partition("site", PARTS), epsilon="1/2")
        assert talk.loss.pure == 1
        assert session.balance().spent.pure == 1


def test_people_pay_for_the_parts_that_they_are_in(tmp_path: Path) -> None:
    people = made(tmp_path, "person\ncontribution: {rows: 3}", "privacy id: who")
    with people as curator, curator.session("visits") as session:
        rows = session.table("visits")
        talk = session.parts("both", rows.partition("site", PARTS), epsilon="1/2")
        assert talk.loss.pure == 1
        one = session.parts("one", rows.partition("site", PARTS, groups=1), epsilon="1/2")
        assert one.loss.pure == PureDP("1/2").pure
        one.ask("first", _count, epsilon="1/2")


def test_it_cannot_be_opened_twice_copied_or_asked_about_other_rows(session: Session) -> None:
    split = session.table("visits").partition("site", PARTS)
    talk = session.parts("sites", split, epsilon=1)
    with pytest.raises(InvalidParameter, match="opened before"):
        session.parts("sites", split, epsilon=1)
    with pytest.raises(HandleMisuse):
        pickle.dumps(talk)
    with pytest.raises(InvalidParameter, match="label must be one of first, rest"):
        talk.ask("second", _count, epsilon="1/2")
    with pytest.raises(InvalidParameter, match="other rows"):
        talk.ask("first", lambda _: session.table("visits").count(), epsilon="1/2")
    with pytest.raises(InvalidParameter, match="made by"):
        session.parts("other", "site", epsilon=1)  # type: ignore[arg-type]
    assert session.balance().releases == 1
    assert talk.left("first").pure == 1


def test_what_does_not_fit_is_refused_before_anything_is_asked(session: Session) -> None:
    with pytest.raises(BudgetExceeded):
        session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=3)
    assert session.balance().releases == 0


def test_a_part_that_no_row_can_be_in_is_refused_before_it_is_paid_for(session: Session) -> None:
    with pytest.raises(Unanswerable, match="'d' is not a declared category of site"):
        session.parts("sites", session.table("visits").partition("site", {"first": ["a"], "rest": ["d"]}), epsilon=1)
    assert session.balance().releases == 0


def test_under_rho_too(tmp_path: Path) -> None:
    with made(tmp_path, budget=ZCDP(1)) as curator, curator.session("visits") as session:
        talk = session.parts("sites", session.table("visits").partition("site", PARTS), rho="1/2")
        talk.ask("first", _count, rho="1/2")
        talk.ask("rest", _count, rho="1/2")
        assert session.balance().spent.rho == PureDP("1/2").pure


def test_a_failure_after_the_draw_keeps_what_it_took(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1)
    monkeypatch.setattr("dither.curator.parts_in_turn.present", lambda *_, **__: 1 / 0)
    with pytest.raises(Exception, match=r"."):
        talk.ask("first", _count, epsilon="1/2", key="k")
    monkeypatch.undo()
    assert talk.left("first").pure == PureDP("1/2").pure
    with pytest.raises(Exception, match="drawn"):
        talk.ask("first", _count, epsilon="1/2", key="k")
