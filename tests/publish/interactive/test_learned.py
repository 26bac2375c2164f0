"""Conversations that learn other questions than sets of cells: distances, disjunctions, cuts, minimisers."""

from __future__ import annotations

import itertools
import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.lift.attributes import Attributes
from dither.mechanisms import PublicArray
from dither.mechanisms.core.kept import converse_with_key
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import ZCDP, PureDP
from dither.publish.interactive import (
    CutConversation,
    DisjunctionConversation,
    DistanceConversation,
    IterativeConstruction,
    MinimisingConversation,
)
from dither.publish.interactive.cuts import cut_cells
from dither.publish.interactive.disjunctions import PolynomialLearner, chebyshev_error, chebyshev_value, polynomial
from dither.publish.interactive.distances import check_metric

#: Noise that is never seen.
NONE = Geometric(scale="1/1000")
LINE = PublicArray(np.abs(np.arange(5)[:, None] - np.arange(5)))
BITS = Attributes.of({"a": 2, "b": 2, "c": 2, "d": 2})
ROWS = np.array(list(itertools.product((0, 1), repeat=4)))[[1, 1, 3, 6, 6, 6, 9, 15, 0, 0, 12]]


def sparse(positives: int = 2, threshold: int = 2) -> GapSparse:
    return GapSparse(threshold=threshold, threshold_scale="1/1000", query_scale="1/1000", positives=positives)


def talk_with(method: Any, data: Any) -> Any:
    return converse_with_key(method, data, key=os.urandom(32))


def test_distances_are_measured_learned_and_then_from_the_model() -> None:
    counts = np.array([0, 0, 0, 0, 50])
    method = DistanceConversation(metric=LINE, sparse=sparse(positives=3), total=NONE)
    talk = talk_with(method, counts)
    first = talk.ask(0)
    assert (first.value, first.source) == (200, "measured")
    interval = method.interval(first, "0.9")
    assert interval is not None
    assert interval.low <= 200 <= interval.high
    # An even table would have said 100 from either end; it has learned that rows are far from 0.
    assert talk._model.answer(LINE.values[4]) < 100 < talk._model.answer(LINE.values[0])
    assert talk.ask(0) is first
    for place in (4, 1):
        assert talk.ask(place).value == int(counts @ LINE.values[place])
    assert not talk.is_compared
    after = talk.ask(2)
    assert (after.ground, method.interval(after, "0.9")) == ("nothing", None)


def test_a_row_moves_a_sum_of_distances_by_the_largest_at_most() -> None:
    """Every cell and every question; some row moves some answer by as much."""
    method = DistanceConversation(metric=LINE, sparse=sparse(), total=NONE)
    counts = np.array([3, 1, 0, 2, 5])
    moved = [
        abs(method.truth(method.held(counts + one), asked) - method.truth(method.held(counts), asked))
        for one in np.eye(5, dtype=np.int64)
        for asked in LINE.values
    ]
    assert max(moved) == method.top == 4


@pytest.mark.parametrize(
    "table",
    [
        [[0, 1], [2, 0]],
        [[0, 0], [0, 0]],
        [[1, 1], [1, 0]],
        [[0, 9, 1], [9, 0, 1], [1, 1, 0]],
        [[0, -1], [-1, 0]],
        [[0, 1, 2], [1, 0, 1]],
        [[0.0, 1.0], [1.0, 0.0]],
        [[0, 2**21], [2**21, 0]],
    ],
)
def test_what_is_no_metric_is_refused(table: Any) -> None:
    with pytest.raises(InvalidParameter, match="metric"):
        check_metric(PublicArray(table))
    with pytest.raises(InvalidParameter):
        DistanceConversation.calibrated(PureDP(1), metric=PublicArray(table))


