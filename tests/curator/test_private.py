"""A frame first: what must be said is asked for at once, what is public comes from no row, and a budget is a budget."""

from __future__ import annotations

import datetime
import os
import stat
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither
from dither.curator.access import curator_of
from dither.curator.card import release_card
from dither.curator.ledger import Account
from dither.curator.ledger.memory import MemoryLedger
from dither.data import Kind, schema_from
from dither.data.files import dump_schema, loads
from dither.errors import (
    BudgetExceeded,
    EngineUnavailable,
    HandleMisuse,
    InvalidParameter,
    InvalidSchema,
    KeyReused,
    LostCells,
)
from dither.privacy import ZCDP, ApproxDP, PureDP
from tests.workbook_files import rows_of, write_workbook

ROWS = 600


def frame(**columns: Any) -> pd.DataFrame:
    base = {"id": range(ROWS), "ward": ["heart", "skin"] * (ROWS // 2), "Wait (min)": [10.5, 30.0] * (ROWS // 2)}
    return pd.DataFrame({**base, **columns})


def ask(data: Any, **said: Any) -> dither.Session:
    return dither.private(data, **{"budget": 100, "person": "id", "rows": 1, **said})


def count(session: dither.Session, what: str = "COUNT(*)", table: str = "data") -> float:
    """Return one noisy number; its noise has a scale of 1/20 times what one person counts for."""
    return float(session.sql(f"SELECT {what} AS n FROM {table}", epsilon=20).column("n")[0])  # noqa: S608


# What must be said.


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ({}, "budget, person, rows, groups"),
        ({"budget": 1}, "person, rows, groups"),
        ({"person": "id"}, "budget, rows, groups"),
        ({"budget": 1, "person": "id"}, "rows, groups"),
        ({"budget": 1, "person": "id", "rows": 10}, "groups"),
        ({"budget": 1, "person": "id", "groups": 2}, "rows"),
        ({"person": "id", "rows": 1}, "budget"),
        ({"unit": "row"}, "budget"),
    ],
)
def test_everything_that_is_missing_is_named_at_once_with_a_line_to_paste(said, missing):
    with pytest.raises(InvalidParameter) as refused:
        dither.private(frame(patient_id=range(ROWS)), **said)
    assert str(refused.value).startswith(f"{missing} {'are' if ',' in missing else 'is'} required")
    assert "dither.private(..., budget=1, person='patient_id', rows=10, groups=2)" in str(refused.value)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"unit": "row"}, "unit must be a unit of people if person="),
        ({"person": None, "unit": "person", "rows": None}, "unit must be a unit of people if person="),
        ({"person": None, "unit": "rows", "rows": None}, "unit must be one of person, person replaced, row, row rep"),
        ({"person": "idd"}, r"person must be about columns of data \(did you mean 'id'\?\)"),
        ({"bounds": {"x": (0, 1)}}, "bounds must be about columns of data"),
        ({"bounds": [1]}, "bounds must be a dictionary by columns"),
        ({"bounds": {"Wait (min)": (9, 1)}}, "columns.Wait_min.bounds must be in ascending order"),
        ({"bounds": {"Wait (min)": (0, 1), "Wait_min": (0, 2)}}, "without a column that is named twice"),
        ({"bounds": {"Wait (min)": np.array([0, 1])}}, "never read from the rows"),
        ({"categories": {"ward": pd.Series(["a"])}}, "never read from the rows"),
        ({"categories": {"ward": {"a", "b"}}}, "never read from the rows"),
        ({"categories": {"ward": [object()]}}, "a string, a number"),
        ({"kinds": {"ward": "words"}}, "columns.ward.kind must be one of boolean"),
        ({"kinds": {"id": "date"}}, "is declared date, but the frame stores BIGINT"),
        ({"rows": 0}, "contribution.rows must be"),
        ({"budget": 0}, "epsilon must be"),
        ({"budget": PureDP(1), "delta": "1e-6"}, "delta must be part of the budget's own loss"),
        ({"name": "a b"}, "name must be letters"),
    ],
)
def test_what_contradicts_itself_is_refused_in_one_clear_sentence(said, words):
    with pytest.raises((InvalidParameter, EngineUnavailable), match=words):
        ask(frame(), **said)


