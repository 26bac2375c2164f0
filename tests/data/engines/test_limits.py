"""Resources are public: time limits, spill folders, texts cut at a declared length, joins of bounded rows."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dither.data import (
    Aggregation,
    Bounded,
    Call,
    Column,
    CountRows,
    DataSet,
    JoinPersons,
    Kind,
    Limits,
    Literal,
    Name,
    Relation,
    Scan,
    Sum,
    Table,
)
from dither.data.engines import deadline, spill
from dither.data.joins import joined
from dither.data.patterns import matches
from dither.data.reference import aggregate
from dither.data.schema import person_unit
from dither.errors import EngineFailure, EngineUnavailable, InvalidParameter
from dither.privacy import ROW

# Time.

VISITS = Table("visits", (Column("id", Kind.INTEGER), Column("cost", Kind.INTEGER)), "visits.csv", person="id")
LONG = DataSet("clinic", (VISITS,), person_unit("id"), rows=5, rows_per_join=4096)
#: Of each person 4,096 times 4,096 pairs are compared.
MANY = {"visits": [{"id": number % 16, "cost": number} for number in range(16 * 4096)]}


def pairs(rows: int) -> Aggregation:
    """Return an aggregation over all pairs of each person's rows, with a condition that is not met."""
    left, right = (Bounded(Scan(VISITS), (), Limits(rows=rows), ("id", "cost")) for _ in range(2))
    product = Call("multiply", (Name("cost"), Name("o_cost")))
    return Aggregation(
        JoinPersons(left, right, Call("less", (product, Literal(-1, Kind.INTEGER))), False, "o_"), (), (CountRows(),)
    )


