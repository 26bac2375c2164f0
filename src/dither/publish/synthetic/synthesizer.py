"""Synthesizers: from a declared table to a synthetic one, by any method of this room.

``plan_synthesis`` needs public facts alone and says what will be released and at what price; ``Synthesizer`` does it
for a data frame in memory. A curator's rows go through ``session.synthesize``, which charges the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from dither.data import Column, DataSet, Kind, Relation, Table
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value
from dither.errors import InvalidParameter, NotFitted
from dither.exact import Number
from dither.lift.attributes import Attributes
from dither.lift.cells import source_of
from dither.lift.lifted import Lifted
from dither.lift.margins import Margins
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.release import Budget, release
from dither.privacy import ROW, Loss, Unit, stated_loss, unit_of
from dither.publish.synthetic.aim import AdaptiveIterative
from dither.publish.synthetic.all_pairs import AllPairs
from dither.publish.synthetic.boosting import BoostedQueries
from dither.publish.synthetic.columns import Coding, attributes_of, codings_of
from dither.publish.synthetic.constraints import Constraint, Determined, check_constraints
from dither.publish.synthetic.copula import GaussianCopula
from dither.publish.synthetic.dual_query import DualQuery
from dither.publish.synthetic.found_bins import FoundBins, FoundModel
from dither.publish.synthetic.found_columns import (
    FOUND,
    FOUND_BINS,
    FoundMargins,
    found_grid,
    wide_columns,
    with_edges,
)
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.jtree import JunctionTreeSynthesis
from dither.publish.synthetic.models import Model
from dither.publish.synthetic.mst import MaximumSpanningTree
from dither.publish.synthetic.mwem import Mwem
from dither.publish.synthetic.mwem_graphical import GraphicalMwem
from dither.publish.synthetic.privbayes import PrivBayes
from dither.publish.synthetic.result import Rows, SyntheticTable
from dither.publish.synthetic.small_database import SmallDatabase

AUTO: Final = "auto"
_TABLE: Final = "rows"
#: In tables of more columns the rounds of a pure loss take minutes.
_WIDE: Final = 48

#: Every method by name; the last two are references for tiny universes.
METHODS: Final[Mapping[str, Any]] = {
    method.name: method
    for method in (
        AllPairs,
        AdaptiveIterative,
        MaximumSpanningTree,
        PrivBayes,
        JunctionTreeSynthesis,
        GraphicalMwem,
        Mwem,
        DualQuery,
        GaussianCopula,
        IndependentMarginals,
        SmallDatabase,
        BoostedQueries,
    )
}

#: Methods that merge values which are too rare to tell from noise: their cells may be fine.
MERGING: Final = frozenset(
    method.name for method in (AllPairs, AdaptiveIterative, MaximumSpanningTree, JunctionTreeSynthesis)
)


def chosen(method: str, loss: Loss, attributes: Attributes) -> str:
    """Return the name of the method to use; ``auto`` decides by public facts alone.

    One column has nothing to go with it. All pairs are best where noise may be Gaussian; without a delta noise on so
    many cells is too large, and pairs chosen one after the other are better, in wide tables a tree of them.
    """
    if method != AUTO and method not in METHODS:
        raise InvalidParameter("method", method, f"'{AUTO}' or one of {', '.join(METHODS)}")
    if method != AUTO:
        return method
    if len(attributes.names) == 1:
        return IndependentMarginals.name
    if not Purse.within(loss).is_pure:
        return AllPairs.name
    return AdaptiveIterative.name if len(attributes.names) <= _WIDE else MaximumSpanningTree.name


@dataclass(frozen=True)
class PlannedSynthesis:
    """A release that is priced but not yet made."""

    mechanism: Lifted
    codings: tuple[Coding, ...]
    columns: tuple[tuple[str, Kind], ...]
    constraints: tuple[Constraint, ...]
    method: str
    table: str

    def present(self, released: Model | FoundModel, receipt: str = "unledgered") -> SyntheticTable:
        """Return a released model with the meaning of its codes."""
        made, codings = self.mechanism, self.codings
        model = released.model if isinstance(released, FoundModel) else released
        if isinstance(released, FoundModel) and isinstance(made.source, FoundMargins):
            codings = with_edges(codings, made.source, released.starts)
        return SyntheticTable(
            self.table,
            model,
            codings,
            self.columns,
            self.constraints,
            self.method,
            made.loss(1),
            str(made.distance),
            receipt,
        )


def plan_synthesis(
    dataset: DataSet,
    table: str | Relation,
    loss: Loss,
    *,
    columns: Sequence[str] | None = None,
    method: str = AUTO,
    bins: Mapping[str, Any] | None = None,
    other: Mapping[str, Value] | None = None,
    constraints: Sequence[Constraint] = (),
    name: str | None = None,
) -> PlannedSynthesis:
    """Return the release of a model of a table whose loss is within ``loss``.

    Args:
        dataset: the schema.
        table: the name of a private table, or its rows, filtered.
        loss: what one unit of the data set may lose.
        columns: which columns; None for all except the privacy id.
        method: one of ``METHODS``, or "auto".
        bins: for numeric columns a number of cells, their edges, or "found": a twentieth of the loss then finds bins
            that follow the rows, as for integers and dates of more than 1,024 values about which nothing is said.
        other: for columns with categories, the label of rows whose value is not a category.
        constraints: public facts that every row keeps.
        name: of the table, where its rows are given.

    """
    # Every method of ``auto`` merges, but that for a single column.
    is_merged = method == AUTO or method in MERGING
    found, bins = _found(dataset, table, bins or {})
    _, everything = codings_of(dataset, table, columns, bins=bins, other=other, is_merged=is_merged)
    check_constraints(constraints, {coding.column: coding for coding in everything})
    if is_merged:
        found, bins = _wide(dataset, table, everything, found, bins, constraints)
    follows = {constraint.column for constraint in constraints if isinstance(constraint, Determined)}
    if unknown := follows - {coding.column for coding in everything}:
        raise InvalidParameter("constraints", sorted(unknown)[0], "on columns of the synthetic table")
    if fixed := found & follows:
        raise InvalidParameter("constraints", sorted(fixed)[0], "on columns whose bins are not found")
    measured = [coding.column for coding in everything if coding.column not in follows]
    kept_bins = {column: value for column, value in bins.items() if column in measured}
    kept_other = {column: value for column, value in (other or {}).items() if column in measured}
    cells, codings = codings_of(dataset, table, measured, bins=kept_bins, other=kept_other, is_merged=is_merged)
    attributes = attributes_of(codings)
    used = chosen(method, loss, attributes)

    def build(each: Loss) -> Any:
        return METHODS[used].calibrated(each, attributes=attributes)

    if found:
        source = FoundMargins(cells, tuple(sorted(found)))
        made = Lifted.calibrated(
            loss,
            source=source,
            build=lambda each: FoundBins.calibrated(each, attributes=source.attributes, build=build),
        )
    else:
        made = Lifted.calibrated(loss, source=Margins.of_pairs(cells), build=build)
    shown = tuple((coding.column, coding.kind) for coding in everything)
    label = table if isinstance(table, str) else (name or _TABLE)
    return PlannedSynthesis(made, codings, shown, tuple(constraints), used, label)


def _found(
    dataset: DataSet, table: str | Relation, bins: Mapping[str, Any]
) -> tuple[frozenset[str], Mapping[str, Any]]:
    """Return the columns whose bins are to be found, and bins with as many public ones in their place."""
    found = frozenset(column for column, wanted in bins.items() if isinstance(wanted, str) and wanted == FOUND)
    declared = source_of(dataset, table)[1]
    for column in sorted(found):
        found_grid(declared(column))
    return found, {column: FOUND_BINS if column in found else wanted for column, wanted in bins.items()}


def _wide(
    dataset: DataSet,
    table: str | Relation,
    codings: Sequence[Coding],
    found: frozenset[str],
    bins: Mapping[str, Any],
    constraints: Sequence[Constraint],
) -> tuple[frozenset[str], Mapping[str, Any]]:
    """Return with them the wide columns that nobody said anything about."""
    said = {*bins}
    for constraint in constraints:
        said |= {constraint.column, constraint.by} if isinstance(constraint, Determined) else {*constraint.columns}
    declared = source_of(dataset, table)[1]
    wide = wide_columns(declared(coding.column) for coding in codings if coding.column not in said)
    return found | set(wide), {**bins, **dict.fromkeys(wide, FOUND_BINS)}


class Synthesizer:
    """Learns a model of a data frame under differential privacy, and draws similar rows.

    Guarantee: what ``fit`` learns loses at most the stated loss for one row added or removed (or another unit).

    Args:
        columns: what is public about each column: kind, bounds or categories, nullable.
        method: one of ``METHODS``, or "auto".
        epsilon: what the model may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; with one, Gaussian noise makes errors smaller.
        rho: a loss in zero-concentrated differential privacy.
        loss: what the model may lose as a record, in place of these three.
        bins: for numeric columns a number of cells, their edges, or "found": a twentieth of the loss then finds bins
            that follow the rows, as for integers and dates of more than 1,024 values about which nothing is said.
        other: for columns with categories, the label of rows whose value is not a category.
        constraints: public facts that every row keeps: ``Impossible``, ``Determined``.
        unit: ROW or ROW_REPLACED, or "row", "row_replaced".

    >>> from dither.data import Column, Kind
    >>> people = [Column("sex", Kind.TEXT, categories=("f", "m")), Column("age", Kind.INTEGER, lower=0, upper=99)]
    >>> rows = [{"sex": "f", "age": 31}, {"sex": "m", "age": 40}] * 50
    >>> synthesizer = Synthesizer(people, epsilon=1).fit(rows)
    >>> print(synthesizer.loss)
    epsilon = 1
    >>> len(synthesizer.sample(10))
    10

    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        method: str = AUTO,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        loss: Loss | None = None,
        bins: Mapping[str, Any] | None = None,
        other: Mapping[str, Value] | None = None,
        constraints: Sequence[Constraint] = (),
        unit: Unit | str = ROW,
    ) -> None:
        self._dataset = DataSet("memory", (Table(_TABLE, tuple(columns), source=_TABLE),), unit_of(unit))
        stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
        self.planned = plan_synthesis(
            self._dataset, _TABLE, stated, method=method, bins=bins, other=other, constraints=constraints
        )
        self._fitted: SyntheticTable | None = None

    @property
    def loss(self) -> Loss:
        """The cost of each call of ``fit``."""
        return self.planned.mechanism.loss(1)

    @property
    def table(self) -> SyntheticTable:
        """The released table."""
        if self._fitted is None:
            raise NotFitted("fit")
        return self._fitted

    def fit(self, data: Any, *, budget: Budget | None = None) -> Self:
        """Learn from rows; every call is a release of its own.

        Args:
            data: a data frame (pandas, Polars, Arrow) or a list of rows.
            budget: what is charged before anything is drawn; by default a budget of exactly this release.

        """
        mechanism = self.planned.mechanism
        charged = Budget(loss=mechanism.loss(1), unit=mechanism.distance) if budget is None else budget
        engine = self._opened(data)
        try:
            engine.check()
            self._fitted = self.planned.present(release(mechanism, engine, budget=charged).value)
        finally:
            engine.close()
        return self

    def _opened(self, data: Any) -> Engine:
        if isinstance(data, list):
            from dither.data.reference import ReferenceEngine

            return ReferenceEngine(self._dataset, {_TABLE: data})
        from dither.data.engines import connect

        return connect(self._dataset, frames={_TABLE: data})

    def sample(self, rows: int | None = None) -> Rows:
        """Return drawn rows, by default the estimated number of them."""
        return self.table.sample(rows)

    def save(self, path: Path | str) -> Path:
        """Write the learned model to a file; ``SyntheticTable.load`` reads it."""
        return self.table.save(path)

    @staticmethod
    def load(path: Path | str) -> SyntheticTable:
        """Return what ``save`` wrote."""
        return SyntheticTable.load(path)
