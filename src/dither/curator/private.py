"""A frame first: a session on rows that somebody has in hand, with what is public about them said in the same line.

``private`` writes the schema, opens a ledger and returns a session with every verb. Without ``home`` the budget is in
memory: it lives as long as this process, and every release says *unledgered*. With ``home`` it is the curator's folder
of that name, and the same line, run again, goes on with the same budget.

**What is public.** Names of columns, and the types that a frame or a Parquet file declares for them. Everything else is
what the caller says: bounds and categories are never read off rows. A CSV file and a column of Python objects declare
no type: such a column is text unless ``kinds`` says otherwise, or bounds or categories that fit no text are given. The
categories of a pandas or Arrow column may come from its rows, and count for nothing.

There is no default for what protects people: whose a row is, how much of one person counts, and the budget must be
said.
"""

from __future__ import annotations

import datetime
import difflib
import warnings
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from dither.curator.editions import current
from dither.curator.folder import SETTINGS, Curator, Settings
from dither.curator.ledger import OWNER, Ledger
from dither.curator.ledger.memory import MemoryLedger
from dither.curator.session import Session
from dither.data.engines import connect
from dither.data.engines.spill import SpillFolder
from dither.data.expressions import Kind
from dither.data.files import dump_schema, schema_from
from dither.data.hints import id_candidates, plain_names
from dither.data.importing.fit import losses_of, losses_of_frame
from dither.data.importing.handing import reading_once
from dither.data.importing.named_files import NamedFiles, named_files
from dither.data.importing.sources import FRAMES, files_of, is_json
from dither.data.schema import DataSet, Table, check_name
from dither.data.suggest import described, table_name
from dither.errors import InvalidParameter, LostCells
from dither.exact import Number
from dither.privacy import Loss, stated_loss

_UNITS: Final = ("person", "person replaced", "row", "row replaced")
_FRAME_NAME: Final = "data"
_OF_LIMITS: Final = {
    "rows": "for people, how many rows of one person count in an answer",
    "groups": "for people, in how many groups of an answer one person counts, 1 for the most precise groups",
}
_NUMBERS: Final = (int, float, Decimal, Fraction, np.integer, np.floating)


