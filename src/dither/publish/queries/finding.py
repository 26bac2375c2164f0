"""Undeclared bounds and limits, found under privacy: the range of a column, the rows per person.

**Bounds.** The magnitudes of a column fall into public cells that double in length, [2^k, 2^(k+1)) on either side of 0,
and the people in every cell are counted, each in one cell: a query like any other, with its plan and its guarantee.
What follows is post-processing. Let r be how far the noise of any cell reaches, but for one time in forty. A cell whose
noisy count is above r is then not empty, and the range goes from the first of them to the last, so that both ends are
magnitudes that occur. The people beyond are the noisy counts of the cells beyond and their noise. Which cells these
are the noise decides; so a reach of the sum is taken that fails for each pair of a first and a last cell one time in
forty over the number of pairs. All of it holds 19 times of 20.

**Limits.** How many rows a person has is a number of each person, and a quantile of it is found as any other. The share
of rows that a limit drops is made of two sums of that number, cut at the limit and between the limit and a public cap.

Source: Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section 5.1.1, approximate
bounds. There a cell passes by a threshold for which only empty cells are considered; here the same threshold also says
what the cells beyond may hold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dither.data import Call, Case, DataSet, Expression, Kind, Literal, Name, Relation
from dither.data.expressions import kind_of
from dither.errors import InvalidParameter, Unanswerable
from dither.estimate.accuracy import DiscreteGaussianLaw, DiscreteLaplaceLaw
from dither.estimate.accuracy.sums import total
from dither.exact import Number, whole
from dither.mechanisms import DiscreteGaussian, Geometric
from dither.privacy import Loss
from dither.publish.queries.answer import Answer, Answered
from dither.publish.queries.assemble import make_aggregate, make_key, make_query, own_limits
from dither.publish.queries.bounds import bounds_of
from dither.publish.queries.builder import Rows, rows
from dither.publish.queries.query import Query
from dither.publish.queries.terms import col, share_of

CONFIDENCE: Final = Fraction(19, 20)
#: Reals are told apart from 0 by this power of two, and up to that.
_LEAST, _MOST = -32, 64
_LEAST_SCALE, _MOST_SCALE = Fraction(1, 8), Fraction(2**60)
_LARGEST_INTEGER: Final = 2**63 - 1
#: Clamps reach so far.
_LARGEST_REAL: Final = 1e149


@dataclass(frozen=True)
class FoundBounds:
    """A range of a column, found under privacy.

    Args:
        column: whose.
        lower: the least value of the range; None if no magnitude has enough people.
        upper: the largest value of the range.
        counted: about how many people (or rows) were counted.
        outside: how many of them lie outside of the range at most, with the confidence.
        reach: the bound on a noisy count's error, for all cells at once.
        confidence: of all that.
        loss: what it cost.
        unit: what is protected, in words.
        receipt: where the charge is recorded.

    """

    column: str
    lower: float | None
    upper: float | None
    counted: int
    outside: int
    reach: int
    confidence: Fraction
    loss: Loss
    unit: str
    receipt: str = "unledgered"

    @property
    def bounds(self) -> tuple[float, float]:
        """Both ends, to declare or to clamp to."""
        if self.lower is None or self.upper is None:
            raise Unanswerable(
                f"no magnitude of {self.column} has more than about {self.reach} people, so that no range is known",
                "spend more on it, or declare bounds",
            )
        return self.lower, self.upper

    def to_json(self) -> str:
        """Return the record as JSON."""
        record = {**vars(self), "confidence": str(self.confidence), "loss": self.loss.to_dict()}
        del record["receipt"]
        return json.dumps({"bounds": 1, **record}, sort_keys=True)

    @staticmethod
    def stored(text: bytes | str, receipt: str) -> FoundBounds:
        """Return a stored record, with the ledger entry of its charge."""
        record = json.loads(text)
        if record.pop("bounds", None) != 1:
            raise InvalidParameter("bounds", "a string", "the JSON of bounds")
        confidence, loss = Fraction(record.pop("confidence")), Loss.from_dict(record.pop("loss"))
        return FoundBounds(**record, confidence=confidence, loss=loss, receipt=receipt)

    def __str__(self) -> str:
        if self.lower is None or self.upper is None:
            return (
                f"{self.column}: no magnitude has more than about {self.reach} people, so that no range is known; "
                f"{self.loss}; {self.unit}"
            )
        share = f"{float(self.confidence) * 100:g} %"
        return (
            f"{self.column}: {self.lower:g} to {self.upper:g}; of about {self.counted} at most {self.outside} are "
            f"outside ({share})\ndeclare bounds: [{self.lower:g}, {self.upper:g}], or write CLAMP({self.column}, "
            f"{self.lower:g}, {self.upper:g})\n{self.loss}; {self.unit}"
        )


def bounds_query(dataset: DataSet, source: Rows, column: str) -> Query:
    """Return the query that counts the people in every magnitude of a column, each person in one."""
    relation = source.relation(dataset)
    if column not in relation.columns:
        raise InvalidParameter("column", column, f"one of {', '.join(relation.columns)}")
    edges = edges_of(column, relation)
    value, name = Name(column), "magnitude"
    limits = own_limits(dataset)
    if dataset.protects_persons:
        limits = replace(limits, rows=1, groups=1, rows_per_group=1)
    key = make_key(name, _cell(value, edges, relation), relation, tuple(range(len(edges) + 1)))
    counted = make_aggregate("persons" if dataset.protects_persons else "count", (), relation, name="counted")
    outputs = ((name, Name(name)), ("counted", Name("counted")))
    return make_query(dataset, relation, (key,), (counted,), outputs, limits=limits)


def limits_query(dataset: DataSet, source: Rows, share: Number, most: int) -> Query:
    """Return the query for a quantile of the number of rows per person."""
    if not dataset.protects_persons:
        raise Unanswerable("each row is its own unit, so that there is one row for each", "there is nothing to limit")
    top = whole("most", most, least=1, most=2**31)
    own = own_limits(dataset)
    # A person is one row here, so that narrower limits than those of the data set take nothing away.
    one = {name: 1 for name, limit in vars(own).items() if limit is not None}
    each = source.per_person(rows=rows()).quantile("rows", share_of(share), bounds=(1, top), name="rows")  # type: ignore[arg-type]
    return each.limits(**one).build(dataset)


def dropped_query(dataset: DataSet, source: Rows, limit: int, most: int) -> Query:
    """Return the query for the share of rows that a limit of rows a person drops, of at most ``most`` rows a person.

    It is two sums over people: of the rows within the limit, and of those beyond it. One person adds at most ``limit``
    to the first and ``most - limit`` to the second: without a public cap, one person could have all rows.
    """
    if not dataset.protects_persons:
        raise Unanswerable("each row is its own unit, so that no limit drops any", "there is nothing to find")
    top = whole("most", most, least=2, most=2**31)
    limited = whole("drops", limit, least=1, most=top - 1)
    one = {name: 1 for name, known in vars(own_limits(dataset)).items() if known is not None}
    each = source.per_person(rows=rows())
    within = each.sum("rows", bounds=(0, limited), name="within_limit")
    both = within.sum((col("rows") - limited).clamp(0, top - limited), name="beyond_limit")
    # Each sum occurs once, so that the interval of the share is as short as theirs allow.
    share = 1 - 1 / (1 + col("beyond_limit") / col("within_limit"))
    shown = both.show("within_limit", "beyond_limit", dropped=share)
    return shown.limits(**one).build(dataset)


def edges_of(column: str, relation: Relation) -> tuple[int | float, ...]:
    """Return the public edges between a column's magnitudes, within its declared bounds if any.

    >>> from dither.data.examples import clinic
    >>> from dither.data import Scan
    >>> from dither.privacy import ROW
    >>> edges_of("cost", Scan(clinic(ROW).table("visits")))[-3:]
    (2, 4, 8)
    """
    kind = kind_of(Name(column), relation.columns)
    if not kind.is_number:
        raise InvalidParameter("column", f"{column}, a {kind.value}", "a column of numbers")
    is_whole = kind is Kind.INTEGER
    powers: Sequence[int | float] = (
        [2**power for power in range(63)] if is_whole else [2.0**power for power in range(_LEAST, _MOST + 1)]
    )
    edges = [*(-power for power in reversed(powers)), *([0] if is_whole else []), *powers]
    known = bounds_of(Name(column), relation)
    if known is not None:
        edges = [edge for edge in edges if known[0] < edge <= known[1]]
    return tuple(edges)


def found_bounds(answer: Answer, released: Answered, column: str) -> FoundBounds:
    """Return the range that noisy counts of magnitudes show, from released numbers and public facts alone."""
    relation = answer.query.relation
    edges = edges_of(column, relation)
    is_whole = kind_of(Name(column), relation.columns) is Kind.INTEGER
    counts = [int(count) for count in released.numbers[0].values]
    drawn, half = answer.design.parts[0].drawn(), float(1 - CONFIDENCE) / 2
    reach = int(drawn.reach(half / len(counts)))
    full = [place for place, count in enumerate(counts) if count > reach]
    lower = upper = None
    outside = counts
    if full:
        ends = _ends(edges, bounds_of(Name(column), relation), is_whole)
        lower, upper = ends[full[0]][0], ends[full[-1]][1]
        outside = [*counts[: full[0]], *counts[full[-1] + 1 :]]
    return FoundBounds(
        column,
        lower,
        upper,
        max(0, sum(counts)),
        _at_most(outside, drawn, half / len(counts) ** 2),
        reach,
        CONFIDENCE,
        answer.loss(1),
        str(answer.distance),
    )


def _at_most(counts: Sequence[int], drawn: Geometric | DiscreteGaussian, failure: float) -> int:
    """Return an upper bound on the people in some cells, at a failure probability: noisy counts plus reach."""
    if not counts:
        return 0
    many, scale = len(counts), drawn.sigma if isinstance(drawn, DiscreteGaussian) else drawn.scale
    if scale > _MOST_SCALE:
        # Sums of more noise than any count have no law here; that no cell is off by more than its own reach is enough.
        return max(0, sum(counts) + many * math.ceil(drawn.reach(failure / many)))
    # Noise of a larger scale reaches farther; that of a tiny one has no law of sums here, and hardly any noise.
    scale = max(scale, _LEAST_SCALE)
    law = DiscreteGaussianLaw(scale) if isinstance(drawn, DiscreteGaussian) else DiscreteLaplaceLaw(scale)
    return max(0, sum(counts) + _reach_of_sum(law, many, failure))


@lru_cache(maxsize=64)
def _reach_of_sum(law: DiscreteGaussianLaw | DiscreteLaplaceLaw, many: int, failure: float) -> int:
    """Return how far a sum of noise reaches: public numbers alone, and an inversion that takes milliseconds."""
    return math.ceil(total(law, many).reach(failure))


def _ends(
    edges: Sequence[int | float], known: tuple[float, float] | None, is_whole: bool
) -> list[tuple[int | float, int | float]]:
    """Return the least and the largest value of every cell."""
    if known is not None:
        first, last = (math.ceil(known[0]), math.floor(known[1])) if is_whole else known
    else:
        first, last = (-_LARGEST_INTEGER, _LARGEST_INTEGER) if is_whole else (-_LARGEST_REAL, _LARGEST_REAL)
    lows, highs = [first, *edges], [*((edge - 1 if is_whole else edge) for edge in edges), last]
    least = 2.0**_LEAST
    # What is nearer to 0 than any power of two in use is 0.
    return [
        (0 if not is_whole and low == -least else low, 0 if not is_whole and high == least and low == -least else high)
        for low, high in zip(lows, highs, strict=True)
    ]


def _cell(value: Name, edges: Sequence[int | float], relation: Relation) -> Expression:
    """Return the number of a value's cell; NULL lies in none."""
    kind = kind_of(value, relation.columns)
    nothing: tuple[Expression, Expression] = Call("is_null", (value,)), Literal(None, Kind.INTEGER)
    below: list[tuple[Expression, Expression]] = [
        (Call("less", (value, Literal(edge, kind))), Literal(number, Kind.INTEGER)) for number, edge in enumerate(edges)
    ]
    return Case((nothing, *below), Literal(len(edges), Kind.INTEGER))
