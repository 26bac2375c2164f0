"""The file of a device: locked, whole on the disk or unchanged, and refused when it is damaged.

A file that knows places alone has the form of version 1, as it always had. With the first survey it takes the form of
version 2, which holds the record of places unchanged.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

from dither.curator.adding import write_whole
from dither.data import wire
from dither.data.importing.conversion import keep_on_disk
from dither.data.places import Box
from dither.errors import InvalidParameter
from dither.exact import exact, positive

PLACES_KIND: Final = "places reported by one device"
PLACES_VERSION: Final = 1
_KIND: Final = "reports of one device"
_VERSION: Final = 2


@dataclass(frozen=True)
class SurveyLine:
    """What a device knows of a survey that it has answered.

    Args:
        question: of the survey.
        epsilon: what the report cost.
        report: that was drawn; None where it was paid for and not stored, so that it is sealed.

    """

    question: str
    epsilon: Fraction
    report: str | None


@dataclass(frozen=True)
class DeviceFile:
    """All that is in the file of a device.

    Args:
        places: the record of reported places, as version 1 has it; None where there is none.
        cap: the most epsilon for the answers to all surveys.
        surveys: by the digests of their documents.

    """

    places: Mapping[str, Any] | None = None
    cap: Fraction | None = None
    surveys: Mapping[str, SurveyLine] = field(default_factory=dict)


class PlaceFields(NamedTuple):
    """The record of reported places, as it is in a file: the fields of a device's book."""

    box: Box
    limit: Fraction | None
    reports: int
    spent: Fraction
    last: tuple[float, float] | None


def read_file(path: Path) -> DeviceFile:
    """Return what is in the file; nothing where it does not exist yet."""
    if not path.exists():
        return DeviceFile()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["dither"] == PLACES_KIND:
            places_in(record)
            return DeviceFile(places=record)
        _check_form(record, _KIND, _VERSION)
        surveys = {digest: _line(line) for digest, line in record["surveys"].items()}
        places, cap = record["places"], _spent(record["cap"])
        if places is not None:
            places_in(places)
        return DeviceFile(places, cap, surveys)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
        raise damaged(path) from None


def places_in(record: Mapping[str, Any]) -> PlaceFields:
    """Return the fields of the record of places; raise where one is missing or is not as it was written."""
    _check_form(record, PLACES_KIND, PLACES_VERSION)
    box, reports, last = wire.decode(record["box"]), record["reports"], record["last"]
    if not isinstance(box, Box) or type(reports) is not int or reports < 0:
        raise ValueError
    shown = None if last is None else (float(last[0]), float(last[1]))
    if shown is not None and not all(map(math.isfinite, shown)):
        raise ValueError
    limit = None if record["limit"] is None else positive("limit", record["limit"])
    return PlaceFields(box, limit, reports, _spent(record["spent"]), shown)


def write_part(
    path: Path,
    *,
    places: Mapping[str, Any] | None = None,
    cap: Fraction | None = None,
    survey: tuple[str, SurveyLine] | None = None,
) -> None:
    """Write the file with a changed part, and return when it is on the disk; the others stay as they are."""
    known = read_file(path)
    if places is not None:
        known = replace(known, places=places)
    if cap is not None:
        known = replace(known, cap=cap)
    if survey is not None:
        known = replace(known, surveys={**known.surveys, survey[0]: survey[1]})
    lines = {
        digest: {"question": line.question, "epsilon": str(line.epsilon), "report": line.report}
        for digest, line in known.surveys.items()
    }
    whole = {"dither": _KIND, "version": _VERSION, "cap": str(known.cap), "surveys": lines, "places": known.places}
    write_whole(path, json.dumps(whole if known.surveys else known.places, indent=1) + "\n")
    # That the file has its new content is a fact about the folder.
    keep_on_disk(path.parent)


def damaged(path: Path) -> InvalidParameter:
    """Return the refusal of a file that is not as it was written."""
    rule = (
        "a file that 'dither report-location' or 'dither answer' wrote, unchanged: nothing is reported on a damaged one"
    )
    return InvalidParameter("book", str(path), rule)


def _check_form(record: Mapping[str, Any], kind: str, version: int) -> None:
    # True equals 1, and 2.0 equals 2.
    if record["dither"] != kind or type(record["version"]) is not int or record["version"] != version:
        raise ValueError


def _line(record: Mapping[str, Any]) -> SurveyLine:
    question, report = record["question"], record["report"]
    if type(question) is not str or not (report is None or type(report) is str):
        raise ValueError
    return SurveyLine(question, _spent(record["epsilon"]), report)


def _spent(number: Any) -> Fraction:
    spent = exact("epsilon", number)
    if spent < 0:
        raise ValueError
    return spent


def file_of(book: str | Path) -> Path:
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
def held(path: Path) -> Iterator[None]:
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
