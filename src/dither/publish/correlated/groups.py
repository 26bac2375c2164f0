"""Declared groups: a release for rows, or people, of which up to ``size`` change together.

For families, classes and machines whose rows say much about one another. Cost: that of the release. Guarantee: data
sets that differ in one group of at most ``size`` units lose what the release loses for data sets ``size`` units apart,
which follows from its plan: noise for sums is ``size`` times as large as for one unit. Nothing is learned about which
rows belong together, and nothing needs to be declared about it but the size.

The printed account of the flu example, in which a family of ten is ill together and Laplace noise of scale 1 / epsilon
is added to the number of the ill, gives odds of e^(10 epsilon) for the answer 99. They are e^(8 epsilon): of 100 and 90
one is 1 and the other 9 away. The bound of e^(10 epsilon) is reached from 100 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.data.examples import SITES, clinic, some_visits, visit
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Of, Whole, exp_up
from dither.exact.enclosure import round_down
from dither.lift.cells import cells_of
from dither.lift.lifted import Lifted
from dither.lift.over_data import OverData
from dither.mechanisms import Geometric, Numerics, Runner, register
from dither.mechanisms.core.mechanism import Bound, Interval, NumericsOf
from dither.mechanisms.core.registry import Example
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Derived, Loss, Plan, PureDP, Unit, group_of
from dither.privacy.conversions import group_delta
from dither.privacy.distances import LARGEST_GROUP
from dither.privacy.losses import GaussianDP, states_rho


def _examples() -> Iterator[Example]:
    for unit, size in ((ROW, 3), (ROW_REPLACED, 2), (person_unit("person"), 2)):
        dataset, rows = clinic(unit), some_visits()

        def engine(more: Iterable[Any], dataset: Any = dataset, rows: Any = rows) -> ReferenceEngine:
            return ReferenceEngine(dataset, {"visits": [*rows, *more]})

        many = 4 if dataset.protects_persons else 1
        ill, well = (
            [visit(90 + member, site, cost=cost) for member in range(size) for _ in range(many)]
            for site, cost in zip(SITES, (10, 0), strict=True)
        )
        pairs = [(ill, well)] if dataset.is_replaced else [(ill, []), ([], well), (well[:many], [])]
        method = Lifted(source=cells_of(dataset, "visits", "site"), method=Geometric(shape=(2,), scale=8))
        neighbours = tuple((engine(here), engine(there), 1) for here, there in pairs)
        yield Example(Grouped(method=method, size=size), engine(()), neighbours)


@register(
    examples=_examples,
    source="The Algorithmic Foundations of Differential Privacy (Dwork and Roth 2014), theorem 2.2",
    made_for="Made for a release that is built within: each is tested alone.",
    wide="it hands all of its data to its method, which is widened separately",
)
@dataclass(frozen=True, kw_only=True)
class Grouped(OverData[Any]):
    """Make a release about data of which up to ``size`` units change together.

    Guarantee: data sets one group apart lose what ``method`` loses for data sets ``size`` of its units apart.

    Args:
        method: a release about rows or people.
        size: the most members of a group.

    >>> from dither.privacy import ROW
    >>> sites = Lifted(source=cells_of(clinic(ROW), "visits", "site"), method=Geometric(shape=(2,), scale=8))
    >>> families = Grouped(method=sites, size=4)
    >>> str(families.loss(1)), str(families.for_one)
    ('epsilon = 0.5', 'epsilon = 0.125')

    """

    name: ClassVar[str] = "grouped"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = NumericsOf("method")  # type: ignore[assignment]
    no_error_because: ClassVar[str] = "the method states none"
    no_interval_because: ClassVar[str] = no_error_because

    method: Of[OverData[Any]] = Of(OverData, rule="a release about rows or people of a data set")
    size: Whole = Whole(least=2, most=LARGEST_GROUP)

    def __post_init__(self) -> None:
        """Reject a release about anything but rows or people."""
        group_of(self._unit, self.size)

    @property
    def _unit(self) -> Unit:
        unit = self.method.distance
        if not isinstance(unit, Unit):
            raise InvalidParameter("method", self.method.name, "a release about rows or people of a data set")
        return unit

    @property
    def distance(self) -> Unit:
        """Groups of the method's own unit."""
        return group_of(self._unit, self.size)

    @property
    def for_one(self) -> Loss:
        """What the same release loses about one unit alone."""
        return self.method.loss(1)

    def aggregations(self) -> Iterable[Aggregation]:
        """Return the first aggregations of the method."""
        return self.method.aggregations()

    def check_public(self, data: Engine) -> None:
        """Reject, by public rows alone, what the method rejects."""
        self.method.check_public(data)

    def plan(self) -> Plan:
        """Use the method once."""
        return Derived(self.method, self.size)

    def error(self, confidence: Number) -> Bound | None:
        """Return the method's error bound."""
        return self.method.error(confidence)

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return the method's error bound."""
        return self.method.interval(out, confidence)

    def release(self, data: Engine, run: Runner) -> Any:
        """Return what the method makes of the data."""
        return run(self.method, data, stability=self.size)


def for_one(stated: Loss, size: int) -> Loss:
    """Return the loss for one unit with which a group of ``size`` units loses at most ``stated``.

    Args:
        stated: what the group may lose.
        size: the most members of a group.

    >>> str(for_one(PureDP(1), 10)), str(for_one(ZCDP(1), 10))
    ('epsilon = 0.1', 'rho = 0.01')

    """
    share = Fraction(1, size)
    if isinstance(stated, PureDP):
        return PureDP(stated.epsilon * share, rho=stated.rho * share**2 if states_rho(stated) else None)
    if isinstance(stated, GaussianDP):
        return GaussianDP(stated.rho * share**2)
    if isinstance(stated, ApproxDP) and not states_rho(stated):
        each = stated.epsilon * share
        if not stated.delta:
            return PureDP(each)
        # Never too large: the sum over members is bounded by its largest term, which is e^epsilon at most.
        delta = round_down(stated.delta / (size * exp_up(stated.epsilon)))
        grown = group_delta(each, Fraction(1, 2**64), size) * 2**64
        if grown < 2**64:
            delta = max(delta, round_down(stated.delta / grown))
        while group_delta(each, delta, size) > stated.delta:
            delta = round_down(delta * Fraction(1023, 1024))
        return ApproxDP(each, delta)
    if isinstance(stated, ZCDP) and not stated.delta:
        return ZCDP(stated.rho * share**2)
    raise NoGuarantee(f"a group loses no known multiple of {stated}: state epsilon, epsilon and delta, or rho")
