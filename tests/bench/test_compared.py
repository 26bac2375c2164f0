"""What is compared: every method of the catalogue, each by an error that a plain calculation confirms."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dither.bench.compared import data, grids, histograms, marginals, workloads
from dither.bench.comparison import Grid, Trial
from dither.errors import InvalidParameter
from dither.mechanisms import perform, registered

#: Parts of others, which are compared with them, and the session's wrapper of any method.
PARTS = {"bisection", "least-cost-partition", "median-cuts", "quartering-tree", "lifted"}
ROOMS = ("dither.publish.histograms.", "dither.publish.workloads.", "dither.publish.marginals.")


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DITHER_DATA", raising=False)


def one_setting(module: ModuleType, cells: int, shape: str) -> list[Trial]:
    return module.trials(Grid([200], [cells], ["1"], deltas=["0", "1/1000"], shapes=[shape], repeats=2))


def test_every_method_of_the_catalogue_is_compared() -> None:
    tried = [
        *((histograms, trial) for trial in one_setting(histograms, 16, "smooth")),
        *((grids, trial) for trial in one_setting(grids, 16, "towns")),
        *((workloads, trial) for trial in one_setting(workloads, 16, "smooth")),
        *((marginals, trial) for trial in one_setting(marginals, 4, "answers")),
    ]
    found = set()
    for module, trial in tried:
        mechanism = module.mechanism(trial)
        assert mechanism.loss(1) <= trial.loss, trial
        found.add(mechanism.name)
    wanted = {name for name, entry in registered().items() if entry.mechanism.__module__.startswith(ROOMS)}
    assert wanted - PARTS - found == set()


@pytest.mark.parametrize(
    ("module", "cells", "shape"),
    [(histograms, 8, "smooth"), (grids, 16, "towns"), (workloads, 16, "sparse"), (marginals, 4, "answers")],
    ids=["histograms", "grids", "workloads", "marginals"],
)
def test_every_trial_has_an_error(module: ModuleType, cells: int, shape: str) -> None:
    for trial in one_setting(module, cells, shape):
        outcome = module.run(trial)
        assert 0 <= outcome.error < math.inf, trial
        assert outcome.standard_error >= 0


def test_errors_are_scaled_as_the_protocol_says() -> None:
    # At a loss so large that noise is nothing, counts as they are have no error, and uniform ones that of their shape.
    trial = Trial("flat", 10**6, 16, "100000", "identity", 2)
    assert histograms.run(trial).error == 0
    trial = Trial("skewed", 10**4, 16, "100000", "uniform", 2)
    counts = [trial.generator(repeat).multinomial(10**4, data.histograms(16)["skewed"]) for repeat in range(2)]
    off = [np.linalg.norm(np.cumsum(10**4 / 16 - each)) / (10**4 * 16) for each in counts]
    assert histograms.run(trial).error == pytest.approx(np.mean(off), rel=1e-6)


def test_rectangles_are_sums_of_their_cells() -> None:
    table = np.random.default_rng(1).normal(size=(8, 8))
    asked = grids.rectangles(8)[:50]
    slow = [table[top : bottom + 1, left : right + 1].sum() for top, bottom, left, right in asked]
    assert np.allclose(grids.answers(table, asked), slow)


@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize(
    ("asked", "method"),
    [
        ("all ranges", "identity"),
        ("all ranges", "hdmm"),
        ("prefixes", "hierarchical"),
        ("marginals", "privelet"),
        ("marginals", "weighted-marginals"),
    ],
)
def test_expected_errors_are_those_of_releases(asked: str, method: str) -> None:
    """400 releases; the mean square of a linear release is within 0.4 of its expectation but for odds of 1e-9.

    The square error of all answers together has a relative deviation of at most 1.2 in one release (two Laplace numbers
    at the least), so 0.06 in the mean of 400: 0.4 is more than six deviations. Wrong units of noise (a factor 2) or a
    forgotten count of queries would be caught.
    """
    trial = Trial("flat", 50, 16, "1", method, 2, asked)
    assert workloads.fits(trial)
    mechanism, queries = workloads.mechanism(trial), workloads.workload(asked, 16)
    counts = np.arange(16)
    truth, squares = queries.answer(counts), []
    if method == "weighted-marginals":
        given = np.stack(np.unravel_index(np.repeat(np.arange(16), counts), queries.domain), axis=1).astype(np.int64)
    else:
        given = counts.reshape(queries.domain)
    for _ in range(400):
        released = perform(mechanism, given, stability=1)
        answers = queries.answer(released) if method == "privelet" else released
        squares.append(np.mean((np.asarray(answers).ravel() - truth) ** 2))
    expected = workloads.expected(method, asked, 16, "1", "0") ** 2
    assert np.mean(squares) == pytest.approx(expected, rel=0.4)
    assert workloads.run(trial).error == pytest.approx(math.sqrt(expected / queries.queries) / 50)


@pytest.mark.parametrize("method", ["contingency-table", "weighted-marginals", "priview", "data-cubes"])
def test_marginals_without_noise_are_the_true_ones(method: str) -> None:
    """At a loss of 10^8 the noise is 0 but for odds of e^-1000: what is left would be marginals mixed up."""
    trial = Trial("people", 200, 4, "100000000", method, 2, "2-way")
    sizes = data.tables()["people"].first(4).attributes.sizes
    assert len(set(sizes)) > 2
    assert marginals.run(trial).error == pytest.approx(0, abs=1e-6)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt") as stream:
        stream.write(text)


def test_real_data_comes_from_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "histograms" / "dpbench_1d.csv.gz", "ONE,TWO\n" + "".join(f"{k},1\n" for k in range(8)))
    write(tmp_path / "histograms" / "dpbench_2d_here.csv.gz", "1,0,0,0\n1,0,0,0\n0,0,0,2\n0,0,0,0\n")
    write(tmp_path / "tables" / "adult_discretised.csv.gz", "a,b\n0,1\n1,0\n")
    write(tmp_path / "tables" / "adult_discretised_domain.json.gz", json.dumps({"a": 2, "b": 3}))
    write(tmp_path / "tables" / "nltcs.csv.gz", "0,1\n0,1\n1,0\n")
    monkeypatch.setenv("DITHER_DATA", str(tmp_path))
    assert list(data.histograms(4)) == ["ONE", "TWO"]
    assert np.allclose(data.histograms(4)["ONE"] * 28, [1, 5, 9, 13])
    assert np.allclose(data.grids(4)["here"] * 4, [[2, 0], [0, 2]])
    assert data.tables()["adult"].attributes.sizes == (2, 3)
    assert data.tables()["nltcs"].first(1).rows.tolist() == [[0], [1]]
    with pytest.raises(InvalidParameter, match="divisor"):
        data.histograms(3)
    with pytest.raises(InvalidParameter, match="divisor"):
        data.grids(9)
    with pytest.raises(InvalidParameter, match="square"):
        data.grids(8)


def test_a_folder_without_data_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_DATA", str(tmp_path))
    for load in (lambda: data.histograms(4), lambda: data.grids(4), data.tables):
        with pytest.raises(InvalidParameter, match="DITHER_DATA"):
            load()
