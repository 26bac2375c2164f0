"""Sums so far beside OpenDP's b-ary tree: the same epsilon, the root of the mean square error over all ticks.

Ours come tick by tick, before the later ticks are known, and their errors follow from closed forms. OpenDP's tree is
released as a whole, when the last tick is over, and then made consistent: its errors are measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dither.mechanisms import TreeCounter
from dither.privacy import PureDP
from tools.rivals.environments import ask_rival, environment

_EPSILON: Final = "1"
_LENGTHS: Final = (2**8, 2**10, 2**12)
_REPEATS: Final = 100


@dataclass(frozen=True)
class StreamFigures:
    """One length: the root of the mean square error over all ticks, ours and the rival's."""

    ticks: int
    error: float
    rival_error: float


def beside_opendp(theirs: Mapping[str, Any]) -> list[StreamFigures]:
    """Return the errors beside those that OpenDP's tree was found to have, by numbers of ticks."""
    found = []
    for words, squares in theirs.items():
        ticks = int(words)
        counter = TreeCounter.calibrated(PureDP(_EPSILON), sensitivity=1, steps=ticks)
        mean = math.fsum(counter.standard_error(tick) ** 2 for tick in range(ticks)) / ticks
        found.append(StreamFigures(ticks, math.sqrt(mean), math.sqrt(squares["mean"])))
    return found


def measure_rivals(
    folder: Path | None, *, lengths: Sequence[int] = _LENGTHS, repeats: int = _REPEATS
) -> list[StreamFigures]:
    """Return the figures beside the rival, if it can be installed below a folder; none without one."""
    opendp = (
        None
        if folder is None
        else environment(folder / "opendp", modules="opendp, numpy", packages=["opendp", "numpy"])
    )
    if opendp is None:
        return []
    asked = ",".join(map(str, lengths))
    return beside_opendp(ask_rival(opendp, "opendp_streams.py", asked, _EPSILON, str(repeats), seconds=1800))


def lines(folder: Path | None) -> list[str]:
    """Return the figures for people, one length a line."""
    found = [f"sums so far, epsilon {_EPSILON}: ticks | tree with subtraction | OpenDP, b-ary tree | rival / dither"]
    for row in measure_rivals(folder):
        found.append(f"{row.ticks:,} | {row.error:.2f} | {row.rival_error:.2f} | {row.rival_error / row.error:.2f}")
    return found if len(found) > 1 else ["sums so far beside others: no rival can be installed here"]
