"""The client of a survey with many rounds: it remembers stored responses, and what it sent."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dither.local.clients.chains import Chain
from dither.local.clients.half import between
from dither.noise.client_words import system_words


class RoundsClient:
    """Reports in rounds, each of which it remembers, and stores permanent responses.

    What it remembers is secret, and durable only if ``memory`` is stored between rounds: a device that forgets draws a
    new permanent response and loses its price again. After ``most_values`` different values it reports about the last
    of them, so that the total stays what was agreed.

    Args:
        half: the law.
        most_values: how many permanent responses it draws, at most.
        memory: what an earlier client remembered.

    """

    def __init__(self, half: Chain, most_values: int, memory: Mapping[str, Any] | None = None) -> None:
        between("most_values", most_values, 1, 10**6)
        self._half, self._most = half, most_values
        given: Mapping[str, Any] = memory or {}
        self._own: tuple[int, ...] | None = tuple(given["own"]) if "own" in given else None
        self._states: dict[int, int] = {int(memo): int(state) for memo, state in given.get("states", {}).items()}
        self._sent: dict[int, tuple[int, ...]] = {int(at): tuple(sent) for at, sent in given.get("sent", {}).items()}

    @property
    def memory(self) -> dict[str, Any]:
        """What it remembers, as plain JSON data; big integers as strings."""
        sent = {str(at): [*report] for at, report in self._sent.items()}
        states = {str(memo): str(state) for memo, state in self._states.items()}
        return {**({} if self._own is None else {"own": [*self._own]}), "states": states, "sent": sent}

    @property
    def spent(self) -> Fraction:
        """The worst ratio of all that it ever reports about the values so far."""
        return self._half.lasting_ratio ** len(self._states)

    def report(self, cell: int, at: int) -> tuple[int, ...]:
        """Return the report of a round: the same one if the round was reported before, also for another value."""
        if at not in self._sent:
            words = system_words()
            if self._own is None:
                self._own = self._half.start(words)
            memo = self._half.memo(cell, self._own)
            if memo not in self._states:
                if len(self._states) < self._most:
                    self._states[memo] = self._half.permanent(cell, self._own, words)
                else:
                    memo = next(reversed(self._states))
            self._sent[at] = self._half.instant(self._states[memo], self._own, words)
        return self._sent[at]
