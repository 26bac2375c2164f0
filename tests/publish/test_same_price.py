"""The same counts cost the same by SQL and by a histogram, and a histogram says what it was made for."""

from __future__ import annotations

from typing import Any

import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.mechanisms import DiscreteGaussian, perform
from dither.privacy import ROW, ROW_REPLACED
from dither.verbs.offers import Offers

COLUMNS = (
    Column("id", Kind.INTEGER),
    Column("ward", Kind.TEXT, categories=("a", "b", "c")),
    Column("age", Kind.INTEGER, lower=0, upper=15),
)
LIMITS: dict[str, dict[str, int]] = {
    "rows and groups": {"rows": 10, "groups": 3},
    "rows in a group": {"groups": 3, "rows_per_group": 4},
    "many groups": {"groups": 8, "rows_per_group": 1},
    "one row": {"rows": 1, "groups": 1},
}
LOSSES: list[dict[str, Any]] = [
    {"epsilon": 1},
    {"rho": "0.5"},
    {"epsilon": 1, "delta": "1e-6"},
    {"epsilon": 1, "delta": "0.01"},
]


def offers(name: str) -> Offers:
    if name in LIMITS:
        table = Table("visits", COLUMNS, "v.csv", person="id")
        return Offers(DataSet("clinic", (table,), person_unit("id"), **LIMITS[name]))
    unit = ROW if name == "rows" else ROW_REPLACED
    return Offers(DataSet("clinic", (Table("visits", COLUMNS, "v.csv"),), unit))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("name", [*LIMITS, "rows", "replaced"])
@pytest.mark.parametrize("column", ["ward", "age"])
def test_cells_have_the_same_noise_and_price_by_sql_and_by_a_histogram(name: str, column: str, loss: Any) -> None:
    here = offers(name)
    asked = here.sql("SELECT ?, COUNT(*) AS n FROM visits GROUP BY ?".replace("?", column), **loss)
    table = here.histogram("visits", column, questions="cells", **loss)
    drawn: Any = asked.mechanism.design.parts[0].drawn()  # type: ignore[attr-defined]
    node: Any = table.mechanism.method.node  # type: ignore[attr-defined]
    assert type(drawn) is type(node)
    scales = [float(one.sigma if isinstance(one, DiscreteGaussian) else one.scale) for one in (drawn, node)]
    assert scales[0] == pytest.approx(scales[1])
    assert float(asked.loss.rho) == pytest.approx(float(table.loss.rho))
    assert asked.loss.pure == table.loss.pure


def test_a_histogram_says_which_questions_its_method_was_chosen_for() -> None:
    here = offers("one row")
    engine = ReferenceEngine(here.dataset, {"visits": []})
    for words, said in (
        ({"columns": "age"}, "chosen for ranges of cells"),
        ({"columns": "age", "questions": "ranges"}, "chosen for ranges of cells"),
        ({"columns": "age", "questions": "cells"}, "chosen for single cells"),
        ({"columns": "ward"}, "chosen for single cells"),
        ({"columns": ("age", "ward")}, "chosen for ranges of cells of age, single cells of ward"),
    ):
        offer = here.histogram("visits", epsilon=1, **words)  # type: ignore[arg-type]
        result = offer.read(offer.present(perform(offer.mechanism, engine)), "here")
        assert said in " ".join(result.notes)


def test_questions_are_cells_or_ranges_and_only_where_a_method_is_chosen() -> None:
    here = offers("rows")
    with pytest.raises(InvalidParameter, match="'cells', 'ranges'"):
        here.histogram("visits", "age", questions="all", epsilon=1)
    with pytest.raises(InvalidParameter, match="only applies to method='auto'"):
        here.histogram("visits", "age", questions="cells", method="identity", epsilon=1)


def test_what_is_not_said_leaves_the_request_as_it_was() -> None:
    here = offers("rows")
    assert "questions" not in here.histogram("visits", "age", epsilon=1).asked
    assert here.histogram("visits", "age", questions="cells", epsilon=1).asked["questions"] == "cells"
