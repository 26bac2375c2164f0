"""Conversations about a table of counts: the truth without noise, honest intervals, corrections, and their end."""

from __future__ import annotations

import itertools
import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.data.examples import clinic
from dither.errors import InvalidParameter, NoGuarantee
from dither.lift.attributes import Attributes
from dither.lift.cells import cells_of
from dither.mechanisms.core.kept import converse_with_key
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ZCDP, PureDP
from dither.publish.interactive import Answer, IterativeConstruction, LiftedConversation, ModelFirst
from dither.publish.interactive.construction import Conversation, compared_reach

PEOPLE = Attributes.of({"a": 2, "b": 3, "c": 2})
COUNTS = np.array([[[7, 0], [1, 2], [0, 0]], [[0, 40], [3, 3], [9, 1]]])
PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))
#: Noise that is never seen.
NONE = Geometric(scale="1/1000")
SPARSE = GapSparse(threshold=3, threshold_scale="1/1000", query_scale="1/1000", positives=2)


def talk_with(method: Any, counts: Any = COUNTS) -> Conversation:
    found: Conversation = converse_with_key(method, counts, key=os.urandom(32))
    return found


def every_set(shape: tuple[int, ...]) -> list[Any]:
    cells = int(np.prod(shape))
    return [np.array(bits, dtype=bool).reshape(shape) for bits in itertools.product((False, True), repeat=cells)]


def test_a_table_without_noise_has_the_true_answer_to_every_question() -> None:
    """All 4,096 sets of cells."""
    method = ModelFirst(attributes=PEOPLE, marginals=(("a", "b", "c"),), noises=(NONE,), sparse=SPARSE)
    talk = talk_with(method)
    for question in every_set(PEOPLE.sizes):
        answer = talk.ask(question)
        assert answer.value == COUNTS[question].sum()
        assert answer.ground == "marginals"


def test_questions_about_measured_columns_rest_on_marginals_and_others_are_compared() -> None:
    method = ModelFirst(attributes=PEOPLE, marginals=PAIRS, noises=(NONE,) * 3, sparse=SPARSE)
    talk = talk_with(method)
    for axes in itertools.combinations(range(3), 2):
        for bits in itertools.product((False, True), repeat=PEOPLE.cells_of(axes)):
            shape = [size if axis in axes else 1 for axis, size in enumerate(PEOPLE.sizes)]
            question = np.broadcast_to(np.array(bits, dtype=bool).reshape(shape), PEOPLE.sizes).copy()
            answer = talk.ask(question)
            assert (answer.ground, answer.value) == ("marginals", COUNTS[question].sum())
    assert talk.is_compared


def test_gross_errors_are_measured_learned_and_then_nothing_is_compared() -> None:
    method = ModelFirst(attributes=PEOPLE, marginals=((),), noises=(NONE,), sparse=SPARSE)
    talk = talk_with(method)
    largest = np.zeros(PEOPLE.sizes, dtype=bool)
    largest[1, 0, 1] = True
    first = talk.ask(largest)
    assert (first.source, first.value) == ("measured", 40)
    interval = method.interval(first, "0.95")
    assert interval is not None
    assert (interval.low, interval.high) == (40, 40)
    assert talk.ask(largest) is first
    second = talk.ask(np.arange(12).reshape(PEOPLE.sizes) == 0)
    assert (second.source, second.value, talk.corrections) == ("measured", 7, 2)
    assert not talk.is_compared
    after = talk.ask(np.arange(12).reshape(PEOPLE.sizes) < 2)
    assert (after.source, after.ground) == ("from the model", "nothing")
    assert method.interval(after, "0.95") is None
    # The number of rows was measured, and is known for ever.
    whole = talk.ask(np.ones(PEOPLE.sizes, dtype=bool))
    assert (whole.value, whole.ground) == (COUNTS.sum(), "marginals")


@pytest.mark.parametrize("update", ["multiplicative", "frieze-kannan", "median", "proportional"])
def test_every_update_answers_and_stops_after_its_last_correction(update: str) -> None:
    small = Attributes.of({"a": 2, "b": 2})
    sparse = GapSparse(threshold=3, threshold_scale="1/1000", query_scale="1/1000", positives=3)
    method = IterativeConstruction(attributes=small, total=NONE, sparse=sparse, update=update, records=4)
    talk = talk_with(method, np.array([[20, 0], [0, 0]]))
    first = np.array([[True, False], [False, False]])
    before = talk.ask(first)
    assert (before.source, before.value) == ("measured", 20)
    # A quarter of all rows was expected; now it is more.
    assert 5 < talk._learner.answer(first) <= 20
    for question in every_set((2, 2)):
        talk.ask(question)
    assert talk.corrections <= 3


