"""Replay where leaks hide: on outputs too rare to be drawn, on large and wide data, units two and three apart, again.

Each check takes an ``Example``, runs it on neighbours with the outputs of all draws frozen, and raises
ContractViolation with what it found. ``check_histories`` compares runs in processes that have seen different data.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import cycle
from typing import Any

import numpy as np

from dither.checks.sampling import sampling_checks
from dither.checks.violation import ContractViolation, require
from dither.errors import InvalidValue
from dither.mechanisms import Composed, Example, Interactive
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.runner import Runner
from dither.noise import system_noise
from dither.privacy import Loss, Unit, Use
from dither.testing import hostile
from dither.testing.hostile import Pair
from dither.testing.reach import outside_names
from dither.testing.replay import Replayed, replayed, run_watched
from dither.testing.sameness import Portrait, digest, portrait, unlike
from dither.testing.sizes import crowded_pairs, far_pairs, large_pairs, most_drawn, wide_example, wide_pairs
from dither.testing.state import Snapshot, changed, generators, in_child, snapshot
from dither.testing.wild import TURNS, WildRunner, canned

Planned = Composed[Any, Any] | Interactive[Any, Any]

_MOST_PAIRS = 50
#: Of this many neighbours the price of the whole is compared with those of the draws.
_PRICED = 3
_SOME_NUMBERS, _MANY_NUMBERS = 100, 2000
#: Outputs that are large all, and large with both signs.
_EXTREME_TURNS = (1, 4)


def pairs_of(example: Example) -> list[Pair]:
    """Return the fixed neighbours on which an example is tried."""
    return [*example.neighbours, *hostile.pairs(example.mechanism, example.data)][:_MOST_PAIRS]


def check_replay(example: Example) -> None:
    """Check that on frozen draws hostile neighbours take the same path and give the same output.

    Of the first of them it is also checked that they are told apart no better than is charged.
    """
    if isinstance(example.mechanism, Composed | Interactive):
        pairs = pairs_of(example)
        require(bool(pairs), "there are no neighbours to try: give the example some")
        for pair in pairs[:_PRICED]:
            _priced(example.mechanism, pair)
        for pair in pairs[_PRICED:]:
            _follow(example.mechanism, pair)


def check_wild_outputs(example: Example) -> None:
    """Check that for all outputs of the draws, neighbours take the same path and give the same output."""
    mechanism = example.mechanism
    if isinstance(mechanism, Composed | Interactive):
        # Each pair with another kind of outputs.
        for turn, pair in zip(range(TURNS), cycle(some(pairs_of(example), TURNS)), strict=False):
            _follow(mechanism, pair, _wild(mechanism, pair, turn))


def check_distances(example: Example) -> None:
    """Check that inputs two and three units apart are told apart no better than is charged, in both directions.

    Of inputs one unit apart ``check_replay`` asks it.
    """
    mechanism = example.mechanism
    if isinstance(mechanism, Composed | Interactive):
        for pair in far_pairs(example):
            _priced(mechanism, pair)


def check_large(example: Example) -> None:
    """Check that neighbours of about 300 rows take the same path and give the same output."""
    mechanism = example.mechanism
    if isinstance(mechanism, Composed | Interactive):
        for pair in large_pairs(example):
            _follow_or_refuse(mechanism, pair)


def check_crowded(example: Example) -> None:
    """Check that neighbours of thousands of rows, or of counts that reach a million, are treated like few."""
    mechanism = example.mechanism
    if isinstance(mechanism, Composed | Interactive):
        for pair in crowded_pairs(example):
            _follow_or_refuse(mechanism, pair, is_large=True)


def check_wide(example: Example) -> None:
    """Check that an instance with many columns, attributes, cells or items passes the same checks as a small one."""
    wide = wide_example(example) if isinstance(example.mechanism, Composed | Interactive) else None
    if wide is not None and isinstance(wide.mechanism, Composed | Interactive):
        pairs = wide_pairs(wide)
        # Of learners that draw a hundred numbers at a time two neighbours are enough, of those that draw thousands one.
        drawn = most_drawn(wide.mechanism.plan()) if isinstance(wide.mechanism.distance, Unit) else 0
        pairs = pairs if drawn < _SOME_NUMBERS else pairs[::3] if drawn < _MANY_NUMBERS else pairs[:1]
        for number, pair in enumerate(pairs):
            # Honest draws in every other pair; else large ones, beside which nothing is small by chance.
            _follow_or_refuse(wide.mechanism, pair, _wild(wide.mechanism, pair, 1) if number % 2 == 0 else None)


def check_again(example: Example) -> None:
    """Check that a run leaves nothing behind: the same draws give the same output after any earlier runs."""
    mechanism = example.mechanism
    if isinstance(mechanism, Composed | Interactive):
        here, there = _two(example)
        first = _course(mechanism, here)
        kept = digest(vars(mechanism))
        for data in (there, here):
            differs = unlike(first, _course(mechanism, data))
            require(differs is None, f"the same draws gave another output after a run on other data, {differs}")
            require(kept == digest(vars(mechanism)), "the record of public parameters was changed by a run")


def check_strict_floats(example: Example) -> None:
    """Check that nothing raises if the caller has set NumPy to raise on every overflow and underflow."""
    mechanism = example.mechanism
    if isinstance(mechanism, InteractivePrimitive):
        for value in hostile.values(mechanism.domain):
            # Opened by a caller like any other: what is asked later is asked outside of it.
            with np.errstate(all="raise"):
                _ask(mechanism, value)
    elif isinstance(mechanism, Composed | Interactive):
        for turn, (here, there, _) in zip(_EXTREME_TURNS, cycle(some(pairs_of(example), TURNS)), strict=False):
            for data in (here, there):
                with np.errstate(all="raise"):
                    _go_through(mechanism, data, turn)


def check_looks_nowhere(example: Example) -> None:
    """Check that no code that can be reached from a class names the clock, the environment, addresses or the like."""
    found = sorted(set(outside_names(type(example.mechanism))))
    require(not found, f"the code of a release names {', '.join(found[:5])}")


def _go_through(mechanism: Planned, data: Any, turn: int) -> None:
    """Run a mechanism as a part of a plan, with draws that were made for other values."""
    runner = canned(Use(mechanism), turn=turn)
    try:
        if isinstance(mechanism, Composed):
            runner(mechanism, data)
        else:
            data.lead(runner.converse(mechanism, data.data))
    except FloatingPointError as failure:
        raise ContractViolation(f"a run raises where floats are strict: {failure}") from failure


def _ask(mechanism: InteractivePrimitive[Any, Any], value: Any) -> None:
    """Open a conversation, and ask it once."""
    try:
        Runner(Use(mechanism), system_noise()).open(mechanism).ask(value)
    except FloatingPointError as failure:
        raise ContractViolation(f"a later call raises where floats are strict: {failure}") from failure


def check_sampling(example: Example) -> None:
    """Check that secret samples of rows and numbers of runs follow their laws, where the plan has any."""
    if isinstance(example.mechanism, Composed | Interactive):
        for check in sampling_checks(example.mechanism.fixed_plan):
            check()


def check_histories(examples: Sequence[Example]) -> None:
    """Check that processes with different histories give the same outputs, and keep the same state.

    One child of this process runs every example on its data, another on other data and then, the last first, on the
    first. Draws are the same in all runs, so all outputs must be; and what modules, classes and functions keep must not
    depend on which data was seen.
    """
    planned = [one for one in examples if isinstance(one.mechanism, Composed | Interactive)]
    pairs = [(one.mechanism, _two(one)) for one in planned]
    here, kept, is_still = in_child(lambda: _seen([(mechanism, pair[0]) for mechanism, pair in pairs]))
    there, kept_there, is_still_there, again = in_child(
        lambda: (
            *_seen([(mechanism, pair[1]) for mechanism, pair in pairs]),
            _seen([(mechanism, pair[0]) for mechanism, pair in reversed(pairs)])[0][::-1],
        )
    )
    require(is_still and is_still_there, "a run drew from a generator that belongs to everybody")
    for (mechanism, _), one, other, later in zip(pairs, here, there, again, strict=True):
        for history, found in (("on other data", other), ("after others", later)):
            differs = unlike(one, found)
            require(differs is None, f"{mechanism.name}, {history}, in another process: {differs}")
    places = changed(kept, kept_there)
    require(not places, f"what was run is stored in {', '.join(places[:5])}")


def _two(example: Example) -> tuple[Any, Any]:
    """Return the data of an example and other data, as far from it as available."""
    farthest = list(far_pairs(example))
    there = farthest[-2][1] if farthest else pairs_of(example)[0][1]
    return example.data, there


def _seen(runs: Sequence[tuple[Any, Any]]) -> tuple[list[Portrait], Snapshot, bool]:
    """Return the results of runs, the state kept after them, and whether the global generators were left untouched."""
    before = generators()
    found = [_course(mechanism, data) for mechanism, data in runs]
    return found, snapshot(*(mechanism for mechanism, _ in runs)), before == generators()


def _course(mechanism: Planned, data: Any) -> Portrait:
    """Return the portrait of the result of a run on canned draws."""
    course = run_watched(mechanism, data, canned(mechanism.plan()))
    return portrait((course.out, repr(course.failure), course.effects.seen))


def _follow(mechanism: Planned, pair: Pair, runner: WildRunner | None = None) -> Replayed:
    here, there, apart = pair
    found = replayed(mechanism, here, there, d_in=apart, runner=runner)
    for violation in found.violations:
        raise ContractViolation(str(violation))
    return found


def _follow_or_refuse(
    mechanism: Planned, pair: Pair, runner: WildRunner | None = None, *, is_large: bool = False
) -> None:
    """Replay a pair, unless data of its size is refused, where that is public."""
    here, there, apart = pair
    found = replayed(mechanism, here, there, d_in=apart, runner=runner, is_large=is_large)
    # Rarely needed: only now.
    if found.violations and not _is_refused(mechanism, here, is_large=is_large):
        raise ContractViolation(str(found.violations[0]))


def _wild(mechanism: Planned, pair: Pair, turn: int) -> WildRunner:
    return WildRunner(mechanism.plan(), system_noise(), turn=turn, d_in=Fraction(pair[2]))


def _priced(mechanism: Planned, pair: Pair) -> None:
    """Replay a pair, and refuse a price of the whole that is below the prices of its draws."""
    found, price = _follow(mechanism, pair), mechanism.loss(pair[2])
    walked = found.walked()
    if walked is not None and price.delta == 0:
        _covers(price, walked, pair[2])


def _covers(price: Loss, walked: Loss, apart: Any) -> None:
    """Refuse a price below the cost of the draws one by one; a delta is paid for in other ways."""
    if price.pure is not None and walked.pure is not None and walked.delta == 0:
        told = f"the draws cost epsilon = {walked.pure} at distance {apart}, {price.pure} is charged"
        require(walked.pure <= price.pure, told)
    if walked.delta == 0:
        require(
            walked.rho <= price.rho, f"the draws cost rho = {walked.rho} at distance {apart}, {price.rho} is charged"
        )


def _is_refused(mechanism: Planned, data: Any, *, is_large: bool = False) -> bool:
    """Whether data is refused for its size, where that is public."""
    course = run_watched(mechanism, data, canned(mechanism.plan()), is_large=is_large)
    return isinstance(course.failure, InvalidValue)


def some(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Return a number of pairs from all over a list, its last one included."""
    step = max(1, len(pairs) // count)
    return list(pairs)[::-step][:count]


def check_pair(mechanism: Planned, pair: Pair, turn: int | None = None) -> None:
    """Check one pair of neighbours, and that the price of the whole covers what its draws cost.

    Args:
        mechanism: what is run on both.
        pair: two inputs, and how far apart they are.
        turn: which outputs that no honest draw reaches are frozen; None for honest ones.

    """
    if turn is None:
        _priced(mechanism, pair)
    else:
        _follow(mechanism, pair, _wild(mechanism, pair, turn))
