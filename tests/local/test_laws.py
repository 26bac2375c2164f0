"""Every client's law, by trying all strings of narrow words: the claimed loss is reached, and never passed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.local.frequencies import (
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    SubsetResponse,
    UnaryResponse,
)
from dither.local.frequencies.choose import ORACLES, choose_oracle
from dither.local.frequencies.oracle import Oracle
from dither.noise import system_noise
from dither.privacy import PureDP
from dither.testing.client_laws import client_law, worst_ratio
from dither.testing.enumeration import enumerate_outcomes, hashable

#: A small instance of each law, the width of the words and how many of them are tried.
SMALL: list[tuple[Oracle, int, int]] = [
    (KaryResponse(categories=2, truth=3, bits=2), 2, 2),
    (KaryResponse(categories=3, truth=11, bits=4), 4, 2),
    (KaryResponse(categories=4, truth=5, bits=3), 3, 4),
    (KaryResponse(categories=5, truth=7, bits=3), 2, 4),
    (UnaryResponse(categories=3, hold=2, stray=1, bits=2), 2, 3),
    (UnaryResponse(categories=2, hold=5, stray=3, bits=3), 3, 2),
    (LocalHashing(categories=4, group_bits=1, truth=3, bits=2, width=3), 3, 3),
    (LocalHashing(categories=2, group_bits=2, truth=5, bits=3, width=3), 3, 4),
    (SubsetResponse(categories=3, size_of_set=2, truth=3, bits=2), 2, 3),
    (SubsetResponse(categories=5, size_of_set=2, truth=5, bits=3), 3, 4),
    (SubsetResponse(categories=3, size_of_set=1, truth=3, bits=2), 2, 2),
    (HadamardResponse(categories=3, order=2, blocks=1, truth=3, bits=2), 2, 3),
    (HadamardResponse(categories=5, order=2, blocks=2, truth=5, bits=3), 3, 4),
    (HadamardResponse(categories=3, order=1, blocks=3, truth=3, bits=2), 3, 4),
]
_IDS = [f"{law.name}-{place}" for place, (law, _, _) in enumerate(SMALL)]


@pytest.mark.parametrize(("law", "width", "words"), SMALL, ids=_IDS)
def test_the_worst_ratio_is_the_claimed_one(law: Oracle, width: int, words: int) -> None:
    worst, undecided = worst_ratio(law.half, word_bits=width, max_words=words)
    assert worst == law.half.ratio
    assert undecided < Fraction(1, 2)


@pytest.mark.parametrize(("law", "width", "words"), SMALL, ids=_IDS)
def test_a_server_reads_from_the_law_what_it_claims(law: Oracle, width: int, words: int) -> None:
    """Mean and variance of every score, by the enumerated law, against slope, base and scatter; and all is decoded."""
    cells = law.half.cells
    for own in range(cells):
        known = client_law(law.half, own, word_bits=width, max_words=words)
        decided = 1 - known.undecided
        rows = np.array([*known.mass]).reshape(-1, *law.draw_shape)
        back, valid = law.decode(law.encode(rows))
        assert valid.all()
        assert (back == rows).all()
        mass = [weight / decided for weight in known.mass.values()]
        scores = [law.totals(rows[place : place + 1]).tolist() for place in range(len(rows))]
        fixed, moving = law.scatter(np.eye(cells)[own])
        for other in range(cells):
            mean = sum(weight * score[other] for weight, score in zip(mass, scores, strict=True))
            assert mean == law.base + (law.slope if other == own else 0)
            square = sum(weight * score[other] ** 2 for weight, score in zip(mass, scores, strict=True))
            assert float(square - mean**2) == pytest.approx(fixed[other] + moving[other] * (other == own), abs=1e-12)


@pytest.mark.parametrize(("law", "width", "words"), SMALL, ids=_IDS)
def test_blocks_have_the_law_of_the_client(law: Oracle, width: int, words: int) -> None:
    for own in (0, law.half.cells - 1):
        client = client_law(law.half, own, word_bits=width, max_words=words)
        block = enumerate_outcomes(lambda noise, own=own: law.draw(own, noise), word_bits=width, max_words=words)
        for fields, mass in client.mass.items():
            there = block.mass.get(hashable(fields[0] if law.draw_shape == () else fields), Fraction(0))
            assert mass / (1 - client.undecided) == there / (1 - block.undecided)


def test_two_answers_collide_with_probability_one_in_g() -> None:
    """All hash functions of 6 bits and all pairs of a domain; without the shift b some pairs collide more often."""
    width, factors = 6, np.arange(64)
    for group_bits in (1, 2, 3):
        cells = np.arange(2 ** (width - group_bits))
        hashed = ((factors[:, None, None] * cells + factors[:, None]) % 2**width) >> (width - group_bits)
        unshifted = ((factors[:, None] * cells) % 2**width) >> (width - group_bits)
        worst = 0.0
        for one in cells[:-1]:
            for other in cells[one + 1 :]:
                assert (hashed[..., one] == hashed[..., other]).sum() * 2**group_bits == 64 * 64
                worst = max(worst, (unshifted[:, one] == unshifted[:, other]).mean() * 2**group_bits)
        assert worst > 1.2


@pytest.mark.parametrize("width", [7, 32, 40])
def test_the_fast_server_of_local_hashing_counts_as_the_slow_one(width: int) -> None:
    law = LocalHashing(categories=20, group_bits=2, truth=9, bits=4, width=width)
    reports = law.draw_each(np.arange(60) % 20, system_noise())
    slow = [
        sum(((a * cell + b) % 2**width) >> (width - 2) == group for a, b, group in reports.tolist())
        for cell in range(20)
    ]
    assert law.totals(reports).tolist() == slow
    assert law.totals_at(reports, np.array([3, 19])).tolist() == [slow[3], slow[19]]


def test_intervals_are_all_shares_that_a_score_test_keeps() -> None:
    law = HadamardResponse.calibrated(PureDP(2), categories=9)
    totals = law.totals(law.draw_each(np.arange(900) % 9, system_noise()))
    found = law.intervals(totals, 900, "0.95")
    fixed, moving = law.scatter(found.shares)
    for end in (found.low, found.high):
        assert np.abs(end - found.shares) / np.sqrt((fixed + moving * end) / (900 * float(law.slope) ** 2)) == (
            pytest.approx(1.959964, rel=1e-5)
        )
    together = law.intervals(totals, 900, "0.95", together=True)
    assert (together.low < found.low).all()
    nothing = law.intervals(np.zeros(9, dtype=np.int64), 0)
    assert nothing.shares.tolist() == [1 / 9] * 9
    assert np.isinf(nothing.high).all()


def test_the_choice_has_the_least_variance_or_nearly() -> None:
    for categories in (2, 10, 100):
        for epsilon in ("0.5", 2, 8):
            choice = choose_oracle(PureDP(epsilon), categories)
            assert choice.oracle.squared_error <= 1.02 * min(choice.errors.values())
            assert choice.oracle.name in choice.why
            for name in choice.errors:
                assert ORACLES[name](PureDP(epsilon), categories=categories).loss(1) <= PureDP(epsilon)
    assert choose_oracle(PureDP(1), 2**40).oracle.name == "local-hashing"
