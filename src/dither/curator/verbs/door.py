"""The door: how a session opens its tables, debits the ledger, runs and stores. The only way from rows to an answer."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, cast

from dither.curator.ledger import Account, Balance, Receipt, Stored
from dither.curator.ledger.interface import LARGEST_ANSWER
from dither.curator.price import ClosedEngine, Price, Priced
from dither.curator.request import Request
from dither.data import Aggregation, Relation
from dither.data.engines import Engine, connect
from dither.data.schema import DataSet
from dither.errors import DitherError, EngineFailure, InvalidParameter, NoGuarantee, ReleaseFailed, RequestSealed
from dither.mechanisms import Numerics
from dither.mechanisms.release import drawn_so_far
from dither.privacy import Loss
from dither.publish.queries import QueryResult
from dither.publish.queries.sql import parse_sql

if TYPE_CHECKING:
    from dither.curator.folder import Curator

#: What is stored of a release that failed after noise was drawn for it; no answer reads so.
FAILED: Final = b"failed after the draw"
#: Who owns the rows, and may look at them: the analyst of a session that names none.
OWNER: Final = "curator"


class Asked(Protocol):
    """A mechanism on an engine that says beforehand what it will ask of it."""

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return what the engine is asked for."""

    def loss(self, d_in: Any = 1) -> Loss:
        """Return what a release loses."""


