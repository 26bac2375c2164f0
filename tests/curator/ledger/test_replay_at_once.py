"""Verifying asks the filter about many debits at once, and finds what asking one by one finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.curator.ledger import Account, open_ledger
from dither.curator.ledger.admission import filter_at
from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.replay import Replay
from dither.curator.ledger.transaction import limit_text
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP

LIMITS: list[Loss] = [PureDP(1), ZCDP("1/2"), ApproxDP(1, "1e-6"), ApproxDP("1/2", "1e-3")]
CHARGES = st.sampled_from(
    [PureDP("1/8"), PureDP("1/3"), ZCDP("1/100"), ZCDP("1/4"), ApproxDP("1/10", "1e-7"), ApproxDP("1/4", "4e-7")]
)


def _entry(seq: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "kind": kind, "dataset": "visits", "time": "now", **more}


@settings(max_examples=60)
@given(st.sampled_from(LIMITS), st.sampled_from([*LIMITS, None]), st.lists(CHARGES, max_size=8), st.integers(0, 8))
def test_overspends_are_those_that_the_filter_refuses_one_by_one(
    budget: Loss, quota: Loss | None, charges: list[Loss], change: int
) -> None:
    """With a change of the quota somewhere between the debits, and debits entered whether or not they fit."""
    replay = Replay("ledger")
    entries = [_entry(1, "register", unit="row", budget=budget.to_dict())]
    spent, mine, limit, wanted = Amount(0, 0, 0), Amount(0, 0, 0), None, []
    for number, charge in enumerate(charges):
        seq, amount = len(entries) + 1, Amount.of(charge)
        if number == change and quota is not None:
            entries.append(_entry(seq, "quota", analyst="a", quota=quota.to_dict()))
            limit, seq = limit_text(quota), seq + 1
        reserve = _entry(seq, "reserve", analyst="a", key=f"k{number}", digest="d", charge=amount.to_dict())
        entries.append(reserve | {"description": ""})
        fits = filter_at(limit_text(budget), spent).admits(amount.loss())
        if not (fits and (limit is None or filter_at(limit, mine).admits(amount.loss()))):
            wanted.append(f"entry {seq}: the debit did not fit: an overspend")
        spent, mine = spent + amount, mine + amount
    for entry in entries:
        replay._apply(entry["seq"], entry)
        replay._seq = entry["seq"]
    for whose in list(replay._unasked):
        replay._ask(whose)
    assert sorted(replay.problems) == sorted(wanted)


@pytest.mark.parametrize("most", [1, 2, 3, 5, 6, 1000])
def test_every_request_is_read_once_however_few_at_a_time(tmp_path: Path, most: int) -> None:
    with open_ledger(str(tmp_path / "ledger.db"), anchors=str(tmp_path / "anchors")) as ledger:
        ledger.register("visits", budget=PureDP(10), unit="row")
        ledger.register("other", budget=PureDP(10), unit="row")
        wanted = {("visits", "a", "k2"), ("visits", "a", "k1"), ("visits", "b", "k1"), ("other", "b", "k9")}
        wanted |= {("other", "b", "\u00e9")}
        for dataset, analyst, key in wanted:
            ledger.reserve(Account(dataset, analyst), key, "digest", PureDP("1/1000"))
        books: Any = ledger
        found = books._look(lambda page: list(page.all_requests(most)))
        assert [(*names, key) for names, key, _ in found] == sorted(wanted)
        for names, key, request in found:
            alone = books._look(lambda page, who=names, what=key: page.request(Account(*who), what))
            assert request == alone._replace(hash=None)
        assert ledger.verify().is_intact
