"""Tables that belong to people through foreign keys, from files to answers, other releases and the owner's check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.cli.shell import tables_of
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
    assert "600 of 600 rows loaded" in run("check", "shop")
    more = "".join(f"A1,{n}\n" for n in range(5)) + "Z9,1\nZ9,2\n,3\n"
    (home / "items.csv").write_text(ITEMS + more)
    (home / "orders.csv").write_text(ORDERS + "A7,1,2024-01-01\nA8,1,2024-01-01\n,1,2024-01-01\n,1,2024-01-01\n")
    shown = " ".join(run("check", "shop", code=1).split())
    for words in (
        "2 rows refer to no orders.no",
        "2 values of orders.no repeat",
        "2 values of orders.no belong to several people",
        "5 rows are more than 3",
        "1 rows have no of_order",
    ):
        assert words in shown
    found = {one["table"]: one for one in record("check", "shop", code=1)}
    assert [found["items"][name] for name in ("dangling", "repeated", "beyond")] == [2, 2, 5]
    assert [found["orders"][name] for name in ("dangling", "repeated", "beyond")] == [0, 0, 0]
    assert found["items"]["without_id"] == 1
    assert "dangling" not in found["customer"]


NOTHING = "".join(f"none,{n},2024-01-01\n" for n in range(60))


def test_a_key_of_several_people_is_refused_when_it_is_added(home: Path) -> None:
    """A row behind a key of 60 people would move an answer by all of them, with noise for one."""
    (home / "orders.csv").write_text(ORDERS + NOTHING + "A1,7,2024-01-01\n")
    (home / "items.csv").write_text(ITEMS + "none,5\n")
    with pytest.raises(InvalidParameter) as refused:
        run("add", "shop.yaml", "--budget", "2")
    for words in ("owner of items", "of_order -> orders.no", "2 keys of up to 60 people", "empty the cells", "'none'"):
        assert words in str(refused.value)
    assert "shop" not in run("datasets")
    # As its owner mends it: what stands for nothing is empty, and the other key is one person's.
    (home / "orders.csv").write_text(ORDERS + NOTHING.replace("none", ""))
    run("add", "shop.yaml", "--budget", "2")
    # The check says so before the next edition is refused.
    (home / "orders.csv").write_text(ORDERS + NOTHING)
    assert "1 values of orders.no belong to several people" in " ".join(run("check", "shop", code=1).split())
    found = {one["table"]: one for one in record("check", "shop", code=1)}
    assert [found[name]["shared"] for name in ("items", "orders")] == [1, 0]


def test_keys_that_lead_no_row_to_several_people_are_added(home: Path) -> None:
    """A person's own repeated key, and a shared one that no row refers to, give nobody another's rows."""
    (home / "orders.csv").write_text(ORDERS + NOTHING + "A7,7,2024-01-01\nA8,8,2024-01-01\n")
    shown = " ".join(run("add", "shop.yaml", "--budget", "2").split())
    assert "3 values of orders.no repeat" in shown
    assert "several people" not in shown


def test_a_shared_key_is_found_over_all_tables_on_the_way(home: Path) -> None:
    """The order is one row, but of a household of two people: so is every line of it. Also of Parquet in place."""
    duckdb = pytest.importorskip("duckdb")
    schema = SCHEMA.replace("id: integer, city", "id: integer, house: integer, city").replace(
        "{buyer: customer.id}", "{buyer: customer.house}"
    )
    lines = ["id,house,city", *(f"{n},{n // 2 if n == 7 else n},Basel" for n in range(60))]
    (home / "customer.csv").write_text("\n".join(lines) + "\n")
    (home / "shop.yaml").write_text(schema)
    with pytest.raises(InvalidParameter, match=r"owner of orders .*1 key of up to 2 people"):
        added(home)
    # Where the orders are those of one house each, their numbers may still be those of two.
    (home / "customer.csv").write_text("\n".join(lines).replace("7,3,", "7,7,") + "\n")
    (home / "orders.csv").write_text(ORDERS + "A3,7,2024-01-01\n")
    with pytest.raises(InvalidParameter, match=r"owner of items .*1 key of up to 2 people"):
        added(home)
    for name in ("customer", "orders", "items"):
        duckdb.sql(f"COPY (FROM read_csv('{home}/{name}.csv')) TO '{home}/{name}.parquet' (FORMAT parquet)")
    (home / "shop.yaml").write_text(schema.replace(".csv", ".parquet"))
    with pytest.raises(InvalidParameter, match=r"owner of items .*1 key of up to 2 people"):
        added(home, in_place=True)


def added(home: Path, *, in_place: bool = False) -> None:
    with Curator.open(home / "home") as curator:
        curator.add(home / "shop.yaml", budget=PureDP(2), in_place=in_place)


def test_a_limit_of_a_table_sharpens_every_release_of_it(home: Path) -> None:
    """One row a customer: counts and histograms of customers are priced for it, and those of items are not."""
    once = SCHEMA.replace("privacy id: id\n", "privacy id: id\n    rows per person: 1\n")
    (home / "shop.yaml").write_text(once)
    (home / "customer.csv").write_text(CUSTOMERS + "7,Bern\n" * 30)
    with Curator.open(home / "home") as curator:
        dataset = curator.add(home / "shop.yaml", budget=PureDP(10**6))
        assert any("1 row a person" in line for line in tables_of(dataset))
        with curator.session("shop") as session:
            count = "SELECT COUNT(*) AS n FROM {}"
            few, many = (
                session.quote(count.format(name), epsilon=1).column("n").error for name in ("customer", "items")
            )
            assert 20 * few < many
            assert round(session.sql(count.format("customer"), epsilon=10**5).column("n")[0]) == 60
            assert sum(map(round, session.histogram("customer", "city", epsilon=10**5).column("count"))) == 60
            made: list[Any] = [
                offer.mechanism
                for offer in (
                    session.offer.histogram("customer", "city", epsilon=1),
                    session.offer.histogram("items", "pieces", epsilon=1),
                )
            ]
            assert [one.source.contribution.total for one in made] == [1, 40]
