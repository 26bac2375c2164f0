"""``dither disguise`` and ``dither risk``: from a file to a file and a report, and never silent about guarantees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.data import Column, Kind, wire
from dither.data.files import dump_schema, loads
from dither.data.suggest import suggest
from dither.disguise import WARNING, k_anonymity, l_diversity
from dither.disguise.networks import RandomisedPaths, Weighted
from dither.disguise.table import Table
from dither.errors import InvalidParameter, InvalidSchema

ROWS = "name,age,zip,ill\n" + "".join(f"p{row},{20 + row},{1200 + row % 4},{'abc'[row % 3]}\n" for row in range(24))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(ROWS)
    return tmp_path


def typed(line: str) -> Any:
    found = CliRunner().invoke(app, line.split())
    if isinstance(found.exception, InvalidParameter):
        raise found.exception
    return found


def test_a_file_becomes_a_disguised_one_with_a_report(here: Path) -> None:
    line = "disguise t.csv --quasi age,zip --sensitive ill --identifiers name --k 4 --l 3 -o out.csv --report r.html"
    line += " --map 4,8"
    found = typed(line)
    assert found.exit_code == 0, found.output
    assert WARNING in found.output.replace("\n", " ")
    out = Table.read(here / "out.csv")
    assert out.names == ("age", "zip", "ill")
    assert k_anonymity(out, ("age", "zip")) >= 4
    assert l_diversity(out, ("age", "zip"), "ill") >= 3
    page = (here / "r.html").read_text()
    assert WARNING in page
    assert "Other values of k" in page
    typed(line.replace("out.csv", "l.csv").replace("r.html", "l.html").replace("--map 4,8", "--map l=2,3"))
    assert "Other values of l" in (here / "l.html").read_text()
    assert "with privacy" in page
    with pytest.raises(InvalidParameter, match="force"):
        typed(line)
    again = typed(f"{line} --force --json")
    said = json.loads(again.output)
    assert (said["warning"], said["risk"]["rows"]) == (WARNING, 24)
    told = typed("risk out.csv --quasi age,zip --sensitive ill --population out.csv --json")
    assert json.loads(told.output)["risk"]["smallest"] == said["risk"]["smallest"]
    told = typed(
        "risk out.csv --quasi age,zip --sensitive ill --fraction 0.5 --household zip --report risk.json --verbose"
    )
    assert "Pitman" in told.output
    assert "prosecutor" in told.output
    (here / "ills.yaml").write_text("ill: {mild: [a, b], grave: [c]}\n")
    typed("risk t.csv --quasi age,zip --sensitive ill --hierarchies ills.yaml --report kinds.json")
    kinds = json.loads((here / "kinds.json").read_text())
    assert "similarity" in {one["disguised"]["attack"] for one in kinds["attacks"]}
    assert kinds["read"] == ["Every row has another value of name, which stays: does it name people?"]
    assert json.loads((here / "risk.json").read_text())["warning"] == WARNING


def test_levels_are_chosen_from_hierarchies(here: Path) -> None:
    (here / "levels.yaml").write_text("age: {intervals: [8, 16]}\nzip: {masks: true}\nill: {x: [a, b], y: [c]}\n")
    found = typed(
        "disguise t.csv --quasi age,zip --sensitive ill --k 4 --method optimal --hierarchies levels.yaml "
        "--t 0.5 --distance hierarchical -o out.csv --keep-order --others name"
    )
    assert found.exit_code == 0, found.output
    assert Table.read(here / "out.csv")["name"].cells() == [f"p{row}" for row in range(24)]


@pytest.mark.parametrize(("method", "quasi"), [("k-member", "age,zip"), ("averages", "age")])
def test_other_methods_are_reached_by_name(here: Path, method: str, quasi: str) -> None:
    found = typed(f"disguise t.csv --quasi {quasi} --k 4 --method {method} --identifiers name -o out.csv")
    assert found.exit_code == 0, found.output
    assert k_anonymity(Table.read(here / "out.csv"), quasi.split(",")) >= 4


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("disguise t.csv --quasi age --k 2 -o t.csv --force", "another file"),
        ("disguise t.csv --quasi age --k 2 -o out.txt", "ending in"),
        (
            "disguise t.csv --quasi age --k 2 -o out.csv --method optimal --relaxed --identifiers name",
            "not allowed with optimal",
        ),
        (
            "disguise t.csv --quasi age --k 2 -o out.csv --suppression 0.1 --identifiers name",
            "not allowed with mondrian",
        ),
        ("disguise t.csv --quasi age --k 99 -o out.csv --identifiers name", "number of rows"),
        ("disguise t.csv --quasi age --k 2 -o out.csv", "a list with name, where every row has another value"),
        ("disguise t.csv --quasi age --k 2 -o out.csv --others town", "one of name"),
        ("disguise none.csv --quasi age --k 2 -o out.csv", "existing file"),
        ("disguise t.csv --quasi age --k 2 -o out.csv --map 2,4", "combined with --report"),
        ("disguise t.csv --quasi age --k 2 -o out.csv --report r.html --map 2,x --identifiers name", "integers"),
        ("disguise t.csv --quasi age --k 2 -o out.csv --report r.html --map m=2 --identifiers name", "one of k, l, t"),
        ("disguise t.csv --quasi age --k 2 -o out.csv --report r.html --map t=x --identifiers name", "numbers with"),
        ("disguise t.csv --quasi age --k 2 -o out.csv --report r.html --map 0,2 --identifiers name", "at least 1"),
        ("risk t.csv --quasi age --earlier t.csv", "combined with --report"),
        ("risk t.csv --quasi age --fraction 2", "a share"),
        ("risk t.csv --quasi age --fraction 1e-300", "at most 1,000,000,000,000 people"),
        ("risk t.csv --quasi age --dates year-first", "one of day-first"),
        (
            "disguise t.csv --quasi age --k 2 -o out.csv --report r.html --earlier short.csv --identifiers name",
            "24 rows long",
        ),
        ("risk t.csv --quasi town", "one of name"),
        ("risk t.csv --quasi age --hierarchies h.yaml", "combined with --report"),
    ],
)
def test_what_cannot_be_done_is_said_and_writes_nothing(here: Path, line: str, match: str) -> None:
    (here / "short.csv").write_text("age\n1\n")
    with pytest.raises(InvalidParameter, match=match):
        typed(line)
    assert not (here / "out.csv").exists()
    assert (here / "t.csv").read_text() == ROWS


SCHEMA = """dataset: d
unit: row
tables:
  t:
    source: t.csv
    columns:
      age: {kind: integer, role: quasi}
      post: {from: zip, kind: integer, role: quasi}
      ill: {kind: text, role: ROLE}
