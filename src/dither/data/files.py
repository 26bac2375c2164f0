"""Schema files: a data set as YAML that people write, and back.

``load_schema`` reads one, ``dump_schema`` writes one, and each undoes the other. Every error is an ``InvalidSchema``
that names the place, for instance ``tables.visits.columns.age.bounds (line 12)``. Values are read by the declared kind
of their column, so that a category ``no`` stays a text and never becomes false. The address of an engine keeps its
``${VARIABLES}``; a password in the clear is refused, unread and unprinted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dither.data.addresses import has_secret, redact
from dither.data.evaluation import cast
from dither.data.expressions import LARGEST_INTEGER, Kind, Value
from dither.data.importing.sources import one_line
from dither.data.kinds import KINDS
from dither.data.schema import FRAMES, ROLES, Column, DataSet, Owner, Table, person_unit
from dither.data.yaml_tree import LARGEST_TEXT, Node, from_plain, read
from dither.errors import InvalidParameter, InvalidSchema
from dither.privacy import ROW, ROW_REPLACED, Relation, Unit, declared_group

_UNITS: Final = ("person", "row", "row replaced", "person replaced", "group", "group replaced")
_GROUP_SIZE: Final = "group size"
_LIMITS: Final = {
    "rows": "rows",
    "groups": "groups",
    "rows per group": "rows_per_group",
    "rows per join": "rows_per_join",
    "dropped up to": "dropped_up_to",
}
_DROPPED: Final = "dropped"
_ONE_OWNER: Final = (
    "one table: if a row belonged to two people, either could change what the other contributes; "
    "declare the one who is protected"
)
_REFERENCE: Final = "columns of the table, each with the table.column that it refers to"
_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*( [A-Za-z0-9_]+)*")
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,40}")


def load_schema(path: str | Path) -> DataSet:
    """Return the data set that a YAML file declares; raise InvalidSchema, which names the place, otherwise."""
    return _loaded(schema_text(Path(path)), Path(path).expanduser().resolve().parent)


def schema_text(path: Path) -> str:
    """Return the text of a schema file; one that is too long is cut, and refused by whoever reads it."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_TEXT + 1).decode()
    except UnicodeDecodeError:
        raise InvalidSchema("schema", str(path), "a file in UTF-8") from None
    except OSError as error:
        raise InvalidSchema("schema", str(path), f"a file that can be read ({error.strerror})") from None


def loads(text: str) -> DataSet:
    """Return the data set that a YAML text declares.

    >>> text = '''
    ... dataset: clinic
    ... unit: row
    ... tables:
    ...   visits:
    ...     source: visits.csv
    ...     columns: {age: {kind: integer, bounds: [0, 120]}, region: text}
    ... '''
    >>> loads(text).table("visits").column("age").upper
    120
    """
    return _loaded(text, None)


def _loaded(text: str, folder: Path | None) -> DataSet:
    root = read(text)
    if isinstance(root.value, str):
        # What stands there is not shown: it may be a data file.
        rule = "a mapping; for a file of data draft one with 'dither add --suggest FILE -o SCHEMA.yaml'"
        raise InvalidSchema("schema", "one text", rule)
    return _dataset(root, folder)


def schema_from(tree: Mapping[str, Any]) -> DataSet:
    """Return the data set that a dictionary declares: the same keys, rules and errors as in a file.

    Args:
        tree: the content of a schema file, as dictionaries, lists, texts, numbers and dates.

    >>> ages = {"kind": "integer", "bounds": [0, 120]}
    >>> visits = {"source": "visits.csv", "columns": {"age": ages, "region": "text"}}
    >>> clinic = {"dataset": "clinic", "unit": "row", "tables": {"visits": visits}}
    >>> schema_from(clinic).table("visits").column("age").upper
    120
    >>> visits["columns"]["age"] = "whole"
    >>> schema_from(clinic)
    Traceback (most recent call last):
        ...
    dither.errors.InvalidSchema: tables.visits.columns.age must be one of boolean, integer, real, text, date, \
timestamp, got 'whole'

    """
    if not isinstance(tree, Mapping):
        raise InvalidSchema("schema", type(tree).__name__, "a dictionary")
    return _dataset(from_plain(tree))


