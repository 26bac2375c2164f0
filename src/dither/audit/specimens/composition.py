"""Sums of losses that leave something out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.specimens.laws import HALF, at_least, claimed
from dither.audit.specimens.record import ADELAIDE, BOOK, KENTUCKY, Odds, Source, Specimen, premise
from dither.exact import exp_down, exp_up, log_down, log_up
from dither.noise import system_noise
from dither.privacy import ApproxDP, PureDP

_COPIES = 16
_ROUNDS = 20
_REFRESHES = 12

#: Of the filter: e^epsilon and delta of the budget, and e^epsilon of the parts.
_BUDGET, _BUDGET_DELTA = Fraction(6), Fraction(2, 15)
_FIRST, _SECOND = Fraction(2), Fraction(4)


def free_iteration(answer: int, other_answer: int) -> Odds:
    """Return the odds that a surrogate which answers 0 is published in all rounds, for no charge at all.

    Each round compares a noisy answer with it and publishes it if they are at most 1 apart.
    """

    def is_close(given: int) -> Fraction:
        return at_least(HALF, -1 - given) - at_least(HALF, 2 - given)

    return Odds(f"the surrogate, {_ROUNDS} times", is_close(answer) ** _ROUNDS, is_close(other_answer) ** _ROUNDS)


def averaged_copies(value: int, count: int) -> NDArray[Any]:
    """Return the mean of 16 noisy copies of one value, each of which has noise for epsilon = 1."""
    noise = system_noise().discrete_laplace(1, count * _COPIES).reshape(count, _COPIES)
    return np.asarray(value + noise.mean(axis=1))


def best_delta(parts: Sequence[tuple[Fraction, Fraction]], budget: Fraction) -> Fraction:
    """Return the delta of releases fixed in advance, by optimal composition, at e^epsilon = ``budget``.

    Args:
        parts: e^epsilon and delta of each release.
        budget: e^epsilon of all of them together.

    """
    survives, excess = Fraction(1), Fraction(0)
    for _, delta in parts:
        survives *= 1 - delta
    for truths in product((True, False), repeat=len(parts)):
        here = there = Fraction(1)
        for (odds, _), is_true in zip(parts, truths, strict=True):
            here *= (odds if is_true else 1) / (1 + odds)
            there *= (1 if is_true else odds) / (1 + odds)
        excess += max(here - budget * there, Fraction(0))
    return 1 - survives * (1 - excess)


def optimal_filter(bit: int, other_bit: int) -> Odds:
    """Return the odds of two outcomes of a run in which the second release is chosen after the first.

    First a randomised response. After a 1, another one; after a 0, the bit itself with probability delta. Either pair,
    had it been fixed, is within the budget by optimal composition: that is all that the filter checks.
    """
    for parts in (
        [(_FIRST, Fraction(0)), (_SECOND, Fraction(0))],
        [(_FIRST, Fraction(0)), (Fraction(1), _BUDGET_DELTA)],
    ):
        premise(best_delta(parts, _BUDGET) <= _BUDGET_DELTA, "the filter lets both runs through")

    def probability(given: int) -> Fraction:
        first, second = (odds / (1 + odds) if given else 1 / (1 + odds) for odds in (_FIRST, _SECOND))
        return first * second + (1 - first) * _BUDGET_DELTA * given

    return Odds("1 and 1 again, or 0 and then the bit 1 itself", probability(bit), probability(other_bit))


def correlated_iteration(answer: int, other_answer: int, *, eta: Fraction = Fraction(7)) -> Odds:
    """Return the odds that the first answer is above 2, which only a noisy one can be.

    Noise of scale 1 / epsilon_0 with epsilon_0 = epsilon * eta^2 * delta^2 / ln N, at epsilon = 1 and the printed
    eta = 7, delta = 0.6, N = 65536.
    """
    strength = eta**2 * Fraction(6, 10) ** 2
    most, least = strength / log_down(Fraction(65536)), strength / log_up(Fraction(65536))
    return Odds("an answer above 2", exp_down(-(2 - answer) * most) / 2, exp_up(-(2 - other_answer) * least) / 2)


def refresh(value: int, other_value: int) -> Odds:
    """Return the odds that every one of 12 releases of the same curator is at least the larger value."""
    top = max(value, other_value)
    return Odds(
        f"{_REFRESHES} releases of at least {top}",
        at_least(HALF, top - value) ** _REFRESHES,
        at_least(HALF, top - other_value) ** _REFRESHES,
    )


SPECIMENS = (
    Specimen(
        name="free-iteration",
        source=Source(BOOK, "3.2, iteration; again in 9.4.4 and 14.4.5"),
        claim=claimed(2),
        what_is_wrong=(
            "Publishing the surrogate is claimed to cost nothing, but that it was close enough is read from the "
            "data, round after round."
        ),
        value=0,
        neighbour=1,
        step="every answer moves by at most 1",
        refuted_by="closed form",
        replacement="above-threshold",
        weigh=free_iteration,
    ),
    Specimen(
        name="averaged-noisy-copies",
        source=Source(KENTUCKY, "10.1"),
        claim=PureDP(1),
        what_is_wrong="The mean of independently noised copies is charged as one of them; every copy costs.",
        value=0,
        neighbour=1,
        step="a value that moves by 1",
        refuted_by="sampling",
        replacement="noise-reduction",
        sample=averaged_copies,
    ),
    Specimen(
        name="optimal-composition-as-filter",
        source=Source(BOOK, "2.2.2, on adaptive mechanisms; the reason is that of Rogers et al. (2016)"),
        claim=ApproxDP(log_up(_BUDGET), _BUDGET_DELTA),
        what_is_wrong="Optimal composition holds for losses that are fixed in advance. Chosen as outcomes come in, "
        "each run keeps the budget by that formula and all of them together do not.",
        value=1,
        neighbour=0,
        step="one bit is flipped",
        refuted_by="closed form",
        replacement="dither.privacy.Filter",
        weigh=optimal_filter,
    ),
    Specimen(
        name="correlated-iteration-constants",
        source=Source(BOOK, "14.4, algorithm 1, with the parameters of 14.4.7"),
        claim=PureDP(1),
        what_is_wrong="With eta = 7 the loss of one released answer is 17.64 / ln N times the whole budget: "
        "more than all of it for any table of fewer than 45 million cells.",
        value=1,
        neighbour=0,
        step="an answer that moves by its sensitivity",
        refuted_by="closed form",
        replacement="mwem",
        weigh=correlated_iteration,
    ),
    Specimen(
        name="refresh-without-a-ledger",
        source=Source(ADELAIDE, "proposition 5.2"),
        claim=claimed(2),
        what_is_wrong=(
            "A curator who leaves and joins again is claimed to cost what one release costs; every release on the "
            "same people adds to the last."
        ),
        value=1,
        neighbour=0,
        step="a value that moves by 1",
        refuted_by="closed form",
        replacement="dither.privacy.Filter",
        weigh=refresh,
    ),
)
