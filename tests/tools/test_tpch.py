"""TPC-H: tables in the shape of the standard, declared as they are, and joined along their foreign keys."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dither.data import Aggregation, CountRows, Name, Sum
from dither.data.engines.protocol import Engine, connect
from dither.data.files import loads
from dither.errors import Unanswerable
from dither.publish.queries.sql import parse_request, parse_sql
from tools.tpch import asking, generate, page
from tools.tpch.schemas import PROTECTED, schema

SCALE = 0.001
TABLES = generate.tables(SCALE)
#: What the queries of the standard ask, in joins along foreign keys; all groups are public.
ALONG = {
    "3": "SELECT o_shippriority, COUNT(*) FROM customer JOIN orders ON c_custkey = o_custkey "
    "JOIN lineitem ON l_orderkey = o_orderkey WHERE c_mktsegment = 'BUILDING' GROUP BY o_shippriority",
    "5": "SELECT n_name, COUNT(*) FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem "
    "ON l_orderkey = o_orderkey JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey <> s_nationkey "
    "JOIN nation ON s_nationkey = n_nationkey GROUP BY n_name",
    "9": "SELECT n_name, SUM(l_quantity) FROM lineitem JOIN supplier ON s_suppkey = l_suppkey JOIN partsupp "
    "ON ps_suppkey = l_suppkey AND ps_partkey = l_partkey JOIN orders ON o_orderkey = l_orderkey "
    "JOIN nation ON s_nationkey = n_nationkey GROUP BY n_name",
    "12": "SELECT l_shipmode, COUNT(*) FROM orders JOIN lineitem ON o_orderkey = l_orderkey "
    "WHERE l_commitdate < l_receiptdate AND o_orderpriority = '2-HIGH' GROUP BY l_shipmode",
    "13": "SELECT COUNT(*) FROM (SELECT c_custkey, COUNT(o_orderkey) FROM customer LEFT JOIN orders "
    "ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS t (c, n) WHERE n < 9",
    "18": "SELECT COUNT(*) FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey "
    "HAVING SUM(l_quantity) > 200)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tpch")
    generate.write(made, TABLES)
    return made


@pytest.fixture(scope="module")
def plain(folder: Path) -> Any:
    connection = duckdb.connect()
    for name in TABLES:
        connection.execute(f"CREATE TABLE {name} AS FROM read_csv('{folder / name}.csv')")
    return connection


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    return connect(loads(schema("customer", SCALE)), folder=folder)


def test_sizes_keys_and_references_are_those_of_the_standard() -> None:
    sizes = {name: len(next(iter(columns.values()))) for name, columns in TABLES.items()}
    assert [sizes[name] for name in ("region", "nation", "part", "partsupp", "customer", "orders")] == [
        *(5, 25, 200, 800, 150, 1500)
    ]
    assert 3.5 < sizes["lineitem"] / sizes["orders"] < 4.5
    for table, keys in (("orders", ("o_orderkey",)), ("partsupp", ("ps_partkey", "ps_suppkey"))):
        found = Counter(zip(*(TABLES[table][name] for name in keys), strict=True))
        assert set(found.values()) == {1}
    offers = set(zip(TABLES["partsupp"]["ps_partkey"], TABLES["partsupp"]["ps_suppkey"], strict=True))
    assert set(zip(TABLES["lineitem"]["l_partkey"], TABLES["lineitem"]["l_suppkey"], strict=True)) <= offers
    assert set(TABLES["lineitem"]["l_orderkey"]) == set(TABLES["orders"]["o_orderkey"])
    assert all(key % 3 for key in TABLES["orders"]["o_custkey"])
    assert generate.tables(SCALE) == TABLES


@pytest.mark.parametrize("person", PROTECTED)
def test_the_tables_are_declared_as_they_are(person: str) -> None:
    dataset = loads(schema(person, SCALE))
    for table in dataset.tables:
        assert list(table.kinds) == list(TABLES[table.name])
    lineitem = dataset.table("lineitem")
    assert [table.name for table in dataset.owners(lineitem)][-1] == person


@pytest.mark.parametrize("number", ALONG)
def test_joins_along_foreign_keys_mean_what_the_standard_means(number: str, plain: Any, engine: Engine) -> None:
    """Before limits on what a person contributes: the exact numbers of every group."""
    sql = ALONG[number]
    query = parse_sql(sql, engine.dataset)
    measure = Sum(Name("l_quantity")) if "SUM(" in sql.split("FROM")[0] else CountRows()
    found = engine.aggregate(Aggregation(query.relation, tuple(key.value for key in query.keys), (measure,)))
    answer = {(*key, value) for key, (value,) in zip(found.keys, found.measures, strict=True)}
    assert answer == {tuple(row) for row in plain.execute(sql).fetchall()}


#: What no exact form of can be private: groups that are people or their orders, and averages over other people.
REFUSED = {3: "l_orderkey", 10: "c_custkey", 17: "other people", 18: "c_custkey", 22: "other people"}


def test_with_the_customer_protected_each_query_is_answered_or_refused_for_what_it_says_about_people() -> None:
    dataset = loads(schema("customer", SCALE))
    for number, _, sql in asking.queries():
        if number not in REFUSED:
            assert parse_request(sql, dataset)
            continue
        with pytest.raises(Unanswerable, match=REFUSED[number]):
            parse_request(sql, dataset)
    others = asking.queries(asking.INSTEAD)
    assert [number for number, _, _ in others] == list(REFUSED)
    for _, _, text in others:
        for sql in text.split(";"):
            assert parse_request(sql.replace("{first}", "5.1"), dataset)


def test_every_query_is_asked_and_shown(plain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the 22 runs as it stands in a plain database; the page shows an answer beside it, or a reason."""
    assert [number for number, _, _ in asking.queries()] == list(range(1, 23))
    for _, _, sql in asking.queries():
        plain.execute(sql)
    few = [one for one in asking.queries() if one[0] in (1, 3, 16, 22)]
    others = asking.queries(asking.INSTEAD)
    monkeypatch.setattr(asking, "queries", lambda file=asking.QUERIES: few if file == asking.QUERIES else others)
    shown = page.page(SCALE, "1", "1e-6")
    assert "## 1. Pricing summary report" in shown
    assert "| | l_returnflag | l_linestatus | sum_qty |" in shown
    assert "| private | A | F | " in shown
    assert "| limits | A | F | " in shown
    assert "| exact | A | F | " in shown
    assert "| error |  |  | " in shown
    assert "| free | " in shown
    assert shown.count("Asked instead: ") == 2
    assert "Price: epsilon = 1" in shown
    assert "**Refused.**" in shown
