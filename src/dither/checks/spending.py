"""Budgets watched from outside: what each step, part, question and tick spends is recorded and added up here.

Nothing here is shared with the code that enforces a budget: sums are plain, over the tape of a run, over the requests
that a mechanism makes of its noise, or over all ways of spreading units. What a budget allows must hold all of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any, Final

import numpy as np

from dither.checks.violation import require
from dither.errors import BudgetExceeded, DitherError, NoGuarantee
from dither.mechanisms import Composed, Dialogue, DiscreteGaussian, Example, Geometric, Interactive
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.noise import system_noise
from dither.privacy import ZCDP, ApproxDP, Filter, Loss, Parallel, Plan, PureDP, Unit, Use, Within
from dither.testing.asked import AskedNoise
from dither.testing.choices import Choices
from dither.testing.replay import Event, RecordingRunner, Tape, Where, run_watched

#: Figures that are rounded up on their way may be longer by this share.
_ROUNDING: Final = Fraction(1, 10**9)
#: The conversion from rho is a minimum that is found here in another way than there.
_SEARCHED: Final = 1e-6
_MOST_SIBLINGS: Final = 6
_MOST_TOUCHED: Final = 5
_FARTHEST: Final = 4
#: How often the questions of a conversation are asked again, until it is over or its budget is spent.
_AGAIN: Final = 12
_TICKS: Final = 60


@dataclass(frozen=True)
class Spent:
    """Plain figures: an epsilon, where all parts have one, a rho and a delta."""

    epsilon: Fraction | None = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    @staticmethod
    def on(loss: Loss) -> Spent:
        """Return the figures of one loss."""
        return Spent(loss.pure, Fraction(loss.rho), Fraction(loss.delta))

    def __add__(self, other: Spent) -> Spent:
        both = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return Spent(both, self.rho + other.rho, self.delta + other.delta)

    def times(self, count: int) -> Spent:
        """Return as much several times."""
        epsilon = None if self.epsilon is None else self.epsilon * count
        return Spent(epsilon, self.rho * count, self.delta * count)

    def is_within(self, budget: Loss) -> bool:
        """Whether a budget holds these figures: by its epsilon, by its rho, or by its rho converted at its delta."""
        if self.delta > budget.delta * (1 + _ROUNDING):
            return False
        if budget.pure is not None and self.epsilon is not None and self.epsilon <= budget.pure * (1 + _ROUNDING):
            return True
        if budget.pure is None:
            return self.rho <= budget.rho * (1 + _ROUNDING)
        spare = float(budget.delta - self.delta)
        return spare > 0 and converted(float(self.rho), float(budget.pure)) <= spare * (1 + _SEARCHED)


def converted(rho: float, epsilon: float) -> float:
    """Return a delta at which rho-zCDP gives epsilon, by a search over orders.

    >>> converted(0.125, 2.2) < 1e-5 < converted(0.125, 2.0)
    True
    """
    if rho <= 0:
        return 0.0
    best = 1.0
    low, high = 1e-9, 1e9
    for _ in range(60):
        # Orders above 1 on a grid of powers, finer around the best one.
        orders = [low * (high / low) ** (place / 24) for place in range(25)]
        found = [_at_order(rho, epsilon, 1 + order) for order in orders]
        place = min(range(len(found)), key=found.__getitem__)
        best = min(best, math.exp(min(found[place], 0.0)))
        low, high = orders[max(place - 1, 0)], orders[min(place + 1, 24)]
        if high / low < 1 + 1e-12:
            break
    return best


def _at_order(rho: float, epsilon: float, order: float) -> float:
    """Return the logarithm of the delta that one order shows."""
    return (order - 1) * (order * rho - epsilon) + (order - 1) * math.log1p(-1 / order) - math.log(order)


def check_spending(example: Example) -> None:
    """Check that what the steps of a run spend, added up from its tape, is within what is charged.

    A conversation is asked its questions again and again, until it is over or refuses for want of budget.
    """
    mechanism, data = example.mechanism, example.data
    if not isinstance(mechanism, Composed | Interactive):
        return
    talks = [data]
    if isinstance(data, Dialogue) and data.data is not None:
        talks.append(Dialogue(data.data, data.script * _AGAIN))
    for talk in talks:
        runner = RecordingRunner(mechanism.plan(), system_noise())
        run_watched(mechanism, talk, runner, is_large=True)
        tape = runner.tape
        if tape.is_random:
            # A sample makes its draws cheaper, and of several runs one is released: no sum of draws.
            return
        spent, price = spent_on(tape), mechanism.loss(1)
        told = f"the steps of a run spend {spent}, and {price} is charged"
        require(spent.is_within(price), told)
        for where, budget in tape.budgets.items():
            inside = spent_on(tape, where)
            d_in = tape.apart[where]
            allowed = budget if d_in == 1 else None
            if allowed is not None:
                require(inside.is_within(allowed), f"under the filter of {budget} a run spends {inside}")


def spent_on(tape: Tape, under: Where = ()) -> Spent:
    """Return what the draws below a place spend: of disjoint parts those that one unit can touch at the most."""
    return _summed([event for event in tape.events if event.where[: len(under)] == under], tape, len(under))


def _summed(events: Sequence[Event], tape: Tape, depth: int) -> Spent:
    total, deeper = Spent(), dict[str, list[Event]]()
    for event in events:
        if len(event.where) == depth:
            if event.kind in ("draw", "begin") and event.part is not None:
                total += Spent.on(event.part.loss(event.d_in * event.stability))
        else:
            deeper.setdefault(event.where[depth], []).append(event)
    divided: dict[str, list[Spent]] = {}
    for name, inside in deeper.items():
        found = _summed(inside, tape, depth + 1)
        division = name.rpartition("/")[0]
        if division:
            divided.setdefault(division, []).append(found)
        else:
            total += found
    for division, siblings in divided.items():
        where = (*events[0].where[:depth], division)
        total += _dearest(siblings, int(tape.divisions[where] / tape.apart.get(where, Fraction(1))))
    return total


def _dearest(siblings: Iterable[Spent], touched: int) -> Spent:
    """Return the sum of the dearest ones, figure by figure."""
    found = list(siblings)
    epsilons = [one.epsilon for one in found]
    known = [one for one in epsilons if one is not None]
    return Spent(
        sum(sorted(known)[-touched:], Fraction(0)) if len(known) == len(found) else None,
        sum(sorted(one.rho for one in found)[-touched:], Fraction(0)),
        sum(sorted(one.delta for one in found)[-touched:], Fraction(0)),
    )


def check_windows(example: Example) -> None:
    """Check that no window of ticks spends more than its budget, from the noise that each tick asks for.

    For streams whose unit is what is done within a window, with ticks that one unit moves by 1 in L1. Every way of
    spending is tried: ticks that move all the time, seldom, never, after a long silence.
    """
    mechanism = example.mechanism
    if not isinstance(mechanism, InteractivePrimitive) or not isinstance(mechanism.distance, Unit):
        return
    if mechanism.distance.protects != "window":
        return
    width, choices = int(mechanism.window), Choices()  # type: ignore[attr-defined]
    for pace in (0, 1, 2, width, 2 * width + 1, -1):
        spent = ticks_spent(mechanism, pace, _TICKS + 3 * width, choices)
        for start in range(len(spent)):
            total = sum(spent[start : start + width], Fraction(0))
            budget = mechanism.loss(1).pure
            told = f"the {width} ticks from {start + 1} on spend epsilon = {total}, {budget} is the budget of a window"
            require(budget is not None and total <= budget, told)


def ticks_spent(mechanism: Any, pace: int, ticks: int, choices: Choices) -> list[Fraction]:
    """Return the epsilon of each tick: the sum of 1 / scale over what it asks of the noise.

    Args:
        mechanism: an interactive primitive over integers, each tick of which moves by 1 in L1 at most.
        pace: after how many ticks the values jump; 0 for never, -1 for at random.
        ticks: how many.
        choices: where they come from.

    """
    noise = AskedNoise(choices.below(2**30))
    state, spent, level = mechanism.begin(noise), [], 0
    for tick in range(ticks):
        is_moved = choices.below(3) == 0 if pace < 0 else bool(pace) and tick % pace == 0
        level += choices.one((10**3, 10**6, -(10**6))) if is_moved else 0
        noise.asked.clear()
        value = np.full(mechanism.shape, level, dtype=np.int64) if mechanism.shape else level
        _, is_over = mechanism.reply(state, value, noise)
        require(all(one.law == "discrete_laplace" for one in noise.asked), f"no law of a tick is known: {noise.asked}")
        spent.append(sum((1 / one.numbers[0] for one in noise.asked), Fraction(0)))
        if is_over:
            break
    return spent


def check_filter(budget: Loss, choices: Choices | None = None, *, releases: int = 40) -> None:
    """Check that what a filter admits, of losses of all kinds and sizes, is within its budget when it is added up."""
    chosen, gate, total = Choices() if choices is None else choices, Filter(budget), Spent()
    size = Fraction(budget.pure) if budget.pure is not None else Fraction(budget.rho) * 2
    for _ in range(releases):
        share = Fraction(1 + chosen.below(12), chosen.one((12, 24, 60, 400)))
        kind = chosen.below(3)
        loss: Loss
        if kind == 0 or (kind == 2 and not budget.delta):
            loss = PureDP(size * share)
        elif kind == 1:
            loss = ZCDP((size * share) ** 2 / 8)
        else:
            loss = ApproxDP(size * share, budget.delta * Fraction(1 + chosen.below(5), 10))
        try:
            gate.spend(loss)
        except BudgetExceeded:
            continue
        total += Spent.on(loss)
        require(total.is_within(budget), f"a filter of {budget} admits {loss}, with which {total} is spent")


def check_parallel(plan: Parallel) -> None:
    """Check the price of disjoint parts against all ways in which one to four units may touch siblings.

    Each unit is in as many siblings as it may touch; the loads of all siblings are counted, and the prices of a sibling
    at these loads are added up. Larger divisions are reduced to six siblings: no more matter for what is tried here.
    """
    touched = min(int(plan.touched), int(plan.siblings))
    few = replace(plan, siblings=min(int(plan.siblings), max(_MOST_SIBLINGS, touched)))
    if touched > _MOST_TOUCHED:
        return
    for distance in range(1, _FARTHEST + 1):
        try:
            price = few.loss(distance)
            alone = [Spent.on(few.plan.loss(load)) for load in range(distance + 1)]
        except (NoGuarantee, DitherError):
            return
        for loads in _loads(int(few.siblings), touched, distance):
            total = Spent()
            for load in loads:
                total += alone[load]
            told = f"{distance} units that touch {touched} of {few.siblings} siblings each, with loads {loads}"
            require(_covers(price, total), f"{told}, cost {total}, and {price} is charged")


def _covers(price: Loss, total: Spent) -> bool:
    """Whether every figure of a price is at least that of a sum."""
    if price.pure is not None and (total.epsilon is None or total.epsilon > price.pure * (1 + _ROUNDING)):
        return False
    return total.rho <= price.rho * (1 + _ROUNDING) and total.delta <= price.delta * (1 + _ROUNDING)


def _loads(siblings: int, touched: int, distance: int) -> Iterable[tuple[int, ...]]:
    """Return all loads of siblings, each once: how many of the units are in each."""
    ways = list(combinations(range(siblings), touched))
    found = set()
    for chosen in combinations_with_replacement(ways, distance):
        counted = Counter(place for way in chosen for place in way)
        found.add(tuple(sorted(counted.values(), reverse=True)))
    return sorted(found)


def check_all_parallel() -> None:
    """Check the price of disjoint parts for every number of touched siblings from 1 to 5, and every kind of loss."""
    kinds: tuple[Plan, ...] = (
        Use(Geometric(scale=2)),
        Use(DiscreteGaussian(sigma=2)),
        Within(ApproxDP("1/2", "1e-6"), (Geometric,)),
    )
    for inner in kinds:
        for touched in range(1, _MOST_TOUCHED + 1):
            for siblings in (touched, _MOST_SIBLINGS):
                check_parallel(Parallel(inner, siblings, touched))


def check_parallel_parts(example: Example) -> None:
    """Check the price of every division in the plan of a mechanism."""
    mechanism = example.mechanism
    if isinstance(mechanism, Composed | Interactive):
        for one in _divisions(mechanism.fixed_plan):
            check_parallel(one)


def _divisions(plan: Any) -> Iterable[Parallel]:
    if isinstance(plan, Parallel):
        yield plan
    for inner in (*getattr(plan, "plans", ()), *filter(None, [getattr(plan, "plan", None)])):
        yield from _divisions(inner)
