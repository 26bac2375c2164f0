"""Models through a session: priced by public facts, charged before a row is read, the same for a retry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dither
from dither.data import Column, DataSet, Kind, Table
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import BudgetExceeded, InvalidParameter
from dither.mechanisms import perform
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, PureDP, Unit

pytest.importorskip("sklearn")

COLUMNS = (
    Column("id", Kind.INTEGER),
    Column("dose", Kind.REAL, lower=0, upper=10),
    Column("smokes", Kind.BOOLEAN),
    Column("ill", Kind.TEXT, categories=("no", "yes")),
    Column("cost", Kind.REAL, lower=0, upper=100),
    Column("words", Kind.TEXT),
)


def dataset(unit: Unit, **limits: int) -> DataSet:
    person = "id" if unit.protects == "person" else None
    return DataSet("clinic", (Table("visits", COLUMNS, source="visits.csv", person=person),), unit, **limits)


def logistic(**options: Any) -> Any:
    from dither.learn import LogisticRegression

    return LogisticRegression(**{"epsilon": 1, "delta": "1e-6", **options})


def planned(unit: Unit, estimator: Any = None, target: str = "ill", *, per: str = "person", **limits: int) -> Any:
    from dither.learn.lifting import plan_fit

    names = ["dose", "smokes"]
    return plan_fit(dataset(unit, **limits), "visits", estimator or logistic(), target, names, per=per)


def test_a_person_is_charged_what_their_rows_lose() -> None:
    one = planned(ROW)
    assert one.loss <= ApproxDP(1, "1e-6")
    assert planned(ROW_REPLACED, per="row").loss == one.mechanism.method.loss(2)
    assert planned(ROW_REPLACED, logistic(unit="row_replaced")).loss <= ApproxDP(1, "1e-6")
    assert planned(person_unit("id"), rows=3, per="row").loss == one.mechanism.method.loss(3)
    assert planned(person_unit("id", replaced=True), rows=3, per="row").loss == one.mechanism.method.loss(6)
    # Where rows come and go, or are left out, the number of rows is not public: a learner that says so is refused.
    with pytest.raises(InvalidParameter, match="whose distance is"):
        planned(ROW, logistic(unit="row_replaced"))
    with pytest.raises(InvalidParameter, match="whose distance is"):
        planned(person_unit("id", replaced=True), logistic(unit="row_replaced"), rows=3)


@pytest.mark.parametrize("stated", [{"epsilon": 1, "delta": None}, {}, {"epsilon": None, "delta": None, "rho": "1/8"}])
def test_the_loss_that_is_stated_is_that_of_a_person(stated: dict[str, Any]) -> None:
    """Whoever states epsilon 1 is charged 1, however many rows of a person count."""
    estimator = logistic(**stated)
    wanted = estimator._target()
    for unit, rows, moved, said in (
        (ROW_REPLACED, {}, 2, "a row that is replaced counts as 2"),
        (person_unit("id"), {"rows": 3}, 3, "up to 3 rows of a person count, each protected at"),
        (person_unit("id", replaced=True), {"rows": 3}, 6, "6 where a person is replaced"),
    ):
        plan = planned(unit, estimator, **rows)
        assert plan.loss <= wanted
        assert plan.stated == wanted
        assert plan.mechanism.loss(1) == plan.mechanism.method.loss(moved)
        assert not planned(unit, estimator, per="row", **rows).loss <= wanted
        assert said in plan.words
    with pytest.raises(InvalidParameter, match="per must be one of person, row"):
        planned(ROW, per="visit")


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_rows_of_a_person_are_read_than_count(limit: int) -> None:
    plan = planned(person_unit("id"), rows=limit)
    row = {"smokes": True, "ill": "yes", "cost": 1.0, "words": "x"}
    rows = [{**row, "id": 7, "dose": float(number)} for number in range(5)] + [{**row, "id": 8, "dose": 3.0}]
    engine = ReferenceEngine(dataset(person_unit("id"), rows=limit), {"visits": rows})
    assert len(plan.mechanism.source.read(engine)) == limit + 1


def test_a_model_says_what_a_person_lost_by_it() -> None:
    plan = planned(person_unit("id"), logistic(delta=None), rows=3, per="row")
    nobody = ReferenceEngine(dataset(person_unit("id"), rows=3), {"visits": []})
    fitted = plan.adopt(perform(plan.mechanism, nobody).to_dict(), "receipt")
    assert str(fitted.privacy_).startswith("epsilon = 3 for people added or removed")


@pytest.mark.parametrize(
    "rows", [[], [{}], [{"id": 1, "dose": float("nan"), "smokes": None, "ill": "?", "cost": None}]]
)
def test_no_content_raises(rows: list[Any]) -> None:
    full = [{**dict.fromkeys(("id", "dose", "smokes", "ill", "cost", "words")), **row} for row in rows]
    assert perform(planned(ROW).mechanism, ReferenceEngine(dataset(ROW), {"visits": full})).to_dict()["model"]


def test_what_is_not_declared_is_asked_for() -> None:
    from dither.learn.lifting import plan_fit

    for features, target, said in (
        (["words"], "ill", "numbers"),
        (["dose"], "words", "categories of words"),
        (["dose", "dose"], "ill", "different columns"),
        ([], "ill", "different columns"),
        (["nobody"], "ill", "column"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            plan_fit(dataset(ROW), "visits", logistic(), target, features)
    with pytest.raises(InvalidParameter, match=r"dither\.learn"):
        plan_fit(dataset(ROW), "visits", object(), "ill")
    with pytest.raises(InvalidParameter, match="privacy id"):
        plan_fit(dataset(person_unit("id"), rows=1), "visits", logistic(), "ill", ["id"])


SCHEMA = """\
dataset: clinic
unit: row
tables:
  visits:
    source: visits.csv
    columns:
      dose: {kind: real, bounds: [0, 10]}
      ill: {kind: text, categories: ["no", "yes"]}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{n % 10},{'yes' if n % 10 > 5 else 'no'}\n" for n in range(2000))
    (tmp_path / "visits.csv").write_text("dose,ill\n" + rows)
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    return tmp_path


