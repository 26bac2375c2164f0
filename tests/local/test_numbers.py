"""Numbers: the law of every client by enumeration, and the estimates against that law."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, NoGuarantee
from dither.local.clients.attributes import digits
from dither.local.document import Document
from dither.local.domains import Attributes, Bins, Categories, Range, domain_of
from dither.local.numbers import (
    HybridNumber,
    OneBitNumber,
    PiecewiseNumber,
    SampledAttribute,
    SignVector,
    SquareWave,
)
from dither.local.numbers.means import NumberRandomiser
from dither.local.numbers.wave import fitted, quantiles, variance_of, wave_width
from dither.local.randomiser import randomiser_of
from dither.noise import system_noise
from dither.privacy import PureDP
from dither.testing.client_laws import client_law, worst_ratio
from dither.testing.enumeration import enumerate_outcomes, hashable

#: A small instance of each law, the width of the words and how many of them are tried.
SMALL: list[tuple[NumberRandomiser, int, int]] = [
    (OneBitNumber(places=3, low=3, step=5, bits=4), 4, 1),
    (OneBitNumber(places=5, low=1, step=1, bits=3), 3, 1),
    (PiecewiseNumber(places=3, stride=1, width=2, inside=5, bits=3), 3, 3),
    (PiecewiseNumber(places=2, stride=2, width=4, inside=3, bits=2), 2, 3),
    (SquareWave(places=3, stride=1, width=3, inside=3, bits=2), 2, 5),
    (HybridNumber(places=3, share=1, low=1, step=1, stride=1, width=2, inside=3, bits=2), 2, 5),
    (SignVector(places=(3,), agree=3, bits=2), 2, 3),
    (SignVector(places=(3, 2), agree=3, bits=2), 2, 4),
    (SignVector(places=(2, 3, 2), agree=3, bits=2), 1, 8),
    (SampledAttribute(places=(3, 2), weights=(3, 1), steps=(0, 2), bits=2), 2, 3),
    (SampledAttribute(places=(3, 2), weights=(1, 2), steps=(1, 1), bits=2), 2, 2),
]
_IDS = [f"{law.name}-{place}" for place, (law, _, _) in enumerate(SMALL)]


def law_of(law: NumberRandomiser, cell: int, width: int, words: int) -> tuple[Any, list[Fraction], Fraction]:
    known = client_law(law.half, cell, word_bits=width, max_words=words)
    rows = np.array([*known.mass]).reshape(-1, *law.draw_shape)
    return rows, [mass / (1 - known.undecided) for mass in known.mass.values()], known.undecided


@pytest.mark.parametrize(("law", "width", "words"), SMALL, ids=_IDS)
def test_the_worst_ratio_is_the_claimed_one(law: NumberRandomiser, width: int, words: int) -> None:
    worst, undecided = worst_ratio(law.half, word_bits=width, max_words=words)
    assert worst == law.half.ratio
    assert undecided < Fraction(1, 8)


@pytest.mark.parametrize(("law", "width", "words"), SMALL, ids=_IDS)
def test_estimates_are_unbiased_and_have_the_stated_variance(law: NumberRandomiser, width: int, words: int) -> None:
    """By the enumerated law, not by trials: the mean of one report's estimate is the value, its variance the claim."""
    sampled = isinstance(law, SampledAttribute)
    for cell in range(law.half.cells):
        rows, mass, _ = law_of(law, cell, width, words)
        back, valid = law.decode(law.encode(rows))
        assert valid.all()
        assert (back == rows).all()
        weights = np.array([float(part) for part in mass])
        alone = np.array([law.means(law.tally(rows[at : at + 1])).means for at in range(len(rows))])
        values = digits(cell, law.places) if isinstance(law, SampledAttribute | SignVector) else (cell,)
        stated = law.variances(np.array([cell])).reshape(-1)
        column = 0
        for place, value in enumerate(values):
            if sampled and not law.steps[place]:  # type: ignore[attr-defined]
                continue
            here = np.ones(len(rows), dtype=bool)
            if sampled:
                # An estimate is made of the reports of this attribute alone.
                here = rows[:, 0] == place
            share = weights[here].sum()
            mean = (weights[here] @ alone[here, place]) / share
            assert mean == pytest.approx(value, abs=1e-9)
            variance = (weights[here] @ (alone[here, place] - mean) ** 2) / share
            assert variance / share == pytest.approx(stated[column], rel=1e-9)
            column += 1


