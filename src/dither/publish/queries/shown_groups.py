"""From how many people a discovered group is shown, and what chance the declared number of people leaves it.

The number of people is what the owner declares (``DataSet.people``), known from a public source. It is never counted,
nor compared with the rows: then a refusal would be an answer about them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from dither.errors import DitherError, Unanswerable
from dither.mechanisms.propose_test_release import discrete_laplace_tail
from dither.publish.queries.answer import Answer

#: A query whose best group has less of a chance than this to be shown is refused.
LEAST_CHANCE: Final = Fraction(1, 20)
_ROUNDED_FROM: Final = 1000


def about(threshold: int) -> str:
    """Return a threshold as people read it: two digits of a large one.

    >>> about(6201), about(225)
    ('6,200', '225')
    """
    if threshold < _ROUNDED_FROM:
        return str(threshold)
    step: int = 10 ** (len(str(threshold)) - 2)
    return f"{round(threshold / step) * step:,}"


def threshold_words(answer: Answer) -> str:
    """Return a sentence: from how many people a discovered group is shown, and the chance of a group of all."""
    design = answer.design
    if design.discovery is None:
        return ""
    units, threshold = "people" if design.has_persons else "rows", design.discovery.threshold
    words = f"shown only if about {about(threshold)} {units} share it: a noisy number of {units} must reach {threshold}"
    chance = chance_of_all(answer)
    if chance is not None and chance < Fraction(1, 2):
        words += f"; {_with_all(answer, chance)}"
    return words


def chance_of_all(answer: Answer) -> Fraction | None:
    """Return the chance that a group of all declared people is shown; None where no number or no threshold is."""
    people, discovery = answer.query.dataset.people, answer.design.discovery
    if people is None or discovery is None or not answer.design.has_persons:
        return None
    return min(Fraction(1), discrete_laplace_tail(discovery.scale, discovery.threshold - people))


def with_one_group(answer: Answer) -> Answer | None:
    """Return the answer in which a person counts in one group; None where that changes nothing."""
    query, design = answer.query, answer.design
    if design.discovery is None or not design.has_persons or design.contribution.groups == 1:
        return None
    return replace(answer, query=replace(query, limits=replace(query.limits, groups=1)))


def check_shown(answer: Answer) -> None:
    """Refuse a query of which hardly any group can be shown, by the number of people that the owner declares."""
    chance = chance_of_all(answer)
    if chance is None or chance >= LEAST_CHANCE or answer.design.discovery is None:
        return
    threshold = answer.design.discovery.threshold
    raise Unanswerable(
        f"a group is shown only if about {about(threshold)} people share it, and {_with_all(answer, chance)}",
        f"{_instead(answer)}likely_empty=True, or --likely-empty in the command, asks all the same",
    )


def _with_all(answer: Answer, chance: Fraction) -> str:
    dataset = answer.query.dataset
    percent = f"{float(100 * chance):.1f} %" if chance >= Fraction(1, 1000) else "below 0.1 %"
    return f"{dataset.name} declares about {dataset.people:,}: a group of all of them has a chance of {percent}"


def _instead(answer: Answer) -> str:
    """Return what would lower the threshold, to be put before what else may be done."""
    try:
        other = with_one_group(answer)
        found = None if other is None else other.design.discovery
    except DitherError:
        found = None
    if found is None:
        return "a larger epsilon or delta lowers it; "
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) ..."
    return f"with one group a person it takes about {about(found.threshold)}: {options}; or "
