"""Raw rows of a caller's own classes: each has one meaning, and none raises, hangs or moves another row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np
import pytest

from dither.checks.foreign import check_foreign_rows
from dither.checks.violation import ContractViolation
from dither.mechanisms import Composed, DiscreteGaussian, Example, Geometric, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.values import raw_entries, raw_item, raw_number, raw_set, raw_text
from dither.mechanisms.function_release import FunctionRelease
from dither.mechanisms.sample_and_aggregate import plain
from dither.mechanisms.stability_selection import StabilitySelection, persons_of
from dither.privacy import ROW, Plan, Unit, Use
from dither.publish.histograms.sparse_filter import rows_of
from dither.publish.histograms.stability_histogram import StabilityHistogram
from dither.testing.foreign import foreign_rows


def refuse(*_: Any) -> NoReturn:
    raise ValueError("a secret")


def own(base: type, *content: Any) -> Any:
    """Return an object that extends a class and raises whatever it is asked."""
    asked = ("eq", "hash", "len", "index", "iter", "float", "int", "str", "repr", "lt", "ge", "ne", "truediv", "pos")
    names = [f"__{name}__" for name in asked if hasattr(base, f"__{name}__")]
    return type("Own", (base,), dict.fromkeys(names, refuse))(*content)


def test_a_row_is_what_its_class_extends() -> None:
    assert [raw_number(own(kind, 3)) for kind in (int, float, Fraction)] == [3, 3.0, Fraction(3)]
    assert raw_text(own(str, "a")) == "a"
    for kind in (list, tuple, set, frozenset):
        assert raw_entries(own(kind, [7])) == raw_set(own(kind, [7])) == [7]
    hidden = np.ma.array([1, 2], mask=[True, False])
    assert raw_entries(hidden) == raw_set(hidden) == [None, 2]
    assert raw_item(np.array("a")) == "a"


def test_what_is_longer_than_memory_is_cut_or_nothing() -> None:
    shown = np.broadcast_to(np.array("a"), (10**12,))
    assert raw_entries(shown) is None
    assert raw_entries(shown, 2) == ["a", "a"]
    assert raw_set(shown) == ["a"]
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(2**18), 2**17)
    assert raw_entries(windows) is None
    assert raw_set(windows) == []
    assert raw_entries(range(10**30)) is None
    assert raw_entries(range(10**30), 3) == [0, 1, 2]


def test_a_bin_takes_numbers_of_every_class_and_length() -> None:
    selection = StabilitySelection(unit=ROW, max_keys=1, scale=2, threshold=4)
    bin_of = StabilityHistogram(width="1/2", selection=selection)._bin
    assert [bin_of(own(kind, 3)) for kind in (int, float, Fraction)] == ["6", "6", "6"]
    assert [bin_of(row) for row in (own(str, "3"), own(object), True, np.nan, None, range(3))] == [()] * 6
    # As far as the farthest bin, and one step before it.
    farthest = 10**300
    assert bin_of(Fraction(farthest - 1, 2)) == str(farthest - 1)
    assert {bin_of(number) for number in (Fraction(farthest, 2), 10**400, 10**5000, 1e308)} == {str(farthest)}
    assert bin_of(Fraction(-(10**5000), 3)) == str(-farthest)
    assert bin_of(Fraction(-1, 10**5000)) == "-1"


def test_keys_of_a_row_are_read_by_the_class_that_it_extends() -> None:
    rows = [own(str, "a"), own(list, ["a", own(str, "b")]), own(set, ["a"]), own(object), range(10**12)]
    shown = np.broadcast_to(np.array(["a", "c"]), (10**12, 2))
    assert persons_of([*rows, shown], None) == Counter({"a": 4, "b": 1, "c": 1})


def test_a_record_is_a_row_of_the_declared_width_or_nowhere() -> None:
    points = PublicArray(np.array([[0, 0]]))
    released = FunctionRelease(
        unit=ROW, points=points, grid=1, radius=6, bits=4, length=20, noise=DiscreteGaussian(sigma=40)
    )
    nowhere = released._record(None, 2)
    odd = (range(3), range(10**30), np.broadcast_to(1.0, (10**12,)), {1, 2}, own(object), [1, own(object)], [[1], [2]])
    assert [released._record(row, 2) for row in odd] == [nowhere] * len(odd)
    found = (range(1, 3), own(list, [own(int, 1), own(float, 2.0)]), ("1", np.float32(2.5)), np.array([1, 2]))
    assert [released._record(row, 2) for row in found] == [[1, 2]] * len(found)
    assert [released._record(row, 1) for row in (1, own(float, 1.5), np.array(1.0), "1")] == [[1]] * 4


def test_cells_are_numbers_of_pythons_own_class() -> None:
    assert rows_of([1, np.int32(1), own(object), own(int, 1), True, 10**5000]) == Counter({1: 2, 10**5000: 1})


def test_plain_rows_end() -> None:
    shared: list[Any] = [1]
    for _ in range(64):
        shared = [shared, shared]
    assert plain(shared) is None
    assert plain(np.broadcast_to(1, (10**12,))) is None
    assert plain([own(int, 1), own(str, "a"), own(bytes, b"b"), own(tuple, [2])]) == (1, "a", b"b", (2,))
    assert plain(np.zeros(2**17)) == (0,) * 2**17
    assert plain([0] * 2**17) is None
    record = np.array([(1, "a")], dtype=[("n", int), ("t", "U1")])[0]
    assert plain(record) == (1, "a")


@pytest.mark.parametrize("read", [raw_number, raw_text, raw_item, raw_entries, raw_set, plain])
def test_no_object_raises(read: Any) -> None:
    for row in foreign_rows():
        read(row)


@dataclass(frozen=True, kw_only=True)
class _Asking(Composed[Any, int]):
    """Counts the rows that equal 1, by asking them."""

    name: ClassVar[str] = "asking"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    @property
    def distance(self) -> Unit:
        return ROW

    def plan(self) -> Plan:
        return Use(Geometric(scale=1))

    def release(self, data: Any, run: Any) -> int:
        return run(Geometric(scale=1), self.counted(data))  # type: ignore[no-any-return]

    def counted(self, data: Any) -> int:
        return sum(1 for row in data if row == 1)


@dataclass(frozen=True, kw_only=True)
class _Looking(_Asking):
    """Counts the rows that are 1, all of them twice where one row is no number."""

    def counted(self, data: Any) -> int:
        found = [raw_number(row) for row in data]
        return sum(1 for number in found if number == 1) * (2 if None in found else 1)


@dataclass(frozen=True, kw_only=True)
class _Reading(_Asking):
    """Counts the rows that are 1."""

    def counted(self, data: Any) -> int:
        return sum(1 for row in data if raw_number(row) == 1)


def test_the_check_refuses_who_asks_the_rows() -> None:
    check_foreign_rows(Example(_Reading(), [1, 1, 2]))
    with pytest.raises(ContractViolation, match="exception depends on data"):
        check_foreign_rows(Example(_Asking(), [1, 1, 2]))
    with pytest.raises(ContractViolation, match="moved too far"):
        check_foreign_rows(Example(_Looking(), [1, 1, 2]))
