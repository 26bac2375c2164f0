"""The core at work: composed mechanisms written as a user would write them, run through both doors.

Each keeps to its plan or is stopped before a single word of noise is drawn; each is charged before it draws and keeps
what it paid when it fails.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.audit.samplers import BlockNoise
from dither.errors import (
    BudgetExceeded,
    DitherError,
    HandleMisuse,
    IncompatibleDistance,
    InvalidParameter,
    InvalidValue,
    MissingExtra,
    PlanViolation,
)
from dither.exact import Number, Positive, Whole
from dither.mechanisms import (
    AboveThreshold,
    Budget,
    Composed,
    Exponential,
    Gaussian,
    Geometric,
    Handle,
    Interactive,
    Laplace,
    Mechanism,
    Numerics,
    PublicArray,
    RandomisedResponse,
    Release,
    Runner,
    converse,
    release,
)
from dither.mechanisms.core import registry
from dither.noise import Noise, SystemEntropy, system_noise
from dither.privacy import (
    EVENT,
    NOTHING,
    ROW,
    ROW_REPLACED,
    ZCDP,
    ApproxDP,
    Best,
    InOrder,
    Loss,
    Parallel,
    Plan,
    PureDP,
    Repeat,
    Repeats,
    Sampled,
    Unit,
    Use,
    Within,
)
from dither.testing.replay import replay

F = Fraction
Misfits = Callable[[Iterable[Any], Mapping[Any, float]], list[Any]]


class Bench(Composed[Any, Any]):
    """What the composed mechanisms of this file share: they count rows added or removed."""

    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "it is a test"

    @property
    def distance(self) -> Unit:
        return ROW


@dataclass(frozen=True, kw_only=True)
class Mwem(Bench):
    """Multiplicative weights: ask the query that is answered worst, and learn from its noisy answer."""

    name: ClassVar[str] = "test-mwem"
    queries: PublicArray
    epsilon: Positive = Positive()
    rounds: Whole = Whole(least=1)

    @property
    def select(self) -> Exponential:
        share = PureDP(self.epsilon / (2 * self.rounds))
        candidates = len(self.queries.values)
        return Exponential.calibrated(share, sensitivity=1, candidates=candidates, grid="1/16", score_error="1e-6")

    @property
    def measure(self) -> Geometric:
        return Geometric.calibrated(PureDP(self.epsilon / (2 * self.rounds)), sensitivity=1)

    def plan(self) -> Plan:
        return Repeat(InOrder.of(Use(self.select), Use(self.measure)), self.rounds)

    def release(self, data: Any, run: Runner) -> Any:
        queries, truth = self.queries.values, self.queries.values @ data
        weights = np.ones(queries.shape[1])
        for _ in range(self.rounds):
            guesses = queries @ weights
            worst = run(self.select, np.abs(truth - guesses))
            answer = run(self.measure, truth[worst])
            weights *= np.exp(queries[worst] * np.sign(answer - guesses[worst]) / 4)
        return weights


@dataclass(frozen=True, kw_only=True)
class SampledCount(Bench):
    """Count a secret sample."""

    name: ClassVar[str] = "test-sampled-count"
    rate: Positive = Positive("1/10")
    count: ClassVar[Geometric] = Geometric(scale=1)

    def plan(self) -> Plan:
        return Sampled(Use(self.count), self.rate)

    def release(self, data: Any, run: Runner) -> int:
        rows, inner = run.sampled(data, self.rate)
        return int(inner(self.count, len(rows)))


@dataclass(frozen=True, kw_only=True)
class Trial(Bench):
    """One try at a threshold: a private score, and the threshold that was tried."""

    name: ClassVar[str] = "test-trial"
    count: ClassVar[Geometric] = Geometric(scale=4)

    def plan(self) -> Plan:
        return Use(self.count)

    def release(self, data: Any, run: Runner) -> tuple[int, str]:
        score = int(run(self.count, len(data)))
        return score, f"scored {score}"


@dataclass(frozen=True, kw_only=True)
class Tuned(Bench):
    """The best of a secret number of trials."""

    name: ClassVar[str] = "test-tuned"
    repeats: ClassVar[Repeats] = Repeats(stop="1/4", shape=1)
    trial: ClassVar[Trial] = Trial()

    def plan(self) -> Plan:
        return Best(Use(self.trial), self.repeats)

    def release(self, data: Any, run: Runner) -> str:
        return run.best(self.trial, data, self.repeats)


@dataclass(frozen=True, kw_only=True)
class Zoom(Bench):
    """Look closer for as long as the budget lasts: how far depends on the answers."""

    name: ClassVar[str] = "test-zoom"

    def plan(self) -> Plan:
        return Within(PureDP(1), (Geometric,))

    def release(self, data: Any, run: Runner) -> list[int]:
        answers: list[int] = []
        scale = 16
        while True:
            try:
                answers.append(run(Geometric(scale=scale), len(data)))
            except BudgetExceeded:
                return answers
            scale = scale // 2 if answers[-1] > 0 and scale > 1 else scale


@dataclass(frozen=True, kw_only=True)
class Count(Bench):
    """The number of rows."""

    name: ClassVar[str] = "test-count"
    scale: Positive = Positive(2)

    @property
    def part(self) -> Geometric:
        return Geometric(scale=self.scale)

    def plan(self) -> Plan:
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> int:
        return run(self.part, len(data))  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class Doubled(Bench):
    """Count a table in which every row stands twice: one row of data is two rows there."""

    name: ClassVar[str] = "test-doubled"
    inner: Count

    def plan(self) -> Plan:
        return InOrder.of(Use(self.inner, 2), Use(Laplace(scale=8, grid=1), 4))

    def release(self, data: Any, run: Runner) -> tuple[int, float]:
        twice = run(self.inner, [*data, *data], stability=2)
        return twice, run(Laplace(scale=8, grid=1), 4 * len(data), stability=4)


@dataclass(frozen=True, kw_only=True)
class TreeCounter(Interactive[None, "Counting"]):
    """A counter on a stream of 2^levels steps: every event is in one node of each level of a binary tree."""

    name: ClassVar[str] = "test-tree-counter"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    levels: Whole = Whole(most=20)
    epsilon: Positive = Positive()

    @property
    def distance(self) -> Unit:
        return EVENT

    @property
    def node(self) -> Geometric:
        return Geometric(scale=(self.levels + 1) / self.epsilon)

    def sizes(self) -> list[int]:
        return [2 ** (self.levels - level) for level in range(self.levels + 1)]

    def plan(self) -> Plan:
        return InOrder(tuple(Parallel(Use(self.node), size, 1) for size in self.sizes()))

    def open(self, data: None, run: Runner) -> Counting:
        return Counting(self, [run.parallel(size) for size in self.sizes()])


class Counting:
    """The conversation: each step is fed once, and answered with the running total."""

    def __init__(self, counter: TreeCounter, nodes: list[list[Runner]]) -> None:
        self.counter, self.nodes = counter, nodes
        self.steps, self.open_sums, self.noisy = 0, [0] * len(nodes), [0] * len(nodes)

    def feed(self, count: int) -> int:
        self.steps += 1
        for level, runners in enumerate(self.nodes):
            self.open_sums[level] += count
            if self.steps % 2**level == 0:
                run = runners[self.steps // 2**level - 1]
                self.noisy[level] = run(self.counter.node, self.open_sums[level])
                self.open_sums[level] = 0
        return sum(noisy for level, noisy in enumerate(self.noisy) if self.steps >> level & 1)


ROWS = list(range(40))
HISTOGRAM = np.array([9, 1, 0, 3, 12, 5, 0, 2])
MWEM = Mwem(queries=PublicArray(np.tri(8, dtype=np.int64)), epsilon=2, rounds=3)
COMPOSED: list[tuple[Bench, Any]] = [
    (MWEM, HISTOGRAM),
    (SampledCount(), ROWS),
    (Tuned(), ROWS),
    (Zoom(), ROWS),
    (Doubled(inner=Count()), ROWS),
]
every_composed = pytest.mark.parametrize(("mechanism", "data"), COMPOSED, ids=[part.name for part, _ in COMPOSED])


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch, noise: Noise) -> None:
    """Let the doors draw from the counting entropy."""
    # By way of sys.modules: in its package the function of that name hides the module.
    monkeypatch.setattr(sys.modules["dither.mechanisms.core.release"], "system_noise", lambda: noise)


# They run, at the price of their plan.


@every_composed
def test_composed_mechanisms_run_through_the_door(mechanism: Bench, data: Any, entropy: Any, door: None) -> None:
    budget = Budget(epsilon=10, unit=ROW)
    price = mechanism.loss()
    entropy.before = lambda: pytest.fail("drawn before the charge") if budget.spent != price else None
    answer = release(mechanism, data, budget=budget)
    assert entropy.used > 0
    assert isinstance(answer, Release)
    assert answer.loss == budget.spent == price == mechanism.plan().loss(1)
    assert answer.unit == ROW
    assert answer.receipt == "unledgered"


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [
        (Tuned(), 3 * F(1, 4)),
        (Zoom(), F(1)),
        (Doubled(inner=Count()), F(2, 2) + F(4, 8)),
        (TreeCounter(levels=4, epsilon="1/2"), F(1, 2)),
    ],
    ids=str,
)
def test_losses_follow_from_plans(mechanism: Mechanism[Any, Any], epsilon: Fraction) -> None:
    assert mechanism.loss(1).pure == epsilon
    assert mechanism.loss(2).pure == 2 * epsilon
    assert mechanism.loss(0).is_zero


def test_rounding_of_scores_is_paid_once() -> None:
    """Half of the budget goes to choices, which pay for their grid whatever the distance."""
    assert MWEM.loss(1).pure == 2
    assert 4 * F(98, 100) < MWEM.loss(2).pure < 4
    assert MWEM.loss(2).pure == 3 * (MWEM.select.loss(2).pure + MWEM.measure.loss(2).pure)


def test_a_secret_sample_loses_less() -> None:
    loss = SampledCount().loss(1).pure
    assert float(loss) == pytest.approx(math.log(1 + (math.e - 1) / 10), rel=1e-12)
    assert loss >= F(math.log(1 + (math.e - 1) / 10)) * (1 - F(1, 10**12))


@every_composed
def test_neighbours_take_the_same_path(mechanism: Bench, data: Any) -> None:
    """On frozen draws: a row more and a row less make no difference but to the values that are noised."""
    if isinstance(data, np.ndarray):
        neighbours = [data + np.eye(len(data), dtype=data.dtype)[0], data - np.eye(len(data), dtype=data.dtype)[-1]]
    else:
        neighbours = [[*data, 7], data[1:], data[:-1]]
    for neighbour in neighbours:
        assert replay(mechanism, data, neighbour) == []


def test_mwem_learns(noise: Noise) -> None:
    """With hardly any noise the weights approach the histogram: the fifteen lines are multiplicative weights."""
    mechanism = Mwem(queries=PublicArray(np.tri(8, dtype=np.int64)), epsilon=10**6, rounds=60)
    weights = Runner(Use(mechanism), noise)(mechanism, HISTOGRAM)
    start = np.abs(np.cumsum(np.ones(8)) - np.cumsum(HISTOGRAM)).max()
    assert np.abs(np.cumsum(weights) - np.cumsum(HISTOGRAM)).max() < start / 3


def test_an_adaptive_run_never_exceeds_its_budget(noise: Noise) -> None:
    for data in ([], ROWS):
        answers = Runner(Use(Zoom()), noise)(Zoom(), data)
        assert 1 <= len(answers) <= 16


def test_a_tuned_result_is_one_of_its_trials(noise: Noise) -> None:
    assert Runner(Use(Tuned()), noise)(Tuned(), ROWS).startswith("scored ")


# The interactive door.


def test_tree_counter_counts(door: None) -> None:
    budget = Budget(epsilon=10**7, unit=EVENT)
    counter = TreeCounter(levels=4, epsilon=10**6)
    conversation = converse(counter, None, budget=budget)
    stream = [3, 0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9]
    assert [conversation.feed(count) for count in stream] == list(itertools.accumulate(stream))
    assert budget.spent == counter.loss(1)
    with pytest.raises(IndexError):
        conversation.feed(1)


def test_a_conversation_is_charged_whole_before_it_begins(entropy: Any, door: None) -> None:
    budget = Budget(epsilon=1, unit=EVENT)
    conversation = converse(TreeCounter(levels=3, epsilon="3/4"), None, budget=budget)
    assert budget.spent.pure == F(3, 4)
    assert entropy.used == 0
    conversation.feed(5)
    assert entropy.used > 0
    assert budget.spent.pure == F(3, 4)


def test_a_node_is_drawn_once(noise: Noise, entropy: Any) -> None:
    counter = TreeCounter(levels=2, epsilon=1)
    run = Runner(Use(counter), noise).converse(counter, None)
    run.feed(1)
    before = entropy.used
    with pytest.raises(PlanViolation):
        run.nodes[0][0](counter.node, 1)
    assert entropy.used == before


def test_a_conversation_cannot_be_forked_into_two(noise: Noise) -> None:
    """A copy of the conversation would draw every node a second time."""
    counter = TreeCounter(levels=2, epsilon=1)
    run = Runner(Use(counter), noise).converse(counter, None)
    for duplicate in (copy.deepcopy, pickle.dumps):
        with pytest.raises(HandleMisuse):
            duplicate(run)
    shallow = copy.copy(run)
    shallow.feed(1)
    with pytest.raises(PlanViolation):
        run.feed(1)


# What is not in the plan is not drawn.


@dataclass(frozen=True, kw_only=True)
class Disobedient(Bench):
    """States one plan and follows another."""

    name: ClassVar[str] = "test-disobedient"
    stated: Plan
    deed: Callable[[Any, Runner], Any]

    def plan(self) -> Plan:
        return self.stated

    def release(self, data: Any, run: Runner) -> Any:
        return self.deed(data, run)


ONE, TWO = Geometric(scale=1), Geometric(scale=2)
ABOVE = AboveThreshold(threshold=0, threshold_scale=1, query_scale=1)
REPEATS = Repeats(stop="1/2", shape=1)
VIOLATIONS: dict[str, tuple[Plan, Callable[[Any, Runner], Any]]] = {
    "nothing planned": (InOrder(()), lambda data, run: run(ONE, 1)),
    "another part": (Use(ONE), lambda data, run: run(TWO, 1)),
    "a part of another kind": (Use(ONE), lambda data, run: run(Laplace(scale=1, grid=1), 1)),
    "another stability": (Use(ONE), lambda data, run: run(ONE, 1, stability=2)),
    "a smaller stability": (Use(ONE, 2), lambda data, run: run(ONE, 1)),
    "another order": (InOrder.of(Use(ONE), Use(TWO)), lambda data, run: run(TWO, 1)),
    "a division without one": (Use(ONE), lambda data, run: run.parallel(2)),
    "another division": (Parallel(Use(ONE), 2, 1), lambda data, run: run.parallel(3)),
    "a draw in place of a division": (Parallel(Use(ONE), 2, 1), lambda data, run: run(ONE, 1)),
    "another rate": (Sampled(Use(ONE), "1/2"), lambda data, run: run.sampled(data, "1/3")),
    "a sample without one": (Use(ONE), lambda data, run: run.sampled(data, "1/3")),
    "no sample": (Sampled(Use(ONE), "1/2"), lambda data, run: run(ONE, 1)),
    "other repeats": (Best(Use(Trial()), REPEATS), lambda data, run: run.best(Trial(), data, Tuned.repeats)),
    "no selection": (Best(Use(Trial()), REPEATS), lambda data, run: run(Trial(), data)),
    "no filter": (InOrder.of(Use(ONE), Within(PureDP(1), (Geometric,))), lambda data, run: run.within()),
    "a filter without one": (Use(ONE), lambda data, run: run.within()),
    "a part type not declared": (Within(PureDP(1), (Laplace,)), lambda data, run: run(ONE, 1)),
    "a division under a filter": (Within(PureDP(1), (Geometric,)), lambda data, run: run.parallel(1)),
    "a conversation not planned": (Use(ONE), lambda data, run: run.open(ABOVE)),
    "no rounds": (Repeat(Use(ONE), 0), lambda data, run: run(ONE, 1)),
}


@pytest.mark.parametrize(("plan", "deed"), VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_a_draw_outside_the_plan_is_refused_before_it_is_made(
    plan: Plan, deed: Callable[[Any, Runner], Any], noise: Noise, entropy: Any
) -> None:
    mechanism = Disobedient(stated=plan, deed=deed)
    with pytest.raises(PlanViolation):
        Runner(Use(mechanism), noise)(mechanism, ROWS)
    assert entropy.used == 0


def test_a_selection_among_other_trials_draws_no_more_than_their_number(
    noise: Noise, monkeypatch: pytest.MonkeyPatch, entropy: Any
) -> None:
    """The number of runs is drawn as planned, and what is refused is the first run."""
    monkeypatch.setattr(Runner, "_count_runs", lambda self, repeats: 3)
    run = Runner(Best(Use(ONE), REPEATS), noise)
    with pytest.raises(PlanViolation):
        run.best(Trial(), ROWS, REPEATS)
    assert entropy.used == 0


def test_a_draw_beyond_the_plan_is_refused(noise: Noise, entropy: Any) -> None:
    def deed(data: Any, run: Runner) -> Any:
        for _ in range(3):
            run(ONE, len(data))
        before = entropy.used
        for part in (ONE, TWO):
            with pytest.raises(PlanViolation):
                run(part, len(data))
        assert entropy.used == before
        return run.is_finished

    for plan in (Repeat(Use(ONE), 3), InOrder.of(Use(ONE), Repeat(Use(ONE), 2)), InOrder.of(*[Use(ONE)] * 3)):
        mechanism = Disobedient(stated=plan, deed=deed)
        assert Runner(Use(mechanism), noise)(mechanism, ROWS)


def test_the_order_of_a_round_is_kept(noise: Noise) -> None:
    def deed(data: Any, run: Runner) -> bool:
        run(ONE, 1)
        with pytest.raises(PlanViolation):
            run(ONE, 1)
        assert not run.is_finished
        run(TWO, 1)
        return run.is_finished

    mechanism = Disobedient(stated=Repeat(InOrder.of(Use(ONE), Use(TWO)), 5), deed=deed)
    assert Runner(Use(mechanism), noise)(mechanism, ROWS)


def test_siblings_have_a_plan_each(noise: Noise, entropy: Any) -> None:
    def deed(data: Any, run: Runner) -> None:
        first, second = run.parallel(2)
        first(ONE, 1)
        before = entropy.used
        with pytest.raises(PlanViolation):
            first(ONE, 1)
        with pytest.raises(PlanViolation):
            run.parallel(2)
        assert entropy.used == before
        second(ONE, 1)

    mechanism = Disobedient(stated=Parallel(Use(ONE), 2, 1), deed=deed)
    Runner(Use(mechanism), noise)(mechanism, ROWS)


@pytest.mark.parametrize("part", [ABOVE, TreeCounter(levels=1, epsilon=1), "geometric", None])
def test_a_runner_draws_only_from_what_draws(part: Any, noise: Noise, entropy: Any) -> None:
    runner = Runner(Use(ONE), noise)
    with pytest.raises(InvalidParameter, match="part must be"):
        runner(part, 1)
    with pytest.raises(InvalidParameter, match="part must be"):
        runner.open(ONE)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="part must be"):
        runner.converse(ONE, 1)  # type: ignore[arg-type]
    assert entropy.used == 0
    runner(ONE, 1)


@pytest.mark.parametrize("stability", [0, -1, math.nan, math.inf, "far", True, None])
def test_a_stability_that_is_none_is_refused(stability: Any, noise: Noise, entropy: Any) -> None:
    with pytest.raises(InvalidParameter, match="stability must be"):
        Runner(Use(ONE), noise)(ONE, 1, stability=stability)
    assert entropy.used == 0


# Under a filter.


def test_a_filter_counts_stability_and_refuses_what_does_not_fit(noise: Noise, entropy: Any) -> None:
    run = Runner(Within(PureDP(1), (Geometric, Gaussian)), noise)
    run(TWO, 0)
    before = entropy.used
    with pytest.raises(BudgetExceeded):
        run(TWO, 0, stability=2)
    with pytest.raises(BudgetExceeded):
        run(Gaussian(sigma=1000), 0)
    assert entropy.used == before
    run(TWO, 0)
    with pytest.raises(BudgetExceeded):
        run(Geometric(scale=10**9), 0)
    assert run.is_finished


@dataclass(frozen=True, kw_only=True)
class ReplacedCount(Count):
    """A count of a table whose rows are replaced: it never moves."""

    name: ClassVar[str] = "test-replaced-count"

    @property
    def distance(self) -> Unit:
        return ROW_REPLACED


def test_a_filter_never_mixes_units(noise: Noise, entropy: Any) -> None:
    """A part that counts replaced rows has no place in a plan about added ones, however it is chosen."""
    for unit in (None, ROW):
        run = Runner(Within(PureDP(10), (Bench,), unit), noise)
        with pytest.raises(IncompatibleDistance):
            run(ReplacedCount(), ROWS)
    assert entropy.used == 0
    with pytest.raises(IncompatibleDistance):
        Runner(Within(PureDP(10), (Bench,)), noise)(Count(), ROWS)
    Runner(Within(PureDP(10), (Bench,), ROW), noise)(Count(), ROWS)
    wrong = Disobedient(stated=Within(PureDP(1), (Bench,), ROW_REPLACED), deed=lambda data, run: None)
    with pytest.raises(IncompatibleDistance):
        wrong.loss()


def test_a_filter_after_a_draw_is_entered(noise: Noise) -> None:
    def deed(data: Any, run: Runner) -> int:
        run(ONE, 1)
        adaptive = run.within()
        adaptive(TWO, 1)
        adaptive(TWO, 1)
        with pytest.raises(BudgetExceeded):
            adaptive(TWO, 1)
        assert run.is_finished
        return 0

    assert isinstance(Runner(Within(PureDP(1), (Geometric,)), noise).within(), Runner)
    mechanism = Disobedient(stated=InOrder.of(Use(ONE), Within(PureDP(1), (Geometric,))), deed=deed)
    assert mechanism.loss(1).pure == 2
    assert Runner(Use(mechanism), noise)(mechanism, ROWS) == 0


# Plans that do not hold are refused before anything is charged.


@pytest.mark.parametrize(
    ("plan", "error"),
    [
        (Use(ReplacedCount()), IncompatibleDistance),
        (InOrder.of(Use(ONE), Repeat(Use(ReplacedCount()), 2)), IncompatibleDistance),
        (Sampled(Use(ReplacedCount()), "1/2"), IncompatibleDistance),
        (Best(Use(Gaussian(sigma=1)), REPEATS), DitherError),
    ],
)
def test_unsound_plans_are_refused(plan: Plan, error: type[DitherError], entropy: Any, door: None) -> None:
    budget = Budget(epsilon=100, unit=ROW)
    with pytest.raises(error):
        release(Disobedient(stated=plan, deed=lambda data, run: None), ROWS, budget=budget)
    assert budget.spent == NOTHING
    assert entropy.used == 0


def test_replaced_rows_are_neither_sampled_nor_touch_one_part() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Replaced(Disobedient):
        @property
        def distance(self) -> Unit:
            return ROW_REPLACED

    with pytest.raises(IncompatibleDistance):
        Replaced(stated=Sampled(Use(ONE), "1/2"), deed=lambda data, run: None).loss()
    with pytest.raises(InvalidParameter, match="touched must be"):
        Replaced(stated=Parallel(Use(ONE), 4, 1), deed=lambda data, run: None).loss()
    assert Replaced(stated=Parallel(Use(ONE), 4, 2), deed=lambda data, run: None).loss().pure == 2


def test_a_composed_loss_cannot_be_overridden() -> None:
    """At run time as for the type checker: the class itself is refused, also when another base brings the loss."""

    def cheap(self: Any, d_in: Number = 1) -> Loss:
        return NOTHING

    class Cheap:
        loss = cheap

    for base in (Count, TreeCounter):
        with pytest.raises(InvalidParameter, match="loss must be left to the plan"):
            type("Overriding", (base,), {"loss": cheap})
        with pytest.raises(InvalidParameter, match="loss must be left to the plan"):
            type("Mixed", (Cheap, base), {})


def test_the_plan_that_is_walked_is_the_one_that_was_priced() -> None:
    """A plan that grows from call to call is asked for once, so that nothing is drawn that was not paid for."""
    calls = []

    @dataclass(frozen=True, kw_only=True)
    class Fickle(Bench):
        name: ClassVar[str] = "test-fickle"

        def plan(self) -> Plan:
            calls.append(1)
            return Repeat(Use(ONE), len(calls))

        def release(self, data: Any, run: Runner) -> Any:
            return [run(ONE, 0) for _ in range(2)]

    budget = Budget(epsilon=10, unit=ROW)
    with pytest.raises(PlanViolation):
        release(Fickle(), ROWS, budget=budget)
    assert budget.spent.pure == 1


# Money.


def test_budget_is_charged_before_the_first_word_and_kept_when_the_release_fails(entropy: Any, door: None) -> None:
    def fail(data: Any, run: Runner) -> None:
        run(ONE, 1)
        raise RuntimeError("after one draw")

    def fail_at_once(data: Any, run: Runner) -> None:
        raise RuntimeError("before any draw")

    for deed, words in ((fail, True), (fail_at_once, False)):
        budget, before = Budget(epsilon=5, unit=ROW), entropy.used
        with pytest.raises(RuntimeError):
            release(Disobedient(stated=Repeat(Use(ONE), 3), deed=deed), ROWS, budget=budget)
        assert budget.spent.pure == 3
        assert (entropy.used > before) == words


def test_a_broken_plan_keeps_its_price(entropy: Any, door: None) -> None:
    budget = Budget(epsilon=5, unit=ROW)
    with pytest.raises(PlanViolation):
        release(Disobedient(stated=Use(TWO), deed=lambda data, run: run(ONE, 1)), ROWS, budget=budget)
    assert budget.spent.pure == F(1, 2)
    assert entropy.used == 0


def test_entropy_failure_keeps_the_price(entropy: Any, door: None) -> None:
    def fail() -> None:
        raise OSError("no bits")

    entropy.before = fail
    budget = Budget(epsilon=5, unit=ROW)
    with pytest.raises(OSError, match="no bits"):
        release(ONE, 5, budget=budget, stability=1)
    assert budget.spent.pure == 1


@pytest.mark.parametrize(("mechanism", "data"), [*COMPOSED, (ONE, 5)])
def test_what_does_not_fit_changes_nothing(mechanism: Any, data: Any, entropy: Any, door: None) -> None:
    budget = Budget(epsilon="0.2", unit=ROW)
    release(Geometric(scale=10), 0, budget=budget, stability=1)
    spent, used = budget.spent, entropy.used
    with pytest.raises(BudgetExceeded) as refusal:
        release(mechanism, data, budget=budget, stability=1)
    assert (budget.spent, entropy.used) == (spent, used)
    assert refusal.value.requested == mechanism.loss(1)
    release(Geometric(scale=10), 0, budget=budget, stability=1)


def test_another_unit_is_refused(entropy: Any, door: None) -> None:
    budget = Budget(epsilon=100, unit=ROW_REPLACED)
    for call in (
        lambda: release(Count(), ROWS, budget=budget),
        lambda: converse(TreeCounter(levels=1, epsilon=1), None, budget=budget),
    ):
        with pytest.raises(IncompatibleDistance):
            call()
    assert budget.spent == NOTHING
    assert entropy.used == 0


@pytest.mark.parametrize("value", [1.5, None, "5", [5], True, np.array([5])])
def test_a_mistyped_value_costs_nothing(value: Any, entropy: Any, door: None) -> None:
    budget = Budget(epsilon=1, unit=ROW)
    with pytest.raises(InvalidValue):
        release(ONE, value, budget=budget)
    assert budget.spent == NOTHING
    assert entropy.used == 0


@pytest.mark.parametrize("wrong", [ABOVE, TreeCounter(levels=1, epsilon=1), Geometric, "geometric", None])
def test_release_takes_only_what_answers_at_once(wrong: Any, entropy: Any, door: None) -> None:
    budget = Budget(epsilon=100, unit=EVENT)
    with pytest.raises(InvalidParameter, match="mechanism must be"):
        release(wrong, 5, budget=budget)
    assert budget.spent == NOTHING


@pytest.mark.parametrize("wrong", [ONE, Count(), AboveThreshold, None])
def test_converse_takes_only_what_converses(wrong: Any, entropy: Any, door: None) -> None:
    budget = Budget(epsilon=100, unit=ROW)
    with pytest.raises(InvalidParameter, match="mechanism must be"):
        converse(wrong, 5, budget=budget)
    assert budget.spent == NOTHING


@pytest.mark.parametrize("wrong", [None, 1, PureDP(1), {"epsilon": 1}])
def test_a_budget_is_a_budget(wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match="budget must be"):
        release(ONE, 5, budget=wrong)
    with pytest.raises(InvalidParameter, match="budget must be"):
        converse(ABOVE, budget=wrong)


def test_stability_is_paid_for() -> None:
    budget = Budget(epsilon=3, unit=ROW)
    assert release(ONE, 7, budget=budget, stability=2).loss.pure == 2
    converse(ABOVE, budget=Budget(epsilon=6, unit=ROW), stability=2)
    with pytest.raises(BudgetExceeded):
        converse(ABOVE, budget=budget, stability="1/2")
    left = budget.left().pure
    assert 1 - F(1, 2**39) <= left <= 1
    budget.charge(PureDP(left))


@pytest.mark.parametrize(
    ("budget", "fits", "exceeds"),
    [
        (Budget(epsilon=1, unit=ROW), ONE, Geometric(scale="999/1000")),
        (Budget(rho="1/2", unit=ROW), Gaussian(sigma=1), Gaussian(sigma="999/1000")),
        (Budget(epsilon=1, delta="1e-6", unit=ROW), ONE, Gaussian(sigma=1)),
        (Budget(epsilon=2, delta="1e-6", unit=ROW), Gaussian(sigma=4), Gaussian(sigma=1)),
    ],
)
def test_budgets_of_every_kind(budget: Budget, fits: Any, exceeds: Any) -> None:
    with pytest.raises(BudgetExceeded):
        release(exceeds, 0, budget=budget, stability=1)
    release(fits, 0, budget=budget, stability=1)
    assert budget.spent == fits.loss(1)
    assert str(budget.total) in str(budget)


def test_threads_share_one_budget_exactly() -> None:
    """Check and charge are one step: eight threads that want twice what there is get exactly what there is."""
    budget, granted = Budget(epsilon=100, unit=ROW), []

    def spend() -> None:
        for _ in range(25):
            try:
                budget.charge(PureDP(1))
            except BudgetExceeded:
                continue
            granted.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 100
    assert budget.spent.pure == 100


# Samples and selections have the laws that their prices assume.


@pytest.mark.statistical(false_alarm=1e-10)
@pytest.mark.parametrize("make", [list, tuple, np.array])
def test_a_sample_keeps_every_row_with_its_rate(make: Callable[[Any], Any], misfits: Misfits) -> None:
    """n = 60,000 rows; false alarm 1e-10."""
    run = Runner(Sampled(Use(ONE), "3/10"), system_noise())
    data = make(list(range(60_000)))
    kept, inner = run.sampled(data, "0.3")
    assert type(kept) is type(data)
    chosen = set(np.asarray(kept).tolist())
    assert list(kept) == sorted(chosen)
    drawn = [row in chosen for row in range(60_000)]
    assert misfits(drawn, {True: 0.3, False: 0.7}) == []
    assert misfits(drawn, {True: 0.33, False: 0.67})
    assert isinstance(inner, Runner)


@pytest.mark.statistical(false_alarm=1e-10)
@pytest.mark.parametrize("shape", [0, 1])
def test_the_number_of_runs_has_its_law(shape: int, misfits: Misfits) -> None:
    """n = 10,000; false alarm 1e-10. The twin is the other law."""
    stop = 0.3
    geometric = {k: stop * (1 - stop) ** (k - 1) for k in range(1, 12)}
    logarithmic = {k: (1 - stop) ** k / (k * math.log(1 / stop)) for k in range(1, 12)}
    law, twin = (geometric, logarithmic) if shape else (logarithmic, geometric)
    # Tens of thousands of coins of a few laws: made ahead, and each handed out once.
    run, repeats = Runner(InOrder(()), BlockNoise(SystemEntropy())), Repeats(stop="0.3", shape=shape)
    drawn = [run._count_runs(repeats) for _ in range(10_000)]
    assert misfits(drawn, law) == []
    assert misfits(drawn, twin)


def test_the_best_run_wins_and_the_first_of_equals(noise: Noise, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([(3, "a"), (7, "b"), (7, "c"), (5, "d")])
    monkeypatch.setattr(Trial, "release", lambda self, data, run: next(scores))
    monkeypatch.setattr(Runner, "_count_runs", lambda self, repeats: 4)
    assert Runner(Use(Tuned()), noise)(Tuned(), ROWS) == "b"


def test_a_score_that_is_no_number_never_wins(noise: Noise, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it comes: a comparison with NaN is false both ways, and would keep whatever came first."""
    monkeypatch.setattr(Runner, "_count_runs", lambda self, repeats: 3)
    for order in itertools.permutations([(math.nan, "nan"), (-1.0, "low"), (2.0, "high")]):
        scores = iter(order)
        monkeypatch.setattr(Trial, "release", lambda self, data, run, scores=scores: next(scores))
        assert Runner(Use(Tuned()), noise)(Tuned(), ROWS) == "high"


