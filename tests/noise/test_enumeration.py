"""Every sampler against its law, by trying all strings of 2-, 3- and 4-bit words.

The laws are written down here once more, in 80-digit decimals and without a line of ``dither.noise``. An outcome's
mass may not exceed its probability, and may fall short of it by the undecided mass at most; nothing is left to chance.
Every comparison is made twice: the same enumeration must refute a law whose parameter is off, by 5 % where it can see
that much.

Long draws are also enumerated in parts, which is sharper: one round of a rejection sampler, or what happens to a given
proposal. The parts are then independent by construction, because each word is handed out once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.noise import Noise, SystemEntropy, gaussian, laplace, selection
from dither.noise.chances import logistic, remainder
from dither.noise.coins import flip
from dither.noise.selection import uniform_ranks
from dither.testing.entropy import ScriptedEntropy, ScriptExhausted, SeededEntropy
from dither.testing.enumeration import Enumeration, enumerate_outcomes

TOLERANCE = Fraction(1, 10**30)
OFF = Fraction(21, 20)
Law = Callable[[Any], Fraction]


# The laws, in decimals of 80 digits.


@contextmanager
def eighty_digits() -> Iterator[None]:
    with localcontext() as context:
        context.prec = 80
        yield


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def exp(x: Fraction) -> Fraction:
    with eighty_digits():
        return Fraction(decimal(x).exp())


def normal_cdf(x: Fraction) -> Fraction:
    """Return the standard normal distribution function by the series x + x^3/3 + x^5/(3*5) + ... of positive terms."""
    with eighty_digits():
        size, term, total, odd = decimal(abs(x)), decimal(abs(x)), Decimal(0), 1
        while term > Decimal("1e-75"):
            total, odd = total + term, odd + 2
            term *= size * size / odd
        above_half = total * (-size * size / 2).exp() / (2 * pi()).sqrt()
        return Fraction(Decimal("0.5") + (above_half if x > 0 else -above_half))


@cache
def pi() -> Decimal:
    """Return pi by Machin's formula."""

    def arctan_of_inverse(n: int) -> Decimal:
        return sum(Decimal((-1) ** k) / ((2 * k + 1) * Decimal(n) ** (2 * k + 1)) for k in range(60))

    with eighty_digits():
        return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))


def geometric_law(scale: Fraction) -> Law:
    q = exp(-1 / scale)
    return lambda g: (1 - q) * exp(-g / scale) if g >= 0 else Fraction(0)


def cut_law(scale: Fraction, limit: int) -> Law:
    total = sum(exp(-number / scale) for number in range(limit))
    return lambda g: exp(-g / scale) / total if 0 <= g < limit else Fraction(0)


def laplace_law(scale: Fraction) -> Law:
    q = exp(-1 / scale)
    return lambda x: (1 - q) / (1 + q) * exp(-abs(x) / scale)


def gaussian_total(sigma: Fraction) -> Fraction:
    reach = math.ceil(20 * sigma) + 1
    return sum(exp(-Fraction(x * x) / (2 * sigma**2)) for x in range(-reach, reach + 1))


def gaussian_law(sigma: Fraction) -> Law:
    total = gaussian_total(sigma)
    return lambda x: exp(-Fraction(x * x) / (2 * sigma**2)) / total


def rounded_laplace_law(scale: Fraction, offset: Fraction) -> Law:
    def cdf(x: Fraction) -> Fraction:
        return exp(x / scale) / 2 if x < 0 else 1 - exp(-x / scale) / 2

    return lambda k: cdf(k + 1 - offset) - cdf(k - offset)


def rounded_gaussian_law(sigma: Fraction, offset: Fraction) -> Law:
    return lambda k: normal_cdf((k + 1 - offset) / sigma) - normal_cdf((k - offset) / sigma)


def selection_law(scores: list[int], rate: Fraction) -> Law:
    weights = [exp(rate * (score - max(scores))) for score in scores]
    return lambda i: weights[i] / sum(weights)


def permute_and_flip_law(scores: list[int], rate: Fraction) -> Law:
    """Walk through every permutation, as the mechanism is defined."""
    heads = [exp(rate * (score - max(scores))) for score in scores]
    law = [Fraction(0)] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        reached = Fraction(1, math.factorial(len(scores)))
        for candidate in order:
            law[candidate] += reached * heads[candidate]
            reached *= 1 - heads[candidate]
    return lambda i: law[i]


