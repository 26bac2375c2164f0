"""Going on with a restored ledger, without giving back what was spent in between.

A curator who restored a backup on purpose says so. The anchor knows the sums at its last line, and every account is set
to at least those: what the lost entries debited stays debited. The acceptance is itself an entry of the chain, numbered
above everything that the anchor has seen, so that the lost numbers are never used again.

The restored ledger and the anchor share a history up to some entry, and each may have spent on its own after that: the
anchor's sums are the shared part and its own, so the total is the anchor's sums and what the ledger debited after the
last entry that is known to be shared. For a plain backup that is nothing.

A debit that both histories share and neither had answered when they parted pays for one draw, and the other history may
have made it. So what still waits for its answer is sealed, and what the ledger drew for it on its own is debited again.
"""

from __future__ import annotations

import json
from typing import Any

from dither.curator.ledger.amounts import ZERO, Amount
from dither.curator.ledger.anchor import LATEST_HASHES, Memory
from dither.curator.ledger.interface import Account
from dither.curator.ledger.transaction import Page, Purse

_NOTHING = Purse(None, ZERO, 0)
#: What a curator does whose ledger is behind its anchor.
FIX = (
    "restore the copy that has all entries or, if those are lost permanently, continue with this one: "
    "dither.curator.ledger.accept_restored(PLACE, reason=...) debits what the anchor remembers"
)


def contradiction(page: Page, memory: Memory) -> str | None:
    """Return how a ledger contradicts its anchor, in words, if it does."""
    if memory.split_at is not None:
        return f"two copies of it were in use at the same time, from entry {memory.split_at} at the latest"
    if memory.seq > page.seq:
        return f"it ends at entry {page.seq}, and its anchor remembers entry {memory.seq}"
    shared = _last_shared(page, memory, after=memory.seq - LATEST_HASHES)
    if shared < memory.seq:
        return f"its entries after {shared} are not those that its anchor remembers"
    for name, holding in memory.datasets.items():
        found = page.find_dataset(name)
        if found is None or not holding.spent <= found[1].spent:
            return f"its anchor remembers that more was spent of data set {name!r}"
    return None


def restore(page: Page, memory: Memory, problem: str, reason: str) -> None:
    """Write the sums that the anchor remembers into a ledger that lacks them."""
    shared = _last_shared(page, memory)
    own_datasets, own_analysts = _spent_after(page, shared)
    datasets = {}
    for name, holding in memory.datasets.items():
        unit, purse = page.find_dataset(name) or (str(holding.terms["unit"]), Purse(None, ZERO, 0))
        remembered = Purse(holding.terms["limit"], holding.spent, holding.releases)
        datasets[name] = unit, _together(purse, remembered, own_datasets.get(name))
    analysts = {}
    for names, holding in memory.analysts.items():
        remembered = Purse(holding.terms["limit"], holding.spent, holding.releases)
        account = Account(*names)
        analysts[account] = _together(page.analyst(account), remembered, own_analysts.get(account))
    page.enter(
        "restore",
        seq=max(page.seq, memory.seq) + 1,
        follows=page.seq,
        shared=shared,
        reason=reason,
        problem=problem,
        datasets=[
            {"dataset": name, "unit": unit} | _record("budget", purse) for name, (unit, purse) in datasets.items()
        ],
        analysts=[
            {"dataset": account.dataset, "analyst": account.analyst} | _record("quota", purse)
            for account, purse in analysts.items()
        ],
    )
    for name, (unit, purse) in datasets.items():
        page.keep_dataset(name, unit, purse)
    for account, purse in analysts.items():
        page.keep_analyst(account, purse)
    for account, key, known in page.unanswered():
        page.enter("seal", dataset=account.dataset, analyst=account.analyst, key=key)
        page.seal(account, key, known)


def _last_shared(page: Page, memory: Memory, after: int = 0) -> int:
    """Return the last entry up to which the ledger has every entry that the anchor remembers."""
    ours = page.hashes(after)
    shared = 0
    for seq in sorted(seq for seq in memory.hashes if seq > after):
        if ours.get(seq) != memory.hashes[seq] or seq == memory.split_at:
            break
        shared = seq
    return shared


def _spent_after(page: Page, shared: int) -> tuple[dict[str, Purse], dict[Account, Purse]]:
    """Return what the ledger debited on its own, after the last shared entry, or drew for a debit that is shared."""
    datasets: dict[str, Purse] = {}
    analysts: dict[Account, Purse] = {}
    paid: set[tuple[Account, str]] = set()
    for _, text, _ in page.chain(shared):
        record = json.loads(text)
        if record["kind"] in ("reserve", "draw", "answer"):
            account, key = Account(record["dataset"], record["analyst"]), record["key"]
            if (account, key) in paid:
                continue
            paid.add((account, key))
            charge = _charge(page, account, record)
            datasets[account.dataset] = datasets.get(account.dataset, _NOTHING).pay(charge)
            analysts[account] = analysts.get(account, _NOTHING).pay(charge)
        elif record["kind"] == "restore":
            # Sums were set, not added up: what was set is the least that is known to be spent.
            for one in record["datasets"]:
                datasets[one["dataset"]] = _written(one)
            for one in record["analysts"]:
                analysts[Account(one["dataset"], one["analyst"])] = _written(one)
    return datasets, analysts


def _charge(page: Page, account: Account, record: dict[str, Any]) -> Amount:
    """Return what the request of an entry was debited."""
    if record["kind"] == "reserve":
        return Amount.from_dict(record["charge"])
    known = page.request(account, record["key"])
    return ZERO if known is None else known.charge


def _together(ours: Purse, remembered: Purse, own: Purse | None) -> Purse:
    """Return the purse of both histories; the terms of the anchor are the later ones, unless the ledger went on."""
    if own is None:
        releases = max(ours.releases, remembered.releases)
        return Purse(remembered.limit, ours.spent.join(remembered.spent), releases)
    limit = remembered.limit if ours.limit is None else ours.limit
    return Purse(limit, remembered.spent + own.spent, remembered.releases + own.releases)


def _written(record: dict[str, Any]) -> Purse:
    return Purse(None, Amount.from_dict(record["spent"]), record["releases"])


def _record(limit: str, purse: Purse) -> dict[str, Any]:
    return {limit: purse.terms, "spent": purse.spent.to_dict(), "releases": purse.releases}
