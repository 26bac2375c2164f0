"""The parts of the attacks, against brute force and closed forms; and the sensitivities their defences rest on."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.attack import InferenceAttack, ceiling
from dither.attack.anonymity import class_counts, surest
from dither.attack.linkage import class_sizes
from dither.attack.models import cluster_sums, upper_group
from dither.attack.perturbation import angles, denoised, noise_level, rotation_between, usable_rank
from dither.attack.places import nearest_stretches, street_map
from dither.attack.protection import noisy_counts
from dither.attack.recommenders import neighbours_of, plain_means, private_model, recommended, shelf, together
from dither.attack.reconstruction import _SIZES, by_least_squares, by_linear_programme, fitted, marginal_matrix
from dither.attack.side_channels import bits_from_tosses, can_come_from, naive_geometric, naive_laplace
from dither.errors import InvalidParameter

DRAWN = np.random.default_rng()


def positives(people: tuple[tuple[int, bool], ...]) -> int:
    return sum(is_positive for _, is_positive in people)


def who_is_left(count: int, known: tuple[tuple[int, bool], ...]) -> list[tuple[int, bool]]:
    """All but person 0 are known: what the count has beyond them is that person's."""
    return [(0, count > positives(known))]


@pytest.mark.statistical(false_alarm=1e-9)
def test_an_inference_attack_leaks_what_was_not_known_before() -> None:
    """The thesis's example, HIV counts with all known but one: certain without noise, at most the ceiling with it.

    n = 400 cases; the limit is the binomial one at 1e-10. A defence without noise leaks all of them.
    """
    from scipy.stats import binom

    cases = []
    for _ in range(400):
        people = frozenset(enumerate((DRAWN.uniform(size=8) < 0.5).tolist()))
        cases.append((people, frozenset(one for one in people if one[0])))
    exact = InferenceAttack(positives, who_is_left)
    assert exact.success_rate(cases) == 1.0
    noisy = InferenceAttack(lambda people: int(noisy_counts(np.array([positives(people)]), "1/2", 1)[0]), who_is_left)
    assert noisy.success_rate(cases) * len(cases) <= binom.isf(1e-10, len(cases), ceiling(0.5, "1/2"))
    # What was known before is no leak, nor is what is not true.
    people, known = cases[0]
    assert not exact.leaked(people, people)
    assert InferenceAttack(positives, lambda count, before: [(99, True)]).leaked(people, known) == {}
    with pytest.raises(InvalidParameter, match="cases"):
        exact.success_rate([])


def test_equal_records_are_several() -> None:
    """Two people of the same record: one is known, and that there is another is what the release gives away."""
    counted = InferenceAttack[str, int](len, lambda count, known: ["same"] * count)
    assert counted.leaked(["same", "same"], ["same"]) == {"same": 1}
    assert not counted.leaked(["same"], ["same"])
    # What is concluded more often than it occurs is not true.
    guessed = InferenceAttack[str, int](len, lambda count, known: ["same"] * 5)
    assert guessed.leaked(["same", "other"]) == {"same": 1}
    assert not guessed.leaked(["same", "other"], ["same"])


@pytest.mark.statistical(false_alarm=1e-9)
def test_least_squares_reads_blurred_answers_better_and_the_programme_false_ones() -> None:
    """Which of the two decoders recovers more: as the page of attacks says.

    20 runs of 40 bits and 160 answers, each decoded both ways. Blur of up to half the root of n: the mean difference
    is about 0.08 with a standard deviation of 0.05 a run, so 0 is seven deviations away. One answer in ten replaced
    by any number: the programme is exact but for a rare bit, and least squares is off by a third; the order is
    reversed, which the first test must reject.
    """

    def lead(false_share: float, blur: float) -> float:
        total = 0.0
        for _ in range(20):
            truth, subsets = DRAWN.integers(0, 2, size=40), DRAWN.integers(0, 2, size=(160, 40)).astype(float)
            answers = subsets @ truth + DRAWN.uniform(-blur, blur, size=160).round()
            is_false = DRAWN.uniform(size=160) < false_share
            answers[is_false] = DRAWN.integers(0, 40, size=int(is_false.sum()))
            found = [np.mean(decode(subsets, answers) == truth) for decode in (by_least_squares, by_linear_programme)]
            total += float(found[0] - found[1]) / 20
        return total

    assert lead(0.0, math.sqrt(40) / 2) > 0
    assert lead(0.1, 0.0) < -0.1


