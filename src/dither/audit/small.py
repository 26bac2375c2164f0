"""Small instances that tell: the same algorithm with less noise, on next to no data, where an audit sees something.

The outputs of composed mechanisms are slow to draw, and of a small loss a few thousand of them show nothing. A loss of
two or three is shown by a few hundred. So an instance is made from an example: its scales divided and its budgets
multiplied until it claims to lose about as much as that, tried on pairs of which one side is all but empty. Its claim
is its own, and follows from its plan as ever: nothing is assumed about how a scale acts on it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.errors import DitherError
from dither.mechanisms import Composed, Dialogue, Example, Interactive, Mechanism
from dither.privacy import L1, L2, ZCDP, ApproxDP, Loss, PureDP
from dither.testing import hostile
from dither.testing.hostile import Pair

#: What is claimed at best: epsilon, or twice rho.
_WANTED: Final = Fraction(3)
_MOST_PAIRS = 12
_ROUNDS = 6
_SCALES = ("scale", "sigma", "threshold_scale", "query_scale", "value_scale", "choice")
_LOSSES = ("epsilon",)


def small_instance(example: Example) -> Example | None:
    """Return an instance whose outputs tell more, with pairs to try it on; None where none can be made."""
    mechanism = example.mechanism
    if not isinstance(mechanism, Composed | Interactive):
        return None
    best, told = mechanism, _told(mechanism)
    for _ in range(_ROUNDS):
        if told is None or Fraction(4, 5) <= told / _WANTED <= Fraction(5, 4):
            break
        # Some losses grow with the factor, others with its square: steps that are too long are taken back by the next.
        factor = _limited(_WANTED / told)
        try:
            louder = _louder(best, factor)
            now = _told(louder)
        except (DitherError, TypeError, ValueError, ZeroDivisionError):
            break
        if now is None or now == told:
            break
        best, told = louder, now
    pairs = small_pairs(best, example)
    return Example(best, example.data, tuple(pairs)) if pairs else None  # type: ignore[arg-type]


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


def _limited(factor: Fraction) -> Fraction:
    rounded = Fraction(round(float(factor) * 16), 16)
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
