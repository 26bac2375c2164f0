"""What owners decide is in the chain, on every kind of ledger, and changes nothing else."""

from __future__ import annotations

import json

import pytest

from dither.curator.ledger import OWNER, Account
from dither.errors import AnalystUnknown, BudgetExceeded, DataSetRetired, InvalidParameter, LedgerCorrupted, NotFound
from dither.privacy import ZCDP, ApproxDP, PureDP
from tests.curator.ledger.test_edits import edit

ANA, BEN = Account("visits", "ana"), Account("visits", "ben")


def spend(ledger, account, key, epsilon="0.1"):
    return ledger.complete(ledger.reserve(account, key, "d", PureDP(epsilon)), b"42")


def test_a_life_is_told_by_the_chain_and_survives_opening_again(home) -> None:
    with home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        receipt = spend(ledger, BEN, "k")
        ledger.set_quota("visits", "ana", PureDP("0.5"))
        ledger.rename("visits", "clinic", reason="clearer")
        assert ledger.begin_edition("visits") == 2
        ledger.raise_budget("visits", PureDP(2), reason="agreed")
        assert ledger.verify().is_intact
    with home.open() as ledger:
        kinds = [entry.kind for entry in ledger.entries("visits")]
        assert kinds == ["register", "reserve", "answer", "close", "quota", "rename", "edition", "raise"]
        standing = ledger.standings()["visits"]
        assert (standing.name("visits"), standing.is_closed, standing.edition, standing.since) == ("clinic", True, 2, 7)
        assert ledger.balance("visits").budget == PureDP(2)
        # Receipts and keys of before are as good as ever.
        assert ledger.reserve(BEN, "k", "d", PureDP("0.1")).receipt == receipt
        ledger.retire("visits", reason="over")
        assert ledger.verify().is_intact
        assert ledger.reserve(BEN, "k", "d", PureDP("0.1")).receipt == receipt
    with home.open() as ledger:
        assert ledger.standings()["visits"].is_retired
        assert ledger.verify().is_intact


def test_once_there_are_quotas_strangers_spend_nothing(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    ledger.register("other", budget=PureDP(1), unit="row")
    spend(ledger, BEN, "k")
    ledger.set_quota("visits", "ana", PureDP("0.5"))
    with pytest.raises(AnalystUnknown, match="'ben' has no quota of visits"):
        ledger.reserve(BEN, "l", "d", PureDP("0.1"))
    assert not ledger.would_admit(BEN, PureDP("0.1"))
    assert ledger.balance("visits", "ben").left.pure == 0
    spend(ledger, ANA, "k")
    spend(ledger, Account("visits", OWNER), "k")
    spend(ledger, Account("other", "ben"), "k")
    ledger.set_quota("visits", "ben", PureDP("0.2"))
    spend(ledger, BEN, "l")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(BEN, "m", "d", PureDP("0.1"))
    assert ledger.verify().is_intact


def test_a_retired_data_set_is_at_its_end(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    receipt = spend(ledger, ANA, "k")
    ledger.retire("visits", reason="over")
    before = len(list(ledger.entries()))
    for refused in (
        lambda: ledger.reserve(ANA, "l", "d", PureDP("0.1")),
        lambda: ledger.raise_budget("visits", PureDP(2), reason="more"),
        lambda: ledger.set_quota("visits", "ana", PureDP("0.5")),
        lambda: ledger.rename("visits", "clinic"),
        lambda: ledger.retire("visits", reason="again"),
        lambda: ledger.begin_edition("visits"),
        lambda: ledger.register("visits", budget=PureDP(1), unit="row"),
    ):
        with pytest.raises(DataSetRetired):
            refused()
    assert not ledger.would_admit(ANA, PureDP("0.1"))
    assert ledger.balance("visits").left.pure == 0
    assert ledger.find_answers("k") == (receipt,)
    assert len(list(ledger.entries())) == before
    assert ledger.verify().is_intact


def test_a_name_belongs_to_the_data_set_that_had_it(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    ledger.register("other", budget=PureDP(1), unit="row")
    ledger.rename("visits", "clinic")
    for taken in ("visits", "clinic"):
        with pytest.raises(InvalidParameter, match="its budget stays with it"):
            ledger.rename("other", taken)
    with pytest.raises(InvalidParameter, match="its budget stays with it"):
        ledger.register("clinic", budget=PureDP(1), unit="row")
    with pytest.raises(InvalidParameter, match="another one than it has"):
        ledger.rename("visits", "clinic")
    with pytest.raises(NotFound):
        ledger.rename("nobody", "clinic2")
    ledger.rename("visits", "visits")
    assert ledger.standings()["visits"].name("visits") == "visits"
    assert ledger.verify().is_intact


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PureDP(1), PureDP("0.9")),
        (PureDP(1), ZCDP(1)),
        (PureDP(1), ApproxDP("0.9", "1e-6")),
        (ApproxDP(1, "1e-6"), ApproxDP(2, "1e-7")),
        (ZCDP(1), ZCDP("0.5")),
    ],
)
def test_a_budget_is_never_lowered_and_keeps_its_kind(file_home, before, after) -> None:
    ledger = file_home.open()
    ledger.register("visits", budget=before, unit="row")
    with pytest.raises(InvalidParameter, match="never lowered"):
        ledger.raise_budget("visits", after, reason="a slip")
    assert [entry.kind for entry in ledger.entries()] == ["register"]