def private(
    data: Any,
    *,
    budget: Number | Loss | None = None,
    delta: Number | None = None,
    person: str | int | None = None,
    unit: str | None = None,
    rows: int | None = None,
    groups: int | None = None,
    rows_per_group: int | None = None,
    people: int | None = None,
    bounds: Mapping[Any, Sequence[Any]] | None = None,
    categories: Mapping[Any, Sequence[Any]] | None = None,
    kinds: Mapping[Any, str | Kind] | None = None,
    nullable: Collection[Any] = (),
    forms: Mapping[Any, str | Sequence[str]] | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    name: str | None = None,
    home: str | Path | None = None,
) -> Session:
    """Return a session on a frame or a file: ``session.sql(...)`` and every other verb.

    Columns are named as the frame or file names them, or by the plain names that they are given where theirs are not
    letters, digits and underscores: ``Total Spend (£)`` is ``Total_Spend``.

    Args:
        data: a pandas or Polars frame, an Arrow table, or a path (CSV, JSON lines, a workbook, Parquet), read once,
            strictly, into a folder that nobody else can look into. A list of paths, a pattern such as
            ``"visits-*.csv"`` and a folder are one table, of files that name the same columns.
        budget: what all releases together may lose: an epsilon, or a loss such as ``ZCDP("0.1")``.
        delta: with an epsilon, the probability that it may be exceeded; needed where groups are to be discovered.
        person: the column that says whose a row is: all rows of one person are protected together.
        unit: ``"row"`` where every row is a person of its own; ``"row replaced"`` and ``"person replaced"`` compare
            data sets of the same size.
        rows: for people, how many rows of one person count in an answer. More is less biased and needs more noise.
        groups: for people, in how many groups of an answer one person counts, from 1 to ``rows``. Required with more
            than one row. Where groups are discovered, the number of people from which one is shown grows with it.
        rows_per_group: how many rows of one person count in each group, beside ``rows`` or in place of it.
        people: about how many people there are, where you know it from a public source and not from these rows. Then a
            query whose groups could not be shown with so many people is refused before it is charged.
        bounds: for columns that are added up, the least and the largest value: ``{"age": (0, 120)}``.
        categories: for columns that are grouped by, all values that may be published.
        kinds: what columns hold, where their types do not say it: ``{"age": "integer"}``.
        nullable: columns of which NULL may be published as a value.
        forms: how texts write numbers, days or moments, by an example of a number or a pattern of days:
            ``{"price": "1.234,56 €", "day": ["DD.MM.YYYY", "ISO"]}``.
        decimal: ``","`` where the numbers of a text file are written as 3,14.
        delimiter: of a CSV file, what separates its fields, where the first row does not show it.
        sheet: of a workbook with several, the one with the rows.
        name: what the table is called in SQL; ``data`` for a frame, the name of the file for a file.
        home: a curator's folder, made if it is not there, that keeps the budget; in memory without one.

    Raises:
        InvalidParameter: what must be said is not, all of it at once; or what is said contradicts itself, the columns,
            or what ``home`` keeps under this name.
        EngineUnavailable: the frame or file cannot be read as declared.

    >>> import pandas
    >>> frame = pandas.DataFrame({"id": range(1000), "ward": ["heart", "skin"] * 500, "age": [40, 60] * 500})
    >>> session = private(frame, budget=2, person="id", rows=1, bounds={"age": (0, 120)})
    >>> answer = session.sql("SELECT COUNT(*) AS people, AVG(age) AS age FROM data", epsilon=1)
    >>> answer.names, answer.receipt, str(session.balance().left)
    (('people', 'age'), 'unledgered', 'epsilon = 1')

    """
    is_file = isinstance(data, str | Path) or (
        isinstance(data, list | tuple) and bool(data) and all(isinstance(one, str | Path) for one in data)
    )
    if is_file:
        data = named_files(data, "data")
    table = _named(name, table_name(data.typed[0]) if is_file else _FRAME_NAME)
    columns = _Columns(data, table, sheet, delimiter)
    _refuse_missing(
        columns,
        said={"budget": budget is not None, "whose": person is not None or unit is not None},
        is_person=person is not None,
        limits=_unlimited(rows, groups, rows_per_group, is_known=_has_rows_alone(home, table)),
    )
    loss = budget if isinstance(budget, Loss) else stated_loss(epsilon=budget, delta=delta)
    if isinstance(budget, Loss) and delta is not None:
        raise InvalidParameter("delta", delta, "part of the budget's own loss, where that is one")
    limits = {"rows": rows, "groups": groups, "rows per group": rows_per_group}
    source = data.source if is_file else FRAMES
    said = _Said(
        columns.found("bounds", bounds),
        columns.found("categories", categories),
        columns.found("kinds", kinds),
        columns.found("nullable", _flags(nullable)),
        columns.found("forms", forms),
    )
    place = columns.place("person", person) if person is not None else None
    declared: dict[str, Any] = {"source": source, "columns": columns.declared(said, place)}
    read = {"decimal": decimal, "delimiter": delimiter, "sheet": sheet}
    declared |= {key: value for key, value in read.items() if value is not None}
    if place is not None:
        declared["privacy id"] = columns.names[place]
    tree: dict[str, Any] = {"dataset": table, "unit": _unit(unit, is_person=person is not None)}
    if people is not None:
        tree["people"] = people
    if any(limit is not None for limit in limits.values()):
        tree["contribution"] = {key: limit for key, limit in limits.items() if limit is not None}
    dataset = schema_from({**tree, "tables": {table: declared}})
    with reading_once():
        _warn_of_lost_cells(dataset.tables[0], None if is_file else data)
        return _opened(dataset, loss, None if is_file else {table: data}, home)


