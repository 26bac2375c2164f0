"""A query as a mechanism: from rows in an engine to noisy integers.

``plan_query`` turns a query and a loss into an ``Answer``. Its plan is known, and priced, before the data is opened.
The engine is asked for exact integers only; these go straight to the mechanisms of the plan.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregated, Aggregation, Call, CountRows, Expression, Keep, Kind, Literal, Relation
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value, kind_of
from dither.data.returned import Group, canonical, first_number
from dither.data.wire import decode, encode, register_records
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Field, Number, Of, OneOf
from dither.lift.over_data import OverData
from dither.mechanisms import DiscreteGaussian, Geometric, Numerics, PublicArray, Runner, register
from dither.mechanisms.core.spec import Codec, register_codec
from dither.mechanisms.exponential_quantiles import Rows
from dither.privacy import ZCDP, ApproxDP, InOrder, Loss, Parallel, Plan, PureDP, Unit, Use, Within
from dither.publish.queries.design import EXPONENTIAL, GAUSSIAN, LAPLACE, RANKED, TREE, Design
from dither.publish.queries.distinct import exact_table, requests
from dither.publish.queries.examples import answer_examples
from dither.publish.queries.groups import from_texts, persons_by_text, positions
from dither.publish.queries.quantiles import Search
from dither.publish.queries.query import Aggregate, Key, Query
from dither.publish.queries.rank_search import MOST_CELLS, MOST_GROUPS, RankPart, RankSearch
from dither.publish.queries.sizes import check_query
from dither.publish.queries.split import check_shares, check_threshold_share
from dither.publish.queries.work import planning

Integers = NDArray[np.int64]
_COUNT = CountRows()


def _read_query(record: Any) -> Query:
    query = decode(record)
    if not isinstance(query, Query):
        raise InvalidParameter("query", type(query).__name__, "a Query")
    return query


register_records(Aggregate, Key, Query)
register_codec("query", Codec(Query, encode, _read_query))


@dataclass(frozen=True)
class Answered:
    """What an answer releases: noisy integers, laid out by public rules.

    Args:
        groups: the groups that were discovered, sorted; None where they are public.
        numbers: for every measured part, one integer a group.
        levels: for every search and level, the noisy counts (groups, slots, children).
        choices: for every choice, the numbers of the chosen candidates, a row for each group.

    """

    groups: tuple[Group, ...] | None
    numbers: tuple[PublicArray, ...]
    levels: tuple[tuple[PublicArray, ...], ...] = ()
    choices: tuple[PublicArray, ...] = ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all integers in one row if their number is public, else the record itself."""
        if self.groups is not None:
            whole = np.empty((), dtype=object)
            whole[()] = repr(self)
            return whole
        every = [*self.numbers, *(level for search in self.levels for level in search), *self.choices]
        return np.concatenate([array.values.ravel() for array in every])


class Target(Of[Loss]):
    """A positive loss."""

    def __init__(self) -> None:
        super().__init__(Loss, where=lambda loss: loss.rho > 0, rule="a loss above 0, such as PureDP(1)")

    def offenders(self) -> Iterator[Any]:
        """Return losses of 0, and anything that is not a loss."""
        yield from (PureDP(0), ZCDP(0))
        yield from super().offenders()

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return losses of every kind."""
        yield from (PureDP(1), ZCDP("1/2"), ApproxDP(4, "1e-3"))


class Law(OneOf):
    """The kind of noise."""

    def __init__(self) -> None:
        super().__init__(LAPLACE, GAUSSIAN, rule=f"'{LAPLACE}' or '{GAUSSIAN}'")


class _Quantiles(OneOf):
    """How quantiles are found."""

    def __init__(self) -> None:
        super().__init__(TREE, EXPONENTIAL, rule=f"'{TREE}' or '{EXPONENTIAL}'", default=TREE)


class ShareField(Field["tuple[tuple[str, Fraction], ...] | None", "tuple[tuple[str, Fraction], ...] | None"]):
    """Names and shares, or None."""

    def convert(self, name: str, value: Any) -> tuple[tuple[str, Fraction], ...] | None:
        """Return the pairs, with exact shares."""
        if value is None:
            return None
        if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
            raise InvalidParameter(name, value, "None, or pairs of a name and a share")
        checked = check_shares(dict(value), [entry for entry, _ in value]) or {}
        return tuple(checked.items())

    def offenders(self) -> Iterator[Any]:
        """Return anything that is not a tuple of pairs."""
        yield from (0, "x", {}, [], ("x",), (("x", 1, 1),), object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return None, and shares that differ."""
        yield None
        if kept:
            total = sum(range(1, len(kept) + 1))
            yield tuple((name, Fraction(place + 1, total)) for place, (name, _) in enumerate(kept))


