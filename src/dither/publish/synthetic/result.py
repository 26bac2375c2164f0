"""A synthetic table: a released model with the meaning of its codes, from which rows are drawn and written.

Everything here is post-processing: any number of rows may be drawn, and drawn again, at no further cost. The record is
JSON of a stated version; reading one runs nothing that it contains.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Kind
from dither.data.wire import decode, encode
from dither.errors import InvalidParameter, MissingExtra
from dither.estimate.public_randomness import public_generator
from dither.exact import whole
from dither.mechanisms.notebook import html
from dither.pages.spreadsheet import safe
from dither.privacy import Loss
from dither.publish.synthetic.columns import Coding, objects_of
from dither.publish.synthetic.constraints import Constraint, Determined, Impossible, draw_possible
from dither.publish.synthetic.models import MOST_RECORDS, Model

VERSION: Final = 1


@dataclass(frozen=True)
class Rows:
    """Drawn rows, column by column."""

    columns: Mapping[str, NDArray[Any]]
    kinds: Mapping[str, Kind]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def to_arrow(self) -> Any:
        """Return an Arrow table."""
        arrow = _module("pyarrow", "Arrow tables", "frames")
        types = {
            Kind.BOOLEAN: arrow.bool_(),
            Kind.INTEGER: arrow.int64(),
            Kind.REAL: arrow.float64(),
            Kind.TEXT: arrow.string(),
            Kind.DATE: arrow.date32(),
            Kind.TIMESTAMP: arrow.timestamp("us"),
        }
        return arrow.table(
            {name: arrow.array(values.tolist(), type=types[self.kinds[name]]) for name, values in self.columns.items()}
        )

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        _module("pandas", "data frames", "frames")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a Polars data frame."""
        return _module("polars", "Polars frames", "frames").from_arrow(self.to_arrow())

    def write(self, path: Path | str) -> Path:
        """Write the rows to a CSV, Parquet or JSON file (a line for each row), and return its path."""
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix not in (".csv", ".parquet", ".json"):
            raise InvalidParameter("path", str(path), "a file ending in .csv, .parquet or .json")
        if suffix == ".json":
            names = list(self.columns)
            lines = (
                json.dumps(dict(zip(names, map(_plain, row), strict=True)), ensure_ascii=False)
                for row in zip(*(values.tolist() for values in self.columns.values()), strict=True)
            )
            target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        elif suffix == ".parquet":
            _module("pyarrow.parquet", "Parquet files", "frames").write_table(self.to_arrow(), target)
        else:
            _module("pyarrow.csv", "CSV files", "frames").write_csv(self._for_spreadsheets(), target)
        return target

    def _for_spreadsheets(self) -> Any:
        """Return an Arrow table with an apostrophe before texts that a spreadsheet would take for a formula."""

        def column(name: str, values: NDArray[Any]) -> NDArray[Any]:
            if self.kinds[name] is not Kind.TEXT:
                return values
            known = {text: text if text is None else safe(text) for text in set(values.tolist())}
            return np.array([known[text] for text in values.tolist()], dtype=object)

        marked = Rows({name: column(name, values) for name, values in self.columns.items()}, self.kinds)
        return marked.to_arrow().rename_columns([safe(name) for name in self.columns])


