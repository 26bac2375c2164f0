"""Perturbed tables: publish every row of a curator's table, with each merged group of columns randomised.

What the printed PrivFuzzy publishes, with its true cost, from rows that stay in an engine. How many rows are published
is stated in advance, from public knowledge: rows beyond that number are left out and missing ones are made up by public
rules, so that the number of rows tells nothing. Guarantee: a unit of k rows replaces k of the published rows at most,
whether units come, go or are replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Of, Positive, Whole
from dither.lift.cells import Cells
from dither.lift.over_data import OverData
from dither.mechanisms import Numerics, Runner, register
from dither.mechanisms.core.registry import Example
from dither.privacy import ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.calibration import check_loss, laplace_scale
from dither.publish.microdata.merged import MergedAttributes, merged_of
from dither.publish.microdata.priv_fuzzy import GroupNames
from dither.publish.microdata.row_response import MOST_ROWS, RowResponse

Codes = NDArray[np.int64]


def _examples() -> Iterator[Example]:
    from dither.data.examples import clinic, neighbours_of, some_visits
    from dither.data.reference import ReferenceEngine
    from dither.data.schema import person_unit
    from dither.publish.synthetic.columns import codings_of

    for unit, rows in ((person_unit("person"), 2), (person_unit("person", replaced=True), 4), (ROW_REPLACED, 3)):
        cells, _ = codings_of(clinic(unit), "visits", ("site", "age"), bins={"age": 2})
        data = ReferenceEngine(cells.dataset, {"visits": some_visits()})
        made = PerturbedTable(cells=cells, groups=(("site", "age"),), rows=rows, epsilon=1)
        yield Example(made, data, neighbours_of(cells.dataset))


@register(
    examples=_examples,
    source="A study on privacy preserving data publishing with differential privacy (Kar 2017), section 3.4.3: its "
    "perturbed rows, with their true cost; randomised response (Warner 1965)",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class PerturbedTable(OverData[Codes]):
    """Publish a stated number of rows of a data set, with each merged group of columns randomised.

    Guarantee: data sets one unit apart lose ``epsilon`` for each row that one unit may have, and each group of columns
    that has more than one combination.

    Args:
        cells: the rows and the code of each of their columns; public.
        groups: public groups of columns, each randomised together; other columns are randomised alone.
        rows: how many are published, from public knowledge.
        epsilon: what one group of one row loses.

    >>> from dither.privacy import ROW, PureDP
    >>> from dither.data.examples import clinic
    >>> from dither.publish.synthetic.columns import codings_of
    >>> cells, _ = codings_of(clinic(ROW), "visits", ("drug", "site"))
    >>> PerturbedTable.calibrated(PureDP(3), cells=cells, rows=100).epsilon
    Fraction(3, 2)

    """

    name: ClassVar[str] = "perturbed-table"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a row is published correctly or not; only many of them estimate a frequency"
    no_interval_because: ClassVar[str] = "a row has no interval; only many of them estimate a frequency"

    cells: Of[Cells] = Of(Cells)
    groups: GroupNames = GroupNames(())
    rows: Whole = Whole(least=1, most=MOST_ROWS)
    epsilon: Positive = Positive()

    def __post_init__(self) -> None:
        """Reject groups that are not public or not of these columns."""
        if not all(axis.is_numbered for axis in self.cells.axes):
            raise InvalidParameter("cells", self.cells.names, "cells of coded columns, as codings_of makes them")
        object.__setattr__(self, "groups", self.merged.groups)

    @classmethod
    def calibrated(cls, within: Loss, *, cells: Any, rows: int, groups: Sequence[Sequence[str]] = ()) -> Self:
        """Return the mechanism that reports the truth most often with a loss within ``within`` for one unit.

        Args:
            within: the loss not to exceed.
            cells: the rows and the code of each of their columns.
            rows: how many are published.
            groups: public groups of columns.

        """
        check_loss(within)
        sizes = merged_of(cells.attributes, groups).merged.sizes
        moved = max(sum(size > 1 for size in sizes), 1) * cells.contribution.total
        made = cls(cells=cells, groups=groups, rows=rows, epsilon=1 / laplace_scale(within, moved))
        if not made.loss(1) <= within:
            raise NoGuarantee(f"the release would lose {made.loss(1)}, which is not within {within}")
        return made

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.cells.dataset.unit

    @cached_property
    def merged(self) -> MergedAttributes:
        """The merged groups."""
        return merged_of(self.cells.attributes, self.groups)

    @property
    def part(self) -> RowResponse:
        """The response of all rows."""
        return RowResponse(rows=self.rows, sizes=self.merged.merged.sizes, epsilon=self.epsilon)

    @property
    def stability(self) -> int:
        """The most published rows that one unit replaces: as many as it may have."""
        return self.cells.contribution.total

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the engine's aggregations."""
        return (self.cells.asked,)

    def plan(self) -> Plan:
        """One draw for all rows."""
        return Use(self.part, self.stability)

    def release(self, data: Engine, run: Runner) -> Codes:
        """Return rows of codes, sorted by content."""
        places, counts = self.cells.filled(data.aggregate(self.cells.asked))
        table = exactly(np.repeat(places, np.minimum(counts, self.rows), axis=0), self.rows, self.cells.shape)
        return self.merged.unmerge(np.asarray(run(self.part, self.merged.merge(table), stability=self.stability)))


def exactly(codes: Codes, rows: int, sizes: Sequence[int]) -> Codes:
    """Return exactly ``rows`` rows: the first in the order of their codes, then rows that cycle through all codes.

    One row more or less replaces one of the returned rows, and so does one row that becomes another.

    >>> exactly(np.array([[1, 0], [0, 2]]), 3, (2, 3)).tolist()
    [[0, 2], [1, 0], [0, 2]]
    """
    ordered = codes[np.lexsort(codes.T[::-1])][:rows]
    made_up = np.arange(len(ordered), rows, dtype=np.int64)[:, None] % np.array(sizes, dtype=np.int64)
    return np.concatenate([ordered, made_up])
