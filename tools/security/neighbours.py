"""``python -m tools.security.neighbours``: every route tells neighbouring tables apart by values alone.

Two services have data sets of the same names, whose rows differ by one person and are otherwise as odd as a file may
be. Both are asked the same, in the same order. Status, headers and bodies must be equal, once the figures, hashes and
times in them are covered; and so must be whether anything failed.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import json
import math
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from dither.curator.folder import Curator
from dither.curator.people import People
from dither.curator.request_json import public_view, write_words
from dither.data.files import loads
from dither.privacy import PureDP
from dither.publish.queries.builder import table as rows_of
from dither.publish.queries.parts import query_of_part
from dither.service.app import Service
from dither.service.desk import Desk
from dither.service.logs import Log
from dither.service.routes import ROUTES
from dither.service.settings import Settings
from tools.security.without_network import asked

SCHEMA: Final = """\
dataset: {name}
unit: person
contribution: {{rows: 2, groups: 2, rows per group: 2}}
tables:
  visits:
    source: {name}.csv
    privacy id: patient
    columns:
      patient: integer
      ward: {{kind: text, categories: [heart, skin]}}
      waited: {{kind: real, bounds: [0, 100]}}
      seen: {{kind: date}}
      note: {{kind: text}}
"""
_CELLS: Final[Mapping[str, tuple[str, ...]]] = {
    "ward": ("heart", "skin", "", "HEART", " heart", "heart\u0000"[:5], "curator", "=1+1", "é" * 40, "a,b", 'q"q'),
    "waited": ("", "0", "100", "-1", "1e300", "-1e300", "50.5", "0.1", "5e-324", "99999999999999999999"),
    "seen": ("", "2024-02-29", "1970-01-01", "9999-12-31"),
    "note": ("", "kanarienvogel", "\u202e", "x" * 500, "line\nline", "'; DROP TABLE visits; --", "NULL", "nan"),
}
_EPSILON: Final = {"number": "1/2"}
_TEXTS: Final = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n, SUM(waited) AS s, AVG(waited) AS m FROM visits GROUP BY ward",
    "SELECT COUNT(*) AS n FROM visits WHERE CAST(note AS INTEGER) > 3",
    "SELECT COUNT(*) AS n FROM visits WHERE 1 / (waited - 50) > 0 AND LENGTH(note) < 9",
    "SELECT MEDIAN(waited) AS m FROM visits WHERE seen > DATE '2000-01-01'",
    "SELECT COUNT(DISTINCT patient) AS n FROM visits WHERE note LIKE '%a%'",
    "SELECT nothing FROM visits",
    "SELECT waited FROM visits",
)
#: What a release that gives back what it did not lose says in the books is a part of its answer: it is not among these.
BODIES: Final[tuple[dict[str, Any], ...]] = (
    *({"verb": "sql", "words": {"text": text, "epsilon": _EPSILON}} for text in _TEXTS),
    {"verb": "histogram", "words": {"table": "visits", "columns": "waited", "bins": 3, "epsilon": _EPSILON}},
    {"verb": "bounds", "words": {"table": "visits", "column": "waited", "epsilon": _EPSILON}},
)
_COVERED: Final = (
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[0-9.:+Z]*"), b"TIME"),
    (re.compile(rb'"raw":\[\[.*?\]\],'), b""),  # what values were before they were made whole, where that is another
    (
        re.compile(rb"\bnull\b|(?<=,)(?=[,\r])"),
        b"N",
    ),  # a mean of nothing is a value, too; in a sheet it is an empty cell
    (re.compile(rb"-?[0-9]+\.[0-9]+(e[+-]?[0-9]+)?"), b"N"),
    (re.compile(rb"[0-9a-f]{16,}"), b"HASH"),
    (re.compile(rb"[A-Za-z0-9+/]{20,}={0,2}"), b"TEXT"),
    (re.compile(rb"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?(/[0-9]+)?"), b"N"),
)
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_LOSS: Final = {"kind": "pure", "epsilon": "1/2"}
#: Not asked about each data set: a link is used once, and these walk through all there is.
_AT_THE_END: Final = ("/v1/ledger/verification", "/v1/ledger/entries", "/v1/published", "/v1/approvals")
_ALONE: Final = ("sign_in", "verification", "entries")
_OF_EACH: Final = ("x-request-id", "etag", "dither-place", "content-length")


@dataclass(frozen=True)
class Told:
    """An answer with its figures covered."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def table(dice: random.Random, number: int) -> tuple[str, str]:
    """Return an odd table as CSV, and the same without one of its people; those of the first may be all there are."""
    rows = [
        [str(dice.randrange(4)), *(dice.choice(cells) for cells in _CELLS.values())]
        for _ in range(dice.randrange(1, 9))
    ]
    gone = dice.choice(rows)[0]
    if number:
        # Two tables of the same rows would be one data set.
        rows.append([str(1000 + number), "heart", "1", "", "fixed"])
    return _written(rows), _written([row for row in rows if row[0] != gone])


