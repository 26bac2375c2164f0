"""Trees: what one record moves, beside slow twins, and what is released of it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ApproxDP, Budget, PureDP, release
from dither.errors import InvalidParameter
from dither.learn.cell_noise import deviation
from dither.learn.trees import BoostedTrees, ChosenTree, CountedTree, ForestModel, RandomForest, pessimistic, pruned
from dither.learn.trees.bins import Bins, public_order, public_parts
from dither.learn.trees.boosted import usual_rounds, usual_shape
from dither.learn.trees.models import NO_COLUMN, leaf_of
from dither.learn.trees.random_forest import tree_of
from dither.learn.trees.splits import Splits, score_moves, score_of
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric

PUBLIC = {"lower": [-1.0, 0.0, 0.0], "upper": [1.0, 3.0, 10.0], "bins": [8, 4, 5], "unordered": [0, 1, 0]}


def rows_of(count: int, classes: int) -> np.ndarray:
    draw = np.random.default_rng()
    rows = np.column_stack([draw.uniform(-2, 2, count), draw.integers(-1, 5, count), draw.normal(5, 5, count)])
    rows[draw.random(rows.shape) < 0.05] = np.nan
    return np.column_stack([rows, draw.integers(-1, classes + 1, count)])


def lengths(first: np.ndarray, second: np.ndarray) -> tuple[int, int]:
    """L1, and the square of L2, in whole numbers."""
    change = [int(entry) for entry in (first - second).ravel()]
    return sum(map(abs, change)), sum(entry * entry for entry in change)


def test_cells_are_those_of_a_slow_twin() -> None:
    bins = Bins(*(PublicArray(np.array(PUBLIC[name])) for name in ("lower", "upper", "bins", "unordered")))
    rows = rows_of(200, 2)[:, :3]
    for row, cells in zip(rows, bins.cells(rows), strict=True):
        for value, low, high, count, cell in zip(
            row, PUBLIC["lower"], PUBLIC["upper"], PUBLIC["bins"], cells, strict=True
        ):
            known = (0.0 if low <= 0 <= high else (low + high) / 2) if math.isnan(value) else min(max(value, low), high)
            slow = min(int((Fraction(known) - Fraction(low)) / (Fraction(high) - Fraction(low)) * count), count - 1)
            assert cell == slow


def test_codes_have_a_cell_each() -> None:
    for size in (2, 3, 7, 42, 1000):
        bins = Bins(PublicArray([0.0]), PublicArray([size - 1.0]), PublicArray([size]), PublicArray([1]))
        assert bins.cells(np.arange(size, dtype=float)[:, None])[:, 0].tolist() == list(range(size))


def test_public_shapes() -> None:
    assert sorted(public_order("k", 50).tolist()) == list(range(50))
    for cells, parts in itertools.product((1, 2, 5, 9), (2, 3, 10)):
        ordered = public_parts("k", cells, parts, unordered=False)
        assert (np.diff(ordered) >= 0).all()
        assert set(ordered.tolist()) == set(range(min(cells, parts)))
        assert set(public_parts("k", cells, parts, unordered=True).tolist()) == set(range(min(cells, parts)))


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("candidates", [1, 4])
def test_one_record_moves_a_boosted_tree_by_its_stability_at_most(
    silent, classes: int, pure: bool, candidates: int
) -> None:
    target = PureDP(1) if pure else ApproxDP(1, "1e-6")
    shape = {"rounds": 6, "leaves": 3, "depth": 2, "candidates": candidates}
    learner = BoostedTrees.calibrated(target, **PUBLIC, classes=classes, **shape)
    assert learner.loss(1) <= target
    for unit in (ROW, ROW_REPLACED):
        assert BoostedTrees.calibrated(target, **PUBLIC, classes=classes, **shape, unit=unit).loss(1) <= target
    rows = rows_of(60, classes)
    rows[::3, 3] = np.arange(20) % classes  # those that go are of known classes: others move nothing
    first = silent()
    learner.release(rows, first)
    answers = [int(value.argmax()) if isinstance(part, Exponential) else value for part, value, _ in first.seen]
    assert len(answers) == 6 * (1 if candidates == 1 else 2)
    farthest = scored = 0.0
    for gone in range(0, 60, 3):
        run = silent(answers)  # the same releases, so that both sides stand at the same scores
        learner.release(np.delete(rows, gone, axis=0), run)
        for (part, here, stability), (_, there, _) in zip(first.seen, run.seen, strict=True):
            if isinstance(part, Exponential):
                assert np.abs(here - there).max() <= stability
                scored = max(scored, float(np.abs(here - there).max() / stability))
                continue
            absolute, squared = lengths(here, there)
            moved = Fraction(absolute) if pure else squared
            assert moved <= (stability if pure else stability**2)
            farthest = max(farthest, float(moved / (stability if pure else stability**2)))
    assert farthest > 0.3  # a bound many times too large would be waste
    assert candidates == 1 or scored > 0.3


def test_the_shape_with_the_most_gradients_is_chosen(silent) -> None:
    """Two columns that matter only together are read by most trees, of eight."""
    draw = np.random.default_rng()
    rows = draw.uniform(0, 1, (4000, 8))
    rows = np.column_stack([rows, (rows[:, 2] > 0.5) ^ (rows[:, 5] > 0.5)])
    public = {"lower": [0] * 8, "upper": [1] * 8, "bins": [8] * 8, "unordered": [0] * 8}
    learner = BoostedTrees.calibrated(PureDP(10**4), **public, classes=2, rounds=6, leaves=4, depth=3, candidates=60)
    run = silent()
    model = learner.release(rows, run)
    assert sum({2, 5} <= set(columns) for columns in model.columns.values.tolist()) >= 4
    for number, (scores, sums) in enumerate(zip(run.seen[::2], run.seen[1::2], strict=True)):
        assert scores[1].max() == np.abs(sums[1][:, 0]).sum()  # the chosen one's own sums
        chosen = learner.tree(number * 60 + int(scores[1].argmax()))
        assert (model.columns.values[number] == chosen[0]).all()
        assert (model.parts.values[number] == chosen[1]).all()


def test_leaves_are_added_up_alike_by_parts_and_by_cells() -> None:
    draw = np.random.default_rng()
    few = {"lower": [0] * 3, "upper": [1] * 3, "bins": [4, 3, 5], "unordered": [0, 1, 0]}
    for public in (few, {**few, "bins": [40, 30, 50]}):  # 60 combinations of cells, and too many of them
        learner = BoostedTrees.calibrated(PureDP(1), **public, classes=2, rounds=1, leaves=3, depth=3)
        cells = np.stack([draw.integers(0, size, 200) for size in public["bins"]]).astype(np.uint8)
        added = draw.integers(-4096, 4096, 200).astype(float)
        columns, parts = learner.tree(5)
        slow = np.zeros(27)
        for place in range(200):
            first, second, third = (parts[turn, cells[column, place]] for turn, column in enumerate(columns.tolist()))
            slow[9 * first + 3 * second + third] += added[place]
        assert learner._leaf_sums(cells, (columns, parts), (added,))[:, 0].tolist() == slow.tolist()


def test_usual_shapes_follow_public_facts() -> None:
    little, much = Purse.within(PureDP(1)), Purse.within(PureDP(10))
    assert usual_shape(little, [32] * 14) == (2, 4)
    assert usual_shape(little, [3] * 42) == (4, 4)
    assert usual_shape(little, [2] * 10) == (4, 4)
    assert usual_shape(much, [32] * 14) == (4, 3)
    assert usual_shape(little, [32]) == (1, 10)
    assert usual_shape(little, [32] * 5, depth=1) == (1, 10)
    assert usual_shape(little, [32] * 5, leaves=10) == (1, 10)
    assert usual_rounds(much, 8) > usual_rounds(little, 8) == usual_rounds(little, 16) < usual_rounds(little, 64)
    assert 2 * usual_rounds(much, 8, 3) - usual_rounds(much, 8, 2) in (-1, 0, 1)
    with pytest.raises(InvalidParameter, match="candidates"):
        BoostedTrees.calibrated(PureDP(1), **PUBLIC, classes=2, candidates=0)
    with pytest.raises(InvalidParameter, match="scale"):
        BoostedTrees(**PUBLIC, classes=2, rounds=1, candidates=2, part=Geometric(scale=1))
    with pytest.raises(InvalidParameter, match="leaves"):
        BoostedTrees.calibrated(PureDP(1), **PUBLIC, classes=2, leaves="many")


def test_boosted_sums_are_those_of_a_slow_twin(silent) -> None:
    learner = BoostedTrees.calibrated(PureDP(1), **PUBLIC, classes=2, rounds=4, leaves=3, depth=1, candidates=1)
    rows = rows_of(50, 2)
    run = silent()
    model = learner.release(rows, run)
    scores = dict.fromkeys(range(50), 0.0)
    for number, (_, sums, _) in enumerate(run.seen):
        columns, parts = learner.tree(number)
        slow = np.zeros(sums.shape)
        leaves = {}
        for place, row in enumerate(rows):
            if row[3] in (0, 1):
                leaf = int(parts[0][learner.cells.cells(row[None, :3])[0, columns[0]]])
                leaves[place] = leaf
                slow[leaf] += [4096 / (1 + math.exp(-scores[place])) - 4096 * row[3], 2048]
        # The table of pulls has cells of 1/64 of a score, and whole steps.
        assert np.abs(slow - sums).max() <= 50 * (4096 / 4 / 64 + 1)
        assert (slow[:, 1] == sums[:, 1]).all()
        for place, leaf in leaves.items():
            scores[place] += model.values.values[number, leaf, 0]
    known = [place for place in range(50) if rows[place, 3] in (0, 1)]
    assert np.allclose(model.scores(rows[known, :3])[:, 0], [scores[place] for place in known])


@pytest.mark.parametrize("divided", [True, False])
def test_one_record_moves_a_forest_by_one_count_of_each_tree_that_sees_it(silent, divided: bool) -> None:
    forest = RandomForest(**PUBLIC, classes=2, trees=4, depth=3, part=Geometric(scale=1), divided=divided)
    rows = np.repeat(rows_of(30, 2), 2, axis=0)
    first = silent()
    forest.release(rows, first)
    ((_, here, stability),) = first.seen
    assert stability == (1 if divided else 4)
    assert here.sum() == stability * np.isin(rows[:, 3], [0, 1]).sum()
    for gone in range(len(rows)):
        run = silent()
        forest.release(np.delete(rows, gone, axis=0), run)
        change = np.abs(here - run.seen[0][1])
        known = rows[gone, 3] in (0, 1)
        assert change.sum() == (stability if known else 0)
        assert change.max() <= 1


def test_forest_counts_are_those_of_a_slow_twin(silent) -> None:
    forest = RandomForest(**PUBLIC, classes=2, trees=3, depth=3, part=Geometric(scale=1), divided=False)
    rows = rows_of(80, 2)
    run = silent()
    forest.release(rows, run)
    slow = np.zeros((3, 8, 2), dtype=int)
    for row in rows:
        if row[3] in (0, 1):
            cells = forest.cells.cells(row[None, :3])[0]
            for number in range(3):
                columns, right = forest.tree(number)
                node = 0
                while node < 7:
                    side = 0 if columns[node] == NO_COLUMN else right[node, cells[columns[node]]]
                    node = 2 * node + 1 + int(side)
                slow[number, node - 7, int(row[3])] += 1
    assert (slow == run.seen[0][1]).all()


def test_equal_records_are_spread_over_trees() -> None:
    trees = tree_of(np.zeros((4000, 3), dtype=np.int64), 4, "k")
    assert np.bincount(trees, minlength=4).min() > 800  # a fixed outcome of a public hash


def test_a_cell_that_cannot_be_split_ends_a_path() -> None:
    forest = RandomForest(
        lower=[0], upper=[1], bins=[2], unordered=[0], classes=2, trees=1, depth=3, part=Geometric(scale=1)
    )
    columns, right = forest.tree(0)
    assert columns.tolist() == [0, *[NO_COLUMN] * 6]
    assert leaf_of(np.array([[0], [1]]), columns, right).tolist() == [0, 4]


@pytest.mark.parametrize("score", ["largest-class", "gini", "gain"])
def test_scores_move_one_way_by_their_bound_at_most(score: str) -> None:
    records = 12  # fewer than there are, so that the end of the increments is seen as well
    bound, farthest = score_moves(score, records), 0
    sides = np.array(list(itertools.product(range(9), range(9), range(3))))
    before = score_of(score, sides, np.zeros_like(sides), records)
    directions = set()
    for kind in range(3):
        added = sides.copy()
        added[:, kind] += 1
        change = score_of(score, added, np.zeros_like(sides), records) - before
        farthest = max(farthest, int(np.abs(change).max()))
        directions |= set(np.sign(change).tolist())
    assert farthest <= bound <= 2 * farthest
    assert directions <= ({0, 1} if score == "largest-class" else {0, -1})


def test_scores_are_what_they_are_called() -> None:
    left, right = np.array([[30, 10]]), np.array([[5, 55]])
    assert score_of("largest-class", left, right, 1000).tolist() == [85]
    gini = sum(side.sum() * (1 - ((side / side.sum()) ** 2).sum()) for side in (left[0], right[0]))
    assert abs(score_of("gini", left, right, 1000)[0] / 256 + gini) < 2 / 256
    bits = sum(-(side * np.log2(side / side.sum())).sum() for side in (left[0], right[0]))
    assert abs(score_of("gain", left, right, 1000)[0] / 64 + bits) < 0.01 * bits + 1


def test_gain_ratio_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidParameter, match="no bound holds"):
        ChosenTree.calibrated(PureDP(1), **PUBLIC, classes=2, depth=2, score="gain-ratio")


def test_sides_are_those_of_a_slow_twin() -> None:
    bins = Bins(*(PublicArray(np.array(PUBLIC[name])) for name in ("lower", "upper", "bins", "unordered")))
    splits, draw = Splits(bins), np.random.default_rng()
    assert splits.number == 7 + 4 + 4
    cells = np.column_stack([draw.integers(0, count, 60) for count in PUBLIC["bins"]])
    classes, nodes = draw.integers(0, 2, 60), draw.integers(0, 3, 60)
    left, right = splits.sides(splits.tables(cells, classes, nodes, 3, 2))
    for node, split, kind in itertools.product(range(3), range(splits.number), range(2)):
        goes = splits.right[split][cells[:, splits.columns[split]]]
        inside = (nodes == node) & (classes == kind)
        assert left[node, split, kind] == (inside & (goes == 0)).sum()
        assert right[node, split, kind] == (inside & (goes == 1)).sum()


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
@pytest.mark.parametrize("target", [PureDP("0.7"), ApproxDP(1, "1e-6")])
def test_grown_trees_stay_within_their_target(unit, target) -> None:
    common = {**PUBLIC, "classes": 3, "depth": 3, "unit": unit}
    for score in ("largest-class", "gini", "gain"):
        assert ChosenTree.calibrated(target, **common, score=score).loss(1) <= target
    assert CountedTree.calibrated(target, **common).loss(1) <= target
    for divided in (True, False):
        assert RandomForest.calibrated(target, **common, trees=5, divided=divided).loss(1) <= target


def test_a_forest_never_has_more_noise_for_a_delta() -> None:
    """A record in one count gains nothing from a delta: Gaussian noise for it would be three times as wide."""
    common = {**PUBLIC, "classes": 2, "depth": 2}
    for trees, divided, kind in ((50, True, Geometric), (50, False, DiscreteGaussian)):
        forest = RandomForest.calibrated(ApproxDP(1, "1e-6"), **common, trees=trees, divided=divided)
        assert isinstance(forest.part, kind)
        assert forest.loss(1) <= ApproxDP(1, "1e-6")
        alone = RandomForest.calibrated(PureDP(1), **common, trees=trees, divided=divided)
        assert deviation(forest.part) <= deviation(alone.part)


def test_without_noise_a_grown_tree_finds_the_column(silent) -> None:
    draw = np.random.default_rng()
    rows = np.column_stack([draw.uniform(-1, 1, 400), draw.integers(0, 4, 400), draw.uniform(0, 10, 400)])
    rows = np.column_stack([rows, (rows[:, 1] == 2).astype(float)])
    for score in ("largest-class", "gini", "gain"):
        tree = ChosenTree.calibrated(PureDP(1), **PUBLIC, classes=2, depth=2, score=score).release(rows, silent())
        assert tree.columns.values[0, 0] == 1
        assert tree.right.values[0, 0].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    tree = CountedTree.calibrated(PureDP(1000), **PUBLIC, classes=2, depth=2).release(rows, silent())
    assert (tree.probabilities(rows[:, :3]).argmax(axis=1) == rows[:, 3]).all()
    assert tree.columns.values[0, 0] == 1


def test_pruning_takes_back_what_says_nothing() -> None:
    bins = {name: PublicArray(np.array(PUBLIC[name])) for name in ("lower", "upper", "bins", "unordered")}
    columns, right = np.array([[0, 2, 1]]), np.zeros((1, 3, 8), dtype=np.int64)
    right[0, :, 2:4] = 1
    leaves = np.array([[[90.0, 10.0], [80.0, 11.0], [5.0, 70.0], [60.0, 3.0]]])
    tree = ForestModel(*bins.values(), PublicArray(columns), PublicArray(right), PublicArray(leaves), 2.0)
    short = pruned(tree)
    assert short.columns.values.tolist() == [[0, NO_COLUMN, 1]]
    assert short.leaves.values[0].tolist() == [[170.0, 21.0], [0.0, 0.0], [5.0, 70.0], [60.0, 3.0]]
    assert pruned(short) == short
    assert pruned(tree, margin=1000).columns.values.tolist() == [[NO_COLUMN] * 3]


def limit(counts: list[float], z: float) -> float:
    """The root of (share - f)^2 = z^2 share (1 - share) / n above the share of errors f, times n, by bisection."""
    whole = sum(counts)
    if whole <= 0:
        return 0.0
    share = 1 - max(counts) / whole
    low, high = share, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if (middle - share) ** 2 < z * z * middle * (1 - middle) / whole else (low, middle)
    return whole * low


def test_pessimistic_pruning_is_that_of_a_slow_twin() -> None:
    draw = np.random.default_rng()
    bins = {name: PublicArray(np.array(PUBLIC[name])) for name in ("lower", "upper", "bins", "unordered")}
    z = 0.6744897501960817  # a quarter of a normal law lies beyond

    def slow(columns: list[int], leaves: list[list[float]], node: int) -> tuple[list[float], float, bool]:
        """Return the counts of a node, its errors, and whether it is a leaf."""
        if node >= len(columns):
            counts = [max(0.0, entry) for entry in leaves[node - len(columns)]]
            return counts, limit(counts, z), True
        left, right = (slow(columns, leaves, 2 * node + side) for side in (1, 2))
        sides = [left] if columns[node] == NO_COLUMN else [left, right]
        counts = [sum(side[0][place] for side in sides) for place in range(len(left[0]))]
        alone, together = limit(counts, z), sum(side[1] for side in sides)
        return counts, min(alone, together), alone <= together + 1e-9

    for _ in range(40):
        columns = draw.integers(-1, 3, 7)
        leaves = np.rint(draw.normal(10, 15, (8, 2)))
        tree = ForestModel(
            *bins.values(),
            PublicArray(columns[None]),
            PublicArray(np.zeros((1, 7, 8), dtype=np.int64)),
            PublicArray(leaves[None]),
            2.0,
        )
        short = pessimistic(tree)
        found = short.columns.values[0]
        for node in range(7):
            counts, _, is_leaf = slow(columns.tolist(), leaves.tolist(), node)
            above, inside = node, False
            while above:
                above = (above - 1) // 2
                inside = inside or slow(columns.tolist(), leaves.tolist(), above)[2]
            assert found[node] == (NO_COLUMN if is_leaf or inside else columns[node])
            if is_leaf and not inside:
                first = node
                while first < 7:
                    first = 2 * first + 1
                assert short.leaves.values[0, first - 7].tolist() == pytest.approx(counts)
        assert pessimistic(short).columns == short.columns
    with pytest.raises(InvalidParameter, match="confidence"):
        pessimistic(tree, confidence=1)


def test_nodes_with_few_records_are_not_divided(silent) -> None:
    rows = np.zeros((100, 4))
    rows[:, 0] = np.where(np.arange(100) < 80, -0.9, 0.9)
    rows[:, 3] = np.arange(100) % 2
    common = {**PUBLIC, "classes": 2, "depth": 3, "score": "gini"}
    for least in (0, 30, 90, 101):
        run = silent()
        tree = ChosenTree.calibrated(PureDP(1), **common, least=least).release(rows, run)
        columns, inner = tree.columns.values[0], range(7)
        counted = [value for part, value, _ in run.seen if isinstance(part, Geometric) and len(part.shape) == 1]
        assert [len(value) for value in counted] == [1, 2, 4]
        held = (
            {0: counted[0][0]}
            | {1 + place: counted[1][place] for place in (0, 1)}
            | {3 + place: counted[2][place] for place in range(4)}
        )
        for node in inner:
            line = [node]
            while line[-1]:
                line.append((line[-1] - 1) // 2)
            assert (columns[node] == NO_COLUMN) == any(held[one] < least for one in line)
    for target, unit in itertools.product((PureDP("0.7"), ApproxDP(1, "1e-6")), (ROW, ROW_REPLACED)):
        for least in (5, "auto"):
            tree = ChosenTree.calibrated(target, **common, least=least, unit=unit)
            assert tree.loss(1) <= target
            assert tree.least == 5 or tree.least >= 4 * math.sqrt(2) * 0.9 / 0.7
    assert ChosenTree.calibrated(PureDP(1), **common).stop is None


def test_trees_learn_unequal_classes() -> None:
    """At a large epsilon none of the trees may answer the larger class always, as forests of mean shares do."""
    draw = np.random.default_rng()
    rows = np.column_stack([draw.uniform(-1, 1, 3000), draw.integers(0, 4, 3000), draw.uniform(0, 10, 3000)])
    rows = np.column_stack([rows, (rows[:, 1] == 0) & (rows[:, 0] > 0)]).astype(float)
    budget = {"lower": PUBLIC["lower"], "upper": PUBLIC["upper"], "bins": PUBLIC["bins"], "unordered": [0, 1, 0]}
    trees = ChosenTree.calibrated(PureDP(100), **budget, classes=2, depth=3, score="gini")
    boosted = BoostedTrees.calibrated(PureDP(100), **budget, classes=2, rounds=24, leaves=4, depth=2)
    for learner in (trees, boosted):
        model = release(learner, rows, budget=Budget(epsilon=100, unit=ROW)).value
        found = (
            model.scores(rows[:, :3])[:, 0] > 0 if learner is boosted else model.probabilities(rows[:, :3])[:, 1] > 0.5
        )
        assert (found == rows[:, 3]).mean() > 0.95  # the larger class alone has 0.875
