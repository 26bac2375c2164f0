"""Every client's law, by trying all strings of narrow words: the claimed loss is reached, and never passed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.local.frequencies import KaryResponse
from dither.local.frequencies.oracle import Oracle
from dither.testing.client_laws import client_law, worst_ratio
from dither.testing.enumeration import enumerate_outcomes, hashable

#: A small instance of each law, the width of the words and how many of them are tried.
SMALL: list[tuple[Oracle, int, int]] = [
    (KaryResponse(categories=2, truth=3, bits=2), 2, 2),
    (KaryResponse(categories=3, truth=11, bits=4), 4, 2),
    (KaryResponse(categories=4, truth=5, bits=3), 3, 4),
    (KaryResponse(categories=5, truth=7, bits=3), 2, 4),
]
_IDS = [f"{law.name}-{place}" for place, (law, _, _) in enumerate(SMALL)]


@pytest.mark.parametrize(("law", "width", "words"), SMALL, ids=_IDS)
def test_the_worst_ratio_is_the_claimed_one(law: Oracle, width: int, words: int) -> None:
    worst, undecided = worst_ratio(law.half, word_bits=width, max_words=words)
    assert worst == law.half.ratio
    assert undecided < Fraction(1, 8)


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
