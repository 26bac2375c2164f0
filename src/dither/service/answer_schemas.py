"""Stored answers as JSON Schema: what the 200 of a release is, by what was released.

A schema with a title becomes a named type in OpenAPI, so that a generated client has one for each. What no schema here
describes is any JSON: how a mechanism's own output is written follows from the mechanism.
"""

from __future__ import annotations

from typing import Any, Final

from dither.service.records import LOSS, NUMBER, TEXT, TRUTH, Schema, array_of, or_null, record_of

REAL: Final = {"type": "number"}
_CELL: Final = {
    "title": "Cell",
    "description": "A value. Infinite ends of intervals are the strings inf and -inf; a date is an object of time.",
    "anyOf": [
        *({"type": kind} for kind in ("string", "number", "boolean", "null")),
        {"type": "array"},
        record_of(time=TEXT),
    ],
}
_ROWS: Final = array_of(array_of(_CELL))
_LIMITED: Final = {**TEXT, "description": "How much of one person counts, where that is limited."}


def _optional(schema: dict[str, Any], **fields: Schema) -> dict[str, Any]:
    """Return a record that may have these fields as well."""
    return {**schema, "properties": {**schema["properties"], **fields}}


_COLUMN: Final = {
    "title": "Column",
    **_optional(record_of(name=TEXT, kind=TEXT, is_key=TRUTH, estimand=TEXT, bias=TEXT), limit=_LIMITED),
}
_HEAD: Final[dict[str, Schema]] = {
    "columns": array_of(_COLUMN),
    "confidence": {**TEXT, "description": "The level of the intervals, an exact number."},
    "is_simultaneous": {**TRUTH, "description": "Whether all intervals hold together at that level."},
    "loss": LOSS,
    "unit": {**TEXT, "description": "What the loss protects."},
    "notes": array_of(TEXT),
}

RESULT: Final = {
    "title": "Result",
    "description": "Rows with intervals: values, lower ends and upper ends have the same shape. raw has the values as "
    "drawn, where they differ.",
    **_optional(record_of(result={"const": 1}, **_HEAD, rows=_ROWS, low=_ROWS, high=_ROWS), raw=_ROWS),
}
RESULT_IN_COLUMNS: Final = {
    "title": "ResultInColumns",
    "description": "A result of many rows. Each part has a list for each column, or the column as base64 of an array "
    "of the named type. Other forms of the answer are easier to read: text/csv, Arrow, Parquet.",
    **record_of(
        result={"const": 2},
        **_HEAD,
        length=NUMBER,
        parts={"type": "object", "additionalProperties": {"type": "array"}, "required": ["rows", "low", "high"]},
    ),
}
BOUNDS: Final = {
    "title": "Bounds",
    "description": "A range of a column; lower and upper are null if no range was found.",
    **record_of(
        bounds={"const": 1},
        column=TEXT,
        lower=or_null(REAL),
        upper=or_null(REAL),
        counted=NUMBER,
        outside=NUMBER,
        reach=NUMBER,
        confidence=TEXT,
        loss=LOSS,
        unit=TEXT,
    ),
}
SYNTHETIC: Final = {
    "title": "SyntheticTable",
    "description": "A private model of a table, from which synthetic rows are drawn.",
    "type": "object",
    "properties": {"synthetic": NUMBER, "table": TEXT, "method": TEXT, "loss": LOSS, "unit": TEXT, "model": {}},
    "required": ["synthetic", "table", "method", "loss", "unit", "model"],
}
ANONYMIZED: Final = {
    "title": "AnonymizedTable",
    "type": "object",
    "properties": {"anonymized": NUMBER, "table": TEXT, "method": TEXT, "loss": LOSS, "unit": TEXT, "released": {}},
    "required": ["anonymized", "table", "method", "loss", "unit", "released"],
}
OTHER: Final = {
    "title": "OtherAnswer",
    "description": "A fitted model, tables by set of columns or by part, or the output of a mechanism.",
    "type": ["object", "array", "string", "number", "boolean", "null"],
}
ANSWER: Final = {
    "title": "Answer",
    "description": "A stored answer, by what was released.",
    "anyOf": [RESULT, RESULT_IN_COLUMNS, BOUNDS, SYNTHETIC, ANONYMIZED, OTHER],
}
