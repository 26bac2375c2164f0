"""A curator who is elsewhere: the same session, over HTTP.

Offers are made here, from what is declared about a data set, so that what is wrong is said before anything is sent and
an answer is read by the same code that would read it there. Only the verb and its words travel, and the stored answer
comes back.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dither.curator.access import place_in_books
from dither.curator.auto_clamp import InTurn
from dither.curator.card import Card
from dither.curator.continuing import Opened
from dither.curator.ledger import Account, Balance, Receipt, Standing
from dither.curator.ledger.interface import checked_name
from dither.curator.pictures import spending_picture
from dither.curator.price import Room
from dither.curator.receipts import PublicKey, read_checkpoint, read_receipt, successor, verify_receipt
from dither.curator.request_json import write_words
from dither.curator.session import Session
from dither.data import wire
from dither.data.closing import Closing
from dither.errors import (
    ApprovalDeclined,
    ApprovalPending,
    DitherError,
    InvalidParameter,
    NotFound,
    ReleaseFailed,
    RequestCancelled,
)
from dither.exact import Number
from dither.lift.offer import Offer
from dither.privacy import Loss
from dither.publish.queries import QueryResult
from dither.publish.queries.found_clamps import USUAL_SHARE, found_clamps
from dither.publish.queries.sql import parse_statement
from dither.service.governance_client import DecidingElsewhere, pages, read_balance
from dither.service.kept import first_key, kept_token, keys_file
from dither.service.long_lived_client import HANDLES
from dither.service.long_lived_kinds import SERVED
from dither.service.problems import error_of
from dither.service.routes import path_to
from dither.service.transport import Reply, Transport
from dither.verbs.offers import call_of

if TYPE_CHECKING:
    from dither.pages.frame import Chart

VARIABLE: Final = "DITHER_TOKEN"
#: For how many seconds an answer is waited for before it is asked for again.
PATIENCE: Final = 30.0
_ELSEWHERE: Final = "not allowed over HTTP: run this on the machine that holds the data"


class KeyChanged(UserWarning):
    """A service signs with another key than before, and the one before has signed it."""


@dataclass(frozen=True)
class _Settings:
    """What the curator allows."""

    allow_idealised: bool


class _Ledger:
    """A ledger that is where the rows are."""

    is_durable = True

    def __getattr__(self, name: str) -> Any:
        raise InvalidParameter("ledger", name, _ELSEWHERE)


class _Curator:
    """What a session asks of its curator, where that one is elsewhere."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.settings, self.ledger = _Settings(bool(record["allows_idealised"])), _Ledger()
        self._standing = Standing(edition=int(record["edition"]), since=int(record.get("since", 0)))

    def standing(self, _: str) -> Standing:
        """Return which edition of the rows is asked, as it was when the session was opened."""
        return self._standing


class Job:
    """A release that is waited for elsewhere.

    Args:
        transport: to the service.
        reply: what the service said when it was begun: the address of the job, or the answer.
        read: makes the result of a reply with the stored answer.

    """

    def __init__(self, transport: Transport, reply: Reply, read: Callable[[Reply], Any] = lambda reply: reply) -> None:
        self._transport, self._read = transport, read
        self._reply = None if reply.status == 202 else reply
        #: Where the service tells how far it has come; empty where it was answered at once.
        self.address = reply.headers["location"] if reply.status == 202 else ""

    def progress(self, *, wait: float | None = None) -> dict[str, Any]:
        """Return how far it has come: its state, and its place in the queue.

        Args:
            wait: for how many seconds its end is waited for, at most.

        """
        if self._reply is not None:
            return {"state": "answered", "place": None, "answer": self._reply.headers["location"]}
        return dict(self._transport.told(self.address, wait=wait).json())

    @property
    def state(self) -> str:
        """How far it has come: queued, waiting for approval, running, answered, failed, sealed, cancelled, ..."""
        return str(self.progress()["state"])

    def cancel(self) -> None:
        """Let it never be debited; refused where it is already."""
        if self._reply is not None:
            raise InvalidParameter("job", "answered", "one that is not debited")
        self._transport.delete(self.address)

    def result(self) -> Any:
        """Wait for the answer and return it; raises what the release would raise here."""
        return self._read(self.answered())

    def answered(self) -> Reply:
        """Wait for the answer, and return it as it is stored."""
        while self._reply is None:
            said = self.progress(wait=PATIENCE)
            if said["state"] == "answered":
                self._reply = self._transport.told(str(said["answer"]))
            elif said["state"] not in ("queued", "running"):
                raise _why_not(said)
        return self._reply


