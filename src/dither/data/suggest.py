"""Drafts of schemas from names and declared types, never from values.

``suggest`` reads the first line of a CSV file, the footer of a Parquet file, the types of a frame, or the catalogue of
a database, and writes a schema in which everything that only the curator can know is ``???``, with a comment that says
what to decide. ``load_schema`` refuses a draft until nothing in it is undecided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dither.data.addresses import expand, has_secret, redact
from dither.data.endings import DELIMITERS
from dither.data.engines.frames import kind_of_frame, labels
from dither.data.expressions import Kind
from dither.data.files import scalar
from dither.data.hints import hint, id_candidates, plain_name, plain_names, role_of
from dither.data.importing.csv_reader import CsvReader
from dither.data.importing.duckdb_tables import parquet_names
from dither.data.importing.excel_reader import excel_names
from dither.data.importing.json_reader import json_names
from dither.data.importing.named_files import NamedFiles
from dither.data.importing.sources import FRAMES, folder_values, is_csv, is_excel, is_json, is_parquet, unknown_kind
from dither.data.kinds import KINDS
from dither.data.schema import ROLES, Column, Table
from dither.data.yaml_tree import UNDECIDED
from dither.errors import EngineUnavailable, InvalidParameter, MissingExtra

__all__ = ["Draft", "described", "suggest", "table_name"]

#: How the names of types begin, in any case, and what they hold. The first that fits counts.
_TYPES: Final = (
    (r"u?(tiny|small|big|huge)int|u?int(eger)?[0-9]*\b|serial|bigserial", Kind.INTEGER),
    (r"float|double|real|decimal|numeric|halffloat", Kind.REAL),
    (r"bool", Kind.BOOLEAN),
    (r"date(32|64)?\b", Kind.DATE),
    (r"timestamp|datetime", Kind.TIMESTAMP),
    (
        r"varchar|char|text|str|string|utf8|large_string|categor|enum|dictionary<values=(large_)?string|bpchar",
        Kind.TEXT,
    ),
)
#: A column: its name, the kind of its declared type, and that type in words ("" where nothing is declared).
Found = tuple[str, Kind | None, str]


@dataclass(frozen=True)
class Draft:
    """A schema that is not decided yet.

    Args:
        text: YAML with ``???`` and comments.
        decisions: the places that must be decided before it can be loaded.
        left_out: columns that no schema can name, with the reason.

    """

    text: str
    decisions: tuple[str, ...]
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        return self.text


def suggest(source: Any, *, name: str | None = None, sheet: str | None = None, delimiter: str | None = None) -> Draft:
    """Return a draft of a schema.

    Args:
        source: the path of a CSV or Parquet file, the address of a PostgreSQL database (then ``name`` is the table in
            it), or a pandas or Polars frame or an Arrow table.
        name: the name of the table; by default that of the file.
        sheet: of a workbook with several.
        delimiter: of a CSV file; by default the one that finds most fields in the first row.

    >>> import pandas
    >>> suggest(pandas.DataFrame({"user_id": [1], "age": [30]}), name="visits").decisions
    ('unit', 'contribution', 'tables.visits.privacy id')

    """
    engine, table, location = "duckdb", name, ""
    if isinstance(source, str | Path) and "://" in str(source):
        engine, table = str(source), name or ""
        found, location = _database(engine, table), table
    elif isinstance(source, NamedFiles):
        found, location = described(source, sheet=sheet, delimiter=delimiter), source.source
        table = name or table_name(source.typed[0])
    elif isinstance(source, str | Path):
        found, location = described(source, sheet=sheet, delimiter=delimiter), str(source)
        table = name or table_name(source)
    else:
        found, table, location = described(source), name or "rows", FRAMES
    read = [(key, value) for key, value in (("sheet", sheet), ("delimiter", delimiter)) if value is not None]
    return _draft(_plain(table or "rows"), location, engine, found, read)


def described(source: Any, *, sheet: str | None = None, delimiter: str | None = None) -> list[Found]:
    """Return the columns of a file or a frame: names, and kinds of the types that it declares. Reads no value.

    Args:
        source: a path, several files that are one table, of which the first one counts, or a frame. Of JSON lines, the
            keys of the first ones are the names.
        sheet: of a workbook with several.
        delimiter: of a CSV file; by default the one that finds most fields in the first row.

    """
    if isinstance(source, NamedFiles):
        found = _file(source.first, sheet, delimiter)
        values = folder_values(Table("t", (Column("c", Kind.TEXT),), source.source), source.files[0])
        # What folders are called is text that declares no type.
        return [*found, *((name, None, "") for name in values if name not in [one for one, *_ in found])]
    return _file(Path(source), sheet, delimiter) if isinstance(source, str | Path) else _frame(source)


def table_name(path: str | Path) -> str:
    """Return the name of a table, made from that of its file.

    >>> table_name("data/visits 2024.csv.gz")
    'visits_2024'
    """
    return _plain(Path(path).name.split(".", 1)[0])


def _draft(
    table: str, location: str, engine: str, found: Sequence[Found], read: Sequence[tuple[str, str]] = ()
) -> Draft:
    columns: list[str] = []
    decisions = ["unit", "contribution", f"tables.{table}.privacy id"]
    left_out = []
    if has_secret(engine):
        decisions.insert(2, "engine")
    listed = [name for name, *_ in found]
    declared = plain_names(listed)
    drafted = []
    for (stored_name, kind, stored), name in zip(found, declared, strict=True):
        reason = unfit(stored_name, kind, stored, listed)
        if reason:
            left_out.append(f"{stored_name}: {reason}")
            columns.append(f"      # omitted: {scalar(stored_name)} {reason}")
            continue
        drafted.append(name)
        is_renamed = name != stored_name
        if kind is None:
            decisions.append(f"tables.{table}.columns.{name}{'.kind' if is_renamed else ''}")
        columns += _renamed(name, stored_name, kind) if is_renamed else [f"      {name}: {_column(name, kind)}"]
    if not drafted:
        raise EngineUnavailable(f"{redact(location)} has no column that a schema can name")
    lines = _lines(table, location, engine, drafted, read)
    return Draft("\n".join([*lines, *columns, *_roles(drafted)]) + "\n", tuple(decisions), tuple(left_out))


def _lines(
    table: str, location: str, engine: str, names: Sequence[str], read: Sequence[tuple[str, str]]
) -> Iterator[str]:
    candidates = id_candidates(names)
    likely = f"; candidates by their names: {', '.join(candidates)}" if candidates else ""
    yield "# A draft from names and declared types: no value was read. Replace every ??? and read every 'decide'."
    if is_json(location):
        yield "# Columns are keys of the first lines, also a key that a single row has, and their names become public:"
        yield "# remove those that you would not know without looking at rows."
    yield f"dataset: {table}"
    yield f"unit: {UNDECIDED}"
    yield "  # decide: person (all rows of one person are protected together) or row (each row alone; only if no person"
    yield "  # has several). 'person replaced' and 'row replaced' compare data sets of the same size."
    yield from (f"  # {kind.hint}" for kind in KINDS.parts.values() if kind.hint)
    yield f"contribution: {UNDECIDED}"
    yield "  # decide, for people: how many rows of one person count in an answer, and in how many groups, such as"
    yield "  # {rows: 10, groups: 2}. More of either needs more noise. For rows: remove this line."
    if has_secret(engine):
        yield f"engine: {UNDECIDED}"
        yield f"  # decide: {scalar(redact(engine))} with ${{NAME}}, a variable of the environment, for the password."
    else:
        yield f"engine: {scalar(engine)}"
    yield "tables:"
    yield f"  {table}:"
    named = [scalar(one) for one in location.split("\n")]
    yield f"    source: {named[0] if len(named) == 1 else '[' + ', '.join(named) + ']'}"
    yield from (f"    {key}: {scalar(value)}" for key, value in read)
    if is_csv(location):
        yield "    # decide: a line 'decimal: \",\"' here, if numbers are written as 3,14."
    yield f"    privacy id: {UNDECIDED}"
    yield f"      # decide: the column that says whose a row is{likely}. For rows: remove this line."
    yield "      # Where only another table says it, declare both tables in one file, and in place of this line"
    yield "      # 'owner: {customer: customers.id}'. A table of public knowledge has 'public: true' and 'key: COLUMN'."
    yield from (f"    # {line}" for kind in KINDS.parts.values() for line in kind.drafted(names))
    yield "    # decide: remove columns that queries should not use."
    yield "    columns:"


def _roles(names: Sequence[str]) -> Iterator[str]:
    """Yield what columns may be to an attacker, as a comment: only disguised tables depend on it."""
    for role in ROLES:
        if found := [name for name in names if role_of(name) == role]:
            yield f"    # For 'dither disguise --schema' alone, perhaps 'role: {role}': {', '.join(found)}"


def _renamed(name: str, stored_name: str, kind: Kind | None) -> list[str]:
    """Return the lines of a column that has another name in its source."""
    declared = _column(name, kind, is_short=False)
    return [f"      {name}:", f"        from: {scalar(stored_name)}", f"        kind: {declared}"]


def _column(name: str, kind: Kind | None, *, is_short: bool = True) -> str:
    """Return the declaration of a column: its known parts, and in a comment what else could be declared.

    Args:
        name: the column.
        kind: that of its declared type.
        is_short: whether the column stands in one line, so that what is declared further takes the kind's place.

    """
    thought = hint(name)
    expected = kind or thought.kind
    further = ""
    if thought.bounds and expected is not None and expected.is_number:
        further = _further(expected, f"bounds: {thought.bounds}", is_short)
    elif thought.is_category and expected is Kind.TEXT:
        further = _further(expected, "categories: [...]", is_short)
    if kind is None:
        guess = f", perhaps {further or thought.kind.value}" if thought.kind else ""
        return f"{UNDECIDED}  # decide: {', '.join(part.value for part in Kind)}{guess}"
    if further and kind.is_number:
        return f"{kind.value}  # decide: to be added up it needs bounds, perhaps {further}"
    if further:
        return f"{kind.value}  # decide: to be grouped by, all its values: {further}"
    if kind.is_number and not id_candidates([name]):
        return f"{kind.value}  # decide: to be added up it needs bounds: {_further(kind, 'bounds: [...]', is_short)}"
    return kind.value


def _further(kind: Kind, said: str, is_short: bool) -> str:
    return f"{{kind: {kind.value}, {said}}}" if is_short else f"{kind.value}, and below it a line '{said}'"


def unfit(name: str, kind: Kind | None, stored: str, listed: Sequence[str]) -> str:
    """Return why no schema can name a column; empty where one can.

    Args:
        name: what its source calls it.
        kind: that of its declared type.
        stored: that type in words.
        listed: all names of the source.

    """
    if listed.count(name) > 1:
        return f"names {listed.count(name)} columns, so that it identifies none of them: give them different names"
    try:
        Column("c", Kind.TEXT, source=name)
    except InvalidParameter as error:
        return f"is not {error.rule}"
    return f"is stored as {stored}, which is not one of the kinds" if kind is None and stored else ""


def _plain(name: str) -> str:
    """Return a name that a schema allows, close to what was given."""
    return plain_name(name.rpartition(".")[2], "t")


def _kind(stored: str) -> Kind | None:
    if re.search(r"\[[0-9]*\]$", stored):  # a list of something
        return None
    for pattern, kind in _TYPES:
        if re.match(pattern, stored.lower()):
            return kind
    return None


def _file(path: Path, sheet: str | None, delimiter: str | None) -> list[Found]:
    if not path.is_file():
        raise EngineUnavailable(f"{path} is no file")
    if sheet is not None and not is_excel(path):
        raise InvalidParameter("sheet", sheet, "omitted, unless the file is a workbook")
    if delimiter is not None and (delimiter not in DELIMITERS or not is_csv(path)):
        raise InvalidParameter("delimiter", delimiter, "a comma, a semicolon, a tab or a bar, for a CSV file")
    if is_parquet(path):
        return [(name, _kind(stored), stored.split("(", 1)[0]) for name, stored in _footer(path)]
    if is_csv(path):
        return [(name, None, "") for name in _header(path, delimiter)]
    if is_json(path):
        return [(name, None, "") for name in json_names(path)]
    if is_excel(path):
        return [(name, None, "") for name in excel_names(path, sheet)]
    raise EngineUnavailable(unknown_kind(path))


def _footer(path: Path) -> list[tuple[str, str]]:
    import duckdb

    readable = True
    with duckdb.connect(":memory:") as connection:
        try:
            described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
            names = parquet_names(connection, str(path))
        except duckdb.Error:
            readable, described, names = False, [], []
    if not readable:
        raise EngineUnavailable(f"{path} cannot be read as Parquet; it is damaged or of another kind")
    # DuckDB renames columns that differ in case alone.
    own = [str(name) for name, *_ in described]
    types = [str(stored) for _, stored, *_ in described]
    return list(zip(names if len(names) == len(own) else own, types, strict=True))


def _header(path: Path, delimiter: str | None = None) -> list[str]:
    try:
        with CsvReader(path, delimiter=delimiter) as reader:
            return list(reader.header.names)
    except (OSError, EngineUnavailable):
        raise EngineUnavailable(
            f"the first line of {path} cannot be read as the names of columns: a CSV file must be text in UTF-8; save "
            "it in that encoding, which Excel calls 'CSV UTF-8'"
        ) from None


def _frame(frame: Any) -> list[Found]:
    kind = kind_of_frame(frame)
    if kind == "pandas.DataFrame":
        names = labels(frame)
        if None in names:
            rule = "a frame whose columns are named by strings or integers: rename them, with levels joined to one name"
            raise InvalidParameter("source", "other labels", rule)
        types = zip(names, map(str, frame.dtypes), strict=True)
        # A column of Python objects declares nothing.
        return [(str(name), _kind(stored), "" if stored == "object" else stored) for name, stored in types]
    if kind == "polars.DataFrame":
        return [(name, _kind(str(stored)), str(stored)) for name, stored in frame.schema.items()]
    if kind in ("pyarrow.Table", "pyarrow.RecordBatch"):
        return [(field.name, _kind(str(field.type)), str(field.type)) for field in frame.schema]
    raise InvalidParameter("source", type(frame).__name__, "a path, an address, or a pandas, Polars or Arrow table")


def _database(address: str, table: str) -> list[Found]:
    """Read the catalogue of a PostgreSQL database: names and types of columns, without any row."""
    if not address.startswith(("postgresql://", "postgres://")):
        raise InvalidParameter("source", redact(address), "a path, or the address of a PostgreSQL database")
    if not table:
        raise InvalidParameter("name", table, "required: the name of a table of the database")
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("reading a PostgreSQL database", "postgres") from None
    schema, _, name = table.rpartition(".")
    question = (
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s "
        "AND (table_schema = %s OR (%s = '' AND table_schema = ANY (current_schemas(false)))) ORDER BY ordinal_position"
    )
    reached, rows = True, []
    try:
        with psycopg.connect(expand(address)) as connection:
            rows = connection.execute(question, (name, schema, schema)).fetchall()
    except psycopg.Error:
        reached = False  # what it says may repeat the address
    if not reached:
        raise EngineUnavailable(f"{redact(address)} cannot be reached or does not answer")
    if not rows:
        raise EngineUnavailable(f"the database has no table {table!r} with columns that this user may see")
    return [(str(label), _kind(str(stored)), str(stored)) for label, stored in rows]
