"""Matrices as plain JSON data and back: the parameters that define them, never their entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import exact
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.spec import Codec, register_codec
from dither.publish.workloads.grouped import Grouped
from dither.publish.workloads.marginals import Marginals
from dither.publish.workloads.matrices import Dense, Identity, Matrix, Sparse, Total
from dither.publish.workloads.p_identity import PIdentity
from dither.publish.workloads.products import Kron, Union, Weighted
from dither.publish.workloads.ranges import AllRanges, Prefixes, Ranges
from dither.publish.workloads.trees import Haar, Hierarchy, NominalTree

_DEEPEST = 32
_kinds: dict[str, type[Matrix]] = {}


def register_matrix(kind: type[Matrix]) -> type[Matrix]:
    """Let a kind of matrix appear in requests: a frozen dataclass of numbers, arrays and matrices."""
    name = getattr(kind, "kind", None)
    if not isinstance(name, str) or _kinds.get(name, kind) is not kind:
        raise InvalidParameter("kind", name, "a new name")
    _kinds[name] = kind
    return kind


for _kind in (
    Identity,
    Total,
    Dense,
    Sparse,
    AllRanges,
    Prefixes,
    Ranges,
    Kron,
    Union,
    Grouped,
    Weighted,
    Marginals,
    Haar,
    Hierarchy,
    NominalTree,
    PIdentity,
):
    register_matrix(_kind)


def to_plain(matrix: Matrix) -> dict[str, Any]:
    """Return the matrix as plain JSON data.

    >>> to_plain(Kron((Identity(2), Total(3))))["kind"]
    'kron'
    """
    if _kinds.get(matrix.kind) is not type(matrix):
        raise InvalidParameter("matrix", type(matrix).__name__, "of a registered kind: see register_matrix")
    return {"kind": matrix.kind, **{field.name: _write(getattr(matrix, field.name)) for field in fields(matrix)}}  # type: ignore[arg-type]


def from_plain(plain: Any) -> Matrix:
    """Return the matrix that ``to_plain`` wrote; reject anything unknown."""
    return _matrix(plain, _DEEPEST)


def _matrix(plain: Any, depth: int) -> Matrix:
    if not isinstance(plain, Mapping) or plain.get("kind") not in _kinds:
        found = plain.get("kind") if isinstance(plain, Mapping) else type(plain).__name__
        raise InvalidParameter("kind", found, f"one of {', '.join(sorted(_kinds))}")
    kind = _kinds[plain["kind"]]
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if set(plain) != known | {"kind"}:
        raise InvalidParameter("matrix", sorted(map(str, plain)), f"a record with exactly {sorted(known)}")
    values = {name: _read(value, depth - 1) for name, value in plain.items() if name != "kind"}
    try:
        return kind(**values)
    except (TypeError, AttributeError):
        raise InvalidParameter("matrix", plain["kind"], "a record whose parameters have the right types") from None


def _write(value: Any) -> Any:
    if isinstance(value, Matrix):
        return to_plain(value)
    if isinstance(value, tuple):
        return [_write(entry) for entry in value]
    if isinstance(value, Fraction):
        return {"number": str(value)}
    if isinstance(value, PublicArray):
        return {"array": value.values.tolist(), "dtype": value.values.dtype.str}
    return int(value)


def _read(value: Any, depth: int) -> Any:
    if depth < 0:
        raise InvalidParameter("matrix", "a deeper record", f"nested at most {_DEEPEST} deep")
    if isinstance(value, list):
        return tuple(_read(entry, depth - 1) for entry in value)
    if isinstance(value, Mapping) and set(value) == {"number"} and isinstance(value["number"], str):
        return exact("number", value["number"])
    if isinstance(value, Mapping) and set(value) == {"array", "dtype"}:
        return _array(value)
    if isinstance(value, Mapping):
        return _matrix(value, depth)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InvalidParameter("matrix", value, "plain JSON data of integers, fractions, arrays and matrices")


def _array(value: Mapping[str, Any]) -> PublicArray:
    if value["dtype"] not in ("<i8", "<f8"):
        raise InvalidParameter("dtype", value["dtype"], "int64 or float64")
    try:
        return PublicArray(np.array(value["array"], dtype=value["dtype"]))
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter("array", "a ragged or mistyped array", "numbers of that type") from None


register_codec("matrix", Codec(Matrix, to_plain, from_plain))
