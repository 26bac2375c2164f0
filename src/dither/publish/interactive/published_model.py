"""Model publishing: noisy answers to some queries train a regressor, which answers the others.

For readers who will ask queries like some that are known. All training answers are measured together, with noise for
how far one row moves them together; what is learned from them answers any number of queries at no further cost. There
for reference: a strategy for the workload (``publish.workloads``) errs less where the queries are known. Cost: solving
as many equations as there are training queries.

Corrections: noise is calibrated to the whole training set at once and not query by query; settings are tuned on noisy
answers, never on true ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, Shape, positive, sqrt_up
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, Loss, Metric, Plan, Use
from dither.publish.histograms.common import check_cells, counts_of, neighbours
from dither.publish.interactive.query_model import REGRESSORS, RIDGE, TREE, QueryModel, fitted
from dither.publish.synthetic.cell_queries import MOST_COUNT

_LARGEST_WEIGHT: Final = 2**20
_MOST_WEIGHTS: Final = 2**24
_MOST_QUERIES: Final = 2**11


def _examples() -> Iterator[Example]:
    queries = PublicArray([[1, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]])
    here = np.array([4, 0, 7])
    yield Example(PublishedModel(shape=3, queries=queries, node=Geometric(scale=3)), here, neighbours((3,)))
    tree = PublishedModel(shape=3, queries=queries, node=DiscreteGaussian(sigma=3), regressor=TREE)
    yield Example(tree, here, neighbours((3,)))


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 15.7",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PublishedModel(Composed[Any, QueryModel]):
    """Measure the answers to some queries together, and publish a regressor that answers others.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``node`` loses at ``d_in`` times the longest column of
    the table of queries: in L1 for geometric noise, in L2 for Gaussian noise.

    Args:
        shape: the cells along each axis; public.
        queries: the training queries: a row for each, a whole weight for each cell; public.
        node: the noise of an answer.
        regressor: "ridge" or "tree".

    >>> from dither.privacy import PureDP
    >>> halves = PublicArray([[1, 1, 0, 0], [0, 0, 1, 1]])
    >>> PublishedModel.calibrated(PureDP(1), shape=4, queries=halves, sensitivity=1).node.scale
    Fraction(1, 1)

    """

    name: ClassVar[str] = "published-model"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well a regressor answers other queries depends on the data"
    no_interval_because: ClassVar[str] = no_error_because

    shape: Shape = Shape()
    queries: PublicArray
    node: OneCount = OneCount()
    regressor: OneOf = OneOf(*REGRESSORS, default=RIDGE)

    def __post_init__(self) -> None:
        check_cells(self.shape)
        cells = int(np.prod(self.shape))
        if not isinstance(self.queries, PublicArray):
            raise InvalidParameter("queries", type(self.queries).__name__, "a PublicArray")
        table = self.queries.values
        if table.ndim != 2 or table.shape[1] != cells or table.dtype.kind not in "biu":
            raise InvalidParameter(
                "queries", f"{table.dtype} of shape {table.shape}", f"whole weights of {cells} cells"
            )
        if table.shape[0] > _MOST_QUERIES or table.size > _MOST_WEIGHTS:
            rule = f"at most {_MOST_QUERIES} queries, and {_MOST_WEIGHTS} weights in all"
            raise InvalidParameter("queries", f"{table.shape[0]} queries", rule)
        if table.min() < -_LARGEST_WEIGHT or table.max() > _LARGEST_WEIGHT:
            raise InvalidParameter(
                "queries", "a weight out of range", f"weights from {-_LARGEST_WEIGHT} to {_LARGEST_WEIGHT}"
            )

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        sensitivity: Number,
        shape: int | tuple[int, ...],
        queries: PublicArray,
        regressor: str = RIDGE,
    ) -> Self:
        """Return the model with the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise.
            sensitivity: how far the counts move in L1 per unit of data.
            shape: the cells along each axis.
            queries: the training queries.
            regressor: "ridge" or "tree".

        """
        purse, moved = Purse.within(within), positive("sensitivity", sensitivity)
        kind: CountNoise = Geometric(scale=1) if purse.is_pure else DiscreteGaussian(sigma=1)
        draft = cls(shape=shape, queries=queries, node=kind, regressor=regressor)
        return replace(draft, node=purse.noise(moved * draft.stability))

    @property
    def distance(self) -> Metric:
        """L1: adding or removing a row moves the counts by 1, replacing one by 2."""
        return L1

    @cached_property
    def answers(self) -> CountNoise:
        """The noise of all training answers."""
        return replace(self.node, shape=(len(self.queries.values),))

    @cached_property
    def stability(self) -> Fraction:
        """How far all answers together move when one count moves by 1: the longest column, and at least 1."""
        table = self.queries.values.astype(np.int64)
        if isinstance(self.node, Geometric):
            return Fraction(max(int(np.abs(table).sum(axis=0).max()), 1))
        return sqrt_up(Fraction(max(int(np.square(table).sum(axis=0).max()), 1)))

    def plan(self) -> Plan:
        """Return one draw for all answers."""
        return Use(self.answers, self.stability)

    def release(self, data: Any, run: Runner) -> QueryModel:
        """Return what was learned from the noisy answers."""
        table = self.queries.values.astype(np.int64)
        longest = max(int(np.abs(table).sum(axis=1).max()), 1)
        counts = counts_of(data, self.shape, most=LARGEST_VALUE // longest).ravel()
        drawn = run(self.answers, table @ counts, stability=self.stability)
        noisy = np.clip(np.asarray(drawn, dtype=np.float64), -MOST_COUNT, MOST_COUNT)
        return fitted(self.regressor, table.astype(np.float64), noisy)