def test_a_raise_keeps_what_else_was_decided(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=ApproxDP(1, "1e-6"), unit="row")
    ledger.set_quota("visits", "ana", ApproxDP(1, "1e-6"))
    ledger.rename("visits", "clinic")
    spend(ledger, ANA, "k")
    ledger.raise_budget("visits", ApproxDP(2, "1e-6"), reason="agreed")
    standing = ledger.standings()["visits"]
    assert (standing.name("visits"), standing.is_closed) == ("clinic", True)
    assert ledger.verify().is_intact


DECIDED = [
    """UPDATE datasets SET budget = '{"epsilon":"1","kind":"pure"}' WHERE name = 'visits'""",
    """UPDATE datasets SET budget = replace(budget, 'clinic', 'others') WHERE name = 'visits'""",
    """UPDATE datasets SET budget = replace(budget, '"closed":true', '"closed":false') WHERE name = 'visits'""",
    """UPDATE datasets SET budget = replace(budget, '"kind"', '"retired":true,"kind"') WHERE name = 'visits'""",
]


@pytest.mark.parametrize("statement", DECIDED)
def test_what_was_decided_cannot_be_edited(home, statement) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    ledger.rename("visits", "clinic")
    ledger.set_quota("visits", "ana", PureDP("0.5"))
    edit(home, statement)
    with pytest.raises(LedgerCorrupted):
        ledger.reserve(BEN, "l", "d", PureDP("0.1"))
    with pytest.raises(LedgerCorrupted):
        home.open()
    assert not ledger.verify().is_intact


@pytest.mark.parametrize("kind", ["close", "rename", "retire", "edition"])
def test_a_decision_that_the_chain_tells_otherwise_is_found(file_home, kind) -> None:
    """An entry that says more than its kind allows, hashes and tables made to agree: the replay complains."""
    from dither.curator.ledger.replay import Replay

    again = Replay("ledger")
    again._apply(1, {"seq": 1, "kind": "register", "dataset": "v", "unit": "row", "budget": PureDP(1).to_dict()})
    again._seq = 1
    forged = {**PureDP(100).to_dict(), "closed": True}
    record = {"seq": 2, "kind": kind, "dataset": "v", "name": "w", "budget": forged, "reason": ""}
    with pytest.raises(Exception, match="something else changed"):
        again._apply(2, record)


def test_answers_are_found_by_number_key_and_place(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit="row")
    first, second = spend(ledger, ANA, "k"), spend(ledger, BEN, "k")
    ledger.reserve(ANA, "waiting", "d", PureDP("0.1"))
    debit = next(entry.number for entry in ledger.entries() if entry.kind == "reserve")
    place = f"{first.ledger}:{first.entry}:{first.hash}"
    for name in (str(first.entry), str(debit), place):
        assert ledger.find_answers(name) == (first,)
    assert ledger.find_answers("k") == (first, second)
    assert ledger.find_answers("waiting") == ledger.find_answers("999") == ledger.find_answers("k", "other") == ()
    assert json.loads(json.dumps(first.to_dict()))["key"] == "k"
