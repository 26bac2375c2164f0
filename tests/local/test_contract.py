"""The contract of the room: a document, a client and a law, and nothing that tells an answer but the law."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, NoGuarantee
from dither.local.clients import HALVES, Client, draw_report, half_of, packed, scripted
from dither.local.document import Document, Report
from dither.local.domains import Attributes, Bins, Categories, Range
from dither.local.frequencies import HadamardResponse, KaryResponse, LocalHashing, SubsetResponse, UnaryResponse
from dither.local.hitters import PaddedSet, PrefixHashing
from dither.local.randomiser import RANDOMISERS, randomiser_class, randomiser_of
from dither.local.rounds import MemoisedHashing, MemoisedKary, RapporResponse
from dither.noise.client_words import Words
from dither.privacy import PureDP
from tests.local.midst import asked_by_two_threads, refuses_what_would_draw_twice

_DOMAIN = Categories(("red", "green", "blue", "other"), "other")
_LAW = KaryResponse.calibrated(PureDP(1), categories=4)
_DOCUMENT = _LAW.document("Which colour?", _DOMAIN)


def test_each_randomiser_has_both_halves() -> None:
    assert set(HALVES) == set(RANDOMISERS)
    for name in RANDOMISERS:
        kind = randomiser_class(name)
        assert (kind.name, kind.half_type.name) == (name, name)


def test_a_document_is_read_back_with_its_digest() -> None:
    again = Document.parse(_DOCUMENT.text)
    assert again == _DOCUMENT
    assert again.digest == _DOCUMENT.digest
    assert randomiser_of(again) == _LAW
    # The order of fields and spaces is not part of a document.
    shuffled = json.dumps(dict(reversed(json.loads(_DOCUMENT.text).items())), indent=3)
    assert Document.parse(shuffled).digest == _DOCUMENT.digest


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2),
        ("version", True),
        ("dither", "something"),
        ("entropy", "words-64"),
        ("surprise", 1),
        ("question", ""),
        ("question", "\ud800"),
        ("question", None),
        ("domain", None),
        ("domain", {"kind": "shapes"}),
        ("domain", {"kind": "categories", "names": ["a"], "other": "a"}),
        ("domain", {"kind": "categories", "names": ["a", "a"], "other": "a"}),
        ("domain", {"kind": "categories", "names": ["a", "b"], "other": "c"}),
        ("domain", {"kind": "range", "low": 1, "high": 1}),
        ("domain", {"kind": "range", "low": 1.5, "high": 3}),
        ("randomiser", "guess"),
        ("randomiser", 3),
        ("parameters", []),
        ("parameters", {"categories": 4, "truth": 3, "bits": 2, "more": 1}),
        ("parameters", {"categories": 4, "truth": 3}),
        ("parameters", {"categories": 4, "truth": 4, "bits": 2}),
        ("parameters", {"categories": 4, "truth": 0, "bits": 2}),
        ("parameters", {"categories": 4, "truth": True, "bits": 2}),
        ("parameters", {"categories": 5, "truth": 3, "bits": 2}),
        ("parameters", {"categories": 4, "truth": 1, "bits": 33}),
        ("parameters", {"categories": 4, "truth": 1, "bits": 3}),
    ],
)
def test_a_bad_document_is_refused_by_field(field: str, value: Any) -> None:
    record = {**json.loads(_DOCUMENT.text), field: value}
    with pytest.raises(InvalidParameter):
        half_of(Document.parse(json.dumps(record)))


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"a": NaN}', '{"version": 1, "version": 1}', "[" * 100_000])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match=r"document|version"):
        Document.parse(text)


def test_all_answers_have_a_report_of_one_length() -> None:
    class Odd(str):
        """A string of a class of its own."""

    lengths = set()
    for answer in ("red", "mauve", None, float("nan"), 10**400, [], Odd("red"), object()):
        lengths.add(len(Client(_DOCUMENT).report(answer)))
    assert len(lengths) == 1
    ages = Range(-3, 9)
    assert [ages.cell(age) for age in (-4, -3, 0, 9, 10, float("inf"), float("-inf"), None, True)] == [
        *(0, 0, 3, 12, 12, 12, 0, 0, 0)
    ]


def test_a_client_repeats_its_first_report_whatever_the_answer() -> None:
    client = Client(_DOCUMENT)
    assert {client.report(answer) for answer in ("red", "green", "blue") * 20} == {client.report("red")}


def test_a_report_is_drawn_once_by_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    where = "dither.local.clients.client"
    one = Client(_DOCUMENT)
    assert len(asked_by_two_threads(monkeypatch, where, lambda: one.report("red"))) == 1
    other = Client(_DOCUMENT)
    refuses_what_would_draw_twice(monkeypatch, where, other, lambda: other.report("red"))


@pytest.mark.parametrize(
    ("number", "whole"),
    [
        (np.int64(2), 2),
        (np.array(2), 2),
        (np.float32(2.5), 2),
        (Fraction(5, 2), 2),
        # A float would round it up.
        (Fraction(3 * 2**60 - 1, 2**60), 2),
        (Decimal("2.5"), 2),
        (Decimal("-1e-9"), -1),
        (Decimal("1e999999"), 9),
        (Decimal("-Infinity"), -3),
        (Fraction(-(10**400)), -3),
        (10**400, 9),
        (np.array([2]), -3),
        (np.bool_(True), -3),
        (Decimal("sNaN"), -3),
        (2j, -3),
        ("2", -3),
    ],
)
def test_numbers_of_any_class_count_as_what_they_are(number: Any, whole: int) -> None:
    assert Range(-3, 9).name(Range(-3, 9).cell(number)) == str(whole)
    assert Bins(-3, 2, 6).cell(number) == min((whole + 3) // 2, 5)


def test_texts_of_any_class_count_as_their_characters_and_no_class_can_raise() -> None:
    class Odd(str):
        """A string that is equal to nothing."""

        __slots__ = ()
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise ValueError

    class Worse:
        """Neither a number nor a text, whatever it says."""

        @property
        def __class__(self) -> Any:  # type: ignore[override]
            raise ValueError

        def __index__(self) -> int:
            raise ValueError

    class Colour(StrEnum):
        GREEN = "green"

    class Person(dict[Any, Any]):
        """A dictionary that finds nothing."""

        def get(self, *_: Any) -> Any:
            raise ValueError

    assert [_DOMAIN.cell(text) for text in (np.str_("green"), Odd("green"), Colour.GREEN, Worse(), b"green")] == [
        *(1, 1, 1, 3, 3)
    ]
    assert Range(-3, 9).cell(Worse()) == 0
    person = Attributes((("age", Range(0, 2)), ("colour", _DOMAIN)))
    assert person.cell(Person(age=np.int8(1), colour="blue")) == 1 + 3 * 2
    assert person.cell(Worse()) == 3 * 3


def test_a_law_that_hides_nothing_is_refused_whoever_sends_it() -> None:
    # ln(2^32 - 1) = 22.2 for two answers, and e^20 is between these weights.
    for truth in (2**32 - 1, 2**32 - 8):
        record = {"categories": 2, "truth": truth, "bits": 32}
        with pytest.raises(InvalidParameter, match="epsilon 20"):
            half_of(Document("Which?", Range(0, 1), "kary-response", record))
    near = KaryResponse.calibrated(PureDP(20), categories=2)
    assert half_of(near.document("Which?", Range(0, 1))).ratio < math.exp(20)
    # One report is within the limit here, and all rounds from its stored response are not.
    chain = {"categories": 2, "hold": 2**32 - 1, "show": 3 * 2**30, "bits": 32}
    with pytest.raises(InvalidParameter, match="epsilon 20"):
        half_of(Document("Which?", Range(0, 1), "memoised-kary", chain))


@pytest.mark.parametrize(
    "question", ["Which\none?", "a\u202eb", "a\u2066b", "a\x1b[2J", "a\u2028b", "a\x00", "\u200f?"]
)
def test_a_question_that_does_not_show_as_it_is_is_refused(question: str) -> None:
    with pytest.raises(InvalidParameter, match="question"):
        Document(question, _DOMAIN, "kary-response", _DOCUMENT.parameters)


@pytest.mark.parametrize(
    "question", ["Which one, 1\u00a0% or 2\u202f?", "\u00bfC\u00f3mo? \u2013 \u201eso\u201c", "\u4f55\u3000?"]
)
def test_spaces_and_punctuation_of_any_language_are_allowed(question: str) -> None:
    assert Document.parse(Document(question, _DOMAIN, "kary-response", _DOCUMENT.parameters).text).question == question


def test_a_report_is_read_back_and_nothing_else_is() -> None:
    report = draw_report(_DOCUMENT, half_of(_DOCUMENT), "blue", scripted([1, 2, 3, 4, 2**32 - 1, 0]))
    assert report.nonce.hex() == "00000001000000020000000300000004"
    assert Report.parse(report.text) == report
    assert Report.parse(report.text.encode() + b"\n") == report
    # The truth of the coin is a lie here, and the first of the others after blue.
    assert report.payload == packed((3,), (2,))
    for text in ("", "AAAA", report.text[:40], "=" + report.text, "\u00e9" * 44, report.text + "!", report.text + "="):
        assert Report.parse(text) is None
    # Spare bits of base64 would make several texts of one report.
    longer = Report(report.digest, report.nonce, b"ab").text
    assert Report.parse(longer[:-1] + chr(ord(longer[-1]) + 1)) is None


def test_a_payload_that_no_client_draws_is_found() -> None:
    law = KaryResponse.calibrated(PureDP(1), categories=5)
    payloads = np.frombuffer(bytes([0b00000000, 0b10000000, 0b10100000, 0b00000001]), dtype=np.uint8).reshape(-1, 1)
    reports, valid = law.decode(payloads)
    assert valid.tolist() == [True, True, False, False]
    assert reports[:2].tolist() == [0, 4]


def test_words_are_used_as_the_document_says() -> None:
    words = Words([0b101, 0b011, 0b110], 3)
    assert (words.take(4), words.used) == (0b1010, 2)
    assert words.take(0) == 0
    assert words.take(2) == 0b11
    # 7 of 8 values are below 7; the eighth starts again.
    assert Words([7, 3], 3).below(7) == 3
    assert Words([], 3).below(1) == 0


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", 1, 4, 20])
@pytest.mark.parametrize("categories", [2, 5, 1000])
def test_calibration_takes_the_grid_point_just_below(epsilon: Any, categories: int) -> None:
    target = PureDP(epsilon)
    law = KaryResponse.calibrated(target, categories=categories)
    assert law.loss(1) <= target
    if law.truth < 2**32 - 1:
        above = KaryResponse(categories=categories, truth=law.truth + 1)
        assert not above.loss(1) <= target


def test_a_target_that_no_weight_meets_is_refused() -> None:
    with pytest.raises(NoGuarantee, match="at most 20"):
        KaryResponse.calibrated(PureDP("20.1"), categories=4)
    with pytest.raises(NoGuarantee, match="no weight"):
        KaryResponse.calibrated(PureDP("1e-12"), categories=3)
    with pytest.raises(NoGuarantee, match="no weight"):
        KaryResponse.calibrated(PureDP("0.1"), categories=100, bits=4)


def test_a_law_whose_reports_are_the_same_for_all_answers_is_refused() -> None:
    """It loses nothing and estimates nothing: an even chance is a grid point where answers are a power of two."""
    for law, given in (
        (KaryResponse, {"categories": 4}),
        (SubsetResponse, {"categories": 4}),
        (HadamardResponse, {"categories": 4}),
        (UnaryResponse, {"categories": 4}),
        (LocalHashing, {"categories": 50}),
        (MemoisedHashing, {"categories": 50}),
        (MemoisedKary, {"categories": 4}),
        (RapporResponse, {"categories": 4}),
        (PaddedSet, {"items": 3, "length": 1}),
        (PrefixHashing, {"word_bits": 4, "lengths": (2, 4)}),
    ):
        with pytest.raises(NoGuarantee, match="no weight"):
            law.calibrated(PureDP("1e-12"), **given)  # type: ignore[attr-defined]
    even: dict[str, Any] = {"bits": 4, "categories": 4}
    for law, given in (
        (KaryResponse, {**even, "truth": 4}),
        (UnaryResponse, {**even, "hold": 8, "stray": 8}),
        (SubsetResponse, {**even, "size_of_set": 2, "truth": 8}),
        (MemoisedKary, {**even, "hold": 12, "show": 4}),
        (MemoisedKary, {**even, "hold": 4, "show": 12}),
        (PaddedSet, {"items": 3, "length": 1, "truth": 4, "bits": 4}),
    ):
        with pytest.raises(InvalidParameter, match=r"likelier under its own answer|above stray"):
            law(**given)
    # Fewer groups have a weight where more have none.
    assert LocalHashing.calibrated(PureDP("1e-9"), categories=50).group_bits == 1


def test_the_loss_is_that_of_whole_weights() -> None:
    law = KaryResponse(categories=4, truth=3, bits=2)
    assert law.half.ratio == Fraction(9)
    assert abs(float(law.loss(1).epsilon) - np.log(9)) < 1e-12
    assert law.loss(0) == PureDP(0)
