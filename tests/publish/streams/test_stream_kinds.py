"""Quantiles, lists and seizable answers of a stream, without a door: truth, sensitivity, intervals, refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.data import Column, Kind
from dither.errors import HandleMisuse, InvalidParameter
from dither.mechanisms.core.kept import converse_anew
from dither.privacy import ZCDP, PureDP
from dither.publish.streams import RankedAnswer, plan_leading, plan_ranked, plan_seizable, plan_stream
from dither.publish.streams.examples import COUNT, TOTAL, clinic_stream, stream_query
from dither.publish.streams.kinds import plan_released
from dither.publish.streams.ranked import levels_of
from dither.verbs.offers import Offers
from dither.verbs.streams import offer_again, ticked_of

#: So much that no noise is left.
HUGE = PureDP(10**5)


def by_site(sites: int, *, persons: bool = False, horizon: int = 4) -> Any:
    names = tuple(f"s{number:02d}" for number in range(sites))
    return stream_query(clinic_stream(persons=persons, sites=names, horizon=horizon), COUNT, by_site=True)


def ticks(*counts: list[int]) -> list[Any]:
    return [np.array(one, dtype=np.int64)[:, None] for one in counts]


def fed(answer: Any, script: list[Any]) -> Any:
    conversation = converse_anew(answer, None)
    return np.stack([conversation.feed(one) for one in script])


def ranked(sites: int, branch: int, loss: Any = HUGE) -> RankedAnswer:
    """Return quantiles over a tree of a given branch, whatever is best."""
    plan = plan_ranked(by_site(sites), loss, ranks=("1/4", "1/2", 1))
    nodes = sum(levels_of(sites, branch))
    return replace(plan, branch=branch, counter=replace(plan.counter, shape=(nodes,)))


@pytest.mark.parametrize(("sites", "branch"), [(1, 2), (2, 2), (5, 2), (9, 3), (16, 4), (17, 4)])
def test_rows_up_to_a_value_are_a_few_nodes(sites: int, branch: int) -> None:
    answer, counts = ranked(sites, branch), np.arange(1, sites + 1)
    nodes = answer.counted(counts)
    assert answer.below(nodes).tolist() == np.cumsum(counts).tolist()
    # Each unit vector shows which nodes a value is in: one of every level.
    for place in range(sites):
        assert answer.counted(np.eye(sites, dtype=int)[place]).sum() == len(answer.levels)


@pytest.mark.parametrize("branch", [2, 3])
def test_one_row_moves_the_nodes_as_far_as_is_said(branch: int) -> None:
    """All changes of one or two rows: in L1 by the number of levels a row, in L2 by its root."""
    answer = ranked(7, branch)
    levels = len(answer.levels)
    for rows in itertools.combinations_with_replacement(range(7), 2):
        change = answer.counted(sum(np.eye(7, dtype=int)[row] for row in rows))
        assert np.abs(change).sum() <= 2 * levels
        assert (change * change).sum() <= 4 * levels


def test_quantiles_without_noise_are_those_of_all_rows() -> None:
    script = ticks([4, 0, 0, 0, 0], [0, 0, 3, 0, 1], [0, 0, 0, 9, 0], [0, 0, 0, 0, 0])
    answer = ranked(5, 2)
    found = answer.presented(fed(answer, script), 0, answer.ranks[1], "")
    so_far = np.cumsum([one[:, 0] for one in script], axis=0)
    for tick, counts in enumerate(so_far):
        rows = np.repeat(np.arange(5), counts)
        expected = [rows[int(np.ceil(len(rows) * share)) - 1] for share in (0.25, 0.5, 1.0)]
        assert found.rows[tick][1:] == tuple(f"s{place:02d}" for place in expected)
    assert [column.name for column in found.columns] == ["tick", "p25", "p50", "max"]


def ends(found: Any) -> Any:
    return zip(found.low, found.high, strict=True)


def test_intervals_hold_what_they_are_for_whatever_the_noise() -> None:
    """Nodes that are all off by as much as the reach of the first tick allows, by any signs: the truth stays within."""
    answer = ranked(4, 2, ZCDP(8))
    counts = np.array([20, 0, 43, 7]) * 10
    nodes, level = answer.counted(counts), answer.ranks[1]
    one = answer.reach(0, level) // (answer.branch * len(answer.levels))
    rows = np.repeat(np.arange(4), counts)
    truth = [f"s{rows[int(np.ceil(len(rows) * float(share))) - 1]:02d}" for share in answer.ranks]
    for signs in itertools.product((-1, 1), repeat=len(nodes)):
        noisy = nodes + one * np.array(signs)
        assert np.abs(answer.below(noisy) - np.cumsum(counts)).max() <= answer.reach(0, level)
        ((low, high),) = ends(answer.presented(noisy[None, :, None], 0, level, ""))
        assert all(least <= value <= most for least, value, most in zip(low[1:], truth, high[1:], strict=True))


def test_a_list_follows_the_largest_groups_and_stays_in_the_end() -> None:
    answer = plan_leading(by_site(3), HUGE, top=1, changes=2, threshold=1)
    script = ticks([5, 0, 0], [0, 9, 0], [0, 0, 20], [40, 0, 0])
    assert fed(answer, script)[:, 0, 0].tolist() == [0, 1, 2, 2]
    whole = plan_leading(by_site(3), HUGE, top=3)
    assert fed(whole, script)[-1, :, 0].tolist() == [0, 1, 2]


def test_by_default_a_list_is_chosen_at_leads_that_the_noise_of_a_choice_does_not_make() -> None:
    """By public facts: ticks, groups, and how far one unit moves a count."""
    few, many = (plan_leading(by_site(sites, persons=True, horizon=46), PureDP(1), top=1) for sites in (2, 20))
    assert (few.test.positives, many.test.positives) == (3, 3)
    # Two wards at 1 to 2 with 60 visits an hour are 920 visits apart at the end; ten changes waited for 822.
    assert few.test.threshold < 230
    assert many.test.threshold > float(many.choice.scale) * math.log(20)
    assert plan_leading(by_site(2), PureDP(1), top=1, changes=7).test.positives == 7


def test_an_open_list_goes_on_by_the_terms_with_which_it_began() -> None:
    """Other terms with the same noise would be another release than the one that was paid for."""
    query = by_site(3)
    new = Offers(query.dataset).stream(query, epsilon=1, released="top", top=1)
    assert new.asked["kind"].keys() == {"changes", "threshold", "top"}
    again = offer_again(query.dataset, new.asked, PureDP(1))
    assert (again.mechanism, again.asked) == (new.mechanism, new.asked)
    for kind, terms in (
        ({"top": 1}, (10, 95)),
        ({"top": 1, "threshold": 5}, (10, 5)),
        ({"top": 1, "changes": 2}, (2, 24)),
    ):
        former = {**new.asked, "kind": kind}
        offered = offer_again(query.dataset, former, PureDP(1))
        assert offered.asked == former
        test: Any = ticked_of(offered)
        assert (test.test.positives, test.test.threshold) == terms


def test_a_list_costs_the_test_and_every_choice() -> None:
    for loss in (PureDP(1), PureDP("1/3")):
        answer = plan_leading(by_site(5, persons=True), loss, top=2, changes=3)
        assert answer.loss(1) <= loss
        assert answer.loss(1).pure is not None
        assert float(answer.loss(1).pure) > 0.99 * float(loss.epsilon)
    # Two rows at each of two ticks.
    assert answer.stability == 4


def test_what_is_seizable_adds_up_ticks_and_goes_on() -> None:
    script = ticks([1, 0], [2, 5], [0, 1], [3, 0])
    running = plan_seizable(by_site(2), HUGE)
    assert fed(running, script)[..., 0].tolist() == [[1, 0], [3, 5], [3, 6], [6, 6]]
    alone = plan_seizable(by_site(2), HUGE, released="tick")
    assert fed(alone, script)[..., 0].tolist() == [[1, 0], [2, 5], [0, 1], [3, 0]]
    later = converse_anew(running, None)
    later.go_on(2, np.array([[3], [5]]))
    later.add(script[2])
    with pytest.raises(HandleMisuse, match="later tick"):
        later.go_on(3, np.array([[3], [6]]))
    assert later.report()[:, 0].tolist() == [3, 6]
    assert later.report()[:, 0].tolist() == [3, 6]
    with pytest.raises(HandleMisuse, match="ended"):
        later.report()


def test_what_is_kept_of_an_open_tick_is_noisy() -> None:
    """With noise of a scale of ten million two memories that hold the same rows are alike with a chance below 1e-9."""
    from dither.mechanisms import Intrusion

    answer = plan_seizable(by_site(4), PureDP("1e-7"))
    seen = []
    for _ in range(2):
        conversation = converse_anew(answer, None)
        conversation.add(np.ones((4, 1), dtype=np.int64))
        seen.append(conversation._handles[0].ask(Intrusion.UNANNOUNCED).tolist())
        with pytest.raises(HandleMisuse, match="one unannounced"):
            conversation._handles[0].ask(Intrusion.UNANNOUNCED)
    assert seen[0] != seen[1]
    assert max(map(abs, (*seen[0], *seen[1]))) > 10


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"released": "decayed"}, "decay"),
        ({"released": "decayed", "decay": 1}, "decay"),
        ({"released": "tick", "decay": "1/2"}, "it is for decayed"),
        ({"released": "top"}, "top"),
        ({"released": "top", "top": 9}, "top"),
        ({"released": "quantiles", "top": 1}, "it is for top"),
        ({"released": "quantiles", "shares": {"visits": 1}}, "shares"),
        ({"released": "quantiles", "ranks": ["3/2"]}, "ranks"),
        ({"released": "sometimes"}, "one of running, tick, decayed, quantiles, top"),
        ({"kept": "somehow"}, "kept"),
        ({"released": "decayed", "decay": "1/2", "kept": "noisy"}, "kept"),
    ],
)
def test_odd_words_are_refused(how: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameter, match=says):
        plan_released(by_site(3), PureDP(1), **how)


def test_only_one_count_is_ranked_and_only_rows_are_seizable() -> None:
    sums = stream_query(clinic_stream(persons=False), TOTAL, by_site=True)
    for plan in (plan_ranked, lambda *given: plan_leading(*given, top=1)):
        with pytest.raises(InvalidParameter, match="one COUNT"):
            plan(sums, PureDP(1))
    with pytest.raises(InvalidParameter, match="rows added or removed"):
        plan_seizable(by_site(2, persons=True), PureDP(1))


def test_people_need_less_noise_where_sums_decay_than_where_they_do_not() -> None:
    """The noise of decayed sums does not depend on the horizon."""
    query = by_site(2, persons=True, horizon=8760)
    far = plan_stream(query, ZCDP("1/2"), released="decayed", decay="0.9").reach(8759, 0, "0.95")
    near = plan_stream(query, ZCDP("1/2"), released="decayed", decay="0.9", horizon=50).reach(49, 0, "0.95")
    assert far == near < plan_stream(query, ZCDP("1/2")).reach(8759, 0, "0.95")


def test_answers_say_from_which_number_of_rows_on_a_tick_is_cut_off() -> None:
    """A cost is at most 3; in 2^60 shares of 1 there is room for what is left of all ticks before."""
    query = stream_query(clinic_stream(persons=False), TOTAL)
    slow = plan_stream(query, ZCDP("1/2"), released="decayed", decay="0.999")
    shares = sum(math.floor(2**16 * 0.999**lag) for lag in range(12_000))
    assert any(f"adds up {2**60 // shares // 3} rows" in note for note in slow.notes) == (2**60 // shares // 3 < 2**31)
    slower = plan_stream(query, ZCDP("1/2"), released="decayed", decay="0.9999")
    assert any("it is cut off" in note for note in slower.notes)
    limit = int(slower.counters[0].limits(0, 1).min())
    few = plan_stream(stream_query(clinic_stream(persons=False), COUNT), HUGE, released="decayed", decay="1/2")
    assert not any("it is cut off" in note for note in few.notes)
    # A single row that would be cut off is refused, by its declared bounds alone.
    ones = replace(TOTAL, bounds=((0.0, 2.0**31 - 1),), granularity=1.0)
    wide = stream_query(clinic_stream(persons=False), ones)
    assert limit < 2**31 - 1
    with pytest.raises(InvalidParameter, match="narrower bounds, or a faster decay"):
        plan_stream(wide, PureDP(2**60), released="decayed", decay="0.9999")


@pytest.mark.parametrize("function", ["sum", "mean", "variance"])
@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("1/200")], ids=str)
@pytest.mark.parametrize("how", [{}, {"released": "tick"}, {"released": "decayed", "decay": "0.9"}], ids=str)
@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.REAL], ids=str)
def test_numbers_have_the_finest_grid_whose_noise_fits(
    kind: Kind, how: dict[str, Any], loss: Any, function: str
) -> None:
    """Reals have 2^24 steps by themselves, which is more than a counter's noise takes; nothing was answered then."""
    clinic = clinic_stream(persons=False)
    columns = (*clinic.tables[0].columns[:-1], Column("cost", kind, lower=0, upper=1000))
    clinic = replace(clinic, tables=(replace(clinic.tables[0], columns=columns),))
    asked = replace(TOTAL, name="found", function=function, bounds=((0.0, 1000.0),))
    if (function, how.get("released"), loss) == ("variance", "decayed", ZCDP("1/200")):
        # Squares of which a decayed sum has too little room.
        with pytest.raises(InvalidParameter, match="larger units"):
            plan_stream(stream_query(clinic, asked), loss, **how)
        return
    planned = plan_stream(stream_query(clinic, asked), loss, **how)
    assert planned.loss(1) <= loss
    (aggregate,) = planned.query.aggregates
    (statistic,) = planned.arrivals.statistics
    step = Fraction(aggregate.granularity or Fraction(1000, 2**24))
    if function != "variance":
        # A number that fills its bounds comes back within a step of the grid, and the grid is not coarser than need be.
        ends = [np.array([part.most]) for part in statistic.measured]
        assert 1000 - step <= statistic.values(ends)[0] <= 1000
    if aggregate.granularity is not None:
        assert kind is Kind.REAL or aggregate.granularity >= 1
        finer = replace(asked, granularity=aggregate.granularity / 4)
        with pytest.raises(InvalidParameter, match="larger units"):
            plan_stream(stream_query(clinic, finer), loss, **how)


