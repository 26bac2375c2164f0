"""Even trees: counts of cells from noisy counts of blocks, with neighbours averaged as far as they look alike.

Blocks of 1, b, b^2, ... cells were released with independent noise of known variance, b a power of 2. Every dyadic
block is either even (all its cells have one count) or falls into its halves, whose difference is then of unknown size.
Estimated is the mean count of every cell over all these descriptions, each weighed by how well it explains what was
released: one pass up and one down for all of them together, as in context-tree weighting. How often blocks of a size
are even, and how far halves differ, is learned from the same released numbers in a few rounds (empirical Bayes).

Noise is treated as normal, and the mixture of both descriptions of a half as normal, too: a description that is wrong
costs accuracy, never privacy. Where no block looks even the estimates are nearly those of ``trees.fit_tree``.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter

Floats = NDArray[np.float64]
#: Estimates, their variances, and the logarithms of the evidence.
Said = tuple[Floats, Floats, Floats]

_ROUNDS: Final = 6
#: Halves of a block that is not even differ by normal amounts of these variances, as multiples of the noise.
_SPREADS: Final = 4.0 ** np.arange(-1, 11)
#: What is left of a difference under each; one that only the largest explains may be far larger still, and is kept.
_KEPT: Final = np.append(_SPREADS[:-1] / (1 + _SPREADS[:-1]), 1.0)
#: No size of block is taken to be always or never even.
_SUREST: Final = 1e-3


@dataclass(frozen=True)
class _Level:
    """The blocks of 2^j cells: what their own subtrees say about their totals.

    Args:
        count: how many cells each has; the last may have fewer.
        even: the estimate, its variance and the logarithm of the evidence, if all its cells have one count.
        inside: a class of blocks, 0 or 1, for each of which evenness is learned separately.

    """

    count: Floats
    even: Said
    inside: NDArray[np.intp]


def fit_even_tree(
    noisy: Sequence[ArrayLike], variances: Sequence[float], branching: int, begins: ArrayLike | None = None
) -> Floats:
    """Return the mean counts of the cells over all descriptions by even dyadic blocks.

    Args:
        noisy: the released blocks of each level, cells first.
        variances: the variance of the noise of each level.
        branching: how many blocks make up one of the next level; a power of 2.
        begins: a released guess where runs of like counts begin, as a 0 or 1 for every cell: blocks within one run
            and others are learned separately, so that a bad guess is found out.

    >>> flat = fit_even_tree([[3.0, 5.0, 4.0, 4.0], [8.0, 8.0]], [4.0, 4.0], 2)
    >>> bool(np.ptp(flat) < 1), round(float(flat.sum()), 6)
    (True, 16.0)

    """
    step = branching.bit_length() - 1
    if branching < 2 or branching != 1 << step:
        raise InvalidParameter("branching", branching, "a power of 2")
    released = [np.asarray(level, dtype=np.float64) for level in noisy]
    cells = released[0].size
    if len(variances) != len(released) or [one.size for one in released] != [
        -(-cells // branching**level) for level in range(len(released))
    ]:
        raise InvalidParameter("noisy", [one.shape for one in released], f"levels of {branching} blocks each")
    measured = {step * level: (one, float(variances[level])) for level, one in enumerate(released)}
    levels = _levels(measured, cells, begins)
    evenness = np.full((len(levels), 2), 0.5)
    spreads = np.full((len(levels), _SPREADS.size), 1 / _SPREADS.size)
    estimate = released[0]
    for _ in range(_ROUNDS):
        estimate, evenness, spreads = _round(levels, measured, evenness, spreads)
    return estimate


def _levels(measured: dict[int, tuple[Floats, float]], cells: int, begins: ArrayLike | None) -> list[_Level]:
    """Return all dyadic levels up to the block of all cells, with what they say if they are even."""
    runs = np.zeros(cells, dtype=np.intp) if begins is None else np.cumsum(np.asarray(begins, dtype=np.intp))
    first, variance = measured[0]
    count = np.ones(cells)
    even: Said = (first, np.full(cells, variance), np.zeros(cells))
    found = [_Level(count, even, np.zeros(cells, dtype=np.intp))]
    while count.size > 1:
        height = len(found)
        (left, right), last = _halves(count), count.size % 2
        total = left + right
        estimates, spread, evidence = (_halves(part) for part in found[-1].even)
        # A block of n cells of which a half has m: the half's estimate times n / m is one of the block's total.
        up = (estimates[0] * total / left, estimates[1] * total / right)
        noise = (spread[0] * (total / left) ** 2, spread[1] * (total / right) ** 2)
        joined = _product(up[0], noise[0], up[1], noise[1])
        logs = evidence[0] + evidence[1] + np.log(total / left) + np.log(total / right) + joined[2]
        count, even = np.append(total, count[-last:] if last else []), (joined[0], joined[1], logs)
        if last:
            even = _with_last(even, found[-1].even)
        if height in measured:
            even = _seen(even, *measured[height])
        starts = np.arange(count.size) << height
        ends = np.minimum(starts + (1 << height), cells) - 1
        found.append(_Level(count, even, (runs[starts] == runs[ends]).astype(np.intp)))
    return found


def _round(
    levels: list[_Level], measured: dict[int, tuple[Floats, float]], evenness: Floats, spreads: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the estimates under what is thought of evenness and differences, and what is thought next."""
    estimate, variance, _ = levels[0].even
    total: Said = (estimate, variance, levels[0].even[2])
    ups = [total]
    weights, shrinks, guesses = [], [], []
    for height, level in enumerate(levels[1:], start=1):
        (left, right), (noise_left, noise_right), (log_left, log_right) = (_halves(part) for part in total)
        pairs = left.size
        part = _halves(levels[height - 1].count)[0] / level.count[:pairs]
        apart = (1 - part) * left - part * right
        noise = (1 - part) ** 2 * noise_left + part**2 * noise_right
        tried = noise[:, None] * (1 + _SPREADS)
        logs = np.log(spreads[height]) + _log_normal(apart[:, None], tried)
        top = logs.max(axis=1, keepdims=True)
        guess = np.exp(logs - top)
        mass = guess.sum(axis=1)
        guess /= mass[:, None]
        split: Said = (left + right, noise_left + noise_right, log_left + log_right + top[:, 0] + np.log(mass))
        chance = evenness[height][level.inside]
        if level.count.size > pairs:
            # The last block has no second half: it is its first one.
            split = _with_last(split, total)
            chance[-1] = 0.0
        if height in measured:
            split = _seen(split, *measured[height])
        with np.errstate(divide="ignore"):
            both = np.log(chance) + level.even[2], np.log1p(-chance) + split[2]
        evidence = np.logaddexp(*both)
        weight = np.exp(both[0] - evidence)
        total = (
            weight * level.even[0] + (1 - weight) * split[0],
            weight * level.even[1] + (1 - weight) * split[1],
            evidence,
        )
        ups.append(total)
        weights.append(weight)
        shrinks.append(guess @ _KEPT)
        guesses.append(guess)
    return _down(levels, ups, weights, shrinks, guesses)


