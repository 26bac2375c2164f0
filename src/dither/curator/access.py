"""The way to the rows and to the receipts of a session, for the rooms that the curator trusts with them.

Belongs here: what the modules of this room and of those above do beside the verbs of a session. They open its rows,
debit and run a registered mechanism, and find its curator. Nothing public on a session does any of it: an attribute of
a session returns no engine and no ledger, and runs no function on rows.

A receipt says that a registered mechanism drew noise (``charge``, ``receipt_of``), or that something long-lived was
paid for, of which nothing but a commitment to its key is stored (``commit``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dither.curator.auto_clamp import InTurn
from dither.curator.drawing import place_of
from dither.curator.governing import check_fits
from dither.curator.ledger import Receipt, Stored
from dither.curator.price import Room
from dither.curator.request import Request
from dither.data.engines import Engine
from dither.errors import InvalidParameter, RequestSealed
from dither.lift.offer import Offer
from dither.lift.trusted import checked_mechanism
from dither.mechanisms import perform
from dither.mechanisms.core.derived_runner import DerivedWords, perform_derived
from dither.privacy import Loss, PureDP
from dither.publish.queries.result import UNLEDGERED, QueryResult

if TYPE_CHECKING:
    from dither.curator.folder import Curator
    from dither.curator.session import Session


@dataclass(frozen=True)
class Run:
    """What is done for one debit: what is asked, what draws, and what is stored of it.

    Args:
        request: as the ledger compares it.
        loss: what is debited now.
        mechanism: registered; what draws. Of a question within something that was paid for before, what was paid for.
        stored: makes of what was released the bytes that are stored.
        spent: reads from these bytes what was lost, where that may be less than the debit.
        answered: releases the answer to such a question from the opened rows; None where the mechanism is performed.

    """

    request: Request
    loss: Loss
    mechanism: Any
    stored: Callable[[Any], bytes]
    spent: Callable[[bytes], Loss] | None = None
    answered: Callable[[Engine], Any] | None = None

    @property
    def is_performed(self) -> bool:
        """Whether the mechanism is performed as it is, in one go."""
        return self.answered is None

    @property
    def may_draw_nothing(self) -> bool:
        """Whether there is nothing to draw: the mechanism loses nothing, because it reads public tables alone."""
        lost: Loss = self.mechanism.loss(1)
        return self.is_performed and lost <= PureDP(0)

    def check(self) -> None:
        """Refuse, before anything is debited, what is not registered or loses more than is debited."""
        checked_mechanism(self.mechanism)
        if self.is_performed and not self.mechanism.loss(1) <= self.loss:
            raise InvalidParameter(
                "loss", str(self.loss), f"at least what the mechanism loses, {self.mechanism.loss(1)}"
            )

    def carry_out(self, engine: Engine, words: DerivedWords | None) -> bytes:
        """Return the bytes to store.

        Args:
            engine: the opened rows.
            words: where all randomness comes from; None for the system's generator.

        """
        if self.answered is not None:
            return self.stored(self.answered(engine))
        if words is None:
            return self.stored(perform(self.mechanism, engine))
        return self.stored(perform_derived(self.mechanism, engine, words))


@contextmanager
def rows_of_session(session: Session) -> Iterator[Engine]:
    """Open the tables of a session, in turn with its verbs.

    Args:
        session: whose tables.

    """
    with session._alone:
        engine = session._open()
        engine.check()
        yield engine


def charge(session: Session, run: Run, key: str | None) -> Receipt:
    """Debit, run and store; or return what was stored for the same key. What drew no noise is not stored.

    Args:
        session: whose account and rows.
        run: what is debited and done.
        key: the caller's name for it.

    """
    run.check()
    return session._charged(run, key)


def commit(session: Session, request: Request, loss: Loss, key: str, stored: bytes) -> Receipt:
    """Debit all that something long-lived may lose, or find that it was debited; return what is stored for it.

    Its noise follows from a key in its book. So what is stored here is a commitment to that key, and nothing of rows.

    Args:
        session: whose account.
        request: as the ledger compares it.
        loss: of all answers together.
        key: of the request.
        stored: the commitment, stored with the debit.

    """
    ledger = session._curator.ledger
    held = ledger.reserve(session._account, key, request.digest, loss, description=request.summary)
    if isinstance(held, Stored):
        return held.receipt
    try:
        return ledger.complete(held, stored)
    finally:
        ledger.abandon(held)


def claim(session: Session, digest: str, key: str, words: str) -> None:
    """Let the ledger know a request for which nothing is debited, and nothing is ever drawn or stored.

    Args:
        session: whose account.
        digest: of the request.
        key: of the request.
        words: what it was, for people.

    """
    ledger = session._curator.ledger
    try:
        held = ledger.reserve(session._account, key, digest, PureDP(0), description=words)
    except RequestSealed:
        return
    if isinstance(held, Stored):
        return
    try:
        # What is drawn and not answered is never drawn again.
        ledger.begin_draw(held)
    finally:
        ledger.abandon(held)


def receipt_of(session: Session, offer: Offer[Any], *, key: str | None = None) -> Receipt:
    """Release an offer of a session; return its stored answer as bytes, and where it was charged.

    Args:
        session: whose own ``offer`` has made the offer.
        offer: what is released.
        key: the name of this request, in place of the offer's own.

    """
    return session._receipt(offer, key=key)


def receipt_in_turn(session: Session, turns: InTurn) -> tuple[Receipt, Callable[[bytes, str], QueryResult]]:
    """Release ranges, then the query with them; return the stored answer, and what reads it.

    Args:
        session: whose rows.
        turns: planned for its data set.

    """
    return session._receipt_in_turn(turns)


def request_of(session: Session, what: Offer[Any] | InTurn) -> Request:
    """Return what is asked, as the ledger compares it.

    Args:
        session: who asks.
        what: an offer, or a query and its ranges together.

    """
    return session._request_in_turn(what) if isinstance(what, InTurn) else session._request_of(what)


def check_declared(session: Session) -> None:
    """Refuse a data set that was changed by force: prices follow from it.

    Args:
        session: which was opened with it.

    """
    session._check_declared()


def check_affordable(session: Session, loss: Loss) -> None:
    """Refuse what would not be admitted now; a charge decides it.

    Args:
        session: whose account.
        loss: that would be debited.

    """
    check_fits(session._curator.ledger, session._account, loss, session.balance)


def room_of(session: Session, loss: Loss, *, is_counted: bool = False) -> Room:
    """Return what an analyst may still spend, and whether a release of a loss fits, or how many do.

    Args:
        session: of the analyst.
        loss: of a release.
        is_counted: whether to say how many.

    """
    return session._room_for(loss, is_counted=is_counted)


def place_in_books(session: Session, receipt: Receipt) -> str:
    """Return where a charge is written down, if that is durable.

    Args:
        session: that was charged.
        receipt: of the charge.

    """
    return place_of(receipt) if session._curator.ledger.is_durable else UNLEDGERED


def curator_of(session: Session) -> Curator:
    """Return whose folder and ledger a session uses.

    Args:
        session: of any analyst.

    """
    return session._curator