def coin_law(p: Fraction) -> Law:
    return lambda heads: p if heads else 1 - p


def independent(law: Law) -> Law:
    return lambda outcomes: math.prod(law(outcome) for outcome in outcomes)


def modulo_law(limit: int) -> Law:
    """Return the law of the usual mistake: as many bits as the limit has, modulo the limit."""
    every = 2 ** limit.bit_length()
    return lambda k: Fraction(len(range(k, every, limit)), every)


def accepted_law(accepted: Fraction) -> Law:
    """Return the law of what becomes of one proposal."""
    return lambda outcome: 1 - accepted if outcome is None else accepted


def carried_law(whole: int, offset: Fraction, part: Callable[[Fraction, Fraction], Fraction]) -> Law:
    """Return the law of floor(offset + Z) given floor(|Z|).

    Args:
        whole: the whole part of |Z|.
        offset: what is added.
        part: the mass of [a, b) in the fractional part of |Z|; what is missing from 1 is rejected.

    """
    law: dict[int | None, Fraction] = {None: 1 - part(Fraction(0), Fraction(1))}
    # The four pieces of the line: Z above or below 0, and offset + Z before or after the next whole number.
    for outcome, low, high in (
        (whole, Fraction(0), 1 - offset),
        (whole + 1, 1 - offset, Fraction(1)),
        (-whole, Fraction(0), offset),
        (-whole - 1, offset, Fraction(1)),
    ):
        law[outcome] = law.get(outcome, Fraction(0)) + part(low, high) / 2
    return lambda outcome: law.get(outcome, Fraction(0))


def laplace_part(scale: Fraction) -> Callable[[Fraction, Fraction], Fraction]:
    return lambda low, high: (exp(-low / scale) - exp(-high / scale)) / (1 - exp(-1 / scale))


def gaussian_part(sigma: Fraction, whole: int) -> Callable[[Fraction, Fraction], Fraction]:
    t = proposal_scale(sigma)
    with eighty_digits():
        constant = Fraction((2 * pi()).sqrt()) * sigma * exp(whole / t - sigma**2 / (2 * t**2))
    return lambda low, high: constant * (normal_cdf((whole + high) / sigma) - normal_cdf((whole + low) / sigma))


def one_round_law(law: Law, accepted: Fraction) -> Law:
    """Return the law of one round of rejection sampling, in which nothing comes out with the rest of the mass."""
    return lambda outcome: 1 - accepted if outcome is None else accepted * law(outcome)


def proposal_scale(sigma: Fraction) -> Fraction:
    return Fraction(max(1, math.ceil(8 * sigma)), 8)


def gaussian_acceptance(sigma: Fraction) -> Fraction:
    t = proposal_scale(sigma)
    q = exp(-1 / t)
    return (1 - q) / (1 + q) * exp(-(sigma**2) / (2 * t**2)) * gaussian_total(sigma)


def rounded_gaussian_acceptance(sigma: Fraction) -> Fraction:
    t = proposal_scale(sigma)
    with eighty_digits():
        half_total = Fraction((pi() / 2).sqrt()) * sigma
    return (1 - exp(-1 / t)) * exp(-(sigma**2) / (2 * t**2)) * half_total


# The samplers, one outcome at a time.


class Rejected(Exception):
    """A round of rejection sampling accepted nothing."""


def only_round(count: int, block: Callable[[int], Any], dtype: Any) -> Any:
    kept = block(count)
    if not kept.size:
        raise Rejected
    return kept


def only_absolute_round(entropy: Any, variance: Fraction, count: int) -> Any:
    kept = gaussian._absolute_block(entropy, variance, count)
    if not kept.whole.size:
        raise Rejected
    return kept


ONE_ROUND: dict[Any, Any] = {
    (gaussian, "_accepted"): only_round,
    (gaussian, "absolute_gaussian"): only_absolute_round,
}


def given(value: int) -> dict[Any, Any]:
    """Return the patches that replace every proposal by ``value``."""

    def constant(entropy: Any, law: Any, count: int) -> Any:
        return np.full(count, value, dtype=np.int64)

    return {
        **ONE_ROUND,
        (laplace, "_geometric_block"): constant,
        (gaussian, "geometric"): constant,
        (gaussian, "discrete_laplace"): constant,
    }


