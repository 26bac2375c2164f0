"""A statement answered privately with next to no noise, beside what DuckDB says to it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import duckdb

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.errors import DitherError, Unanswerable
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import ApproxDP, Loss, PureDP, Use
from dither.publish.queries import Query, QueryResult, plan_query, plan_report, present, present_report
from dither.publish.queries.found_clamps import found_clamps
from dither.publish.queries.sql import parse_request
from dither.verbs.offers import Offers
from tools.grammar.statements import Statement
from tools.grammar.world import dataset, plain

_EPSILON: Final = 10**11
#: Every interval is to hold, so that each miss is a fault.
_CONFIDENCE: Final = 1 - Fraction(1, 10**9)
_EMPTY: Final = ("can never be true", "is not a declared category", "no group is left of")
#: Quantiles of reals are found in steps of a millionth of their range, which is 1000 here.
_STEP: Final = 1e-3
#: An interval that is wider says nothing: a hundred times a sum that is clamped to a hundred thousand is 25 wide.
_WIDEST: Final = 50


@dataclass(frozen=True)
class Outcome:
    """What came of a statement.

    Attributes:
        verdict: "same"; "other"; "empty" (refused, because nothing can be counted by declaration); "refused";
            "raised" (by us, and not as a refusal); or "unclear" (DuckDB says that it is not a statement).
        said: what is wrong.

    """

    verdict: str
    said: str = ""


def answered(text: str, engine: Engine) -> QueryResult:
    """Return the answer with next to no noise; a delta is spent where groups are discovered."""
    asked = parse_request(text, dataset())
    if not isinstance(asked, Query) and not asked.queries:
        return _answered(asked, PureDP(0), engine)
    try:
        return _answered(asked, PureDP(_EPSILON), engine)
    except Unanswerable as error:
        if "delta" not in str(error):
            raise
    return _answered(asked, ApproxDP(_EPSILON, "0.1"), engine)


def measured(text: str) -> list[Aggregation]:
    """Return what an engine is asked for a statement; nothing for one that is refused."""
    try:
        clamps = found_clamps(text, dataset())
        asked = parse_request(text if clamps is None else clamps.filled(clamps.usual), dataset())
        queries = [asked] if isinstance(asked, Query) else [query for _, query in asked.queries]
        loss = ApproxDP(1, "1e-6")
        return [one for query in queries for one in plan_query(query, loss).aggregations()]
    except DitherError:
        return []


def _answered(asked: Any, loss: Loss, engine: Engine) -> QueryResult:
    if isinstance(asked, Query):
        answer = plan_query(asked, loss)
        return present(answer, Runner(Use(answer), system_noise())(answer, engine), confidence=_CONFIDENCE)
    planned = plan_report(asked, loss)
    return present_report(planned, Runner(Use(planned), system_noise())(planned, engine), confidence=_CONFIDENCE)


def with_ranges(statement: Statement, engine: Engine) -> Statement:
    """Return a statement with ranges that were found in the places of AUTO, in both spellings."""
    clamps, plainly = (found_clamps(text, dataset()) for text in (statement.text, statement.plain))
    if clamps is None or plainly is None:
        return statement
    ranges = {}
    for place in clamps.places:
        offer = Offers(dataset()).bounds(*place, loss=PureDP(_EPSILON))
        out = Runner(Use(offer.mechanism), system_noise())(offer.mechanism, engine)
        ranges[place] = clamps.range_of(place, offer.read(offer.present(out), ""))[0]
    return replace(statement, text=clamps.filled(ranges), plain=plainly.filled(ranges))


def judged(statement: Statement, engine: Engine) -> Outcome:
    """Return whether our answer is DuckDB's."""
    statement = with_ranges(statement, engine)
    try:
        theirs = plain().execute(statement.plain).fetchall()
    except duckdb.Error as error:
        return Outcome("unclear", str(error).split("\n", 1)[0])
    try:
        ours = answered(statement.text, engine)
    except DitherError as error:
        is_empty = any(reason in str(error) for reason in _EMPTY)
        return Outcome("empty" if is_empty else "refused", str(error))
    except Exception as error:
        return Outcome("raised", f"{type(error).__name__}: {error}")
    said = difference(ours, theirs, statement)
    return Outcome("other", said) if said else Outcome("same")


def difference(ours: QueryResult, theirs: Sequence[Sequence[Any]], statement: Statement) -> str:
    """Return where two answers differ, or nothing: keys are equal, and numbers lie in their intervals."""
    ends = [ours.interval(name) for name in ours.names]
    rows = [[(value, *ends[column][place]) for column, value in enumerate(row)] for place, row in enumerate(ours.rows)]
    other = [list(map(_plain, row)) for row in theirs]
    if len(rows) != len(other):
        return f"{len(rows)} rows and not {len(other)}: {ours.rows[:4]} and not {other[:4]}"
    if not statement.ordered:
        rows.sort(key=lambda row: [_rough(_plain(cell[0])) for cell in row])
        other.sort(key=lambda row: [_rough(value) for value in row])
    for mine, meant in zip(rows, other, strict=True):
        for place, ((value, low, high), truth) in enumerate(zip(mine, meant, strict=True)):
            if not _agrees(_plain(value), low, high, truth, is_key=place < statement.keys):
                return f"{ours.names[place]}: {value!r} in [{low}, {high}] and not {truth!r}"
    return ""


def _agrees(value: Any, low: Any, high: Any, truth: Any, *, is_key: bool) -> bool:
    if truth is None and not is_key:
        return True  # of no values: what has no value may be anything, and a sum is 0
    if isinstance(truth, float) and isinstance(value, float):
        if math.isclose(value, truth, rel_tol=1e-6, abs_tol=_STEP):
            return True
        return low is not None and low - 1e-9 <= truth <= high + 1e-9 and high - low < _WIDEST + abs(truth) / 20
    return bool(value == truth)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(value) if not isinstance(value, str | bool | datetime.date | None) else value


def _rough(value: Any) -> tuple[str, float, str]:
    if isinstance(value, float):
        return "number", float(f"{value:.4g}"), ""
    return type(value).__name__, 0.0, str(value)
