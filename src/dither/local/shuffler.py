"""A streaming shuffler: passes on batches of payloads, in an order that says nothing, and only from a crowd.

It stands between devices and a collector. Of each report it passes on the payload alone: the random bytes that name a
report stay here, and so do names, addresses and times, which are never handed to it. Payloads of a batch are sorted by
their bytes: that shows which payloads there are, and nothing else. A batch smaller than the crowd is never passed on.

Memory: one batch, and 16 bytes for each report, by which a second delivery is recognised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import Number, whole
from dither.local.clients import octets_of
from dither.local.document import Document, Report
from dither.local.randomiser import randomiser_of
from dither.privacy import Loss
from dither.privacy.accountants.shuffling import any_randomiser, shuffled_loss

MOST_REPORTS = 10**8


@dataclass(frozen=True)
class Batch:
    """Payloads of a crowd, sorted.

    Args:
        digest: of the document.
        payloads: one after the other, each in the same number of bytes.
        reports: how many there are.

    """

    digest: bytes
    payloads: bytes
    reports: int


class Shuffler:
    """Collects the reports of one survey, and passes them on in batches.

    Args:
        document: of the survey.
        crowd: how many reports a batch has.

    >>> from dither.local.clients import Client
    >>> from dither.local.domains import Range
    >>> from dither.local.numbers import OneBitNumber
    >>> from dither.privacy import PureDP
    >>> survey = OneBitNumber.calibrated(PureDP(1), places=10).document("How many?", Range(0, 9))
    >>> shuffler = Shuffler(survey, crowd=3)
    >>> [shuffler.add(Client(survey).report(answer)) for answer in (1, 9, 9, 2)]
    [True, True, True, True]
    >>> [batch.reports for batch in shuffler.batches()], shuffler.waiting
    ([3], 1)

    """

    def __init__(self, document: Document, *, crowd: int) -> None:
        self._document, self._crowd = document, whole("crowd", crowd, least=2, most=10**7)
        law = randomiser_of(document)
        self._octets, self._alone = octets_of(law.half.size), law.loss(1)
        self._waiting: list[bytes] = []
        self._full: list[Batch] = []
        self._seen: set[bytes] = set()
        self._is_closed = False

    @property
    def waiting(self) -> int:
        """How many reports wait for a crowd."""
        return len(self._waiting)

    def add(self, text: str | bytes) -> bool:
        """Take a report, and return whether it is one of this survey that did not come before."""
        if self._is_closed:
            raise HandleMisuse("this shuffler is closed")
        report = Report.parse(text)
        if report is None or report.digest != self._document.digest or len(report.payload) != self._octets:
            return False
        if report.nonce in self._seen or len(self._seen) >= MOST_REPORTS:
            return False
        self._seen.add(report.nonce)
        self._waiting.append(report.payload)
        if len(self._waiting) == self._crowd:
            self._full.append(Batch(report.digest, b"".join(sorted(self._waiting)), self._crowd))
            self._waiting = []
        return True

    def batches(self) -> Iterator[Batch]:
        """Yield the batches that are full; each is passed on once."""
        while self._full:
            yield self._full.pop(0)

    def close(self) -> int:
        """Take no more reports, forget those that wait for a crowd, and return how many they were."""
        dropped, self._waiting, self._is_closed = len(self._waiting), [], True
        self._seen.clear()
        return dropped

    def loss(self, *, honest: int, delta: Number) -> Loss:
        """Return what one answer loses towards a reader of batches, or the loss of its report if that is not more.

        Args:
            honest: how many reports of each batch come from people who report honestly, at least.
            delta: at least 1e-15.

        """
        if not 1 <= whole("honest", honest, least=1) <= self._crowd:
            raise InvalidParameter("honest", honest, f"at most the crowd, {self._crowd}")
        epsilon = self._alone.pure
        found = shuffled_loss(any_randomiser(epsilon if epsilon else 1), honest=honest, delta=delta)
        return found if found.pure is not None and epsilon and found.pure < epsilon else self._alone