def test_both_decoders_find_the_only_bits_that_fit() -> None:
    """All subsets of six people are asked about: brute force says that one column fits, and which."""
    subsets = np.array(list(itertools.product((0.0, 1.0), repeat=6)))
    for truth in DRAWN.integers(0, 2, size=(5, 6)):
        answers = subsets @ truth
        fit = [column for column in itertools.product((0, 1), repeat=6) if np.array_equal(subsets @ column, answers)]
        assert fit == [tuple(truth.tolist())]
        assert by_least_squares(subsets, answers).tolist() == truth.tolist()
        assert by_linear_programme(subsets, answers).tolist() == truth.tolist()


def test_the_integer_programme_finds_people_who_fit_the_tables() -> None:
    """Of all pairs of people, those who fit the tables are counted; the programme finds one of them."""
    matrix = marginal_matrix()
    cells = math.prod(_SIZES)
    kinds = np.eye(cells)
    pairs = list(itertools.combinations_with_replacement(range(cells), 2))
    tables = (kinds[[one for one, _ in pairs]] + kinds[[other for _, other in pairs]]) @ matrix.T
    for chosen in DRAWN.choice(len(pairs), size=4, replace=False):
        fit = {pairs[place] for place in np.flatnonzero((tables == tables[chosen]).all(axis=1))}
        found = fitted(matrix, tables[chosen], 2)
        assert tuple(np.repeat(np.arange(cells), found).tolist()) in fit


def test_another_origin_moves_the_tables_by_at_most_four() -> None:
    """The sensitivity of the census's defence, over all people and origins."""
    columns = marginal_matrix().T.reshape(*_SIZES, -1)
    moved = np.abs(columns[:, :, :, None] - columns[:, :, None]).sum(axis=-1)
    assert moved.max() == 4


def test_another_place_moves_cluster_sums_by_at_most_six() -> None:
    """The sensitivity of the defended centres: the corners of the square are as far as it goes."""
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=2)))
    known, starts = DRAWN.uniform(size=(5, 2)), corners[:3] * 0.9
    sums = [cluster_sums(np.vstack([known, corner]), starts) for corner in corners]
    moved = [np.abs(one - other).sum() for one, other in itertools.combinations(sums, 2)]
    assert max(moved) <= 6
    assert sums[0][:, 2].sum() == 6


def test_counts_of_pairs_are_those_of_each_history_and_a_model_is_private_for_a_person_replaced() -> None:
    histories = (DRAWN.uniform(size=(6, 12)) < 0.4).astype(np.int64)
    pairs = sum(np.outer(row, row) for row in histories)
    np.fill_diagonal(pairs, 0)
    assert np.array_equal(together(histories), pairs)
    assert private_model(histories, 1).items == 12


def test_false_users_lift_plain_means_and_a_shelf_holds_the_best() -> None:
    ratings = np.array([[5.0, 1.0, np.nan], [3.0, np.nan, np.nan]])
    assert plain_means(ratings).tolist() == [4.0, 1.0, -np.inf]
    pushed = np.vstack([ratings, [[np.nan, np.nan, 5.0]]])
    assert shelf(plain_means(pushed)).tolist() == [2, 0, 1]