def test_what_is_compared_moves_by_one_at_most_whatever_the_model_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every set of cells, one row more in every cell: what the sparse vector is fed is recorded."""
    method = ModelFirst(attributes=PEOPLE, marginals=((),), noises=(NONE,), sparse=SPARSE)
    fed: list[list[int]] = []
    for extra in (None, *range(12)):
        talk = talk_with(method)
        if extra is not None:
            talk._counts.flat[extra] += 1
        seen: list[int] = []
        fed.append(seen)

        class Silent:
            is_over = False

            def ask(self, value: int, seen: list[int] = seen) -> None:
                assert type(value) is int
                seen.append(value)

        monkeypatch.setattr(talk, "_handle", Silent())
        for question in every_set(PEOPLE.sizes)[1::37]:
            talk.ask(question)
    for moved in fed[1:]:
        assert max(abs(one - other) for one, other in zip(fed[0], moved, strict=True)) == 1


def test_losses_add_up_and_stay_within() -> None:
    for within in (PureDP(1), PureDP("1/10"), ZCDP("1/8")):
        method = ModelFirst.calibrated(within, attributes=PEOPLE)
        assert method.loss(1) <= within
        assert not method.loss(1) <= type(within)(Fraction(99, 100) * (within.pure or within.rho))
        cold = IterativeConstruction.calibrated(within, attributes=PEOPLE)
        assert cold.loss(1) <= within
    two = ModelFirst.calibrated(PureDP(1), attributes=PEOPLE, marginals=PAIRS)
    parts = sum(part.loss(1).pure or 0 for part in two.draws) + (two.sparse.loss(1).pure or 0)
    assert two.loss(1).pure == parts


@pytest.mark.statistical(n=200 * 6, false_alarm=1e-9, catches="intervals that cover less often than they say")
def test_intervals_are_honest() -> None:
    """An interval at 0.8 misses with probability 0.2 at most; one of a tenth of its length must be found out.

    200 conversations, 6 fixed questions each. For one question at most 40 misses are expected; by Hoeffding's bound
    more than 40 + sqrt(200 ln(6 / 1e-9) / 2) = 87 happen with probability 1e-9 for any of the six.
    """
    method = ModelFirst.calibrated(PureDP(1), attributes=PEOPLE, marginals=PAIRS, corrections=1, questions=6)
    a, b, c = np.ogrid[:2, :3, :2]
    pairs = [np.broadcast_to(one, PEOPLE.sizes).copy() for one in (a == 0, (a == 1) & (b < 2), (b == 0) | (c == 1))]
    questions = [*pairs, *every_set(PEOPLE.sizes)[100:4000:1500]]
    assert len(questions) == 6
    misses, narrow = np.zeros(len(questions)), np.zeros(len(questions))
    for _ in range(200):
        talk = talk_with(method)
        for place, question in enumerate(questions):
            answer, truth = talk.ask(question), COUNTS[question].sum()
            if answer.ground != "nothing":
                reach = method.reach(answer, Fraction(4, 5))
                misses[place] += abs(answer.centre - truth) > reach
                narrow[place] += abs(answer.centre - truth) > reach / 10
    assert (misses <= 87).all()
    assert (narrow > 87).any()


def test_what_is_not_a_question_or_not_a_method_is_refused() -> None:
    method = ModelFirst.calibrated(PureDP(1), attributes=PEOPLE)
    talk = talk_with(method)
    for wrong in (None, [True], np.ones(PEOPLE.sizes), np.ones(3, dtype=bool)):
        with pytest.raises(InvalidParameter, match="question"):
            talk.ask(wrong)  # type: ignore[arg-type]
    for how in ({"share": 1}, {"share": 0}, {"corrections": 0}, {"questions": 0}, {"marginals": (("z",),)}):
        with pytest.raises((InvalidParameter, NoGuarantee)):
            ModelFirst.calibrated(PureDP(1), attributes=PEOPLE, **how)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="cells"):
        ModelFirst.calibrated(PureDP(1), attributes=Attributes.of({"a": 2**11, "b": 2**10}))
    with pytest.raises(InvalidParameter, match="databases"):
        IterativeConstruction.calibrated(PureDP(1), attributes=Attributes.of({"a": 100}), update="median", records=20)
    with pytest.raises(InvalidParameter, match="sparse"):
        ModelFirst(
            attributes=PEOPLE,
            marginals=PAIRS,
            noises=(NONE,) * 3,
            sparse=GapSparse(threshold=1, threshold_scale=1, query_scale=1, margin=3),
        )


def test_an_answer_rests_on_what_it_says() -> None:
    """Reaches grow with confidence, and a comparison's is the threshold's farther than a gap's."""
    method = ModelFirst.calibrated(PureDP(1), attributes=PEOPLE)
    for confidence in (Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000)):
        gap = method.reach(Answer(0, "measured", "gap", 0.0), confidence)
        compared = method.reach(Answer(0, "from the model", "compared", 0.0), confidence)
        assert compared - gap == method.sparse.threshold - 1
    # A question about no cell at all has the answer 0, and no noise.
    nobody = talk_with(method).ask(np.zeros(PEOPLE.sizes, dtype=bool))
    interval = method.interval(nobody, "0.95")
    assert interval is not None
    assert (nobody.value, interval.low, interval.high) == (0, 0, 0)


