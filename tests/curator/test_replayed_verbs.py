"""The verbs of a session, replayed over files and frames: with frozen draws a neighbour's rows give the same answer."""

from __future__ import annotations

import io
import itertools
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.privacy import PureDP
from dither.publish.workloads import Workload
from dither.testing.doors import replay_call

pytestmark = pytest.mark.skipif(
    sys.gettrace() is not None, reason="a tracer runs, and every thread of a run tells of it"
)
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
      stayed: {kind: integer, bounds: [0, 3]}
      note: text
"""
HEAD = "patient,ward,waited,stayed,note\n"
ROWS = [
    f"{person},{'heart' if person % 3 else 'skin'},{person % 50},{person % 4},n{person % 4}" for person in range(40)
]
#: One person more, with many rows of cells as odd as a file may hold.
ODD = [
    *("99,heart,1e308,9,", "99,skin,-1e308,,nan", "99,,,,", '99,"x, y",NaN,-7,"n ""1"""', "99,heart,inf,2,n1"),
    "99,heart,5,1,n1",
]

VERBS: dict[str, Callable[[Session], Any]] = {
    "sql": lambda session: session.sql(
        "SELECT ward, COUNT(*) AS n, SUM(waited) AS total, AVG(waited) AS mean FROM visits GROUP BY ward", epsilon=1
    ),
    "a condition": lambda session: session.sql("SELECT COUNT(*) AS n FROM visits WHERE note = 'n1'", epsilon=1),
    "histogram": lambda session: session.histogram("visits", "waited", 4, epsilon=1),
    "a method that looks": lambda session: session.histogram("visits", "waited", 16, epsilon=1, method="dawa"),
    "workload": lambda session: session.workload("visits", "waited", Workload.prefixes(4), 4, epsilon=1),
    "bounds": lambda session: session.bounds("visits", "waited", epsilon=1),
    "limits": lambda session: session.limits("visits", epsilon=1),
    "marginals": lambda session: session.marginals("visits", [("ward",), ("waited", "ward")], {"waited": 2}, epsilon=1),
}


def learned(session: Session, name: str = "LogisticRegression", target: str = "ward", **options: Any) -> Any:
    """Return all that hangs on a fitted model."""
    pytest.importorskip("sklearn")
    import dither.learn

    estimator = getattr(dither.learn, name)(epsilon=1, **options)
    fitted = session.fit(estimator, "visits", target=target, features=["waited" if target == "ward" else "stayed"])
    fitted.privacy_ = replace(fitted.privacy_, receipt="")
    return vars(fitted)


def unreceipted(table: Any) -> Any:
    """Return a released table, and rows of it where they follow from it alone."""
    return replace(table, receipt="")


@pytest.fixture(autouse=True)
def spilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have engines spill where files may be written."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


#: Verbs that release objects, each with the number of rows of one person that its mechanism counts.
OBJECTS: dict[str, tuple[Callable[[Session], Any], int]] = {
    "fit": (learned, 2),
    "fit by counts": (lambda session: learned(session, "GaussianNB"), 2),
    "fit a regression": (lambda session: learned(session, "LinearRegression", "waited"), 2),
    "synthesize": (lambda session: unreceipted(session.synthesize("visits", ["ward", "waited"], epsilon=1)), 1),
    "synthesize by a choice": (
        lambda session: unreceipted(
            session.synthesize("visits", ["ward", "waited", "stayed"], epsilon=1, method="mst", bins={"waited": 3})
        ),
        1,
    ),
    "anonymize": (
        lambda session: unreceipted(
            session.anonymize("visits", ["ward", "waited"], epsilon=1, terms={"waited": ["short", "long"]})
        ),
        1,
    ),
    "anonymize by steps": (
        lambda session: unreceipted(
            session.anonymize("visits", ["ward", "waited"], epsilon=1, method="diffgen", target="ward", steps=2)
        ),
        1,
    ),
}
#: One person more, and one fewer.
NEIGHBOURS = [(ROWS, [*ROWS, *ODD]), ([*ODD, *ROWS], ROWS)]


