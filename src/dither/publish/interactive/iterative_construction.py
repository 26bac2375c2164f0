"""Iterative construction: answer counting questions from a table that starts without knowledge.

As the literature has it: private multiplicative weights, and the same with the update of Frieze and Kannan. There for
reference: a model that is measured first errs less on all tables that were tried. Cost: a pass over the table for every
question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, OneOf, Whole, probability
from dither.lift.attributes import Attributes, Axes
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss
from dither.publish.interactive.construction import Constructed, comparing, table_examples
from dither.publish.interactive.updates import (
    MEDIAN,
    MOST_DATABASES,
    UPDATES,
    Floats,
    Learner,
    MedianLearner,
    TableLearner,
    databases,
)
from dither.publish.synthetic.cell_queries import check_table

_ONE: Final = Geometric(scale=1)


def _cold_examples() -> Iterator[Example]:
    people, talk, moved = table_examples()
    sparse = GapSparse(threshold=1, threshold_scale=2, query_scale=4, positives=2)
    for update in ("multiplicative", "frieze-kannan"):
        yield Example(IterativeConstruction(attributes=people, total=_ONE, sparse=sparse, update=update), talk, moved)
    median = IterativeConstruction(attributes=people, total=_ONE, sparse=sparse, update=MEDIAN, records=3)
    yield Example(median, talk, moved)


@register(
    examples=_cold_examples,
    source="A Multiplicative Weights Mechanism for Privacy-Preserving Data Analysis (Hardt, Rothblum 2010), section 4; "
    "Interactive Privacy via the Median Mechanism (Roth, Roughgarden 2010); Iterative Constructions and Private Data "
    "Release (Gupta, Roth, Ullman 2012), sections 3 and 4; Differential "
    "Privacy and Applications (Zhu et al. 2017), section 4.1.4",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class IterativeConstruction(Constructed):
    """Answer counting questions from a table that starts without knowledge and learns from each gross error.

    With the multiplicative update this is private multiplicative weights; with the median, the median mechanism.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``total`` and ``sparse`` lose at ``d_in``, added up;
    whatever is asked, and however many questions there are.

    Args:
        attributes: names and sizes, with at most 2^20 cells; public.
        sparse: what compares the model with the data; after its last positive answer nothing is compared.
        total: the noise of the number of rows.
        update: what is learned from a measured answer: that of a table, or "median" for tiny tables.
        records: for the median, how many records the databases have of which it is taken.

    >>> from dither.privacy import PureDP
    >>> people = Attributes.of({"sex": 2, "age": 80})
    >>> IterativeConstruction.calibrated(PureDP(1), attributes=people, corrections=20).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "iterative-construction"
    version: ClassVar[int] = 3
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how soon a table has learned enough depends on the data and the questions"
    no_interval_because: ClassVar[str] = "after the last correction nothing is compared"

    total: OneCount = OneCount()
    update: OneOf = OneOf(*UPDATES, MEDIAN)
    records: Whole = Whole(1, least=1, most=64)

    def __post_init__(self) -> None:
        check_table(self.attributes, ())
        if self.update == MEDIAN and databases(self.attributes.cells, self.records) > MOST_DATABASES:
            rule = f"so few that there are at most {MOST_DATABASES} databases over {self.attributes.cells} cells"
            raise InvalidParameter("records", self.records, rule)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        update: str = "multiplicative",
        corrections: int = 20,
        questions: int = 1000,
        share: Number = "1/20",
        records: int = 1,
    ) -> Self:
        """Return the method that spends ``within`` on tables 1 apart.

        Args:
            within: the loss not to exceed.
            attributes: names and sizes.
            update: what the table learns from a measured answer.
            corrections: how many gross errors are measured.
            questions: about how many will be asked.
            share: of the loss that the number of rows has.
            records: for the median, how many records the databases have of which it is taken.

        """
        purse = Purse.within(within)
        part = probability("share", share, open_below=True)
        if part >= 1:
            raise InvalidParameter("share", share, "below 1: comparisons need something, too")
        made = cls(
            attributes=attributes,
            total=purse.share(part).noise(),
            sparse=comparing(purse.share(1 - part).loss, corrections, questions),
            update=update,
            records=records,
        )
        if not made.loss(1) <= within:
            raise NoGuarantee(f"the conversation would lose {made.loss(1)}, which is not within {within}")
        return made

    @property
    def sets(self) -> tuple[Axes, ...]:
        """The number of rows alone."""
        return ((),)

    @property
    def parts(self) -> tuple[CountNoise, ...]:
        """Its noise."""
        return (self.total,)

    def learner(self, table: Floats) -> Learner:
        """Return the table with its update, or all small databases."""
        if self.update == MEDIAN:
            return MedianLearner(self.attributes.sizes, self.records, float(table.sum()))
        return TableLearner(table, str(self.update))
