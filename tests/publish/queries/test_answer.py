"""Answers: exact where noise is negligible, total on hostile rows, priced without data, alike on neighbours."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import statistics
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.data import (
    Aggregated,
    Aggregation,
    Call,
    Column,
    DataSet,
    Filter,
    Kind,
    Limits,
    Literal,
    Name,
    Scan,
    Table,
)
from dither.data.engines.protocol import Engine
from dither.data.examples import clinic, some_visits, visit
from dither.data.reference import ReferenceEngine
from dither.data.returned import canonical
from dither.data.schema import person_unit
from dither.errors import DitherError, EngineFailure, InvalidParameter, NoGuarantee, Unanswerable
from dither.mechanisms import Runner, from_spec, to_spec
from dither.mechanisms.core.spec import Codec, register_codec
from dither.noise import system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP, Use
from dither.publish.queries import Aggregate, Answer, Answered, Key, Query, QueryResult, plan_query, present
from dither.publish.queries.examples import answer_examples, clinic_query
from dither.publish.queries.statistics import statistic_of
from dither.testing import hostile

#: So much that noise is 0 but for odds of e^-1000, in sums on a fine grid as well.
HUGE = PureDP(10**12)
PERSON = person_unit("person")


def run(answer: Answer, data: Engine) -> QueryResult:
    return present(answer, Runner(Use(answer), system_noise())(answer, data))


def table_of(query: Query, rows: list[dict[str, Any]], loss: Loss = HUGE, **others: Any) -> QueryResult:
    return run(plan_query(query, loss, **others), ReferenceEngine(query.dataset, {"visits": rows}))


ROWS = [
    visit(1, "north", "a", 3, 20.5),
    visit(1, "north", "b", 12, 30.25),
    visit(2, "north", "b", None, 64.0),
    visit(3, "north", "b", 7, None),
    visit(4, "south", "c", -5, 500.0),
    visit(5, "elsewhere", "a", 1, 1.0),
    visit(5, None, "a", 1, 1.0),
]


def test_every_statistic_is_right_where_noise_is_negligible() -> None:
    """Row unit, epsilon 10^12: against Python's own statistics of the clamped rows."""
    functions = (
        *("count", "count_of", "persons", "sum", "mean", "variance", "deviation", "sample_variance"),
        *("sample_deviation", "quantile", "minimum", "maximum", "covariance", "correlation", "mode", "top"),
    )
    result = table_of(clinic_query(*functions), ROWS)
    assert result.column("site") == ("north", "south")
    north = dict(zip(result.names, result.rows[0], strict=True))
    costs, pairs = [3, 10, 7], [(3, 20.5), (10, 30.25)]
    expected = {
        "count": 4,
        "count_of": 3,
        "persons": 4,  # a row is a person where rows are the unit
        "sum": 20,
        "mean": statistics.fmean(costs),
        "variance": statistics.pvariance(costs),
        "deviation": statistics.pstdev(costs),
        "sample_variance": statistics.variance(costs),
        "sample_deviation": statistics.stdev(costs),
        "quantile": 7,
        "minimum": 3,
        "maximum": 10,
        "covariance": statistics.covariance([3, 10], [20.5, 30.25]) / 2,
        "correlation": 1.0,
    }
    assert len(pairs) == 2
    for name, value in expected.items():
        assert north[name] == pytest.approx(value, rel=1e-5, abs=1e-5), name
        low, high = result.interval(name)[0]
        assert low <= north[name] <= high, name  # type: ignore[operator]
    assert north["mode"] == "b"
    assert north["top"] == ("b", "a")


def test_persons_are_counted_once_and_bounded() -> None:
    """At most 3 rows, 2 groups, 2 rows in a group of one person count; five visits of one person show it."""
    rows = [visit(1, "north") for _ in range(5)] + [visit(2, "south") for _ in range(2)] + [visit(None, "south")]
    result = table_of(clinic_query("count", "persons", unit=PERSON), rows)
    assert result.column("count") == (2, 2)
    assert result.column("persons") == (1, 1)


def test_every_declared_group_is_answered_in_order() -> None:
    result = table_of(clinic_query("count", "mean", "quantile"), [])
    assert result.column("site") == ("north", "south")
    assert result.column("count") == (0, 0)
    assert all(math.isfinite(value) for value in result.column("mean"))  # type: ignore[arg-type]


