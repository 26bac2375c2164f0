"""Publishing methods over a data set: how they are lifted, and examples of each source for all checks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from dither.data.examples import clinic, neighbours_of, some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.exact import Number
from dither.lift.cells import Cells, SparseCells, cells_of
from dither.lift.codes import Codes
from dither.lift.items import ItemTable
from dither.lift.lifted import Lifted
from dither.lift.margins import Margins
from dither.mechanisms.core.registry import Example, add_examples
from dither.privacy import ROW, ROW_EXCHANGED, ROW_REPLACED, ZCDP, Loss, PureDP
from dither.publish.histograms.hierarchical import HierarchicalHistogram
from dither.publish.histograms.sparse_filter import SparseHistogram
from dither.publish.marginals.best import best_method


def lifted_marginals(within: Loss, cells: Cells, marginals: Sequence[Sequence[str]]) -> Lifted:
    """Return the release of marginals of private rows, whose columns may have any number of cells together.

    Args:
        within: the most that one unit of the data set may lose.
        cells: the rows, and the cells of each column.
        marginals: the columns of each marginal.

    """
    # Exchanging rows costs less than taking one away and bringing another, where both are counted in the same draw.
    unit = ROW_EXCHANGED if cells.dataset.is_replaced else ROW
    attributes = cells.attributes
    drafted = best_method(within, attributes, marginals, unit)
    source = Margins(cells, tuple(dict.fromkeys(drafted.counted)))
    return Lifted.calibrated(within, source=source, build=lambda each: best_method(each, attributes, marginals, unit))


def lifted_sparse(within: Loss, cells: Cells, *, false_cells: Number = 1) -> Lifted:
    """Return the release of the cells of a huge table that appear not to be empty.

    Args:
        within: the most that one unit of the data set may lose.
        cells: the rows, and the cells of each column; at most 2^50 of them.
        false_cells: the mean number of empty cells that may pass.

    """
    size = math.prod(cells.shape)
    return Lifted.calibrated(
        within,
        source=SparseCells(cells),
        build=lambda each: SparseHistogram.calibrated(each, cells=size, false_cells=false_cells),
    )


def _examples() -> Iterator[Example]:
    from dither.publish.microdata.diffgen import DiffGen
    from dither.publish.microdata.diffpart import DiffPart
    from dither.publish.microdata.taxonomy import OrderedCells, Taxonomy
    from dither.publish.synthetic.columns import codings_of
    from dither.publish.synthetic.independent import IndependentMarginals

    person, swapped = person_unit("person"), person_unit("person", replaced=True)

    def over_visits(lifted: Lifted) -> Example:
        data = ReferenceEngine(lifted.source.dataset, {"visits": some_visits()})
        return Example(lifted, data, neighbours_of(lifted.source.dataset))

    costs = cells_of(clinic(person), "visits", "cost", 3)
    tree = partial(HierarchicalHistogram.calibrated, cells=3, branching=2)
    yield over_visits(Lifted.calibrated(PureDP(1), source=costs, build=tree))
    for unit, loss in ((person, ZCDP("1/8")), (ROW_REPLACED, PureDP(1)), (swapped, ZCDP("1/8"))):
        cells = cells_of(clinic(unit), "visits", ("site", "age"), {"age": 2})
        yield over_visits(lifted_marginals(loss, cells, [["site", "age"], ["site"]]))
    for unit, columns, bins in ((person, ("site", "age"), {"age": 2}), (ROW_REPLACED, ("cost",), None)):
        cells = cells_of(clinic(unit), "visits", columns, bins)
        method = SparseHistogram(cells=math.prod(cells.shape), scale=2, threshold=5)
        yield over_visits(Lifted(source=SparseCells(cells), method=method))
    for unit, loss in ((person, PureDP(1)), (ROW_REPLACED, ZCDP("1/8"))):
        cells, _ = codings_of(clinic(unit), "visits", ("age", "site"), bins={"age": 3})
        columns_alone = partial(IndependentMarginals.calibrated, attributes=cells.attributes)
        yield over_visits(Lifted.calibrated(loss, source=Margins.of_pairs(cells), build=columns_alone))
        generalised = partial(
            DiffGen.calibrated,
            attributes=cells.attributes,
            trees=(OrderedCells((0, 1, 2, 3)),),
            class_attribute="site",
            specialisations=1,
        )
        yield over_visits(Lifted.calibrated(loss, source=Codes(cells), build=generalised))
    drugs, _ = codings_of(clinic(swapped), "visits", ("drug",))
    items, flat = ItemTable(drugs.dataset, drugs.relation, drugs.axes[0]), Taxonomy.flat(["a", "b", "c"])
    yield over_visits(Lifted.calibrated(PureDP(2), source=items, build=partial(DiffPart.calibrated, taxonomy=flat)))


add_examples(Lifted.name, _examples)
