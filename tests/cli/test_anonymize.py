"""``dither anonymize``: from a schema and a CSV to anonymized rows by every method, and errors before any charge."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from dither.errors import DitherError
from dither.publish.microdata import AnonymizedTable

from .test_publish import record, run

pytest.importorskip("pyarrow")

SCHEMA = """\
dataset: shop
unit: person
contribution: {rows: 2}
tables:
  clients:
    source: clients.csv
    privacy id: client
    columns:
      client: integer
      job: {kind: text, categories: [cook, clerk, judge, nurse]}
      age: {kind: real, bounds: [0, 100]}
      paid: {kind: text, categories: ["no", "yes"], nullable: true}
  baskets:
    source: baskets.csv
    privacy id: client
    columns:
      client: integer
      item: {kind: text, categories: [bread, milk, tea, wine]}
"""
TREES = """\
job:
  hands: [cook, nurse]
  desk: [clerk, judge]
item: [milk, wine, bread, tea]
"""
JOBS = ("cook", "clerk", "judge", "nurse")
DESK = {"clerk", "judge"}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Whoever has a desk pays; ages are 10, 50 and 90.
    people = [(n, JOBS[n % 4], (10, 50, 90)[n % 3]) for n in range(600)]
    rows = "".join(f"{n},{job},{age},{'yes' if job in DESK else 'no'}\n" for n, job, age in people)
    # Bread and milk for two in three, tea twice for the others: a set all the same.
    bought = "".join(f"{n},tea\n{n},tea\n" if n % 3 == 0 else f"{n},bread\n{n},milk\n" for n in range(600))
    (tmp_path / "clients.csv").write_text("client,job,age,paid\n" + rows)
    (tmp_path / "baskets.csv").write_text("client,item\n" + bought)
    (tmp_path / "shop.yaml").write_text(SCHEMA)
    (tmp_path / "trees.yaml").write_text(TREES)
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    monkeypatch.setenv("DITHER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    run("init", "home")
    run("add", "shop.yaml", "--budget", "10000")
    return tmp_path


def rows_of(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def test_diffgen_generalises_along_the_trees_of_a_file(shop: Path) -> None:
    """Epsilon 400: the step that tells the class is 150 records better, and chosen with probability 1 - e^-1000."""
    Path("job.yaml").write_text(TREES.split("item:")[0])
    words = ["anonymize", "shop", "clients", "--method", "diffgen", "--columns", "job,paid", "--target", "paid"]
    said = record(*words, "--taxonomies", "job.yaml", "--steps", "1", "--epsilon", "400", "-o", "rows.csv")
    rows = rows_of("rows.csv")
    assert Counter((row["job"], row["paid"]) for row in rows).keys() >= {("hands", "no"), ("desk", "yes")}
    wrong = [row for row in rows if (row["job"], row["paid"]) not in (("hands", "no"), ("desk", "yes"))]
    assert len(wrong) < 60
    assert abs(said["rows"] - 600) < 60
    assert record("ledger", "show", "shop")[0]["releases"] == 1


def test_diffpart_finds_sets_of_items(shop: Path) -> None:
    """Epsilon 100 for one set a person: counts are off by less than one, and bands are 60."""
    Path("items.yaml").write_text(f"item:{TREES.split('item:')[1]}")
    words = ["anonymize", "shop", "baskets", "--method", "diffpart", "--epsilon", "100", "-o", "rows.csv", "--force"]
    for more in ([], ["--taxonomies", "items.yaml"]):
        said = record(*words, *more, "--report", "r.json", "--model", "m.json")
        own: dict[str, set[str]] = {}
        for row in rows_of("rows.csv"):
            own.setdefault(row["client"], set()).add(row["item"])
        sets = Counter(map(frozenset, own.values()))
        assert abs(sets[frozenset({"bread", "milk"})] - 400) < 60
        assert abs(sets[frozenset({"tea"})] - 200) < 60
        assert said["loss"] == "epsilon = 100"
        figures = {one["name"]: one["value"] for one in json.loads(Path("r.json").read_text())["figures"]}
        assert abs(figures["persons with tea"] - 200) < 60
        assert AnonymizedTable.load("m.json").rows().columns["item"].tolist()


def test_priv_fuzzy_tells_numbers_in_terms(shop: Path) -> None:
    """Epsilon 200, two rows a person: the three terms are as frequent as the ages, within a tenth of all rows."""
    words = [
        "anonymize",
        "shop",
        "clients",
        "--columns",
        "age,job,paid",
        "--epsilon",
        "200",
        "-o",
        "rows.csv",
        "--force",
    ]
    said = record(*words, "--terms", "age=young,middle,old", "--rows", "900", "--report", "r.html", "--key", "once")
    rows = rows_of("rows.csv")
    assert said["rows"] == len(rows) == 900
    shares = Counter(row["age"] for row in rows)
    assert all(abs(shares[term] - 300) < 90 for term in ("young", "middle", "old"))
    assert "may be published" in Path("r.html").read_text()
    again = record(*words, "--terms", "age=young,middle,old", "--group", "job,paid", "--key", "another")
    wrong = [row for row in rows_of("rows.csv") if (row["job"] in DESK) != (row["paid"] == "yes")]
    assert len(wrong) < 90
    assert again["receipt"] != said["receipt"]


def test_rows_told_at_random_are_as_many_as_was_said(shop: Path) -> None:
    words = ["anonymize", "shop", "clients", "--method", "perturbed-rows", "--columns", "job,paid", "--epsilon", "8"]
    said = record(*words, "--group", "job,paid", "--rows", "500", "-o", "rows.csv", "--report", "r.html")
    rows = rows_of("rows.csv")
    assert len(rows) == 500
    assert {row["job"] for row in rows} <= set(JOBS)
    # Two rows a person: epsilon 4 for each, and 11 other combinations: e^4 / (e^4 + 11).
    assert "job + paid is published unchanged with probability 0.832" in said["notes"][1]
    assert "published unchanged" in Path("r.html").read_text()


def test_a_kept_table_answers_every_question_for_its_price(shop: Path) -> None:
    words = ["anonymize", "shop", "clients", "--method", "kept-table", "--terms", "age=young,middle,old"]
    answer = record(*words, "--ask", "age=young,old", "--ask", "job=clerk,judge", "--epsilon", "50")
    # 200 of 300 in truth, noise of scale 1/25.
    assert abs(answer["rows"][0][0] - 200) < 20
    assert "count" in run(*words, "--ask", "paid=yes", "--epsilon", "1")
    assert record("ledger", "show", "shop")[0]["releases"] == 2


def test_a_quote_needs_no_data_and_costs_nothing(shop: Path) -> None:
    for name in ("clients.csv", "baskets.csv"):
        Path(name).unlink()
    words = ["anonymize", "shop", "baskets", "--method", "diffpart", "--epsilon", "3", "--quote"]
    assert "anonymized baskets, by diffpart would cost epsilon = 3" in run(*words)
    assert record(*words)["fits"] is True
    assert record("anonymize", "shop", "clients", "--epsilon", "10001", "--quote")["fits"] is False
    kept = ["--method", "kept-table", "--ask", "job=cook", "--epsilon", "1", "--quote"]
    assert "kept clients" in record("anonymize", "shop", "clients", *kept)["release"]
    assert "it fits" in run("synthesize", "shop", "clients", "--epsilon", "1", "--quote")
    assert "epsilon = 2" in run("synthesize", "shop", "--tables", "clients,baskets", "--epsilon", "2", "--quote")
    assert record("ledger", "show", "shop")[0]["releases"] == 0


REFUSED = [
    ("clients --method magic", "method"),
    ("clients --method diffgen", "target"),
    ("clients --method diffgen --target nobody", "target"),
    ("clients --method diffgen --target paid --columns paid", "target"),
    ("clients --method diffgen --target paid --group job,age", "not allowed for diffgen"),
    ("clients --method diffgen --target paid --taxonomies nowhere.yaml", "taxonomies"),
    ("clients --method diffgen --target paid --taxonomies trees.yaml", "column"),
    ("clients --method diffgen --target job --taxonomies job.yaml", "not for the target"),
    ("clients --method diffgen --target paid --taxonomies less.yaml --columns job,paid", "is missing in it"),
    ("clients --method diffpart", "one column"),
    ("clients --method diffpart --columns age", "categories of age"),
    ("clients --method perturbed-rows", "rows"),
    ("clients --method perturbed-rows --rows 9 --group job,wings", "groups"),
    ("clients --terms age=old", "terms"),
    ("clients --terms job=a,b", "terms"),
    ("clients --terms age=a,b --bins age=3", "without bins"),
    ("clients --columns client,job", "privacy id"),
    ("clients --ask job=cook", "kept-table"),
    ("clients --method kept-table", "kept-table"),
    ("clients --method kept-table --ask job=cook --steps 3", "not allowed with --method kept-table"),
    ("clients --method kept-table --ask job=king", "values of job"),
    ("clients --method kept-table --ask age=3", "values of age"),
    ("clients -o rows.xls", "out"),
    ("clients --report r.pdf", "report"),
    ("--columns job", "one of clients, baskets"),
]


def test_nothing_is_paid_for_what_cannot_be_made(shop: Path) -> None:
    Path("job.yaml").write_text(TREES.split("item:")[0])
    Path("less.yaml").write_text("job: [cook, clerk]\n")
    for text, said in REFUSED:
        words = text.split()
        out = [] if "-o" in words or "kept-table" in words else ["-o", "rows.csv"]
        with pytest.raises(DitherError, match=said):
            run("anonymize", "shop", *words, *out, "--epsilon", "1")
    assert record("ledger", "show", "shop")[0]["releases"] == 0
