"""The steps of a release as plain records: what is asked of a ledger, what it decides, and both as bytes.

A step is data and not code, so that one process can carry it out for another. Whoever carries a step out decides by the
ledger's rules and writes, all inside one transaction. What was decided is told in few figures; an answer that was
stored before is not told but read from the ledger by whoever asked.

Records are tuples with names, which are made in a quarter of the time that frozen classes take: every step makes
several while others wait.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from dither.curator.ledger.admission import Certificates, limit_of
from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.approvals import ASKING, MOST_WAITING, questions_of
from dither.curator.ledger.chain import PROOF, answer_digest
from dither.curator.ledger.evidence import check_waiting
from dither.curator.ledger.interface import MOST_ATTEMPTS, OWNER, Account
from dither.curator.ledger.standing import OPEN, standing_of
from dither.curator.ledger.terms import terms_of
from dither.curator.ledger.transaction import Page, Purse, Request, limit_text


class Debit(NamedTuple):
    """Reserve: debit a charge, or find what became of the request."""

    account: Account
    key: str
    digest: str
    charge: Amount
    description: str
    #: Whether the caller can draw the same noise again.
    resumes: bool = False

    @property
    def verb(self) -> str:
        """What is asked."""
        return "reserve"

    @property
    def size(self) -> int:
        """The bytes that this adds to a transaction, about."""
        return len(self.description)


class Answer(NamedTuple):
    """Complete: store an answer to the request that was debited at an entry."""

    account: Account
    key: str
    digest: str
    entry: int
    hash: str
    content: bytes
    #: Units of epsilon that the answer says were not lost.
    returned: int = 0

    def __repr__(self) -> str:
        # The content is not shown: until it is stored it is nobody's.
        return f"Answer({self.account}, {self.key!r}, entry={self.entry})"

    @property
    def verb(self) -> str:
        """What is asked."""
        return "complete"

    @property
    def size(self) -> int:
        """The bytes that this adds to a transaction, about."""
        return len(self.content)


class Draw(NamedTuple):
    """Begin to draw: say that noise is about to be drawn for the request that was debited at an entry."""

    account: Account
    key: str
    digest: str
    entry: int
    hash: str
    #: By which the same noise is known again; "" where it cannot be drawn again.
    proof: str = ""

    @property
    def verb(self) -> str:
        """What is asked."""
        return "draw"

    @property
    def size(self) -> int:
        """The bytes that this adds to a transaction, about."""
        return 0


class Seal(NamedTuple):
    """Seal: give up the request that was debited at an entry."""

    account: Account
    key: str
    digest: str
    entry: int
    hash: str

    @property
    def verb(self) -> str:
        """What is asked."""
        return "seal"

    @property
    def size(self) -> int:
        """The bytes that this adds to a transaction, about."""
        return 0


Order = Debit | Draw | Seal | Answer


class Decision(NamedTuple):
    """What the ledger decided, once its transaction is durable.

    ``kind`` is ``reserved``, ``drawing`` or ``stored`` when something was written; ``answered`` when the answer is in
    the ledger already; or why nothing was debited: ``unknown``, ``retired``, a stage of a data set that is not open,
    ``stranger``, ``reused``, ``sealed``, ``drawn``, ``dearer``, ``budget``, ``quota``, ``most``, ``allowance``,
    ``waiting`` for an approval, ``declined``, ``crowded``, ``cancelled``, ``foreign``; or ``long`` for a refusal that
    is too long to be told by letter. What is ``drawn`` and not answered is sealed, too: its noise was drawn, and is not
    drawn again. ``reserved`` with a ``proof`` resumes a draw: the same noise, or none.
    """

    kind: str
    #: The place in the chain: of the debit, or of the stored answer.
    entry: int = 0
    hash: str = ""
    attempt: int = 0
    #: What was debited; for a refusal, what is spent, and of which limit.
    charge: Amount | None = None
    limit: str | None = None
    #: Of the draw that is to be resumed.
    proof: str = ""


def decide(page: Page, order: Order, certificates: Certificates) -> Decision:
    """Carry one step out on a page."""
    if isinstance(order, Debit):
        return _debit(page, order, certificates)
    known = page.request(order.account, order.key)
    if known is None or (known.digest, known.reserved, known.hash) != (order.digest, order.entry, order.hash):
        # As after a restore: a debit that the ledger has forgotten pays for nothing.
        return Decision("foreign")
    if known.state != "reserved":
        return _settled(known)
    if isinstance(order, Seal):
        return _seal(page, order, known)
    return _draw(page, order, known) if isinstance(order, Draw) else _answer(page, order, known)


def _debit(page: Page, order: Debit, certificates: Certificates) -> Decision:
    account, charge = order.account, order.charge
    known = page.request(account, order.key)
    if known is not None:
        return _debit_again(page, order, known)
    job = page.job(account, order.key)
    if job is not None and job[0] != order.digest:
        # The key is bound to a request that waits, was cancelled or has failed.
        return Decision("reused")
    found = page.find_dataset(account.dataset)
    if found is None:
        return Decision("unknown")
    unit, purse = found
    mine = page.analyst(account)
    barred = why_barred(purse, mine, account)
    if barred is not None:
        return Decision(barred)
    if not purse.admits(charge, certificates):
        return _refusal("budget", purse)
    if not mine.admits(charge, certificates):
        return _refusal("quota", mine)
    if job is not None and job[1] == "cancelled":
        return Decision("cancelled")
    refused = _refused_by_terms(page, order, (purse, mine), certificates)
    if refused is not None:
        return refused
    edition = standing_of(purse.limit).edition
    page.enter_debit(account, order.key, order.digest, charge, order.description, edition)
    page.keep_dataset(account.dataset, unit, purse.pay(charge))
    page.keep_analyst(account, mine.pay(charge))
    page.reserve(account, order.key, order.digest, charge)
    return Decision("reserved", page.seq, page.hash, 1, charge)


def why_barred(purse: Purse, mine: Purse, account: Account) -> str | None:
    """Return why nothing at all is debited to an account, in the words of a decision, if nothing is.

    Args:
        purse: of the data set.
        mine: of the analyst.
        account: who asks.

    """
    standing = standing_of(purse.limit)
    if standing.is_retired:
        return "retired"
    if standing.stage != OPEN:
        return standing.stage
    if terms_of(mine.limit).is_ended:
        return "stranger"
    return "stranger" if standing.is_closed and mine.limit is None and account.analyst != OWNER else None


def paced(mine: Purse, now: str) -> Purse | None:
    """Return what an allowance admits so far, and what was spent of that, if a quota is granted with one.

    Args:
        mine: the quota.
        now: the time.

    """
    allowance = terms_of(mine.limit).allowance
    if allowance is None or mine.limit is None:
        return None
    return Purse(limit_text(allowance.whole(limit_of(mine.limit), now)), allowance.used(mine.kept), mine.releases)


def _refused_by_terms(
    page: Page, order: Debit, purses: tuple[Purse, Purse], certificates: Certificates
) -> Decision | None:
    """Return why a grant does not let a charge be debited that its quota admits, if it does not.

    Where others must agree first, that is asked for, and nothing is debited.
    """
    edition, mine = standing_of(purses[0].limit).edition, purses[1]
    terms = terms_of(mine.limit)
    if terms.is_too_much(order.charge):
        return _refusal("most", mine)
    pace = paced(mine, page.now)
    if pace is not None and not pace.admits(order.charge, certificates):
        return _refusal("allowance", mine)
    if terms.approval is None or not terms.needs_approval(order.charge):
        return None
    account = order.account
    asked = list(questions_of(page.decisions(account.dataset, account.analyst, order.digest)).values())
    last = asked[-1] if asked else None
    if last is not None:
        last.used = page.debit_after(account, order.digest, last.entry)
        state = last.state(terms.approval.approvers, page.latest, edition)
        if last.covers(order.charge) and state in ("approved", "waiting", "declined"):
            return None if state == "approved" else Decision(state, last.entry)
    if waiting(page, account, edition) >= MOST_WAITING:
        return Decision("crowded")
    entry = page.decide(
        "ask",
        (account.dataset, account.analyst),
        order.digest,
        key=order.key,
        digest=order.digest,
        charge=order.charge.to_dict(),
        description=order.description,
        edition=edition,
        at=page.latest,
    )
    return Decision("waiting", entry)


def waiting(page: Page, account: Account, edition: int) -> int:
    """Return how many questions of an analyst wait for others to agree."""
    records = [one for one in page.all_decisions(account.dataset, ASKING) if one.get("analyst") == account.analyst]
    asked = questions_of(records).values()
    return sum(not one.agreed and one.state(1, page.latest, edition) == "waiting" for one in asked)


def _refusal(kind: str, purse: Purse) -> Decision:
    return Decision(kind, charge=purse.spent, limit=purse.limit)


def _debit_again(page: Page, order: Debit, known: Request) -> Decision:
    account, key = order.account, order.key
    if known.digest != order.digest:
        return Decision("reused")
    if known.state != "reserved":
        return _settled(known)
    if not order.charge <= known.charge:
        # The same request may be priced anew after an upgrade; what was debited must still cover it.
        return Decision("dearer", charge=known.charge)
    proof = check_waiting(page, account, key, known)
    is_lost = known.drawn is not None and not (order.resumes and proof)
    if is_lost or known.attempts >= MOST_ATTEMPTS:
        return _seal(page, order, known)
    attempt = known.attempts + 1
    page.enter("renew", dataset=account.dataset, analyst=account.analyst, key=key, attempt=attempt)
    page.renew(account, key, known)
    return Decision("reserved", known.reserved, known.hash or "", attempt, known.charge, proof=proof)


def _seal(page: Page, order: Debit | Seal, known: Request) -> Decision:
    account, key = order.account, order.key
    page.enter("seal", dataset=account.dataset, analyst=account.analyst, key=key)
    page.seal(account, key, known)
    return _settled(known._replace(state="sealed"))


def _settled(known: Request) -> Decision:
    """Return why a request is not begun again; one that was sealed before its last attempt may have been drawn for.

    That is so after a restore: the history that was lost may have gone on with it.
    """
    may_be_drawn = known.drawn is not None or known.attempts < MOST_ATTEMPTS
    return Decision("drawn" if known.state == "sealed" and may_be_drawn else known.state)


def _draw(page: Page, order: Draw, known: Request) -> Decision:
    account, key = order.account, order.key
    if known.drawn is not None:
        return Decision("drawn")
    # Sorted behind the fields by which entries of a draw are recognised.
    proof: dict[str, Any] = {PROOF: order.proof} if order.proof else {}
    page.enter("draw", dataset=account.dataset, analyst=account.analyst, key=key, **proof)
    page.draw(account, key, known)
    return Decision("drawing", page.seq, page.hash, known.attempts, known.charge)


def _answer(page: Page, order: Answer, known: Request) -> Decision:
    account, key = order.account, order.key
    page.enter_answer(account, key, answer_digest(order.content))
    page.answer(account, key, known, order.content)
    stored = Decision("stored", page.seq, page.hash, known.attempts, known.charge)
    if 0 < order.returned <= (known.charge.epsilon or 0):
        _return(page, order)
    return stored


def _return(page: Page, order: Answer) -> None:
    """Let the accounts of a request take back what its answer, which was just entered, did not lose."""
    account, units = order.account, order.returned
    (unit, purse), mine = page.dataset(account.dataset), page.analyst(account)
    after, mine_after = purse.take_back(units), mine.take_back(units)
    if (after, mine_after) == (purse, mine):
        return
    page.enter("return", dataset=account.dataset, analyst=account.analyst, key=order.key, epsilon=str(units))
    page.keep_dataset(account.dataset, unit, after)
    page.keep_analyst(account, mine_after)


# Letters are fields that end with a NUL, which no name, digest or description holds: split and joined at a fraction of
# what a general notation takes, and that counts while others wait.
_END = "\0"
_ORDER_FIELDS = 10
_DECISION_FIELDS = 9


def write_orders(orders: Sequence[Order]) -> bytes:
    """Return orders as bytes: how many, ten fields for each, then the answers as they are."""
    fields = [str(len(orders))]
    contents = []
    for order in orders:
        account = order.account
        if isinstance(order, Debit):
            charge = order.charge
            epsilon = "" if charge.epsilon is None else str(charge.epsilon)
            rest = (epsilon, str(charge.rho), str(charge.delta), order.description, "1" if order.resumes else "")
        elif isinstance(order, Draw):
            rest = (str(order.entry), order.hash, order.proof, "", "")
        elif isinstance(order, Seal):
            rest = (str(order.entry), order.hash, "", "", "")
        else:
            rest = (str(order.entry), order.hash, str(len(order.content)), str(order.returned or ""), "")
            contents.append(order.content)
        fields += (order.verb, account.dataset, account.analyst, order.key, order.digest, *rest)
    fields.append("")
    return _END.join(fields).encode() + b"".join(contents)


def read_orders(data: bytes) -> list[Order]:
    """Return the orders that ``write_orders`` wrote."""
    count, _, rest = data.partition(b"\0")
    *fields, contents = rest.split(b"\0", _ORDER_FIELDS * int(count))
    orders: list[Order] = []
    start = 0
    for place in range(0, len(fields), _ORDER_FIELDS):
        verb, dataset, analyst, key, digest, first, second, third, words, flag = fields[place : place + _ORDER_FIELDS]
        account = _account(dataset, analyst)
        if verb == b"reserve":
            charge = Amount(int(first) if first else None, int(second), int(third))
            orders.append(Debit(account, key.decode(), digest.decode(), charge, words.decode(), bool(flag)))
        elif verb == b"draw":
            orders.append(Draw(account, key.decode(), digest.decode(), int(first), second.decode(), third.decode()))
        elif verb == b"seal":
            orders.append(Seal(account, key.decode(), digest.decode(), int(first), second.decode()))
        else:
            end = start + int(third)
            content, returned = contents[start:end], int(words or 0)
            orders.append(
                Answer(account, key.decode(), digest.decode(), int(first), second.decode(), content, returned)
            )
            start = end
    return orders


@functools.lru_cache(maxsize=1024)
def _account(dataset: bytes, analyst: bytes) -> Account:
    return Account(dataset.decode(), analyst.decode())


def write_decisions(decisions: Sequence[Decision], longest: int) -> bytes:
    """Return decisions as bytes, with refusals left out that make them too long: what they say of limits may be."""
    text = _write_decisions(decisions)
    if len(text) <= longest:
        return text
    return _write_decisions([one if one.limit is None else Decision("long") for one in decisions])


def _write_decisions(decisions: Sequence[Decision]) -> bytes:
    fields: list[str] = []
    for one in decisions:
        charge = one.charge
        if charge is None:
            figures = ("", "", "")
        else:
            epsilon = "" if charge.epsilon is None else str(charge.epsilon)
            figures = (epsilon, str(charge.rho), str(charge.delta))
        fields += (one.kind, str(one.entry), one.hash, str(one.attempt), *figures, one.limit or "", one.proof)
    return _END.join(fields).encode()


def read_decisions(data: bytes) -> list[Decision]:
    """Return the decisions that ``write_decisions`` wrote."""
    fields = data.decode().split(_END)
    decisions = []
    for place in range(0, len(fields), _DECISION_FIELDS):
        kind, entry, link, attempt, epsilon, rho, delta, limit, proof = fields[place : place + _DECISION_FIELDS]
        charge = Amount(int(epsilon) if epsilon else None, int(rho), int(delta)) if rho else None
        decisions.append(Decision(kind, int(entry), link, int(attempt), charge, limit or None, proof))
    return decisions