def told(found: Any) -> Any:
    """Return what an analyst is told; receipts have times and numbers of their own."""
    if not isinstance(found, dict) and not hasattr(found, "rows"):
        return replace(found, receipt="")
    answers = list(found.values()) if isinstance(found, dict) else [found]
    return [(one.names, one.rows, [one.interval(name) for name in one.names], one.notes) for one in answers]


def asking(
    verb: Callable[[Session], Any], folder: Path, *, source: str = "visits.csv", tell: Callable[[Any], Any] = told
) -> Callable[[list[str]], Any]:
    """Return what an analyst is told by a verb about these rows; each time in a folder of its own."""
    folders = (folder / str(number) for number in itertools.count())

    def asked(rows: list[str]) -> Any:
        home = next(folders)
        home.mkdir()
        text, frames = HEAD + "\n".join(rows) + "\n", None
        (home / "clinic.yaml").write_text(SCHEMA.replace("visits.csv", source))
        if source == "visits.csv":
            (home / source).write_text(text)
        else:
            frame = pytest.importorskip("pandas").read_csv(io.StringIO(text))
            pytest.importorskip("pyarrow")
            if source == "frames":
                frames = {"visits": frame}
            else:
                frame.to_parquet(home / source)
        curator = Curator.create(home / "home", anchors=home / "anchors")
        curator.add(home / "clinic.yaml", budget=PureDP(10))
        session = curator.session("clinic", analyst="ana", frames=frames)
        try:
            return tell(verb(session)), session.balance().spent
        finally:
            session.close()
            curator.close()

    return asked


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_tells_a_file_from_its_neighbour_through_its_draws_alone(verb: str, tmp_path: Path) -> None:
    call = asking(VERBS[verb], tmp_path)
    for here, there in NEIGHBOURS:
        assert replay_call(call, here, there, allowed=[tmp_path]) == []


@pytest.mark.parametrize("source", ["visits.csv", "frames"])
@pytest.mark.parametrize("verb", OBJECTS)
def test_a_released_object_tells_rows_from_their_neighbours_through_its_draws_alone(
    verb: str, source: str, tmp_path: Path
) -> None:
    release, rows = OBJECTS[verb]
    call = asking(release, tmp_path, source=source, tell=lambda found: found)
    # One way each from frames, both from files, which have more ways to be read.
    for here, there in NEIGHBOURS[1 if source == "frames" else 0 :]:
        assert replay_call(call, here, there, d_in=rows, allowed=[tmp_path]) == []


@pytest.mark.parametrize("source", ["visits.parquet", "frames"])
def test_a_verb_tells_other_sources_from_their_neighbours_through_its_draws_alone(source: str, tmp_path: Path) -> None:
    call = asking(VERBS["sql"], tmp_path, source=source)
    for here, there in NEIGHBOURS:
        assert replay_call(call, here, there, allowed=[tmp_path]) == []


def test_a_verb_that_looks_beside_its_draws_is_seen(tmp_path: Path) -> None:
    """The twin: the number of rows is told with the answer."""
    call = asking(VERBS["a condition"], tmp_path)
    found = replay_call(lambda rows: (call(rows), len(rows)), ROWS, [*ROWS, *ODD], allowed=[tmp_path])
    assert [one.rule for one in found] == ["the output depends on data outside its draws"]


def test_a_model_that_keeps_its_rows_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: how many rows were learned from is stored with the model."""
    pytest.importorskip("sklearn")
    from dither.learn.lifting import PlannedFit
    from dither.lift import Rows

    before, seen = Rows.read, []

    def read(self: Rows, engine: Any) -> Any:
        found = before(self, engine)
        seen.append(len(found))
        return found

    def adopt(self: PlannedFit, record: dict[str, Any], receipt: str) -> Any:
        fitted = adopted(self, record, receipt)
        fitted.n_samples_seen_ = seen[-1]
        return fitted

    adopted = PlannedFit.adopt
    monkeypatch.setattr(Rows, "read", read)
    monkeypatch.setattr(PlannedFit, "adopt", adopt)
    call = asking(learned, tmp_path, tell=lambda found: found)
    found = replay_call(call, ROWS, [*ROWS, *ODD], d_in=2, allowed=[tmp_path])
    assert [one.rule for one in found] == ["the output depends on data outside its draws"]
