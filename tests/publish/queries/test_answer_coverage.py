"""Intervals cover what they say as often as they say, and twins that claim too much are refuted.

Groups are replicates: many public groups with the same rows give many independent draws in one release. Each test
states n; ``coverage_is_refuted`` has a false alarm of 1e-9, and would notice coverage below about 0.92 at n = 1,500.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.checks.law import coverage_is_refuted
from dither.data import Call, Column, DataSet, Expression, Kind, Limits, Name, Scan, Table
from dither.data.reference import ReferenceEngine
from dither.mechanisms import DiscreteGaussian, Geometric, Runner
from dither.noise import system_noise
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, PureDP, Use
from dither.publish.queries import Aggregate, Answer, Key, Query, QueryResult, plan_query, present
from dither.publish.queries.measures import on_grid
from dither.publish.queries.quantiles import Search
from dither.testing.looks import covers, trials_of

FALSE_ALARM = 1e-9
REPLICATES = 1500
ROWS = [(3, 20.5), (10, 31.0), (7, 99.0), (25, -4.0), (None, 55.5), (2, None)]
TABLE = Table(
    "visits",
    (Column("group", Kind.INTEGER), Column("x", Kind.INTEGER), Column("y", Kind.REAL)),
    "visits.csv",
)
DATASET = DataSet("clinic", (TABLE,), ROW)


def clamped() -> tuple[list[int], list[tuple[int, float]]]:
    """Return what counts of the rows: x clamped to [0, 16], and pairs with y clamped to [0, 64]."""
    xs = [min(max(x, 0), 16) for x, _ in ROWS if x is not None]
    pairs = [(min(max(x, 0), 16), min(max(y, 0.0), 64.0)) for x, y in ROWS if x is not None and y is not None]
    return xs, pairs


def truth(function: str) -> float:
    """Return the statistic of the clamped rows, by Python's own statistics."""
    xs, pairs = clamped()
    ys = [y for _, y in pairs]
    of_pairs = [x for x, _ in pairs]
    return float(
        {
            "count": lambda: len(ROWS),
            "count_of": lambda: len(xs),
            "sum": lambda: sum(xs),
            "mean": lambda: statistics.fmean(xs),
            "variance": lambda: statistics.pvariance(xs),
            "deviation": lambda: statistics.pstdev(xs),
            "sample_variance": lambda: statistics.variance(xs),
            "sample_deviation": lambda: statistics.stdev(xs),
            "covariance": lambda: statistics.covariance(of_pairs, ys) * (len(pairs) - 1) / len(pairs),
            "correlation": lambda: statistics.correlation(of_pairs, ys),
        }[function]()
    )


def aggregate(function: str) -> Aggregate:
    x, y = (Name("x"), (0.0, 16.0)), (Name("y"), (0.0, 64.0))
    arguments = {"count": (), "covariance": (x, y), "correlation": (x, y)}.get(function, (x,))
    bounds = () if function.startswith("count") else tuple(bound for _, bound in arguments)
    return Aggregate(function, function, tuple(name for name, _ in arguments), bounds)


def query(
    *aggregates: Aggregate, outputs: dict[str, Expression] | None = None, groups: int = REPLICATES, **others: Any
) -> Query:
    key = Key("group", Name("group"), tuple(range(groups)))
    shown = outputs or {part.name: Name(part.name) for part in aggregates}
    return Query(DATASET, Scan(TABLE), (key,), aggregates, tuple(shown.items()), Limits(), **others)


def engine(groups: int = REPLICATES, rows: list[tuple[Any, Any]] = ROWS) -> ReferenceEngine:
    return ReferenceEngine(
        DATASET, {"visits": [{"group": group, "x": x, "y": y} for group in range(groups) for x, y in rows]}
    )


def run(answer: Answer, data: ReferenceEngine) -> QueryResult:
    return present(answer, Runner(Use(answer), system_noise())(answer, data))


def covered(result: QueryResult, name: str, value: float) -> int:
    return sum(bool(low - 1e-9 <= value <= high + 1e-9) for low, high in result.interval(name))  # type: ignore[operator]


FUNCTIONS = (
    "count",
    "count_of",
    "sum",
    "mean",
    "variance",
    "deviation",
    "sample_variance",
    "covariance",
    "correlation",
)


@pytest.fixture(scope="module")
def replicates() -> ReferenceEngine:
    return Memo(engine())


@pytest.mark.statistical(false_alarm=9 * FALSE_ALARM)
@pytest.mark.parametrize("loss", [PureDP(12), ZCDP(9)], ids=["laplace", "gaussian"])
def test_every_statistic_is_covered(loss: Loss, replicates: ReferenceEngine) -> None:
    """n = 1,500 groups for each statistic. Would catch: a part's failure not shared, a wrong formula at a box's end."""
    answer = plan_query(query(*map(aggregate, FUNCTIONS)), loss)
    result = run(answer, replicates)
    for function in FUNCTIONS:
        hits = covered(result, function, truth(function))
        assert not coverage_is_refuted(hits, REPLICATES, 0.95, FALSE_ALARM), (function, hits)


