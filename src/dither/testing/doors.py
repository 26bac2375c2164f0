"""Replay from where a caller begins: everything that goes through the door of releases, on an input and a neighbour.

The caller is any function of an input: ``fit`` of an estimator on a frame, a verb of a session on a file. All draws
that it makes through ``release``, ``perform`` or ``converse`` are recorded on the first input and frozen on the second.
What it returns, raises, warns of, logs, prints or changes must then be the same.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dither.exact import Number, positive
from dither.mechanisms.core.runner import Runner
from dither.testing.effects import watched
from dither.testing.replay import Course, RecordingRunner, ReplayRunner, Tape, Violation, compared


def replay_call(
    call: Callable[[Any], Any],
    data: Any,
    neighbour: Any,
    *,
    d_in: Number = 1,
    is_owner: bool = False,
    allowed: Sequence[Path] = (),
) -> list[Violation]:
    """Return every way in which a call on ``data`` and on ``neighbour`` can be told apart with its draws frozen.

    Args:
        call: the action of a caller; its return value is the release.
        data: an input.
        neighbour: another, ``d_in`` units apart.
        d_in: the number of units.
        is_owner: whether the caller may keep its input, as an owner does; else nothing released may hold it.
        allowed: folders in which files may be written, such as that of a curator.

    >>> import numpy as np
    >>> from dither import ROW, Budget, Geometric, release
    >>> def count(rows):
    ...     return release(Geometric(scale=1), len(rows), budget=Budget(epsilon=1, unit=ROW), stability=1).value
    >>> replay_call(count, [1, 2, 3], [1, 2])
    []
    >>> [found.rule for found in replay_call(lambda rows: count(rows) + len(rows), [1, 2, 3], [1, 2])]
    ['the output depends on data outside its draws']

    """
    distance, tape = positive("d_in", d_in), Tape()
    one = _course(call, data, lambda number, plan, noise: _recording(number, plan, noise, tape, distance), allowed)
    second = Tape(given=tape)
    other = _course(
        call,
        neighbour,
        lambda number, plan, noise: ReplayRunner(
            plan, noise, earlier=tape, tape=second, where=(f"release {number}",), d_in=distance
        ),
        allowed,
    )
    inputs = (None, None) if is_owner else (data, neighbour)
    return compared(None, (tape, second), (one, other), inputs)


def _recording(number: int, plan: Any, noise: Any, tape: Tape, distance: Fraction) -> RecordingRunner:
    return RecordingRunner(plan, noise, tape=tape, where=(f"release {number}",), d_in=distance)


def _course(
    call: Callable[[Any], Any],
    data: Any,
    make: Callable[[int, Any, Any], RecordingRunner],
    allowed: Sequence[Path],
) -> Course:
    with _through(make), watched(data, allowed=allowed) as effects:
        try:
            out, failure = call(data), None
        except Exception as raised:  # every exception is an observable difference, whatever it is
            out, failure = None, raised
    return Course(out, failure, effects)


@contextmanager
def _through(make: Callable[[int, Any, Any], RecordingRunner]) -> Iterator[None]:
    """Let ``make`` create the door's runners from their number, plan and noise."""
    # The name of a module is also that of the function that the room hands out. Releases that may resume have a door of
    # their own; recorded, they draw from the system, which is what a session does where noise cannot be drawn again.
    rooms = ("release", "derived_runner")
    doors: list[Any] = [importlib.import_module(f"dither.mechanisms.core.{room}") for room in rooms]
    before, number = [door._runner for door in doors], 0

    def made(real: Callable[..., Runner], *given: Any, **named: Any) -> Runner:
        nonlocal number
        number += 1
        runner = real(*given, **named)
        return make(number, runner._rest, runner._noise)

    for door, real in zip(doors, before, strict=True):
        door._runner = partial(made, real)
    try:
        yield
    finally:
        for door, real in zip(doors, before, strict=True):
            door._runner = real
