"""Foreground knowledge: what a published table itself teaches about groups of people, turned on its own classes.

The attacker brings nothing along. Over many classes, how often a value occurs rises with how many members of a kind
there are: a regression of the one on the other tells which value goes with which kind, and that undoes the classes in
which only one way of giving out the values is likely.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from dither.attack.anonymity import class_counts
from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import BOOK, attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_SIZE, _KINDS, _LIKELY = 3, 10, 0.4
#: How many classes are published for each one that is named.
_CLASSES_PER_NAMED = 200
#: A rate that least squares finds below this is taken for this: nobody is ruled out by noise.
_SMALLEST = 0.005


def learned_rates(kinds: NDArray[np.int64], values: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return how often each kind of people has each value, by least squares over all classes.

    Args:
        kinds: of the members of each class, a row a class.
        values: of the same class, in any order.
        size: how many kinds and values there are.

    """
    members, seen = class_counts(kinds, size), class_counts(values, size)
    rates, *_ = np.linalg.lstsq(members.astype(np.float64), seen.astype(np.float64), rcond=None)
    return np.maximum(rates, _SMALLEST)


def likeliest(
    rates: NDArray[np.float64], kinds: NDArray[np.int64], values: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return, for each class, the likeliest value of each member, and how likely that way of giving them out is."""
    ways = [values[:, list(order)] for order in permutations(range(values.shape[1]))]
    weights = np.stack([rates[kinds, way].prod(axis=1) for way in ways])
    best = weights.argmax(axis=0)
    found = np.stack(ways)[best, np.arange(len(values))]
    return found, weights.max(axis=0) / weights.sum(axis=0)


@attack(
    "foreground",
    source="Can the Utility of Anonymized Data be Used for Privacy Breaches? (Wong, Fu, Wang, Yu, Pei 2011); "
    f"{BOOK}, section 1.3",
    most=2000,
)
def foreground(targets: int = 510, epsilon: Number = "1/2") -> Outcome:
    """Learn by regression over the classes of a table what its kinds of people have, and undo the classes.

    Foreground knowledge: patterns of the published table, against the people in it.

    Each class has three people of three different values, and says who is in it and which values occur: every value is
    equally likely for each of them, says the rule. The rates of kinds and values follow from all classes together, and
    of the surest classes nearly everybody is told rightly.

    The defended table counts kinds and values with noise. Its rates are as good, which is what tables are for; but
    there are no classes to undo, so that everybody is guessed by their kind alone.
    """
    drawn = public_generator()
    wanted = -(-targets // _SIZE)
    # Which value goes with which kind is not known to anybody who has not read the table.
    goes_with = drawn.permutation(_KINDS)
    kinds = drawn.integers(0, _KINDS, size=(_CLASSES_PER_NAMED * wanted, _SIZE))
    shift = np.where(drawn.uniform(size=kinds.shape) < _LIKELY, 0, drawn.integers(1, _KINDS, size=kinds.shape))
    values = (goes_with[kinds] + shift) % _KINDS
    # Of classes in which a value occurs twice, fewer values would be left: such classes are not published.
    is_diverse = class_counts(values, _KINDS).max(axis=1) == 1
    shown, own = kinds[is_diverse], values[is_diverse]
    found, chance = likeliest(learned_rates(shown, np.sort(own, axis=1), _KINDS), shown, np.sort(own, axis=1))
    surest = np.argsort(-chance, kind="stable")[:wanted]
    table = np.zeros((_KINDS, _KINDS), dtype=np.int64)
    np.add.at(table, (kinds.ravel(), values.ravel()), 1)
    guesses = noisy_counts(table, epsilon, moved=2).argmax(axis=1)
    named = drawn.permutation(len(kinds))[:wanted]
    return Outcome(
        attack="foreground",
        measure="share of people whose value is inferred correctly, of those named",
        unprotected=float(np.mean(found[surest] == own[surest])),
        protected=float(np.mean(guesses[kinds[named]] == values[named])),
        chance=_LIKELY,
        ceiling=ceiling(_LIKELY, epsilon),
        n=wanted * _SIZE,
        loss=f"{plainly(epsilon)} for one person's value",
        words=(
            f"{len(own)} classes of {_SIZE} people with {_SIZE} different values. {_LIKELY:.0%} of people have the "
            "value that goes with their kind; the table teaches which it is, and identifies most people of the "
            f"{wanted} surest classes."
        ),
    )