def _written(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([["patient", *_CELLS], *rows])
    return out.getvalue()


class Side:
    """A service without a network, on one table of each pair.

    Args:
        folder: where its curator's folder is made.
        tables: as CSV.

    """

    def __init__(self, folder: Path, tables: list[str]) -> None:
        self.curator = Curator.create(folder / "home", anchors=folder / "anchors")
        people = People(self.curator)
        people.add("ana", "curator")
        people.add("ben", "analyst")
        for number, text in enumerate(tables):
            name = f"table{number}"
            (folder / f"{name}.csv").write_text(text, encoding="utf-8")
            (folder / f"{name}.yaml").write_text(SCHEMA.format(name=name))
            self.curator.add(folder / f"{name}.yaml", epsilon=1000)
            people.grant("ana", name, PureDP(1000))
        self.log = io.StringIO()
        self._token = people.new_token("ana")
        settings = Settings(timing="off", requests_per_second=100_000, releasing=1)
        self._service = Service(Desk(self.curator), settings, Log(self.log))
        self._application = self._service.application()

    async def ask(self, method: str, path: str, body: Any = None, more: Mapping[str, str] = _NONE) -> Told:
        """Return what a request is answered, with its figures covered."""
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self._token}", **more}
        status, found, told = await asked(self._application, method, path, headers, content)
        kept = tuple(sorted((name, value) for name, value in found.items() if name not in _OF_EACH))
        return Told(status, kept, covered(told))

    async def close(self) -> None:
        """Let go of the folder."""
        await self._service.stop()
        self.curator.close()


def covered(content: bytes) -> bytes:
    """Return a body without its figures, hashes and times.

    >>> covered(b'{"n": -1.5, "at": "2024-01-01T00:00:00+00:00"}')
    b'{"n": N, "at": "TIME"}'
    """
    for pattern, sign in _COVERED:
        content = pattern.sub(sign, content)
    return content


class _Named(dict[str, str]):
    """Names of a path; those that nobody has given are of something that is not there."""

    def __missing__(self, key: str) -> str:
        return "x"


Asked: TypeAlias = tuple[str, str, Any, Mapping[str, str]]


def requests(name: str) -> Iterator[Asked]:
    """Yield what is asked about one data set: releases, quotes, what goes on, decisions, and all routes that read."""
    place = f"/v1/datasets/{name}"
    for body in BODIES:
        yield "POST", f"{place}/quotes", body, _NONE
        yield "POST", f"{place}/releases", body, _NONE
        yield "POST", f"{place}/releases", body, {"accept": "text/csv"}
        yield "POST", f"{place}/releases", body, {"accept": "text/csv", "idempotency-key": "again"}
    yield "POST", f"{place}/losses", {"words": {"query": _TEXTS[0], "column": "n", "error": 50}}, _NONE
    yield "POST", f"{place}/room", {"loss": _LOSS, "counted": True}, _NONE
    words = {"table": "visits", "columns": ["ward"], "epsilon": _EPSILON}
    yield "POST", f"{place}/conversations", {"name": "talk", "words": words}, _NONE
    for question in ("ward = 'heart'", "ward = 'nowhere'", "waited > 3"):
        yield "POST", f"{place}/conversations/talk/questions", {"questions": [question]}, _NONE
    yield "GET", f"{place}/conversations/talk", None, _NONE
    yield from _about_parts(name)
    yield "POST", f"{place}/streams", {"name": "ticks", "words": {"query": _TEXTS[0], "epsilon": _EPSILON}}, _NONE
    yield "POST", f"{place}/published", {"release": "again", "title": "shown"}, _NONE
    yield "POST", f"{place}/grants", {"person": "ben", "quota": _LOSS}, _NONE
    yield "POST", f"{place}/budget", {"budget": {**_LOSS, "epsilon": "1001"}, "reason": "more"}, _NONE
    for route in ROUTES:
        if route.method == "GET" and route.name not in _ALONE:
            for entry in ("1", "4", "again", "again.csv", "9999") if "{entry}" in route.path else ("",):
                yield "GET", route.path.format_map(_Named(dataset=name, entry=entry)), None, _NONE
    yield "POST", "/v1/approvals/1", {"decision": "approve"}, _NONE
    yield "DELETE", f"{place}/jobs/x", None, _NONE
    yield "DELETE", f"{place}/published/again", None, _NONE
    yield "DELETE", f"{place}/grants/ben", None, _NONE
    yield "DELETE", f"{place}/streams/ticks", None, _NONE
    for stage in ("paused", "open", "closed"):
        yield "POST", f"{place}/stage", {"stage": stage, "reason": "tried"}, _NONE
        yield "POST", f"{place}/releases", BODIES[1], {"idempotency-key": stage}


