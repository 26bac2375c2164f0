"""Anonymized tables: what was released, with the meaning of its codes, and the rows to write.

Four kinds of release, one for each method: groups of values with noisy counts (DiffGen), sets of items with noisy
counts (DiffPart), a model that rows are drawn from (PrivFuzzy), and rows told at random. Everything here is
post-processing. The record is JSON of a stated version; reading one runs nothing that it contains.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Kind
from dither.data.wire import decode, encode
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.estimate.record_fitting import shared_out
from dither.exact import whole
from dither.privacy import Loss
from dither.publish.microdata.generalised import GeneralisedTable
from dither.publish.microdata.hierarchies import group_label
from dither.publish.microdata.transactions import ItemSets
from dither.publish.synthetic.columns import Coding, objects_of
from dither.publish.synthetic.models import MOST_RECORDS, Model
from dither.publish.synthetic.result import Rows, SyntheticTable

VERSION: Final = 1
_LARGEST_COUNT: Final = 2**62

Released = Model | ItemSets | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AnonymizedTable:
    """What was released of a table.

    Args:
        table: of which the rows would be.
        method: by which it was made.
        released: groups with counts, sets of items with counts, a model, or rows of codes.
        codings: what the codes mean.
        columns: the columns of the rows, in their order.
        loss: what it cost.
        unit: what is protected, in words.
        notes: further remarks, for people.
        receipt: where the charge is recorded.

    """

    table: str
    method: str
    released: Released
    codings: tuple[Coding, ...]
    columns: tuple[tuple[str, Kind], ...]
    loss: Loss
    unit: str
    notes: tuple[str, ...] = ()
    receipt: str = "unledgered"

    def rows(self, rows: int | None = None) -> Rows:
        """Return the anonymized rows.

        Generalised rows where groups were released, in proportion to the nearest counts that are not negative; a row
        for each person and item where sets were; drawn rows where a model was; and the rows themselves where they were
        told at random.

        Args:
            rows: how many, of groups or of a model; None for the estimated number.

        """
        if isinstance(self.released, Model):
            if not isinstance(self.released, GeneralisedTable):
                return self.sample(rows)
            wanted = round(self.released.total) if rows is None else rows
            return self._generalised(self.released, whole("rows", wanted, least=0, most=MOST_RECORDS))
        if rows is not None:
            raise InvalidParameter("rows", rows, f"not allowed for {self.method}: the rows were released themselves")
        return self._items(self.released) if isinstance(self.released, ItemSets) else self._decoded(self.released)

    def sample(self, rows: int | None = None) -> Rows:
        """Return rows of values drawn from groups or from a model, by default the estimated number of them."""
        if not isinstance(self.released, Model):
            raise InvalidParameter("method", self.method, "one that releases a model, for rows to be drawn")
        return self._decoded(self.released.sample(rows))

    def view(self) -> SyntheticTable | None:
        """Return a released model as a synthetic table, for reports; None if there is none."""
        if not isinstance(self.released, Model):
            return None
        columns = tuple((coding.column, coding.kind) for coding in self.codings)
        rest = (columns, (), self.method, self.loss, self.unit, self.receipt)
        return SyntheticTable(self.table, self.released, self.codings, *rest)

    def _decoded(self, codes: NDArray[np.int64]) -> Rows:
        generator = public_generator()
        found = {coding.column: coding.values(codes[:, place], generator) for place, coding in enumerate(self.codings)}
        return Rows(found, {coding.column: coding.kind for coding in self.codings})

    def _generalised(self, table: GeneralisedTable, rows: int) -> Rows:
        drawn = shared_out(table.law.ravel(), rows, public_generator())
        cells = np.unravel_index(np.sort(drawn), table.counts.shape)
        found = {}
        for place, (coding, groups) in enumerate(zip(self.codings, table.groups, strict=True)):
            labels = objects_of([group_label(coding, label, values) for label, values in groups])
            found[coding.column] = labels[cells[place]]
        return Rows(found, {coding.column: Kind.TEXT for coding in self.codings})

    def _items(self, sets: ItemSets) -> Rows:
        (person, kind), (item, item_kind) = self.columns
        labels = objects_of(self.codings[0].labels or ())
        counts = np.array(sets.counts, dtype=np.int64)
        sizes = np.array([len(items) for items in sets.sets], dtype=np.int64)
        flat = [
            np.tile(np.array(items, dtype=np.int64), many) for items, many in zip(sets.sets, sets.counts, strict=True)
        ]
        owners = np.repeat(np.arange(1, int(counts.sum()) + 1), np.repeat(sizes, counts)).tolist()
        codes = np.concatenate([np.zeros(0, dtype=np.int64), *flat])
        numbers = objects_of([str(one) for one in owners] if kind is Kind.TEXT else owners)
        return Rows({person: numbers, item: labels[codes]}, {person: kind, item: item_kind})

    def to_json(self) -> str:
        """Return the table as JSON."""
        record = {
            "anonymized": VERSION,
            "table": self.table,
            "method": self.method,
            "loss": self.loss.to_dict(),
            "unit": self.unit,
            "notes": list(self.notes),
            "receipt": self.receipt,
            "columns": [[name, kind.value] for name, kind in self.columns],
            "codings": [encode(coding) for coding in self.codings],
            "released": _written(self.released),
        }
        return json.dumps(record, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> AnonymizedTable:
        """Return the table that a text describes, or reject it."""
        rule = "an anonymized table as to_json writes it"
        try:
            record = json.loads(text)
        except ValueError:
            raise InvalidParameter("text", "no JSON", rule) from None
        if not isinstance(record, dict) or record.get("anonymized") != VERSION:
            raise InvalidParameter("text", "another record", f"an anonymized table of version {VERSION}")
        try:
            codings = tuple(decode(coding) for coding in record["codings"])
            columns = tuple((str(name), Kind(kind)) for name, kind in record["columns"])
            words = (record["table"], record["method"], record["unit"], record["receipt"], *record["notes"])
            loss, released = Loss.from_dict(record["loss"]), _read(record["released"], codings)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise InvalidParameter("text", "a record without its fields", rule) from None
        if not all(isinstance(word, str) for word in words):
            raise InvalidParameter("text", "a record of other fields", rule)
        table, method, unit, receipt, *notes = words
        return cls(table, method, released, codings, columns, loss, unit, tuple(notes), receipt)

    def save(self, path: Path | str) -> Path:
        """Write what was released to a file that ``load`` reads, and return its path."""
        target = Path(path)
        target.write_text(self.to_json(), encoding="utf-8")
        return target

    @classmethod
    def load(cls, path: Path | str) -> AnonymizedTable:
        """Return what ``save`` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def _written(released: Released) -> dict[str, Any]:
    if isinstance(released, Model):
        return released.to_dict()
    if isinstance(released, ItemSets):
        sets = [[list(items), count] for items, count in zip(released.sets, released.counts, strict=True)]
        return {"items": list(released.items), "sets": sets}
    return {"rows": released.tolist()}


def _read(record: Any, codings: tuple[Coding, ...]) -> Released:
    if "model" in record:
        model = Model.from_dict(record)
        if list(model.attributes.sizes) != [coding.size for coding in codings]:
            raise ValueError
        return model
    if "items" in record:
        items, size = tuple(str(item) for item in record["items"]), codings[0].size
        if len(items) != size:
            raise ValueError
        sets = tuple(tuple(whole("item", item, most=size - 1) for item in items) for items, _ in record["sets"])
        return ItemSets(items, sets, tuple(whole("count", count, most=_LARGEST_COUNT) for _, count in record["sets"]))
    last = np.array([coding.size - 1 for coding in codings], dtype=np.int64)
    rows = np.array(record["rows"], dtype=np.int64).reshape(-1, len(codings))
    if (rows < 0).any() or (rows > last).any():
        raise ValueError
    return rows
