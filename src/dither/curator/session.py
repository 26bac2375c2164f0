"""A session: one analyst asks about one data set, and every answer is paid for in the ledger.

The order never changes: read the request, price it without the data, open the tables (names and types only), debit the
ledger durably, run the mechanism, store the answer durably, return it. Before the first random bit the ledger is told
durably that noise is drawn. Whatever fails before the debit costs nothing; whatever fails after it keeps the debit and
says one fixed text; whatever fails after the draw is never drawn again. What drew no noise is not stored. A process
that dies after the draw leaves a request that resumes with the same noise, where that is possible (``resuming``), and
is sealed otherwise. What other modules may do with a session is in ``access``.
"""

from __future__ import annotations

import contextlib
import copy
import uuid
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, overload

from dither.curator.access import Run, place_in_books
from dither.curator.auto_clamp import InTurn
from dither.curator.card import Card, release_card
from dither.curator.continuing import Continuing
from dither.curator.drawing import Drawing
from dither.curator.governing import refuse_in_turn, refuse_not_open
from dither.curator.html import session_html
from dither.curator.ledger import Account, Balance, Receipt, Stored
from dither.curator.ledger.interface import Reservation
from dither.curator.owner_views import ForOwner
from dither.curator.pictures import spending
from dither.curator.price import Price, Room, requested, room_for, saying_what_is_left
from dither.curator.request import Request
from dither.curator.resuming import ResumableNoise, can_resume
from dither.curator.timing_gate import draws_first, wait_for
from dither.data.closing import Closing
from dither.data.engines import Engine, connect
from dither.data.schema import DataSet
from dither.errors import (
    BudgetExceeded,
    DitherError,
    EarlierEdition,
    InvalidParameter,
    NoGuarantee,
    ReleaseFailed,
    RequestSealed,
)
from dither.exact import Number
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER
from dither.lift.trusted import checked_mechanism
from dither.lift.verb import LEVEL, LOSSES, Released, Verb, spelled_out
from dither.mechanisms.core.guard import Guard
from dither.mechanisms.core.release import before_first_draw
from dither.privacy import Loss, stated_loss
from dither.publish.queries import Query, QueryResult, Quote, loss_for_error, quote
from dither.publish.queries.builder import Groups, Rows, table
from dither.publish.queries.found_clamps import USUAL_SHARE, found_clamps
from dither.publish.queries.reports.report import Report
from dither.publish.queries.sql import agreed_loss, parse_statement
from dither.verbs import answers, reports
from dither.verbs.answers import Quoting
from dither.verbs.every_verb import EveryVerb
from dither.verbs.offers import Offers

if TYPE_CHECKING:
    from dither.curator.folder import Curator
    from dither.lift.source import Source
    from dither.mechanisms.core.mechanism import Mechanism

T = TypeVar("T")
#: How keys of ranges begin, which no person has chosen.
_OF_RANGES: Final = "auto-"


