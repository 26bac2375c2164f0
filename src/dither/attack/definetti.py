"""De Finetti's attack: the table itself teaches what goes with what, and that undoes its classes.

Anatomy publishes what identifies people and what is sensitive in two lists that are joined by the number of a class
only: two people, two different diagnoses, and nothing that says who has which. But over many classes people of one
occupation meet one diagnosis more often than others. That is learned from the classes alone, by going back and forth
between who has what and what goes with what (expectation and maximisation), and then most classes of which the two
readings differ enough are read rightly. Knowledge that is drawn from the release, and needed by nobody beforehand, is
called foreground knowledge.

The defended table counts occupations and diagnoses with noise. It teaches what goes with what just as well, which is
what tables are for; but it says nothing of who was in which class, so that everybody is guessed as well as by their
occupation alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import BOOK
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_VALUES, _LIKELY = 10, 0.4
_PEOPLE_PER_NAMED, _ROUNDS = 12, 12


def learned_chances(
    kinds: NDArray[np.int64], values: NDArray[np.int64], size: int, rounds: int
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the chance that the first member of each class has its first value, and that after every round.

    Args:
        kinds: of the two members of each class.
        values: the two values of each class, in any order.
        size: how many kinds and values there are.
        rounds: of going back and forth.

    """
    straight, course = np.full(len(kinds), 0.5), []
    for _ in range(rounds):
        together = np.full((size, size), 1.0)
        for member in (0, 1):
            for place in (0, 1):
                weight = straight if member == place else 1 - straight
                np.add.at(together, (kinds[:, member], values[:, place]), weight)
        chances = together / together.sum(axis=1, keepdims=True)
        first = chances[kinds[:, 0], values[:, 0]] * chances[kinds[:, 1], values[:, 1]]
        second = chances[kinds[:, 0], values[:, 1]] * chances[kinds[:, 1], values[:, 0]]
        straight = first / (first + second)
        course.append(straight)
    return straight, course


@attack("definetti", source=f"Attacks on Privacy and deFinetti's Theorem (Kifer 2009); {BOOK}, section 1.3")
def definetti(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Learn from the classes of a table what goes with what, and read off each class who has which value."""
    drawn = public_generator()
    people = _PEOPLE_PER_NAMED * targets
    # Which diagnosis goes with which occupation is nobody's secret, and known to nobody beforehand.
    goes_with = drawn.permutation(_VALUES)
    kinds = drawn.integers(0, _VALUES, size=people)
    shift = np.where(drawn.uniform(size=people) < _LIKELY, 0, drawn.integers(1, _VALUES, size=people))
    values = (goes_with[kinds] + shift) % _VALUES
    pairs, own = kinds.reshape(-1, 2), values.reshape(-1, 2)
    # Of a class with one value nothing would be hidden: such classes are not published.
    is_diverse = own[:, 0] != own[:, 1]
    pairs, own = pairs[is_diverse], own[is_diverse]
    is_turned = drawn.uniform(size=len(own)) < 0.5
    listed = np.where(is_turned[:, None], own[:, ::-1], own)
    straight, course = learned_chances(pairs, listed, _VALUES, _ROUNDS)
    wanted = -(-targets // 2)
    shares = [_share_right(chance, is_turned, wanted) for chance in course]
    table = np.zeros((_VALUES, _VALUES), dtype=np.int64)
    np.add.at(table, (kinds, values), 1)
    guesses = noisy_counts(table, epsilon, moved=2).argmax(axis=1)
    named = drawn.permutation(people)[: 2 * wanted]
    return Outcome(
        attack="definetti",
        measure="share of people whose diagnosis is told rightly, of those named",
        unprotected=_share_right(straight, is_turned, wanted),
        protected=float(np.mean(guesses[kinds[named]] == values[named])),
        chance=_LIKELY,
        ceiling=ceiling(_LIKELY, epsilon),
        n=2 * wanted,
        loss=f"{plainly(epsilon)} for one person's diagnosis",
        words=f"{len(own)} classes of two people with two different diagnoses: each reading is as likely as the other, "
        f"says the table. {_LIKELY:.0%} of people have what goes with their occupation; that is learned from the "
        f"classes, and tells most people of the {wanted} surest classes apart.",
        axes=("rounds of learning", "share told rightly"),
        curves=(Curve("of the surest classes", tuple(float(n + 1) for n in range(len(shares))), tuple(shares)),),
    )


def _share_right(straight: NDArray[np.float64], is_turned: NDArray[np.bool_], wanted: int) -> float:
    """Return the share of the surest classes that are read rightly."""
    surest = np.argsort(-np.abs(straight - 0.5), kind="stable")[:wanted]
    return float(np.mean((straight[surest] < 0.5) == is_turned[surest]))
