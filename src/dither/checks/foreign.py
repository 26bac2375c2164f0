"""Rows of a caller's own class: one changes a release only as a declared meaning of one row does.

Every mechanism over rows is given a list and an array of objects with one such row. Who takes lists takes this one, and
hands to each draw what a neighbour may hand to it; who takes none refuses it in the words for every list.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np

from dither.checks.violation import ContractViolation, require
from dither.errors import DitherError
from dither.mechanisms import Composed, Example, Interactive
from dither.mechanisms.core.registry import Dialogue
from dither.noise import system_noise
from dither.privacy import Relation, Unit
from dither.testing.effects import Effects
from dither.testing.foreign import with_foreign
from dither.testing.replay import Course, RecordingRunner, ReplayRunner, Tape, Violation, compared, record

#: Who refuses a list by its type refuses all of them in one place.
_ENOUGH_REFUSALS = 12


def check_foreign_rows(example: Example) -> None:
    """Check that no release raises, or takes another path, because one row is a foreign object.

    Each kind of object stands in a list or in an array: which one is another matter for every class.
    """
    _check(example, is_full=False)


def check_every_foreign_row(example: Example) -> None:
    """Check the same with each kind of object in a list, and in an array as well."""
    _check(example, is_full=True)


def _check(example: Example, *, is_full: bool) -> None:
    mechanism, distance = example.mechanism, example.mechanism.distance
    data = example.data.data if isinstance(example.data, Dialogue) else example.data
    has_rows = isinstance(distance, Unit) and isinstance(data, list | tuple | np.ndarray)
    # A list for a mechanism of a metric is one value of a public shape and type.
    if not (isinstance(mechanism, Composed | Interactive) and has_rows):
        return
    is_replaced = isinstance(distance, Unit) and distance.relation is not Relation.ADD_REMOVE

    def as_data(rows: Any) -> Any:
        return Dialogue(rows, example.data.script) if isinstance(example.data, Dialogue) else rows

    turn = crc32(mechanism.name.encode())
    shapes: tuple[Callable[[list[Any]], Any], ...] = (list, _objects)
    for place, shape in enumerate(shapes):
        plain = as_data(shape([*data]))
        refusal = _refusal(mechanism, plain)
        rows = with_foreign([*data], is_replaced=is_replaced)
        tried = islice(rows, _ENOUGH_REFUSALS) if refusal is not None else rows
        # A row and a cell of each kind come one after the other.
        kept = (odd for number, odd in enumerate(tried) if is_full or (number // 2 + turn + place) % 2 == 0)
        for odd in kept:
            given = as_data(shape(odd))
            if refusal is None:
                violations = _followed(mechanism, plain, given)
                require(not violations, f"a foreign row is no neighbour of none: {violations[:1]}")
            else:
                said = _refusal(mechanism, given)
                require(said == refusal, f"a list with a foreign row is refused with another message: {said!r}")


def _objects(rows: list[Any]) -> Any:
    array = np.empty(len(rows), dtype=object)
    for place, row in enumerate(rows):
        array[place] = row
    return array


def _refusal(mechanism: Any, data: Any) -> str | None:
    """Return the message with which a container is refused, None where it is accepted."""
    try:
        record(mechanism, data)
    except DitherError as refusal:
        require(refusal.__context__ is None, "a refusal carries another error along")
        return str(refusal)
    except Exception as failure:
        raise ContractViolation(f"a list raised {type(failure).__name__} in place of a refusal") from None
    return None


def _followed(mechanism: Any, plain: Any, given: Any) -> list[Violation]:
    """Return how two runs differ. The data are not watched: inspecting a foreign row might never end."""
    distance, noise, plan = Fraction(1), system_noise(), mechanism.plan()
    first = RecordingRunner(plan, noise, d_in=distance)
    second = ReplayRunner(plan, noise, earlier=first.tape, tape=Tape(given=first.tape), d_in=distance)
    courses = _course(mechanism, plain, first), _course(mechanism, given, second)
    return compared(mechanism, (first.tape, second.tape), courses, (None, None))


def _course(mechanism: Any, data: Any, runner: RecordingRunner) -> Course:
    try:
        out = (
            mechanism.release(data, runner)
            if isinstance(mechanism, Composed)
            else data.lead(mechanism.open(data.data, runner))
        )
    except Exception as failure:
        return Course(None, failure, Effects())
    return Course(out, None, Effects())
