"""The forms of a stored answer: the bytes themselves, or a table made of them.

JSON is what the ledger stores, the same bytes for ever. CSV, an Arrow stream and Parquet are made from it where the
answer is rows, by the header ``Accept`` or by the ending of its address, which comes first.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from dither.curator.ledger import Receipt
from dither.errors import MissingExtra
from dither.pages.spreadsheet import csv_lines
from dither.service.problems import Problem, Refused
from dither.service.tables import Columns, NoTable, columns_of

_QUALITY: Final = re.compile(r"^q=(0(\.[0-9]{0,3})?|1(\.0{0,3})?)$")


@dataclass(frozen=True)
class Form:
    """A form that an answer can be given in.

    Args:
        ending: of its address.
        kind: the media type, as ``Accept`` and the answer name it.
        more: what else the answer's type says.

    """

    ending: str
    kind: str
    more: str = ""

    @property
    def media_type(self) -> str:
        """What the answer says it is."""
        return self.kind + self.more


JSON: Final = Form(".json", "application/json")
CSV: Final = Form(".csv", "text/csv", "; charset=utf-8")
ARROW: Final = Form(".arrow", "application/vnd.apache.arrow.stream")
PARQUET: Final = Form(".parquet", "application/vnd.apache.parquet")
FORMS: Final = (JSON, CSV, ARROW, PARQUET)
_NOT_ONE: Final = Problem(
    406, "NotAcceptable", f"an answer is {', '.join(f'{form.kind} ({form.ending})' for form in FORMS)}; ask for one"
)
_NO_TABLE: Final = "this answer is no table, but {}; {} ({}) has it"


def split(name: str) -> tuple[str, Form | None]:
    """Return a name without its ending, and the form that the ending asks for.

    >>> split("17.csv")[0], split("17.csv")[1].kind, split("17")[1]
    ('17', 'text/csv', None)
    """
    for form in FORMS:
        if name.endswith(form.ending):
            return name.removesuffix(form.ending), form
    return name, None


def wanted_form(accept: str) -> Form:
    """Return the form that the header ``Accept`` asks for: the first of those it likes best.

    >>> wanted_form("text/csv;q=0.5, application/json").ending, wanted_form("").ending
    ('.json', '.json')
    """
    if not accept.strip():
        return JSON
    best: tuple[float, Form] | None = None
    for said in accept.lower().split(","):
        kind, *more = [part.strip() for part in said.split(";")]
        quality = next((float(found[1]) for part in more if (found := _QUALITY.match(part))), 1.0)
        for form in FORMS:
            is_meant = kind in (form.kind, f"{form.kind.partition('/')[0]}/*", "*/*")
            if is_meant and quality > (best[0] if best else 0.0):
                best = quality, form
    if best is None:
        raise Refused(_NOT_ONE)
    return best[1]


def check_form(accept: str) -> None:
    """Refuse what no answer can be given as here."""
    if wanted_form(accept) in (ARROW, PARQUET) and importlib.util.find_spec("pyarrow") is None:
        raise Refused(Problem(406, "NotAcceptable", str(MissingExtra("Arrow and Parquet", "frames"))))


def etag(receipt: Receipt, form: Form) -> str:
    """Return the tag of an answer in a form: what is stored never changes."""
    return f'"{receipt.answer_digest}{"" if form is JSON else form.ending}"'


def written(receipt: Receipt, form: Form) -> tuple[bytes, str]:
    """Return an answer in a form, and what it says it is; refuse forms that it cannot have."""
    if form is JSON:
        return receipt.answer, JSON.media_type if is_json(receipt.answer) else "application/octet-stream"
    try:
        made = {CSV: _csv, ARROW: _arrow, PARQUET: _parquet}[form](columns_of(receipt.answer))
    except NoTable as other:
        told = _NO_TABLE.format(other, JSON.kind, JSON.ending)
        raise Refused(Problem(406, "NotAcceptable", told)) from None
    except MissingExtra as absent:
        raise Refused(Problem(406, "NotAcceptable", str(absent))) from None
    return made, form.media_type


def is_json(content: bytes) -> bool:
    """Whether stored bytes are JSON."""
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def _csv(columns: Columns) -> bytes:
    return "".join(csv_lines(list(columns), zip(*columns.values(), strict=True))).encode()


def _arrow(columns: Columns) -> bytes:
    arrow, table = _arrow_table(columns)
    out = io.BytesIO()
    with arrow.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _parquet(columns: Columns) -> bytes:
    _, table = _arrow_table(columns)
    out = io.BytesIO()
    importlib.import_module("pyarrow.parquet").write_table(table, out)
    return out.getvalue()


def _arrow_table(columns: Columns) -> tuple[Any, Any]:
    """Return the library and a table of its own; refuse values that it has no place for, such as very long integers."""
    try:
        arrow = importlib.import_module("pyarrow")
    except ImportError:
        raise MissingExtra("Arrow and Parquet", "frames") from None
    try:
        return arrow, arrow.table(columns)
    except (ValueError, TypeError, OverflowError, NotImplementedError):
        rule = f"Arrow has no place for a value of this answer; ask for it as {CSV.kind} or {JSON.kind}"
        raise Refused(Problem(406, "NotAcceptable", rule)) from None
