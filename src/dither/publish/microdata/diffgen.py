"""DiffGen: generalise a table completely, specialise it step by step, and count its groups.

For tables with a class that somebody wants to learn, where a table of labelled groups is wanted and not a sample. Cost:
one pass over the rows, and a table of as many cells as groups. Corrections: a split point of an ordered attribute is
one of the candidates of a step, so it is chosen and paid for together with it, and not by choices of its own; the
largest-class score moves one way only, so it costs half; information gain is a sum of whole increments with a proven
sensitivity, since the printed bound is as large as the score itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, Of, OneOf, Text, TupleOf, Whole, probability
from dither.lift.attributes import Attributes, Codes
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Composed, Interval, Numerics
from dither.mechanisms.core.purse import Purse, Spending
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, ZCDP, Loss, Metric, Plan, PureDP, Within
from dither.publish.histograms.common import Share
from dither.publish.microdata.cuts import Counts, Cut, Gain, cut_of, majority, members_of
from dither.publish.microdata.generalised import MOST_CELLS, GeneralisedTable
from dither.publish.microdata.taxonomy import Hierarchy, OrderedCells, Taxonomy
from dither.publish.synthetic.measuring import EXCLUDED

SCORES: Final = ("largest-class", "gain")
_USUAL_TABLE: Final = 2**16
_USUAL_RECORDS: Final = 2**16
_TREES: Final = "a Taxonomy or OrderedCells for each attribute but the class"


def _examples() -> Iterator[Example]:
    table = Attributes.of({"job": 3, "age": 3, "class": 2})
    trees = (Taxonomy.of({"paid": ["a", "b"], "c": []}), OrderedCells((0, 1, 2, 3)))
    rows = np.array([[0, 0, 1], [1, 2, 0], [2, 1, 0], [9, -9, 9]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    common: dict[str, Any] = {"attributes": table, "trees": trees, "class_attribute": "class", "specialisations": 2}
    yield Example(DiffGen(**common, budget=PureDP(2)), rows, pairs)
    yield Example(DiffGen(**common, budget=ZCDP(1), score="gain", records=4, largest_table=8), rows, pairs)


@register(
    examples=_examples,
    source="Differentially Private Data Release for Data Mining (Mohammed, Chen, Fung, Yu 2011); Differential Privacy "
    "and Applications (Zhu et al. 2017), section 5.3",
)
@dataclass(frozen=True, kw_only=True)
class DiffGen(Composed[Any, GeneralisedTable]):
    """Specialise a generalised table step by step, always by how well a step predicts the class, and count groups.

    Guarantee: records 1 apart lose ``budget``, whatever is chosen on the way; records ``d_in`` apart what group
    privacy makes of it.

    Args:
        attributes: names and sizes, the class among them; public.
        trees: for each attribute but the class, in their order, a public taxonomy or public cells.
        class_attribute: the name of the class.
        specialisations: how many steps are taken, at most.
        budget: what is spent, PureDP or ZCDP.
        share: the part of the budget that pays for the choice of steps, in equal parts.
        score: ``largest-class``, how many records are of the largest class of their group; or ``gain``, information
            gain times the number of records.
        records: for ``gain``, from how many records on its increments stay as they are; see ``Gain``.
        largest_table: how many combinations of groups and classes there may be; steps beyond are left out.

    >>> people = Attributes.of({"job": 4, "age": 6, "class": 2})
    >>> trees = (Taxonomy.balanced(["a", "b", "c", "d"]), OrderedCells((18, 25, 30, 40, 50, 60, 65)))
    >>> diffgen = DiffGen.calibrated(PureDP(1), attributes=people, trees=trees, class_attribute="class")
    >>> diffgen.loss(1), diffgen.candidates, diffgen.chooser(Purse.within(PureDP("1/8"))).scale
    (PureDP('1'), 8, Fraction(8, 1))

    """

    name: ClassVar[str] = "diffgen"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how much finer than its groups a table is, depends on the records"

    attributes: Of[Attributes] = Of(Attributes)
    trees: TupleOf = TupleOf(Of(Taxonomy, OrderedCells), rule=_TREES)
    class_attribute: Text = Text(rule="the name of an attribute")
    specialisations: Whole = Whole(least=1, most=2**12)
    budget: Spending = Spending()
    share: Share = Share(Fraction(1, 2))
    score: OneOf = OneOf(*SCORES, default=SCORES[0])
    records: Whole = Whole(_USUAL_RECORDS, least=1, most=2**22)
    largest_table: Whole = Whole(_USUAL_TABLE, least=1, most=MOST_CELLS)

    def __post_init__(self) -> None:
        if self.class_attribute not in self.attributes.names:
            raise InvalidParameter("class_attribute", self.class_attribute, "one of the attributes")
        if len(self.trees) != len(self.general):
            rule = f"{len(self.general)}, one for each attribute but the class"
            raise InvalidParameter("trees", f"{len(self.trees)} of them", rule)
        for axis, tree in zip(self.general, self.trees, strict=True):
            if tree.size != self.attributes.sizes[axis]:
                name, size = self.attributes.names[axis], self.attributes.sizes[axis]
                raise InvalidParameter("trees", f"{tree.size} values for {name}", f"of {size} values there")
        if self.classes > self.largest_table:
            raise InvalidParameter("largest_table", self.largest_table, f"at least {self.classes}, the classes")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        trees: Sequence[Hierarchy],
        class_attribute: str,
        specialisations: int = 10,
        **parameters: Any,
    ) -> Self:
        """Return the method that spends ``within`` on records 1 apart.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            trees: a taxonomy or cells for each attribute but the class.
            class_attribute: the name of the class.
            specialisations: how many steps are taken, at most.
            parameters: the other fields: ``share``, ``score``, ``records``, ``largest_table``.

        """
        return cls(
            attributes=attributes,
            trees=trees,
            class_attribute=class_attribute,
            specialisations=specialisations,
            budget=Purse.within(within).loss,
            **parameters,
        )

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def general(self) -> tuple[int, ...]:
        """The numbers of all attributes but the class."""
        return tuple(axis for axis, name in enumerate(self.attributes.names) if name != self.class_attribute)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.attributes.sizes[self.attributes.names.index(self.class_attribute)]

    @cached_property
    def candidates(self) -> int:
        """The total number of steps: inner nodes of taxonomies, and edges of cells."""
        return max(sum(cut_of(tree).steps for tree in self.trees), 1)

    @cached_property
    def stability(self) -> int:
        """How far a score moves per record."""
        return 1 if self.score == SCORES[0] else Gain(self.records).sensitivity

    def chooser(self, purse: Purse) -> Exponential:
        """Return the choice of a step that costs the whole purse."""
        # Scores that all move the same way tell half as much.
        is_one_way = self.score == SCORES[0]
        scale = purse.choice(self.stability, one_way=is_one_way)
        return Exponential(candidates=self.candidates, scale=scale, one_way=is_one_way)

    def plan(self) -> Plan:
        """Choose steps repeatedly, then count groups; the number of groups is not fixed in advance."""
        return Within(self.budget, (Exponential, DiscreteGaussian, Geometric))

    def interval(self, out: GeneralisedTable, confidence: Number) -> Interval:
        """Return intervals of all groups' counts at once; inside a group nothing is known."""
        wanted = probability("confidence", confidence, open_below=True)
        # Steps that were left out only made the noise smaller.
        widest = Purse.of(self.budget).share(1 - self.share).noise()
        reach = widest.reach(share_of_failure(wanted, out.counts.size))
        return Interval(out.counts - reach, out.counts + reach, wanted)

    def release(self, data: Any, run: Runner) -> GeneralisedTable:
        """Return the table of groups and their noisy counts."""
        codes = self.attributes.codes(data)
        inner, purse = run.within(), Purse.of(self.budget)
        each, left = purse.share(self.share) / self.specialisations, purse.amount
        chooser = self.chooser(each)
        steps = Steps(self, codes)
        for _ in range(self.specialisations):
            allowed = steps.allowed()
            if not allowed:
                break
            chosen = int(inner(chooser, steps.scores(allowed), stability=self.stability))
            # Next to impossible that it is not allowed, and then as good as any other: what is allowed is public.
            steps.take(chosen if chosen in allowed else min(allowed))
            left -= each.amount
        exact = steps.counts()
        noisy = inner(replace(purse.taking(left).noise(), shape=exact.shape), exact)
        return GeneralisedTable(self.attributes, steps.groups(), noisy)