def test_chosen_groups_and_null_as_a_group() -> None:
    query = dataclasses.replace(clinic_query("count"), key_values=((None,), ("elsewhere",)))
    result = table_of(query, ROWS)
    assert result.rows == ((None, 1), ("elsewhere", 1))


def test_without_groups_there_is_one_row() -> None:
    assert table_of(clinic_query("count", "sum", groups="none"), ROWS).rows == ((7, 3 + 10 + 7 + 0 + 1 + 1),)
    assert table_of(clinic_query("count", groups="none"), []).rows == ((0,),)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_discovered_groups(noise: str) -> None:
    """Groups of many are found and sorted by value, a group of one is not; delta is charged, for persons."""
    rows = [visit(person, site) for person in range(400) for site in ("b", "a", None)] + [visit(999, "mine")]
    rows += [visit(1000 + person, "10") for person in range(300)]
    query = clinic_query("count", "persons", unit=PERSON, groups="discovered")
    answer = plan_query(query, ApproxDP(4, "1e-15"), noise=noise)
    assert answer.loss(1) <= ApproxDP(4, "1e-15")
    assert answer.loss(1).delta > 0
    result = run(answer, ReferenceEngine(query.dataset, {"visits": rows}))
    keys = [row[0] for row in result.rows]
    assert set(keys) <= {"10", "a", "b", None}
    assert keys == sorted(keys, key=lambda key: (key is None, key)) or keys == sorted(
        keys, key=lambda key: (key is not None, key or "")
    )
    assert len(keys) == 4
    for low, high in result.interval("persons"):
        assert high - low < 120  # type: ignore[operator]


def test_discovered_groups_of_several_kinds_come_back_as_they_were() -> None:
    day, moment = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30)
    columns = (
        Column("day", Kind.DATE),
        Column("moment", Kind.TIMESTAMP),
        Column("real", Kind.REAL),
        Column("yes", Kind.BOOLEAN),
        Column("number", Kind.INTEGER),
    )
    table = Table("visits", columns, "visits.csv")
    dataset = DataSet("clinic", (table,), ROW)
    keys = tuple(Key(column.name, Name(column.name), None) for column in columns)
    names = tuple((column.name, Name(column.name)) for column in columns)
    query = Query(dataset, Scan(table), keys, (Aggregate("n", "count"),), (*names, ("n", Name("n"))), Limits())
    cells = {"day": day, "moment": moment, "real": 0.1, "yes": False, "number": -(2**60)}
    result = table_of(query, [cells] * 3000, ApproxDP(5, "1e-9"))
    assert [row[:-1] for row in result.rows] == [(day, moment, 0.1, False, -(2**60))]


class Odd(Engine):
    """An engine that returns whatever it is told to."""

    def __init__(self, answer: Aggregated) -> None:
        super().__init__(clinic(ROW))
        self.answer = answer

    def check(self) -> None: ...
    def close(self) -> None: ...
    def aggregate(self, aggregation: Aggregation) -> Aggregated:
        return self.answer


ODD_KEYS: tuple[Any, ...] = (
    ("north",), ("north",), ("unknown",), (), None, 7, ("north", "south"), ([],), ({},), (float("nan"),), ("\ud800",),
    (None,), (1,), ("south", 1), ("south", None), ("north", 2**80), ("north", -1), ("north", True), ("north", "a"),
)  # fmt: skip
ODD_NUMBERS: tuple[Any, ...] = ((), None, (2**80,), (-(2**80),), (True,), (1.5,), ("x",), (1,) * 50, [3], (None,))


@pytest.mark.parametrize("example", [*range(9)])
def test_nothing_raises_whatever_an_engine_returns(example: int) -> None:
    answer = [each.mechanism for each in answer_examples()][example]
    keys = tuple(key for key in ODD_KEYS for _ in ODD_NUMBERS)
    numbers = tuple(numbers for _ in ODD_KEYS for numbers in ODD_NUMBERS)
    many = Aggregated(ODD_KEYS, ((2**59,),) * len(ODD_KEYS))
    for odd in (Aggregated((), ()), Aggregated(keys, numbers), Aggregated(keys, numbers[:3]), many):
        result = run(answer, Odd(odd))  # type: ignore[arg-type]
        assert QueryResult.from_json(result.to_json()) == result


