"""Shared vectors: a vector with noise, sent whole or as few wavelet coefficients, to be multiplied with another's.

For a reader of inner products where neither side shows its vector: a server's counts and a client's keywords. There for
reference: on vectors of a few cells noise on both sides drowns the product. Cost: one pass over the cells.

Corrections: noise is discrete; the threshold is the mean of absolute coefficients, because that of signed ones is near
0 and leaves nothing out; what is left out is said, so that an interval can hold it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, Positive, Shape, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss, Metric, Plan, Use
from dither.publish.histograms.common import check_cells, neighbours
from dither.publish.histograms.identity import IdentityHistogram
from dither.publish.retrieval.haar import Floats, haar, padded_size
from dither.publish.retrieval.sent import SentVector

ALL, THRESHOLD, TOP = "all", "threshold", "top"


def _examples() -> Iterator[Example]:
    here = np.array([4, 0, 7])
    yield Example(SharedVector(shape=3, node=Geometric(scale=1)), here, neighbours((3,)))
    few = SharedVector(shape=3, node=Geometric(scale=1), sent=TOP, kept=2)
    yield Example(few, here, neighbours((3,)))
    for sampled in (0, 2):
        made = SharedVector(shape=(2, 2), node=DiscreteGaussian(sigma=2), sent=THRESHOLD, sampled=sampled)
        yield Example(made, np.array([[1, 2], [3, 4]]), neighbours((2, 2)))


@register(
    examples=_examples,
    source="the Kentucky thesis, sections 9.1 to 9.4",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class SharedVector(Composed[Any, SentVector]):
    """Add noise to every cell of a vector, and send it: all of it, or the larger of its wavelet coefficients.

    Guarantee: vectors ``d_in`` apart, in L1 for geometric noise and in L2 for Gaussian noise, lose what ``node`` loses
    at ``d_in``, whatever is sent of them.

    Args:
        shape: the cells along each axis; public.
        node: the noise of a cell.
        sent: "all" cells; wavelet coefficients above a "threshold"; or the "top" ones.
        kept: for "top", how many.
        factor: for "threshold", how many times the mean of absolute coefficients it is.
        sampled: for "threshold", of how many coefficients the mean is taken; 0 for all of them.

    >>> SharedVector(shape=1024, node=Geometric(scale=2), sent="top", kept=50).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "shared-vector"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the error of an inner product depends on both vectors"
    no_interval_because: ClassVar[str] = "an interval is that of a product with another's vector: inner_product has it"

    shape: Shape = Shape()
    node: OneCount = OneCount()
    sent: OneOf = OneOf(ALL, THRESHOLD, TOP, default=ALL)
    kept: Whole = Whole(1, least=1, most=2**32)
    factor: Positive = Positive(1)
    sampled: Whole = Whole(0, least=0, most=2**20)

    def __post_init__(self) -> None:
        check_cells(self.shape)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        shape: int | tuple[int, ...],
        sent: str = ALL,
        kept: int = 1,
        factor: Number = 1,
        sampled: int = 0,
    ) -> Self:
        """Return the least noise within ``within`` for vectors 1 apart; a pure target gives geometric noise.

        Args:
            within: the loss not to exceed.
            shape: the cells along each axis.
            sent: "all", "threshold" or "top".
            kept: for "top", how many coefficients.
            factor: for "threshold", how many times the mean it is.
            sampled: for "threshold", of how many coefficients the mean is taken; 0 for all of them.

        """
        node = Purse.within(within).noise()
        return cls(shape=shape, node=node, sent=sent, kept=kept, factor=factor, sampled=sampled)

    @property
    def noisy_cells(self) -> IdentityHistogram:
        """What adds the noise."""
        return IdentityHistogram(shape=self.shape, node=self.node)

    @property
    def distance(self) -> Metric:
        """L1 or L2, depending on the noise."""
        return self.noisy_cells.distance

    def plan(self) -> Plan:
        """Use the noisy cells once."""
        return Use(self.noisy_cells)

    def release(self, data: Any, run: Runner) -> SentVector:
        """Return what is sent of the noisy vector."""
        noisy = run(self.noisy_cells, data).ravel()
        if self.sent == ALL:
            return SentVector(len(noisy), None, noisy, 0.0, self.node)
        coefficients = haar(noisy)
        places = self._places(coefficients)
        left = np.delete(coefficients, places)
        return SentVector(len(noisy), places, coefficients[places], float(np.linalg.norm(left)), self.node)

    def _places(self, coefficients: Floats) -> NDArray[np.int64]:
        """Return the places of the coefficients that are sent, in order."""
        sizes = np.abs(coefficients)
        if self.sent == TOP:
            kept = min(int(self.kept), padded_size(int(np.prod(self.shape))))
            return np.sort(np.argsort(-sizes, kind="stable")[:kept])
        seen = sizes[sampled_places(coefficients, self.sampled)] if self.sampled else sizes
        return np.flatnonzero(sizes >= float(self.factor) * float(seen.mean()))


def sampled_places(coefficients: Floats, count: int) -> NDArray[np.int64]:
    """Return places at random, with repeats; the chance follows from the released numbers themselves."""
    bits = hashlib.shake_256(np.ascontiguousarray(coefficients).tobytes()).digest(8 * count)
    return (np.frombuffer(bits, dtype="<u8") % np.uint64(len(coefficients))).astype(np.int64)


def sample_size(largest: float, within: float, failure: float) -> int:
    """Return how many absolute coefficients to sample for a mean that is within a distance of theirs (Hoeffding).

    Args:
        largest: of the absolute coefficients, which the client computes of its own.
        within: how far the sampled mean may be off.
        failure: with which probability it may be farther off.

    >>> sample_size(40.0, 1.0, 0.05)
    2952

    """
    if not (0 < within < float("inf") and 0 < largest < float("inf") and 0 < failure < 1):
        raise InvalidParameter("within", within, "positive numbers, and a probability below 1")
    return int(np.ceil((largest / within) ** 2 / 2 * np.log(2 / failure)))
