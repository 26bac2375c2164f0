"""The two steps of a release as plain records: what is asked of a ledger, what it decides, and both as bytes.

A step is data and not code, so that one process can carry it out for another. Whoever carries a step out decides by the
ledger's rules and writes, all inside one transaction. What was decided is told in few figures; an answer that was
stored before is not told but read from the ledger by whoever asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dither.curator.ledger.admission import Certificates
from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.chain import answer_digest
from dither.curator.ledger.interface import MOST_ATTEMPTS, Account
from dither.curator.ledger.page import Page, Purse, Request


@dataclass(frozen=True)
class Debit:
    """Reserve: debit a charge, or find what became of the request."""

    account: Account
    key: str
    digest: str
    charge: Amount
    description: str
    verb: ClassVar[str] = "reserve"

    @property
    def size(self) -> int:
        """The bytes that this adds to a transaction, about."""
        return len(self.description)


@dataclass(frozen=True)
class Answer:
    """Complete: store an answer to the request that was debited at an entry."""

    account: Account
    key: str
    digest: str
    entry: int
    hash: str
    content: bytes = field(repr=False)
    verb: ClassVar[str] = "complete"

    @property
    def size(self) -> int:
        """The bytes that this adds to a transaction, about."""
        return len(self.content)


Order = Debit | Answer


@dataclass(frozen=True)
class Decision:
    """What the ledger decided, once its transaction is durable.

    ``kind`` is ``reserved`` or ``stored`` when something was written; ``answered`` when the answer is in the ledger
    already; or why nothing was done: ``unknown``, ``reused``, ``sealed``, ``dearer``, ``budget``, ``quota``,
    ``foreign``; or ``long`` for a refusal that is too long to be told by letter.
    """

    kind: str
    #: The place in the chain: of the debit, or of the stored answer.
    entry: int = 0
    hash: str = ""
    attempt: int = 0
    #: What was debited; for a refusal, what is spent, and of which limit.
    charge: Amount | None = None
    limit: str | None = None


def decide(page: Page, order: Order, certificates: Certificates) -> Decision:
    """Carry one step out on a page."""
    return _debit(page, order, certificates) if isinstance(order, Debit) else _answer(page, order)


def _debit(page: Page, order: Debit, certificates: Certificates) -> Decision:
    account, charge = order.account, order.charge
    known = page.request(account, order.key)
    if known is not None:
        return _debit_again(page, order, known)
    found = page.find_dataset(account.dataset)
    if found is None:
        return Decision("unknown")
    unit, purse = found
    mine = page.analyst(account)
    if not purse.admits(charge, certificates):
        return _refusal("budget", purse)
    if not mine.admits(charge, certificates):
        return _refusal("quota", mine)
    page.enter(
        "reserve",
        dataset=account.dataset,
        analyst=account.analyst,
        key=order.key,
        digest=order.digest,
        charge=charge.to_json(),
        description=order.description,
    )
    page.keep_dataset(account.dataset, unit, purse.pay(charge))
    page.keep_analyst(account, mine.pay(charge))
    page.reserve(account, order.key, order.digest, charge)
    return Decision("reserved", page.seq, page.hash, 1, charge)


def _refusal(kind: str, purse: Purse) -> Decision:
    return Decision(kind, charge=purse.spent, limit=purse.limit)


def _debit_again(page: Page, order: Debit, known: Request) -> Decision:
    account, key = order.account, order.key
    if known.digest != order.digest:
        return Decision("reused")
    if known.state != "reserved":
        return Decision(known.state)
    if not order.charge <= known.charge:
        # The same request may be priced anew after an upgrade; what was debited must still cover it.
        return Decision("dearer", charge=known.charge)
    if known.attempts >= MOST_ATTEMPTS:
        page.enter("seal", dataset=account.dataset, analyst=account.analyst, key=key)
        page.seal(account, key, known)
        return Decision("sealed")
    attempt = known.attempts + 1
    page.enter("renew", dataset=account.dataset, analyst=account.analyst, key=key, attempt=attempt)
    page.renew(account, key, known)
    return Decision("reserved", known.reserved, known.hash or "", attempt, known.charge)


def _answer(page: Page, order: Answer) -> Decision:
    account, key = order.account, order.key
    known = page.request(account, key)
    if known is None or (known.digest, known.reserved, known.hash) != (order.digest, order.entry, order.hash):
        # As after a restore: a debit that the ledger has forgotten pays for nothing.
        return Decision("foreign")
    if known.state != "reserved":
        return Decision(known.state)
    digest = answer_digest(order.content)
    page.enter("answer", dataset=account.dataset, analyst=account.analyst, key=key, answer=digest)
    page.answer(account, key, known, order.content)
    return Decision("stored", page.seq, page.hash, known.attempts, known.charge)


def write_orders(orders: Sequence[Order]) -> bytes:
    """Return orders as bytes: a line of plain data, then the answers as they are."""
    records: list[list[Any]] = []
    contents = []
    for order in orders:
        whose = [order.account.dataset, order.account.analyst, order.key]
        if isinstance(order, Debit):
            records.append(["reserve", *whose, order.digest, *_figures(order.charge), order.description])
        else:
            records.append(["complete", *whose, order.digest, order.entry, order.hash, len(order.content)])
            contents.append(order.content)
    return b"\n".join((json.dumps(records).encode("ascii"), b"".join(contents)))


def read_orders(data: bytes) -> list[Order]:
    """Return the orders that ``write_orders`` wrote."""
    line, _, contents = data.partition(b"\n")
    orders: list[Order] = []
    start = 0
    for verb, dataset, analyst, key, *rest in json.loads(line):
        account = Account(dataset, analyst)
        if verb == "reserve":
            digest, epsilon, rho, delta, description = rest
            orders.append(Debit(account, key, digest, Amount(epsilon, rho, delta), description))
        else:
            digest, entry, link, size = rest
            orders.append(Answer(account, key, digest, entry, link, contents[start : start + size]))
            start += size
    return orders


def write_decisions(decisions: Sequence[Decision], longest: int) -> bytes:
    """Return decisions as bytes, with refusals left out that make them too long: what they say of limits may be."""
    text = _write_decisions(decisions)
    if len(text) <= longest:
        return text
    return _write_decisions([one if one.limit is None else Decision("long") for one in decisions])


def _write_decisions(decisions: Sequence[Decision]) -> bytes:
    told = [
        [one.kind, one.entry, one.hash, one.attempt, None if one.charge is None else _figures(one.charge), one.limit]
        for one in decisions
    ]
    return json.dumps(told).encode("ascii")


def read_decisions(data: bytes) -> list[Decision]:
    """Return the decisions that ``write_decisions`` wrote."""
    return [
        Decision(kind, entry, link, attempt, None if charge is None else Amount(*charge), limit)
        for kind, entry, link, attempt, charge, limit in json.loads(data)
    ]


def _figures(amount: Amount) -> list[int | None]:
    return [amount.epsilon, amount.rho, amount.delta]
