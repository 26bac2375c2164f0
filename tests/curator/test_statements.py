"""Budget and spent of a published data set: in words of the moment of publication, and stated anew in entries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.ledger import Account, Reservation
from dither.curator.receipts import Log, read_receipt, receipt_text, verify_receipt, verify_statement
from dither.errors import DitherError, InvalidParameter, NotFound
from dither.privacy import ApproxDP, PureDP


def answer(curator: Curator, key: str, epsilon: str, spent: str | None = None) -> int:
    """Debit and answer; return the number of the answer's entry."""
    held = curator.ledger.reserve(Account("clinic", "ana"), key, "digest", PureDP(epsilon))
    assert isinstance(held, Reservation)
    return curator.ledger.complete(held, key.encode(), spent=None if spent is None else PureDP(spent)).entry


def test_a_publication_says_what_was_spent_by_then_and_a_statement_what_is_spent_now(curator: Curator) -> None:
    log = Log(curator.ledger, curator.folder)
    with pytest.raises(NotFound, match="published"):
        curator.state("clinic")
    first = answer(curator, "first", "1/4")
    shown = curator.publish("first", title="Visits")
    # Of an epsilon of 2 three quarters come back.
    answer(curator, "second", "2", spent="1/2")
    curator.raise_budget("clinic", PureDP(20), reason="more people")
    number = curator.state("clinic", by="boss")
    answer(curator, "third", "1")
    proved = verify_receipt(log.published_receipt(shown.entry), log.public_key)
    assert (proved.entry, proved.budget, proved.spent) == (first, PureDP(10), PureDP("1/4"))
    assert str(proved).endswith(f"at {shown.time}, when epsilon = 0.25 was spent of the budget of epsilon = 10")
    made = log.published_receipt(number)
    stated = verify_statement(read_receipt(receipt_text(made)), log.public_key)
    assert (stated.dataset, stated.budget, stated.spent) == ("clinic", PureDP(20), PureDP("3/4"))
    assert (stated.releases, stated.entry, stated.size) == (2, number, number + 2)
    assert "epsilon = 0.75 was spent of the budget of clinic, epsilon = 20, in 2 releases" in str(stated)
    assert curator.ledger.balance("clinic").spent.pure == PureDP("7/4").pure
    again = curator.state("clinic")
    assert verify_statement(log.published_receipt(again), log.public_key).spent == PureDP("7/4")
    assert [one.stated for one in curator.published()] == [again]
    assert curator.ledger.verify().problems == ()
    assert [act.what for act in curator.history("clinic")].count("budget and what is spent of it are stated") == 2
    # Both are everybody's as long as something is shown, and the answer's own receipt is another.
    assert [curator.published_entry(one) for one in (number, again, first)] == [number, again, shown.entry]
    curator.withdraw("first")
    for one in (number, again, first):
        with pytest.raises(NotFound):
            curator.published_entry(one)
    with pytest.raises(NotFound, match="published"):
        curator.state("clinic")


def test_a_budget_with_a_delta_is_stated_in_its_own_words(folder: Any) -> None:
    with Curator.create(folder / "other", anchors=folder / "other anchors") as curator:
        curator.add(folder / "clinic.yaml", budget=ApproxDP(3, "1e-6"))
        answer(curator, "first", "1/4")
        curator.publish("first")
        log = Log(curator.ledger, curator.folder)
        found = verify_statement(log.published_receipt(curator.state("clinic")), log.public_key)
        assert found.budget == ApproxDP(3, "1e-6")
        assert found.spent.pure == PureDP("1/4").pure
        assert curator.ledger.verify().is_intact


def test_a_statement_with_any_bit_flipped_proves_nothing_and_no_form_passes_for_another(curator: Curator) -> None:
    log = Log(curator.ledger, curator.folder)
    entry = answer(curator, "first", "1/4")
    shown = curator.publish("first").entry
    made, key = log.published_receipt(curator.state("clinic")), log.public_key
    content = receipt_text(made).encode()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << (place % 8)
        with pytest.raises(DitherError):
            verify_statement(read_receipt(bytes(flipped).decode("utf-8", "replace")), key)
    published = log.published_receipt(shown)
    for other in (log.receipt(entry), published, {**made, "receipt": True}, {**made, "receipt": 2}, [], None):
        with pytest.raises(InvalidParameter):
            verify_statement(other, key)
    with pytest.raises(InvalidParameter, match="publish"):
        verify_statement({**made, "stated": published["published"], "checkpoint": published["checkpoint"]}, key)
    with pytest.raises(InvalidParameter):
        verify_receipt(made, key)
    with pytest.raises(InvalidParameter):
        verify_receipt({"receipt": 2, "published": made["stated"], "checkpoint": made["checkpoint"]}, key)
    assert json.loads(made["stated"]["entry"])["kind"] == "state"
