"""Small problems use one thread of linear algebra, and leave the setting as it was."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import scipy.linalg

from dither.estimate.one_thread import LARGE, _libraries, one_thread, threads

pytestmark = pytest.mark.skipif(not threads(), reason="linear algebra here is not OpenBLAS")


@pytest.fixture(autouse=True)
def two() -> Iterator[None]:
    """Ask for two threads, where the machine has as many, and put back what was there."""
    before = {path: library.get() for path, library in _libraries().items()}
    for library in _libraries().values():
        library.set(2)
    yield
    for path, library in _libraries().items():
        library.set(before[path])


def test_inside_there_is_one_and_outside_what_was_there() -> None:
    before = threads()
    with one_thread():
        assert set(threads()) == {1}
        with one_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert threads() == before


def test_an_error_puts_the_setting_back() -> None:
    before = threads()
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert threads() == before


def test_a_large_problem_keeps_its_threads() -> None:
    before = threads()
    with one_thread(LARGE + 1):
        assert threads() == before
    with one_thread(LARGE):
        assert set(threads()) == {1}


def test_the_last_of_several_threads_puts_the_setting_back() -> None:
    before, met = threads(), Barrier(2)

    def short() -> None:
        with one_thread():
            met.wait(10)
        met.wait(10)

    def long() -> list[int]:
        with one_thread():
            met.wait(10)
            met.wait(10)
            return threads()

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(short), pool.submit(long)
        first.result()
        assert set(second.result()) == {1}
    assert threads() == before


def test_linear_algebra_works_inside() -> None:
    with one_thread():
        assert np.allclose(scipy.linalg.inv(np.eye(3)), np.linalg.inv(np.eye(3)))


def test_strategies_are_searched_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    from dither.publish.workloads import Workload, optimise

    seen: list[int] = []
    error = optimise._p_identity_error

    def watched(*given: object) -> object:
        seen.extend(threads())
        return error(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(optimise, "_p_identity_error", watched)
    optimise.opt_kron(optimise.terms_of(Workload.all_ranges(8).matrix), iterations=2)
    assert set(seen) == {1}