def test_sybils_have_each_other_and_the_target_as_neighbours() -> None:
    target = [1, 1, 1, 1, 1, 0, 0, 0]
    others = [[0, 0, 0, 1, 0, 1, 1, 1], [1, 0, 0, 0, 0, 1, 1, 1]]
    false_user = [1, 1, 1, 0, 0, 0, 0, 0]
    histories = np.array([target, *others, false_user, false_user])
    assert set(neighbours_of(histories, 3, 2).tolist()) == {0, 4}
    assert recommended(histories, 3, 2, 5).tolist() == [3, 4]


def test_classes_are_counted_as_by_hand() -> None:
    values = np.array([[0, 2, 2], [1, 1, 1]])
    assert class_counts(values, 3).tolist() == [[1, 0, 2], [0, 3, 0]]
    assert surest(np.array([1, 5, 3, 5]), 3, np.array([0.0, 0.9, 0.0, 0.1])).tolist() == [3, 1, 2]
    keys = np.array([7, 3, 7])
    assert class_sizes(keys, np.array([7, 7, 7, 3, 1])).tolist() == [3, 1, 3]


def test_two_groups_of_scores_are_told_apart_whatever_their_sizes() -> None:
    for few in (1, 10, 90):
        scores = np.concatenate([np.full(few, 10.0), np.zeros(100 - few)]) + DRAWN.uniform(size=100)
        assert upper_group(scores).tolist() == [True] * few + [False] * (100 - few)
    assert not upper_group(np.zeros(4)).any()


def test_procrustes_undoes_a_rotation_and_the_rank_is_read_off() -> None:
    true = DRAWN.uniform(size=(300, 2)) @ np.array([[1.0, 0, 0.5, 1], [0, 1.0, 0.5, -1]])
    rotation, _ = np.linalg.qr(DRAWN.normal(size=(4, 4)))
    known = true[:8]
    assert true[8:] @ rotation @ rotation_between(known, known @ rotation).T == pytest.approx(true[8:])
    released = true @ rotation + DRAWN.normal(scale=0.01, size=true.shape)
    level = noise_level(released)
    # The smallest of two directions of noise: 300 rows put it within a fifth of the truth, ten deviations away.
    assert 0.006 < level < 0.014
    assert usable_rank(released, level) == 2
    assert np.linalg.matrix_rank(denoised(released)) == 2
    assert usable_rank(released, 10.0) is None
    assert angles(np.array([[1.0, 0]]), np.array([[3.0, 3.0]])) == pytest.approx([math.pi / 4])


def test_stretches_are_found_as_by_brute_force() -> None:
    streets = street_map(4)
    assert len(streets) == 24
    assert np.abs(streets[:, 0] - streets[:, 1]).sum(axis=1).tolist() == [1.0] * 24
    ends = DRAWN.uniform(-1, 4, size=(20, 2, 2))
    found = nearest_stretches(streets, ends)
    for (start, end), chosen in zip(ends, found, strict=True):
        costs = [
            min(
                math.dist(start, one) ** 2 + math.dist(end, two) ** 2,
                math.dist(start, two) ** 2 + math.dist(end, one) ** 2,
            )
            for one, two in streets
        ]
        assert costs[chosen] == pytest.approx(min(costs))


def test_tosses_give_the_bit_away_whatever_was_drawn() -> None:
    """n = 2,000 draws of the naive sampler, under both answers: not one is misread."""
    drawn = [naive_geometric(0.8, DRAWN) for _ in range(2000)]
    noise, tosses = np.array(drawn).T
    assert len(set(noise.tolist())) > 10
    for bit in (0, 1):
        assert set(bits_from_tosses(noise + bit, tosses).tolist()) == {bit}


def test_the_true_answer_is_never_called_impossible() -> None:
    """n = 40,000 naive draws: each is found possible under its own answer, and most are not under the other."""
    for scale in (1.0, 32.0):
        for value in (0.0, 1.0):
            released = naive_laplace(np.full(10_000, value), scale, DRAWN)
            assert can_come_from(value, released, scale).all()
            assert 0.2 < 1 - can_come_from(1 - value, released, scale).mean() < 0.9
