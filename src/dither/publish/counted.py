"""Counted cells: private rows are counted by an engine, and a method of the catalogue publishes the counts.

For histograms, workloads and contingency tables of a curator's data set. Cost: one aggregation of the engine, then what
the method costs. Guarantee: that of the method, at the distance that one unit of the data set moves the counts, which
follows from the declared limits. Nothing but the method sees the counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.data.wire import decode, encode
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Field, Number
from dither.lift.cells import Cells, cells_of
from dither.mechanisms import DiscreteGaussian, Geometric, Numerics, Runner, register
from dither.mechanisms.core import Bound, Composed, Interval, Mechanism
from dither.mechanisms.registry import Example
from dither.mechanisms.spec import Codec, register_codec
from dither.privacy import L1, L2, ROW_REPLACED, ZCDP, ApproxDP, Loss, Plan, PureDP, Unit, Use, zcdp_rho
from dither.publish.histograms.hierarchical import HierarchicalHistogram
from dither.publish.histograms.identity import IdentityHistogram


def _read(record: Any) -> Cells:
    cells = decode(record)
    if not isinstance(cells, Cells):
        raise InvalidParameter("cells", type(cells).__name__, "Cells")
    return cells


register_codec("cells", Codec(Cells, encode, _read))


def _examples() -> Iterator[Example]:
    from dither.data.examples import clinic, neighbours_of, some_visits
    from dither.data.reference import ReferenceEngine
    from dither.data.schema import person_unit

    tree = HierarchicalHistogram(cells=3, branching=2, levels=(Geometric(scale=8), Geometric(scale=4)))
    plain = IdentityHistogram(shape=(2, 2), node=DiscreteGaussian(sigma=4))
    persons, rows = clinic(person_unit("person")), clinic(ROW_REPLACED)
    for cells, method in (
        (cells_of(persons, "visits", "cost", 3), tree),
        (cells_of(rows, "visits", ("site", "age"), {"age": 2}), plain),
    ):
        data = ReferenceEngine(cells.dataset, {"visits": some_visits()})
        yield Example(CountedCells(cells=cells, method=method), data, neighbours_of(cells.dataset))


class CellsField(Field[Cells, Cells]):
    """A table of counts."""

    def convert(self, name: str, value: Cells) -> Cells:
        """Return it."""
        if not isinstance(value, Cells):
            raise InvalidParameter(name, value, "Cells")
        return value


class _Method(Field[Any, Any]):
    """A mechanism whose data are counts."""

    def convert(self, name: str, value: Any) -> Any:
        if not isinstance(value, Mechanism) or value.distance not in (L1, L2):
            raise InvalidParameter(name, value, "a mechanism on counts, whose distance is L1 or L2")
        return value


@register(
    examples=_examples,
    source="Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section 3, for the limits",
)
@dataclass(frozen=True, kw_only=True)
class CountedCells(Composed[Engine, Any]):
    """Count the rows of every cell of a public table, and publish the counts by a method of the catalogue.

    Guarantee: data sets one unit apart lose what ``method`` loses at the distance by which one unit moves the counts.

    Args:
        cells: which rows, and into which cell each falls; public.
        method: a mechanism on counts.

    >>> from dither.data.examples import clinic
    >>> from dither.privacy import ROW
    >>> sites = cells_of(clinic(ROW), "visits", "site")
    >>> CountedCells(cells=sites, method=IdentityHistogram.calibrated(PureDP(1), shape=2)).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "counted-cells"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the method on the counts states none"
    no_interval_because: ClassVar[str] = no_error_because

    cells: CellsField = CellsField()
    method: _Method = _Method()

    def __post_init__(self) -> None:
        """Refuse what cannot be held."""
        self.cells.check_dense()

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.cells.dataset.unit

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the counts, in the distance of the method."""
        return stability_of(self.cells, self.method)

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return what the engine is asked for."""
        return (self.cells.asked,)

    def plan(self) -> Plan:
        """Use the method once."""
        return Use(self.method, self.stability)

    def error(self, confidence: Number) -> Bound | None:
        """Return what the method says."""
        found: Bound | None = self.method.error(confidence)
        return found

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return what the method says."""
        found: Interval | None = self.method.interval(out, confidence)
        return found

    def release(self, data: Engine, run: Runner) -> Any:
        """Return what the method makes of the counts; whatever an engine returns, nothing raises because of it."""
        counts = self.cells.table(data.aggregate(self.cells.asked))
        return run(self.method, counts, stability=self.stability)


def stability_of(cells: Cells, method: Any) -> Fraction:
    """Return how far one unit moves the counts, in the distance of a method."""
    moved = cells.sensitivity
    return moved.l1 if method.distance is L1 else moved.l2


def per_count(target: Loss, stability: Fraction) -> Loss:
    """Return the loss for counts 1 apart at which counts ``stability`` apart stay within ``target``.

    Losses of pure parts are in proportion to the distance, those in rho to its square.

    >>> per_count(PureDP(1), Fraction(2)), per_count(ZCDP("1/2"), Fraction(2))
    (PureDP('1/2'), ZCDP('1/8'))
    """
    if isinstance(target, ApproxDP):
        if target.delta == 0:
            return PureDP(target.epsilon / stability)
        return ZCDP(zcdp_rho(target.epsilon, target.delta) / stability**2)
    return PureDP(target.epsilon / stability) if isinstance(target, PureDP) else ZCDP(target.rho / stability**2)


def counted(cells: Cells, target: Loss, build: Any) -> CountedCells:
    """Return the release of ``cells`` by ``build(loss for counts 1 apart)`` within ``target``."""
    method = build(per_count(target, cells.sensitivity.l1))
    if method.distance is L2:
        method = build(per_count(target, cells.sensitivity.l2))
    release = CountedCells(cells=cells, method=method)
    if not release.loss(1) <= target:
        raise NoGuarantee(f"the release would lose {release.loss(1)}, which is not within {target}")
    return release
