"""Choices of a test: cheap, fresh in every run, and never the noise of a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dither.noise import Noise, system_noise

_AT_A_TIME: Final = 512


class Choices:
    """Draws small integers and picks among options.

    >>> choices = Choices()
    >>> choices.below(1), choices.one(["only"])
    (0, 'only')
    """

    def __init__(self, noise: Noise | None = None) -> None:
        self._noise = system_noise() if noise is None else noise
        self._ahead: list[int] = []

    def below(self, limit: int) -> int:
        """Return an integer from 0 to below ``limit``; nearly uniform, which is enough to choose data."""
        if not self._ahead:
            self._ahead = self._noise.uniform_below(2**60, _AT_A_TIME).tolist()
        return self._ahead.pop() % limit

    def one(self, options: Sequence[Any]) -> Any:
        """Return one of the options."""
        return options[self.below(len(options))]

    def some(self, options: Sequence[Any], share: int = 50) -> list[Any]:
        """Return each option with a chance of ``share`` in a hundred, in order."""
        return [option for option in options if self.below(100) < share]

    def shuffled(self, options: Sequence[Any]) -> list[Any]:
        """Return the options in another order."""
        return [options[place] for _, place in sorted((self.below(2**40), place) for place in range(len(options)))]