def _down(
    levels: list[_Level],
    ups: list[Said],
    weights: list[Floats],
    shrinks: list[Floats],
    guesses: list[Floats],
) -> tuple[Floats, Floats, Floats]:
    """Return the counts of the cells from the totals of all blocks, and how even the blocks were found to be."""
    totals, reached, settled = ups[-1][0], np.ones(1), np.zeros(1)
    evenness, spreads = np.full((len(levels), 2), 0.5), np.full((len(levels), _SPREADS.size), 1 / _SPREADS.size)
    for height in range(len(levels) - 1, 0, -1):
        weight, pairs = weights[height - 1], shrinks[height - 1].size
        level, below = levels[height], levels[height - 1].count.size
        for kind in (0, 1):
            of_kind = level.inside[:pairs] == kind
            found = (reached * weight)[:pairs][of_kind].sum() + 1, reached[:pairs][of_kind].sum() + 2
            evenness[height, kind] = np.clip(found[0] / found[1], _SUREST, 1 - _SUREST)
        seen = (reached * (1 - weight))[:pairs] @ guesses[height - 1] + 1 / _SPREADS.size
        spreads[height] = seen / seen.sum()
        (left, right), noise = _halves(ups[height - 1][0]), _halves(ups[height - 1][1])
        part = _halves(levels[height - 1].count)[0] / level.count[:pairs]
        missing = totals[:pairs] - left - right
        left = left + noise[0] / (noise[0] + noise[1]) * missing
        first = part * totals[:pairs] + shrinks[height - 1] * (left - part * totals[:pairs])
        settled = np.repeat(settled + reached * weight * totals / level.count, 2)[:below]
        reached = np.repeat(reached * (1 - weight), 2)[:below]
        halves = np.empty(below)
        halves[: 2 * pairs : 2], halves[1 : 2 * pairs : 2] = first, totals[:pairs] - first
        halves[2 * pairs :] = totals[pairs:]
        totals = halves
    return settled + reached * totals, evenness, spreads


def _halves(values: Floats) -> tuple[Floats, Floats]:
    """Return the first and the second halves of the blocks that have two."""
    pairs = values.size // 2
    return values[: 2 * pairs : 2], values[1 : 2 * pairs : 2]


def _with_last(pairs: Said, below: Said) -> Said:
    """Return what is said of blocks with two halves, and of the last block, which has one, what is said of that."""
    mean, noise, mass = (np.append(new, old[-1:]) for new, old in zip(pairs, below, strict=True))
    return mean, noise, mass


def _product(mean: Floats, noise: Floats, other: Floats, other_noise: float | Floats) -> tuple[Floats, Floats, Floats]:
    """Return the normal density that is the product of two, and the logarithm of its mass."""
    total = noise + other_noise
    return mean + noise / total * (other - mean), noise * other_noise / total, _log_normal(other - mean, total)


def _seen(said: Said, released: Floats, variance: float) -> Said:
    """Return what is known of totals once their own noisy numbers are known as well."""
    mean, noise, mass = _product(said[0], said[1], released, variance)
    return mean, noise, said[2] + mass


def _log_normal(difference: Floats, variance: Floats) -> Floats:
    found: Floats = -0.5 * (np.log(2 * np.pi * variance) + difference**2 / variance)
    return found
