"""Tables that belong to people through foreign keys, from files to answers, other releases and the owner's check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.errors import InvalidParameter
from dither.privacy import PureDP
from dither.publish.queries import QueryResult
from tests.cli.test_curate import record, run

SCHEMA = """\
dataset: shop
unit: person
contribution: {rows: 40}
tables:
  customer:
    source: customer.csv
    privacy id: id
    columns: {id: integer, city: {kind: text, categories: [Basel, Bern]}}
  orders:
    source: orders.csv
    owner: {buyer: customer.id}
    columns: {no: {kind: text, from: Order No.}, buyer: integer, day: date}
  items:
    source: items.csv
    owner: {of_order: orders.no}
    rows per owner: 3
    columns: {of_order: text, pieces: {kind: integer, bounds: [0, 9]}}
"""
CUSTOMERS = "id,city\n" + "".join(f"{n},{('Basel', 'Bern')[n % 2]}\n" for n in range(60))
ORDERS = "Order No.,buyer,day\n" + "".join(f"A{n},{n % 60},2024-01-{1 + n % 28:02}\n" for n in range(240))
ITEMS = "of_order,pieces\n" + "".join(f"A{n % 240},{n % 10}\n" for n in range(600))
PIECES = (
    "SELECT city, SUM(pieces) AS pieces FROM customer JOIN orders ON id = buyer "
    "JOIN items ON no = of_order GROUP BY city"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "customer.csv": CUSTOMERS,
        "orders.csv": ORDERS,
        "items.csv": ITEMS,
        "shop.yaml": SCHEMA,
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    monkeypatch.setenv("DITHER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    run("init", "home")
    return tmp_path


@pytest.fixture
def session(home: Path) -> Iterator[Session]:
    with Curator.open(home / "home") as curator:
        curator.add(home / "shop.yaml", budget=PureDP(10**6))
        with curator.session("shop", analyst="ana") as opened:
            yield opened


def test_joins_along_keys_are_answered_from_files(session: Session) -> None:
    """At a large epsilon the exact sums come back: 600 items, all of orders that exist."""
    found = session.sql(PIECES, epsilon=10**5)
    assert isinstance(found, QueryResult)
    meant = {"Basel": 0, "Bern": 0}
    for n in range(600):
        meant[("Basel", "Bern")[n % 240 % 60 % 2]] += n % 10
    assert dict(zip(found.column("city"), found.column("pieces"), strict=True)) == meant


def test_other_releases_read_referring_tables_and_leave_references_out(session: Session) -> None:
    counts = session.histogram("items", "pieces", epsilon=10**5)
    assert [round(count) for count in counts.column("count")] == [60] * 10
    assert [name for name, *_ in session.synthesize("items", epsilon=10).columns] == ["pieces"]
    with pytest.raises(InvalidParameter, match="privacy id"):
        session.synthesize("items", columns=["of_order", "pieces"], epsilon=10)


def test_a_check_counts_references_and_keys_that_do_not_fit(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    assert "600 of 600 rows kept" in run("check", "shop")
    more = "".join(f"A1,{n}\n" for n in range(5)) + "Z9,1\nZ9,2\n,3\n"
    (home / "items.csv").write_text(ITEMS + more)
    (home / "orders.csv").write_text(ORDERS + "A7,1,2024-01-01\nA8,1,2024-01-01\n,1,2024-01-01\n,1,2024-01-01\n")
    shown = " ".join(run("check", "shop", code=1).split())
    for words in (
        "2 rows refer to no orders.no",
        "2 values of orders.no repeat",
        "5 rows are more than 3",
        "1 rows have no of_order",
    ):
        assert words in shown
    found = {one["table"]: one for one in record("check", "shop", code=1)}
    assert [found["items"][name] for name in ("dangling", "repeated", "beyond")] == [2, 2, 5]
    assert [found["orders"][name] for name in ("dangling", "repeated", "beyond")] == [0, 0, 0]
    assert found["items"]["without_id"] == 1
    assert "dangling" not in found["customer"]


def test_whoever_adds_tables_is_told_of_keys_that_people_share(home: Path) -> None:
    """A row behind a key of many people moves an answer by all of them: its owner learns that before any answer."""
    assert "repeat" not in run("add", "shop.yaml", "--budget", "2")
    (home / "orders.csv").write_text(ORDERS + "".join(f"none,{n},2024-01-01\n" for n in range(60)))
    shown = " ".join(run("add", "shop.yaml", "--budget", "2").split())
    assert "1 values of orders.no repeat" in shown
    assert "counts for each of them" in shown
