"""Client halves for several attributes of one person: a vector of signs, and one attribute drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

from dither.errors import InvalidParameter
from dither.local.clients.half import Half, between, check_ratio, check_weight
from dither.local.clients.numbers import bit_ratio, check_bit
from dither.noise.client_words import Words

#: All combinations of values are numbered by 62 bits.
MOST_COMBINATIONS: Final = 2**62


@dataclass(frozen=True)
class Signs(Half):
    """Report a sign for each number, all at the price of one bit.

    Each number becomes a sign, + with probability ``value / (places - 1)``. Then the report is a uniform vector among
    those that agree with at least half of these signs, with probability ``agree / 2^bits``, else among those that
    disagree with at least half. Words: the sign of each number, the coin, and the vector; all are always read.

    Args:
        places: how many values each number has.
        agree: the weight of agreement.
        bits: the weights of both sides add up to 2 to this power.

    """

    name: ClassVar[str] = "sign-vector"
    places: tuple[int, ...]
    agree: int
    bits: int = 32

    def check(self) -> None:
        """Refuse no numbers, too many, and a weight that speaks against them."""
        object.__setattr__(self, "places", places_of(self.places))
        check_weight("agree", self.agree, self.bits)
        check_ratio("agree", self.agree, self.ratio)

    @property
    def cells(self) -> int:
        """The number of combinations."""
        return product(self.places)

    @property
    def widths(self) -> tuple[int, ...]:
        """One bit for each number."""
        return (1,) * len(self.places)

    @property
    def ratio(self) -> Fraction:
        """The weight of agreement over that of the other side."""
        return Fraction(self.agree, 2**self.bits - self.agree)

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the vector."""
        values = digits(cell, self.places)
        signs = [int(words.below(places - 1) < value) for value, places in zip(values, self.places, strict=True)]
        agrees = words.heads(self.agree, self.bits)
        drawn = [words.take(1) for _ in signs]
        # Twice the number of agreements, less how many there are: 0 belongs to both sides.
        balance = 2 * sum(a == b for a, b in zip(signs, drawn, strict=True)) - len(signs)
        turned = balance < 0 if agrees else balance > 0
        return tuple(bit ^ turned for bit in drawn)


@dataclass(frozen=True)
class Sampled(Half):
    """Report one attribute, drawn uniformly: a number by one bit, a category by k-ary response.

    Words: which attribute, by rejection; then those of its report.

    Args:
        places: how many values each attribute has.
        weights: of the truth of a category; or of a 1 under the smallest number.
        steps: what each number more adds to it; 0 for categories.
        bits: the weights of each attribute add up to 2 to this power.

    """

    name: ClassVar[str] = "sampled-attribute"
    places: tuple[int, ...]
    weights: tuple[int, ...]
    steps: tuple[int, ...]
    bits: int = 32

    def check(self) -> None:
        """Refuse lists of different lengths, and what the report of an attribute refuses."""
        object.__setattr__(self, "places", places_of(self.places))
        for name in ("weights", "steps"):
            object.__setattr__(self, name, integers(name, getattr(self, name), len(self.places)))
        for places, weight, step in zip(self.places, self.weights, self.steps, strict=True):
            if step:
                check_bit(places, weight, step, self.bits)
            else:
                check_weight("weights", weight, self.bits)
                check_ratio("weights", weight, Fraction(weight * (places - 1), 2**self.bits - weight))

    @property
    def cells(self) -> int:
        """The number of combinations."""
        return product(self.places)

    @property
    def widths(self) -> tuple[int, ...]:
        """Which attribute, and what it said."""
        kinds = zip(self.places, self.steps, strict=True)
        return ((len(self.places) - 1).bit_length(), max(1 if step else (k - 1).bit_length() for k, step in kinds))

    @property
    def ratio(self) -> Fraction:
        """The largest of all attributes: which one was drawn does not depend on the answer."""
        return max(
            bit_ratio(places, weight, step, self.bits)
            if step
            else Fraction(weight * (places - 1), 2**self.bits - weight)
            for places, weight, step in zip(self.places, self.weights, self.steps, strict=True)
        )

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the number of the attribute, and its report."""
        chosen = words.below(len(self.places))
        value, places = digits(cell, self.places)[chosen], self.places[chosen]
        if self.steps[chosen]:
            return chosen, int(words.heads(self.weights[chosen] + self.steps[chosen] * value, self.bits))
        is_true = words.heads(self.weights[chosen], self.bits)
        shift = 1 + words.below(places - 1)
        return chosen, value if is_true else (value + shift) % places


def digits(cell: int, places: tuple[int, ...]) -> tuple[int, ...]:
    """Return the values of a combination, by its number; the first attribute changes fastest.

    >>> digits(7, (3, 4))
    (1, 2)
    """
    found = []
    for count in places:
        cell, value = divmod(cell, count)
        found.append(value)
    return tuple(found)


def product(places: tuple[int, ...]) -> int:
    """Return the number of combinations."""
    count = 1
    for several in places:
        count *= several
    return count


def integers(name: str, given: object, count: int | None = None) -> tuple[int, ...]:
    """Return a list of integers as a tuple, or raise InvalidParameter."""
    rule = "a list of integers" if count is None else f"a list of {count} integers"
    if not isinstance(given, list | tuple) or not all(type(entry) is int and entry >= 0 for entry in given):
        raise InvalidParameter(name, given, rule)
    if count is not None and len(given) != count:
        raise InvalidParameter(name, given, rule)
    return tuple(given)


def places_of(given: object) -> tuple[int, ...]:
    """Return how many values each attribute has, or raise InvalidParameter."""
    places = integers("places", given)
    between("places", len(places), 1, 62)
    for count in places:
        between("places", count, 2, 2**24)
    between("places", product(places), 2, MOST_COMBINATIONS)
    return places
