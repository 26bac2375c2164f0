"""The facts about a specimen, and how its claim is tested.

A claim is refuted by an event that is too likely on one of two neighbours. **Sampling** finds such an event among
outcomes and is sure up to a stated false alarm. A **closed form** encloses the probabilities of one event between
rationals, and an **exact argument** shows an event that one neighbour allows and the other does not: both prove, and
their false alarm is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Any, Literal, NamedTuple

from dither.audit.samplers import Sampler
from dither.errors import InvalidParameter
from dither.exact import exp_up, log_down, to_float
from dither.privacy import Loss

Way = Literal["sampling", "closed form", "exact argument"]
#: Stands for a sound version that is not registered.
NONE_YET = "none yet"
_FEW = 3


class Source(NamedTuple):
    """Where something was printed."""

    title: str
    section: str

    def __str__(self) -> str:
        return f"{self.title}, {self.section}"


BOOK = "Zhu, Li, Zhou and Yu, Differential Privacy and Applications (2017)"
LYU = "Lyu, Su and Li, Understanding the Sparse Vector Technique (2017)"
KENTUCKY = "Liu, doctoral thesis, University of Kentucky (2015)"
SASKATCHEWAN = "Kar, master's thesis, University of Saskatchewan (2017)"
ADELAIDE = "Lu, Differentially Private Data Analytics, doctoral thesis, University of Adelaide (2021)"


@dataclass(frozen=True)
class Odds:
    """An event that has at least probability ``least`` on the value, and at most probability ``most`` on the neighbour.

    Args:
        event: what happens.
        least: a lower bound on its probability on the value.
        most: an upper bound on its probability on the neighbour.

    """

    event: str
    least: Fraction
    most: Fraction

    def __post_init__(self) -> None:
        for name in ("least", "most"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidParameter(name, getattr(self, name), "a probability")

    def refutes(self, claim: Loss) -> bool:
        """Whether no mechanism that keeps the claim can have this event so likely here and so unlikely there."""
        return self.least > exp_up(epsilon_of(claim)) * self.most + claim.delta

    def epsilon_lower(self, delta: Fraction) -> float:
        """Return the largest epsilon that is ruled out at ``delta``; infinity when every one is."""
        if self.least <= delta:
            return 0.0
        if self.most == 0:
            return math.inf
        return to_float(max(log_down((self.least - delta) / self.most), Fraction(0)), "down")

    def delta_lower(self, epsilon: Fraction) -> float:
        """Return the largest delta that is ruled out at ``epsilon``."""
        return to_float(max(self.least - exp_up(epsilon) * self.most, Fraction(0)), "down")


def epsilon_of(claim: Loss) -> Fraction:
    """Return the epsilon of a claim that states one."""
    if claim.pure is None:
        raise InvalidParameter("claim", claim, "a pure or approximate promise")
    return claim.pure


def premise(holds: bool, text: str) -> None:
    """Raise if a premise of the argument does not hold."""
    if not holds:
        raise InvalidParameter("neighbour", "this pair", f"one for which {text}")


def told_apart(here: Any, there: Any, event: str) -> Odds:
    """Return the odds of a release without noise: certain on one input, and on the other if it is the same."""
    return Odds(event, Fraction(1), Fraction(int(here == there)))


def shown(given: Any) -> str:
    """Return an input for people: runs of equal entries are counted, and of large sets only the size is shown.

    >>> shown((1, 1, 1, 1, 0)), shown("path"), shown(frozenset(range(9)))
    ('(4 times 1, 0)', "'path'", 'a set of 9')
    """
    if isinstance(given, frozenset):
        few = sorted(shown(entry) for entry in given)
        return f"a set of {len(few)}" if len(few) > _FEW else f"{{{', '.join(few)}}}"
    if isinstance(given, tuple):
        runs = [(shown(entry), len(list(run))) for entry, run in groupby(given)]
        parts = [f"{count} times {entry}" if count > _FEW else ", ".join([entry] * count) for entry, count in runs]
        return f"({', '.join(parts)})"
    return str(given) if isinstance(given, Fraction) else repr(given)


@dataclass(frozen=True)
class Specimen:
    """An algorithm that was published with a promise it does not keep.

    Args:
        name: in lower case with hyphens.
        source: where it was printed.
        claim: the promise on the pair below.
        what_is_wrong: why that is not so, in a sentence or two.
        value: an input.
        neighbour: another, one step away.
        step: the meaning of one step.
        refuted_by: how the claim is refuted.
        replacement: the registered mechanism, or the public name, to use instead; or ``NONE_YET``.
        sample: for sampling, the specimen itself: a number of outcomes on an input.
        weigh: otherwise, the odds of an event on two inputs, computed from the specimen.
        samples: a number of outcomes on each side that is surely enough.

    """

    name: str
    source: Source
    claim: Loss
    what_is_wrong: str
    value: Any
    neighbour: Any
    step: str
    refuted_by: Way
    replacement: str = NONE_YET
    sample: Sampler | None = field(default=None, repr=False)
    weigh: Callable[[Any, Any], Odds] | None = field(default=None, repr=False)
    samples: int = 4000

    @property
    def pair(self) -> str:
        """The two inputs, for people."""
        return f"{shown(self.value)} and {shown(self.neighbour)}: {self.step}"

    def __post_init__(self) -> None:
        is_sampled = self.refuted_by == "sampling"
        if is_sampled is (self.sample is None) or is_sampled is not (self.weigh is None):
            raise InvalidParameter("sample", self.name, "required for sampling; for any other way set 'weigh'")
