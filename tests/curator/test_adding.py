"""Adding a data set that dies at any step, and what stays known of its rows."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dither.curator import adding, marks
from dither.curator.folder import Curator
from dither.data import Aggregation, Column, CountRows, DataSet, Kind, Scan, Table
from dither.data.importing.conversion import keep_on_disk
from dither.errors import EngineUnavailable, InvalidParameter, NotFound
from dither.privacy import ROW, ROW_REPLACED, PureDP


def table_of(place: Path, rows: int, name: str = "few.csv") -> Path:
    place.mkdir(exist_ok=True)
    (place / name).write_text("\n".join(["n", *map(str, range(rows)), ""]))
    return place / name


def declared(file: Path, name: str = "few", kind: Kind = Kind.INTEGER) -> DataSet:
    return DataSet(name, (Table("t", (Column("n", kind),), source=str(file)),), ROW)


def fresh(place: Path) -> Curator:
    return Curator.create(place / "home", anchors=place / "anchors")


def counted(curator: Curator, name: str = "few") -> int:
    session = curator.session(name)
    asked = Aggregation(Scan(session.dataset.table("t")), (), (CountRows(),))
    found = session._open().aggregate(asked).measures[0][0]
    session.close()
    return int(found)


def killed(patch: pytest.MonkeyPatch, curator: Curator, step: int) -> Callable[[], bool]:
    """Kill an add before a step: from then on it neither writes nor removes. Return what tells whether it was."""
    done = [0]

    def before(real: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*given: Any, **named: Any) -> Any:
            if done[0] >= step:
                raise KeyboardInterrupt
            done[0] += 1
            return real(*given, **named)

        return stepping

    patch.setattr(os, "replace", before(os.replace))
    patch.setattr(Path, "unlink", before(Path.unlink))
    patch.setattr("dither.curator.adding.keep_on_disk", before(keep_on_disk))
    patch.setattr("dither.curator.folder.remember", before(marks.remember))
    patch.setattr(curator.ledger, "register", before(curator.ledger.register))
    patch.setattr(curator.ledger, "begin_edition", before(curator.ledger.begin_edition))
    remove = shutil.rmtree
    patch.setattr(shutil, "rmtree", lambda *given, **named: None if done[0] >= step else remove(*given, **named))
    return lambda: done[0] >= step


def test_wherever_an_add_is_killed_the_data_set_is_there_or_its_name_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, outcomes = table_of(tmp_path, 3), list[bool]()
    while True:
        place = tmp_path / str(len(outcomes))
        curator = fresh(place)
        with monkeypatch.context() as patch:
            was_killed = killed(patch, curator, len(outcomes))
            try:
                curator.add(declared(file), budget=PureDP(100))
                is_over = not was_killed()
            except KeyboardInterrupt:
                is_over = False
        curator.close()
        curator = Curator.open(place / "home", anchors=place / "anchors")
        is_there = "few" in curator.ledger.datasets()
        assert [dataset.name for dataset in curator.datasets()] == ["few"] * is_there
        if is_there:
            assert (counted(curator), curator.ledger.balance("few").budget) == (3, PureDP(100))
        else:
            # The rows may go under any name, and the name to any rows and budget.
            curator.add(declared(file, "other"), budget=PureDP(2))
            curator.add(declared(table_of(tmp_path, 7, "more.csv")), budget=PureDP(1))
            assert (counted(curator), curator.ledger.balance("few").budget) == (7, PureDP(1))
            left = {path.name for path in (place / "home" / "data").iterdir()}
            assert left == {".lock", "few", "marks.jsonl", "other"}
        curator.close()
        outcomes.append(is_there)
        if is_over:
            break
    # Not there, then there: one step decides.
    assert outcomes == sorted(outcomes)
    assert outcomes[0] is False
    assert outcomes[-2:] == [True, True]


def test_wherever_adding_again_is_killed_it_can_be_done_again_with_the_same_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after, step, is_over = table_of(tmp_path, 3), table_of(tmp_path, 7, "more.csv"), 0, False
    while not is_over:
        place = tmp_path / str(step)
        curator = fresh(place)
        curator.add(declared(before), budget=PureDP(5))
        with monkeypatch.context() as patch:
            was_killed = killed(patch, curator, step)
            try:
                curator.add(declared(after), budget=PureDP(5))
                is_over = not was_killed()
            except KeyboardInterrupt:
                is_over = False
        try:
            assert counted(curator) in (3, 7)
        except EngineUnavailable as refusal:
            assert "add it again" in str(refusal)  # noqa: PT017 - either outcome is right
        # What was answered about stays known, whatever became of its edition.
        copy = shutil.copy(before, place / "copy.csv")
        with pytest.raises(InvalidParameter, match="registered once"):
            curator.add(declared(Path(copy), "other"), budget=PureDP(1))
        curator.add(declared(after), budget=PureDP(5))
        assert counted(curator) == 7
        assert len(list((curator.folder / "data" / "few").glob("*.parquet"))) == 1
        curator.close()
        step += 1
    assert step > 5


@pytest.mark.parametrize("is_same_unit", [True, False])
def test_a_name_that_another_folder_registered_shows_only_a_data_set_of_its_unit(
    tmp_path: Path, is_same_unit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = table_of(tmp_path, 3), fresh(tmp_path / "other")
    shared = str(other.folder / "ledger.sqlite")
    curator = Curator.create(tmp_path / "c" / "home", ledger=shared, anchors=tmp_path / "other" / "anchors")

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(curator.ledger, "register", die)
        patch.setattr("dither.curator.folder.forget", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            curator.add(declared(file), budget=PureDP(1))
    assert adding.waiting_schema(curator.folder, "few") is not None
    other.ledger.register("few", budget=PureDP(1), unit=str(ROW if is_same_unit else ROW_REPLACED))
    assert [dataset.name for dataset in curator.datasets()] == ["few"] * is_same_unit
    curator.close()
    other.close()


def test_an_add_that_fails_to_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curator, file = fresh(tmp_path / "c"), table_of(tmp_path, 3)

    def full(*_: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(adding.Draft, "keep", full)
        with pytest.raises(EngineUnavailable, match="cannot be written to"):
            curator.add(declared(file), budget=PureDP(100))
    assert (curator.datasets(), curator.ledger.datasets()) == ((), ())
    with pytest.raises(NotFound):
        curator.dataset("few")
    curator.add(declared(file), budget=PureDP(1))
    assert counted(curator) == 3
    curator.close()


# ----------------------------------------------------------------------------------------------- what stays known


def test_a_schema_that_could_not_be_read_again_is_refused_and_hides_no_other(tmp_path: Path) -> None:
    curator = fresh(tmp_path)
    curator.add(declared(table_of(tmp_path, 3)), budget=PureDP(1))
    # The name of a file is bytes, and these are no UTF-8.
    table_of(tmp_path, 4, os.fsdecode(b"\xff.csv"))
    with pytest.raises(InvalidParameter, match="not UTF-8"):
        curator.add(declared(tmp_path / os.fsdecode(b"\xff.csv"), "odd"), budget=PureDP(1))
    assert [dataset.name for dataset in curator.datasets()] == ["few"]
    assert counted(curator) == 3
    curator.close()


@pytest.mark.parametrize("harm", ["damaged", "gone", "empty", "another record"])
@pytest.mark.parametrize("is_added_again", [False, True])
def test_rows_stay_known_when_their_edition_is_lost(tmp_path: Path, harm: str, is_added_again: bool) -> None:
    curator, file = fresh(tmp_path / "c"), table_of(tmp_path, 3)
    curator.add(declared(file), budget=PureDP(1))
    edition = curator.folder / "data" / "few" / "edition.json"
    if harm == "gone":
        edition.unlink()
    else:
        edition.write_text({"damaged": "{", "empty": ""}.get(harm, "{}"))
    if is_added_again:
        curator.add(declared(table_of(tmp_path, 7, "more.csv")), budget=PureDP(1))
    copy = Path(shutil.copy(file, tmp_path / "copy.csv"))
    with pytest.raises(InvalidParameter, match="it belongs to the data set few"):
        curator.add(declared(copy, "other"), budget=PureDP(1))
    curator.close()


def test_rows_stay_known_when_their_schema_is_removed(tmp_path: Path) -> None:
    curator, file = fresh(tmp_path / "c"), table_of(tmp_path, 3)
    curator.add(declared(file), budget=PureDP(1))
    (curator.folder / "datasets" / "few.yaml").unlink()
    shutil.rmtree(curator.folder / "data" / "few")
    with pytest.raises(InvalidParameter, match="it belongs to the data set few"):
        curator.add(declared(file, "other"), budget=PureDP(1))
    curator.close()


def test_a_damaged_edition_is_refused_where_only_it_knew_the_rows(tmp_path: Path) -> None:
    curator, file = fresh(tmp_path / "c"), table_of(tmp_path, 3)
    curator.add(declared(file), budget=PureDP(1))
    kept = curator.folder / "data" / "marks.jsonl"
    edition = curator.folder / "data" / "few" / "edition.json"
    whole = edition.read_text()
    kept.unlink()  # as in a folder that was made before this file was kept
    edition.write_text("{")
    for name in ("few", "other"):
        with pytest.raises(
            EngineUnavailable, match=r"edition\.json cannot be read, and only it says which rows few had"
        ):
            curator.add(declared(table_of(tmp_path, 7, "more.csv"), name), budget=PureDP(1))
    edition.write_text(whole)
    curator.add(declared(table_of(tmp_path, 7, "more.csv"), "other"), budget=PureDP(1))
    # Whoever adds anything writes down what was not yet.
    assert set(marks.remembered(curator.folder)) == {"few", "other"}
    curator.close()


def test_what_is_known_is_refused_when_it_is_damaged_and_mended_when_it_is_torn(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    marks.remember(tmp_path, "a", {"bytes 1"}, is_first=True)
    marks.remember(tmp_path, "a", {"bytes 2"}, is_first=False)
    path = tmp_path / "data" / "marks.jsonl"
    assert path.stat().st_mode & 0o077 == 0
    whole = path.read_bytes()
    for size in range(len(whole.splitlines(keepends=True)[0]), len(whole)):
        path.write_bytes(whole[:size])
        assert marks.remembered(tmp_path) == {"a": {"bytes 1"}}
        marks.remember(tmp_path, "a", {"bytes 3"}, is_first=False)
        assert marks.remembered(tmp_path) == {"a": {"bytes 1", "bytes 3"}}
    marks.remember(tmp_path, "a", {"bytes 4"}, is_first=True)
    assert marks.remembered(tmp_path) == {"a": {"bytes 4"}}
    for bad in (b"{\n", b"[]\n", b"\xff\n", b"\n", json.dumps({"dataset": "a"}).encode() + b"\n"):
        path.write_bytes(bad + whole)
        with pytest.raises(EngineUnavailable, match=r"marks\.jsonl is damaged in line 1"):
            marks.remembered(tmp_path)


def with_public(name: str, private: Path, public: Path) -> DataSet:
    """A private table, and a public one that can be joined to it by key."""
    known = Table("known", (Column("n", Kind.INTEGER),), source=str(public), is_public=True, key=("n",))
    return DataSet(name, (Table("t", (Column("n", Kind.INTEGER),), source=str(private)), known), ROW)


@pytest.mark.parametrize("way", ["path", "copy", "earlier edition"])
@pytest.mark.parametrize("name", ["few", "other"])
def test_private_rows_are_never_declared_public(tmp_path: Path, name: str, way: str) -> None:
    """A join with a public table is exact: rows with a budget would be told for nothing."""
    curator, file, new = fresh(tmp_path / "c"), table_of(tmp_path, 3), table_of(tmp_path, 7, "new.csv")
    curator.add(declared(file), budget=PureDP(1))
    if way == "copy":
        file = file.rename(tmp_path / "moved.csv")
    elif way == "earlier edition":
        curator.add(declared(table_of(tmp_path, 5, "second.csv")), budget=PureDP(1))
        file = file.rename(tmp_path / "moved.csv")
    with pytest.raises(InvalidParameter, match="public: it belongs to the data set few"):
        curator.add(with_public(name, new, file), budget=PureDP(1))
    assert curator.ledger.datasets() == ("few",)
    curator.close()


def test_a_file_is_not_private_and_public_at_once(tmp_path: Path) -> None:
    curator, file = fresh(tmp_path / "c"), table_of(tmp_path, 3)
    with pytest.raises(InvalidParameter, match="public: it belongs to the data set both"):
        curator.add(with_public("both", file, file), budget=PureDP(1))
    assert curator.ledger.datasets() == ()
    curator.close()


def test_public_rows_are_shared_and_may_become_private(tmp_path: Path) -> None:
    curator, shared = fresh(tmp_path / "c"), table_of(tmp_path, 3)
    first, second = table_of(tmp_path, 5, "first.csv"), table_of(tmp_path, 7, "second.csv")
    curator.add(with_public("one", first, shared), budget=PureDP(1))
    curator.add(with_public("two", second, shared), budget=PureDP(1))
    curator.add(with_public("one", first, shared), budget=PureDP(1))
    curator.add(declared(shared, "three"), budget=PureDP(1))
    assert counted(curator, "three") == 3
    # From then on they have a budget, and nobody declares them public anew.
    with pytest.raises(InvalidParameter, match="belongs to the data set three"):
        curator.add(with_public("two", second, shared), budget=PureDP(1))
    curator.close()
