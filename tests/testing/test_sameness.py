"""The equality of replays sees whatever a receiver could see, and nothing else."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dither.mechanisms import PublicArray
from dither.testing.effects import watched
from dither.testing.sameness import difference, digest, held

WHOLE = np.arange(6.0)


class Slotted:
    __slots__ = ("__hidden", "shown")

    def __init__(self, shown: int, hidden: int) -> None:
        self.shown, self.__hidden = shown, hidden


@dataclass(frozen=True)
class Model:
    weights: Any

    def with_secret(self, secret: Any) -> Model:
        object.__setattr__(self, "_secret", secret)
        return self


def closing(over: Any) -> Callable[[], Any]:
    return lambda: over


def going(through: Any) -> Any:
    yield through


DIFFERENT: dict[str, tuple[Any, Any]] = {
    "type": (1, 1.0),
    "truth": (1, True),
    "width": (np.float32(1), np.float64(1)),
    "width of an array": (np.zeros(2, np.int32), np.zeros(2, np.int64)),
    "sign of zero": (0.0, -0.0),
    "sign of zero in an array": (np.array([0.0]), np.array([-0.0])),
    "bits of what is no number": (np.array([np.nan]), np.array([np.nan]).view(np.int64).__add__(1).view(float)),
    "order of a dictionary": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "kind of sequence": ((1, 2), [1, 2]),
    "shape": (np.zeros((2, 1)), np.zeros((1, 2))),
    "attribute": (Model(1), Model(1).with_secret(2)),
    "value of an attribute": (Model(1).with_secret(3), Model(1).with_secret(2)),
    "slot": (Slotted(1, 2), Slotted(1, 3)),
    "memory behind a view": (np.array([1, 2, 3])[:2], np.array([1, 2, 4])[:2]),
    "writable or not": (PublicArray([1]).values, np.array([1])),
    "closure": (closing(1), closing(2)),
    "partial": (functools.partial(max, 1), functools.partial(max, 2)),
    "method": (Model(1).with_secret, Model(2).with_secret),
    "generator": (going(1), going(2)),
    "generator of noise": (np.random.default_rng(1), np.random.default_rng(2)),
    "deep": ([{"a": (1, [2.0])}], [{"a": (1, [2])}]),
    "one twice": ([1, [2]], [[2], 1]),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_a_receiver_could_tell_apart_differs(name: str) -> None:
    one, other = DIFFERENT[name]
    assert difference(one, other) is not None
    assert digest(one) != digest(other)


def test_what_is_alike_is_the_same() -> None:
    def made() -> list[Any]:
        loop: list[Any] = [Model(np.array([1.0, np.nan, -0.0])), {3, 1, 2}, {"a": Slotted(1, 2)}]
        loop.append(loop)
        return [loop, closing(np.arange(3)), frozenset({"x", "y"}), np.array([1, "a"], dtype=object)]

    assert difference(made(), made()) is None
    assert digest(made()) == digest(made())


@pytest.mark.parametrize(
    "released",
    [WHOLE, [WHOLE], Model(WHOLE), closing(WHOLE), WHOLE[2:4], WHOLE.reshape(2, 3).T, memoryview(WHOLE).obj],
    ids=["itself", "in a list", "in a record", "closed over", "a view", "another shape", "behind a memory view"],
)
def test_what_holds_the_data_is_found(released: Any) -> None:
    assert held(released, WHOLE) is not None


def test_what_does_not_hold_the_data_is_let_through() -> None:
    assert held(WHOLE + 1, WHOLE) is None
    schema = [1, 2]
    rows = {"schema": schema, "rows": [3]}
    assert held({"schema": schema}, rows, public=schema) is None
    assert held({"schema": schema}, rows) == ".of 'schema'"


def test_what_is_done_beside_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    import logging
    import sys
    import warnings

    rows = [3, 1, 2]
    with watched(rows) as effects:
        warnings.warn("odd", stacklevel=1)
        logging.getLogger("dither.any").debug("%d rows", 3)
        sys.stdout.write("here")
        sys.stderr.write("there")
        rows.sort()
    assert [one.split(":")[0] for one in effects.seen] == [
        "warning",
        "log",
        "stdout",
        "stderr",
        "the input was changed at .0",
    ]
    assert capsys.readouterr().out == ""
    with watched(rows) as effects:
        sorted(rows)
    assert effects.seen == []
