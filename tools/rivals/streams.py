"""Sums so far beside OpenDP, TensorFlow Privacy and jax-privacy: the same loss, errors over all ticks.

Ours come tick by tick, before the later ticks are known, and their errors follow from closed forms. OpenDP's tree is
released as a whole, when the last tick is over, and then made consistent: its errors are measured. TensorFlow Privacy
has trees that are told tick by tick, of which we measure the largest standard error; that of jax-privacy's buffers
follows from its own closed forms, and finding them takes it a minute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dither.mechanisms import BufferedCounter, TreeCounter
from dither.privacy import ZCDP, PureDP
from tools.rivals.environments import ask_rival, environment

_EPSILON: Final = "1"
_LENGTHS: Final = (2**8, 2**10, 2**12)
_REPEATS: Final = 100
_LONG: Final = 2**16


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


def factored(folder: Path | None) -> list[str]:
    """Return the largest standard errors at rho 1/2 beside TensorFlow Privacy's trees and jax-privacy's buffers."""
    if folder is None:
        return []
    found = ["largest standard error, rho 1/2: ticks | buffers, even columns | rival | its error | rival / dither"]
    theirs: list[tuple[int, str, float]] = []
    trees = environment(folder / "tensorflow", modules="tensorflow", packages=["tensorflow-cpu", "tensorflow-privacy"])
    if trees is not None:
        asked = ",".join(map(str, _LENGTHS))
        for ticks, errors in ask_rival(trees, "tensorflow_streams.py", asked, "2000", seconds=1800).items():
            theirs += [(int(ticks), f"TensorFlow Privacy, {name} tree", error) for name, error in errors.items()]
    buffers = environment(folder / "jax", modules="jax_privacy", packages=["jax-privacy"])
    if buffers is not None:
        for ticks, figures in ask_rival(buffers, "jax_streams.py", str(_LONG), seconds=1800).items():
            name = f"jax-privacy, {figures['number']} buffers in {figures['seconds']:.0f} s"
            theirs += [
                (int(ticks), "jax-privacy, square root", figures["root"]),
                (int(ticks), name, figures["buffers"]),
            ]
    for ticks, name, error in theirs:
        ours = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=ticks, even=True).largest_standard_error
        found.append(f"{ticks:,} | {ours:.3f} | {name} | {error:.3f} | {error / ours:.2f}")
    return found


def lines(folder: Path | None) -> list[str]:
    """Return the figures for people, one length a line."""
    found = [f"sums so far, epsilon {_EPSILON}: ticks | tree with subtraction | OpenDP, b-ary tree | rival / dither"]
    for row in measure_rivals(folder):
        found.append(f"{row.ticks:,} | {row.error:.2f} | {row.rival_error:.2f} | {row.rival_error / row.error:.2f}")
    found += factored(folder)
    return found if len(found) > 1 else ["sums so far beside others: no rival can be installed here"]
