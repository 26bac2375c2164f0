"""Parts of a partition, asked one after the other in a session: one debit for all, nothing for each question."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.curator.access import curator_of
from dither.curator.folder import Curator
from dither.curator.ledger import accept_restored
from dither.curator.ledger.terms import Approval, Terms
from dither.curator.session import Session
from dither.errors import (
    ApprovalPending,
    BudgetExceeded,
    DataSetNotOpen,
    HandleMisuse,
    InvalidParameter,
    KeyReused,
    NotFound,
    ReleaseFailed,
    StreamUnavailable,
    Unanswerable,
)
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
    assert "left in first" in str(talk)


def test_the_books_are_true_with_questions_that_cost_nothing(session: Session) -> None:
    with session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1) as talk:
        talk.ask("first", _count, epsilon="1/2")
        assert curator_of(session).ledger.verify().is_intact


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


def test_one_row_of_a_person_is_paid_for_once(tmp_path: Path) -> None:
    """At a scale of 1, noise is 60 off with a probability below 1e-12."""
    for place, (unit, price) in enumerate((("person", 1), ("person replaced", 2))):
        (tmp_path / str(place)).mkdir()
        rule = f"{unit}\ncontribution: {{rows: 1}}"
        people = made(tmp_path / str(place), rule, "privacy id: who", budget=PureDP(9))
        with people as curator, curator.session("visits") as session:
            split = {f"part {value}": [value] for values in PARTS.values() for value in values}
            assert len(split) >= 3
            talk = session.parts("sites", session.table("visits").partition("site", split), epsilon=1)
            assert talk.loss.pure == session.balance().spent.pure == price
            label = next(iter(split))
            talk.ask(label, _count, epsilon=1)
            dear = session.parts("all", session.table("visits").partition("site", split, groups=len(split)), epsilon=1)
            assert dear.loss.pure == len(split)


def test_it_cannot_be_held_twice_copied_or_asked_about_other_rows(session: Session) -> None:
    split = session.table("visits").partition("site", PARTS)
    talk = session.parts("sites", split, epsilon=1)
    with pytest.raises(StreamUnavailable, match=r"account sites.* it is open already"):
        session.parts("sites", split, epsilon=1)
    with pytest.raises(HandleMisuse):
        pickle.dumps(talk)
    with pytest.raises(InvalidParameter, match="label must be one of first, rest"):
        talk.ask("second", _count, epsilon="1/2")
    with pytest.raises(InvalidParameter, match="label must be one of first, rest"):
        talk.left("second")
    with pytest.raises(InvalidParameter, match="other rows"):
        talk.ask("first", lambda _: session.table("visits").count(), epsilon="1/2")
    with pytest.raises(InvalidParameter, match="question"):
        talk.ask("first", "SELECT COUNT(*) FROM visits", epsilon="1/2")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="made by"):
        session.parts("other", "site", epsilon=1)  # type: ignore[arg-type]
    assert session.balance().releases == 1
    assert talk.left("first").pure == 1


def test_the_name_is_that_of_a_file(session: Session) -> None:
    with pytest.raises(InvalidParameter, match="letters, digits"):
        session.parts("../sites", session.table("visits").partition("site", PARTS), epsilon=1)
    with pytest.raises(NotFound, match="there is none"):
        session.parts("sites")


def test_it_is_priced_before_it_is_opened(session: Session) -> None:
    price = session.quote(session.offer.parts(session.table("visits").partition("site", PARTS), epsilon="1/2"))
    assert price.loss == PureDP("1/2")
    assert price.fits
    assert session.balance().releases == 0


def test_what_goes_on_is_not_released_at_once(session: Session) -> None:
    rows = session.table("visits")
    for verb, offer in {
        "parts": session.offer.parts(rows.partition("site", PARTS), epsilon="1/2"),
        "conversation": session.offer.conversation("visits", ["site"], epsilon="1/2"),
    }.items():
        with pytest.raises(HandleMisuse, match=rf"session\.{verb}"):
            session.release(offer)
    assert session.balance().releases == 0


def test_an_account_outlives_its_process(tmp_path: Path) -> None:
    with made(tmp_path) as curator, curator.session("visits") as session:
        split = session.table("visits").partition("site", PARTS)
        with session.parts("sites", split, epsilon=1) as talk:
            first = talk.ask("first", _count, epsilon="1/4", key="one")
        with pytest.raises(HandleMisuse, match="let go of"):
            talk.left("first")
    with Curator.open(tmp_path / "home", anchors=tmp_path / "anchors") as curator, curator.session("visits") as session:
        assert session.long_lived().parts == ("sites",)
        with session.parts("sites") as again:
            assert again.receipt == talk.receipt
            assert [again.left(label).pure for label in again.labels] == [Fraction(3, 4), 1]
            assert again.ask("first", _count, epsilon="1/4", key="one").raw == first.raw
            again.ask("first", _count, epsilon="3/4")
            with pytest.raises(BudgetExceeded):
                again.ask("first", _count, epsilon="1/100")
            # Read meanwhile, by whoever asks nothing.
            with session.parts("sites", only_read=True) as read:
                assert json.loads(json.dumps(read.to_dict())) == again.to_dict()
                assert read.asked == 2
                with pytest.raises(HandleMisuse, match="read only"):
                    read.ask("rest", _count, epsilon="1/4")
        # With its partition it is the same account, at no further cost; with another it is another one.
        with session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1) as again:
            assert again.left("first").pure == 0
        with pytest.raises(InvalidParameter, match="there is one of that name already"):
            session.parts("sites", session.table("visits").partition("site", {"first": ["a"]}), epsilon=1)
        assert session.balance().spent == PureDP(1)


def _die(*_: Any) -> Any:
    raise KeyboardInterrupt


def test_what_was_written_down_and_never_asked_stays_taken(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A death between the book and the ledger: nobody can tell it from a ledger that was restored."""
    talk = session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1)
    with monkeypatch.context() as patched:
        patched.setattr(Session, "_charged", _die)
        with pytest.raises(KeyboardInterrupt):
            talk.ask("first", _count, epsilon="1/4", key="k")
    assert talk.left("first").pure == Fraction(3, 4)
    talk.close()
    again = session.parts("sites")
    assert again.left("first").pure == Fraction(3, 4)
    # Its key is that question's, and the question takes a line of its own.
    with pytest.raises(KeyReused):
        again.ask("first", _count, epsilon="1/2", key="k")
    first = again.ask("first", _count, epsilon="1/4", key="k")
    assert again.left("first").pure == Fraction(1, 2)
    assert again.ask("first", _count, epsilon="1/4", key="k").raw == first.raw
    assert again.left("first").pure == Fraction(1, 2)
    assert curator_of(session).ledger.verify().is_intact