def test_a_person_in_the_index_is_found_out():
    with pytest.raises(InvalidParameter, match=r"it is the index; give frame.reset_index\(\)"):
        ask(frame().set_index("id"))


# Frames.


def test_pandas_polars_and_arrow_give_the_same_session():
    arrow = pa.Table.from_pandas(frame(), preserve_index=False)
    said: dict[str, Any] = {"bounds": {"Wait (min)": (0, 60)}, "categories": {"ward": ["heart", "skin"]}}
    schemas = set()
    for data in (frame(), pl.from_pandas(frame()), arrow, arrow.to_batches()[0]):
        with ask(data, **said) as session:
            schemas.add(dump_schema(session.dataset))
            answer = session.sql(
                'SELECT ward, COUNT(*) AS n, SUM("Wait (min)") AS w FROM data GROUP BY ward', epsilon=50
            )
            assert answer.column("ward") == ("heart", "skin")
            assert answer.receipt == "unledgered"
            assert "unledgered: its budget lives as long as the process that asked" in str(answer)
            # 30 times the scales of noise or more: a false alarm has a chance below 1e-9.
            assert [abs(number - ROWS / 2) < 10 for number in answer.column("n")] == [True, True]
            assert abs(answer.column("w")[1] - 30 * ROWS / 2) < 2000
    assert len(schemas) == 1


