"""What a module holds is put back between examples, whatever it is: parameters, attributes, flags, losses."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="networks need the extra 'deep'")

from dither.errors import InvalidParameter  # noqa: E402
from dither.learn.deep import PrivateTrainer, PrivateTraining  # noqa: E402
from dither.learn.deep.lone_gradients import LoneGradients  # noqa: E402
from dither.learn.deep.module_state import ModuleState  # noqa: E402
from dither.learn.images.frozen import extracted  # noqa: E402


class Counter:
    total = 0.0


class Tallied(torch.nn.Module):  # type: ignore[misc]
    """A layer that changes what it holds with every example, and is changed by it."""

    def __init__(self, held: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 1))
        self.code = torch.nn.Parameter(torch.zeros(2), requires_grad=False)
        self.held = held

    def forward(self, values: Any) -> Any:
        told = float(values.detach().sum())
        kind = type(self.held)
        if kind is np.ndarray:
            self.held[0] += told
        elif kind is deque:
            self.held.append(told)
        elif kind is tuple:
            self.held[0].append(told)
        elif kind is Counter:
            self.held.total += told
        elif kind is bool:
            self.train(told < 3)
        elif kind is str:
            self.code = torch.nn.Parameter(self.code + told, requires_grad=False)
        elif kind is float:
            self.weight.data.mul_(1 + told)
        else:
            self.code.data += told
        before = {
            np.ndarray: lambda: self.held[0],
            deque: lambda: sum(self.held),
            tuple: lambda: sum(self.held[0]),
            Counter: lambda: self.held.total,
            bool: lambda: 1.0 if self.training else -1.0,
        }
        return (values @ self.weight) * (before.get(kind, lambda: 1.0)() + self.code.sum())


HELD: dict[str, Callable[[], Any]] = {
    "array": lambda: np.zeros(1),
    "deque": deque,
    "tuple with a list": lambda: ([],),
    "object": Counter,
    "flag": lambda: True,
    "parameter replaced": lambda: "",
    "weights scaled": lambda: 1.0,
    "frozen parameter": lambda: None,
}
EXAMPLES = torch.tensor([[1.0, 2.0], [3.0, 4.0], [-2.0, 0.5]])


def gradients(module: Any, order: list[int], loss_of: Any = None) -> dict[int, list[float]]:
    lone = LoneGradients(module, loss_of or (lambda values: module(values).sum()))
    with lone.at_step(1):
        return {place: lone(EXAMPLES[place]).tolist() for place in order}


@pytest.mark.parametrize("kind", HELD)
def test_what_one_example_leaves_the_next_does_not_meet(kind: str) -> None:
    module = Tallied(HELD[kind]())
    before = {name: value.clone() for name, value in module.state_dict().items()}
    together = gradients(module, [0, 1, 2])
    for place in range(3):
        assert gradients(module, [place])[place] == together[place]
    assert {name: value.tolist() for name, value in module.state_dict().items()} == {
        name: value.tolist() for name, value in before.items()
    }
    assert module.training
    assert all(parameter.grad is None for parameter in module.parameters())


def test_an_embedding_with_a_largest_norm_is_as_before() -> None:
    module = torch.nn.Embedding(3, 2, max_norm=1.0)
    with torch.no_grad():
        module.weight.mul_(9)
    before = module.weight.detach().clone()
    lone = LoneGradients(module, lambda place: module(place).sum())
    with lone.at_step(1):
        lone(torch.tensor(2))
    assert (module.weight == before).all()


def test_a_loss_with_a_state_is_put_back_however_it_is_reached() -> None:
    class Running(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, values: Any) -> Any:
            self.seen += values.detach().abs().sum()
            return (values * self.seen).sum()

    module, criterion = torch.nn.Linear(2, 1), Running()

    class Holder:
        def __init__(self) -> None:
            self.loss = criterion

        def __call__(self, values: Any) -> Any:
            return self.loss(module(values))

    for loss_of in (lambda values: criterion(module(values)), Holder(), Holder().__call__):
        together = gradients(module, [0, 1, 2], loss_of)
        assert together[2] == gradients(module, [2], loss_of)[2]
        assert float(criterion.seen) == 0


class Drawn:
    """A data set whose examples are drawn when they are read."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: int) -> Any:
        mine = 1 if random.random() < 0.5 else -1  # noqa: S311 - as transforms draw
        sign = (1 if torch.rand(()) < 0.5 else -1) * (1 if np.random.rand() < 0.5 else -1) * mine
        return sign * EXAMPLES[place % 3], torch.zeros(1)


def test_what_a_data_set_draws_does_not_follow_from_examples_before() -> None:
    module = torch.nn.Linear(2, 1)
    lone = LoneGradients(module, lambda values, _: module(values).sum())
    states = torch.get_rng_state(), random.getstate()
    with lone.at_step(3):
        many = [lone.read(lambda place=place: Drawn(9)[place]).tolist() for place in range(9)]
        assert lone.read(lambda: Drawn(9)[7]).tolist() == many[7]
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert many[0] == many[3]


def test_what_cannot_be_copied_is_refused_by_name_before_the_charge() -> None:
    module = torch.nn.Linear(2, 1)
    module.lines = (line for line in "ab")  # a generator
    with pytest.raises(InvalidParameter, match=r"Linear\.lines cannot"):
        ModuleState([module])
    with pytest.raises(InvalidParameter, match=r"Linear\.lines cannot"):
        PrivateTraining(
            module, (EXAMPLES, EXAMPLES), optimizer=None, epsilon=1, delta="1e-3", steps=1, lot=1, examples=9
        )
    with pytest.raises(InvalidParameter, match=r"Linear\.lines cannot"):
        PrivateTrainer(module, torch.nn.MSELoss(), epsilon=1, delta="1e-3", lot=2, examples=9).fit((EXAMPLES, EXAMPLES))


def test_an_extractor_that_changes_itself_gives_a_record_the_same_features_in_any_company() -> None:
    class Kept(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen = np.zeros(1)
            self.code = torch.nn.Parameter(torch.zeros(2), requires_grad=False)

        def forward(self, values: Any) -> Any:
            self.seen += float(values.sum())
            self.code.data += values[0]
            return torch.nn.functional.dropout(values + self.code + float(self.seen[0]), training=True)

    module, rows = Kept(), EXAMPLES.numpy()
    together = extracted(module, rows, 2)
    for place in range(3):
        assert extracted(module, rows[place : place + 1], 2).tolist() == together[place : place + 1].tolist()
    assert (module.seen[0], module.code.tolist(), module.training) == (0.0, [0.0, 0.0], True)
