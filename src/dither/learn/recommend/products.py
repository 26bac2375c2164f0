"""What one person adds to sums over pairs of items: products of residuals, and which pairs are rated; as integers.

A residual is what remains of a rating when the released mean of its item and the person's own bias are taken off. The
products of one person have a public length, by a weight of that person, as in ``weighing``. The weight, the bias and
the residuals follow from the person's own ratings and from what was released before.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.recommend.weighing import STEPS, WEIGHTS, Weighed
from dither.learn.rows import exact_products
from dither.lift.profiles import Ints

#: How often products count in a draw, and those of two different items: by a little less than the root of 2 more often.
COUNTED: Final = 5
PAIRS_COUNTED: Final = 7
#: Steps of a rated pair, where a product of two residuals of 1 has 2^20: a sixteenth.
PAIR: Final = 2**16
#: A length of 1, of what a person adds.
LENGTH: Final = COUNTED * WEIGHTS * STEPS**2
#: How many people are written out at a time.
_BLOCK: Final = 2**12
_PULL: Final = 3
_MOST_PAIRS: Final = 2**40


def residuals(seen: Weighed, means: Ints) -> Ints:
    """Return each rating in steps without the mean of its item and the bias of its person, clipped.

    Args:
        seen: ratings as integers.
        means: the released mean of each item, in steps.

    """
    plain = seen.steps - means[seen.items]
    many = np.bincount(seen.people)
    # Integers below 2^53 are added exactly, in any order.
    total = np.bincount(seen.people, weights=plain.astype(np.float64))
    bias = np.rint(total / (many + _PULL)).astype(np.int64)
    found: Ints = np.clip(plain - bias[seen.people], -STEPS, STEPS)
    return found


def weights_of(people: Ints, left: Ints, reach: int) -> Ints:
    """Return the weight of each person: the largest with which the person's products are within ``reach``.

    For each person weight^2 (|residuals|^4 + (PAIR ratings)^2) is at most (WEIGHTS STEPS^2 reach)^2.

    Args:
        people: of each rating.
        left: residuals.
        reach: the length that counts in full.

    """
    many = np.bincount(people)
    squares = np.bincount(people, weights=(left * left).astype(np.float64)).astype(np.int64)
    most = (WEIGHTS * STEPS**2 * reach) ** 2
    # Python's integers: squares of squares are larger than 64 bits.
    lengths = (square**2 + (PAIR * count) ** 2 for square, count in zip(squares.tolist(), many.tolist(), strict=True))
    found = (min(WEIGHTS, math.isqrt(most // length)) if length else 0 for length in lengths)
    return np.fromiter(found, dtype=np.int64, count=many.size)


def pair_sums(seen: Weighed, means: Ints, reach: int, items: int) -> NDArray[np.int64]:
    """Return the sums of products and of rated pairs to be drawn: the upper halves of both tables, one after the other.

    One person moves them by no more than LENGTH times ``reach`` in L2.

    Args:
        seen: ratings as integers.
        means: the released mean of each item, in steps.
        reach: the length of products that counts in full.
        items: their number.

    """
    left = residuals(seen, means)
    weights = weights_of(seen.people, left, reach)
    products = np.zeros((items, items), dtype=np.int64)
    pairs = np.zeros((items, items), dtype=np.int64)
    for start in range(0, weights.size, _BLOCK):
        first, last = np.searchsorted(seen.people, (start, start + _BLOCK))
        part = slice(int(first), int(last))
        place = seen.people[part] - start
        dense, rated = np.zeros((_BLOCK, items)), np.zeros((_BLOCK, items))
        dense[place, seen.items[part]] = left[part]
        rated[place, seen.items[part]] = 1.0
        weight = np.zeros(_BLOCK)
        weight[: weights[start : start + _BLOCK].size] = weights[start : start + _BLOCK]
        products += exact_products(dense * weight[:, None], dense)
        pairs += exact_products(rated * weight[:, None], rated)
    upper = np.triu_indices(items)
    often = np.where(upper[0] == upper[1], COUNTED, PAIRS_COUNTED)
    return np.concatenate([products[upper] * often, np.minimum(pairs[upper], _MOST_PAIRS) * PAIR * often])


def tables(drawn: NDArray[np.float64], items: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two square tables of what was drawn: of products of residuals up to 1, and of people."""
    upper = np.triu_indices(items)
    often = np.where(upper[0] == upper[1], COUNTED, PAIRS_COUNTED)
    found = []
    for numbers, unit in ((drawn[: often.size], STEPS**2), (drawn[often.size :], PAIR)):
        table = np.zeros((items, items))
        table[upper] = numbers / often / (WEIGHTS * unit)
        found.append(np.triu(table) + np.triu(table, 1).T)
    return found[0], found[1]
