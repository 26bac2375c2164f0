"""Releases about rows with personal budgets: integer noise for the row that moves answers most for its budget.

Nothing here reads rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from dither.data import DataSet
from dither.data.files import loads
from dither.data.reference import ReferenceEngine
from dither.lift.lifted import Lifted
from dither.lift.personal import PersonalQueries
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, add_examples
from dither.privacy import Loss, PureDP


def plan_personal_queries(
    dataset: DataSet, columns: Sequence[str], queries: Sequence[Sequence[int]], stretched: Sequence[bool], loss: Loss
) -> Lifted:
    """Return the release of linear queries about rows with personal budgets.

    Args:
        dataset: the schema, whose unit is personal.
        columns: whose cells are weighed.
        queries: a row of integer weights for each query.
        stretched: for each query, whether rows count in proportion to their levels.
        loss: of a row of the highest level; an epsilon.

    """
    rows = tuple(tuple(map(int, row)) for row in queries)
    source = PersonalQueries(dataset, tuple(columns), rows, tuple(map(bool, stretched)))

    def build(each: Loss) -> Any:
        return replace(Purse.within(each).noise(), shape=(source.size,))

    return Lifted.calibrated(loss, source=source, build=build)


def _examples() -> Iterator[Example]:
    dataset = loads(_CLINIC)
    planned = plan_personal_queries(dataset, ("site",), ((1, 1), (3, -2)), (False, True), PureDP(1))

    def engine(*rows: tuple[Any, Any]) -> ReferenceEngine:
        return ReferenceEngine(dataset, {"visits": [{"site": site, "allows": allows} for site, allows in rows]})

    few = (("north", 1.0), ("south", 0.3), ("north", None), ("x", 1.0), ("south", 0.01))
    # A row of a lower level is nearer than one of the highest: what holds for the latter holds for it.
    neighbours = (
        (engine(*few), engine(*few, ("north", 1.0)), 1),
        (engine(*few, ("north", 0.7)), engine(*few), 1),
        (engine(*few), engine(*few, ("south", 0.1)), 1),
        (engine(*few), engine(*few, ("south", 5.0)), 1),
    )
    yield Example(planned, engine(*few), neighbours)


_CLINIC: Final = """
dataset: clinic
unit: personal
tables:
  visits:
    source: visits.csv
    personal: {budget: allows, levels: [0.1, 0.5, 1.0]}
    columns:
      site: {kind: text, categories: [north, south]}
      allows: real
"""
add_examples(Lifted.name, _examples)