def test_a_question_that_the_ledger_knows_goes_on_after_a_death(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1)
    with monkeypatch.context() as patched:
        patched.setattr(Session, "_carried_out", _die)
        with pytest.raises(KeyboardInterrupt):
            talk.ask("first", _count, epsilon=1, key="k")
    # Nothing is left, and this was paid for.
    assert talk.ask("first", _count, epsilon=1, key="k").raw
    assert talk.left("first").pure == 0


def test_keys_are_those_of_the_account(session: Session) -> None:
    session.sql("SELECT COUNT(*) AS n FROM visits", epsilon="1/4", key="k")
    talk = session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1)
    first = talk.ask("first", _count, epsilon="1/4", key="k")
    with pytest.raises(KeyReused):
        talk.ask("rest", _count, epsilon="1/4", key="k")
    with pytest.raises(InvalidParameter, match="key"):
        talk.ask("rest", _count, epsilon="1/4", key="")
    assert [talk.left(label).pure for label in talk.labels] == [Fraction(3, 4), 1]
    assert talk.ask("first", _count, epsilon="1/4", key="k").raw == first.raw


def test_of_two_copies_of_a_book_one_goes_on(tmp_path: Path) -> None:
    """A folder that was copied to another machine, or restored with its marks, while the ledger stayed."""
    with made(tmp_path) as curator, curator.session("visits") as session:
        session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1).close()
        [book], [marks] = (tmp_path / "home" / "parts").glob("*.sqlite"), (tmp_path / "anchors").glob("*.ticks")
        before = book.read_bytes(), marks.read_bytes()
        with session.parts("sites") as talk:
            first = talk.ask("first", _count, epsilon="1/2", key="one")
            talk.ask("rest", _count, epsilon=1)
        for part in book.parent.glob("*.sqlite-*"):
            part.unlink()
        book.write_bytes(before[0])
        marks.write_bytes(before[1])
        with session.parts("sites") as talk:
            # The same question has the answer that its line has: nothing is drawn.
            assert talk.ask("first", _count, epsilon="1/2", key="two").raw == first.raw
            # Another one than the other book asked is refused, and so is everything after it.
            with pytest.raises(StreamUnavailable, match="another copy of its book"):
                talk.ask("first", _count, epsilon="1/4")
            for label in ("first", "rest"):
                with pytest.raises(StreamUnavailable, match="another copy of its book"):
                    talk.ask(label, _count, epsilon="1/8")


