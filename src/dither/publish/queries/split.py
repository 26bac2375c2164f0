"""How a loss is split among the measured parts.

By default the expected error, as a share of each column's declared range (one row for a count), is the same for all
columns; or the user says how much of the loss each column gets. Within a column the parts are weighed so that its
error is least: noise of scale Delta / (w epsilon) on a part that weighs c gives the column c Delta / (w epsilon), and
the sum of these is least for w proportional to sqrt(c Delta). For Gaussian noise the squares c^2 Delta^2 / (2 w rho)
add up, and w is proportional to c Delta. A part that several columns use is measured once, with the largest share that
any of them has for it.

Where groups are discovered, part of the loss decides which of them are shown. With the share w of it the threshold is
about a / w people, and with what is left the error of the values is about b / (1 - w) rows; their sum is least for
w / (1 - w) = sqrt(a / b). For Gaussian noise both fall with the square root of their share, and w / (1 - w) is
(a / b)^(2/3). So a further column raises the threshold by far less than by what it takes of the loss.

Shares are exact rationals that add up to 1: the division is part of the price, the square roots in it are only taste.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive
from dither.publish.queries.work import step

_STEPS = 2**20


@dataclass(frozen=True)
class Need:
    """What one column needs: parts by number, and the weight of each one's noise (weight times sensitivity).

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


def check_threshold_share(share: Number, name: str = "threshold_share") -> Fraction:
    """Return the threshold's share of the loss, strictly between 0 and 1."""
    found = exact(name, share, rule="a number between 0 and 1")
    if not 0 < found < 1:
        raise InvalidParameter(name, share, "a number between 0 and 1, neither of them")
    return found


def divide(
    needs: Sequence[Need], parts: int, *, is_gaussian: bool, shares: Mapping[str, Fraction] | None = None
) -> tuple[Fraction, ...]:
    """Return each part's share of the loss; the shares add up to 1.

    >>> divide([Need("count", (0,), (Fraction(1),)), Need("sum", (1,), (Fraction(3),))], 2, is_gaussian=False)
    (Fraction(1, 4), Fraction(3, 4))
    """
    wanted = _wanted(needs, parts, is_gaussian, shares)
    total = sum(wanted, Fraction(0))
    step(parts)
    steps = [max(1, math.floor(share / total * _STEPS)) for share in wanted]
    if steps:
        # What rounding left over goes where it matters least.
        steps[steps.index(max(steps))] += _STEPS - sum(steps)
    return tuple(Fraction(step, _STEPS) for step in steps)


def threshold_share(
    threshold: float,
    needs: Sequence[Need],
    parts: int,
    *,
    is_gaussian: bool,
    shares: Mapping[str, Fraction] | None = None,
) -> Fraction:
    """Return the share of the loss for deciding which groups are shown, minimising threshold plus error.

    Args:
        threshold: what it would be with the whole loss; for Gaussian noise times the root of 2 rho.
        needs: of the columns.
        parts: how many there are.
        is_gaussian: whether the loss is a rho.
        shares: of the columns, where the user gives them.

    """
    wanted = _wanted(needs, parts, is_gaussian, shares)
    total = sum(wanted, Fraction(0))
    worst = max(_due(need, is_gaussian) * total / sum(wanted[part] for part in need.parts) for need in needs)
    # The error exceeds this with at most 5 %: three scales of Laplace noise, two of Gaussian noise.
    error = 2 * math.sqrt(worst) if is_gaussian else 3 * float(worst)
    odds = (threshold / error) ** (2 / 3 if is_gaussian else 1 / 2)
    return Fraction(min(_STEPS - 1, max(1, round(odds / (1 + odds) * _STEPS))), _STEPS)


def _wanted(
    needs: Sequence[Need], parts: int, is_gaussian: bool, shares: Mapping[str, Fraction] | None
) -> list[Fraction]:
    """Return each part's wanted share, in any unit."""
    wanted = [Fraction(0)] * parts
    for need in needs:
        step(len(need.parts))
        sizes = _sizes(need, is_gaussian)
        together = sum(sizes, Fraction(0))
        due = _due(need, is_gaussian) if shares is None else shares[need.column]
        for part, size in zip(need.parts, sizes, strict=True):
            wanted[part] = max(wanted[part], due * size / together)
    return wanted


def _due(need: Need, is_gaussian: bool) -> Fraction:
    """Return the error of a column that gets the whole loss; for Gaussian noise its square."""
    together = sum(_sizes(need, is_gaussian), Fraction(0))
    return together * together * need.repeats


def _sizes(need: Need, is_gaussian: bool) -> list[Fraction]:
    return [load if is_gaussian else _root(load) for load in need.loads]


def _root(number: Fraction) -> Fraction:
    """Return an approximate square root, as a rational of moderate length."""
    shift = max(0, 96 - number.numerator.bit_length() + number.denominator.bit_length())
    shift += shift % 2
    return Fraction(math.isqrt((number.numerator << shift) // number.denominator), 1 << (shift // 2))
