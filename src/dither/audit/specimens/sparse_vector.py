"""Four of the six sparse-vector algorithms that Lyu, Su and Li compared; numbers are those of their figure 1.

All compare integers, which a step changes by at most 1 each, with a noisy threshold at 0, and say yes or no.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dither.audit.specimens.laws import HALF, at_least, below, chance, claimed
from dither.audit.specimens.record import LYU, Odds, Source, Specimen

_FARTHEST = 90
_EIGHTH = Fraction(1, 8)

Answers = Sequence[bool]


def transcript(
    values: Sequence[int], answers: Answers, query: Fraction | None, told: int | None = None
) -> tuple[Fraction, Fraction]:
    """Return bounds on the probability of these answers, under threshold noise of ratio 1/2.

    Args:
        values: the compared values, one after the other.
        answers: whether each is above.
        query: the ratio of the noise on every value; None for no noise.
        told: the noisy value that is printed with the last answer, if it is.

    """
    total = Fraction(0)
    for threshold in range(-_FARTHEST, _FARTHEST + 1):
        part = chance(HALF, threshold)
        for number, (value, is_above) in enumerate(zip(values, answers, strict=True)):
            gap = threshold - value
            if query is None:
                part *= int((gap <= 0) is is_above)
            elif told is not None and number == len(values) - 1:
                part *= chance(query, told - value) * int(told >= threshold)
            else:
                part *= at_least(query, gap) if is_above else below(query, gap)
            if part == 0:
                break
        total += part
    # Without noise on the values, a threshold beyond them all is answered alike by all of them.
    beyond = 0 if query is None and len(set(answers)) > 1 else 2 * at_least(HALF, _FARTHEST + 1)
    return total, min(Fraction(1), total + beyond)


def _odds(
    value: Sequence[int], neighbour: Sequence[int], answers: Answers, query: Fraction | None, told: int | None = None
) -> Odds:
    shown = " ".join("yes" if answer else "no" for answer in answers)
    event = f"the answers {shown}" if told is None else f"the answers {shown}, the last with the value {told}"
    least, most = transcript(value, answers, query, told)[0], transcript(neighbour, answers, query, told)[1]
    return Odds(event, least, most)


def roth(value: Sequence[int], neighbour: Sequence[int]) -> Odds:
    """Return the odds of algorithm 3: one positive answer, printed as the very value that was compared."""
    return _odds(value, neighbour, [False] * (len(value) - 1) + [True], HALF, told=0)


def lee_clifton(value: Sequence[int], neighbour: Sequence[int]) -> Odds:
    """Return the odds of algorithm 4: noise that does not grow with the number of positive answers."""
    return _odds(value, neighbour, [False, True] * (len(value) // 2), _EIGHTH)


def stoddard(value: Sequence[int], neighbour: Sequence[int]) -> Odds:
    """Return the odds of algorithm 5: a noisy threshold, and no noise on the values."""
    return _odds(value, neighbour, [False, True], None)


def chen(value: Sequence[int], neighbour: Sequence[int]) -> Odds:
    """Return the odds of algorithm 6: noise on both, and no end."""
    return _odds(value, neighbour, [False, True] * (len(value) // 2), HALF)


SPECIMENS = (
    Specimen(
        name="sparse-vector-telling-values",
        source=Source(LYU, "algorithm 3, after Roth's lecture notes (2011)"),
        claim=claimed(4),
        what_is_wrong=(
            "The noisy value that passed the test is printed, and reveals that the threshold is below it: with every "
            "no before it the loss grows without end."
        ),
        value=(0,) * 11,
        neighbour=(1,) * 10 + (0,),
        step="every answer moves by at most 1",
        refuted_by="closed form",
        replacement="numeric-sparse",
        weigh=roth,
    ),
    Specimen(
        name="sparse-vector-lee-clifton",
        source=Source(LYU, "algorithm 4, the filter of Lee and Clifton (2014)"),
        claim=claimed(16),
        what_is_wrong=(
            "The noise on the values does not grow with the number c of positive answers: what holds is (1 + 6c) / 4 "
            "times the epsilon that is claimed."
        ),
        value=(0, 1) * 3,
        neighbour=(1, 0) * 3,
        step="every answer moves by at most 1",
        refuted_by="closed form",
        replacement="above-threshold",
        weigh=lee_clifton,
    ),
    Specimen(
        name="sparse-vector-without-query-noise",
        source=Source(LYU, "algorithm 5, after Stoddard et al. (2014)"),
        claim=claimed(4),
        what_is_wrong="Only the threshold is noisy, so the answers order the values: "
        "a no to the smaller and a yes to the larger cannot come from the reverse.",
        value=(0, 1),
        neighbour=(1, 0),
        step="every answer moves by at most 1",
        refuted_by="exact argument",
        replacement="above-threshold",
        weigh=stoddard,
    ),
    Specimen(
        name="sparse-vector-without-end",
        source=Source(LYU, "algorithm 6, the filter of JTree (Chen et al. 2015)"),
        claim=claimed(4),
        what_is_wrong="Positive answers are never counted and never end the run: the loss grows with their number.",
        value=(0, 1) * 6,
        neighbour=(1, 0) * 6,
        step="every answer moves by at most 1",
        refuted_by="closed form",
        replacement="jtree",
        weigh=chen,
    ),
)