def tail(value: int) -> dict[Any, Any]:
    """Return the patch that makes the coin for what lies above the digits likely enough to matter."""
    return {(laplace, "_TAIL"): value}


def together(tailed: int) -> dict[Any, Any]:
    """Return the patches that draw the lowest digits together although there are few draws, words and digits."""
    return {
        **tail(tailed),
        (laplace, "_FEW_COINS"): 0,
        (laplace, "_FLAT"): Fraction(1),
        (laplace, "_ENOUGH_DIGITS"): 1,
    }


def fraction_words(value: int) -> dict[Any, Any]:
    """Return the patch that begins with fewer words of a fractional part, so that refinements are no longer rare."""
    return {(gaussian, "FRACTION_WORDS"): value}


def prefix_words(value: int) -> dict[Any, Any]:
    """Return the same patch for selections."""
    return {(selection, "_WORDS"): value}


def rounded(method: str, parameter: Fraction, offset: Fraction) -> Callable[[Noise], Any]:
    offsets = np.array([float(offset)])
    return lambda noise: getattr(noise, method)(parameter, offsets, lambda _: offset).item()


@dataclass(frozen=True, kw_only=True)
class Case:
    """A sampler, its law, a wrong law, and how far to enumerate."""

    name: str
    draw: Callable[[Noise], Any]
    law: Callable[[], Law]
    wrong: Callable[[], Law]
    support: tuple[Any, ...]
    word_bits: int
    max_words: int
    undecided: float
    patches: dict[Any, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}, {self.word_bits} bits"


def coins() -> Iterator[Case]:
    third, seventh = Fraction(1, 3), Fraction(1, 7)
    coins: dict[str, tuple[Callable[[Noise], Any], Fraction]] = {
        f"rational {p}": (lambda noise, p=p: noise.bernoulli(p, 1).item(), p)
        for p in (Fraction(0), Fraction(1), Fraction(5, 8), third, Fraction(99, 100), Fraction(1, 10**6))
    }
    for x in (seventh, Fraction(1), Fraction(9, 2), Fraction(1, 2**30)):
        coins[f"exp -{x}"] = (lambda noise, x=x: noise.bernoulli_exp(x, 1).item(), exp(-x))
    for x in (Fraction(0), seventh, Fraction(7, 3), Fraction(1, 2**56)):
        coins[f"logistic {x}"] = (
            lambda noise, x=x: flip(noise._entropy, logistic(x), 1).item(),
            1 / (1 + exp(x)),
        )
    for x, others in ((Fraction(0), 3), (seventh, 1), (Fraction(7, 3), 9), (Fraction(10), 10**6)):
        coins[f"truth {x} among {others}"] = (
            lambda noise, x=x, others=others: noise.bernoulli_truth(x, 1, others=others).item(),
            1 / (1 + others * exp(-x)),
        )
    for x, limit in ((third, Fraction(1)), (Fraction(1, 10), seventh), (Fraction(1, 2**51), Fraction(1, 2**50))):
        coins[f"remainder {x} of {limit}"] = (
            lambda noise, x=x, limit=limit: flip(noise._entropy, remainder(x, limit), 1).item(),
            (exp(-x) - exp(-limit)) / (1 - exp(-limit)),
        )
    for name, (draw, p) in coins.items():
        for bits in (2, 3, 4):
            yield Case(
                name=name,
                draw=draw,
                law=lambda p=p: coin_law(p),
                wrong=lambda p=p: coin_law(p * OFF or Fraction(1, 10**9)),
                support=(True, False),
                word_bits=bits,
                max_words=36 // bits,
                undecided=1e-10,
            )
    yield Case(
        name="two coins at once",
        draw=lambda noise: noise.bernoulli(third, 2),
        law=lambda: independent(coin_law(third)),
        wrong=lambda: independent(coin_law(third * OFF)),
        support=tuple(itertools.product((True, False), repeat=2)),
        word_bits=2,
        max_words=9,
        undecided=1e-3,
    )


