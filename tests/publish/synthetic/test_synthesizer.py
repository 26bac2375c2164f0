"""Synthesizers end to end: what is drawn keeps declarations, constraints and, with much budget, marginals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.data import Column, Kind
from dither.errors import DitherError, InvalidParameter, NotFitted
from dither.lift.attributes import Attributes
from dither.privacy import ROW_REPLACED, ZCDP, ApproxDP, PureDP
from dither.publish.synthetic import METHODS, Determined, Impossible, Synthesizer, SyntheticTable
from dither.publish.synthetic.quality import compare_with_real, quality_of
from dither.publish.synthetic.report import write_report

COLUMNS = (
    Column("city", Kind.TEXT, categories=("Turin", "Lyon", "Nice")),
    Column("country", Kind.TEXT, categories=("Italy", "France")),
    Column("sex", Kind.TEXT, categories=("f", "m")),
    Column("pregnant", Kind.BOOLEAN),
    Column("age", Kind.INTEGER, lower=0, upper=99),
)
WHERE = {"Turin": "Italy", "Lyon": "France", "Nice": "France"}
#: A reference for tiny universes, and it says so.
TINY = {"small-database"}
GENERAL = sorted(set(METHODS) - TINY)
FACTS = (
    Determined("country", "city", tuple(WHERE.items())),
    Impossible(("sex", "pregnant"), (("m", True),)),
)


def people(count: int) -> list[dict[str, Any]]:
    cities = list(WHERE)
    return [
        {
            "city": cities[number % 3],
            "country": WHERE[cities[number % 3]],
            "sex": "fm"[number % 2],
            "pregnant": number % 2 == 0 and number % 10 < 4,
            "age": 20 + number % 50,
        }
        for number in range(count)
    ]


def synthesizer(**options: Any) -> Synthesizer:
    return Synthesizer(COLUMNS, **{"epsilon": 1, "delta": "1e-9", "constraints": FACTS, **options})


@pytest.mark.parametrize("method", [*GENERAL, "auto"])
def test_every_method_keeps_what_is_public(method: str) -> None:
    made = synthesizer(method=method).fit(people(40))
    rows = made.sample(60)
    assert len(rows) == 60
    drawn = {name: values.tolist() for name, values in rows.columns.items()}
    assert list(drawn) == [column.name for column in COLUMNS]
    assert [WHERE[city] for city in drawn["city"]] == drawn["country"]
    assert not any(sex == "m" and pregnant for sex, pregnant in zip(drawn["sex"], drawn["pregnant"], strict=True))
    assert all(0 <= age <= 99 for age in drawn["age"])
    assert made.planned.mechanism.loss(1).to_approx("1e-9").epsilon <= 1


@pytest.mark.parametrize("method", [*GENERAL, "auto"])
def test_a_table_that_was_written_draws_the_same_law(method: str, tmp_path: Path) -> None:
    made = synthesizer(method=method).fit(people(30))
    again = Synthesizer.load(made.save(tmp_path / "model.json"))
    assert again.to_json() == made.table.to_json()
    assert again.loss == made.loss
    for axes in ((0,), (0, 1), (1, 2)):
        assert np.allclose(again.model.table(axes), made.table.model.table(axes))


def test_with_much_budget_rows_are_like_rows() -> None:
    rows = people(3000)
    drawn = synthesizer(epsilon=10**6, delta="1e-3").fit(rows).sample(3000)
    for name in ("city", "sex", "pregnant"):
        real = [row[name] for row in rows]
        for value in set(real):
            assert abs(real.count(value) - drawn.columns[name].tolist().count(value)) <= 30
    both = list(zip(drawn.columns["sex"].tolist(), drawn.columns["pregnant"].tolist(), strict=True))
    assert abs(both.count(("f", True)) - 600) <= 60


ODD: dict[str, Any] = {"country": 3, "sex": None, "pregnant": "?", "age": float("nan")}


@pytest.mark.parametrize("rows", [[], people(1), [{**ODD, "city": None}], [{**ODD, "city": "Rome"}]])
def test_no_content_is_too_odd(rows: list[Any]) -> None:
    assert len(synthesizer().fit(rows).sample(3)) == 3


def test_constant_columns_and_a_single_column() -> None:
    one = [Column("only", Kind.TEXT, categories=("x",))]
    assert Synthesizer(one, epsilon=1).fit([{"only": "x"}] * 5).sample(4).columns["only"].tolist() == ["x"] * 4
    assert Synthesizer(COLUMNS[:1], epsilon=1, unit=ROW_REPLACED).loss <= PureDP(1)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ([Impossible(("sex", "wings"), (("m", True),))], "wings"),
        ([Impossible(("age",), ((3,),))], "listed values"),
        ([Impossible(("sex",), (("x",),))], "declared value of sex"),
        ([Impossible(("sex",), (("f",), ("m",)))], "contradict"),
        ([Impossible(("sex", "pregnant"), (("m", True), ("m", False))), Impossible(("sex",), (("f",),))], "contradict"),
        ([Determined("country", "city", (("Turin", "Italy"),))], "Lyon"),
        ([FACTS[0], FACTS[0]], "one other column"),
        ([FACTS[0], Determined("sex", "country", (("Italy", "f"), ("France", "m")))], "not determined themselves"),
        (["no"], "Impossible or Determined"),
    ],
)
def test_contradictory_facts_are_refused(facts: list[Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        synthesizer(constraints=facts, bins={"age": 20})


@pytest.mark.parametrize("method", sorted(TINY))
def test_references_refuse_a_universe_that_is_not_tiny(method: str) -> None:
    with pytest.raises(InvalidParameter):
        synthesizer(method=method)
    tiny = Synthesizer(COLUMNS[2:4], method=method, epsilon=1)
    assert len(tiny.fit(people(9)).sample(5)) == 5


def test_bad_requests_are_refused_before_any_row_is_read() -> None:
    with pytest.raises(InvalidParameter, match="method"):
        synthesizer(method="magic")
    with pytest.raises(NotFitted, match="call fit first"):
        synthesizer().sample(3)
    with pytest.raises(InvalidParameter, match="rows"):
        synthesizer().fit(people(3)).sample(-1)


@pytest.mark.parametrize(
    "damage", ["", "[]", "{}", '{"synthetic": 2}', '{"synthetic": 1}', '{"synthetic": 1, "codings": 3}']
)
def test_damaged_tables_are_refused(damage: str) -> None:
    with pytest.raises(DitherError):
        SyntheticTable.from_json(damage)


def test_a_model_of_other_columns_is_refused() -> None:
    record = json.loads(synthesizer().fit(people(10)).table.to_json())
    record["codings"] = record["codings"][1:]
    with pytest.raises(InvalidParameter, match="other columns"):
        SyntheticTable.from_json(json.dumps(record))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_rows_are_written_and_read_again(suffix: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = synthesizer().fit(people(20)).sample(12)
    path = rows.write(tmp_path / f"rows{suffix}")
    read = {
        ".csv": pandas.read_csv,
        ".parquet": pandas.read_parquet,
        ".json": lambda place: pandas.read_json(place, lines=True),
    }[suffix](path)
    assert read["city"].tolist() == rows.columns["city"].tolist()
    assert read["age"].tolist() == rows.columns["age"].tolist()
    assert rows.to_polars().shape == (12, 5)
    with pytest.raises(InvalidParameter, match="path"):
        rows.write(tmp_path / "rows.xls")


def test_reports_say_what_is_private(tmp_path: Path) -> None:
    # At a loss that leaves no noise: a model that says that there are no rows has nothing to compare.
    made = synthesizer(epsilon=10**6).fit(people(60)).table
    public = quality_of(made)
    assert all(figure.is_private for figure in public.figures)
    page = write_report(tmp_path / "public.html", made, public).read_text()
    assert "NOT PRIVATE" not in page
    assert "city" in page
    real = made.codes(60)
    told = compare_with_real(made, real, refit=lambda codes: made.model)
    assert not any(figure.is_private for figure in told.figures if "real" in figure.name or "variation" in figure.name)
    assert told.value("total variation, 1-way") is not None
    page = write_report(tmp_path / "real.html", made, told).read_text()
    assert "NOT PRIVATE" in page
    record = json.loads(write_report(tmp_path / "real.json", made, told).read_text())
    assert record["is_private"] is False
    with pytest.raises(InvalidParameter, match="report"):
        write_report(tmp_path / "real.pdf", made, told)


def test_figures_against_themselves_are_perfect() -> None:
    made = synthesizer(epsilon=10**6).fit(people(200)).table
    figures = compare_with_real(made, quality_of(made).drawn)
    for order in (1, 2, 3):
        value = figures.value(f"total variation, {order}-way")
        assert value is not None
        assert value <= 0.5


@pytest.mark.parametrize("width", [2, 3, 7, 14])
@pytest.mark.parametrize("method", [*GENERAL])
def test_no_rounding_passes_the_target(method: str, width: int) -> None:
    attributes = Attributes(tuple(f"a{number}" for number in range(width)), (2,) * width)
    for target in (ZCDP("1/2"), ZCDP("1/7"), ApproxDP(1, "1e-9")):
        assert METHODS[method].calibrated(target, attributes=attributes).loss(1) <= target


def test_classifiers_are_tested_on_rows_that_the_model_has_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The half that a model was made of, and the half that a classifier is tested on, share no row and miss none."""
    # A loss that leaves no noise: a released number of rows may else be 0.
    made = synthesizer(epsilon=10_000).fit(people(60)).table
    real, age = made.codes(40), [coding.column for coding in made.codings].index("age")
    real[:, age] = np.arange(40)
    seen: list[Any] = []
    halves: list[Any] = []

    def refit(codes: Any) -> Any:
        seen.append(set(codes[:, age].tolist()))
        return made.model

    def learning(half: Any, *_: Any) -> list[Any]:
        halves.append(half)
        return []

    monkeypatch.setattr("dither.publish.synthetic.quality._learning", learning)
    compare_with_real(made, real, refit=refit)
    (half,) = halves
    tested = set(half.outside[:, age].tolist())
    assert half.is_unseen
    assert len(seen) == 1
    assert not seen[0] & tested
    assert seen[0] | tested == set(range(40))
    # Without a way to make another model the figure says that its rows were seen.
    monkeypatch.undo()
    pytest.importorskip("sklearn")
    told = {figure.name: figure.meaning for figure in compare_with_real(made, made.codes(40)).figures}
    assert "that the table was made of" in told["train on synthetic, test on real"]
