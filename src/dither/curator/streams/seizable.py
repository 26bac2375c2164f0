"""A stream of which nothing exact is kept: its book holds answers, and its memory holds noisy numbers.

For a tick one thing becomes durable: its answer, before it is returned. Noise is drawn when it is needed, and no key of
it exists. So a process that dies takes the rows of the open tick with it. By rule they stay lost: a row that was in a
memory that somebody may have read is in no other one. A batch that was fed is therefore known by its name at once.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from dither.curator.streams.stream import Stream
from dither.mechanisms.core.kept import converse_anew
from dither.publish.queries.result import QueryResult
from dither.publish.streams.tally import tick_sums

if TYPE_CHECKING:
    from dither.publish.streams.seizable import SeizableConversation

#: What kind of stream this is, for whoever decides where its files are kept.
SEIZABLE: Final = (
    "Nothing exact is stored: its book holds what was released, its memory noisy numbers of the open tick. If the "
    "process ends, the rows of that tick are lost."
)


class SeizableStream(Stream):
    """A query on a stream, paid for as a whole, answered tick by tick, with a memory that may be seized."""

    kind: ClassVar[str] = SEIZABLE

    @property
    def is_without_rows(self) -> bool:
        """Nothing is kept that would say so, but for the names of batches."""
        return self._conversation is None and super().is_without_rows

    def feed(self, rows: Any, *, batch: str | None = None) -> bool:
        """Take rows of the open tick, which is the next to be released; return False for a batch that was taken.

        Rows of later ticks do not count: they are fed when their tick is open. Earlier ones are dropped, or count in
        the open tick, as the schema says.

        Args:
            rows: a frame, a list of dictionaries, or the path of a CSV or Parquet file.
            batch: the caller's name for these rows: the same name again is the same batch, and is not counted twice.

        """
        self._here()
        self._check_fed(batch)
        self._refuse_closed()
        return self._take(rows, batch, waits=True)

    def _take(self, rows: Any, batch: str | None, *, waits: bool) -> bool:
        """Add rows to the noisy numbers of the open tick; of a batch the name alone is kept."""
        self._refuse_ended(batch)
        book = self._here()
        tick = book.answered
        found = self._read(rows, None)
        if batch is not None and not book.arrive(batch, None, waits=waits):
            return False
        batch_rows, numbers = self._in_time(found, self._ticks.numbers(found.moments.astype("datetime64[us]")))
        sums, _ = tick_sums(
            batch_rows.only(numbers == tick),
            tick,
            ticks=self._ticks,
            measured=self._arrivals.measured,
            cells=self.mechanism.cells,
            standings={},
            only_first=False,
        )
        with self._torn_ends():
            self._going().add(sums)
        return True

    def release(
        self,
        until: int | None = None,
        *,
        now: datetime.datetime | None = None,
        rows: Any = None,
        batch: str | None = None,
    ) -> QueryResult:
        """Release the ticks that have ended, and return those that were not released before.

        Args:
            until: release no more than this number of ticks in all.
            now: the present, in UTC; by default that of this machine. A clock that was put back is refused.
            rows: rows of the open tick, which are fed first, as ``feed`` takes them.
            batch: the caller's name for these rows; needed with them.

        """
        book = self._here()
        first, end = book.answered, self._end_of(until, now)
        self._feed_first(rows, batch, waits=True)
        with self._torn_ends():
            while book.answered < end:
                answer = self._going().report()
                book.report(answer)
        return self.answers(first)

    def _going(self) -> SeizableConversation:
        """Return the conversation, at the tick after the last answer."""
        if self._conversation is None:
            book = self._here()
            stored = list(book.answers(max(book.answered - 1, 0)))
            last = stored[-1] if stored else np.zeros(self.mechanism.answer_shape, dtype=np.int64)
            self._conversation = converse_anew(self.mechanism, None)
            self._conversation.go_on(book.answered, last)
        conversation: SeizableConversation = self._conversation
        return conversation
