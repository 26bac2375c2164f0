"""The space of the instances of a registered class: what each of its parameters may be, and how a point is built.

An axis is a declared field. Its values are those of the class's examples, the samples that the field yields beside
them, and records like those that it holds. A class whose fields only fit together when they are planned together has a
rule in ``planned_spaces``: its axes are what it is planned from.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from dither.errors import DitherError
from dither.exact import Field
from dither.mechanisms import Example, Mechanism, find
from dither.testing.alike import alike
from dither.testing.covering import Cover, Point
from dither.testing.instances import still_neighbours

#: Values on an axis of numbers or records; choices, flags and units are all there.
_MOST_VALUES: Final = 5
#: Instances that promise something for one unit and nothing for this many are left out.
_FARTHEST: Final = 10


class Misbuilt(DitherError):
    """A constructor raised something that is not an error of this package."""


@dataclass(frozen=True)
class Axis:
    """A parameter and the values that are tried."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Space:
    """All points that can be made of a class.

    Args:
        name: of the class.
        axes: its parameters.
        starts: points that are known to be allowed, each with the example that it is.
        make: returns an example for the number of a start and the values of a point, or raises DitherError.

    """

    name: str
    axes: tuple[Axis, ...]
    starts: tuple[Point, ...]
    make: Callable[[int, dict[str, Any]], Example]

    def cover(self) -> Cover[Example]:
        """Return the design of this space, whose points are made when they are asked for."""
        return Cover([len(axis.values) for axis in self.axes], self.starts, self._built)

    def values_at(self, point: Point) -> dict[str, Any]:
        """Return the parameters of a point."""
        return {axis.name: axis.values[place] for axis, place in zip(self.axes, point, strict=True)}

    def _built(self, start: int, point: Point) -> Example | None:
        try:
            return self.make(start, self.values_at(point))
        except Misbuilt:
            raise
        except DitherError:
            return None
        except Exception as failure:
            given = {name: str(value)[:60] for name, value in self.values_at(point).items()}
            raise Misbuilt(
                f"{self.name} of {given} raises {failure!r} in place of an error of dither's own"
            ) from failure


def spaces_of(name: str) -> list[Space]:
    """Return the spaces of a registered class: of what it is planned from, where it has a rule, and of its fields."""
    # They are made of rooms that take long to load, and few classes need them.
    from dither.testing.planned_spaces import RULES

    rule, declared = RULES.get(name), declared_space(name)
    return [*([] if rule is None else [rule()]), *([] if declared is None else [declared])]


def declared_space(name: str) -> Space | None:
    """Return the space whose axes are the declared fields of a registered class; None where none of them varies."""
    examples = list(find(name).examples())
    axes = [axis for axis in _axes(examples) if len(axis.values) > 1]
    if not axes:
        return None
    starts = dict.fromkeys(
        tuple(_place(axis.values, getattr(example.mechanism, axis.name)) for axis in axes) for example in examples
    )
    chosen = [_first(examples, axes, start) for start in starts]

    def make(start: int, values: dict[str, Any]) -> Example:
        example = chosen[start]
        mechanism: Any = example.mechanism
        changes = {key: value for key, value in values.items() if not _same(getattr(mechanism, key), value)}
        made = dataclasses.replace(mechanism, **changes)
        # A record may be taken, and refused when it is priced; or promise nothing for ten units, as a large delta does.
        made.loss(_FARTHEST)
        return Example(made, example.data, still_neighbours(mechanism, made, example.neighbours))

    return Space(name, tuple(axes), tuple(starts), make)


def fields_of(kind: type[Mechanism[Any, Any]]) -> Iterator[tuple[str, Field[Any, Any] | None]]:
    """Yield the name of each parameter of a class, and its declaration; None where it is a plain one."""
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        declared = inspect.getattr_static(kind, field.name, None)
        if field.init:
            yield field.name, declared if isinstance(declared, Field) else None


def _axes(examples: Sequence[Example]) -> Iterator[Axis]:
    kind = type(examples[0].mechanism)
    for name, declared in fields_of(kind):
        kept = [getattr(example.mechanism, name) for example in examples]
        values: list[Any] = []
        for value in kept:
            _add(values, value)
        known = len(values)
        for value in list(values):
            # First what was thought out for such a record: there is room for a few values only.
            for sample in alike(value):
                with suppress(DitherError):  # a record like this one need not be one that the field takes
                    _add(values, _converted(declared, name, sample))
            for sample in declared.samples(value) if declared is not None else ():
                try:
                    _add(values, _converted(declared, name, sample))
                except DitherError as refusal:
                    raise Misbuilt(f"the field {name} of {kind.name} yields what it refuses: {refusal}") from refusal
        yield Axis(name, tuple(values[: max(known, _limit(declared))]))


def _limit(declared: Field[Any, Any] | None) -> int:
    """Return how many values an axis has; all of them, where they are choices."""
    from dither.exact import Flag, OneOf

    return 2**10 if isinstance(declared, Flag | OneOf) else _MOST_VALUES


def _converted(declared: Field[Any, Any] | None, name: str, sample: Any) -> Any:
    """Return a sample as it is kept, so that equal values are one."""
    try:
        return sample if declared is None else declared.convert(name, sample)
    except NotImplementedError:
        # What it becomes follows from other fields.
        return sample


def _add(values: list[Any], value: Any) -> None:
    if not any(_same(known, value) for known in values):
        values.append(value)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _place(values: Sequence[Any], value: Any) -> int:
    return next(place for place, known in enumerate(values) if _same(known, value))


def _first(examples: Sequence[Example], axes: Sequence[Axis], start: Point) -> Example:
    return next(
        example
        for example in examples
        if tuple(_place(axis.values, getattr(example.mechanism, axis.name)) for axis in axes) == start
    )
