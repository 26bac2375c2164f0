"""Do the numbers of a query ever move farther than declared? Brute force on hostile neighbours.

Random schemas of units and limits, small tables of odd cells, and units whose rows are as extreme and as concentrated,
or as spread, as can be. The exact integers of both neighbours are computed by the reference engine, and their distance
is compared with the stability that the plan charges for. How much of it was attained says how hard the search was.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.query_words import word_query
from dither.data import Aggregation, Call, Column, CountRows, DataSet, Kind, Limits, Literal, Name, Scan, Table
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value
from dither.data.reference import ReferenceEngine
from dither.data.relations import Relation
from dither.data.returned import Group
from dither.data.schema import person_unit
from dither.exact import sqrt_up
from dither.mechanisms.line_choice import SUM_OF_LARGEST
from dither.noise import Noise, system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP, Unit
from dither.publish.queries.answer import Answer, cell_rows, plan_query
from dither.publish.queries.design import Part, Pick
from dither.publish.queries.distinct import exact_table
from dither.publish.queries.groups import persons_by_text
from dither.publish.queries.quantiles import Search
from dither.publish.queries.query import AGGREGATES, Aggregate, Key, Query
from dither.publish.queries.rank_search import RankPart, RankSearch
from dither.publish.queries.reports.mechanism import plan_report
from dither.publish.queries.reports.report import Report
from dither.publish.queries.sql import parse_request

_SITES = ("a", "b", "c", None)
_DRUGS = ("x", "y", "z")
_COSTS: tuple[Any, ...] = (-7, 13, 0, 5, 10**9, -(10**9), None, "12", 2.5)
_AGES: tuple[Any, ...] = (0.0, 100.0, 50.0, 99.99, 1e300, -1e300, float("nan"), None, "x")
_PERSONS = (1, 2, 3, None)
#: All cells of a row that are drawn, in one lot.
_CELLS = tuple(itertools.product(_SITES, (*_DRUGS, None, "other"), _COSTS, _AGES))
_PUBLISHED = (("a",), ("c",), (None,))
#: The person who comes, goes or is replaced.
NEW = 9
#: Five times in ten all aggregates are asked; choices are refused where groups are discovered, and where nothing is
#: asked but which groups there are, all of the loss is spent on that.
_GROUPS = ("public", "none", "public", "none", "public", "discovered", "selected", "words", "words", "report")
#: Several releases in one text: groupings of groupings, a scalar, a query that filters otherwise.
_REPORT = """
SELECT site, drug, COUNT(*) AS n, SUM(CLAMP(cost, -7, 13)) AS cost, AVG(CLAMP(age, 0, 100)) AS age,
    COUNT(*) / (SELECT COUNT(*) FROM visits WHERE drug = 'x') AS share
