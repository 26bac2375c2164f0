"""Schema files: what is read is what is written, and every error names its place."""

import contextlib
import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.data import Column, DataSet, Kind, Table
from dither.data.addresses import expand, has_secret, redact
from dither.data.files import dump_schema, load_schema, loads
from dither.data.schema import person_unit
from dither.data.yaml_tree import DEEPEST, LARGEST_TEXT
from dither.errors import DitherError, EngineUnavailable, InvalidParameter, InvalidSchema
from dither.privacy import ROW, ROW_REPLACED, Relation, Unit

CLINIC = """\
dataset: clinic
unit: person                # person | row | row replaced | person replaced
contribution: {rows: 20, groups: 5, rows per group: 4}
engine: duckdb
tables:
  visits:
    source: visits.csv
    privacy id: patient
    columns:
      patient: integer                      # short form: just the kind
      age: {kind: integer, bounds: [0, 120]}
      region: {kind: text, categories: [north, south, east, no], nullable: true}
      cost: {kind: real, bounds: [0, 5e3], description: "what was paid: in all"}
      day: {kind: date, bounds: [2024-01-01, 2024-12-31]}
      at: {kind: timestamp, bounds: [2024-01-01, 2024-12-31 23:59:59.5]}
      smokes: boolean
  regions:
    public: true
    key: region
    source: regions.csv
    columns: {region: text, population: integer}
"""


def test_the_rows_of_a_public_table_are_read_and_written():
    dataset = loads(CLINIC.replace("key: region", "rows: 12"))
    assert dataset.table("regions").rows == 12
    assert loads(dump_schema(dataset)) == dataset
    assert loads(CLINIC).table("regions").rows is None


def test_a_whole_schema():
    dataset = loads(CLINIC)
    assert dataset == DataSet(
        "clinic",
        (
            Table(
                "visits",
                (
                    Column("patient", Kind.INTEGER),
                    Column("age", Kind.INTEGER, lower=0, upper=120),
                    # A word that YAML itself would take for false stays the word.
                    Column("region", Kind.TEXT, categories=("north", "south", "east", "no"), nullable=True),
                    Column("cost", Kind.REAL, lower=0, upper=5000.0, description="what was paid: in all"),
                    Column("day", Kind.DATE, lower=datetime.date(2024, 1, 1), upper=datetime.date(2024, 12, 31)),
                    Column(
                        "at",
                        Kind.TIMESTAMP,
                        lower=datetime.datetime(2024, 1, 1),
                        upper=datetime.datetime(2024, 12, 31, 23, 59, 59, 500000),
                    ),
                    Column("smokes", Kind.BOOLEAN),
                ),
                "visits.csv",
                person="patient",
            ),
            Table(
                "regions",
                (Column("region", Kind.TEXT), Column("population", Kind.INTEGER)),
                "regions.csv",
                is_public=True,
                key=("region",),
            ),
        ),
        person_unit("patient"),
        rows=20,
        groups=5,
        rows_per_group=4,
    )
    assert loads(dump_schema(dataset)) == dataset


@pytest.mark.parametrize(
    ("word", "unit"),
    [
        ("person", person_unit("patient")),
        ("person replaced", person_unit("patient", replaced=True)),
        ("{kind: person, id: citizen}", person_unit("citizen")),
    ],
)
def test_units_of_persons(word, unit):
    dataset = loads(CLINIC.replace("unit: person ", f"unit: {word} "))
    assert dataset.unit == unit
    assert loads(dump_schema(dataset)) == dataset


@pytest.mark.parametrize(("word", "unit"), [("row", ROW), ("row replaced", ROW_REPLACED)])
def test_units_of_rows(word, unit):
    text = CLINIC.replace("unit: person ", f"unit: {word} ").replace("    privacy id: patient\n", "")
    text = text.replace("contribution: {rows: 20, groups: 5, rows per group: 4}\n", "")
    dataset = loads(text)
    assert dataset.unit == unit
    assert loads(dump_schema(dataset)) == dataset


