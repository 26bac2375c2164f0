"""The server half of numbers, sets and frequent values: from reports of clients to rows with intervals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.local.clients import Client
from dither.local.document import Document, Report
from dither.local.domains import Attributes, Bins, Categories, Range
from dither.local.estimates import Estimator, block_of
from dither.local.frequencies import KaryResponse
from dither.local.hitters import PaddedSet, PrefixHashing
from dither.local.numbers import (
    HybridNumber,
    OneBitNumber,
    PiecewiseNumber,
    SampledAttribute,
    SignVector,
    SquareWave,
)
from dither.local.quantities import Quantities, QuantityEstimator, estimator_of
from dither.local.rounds import MemoisedKary, RapporResponse
from dither.privacy import PureDP

_YES = Categories(("no", "yes"), "no")
_PERSON = Attributes((("age", Range(20, 29)), ("cycles", _YES)))
#: A survey of each kind, an answer that everybody gives, and what is true of it.
SURVEYS: list[tuple[Document, Any, dict[str, float]]] = [
    (OneBitNumber.calibrated(PureDP(8), places=10).document("?", Range(20, 29)), 23, {"mean": 23}),
    (PiecewiseNumber.calibrated(PureDP(8), places=10).document("?", Range(20, 29)), 23, {"mean": 23}),
    (HybridNumber.calibrated(PureDP(8), places=10).document("?", Bins(0, 5, 10)), 24, {"mean": 22}),
    (
        SquareWave.calibrated(PureDP(8), places=10).document("?", Range(20, 29)),
        23,
        {"mean": 23, "50 % quantile": 23},
    ),
    (
        SignVector.calibrated(PureDP(8), places=(10, 10)).document(
            "?", Attributes((("age", Range(20, 29)), ("score", Range(0, 9))))
        ),
        {"age": 23, "score": 9},
        {"mean of age": 23, "mean of score": 9},
    ),
    (
        SampledAttribute.calibrated(PureDP(8), places=(10, 2), numbers=(1, 0)).document("?", _PERSON),
        {"age": 23, "cycles": "yes"},
        {"mean of age": 23, "cycles: yes": 1, "cycles: no": 0},
    ),
    (
        PaddedSet.calibrated(PureDP(8), items=2, length=2).document("?", Attributes((("bus", _YES), ("tram", _YES)))),
        {"tram": "yes"},
        {"bus": 0, "tram": 1},
    ),
    (
        PrefixHashing.calibrated(PureDP(8), word_bits=8, lengths=(4, 8)).document("?", Range(0, 255)),
        77,
        {"77": 1},
    ),
    (
        RapporResponse.calibrated(PureDP(16), categories=2, first=PureDP(12), cohorts=2, filter_bits=8).document(
            "?", _YES
        ),
        "yes",
        {"yes": 1},
    ),
]


def payloads(document: Document, answer: Any, count: int) -> Any:
    reports = [Report.parse(Client(document).report(answer)) for _ in range(count)]
    parts = [report.payload for report in reports if report is not None]
    return block_of(b"".join(parts), len(parts[0]))


@pytest.mark.parametrize(("document", "answer", "truth"), SURVEYS, ids=[one.randomiser for one, _, _ in SURVEYS])
def test_reports_of_clients_end_in_rows_whose_intervals_hold_the_truth(
    document: Document, answer: Any, truth: dict[str, float]
) -> None:
    again = Document.parse(document.text)
    block = payloads(again, answer, 300)
    parts = [estimator_of(again) for _ in range(2)]
    parts[0].add(block)
    for start in range(0, 300, 100):
        parts[1].add(block[start : start + 100])
    found, same = (part.estimate("0.99999999") for part in parts)
    assert isinstance(found, Quantities)
    assert json.dumps(found.record()) == json.dumps(same.record())
    assert found.reports == 300
    rows = {row.name: row for row in found.rows}
    for name, value in truth.items():
        row = rows[name]
        if np.isfinite(row.low):
            assert row.low - 1e-9 <= value <= row.high + 1e-9
        else:
            assert abs(row.value - value) <= 1
    wide = parts[0].estimate("0.9", together=True)
    narrow = parts[0].estimate("0.9")
    assert isinstance(wide, Quantities)
    assert isinstance(narrow, Quantities)
    for a, b in zip(wide.rows, narrow.rows, strict=True):
        assert not a.high - a.low < b.high - b.low
    assert "debited on the devices" in found.card


@pytest.mark.parametrize(("document", "answer", "truth"), SURVEYS, ids=[one.randomiser for one, _, _ in SURVEYS])
def test_without_reports_no_interval_is_finite(document: Document, answer: Any, truth: dict[str, float]) -> None:
    found = estimator_of(document).estimate()
    assert found.reports == 0
    assert isinstance(found, Quantities)
    assert not any(np.isfinite(row.low) for row in found.rows)
    json.dumps(found.record(), allow_nan=False)


def test_shares_of_a_list_have_their_own_server() -> None:
    for law in (KaryResponse.calibrated(PureDP(1), categories=2), MemoisedKary.calibrated(PureDP(1), categories=2)):
        assert isinstance(estimator_of(law.document("?", _YES)), Estimator)


def test_what_cannot_be_estimated_is_refused() -> None:
    law = OneBitNumber.calibrated(PureDP(1), places=2)
    with pytest.raises(InvalidParameter, match="kind"):
        QuantityEstimator(law.document("?", _YES))
    with pytest.raises(InvalidParameter, match="randomiser"):
        QuantityEstimator(KaryResponse.calibrated(PureDP(1), categories=2).document("?", _YES))
    with pytest.raises(InvalidParameter, match="tidy"):
        estimator_of(law.document("?", Range(0, 1))).estimate(tidy="clip")
    wide = RapporResponse.calibrated(PureDP(1), categories=10**6).document("?", Range(0, 10**6 - 1))
    with pytest.raises(InvalidParameter, match="domain"):
        estimator_of(wide).estimate()