@pytest.mark.parametrize(("law", "width", "words"), SMALL, ids=_IDS)
def test_sums_of_parts_are_the_sum_of_the_whole(law: NumberRandomiser, width: int, words: int) -> None:
    rows, _, _ = law_of(law, law.half.cells - 1, width, words)
    assert (law.tally(rows[:2]) + law.tally(rows[2:]) == law.tally(rows)).all()


@pytest.mark.parametrize(("law", "width", "words"), SMALL, ids=_IDS)
def test_blocks_have_the_law_of_the_client(law: NumberRandomiser, width: int, words: int) -> None:
    drawn = law.draw_many(law.half.cells - 1, 60_000, system_noise())
    rows, mass, _ = law_of(law, law.half.cells - 1, width, words)
    counts: dict[Any, int] = {}
    for report in drawn.reshape(len(drawn), -1).tolist():
        counts[tuple(report)] = counts.get(tuple(report), 0) + 1
    assert set(counts) <= {tuple(row) for row in rows.reshape(len(rows), -1).tolist()}
    # n = 60,000, seven deviations: a false alarm has a chance below 1e-11; catches a probability off by .015.
    for row, part in zip(rows.reshape(len(rows), -1).tolist(), mass, strict=True):
        spread = (60_000 * float(part) * (1 - float(part))) ** 0.5
        assert abs(counts.get(tuple(row), 0) - 60_000 * float(part)) < 7 * spread + 1


def test_a_block_is_the_client_bit_by_bit_where_both_can_be_listed() -> None:
    law = PiecewiseNumber(places=2, stride=1, width=1, inside=3, bits=2)
    for cell in (0, 1):
        client = client_law(law.half, cell, word_bits=2, max_words=1)
        block = enumerate_outcomes(lambda noise, cell=cell: law.draw(cell, noise), word_bits=2, max_words=3)
        for fields, mass in client.mass.items():
            assert mass / (1 - client.undecided) == block.mass[hashable(fields[0])] / (1 - block.undecided)


@pytest.mark.parametrize("epsilon", ["0.1", 1, 4, 8])
@pytest.mark.parametrize("kind", [OneBitNumber, PiecewiseNumber, HybridNumber, SquareWave])
def test_calibration_stays_within_its_target_and_comes_close(kind: Any, epsilon: Any) -> None:
    law = kind.calibrated(PureDP(epsilon), places=51)
    assert law.loss(1) <= PureDP(epsilon)
    assert float(law.loss(1).epsilon) > float(epsilon) * 0.999


def test_the_hybrid_report_has_the_least_worst_variance() -> None:
    for epsilon in ("0.3", "0.8", 1, 2, 4):
        bit, window, hybrid = (
            kind.calibrated(PureDP(epsilon), places=101).squared_error
            for kind in (OneBitNumber, PiecewiseNumber, HybridNumber)
        )
        assert hybrid <= min(bit, window) * 1.01
    # The printed crossing of one bit and windows, near 1.29.
    for epsilon, best in (("1.2", OneBitNumber), ("1.4", PiecewiseNumber)):
        laws = [kind.calibrated(PureDP(epsilon), places=1001) for kind in (OneBitNumber, PiecewiseNumber)]
        assert isinstance(min(laws, key=lambda law: law.squared_error), best)


