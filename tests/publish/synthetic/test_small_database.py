"""The net mechanism: candidates, scores and the exact law against their definitions."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from dither.lift.attributes import Attributes
from dither.lift.records import CodedRecords

from dither.errors import InvalidParameter
from dither.mechanisms import Geometric, perform
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.publish.synthetic.cell_queries import CellQueries
from dither.publish.synthetic.measuring import Seen
from dither.publish.synthetic.small_database import SmallDatabase

TABLE = Attributes.of({"a": 2, "b": 3})
NET = SmallDatabase(attributes=TABLE, workload=[["a"], ["a", "b"]], size=3, total=Geometric(scale=1), choice=12)
CELLS = list(product(range(2), range(3)))


def slow_scores(rows: list[tuple[int, int]], total: int) -> list[int]:
    """Minus the worst answer of every table of three records, times three."""
    queries = [lambda x, a=a: x[0] == a for a in range(2)] + [lambda x, cell=cell: x == cell for cell in CELLS]
    found = []
    for table in combinations_with_replacement(CELLS, 3):
        off = (abs(3 * sum(map(query, rows)) - total * sum(map(query, table))) for query in queries)
        found.append(-max(off))
    return found


def counts(rows: list[tuple[int, int]]) -> np.ndarray:
    queries = CellQueries(TABLE, [(0,), (0, 1)])
    return queries.counts(Seen(CodedRecords(TABLE, np.array(rows, dtype=np.int64).reshape(-1, 2))))


DATA = ([], [(0, 0)], [(0, 1), (1, 2)], [(1, 1)] * 5, [(0, 0), (0, 1), (1, 0), (1, 2)])


def test_scores_are_those_of_the_definition_and_move_by_the_size() -> None:
    assert NET.tables == math.comb(8, 3) == len(NET.candidates)
    farthest = 0
    for rows, total in product(DATA, (1, 4, 9)):
        before = NET.scores(counts(rows), total)
        assert before.tolist() == slow_scores(rows, total)
        for row in CELLS:
            after = NET.scores(counts([*rows, row]), total)
            farthest = max(farthest, int(np.abs(after - before).max()))
    assert farthest == NET.size


def test_the_exact_law_keeps_the_promise() -> None:
    claimed = float(NET.loss(1).epsilon - NET.total.loss(1).epsilon)
    assert claimed == 0.5
    worst = 0.0
    for rows, total in product(DATA, (1, 4)):
        for row in CELLS:
            laws = [np.exp(np.array(slow_scores(some, total)) / 12) for some in (rows, [*rows, row])]
            here, there = (law / law.sum() for law in laws)
            worst = max(worst, float(np.abs(np.log(here / there)).max()))
    assert claimed / 2 < worst <= claimed + 1e-12


def test_with_a_large_budget_the_best_table_is_chosen() -> None:
    rows = np.repeat([[0, 0], [1, 2]], [200, 100], axis=0)
    net = SmallDatabase.calibrated(PureDP(10**4), attributes=TABLE, size=3)
    model = perform(net, rows, stability=1)
    assert model.total == 300
    assert model.table((0, 1)).round(6).tolist() == [[200, 0, 0], [0, 0, 100]]


def test_price_and_limits() -> None:
    for target in (PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-9")):
        assert SmallDatabase.calibrated(target, attributes=TABLE).loss(1) <= target
    with pytest.raises(InvalidParameter, match="size"):
        SmallDatabase.calibrated(PureDP(1), attributes=Attributes.of({"a": 64, "b": 64}), size=4)
    with pytest.raises(InvalidParameter, match="attributes"):
        SmallDatabase.calibrated(PureDP(1), attributes=Attributes.of({"a": 2**10, "b": 2**10}), size=1)
