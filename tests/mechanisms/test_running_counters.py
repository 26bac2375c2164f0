"""Counters on streams: trees, epochs, split budgets; what they share; how a conversation is resumed."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.errors import HandleMisuse, InvalidParameter, InvalidValue
from dither.mechanisms import (
    Budget,
    BufferedCounter,
    DiscreteGaussian,
    Geometric,
    HybridCounter,
    SplitCounter,
    TreeCounter,
    converse,
    tree_counter,
)
from dither.mechanisms.core import running
from dither.mechanisms.core.running import MOST_TICKS, RunningCounter
from dither.noise import Noise, system_noise
from dither.privacy import EVENT, ZCDP, PureDP
from dither.testing.entropy import SeededEntropy
from dither.testing.state import in_child

QUIET = Geometric(scale="1/64")
COUNTERS: dict[str, Callable[[], Any]] = {
    "tree": lambda: TreeCounter(steps=300, bases=(5, 4), node=Geometric(scale=3), combine="subtract"),
    "average": lambda: TreeCounter(steps=300, bases=(2,) * 8, node=DiscreteGaussian(sigma=3), combine="least-variance"),
    "split": lambda: SplitCounter(steps=300, node=Geometric(scale=3)),
    "hybrid": lambda: HybridCounter(epsilon=1),
    "buffered": lambda: BufferedCounter.calibrated(ZCDP(1), sensitivity=1, steps=300),
    "endless": lambda: BufferedCounter.calibrated(ZCDP(1), sensitivity=1, shape=(2, 2)),
}
TREES = [((), 7), ((2,), 9), ((3,), 8), ((2, 2, 2), 8), ((5, 3), 31), ((4, 3), 29), ((3, 4, 2), 25), ((7,), 40)]


def fed(counter: Any, state: Any, values: Any) -> Any:
    return counter.reply(state, values, system_noise())[0]


def signed_intervals(tick: int, bases: tuple[int, ...], *, subtract: bool) -> list[tuple[int, int, int]]:
    """Return (level, number, sign) of the intervals that make up the first ``tick`` ticks, from the smallest on."""
    found, place = [], tick
    for level, base in enumerate(bases):
        target = place - place % base
        if subtract and place % base > base // 2:
            target += base
        found += [(level, number, 1) for number in range(target, place)]
        found += [(level, number, -1) for number in range(place, target)]
        place = target // base
    return found + [(len(bases), number, 1) for number in range(place)]


@pytest.mark.parametrize(("bases", "steps"), TREES)
@pytest.mark.parametrize("combine", ["add", "subtract"])
def test_intervals_add_up_to_the_sum_so_far(bases: tuple[int, ...], steps: int, combine: str) -> None:
    """So that noise on intervals is noise on the sum; and each tick lies in one interval of every level."""
    sizes = [math.prod(bases[:level]) for level in range(len(bases) + 1)]
    tree = TreeCounter(steps=steps, bases=bases, node=Geometric(scale=2), combine=combine)
    for tick in range(1, steps + 1):
        covered = np.zeros(4 * steps, dtype=int)
        intervals = signed_intervals(tick, bases, subtract=combine == "subtract")
        for level, number, sign in intervals:
            covered[number * sizes[level] : (number + 1) * sizes[level]] += sign
        assert covered.tolist() == [1] * tick + [0] * (4 * steps - tick)
        assert tree.intervals_at(tick - 1) == len(intervals) <= tree.most_intervals
    assert tree.levels == len(sizes)


@pytest.mark.parametrize(("bases", "steps"), TREES)
@pytest.mark.parametrize("combine", ["add", "subtract", "least-variance"])
@pytest.mark.parametrize("block", [1, 3, 64])
def test_noise_is_that_of_the_intervals(
    bases: tuple[int, ...], steps: int, combine: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow twin adds up the noises that were drawn, interval by interval."""
    drawn: dict[int, list[int]] = {}
    tree = TreeCounter(steps=steps, bases=bases, node=QUIET, combine=combine)

    class Named(Noise):
        level: int

    class Tapes:
        def tape(self, _: int, level: int) -> Any:
            return level

    def draw(node: Any, count: int, noise: Any) -> NDArray[np.int64]:
        fresh = np.random.default_rng().integers(-(2**20), 2**20, count)
        drawn.setdefault(noise._entropy, []).extend(fresh.tolist())
        return fresh

    monkeypatch.setattr(tree_counter, "_drawn", draw)
    monkeypatch.setattr(TreeCounter, "block", property(lambda _: block))
    process = tree_counter.TreeNoise(tree, Tapes())  # type: ignore[arg-type]
    noises: list[int] = []
    while len(noises) < steps:
        noises += process.more()[:, 0].tolist()
    sizes = [math.prod(bases[:level]) for level in range(len(bases) + 1)]

    def estimate(level: int, number: int) -> int:
        """Return the noise of an interval's estimate, in shares."""
        total = 0
        for below, weight in enumerate(tree.weights[level]):
            ratio = sizes[level] // sizes[below]
            total += weight * sum(drawn[below][number * ratio : (number + 1) * ratio]) if weight else 0
        return total

    for tick in range(1, steps + 1):
        parts = signed_intervals(tick, bases, subtract=combine == "subtract")
        assert noises[tick - 1] == sum(sign * estimate(level, number) for level, number, sign in parts)


