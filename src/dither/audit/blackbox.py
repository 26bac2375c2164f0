"""Lower bounds on epsilon from outcomes alone.

Draw from both of two neighbouring inputs, choose events on the first quarter of the draws, and count them on the rest:
if an event is likelier on one side by more than e^epsilon, beyond what Clopper-Pearson limits leave to chance, the
promise is broken. A bound can only be too low. It sees no event that is rarer than about ten in the number of draws,
and no pair but the one it is given; what it cannot refute it has not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.analysts import Analyst, same_rule
from dither.audit.bounds import epsilon_shown, lower_limit, upper_limit
from dither.audit.events import Event, choose
from dither.audit.features import Column, Feature, features
from dither.audit.learned import learned
from dither.audit.moments import Moments, rho_shown
from dither.audit.samplers import Sampler, sampler_of
from dither.audit.sketches import Sketch, sketch
from dither.errors import InvalidParameter
from dither.exact import Number, non_negative, probability, to_float, whole
from dither.mechanisms import Dialogue, Mechanism, Primitive
from dither.privacy import Loss, Metric, pure_to_zcdp

#: The deltas at which a promise of zCDP is put to the test, beside its own.
DELTAS = tuple(Fraction(1, 10**power) for power in (4, 3, 2, 1))
FEWEST_SAMPLES = 500
_SIDES = ("the value", "the neighbour")
_FIRST_DRAWS, _PILOT_DRAWS = 128, 4096
_ENTRIES_AT_A_TIME = 1 << 21


@dataclass(frozen=True)
class Evidence:
    """A lower bound on epsilon and the evidence for it.

    Guarantee: a mechanism that is (epsilon, ``delta``)-differentially private on the two inputs yields an
    ``epsilon_lower`` above epsilon with probability at most ``false_alarm``.
    """

    epsilon_lower: float
    delta: float
    event: str
    direction: str
    hits: int
    other_hits: int
    trials: int
    samples: int
    events_tested: int
    false_alarm: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        at = f" at delta = {self.delta:g}" if self.delta else ""
        return (
            f"epsilon >= {self.epsilon_lower:.4g}{at}: {self.event}, {self.hits} to {self.other_hits} times in "
            f"{self.trials} in favour of {self.direction} (false alarm {self.false_alarm:.1g})"
        )


@dataclass(frozen=True)
class Verdict:
    """The result of an audit: a claim, the strongest evidence against it, and whether that suffices."""

    subject: str
    pair: str
    claim: Loss
    epsilon_claimed: Fraction
    evidence: Evidence
    seconds: float
    moments: Moments | None = None
    sketch: Sketch | None = field(default=None, compare=False, repr=False)

    @property
    def is_refuted(self) -> bool:
        """Whether a lower bound exceeds the claim."""
        is_rho_exceeded = self.moments is not None and Fraction(self.moments.rho_lower) > self.claim.rho
        return is_rho_exceeded or Fraction(self.evidence.epsilon_lower) > self.epsilon_claimed

    @property
    def tightness(self) -> float | None:
        """The bound as a share of the claim: of epsilon at the delta of the evidence, or of rho if that is larger.

        None when nothing is claimed to be lost.
        """
        claimed = to_float(self.epsilon_claimed, "up")
        if not claimed:
            return None
        share = self.evidence.epsilon_lower / claimed
        return share if self.moments is None else max(share, self.moments.rho_lower / to_float(self.claim.rho, "up"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "subject": self.subject,
            "pair": self.pair,
            "claim": self.claim.to_dict(),
            "epsilon_claimed": str(self.epsilon_claimed),
            "is_refuted": self.is_refuted,
            "tightness": self.tightness,
            "evidence": self.evidence.to_dict(),
            "moments": None if self.moments is None else self.moments.to_dict(),
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        verdict = "REFUTED" if self.is_refuted else "not refuted"
        pair = f" on {self.pair}" if self.pair else ""
        moments = "" if self.moments is None else f"; {self.moments}"
        return f"{self.subject}{pair}: {verdict}, {self.claim} claimed, {self.evidence}{moments}"


def lower_bound(
    sample: Sampler, value: Any, neighbour: Any, *, samples: int, false_alarm: float = 1e-6, delta: Number = 0
) -> Evidence:
    """Return the largest epsilon that the outcomes on two inputs refute.

    Args:
        sample: returns a number of independent outcomes for an input, one a row.
        value: an input.
        neighbour: another, at the distance for which epsilon is wanted.
        samples: the number of outcomes drawn for each of them.
        false_alarm: the probability, over the draws, of a bound that is too high.
        delta: the delta beside epsilon.

    >>> bound = lower_bound(lambda value, count: np.full(count, value), 0, 1, samples=10_000)
    >>> bound.epsilon_lower > 5, bound.event
    (True, 'x in {0}')

    """
    at = probability("delta", delta)
    drawn = _draws(sample, value, neighbour, samples=samples, false_alarm=false_alarm)
    found = _tested(drawn, false_alarm, [at])
    return max((evidence for evidence, _ in found), key=lambda evidence: evidence.epsilon_lower)


def audit(
    subject: Mechanism[Any, Any] | Sampler,
    value: Any,
    neighbour: Any,
    *,
    samples: int,
    d_in: Number = 1,
    claim: Loss | None = None,
    false_alarm: float = 1e-6,
    pair: str = "",
) -> Verdict:
    """Return whether the outcomes on two neighbours refute the claim.

    Args:
        subject: a mechanism, or a sampler of your own together with its ``claim``.
        value: an input; a script of inputs for an interactive primitive.
        neighbour: another, at most ``d_in`` away.
        samples: the number of outcomes drawn for each of them.
        d_in: the distance of the two; a mechanism's claim is its loss at this distance.
        claim: the claim of a sampler.
        false_alarm: the probability of refuting a claim that is true.
        pair: a name for the two inputs.

    >>> from dither.mechanisms import Geometric
    >>> verdict = audit(Geometric(scale=1), 0, 1, samples=20_000)
    >>> verdict.is_refuted, verdict.tightness > 0.5
    (False, True)

    """
    start = perf_counter()
    if isinstance(subject, Mechanism):
        if claim is not None:
            raise InvalidParameter("claim", claim, "absent for a mechanism, which states its own")
        _check_distance(subject, value, neighbour, d_in)
        claim, sample, name = subject.loss(d_in), sampler_of(subject), repr(subject)
    else:
        if not isinstance(claim, Loss):
            raise InvalidParameter("claim", claim, "the loss that the sampler is claimed to have")
        sample, name = subject, getattr(subject, "__name__", "sampler")
    claimed = epsilons_claimed(claim)
    drawn = _draws(sample, value, neighbour, samples=samples, false_alarm=false_alarm)
    # Where rho is promised beyond what follows from epsilon, half of the false alarm goes to the test of rho.
    states_rho = claim.delta == 0 and len(claimed) > (claim.pure is not None)
    failure = false_alarm / 2 if states_rho else false_alarm
    moments = rho_shown(drawn.sides, drawn.features, drawn.choosing, false_alarm=failure) if states_rho else None
    found = _tested(drawn, failure, list(claimed))
    epsilon_at = {to_float(delta, "up"): epsilon for delta, epsilon in claimed.items()}

    def excess(pair: tuple[Evidence, Event | None]) -> float:
        return pair[0].epsilon_lower / max(to_float(epsilon_at[pair[0].delta], "up"), 1e-12)

    strongest, event = max(found, key=excess)
    return Verdict(
        name,
        pair,
        claim,
        epsilon_at[strongest.delta],
        strongest,
        perf_counter() - start,
        moments,
        None if event is None else _sketched(drawn, event),
    )


def epsilons_claimed(claim: Loss) -> dict[Fraction, Fraction]:
    """Return the epsilon that a loss claims at each delta worth testing.

    >>> from dither.privacy import PureDP
    >>> epsilons_claimed(PureDP(1))
    {Fraction(0, 1): Fraction(1, 1)}
    """
    claimed = {} if claim.pure is None else {claim.delta: claim.pure}
    if claim.pure is None or claim.rho < pure_to_zcdp(claim.pure):
        for spare in DELTAS:
            claimed[claim.delta + spare] = claim.to_approx(claim.delta + spare).epsilon
    return claimed


@dataclass(frozen=True)
class _Drawn:
    """Outcomes on both inputs, reduced to columns; the first ``choosing`` of each choose, the rest test."""

    features: list[Feature]
    sides: tuple[list[Column], list[Column]]
    choosing: int
    samples: int

    def tested(self, side: int, feature: int) -> Column:
        """Return the draws of one side that were not used for choosing."""
        return self.sides[side][feature][self.choosing :]


def _draws(sample: Sampler, value: Any, neighbour: Any, *, samples: int, false_alarm: float) -> _Drawn:
    count = whole("samples", samples, least=FEWEST_SAMPLES)
    if not 0 < false_alarm < 1:
        raise InvalidParameter("false_alarm", false_alarm, "a probability above 0 and below 1")
    choosing = count // 4
    return _Drawn(*_observe(sample, value, neighbour, count, choosing), choosing, count)


def _tested(drawn: _Drawn, false_alarm: float, deltas: Sequence[Fraction]) -> list[tuple[Evidence, Event | None]]:
    """Return what every event chosen on the first quarter shows on the rest, at every delta."""
    choosing, samples = drawn.choosing, drawn.samples
    trials = samples - choosing
    # A delta rounded up makes a bound smaller.
    wanted = [to_float(delta, "up") for delta in deltas]
    first = [column[:choosing] for column in drawn.sides[0]], [column[:choosing] for column in drawn.sides[1]]
    choices = choose(first, drawn.features, trials=trials, deltas=wanted)
    if not choices:
        said = "no event distinguishes the two"
        return [
            (Evidence(0.0, delta, said, _SIDES[0], 0, 0, trials, samples, 0, false_alarm), None) for delta in wanted
        ]
    found: list[tuple[Evidence, Event | None]] = []
    # Two limits for each event: by the union bound all hold at once, for every delta.
    failure = false_alarm / (2 * len(choices))
    for favours, event in choices:
        hits, others = (
            int(np.count_nonzero(event.contains(drawn.tested(side, event.feature)))) for side in (favours, 1 - favours)
        )
        least, most = lower_limit(hits, trials, failure), upper_limit(others, trials, failure)
        for delta in wanted:
            shown, told = epsilon_shown(least, most, delta), _SIDES[favours]
            line = Evidence(shown, delta, event.text, told, hits, others, trials, samples, len(choices), false_alarm)
            found.append((line, event))
    return found


def _sketched(drawn: _Drawn, event: Event) -> Sketch:
    feature = drawn.features[event.feature]
    here, there = (drawn.tested(side, event.feature) for side in (0, 1))
    return sketch(feature.name, event, here, there, is_ordered=feature.is_ordered)


def _observe(
    sample: Sampler, value: Any, neighbour: Any, count: int, choosing: int
) -> tuple[list[Feature], tuple[list[Column], list[Column]]]:
    """Return the features, and for both inputs a column of each; outcomes are reduced as they are drawn.

    The first draws serve to learn features. They are among those that choose events, and test none.
    """
    first = [_rows(sample, given, min(choosing, _FIRST_DRAWS)) for given in (value, neighbour)]
    if first[0].shape != first[1].shape:
        raise InvalidParameter("sample", f"shapes {first[0].shape} and {first[1].shape}", "of one shape on both inputs")
    entries = first[0].shape[1]
    more = min(choosing, _PILOT_DRAWS, _ENTRIES_AT_A_TIME // entries) - len(first[0])
    if more > 0:
        drawn = (_rows(sample, given, more) for given in (value, neighbour))
        first = [np.concatenate(parts) for parts in zip(first, drawn, strict=True)]
    dtype = np.result_type(*first, np.int8)
    looked_through = features(dtype, entries, _change(value, neighbour, entries))
    looked_through += learned(*(rows.astype(dtype, copy=False) for rows in first))

    def reduced(given: Any, rows: NDArray[Any]) -> list[Column]:
        parts = [[feature.of(rows.astype(dtype, copy=False)) for feature in looked_through]]
        left, block = count - len(rows), max(1, _ENTRIES_AT_A_TIME // entries)
        while left:
            rows = _rows(sample, given, min(left, block)).astype(dtype, copy=False)
            parts.append([feature.of(rows) for feature in looked_through])
            left -= len(rows)
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    return looked_through, (reduced(value, first[0]), reduced(neighbour, first[1]))


def _rows(sample: Callable[[Any, int], NDArray[Any]], given: Any, count: int) -> NDArray[Any]:
    drawn = np.asarray(sample(given, count))
    if drawn.ndim == 0 or len(drawn) != count or drawn.size == 0:
        raise InvalidParameter("sample", f"shape {drawn.shape}", f"a function that returns {count} outcomes, one a row")
    return drawn.reshape(count, -1)


def _change(value: Any, neighbour: Any, entries: int) -> NDArray[np.float64] | None:
    """Return how the inputs differ, if they are numbers of the outcome's shape."""
    try:
        here, there = (np.asarray(given, dtype=np.float64).ravel() for given in (value, neighbour))
    except (TypeError, ValueError):
        return None
    if here.size != entries or there.size != entries:
        return None
    change = np.nan_to_num(there - here)
    longest = float(np.abs(change).max())
    return change / longest if longest else change


def _check_distance(mechanism: Mechanism[Any, Any], value: Any, neighbour: Any, d_in: Number) -> None:
    """Refuse a pair that is farther apart than the claim covers: it would prove nothing."""
    if isinstance(value, Analyst) or isinstance(neighbour, Analyst):
        value, neighbour = same_rule(value, neighbour)
    if isinstance(mechanism.distance, Metric):
        if isinstance(value, Dialogue) and isinstance(neighbour, Dialogue):
            # Questions are public and the same for both: what is apart is the data.
            same = len(value.script) == len(neighbour.script)
            if not same or not all(map(np.array_equal, value.script, neighbour.script)):
                raise InvalidParameter("neighbour", "a conversation with other questions", "the same questions")
            value, neighbour = value.data, neighbour.data
        apart = mechanism.distance.measure(value, neighbour)
        allowed = non_negative("d_in", d_in) + (mechanism.slack if isinstance(mechanism, Primitive) else 0)
        if apart is None or apart > allowed:
            raise InvalidParameter("neighbour", f"a value at distance {apart}", f"at most {allowed} from the value")
