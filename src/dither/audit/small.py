"""Small instances that tell: the same algorithm with less noise, on next to no data, where an audit sees something.

The outputs of composed mechanisms are slow to draw, and of a small loss a few thousand of them show nothing. A loss of
two or three is shown by a few hundred. So an instance is made from an example: its scales divided and its budgets
multiplied until it claims to lose about as much as that, tried on pairs of which one side is all but empty. Its claim
is its own, and follows from its plan as ever: nothing is assumed about how a scale acts on it.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.audit.samplers import sampler_of
from dither.audit.subjects import Subject, subjects_of
from dither.errors import DitherError
from dither.mechanisms import Composed, Dialogue, Example, Interactive, Mechanism
from dither.privacy import L1, L2, ZCDP, ApproxDP, Loss, PureDP
from dither.testing import hostile
from dither.testing.hostile import Pair

#: What is claimed at best: epsilon, or twice rho.
_WANTED: Final = Fraction(3)
_MOST_PAIRS = 12
_ROUNDS = 6
_PILOT = 48
_SCALES = ("scale", "sigma", "threshold_scale", "query_scale", "value_scale", "choice")
_LOSSES = ("epsilon",)


def small_instance(example: Example) -> Example | None:
    """Return an instance whose outputs tell more, with pairs to try it on; None where none can be made."""
    mechanism = example.mechanism
    if not isinstance(mechanism, Composed | Interactive):
        return None
    best = now = mechanism
    for _ in range(_ROUNDS):
        told = _told(now)
        if told is None or Fraction(4, 5) <= told / _WANTED <= Fraction(5, 4):
            break
        # An epsilon grows with the factor, a rho with its square; where both do, the next step mends this one.
        ratio = float(_WANTED / told)
        try:
            now = _louder(now, _limited(ratio if mechanism.loss(1).pure is not None else math.sqrt(ratio)))
            after = _told(now)
        except (DitherError, TypeError, ValueError, ZeroDivisionError):
            break
        if after is None or after == told:
            break
        best = min(best, now, key=_off)
    pairs = small_pairs(best, example)
    return Example(best, example.data, tuple(pairs)) if pairs else None  # type: ignore[arg-type]


def audited(name: str) -> list[Example | Subject]:
    """Return all there is to audit under a name; for a composed mechanism a small instance comes at the end."""
    found = subjects_of(name)
    first = found[0] if found and ":" not in name else None
    small = small_instance(first) if isinstance(first, Example) else None
    return found if small is None else [*found, small]


def ranked(instance: Example) -> Example:
    """Return a small instance with the pairs first whose outputs differ most in a few draws of each.

    What is drawn here chooses pairs, and is used for nothing else.
    """
    sample = sampler_of(instance.mechanism)
    apart = [_apart(sample(here, _PILOT), sample(there, _PILOT)) for here, there, _ in instance.neighbours]
    order = np.argsort(apart, kind="stable")[::-1]
    return replace(instance, neighbours=tuple(instance.neighbours[place] for place in order.tolist()))


def _apart(here: NDArray[Any], there: NDArray[Any]) -> float:
    """Return by how many standard deviations the entries of outputs differ, the two that differ most together."""
    if here.dtype.kind not in "biuf" or here.shape != there.shape:
        return 0.0
    one, other = (np.clip(rows.reshape(len(rows), -1).astype(np.float64), -1e12, 1e12) for rows in (here, there))
    spread = (one.std(axis=0) + other.std(axis=0)) / 2
    moved = np.abs(np.nan_to_num(one).mean(axis=0) - np.nan_to_num(other).mean(axis=0))
    sizes = np.where(moved > 0, moved / (spread + 1e-9 + 0.05 * moved), 0.0)
    return float(np.sort(np.nan_to_num(sizes))[-2:].sum())


def small_pairs(mechanism: Mechanism[Any, Any], example: Example) -> list[Pair]:
    """Return the pairs of an example that promise most: first those of which one side is all but empty."""
    data = example.data
    made: list[Pair] = [*example.neighbours]
    if mechanism.distance in (L1, L2) and isinstance(data, np.ndarray) and data.dtype.kind in "iu":
        nothing = np.zeros_like(data)
        for place in {0, data.size // 2, data.size - 1}:
            one = nothing.copy()
            one.flat[place] = 1
            made.append((nothing, one, 1))
    elif isinstance(data, np.ndarray | list) and not isinstance(data, Dialogue) and len(data):
        made += [*hostile.pairs(mechanism, data[:1]), *hostile.pairs(mechanism, data)]
    else:
        made += [*hostile.pairs(mechanism, data)]
    step = max(1, len(made) // _MOST_PAIRS)
    return made[::step][:_MOST_PAIRS]


def _told(mechanism: Mechanism[Any, Any]) -> Fraction | None:
    """Return about which epsilon is claimed."""
    loss = mechanism.loss(1)
    return loss.pure if loss.pure is not None else 2 * loss.rho if loss.rho else None


def _off(mechanism: Mechanism[Any, Any]) -> float:
    """Return how far a claim is from what is wanted, as the size of a logarithm."""
    told = _told(mechanism)
    return abs(math.log(told / _WANTED)) if told else math.inf


def _limited(factor: float) -> Fraction:
    rounded = Fraction(round(factor * 16), 16)
    return min(max(rounded, Fraction(1, 64)), Fraction(64))


def _louder(record: Any, factor: Fraction) -> Any:
    """Return a record with scales divided and losses multiplied by a factor, in all its parts."""
    if isinstance(record, Loss):
        return _more(record, factor)
    if isinstance(record, tuple):
        return tuple(_louder(one, factor) for one in record)
    if not (is_dataclass(record) and not isinstance(record, type) and isinstance(record, Mechanism)):
        return record
    changes: dict[str, Any] = {}
    for field in fields(record):
        before = getattr(record, field.name)
        if field.name in _SCALES and isinstance(before, Fraction):
            changes[field.name] = before / factor
        elif field.name in _LOSSES and isinstance(before, Fraction):
            changes[field.name] = before * factor
        elif isinstance(before, Mechanism | Loss | tuple):
            after = _louder(before, factor)
            if after != before:
                changes[field.name] = after
    return replace(record, **changes) if changes else record


def _more(loss: Loss, factor: Fraction) -> Loss:
    if isinstance(loss, PureDP):
        return PureDP(loss.epsilon * factor)
    if isinstance(loss, ZCDP):
        return ZCDP(loss.rho * factor, loss.delta)
    return ApproxDP(loss.epsilon * factor, loss.delta) if isinstance(loss, ApproxDP) else loss
