"""DualQuery: its exact law by enumeration, its price, the records that it finds, and the search for them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate import best_record as search
from dither.estimate.best_record import best_record
from dither.estimate.public_randomness import public_generator
from dither.lift.attributes import Attributes
from dither.lift.records import CodedRecords
from dither.mechanisms import Exponential, Geometric, perform
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.publish.synthetic.dual_query import DualQuery
from dither.publish.synthetic.measuring import Seen

TABLE = Attributes.of({"a": 2, "b": 2})
TOTAL = 3


def law_of_paths(method: DualQuery, rows: np.ndarray) -> dict[tuple[int, ...], float]:
    """Return the probability of every sequence of sampled queries, one a round, given a released total of 3."""
    cells = list(product(range(2), range(2)))
    queries = [lambda x: x[0] == 0, lambda x: x[0] == 1, *(lambda x, cell=cell: x == cell for cell in cells)]
    queries += [lambda x, q=q: not q(x) for q in queries]
    paths = {(): ([(1, 1)], 1.0)}
    for _ in range(method.rounds - 1):
        longer = {}
        for path, (found, chance) in paths.items():
            weights = [
                math.exp(sum(sum(q(tuple(row)) for row in rows) - TOTAL * q(x) for x in found) / float(method.scale))
                for q in queries
            ]
            for number, weight in enumerate(weights):
                best = max(cells, key=queries[number])  # the first of the best
                longer[(*path, number)] = ([*found, best], chance * weight / sum(weights))
        paths = longer
    return {path: chance for path, (_, chance) in paths.items()}


def test_the_law_of_sampled_queries_keeps_its_promise_and_no_better_one() -> None:
    method = DualQuery(
        attributes=TABLE, workload=(("a",), ("a", "b")), total=Geometric(scale=1), scale=2, rounds=3, samples=1
    )
    # One query of the second and one of the third round: (1 + 2) / 2. The printed price would be twice that.
    claimed = float(method.loss(1).epsilon - method.total.loss(1).epsilon)
    assert claimed == 1.5
    worst = 0.0
    rows = [list(cell) for cell in product(range(2), range(2))]
    for data in ([], [[0, 0]], [[0, 1], [1, 1]], [[1, 0], [1, 0], [1, 0]], [[0, 0], [0, 1], [1, 0], [1, 1]]):
        before = law_of_paths(method, np.array(data, dtype=np.int64).reshape(-1, 2))
        for row in rows:
            after = law_of_paths(method, np.array([*data, row]))
            worst = max(worst, *(abs(math.log(after[path] / before[path])) for path in before))
    assert 0.6 * claimed < worst <= claimed + 1e-9


def test_price_and_calibration() -> None:
    method = DualQuery(attributes=TABLE, workload=(("a",),), total=Geometric(scale=10), scale=100, rounds=5, samples=3)
    assert method.loss(1).epsilon == Fraction(1, 10) + Fraction(3 * (1 + 2 + 3 + 4), 100)
    for target in (PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-9")):
        found = DualQuery.calibrated(target, attributes=TABLE)
        assert found.loss(1) <= target
    assert DualQuery.calibrated(PureDP(1), attributes=TABLE).loss(1).epsilon == 1
    assert DualQuery.calibrated(PureDP(1), attributes=TABLE, rounds=1).loss(1) <= PureDP(1)
    with pytest.raises(InvalidParameter, match="workload"):
        DualQuery.calibrated(PureDP(1), attributes=Attributes.of({"a": 2**10, "b": 2**10}))


def test_more_budget_buys_rounds_and_samples_and_no_sharper_law() -> None:
    """With all of a large loss in the scale the worst query alone would be drawn: worse tables for more budget."""
    losses = [PureDP(epsilon) for epsilon in ("0.01", "0.1", 1, 10, 100, 10_000)]
    found = [DualQuery.calibrated(loss, attributes=TABLE, records=1000) for loss in losses]
    assert [one.rounds for one in found] == sorted(one.rounds for one in found)
    assert [one.samples for one in found] == sorted(one.samples for one in found)
    assert found[0].rounds < found[2].rounds < found[-1].rounds
    for one, loss in zip(found, losses, strict=True):
        assert one.loss(1) <= loss
        assert one.scale > 400 or one.rounds == 2
    assert found[-1].scale == 800
    # What is asked for is given, whatever the law.
    assert DualQuery.calibrated(PureDP(10_000), attributes=TABLE, rounds=5, samples=2).scale < 1
    little = ZCDP("1e-4")
    wide = DualQuery.calibrated(little, attributes=TABLE, records=10_000)
    assert wide.rounds > DualQuery.calibrated(little, attributes=TABLE, records=1000).rounds


class Watching:
    """A run without noise that keeps all scores, and chooses what it is told to."""

    def __init__(self, chosen: list[int]) -> None:
        self.scores: list[np.ndarray] = []
        self._chosen = iter(chosen)

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        if not isinstance(part, Exponential):
            return TOTAL
        self.scores.append(value / float(part.scale))
        return next(self._chosen)


def test_queries_are_sampled_by_that_law() -> None:
    method = DualQuery(
        attributes=TABLE, workload=(("a",), ("a", "b")), total=Geometric(scale=1), scale=2, rounds=3, samples=1
    )
    for rows in ([[0, 1], [1, 1]], [[1, 0]] * 4):
        law = law_of_paths(method, np.array(rows))
        for first in range(12):
            watching = Watching([first, 0])
            method.release(np.array(rows), watching)
            weights = np.exp(watching.scores[1] - watching.scores[1].max())
            wanted = np.array([law[first, second] for second in range(12)])
            assert np.allclose(weights / weights.sum(), wanted / wanted.sum())


class Best:
    """A run without noise that always chooses the best: one that may happen."""

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        return int(np.argmax(value)) if isinstance(part, Exponential) else value


def test_found_records_answer_all_queries() -> None:
    rows = np.repeat([[0, 0], [0, 1], [1, 1]], [500, 300, 200], axis=0)
    method = DualQuery.calibrated(PureDP(1), attributes=TABLE, rounds=200, samples=1)
    model = method.release(rows, Best())
    assert model.total == 1000
    # Playing the best answer against the best answer is off by about 1 / sqrt(rounds) (Robinson 1951).
    assert np.abs(model.table((0, 1)) - [[500, 300], [0, 200]]).max() < 50


def test_scores_do_not_overflow() -> None:
    class Countless:
        attributes = TABLE

        def count(self, axes: tuple[int, ...]) -> np.ndarray:
            return np.full(TABLE.shape_of(axes), 2**63 - 1)

    method = DualQuery.calibrated(PureDP(1), attributes=TABLE, rounds=3, samples=1)
    exact = method.queries.counts(Seen(Countless()))
    assert (exact.astype(object) * 2**10 < 2**62).all()
    perform(method, Countless(), stability=1)
    perform(method, CodedRecords(TABLE, np.zeros((0, 2), dtype=np.int64)), stability=1)


def test_the_best_record_is_the_best_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    generator, sizes = public_generator(), (2, 3, 4, 2)
    for _ in range(20):
        weighed = [
            (axes, generator.integers(-3, 4, [sizes[i] for i in axes]).astype(float))
            for axes in ((0, 1), (1, 2), (3,), (0, 2, 3))
        ]

        def worth(record: tuple[int, ...], weighed: list = weighed) -> float:
            return sum(weights[tuple(record[i] for i in axes)] for axes, weights in weighed)

        every = list(product(*map(range, sizes)))
        best = max(map(worth, every))
        assert worth(best_record(sizes, weighed)) == best
        with monkeypatch.context() as patched:
            patched.setattr(search, "MOST_RECORDS", 1)
            climbed = best_record(sizes, weighed)
        # No change of one value makes it better.
        near = [(*climbed[:i], value, *climbed[i + 1 :]) for i, size in enumerate(sizes) for value in range(size)]
        assert worth(climbed) == max(map(worth, near))


def test_many_attributes_are_searched_without_their_table() -> None:
    wide = Attributes.of({f"c{i}": 3 for i in range(40)})
    method = DualQuery.calibrated(PureDP(1), attributes=wide, rounds=3, samples=2)
    assert perform(method, np.zeros((10, 40), dtype=np.int64), stability=1).records.shape[1] == 40
