"""Model first: measure a model of a table, answer counting questions from it, and correct it where it errs grossly.

For many counting questions that arrive one after another, at one price: the default. Most of the budget buys noisy
marginals, or a noisy table, before the first question; the rest buys comparisons and a few corrections. Cost: a pass
over the table for every question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final, Self

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, TupleOf, probability
from dither.lift.attributes import Attributes, Axes
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss
from dither.publish.interactive.construction import Constructed, comparing, table_examples
from dither.publish.interactive.updates import Floats, Learner, TableLearner
from dither.publish.marginals.common import Names
from dither.publish.synthetic.cell_queries import check_table, named_sets

#: Most of the budget goes to the model. Its share of a marginal grows with this power of the number of cells.
_MODEL_SHARE: Final = Fraction(4, 5)
_POWER: Final = 0.2
#: A table of so few cells is measured itself; beyond, pairs err by about this factor less (in variance) once fitted.
_FEW_CELLS: Final = 256
_GAIN: Final = 8
#: Cells of all marginals that are measured first.
_MOST_MEASURED: Final = 2**22
_ONE: Final = Geometric(scale=1)


def _model_examples() -> Iterator[Example]:
    people, talk, moved = table_examples()
    singles = (("a",), ("b",))
    sparse = GapSparse(threshold=2, threshold_scale=2, query_scale=4)
    yield Example(ModelFirst(attributes=people, marginals=singles, noises=(_ONE,) * 2, sparse=sparse), talk, moved)
    table = ModelFirst(attributes=people, marginals=(("a", "b"),), noises=(Geometric(scale=9),), sparse=sparse)
    yield Example(table, talk, moved)


@register(
    examples=_model_examples,
    source="A Multiplicative Weights Mechanism for Privacy-Preserving Data Analysis (Hardt, Rothblum 2010), section 4, "
    "for the comparison with a model; An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss "
    "Functions (Xiao, He, Zhang, Kifer 2023), for least squares on marginals",
)
@dataclass(frozen=True, kw_only=True)
class ModelFirst(Constructed):
    """Measure a model of a table first, answer counting questions from it, and correct gross errors.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what all ``noises`` lose at ``d_in``, and what ``sparse``
    loses at ``d_in``, added up; whatever is asked, and however many questions there are.

    Args:
        attributes: names and sizes, with at most 2^20 cells; public.
        sparse: what compares the model with the data; after its last positive answer nothing is compared.
        marginals: what is measured first; public.
        noises: the noise of a cell of each marginal.

    >>> from dither.privacy import PureDP
    >>> people = Attributes.of({"sex": 2, "age": 80, "region": 16, "smokes": 2})
    >>> talk = ModelFirst.calibrated(PureDP(1), attributes=people)
    >>> talk.loss(1) <= PureDP(1), len(talk.marginals), talk.sparse.positives
    (True, 6, 2)

    """

    name: ClassVar[str] = "model-first"
    version: ClassVar[int] = 3
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "every answer has its own interval, and the error of a model depends on the data"
    no_interval_because: ClassVar[str] = "after the last correction nothing is compared"

    marginals: Names = Names()
    noises: TupleOf = TupleOf(OneCount(), least=1, rule="noise of one number, for each marginal")

    def __post_init__(self) -> None:
        object.__setattr__(self, "marginals", named_sets(self.attributes, self.marginals))
        if len(set(self.marginals)) != len(self.marginals):
            raise InvalidParameter("marginals", self.marginals, "sets that differ")
        self.check_size()
        if len(self.noises) != len(self.marginals):
            raise InvalidParameter("noises", len(self.noises), f"{len(self.marginals)}, one for each marginal")

    def check_size(self) -> None:
        """Reject what is too large, by public facts."""
        check_table(self.attributes, ())
        cells = sum(self.attributes.cells_of(axes) for axes in self.sets)
        if cells > _MOST_MEASURED:
            raise InvalidParameter("marginals", f"{cells} cells", f"at most {_MOST_MEASURED} cells together")

    @classmethod
    def chosen(cls, attributes: Attributes) -> tuple[tuple[str, ...], ...]:
        """Return what to measure first, where nothing else is said."""
        return chosen_marginals(attributes)

    @classmethod
    def weights(cls, attributes: Attributes, sets: Sequence[Axes]) -> list[int]:
        """Return the part of the model's share that each marginal has, in proportion."""
        return [round(1000 * attributes.cells_of(axes) ** _POWER) for axes in sets]

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        marginals: Sequence[Sequence[str]] | None = None,
        share: Number = _MODEL_SHARE,
        corrections: int = 2,
        questions: int = 1000,
    ) -> Self:
        """Return the method that spends ``within`` on tables 1 apart.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            marginals: what is measured first; by default all pairs, or the table itself where it is small.
            share: of the loss that goes to the model; the rest goes to comparisons.
            corrections: how many gross errors are measured.
            questions: about how many will be asked: a good model passes all of these with probability 95 %. Any
                number may be asked.

        """
        purse = Purse.within(within)
        part = probability("share", share, open_below=True)
        if part >= 1:
            raise InvalidParameter("share", share, "below 1: comparisons need something, too")
        chosen = cls.chosen(attributes) if marginals is None else marginals
        sets = [attributes.axes(names) for names in chosen]
        weights = cls.weights(attributes, sets)
        model = purse.share(part)
        made = cls(
            attributes=attributes,
            marginals=tuple(tuple(names) for names in chosen),
            noises=tuple(model.share(Fraction(weight, sum(weights))).noise() for weight in weights),
            sparse=comparing(purse.share(1 - part).loss, corrections, questions),
        )
        if not made.loss(1) <= within:
            raise NoGuarantee(f"the conversation would lose {made.loss(1)}, which is not within {within}")
        return made

    @cached_property
    def sets(self) -> tuple[Axes, ...]:
        """The marginals that are measured first."""
        return tuple(self.attributes.axes(names) for names in self.marginals)

    @property
    def parts(self) -> tuple[CountNoise, ...]:
        """The noise of a cell of each."""
        return tuple(self.noises)

    def learner(self, table: Floats) -> Learner:
        """Return the table with its update: cells of a measured one may be below 0, and cannot be scaled."""
        return TableLearner(table, "frieze-kannan" if self.attributes.names in self.marginals else "proportional")


def chosen_marginals(attributes: Attributes) -> tuple[tuple[str, ...], ...]:
    """Return what to measure first: all pairs, or the table itself where noise on it adds up to less.

    The noise of a question grows with the number of cells of what is measured, and with the square of how often the
    loss is divided. What is fitted to pairs errs less than their noise, because no cell of it is below 0.

    >>> chosen_marginals(Attributes.of({"a": 2, "b": 2, "c": 2}))
    (('a', 'b', 'c'),)

    """
    pairs = attributes.every(min(2, len(attributes.names)))
    cells = sum(attributes.cells_of(attributes.axes(names)) for names in pairs)
    is_small = attributes.cells <= _FEW_CELLS or _GAIN * attributes.cells <= len(pairs) * cells
    return (attributes.names,) if is_small else pairs
