"""The server half of surveys whose answer is no list of shares: means, quantiles, items of sets, frequent values.

Same form as ``estimates``: payloads of reports in, rows with intervals out. Sums alone are stored, except for frequent
values of a huge domain, whose reports are searched again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, probability
from dither.local.document import Document
from dither.local.domains import Attributes, Bins, Categories, Domain, Range
from dither.local.estimates import Estimator
from dither.local.hitters import PaddedSet, PrefixHashing
from dither.local.numbers import HybridNumber, OneBitNumber, PiecewiseNumber
from dither.local.numbers.means import NumberRandomiser
from dither.local.numbers.sampled import SampledAttribute
from dither.local.numbers.wave import SquareWave, quantiles
from dither.local.randomiser import Randomiser, randomiser_of
from dither.local.rounds import MemoisedHashing, MemoisedKary, RapporResponse
from dither.privacy import ANSWER, Loss

#: How many frequent values are listed, and how many candidates of a Bloom filter are tried.
MOST_FOUND: Final = 20
_MOST_CANDIDATES: Final = 2**12
_LEVELS: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
#: Laws that ``law_named`` makes for a number with so many places, and for so many answers.
NUMBER_LAWS: Final[Mapping[str, Callable[..., Randomiser]]] = MappingProxyType(
    {law.name: law.calibrated for law in (OneBitNumber, PiecewiseNumber, HybridNumber, SquareWave)}
)
CATEGORY_LAWS: Final[Mapping[str, Callable[..., Randomiser]]] = MappingProxyType(
    {law.name: law.calibrated for law in (MemoisedKary, MemoisedHashing, RapporResponse)}
)
#: The names that ``law_named`` takes.
OTHERS: Final = (*NUMBER_LAWS, *CATEGORY_LAWS, PrefixHashing.name)


@dataclass(frozen=True)
class Row:
    """One estimated quantity.

    Args:
        name: of the quantity.
        value: the estimate.
        low: the lower end of its interval; NaN where no interval is known.
        high: the upper end.
        is_share: whether it is a share of people; else a number in the units of its answer.

    """

    name: str
    value: float
    low: float
    high: float
    is_share: bool


@dataclass(frozen=True)
class Quantities:
    """Estimated quantities of the answers to a survey.

    Args:
        document: of the survey.
        epsilon: what each report lost, debited on the device that drew it.
        reports: how many reports they come from.
        rows: the quantities.
        confidence: of each interval, or of all together.
        together: whether all intervals hold together.

    """

    document: Document
    epsilon: Any
    reports: int
    rows: tuple[Row, ...]
    confidence: Fraction
    together: bool

    @property
    def card(self) -> str:
        """What is promised about these numbers, in a line."""
        reports = "1 report" if self.reports == 1 else f"{self.reports} reports"
        return f"local: {reports}, epsilon {float(self.epsilon):.4g} each ({ANSWER}), debited on the devices"

    def record(self) -> dict[str, Any]:
        """Return the estimate as plain JSON data; infinite and unknown ends are null."""
        return {
            "question": self.document.question,
            "document": self.document.identifier,
            "randomiser": self.document.randomiser,
            "epsilon": str(self.epsilon),
            "unit": str(ANSWER),
            "reports": self.reports,
            "confidence": str(self.confidence),
            "together": self.together,
            "quantities": [
                {
                    "name": row.name,
                    "value": row.value,
                    "low": row.low if np.isfinite(row.low) else None,
                    "high": row.high if np.isfinite(row.high) else None,
                    "is_share": row.is_share,
                }
                for row in self.rows
            ],
        }


class QuantityEstimator:
    """Adds up reports, and estimates the quantities of their law.

    Args:
        document: of a survey about numbers, sets, or values of a huge domain.

    """

    def __init__(self, document: Document) -> None:
        self.law = randomiser_of(document)
        if not isinstance(self.law, NumberRandomiser | PaddedSet | PrefixHashing | RapporResponse):
            raise InvalidParameter("randomiser", document.randomiser, "one whose reports give an estimate")
        if isinstance(self.law, NumberRandomiser):
            _scales(document.domain)
        self.document, self.reports = document, 0
        self._tally: Any = None
        self._stored: list[NDArray[np.int64]] = []

    def add(self, payloads: NDArray[np.uint8]) -> None:
        """Add the payloads of reports, one a row; those that no client draws are dropped."""
        drawn, valid = self.law.decode(payloads)
        reports = drawn[valid]
        self.reports += len(reports)
        if isinstance(self.law, PrefixHashing):
            self._stored.append(reports)
        else:
            added = _sums(self.law, reports)
            self._tally = added if self._tally is None else self._tally + added

    def estimate(self, confidence: Number = "0.95", *, together: bool = False, tidy: str = "none") -> Quantities:
        """Return the quantities.

        Args:
            confidence: of each interval, or of all together.
            together: whether all intervals are to hold together (by the union bound).
            tidy: ``none``; shares of a list alone can be tidied.

        """
        if tidy != "none":
            raise InvalidParameter(
                "tidy", tidy, f"none for {self.document.randomiser}: only shares of a list are tidied"
            )
        level = probability("confidence", confidence)
        rows = self._rows(level)
        if together and len(rows) > 1:
            rows = self._rows(1 - (1 - level) / len(rows))
        return Quantities(self.document, self.law.loss(1).epsilon, self.reports, tuple(rows), level, together)

    def _rows(self, level: Fraction) -> list[Row]:
        law, domain = self.law, self.document.domain
        empty = np.zeros((0, *law.draw_shape), dtype=np.int64)
        if isinstance(law, PrefixHashing):
            reports = np.concatenate([empty, *self._stored])
            found = law.find(reports, MOST_FOUND, confidence=level)
            return _shares([domain.name(cell) for cell in found.values.tolist()], found.shares, found.low, found.high)
        tally = _sums(law, empty) if self._tally is None else self._tally
        if isinstance(law, PaddedSet):
            held = law.holdings(tally, level)
            return _shares([_item(domain, item) for item in range(law.items)], held.shares, held.low, held.high)
        if isinstance(law, RapporResponse):
            if domain.cells > _MOST_CANDIDATES:
                rule = (
                    f"at most {_MOST_CANDIDATES} answers in a table; use RapporResponse.find with candidates for more"
                )
                raise InvalidParameter("domain", f"{domain.cells} answers", rule)
            seen = law.find(tally, np.arange(domain.cells), level)
            return _shares([domain.name(cell) for cell in seen.cells.tolist()], seen.shares, seen.low, seen.high)
        return _number_rows(law, domain, tally, level)


def estimator_of(document: Document) -> Estimator | QuantityEstimator:
    """Return the server half of a survey: of shares of a list, or of other quantities."""
    law = randomiser_of(document)
    is_other = isinstance(law, NumberRandomiser | PaddedSet | PrefixHashing | RapporResponse)
    return QuantityEstimator(document) if is_other else Estimator(document)


def _sums(law: Randomiser, reports: NDArray[np.int64]) -> Any:
    """Return the sums over reports that a law's estimate needs; those of parts add up."""
    if isinstance(law, NumberRandomiser):
        return law.tally(reports)
    assert isinstance(law, PaddedSet | RapporResponse)  # noqa: S101 - narrows a type; the constructor refuses others
    return law.totals(reports)