def _warn_of_lost_cells(table: Table, frame: Any) -> None:
    """Warn the owner of columns that lose more than 1 % of their cells; no answer depends on it."""
    if all(column.kind is Kind.TEXT for column in table.columns):
        return
    lost = losses_of(table, files_of(table, None)) if frame is None else losses_of_frame(table, frame)
    if lost:
        text = f"NOT PRIVATE, for the owner of the rows: {'; '.join(lost)}"
        warnings.warn(LostCells(text), stacklevel=3)


class _Columns:
    """The columns of a frame or file: their names there, plain ones to declare, and what their types say."""

    def __init__(self, data: Any, table: str, sheet: str | None, delimiter: str | None) -> None:
        self.table = table
        # Their keys are read from rows: only those that the caller names are public.
        self._must_be_named = isinstance(data, NamedFiles) and is_json(data.first)
        try:
            self._found = described(data, sheet=sheet, delimiter=delimiter)
        except InvalidParameter as error:
            if error.parameter != "source":
                raise
            rule = error.rule.replace("a path, an address", "the path of a CSV or Parquet file")
            if isinstance(data, Mapping | list | tuple):
                rule += ": one table. Several are declared in a schema, see dither.data.schema_from"
            raise InvalidParameter("data", error.offender, rule) from None
        self.stored = [name for name, *_ in self._found]
        self.names = plain_names(self.stored)
        self._index = getattr(getattr(data, "index", None), "name", None)

    def place(self, parameter: str, label: Any) -> int:
        """Return which column a caller means by its name in the source, or by its plain one."""
        name = str(label) if type(label) is int else label
        if isinstance(name, str):
            for known in (self.stored, () if self._must_be_named else self.names):
                if name in known:
                    found = known.index(name)
                    if self.stored.count(self.stored[found]) == 1:
                        return found
                    raise InvalidParameter(parameter, name, "the name of one column: give columns different names")
            if name == self._index:
                raise InvalidParameter(parameter, name, "a column: it is the index; give frame.reset_index()")
        near = difflib.get_close_matches(str(name), self.stored, 1) if isinstance(name, str) else []
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InvalidParameter(parameter, label, f"about columns of {self.table}{hint}: {_listed(self.stored)}")

    def found(self, parameter: str, given: Mapping[Any, Any] | None) -> dict[int, Any]:
        """Return what a parameter says, by column."""
        if given is not None and not isinstance(given, Mapping):
            raise InvalidParameter(parameter, type(given).__name__, "a dictionary by columns")
        found = {self.place(parameter, label): value for label, value in (given or {}).items()}
        if len(found) != len(given or {}):
            raise InvalidParameter(parameter, list(given or {}), "without a column that is named twice")
        return found

    def declared(self, said: _Said, person: int | None) -> dict[str, Any]:
        """Return all columns that can be declared, as a schema says them; those that are spoken of are among them."""
        columns: dict[str, Any] = {}
        places: Sequence[int] = range(len(self._found))
        if self._must_be_named:
            # Neither names nor their order follow from other keys, or from which row has them first.
            named = [place for place in places if place == person or said.is_about(place)]
            places = sorted(named, key=self.stored.__getitem__)
            for place, name in zip(places, plain_names([self.stored[place] for place in places]), strict=True):
                self.names[place] = name
        for place in places:
            stored, kind, type_ = self._found[place]
            is_named = place == person or said.is_about(place)
            if self.stored.count(stored) > 1 or (kind is None and type_ and not is_named):
                continue
            kind_said = said.kinds.get(place)
            told = kind_said if kind_said is not None else kind
            if told is None or (kind_said is None and _is_of_categories(type_)):
                told = said.implied(place) or told or Kind.TEXT
            column: dict[str, Any] = {"kind": told}
            if self.names[place] != stored:
                column["from"] = stored
            if place in said.bounds:
                column["bounds"] = _written("bounds", stored, said.bounds[place])
            if place in said.categories:
                column["categories"] = _written("categories", stored, said.categories[place])
            if place in said.nullable:
                column["nullable"] = True
            if place in said.forms:
                form = said.forms[place]
                column["form"] = form if isinstance(form, str) else _written("forms", stored, form)
            columns[self.names[place]] = column
        if not columns:
            raise InvalidParameter("data", _listed(self.stored), "columns of types that queries support")
        return columns


