"""Drawn shapes: images about no one, from which a public change of coordinates is made.

Strokes along curves, and rounded patches with stripes, in places and sizes that a public constant decides. They are
about as varied as small pictures of single things are, and cost no data. No guarantee rests on them, only accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.images.constants import constant_numbers
from dither.learn.rows import Floats

#: Numbers that decide one image.
_NUMBERS: Final = 64
_ALONG: Final = np.linspace(0, 1, 24)


@lru_cache(maxsize=4)
def public_shapes(count: int, height: int, width: int) -> NDArray[np.uint8]:
    """Return drawn shapes, by image, row and column: 0 where nothing is.

    Args:
        count: the number of images.
        height: of each.
        width: of each.

    >>> shapes = public_shapes(3, 8, 6)
    >>> shapes.shape, bool((shapes == public_shapes(3, 8, 6)).all()), int(shapes.max()) > 100
    ((3, 8, 6), True, True)

    """
    drawn = constant_numbers(count * _NUMBERS, "dither.learn.images.shapes").reshape(count, _NUMBERS)
    down, across = np.mgrid[0:height, 0:width]
    places = (down + 0.5) / height, (across + 0.5) / width
    fine = float(max(height, width))
    found = np.empty((count, height, width), dtype=np.uint8)
    for number, given in enumerate(drawn):
        draws = iter(given.tolist())
        image = _strokes(draws, places, fine) if next(draws) < 0.6 else _patches(draws, places, fine)
        found[number] = np.rint(255 * np.clip(image, 0, 1))
    found.setflags(write=False)
    return found


def _strokes(draws: Iterator[float], places: tuple[Floats, Floats], fine: float) -> Floats:
    """Return up to three strokes along parabolas, mostly one after the other."""
    take = _taker(draws)
    image, thick = np.zeros(places[0].shape), take(0.03, 0.08)
    start = take(0.15, 0.85), take(0.15, 0.85)
    for _ in range(1 + int(take(0, 3))):
        bend, end = (take(0.1, 0.9), take(0.1, 0.9)), (take(0.1, 0.9), take(0.1, 0.9))
        if take(0, 1) > 0.6:
            start = take(0.15, 0.85), take(0.15, 0.85)
        one, two, three = (1 - _ALONG) ** 2, 2 * _ALONG * (1 - _ALONG), _ALONG**2
        curve = [one * a + two * b + three * c for a, b, c in zip(start, bend, end, strict=True)]
        squares = sum((place[..., None] - line) ** 2 for place, line in zip(places, curve, strict=True))
        far = np.sqrt(np.asarray(squares).min(axis=-1))
        image = np.maximum(image, np.clip((thick - far) * fine / 1.5 + 0.5, 0, 1))
        start = end
    return image


def _patches(draws: Iterator[float], places: tuple[Floats, Floats], fine: float) -> Floats:
    """Return up to three rounded patches, laid over one another or cut out."""
    take = _taker(draws)
    image = np.zeros(places[0].shape)
    for _ in range(1 + int(take(0, 3))):
        middle, half = (take(0.3, 0.7), take(0.3, 0.7)), (take(0.08, 0.45), take(0.08, 0.45))
        turned = take(0, np.pi) if take(0, 1) > 0.5 else 0.0
        down, across = places[0] - middle[0], places[1] - middle[1]
        first = np.abs(down * np.cos(turned) + across * np.sin(turned)) / half[0]
        second = np.abs(across * np.cos(turned) - down * np.sin(turned)) / half[1]
        power = (2, 4, 8)[int(take(0, 3))]
        far = (first**power + second**power) ** (1 / power)
        mask = np.clip((1 - far) * min(half) * fine + 0.5, 0, 1)
        light, depth = take(0.2, 1), take(0, 0.3)
        stripes = take(0, 8) * places[0] + take(0, 8) * places[1] + take(0, 1)
        drawn = light * (1 + depth * np.cos(2 * np.pi * stripes)) if take(0, 1) < 0.7 else 0.0
        image = image * (1 - mask) + mask * drawn
    return image


def _taker(draws: Iterator[float]) -> Callable[[float, float], float]:
    """Return what takes the next number, moved to a range."""
    return lambda least, most: least + (most - least) * next(draws)
