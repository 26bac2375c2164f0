"""Whether a mechanism that may resume hands over equal bits: drawn twice from one key, it gives the same bytes.

A release that was killed is drawn again from the same key (``dither.lift.resumable``). The second draw is in another
thread and reads the rows in another order, and any randomness from elsewhere is refused or shows as a difference.
"""

from __future__ import annotations

import threading
from collections import Counter
from fractions import Fraction
from typing import Any

from dither.checks.violation import ContractViolation, require
from dither.data.reference import ReferenceEngine
from dither.errors import DitherError, EntropyFailure
from dither.lift.resumable import may_resume
from dither.mechanisms import Example
from dither.mechanisms.core.derived_runner import DerivedRunner
from dither.mechanisms.core.encoding import encoded
from dither.noise.derived_words import DerivedWords, new_key
from dither.noise.entropy import before_first_draw
from dither.privacy import Use


def check_equal_bits(example: Example) -> None:
    """Check that what may resume gives the same bytes twice, and draws from its own key alone."""
    mechanism = example.mechanism
    if not may_resume(mechanism):
        return
    key = new_key()
    first = _drawn(mechanism, example.data, key)
    require(first == _drawn(mechanism, example.data, key), "drawn again from the same key, it gives other bytes")
    elsewhere: list[Any] = []

    def draw() -> None:
        try:
            elsewhere.append(_drawn(mechanism, _reordered(example.data), key))
        except ContractViolation as violation:
            elsewhere.append(violation)

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    for found in elsewhere:
        if isinstance(found, ContractViolation):
            raise found
    require(elsewhere == [first], "in another thread, with rows in another order, it gives other bytes")


def _drawn(mechanism: Any, data: Any, key: bytes) -> bytes:
    """Return the encoded release, from words of a key alone."""
    words = DerivedWords(lambda: key)
    try:
        with before_first_draw(_refuse):
            return encoded(DerivedRunner(Use(mechanism, Fraction(1)), words)(mechanism, data, stability=1))
    except DitherError as problem:
        raise ContractViolation(f"it cannot be drawn from a key alone: {problem}") from problem


def _refuse() -> None:
    raise EntropyFailure("it draws from the system's generator")


def _reordered(data: Any) -> Any:
    """Return an engine over the same rows, or a dictionary, in another order, and anything else as it is."""
    if type(data) in (dict, Counter):
        return type(data)(dict(reversed(data.items())))
    if type(data) is not ReferenceEngine:
        return data
    return ReferenceEngine(data.dataset, {name: list(rows)[::-1] for name, rows in data.frames.items()})
