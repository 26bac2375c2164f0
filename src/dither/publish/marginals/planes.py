"""Finite planes: points and lines such that every two points lie on exactly one line. Made without data.

The affine plane of order q has q^2 points and q^2 + q lines of q points; the projective one has q^2 + q + 1 points, and
as many lines of q + 1 points. They exist for every prime power q, by the arithmetic of the field of q elements.
"""

from __future__ import annotations

from itertools import product
from typing import Final

Lines = tuple[tuple[int, ...], ...]

#: For each order the prime, and the coefficients of a polynomial x^n = ... that is irreducible over that prime.
_FIELDS: Final[dict[int, tuple[int, tuple[int, ...]]]] = {
    2: (2, (0,)),
    3: (3, (0,)),
    4: (2, (1, 1)),  # x^2 = x + 1
    5: (5, (0,)),
    7: (7, (0,)),
    8: (2, (1, 1, 0)),  # x^3 = x + 1
    9: (3, (2, 0)),  # x^2 = 2
    11: (11, (0,)),
    13: (13, (0,)),
    16: (2, (1, 1, 0, 0)),  # x^4 = x + 1
}
ORDERS: Final = tuple(_FIELDS)


def affine_plane(order: int) -> Lines:
    """Return the lines of the affine plane of a prime power, as tuples of points from 0 to order^2 - 1.

    >>> affine_plane(2)
    ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))
    """
    elements = range(order)
    upright = [tuple(x * order + y for y in elements) for x in elements]
    sloped = [
        tuple(sorted(x * order + _sum(order, _product(order, slope, x), start) for x in elements))
        for slope, start in product(elements, elements)
    ]
    return (*upright, *sloped)


def projective_plane(order: int) -> Lines:
    """Return the lines of the projective plane: the affine ones, each with the point of its direction, and one more.

    >>> projective_plane(2)[-1], len(projective_plane(2))
    ((4, 5, 6), 7)
    """
    lines = affine_plane(order)
    # Lines that never meet have one direction; they follow each other.
    directed = [(*line, order * order + place // order) for place, line in enumerate(lines)]
    return (*directed, tuple(order * order + direction for direction in range(order + 1)))


def _digits(order: int, element: int) -> list[int]:
    prime, rule = _FIELDS[order]
    return [element // prime**place % prime for place in range(len(rule))]


def _element(order: int, digits: list[int]) -> int:
    prime = _FIELDS[order][0]
    return sum(digit % prime * prime**place for place, digit in enumerate(digits))


def _sum(order: int, first: int, second: int) -> int:
    return _element(order, [a + b for a, b in zip(_digits(order, first), _digits(order, second), strict=True)])


def _product(order: int, first: int, second: int) -> int:
    """Return the product of two elements, which are polynomials: by Horner, each x^n replaced by the field's rule."""
    rule = _FIELDS[order][1]
    if len(rule) == 1:
        return first * second % order
    found = [0] * len(rule)
    for digit in reversed(_digits(order, second)):
        carry = found[-1]
        found = [0, *found[:-1]]
        found = [a + carry * b for a, b in zip(found, rule, strict=True)]
        found = [a + digit * b for a, b in zip(found, _digits(order, first), strict=True)]
    return _element(order, found)
