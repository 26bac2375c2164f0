"""Client halves for numbers on a public grid: one bit, a window of outputs, and a mixture of both."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

from dither.local.clients.half import Half, between, check_ratio, check_weight
from dither.noise.client_words import Words

MOST_PLACES: Final = 2**24
#: Outputs of a window: their squares add up in 64 bits for two billion reports.
MOST_OUTPUTS: Final = 2**20


@dataclass(frozen=True)
class OneBit(Half):
    """Report one bit, which is 1 with probability ``(low + step * cell) / 2^bits``.

    Args:
        places: how many numbers there are.
        low: the weight of a 1 under the smallest.
        step: what each number more adds to it.
        bits: the weights of 1 and 0 add up to 2 to this power.

    """

    name: ClassVar[str] = "one-bit-number"
    places: int
    low: int
    step: int
    bits: int = 32

    def check(self) -> None:
        """Refuse a bit that is certain for some number, or the same for all."""
        check_bit(self.places, self.low, self.step, self.bits)

    @property
    def cells(self) -> int:
        """The number of places."""
        return self.places

    @property
    def widths(self) -> tuple[int, ...]:
        """One bit."""
        return (1,)

    @property
    def ratio(self) -> Fraction:
        """The larger of the ratios of both values under the two ends."""
        return bit_ratio(self.places, self.low, self.step, self.bits)

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the bit."""
        return (int(words.heads(self.low + self.step * cell, self.bits)),)


@dataclass(frozen=True)
class Window(Half):
    """Report an output in the window of the number with probability ``inside / 2^bits``, else one outside of it.

    The window of a number has ``width`` outputs, the first of them ``stride`` times the number; all outputs are in the
    window of one or more numbers. Words: the coin, the place in the window, the place outside; all are always read.

    Args:
        places: how many numbers there are.
        stride: how far the window moves from a number to the next.
        width: of a window.
        inside: the weight of the window.
        bits: the weights of inside and outside add up to 2 to this power.

    """

    name: ClassVar[str] = "window"
    places: int
    stride: int
    width: int
    inside: int
    bits: int = 32

    def check(self) -> None:
        """Refuse windows that are too many, too wide, or less likely than what is outside."""
        check_window(self.places, self.stride, self.width)
        check_weight("inside", self.inside, self.bits)
        check_ratio("inside", self.inside, self.ratio)

    @property
    def outputs(self) -> int:
        """How many outputs there are."""
        return self.stride * (self.places - 1) + self.width

    @property
    def cells(self) -> int:
        """The number of places."""
        return self.places

    @property
    def widths(self) -> tuple[int, ...]:
        """One field: the number of an output."""
        return ((self.outputs - 1).bit_length(),)

    @property
    def ratio(self) -> Fraction:
        """The weight of an output in a window over that of one outside."""
        others = self.outputs - self.width
        return Fraction(self.inside * others, (2**self.bits - self.inside) * self.width)

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the number of an output."""
        is_inside = words.heads(self.inside, self.bits)
        within, beyond = words.below(self.width), words.below(self.outputs - self.width)
        start = self.stride * cell
        return (start + within if is_inside else beyond + self.width * (beyond >= start),)


@dataclass(frozen=True)
class PiecewiseHalf(Window):
    """A window about as wide as is best for a mean."""

    name: ClassVar[str] = "piecewise-number"


@dataclass(frozen=True)
class WaveHalf(Window):
    """A window about as wide as is best for a whole distribution."""

    name: ClassVar[str] = "square-wave"


@dataclass(frozen=True)
class Hybrid(Half):
    """Report by a window with probability ``share / 2^bits``, else one bit; which of them is part of the report.

    Words: which of both, the bit, then those of the window; all are always read.

    Args:
        places: how many numbers there are.
        share: the weight of the window.
        low: as for one bit.
        step: as for one bit.
        stride: as for a window.
        width: as for a window.
        inside: as for a window.
        bits: all weights add up to 2 to this power.

    """

    name: ClassVar[str] = "hybrid-number"
    places: int
    share: int
    low: int
    step: int
    stride: int
    width: int
    inside: int
    bits: int = 32

    def check(self) -> None:
        """Refuse what one of the two parts refuses."""
        check_weight("share", self.share, self.bits)
        _ = self.bit, self.window

    @property
    def bit(self) -> OneBit:
        """The law of one bit."""
        return OneBit(self.places, self.low, self.step, self.bits)

    @property
    def window(self) -> Window:
        """The law of the window."""
        return Window(self.places, self.stride, self.width, self.inside, self.bits)

    @property
    def cells(self) -> int:
        """The number of places."""
        return self.places

    @property
    def widths(self) -> tuple[int, ...]:
        """Whether the window was used, and what it or the bit said."""
        return (1, *self.window.widths)

    @property
    def ratio(self) -> Fraction:
        """The larger of both: which part was used does not depend on the number."""
        return max(self.bit.ratio, self.window.ratio)

    def draw(self, cell: int, words: Words) -> tuple[int, ...]:
        """Return the choice and the report of the chosen part."""
        is_window = words.heads(self.share, self.bits)
        bit, output = self.bit.draw(cell, words), self.window.draw(cell, words)
        return (1, *output) if is_window else (0, *bit)


def check_bit(places: int, low: int, step: int, bits: int) -> None:
    """Raise InvalidParameter unless a bit can show 0 and 1 under each number, and differs between them."""
    between("places", places, 2, MOST_PLACES)
    check_weight("low", low, bits)
    between("step", step, 1, 2**bits)
    between("step", low + step * (places - 1), 1, 2**bits - 1)


def bit_ratio(places: int, low: int, step: int, bits: int) -> Fraction:
    """Return the worst ratio of one bit whose weight grows by steps from ``low``."""
    top = low + step * (places - 1)
    return max(Fraction(top, low), Fraction(2**bits - low, 2**bits - top))


def check_window(places: int, stride: int, width: int) -> None:
    """Raise InvalidParameter unless the outputs are few enough, and each is in a window."""
    between("places", places, 2, MOST_OUTPUTS)
    between("stride", stride, 1, MOST_OUTPUTS)
    between("width", width, stride, MOST_OUTPUTS)
    between("width", stride * (places - 1) + width, 2, MOST_OUTPUTS)
