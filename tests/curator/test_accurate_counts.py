"""Counts to a relative accuracy: quoted at most, debited in full, charged what the answer says was lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dither.curator.access import curator_of
from dither.curator.folder import Curator
from dither.curator.history import history_of
from dither.curator.session import Session
from dither.errors import BudgetExceeded, InvalidParameter, ReleaseFailed
from dither.lift.cells import all_rows, cells_of
from dither.mechanisms import AccuracyFirst
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP

SCHEMA = """
dataset: visits
unit: {unit}
tables:
  visits:
    source: visits.csv
    {person}
    columns:
      who: {{kind: integer}}
      site: {{kind: text, categories: [a, b]}}
"""
ROWS = 6000


def made(folder: Path, budget: Loss, *, of_persons: bool = False) -> Curator:
    rows = [f"{number // 3},{'a' if number % 3 else 'b'}" for number in range(ROWS)]
    (folder / "visits.csv").write_text("\n".join(["who,site", *rows]))
    unit, person = ("person\ncontribution: {rows: 3}", "privacy id: who") if of_persons else ("row", "")
    (folder / "visits.yaml").write_text(SCHEMA.format(unit=unit, person=person))
    curator = Curator.create(folder / "home", anchors=folder / "anchors")
    curator.add(folder / "visits.yaml", budget=budget)
    return curator


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with made(tmp_path, PureDP(1)) as curator, curator.session("visits") as opened:
        yield opened


def test_a_large_count_is_charged_its_coarse_level(session: Session) -> None:
    """At scale 128 noise is farther off than 3,700 with a probability below 1e-12."""
    offer = session.offer.count("visits", share="1/2", epsilon=1, key="all")
    price = session.quote(offer)
    assert "would cost at most epsilon = 1, usually less" in str(price)
    assert price.to_dict()["is_at_most"] is True
    result = session.release(offer)
    assert result.names == ("count",)
    assert result.loss == PureDP("1/128")
    assert abs(result.raw[0][0] - ROWS) < 3700
    assert "level 1 of 8" in result.notes[0]
    of_all = curator_of(session).ledger.balance("visits")
    assert session.balance().spent.pure == of_all.spent.pure == PureDP("1/128").pure
    # The stored answer is free, and gives nothing back again.
    again = session.count("visits", share="1/2", epsilon=1, key="all")
    assert again.rows == result.rows
    assert session.balance().spent.pure == PureDP("1/128").pure
    (act,) = [one for one in history_of(curator_of(session).ledger, "visits") if one.price is not None]
    assert act.price == PureDP("1/128")
    assert curator_of(session).ledger.verify().is_intact


def test_many_accurate_counts_fit_where_their_worst_cases_would_not(session: Session) -> None:
    for number in range(20):
        session.count("visits", share="1/2", levels=7, epsilon="1/2", key=f"count {number}")
    assert session.balance().releases == 20
    with pytest.raises(BudgetExceeded):
        session.count("visits", epsilon="0.95")


def test_a_small_count_is_charged_the_finest_level(session: Session) -> None:
    result = session.count("visits", where="who < 0", share="0.01", epsilon="1/2", levels=3)
    assert result.loss == PureDP("1/2")
    assert "still too coarse" in result.notes[0]
    assert session.balance().spent.pure == PureDP("1/2").pure


def test_cells_are_counted_together(session: Session) -> None:
    result = session.count("visits", "site", share="0.1", epsilon=1)
    assert result.column("site") == ("a", "b")
    assert result.loss.pure < 1


@pytest.mark.parametrize("budget", [ZCDP(1), ApproxDP(1, "1e-6")])
def test_other_budgets_are_quoted_and_charged_the_worst_case(tmp_path: Path, budget: Loss) -> None:
    with made(tmp_path, budget) as curator, curator.session("visits") as session:
        offer = session.offer.count("visits", share="1/2", epsilon="1/2", levels=7)
        assert "would cost epsilon = 0.5," in str(session.quote(offer))
        assert session.release(offer).loss == PureDP("1/128")
        assert session.balance().spent.pure == PureDP("1/2").pure


def test_people_are_protected_with_all_their_rows(tmp_path: Path) -> None:
    with made(tmp_path, PureDP(1), of_persons=True) as curator, curator.session("visits") as session:
        offer = session.offer.count("visits", epsilon=1)
        assert offer.mechanism.stability == 3
        assert offer.mechanism.method.scales[-1] == 3
        lost = session.release(offer).loss.pure
        assert curator.ledger.balance("visits").spent.pure == lost < 1


def test_any_source_can_be_asked_of_the_mechanism(session: Session) -> None:
    cells = cells_of(session.dataset, "visits", "site")
    out = session.release(AccuracyFirst(shape=2, scales=(64, 1), share="1/10"), cells)
    assert out[0] == 0
    assert session.balance().spent.pure == PureDP("1/64").pure
    assert all_rows(session.dataset, "visits").shape == (1,)


def test_what_cannot_be_read_from_the_answer_stays_charged(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure after the draw keeps the debit; a loss that cannot be read keeps it too, and the answer."""
    offer = session.offer.count("visits", epsilon="1/2")

    def broken(stored: bytes) -> Loss:
        raise ValueError

    object.__setattr__(offer, "spent", broken)
    assert session.release(offer).names == ("count",)
    assert session.balance().spent.pure == PureDP("1/2").pure
    failing = session.offer.count("visits", epsilon="1/2")

    def lost(out: object) -> bytes:
        raise ValueError

    object.__setattr__(failing, "present", lost)
    with pytest.raises(ReleaseFailed):
        session.release(failing)
    assert session.balance().spent.pure == 1


def test_losses_other_than_an_epsilon_are_refused(session: Session) -> None:
    with pytest.raises(InvalidParameter):
        session.count("visits", loss=ZCDP(1))
    with pytest.raises(InvalidParameter):
        session.count("visits", share=0, epsilon=1)
    assert session.balance().releases == 0
    assert np.isfinite(float(session.balance().left.pure))
