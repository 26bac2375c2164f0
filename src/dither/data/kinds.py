"""Kinds of data: edges, positions, rows that arrive over time, each in one module that says all there is to it.

A table of a kind declares a ``Declaration``: a frozen record that reads and writes its own part of a schema file,
checks itself against its table and its data set, and travels over the wire under its name. ``KINDS`` finds it: to add a
kind is to write its module, and its line at ``KINDS``. What rooms above have for a kind (questions, groups of verbs)
they register in a ``Slot`` of their own, under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar

from dither.data.expressions import Kind, Value
from dither.errors import InvalidParameter
from dither.privacy import Unit

if TYPE_CHECKING:
    from dither.data.schema import DataSet, Table
    from dither.data.yaml_tree import Node

T = TypeVar("T")
D = TypeVar("D", bound="type[Declaration]")
#: Reads a scalar of a schema file by its kind.
Read = Callable[["Node", Kind], Value]
#: Writes a text as YAML reads it back.
Write = Callable[[str], str]


class Slot(Generic[T]):
    """What one room has for kinds of data, each part under the name of its kind.

    Args:
        modules: where parts are registered, by kind; a module is imported when its part is first wanted.

    >>> notes = Slot[str]()
    >>> notes.add("graph", "rows are edges")
    >>> dict(notes.parts)
    {'graph': 'rows are edges'}

    """

    def __init__(self, modules: Mapping[str, str] = MappingProxyType({})) -> None:
        self._modules, self._parts = dict(modules), dict[str, T]()

    def add(self, kind: str, part: T) -> None:
        """Register the part of a kind, once."""
        if self is not KINDS and kind not in KINDS:
            raise InvalidParameter("kind", kind, f"a kind of data: {', '.join(KINDS.names)}")
        if self._parts.setdefault(kind, part) is not part:
            raise InvalidParameter("kind", kind, "registered once")

    def __contains__(self, kind: object) -> bool:
        return kind in self._modules or kind in self._parts

    def __getitem__(self, kind: str) -> T:
        if kind not in self._parts and kind in self._modules:
            import_module(self._modules[kind])
        return self._parts[kind]

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds that have a part: those that are listed first, in order."""
        return tuple(self._modules | self._parts)

    @property
    def parts(self) -> Mapping[str, T]:
        """All parts by kind, in that order."""
        return {kind: self[kind] for kind in self.names}


@dataclass(frozen=True)
class Key:
    """How a field of a declaration stands in a schema file.

    Args:
        read: makes its value of a node.
        write: the value as YAML.

    """

    read: Callable[[Node, Read], Any]
    write: Callable[[Any, Write], str]


def _reals(node: Node, read: Read) -> tuple[float, ...]:
    return tuple(float(str(read(part, Kind.REAL))) for part in node.items("a list of numbers"))


def _names(node: Node, read: Read) -> tuple[str, ...]:
    return tuple(part.text("a column") for part in node.items("a list of columns"))


#: Fields by their annotation.
_KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "bool": Key(lambda node, read: read(node, Kind.BOOLEAN), lambda flag, _: str(flag).lower()),
        "int": Key(lambda node, read: read(node, Kind.INTEGER), lambda number, _: str(number)),
        "str": Key(lambda node, _: node.text("a name"), lambda name, write: write(name)),
        "tuple[str, ...]": Key(_names, lambda names, write: f"[{', '.join(map(write, names))}]"),
        "tuple[float, ...]": Key(_reals, lambda numbers, _: f"[{', '.join(repr(float(one)) for one in numbers)}]"),
    }
)