def uniforms() -> Iterator[Case]:
    for limit, bits, words in ((1, 2, 0), (3, 2, 6), (5, 3, 5), (16, 4, 1), (7, 2, 6), (11, 3, 4), (100, 4, 4)):
        yield Case(
            name=f"uniform below {limit}",
            draw=lambda noise, limit=limit: noise.uniform_below(limit, 1).item(),
            law=lambda limit=limit: lambda k: Fraction(1, limit) if 0 <= k < limit else Fraction(0),
            wrong=lambda limit=limit: modulo_law(limit if limit & (limit - 1) else limit + 1),
            support=tuple(range(limit)),
            word_bits=bits,
            max_words=words,
            undecided=0.1,
        )
    for count, bits, words in ((1, 2, 3), (3, 2, 9), (5, 3, 7), (7, 4, 5), (12, 2, 8)):
        yield Case(
            name=f"rank below {count}",
            draw=lambda noise, count=count: uniform_ranks(noise._entropy, np.array([count])).item(),
            law=lambda count=count: lambda k: Fraction(1, count) if 0 <= k < count else Fraction(0),
            wrong=lambda count=count: modulo_law(count if count & (count - 1) else count + 1),
            support=tuple(range(count)),
            word_bits=bits,
            max_words=words,
            undecided=1e-3,
        )
    yield Case(
        name="ranks below 2 and 3",
        draw=lambda noise: uniform_ranks(noise._entropy, np.array([2, 3])),
        law=lambda: lambda pair: Fraction(1, 6),
        wrong=lambda: lambda pair: Fraction(1, 7),
        support=tuple(itertools.product(range(2), range(3))),
        word_bits=2,
        max_words=8,
        undecided=0.01,
    )


