"""The lines of the log that tell of debits: each debit is told once, by whichever request or job has made it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dither.curator.ledger.interface import Reservation
from dither.curator.ledger.request_effects import Noticed
from dither.service.logs import Log
from dither.service.pace import Pace, Strict, sent_after

#: What is written of work whose end was not waited for.
_NOT_TOLD: Final = 202


class Watch:
    """A piece of work that may debit something, for whoever writes that down.

    Args:
        log: where.
        line: what is known of the request that began it.
        came: when what it gives may be told.

    """

    def __init__(self, log: Log, line: Mapping[str, Any], came: Pace | Strict) -> None:
        self._log, self._line, self.came = log, line, came
        self._since = time.monotonic()
        #: What it does. What it debits after its line was written is written at once: no row was read for that yet.
        self.noticed = Noticed(lambda debit: self._write((debit,), _NOT_TOLD, ""))
        #: Whether somebody waits for it to write a line, beside those who wait for its answer.
        self.is_watched = False

    def write(self, status: int = _NOT_TOLD, entry: str = "") -> None:
        """Write down what it has debited and nobody has told.

        Args:
            status: as a request is told that waits for it.
            entry: the number of the entry of its answer, if there is one.

        """
        self._write(self.noticed.take(), status, entry)

    def _write(self, debits: Sequence[Reservation], status: int, entry: str) -> None:
        seconds = sent_after(time.monotonic() - self._since, "buckets")
        line = {**self._line, "status": status, "entry": entry, "seconds": seconds}
        for told in debit_lines(line, debits) if debits else ():
            self._log.write(**told)


def debit_lines(line: Mapping[str, Any], debits: Sequence[Reservation]) -> Iterator[dict[str, Any]]:
    """Yield the line of a request or a job with what it has debited, and further lines for what else it has.

    Args:
        line: what is known beside that; its entry is that of the answer, where there is one.
        debits: in their order. A query whose ranges are found first debits each range, too.

    """
    own = next((debit for debit in debits if line.get("digest") in (None, debit.request_digest)), None)
    yield dict(line) if own is None else _told(line, own) | {"entry": line["entry"] or str(own.entry)}
    for debit in debits:
        if debit is not own:
            yield _told(line, debit)


def _told(line: Mapping[str, Any], debit: Reservation) -> dict[str, Any]:
    facts = {"digest": debit.request_digest, "charge": str(debit.loss), "entry": str(debit.entry)}
    return {**line, **facts}
