"""The audit of the ledger's arithmetic and store finds nothing in the product, and finds what is planted in it."""

from __future__ import annotations

import pytest

from tools import ledgers
from tools.mutants.plants import NOT_LIVE, PLANTS, batch_of

_PLANTED = [
    plant.number
    for plant in PLANTS.values()
    if plant.family == "ledger arithmetic and stored answers"
    and plant.number not in NOT_LIVE
    and batch_of(plant.number) == 1
]


def test_arithmetic_and_store_of_the_ledger_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert ledgers.main(["--rounds", "300"]) == 0
    assert "hold" in capsys.readouterr().out


@pytest.mark.parametrize("number", _PLANTED)
def test_bugs_of_the_ledger_are_found(number: int) -> None:
    with PLANTS[number].patch():
        assert ledgers.audit_ledger(120)
