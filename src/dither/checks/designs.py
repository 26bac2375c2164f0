"""Contract and replay on instances that no example has: a covering design of the parameters of a class.

An example is one point in the space of parameters, and a fault may need two of them to have a certain value. Here
every allowed pair of values occurs in some instance (``testing.spaces``), each with data that it takes, and each is
tried on every kind of neighbour (``testing.kinds``). A small part of a design is a test; an audit does all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from time import process_time
from typing import Any, Final

import numpy as np

from dither.checks.attained import check_all_attained
from dither.checks.contract import (
    check_json_round_trip,
    check_law,
    check_loss_is_derived,
    check_plan_walked,
    check_price_without_data,
    check_public_record,
    check_refuses_bad_parameters,
    check_says_why_not,
)
from dither.checks.linear import check_allowances, run_allowances
from dither.checks.prices import check_far_prices, check_prices_of_parts
from dither.checks.replays import check_distances, check_pair
from dither.checks.violation import ContractViolation, require
from dither.mechanisms import Composed, Example, Interactive, find
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.values import IntegerArray
from dither.privacy import Unit
from dither.testing.asked import AskedNoise
from dither.testing.covering import Cover
from dither.testing.hostile import Pair
from dither.testing.instances import fitted, pairs_of_instance, refused
from dither.testing.random_neighbours import random_cases
from dither.testing.replay import replayed
from dither.testing.spaces import Misbuilt, Space, declared_space, fields_of, spaces_of
from dither.testing.thousands import thousands
from dither.testing.wild import TURNS

#: How much of a design is a test: instances, and pairs of neighbours of each.
FEW: Final = 3
FEW_PAIRS: Final = 6
#: Of every instance of an audit: random neighbours; and of a class of counters: instances by what people contribute.
RANDOM_PAIRS: Final = 100
_RANDOM_SECONDS: Final = 0.3
ALLOWANCES: Final = 300
_MOST_FOUND: Final = 3
#: Parameters of which no other value is tried, and the reason.
FIXED: Final = {
    ("diffpart", "taxonomy"): "a tree of groups of items; that of its example has every kind of node",
    ("eigen-design", "strategy"): "optimised for its workload, and long to find for another one",
    ("eigen-design", "workload"): "its strategy is optimised for it",
    ("gaussian-factorisation", "strategy"): "optimised for its workload, and long to find for another one",
    ("gaussian-factorisation", "workload"): "its strategy is optimised for it",
    ("hdmm", "strategy"): "optimised for its workload, and long to find for another one",
    ("hdmm", "workload"): "its strategy is optimised for it",
    ("low-rank-mechanism", "strategy"): "optimised for its workload, and long to find for another one",
    ("low-rank-mechanism", "workload"): "its strategy is optimised for it",
    ("orthogonal-mechanism", "strategy"): "optimised for its workload, and long to find for another one",
    ("orthogonal-mechanism", "workload"): "its strategy is optimised for it",
    ("query", "shares"): "they name the aggregates of a query, so that other shares belong to another query",
    ("report", "shares"): "they name the parts of a report, so that other shares belong to another report",
    ("seizable-answer", "query"): "its counters are planned for it; ``planned_streams`` varies it with them",
    ("two-phase", "workload"): "its noise is calibrated to it",
    ("weighted-marginals", "strategy"): "it weighs the marginals that the workload asks for",
    ("weighted-marginals", "workload"): "its strategy weighs the marginals that it asks for",
}
#: Classes with instances for which no data is found, and the reason.
UNFITTED: Final = {
    "lifted": "a source and a method are combined for any purpose, and the method refuses at its first row",
    "adaptive-parts": "the questions of its examples cost more than its smallest budget",
    "kept-table": "the questions of its example cost more than its smallest budget",
}


@dataclass(frozen=True)
class Instance:
    """A point of a design: its parameters as texts, and an example of it; None where no data was found for it."""

    name: str
    values: dict[str, str]
    example: Example | None

    def __str__(self) -> str:
        return f"{self.name} of {', '.join(f'{key} = {value}' for key, value in self.values.items())}"


@dataclass(frozen=True)
class Designed:
    """What the design of a class found.

    Args:
        name: of the class.
        instances: how many were tried.
        pairs: how many pairs of neighbours were replayed.
        share: of the pairs of values that can be built, how many occurred in what was tried.
        unfitted: the instances for which no data was found.
        violations: what was found, with the instance.
        seconds: of this process.

    """

    name: str
    instances: int
    pairs: int
    share: float
    unfitted: tuple[str, ...]
    violations: tuple[str, ...]
    seconds: float

    @property
    def complaints(self) -> list[str]:
        """The violations, as sentences."""
        return [f"{self.name}: {violation}" for violation in self.violations]


def design(space: Space, cover: Cover[Example] | None = None) -> Iterator[Instance]:
    """Yield the instances of a space, the ones that cover most first, each with data that it takes.

    Args:
        space: of a registered class.
        cover: where it is kept what has been covered; a new one where it is None.

    """
    others = list(find(space.name).examples())
    for point, made in (space.cover() if cover is None else cover).points():
        values = {key: _short(value) for key, value in space.values_at(point).items()}
        yield Instance(space.name, values, fitted(made, others))


def check_samples(name: str) -> None:
    """Check that every declared parameter of a class has other values to be tried with, or a reason why not."""
    try:
        space = declared_space(name)
    except Misbuilt as failure:
        raise ContractViolation(str(failure)) from failure
    varied = set() if space is None else {axis.name for axis in space.axes}
    for key in sorted({key for key, field in fields_of(find(name).mechanism) if field is not None} - varied):
        told = f"the field {key} of {name} yields no samples: give it some, or examples in which it differs"
        require((name, key) in FIXED, told)


def check_design(name: str) -> None:
    """Check that every declared field of a class has samples, and a small part of its design; an audit does all of it.

    >>> check_design("randomised-response")

    """
    check_samples(name)
    check_allowances(name)
    for violation in run_design(name, most=FEW, most_pairs=FEW_PAIRS, is_full=False).violations:
        raise ContractViolation(violation)


def check_instance(example: Example, *, most_pairs: int | None = None, is_full: bool = True) -> int:
    """Check an instance: its record and price, and its neighbours of every kind; return how many were replayed.

    Args:
        example: the instance, and data that it takes.
        most_pairs: how many pairs are replayed, from all over the list of them; all where it is None.
        is_full: whether the longer checks are made as well.

    """
    for check in (*QUICK_CHECKS, *(LONGER_CHECKS if is_full else ())):
        check(example)
    mechanism = example.mechanism
    if not isinstance(mechanism, Composed | Interactive):
        return 0
    pairs = spread(pairs_of_instance(example), most_pairs)
    for number, pair in enumerate(pairs):
        # Every fourth with outputs that no honest draw reaches.
        check_pair(mechanism, pair, number // 4 % TURNS if number % 4 == 3 else None)
    if is_full:
        check_distances(example)
        return len(pairs) + _random_pairs(example)
    return len(pairs)


def _random_pairs(example: Example) -> int:
    """Replay random neighbours of an instance: what one unit does may show only where others lie in a certain way."""
    cases, begun, done = random_cases(example), process_time(), 0
    for case in islice(cases, RANDOM_PAIRS) if cases is not None else ():
        if process_time() - begun > _RANDOM_SECONDS:
            break
        if refused(case.mechanism, case.here) is None and refused(case.mechanism, case.there) is None:
            check_pair(case.mechanism, (case.here, case.there, Fraction(case.apart)), None)
            done += 1
    return done


def check_window(example: Example) -> None:
    """Check that the draws of any window of ticks cost no more than a window may lose, added up from outside.

    A table that moves by one at a tick costs the reciprocal of the scale of each noise that is drawn for it. What is
    added up is what the noise was asked for, in long streams that stand still, jump and alternate.
    """
    mechanism: Any = example.mechanism
    distance = mechanism.distance
    is_window = isinstance(distance, Unit) and distance.protects == "window"
    if not is_window or InteractivePrimitive not in type(mechanism).__mro__:
        return
    width, price = int(mechanism.window), mechanism.loss(1)
    for seed, script in enumerate(_long_streams(mechanism.domain, 4 * width + 3)):
        noise = AskedNoise(seed)
        state, spent = mechanism.begin(noise), []
        for value in script:
            noise.asked.clear()
            mechanism.reply(state, value, noise)
            spent.append(sum((1 / asked.numbers[0] for asked in noise.asked), Fraction(0)))
        largest = max(sum(spent[tick : tick + width]) for tick in range(len(spent)))
        told = f"a window of {width} ticks draws noise for epsilon = {float(largest):.6g}, and its price is {price}"
        require(price.pure is not None and largest <= price.pure, told)


def check_thousands(name: str) -> bool:
    """Check one pair of neighbours of ten thousand rows; return whether the class takes rows."""
    for example in find(name).examples():
        made = thousands(example)
        if made is not None:
            mechanism, (here, there, apart) = made
            for violation in replayed(mechanism, here, there, d_in=apart, is_large=True).violations:
                raise ContractViolation(str(violation))
            return True
    return False


def _long_streams(domain: Any, ticks: int) -> Iterator[list[Any]]:
    shape = domain.shape if isinstance(domain, IntegerArray) else ()
    for levels in ((0,), (0, 10**6), (0, 0, 10**6), (5, 10**6, -(10**6), 10**9), (1, 2, 4, 8)):
        numbers = [levels[tick % len(levels)] * (1 + tick // len(levels)) for tick in range(ticks)]
        yield [np.full(shape, number, dtype=np.int64) if shape else number for number in numbers]


#: On every instance; short.
QUICK_CHECKS: Final[tuple[Callable[[Example], None], ...]] = (
    check_price_without_data,
    check_json_round_trip,
    check_loss_is_derived,
    check_plan_walked,
    check_window,
)
#: On every instance of an audit.
LONGER_CHECKS: Final[tuple[Callable[[Example], None], ...]] = (
    check_public_record,
    check_refuses_bad_parameters,
    check_says_why_not,
    check_prices_of_parts,
    check_far_prices,
    check_law,
    check_all_attained,
)


def run_design(
    name: str,
    *,
    most: int | None = None,
    most_pairs: int | None = None,
    seconds: float | None = None,
    is_full: bool = True,
) -> Designed:
    """Run contract and replay on the design of a class, and return what was found.

    Args:
        name: of the registered class.
        most: how many instances are tried; all where it is None.
        most_pairs: how many pairs of each are replayed; all where it is None.
        seconds: of this process, after which no further instance is begun.
        is_full: whether the longer checks are made as well.

    >>> run_design("randomised-response", most=2).violations
    ()

    """
    begun, spaces = process_time(), spaces_of(name)
    covers = [space.cover() for space in spaces]
    done, pairs = 0, 0
    unfitted: list[str] = []
    violations: list[str] = run_allowances(name, ALLOWANCES)[1][:_MOST_FOUND] if is_full and most is None else []
    try:
        for instance in _in_turns([design(space, cover) for space, cover in zip(spaces, covers, strict=True)]):
            done += 1
            if instance.example is None:
                unfitted.append(str(instance))
            else:
                try:
                    pairs += check_instance(instance.example, most_pairs=most_pairs, is_full=is_full)
                except ContractViolation as violation:
                    violations.append(f"{violation}, in {instance}")
            if done == most or (seconds is not None and process_time() - begun > seconds):
                break
    except Misbuilt as failure:
        violations.append(str(failure))
    known = sum(cover.covered + len(cover.left) for cover in covers)
    share = sum(cover.covered for cover in covers) / known if known else 1.0
    return Designed(name, done, pairs, share, tuple(unfitted), tuple(violations), process_time() - begun)


def _in_turns(designs: list[Iterator[Instance]]) -> Iterator[Instance]:
    """Yield from several designs in turns, each to its end."""
    while designs:
        for one in list(designs):
            instance = next(one, None)
            if instance is None:
                designs.remove(one)
            else:
                yield instance


def spread(pairs: list[Pair], most: int | None) -> list[Pair]:
    """Return a number of pairs from all over a list, the first one included."""
    if most is None or len(pairs) <= most:
        return pairs
    return [pairs[number * len(pairs) // most] for number in range(most)]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