def _dataset(root: Node, folder: Path | None = None) -> DataSet:
    known = ("dataset", "unit", _GROUP_SIZE, "contribution", "people", "engine", "time limit", "tables")
    parts = root.mapping("a mapping", known)
    for key in ("dataset", "unit", "tables"):
        _need(root, parts, key)
    name = parts["dataset"].text("the name of the data set")
    declared = parts["tables"].mapping("tables by name")
    for kind in KINDS.parts.values():
        declared = kind.completed(declared, folder)
    tables = tuple(_table(key, node) for key, node in declared.items())
    size = _integer(parts, _GROUP_SIZE)
    unit = _unit(parts["unit"], tables, size)
    limits: dict[str, Any] = {} if size is None else {"group_size": size}
    if unit.protects == "group":
        # Further rows of a group do not count, chosen by a hash of its own rows.
        limits["rows"] = size
    if "contribution" in parts:
        node = parts["contribution"]
        for key, part in node.mapping("limits by name", (*_LIMITS, _DROPPED)).items():
            if key == _DROPPED:
                limits[key] = _value(part, Kind.REAL)
                continue
            limit = _value(part, Kind.INTEGER)
            limits[_LIMITS[key]] = limit if isinstance(limit, int) else None
    if "people" in parts:
        limits["people"] = _integer(parts, "people")
    if "time limit" in parts:
        seconds = _value(parts["time limit"], Kind.INTEGER)
        limits["time_limit"] = seconds if isinstance(seconds, int) else None
    engine = _engine(parts["engine"]) if "engine" in parts else "duckdb"
    try:
        return DataSet(name, tables, unit, engine=engine, **limits)
    except InvalidParameter as error:
        raise _placed_in_dataset(error, parts, root) from None


def dump_schema(dataset: DataSet) -> str:
    """Return the data set as YAML, which ``loads`` reads back to an equal one.

    Raises InvalidSchema for an engine's address with a password in the clear.
    """
    if has_secret(dataset.engine):
        raise InvalidSchema("engine", redact(dataset.engine), "without a password: write ${NAME} in its place")
    return "\n".join(_lines(dataset)) + "\n"


def scalar(text: str) -> str:
    """Return a text as YAML reads it back, in quotes where it needs them.

    >>> scalar("north west"), scalar("12"), scalar("no: really")
    ('north west', '"12"', '"no: really"')
    """
    if _PLAIN.fullmatch(text):
        return text
    if text.isascii() and text.isprintable():
        # As below, without looking at every sign: a list of categories may be long.
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return "\\" + sign
    # YAML forbids most of what cannot be printed, and folds line ends.
    return sign if sign.isprintable() and ord(sign) < 0x10000 else f"\\U{ord(sign):08X}"


def _need(node: Node, parts: dict[str, Node], key: str) -> Node:
    if key not in parts:
        raise node.refuse("nothing", "given", key)
    return parts[key]


def _unit(node: Node, tables: tuple[Table, ...], size: int | None) -> Unit:
    person = next((table.person for table in tables if table.person is not None), None)
    if isinstance(node.value, dict):
        parts = node.mapping("a unit", ("kind", "id"))
        kind = _need(node, parts, "kind")
        person = _need(node, parts, "id").text("the name of the privacy id")
    else:
        kind = node
    of_kinds = {word: unit for one in KINDS.parts.values() for word, unit in one.units.items()}
    rule = f"one of {', '.join((*_UNITS, *of_kinds))}"
    word = kind.text(rule)
    if word in of_kinds:
        return of_kinds[word]
    if word not in _UNITS:
        raise kind.refuse(word, rule)
    if word.startswith("row"):
        return ROW if word == "row" else ROW_REPLACED
    if person is None:
        raise kind.refuse(word, "row, unless a private table declares its privacy id")
    try:
        if word.startswith("group"):
            if size is None:
                raise node.refuse("no group size", f"declared with '{_GROUP_SIZE}': how many rows of a group count")
            return declared_group(person, size, Relation.REPLACE if word.endswith("replaced") else Relation.ADD_REMOVE)
        return person_unit(person, replaced=word == "person replaced")
    except InvalidParameter as error:
        raise node.refuse(person, error.rule) from None


def _engine(node: Node) -> str:
    address = node.text("duckdb, spark, or the address of an engine")
    if has_secret(address):
        raise node.refuse(redact(address), "without a password: write ${NAME}, a variable of the environment")
    return address


