"""What each route does, without a word of HTTP: from a person and plain data to plain data or bytes.

Nothing here decides about a loss: the curator plans, debits and stores. A data set that is absent and one that a person
has no grant for are the same to them.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from dither.curator.access import room_of
from dither.curator.admissions import Admissions
from dither.curator.card import release_card
from dither.curator.folder import Curator
from dither.curator.former_verbs import present_call
from dither.curator.history import history_of
from dither.curator.ledger import Account, Balance, Receipt, Standing
from dither.curator.ledger.rules import Books
from dither.curator.named_rows import NamedRows
from dither.curator.people import Bearer, Grant, People, Role
from dither.curator.receipts import Log, receipt_text
from dither.curator.remote_release import (
    OPENED,
    Asked,
    asked_of,
    former_key,
    is_usual,
    known_answers,
    loss_for_error,
    quoted,
    quoted_verbs,
    released_verbs,
    states_loss,
    usual_key,
    with_loss,
)
from dither.curator.request_json import public_view
from dither.curator.session import Session
from dither.curator.sharing import learn_declared
from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import DataSetRetired, DitherError, InvalidParameter, NotFound
from dither.lift.planned_size import planned_within
from dither.publish.queries.work import check_steps, planning, step
from dither.service.body import check_fields
from dither.service.governance import (
    PAGE,
    RETIRED,
    Deciding,
    NotYours,
    check_most,
    paged,
    paged_by_name,
    published_number,
    read_loss,
    terms_record,
)
from dither.service.jobs import Ticket
from dither.service.long_lived_server import TURNS, GoingOn, held
from dither.service.pace import Pace, Strict
from dither.service.settings import Settings

#: How many sessions a thread keeps open.
_KEPT: Final = 16
#: How many grants are remembered.
_TERMS: Final = 4096
MOST_LOSSES: Final = 64
_STEPS_OF_LOSS: Final = 256


@dataclass(frozen=True)
class Wanted:
    """A release as it was asked for over HTTP.

    Args:
        dataset: what it is called.
        verb: which.
        words: as ``write_words`` writes them.
        key: the caller's name for it; None where none is given.

    """

    dataset: str
    verb: str
    words: Mapping[str, Any]
    key: str | None


class LookedUp(NamedTuple):
    """A request before anything is done for it: with the answer that is stored, and how its data set was declared."""

    ticket: Ticket
    stored: Receipt | None
    changed: int


class _Granted(NamedTuple):
    """What a person is granted of a data set, and how that stands; as of a count of decisions."""

    seen: int
    grant: Grant
    standing: Standing


class Desk(Deciding, GoingOn):
    """A curator's folder as people from elsewhere see it.

    Args:
        curator: the folder.
        shares_answers: whether what one person of a data set was answered is given to others who ask the same.
        largest_table: how many cells a table may have that is planned here; None for as many as can be stored.
        planning_seconds: of computing that one request may take before it has a price.
        named: which rows can be named from elsewhere, to be added; None for none.

    """

    def __init__(
        self,
        curator: Curator,
        *,
        shares_answers: bool = False,
        largest_table: int | None = None,
        planning_seconds: float = math.inf,
        named: NamedRows | None = None,
    ) -> None:
        self.curator, self.people = curator, People(curator)
        self.admissions = Admissions(self.people)
        #: What people are granted, by who asks and of what.
        self._terms: OrderedDict[tuple[str, str], _Granted] = OrderedDict()
        self._remembering = threading.Lock()
        self._declarations = curator.folder / "datasets"
        self._shares, self._largest, self._named_rows = shares_answers, largest_table, named or NamedRows()
        self._planning_seconds = planning_seconds
        self._here = threading.local()
        self._turns = tuple(threading.Lock() for _ in range(TURNS))
        #: The open sessions of each thread.
        self._kept: list[OrderedDict[tuple[Any, ...], Session]] = []
        self._log: Log | None = None

    # What is public to a person.

    def me(self, bearer: Bearer) -> dict[str, Any]:
        """Return who asks, and what they may."""
        grants = [self._granted(grant) for grant in self.people.grants(bearer.person.name)]
        scopes = [scope.value for scope in bearer.scopes]
        return {"name": bearer.person.name, "role": bearer.person.role.value, "scopes": scopes, "grants": grants}

    def datasets(self, bearer: Bearer, after: str = "") -> dict[str, Any]:
        """Return the data sets that a person may see, a page of them."""
        names = {grant.dataset for grant in self.people.grants(bearer.person.name)}
        seen = [one for one in self.curator.datasets() if one.name in names or bearer.person.role is not Role.ANALYST]

        def told(one: DataSet) -> dict[str, Any]:
            standing = self.curator.standing(one.name)
            said = {"name": standing.name(one.name), "unit": str(one.protected), "stage": _stage(standing)}
            return said | {"tables": [table.name for table in one.tables], "is_granted": one.name in names}

        return paged_by_name("datasets", {self.curator.called(one.name): one for one in seen}, after, told)

    def dataset(self, bearer: Bearer, name: str) -> dict[str, Any]:
        """Return what is declared about a data set, without the places of its rows."""
        standing, declared = self._granted_now(bearer, name).standing, self._declared(bearer, name)
        return {
            "name": name,
            "registered": declared.name,
            "edition": standing.edition,
            "since": standing.since,
            "stage": _stage(standing),
            "analyst": bearer.person.name,
            "allows_idealised": self.curator.settings.allow_idealised,
            "declared": wire.encode(public_view(declared)),
        }

    def card(self, bearer: Bearer, name: str) -> dict[str, Any]:
        """Return the release card of a data set."""
        return release_card(self._declared(bearer, name), self.curator.ledger)

    def balance(self, bearer: Bearer, name: str) -> dict[str, Any]:
        """Return what a person has spent and may still spend."""
        found = self.curator.ledger.balance(self._registered_now(bearer, name), bearer.person.name)
        return {**balance_record(found), "dataset": name}

    def room(self, bearer: Bearer, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return whether a release of a loss would fit, and how many would."""
        session = self._session(bearer, name)
        check_fields(body, ("loss", "counted"))
        room = room_of(session, read_loss(body.get("loss")), is_counted=body.get("counted") is True)
        return vars(room)

    def quote(
        self, bearer: Bearer, name: str, body: Mapping[str, Any], facts: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return what a release would cost, and how far it would err; for a list of losses, one quote each.

        Args:
            bearer: who asks.
            name: of the data set.
            body: verb, words, and losses if there are any.
            facts: is told what was asked, in the words of a log: of several losses by the digest at the first.

        """
        facts = {} if facts is None else facts
        session, grant = self._session(bearer, name), self._grant(bearer, name)
        check_fields(body, ("verb", "words", "losses"))
        verb, words = _call(body, quoted_verbs())
        facts["verb"], losses = verb, body.get("losses")
        if losses is None:
            with self._planned():
                stated = _with_usual(verb, words, grant)
                quote = self._quoted(session, verb, stated, facts)
                return {"quote": quote, "stored": self._known(bearer, session, verb, stated, facts)}
        if not isinstance(losses, list) or not 1 <= len(losses) <= MOST_LOSSES:
            raise InvalidParameter("losses", type(losses).__name__, f"a list of 1 to {MOST_LOSSES} losses")
        # Of a mechanism no other loss can be stated, which is said first.
        curve = [with_loss(verb, words, read_loss(one)) for one in losses]
        if states_loss(verb, words):
            raise InvalidParameter("losses", verb, "not allowed where 'words' states a loss")
        # Planned as one request: its text is read once, and the steps of all losses are counted together.
        with self._planned():
            quotes = self._curve(session, verb, curve, facts)
            return {"quotes": quotes, "stored": self._known(bearer, session, verb, curve[0], facts)}

    def _curve(
        self, session: Session, verb: str, curve: list[Mapping[str, Any]], facts: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return a quote for each loss."""
        quotes = []
        with planning() as work:
            for number, stated in enumerate(curve):
                before = work.steps
                # Whatever the verb, it is looked at between two losses whether the time is over or the client gone.
                step(_STEPS_OF_LOSS)
                quotes.append(self._quoted(session, verb, stated, facts))
                if number == 1:
                    # The first one reads the text; all others take as long as the second.
                    check_steps(work.steps + (len(curve) - 2) * (work.steps - before))
        return quotes

    def loss_for_error(self, bearer: Bearer, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the least loss at which a column of a query errs by at most so much."""
        session = self._session(bearer, name)
        check_fields(body, ("words",))
        with self._planned():
            return {"loss": loss_for_error(session, _words(body)).to_dict()}

    def _known(
        self, bearer: Bearer, session: Session, verb: str, words: Mapping[str, Any], facts: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the stored answers to the same question that this person may have, at any loss, the dearest last."""
        if verb in OPENED:
            return []
        request, person = self._asked(session, verb, words).request, bearer.person.name
        facts["digest"] = request.digest
        standing = self._granted_now(bearer, session._called).standing
        found = known_answers(self.curator.ledger, request, person, standing, is_shared=self._shares)
        return [{"entry": one.entry, "loss": one.loss.to_dict(), "analyst": one.account.analyst} for one in found]

    @contextlib.contextmanager
    def _planned(self) -> Iterator[None]:
        """Plan within this service's limits; nothing is debited meanwhile."""
        with planned_within(self._largest, step), planning(self._planning_seconds):
            yield

    def _asked(self, session: Session, verb: str, words: Mapping[str, Any]) -> Asked:
        with self._planned():
            return asked_of(session, verb, words)

    def _quoted(self, session: Session, verb: str, words: Mapping[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        with self._planned():
            found = quoted(session, verb, words)
        if found.digest:
            facts.setdefault("digest", found.digest)
        return found.price.to_dict()

    # Releases.

    def looked_up(self, bearer: Bearer, wanted: Wanted) -> LookedUp:
        """Return a request as the books know it, and the answer that is stored for it already, if there is one.

        What can be refused is refused here.

        Args:
            bearer: who asks.
            wanted: what.

        """
        session, grant = self._planning(bearer, wanted.dataset), self._grant(bearer, wanted.dataset)
        planned = self._asked(session, wanted.verb, _with_usual(wanted.verb, wanted.words, grant))
        check_most(self.curator.ledger, grant, planned.loss)
        digest, name = planned.request.digest, session.dataset.name
        key = wanted.key or usual_key(planned.request, self._here.edition)
        asked = json.dumps({"verb": wanted.verb, "words": wanted.words}, sort_keys=True)
        ticket = Ticket(name, bearer.person.name, key, digest, asked)
        former = () if wanted.key else (former_key(planned.request, self._here.edition),)
        whose = None if self._shares else [bearer.person.name]
        for receipt in self.curator.ledger.answers_called(name, (key, *former), whose):
            is_mine = receipt.account.analyst == bearer.person.name
            if receipt.request_digest == digest and (is_mine or self._is_shared(receipt)):
                return LookedUp(ticket, receipt, self._here.changed)
        self._check_rows(bearer, wanted.dataset)
        return LookedUp(ticket, None, self._here.changed)

    def ticket(self, bearer: Bearer, name: str, job: str) -> Ticket:
        """Return a request of this person that they were told to come back for, by the name of its job."""
        registered = self._registered_now(bearer, name)
        row = self.curator.books.job(registered, bearer.person.name, job)
        if row is None or row.id != job or not row.asked:
            raise NotFound(f"no job of yours is called {job[:64]!r}")
        return Ticket(row.dataset, row.analyst, row.key, row.digest, row.asked)

    def wanted(self, ticket: Ticket, name: str) -> Wanted:
        """Return what a request asks for, as it came."""
        asked = json.loads(ticket.asked)
        verb, words = present_call(asked["verb"], asked["words"])
        return Wanted(name, verb, words, None if is_usual(ticket.key) else ticket.key)

    def entry_of(self, ticket: Ticket) -> int:
        """Return the number of the entry of a request's answer."""
        for receipt in self.curator.ledger.find_answers(ticket.key, ticket.dataset):
            if receipt.account.analyst == ticket.person:
                return receipt.entry
        raise NotFound("no stored answer of yours is called so")

    def release(
        self, bearer: Bearer, wanted: Wanted, pace: Pace | Strict | None = None, ticket: Ticket | None = None
    ) -> Receipt:
        """Debit, run and store a release, or find what is stored for its key.

        Args:
            bearer: who asks.
            wanted: what.
            pace: when the steps that others could see may be seen; None for at once.
            ticket: the request as it was looked up before; refused where the rows or what is declared have changed.

        """
        if not self.people.is_let_in(bearer):
            # A token that was revoked while its requests stood in line pays for none of them.
            raise NotYours(wanted.dataset)
        session, grant = self._session(bearer, wanted.dataset), self._grant(bearer, wanted.dataset)
        planned = self._asked(session, wanted.verb, _with_usual(wanted.verb, wanted.words, grant))
        check_most(self.curator.ledger, grant, planned.loss)
        key = wanted.key or usual_key(planned.request, self._here.edition)
        if ticket is not None and (ticket.key, ticket.digest) != (key, planned.request.digest):
            rule = "for the present rows and declarations, which changed after it was sent: send a new request"
            raise InvalidParameter("request", ticket.name, rule)
        with held(pace, planned.steps):
            return planned.carry_out(key)

    def answer(self, bearer: Bearer, name: str, entry: str) -> Receipt:
        """Return a stored answer of this person, by the number of its entry, its key or its place."""
        dataset = self._registered_now(bearer, name)
        for receipt in self.curator.ledger.find_answers(entry, dataset):
            if receipt.account.analyst == bearer.person.name or self._is_shared(receipt):
                return receipt
        raise NotFound(f"no stored answer of yours is called {entry[:64]!r}")

    def _is_shared(self, receipt: Receipt) -> bool:
        """Whether an answer is given to others of its data set: one that has a name of its own is its owner's."""
        return self._shares and is_usual(receipt.key)

    def releases(self, bearer: Bearer, name: str, after: int) -> dict[str, Any]:
        """Return what a person was answered about a data set, a page of it, from the oldest."""
        dataset = self._registered_now(bearer, name)
        acts = [act for act in history_of(self.curator.ledger, dataset) if act.number > after]
        mine = [act.to_dict() for act in acts if act.who == bearer.person.name and act.price is not None]
        return paged("releases", mine)

    # The books, for those who read them.

    def balances(self, after: str = "") -> dict[str, Any]:
        """Return what was spent of every data set, and what is left, by what each is called, a page of them."""
        ledger = self.curator.ledger
        found = {self.curator.called(name): name for name in ledger.datasets()}

        def told(name: str) -> dict[str, Any]:
            return {**balance_record(ledger.balance(name)), "dataset": self.curator.called(name)}

        return paged_by_name("balances", found, after, told)

    def entries(self, after: int) -> dict[str, Any]:
        """Return a page of the ledger's chain, from the oldest."""
        found: list[dict[str, Any]] = []
        for entry in self.curator.ledger.entries(after=after):
            found.append({"number": entry.number, "hash": entry.hash, "record": dict(entry.record)})
            if len(found) > PAGE:
                break
        return paged("entries", found)

    def verification(self) -> dict[str, Any]:
        """Walk the whole chain, and say whether anything contradicts itself."""
        found = self.curator.ledger.verify()
        return {**vars(found), "problems": list(found.problems), "is_intact": found.is_intact}

    # What outsiders check.

    @property
    def receipts(self) -> Log:
        """The tree of the ledger, and its key."""
        if self._log is None:
            self._log = Log(self.curator.ledger, self.curator.folder)
        return self._log

    def receipt(self, bearer: Bearer, name: str, entry: str) -> bytes:
        """Return the receipt of a stored answer of this person, as one text."""
        return receipt_text(self.receipts.receipt(self.answer(bearer, name, entry).entry)).encode()

    def published_receipt(self, number: str) -> bytes:
        """Return the receipt of an answer that everybody may see, or of a statement of sums, as one text."""
        shown = self.curator.published_entry(published_number(number))
        return receipt_text(self.receipts.published_receipt(shown)).encode()

    def ready(self) -> bool:
        """Whether the ledger can be read and is not behind its anchor, and the key that signs receipts is there."""
        ledger = self.curator.ledger
        try:
            _ = self.receipts.public_key
            return isinstance(ledger, Books) and ledger.contradiction() is None
        except (DitherError, OSError):
            return False

    # Sessions.

    def close(self) -> None:
        """Let go of the tables of all threads, which must have ended."""
        for kept in self._kept:
            while kept:
                kept.popitem()[1].close()

    def _grant(self, bearer: Bearer, name: str) -> Grant:
        return self._granted_now(bearer, name).grant

    def _granted_now(self, bearer: Bearer, name: str) -> _Granted:
        """Return what a person is granted of a data set, and how that stands."""
        asked, seen = (bearer.person.name, name), self.people.changes()
        known = self._terms.get(asked)
        if known is not None and known.seen == seen:
            return known
        # As much is read for a name that nothing has as for one of others.
        grants = self.people.grants(bearer.person.name)
        try:
            registered = self.curator.registered(name)
        except NotFound:
            raise NotYours(name) from None
        for grant in grants:
            if grant.dataset == registered:
                found = _Granted(seen, grant, self.curator.standing(registered))
                with self._remembering:
                    self._terms[asked] = found
                    while len(self._terms) > _TERMS:
                        self._terms.popitem(last=False)
                return found
        raise NotYours(name)

    def _registered_now(self, bearer: Bearer, name: str) -> str:
        """Return the name that the books have for a data set of a person: they stay when its rows are gone."""
        return self._grant(bearer, name).dataset

    def _declared(self, bearer: Bearer, name: str) -> DataSet:
        self._grant(bearer, name)
        return self.curator.dataset(name)

    def _check_rows(self, bearer: Bearer, name: str) -> None:
        """Refuse what is asked of a data set whose rows are gone."""
        if self._granted_now(bearer, name).standing.is_retired:
            raise DataSetRetired(name)

    def _session(self, bearer: Bearer, name: str) -> Session:
        """Return a session of this thread, in the name of the person; refused where the rows are gone."""
        session = self._planning(bearer, name)
        self._check_rows(bearer, name)
        return session

    def _planning(self, bearer: Bearer, name: str) -> Session:
        """Return a session of this thread, in the name of the person, to plan with: what is stored is still told."""
        learn_declared(self.curator.ledger, self.curator.folder)
        _, grant, standing = self._granted_now(bearer, name)
        kept: OrderedDict[tuple[Any, ...], Session] | None = getattr(self._here, "sessions", None)
        if kept is None:
            kept = self._here.sessions = OrderedDict()
            self._kept.append(kept)
        # Other rows, or another declaration, need another session; where there are no rows, none stay open.
        self._here.changed = self.changed(grant.dataset)
        mark = (grant.dataset, name, standing.edition, standing.is_retired, self._here.changed)
        # Read before the rows are opened: an answer is never kept for an edition that came later.
        self._here.edition = standing.edition
        session = kept.pop(mark, None) or self._opened(bearer, name, standing.is_retired)
        if standing.is_retired:
            for other in [one for one in kept if one[0] == grant.dataset]:
                kept.pop(other).close()
        kept[mark] = session
        while len(kept) > _KEPT:
            kept.popitem(last=False)[1].close()
        person = bearer.person.name
        # Tables are opened once for all people who ask about them.
        return session if session._account.analyst == person else _beside(session, person)

    def _opened(self, bearer: Bearer, name: str, is_retired: bool) -> Session:
        """Return a new session; tables are opened when they are needed, which are never those of a retired data set."""
        person = bearer.person.name
        try:
            if is_retired:
                return Session(self.curator, self.curator.dataset(name), analyst=person, called=name)
            return self.curator.session(name, analyst=person)
        except NotFound:
            # Its declaration is gone: the owner is told beside it which others there are.
            raise NotYours(name) from None

    def changed(self, registered: str) -> int:
        """Return what changes when a data set is added anew.

        Args:
            registered: the name that it is registered with.

        """
        try:
            return os.stat(self._declarations / f"{registered}.yaml").st_mtime_ns
        except OSError:
            return 0

    def _granted(self, grant: Grant) -> dict[str, Any]:
        return {"dataset": self.curator.called(grant.dataset), **terms_record(grant)}


def desk_of(curator: Curator, settings: Settings) -> Desk:
    """Return the desk of a folder, as the settings of its service say.

    Args:
        curator: the folder.
        settings: of the service.

    """
    named = NamedRows(tuple(map(Path, settings.roots)), settings.databases)
    shares = settings.answers == "team"
    limits = {"largest_table": settings.largest_table, "planning_seconds": settings.planning_seconds}
    return Desk(curator, shares_answers=shares, named=named, **limits)


def _beside(session: Session, analyst: str) -> Session:
    """Return a session of another analyst on the same tables; both take turns."""
    other = copy.copy(session)
    other._account = Account(session.dataset.name, analyst)
    return other


def _stage(standing: Standing) -> str:
    """Return where in its life a data set is."""
    return RETIRED if standing.is_retired else standing.stage


def balance_record(balance: Balance) -> dict[str, Any]:
    """Return a balance as plain data."""
    losses = {name: getattr(balance, name).to_dict() for name in ("budget", "spent", "reserved", "left")}
    plain = ("dataset", "analyst", "unit", "releases", "waiting", "sealed")
    most = None if balance.most is None else balance.most.to_dict()
    return {**{name: getattr(balance, name) for name in plain}, **losses, "most": most}


def _call(body: Mapping[str, Any], verbs: tuple[str, ...]) -> tuple[str, Mapping[str, Any]]:
    """Return the verb that a body names, as it is called today, and its arguments."""
    said = body.get("verb")
    verb, words = present_call(said, _words(body)) if isinstance(said, str) else ("", {})
    if verb not in verbs:
        raise InvalidParameter("verb", said, f"one of {', '.join(verbs)}")
    return verb, words


def _words(body: Mapping[str, Any]) -> Mapping[str, Any]:
    words = body.get("words", {})
    if not isinstance(words, dict):
        raise InvalidParameter("words", type(words).__name__, "an object: the arguments of the verb, by name")
    return words


def _with_usual(verb: str, words: Mapping[str, Any], grant: Grant) -> Mapping[str, Any]:
    """Return the words with the loss that the grant has for requests that state none."""
    return words if grant.usual is None or states_loss(verb, words) else with_loss(verb, words, grant.usual)


def wanted_of(dataset: str, body: Mapping[str, Any], key: str | None) -> Wanted:
    """Return a release as a body asks for it."""
    check_fields(body, ("verb", "words"))
    return Wanted(dataset, *_call(body, released_verbs()), key)
