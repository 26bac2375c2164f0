"""Requests as JSON: a closed encoding of expressions, relations, schemas and queries, exact both ways.

Only records of a fixed dictionary of classes can be written or read; there is no way to name any other class. One
record has one encoding, so that equal texts mean equal requests and a digest of the text is a digest of the request.
Every error in a text is an ``InvalidParameter`` that names the place in it.

========================  =====================================================================================
a record                  ``{"is": "Filter", ...}`` with every field of the class, but for a few that came later
a choice (Enum)           ``{"is": "Kind", "value": "integer"}``
a tuple                   a list
an integer            a JSON number, of at most 64 bits
a real                    ``{"real": "0x1.8000000000000p+0"}``: exact, finite
a fraction                ``{"fraction": "1/3"}``
a date, a timestamp       ``{"date": "2024-01-31"}``, ``{"timestamp": "2024-01-31T12:00:00"}``
text, true, false, NULL   as in JSON
========================  =====================================================================================

The address of an engine is written without a password in the clear (see ``addresses``).
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from fractions import Fraction
from typing import Any, Final, NoReturn

from dither.data import expressions, public_rows, relations, schema
from dither.data.addresses import redact
from dither.data.expressions import LARGEST_INTEGER
from dither.data.kinds import KINDS, Declaration
from dither.data.places import Box, CellGrid, Extent, Region, RegionMap, Regions
from dither.errors import DitherError, InvalidParameter, NotSerialisable
from dither.privacy import Relation as Neighbours
from dither.privacy import Unit

VERSION: Final = 1
LARGEST_TEXT: Final = 32 * 2**20
DEEPEST: Final = 200

#: Fields that came later and are NULL where nothing is said: left out then, so that older texts mean what they meant.
_LATER: Final[Mapping[str, tuple[str, ...]]] = types.MappingProxyType(
    {
        "Column": ("length", "source", "role", "form"),
        "DataSet": ("rows_per_join", "time_limit", "people", "dropped", "dropped_up_to", "group_size"),
        "Journeys": ("times",),
        "JoinPublic": ("on", "most", "where", "condition"),
        "Rows": ("categories", "as_codes"),
        "Scan": ("owners",),
        "Table": ("decimal", "rows", "owner", "rows_per_person", "delimiter", "sheet"),
        "Window": ("running", "offset", "frame"),
    }
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_registry: dict[str, type] = {}
_Test = Callable[[Any], bool]
_LONG: Final = 64
_tests: dict[type, Mapping[str, _Test]] = {}


def register_records(*records: type) -> None:
    """Add classes to the dictionary: frozen dataclasses and enumerations, each name once.

    For packages above this one, once, where their classes are defined. All fields of a record must be of kinds that the
    encoding has, and say so in their annotations, which are checked when a text is read.
    """
    for record in records:
        is_frozen = dataclasses.is_dataclass(record) and record.__dataclass_params__.frozen  # type: ignore[attr-defined]
        if not (isinstance(record, type) and (is_frozen or issubclass(record, Enum))):
            raise InvalidParameter("record", record, "a frozen dataclass or an enumeration")
        if _registry.setdefault(record.__name__, record) is not record:
            raise InvalidParameter("record", record.__name__, "a name that no other class has registered")


def encode(record: Any) -> Any:
    """Return a record as plain JSON values; raise NotSerialisable for an object that does not belong in a request.

    >>> encode(expressions.Literal(0.5, expressions.Kind.REAL))["value"]
    {'real': '0x1.0000000000000p-1'}
    """
    try:
        return _encode(record, 0)
    except RecursionError:
        raise NotSerialisable("the request is nested too deeply") from None


def decode(value: Any) -> Any:
    """Return the record that plain JSON values describe; raise InvalidParameter, which names the place, otherwise."""
    try:
        return _decode(value, "request", 0)
    except RecursionError:
        raise InvalidParameter("request", "a deep tree", f"nested at most {DEEPEST} levels deep") from None


def dumps(record: Any) -> str:
    """Return a record as its one JSON text, with the version of the encoding.

    >>> dumps(relations.Limits(rows=3))
    '{"dither":1,"record":{"groups":null,"is":"Limits","rows":3,"rows_per_group":null}}'
    """
    whole = {"dither": VERSION, "record": encode(record)}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if len(text) > LARGEST_TEXT:
        raise NotSerialisable(f"the request is {len(text)} characters long; at most {LARGEST_TEXT} are allowed")
    return text


def loads(text: str | bytes) -> Any:
    """Return the record that a JSON text describes; raise InvalidParameter otherwise.

    >>> loads('{"dither":1,"record":{"groups":null,"is":"Limits","rows":3,"rows_per_group":null}}')
    Limits(rows=3, groups=None, rows_per_group=None)
    """
    if not isinstance(text, str | bytes) or len(text) > LARGEST_TEXT:
        raise InvalidParameter("request", type(text).__name__, f"JSON of at most {LARGEST_TEXT} characters")
    try:
        whole = json.loads(text, object_pairs_hook=_pairs, parse_float=_no_float, parse_constant=_no_float)
    except DitherError:
        raise
    except (ValueError, RecursionError):
        raise InvalidParameter("request", "another text", "JSON") from None
    if not isinstance(whole, dict) or set(whole) != {"dither", "record"}:
        raise InvalidParameter("request", type(whole).__name__, '{"dither": version, "record": ...}')
    if type(whole["dither"]) is not int or whole["dither"] != VERSION:
        raise InvalidParameter("request.dither", whole["dither"], f"{VERSION}, the version of this encoding")
    return decode(whole["record"])


def _encode(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise NotSerialisable(f"the request is nested more than {DEEPEST} levels deep")
    if value is None or isinstance(value, bool):
        return value
    if type(value) in (int, str):
        return value if _allowed(value) else _refuse(value)
    if type(value) in (tuple, list):
        if len(value) >= _LONG and set(map(type, value)) == {int} and _allowed(min(value)) and _allowed(max(value)):
            # Of many integers the least and the largest decide for all.
            return list(value)
        return [_encode(part, depth + 1) for part in value]
    known = _is_known(type(value))
    if known and isinstance(value, Enum):
        return {"is": type(value).__name__, "value": value.value}
    if known:
        fields = {name: getattr(value, name) for name in _fields(type(value))}
        for name in _LATER.get(type(value).__name__, ()):
            if fields[name] is None:
                del fields[name]
        if isinstance(value, schema.Table):
            # What it declares of a kind of data stands under the name of the kind.
            fields |= {one.kind: one for one in fields.pop("declared")}
        if isinstance(value, schema.DataSet):
            fields["engine"] = redact(value.engine)
        return {"is": type(value).__name__, **{name: _encode(part, depth + 1) for name, part in fields.items()}}
    for kind, (name, write, _) in _SCALARS.items():
        if type(value) is kind:
            return {name: write(value)} if _allowed(value) else _refuse(value)
    return _refuse(value)


def _called(name: str) -> type | None:
    """Return the class of that name; a kind of data is in the dictionary by being one."""
    return _registry.get(name) or next((kind for kind in KINDS.parts.values() if kind.__name__ == name), None)


def _is_known(record: type) -> bool:
    known = _registry.get(record.__name__)
    return (_called(record.__name__) if known is None and issubclass(record, Declaration) else known) is record


def _refuse(value: Any) -> NoReturn:
    raise NotSerialisable(f"a {type(value).__name__} has no place in a request")


def _allowed(value: Any) -> bool:
    if isinstance(value, int):
        return -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER
    if isinstance(value, str):
        return _SURROGATE.search(value) is None
    if isinstance(value, datetime.datetime):
        return value.tzinfo is None
    return not isinstance(value, float) or math.isfinite(value)


def _decode(value: Any, place: str, depth: int) -> Any:
    if depth > DEEPEST:
        raise InvalidParameter(place[:80], "more", f"nested at most {DEEPEST} levels deep")
    if value is None or isinstance(value, bool):
        return value
    if type(value) in (int, str):
        if not _allowed(value):
            raise InvalidParameter(place, value, "of 64 bits, or a string without lone surrogates")
        return value
    if type(value) is list:
        return tuple([_decode(part, f"{place}[{index}]", depth + 1) for index, part in enumerate(value)])
    if type(value) is not dict:
        raise InvalidParameter(place, type(value).__name__, "a plain value of this encoding")
    if "is" not in value:
        return _scalar(value, place)
    record = _called(value["is"]) if isinstance(value["is"], str) else None
    if record is None:
        raise InvalidParameter(f"{place}.is", value["is"], f"one of {', '.join(sorted(_registry))}")
    wanted = ("value",) if issubclass(record, Enum) else tuple(_fields(record))
    later = _LATER.get(record.__name__, ())
    if record is schema.Table:
        wanted, later = (*(name for name in wanted if name != "declared"), *KINDS.names), (*later, *KINDS.names)
    given = set(value) - {"is"}
    unsaid = [name for name in later if name not in given]
    if given != set(wanted) - set(unsaid):
        raise InvalidParameter(
            f"{place}", sorted(map(str, given)), f"a {record.__name__} of {', '.join(wanted) or 'nothing'}"
        )
    for name in set(later) & given:
        if value[name] is None:
            raise InvalidParameter(f"{place}.{name}", None, "omitted rather than null")
    parts = {name: _decode(value[name], f"{place}.{name}", depth + 1) for name in wanted if name in given}
    parts |= dict.fromkeys(unsaid)
    return _made(record, parts, place)


def _made(record: type, parts: dict[str, Any], place: str) -> Any:
    """Make a record from checked parts, so that a class never receives a value of an unexpected type."""
    if issubclass(record, Enum):
        for member in record:
            if type(member.value) is type(parts["value"]) and member.value == parts["value"]:
                return member
        choices = ", ".join(str(member.value) for member in record)
        raise InvalidParameter(f"{place}.value", parts["value"], f"one of {choices}")
    for name, fits in _fields(record).items():
        if name in parts and not fits(parts[name]):
            raise InvalidParameter(f"{place}.{name}", parts[name], f"what a {record.__name__} has there")
    try:
        return record(**parts)
    except InvalidParameter as error:
        raise InvalidParameter(f"{place}: {error.parameter}", error.offender, error.rule) from None
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
        raise InvalidParameter(place, record.__name__, "one whose parts fit together") from None


def _scalar(value: dict[str, Any], place: str) -> Any:
    if len(value) == 1:
        [(name, text)] = value.items()
        for written, write, read in _SCALARS.values():
            if written == name and isinstance(text, str) and len(text) <= 1000:
                try:
                    found = read(text)
                except (ValueError, ArithmeticError):
                    continue
                # One value has one text.
                if _allowed(found) and write(found) == text:
                    return found
    raise InvalidParameter(place, sorted(map(str, value)), "a record, or one of real, fraction, date and timestamp")


def _fields(record: type) -> Mapping[str, _Test]:
    """Return the fields of a record, each with the test for its annotation."""
    if record not in _tests:
        # Resolved when first needed: the classes of a tree name one another.
        hints = typing.get_type_hints(record)
        _tests[record] = {field.name: _test(hints[field.name]) for field in dataclasses.fields(record)}
    return _tests[record]


def _test(annotation: Any) -> _Test:
    """Return a test whether a value is of an annotated type; true and false are not numbers."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        each = _test(arguments[0])
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    if origin is tuple:
        tests = [_test(part) for part in arguments]
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(tests)
            and all(test(part) for test, part in zip(tests, value, strict=True))
        )
    parts = arguments if origin in (typing.Union, types.UnionType) else (annotation,)
    plain = tuple(part for part in parts if isinstance(part, type) and typing.get_origin(part) is None)
    classes = (*plain, int) if float in plain else plain
    others = [_test(part) for part in parts if part not in plain]
    return lambda value: (
        (bool in classes if value is True or value is False else isinstance(value, classes))
        or any(test(value) for test in others)
    )


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InvalidParameter("request", "a repeated key", "JSON in which every key of an object occurs once")
    return value


