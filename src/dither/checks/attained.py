"""Exact laws of choices and conversations, where neighbours use all that they are allowed.

A price is reached on few inputs: one candidate far ahead of the others, scores that are off by all of their error and
stand where rounding is worst, as many positive answers as there may be, values that all move. Here primitives with
small parameters are tried on such inputs, with laws that are followed draw by draw (``testing.draw_laws``), so that an
outcome of chance e^-100 counts as much as any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Any, Final

import numpy as np

from dither.checks.law import conversed
from dither.checks.violation import require
from dither.errors import DitherError
from dither.mechanisms import Example, Primitive
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.values import IntegerArray, RealArray
from dither.noise import Noise
from dither.privacy import L1, LARGEST, ONE_WAY, Loss
from dither.testing.draw_laws import QUIET, DrawLaw, NotFollowed, law_of
from dither.testing.sameness import digest

#: The most entries of a value, places that are filled and positive answers that are followed.
_ENTRIES: Final = 6
#: By the number of candidates, how many of them are chosen: all sizes; and one, all, and from the third place on.
_ALL_CHOICES: Final = {2: (1, 2), 3: (1, 2, 3), 5: (1, 2, 3, 4)}
_SOME_CHOICES: Final = {2: (1, 2), 5: (1, 3)}
_POSITIVES: Final = (1, 2, 3)
_LENGTH: Final = 3
#: How far one entry is ahead of the others, in scales; the first is enough to use the whole price to nine digits.
_LEADS: Final = (40, 3)
#: Values that no noise brings back to the threshold: hundreds of times the widest noise.
_FAR_VALUE: Final = 2**45
_ROUNDING: Final = 1e-9
_ORDERS: Final = (1.5, 4.0)
#: Floats stay a little within what is allowed, so that their rounding does not go beyond it.
_WITHIN: Final = 1 - 2.0**-40
#: Runs for one law, and for all laws of one instance.
_RUNS: Final = 2000
_RUNS_IN_ALL: Final = 3000
_RUNS_OF_SCRIPTS: Final = 100_000


def check_attained(example: Example) -> None:
    """Check exact laws of a few choices and conversations on inputs that use the whole price."""
    _check(example, is_full=False)


def check_all_attained(example: Example) -> None:
    """Check exact laws of choices of any size, and of conversations over all short sequences of values."""
    _check(example, is_full=True)


def _check(example: Example, *, is_full: bool) -> None:
    mechanism: Any = example.mechanism
    if isinstance(mechanism, InteractivePrimitive):
        for one in _conversations(mechanism):
            follow_scripts(one, is_full)
    elif isinstance(mechanism, Primitive) and isinstance(mechanism.domain, IntegerArray | RealArray):
        for one in _choices(mechanism, _ALL_CHOICES if is_full else _SOME_CHOICES):
            _follow_values(one)


def keeps(here: DrawLaw, there: DrawLaw, price: Loss) -> None:
    """Refute a price if two laws break it in either direction: its epsilon and delta, and its rho."""
    for one, other in ((here, there), (there, here)):
        if price.pure is not None:
            _keeps_ratio(one, other, float(price.pure), float(price.delta))
        if not one.missed and not other.missed and not price.delta:
            _keeps_rho(one, other, float(price.rho))


def _keeps_ratio(one: DrawLaw, other: DrawLaw, epsilon: float, delta: float) -> None:
    missed = math.log(other.missed) if other.missed > 0 else -math.inf
    excess, worst = [], -math.inf
    for outcome, log in one.logs.items():
        # All that was missed may belong to any one outcome, and to any set of them together.
        beside = other.logs.get(outcome, -math.inf)
        most = max(beside, missed)
        bound = most + math.log(math.exp(beside - most) + math.exp(missed - most)) if most > -math.inf else -math.inf
        worst = max(worst, log - bound)
        if log - bound > epsilon + _ROUNDING:
            excess.append(math.exp(log) - math.exp(bound + epsilon))
    if not delta:
        require(not excess, f"neighbours lose epsilon = {worst:.6g}, and {epsilon:.6g} is charged")
    found = math.fsum(excess)
    told = f"the laws of neighbours differ by {found:.6g} beyond epsilon = {epsilon:.6g}, and delta is {delta:.6g}"
    require(found <= delta * (1 + _ROUNDING) or not delta, told)


def _keeps_rho(one: DrawLaw, other: DrawLaw, rho: float) -> None:
    shared = [(log, other.logs[outcome]) for outcome, log in one.logs.items() if outcome in other.logs]
    for order in _ORDERS:
        terms = [order * log + (1 - order) * beside for log, beside in shared]
        most = max(terms, default=0.0)
        moment = most + math.log(math.fsum(math.exp(term - most) for term in terms)) if terms else -math.inf
        found = moment / (order - 1) / order
        require(found <= rho * (1 + _ROUNDING) + 1e-9, f"neighbours lose rho = {found:.6g}, and {rho:.6g} is charged")


class _Known:
    """Laws by what they are of, each followed once, up to a number of runs in all; then NotFollowed is raised."""

    def __init__(self, draw: Callable[[Any, Noise], Any], pinned: int = 0, runs: int = _RUNS_OF_SCRIPTS) -> None:
        self._draw, self._pinned, self._left = draw, pinned, runs
        self._laws: dict[str, DrawLaw] = {}

    def of(self, value: Any) -> DrawLaw:
        key = digest(value)
        if key not in self._laws:
            found = law_of(partial(self._draw, value), most=min(_RUNS, self._left), pinned=self._pinned)
            self._left -= found.runs
            self._laws[key] = found
        return self._laws[key]


def _made(mechanism: Any, **changes: Any) -> Any:
    """Return a record with other parameters, or None where there is no such record."""
    names = {field.name for field in fields(mechanism) if field.init}
    try:
        return replace(mechanism, **{key: value for key, value in changes.items() if key in names})
    except DitherError:
        return None


def _choices(mechanism: Any, sizes: Mapping[int, Sequence[int]]) -> Iterator[Any]:
    """Yield small instances of a primitive: of few candidates, of which one to four are chosen, and sharp ones."""
    step = getattr(mechanism, "grid", None) or 1
    sharp = {"scale": step} if isinstance(getattr(mechanism, "scale", None), Fraction) else {}
    names = {field.name for field in fields(mechanism)}
    if "candidates" not in names:
        if math.prod(mechanism.domain.shape) <= 2 * _ENTRIES:
            yield _made(mechanism, **sharp) or mechanism
        if {"shape", "boxes", "axis"} <= names:
            # A plane that is long enough to be cut along each axis.
            for axis in (0, 1):
                plane = _made(mechanism, shape=(3, 3), boxes=((0, 3, 0, 3),), axis=axis, **sharp)
                if plane is not None:
                    yield plane
        return
    for candidates, several in sizes.items():
        for chosen in several if "chosen" in names else (1,):
            one = _made(mechanism, candidates=candidates, chosen=chosen, **sharp)
            if one is not None:
                yield one


def _follow_values(mechanism: Any) -> None:
    known = _Known(mechanism.draw, runs=_RUNS_IN_ALL)
    moves = _moves(mechanism)
    try:
        for start in _starts(mechanism):
            for units, move in moves:
                there = start + move
                if isinstance(mechanism.domain, IntegerArray):
                    there = there.astype(np.int64)
                keeps(known.of(start), known.of(there), mechanism.loss(units))
    except NotFollowed:
        return


def _starts(mechanism: Any) -> Iterator[Any]:
    """Yield values with one entry ahead of or behind the others, at places of a grid where rounding is worst."""
    shape, grid = mechanism.domain.shape, getattr(mechanism, "grid", None)
    lead = max(1, math.ceil(float(getattr(mechanism, "scale", 1)) / float(grid or 1)))
    entries = math.prod(shape)
    places = sorted({0, entries // 2, entries - 1})
    leads = [{place: sign * size} for size, sign, place in product(_LEADS, (1, -1), places)]
    if mechanism.distance is L1:
        # What is chosen from counts depends on sums of them: two places are ahead, by as much or not.
        several = combinations(range(min(entries, 2 * _ENTRIES)), 2)
        leads = [{one: _LEADS[0], other: size} for one, other in several for size in _LEADS] + leads
    for lead_of in ({}, *leads):
        start = np.zeros(shape, dtype=np.int64)
        for place, size in lead_of.items():
            start.flat[place] = size * lead
        place = next(iter(lead_of), 0)
        if isinstance(mechanism.domain, IntegerArray):
            yield start
            continue
        # Scores on a step, and all but half a step from one, to either side of each other.
        step = float(grid or 1)
        yield start * step
        for offset in (0.5, -0.5):
            uneven = np.full(shape, -offset * step * _WITHIN)
            uneven.flat[place] = offset * step * _WITHIN
            yield start * step + uneven


def _moves(mechanism: Any) -> list[tuple[int, Any]]:
    """Return how values move for one and two units, by all that the distance and the error of scores allow."""
    shape, distance = mechanism.domain.shape, mechanism.distance
    slack = float(getattr(mechanism, "slack", 0))
    entries, found = math.prod(shape), []
    for units, place, sign in product((1, 2), range(entries) if entries <= _ENTRIES else (0, entries - 1), (1, -1)):
        if distance is L1:
            own, others = float(sign * units), 0.0
        elif distance is ONE_WAY:
            # All scores move one way; what is given of them may be off to the other side.
            own, others = sign * (units + slack), -sign * slack
        elif distance is LARGEST:
            own, others = sign * (units + slack), -sign * (units + slack)
        else:
            continue
        within = _WITHIN if slack or isinstance(mechanism.domain, RealArray) else 1.0
        move = np.full(shape, others * within)
        move.flat[place] = own * within
        found.append((units, move))
    return found


def _conversations(mechanism: Any) -> Iterator[Any]:
    """Yield instances with one to three positive answers, in which one noise is narrow and all others are very wide.

    Then all that an answer tells is told by that noise, and its part of the price must pay for it.
    """
    if mechanism.distance not in (LARGEST, ONE_WAY) or mechanism.domain != IntegerArray(()):
        return
    names = [field.name for field in fields(mechanism)]
    scales = [name for name in names if name.endswith("scale")]
    for positives, narrow in product(_POSITIVES if "positives" in names else (1,), scales):
        wide = dict.fromkeys(scales, Fraction(QUIET)) | {narrow: Fraction(1)}
        one = _made(mechanism, positives=positives, threshold=0, **wide)
        if one is not None:
            yield one


@lru_cache(maxsize=256)
def follow_scripts(mechanism: Any, is_full: bool) -> None:
    """Follow short sequences of values, and neighbours that move every value up, down, or each its own way.

    Args:
        mechanism: a conversation, of which no noise but one is narrow.
        is_full: whether all sequences are followed, and all moves.

    """
    known = _Known(partial(_talk, mechanism))
    # What is held fixed must not matter: it is held far out on both sides as well.
    beside = [_Known(partial(_talk, mechanism), pinned) for pinned in (30, -30)]
    scripts = list(product((_FAR_VALUE, -_FAR_VALUE), repeat=_LENGTH))
    for script in scripts if is_full else scripts[:: len(scripts) // 2]:
        # Where one sequence has too many branches, another one may have few.
        with suppress(NotFollowed):
            if not all(_alike(known.of(script), one.of(script)) for one in beside):
                continue
            for move in _script_moves(mechanism, is_full):
                there = tuple(value + one for value, one in zip(script, move, strict=True))
                keeps(known.of(script), known.of(there), mechanism.loss(1))


def _talk(mechanism: Any, script: Sequence[int], noise: Noise) -> Any:
    return conversed(mechanism, script, noise)


def _script_moves(mechanism: Any, is_full: bool) -> Sequence[tuple[int, ...]]:
    if is_full and mechanism.distance is LARGEST:
        return list(product((1, -1), repeat=_LENGTH))
    return [(1,) * _LENGTH, (-1,) * _LENGTH][: 2 if is_full else 1]


def _alike(one: DrawLaw, other: DrawLaw) -> bool:
    return one.logs.keys() == other.logs.keys() and all(
        abs(log - other.logs[outcome]) < _ROUNDING for outcome, log in one.logs.items()
    )
