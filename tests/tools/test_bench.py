"""The benchmark measures what it says it measures; no test asserts a time."""

from __future__ import annotations

import pytest

from dither.mechanisms import InteractivePrimitive, Primitive, registered
from tools.bench.clock import best_seconds, load
from tools.bench.noise import (
    SCALES,
    measure_noise,
    nanoseconds_per_random_byte,
    peak_bytes_per_sample,
    time_value_correlation,
)
from tools.bench.primitives import measure_primitives


def test_every_law_and_scale_is_measured() -> None:
    figures = measure_noise(samples=2000)
    assert [(one.law, one.scale) for one in figures] == [(law, s) for law in ("laplace", "gaussian") for s in SCALES]
    assert all(one.nanoseconds > 0 and one.numpy_nanoseconds > 0 for one in figures)
    assert all(one.opendp_nanoseconds is None for one in figures)
    assert figures[0].to_dict()["goal"] == 40.0


def test_every_primitive_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is measured is the question here, not how well.
    monkeypatch.setattr("tools.bench.primitives._ONE_BY_ONE", 10)
    monkeypatch.setattr("tools.bench.primitives._IN_BULK", 500)
    figures = measure_primitives()
    primitives = [
        kind for kind in registered().values() if issubclass(kind.mechanism, Primitive | InteractivePrimitive)
    ]
    assert len(figures) == len(primitives)
    assert all(one.microseconds_alone > 0 for one in figures)


def test_memory_does_not_grow_with_the_number_of_samples() -> None:
    assert max(peak_bytes_per_sample(500_000).values()) < 16


def test_the_other_figures_are_numbers() -> None:
    assert nanoseconds_per_random_byte(1 << 16) > 0
    assert all(-1 <= value <= 1 for value in time_value_correlation(200).values())
    assert best_seconds(lambda: sum(range(1000)), repeats=2) >= 0
    assert "load" in load()


def test_disguises_are_compared_by_their_definitions() -> None:
    """A figure that is pycanon's counts as the same, one that lacks values is explained, and another one is neither."""
    from tools.bench import disguise

    table = {"a": [1, 1, 2, 2], "b": ["x"] * 4, "s": ["u", "v", "u", "u"]}
    mine = disguise.ours(table)
    assert mine["delta"] == float("inf")
    theirs = {**mine, "delta": disguise.finite_delta(table), "recursive": [float("nan"), 1.0]}
    said = disguise.beside_pycanon([table], [theirs])
    assert "k | 1 | explained: 0" in said
    assert "delta | 0 | explained: 1" in said
    assert "t | 0 | explained: 0" in disguise.beside_pycanon([table], [{**theirs, "t": mine["t"] + 0.1}])
    assert disguise.rival_lines(None) == ["checkers beside pycanon: it cannot be installed here"]
    assert disguise.optima(3) == 3


def test_estimates_of_uniques_are_held_against_a_population(monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.bench import uniques

    monkeypatch.delenv("DITHER_DATA", raising=False)
    assert len(list(uniques.lines(people=60, tables=2))) == len(uniques.MODELS) * len(uniques.SHARES)
    everybody = uniques.seated(200, 0.5, 10.0)
    assert len(everybody) == 200


def test_recommenders_are_compared_and_the_truth_is_nearer_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.bench import recommenders

    monkeypatch.delenv("DITHER_DATA", raising=False)
    ratings = recommenders.made_up(persons=400, items=12, rank=1)
    found = {(loss, name): one for loss, name, one in recommenders.compared(ratings, ("0.1", None), splits=1)}
    assert {name for _, name in found} == {"means (auto)", "covariance", "means"}
    assert found["no noise", "covariance"].error < found["no noise", "means"].error < found["0.1", "covariance"].error
    assert all(0 < one.shown <= 1 and one.rarest > 0 for one in found.values())
