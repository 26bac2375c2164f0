"""Test the claim of a specimen, and report the findings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dither.audit.blackbox import audit
from dither.audit.specimens.record import Specimen, epsilon_of
from dither.errors import InvalidParameter
from dither.exact import to_float


@dataclass(frozen=True)
class Refutation:
    """The findings against a claim.

    Guarantee: a claim that is true is refuted with probability at most ``false_alarm``; 0 for a proof.
    """

    specimen: Specimen
    is_refuted: bool
    epsilon_lower: float
    delta_lower: float | None
    evidence: str
    samples: int
    false_alarm: float

    @property
    def bound(self) -> str:
        """The measured bound, for people."""
        if math.isinf(self.epsilon_lower):
            return f"no epsilon; delta >= {_rounded_down(self.delta_lower or 0.0)}"
        return f"epsilon >= {_rounded_down(self.epsilon_lower)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; an ``epsilon_lower`` of null means that no epsilon at all is kept."""
        specimen = self.specimen
        return {
            "name": specimen.name,
            "source": specimen.source._asdict(),
            "claim": specimen.claim.to_dict(),
            "what_is_wrong": specimen.what_is_wrong,
            "pair": specimen.pair,
            "refuted_by": specimen.refuted_by,
            "is_refuted": self.is_refuted,
            "epsilon_lower": None if math.isinf(self.epsilon_lower) else self.epsilon_lower,
            "delta_lower": self.delta_lower,
            "evidence": self.evidence,
            "samples": self.samples,
            "false_alarm": self.false_alarm,
            "replacement": specimen.replacement,
        }


def refute(specimen: Specimen, samples: int | None = None, false_alarm: float = 1e-6) -> Refutation:
    """Return the evidence against the claim of a specimen.

    Args:
        specimen: one of those here.
        samples: the number of outcomes to draw on each side, if it is sampled; its own number if None.
        false_alarm: the probability of refuting a claim that is true, where it is sampled.

    """
    if specimen.sample is not None:
        drawn = specimen.samples if samples is None else samples
        verdict = audit(
            specimen.sample,
            specimen.value,
            specimen.neighbour,
            samples=drawn,
            claim=specimen.claim,
            false_alarm=false_alarm,
        )
        found = verdict.evidence
        return Refutation(specimen, verdict.is_refuted, found.epsilon_lower, None, str(found), drawn, false_alarm)
    if specimen.weigh is None:
        raise InvalidParameter("specimen", specimen.name, "sampled or weighed")
    odds, claim = specimen.weigh(specimen.value, specimen.neighbour), specimen.claim
    least, most = _rounded_down(to_float(odds.least, "down")), _rounded_up(to_float(odds.most, "up"))
    text = f"{odds.event}: probability >= {least} on the value, <= {most} on the neighbour"
    shown = odds.epsilon_lower(claim.delta)
    return Refutation(specimen, odds.refutes(claim), shown, odds.delta_lower(epsilon_of(claim)), text, 0, 0.0)


def _rounded_down(number: float) -> str:
    """Return three significant digits that are not above a positive number.

    >>> _rounded_down(0.34983), _rounded_up(0.34983), _rounded_down(0.0)
    ('0.349', '0.35', '0')
    """
    return _three_digits(number, math.floor)


def _rounded_up(number: float) -> str:
    """Return three significant digits that are not below a positive number."""
    return _three_digits(number, math.ceil)


def _three_digits(number: float, towards: Callable[[float], int]) -> str:
    if number == 0:
        return "0"
    places = 2 - math.floor(math.log10(number))
    return f"{towards(number * 10.0**places) / 10.0**places:.3g}"