@pytest.mark.parametrize(
    ("value", "kind", "fits"),
    [
        *((True, Kind.BOOLEAN, True), (1, Kind.BOOLEAN, False), (2**63 - 1, Kind.INTEGER, True)),
        *((2**63, Kind.INTEGER, False), (-(2**63), Kind.INTEGER, True), (-(2**63) - 1, Kind.INTEGER, False)),
        *((True, Kind.INTEGER, False), (1.7e308, Kind.REAL, True), (2**70, Kind.REAL, False), (3, Kind.REAL, True)),
        *((math.inf, Kind.REAL, False), ("a", Kind.TEXT, True), ("\x00", Kind.TEXT, False)),
        *((datetime.datetime(2024, 1, 1), Kind.DATE, False), (datetime.date(2024, 1, 1), Kind.TIMESTAMP, False)),
        *((None, Kind.TEXT, True), ([], Kind.TEXT, False)),
    ],
)
def test_what_may_be_a_group(value: Any, kind: Kind, fits: bool) -> None:
    assert (canonical((value,), (kind,)) is not None) == fits
    assert canonical((value, value), (kind,)) is None


def test_an_engine_that_fails_says_nothing_else() -> None:
    class Broken(Odd):
        def aggregate(self, aggregation: Aggregation) -> Aggregated:
            raise EngineFailure

    with pytest.raises(EngineFailure, match="the query engine failed"):
        run(plan_query(clinic_query("count"), PureDP(1)), Broken(Aggregated((), ())))


@pytest.mark.statistical(false_alarm=1e-9)
def test_noisy_numbers_differ_from_release_to_release_and_have_the_declared_scale() -> None:
    """n = 1,500 counts of a group; false alarm below 1e-9 (seven standard errors of a mean of |X|)."""
    groups = 1500
    query = clinic_query("count")
    key = Key("number", Name("cost"), tuple(range(groups)))
    query = dataclasses.replace(query, keys=(key,), outputs=(("count", Name("count")),))
    result = table_of(query, [], PureDP("0.1"))
    sizes = [abs(value) for value in result.column("count", raw=True)]  # type: ignore[arg-type]
    # The mean of |X| for scale 10 is 1 / sinh(0.1), about 9.98, with a standard deviation of about 10.
    assert abs(statistics.fmean(sizes) - 1 / math.sinh(0.1)) < 7 * 10 / math.sqrt(groups)


@pytest.mark.parametrize(
    ("query", "loss", "noise"),
    [
        (clinic_query("count", "sum", "mean", "variance", "covariance", unit=PERSON), PureDP("0.7"), "laplace"),
        (clinic_query("count", "sum", "mean", "correlation", unit=PERSON), ZCDP("0.01"), "gaussian"),
        (clinic_query("count", "mean", unit=ROW_REPLACED), ZCDP("0.01"), "laplace"),
        (clinic_query("count", "quantile", "mode", unit=ROW_REPLACED), ApproxDP("0.3", "1e-6"), "gaussian"),
        (clinic_query("count", "quantile", "mode", unit=ROW_REPLACED), ApproxDP("0.3", "1e-6"), "laplace"),
        (clinic_query("sum", "quantile", unit=PERSON, groups="discovered"), ApproxDP(1, "1e-6"), "gaussian"),
        (clinic_query("sum", "quantile", unit=PERSON, groups="discovered"), ZCDP(1, "1e-6"), "gaussian"),
        (clinic_query(groups="discovered", unit=PERSON), ApproxDP(1, "1e-6"), "laplace"),
    ],
    ids=["pure", "zcdp", "zcdp-laplace", "approx", "approx-laplace", "found", "found-zcdp", "keys-alone"],
)
def test_the_price_stays_within_the_loss_and_wastes_little(query: Query, loss: Loss, noise: str) -> None:
    answer = plan_query(query, loss, noise=noise)
    price = answer.loss(1)
    assert price <= loss
    if isinstance(loss, PureDP):
        assert price.pure == loss.pure
    elif isinstance(loss, ZCDP):
        assert price.rho > loss.rho * Fraction(99, 100)


