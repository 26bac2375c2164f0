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
from dither.data.expressions import Kind
from dither.data.files import scalar
from dither.data.hints import hint, id_candidates
from dither.data.importing.csv_reader import CsvReader
from dither.data.importing.sources import CSV_ENDINGS, FRAMES, PARQUET_ENDINGS, is_csv, is_parquet
from dither.data.schema import check_name
from dither.data.yaml_tree import UNDECIDED
from dither.errors import EngineUnavailable, InvalidParameter, MissingExtra

__all__ = ["Draft", "suggest"]

#: How the names of types begin, in any case, and what they hold. The first that fits counts.
_TYPES: Final = (
    (r"u?(tiny|small|big|huge)int|u?int(eger)?[0-9]*\b|serial|bigserial", Kind.INTEGER),
    (r"float|double|real|decimal|numeric|halffloat", Kind.REAL),
    (r"bool", Kind.BOOLEAN),
    (r"date(32|64)?\b", Kind.DATE),
    (r"timestamp(?!.*(tz|with time zone))|datetime(?!.*(tz|time_zone='|, [a-z]+(/|\])))", Kind.TIMESTAMP),
    (
        r"varchar|char|text|str|string|utf8|large_string|categor|enum|dictionary<values=(large_)?string|bpchar",
        Kind.TEXT,
    ),
)
#: A column: its name, the kind of its declared type, and that type in words ("" where nothing is declared).
_Found = tuple[str, Kind | None, str]


@dataclass(frozen=True)
class Draft:
    """A schema that is not decided yet.

    Args:
        text: YAML with ``???`` and comments.
        decisions: the places that must be decided before it can be loaded.
        left_out: columns that no schema can name as they are, with the reason.

    """

    text: str
    decisions: tuple[str, ...]
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        return self.text


def suggest(source: Any, *, name: str | None = None) -> Draft:
    """Return a draft of a schema.

    Args:
        source: the path of a CSV or Parquet file, the address of a PostgreSQL database (then ``name`` is the table in
            it), or a pandas or Polars frame or an Arrow table.
        name: what the table is to be called; by default after the file.

    >>> import pandas
    >>> suggest(pandas.DataFrame({"user_id": [1], "age": [30]}), name="visits").decisions
    ('unit', 'contribution', 'tables.visits.privacy id')

    """
    engine, table, location = "duckdb", name, ""
    if isinstance(source, str | Path) and "://" in str(source):
        engine, table = str(source), name or ""
        found, location = _database(engine, table), table
    elif isinstance(source, str | Path):
        path = Path(source)
        found, location = _file(path), str(path)
        table = name or path.name.split(".", 1)[0]
    else:
        found, table, location = _frame(source), name or "rows", FRAMES
    return _draft(_plain(table or "rows"), location, engine, found)


def _draft(table: str, location: str, engine: str, found: Sequence[_Found]) -> Draft:
    columns: list[str] = []
    decisions = ["unit", "contribution", f"tables.{table}.privacy id"]
    left_out, seen = [], set[str]()
    if has_secret(engine):
        decisions.insert(2, "engine")
    for name, kind, stored in found:
        reason = _unfit(name, kind, stored, seen)
        if reason:
            left_out.append(f"{name}: {reason}")
            columns.append(f"      # left out: {scalar(name)} {reason}")
            continue
        seen.add(name.lower())
        if kind is None:
            decisions.append(f"tables.{table}.columns.{name}")
        columns.append("      " + _column(name, kind))
    if not seen:
        raise EngineUnavailable(f"{redact(location)} has no column that a schema can name")
    candidates = id_candidates(name for name, *_ in found if name.lower() in seen)
    lines = _lines(table, location, engine, candidates)
    return Draft("\n".join([*lines, *columns]) + "\n", tuple(decisions), tuple(left_out))


def _lines(table: str, location: str, engine: str, candidates: Sequence[str]) -> Iterator[str]:
    likely = f"; candidates by their names: {', '.join(candidates)}" if candidates else ""
    yield "# A draft from names and declared types: no value was read. Replace every ??? and read every 'decide'."
    yield f"dataset: {table}"
    yield f"unit: {UNDECIDED}"
    yield "  # decide: person (all rows of one person are protected together) or row (each row alone; only if no person"
    yield "  # has several). 'person replaced' and 'row replaced' compare data sets of the same size."
    yield f"contribution: {UNDECIDED}"
    yield "  # decide, for persons: how many rows of one person count in an answer, such as {rows: 10}, or"
    yield "  # {groups: 3, rows per group: 2}. More rows need more noise. For rows: remove this line."
    if has_secret(engine):
        yield f"engine: {UNDECIDED}"
        yield f"  # decide: {scalar(redact(engine))} with ${{NAME}}, a variable of the environment, for the password."
    else:
        yield f"engine: {scalar(engine)}"
    yield "tables:"
    yield f"  {table}:"
    yield f"    source: {scalar(location)}"
    yield f"    privacy id: {UNDECIDED}"
    yield f"      # decide: the column that says whose a row is{likely}. For rows: remove this line."
    yield "    # decide: remove columns that nobody should ask about."
    yield "    columns:"


