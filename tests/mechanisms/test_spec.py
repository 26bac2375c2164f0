"""Registering, public arrays, and mechanisms as JSON: a closed format that holds no code and is read without any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given

from dither.errors import DitherError, InvalidParameter, NotSerialisable, UnknownMechanism
from dither.exact import Positive
from dither.mechanisms import (
    Composed,
    Example,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    Mechanism,
    NoisyMax,
    Numerics,
    PublicArray,
    Runner,
    TopK,
    digest,
    find,
    from_spec,
    register,
    registered,
    to_spec,
)
from dither.mechanisms.core import registry
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, Plan, PureDP, Unit, Use, person, w_event
from dither.privacy.distances import Relation
from tests.rationals import rationals

F = Fraction


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test register what it likes, for itself alone."""
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))


@dataclass(frozen=True, kw_only=True)
class Everything(Composed[Any, int]):
    """Has a field of every kind that has a place in a request."""

    name: ClassVar[str] = "test-everything"
    version: ClassVar[int] = 3
    numerics: ClassVar[Numerics] = Numerics.EXACT

    part: Geometric
    weights: PublicArray
    target: Loss
    unit: Unit
    scale: Positive = Positive(1)
    labels: tuple[str, ...] = ()
    inner: Mechanism[Any, Any] | None = None

    @property
    def distance(self) -> Unit:
        return self.unit

    def plan(self) -> Plan:
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> int:
        return int(run(self.part, len(data)))


def everything(**changes: Any) -> Everything:
    standard: dict[str, Any] = {
        "part": Geometric(scale="1/3"),
        "weights": PublicArray([[1.5, 2.0], [0.1, -3.0]]),
        "target": ApproxDP(1, "1e-6"),
        "unit": person("person", Relation.REPLACE),
        "scale": "22/7",
        "labels": ("a", "b"),
    }
    return Everything(**(standard | changes))


def through_json(spec: Any) -> Any:
    return json.loads(json.dumps(spec))


# Round trips.


@pytest.mark.parametrize("name", sorted(registered()))
def test_every_registered_example_survives_json(name: str) -> None:
    for example in find(name).examples():
        survives_json(example.mechanism)


def survives_json(mechanism: Any) -> None:
    again = from_spec(through_json(to_spec(mechanism)))
    assert again == mechanism
    assert type(again) is type(mechanism)
    assert digest(again) == digest(mechanism)
    assert again.loss(1) == mechanism.loss(1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"target": PureDP(1, rho="1/8")},
        {"target": ZCDP("1/2", "1e-9")},
        {"unit": ROW},
        {"unit": w_event(7)},
        {"weights": PublicArray(np.array([True, False]))},
        {"weights": PublicArray(np.array([[2**62, -1]]))},
        {"weights": PublicArray(np.array([0.1, 5e-324, -0.0]))},
        {"weights": PublicArray(np.arange(3, dtype=np.uint8))},
        {"inner": Exponential(candidates=2, scale=1)},
        {"labels": (1, ("nested", (True, None)))},
    ],
)
def test_every_kind_of_field_survives_json(changes: dict[str, Any], own_registry: None) -> None:
    register(examples=list, source="a test")(Everything)
    mechanism = everything(**changes)
    again = from_spec(through_json(to_spec(mechanism)))
    assert again == mechanism
    assert digest(again) == digest(mechanism)


@given(rationals(F(1, 10**9), 10**9))
def test_any_number_survives_json(scale: Fraction) -> None:
    for mechanism in (Geometric(scale=scale), Laplace(scale=scale), NoisyMax(candidates=2, scale=scale, grid=scale)):
        assert from_spec(through_json(to_spec(mechanism))) == mechanism


