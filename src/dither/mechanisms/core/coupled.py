"""Coupled noise: for each number a chain of levels, coarse to fine, and the finest tells all that the others do."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from dither.noise import Noise

#: Two numbers of noise up to this can be added in 64 bits.
_LARGEST_DRAW = 2**61


def coupled_levels(scales: Sequence[Fraction], size: int, noise: Noise) -> list[NDArray[Any]]:
    """Return an array of noise for each scale, coarse to fine: discrete Laplace noise, coupled entry by entry.

    Each coarser level is the finer one and independent increments (docs/algorithms/noise-reduction.md, step 1).

    Args:
        scales: in decreasing order.
        size: how many chains there are.
        noise: where they are drawn from.

    """
    added: list[NDArray[Any]] = [noise.discrete_laplace(scales[-1], size)]
    for fine, coarse in pairwise(reversed(scales)):
        added.append(_wide(added[-1]) + _wide(noise.coarsening(fine, coarse, size)))
    return added[::-1]


def _wide(drawn: NDArray[Any]) -> NDArray[Any]:
    """Return the noise, as Python integers if a sum of two draws might exceed 64 bits."""
    fits = int(drawn.max(initial=0)) <= _LARGEST_DRAW and int(drawn.min(initial=0)) >= -_LARGEST_DRAW
    return drawn if fits else drawn.astype(object)
