"""A stream as its caller holds it: feed it, release its ticks, read what was released; killed and opened again at will.

The order never changes. The exact numbers of a tick are frozen durably, then its noise is computed, then its answer is
stored durably, then it is returned. Whoever comes back after any interruption goes on from what is durable: a tick that
is frozen keeps its numbers, and a tick that is answered keeps its answer, whatever the tables hold by then.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.curator.ledger.request_effects import notice_private
from dither.curator.long_lived import Handle
from dither.curator.long_lived_handles import Drawn
from dither.curator.resuming import computed_by
from dither.curator.streams.book import Book
from dither.curator.timing_gate import wait_for
from dither.data.engines import Engine
from dither.data.ticks import words_of
from dither.errors import DitherError, EngineFailure, InvalidParameter, StreamUnavailable
from dither.exact import Number, probability, whole
from dither.mechanisms.core.kept import KeptConversation, converse_with_key
from dither.publish.queries.result import QueryResult
from dither.publish.streams.arrivals import Batch, joined
from dither.publish.streams.tally import tick_sums

if TYPE_CHECKING:
    from dither.publish.streams.asked import StreamAnswer

#: What kind of stream this is, for whoever decides where its files are kept.
KIND: Final = (
    "Its book and its key, which are stored separately, hold exact numbers: anyone who has both can remove the noise "
    "from what was released."
)
#: What is said where ticks of a stream that is fed are released before anything was.
NOTHING_FED: Final = "nothing was ever fed to this stream: its ticks are released as empty ones, and stay so"
#: How many ticks are read from a table, and frozen, at once.
_AT_ONCE: Final = 1024
#: Streams with more numbers in a tick are replayed: the state of their noise is many ticks large.
_MOST_IN_CHECKPOINTS: Final = 2**14
#: What reads rows that a caller gives, or the table itself where it gives none.
Opened = Callable[[Any], contextlib.AbstractContextManager[Engine]]


class Stream(Drawn, Handle[Book]):
    """A query on a stream, paid for as a whole, answered tick by tick.

    Args:
        name: the caller's name for it.
        mechanism: what is released; public.
        book: what has been counted and released.
        opened: opens the rows that a caller feeds, or those of the table.
        place: where the charge is written down.

    """

    #: What kind of stream this is, for whoever decides where its files are kept.
    kind: ClassVar[str] = KIND
    #: After how many ticks the state of the noise is kept again: fewer are computed again when a stream is opened.
    checkpoint_every: ClassVar[int] = 256
    uncopied = "a stream cannot be copied or pickled: copies would answer different ticks with one noise"

    def __init__(self, name: str, mechanism: StreamAnswer, book: Book, opened: Opened, place: str) -> None:
        super().__init__(name, book, place)
        self._mechanism = mechanism
        self._opened = opened
        self._arrivals = mechanism.arrivals
        self._ticks = mechanism.arrivals.ticks
        # How many ticks the conversation was fed: its noise is that of the next one.
        self._fed = 0
        # The conversation again, where its state can be kept, and after how many ticks it was.
        self._kept: KeptConversation[Any] | None = None
        self._kept_at = 0

    @property
    def mechanism(self) -> StreamAnswer:
        """What is released; public."""
        return self._mechanism

    @property
    def released(self) -> int:
        """The number of ticks that were released."""
        return self._here().answered

    @property
    def is_without_rows(self) -> bool:
        """Whether rows are to be fed, and no batch has ever been: how many there were is no secret."""
        return self._arrivals.is_fed and not self._here().has_batches

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is released, because it was closed or has reached its horizon."""
        return self._here().is_closed or self._here().answered == self.mechanism.most_ticks

    @property
    def ends_at(self) -> datetime.datetime | None:
        """The moment at which the last tick ends; None where no end is known."""
        return None if self.mechanism.steps is None else self._ticks.begin(self.mechanism.steps)

    def __repr__(self) -> str:
        return f"<Stream {self}>"

    def __str__(self) -> str:
        book, steps = self._here(), self.mechanism.steps
        state = "closed" if self.is_closed else "open"
        length = words_of(self._ticks.seconds)
        done = f"{book.answered} of {steps} ticks of {length} released, {state}"
        if steps is None:
            done = f"{book.answered} ticks of {length} released, no end is known, {state}"
        return f"{self.name}: {self.mechanism.words}; {self.mechanism.loss(1)} for all of them; {done}. {self.kind}"

    def to_dict(self) -> dict[str, Any]:
        """Return what is public about the stream, as plain data."""
        return {
            "name": self.name,
            "what": self.mechanism.words,
            "loss": self.mechanism.loss(1).to_dict(),
            "unit": str(self.mechanism.distance),
            "ticks": self.mechanism.steps,
            "tick_seconds": self._ticks.seconds,
            "start": self._ticks.first.isoformat(),
            "released": self.released,
            "closed": self.is_closed,
            "kind": self.kind,
            "receipt": self.receipt,
        }

    def feed(self, rows: Any, *, batch: str | None = None) -> bool:
        """Take rows that have arrived; return False where a batch of that name was taken before, and nothing is done.

        Other rows with that name are refused: they need another one.

        They count when their ticks are released. Rows of a tick that was released already are dropped, or count in the
        next one, as the schema says. Rows before the start and after the end do not count. Once all ticks are released
        nothing is taken, and rows are refused.

        Args:
            rows: a frame, a list of dictionaries, or the path of a CSV or Parquet file.
            batch: the caller's name for these rows: the same name again is the same batch, and is not counted twice.

        """
        self._here()
        self._check_fed(batch)
        self._refuse_closed()
        return self._take(rows, batch, waits=True)

    def _take(self, rows: Any, batch: str | None, *, waits: bool) -> bool:
        """Keep rows; without waiting for the disk where what follows waits for both."""
        self._refuse_ended(batch)
        book, found = self._here(), self._read(rows, None)
        numbers = self._ticks.numbers(found.moments.astype("datetime64[us]"))
        fingerprint = None if batch is None else book.seal.fingerprint(_parts(found))
        return book.arrive(batch, _plain(*self._in_time(found, numbers)), fingerprint, waits=waits)

    def _check_fed(self, batch: str | None) -> None:
        """Refuse rows for a table that is read, and what is no name of a batch."""
        if not self._arrivals.is_fed:
            table = self._arrivals.table
            rule = (
                f"left where they are: {table.source} is read when ticks are released; only a table that declares "
                "'source: frames' is fed"
            )
            raise InvalidParameter("rows", f"rows for {table.name}", rule)
        if batch is not None and (not isinstance(batch, str) or not 0 < len(batch) <= 200 or _is_torn(batch)):
            raise InvalidParameter("batch", batch, "a string of 1 to 200 characters")

    def _in_time(self, batch: Batch, numbers: NDArray[np.int64]) -> tuple[Batch, NDArray[np.int64]]:
        """Return the rows that still count, and the tick in which each does."""
        frozen = self._here().frozen
        if self._ticks.late == "next":
            numbers = np.where((numbers >= 0) & (numbers < frozen), frozen, numbers)
        is_in_time = (numbers >= frozen) & (numbers < self.mechanism.most_ticks)
        return batch.only(is_in_time), numbers[is_in_time]

    def release(
        self,
        until: int | None = None,
        *,
        now: datetime.datetime | None = None,
        rows: Any = None,
        batch: str | None = None,
    ) -> QueryResult:
        """Release the ticks that have ended, and return those that were not released before.

        Rows that are given with it are fed first, and the disk is waited for once for both: whoever feeds and releases
        tick by tick goes on about twice as fast.

        Args:
            until: release no more than this number of ticks in all.
            now: the present, in UTC; by default that of this machine. A clock that was put back is refused.
            rows: rows that have arrived, as ``feed`` takes them.
            batch: the caller's name for these rows. It is needed with them: if the process dies, the same call again
                counts them once.

        """
        book = self._here()
        first, end = book.answered, self._end_of(until, now)
        self._feed_first(rows, batch, waits=end <= book.frozen)
        with self._torn_ends():
            for numbers in self._frozen_up_to(end):
                self._answer(numbers)
        found = self.answers(first)
        return replace(found, notes=(*found.notes, NOTHING_FED)) if self.is_without_rows else found

    def _feed_first(self, rows: Any, batch: str | None, *, waits: bool) -> None:
        """Feed rows that came with a release, or reject them."""
        if rows is None and batch is None:
            return
        if rows is None or batch is None:
            raise InvalidParameter("batch", batch, "required when rows are given, and not allowed otherwise")
        self._check_fed(batch)
        self._take(rows, batch, waits=waits)

    def _end_of(self, until: int | None, now: datetime.datetime | None) -> int:
        """Return how many ticks are to be released in all, or refuse what has not ended and a clock put back."""
        book = self._here()
        self._refuse_closed()
        moment = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) if now is None else now
        # A moment of pandas that is none equals nothing, itself included.
        if not isinstance(moment, datetime.datetime) or moment.tzinfo is not None or moment != moment:
            raise InvalidParameter("now", now, "a moment without a zone, which is read as UTC")
        ended = min(self._ticks.closed(moment), self.mechanism.most_ticks)
        end = ended if until is None else whole("until", until, least=0, most=self.mechanism.most_ticks)
        if end > ended:
            rule = f"at most {ended}"
            with contextlib.suppress(OverflowError):
                wait = self._ticks.begin(end) + datetime.timedelta(seconds=self._ticks.watermark)
                rule = f"{rule}: tick {end - 1} may be released from {wait} UTC on"
            raise InvalidParameter("until", until, rule)
        if ended < book.frozen:
            raise InvalidParameter("now", moment, f"not before tick {book.frozen - 1}, which is released already")
        # Up to here nothing is known of rows.
        notice_private()
        return end

    def answers(self, first: int = 0, end: int | None = None, *, confidence: Number = "0.95") -> QueryResult:
        """Return what was released, from the tick ``first`` to before ``end``; nothing is released by this.

        Args:
            first: the first tick, counted from 0.
            end: the tick before which to end; by default all.
            confidence: the level of the intervals, each for one number.

        """
        level = probability("confidence", confidence, open_below=True)
        start, before = whole("first", first, least=0), None if end is None else whole("end", end, least=0)
        found = list(self._here().answers(start, before))
        noisy = np.stack(found) if found else np.zeros((0, *self.mechanism.answer_shape), dtype=np.int64)
        return self.mechanism.presented(noisy, start, level, self.receipt)

    def end(self) -> None:
        """Release nothing more, for ever. What was paid for and not released is not given back."""
        self._here().close_stream()

    def _refuse_closed(self) -> None:
        if self._here().is_closed:
            raise InvalidParameter("stream", self.name, "open: it was closed, and nothing more is released")

    def _refuse_ended(self, batch: str | None) -> None:
        """Refuse rows that no tick is left for; a batch that came before may come again, and is not counted."""
        book, ticks = self._here(), self.mechanism.most_ticks
        if book.frozen >= ticks and not (batch is not None and book.knows(batch)):
            rule = f"one with ticks to come: all {ticks} of its ticks are released. These rows were not taken"
            raise InvalidParameter("stream", self.name, rule)

    def _frozen_up_to(self, end: int) -> Iterator[Sequence[Any]]:
        """Freeze what is not yet frozen, some ticks at a time; yield the numbers of all that has no answer yet."""
        book = self._book
        yield list(book.numbers(book.answered))
        while book.frozen < end:
            first = book.frozen
            last = min(end, first + _AT_ONCE)
            batch, ticks, rest = self._rows_of(first, last)
            sums = list(self._sums(batch, ticks, first, last))
            book.freeze(sums, first=first, rest=rest)
            yield [numbers for numbers, _ in sums]

    def _rows_of(self, first: int, end: int) -> tuple[Batch, NDArray[np.int64], Any]:
        """Return the rows of some ticks, the tick of each, and what is kept of all that was fed."""
        if not self._arrivals.is_fed:
            batch = self._read(None, (first, end))
            return batch, self._ticks.numbers(batch.moments.astype("datetime64[us]")), None
        waiting = [_batch(record) for record in self._book.waiting()]
        if not waiting:
            return self._arrivals.empty, np.zeros(0, dtype=np.int64), None
        batch, ticks = joined([one for one, _ in waiting]), np.concatenate([one for _, one in waiting])
        later = ticks >= end
        rest = _plain(batch.only(later), ticks[later]) if later.any() else {}
        return batch.only(~later), ticks[~later], rest

    def _sums(
        self, batch: Batch, ticks: NDArray[np.int64], first: int, end: int
    ) -> Iterator[tuple[NDArray[np.int64], Mapping[bytes, Any]]]:
        """Yield what each tick adds up to, and the standings that it changes."""
        seal = self._book.seal
        if batch.people is not None:
            names = {person: seal.name_of(person) for person in set(batch.people)}
            batch = Batch(
                batch.moments, tuple(names[one] for one in batch.people), batch.groups, batch.numbers, batch.counts
            )
        standings = self._book.standings(set(batch.people or ()))
        order = np.argsort(ticks, kind="stable")
        starts = np.searchsorted(ticks[order], np.arange(first, end + 1))
        for tick in range(first, end):
            rows = batch.only(order[starts[tick - first] : starts[tick - first + 1]])
            numbers, changed = tick_sums(
                rows,
                tick,
                ticks=self._ticks,
                measured=self._arrivals.measured,
                cells=self.mechanism.cells,
                standings=standings,
                only_first=self.mechanism.is_running,
            )
            standings.update(changed)
            yield numbers, changed

    def _answer(self, ticks: Sequence[Any]) -> None:
        """Answer frozen ticks, in order, and store the answers."""
        if not ticks:
            return
        conversation = self._resumed()
        if self._fed != self._book.answered:
            raise StreamUnavailable(self.name, "its noise is at another tick than its book; open it again")
        answers = [conversation.feed(numbers) for numbers in ticks]
        self._fed += len(answers)
        wait_for("store")
        self._book.store(answers)
        if self._kept is not None and self._fed - self._kept_at >= self.checkpoint_every:
            self._book.keep_checkpoint(_computed_by(), self._kept.freeze())
            self._kept_at = self._fed

    def _resumed(self) -> Any:
        """Return the conversation, fed with all ticks that have an answer; those after its state must be the same."""
        if self._conversation is None:
            book = self._book
            conversation = self._begun(book.seal.derived("noise"))
            stored = book.answers(self._fed)
            for numbers, answer in zip(book.numbers(self._fed), stored, strict=False):
                self._fed += 1
                if not np.array_equal(conversation.feed(numbers), answer):
                    rule = "its noise is not what it was: the answers were computed by another version"
                    raise StreamUnavailable(self.name, rule)
            self._conversation = conversation
        return self._conversation

    def _begun(self, key: bytes) -> Any:
        """Return the conversation in its last stored state, or before its first tick."""
        self._fed, self._kept, self._kept_at = 0, None, 0
        if not self._book.about.get("checkpoints"):
            return converse_with_key(self.mechanism, None, key=key)
        kept = KeptConversation(self.mechanism, key)
        if kept.is_resumable and math.prod(self.mechanism.answer_shape) <= _MOST_IN_CHECKPOINTS:
            self._kept = kept
            self._fed, state = self._book.checkpoint(_computed_by())
            self._kept_at = self._fed
            if state is not None:
                kept.thaw(state)
        return kept.conversation

    def _read(self, rows: Any, ticks: tuple[int, int] | None) -> Batch:
        """Return the rows that an engine reads. Why it fails may depend on them: what was raised goes nowhere."""
        failure: DitherError | None = None
        with self._opened(rows) as engine:
            asked = self._arrivals.whole() if ticks is None else self._arrivals.asked(*ticks)
            try:
                return self._arrivals.batch(engine.aggregate(asked))
            except Exception:
                failure = EngineFailure()
        raise failure


