"""The requirements on every registered mechanism, on each of its examples.

Each check takes an ``Example`` and raises ContractViolation with what it found. Exhaustive or deterministic wherever
possible; the one statistical check states its false-alarm rate.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from dither.checks.attained import check_all_attained, check_attained
from dither.checks.draws import (
    check_candidates,
    check_large_values,
    check_law_enlarged,
    check_long_conversation,
    check_own_noise,
    check_scales,
)
from dither.checks.foreign import check_every_foreign_row, check_foreign_rows
from dither.checks.independence import (
    check_noise_of_every_tick,
    check_own_words,
    check_samples_apart,
    check_words_once,
)
from dither.checks.law import Laws, check_law_by_branching, conversed, coverage_is_refuted
from dither.checks.prices import check_far_prices, check_law_far, check_prices_of_parts
from dither.checks.repetition import check_equal_bits
from dither.checks.replays import (
    check_again,
    check_crowded,
    check_distances,
    check_large,
    check_looks_nowhere,
    check_replay,
    check_sampling,
    check_strict_floats,
    check_wide,
    check_wild_outputs,
    pairs_of,
    some,
)
from dither.checks.spending import check_parallel_parts, check_spending, check_windows
from dither.checks.violation import ContractViolation, require
from dither.errors import DitherError, InvalidParameter, InvalidValue
from dither.exact import Field
from dither.mechanisms import Composed, Example, Interactive, Mechanism, Numerics, Primitive, find, from_spec, to_spec
from dither.mechanisms.core.additive import Additive
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.release import Budget, converse, release
from dither.noise import system_noise
from dither.noise.entropy import before_first_draw
from dither.privacy import NOTHING, ROW, Loss, Metric, Unit
from dither.testing import hostile
from dither.testing.replay import record

T = TypeVar("T")
Check = Callable[[Example], None]

_DISTANCES = (Fraction(1), Fraction(2), Fraction(3), Fraction(10))
_BAD_DISTANCES: tuple[Any, ...] = (float("nan"), float("inf"), -1, "many", True, None, [1])
_BAD_CONFIDENCES: tuple[Any, ...] = (1, 2, -0.5, float("nan"), "likely", True)
_COVERAGE_DRAWS = 4000
_RUNS_FARTHER = 120
_PAIRS_FOR_TOTALITY = 8
_FALSE_ALARM = 1e-10
_ASKS_FOR_NONE = "on some data it asks for no noise"


def check_public_record(example: Example) -> None:
    """Check for a frozen, hashable record with a version, and a docstring that states the guarantee."""
    mechanism, kind = example.mechanism, type(example.mechanism)
    require(dataclasses.is_dataclass(kind), "the class is no dataclass")
    require(kind.__dataclass_params__.frozen, "the dataclass is not frozen")  # type: ignore[attr-defined]
    copy = dataclasses.replace(mechanism)  # type: ignore[type-var]
    require(mechanism == copy and hash(mechanism) == hash(copy), "a copy of the record differs from it")
    require(isinstance(kind.version, int) and kind.version >= 1, "version is not an integer of at least 1")
    require(isinstance(kind.numerics, Numerics), "numerics is not one of exact, bounded, idealised")
    text = inspect.getdoc(kind) or ""
    require("Guarantee:" in text and ">>>" in text, "the docstring lacks its guarantee or an example")


def check_price_without_data(example: Example) -> None:
    """Check that the price needs public parameters only: zero at distance 0, growing with the distance."""
    mechanism = example.mechanism
    require(isinstance(mechanism.distance, Unit | Metric), "distance is neither a unit nor a metric")
    require(mechanism.loss(0) <= NOTHING, f"identical inputs lose {mechanism.loss(0)}")
    losses = [mechanism.loss(distance) for distance in _DISTANCES]
    for nearer, farther in pairwise(losses):
        require(nearer <= farther, f"the loss falls with the distance: {nearer}, then {farther}")
    for loss in losses:
        require(Loss.from_dict(json.loads(json.dumps(loss.to_dict()))) == loss, f"{loss!r} does not survive JSON")
    require(mechanism.loss(1) == mechanism.loss("1") == mechanism.loss(1.0), "the price depends on how 1 is written")


def check_refuses_bad_numbers(example: Example) -> None:
    """Check that distances and confidences that are not numbers in range are refused by name."""
    for bad in _BAD_DISTANCES:
        _refuses("d_in", partial(example.mechanism.loss, bad))
    for bad in _BAD_CONFIDENCES:
        _refuses("confidence", partial(example.mechanism.error, bad))


def check_refuses_bad_parameters(example: Example) -> None:
    """Check that every declared field refuses invalid content, and is named in the refusal."""
    mechanism: Any = example.mechanism
    for field in dataclasses.fields(mechanism):
        declared = inspect.getattr_static(type(mechanism), field.name, None)
        if isinstance(declared, Field) and field.init:
            for bad in declared.offenders():
                _refuses(field.name, partial(dataclasses.replace, mechanism, **{field.name: bad}))


def check_loss_is_derived(example: Example) -> None:
    """Check that the loss of a composed mechanism is that of its plan, and the plan holds under its unit."""
    mechanism = example.mechanism
    if isinstance(mechanism, Composed | Interactive):
        plan = mechanism.plan()
        plan.check(mechanism.distance)
        require(plan == mechanism.plan(), "the plan changes from call to call")
        for distance in _DISTANCES:
            require(mechanism.loss(distance) == plan.loss(distance), "the loss is not that of the plan")
    for base in (Composed, Interactive):
        overridden = isinstance(mechanism, base) and type(mechanism).loss is not base.loss
        require(not overridden, "the loss of a plan was overridden")


def check_json_round_trip(example: Example) -> None:
    """Check that the record survives JSON, which contains nothing but public parameters."""
    spec = json.loads(json.dumps(to_spec(example.mechanism)))
    require(from_spec(spec) == example.mechanism, "the record does not survive JSON")


def check_says_why_not(example: Example) -> None:
    """Check that a missing error bound or interval comes with a reason."""
    mechanism = example.mechanism
    if mechanism.error("0.9") is None:
        require(bool(mechanism.no_error_because), "no error bound and no reason why")
    if isinstance(mechanism, Primitive) and mechanism.interval(_any_output(mechanism, example.data), "0.9") is None:
        require(bool(mechanism.no_interval_because), "no interval and no reason why")


def check_total(example: Example) -> None:
    """Check that no content of the right type raises, and every wrong type is refused without showing the value."""
    mechanism = example.mechanism
    if isinstance(mechanism, Primitive):
        noise = system_noise()
        for value in hostile.values(mechanism.domain):
            _answers(partial(mechanism.draw, value, noise))
        for value in hostile.MISTYPED:
            if value is not True or "categor" not in str(mechanism.domain):
                _refuses("value", partial(mechanism.draw, value, noise))
    elif isinstance(mechanism, InteractivePrimitive):
        for value in hostile.values(mechanism.domain):
            _answers(partial(conversed, mechanism, [value], system_noise()))
    elif isinstance(mechanism, Composed | Interactive):
        # A few pairs, with honest draws on both sides: on all of them a replay finds what raises.
        for here, there, _ in some(pairs_of(example), _PAIRS_FOR_TOTALITY):
            for data in (here, there):
                require(_answers(partial(_asks_for_noise, mechanism, data)), _ASKS_FOR_NONE)


def check_asks_for_noise_on_nothing(example: Example) -> None:
    """Check that a release asks for noise where there are no rows, as ``check_total`` does where there are some.

    What asked for none is not stored by a session. So whether it asks must not depend on rows.
    """
    if isinstance(example.mechanism, Composed):
        for nothing in hostile.emptied(example.data):
            with suppress(InvalidValue):  # whose number of rows is public
                require(_asks_for_noise(example.mechanism, nothing), _ASKS_FOR_NONE)


def check_plan_walked(example: Example) -> None:
    """Check that a composed mechanism draws exactly what its plan says, to its end; a conversation may stop early."""
    if isinstance(example.mechanism, Composed | Interactive):
        _, tape, is_finished = record(example.mechanism, example.data)
        require(is_finished or isinstance(example.mechanism, Interactive), "the release ended before its plan did")
        require(bool(tape.events), "the release drew nothing")


def check_law(example: Example) -> None:
    """Check that the exact law, followed coin by coin on neighbours, keeps the promised ratio."""
    mechanism = example.mechanism
    if isinstance(mechanism, Primitive) and int(np.prod(mechanism.draw_shape)) <= 3:
        laws = Laws(mechanism.draw)
        for here, there, distance in pairs_of(example)[:2]:
            check_law_by_branching(laws.of(here), laws.of(there), mechanism.loss(distance))
    elif isinstance(mechanism, InteractivePrimitive):
        laws = Laws(partial(conversed, mechanism))
        for here, there, distance in pairs_of(example)[:2]:
            check_law_by_branching(laws.of(here[:2]), laws.of(there[:2]), mechanism.loss(distance))


def check_law_farther(example: Example) -> None:
    """Check that the exact law keeps the promised ratio for values two and three apart."""
    mechanism = example.mechanism
    if isinstance(mechanism, Primitive) and int(np.prod(mechanism.draw_shape)) <= 3:
        laws = Laws(mechanism.draw)
        for here, there, distance in hostile.farther_pairs(mechanism, example.data):
            check_law_by_branching(laws.of(here), laws.of(there), mechanism.loss(distance), runs=_RUNS_FARTHER)


def check_intervals_cover(example: Example) -> None:
    """Check that intervals cover the value at least as often as they claim (false alarm 1e-10 each)."""
    mechanism = example.mechanism
    if isinstance(mechanism, Additive) and mechanism.numerics is not Numerics.IDEALISED:
        truth = np.asarray(mechanism.domain.admit(example.data)).reshape(mechanism.draw_shape)
        drawn = mechanism.draw_many(example.data, _COVERAGE_DRAWS, system_noise())
        for confidence in ("0.5", "0.9", "0.99"):
            interval = mechanism.interval(drawn, confidence)
            inside = ((interval.low <= truth) & (truth <= interval.high)).reshape(_COVERAGE_DRAWS, -1).all(axis=1)
            refuted = coverage_is_refuted(int(inside.sum()), _COVERAGE_DRAWS, float(confidence), _FALSE_ALARM)
            require(not refuted, f"{confidence} intervals cover {inside.mean():.4f} of the time")


def check_charged_first(example: Example) -> None:
    """Check that a release charges what the price says, refuses what does not fit, and spends nothing on refusals."""
    mechanism = example.mechanism
    unit = mechanism.distance if isinstance(mechanism.distance, Unit) else ROW
    price = mechanism.loss(1)
    small, ample = _budget_below(price, unit), _budget_above(price, unit)
    _refuses("", lambda: _through_the_door(mechanism, example.data, small))
    require(small.spent == NOTHING, "a refused release was charged")
    _through_the_door(mechanism, example.data, ample)
    require(ample.spent == price, f"{ample.spent} was charged for a price of {price}")


MECHANISM_CHECKS: tuple[Check, ...] = (
    check_public_record,
    check_price_without_data,
    check_refuses_bad_numbers,
    check_refuses_bad_parameters,
    check_loss_is_derived,
    check_json_round_trip,
    check_says_why_not,
    check_total,
    check_asks_for_noise_on_nothing,
    check_plan_walked,
    check_replay,
    check_law,
    check_intervals_cover,
    check_charged_first,
    check_prices_of_parts,
    check_distances,
    check_again,
    check_sampling,
    check_equal_bits,
    check_samples_apart,
    check_noise_of_every_tick,
    check_spending,
    check_windows,
    check_parallel_parts,
)
#: On the first example of a class alone: they are long, and what depends on size does so in every instance.
CLASS_CHECKS: tuple[Check, ...] = (
    check_far_prices,
    check_law_farther,
    check_law_far,
    check_wild_outputs,
    check_large,
    check_crowded,
    check_wide,
    check_strict_floats,
    check_looks_nowhere,
    check_foreign_rows,
    check_scales,
    check_candidates,
    check_large_values,
    check_own_noise,
    check_long_conversation,
    check_law_enlarged,
    check_own_words,
    check_words_once,
    check_attained,
)
#: In place of which a longer one is run where all examples are tried.
_IN_FULL: Mapping[Check, Check] = {check_attained: check_all_attained, check_foreign_rows: check_every_foreign_row}


def checks(
    mechanism: type[Mechanism[Any, Any]] | str, *, most: int | None = None
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Return every check on the examples of a registered class, with a name for each.

    Args:
        mechanism: the class, or its name.
        most: how many examples are tried, the first and the last one among them, and with shorter forms of the two
            longest checks; where it is None, all examples in full.

    """
    name = mechanism if isinstance(mechanism, str) else mechanism.name
    numbered = list(enumerate(find(name).examples()))
    for number, example in numbered if most is None else _from_first_to_last(numbered, most):
        for check in (*MECHANISM_CHECKS, *(CLASS_CHECKS if number == 0 else ())):
            whole = check if most is not None else _IN_FULL.get(check, check)
            yield f"{name}-{number}-{check.__name__}", partial(whole, example)


