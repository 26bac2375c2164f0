# ruff: noqa: S608 - the statement of an emitter, with names of this module's own around it
"""An answer of DuckDB as arrays: as the rows would be read, without a Python object for each cell.

Arrays hold 64 bits, and DuckDB adds up in 128. So every sum is cut off at 2^62 on both sides before it leaves: what is
returned as tuples is saturated at 2^60 by whoever reads it, so that the cut changes no number. Two limbs are joined in
64 bits where that cannot overflow, and otherwise one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.columns import ColumnRows, KeyColumns, Values
from dither.data.engines.emitter import LIMB_BITS, Statement
from dither.data.expressions import Kind
from dither.data.relations import Aggregated

_CUT: Final = 2**62
#: The kind of the array that DuckDB makes of each kind of key; moments have a range of their own there.
_ARRAYS: Final[Mapping[Kind, str]] = {Kind.BOOLEAN: "b", Kind.INTEGER: "i", Kind.REAL: "f", Kind.TEXT: "O"}


def columnar(statement: Statement) -> str | None:
    """Return the statement with every number as 64 bits; None where its answer must be read as rows."""
    if not statement.keys or not all(kind in _ARRAYS for kind in statement.keys):
        return None
    keys = [f"k{place}" for place in range(len(statement.keys))]
    sums = [f"m{place}" for place in range(_width(statement))]
    # Nothing to add up is 0, and is made so first: the greatest of NULL and a number is that number.
    cut = [f"CAST(least(greatest(coalesce({name}, 0), -{_CUT}), {_CUT}) AS BIGINT) AS {name}" for name in sums]
    names = ", ".join([*keys, *sums])
    return f"SELECT {', '.join([*keys, *cut])} FROM ({statement.text}) AS answer({names})"


def read_columns(statement: Statement, arrays: Mapping[str, NDArray[Any]]) -> Aggregated | None:
    """Return the answer in DuckDB's arrays; None where they are not of the asked kinds."""
    sums = [np.ma.getdata(arrays[f"m{place}"]) for place in range(_width(statement))]
    keys = [_key(arrays[f"k{place}"], kind) for place, kind in enumerate(statement.keys)]
    if any(known is None for known in keys) or any(one.dtype != np.int64 for one in sums):  # pragma: no cover
        return None
    length = len(arrays["k0"])
    measures = ColumnRows([_joined([sums[place] for place in places]) for places in statement.measures], length)
    return Aggregated(KeyColumns(keys, length, statement.keys), measures)


def _width(statement: Statement) -> int:
    return len({place for places in statement.measures for place in places})


def _key(array: NDArray[Any], kind: Kind) -> NDArray[Any] | None:
    """Return a key of its kind, NULL masked; None where the array is of another kind."""
    if array.dtype.kind != _ARRAYS[kind]:
        return None
    if kind is Kind.REAL:
        # -0.0 is 0.0.
        return array.astype(np.float64) + 0.0
    return array.astype(np.int64) if kind is Kind.INTEGER else array


def _joined(limbs: list[NDArray[np.int64]]) -> Values:
    """Return the sums of these limbs, the low one first."""
    if len(limbs) == 1:
        return limbs[0]
    is_short = all(
        int(limb.min(initial=0)) >= -most and int(limb.max(initial=0)) <= most
        for limb, most in zip(limbs, (2**61, *(2 ** (61 - LIMB_BITS) for _ in limbs[1:])), strict=True)
    )
    if len(limbs) == 2 and is_short:
        return limbs[0] + (limbs[1] << LIMB_BITS)
    whole = [limb.tolist() for limb in limbs]
    return [sum(limb << (LIMB_BITS * rank) for rank, limb in enumerate(row)) for row in zip(*whole, strict=True)]
