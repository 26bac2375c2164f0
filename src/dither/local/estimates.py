"""The server half: reports in, estimated shares with intervals out; memory does not grow with the number of reports.

A ``Gate`` sorts what arrives: reports of this survey that a client can have drawn, reports of other documents, and what
is no report. An ``Estimator`` adds up the scores of the former. Recognising a repeated delivery needs the random bytes
of all reports, and so a disk: that is the collector's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.projections import simplex
from dither.exact import Number, probability
from dither.local.clients import octets_of
from dither.local.document import Document, Report
from dither.local.frequencies.oracle import Floats, Oracle
from dither.local.randomiser import randomiser_of
from dither.privacy import ANSWER

#: More answers than these are not listed in one table.
MOST_LISTED: Final = 2**22
TIDYINGS: Final = ("none", "clip", "simplex", "base-cut")


class Verdict(Enum):
    """What an arrived string is."""

    FITS = "accepted"
    MALFORMED = "malformed"
    FOREIGN = "foreign"
    REPEATED = "repeated"


class Gate:
    """Separates the reports of one survey from everything else.

    Args:
        document: of the survey.

    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.law = randomiser_of(document)
        self._octets = octets_of(self.law.half.size)

    @property
    def longest(self) -> int:
        """The number of characters of every report to this survey."""
        return len(Report(self.document.digest, bytes(16), bytes(self._octets)).text)

    def judge(self, texts: Sequence[str | bytes]) -> list[tuple[Verdict, Report | None]]:
        """Return what each string is; the payloads of all are checked in one block."""
        found: list[tuple[Verdict, Report | None]] = []
        for text in texts:
            report = Report.parse(text)
            if report is None:
                found.append((Verdict.MALFORMED, None))
            elif report.digest != self.document.digest:
                found.append((Verdict.FOREIGN, None))
            elif len(report.payload) != self._octets:
                found.append((Verdict.MALFORMED, None))
            else:
                found.append((Verdict.FITS, report))
        fitting = [place for place, (_, report) in enumerate(found) if report is not None]
        if fitting:
            payloads = b"".join(report.payload for _, report in found if report is not None)
            _, valid = self.law.decode(block_of(payloads, self._octets))
            for place in np.array(fitting)[~valid].tolist():
                found[place] = (Verdict.MALFORMED, None)
        return found


class Estimator:
    """Adds up the scores of reports, and estimates the share of each answer.

    Args:
        document: of a survey whose answers can be listed.

    """

    def __init__(self, document: Document) -> None:
        law = randomiser_of(document)
        if not isinstance(law, Oracle):
            raise InvalidParameter("randomiser", document.randomiser, "one whose reports give shares of answers")
        if law.half.cells > MOST_LISTED:
            rule = f"at most {MOST_LISTED} answers in a table; ask LocalHashing.totals_at about some of more"
            raise InvalidParameter("domain", f"{law.half.cells} answers", rule)
        self.document, self.law = document, law
        self.reports = 0
        self._totals = np.zeros(law.half.cells, dtype=np.int64)

    def add(self, payloads: NDArray[np.uint8]) -> None:
        """Add the payloads of reports, one a row; those that no client draws are dropped."""
        reports, valid = self.law.decode(payloads)
        self._totals += self.law.totals(reports[valid])
        self.reports += int(valid.sum())

    def estimate(self, confidence: Number = "0.95", *, together: bool = False, tidy: str = "none") -> Estimate:
        """Return the shares of all answers.

        Args:
            confidence: of each interval, or of all together.
            together: whether all intervals are to hold together.
            tidy: ``none`` for unbiased shares; ``clip`` raises those below 0 to 0; ``simplex`` returns the nearest
                shares that are not negative and add up to 1; ``base-cut`` returns 0 for shares that noise alone would
                reach, for one answer or more with a probability of at most one minus the confidence.

        """
        if tidy not in TIDYINGS:
            raise InvalidParameter("tidy", tidy, f"one of {', '.join(TIDYINGS)}")
        found = self.law.intervals(self._totals, self.reports, confidence, together=together)
        least = self._noise_alone(probability("confidence", confidence))
        shares = found.shares
        if tidy == "clip":
            shares = np.maximum(shares, 0)
        elif tidy == "simplex":
            shares = simplex(shares)
        elif tidy == "base-cut":
            shares = np.where(found.shares > least, shares, 0)
        return Estimate(
            document=self.document,
            epsilon=self.law.loss(1).epsilon,
            reports=self.reports,
            shares=shares,
            low=found.low,
            high=found.high,
            confidence=found.confidence,
            together=together,
            tidy=tidy,
            above_noise=found.shares > least,
        )

    def _noise_alone(self, confidence: Fraction) -> float:
        """Return the share that an answer of true share 0 reaches with probability (1 - confidence) / answers."""
        if not self.reports:
            return float("inf")
        from scipy.special import ndtri

        fixed, _ = self.law.scatter(np.zeros(self.law.half.cells))
        spread = float(np.sqrt(fixed.max() / self.reports)) / float(self.law.slope)
        return -float(ndtri(float(1 - confidence) / self.law.half.cells)) * spread


