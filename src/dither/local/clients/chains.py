"""Client halves for many rounds: a permanent response that is drawn once, and a fresh report of it in every round.

The permanent response to a value is drawn when the value first occurs, and stored; each round's report is drawn from
it. So any number of rounds about one value loses no more than the permanent response did (``lasting_ratio``), and one
round loses less (``ratio``). If a value changes and its reports come from another permanent response, then the reports
show when: which stored response a round uses is read from the value, and that is a loss in every round
(``ratio_of_changes``).
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from dither.errors import InvalidParameter
from dither.local.clients.half import Half, between, check_ratio, check_weight
from dither.noise.client_words import Words


@dataclass(frozen=True)
class Chain(Half):
    """A law of reports in rounds: what a device draws once, what it draws for a value, and what for a round."""

    @property
    @abstractmethod
    def lasting_ratio(self) -> Fraction:
        """The worst ratio of all reports there can ever be about one value, against those about another."""

    @abstractmethod
    def ratio_of(self, rounds: int) -> Fraction:
        """Return the worst ratio of the reports of a number of rounds about one value, together."""

    @property
    @abstractmethod
    def shown_ratio(self) -> Fraction:
        """The worst ratio of the report of a round, under one permanent response against another."""

    @property
    def ratio(self) -> Fraction:
        """The worst ratio of one report."""
        return self.ratio_of(1)

    @property
    def worst_ratio(self) -> Fraction:
        """That of all reports from one permanent response."""
        return self.lasting_ratio

    def ratio_of_changes(self, rounds: int) -> Fraction:
        """Return a bound on the ratio of the reports of some rounds, under any two histories of values.

        The first report is that of one round. Whatever the reports so far say about permanent responses, the next one
        is drawn from one of them.
        """
        between("rounds", rounds, 1, 10**6)
        return self.ratio * self.shown_ratio ** (rounds - 1)

    def start(self, words: Words) -> tuple[int, ...]:
        """Return what a device draws once, without its values, and sends with every report."""
        return ()

    @abstractmethod
    def permanent(self, cell: int, own: tuple[int, ...], words: Words) -> int:
        """Return the permanent response to a value, which is secret."""

    @abstractmethod
    def instant(self, state: int, own: tuple[int, ...], words: Words) -> tuple[int, ...]:
        """Return the report of one round, from the permanent response."""

    def memo(self, cell: int, own: tuple[int, ...]) -> int:
        """Return what the permanent response to a value is stored under: values with the same share one."""
        return cell

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the report of a device in its first round."""
        own = self.start(words)
        return self.instant(self.permanent(cell, own, words), own, words)

    def check_chain(self, hold: int, bits: int) -> None:
        """Refuse a permanent response that is certain."""
        check_weight("hold", hold, bits)
        check_ratio("hold", hold, self.lasting_ratio)