def _why_not(said: Mapping[str, Any]) -> DitherError:
    """Return why a job has no answer, as an error that the release would raise here."""
    state, dataset, number = said["state"], str(said.get("dataset", "")), said.get("question") or 0
    match state:
        case "failed":
            return error_of(said["problem"] or {})
        case "sealed":
            return ReleaseFailed()
        case "cancelled":
            return RequestCancelled(str(said["job"]))
        case "declined":
            return ApprovalDeclined(dataset, number, str((said["problem"] or {}).get("because", "")))
        case _:
            return ApprovalPending(dataset, number)


class RemoteSession(Session):
    """Private answers about one data set of a curator who is elsewhere, with the verbs of any session.

    Args:
        transport: to the service.
        record: what the service says about the data set.

    """

    def __init__(self, transport: Transport, record: Mapping[str, Any]) -> None:
        dataset = wire.decode(record["declared"])
        curator: Any = _Curator(record)
        super().__init__(curator, dataset, analyst=str(record["analyst"]), called=str(record["name"]))
        self._transport = transport

    def _at(self, route: str, **names: str) -> tuple[str, ...]:
        """Return the path of a route about this data set."""
        return path_to(route, dataset=self._called, **names)

    def balance(self) -> Balance:
        """Return what this analyst has spent and may still spend."""
        return read_balance(self._transport.get(*self._at("balance")).json())

    def card(self) -> Card:
        """Return the release card of the data set: what is promised, spent and released, from public facts alone."""
        return Card(self._transport.get(*self._at("card")).json(), self._spending)

    def _room_for(self, loss: Loss, *, is_counted: bool = False) -> Room:
        """Return what this analyst may still spend, and whether a release of a loss fits, or how many do."""
        body = {"loss": loss.to_dict(), "counted": is_counted}
        return Room(**self._transport.post(*self._at("room"), body=body).json())

    def _receipt(self, offer: Offer[Any], *, key: str | None = None) -> Receipt:
        """Return the stored answer of an offer as bytes, and where it was charged."""
        self._check_made(offer)
        offer.check_released()
        self._check_declared()
        self._check_public_facts(offer)
        call = call_of(self._offers, offer)
        return self._released(call.verb, call.arguments, offer.key if key is None else key, offer.loss)

    def _receipt_in_turn(self, turns: InTurn) -> tuple[Receipt, Callable[[bytes, str], QueryResult]]:
        """Release the ranges, then the query with them, of which the loss is debited before a range is found."""
        raise InvalidParameter("text", turns.words, _ELSEWHERE)

    def _sql(self, text: str, *, auto_share: Number = USUAL_SHARE, **how: Any) -> Any:
        """Release the answer to a query; one whose ranges are found first is asked where the rows are."""
        statement = parse_statement(text)
        if statement.is_explained or found_clamps(statement.sql, self.dataset) is None:
            return super()._sql(text, auto_share=auto_share, **how)
        # As ever without a key of one's own: the same again is the same answer, and free.
        key = how.pop("key", None)
        priced = {name: value for name, value in how.items() if name != "confidence"}
        price = self.quote(text, auto_share=auto_share, **priced)
        receipt = self._released("sql", {"text": text, "auto_share": auto_share, **how}, key, price.loss)
        return QueryResult.stored(receipt.answer, place_in_books(self, receipt))

    def _released(self, verb: str, words: Mapping[str, Any], key: str | None, loss: Loss) -> Receipt:
        if key is not None:
            checked_name("key", key)
        told = {name: value for name, value in words.items() if name != "key" and value is not None}
        body = {"verb": verb, "words": write_words(told, self.dataset)}
        reply = self._transport.post(*self._at("release"), body=body, key=key, wait=PATIENCE)
        if reply.status == 202:
            reply = Job(self._transport, reply).answered()
        return self._received(reply, key, loss)

    def _received(self, reply: Reply, key: str | None, loss: Loss) -> Receipt:
        """Return what was answered; where a key has chosen an answer about rows of before, that is said."""
        receipt = _receipt(reply, self._account, key or "", loss)
        if key is not None:
            self._warn_of_edition(receipt)
        return receipt

    def begin(self, offer: Offer[Any], *, key: str | None = None) -> Job:
        """Begin a release without waiting for it: ``session.begin(session.offer.synthesize("visits", epsilon=1))``.

        Args:
            offer: of this session.
            key: the name of this request, in place of the offer's own.

        """
        self._check_made(offer)
        offer.check_released()
        self._check_declared()
        self._check_public_facts(offer)
        call = call_of(self._offers, offer)
        name = offer.key if key is None else key
        told = {word: value for word, value in call.arguments.items() if word != "key" and value is not None}
        body = {"verb": call.verb, "words": write_words(told, self.dataset)}
        reply = self._transport.post(*self._at("release"), body=body, key=name, wait=0)

        def read(found: Reply) -> Any:
            receipt = self._received(found, name, offer.loss)
            return offer.read(receipt.answer, place_in_books(self, receipt))

        return Job(self._transport, reply, read)

    def _check_offer(self, offer: Offer[Any]) -> None:
        """Refuse what can be refused here; the rest is refused where the rows are, before it costs anything."""
        self._check_public_facts(offer)

    def close(self) -> None:
        """Let go of the connection."""
        self._transport.close()

    def _spending(self) -> Chart:
        """Return the losses of this analyst's releases as a picture; those of others are not shown."""
        told = Connection(self._transport).releases(self._called)
        return spending_picture(self.balance(), [Loss.from_dict(one["price"]) for one in told])

    def _open(self) -> NoReturn:
        """Refuse: rows are read where they are, and compared there by their owner."""
        raise InvalidParameter("rows", "remote", _ELSEWHERE)

    def long_lived(self) -> Opened:
        """Return the names of what this analyst has opened."""
        told = {one.plural: pages(self._transport, one.lists, dataset=self._called) for one in SERVED.values()}
        return Opened({plural: tuple(names) for plural, names in told.items()})

    def _open_long_lived(self, verb: str, name: str, words: Mapping[str, Any], *, only_read: bool) -> Any:
        """Open what goes on under a name, or look at it."""
        self._check_declared()
        names = {"dataset": self._called, "name": str(name)}
        told = {word: value for word, value in words.items() if value is not None}
        if told and only_read:
            raise InvalidParameter("only_read", True, "not allowed in a request that pays; pass the name alone to read")
        if told:
            body = {"name": name, "words": write_words(told, self.dataset)}
            reply = self._transport.post(*self._at(SERVED[verb].opens), body=body)
        else:
            reply = self._transport.get(*path_to(verb, **names))
        return HANDLES[verb](self._transport, names, reply.json(), self.dataset)