# Handles.


@pytest.fixture
def handle(noise: Noise) -> Handle[int, bool]:
    part = AboveThreshold(threshold=100, threshold_scale=1, query_scale=1, positives=2)
    return Runner(Use(part), noise).open(part)


def test_a_handle_answers_until_its_last_positive(handle: Handle[int, bool], entropy: Any) -> None:
    assert not handle.ask(-(2**40))
    assert handle.ask(2**40)
    assert not handle.is_over
    assert handle.ask(2**40)
    assert handle.is_over
    assert handle.calls == 3
    before = entropy.used
    with pytest.raises(HandleMisuse, match="ended after 3 calls"):
        handle.ask(0)
    with pytest.raises(AttributeError):
        handle.is_over = False  # type: ignore[misc]
    assert entropy.used == before


def test_calls_are_numbered_and_repeated_without_a_draw(handle: Handle[int, bool], entropy: Any) -> None:
    first = handle.ask(100, call=0)
    before = entropy.used
    for value in (100, 2**40, -(2**40)):
        assert handle.ask(value, call=0) == first
    assert (entropy.used, handle.calls) == (before, 1)
    handle.ask(-(2**40), call=1)
    assert (handle.calls, entropy.used > before) == (2, True)
    with pytest.raises(HandleMisuse, match="call must be at most 2"):
        handle.ask(0, call=3)
    for bad in (-1, 0.0, "0", True):
        with pytest.raises(InvalidParameter, match="call must be"):
            handle.ask(0, call=bad)  # type: ignore[arg-type]