@pytest.mark.parametrize(("asked", "degree"), [(2, 1), (4, 2), (6, 3), (9, 4), (5, 5), (3, 7), (30, 6)])
def test_the_polynomial_is_as_near_as_chebyshev_says(asked: int, degree: int) -> None:
    """0 at no attribute, within the stated error of 1 at all others; its weights on sets give the same numbers."""
    error = chebyshev_error(asked, degree)
    assert chebyshev_value(0, asked, degree) == 0
    values = [chebyshev_value(count, asked, degree) for count in range(1, asked + 1)]
    assert max(abs(value - 1) for value in values) == error
    weights = polynomial(asked, degree)
    for count in range(asked + 1):
        found = math.fsum(weight * math.comb(count, size) for size, weight in enumerate(weights))
        assert found == pytest.approx(float(chebyshev_value(count, asked, degree)), abs=1e-6)
    # The degree grows with the root of what is asked.
    assert float(chebyshev_error(asked, degree)) <= 2 * math.exp(-2 * degree / math.sqrt(asked)) + 1e-12


def test_disjunctions_are_counted_and_learned() -> None:
    method = DisjunctionConversation(attributes=BITS, degree=2, sparse=sparse(positives=4, threshold=1), total=NONE)
    talk = talk_with(method, ROWS)
    questions = [names for size in (1, 2, 3, 4) for names in itertools.combinations(BITS.names, size)]
    for names in questions:
        axes = [BITS.names.index(name) for name in names]
        truth = int((ROWS[:, axes] == 1).any(axis=1).sum())
        answer = talk.ask(names)
        if answer.ground != "nothing":
            assert abs(answer.value - truth) < 1
    assert sum(one.source == "measured" for one in talk._answers.values()) == 4
    for wrong in ((), ("z",), "a", None):
        with pytest.raises(InvalidParameter, match="question"):
            talk.ask(wrong)
    # A row more has any of them or not: the truth moves by 1 at most.
    for row in itertools.product((0, 1), repeat=4):
        more = np.vstack([ROWS, row])
        for _, asked in (method.checked(names) for names in questions):
            assert 0 <= method.truth(method.held(more), asked) - method.truth(method.held(ROWS), asked) <= 1


def test_a_learner_that_knows_all_sets_answers_by_inclusion_and_exclusion() -> None:
    learner = PolynomialLearner(len(ROWS), degree=4)
    for size in range(1, 5):
        for chosen in itertools.combinations(range(4), size):
            learner._known[chosen] = float((ROWS[:, chosen] == 1).all(axis=1).sum())
    for size in range(1, 5):
        for asked in itertools.combinations(range(4), size):
            assert learner.answer(asked) == pytest.approx((ROWS[:, asked] == 1).any(axis=1).sum())


def test_cuts_are_what_they_are_in_the_graph() -> None:
    """All pairs of sets of four nodes: each edge with an end in either counts once."""
    nodes, edges = 4, [(0, 1), (1, 2), (0, 3), (3, 2)]
    pairs = Attributes.of({"one": nodes, "other": nodes})
    method = CutConversation(
        method=IterativeConstruction(
            attributes=pairs, total=NONE, sparse=sparse(positives=200, threshold=1), update="frieze-kannan"
        )
    )
    talk = talk_with(method, edges)
    sets = [np.array(bits, dtype=bool) for bits in itertools.product((False, True), repeat=nodes)]
    for one, two in itertools.product(sets, repeat=2):
        truth = sum(bool((one[u] and two[v]) or (one[v] and two[u])) for u, v in edges)
        answer = talk.ask((one, two))
        assert abs(answer.value - truth) < 1
        assert (cut_cells((one, two), nodes) == cut_cells((two, one), nodes)).all()
    assert talk.is_compared
    for wrong in (None, (sets[0],), (sets[0], [True] * 4), (sets[0], sets[1][:3])):
        with pytest.raises(InvalidParameter, match="question"):
            talk.ask(wrong)
    with pytest.raises(InvalidParameter, match="nodes"):
        CutConversation.calibrated(PureDP(1), nodes=1025)


LOSSES = PublicArray([[0, 1, 2, 3], [3, 2, 1, 0], [1, 1, 1, 1]])