def _about_parts(name: str) -> Iterator[Asked]:
    """Yield questions about parts of one data set: paid for, asked, asked again, and what is refused."""
    place, dataset = f"/v1/datasets/{name}/parts", public_view(loads(SCHEMA.format(name=name)))
    parts = rows_of("visits").partition("ward", {"heart": ["heart"], "skin": ["skin"]}).open(dataset)
    opening = {**write_words({"partition": parts}, dataset), "epsilon": _EPSILON}
    yield "POST", place, {"name": "wards", "words": opening}, _NONE
    for label, epsilon in (("heart", "1/4"), ("heart", "1/4"), ("skin", "1/2"), ("heart", "1/2"), ("nowhere", "1/4")):
        query = query_of_part(parts, "skin" if label == "skin" else "heart", lambda rows: rows.count())
        words = {"label": label, **write_words({"question": query}, dataset), "epsilon": {"number": epsilon}}
        yield "POST", f"{place}/wards/questions", {"words": words}, _NONE
    yield "GET", f"{place}/wards", None, _NONE


async def _compare(
    tables: int, one: Side, other: Side, until: float, asked: Callable[[], bool], *, says: bool
) -> tuple[int, Counter[int], list[str]]:
    count, found, statuses = 0, [], Counter[int]()
    for number in range(tables):
        for words in filter(lambda _: asked(), requests(f"table{number}")):
            first, second = await one.ask(*words), await other.ask(*words)
            count += 1
            statuses[first.status] += 1
            if first != second:
                found.append(f"{words}: {first} is not {second}"[:2000])
        if says and (number + 1) % 20 == 0:
            print(f"  {number + 1} pairs, {count} answers, {len(found)} differ", flush=True)
        if time.monotonic() > until:
            found.append(f"stopped by its time after {number + 1} pairs of {tables}")
            break
    # Walked once, when all is there: each walk takes as long as the chain is.
    for path in _AT_THE_END:
        first, second = await one.ask("GET", path), await other.ask("GET", path)
        count += 1
        if first != second:
            found.append(f"{path}: {first} is not {second}"[:2000])
    await one.close()
    await other.close()
    return count, statuses, found


def run(
    tables: int, seed: int, seconds: float = math.inf, *, share: float = 1.0, says: bool = False
) -> tuple[int, Counter[int], list[str]]:
    """Return how many answers were compared, how often each status was told, and what tells neighbours apart.

    Args:
        tables: how many pairs.
        seed: of the tables.
        seconds: after which no further pair is begun.
        share: of the requests, drawn anew for each pair.
        says: whether to print how far it has come.

    """
    until = time.monotonic() + seconds
    dice = random.Random(seed)  # noqa: S311 - nothing here is secret
    pairs = [table(dice, number) for number in range(tables)]
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / side for side in ("one", "other")]
        for folder in folders:
            folder.mkdir()
        sides = [Side(folder, [pair[place] for pair in pairs]) for place, folder in enumerate(folders)]
        count, statuses, found = asyncio.run(
            _compare(tables, sides[0], sides[1], until, lambda: dice.random() < share, says=says)
        )
        for side in sides:
            if "kanarienvogel" in side.log.getvalue():
                found.append("a cell stands in the log")
        return count, statuses, found


def main() -> None:
    """Compare, and say what was found; exit 1 if anything tells neighbours apart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=20, help="how many pairs")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="of the tables, to repeat a run")
    parser.add_argument("--minutes", type=float, default=15, help="after which no further pair is begun")
    given = parser.parse_args()
    begun = time.monotonic()
    count, statuses, found = run(given.tables, given.seed, 60 * given.minutes, says=True)
    print(
        f"{given.tables} pairs of tables (seed {given.seed}) in {time.monotonic() - begun:.0f} s, {count} answers "
        f"compared ({', '.join(f'{many} of {status}' for status, many in sorted(statuses.items()))}), "
        f"{len(found)} differ"
    )
    for one in found[:20]:
        print(f"  {one}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
