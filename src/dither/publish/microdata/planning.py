"""From a declared table to an anonymized one: the release and its price, from public facts alone.

A curator's rows go through ``session.anonymize``, which charges the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dither.data import DataSet, Kind, Relation
from dither.data.expressions import Value
from dither.errors import InvalidParameter
from dither.lift.cells import source_of
from dither.lift.codes import Codes
from dither.lift.items import MOST_ITEMS, ItemTable
from dither.lift.lifted import Lifted
from dither.lift.margins import Margins
from dither.privacy import Loss
from dither.publish.microdata.anonymized import AnonymizedTable
from dither.publish.microdata.diffgen import DiffGen
from dither.publish.microdata.diffpart import DiffPart
from dither.publish.microdata.hierarchies import hierarchy_of, item_tree, ordered_values
from dither.publish.microdata.perturbed_table import PerturbedTable
from dither.publish.microdata.priv_fuzzy import PrivFuzzy
from dither.publish.microdata.taxonomy import Taxonomy
from dither.publish.microdata.terms import Terms, coded_cells
from dither.publish.synthetic.columns import Coding, attributes_of

#: Every method by name, and the options that only it takes.
METHODS: Final[Mapping[str, frozenset[str]]] = {
    "priv-fuzzy": frozenset({"terms", "groups", "bins", "other"}),
    "diffgen": frozenset({"target", "taxonomies", "steps", "terms", "bins", "other"}),
    "diffpart": frozenset({"taxonomies"}),
    "perturbed-rows": frozenset({"terms", "groups", "rows", "bins", "other"}),
}


@dataclass(frozen=True)
class Wishes:
    """Options of an anonymized table beyond its rows, method and loss.

    Args:
        target: for DiffGen, the column that groups should tell: the class.
        taxonomies: for DiffGen and DiffPart, trees over the declared values of columns, or of the items.
        steps: for DiffGen, how many specialisations there are, at most.
        terms: for numeric columns, labels that are spread evenly over the bounds, or a linguistic variable.
        groups: columns that belong together; public. If None, PrivFuzzy finds them, and pays for that.
        rows: for randomised rows, how many are published.
        bins: for numeric columns a number of cells, or their edges.
        other: for columns with categories, the label of rows whose value is not a category.

    """

    target: str | None = None
    taxonomies: Mapping[str, Taxonomy] = field(default_factory=dict)
    steps: int | None = None
    terms: Terms = field(default_factory=dict)
    groups: Sequence[Sequence[str]] | None = None
    rows: int | None = None
    bins: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Value] = field(default_factory=dict)

    def check(self, method: str) -> None:
        """Reject unknown methods, and options the method does not take."""
        if method not in METHODS:
            raise InvalidParameter("method", method, f"one of {', '.join(METHODS)}")
        for name in ("target", "taxonomies", "steps", "terms", "groups", "rows", "bins", "other"):
            value = getattr(self, name)
            if value is not None and value != {} and name not in METHODS[method]:
                raise InvalidParameter(name, value, f"not allowed for {method}")


@dataclass(frozen=True)
class PlannedTable:
    """A release that is priced but not yet made."""

    mechanism: Any
    codings: tuple[Coding, ...]
    columns: tuple[tuple[str, Kind], ...]
    method: str
    table: str

    @property
    def notes(self) -> tuple[str, ...]:
        """Facts known in advance, for people."""
        method = self.mechanism.method if hasattr(self.mechanism, "method") else None
        if isinstance(self.mechanism, PerturbedTable):
            part, groups = self.mechanism.part, self.mechanism.merged.groups
            said = "; ".join(
                f"{' + '.join(group)} is published unchanged with probability {part.truth(size):.3g}"
                for group, size in zip(groups, part.sizes, strict=True)
            )
            rows = f"{self.mechanism.rows} rows: others are omitted, missing ones made up"
            return (rows, f"of every row, {said}")
        if isinstance(method, DiffGen):
            return (f"at most {method.specialisations} of {method.candidates} specialisations",)
        if isinstance(method, PrivFuzzy):
            said = "found, and paid for" if method.groups is None else "public"
            return (f"groups of columns are {said}; what belongs to different groups is taken as independent",)
        return ("sets of items that few people have are not found",)

    def present(self, released: Any, receipt: str = "unledgered") -> AnonymizedTable:
        """Return what was released with the meaning of its codes."""
        rest = (self.mechanism.loss(1), str(self.mechanism.distance), self.notes, receipt)
        return AnonymizedTable(self.table, self.method, released, self.codings, self.columns, *rest)


def plan_anonymized(
    dataset: DataSet,
    table: str | Relation,
    loss: Loss,
    *,
    method: str,
    columns: Sequence[str] | None = None,
    wishes: Wishes | None = None,
    name: str | None = None,
) -> PlannedTable:
    """Return the release of an anonymized table whose loss is within ``loss``.

    Args:
        dataset: the schema.
        table: the name of a private table, or its rows, filtered.
        loss: what one unit of the data set may lose.
        method: one of ``METHODS``.
        columns: which columns; None for all except the privacy id. For DiffPart, the column of items.
        wishes: further options.
        name: of the table, where its rows are given.

    """
    asked = wishes or Wishes()
    asked.check(method)
    label = table if isinstance(table, str) else (name or "rows")
    if method == "diffpart":
        return _items(dataset, table, loss, columns, asked, label)
    if method == "diffgen":
        release, codings = _generalised(dataset, table, loss, columns, asked)
    else:
        cells, codings = coded_cells(dataset, table, columns, terms=asked.terms, bins=asked.bins, other=asked.other)
        if method == "priv-fuzzy":
            attributes, groups = attributes_of(codings), asked.groups
            release = Lifted.calibrated(
                loss,
                source=Margins.of_pairs(cells),
                build=lambda each: PrivFuzzy.calibrated(each, attributes=attributes, groups=groups),
            )
        else:
            if asked.rows is None:
                rule = "required for rows published at random: the number of published rows, from public knowledge"
                raise InvalidParameter("rows", None, rule)
            release = PerturbedTable.calibrated(loss, cells=cells, rows=asked.rows, groups=asked.groups or ())
    shown = tuple((coding.column, Kind.TEXT if method == "diffgen" else coding.kind) for coding in codings)
    return PlannedTable(release, codings, shown, method, label)


def _generalised(
    dataset: DataSet, table: str | Relation, loss: Loss, columns: Sequence[str] | None, asked: Wishes
) -> tuple[Any, tuple[Coding, ...]]:
    if asked.target is None:
        raise InvalidParameter("target", None, "required for diffgen: the column that groups should predict")
    _, declared = source_of(dataset, table)
    bins = dict(asked.bins)
    for column, tree in asked.taxonomies.items():
        if column in bins or column == asked.target:
            raise InvalidParameter("taxonomies", column, "for columns without bins, and not for the target")
        bins[column] = ordered_values(declared(column), tree)
    cells, codings = coded_cells(dataset, table, columns, terms=asked.terms, bins=bins, other=asked.other)
    if asked.target not in cells.names or len(cells.names) < 2:
        raise InvalidParameter("target", asked.target, f"one of {', '.join(cells.names)}, and not the only one")
    if odd := [name for name in asked.taxonomies if name in asked.other]:
        raise InvalidParameter("other", odd[0], "for columns without a taxonomy, whose leaves are all values")
    trees = [
        hierarchy_of(coding, asked.taxonomies.get(coding.column)) for coding in codings if coding.column != asked.target
    ]
    steps = {} if asked.steps is None else {"specialisations": asked.steps}

    def build(each: Loss) -> Any:
        common = {"attributes": attributes_of(codings), "trees": trees, "class_attribute": asked.target}
        return DiffGen.calibrated(each, **common, **steps)  # type: ignore[arg-type]

    return Lifted.calibrated(loss, source=Codes(cells), build=build), codings


def _items(
    dataset: DataSet,
    table: str | Relation,
    loss: Loss,
    columns: Sequence[str] | None,
    asked: Wishes,
    label: str,
) -> PlannedTable:
    relation, declared = source_of(dataset, table)
    persons = dataset.identifying
    names = tuple(name for name in relation.columns if name not in persons) if columns is None else tuple(columns)
    if len(names) != 1:
        rule = "one column, that of the items: a person's values of it are one set"
        raise InvalidParameter("columns", names, rule)
    item = names[0]
    if odd := [name for name in asked.taxonomies if name != item]:
        raise InvalidParameter("taxonomies", odd, f"for {item}, the column of the items")
    tree = asked.taxonomies.get(item)
    column = declared(item)
    values = column.public_values
    if values is None or len(values) > MOST_ITEMS:
        found = "none declared" if values is None else f"{len(values)} values"
        raise InvalidParameter(f"categories of {item}", found, f"declared, at most {MOST_ITEMS} items")
    bins: dict[str, Any] = {} if tree is None else {item: ordered_values(column, tree)}
    if tree is None and column.categories is None and column.kind in (Kind.INTEGER, Kind.DATE):
        # One item for each value, however many there are.
        bins[item] = len(values) - int(column.nullable)
    cells, codings = coded_cells(dataset, table, (item,), bins=bins)
    source = ItemTable(cells.dataset, cells.relation, cells.axes[0])
    taxonomy = item_tree(codings[0], tree)
    release = Lifted.calibrated(loss, source=source, build=lambda each: DiffPart.calibrated(each, taxonomy=taxonomy))
    scanned = dataset.table(_scanned(relation))
    holding = (scanned, *dataset.owners(scanned))[-1]  # the table with the privacy id, under whose name sets are shown
    person = holding.person or ""
    kinds = ((person, holding.column(person).kind), (item, column.kind))
    return PlannedTable(release, codings, kinds, "diffpart", label)


def _scanned(relation: Relation) -> str:
    """Return the name of the table that holds these rows."""
    below: Any = relation
    while not hasattr(below, "table"):
        below = below.relation
    return str(below.table.name)
