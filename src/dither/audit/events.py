"""Events that may tell two inputs apart, found on draws that are used for nothing else.

Two families, because each sees what the other misses. **Thresholds** on a feature see a scale that is a little too
small. **Sets of values**, ordered by how much likelier each value is on one side, see noise that is clipped, repeated
or floating-point; the values met on one side only are one of these sets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.audit.bounds import expected_epsilon
from dither.audit.features import Column, Feature, codes, decoded

_MOST_CUTS = 512
_MOST_SHOWN = 5


@dataclass(frozen=True)
class Event:
    """A set of outcomes, as a condition on one feature."""

    feature: int
    key: Hashable
    text: str = field(compare=False)
    contains: Callable[[Column], NDArray[np.bool_]] = field(compare=False, repr=False)


class Choice(NamedTuple):
    """An event worth testing, and the side on which it was likelier: 0 is the value's, 1 the neighbour's."""

    favours: int
    event: Event


class _Proposal(NamedTuple):
    """The best event of one family for one side and delta, its expected evidence, and how to make it."""

    delta: float
    favours: int
    family: str
    score: float
    make: Callable[[], Event]


def choose(
    seen: tuple[Sequence[Column], Sequence[Column]],
    features: Sequence[Feature],
    *,
    trials: int,
    deltas: Sequence[float],
) -> list[Choice]:
    """Return the events worth testing on ``trials`` fresh draws a side: at most one a family, side and delta.

    Args:
        seen: for the value and for its neighbour, one column a feature, all of the same length.
        features: through which the outcomes were looked at.
        trials: the number of draws a side on which the events will be tested.
        deltas: the deltas at which a bound on epsilon is wanted; each may need other events.

    """
    best: dict[tuple[float, int, str], _Proposal] = {}
    for number, feature in enumerate(features):
        columns = seen[0][number], seen[1][number]
        found = list(_sets(number, feature, columns, trials, deltas)) if feature.has_atoms else []
        if feature.is_ordered:
            found += _thresholds(number, feature, columns, trials, deltas)
        for proposal in found:
            known = best.get(proposal[:3])
            if proposal.score > (known.score if known else 0.0):
                best[proposal[:3]] = proposal
    # All of them, also those that promise less: a guess that was mere luck must not crowd out a sound one.
    return list(dict.fromkeys(Choice(proposal.favours, proposal.make()) for proposal in best.values()))


def _thresholds(
    number: int, feature: Feature, columns: tuple[Column, Column], trials: int, deltas: Sequence[float]
) -> Iterator[_Proposal]:
    """Return the best of x <= t and x > t for either side."""
    drawn = columns[0].size
    ranked = [np.sort(column) for column in columns]
    cuts = _cuts(np.concatenate(ranked))
    below = [np.searchsorted(column, cuts, side="right") for column in ranked]
    for favours in (0, 1):
        hits, others = (np.concatenate([below[side], drawn - below[side]]) for side in (favours, 1 - favours))
        for delta in deltas:
            scores = expected_epsilon(hits, others, drawn, trials, delta)
            at = int(np.argmax(scores))
            make = partial(_threshold, number, feature.name, cuts[at % cuts.size], at >= cuts.size)
            yield _Proposal(delta, favours, "threshold", float(scores[at]), make)


def _sets(
    number: int, feature: Feature, columns: tuple[Column, Column], trials: int, deltas: Sequence[float]
) -> Iterator[_Proposal]:
    """Return the best single value or set of the likeliest values, and the values seen on one side only.

    Values are ordered on one half of the draws and the sets judged on the other, so that chance order does not count.
    """
    coded = [codes(column) for column in columns]
    half = coded[0].size // 2
    values = np.unique(np.concatenate([code[:half] for code in coded]))
    ordering, judging = ([_count(values, code[part]) for code in coded] for part in (slice(half), slice(half, None)))
    expected = partial(expected_epsilon, drawn=coded[0].size - half, trials=trials)
    for favours, other in ((0, 1), (1, 0)):
        here, there = ordering[favours], ordering[other]
        order = np.argsort(-np.log((here + 0.5) / (there + 0.5)), kind="stable")
        hits, others = judging[favours][order], judging[other][order]
        unmet = there == 0
        for delta in deltas:
            single = expected(hits, others, delta=delta)
            nested = expected(np.cumsum(hits), np.cumsum(others), delta=delta)
            at, alone = int(np.argmax(nested)), int(np.argmax(single))
            members = order[: at + 1] if nested[at] >= single[alone] else order[alone : alone + 1]
            make = partial(_set, number, feature, columns[0].dtype, values[members])
            yield _Proposal(delta, favours, "set", float(max(nested[at], single[alone])), make)
            score = expected(judging[favours][unmet].sum(), judging[other][unmet].sum(), delta=delta)
            make = partial(_only_here, number, feature, columns[0].dtype, coded[favours], coded[other])
            yield _Proposal(delta, favours, "met on one side only", float(score), make)


def _threshold(number: int, name: str, cut: Any, is_above: bool) -> Event:
    sign = ">" if is_above else "<="
    return Event(
        number, (sign, cut.item()), f"{name} {sign} {cut:.6g}", partial(_is_above if is_above else _is_up_to, cut)
    )


def _is_above(cut: Any, column: Column) -> NDArray[np.bool_]:
    return np.asarray(column > cut)


def _is_up_to(cut: Any, column: Column) -> NDArray[np.bool_]:
    return np.asarray(column <= cut)


def _is_in(members: NDArray[np.int64], column: Column) -> NDArray[np.bool_]:
    return np.asarray(_found(members, codes(column))[1])


def _only_here(
    number: int, feature: Feature, dtype: np.dtype[Any], here: NDArray[np.int64], there: NDArray[np.int64]
) -> Event:
    return _set(number, feature, dtype, np.setdiff1d(here, there))


def _set(number: int, feature: Feature, dtype: np.dtype[Any], members: NDArray[np.int64]) -> Event:
    members = np.sort(members)
    text = f"{feature.name} in a set of {members.size}"
    if feature.is_ordered and members.size <= _MOST_SHOWN:
        text = f"{feature.name} in {{{', '.join(f'{value:.6g}' for value in decoded(members, dtype))}}}"
    return Event(number, members.tobytes(), text, partial(_is_in, members))


def _cuts(pooled: Column) -> Column:
    """Return thresholds: every value but the largest, or many quantiles, denser towards both ends."""
    pooled = np.sort(pooled)
    if pooled.dtype.kind == "f":
        pooled = pooled[~np.isnan(pooled)]
    if pooled.size == 0:
        return np.zeros(1)
    distinct: Column = pooled[np.concatenate([[True], pooled[1:] != pooled[:-1]])]
    if distinct.size > _MOST_CUTS:
        log_odds = np.linspace(-1, 1, _MOST_CUTS) * np.log(pooled.size)
        distinct = np.unique(pooled[((pooled.size - 1) / (1 + np.exp(-log_odds))).astype(int)])
    return distinct[:-1] if distinct.size > 1 else distinct


def _count(values: NDArray[np.int64], coded: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of times that each of the sorted ``values`` occurs; others are not counted."""
    at, is_found = _found(values, coded)
    return np.bincount(at[is_found], minlength=values.size)


def _found(values: NDArray[np.int64], coded: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the position of each code in the sorted ``values``, and whether it is there."""
    if values.size == 0:
        return np.zeros(coded.shape, dtype=np.intp), np.zeros(coded.shape, dtype=np.bool_)
    at = np.minimum(np.searchsorted(values, coded), values.size - 1)
    return at, values[at] == coded