def test_a_restored_ledger_draws_no_line_again(tmp_path: Path) -> None:
    home, anchors = tmp_path / "home", tmp_path / "anchors"
    with made(tmp_path) as curator, curator.session("visits") as session:
        session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1).close()
    backup = (home / "ledger.sqlite").read_bytes()
    with (
        Curator.open(home, anchors=anchors) as curator,
        curator.session("visits") as session,
        session.parts("sites") as talk,
    ):
        talk.ask("first", _count, epsilon=1, key="k")
    for part in home.glob("ledger.sqlite-*"):
        part.unlink()
    (home / "ledger.sqlite").write_bytes(backup)
    accept_restored(home / "ledger.sqlite", anchors=anchors, reason="the disk died").close()
    with Curator.open(home, anchors=anchors) as curator, curator.session("visits") as session:
        with session.parts("sites") as talk:
            with pytest.raises(BudgetExceeded):
                talk.ask("first", _count, epsilon=1, key="k")
            assert talk.left("first").pure == 0
            talk.ask("rest", _count, epsilon="1/2")
            # The line that was lost has its number now, and is never drawn.
            with pytest.raises(ReleaseFailed):
                talk.ask("first", _count, epsilon=1, key="k")
        assert curator.ledger.verify().is_intact


def test_what_is_refused_takes_nothing(tmp_path: Path) -> None:
    with made(tmp_path) as curator:
        curator.books.set_quota("visits", "ana", PureDP(1), terms=Terms(approval=Approval()))
        with curator.session("visits", analyst="ana") as session:
            split = session.table("visits").partition("site", PARTS)
            with pytest.raises(ApprovalPending) as pending:
                session.parts("sites", split, epsilon=1)
            curator.approve(pending.value.entry)
            with session.parts("sites", split, epsilon=1) as talk:
                # What was agreed to as a whole is not asked about again.
                talk.ask("first", _count, epsilon="1/2")
                curator.set_stage("visits", "paused")
                with pytest.raises(DataSetNotOpen):
                    talk.ask("first", _count, epsilon="1/2")
                curator.set_stage("visits", "open")
                assert talk.left("first").pure == Fraction(1, 2)
            assert curator.ledger.verify().is_intact