class _ThresholdShare(Field["Number | None", "Fraction | None"]):
    """A share between 0 and 1, or None."""

    def convert(self, name: str, value: Any) -> Fraction | None:
        return None if value is None else check_threshold_share(value, name)

    def offenders(self) -> Iterator[Any]:
        """Return shares that leave nothing, and anything that is not a number."""
        yield from (0, 1, -1, 2, "x", float("nan"), object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return None, a small and a large share."""
        yield from (None, Fraction(1, 4), Fraction(3, 4))


@register(
    examples=answer_examples,
    source="Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), sections 2 to 4",
)
@dataclass(frozen=True, kw_only=True)
class Answer(OverData[Answered]):
    """Measure the sums, counts, quantiles and choices of a query in every group, with fresh integer noise.

    Guarantee: data sets one unit apart (``query.dataset.unit``) lose at most ``target``; farther ones what the plan
    says.

    Args:
        query: what is asked.
        target: the loss it may have; the plan stays within it.
        noise: 'laplace' (discrete Laplace, pure) or 'gaussian' (discrete Gaussian, zCDP).
        shares: how much of the loss each aggregate gets; None for equal errors as a share of each column's range.
        threshold_share: how much of the loss decides which groups are shown, where they are discovered; None for what
            keeps the threshold and the error of the values together least.
        quantiles: 'tree' (noisy counts in a tree of cells) or 'exponential' (the exponential mechanism on the cells).

    >>> from dither.publish.queries.examples import clinic_query
    >>> Answer(query=clinic_query("count"), target=PureDP(1), noise="laplace").loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "query"
    version: ClassVar[int] = 5
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "every column has its own error: see the quote of the query"
    no_interval_because: ClassVar[str] = "every number has its own interval: see the result of the query"

    query: Of[Query] = Of(Query, rule="a Query")
    target: Target = Target()
    noise: Law = Law()
    shares: ShareField = ShareField(None)
    threshold_share: _ThresholdShare = _ThresholdShare(None)
    quantiles: _Quantiles = _Quantiles()

    def __post_init__(self) -> None:
        """Reject queries that cannot be priced; otherwise this would show only once the data is open."""
        if self.shares is not None:
            check_shares(dict(self.shares), [aggregate.name for aggregate in self.query.aggregates])
        if self.threshold_share is not None and (self.design.groups is not None or not self.query.aggregates):
            rule = "not allowed: the groups are public, and nothing decides which are shown"
            if self.design.groups is None:
                rule = "not allowed: nothing is measured in the groups, and all of the loss decides which are shown"
            raise InvalidParameter("threshold_share", str(self.threshold_share), rule)
        if self.quantiles == EXPONENTIAL:
            self._check_ranked()
        if not self.loss(1) <= self.target:
            raise NoGuarantee(f"the query would lose {self.loss(1)}, which is not within {self.target}")
        if self.design.discovery is not None:
            # The plan has a filter for the values: that it admits them must not be found out once groups are shown.
            values, allowed = InOrder(self._draws(1)).loss(1), self.design.values_loss
            if not values <= allowed:
                raise NoGuarantee(f"the values of a query would lose {values}, which is not within {allowed}")

    def _check_ranked(self) -> None:
        """Reject quantiles that cannot be chosen by their ranks."""
        if self.design.groups is None and any(a.function in RANKED for a in self.query.aggregates):
            raise InvalidParameter("quantiles", EXPONENTIAL, f"'{TREE}' where groups are discovered")
        for search, part in zip(self.design.searches, self.design.levels, strict=True):
            if isinstance(search, RankSearch) and not search.recursion.fits:
                rule = f"'{TREE}' for shares with large denominators, such as {search.shares[0]}"
                raise InvalidParameter("quantiles", EXPONENTIAL, rule)
            if isinstance(search, RankSearch) and isinstance(part, RankPart) and not search.is_near(part):
                rule = f"'{TREE}' for a loss as small as {self.target}, at which ends of intervals are beyond all rows"
                raise InvalidParameter("quantiles", EXPONENTIAL, rule)

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.query.dataset.unit

    @cached_property
    def design(self) -> Design:
        """What is measured, and with which noise."""
        shares = None if self.shares is None else dict(self.shares)
        return Design(self.query, self.target, self.noise, shares, self.threshold_share, self.quantiles)

    def plan(self) -> Plan:
        """Every part, level and choice in turn; for discovered groups, a threshold and then a filter."""
        design = self.design
        if design.discovery is not None:
            values = Within(design.values_loss, (Geometric, DiscreteGaussian))
            return InOrder.of(Use(design.discovery, design.contribution.touched), values)
        return InOrder(self._draws(len(design.groups or ())))

    def _draws(self, groups: int) -> tuple[Plan, ...]:
        """Return every draw of the values, for that many groups."""
        design = self.design
        plans: list[Plan] = [Use(part.drawn(groups), part.stability) for part in design.parts]
        for search, part in zip(design.searches, design.levels, strict=True):
            draws: Iterator[tuple[Any, Any]] = search.draws(part, groups)  # type: ignore[arg-type]
            plans += [Use(drawn, stability) for drawn, stability in draws]
        plans += [Parallel(Use(pick.drawn), groups, pick.touched) for pick in design.picks]
        return tuple(plans)

    def aggregations(self) -> Iterator[Aggregation]:
        """Yield the form of every request to an engine; for discovered groups, as if there were none."""
        design = self.design
        groups = design.groups or ()
        relation = design.bounded(groups)
        if design.discovery is not None:
            yield Aggregation(design.bounded(None), design.key_values, (design.one_unit.measure,))
        yield from requests(design, groups)
        for search in design.searches:
            cell = search.scaled.expression
            if isinstance(search, Search):
                cell = Call("shift_right", (cell, Literal(search.shift(0), Kind.INTEGER)))
            yield Aggregation(relation, (*design.key_values, cell), (_COUNT,))
        for pick in design.picks:
            keys = (*design.key_values, *pick.aggregate.arguments)
            yield Aggregation(design.candidates(pick, relation), keys, (design.one_unit.measure,))

    def release(self, data: Engine, run: Runner) -> Answered:
        """Return the noisy integers; no rows that an engine returns make it raise."""
        design = self.design
        if design.discovery is None:
            return self._measure(data, run, design.groups or (), None)
        kinds = design.key_kinds
        found = data.aggregate(Aggregation(design.bounded(None), design.key_values, (design.one_unit.measure,)))
        published = run(design.discovery, persons_by_text(found, kinds), stability=design.contribution.touched)
        groups = from_texts(published, kinds)
        inner = run.within()
        # Without groups there is nothing to measure; what was paid for it is not given back.
        return self._measure(data, inner, groups, groups) if groups else Answered((), ())

    def _measure(self, data: Engine, run: Runner, groups: Sequence[Group], found: tuple[Group, ...] | None) -> Answered:
        design = self.design
        relation = design.bounded(groups)
        numbers: list[PublicArray] = []
        if design.measured:
            table = exact_table(design, data, groups)
            for column, part in zip(table.T, design.parts, strict=True):
                drawn = run(part.drawn(len(groups)), np.ascontiguousarray(column), stability=part.stability)
                numbers.append(PublicArray(drawn))
        levels = tuple(
            self._ranked(data, run, relation, groups, search, part)
            if isinstance(search, RankSearch)
            else self._descend(data, run, relation, groups, search, part)
            for search, part in zip(design.searches, design.levels, strict=True)
        )
        return Answered(found, tuple(numbers), levels, tuple(self._choose(data, run, relation, groups)))

    def _ranked(
        self, data: Engine, run: Runner, relation: Relation, groups: Sequence[Group], search: RankSearch, part: Any
    ) -> tuple[PublicArray, ...]:
        """Choose quantiles among the cells of every group."""
        rows = cell_rows(self.design, data, relation, groups, search)
        chosen = search.choose(part, rows, lambda choice, lines, stability: run(choice, lines, stability=stability))
        return tuple(PublicArray(drawn) for drawn in chosen)

    def _descend(
        self, data: Engine, run: Runner, relation: Relation, groups: Sequence[Group], search: Search, part: Any
    ) -> tuple[PublicArray, ...]:
        design, cell = self.design, search.scaled.expression
        kinds = (*design.key_kinds, Kind.INTEGER)

        def ask(level: int, nodes: Integers, is_first: NDArray[np.bool_]) -> Integers:
            children, rows = search.children(level), relation
            places: dict[Group, tuple[int, int]] = {}
            for place, slot in np.argwhere(is_first).tolist():
                places[(*groups[place], int(nodes[place, slot]))] = place, slot
            if level:
                above = Call("shift_right", (cell, Literal(search.shift(level - 1), Kind.INTEGER)))
                rows = Keep(relation, (*design.key_values, above), tuple(places))
            below = Call("shift_right", (cell, Literal(search.shift(level), Kind.INTEGER)))
            answer = data.aggregate(Aggregation(rows, (*design.key_values, below), (_COUNT,)))
            counts = _children(answer, places, kinds, (len(groups), search.slots, children))
            drawn: Integers = run(part.drawn(*counts.shape), counts, stability=part.stability)
            return drawn

        counted = search.descend(part.drawn(), len(groups), ask)
        return tuple(PublicArray(level) for level in counted)

    def _choose(self, data: Engine, run: Runner, relation: Relation, groups: Sequence[Group]) -> list[PublicArray]:
        design, chosen = self.design, []
        for pick in design.picks:
            asked = Aggregation(
                design.candidates(pick, relation),
                (*design.key_values, *pick.aggregate.arguments),
                (design.one_unit.measure,),
            )
            scores = _scores(data.aggregate(asked), design, groups, pick.candidates, pick.aggregate.arguments)
            winners = [
                np.atleast_1d(sibling(pick.drawn, row))
                for sibling, row in zip(run.parallel(len(groups)), scores, strict=True)
            ]
            chosen.append(PublicArray(np.array(winners)))
        return chosen


def plan_query(
    query: Query,
    loss: Loss,
    *,
    noise: str = "auto",
    shares: Mapping[str, Number] | None = None,
    threshold_share: Number | None = None,
    quantiles: str = "auto",
) -> Answer:
    """Return the mechanism that answers a query within a loss.

    Args:
        query: what is asked.
        loss: what it may cost: PureDP, ZCDP or ApproxDP.
        noise: 'laplace', 'gaussian', or 'auto': what has the smaller error at this loss, the threshold included.
        shares: how much of the loss each aggregate gets, by name and in any unit; None for equal errors as a share of
            each column's declared range.
        threshold_share: where groups are discovered, the share of the loss that decides which are shown, between 0 and
            1: more of it lowers the threshold, and leaves less for the values.
        quantiles: 'tree', 'exponential', or 'auto': whichever has the shorter intervals, by public facts.

    """
    with planning():
        if quantiles != "auto":
            return _planned(query, loss, noise, shares, threshold_share, quantiles)
        answer = _planned(query, loss, noise, shares, threshold_share, TREE)
        return ranked(answer) or answer


def ranked(answer: Answer) -> Answer | None:
    """Return an answer with its quantiles chosen by the exponential mechanism, if that makes their intervals shorter.

    The lengths of intervals, in ranks, follow from the query and the loss; so does how much an engine would return.
    """
    groups, trees = answer.design.groups, answer.design.searches
    cells = sum(search.scaled.grid.most + 1 for search in trees)
    if not trees or groups is None or len(groups) > MOST_GROUPS or cells * len(groups) > MOST_CELLS:
        return None
    try:
        other = replace(answer, quantiles=EXPONENTIAL)
    except (InvalidParameter, NoGuarantee):
        return None
    for tree, part, search, chosen in zip(
        trees, answer.design.levels, other.design.searches, other.design.levels, strict=True
    ):
        for share in search.shares:
            offset = search.offset(chosen, share) if isinstance(search, RankSearch) else 0  # type: ignore[arg-type]
            # An interval is about as long as two offsets, or as the error of a rank in a tree: measured. What lies
            # beyond the last row is as good as the last row to a choice, and not to a tree.
            if share in (0, 1) or 2 * offset > tree.rank_error(part, share, 0.05):  # type: ignore[arg-type]
                return None
    return other


def _planned(
    query: Query,
    loss: Loss,
    noise: str,
    shares: Mapping[str, Number] | None,
    threshold_share: Number | None,
    quantiles: str,
) -> Answer:
    check_query(query, "query")
    given = check_shares(shares, [aggregate.name for aggregate in query.aggregates])
    wanted = None if given is None else tuple(given.items())
    fixed: dict[str, Any] = {"query": query, "target": loss, "shares": wanted, "threshold_share": threshold_share}
    fixed["quantiles"] = quantiles
    if noise != "auto":
        return Answer(noise=noise, **fixed)
    if not isinstance(loss, ApproxDP) or loss.delta == 0:
        return Answer(noise=LAPLACE if isinstance(loss, PureDP | ApproxDP) else GAUSSIAN, **fixed)
    found = [Answer(noise=LAPLACE, **fixed)]
    # A delta too small for any rho leaves Laplace noise alone.
    with contextlib.suppress(NoGuarantee):
        found.append(Answer(noise=GAUSSIAN, **fixed))
    return min(found, key=lambda answer: badness(answer.design))


def badness(design: Design) -> float:
    """Return the largest error of a column plus the threshold for discovered groups, both in rows."""
    threshold = 0 if design.discovery is None else design.discovery.threshold
    return threshold + max(design.errors(0.05).values(), default=0.0)


def _is_plain(key: Any, numbers: Any) -> bool:
    return (
        type(key) is tuple is type(numbers)
        and len(key) == len(numbers) == 1
        and type(key[0]) is int is type(numbers[0])
    )


def cell_rows(
    design: Design, data: Engine, relation: Relation, groups: Sequence[Group], search: RankSearch
) -> list[Rows]:
    """Return the rows of every group in the cells of a search; what is not a cell of a group is ignored."""
    answer = data.aggregate(Aggregation(relation, (*design.key_values, search.scaled.expression), (_COUNT,)))
    places, counted = design.places(groups), [list[tuple[int, int]]() for _ in groups]
    kinds = (*design.key_kinds, Kind.INTEGER)
    if not design.key_kinds:
        # Often as many rows as there are values: what is read of a row is the same as below, in one look.
        plain = [pair for pair in zip(answer.keys, answer.measures, strict=False) if _is_plain(*pair)]
        if len(plain) == min(len(answer.keys), len(answer.measures)):
            return [Rows.of(((key[0], numbers[0]) for key, numbers in plain), search.cells)]  # type: ignore[misc]
    for key, numbers in zip(answer.keys, answer.measures, strict=False):
        known = canonical(key, kinds)
        if known is not None and isinstance(known[-1], int) and known[:-1] in places:
            counted[places[known[:-1]]].append((known[-1], first_number(numbers)))
    return [Rows.of(mine, search.cells) for mine in counted]


def _children(
    answer: Aggregated, places: Mapping[Group, tuple[int, int]], kinds: tuple[Kind, ...], shape: tuple[int, int, int]
) -> Integers:
    """Return the counts of the children of the inspected nodes; rows of other nodes are ignored."""
    counts, children = np.zeros(shape, dtype=np.int64), shape[2]
    for key, numbers in zip(answer.keys, answer.measures, strict=False):
        known = canonical(key, kinds)
        if known is None or not isinstance(known[-1], int):
            continue
        place = places.get((*known[:-1], known[-1] // children))
        if place is not None:
            counts[(*place, known[-1] % children)] = first_number(numbers)
    return counts


def _scores(
    answer: Aggregated,
    design: Design,
    groups: Sequence[Group],
    candidates: tuple[Value, ...],
    arguments: tuple[Expression, ...],
) -> Integers:
    """Return how many units have each candidate, a row per group."""
    kind = kind_of(arguments[0], design.query.relation.columns)
    rows, columns = positions(groups, design.key_kinds), positions([(c,) for c in candidates], (kind,))
    scores = np.zeros((len(groups), len(candidates)), dtype=np.int64)
    for key, numbers in zip(answer.keys, answer.measures, strict=False):
        known = canonical(key, (*design.key_kinds, kind))
        if known is not None and known[:-1] in rows and known[-1:] in columns:
            scores[rows[known[:-1]], columns[known[-1:]]] = first_number(numbers)
    return scores