def test_worst_variances_are_those_of_the_literature() -> None:
    """On a fine grid: Duchi's ((e+1)/(e-1))^2, and the printed largest variance of the piecewise report."""
    e = np.e
    half = 500
    bit = OneBitNumber.calibrated(PureDP(1), places=1001).squared_error / half**2
    assert bit == pytest.approx(((e + 1) / (e - 1)) ** 2, rel=1e-5)
    root = e**0.5
    window = PiecewiseNumber.calibrated(PureDP(1), places=1001, stride=10).squared_error / half**2
    assert window == pytest.approx(1 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2), rel=0.01)


def test_fitting_agrees_with_a_dense_twin() -> None:
    law = SquareWave.calibrated(PureDP(1), places=7)
    window = law.window
    tally = np.random.default_rng(3).integers(1, 60, window.outputs)
    inside = window.inside / 2**window.bits / window.width
    outside = (1 - window.inside / 2**window.bits) / (window.outputs - window.width)
    table = np.full((7, window.outputs), outside)
    for cell in range(7):
        table[cell, cell : cell + window.width] = inside
    shares, last = np.full(7, 1 / 7), -np.inf
    while True:
        likely = shares @ table
        fit = float(tally @ np.log(likely))
        if fit - last < 1e-3:
            break
        last = fit
        shares = shares * (table @ (tally / likely)) / tally.sum()
        padded = np.concatenate([shares[:1], shares, shares[-1:]])
        shares = np.convolve(padded, [0.25, 0.5, 0.25], "valid")
        shares /= shares.sum()
    assert fitted(window, tally, smooth=True) == pytest.approx(shares, abs=1e-9)


def test_a_square_wave_finds_a_distribution() -> None:
    truth = np.exp(-0.5 * ((np.arange(64) - 20) / 6) ** 2)
    truth /= truth.sum()
    law = SquareWave.calibrated(PureDP(2), places=64)
    window = law.window
    # Expected counts: what remains is the error of fitting, not of sampling.
    inside = window.inside / 2**window.bits / window.width
    outside = (1 - window.inside / 2**window.bits) / (window.outputs - window.width)
    table = np.full((64, window.outputs), outside)
    for cell in range(64):
        table[cell, cell : cell + window.width] = inside
    found = law.distribution(np.rint(10**6 * (truth @ table)).astype(np.int64))
    assert np.abs(np.cumsum(found - truth)).sum() < 0.5  # Wasserstein, in cells
    assert quantiles(found, np.array([0.5]))[0] in (19, 20)
    assert variance_of(found) == pytest.approx(36, rel=0.2)


def test_without_reports_there_is_the_prior_and_an_infinite_interval() -> None:
    for law, _, _ in SMALL:
        empty = np.zeros((0, *law.draw_shape), dtype=np.int64)
        found = law.means(law.tally(empty))
        assert (found.reports == 0).all()
        finite = np.isfinite(found.means)
        assert np.isinf(found.low[finite]).all()
        assert np.isinf(found.high[finite]).all()
    wave = SquareWave.calibrated(PureDP(1), places=5)
    assert wave.distribution(np.zeros(wave.window.outputs, dtype=np.int64)).tolist() == [0.2] * 5


def test_categories_of_a_sampled_attribute_have_unbiased_shares() -> None:
    law = SampledAttribute(places=(3, 2), weights=(3, 1), steps=(0, 2), bits=2)
    for cell in range(6):
        rows, mass, _ = law_of(law, cell, 2, 3)
        scaled = np.array([law.tally(rows[at : at + 1]) for at in range(len(rows))])
        tally = sum(float(part) * row for part, row in zip(mass, scaled, strict=True))
        shares, _ = law.shares(tally * 1000, 0)
        assert shares == pytest.approx(np.eye(3)[cell % 3])
    with pytest.raises(InvalidParameter, match="attribute"):
        law.shares(np.zeros(5, dtype=np.int64), 1)