def test_auto_takes_the_noise_with_the_smaller_error() -> None:
    """One count: Laplace. A person in a hundred groups: Gaussian, for a delta."""
    few = clinic_query("count")
    assert plan_query(few, ApproxDP(1, "1e-6")).noise == "laplace"
    visits = clinic(PERSON).tables[0]
    many = DataSet("clinic", (visits,), PERSON, rows=200)
    key = Key("cost", Name("cost"), tuple(range(200)))
    query = Query(many, Scan(visits), (key,), (Aggregate("n", "count"),), (("n", Name("n")),), Limits(rows_per_group=1))
    assert plan_query(query, ApproxDP(1, "1e-6")).noise == "gaussian"
    assert plan_query(query, PureDP(1)).noise == "laplace"
    assert plan_query(query, ZCDP(1)).noise == "gaussian"


def test_shares_say_who_gets_what() -> None:
    query = clinic_query("count", "sum")
    answer = plan_query(query, PureDP(1), shares={"count": 1, "sum": 3})
    assert [part.share for part in answer.design.parts] == [Fraction(1, 4), Fraction(3, 4)]
    for wrong in ({"count": 1}, {"count": 1, "sum": 1, "other": 1}, {"count": 0, "sum": 1}, 7):
        with pytest.raises(InvalidParameter, match="share"):
            plan_query(query, PureDP(1), shares=wrong)  # type: ignore[arg-type]


def test_equal_errors_as_a_share_of_the_range() -> None:
    """By default a count is off by as many rows as a sum is off by ranges of its column."""
    for loss in (PureDP("0.01"), ZCDP("0.0001")):
        errors = plan_query(clinic_query("count", "sum"), loss).design.errors(0.05)
        assert errors["count"] == pytest.approx(errors["sum"], rel=0.01)


@pytest.mark.parametrize("groups", ["none", "discovered"])
def test_a_rho_that_is_stated_beside_an_epsilon_is_kept(groups: str) -> None:
    query = clinic_query("count", "sum") if groups == "none" else clinic_query("count", "sum", groups=groups)
    target = ApproxDP(1, "1e-6", rho="1/1000")
    for noise in ({}, {"noise": "laplace"}):
        assert plan_query(query, target, **noise).loss(1) <= target


def test_what_columns_share_is_measured_once() -> None:
    answer = plan_query(clinic_query("mean", "count_of", "variance"), PureDP(1))
    # Squares, sum and number of values: the mean and the count need nothing more.
    assert len(answer.design.parts) == 3
    assert sum(part.share for part in answer.design.parts) == 1


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda: plan_query(clinic_query("count"), PureDP(1), noise="gaussian"), NoGuarantee, "delta"),
        (lambda: plan_query(clinic_query("count"), PureDP(1), noise="uniform"), InvalidParameter, "noise"),
        (lambda: plan_query(clinic_query("count"), PureDP(0)), InvalidParameter, "above 0"),
        (lambda: plan_query(clinic_query("count"), 1), InvalidParameter, "target"),  # type: ignore[arg-type]
        (lambda: plan_query(clinic_query("count", groups="discovered"), PureDP(1)), Unanswerable, "delta"),
        (lambda: plan_query(clinic_query("mode", groups="discovered"), ApproxDP(1, "1e-6")), Unanswerable, "list"),
    ],
    ids=["gaussian", "law", "nothing", "number", "no-delta", "mode"],
)
def test_refusals_name_the_reason(build: Any, error: type[DitherError], text: str) -> None:
    with pytest.raises(error, match=text):
        build()


@pytest.mark.parametrize(
    ("aggregate", "text"),
    [
        (Aggregate("s", "sum", (Name("cost"),)), "bounds of s"),
        (Aggregate("s", "sum", (Name("site"),), ((0.0, 1.0),)), "argument of s"),
        (Aggregate("s", "sum", (Name("cost"),), ((1.0, 0.0),)), "bounds of s"),
        (Aggregate("s", "sum", (Name("cost"),), ((-1e299, 1e299),)), "bounds of s"),
        (Aggregate("s", "sum", (Name("cost"),), ((0.0, 1.0),), granularity=0.0), "granularity of s"),
        (Aggregate("s", "quantile", (Name("cost"),), ((0.0, 1.0),), share=Fraction(2)), "share of s"),
        (Aggregate("s", "top", (Name("drug"),), values=("a",), many=3), "many of s"),
    ],
    ids=["none", "text", "order", "infinite", "granularity", "share", "many"],
)
def test_bad_aggregates_are_refused_by_name(aggregate: Aggregate, text: str) -> None:
    query = dataclasses.replace(clinic_query("count"), aggregates=(aggregate,), outputs=(("s", Name("s")),))
    with pytest.raises(InvalidParameter, match=text):
        plan_query(query, PureDP(1))


