"""The door of devices: answers to surveys and reports of places, and one file that counts what all of them cost.

No curator is trusted here. The file holds public facts alone: for each survey what its report cost and the report, for
places the box, how many reports there were and the last one, and the limits. It is locked while a report is made, and
the cost is on the disk before the first random bit is drawn; a report that fails after that stays paid for. A survey
is answered once: asked again, the stored report is returned, even if the answer has changed. Answers are in units of
epsilon, places in epsilon per metre: two sums that never meet. Deleting the file forgets what was spent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from dither.curator.device_file import (
    PLACES_KIND,
    PLACES_VERSION,
    SurveyLine,
    file_of,
    held,
    places_in,
    read_file,
    write_part,
)
from dither.data import wire
from dither.data.places import Box
from dither.errors import BudgetExceeded, InvalidParameter, RequestSealed
from dither.exact import Number, exact, log_up, positive
from dither.local.clients import draw_report, half_of
from dither.local.clients.chains import Chain
from dither.local.document import Document
from dither.mechanisms.core.release import Budget, release
from dither.privacy import place
from dither.publish.places.report import ReportedPlaces

_BEYOND: Final = Fraction(10**300)


@dataclass(frozen=True)
class DeviceBook:
    """What a device has reported so far.

    Args:
        box: where its places lie; public, and the same for all reports.
        limit: the most epsilon per metre that all reports may cost together; None for no limit.
        reports: how many there were.
        spent: what they cost together, in epsilon per metre.
        last: latitude and longitude of the last report.

    """

    box: Box
    limit: Fraction | None = None
    reports: int = 0
    spent: Fraction = Fraction(0)
    last: tuple[float, float] | None = None


@dataclass(frozen=True)
class AnswerReport:
    """A report to a survey.

    Args:
        text: what is sent.
        epsilon: what it cost, once.
        spent: what the answers to all surveys have cost.
        cap: the most that they may cost together.
        is_new: whether it was drawn now; else it is the stored one.

    """

    text: str
    epsilon: Fraction
    spent: Fraction
    cap: Fraction
    is_new: bool


@dataclass(frozen=True)
class LocationReport:
    """A released place.

    Args:
        latitude: of the report.
        longitude: of the report.
        epsilon: what this report cost, per metre.
        reach: 95 % of reports are nearer to the true place, in metres.
        book: all reports of the device, this one included.

    """

    latitude: float
    longitude: float
    epsilon: Fraction
    reach: float
    book: DeviceBook


def report_location(
    latitude: Number,
    longitude: Number,
    *,
    epsilon: Number,
    book: str | Path,
    box: Box | None = None,
    limit: Number | None = None,
) -> LocationReport:
    """Return a place near the given one, and write to the book what it cost.

    Guarantee: places r metres apart lose ``epsilon * r`` by this report, and the total of the book times r by all of
    them. That is geo-indistinguishability, a relaxed notion, and NOT plain differential privacy.

    Args:
        latitude: of the device, in degrees.
        longitude: of the device, in degrees.
        epsilon: the loss for each metre: 0.01 makes places 100 metres apart lose 1.
        book: the file of this device; made by the first report.
        box: where the device may be; public, needed for the first report. A place outside counts as the nearest inside.
        limit: the most epsilon per metre that all reports may cost together; kept by the book from the first report on.

    """
    north, east = _coordinate("latitude", latitude), _coordinate("longitude", longitude)
    price = positive("epsilon", epsilon)
    path = file_of(book)
    with held(path):
        known = _opened(path, box, limit)
        if not known.box.plane and not (abs(north) <= 90 and abs(east) <= 180):
            rule = "a latitude from -90 to 90 and a longitude from -180 to 180 (are they swapped?)"
            raise InvalidParameter("latitude, longitude", "other numbers", rule)
        method = ReportedPlaces(box=known.box, epsilon=price)
        if known.limit is not None and known.spent + price > known.limit:
            said = (f"{float(one):g} per metre" for one in (price, known.spent, known.limit))
            raise BudgetExceeded(*said)
        paid = replace(known, reports=known.reports + 1, spent=known.spent + price)
        _write(path, paid)
        # Numbers of a plane have no limit of their own; those beyond it are no place, however large they are.
        place_of = np.array([[float(max(min(end, _BEYOND), -_BEYOND)) for end in (north, east)]])
        drawn = release(method, place_of, budget=Budget(epsilon=price, unit=place("great circle"))).value
        shown = (round(float(drawn[0, 0]), 7), round(float(drawn[0, 1]), 7))
        done = replace(paid, last=shown)
        _write(path, done)
    bound = method.error("0.95")
    return LocationReport(*shown, price, float("nan") if bound is None else bound.value, done)


def read_book(book: str | Path) -> DeviceBook:
    """Return what a device has reported so far; nothing is drawn."""
    path = file_of(book)
    if not path.is_file():
        raise InvalidParameter("book", str(book), "the file of a device that has made a report")
    known = _read(path)
    if known is None:
        raise InvalidParameter("book", str(book), "the file of a device that has reported a place")
    return known


def report_answer(answer: Any, *, document: Document, book: str | Path, cap: Number | None = None) -> AnswerReport:
    """Return the report of this device to a survey, and write to its file what it cost.

    Guarantee: whoever sees the report learns of the answer at most what its loss says, computed from the integers that
    are drawn. The answer is not stored. A second call returns the stored report, at no cost.

    Args:
        answer: of the person; one outside of the survey's domain counts as its other category or nearest end.
        document: of the survey, whose randomiser is for single reports: permanent responses are not stored here.
        book: the file of this device; made by the first report.
        cap: the most epsilon that the answers to all surveys may cost together; required with the first survey.

    """
    half = half_of(document)
    if isinstance(half, Chain):
        rule = (
            "a randomiser of single reports: rounds need dither.local.clients.rounds.RoundsClient, which stores states"
        )
        raise InvalidParameter("document.randomiser", document.randomiser, rule)
    price = log_up(half.ratio)
    path = file_of(book)
    with held(path):
        known = read_file(path)
        limit = _cap(known.cap, cap)
        stored = known.surveys.get(document.identifier)
        if stored is None:
            spent = sum((line.epsilon for line in known.surveys.values()), Fraction(0))
            if spent + price > limit:
                raise BudgetExceeded(*(f"epsilon {float(one):g}" for one in (price, spent, limit)))
            paid = SurveyLine(document.question, price, None)
            write_part(path, cap=limit, survey=(document.identifier, paid))
            report = draw_report(document, half, answer).text
            stored = replace(paid, report=report)
            write_part(path, survey=(document.identifier, stored))
            total, is_new = spent + price, True
        else:
            total, is_new = sum((line.epsilon for line in known.surveys.values()), Fraction(0)), False
    if stored.report is None:
        raise RequestSealed(document.identifier, 1)
    return AnswerReport(stored.report, stored.epsilon, total, limit, is_new)


def _cap(known: Fraction | None, given: Number | None) -> Fraction:
    """Return the most that all surveys may cost together: that of the first report."""
    limit = None if given is None else positive("cap", given)
    if known is None and limit is None:
        raise InvalidParameter("cap", None, "required with the first survey: the most epsilon for all surveys together")
    if known is not None and limit is not None and known != limit:
        raise InvalidParameter("cap", str(limit), f"{known}, as with the first survey")
    return known if known is not None else positive("cap", given or 0)


def _coordinate(name: str, value: Number) -> Fraction:
    """Return a coordinate; a refusal does not repeat it, since it is where somebody is."""
    try:
        return exact(name, value)
    except InvalidParameter:
        raise InvalidParameter(name, "something else", "a finite number, such as 48.8584") from None


def _opened(path: Path, box: Box | None, limit: Number | None) -> DeviceBook:
    cap = None if limit is None else positive("limit", limit)
    if not path.exists():
        if box is None:
            raise InvalidParameter("box", None, "the area in which the device may be, with the first report")
        return DeviceBook(box, cap)
    found = _read(path)
    if found is None:
        if box is None:
            raise InvalidParameter("box", None, "the area in which the device may be, with the first report")
        return DeviceBook(box, cap)
    known = found
    if box is not None and box != known.box:
        other = "take another file (--budget, in Python book) for another area"
        rule = f"omitted, or {_edges(known.box)} as in the first report; {other}"
        raise InvalidParameter("box", _edges(box), rule)
    if cap is not None and known.limit is not None and cap != known.limit:
        raise InvalidParameter("limit", str(cap), f"{known.limit}, as the first report said")
    return known if known.limit is not None else replace(known, limit=cap)


def _edges(box: Box) -> str:
    return ",".join(f"{float(edge):g}" for edge in (box.south, box.west, box.north, box.east))


def _write(path: Path, book: DeviceBook) -> None:
    record: dict[str, Any] = {
        "dither": PLACES_KIND,
        "version": PLACES_VERSION,
        "box": wire.encode(book.box),
        "limit": None if book.limit is None else str(book.limit),
        "reports": book.reports,
        "spent": str(book.spent),
        "last": book.last,
    }
    write_part(path, places=record)


def _read(path: Path) -> DeviceBook | None:
    """Return what a file knows about places; None if it knows answers alone."""
    record = read_file(path).places
    if record is None:
        return None
    return DeviceBook(*places_in(record))
