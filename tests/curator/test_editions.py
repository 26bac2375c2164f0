"""Files and the data sets made of them: read once and strictly, known again, and never read as something else."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dither.curator.editions import TableEdition, as_read, current, mark_of_rows
from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.data import Aggregation, CountRows, Kind, Name, Persons, Scan
from dither.data.engines.duckdb import DuckDBEngine
from dither.errors import EngineFailure, EngineUnavailable, InvalidParameter, StreamUnavailable, Unanswerable
from dither.privacy import PureDP

COUNT = "SELECT COUNT(*) AS n FROM visits"
ROWS = [f"{person},{'heart' if person % 3 else 'skin'},{person % 50},n{person % 4}" for person in range(200)]


def exact(session: Session, *measures: Any) -> tuple[int, ...]:
    """Return exact measures of the visits, as the session's engine computes them."""
    asked = Aggregation(Scan(session.dataset.table("visits")), (), measures or (CountRows(),))
    return session._open().aggregate(asked).measures[0]


def copies(curator: Curator) -> list[Path]:
    return sorted((curator.folder / "data" / "clinic").glob("*.parquet"))


def write(folder: Path, *rows: str, end: str = "\n") -> None:
    (folder / "visits.csv").write_bytes(end.join(["patient,ward,waited,note,secret", *rows, ""]).encode())


def whole(rows: list[str]) -> list[str]:
    return [f"{row},x" for row in rows]


# ------------------------------------------------------------------------------------------------ what a row is


@pytest.mark.parametrize("cell", ["a\rb", '"a\rb"', '"a\r\nb"', '"a ""b"", c"'])
@pytest.mark.parametrize("is_declared", [True, False])
def test_one_odd_cell_changes_no_other_row(curator: Curator, folder: Path, cell: str, is_declared: bool) -> None:
    odd = f"7,heart,1,{cell},x" if is_declared else f"7,heart,1,n,{cell}"
    write(folder, *whole(ROWS[:100]), odd, *whole(ROWS[100:]))
    curator.add(folder / "clinic.yaml", budget=PureDP(10))
    session = curator.session("clinic")
    assert exact(session, CountRows(), Persons()) == (201, 200)
    assert session.sql(COUNT, epsilon=1)
    session.close()


@pytest.mark.parametrize("cell", [r'"a\"b"', '"a"b', 'a"b', '"a'])
def test_a_row_that_a_lenient_parser_would_join_to_others_is_refused_when_it_is_added(
    curator: Curator, folder: Path, cell: str
) -> None:
    before = copies(curator)
    write(folder, *whole(ROWS[:100]), f"7,heart,1,n,{cell}", *whole(ROWS[100:]))
    with pytest.raises(EngineUnavailable, match=r"visits\.csv, line 102: "):
        curator.add(folder / "clinic.yaml", budget=PureDP(10))
    # What was added before stays as it was.
    assert copies(curator) == before
    session = curator.session("clinic")
    assert exact(session) == (200,)
    session.close()


def test_a_badly_encoded_row_is_refused_whatever_columns_are_asked_for(curator: Curator, folder: Path) -> None:
    (folder / "visits.csv").write_bytes(b"patient,ward,waited,note,secret\n1,heart,1,n,x\n2,heart,1,n,\xe4\n")
    with pytest.raises(EngineUnavailable, match="line 3: bytes that are not UTF-8"):
        curator.add(folder / "clinic.yaml", budget=PureDP(10))


def parquet_schema(folder: Path, **kinds: str) -> Path:
    columns = "".join(f"      {name}: {kind}\n" for name, kind in kinds.items())
    text = f"dataset: odd\nunit: row\ntables:\n  odd:\n    source: odd.parquet\n    columns:\n{columns}"
    (folder / "odd.yaml").write_text(text)
    return folder / "odd.yaml"


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_moments_at_the_ends_of_64_bits_are_null(curator: Curator, folder: Path, kind: str, in_place: bool) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ends = [0, 2**63 - 1, -(2**63), 2**63 - 2, -(2**63) + 1]
    days = [0, 2**31 - 1, -(2**31), 2**31 - 2, -(2**31) + 1]
    table = pyarrow.table(
        {
            "moment": pyarrow.array(ends).cast(pyarrow.timestamp("us")),
            "day": pyarrow.array(days, pyarrow.int32()).cast(pyarrow.date32()),
            "unused": [[1], None, [2], [], [3]],
        }
    )
    parquet.write_table(table, folder / "odd.parquet")
    curator.add(parquet_schema(folder, moment=kind, day=kind), budget=PureDP(1), in_place=in_place)
    session = curator.session("odd")
    scan = Scan(session.dataset.table("odd"))
    for name in ("moment", "day"):
        answer = session._open().aggregate(Aggregation(scan, (Name(name),), (CountRows(),)))
        found = {str(key[0])[:10]: counts[0] for key, counts in zip(answer.keys, answer.measures, strict=True)}
        assert found == {"1970-01-01": 1, "None": 4}
    session.close()


