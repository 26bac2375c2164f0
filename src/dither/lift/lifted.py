"""Lifted: turn a method on values into a mechanism on a data set.

For histograms, workloads, marginals, synthetic tables and models of a curator's data set. Cost: what the source asks of
the engine, then what the method costs. Guarantee: that of the method, at the distance that one unit of the data set
moves what is read, which the source proves from the declared limits. Nothing but the method sees what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.data.examples import clinic, neighbours_of, some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import NoGuarantee
from dither.exact import Number, Of, non_negative
from dither.lift.cells import cells_of
from dither.lift.over_data import OverData
from dither.lift.source import Source
from dither.mechanisms import DiscreteGaussian, Geometric, Numerics, Runner, register
from dither.mechanisms.core.mechanism import Bound, Composed, Interval, NumericsOf, Primitive
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example
from dither.privacy import ROW_REPLACED, Derived, Loss, Plan, Unit

AnySource = Source[Any]
AnyMethod = Primitive[Any, Any] | Composed[Any, Any]


def _examples() -> Iterator[Example]:
    persons, rows = clinic(person_unit("person")), clinic(ROW_REPLACED)
    for cells, method in (
        (cells_of(persons, "visits", "cost", 3), Geometric(shape=(3,), scale=8)),
        (cells_of(rows, "visits", ("site", "age"), {"age": 2}), DiscreteGaussian(shape=(2, 2), sigma=4)),
    ):
        yield example_of(cells, method)


def example_of(source: AnySource, method: AnyMethod) -> Example:
    """Return a method lifted to a source over a clinic's visits, with neighbours, for checks."""
    data = ReferenceEngine(source.dataset, {"visits": some_visits()})
    return Example(Lifted(source=source, method=method), data, neighbours_of(source.dataset))


@register(
    examples=_examples,
    source="Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section 3, for the limits",
    made_for="Made for a method that is built within: each is tested alone.",
)
@dataclass(frozen=True, kw_only=True)
class Lifted(OverData[Any]):
    """Read a declared source of a data set, and release the method's result for it.

    Guarantee: data sets one unit apart lose what ``method`` loses at the distance by which one unit moves what
    ``source`` reads.

    Args:
        source: what is read; public.
        method: a mechanism on what is read.

    >>> from dither.data.examples import clinic
    >>> from dither.privacy import PureDP, ROW
    >>> sites = cells_of(clinic(ROW), "visits", "site")
    >>> build = lambda loss: Geometric.calibrated(loss, sensitivity=1, shape=2)
    >>> Lifted.calibrated(PureDP(1), source=sites, build=build).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "lifted"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = NumericsOf("method")  # type: ignore[assignment]
    no_error_because: ClassVar[str] = "the method states none"
    no_interval_because: ClassVar[str] = no_error_because

    source: Of[AnySource] = Of(Source)
    method: Of[AnyMethod] = Of(Primitive, Composed, rule="a primitive or a composed mechanism")

    def __post_init__(self) -> None:
        """Reject a method for another source."""
        self.source.check(self.method)

    @classmethod
    def calibrated(cls, within: Loss, *, source: AnySource, build: Callable[[Loss], Any]) -> Self:
        """Return the release of ``source`` by ``build(loss)`` within a loss for one unit of the data set.

        Args:
            within: the most that one unit may lose.
            source: what is read.
            build: makes a method within a loss for inputs 1 apart.

        """
        purse, moves = Purse.within(within), source.moves()
        first = next(iter(moves))
        method = build(purse.per(moves[first]).loss)
        if method.distance in moves and moves[method.distance] != moves[first]:
            method = build(purse.per(moves[method.distance]).loss)
        made = cls(source=source, method=method)
        if not made.loss(1) <= within:
            raise NoGuarantee(f"the release would lose {made.loss(1)}, which is not within {within}")
        return made

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.source.dataset.unit

    @property
    def stability(self) -> Fraction:
        """How far one unit moves what is read, in the method's distance."""
        return self.source.moved(self.method)

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the engine's first aggregations."""
        return self.source.aggregations_for(self.method)

    def plan(self) -> Plan:
        """Use the method once."""
        return Derived(self.method, self.stability)

    def loss_of(self, out: Any, d_in: Number = 1) -> Loss:
        """Return what the method loses with this very output."""
        return self.method.loss_of(out, non_negative("d_in", d_in) * self.stability)

    def error(self, confidence: Number) -> Bound | None:
        """Return the method's error bound."""
        return self.method.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return the method's error bound."""
        return self.method.interval(out, confidence)

    def release(self, data: Engine, run: Runner) -> Any:
        """Return the method's result for what was read."""
        return run(self.method, self.source.read_for(data, self.method), stability=self.stability)