def _computed_by() -> Any:
    """Return what computes here, as plain data: noise of another version may be other noise."""
    return json.loads(json.dumps(computed_by()))


def _is_torn(text: str) -> bool:
    """Return whether a text has half of a surrogate pair, which no book can hold."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _plain(batch: Batch, ticks: NDArray[np.int64]) -> dict[str, Any]:
    """Return rows and their ticks as plain data, to be sealed."""
    return {
        "ticks": ticks.tolist(),
        "moments": batch.moments.tolist(),
        "people": None if batch.people is None else list(batch.people),
        "groups": batch.groups.tolist(),
        "numbers": batch.numbers.tolist(),
        "measures": batch.numbers.shape[1],
        "counts": batch.counts.tolist(),
    }


def _parts(batch: Batch) -> Iterator[bytes]:
    """Yield what a batch is, whatever the order of its rows."""
    # By their places: an array of texts has room for the longest of them in every row.
    places = {person: place for place, person in enumerate(sorted(set(batch.people or ())))}
    people = np.array([places[person] for person in batch.people or ()] or np.zeros(len(batch)), dtype=np.int64)
    order = np.lexsort((batch.counts, *batch.numbers.T, batch.groups, people, batch.moments))
    for column in (batch.moments, batch.groups, batch.numbers, batch.counts):
        yield np.ascontiguousarray(column[order], dtype="<i8").tobytes()
    names = batch.people or ()
    for place in order.tolist() if names else ():
        yield names[place].encode("utf-8", "surrogatepass")


def _batch(record: Mapping[str, Any]) -> tuple[Batch, NDArray[np.int64]]:
    """Return the rows of plain data, and the tick of each."""
    people = record["people"]
    return (
        Batch(
            np.array(record["moments"], dtype=np.int64),
            None if people is None else tuple(people),
            np.array(record["groups"], dtype=np.int64),
            np.array(record["numbers"], dtype=np.int64).reshape(len(record["moments"]), record["measures"]),
            np.array(record["counts"], dtype=np.int64),
        ),
        np.array(record["ticks"], dtype=np.int64),
    )