@pytest.mark.statistical(false_alarm=FALSE_ALARM, miss=1e-12)
@pytest.mark.parametrize("function", ["count", "sum"])
def test_intervals_of_an_eighth_of_the_noise_are_refuted(function: str, replicates: ReferenceEngine) -> None:
    """The twin: what was released with the noise of epsilon 0.1, read as if it had that of epsilon 0.8 (n = 1,500).

    Values below 0 are shown at 0, so that intervals miss mostly above: the twin covers about two thirds at most.
    """
    honest = plan_query(query(aggregate(function)), PureDP("0.1"))
    boastful = plan_query(query(aggregate(function)), PureDP("0.8"))
    released = Runner(Use(honest), system_noise())(honest, replicates)
    for answer, is_false in ((honest, False), (boastful, True)):
        hits = covered(present(answer, released), function, truth(function))
        assert coverage_is_refuted(hits, REPLICATES, 0.95, FALSE_ALARM) == is_false


def test_intervals_have_power() -> None:
    """Coverage alone could be had by intervals of infinite length: at a large loss they are short."""
    result = run(plan_query(query(*map(aggregate, FUNCTIONS), groups=20), PureDP(4000)), engine(20))
    for function in FUNCTIONS:
        lengths = [high - low for low, high in result.interval(function)]  # type: ignore[operator]
        assert max(lengths) <= 0.2 * abs(truth(function)), function


RATIOS: dict[str, tuple[Expression, Callable[[], float]]] = {
    "ratio": (Call("divide", (Name("sum"), Name("count_of"))), lambda: truth("sum") / truth("count_of")),
    "product": (Call("multiply", (Name("sum"), Name("count"))), lambda: truth("sum") * truth("count")),
    "difference": (Call("subtract", (Name("sum"), Name("count"))), lambda: truth("sum") - truth("count")),
}


@pytest.mark.statistical(false_alarm=FALSE_ALARM)
@pytest.mark.parametrize("name", sorted(RATIOS))
def test_expressions_over_aggregates_are_covered(name: str, replicates: ReferenceEngine) -> None:
    """n = 1,500. Would catch: parts of an expression that each fail with the whole 5 %."""
    expression, value = RATIOS[name]
    parts = [aggregate(function) for function in ("sum", "count", "count_of")]
    result = run(plan_query(query(*parts, outputs={name: expression}), PureDP(30)), replicates)
    assert not coverage_is_refuted(covered(result, name, value()), REPLICATES, 0.95, FALSE_ALARM)


@pytest.mark.statistical(false_alarm=FALSE_ALARM, miss=1e-9)
def test_after_limit_one_intervals_still_cover() -> None:
    """n = 500 releases of 50 equal groups, the largest shown. Alone, its interval covers (1 - 0.025)^50 = 28 %."""
    groups, releases = 50, 500
    data = engine(groups)
    order = ((Name("count"), True),)
    chosen = plan_query(query(aggregate("count"), groups=groups, order=order, limit=1), PureDP("0.1"))
    plain = plan_query(query(aggregate("count"), groups=groups), PureDP("0.1"))
    shown = pretended = 0
    exact = Memo(data)
    for _ in range(releases):
        result = run(chosen, exact)
        assert len(result.rows) == 1
        assert result.is_simultaneous
        shown += covered(result, "count", len(ROWS))
        every = run(plain, exact)
        largest = max(range(groups), key=lambda place: every.rows[place][0])  # type: ignore[arg-type, return-value]
        low, high = every.interval("count")[largest]
        pretended += bool(low <= len(ROWS) <= high)  # type: ignore[operator]
    assert not coverage_is_refuted(shown, releases, 0.95, FALSE_ALARM)
    assert coverage_is_refuted(pretended, releases, 0.95, FALSE_ALARM)
    assert 0.15 < pretended / releases < 0.42


class Memo(ReferenceEngine):
    """Remembers answers, so that many releases of the same data are quick."""

    def __init__(self, inner: ReferenceEngine) -> None:
        super().__init__(inner.dataset, inner.frames)
        self._known: dict[Any, Any] = {}

    def aggregate(self, aggregation: Any) -> Any:
        if aggregation not in self._known:
            self._known[aggregation] = super().aggregate(aggregation)
        return self._known[aggregation]