class Declaration:
    """What is public about the rows of a table, of one kind of data: a frozen, typed dataclass derives from it."""

    #: The key in a schema file, the argument of ``Table``, and the name under which rooms above register.
    kind: ClassVar[str]
    #: What an error calls it.
    called: ClassVar[str]
    #: The keys below that name, as they are written, each with its field; by default the fields themselves.
    keys: ClassVar[Mapping[str, str]] = MappingProxyType({})
    #: How fields are written whose annotation does not say it.
    written: ClassVar[Mapping[str, Key]] = MappingProxyType({})
    #: The units of privacy that only tables of this kind have, by their word in a schema file.
    units: ClassVar[Mapping[str, Unit]] = MappingProxyType({})
    #: What to ask where one of these is protected, so that rows are not.
    asked_with: ClassVar[str] = ""
    #: Whether SQL about such tables is answered by offers of its own, which price its unit.
    answers_by_offers: ClassVar[bool] = False
    #: What a draft of a schema says of its unit, or of the table, to those who have such rows.
    hint: ClassVar[str] = ""

    @classmethod
    def of(cls, table: Table) -> Self | None:
        """Return what a table declares of this kind; None where it is not of it."""
        return next((one for one in table.declared if isinstance(one, cls)), None)

    def check(self, table: Table) -> None:
        """Refuse what does not fit the columns of the table."""

    def check_in(self, table: Table, dataset: DataSet) -> None:
        """Refuse what does not fit the unit or the other tables of the data set."""

    @property
    def naming(self) -> tuple[str, ...]:
        """The columns in which a row must name something declared to count at all."""
        return ()

    @property
    def uncut(self) -> tuple[str, ...]:
        """The columns of which a text that is too long is NULL: cut, two values could become one."""
        return ()

    def limits(self, table: Table) -> dict[str, Any]:
        """Return the limits of contribution that it declares, as a release card shows them."""
        return {}

    def first_command(self, dataset: DataSet, called: str) -> str:
        """Return the command to try first on such a table."""
        return f"dither sql {called} QUERY"

    def rows_in(self, table: Table, frame: object) -> Any:
        """Return an Arrow table of an object of another library that stands for such rows; None for anything else."""

    @classmethod
    def completed(cls, tables: dict[str, Node], folder: Path | None) -> dict[str, Node]:
        """Return the tables of a schema file with what this kind declares in other places filled in."""
        return tables

    @classmethod
    def drafted(cls, names: Sequence[str]) -> Sequence[str]:
        """Return comments for the draft of a table with columns of these names."""
        return ()

    @classmethod
    def _fields(cls) -> dict[str, tuple[Field[Any], Key]]:
        """Return the fields by their key, each with how it is written."""
        known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
        found = {key: known[name] for key, name in (cls.keys or {name: name for name in known}).items()}
        return {
            key: (field, cls.written.get(field.name) or _KEYS[str(field.type).removesuffix(" | None")])
            for key, field in found.items()
        }

    @classmethod
    def read(cls, node: Node, read: Read) -> Self:
        """Return what a schema file declares.

        Args:
            node: the mapping below the name of the kind.
            read: reads a scalar by its kind.

        """
        known = cls._fields()
        parts = node.mapping(cls.called, known)
        for key, (field, _) in known.items():
            if field.default is MISSING and key not in parts:
                raise node.refuse("nothing", "given", key)
        said = {field.name: how.read(parts[key], read) for key, (field, how) in known.items() if key in parts}
        try:
            return cls(**said)
        except InvalidParameter as error:
            shown = next((key for key, (field, _) in known.items() if field.name == error.parameter), error.parameter)
            raise parts.get(shown, node).refuse(error.offender, error.rule) from None

    def lines(self, write: Write) -> Iterator[str]:
        """Yield the lines below the name of the kind, which are read back to an equal record."""
        for key, (field, how) in self._fields().items():
            value = getattr(self, field.name)
            if value != field.default:
                yield f"{key}: {how.write(value, write)}"


#: Every kind of data by its name, in the order in which a schema file has them.
KINDS: Final = Slot[type[Declaration]](
    {
        "stream": "dither.data.ticks",
        "graph": "dither.data.graphs",
        "places": "dither.data.place_tables",
        "ratings": "dither.data.ratings",
        "policy": "dither.data.policies",
        "personal": "dither.data.personal",
    }
)


def declares(record: D) -> D:
    """Register a record as the declaration of its kind."""
    KINDS.add(record.kind, record)
    return record


def gathered(declared: object, words: Mapping[str, object]) -> tuple[Declaration, ...]:
    """Return what a table declares of all kinds, in their order; refuse what is no declaration.

    Args:
        declared: what it declares.
        words: by the name of a kind, what takes the place of what ``declared`` has; None for nothing.

    """
    listed = declared if isinstance(declared, tuple) else (declared,)
    said: dict[str, Any] = {one.kind: one for one in listed if isinstance(one, Declaration)}
    if listed is not declared or len(said) != len(listed) or any(name not in KINDS for name in said):
        raise InvalidParameter("declared", declared, f"one declaration of a kind: {', '.join(KINDS.names)}")
    for name, one in (said := said | dict(words)).items():
        if name not in KINDS:
            raise TypeError(f"Table() got an unexpected keyword argument {name!r}")
        if one is not None and type(one) is not KINDS[name]:
            raise InvalidParameter(name, one, f"of type {KINDS[name].__name__} | None")
    return tuple(said[name] for name in KINDS.names if said.get(name) is not None)
