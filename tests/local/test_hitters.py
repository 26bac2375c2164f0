"""Frequent values and sets: the law of every client by enumeration, and what is found."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.local.document import Document
from dither.local.domains import Range
from dither.local.hitters import PaddedSet, PrefixHashing
from dither.local.randomiser import Randomiser, randomiser_of
from dither.noise import system_noise
from dither.noise.client_words import system_words
from dither.privacy import PureDP
from dither.testing.client_laws import client_law, worst_ratio

SMALL: list[tuple[Randomiser, int, int]] = [
    (PrefixHashing(word_bits=2, lengths=(1, 2), group_bits=1, truth=3, bits=2, width=3), 3, 4),
    (PrefixHashing(word_bits=1, lengths=(1,), group_bits=1, truth=3, bits=2, width=2), 2, 3),
    (PaddedSet(items=2, length=1, truth=3, bits=2), 16, 0),
    (PaddedSet(items=3, length=2, truth=2, bits=2), 16, 0),
]
_IDS = [f"{law.name}-{place}" for place, (law, _, _) in enumerate(SMALL)]


def padded_law(law: PaddedSet, cell: int) -> dict[int, Fraction]:
    """Return the law of a report by the definition: a member of the padded set, then k-ary response."""
    held = [item for item in range(law.items) if cell >> item & 1]
    member: dict[int, Fraction] = Counter()
    if len(held) > law.length:
        for choice in range(2**12):
            # The choice of 32 bits, coarsened: exact for two items, and off by 2^-12 at most for three.
            member[held[choice * len(held) >> 12]] += Fraction(1, 2**12)
    else:
        for place in range(law.length):
            member[held[place] if place < len(held) else law.items + place] += Fraction(1, law.length)
    several, hold = law.items + law.length, Fraction(law.truth, 2**law.bits)
    lie = (1 - hold) / (several - 1)
    return {report: lie + (hold - lie) * member.get(report, Fraction(0)) for report in range(several)}


@pytest.mark.parametrize(("law", "width", "words"), SMALL[:2], ids=_IDS[:2])
def test_the_worst_ratio_of_prefixes_is_the_claimed_one(law: Randomiser, width: int, words: int) -> None:
    worst, undecided = worst_ratio(law.half, word_bits=width, max_words=words)
    assert worst == law.half.ratio
    assert undecided == 0


@pytest.mark.parametrize("law", [law for law, _, _ in SMALL[2:]], ids=_IDS[2:])
def test_the_worst_ratio_of_sets_is_the_claimed_one(law: PaddedSet) -> None:
    laws = [padded_law(law, cell) for cell in range(law.half.cells)]
    worst = max(max(one[at] for one in laws) / min(one[at] for one in laws) for at in laws[0])
    assert worst == law.half.ratio


@pytest.mark.parametrize("law", [law for law, _, _ in SMALL[2:]], ids=_IDS[2:])
def test_clients_and_blocks_of_sets_have_the_law_of_the_definition(law: PaddedSet) -> None:

    for cell in (0, 1, law.half.cells - 1):
        known = padded_law(law, cell)
        block = np.bincount(law.draw_many(cell, 30_000, system_noise()), minlength=len(known))
        words = system_words()
        client = Counter(law.half.draw(cell, words)[0] for _ in range(5000))
        # Seven deviations: a false alarm has a chance below 1e-10; catches a probability off by .02 and .05.
        for report, mass in known.items():
            part = float(mass)
            assert abs(block[report] - 30_000 * part) < 7 * (30_000 * part * (1 - part)) ** 0.5 + 1
            assert abs(client[report] - 5000 * part) < 7 * (5000 * part * (1 - part)) ** 0.5 + 1


def test_blocks_of_prefixes_have_the_law_of_the_client() -> None:
    law, width, words = SMALL[0]
    known = client_law(law.half, 2, word_bits=width, max_words=words)
    drawn = law.draw_many(2, 60_000, system_noise())
    counts = Counter(map(tuple, drawn.tolist()))
    assert set(counts) <= set(known.mass)
    for fields, mass in known.mass.items():
        part = float(mass)
        assert abs(counts[fields] - 60_000 * part) < 7 * (60_000 * part * (1 - part)) ** 0.5 + 1
    back, valid = law.decode(law.encode(drawn[:100]))
    assert valid.all()
    assert (back == drawn[:100]).all()


def test_supports_of_prefixes_have_the_mean_of_their_oracle() -> None:
    law = PrefixHashing(word_bits=2, lengths=(1, 2), group_bits=1, truth=3, bits=2, width=3)
    for cell in range(4):
        known = client_law(law.half, cell, word_bits=3, max_words=4)
        for step, length in enumerate(law.lengths):
            candidates = np.arange(2**length)
            mean = np.zeros(len(candidates))
            for fields, mass in known.mass.items():
                supports, _ = law.supports(np.array([fields]), step, candidates)
                mean += float(mass) * supports
            share = mean * 2  # half of all reports have this length
            truth = candidates == cell >> (2 - length)
            assert share == pytest.approx(np.where(truth, 0.75, 0.5))


def test_frequent_words_are_found_and_their_shares_too() -> None:
    law = PrefixHashing.calibrated(PureDP(5), word_bits=12, lengths=(4, 8, 12))
    words = np.concatenate([np.repeat([3000, 77, 1234], [5000, 4000, 3000]), np.arange(3000)])
    found = law.find(law.draw_each(words, system_noise()), 3, confidence="0.999999")
    assert set(found.values.tolist()) == {3000, 77, 1234}
    truth = {3000: 5001 / 15_000, 77: 4001 / 15_000, 1234: 3001 / 15_000}
    for word, low, high in zip(found.values.tolist(), found.low, found.high, strict=True):
        assert low < truth[word] < high


def test_without_reports_nothing_is_known_of_words_and_items() -> None:
    law = PrefixHashing.calibrated(PureDP(1), word_bits=4, lengths=(2, 4))
    found = law.find(np.zeros((0, 4), dtype=np.int64), 2)
    assert found.reports == 0
    assert np.isinf(found.high).all()
    sets = PaddedSet.calibrated(PureDP(1), items=3, length=2)
    assert np.isinf(sets.holdings(np.zeros(5, dtype=np.int64)).high).all()


def test_holdings_are_unbiased_up_to_the_length_and_corrected_beyond() -> None:
    law = PaddedSet(items=3, length=2, truth=3, bits=2)
    small = [padded_law(law, cell) for cell in (0b011, 0b001, 0b110, 0)]
    totals = np.array([sum(float(one[at]) for one in small) * 10**6 for at in range(5)])
    held = law.holdings(np.rint(totals).astype(np.int64))
    assert held.shares == pytest.approx([0.5, 0.5, 0.25], abs=1e-4)
    # Everybody holds all three: drawn two thirds as often as padded sets would be.
    full = padded_law(law, 0b111)
    totals = np.rint(np.array([float(full[at]) for at in range(5)]) * 10**6).astype(np.int64)
    assert law.holdings(totals).shares == pytest.approx([2 / 3] * 3, abs=1e-2)
    corrected = law.holdings(totals, sizes=np.array([0, 0, 0, 1.0]))
    assert corrected.shares == pytest.approx([1] * 3, abs=1e-2)


@pytest.mark.parametrize("epsilon", ["0.5", 1, 4])
def test_calibration_stays_within_its_target_and_comes_close(epsilon: Any) -> None:
    for law in (
        PaddedSet.calibrated(PureDP(epsilon), items=20, length=5),
        PrefixHashing.calibrated(PureDP(epsilon), word_bits=32, lengths=(16, 24, 32)),
    ):
        assert law.loss(1) <= PureDP(epsilon)
        assert float(law.loss(1).epsilon) > 0.999 * float(epsilon)


def test_a_survey_of_words_has_a_document() -> None:
    law = PrefixHashing.calibrated(PureDP(2), word_bits=32, lengths=(16, 24, 32))
    document = law.document("Which page?", Range(0, 2**32 - 1))
    assert randomiser_of(Document.parse(document.text)) == law


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: PrefixHashing(word_bits=4, lengths=(2, 3), group_bits=1, truth=3, bits=2), "lengths"),
        (lambda: PrefixHashing(word_bits=4, lengths=(4, 4), group_bits=1, truth=3, bits=2), "lengths"),
        (lambda: PrefixHashing(word_bits=4, lengths=(4,), group_bits=1, truth=1, bits=2), "truth"),
        (lambda: PaddedSet(items=63, length=1, truth=3, bits=2), "items"),
        (lambda: PaddedSet(items=9, length=1, truth=0, bits=2), "truth"),
        (
            lambda: PrefixHashing.calibrated(PureDP(1), word_bits=32, lengths=(32,)).find(np.zeros((0, 4), int), 1),
            "lengths",
        ),
    ],
)
def test_odd_parameters_are_refused_by_name(call: Any, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()
