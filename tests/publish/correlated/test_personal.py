"""Personal budgets: what a row of each level loses against enumeration, averages, and a session."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.data import DataSet
from dither.data.evaluation import evaluator
from dither.data.files import dump_schema, loads
from dither.data.personal import Personal, personal_of
from dither.data.reference import ReferenceEngine
from dither.errors import InvalidParameter, InvalidSchema
from dither.lift.personal import PersonalQueries
from dither.privacy import L1, PERSONAL, PureDP
from dither.publish.correlated import plan_personal_queries
from dither.verbs.offers import Offers
from tests.one_importer import one_importer


@pytest.fixture(scope="module", autouse=True)
def importing() -> Iterator[None]:
    with one_importer():
        yield


def wages(levels: str = "[0.1, 0.5, 1.0]", kind: str = "real") -> DataSet:
    return loads(f"""
dataset: wages
unit: personal
tables:
  people:
    source: people.csv
    personal: {{budget: own, levels: {levels}}}
    columns:
      wage: {{kind: integer, bounds: [0, 15]}}
      town: {{kind: text, categories: [a, b]}}
      own: {kind}
""")


def row(wage: Any, town: Any, own: Any) -> dict[str, Any]:
    return {"wage": wage, "town": town, "own": own}


@pytest.mark.parametrize("stretched", [(False, False), (True, True), (False, True)])
def test_each_level_loses_its_own_share_at_most_and_one_of_them_all_of_it(stretched: tuple[bool, ...]) -> None:
    # The ratio of laws for independent discrete Laplace noise is e^(sum of changes / scale), and is reached.
    dataset, queries = wages(), ((3, -1), (1, 2))
    planned = plan_personal_queries(dataset, ("town",), queries, stretched, PureDP(1))
    source: Any = planned.source
    scale = float(planned.method.scale)  # type: ignore[union-attr]
    shares = dict(zip((0.1, 0.5, 1.0), (0.1, 0.5, 1.0), strict=True))
    reached = []
    tables = [[row(1, "a", 1.0), row(2, "b", 0.1)], []]
    for rows, town, (own, share) in itertools.product(tables, "ab", shares.items()):
        without = source.read(ReferenceEngine(dataset, {"people": rows}))
        with_it = source.read(ReferenceEngine(dataset, {"people": [*rows, row(3, town, own)]}))
        lost = float(np.abs(with_it - without).sum()) / scale
        assert lost <= share * (1 + 1e-12)
        reached.append(lost / share)
    assert max(reached) >= 0.9


def test_stretched_queries_use_all_of_every_budget() -> None:
    source = PersonalQueries(wages(), ("town",), ((1, 1),), (True,))
    moved = source.moves()[L1]
    for level, own in enumerate((0.1, 0.5, 1.0)):
        counts = np.zeros((2, 3), dtype=np.int64)
        counts[0, level] = 1
        assert Fraction(int(source.of_counts(counts)[0])) == moved * Fraction(str(own))


@pytest.mark.parametrize("kind", ["real", "integer"])
def test_levels_round_down_and_what_is_below_the_least_does_not_count(kind: str) -> None:
    levels = [2.0, 5.0, 10.0]
    table, personal = personal_of(wages("[2.0, 5.0, 10.0]", kind))
    compute = evaluator(personal.level_of(table), table.kinds)
    numbers = (
        (0, 1, 2, 3, 4, 5, 9, 10, 11, -3) if kind == "integer" else (0.0, 1.9, 2.0, 4.99, 5.0, 9.9, 10.0, 1e9, -2.0)
    )
    for number in numbers:
        expected = sum(level <= number for level in levels) - 1
        assert compute({"own": number}) == (None if expected < 0 else expected)
    assert compute({"own": None}) is None


def test_rows_are_counted_by_cells_and_levels() -> None:
    dataset = wages()
    source = PersonalQueries(dataset, ("town",), ((1, 1),), (False,))
    rows = [
        row(1, "a", 0.3),
        row(1, "a", 9.0),
        row(1, "b", 0.1),
        row(1, "b", 0.05),
        row(1, None, 1.0),
        row(1, "x", 1.0),
    ]
    counts = source.counts(ReferenceEngine(dataset, {"people": [*rows, row(1, "a", None)]}))
    assert counts.tolist() == [[1, 0, 1], [1, 0, 0]]


def test_averages_are_far_better_than_by_the_least_budget_for_all() -> None:
    # One person in ten is strict: their level is a tenth of that of the others.
    own = wages("[0.1, 1.0]")
    stretched = plan_personal_queries(own, (), ((1,),), (True,), PureDP(1))
    least = plan_personal_queries(own, (), ((1,),), (False,), PureDP(1))
    weights = (0.9 * 10 + 0.1 * 1, 1.0)
    errors = [float(one.method.scale) / weight for one, weight in zip((stretched, least), weights, strict=True)]  # type: ignore[union-attr]
    assert errors[0] / errors[1] == pytest.approx(1 / 9.1, rel=0.01)


@pytest.mark.parametrize(
    ("levels", "rule"),
    [
        ("[]", "levels"),
        ("[0.0, 1.0]", "above 0"),
        ("[-0.1, 1.0]", "above 0"),
        ("[1.0, 0.5]", "from the least one up"),
        ("[0.5, 0.5]", "each once"),
        ("[0.00001, 1.0]", "multiples of one number"),
    ],
)
def test_levels_that_no_budget_has_are_refused(levels: str, rule: str) -> None:
    with pytest.raises(InvalidSchema, match=rule):
        wages(levels)


def test_schemas_with_personal_budgets_are_written_and_read_back() -> None:
    dataset = wages()
    assert loads(dump_schema(dataset)) == dataset
    assert dataset.unit == PERSONAL
    assert dataset.unit.is_relaxed
    with pytest.raises(InvalidSchema, match="the unit of the data set is personal"):
        loads(dump_schema(dataset).replace("unit: personal", "unit: row"))
    with pytest.raises(InvalidSchema, match="a column of numbers"):
        wages(kind="text")
    assert Personal("own", (0.1, 0.25)).weights == (2, 5)


def session_of(folder: Path) -> Session:
    owns = (0.1, 0.7, 2, 0.05)
    rows = [f"{number % 16},{'ab'[number % 2]},{owns[number % 4]}" for number in range(320)]
    (folder / "people.csv").write_text("\n".join(["wage,town,own", *rows]) + "\n")
    (folder / "wages.yaml").write_text(dump_schema(wages()))
    curator = Curator.create(folder / "home", anchors=folder / "anchors")
    curator.add(folder / "wages.yaml", budget=PureDP(10**6))
    return curator.session("wages", analyst="ana")


def test_a_session_charges_the_highest_level_and_shows_the_least(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    said = "personal shares moved (rows added or removed, each within its own budget)"
    said += "; epsilon = 100000 at 1, epsilon = 10000 at 0.1"
    text = "SELECT COUNT(*) AS n, SUM(wage) AS total FROM people WHERE wage < 4"
    assert session.quote(text, epsilon=10**5).unit == said
    result = session.sql(text, epsilon=10**5, key="one")
    # Rows of the least level and above count alike; a quarter of all is below it.
    assert result.unit == said
    assert [round(value) for value in numbers_of(result.rows[0])] == [60, 60]
    assert session.sql(text, epsilon=10**5, key="one").receipt == result.receipt
    by_town = session.sql("SELECT town, AVG(wage) AS mean FROM people GROUP BY town", epsilon=10**5)
    # Of town a, rows with 0.1 have 0, 4, 8, 12, and rows with 1 have 2, 6, 10, 14; of town b only 0.5 counts.
    means = [numbers_of(line[1:])[0] for line in by_town.rows]
    assert means == pytest.approx([(6 * 0.1 + 8 * 1) / 1.1, 7], abs=0.01)
    assert all(numbers_of(low[1:]) <= [mean] for low, mean in zip(by_town.low, means, strict=True))
    assert str(session.balance().spent) == "epsilon = 200000"


def numbers_of(cells: Any) -> list[float]:
    return [float(cell) for cell in cells]


def test_an_average_of_too_few_rows_is_unknown() -> None:
    offer = Offers(wages()).sql("SELECT AVG(wage) AS mean FROM people", epsilon=1)
    stored = offer.read(offer.present(np.array([1, 1])), "")
    assert stored.rows[0] == (None,)
    far = offer.read(offer.present(np.array([10**6, 2 * 10**5])), "")
    assert numbers_of(far.rows[0])[0] == pytest.approx(7.5 + 7.5 * 0.2, abs=0.01)
    [low], [high] = far.low[0], far.high[0]
    assert 8.9 < float(str(low)) < 9 < float(str(high)) < 9.1


def test_the_intervals_hold_the_truth_for_every_noise_within_their_reach() -> None:
    offer = Offers(wages()).sql("SELECT AVG(wage) AS mean FROM people", epsilon=1)
    reach = float(offer.mechanism.error("0.95").value)  # type: ignore[union-attr]
    for count, total in ((5000, 1200), (5000, -4000), (900, 0)):
        truth = 7.5 + 7.5 * total / count
        for one, other in itertools.product((-1, 0, 1), repeat=2):
            out = np.array([count + math.floor(one * reach), total + math.floor(other * reach)])
            [low], [high] = (ends[0] for ends in (lambda r: (r.low, r.high))(offer.read(offer.present(out), "")))
            if low is not None:
                assert float(str(low)) <= truth <= float(str(high))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT COUNT(*) FROM people WHERE own > 0.5", "not that of the budgets"),
        ("SELECT MEDIAN(wage) FROM people", "COUNT"),
        ("SELECT SUM(CLAMP(own, 0, 1)) FROM people", "not that of the budgets"),
    ],
)
def test_what_has_no_price_for_personal_budgets_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidParameter, match=why):
        Offers(wages()).sql(text, epsilon=1)


def test_other_verbs_and_losses_are_refused_with_personal_budgets() -> None:
    offers = Offers(wages())
    with pytest.raises(InvalidParameter, match="others have no price"):
        offers.histogram("people", "wage", epsilon=1)
    with pytest.raises(InvalidParameter, match="an epsilon alone"):
        offers.sql("SELECT COUNT(*) FROM people", rho=1)
    with pytest.raises(InvalidParameter, match="not allowed"):
        offers.sql("SELECT COUNT(*) FROM people", epsilon=1, noise="gaussian")
