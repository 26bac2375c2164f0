"""What a registration says of a class, for lists and tests, reaches them; what it cannot mean is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import pytest

from dither.errors import InvalidParameter
from dither.mechanisms import Example, Geometric, registered
from dither.mechanisms.core import registry
from dither.mechanisms.core.registry import register
from dither.mechanisms.core.tasks import TASKS, all_tasks, tasks_of
from dither.privacy import PureDP
from dither.testing.calibrations import calibrated_names, calibrated_with, is_taken
from dither.testing.widened import reason_to_stay_narrow, widened


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    registered()
    before = dict(registry._entries)
    yield
    registry._entries.clear()
    registry._entries.update(before)


def added(**words: Any) -> type[Any]:
    """A geometric mechanism under another name, registered with these words."""

    @register(examples=lambda: [Example(Toy(scale=1), 2)], source="A toy", **words)
    @dataclass(frozen=True, kw_only=True)
    class Toy(Geometric):
        name: ClassVar[str] = "toy"

    return Toy


def test_tasks_of_a_registration_come_after_those_in_an_order() -> None:
    added(tasks={"count": "For toys.", "median": "For toys, too."})
    assert list(all_tasks()["count"].methods) == [*TASKS["count"].methods, "toy"]
    assert tasks_of("toy") == ("count", "median")
    assert all_tasks()["vector"] is TASKS["vector"]


@pytest.mark.parametrize("words", [{"tasks": {"nonsense": "For toys."}}, {"takes": "nothing"}])
def test_what_a_registration_cannot_mean_is_refused(words: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=f"{next(iter(words))} must be one of"):
        added(**words)
    assert "toy" not in registered()


def test_a_wide_instance_is_that_of_the_registration() -> None:
    toy = added(wide=lambda mechanism, data: (mechanism, data + 100))
    assert widened(toy(scale=1), 2) == (toy(scale=1), 102)
    assert reason_to_stay_narrow("toy") is None
    toy = added(wide="one number is all there is")
    assert widened(toy(scale=1), 2) is None
    assert reason_to_stay_narrow("toy") == "one number is all there is"


def test_what_a_class_is_made_with_is_that_of_its_example_and_its_registration() -> None:
    added(made_for={"shape": (3,)})
    assert calibrated_with("toy") == {"sensitivity": 1, "shape": (3,)}
    added(made_for="Tested with what it is made of.")
    assert "toy" not in calibrated_names()
    with pytest.raises(InvalidParameter):
        calibrated_with("toy")


def test_losses_that_are_not_taken_are_known() -> None:
    added(takes="delta")
    assert not is_taken(registered()["toy"].takes, PureDP(1))
    assert is_taken(registered()["geometric"].takes, PureDP(1))


def test_a_proof_does_not_hang_on_what_is_said_for_lists(load_tool: Callable[[str], ModuleType]) -> None:
    """But on every other word of a registration."""
    hashed = load_tool("proofs")._hash
    plain = "@register(examples=_examples)\nclass Toy: ...\n"
    for word in ("reference=True", "tasks={}", "wide=None", "made_for={}", "takes='any'"):
        assert hashed(plain) == hashed(plain.replace("_examples)", f"_examples, {word})")), word
    assert hashed(plain) != hashed(plain.replace("_examples)", "_examples, other=1)"))