def minimising(positives: int = 2, threshold: int = 2) -> MinimisingConversation:
    return MinimisingConversation(
        cells=4,
        candidates=3,
        top=3,
        sparse=sparse(positives, threshold),
        choice=Exponential(candidates=3, scale="1/1000"),
        total=NONE,
    )


def test_minimisers_are_chosen_from_the_data_where_the_model_errs() -> None:
    method, counts = minimising(), np.array([0, 0, 0, 90])
    talk = talk_with(method, counts)
    first = talk.ask(LOSSES)
    assert (first.candidate, first.source) == (1, "measured")
    bound = method.excess(first, "0.95")
    assert bound is not None
    assert bound.value < 1
    # The table has learned that the second candidate is better: the same losses in another order are known to it.
    assert (LOSSES.values @ talk._model.table)[1] < (LOSSES.values @ talk._model.table)[0]
    turned = talk.ask(PublicArray(LOSSES.values[::-1]))
    assert turned.candidate == 1
    other = talk.ask(PublicArray([[0, 0, 0, 3], [1, 1, 1, 0], [3, 3, 3, 3]]))
    assert other.candidate == 1
    for wrong in (
        None,
        LOSSES.values,
        PublicArray([[0, 1, 2, 3]]),
        PublicArray(LOSSES.values + 1),
        PublicArray(LOSSES.values * 1.0),
    ):
        with pytest.raises(InvalidParameter, match="question"):
            talk.ask(wrong)


def test_an_excess_moves_by_the_largest_loss_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the sparse vector is fed, for every cell that may have a row more and many tables of losses."""
    method, counts = minimising(), np.array([3, 1, 0, 4])
    asked = [
        PublicArray(np.array(one).reshape(3, 4))
        for one in itertools.islice(itertools.product((0, 1, 3), repeat=12), 0, None, 9973)
    ]
    fed: list[list[int]] = []
    for extra in (None, *range(4)):
        talk = talk_with(method, counts if extra is None else counts + np.eye(4, dtype=np.int64)[extra])
        seen: list[int] = []
        fed.append(seen)

        class Silent:
            is_over = False

            def ask(self, value: int, seen: list[int] = seen) -> None:
                seen.append(value)

        monkeypatch.setattr(talk, "_handle", Silent())
        talk._model.table = np.array([1.0, 2.0, 3.0, 2.0])
        for one in asked:
            talk.ask(one)
    moved = max(abs(a - b) for other in fed[1:] for a, b in zip(fed[0], other, strict=True))
    assert moved == 3
    assert min(fed[0]) >= 0


def test_losses_stay_within_and_nearly_use_it_up() -> None:
    for within in (PureDP(1), PureDP("1/10"), ZCDP("1/8")):
        made: list[Any] = [
            DistanceConversation.calibrated(within, metric=LINE),
            DisjunctionConversation.calibrated(within, attributes=BITS),
            CutConversation.calibrated(within, nodes=9),
            MinimisingConversation.calibrated(within, cells=4, candidates=3, top=3),
        ]
        for method in made:
            assert method.loss(1) <= within
            if within.pure is not None:
                assert not method.loss(1) <= PureDP(Fraction(99, 100) * within.pure)
    for how in ({"share": 1}, {"corrections": 0}):
        with pytest.raises(InvalidParameter):
            DistanceConversation.calibrated(PureDP(1), metric=LINE, **how)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter):
            MinimisingConversation.calibrated(PureDP(1), cells=4, candidates=3, top=3, **how)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="attributes"):
        DisjunctionConversation.calibrated(PureDP(1), attributes=Attributes.of({"a": 3}))
    with pytest.raises(InvalidParameter, match="degree"):
        DisjunctionConversation.calibrated(
            PureDP(1), attributes=Attributes.of({f"a{number}": 2 for number in range(30)}), degree=15
        )
    with pytest.raises(InvalidParameter, match="choice"):
        MinimisingConversation(
            cells=4, candidates=3, top=3, sparse=sparse(), choice=Exponential(candidates=2, scale=1), total=NONE
        )
