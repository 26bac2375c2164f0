"""Entropy and exact samplers: the only room that draws privacy noise.

Belongs here: laws on integers and on public grids, coins, selection, and the system's random bits. Does not belong
here: values, sensitivities, guarantees. Every law is exact: vectorised code decides almost always with 16 bits a coin,
and draws more bits where that is not enough.

The functions below draw from the operating system's generator. There is no seed; scripted bits for tests and
experiments are in ``dither.testing``.

>>> discrete_laplace(scale=10, size=5).shape
(5,)
>>> discrete_gaussian(sigma="7/3", size=4).dtype
dtype('int64')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dither.exact import Number
    from dither.noise.coins import Bools
    from dither.noise.entropy import Entropy, SystemEntropy
    from dither.noise.laplace import Integers
    from dither.noise.source import Noise

__all__ = [
    "Entropy",
    "Noise",
    "SystemEntropy",
    "bernoulli",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "geometric",
    "select",
    "system_noise",
    "uniform_below",
]


#: Loaded when they are first used: a client of a survey reads ``noise.client_words`` alone, without NumPy.
_LAZY = {"Entropy": "entropy", "Noise": "source", "SystemEntropy": "entropy"}


def __getattr__(name: str) -> Any:
    """Return a class, importing it when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"dither.noise.{_LAZY[name]}"), name)
    globals()[name] = found
    return found


def system_noise() -> Noise:
    """Return the samplers over the operating system's generator."""
    from dither.noise.entropy import SystemEntropy
    from dither.noise.source import Noise

    return Noise(SystemEntropy())


def discrete_laplace(scale: Number, size: int) -> NDArray[Any]:
    """Return ``size`` integers x with probability proportional to e^(-|x| / scale).

    int64 for scales from 2^-40 to 2^56, Python integers above.
    """
    return system_noise().discrete_laplace(scale, size)


def discrete_gaussian(sigma: Number, size: int) -> NDArray[Any]:
    """Return ``size`` integers x with probability proportional to e^(-x^2 / (2 sigma^2)).

    int64 for sigmas from 2^-40 to 2^56, Python integers above.
    """
    return system_noise().discrete_gaussian(sigma, size)


def geometric(scale: Number, size: int) -> NDArray[Any]:
    """Return ``size`` integers g >= 0 with probability proportional to e^(-g / scale)."""
    return system_noise().geometric(scale, size)


def bernoulli(p: Number, size: int) -> Bools:
    """Return ``size`` coins that are heads with exactly the rational probability ``p``."""
    return system_noise().bernoulli(p, size)


def bernoulli_exp(gamma: Number, size: int) -> Bools:
    """Return ``size`` coins that are heads with exactly the probability e^-gamma."""
    return system_noise().bernoulli_exp(gamma, size)


def uniform_below(limit: int, size: int) -> NDArray[Any]:
    """Return ``size`` uniform integers in [0, limit)."""
    return system_noise().uniform_below(limit, size)


def select(scores: ArrayLike, rate: Number, size: int) -> Integers:
    """Return ``size`` indices i with probability proportional to e^(rate * scores[i]), for integer scores."""
    return system_noise().select(scores, rate, size)
