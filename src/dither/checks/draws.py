"""Draws far from the examples: with scales a million times as large, hundreds of entries or candidates, large values.

A draw that changes its law beyond some size keeps every promise on small examples. Here every primitive is enlarged,
and held to what follows from being small: prices and scales grow together, noise does not look at the value that it is
added to, every entry has its own noise, and the law of what comes out keeps the promised ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np

from dither.checks.law import check_law_by_counting
from dither.checks.violation import require
from dither.errors import DitherError, NoGuarantee
from dither.mechanisms import BoundedGeometric, Example, Primitive
from dither.mechanisms.core.additive import Additive
from dither.mechanisms.core.candidates import Choice
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.values import IntegerArray, RealArray
from dither.noise import Noise, system_noise
from dither.testing.asked import AskedNoise, Request
from dither.testing.entropy import SeededEntropy

#: A few times, thousands and millions of times as large, each as far from the one before; floats stay exact.
_LARGER: Final = (2**3, 2**12, 2**21)
_WIDE: Final = 300
_CANDIDATES: Final = 200
#: Draws by which entries are told apart: alike in all of them by chance once in e^30 times for the flattest coin here.
_TURNS: Final = 64
#: Draws a side, and the probability that one check of a sound law complains.
COUNTED: Final = 8000
FALSE_ALARM: Final = 1e-10
_SEEDS: Final = (3, 1009)
#: So far below a threshold that no noise reaches it.
_VERY_LOW: Final = -(2**50)


def check_scales(example: Example) -> None:
    """Check that price and noise of a scale a thousand and a million times as large are those of the small one."""
    mechanism: Any = example.mechanism
    if not isinstance(mechanism, Primitive | InteractivePrimitive):
        return
    asked = []
    for times in _LARGER:
        far = larger(mechanism, times)
        if far is None:
            return
        _costs_as_much(mechanism, larger(mechanism, times, but="") or far, times)
        asked.append(_asked(far, example.data))
    for first, second, third in zip(*asked, strict=False):
        if not first.law == second.law == third.law:
            return
        for one, two, three in zip(first.numbers, second.numbers, third.numbers, strict=True):
            # From thousands to millions as from a few to thousands.
            require(two * two == one * three, f"{first.law} is drawn for {one}, {two} and {three} at growing scales")


def check_candidates(example: Example) -> None:
    """Check that a choice among hundreds asks for the same rate as a choice among few, and costs the same."""
    mechanism = example.mechanism
    many = _of_many_candidates(mechanism) if isinstance(mechanism, Choice) else None
    if isinstance(mechanism, Choice) and many is not None:
        for distance in (1, 3):
            # Among one or two a choice may be cheaper.
            few, hundreds = (one.loss(distance) for one in (mechanism, many))
            require(few <= hundreds or mechanism.candidates > 2, f"{few} among few, {hundreds} among hundreds")
        asked = [set(_asked(one, np.zeros(one.candidates, dtype=np.int64))) for one in (mechanism, many)]
        told = f"among few {sorted(asked[0])} is drawn, among hundreds {sorted(asked[1])}"
        require(asked[0] == asked[1], told)


def check_large_values(example: Example) -> None:
    """Check that with the same bits noise is the same for all values, in any order."""
    mechanism = example.mechanism
    if isinstance(mechanism, Choice):
        _chooses_alike(_of_many_candidates(mechanism) or mechanism)
    if not isinstance(mechanism, Additive) or isinstance(mechanism, BoundedGeometric):
        # Noise that ends at declared bounds depends on how far they are.
        return
    wide = _of_many_entries(mechanism)
    if wide is None:
        return
    step = getattr(wide, "grid", Fraction(1))
    nothing = np.zeros(wide.draw_shape)
    alone = _drawn(wide, nothing if isinstance(wide.domain, RealArray) else nothing.astype(np.int64))
    for values in _large_values(wide.draw_shape, is_whole=isinstance(wide.domain, IntegerArray)):
        given = values if isinstance(wide.domain, IntegerArray) else values * float(step)
        noise = _drawn(wide, given) - given
        require(
            bool((noise == alone).all()), "the noise of an entry depends on how large the entry is, or on the others"
        )


def check_own_noise(example: Example) -> None:
    """Check that each of 300 entries has its own noise: no two get the same, or the same with another sign."""
    mechanism = example.mechanism
    wide = _of_many_entries(mechanism) if isinstance(mechanism, Additive) else None
    if wide is None:
        return
    noise = Noise(SeededEntropy(_SEEDS[0]))
    value = np.zeros(wide.draw_shape, dtype=np.int64)
    draws = np.array([np.asarray(wide.draw(value, noise)).ravel() for _ in range(_TURNS)])
    entries = {np.abs(column).tobytes() for column in draws.T}
    require(len(entries) == draws.shape[1], f"{draws.shape[1]} entries have {len(entries)} noises among them")
    turns = {row.tobytes() for row in draws}
    require(len(turns) == _TURNS, "two draws have the same noise")


def check_long_conversation(example: Example) -> None:
    """Check that the last of 300 replies asks for the same noise as the first, in conversations that last that long."""
    mechanism = example.mechanism
    if not isinstance(mechanism, InteractivePrimitive) or not isinstance(mechanism.domain, IntegerArray):
        return
    noise = AskedNoise(_SEEDS[0])
    state, replies = mechanism.begin(noise), []
    for _ in range(_WIDE):
        noise.asked.clear()
        _, is_over = mechanism.reply(state, _VERY_LOW, noise)
        replies.append(tuple(noise.asked))
        if is_over:
            return
    require(len(set(replies)) == 1, f"a later reply asks for {replies[-1]}, the first one for {replies[0]}")


def check_law_enlarged(example: Example) -> None:
    """Check by counting that large scales, entries and values, and hundreds of candidates keep the promised ratio."""
    mechanism = example.mechanism
    if isinstance(mechanism, Choice):
        many = _of_many_candidates(mechanism)
        for one in (many, None if many is None else larger(many, _LARGER[1])):
            if one is not None:
                _choice_keeps_its_ratio(one)
    elif isinstance(mechanism, Additive) and not isinstance(mechanism, BoundedGeometric):
        for times in _LARGER[1:]:
            far = larger(replace(mechanism, shape=()) if _may_be_single(mechanism) else mechanism, times)
            if far is not None:
                _sum_keeps_its_ratio(far)


def larger(mechanism: Any, times: int, *, but: str = "grid") -> Any:
    """Return the record with all scales multiplied, and their companions; None where there is no such record.

    Args:
        mechanism: a record with scales.
        times: the factor.
        but: a field that stays as it is: noise on the same grid is wider in steps, on a larger grid it costs the same.

    """
    changes: dict[str, Any] = {}
    for field in fields(mechanism):
        content = getattr(mechanism, field.name)
        if field.name == but or content is None:
            continue
        if field.name.endswith("scale") or field.name in (
            "sigma",
            "sensitivity",
            "width",
            "bound",
            "grid",
            "score_error",
        ):
            changes[field.name] = content * times
        elif field.name == "scales":
            changes[field.name] = tuple(one * times for one in content)
        elif field.name in ("low", "high") and isinstance(mechanism, BoundedGeometric):
            changes[field.name] = content * times
    if not changes:
        return None
    try:
        return replace(mechanism, **changes)
    except DitherError:
        # Its parameters hang together in other ways.
        return None


def _costs_as_much(mechanism: Any, far: Any, times: int) -> None:
    for distance in (1, 3):
        try:
            near, price = mechanism.loss(distance), far.loss(distance * times)
        except NoGuarantee:
            continue
        if near.pure is not None and price.pure is not None and not near.delta:
            told = f"epsilon = {float(price.pure):.6g} at {times} times the scale, {float(near.pure):.6g} at one"
            require(price.pure >= near.pure, told)
        elif not near.delta and not price.delta:
            told = f"rho = {float(price.rho):.6g} at {times} times the scale, {float(near.rho):.6g} at one"
            require(price.rho >= near.rho, told)


def _asked(mechanism: Any, data: Any) -> list[Request]:
    noise = AskedNoise(_SEEDS[0])
    if isinstance(mechanism, Primitive):
        mechanism.draw(data, noise)
    else:
        state = mechanism.begin(noise)
        mechanism.reply(state, data[0], noise)
    return noise.asked


def _of_many_candidates(mechanism: Choice) -> Any:
    try:
        return replace(mechanism, candidates=_CANDIDATES)
    except DitherError:
        return None


def _may_be_single(mechanism: Additive) -> bool:
    try:
        replace(mechanism, shape=())
    except DitherError:
        return False
    return True


def _of_many_entries(mechanism: Additive) -> Any:
    """Return the record with hundreds of entries and noise that is not flat, or None."""
    try:
        wide = replace(mechanism, shape=(_WIDE,))
    except DitherError:
        return None
    return larger(wide, _LARGER[-1]) or wide


def _drawn(mechanism: Any, value: Any) -> Any:
    return np.asarray(mechanism.draw(value, Noise(SeededEntropy(_SEEDS[1]))))


def _large_values(shape: tuple[int, ...], *, is_whole: bool) -> Iterator[Any]:
    """Return values of both signs up to 2^60, or up to 2^40 in steps of a grid, rising, falling and in no order."""
    places = np.arange(math.prod(shape), dtype=np.int64)
    largest = 58 if is_whole else 38
    rising = (np.int64(1) << (places * largest // max(places.size, 1))) + places
    for values in (rising, rising[::-1], -rising, np.where(places % 2, rising, -rising)[places * 7 % places.size]):
        yield values.reshape(shape) if is_whole else values.reshape(shape).astype(np.float64)


def _chooses_alike(mechanism: Any) -> None:
    """Refuse a choice that depends on more than differences of scores."""
    places = np.arange(mechanism.candidates, dtype=np.int64) * 7 % 5
    chosen = None
    for start in (0, 2**33, -(2**45)):
        scores = start + places
        given = scores if mechanism.grid is None else scores * float(mechanism.grid)
        found = [np.asarray(mechanism.draw(given, Noise(SeededEntropy(seed)))).tolist() for seed in range(12)]
        require(chosen is None or found == chosen, "a choice depends on more than the differences of scores")
        chosen = found


def _choice_keeps_its_ratio(mechanism: Any) -> None:
    """Count how often one candidate is chosen among hundreds, ahead of all others and then less so."""
    step, unit = mechanism.grid or 1, mechanism.loss(1)
    # Scores that move far enough apart for an epsilon of about 2, in whole steps.
    moved = math.ceil(2 / float(unit.pure) / step) * step
    if mechanism.one_way:
        change = np.zeros(mechanism.candidates)
        change[1:] = float(moved)
    else:
        change = np.full(mechanism.candidates, float(moved))
        change[0] = -float(moved)
    ahead = math.log(mechanism.candidates) * float(mechanism.scale)
    for lead in (ahead, ahead / 2):
        here = np.zeros(mechanism.candidates)
        here[0] = math.ceil(lead / step) * step
        sides = [here, here + change]
        if mechanism.grid is None:
            sides = [side.astype(np.int64) for side in sides]
        first, second = (partial(_is_first, mechanism, side) for side in sides)
        check_law_by_counting(first, second, mechanism.loss(moved), draws=COUNTED // 4, false_alarm=FALSE_ALARM / 4)


def _is_first(mechanism: Any, scores: Any, count: int) -> Any:
    chosen = np.asarray(mechanism.draw_many(scores, count, system_noise())).reshape(count, -1)
    return (chosen == 0).any(axis=1)


def _sum_keeps_its_ratio(mechanism: Any) -> None:
    """Count how often a sum stays at or below its value, and at or below one that is lower."""
    try:
        unit = mechanism.loss(1)
    except NoGuarantee:
        return
    # An epsilon of about 2, or a rho of about 1.
    moved = math.ceil(2 / unit.pure) if unit.pure is not None else math.ceil(1 / math.sqrt(unit.rho))
    try:
        price = mechanism.loss(moved)
    except NoGuarantee:
        return
    first, second = (partial(_is_low, mechanism, value) for value in (0, moved))
    check_law_by_counting(first, second, price, draws=COUNTED, false_alarm=FALSE_ALARM / 2)


def _is_low(mechanism: Any, value: int, count: int) -> Any:
    given: Any = value
    if mechanism.draw_shape:
        given = np.zeros(mechanism.draw_shape, dtype=np.int64)
        given.flat[0] = value
    return np.asarray(mechanism.draw_many(given, count, system_noise())).reshape(count, -1)[:, 0] <= 0
