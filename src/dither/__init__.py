"""dither: differential privacy that is exact, priced before it looks, and checked by trial.

A curator declares what is public and sets a budget; every release is charged before it is drawn and says what it is
worth.

>>> from dither import ROW, Budget, Geometric, release
>>> budget = Budget(epsilon=1, unit=ROW)
>>> people = release(Geometric(scale=2), 1234, budget=budget, stability=1)
>>> print(people.loss, "|", budget)
epsilon = 0.5 | epsilon = 0.5 of epsilon = 1 spent, for rows added or removed
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dither.errors import DitherError
from dither.mechanisms import (
    AboveThreshold,
    Budget,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
    Release,
    TopK,
    converse,
    release,
)
from dither.privacy import EDGE, EVENT, NODE, ROW, ROW_REPLACED, ZCDP, ApproxDP, PureDP, Unit, person

if TYPE_CHECKING:
    from dither.curator.folder import Curator
    from dither.curator.folder import open_curator as open  # noqa: A004 - as in dither.open("clinic")
    from dither.publish.choose import choose

__version__ = "0.2.0.dev0"

__all__ = [
    "EDGE",
    "EVENT",
    "NODE",
    "ROW",
    "ROW_REPLACED",
    "ZCDP",
    "AboveThreshold",
    "ApproxDP",
    "Budget",
    "Curator",
    "DiscreteGaussian",
    "DitherError",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Laplace",
    "NoisyMax",
    "PermuteAndFlip",
    "PureDP",
    "RandomisedResponse",
    "Release",
    "TopK",
    "Unit",
    "choose",
    "converse",
    "open",
    "person",
    "release",
]


def __getattr__(name: str) -> Any:
    """Load the curator when it is first asked for: engines and parsers are no part of a light import."""
    if name in ("Curator", "open"):
        from dither.curator import folder

        return folder.Curator if name == "Curator" else folder.open_curator
    if name == "choose":
        from dither.publish import choose as choosing

        return choosing.choose
    raise AttributeError(f"module 'dither' has no attribute {name!r}")
