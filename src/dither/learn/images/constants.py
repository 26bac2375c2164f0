"""Public numbers that look random and are the same everywhere: bits of SHA-256 in counter mode."""

from __future__ import annotations

import hashlib

import numpy as np

from dither.learn.rows import Floats


def constant_numbers(count: int, key: str) -> Floats:
    """Return numbers in (0, 1), the same for the same key: 32 bits each.

    Args:
        count: the number of numbers.
        key: names the purpose.

    >>> float(constant_numbers(1, "a")[0]) == float(constant_numbers(5, "a")[0])
    True

    """
    blocks = [hashlib.sha256(f"{number}:{key}".encode()).digest() for number in range(-(-count // 8))]
    words = np.frombuffer(b"".join(blocks), dtype=">u4")[:count]
    return (words.astype(np.float64) + 0.5) / 2.0**32