"""


def test_a_schema_states_the_roles(here: Path) -> None:
    (here / "s.yaml").write_text(SCHEMA.replace("ROLE", "sensitive"))
    assert typed("disguise t.csv --schema s.yaml --k 4 --l 2 -o out.csv").exit_code == 0
    # The schema does not name the names: as everywhere, other columns are not kept.
    assert Table.read(here / "out.csv").names == ("age", "zip", "ill")
    told = json.loads(typed("risk out.csv --schema s.yaml --table t --json").output)
    assert told["risk"]["guesses"][0]["column"] == "ill"
    (here / "s.yaml").write_text(SCHEMA.replace(", role: ROLE", ""))
    for line, match in (
        ("risk t.csv --schema s.yaml", "role for every column"),
        ("risk t.csv --schema s.yaml --quasi age", "not allowed with"),
        ("risk t.csv --quasi age --table t", "combined with --schema"),
        ("risk t.csv", "one or more columns"),
    ):
        with pytest.raises(InvalidParameter, match=match):
            typed(line)


def test_a_role_is_written_read_and_checked() -> None:
    dataset = loads(SCHEMA.replace("ROLE", "other"))
    assert loads(dump_schema(dataset)) == dataset
    assert [one.role for one in dataset.tables[0].columns] == ["quasi", "quasi", "other"]
    assert wire.decode(wire.encode(dataset)) == dataset
    assert "role" not in wire.encode(Column("age", Kind.INTEGER))
    with pytest.raises(InvalidSchema, match="identifier, quasi, sensitive, other"):
        loads(SCHEMA)


def test_a_draft_proposes_roles_by_names(here: Path) -> None:
    (here / "people.csv").write_text("name,age,diagnosis,note\nAda,3,flu,x\n")
    text = suggest(here / "people.csv").text
    for role, column in (("identifier", "name"), ("quasi", "age"), ("sensitive", "diagnosis")):
        assert f"perhaps 'role: {role}': {column}\n" in text
    assert "'role: other'" not in text


@pytest.fixture
def more(here: Path) -> Path:
    """Files of other kinds: baskets, edges, numbers, another owner's columns."""
    (here / "items.csv").write_text(
        "basket,item\n" + "".join(f"{row},{['apple', 'pear', 'roll'][row % 3]}\n{row},milk\n" for row in range(12))
    )
    (here / "kinds.csv").write_text("apple,fruit\npear,fruit\nroll,bread\nmilk,drink\n")
    (here / "other.csv").write_text("name,town\n" + "".join(f"p{row},{'uv'[row % 2]}\n" for row in range(20)))
    (here / "roads.csv").write_text("from,to,weight\na,b,6\nb,c,5\na,c,13\nc,d,2\n")
    (here / "pairs.csv").write_text("first,last\na,c\n")
    (here / "empty.csv").write_text("age,zip,ill\n")
    return here