@dataclass(frozen=True)
class _Said:
    """What a caller declares, by column."""

    bounds: dict[int, Any]
    categories: dict[int, Any]
    kinds: dict[int, Any]
    nullable: dict[int, Any]
    forms: dict[int, Any]

    def is_about(self, place: int) -> bool:
        """Whether anything is said of a column."""
        return any(place in part for part in (self.bounds, self.categories, self.kinds, self.nullable, self.forms))

    def implied(self, place: int) -> Kind | None:
        """Return the kind that bounds or categories are of, if they are of one; None where nothing is said."""
        categories = self.categories.get(place)
        values = self.bounds.get(place) if categories is None else categories
        if not isinstance(values, list | tuple) or not values:
            return None
        if all(isinstance(value, bool | np.bool_) for value in values):
            return Kind.BOOLEAN
        if all(isinstance(value, _NUMBERS) and not isinstance(value, bool) for value in values):
            # Of bounds alone, a real: a column of reals may have whole bounds.
            is_whole = categories is not None and all(isinstance(value, int | np.integer) for value in values)
            return Kind.INTEGER if is_whole else Kind.REAL
        if all(isinstance(value, datetime.datetime) for value in values):
            return Kind.TIMESTAMP
        return Kind.DATE if all(type(value) is datetime.date for value in values) else None


class _MemoryCurator(Curator):
    """A curator whose ledger is in memory and whose folder goes with it."""

    def __init__(self) -> None:
        self._place = SpillFolder()
        for inner in ("datasets", "data"):
            (self._place.path / inner).mkdir(mode=0o700)
        # Keys of what goes on end with it, too.
        super().__init__(self._place.path, Settings(ledger="memory"), anchors=self._place.path / "anchors")
        self._memory = MemoryLedger()

    @property
    def ledger(self) -> Ledger:
        """The ledger, in memory."""
        return self._memory

    def close(self) -> None:
        """Forget the budget, and remove the rows that were imported."""
        self._memory.close()
        self._place.close()


class _OwnSession(Session):
    """A session that has its curator for itself."""

    def __init__(self, curator: Curator, dataset: DataSet, *, frames: Mapping[str, Any] | None) -> None:
        super().__init__(curator, dataset, analyst=OWNER, frames=frames)
        self._ending = weakref.finalize(self, curator.close)

    def close(self) -> None:
        """Let go of the tables, and of the ledger: a budget in memory is gone with it."""
        super().close()
        self._ending()


def _opened(dataset: DataSet, loss: Loss, frames: Mapping[str, Any] | None, home: str | Path | None) -> Session:
    if frames is not None:
        # A frame that is not what is declared is refused before anything is registered.
        with connect(dataset, frames=frames) as engine:
            engine.check()
    curator: Curator = _MemoryCurator() if home is None else _kept(home)
    try:
        if home is None or not _is_known(curator, dataset, loss, home):
            curator.add(dataset, budget=loss)
        session = _OwnSession(curator, curator.dataset(dataset.name), frames=frames)
    except BaseException:
        curator.close()
        raise
    return session


def _kept(home: str | Path) -> Curator:
    """Open a curator's folder, or make one."""
    folder = Path(home).expanduser()
    return Curator.open(folder) if (folder / SETTINGS).is_file() else Curator.create(folder)