@dataclass(frozen=True)
class KaryChain(Chain):
    """K-ary response to the value, stored; and in every round k-ary response to that.

    Words: coin and shift of the permanent response, then coin and shift of the round.

    Args:
        categories: how many cells there are.
        hold: the weight with which the permanent response is the truth.
        show: the weight with which a report is the permanent response.
        bits: the weights of each add up to 2 to this power.

    """

    name: ClassVar[str] = "memoised-kary"
    categories: int
    hold: int
    show: int
    bits: int = 32

    def check(self) -> None:
        """Refuse weights of 0, and responses that speak against the value."""
        between("categories", self.categories, 2, 2**31)
        self.check_chain(self.hold, self.bits)
        check_weight("show", self.show, self.bits)
        check_ratio("show", self.show, kary_ratio(self.show, self.bits, self.categories))

    @property
    def cells(self) -> int:
        """The number of categories."""
        return self.categories

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of a cell."""
        return ((self.categories - 1).bit_length(),)

    @property
    def lasting_ratio(self) -> Fraction:
        """That of the permanent response."""
        return kary_ratio(self.hold, self.bits, self.categories)

    @property
    def shown_ratio(self) -> Fraction:
        """That of the response to the permanent one."""
        return kary_ratio(self.show, self.bits, self.categories)

    def ratio_of(self, rounds: int) -> Fraction:
        """Return that of reports which all name the value: nothing speaks more for it."""
        return kary_rounds(self.hold, self.show, self.bits, self.categories, rounds)

    def permanent(self, cell: int, own: tuple[int, ...], words: Words) -> int:
        """Return a cell."""
        return kary(cell, self.hold, self.bits, self.categories, words)

    def instant(self, state: int, own: tuple[int, ...], words: Words) -> tuple[int, ...]:
        """Return a cell."""
        return (kary(state, self.show, self.bits, self.categories, words),)


@dataclass(frozen=True)
class HashedChain(Chain):
    """A chain on one of few groups of values, by a hash function of the device (LOLOHA).

    The function is ``((a x + b) mod 2^width) >> (width - group_bits)``, as for local hashing. All values in one group
    share one permanent response, so that there are no more of them than groups.

    Words: a and b, once; then as for the k-ary chain.

    Args:
        categories: how many cells there are.
        group_bits: the logarithm of the number of groups.
        hold: the weight with which the permanent response is the true group.
        show: the weight with which a report is the permanent response.
        bits: the weights of each add up to 2 to this power.
        width: of a and b.

    """

    name: ClassVar[str] = "memoised-hashing"
    categories: int
    group_bits: int
    hold: int
    show: int
    bits: int = 32
    width: int = 32

    def check(self) -> None:
        """Refuse a domain in which cells collide too often, and weights as the k-ary chain does."""
        between("group_bits", self.group_bits, 1, 16)
        between("width", self.width, self.group_bits + 1, 62)
        between("categories", self.categories, 2, 2 ** (self.width - self.group_bits))
        self.check_chain(self.hold, self.bits)
        check_weight("show", self.show, self.bits)
        check_ratio("show", self.show, kary_ratio(self.show, self.bits, self.groups))

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return 1 << self.group_bits

    @property
    def cells(self) -> int:
        """The number of categories."""
        return self.categories

    @property
    def widths(self) -> tuple[int, ...]:
        """The function by a and b, and a group."""
        return self.width, self.width, self.group_bits

    @property
    def lasting_ratio(self) -> Fraction:
        """That of the permanent response to one group."""
        return kary_ratio(self.hold, self.bits, self.groups)

    @property
    def shown_ratio(self) -> Fraction:
        """That of the response to the permanent one."""
        return kary_ratio(self.show, self.bits, self.groups)

    def ratio_of(self, rounds: int) -> Fraction:
        """Return that of a k-ary chain over groups."""
        return kary_rounds(self.hold, self.show, self.bits, self.groups, rounds)

    def start(self, words: Words) -> tuple[int, ...]:
        """Return the hash function."""
        return words.take(self.width), words.take(self.width)

    def memo(self, cell: int, own: tuple[int, ...]) -> int:
        """Return the group."""
        modulus: int = 2**self.width
        return ((own[0] * cell + own[1]) % modulus) >> (self.width - self.group_bits)

    def permanent(self, cell: int, own: tuple[int, ...], words: Words) -> int:
        """Return a group."""
        return kary(self.memo(cell, own), self.hold, self.bits, self.groups, words)

    def instant(self, state: int, own: tuple[int, ...], words: Words) -> tuple[int, ...]:
        """Return the function and a group."""
        return (*own, kary(state, self.show, self.bits, self.groups, words))


@dataclass(frozen=True)
class Rappor(Chain):
    """A Bloom filter of the value, whose bits are stored with noise, and shown with two probabilities in every round.

    Each device draws a cohort, whose hash functions it uses. A bit of the filter is stored as it is with probability
    ``hold / 2^bits``, else turned. In a round a stored 1 shows as 1 with ``one / 2^bits``, and a stored 0 with
    ``zero / 2^bits``. One hash function in one cohort, over as many bits as there are cells (``hashes = 0``), is unary
    response.

    Words: the cohort, once; a coin for every bit, once for each value; a coin for every bit in every round.

    Args:
        categories: how many cells there are.
        cohorts: how many families of hash functions.
        filter_bits: the length of a filter.
        hashes: how many bits of a filter a value sets, at most; 0 for the bit with the number of the cell.
        hold: the weight with which a stored bit is the filter's.
        zero: the weight with which a stored 0 shows as 1.
        one: the weight with which a stored 1 shows as 1.
        bits: the weights of each add up to 2 to this power.

    """

    name: ClassVar[str] = "rappor"
    categories: int
    cohorts: int
    filter_bits: int
    hashes: int
    hold: int
    zero: int
    one: int
    bits: int = 32

    def check(self) -> None:
        """Refuse filters that are too long, and weights that are certain or speak against a bit."""
        between("categories", self.categories, 2, 2**40)
        between("cohorts", self.cohorts, 1, 2**16)
        between("filter_bits", self.filter_bits, 2, 2**12)
        between("hashes", self.hashes, 0, min(16, self.filter_bits))
        if not self.hashes and (self.filter_bits != self.categories or self.cohorts != 1):
            raise InvalidParameter("hashes", 0, "at least 1, unless filter_bits is categories and there is one cohort")
        self.check_chain(self.hold, self.bits)
        check_weight("zero", self.zero, self.bits)
        check_weight("one", self.one, self.bits)
        if self.one <= self.zero:
            raise InvalidParameter("one", self.one, "above zero: a stored 1 shows as 1 more often than a stored 0")

    @property
    def cells(self) -> int:
        """The number of categories."""
        return self.categories

    @property
    def widths(self) -> tuple[int, ...]:
        """The cohort, and the bits."""
        return ((self.cohorts - 1).bit_length(), *(1,) * self.filter_bits)

    @property
    def changed(self) -> int:
        """How many bits of a filter a value sets, at most; filters of two values differ in twice this many, at most."""
        return self.hashes or 1

    @property
    def lasting_ratio(self) -> Fraction:
        """All bits in which two filters can differ, each with the ratio of a bit that is stored as it is."""
        return Fraction(self.hold, 2**self.bits - self.hold) ** min(2 * self.changed, self.filter_bits)

    @property
    def shown_ratio(self) -> Fraction:
        """That of all bits: two permanent responses may differ in each, also where filters agree."""
        up, down = Fraction(self.one, self.zero), Fraction(2**self.bits - self.zero, 2**self.bits - self.one)
        return max(up, down) ** self.filter_bits

    def ratio_of(self, rounds: int) -> Fraction:
        """Return that of the bits that one filter has alone, all shown as 1, and those of the other, all shown as 0."""
        between("rounds", rounds, 1, 10**6)
        kept, turned = self.hold, 2**self.bits - self.hold
        ratio = Fraction(1)
        for own, other in ((self.one, self.zero), (2**self.bits - self.zero, 2**self.bits - self.one)):
            likely, rare = own**rounds, other**rounds
            ratio *= Fraction(kept * likely + turned * rare, turned * likely + kept * rare)
        return ratio**self.changed

    def start(self, words: Words) -> tuple[int, ...]:
        """Return the cohort."""
        return (words.below(self.cohorts),)

    def filter(self, cell: int, cohort: int) -> int:
        """Return the Bloom filter of a value, the highest bit first."""
        return filter_of(cell, cohort, self.filter_bits, self.hashes)

    def permanent(self, cell: int, own: tuple[int, ...], words: Words) -> int:
        """Return the stored bits."""
        true, stored = self.filter(cell, own[0]), 0
        for place in range(self.filter_bits):
            kept = words.heads(self.hold, self.bits)
            stored = stored << 1 | (true >> (self.filter_bits - 1 - place) & 1) ^ (not kept)
        return stored

    def instant(self, state: int, own: tuple[int, ...], words: Words) -> tuple[int, ...]:
        """Return the cohort and the bits of this round."""
        shown = []
        for place in range(self.filter_bits):
            drawn = words.take(self.bits)
            weight = self.one if state >> (self.filter_bits - 1 - place) & 1 else self.zero
            shown.append(int(drawn < weight))
        return (*own, *shown)


def kary(cell: int, truth: int, bits: int, categories: int, words: Words) -> int:
    """Return a cell by k-ary response."""
    is_true = words.heads(truth, bits)
    shift = 1 + words.below(categories - 1)
    return cell if is_true else (cell + shift) % categories


def kary_ratio(truth: int, bits: int, categories: int) -> Fraction:
    """Return the weight of the truth over that of one other cell."""
    return Fraction(truth * (categories - 1), 2**bits - truth)


def kary_rounds(hold: int, show: int, bits: int, categories: int, rounds: int) -> Fraction:
    """Return the worst ratio of the reports of some rounds together, in a chain of two k-ary responses."""
    between("rounds", rounds, 1, 10**6)
    others = categories - 1
    gain = Fraction(show * others, 2**bits - show) ** rounds
    kept, strayed = Fraction(hold, 2**bits), Fraction(2**bits - hold, 2**bits * others)
    return (kept * gain + strayed * others) / (strayed * gain + kept + strayed * (others - 1))


@lru_cache(maxsize=2**16)
def filter_of(cell: int, cohort: int, length: int, hashes: int) -> int:
    """Return the bits that a value sets in the filter of a cohort, the highest bit first.

    >>> filter_of(2, 0, 5, 0)
    4
    """
    if not hashes:
        return 1 << (length - 1 - cell)
    found = 0
    for number in range(hashes):
        text = f"dither filter {cohort} {number} {cell}".encode()
        place = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") % length
        found |= 1 << (length - 1 - place)
    return found