def _number_rows(law: Randomiser, domain: Domain, tally: Any, level: Fraction) -> list[Row]:
    """Return means in the units of the answer, quantiles of a square wave, and shares of sampled categories."""
    assert isinstance(law, NumberRandomiser)  # noqa: S101 - narrows a type
    scales = _scales(domain)
    found = law.means(tally, level)
    rows = []
    for place, (name, part, low, width) in enumerate(scales):
        if isinstance(law, SampledAttribute) and not law.steps[place]:
            from scipy.special import ndtri

            shares, spread = law.shares(tally, place)
            reach = -float(ndtri(float(1 - level) / 2)) * spread
            names = [f"{name}: {part.name(cell)}" for cell in range(part.cells)]
            rows += _shares(names, shares, shares - reach, shares + reach)
        else:
            value, least, most = (low + width * float(column[place]) for column in (found.means, found.low, found.high))
            rows.append(Row(f"mean of {name}" if name else "mean", value, least, most, is_share=False))
    if isinstance(law, SquareWave):
        _, _, low, width = scales[0]
        at = quantiles(law.distribution(tally), np.array(_LEVELS))
        for share, cell in zip(_LEVELS, at.tolist(), strict=True):
            rows.append(Row(f"{100 * share:g} % quantile", low + width * cell, np.nan, np.nan, is_share=False))
    return rows


def _scales(domain: Domain) -> list[tuple[str, Domain, float, float]]:
    """Return name, domain, value of the first cell and distance of cells for each number of an answer."""
    parts = domain.parts if isinstance(domain, Attributes) else (("", domain),)
    found: list[tuple[str, Domain, float, float]] = []
    for name, part in parts:
        if isinstance(part, Range):
            found.append((name, part, float(part.low), 1.0))
        elif isinstance(part, Bins):
            # A bin stands for its middle.
            found.append((name, part, part.low + (part.width - 1) / 2, float(part.width)))
        elif isinstance(part, Categories) and isinstance(domain, Attributes):
            found.append((name, part, 0.0, 1.0))
        else:
            raise InvalidParameter("domain.kind", part.kind, "range, bins or attributes, for a randomiser of numbers")
    return found


def _shares(names: list[str], shares: Any, low: Any, high: Any) -> list[Row]:
    rows = zip(names, shares.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Row(name, share, least, most, is_share=True) for name, share, least, most in rows]


def _item(domain: Domain, item: int) -> str:
    """Return the name of an item: the attribute of a domain of yes and no, or its number."""
    return domain.parts[item][0] if isinstance(domain, Attributes) else f"item {item}"


def law_named(name: str, within: Loss, domain: Domain) -> Randomiser:
    """Return a randomiser of numbers, of rounds or of frequent values for a domain, within a loss, by its name.

    >>> from dither.privacy import PureDP
    >>> law_named("hybrid-number", PureDP(1), Range(0, 9)).half.cells
    10

    """
    if name in NUMBER_LAWS:
        _scales(domain)
        return NUMBER_LAWS[name](within, places=domain.cells)
    if name in CATEGORY_LAWS:
        return CATEGORY_LAWS[name](within, categories=domain.cells)
    if name != PrefixHashing.name:
        raise InvalidParameter("randomiser", name, f"one of {', '.join(OTHERS)}")
    bits = (domain.cells - 1).bit_length()
    if domain.cells != 1 << bits:
        raise InvalidParameter("domain", f"{domain.cells} answers", "a power of 2 for prefix-hashing, such as 0..65535")
    # At first as many bits as can be listed soon, then a byte at a time.
    first = min(bits, 16)
    lengths = (*range(first, bits, 8), bits)
    return PrefixHashing.calibrated(within, word_bits=bits, lengths=lengths)