def test_weights_of_an_average_add_up_and_are_those_of_least_variance() -> None:
    tree = TreeCounter(steps=2**10, bases=(2,) * 10, node=DiscreteGaussian(sigma=1), combine="least-variance")
    variance = 1.0
    for level, row in enumerate(tree.weights):
        assert sum(row) == tree.shares
        if level:
            variance = 1 / (1 + 1 / (2 * variance))
        assert tree.variances[level] == pytest.approx(variance, rel=1e-3)


def test_the_figures_of_the_literature() -> None:
    """Binary trees by hand: 17 levels, 16 intervals at most; averages of two children on every level."""
    binary = TreeCounter.calibrated(PureDP(1), sensitivity=1, steps=2**16, bases=(2,) * 16, combine="add")
    assert binary.largest_standard_error == pytest.approx(17 * math.sqrt(2 * 16), rel=1e-3)
    best = TreeCounter.calibrated(PureDP(1), sensitivity=1, steps=2**16)
    assert best.largest_standard_error <= 0.40 * binary.largest_standard_error
    gaussian = TreeCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=2**16, bases=(2,) * 16, combine="add")
    assert gaussian.largest_standard_error == pytest.approx(math.sqrt(17 * 16), rel=1e-3)
    honaker = TreeCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=2**16, bases=(2,) * 16)
    left = sum(2**height / (2 ** (height + 1) - 1) for height in range(16))
    assert honaker.largest_standard_error == pytest.approx(math.sqrt(17 * left), rel=2e-3)
    for counter, loss in ((binary, PureDP(1)), (best, PureDP(1)), (gaussian, ZCDP("1/2")), (honaker, ZCDP("1/2"))):
        assert counter.loss(1) <= loss
        assert not counter.loss("1.01") <= loss


