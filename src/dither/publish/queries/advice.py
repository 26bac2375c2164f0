"""Advice given before paying: how the same query would be priced with other public parameters.

The right clamp cannot be known without looking at data, so what is said is what each change would give: a range of half
the length, fewer rows a person, one aggregate instead of several, another share of the loss for the threshold. A fixed
small number of further prices is worked out. Everything is a function of the query, the schema and the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from dither.data import Limits, Name, Scan
from dither.data.expressions import names_in
from dither.data.own_tables import parts_of
from dither.errors import DitherError
from dither.pages.digits import two_digits
from dither.publish.queries.answer import Answer
from dither.publish.queries.contradictions import always_true
from dither.publish.queries.expected_error import ExpectedError
from dither.publish.queries.query import Aggregate
from dither.publish.queries.shown_groups import about, with_one_group
from dither.publish.queries.statistics import Counted, describe
from dither.publish.queries.work import planning

#: The error of every aggregate by its name.
Errors = Mapping[str, ExpectedError]
Priced = Callable[[Answer], Errors]

#: How many columns are priced again with half their range.
_MOST_COLUMNS: Final = 4
#: An error that falls by less is not worth a sentence.
_WORTH: Final = 0.95
_CLAMPED: Final = {
    "sum": "SUM",
    "mean": "AVG",
    "variance": "VAR_POP",
    "sample_variance": "VAR_SAMP",
    "deviation": "STDDEV_POP",
    "sample_deviation": "STDDEV_SAMP",
}
#: With more public groups than this, those that look largest may be empty.
_MANY_GROUPS: Final = 100
_SHARES: Final = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


@dataclass(frozen=True)
class Advice:
    """One change and its effect.

    Args:
        about: the column whose error changes, "groups" for the threshold, or "rows" for a condition on rows.
        change: what to type.
        before: the error or the threshold as quoted.
        after: the same with the change.
        unit: of both.
        effect: what changes, as a sentence.
        price: what else the change costs, in words.

    """

    about: str
    change: str
    before: float
    after: float
    unit: str
    effect: str
    price: str = ""

    @property
    def gain(self) -> float:
        """What is left of the error or of the threshold, as a share; little less than 1 where neither changes."""
        return self.after / self.before if 0 < self.after < self.before else _WORTH

    def __str__(self) -> str:
        return f"{self.change}: {self.effect}{'; ' if self.price else ''}{self.price}"


def advice_for(answer: Answer, priced: Priced) -> tuple[Advice, ...]:
    """Return changes that would sharpen an answer, the best first.

    Args:
        answer: as it is quoted.
        priced: returns the error of every aggregate of an answer.

    """
    found: list[Advice] = []
    with planning():
        errors = priced(answer)
        for part in (_clamps, _limits, _own_row, _threshold, _empty_groups, _conditions):
            try:
                found += part(answer, errors, priced)
            except DitherError:
                # A change without a price is not advice.
                continue
        found.sort(key=lambda one: one.gain)
        # Without groups no error matters.
        with suppress(DitherError):
            found[:0] = _one_group(answer, errors, priced)
    return tuple(found)


def _one_group(answer: Answer, errors: Errors, priced: Priced) -> Iterator[Advice]:
    """One group a person, which lowers the threshold of discovered groups most."""
    other = with_one_group(answer)
    if other is None:
        return
    before, after = _threshold_of(answer), _threshold_of(other)
    if after <= _WORTH * before:
        change, effect = _typed(Limits(groups=1)), _shown_from(before, after, "people")
        yield Advice("groups", change, before, after, "people", effect, "other groups of a person do not count")


def _clamps(answer: Answer, errors: Errors, priced: Priced) -> Iterator[Advice]:
    """Half the range of each summed column."""
    asked = [part for part in answer.query.aggregates if part.function in _CLAMPED]
    for aggregate in asked[:_MOST_COLUMNS]:
        low, high = _half(*aggregate.bounds[0])
        if not low < high:
            continue
        narrowed = replace(aggregate, bounds=((low, high),))
        aggregates = tuple(narrowed if part is aggregate else part for part in answer.query.aggregates)
        name, before = aggregate.name, errors[aggregate.name]
        after = priced(replace(answer, query=replace(answer.query, aggregates=aggregates)))[name]
        if after.error <= _WORTH * before.error:
            value = describe(aggregate.arguments[0])
            change = f"{_CLAMPED[aggregate.function]}(CLAMP({value}, {low:g}, {high:g}))"
            yield _about(name, change, before, after, f"values beyond count as {low:g} or {high:g}")


def _limits(answer: Answer, errors: Errors, priced: Priced) -> Iterator[Advice]:
    """Half the rows and groups per person, and one row and group."""
    design = answer.design
    if not design.has_persons:
        return
    tried = {design.limits}
    for divisor in (2, 2**31):
        limits = _fewer(design.limits, divisor)
        if limits in tried:
            continue
        tried.add(limits)
        other = priced(replace(answer, query=replace(answer.query, limits=limits)))
        falls = {name: other[name].error / before.error for name, before in errors.items() if before.error > 0}
        name = min(falls, key=falls.__getitem__, default=None)
        if name is not None and falls[name] <= _WORTH:
            yield _about(name, _typed(limits), errors[name], other[name], "other rows of a person do not count")


def _own_row(answer: Answer, errors: Errors, priced: Priced) -> Iterator[Advice]:
    """One row a person of a table whose key is the privacy id, as the references of other tables say."""
    relation, dataset = answer.query.relation, answer.query.dataset
    scans = [part for part in parts_of(relation) if isinstance(part, Scan)]
    most = answer.design.limits.rows
    if len(scans) != 1 or not answer.design.has_persons or most == 1:
        return
    table = scans[0].table
    referred = {other.owner.keys for other in dataset.tables if other.owner and other.owner.table == table.name}
    if table.person is not None and (table.person,) in referred and table.rows_per_person is None:
        paid = "the number of rows that the limits leave" if most is None else f"{most:,} rows"
        change = f"'rows per person: 1' for {table.name} in the schema"
        effect = f"right if everybody has one row there; the price is that of {paid} of {table.name} a person"
        yield Advice("rows", change, 0.0, 0.0, "", effect)


def _threshold(answer: Answer, errors: Errors, priced: Priced) -> Iterator[Advice]:
    """Which groups are shown: the effect of fewer aggregates, or of another split of the loss."""
    design = answer.design
    if design.discovery is None or not answer.query.aggregates:
        return
    units, before = "people" if design.has_persons else "rows", float(design.discovery.threshold)
    query = answer.query
    if len(query.aggregates) > 1:
        light = _lightest(query.aggregates)
        outputs = (*((key.name, Name(key.name)) for key in query.keys), (light.name, Name(light.name)))
        alone = replace(query, aggregates=(light,), outputs=outputs, having=None, order=(), limit=None)
        after = _threshold_of(replace(answer, query=alone, shares=None))
        if after < before:
            change, effect = f"a query for {light.name} alone", _shown_from(before, after, units)
            yield Advice("groups", change, before, after, units, effect)
    share = design.split[-1]
    for wanted in _SHARES:
        if abs(wanted - share) < Fraction(1, 10):
            continue
        other = replace(answer, threshold_share=wanted)
        name = query.aggregates[0].name
        after, price = _threshold_of(other), f"{name} {priced(other)[name].against(errors[name])}"
        change = f"OPTION (THRESHOLD_SHARE = {float(wanted):g})"
        yield Advice("groups", change, before, after, units, _shown_from(before, after, units), price)


def _empty_groups(answer: Answer, errors: Errors, priced: Priced) -> Iterator[Advice]:
    """Say what the largest of many numbers are, where groups may be empty."""
    design, query = answer.design, answer.query
    counted = [name for name, part in design.statistics.items() if isinstance(part, Counted)]
    by_number = any(names_in(value) & {part.name for part in query.aggregates} for value, _ in query.order)
    groups = len(design.groups or ())
    if groups < _MANY_GROUPS or not counted or not (by_number or query.having is not None):
        return
    reach = design.parts[design.numbers[counted[0]][0]].drawn().reach(1 / groups)
    yield Advice(
        "rows",
        "OPTION (GROUPS = DISCOVERED)",
        0.0,
        0.0,
        "",
        "only groups with enough people are shown, for a delta",
        f"now all {groups:,} public groups are, and the farthest {counted[0]} of them is off by about "
        f"{two_digits(reach)}, even if its group is empty",
    )


def _conditions(answer: Answer, errors: Errors, priced: Priced) -> Iterator[Advice]:
    """Conditions that every row meets."""
    for condition in always_true(answer.query.relation):
        yield Advice("rows", f"no {condition}", 0.0, 0.0, "", "it holds for every row as declared and removes none")


def _threshold_of(answer: Answer) -> float:
    found = answer.design.discovery
    return 0.0 if found is None else float(found.threshold)


def _lightest(aggregates: tuple[Aggregate, ...]) -> Aggregate:
    """Return the aggregate that needs least: a number of people, else a count, else the first."""
    for functions in (("persons",), ("count", "count_of")):
        for aggregate in aggregates:
            if aggregate.function in functions:
                return aggregate
    return aggregates[0]


def _half(low: float, high: float) -> tuple[float, float]:
    """Return half a range: the half nearer to 0, or both ends halved."""
    if low >= 0:
        return low, (low + high) / 2
    return ((low + high) / 2, high) if high <= 0 else (low / 2, high / 2)


def _fewer(limits: Limits, divisor: int) -> Limits:
    return Limits(
        *(
            None if most is None else max(1, most // divisor)
            for most in (limits.rows, limits.groups, limits.rows_per_group)
        )
    )


def _about(name: str, change: str, before: ExpectedError, after: ExpectedError, price: str) -> Advice:
    """Return advice on the error of a column."""
    return Advice(name, change, before.error, after.error, before.unit, f"{name} {after.against(before)}", price)


def _shown_from(before: float, after: float, units: str) -> str:
    return f"a group is shown from about {about(round(after))} {units}, instead of {about(round(before))}"


def _typed(limits: Limits) -> str:
    """Return how a query states its own limits: in SQL, or in Python for those that SQL cannot state."""
    if limits.rows_per_group is not None:
        named = (("rows", limits.rows), ("groups", limits.groups), ("rows_per_group", limits.rows_per_group))
        return f".limits({', '.join(f'{word}={most}' for word, most in named if most is not None)}) in Python"
    said = (("max_rows_contributed", limits.rows), ("max_groups_contributed", limits.groups))
    options = ", ".join(f"{word} = {most}" for word, most in said if most is not None)
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) ..."