#: what is replaced in the schema above, by what, and what the error must say
MISTAKES = {
    "misspelt key": ("privacy id:", "privacy_id:", r"tables\.visits\.privacy_id \(line 8\).*'privacy id'"),
    "unknown key": ("engine: duckdb", "colour: red", r"^colour \(line 4\) must be one of the keys dataset"),
    "bounds swapped": ("[0, 120]", "[120, 0]", r"tables\.visits\.columns\.age\.bounds \(line 11\).*ascending"),
    "one bound": ("[0, 120]", "[0]", r"columns\.age\.bounds .*\[least, largest\]"),
    "bounds of another kind": ("[0, 120]", "[0, old]", r"columns\.age\.bounds\[1\] .*an integer, got 'old'"),
    "a real bound of integers": ("[0, 120]", "[0, 12.5]", r"columns\.age\.bounds\[1\] .*an integer"),
    "beyond 64 bits": ("[0, 120]", "[0, 9223372036854775808]", r"columns\.age\.bounds\[1\]"),
    "bound that is no number": ("[0, 5e3]", "[0, .inf]", r"columns\.cost\.bounds\[1\] .*a real"),
    "no such day": ("2024-12-31]", "2024-02-31]", r"columns\.day\.bounds\[1\] .*a date"),
    "bounds of a text": ("categories: [north, south, east, no]", "bounds: [a, b]", r"columns\.region\.bounds"),
    "category twice": ("[north, south, east, no]", "[north, north]", r"columns\.region\.categories .*different"),
    "no category": ("[north, south, east, no]", "[]", r"columns\.region\.categories"),
    "category empty": ("[north, south, east, no]", "[north, ]x", "schema"),
    "categories no list": ("[north, south, east, no]", "north", r"columns\.region\.categories .*a list"),
    "unknown kind": ("smokes: boolean", "smokes: bool", r"columns\.smokes .*boolean, integer, real"),
    "kind left out": ("{kind: integer, bounds: [0, 120]}", "{bounds: [0, 120]}", r"columns\.age\.kind"),
    "bad name": ("smokes: boolean", "1st: boolean", r"columns\.1st .*letters"),
    "hidden name": ("smokes: boolean", "__person: boolean", r"columns\.__person .*two underscores"),
    "names that differ in case": ("smokes: boolean", "AGE: integer", r"tables\.visits\.columns .*different"),
    "column twice": ("smokes: boolean", "age: integer", r"tables\.visits\.columns .*repeated"),
    "id is no column": ("privacy id: patient", "privacy id: doctor", r"tables\.visits\.privacy id .*a column"),
    "id left out": ("    privacy id: patient\n", "", r"unit .*privacy id"),
    "key is no column": ("key: region", "key: [land]", r"tables\.regions\.key .*columns"),
    "rows of a public table": ("key: region", "rows: 0", r"tables\.regions\.rows .*at least 1"),
    "rows in words": ("key: region", "rows: few", r"tables\.regions\.rows .*an integer"),
    "rows of a private table": (
        "    privacy id: patient\n",
        "    privacy id: patient\n    rows: 3\n",
        r"rows .*public",
    ),
    "public unclear": ("public: true", "public: maybe", r"tables\.regions\.public .*true or false"),
    "source left out": ("    source: visits.csv\n", "", r"tables\.visits\.source .*given"),
    "unknown unit": ("unit: person ", "unit: household ", r"^unit \(line 2\).*person, row"),
    "unit left out": ("unit: person ", "#", r"^unit .*given"),
    "no limit": ("contribution: {rows: 20, groups: 5, rows per group: 4}\n", "", r"contribution\.rows .*required"),
    "limit zero": ("{rows: 20,", "{rows: 0,", r"contribution\.rows .*at least 1.*got 0"),
    "limit in words": ("{rows: 20,", "{rows: many,", r"contribution\.rows .*an integer"),
    "limit for joins": ("rows per group: 4}", "rows per join: 9999}", r"contribution\.rows per join .*at most 4096"),
    "time limit zero": ("engine: duckdb", "time limit: 0", r"^time limit \(line 4\) .*at least 1"),
    "time limit in words": ("engine: duckdb", "time limit: soon", r"^time limit .*an integer, got 'soon'"),
    "length of a number": (
        "kind: integer, bounds",
        "kind: integer, length: 5, bounds",
        r"columns\.age\.length .*absent",
    ),
    "length too large": ("kind: text, cat", "kind: text, length: 100000, cat", r"columns\.region\.length .*65536"),
    "category too long": (
        "kind: text, cat",
        "kind: text, length: 4, cat",
        r"columns\.region\.categories .*4 characters",
    ),
    "undecided": ("smokes: boolean", "smokes: ???", r"columns\.smokes .*decided by the curator"),
    "undecided in brackets": ("[0, 120]", "[0, ???]", r"line 11\) .*decided by the curator"),
    "undecided unit": ("unit: person ", "unit: ??? ", r"^unit .*decided by the curator"),
    "an alias": ("smokes: boolean", "smokes: &a boolean", "anchor"),
    "a tag": ("smokes: boolean", "smokes: !!python/name:os.system boolean", "tag"),
    "two documents": ("tables:", "---\ntables:", "schema"),
    "no YAML": ("tables:", "tables: [", r"schema \(line"),
    "a control sign": ("north", "nor\x07th", "schema"),
    "a secret": ("engine: duckdb", "engine: postgresql://ana:hunter2@db/clinic", r"engine .*\$\{NAME\}"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named_with_their_place(mistake):
    old, new, message = MISTAKES[mistake]
    assert old in CLINIC
    with pytest.raises(InvalidSchema, match=message) as caught:
        loads(CLINIC.replace(old, new, 1))
    assert "hunter2" not in str(caught.value)


def test_what_is_too_deep_or_too_large_is_refused_at_once():
    with pytest.raises(InvalidSchema, match="levels"):
        loads("dataset: " + "[" * 100_000)
    with pytest.raises(InvalidSchema, match="levels"):
        loads("dataset: " + "[" * DEEPEST + "]" * DEEPEST)
    with pytest.raises(InvalidSchema, match="at most"):
        loads("#" * (LARGEST_TEXT + 1))
    # Nine levels of aliases would be a thousand million texts.
    laughs = "a0: &a0 ha\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
    with pytest.raises(InvalidSchema, match="anchor"):
        loads(laughs)


@pytest.mark.parametrize("text", ["", "# nothing\n", "7", "[]", "? [a]\n: b\n", "dataset: clinic\n"])
def test_what_is_no_schema(text):
    with pytest.raises(InvalidSchema):
        loads(text)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_damaged_schemas_give_only_our_errors(data):
    start = data.draw(st.integers(0, len(CLINIC)))
    end = data.draw(st.integers(start, min(len(CLINIC), start + 40)))
    damaged = (
        CLINIC[:start] + data.draw(st.text(max_size=8) | st.sampled_from(["- ", ": ", "{", "]", "\n"])) + CLINIC[end:]
    )
    with contextlib.suppress(InvalidSchema):
        loads(damaged)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidSchema, match="can be read"):
        load_schema(tmp_path / "absent.yaml")
    with pytest.raises(InvalidSchema, match="can be read"):
        load_schema(tmp_path)
    path = tmp_path / "schema.yaml"
    path.write_bytes(b"dataset: caf\xe9\n")
    with pytest.raises(InvalidSchema, match="UTF-8"):
        load_schema(path)
    path.write_text(CLINIC)
    assert load_schema(path) == loads(CLINIC)


# ------------------------------------------------------------------------------------------------------- round trips

_names = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True)
_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6)
_values = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    Kind.REAL: st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60),
    Kind.TEXT: _texts,
    Kind.DATE: st.dates(),
    Kind.TIMESTAMP: st.datetimes(),
}