def _from_first_to_last(listed: list[T], most: int) -> list[T]:
    """Return a number of entries from all over a list, the first and the last one included.

    >>> _from_first_to_last([0, 1, 2, 3, 4, 5, 6], 3)
    [0, 3, 6]

    """
    if len(listed) <= most:
        return listed
    return [listed[place * (len(listed) - 1) // max(1, most - 1)] for place in range(most)]


def check_mechanism(mechanism: type[Mechanism[Any, Any]] | str) -> None:
    """Run the whole contract on a registered class; raise ContractViolation at the first failure.

    Beside its examples a few instances with other parameters are tried (``designs``).
    """
    # Above this module, because its checks are tried there on further instances.
    from dither.checks.designs import check_design

    name = mechanism if isinstance(mechanism, str) else mechanism.name
    require(any(True for _ in find(name).examples()), f"{name} is registered without examples")
    for title, check in checks(mechanism):
        try:
            check()
        except ContractViolation as violation:
            raise ContractViolation(f"{title}: {violation}") from violation
    check_design(name)


def _through_the_door(mechanism: Mechanism[Any, Any], data: Any, budget: Budget) -> None:
    if isinstance(mechanism, Primitive | Composed):
        release(mechanism, data, budget=budget, stability=1)
    elif isinstance(mechanism, InteractivePrimitive):
        converse(mechanism, budget=budget, stability=1)
    elif isinstance(mechanism, Interactive):
        converse(mechanism, data.data, budget=budget, stability=1)


def _budget_below(price: Loss, unit: Unit) -> Budget:
    return Budget(rho=price.rho / 2, unit=unit) if price.pure is None else Budget(epsilon=price.pure / 2, unit=unit)


def _budget_above(price: Loss, unit: Unit) -> Budget:
    if price.pure is None:
        return Budget(rho=price.rho, unit=unit) if not price.delta else Budget(epsilon=10**6, delta="0.99", unit=unit)
    return Budget(epsilon=price.pure, delta=2 * price.delta if price.delta else None, unit=unit)


def _any_output(mechanism: Primitive[Any, Any], data: Any) -> Any:
    return mechanism.draw(data, system_noise())


def _answers(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as failure:
        raise ContractViolation(f"content of the right type raised {failure!r}") from failure


def _asks_for_noise(mechanism: Composed[Any, Any] | Interactive[Any, Any], data: Any) -> bool:
    """Whether a run asks for noise; a conversation may do so when it is asked."""
    asked: list[bool] = []
    with before_first_draw(lambda: asked.append(True)):
        record(mechanism, data)
    return bool(asked) or isinstance(mechanism, Interactive)


def _refuses(parameter: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except InvalidParameter as refusal:
        named = not parameter or refusal.parameter == parameter
        require(named, f"the refusal names {refusal.parameter!r} and not {parameter!r}: {refusal}")
    except DitherError as refusal:
        require(not parameter, f"refused with {refusal!r} in place of InvalidParameter")
    except Exception as failure:
        raise ContractViolation(f"bad input raised {failure!r} in place of an error of dither's own") from failure
    else:
        raise ContractViolation(f"bad input for {parameter or 'the budget'} was taken")
