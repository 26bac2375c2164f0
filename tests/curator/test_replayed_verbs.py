"""The verbs of a session, replayed over files: with frozen draws a neighbour's file gives the same answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.privacy import PureDP
from dither.publish.workloads import Workload
from dither.testing.doors import replay_call

SCHEMA = """\
dataset: clinic
unit: person
contribution: {rows: 2, groups: 2, rows per group: 2}
tables:
  visits:
    source: visits.csv
    privacy id: patient
    columns:
      patient: integer
      ward: {kind: text, categories: [heart, skin]}
      waited: {kind: real, bounds: [0, 100]}
      note: text
"""
HEAD = "patient,ward,waited,note\n"
ROWS = [f"{person},{'heart' if person % 3 else 'skin'},{person % 50},n{person % 4}" for person in range(40)]
#: One person more, with many rows of cells as odd as a file may hold.
ODD = ["99,heart,1e308,", "99,skin,-1e308,nan", "99,,,", '99,"x, y",NaN,"n ""1"""', "99,heart,inf,n1", "99,heart,5,n1"]

VERBS: dict[str, Callable[[Session], Any]] = {
    "sql": lambda session: session.sql(
        "SELECT ward, COUNT(*) AS n, SUM(waited) AS total, AVG(waited) AS mean FROM visits GROUP BY ward", epsilon=1
    ),
    "a condition": lambda session: session.sql("SELECT COUNT(*) AS n FROM visits WHERE note = 'n1'", epsilon=1),
    "histogram": lambda session: session.histogram("visits", "waited", 4, epsilon=1),
    "a method that looks": lambda session: session.histogram("visits", "waited", 16, epsilon=1, method="dawa"),
    "workload": lambda session: session.workload("visits", "waited", Workload.prefixes(4), 4, epsilon=1),
    "marginals": lambda session: session.marginals("visits", [("ward",), ("waited", "ward")], {"waited": 2}, epsilon=1),
}
#: One person more, and one fewer.
NEIGHBOURS = [(ROWS, [*ROWS, *ODD]), ([*ODD, *ROWS], ROWS)]


def asking(verb: Callable[[Session], Any], folder: Path, *, as_parquet: bool = False) -> Callable[[list[str]], Any]:
    """Return what an analyst is told by a verb about a file with these rows; each time in a folder of its own."""
    folders = (folder / str(number) for number in itertools.count())

    def asked(rows: list[str]) -> Any:
        home = next(folders)
        home.mkdir()
        text, schema = HEAD + "\n".join(rows) + "\n", SCHEMA
        (home / "visits.csv").write_text(text)
        if as_parquet:
            schema = schema.replace("visits.csv", "visits.parquet")
            pandas = pytest.importorskip("pandas")
            pytest.importorskip("pyarrow")
            pandas.read_csv(home / "visits.csv").to_parquet(home / "visits.parquet")
        (home / "clinic.yaml").write_text(schema)
        curator = Curator.create(home / "home", anchors=home / "anchors")
        curator.add(home / "clinic.yaml", budget=PureDP(10))
        session = curator.session("clinic", analyst="ana")
        try:
            found = verb(session)
            answers = list(found.values()) if isinstance(found, dict) else [found]
            # Receipts have times and numbers of their own; all else is what the analyst is told.
            told = [(one.names, one.rows, [one.interval(name) for name in one.names], one.notes) for one in answers]
            return told, session.balance().spent
        finally:
            session.close()
            curator.close()

    return asked


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_tells_a_file_from_its_neighbour_through_its_draws_alone(verb: str, tmp_path: Path) -> None:
    call = asking(VERBS[verb], tmp_path)
    for here, there in NEIGHBOURS:
        assert replay_call(call, here, there) == []


def test_a_verb_tells_a_parquet_file_from_its_neighbour_through_its_draws_alone(tmp_path: Path) -> None:
    call = asking(VERBS["sql"], tmp_path, as_parquet=True)
    for here, there in NEIGHBOURS:
        assert replay_call(call, here, there) == []


def test_a_verb_that_looks_beside_its_draws_is_seen(tmp_path: Path) -> None:
    """The twin: the number of rows is told with the answer."""
    call = asking(VERBS["a condition"], tmp_path)
    found = replay_call(lambda rows: (call(rows), len(rows)), ROWS, [*ROWS, *ODD])
    assert [one.rule for one in found] == ["the output depends on data outside its draws"]
