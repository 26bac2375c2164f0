"""One line of an audit: what was tried on one instance, the findings, and the evidence in words and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from time import process_time
from typing import Any

from dither.audit.blackbox import Verdict, audit
from dither.audit.greybox import grey_box, shown
from dither.audit.pairs import Pair, pairs_of
from dither.audit.runs import audit_example
from dither.audit.sketches import Sketch
from dither.audit.subjects import Subject
from dither.mechanisms import Composed, Example, Interactive, InteractivePrimitive

#: On their worst pairs these lose exactly what they claim, in an event that is not rare.
TIGHT = frozenset({"geometric", "laplace", "permute-and-flip", "randomised-response"})
LEAST_TIGHTNESS = 0.95
#: With fewer samples a side chance alone hides a twentieth.
SAMPLES_FOR_POWER = 1_000_000
#: Seconds of a core for a pair in full. Two pairs are tried in full at most, and all of them in short before: four
#: times that in all for primitives and conversations, and half of it for composed mechanisms: 20 seconds in all.
SECONDS_PRIMITIVE, SECONDS_TALK, SECONDS_COMPOSED = 75.0, 8.0, 8.0
#: Seconds of a core in which the pairs must be replayed.
SECONDS_REPLAY = 60.0


@dataclass(frozen=True)
class Account:
    """The findings on one instance: plain texts and numbers, to be printed, drawn and sent anywhere."""

    name: str
    number: int
    subject: str
    claim: str
    bound: str
    share: float | None
    samples: int
    tests: int
    pairs: int
    pair: str
    value: str
    neighbour: str
    evidence: str
    event: str
    replayed: int
    seconds: float
    is_refuted: bool
    complaints: tuple[str, ...]
    sketch: Sketch | None = None
    kind: str = "of your own"

    @property
    def verdict(self) -> str:
        """The verdict in a word or two."""
        if self.is_refuted:
            return "REFUTED"
        return "COMPLAINT" if self.complaints else "holds"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def account(
    name: str,
    number: int,
    found: Example | Subject,
    *,
    samples: int,
    false_alarm: float,
    replays: int = 0,
    seconds: float | None = None,
    progress: Callable[[Verdict], None] | None = None,
) -> Account:
    """Audit one instance by its outcomes and, if it is composed, by replaying; return the findings.

    Args:
        name: under which it is listed.
        number: which of the instances of that name it is.
        found: the instance.
        samples: outcomes a side of each pair in full, if there is time.
        false_alarm: the probability that a true claim is refuted.
        replays: the number of pairs to replay.
        seconds: the time limit of a pair in full; by default one that suits its kind.
        progress: is told each verdict.

    """
    start, verdicts = process_time(), []
    for verdict in _verdicts(found, samples, false_alarm, _seconds(found) if seconds is None else seconds):
        verdicts.append(verdict)
        if progress is not None:
            progress(verdict)
    if not verdicts:
        complaint = f"{name} {number}: no pair of neighbours to audit it on"
        nothing = Account(name, number, name, "", "", None, 0, 0, 0, "", "", "", "", "", 0, 0.0, False, (complaint,))
        return replace(nothing, kind=kind_of(found))
    worst = max(verdicts, key=lambda verdict: (verdict.is_refuted, verdict.tightness or 0.0, verdict.evidence.samples))
    is_refuted = any(verdict.is_refuted for verdict in verdicts)
    complaints = [str(verdict) for verdict in verdicts if verdict.is_refuted]
    if not complaints and is_powerless(name, worst):
        complaints.append(f"{name} {number}: the audit has no power, {worst}")
    replayed = None
    if replays and isinstance(found, Example) and isinstance(found.mechanism, Composed | Interactive):
        replayed = grey_box(found, pairs=replays, seconds=SECONDS_REPLAY)
    if replayed is not None:
        is_refuted = is_refuted or not replayed.is_clean
        complaints += [f"{name} {number}: {leak}" for leak in replayed.leaks]
        if not replayed.is_whole:
            complaints.append(f"{name} {number}: only {replayed.pairs} of {replays} pairs were replayed in time")
    given = {pair.label: pair for pair in _pairs(found)}.get(worst.pair)
    return Account(
        name=name,
        number=number,
        subject=worst.subject,
        claim=str(worst.claim),
        bound=bound_shown(worst),
        share=worst.tightness,
        samples=worst.evidence.samples,
        tests=len(verdicts),
        pairs=len({verdict.pair for verdict in verdicts}),
        pair=worst.pair,
        value="" if given is None else shown(given.value),
        neighbour="" if given is None else shown(given.neighbour),
        evidence=_evidence(worst),
        event=worst.evidence.event,
        replayed=0 if replayed is None else replayed.pairs,
        seconds=process_time() - start,
        is_refuted=is_refuted,
        complaints=tuple(complaints),
        sketch=worst.sketch,
        kind=kind_of(found),
    )


def kind_of(found: Example | Subject) -> str:
    """Return the kind of subject: a primitive, a conversation, composed, or the caller's own."""
    mechanism = found.mechanism if isinstance(found, Example) else None
    if isinstance(mechanism, Composed | Interactive):
        return "composed"
    if isinstance(mechanism, InteractivePrimitive):
        return "conversation"
    return "of your own" if mechanism is None else "primitive"


def is_powerless(name: str, verdict: Verdict) -> bool:
    """Whether a mechanism known to lose its whole claim, with enough samples, was not shown to lose nearly that."""
    is_tight = name in TIGHT and verdict.claim.pure == 1 and verdict.evidence.samples >= SAMPLES_FOR_POWER
    return is_tight and (verdict.tightness or 0.0) < LEAST_TIGHTNESS


def bound_shown(verdict: Verdict) -> str:
    """Return the most telling bound, as a short text."""
    evidence, moments = verdict.evidence, verdict.moments
    share, claimed = verdict.tightness or 0.0, float(verdict.epsilon_claimed)
    if moments is not None and claimed and share > evidence.epsilon_lower / claimed:
        return f"rho >= {moments.rho_lower:.4g}"
    at = f" at delta {evidence.delta:g}" if evidence.delta else ""
    return f"epsilon >= {evidence.epsilon_lower:.4f}{at}"


def _evidence(verdict: Verdict) -> str:
    return str(verdict.evidence) if verdict.moments is None else f"{verdict.evidence}; {verdict.moments}"


def _verdicts(found: Example | Subject, samples: int, false_alarm: float, seconds: float) -> Iterator[Verdict]:
    if isinstance(found, Example):
        yield from audit_example(found, samples, false_alarm=false_alarm, seconds=seconds)
        return
    for pair in found.pairs:
        yield audit(
            found.sample,
            pair.value,
            pair.neighbour,
            claim=found.claim,
            samples=samples,
            false_alarm=false_alarm / len(found.pairs),
            pair=pair.label,
        )


def _pairs(found: Example | Subject) -> list[Pair]:
    return pairs_of(found) if isinstance(found, Example) else list(found.pairs)


def _seconds(found: Example | Subject) -> float:
    if not isinstance(found, Example) or isinstance(found.mechanism, Composed | Interactive):
        return SECONDS_COMPOSED
    return SECONDS_TALK if isinstance(found.mechanism, InteractivePrimitive) else SECONDS_PRIMITIVE