@pytest.mark.statistical(false_alarm=FALSE_ALARM, miss=1e-9)
def test_discovered_groups_are_covered_given_that_they_appeared() -> None:
    """About 240 of 2,000 groups of 10 rows pass a threshold of about 24: the count that decided does not cover."""
    groups, rows = 2000, 10
    data = engine(groups, [(1, 1.0)] * rows)
    key = Key("group", Name("group"), None)
    asked = Query(DATASET, Scan(TABLE), (key,), (aggregate("count"),), (("count", Name("count")),), Limits())
    answer = plan_query(asked, ApproxDP("0.2", "0.05"), noise="laplace")
    threshold = answer.design.discovery.threshold  # type: ignore[union-attr]
    assert rows + 10 < threshold < rows + 18, "the case is one in which few groups pass"
    result = run(answer, data)
    shown = len(result.rows)
    assert 100 < shown < 500
    assert not coverage_is_refuted(covered(result, "count", rows), shown, 0.95, FALSE_ALARM)
    # The twin: the noisy numbers that passed, with the interval of their noise.
    decided = Geometric(scale=answer.design.discovery.scale)  # type: ignore[union-attr]
    tested = decided.draw_many(rows, 200_000, system_noise())
    passed = tested[tested >= threshold][:2000]
    inside = int((np.abs(passed - rows) <= decided.reach(0.05)).sum())
    assert coverage_is_refuted(inside, len(passed), 0.95, FALSE_ALARM)


def searched(share: str, values: NDArray[np.int64], noise: Any, groups: int, bounds: tuple[float, float]) -> Any:
    """Return what a search releases for many groups with the same values, by counting cells with NumPy."""
    function = {"0": "minimum", "1": "maximum"}.get(share, "quantile")
    wanted = Aggregate("q", function, (Name("x"),), (bounds,), share=Fraction(share))
    search = Search(on_grid(wanted, 0, {"x": Kind.INTEGER}, origin="lower"), (wanted,))
    source = system_noise()

    def ask(level: int, nodes: NDArray[np.int64], is_first: NDArray[np.bool_]) -> NDArray[np.int64]:
        children = search.children(level)
        cells = np.sort(values - int(bounds[0])) >> search.shift(level)
        wanted_cells = nodes[:, :, None] * children + np.arange(children)
        counts = np.searchsorted(cells, wanted_cells, "right") - np.searchsorted(cells, wanted_cells, "left")
        counts = np.where(is_first[:, :, None], counts, 0)
        drawn = type(noise)(**{name: getattr(noise, name) for name in ("scale", "sigma") if hasattr(noise, name)})
        return counts + drawn.draw_many(0, counts.size, source).reshape(counts.shape)

    return search, search.found(noise, groups, search.descend(noise, groups, ask), 0.05)[0]


def quantile(values: NDArray[np.int64], share: str) -> int:
    """Return the smallest value with at least that share of values at or below it, and at least one."""
    ordered = sorted(values.tolist())
    wanted = max(Fraction(share) * len(ordered), 1)
    return next(value for number, value in enumerate(ordered, 1) if number >= wanted)


@pytest.mark.statistical(false_alarm=FALSE_ALARM)
@pytest.mark.parametrize("noise", [Geometric(scale=4), DiscreteGaussian(sigma=6)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("share", ["0", "1/10", "1/2", "9/10", "1"])
@pytest.mark.parametrize("shape", ["spread", "heaps", "few"])
def test_quantiles_are_covered(noise: Any, share: str, shape: str) -> None:
    """n = 1,500 descents of a grid of 2^32 cells. Would catch: an edge read with the reach of another level."""
    values = {
        "spread": np.linspace(0, 2**32 - 1, 4001).astype(np.int64),
        "heaps": np.repeat(np.array([5, 2**20, 2**31, 2**32 - 1]), [900, 30, 900, 200]),
        "few": np.array([7, 2**30, 2**31]),
    }[shape]
    true = quantile(values, share)

    def some(groups: int) -> list[bool]:
        search, (_, low, high) = searched(share, values, noise, groups, (0.0, 2.0**32 - 1))
        assert search.levels == 8
        return ((low <= true) & (true <= high)).tolist()  # type: ignore[no-any-return]

    assert covers(trials_of(some, 250), 0.95, most=1500, false_alarm=FALSE_ALARM)


@pytest.mark.statistical(false_alarm=1e-9, miss=1e-9)
def test_quantile_intervals_are_short_and_far_shorter_ones_are_refuted() -> None:
    """Spread values, n = 1,500: the scouts keep intervals within a few times the rank in doubt; a thirtieth fails."""
    noise, groups = Geometric(scale=4), 1500
    values = np.linspace(0, 2**32 - 1, 40_001).astype(np.int64)
    search, (found, low, high) = searched("1/2", values, noise, groups, (0.0, 2.0**32 - 1))
    reach = search.reach(noise, search.levels - 1, Fraction(1, 2), 0.05)
    doubt = reach / len(values) * 2**32
    assert np.median(high - low) <= 5 * doubt
    assert np.median(np.abs(found - quantile(values, "1/2"))) <= doubt
    # The twin trusts every edge as if it had a thirtieth of the noise.
    true = quantile(values, "1/2")
    error = np.abs(found - true)
    inside = int((error <= doubt / 30).sum())
    assert coverage_is_refuted(inside, groups, 0.95, FALSE_ALARM)