class Steps:
    """The public cuts of all attributes, and the private classes and records that scores and counts need."""

    def __init__(self, method: DiffGen, codes: Codes) -> None:
        self._method, self._codes = method, codes
        self.cuts: list[Cut] = [cut_of(tree) for tree in method.trees]
        attributes, classes = method.attributes, method.attributes.names.index(method.class_attribute)
        self._class = classes
        self._sums: list[Counts] = []
        for axis, cut in zip(method.general, self.cuts, strict=True):
            table = attributes.count(codes, (min(axis, classes), max(axis, classes)))
            self._sums.append(cut.sums(table if axis < classes else table.T))
        self._score: Callable[[Counts], int] = majority if method.score == SCORES[0] else Gain(method.records)
        self._starts = np.concatenate([[0], np.cumsum([cut.steps for cut in self.cuts])]).tolist()

    def _place(self, number: int) -> tuple[int, int]:
        """Return the cut that a step belongs to, and its number there."""
        place = int(np.searchsorted(self._starts, number, side="right")) - 1
        return place, number - self._starts[place]

    def allowed(self) -> set[int]:
        """Return the steps that keep the table within its size; public."""
        sizes = [len(cut.groups()) for cut in self.cuts]
        cells = math.prod(sizes) * self._method.classes
        found = set()
        for start, cut, size in zip(self._starts, self.cuts, sizes, strict=False):
            for step in cut.available():
                if cells // size * (size + cut.added(step)) <= self._method.largest_table:
                    found.add(start + step)
        return found

    def scores(self, allowed: set[int]) -> Counts:
        """Return every step's score; steps that are not allowed have a fixed score. Private."""
        found = np.full(self._method.candidates, EXCLUDED, dtype=np.int64)
        for number in allowed:
            place, step = self._place(number)
            found[number] = self._score(self.cuts[place].below(step, self._sums[place]))
        return found

    def take(self, number: int) -> None:
        """Take a step."""
        place, step = self._place(number)
        self.cuts[place].take(step)

    def groups(self) -> list[list[tuple[str, tuple[int, ...]]]]:
        """Return the groups of every attribute in order; the class is never generalised. Public."""
        found = [cut.groups() for cut in self.cuts]
        found.insert(self._class, [(str(value), (value,)) for value in range(self._method.classes)])
        return found

    def counts(self) -> Counts:
        """Return the number of records in each combination of groups. Private."""
        groups = self.groups()
        shape = tuple(map(len, groups))
        places = np.zeros(self._codes.shape[1], dtype=np.int64)
        for axis, (each, size) in enumerate(zip(groups, self._method.attributes.sizes, strict=True)):
            places = places * len(each) + members_of(each, size)[self._codes[axis]]
        return np.bincount(places, minlength=math.prod(shape)).astype(np.int64).reshape(shape)
