"""Product first: measure pairs of columns, answer conjunctions of conditions on single columns, correct gross errors.

For many counting questions about columns that have too many cells together for a table. Most of the budget buys noisy
counts of all pairs of columns; a question about more columns is answered by a small table on these columns that has the
measured pairs. The rest buys comparisons and a few corrections. Cost: a pass over the rows for every question that is
compared; no table of all cells is written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.lift.attributes import Attributes, Axes
from dither.lift.records import counts_of
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, Metric
from dither.publish.interactive.construction import ModelTalk
from dither.publish.interactive.first_model import Estimate, FirstModel
from dither.publish.interactive.model_first import ModelFirst
from dither.publish.interactive.products import LocalModel, Product, asked_records, product_of
from dither.publish.interactive.updates import Mask

#: Columns of one conversation.
MOST_COLUMNS: Final = 32
#: Cells of all measured marginals together.
MOST_MEASURED: Final = 2**20
#: Of what is spent on marginals, the part of single columns.
_SINGLES: Final = Fraction(1, 4)


def _examples() -> Iterator[Example]:
    people = Attributes.of({"a": 2, "b": 2, "c": 3})
    first, last = np.array([True, False]), np.array([False, False, True])
    three = {"a": first, "b": first, "c": last}
    other = {"a": ~first, "b": first, "c": ~last}
    script: tuple[dict[str, Mask], ...] = ({"a": first}, three, {"b": ~first, "c": last}, {}, three, other)
    few = np.array([[0, 0, 2], [1, 0, 0], [1, 1, 2], [0, 1, 1]])
    many = np.tile([[0, 0, 2]], (40, 1))
    moved = tuple(
        (Dialogue(here, script), Dialogue(np.vstack([here, [row]]), script), 1)
        for here in (few, many, few[:0])
        for row in ([0, 0, 2], [1, 0, 1])
    )
    sparse = GapSparse(threshold=2, threshold_scale=2, query_scale=4, positives=2)
    pairs, one = (("a", "b"), ("a", "c"), ("b", "c")), Geometric(scale=1)
    yield Example(
        ProductFirst(attributes=people, marginals=pairs, noises=(one,) * 3, sparse=sparse),
        Dialogue(few, script),
        moved,
    )
    yield Example(
        ProductFirst(attributes=people, marginals=(("a",), ("b", "c")), noises=(one,) * 2, sparse=sparse),
        Dialogue(many, script),
        moved,
    )


@register(
    examples=_examples,
    source="A Multiplicative Weights Mechanism for Privacy-Preserving Data Analysis (Hardt, Rothblum 2010), section 4, "
    "for the comparison with a model; PriView: Practical Differentially Private Release of Marginal Contingency Tables "
    "(Qardaji, Yang, Li 2014), for the table of largest entropy on the columns of a question",
)
@dataclass(frozen=True, kw_only=True)
class ProductFirst(ModelFirst):
    """Measure pairs of columns first, answer conjunctions of conditions on single columns, and correct gross errors.

    Guarantee: data ``d_in`` records apart lose what all ``noises`` lose at ``d_in``, and what ``sparse`` loses at
    ``d_in``, added up; whatever is asked, and however many questions there are.

    Args:
        attributes: names and sizes of at most 32 columns, with any number of cells together; public.
        sparse: what compares the model with the data; after its last positive answer nothing is compared.
        marginals: what is measured first, of one or two columns each; public.
        noises: the noise of a cell of each marginal.

    >>> from dither.privacy import PureDP
    >>> wide = Attributes.of({f"column {number}": 8 for number in range(20)})
    >>> talk = ProductFirst.calibrated(PureDP(1), attributes=wide)
    >>> talk.loss(1) <= PureDP(1), len(talk.marginals), talk.sparse.positives
    (True, 210, 2)

    """

    name: ClassVar[str] = "product-first"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT

    @property
    def distance(self) -> Metric:
        """Records added and removed."""
        return RECORDS

    @classmethod
    def chosen(cls, attributes: Attributes) -> tuple[tuple[str, ...], ...]:
        """Return what to measure first: all pairs, and columns by themselves where there are several."""
        singles = attributes.every(1)
        return singles if len(singles) == 1 else (*singles, *attributes.every(2))

    @classmethod
    def weights(cls, attributes: Attributes, sets: Sequence[Axes]) -> list[int]:
        """Return the part of the model's share that each marginal has: a public part goes to single columns."""
        plain = super().weights(attributes, sets)
        alone = sum(weight for weight, axes in zip(plain, sets, strict=True) if len(axes) < 2)
        others = sum(plain) - alone
        if not alone or not others:
            return plain
        # Both parts add up to the same, times their shares.
        each = {True: others * _SINGLES, False: alone * (1 - _SINGLES)}
        return [max(1, round(weight * each[len(axes) < 2])) for weight, axes in zip(plain, sets, strict=True)]

    def check_size(self) -> None:
        """Reject what is too large, by public facts."""
        if len(self.attributes.names) > MOST_COLUMNS:
            raise InvalidParameter("attributes", f"{len(self.attributes.names)} columns", f"at most {MOST_COLUMNS}")
        if any(len(names) > 2 for names in self.marginals):
            raise InvalidParameter("marginals", self.marginals, "of one or two columns each")
        cells = sum(self.attributes.cells_of(axes) for axes in self.sets)
        if cells > MOST_MEASURED:
            rule = f"at most {MOST_MEASURED} cells together: take fewer columns, or wider bins"
            raise InvalidParameter("marginals", f"{cells} cells", rule)

    def open(self, data: Any, run: Runner) -> ModelTalk[Any]:
        """Return the conversation about an array of codes, a row for each record, or about records of another form."""
        return ProductTalk(self, data, run)


class ProductTalk(ModelTalk[Product]):
    """The conversation about records. A question is a mapping of names of columns to arrays of bools."""

    def _hold(self, data: Any) -> None:
        self._records = asked_records(self._made.attributes, data)

    def _marginal(self, axes: Axes) -> Any:
        counts = counts_of(self._records, axes)
        return counts if axes else int(counts)

    def _begin(self, model: FirstModel) -> None:
        self._local = LocalModel(self._made.attributes, model)

    def _checked(self, question: Any) -> tuple[bytes, Product]:
        product = product_of(self._made.attributes, question)
        return product.key, product

    def _truth(self, question: Product) -> int:
        return min(max(self._records.within(question), 0), LARGEST_VALUE)

    def _estimate(self, question: Product) -> Estimate | None:
        return self._local.estimate(question)

    def _expected(self, question: Product) -> float:
        return self._local.answer(question)

    def _learn(self, question: Product, measured: float) -> None:
        self._local.learn(question, measured)
