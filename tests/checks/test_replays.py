"""Replay where leaks hide: all that is registered passes, and each check is stopped by what it is for."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.checks import ContractViolation
from dither.checks.sampling import check_many_rows, check_poisson_sample, check_sampled_price
from dither.mechanisms import Composed, Example, Interactive, find, registered
from dither.mechanisms.core.runner import Runner
from dither.privacy import L1, L2, ROW, ROW_REPLACED
from dither.testing.replay import run_watched
from dither.testing.sizes import crowded_pairs, far_pairs, large_pairs, wide_example, wide_pairs
from dither.testing.widened import NARROW, RULES, reason_to_stay_narrow
from dither.testing.wild import TURNS, canned, other_value

PLANNED = [name for name, entry in registered().items() if issubclass(entry.mechanism, Composed | Interactive)]
#: In a new interpreter, all that is registered: nothing of it was run before, but for the loading of it.
FRESH = """
from dither.checks.replays import check_histories
from dither.mechanisms import registered
check_histories([example for entry in registered().values() for example in entry.examples()])
print("the same")
"""


def test_no_mechanism_keeps_anything_between_runs() -> None:
    ended = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("the same\n", "")


def first(name: str) -> Example:
    return next(iter(find(name).examples()))


def is_refused(mechanism: Any, data: Any) -> bool:
    return run_watched(mechanism, data, canned(mechanism.plan()), is_large=True).failure is not None


@pytest.mark.parametrize("name", PLANNED)
def test_every_class_has_a_wide_instance_or_a_reason(name: str) -> None:
    example = first(name)
    wide = wide_example(example)
    assert (wide is None) == (reason_to_stay_narrow(name) is not None)
    if wide is not None:
        pairs = wide_pairs(wide)
        assert [pair for pair in pairs if not is_refused(wide.mechanism, pair[0])]
    elif name not in ("gaussian-process", "parent-child"):
        # The reasons of these two hold for large data as well.
        assert [pair for pair in large_pairs(example) if not is_refused(example.mechanism, pair[0])]


def test_reasons_are_about_classes_that_there_are() -> None:
    assert NARROW.keys() <= set(PLANNED)
    assert RULES.keys() <= set(PLANNED)
    assert not NARROW.keys() & RULES.keys()
    assert all(reason for reason in NARROW.values())


def test_most_classes_have_large_crowded_and_far_instances() -> None:
    large = [name for name in PLANNED if large_pairs(first(name))]
    crowded = [name for name in PLANNED if crowded_pairs(first(name))]
    far = [name for name in PLANNED if list(far_pairs(first(name)))]
    assert len(large) == len(crowded) >= 0.9 * len(PLANNED)
    assert len(far) >= 0.9 * len(PLANNED)


def test_a_crowd_is_beyond_five_thousand() -> None:
    ((here, there, _),) = crowded_pairs(first("noisy-moments"))
    assert min(len(here), len(there)) >= 6000
    crowded, huge, *edges = crowded_pairs(first("identity-histogram"))
    assert crowded[0].sum() >= 10**6
    assert huge[0].min() > 2**32
    assert huge[0].max() == 2**60
    for counts, more, apart in (crowded, huge, *edges):
        assert L1.measure(counts, more) == apart == 1
    narrow = (np.int16, np.float32, np.int32, np.uint32, np.float64)
    for (below, above, _), kind in zip(edges, narrow, strict=True):
        cast = [int(side.astype(kind).flat[side.size // 2]) for side in (below, above)]
        assert abs(cast[1] - cast[0]) > 1


@pytest.mark.parametrize("name", ["noisy-moments", "block-clusters", "identity-histogram", "independent"])
def test_large_and_far_pairs_are_as_far_apart_as_they_say(name: str) -> None:
    for example in find(name).examples():
        distance = example.mechanism.distance
        for here, there, apart in (*large_pairs(example), *far_pairs(example)):
            if distance in (L1, L2):
                assert distance.measure(here, there) == apart
                continue
            one, other = ([row.tobytes() for row in np.asarray(side) + 0.0] for side in (here, there))
            missing = sum(max(one.count(row) - other.count(row), 0) for row in set(one))
            extra = sum(max(other.count(row) - one.count(row), 0) for row in set(other))
            if distance == ROW_REPLACED:
                assert len(one) == len(other)
                assert max(missing, extra) <= apart
            else:
                assert missing + extra <= apart
            assert distance in (ROW, ROW_REPLACED) or distance.name == "RECORDS"


def test_large_data_have_three_hundred_rows() -> None:
    (here, there, apart), *_ = large_pairs(first("noisy-moments"))
    assert apart == 1
    assert {len(here), len(there)} == {300, 301}


@pytest.mark.parametrize("turn", range(TURNS))
def test_canned_draws_are_the_same_for_all_data(turn: int) -> None:
    example = first("identity-histogram")
    mechanism: Any = example.mechanism
    data = [example.data, example.data + 5, np.zeros_like(example.data)]
    outs = [mechanism.release(one, canned(mechanism.plan(), turn=turn)) for one in data]
    assert [out.tolist() for out in outs] == [outs[0].tolist()] * 3
    assert mechanism.part.domain.admit(other_value(mechanism.part, example.data, turn)) is not None


@pytest.mark.statistical(n=3000, false_alarm=1e-10, catches="rows that are sampled by their place in a longer table")
def test_rows_at_every_place_are_sampled_alike() -> None:
    check_many_rows(3000, 1e-10)


def test_samples_of_few_rows_have_exactly_their_law() -> None:
    for rate in (Fraction(1, 7), Fraction(1, 2), Fraction(9, 10), Fraction(1)):
        check_poisson_sample(rate)
        check_sampled_price(rate)


def test_the_first_rows_are_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of all tests of samples: rows by their place."""
    monkeypatch.setattr(Runner, "_sample", lambda self, data, rate: np.arange(len(data)) < rate * len(data))
    with pytest.raises(ContractViolation, match="Poisson sample"):
        check_poisson_sample(Fraction(1, 2))
    with pytest.raises(ContractViolation, match="Poisson sample"):
        check_many_rows(500, 1e-10)