def whole_laws() -> Iterator[Case]:
    half, reach = Fraction(1, 2), tuple(range(-5, 6))
    # A tail of 14 is that of production, and a scale of 2/7 sits on its edge: four times 2/7 is 14.
    for scale, tailed, bits, words, undecided, off in (
        (Fraction(1), 1, 2, 8, 0.01, OFF),
        (Fraction(7, 3), 1, 2, 8, 0.03, OFF),
        (half, 2, 3, 6, 0.001, OFF),
        (Fraction(2, 7), 14, 4, 4, 0.03, 2),
    ):
        yield Case(
            name=f"geometric {scale} tail {tailed}",
            draw=lambda noise, scale=scale: noise.geometric(scale, 1).item(),
            law=lambda scale=scale: geometric_law(scale),
            wrong=lambda scale=scale, off=off: geometric_law(scale * off),
            support=reach,
            word_bits=bits,
            max_words=words,
            undecided=undecided,
            patches=tail(tailed),
        )
    for scale, places, bits, words, undecided in (
        (Fraction(4), 2, 2, 8, 0.03),
        (Fraction(9, 2), 1, 3, 6, 0.01),
        (Fraction(16), 3, 4, 4, 0.08),
        (Fraction(1000), 3, 2, 8, 0.01),
    ):
        yield Case(
            name=f"{places} lowest digits of {scale} together",
            draw=lambda noise, scale=scale, places=places: laplace._flat_digits(
                noise._entropy, scale, places, 1
            ).item(),
            law=lambda scale=scale, places=places: cut_law(scale, 2**places),
            wrong=lambda places=places: cut_law(Fraction(2), 2**places),
            support=tuple(range(2**places)),
            word_bits=bits,
            max_words=words,
            undecided=undecided,
        )
    yield Case(
        name="the lowest digits of two draws together",
        draw=lambda noise: tuple(laplace._flat_digits(noise._entropy, Fraction(2), 1, 2).tolist()),
        law=lambda: independent(cut_law(Fraction(2), 2)),
        wrong=lambda: independent(cut_law(Fraction(1), 2)),
        support=tuple(itertools.product(range(2), repeat=2)),
        word_bits=2,
        max_words=8,
        undecided=0.15,
    )
    for scale, bits, words, undecided in ((Fraction(7, 3), 2, 7, 0.2), (Fraction(5), 3, 5, 0.4)):
        yield Case(
            name=f"geometric {scale} with its lowest digits together",
            draw=lambda noise, scale=scale: noise.geometric(scale, 1).item(),
            law=lambda scale=scale: geometric_law(scale),
            wrong=lambda scale=scale: geometric_law(scale / 2),
            support=tuple(range(6)),
            word_bits=bits,
            max_words=words,
            undecided=undecided,
            patches=together(1),
        )
    for scale, tailed, bits, words, undecided, off in (
        (Fraction(1), 1, 2, 8, 0.03, OFF),
        (Fraction(7, 3), 1, 2, 8, 0.08, OFF),
        (half, 1, 3, 6, 0.01, OFF),
        (half, 1, 4, 4, 0.02, OFF),
        (Fraction(2, 7), 14, 2, 8, 0.03, 2),
        (Fraction(1, 16), 14, 4, 4, 0.001, 4),
        (Fraction(1, 2**40), 14, 3, 6, 0.001, 2**38),
    ):
        yield Case(
            name=f"Laplace {scale} tail {tailed}",
            draw=lambda noise, scale=scale: noise.discrete_laplace(scale, 1).item(),
            law=lambda scale=scale: laplace_law(scale),
            wrong=lambda scale=scale, off=off: laplace_law(scale * off),
            support=reach,
            word_bits=bits,
            max_words=words,
            undecided=undecided,
            patches=tail(tailed),
        )
    yield Case(
        name="two Laplace at once",
        draw=lambda noise: noise.discrete_laplace(half, 2),
        law=lambda: independent(laplace_law(half)),
        wrong=lambda: independent(laplace_law(half * OFF)),
        support=tuple(itertools.product(range(-3, 4), repeat=2)),
        word_bits=2,
        max_words=8,
        undecided=0.1,
        patches=tail(1),
    )
    for sigma, bits, words, undecided in (
        (half, 2, 8, 0.03),
        (half, 4, 4, 0.1),
        (Fraction(5, 4), 2, 8, 0.09),
        (Fraction(1, 3), 3, 5, 0.05),
    ):
        yield Case(
            name=f"one round of Gaussian {sigma}",
            draw=lambda noise, sigma=sigma: noise.discrete_gaussian(sigma, 1).item(),
            law=lambda sigma=sigma: one_round_law(gaussian_law(sigma), gaussian_acceptance(sigma)),
            wrong=lambda sigma=sigma: one_round_law(gaussian_law(sigma * OFF**2), gaussian_acceptance(sigma)),
            support=(*reach, None),
            word_bits=bits,
            max_words=words,
            undecided=undecided,
            patches=ONE_ROUND | tail(1),
        )
    for sigma, proposed in (
        (Fraction(1, 8), 0),
        (Fraction(1, 8), 1),
        (Fraction(1), 1),
        (Fraction(7, 3), -6),
        (Fraction(10**6), -(10**6)),
        (Fraction(2**50) + Fraction(1, 3), 3 * 2**50 + 1),
        (Fraction(2**100), -(2**62)),
    ):
        t = proposal_scale(sigma)
        accepted = exp(-((abs(proposed) - sigma**2 / t) ** 2) / (2 * sigma**2))
        for bits in (2, 3, 4):
            yield Case(
                name=f"Gaussian {float(sigma):.4g} given {proposed}",
                draw=lambda noise, sigma=sigma: noise.discrete_gaussian(sigma, 1).item(),
                law=lambda accepted=accepted: accepted_law(accepted),
                wrong=lambda accepted=accepted: accepted_law(accepted / OFF),
                support=(proposed, None),
                word_bits=bits,
                max_words=48 // bits,
                undecided=1e-13,
                patches=given(proposed),
            )
    yield Case(
        name="rounds until one accepts",
        draw=lambda noise: gaussian._accepted(1, lambda size: below_three(noise, size), np.int64).item(),
        law=lambda: lambda k: Fraction(1, 3) if k in (0, 1, 2) else Fraction(0),
        wrong=lambda: modulo_law(3),
        support=(0, 1, 2, 3),
        word_bits=2,
        max_words=12,
        undecided=1e-6,
    )


def below_three(noise: Noise, size: int) -> Any:
    drawn = noise._entropy.words(size).astype(np.int64)
    return drawn[drawn < 3]


