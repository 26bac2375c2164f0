"""A session: one analyst asks about one data set, and every answer is paid for in the ledger.

The order never changes: read the request, price it without the data, open the tables (names and types only), debit the
ledger durably, run the mechanism, store the answer durably, return it. Before the first random bit the ledger is told
durably that noise is drawn. Whatever fails before the debit costs nothing; whatever fails after it keeps the debit and
says one fixed text; whatever fails after the draw, the death of the process included, is never drawn again.
"""

from __future__ import annotations

import contextlib
import copy
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, overload

from dither.curator.card import Card, release_card
from dither.curator.ledger import OWNER, Account, Balance, Ledger, Receipt, Stored
from dither.curator.ledger.interface import MOST_ATTEMPTS, Reservation
from dither.curator.offers import (
    Offers,
    anonymous_tables,
    answers,
    count_tables,
    found_facts,
    models,
    reports,
    synthetic_tables,
)
from dither.curator.offers.rows import rows_of
from dither.curator.offers.signatures import without_dataset
from dither.curator.pictures import spending
from dither.curator.price import Price
from dither.curator.request import Request
from dither.curator.shown import session_html
from dither.data.closing import Closing
from dither.data.engines import Engine, connect
from dither.data.schema import DataSet
from dither.errors import (
    DitherError,
    EarlierEdition,
    EngineFailure,
    HandleMisuse,
    InvalidParameter,
    LedgerUnavailable,
    LossNotStated,
    NoGuarantee,
    ReleaseFailed,
    RequestSealed,
)
from dither.exact import Number
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER
from dither.lift.trusted import checked_mechanism
from dither.mechanisms import perform
from dither.mechanisms.core.release import before_first_draw
from dither.privacy import Loss, stated_loss
from dither.publish.queries import Query, QueryResult, Quote, loss_for_error, quote
from dither.publish.queries.builder import Groups, Rows, table
from dither.publish.queries.reports.report import Report
from dither.publish.queries.result import UNLEDGERED
from dither.publish.queries.sql import parse_statement

if TYPE_CHECKING:
    from dither.curator.folder import Curator
    from dither.lift.source import Source
    from dither.mechanisms.core.mechanism import Mechanism
    from dither.pages.frame import Chart
    from dither.publish.synthetic import SyntheticFamilies, SyntheticTable
    from dither.publish.synthetic.quality import Quality

#: More releases are not counted beforehand.
MOST_AFFORDABLE: Final = 1024
P = ParamSpec("P")
T = TypeVar("T")


def _released(make: Callable[Concatenate[DataSet, P], Offer[T]]) -> Callable[Concatenate[Session, P], T]:
    """Return the verb that releases what a function offers."""

    @wraps(make)
    def release(self: Session, /, *words: P.args, **options: P.kwargs) -> T:
        with self._saying_what_is_left():
            offer = make(self.dataset, *words, **options)
        return self._read(offer)

    return without_dataset(release, make, first_word="Release")