def test_groups_that_make_no_sense_are_refused() -> None:
    query = clinic_query("count")
    for wrong in ((("north",), ("north",)), (("north", "south"),), ((7,),), ()):
        with pytest.raises(InvalidParameter, match="key_values"):
            plan_query(dataclasses.replace(query, key_values=wrong), PureDP(1))


def test_requests_survive_json_and_stay_closed() -> None:
    query = dataclasses.replace(
        clinic_query("count", "quantile"),
        having=Call("more", (Name("count"), Literal(3, Kind.INTEGER))),
        relation=Filter(Scan(clinic(ROW).tables[0]), Call("less", (Name("age"), Literal(65.5, Kind.REAL)))),
    )
    answer = plan_query(query, ApproxDP("1/3", "1e-6"), shares={"count": 1, "quantile": "1/7"})
    spec = json.loads(json.dumps(to_spec(answer)))
    assert to_spec(from_spec(spec)) == spec
    assert from_spec(spec).query == answer.query  # type: ignore[attr-defined]
    assert from_spec(spec).loss(1) == answer.loss(1)
    spec["parameters"]["query"] = {"query": spec["parameters"]["query"]["query"]["dataset"]}
    with pytest.raises(InvalidParameter):
        from_spec(spec)


@pytest.mark.parametrize("example", [*range(9)])
def test_hostile_neighbours_are_one_unit_apart(example: int) -> None:
    """What the contract and the audit try: in each pair one row, or the rows of one person, differ."""
    chosen = list(answer_examples())[example]
    unit = chosen.mechanism.distance
    pairs = list(hostile.pairs(chosen.mechanism, chosen.data))
    assert len(pairs) == 16
    for here, there, apart in pairs:
        sides = [Counter(map(repr, engine.frames["visits"])) for engine in (here, there)]
        gone, come = sides[0] - sides[1], sides[1] - sides[0]
        assert apart == 1
        if unit.protects == "row":
            assert (gone.total(), come.total()) in ({(1, 1)} if unit is ROW_REPLACED else {(0, 1), (1, 0)})
        else:
            owners = {text.split(",")[0] for text in (*gone, *come)}
            assert len(owners) <= (2 if chosen.mechanism.query.dataset.is_replaced else 1)


def test_a_tag_of_requests_is_taken_once() -> None:
    for taken in ("query", "number", "loss", "unit"):
        with pytest.raises(InvalidParameter, match="tag"):
            register_codec(taken, Codec(dict, dict, dict))


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.REAL])
@pytest.mark.parametrize(
    "bounds",
    [
        *((0.0, 0.0), (5.0, 5.0), (-4e149, 4e149), (1e-299, 2e-299), (-0.0, 5e-324), (1e18, 4e18), (-3.5, 2.5)),
        *((1e9, 1e9 + 1), (-(2.0**62), 2.0**62)),
    ],
    ids=str,
)
def test_any_bounds_give_a_price_and_an_answer(bounds: tuple[float, float], kind: Kind) -> None:
    """Grids stay within 62 bits and whatever is computed of them is a number, for empty, tiny and huge ranges."""
    table = Table("visits", (Column("x", kind),), "visits.csv")
    dataset = DataSet("clinic", (table,), ROW_REPLACED)
    names = ("sum", "mean", "variance", "sample_deviation", "quantile", "minimum")
    both = Aggregate("correlation", "correlation", (Name("x"), Name("x")), (bounds, bounds))
    aggregates = (*(Aggregate(name, name, (Name("x"),), (bounds,)) for name in names), both)
    outputs = tuple((part.name, Name(part.name)) for part in aggregates)
    query = Query(dataset, Scan(table), (), aggregates, outputs, Limits())
    cells = [{"x": cell} for cell in (*bounds, 0, 1e308, -1e308, float("inf"), None, "y")]
    for rows in ([], cells):
        result = table_of(query, rows, PureDP(1))
        for value, (low, high) in zip(result.rows[0], (result.interval(name)[0] for name in result.names), strict=True):
            assert low <= high  # type: ignore[operator]
            assert value == value, "NaN"
        assert QueryResult.from_json(result.to_json()) == result


