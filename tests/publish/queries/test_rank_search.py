"""Quantiles by the exponential mechanism in queries: intervals cover, ``auto`` decides by public facts, doors agree."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.checks.law import coverage_is_refuted
from dither.data import Column, DataSet, Kind, Limits, Name, Scan, Table
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.mechanisms import Runner
from dither.mechanisms.exponential_quantiles import Rows
from dither.mechanisms.line_choice import SUM_OF_LARGEST
from dither.noise import system_noise
from dither.privacy import ROW, ZCDP, ApproxDP, PureDP, Use
from dither.publish.queries import Aggregate, Key, Query, plan_query, present, quote
from dither.publish.queries.measures import on_grid
from dither.publish.queries.rank_search import RankPart, RankSearch

FALSE_ALARM = 1e-9
F = Fraction


def search_of(share: str, most: float = 2.0**32 - 1) -> tuple[RankSearch, RankPart]:
    function = {"0": "minimum", "1": "maximum"}.get(share, "quantile")
    wanted = Aggregate("q", function, (Name("x"),), ((0.0, most),), share=F(share))
    made = RankSearch(on_grid(wanted, 0, {"x": Kind.INTEGER}, origin="lower"), (wanted,), 1)
    return made, RankPart(F(1), PureDP("1/4"), PureDP("1/4"), F(1))


def found(share: str, values: NDArray[np.int64], times: int) -> Any:
    """Return values and intervals of many independent searches of the same rows.

    A single quantile is chosen in one level, and its scouts choose among all rows: no draw depends on an earlier one.
    So each is made for all searches at once.
    """
    search, part = search_of(share)
    rows, source = Rows.of(zip(values.tolist(), [1] * len(values), strict=True), search.cells), system_noise()
    assert len(search.recursion.levels) == 1
    together = []

    def run(choice: Any, lines: Any, _: Fraction) -> Any:
        together.append(choice.draw_many(lines, times, source)[:, 0])
        return together[-1][:1]

    search.choose(part, [rows], run)
    return search.read(part, times, together, 0.05)[0]


def quantile(values: NDArray[np.int64], share: str) -> int:
    ordered = sorted(values.tolist())
    wanted = max(F(share) * len(ordered), 1)
    return int(next(value for number, value in enumerate(ordered, 1) if number >= wanted))


@pytest.mark.statistical(n=400, false_alarm=FALSE_ALARM, catches="scouts that aim at the quantile itself")
@pytest.mark.parametrize("share", ["0", "1/10", "1/2", "1"])
@pytest.mark.parametrize("shape", ["spread", "heaps", "few"])
def test_quantiles_are_covered(share: str, shape: str) -> None:
    """n = 400 searches of a grid of 2^32 cells: stated 95 %, designed 99 %."""
    values = {
        "spread": np.linspace(0, 2**32 - 1, 901).astype(np.int64),
        "heaps": np.repeat(np.array([5, 2**20, 2**31, 2**32 - 1]), [900, 30, 1900, 200]),
        "few": np.array([7, 2**30, 2**31]),
    }[shape]
    value, low, high = found(share, values, 400)
    true = quantile(values, share)
    assert not coverage_is_refuted(int(((low <= true) & (true <= high)).sum()), 400, 0.95, FALSE_ALARM)
    assert ((low <= value) & (value <= high)).all()
    if shape == "heaps" and share in ("1/10", "1/2"):
        # A heap far larger than the offset is known for sure: no interval reaches its neighbours.
        assert np.median(high - low) == 0
    if shape == "spread" and share == "1/2":
        # The twin: an interval of a tenth of the length.
        near = np.abs(value - true) <= (high - low) / 200
        assert coverage_is_refuted(int(near.sum()), 400, 0.95, FALSE_ALARM)


def test_intervals_below_the_planned_failure_are_the_whole_range() -> None:
    search, part = search_of("1/2", most=99.0)
    chosen = [np.zeros((1, 1), dtype=np.int64) + 50 for _ in range(search.levels)]
    for failure, expected in ((0.05, [50, 49, 50]), (search.failure, [50, 49, 50]), (search.failure / 2, [50, 0, 99])):
        assert [int(end[0]) for end in search.read(part, 1, chosen, failure)[0]] == expected


def dataset(unit: Any = ROW, most: int = 100, **limits: Any) -> DataSet:
    columns = (Column("person", Kind.INTEGER), Column("site", Kind.TEXT, categories=("a", "b")))
    columns += (Column("x", Kind.INTEGER, lower=0, upper=most),)
    person = "person" if unit is not ROW else None
    return DataSet("clinic", (Table("visits", columns, "visits.csv", person=person),), unit, **limits)


def asked(*shares: str, keys: tuple[Key, ...] = (), of: DataSet | None = None) -> Query:
    declared = of or dataset()
    names = [f"q{number}" for number in range(len(shares))]
    most = float(declared.tables[0].columns[-1].upper)  # type: ignore[arg-type]
    wanted = tuple(
        Aggregate(name, "quantile", (Name("x"),), ((0.0, most),), share=F(share))
        for name, share in zip(names, shares, strict=True)
    )
    shown = tuple((name, Name(name)) for name in [*(key.name for key in keys), *names])
    return Query(declared, Scan(declared.tables[0]), keys, wanted, shown, Limits())


def test_auto_decides_by_public_facts() -> None:
    many = dataset(most=2**16 - 1)
    one, site = asked("1/2", of=many), Key("site", Name("site"), ("a", "b"))
    for loss in (PureDP("0.1"), PureDP(1), ZCDP("1/2"), ApproxDP(1, "1e-6")):
        assert plan_query(one, loss).quantiles == "exponential"
        assert plan_query(asked("1/2", keys=(site,), of=many), loss).quantiles == "exponential"
        # A tree of few cells has few levels, many quantiles share them, and it sees where the rows end.
        assert plan_query(asked("1/2"), loss).quantiles == "tree"
        assert plan_query(asked(*(f"{k}/20" for k in range(1, 20)), of=many), loss).quantiles == "tree"
        assert plan_query(asked("0", of=many), loss).quantiles == "tree"
    # Groups that are discovered, and shares without scores, need a tree.
    discovered = asked("1/2", keys=(Key("site", Name("site"), None),), of=many)
    odd = asked("1/65537", of=many)
    for query, loss in ((discovered, ApproxDP(1, "1e-6")), (odd, PureDP(1))):
        assert plan_query(query, loss).quantiles == "tree"
        with pytest.raises(InvalidParameter, match="quantiles"):
            plan_query(query, loss, quantiles="exponential")
    with pytest.raises(InvalidParameter, match="quantiles"):
        plan_query(one, PureDP(1), quantiles="forest")
    assert plan_query(one, PureDP(1), quantiles="tree").quantiles == "tree"


@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("1/2"), ApproxDP(1, "1e-6")])
@pytest.mark.parametrize("limits", [{"rows": 3}, {"groups": 2, "rows_per_group": 2}])
def test_people_are_priced_by_their_rows(loss: Any, limits: dict[str, int]) -> None:
    people = dataset(person_unit("person"), **limits)
    site = Key("site", Name("site"), ("a", "b"))
    answer = plan_query(asked("1/4", "1/2", keys=(site,), of=people), loss, quantiles="exponential")
    assert answer.loss(1) <= loss
    part = answer.design.levels[0]
    assert isinstance(part, RankPart)
    assert part.rows == limits.get("rows", 4)


def test_answers_and_quotes_say_how_quantiles_are_found() -> None:
    query = asked("1/4", "1/2", "3/4", keys=(Key("site", Name("site"), ("a", "b")),))
    rows = [{"person": n, "site": "ab"[n % 2], "x": n % 101} for n in range(2020)]
    rows += [{"person": 0, "site": "a", "x": None}, {"person": 0, "site": "z", "x": 1}]
    answer = plan_query(query, PureDP(10**6), quantiles="exponential")
    engine = ReferenceEngine(query.dataset, {"visits": rows})
    released = Runner(Use(answer), system_noise())(answer, engine)
    shown = present(answer, released)
    for row, low, high in zip(shown.rows, shown.low, shown.high, strict=True):
        mine = np.array([r["x"] for r in rows if r["site"] == row[0] and r["x"] is not None])
        for share, value, least, most in zip(("1/4", "1/2", "3/4"), row[1:], low[1:], high[1:], strict=True):
            assert abs(value - quantile(mine, share)) <= 1
            assert least <= quantile(mine, share) <= most
    law = quote(query, PureDP(1), quantiles="exponential").columns[0].mechanism
    assert law == "exponential mechanism on 101 cells, 8 choices"
    assert "tree" in quote(query, PureDP(1), quantiles="tree").columns[0].mechanism


@pytest.mark.parametrize("share", ["1/4", "1/2", "2/3"])
def test_losses_at_which_scores_would_not_fit_into_64_bits_are_refused(share: str) -> None:
    """Losses of 2^-30 to 2^-80: a row moves no score by more than is declared, or nothing is planned."""
    rows = [Rows.of([(5, count), (90, 3)], 101) for count in (20, 21)]
    is_planned = []
    for power in range(30, 81):
        try:
            answer = plan_query(asked(share), PureDP(F(1, 2**power)), quantiles="exponential")
        except InvalidParameter:
            is_planned.append(False)
            continue
        is_planned.append(True)
        search, part = answer.design.searches[0], answer.design.levels[0]
        assert isinstance(search, RankSearch)
        assert isinstance(part, RankPart)
        seen: list[list[Any]] = [[], []]
        for side, mine in zip(seen, rows, strict=True):

            def run(choice: Any, lines: Any, stability: Fraction, side: list[Any] = side) -> Any:
                side.append((lines, stability))
                return np.zeros(choice.shape, dtype=np.int64)

            search.choose(part, [mine], run)
        for (here, stability), (there, _) in zip(*seen, strict=True):
            moved = SUM_OF_LARGEST.measure(here, there)
            assert moved is not None
            assert moved <= stability
    assert is_planned == sorted(is_planned, reverse=True)
    assert is_planned[0]
    assert not is_planned[-1]
    with pytest.raises(InvalidParameter, match="quantiles"):
        plan_query(asked(share), PureDP(F(1, 2**80)), quantiles="exponential")
