"""Gaussian copula: noisy margins, and noisy mean products of ranks that become correlations of normal variables.

For tables of numbers, coded in the order of their values, in which dependences are monotone: a few noisy numbers for
each pair of attributes however many values they have. Cost: a pass over the rows for each pair. Corrections: the
printed method releases Kendall's tau, whose sensitivity falls with the number of records, which is private when records
come and go; counted, one record moves it by as many as there are others. Here each value has a public score from the
margins that were released before, its rank between -1 and 1, and sums of products of two scores move by 1 per record.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.gaussian_copula import cell_coefficients, latent_correlation, nearest_correlations, pair_law
from dither.estimate.projections import non_negative_with_total
from dither.estimate.public_randomness import Generator, public_generator
from dither.estimate.rounding import largest_remainder
from dither.exact import Of, sqrt_up
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.lift.records import records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, Loss, Metric, Plan, Use
from dither.privacy.plans import InOrder
from dither.publish.histograms.common import Floats, variance_of
from dither.publish.synthetic.measuring import Seen, Survey, survey_noise
from dither.publish.synthetic.models import MOST_RECORDS, Model

#: Scores are integers from minus this to this.
GRID: Final = 64
_MOST_ATTRIBUTES: Final = 256
_DRAWN: Final = 2**18
_NEAR: Final = 1e-6


class CopulaModel(Model):
    """Margins, and the correlations of the normal variables that are cut into values.

    Args:
        attributes: names and sizes, the values of each in their order.
        total: the estimated number of records.
        laws: for each attribute the probabilities of its values.
        correlations: a symmetric matrix without negative eigenvalues.

    >>> pair = Attributes.of({"a": 2, "b": 2})
    >>> model = CopulaModel(pair, 12.0, [np.array([0.5, 0.5])] * 2, np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> model.table((0, 1)).round(3).tolist(), np.bincount(model.sample(12)[:, 0]).tolist()
    ([[4.0, 2.0], [2.0, 4.0]], [6, 6])

    """

    kind: ClassVar[str] = "gaussian-copula"

    def __init__(self, attributes: Attributes, total: float, laws: Sequence[Floats], correlations: Floats) -> None:
        width = len(attributes.sizes)
        for law, size in zip(laws, attributes.sizes, strict=True):
            if law.shape != (size,) or not (law >= 0).all() or not abs(float(law.sum()) - 1) <= _NEAR:
                raise InvalidParameter("laws", f"an array of shape {law.shape}", "probabilities that add up to 1")
        if correlations.shape != (width, width) or not np.isfinite(correlations).all():
            raise InvalidParameter(
                "correlations", f"an array of shape {correlations.shape}", f"{width} rows of {width}"
            )
        is_one = np.abs(np.diagonal(correlations) - 1).max() <= _NEAR and np.abs(correlations).max() <= 1 + _NEAR
        if not is_one or not np.array_equal(correlations, correlations.T):
            raise InvalidParameter("correlations", "a matrix", "symmetric, from -1 to 1, with ones on its diagonal")
        if float(np.linalg.eigvalsh(correlations)[0]) <= 0:
            raise InvalidParameter("correlations", "a matrix", "without negative eigenvalues")
        self.attributes, self.total = attributes, float(min(max(total, 0.0), MOST_RECORDS))
        self.laws, self.correlations = tuple(laws), correlations

    @cached_property
    def _drawn(self) -> NDArray[np.int64]:
        """Records, a row for each attribute, from which marginals on three or more attributes are taken."""
        return self.draw(_DRAWN, public_generator()).T

    def table(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes in estimated numbers of records.

        Up to two attributes it is computed; on more it is that of 2^18 drawn records.
        """
        if self.attributes.cells_of(axes) > MOST_CELLS:
            raise InvalidParameter("axes", self.attributes.named(axes), f"a marginal of at most {MOST_CELLS} cells")
        if not axes:
            return np.asarray(self.total)
        if len(axes) == 1:
            return np.asarray(self.laws[axes[0]] * self.total)
        if len(axes) == 2:
            first, second = (cell_coefficients(self.laws[axis]) for axis in axes)
            return np.asarray(pair_law(first, second, float(self.correlations[axes])) * self.total)
        return np.asarray(self.attributes.count(self._drawn, axes) * (self.total / _DRAWN))

    def draw(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return records whose margins equal the model's up to rounding: values follow the ranks of normal draws."""
        root = np.linalg.cholesky(self.correlations)
        normal = generator.standard_normal((rows, len(self.laws))) @ root.T
        drawn = np.empty((rows, len(self.laws)), dtype=np.int64)
        for axis, law in enumerate(self.laws):
            counts = largest_remainder(law / law.sum() * rows, rows)
            drawn[np.argsort(normal[:, axis]), axis] = np.repeat(np.arange(law.size), counts)
        return drawn

    def write(self) -> dict[str, Any]:
        """Return margins and correlations as plain JSON values."""
        return {"laws": [law.tolist() for law in self.laws], "correlations": self.correlations.tolist()}

    @classmethod
    def read(cls, attributes: Attributes, total: float, record: Mapping[str, Any]) -> Self:
        """Return the model that ``write`` wrote, or reject a damaged record."""
        laws, rows, rule = record.get("laws"), record.get("correlations"), "a list of numbers for each attribute"
        for lists, lengths in ((laws, attributes.sizes), (rows, (len(attributes.sizes),) * len(attributes.sizes))):
            if not isinstance(lists, list) or len(lists) != len(attributes.sizes):
                raise InvalidParameter("laws", "a record", rule)
            for numbers, length in zip(lists, lengths, strict=True):
                if not isinstance(numbers, list) or len(numbers) != length:
                    raise InvalidParameter("laws", "a record", rule)
                if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
                    raise InvalidParameter("laws", "a record", rule)
        return cls(
            attributes, total, [np.array(law, dtype=np.float64) for law in laws or ()], np.array(rows, dtype=float)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CopulaModel) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Coarse on purpose: it is for people, and an auditor tells outcomes apart by it.
        signs = "".join("+" if entry > 0 else "-" for entry in self.correlations[np.triu_indices(len(self.laws), 1)])
        return f"CopulaModel(of about {self.total:.0f} records, correlations {signs})"


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 3})
    rows = np.array([[0, 1], [1, 2], [5, -3]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    yield Example(
        GaussianCopula(attributes=table, single=DiscreteGaussian(sigma=2), product=DiscreteGaussian(sigma=2 * GRID**2)),
        rows,
        pairs,
    )
    yield Example(
        GaussianCopula(attributes=table, single=Geometric(scale=2), product=Geometric(scale=GRID**2)), rows, pairs
    )


@register(
    examples=_examples,
    source="Differentially Private Synthesization of Multi-Dimensional Data using Copula Functions (Li, Xiong, Jiang "
    "2014), section 4",
)
@dataclass(frozen=True, kw_only=True)
class GaussianCopula(Composed[Any, CopulaModel]):
    """Measure every margin and, for every pair of attributes, a sum of products of ranks; return a Gaussian copula.

    Guarantee: records ``d_in`` apart lose what ``single`` loses at ``d_in`` times the number of attributes, and what
    ``product`` loses at ``64^2 d_in`` times the number of pairs (geometric noise); with Gaussian noise the roots of
    these numbers.

    Args:
        attributes: names and sizes, the values of each in their order; public.
        single: the noise for a count of one attribute.
        product: the noise of a sum of products of scores, which are integers from -64 to 64.

    >>> from dither.privacy import PureDP
    >>> people = Attributes.of({"age": 100, "income": 50, "height": 30})
    >>> method = GaussianCopula.calibrated(PureDP(1), attributes=people)
    >>> method.single.scale, method.product.scale / GRID**2
    (Fraction(6, 1), Fraction(6, 1))

    """

    name: ClassVar[str] = "gaussian-copula"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = (
        "the difference of dependences from those of a Gaussian copula depends on the records"
    )
    no_interval_because: ClassVar[str] = "what goes beyond correlations has an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    single: OneCount = OneCount()
    product: OneCount = OneCount()

    def __post_init__(self) -> None:
        if len(self.attributes.names) > _MOST_ATTRIBUTES:
            raise InvalidParameter("attributes", len(self.attributes.names), f"at most {_MOST_ATTRIBUTES} attributes")

    @classmethod
    def calibrated(cls, within: Loss, *, attributes: Attributes) -> Self:
        """Return the method whose loss for records 1 apart is within ``within``: half margins, half correlations.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes, the values of each in their order.

        """
        width = len(attributes.names)
        pairs = width * (width - 1) // 2
        half = Purse.within(within) / (2 if pairs else 1)
        return cls(
            attributes=attributes,
            single=survey_noise(half, attributes),
            product=half.noise(*_moved(max(pairs, 1))),
        )

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def survey(self) -> Survey:
        """The measurement of all margins."""
        return Survey(self.attributes, self.single)

    @cached_property
    def pairs(self) -> tuple[Axes, ...]:
        """The pairs of attributes, by number."""
        return tuple(combinations(range(len(self.attributes.names)), 2))

    @property
    def products(self) -> CountNoise:
        """The noise for all sums of products."""
        return _shaped(self.product, len(self.pairs))

    @property
    def stability(self) -> Fraction:
        """How far all sums of products move together per record."""
        l1, l2 = _moved(len(self.pairs))
        return l1 if isinstance(self.product, Geometric) else l2

    def plan(self) -> Plan:
        """One draw for all margins, one for all pairs."""
        margins = Use(self.survey.part, self.survey.stability)
        return InOrder.of(margins, Use(self.products, self.stability)) if self.pairs else margins

    def release(self, data: Any, run: Runner) -> CopulaModel:
        """Return margins and correlations."""
        seen = Seen(records_of(self.attributes, data))
        noisy = list(self.survey.draw(seen, run).values())
        total = _total([one.values for one in noisy])
        laws = [_law(one.values) for one in noisy]
        found = np.eye(len(laws))
        if self.pairs:
            scores = [rank_scores(law) for law in laws]
            exact = np.array([product_sum(seen, axes, scores) for axes in self.pairs], dtype=np.int64)
            sums = np.asarray(run(self.products, exact, stability=self.stability), dtype=np.float64)
            parts = [cell_coefficients(law) @ score for law, score in zip(laws, scores, strict=True)]
            records = max(total, 1.0)
            noise = math.sqrt(variance_of(self.product)) / records
            for (first, second), wanted in zip(self.pairs, (sums / records).tolist(), strict=True):
                correlation = latent_correlation(parts[first], parts[second], wanted, noise)
                found[first, second] = found[second, first] = correlation
        return CopulaModel(self.attributes, total, laws, nearest_correlations(found))


def rank_scores(law: Floats) -> NDArray[np.int64]:
    """Return a public score for each value: its middle rank, from -64 for the lowest to 64 for the highest.

    >>> rank_scores(np.array([0.25, 0.5, 0.25])).tolist()
    [-48, 0, 48]

    """
    middle = np.cumsum(law) - law / 2
    return np.clip(np.rint(GRID * (2 * middle - 1)), -GRID, GRID).astype(np.int64)


def product_sum(seen: Seen, axes: Axes, scores: Sequence[NDArray[np.int64]]) -> int:
    """Return the sum over all records of the products of two scores. Private; a record moves it by at most 64^2."""
    counts = seen.count(axes)
    limit = LARGEST_VALUE // (GRID**2 * counts.size)
    return int(scores[axes[0]] @ np.minimum(counts, limit) @ scores[axes[1]])


def _law(noisy: Floats) -> Floats:
    """Return probabilities from noisy counts: those of the nearest non-negative counts."""
    kept = non_negative_with_total(noisy)
    total = float(kept.sum())
    return kept / total if total > 0 else np.full(noisy.size, 1 / noisy.size)


def _total(noisy: Sequence[Floats]) -> float:
    """Return the number of records from all margins; a sum's noise grows with its number of cells."""
    shares = np.array([1 / values.size for values in noisy])
    sums = np.array([float(values.sum()) for values in noisy])
    return float(max((shares * sums).sum() / shares.sum(), 0.0))


def _moved(pairs: int) -> tuple[Fraction, Fraction]:
    """Return how far a record moves the sums of products of that many pairs, in L1 and L2."""
    return GRID**2 * Fraction(pairs), GRID**2 * sqrt_up(Fraction(pairs))


def _shaped(node: CountNoise, entries: int) -> CountNoise:
    """Return the same noise for ``entries`` numbers."""
    if isinstance(node, Geometric):
        return Geometric(scale=node.scale, shape=(entries,))
    return DiscreteGaussian(sigma=node.sigma, shape=(entries,))