FROM visits WHERE site IN ('a', 'b') AND drug IN ('x', 'y', 'z') GROUP BY CUBE (site, drug)
"""

Row = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """One vector on two neighbours: how far it moved, and how far it may."""

    what: str
    moved: Fraction
    allowed: Fraction

    @property
    def is_exceeded(self) -> bool:
        """Whether the declared sensitivity is wrong."""
        return self.moved > self.allowed

    @property
    def tightness(self) -> float:
        """The share of the declared sensitivity that was attained."""
        return float(self.moved / self.allowed)


def plain_answers(noise: Noise) -> Iterator[Answer]:
    """Return those of ``hostile_answers`` that read a table as it is: others may take its place."""
    return (answer for answer in hostile_answers(noise) if isinstance(answer.query.relation, Scan))


def hostile_answers(noise: Noise) -> Iterator[Answer]:
    """Return answers with all aggregates, for every unit and random limits and groups."""
    units = (ROW, ROW_REPLACED, person_unit("person"), person_unit("person", replaced=True))
    for unit, groups_are in itertools.cycle(itertools.product(units, _GROUPS)):
        limits: dict[str, int | None] = {"rows": None, "groups": None, "rows_per_group": None}
        if unit.protects == "person":
            rows, groups, each = (int(number) + 1 for number in noise.uniform_below(4, 3))
            limits = {"rows": rows, "groups": groups, "rows_per_group": each}
            left = int(noise.uniform_below(4, 1)[0])
            if left == 0:
                limits["rows"] = None
            elif left == 1:
                limits |= {"groups": None, "rows_per_group": None}
        is_pure = bool(noise.uniform_below(2, 1)[0])
        if groups_are == "words":
            yield plan_query(word_query(_dataset(unit, limits), noise), PureDP(1) if is_pure else ZCDP("1/2"))
        elif groups_are == "report":
            asked = parse_request(_REPORT, _dataset(unit, limits))
            if isinstance(asked, Report):
                yield from plan_report(asked, PureDP(1) if is_pure else ZCDP("1/2")).answers
        elif groups_are in ("discovered", "selected"):
            loss: Loss = ApproxDP(1, "1e-6")
            yield plan_query(_query(unit, limits, groups_are), loss, noise="laplace" if is_pure else "gaussian")
        else:
            found = "exponential" if noise.uniform_below(2, 1)[0] else "tree"
            yield plan_query(_query(unit, limits, groups_are), PureDP(1) if is_pure else ZCDP("1/2"), quantiles=found)


def neighbours(dataset: DataSet, noise: Noise) -> tuple[list[Row], list[Row]]:
    """Return two tables one unit apart: some rows of others, and an extreme unit on one or both sides."""
    many = int(noise.uniform_below(6, 1)[0])
    others = _rows(noise, [_PERSONS[lot] for lot in noise.uniform_below(len(_PERSONS), many)])
    first, second = _unit_rows(dataset, noise), _unit_rows(dataset, noise)
    sides = (others + first, others + second) if dataset.is_replaced else (others, others + first)
    return sides if noise.uniform_below(2, 1)[0] else (sides[1], sides[0])


def compare(answer: Answer, here: Engine, there: Engine) -> list[Found]:
    """Return how far every vector of an answer moves between two neighbours."""
    return Comparison(answer).of(here, there)


@dataclass(frozen=True)
class Comparison:
    """All vectors of an answer, to be compared between neighbours; requests to engines are prepared once."""

    answer: Answer

    def of(self, here: Engine, there: Engine) -> list[Found]:
        """Return how far every vector moves between two neighbours."""
        design, found = self.answer.design, []
        kinds = design.key_kinds
        if design.discovery is not None:
            texts = [persons_by_text(engine.aggregate(self._discovered), kinds) for engine in (here, there)]
            apart = design.discovery.distance.measure(*map(design.discovery.domain.admit, texts))
            found.append(Found("discovered groups", apart or Fraction(0), Fraction(design.contribution.touched)))
        tables = [exact_table(design, engine, self._groups) for engine in (here, there)]
        moved = tables[0] - tables[1]
        for number, (part, measured) in enumerate(zip(design.parts, design.measured, strict=True)):
            length = _length([int(change) for change in moved[:, number]], part.is_gaussian)
            what = type(measured.measure).__name__
            if measured.distinct is not None:
                what = "different values" if measured.values is None else "different declared values"
            found.append(Found(what, length, part.stability))
        for part, counted in self._levels:
            sides = [_counted(engine, counted) for engine in (here, there)]
            changes = [change for key, change in _changes(*sides) if key[-1] is not None]
            found.append(Found("level of a search", _length(changes, part.is_gaussian), part.stability))
        found += [self._ranked(search, part, here, there) for search, part in self._searches]
        for pick, counted in self._choices:
            sides = [_counted(engine, counted) for engine in (here, there)]
            changed = [(key, change) for key, change in _changes(*sides) if change]
            largest = max((abs(change) for _, change in changed), default=0)
            found.append(Found("score of a choice", Fraction(largest), Fraction(1)))
            touched = len({key[:-1] for key, _ in changed})
            found.append(Found("groups of a choice", Fraction(touched), Fraction(pick.touched)))
        return found

    @cached_property
    def _discovered(self) -> Aggregation:
        design = self.answer.design
        return Aggregation(design.bounded(None), design.key_values, (design.one_unit.measure,))

    @cached_property
    def _groups(self) -> Sequence[Group]:
        # Where groups are discovered, any of them may be published.
        design = self.answer.design
        return _PUBLISHED if design.groups is None else design.groups

    @cached_property
    def _relation(self) -> Relation:
        return self.answer.design.bounded(self._groups)

    @cached_property
    def _levels(self) -> list[tuple[Part, Aggregation]]:
        """The first and the last level of every search in a tree."""
        design, levels = self.answer.design, []
        for search, part in zip(design.searches, design.levels, strict=True):
            if not isinstance(search, Search) or not isinstance(part, Part):
                continue
            for level in (0, search.levels - 1):
                cell = Call("shift_right", (search.scaled.expression, Literal(search.shift(level), Kind.INTEGER)))
                levels.append((part, Aggregation(self._relation, (*design.key_values, cell), (CountRows(),))))
        return levels

    @cached_property
    def _searches(self) -> list[tuple[RankSearch, RankPart]]:
        """The searches by choices."""
        found = zip(self.answer.design.searches, self.answer.design.levels, strict=True)
        return [(one, part) for one, part in found if isinstance(one, RankSearch) and isinstance(part, RankPart)]

    def _ranked(self, search: RankSearch, part: RankPart, here: Engine, there: Engine) -> Found:
        """Return the draw of a search that moves most for what is declared, on one path that both sides take."""
        design, seen = self.answer.design, list[list[tuple[Any, Fraction]]]()
        draws = list(search.draws(part, len(self._groups)))
        # Candidates near the ends and in the middle, the same ones for both.
        lots = [_spread(choice.candidates, choice.shape) for choice, _ in draws]
        for engine in (here, there):
            mine: list[tuple[Any, Fraction]] = []

            def run(_: Any, lines: Any, stability: Fraction, mine: list[tuple[Any, Fraction]] = mine) -> Any:
                mine.append((lines, stability))
                return lots[len(mine) - 1]

            search.choose(part, cell_rows(design, engine, self._relation, self._groups, search), run)
            seen.append(mine)
        moved = [
            Found("choice of a search", SUM_OF_LARGEST.measure(one, other) or Fraction(0), allowed)
            for (one, allowed), (other, _) in zip(*seen, strict=True)
        ]
        return max(moved, key=lambda found: found.tightness)

    @cached_property
    def _choices(self) -> list[tuple[Pick, Aggregation]]:
        design, choices = self.answer.design, []
        for pick in design.picks:
            rows = design.candidates(pick, self._relation)
            keys = (*design.key_values, *pick.aggregate.arguments)
            choices.append((pick, Aggregation(rows, keys, (design.one_unit.measure,))))
        return choices


def _spread(candidates: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return candidates, drawn evenly over their whole range."""
    drawn = system_noise().uniform_below(candidates, math.prod(shape))
    return np.asarray(drawn, dtype=np.int64).reshape(shape)


