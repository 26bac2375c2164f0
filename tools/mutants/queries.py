"""Mutants of queries: sensitivities, bounds on contributions, groups, and what is shown beside an answer.

Sensitivities are killed by neighbours whose exact numbers move farther than is charged; what looks at data beside its
draws is killed by replay.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.audit.queries import compare
from dither.checks.contract import check_plan_walked
from dither.checks.replays import check_replay
from dither.checks.violation import require
from dither.data import Bounded, Name, Sum
from dither.data.contribution import Contribution, Sensitivity
from dither.data.examples import neighbours_of, some_visits, visit
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter, PlanViolation
from dither.mechanisms import Example, PublicArray
from dither.privacy import ROW, ROW_REPLACED, PureDP, Unit
from dither.publish.queries.answer import Answer, plan_query
from dither.publish.queries.examples import clinic_query
from dither.publish.queries.query import Aggregate
from tools.mutants.record import Mutant, both, mutated, original, replaced

_DESIGN = "dither.publish.queries.design"
_ANSWER = "dither.publish.queries.answer:Answer"
_PERSON = person_unit("person")
_WIDE = 10**9


def _moves(answer: Answer, here: list[dict[str, Any]], there: list[dict[str, Any]]) -> None:
    """Check that no number of an answer moves farther between two tables than is charged for one unit."""
    engines = (ReferenceEngine(answer.query.dataset, {"visits": rows}) for rows in (here, there))
    for found in compare(answer, *engines):
        require(not found.is_exceeded, f"{found.what} moved by {found.moved}, {found.allowed} declared")


def _total(unit: Unit, bounds: tuple[float, float] = (0.0, 10.0)) -> Answer:
    query = clinic_query("sum", unit=unit)
    aggregate = replace(query.aggregates[0], bounds=(bounds,))
    return plan_query(replace(query, aggregates=(aggregate,)), PureDP(1))


def _sums() -> None:
    """Check that a row at the upper bound moves a sum no farther than is charged."""
    rows = some_visits()
    _moves(_total(ROW), rows, [*rows, visit(9, "north", cost=10)])
    _moves(_total(ROW, (-7.0, 13.0)), rows, [*rows, visit(9, "north", cost=13)])


def _large_sums() -> None:
    """Check that sums far above 32 bits move no farther than their last row."""
    rows = [visit(number, "north", cost=2**31 - 1) for number in range(6)]
    for many in range(len(rows)):
        _moves(_total(ROW, (0.0, 2.0**31 - 1)), rows[:many], rows[: many + 1])


def _orders() -> None:
    """Check that a sum is the same whatever the order of the rows."""
    answer = _total(ROW, (0.0, 2.0**31 - 1))
    rows = [visit(1, "north", cost=2**24), *(visit(2, "north", cost=1) for _ in range(40))]
    asked = list(answer.aggregations())
    sides = [ReferenceEngine(answer.query.dataset, {"visits": each}) for each in (rows, rows[::-1])]
    for one in asked:
        require(sides[0].aggregate(one) == sides[1].aggregate(one), "a sum depends on the order of the rows")


def _persons() -> None:
    """Check that a person with many rows, all different or all alike, moves a sum no farther than is charged."""
    rows = some_visits()
    alike = [visit(9, "north", cost=10) for _ in range(12)]
    different = [visit(9, "south", cost=10 - number % 3, age=float(number)) for number in range(12)]
    for more in (alike, different, alike + different):
        _moves(_total(_PERSON), rows, rows + more)


def _replacements() -> None:
    """Check that a row that is replaced moves two groups."""
    rows = some_visits()
    _moves(_total(ROW_REPLACED), [*rows, visit(9, "north", cost=10)], [*rows, visit(9, "south", cost=10)])


def _unbounded() -> None:
    """Check that a sum without bounds is refused."""
    query = clinic_query("count")
    naked = replace(query, aggregates=(Aggregate("sum", "sum", (Name("cost"),)),), outputs=(("sum", Name("sum")),))
    try:
        plan_query(naked, PureDP(1))
    except InvalidParameter:
        return
    require(False, "a sum without bounds was planned")


def _example(*functions: str) -> Example:
    query = clinic_query(*functions)
    data = ReferenceEngine(query.dataset, {"visits": some_visits()})
    return Example(plan_query(query, PureDP(1)), data, neighbours_of(query.dataset))


def _replay_of_counts() -> None:
    """Check that on frozen draws neighbours take one path and give one output."""
    check_replay(_example("count", "mean"))


def _plan_of_means() -> None:
    """Check that an answer draws what its plan says, whatever the data."""
    try:
        check_plan_walked(_example("mean"))
    except PlanViolation as violation:
        require(False, f"the runner refused a draw: {violation}")


# The mutants.


def _of_lower_bound(before: Any, unit: Contribution, least: int, most: int, cells: int | None) -> Sensitivity:
    # Counts stay as they are: the bug was in sums.
    found: Sensitivity = before(unit, least, most if (least, most) == (0, 1) else least, cells)
    return found


def _wide_without_bounds(before: Any, aggregate: Aggregate, place: int, kind: Any) -> tuple[float, float]:
    found: tuple[float, float] = (-_WIDE, _WIDE) if not aggregate.bounds else before(aggregate, place, kind)
    return found


def _free_when_wide(before: Any, unit: Contribution, least: int, most: int, cells: int | None) -> Sensitivity:
    tiny = Fraction(1, _WIDE)
    found: Sensitivity = Sensitivity(tiny, tiny) if most >= _WIDE else before(unit, least, most, cells)
    return found


def _wrapped(before: Any, measure: Any, rows: Any, below: Any) -> Any:
    found = before(measure, rows, below)
    return (found + 2**31) % 2**32 - 2**31 if isinstance(measure, Sum) else found


def _summed_in_floats(before: Any, measure: Any, rows: Any, below: Any) -> Any:
    if not isinstance(measure, Sum):
        return before(measure, rows, below)
    total = np.float32(0)
    for row in rows:
        total = np.float32(total + np.float32(before(measure, [row], below)))
    return int(total)


def _bounded_but_for_copies(relation: Any, tables: Any) -> Any:
    rows = original("dither.data.reference:_READERS")[type(relation.relation)](relation.relation, tables)
    kept = _readers[Bounded](relation, tables)
    # Copies of a row that is kept are thought to have been counted with it.
    return [row for row in rows if row in kept]


_readers = original("dither.data.reference:_READERS")


def _as_if_added(before: Any, *given: Any) -> Contribution:
    found: Contribution = before(*given)
    return replace(found, is_replaced=False)


def _with_groups_of_the_data(before: Any, self: Answer, data: Any, run: Any, groups: Any, found: Any) -> Any:
    asked = next(iter(self.aggregations()))
    seen = tuple(group for group in groups if group in data.aggregate(asked).keys)
    return before(self, data, run, seen, found)


def _with_noise_for_so_many(before: Any, self: Answer, data: Any, run: Any, groups: Any, found: Any) -> Any:
    rows = max(1, len(data.frames["visits"]))

    def scaled(part: Any, value: Any, *, stability: Fraction) -> Any:
        return run(part, value, stability=stability / rows)

    return before(self, data, scaled, groups, found)


def _with_a_score(before: Any, self: Answer, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    exact = data.aggregate(next(iter(self.aggregations()))).measures
    return replace(out, numbers=(*out.numbers, PublicArray(np.array([sum(map(sum, exact))]))))


QUERIES = (
    Mutant(
        3,
        "sensitivity from the lower bound twice",
        "IBM/differential-privacy-library#104",
        "no noise where the lower bound is 0",
        "sensitivity",
        lambda: mutated(f"{_DESIGN}:of_rows", _of_lower_bound),
        _sums,
    ),
    Mutant(
        11,
        "missing bounds mean no noise",
        "opendp/smartnoise-sdk#317",
        "a sum without bounds is answered exactly",
        "sensitivity",
        lambda: both(
            mutated("dither.publish.queries.measures:_bounds", _wide_without_bounds),
            mutated(f"{_DESIGN}:of_rows", _free_when_wide),
        ),
        _unbounded,
    ),
    Mutant(
        14,
        "sums wrap around",
        "opendp/smartnoise-core, 32-bit sums before 0.2.8",
        "one row turns the sign of a sum",
        "sensitivity",
        lambda: mutated("dither.data.reference:_measure", _wrapped),
        _large_sums,
    ),
    Mutant(
        15,
        "sums in floats, in the order of the rows",
        "Casacuberta and others 2022",
        "the order of rows moves a sum",
        "sensitivity",
        lambda: mutated("dither.data.reference:_measure", _summed_in_floats),
        _orders,
    ),
    Mutant(
        18,
        "groups from the data",
        "opendp/smartnoise-sdk#580; Annamalai and others 2024",
        "which groups there are tells who is in the data",
        "replay",
        lambda: mutated(f"{_ANSWER}._measure", _with_groups_of_the_data),
        _replay_of_counts,
    ),
    Mutant(
        19,
        "bound on contributions skipped for copies of a row",
        "google/differential-privacy#84",
        "one person counts as often as they repeat themselves",
        "sensitivity",
        lambda: replaced("dither.data.reference:_READERS", {**_readers, Bounded: _bounded_but_for_copies}),
        _persons,
    ),
    Mutant(
        20,
        "replacement priced as addition",
        "",
        "one replaced row moves two groups for the price of one",
        "sensitivity",
        lambda: mutated(f"{_DESIGN}:contribution", _as_if_added),
        _replacements,
    ),
    Mutant(
        21,
        "sensitivity of a mean from the current number of rows",
        "opendp/smartnoise-core#356",
        "the size of the noise tells the size of the data",
        "contract",
        lambda: mutated(f"{_ANSWER}._measure", _with_noise_for_so_many),
        _plan_of_means,
    ),
    Mutant(
        32,
        "an exact score beside the answer",
        "dscc-admin-ch/lomas",
        "what stands beside the noisy numbers is exact",
        "replay",
        lambda: mutated(f"{_ANSWER}.release", _with_a_score),
        _replay_of_counts,
    ),
)