def test_very_long_numbers_survive_json() -> None:
    scale = F(3**1000, 2**1600)
    assert from_spec(through_json(to_spec(Geometric(scale=scale)))).scale == scale  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("writings", "build"),
    [
        ((0.5, "1/2", "0.5", "5e-1", F(1, 2), Decimal("0.50"), np.float32(0.5)), lambda x: Geometric(scale=x)),
        ((0.1, "0.1", "1/10", Decimal("0.1"), F(1, 10)), lambda x: Laplace(scale=x)),
        ((2, 2.0, "2", np.int8(2), F(2)), lambda x: Exponential(candidates=3, scale=x, grid=x)),
        ((3, (3,), [3], np.int64(3)), lambda x: Gaussian(sigma=1, shape=x)),
        ((None, "1/1024"), lambda x: Laplace(scale=1, grid=x)),
    ],
)
def test_a_digest_does_not_depend_on_how_a_number_was_written(writings: tuple[Any, ...], build: Any) -> None:
    assert len({digest(build(writing)) for writing in writings}) == 1
    assert len({build(writing) for writing in writings}) == 1


def test_digests_differ_where_requests_do() -> None:
    examples = [example.mechanism for entry in registered().values() for example in entry.examples()]
    distinct = [*examples, Geometric(scale="1/2"), Geometric(scale="1/2", shape=1), Geometric(scale="0.500001")]
    assert len({digest(mechanism) for mechanism in distinct}) == len(set(distinct))


def test_a_digest_is_the_same_in_every_process() -> None:
    script = "from dither.mechanisms import *; print(digest(TopK(candidates=9, chosen=2, scale='1/3', one_way=True)))"
    here = digest(TopK(candidates=9, chosen=2, scale="1/3", one_way=True))
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == here


# Reading is closed.

GOOD = {"mechanism": "geometric", "version": 1, "parameters": {"shape": [], "scale": {"number": "1"}}}


def with_scale(scale: Any) -> dict[str, Any]:
    return {**GOOD, "parameters": {"shape": [], "scale": scale}}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


HOSTILE: list[Any] = [
    None,
    [],
    "geometric",
    {},
    {**GOOD, "extra": 1},
    {"mechanism": "geometric", "version": 1},
    {**GOOD, "parameters": []},
    {**GOOD, "parameters": {}},
    {**GOOD, "parameters": {"shape": []}},
    {**GOOD, "parameters": {"shape": [], "scale": {"number": "1"}, "seed": 7}},
    {**GOOD, "mechanism": "os.system"},
    {**GOOD, "mechanism": "__import__('os').system('true')"},
    {**GOOD, "mechanism": "dither.mechanisms.geometric.Geometric"},
    {**GOOD, "mechanism": "Geometric"},
    {**GOOD, "mechanism": ["geometric"]},
    {**GOOD, "mechanism": None},
    {**GOOD, "version": 2},
    {**GOOD, "version": 0},
    {**GOOD, "version": "1"},
    {**GOOD, "version": True},
    {**GOOD, "version": 1.0},
    {**GOOD, "version": None},
    with_scale(0.5),
    with_scale(float("nan")),
    with_scale({"number": 0.5}),
    with_scale({"number": 1}),
    with_scale({"number": None}),
    with_scale({"number": "nan"}),
    with_scale({"number": "1/0"}),
    with_scale({"number": "1e999999999"}),
    with_scale({"number": "9" * 10**6}),
    with_scale({"number": "__import__('os')"}),
    with_scale({"number": "1", "extra": 1}),
    with_scale({"number": "-1"}),
    with_scale({"number": "0"}),
    with_scale(True),
    with_scale([1]),
    with_scale(GOOD),
    with_scale({"loss": {"kind": "pure", "epsilon": "1"}}),
    with_scale({"loss": {"kind": "pure"}}),
    with_scale({"loss": {"kind": ["pure"]}}),
    with_scale({"loss": {"kind": "pure", "epsilon": "1", "evil": 1}}),
    with_scale({"loss": None}),
    with_scale({"unit": ["row", "ADD_REMOVE", ""]}),
    with_scale({"unit": ["row", "__class__", ""]}),
    with_scale({"unit": ["row", "ADD_REMOVE"]}),
    with_scale({"unit": [1, 2, 3]}),
    with_scale({"array": [1.0], "dtype": "<f8", "shape": [1]}),
    with_scale({"array": [1.0], "dtype": "O", "shape": [1]}),
    with_scale({"array": [[1.0], [2.0, 3.0]], "dtype": "<f8", "shape": [2]}),
    with_scale({"array": [1.0], "dtype": "<f8", "shape": [10**12]}),
    with_scale({"array": [1.0], "dtype": "<f8", "shape": "x"}),
    with_scale({"array": ["a"], "dtype": "<f8", "shape": [1]}),
    with_scale({"array": [], "dtype": "<f8", "shape": [0]}),
    with_scale({"array": [float("nan")], "dtype": "<f8", "shape": [1]}),
    with_scale({"array": [10**30], "dtype": "<i8", "shape": [1]}),
    with_scale(b"1"),
    with_scale(object()),
    with_scale({1: 2}),
    {**GOOD, "parameters": {"shape": nested(40), "scale": {"number": "1"}}},
    {**GOOD, "parameters": {"shape": nested(10**5), "scale": {"number": "1"}}},
    {**GOOD, "parameters": {"shape": [0], "scale": {"number": "1"}}},
    {**GOOD, "parameters": {"shape": ["a"], "scale": {"number": "1"}}},
    {1: 1, "mechanism": "geometric", "version": 1},
]