@pytest.mark.parametrize("sizes", [{"site": 2, "age": 5}, {"age": 4, "site": 2}, {"x": 2, "y": 4}])
def test_a_method_for_other_columns_is_refused_before_anything_is_counted(sizes: dict[str, int]) -> None:
    source = cells_of(clinic(ROW), "visits", ("site", "age"), {"age": 4})
    other = ModelFirst.calibrated(PureDP(1), attributes=Attributes.of(sizes))
    with pytest.raises(InvalidParameter, match="method"):
        LiftedConversation(source=source, method=other)


def test_an_audit_measures_how_far_apart_the_tables_are_and_wants_the_same_questions() -> None:
    from dither.audit.blackbox import audit
    from dither.mechanisms import Dialogue, find

    example = next(iter(find("model-first").examples()))
    here, there, apart = example.neighbours[0]
    with pytest.raises(InvalidParameter, match="the same questions"):
        audit(example.mechanism, here, Dialogue(there.data, there.script[:1]), d_in=apart, samples=1000)
    far = Dialogue(there.data + np.array([[0, 4], [0, 0]]), there.script)
    with pytest.raises(InvalidParameter, match="distance 5"):
        audit(example.mechanism, here, far, d_in=apart, samples=1000)


def pair_law(scales: tuple[float, float], far: int) -> dict[int, float]:
    """Return the law of the difference of two discrete Laplace variables, term by term."""
    one, two = (
        {k: math.tanh(1 / (2 * scale)) * math.exp(-abs(k) / scale) for k in range(-far, far + 1)} for scale in scales
    )
    found: dict[int, float] = {}
    for first, second in itertools.product(one, two):
        found[first + second] = found.get(first + second, 0.0) + one[first] * two[second]
    return found


@pytest.mark.parametrize(("threshold", "scales"), [(9, (1, 2)), (2, (1, 2)), (-3, (2, 1)), (30, (3, 3))])
def test_no_distance_from_the_model_is_missed_more_often_than_stated(threshold: int, scales: tuple[int, int]) -> None:
    """Every distance and every noise of the threshold, by enumeration: who picks the distance may know that noise."""
    sparse = GapSparse(threshold=threshold, threshold_scale=scales[0], query_scale=scales[1])
    level = Fraction(9, 10)
    compared, gap = (compared_reach(sparse, ground, level) for ground in ("compared", "gap"))
    far = 40
    shift, noise = (
        {k: math.tanh(1 / (2 * scale)) * math.exp(-abs(k) / scale) for k in range(-far, far + 1)} for scale in scales
    )
    missed = 0.0
    for moved, chance in shift.items():
        worst = 0.0
        for lead in range(-far, far + 1):
            # Of one comparison: passed, found with an interval that holds, found with one that misses.
            passed, wrong = {}, {}
            for sign in (1, -1):
                gaps = {k: p for k, p in noise.items() if sign * lead + k >= threshold + moved}
                passed[sign] = 1 - sum(gaps.values())
                wrong[sign] = sum(p for k, p in gaps.items() if abs(k - moved) > gap)
            here = wrong[1] + passed[1] * (wrong[-1] + passed[-1] * (abs(lead) > compared))
            worst = max(worst, here)
        missed += chance * worst
    assert missed <= 1 - level
    if threshold > 2 * gap:
        # Nearly all of what may be missed is: no public reach that is much shorter would do.
        assert missed > (1 - level) / 2


def test_a_reach_is_no_longer_than_the_law_of_both_noises_asks_for() -> None:
    sparse = GapSparse(threshold=200, threshold_scale=4, query_scale=8)
    law = pair_law((4.0, 8.0), 300)
    tail = {reach: sum(p for k, p in law.items() if abs(k) > reach) for reach in range(80)}
    found = int(compared_reach(sparse, "gap", Fraction(19, 20)))
    assert tail[found] <= 0.05 < tail[found - 2]
    assert compared_reach(sparse, "compared", Fraction(19, 20)) == found + 199
