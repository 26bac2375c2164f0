"""Every planted privacy bug is one: its witness shows a break with the patch in place, and none without it."""

from __future__ import annotations

import pytest

from tools.mutants.plants import FAMILIES, NOT_LIVE, PLANTS, batch_of


@pytest.mark.parametrize("family", FAMILIES)
def test_every_witness_shows_the_break_and_nothing_else(family: str) -> None:
    planted = [plant for plant in PLANTS.values() if plant.family == family]
    assert planted
    silent = [plant.name for plant in planted if plant.number not in NOT_LIVE and not plant.broken()]
    assert silent == []
    # After the patches: none of them may leave anything behind.
    assert [(plant.name, said) for plant in planted if (said := plant.witness())] == []


def test_what_is_listed_as_not_live_breaks_nothing() -> None:
    assert [PLANTS[number].name for number in sorted(NOT_LIVE) if PLANTS[number].broken()] == []


def test_there_are_enough_plants_of_new_kinds() -> None:
    live = [plant for plant in PLANTS.values() if plant.number not in NOT_LIVE]
    assert len(live) >= 45
    assert sum(not plant.is_known_kind for plant in live) >= 22
    assert {plant.family for plant in live} == set(FAMILIES)


def test_the_second_batch_has_forty_live_plants_in_all_families() -> None:
    live = [plant for number, plant in PLANTS.items() if batch_of(number) == 2 and number not in NOT_LIVE]
    assert len(live) >= 40
    assert {plant.family for plant in live} == set(FAMILIES)