@dataclass(frozen=True)
class SyntheticTable:
    """A released model of a table.

    Args:
        table: of which the rows would be.
        model: what was released.
        codings: what the codes of the model mean, in its order.
        columns: all columns in the order of the rows, those that others determine included.
        constraints: public facts that every row keeps.
        method: by which the model was made.
        loss: what it cost.
        unit: what is protected, in words.
        receipt: where the charge is recorded.

    """

    table: str
    model: Model
    codings: tuple[Coding, ...]
    columns: tuple[tuple[str, Kind], ...]
    constraints: tuple[Constraint, ...]
    method: str
    loss: Loss
    unit: str
    receipt: str = "unledgered"

    @cached_property
    def _codings(self) -> dict[str, Coding]:
        return {coding.column: coding for coding in self.codings}

    def __repr__(self) -> str:
        return f"<SyntheticTable of {self.table} by {self.method}: about {self.estimated_rows} rows; {self.loss}>"

    def _repr_html_(self) -> str:
        facts = [("method", self.method), ("rows, about", self.estimated_rows), ("loss", self.loss)]
        facts += [("protects", self.unit), ("receipt", self.receipt)]
        rows = ((name, kind.value) for name, kind in self.columns)
        notes = ["sample(n) draws rows from the released model, which can be written or made a frame"]
        title, head = f"Synthetic table of {self.table}", ("column", "kind")
        return html(title, facts=facts, head=head, rows=rows, of_rows=len(self.columns), notes=notes)

    @property
    def estimated_rows(self) -> int:
        """The model's estimate of the number of rows."""
        return round(self.model.total)

    def codes(self, rows: int | None = None) -> NDArray[np.int64]:
        """Return drawn records as codes, in the order of ``codings``."""
        wanted = whole("rows", self.estimated_rows if rows is None else rows, least=0, most=MOST_RECORDS)
        forbidden = [constraint for constraint in self.constraints if isinstance(constraint, Impossible)]
        return draw_possible(self.model, wanted, forbidden, self._codings, public_generator())

    def sample(self, rows: int | None = None) -> Rows:
        """Return drawn rows, by default the estimated number of them."""
        drawn, generator = self.codes(rows), public_generator()
        found: dict[str, NDArray[Any]] = {}
        for place, coding in enumerate(self.codings):
            found[coding.column] = coding.values(drawn[:, place], generator)
        for constraint in self.constraints:
            if isinstance(constraint, Determined):
                known = dict(constraint.values)
                found[constraint.column] = objects_of([known[value] for value in found[constraint.by].tolist()])
        return Rows({name: found[name] for name, _ in self.columns}, dict(self.columns))

    def to_json(self) -> str:
        """Return the table as JSON."""
        return json.dumps(
            {
                "synthetic": VERSION,
                "table": self.table,
                "method": self.method,
                "loss": self.loss.to_dict(),
                "unit": self.unit,
                "receipt": self.receipt,
                "columns": [[name, kind.value] for name, kind in self.columns],
                "codings": [encode(coding) for coding in self.codings],
                "constraints": [encode(constraint) for constraint in self.constraints],
                "model": self.model.to_dict(),
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> SyntheticTable:
        """Return the table that a text describes, or reject it."""
        try:
            record = json.loads(text)
        except ValueError:
            raise InvalidParameter("text", "no JSON", "a synthetic table as to_json writes it") from None
        if not isinstance(record, dict) or record.get("synthetic") != VERSION:
            raise InvalidParameter("text", "another record", f"a synthetic table of version {VERSION}")
        try:
            codings = tuple(decode(coding) for coding in record["codings"])
            constraints = tuple(decode(constraint) for constraint in record["constraints"])
            columns = tuple((str(name), Kind(kind)) for name, kind in record["columns"])
            parts = (record["table"], record["method"], record["unit"], record["receipt"])
            loss, model = Loss.from_dict(record["loss"]), Model.from_dict(record["model"])
        except (KeyError, TypeError, ValueError):
            raise InvalidParameter(
                "text", "a record without its fields", "a synthetic table as it was written"
            ) from None
        names = tuple(coding.column for coding in codings if isinstance(coding, Coding))
        sizes = tuple(coding.size for coding in codings if isinstance(coding, Coding))
        if (model.attributes.names, model.attributes.sizes) != (names, sizes) or not all(
            isinstance(part, str) for part in parts
        ):
            raise InvalidParameter(
                "text", "codings and a model of other columns", "a synthetic table as it was written"
            )
        table, method, unit, receipt = parts
        return cls(table, model, codings, columns, constraints, method, loss, unit, receipt)

    def save(self, path: Path | str) -> Path:
        """Write the table to a file that ``load`` reads, and return its path."""
        target = Path(path)
        target.write_text(self.to_json(), encoding="utf-8")
        return target

    @classmethod
    def load(cls, path: Path | str) -> SyntheticTable:
        """Return the table that ``save`` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def _module(name: str, what: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra(what, extra) from None


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