@pytest.mark.parametrize(("fits", "too_little"), [(PureDP("1e-15"), PureDP("1e-19")), (ZCDP("1e-30"), ZCDP("1e-39"))])
def test_intervals_of_ticks_by_themselves_fit_into_64_bits(fits: Any, too_little: Any) -> None:
    """More noise than that was paid for, and could not be shown afterwards."""
    query = stream_query(clinic_stream(persons=False), COUNT)
    with pytest.raises(InvalidParameter, match="or lose more"):
        plan_stream(query, too_little, released="tick")
    widest = plan_stream(query, fits, released="tick")
    shown = widest.presented(np.full((2, *widest.answer_shape), 2**62), 0, 1 - Fraction(1, 10**15), "")
    assert all(low[1] < 2**62 < high[1] for low, high in zip(shown.low, shown.high, strict=True))


def test_intervals_of_seizable_answers_fit_into_64_bits() -> None:
    """More noise than that was paid for, and could not be shown afterwards."""
    with pytest.raises(InvalidParameter, match="of noise of scale at most 1099511627776"):
        plan_seizable(by_site(2), PureDP("1e-20"))
    longest = plan_seizable(by_site(2, horizon=2**20), PureDP(Fraction(1, 2**40)))
    assert 2**40 < longest.reach(2**20 - 1, 0, 1 - Fraction(1, 10**12)) < 2**61
