"""Sources of words that are not random: a script, and a seeded generator.

Both have the shape of ``dither.noise.Entropy``, so that every sampler runs on them unchanged. Neither is private: who
knows the script or the seed knows the noise. They are for tests and experiments, and no release may be drawn from them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dither.errors import DitherError, InvalidParameter
from dither.exact import whole

_LARGEST_WORD_BITS = 16


class ScriptExhausted(DitherError):
    """A sampler asked for more words than its script has; none were returned."""

    def __init__(self) -> None:
        super().__init__("the script has no more words")


class ScriptedEntropy:
    """Returns a fixed script of words, each once and in order.

    ``missing`` is how many words the script was short of when it was exhausted, and 0 before that.

    >>> entropy = ScriptedEntropy([3, 0, 2], word_bits=2)
    >>> entropy.words(2).tolist(), entropy.used
    ([3, 0], 2)
    >>> entropy.words(3)
    Traceback (most recent call last):
        ...
    dither.testing.entropy.ScriptExhausted: the script has no more words
    >>> entropy.missing
    2
    """

    def __init__(self, words: Sequence[int], word_bits: int) -> None:
        self.word_bits = whole("word_bits", word_bits, least=1, most=_LARGEST_WORD_BITS)
        script = np.asarray(words if len(words) else np.empty(0, dtype=np.int64))
        if script.ndim != 1 or script.dtype.kind not in "iu" or (script >> self.word_bits).any():
            raise InvalidParameter("words", words, f"a sequence of words of {word_bits} bits")
        self._script: NDArray[np.uint16] = script.astype(np.uint16)
        self.used = 0
        self.missing = 0

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return the next ``count`` words of the script.

        Raises:
            ScriptExhausted: fewer are left.

        """
        end = self.used + count
        if end > self._script.size:
            self.missing = end - self._script.size
            raise ScriptExhausted
        drawn = self._script[self.used : end]
        self.used = end
        return drawn


class SeededEntropy:
    """16-bit words from a seeded generator. Not private: anyone who has the seed can draw the noise again.

    For experiments that must be repeatable, and for tests. A statistical test has no use for it: with a fixed seed it
    passes always or never.

    >>> SeededEntropy(7).words(3).tolist() == SeededEntropy(7).words(3).tolist()
    True
    """

    word_bits = 16

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(whole("seed", seed)))

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return the next ``count`` words of the seed's sequence."""
        return self._generator.integers(0, 2**self.word_bits, size=count, dtype=np.uint16)
