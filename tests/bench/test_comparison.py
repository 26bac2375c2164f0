"""The comparison resumes, gives every method the same counts, and ranks by what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dither.bench import comparison
from dither.bench.comparison import Outcome, Trial, compare, run_trial, shapes, standings, trials
from dither.errors import InvalidParameter


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DITHER_DATA", raising=False)


def test_a_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = list(trials([100], [16], ["1"], methods=["identity", "uniform"], names=["flat", "sparse"], repeats=2))
    record, ran = tmp_path / "results.jsonl", []
    monkeypatch.setattr(comparison, "run_trial", lambda trial: ran.append(trial) or run_trial(trial))
    compare(wanted[:2], record)
    record.write_text(record.read_text() + '{"shape": "fl')  # a line cut off by a stop
    record.write_text(record.read_text() + "\n")
    steps: list[tuple[int, int]] = []
    outcomes = compare(wanted, record, progress=lambda done, of: steps.append((done, of)))
    assert ran == wanted
    assert [outcome.trial for outcome in outcomes] == wanted
    assert steps == [(3, 4), (4, 4)]
    assert compare(wanted, record) == outcomes


def test_processes_find_what_one_finds(tmp_path: Path) -> None:
    wanted = list(trials([10**4], [16], ["1"], methods=["identity"], names=["flat", "skewed"], repeats=2))
    outcomes = compare(wanted, tmp_path / "results.jsonl", processes=2)
    assert [outcome.trial for outcome in outcomes] == wanted
    assert all(0 < outcome.error < 1 for outcome in outcomes)


def test_errors_are_scaled_as_the_protocol_says() -> None:
    # A flat estimate of flat counts, at a loss so large that noise is nothing: what is left is the draw of the rows.
    outcome = run_trial(Trial("flat", 10**6, 16, "100000", "identity", 2))
    assert outcome.error == 0
    assert run_trial(Trial("skewed", 10**4, 16, "1", "uniform", 2)).error > 0.01
    assert Outcome.from_json(outcome.to_json()) == outcome


def test_standings_are_ratios_to_the_best_plain_method() -> None:
    def outcome(shape: str, method: str, error: float) -> Outcome:
        return Outcome(Trial(shape, 1, 2, "1", method, 2), error, 0.0)

    found = standings(
        [
            *(outcome("a", "identity", 4.0), outcome("a", "dawa", 2.0), outcome("a", "auto", 1.0)),
            *(outcome("b", "identity", 3.0), outcome("b", "dawa", 6.0), outcome("b", "auto", 6.0)),
        ]
    )
    by_name = {one.method: one for one in found}
    assert by_name["auto"].median_ratio == pytest.approx(1.25)
    assert by_name["auto"].worst_ratio == pytest.approx(2)
    assert by_name["auto"].to_identity == pytest.approx(2)
    assert (by_name["identity"].wins, by_name["dawa"].wins, by_name["auto"].wins) == (1, 1, 0)


def test_real_shapes_come_from_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    folder = tmp_path / "histograms"
    folder.mkdir()
    with gzip.open(folder / "dpbench_1d.csv.gz", "wt") as stream:
        stream.write("ONE,TWO\n" + "".join(f"{k},1\n" for k in range(8)))
    monkeypatch.setenv("DITHER_DATA", str(tmp_path))
    found = shapes(4)
    assert list(found) == ["ONE", "TWO"]
    assert np.allclose(found["ONE"] * 28, [1, 5, 9, 13])
    with pytest.raises(InvalidParameter, match="divisor"):
        shapes(3)
    monkeypatch.setenv("DITHER_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidParameter, match="DITHER_DATA"):
        shapes(4)
    assert json.loads(Trial("a", 1, 2, "1", "auto", 2).key)["method"] == "auto"
