"""Values at, next to and far beyond every bound, on both sides, as an engine puts them on a grid: no case by chance.

Each row is a group of its own, so that the number that one value adds is seen by itself. A range may lie below zero,
above it or around it, with an origin at either end, in steps finer or coarser than one, of integers and of reals, of a
column or of what a function makes of two. No number may be below the least or above the largest that its grid promises,
which is worked out here with exact fractions; and each must be that of the reference engine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from dither.audit.queries import Found
from dither.data import Aggregation, Call, Column, DataSet, Kind, Name, Scan, Sum, Table
from dither.data.engines.protocol import Engine
from dither.data.expressions import FUNCTIONS, Expression, Grid
from dither.data.reference import ReferenceEngine
from dither.errors import EngineFailure
from dither.privacy import ROW

#: Lower and upper bound, origin, and exponent of the steps: of every sign, with clamps on integers and on doubles.
RANGES: Final = (
    (0.0, 5.0, 0.0, 0),
    (-7.0, 13.0, 0.0, 0),
    (-20.0, -3.0, -20.0, 0),
    (4.0, 9.0, 4.0, 0),
    (4.0, 9.0, 9.0, 0),
    (-0.5, 2.5, 0.0, 3),
    (0.1, 0.7, 0.1, 20),
    (-1e6, 1e6, 0.0, -4),
    (0.0, 0.0, 0.0, 0),
    (0.0, float(2**40), 0.0, 20),
)
#: Functions of one or two numbers whose values are the same on all engines to the last bit.
_EXACT: Final = ("add", "subtract", "multiply", "negate", "absolute", "sign", "floor", "ceiling", "least", "greatest")
_BIG: Final = (2**31, -(2**31) - 1, 10**9, -(10**9), 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63))
_WIDE: Final = (1e300, -1e300, math.inf, -math.inf, 2.0**63, -(2.0**63), 1e18, 5e-324, -5e-324, -0.0)
#: Statements are asked for in parts: some engines take long to plan one with many columns.
_AT_ONCE: Final = 10
_LONGEST: Final = 400
Row = dict[str, Any]


def corner_dataset() -> DataSet:
    """Return a table with a number for each row, and two integers and two reals."""
    columns = [Column("row", Kind.INTEGER)]
    columns += [Column(name, Kind.INTEGER) for name in ("a", "b")] + [Column(name, Kind.REAL) for name in ("x", "y")]
    return DataSet("corners", (Table("corners", tuple(columns), "corners.csv"),), ROW)


def corner_rows(*, far: bool) -> list[Row]:
    """Return every corner value once, each beside another one, and rows of NULL.

    Args:
        far: whether they are at the ends of what a column can hold; else next to the bounds, where nothing overflows.

    """
    bounds = sorted({bound for low, high, origin, _ in RANGES for bound in (low, high, origin)})
    whole = dict.fromkeys(math.floor(bound) + step for bound in bounds for step in (-2, -1, 0, 1, 2))
    real = dict.fromkeys(
        near
        for bound in bounds
        for near in (bound, math.nextafter(bound, -math.inf), math.nextafter(bound, math.inf), bound - 1, bound + 1)
    )
    integers, reals = ([*_BIG, 0, None], [*_WIDE, None]) if far else ([*whole, None], [*real, None])
    rows = max(len(integers), len(reals))
    return [
        {
            "row": place,
            "a": integers[place % len(integers)],
            "b": integers[7 * place % len(integers)],
            "x": reals[place % len(reals)],
            "y": reals[5 * place % len(reals)],
        }
        for place in range(rows)
    ]


def corner_values(*, few: bool = False) -> Iterator[Expression]:
    """Yield the columns, and what functions make of them."""
    yield from (Name("a"), Name("x"))
    for function in () if few else _EXACT:
        for one, other in (("a", "b"), ("x", "y")):
            arguments = (Name(one), Name(other))[: max(FUNCTIONS[function].least, 1)]
            yield Call(function, arguments)


def corner_grids(*, few: bool = False) -> list[Grid]:
    """Return every range over the columns, and two ranges in turn over each function."""
    values, turns = list(corner_values(few=few)), itertools.cycle(RANGES)
    found = [Grid(value, *bounds) for value in values[:2] for bounds in RANGES]
    return found + [Grid(value, *next(turns)) for value in values[2:] for _ in range(2)]


def try_corners(engine: Engine, rows: list[Row], *, few: bool = False) -> tuple[list[Found], list[str]]:
    """Return how far values are beyond what their grids promise, and where the reference engine has another number.

    Args:
        engine: over ``corner_dataset``.
        rows: that it was opened with.
        few: whether functions are left out, for an engine that takes long to plan a statement.

    """
    dataset = engine.dataset
    (table,) = dataset.tables
    reference = ReferenceEngine(corner_dataset(), {"corners": rows})
    found, differences = list[Found](), list[str]()
    grids = corner_grids(few=few)
    for part in (grids[place : place + _AT_ONCE] for place in range(0, len(grids), _AT_ONCE)):
        asked = tuple(Sum(grid) for grid in part)
        try:
            mine = engine.aggregate(Aggregation(Scan(table), (Name("row"),), asked))
        except EngineFailure:
            # Whether an answer comes would tell of the rows.
            differences.append(f"no answer where the reference engine has one, of {part}"[:_LONGEST])
            continue
        theirs = reference.aggregate(Aggregation(Scan(corner_dataset().tables[0]), (Name("row"),), asked))
        known = {tuple(key): numbers for key, numbers in zip(theirs.keys, theirs.measures, strict=True)}
        for key, numbers in zip(mine.keys, mine.measures, strict=True):
            row = next(one for one in rows if (one["row"],) == tuple(key))
            for grid, number, other in zip(part, numbers, known[tuple(key)], strict=True):
                low, high = promised(grid)
                # A row of NULL adds nothing.
                beyond = max(int(number) - max(high, 0), min(low, 0) - int(number), 0)
                found.append(Found("a value on its grid", Fraction(1 + beyond), Fraction(1)))
                if int(number) != int(other):
                    differences.append(f"{int(number)} and not {int(other)} of {grid} in {row}")
    return found, differences


def promised(grid: Grid) -> tuple[int, int]:
    """Return the least and the largest number of steps of a grid, by exact fractions."""
    low, high = (
        math.floor((Fraction(bound) - Fraction(grid.origin)) * Fraction(2) ** grid.exponent)
        for bound in (grid.lower, grid.upper)
    )
    return low, high
