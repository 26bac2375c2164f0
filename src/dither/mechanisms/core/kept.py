"""Conversations that outlive a process: their noise follows from a key that is kept with them.

Opened again with the same key, and fed the same values in the same order, a conversation gives the same answers. So
whoever keeps the key and the values can go on where a process died, and draws nothing twice.
"""

from __future__ import annotations

from typing import Any, TypeVar

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.core.mechanism import Interactive
from dither.mechanisms.core.runner import Runner
from dither.noise import Noise, system_noise
from dither.noise.kept import KeptEntropy
from dither.privacy import Use

O = TypeVar("O")  # noqa: E741


def converse_anew(mechanism: Interactive[Any, O], data: Any, *, stability: Number = 1) -> O:
    """Open a conversation that is already paid for, with noise that nobody can compute again.

    Only for entry points that keep their own budget, and see to it that nothing is answered twice.

    Args:
        mechanism: what to talk to.
        data: what it is opened on.
        stability: how far every value moves per unit.

    """
    return _opened(mechanism, data, system_noise(), stability)


def converse_with_key(mechanism: Interactive[Any, O], data: Any, *, key: bytes, stability: Number = 1) -> O:
    """Open a conversation that is already paid for, with noise that follows from a secret key.

    Only for entry points that keep their own budget, and the key.

    Args:
        mechanism: what to talk to.
        data: what it is opened on.
        key: 32 bytes from the system's generator, used for this conversation alone.
        stability: how far every value moves per unit.

    """
    return _opened(mechanism, data, Noise(KeptEntropy(key)), stability)


def _opened(mechanism: Interactive[Any, O], data: Any, noise: Noise, stability: Number) -> O:
    if not isinstance(mechanism, Interactive):
        raise InvalidParameter("mechanism", mechanism, "an interactive mechanism")
    moves = positive("stability", stability)
    runner = Runner(Use(mechanism, moves), noise)
    return runner.converse(mechanism, data, stability=moves)