def _table(name: str, node: Node) -> Table:
    known = (
        *("source", "sheet", "delimiter", "decimal", "privacy id", "owner", "rows per owner", "rows per person"),
        *("public", "key", "rows", *KINDS.names, "columns"),
    )
    parts = node.mapping("a table", known)
    source = _sources(_need(node, parts, "source"))
    listed = _need(node, parts, "columns").mapping("columns by name")
    columns = tuple(_column(key, part) for key, part in listed.items())
    is_public = "public" in parts and _value(parts["public"], Kind.BOOLEAN) is True
    key: tuple[str, ...] = ()
    if "key" in parts:
        names = parts["key"].items("columns") if isinstance(parts["key"].value, list) else [parts["key"]]
        key = tuple(part.text("a column") for part in names)
    said = parts["decimal"].text("',' or '.'") if "decimal" in parts else "."
    decimal = None if said == "." else said
    sheet, delimiter = (_exact(parts[key]) if key in parts else None for key in ("sheet", "delimiter"))
    person = parts["privacy id"].text("the column that says whose a row is") if "privacy id" in parts else None
    rows, each = (_integer(parts, key) for key in ("rows", "rows per person"))
    owner = _owner(parts)
    declared = tuple(KINDS[kind].read(parts[kind], _value) for kind in KINDS.names if kind in parts)
    try:
        return Table(
            name,
            columns,
            source,
            person,
            is_public,
            key,
            decimal,
            rows,
            owner,
            each,
            delimiter=delimiter,
            sheet=sheet,
            declared=declared,
        )
    except InvalidParameter as error:
        place, _, whose = error.parameter.partition(" of ")
        if place == "source" and whose in listed:
            raise listed[whose].refuse(error.offender, error.rule, "from") from None
        raise parts.get(place, node).refuse(error.offender, error.rule) from None


def _sources(node: Node) -> str:
    """Return a path or the name of a table; of a list of paths, one a line."""
    if not isinstance(node.value, list):
        return node.text("a path or a table, or a list of paths")
    listed = node.items("a path or a table, or a list of paths")
    if not listed:
        raise node.refuse("nothing", "at least one path")
    for part in listed:
        if part.text("a path") == FRAMES or not one_line(part.text("a path")):
            raise part.refuse(part.text("a path"), "a path")
    return "\n".join(part.text("a path") for part in listed)


def _owner(parts: dict[str, Node]) -> Owner | None:
    """Return the reference through which rows belong to people: columns, each with table.column that it equals."""
    if "owner" not in parts:
        if "rows per owner" in parts:
            raise parts["rows per owner"].refuse("a limit", "not allowed for a table without owner")
        return None
    given = parts["owner"]
    if isinstance(given.value, list):
        raise given.refuse(f"{len(given.value)} owners", _ONE_OWNER)
    pairs = given.mapping(_REFERENCE)
    if not pairs:
        raise given.refuse("nothing", _REFERENCE)
    tables: list[str] = []
    keys: list[str] = []
    for part in pairs.values():
        table, _, key = part.text("table.column").partition(".")
        if not key:
            raise part.refuse(table, "table.column, the key that is referred to")
        tables.append(table)
        keys.append(key)
    if len(set(tables)) > 1:
        raise given.refuse(" and ".join(dict.fromkeys(tables)), _ONE_OWNER)
    try:
        return Owner(tables[0], tuple(pairs), tuple(keys), _integer(parts, "rows per owner"))
    except InvalidParameter as error:
        raise parts.get(error.parameter, given).refuse(error.offender, error.rule) from None


def _column(name: str, node: Node) -> Column:
    if not isinstance(node.value, dict):
        kind, parts = _kind(node), {}
    else:
        known = ("kind", "from", "form", "bounds", "categories", "length", "nullable", "role", "description")
        parts = node.mapping("a column", known)
        kind = _kind(_need(node, parts, "kind"))
    lower = upper = None
    if "bounds" in parts:
        bounds = parts["bounds"].items("[least, largest]")
        if len(bounds) != 2:
            raise parts["bounds"].refuse(f"{len(bounds)} values", "[least, largest]")
        lower, upper = (_value(bound, kind) for bound in bounds)
    categories = None
    if "categories" in parts:
        categories = tuple(_value(part, kind) for part in parts["categories"].items("a list of values"))
    nullable = "nullable" in parts and _value(parts["nullable"], Kind.BOOLEAN) is True
    description = parts["description"].text("one line") if "description" in parts else ""
    said = _value(parts["length"], Kind.INTEGER) if "length" in parts else None
    length = said if isinstance(said, int) else None
    source = _source_name(parts["from"]) if "from" in parts else None
    form = _form(parts["form"]) if "form" in parts else None
    role = parts["role"].text(f"one of {', '.join(ROLES)}") if "role" in parts else None
    try:
        return Column(name, kind, lower, upper, categories, nullable, description, length, source, role, form)
    except InvalidParameter as error:
        place = {"source": "from"}.get(what := error.parameter.split(" of ")[0], what)
        raise parts.get(place, node).refuse(error.offender, error.rule) from None