class Session(Closing):
    """Private answers about one data set, charged to the ledger of its curator. Threads that share one take turns.

    What it gives:

    - answers: ``sql``, ``ask``, ``ask_parts``, ``ask_kept``;
    - facts that nobody has declared: ``bounds`` of a column, ``limits`` of a person;
    - tables of counts: ``histogram``, ``workload``, ``marginals``;
    - tables of rows: ``synthesize``, ``synthesize_families``, ``anonymize``;
    - models: ``fit``;
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
        self.curator = curator
        self.dataset = dataset
        #: What the data set is called; the books, and its own record, keep the name that it is registered with.
        self.called = dataset.name if called is None else called
        # What is public was declared once: a copy that nothing else holds, to compare with.
        self._declared = copy.deepcopy(dataset)
        self._offers = Offers(dataset)
        self.account = Account(dataset.name, analyst)
        self._frames = frames
        self._engine: Engine | None = None
        # An engine answers one statement after another: of two threads at once, one would get the other's rows.
        self._turn, self._is_busy = threading.RLock(), False

    @property
    def offer(self) -> Offers:
        """What could be released, verb by verb: ``session.quote(session.offer.histogram("visits", "age"))``."""
        self._offers.dataset = self.dataset
        return self._offers

    def balance(self) -> Balance:
        """Return what this analyst has spent and may still spend."""
        found = self.curator.ledger.balance(self.dataset.name, self.account.analyst)
        return replace(found, dataset=self.called)

    def spending(self) -> Chart:
        """Return the losses of all releases of the data set, added up in their order, as a picture."""
        return spending(self.curator.ledger, self.dataset.name)

    def card(self) -> Card:
        """Return the release card of the data set: what is promised, spent and released, from public facts alone."""
        return Card(release_card(self.dataset, self.curator.ledger))

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.dataset.tables)
        verbs = "sql, histogram, synthesize, fit, ..."
        return f"<Session of {self.account.analyst} on {self.called} ({tables}): {verbs}>"

    def _repr_html_(self) -> str:
        return session_html(self)

    def close(self) -> None:
        """Let go of the tables."""
        with self._alone():
            if self._engine is not None:
                self._engine.close()
                self._engine = None

    ask = _released(answers.ask)
    ask_parts = _released(answers.ask_parts)
    ask_kept = _released(anonymous_tables.ask_kept)
    bounds = _released(found_facts.bounds)
    limits = _released(found_facts.limits)
    histogram = _released(count_tables.histogram)
    workload = _released(count_tables.workload)
    marginals = _released(count_tables.marginals)
    synthesize = _released(synthetic_tables.synthesize)
    synthesize_families = _released(synthetic_tables.synthesize_families)
    anonymize = _released(anonymous_tables.anonymize)
    fit = _released(models.fit)

    def sql(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        loss: Loss | None = None,
        key: str | None = None,
        noise: str = "auto",
        shares: Mapping[str, Number] | None = None,
        threshold_share: Number | None = None,
        confidence: Number = "0.95",
    ) -> QueryResult:
        """Release the private answer to a query.

        The text ``EXPLAIN PRIVACY SELECT ...`` gives the price in place of the answer, a ``Quote``, which the type of
        this verb does not show: programs that are checked for types call ``quote``.

        Args:
            text: one SELECT; see docs/sql.md for what can be asked.
            epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded; needed when groups are to be discovered.
            rho: a loss in zero-concentrated differential privacy: Gaussian noise.
            loss: what the release may lose as a record, in place of these three.
            key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
            noise: "laplace", "gaussian", or "auto" for whichever errs less.
            shares: how the loss is divided among the aggregates, by output name; by default so that expected errors
                are equal shares of the declared ranges.
            threshold_share: where groups are discovered, the share of the loss that decides which are shown; in SQL
                ``OPTION (THRESHOLD_SHARE = 0.4)`` at the end.
            confidence: the level of the intervals.

        """
        how: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "loss": loss, "noise": noise}
        how |= {"shares": shares, "threshold_share": threshold_share}
        if parse_statement(text).is_explained:
            priced: Any = self.quote(text, **how)
            return priced  # type: ignore[no-any-return]
        with self._saying_what_is_left():
            offer = self.offer.sql(text, **how, key=key, confidence=confidence)
        return self.release(offer)

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
        if not self._offers.has_made(offer):
            raise InvalidParameter("what", offer.verb, "an offer that this session's own ``offer`` has made")
        return self._read(offer)

    @contextlib.contextmanager
    def _saying_what_is_left(self) -> Iterator[None]:
        """Say what is left, where nobody said what a release may lose."""
        try:
            yield
        except LossNotStated as refusal:
            raise LossNotStated(refusal.parameter, self.balance().left) from None

    def _read(self, offer: Offer[T]) -> T:
        receipt = self._charged(offer)
        is_durable = self.curator.ledger.is_durable
        return offer.read(receipt.answer, place_of(receipt) if is_durable else UNLEDGERED)

    @overload
    def quote(self, what: Offer[Any], /) -> Price: ...
    @overload
    def quote(
        self,
        what: str | Query | Groups | Report,
        /,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        loss: Loss | None = None,
        noise: str = "auto",
        shares: Mapping[str, Number] | None = None,
        threshold_share: Number | None = None,
    ) -> Quote: ...
    def quote(
        self,
        what: str | Query | Groups | Report | Offer[Any],
        /,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        loss: Loss | None = None,
        noise: str = "auto",
        shares: Mapping[str, Number] | None = None,
        threshold_share: Number | None = None,
    ) -> Quote | Price:
        """Return what a query would cost and how far it would err, or what any offer would cost.

        From public facts alone: the data stays closed and nothing is charged.

        Args:
            what: a query, or an offer: ``session.quote(session.offer.synthesize("visits", epsilon=1))``.
            epsilon: of a query: what it may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: of a query: the probability that the epsilon bound may be exceeded.
            rho: of a query: a loss in zero-concentrated differential privacy.
            loss: of a query, in place of the three above.
            noise: of a query: "laplace", "gaussian", or "auto".
            shares: of a query: how the loss is divided among the aggregates.
            threshold_share: of a query whose groups are discovered: the share of the loss that decides which are shown.

        """
        self._check_declared()
        if isinstance(what, Offer):
            fits, left = self.curator.ledger.would_admit(self.account, what.loss), str(self.balance().left)
            return Price(self._request(what).summary or what.verb, what.loss, str(self.dataset.unit), left, fits)
        how: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "loss": loss}
        if any(word is not None for word in how.values()):
            stated_loss(**how)
        if isinstance(what, str):
            threshold_share = answers.one_share(parse_statement(what), threshold_share)
        asked = answers.read_request(self.dataset, what)
        with self._saying_what_is_left():
            stated = reports.loss_of(asked, **how)
        ways: dict[str, Any] = {"noise": noise, "shares": shares, "threshold_share": threshold_share}
        quoted = reports.quoted(asked, stated, **ways) if isinstance(asked, Report) else quote(asked, stated, **ways)
        return replace(quoted, left=str(self.balance().left), affordable=self._affordable(quoted.loss))

    def _affordable(self, loss: Loss) -> int:
        """Return how many releases of a loss would be admitted one after another, up to a thousand."""

        def fits(many: int) -> bool:
            try:
                return self.curator.ledger.would_admit(self.account, loss.times(many))
            except InvalidParameter:
                return False  # more than any budget: deltas of 1 and more promise nothing
            except NoGuarantee:
                return False

        low, high = 0, 1
        while high <= MOST_AFFORDABLE and fits(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return min(low, MOST_AFFORDABLE)

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
        return loss_for_error(answers.read_query(self.dataset, query), column, error, rows=rows, delta=delta)

    def table(self, name: str) -> Rows:
        """Return the builder of queries over a table: ``session.ask(session.table("visits").count(), epsilon=1)``."""
        self.dataset.table(name)
        return table(name)

    def compare_synthetic(
        self, synthetic: SyntheticTable, *, where: str | None = None, target: str | None = None
    ) -> Quality:
        """Return how a synthetic table compares with the real rows. NOT PRIVATE: for the curator's eyes only.

        Nothing is charged because nothing here may be published. It reads rows without a mechanism, so it is refused
        to every analyst but the curator.

        Args:
            synthetic: what ``synthesize`` returned for a table of this data set.
            where: the condition on the rows that it was made with.
            target: the column that a classifier is trained to predict.

        """
        from dither.curator.comparing import compare

        check_owner(self.account.analyst, "a comparison with real rows")
        source = rows_of(self.dataset, synthetic.table, where)
        with self._alone():
            return compare(self._open(), self.dataset, source, synthetic, target=target)

    def compare_families(self, families: SyntheticFamilies) -> tuple[Quality, Quality]:
        """Return how both tables of synthetic families compare with real rows. NOT PRIVATE: for the curator alone."""
        from dither.curator.comparing import compare_families

        check_owner(self.account.analyst, "a comparison with real rows")
        with self._alone():
            return compare_families(self._open(), self.dataset, families)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for one's turn at the tables; a signal handler does not wait for what it interrupted, and is refused."""
        with self._turn:
            if self._is_busy:
                raise HandleMisuse("this session is in the midst of a statement: ask again when it is done")
            self._is_busy = True
            try:
                yield
            finally:
                self._is_busy = False

    def _open(self) -> Engine:
        """Open the tables and compare them with what is declared; reads names and types, never values."""
        if self._engine is None:
            dataset = self.curator.as_read(self.dataset, self._frames)
            engine = connect(dataset, folder=self.curator.folder, frames=self._frames)
            engine.check()
            self._engine = engine
        return self._engine

    def _charged(self, offer: Offer[Any]) -> Receipt:
        """Return the stored answer of an offer, having refused what can be refused before it costs anything."""
        self._check_declared()
        checked_mechanism(offer.mechanism)
        if offer.mechanism.distance != self.dataset.unit:
            raise InvalidParameter("offer", str(offer.mechanism.distance), f"about {self.dataset.unit}")
        if offer.is_idealised and not self.curator.settings.allow_idealised:
            raise NoGuarantee("the proof is over the reals only; the curator may allow that in dither.yaml")
        request = self._request(offer)
        with self._alone():
            for aggregation in offer.mechanism.aggregations():
                self._open().prepare(aggregation)
            offer.mechanism.check_public(self._open())

        def run(engine: Engine) -> bytes:
            return offer.present(perform(offer.mechanism, engine))

        return self._release(request, offer.loss, run, offer.key)

    def _warn_of_edition(self, receipt: Receipt) -> None:
        """Say so where a stored answer is about rows that others have taken the place of."""
        standing = self.curator.standing(self.dataset.name)
        if receipt.entry < standing.since:
            text = (
                f"key {receipt.key!r} was answered before edition {standing.edition} of {self.called} was added: this "
                "answer is about the rows before it; to ask about the present ones, choose a new key"
            )
            warnings.warn(EarlierEdition(text), stacklevel=2)

    def _request(self, offer: Offer[Any]) -> Request:
        return Request(self.dataset.name, offer.verb, offer.asked, offer.stated, offer.words)

    def _check_declared(self) -> None:
        """Refuse a data set that was changed by force: prices follow from it."""
        if self.dataset != self._declared:
            raise InvalidParameter("dataset", self.dataset.name, "the data set as the session was opened with it")

    def _release(self, request: Request, loss: Loss, run: Callable[[Engine], bytes], key: str | None) -> Receipt:
        """Debit, run, store: the only way from private rows to an answer."""
        with self._alone():
            engine = self._open()
            # Files that are no longer those that were opened are refused here, before the charge.
            engine.check()
        name = uuid.uuid4().hex if key is None else key
        ledger = self.curator.ledger
        held = ledger.reserve(self.account, name, request.digest, loss, description=request.summary)
        if isinstance(held, Stored):
            self._warn_of_edition(held.receipt)
            return held.receipt
        drawing = _Drawing(ledger, held)
        try:
            answer: bytes | None = None
            # Why it fails may depend on private rows: what was raised goes nowhere.
            with contextlib.suppress(Exception), self._alone(), before_first_draw(drawing.begin):
                answer = run(engine)
            if answer is not None and len(answer) <= LARGEST_ANSWER:
                return drawing.complete(answer)
            failure = drawing.failure()
        except DitherError as problem:
            # What hangs on it may quote the answer, which is nobody's as long as it is not stored.
            failure = problem.with_traceback(None)
            failure.__context__ = failure.__cause__ = None
            if not isinstance(failure, RequestSealed | ReleaseFailed):
                failure.add_note(f"whether the answer was stored is told to whoever asks again with key={name!r}")
        finally:
            # Who waits for this request goes on at once.
            ledger.abandon(held)
            answer = None
        # Raised outside of any handler, so that no context hangs on it.
        raise failure


