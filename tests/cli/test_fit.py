"""``dither fit`` and ``dither predict``: quotes, scores, columns that cannot be used, predictions for a file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.cli.predict import _of_model
from dither.errors import InvalidParameter, LossNotStated

from .test_publish import record, run

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

SCHEMA = """\
dataset: clinic
unit: person
contribution: {rows: 2}
tables:
  visits:
    source: visits.csv
    privacy id: who
    columns:
      who: integer
      age: {kind: integer, bounds: [0, 90]}
      ward: {kind: text, categories: [heart, skin, eye]}
      smokes: boolean
      day: date
      note: text
      weight: real
      ill: {kind: text, categories: ["no", "yes"]}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("fits")
    wards = ("heart", "skin", "eye")
    lines = [
        f"{n // 2},{n % 91},{wards[n % 3]},{('true', 'false')[n % 2]},2024-01-01,x,1.5,{('yes', 'no', 'no')[n % 3]}\n"
        for n in range(900)
    ]
    (folder / "visits.csv").write_text("who,age,ward,smokes,day,note,weight,ill\n" + "".join(lines))
    (folder / "clinic.yaml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DITHER_ANCHORS", str(folder / "anchors"))
        patch.setenv("DITHER_HOME", str(folder / "home"))
        patch.chdir(folder)
        run("init", "home")
        run("add", "clinic.yaml", "--budget", "1000")
        yield folder


def spent() -> str:
    return str(record("ledger", "show", "clinic")[0]["spent"])


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


FIT = ("fit", "clinic", "visits", "ill")


def test_a_quote_says_what_a_person_loses_and_costs_nothing(place: Path) -> None:
    before = spent()
    person = record(*FIT, "--epsilon", "1", "--quote")
    assert person["loss_decimals"]["epsilon"] == 1
    assert "up to 2 rows of a person count, each protected at epsilon = 0.5" in person["release"]
    row = record(*FIT, "--epsilon", "1", "--quote", "--per", "row")
    assert row["loss_decimals"]["epsilon"] == 2
    assert "each protected at epsilon = 1" in row["release"]
    assert "it fits" in run(*FIT, "--epsilon", "1", "--quote", "-o", "nowhere/model.json")
    assert spent() == before
    assert not (place / "model.json").exists()


def test_what_cannot_be_used_is_left_out_and_named(place: Path) -> None:
    told = record(*FIT, "--epsilon", "1", "--quote")["release"]
    assert "from age, smokes, ward;" in told
    assert told.endswith("not used: day (no categories), note (no categories), weight (no bounds)")
    with pytest.raises(InvalidParameter, match="features must be numbers with bounds, or columns with categories"):
        run(*FIT, "--epsilon", "1", "--features", "age,weight")
    told = record(*FIT, "--epsilon", "1", "--quote", "--model", "CategoricalNB")["release"]
    assert "from ward, smokes;" in told


def test_a_model_is_scored_on_rows_held_out_and_predicts_for_a_file(place: Path) -> None:
    told = record(*FIT, "--epsilon", "60", "--score", "-o", "scored.json")
    # Every row's label follows from its ward.
    assert told["score"]["kind"] == "accuracy"
    assert told["score"]["low"] <= told["score"]["value"] <= told["score"]["high"]
    assert told["score"]["value"] > 0.9
    assert told["loss"] == "epsilon = 60"
    (place / "mine.csv").write_text("ward,smokes,name,age\nheart,true,Ann,40\nskin,,Bob,41\nlung,false,Cat,x\nheart\n")
    run("predict", "scored.json", "mine.csv", "-o", "told.csv", "--force")
    rows = read(place / "told.csv")
    assert [row["predicted"] for row in rows[:2]] == ["yes", "no"]
    assert rows[1]["name"] == "Bob"
    assert {row["predicted"] for row in rows} <= {"yes", "no"}
    (place / "semicolons.csv").write_text((place / "mine.csv").read_text().replace(",", ";"))
    run("predict", "scored.json", "semicolons.csv", "-o", "alike.csv")
    assert read(place / "alike.csv") == rows
    told = (place / "told.csv").read_text()
    for goal in ("told.csv", "mine.csv"):
        with pytest.raises(InvalidParameter, match="out must be a new file; --force"):
            run("predict", "scored.json", "mine.csv", "-o", goal, "--column", "ill")
    assert (place / "told.csv").read_text() == told
    again = record("predict", "scored.json", "mine.csv", "-o", "told.csv", "--column", "ill", "--force")
    assert again["rows"] == 4


def test_columns_are_found_by_their_headers_as_a_schema_calls_them() -> None:
    class Fitted:
        feature_names_in_ = ("Total_Spend", "Grosse", "region_2")

        def encoding(self) -> None:
            return None

    names = ["Größe", "Region", "region", "Total Spend (£)"]
    assert _of_model(Fitted(), names, [["L", "north", "r1", "3"]]) == [["3", "L", "r1"]]
    # A name that is there as the schema has it comes first.
    assert _of_model(Fitted(), [*names, "Grosse"], [["L", "north", "r1", "3", "M"]]) == [["3", "M", "r1"]]
    with pytest.raises(InvalidParameter, match="region_2 is not there, got 'Größe, Total Spend"):
        _of_model(Fitted(), ["Größe", "Total Spend (£)"], [])