def brute_force(pairs: int, *, shaped: bool = False) -> dict[str, list[Found]]:
    """Return the exceeded and the tightest comparison of every kind of vector over ``pairs`` pairs of neighbours.

    Args:
        pairs: how many.
        shaped: whether the rows come from joins, subqueries, unions and windows, and not from the table itself.

    """
    from dither.audit.query_shapes import shaped_answers, tables

    noise, worst = system_noise(), dict[str, list[Found]]()
    answers = shaped_answers(noise) if shaped else hostile_answers(noise)
    comparisons = [Comparison(answer) for answer in itertools.islice(answers, min(pairs, 192) if shaped else 96)]
    for number in range(pairs):
        comparison = comparisons[number % len(comparisons)]
        dataset = comparison.answer.query.dataset
        sides = [tables(dataset, rows) if shaped else {"visits": rows} for rows in neighbours(dataset, noise)]
        here, there = (ReferenceEngine(dataset, side) for side in sides)
        for found in comparison.of(here, there):
            name = f"{found.what}, {dataset.unit.protects} {dataset.unit.relation.value}"
            known = worst.setdefault(name, [found])
            if found.is_exceeded or found.tightness > known[0].tightness:
                known[:] = sorted([*known, found], key=lambda each: -each.tightness)[:1]
    return worst