def rounded_laws() -> Iterator[Case]:
    third, reach = Fraction(1, 3), tuple(range(-5, 6))
    for scale, offset, bits, words, undecided in (
        (Fraction(1), third, 2, 8, 0.04),
        (Fraction(1), Fraction(0), 2, 8, 0.03),
        (Fraction(1), Fraction(1), 2, 7, 0.1),
        (Fraction(3, 2), Fraction(9, 10), 2, 8, 0.1),
    ):
        yield Case(
            name=f"rounded Laplace {scale} at {offset}",
            draw=rounded("rounded_laplace", scale, offset),
            law=lambda scale=scale, offset=offset: rounded_laplace_law(scale, offset),
            wrong=lambda scale=scale, offset=offset: rounded_laplace_law(scale * OFF**2, offset),
            support=reach,
            word_bits=bits,
            max_words=words,
            undecided=undecided,
            patches=tail(1),
        )
    yield Case(
        name="rounded Laplace on the grid",
        draw=lambda noise: noise.rounded_laplace_on_grid(Fraction(1), 1).item(),
        law=lambda: rounded_laplace_law(Fraction(1), Fraction(1, 2)),
        wrong=lambda: rounded_laplace_law(OFF**2, Fraction(1, 2)),
        support=reach,
        word_bits=2,
        max_words=7,
        undecided=0.1,
        patches=tail(1),
    )
    for scale, offset, whole in (
        (Fraction(1), third, 0),
        (Fraction(7, 3), Fraction(9, 10), 2),
        (Fraction(1000), Fraction(1), 17),
        (Fraction(10**15), Fraction(2, 7), 5),
        (Fraction(2**56), Fraction(1, 10**6), 2**57),
    ):
        for bits in (2, 3, 4):
            yield Case(
                name=f"rounded Laplace {scale} at {offset} given {whole}",
                draw=rounded("rounded_laplace", scale, offset),
                law=lambda scale=scale, offset=offset, whole=whole: carried_law(whole, offset, laplace_part(scale)),
                wrong=lambda scale=scale, offset=offset, whole=whole: carried_law(
                    whole, offset * Fraction(19, 20) + Fraction(1, 100), laplace_part(scale)
                ),
                support=(whole, whole + 1, -whole, -whole - 1),
                word_bits=bits,
                max_words=24 // bits,
                undecided=1e-5,
                patches=given(whole),
            )
    yield Case(
        name="one round of rounded Gaussian 1 at 1/3, 1 word at first",
        draw=rounded("rounded_gaussian", Fraction(1), third),
        law=lambda: one_round_law(rounded_gaussian_law(Fraction(1), third), rounded_gaussian_acceptance(Fraction(1))),
        wrong=lambda: one_round_law(rounded_gaussian_law(OFF**2, third), rounded_gaussian_acceptance(Fraction(1))),
        support=(*reach, None),
        word_bits=2,
        max_words=8,
        undecided=0.11,
        patches=ONE_ROUND | tail(1) | fraction_words(1),
    )
    for sigma, offset, whole, bits, words, undecided, fractional in (
        (Fraction(1), third, 0, 2, 8, 0.02, 1),
        (Fraction(1), Fraction(0), 1, 2, 8, 0.02, 1),
        (Fraction(12, 11), Fraction(4, 5), 3, 4, 4, 0.1, 1),
        (Fraction(20, 19), Fraction(1), 2, 3, 5, 0.1, 1),
        (Fraction(1), Fraction(1, 7), 2, 2, 7, 0.1, 2),
        (Fraction(9, 4), Fraction(9, 10), 4, 2, 7, 0.1, 2),
        (Fraction(10**6), Fraction(5, 8), 10**6, 2, 7, 0.1, 3),
        (Fraction(2**56), Fraction(9, 10), 2**57, 2, 7, 0.1, 2),
    ):
        yield Case(
            name=f"rounded Gaussian {sigma} at {offset} given {whole}, {fractional} words at first",
            draw=rounded("rounded_gaussian", sigma, offset),
            law=lambda sigma=sigma, offset=offset, whole=whole: carried_law(whole, offset, gaussian_part(sigma, whole)),
            wrong=lambda sigma=sigma, offset=offset, whole=whole: carried_law(
                whole, abs(offset - Fraction(1, 5)), gaussian_part(sigma * OFF, whole)
            ),
            support=(whole, whole + 1, -whole, -whole - 1, None),
            word_bits=bits,
            max_words=words,
            undecided=undecided,
            patches=given(whole) | fraction_words(fractional),
        )


