"""Only people with more rows than a limit are looked at row by row: the answer is the very same."""

from __future__ import annotations

import itertools
import random

import pytest

from dither.data import Aggregation, Bounded, Column, CountRows, DataSet, Kind, Limits, Name, Persons, Scan, Sum, Table
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.emit_crowded import harmless
from dither.data.engines.emit_duckdb import DuckDBEmitter
from dither.data.joins import joined
from dither.data.reference import aggregate
from dither.data.schema import person_unit

pa = pytest.importorskip("pyarrow")

COLUMNS = Column("cost", Kind.INTEGER, lower=0, upper=9), Column("region", Kind.TEXT, categories=("a", "b", "c"))
LIMITS = [Limits(*given) for given in itertools.product((None, 3), (None, 2), (None, 1, 2)) if any(given)]


def dataset(kind: Kind) -> DataSet:
    visits = Table("visits", (Column("id", kind), *COLUMNS), "visits.csv", person="id")
    return DataSet("clinic", (visits,), person_unit("id"), rows=5, rows_per_join=3)


def rows(kind: Kind) -> list[dict[str, object]]:
    source = random.Random(3)  # noqa: S311 - a table to try
    ids = [-0.0, 0.0, 1.5, 2.5, None] if kind is Kind.REAL else ["", "a", "A", "ä", None]
    # People with one row, and with many; some rows are alike in all columns.
    return [
        {"id": source.choice(ids[: 1 + number % 5]), "cost": source.randrange(4), "region": source.choice("abc")}
        for number in range(60)
    ]


def asked(data: DataSet, limits: Limits) -> list[Aggregation]:
    scan, names = Scan(data.tables[0]), ("id", "cost", "region")
    keys = (Name("region"),)
    both = joined(data, scan, scan, None, True, "o_")
    return [
        Aggregation(Bounded(scan, keys, limits, names), keys, (CountRows(), Sum(Name("cost")), Persons())),
        Aggregation(Bounded(scan, (), limits, names), keys, (Sum(Name("cost")),)),
        Aggregation(Bounded(both, keys, limits, tuple(both.columns)), keys, (CountRows(), Sum(Name("o_cost")))),
    ]


@pytest.mark.parametrize("kind", [Kind.REAL, Kind.TEXT])
@pytest.mark.parametrize("portable", [True, False])
def test_rows_are_those_of_choosing_among_all(kind: Kind, portable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data, cells = dataset(kind), rows(kind)
    frame = pa.table({name: [row[name] for row in cells] for name in ("id", "cost", "region")})
    many = [one for limits in LIMITS for one in asked(data, limits)]
    answers = []
    for keeps in (True, False):
        monkeypatch.setattr(DuckDBEmitter, "keeps_rows", keeps)
        with DuckDBEngine(data, frames={"visits": frame}, threads=1, portable=portable) as engine:
            assert any("MATERIALIZED" in engine.statement(one).text for one in many) == keeps
            answers.append(
                [sorted(zip(found.keys, found.measures, strict=True)) for found in map(engine.aggregate, many)]
            )
    assert answers[0] == answers[1]
    if portable:
        for one, found in zip(many, answers[0], strict=True):
            wanted = aggregate(one, {"visits": cells})
            assert sorted(zip(wanted.keys, wanted.measures, strict=True)) == found


def test_no_limit_drops_one_of_few_rows() -> None:
    """Whatever groups they are in."""
    for limits in LIMITS:
        few = harmless(limits)
        for groups in itertools.product("abc", repeat=few):
            assert limits.rows is None or few <= limits.rows
            assert limits.groups is None or len(set(groups)) <= limits.groups
            assert limits.rows_per_group is None or max(map(groups.count, groups)) <= limits.rows_per_group