@pytest.mark.parametrize("model", ["CategoricalNB", "BernoulliNB", "RandomForestClassifier"])
def test_truths_of_a_file_are_read_as_those_of_a_table(place: Path, model: str) -> None:
    run(
        "fit",
        "clinic",
        "visits",
        "ill",
        "--model",
        model,
        "--features",
        "smokes",
        "--epsilon",
        "9",
        "-o",
        "b.json",
        "--force",
    )
    for kind, cells in (("csv", ("true", "false")), ("csv", ("1", "0"))):
        (place / f"mine.{kind}").write_text("smokes\n" + "\n".join(cells) + "\n")
        run("predict", "b.json", f"mine.{kind}", "-o", "told.csv", "--force")
    import duckdb

    duckdb.sql("SELECT * FROM (VALUES (true), (false)) AS t(smokes)").write_parquet(str(place / "mine.parquet"))
    run("predict", "b.json", "mine.parquet", "-o", "other.csv", "--force")
    told, other = read(place / "told.csv"), read(place / "other.csv")
    assert [row["predicted"] for row in told] == [row["predicted"] for row in other]


def test_clusters_have_no_target_and_learners_of_a_column_have_one(place: Path) -> None:
    run("fit", "clinic", "visits", "--model", "KMeans", "--epsilon", "5", "-o", "k.json", "--option", "n_clusters=2")
    run("predict", "k.json", "visits.csv", "-o", "told.csv", "--force")
    with pytest.raises(InvalidParameter, match="target is not allowed"):
        run("fit", "clinic", "visits", "ill", "--model", "KMeans", "--epsilon", "5")
    with pytest.raises(InvalidParameter, match="target must be a column to predict"):
        run("fit", "clinic", "visits", "--epsilon", "5")
    with pytest.raises(InvalidParameter, match="score is not allowed"):
        run("fit", "clinic", "visits", "--model", "KMeans", "--epsilon", "5", "--score")


def test_what_cannot_be_fitted_or_predicted_gets_one_clear_error(place: Path) -> None:
    before = spent()
    for model in ("MinMaxScaler", "OneHotEncoder", "UniformBinner", "PrivateSearch", "IncrementalLinearRegression"):
        with pytest.raises(InvalidParameter, match=r"model must be one of BernoulliNB, CategoricalNB, .*got '"):
            run(*FIT, "--epsilon", "1", "--model", model)
    with pytest.raises(LossNotStated, match="remaining budget"):
        run(*FIT)
    for option in ("budget=3", "categories=3"):
        with pytest.raises(InvalidParameter, match="option must be one of"):
            run(*FIT, "--epsilon", "1", "--option", option)
    assert spent() == before
    run(*FIT, "--epsilon", "5", "--features", "ward", "-o", "model.json")
    (place / "lacking.csv").write_text("age\n3\n")
    (place / "twice.csv").write_text("ward,ward\nheart,skin\n")
    (place / "bad.csv").write_bytes(b"\xff\xfe\x00")
    for words, said in (
        (("nowhere.json", "visits.csv", "-o", "a.csv"), "model must be a model"),
        (("visits.csv", "visits.csv", "-o", "a.csv"), "model must be a model"),
        (("model.json", "lacking.csv", "-o", "a.csv"), "file must be with each column of the model once: ward"),
        (("model.json", "twice.csv", "-o", "a.csv"), "file must be with each column of the model once: ward"),
        (("model.json", "nowhere.csv", "-o", "a.csv"), "file must be a file"),
        (("model.json", "bad.csv", "-o", "a.csv"), "file must be a file"),
        (("model.json", "clinic.yaml", "-o", "a.csv"), "file must be a file"),
        (("model.json", "visits.csv", "-o", "a.xlsx"), "out must be a file ending in .csv"),
        (("model.json", "visits.csv", "-o", "a.csv", "--column", "ward"), "column must be a name"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            run("predict", *words)
    assert not (place / "a.csv").exists()


def test_the_usual_model_follows_from_how_the_target_is_declared(place: Path) -> None:
    kinds = {"age": "LinearRegression", "ill": "LogisticRegression", "smokes": "LogisticRegression"}
    for target, model in kinds.items():
        for words in (("fit", "clinic", "visits", target), ("fit", "clinic", target)):
            assert record(*words, "--epsilon", "1", "--quote")["release"].startswith(f"{model} of {target}")
            assert f"{model}, because of how {target} is declared" in run(*words, "--epsilon", "1", "--quote")
    assert record("fit", "clinic", "age", "--epsilon", "1", "-o", "age.json")["model"] == "LinearRegression"
    told = record("fit", "clinic", "age", "--model", "LogisticRegression", "--epsilon", "1", "--quote")
    assert told["release"].startswith("LogisticRegression of age")
    assert "because" not in run(*FIT, "--model", "LogisticRegression", "--epsilon", "1", "--quote")


def test_predictions_never_take_the_place_of_what_a_curator_keeps(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*FIT, "--epsilon", "5", "-o", "kept.json", "--force")
    rows, schema = (place / "visits.csv").read_bytes(), (place / "home" / "datasets" / "clinic.yaml").read_bytes()
    (place / "link.csv").symlink_to("visits.csv")
    model, mine = str(place / "kept.json"), str(place / "visits.csv")

    def refused() -> None:
        for goal in ("visits.csv", "link.csv", "home/data/x.csv", "home/datasets/clinic.csv"):
            with pytest.raises(InvalidParameter, match="out must be another file than those that hold data sets"):
                run("predict", model, mine, "-o", str(place / goal), "--force")

    refused()
    # Nor where no variable names the folder, if the files themselves are below it.
    monkeypatch.delenv("DITHER_HOME")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter, match="another file"):
        run("predict", model, mine, "-o", str(place / "home" / "data" / "x.csv"))
    with pytest.raises(InvalidParameter, match="another file"):
        run("predict", model, mine, "-o", mine, "--force", "--home", str(place / "home"))
    assert (place / "visits.csv").read_bytes() == rows
    assert (place / "home" / "datasets" / "clinic.yaml").read_bytes() == schema