def test_answered_calls_are_repeated_after_the_end(handle: Handle[int, bool]) -> None:
    answers = [handle.ask(2**40, call=call) for call in range(2)]
    assert handle.is_over
    assert [handle.ask(0, call=call) for call in range(2)] == answers


def test_a_refused_question_changes_nothing(handle: Handle[int, bool], entropy: Any) -> None:
    before = entropy.used
    with pytest.raises(InvalidValue):
        handle.ask(1.5)  # type: ignore[arg-type]
    assert (handle.calls, entropy.used) == (0, before)
    assert not handle.ask(-(2**40), call=0)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda f: f.__name__)
def test_handles_and_runners_are_not_duplicated(handle: Handle[int, bool], duplicate: Any, noise: Noise) -> None:
    for bound in (handle, Runner(Use(ONE), noise)):
        with pytest.raises(HandleMisuse, match="cannot be"):
            duplicate(bound)
        with pytest.raises(HandleMisuse, match="cannot be"):
            duplicate([bound] if duplicate is not copy.copy else bound)


def test_handles_and_runners_stay_in_their_thread(handle: Handle[int, bool], noise: Noise, entropy: Any) -> None:
    runner, adaptive = Runner(Use(ONE), noise), Runner(Within(PureDP(9), (Geometric,)), noise)
    caught: list[Exception] = []
    before = entropy.used

    def elsewhere() -> None:
        calls: list[Callable[[], Any]] = [
            lambda: handle.ask(5),
            lambda: handle.ask(5, call=0),
            lambda: runner(ONE, 1),
            lambda: adaptive(ONE, 1),
        ]
        for call in calls:
            try:
                call()
            except Exception as failure:
                caught.append(failure)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert [type(failure) for failure in caught] == [HandleMisuse] * 4
    assert entropy.used == before
    runner(ONE, 1)
    adaptive(ONE, 1)