@pytest.mark.parametrize(
    ("steps", "bases", "ticks", "apart"), [(8, (2, 2, 2), 3, 2), (9, (3, 3), 4, 2), (10, (4,), 2, 5)]
)
def test_how_far_a_person_moves_a_tree(steps: int, bases: tuple[int, ...], ticks: int, apart: int) -> None:
    """All sets of ticks are tried: none moves the intervals farther, and some come near."""
    sizes = [math.prod(bases[:level]) for level in range(len(bases) + 1)]
    farthest = {1: 0.0, 2: 0.0}
    for count in range(1, ticks + 1):
        for places in itertools.combinations(range(steps), count):
            if all(second - first >= apart for first, second in itertools.pairwise(places)):
                held = [np.bincount(np.array(places) // size) for size in sizes]
                for order in farthest:
                    length = np.linalg.norm(np.concatenate(held), ord=order)
                    farthest[order] = max(farthest[order], float(length))
    for node, order in ((Geometric(scale=1), 1), (DiscreteGaussian(sigma=1), 2)):
        tree = TreeCounter(steps=steps, bases=bases, node=node, ticks=ticks, apart=apart)
        assert farthest[order] <= float(tree.stability) * (1 + 1e-12)
        assert farthest[order] >= 0.85 * float(tree.stability)
        assert tree.loss(1) == node.loss(tree.stability)
        events = TreeCounter(steps=steps, bases=bases, node=node)
        assert tree.stability <= ticks * events.stability


def test_people_move_a_tree_less_than_each_event_of_theirs() -> None:
    loss: Any = {"within": ZCDP("1/2"), "sensitivity": 1, "steps": 2**16, "bases": (2,) * 16}
    people, events = TreeCounter.calibrated(**loss, ticks=365, apart=24), TreeCounter.calibrated(**loss)
    assert people.loss(1) <= ZCDP("1/2")
    assert people.largest_standard_error < 0.60 * 365 * events.largest_standard_error
    assert people.distance.measure([0, 0, 0], [1, 0, -2]) == 3
    assert TreeCounter(**{**loss_free(loss), "ticks": 2, "apart": 2}).distance.measure([0, 0, 0], [1, 0, -2]) == 2


def loss_free(words: dict[str, Any]) -> dict[str, Any]:
    return {"steps": words["steps"], "bases": words["bases"], "node": DiscreteGaussian(sigma=1)}


def slope(errors: list[float], steps: list[int]) -> float:
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def test_errors_grow_as_they_should() -> None:
    """The split with T, noise per tick with its root, trees under epsilon with the logarithm to the power 1.5."""
    steps = [2**power for power in (8, 10, 12, 14, 16)]
    loss: Any = {"within": PureDP(1), "sensitivity": 1}
    split = [SplitCounter.calibrated(**loss, steps=count).standard_error(0) for count in steps]
    single = [TreeCounter.calibrated(**loss, steps=count, bases=()).largest_standard_error for count in steps]
    trees = [TreeCounter.calibrated(**loss, steps=count).largest_standard_error for count in steps]
    assert slope(split, steps) == pytest.approx(1, abs=0.01)
    assert slope(single, steps) == pytest.approx(0.5, abs=0.01)
    assert 1.2 < slope(trees, [int(math.log2(count)) for count in steps]) < 1.8
    endless = [HybridCounter(epsilon=1).standard_error(count - 2) for count in steps]
    assert all(known < found < 2 * known for known, found in zip(trees, endless, strict=True))


def test_errors_of_factors_grow_with_the_logarithm() -> None:
    """Under zCDP each doubling of the ticks adds ln 2 / pi to a factor, and 1 to a binary tree."""
    steps, within = [2**8, 2**12, 2**16], ZCDP("1/2")
    factors = [
        BufferedCounter.calibrated(within, sensitivity=1, steps=count).standard_error(count - 1) for count in steps
    ]
    trees = [
        TreeCounter.calibrated(
            within, sensitivity=1, steps=count, bases=(2,) * (count.bit_length() - 1), combine="add"
        ).largest_standard_error
        for count in steps
    ]
    assert [second - first for first, second in itertools.pairwise(factors)] == pytest.approx(
        [4 * math.log(2) / math.pi] * 2, rel=0.03
    )
    assert [second - first for first, second in itertools.pairwise(trees)] == pytest.approx([4.0] * 2, rel=0.03)


@pytest.mark.parametrize("kind", COUNTERS)
def test_blocks_and_resumed_conversations_give_the_same_answers(kind: str) -> None:
    """The state that is frozen is all there is: JSON of it, thawed, goes on as the first conversation does."""
    counter = COUNTERS[kind]()
    values = np.random.default_rng().integers(-5, 9, (200, *counter.shape))
    state = counter.begin(system_noise())
    first = json.loads(json.dumps(counter.freeze(state)))
    whole = fed(counter, state, values)
    pieces = counter.thaw(first)
    answers = [fed(counter, pieces, values[:70])]
    middle = counter.thaw(json.loads(json.dumps(counter.freeze(pieces))))
    for going in (pieces, middle):
        single = [
            np.asarray(fed(counter, going, value if counter.shape else int(value)))[None] for value in values[70:]
        ]
        assert np.concatenate([*answers, *single]).tolist() == whole.tolist()
    assert counter.freeze(pieces) == counter.freeze(middle) == counter.freeze(state)
    assert state.fed == 200


@pytest.mark.parametrize("kind", COUNTERS)
def test_a_conversation_is_resumed_at_any_tick_without_making_its_noise_again(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of eight ticks: states of before, amid and after blocks, epochs and falling heights."""
    monkeypatch.setattr(running, "_BLOCK", 8)
    counter = COUNTERS[kind]()
    values = np.random.default_rng().integers(-5, 9, (200, *counter.shape))
    state = counter.begin(system_noise())
    frozen = {}
    for tick in range(120):
        frozen[tick] = json.dumps(counter.freeze(state))
        fed(counter, state, values[tick : tick + 1])
    rest = fed(counter, state, values[120:]).tolist()
    for tick in (0, 1, 7, 8, 9, 63, 64, 65, 119):
        later = counter.thaw(json.loads(frozen[tick]))
        assert json.dumps(counter.freeze(later)) == frozen[tick]
        fed(counter, later, values[tick:120])
        assert fed(counter, later, values[120:]).tolist() == rest
    sizes = [len(frozen[tick]) for tick in (64, 119)]
    assert max(sizes) < 2 * min(sizes)


def test_a_mask_over_a_block_is_not_shown() -> None:
    counter = TreeCounter(steps=4, bases=(), node=Geometric(scale=3))
    answers = fed(counter, counter.begin(system_noise()), np.ma.array([3, 4, 5], mask=[0, 1, 0]))
    assert type(answers) is np.ndarray


def test_another_process_goes_on_as_this_one_does() -> None:
    counter = COUNTERS["buffered"]()
    state = counter.begin(system_noise())
    fed(counter, state, np.arange(50))
    frozen = json.dumps(counter.freeze(state))

    def elsewhere() -> list[int]:
        return [fed(counter, resumed, value) for value in range(20)]

    resumed = counter.thaw(json.loads(frozen))
    there = in_child(elsewhere)
    assert there == [fed(counter, state, value) for value in range(20)]


#: What no process has remembered.
ODD_NOISE: list[tuple[str, Any]] = [
    ("process", {}),
    ("process", 3),
    ("ahead", {"type": "<i8", "shape": [2, 1], "bytes": "AAAA"}),
    ("ahead", {"type": "O", "shape": [1, 1], "bytes": "AAAAAAAAAAA="}),
    ("ahead", {"type": "<i8", "shape": [1, 9], "bytes": "A" * 96}),
    ("ahead", [1, 2]),
]


@pytest.mark.parametrize("kind", COUNTERS)
def test_odd_states_and_blocks_are_refused(kind: str) -> None:
    counter = COUNTERS[kind]()
    state = counter.begin(system_noise())
    frozen = counter.freeze(state)
    for key, odd in [
        ("fed", -1),
        ("fed", "3"),
        ("fed", 2**40),
        ("key", "00"),
        ("key", 5),
        ("totals", [1] * 9),
        *ODD_NOISE,
    ]:
        with pytest.raises(InvalidParameter, match="frozen"):
            counter.thaw({**frozen, key: odd})
    with pytest.raises(InvalidParameter, match="frozen"):
        counter.thaw({"version": 1})
    shape = counter.shape
    for odd_block in (np.zeros((0, *shape), dtype=int), np.zeros((2, *shape)), np.zeros((2, *shape, 3), dtype=int)):
        with pytest.raises(InvalidValue):
            fed(counter, state, odd_block)
    if counter.length_of_stream is not None:
        with pytest.raises(InvalidValue):
            fed(counter, state, np.zeros((301, *shape), dtype=int))
    scripted = counter.begin(Noise(SeededEntropy(7)))
    fed(counter, scripted, np.zeros((3, *shape), dtype=int))
    with pytest.raises(HandleMisuse):
        counter.freeze(scripted)


@pytest.mark.parametrize("kind", COUNTERS)
def test_the_size_of_a_state_does_not_tell_how_large_the_sums_are(kind: str) -> None:
    """A sealed state is as long as what it seals, and whoever sees it may have no key."""
    counter, sizes = COUNTERS[kind](), set()
    for value in (0, 7, -(10**9), 10**12):
        state = counter.begin(system_noise())
        fed(counter, state, np.full(counter.shape, value) if counter.shape else value)
        frozen = counter.freeze(state)
        sizes.add(len(json.dumps(frozen)))
        assert counter.thaw(json.loads(json.dumps(frozen))).totals.tolist() == state.totals.tolist()
    assert len(sizes) == 1


def test_sums_are_those_of_the_values() -> None:
    """With noise that is nearly always 0; odd values have a stated meaning."""
    tree = TreeCounter(steps=6, bases=(3,), node=QUIET, combine="subtract")
    state = tree.begin(system_noise())
    assert [fed(tree, state, value) for value in (3, -1, 0, 5, 0, 2)] == [3, 2, 2, 7, 7, 9]
    state, limit = tree.begin(system_noise()), 2**60 // 6
    assert [fed(tree, state, value) for value in (10**30, 0, -(10**30))] == [limit, limit, 0]
    pair = HybridCounter(epsilon=2**9, shape=2)
    assert fed(pair, pair.begin(system_noise()), np.array([[1, 2], [3, 4], [0, -1]])).tolist() == [
        [1, 2],
        [4, 6],
        [4, 5],
    ]


FALSE_ALARM = 1e-9
STREAMS = 12_000


def refuses(found: NDArray[Any], deviation: float) -> bool:
    """Refuse a standard deviation by the mean of squares; noise of a few intervals has a kurtosis below 12."""
    reach = 6.2 * math.sqrt(12 / found.size)
    return abs(float(np.mean(np.square(found))) / deviation**2 - 1) > reach


@pytest.mark.statistical(n=STREAMS, false_alarm=FALSE_ALARM, catches="a standard error that is 15 % off")
@pytest.mark.parametrize("kind", ["subtract", "least-variance", "hybrid", "split"])
def test_standard_errors_are_those_of_the_noise(kind: str) -> None:
    node = DiscreteGaussian(sigma=50) if kind == "least-variance" else Geometric(scale=50)
    if kind == "hybrid":
        counter: Any = HybridCounter(epsilon="1/50", shape=STREAMS)
    elif kind == "split":
        counter = SplitCounter(steps=13, node=node, shape=STREAMS)
    else:
        counter = TreeCounter(steps=13, bases=(3, 2), node=node, combine=kind, shape=STREAMS)
    answers = fed(counter, counter.begin(system_noise()), np.zeros((13, STREAMS), dtype=int))
    for tick in (0, 5, 12):
        assert not refuses(answers[tick], counter.standard_error(tick))
        assert refuses(answers[tick], 1.2 * counter.standard_error(tick))


@pytest.mark.parametrize(
    ("words", "parameter"),
    [
        ({"bases": (2, 2, 2)}, "bases"),
        ({"bases": (1,)}, "bases"),
        ({"steps": 0}, "steps"),
        ({"node": DiscreteGaussian(sigma=1), "combine": "subtract"}, "combine"),
        ({"combine": "divide"}, "combine"),
        ({"node": Geometric(scale=2**41)}, "node"),
        ({"shape": 2**25}, "shape"),
    ],
)
def test_refusals(words: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        TreeCounter(**{"steps": 3, "bases": (2,), "node": Geometric(scale=1), **words})
    assert caught.value.parameter == parameter


def test_a_value_is_not_taken_twice_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt between the reply and its record: whoever asks again would have the value counted twice."""
    counter = TreeCounter(steps=4, bases=(), node=Geometric(scale=1))
    handle = converse(counter, budget=Budget(epsilon=1, unit=EVENT), stability=1)
    first = handle.ask(5, call=0)
    with pytest.raises(InvalidValue):
        handle.ask("five", call=1)  # type: ignore[arg-type]
    plain = TreeCounter.reply

    def torn(*given: Any) -> Any:
        plain(*given)
        raise KeyboardInterrupt

    second = handle.ask(0, call=1)
    with monkeypatch.context() as patched:
        patched.setattr(TreeCounter, "reply", torn)
        with pytest.raises(KeyboardInterrupt):
            handle.ask(7, call=2)
    with pytest.raises(HandleMisuse, match="broken off"):
        handle.ask(7, call=2)
    assert [handle.ask(5, call=0), handle.ask(0, call=1)] == [first, second]


def test_usual_numbers_are_not_cut_off_where_no_end_is_known() -> None:
    """A sum in steps of a grid has many digits: 2^60 divided by the longest stream of all would leave it 2^28."""
    counter = HybridCounter(epsilon=2**9)
    values = [10**15, 10**30, -(10**14), 10**30]
    cut = [10**15, 2**60 // 48, -(10**14), 2**60 // 96]
    one_by_one = counter.begin(system_noise())
    assert [fed(counter, one_by_one, value) for value in values] == np.cumsum(cut).tolist()
    in_a_block = counter.begin(system_noise())
    assert (
        fed(counter, in_a_block, np.array([min(value, 2**62) for value in values])).tolist() == np.cumsum(cut).tolist()
    )


@pytest.mark.parametrize("counter", [HybridCounter(epsilon=1), TreeCounter(steps=6, bases=(3,), node=QUIET)])
def test_limits_of_all_ticks_add_up_to_what_sums_hold(counter: RunningCounter) -> None:
    """The sum of 1 / i over the ticks after n, up to m, is at most ln(m / n)."""
    seen = counter.length_of_stream or 2**16
    limits = np.broadcast_to(counter.limits(0, seen), (seen, 1))
    left = 0 if counter.length_of_stream else math.log(MOST_TICKS / seen) * seen * int(limits[-1, 0] + 1)
    assert 0 < sum(limits[:, 0].tolist()) + left <= 2**60


@pytest.mark.parametrize(
    "node", [Geometric(scale=3), DiscreteGaussian(sigma=3)], ids=lambda node: str(type(node).__name__)
)
@pytest.mark.parametrize("tick", [0, 12, 299])
def test_an_interval_at_one_tick_covers_by_the_law_of_its_noise(node: Any, tick: int) -> None:
    """The sum of the noises of a tick's intervals, convolved by the book, and one tick is no worse than all of them.

    The laws are cut off at 20 scales on each side, beyond which there are less than 1e-8.
    """
    places = np.arange(-60, 61)
    law = np.exp(-(places**2) / 18) if isinstance(node, DiscreteGaussian) else np.exp(-abs(places) / 3)
    law /= law.sum()
    counters: list[Any] = [
        SplitCounter(steps=300, node=node),
        TreeCounter(steps=300, bases=(5, 4), node=node, combine="add"),
    ]
    for counter in counters:
        many = counter.intervals_at(tick) if isinstance(counter, TreeCounter) else 1
        whole_law = np.ones(1)
        for _ in range(many):
            whole_law = np.convolve(whole_law, law)
        found = counter.interval_at(tick, 0, "0.9")
        assert found.low == -found.high
        reached = abs(np.arange(whole_law.size) - whole_law.size // 2) <= found.high
        assert whole_law[reached].sum() >= 0.9 - 1e-7
        assert found.high <= counter.error("0.9").value
        variance = float((np.arange(whole_law.size) - whole_law.size // 2) ** 2 @ whole_law)
        assert counter.standard_error(tick) == pytest.approx(math.sqrt(variance), rel=1e-4)


def test_the_best_combination_of_laplace_noise_has_no_interval() -> None:
    counter = TreeCounter(steps=300, bases=(2,) * 8, node=Geometric(scale=3), combine="least-variance")
    assert counter.interval_at(7, 0, "0.9") is None
    assert counter.error("0.9") is None
