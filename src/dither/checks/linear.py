"""The loss of conversations that add noise, found from outside and held against their price.

An answer of a counter is a fixed combination of the ticks and of independent draws. Both combinations are read off by
feeding a one, to a tick or to a draw, and zeros to all others. What a person changes is then hidden by the draws
alone: the shortest change of draws that gives the same answers, in multiples of their scales, is what the person
loses, in L2 for Gaussian noise and in L1 for Laplace noise. Nothing here shares code with what sets the price. People
come at every allowed choice of ticks, and who breaks into the memory of a counter sees it between any two reports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import combinations, islice, pairwise, product
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from dither.checks.violation import ContractViolation, require
from dither.errors import DitherError
from dither.mechanisms import Example, Intrusion, find
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.running import TickLengths
from dither.mechanisms.core.values import IntegerArray
from dither.mechanisms.pan_private import ValueOrIntrusion
from dither.noise import Noise, system_noise
from dither.privacy import L1
from dither.testing.entropy import SeededEntropy

Floats = NDArray[np.float64]

#: As many numbers are fed at most: ticks times their entries.
_MOST_FED: Final = 18
_MOST_TICKS: Final = 9
_MOST_ENTRIES: Final = 3
#: Choices of ticks of one person, of all that are allowed.
_MOST_PLACEMENTS: Final = 120
#: A one is this large, so that rounding to integers is small beside it; also in shares of 2^16.
_DRAWN: Final = 2**42
_FED: Final = 2**24
#: Of noise that is not drawn one by one: ticks, copies, a one, and the probability that sound noise is refused.
_SPREAD_TICKS: Final = 6
_COPIES: Final = 2**13
_SMALL: Final = 2**20
_FALSE_ALARM: Final = 1e-9
#: Relative: of the combinations, which are rounded, and of the price that they are held against.
_ROUNDING: Final = 1e-4
_LAWS: Final = ("discrete_laplace", "discrete_gaussian")
#: How often a person comes and how far apart, how long a stream is, and the shape of a tick: all of them are combined.
_ALLOWANCES: Final[dict[str, tuple[Any, ...]]] = {
    "ticks": (1, 2, 3, 5),
    "apart": (1, 2, 3, 4),
    "steps": (4, 9),
    "every": (1, 2, 3),
    "shape": ((), (2,), (3,)),
    "bases": ((), (2,), (3,), (2, 2), (3, 2)),
}


@dataclass
class _Draws:
    """Draws that are zero but for those chosen; what was asked for is kept."""

    chosen: dict[int, int]
    laws: list[str]
    scales: list[float]

    def answer(self, law: str, scale: Any, size: int) -> NDArray[np.int64]:
        first = len(self.scales)
        self.laws += [law] * size
        self.scales += [float(Fraction(scale))] * size
        found = np.zeros(size, dtype=np.int64)
        for place, number in self.chosen.items():
            if first <= place < first + size:
                found[place - first] = number
        return found


@contextmanager
def _drawing(chosen: dict[int, int]) -> Iterator[_Draws]:
    """Give these numbers in place of all draws of noise, also of those who make a source of noise of their own."""
    draws, kept = _Draws(chosen, [], []), {law: getattr(Noise, law) for law in _LAWS}
    try:
        for law in _LAWS:
            setattr(Noise, law, lambda _, scale, size, law=law: draws.answer(law, scale, int(size)))
        yield draws
    finally:
        for law, own in kept.items():
            setattr(Noise, law, own)


@dataclass(frozen=True)
class Linear:
    """A conversation as a combination: answers are ``fed`` times the ticks and ``drawn`` times draws of scale one.

    Args:
        fed: a row for each number of an answer, a column for each number that is fed.
        drawn: a column for each draw that reaches an answer, times its scale.
        is_laplace: whether the noise is Laplace; else it is Gaussian.

    """

    fed: Floats
    drawn: Floats
    is_laplace: bool

    def lost(self, change: Floats) -> float:
        """Return what a change of the ticks loses: epsilon, or rho; infinite where nothing hides it."""
        moved = self.fed @ change
        shortest = np.linalg.lstsq(self.drawn, moved, rcond=1e-9)[0]
        off = float(np.abs(self.drawn @ shortest - moved).max(initial=0.0))
        if off > _ROUNDING * max(1.0, float(np.abs(moved).max(initial=0.0))):
            return float("inf")
        if not self.is_laplace:
            return float(shortest @ shortest) / 2
        if self.drawn.shape[1] == np.linalg.matrix_rank(self.drawn, tol=1e-9):
            return float(np.abs(shortest).sum())
        from scipy.optimize import linprog

        both = np.concatenate([self.drawn, -self.drawn], axis=1)
        found = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=self.drawn @ shortest, method="highs")
        return float(found.fun) if found.status == 0 else 0.0


def linear_of(mechanism: Any, script: Sequence[Any], ticks: int, entries: int) -> Linear | None:
    """Return a conversation as a combination of ticks and draws; None where it is none.

    Args:
        mechanism: the conversation.
        script: the numbers of ticks to be fed, in order, or intrusions.
        ticks: how many ticks there are.
        entries: how many numbers a tick has.

    """
    silent = _answers(mechanism, script, np.zeros((ticks, entries)), {})
    if silent is None or silent[0].any() or not silent[1].scales:
        return None
    draws = silent[1]
    if len(set(draws.laws)) != 1:
        return None

    def answers(fed: Any, chosen: dict[int, int]) -> Floats:
        found = _answers(mechanism, script, fed, chosen)
        return np.full(silent[0].shape, np.nan) if found is None else found[0]

    columns, fed = [], np.zeros((len(silent[0]), ticks * entries))
    for place in range(ticks * entries):
        one = np.zeros(ticks * entries)
        one[place] = _FED
        fed[:, place] = answers(one.reshape(ticks, entries), {}) / _FED
    nothing, groups = np.zeros((ticks, entries)), [list(range(len(draws.scales)))]
    used: list[int] = []
    while groups:
        group = groups.pop()
        # Ones of different sizes, so that they do not cancel each other.
        found = answers(nothing, {place: _DRAWN + 7919 * place for place in group})
        if not found.any():
            continue
        if len(group) == 1:
            used.append(group[0])
            columns.append(found / (_DRAWN + 7919 * group[0]) * draws.scales[group[0]])
        else:
            groups += [group[: len(group) // 2], group[len(group) // 2 :]]
    drawn = np.array(columns).T if columns else np.zeros((len(silent[0]), 1))
    if not (np.isfinite(fed).all() and np.isfinite(drawn).all()):
        return None
    # Both at once must be the sum of both: else it is no combination, as of who answers only beyond a threshold.
    values = (np.arange(ticks * entries) * 37 % 11 - 5) * (_FED // 16)
    chosen = {place: (number * 53 % 17 - 8) * (_DRAWN // 64) for number, place in enumerate(used)}
    scaled = np.array([chosen[place] / draws.scales[place] for place in used])
    expected = fed @ values + (drawn @ scaled if used else 0.0)
    off = np.abs(answers(values.reshape(ticks, entries), chosen) - expected)
    if not bool((off <= _ROUNDING * max(1.0, float(np.abs(expected).max(initial=0.0)))).all()):
        return None
    return Linear(fed, drawn, draws.laws[0] == _LAWS[0])


def check_linear_loss(example: Example) -> None:
    """Check that no person loses more than the price, at any ticks that they may come, in counters that add noise."""
    mechanism: Any = example.mechanism
    if not isinstance(mechanism, InteractivePrimitive) or not isinstance(mechanism.domain, IntegerArray):
        return
    visits = _visits_of(mechanism)
    if visits is None:
        return
    price, entries = mechanism.loss(1), max(1, int(np.prod(mechanism.domain.shape)))
    if price.delta or entries > _MOST_ENTRIES:
        return
    ticks = min(_MOST_TICKS, _MOST_FED // entries, int(getattr(mechanism, "steps", None) or _MOST_TICKS))
    for script in _scripts(mechanism, ticks):
        linear = linear_of(mechanism, script, ticks, entries)
        if linear is None:
            check_spread(mechanism)
            return
        claimed = price.pure if linear.is_laplace else price.rho
        if claimed is None:
            return
        for placed in _placements(ticks, *visits):
            for entry, signs in product(sorted({0, entries - 1}), (1, -1)):
                change = np.zeros((ticks, entries))
                change[list(placed), entry] = [signs**number for number in range(len(placed))]
                lost, of = linear.lost(change.ravel()), "epsilon" if linear.is_laplace else "rho"
                told = f"a person at ticks {placed} loses {of} = {lost:.6g}, and {float(claimed):.6g} is charged"
                require(lost <= float(claimed) * (1 + _ROUNDING) + 1e-9, told)


def check_spread(mechanism: Any, copies: int = _COPIES, false_alarm: float = _FALSE_ALARM) -> None:
    """Check the same of Gaussian noise that is not drawn one by one, from how far it spreads.

    The entries of a wide tick are copies of one conversation. A weighted sum of answers has a spread, and moves by so
    much when a person comes: with Gaussian noise that is a lower bound on rho, whatever the weights are. Half of the
    copies choose weights, the other half measure the spread. For a sound counter the check fails with probability at
    most ``false_alarm``.

    Args:
        mechanism: a counter.
        copies: how many entries there are.
        false_alarm: the probability that a sound counter is refused.

    """
    visits, price = _visits_of(mechanism), mechanism.loss(1)
    if visits is None or price.pure is not None or "shape" not in {field.name for field in fields(mechanism)}:
        return
    ticks = min(_SPREAD_TICKS, int(getattr(mechanism, "steps", None) or _SPREAD_TICKS))
    try:
        wide = replace(mechanism, shape=(copies,))
    except DitherError:
        return
    moved = _moved(replace(mechanism, shape=(_MOST_ENTRIES,)), ticks)
    if moved is None:
        return
    noise = system_noise()
    state = wide.begin(noise)
    table = np.array([wide.reply(state, np.zeros(copies, dtype=np.int64), noise)[0] for _ in range(ticks)], dtype=float)
    pilot, rest = table[:, : copies // 2], table[:, copies // 2 :]
    spread = pilot @ pilot.T / pilot.shape[1]
    tried = [(placed, sign) for placed in _placements(ticks, *visits) for sign in (1, -1)]
    from scipy.special import chdtri

    # The spread is below this many times what is measured, for all that is tried at once.
    count = rest.shape[1]
    above = count / float(chdtri(count, 1 - false_alarm / len(tried)))
    for placed, sign in tried:
        change = np.zeros(ticks)
        change[list(placed)] = [sign**number for number in range(len(placed))]
        far = moved @ change
        weights = np.linalg.lstsq(spread, far, rcond=1e-9)[0]
        least = float(weights @ far) ** 2 / (2 * above * float(np.square(weights @ rest).mean()) + 1e-300)
        told = f"a person at ticks {placed} loses rho = {least:.6g} at least, and {float(price.rho):.6g} is charged"
        require(least <= float(price.rho) * (1 + _ROUNDING), told)


def _moved(wide: Any, ticks: int) -> Floats | None:
    """Return how far a one at each tick moves each answer, with the same noise; None where entries differ in that."""
    found = []
    for at in (None, *range(ticks)):
        noise = Noise(SeededEntropy(1))
        state, row = wide.begin(noise), []
        for tick in range(ticks):
            fed = np.full(wide.shape, _SMALL if tick == at else 0, dtype=np.int64)
            row.append(np.asarray(wide.reply(state, fed, noise)[0], dtype=np.float64))
        found.append(np.array(row))
    moved = [(one - found[0]) / _SMALL for one in found[1:]]
    if any(float(np.ptp(one, axis=1).max()) > 4 / _SMALL for one in moved):
        return None
    return np.array([one.mean(axis=1) for one in moved]).T


def run_allowances(name: str, most: int) -> tuple[int, list[str]]:
    """Try instances of a class with every combination of what a person may contribute; return how many, and findings.

    Args:
        name: of a registered class.
        most: how many instances are tried, from all over the list of them.

    >>> run_allowances("tick-noise", 2)
    (2, [])

    """
    kind = find(name).mechanism
    if not issubclass(kind, InteractivePrimitive):
        return 0, []
    made: dict[Any, Example] = {}
    for example in find(name).examples():
        mechanism: Any = example.mechanism
        axes = {field.name: _ALLOWANCES[field.name] for field in fields(mechanism) if field.name in _ALLOWANCES}
        for values in product(*axes.values()):
            try:
                one = replace(mechanism, **dict(zip(axes, values, strict=True)))
                one.loss(1)
            except DitherError:
                continue
            made.setdefault(one, Example(one, None))
    instances, found = list(made.values()), []
    # In no order: steps of equal length would miss what always comes together.
    # Spread over all of them, the same in every run.
    order = sorted(range(len(instances)), key=lambda number: hashlib.sha256(str(number).encode()).digest())
    chosen = [instances[number] for number in order[:most]]
    for instance in chosen:
        try:
            check_linear_loss(instance)
        except ContractViolation as violation:
            found.append(f"{violation}, in {instance.mechanism}")
    return len(chosen), found


def check_allowances(name: str) -> None:
    """Check a few instances of a class with other numbers of what a person may contribute; an audit tries hundreds."""
    for violation in run_allowances(name, _FEW)[1]:
        raise ContractViolation(violation)


_FEW: Final = 6


def _visits_of(mechanism: Any) -> tuple[int, int] | None:
    """Return how many ticks one unit touches, and how far apart they are at least; None where that is not known."""
    distance = mechanism.distance
    if isinstance(distance, TickLengths):
        return int(mechanism.ticks), int(getattr(mechanism, "apart", 1))
    return (1, 1) if distance == L1 or isinstance(mechanism.domain, ValueOrIntrusion) else None


def _placements(ticks: int, visits: int, apart: int) -> Iterator[tuple[int, ...]]:
    """Yield choices of ticks of one person, those of most visits first, the nearest of them first."""
    most = min(visits, -(-ticks // apart))
    sizes = range(most, 0, -1)
    first = [
        tuple(start + apart * number for number in range(size))
        for size in sizes
        for start in range(ticks - apart * (size - 1))
    ]
    others = (
        placed
        for size in sizes
        for placed in combinations(range(ticks), size)
        if all(later - sooner >= apart for sooner, later in pairwise(placed))
    )
    yield from dict.fromkeys([*first, *islice(others, _MOST_PLACEMENTS)])


def _scripts(mechanism: Any, ticks: int) -> Iterator[list[Any]]:
    """Yield the numbers of all ticks, with an intrusion before, after or between reports where there may be any."""
    plain: list[Any] = list(range(ticks))
    if not isinstance(mechanism.domain, ValueOrIntrusion):
        yield plain
        return
    every = int(mechanism.every)
    for turn in range(every):
        script: list[Any] = [] if turn else [Intrusion.UNANNOUNCED]
        for tick in plain:
            script.append(tick)
            if tick % every == (turn - 1) % every and tick + 1 < ticks:
                script.append(Intrusion.UNANNOUNCED)
        yield script
    for at in range(ticks if mechanism.announced else 0):
        yield [*plain[:at], Intrusion.UNANNOUNCED, Intrusion.ANNOUNCED, Intrusion.UNANNOUNCED, *plain[at:]]


def _answers(
    mechanism: Any, script: Sequence[Any], fed: NDArray[Any], chosen: dict[int, int]
) -> tuple[Floats, _Draws] | None:
    """Return all numbers of all answers, and the draws; None where answers are no numbers."""
    shape, noise = mechanism.domain.shape, Noise(SeededEntropy(1))
    found: list[Floats] = []
    with _drawing(chosen) as draws:
        state = mechanism.begin(noise)
        for one in script:
            value: Any = one
            if not isinstance(one, Intrusion):
                value = fed[one].astype(np.int64).reshape(shape) if shape else int(fed[one][0])
            answer, is_over = mechanism.reply(state, value, noise)
            numbers = np.asarray(answer).ravel()
            if numbers.dtype.kind == "O" and all(type(number) is int for number in numbers):
                numbers = numbers.astype(np.int64)
            if numbers.dtype.kind not in "iuf":
                return None
            found.append(cast("Floats", numbers.astype(np.float64)))
            if is_over:
                break
    return np.concatenate(found), draws