class Connection(DecidingElsewhere, Closing):
    """A curator who is elsewhere.

    Args:
        transport: to the service.

    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def me(self) -> dict[str, Any]:
        """Return who you are, and what you may ask."""
        return dict(self._transport.get(*path_to("me")).json())

    def datasets(self) -> tuple[str, ...]:
        """Return the names of the data sets that you may see."""
        return tuple(one["name"] for one in self.listed())

    def listed(self) -> list[dict[str, Any]]:
        """Return the data sets that you may see: name, unit, tables, and whether you may ask."""
        return list(pages(self._transport, "datasets"))

    def session(self, dataset: str) -> RemoteSession:
        """Return a session about a data set, with the verbs of any session.

        Args:
            dataset: its name.

        """
        return RemoteSession(self._transport, self._transport.get(*path_to("dataset", dataset=dataset)).json())

    def releases(self, dataset: str) -> list[dict[str, Any]]:
        """Return what you were answered about a data set, from the oldest."""
        return list(pages(self._transport, "releases", dataset=dataset))

    def answer(self, dataset: str, entry: int | str) -> Any:
        """Return a stored answer of yours once more: a table where it is one, else plain data; nothing is charged.

        Args:
            dataset: about which.
            entry: its number, its key, or its place in the ledger.

        """
        reply = self._transport.get(*path_to("answer", dataset=dataset, entry=f"{_number(entry)}.json"))
        try:
            return QueryResult.stored(reply.content, reply.headers["dither-place"])
        except (DitherError, ValueError, KeyError, TypeError):
            return reply.json()

    def receipt(self, dataset: str, entry: int | str) -> dict[str, Any]:
        """Return the receipt of a release, checked with the first key that this service has shown.

        Args:
            dataset: about which.
            entry: its number, its key, or its place in the ledger.

        Raises:
            InvalidParameter: it proves nothing, or the service shows another key than before.

        """
        content = self._transport.get(*path_to("receipt", dataset=dataset, entry=_number(entry))).content
        found = read_receipt(content.decode())
        verify_receipt(found, self.key())
        return dict(found)

    def key(self) -> PublicKey:
        """Return the key of the service: the first that was seen at this address, kept in the user's configuration."""
        # Read before it is kept: what is no key at all would be the first for ever.
        shown = PublicKey.read(self._transport.get(*path_to("key")).content.decode("utf-8", "replace"))
        url = self._transport.url
        kept = first_key(url, str(shown))
        if kept != str(shown) and self._is_successor(kept, str(shown)):
            kept = first_key(url, str(shown), instead_of=kept)
            warnings.warn(KeyChanged(f"{url} signs with a new key, as the old one has signed"), stacklevel=2)
        if kept != str(shown):
            rule = f"the one that was seen first at {url}; if it was changed on purpose, edit {keys_file()}"
            raise InvalidParameter("key", str(shown), rule)
        return shown

    def checkpoint(self) -> str:
        """Return the signed head of the ledger, checked with the first key that this service has shown."""
        note = self._transport.get(*path_to("checkpoint")).content.decode("utf-8", "replace")
        read_checkpoint(note, self.key())
        return note

    def _is_successor(self, kept: str, shown: str) -> bool:
        """Whether the key that was seen first has signed the one that is shown."""
        try:
            changes = self._transport.get(*path_to("keys")).json()["changes"]
            return str(successor(changes, PublicKey.read(kept))) == shown
        except (DitherError, ValueError, KeyError, TypeError):
            return False

    def close(self) -> None:
        """Let go of the connection."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"<Connection to {self._transport.url}>"


def connect(url: str, token: str | None = None) -> Connection:
    """Return a curator who is elsewhere: ``dither.connect(url).session("visits").sql(...)``.

    Args:
        url: where the service is.
        token: yours; else the variable DITHER_TOKEN, else what ``dither login`` stored for this address, else the line
            of this address in the file ``token`` of the user's configuration: an address, a space, a token.

    """
    given = token or os.environ.get(VARIABLE) or kept_token(url)
    if not given:
        raise NotFound(f"no token is known for {url}: give one, or set {VARIABLE}; 'dither token new' makes one")
    return Connection(Transport(url, given))


def connect_publicly(url: str) -> Connection:
    """Return a curator who is elsewhere, as everybody may see them: published answers, the key, the signed head.

    Args:
        url: where the service is.

    """
    return Connection(Transport(url, None))


def _number(entry: int | str) -> str:
    """Return the number of an entry that is told by its place, or what else it is told by."""
    return str(entry).split(":")[1] if str(entry).count(":") == 2 else str(entry)


def _receipt(reply: Reply, account: Account, key: str, loss: Loss) -> Receipt:
    ledger, entry, link = reply.headers["dither-place"].split(":")
    digest = reply.headers["etag"].strip('"')
    return Receipt(ledger, account, key, "", loss, int(entry), link, digest, reply.content)
