"""Neighbours on which a mechanism reveals as much as it can, made from its domain and metric alone.

An audit sees nothing but the pair it is given, so the pair must be a bad one. Numbers move by the whole distance in one
entry; scores move against each other, where one candidate lies just far enough behind that every choice of it counts;
scripts of questions lie around the threshold. A mechanism of a new kind is covered by being registered: its domain and
metric are known, and it can give further pairs as ``neighbours`` of its examples.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.exact import sqrt_up
from dither.mechanisms import Example, InteractivePrimitive, Primitive
from dither.mechanisms.core.values import Category, IntegerArray, RealArray
from dither.privacy import L2, LARGEST, ONE_WAY, RECORDS, Distance, Unit
from dither.testing import hostile

Vector = list[Fraction]

#: Ordinary and far places; from 2^53 on floats miss integers, at 2^60 values saturate.
_PLACES = {
    "0": Fraction(0),
    "-7": Fraction(-7),
    "2^40": Fraction(2**40),
    "-2^53": Fraction(-(2**53)),
    "2^60": Fraction(2**60),
}
_MOST_CATEGORIES = 6
_GAPS = (0, 1, 2, 3, 4)
_SCRIPT_LENGTHS = (2, 5)


@dataclass(frozen=True)
class Pair:
    """Two inputs at most ``d_in`` apart."""

    label: str
    value: Any
    neighbour: Any
    d_in: Fraction


def pairs_of(example: Example) -> list[Pair]:
    """Return bad neighbours for an example: its own, and those that its domain and metric suggest."""
    mechanism = example.mechanism
    found = [
        Pair(f"given pair {number}", here, there, Fraction(apart))
        for number, (here, there, apart) in enumerate(example.neighbours)
    ]
    if isinstance(mechanism, InteractivePrimitive):
        found += _scripts(mechanism, list(example.data))
    elif isinstance(mechanism, Primitive) and isinstance(mechanism.domain, Category):
        found += _categories(mechanism.domain.count)
    elif isinstance(mechanism, Primitive) and isinstance(mechanism.domain, IntegerArray | RealArray):
        found += _arrays(mechanism, mechanism.domain, example.data)
    elif isinstance(mechanism.distance, Unit) or mechanism.distance is RECORDS:
        found += [
            Pair(f"hostile pair {number}", here, there, Fraction(apart))
            for number, (here, there, apart) in enumerate(hostile.pairs(mechanism, example.data))
        ]
    # A pair that comes twice stays where it came first: of a slow mechanism no more than the first pairs are tried.
    kept: dict[str, Pair] = {}
    for pair in found:
        kept.setdefault(_written(pair), pair)
    return list(kept.values())


def _written(pair: Pair) -> str:
    """Return both inputs as a text that differs when they do; the text of a long array would omit its middle."""
    return repr([given.tolist() if isinstance(given, np.ndarray) else given for given in (pair.value, pair.neighbour)])


def _categories(count: int) -> Iterator[Pair]:
    """Return every two of the first few categories and the last."""
    shown = sorted({*range(min(count, _MOST_CATEGORIES)), count - 1})
    for here in shown:
        yield from (Pair(f"{here} and {there}", here, there, Fraction(1)) for there in shown if here < there)


def _arrays(mechanism: Primitive[Any, Any], domain: IntegerArray | RealArray, data: Any) -> Iterator[Pair]:
    """Return pairs of numbers or arrays: the example and flat ones, moved, and scores of which some lie behind."""
    shape, is_whole = domain.shape, isinstance(domain, IntegerArray)
    size, reach, step = math.prod(shape), 1 + mechanism.slack, _step(mechanism, is_whole)
    places = _PLACES | ({} if is_whole else {"half a step": step / 2, "a third": Fraction(1, 3)})
    starts = {"the example": [Fraction(entry) for entry in np.asarray(data, dtype=object).ravel()]}
    starts |= {name: [place] * size for name, place in places.items()}
    moves = dict(_moves(mechanism.distance, size, reach, is_whole))
    routes = [(f"{here}, {how}", start, move) for here, start in starts.items() for how, move in moves.items()]
    if mechanism.distance in (LARGEST, ONE_WAY):
        routes += _behind(mechanism, size, reach, step, is_whole)
    for label, start, move in routes:
        end = [here + change for here, change in zip(start, move, strict=True)]
        value, neighbour = _built(start, start, shape, is_whole), _built(end, start, shape, is_whole)
        yield Pair(label, value, neighbour, Fraction(1))


def _scripts(mechanism: InteractivePrimitive[Any, Any], data: list[Any]) -> Iterator[Pair]:
    """Return pairs of scripts of integers: the example and flat ones around the threshold, moved."""
    threshold, scale = getattr(mechanism, "threshold", 0), _scale(mechanism)
    starts = {"the example": data}
    for length in _SCRIPT_LENGTHS:
        for away in (-1, 0, 1):
            starts[f"{length} at {away} scales"] = [threshold + away * math.ceil(scale)] * length
    for here, start in starts.items():
        moves = dict(_moves(mechanism.distance, len(start), Fraction(1), True))
        for how in ("all", f"{len(start) - 1} against", f"all but {len(start) - 1}"):
            if how in moves:
                end = [value + int(change) for value, change in zip(start, moves[how], strict=True)]
                yield Pair(f"{here}, {how}", start, end, Fraction(1))


def _moves(metric: Distance, size: int, reach: Fraction, is_whole: bool) -> Iterator[tuple[str, Vector]]:
    """Return changes of length ``reach`` in the metric, each with a name."""
    still, full = Fraction(0), Fraction(math.floor(reach)) if is_whole else reach
    alone = sorted({0, size // 2, size - 1})
    if metric in (LARGEST, ONE_WAY):
        yield "all", [full] * size
        for entry in alone if size > 1 else ():
            if metric is LARGEST:
                yield f"{entry} against", _some(size, {entry}, full, -full)
                yield f"against {entry}", _some(size, {entry}, -full, full)
            else:
                yield f"{entry} alone", _some(size, {entry}, full, still)
                yield f"all but {entry}", _some(size, {entry}, still, full)
        return
    for entry in alone:
        yield f"{entry} up", _some(size, {entry}, full, still)
        yield f"{entry} down", _some(size, {entry}, -full, still)
    if size > 1 and not is_whole:
        yield "spread", [full / (sqrt_up(Fraction(size)) if metric is L2 else size)] * size


def _behind(
    mechanism: Primitive[Any, Any], size: int, reach: Fraction, step: Fraction, is_whole: bool
) -> Iterator[tuple[str, Vector, Vector]]:
    """Return scores of which one, or half of them, lies behind the rest and catches up as far as the metric allows.

    The farther behind, the closer a choice comes to its full loss, and the rarer it is. Real scores start where
    rounding to the grid moves them farthest.
    """
    full = Fraction(math.floor(reach)) if is_whole else reach
    both = mechanism.distance is LARGEST
    edge = Fraction(0) if is_whole else step / 2
    groups = {"0": {0}, str(size - 1): {size - 1}, "half": set(range(size // 2))} if size > 1 else {}
    for name, group in groups.items():
        for gap in _GAPS:
            behind = (2 if both else 1) * full + gap * _scale(mechanism)
            on_grid = math.ceil(behind / step) * step
            start = _some(size, group, edge * Fraction(1023, 1024) - on_grid, -edge)
            move = _some(size, group, full, -full if both else Fraction(0))
            yield f"{name} behind by {float(on_grid):g}", start, move


def _some(size: int, entries: Collection[int], there: Fraction, elsewhere: Fraction) -> Vector:
    return [there if index in entries else elsewhere for index in range(size)]


def _step(mechanism: Any, is_whole: bool) -> Fraction:
    """Return the step to which values are rounded."""
    return Fraction(1) if is_whole else getattr(mechanism, "grid", None) or Fraction(1)


def _scale(mechanism: Any) -> Fraction:
    """Return the scale of the noise, if the mechanism has one."""
    found = (getattr(mechanism, name, None) for name in ("scale", "query_scale", "sigma"))
    return next((scale for scale in found if isinstance(scale, Fraction)), Fraction(1))


def _built(entries: Sequence[Fraction], start: Sequence[Fraction], shape: tuple[int, ...], is_whole: bool) -> Any:
    """Return numbers of the shape; a float that would lie too far from its start is rounded towards it."""
    if is_whole:
        values: list[Any] = [int(entry) for entry in entries]
    else:
        values = [_towards(entry, origin) for entry, origin in zip(entries, start, strict=True)]
    return values[0] if shape == () else np.array(values, dtype=np.int64 if is_whole else float).reshape(shape)


def _towards(entry: Fraction, origin: Fraction) -> float:
    nearest, base = float(entry), Fraction(float(origin))
    # The start is itself a float: what counts is the distance from that.
    is_too_far = abs(Fraction(nearest) - base) > abs(entry - origin)
    return float(np.nextafter(nearest, float(base))) if is_too_far else nearest
