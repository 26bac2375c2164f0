"""Perturbed trajectories on a known map: every false point is nearest to the true one.

A stretch of road somebody drove is published with both ends moved a little. The map is public, so each end is moved
back to the nearest crossing, and the stretch between the two crossings is the one that was to be hidden. The defended
release moves the ends so far that any stretch of the whole map could be the one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_numbers
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_SIDE, _MOVED = 10, 0.35


def street_map(side: int) -> NDArray[np.float64]:
    """Return the stretches of a square town, each as two crossings with whole coordinates."""
    here = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=2).reshape(-1, 2)
    stretches = []
    for step in ((0, 1), (1, 0)):
        there = here + np.array(step)
        inside = (there < side).all(axis=1)
        stretches.append(np.stack([here[inside], there[inside]], axis=1))
    return np.concatenate(stretches).astype(np.float64)


def nearest_stretches(streets: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each pair of released ends the stretch whose two ends are nearest to them, in either direction."""
    ways = np.stack([streets, streets[:, ::-1]])
    far = ((ends[:, None, None] - ways[None]) ** 2).sum(axis=(3, 4))
    return np.asarray(far.min(axis=1).argmin(axis=1))


@attack("nearest-edge", source=f"{ADELAIDE}, section 6.1 and figure 6.1", most=2000)
def nearest_edge(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Move the ends of a perturbed stretch of road back to the nearest crossings of the public map."""
    drawn = public_generator()
    streets = street_map(_SIDE)
    driven = drawn.integers(0, len(streets), size=targets)
    true = streets[driven]
    moved = true + drawn.uniform(-_MOVED, _MOVED, size=true.shape)
    # Another stretch of one person moves four coordinates by at most the side of the map, and nobody else's.
    private = noisy_numbers(true, epsilon, moved=4 * (_SIDE - 1))
    shares = [float(np.mean(nearest_stretches(streets, ends) == driven)) for ends in (moved, private)]
    return Outcome(
        attack="nearest-edge",
        measure="share of stretches found",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / len(streets),
        ceiling=ceiling(1 / len(streets), epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's stretch, both ends together",
        words=f"{len(streets)} stretches of road. Ends that are moved by up to {_MOVED:g} of a block are moved back to "
        f"the nearest crossings; with noise for the whole map they are {np.abs(private - true).mean():.0f} blocks off.",
        axes=("east", "north"),
        curves=(
            Curve("true crossings", *_places(true[:60]), joined=False),
            Curve("moved a little", *_places(moved[:60]), joined=False),
        ),
    )


def _places(ends: NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    flat = ends.reshape(-1, 2)
    return tuple(flat[:, 0].tolist()), tuple(flat[:, 1].tolist())