def _exact(node: Node) -> str:
    """Return a string as it is in quotes, blanks included."""
    return node.value if isinstance(node.value, str) and not node.is_plain else node.text("a string")


def _form(node: Node) -> tuple[str, ...]:
    """Return how cells are written: one form, or a list of them."""
    rule = "how cells are written, such as '1.234,56 €', or a list such as [DD.MM.YYYY, ISO]"
    return tuple(part.text(rule) for part in (node.items(rule) if isinstance(node.value, list) else [node]))


def _source_name(node: Node) -> str:
    """Return the source's name of a column: any text, even an empty one if it is in quotes."""
    return "" if node.value == "" and not node.is_plain else node.text("the name that the column has in its source")


def _kind(node: Node) -> Kind:
    rule = f"one of {', '.join(kind.value for kind in Kind)}"
    word = node.text(rule)
    for kind in Kind:
        if kind.value == word:
            return kind
    raise node.refuse(word, rule)


def _value(node: Node, kind: Kind) -> Value:
    """Return a declared value by its kind; NULL is not allowed."""
    rule = "true or false" if kind is Kind.BOOLEAN else f"a{'n' if kind is Kind.INTEGER else ''} {kind.value}"
    if kind is Kind.TEXT and not node.is_plain and node.value == "":
        return ""
    text = node.text(rule)
    value: Value
    if kind is Kind.BOOLEAN:
        value = {"true": True, "false": False}.get(text.lower())
    elif kind is Kind.TEXT:
        value = text
    elif kind.is_number and _WHOLE.fullmatch(text):
        value = int(text)  # exact, also as the bound of a real
        value = value if -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER else None
    elif kind is Kind.TIMESTAMP:
        moment, _, fraction = text.partition(".")
        value = cast(moment, kind)
        if value is not None and fraction:
            value = _with_microseconds(value, fraction)
    else:
        value = cast(text, kind)
    if value is None:
        raise node.refuse(text, rule)
    return value


def _integer(parts: dict[str, Node], key: str) -> int | None:
    """Return a declared integer, None where nothing is said."""
    value = _value(parts[key], Kind.INTEGER) if key in parts else None
    return value if isinstance(value, int) else None


def _with_microseconds(moment: Any, fraction: str) -> Value:
    if not re.fullmatch("[0-9]{1,6}", fraction):
        return None
    value: Value = moment.replace(microsecond=int(fraction.ljust(6, "0")))
    return value


def _placed_in_dataset(error: InvalidParameter, parts: dict[str, Node], root: Node) -> InvalidSchema:
    """Return the error of a whole data set, with the place in the file where it can be fixed."""
    what, _, table = error.parameter.partition(" of ")
    if what == "privacy id" and isinstance(parts["tables"].value, dict):
        node = parts["tables"].value[table]
        return node.refuse(_named(error.offender), error.rule, "privacy id")
    if (what == "owner" or what in KINDS) and isinstance(parts["tables"].value, dict):
        return parts["tables"].value[table].refuse(_named(error.offender), error.rule, what)
    if what == "form" and isinstance(parts["tables"].value, dict):
        name, _, column = table.partition(".")
        found = parts["tables"].value[name].mapping("a table")["columns"].mapping("columns by name")[column]
        return found.refuse(error.offender, error.rule, "form")
    for key, name in {**_LIMITS, _DROPPED: _DROPPED}.items():
        if name == error.parameter:
            below = parts.get("contribution", root)
            place = key if "contribution" in parts else f"contribution.{key}"
            rule = error.rule.replace("rows_per_group", "rows per group")
            return below.refuse(_named(error.offender), rule, place)
    what = {"privacy ids": "tables", "time_limit": "time limit", "group_size": _GROUP_SIZE}.get(what, what)
    node = parts.get(what, root)
    return node.refuse(error.offender, error.rule)


def _named(offender: object) -> object:
    return "nothing" if offender is None or offender == "" else offender


