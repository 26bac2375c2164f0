"""The parts of the attacks on classes, paths, zones, ratings and traces, against brute force and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.attack import anonymity, foreground, models, places, recommenders

DRAWN = np.random.default_rng()


def test_what_goes_with_what_is_learned_from_classes_that_do_not_say_it() -> None:
    """Kinds that always have one value: after a few rounds every class of two kinds is read rightly, with certainty."""
    kinds = np.array(list(itertools.permutations(range(4), 2)) * 5)
    turned = np.arange(len(kinds)) % 2 == 1
    listed = np.where(turned[:, None], kinds[:, ::-1], kinds)
    straight, course = anonymity.learned_chances(kinds, listed, 4, 20)
    assert ((straight < 0.5) == turned).all()
    assert np.abs(straight - 0.5).min() > 0.4
    # Before anything is learned both readings are equally likely; the first round already leans to the right one.
    assert np.abs(course[0] - 0.5).max() < np.abs(straight - 0.5).min()
    # Two kinds that are always together can be read either way, and stay so.
    same = np.zeros((6, 2), dtype=np.int64)
    assert anonymity.learned_chances(same, np.tile([0, 1], (6, 1)), 2, 5)[0] == pytest.approx(0.5)


def test_rules_count_those_who_look_alike_in_one_class() -> None:
    classes, seen = DRAWN.integers(0, 3, size=40), DRAWN.integers(0, 2, size=(40, 2))
    hidden = DRAWN.integers(0, 4, size=40)
    found = anonymity.rules(classes, seen, hidden, 2, 4)
    for person in range(40):
        alike = (classes == classes[person]) & (seen == seen[person]).all(axis=1)
        assert found[person].tolist() == [int((hidden[alike] == value).sum()) for value in range(4)]


def test_how_often_a_missing_edge_is_found() -> None:
    """Every way in which three decoys can be struck out, with its probability."""
    for thesis in (0.5, 1.0, 5.0, 10.0):
        left = places.chance_of_no_branch(thesis)
        total = 0.0
        for stay in itertools.product((0, 1), repeat=3):
            total += math.prod(left if each else 1 - left for each in stay) / (1 + sum(stay))
        assert places.expected_share(thesis) == pytest.approx(total)
    # The figures of the note on the thesis: all three struck out.
    alone = [(1 - places.chance_of_no_branch(thesis)) ** 3 for thesis in (0.5, 1.0, 5.0, 10.0)]
    assert [round(share, 2) for share in alone] == [0.18, 0.24, 0.79, 0.98]
    lots = DRAWN.uniform(size=(50, 4))
    is_left = DRAWN.uniform(size=(50, 4)) < 0.5
    for row, chosen in zip(is_left, places.guess(is_left, lots), strict=True):
        assert row[chosen] or not row.any()


def test_centres_are_means_of_what_is_nearest() -> None:
    records, centres = DRAWN.uniform(size=(7, 9, 2)), DRAWN.uniform(size=(7, 2, 2))
    moved = models.next_centres(records, centres)
    for number in range(7):
        nearest = [min((0, 1), key=lambda c: math.dist(row, centres[number, c])) for row in records[number]]
        for cluster in (0, 1):
            mine = records[number][np.array(nearest) == cluster]
            assert moved[number, cluster] == pytest.approx(mine.mean(axis=0) if len(mine) else centres[number, cluster])


def test_a_point_of_a_segment_fits_and_any_other_does_not() -> None:
    start, end = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[3.0, 4.0], [1.0, 1.0]])
    on = start + 0.3 * (end - start)
    assert models.off_the_line(on, start, end) == pytest.approx([0, 0])
    assert models._beyond(on, start, end) == pytest.approx([0, 0])
    aside = start + np.array([-4.0, 3.0])
    assert models.off_the_line(aside, start, end) == pytest.approx([5, 5])
    assert models._beyond(start[:1] - 0.2 * (end - start)[:1], start[:1], end[:1]) == pytest.approx([1])
    assert models._beyond(start[:1] + 1.4 * (end - start)[:1], start[:1], end[:1]) == pytest.approx([2])


def test_another_record_moves_sums_and_counts_by_six_at_most() -> None:
    """The sensitivity that the defence of zones rests on, at the corners of the square; it is attained."""
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=2)))
    others = DRAWN.uniform(size=(5, 2))
    tables = [models.cluster_sums(np.vstack([others, corner]), models._STARTS) for corner in corners]
    farthest = max(np.abs(one - other).sum() for one in tables for other in tables)
    assert 2 < farthest <= 6


def test_ratings_agree_when_film_score_and_day_do() -> None:
    films, scores, days = np.array([[3, 5], [3, 7]]), np.array([[0, 4], [3, 4]]), np.array([[10, 50], [10, 50]])
    assert recommenders.agreement(films, scores, days, (3, 1, 17)).tolist() == [True, False]
    assert recommenders.agreement(films, scores, days, (3, 2, 10)).tolist() == [False, True]
    assert recommenders.agreement(films, scores, days, (7, 4, 60)).tolist() == [False, False]
    assert recommenders.agreement(films, scores, days, (5, 4, 43)).tolist() == [True, False]


def test_traces_fit_at_all_hours() -> None:
    rows = np.array([[1, 2, 3], [1, 2, 4], [1, 5, 3]])
    assert places.who_fits(rows, 0, np.array([0])).tolist() == [0, 1, 2]
    assert places.who_fits(rows, 0, np.array([0, 1])).tolist() == [0, 1]
    assert places.who_fits(rows, 0, np.array([0, 1, 2])).tolist() == [0]


def test_rates_of_kinds_follow_from_the_classes_alone() -> None:
    """Kind 0 always has value 1, kind 1 half of the time 0 and 2: classes of all pairs say so exactly."""
    kinds = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    values = np.array([[1, 1], [0, 1], [0, 2], [1, 2]])
    rates = foreground.learned_rates(kinds, values, 3)
    assert rates[0] == pytest.approx([0.005, 1, 0.005], abs=1e-9)
    assert rates[1] == pytest.approx([0.5, 0.005, 0.5], abs=1e-9)


def test_the_likeliest_way_to_give_out_values_is_that_of_brute_force() -> None:
    rates = DRAWN.uniform(0.1, 1, size=(4, 4))
    kinds, values = DRAWN.integers(0, 4, size=(50, 3)), DRAWN.integers(0, 4, size=(50, 3))
    found, chance = foreground.likeliest(rates, kinds, values)
    for row in range(50):
        ways = list(itertools.permutations(values[row].tolist()))
        weights = [math.prod(rates[kind, value] for kind, value in zip(kinds[row], way, strict=True)) for way in ways]
        assert math.prod(rates[kinds[row], found[row]]) == pytest.approx(max(weights))
        assert sorted(found[row]) == sorted(values[row])
        assert chance[row] == pytest.approx(max(weights) / sum(weights))