def test_other_rows_end_it(tmp_path: Path) -> None:
    with made(tmp_path) as curator, curator.session("visits") as session:
        split = session.table("visits").partition("site", PARTS)
        session.parts("sites", split, epsilon=1).close()
        (tmp_path / "visits.csv").write_text("who,cost,site\n1,2,a\n")
        curator.add(tmp_path / "visits.yaml", budget=PureDP(2))
    with Curator.open(tmp_path / "home", anchors=tmp_path / "anchors") as curator, curator.session("visits") as session:
        with session.parts("sites") as talk, pytest.raises(StreamUnavailable, match="not those that it was opened on"):
            talk.ask("first", _count, epsilon="1/4")
        with pytest.raises(StreamUnavailable, match="not those that it was opened on"):
            session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1)
        assert session.balance().releases == 1


def test_another_declaration_ends_it(tmp_path: Path) -> None:
    with made(tmp_path) as curator, curator.session("visits") as session:
        session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1).close()
        schema = tmp_path / "visits.yaml"
        schema.write_text(schema.read_text().replace("[0, 10]", "[0, 20]"))
        curator.add(schema, budget=PureDP(2))
        with (
            curator.session("visits") as other,
            pytest.raises(StreamUnavailable, match="declared otherwise than when it was opened"),
        ):
            other.parts("sites")


def test_an_older_copy_of_its_book_is_refused(tmp_path: Path) -> None:
    """Whoever puts a backup in its place would find more left than there is."""
    with made(tmp_path) as curator, curator.session("visits") as session:
        session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1).close()
        [book] = (tmp_path / "home" / "parts").glob("*.sqlite")
        before = book.read_bytes()
        with session.parts("sites") as talk:
            talk.ask("first", _count, epsilon=1)
        for part in book.parent.glob("*.sqlite-*"):
            part.unlink()
        book.write_bytes(before)
        with pytest.raises(StreamUnavailable, match="older copy"):
            session.parts("sites")
        book.unlink()
        with pytest.raises(StreamUnavailable, match="its book is gone"):
            session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1)


def test_frames_are_the_same_rows_as_long_as_they_are_held(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="the extra 'frames' is not installed")
    frame = pandas.DataFrame({"who": range(9), "cost": [1] * 9, "site": list("abcabcabc")})
    with made(tmp_path) as curator:
        with curator.session("visits", frames={"visits": frame}) as session:
            with session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1) as talk:
                talk.ask("first", _count, epsilon="1/4")
            with session.parts("sites") as talk:
                talk.ask("first", _count, epsilon="1/4")
        with (
            curator.session("visits", frames={"visits": frame}) as other,
            other.parts("sites") as talk,
            pytest.raises(StreamUnavailable, match="not those that it was opened on"),
        ):
            talk.ask("first", _count, epsilon="1/4")


def test_without_a_folder_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas", reason="the extra 'frames' is not installed")
    import dither

    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    frame = pandas.DataFrame({"cost": [1] * 9, "site": list("abcabcabc")})
    with dither.private(frame, budget=1, unit="row", categories={"site": ["a", "b", "c"]}) as session:
        with session.parts("sites", session.table("data").partition("site", PARTS), epsilon=1) as talk:
            talk.ask("first", _count, epsilon="1/4")
        assert session.long_lived().parts == ("sites",)
    assert not list(tmp_path.rglob("*.key"))


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
        with session.parts("sites", session.table("visits").partition("site", PARTS), rho="1/2") as talk:
            talk.ask("first", _count, rho="1/2")
        talk = session.parts("sites")
        assert talk.left("first").rho == 0
        talk.ask("rest", _count, rho="1/2")
        assert session.balance().spent.rho == PureDP("1/2").pure


def test_a_failure_after_the_draw_keeps_what_it_took(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = session.parts("sites", session.table("visits").partition("site", PARTS), epsilon=1)
    monkeypatch.setattr("dither.curator.partition_account.present", lambda *_, **__: 1 / 0)
    with pytest.raises(Exception, match=r"."):
        talk.ask("first", _count, epsilon="1/2", key="k")
    monkeypatch.undo()
    assert talk.left("first").pure == PureDP("1/2").pure
    with pytest.raises(Exception, match="drawn"):
        talk.ask("first", _count, epsilon="1/2", key="k")