def _lines(dataset: DataSet) -> Iterator[str]:
    yield f"dataset: {scalar(dataset.name)}"
    yield f"unit: {_unit_text(dataset)}"
    if dataset.group_size is not None:
        yield f"{_GROUP_SIZE}: {dataset.group_size}"
    limits = [(key, getattr(dataset, name)) for key, name in _LIMITS.items() if getattr(dataset, name) is not None]
    if dataset.dropped is not None:
        limits.append((_DROPPED, _value_text(dataset.dropped)))
    if limits:
        yield "contribution: {" + ", ".join(f"{key}: {limit}" for key, limit in limits) + "}"
    if dataset.people is not None:
        yield f"people: {dataset.people}"
    yield f"engine: {scalar(dataset.engine)}"
    if dataset.time_limit is not None:
        yield f"time limit: {dataset.time_limit}"
    yield "tables:"
    for table in dataset.tables:
        yield f"  {scalar(table.name)}:"
        if table.is_public:
            yield "    public: true"
        if table.key:
            yield f"    key: [{', '.join(map(scalar, table.key))}]"
        if table.rows is not None:
            yield f"    rows: {table.rows}"
        named = [scalar(source) for source in table.sources]
        yield f"    source: {named[0] if len(named) == 1 else '[' + ', '.join(named) + ']'}"
        if table.sheet is not None:
            yield f"    sheet: {scalar(table.sheet)}"
        if table.delimiter is not None:
            yield f"    delimiter: {scalar(table.delimiter)}"
        if table.decimal is not None:
            yield f"    decimal: {scalar(table.decimal)}"
        if table.person is not None:
            yield f"    privacy id: {scalar(table.person)}"
        if table.owner is not None:
            pairs = zip(table.owner.columns, table.owner.keys, strict=True)
            yield "    owner: {" + ", ".join(f"{mine}: {table.owner.table}.{key}" for mine, key in pairs) + "}"
            if table.owner.rows is not None:
                yield f"    rows per owner: {table.owner.rows}"
        if table.rows_per_person is not None:
            yield f"    rows per person: {table.rows_per_person}"
        for one in table.declared:
            yield f"    {one.kind}:"
            yield from (f"      {line}" for line in one.lines(scalar))
        yield "    columns:"
        for column in table.columns:
            yield f"      {scalar(column.name)}: {_column_text(column)}"


def _unit_text(dataset: DataSet) -> str:
    unit, is_replaced = dataset.unit, dataset.is_replaced
    if dataset.own_kind is not None:
        return next(word for word, own in dataset.own_kind.units.items() if own == unit)
    if not dataset.protects_persons:
        return "row replaced" if is_replaced else "row"
    word = "person replaced" if is_replaced else "person"
    ids = [table.person for table in dataset.tables if table.person is not None]
    if dataset.group_size is not None and unit.protects == "group":
        word = "group replaced" if is_replaced else "group"
        if unit == declared_group(ids[0], dataset.group_size, unit.relation):
            return word
        return f"{{kind: {word}, id: {scalar(unit.detail.partition(',')[0].rpartition(' ')[2])}}}"
    if unit == person_unit(ids[0], replaced=is_replaced):
        return word
    name = unit.detail.rpartition(" ")[2]
    if not name.isidentifier() or unit != person_unit(name, replaced=is_replaced):
        raise InvalidSchema("unit", str(unit), "that of all rows with one value of a column")
    return f"{{kind: {word}, id: {scalar(name)}}}"


def _column_text(column: Column) -> str:
    parts = [f"kind: {column.kind.value}"]
    if column.source is not None:
        parts.insert(0, f"from: {scalar(column.source)}")
    if column.form is not None:
        written = [scalar(one) for one in column.form]
        parts.append(f"form: {written[0] if len(written) == 1 else '[' + ', '.join(written) + ']'}")
    if column.lower is not None:
        parts.append(f"bounds: [{_value_text(column.lower)}, {_value_text(column.upper)}]")
    if column.categories is not None:
        parts.append(f"categories: [{', '.join(map(_value_text, column.categories))}]")
    if column.length is not None:
        parts.append(f"length: {column.length}")
    if column.nullable:
        parts.append("nullable: true")
    if column.role is not None:
        parts.append(f"role: {column.role}")
    if column.description:
        parts.append(f"description: {scalar(column.description)}")
    return column.kind.value if len(parts) == 1 else "{" + ", ".join(parts) + "}"


def _value_text(value: Value) -> str:
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else f'"{value}"'
