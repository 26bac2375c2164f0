"""Privelet: noise on the wavelet coefficients of a table of counts, so that ranges need only a few of them.

For large ordered domains and range queries of all lengths, one axis or several; categories have a tree of their own,
and short axes may stay as they are (Privelet+). Cost: linear in the cells, apart from nominal axes. Corrections: the
textbooks' reconstruction of a range has a sign error; the weights of the source are realised by whole coefficients with
noise of one scale, so that the release is exact; domains are padded to a power of two with cells that are known to be
empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Of, Shape, TupleOf, positive, probability, shape_of, sqrt_up
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, Loss, Metric, Plan, Use
from dither.publish.workloads.matrices import MOST_ENTRIES, Floats, Identity, Matrix
from dither.publish.workloads.mechanism import neighbours_of
from dither.publish.workloads.symmetric import KronSymmetric, Symmetric, along_axes
from dither.publish.workloads.tails import reach_of_unit, variance_of_noise
from dither.publish.workloads.trees import Haar, NominalTree
from dither.publish.workloads.workload import Workload


def _examples() -> Iterator[Example]:
    one = Privelet(shape=(3,), axes=(Haar(4),), noise=Geometric(scale=3))
    yield Example(one, np.array([5, 0, 2]), neighbours_of((3,)))
    two = Privelet(shape=(2, 3), axes=(Haar(2), NominalTree((1, 2))), noise=DiscreteGaussian(sigma=20))
    yield Example(two, np.array([[5, 0, 2], [1, 1, 9]]), neighbours_of((2, 3)))


@dataclass(frozen=True, eq=False)
class Cropped(Symmetric):
    """The first cells of a larger covariance."""

    inner: Symmetric
    cells: int

    @property
    def size(self) -> int:
        """The number of cells kept."""
        return self.cells

    def apply(self, x: Floats) -> Floats:
        """Return the product, with the other cells empty."""
        padded = np.concatenate([x, np.zeros((self.inner.size - self.cells, x.shape[1]))])
        return self.inner.apply(padded)[: self.cells]

    def diagonal(self) -> Floats:
        """Return the variances of the cells kept."""
        return self.inner.diagonal()[: self.cells]

    def range_variances(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats | None:
        """Return the inner variances: ranges do not reach the other cells."""
        return self.inner.range_variances(first, last)


@register(
    examples=_examples,
    source="Differential Privacy via Wavelet Transforms (Xiao, Wang, Gehrke 2010); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.1.2",
)
@dataclass(frozen=True, kw_only=True)
class Privelet(Composed[Any, Any]):
    """Release a table of counts from its noisy wavelet coefficients.

    Guarantee: tables ``d_in`` apart in L1 lose what ``noise`` loses at ``d_in`` times the product over axes of the
    largest column norm of the axis: 1 + log2(cells) for a Haar axis, in L1; its root, in L2.

    Args:
        shape: the shape of the table; public.
        axes: the transform of each axis: ``Haar`` on the next power of two, ``NominalTree`` or ``Identity``.
        noise: the noise of one coefficient.

    >>> from dither.privacy import PureDP
    >>> table = Privelet.calibrated(PureDP(1), sensitivity=1, shape=(1000,))
    >>> table.noise.scale, table.loss(1)
    (Fraction(11, 1), PureDP('1'))

    """

    name: ClassVar[str] = "privelet"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    shape: Shape = Shape()
    axes: TupleOf = TupleOf(Of(Matrix), rule="a transform for each axis")
    noise: OneCount = OneCount()

    def __post_init__(self) -> None:
        if not self.shape or math.prod(axis.cells for axis in self.axes) > MOST_ENTRIES:
            raise InvalidParameter("shape", self.shape, "one axis or more, with at most 2^26 cells after padding")
        fits = len(self.axes) == len(self.shape) and all(map(_fits, self.axes, self.shape))
        if not fits:
            raise InvalidParameter(
                "axes", self.axes, "for each axis Haar on the next power of two, NominalTree or Identity"
            )

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        sensitivity: Number,
        shape: int | Sequence[int],
        trees: Mapping[int, Any] | None = None,
        plain: Sequence[int] = (),
    ) -> Self:
        """Return the release with the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            sensitivity: how far the table moves in L1 per unit of data.
            shape: the shape of the table.
            trees: for axes of categories their trees, as ``NominalTree`` takes them.
            plain: axes that stay as they are: worth it for short ones.

        """
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        nominal = dict(trees or {})
        axes = tuple(
            NominalTree(nominal[place])
            if place in nominal
            else (Identity(size) if place in plain else Haar(_next_power(size)))
            for place, size in enumerate(shape_of("shape", sizes))
        )
        purse = Purse.within(within)
        # Any noise of the kind: how far coefficients move does not hang on its scale.
        draft = cls(shape=sizes, axes=axes, noise=Geometric(scale=1) if purse.is_pure else DiscreteGaussian(sigma=1))
        return replace(draft, noise=purse.noise(positive("sensitivity", sensitivity) * draft.stability))

    @property
    def distance(self) -> Metric:
        """L1 on counts."""
        return L1

    @property
    def part(self) -> CountNoise:
        """The noise for all coefficients."""
        return replace(self.noise, shape=(math.prod(axis.queries for axis in self.axes),))

    @property
    def stability(self) -> Fraction:
        """How far all coefficients move when one count moves by 1; norms multiply over axes."""
        power = 1 if isinstance(self.noise, Geometric) else 2
        norm = math.prod((axis.norm(power) for axis in self.axes), start=Fraction(1))
        return norm if power == 1 else sqrt_up(norm)

    def plan(self) -> Plan:
        """One draw for all coefficients."""
        return Use(self.part, self.stability)

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the estimated table."""
        limit = LARGEST_VALUE // math.ceil(math.prod((axis.row_bound for axis in self.axes), start=Fraction(1)))
        counts = np.clip(IntegerArray(self.shape).admit(data), -limit, limit).reshape(self.shape)
        noisy = run(self.part, self.transform(counts), stability=self.stability)
        return self.inverse(np.asarray(noisy))

    def transform(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return all coefficients of a table, flat."""
        pads = [(0, axis.cells - size) for axis, size in zip(self.axes, self.shape, strict=True)]
        steps = [(axis.cells, axis.queries, axis.times) for axis in self.axes]
        return along_axes(steps, np.pad(counts, pads).reshape(-1, 1))[:, 0]

    def inverse(self, coefficients: NDArray[Any]) -> Floats:
        """Return the table for these coefficients, by least squares if there are more coefficients than cells."""
        steps = [(axis.queries, axis.cells, axis.solve) for axis in self.axes]
        table = along_axes(steps, coefficients.astype(np.float64).reshape(-1, 1))
        table = table.reshape(tuple(axis.cells for axis in self.axes))
        return np.ascontiguousarray(table[tuple(slice(0, size) for size in self.shape)])

    @cached_property
    def covariance(self) -> Symmetric:
        """The covariance of the released counts for noise of variance 1."""
        parts = [
            axis.covariance() if axis.cells == size else Cropped(axis.covariance(), size)
            for axis, size in zip(self.axes, self.shape, strict=True)
        ]
        return parts[0] if len(parts) == 1 else KronSymmetric(tuple(parts))

    def variances(self, workload: Workload | None = None) -> Floats:
        """Return the exact variance of every released count, or of the answers to a workload computed from them."""
        noise = variance_of_noise(self.noise)
        if workload is None:
            return self.covariance.diagonal().reshape(self.shape) * noise
        return workload.matrix.variances(self.covariance) * noise

    def _reaches(self, confidence: Number) -> tuple[Fraction, Floats]:
        wanted = probability("confidence", confidence, open_below=True)
        factors = self.covariance.diagonal().reshape(self.shape)
        return wanted, np.sqrt(factors) * reach_of_unit(self.noise, share_of_failure(wanted, factors.size))

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every count."""
        wanted, reaches = self._reaches(confidence)
        return Bound(float(reaches.max()), wanted, "the largest absolute error of any count")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return intervals for all counts at once."""
        wanted, reaches = self._reaches(confidence)
        return Interval(out - reaches, out + reaches, wanted)


def _next_power(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _fits(axis: Matrix, size: int) -> bool:
    if isinstance(axis, Haar):
        return axis.cells == _next_power(size)
    return isinstance(axis, NominalTree | Identity) and axis.cells == size
