"""One device without a curator: reports of its own place, and a file that says what all of them cost together.

The file holds public facts alone: the box, the limit, how many reports there were, what they cost, and the last one. It
is locked while a report is made, and the cost is on the disk before the first random bit is drawn; a report that fails
after that stays paid for. Costs are epsilon per metre, which add up: after T reports, places r metres apart are told
apart by at most the total times r. Whoever deletes the file forgets what was spent.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from dither.curator.adding import write_whole
from dither.data import wire
from dither.data.importing.conversion import keep_on_disk
from dither.data.places import Box
from dither.errors import BudgetExceeded, InvalidParameter
from dither.exact import Number, exact, positive
from dither.mechanisms.core.release import Budget, release
from dither.privacy import place
from dither.publish.places.report import ReportedPlaces

_KIND: Final = "places reported by one device"
_VERSION: Final = 1
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
    path = _one(book)
    with _held(path):
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
    path = _one(book)
    if not path.is_file():
        raise InvalidParameter("book", str(book), "the file of a device that has made a report")
    return _read(path)


def _coordinate(name: str, value: Number) -> Fraction:
    """Return a coordinate; a refusal does not repeat it, since it is where somebody is."""
    try:
        return exact(name, value)
    except InvalidParameter:
        raise InvalidParameter(name, "something else", "a finite number, such as 48.8584") from None


def _one(book: str | Path) -> Path:
    """Return where the file itself is: a book that is written through a link would become two books."""
    try:
        path = Path(book).resolve()
        links = path.stat().st_nlink if path.is_file() else 1
    except (OSError, RuntimeError, ValueError):
        raise InvalidParameter("book", str(book), "a path to a file") from None
    if links > 1:
        raise InvalidParameter("book", str(book), "a file with one name: under another one it would be another book")
    return path


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Let one process at a time report."""
    try:
        handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InvalidParameter("book", str(path), f"in a folder that can be written to ({error.strerror})") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _opened(path: Path, box: Box | None, limit: Number | None) -> DeviceBook:
    cap = None if limit is None else positive("limit", limit)
    if not path.exists():
        if box is None:
            raise InvalidParameter("box", None, "the area in which the device may be, with the first report")
        return DeviceBook(box, cap)
    known = _read(path)
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
        "dither": _KIND,
        "version": _VERSION,
        "box": wire.encode(book.box),
        "limit": None if book.limit is None else str(book.limit),
        "reports": book.reports,
        "spent": str(book.spent),
        "last": book.last,
    }
    write_whole(path, json.dumps(record, indent=1) + "\n")
    # That the file has its new content is a fact about the folder.
    keep_on_disk(path.parent)


def _read(path: Path) -> DeviceBook:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["dither"] != _KIND or record["version"] != _VERSION:
            raise ValueError
        limit, reports, last = record["limit"], record["reports"], record["last"]
        spent = exact("spent", record["spent"])
        if not (type(reports) is int and reports >= 0 and spent >= 0):
            raise ValueError
        shown = None if last is None else (float(last[0]), float(last[1]))
        if shown is not None and not all(map(math.isfinite, shown)):
            raise ValueError
        box = wire.decode(record["box"])
        if not isinstance(box, Box):
            raise ValueError
        return DeviceBook(box, None if limit is None else positive("limit", limit), reports, spent, shown)
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError):
        rule = "a file that 'dither report-location' wrote, unchanged: nothing is reported on a damaged one"
        raise InvalidParameter("book", str(path), rule) from None
