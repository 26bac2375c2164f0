"""Kill rates of planted bugs: what counts as a kill, and what the report says."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from dither.checks import ContractViolation
from tools.mutants import __main__ as command
from tools.mutants.plants import FAMILIES, NOT_LIVE, PLANTS
from tools.mutants.plants import trial as trials
from tools.mutants.plants.trial import Tried, extent_of, rate_line, report, try_plant, try_plants

_LITTLE = extent_of(1000, 2)


def outcome(number: int, said: str) -> Tried:
    """Return an outcome."""
    return Tried(number, said, "contract" if said == "killed" else "", "", 1.0)


def test_a_plant_dies_in_a_process_of_its_own() -> None:
    (tried,) = try_plants([PLANTS[5]], processes=1, samples=1000, replays=2)
    assert tried.is_killed
    assert tried.killed_by == "contract"
    assert "check_law" in tried.said
    (late,) = try_plants([PLANTS[5]], processes=1, minutes=-1)
    assert not late.is_killed
    assert late.outcome == "out of time"


def test_a_plant_that_breaks_nothing_is_not_live() -> None:
    harmless = replace(PLANTS[1], patch=nullcontext)
    assert try_plant(harmless, _LITTLE).outcome == "not live"


@pytest.mark.parametrize(
    ("said", "is_kill"),
    [
        ("geometric-0-check_law: the laws of neighbours differ by 0.1 beyond epsilon = 1", True),
        ("geometric-0-check_json_round_trip: the record does not survive JSON", False),
        ("geometric-0-check_total: content of the right type raised ZeroDivisionError('x')", False),
    ],
)
def test_only_checks_of_privacy_kill(said: str, is_kill: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise ContractViolation(said)

    monkeypatch.setattr(trials, "check_mechanism", fails)
    monkeypatch.setattr(trials, "checks", lambda _: ())
    monkeypatch.setattr(trials, "_by_audit", lambda plant, extent: "")
    live = replace(PLANTS[1], patch=nullcontext, witness=lambda: "broken")
    assert try_plant(live, _LITTLE).is_killed is is_kill


def test_a_crash_is_no_kill_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def crashes(_: object) -> None:
        raise RuntimeError("broken pipe")

    monkeypatch.setattr(trials, "check_mechanism", crashes)
    monkeypatch.setattr(trials, "_by_audit", lambda plant, extent: "")
    tried = try_plant(replace(PLANTS[1], patch=nullcontext, witness=lambda: "broken"), _LITTLE)
    assert (tried.outcome, tried.said) == ("crashed", "contract: RuntimeError: broken pipe")


def test_the_report_has_rates_with_intervals_and_names_survivors() -> None:
    live = [number for number in PLANTS if number not in NOT_LIVE]
    lines, status = report([outcome(number, "killed") for number in live])
    assert status == 0
    assert len([line for line in lines if "95 % interval" in line]) == len(FAMILIES) + 1
    assert sum(line.startswith("not live, not counted") for line in lines) == len(NOT_LIVE)
    few = [outcome(number, "survived" if place % 5 == 0 else "killed") for place, number in enumerate(live)]
    lines, status = report(few)
    assert status == 1
    assert any(line.startswith(f"survived: {live[0]}. {PLANTS[live[0]].name}") for line in lines)
    # Clopper and Pearson, by their table: 36 of 40 is 76 % to 97 %.
    assert "90% (95 % interval 76% to 97%)" in rate_line("x", [outcome(1, "killed")] * 36 + [outcome(1, "lost")] * 4)


def test_the_command_tries_plants_by_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def tried(plants: list[object], progress: object, **sizes: object) -> list[Tried]:
        assert sizes == {"processes": 2, "seconds": 300.0, "minutes": None, "samples": 20_000, "replays": 60}
        found = outcome(3, "killed")
        progress(found)  # type: ignore[operator]
        return [found]

    monkeypatch.setattr(trials, "try_plants", tried)
    assert command.main(["--plants", "3"]) == 0
    assert "3. the values that numeric-sparse tells are charged once: killed by the contract" in capsys.readouterr().out
