"""Disjunctions: how many rows have any of some attributes, from a polynomial of low degree in place of 2^d cells.

For up to 30 attributes of yes and no, whose table has up to 2^30 cells. Whether a row has any of k attributes is 0 or 1
by how many of them it has; a polynomial of that number, of degree about the root of k, is within gamma of it
everywhere (Chebyshev). Added up over all rows it is a weighted sum of the numbers of rows that have all of each few
attributes: as many numbers as there are sets of at most that degree. These are the model. It begins with the number of
rows and coins, and learns from each gross error. Cost: a pass over the rows and over the sets within a question, for
every question.

Corrections: the paper is about what can be computed, and leaves its constants open; here the truth is compared itself,
so that the error of the polynomial is a gross error like any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, pairwise
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Of, Whole, probability
from dither.lift.attributes import Attributes
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, Loss, Metric
from dither.publish.interactive.construction import comparing
from dither.publish.interactive.learned import Learned
from dither.publish.interactive.products import WeightedRecords

Ints = NDArray[np.int64]
MOST_ATTRIBUTES: Final = 30
#: Sets of attributes that a question goes over, and that a model holds.
_MOST_SETS: Final = 2**18
#: How often measured answers are gone over again, and how many of them.
_PASSES: Final = 4
_MOST_KEPT: Final = 64
_WORK: Final = 2**18


def _bits(attributes: Any) -> bool:
    return len(attributes.sizes) <= MOST_ATTRIBUTES and set(attributes.sizes) == {2}


def _examples() -> Iterator[Example]:
    people = Attributes.of({"a": 2, "b": 2, "c": 2})
    sparse = GapSparse(threshold=2, threshold_scale=2, query_scale=4, positives=2)
    made = DisjunctionConversation(attributes=people, degree=2, sparse=sparse, total=Geometric(scale=1))
    script = (("a",), ("a", "b", "c"), ("b", "c"), ("a",))
    rows = np.array([[0, 1, 1], [1, 1, 0], [5, -3, 0], [0, 0, 0]])
    many = np.tile(rows[:1], (30, 1))
    pairs = tuple(
        (Dialogue(here, script), Dialogue(there, script), 1)
        for here, there in ((rows, rows[1:]), (rows[:0], rows[:1]), (many, many[1:]))
    )
    yield Example(made, pairs[0][0], pairs)


@register(
    examples=_examples,
    source="Faster Private Release of Marginals on Small Databases (Chandrasekaran, Thaler, Ullman, Wan 2014); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.2.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class DisjunctionConversation(Learned[tuple[int, ...]]):
    """Answer how many rows have any of some attributes, for any sets of them that are asked for.

    Guarantee: tables that differ in ``d_in`` rows lose what ``total`` and ``sparse`` lose at ``d_in``, added up;
    whatever is asked, and however many questions there are.

    Args:
        attributes: at most 30 names, each of size 2: 1 is yes, 0 is no; public.
        degree: of the polynomial; higher ones err less and learn more slowly.
        sparse: what compares the model with the data; after its last positive answer nothing is compared.
        total: the noise of the number of rows.

    >>> from dither.privacy import PureDP
    >>> signs = Attributes.of({f"sign{number}": 2 for number in range(30)})
    >>> talk = DisjunctionConversation.calibrated(PureDP(1), attributes=signs, degree=3)
    >>> talk.numbers, round(talk.polynomial_error(6), 3)
    (4526, 0.148)

    """

    name: ClassVar[str] = "disjunction-conversation"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    attributes: Of[Attributes] = Of(
        Attributes, where=_bits, rule=f"attributes of size 2 each, at most {MOST_ATTRIBUTES} of them"
    )
    degree: Whole = Whole(2, least=1, most=MOST_ATTRIBUTES)

    def __post_init__(self) -> None:
        if self.numbers > _MOST_SETS:
            raise InvalidParameter(
                "degree", self.degree, f"small enough that at most {_MOST_SETS} sets have that number of attributes"
            )

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        degree: int = 2,
        corrections: int = 20,
        questions: int = 1000,
        share: Number = "1/20",
    ) -> Self:
        """Return the method that spends ``within`` on tables one row apart.

        Args:
            within: the loss not to exceed.
            attributes: at most 30 names, each of size 2.
            degree: of the polynomial.
            corrections: how many gross errors are measured.
            questions: about how many will be asked.
            share: of the loss that the number of rows has.

        """
        purse, part = Purse.within(within), probability("share", share, open_below=True)
        if part >= 1:
            raise InvalidParameter("share", share, "below 1: comparisons need something, too")
        made = cls(
            attributes=attributes,
            degree=degree,
            total=purse.share(part).noise(),
            sparse=comparing(purse.share(1 - part).loss, corrections, questions),
        )
        if not made.loss(1) <= within:
            raise NoGuarantee(f"the conversation would lose {made.loss(1)}, which is not within {within}")
        return made

    @property
    def distance(self) -> Metric:
        """Rows in one table and not in the other."""
        return RECORDS

    @property
    def top(self) -> int:
        """One row has any of some attributes, or not."""
        return 1

    @cached_property
    def numbers(self) -> int:
        """How many numbers the model has: sets of at most ``degree`` attributes, the empty one included."""
        names = len(self.attributes.names)
        return sum(math.comb(names, size) for size in range(min(self.degree, names) + 1))

    def polynomial_error(self, asked: int) -> float:
        """Return how far the polynomial is from 0 or 1 at most, for a question about that many attributes."""
        return float(chebyshev_error(whole_asked(asked), self.degree))

    def checked(self, question: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the numbers of the attributes that are asked about, in order."""
        known = self.attributes.names
        if not isinstance(question, tuple | list) or not question or not all(name in known for name in question):
            raise InvalidParameter("question", question, f"one or more of {', '.join(known)}")
        axes = tuple(sorted({known.index(name) for name in question}))
        return axes, axes

    def held(self, data: Any) -> tuple[Ints, Ints]:
        """Return numbers whose binary digits are the attributes of a row, and how many rows each stands for."""
        if isinstance(data, WeightedRecords) and data.attributes == self.attributes:
            codes, counts = data.filled
        else:
            codes = self.attributes.codes(data)
            counts = np.ones(codes.shape[1], dtype=np.int64)
        return np.asarray((codes << np.arange(len(codes))[:, None]).sum(axis=0)), counts

    def rows(self, held: tuple[Ints, Ints]) -> int:
        """Return the number of rows."""
        return int(held[1].sum())

    def truth(self, held: tuple[Ints, Ints], question: tuple[int, ...]) -> int:
        """Return how many rows have any of the attributes."""
        numbers, counts = held
        return int(counts[numbers & sum(1 << axis for axis in question) != 0].sum())

    def model(self, total: int) -> PolynomialLearner:
        """Return the numbers of a table of fair coins."""
        return PolynomialLearner(total, self.degree)


