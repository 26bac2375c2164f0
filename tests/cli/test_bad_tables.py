"""Bad tables through the command line: a clear error before any charge, or rows all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither.curator.folder import Curator
from dither.data import Column, DataSet, Kind, Table
from dither.errors import DitherError, InvalidParameter
from dither.privacy import ROW, PureDP
from dither.publish.synthetic import plan_synthesis

from .test_publish import record, run

pytest.importorskip("pyarrow")

SCHEMA = """\
dataset: odd
unit: person
contribution: {rows: 2}
tables:
  rows:
    source: rows.csv
    privacy id: person
    columns:
      person: integer
      only: {kind: text, categories: [same]}
      three: {kind: integer, bounds: [3, 3]}
      sex: {kind: text, categories: [f, m], nullable: true}
      share: {kind: real, bounds: [0, 1]}
      number: {kind: integer, bounds: [0, 999999]}
      note: text
      weight: real
  items:
    source: items.csv
    privacy id: person
    columns:
      person: integer
      item: {kind: text, categories: [x, y]}
"""
COLUMNS = "only,three,sex,share"


@pytest.fixture(params=["", "1,same,3,f,0.5,7,a,1.0\n"], ids=["no rows", "one row"])
def odd(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rows.csv").write_text(f"person,only,three,sex,share,number,note,weight\n{request.param}")
    (tmp_path / "items.csv").write_text(f"person,item\n{request.param[:2] and '1,x'}\n")
    (tmp_path / "odd.yaml").write_text(SCHEMA)
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    monkeypatch.setenv("DITHER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    run("init", "home")
    run("add", "odd.yaml", "--budget", "1000", "--allow-empty")
    return tmp_path


def test_no_row_one_row_and_constant_columns_are_tables_like_others(odd: Path) -> None:
    out = ("--epsilon", "1", "-o", "out.csv", "--force")
    for words in (
        ("synthesize", "odd", "rows", "--columns", COLUMNS, "--report", "r.html"),
        ("synthesize", "odd", "rows", "--columns", "three"),
        ("synthesize", "odd", "rows", "--columns", "sex,number", "--method", "independent"),
        ("synthesize", "odd", "--tables", "rows,items", "--columns", f"{COLUMNS},item"),
        ("anonymize", "odd", "rows", "--columns", COLUMNS, "--terms", "share=low,high", "--report", "r.html"),
        ("anonymize", "odd", "rows", "--columns", COLUMNS, "--method", "diffgen", "--target", "only"),
        ("anonymize", "odd", "rows", "--columns", COLUMNS, "--method", "perturbed-rows", "--rows", "3"),
        ("anonymize", "odd", "items", "--method", "diffpart", "--report", "r.html"),
    ):
        run(*words, *out)
    assert record("ledger", "show", "odd")[0]["releases"] == 8


FACTS = {
    # Neither sex, nor none: no row could be drawn.
    "none.yaml": "impossible: [{columns: [sex, only], values: [[f, same], [m, same], [null, same]]}]",
    "loop.yaml": "determined: [{column: sex, by: only, values: {same: f}}, {column: only, by: sex, values: {f: same}}]",
    "alien.yaml": "impossible: [{columns: [sex, only], values: [[king, same]]}]",
    "gap.yaml": "determined: [{column: only, by: sex, values: {f: same}}]",
}
REFUSED = [
    ("synthesize", "only,note", "declared categories"),
    ("synthesize", "only,weight", "declared bounds"),
    ("synthesize --bins number=1000000", "only,number", "at most 65536"),
    ("anonymize --bins number=1000000", "only,number", "at most 65536"),
    ("anonymize --method diffgen --target only", "only,weight", "declared bounds"),
    ("anonymize --method diffpart", "number", "at most 1024"),
    ("anonymize --method diffpart", "note", "declared"),
    ("anonymize --terms weight=low,high", "only,weight", "bounds"),
    *((f"synthesize --constraints {name}", "only,sex", "constraints|impossible|determined|values") for name in FACTS),
]


@pytest.mark.parametrize("odd", [""], ids=["no rows"], indirect=True)
def test_nothing_is_paid_for_what_is_undeclared_too_large_or_contradictory(odd: Path) -> None:
    for name, text in FACTS.items():
        Path(name).write_text(text)
    for words, columns, said in REFUSED:
        verb, *options = words.split()
        with pytest.raises(DitherError, match=said):
            run(verb, "odd", "rows", *options, "--columns", columns, "--epsilon", "1", "-o", "out.csv")
    assert record("ledger", "show", "odd")[0]["releases"] == 0


def test_a_million_categories_are_refused_when_they_are_declared(tmp_path: Path) -> None:
    """A file of so many is not read at all; a schema that was built and could not be read again is not registered."""
    values = ", ".join(f"v{number}" for number in range(10**6))
    text = SCHEMA.replace("note: text", f"note: {{kind: text, categories: [{values}]}}")
    (tmp_path / "odd.yaml").write_text(text)
    curator = Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")
    with pytest.raises(InvalidParameter, match="schema must be at most 4194304 bytes"):
        curator.add(tmp_path / "odd.yaml", budget=PureDP(1))
    long = tuple(f"{number:04}{'v' * 2000}" for number in range(2500))
    table = Table("rows", (Column("note", Kind.TEXT, categories=long, length=3000),), "rows.csv")
    with pytest.raises(InvalidParameter, match="note has 2500 categories, declare fewer"):
        curator.add(DataSet("long", (table,), ROW), budget=PureDP(1))
    assert curator.datasets() == ()
    curator.close()
    many = Column("note", Kind.TEXT, categories=tuple(map(str, range(2**16 + 1))))
    with pytest.raises(InvalidParameter, match="categories of note must be at most 65536"):
        plan_synthesis(DataSet("many", (Table("rows", (many,), "rows.csv"),), ROW), "rows", PureDP(1))