def test_a_statement_that_meets_the_time_limit_fails_as_any_other_and_the_next_one_is_answered(
    factories: dict[str, Any], engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PostgreSQL also looks its tables up within the limit.
    check_time_limit(factories[engine_name], monkeypatch, 0.5 if engine_name == "postgresql" else 0.05)


def check_time_limit(factory: Any, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Ask for what takes many times as long on any machine: sixteen times 2^24 pairs."""
    monkeypatch.setattr(DataSet, "seconds", seconds)
    with factory(LONG, MANY) as engine:
        failure = EngineFailure()
        with pytest.raises(EngineFailure) as met:
            engine.aggregate(pairs(4096))
        assert (str(met.value), met.value.__cause__, met.value.__context__) == (str(failure), None, None)
        monkeypatch.setattr(DataSet, "seconds", 3600)
        engine.close()  # PostgreSQL's limit is a setting of the connection
        assert engine.aggregate(pairs(2)).measures == ((0,),)


def test_a_person_with_thousands_of_rows_joins_eight_tables_in_no_time(
    factories: dict[str, Any], engine_name: str
) -> None:
    """Eight tables of two thousand rows of one person each would be 2,000^8 rows."""
    dataset = dataclasses.replace(LONG, rows_per_join=3)
    asked: Relation = Scan(VISITS)
    for number in range(7):
        asked = joined(dataset, asked, Scan(VISITS), None, False, f"o{number}_")
    rows = {"visits": [{"id": 1, "cost": cost} for cost in range(2000)] + [{"id": 2, "cost": 7}]}
    whole = Aggregation(asked, (Name("id"),), (CountRows(), Sum(Name("o6_cost"))))
    meant = aggregate(whole, rows)
    with factories[engine_name](dataset, rows, portable=True) as engine:
        found = engine.aggregate(whole)
    assert dict(zip(found.keys, found.measures, strict=True)) == dict(zip(meant.keys, meant.measures, strict=True))
    assert [count for count, _ in meant.measures] == [9, 1]


def test_no_interruption_is_under_way_once_the_statement_has_ended() -> None:
    """The watcher has ended before the next statement begins, however late it wakes up."""
    for _ in range(50):
        calls: list[int] = []
        with deadline.time_limit(0, lambda calls=calls: calls.append(1)):
            pass
        many = len(calls)
        assert not [thread for thread in threading.enumerate() if thread.name == "dither time limit"]
        assert len(calls) == many


def test_what_runs_on_is_interrupted_until_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "_AGAIN_SECONDS", 0)
    third, count = threading.Event(), iter(range(1, 10**9))

    def interrupt() -> None:
        if next(count) == 3:
            third.set()
        raise RuntimeError("nothing to interrupt")

    with deadline.time_limit(0, interrupt):
        assert third.wait(60)


@pytest.mark.parametrize("limit", [0, -5, 1.5, 10**9, True])
def test_a_time_limit_is_a_whole_number_of_seconds(limit: Any) -> None:
    with pytest.raises(InvalidParameter, match="time_limit"):
        dataclasses.replace(LONG, time_limit=limit)


def test_postgresql_keeps_the_shorter_of_the_roles_limit_and_the_data_sets(factories: dict[str, Any]) -> None:
    with factories["postgresql"](dataclasses.replace(LONG, time_limit=77), {"visits": []}) as engine:
        engine.check()
        assert engine._setting("statement_timeout") == "77s"
        url = engine.dataset.engine
        url += ("&" if "?" in url else "?") + "options=-c%20statement_timeout%3D5000"
        engine.close()
        engine.dataset = dataclasses.replace(engine.dataset, engine=url)
        engine.check()
        assert engine._setting("statement_timeout") == "5s"


# Spill folders.

_OWNER = """
import sys, time
from dither.data.engines.spill import SpillFolder
folder = SpillFolder()
(folder.path / "rows").write_text("private")
print(folder.path, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def owner() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Give another process that has a folder, and its folder."""
    with subprocess.Popen(
        [sys.executable, "-c", _OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_the_folder_of_a_killed_process_is_swept_and_that_of_a_living_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with owner() as (living, kept), owner() as (killed, left):
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert (left / "rows").exists()
        mine = spill.SpillFolder()
        assert not left.exists()
        assert (kept / "rows").exists()
        assert {kept, mine.path} == set((tmp_path / f"dither-{os.getuid()}").iterdir())
        assert (kept.parent.stat().st_mode & 0o777, mine.path.stat().st_mode & 0o777) == (0o700, 0o700)
        living.send_signal(signal.SIGKILL)
        living.wait()
        mine.close()
        another = spill.SpillFolder()
        assert [another.path] == list((tmp_path / f"dither-{os.getuid()}").iterdir())
        another.close()


FORKED = """
import os
import sys

from dither.data.engines.spill import SpillFolder

folder = SpillFolder()
child = os.fork()
if not child:
    folder.close()
    sys.exit()
os.waitpid(child, 0)
print(folder.path.exists())
folder.close()
print(folder.path.exists())
"""


def test_a_forked_child_leaves_the_folder_of_its_parent(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", FORKED], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("kind", ["open", "link", "file"])
def test_a_home_that_others_could_read_is_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = tmp_path / f"dither-{os.getuid()}"
    if kind == "open":
        home.mkdir()
        home.chmod(0o755)
    elif kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        home.symlink_to(tmp_path / "elsewhere")
    else:
        home.write_text("")
    with pytest.raises(EngineUnavailable, match="private folder"):
        spill.SpillFolder()


# Texts.

PUBLIC = Table(
    "regions",
    (Column("code", Kind.TEXT, length=2), Column("title", Kind.TEXT)),
    "regions.csv",
    is_public=True,
    key=("code",),
)
NOTES = Table(
    "notes",
    (Column("id", Kind.TEXT, length=4), Column("short", Kind.TEXT, length=3), Column("usual", Kind.TEXT)),
    "notes.csv",
    person="id",
)
TEXTS = DataSet("texts", (NOTES, PUBLIC), person_unit("id"), rows=5)
#: Characters of one to four bytes, of two code units in Java, and combining marks: each is one code point.
ODD = ["", "abc", "abcd", "🙂🙂🙂🙂", "e\u0301e\u0301", "\U0010ffff" * 4, "日本語です", "a\nb\nc", None]
ROWS = {
    "notes": [
        {"id": person, "short": text, "usual": None if text is None else text * 400}
        for person in ("a", "abcd", "abcde", "abcdf", "🙂🙂🙂🙂", "🙂🙂🙂🙂🙂", None)
        for text in ODD
    ],
    "regions": [{"code": "abc", "title": "x"}, {"code": "abd", "title": "y"}],
}


def test_texts_are_cut_at_code_points_and_longer_privacy_ids_are_none(
    factories: dict[str, Any], engine_name: str
) -> None:
    check_texts(factories[engine_name])


def check_texts(factory: Any) -> None:
    """Compare texts at and beyond their declared length with the reference."""
    keys = (
        Name("id"),
        Name("short"),
        Call("length", (Name("usual"),)),
        Call("substring", (Name("usual"), one(1020), one(9))),
    )
    asked = Aggregation(Scan(NOTES), keys, (CountRows(),))
    meant = aggregate(asked, ROWS)
    with factory(TEXTS, ROWS, portable=True) as engine:
        found = engine.aggregate(asked)
    assert dict(zip(found.keys, found.measures, strict=True)) == dict(zip(meant.keys, meant.measures, strict=True))
    assert {key[0] for key in found.keys} == {"a", "abcd", "🙂🙂🙂🙂"}
    assert max(len(key[1] or "") for key in found.keys) == 3
    assert max(key[2] or 0 for key in found.keys) == 1024


def one(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


def test_a_cell_of_a_million_letters_makes_no_query_fail(factories: dict[str, Any], engine_name: str) -> None:
    """Ten times as long it would not fit into a row; cut on entry it does, and the rule is public."""
    letters = Table("letters", (Column("text", Kind.TEXT),), "letters.csv")
    rows = {"letters": [{"text": "x" * 1_200_000}, {"text": "y"}]}
    grown = Call("replace", (Name("text"), Literal("x", Kind.TEXT), Literal("x" * 10, Kind.TEXT)))
    asked = Aggregation(Scan(letters), (), (Sum(Call("length", (grown,))),))
    with factories[engine_name](DataSet("long", (letters,), ROW), rows) as engine:
        assert engine.aggregate(asked).measures == ((1024 * 10 + 1,),)
        longer = Call("replace", (grown, Literal("x", Kind.TEXT), Literal("x" * 13, Kind.TEXT)))
        with pytest.raises(InvalidParameter, match="131,072 characters"):
            engine.prepare(Aggregation(Scan(letters), (Call("length", (longer,)),), (CountRows(),)))
        doubled = Call("concatenate", (grown, grown))
        with pytest.raises(InvalidParameter, match="limited to 81,920 bytes"):
            engine.prepare(Aggregation(Scan(letters), (doubled,), (CountRows(),)))
        cut = Call("substring", (grown, one(1), one(500)))
        engine.prepare(Aggregation(Scan(letters), (Call("concatenate", (cut, Name("text"))),), (CountRows(),)))


# Patterns.

#: Few letters, so that patterns often fit: of one to four bytes, a line break, and all that patterns make special.
LETTERS = ["a", "b", "\n", "🙂", "\u0301", ".", "%", "_", "\\", "("]
SIGNS = ["a", "b", "%", "%", "_", "\\%", "\\_", "\\\\", "\\a", "\n", "🙂", "\u0301", ".", "("]


def test_random_patterns_mean_the_same(factories: dict[str, Any], engine_name: str) -> None:
    check_patterns(factories[engine_name], 4)


def check_patterns(factory: Any, examples: int) -> None:
    """Compare random patterns over random texts with their meaning, many in a statement."""
    table = Table("words", (Column("row", Kind.INTEGER), Column("text", Kind.TEXT)), "words.csv")
    words = st.lists(st.lists(st.sampled_from(LETTERS), max_size=8).map("".join), min_size=40, max_size=60)
    patterns = st.lists(st.lists(st.sampled_from(SIGNS), max_size=7).map("".join), min_size=40, max_size=40)

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(words, patterns)
    def check(texts: list[str], asked: list[str]) -> None:
        rows = [{"row": row, "text": text} for row, text in enumerate(texts)]
        tests = tuple(Call("like", (Name("text"), Literal(pattern, Kind.TEXT))) for pattern in asked)
        with factory(DataSet("words", (table,), ROW), {"words": rows}) as engine:
            answer = engine.aggregate(Aggregation(Scan(table), (Name("row"), *tests), (CountRows(),)))
        found = {key[0]: key[1:] for key in answer.keys}
        assert found == {row: tuple(matches(text, pattern) for pattern in asked) for row, text in enumerate(texts)}

    check()


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        ({"kind": Kind.INTEGER, "length": 5}, "absent for a integer"),
        ({"kind": Kind.TEXT, "length": 0}, "at least 1"),
        ({"kind": Kind.TEXT, "length": 10**6}, "at most 65536"),
        ({"kind": Kind.TEXT, "length": 3, "categories": ("abc", "abcd")}, "at most 3 characters"),
        ({"kind": Kind.TEXT, "categories": ("x" * 1025,)}, "at most 1024 characters"),
    ],
)
def test_a_length_fits_its_column(column: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidParameter, match=rule):
        Column("c", **column)
