"""Audits of all registered mechanisms.

Every example is tried on all its pairs with a part of the draws, and on the most telling ones again with all of them,
on fresh draws. The false alarm that is allowed is divided among all these tests, so it holds for the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from time import process_time
from typing import Any

import numpy as np

from dither.audit.blackbox import FEWEST_SAMPLES, Verdict, audit
from dither.audit.bounds import expected_epsilon
from dither.audit.pairs import Pair, pairs_of
from dither.audit.samplers import sampler_of
from dither.exact import whole
from dither.mechanisms import Example, InteractivePrimitive, Mechanism, Primitive, find, registered

Progress = Callable[[Verdict], None]

#: All pairs are tried with a twentieth of the draws, the two most telling ones with all.
SCREENING_SHARE = 20
_FEWEST_PAIRS = 4
_SCREENING_TIMES = 4
_SCREENING_TIMES_COMPOSED = 0.5
_SECONDS_A_PAIR = 8.0
_SECONDS_TO_MEASURE = 0.05
_FIRST_COUNT = 16


def audit_example(
    example: Example, samples: int, *, false_alarm: float = 1e-6, seconds: float = _SECONDS_A_PAIR
) -> Iterator[Verdict]:
    """Return the verdicts on one example: all pairs briefly, then the most telling ones in full.

    Args:
        example: a mechanism and data for it.
        samples: the draws a side of a pair in full; fewer for a mechanism that would take longer than ``seconds``.
        false_alarm: the probability that any verdict refutes a true claim.
        seconds: the approximate time limit of a pair in full.

    """
    mechanism, pairs = example.mechanism, pairs_of(example)
    if not pairs:
        return
    rate = _rate(mechanism, pairs[0], seconds)
    affordable = max(FEWEST_SAMPLES, int(seconds / 2 * rate))
    in_full = min(whole("samples", samples, least=FEWEST_SAMPLES), affordable)
    in_short = max(FEWEST_SAMPLES, in_full // SCREENING_SHARE)
    # Of a slow mechanism only as many pairs are tried as fit into a few times what a pair in full may take.
    is_quick = isinstance(mechanism, Primitive | InteractivePrimitive)
    fewest, times = (_FEWEST_PAIRS, _SCREENING_TIMES) if is_quick else (1, _SCREENING_TIMES_COMPOSED)
    pairs = pairs[: max(fewest, int(times * seconds / 2 * rate / in_short))]
    if in_short == in_full:
        # So slow that a part of the draws would be too few: every pair is tried in full at once.
        for pair in pairs:
            yield _verdict(mechanism, pair, in_full, false_alarm / len(pairs))
        return
    screened = []
    for pair in pairs:
        verdict = _verdict(mechanism, pair, in_short, false_alarm / (2 * len(pairs)))
        screened.append((verdict.tightness or 0.0, _promise(verdict, in_full), pair))
        yield verdict
    # What shows most already, and what may show most with more draws: a rare event, or a chance.
    telling = {pair.label: pair for *_, pair in (max(screened, key=itemgetter(rank)) for rank in (0, 1))}
    for pair in telling.values():
        yield _verdict(mechanism, pair, in_full, false_alarm / (2 * len(telling)))


def audit_registered(
    name: str,
    samples: int,
    progress: Progress | None = None,
    *,
    false_alarm: float = 1e-6,
    seconds: float = _SECONDS_A_PAIR,
) -> list[Verdict]:
    """Return the verdicts on every example and pair of a registered mechanism; ``progress`` is told each of them.

    Guarantee: with probability 1 - ``false_alarm`` none of them refutes a claim that is true.
    """
    examples = list(find(name).examples())
    verdicts = []
    for example in examples:
        for verdict in audit_example(example, samples, false_alarm=false_alarm / len(examples), seconds=seconds):
            verdicts.append(verdict)
            if progress is not None:
                progress(verdict)
    return verdicts


def audit_all(samples: int, progress: Progress | None = None, *, false_alarm: float = 1e-6) -> dict[str, list[Verdict]]:
    """Return the verdicts on every registered mechanism; the false alarm holds for all of them together."""
    names = list(registered())
    return {name: audit_registered(name, samples, progress, false_alarm=false_alarm / len(names)) for name in names}


def _verdict(mechanism: Mechanism[Any, Any], pair: Pair, samples: int, false_alarm: float) -> Verdict:
    return audit(
        mechanism,
        pair.value,
        pair.neighbour,
        d_in=pair.d_in,
        samples=samples,
        false_alarm=false_alarm,
        pair=pair.label,
    )


def _promise(verdict: Verdict, samples: int) -> float:
    """Return the approximate share of the claim that the found event would show with this number of samples."""
    found, claimed = verdict.evidence, float(verdict.epsilon_claimed)
    hits, others = np.asarray(found.hits), np.asarray(found.other_hits)
    shown = expected_epsilon(hits, others, found.trials, samples * found.trials // found.samples, found.delta)
    return float(shown) / claimed if claimed else 0.0


def _rate(mechanism: Mechanism[Any, Any], pair: Pair, seconds: float) -> float:
    """Return how many outcomes are drawn in a second, from the time that some take; their values play no part.

    Time of this process, so that an audit on a busy machine is as strong as on a quiet one.
    """
    sample, count, took = sampler_of(mechanism), _FIRST_COUNT, 0.0
    while took < min(_SECONDS_TO_MEASURE, seconds / 4):
        count *= 2
        start = process_time()
        sample(pair.value, count)
        took = process_time() - start
    return count / took