def selections() -> Iterator[Case]:
    for scores, rate, bits, words, undecided, prefix, wrong in (
        ([0, 1, 3], Fraction(1, 2), 2, 10, 1e-5, 3, ([0, 1, 3], OFF / 2)),
        ([0, 1, 3], Fraction(1, 2), 3, 8, 1e-5, 3, ([0, 1, 3], OFF / 2)),
        ([0, 1, 3], Fraction(1, 2), 4, 5, 1e-5, 3, ([0, 1, 3], OFF / 2)),
        ([0, 1, 3], Fraction(1, 2), 2, 14, 1e-6, 1, ([0, 1, 3], OFF / 2)),
        ([-5, -5, -5], Fraction(7), 2, 8, 1e-3, 3, ([-5, -5, -4], Fraction(1, 20))),
        ([4], Fraction(1), 2, 3, 1e-9, 3, ([4, 0], Fraction(1))),
        ([10**18, -(10**18), 10**18 - 1], Fraction(1, 3), 2, 8, 1e-3, 3, ([1, -99, 0], OFF / 3)),
        ([2, 0, 1, 2, 1], Fraction(0), 3, 6, 1e-3, 3, ([2, 0, 1, 2, 1], Fraction(1, 20))),
        ([0, 1, -7, 2, 2], Fraction(1, 9), 4, 5, 1e-3, 1, ([0, 1, -7, 2, 2], OFF / 9)),
    ):
        yield Case(
            name=f"select from {scores} at {rate}, {prefix} words at first",
            draw=lambda noise, scores=scores, rate=rate: noise.select(scores, rate, 1).item(),
            law=lambda scores=scores, rate=rate: selection_law(scores, rate),
            wrong=lambda wrong=wrong: selection_law(*wrong),
            support=tuple(range(len(scores))),
            word_bits=bits,
            max_words=words,
            undecided=undecided,
            patches=prefix_words(prefix),
        )
    for scores, rate, bits, words, undecided, prefix, wrong in (
        ([0, 1], Fraction(1), 2, 8, 0.01, 3, ([0, 1], OFF)),
        ([0, 1], Fraction(1, 3), 3, 6, 0.01, 1, ([0, 1], OFF**3 / 3)),
        ([0, 1], Fraction(1, 3), 4, 4, 0.02, 1, ([0, 1], OFF**3 / 3)),
        ([3, 3], Fraction(2), 4, 3, 0.01, 1, ([3, 4], Fraction(1, 10))),
        ([1, 2, 0], Fraction(1, 2), 2, 8, 0.1, 1, ([1, 2, 0], OFF**3 / 2)),
    ):
        yield Case(
            name=f"permute and flip {scores} at {rate}, {prefix} words at first",
            draw=lambda noise, scores=scores, rate=rate: noise.permute_and_flip(scores, rate, 1).item(),
            law=lambda scores=scores, rate=rate: permute_and_flip_law(scores, rate),
            wrong=lambda wrong=wrong: permute_and_flip_law(*wrong),
            support=tuple(range(len(scores))),
            word_bits=bits,
            max_words=words,
            undecided=undecided,
            patches=prefix_words(prefix),
        )


# The same chances are asked for again and again; they are pure, and slow to find.
REMEMBERED: dict[Any, Any] = {
    (gaussian, "exponential"): cache(gaussian.exponential),
    (laplace, "exponential"): cache(laplace.exponential),
    (laplace, "remainder"): cache(laplace.remainder),
    (selection, "exponential"): cache(selection.exponential),
}
CASES = [*coins(), *uniforms(), *whole_laws(), *rounded_laws(), *selections()]


@cache
def enumeration(index: int) -> Enumeration:
    case = CASES[index]

    def draw(noise: Noise) -> Any:
        try:
            return case.draw(noise)
        except Rejected:
            return None

    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in (REMEMBERED | case.patches).items():
            patch.setattr(module, name, value)
        laplace._coins.cache_clear()
        try:
            return enumerate_outcomes(draw, word_bits=case.word_bits, max_words=case.max_words)
        finally:
            laplace._coins.cache_clear()


def misfits(found: Enumeration, law: Law, support: Iterable[Any]) -> list[Any]:
    """Return the outcomes whose probability under the law the enumeration refutes."""
    outcomes = {*found.mass, *support}
    return [x for x in outcomes if not found.brackets(x, law(x) - TOLERANCE, law(x) + TOLERANCE)]


every_case = pytest.mark.parametrize("index", range(len(CASES)), ids=[str(case) for case in CASES])


@every_case
def test_law_is_exact(index: int) -> None:
    case, found = CASES[index], enumeration(index)
    assert sum(found.mass.values()) + found.undecided == 1
    assert found.undecided < case.undecided
    assert misfits(found, case.law(), case.support) == []


