"""Counts of places from people with regions and losses of their own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.local.clients import Client
from dither.local.regions import SafeRegion, count_places
from dither.noise import system_noise
from dither.privacy import PureDP
from dither.testing.client_laws import client_law

HOME = SafeRegion((0, 1, 2, 3), Fraction(1))
TOWN = SafeRegion(tuple(range(16)), Fraction(3))


def test_two_places_of_a_region_lose_at_most_its_epsilon() -> None:
    for region in (HOME, TOWN):
        assert region.law.loss(1) <= PureDP(region.epsilon)
    # A report has one bit about the place beside the hash function.
    assert HOME.law.half.widths[-1] == 1
    assert len(Client(HOME.document("Where?")).report(HOME.place(2))) > 0


def test_counts_are_unbiased_by_the_enumerated_law() -> None:
    region = SafeRegion((1, 2), Fraction(2))
    law = type(region.law)(categories=2, group_bits=1, truth=3, bits=2, width=2)
    for own in (0, 1):
        known = client_law(law.half, own, word_bits=2, max_words=3)
        mean = sum(float(mass) * law.estimate(law.totals(np.array([fields])), 1) for fields, mass in known.mass.items())
        assert mean == pytest.approx(np.eye(2)[own])


def test_people_with_different_regions_and_losses_add_up() -> None:
    at_home = HOME.law.draw_each(np.repeat([0, 1], [4000, 2000]), system_noise())
    in_town = TOWN.law.draw_each(np.repeat([1, 9], [1000, 3000]), system_noise())
    found = count_places([(HOME, at_home), (TOWN, in_town)], cells=20, confidence="0.99999999")
    truth = np.zeros(20)
    truth[[0, 1, 9]] = 4000, 3000, 3000
    assert (found.low <= truth).all()
    assert (truth <= found.high).all()
    assert found.people == 10_000
    # Nobody can be outside of all regions.
    assert (found.counts[16:] == 0).all()
    assert (found.high[16:] == 0).all()
    # The smaller loss costs accuracy where it is used.
    assert found.high[0] - found.low[0] > 2 * (found.high[9] - found.low[9])


def test_without_reports_nothing_is_known() -> None:
    empty = np.zeros((0, 3), dtype=np.int64)
    found = count_places([(HOME, empty)], cells=4)
    assert np.isinf(found.high).all()


def test_odd_regions_are_refused() -> None:
    for cells in ((), (3,), (2, 2), (3, 1), (-1, 2)):
        with pytest.raises(InvalidParameter, match="cells"):
            SafeRegion(cells, Fraction(1))
    with pytest.raises(InvalidParameter, match="regions"):
        count_places([(TOWN, np.zeros((0, 3), dtype=np.int64))], cells=8)
