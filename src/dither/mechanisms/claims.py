"""What a released number claims, in three sentences: for pages, cards and the demonstration, which all use these.

The first says what an interval holds, the second what no interval covers, and the third what the privacy loss bounds.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, NamedTuple

USUAL: Final = Fraction(19, 20)


class Claims(NamedTuple):
    """The three sentences.

    Args:
        interval: what an interval holds, and how often.
        not_covered: what no interval covers.
        privacy: what the privacy loss bounds.

    """

    interval: str
    not_covered: str
    privacy: str


def claims(confidence: Fraction = USUAL, *, is_simultaneous: bool = False) -> Claims:
    """Return what released numbers claim.

    Args:
        confidence: of their intervals.
        is_simultaneous: whether all intervals of an answer hold together.

    >>> claims().interval
    'In 95 % of releases an interval holds the exact number that the declared limits and ranges leave.'

    """
    together = ", and all intervals of an answer hold together" if is_simultaneous else ""
    share = f"{float(confidence) * 100:g} %"
    return Claims(
        f"In {share} of releases an interval holds the exact number that the declared limits and ranges leave"
        f"{together}.",
        "It covers the noise alone: not what limits and ranges cut off, nor the sampling of people from a population.",
        "The privacy loss bounds what all answers reveal about one protected unit, even if all other rows are known.",
    )