@st.composite
def columns(draw, name, kind=None):
    kind = kind or draw(st.sampled_from(Kind))
    lower = upper = None
    if kind not in (Kind.TEXT, Kind.BOOLEAN) and draw(st.booleans()):
        lower, upper = sorted((draw(_values[kind]), draw(_values[kind])))
    categories = draw(st.none() | st.lists(_values[kind], min_size=1, max_size=4, unique=True).map(tuple))
    length = draw(st.none() | st.integers(6, 65_536)) if kind is Kind.TEXT else None
    return Column(name, kind, lower, upper, categories, draw(st.booleans()), draw(_texts), length)


@st.composite
def datasets(draw):
    by_person = draw(st.booleans())
    replaced = draw(st.booleans())
    id_kind = draw(st.sampled_from(Kind))
    names = draw(st.lists(_names, min_size=1, max_size=3, unique_by=str.lower))
    tables = []
    for number, name in enumerate(names):
        labels = draw(st.lists(_names, min_size=1, max_size=3, unique_by=str.lower))
        is_public = number > 0 and draw(st.booleans())
        person = labels[0] if by_person and not is_public else None
        parts = tuple(draw(columns(label, id_kind if label == person else None)) for label in labels)
        key = (labels[0],) if is_public and draw(st.booleans()) else ()
        source = draw(_texts.filter(lambda text: text != ""))
        tables.append(Table(name, parts, source, person, is_public, key))
    seconds = draw(st.none() | st.integers(1, 604_800))
    if not by_person:
        return DataSet(draw(_names), tuple(tables), ROW_REPLACED if replaced else ROW, time_limit=seconds)
    limits = {"rows": draw(st.integers(1, 9)), "groups": draw(st.none() | st.integers(1, 9))}
    unit = person_unit(draw(st.sampled_from([tables[0].person, "citizen"])), replaced=replaced)
    engine = draw(st.sampled_from(["duckdb", "spark", "postgresql://ana:${SECRET}@db:5432/clinic?sslmode=require"]))
    limits["rows_per_join"] = draw(st.none() | st.integers(1, 4096))
    return DataSet(draw(_names), tuple(tables), unit, engine=engine, time_limit=seconds, **limits)


