"""Synthetic tables: models of private rows that new rows are drawn from, and how these compare with the real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dither.curator.request import Request
from dither.curator.verbs.door import Door, place_of
from dither.data import wire
from dither.data.engines import Engine
from dither.exact import Number
from dither.mechanisms import perform
from dither.privacy import stated_loss

if TYPE_CHECKING:
    from dither.publish.synthetic import Constraint, SyntheticFamilies, SyntheticTable
    from dither.publish.synthetic.quality import Quality


class SyntheticTables(Door):
    """Makes synthetic tables."""

    def synthesize(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: str = "auto",
        bins: Mapping[str, Any] | None = None,
        other: Mapping[str, Any] | None = None,
        constraints: Sequence[Constraint] = (),
        where: str | None = None,
        key: str | None = None,
    ) -> SyntheticTable:
        """Return a private model of a table, from which any number of synthetic rows can be drawn.

        Args:
            table: a private table.
            columns: which columns; all but the privacy id where None.
            epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability outside which the promise holds; with one, noise is Gaussian and errors are smaller.
            rho: a loss in zero-concentrated differential privacy.
            method: one of ``dither.publish.synthetic.METHODS``, or "auto".
            bins: for numeric columns a number of cells, or their edges.
            other: for columns with categories, the label of rows whose value is no category; such rows do not count
                otherwise.
            constraints: public facts that every row keeps: ``Impossible``, ``Determined``.
            where: a condition in SQL on the rows.
            key: the caller's name for this request; with the same key a retry returns the stored model at no cost.

        """
        from dither.publish.synthetic import SyntheticTable, plan_synthesis

        loss = stated_loss(epsilon=epsilon, delta=delta, rho=rho)
        source = self._source(table, where)
        planned = plan_synthesis(
            self.dataset,
            source,
            loss,
            columns=columns,
            method=method,
            bins=bins,
            other=other,
            constraints=constraints,
            name=table,
        )
        self._refuse_idealised(planned.release)
        asked = {
            "source": wire.encode(planned.release.source),
            "codings": [wire.encode(coding) for coding in planned.codings],
            "constraints": [wire.encode(constraint) for constraint in planned.constraints],
            "method": planned.method,
        }
        request = Request(self.dataset.name, "synthesis", asked, loss, f"synthetic {table}")

        def run(engine: Engine) -> bytes:
            return planned.present(perform(planned.release, engine)).to_json().encode()

        receipt = self._release_counts(request, planned.release, run, key)
        return replace(SyntheticTable.from_json(receipt.answer), receipt=place_of(receipt))

    def synthesize_families(
        self,
        parent: str,
        child: str,
        columns: Sequence[str] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: str = "auto",
        bins: Mapping[str, Any] | None = None,
        other: Mapping[str, Any] | None = None,
        children: int | None = None,
        key: str | None = None,
    ) -> SyntheticFamilies:
        """Return a private model of two tables, from which any number of parents with their children can be drawn.

        Both tables have the same persons: a parent is a privacy id, and its children are the rows of the second table
        that have it. Columns are named by themselves, or as ``table.column`` where both tables have one of that name.

        Args:
            parent: the private table with one row for each privacy id.
            child: the private table with several.
            columns: which columns; all but the privacy ids where None.
            epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability outside which the promise holds; with one, noise is Gaussian and errors are smaller.
            rho: a loss in zero-concentrated differential privacy.
            method: one of ``dither.publish.synthetic.METHODS``, or "auto".
            bins: for numeric columns a number of cells, or their edges.
            other: for columns with categories, the label of rows whose value is no category.
            children: how many children of a parent count; as many as the limits of the data set leave where None.
            key: the caller's name for this request; with the same key a retry returns the stored model at no cost.

        """
        from dither.publish.synthetic import SyntheticFamilies, plan_families

        loss = stated_loss(epsilon=epsilon, delta=delta, rho=rho)
        planned = plan_families(
            self.dataset,
            self._named(parent),
            self._named(child),
            loss,
            columns=columns,
            method=method,
            bins=bins,
            other=other,
            children=children,
        )
        self._refuse_idealised(planned.release)
        asked = {
            "parents": wire.encode(planned.release.parents),
            "children": wire.encode(planned.release.children),
            "most": planned.release.most,
            "tables": [planned.parents.to_json(), planned.children.to_json()],
            "method": planned.method,
        }
        said = f"synthetic {planned.parents.name} with {planned.children.name}"
        request = Request(self.dataset.name, "synthesis of families", asked, loss, said)

        def run(engine: Engine) -> bytes:
            return planned.present(perform(planned.release, engine)).to_json().encode()

        receipt = self._release_counts(request, planned.release, run, key)
        return replace(SyntheticFamilies.from_json(receipt.answer), receipt=place_of(receipt))

    def compare_synthetic(
        self, synthetic: SyntheticTable, *, where: str | None = None, target: str | None = None
    ) -> Quality:
        """Return how a synthetic table compares with the real rows. NOT PRIVATE: for the curator's eyes only.

        Nothing is charged because nothing here may be published. It reads rows without a mechanism, so it is refused
        to every analyst but the curator.

        Args:
            synthetic: what ``synthesize`` returned for a table of this data set.
            where: the condition on the rows that it was made with.
            target: the column that a classifier is trained to predict.

        """
        from dither.curator.comparing import compare

        self.check_owner("a comparison with real rows")
        source = self._source(synthetic.table, where)
        return compare(self.open(), self.dataset, source, synthetic, target=target)

    def compare_families(self, families: SyntheticFamilies) -> tuple[Quality, Quality]:
        """Return how both tables of synthetic families compare with real rows. NOT PRIVATE: for the curator alone."""
        from dither.curator.comparing import compare_families

        self.check_owner("a comparison with real rows")
        return compare_families(self.open(), self.dataset, families)