def test_types_say_the_kinds_and_rows_say_nothing():
    odd = {
        "whole": pd.array([1, None] * (ROWS // 2), dtype="Int64"),
        "money": [Decimal("1.5")] * ROWS,
        "lists": [[1]] * ROWS,
        "zoned": pd.date_range("2024-01-01", periods=ROWS, tz="UTC"),
        "moment": pd.date_range("2024-01-01", periods=ROWS),
        "yes": [True, False] * (ROWS // 2),
        "grade": pd.Categorical(["a", "b"] * (ROWS // 2)),
        "level": pd.Categorical([1, 2] * (ROWS // 2)),
        "mixed": [1, "x"] * (ROWS // 2),
        "foreign": [object()] * ROWS,
        "z": [1j] * ROWS,
        2024: [1] * ROWS,
    }
    with ask(frame(**{str(name): cells for name, cells in odd.items()}).rename(columns={"2024": 2024})) as session:
        table = session.dataset.tables[0]
    kinds = {column.name: column.kind for column in table.columns}
    assert kinds == {
        "id": Kind.INTEGER,
        "ward": Kind.TEXT,
        "Wait_min": Kind.REAL,
        "whole": Kind.INTEGER,
        "money": Kind.TEXT,
        "lists": Kind.TEXT,
        "zoned": Kind.TIMESTAMP,
        "moment": Kind.TIMESTAMP,
        "yes": Kind.BOOLEAN,
        "grade": Kind.TEXT,
        "level": Kind.TEXT,
        "mixed": Kind.TEXT,
        "foreign": Kind.TEXT,
        "c_2024": Kind.INTEGER,
    }
    assert table.column("c_2024").source == "2024"
    # The categories of a column may come from its rows: they are not public, and neither are bounds.
    assert all(column.categories is None and column.lower is None for column in table.columns)


def test_declarations_say_the_kind_where_the_type_does_not():
    data = frame(
        money=[Decimal("1.5"), None] * (ROWS // 2),
        level=pd.Categorical([1, 2] * (ROWS // 2)),
        day=[datetime.date(2024, 1, 1)] * ROWS,
        flag=[True, None] * (ROWS // 2),
    )
    first, last = datetime.date(2024, 1, 1), datetime.date(2024, 1, 31)
    said: dict[str, Any] = {
        "bounds": {"money": (0, 2), "day": (first, last), "Wait (min)": (0, 60)},
        "categories": {"level": [1, 2], "flag": [True, False]},
        "nullable": ["flag"],
    }
    with ask(data, **said) as session:
        kinds = session.dataset.tables[0].kinds
        assert (kinds["money"], kinds["level"], kinds["day"]) == (Kind.REAL, Kind.INTEGER, Kind.DATE)
        assert kinds["flag"] is Kind.BOOLEAN
        assert session.dataset.tables[0].column("flag").public_values == (True, False, None)
        # Scales of 2/20 and 1/20.
        assert abs(count(session, "SUM(money)") - 1.5 * ROWS / 2) < 5
        levels = session.sql("SELECT level, COUNT(*) AS n FROM data GROUP BY level", epsilon=20)
        assert [abs(number - ROWS / 2) < 5 for number in levels.column("n")] == [True, True]


def test_text_of_a_frame_can_be_counted_and_grouped_where_delta_is_given():
    with ask(frame(), budget=100, delta="1e-3") as session:
        groups = session.sql("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward", epsilon=20, delta="1e-4")
        assert groups.column("ward") == ("heart", "skin")
    with ask(frame()) as session, pytest.raises((InvalidParameter, dither.Unanswerable), match="delta"):
        session.sql("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward", epsilon=20)


class Cell:
    """A cell that answers to everything and would tell."""

    def __str__(self) -> str:
        raise AssertionError("a cell was asked")

    __repr__ = __float__ = __int__ = __hash__ = __str__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a cell was asked")


def test_foreign_cells_are_null_and_are_not_asked():
    cells = np.empty(ROWS, dtype=object)
    cells[:] = [Cell(), "heart"] * (ROWS // 2)
    with ask(frame(ward=cells), categories={"ward": ["heart"]}) as session:
        assert abs(count(session, "COUNT(ward)") - ROWS / 2) < 5


class Subclass(pd.DataFrame):
    """A frame that could return anything."""


def test_frames_that_are_none_are_refused():
    levels = frame()
    levels.columns = pd.MultiIndex.from_tuples([("a", "id"), ("a", "ward"), ("b", "w")])
    twice = pd.DataFrame([[1, 2]], columns=["id", "id"])
    for data, words in (
        (Subclass(frame()), "data must be the path of a CSV or Parquet file, or a pandas, .* got 'Subclass'"),
        (pl.from_pandas(frame()).lazy(), "LazyFrame"),
        ({"id": [1]}, "or a pandas, Polars or Arrow table: one table. Several are declared in a schema, .* got 'dict'"),
        ([frame(), frame()], "Several are declared in a schema, .* got 'list'"),
        (levels, "named by strings or integers"),
        (twice, "the name of one column"),
        (b"x.csv", "the path of a CSV or Parquet file"),
        (None, "the path of a CSV or Parquet file"),
    ):
        with pytest.raises((InvalidParameter, EngineUnavailable), match=words) as refused:
            ask(data)
        assert refused.value.__cause__ is None


# Files.


def test_a_file_is_imported_strictly_into_a_folder_that_goes_with_the_session(tmp_path):
    path = tmp_path / "my [visits] 2024.csv"
    frame().to_csv(path, index=False)
    with ask(path, bounds={"Wait (min)": (0, 60)}, kinds={"id": "integer"}) as session:
        folder = curator_of(session).folder
        (copy,) = folder.glob("data/*/*.parquet")
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        kinds = session.dataset.tables[0].kinds
        assert kinds == {"id": Kind.INTEGER, "ward": Kind.TEXT, "Wait_min": Kind.REAL}
        assert abs(count(session, table="my_visits_2024") - ROWS) < 5
        path.unlink()  # what was imported counts
        assert abs(count(session, table="my_visits_2024") - ROWS) < 5
    assert not folder.exists()
    path.write_text('id,ward\n1,"a"b\n')
    with pytest.raises(EngineUnavailable, match="line 2"):
        ask(path)
    with pytest.raises(EngineUnavailable, match="is no file"):
        ask(tmp_path / "absent.csv")


def test_a_session_that_is_forgotten_leaves_nothing(tmp_path):
    frame().to_csv(tmp_path / "visits.csv", index=False)
    session = ask(tmp_path / "visits.csv")
    folder = curator_of(session).folder
    assert folder.exists()
    del session
    import gc

    gc.collect()
    assert not folder.exists()


# Budgets.


def test_a_budget_in_memory_is_charged_first_and_enforced():
    session = ask(frame(), budget="1/2", rows=None, groups=1, rows_per_group=1)
    first = session.sql("SELECT COUNT(*) AS n FROM data", epsilon="1/4", key="mine")
    assert session.sql("SELECT COUNT(*) AS n FROM data", epsilon="1/4", key="mine") == first
    assert session.balance().spent == PureDP("1/4")
    with pytest.raises(KeyReused):
        session.sql("SELECT COUNT(ward) AS n FROM data", epsilon="1/4", key="mine")
    with pytest.raises(BudgetExceeded):
        session.sql("SELECT COUNT(*) AS n FROM data", epsilon="1/2")
    assert curator_of(session).ledger.verify().is_intact
    # Another line is another budget, and says so in every release.
    assert ask(frame(), budget="1/2").balance().spent == PureDP(0)
    session.close()
    with pytest.raises(HandleMisuse, match="closed"):
        session.sql("SELECT COUNT(*) AS n FROM data", epsilon="1/8")


@pytest.mark.parametrize(
    ("said", "budget"),
    [
        ({"budget": 1}, PureDP(1)),
        ({"budget": "0.5", "delta": 1e-6}, ApproxDP("0.5", "1e-6")),
        ({"budget": ZCDP("0.1")}, ZCDP("0.1")),
    ],
)
def test_a_budget_is_an_epsilon_or_any_loss(said, budget):
    assert ask(frame(), **said).balance().budget == budget


def test_a_forked_child_cannot_spend_the_budget_again():
    session = ask(frame())
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            session.balance()
            told = b"spent"
        except HandleMisuse:
            told = b"refused"
        os.write(writing, told)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 10) == b"refused"
    os.close(reading)
    os.close(writing)


def test_every_verb_says_that_its_budget_is_in_memory():
    data = frame(age=[20, 40] * (ROWS // 2))
    said: dict[str, Any] = {"bounds": {"age": (0, 63)}, "categories": {"ward": ["heart", "skin"]}}
    with ask(data, **said) as session:
        released = [
            session.histogram("data", "age", epsilon=1),
            *session.marginals("data", [("ward",)], epsilon=1).values(),
            session.synthesize("data", epsilon=1, columns=["ward", "age"]),
        ]
        assert [one.receipt for one in released] == ["unledgered"] * 3


def test_home_keeps_the_budget_and_the_same_line_goes_on_with_it(tmp_path, monkeypatch):
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    path = tmp_path / "visits.csv"
    frame().to_csv(path, index=False)
    said: dict[str, Any] = {"budget": 2, "bounds": {"Wait (min)": (0, 60)}, "home": tmp_path / "home"}
    for data, table in ((frame(), "data"), (path, "visits")):
        for asked in (1, 2):
            with ask(data, **said) as session:
                answer = session.sql(f"SELECT COUNT(*) AS n FROM {table}", epsilon="0.5")  # noqa: S608
                assert answer.receipt.startswith(curator_of(session).ledger.id)
                assert "unledgered" not in str(answer)
                assert session.balance().releases == asked
    with pytest.raises(InvalidParameter, match=r"was Wait_min: .* \[0, 60\]}; is Wait_min: .* \[0, 90\]}") as refused:
        ask(frame(), **{**said, "bounds": {"Wait (min)": (0, 90)}})
    assert "a budget of" not in str(refused.value)
    with pytest.raises(InvalidParameter, match="was a budget of epsilon = 2; is a budget of epsilon = 3"):
        ask(frame(), **{**said, "budget": 3})
    with ask(frame(), **{**said, "budget": 3, "name": "other"}) as session:
        assert session.balance().releases == 0
    # Other rows of the same file take the place of the old ones, and what was spent stays spent.
    frame().head(300).to_csv(path, index=False)
    with ask(path, **said) as session:
        assert session.balance().releases == 2
        assert abs(count_at(session) - 300) < 60


def test_a_folder_registered_with_rows_alone_keeps_its_line_and_its_meaning(tmp_path, monkeypatch):
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    home = tmp_path / "home"
    columns = {"id": "integer", "ward": "text", "Wait_min": {"from": "Wait (min)", "kind": "real"}}
    table = {"source": "frames", "privacy id": "id", "columns": columns}
    former = schema_from({"dataset": "data", "unit": "person", "contribution": {"rows": 5}, "tables": {"data": table}})
    with dither.Curator.create(home) as curator:
        curator.add(former, budget=PureDP(100))
    with ask(frame(), home=home, rows=5) as session:
        assert (session.dataset.rows, session.dataset.groups) == (5, None)
    with pytest.raises(InvalidParameter, match="groups is required"):
        ask(frame(), rows=5)
    with ask(frame(), rows=5, groups=2, people=ROWS) as session:
        assert (session.dataset.groups, session.dataset.people) == (2, ROWS)
        assert loads(dump_schema(session.dataset)) == session.dataset


def test_a_card_states_the_declared_share_of_rows_that_a_limit_drops(tmp_path, monkeypatch):
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    table = {"source": "frames", "privacy id": "id", "columns": {"id": "integer"}}
    limits = {"rows": 5, "groups": 1, "dropped": 0.27, "dropped up to": 64}
    known = schema_from({"dataset": "data", "unit": "person", "contribution": limits, "tables": {"data": table}})
    with dither.Curator.create(tmp_path / "home") as curator:
        curator.add(known, budget=PureDP(1))
        shown = release_card(known, curator.ledger)["privacy_loss"]["contribution_limits"]
    assert (shown["rows"], shown["dropped_share"], shown["dropped_up_to"]) == (5, 0.27, 64)


def count_at(session: dither.Session) -> float:
    return float(session.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.5").column("n")[0])


def test_a_frame_that_is_refused_registers_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    with pytest.raises(EngineUnavailable):
        ask(frame(), home=tmp_path / "home", kinds={"id": "date"})
    assert not (tmp_path / "home").exists()
    with ask(frame(), home=tmp_path / "home", budget=3) as session:
        assert session.balance().budget == PureDP(3)


# Schemas from dictionaries, and the ledger in memory.


def test_a_dictionary_says_what_a_file_says_with_the_same_errors():
    tree: dict[str, Any] = {
        "dataset": "clinic",
        "unit": "person",
        "contribution": {"rows": np.int64(20), "rows per join": 5},
        "time limit": 60,
        "tables": {
            "visits": {
                "source": "visits.csv",
                "privacy id": "patient",
                "columns": {
                    "patient": Kind.INTEGER,
                    "age": {"kind": "integer", "bounds": (0, np.int8(120))},
                    "cost": {"kind": "real", "bounds": [Decimal("0.1"), 1e300]},
                    "flag": {"kind": "text", "categories": ["no", "", "12"], "nullable": True},
                    "spend": {"kind": "text", "from": "Total Spend (£)"},
                    "day": {"kind": "date", "bounds": [datetime.date(2024, 1, 1), "2024-12-31"]},
                    "at": {"kind": "timestamp", "bounds": [datetime.datetime(2024, 1, 1, 1, 2, 3, 4), "2024-12-31"]},
                },
            },
            "regions": {"source": "r.csv", "public": True, "key": ["a"], "columns": {"a": "text"}},
        },
    }
    dataset = schema_from(tree)
    assert loads(dump_schema(dataset)) == dataset
    assert dataset.table("visits").column("at").lower == datetime.datetime(2024, 1, 1, 1, 2, 3, 4)
    assert dataset.table("visits").column("cost").lower == 0.1
    columns = tree["tables"]["visits"]["columns"]
    for change, words in (
        ({"age": {"kind": "integer", "bounds": [120, 0]}}, r"^tables.visits.columns.age.bounds must be in ascending"),
        ({"age": {"kind": "integer", "bounds": [0, 1.5]}}, r"bounds\[1\] must be an integer"),
        ({"age": {"kind": "real", "bounds": [0, float("nan")]}}, r"bounds\[1\] must be a finite number"),
        ({"age": {"kind": "real", "bounds": [0, Decimal("inf")]}}, r"bounds\[1\] must be a finite number"),
        ({"age": {"kind": "integer", "bound": [0, 1]}}, "did you mean 'bounds'"),
        ({"age": None}, "a string, a number, true or false, a date, a list or a dictionary, got 'nothing'"),
        ({"age": {"kind": "text", "categories": {"a"}}}, "a list or a dictionary, got 'set'"),
        ({3: "text"}, "keyed by strings"),
        ({"day": {"kind": "timestamp", "bounds": [pd.Timestamp("2024-01-01", tz="UTC"), "2025-01-01"]}}, "a timestamp"),
    ):
        visits = {**tree["tables"]["visits"], "columns": {**columns, **change}}
        with pytest.raises(InvalidSchema, match=words) as refused:
            schema_from({**tree, "tables": {"visits": visits}})
        assert "line" not in str(refused.value).split("must")[0]
    cyclic: dict[str, Any] = {}
    cyclic["tables"] = cyclic
    with pytest.raises(InvalidSchema, match="levels deep"):
        schema_from(cyclic)
    with pytest.raises(InvalidSchema, match="a dictionary"):
        schema_from("dataset: clinic")  # type: ignore[arg-type]


def test_a_ledger_in_memory_keeps_the_same_books():
    with MemoryLedger() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="rows")
        ana = Account("visits", "ana")
        held = ledger.reserve(ana, "first", "digest", PureDP("1/4"))
        receipt = ledger.complete(held, b"42")
        assert ledger.reserve(ana, "first", "digest", PureDP("1/4")).answer == b"42"
        assert receipt.answer == b"42"
        ledger.set_quota("visits", "bob", PureDP("1/8"))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Account("visits", "bob"), "second", "digest", PureDP("1/4"))
        ledger.raise_budget("visits", PureDP(2), reason="more")
        assert ledger.verify().is_intact
        assert [entry.kind for entry in ledger.entries()] == [
            "register",
            "reserve",
            "answer",
            "close",
            "quota",
            "raise",
        ]
    with pytest.raises(HandleMisuse):
        ledger.balance("visits")


def test_a_name_of_the_frame_is_refused_with_the_declared_one() -> None:
    """SQL takes either name; the other verbs say which one to write, and it is taken then."""
    session = ask(frame(), person="id", rows=1, bounds={"Wait (min)": (0, 90)})
    for verb, rest in ((session.bounds, ()), (session.histogram, ([0, 20, 90],))):
        with pytest.raises(InvalidParameter, match="column must be Wait_min, as that column is declared, got"):
            verb("data", "Wait (min)", *rest, epsilon="0.1")
        verb("data", "Wait_min", *rest, epsilon="0.1")


# How cells are written.

_WRITTEN: dict[str, Any] = {
    "price": ["1.234,5 €", "- 1.034,5 €"] * (ROWS // 2),
    "day": ["31.12.2024", "2024-12-30T23:30:00.5-02:00"] * (ROWS // 2),
}
_FRAMES = {
    "pandas": lambda cells: cells,
    "categories": lambda cells: cells.astype({"day": "category"}),
    "strings": lambda cells: cells.astype({"price": "string", "day": "string"}),
    "arrow strings": lambda cells: cells.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
}


@pytest.mark.parametrize("made", [*_FRAMES, "file"])
def test_cells_are_read_as_they_are_declared_to_be_written(made, tmp_path):
    data = frame(**_WRITTEN)
    path = tmp_path / "data.csv"
    data.to_csv(path, sep=";", index=False)
    kinds = {"id": "integer", "price": "real", "day": "date"}
    forms = {"price": "1.234,56 €", "day": ["DD.MM.YYYY", "ISO"]}
    bounds = {"price": (-2000, 2000), "day": (datetime.date(2024, 12, 30), datetime.date(2024, 12, 31))}
    given = path if made == "file" else _FRAMES[made](data)
    with ask(given, kinds=kinds, forms=forms, bounds=bounds) as session:
        rows = session.sql("SELECT day, COUNT(*) AS n, SUM(price) AS s FROM data GROUP BY day", epsilon=90).to_rows()
    # Scales of 1/45 rows, and of 2000/45: a false alarm has a chance below 1e-9.
    assert [abs(row["n"] - want) < 5 for row, want in zip(rows, (0, ROWS), strict=True)] == [True, True]
    assert abs(rows[1]["s"] - ROWS / 2 * 200) < 4000


@pytest.mark.parametrize("made", ["pandas", "polars", "arrow", "parquet"])
def test_moments_with_a_zone_count_in_utc(made, tmp_path):
    data = frame(at=pd.date_range("2024-01-01 23:30", periods=1, tz="America/New_York").repeat(ROWS))
    path = tmp_path / "data.parquet"
    data.to_parquet(path, index=False)
    with ask(path if made == "parquet" else _FRAMES[made](data)) as session:
        assert abs(count(session, "COUNT(*) FILTER (WHERE at = TIMESTAMP '2024-01-02 04:30:00')") - ROWS) < 5


@pytest.mark.parametrize("made", [*_FRAMES, "file"])
def test_the_owner_is_warned_of_cells_that_become_null(made, tmp_path):
    data = frame(price=["3"] * (ROWS - 12) + ["n/a"] * 12, day=["2024-01-01"] * (ROWS - 6) + ["1.2.2024"] * 6)
    path = tmp_path / "data.csv"
    data.to_csv(path, index=False)
    given = path if made == "file" else _FRAMES[made](data)
    kinds = {"id": "integer", "price": "real", "day": "date"}
    with pytest.warns(LostCells, match=r"for the owner .*price: 12 of 600 filled cells \(2 %\).*'n/a'") as told:
        ask(given, kinds=kinds).close()
    # One per cent is not more than one.
    assert "day" not in str(told[0].message)


def test_what_json_lines_are_declared_as_does_not_follow_from_keys_of_other_rows(tmp_path):
    """A key that one row has, or the order of its keys, would show in names, and in which column is meant."""
    row, known = '{"b": 2, "a b": 1}', []
    for others in ("", '{"a_b": "x", "a b": 3, "B": 1}\n', '{"a b": 3, "b": 1}\n'):
        path = tmp_path / "visits.jsonl"
        path.write_text(f"{others}{row}\n")
        with dither.private(path, budget=1, unit="row", bounds={"a b": (0, 9)}, kinds={"b": "integer"}) as session:
            known.append(session.dataset.tables[0].columns)
    assert known[0] == known[1] == known[2]
    assert [(column.name, column.source) for column in known[0]] == [("a_b", "a b"), ("b", None)]
    with pytest.raises(InvalidParameter, match="a_b"):
        dither.private(path, budget=1, unit="row", bounds={"a_b": (0, 9)})


def test_of_json_lines_only_the_keys_that_the_caller_names_are_declared(tmp_path):
    path = tmp_path / "visits.jsonl"
    lines = [f'{{"id": {n}, "age": {20 + n % 50}, "only_{n}": 1}}\n' for n in range(ROWS)]
    path.write_text("".join(lines))
    with ask(path, kinds={"id": "integer"}, bounds={"age": (0, 120)}) as session:
        assert list(session.dataset.tables[0].kinds) == ["age", "id"]
        assert abs(count(session, table="visits") - ROWS) < 5


def test_a_workbook_is_a_session_too(tmp_path):
    pytest.importorskip("python_calamine")
    path = tmp_path / "visits.xlsx"
    sheets = {name: rows_of([["id", "age"], *([n, 40] for n in range(ROWS))]) for name in ("old", "new")}
    write_workbook(path, sheets)
    with pytest.raises(InvalidParameter, match="one of the 2 sheets"):
        ask(path)
    with ask(path, sheet="new", kinds={"id": "integer"}, bounds={"age": (0, 120)}) as session:
        assert session.dataset.tables[0].sheet == "new"
        assert abs(count(session, "SUM(age)", "visits") / ROWS - 40) < 1