def test_a_session_charges_and_remembers(place: Path) -> None:
    curator = dither.Curator.create(place / "home", anchors=place / "anchors")
    curator.add(place / "clinic.yaml", budget=PureDP(3))
    session = curator.session("clinic", analyst="ana")
    first = session.fit(logistic(epsilon=2, delta=None), "visits", target="ill", key="once")
    again = session.fit(logistic(epsilon=2, delta=None), "visits", target="ill", key="once")
    assert first.privacy_.receipt == again.privacy_.receipt
    assert session.balance().spent.pure == first.privacy_.loss.pure == 2
    assert np.array_equal(first.predict([[9.0], [0.0]]), again.predict([[9.0], [0.0]]))
    with pytest.raises(BudgetExceeded):
        session.fit(logistic(epsilon=2, delta=None), "visits", target="ill")
    session.close()
    curator.close()


def test_the_command_writes_a_model(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from dither.cli.app import app
    from dither.learn import load_estimator

    monkeypatch.chdir(place)
    monkeypatch.setenv("DITHER_HOME", str(place / "home"))

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, list(words))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output

    run("init", "home")
    run("add", "clinic.yaml", "--budget", "9")
    told = json.loads(run("fit", "clinic", "visits", "ill", "--epsilon", "8", "-o", "model.json", "--json"))
    assert told["model"] == "LogisticRegression"
    assert load_estimator("model.json").predict([[10.0]]).tolist() in (["yes"], ["no"])
    for words, said in (
        (["--model", "Magic"], "model"),
        (["--option", "wings=2"], "option"),
        (["--option", "wings"], "NAME=VALUE"),
        (["--option", "steps=3"], "option must be one of C, bounds, classes, max_iter, solver, unit"),
        (["--option", "epsilon=3"], "option must be one of"),
        (["--option", "loss=3"], "option must be one of"),
        (["-o", "model.txt"], "out"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            run("fit", "clinic", "visits", "ill", "--epsilon", "1", "--force", *words)


def test_a_regression_of_dates_is_refused_before_the_charge() -> None:
    from dither.learn import Ridge
    from dither.learn.lifting import plan_fit
    from dither.learn.selection.estimators import PrivateSearch

    table = Table("visits", (*COLUMNS, Column("day", Kind.DATE)), source="visits.csv")
    dated = DataSet("clinic", (table,), ROW)
    ridge = Ridge(epsilon=1, target_bounds=(0, 1))
    for target in ("day", "words"):
        with pytest.raises(InvalidParameter, match="target"):
            plan_fit(dated, "visits", ridge, target, ["dose"])
    tuned = Ridge(bounds=[(0, 10)], target_bounds=(0, 1))
    with pytest.raises(InvalidParameter, match="columns of numbers"):
        plan_fit(dated, "visits", PrivateSearch(tuned, {"alpha": [0, 1]}, rho=1), "day", ["dose"])
