"""Declared groups: prices at the distance of a group, against enumeration and through a session."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.data.examples import clinic
from dither.data.files import dump_schema, load_schema, loads
from dither.data.reference import ReferenceEngine
from dither.errors import InvalidParameter, InvalidSchema, NoGuarantee
from dither.lift import Lifted, cells_of
from dither.mechanisms import Geometric
from dither.privacy import EDGE, ROW, ROW_REPLACED, ZCDP, ApproxDP, GaussianDP, Loss, PureDP, group_of, person, w_event
from dither.privacy.distances import Relation
from dither.publish.correlated import Grouped, for_one
from dither.publish.workloads import Workload
from tests.one_importer import one_importer

FLU = """\
dataset: flu
unit: row
group size: 10
tables:
  people:
    source: people.csv
    columns:
      house: integer
      town: {kind: text, categories: [north, south]}
      ill: {kind: integer, bounds: [0, 1]}
"""
HOUSES = FLU.replace("unit: row", "unit: group").replace(
    "source: people.csv", "source: people.csv\n    privacy id: house"
)


@pytest.fixture(scope="module", autouse=True)
def importing() -> Iterator[None]:
    with one_importer():
        yield


def chance(out: int, count: int, epsilon: float) -> float:
    """Return the chance of an answer: discrete Laplace noise of scale 1 / epsilon on a count."""
    ratio = math.exp(-epsilon)
    return (1 - ratio) / (1 + ratio) * ratio ** abs(out - count)


def test_odds_of_the_flu_example_are_those_of_the_distances() -> None:
    # A family of ten, all ill or all well: 100 or 90 ill people, and noise for one of them.
    for epsilon in (0.1, 0.5, 1.0):
        odds = {out: chance(out, 100, epsilon) / chance(out, 90, epsilon) for out in (99, 95, 100, 130)}
        assert odds[99] == pytest.approx(math.exp(8 * epsilon))
        assert odds[95] == pytest.approx(1)
        assert odds[100] == pytest.approx(math.exp(10 * epsilon)) == pytest.approx(odds[130])


def test_price_of_a_group_is_the_largest_ratio_and_is_reached() -> None:
    # All tables of at most five rows, of which at most three come or go together.
    size, scale = 3, Fraction(4)
    sites = Lifted(source=cells_of(clinic(ROW), "visits", "site"), method=Geometric(shape=(2,), scale=scale))
    price = float(Grouped(method=sites, size=size).loss(1).epsilon)
    tables = [(north, south) for north in range(6) for south in range(6 - north)]
    worst = 0.0
    for here, there in itertools.product(tables, repeat=2):
        if sum(abs(a - b) for a, b in zip(here, there, strict=True)) <= size:
            for out in itertools.product(range(-3, 9), repeat=2):
                ratio = sum((abs(o - b) - abs(o - a)) / float(scale) for o, a, b in zip(out, here, there, strict=True))
                worst = max(worst, ratio)
    assert worst == pytest.approx(price) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("stated", "least"),
    [
        (PureDP(1), 0.999),
        (PureDP("1/3"), 0.999),
        (ZCDP("1/2"), 0.999),
        (GaussianDP("1/2"), 0.999),
        (ApproxDP(1, "1e-6"), 0.95),
        (ApproxDP(5, "1e-9"), 0.95),
        (ApproxDP("0.1", 0), 0.999),
    ],
)
@pytest.mark.parametrize("size", [2, 10, 100])
def test_share_of_one_member_is_within_the_loss_of_its_group(stated: Loss, least: float, size: int) -> None:
    one = for_one(stated, size)
    group = one.group(size)
    assert group <= stated
    assert float(group.rho) >= least**2 * float(stated.rho)
    assert float(group.delta) >= (least * float(stated.delta) if size <= 64 else 0)


def test_no_share_where_group_privacy_is_unknown() -> None:
    with pytest.raises(NoGuarantee, match="state epsilon"):
        for_one(ZCDP("1/2", "1e-6"), 2)


def test_units_of_groups_are_of_rows_or_people() -> None:
    assert str(group_of(ROW_REPLACED, 2)) == "groups replaced (up to 2 rows each)"
    people = group_of(person("id", Relation.ADD_REMOVE), 4)
    assert str(people) == "groups added or removed (up to 4 people each, and all rows with one id)"
    for unit in (EDGE, w_event(3)):
        with pytest.raises(InvalidParameter, match="rows or people"):
            group_of(unit, 2)
    with pytest.raises(InvalidParameter):
        group_of(ROW, 1)


@pytest.mark.parametrize("text", [FLU, HOUSES, FLU.replace("unit: row", "unit: row replaced")])
def test_schemas_with_groups_are_written_and_read_back(text: str) -> None:
    dataset = loads(text)
    assert loads(dump_schema(dataset)) == dataset
    assert (dataset.protected.protects, dataset.group_size) == ("group", 10)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("group size: 10", "group size: 1", "group size"),
        ("group size: 10", "group size: 1.5", "group size"),
        ("unit: row", "unit: group", "unit"),
        ("unit: row\ngroup size: 10", "unit: group", "unit"),
    ],
)
def test_groups_that_are_not_declared_rightly_are_refused(old: str, new: str, place: str) -> None:
    with pytest.raises(InvalidSchema, match=place):
        loads(FLU.replace(old, new))


def test_groups_of_a_column_count_no_more_rows_than_their_size() -> None:
    wide = HOUSES.replace("group size: 10", "group size: 10\ncontribution: {rows: 11}")
    with pytest.raises(InvalidSchema, match="at most 10, the group size"):
        loads(wide)
    with pytest.raises(InvalidSchema, match="group size"):
        loads(HOUSES.replace("group size: 10\n", ""))
    narrow = loads(HOUSES.replace("group size: 10", "group size: 10\ncontribution: {rows: 4}"))
    assert narrow.rows == 4


def test_members_beyond_the_size_of_a_house_do_not_count() -> None:
    dataset = loads(HOUSES)
    rows = [{"house": house, "town": "north", "ill": 1} for house, many in ((1, 25), (2, 3)) for _ in range(many)]
    counted = cells_of(dataset, "people", "town").read(ReferenceEngine(dataset, {"people": rows}))
    assert counted.tolist() == [13, 0]


def test_grouped_takes_no_release_about_anything_else() -> None:
    sites = Lifted(source=cells_of(clinic(ROW), "visits", "site"), method=Geometric(shape=(2,), scale=8))
    families = Grouped(method=sites, size=4)
    with pytest.raises(InvalidParameter, match="rows or people"):
        Grouped(method=families, size=2)


def ledger_of(folder: Path, schema: str, budget: int = 10**6) -> Session:
    rows = [f"{number // 5},{'north' if number % 3 else 'south'},{number % 2}" for number in range(300)]
    (folder / "people.csv").write_text("\n".join(["house,town,ill", *rows]) + "\n")
    (folder / "flu.yaml").write_text(schema)
    curator = Curator.create(folder / "home", anchors=folder / "anchors")
    curator.add(folder / "flu.yaml", budget=PureDP(budget))
    return curator.session("flu", analyst="ana")


def test_a_session_charges_a_group_and_shows_one_member_beside_it(tmp_path: Path) -> None:
    session = ledger_of(tmp_path, FLU)
    text = "SELECT town, COUNT(*) AS n, SUM(ill) AS ill FROM people GROUP BY town"
    quoted = session.quote(text, epsilon=20_000)
    assert str(quoted.loss) == "epsilon = 20000"
    said = "groups added or removed (up to 10 rows each); one of them alone: epsilon = 2000"
    assert quoted.unit == said
    assert "groups added or removed" in quoted.text()
    result = session.sql(text, epsilon=20_000, key="flu")
    assert (str(result.loss), result.unit) == ("epsilon = 20000", said)
    assert [row[1:] for row in result.rows] == [(200, 100), (100, 50)]
    # What is stored reads the same, and costs nothing again.
    again = session.sql(text, epsilon=20_000, key="flu")
    assert (again.rows, again.unit, again.receipt) == (result.rows, said, result.receipt)
    counted = session.histogram("people", "town", epsilon=10_000)
    assert [row[-1] for row in counted.rows] == [200, 100]
    assert counted.unit.endswith("epsilon = 1000")
    both = session.marginals("people", [["town", "ill"], ["town"]], epsilon=40_000)
    assert {one.unit for one in both.values()} == {said.replace("2000", "4000")}
    assert [row[-1] for row in both["town",].rows] == [200, 100]
    ranges = session.workload("people", "ill", Workload.prefixes(2), epsilon=20_000)
    assert ([row[-1] for row in ranges.rows], ranges.unit) == ([150, 300], said)
    assert str(session.balance().spent) == "epsilon = 90000"
    assert session.balance().unit == "groups added or removed (up to 10 rows each)"
    assert "groups added or removed (up to 10 rows each)" in str(session.card().to_dict())


def test_a_session_refuses_what_has_no_price_for_groups(tmp_path: Path) -> None:
    session = ledger_of(tmp_path, FLU)
    with pytest.raises(InvalidParameter, match="the data set declares groups of up to 10"):
        session.synthesize("people", epsilon=1)
    with pytest.raises(InvalidParameter, match="state the loss of a group"):
        session.sql("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM people")
    with pytest.raises(InvalidParameter, match=r"CLAMP\(x, low, high\)"):
        session.sql("SELECT SUM(CLAMP(ill, AUTO)) FROM people", epsilon=1)
    with pytest.raises(InvalidParameter, match="declares groups"):
        session.loss_for_error("SELECT COUNT(*) AS n FROM people", "n", 5)
    # A release for one row is refused too, whoever made it.
    rows = load_schema(tmp_path / "flu.yaml")
    sites = cells_of(rows, "people", "town")
    with pytest.raises(InvalidParameter):
        session.release(Geometric(shape=(2,), scale=8), sites)
    assert str(session.balance().spent) == "epsilon = 0"


def test_houses_are_a_unit_of_their_own(tmp_path: Path) -> None:
    session = ledger_of(tmp_path, HOUSES)
    result = session.sql("SELECT COUNT(*) AS n FROM people", epsilon=10**5)
    assert result.rows[0][0] == 300
    assert result.unit == "groups added or removed (all rows with one house, of which 10 count)"
