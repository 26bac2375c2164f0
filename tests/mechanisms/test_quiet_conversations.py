"""Later calls of a conversation are as quiet as a release: a caller's strict floats do not let data raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.checks import ContractViolation
from dither.checks.replays import check_strict_floats
from dither.exact import Number
from dither.mechanisms import Dialogue, Example, Geometric, Interactive, Numerics, find
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.release import Budget, converse
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.core.values import IntegerArray
from dither.noise import Noise, system_noise
from dither.privacy import L1, ROW, Loss, Metric, Plan, PureDP, Repeat, Unit, Use

CONVERSATIONS = ("incremental-regression", "kept-table", "prefix-counter", "statistical-queries")


@dataclass(frozen=True, kw_only=True)
class Overflows(InteractivePrimitive[int, int]):
    """Answer with 0, after a float that overflows for a large value, and one when it begins."""

    name: ClassVar[str] = "overflows"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    @property
    def distance(self) -> Metric:
        return L1

    @property
    def domain(self) -> IntegerArray:
        return IntegerArray(())

    def loss(self, d_in: Number = 1) -> Loss:
        return PureDP(0)

    def begin(self, noise: Noise) -> Any:
        return np.exp(np.float64(1e4))

    def reply(self, state: Any, value: int, noise: Noise) -> tuple[int, bool]:
        np.exp(np.float64(value))
        return 0, False


def test_a_handle_is_quiet_from_its_beginning_on() -> None:
    budget = Budget(epsilon=1, unit=ROW)
    with np.errstate(all="raise"):
        handle = converse(Overflows(), budget=budget, stability=1)
        assert [handle.ask(1), handle.ask(10**6)] == [0, 0]
        # What the caller asked for is what the caller has.
        assert set(np.geterr().values()) == {"raise"}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_every_later_call_of_a_conversation_is_quiet(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []
    draw = Runner._take_draw

    def watched(self: Runner, *given: Any) -> None:
        seen.append(dict(np.geterr()))
        draw(self, *given)

    example = next(iter(find(name).examples()))
    mechanism: Any = example.mechanism
    runner = Runner(Use(mechanism), system_noise())
    conversation = runner.converse(mechanism, example.data.data)
    monkeypatch.setattr(Runner, "_take_draw", watched)
    with np.errstate(all="raise"):
        example.data.lead(conversation)
    assert seen
    assert all(set(state.values()) == {"ignore"} for state in seen)


class Loud:
    """A conversation that forgets to be quiet."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def ask(self, value: int) -> int:
        np.exp(np.float64(value))
        return int(self._run(Geometric(scale=1), 0))


class Quiet(Loud):
    ask = quietly(Loud.ask)


@dataclass(frozen=True, kw_only=True)
class Forgets(Interactive[Any, Any]):
    """Open a conversation that is not quiet."""

    name: ClassVar[str] = "forgets"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    conversation: ClassVar[type[Loud]] = Loud

    @property
    def distance(self) -> Unit:
        return ROW

    def plan(self) -> Plan:
        return Repeat(Use(Geometric(scale=1)), 2)

    def open(self, data: Any, run: Runner) -> Loud:
        return self.conversation(run)


@dataclass(frozen=True, kw_only=True)
class Remembers(Forgets):
    """Open one that is."""

    conversation: ClassVar[type[Loud]] = Quiet


def test_the_contract_leads_conversations_where_floats_are_strict() -> None:
    here = Dialogue([1], (1, 10**6))
    pairs = ((here, Dialogue([], (1, 10**6)), 1),)
    check_strict_floats(Example(Remembers(), here, pairs))
    with pytest.raises(ContractViolation, match="floats are strict"):
        check_strict_floats(Example(Forgets(), here, pairs))
