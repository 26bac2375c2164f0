"""Conversations that outlive a process: their noise follows from a key that is kept with them.

Opened again with the same key, and fed the same values in the same order, a conversation gives the same answers. So
whoever keeps the key and the values can go on where a process died, and draws nothing twice.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.core.mechanism import Interactive
from dither.mechanisms.core.runner import Runner
from dither.noise import Noise, system_noise
from dither.noise.kept import KeptEntropy
from dither.privacy import Use

O = TypeVar("O")  # noqa: E741


@runtime_checkable
class Resumable(Protocol):
    """A conversation with a state that can be put down between two values."""

    def freeze(self) -> Any:
        """Return the state as plain JSON data; it is secret."""

    def thaw(self, frozen: Any) -> None:
        """Take up the state of a conversation with the same mechanism."""


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


class KeptConversation(Generic[O]):
    """A conversation whose noise follows from a secret key, and whose state can be put down and taken up again.

    Resumed from a state it costs the same however long it is; resumed from its first value on it costs as much as it
    did. The answers are the same.

    Args:
        mechanism: what to talk to.
        key: 32 bytes from the system's generator, used for this conversation alone.

    """

    def __init__(self, mechanism: Interactive[Any, O], key: bytes) -> None:
        self._entropy = KeptEntropy(key, has_keyed_tapes=True)
        self.conversation: O = _opened(mechanism, None, Noise(self._entropy), 1)

    @property
    def is_resumable(self) -> bool:
        """Whether it has a state that can be put down."""
        return isinstance(self.conversation, Resumable)

    def freeze(self) -> dict[str, Any]:
        """Return its state as plain JSON data, which is as secret as key and values."""
        return {"words": self._entropy.position, "state": self._state().freeze()}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Take up the state of a conversation with the same mechanism and key."""
        self._state().thaw(frozen["state"])
        self._entropy.position = frozen["words"]

    def _state(self) -> Resumable:
        if not isinstance(self.conversation, Resumable):
            raise HandleMisuse("the conversation is resumed from its first value only")
        return self.conversation


def _opened(mechanism: Interactive[Any, O], data: Any, noise: Noise, stability: Number) -> O:
    if not isinstance(mechanism, Interactive):
        raise InvalidParameter("mechanism", mechanism, "an interactive mechanism")
    moves = positive("stability", stability)
    runner = Runner(Use(mechanism, moves), noise)
    return runner.converse(mechanism, data, stability=moves)
