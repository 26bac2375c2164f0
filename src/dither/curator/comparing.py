"""Real rows beside synthetic ones, for a curator who must judge a table before sharing it.

**Not private.** This is the one place that reads rows without a mechanism and without a charge: what it returns must
not leave the curator's machine. Every figure and every page that is made of it says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data import DataSet, Relation
from dither.data.engines.protocol import Engine
from dither.lift.cells import Cells
from dither.mechanisms import perform
from dither.publish.synthetic import SyntheticFamilies, SyntheticTable
from dither.publish.synthetic.columns import cells_for
from dither.publish.synthetic.counted_families import children_of, parents_of
from dither.publish.synthetic.models import Model
from dither.publish.synthetic.quality import Quality, compare_with_real
from dither.publish.synthetic.synthesizer import METHODS


def compare(
    engine: Engine,
    dataset: DataSet,
    table: str | Relation,
    synthetic: SyntheticTable,
    *,
    target: str | None = None,
) -> Quality:
    """Return the figures of a synthetic table against the rows that the engine holds."""
    return _compared(engine, cells_for(dataset, table, synthetic.codings), synthetic, target)


def compare_families(engine: Engine, dataset: DataSet, families: SyntheticFamilies) -> tuple[Quality, Quality]:
    """Return the figures of parents with the number of their children, and those of children with their parents."""
    parents, children = (
        cells_for(dataset, table.name, table.codings) for table in (families.parents, families.children)
    )
    above, below = families.views()
    most = above.codings[-1].size - 1
    return (
        _compared(engine, parents_of(parents, children, most), above, None),
        _compared(engine, children_of(parents, children, most), below, None),
    )


def _compared(engine: Engine, cells: Cells, synthetic: SyntheticTable, target: str | None) -> Quality:
    places, counts = cells.filled(engine.aggregate(cells.asked))
    real: NDArray[np.int64] = np.repeat(places, counts, axis=0)
    method = METHODS.get(synthetic.method)

    def refit(codes: NDArray[np.int64]) -> Model:
        again: Any = METHODS[synthetic.method].calibrated(synthetic.loss, attributes=synthetic.model.attributes)
        model: Model = perform(again, codes, stability=1)
        return model

    return compare_with_real(synthetic, real, target=target, refit=refit if method is not None else None)
