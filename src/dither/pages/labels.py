"""Texts along axes: names of categories that can be read, and numbers in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.pages.frame import Axis, Frame, shortened, width_of, words_at

#: What is left of a long name.
LONGEST: Final = 24
#: How far apart slanted lines of text must be.
LINE: Final = 12.5


def wide_enough(labels: Sequence[str], series: int) -> float:
    """Return a width at which the names of categories stand level, or else one at which bars can be told apart."""
    level = 80 + len(labels) * (8 + max((width_of(shortened(label, LONGEST)) for label in labels), default=0))
    return max(360.0, level) if level <= 640 else min(900.0, max(420.0, 90.0 + len(labels) * max(22.0, 14.0 * series)))


def told_apart(labels: Sequence[str]) -> list[str]:
    """Return names of at most 24 characters: the beginning of a long one, or both ends where beginnings are alike.

    >>> told_apart(["Saint-Étienne-du-Rouvray, cardiology", "Saint-Étienne-du-Rouvray, oncology", "Hafen"])
    ['Saint-Étie… cardiology', 'Saint-Étie…y, oncology', 'Hafen']

    """
    first = [shortened(label, LONGEST) for label in labels]
    alike = {short for short, many in Counter(first).items() if many > 1}
    half = (LONGEST - 1) // 2
    return [
        f"{words[: half - 1].rstrip()}…{words[-half:]}" if short in alike and len(words) > LONGEST else short
        for short, words in zip(first, (" ".join(label.split()) for label in labels), strict=True)
    ]


class Labels:
    """Names of categories below the axis: level where they fit, else slanted, and not more than can be read.

    Args:
        labels: the names.
        room: how wide the area is, from ``left`` on.
        left: how much room there is beside the area already.

    """

    def __init__(self, labels: Sequence[str], room: float, left: float) -> None:
        self._full = told_apart(labels)
        self.slot, self.left = max(room, 1.0) / max(len(labels), 1), left
        widest = max((width_of(label) for label in self._full), default=0.0)
        self._is_level = not labels or widest <= self.slot - 4
        self._every = 1
        self.height = 20.0
        if self._is_level:
            return
        # Slanted by 40 degrees, the first label reaches to the left of the axis.
        self.left = max(left, 10 + 0.77 * width_of(self._full[0]) - self.slot / 2)
        self.slot = max(room + left - self.left, 1.0) / len(labels)
        self._every = max(1, math.ceil(LINE / 0.64 / self.slot))
        self.height = 16 + 0.64 * widest

    def draw(self, frame: Frame) -> None:
        """Write the names below the area."""
        for place in range(0, len(self._full), self._every):
            x = frame.left + self.slot * (place + 0.5)
            label = self._full[place]
            if self._is_level:
                frame.parts.append(words_at(label, x, frame.bottom + 16, text_anchor="middle"))
                continue
            turned = f"rotate(-40 {x + 3:.1f} {frame.bottom + 12:.1f})"
            frame.parts.append(words_at(label, x + 3, frame.bottom + 12, text_anchor="end", transform=turned))


def told(value: float, axis: Axis) -> str:
    """Return a number as it is told in words."""
    if axis.is_share:
        return f"{value:.1%}"
    shown = f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e7 else f"{value:,.4g}"
    return f"\N{MINUS SIGN}{shown[1:]}" if shown.startswith("-") else shown


def same_length(name: str, labels: Sequence[Any], *others: Sequence[Any]) -> None:
    """Refuse sequences that are neither empty nor as long as what they belong to."""
    for other in others:
        if len(other) and len(other) != len(labels):
            raise InvalidParameter(name, len(other), f"as long as what it belongs to, which is {len(labels)}")
