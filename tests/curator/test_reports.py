"""Reports through a session: one price, one charge, one stored answer; public tables for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.errors import InvalidParameter
from dither.privacy import ApproxDP, PureDP
from dither.publish.queries import QueryResult, Quote
from tests.curator.conftest import ROWS, SCHEMA

WARDS = """\
  wards:
    public: true
    key: ward
    source: wards.csv
    columns: {ward: text, beds: integer}
"""
TEXT = "SELECT ward, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "wards.csv").write_text("ward,beds\nheart,40\nskin,10\nskin,5\n")
    (tmp_path / "clinic.yaml").write_text(SCHEMA + WARDS)
    with Curator.create(tmp_path / "home") as made:
        made.add(tmp_path / "clinic.yaml", budget=ApproxDP(10, "1e-3"))
    return tmp_path / "home"


@pytest.fixture
def session(home: Path) -> Iterator[Session]:
    with Curator.open(home) as made, made.session("clinic", analyst="ana") as opened:
        yield opened


def asked(session: Session, text: str, **how: Any) -> QueryResult:
    result = session.sql(text, **how)
    assert isinstance(result, QueryResult)
    return result


def test_a_report_is_charged_once_and_a_retry_gives_the_same_bytes(session: Session) -> None:
    first = asked(session, TEXT, epsilon=1, key="shares")
    assert first.loss.pure == 1
    assert session.balance().releases == 1
    again = asked(session, TEXT, epsilon=1, key="shares")
    assert again == first
    assert session.balance().releases == 1
    assert [row["ward"] for row in first.to_rows()] == ["heart", "skin"]
    assert "share_low" in first.to_rows()[0]
    assert first.receipt != "unledgered"


def test_its_price_is_said_beforehand(session: Session) -> None:
    quoted = session.sql(f"EXPLAIN PRIVACY {TEXT}", epsilon=1)
    assert isinstance(quoted, Quote)
    assert quoted.loss.pure == 1
    assert [column.name for column in quoted.columns] == ["release_1.count", "release_2.count"]
    assert sum(column.share for column in quoted.columns) == 1
    assert quoted._repr_html_()
    assert str(quoted)
    assert session.quote(session.offer.sql(TEXT, epsilon=1)).loss.pure == 1
    assert session.balance().releases == 0
    with pytest.raises(InvalidParameter, match="epsilon is required"):
        session.sql(TEXT)
    with pytest.raises(InvalidParameter, match="one private query"):
        session.loss_for_error(TEXT, "count", 3)
    with pytest.raises(InvalidParameter, match="threshold_share"):
        session.sql(TEXT, epsilon=1, threshold_share="1/2")


def test_public_tables_are_read_for_nothing(session: Session) -> None:
    before = session.balance()
    found = asked(session, "SELECT ward, SUM(beds) AS beds FROM wards GROUP BY ward ORDER BY beds")
    assert found.rows == (("skin", 15), ("heart", 40))
    assert found.loss == PureDP(0)
    assert session.balance().left == before.left
    assert session.quote("SELECT COUNT(*) FROM wards").loss == PureDP(0)
    mixed = asked(session, "SELECT COUNT(*) * 1.0 / (SELECT SUM(beds) FROM wards) AS full FROM visits", epsilon=5)
    assert mixed.column("full")[0] == pytest.approx(200 / 55, abs=0.5)


def test_discovered_groups_and_rollup_through_a_session(session: Session) -> None:
    text = "SELECT note, COUNT(*) AS n FROM visits GROUP BY ROLLUP (note) ORDER BY note"
    found = asked(session, text, loss=ApproxDP(5, "1e-3"))
    assert len(found.rows) == 5  # four notes of fifty people each, and their total
    # The total is measured by itself: it need not be the sum, and its noise reaches 100 less than once in 10^9.
    assert abs(found.rows[-1][1] - 200) < 100  # type: ignore[operator]


def test_the_command_answers_and_writes_a_report(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "shares.csv"
    done = CliRunner().invoke(
        app, ["sql", "clinic", TEXT, "--epsilon", "1", "--key", "k", "--out", str(out), "--home", str(home)]
    )
    assert done.exit_code == 0, done.output
    assert out.read_text().splitlines()[0] == '"ward","share","share_low","share_high"'
    priced = CliRunner().invoke(app, ["quote", "clinic", TEXT, "--epsilon", "1", "--home", str(home)])
    assert priced.exit_code == 0, priced.output
    assert "release_2.count" in priced.output
