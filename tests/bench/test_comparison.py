"""The comparison resumes, refuses unknown names, and ranks by what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dither.bench.compared import histograms
from dither.bench.comparison import Grid, Outcome, Trial, compare, standings
from dither.errors import InvalidParameter
from dither.privacy import ApproxDP, PureDP


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DITHER_DATA", raising=False)


def small(**rest: object) -> Grid:
    known = {"methods": ["identity", "uniform"], "shapes": ["flat", "sparse"], "asked": ["prefixes"], "repeats": 2}
    return Grid([100], [16], ["1"], **{**known, **rest})  # type: ignore[arg-type]


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    wanted = histograms.trials(small())
    record, ran = tmp_path / "results.jsonl", []

    def run(trial: Trial) -> Outcome:
        ran.append(trial)
        return histograms.run(trial)

    compare(wanted[:2], record, run=run)
    # A line cut off by a stop, and lines that are no record at all.
    record.write_text(record.read_text() + '{"shape": "fl\n[]\n7\n')
    steps: list[tuple[int, int]] = []
    outcomes = compare(wanted, record, run=run, progress=lambda done, of: steps.append((done, of)))
    assert ran == wanted
    assert [outcome.trial for outcome in outcomes] == wanted
    assert steps == [(3, 4), (4, 4)]
    assert compare(wanted, record, run=run) == outcomes
    assert len(ran) == 4


def test_processes_find_what_one_finds(tmp_path: Path) -> None:
    wanted = histograms.trials(small(methods=["identity"]))
    outcomes = compare(wanted, tmp_path / "results.jsonl", run=histograms.run, processes=2)
    assert [outcome.trial for outcome in outcomes] == wanted
    assert all(0 < outcome.error < 1 for outcome in outcomes)


@pytest.mark.parametrize("rest", [{"methods": ["magic"]}, {"shapes": ["round"]}, {"asked": ["medians"]}])
def test_unknown_names_are_refused(rest: dict[str, list[str]]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(rest))):
        histograms.trials(small(**rest))


def test_a_trial_is_one_line_and_lines_of_an_older_form_are_read() -> None:
    trial = Trial("a", 1, 2, "1", "auto", 2)
    assert trial.loss == PureDP(1)
    assert Trial("a", 1, 2, "1", "auto", 2, delta="1/1000").loss == ApproxDP(1, "1/1000")
    outcome = Outcome.of(trial, [1.0, 3.0])
    assert (outcome.error, outcome.standard_error) == (2.0, pytest.approx(1.0))
    assert Outcome.from_json(outcome.to_json()) == outcome
    plain = {"shape": "a", "scale": 1, "cells": 2, "epsilon": "1", "method": "auto", "repeats": 2}
    read = Outcome.from_json(json.dumps({**plain, "error": 2.0, "standard_error": 1.0}))
    assert read.trial.key == trial.key


def test_all_methods_get_the_same_rows() -> None:
    one, other = (Trial("a", 100, 4, "1", method, 2) for method in ("identity", "dawa"))
    assert one.generator(0).integers(10**9) == other.generator(0).integers(10**9)
    assert one.generator(0).integers(10**9) != one.generator(1).integers(10**9)


def test_standings_are_ratios_to_the_best_plain_method() -> None:
    def outcome(shape: str, method: str, error: float, asked: str = "prefixes") -> Outcome:
        return Outcome(Trial(shape, 1, 2, "1", method, 2, asked), error, 0.0)

    found = standings(
        [
            *(outcome("a", "identity", 4.0), outcome("a", "dawa", 2.0), outcome("a", "auto", 1.0)),
            *(outcome("b", "identity", 3.0), outcome("b", "dawa", 6.0), outcome("b", "auto", 6.0)),
            *(outcome("a", "identity", 0.0, "cells"), outcome("a", "dawa", 5.0, "cells")),
        ],
        choosers=["auto"],
    )
    by_name = {one.method: one for one in found if one.asked == "prefixes"}
    assert by_name["auto"].median_ratio == pytest.approx(1.25)
    assert by_name["auto"].worst_ratio == pytest.approx(2)
    assert by_name["auto"].to_baseline == pytest.approx(2)
    assert (by_name["identity"].wins, by_name["dawa"].wins, by_name["auto"].wins) == (1, 1, 0)
    # Other queries are ranked on their own; no error at all is infinitely better than some.
    others = {one.method: one.worst_ratio for one in found if one.asked == "cells"}
    assert others == {"identity": 1.0, "dawa": float("inf")}
