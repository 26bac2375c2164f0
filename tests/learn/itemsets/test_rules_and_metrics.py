"""Rules and metrics against figures worked out by hand, and the benchmark on made-up baskets."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest

from dither.errors import InvalidParameter
from dither.learn.itemsets import (
    Itemsets,
    Transactions,
    association_rules,
    f1_score,
    false_negative_rate,
    precision,
    recall,
    relative_support_error,
)
from dither.privacy import ApproxDP
from tools.bench.itemsets import METHODS, baskets, made_up, measure

FOUND = Itemsets(((0,), (1,), (2,), (0, 1), (0, 1, 2)), (80.0, 50.0, 3.0, 40.0, 60.0))


def test_rules_follow_from_supports() -> None:
    rules = association_rules(FOUND, confidence="0.5", least_support=10, total=100)
    figures = {(rule.given, rule.then): (rule.confidence, rule.lift) for rule in rules}
    assert figures == {
        # A noisy support above that of a part would give more than everyone: clamped.
        ((0, 1), (2,)): (1.0, None),
        ((1,), (0, 2)): (1.0, None),
        ((1,), (0,)): (0.8, 1.0),
        ((0,), (1, 2)): (0.75, None),
        ((0,), (1,)): (0.5, 1.0),
    }
    assert [rule.confidence for rule in rules] == sorted((rule.confidence for rule in rules), reverse=True)


def test_rules_need_a_support_to_start_from() -> None:
    assert not association_rules(FOUND, confidence="0.5", least_support=100)
    assert all(rule.lift is None for rule in association_rules(FOUND, confidence=0, least_support=1))
    assert not association_rules(Itemsets((), ()), confidence="0.5", least_support=1)
    with pytest.raises(InvalidParameter, match="confidence"):
        association_rules(FOUND, confidence=2, least_support=1)
    with pytest.raises(InvalidParameter, match="least_support"):
        association_rules(FOUND, confidence="0.5", least_support=0)


def test_scores_of_sets() -> None:
    found, true = [(1,), (3, 2), (4,)], [(2, 3), (1,), (5,), (6,)]
    assert precision(found, true) == pytest.approx(2 / 3)
    assert recall(found, true) == 0.5
    assert f1_score(found, true) == pytest.approx(4 / 7)
    assert false_negative_rate(found, true) == 0.5
    assert f1_score([], []) == precision([], true) == recall(found, []) == 1
    assert f1_score([], true) == 0


def test_relative_error_of_supports() -> None:
    found = Itemsets(((0,), (1,), (2,)), (11.0, 5.0, 3.0))
    assert relative_support_error(found, {(0,): 10, (1,): 4, (2,): 0}) == pytest.approx(0.25)
    assert relative_support_error(found, {(0,): 10, (1,): 4, (2,): 0}, least=100) == pytest.approx(0.01)
    assert math.isnan(relative_support_error(Itemsets((), ()), {}))


def test_methods_are_measured() -> None:
    data = made_up(count=400, items=12)
    assert isinstance(data, Transactions)
    figures = list(measure(data, list(METHODS), ApproxDP(2000, "1e-3"), chosen=5, runs=1))
    assert [figure.method for figure in figures] == list(METHODS)
    assert figures[0].f1 == 1
    assert all(figure.seconds > 0 for figure in figures)


def test_baskets_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "itemsets").mkdir()
    with gzip.open(tmp_path / "itemsets" / "shop.dat.gz", "wt", encoding="utf-8") as stream:
        stream.write("tea milk\nmilk\n\njam tea tea\n")
    data = baskets("shop", str(tmp_path))
    assert (data.items, data.values.tolist(), data.offsets.tolist()) == (3, [1, 2, 1, 0, 2], [0, 2, 3, 3, 5])
    with pytest.raises(InvalidParameter, match="DITHER_DATA"):
        baskets("another", str(tmp_path))
