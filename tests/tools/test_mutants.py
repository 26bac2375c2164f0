"""Every planted bug is killed, by a check that is silent without it, and nothing of it stays."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from dither.checks import ContractViolation
from dither.errors import InvalidParameter
from dither.mechanisms import Geometric, find
from dither.privacy import PureDP
from dither.testing.sameness import digest
from dither.testing.state import changed, snapshot
from tools.mutants import MUTANTS, Mutant, try_mutant, try_mutants
from tools.mutants.record import mutated, original, replaced
from tools.mutants.targets import BAYES, HISTOGRAM, LINEAR

ROOT = Path(__file__).parents[2]
#: Mutants whose checks are the same are tried together, so that the check is run once without them.
TOGETHER: dict[Any, list[Mutant]] = {}
for _mutant in MUTANTS.values():
    TOGETHER.setdefault(_mutant.check, []).append(_mutant)
#: 3,000 samples at a false alarm of 1e-10; a share of 0.49 is missed below 0.41, seven standard deviations away.
SAMPLED = pytest.mark.statistical(n=3000, false_alarm=1e-10, miss=1e-10, catches="the mutant of that number")
GROUPS = [
    pytest.param(
        group,
        id="-".join(str(mutant.number) for mutant in group),
        marks=[SAMPLED] if any(mutant.is_sampled for mutant in group) else [],
    )
    for group in TOGETHER.values()
]


def complains() -> None:
    raise ContractViolation("always")


def is_silent() -> None:
    """Say nothing."""


def planted(check: Any, patch: Any = nullcontext) -> Mutant:
    return Mutant(99, "none", "", "nothing", "contract", patch, check)


@pytest.mark.parametrize("group", GROUPS)
def test_a_mutant_is_killed(group: list[Mutant]) -> None:
    for trial in try_mutants(group):
        assert trial.is_killed, f"{trial.mutant.name}: {trial.outcome}"


def test_all_of_them_are_there_and_most_need_no_sample() -> None:
    assert list(MUTANTS) == list(range(1, 127))
    assert sum(not mutant.is_sampled for mutant in MUTANTS.values()) >= 123


def test_what_mutants_spoil_is_a_copy() -> None:
    def state() -> dict[str, str]:
        examples = {name: digest(list(find(name).examples())) for name in (HISTOGRAM, LINEAR, BAYES)}
        return examples | snapshot()

    # Caches of public parameters are filled the first time.
    before: dict[str, str] = {}
    for _ in range(2):
        before = state()
        for number in (40, 53, 62):
            assert try_mutant(MUTANTS[number]).is_killed
    assert changed(before, state()) == []


def test_a_mutant_that_changes_nothing_survives() -> None:
    trial = try_mutant(planted(is_silent))
    assert not trial.is_killed
    assert trial.outcome == "survived"


def test_a_check_that_complains_without_the_mutant_kills_nothing() -> None:
    trial = try_mutant(planted(complains))
    assert not trial.is_killed
    assert trial.outcome == "the check complains without it"
    assert trial.to_dict()["outcome"] == trial.outcome


def test_an_error_of_the_check_itself_is_no_kill() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        try_mutant(planted(broken))


def test_nothing_of_a_mutant_stays() -> None:
    before = Geometric.__dict__["loss"]

    def half() -> AbstractContextManager[None]:
        return mutated(
            "dither.mechanisms.geometric:Geometric.loss", lambda inner, self, d_in=1: PureDP(inner(self, d_in).pure / 2)
        )

    with half():
        assert Geometric(scale=1).loss(1) == PureDP("1/2")
    assert Geometric.__dict__["loss"] is before
    # What is inherited is covered up, and uncovered again.
    inherited = "dither.mechanisms.geometric:Geometric.error"
    with replaced(inherited, None):
        assert Geometric.error is None
    assert "error" not in Geometric.__dict__
    assert original(inherited) is Geometric.error
    with pytest.raises(InvalidParameter, match="target"), replaced("dither.mechanisms.geometric:Geometric.weight", 1):
        pass


def test_the_page_shows_them_all() -> None:
    rows = {}
    for line in (ROOT / "docs" / "audit.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].isdigit():
            rows[int(cells[0])] = tuple(cells[1:])
    assert rows == {number: (one.name, one.origin, one.killed_by) for number, one in MUTANTS.items()}