def _no_float(text: str) -> NoReturn:
    raise InvalidParameter("request", text[:40], 'without numbers that have a fraction: write {"real": ...}')


def _fraction(text: str) -> Fraction:
    if not re.fullmatch(r"-?[0-9]{1,400}(/[0-9]{1,400})?", text):
        raise ValueError
    return Fraction(text)


#: Scalars that JSON has no exact form of: the key, and how they are written and read.
_SCALARS: Final[Mapping[type, tuple[str, Callable[[Any], str], Callable[[str], Any]]]] = types.MappingProxyType(
    {
        float: ("real", float.hex, float.fromhex),
        Fraction: ("fraction", str, _fraction),
        datetime.datetime: ("timestamp", datetime.datetime.isoformat, datetime.datetime.fromisoformat),
        datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
    }
)

register_records(
    *(expressions.Kind, expressions.Name, expressions.Literal, expressions.Call, expressions.Case, expressions.Cast),
    *(expressions.OneOf, expressions.Grid, expressions.IntervalEnd),
    *(relations.Scan, public_rows.PublicScan, relations.UnionAll, relations.Filter, relations.Project),
    *(relations.JoinPublic, relations.JoinPersons),
    *(relations.PerPerson, relations.Window, relations.Keep, relations.Limits, relations.Bounded),
    *(relations.CountRows, relations.CountOf, relations.Persons, relations.Sum, relations.Smallest, relations.Largest),
    *(relations.Aggregation, schema.Column, schema.Owner, *KINDS.parts.values()),
    *(schema.Table, schema.DataSet, Unit, Neighbours, Box, CellGrid, Extent, Region, RegionMap, Regions),
)
