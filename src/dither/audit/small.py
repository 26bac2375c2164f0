"""Telling small instances: the same algorithm with less noise, on almost no data, where an audit sees something.

The outputs of composed mechanisms are slow to draw, and of a small loss a few thousand of them show nothing. A loss of
several units is shown by a few hundred. So an instance is made from an example: its rounds and parts are reduced to one
where it allows that, its scales divided and its budgets multiplied until it claims to lose about as much, and it is
tried on pairs of which one side is all but empty. Its claim is its own, and follows from its plan as ever: nothing is
assumed about how a scale acts on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from operator import itemgetter
from time import process_time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.audit.far import far_pairs
from dither.audit.recipes import LOUDER, RECIPES, Recipe
from dither.audit.samplers import sampler_of
from dither.audit.subjects import Subject, subjects_of
from dither.data.reference import ReferenceEngine
from dither.errors import DitherError, InvalidValue
from dither.mechanisms import Composed, Example, Interactive, Mechanism
from dither.privacy import L1, L2, RECORDS, ZCDP, ApproxDP, Loss, PureDP, Relation, Unit
from dither.testing import hostile
from dither.testing.hostile import Pair
from dither.testing.replay import run_watched
from dither.testing.wild import canned

#: What is claimed at best, epsilon or twice rho: a third of it is shown by a few hundred outputs.
_WANTED: Final = Fraction(6)
_MOST_PAIRS = 8
_FEW = 4
#: As often as thresholds of examples ask for.
_TIMES = (1, 2, 3, 4, 5, 7)
_ROUNDS = 6
_PILOT = 48
_SECONDS_TO_RANK = 5.0
_SCALES = ("scale", "sigma", "threshold_scale", "query_scale", "value_scale", "choice")
_LOSSES = ("epsilon",)
#: Each round and each part takes a share of the loss, of which an output shows little when there are many.
_NUMBERS = frozenset(
    ("steps", "rounds", "curvatures", "trees", "generations", "passes", "depth", "bags", "clusters", "specialisations")
)


def small_instance(example: Example, recipe: Recipe | None = None) -> Example | None:
    """Return an instance whose outputs tell more, with pairs to try it on; None where none can be made.

    Args:
        example: from which it is made.
        recipe: the changes made to it first; by default all scales are divided alike.

    """
    mechanism = example.mechanism
    if not isinstance(mechanism, Composed | Interactive):
        return None
    wanted = _WANTED if recipe is None else recipe.claim
    best = now = _simpler(mechanism if recipe is None else recipe.begun(mechanism), example.data)
    if recipe is not None and recipe.loud:
        best = now = _louder(now, LOUDER, recipe.loud)
    mechanism = now
    for _ in range(_ROUNDS):
        told = _told(now)
        if told is None or Fraction(4, 5) <= told / wanted <= Fraction(5, 4):
            break
        # An epsilon grows with the factor, a rho with its square; where both do, the next step mends this one.
        ratio = float(wanted / told)
        try:
            now = _louder(now, _limited(ratio if mechanism.loss(1).pure is not None else math.sqrt(ratio)))
            after = _told(now)
        except (DitherError, TypeError, ValueError, ZeroDivisionError):
            break
        if after is None or after == told:
            break
        best = min(best, now, key=lambda one: _off(one, wanted))
    pairs = small_pairs(best, example)
    if recipe is not None:
        # A few draws rank badly where noise has long tails: pairs that were thought out are not mixed with others.
        pairs = recipe.pairs(best, example) if recipe.pairs else [*far_pairs(best, example.data), *pairs]
    # Pairs that were thought out may have other columns than the example has.
    data = pairs[0][0] if recipe is not None and recipe.pairs else example.data
    return Example(best, data, tuple(pairs)) if pairs else None  # type: ignore[arg-type]


def audited(name: str) -> list[Example | Subject]:
    """Return everything to audit under a name; for a composed mechanism a small instance comes last."""
    found = subjects_of(name)
    recipe = RECIPES.get(name)
    first = found[0 if recipe is None else recipe.example] if found and ":" not in name else None
    small = small_instance(first, recipe) if isinstance(first, Example) else None
    return found if small is None else [*found, small]


def ranked(instance: Example) -> Example:
    """Return a small instance with its pairs ordered: first those whose outputs differ most in a few draws of each.

    What is drawn here chooses pairs, and is used for nothing else.
    """
    sample, start = sampler_of(instance.mechanism), process_time()
    scored: list[tuple[float, Any]] = []
    for pair in instance.neighbours:
        if scored and process_time() - start > _SECONDS_TO_RANK:
            # Those that promise most come first.
            break
        try:
            scored.append((_apart(sample(pair[0], _PILOT), sample(pair[1], _PILOT)), pair))
        except InvalidValue:
            # Where the number of rows is public, data with another one is refused: no pair.
            continue
    scored.sort(key=itemgetter(0), reverse=True)
    return replace(instance, neighbours=tuple(pair for _, pair in scored))


def _apart(here: NDArray[Any], there: NDArray[Any]) -> float:
    """Return how many standard deviations apart the entries of outputs are, the two that differ most together."""
    if here.dtype.kind not in "biuf" or here.shape != there.shape:
        return 0.0
    one, other = (np.clip(rows.reshape(len(rows), -1).astype(np.float64), -1e12, 1e12) for rows in (here, there))
    spread = (one.std(axis=0) + other.std(axis=0)) / 2
    moved = np.abs(np.nan_to_num(one).mean(axis=0) - np.nan_to_num(other).mean(axis=0))
    sizes = np.where(moved > 0, moved / (spread + 1e-9 + 0.05 * moved), 0.0)
    return float(np.sort(np.nan_to_num(sizes))[-2:].sum())


def small_pairs(mechanism: Mechanism[Any, Any], example: Example) -> list[Pair]:
    """Return promising pairs: those with an empty side, those given, and some of all others."""
    first = list(_from_nothing(mechanism, example.data))
    others = [*example.neighbours, *_others(mechanism, example.data)]
    step = max(1, len(others) // _MOST_PAIRS)
    return [*first, *others[::step][:_MOST_PAIRS]]


def _from_nothing(mechanism: Mechanism[Any, Any], data: Any) -> Iterator[Pair]:
    """Return pairs of nothing and one unit; where units are replaced, of one unit and another."""
    distance = mechanism.distance
    if distance in (L1, L2) and isinstance(data, np.ndarray) and data.dtype.kind in "iu":
        nothing = np.zeros_like(data)
        for place in sorted({0, data.size // 2, data.size - 1}):
            one = nothing.copy()
            one.flat[place] = 1
            yield nothing, one, 1
        for times in _TIMES:
            many, more = nothing.copy(), nothing.copy()
            many.flat[0], more.flat[0] = times, times + 1
            yield many, more, 1
    elif isinstance(data, ReferenceEngine) and isinstance(distance, Unit):
        yield from _of_one_unit(data, distance)
    elif isinstance(data, np.ndarray | list) and (distance is RECORDS or isinstance(distance, Unit)):
        is_added = distance is RECORDS or (isinstance(distance, Unit) and distance.relation is Relation.ADD_REMOVE)
        for place in range(min(len(data), _FEW)):
            if is_added:
                yield data[:0], data[place : place + 1], 1
            elif place:
                yield data[:1], data[place : place + 1], 1
        # The same row again and again: around a threshold one more decides.
        for times in _TIMES if is_added and len(data) else ():
            yield _again(data, times), _again(data, times + 1), 1


def _again(data: Any, times: int) -> Any:
    """Return copies of the middle row: the first and the last are often odd ones."""
    row = data[len(data) // 2 : len(data) // 2 + 1]
    return np.repeat(row, times, axis=0) if isinstance(data, np.ndarray) else type(data)(row * times)


def _of_one_unit(engine: ReferenceEngine, unit: Unit) -> Iterator[Pair]:
    tables = {table.name: list(engine.frames[table.name]) for table in engine.dataset.tables}
    private = [table for table in engine.dataset.tables if not table.is_public]
    units: dict[Any, dict[str, list[Any]]] = {}
    for table in private:
        for number, row in enumerate(tables[table.name]):
            own = units.setdefault(number if table.person is None else row[table.person], {})
            own.setdefault(table.name, []).append(row)
        if unit.protects == "row":
            break
    empty: dict[str, list[Any]] = {table.name: [] for table in private}
    alone = [ReferenceEngine(engine.dataset, {**tables, **empty, **own}) for own in list(units.values())[:_FEW]]
    if unit.relation is Relation.ADD_REMOVE:
        nothing = ReferenceEngine(engine.dataset, {**tables, **empty})
        yield from ((nothing, one, 1) for one in alone)
    else:
        yield from ((alone[0], one, 1) for one in alone[1:])


def _others(mechanism: Mechanism[Any, Any], data: Any) -> list[Pair]:
    is_rows = isinstance(data, np.ndarray | list) and len(data) > 0
    return [*(hostile.pairs(mechanism, data[:1]) if is_rows else ()), *hostile.pairs(mechanism, data)]


def _simpler(mechanism: Any, data: Any) -> Any:
    """Return the same algorithm with as few rounds, parts and candidates as still run on the data."""
    for field in fields(mechanism):
        before = getattr(mechanism, field.name)
        if field.name in _NUMBERS and isinstance(before, int) and not isinstance(before, bool) and before > 1:
            try:
                fewer = replace(mechanism, **{field.name: 1})
                fewer.loss(1)
            except (DitherError, TypeError, ValueError, IndexError):
                continue
            if run_watched(fewer, data, canned(fewer.plan())).failure is None:
                mechanism = fewer
    return mechanism


def _told(mechanism: Mechanism[Any, Any]) -> Fraction | None:
    """Return the approximate epsilon of the claim."""
    loss = mechanism.loss(1)
    return loss.pure if loss.pure is not None else 2 * loss.rho if loss.rho else None


def _off(mechanism: Mechanism[Any, Any], wanted: Fraction) -> float:
    """Return how far a claim is from the wanted one, as the absolute value of a logarithm."""
    told = _told(mechanism)
    return abs(math.log(told / wanted)) if told else math.inf


def _limited(factor: float) -> Fraction:
    rounded = Fraction(round(factor * 16), 16)
    return min(max(rounded, Fraction(1, 64)), Fraction(64))


def _louder(record: Any, factor: Fraction, only: tuple[str, ...] = ()) -> Any:
    """Return a record with scales divided and losses multiplied by a factor, in all its parts or in some fields."""
    if isinstance(record, Loss):
        return record if only else _more(record, factor)
    if isinstance(record, tuple):
        return tuple(_louder(one, factor, only) for one in record)
    if not (is_dataclass(record) and not isinstance(record, type) and isinstance(record, Mechanism)):
        return record
    changes: dict[str, Any] = {}
    for field in fields(record):
        before = getattr(record, field.name)
        inside = () if field.name in only else only
        if field.name in _SCALES and isinstance(before, Fraction):
            changes[field.name] = before if inside else before / factor
        elif field.name in _LOSSES and isinstance(before, Fraction):
            changes[field.name] = before if inside else before * factor
        elif isinstance(before, Mechanism | Loss | tuple):
            after = _louder(before, factor, inside)
            if after != before:
                changes[field.name] = after
    return replace(record, **changes) if changes else record


def _more(loss: Loss, factor: Fraction) -> Loss:
    if isinstance(loss, PureDP):
        return PureDP(loss.epsilon * factor)
    if isinstance(loss, ZCDP):
        return ZCDP(loss.rho * factor, loss.delta)
    return ApproxDP(loss.epsilon * factor, loss.delta) if isinstance(loss, ApproxDP) else loss