@dataclass(frozen=True)
class Estimate:
    """Estimated shares of the answers to a survey.

    Args:
        document: of the survey.
        epsilon: what each report lost, debited on the device that drew it.
        reports: how many reports the shares come from.
        shares: of each answer among those who reported.
        low: lower ends of the intervals.
        high: upper ends.
        confidence: of each interval, or of all together.
        together: whether all hold together.
        tidy: what was done to the unbiased shares; the intervals are those of the unbiased ones.
        above_noise: which shares noise alone would not explain, for all answers together.

    """

    document: Document
    epsilon: Any
    reports: int
    shares: Floats
    low: Floats
    high: Floats
    confidence: Fraction
    together: bool
    tidy: str
    above_noise: NDArray[np.bool_]

    @property
    def card(self) -> str:
        """What is promised about these numbers, in a line."""
        loss = f"epsilon {float(self.epsilon):.4g} each"
        reports = "1 report" if self.reports == 1 else f"{self.reports} reports"
        return f"local: {reports}, {loss} ({ANSWER}), debited on the devices"

    def names(self) -> list[str]:
        """Return the answers."""
        return [self.document.domain.name(cell) for cell in range(len(self.shares))]

    def record(self) -> dict[str, Any]:
        """Return the estimate as plain JSON data; an infinite end becomes null."""
        rows = zip(
            self.names(), self.shares.tolist(), self.low.tolist(), self.high.tolist(), self.above_noise, strict=True
        )
        return {
            "question": self.document.question,
            "document": self.document.identifier,
            "randomiser": self.document.randomiser,
            "epsilon": str(self.epsilon),
            "unit": str(ANSWER),
            "reports": self.reports,
            "confidence": str(self.confidence),
            "together": self.together,
            "tidy": self.tidy,
            "answers": [
                {
                    "answer": name,
                    "share": share,
                    "low": low if np.isfinite(low) else None,
                    "high": high if np.isfinite(high) else None,
                    "above_noise": bool(above),
                }
                for name, share, low, high, above in rows
            ],
        }


def block_of(payloads: bytes, octets: int) -> NDArray[np.uint8]:
    """Return payloads that follow each other, one a row."""
    return np.frombuffer(payloads, dtype=np.uint8).reshape(-1, octets)


def estimate_reports(document: Document, texts: Iterable[str], **options: Any) -> tuple[Estimate, dict[str, int]]:
    """Return the estimate from reports in memory, and how many there were of each kind; a repeated one counts once.

    Args:
        document: of the survey.
        texts: the reports.
        options: of ``Estimator.estimate``.

    """
    gate, estimator = Gate(document), Estimator(document)
    counts = dict.fromkeys((verdict.value for verdict in Verdict), 0)
    seen: dict[bytes, bytes] = {}
    for verdict, report in gate.judge([*texts]):
        is_repeated = report is not None and report.nonce in seen
        counts[(Verdict.REPEATED if is_repeated else verdict).value] += 1
        if report is not None and not is_repeated:
            seen[report.nonce] = report.payload
    if seen:
        estimator.add(block_of(b"".join(seen.values()), octets_of(estimator.law.half.size)))
    return estimator.estimate(**options), counts
