"""Released values as bytes for a ledger, and back: plain values, arrays, and records with registered names.

A closed format: no code and no imports. What has no place in it is refused.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.errors import InvalidParameter, NotSerialisable

if TYPE_CHECKING:
    from dither.mechanisms.core.spec import Codec

#: What a ledger keeps of one answer, in bytes.
LARGEST_ANSWER = 2**28
_DTYPES = ("<i8", "<f8", "|b1", "<i4", "<f4", "|u1")
_DEEPEST = 32


_kept: dict[str, Codec] = {}


def check_length(parameter: str, rows: int, row: int, head: int = 0) -> None:
    """Reject an answer that may be longer than a ledger stores, before it is charged.

    Args:
        parameter: what the caller calls what is asked.
        rows: how many rows the answer has at most.
        row: how many bytes each of them may have; above 0.
        head: how many other bytes there are.

    """
    if head + rows * row > LARGEST_ANSWER:
        rule = (
            f"small enough for an answer of at most {LARGEST_ANSWER:,} bytes; a row of it may have {row:,}, so "
            f"request at most {max(0, LARGEST_ANSWER - head) // row:,} rows"
        )
        raise InvalidParameter(parameter, f"{rows:,} rows", rule)


def keep(tag: str, kept: Codec) -> None:
    """Let released records of one type appear in stored answers as ``{tag: written}``.

    Args:
        tag: the one key of the written record.
        kept: the type, its subclasses included, and two functions between its records and plain JSON data.

    """
    if tag in ("tuple", "dict", "array", "real") or _kept.get(tag, kept).kind is not kept.kind:
        raise InvalidParameter("tag", tag, "new")
    _kept[tag] = kept


def keep_record(tag: str, kind: Any) -> None:
    """Give released records of a class with ``to_dict`` and ``from_dict`` a place in stored answers, as a text.

    A text of its own, because a number of a record may be one for which plain JSON has no word.

    Args:
        tag: the one key of the written record.
        kind: the class, whose ``from_dict`` reads what ``to_dict`` of any subclass writes.

    """
    # Here, so that a ledger, which stores bytes alone, is opened without the room of mechanisms.
    from dither.mechanisms.core.spec import Codec

    keep(tag, Codec(kind, lambda record: json.dumps(record.to_dict()), lambda text: kind.from_dict(json.loads(text))))


def write_value(value: Any) -> bytes:
    """Return a released value as bytes, or raise NotSerialisable.

    >>> read_value(write_value((1, 0.5, None, {2: "x"})))
    (1, 0.5, None, {2: 'x'})
    """
    return json.dumps(_written(value, _DEEPEST), separators=(",", ":"), allow_nan=False).encode()


def read_value(stored: bytes) -> Any:
    """Return the value that ``write_value`` wrote."""
    return _read(json.loads(stored))


def _written(value: Any, depth: int) -> Any:
    if depth == 0:
        raise NotSerialisable("a release that is nested too deeply cannot be stored")
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float | np.floating):
        # Exactly, and with infinities.
        return {"real": float(value).hex()}
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if type(value) is list:
        return [_written(entry, depth - 1) for entry in value]
    if type(value) is tuple:
        return {"tuple": [_written(entry, depth - 1) for entry in value]}
    if isinstance(value, dict):
        return {"dict": [[_written(name, depth - 1), _written(entry, depth - 1)] for name, entry in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.str in _DTYPES:
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": [value.dtype.str, list(value.shape), content]}
    for tag, kept in _kept.items():
        if isinstance(value, kept.kind):
            return {tag: kept.write(value)}
    raise NotSerialisable(f"a release of the type {type(value).__name__} cannot be stored")


def _read(record: Any) -> Any:
    if isinstance(record, list):
        return [_read(entry) for entry in record]
    if not isinstance(record, dict):
        return record
    ((tag, content),) = record.items()
    if tag == "real":
        return float.fromhex(content)
    if tag == "tuple":
        return tuple(_read(entry) for entry in content)
    if tag == "dict":
        return {_read(name): _read(entry) for name, entry in content}
    if tag == "array":
        dtype, shape, text = content
        return np.frombuffer(base64.b64decode(text), dtype=dtype).reshape(shape).copy()
    return _kept[tag].read(content)
