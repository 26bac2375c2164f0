"""Synthetic tables: models of private rows that new rows are drawn from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dither.curator.offers.rows import named, rows_of
from dither.data import wire
from dither.data.schema import DataSet
from dither.exact import Number
from dither.lift.offer import Offer
from dither.lift.stored import check_length
from dither.privacy import Loss, stated_loss

if TYPE_CHECKING:
    from dither.publish.synthetic import Constraint, SyntheticFamilies, SyntheticTable


def synthesize(
    dataset: DataSet,
    table: str,
    columns: Sequence[str] | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    method: str = "auto",
    bins: Mapping[str, Any] | None = None,
    other: Mapping[str, Any] | None = None,
    constraints: Sequence[Constraint] = (),
    where: str | None = None,
    key: str | None = None,
) -> Offer[SyntheticTable]:
    """Offer a private model of a table, from which any number of synthetic rows can be drawn.

    Args:
        dataset: the schema.
        table: a private table.
        columns: which columns; all but the privacy id where None.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; with one, noise is Gaussian and
            errors are smaller.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: one of ``dither.publish.synthetic.METHODS``, or "auto".
        bins: for numeric columns a number of cells, their edges, or "found": a twentieth of the loss then finds bins
            that follow the rows, as for integers and dates of more than 1,024 values about which nothing is said.
        other: for columns with categories, the label of rows whose value is no category; such rows do not count
            otherwise.
        constraints: public facts that every row keeps: ``Impossible``, ``Determined``.
        where: a condition in SQL on the rows.
        key: the caller's name for this request; with the same key a retry returns the stored model at no cost.

    """
    from dither.publish.synthetic import SyntheticTable, plan_synthesis

    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
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

    return Offer("synthesis", f"synthetic {table}", planned.mechanism, asked, stated, present, read, key)


def synthesize_families(
    dataset: DataSet,
    parent: str,
    child: str,
    columns: Sequence[str] | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    method: str = "auto",
    bins: Mapping[str, Any] | None = None,
    other: Mapping[str, Any] | None = None,
    children: int | None = None,
    key: str | None = None,
) -> Offer[SyntheticFamilies]:
    """Offer a private model of two tables, from which any number of parents with their children can be drawn.

    Both tables have the same persons: a parent is a privacy id, and its children are the rows of the second table
    that have it. Columns are named by themselves, or as ``table.column`` where both tables have one of that name.

    Args:
        dataset: the schema.
        parent: the private table with one row for each privacy id.
        child: the private table with several.
        columns: which columns; all but the privacy ids where None.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; with one, noise is Gaussian and
            errors are smaller.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: one of ``dither.publish.synthetic.METHODS``, or "auto".
        bins: for numeric columns a number of cells, or their edges.
        other: for columns with categories, the label of rows whose value is no category.
        children: how many children of a parent count; as many as the limits of the data set leave where None.
        key: the caller's name for this request; with the same key a retry returns the stored model at no cost.

    """
    from dither.publish.synthetic import SyntheticFamilies, plan_families

    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
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

    return Offer("synthesis of families", said, planned.mechanism, asked, stated, present, read, key)
