"""Do the numbers of a query move as declared on the engines that run the printed SQL? Brute force on each of them.

The search of ``audit.queries`` compares what the reference engine computes. An emitter prints the same request for
DuckDB, PostgreSQL and Spark, and may print it wrongly for one of them: a limit of a person that is off by one, a clamp
that works on one side, a count of rows in place of people. Here the exact integers come from the engines themselves,
before any noise, on hostile neighbours. They may move by no more than the plan charges for; and every second pair, for
which engines choose rows alike, they must be those of the reference engine. Before that values next to
every bound are put on grids, the same ones in every run (``audit.engine_corners``), and many people with many rows are
counted one by one under every mix of limits: nobody may count more often than the limits allow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from time import perf_counter
from typing import Any, Final

import numpy as np

from dither.audit.engine_corners import corner_dataset, corner_rows, try_corners
from dither.audit.owned import owned_answers, owned_neighbours
from dither.audit.queries import Comparison, Found, Row, hostile_answers, neighbours
from dither.audit.query_shapes import shaped_answers, tables
from dither.data import Aggregation, Bounded, CountOf, CountRows, DataSet, Limits, Name, Persons, Scan, Sum
from dither.data.engines.protocol import Engine
from dither.data.examples import DRUGS, SITES, clinic, visit
from dither.data.reference import ReferenceEngine
from dither.data.relations import Aggregated
from dither.data.schema import person_unit
from dither.noise import Noise, system_noise
from dither.publish.queries.answer import Answer
from dither.testing.engines import PRINTED, EngineAbsent, Engines, typed_rows

__all__ = ["PRINTED", "EngineAudit", "audit_engine"]

_MOST_DIFFERENCES: Final = 3
_LONGEST: Final = 400
#: Spark takes about a second to plan a statement: it is asked what takes one or two of them.
_SLOW: Final = ("spark",)
_PEOPLE: Final = 20
_MEASURES: Final = (
    (CountRows(),),
    (CountRows(), Persons()),
    (CountOf(Name("cost")), Persons(), Sum(Name("cost"))),
)
_KEYS: Final = (("person", "site"), ("person",), ("person", "site", "drug"))
#: Every mix of limits of a person, on rows in all, groups, and rows in a group, with every choice of groups.
_LIMITED: Final = tuple(
    (Limits(*(most or None for most in mix)), keys)
    for mix in itertools.product(range(4), repeat=3)
    for keys in _KEYS
    if any(mix)
)
#: How many of these a slow engine tries.
_OF_SLOW: Final = 16
Tables = dict[str, list[Row]]


@dataclass
class EngineAudit:
    """The findings on one engine.

    Args:
        engine: its name.
        pairs: how many pairs of neighbours were compared.
        moved: for every kind of number, the comparison that moved most.
        differences: where the engine and the reference engine computed different numbers.
        absent: the reason why the engine was not tried, if it was not.

    """

    engine: str
    pairs: int = 0
    moved: dict[str, Found] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    absent: str = ""

    @property
    def complaints(self) -> list[str]:
        """The complaints, as sentences."""
        exceeded = [name for name, one in self.moved.items() if one.is_exceeded]
        found = [f"{self.engine}: {name} moved by more than its sensitivity" for name in exceeded]
        return found + [f"{self.engine} and the reference engine differ: {one}" for one in self.differences]

    def __str__(self) -> str:
        if self.absent:
            return f"{self.engine}: not tried, because {self.absent}"
        return (
            f"{self.engine}: {self.pairs:,} hostile pairs on the printed SQL, {len(self.moved)} kinds of numbers, "
            f"{sum(one.is_exceeded for one in self.moved.values())} exceeded, {len(self.differences)} differences"
        )


def audit_engine(name: str, pairs: int, *, seconds: float | None = None) -> EngineAudit:
    """Compare hostile neighbours on one engine, as it runs what is printed for it.

    Args:
        name: one of ``PRINTED``.
        pairs: how many pairs.
        seconds: after which no further pair is begun.

    """
    found, start = EngineAudit(name), perf_counter()
    with Engines() as engines:
        try:
            _try_corners(engines, found)
            _count_people(engines, found, _OF_SLOW if name in _SLOW else len(_LIMITED))
        except EngineAbsent as absent:
            found.absent = str(absent)
        if found.absent or found.complaints:
            return found
        for number, (answer, sides) in enumerate(itertools.islice(_cases(system_noise(), name in _SLOW), pairs)):
            if seconds is not None and number and perf_counter() - start > seconds:
                break
            _compare(engines, found, answer, sides, is_portable=number % 2 == 0)
            if len(found.differences) >= _MOST_DIFFERENCES or any(one.is_exceeded for one in found.moved.values()):
                break
    return found


def _try_corners(engines: Engines, found: EngineAudit) -> None:
    """Try values next to every bound, the same ones in every run."""
    dataset = corner_dataset()
    for far in (False, True):
        rows = corner_rows(far=far)
        with engines.opened(found.engine, dataset, {"corners": rows}, portable=True) as engine:
            moved, differences = try_corners(engine, rows, few=found.engine in _SLOW)
        for one in moved:
            _keep(found, one.what, one)
        found.differences += differences[:_MOST_DIFFERENCES]


def _count_people(engines: Engines, found: EngineAudit, statements: int) -> None:
    """Count the rows of many people one by one, under every mix of limits: each must stay within them."""
    noise, dataset = system_noise(), clinic(person_unit("person"))
    (table,) = dataset.tables
    rows = typed_rows(table, [row for person in range(_PEOPLE) for row in _rows_of(person, noise)])
    # In a random order, one half as all engines agree and the other as this one runs.
    order = np.argsort(noise.uniform_below(2**60, len(_LIMITED)))[:statements].tolist()
    for is_portable in (True, False):
        with engines.opened(found.engine, dataset, {"visits": rows}, portable=is_portable) as engine:
            watched = _Watched(engine, {"visits": rows})
            for place in order[::2] if is_portable else order[1::2]:
                limits, names = _LIMITED[place]
                keys, measures = tuple(map(Name, names)), _MEASURES[int(noise.uniform_below(len(_MEASURES), 1)[0])]
                bounded = Bounded(Scan(table), keys, limits, tuple(table.kinds))
                answer = watched.aggregate(Aggregation(bounded, keys, measures))
                for one in _counted(answer, limits, has_persons=len(measures) > 1):
                    _keep(found, one.what, one)
            if is_portable:
                found.differences += itertools.islice(watched.differences(dataset), _MOST_DIFFERENCES)


def _keep(found: EngineAudit, kind: str, one: Found) -> None:
    known = found.moved.get(kind)
    if known is None or one.tightness > known.tightness:
        found.moved[kind] = one


def _rows_of(person: int, noise: Noise) -> list[Row]:
    """Return the rows of one person: a few, one after the other at both sites; or eight and more, at one or at both."""
    is_few, sites = person % 4 == 0, 1 + person % 2
    many = 1 + person // 4 % 3 if is_few else 8 + person % 5
    lots = [int(lot) for lot in noise.uniform_below(2**20, 3 * many)]
    return [
        visit(person, SITES[place % 2 if is_few else a % sites], DRUGS[b % len(DRUGS)], c % 11, float(c % 90))
        for place, (a, b, c) in enumerate(zip(lots[::3], lots[1::3], lots[2::3], strict=True))
    ]


def _counted(answer: Aggregated, limits: Limits, *, has_persons: bool) -> Iterator[Found]:
    """Yield how often each person counts in a group, in how many groups, and in all, beside the limits."""
    people: dict[Any, list[tuple[int, ...]]] = {}
    for key, numbers in zip(answer.keys, answer.measures, strict=True):
        people.setdefault(key[0], []).append(tuple(int(number) for number in numbers))
    for groups in people.values():
        counts = [numbers[0] for numbers in groups]
        for what, counted, limit in (
            ("rows of a person in a group", max(counts), limits.rows_per_group),
            ("groups of a person", len(groups), limits.groups),
            ("rows of a person", sum(counts), limits.rows),
        ):
            if limit is not None:
                yield Found(what, Fraction(counted), Fraction(limit))
        if has_persons:
            yield Found("people who are one person", Fraction(max(numbers[1] for numbers in groups)), Fraction(1))


def _compare(
    engines: Engines, found: EngineAudit, answer: Answer, sides: tuple[Tables, Tables], *, is_portable: bool
) -> None:
    """Compare one answer on two neighbours; nothing is compared with the reference where engines choose other rows."""
    dataset = answer.query.dataset
    typed = [{table.name: typed_rows(table, side[table.name]) for table in dataset.tables} for side in sides]
    with ExitStack() as stack:
        watched = [
            _Watched(stack.enter_context(engines.opened(found.engine, dataset, side, portable=is_portable)), side)
            for side in typed
        ]
        for one in Comparison(answer).of(*watched):
            kind = f"{one.what}, {dataset.unit.protects} {dataset.unit.relation.value}"
            _keep(found, kind, one)
        found.pairs += 1
        if is_portable:
            found.differences += [text for one in watched for text in one.differences(dataset)]
            del found.differences[_MOST_DIFFERENCES:]


class _Watched(Engine):
    """An engine whose answers are kept, to be compared with those of the reference engine."""

    def __init__(self, engine: Engine, side: Mapping[str, Any]) -> None:
        super().__init__(engine.dataset, portable=engine.portable)
        self._engine, self._side = engine, dict(side)
        self._asked: list[tuple[Aggregation, Aggregated]] = []

    def check(self) -> None:
        """Leave that to the engine."""
        self._engine.check()

    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        """Return what the engine returns."""
        found = self._engine.aggregate(aggregation)
        self._asked.append((aggregation, found))
        return found

    def close(self) -> None:
        """Leave that to whoever opened the engine."""

    def differences(self, dataset: DataSet) -> Iterator[str]:
        """Yield where the reference engine computes other numbers of the same rows."""
        reference = ReferenceEngine(dataset, self._side)
        for aggregation, found in self._asked:
            mine, theirs = (_numbers(one) for one in (found, reference.aggregate(aggregation)))
            if mine != theirs:
                other = {key: (mine.get(key), theirs.get(key)) for key in mine.keys() | theirs.keys()}
                told = {key: both for key, both in other.items() if both[0] != both[1]}
                yield f"{told} of {aggregation.measures} over {self._side}"[:_LONGEST]


def _numbers(found: Aggregated) -> dict[Any, tuple[int, ...]]:
    pairs = zip(found.keys, found.measures, strict=True)
    return {tuple(key): tuple(int(number) for number in numbers) for key, numbers in pairs}


def _cases(noise: Noise, is_slow: bool) -> Iterator[tuple[Answer, tuple[Tables, Tables]]]:
    """Yield answers and neighbours for each: over one table, over joins and windows, over tables with references."""
    plain, shaped = hostile_answers(noise), shaped_answers(noise)
    owned = (answer for _, answer in owned_answers(noise))
    for number in itertools.count():
        # Two pairs for each source in turn: one on which engines must agree, and one as they run.
        source = number // 2 % 3
        answer = next(one for one in (plain, shaped, owned)[source] if not is_slow or _is_short(one))
        dataset = answer.query.dataset
        if source == 2:
            yield answer, owned_neighbours(dataset, noise)
            continue
        first, second = neighbours(dataset, noise)
        sides = (tables(dataset, first), tables(dataset, second)) if source else ({"visits": first}, {"visits": second})
        yield answer, sides


def _is_short(answer: Answer) -> bool:
    """Whether few statements answer it: no search, no choice, nothing discovered."""
    design = answer.design
    return not design.searches and not design.chosen and design.discovery is None
