"""The requests of a mechanism to its noise: laws, their public parameters, and the number of draws.

A draw is as good as what was asked for. Whether the scale that is asked for grows with the scale that is declared can
be read off without a sample. The numbers that come back are those of a seed, the same for every mechanism that asks
the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from dither.noise import Noise
from dither.testing.entropy import SeededEntropy


class Request(NamedTuple):
    """A law and its numbers: scales and rates; not scores, offsets and numbers of draws."""

    law: str
    numbers: tuple[Fraction, ...]


class AskedNoise(Noise):
    """Noise from a seed that records what is asked of it.

    >>> noise = AskedNoise(7)
    >>> _ = noise.discrete_laplace("1/2", 3)
    >>> noise.asked
    [Request(law='discrete_laplace', numbers=(Fraction(1, 2),))]
    """

    def __init__(self, seed: int) -> None:
        super().__init__(SeededEntropy(seed))
        self.asked: list[Request] = []
        for law in _LAWS:
            setattr(self, law, self._noting(law))

    def _noting(self, law: str) -> Callable[..., Any]:
        inner = getattr(super(), law)
        names = _LAWS[law]

        def asked(*given: Any, **named: Any) -> Any:
            all_given = {**dict(zip(names, given, strict=False)), **named}
            numbers = [Fraction(all_given[name]) for name in _SCALES if name in all_given]
            self.asked.append(Request(law, tuple(numbers)))
            return inner(*given, **named)

        return asked


#: The parameters that make noise wide or narrow.
_SCALES = ("scale", "sigma", "rate", "epsilon", "fine", "coarse", "gamma")
_LAWS = {
    name: list(inspect.signature(law).parameters)[1:]
    for name, law in vars(Noise).items()
    if not name.startswith("_") and inspect.isfunction(law)
}
