"""Synthetic tables: models of private rows that new rows are drawn from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from dither.data import wire
from dither.data.schema import DataSet
from dither.lift.offer import Offer
from dither.lift.stored import check_length
from dither.lift.verb import Arg, Group, M, Terms, Typed, loss_of, verb
from dither.publish.queries.rows_named import named, rows_of
from dither.verbs.arguments import Bins, Columns, Labels, Method, TableName, Where

if TYPE_CHECKING:
    from dither.publish.synthetic import SyntheticFamilies, SyntheticTable


def _constraints(path: str, _: Typed) -> Any:
    from dither.publish.synthetic.constraint_files import read_constraints

    return read_constraints(path)


Constraints = Annotated[
    Sequence[Any],
    Arg(
        "public facts that every row keeps: a YAML file with the lists impossible and determined; in Python Impossible "
        "and Determined",
        read=_constraints,
        metavar="FILE",
        schema={},
    ),
]
Parent = Annotated[str, Arg("the private table with one row for each privacy id")]
Child = Annotated[str, Arg("the private table with several")]
Children = Annotated[
    int | None, Arg("how many children of a parent count; by default what the data set's limits allow")
]


class SyntheticTables(Group[M]):
    """Synthetic tables."""

    @verb(arguments=("table",), doing="learning")
    @staticmethod
    def synthesize(
        dataset: DataSet,
        table: TableName,
        columns: Columns = None,
        *,
        method: Method = "auto",
        bins: Bins = None,
        other: Labels = None,
        constraints: Constraints = (),
        where: Where = None,
        **terms: Unpack[Terms],
    ) -> Offer[SyntheticTable]:
        """Make a synthetic table that can be shared: its rows are drawn from a private model of the real ones.

        With a delta, noise is Gaussian and errors are smaller. The bins "found" spend a twentieth of the loss on bins
        that follow the rows, as for integers and dates of more than 1,024 values without stated bins.
        """
        from dither.publish.synthetic import SyntheticTable, plan_synthesis

        stated = loss_of(terms)
        planned = plan_synthesis(
            dataset,
            rows_of(dataset, table, where),
            stated,
            columns=columns,
            method=method,
            bins=bins,
            other=other,
            constraints=constraints,
            name=table,
        )
        asked = {
            "source": wire.encode(planned.mechanism.source),
            "codings": [wire.encode(coding) for coding in planned.codings],
            "constraints": [wire.encode(constraint) for constraint in planned.constraints],
            "method": planned.method,
        }
        check_length("columns", 1, len(json.dumps(asked)))

        def present(model: Any) -> bytes:
            return planned.present(model).to_json().encode()

        def read(stored: bytes, receipt: str) -> SyntheticTable:
            return replace(SyntheticTable.from_json(stored.decode()), receipt=receipt)

        return Offer("synthesis", f"synthetic {table}", planned.mechanism, asked, stated, present, read)

    @verb(doing="learning")
    @staticmethod
    def synthesize_families(
        dataset: DataSet,
        parent: Parent,
        child: Child,
        columns: Columns = None,
        *,
        method: Method = "auto",
        bins: Bins = None,
        other: Labels = None,
        children: Children = None,
        **terms: Unpack[Terms],
    ) -> Offer[SyntheticFamilies]:
        """Make a private model of two tables, from which any number of parents with their children can be drawn.

        Both tables have the same people: a parent is a privacy id, and its children are the rows of the second table
        that have it. A column is named alone, or as ``table.column`` where both tables have one of that name.
        """
        from dither.publish.synthetic import SyntheticFamilies, plan_families

        stated = loss_of(terms)
        planned = plan_families(
            dataset,
            named(parent),
            named(child),
            stated,
            columns=columns,
            method=method,
            bins=bins,
            other=other,
            children=children,
        )
        asked = {
            "parents": wire.encode(planned.mechanism.parents),
            "children": wire.encode(planned.mechanism.children),
            "most": planned.mechanism.most,
            "tables": [planned.parents.to_dict(), planned.children.to_dict()],
            "method": planned.method,
        }
        check_length("columns", 1, len(json.dumps(asked)))
        said = f"synthetic {planned.parents.name} with {planned.children.name}"

        def present(model: Any) -> bytes:
            return planned.present(model).to_json().encode()

        def read(stored: bytes, receipt: str) -> SyntheticFamilies:
            return replace(SyntheticFamilies.from_json(stored.decode()), receipt=receipt)

        return Offer("synthesis of families", said, planned.mechanism, asked, stated, present, read)