def test_means_are_read_in_units_of_the_range() -> None:
    law = OneBitNumber.calibrated(PureDP(8), places=61)
    ages = Range(20, 80)
    reports = law.draw_each(np.full(4000, ages.cell(45)), system_noise())
    found = law.means(law.tally(reports)).in_units(20.0)
    assert found.low[0] <= 45 <= found.high[0]
    assert found.high[0] - found.low[0] < 4


@pytest.mark.parametrize(
    ("kind", "parameters", "name"),
    [
        (OneBitNumber, {"places": 1, "low": 1, "step": 1}, "places"),
        (OneBitNumber, {"places": 3, "low": 1, "step": 2**31}, "step"),
        (PiecewiseNumber, {"places": 3, "stride": 2, "width": 1, "inside": 3, "bits": 2}, "width"),
        (PiecewiseNumber, {"places": 3, "stride": 1, "width": 6, "inside": 1, "bits": 2}, "inside"),
        (SquareWave, {"places": 2**20, "stride": 2, "width": 3, "inside": 3, "bits": 2}, "width"),
        (
            HybridNumber,
            {"places": 3, "share": 4, "low": 1, "step": 1, "stride": 1, "width": 2, "inside": 3, "bits": 2},
            "share",
        ),
        (SignVector, {"places": (), "agree": 3, "bits": 2}, "places"),
        (SignVector, {"places": (2,) * 63, "agree": 3, "bits": 2}, "places"),
        (SignVector, {"places": (2, 2), "agree": 1, "bits": 2}, "agree"),
        (SampledAttribute, {"places": (2, 2), "weights": (3,), "steps": (0, 0), "bits": 2}, "weights"),
        (SampledAttribute, {"places": (2, 9), "weights": (3, 1), "steps": (0, 1), "bits": 2}, "step"),
    ],
)
def test_odd_parameters_are_refused_by_name(kind: Any, parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        kind(**parameters)


def test_targets_that_nothing_meets_are_refused() -> None:
    with pytest.raises(NoGuarantee):
        OneBitNumber.calibrated(PureDP("20.5"), places=3)
    with pytest.raises(InvalidParameter, match="numbers"):
        SampledAttribute.calibrated(PureDP(1), places=(3, 3), numbers=(1,))
    with pytest.raises(InvalidParameter, match="places"):
        wave_width(1.0, 1)


def test_attributes_and_bins_have_a_cell_for_every_object_and_come_back_from_json() -> None:
    person = Attributes((("age", Range(0, 9)), ("gain", Bins(-10, 5, 4)), ("city", Categories(("a", "b"), "b"))))
    answers = [{"age": 3, "gain": 0.5, "city": "a"}, {}, None, [], {"age": float("nan"), "gain": 10**400, "city": 3}]
    assert [person.cell(answer) for answer in answers] == [3 + 10 * 2, 40, 40, 40, 10 * 3 + 40]
    assert all(0 <= person.cell(answer) < person.cells for answer in answers)
    assert person.name(23) == "age 3, gain 0 to 4, city a"
    assert domain_of({"kind": person.kind, **person.record()}) == person
    bins = [Bins(0, 10, 3).cell(number) for number in (-1, 0, 9, 9.99, 10, 29, 30, float("inf"), float("-inf"))]
    assert bins == [0, 0, 0, 0, 1, 2, 2, 2, 0]
    law = SampledAttribute.calibrated(PureDP(1), places=(10, 4, 2), numbers=(1, 1, 0))
    document = law.document("Who are you?", person)
    assert randomiser_of(Document.parse(document.text)) == law
    for broken in ({"attributes": []}, {"attributes": [{"kind": "range", "low": 0, "high": 1}]}, {"attributes": 3}):
        with pytest.raises(InvalidParameter, match="attributes"):
            domain_of({"kind": "attributes", **broken})
    for parts in (
        {"low": 0, "width": 0, "count": 3},
        {"low": 0, "width": 1, "count": 1},
        {"low": "a", "width": 1, "count": 2},
    ):
        with pytest.raises(InvalidParameter, match="domain"):
            domain_of({"kind": "bins", **parts})