QUASI = "--quasi age,zip --sensitive ill"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cells t.csv --method swapping --columns age --share 0.5 --within ill", "found again"),
        ("cells t.csv --method coding --columns age --high 40", "of the cells are others"),
        (f"anatomy t.csv {QUASI} --identifiers name --l 2 --values values.csv", "guessed right"),
        (f"slices t.csv {QUASI} --l 1.2 --together age;zip,ill", "for anybody"),
        ("totals t.csv --by zip,ill --value age --threshold 3", "forbidden by a rule"),
        ("totals t.csv --by zip,ill --value age --round 5 --nearest", "rounded separately to a multiple"),
        ("baskets items.csv --k 3 --m 2 --hierarchy kinds.csv", "baskets at least"),
        ("matrix t.csv --columns age,zip --method rotation --blur 0.5 --known 4", "two degrees"),
        ("matrix t.csv --columns age,zip --method ranks --kept 1 --restore", "wrote the numbers"),
        ("network roads.csv --method paths --pairs pairs.csv", "chosen paths preserved: 1"),
        ("network roads.csv --method alike --directed --k 2 --mu 1", "wrote the edges"),
        ("network roads.csv --method scaled --sigma 0.1", "weights changed"),
        ("network roads.csv --method paths", "no path is promised to stay"),
        ("walks roads.csv --theta 5", "12 of 12 pairs are connected"),
        ("walks roads.csv --directed --pairs pairs.csv", "1 of 1 pairs are connected"),
    ],
)
def test_other_things_are_disguised(more: Path, line: str, said: str) -> None:
    found = typed(f"disguise {line} -o out.csv")
    assert found.exit_code == 0, found.output
    assert said in found.output
    assert "No formal guarantee" in found.output
    assert (more / "out.csv").read_text()
    again = json.loads(typed(f"disguise {line} -o out.csv --force --json").output)
    assert "No formal guarantee" in again["warning"]
    assert str(again["written"])


def test_joined_columns_have_classes_of_k(more: Path) -> None:
    found = typed("disguise join t.csv other.csv --person name --quasi age,zip,town --k 4 -o out.csv")
    assert found.exit_code == 0, found.output
    assert "left learns" in found.output
    joined = Table.read(more / "out.csv")
    assert "name" not in joined.names
    assert len(joined) == 20
    assert k_anonymity(joined, ("age", "zip", "town")) >= 4


def test_releases_are_checked_together(more: Path) -> None:
    line = "disguise releases t.csv t.csv --person name --quasi zip --sensitive ill"
    (pair,) = json.loads(typed(f"{line} --json").output)["pairs"]
    assert (pair["people"], pair["common"], pair["added"]) == (24, 3, None)
    assert (
        "people are in both" in typed("disguise releases t.csv t.csv --person name --quasi zip --sensitive ill").output
    )


