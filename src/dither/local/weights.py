"""Whole weights for a target: the grid point just below it, and the loss of what is drawn.

What depends on an answer is drawn by integers with the sum 2^bits. A target epsilon is met by the largest weight whose
ratio is at most e^epsilon, and what a report loses is the logarithm of its own ratio, rounded up: never the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Final, TypeVar

from dither.errors import NoGuarantee
from dither.exact import exp_down, log_up
from dither.privacy import Loss, PureDP, laplace_scale

_Shape = TypeVar("_Shape")
_Law = TypeVar("_Law")
#: Losses above this hide nothing worth the name, and weights of 32 bits do not reach them.
MOST_EPSILON: Final = 20


def epsilon_within(within: Loss) -> Fraction:
    """Return the epsilon of a report whose loss is within a target, or raise NoGuarantee above 20."""
    # A report's loss in epsilon is that of Laplace noise of scale 1 / epsilon.
    epsilon = 1 / laplace_scale(within, 1)
    if epsilon > MOST_EPSILON:
        raise NoGuarantee(f"a local report of epsilon {float(epsilon):g} hides nothing: at most {MOST_EPSILON}")
    return epsilon


def loss_of(ratio: Fraction) -> PureDP:
    """Return the logarithm of the worst ratio, rounded up.

    >>> print(loss_of(Fraction(3)))
    epsilon = 1.09862
    """
    return PureDP(log_up(ratio))


def largest_weight(ratio: Callable[[int], Fraction], within: Loss, bits: int) -> int:
    """Return the largest weight below 2^bits whose ratio, which grows with it, loses at most the target.

    A weight whose ratio is 1 is refused: its reports are the same whatever the answer is, and estimate nothing.

    Args:
        ratio: of a weight.
        within: the target.
        bits: of the sum of all weights.

    """
    epsilon = epsilon_within(within)
    growth = exp_down(epsilon)
    low, high = 0, 2**bits
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ratio(middle) <= growth else (low, middle)
    # At the last digit of the bounds on exp and ln both might hold; then the one below does.
    while low and log_up(ratio(low)) > epsilon:
        low -= 1
    if not low or ratio(low) <= 1:
        raise NoGuarantee(f"no weight of {bits} bits reaches epsilon {float(epsilon):.3g} with this many answers")
    return low


def laws_within(shapes: Iterable[_Shape], make: Callable[[_Shape], _Law]) -> list[_Law]:
    """Return the laws of all shapes that have one, or raise the first NoGuarantee if no shape has one."""
    made: list[_Law] = []
    refused: NoGuarantee | None = None
    for shape in shapes:
        try:
            made.append(make(shape))
        except NoGuarantee as failure:
            refused = refused or failure
    if not made and refused is not None:
        raise refused
    return made
