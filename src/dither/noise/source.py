"""``Noise``: every exact sampler, bound to one source of bits.

A primitive is handed a ``Noise`` by the runner and can draw from nothing else. Parameters are public and checked here;
values never come here at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, exact, non_negative, positive, whole
from dither.noise import blocks, cauchy, gaussian, ladders, laplace, polyhedral, running, selection, shaped, spherical
from dither.noise.chances import Chance, RationalChance, exponential, truth
from dither.noise.coins import Bools, Floats, flip
from dither.noise.entropy import Entropy
from dither.noise.laplace import Integers
from dither.noise.tapes import Tapes, fresh_tapes

SMALLEST_SCALE = Fraction(1, 2**40)
LARGEST_SCALE = Fraction(2**1000)


class Noise:
    """Exact samplers over one source of bits."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def discrete_laplace(self, scale: Number, size: int) -> NDArray[Any]:
        """Return integers x with probability proportional to e^(-|x| / scale)."""
        return laplace.discrete_laplace(self._entropy, discrete_scale("scale", scale), _size(size))

    def discrete_gaussian(self, sigma: Number, size: int) -> NDArray[Any]:
        """Return integers x with probability proportional to e^(-x^2 / (2 sigma^2))."""
        return gaussian.discrete_gaussian(self._entropy, discrete_scale("sigma", sigma) ** 2, _size(size))

    def geometric(self, scale: Number, size: int) -> NDArray[Any]:
        """Return integers g >= 0 with probability proportional to e^(-g / scale)."""
        return laplace.geometric(self._entropy, discrete_scale("scale", scale), _size(size))

    def bernoulli(self, p: Number, size: int) -> Bools:
        """Return coins that are heads with the rational probability ``p``."""
        chance = exact("p", p, rule="a number in [0, 1]")
        if not 0 <= chance <= 1:
            raise InvalidParameter("p", p, "a number in [0, 1]")
        return flip(self._entropy, RationalChance(chance), _size(size))

    def flip(self, chance: Chance, size: int) -> Bools:
        """Return coins that are heads with a public probability known to any number of bits."""
        return flip(self._entropy, chance, _size(size))

    def bernoulli_exp(self, gamma: Number, size: int) -> Bools:
        """Return coins that are heads with probability e^-gamma."""
        return flip(self._entropy, exponential(non_negative("gamma", gamma)), _size(size))

    def bernoulli_truth(self, epsilon: Number, size: int, *, others: int) -> Bools:
        """Return coins that are heads with probability 1 / (1 + others * e^-epsilon)."""
        rate, count = non_negative("epsilon", epsilon), whole("others", others, least=1)
        return flip(self._entropy, truth(rate, count), _size(size))

    def uniform_below(self, limit: int, size: int) -> NDArray[Any]:
        """Return uniform integers in [0, limit)."""
        return selection.uniform_below(self._entropy, whole("limit", limit, least=1), _size(size))

    def select(self, scores: ArrayLike, rate: Number, size: int) -> Integers:
        """Return indices i with probability proportional to e^(rate * scores[i])."""
        return selection.select(self._entropy, _scores(scores), non_negative("rate", rate), _size(size))

    def permute_and_flip(self, scores: ArrayLike, rate: Number, size: int) -> Integers:
        """Return winners of permute-and-flip: coin i shows heads with e^(rate * (scores[i] - best)), one heads wins."""
        return selection.permute_and_flip(self._entropy, _scores(scores), non_negative("rate", rate), _size(size))

    def rounded_laplace(
        self, scale: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction]
    ) -> NDArray[Any]:
        """Return floor(offset + Z), Z continuous Laplace of that scale, at least 1."""
        return laplace.rounded_laplace(self._entropy, _steps("scale", scale), offsets, exact_offset)

    def rounded_laplace_on_grid(self, scale: Fraction, size: int) -> NDArray[Any]:
        """Return floor(1/2 + Z), Z continuous Laplace of that scale, at least 1."""
        return laplace.rounded_laplace_on_grid(self._entropy, _steps("scale", scale), _size(size))

    def rounded_gaussian(self, sigma: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction]) -> Integers:
        """Return floor(offset + Z), Z continuous Gaussian of that standard deviation, at least 1."""
        return gaussian.rounded_gaussian(self._entropy, _steps("sigma", sigma) ** 2, offsets, exact_offset)

    def rounded_running_gaussian(self, sigma: Number, ticks: int) -> Integers:
        """Return floor(1/2 + sigma * N_t) for ticks t from 0, N_t the mixture of Gaussian noise of ``running``."""
        count = whole("ticks", ticks, least=1, most=running.MOST_TICKS)
        return running.rounded_running_gaussian(self._entropy, discrete_scale("sigma", sigma), count)

    def tapes(self) -> Tapes:
        """Return words of a new secret that can be read again."""
        return fresh_tapes(self._entropy)

    def rounded_cauchy(
        self, scale: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction], *, power: int
    ) -> Integers:
        """Return floor(offset + scale * Z), Z of density proportional to 1 / (1 + |z|^power), for an even power."""
        degree = whole("power", power, least=2, most=cauchy.LARGEST_POWER)
        if degree % 2:
            raise InvalidParameter("power", power, "an even number")
        return cauchy.rounded_cauchy(self._entropy, degree, _steps("scale", scale), offsets, exact_offset)

    def rounded_spherical(
        self, scale: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction], size: int
    ) -> Integers:
        """Return rows floor(offset + Z), Z of density proportional to e^(-|z| / scale) for the Euclidean length."""
        return spherical.rounded_spherical(self._entropy, _steps("scale", scale), offsets, exact_offset, _size(size))

    def rounded_spherical_rows(
        self, scale: Fraction, offsets: Floats, exact_offset: Callable[[int, int], Fraction]
    ) -> Integers:
        """Return rows floor(offset + Z), each with a vector Z of its own, of the law of ``rounded_spherical``."""
        return spherical.rounded_spherical_rows(self._entropy, _steps("scale", scale), offsets, exact_offset)

    def rounded_cubical(
        self, scale: Fraction, offsets: Floats, exact_offset: Callable[[int], Fraction], size: int
    ) -> Integers:
        """Return rows floor(offset + Z), Z of density proportional to e^(-max |z_i| / scale)."""
        return polyhedral.rounded_cubical(self._entropy, _steps("scale", scale), offsets, exact_offset, _size(size))

    def rounded_conical(
        self,
        scale: Fraction,
        offsets: Floats,
        exact_offset: Callable[[int], Fraction],
        size: int,
        *,
        corners: Integers,
        weights: list[int],
    ) -> Integers:
        """Return rows floor(offset + scale * sum E_j v_j), the corners v from a facet chosen by weight."""
        width = _steps("scale", scale)
        return polyhedral.rounded_conical(self._entropy, width, corners, weights, offsets, exact_offset, _size(size))

    def truncated_laplace(self, scale: Number, bound: int, size: int) -> Integers:
        """Return integers x with |x| at most ``bound`` and probability proportional to e^(-|x| / scale)."""
        limit = whole("bound", bound, most=2**62)
        return shaped.truncated_laplace(self._entropy, discrete_scale("scale", scale), limit, _size(size))

    def staircase(self, epsilon: Number, size: int, *, width: int, period: int) -> NDArray[Any]:
        """Return integers x with probability proportional to e^(-epsilon * floor((|x| + period - width) / period))."""
        rate = 1 / discrete_scale("epsilon", 1 / positive("epsilon", epsilon))
        stair = whole("period", period, least=1, most=2**60)
        flat = whole("width", width, least=1, most=stair)
        return shaped.staircase(self._entropy, rate, flat, stair, _size(size))

    def coarsening(self, fine: Number, coarse: Number, size: int) -> NDArray[Any]:
        """Return the noise that turns discrete Laplace noise of scale ``fine`` into scale ``coarse`` when added."""
        wide, narrow = discrete_scale("coarse", coarse), discrete_scale("fine", fine)
        if narrow > wide:
            raise InvalidParameter("fine", fine, "at most the coarse scale")
        added = self.discrete_laplace(wide, size)
        return np.where(flip(self._entropy, shaped.unchanged(narrow, wide), _size(size)), 0, added)

    def select_block(
        self, scores: ArrayLike, multiplicities: Sequence[int] | Integers, rate: Number, size: int
    ) -> Integers:
        """Return indices i with probability proportional to multiplicities[i] * e^(rate * scores[i])."""
        vector, step = _scores(scores), non_negative("rate", rate)
        counts = _multiplicities(multiplicities)
        if len(counts) != vector.size:
            raise InvalidParameter("multiplicities", f"{len(counts)} numbers", f"one for each of {vector.size} scores")
        return blocks.select_block(self._entropy, vector, counts, step, _size(size))

    def ladder(self, ends: Integers, rate: Number, size: int) -> NDArray[Any]:
        """Return integers around 0, each on rung t with probability proportional to e^(-rate * t).

        Args:
            ends: how far from 0 the rungs reach, at least two: no rung has fewer integers than the one before it, and
                after the last each reaches as much farther as that did.
            rate: how fast rungs lose weight.
            size: how many.

        """
        step = 1 / discrete_scale("rate", 1 / positive("rate", rate))
        return ladders.ladder(self._entropy, ends, step, _size(size))