class Door:
    """One analyst before one data set: opens, debits, runs, stores."""

    def __init__(
        self, curator: Curator, dataset: DataSet, *, analyst: str, frames: Mapping[str, Any] | None = None
    ) -> None:
        self.curator = curator
        self.dataset = dataset
        # What is public was declared once: a copy that nothing else holds, to compare with.
        self._declared = copy.deepcopy(dataset)
        self.account = Account(dataset.name, analyst)
        self._frames = frames
        self._engine: Engine | None = None
        self._is_pricing = False

    def balance(self) -> Balance:
        """Return what this analyst has spent and may still spend."""
        return self.curator.ledger.balance(self.dataset.name, self.account.analyst)

    def close(self) -> None:
        """Let go of the tables."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def open(self) -> Engine:
        """Open the tables and compare them with what is declared; reads names and types, never values."""
        if self._engine is None:
            dataset = self.curator.as_read(self.dataset, self._frames)
            engine = connect(dataset, folder=self.curator.folder, frames=self._frames)
            engine.check()
            self._engine = engine
        return self._engine

    def price(self, ask: Callable[[Self], object]) -> Price:
        """Return what a release would cost, from public facts alone; the data stays closed and nothing is charged.

        ``session.price(lambda asked: asked.synthesize("visits", epsilon=1))``, and so for everything that releases.

        Args:
            ask: asks for the release.

        """
        asked = copy.copy(self)
        asked._engine, asked._is_pricing = cast("Engine", ClosedEngine()), True
        try:
            ask(asked)
        except Priced as found:
            return found.price
        raise InvalidParameter("ask", ask, "a function that asks the session it is given for a release")

    def check_owner(self, what: str) -> None:
        """Refuse what reads rows without a mechanism to everybody but the curator, who owns them.

        Args:
            what: is wanted, for the message.

        """
        if self.account.analyst != OWNER:
            rule = f"{OWNER!r}, who owns the rows: {what} reads them without noise and is never shown to an analyst"
            raise InvalidParameter("analyst", self.account.analyst, rule)

    def _release_counts(
        self,
        request: Request,
        release: Asked,
        run: Any,
        key: str | None,
    ) -> Receipt:
        """Release counts of cells; the engine may refuse what it could not be asked, before it costs anything."""
        for aggregation in release.aggregations():
            self.open().prepare(aggregation)
        return self._release(request, release.loss(1), run, key)

    def _release(self, request: Request, loss: Loss, run: Any, key: str | None) -> Receipt:
        """Debit, run, store: the only way from private rows to an answer."""
        if self.dataset != self._declared:
            # Prices follow from it. A frozen record can still be changed by force.
            raise InvalidParameter("dataset", self.dataset.name, "the data set as the session was opened with it")
        if self._is_pricing:
            fits, left = self.curator.ledger.would_admit(self.account, loss), str(self.balance().left)
            raise Priced(Price(request.summary or request.verb, loss, str(self.dataset.unit), left, fits))
        engine = self.open()
        # Files that are no longer those that were opened are refused here, before the charge.
        engine.check()
        name = uuid.uuid4().hex if key is None else key
        ledger = self.curator.ledger
        held = ledger.reserve(self.account, name, request.digest, loss, description=request.summary)
        if isinstance(held, Stored):
            return told(held.receipt)
        # One text for whatever fails, and the debit stays.
        failure: DitherError = EngineFailure()
        before = drawn_so_far()
        try:
            answer: bytes | None = None
            # Why it fails may depend on private rows: what was raised goes nowhere.
            with contextlib.suppress(Exception):
                answer = run(engine)
            is_short = answer is not None and len(answer) <= LARGEST_ANSWER
            # What fails after a draw may follow from the draw. Another one would tell more than was paid for, so that
            # the failure is the answer, for whoever asks with this key.
            if is_short or drawn_so_far() != before:
                return told(ledger.complete(held, answer if is_short and answer is not None else FAILED))
        except DitherError as problem:
            # What hangs on it may quote the answer, which is nobody's as long as it is not stored.
            failure = problem.with_traceback(None)
            failure.__context__ = failure.__cause__ = None
        finally:
            # Who waits for this request goes on at once.
            ledger.abandon(held)
            answer = None
        # Raised outside of any handler, so that no context hangs on it.
        if not isinstance(failure, RequestSealed | ReleaseFailed):
            failure.add_note(f"to retry without a further charge, ask again with key={name!r}")
        raise failure

    def _rows_where(self, table: str, where: str) -> Relation:
        name = self.dataset.table(table).name
        # Read by our own parser into a closed tree; this text reaches no engine.
        query = parse_sql(f"SELECT COUNT(*) FROM {name} WHERE {where}", self.dataset)  # noqa: S608
        if query.keys or query.limit is not None or query.having is not None or len(query.outputs) != 1:
            raise InvalidParameter("where", where, "a condition alone")
        return query.relation

    def _refuse_idealised(self, numerics: Numerics) -> None:
        if numerics is Numerics.IDEALISED and not self.curator.settings.allow_idealised:
            raise NoGuarantee("the proof is over the reals only; the curator may allow that in dither.yaml")

    def _source(self, table: str, where: str | None) -> str | Relation:
        """Return a table by its name, or those of its rows that a condition leaves."""
        return self._named(table) if where is None else self._rows_where(self._named(table), where)

    def _named(self, table: str) -> str:
        """Return the name of a table; rows that a caller made are none, whatever they say of themselves."""
        if not isinstance(table, str):
            raise InvalidParameter("table", table, "the name of a table of the data set")
        return table


def told(receipt: Receipt) -> Receipt:
    """Return a stored answer, or raise what is stored in its place."""
    if receipt.answer == FAILED:
        raise ReleaseFailed
    return receipt


def with_receipt(text: bytes | str, receipt: Receipt) -> QueryResult:
    """Return the stored result, with the place in the ledger where its charge is written down."""
    return replace(QueryResult.from_json(text), receipt=place_of(receipt))


def place_of(receipt: Receipt) -> str:
    """Return where a charge is written down."""
    return f"{receipt.ledger}:{receipt.entry}:{receipt.hash}"


def digest_of(record: Any) -> str:
    """Return the SHA-256 of plain data: what stands for a long record in a request."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def unversioned(spec: Any) -> Any:
    """Return the record of a mechanism without the versions of its algorithms: what is asked stays when they change."""
    if isinstance(spec, dict):
        return {
            name: unversioned(value) for name, value in spec.items() if name != "version" or "mechanism" not in spec
        }
    return [unversioned(entry) for entry in spec] if isinstance(spec, list) else spec