@pytest.mark.parametrize("in_place", [False, True])
def test_what_cannot_be_read_to_its_end_is_refused_with_its_column(
    curator: Curator, folder: Path, in_place: bool
) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    binary = pyarrow.array([b"plain", b"Quist\xff"], pyarrow.binary())
    text = pyarrow.Array.from_buffers(pyarrow.string(), 2, binary.buffers())
    far = pyarrow.array([0, 2**63 - 2]).cast(pyarrow.timestamp("ms"))
    parquet.write_table(pyarrow.table({"n": [1, 2], "text": text, "far": far}), folder / "odd.parquet")
    for name, kind in (("text", "text"), ("far", "timestamp")):
        schema = parquet_schema(folder, n="integer", **{name: kind})
        with pytest.raises(EngineUnavailable, match=rf"column {name} of .*odd\.parquet cannot be read") as caught:
            curator.add(schema, budget=PureDP(1), in_place=in_place)
        assert "Quist" not in repr(caught.value)
        assert caught.value.__context__ is caught.value.__cause__ is None
    curator.add(parquet_schema(folder, n="integer"), budget=PureDP(1), in_place=in_place)


def test_a_number_that_is_none_counts_the_same_whatever_the_others_are(folder: Path) -> None:
    """A file's statistics leave NaN out; they must not decide whether a cell counts as NULL."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from dither.data import Column, CountOf, DataSet, Table
    from dither.privacy import ROW

    table = Table("odd", (Column("x", Kind.INTEGER),), "odd.parquet")
    asked = Aggregation(Scan(table), (), (CountOf(Name("x")),))
    counted = []
    for others in ([1.5], [1.5, 1e30]):
        parquet.write_table(pyarrow.table({"x": [float("nan"), *others]}), folder / "odd.parquet")
        with DuckDBEngine(DataSet("odd", (table,), ROW), folder=folder) as engine:
            counted.append(engine.aggregate(asked).measures[0][0])
    assert counted == [1, 1]


# ------------------------------------------------------------------------------------------- a file that changes


@pytest.mark.usefixtures("from_here")
def test_a_file_that_is_replaced_is_not_read_before_it_is_added_again(curator: Curator, folder: Path) -> None:
    """Columns changed places under an open session: once the privacy id became another column."""
    session = curator.session("clinic")
    assert exact(session, CountRows(), Persons()) == (200, 200)
    rows = "".join(f"heart,1,n,{person % 4}\n" for person in range(200))
    (folder / "visits.csv").write_text("ward,waited,note,patient\n" + rows)
    assert exact(session, CountRows(), Persons()) == (200, 200)
    other = curator.session("clinic")
    assert exact(other, CountRows(), Persons()) == (200, 200)
    curator.add(folder / "clinic.yaml", budget=PureDP(10))
    with pytest.raises(EngineUnavailable, match="open the session again"):
        session.sql(COUNT, epsilon=1)
    assert session.balance().releases == 0
    for opened in (session, other):
        opened.close()
        assert exact(opened, CountRows(), Persons()) == (200, 4)
        opened.close()


def test_an_engine_on_a_csv_file_reads_what_it_opened(folder: Path) -> None:
    from dither.data.files import load_schema

    dataset = load_schema(folder / "clinic.yaml")
    asked = Aggregation(Scan(dataset.table("visits")), (), (CountRows(), Persons()))
    with DuckDBEngine(dataset, folder=folder) as engine:
        assert engine.aggregate(asked).measures == ((200, 200),)
        (folder / "visits.csv").write_text("ward,patient,waited,note\n" + "heart,1,1,n\n" * 50)
        assert engine.aggregate(asked).measures == ((200, 200),)
    with DuckDBEngine(dataset, folder=folder) as engine:
        assert engine.aggregate(asked).measures == ((50, 1),)


@pytest.mark.parametrize("moment", ["before", "during"])
def test_a_copy_that_is_replaced_fails_the_statement(
    session: Session, curator: Curator, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = session._open()
    (copy,) = copies(curator)

    def replace() -> None:
        shutil.copy(copy, copy.with_suffix(".other"))
        copy.with_suffix(".other").replace(copy)

    if moment == "before":
        replace()
    else:
        from dither.data.engines.emitter import Statement

        read = Statement.read

        def replacing(self: Statement, rows: Any) -> Any:
            replace()
            return read(self, rows)

        monkeypatch.setattr(Statement, "read", replacing)
    with pytest.raises(EngineFailure) as caught:
        exact(session)
    assert str(caught.value) == str(EngineFailure())
    with pytest.raises(EngineUnavailable, match="replaced or written to"):
        engine.check()
    with pytest.raises(EngineUnavailable):
        session.sql(COUNT, epsilon=1)
    assert session.balance().releases == 0


def test_a_copy_that_was_restored_from_a_backup_is_read_and_another_is_not(curator: Curator) -> None:
    (copy,) = copies(curator)
    shutil.copy(copy, copy.with_suffix(".other"))
    copy.with_suffix(".other").replace(copy)
    session = curator.session("clinic")
    assert exact(session) == (200,)
    session.close()
    copy.write_bytes(copy.read_bytes()[:-4] + b"XXXX")
    with pytest.raises(EngineUnavailable, match="is not what was added; add it again"):
        session._open()


def test_a_changed_file_is_a_new_edition_under_the_same_budget(curator: Curator, folder: Path) -> None:
    curator.session("clinic").sql(COUNT, epsilon=1)
    before = copies(curator)
    write(folder, *whole(ROWS[:50]))
    curator.add(folder / "clinic.yaml", budget=PureDP(10))
    assert len(copies(curator)) == 1
    assert copies(curator) != before
    session = curator.session("clinic")
    assert exact(session) == (50,)
    assert session.balance().spent == PureDP(1)
    session.close()
    for path in (*copies(curator), curator.folder / "data" / "clinic" / "edition.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((curator.folder / "data" / "clinic").stat().st_mode) == 0o700


def test_a_declaration_that_was_changed_by_hand_needs_its_rows_again(curator: Curator) -> None:
    path = curator.folder / "datasets" / "clinic.yaml"
    path.write_text(path.read_text().replace("waited: {kind: real, bounds: [0, 100]}", "waited: text"))
    session = curator.session("clinic")
    with pytest.raises(EngineUnavailable, match="not imported as it is declared; add it again"):
        session.sql(COUNT, epsilon=1)
    (curator.folder / "data" / "clinic" / "edition.json").write_text("{}")
    with pytest.raises(EngineUnavailable, match="edition of clinic cannot be read; add it again"):
        session.sql(COUNT, epsilon=1)
    (curator.folder / "data" / "clinic" / "edition.json").unlink()
    with pytest.raises(EngineUnavailable, match="add it again"):
        session.sql(COUNT, epsilon=1)
    assert session.balance().releases == 0


# ---------------------------------------------------------------------------------------------- one budget for rows


WAYS = [
    "pattern",
    "hard link",
    "copy",
    "packed name",
    "import",
    "renamed",
    "earlier edition",
    "blank line",
    "line ends",
]


@pytest.mark.parametrize("way", WAYS)
def test_the_same_rows_get_no_second_budget(curator: Curator, folder: Path, way: str) -> None:
    source = {"pattern": "vis*.csv", "import": str(copies(curator)[0])}.get(way, "other.csv")
    if way == "hard link":
        os.link(folder / "visits.csv", folder / "other.csv")
    elif way == "copy":
        shutil.copy(folder / "visits.csv", folder / "other.csv")
    elif way == "blank line":
        (folder / "other.csv").write_bytes((folder / "visits.csv").read_bytes() + b"\n")
    elif way == "line ends":
        (folder / "other.csv").write_bytes((folder / "visits.csv").read_bytes().replace(b"\n", b"\r\n"))
    elif way == "packed name":
        (folder / "deep").mkdir()
        source = "deep/../visit[s].csv"
    elif way == "earlier edition":
        (folder / "visits.csv").rename(folder / "other.csv")
        for size in (50, 60):
            write(folder, *whole(ROWS[:size]))
            curator.add(folder / "clinic.yaml", budget=PureDP(10))
    elif way == "renamed":
        (folder / "visits.csv").rename(folder / "other.csv")
    schema = (folder / "clinic.yaml").read_text().replace("dataset: clinic", "dataset: fresh")
    (folder / "fresh.yaml").write_text(schema.replace("visits.csv", source))
    with pytest.raises(InvalidParameter, match="registered once: it belongs to the data set clinic"):
        curator.add(folder / "fresh.yaml", budget=PureDP(10))
    assert [dataset.name for dataset in curator.datasets()] == ["clinic"]
    assert "fresh" not in curator.ledger.datasets()
    assert not (curator.folder / "data" / "fresh").exists()


def test_a_data_set_without_an_edition_keeps_its_file(curator: Curator, folder: Path) -> None:
    (curator.folder / "data" / "clinic" / "edition.json").unlink()
    schema = (folder / "clinic.yaml").read_text().replace("dataset: clinic", "dataset: fresh")
    (folder / "fresh.yaml").write_text(schema)
    with pytest.raises(InvalidParameter, match="registered once"):
        curator.add(folder / "fresh.yaml", budget=PureDP(10))


# ------------------------------------------------------------------------------------------------ whole or not at all


def test_an_add_that_is_refused_leaves_what_was_there(curator: Curator, folder: Path) -> None:
    before = sorted(path.name for path in (curator.folder / "data" / "clinic").iterdir())
    write(folder, *whole(ROWS[:50]))
    with pytest.raises(InvalidParameter, match="budget"):
        curator.add(folder / "clinic.yaml", budget=PureDP(11))
    assert sorted(path.name for path in (curator.folder / "data" / "clinic").iterdir()) == before
    assert sorted(path.name for path in (curator.folder / "data").iterdir()) == [".lock", "clinic", "marks.jsonl"]
    assert exact(curator.session("clinic")) == (200,)


def test_a_folder_may_be_moved(curator: Curator, folder: Path) -> None:
    curator.close()
    (folder / "home").rename(folder / "elsewhere")
    (folder / "visits.csv").unlink()
    moved = Curator.open(folder / "elsewhere", anchors=folder / "anchors")
    session = moved.session("clinic")
    assert exact(session) == (200,)
    session.close()
    moved.close()


def test_a_folder_may_be_called_anything(folder: Path) -> None:
    curator = Curator.create(folder / "it's [a]* {folder}?", anchors=folder / "anchors")
    curator.add(folder / "clinic.yaml", budget=PureDP(10))
    assert exact(curator.session("clinic")) == (200,)
    curator.close()


def test_rows_may_come_as_frames_alone(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    (folder / "clinic.yaml").write_text((folder / "clinic.yaml").read_text().replace("visits.csv", "frames"))
    curator = Curator.create(folder / "home", anchors=folder / "anchors")
    curator.add(folder / "clinic.yaml", budget=PureDP(10))
    frame = pandas.DataFrame({"patient": [1, 2], "ward": ["heart"] * 2, "waited": [1.0, 2.0], "note": ["a", "b"]})
    session = curator.session("clinic", frames={"visits": frame})
    assert exact(session) == (2,)
    session.close()
    with pytest.raises(EngineUnavailable, match="given as frames"):
        curator.session("clinic").sql(COUNT, epsilon=1)
    curator.close()


# ----------------------------------------------------------------------------------------------- marks of rows


def mark(curator: Curator, name: str, **known: Any) -> str:
    dataset = curator.dataset(name)
    return mark_of_rows(curator.folder, dataset, as_read(curator.folder, dataset), **known)


def test_a_mark_is_another_one_where_other_rows_may_count(
    curator: Curator, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = mark(curator, "clinic")
    assert mark(curator, "clinic") == before
    assert mark(curator, "clinic", number=1) != mark(curator, "clinic", number=2)
    with monkeypatch.context() as patch:
        # Another release may choose other rows of a person.
        patch.setattr("duckdb.__version__", "another")
        assert mark(curator, "clinic") != before
    with monkeypatch.context() as patch:
        patch.setattr("dither.data.engines.protocol.CHOICE", 2)
        assert mark(curator, "clinic") != before
    assert mark(curator, "clinic") == before


def test_the_same_file_read_in_place_has_another_mark_once_others_were_there(curator: Curator, folder: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    schema = parquet_schema(folder, v="integer")
    first, second = folder / "odd.parquet", folder / "other"
    parquet.write_table(pyarrow.table({"v": [1, 2]}), first)
    curator.add(schema, budget=PureDP(1), in_place=True)
    before = mark(curator, "odd")
    first.rename(second)
    parquet.write_table(pyarrow.table({"v": [1, 3]}), first)
    curator.add(schema, budget=PureDP(1), in_place=True)
    second.rename(first)
    curator.add(schema, budget=PureDP(1), in_place=True)
    assert mark(curator, "odd") != before


def test_rows_in_no_files_have_no_mark(curator: Curator) -> None:
    """An address or a table of a catalogue, as Spark reads them, may hold other rows at any time."""
    edition = current(curator.folder, "clinic")
    assert edition is not None
    elsewhere = {"visits": TableEdition(places=("file:///somewhere",))}
    path = curator.folder / "data" / "clinic" / "edition.json"
    path.write_text(replace(edition, tables=elsewhere).to_json())
    with pytest.raises(Unanswerable, match="rows of visits are in no files"):
        mark(curator, "clinic")


def test_another_release_of_the_engine_ends_an_account_of_parts(
    curator: Curator, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    wards = session.table("visits").partition("ward", {"first": ["heart"], "rest": ["skin"]}, groups=1)
    with session.parts("wards", wards, epsilon=1) as account:
        account.ask("first", lambda rows: rows.count(), epsilon="1/2")
    monkeypatch.setattr("duckdb.__version__", "another")
    with session.parts("wards") as account, pytest.raises(StreamUnavailable):
        account.ask("rest", lambda rows: rows.count(), epsilon="1/2")
    assert session.balance().releases == 2