def test_a_delta_too_small_for_gaussian_noise_leaves_laplace() -> None:
    answer = plan_query(clinic_query("count"), ApproxDP(1, Fraction(1, 10**300)))
    assert answer.loss(1) <= ApproxDP(1, Fraction(1, 10**300))


def test_a_hundred_thousand_public_groups() -> None:
    """Every one is answered, whether or not it occurs, from one engine query."""
    groups = 100_000
    query = clinic_query("count", "sum")
    key = Key("number", Name("cost"), tuple(range(groups)))
    query = dataclasses.replace(query, keys=(key,), outputs=(("number", Name("number")), ("count", Name("count"))))
    answer = plan_query(query, PureDP(20))
    found = Aggregated(tuple((number,) for number in range(0, groups, 2)), ((500, 5000),) * (groups // 2))
    result = run(answer, Odd(found))
    assert len(result.rows) == groups
    assert [row[0] for row in result.rows[:3]] == [0, 1, 2]
    counts = np.array([row[1] for row in result.rows])
    assert (counts[::2] > 400).all()
    assert (counts[1::2] < 100).all()


def test_the_median_on_a_grid_of_two_to_the_thirty_two_cells() -> None:
    """Through the engine, level by level: with negligible noise the exact cell, of 2^32 of them."""
    table = Table("visits", (Column("x", Kind.INTEGER, lower=0, upper=2**32 - 1),), "visits.csv")
    dataset = DataSet("clinic", (table,), ROW)
    median = Aggregate("median", "quantile", (Name("x"),), ((0.0, 2.0**32 - 1),), share=Fraction(1, 2))
    lowest = Aggregate("lowest", "minimum", (Name("x"),), ((0.0, 2.0**32 - 1),))
    outputs = (("median", Name("median")), ("lowest", Name("lowest")))
    query = Query(dataset, Scan(table), (), (median, lowest), outputs, Limits())
    answer = plan_query(query, HUGE)
    assert [search.levels for search in answer.design.searches] == [8]
    values = [17, 2**31 + 12345, 2**31 + 12346, 2**32 - 1, 99]
    result = run(answer, ReferenceEngine(dataset, {"visits": [{"x": value} for value in values]}))
    assert result.rows == ((2**31 + 12345, 17),)
    assert result.interval("median") == ((2**31 + 12345, 2**31 + 12345),)
    assert result.interval("lowest") == ((17, 17),)


def test_the_answer_has_its_parts_as_one_row_of_integers() -> None:
    answer = plan_query(clinic_query("count", "sum"), PureDP(1))
    data = ReferenceEngine(answer.query.dataset, {"visits": some_visits()})
    released = Runner(Use(answer), system_noise())(answer, data)
    assert isinstance(released, Answered)
    assert np.asarray(released).shape == (4,)
    assert Counter(len(numbers.values) for numbers in released.numbers) == {2: 2}


@pytest.mark.parametrize("bounds", [(1e-299, 2e-299), (-3.5, 2.5), (0.1, 0.3), (1e9, 1e9 + 1)], ids=str)
def test_the_interval_of_a_mean_is_one_also_at_the_ends_of_its_range(bounds: tuple[float, float]) -> None:
    """A noisy sum beyond the range leaves the end of the grid, which may lie a little outside the declared bounds."""
    mean = statistic_of(Aggregate("mean", "mean", (Name("x"),), (bounds,)), {"x": Kind.REAL}, has_persons=False)
    assert mean is not None
    for total in (-(10**30), 10**30):
        sums, ones = np.array([total], dtype=object).astype(np.float64), np.array([1.0])
        (low,), (high,) = mean.enclosed([sums, ones], [sums, ones])
        assert low <= high
        assert low == pytest.approx(bounds[0] if total < 0 else bounds[1], abs=(bounds[1] - bounds[0]) / 10)