class _Drawing:
    """What became of a reservation: whether noise was drawn for it, and what the ledger said to that."""

    def __init__(self, ledger: Ledger, held: Reservation) -> None:
        self._ledger, self._held = ledger, held
        self._is_drawn = False
        self._refusal: DitherError | None = None

    def begin(self) -> None:
        """Tell the ledger that noise is drawn; called before the first random bit, which is not drawn if this fails."""
        try:
            self._ledger.begin_draw(self._held)
        except DitherError as refusal:
            self._refusal = refusal
            raise
        self._is_drawn = True

    def complete(self, answer: bytes) -> Receipt:
        """Store the answer; once more if the ledger could not be reached, because it cannot be drawn again."""
        try:
            return self._ledger.complete(self._held, answer)
        except LedgerUnavailable:
            pass
        return self._ledger.complete(self._held, answer)

    def failure(self) -> DitherError:
        """Return why there is no answer, in words that depend on public facts alone."""
        if self._is_drawn:
            # What fails after a draw may follow from the draw: another one would tell more than was paid for.
            return ReleaseFailed()
        if self._refusal is not None:
            # What hangs on it are frames of the engine, which hold rows.
            refusal = self._refusal.with_traceback(None)
            refusal.__context__ = refusal.__cause__ = None
            return refusal
        failure = EngineFailure()
        failure.add_note(self._what_is_left())
        return failure

    def _what_is_left(self) -> str:
        left = MOST_ATTEMPTS - self._held.attempt
        if not left:
            return (
                f"this was the last of {MOST_ATTEMPTS} attempts, and the request is not tried again: to ask anew, with "
                "another key, is a further charge"
            )
        count = "1 attempt is" if left == 1 else f"{left} attempts are"
        return f"{count} left: to retry without a further charge, ask again with key={self._held.key!r}"


def check_owner(analyst: str, what: str) -> None:
    """Refuse what reads rows without a mechanism to everybody but the curator, who owns them.

    Args:
        analyst: who asks.
        what: is wanted, for the message.

    """
    if analyst != OWNER:
        rule = f"{OWNER!r}, who owns the rows: {what} reads them without noise and is never shown to an analyst"
        raise InvalidParameter("analyst", analyst, rule)


def place_of(receipt: Receipt) -> str:
    """Return where a charge is written down."""
    return f"{receipt.ledger}:{receipt.entry}:{receipt.hash}"