def test_weights_and_wildcards_are_read(here: Path) -> None:
    (here / "w.csv").write_text("age,w\n1,4\n1,2\n,3\n2,5\n")
    told = json.loads(typed("risk w.csv --quasi age --weights w --missing wildcard --json").output)
    assert (told["weights"]["population"], told["fitting"]) == (14, 2)
    shown = typed("risk w.csv --quasi age --weights w --missing wildcard --report r.html").output
    assert "By the weights" in shown
    assert "at least 2 rows fit each row" in shown


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("cells t.csv --method melting --columns age", "one of"),
        ("cells t.csv --method coding --columns age,zip", "one column"),
        ("cells t.csv --method noise --columns age --share 0.5", "not allowed with noise"),
        ("totals t.csv --by zip,ill --value age", "one or more of --threshold"),
        ("totals t.csv --by zip,ill --value age --dominance x", "two numbers"),
        ("totals t.csv --by zip --value age --threshold 2", "two columns"),
        ("totals t.csv --by zip,ill --value age --threshold 2 --nearest", "combined with --round"),
        ("totals t.csv --by zip,ill --value name --threshold 2", "a number in every row"),
        ("baskets items.csv --k 99", "baskets with items, 12"),
        ("baskets items.csv --k 2 --item none", "one of basket"),
        ("join t.csv other.csv --person name --quasi age --k 2", "has at least one"),
        ("join t.csv other.csv --person name --quasi age,nil --k 2", "one of the files"),
        ("matrix t.csv --method rotation", "a number in every row"),
        ("matrix t.csv --columns age --method ranks", "required with ranks"),
        ("matrix t.csv --columns age --method noise", "above 0 with noise"),
        ("matrix t.csv --columns age --method wavelets --blur 1", "not allowed with wavelets"),
        ("matrix t.csv --columns age --method magic", "one of rotation"),
        ("matrix t.csv --columns age --method rotation --share 0.1", "not allowed with rotation"),
        ("matrix t.csv --columns age --method ranks --kept 1 --bases haar", "not allowed with ranks"),
        ("matrix t.csv --columns age --method rotation --known 24", "fewer than the 24 rows"),
        ("matrix empty.csv --method rotation", "one or more rows"),
        ("network empty.csv --ends age,zip --weight ill --method scaled", "one or more rows"),
        ("network roads.csv --method paths --sigma 0.1", "not allowed with paths"),
        ("network roads.csv --method scaled --reach 0.1", "not allowed with scaled"),
        ("walks roads.csv --theta 0", "above 0"),
        ("walks roads.csv --theta 1e-14", "larger: walks hardly lose weight"),
        ("walks roads.csv --theta 1e6", "smaller: some walks weigh nothing"),
        ("network roads.csv --method alike --k 2 --mu 1", "set with alike"),
        ("network roads.csv --method alike --directed --k 2", "required with alike"),
        ("network roads.csv --method scaled --k 2", "not allowed with scaled"),
        ("network roads.csv --method magic", "one of scaled"),
        ("network roads.csv --method scaled --pairs pairs.csv", "not allowed with scaled"),
        ("network roads.csv --method scaled --ends from", "two columns"),
    ],
)
def test_what_other_verbs_cannot_do_is_said(more: Path, line: str, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        typed(f"disguise {line} -o out.csv")
    assert not (more / "out.csv").exists()


@pytest.mark.parametrize(
    ("rows", "pairs", "match"),
    [
        ("a,b,0", "", "row 1 must be above zero, between a and b"),
        ("a,b,-1", "", "row 1 must be above zero, between a and b"),
        ("a,b,1e-320", "", "row 1 must be from 1e-140 to 1e"),
        ("a,b,1\nb,a,2", "", "row 2 must be an edge that is listed once"),
        ("a,a,1", "", "two different nodes"),
        ("a,b,1\nc,d,1", "a,d", r"connected by a path, got \('a', 'd'\)"),
        ("a,b,1", "a,z", "nodes of the network"),
        ("a,b,1", "a,a", "two different nodes"),
        ("a,,1", "", "a node in every row"),
        ("a,b,x", "", "a number in every row"),
    ],
)
def test_wrong_edges_are_named_as_they_are_written(here: Path, rows: str, pairs: str, match: str) -> None:
    (here / "g.csv").write_text(f"from,to,weight\n{rows}\n")
    (here / "p.csv").write_text(f"x,y\n{pairs}\n")
    with pytest.raises(InvalidParameter, match=match):
        typed("disguise network g.csv --method paths --pairs p.csv -o out.csv")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("zip: [[[", "a file of YAML"),
        ("town: {masks: true}", "mapping from columns: age, zip"),
        ("zip: {intervals: [2, 3]}", "hierarchy of zip must be positive"),
        ("zip: {file: none.csv}", "hierarchy of zip must be an existing file"),
        ("zip: {file: bytes.csv}", "hierarchy of zip must be rows of cells in UTF-8"),
        ("zip: {file: cycle.csv}", "hierarchy of zip must be without cycles"),
        ("zip: {file: gap.csv}", "hierarchy of zip must be without gaps"),
        ("zip: {file: parents.csv}", "hierarchy of zip must be one parent for every label"),
        ("zip: &z {a: *z}", "without cycles: a part of the file is below itself"),
        ("zip: {masks: true}\nzip: {flat: true}", "each label once below its node, got 'zip'"),
        ("zip: {x: [a]}", "zip must be a value that its hierarchy has a line for, got '1200'"),
        ("zip: {x: ['1200'], y: ['1200']}", "hierarchy of zip must be a tree"),
        ("zip: {x: ['1200', '1201']}", "zip must be a value that its hierarchy has a line for, got '120[23]'"),
    ],
)
def test_wrong_hierarchies_are_named_with_their_column(here: Path, text: str, match: str) -> None:
    (here / "h.yaml").write_text(text)
    (here / "bytes.csv").write_bytes(b"\xff\xfe\n")
    (here / "cycle.csv").write_text("a,b\nb,a\n")
    (here / "gap.csv").write_text("a,x,u\nb,,v\n")
    (here / "parents.csv").write_text("a,x,u\nb,x,v\n")
    line = "disguise t.csv --quasi age,zip --k 2 -o out.csv --identifiers name --method mondrian --hierarchies h.yaml"
    if "120[23]" in match:
        line = line.replace("age,zip", "zip").replace("mondrian", "optimal").replace("name", "name,age")
    with pytest.raises(InvalidParameter, match=match):
        typed(line)


