"""Instances of methods that are lifted to people or rows of a table, planned from the unit, its limits and the method.

How far one unit moves what is read follows from the limits on a person's rows. A lifted method is priced by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from dither.data.examples import clinic, neighbours_of, some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.lift.cells import Cells, cells_of
from dither.lift.lifted import Lifted
from dither.lift.margins import Margins
from dither.mechanisms import DiscreteGaussian, Example, Geometric
from dither.privacy import ROW, ROW_REPLACED, ZCDP, Loss, PureDP
from dither.publish.histograms.hierarchical import HierarchicalHistogram
from dither.publish.histograms.identity import IdentityHistogram
from dither.publish.lifting import lifted_marginals, lifted_sparse
from dither.publish.synthetic.independent import IndependentMarginals
from dither.testing.spaces import Axis, Space

_UNITS: Final = (ROW, ROW_REPLACED, person_unit("person"), person_unit("person", replaced=True))
#: Of one person: rows in all, groups, rows in one group.
_LIMITS: Final = ((3, 2, 2), (1, 1, 1), (4, 1, 3), (5, 3, 1), (6, 4, 4))
_LOSSES: Final = (PureDP(1), ZCDP("1/8"))
_COLUMNS: Final = (("cost",), ("site",), ("site", "age"), ("drug", "site"))


def _noise(loss: Loss, cells: Cells, *, is_gaussian: bool) -> Lifted:
    size, kind = cells.shape, DiscreteGaussian if is_gaussian else Geometric
    return Lifted.calibrated(loss, source=cells, build=lambda each: kind.calibrated(each, sensitivity=1, shape=size))


def _histogram(loss: Loss, cells: Cells) -> Lifted:
    return Lifted.calibrated(loss, source=cells, build=partial(IdentityHistogram.calibrated, shape=cells.shape))


def _tree(loss: Loss, cells: Cells) -> Lifted:
    size = math.prod(cells.shape)
    return Lifted.calibrated(
        loss, source=cells, build=partial(HierarchicalHistogram.calibrated, cells=size, branching=2)
    )


def _marginals(loss: Loss, cells: Cells) -> Lifted:
    names = cells.attributes.names
    return lifted_marginals(loss, cells, [list(names), [names[0]]])


def _independent(loss: Loss, cells: Cells) -> Lifted:
    build = partial(IndependentMarginals.calibrated, attributes=cells.attributes)
    return Lifted.calibrated(loss, source=Margins.of_pairs(cells), build=build)


_METHODS: Final[dict[str, Callable[[Loss, Cells], Lifted]]] = {
    "geometric": partial(_noise, is_gaussian=False),
    "gaussian": partial(_noise, is_gaussian=True),
    "histogram": _histogram,
    "tree": _tree,
    "marginals": _marginals,
    "sparse": lifted_sparse,
    "independent": _independent,
}


def _lifted() -> Space:
    axes = (
        Axis("unit", _UNITS),
        Axis("limits", _LIMITS),
        Axis("columns", _COLUMNS),
        Axis("method", tuple(_METHODS)),
        Axis("loss", _LOSSES),
        Axis("outside", ("ends", "drop")),
    )

    def make(start: int, values: dict[str, Any]) -> Example:
        dataset = clinic(values["unit"])
        if dataset.protects_persons:
            limits = dict(zip(("rows", "groups", "rows_per_group"), values["limits"], strict=True))
            dataset = replace(dataset, **limits)
        bins = {name: 3 for name in values["columns"] if name in ("cost", "age")}
        cells = cells_of(dataset, "visits", values["columns"], bins or None, outside=values["outside"])
        data = ReferenceEngine(dataset, {"visits": some_visits()})
        return Example(_METHODS[values["method"]](values["loss"], cells), data, neighbours_of(dataset))

    return Space("lifted", axes, ((0,) * len(axes),), make)


RULES: Final[dict[str, Callable[[], Space]]] = {"lifted": _lifted}