def main(arguments: list[str] | None = None) -> int:
    """Compare pairs of neighbours (100,000 by default), print what was attained, and return the status.

    A fifth as many are compared over joins, subqueries, unions and windows.
    """
    given = sys.argv[1:] if arguments is None else arguments
    pairs = int(given[0]) if given else 100_000
    worst = brute_force(pairs)
    worst |= {f"shaped: {name}": found for name, found in brute_force(max(1, pairs // 5), shaped=True).items()}
    for name, (found,) in sorted(worst.items()):
        verdict = "EXCEEDED" if found.is_exceeded else "holds"
        sys.stdout.write(f"{name:50} {found.tightness:.3f} of the declared sensitivity: {verdict}\n")
    return 1 if any(found.is_exceeded for (found,) in worst.values()) else 0


def _dataset(unit: Unit, limits: dict[str, int | None]) -> DataSet:
    of_persons = unit.protects == "person"
    columns = (
        Column("person", Kind.INTEGER),
        Column("site", Kind.TEXT),
        Column("drug", Kind.TEXT),
        Column("cost", Kind.INTEGER),
        Column("age", Kind.REAL),
    )
    table = Table("visits", columns, "visits.csv", person="person" if of_persons else None)
    bounds: dict[str, Any] = limits if of_persons else {}
    return DataSet("clinic", (table,), unit, **bounds)


def _query(unit: Unit, limits: dict[str, int | None], groups_are: str) -> Query:
    dataset = _dataset(unit, limits)
    is_discovered = groups_are in ("discovered", "selected")
    key = Key("site", Name("site"), None if is_discovered else _SITES[:2] + _SITES[3:])
    # Choices are refused where groups are discovered.
    every = (*AGGREGATES, "declared")
    functions = (function for function in every if not (is_discovered and function in ("mode", "top")))
    aggregates = () if groups_are == "selected" else tuple(map(_aggregate, functions))
    keys = () if groups_are == "none" else (key,)
    outputs = tuple((aggregate.name, Name(aggregate.name)) for aggregate in aggregates) or (("site", Name("site")),)
    return Query(dataset, Scan(dataset.tables[0]), keys, aggregates, outputs, Limits())


def _aggregate(function: str) -> Aggregate:
    cost, age = (Name("cost"), (-7.0, 13.0)), (Name("age"), (0.0, 100.0))
    pairs = {0: (), 1: (cost,), 2: (cost, age)}[AGGREGATES.get(function, 1)]
    if function in ("mode", "top"):
        return Aggregate(function, function, (Name("drug"),), values=_DRUGS, many=2 if function == "top" else None)
    if function == "distinct":
        return Aggregate(function, function, (Name("drug"),))
    if function == "declared":
        return Aggregate(function, "distinct", (Name("drug"),), values=_DRUGS)
    if function == "quantile":
        return Aggregate(function, function, (Name("age"),), (age[1],), share=Fraction(1, 2), granularity=0.01)
    arguments = tuple(argument for argument, _ in pairs)
    return Aggregate(function, function, arguments, tuple(bound for _, bound in pairs))


def _unit_rows(dataset: DataSet, noise: Noise) -> list[Row]:
    """Return the rows of one unit: none, one, or many that agree in all, some or no cells."""
    if not dataset.protects_persons:
        return _rows(noise, [NEW])
    many = int(noise.uniform_below(13, 1)[0])
    pattern = int(noise.uniform_below(3, 1)[0])
    rows = _rows(noise, [NEW] * many) if pattern == 0 else [dict(row) for row in _rows(noise, [NEW]) * many]
    if pattern == 2:
        for row, site in zip(rows, itertools.cycle(_SITES), strict=False):
            row["site"] = site
    return rows


def _rows(noise: Noise, persons: list[Value]) -> list[Row]:
    """Return a row of random cells for each of the people."""
    lots = noise.uniform_below(len(_CELLS), len(persons))
    names = ("site", "drug", "cost", "age")
    return [
        {"person": person, **dict(zip(names, _CELLS[lot], strict=True))}
        for person, lot in zip(persons, lots, strict=True)
    ]


def _counted(engine: Engine, asked: Aggregation) -> dict[Any, int]:
    answer = engine.aggregate(asked)
    return {key: numbers[0] for key, numbers in zip(answer.keys, answer.measures, strict=True)}


def _changes(here: dict[Any, int], there: dict[Any, int]) -> list[tuple[Any, int]]:
    return [(key, here.get(key, 0) - there.get(key, 0)) for key in here.keys() | there.keys()]


def _length(changes: list[int], is_euclidean: bool) -> Fraction:
    if is_euclidean:
        return sqrt_up(Fraction(sum(change * change for change in changes)))
    return Fraction(sum(map(abs, changes)))


if __name__ == "__main__":
    sys.exit(main())