def test_handles_and_runners_do_not_survive_a_fork() -> None:
    """A forked child holds a copy of everything: it must not answer."""
    script = """
import os
from dither import ROW, Budget, Geometric, converse
from dither.mechanisms import AboveThreshold
from dither.errors import HandleMisuse
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import Use
part = AboveThreshold(threshold=0, threshold_scale=1, query_scale=1)
handle = converse(part, budget=Budget(epsilon=9, unit=ROW), stability=1)
runner = Runner(Use(Geometric(scale=1)), system_noise())
child = os.fork()
if child == 0:
    refused = 0
    for call in (lambda: handle.ask(5), lambda: runner(Geometric(scale=1), 5)):
        try:
            call()
        except HandleMisuse:
            refused += 1
    os._exit(refused)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
handle.ask(5)
runner(Geometric(scale=1), 5)
raise SystemExit(status)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 2


# Releases.


def test_a_release_says_what_it_is_worth() -> None:
    answer = release(Geometric(scale=2, shape=2), np.array([100, 200]), budget=Budget(epsilon=1, unit=ROW), stability=1)
    record = answer.to_dict()
    assert record["value"] == answer.value.tolist()
    assert record["loss"] == PureDP("1/2").to_dict()
    assert (record["unit"], record["numerics"], record["receipt"]) == ("rows added or removed", "exact", "unledgered")
    assert record["interval"]["confidence"] == "19/20"
    assert answer.to_json() == answer.to_json()
    interval = answer.interval("0.9")
    assert interval is not None
    assert (interval.high - answer.value).tolist() == [Geometric(scale=2, shape=2).error("0.9").value] * 2
    for word in ("95 %", "epsilon = 0.5", "exact", "unledgered"):
        assert word in str(answer)


@pytest.mark.parametrize("scale", [2**70, 2**900], ids=["2^70", "2^900"])
def test_a_release_prints_however_wide_its_noise(scale: int) -> None:
    for shape, value in (((), 5), (2, [5, 6])):
        answer = release(Geometric(scale=scale, shape=shape), value, budget=Budget(epsilon=1, unit=ROW), stability=1)
        assert "95 %" in str(answer)
        assert answer.to_json()


def test_a_release_without_an_interval_says_so() -> None:
    answer = release(RandomisedResponse(epsilon=1), 1, budget=Budget(epsilon=1, unit=ROW))
    assert answer.interval() is None
    assert answer.to_dict()["interval"] is None
    assert "95 %" not in str(answer)


def test_plotting_names_its_extra_when_that_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    answer = release(ONE, 1, budget=Budget(epsilon=1, unit=ROW), stability=1)
    with pytest.raises(MissingExtra, match="plots"):
        answer.plot()


def test_approximate_budget_arithmetic_is_a_filter() -> None:
    """Many small releases add up as squares under a delta; the budget then holds far more than its epsilon."""
    budget = Budget(epsilon=1, delta="1e-6", unit=ROW)
    for _ in range(200):
        budget.charge(PureDP("1/100"))
    assert budget.spent.pure == 2
    assert budget.total == ApproxDP(1, "1e-6")
    with pytest.raises(BudgetExceeded):
        budget.charge(ZCDP(1))


def test_a_conversation_is_not_asked_in_the_midst_of_an_answer() -> None:
    """A value with code of its own, or a signal handler, would get a second positive answer for the price of one."""
    test = AboveThreshold.calibrated(PureDP(1), threshold=1000, sensitivity=1)
    handle = converse(test, budget=Budget(epsilon=1, unit=ROW), stability=1)
    inner: list[Any] = []

    class Asking:
        def __array__(self, *words: Any, **named: Any) -> Any:
            try:
                inner.append(handle.ask(10**6))
            except HandleMisuse as refusal:
                inner.append(refusal)
            return np.array(10**6)

    with contextlib.suppress(InvalidValue):
        handle.ask(Asking())  # type: ignore[arg-type]
    assert [type(answer) for answer in inner] in ([], [HandleMisuse])
    if not handle.is_over:
        assert handle.ask(10**6)
    assert handle.is_over
    with pytest.raises(HandleMisuse, match="ended"):
        handle.ask(10**6)


def test_a_runner_takes_a_step_of_its_plan_once(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Geometric(scale=2)
    run = Runner(Use(part), system_noise())
    after, inner = Use.after, []

    def interrupted(plan: Any, step: Any) -> Any:
        if not inner:
            inner.append(None)
            with pytest.raises(HandleMisuse, match="in the midst"):
                run(part, 5)
        return after(plan, step)

    monkeypatch.setattr(Use, "after", interrupted)
    run(part, 5)
    with pytest.raises(PlanViolation):
        run(part, 5)


def test_a_budget_is_not_charged_in_the_midst_of_a_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler would wait for what it interrupted, or find the budget as it was before."""
    budget = Budget(epsilon=1, unit=ROW)
    spend, refused = budget._filter.spend, []

    def interrupted(loss: Loss) -> None:
        if not refused:
            with pytest.raises(HandleMisuse, match="in the midst of a charge to this budget") as refusal:
                release(Geometric(scale=2), 5, budget=budget, stability=1)
            refused.append(refusal)
        spend(loss)

    monkeypatch.setattr(budget._filter, "spend", interrupted)
    release(Geometric(scale=2), 5, budget=budget, stability=1)
    assert refused
    assert budget.spent == PureDP("1/2")


@pytest.mark.parametrize("turn", [1, -1])
def test_examples_of_rooms_above_come_in_one_order_whatever_was_imported_first(
    turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = ["dither.publish.histograms.linear", "dither.publish.lifting", "dither.learn.lifting", "elsewhere"]

    def of(room: str) -> Callable[[], Iterable[Any]]:
        def given() -> Iterable[Any]:
            return [room]

        given.__module__ = room
        return given

    monkeypatch.setitem(registry._further, "made-up", [of(room) for room in rooms[::turn]])
    assert list(registry._all_examples("made-up", lambda: ())) == rooms


def test_a_release_shows_each_number_of_an_array_to_the_digits_of_its_interval() -> None:
    made = Geometric(scale=2, shape=(20,))
    drawn = release(made, np.arange(20) * 1000, budget=Budget(epsilon=1, unit=ROW), stability=1)
    value, low = str(drawn).split(", 95 % interval ")
    assert value.count(" ") == low.split("] to [")[0].count(" ") == 6
    assert value.startswith(f"[{drawn.value[0]} ")
    assert "..." in value
    assert "..." not in str(replace(drawn, value=drawn.value[:3], mechanism=Geometric(scale=2, shape=(3,))))