@pytest.mark.parametrize("spec", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_requests_are_refused_by_an_error_of_our_own(spec: Any) -> None:
    with pytest.raises(DitherError) as refusal:
        from_spec(spec)
    assert isinstance(refusal.value, InvalidParameter | UnknownMechanism)
    assert len(str(refusal.value)) < 500


def test_the_good_one_is_read() -> None:
    assert from_spec(GOOD) == Geometric(scale=1)


def deep_mechanism(depth: int) -> dict[str, Any]:
    spec: dict[str, Any] = to_spec(everything())
    for _ in range(depth):
        spec = {**spec, "parameters": {**spec["parameters"], "inner": spec}}
    return spec


def test_depth_is_limited(own_registry: None) -> None:
    register(examples=list, source="a test")(Everything)
    assert from_spec(deep_mechanism(10)).loss(1).pure == 3
    for depth in (17, 200):
        with pytest.raises(InvalidParameter, match="nested at most 16 deep"):
            from_spec(deep_mechanism(depth))


def test_versions_and_names_are_named(own_registry: None) -> None:
    with pytest.raises(UnknownMechanism, match="no mechanism is registered as 'test-nobody'"):
        from_spec({**GOOD, "mechanism": "test-nobody"})
    with pytest.raises(UnknownMechanism, match="geometric has version 1 here, the request has 2"):
        from_spec({**GOOD, "version": 2})


def test_reading_imports_nothing_evaluates_nothing_and_opens_nothing() -> None:
    """An audit hook sees every import, compilation, execution, file and process: none while a request is read."""
    script = """
import json, sys
from dither.errors import DitherError
from dither.mechanisms import from_spec, registered, to_spec
specs = [to_spec(e.mechanism) for entry in registered().values() for e in entry.examples()]
specs = [json.loads(json.dumps(spec)) for spec in specs]
# What fields may hold is read off the annotations of our own records, once.
for spec in specs:
    from_spec(spec)
specs += json.loads(sys.stdin.read())
seen, watching = [], False
watched = {"import", "exec", "compile", "open", "os", "subprocess", "socket", "ctypes", "pickle", "code"}
def hook(event, arguments):
    if watching and event.split(".")[0] in watched:
        seen.append(event)
sys.addaudithook(hook)
watching = True
for spec in specs:
    try:
        from_spec(spec)
    except DitherError:
        pass
watching = False
assert len(specs) > 60, len(specs)
while_reading = sorted(set(seen))
watching = True
exec(compile("import colorsys", "twin", "exec"))
watching = False
print(json.dumps([while_reading, sorted(set(seen))]))
"""
    plain = [spec for spec in HOSTILE if is_json(spec)]
    done = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(plain), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    while_reading, with_the_twin = json.loads(done.stdout)
    assert while_reading == []
    # The twin: the same hook sees code that is compiled, run and imported.
    assert {"compile", "exec", "import"} <= set(with_the_twin)


def is_json(spec: Any) -> bool:
    try:
        return json.loads(json.dumps(spec)) == spec
    except (TypeError, ValueError, RecursionError):
        return False


# Writing refuses what has no place.


@pytest.mark.parametrize(
    "misfit",
    [0.5, 1j, object(), {"a": 1}, [1], np.array([1]), np.int64(3), len, Relation.REPLACE, Geometric],
    ids=lambda x: type(x).__name__,
)
def test_what_has_no_place_in_a_request_is_refused(misfit: Any) -> None:
    with pytest.raises(NotSerialisable, match="has no place in a request"):
        to_spec(everything(inner=misfit))


@pytest.mark.parametrize("dtype", [">f8", "<u8", "<f2", "<i2", np.longdouble])
def test_an_array_that_could_not_be_read_back_is_not_written(dtype: Any) -> None:
    with pytest.raises(NotSerialisable, match="has no place in a request"):
        to_spec(everything(weights=PublicArray(np.array([1, 2], dtype=dtype))))


# Public arrays.


def test_public_arrays_are_values() -> None:
    source = np.array([1.0, 2.0])
    array = PublicArray(source)
    source[0] = 9
    assert array.values.tolist() == [1.0, 2.0]
    assert array == PublicArray([1.0, 2.0])
    assert len({array, PublicArray([1.0, 2.0]), PublicArray([1, 2]), PublicArray([[1.0, 2.0]])}) == 3
    assert array != [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        array.values[0] = 3
    with pytest.raises(AttributeError):
        array.values = source  # type: ignore[misc]
    assert (np.asarray(array) * 2).tolist() == [2.0, 4.0]
    assert "sha256" in repr(array)


@pytest.mark.parametrize("values", [[], [[]], ["a"], [None], [1j], [float("nan")], [float("inf")], [object()], {}])
def test_public_arrays_are_arrays_of_finite_numbers(values: Any) -> None:
    with pytest.raises(InvalidParameter, match="values must be"):
        PublicArray(values)


# The registry.


def test_registered_names_are_found() -> None:
    assert set(registered()) >= {"laplace", "gaussian", "geometric", "exponential", "above-threshold"}
    assert find("laplace").mechanism is Laplace
    assert find("laplace").summary.startswith("Add Laplace noise")
    with pytest.raises(UnknownMechanism, match="such as laplace"):
        find("laplce")
    with pytest.raises(UnknownMechanism, match="no such thing"):
        find("no such thing")
    with pytest.raises(TypeError):
        registered()["laplace"] = find("gaussian")  # type: ignore[index]


def test_examples_are_made_when_a_check_runs_and_not_before(own_registry: None) -> None:
    calls = []

    def examples() -> Iterator[Example]:
        calls.append(1)
        yield Example(everything(), [1])

    register(examples=examples, source="a test")(Everything)
    assert calls == []
    assert len(list(find("test-everything").examples())) == 1


def test_only_frozen_records_with_a_name_are_registered(own_registry: None) -> None:
    add = register(examples=list, source="a test")

    @dataclass(kw_only=True)
    class Mutable(Composed[Any, int]):
        name: ClassVar[str] = "test-mutable"

    class NoRecord(Composed[Any, int]):
        name: ClassVar[str] = "test-no-record"

    for kind in (Mutable, NoRecord):
        with pytest.raises(InvalidParameter, match="mechanism must be a frozen dataclass"):
            add(kind)
    for bad in ("", "Upper", "two words", None, 7):
        renamed = type("Renamed", (Everything,), {"name": bad})
        with pytest.raises(InvalidParameter, match="name must be"):
            add(renamed)
    taken = type("Taken", (Everything,), {"name": "laplace"})
    with pytest.raises(InvalidParameter, match="name must be new"):
        add(taken)
    assert find("laplace").mechanism is Laplace
