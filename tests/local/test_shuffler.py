"""A streaming shuffler passes on payloads of crowds, sorted, and nothing else."""

from __future__ import annotations

import pytest

from dither.errors import HandleMisuse, InvalidParameter
from dither.local.clients import Client
from dither.local.document import Report
from dither.local.domains import Range
from dither.local.numbers import PiecewiseNumber
from dither.local.shuffler import Shuffler
from dither.privacy import PureDP
from dither.privacy.accountants import any_randomiser, shuffled_loss

_LAW = PiecewiseNumber.calibrated(PureDP(1), places=10)
_SURVEY = _LAW.document("How many?", Range(0, 9))
_OTHER = _LAW.document("How many more?", Range(0, 9))


def reports(count: int) -> list[str]:
    return [Client(_SURVEY).report(answer % 10) for answer in range(count)]


def test_batches_are_sorted_payloads_of_a_crowd_and_independent_of_arrival() -> None:
    arrived = reports(10)
    seen = []
    for order in (arrived, arrived[::-1]):
        shuffler = Shuffler(_SURVEY, crowd=10)
        assert all(shuffler.add(text) for text in order)
        seen += shuffler.batches()
    assert seen[0] == seen[1]
    octets = len(seen[0].payloads) // 10
    payloads = [seen[0].payloads[start : start + octets] for start in range(0, 10 * octets, octets)]
    parsed = [Report.parse(text) for text in arrived]
    assert payloads == sorted(report.payload for report in parsed if report is not None)
    # No name of a report is passed on.
    assert all(report is not None and report.nonce not in seen[0].payloads for report in parsed)


def test_fewer_than_a_crowd_are_never_passed_on() -> None:
    shuffler = Shuffler(_SURVEY, crowd=4)
    for text in reports(7):
        shuffler.add(text)
    assert [batch.reports for batch in shuffler.batches()] == [4]
    assert [*shuffler.batches()] == []
    assert shuffler.close() == 3
    assert [*shuffler.batches()] == []
    with pytest.raises(HandleMisuse, match="closed"):
        shuffler.add("")


def test_repeated_foreign_and_malformed_reports_do_not_make_a_crowd() -> None:
    shuffler = Shuffler(_SURVEY, crowd=2)
    first = reports(1)[0]
    assert shuffler.add(first)
    foreign = Client(_OTHER).report(3)
    assert not any(shuffler.add(text) for text in (first, foreign, "", "AAAA", first + "A", b"\xff"))
    assert shuffler.waiting == 1


def test_the_loss_is_that_of_the_honest_part_and_never_above_the_report() -> None:
    shuffler = Shuffler(_SURVEY, crowd=2000)
    all_honest = shuffler.loss(honest=2000, delta="1e-6")
    half = shuffler.loss(honest=1000, delta="1e-6")
    assert all_honest.pure < half.pure < 1  # type: ignore[operator]
    expected = shuffled_loss(any_randomiser(_LAW.loss(1).epsilon), honest=1000, delta="1e-6")  # type: ignore[attr-defined]
    assert half == expected
    assert shuffler.loss(honest=1, delta="1e-6") == _LAW.loss(1)
    for honest in (0, 2001):
        with pytest.raises(InvalidParameter, match="honest"):
            shuffler.loss(honest=honest, delta="1e-6")
    with pytest.raises(InvalidParameter, match="crowd"):
        Shuffler(_SURVEY, crowd=1)