def test_an_ordinary_file_is_read_as_it_is_meant(here: Path) -> None:
    rows = [
        f"Ann {row},{row // 2},{1 + row % 28:02}/0{1 + row % 3}/2021,{'n/a' if row == 3 else 20 + row},{'abc'[row % 3]}"
        for row in range(24)
    ]
    (here / "p.csv").write_text("\n".join(["who,nhs,seen,age,ill", *rows]) + "\n")
    line = "disguise p.csv --quasi age,seen --sensitive ill --identifiers who --k 4 -o out.csv"
    plain = typed(line).output.replace("\n", " ")
    assert "because of 'n/a' among its numbers: --null n/a reads it as missing" in plain
    assert "set --dates day-first or month-first for dates" in plain
    said = json.loads(typed(f"{line} --null n/a --dates day-first --force --json").output)
    assert said["read"] == [
        "seen is read as dates, day-first, and written as year, month and day.",
        "age: 1 cells are read as missing.",
    ]
    out = Table.read(here / "out.csv")
    assert all(" to " in cell or len(cell) == 10 for cell in out["seen"].values)
    assert not any("|" in cell and "?" not in cell for cell in out["age"].values)
    found = json.loads(typed("risk p.csv --quasi age,seen --sensitive ill --null n/a --dates day-first --json").output)
    assert "Every row has another value of who, which stays: does it name people?" in found["read"]
    verb = "disguise slices p.csv --quasi seen --sensitive ill --l 1.2 --dates day-first -o other.csv"
    assert "read as dates" in typed(verb).output


def test_guards_and_freeform_conclusions_are_told(here: Path) -> None:
    (here / "g.csv").write_text("age,ill,hides\n3,flu,lungs\n3,rash,\n3,rash,rash\n4,cold,\n")
    (here / "ills.csv").write_text("flu,lungs\ncold,lungs\nrash,skin\n")
    line = "disguise guards g.csv --quasi age --sensitive ill --guard hides --hierarchy ills.csv"
    assert json.loads(typed(f"{line} --json").output)["most"] == pytest.approx(2 / 3)
    assert "66.7% at most" in typed(line).output
    (here / "ills.yaml").write_text("ill: {lungs: [flu, cold], skin: [rash]}\n")
    assert "66.7% at most" in typed(line.replace("ills.csv", "ills.yaml")).output
    (here / "ills.csv").write_text("flu,lungs\ncold,lungs\n")
    with pytest.raises(InvalidParameter, match="ill must be a value that its hierarchy has a line for, got 'rash'"):
        typed(line)
    with pytest.raises(InvalidParameter, match="one column"):
        typed(line.replace("--sensitive ill", "--sensitive ill,age"))
    seen = json.loads(typed("disguise freeform g.csv --observable age --columns age,ill --json").output)
    assert (seen["share"], seen["told"]) == (1, {"column": "ill", "value": "cold"})
    told = typed("disguise freeform g.csv --observable age=3 --observable ill=flu --columns age,ill").output
    assert "anyone who has seen age = 3 knows ill = rash with probability 66.7%" in told
    assert "nothing follows" in typed("disguise freeform g.csv --observable age,ill,hides").output
    with pytest.raises(InvalidParameter, match="observable must be a value of ill, got 'gout'"):
        typed("disguise freeform g.csv --observable ill=gout")
    with pytest.raises(InvalidParameter, match="one of age"):
        typed("disguise freeform g.csv --observable town")


def test_walks_are_as_long_as_the_library_says(more: Path) -> None:
    assert typed("disguise walks roads.csv --theta 5 -o out.csv").exit_code == 0
    out = Table.read(more / "out.csv").columns()
    graph = Weighted.of([(0, 1, 6), (1, 2, 5), (0, 2, 13), (2, 3, 2)])
    means = RandomisedPaths.of(graph, 5.0).mean_lengths()
    numbers = {node: place for place, node in enumerate("abcd")}
    for first, last, shortest, walked in zip(*out.values(), strict=True):
        pair = numbers[first], numbers[last]
        assert float(walked) == pytest.approx(means[pair])
        assert float(shortest) == pytest.approx(graph.lengths()[pair])
        assert float(walked) >= float(shortest) - 1e-9