def _column(name: str, kind: Kind | None) -> str:
    """Return the line of a column: what is known, and in a comment what else could be declared."""
    thought = hint(name)
    expected = kind or thought.kind
    further = ""
    if thought.bounds and expected is not None and expected.is_number:
        further = f"{{kind: {expected.value}, bounds: {thought.bounds}}}"
    elif thought.is_category and expected is Kind.TEXT:
        further = "{kind: text, categories: [...]}"
    if kind is None:
        guess = f", perhaps {further or thought.kind.value}" if thought.kind else ""
        return f"{name}: {UNDECIDED}  # decide: {', '.join(part.value for part in Kind)}{guess}"
    if further and kind.is_number:
        return f"{name}: {kind.value}  # decide: to be added up it needs bounds, perhaps {further}"
    if further:
        return f"{name}: {kind.value}  # decide: to be grouped by, all its values: {further}"
    if kind.is_number and not id_candidates([name]):
        return f"{name}: {kind.value}  # decide: to be added up it needs bounds: {{kind: {kind.value}, bounds: [...]}}"
    return f"{name}: {kind.value}"


def _unfit(name: str, kind: Kind | None, stored: str, seen: set[str]) -> str:
    try:
        check_name("column", name)
    except InvalidParameter:
        return "is no plain name (letters, digits, underscores): rename the column at its source"
    if name.lower() in seen:
        return "occurs twice, upper and lower case apart: rename it at its source"
    return f"is stored as {stored}, which is none of the kinds" if kind is None and stored else ""


def _plain(name: str) -> str:
    """Return a name that a schema allows, close to what was given."""
    plain = re.sub("[^A-Za-z0-9_]+", "_", name.rpartition(".")[2]).strip("_")[:63]
    return plain if plain and not plain[0].isdigit() else f"t_{plain}"[:63]


def _kind(stored: str) -> Kind | None:
    if re.search(r"\[[0-9]*\]$", stored):  # a list of something
        return None
    for pattern, kind in _TYPES:
        if re.match(pattern, stored.lower()):
            return kind
    return None


def _file(path: Path) -> list[_Found]:
    if not path.is_file():
        raise EngineUnavailable(f"{path} is no file")
    if is_parquet(path):
        return [(name, _kind(stored), stored.split("(", 1)[0]) for name, stored in _footer(path)]
    if is_csv(path):
        return [(name, None, "") for name in _header(path)]
    raise EngineUnavailable(f"{path} is of no known kind; files end in {', '.join((*CSV_ENDINGS, *PARQUET_ENDINGS))}")


def _footer(path: Path) -> list[tuple[str, str]]:
    import duckdb

    readable = True
    with duckdb.connect(":memory:") as connection:
        try:
            described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
        except duckdb.Error:
            readable, described = False, []
    if not readable:
        raise EngineUnavailable(f"{path} cannot be read as Parquet; it is damaged or of another kind")
    return [(str(name), str(stored)) for name, stored, *_ in described]


def _header(path: Path) -> list[str]:
    try:
        with CsvReader(path) as reader:
            return list(reader.header.names)
    except (OSError, EngineUnavailable):
        raise EngineUnavailable(f"the first line of {path} cannot be read as the names of columns") from None


def _frame(frame: Any) -> list[_Found]:
    home = type(frame).__module__.split(".", 1)[0]
    if home == "pandas":
        types = [(str(name), str(stored)) for name, stored in frame.dtypes.items()]
        # A column of Python objects declares nothing.
        return [(name, _kind(stored), "" if stored == "object" else stored) for name, stored in types]
    if home == "polars":
        return [(name, _kind(str(stored)), str(stored)) for name, stored in frame.schema.items()]
    if home == "pyarrow":
        return [(field.name, _kind(str(field.type)), str(field.type)) for field in frame.schema]
    raise InvalidParameter("source", type(frame).__name__, "a path, an address, or a pandas, Polars or Arrow table")


def _database(address: str, table: str) -> list[_Found]:
    """Read the catalogue of a PostgreSQL database: names and types of columns, no row."""
    if not address.startswith(("postgresql://", "postgres://")):
        raise InvalidParameter("source", redact(address), "a path, or the address of a PostgreSQL database")
    if not table:
        raise InvalidParameter("name", table, "given: which table of the database")
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
