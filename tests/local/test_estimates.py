"""The server half: what arrives is sorted, shares come back with intervals, and nothing is counted twice."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.local.document import Report
from dither.local.domains import Categories, Range
from dither.local.estimates import Estimator, Gate, Verdict, block_of, estimate_reports
from dither.local.frequencies import KaryResponse, LocalHashing, SubsetResponse
from dither.local.frequencies.choose import ORACLES
from dither.privacy import PureDP
from dither.testing.devices import simulated_reports

_DOMAIN = Categories(("red", "green", "other"), "other")
_DOCUMENT = KaryResponse.calibrated(PureDP(1), categories=3).document("Which?", _DOMAIN)


def test_what_arrives_is_sorted() -> None:
    other = KaryResponse.calibrated(PureDP(2), categories=3).document("Which?", _DOMAIN)
    mine, foreign = simulated_reports(_DOCUMENT, ["red"])[0], simulated_reports(other, ["red"])[0]
    known = Report.parse(mine)
    assert known is not None
    longer = Report(known.digest, known.nonce, known.payload + b"\0").text
    undrawn = Report(known.digest, known.nonce, b"\xff").text
    judged = Gate(_DOCUMENT).judge([mine, foreign, longer, undrawn, "", b"\xff" * 44, mine[:-1]])
    assert [verdict for verdict, _ in judged] == [
        *(Verdict.FITS, Verdict.FOREIGN, Verdict.MALFORMED, Verdict.MALFORMED),
        *(Verdict.MALFORMED, Verdict.MALFORMED, Verdict.MALFORMED),
    ]
    assert Gate(_DOCUMENT).longest == len(mine)


def test_a_repeated_delivery_counts_once() -> None:
    texts = simulated_reports(_DOCUMENT, ["red"] * 50)
    found, counts = estimate_reports(_DOCUMENT, texts + texts[:20])
    assert (found.reports, counts["repeated"], counts["accepted"]) == (50, 20, 50)


@pytest.mark.parametrize("name", ORACLES)
def test_every_oracle_finds_the_shares(name: str) -> None:
    """n = 4,000 at epsilon 4: a share is off by 0.15 with a probability below 1e-9; a lost slope would show."""
    domain = Range(0, 9)
    document = ORACLES[name](PureDP(4), categories=10).document("How many?", domain)
    found, _ = estimate_reports(document, simulated_reports(document, [3] * 3000 + [7] * 1000), confidence="0.99")
    truth = np.zeros(10)
    truth[[3, 7]] = 0.75, 0.25
    assert np.abs(found.shares - truth).max() < 0.15
    record = json.loads(json.dumps(found.record()))
    assert [row["answer"] for row in record["answers"]] == [str(number) for number in range(10)]
    assert found.above_noise[[3, 7]].all()
    assert "4000 reports" in found.card


def test_shares_are_tidied_only_when_that_is_requested() -> None:
    texts = simulated_reports(_DOCUMENT, ["red"] * 300)
    plain, _ = estimate_reports(_DOCUMENT, texts)
    assert plain.shares.sum() == pytest.approx(1)
    clipped, _ = estimate_reports(_DOCUMENT, texts, tidy="clip")
    assert (clipped.shares == np.maximum(plain.shares, 0)).all()
    nearest, _ = estimate_reports(_DOCUMENT, texts, tidy="simplex")
    assert nearest.shares.min() >= 0
    assert nearest.shares.sum() == pytest.approx(1)
    cut, _ = estimate_reports(_DOCUMENT, texts, tidy="base-cut")
    assert (cut.shares[~plain.above_noise] == 0).all()
    assert (cut.low == plain.low).all()
    with pytest.raises(InvalidParameter, match="tidy"):
        estimate_reports(_DOCUMENT, texts, tidy="nice")


def test_no_reports_give_the_prior_and_infinite_intervals() -> None:
    found, _ = estimate_reports(_DOCUMENT, [])
    assert found.shares.tolist() == [1 / 3] * 3
    assert np.isinf(found.low).all()
    assert not found.above_noise.any()
    assert found.record()["answers"][0]["low"] is None


def test_blocks_of_reports_add_up() -> None:
    law = SubsetResponse.calibrated(PureDP(1), categories=9)
    document = law.document("How many?", Range(0, 8))
    reports = [Report.parse(text) for text in simulated_reports(document, list(range(9)) * 5)]
    payloads = block_of(b"".join(report.payload for report in reports if report), 2)
    whole, parts = Estimator(document), Estimator(document)
    whole.add(payloads)
    for start in range(0, 45, 7):
        parts.add(payloads[start : start + 7])
    assert (whole.estimate().shares == parts.estimate().shares).all()
    assert parts.reports == 45


def test_a_list_that_is_too_long_is_refused() -> None:
    wide = Range(0, 2**40 - 1)
    document = LocalHashing.calibrated(PureDP(1), categories=wide.cells).document("Which?", wide)
    with pytest.raises(InvalidParameter, match="totals_at"):
        Estimator(document)
