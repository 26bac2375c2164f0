"""How a loss is divided among what is measured.

By default the expected error, as a share of each column's declared range (one row for a count), is the same for all
columns; or the user says how much of the loss each column gets. Within a column the parts are weighed so that its
error is least: noise of scale Delta / (w epsilon) on a part that weighs c gives the column c Delta / (w epsilon), and
the sum of these is least for w proportional to sqrt(c Delta). For Gaussian noise the squares c^2 Delta^2 / (2 w rho)
add up, and w is proportional to c Delta. A part that several columns use is measured once, with the largest share that
any of them has for it.

Shares are exact rationals that add up to 1: the division is part of the price, the square roots in it are only taste.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.publish.queries.work import step

_STEPS = 2**20


@dataclass(frozen=True)
class Need:
    """What one column needs: parts by number, and for each how much its noise weighs (weight times sensitivity).

    ``repeats`` is how many draws a part consists of, such as the levels of a search.
    """

    column: str
    parts: tuple[int, ...]
    loads: tuple[Fraction, ...]
    repeats: int = 1


def check_shares(shares: Mapping[str, Number] | None, columns: Sequence[str]) -> dict[str, Fraction] | None:
    """Return the user's shares, which must name every column and nothing else, or None."""
    if shares is None:
        return None
    if not isinstance(shares, Mapping) or set(shares) != set(columns):
        raise InvalidParameter("shares", shares, f"a mapping that gives each of {', '.join(columns)} its share")
    return {name: positive(f"share of {name}", share) for name, share in shares.items()}


def divide(
    needs: Sequence[Need], parts: int, *, is_gaussian: bool, shares: Mapping[str, Fraction] | None = None
) -> tuple[Fraction, ...]:
    """Return the share of the loss that each part gets; they add up to 1.

    >>> divide([Need("count", (0,), (Fraction(1),)), Need("sum", (1,), (Fraction(3),))], 2, is_gaussian=False)
    (Fraction(1, 4), Fraction(3, 4))
    """
    wanted = [Fraction(0)] * parts
    for need in needs:
        step(len(need.parts))
        sizes = [load if is_gaussian else _root(load) for load in need.loads]
        together = sum(sizes, Fraction(0))
        # Alone with the whole loss, the column's error (for Gaussian noise its square) would be the square of this.
        due = together * together * need.repeats if shares is None else shares[need.column]
        for part, size in zip(need.parts, sizes, strict=True):
            wanted[part] = max(wanted[part], due * size / together)
    total = sum(wanted, Fraction(0))
    step(parts)
    steps = [max(1, math.floor(share / total * _STEPS)) for share in wanted]
    if steps:
        # What rounding left over goes where it matters least.
        steps[steps.index(max(steps))] += _STEPS - sum(steps)
    return tuple(Fraction(step, _STEPS) for step in steps)


def _root(number: Fraction) -> Fraction:
    """Return about the square root, as a rational of moderate length."""
    shift = max(0, 96 - number.numerator.bit_length() + number.denominator.bit_length())
    shift += shift % 2
    return Fraction(math.isqrt((number.numerator << shift) // number.denominator), 1 << (shift // 2))