def _is_known(curator: Curator, dataset: DataSet, loss: Loss, home: str | Path) -> bool:
    """Return whether a folder has this data set with these very rows; refuse another one of the same name."""
    if dataset.name not in [known.name for known in curator.datasets()]:
        return False
    known, budget = curator.dataset(dataset.name), curator.ledger.balance(dataset.name).budget
    before, now = (dump_schema(one).splitlines() for one in (known, dataset))
    changed = [
        f"{sign} {line[2:].strip()}"
        for line in difflib.ndiff(before, now)
        if (sign := {"- ": "was", "+ ": "is"}.get(line[:2], "")) and line[2:].strip()
    ]
    if budget != loss:
        changed += [f"was a budget of {budget}", f"is a budget of {loss}"]
    if changed:
        rule = f"what {home} keeps as {dataset.name!r}, or another name (name=...); it {'; '.join(changed)}"
        raise InvalidParameter("data set", dataset.name, rule)
    edition = current(curator.folder, dataset.name)
    if dataset.tables[0].source == FRAMES or edition is None:
        return edition is not None
    origins = edition.tables[dataset.tables[0].name].origins
    files = files_of(dataset.tables[0], None)
    return [origin.path for origin in origins] == files and all(origin.is_same() for origin in origins)


def _has_rows_alone(home: str | Path | None, name: str) -> bool:
    """Whether a folder has a data set of this name that was declared with ``rows`` and no ``groups``.

    It was registered when a limit of rows was one of groups, too; it keeps that meaning, and the line that made it.
    """
    if home is None or not (Path(home).expanduser() / SETTINGS).is_file():
        return False
    with Curator.open(Path(home).expanduser()) as curator:
        return any(known.name == name for known in curator.datasets()) and curator.dataset(name).groups is None


def _unlimited(rows: int | None, groups: int | None, rows_per_group: int | None, *, is_known: bool) -> list[str]:
    """Return the limits of what one person contributes that are missing."""
    has_rows = rows is not None or (groups is not None and rows_per_group is not None)
    has_groups = groups is not None or is_known or (isinstance(rows, int) and rows <= 1)
    return [name for name, is_there in (("rows", has_rows), ("groups", has_groups)) if not is_there]


def _refuse_missing(columns: _Columns, *, said: Mapping[str, bool], is_person: bool, limits: Sequence[str]) -> None:
    """Refuse what leaves out something that protects people: all of it at once, with a line that says it.

    Args:
        columns: of the frame or file.
        said: whether the budget and the person are given.
        is_person: whether a column says whose a row is.
        limits: those of what one person contributes that are missing.

    """
    missing = []
    if not said["budget"]:
        missing.append(("budget", "the total epsilon of all releases"))
    if not said["whose"]:
        missing.append(("person", 'the column that says whose a row is, or unit="row" where every row is a person'))
    if is_person or not said["whose"]:
        missing += [(name, _OF_LIMITS[name]) for name in limits]
    if not missing:
        return
    candidates = id_candidates(columns.stored)
    whose = candidates[0] if candidates else "..."
    line = f"dither.private(..., budget=1, person={whose!r}, rows=10, groups=2)"
    named = "; ".join(f"{name}: {what}" for name, what in missing)
    rule = f"required, from someone who knows the data: {named}; for example {line}"
    raise InvalidParameter(", ".join(name for name, _ in missing), None, rule)


def _unit(unit: str | None, *, is_person: bool) -> str:
    if unit is None:
        return "person"
    if not isinstance(unit, str) or unit not in _UNITS:
        raise InvalidParameter("unit", unit, f"one of {', '.join(_UNITS)}")
    if unit.startswith("person") != is_person:
        rule = "a unit of people if person= is set, and a unit of rows if it is not"
        raise InvalidParameter("unit", unit, rule)
    return unit


def _named(name: str | None, usual: str) -> str:
    if name is not None:
        check_name("name", name)
    return usual if name is None else name


def _flags(nullable: Collection[Any]) -> dict[Any, bool]:
    return dict.fromkeys([nullable] if isinstance(nullable, str) else nullable, True)


def _is_of_categories(stored: str) -> bool:
    return stored.lower().startswith(("categor", "enum", "dictionary"))


def _written(parameter: str, column: str, values: Any) -> list[Any]:
    """Return what is declared as a list; refuse columns and arrays, which mostly come from rows."""
    if not isinstance(values, list | tuple | range):
        rule = "a list or tuple written by hand: public facts are never read from the rows"
        raise InvalidParameter(f"{parameter} of {column}", type(values).__name__, rule)
    return list(values)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"
