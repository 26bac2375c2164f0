"""Sampling until there is a verdict, at a confidence that holds for the whole search.

Stage k draws twice as many fresh outcomes as stage k - 1 and may raise a false alarm with probability
false_alarm / (k (k + 1)). These sum to no more than ``false_alarm`` over any number of stages, so it is allowed to look
after every stage and to stop when it pleases: the union bound does not ask why one stopped. A gross leak is found after
the first few hundred outcomes; a small one costs at most twice what the last stage alone would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dither.audit.blackbox import FEWEST_SAMPLES, Verdict, audit
from dither.audit.samplers import Sampler
from dither.errors import InvalidParameter
from dither.exact import Number, whole
from dither.mechanisms import Mechanism
from dither.privacy import Loss


class Outcome(Enum):
    """The reason why a search ended."""

    REFUTED = "the claim is refuted"
    TIGHT = "nearly all that is claimed to be lost was shown to be lost"
    EXHAUSTED = "the outcomes allowed are used up: not refuted, which proves nothing"


@dataclass(frozen=True)
class Search:
    """The stages of a search, and why it ended.

    Guarantee: a true claim is refuted with probability at most ``false_alarm``, over all stages together.
    """

    outcome: Outcome
    stages: tuple[Verdict, ...]
    false_alarm: float

    @property
    def strongest(self) -> Verdict:
        """The refuting verdict, or else the one that shows most."""
        return max(self.stages, key=lambda verdict: (verdict.is_refuted, verdict.tightness or 0.0))

    @property
    def samples(self) -> int:
        """The number of outcomes drawn for each of the two inputs, in all."""
        return sum(verdict.evidence.samples for verdict in self.stages)

    def __str__(self) -> str:
        return f"{self.outcome.value} ({self.samples:,} outcomes a side, {len(self.stages)} stages): {self.strongest}"


def audit_until(
    subject: Mechanism[Any, Any] | Sampler,
    value: Any,
    neighbour: Any,
    *,
    most_samples: int = 4_000_000,
    tight: float = 0.95,
    d_in: Number = 1,
    claim: Loss | None = None,
    false_alarm: float = 1e-6,
    pair: str = "",
    progress: Callable[[Verdict], None] | None = None,
) -> Search:
    """Audit in stages of growing size until the claim is refuted, shown to be tight, or the outcomes are used up.

    Args:
        subject: a mechanism, or a sampler of your own together with its ``claim``.
        value: an input.
        neighbour: another, at most ``d_in`` away.
        most_samples: the largest number of outcomes drawn for each of them, in all stages together.
        tight: the share of the claim that suffices to stop.
        d_in: the distance of the two.
        claim: the claim of a sampler.
        false_alarm: the probability of refuting a true claim in any stage.
        pair: a name for the two inputs.
        progress: is told the verdict of each stage.

    >>> from dither.mechanisms import RandomisedResponse
    >>> audit_until(RandomisedResponse(epsilon=1), 0, 1, tight=0.8).outcome
    <Outcome.TIGHT: 'nearly all that is claimed to be lost was shown to be lost'>

    """
    left = whole("most_samples", most_samples, least=FEWEST_SAMPLES)
    if not 0 < tight <= 1:
        raise InvalidParameter("tight", tight, "a share above 0 and at most 1")
    stages: list[Verdict] = []
    count, outcome = 2 * FEWEST_SAMPLES, Outcome.EXHAUSTED
    while left >= FEWEST_SAMPLES and outcome is Outcome.EXHAUSTED:
        # What would be left over for no stage at all is drawn in this one.
        count = left if left < 2 * count else count
        number = len(stages) + 1
        verdict = audit(
            subject,
            value,
            neighbour,
            samples=count,
            d_in=d_in,
            claim=claim,
            false_alarm=false_alarm / (number * (number + 1)),
            pair=pair,
        )
        stages.append(verdict)
        if progress is not None:
            progress(verdict)
        if verdict.is_refuted:
            outcome = Outcome.REFUTED
        elif (verdict.tightness or 0.0) >= tight:
            outcome = Outcome.TIGHT
        left, count = left - count, 2 * count
    return Search(outcome, tuple(stages), false_alarm)
