"""The equality of replays sees whatever a receiver could see, and nothing else."""

from __future__ import annotations

import functools
import io
import types
import weakref
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


def raising(what: Any) -> Exception:
    def fail(held: Any) -> None:
        raise ValueError

    try:
        fail(what)
    except ValueError as failure:
        return failure
    raise AssertionError


def noted(note: str) -> Exception:
    failure = ValueError("odd")
    failure.add_note(note)
    return failure


def marked(mark: Any) -> Callable[[], Any]:
    def function() -> None:
        """Do nothing."""

    vars(function)["mark"] = mark
    return function


def made_class(content: Any) -> Any:
    return type("Made", (), {"content": content})


def made_module(content: Any) -> Any:
    module = types.ModuleType("made")
    vars(module)["content"] = content
    return module


def compiled(constant: int) -> Any:
    scope: dict[str, Any] = {}
    exec(f"def constant():\n    return {constant}", scope)  # noqa: S102 - a function with a constant of its own
    return scope["constant"]


def remembered(value: int) -> Any:
    @functools.lru_cache
    def twice(number: int) -> int:
        return 2 * number

    twice(value)
    return twice


class Annotated(np.ndarray[Any, Any]):
    remark: Any = None


class Named(str):
    owner: Any = None


def annotated(remark: Any, *, is_hidden: bool = False) -> Any:
    array = Annotated((2,), np.int64)
    array[...] = 7
    array.remark = remark
    return array.view(np.ndarray) if is_hidden else array


def named(owner: Any) -> Named:
    name = Named("a name")
    name.owner = owner
    return name


def typed(content: Any) -> Any:
    return np.dtype("f8", metadata={"content": content})


def structured(content: Any) -> Any:
    return np.dtype([("a", typed(content)), ("b", "i4")])


#: Kept, so that weak references lead somewhere.
ALIVE = [Model(1), Model(2)]


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
    "metadata of a type": (np.zeros(2, typed(1)), np.zeros(2, typed(2))),
    "metadata of a type alone": (typed(1), typed(2)),
    "metadata of a field": (np.zeros(2, structured(1)), np.zeros(2, structured(2))),
    "names of fields": (np.zeros(1, [("a", "i4")]), np.zeros(1, [("b", "i4")])),
    "array behind a record": (np.array([(1,), (2,)], "i4")[0], np.array([(1,), (3,)], "i4")[0]),
    "record of an array": (
        np.array([(1, 2), (3, 4)], [("a", "i4"), ("b", "i4")])[0],
        np.array([(1, 2), (3, 5)], [("a", "i4"), ("b", "i4")])[0],
    ),
    "attribute of an array": (annotated(1), annotated(2)),
    "array behind a view of all of it": (annotated(1, is_hidden=True), annotated(2, is_hidden=True)),
    "memory behind a repeated entry": (
        np.lib.stride_tricks.as_strided(np.array([1, 2]), (2,), (0,)),
        np.lib.stride_tricks.as_strided(np.array([1, 3]), (2,), (0,)),
    ),
    "below a mask": (np.ma.array([1, 2], mask=[False, True]), np.ma.array([1, 3], mask=[False, True])),
    "view of memory": (memoryview(b"12"), memoryview(b"13")),
    "object behind a view of memory": (memoryview(b"12")[:1], memoryview(b"13")[:1]),
    "changing bytes": (bytearray(b"12"), bytearray(b"13")),
    "text in memory": (io.BytesIO(b"12"), io.BytesIO(b"13")),
    "weak reference": (weakref.ref(ALIVE[0]), weakref.ref(ALIVE[1])),
    "weak proxy": (weakref.proxy(ALIVE[0]), weakref.proxy(ALIVE[1])),
    "weak dictionary": (weakref.WeakValueDictionary(a=ALIVE[0]), weakref.WeakValueDictionary(a=ALIVE[1])),
    "arguments of an exception": (ValueError(1), ValueError(2)),
    "note of an exception": (noted("1"), noted("2")),
    "traceback of an exception": (raising(1), raising(2)),
    "attribute of a function": (marked(1), marked(2)),
    "constant of a function": (compiled(1), compiled(2)),
    "cache of a function": (remembered(1), remembered(2)),
    "class": (made_class(1), made_class(2)),
    "class of an object": (made_class(1)(), made_class(2)()),
    "module": (made_module(1), made_module(2)),
    "attribute of a text": (named(1), named(2)),
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
    [
        *(WHOLE, [WHOLE], Model(WHOLE), closing(WHOLE), WHOLE[2:4], WHOLE.reshape(2, 3).T, memoryview(WHOLE)),
        *(weakref.ref(WHOLE), marked(WHOLE), named(WHOLE), raising(WHOLE), made_class(WHOLE), typed(WHOLE)),
        *(np.zeros(2, typed(WHOLE)), annotated(WHOLE, is_hidden=True)),
    ],
    ids=[
        *("itself", "in a list", "in a record", "closed over", "a view", "another shape", "behind a memory view"),
        *("weakly", "on a function", "on a text", "in a traceback", "on a class", "in a type"),
        *("in the type of an array", "behind a view"),
    ],
)
def test_what_holds_the_data_is_found(released: Any) -> None:
    assert held(released, WHOLE) is not None


def test_what_does_not_hold_the_data_is_let_through() -> None:
    assert held(WHOLE + 1, WHOLE) is None
    assert held(np.zeros(2, [("a", "i4")]), WHOLE) is None
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


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_are_walked(library: str) -> None:
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    one, other = ({"a": [1, 2, last], "b": ["x", "y", "z"]} for last in (3, 4))
    assert difference(make(one), make(one)) is None
    assert difference(make(one), make(other)) is not None


def test_attributes_of_frames_are_walked() -> None:
    pandas = pytest.importorskip("pandas")
    one, other = (pandas.DataFrame({"a": [1, 2]}) for _ in range(2))
    assert difference(one, other) is None
    other.attrs["counts"] = [3]
    assert difference(one, other) is not None
    series = pandas.Series([1])
    series.attrs["rows"] = WHOLE
    assert held(series, WHOLE) is not None
