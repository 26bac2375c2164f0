"""``dither fit --model recommender``: quoted without data, released, written, shown on a card, read again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.errors import BudgetExceeded, InvalidParameter

from .test_publish import record, run

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

SCHEMA = """\
dataset: shop
unit: person
contribution: {rows: 3}
people: 400
tables:
  ratings:
    source: ratings.csv
    privacy id: who
    ratings: {item: film, value: stars, time: at, items: films}
    columns:
      who: text
      film: {kind: integer, bounds: [1, 4]}
      stars: {kind: integer, bounds: [1, 5]}
      at: timestamp
  films:
    source: films.csv
    public: true
    key: film
    columns: {film: integer, year: {kind: integer, bounds: [1920, 2000]}, war: boolean}
"""
FIT = ("fit", "shop", "ratings", "--model", "recommender", "--epsilon", "50", "--delta", "1e-5")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("shop")
    lines = [f"p{n},{n % 3 + 1},{5 - 2 * (n % 3)},2025-01-01 00:00:00\n" for n in range(400)]
    # A later rating of the same film by the same person is the one that counts.
    lines += [f"p{n},{n % 3 + 1},1,2024-01-01 00:00:00\n" for n in range(400)]
    (folder / "ratings.csv").write_text("who,film,stars,at\n" + "".join(lines))
    (folder / "films.csv").write_text("film,year,war\n1,1979,true\n2,1985,false\n4,1984,true\n")
    (folder / "shop.yaml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DITHER_ANCHORS", str(folder / "anchors"))
        patch.setenv("DITHER_HOME", str(folder / "home"))
        patch.chdir(folder)
        run("init", "home")
        told = run("add", "shop.yaml", "--budget", "200", "--delta", "1e-3")
        assert "dither fit shop ratings --model recommender" in told
        yield folder


def test_a_quote_costs_nothing_and_needs_no_file(place: Path) -> None:
    before = record("ledger", "show", "shop")[0]["spent"]
    told = record(*FIT, "--quote")
    assert (
        told["release"]
        == "Recommender (means and covariance) of 4 items from stars of ratings, with year, war of films"
    )
    assert "(means)" in record(*FIT, "--quote", "--option", "method=means")["release"]
    assert record("ledger", "show", "shop")[0]["spent"] == before


def test_a_model_is_released_once_and_recommends(place: Path) -> None:
    from dither.learn import load_estimator

    told = record(*FIT, "--key", "model", "-o", "model.json")
    again = record(*FIT, "--key", "model", "-o", "again.json")
    assert told["model"] == "Recommender"
    assert told["score"] is None
    assert (place / "model.json").read_text() == (place / "again.json").read_text()
    assert again["cost"] == told["cost"] if "cost" in told else again["loss"] == told["loss"]
    shop = load_estimator(place / "model.json")
    assert shop.recommend({}, 1) == [1]
    assert shop.predict({}, [1])[0] > 4 > shop.predict({}, [2])[0] > 2 > shop.predict({}, [3])[0]
    assert "people added or removed" in shop.privacy_.unit
    assert "p399" not in (place / "model.json").read_text()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--per", "row"), "learns from all ratings"),
        (("--features", "at"), "learns from all ratings"),
        (("--option", "items=4"), "the schema declares it"),
        (("--option", "method=best"), "one of auto, means, covariance"),
        (("--option", "colour=red"), "one of"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_charged(place: Path, options: tuple[str, ...], rule: str) -> None:
    before = record("ledger", "show", "shop")[0]["spent"]
    with pytest.raises(InvalidParameter, match=rule):
        run(*FIT, *options, "-o", "other.json")
    with pytest.raises(InvalidParameter, match="declares ratings"):
        run("fit", "shop", "films", *FIT[3:], "-o", "other.json")
    assert record("ledger", "show", "shop")[0]["spent"] == before


def test_a_quote_shows_what_noise_by_rho_leaves_and_what_was_requested(place: Path) -> None:
    told = run(*FIT, "--quote")
    assert "(requested: epsilon = 50, delta = 1e-05)" in told
    after = record(*FIT, "--quote")["after"]
    assert f"it fits, and {after} would be left after it" in told
    assert float(after.split()[-1]) < 150, "less than the difference: the account moves to rho"


def test_a_budget_of_an_epsilon_alone_names_two_ways_on_and_both_work(place: Path) -> None:
    Path("others.csv").write_text("who,film,stars,at\n" + "".join(f"q{n},1,3,2025-01-01 00:00:00\n" for n in range(9)))
    Path("pure.yaml").write_text(SCHEMA.replace("dataset: shop", "dataset: pure").replace("ratings.csv", "others.csv"))
    run("add", "pure.yaml", "--budget", "20")
    fit = ("fit", "pure", "ratings", "--model", "recommender", "--epsilon", "5")
    with pytest.raises(BudgetExceeded, match=r"omit delta.*'dither datasets raise-budget --delta'"):
        run(*fit, "--delta", "1e-5", "-o", "pure.json")
    assert "it fits" in run(*fit, "--quote")
    run("datasets", "raise-budget", "pure", "--epsilon", "20", "--delta", "1e-4", "--reason", "a model")
    assert "it fits" in run(*fit, "--delta", "1e-5", "--quote")


def test_a_released_recommender_is_used_for_one_persons_file(place: Path) -> None:
    from dither.learn import load_estimator

    run(*FIT, "--key", "model", "-o", "used.json")
    Path("mine.csv").write_text("film;stars\n1;4,5\n")
    told = run("predict", "used.json", "mine.csv", "--decimal", ",", "-o", "best.csv")
    assert "items that the file does not rate, best first" in told
    shop = load_estimator("used.json")
    head, *lines = [line.split(",") for line in Path("best.csv").read_text().splitlines()]
    assert head == ["film", "predicted"]
    assert [int(line[0]) for line in lines] == shop.recommend({1: 4.5})
    assert [float(line[1]) for line in lines] == shop.predict({1: 4.5}, shop.recommend({1: 4.5})).tolist()
    for text, rule in (("film,stars\n3000,4\n", "items of the catalogue"), ("film,stars\n1,x\n", "a number in stars")):
        Path("mine.csv").write_text(text)
        with pytest.raises(InvalidParameter, match=rule):
            run("predict", "used.json", "mine.csv", "-o", "refused.csv")
    Path("mine.csv").write_text("who,film,stars\n7,1,4\n")
    with pytest.raises(InvalidParameter, match="two columns"):
        run("predict", "used.json", "mine.csv", "-o", "refused.csv")