class PolynomialLearner:
    """How many rows have all of each few attributes, as far as it is known; the rest is as of fair coins.

    Args:
        total: the number of rows.
        degree: the largest sets.

    >>> learner = PolynomialLearner(100, degree=2)
    >>> learner.answer((0, 1))
    75.0
    >>> learner.learn((0, 1), 90.0)
    >>> round(learner.answer((0, 1)), 6)
    90.0

    """

    def __init__(self, total: int, degree: int) -> None:
        self._total, self._degree = total, degree
        self._known: dict[tuple[int, ...], float] = {}
        self._told: list[tuple[tuple[int, ...], float]] = []

    def answer(self, question: tuple[int, ...]) -> float:
        """Return the polynomial's sum over all rows."""
        return math.fsum(weight * self._count(chosen) for chosen, weight in self._terms(question))

    def learn(self, question: tuple[int, ...], measured: float) -> None:
        """Move the numbers as little as gives the measured answers, in the Euclidean distance, one after another."""
        kept = max(1, min(_MOST_KEPT, _WORK // (_PASSES * sum(1 for _ in self._terms(question)))))
        self._told = [*self._told, (question, measured)][-kept:]
        for _ in range(_PASSES):
            for asked, answer in self._told:
                terms = list(self._terms(asked))
                length = math.fsum(weight * weight for _, weight in terms)
                step = (answer - self.answer(asked)) / length
                for chosen, weight in terms:
                    self._known[chosen] = self._count(chosen) + step * weight

    def _count(self, chosen: tuple[int, ...]) -> float:
        return self._known.get(chosen, self._total * 0.5 ** len(chosen))

    def _terms(self, question: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
        weights = polynomial(len(question), self._degree)
        for size, weight in enumerate(weights[1:], start=1):
            for chosen in combinations(question, size):
                yield chosen, weight


def whole_asked(asked: int) -> int:
    """Return a number of attributes, or reject it."""
    if type(asked) is not int or not 1 <= asked <= MOST_ATTRIBUTES:
        raise InvalidParameter("asked", asked, f"1 to {MOST_ATTRIBUTES} attributes")
    return asked


@cache
def polynomial(asked: int, degree: int) -> tuple[float, ...]:
    """Return the weight of a set of each size, in a polynomial that is 0 where a row has none and else nearly 1.

    In terms of binomials: a row that has j of the attributes has C(j, i) sets of i of them. Where the degree is no
    less than what is asked the polynomial is exact: inclusion and exclusion.

    >>> polynomial(2, 2)
    (0.0, 1.0, -1.0)

    """
    values = [chebyshev_value(count, asked, degree) for count in range(min(asked, degree) + 1)]
    weights = []
    while values:
        weights.append(float(values[0]))
        values = [after - before for before, after in pairwise(values)]
    return tuple(weights)


def chebyshev_value(count: int, asked: int, degree: int) -> Fraction:
    """Return the polynomial at a row that has ``count`` of the attributes: 1 - T(x) / T(x at 0), T of Chebyshev."""
    if degree >= asked:
        return Fraction(min(count, 1))
    where = Fraction(2 * count - asked - 1, asked - 1)
    return 1 - _chebyshev(degree, where) / _chebyshev(degree, Fraction(-asked - 1, asked - 1))


def chebyshev_error(asked: int, degree: int) -> Fraction:
    """Return how far the polynomial is from 1 at most, at rows that have any of the attributes.

    >>> [chebyshev_error(4, degree) for degree in (1, 2, 3, 4)]
    [Fraction(3, 5), Fraction(9, 41), Fraction(27, 365), Fraction(0, 1)]

    """
    if degree >= asked:
        return Fraction(0)
    return abs(1 / _chebyshev(degree, Fraction(-asked - 1, asked - 1)))


def _chebyshev(degree: int, where: Fraction) -> Fraction:
    before, here = Fraction(1), where
    for _ in range(degree - 1):
        before, here = here, 2 * where * here - before
    return here