@every_case
def test_law_with_a_parameter_off_is_refuted(index: int) -> None:
    case = CASES[index]
    assert misfits(enumeration(index), case.wrong(), case.support)


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(12, 11), Fraction(20, 19), Fraction(9, 4)], ids=str)
@pytest.mark.parametrize("whole", [0, 1, 2, 3])
def test_acceptance_is_never_decided_too_early(sigma: Fraction, whole: int) -> None:
    """A proposal whole + U is decided on a prefix of U only if every U that begins so agrees.

    One word of four bits each for U and for the coin; the decisions with no further word are compared with the exact
    acceptance at both ends of U's interval. Near whole = 2 and sigma = 12/11 it falls by more than 1 per unit of U.
    """
    variance, t = sigma**2, proposal_scale(sigma)

    def acceptance(prefix: int) -> Fraction:
        z = whole + Fraction(prefix, 16)
        return exp(-(z * z / (2 * variance) - whole / t + variance / (2 * t * t)))

    ends = [acceptance(prefix) for prefix in range(17)]
    decided = 0
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in (given(whole) | fraction_words(1)).items():
            patch.setattr(module, name, value)
        for prefix, word in itertools.product(range(16), repeat=2):
            try:
                kept = gaussian._absolute_block(ScriptedEntropy([prefix, word], word_bits=4), variance, 1)
            except ScriptExhausted:
                continue
            decided += 1
            if kept.whole.size:
                assert word + 1 <= 16 * ends[prefix + 1]
            else:
                assert word >= 16 * ends[prefix]
    assert decided > 128


class TwoBits(SystemEntropy):
    """The system's words, cut down so far that most draws have to be refined."""

    word_bits = 2

    def words(self, count: int) -> Any:
        return super().words(count) >> 14


@pytest.mark.parametrize("block", [4, 32, 2**15])
def test_refined_fractions_stay_with_their_draws(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws that are not accepted move the others up; a longer prefix must still begin with its own draw's prefix."""
    monkeypatch.setattr(gaussian, "BLOCK", block)
    drawn = gaussian.absolute_gaussian(TwoBits(), Fraction(2), 1000)
    first_bits = 2 * gaussian.FRACTION_WORDS
    assert len(drawn.longer) > 100
    for index, (prefix, bits) in drawn.longer.items():
        assert prefix >> (bits - first_bits) == drawn.prefix[index]
    assert (drawn.prefix < 2**first_bits).all()


def test_laws_above_are_laws() -> None:
    """The truths of this file add up to one, so that a slip in them would not pass unseen."""
    third = Fraction(1, 3)
    for law, reach in (
        (geometric_law(Fraction(7, 3)), 170),
        (laplace_law(Fraction(7, 3)), 170),
        (gaussian_law(Fraction(5, 4)), 16),
        (rounded_laplace_law(Fraction(7, 3), third), 170),
        (rounded_gaussian_law(Fraction(5, 4), third), 16),
    ):
        assert abs(sum(law(x) for x in range(-reach, reach + 1)) - 1) < TOLERANCE
    for part in (laplace_part(third), gaussian_part(Fraction(9, 4), 2)):
        law = carried_law(2, third, part)
        assert abs(sum(law(x) for x in (None, -3, -2, 2, 3)) - 1) < TOLERANCE


def test_words_are_all_used_or_the_draw_is_refused() -> None:
    calls = itertools.count()

    def draw(noise: Noise) -> bool:
        return bool(next(calls)) or noise.bernoulli(Fraction(1, 2), 1).item()

    with pytest.raises(InvalidParameter, match="draw must be a function of the words alone"):
        enumerate_outcomes(draw, word_bits=2, max_words=2)


@pytest.mark.parametrize("words", [[4], [-1], [0.5], ["0"], [[0]], [True]])
def test_script_of_anything_but_words_is_refused(words: list[Any]) -> None:
    with pytest.raises(InvalidParameter, match="words must be a sequence of words of 2 bits"):
        ScriptedEntropy(words, word_bits=2)


def test_script_hands_out_each_word_once_and_then_nothing() -> None:
    entropy = ScriptedEntropy([1, 2, 3, 4, 5], word_bits=3)
    assert [*entropy.words(2), *entropy.words(0), *entropy.words(1)] == [1, 2, 3]
    for _ in range(2):
        with pytest.raises(ScriptExhausted, match="no more words"):
            entropy.words(3)
        assert entropy.missing == 1
    assert entropy.words(2).tolist() == [4, 5]


def test_seed_gives_the_same_noise_again() -> None:
    first, again, other = (Noise(SeededEntropy(seed)).discrete_laplace(10**6, 50).tolist() for seed in (1, 1, 2))
    assert first == again != other
