"""The client of a survey with many rounds: it remembers stored responses, and what it sent."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from dither.errors import BudgetExceeded, InvalidParameter
from dither.local.clients.chains import Chain
from dither.local.clients.half import between
from dither.local.clients.handle import OneOwner
from dither.noise.client_words import system_words

#: The most rounds of a client whose value may change: ten years of one an hour.
MOST_ROUNDS: Final = 10**5


class RoundsClient(OneOwner):
    """Reports in rounds, each of which it remembers, and stores permanent responses.

    As it is, it keeps its first value for ever: whatever the value is later, reports come from the response that is
    stored, and all of them together lose ``lasting_ratio``, in any number of rounds. With a larger ``most_values`` it
    stores a response to each new value, up to that number, and later values are reported as the last of them. Then the
    reports show when the value changes, and every round costs: ``Chain.ratio_of_changes`` bounds them, so that the
    number of rounds has to be stated.

    What it remembers is secret, and durable only if ``memory`` is stored between rounds, by one client at a time: a
    device that forgets draws a new permanent response and loses its price again.

    Args:
        half: the law.
        most_values: how many permanent responses it draws, at most.
        most_rounds: how many rounds it reports in, at most; required with more than one permanent response.
        memory: what an earlier client with the same limits remembered.

    """

    def __init__(
        self,
        half: Chain,
        most_values: int = 1,
        most_rounds: int | None = None,
        memory: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        between("most_values", most_values, 1, 10**6)
        if most_rounds is None and most_values > 1:
            rule = "stated where most_values is above 1: each round of a value that may change is a loss"
            raise InvalidParameter("most_rounds", None, rule)
        if most_rounds is not None:
            between("most_rounds", most_rounds, 1, MOST_ROUNDS)
        self._half, self._most, self._rounds = half, most_values, most_rounds
        given: Mapping[str, Any] = memory or self._limits
        if any(given.get(name, -1) != limit for name, limit in self._limits.items()):
            raise InvalidParameter("memory", "of other limits", "of a client with these most_values and most_rounds")
        self._own: tuple[int, ...] | None = tuple(given["own"]) if "own" in given else None
        self._states: dict[int, int] = {int(memo): int(state) for memo, state in given.get("states", {}).items()}
        self._sent: dict[int, tuple[int, ...]] = {int(at): tuple(sent) for at, sent in given.get("sent", {}).items()}

    @property
    def memory(self) -> dict[str, Any]:
        """What it remembers, as plain JSON data; big integers as strings."""
        with self._alone():
            sent = {str(at): [*report] for at, report in self._sent.items()}
            states = {str(memo): str(state) for memo, state in self._states.items()}
            own = {} if self._own is None else {"own": [*self._own]}
        return {**self._limits, **own, "states": states, "sent": sent}

    @property
    def spent(self) -> Fraction:
        """The worst ratio of the reports, between any two histories of values.

        That of a client with one permanent response covers all reports there can ever be; that of another one, the
        reports so far.
        """
        rounds = len(self._sent)
        if not rounds:
            return Fraction(1)
        return self._half.lasting_ratio if self._most == 1 else self._half.ratio_of_changes(rounds)

    def report(self, cell: Any, at: int) -> tuple[int, ...]:
        """Return the report of a round: the same one if the round was reported before, also for another value.

        Args:
            cell: of the value, as ``Domain.cell`` has it; one that is not in the domain counts as the nearest one.
            at: the number of the round.

        """
        if type(at) is not int:
            raise InvalidParameter("at", at, "the number of a round")
        nearest = _nearest(cell, self._half.cells)
        with self._alone():
            if at not in self._sent:
                if self._rounds is not None and len(self._sent) >= self._rounds:
                    raise BudgetExceeded("one more round", f"{self._rounds} rounds", f"{self._rounds} rounds")
                self._sent[at] = self._fresh(nearest)
            return self._sent[at]

    @property
    def _limits(self) -> dict[str, int | None]:
        return {"most_values": self._most, "most_rounds": self._rounds}

    def _fresh(self, cell: int) -> tuple[int, ...]:
        """Return the report of a new round."""
        words = system_words()
        if self._own is None:
            self._own = self._half.start(words)
        memo = self._half.memo(cell, self._own)
        if memo not in self._states:
            if len(self._states) < self._most:
                self._states[memo] = self._half.permanent(cell, self._own, words)
            else:
                memo = next(reversed(self._states))
        return self._half.instant(self._states[memo], self._own, words)


def _nearest(cell: Any, cells: int) -> int:
    """Return the cell of any object at all; never raises."""
    try:
        number = operator.index(cell)
    except Exception:
        # It runs code of the object.
        return 0
    return min(max(number, 0), cells - 1)
