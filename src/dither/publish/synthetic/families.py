"""Synthetic families: a released model of two tables with the meaning of its codes, from which both are drawn.

``plan_families`` needs public facts alone and says what will be released and at what price. Drawn tables are joined by
numbers of their own in the place of the privacy id: they belong to nobody. Everything after the release is
post-processing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import DataSet, Kind, Table
from dither.data.expressions import Value
from dither.data.wire import decode, encode
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.lift.attributes import Attributes
from dither.privacy import Loss
from dither.publish.synthetic.columns import Coding, codings_of, objects_of
from dither.publish.synthetic.counted_families import CountedFamilies, families_within
from dither.publish.synthetic.parent_child import NUMBER, FamilyModel
from dither.publish.synthetic.result import Rows, SyntheticTable
from dither.publish.synthetic.synthesizer import AUTO, METHODS, chosen

VERSION: Final = 1


@dataclass(frozen=True)
class FamilyTable:
    """One of the two tables, as drawn.

    Args:
        name: of the table.
        person: the column of the privacy id, which drawn rows have numbers in that join the two tables.
        columns: all columns in the order of the rows, that of the privacy id included.
        codings: what the codes of the others mean.

    """

    name: str
    person: str
    columns: tuple[tuple[str, Kind], ...]
    codings: tuple[Coding, ...]

    def rows(self, codes: NDArray[np.int64], owners: NDArray[np.int64]) -> Rows:
        """Return rows of values from rows of codes, and each row's family number."""
        generator, kinds = public_generator(), dict(self.columns)
        found = {coding.column: coding.values(codes[:, place], generator) for place, coding in enumerate(self.codings)}
        numbers = (owners + 1).tolist()
        found[self.person] = objects_of([str(one) for one in numbers] if kinds[self.person] is Kind.TEXT else numbers)
        return Rows({name: found[name] for name, _ in self.columns}, kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        columns = [[name, kind.value] for name, kind in self.columns]
        codings = [encode(coding) for coding in self.codings]
        return {"name": self.name, "person": self.person, "columns": columns, "codings": codings}

    @classmethod
    def from_dict(cls, record: Any) -> FamilyTable:
        """Return the table that plain values describe."""
        columns = tuple((str(name), Kind(kind)) for name, kind in record["columns"])
        codings = tuple(decode(coding) for coding in record["codings"])
        if not all(isinstance(coding, Coding) for coding in codings):
            raise TypeError
        return cls(str(record["name"]), str(record["person"]), columns, codings)


@dataclass(frozen=True)
class SyntheticFamilies:
    """A released model of parents and children.

    Args:
        parents: the table of parents.
        children: the table of children.
        model: what was released.
        method: by which both models were made.
        loss: what it cost.
        unit: what is protected, in words.
        receipt: where the charge is recorded.

    """

    parents: FamilyTable
    children: FamilyTable
    model: FamilyModel
    method: str
    loss: Loss
    unit: str
    receipt: str = "unledgered"

    def sample(self, parents: int | None = None) -> dict[str, Rows]:
        """Return both tables by name, by default with the estimated number of parents."""
        drawn = self.model.sample(parents)
        return {
            self.parents.name: self.parents.rows(drawn.parents, np.arange(len(drawn.parents), dtype=np.int64)),
            self.children.name: self.children.rows(drawn.children, drawn.owners),
        }

    def views(self) -> tuple[SyntheticTable, SyntheticTable]:
        """Return both models as tables, for reports: parents with numbers of children, children with parents."""
        above, below = self.model.parents, self.model.children
        many = above.attributes.sizes[-1]
        number = Coding(NUMBER, Kind.INTEGER, tuple(range(many)), None, nullable=False)
        found = []
        for name, model, codings in (
            (self.parents.name, above, (*self.parents.codings, number)),
            (self.children.name, below, (*self.parents.codings, *self.children.codings)),
        ):
            named = tuple(replace(one, column=said) for one, said in zip(codings, model.attributes.names, strict=True))
            columns = tuple((one.column, one.kind) for one in named)
            found.append(
                SyntheticTable(name, model, named, columns, (), self.method, self.loss, self.unit, self.receipt)
            )
        return found[0], found[1]

    def to_json(self) -> str:
        """Return the families as JSON."""
        record = {
            "synthetic families": VERSION,
            "method": self.method,
            "loss": self.loss.to_dict(),
            "unit": self.unit,
            "receipt": self.receipt,
            "parents": self.parents.to_dict(),
            "children": self.children.to_dict(),
            "model": self.model.to_dict(),
        }
        return json.dumps(record, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> SyntheticFamilies:
        """Return the families that a text describes, or reject it."""
        try:
            record = json.loads(text)
        except ValueError:
            raise InvalidParameter("text", "no JSON", "synthetic families as to_json writes them") from None
        if not isinstance(record, dict) or record.get("synthetic families") != VERSION:
            raise InvalidParameter("text", "another record", f"synthetic families of version {VERSION}")
        try:
            parents, children = FamilyTable.from_dict(record["parents"]), FamilyTable.from_dict(record["children"])
            words = (record["method"], record["unit"], record["receipt"])
            loss, model = Loss.from_dict(record["loss"]), FamilyModel.from_dict(record["model"])
        except (KeyError, TypeError, ValueError):
            raise InvalidParameter("text", "a record without its fields", "synthetic families as written") from None
        sizes = [coding.size for coding in (*parents.codings, *children.codings)]
        if list(model.children.attributes.sizes) != sizes or not all(isinstance(word, str) for word in words):
            raise InvalidParameter("text", "codings and a model of other columns", "synthetic families as written")
        method, unit, receipt = words
        return cls(parents, children, model, method, loss, unit, receipt)

    def save(self, path: Path | str) -> Path:
        """Write the families to a file that ``load`` reads, and return its path."""
        target = Path(path)
        target.write_text(self.to_json(), encoding="utf-8")
        return target

    @classmethod
    def load(cls, path: Path | str) -> SyntheticFamilies:
        """Return what ``save`` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class PlannedFamilies:
    """A release that is priced but not yet made."""

    mechanism: CountedFamilies
    parents: FamilyTable
    children: FamilyTable
    method: str

    def present(self, model: FamilyModel, receipt: str = "unledgered") -> SyntheticFamilies:
        """Return released models with the meaning of their codes."""
        release = self.mechanism
        words = (self.method, release.loss(1), str(release.distance), receipt)
        return SyntheticFamilies(self.parents, self.children, model, *words)


def plan_families(
    dataset: DataSet,
    parent: str,
    child: str,
    loss: Loss,
    *,
    columns: Sequence[str] | None = None,
    method: str = AUTO,
    bins: Mapping[str, Any] | None = None,
    other: Mapping[str, Value] | None = None,
    children: int | None = None,
) -> PlannedFamilies:
    """Return the release of a model of two tables whose loss is within ``loss``.

    Columns are named by themselves, or as ``table.column`` where both tables have one of that name.

    Args:
        dataset: the schema, whose unit is a person: the parent with all children.
        parent: the table with one row for each privacy id; of several one counts.
        child: the table with several.
        loss: what one person may lose.
        columns: which columns; None for all except the privacy ids.
        method: one of ``METHODS``, or "auto".
        bins: for numeric columns a number of cells, or their edges.
        other: for columns with categories, the label of rows whose value is not a category.
        children: how many children of a parent count; None for the data set's limits.

    """
    tables = [dataset.table(name) for name in (parent, child)]
    if tables[0] is tables[1]:
        raise InvalidParameter("tables", (parent, child), "two different tables")
    if not dataset.protects_persons:
        rule = "in a data set whose unit is a person: the privacy id says whose children are whose"
        raise InvalidParameter("tables", (parent, child), rule)
    kept = [None, None] if columns is None else _divided("columns", dict.fromkeys(columns), tables)
    cells, described = [], []
    binned, labelled = _divided("bins", bins or {}, tables), _divided("other", other or {}, tables)
    for place, table in enumerate(tables):
        names = kept[place]
        if names is not None and not names:
            raise InvalidParameter("columns", columns, f"at least one of {table.name}")
        coded, codings = codings_of(
            dataset, table.name, None if names is None else list(names), bins=binned[place], other=labelled[place]
        )
        cells.append(coded)
        described.append(_described(table, codings))

    def build(each: Loss, attributes: Attributes) -> Any:
        return METHODS[chosen(method, each, attributes)].calibrated(each, attributes=attributes)

    release = families_within(loss, cells[0], cells[1], most=children, build=build)
    return PlannedFamilies(release, described[0], described[1], release.of_children.name)


def _described(table: Table, codings: Sequence[Coding]) -> FamilyTable:
    if table.person is None:
        raise InvalidParameter("tables", table.name, "two tables with a privacy id: a family is written under one")
    shown = {coding.column for coding in codings} | {table.person}
    columns = tuple((name, kind) for name, kind in table.kinds.items() if name in shown)
    return FamilyTable(table.name, table.person or "", columns, tuple(codings))


def _divided(parameter: str, given: Mapping[str, Any], tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Return the settings of either table's columns, whose names may be prefixed by the table's name."""
    found: list[dict[str, Any]] = [{} for _ in tables]
    for said, value in given.items():
        named, has_table, column = said.rpartition(".")
        places = [
            place
            for place, table in enumerate(tables)
            if column in table.kinds and (not has_table or table.name.lower() == named.lower())
        ]
        if len(places) != 1:
            rule = f"columns of {tables[0].name} or {tables[1].name}, as TABLE.COLUMN where both have one"
            raise InvalidParameter(parameter, said, rule)
        found[places[0]][column] = value
    return found
