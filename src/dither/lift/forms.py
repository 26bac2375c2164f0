"""Forms of verbs: what a page asks for, and what it sends back read into arguments.

A form has a field for each argument that can be typed, or pasted from a file. What is typed on a page comes from
somebody else's machine: it is never a path, and no file of this machine is opened for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.verb import Argument, Typed, Verb

TABLE: Final = "table"
#: How a file is typed.
_FILE: Final = "FILE"
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Field:
    """A field of a form: what a page asks for.

    Args:
        name: of the argument.
        kind: "choice", "flag", "text", "lines" (several texts) or "content" (what a file has, as JSON).
        help: its sentence.
        choices: of a choice.
        default: what it has where nothing is entered.
        is_required: whether it has no default.
        is_shared: whether every release has it: the loss, the key, the confidence.
        typed: how it is typed, such as COLUMN=BINS.

    """

    name: str
    kind: str
    help: str
    choices: tuple[str, ...] = ()
    default: str | int | bool | None = None
    is_required: bool = False
    is_shared: bool = False
    typed: str | None = None


@dataclass(frozen=True)
class Form:
    """What a page needs to know of a verb.

    Args:
        verb: its name.
        title: its sentence.
        gives: the name of what is released.
        fields: what can be entered.
        is_whole: whether everything that the verb requires can be entered; where not, it is asked in Python alone.

    """

    verb: str
    title: str
    gives: str
    fields: tuple[Field, ...]
    is_whole: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the form as plain JSON data."""
        return {**asdict(self), "fields": [{**asdict(one), "choices": list(one.choices)} for one in self.fields]}


class Reading(Mapping[str, Any]):
    """Arguments that were typed, each read when it is first asked for: others may decide how.

    Args:
        dataset: the declarations.
        readers: make each of what was typed, in the order of the declaration; they return None where it was omitted.

    """

    def __init__(self, dataset: DataSet, readers: Mapping[str, Callable[[Typed], Any]]) -> None:
        self.typed = Typed(dataset, self)
        self._names, self._left, self._found = tuple(readers), dict(readers), dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        # One that is being read is not known yet.
        read = self._left.pop(name, None)
        value = None if read is None else read(self.typed)
        if value is not None:
            self._found[name] = value
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def form_of(verb: Verb[..., Any]) -> Form:
    """Return the form of a verb: its title, and a field for each argument that can be entered on a page."""
    kinds = {one.name: _kind(one) for one in verb.arguments if one.name != "loss"}
    fields = [_field(one, kind) for one in verb.arguments if (kind := kinds.get(one.name))]
    if verb.is_about_part:
        fields.insert(0, Field(TABLE, "text", "the table that is meant; may be omitted where there is one"))
    is_whole = all(kinds[one.name] for one in verb.arguments if one.is_required)
    return Form(verb.name, verb.summary, verb.gives, tuple(fields), is_whole)


def typed_arguments(verb: Verb[..., Any], dataset: DataSet, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a verb that were entered on a page: texts, lists of texts, true or false.

    Args:
        verb: whose form it is.
        dataset: the declarations.
        typed: by the names of its fields; what is empty was not entered.

    """
    known = {one.name: one for one in verb.arguments if _kind(one) and one.name != "loss"}
    given = {name: value for name, value in typed.items() if not _is_empty(value)}
    names = (*((TABLE,) if verb.is_about_part else ()), *known)
    for name in given:
        if name not in names:
            raise InvalidParameter(name, given[name], f"not allowed: {verb.name} has {', '.join(names)}")
    for name, one in known.items():
        if one.is_required and name not in given:
            raise InvalidParameter(name, None, f"required: {one.about.text}")
    readers: dict[str, Callable[..., Any]] = {name: partial(_read, one, given.get(name)) for name, one in known.items()}
    if TABLE not in known:
        readers[TABLE] = lambda _: given.get(TABLE)
    return dict(Reading(dataset, readers))


def _field(one: Argument, kind: str) -> Field:
    about, default = one.about, one.default
    if isinstance(default, Fraction):
        default = str(default)
    if one.is_required or not isinstance(default, str | int | bool):
        default = None
    return Field(one.name, kind, about.text, one.choices, default, one.is_required, one.is_term, about.metavar)


def _kind(one: Argument) -> str:
    """Return the kind of the field of an argument; "" where it cannot be entered on a page."""
    if one.about.opens is not None:
        return "content"
    if one.about.metavar == _FILE:
        # A path would be one of the machine that reads it.
        return ""
    if one.about.is_repeated:
        return "lines"
    if one.choices:
        return "choice"
    kinds = _types(one.schema)
    if "boolean" in kinds:
        return "flag"
    return "text" if one.about.read is not None or kinds & {"string", "integer", "number", "array"} else ""


def _types(schema: Mapping[str, Any]) -> set[str]:
    """Return the types of JSON that a schema allows, an array only with items that can be typed."""
    found = {name for one in schema.get("anyOf", ()) for name in _types(one)}
    kinds = schema.get("type", ())
    found |= {kinds} if isinstance(kinds, str) else {*kinds}
    if "array" in found and "items" in schema and not _types(schema["items"]) & {"string", "integer", "number"}:
        found.discard("array")
    return found


def _items(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what each item of an array may be that a schema allows."""
    found = (_items(one) for one in schema.get("anyOf", ()))
    return schema.get("items") or next(filter(None, found), {})


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or value == []


def _read(one: Argument, value: Any, known: Typed) -> Any:
    """Return an argument as what was entered says; None where nothing was."""
    if value is None:
        return None
    if one.about.opens is not None:
        return _content(one.name, value)
    if one.about.is_repeated:
        value = [value] if isinstance(value, str) else value
        _check_texts(one.name, value)
    elif _kind(one) == "flag":
        return _truth(one.name, value)
    if one.about.read is not None:
        if not one.about.is_repeated:
            _check_texts(one.name, [value])
        return one.about.read(value, known)
    return value if one.about.is_repeated else _plain(one, value)


def _plain(one: Argument, value: Any) -> Any:
    """Return a text as the type of the argument says; a number that may be exact stays as it was written."""
    if isinstance(value, list):
        _check_texts(one.name, value)
        return value
    _check_texts(one.name, [value])
    kinds = _types(one.schema)
    if "array" in kinds and ("string" not in kinds or "," in value):
        each = _types(_items(one.schema))
        return [_item(one.name, word.strip(), each) for word in value.split(",")]
    return _item(one.name, value, kinds)


def _item(name: str, text: str, kinds: set[str]) -> Any:
    if "string" in kinds or "integer" not in kinds:
        return text
    if not (text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and len(text) < 20):
        raise InvalidParameter(name, text, "an integer")
    return int(text)


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    said = value.lower() if isinstance(value, str) else value
    if said not in (*_TRUE, *_FALSE):
        raise InvalidParameter(name, value, "true or false")
    return said in _TRUE


def _content(name: str, value: Any) -> Any:
    """Return what was pasted from a file of the caller's; never what a file here has."""
    found = value
    if isinstance(value, str):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            found = None
    if not isinstance(found, Mapping):
        raise InvalidParameter(name, type(found).__name__, "an object in JSON: the content of a file, and not its name")
    return found


def _check_texts(name: str, values: Sequence[Any]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise InvalidParameter(name, type(value).__name__, "a string, as it was typed")