def _multiplicities(given: Sequence[int] | Integers) -> Sequence[int] | Integers:
    """Return how many members each block has; an array of integers is checked as a whole."""
    if isinstance(given, np.ndarray) and given.dtype == np.int64:
        if given.size:
            whole("multiplicities", int(given.min()), least=1)
        return given
    return [whole("multiplicities", m, least=1, most=blocks.LARGEST_MULTIPLICITY) for m in given]


def discrete_scale(name: str, value: Number) -> Fraction:
    """Return the scale of noise on the integers, or raise InvalidParameter."""
    scale = positive(name, value)
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise InvalidParameter(name, value, "a number between 2^-40 and 2^1000")
    return scale


def _steps(name: str, value: Fraction) -> Fraction:
    if not 1 <= value <= laplace.LARGEST_INT64_SCALE:
        raise InvalidParameter(name, str(value), "between 1 and 2^56 steps of the grid")
    return value


def _size(size: int) -> int:
    return whole("size", size, most=2**40)


def _scores(scores: ArrayLike) -> Integers:
    rule = "a non-empty vector of signed integers"
    array = None
    with suppress(ValueError):
        array = np.asarray(scores)
    # Refused out here, without NumPy's own message, which would describe the scores.
    if array is None:
        raise InvalidParameter("scores", "rows of different lengths", rule)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind != "i":
        raise InvalidParameter("scores", f"{array.dtype} with shape {array.shape}", rule)
    return array.astype(np.int64)