@settings(deadline=None, max_examples=50)
@given(datasets())
def test_dump_and_load_undo_each_other(dataset):
    again = loads(dump_schema(dataset))
    assert again == dataset
    assert dump_schema(again) == dump_schema(dataset)


# --------------------------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ana:hunter2@db/clinic", "postgresql://ana:***@db/clinic"),
        ("postgresql://ana:hunter2/@:@db:5432/clinic", "postgresql://ana:***@db:5432/clinic"),
        ("postgresql://db/clinic?user=ana&password=hunter2&x=1", "postgresql://db/clinic?user=ana&password=***&x=1"),
        ("postgresql://ana:${A}hunter2@db", "postgresql://ana:***@db"),
        ("postgresql://:hunter2@db", "postgresql://:***@db"),
    ],
)
def test_secrets_are_never_shown(address, shown):
    assert redact(address) == shown
    assert has_secret(address)
    dataset = DataSet("clinic", (Table("t", (Column("a", Kind.TEXT),), "t"),), ROW, engine=address)
    assert "hunter2" not in repr(dataset)
    with pytest.raises(InvalidSchema) as caught:
        dump_schema(dataset)
    assert "hunter2" not in str(caught.value)


def test_variables_of_the_environment(monkeypatch):
    address = "postgresql://${WHO}:${DITHER_TEST_SECRET}@db:5432/clinic"
    monkeypatch.setenv("WHO", "ana")
    monkeypatch.delenv("DITHER_TEST_SECRET", raising=False)
    assert not has_secret(address)
    assert redact(address) == address
    with pytest.raises(EngineUnavailable, match="DITHER_TEST_SECRET"):
        expand(address)
    monkeypatch.setenv("DITHER_TEST_SECRET", "hunter2")
    assert expand(address) == "postgresql://ana:hunter2@db:5432/clinic"
    text = CLINIC.replace("engine: duckdb", f'engine: "{address}"')
    assert "hunter2" not in dump_schema(loads(text))
    # Only the engine's address is looked up in the environment.
    assert loads(CLINIC.replace("visits.csv", '"${WHO}.csv"')).table("visits").source == "${WHO}.csv"


def test_a_unit_that_no_file_can_say():
    odd = Unit("person", Relation.ADD_REMOVE, "everybody")
    dataset = DataSet("clinic", (Table("t", (Column("a", Kind.TEXT),), "t", person="a"),), odd, rows=1)
    with pytest.raises(InvalidSchema, match="unit"):
        dump_schema(dataset)
    assert issubclass(InvalidSchema, InvalidParameter)
    assert issubclass(InvalidSchema, DitherError)


def test_a_decimal_comma_is_declared_for_csv_alone_and_written_back() -> None:
    text = "dataset: few\nunit: row\ntables:\n  few:\n    source: {}\n    decimal: '{}'\n    columns: {{a: real}}\n"
    declared = loads(text.format("few.csv", ","))
    assert declared.tables[0].decimal == ","
    assert loads(dump_schema(declared)) == declared
    assert loads(text.format("few.parquet", ".")).tables[0].decimal is None
    assert "decimal" not in dump_schema(loads(text.format("few.csv", ".")))
    for source, decimal in (("few.parquet", ","), ("frames", ","), ("few.csv", ";")):
        with pytest.raises(InvalidSchema, match=r"tables\.few\.decimal \(line 6\) must be ','.*omitted otherwise"):
            loads(text.format(source, decimal))


def test_forms_are_declared_by_column_and_written_back() -> None:
    text = (
        "dataset: few\nunit: row\n{}tables:\n  few:\n    source: {}\n    columns:\n      a: {{kind: date, form: {}}}\n"
    )
    declared = loads(text.format("", "few.csv", "[DD.MM.YYYY, ISO]"))
    assert declared.tables[0].column("a").form == ("DD.MM.YYYY", "ISO")
    assert loads(dump_schema(declared)) == declared
    assert declared.tables[0].as_copied.column("a").forms == ()
    priced = loads(text.format("", "few.csv", '"1.234,56 €"').replace("date", "real"))
    assert loads(dump_schema(priced)) == priced
    with pytest.raises(InvalidSchema, match=r"tables\.few\.columns\.a\.form \(line 7\) must be ISO, or a pattern"):
        loads(text.format("", "few.csv", "days"))
    for engine, source in (("engine: spark\n", "few.parquet"), ("engine: postgresql://u@h/d\n", "few")):
        with pytest.raises(InvalidSchema, match=r"columns\.a\.form \(line 8\) must be absent"):
            loads(text.format(engine, source, "ISO"))