class Session(Continuing, ForOwner, EveryVerb[Released], Closing):
    """Private answers about one data set, charged to the ledger of its curator. Threads that share one take turns.

    What it gives:

    - answers: ``sql``, ``ask``, ``ask_parts``, ``ask_kept``;
    - facts that nobody has declared: ``bounds`` of a column, ``limits`` of a person;
    - tables of counts: ``histogram``, ``workload``, ``marginals``; ``count``, to a relative accuracy;
    - tables of rows: ``synthesize``, ``synthesize_families``, ``anonymize``;
    - models: ``fit``;
    - numbers that go on being released, tick by tick: ``stream``;
    - any number of counting questions for one price: ``conversation``;
    - questions about public parts of the rows, one after the other, for the price of one part: ``parts``;
    - graphs: ``graph``, whose edges, triangles, stars and degrees are released, and a synthetic graph;
    - places: ``places``, of which heat maps, flows and synthetic journeys are released;
    - anything else: ``release`` takes any registered mechanism, over any declared source.

    ``offer`` has the same verbs and makes offers in place of releases; ``quote`` prices any of them, without opening
    the data.
    """

    def __init__(
        self,
        curator: Curator,
        dataset: DataSet,
        *,
        analyst: str,
        frames: Mapping[str, Any] | None = None,
        called: str | None = None,
    ) -> None:
        self._curator = curator
        self.dataset = dataset
        #: What the data set is called; the books, and its own record, keep the name that it is registered with.
        self._called = dataset.name if called is None else called
        # What is public was declared once: a copy that nothing else holds, to compare with.
        self._declared = copy.deepcopy(dataset)
        self._offers = Offers(dataset)
        self._account = Account(dataset.name, analyst)
        self._frames = frames
        #: The opened tables, which a copy for another analyst shares.
        self._tables: list[Engine] = []
        #: Told of each answer that was stored before, and costs nothing further.
        self._on_repeat: Callable[[Receipt], None] | None = None
        #: Told, before a charge, of the key under which the same request is stored; it may raise to stop the charge.
        self._on_same: Callable[[str], None] | None = None
        # An engine answers one statement after another: of two threads at once, one would get the other's rows. A
        # signal handler does not wait for what it interrupted, and is refused.
        self._alone = Guard("a statement of this session")

    @property
    def offer(self) -> Offers:
        """What could be released, verb by verb: ``session.quote(session.offer.histogram("visits", "age"))``."""
        self._offers.dataset = self.dataset
        return self._offers

    def balance(self) -> Balance:
        """Return what this analyst has spent and may still spend."""
        found = self._curator.ledger.balance(self.dataset.name, self._account.analyst)
        return replace(found, dataset=self._called)

    def card(self) -> Card:
        """Return the release card of the data set: what is promised, spent and released, from public facts alone."""
        ledger, name = self._curator.ledger, self.dataset.name
        return Card(release_card(self.dataset, ledger), lambda: spending(ledger, name))

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.dataset.tables)
        verbs = "sql, histogram, synthesize, fit, ..."
        return f"<Session of {self._account.analyst} on {self._called} ({tables}): {verbs}>"

    def _repr_html_(self) -> str:
        return session_html(self)

    def close(self) -> None:
        """Let go of the tables."""
        with self._alone:
            while self._tables:
                self._tables.pop().close()

    def _do(self, verb: Verb[..., Any], arguments: dict[str, Any]) -> Any:
        """Release what a declared verb offers."""
        if verb.name == "sql":
            return self._sql(**arguments)
        with saying_what_is_left(self.balance):
            offer: Offer[Any] = self.offer._do(verb, arguments)
        return self._read(offer, self._receipt(offer))

    def _sql(self, text: str, *, auto_share: Number = USUAL_SHARE, **how: Any) -> Any:
        """Release the answer to a query; its price where the text explains; after its ranges where it has AUTO."""
        statement = parse_statement(text)
        if statement.is_explained:
            asked = {name: value for name, value in how.items() if name not in ("key", "confidence")}
            return self.quote(text, **asked, auto_share=auto_share)
        self._check_text(statement.sql)
        clamps = None if self._answers_by_offers else found_clamps(statement.sql, self.dataset)
        with saying_what_is_left(self.balance):
            if clamps is None:
                return self.release(self.offer.sql(text, **how))
            named = {"key": how.pop("key", None), "confidence": how.pop("confidence", LEVEL)}
            how["threshold_share"] = answers.one_share(statement, how.get("threshold_share"))
            turns = InTurn.of(self.dataset, clamps, how, auto_share=auto_share, **named)
        return self._released_in_turn(turns)

    def _released_in_turn(self, turns: InTurn) -> QueryResult:
        receipt, read = self._receipt_in_turn(turns)
        return read(receipt.answer, place_in_books(self, receipt))

    def _receipt_in_turn(self, turns: InTurn) -> tuple[Receipt, Callable[[bytes, str], QueryResult]]:
        """Release the ranges, then the query with them, of which the loss is debited before a range is found."""
        self._check_declared()
        ledger = self._curator.ledger
        refuse_in_turn(ledger, self._account)
        for one in turns.planned:
            self._check_offer(one)
        is_known = ledger.known_digest(self._account, turns.key) is not None
        if not is_known and not ledger.would_admit(self._account, turns.loss):
            refuse_not_open(ledger, self._account)
            balance = self.balance()
            fits = ledger.what_would_fit(self._account, turns.loss)
            raise BudgetExceeded(turns.loss, balance.spent, balance.budget, f"; {balance.left} is left; {fits}")
        trial = turns.trial
        run = Run(self._request_in_turn(turns), turns.asking, trial.mechanism, trial.present)
        held, engine = self._reserved(run, turns.key)
        if isinstance(held, Stored):
            return held.receipt, trial.read
        is_found = False
        try:
            offer, present = turns.after([self._read(one, self._answered(one)) for one in turns.finding])
            self._check_offer(offer)
            is_found = True
        except DitherError as problem:
            if not isinstance(problem, ReleaseFailed | RequestSealed):
                # What it says of a key is about that of a range, which nobody has chosen.
                stays = f"{turns.asking} stays debited for the answer"
                problem.__notes__ = [f"{stays}: retry with key={turns.key!r} to continue at no additional cost"]
            raise
        finally:
            if not is_found:
                ledger.abandon(held)  # it stays debited, and the same key goes on
        run = replace(run, mechanism=offer.mechanism, stored=present)
        return self._carried_out(held, engine, run), offer.read

    def _request_in_turn(self, turns: InTurn) -> Request:
        """Return what is asked by a query and its ranges together, as the ledger compares it."""
        return replace(self._request_of(turns.trial), asked=turns.asked, loss=turns.stated)

    @overload
    def release(self, what: Offer[T], /) -> T: ...
    @overload
    def release(self, what: Mechanism[Any, T], source: Source[Any], /, *, key: str | None = None) -> T: ...
    def release(self, what: Any, source: Source[Any] | None = None, /, *, key: str | None = None) -> Any:
        """Release an offer, or what a registered mechanism makes of a declared source.

        Args:
            what: an offer of this session, or a mechanism.
            source: what the mechanism is given; left out for an offer.
            key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.

        """
        offer = self.offer.method(what, source, key=key) if source is not None else what
        if not isinstance(offer, Offer) or (source is None and key is not None):
            raise InvalidParameter("what", what, "an offer with its own key, or a mechanism and a source")
        return self._read(offer, self._receipt(offer))

    def _read(self, offer: Offer[T], receipt: Receipt) -> T:
        return offer.read(receipt.answer, place_in_books(self, receipt))

    def _receipt(self, offer: Offer[Any], *, key: str | None = None) -> Receipt:
        """Return the stored answer of an offer that this session has made, and where it was charged."""
        self._check_made(offer)
        return self._answered(offer, key)

    def _check_made(self, offer: Offer[Any]) -> None:
        """Refuse an offer that a caller put together: the very object is looked for, and not one that is equal."""
        if not self._offers.has_made(offer):
            raise InvalidParameter("what", offer.verb, "an offer that this session's own ``offer`` has made")

    def _answered(self, offer: Offer[Any], key: str | None = None) -> Receipt:
        """Return the stored answer of an offer, having refused what can be refused before it costs anything."""
        offer.check_released()
        try:
            self._check_declared()
            self._check_offer(offer)
            run = Run(self._request_of(offer), offer.loss, offer.mechanism, offer.present, offer.spent)
            return self._charged(run, offer.key if key is None else key)
        except BaseException:
            offer.forget()
            raise

    @overload
    def quote(self, what: Offer[Any], /) -> Price: ...
    @overload
    def quote(self, what: str | Query | Groups | Report, /, **how: Unpack[Quoting]) -> Quote: ...
    @spelled_out
    def quote(self, what: str | Query | Groups | Report | Offer[Any], /, **how: Unpack[Quoting]) -> Quote | Price:
        """Return what a query or any offer would cost, and how far it would err where that is known.

        From public facts alone: the data stays closed and nothing is charged.

        Args:
            what: a query, or an offer: ``session.quote(session.offer.synthesize("visits", epsilon=1))``.
            how: of a query: its loss, and ``noise``, ``shares``, ``threshold_share``, ``quantiles`` and
                ``auto_share`` as ``sql`` takes them. The price of a query with ``CLAMP(x, AUTO)`` is that of all its
                releases together; its error follows once the ranges are found.

        """
        self._check_declared()
        if isinstance(what, Offer):
            room = self._room_for(what.loss)
            words, is_at_most = self._request_of(what).summary or what.verb, what.spent is not None and room.takes_back
            unit, expected = what.unit or str(self.dataset.protected), what.expected
            error = expected if isinstance(expected, str) else expected()
            stated = requested(what.loss, what.stated)
            return Price(words, what.loss, unit, room.left, room.fits, is_at_most, error, room.after, stated)
        if self._answers_by_offers:
            # Where a table has a unit of its own, a query is an offer like any other.
            asked_with: Any = self.offer.sql if isinstance(what, str) else self.offer.ask
            with saying_what_is_left(self.balance):
                offer: Offer[Any] = asked_with(what, **how)
            return self.quote(offer)
        said: Any = {name: how.get(name) for name in LOSSES}
        threshold_share = how.get("threshold_share")
        if any(word is not None for word in said.values()):
            stated_loss(**said)
        clamps, text = None, ""
        if isinstance(what, str):
            statement = parse_statement(what)
            text = statement.sql
            self._check_text(text)
            clamps = found_clamps(text, self.dataset)
            threshold_share = answers.one_share(statement, threshold_share)
        ways: dict[str, Any] = {"noise": how.get("noise", "auto"), "shares": how.get("shares")}
        ways |= {"threshold_share": threshold_share, "quantiles": how.get("quantiles", "auto")}
        if clamps is not None:
            with saying_what_is_left(self.balance):
                stated = agreed_loss(text, **said)
            turns = InTurn.of(
                self.dataset, clamps, {"loss": stated, **ways}, auto_share=how.get("auto_share", USUAL_SHARE)
            )
            room = self._room_for(turns.loss)
            protected = str(self.dataset.unit)
            return Price(turns.words, turns.loss, protected, room.left, room.fits, after=room.after)
        asked = answers.read_request(self.dataset, what)
        with saying_what_is_left(self.balance):
            stated = reports.loss_of_request(asked, said, text)
        if self.dataset.members > 1:
            from dither.verbs.declared_groups import quote_of_group

            quoted = quote_of_group(self.dataset, asked, stated, ways)
        else:
            quoted = (
                reports.quoted(asked, stated, **ways) if isinstance(asked, Report) else quote(asked, stated, **ways)
            )
        room = self._room_for(quoted.loss, is_counted=True)
        return replace(quoted, left=room.left, affordable=room.releases, after=room.after or None)

    @property
    def _answers_by_offers(self) -> bool:
        """Whether the unit is that of a kind of data whose queries are priced as offers."""
        return self.dataset.own_kind is not None and self.dataset.own_kind.answers_by_offers

    def _check_text(self, text: str) -> None:
        """Refuse a query that would be priced for one member where groups are protected."""
        if self.dataset.members > 1:
            from dither.verbs.declared_groups import check_group_text

            check_group_text(self.dataset, text)

    def _room_for(self, loss: Loss, *, is_counted: bool = False) -> Room:
        """Return what this analyst may still spend, and whether a release of a loss fits, or how many do."""
        return room_for(self._curator.ledger, self._account, loss, is_counted=is_counted)

    def loss_for_error(
        self,
        query: str | Query | Groups,
        column: str,
        error: Number,
        *,
        rows: int | None = None,
        delta: Number | None = None,
    ) -> Loss:
        """Return the least loss at which a column errs by at most ``error``, 95 times of 100.

        Args:
            query: what would be asked.
            column: the name of an aggregate.
            error: absolute, in the unit that the quote names.
            rows: for means and the like, in groups of how many rows.
            delta: where groups are discovered.

        """
        if self.dataset.members > 1:
            rule = "not offered where the data set declares groups: quote the query at several losses"
            raise InvalidParameter("query", self.dataset.name, rule)
        return loss_for_error(answers.read_query(self.dataset, query), column, error, rows=rows, delta=delta)

    def table(self, name: str) -> Rows:
        """Return the builder of queries over a table: ``session.ask(session.table("visits").count(), epsilon=1)``."""
        self.dataset.table(name)
        return table(name)

    def _open(self) -> Engine:
        """Open the tables and compare them with what is declared; reads names and types, never values."""
        if not self._tables:
            dataset = self._curator.as_read(self.dataset, self._frames)
            engine = connect(dataset, folder=self._curator.folder, frames=self._frames, are_read=True)
            engine.check()
            self._tables.append(engine)
        return self._tables[0]

    def _charged(self, run: Run, key: str | None) -> Receipt:
        """Debit, run, store; or return what was stored for the same key."""
        held, engine = self._reserved(run, key)
        return held.receipt if isinstance(held, Stored) else self._carried_out(held, engine, run)

    def _check_offer(self, offer: Offer[Any]) -> None:
        """Refuse what can be refused before it costs anything."""
        self._check_public_facts(offer)
        with self._alone:
            for aggregation in offer.mechanism.aggregations():
                self._open().prepare(aggregation)
            offer.mechanism.check_public(self._open())

    def _check_public_facts(self, offer: Offer[Any]) -> None:
        """Refuse what is not about this data set, or has no proof that the curator accepts."""
        checked_mechanism(offer.mechanism)
        if offer.mechanism.distance != self.dataset.protected:
            raise InvalidParameter("offer", str(offer.mechanism.distance), f"about {self.dataset.protected}")
        if offer.is_idealised and not self._curator.settings.allow_idealised:
            raise NoGuarantee("the proof is over the reals only; the curator may allow that in dither.yaml")

    def _warn_of_edition(self, receipt: Receipt) -> None:
        """Say so where a stored answer is about rows that others have taken the place of."""
        standing = self._curator.standing(self.dataset.name)
        if receipt.entry < standing.since:
            text = (
                f"key {receipt.key!r} was answered before edition {standing.edition} of {self._called} was added: this "
                "answer is about the rows before it; to ask about the present ones, choose a new key"
            )
            warnings.warn(EarlierEdition(text), stacklevel=2)

    def _request_of(self, offer: Offer[Any]) -> Request:
        """Return what is asked, as the ledger compares it."""
        return Request(self.dataset.name, offer.verb, offer.asked, offer.stated, offer.words)

    def _check_declared(self) -> None:
        """Refuse a data set that was changed by force: prices follow from it."""
        if self.dataset != self._declared:
            raise InvalidParameter("dataset", self.dataset.name, "the data set as the session was opened with it")

    def _reserved(self, run: Run, key: str | None) -> tuple[Reservation | Stored, Engine]:
        """Debit a loss, or find the answer that it was debited for; return with it the opened tables."""
        with self._alone:
            engine = self._open()
            # Files that are no longer those that were opened are refused here, before the charge.
            engine.check()
        name = uuid.uuid4().hex if key is None else key
        resumes = can_resume(self._curator, self.dataset, self._frames, run)
        words, digest = run.request.summary, run.request.digest
        self._tell_of_same(name, digest)
        held = self._curator.ledger.reserve(self._account, name, digest, run.loss, description=words, resumes=resumes)
        if isinstance(held, Stored):
            self._warn_of_edition(held.receipt)
            if self._on_repeat is not None:
                self._on_repeat(held.receipt)
        return held, engine

    def _tell_of_same(self, name: str, digest: str) -> None:
        """Say, before anything is charged, that the same request about the same rows is stored under another key."""
        ledger = self._curator.ledger
        if self._on_same is None or ledger.known_digest(self._account, name) is not None:
            return
        since = self._curator.standing(self.dataset.name).since
        for key, known, _ in ledger.latest_answered(self._account, but=_OF_RANGES, after=since):
            if known == digest:
                self._on_same(key)
                return

    def _carried_out(self, held: Reservation, engine: Engine, run: Run) -> Receipt:
        """Run what was debited, and store its answer: the only way from private rows to one."""
        ledger, name = self._curator.ledger, held.key
        noise = None
        if can_resume(self._curator, self.dataset, self._frames, run):
            noise = ResumableNoise(self._curator, self.dataset, run)
        drawing = Drawing(ledger, held, noise)
        try:
            answer: bytes | None = None
            lost: Loss | None = None
            # Why it fails may depend on private rows: what was raised goes nowhere.
            with (
                contextlib.suppress(Exception),
                self._alone,
                engine.at_one_moment(),
                before_first_draw(drawing.drew),
            ):
                if draws_first():
                    drawing.begin()
                answer = run.carry_out(engine, drawing.words)
                lost = None if run.spent is None else run.spent(answer)
            if not drawing.has_drawn and not run.may_draw_nothing:
                # No mechanism has drawn: what is there is no release. That none has does not depend on rows.
                answer = None
            wait_for("store")
            if answer is not None and len(answer) <= LARGEST_ANSWER:
                return drawing.complete(answer, lost)
            failure = drawing.failure()
        except DitherError as problem:
            # What hangs on it may quote the answer, which is nobody's as long as it is not stored.
            failure = problem.with_traceback(None)
            failure.__context__ = failure.__cause__ = None
            if not isinstance(failure, RequestSealed | ReleaseFailed):
                failure.add_note(f"retry with key={name!r} to find out whether the answer was stored")
        finally:
            # Who waits for this request goes on at once.
            ledger.abandon(held)
            answer = None
        # Raised outside of any handler, so that no context hangs on it.
        raise failure
