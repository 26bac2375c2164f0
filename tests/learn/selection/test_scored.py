"""A score on rows held out: a row is learned from or scored, what it adds is its own, and the price is one of both."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.clusters.lloyd import LloydClusters
from dither.learn.lifting import _scored
from dither.learn.linear import GradientDescent, MomentClassifier, MomentRegression
from dither.learn.models import Model
from dither.learn.selection import DisjointTuning, HeldOutScore, RepeatedTuning, ScoredModel
from dither.learn.selection import errors_of as errors_module
from dither.learn.selection.errors_of import scores_rows
from dither.learn.selection.score_intervals import accuracy_interval
from dither.learn.selection.scored import STEPS
from dither.learn.trees import RandomForest
from dither.mechanisms import Composed, Geometric, Numerics, find, perform, registered
from dither.mechanisms.core.runner import Runner
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, Plan, PureDP, Unit, Use
from dither.testing.replay import record, replay

BOX: dict[str, Any] = {"lower": [-1, -1], "upper": [1, 1]}
ONE = PureDP(1)
TARGET: dict[str, Any] = {"target_lower": -2, "target_upper": 2}


def rows(count: int = 200) -> np.ndarray:
    """Rows whose class shows in their first column; every third one occurs twice. The same in every run."""
    values = np.sin(np.arange(1, 2 * count + 1) ** 1.5).reshape(count, 2)
    values[1::3] = values[::3][: len(values[1::3])]
    return np.column_stack([values, values[:, 0] > 0]).astype(np.float64)


def classifier(within: Loss = ONE) -> HeldOutScore:
    return HeldOutScore.calibrated(within, learner=MomentClassifier.calibrated(within, classes=2, **BOX), classes=2)


def regression(within: Loss = ONE) -> HeldOutScore:
    return HeldOutScore.calibrated(within, learner=MomentRegression.calibrated(within, **BOX, **TARGET), **TARGET)


@pytest.mark.parametrize("within", [PureDP(1), ApproxDP(1, "1e-6"), ZCDP("1/7")], ids=str)
def test_a_score_costs_nothing_beside_the_learner(within: Loss) -> None:
    for made in (classifier(within), regression(within)):
        assert made.learner.loss(1) <= made.loss(1) <= within
        assert not made.loss(2) <= within
    with pytest.raises(InvalidParameter, match="learner must be a learner that is itself within"):
        HeldOutScore.calibrated(PureDP("1/9"), learner=classifier(PureDP(1)).learner, classes=2)


@pytest.mark.parametrize("made", [classifier(), regression()], ids=["classes", "regression"])
def test_what_a_row_adds_is_its_own_and_no_larger_than_is_paid_for(made: HeldOutScore) -> None:
    """All rows of a small grid with hostile cells: one by one they add up to what they add together."""
    cells = [-1.0, 0.3, 7.0, float("nan"), float("inf")]
    labels = [-9.0, -2.0, 0.0, 0.7, 1.0, 2.0, 1e300, float("nan"), float("-inf")]
    given = np.array(list(itertools.product(cells, cells, labels)))
    model = perform(made.learner, rows())
    alone = np.array([made.sums(model, row[None]) for row in given])
    np.testing.assert_array_equal(alone.sum(axis=0), made.sums(model, given))
    np.testing.assert_array_equal(made.sums(model, given[:0]), 0)
    l1, squared = np.abs(alone).sum(axis=1).max(), (alone.astype(float) ** 2).sum(axis=1).max()
    pure, rho = made, classifier(ZCDP(1)) if made.classes else regression(ZCDP(1))
    assert l1 <= pure.stability
    assert squared <= rho.stability**2
    # Bounds of the target are reached, whatever the model says.
    assert l1 >= (1 if made.classes else 1.75 * STEPS - 4)


@pytest.mark.parametrize("made", [classifier(), regression()], ids=["classes", "regression"])
def test_one_row_less_is_replayed_and_a_division_by_position_is_caught(
    made: HeldOutScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By position, all rows of one corner would be held out, or only rows of the other.
    everything = np.resize([[1.0, 1.0, 1.0]] + [[-1.0, -1.0, 0.0]] * 4, (30, 3))
    assert replay(made, everything, everything[1:]) == []
    monkeypatch.setattr(errors_module, "tree_of", lambda records, parts, key: np.arange(len(records)) % parts)
    assert replay(made, everything, everything[1:]) != []


def test_the_score_is_that_of_a_loop_over_the_rows_held_out() -> None:
    data = rows(3000)
    made = classifier(PureDP(10**6))
    out: Any = perform(made, data)
    held = data[made.slots(data)[1] == 0]
    assert 450 <= len(held) <= 750
    told = out.inner.scores(held[:, :-1])[:, 0] > 0
    true = float(np.mean(told == held[:, -1]))
    score = made.score(out)
    assert score.low - 1e-12 <= true <= score.high + 1e-12
    assert score.value == pytest.approx(true, abs=1e-3)
    assert "accuracy" in str(score)
    data[:, -1] = 1.2 * data[:, 0] + 0.3
    made = regression(PureDP(10**6))
    out = perform(made, data)
    held = data[made.slots(data)[1] == 0]
    errors = (out.inner.scores(held[:, :-1])[:, 0] - held[:, -1]) ** 2
    true = 1 - errors.sum() / ((held[:, -1] - held[:, -1].mean()) ** 2).sum()
    assert made.score(out).value == pytest.approx(true, abs=1e-3)
    again: Any = Model.from_dict(out.to_dict())
    assert again.sums == out.sums


@pytest.mark.parametrize("sums", list(itertools.product([-5, 0, 7], repeat=2)))
def test_a_score_is_within_its_interval_whatever_noise_did(sums: tuple[int, int]) -> None:
    made = classifier()
    inner = perform(made.learner, rows())
    told = made.score(ScoredModel.of(inner, sums))
    assert 0 <= told.low <= told.value <= told.high <= 1
    made = regression()
    for more in itertools.product([-STEPS, 0, 5 * STEPS], repeat=2):
        told = made.score(ScoredModel.of(inner, (*(one * STEPS for one in sums), *more)))
        assert -1 <= told.low <= told.value <= told.high <= 1


@pytest.mark.parametrize("low", [2**53, -(2**53) - 1, 10**16, Fraction(1, 3)], ids=str)
def test_bounds_that_floats_do_not_tell_apart_are_refused(low: Any) -> None:
    """In a range of width 0 a row has no place, and would move the sums by as much as integers hold."""
    near = low + 1 if abs(low) > 1 else low + Fraction(1, 2**60)
    assert float(low) == float(near)
    with pytest.raises(
        InvalidParameter, match="target_upper must be above target_lower by more than the rounding of floats"
    ):
        HeldOutScore.calibrated(ONE, learner=regression().learner, target_lower=low, target_upper=near)
    far = Fraction(np.nextafter(float(low), np.inf))
    made = HeldOutScore.calibrated(ONE, learner=regression().learner, target_lower=low, target_upper=far)
    labels = [float("nan"), float("-inf"), float(low), float(far), float("inf")]
    model = perform(made.learner, rows())
    for label in labels:
        assert np.abs(made.sums(model, np.array([[0.1, 0.2, label]]))).sum() <= made.stability


@pytest.mark.parametrize("count", [4, 9])
def test_a_search_that_is_scored_has_rows_for_every_candidate(count: int) -> None:
    learners = [GradientDescent.calibrated(ONE, classes=2, steps=1, **BOX) for _ in range(count)]
    search = DisjointTuning.calibrated(ONE, candidates=learners, classes=2)
    made = HeldOutScore.calibrated(ONE, learner=search, classes=2)
    # All different, so that rows are in the slot of their content.
    data = np.column_stack([np.arange(600.0), np.zeros(600), np.zeros(600)])
    kept, slots = made.slots(data)
    assert min(map(len, search.divided(kept[slots > 0], count))) > 0


@pytest.mark.parametrize("within", [PureDP(1), ApproxDP(1, "1e-6"), ZCDP("1/7")], ids=str)
def test_every_division_of_a_few_rows_between_both_parts_is_within_the_price(within: Loss) -> None:
    for made in (classifier(within), regression(within)):
        for d_in in (1, 2, 3):
            for learned in range(d_in + 1):
                held_out = made.noise.loss((d_in - learned) * made.stability)
                assert made.learner.loss(learned) + held_out <= made.loss(d_in)


@pytest.mark.parametrize("copies", range(5))
def test_rows_that_go_leave_the_part_that_they_were_in_and_no_other_row_changes_parts(copies: int) -> None:
    """All ways to take 1 to 3 of a few rows, equal ones among them: what goes is what each part has less."""
    made = classifier()
    equal = np.repeat([[0.5, 0.0, 1.0], [0.5, -0.0, 1.0]], copies, axis=0)
    data = np.vstack([equal, [[0.5, 0.1, 1.0], [float("nan"), 0.0, 0.0], [2.0, 2.0, 2.0]]])
    before = parts_of(made, data)
    for gone in itertools.chain.from_iterable(itertools.combinations(range(len(data)), n) for n in (1, 2, 3)):
        after = parts_of(made, np.delete(data, gone, axis=0))
        assert all(not there - here for here, there in zip(before, after, strict=True))
        assert sum((here - there).total() for here, there in zip(before, after, strict=True)) == len(gone)


def parts_of(made: HeldOutScore, data: np.ndarray) -> list[Counter[bytes]]:
    """The rows of each part as a collection, in no order."""
    kept, slots = made.slots(data)
    return [Counter(row.tobytes() for row in kept[chosen]) for chosen in (slots > 0, slots == 0)]


def test_learners_of_replaced_rows_are_refused() -> None:
    learner = GradientDescent.calibrated(PureDP(1), classes=2, steps=1, unit=ROW_REPLACED, **BOX)
    with pytest.raises(InvalidParameter, match="learner"):
        HeldOutScore.calibrated(PureDP(1), learner=learner, classes=2)
    for wrong in ({"classes": 1}, {"classes": 2, "target_upper": 3}, {"target_lower": 2}):
        with pytest.raises(InvalidParameter):
            HeldOutScore.calibrated(PureDP(1), learner=classifier().learner, **wrong)


def test_rows_of_a_person_may_lie_in_both_parts_and_are_paid_for_so() -> None:
    """Lifted to persons of two rows the replay allows two parts; of one row, one: the twin is caught above."""
    from dither.mechanisms import find

    lifted: list[Any] = [*find("lifted").examples()]
    scored = [one for one in lifted if isinstance(one.mechanism.method, HeldOutScore)]
    assert scored
    for example in scored:
        assert example.mechanism.stability > 1
        for here, there, apart in example.neighbours:
            assert replay(example.mechanism, here, there, d_in=apart) == []


class Counted(Composed[Any, int]):
    """A learner that says that it returns a number."""

    name: ClassVar[str] = "counted"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    @property
    def distance(self) -> Unit:
        return ROW

    def plan(self) -> Plan:
        return Use(Geometric(scale=1))

    def release(self, data: Any, run: Runner) -> int:
        return int(run(Geometric(scale=1), len(data)))


class Unsaid(Counted):
    """A learner that does not say what it returns."""

    def release(self, data, run):  # type: ignore[no-untyped-def]
        return super().release(data, run)


def clusters() -> Any:
    return LloydClusters.calibrated(ONE, lower=[-1, -1, 0], upper=[1, 1, 1], clusters=2)


@pytest.mark.parametrize("made", [Counted, Unsaid, clusters], ids=lambda made: made.__name__)
def test_a_learner_of_models_that_score_no_rows_is_refused_when_it_is_named(made: Any) -> None:
    learner = made()
    with pytest.raises(InvalidParameter, match=r"^learner must be .* of models that score rows"):
        HeldOutScore(learner=learner, part=Geometric(scale=1), classes=2)
    with pytest.raises(InvalidParameter, match=r"^candidates must be .* of models that score rows"):
        DisjointTuning(candidates=(learner, learner), scale=1, classes=2)
    with pytest.raises(InvalidParameter, match=r"^candidates must be .* of models that score rows"):
        RepeatedTuning.calibrated(ONE, candidates=[learner, learner], classes=2)


def test_every_learner_that_is_judged_returns_what_it_says() -> None:
    judged = [one for name in registered() for one in find(name).examples() if isinstance(one.mechanism, Composed)]
    judged = [one for one in judged if scores_rows(type(one.mechanism))]
    names = {one.mechanism.name for one in judged}
    assert {"moment-regression", "random-forest", "disjoint-tuning", "frank-wolfe"} <= names
    for name in names:
        example = next(one for one in judged if one.mechanism.name == name)
        released = record(example.mechanism, example.data)[0]  # type: ignore[arg-type]
        assert any(hasattr(released, told) for told in ("scores", "probabilities")), name


def test_the_winner_of_a_search_among_forests_is_scored() -> None:
    """Forests tell probabilities and no scores; the model around the winner passes on what there is."""
    share = PureDP("1/3")
    cut: dict[str, Any] = {**BOX, "classes": 2, "trees": 3, "bins": [4, 4], "unordered": [0, 0]}
    trees = [RandomForest.calibrated(share, **cut, depth=depth) for depth in (1, 2)]
    search = DisjointTuning.calibrated(ONE, candidates=trees, classes=2)
    scored = HeldOutScore.calibrated(ONE, learner=search, classes=2)
    released = perform(scored, rows(60))
    assert 0 <= scored.score(released).value <= 1


def test_what_repeated_tuning_is_given_is_checked_before_it_is_reckoned_with() -> None:
    learners = [MomentClassifier.calibrated(PureDP("1/3"), classes=2, **BOX) for _ in range(2)]
    for shape in ("x", None, 0.5, 2, -1, 10**400, [1]):
        with pytest.raises(InvalidParameter, match=r"^shape must be an integer of at least 0 and at most 1"):
            RepeatedTuning.calibrated(ONE, candidates=learners, classes=2, shape=shape)  # type: ignore[arg-type]
    for given in (None, 7, "learners", learners[0]):
        with pytest.raises(InvalidParameter, match=r"^candidates must be two to"):
            RepeatedTuning.calibrated(ONE, candidates=given, classes=2)


def test_a_session_is_told_that_the_score_is_what_cannot_be_had() -> None:
    with pytest.raises(InvalidParameter, match="score is not allowed: what lloyd-clusters releases scores no rows"):
        _scored(clusters(), ONE, None, ("no", "yes"))


def exact_coverage(rows: int, accuracy: float, scale: float) -> float:
    """How often an interval holds the accuracy, exactly: over all numbers of right rows and noise up to 9 scales."""
    ratio, most = math.exp(-1 / scale), math.ceil(9 * scale)
    noise = np.arange(-most, most + 1)
    odds = (1 - ratio) / (1 + ratio) * ratio ** np.abs(noise)
    both = odds[:, None] * odds[None, :]
    right = np.arange(rows + 1)
    chances = np.array(
        [math.comb(rows, one) * accuracy**one * (1 - accuracy) ** (rows - one) for one in right.tolist()]
    )
    total = 0.0
    for one in right[chances > 1e-7].tolist():
        low, high = accuracy_interval(one + noise[:, None], rows - one + noise[None, :], 2 * scale * scale)
        total += chances[one] * float(both[(low <= accuracy) & (accuracy <= high)].sum())
    return total


@pytest.mark.parametrize(("accuracy", "scale"), [(0.5, 2.0), (0.8, 1.0), (0.95, 2.0), (0.8, 5.0)])
def test_the_interval_for_noise_and_sampling_covers_what_it_says_within_two_points(
    accuracy: float, scale: float
) -> None:
    assert abs(exact_coverage(100, accuracy, scale) - 0.95) < 0.02


def test_without_noise_it_is_wilsons_interval_and_rows_that_are_alike_count_as_people() -> None:
    low, high = accuracy_interval(80, 20, 0.0)
    z = NormalDist().inv_cdf(0.975)
    middle, half = (
        (0.8 + z * z / 200) / (1 + z * z / 100),
        z * math.sqrt(0.16 / 100 + z * z / 40_000) / (1 + z * z / 100),
    )
    assert (float(low), float(high)) == pytest.approx((middle - half, middle + half))
    alike = accuracy_interval(80, 20, 0.0, alike=4)
    assert [float(end) for end in alike] == pytest.approx([float(end) for end in accuracy_interval(20, 5, 0.0)])
    for few in ((0, 0, 1.0), (-5, 2, 1.0), (3, 1, 900.0)):
        assert [float(end) for end in accuracy_interval(*few)] == [0.0, 1.0]


def test_a_score_shows_both_intervals_and_a_regression_says_what_is_not_covered() -> None:
    made = classifier()
    out = perform(made.learner, rows())
    score = made.score(ScoredModel.of(out, np.array([5226, 1274])))
    assert score.is_sampled
    assert score.rows == 6500
    assert score.low < score.noise_low < score.value < score.noise_high < score.high
    assert score.high - score.low == pytest.approx(2 * 1.96 * math.sqrt(0.804 * 0.196 / 6500), rel=0.01)
    assert str(score).endswith("for noise alone, on these rows)")
    wide = made.score(ScoredModel.of(out, np.array([5226, 1274])), alike=4)
    assert wide.high - wide.low == pytest.approx(2 * (score.high - score.low), rel=0.02)
    fit = regression()
    told = fit.score(ScoredModel.of(perform(fit.learner, rows()), np.array([50, 1, 4, 1]) * STEPS))
    assert (told.low, told.high, told.is_sampled) == (told.noise_low, told.noise_high, False)
    assert "sampling is not covered" in str(told)
