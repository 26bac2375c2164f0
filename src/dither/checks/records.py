"""Records inside a mechanism check themselves: the price covers everything that their constructors accept.

A mechanism is a tree of frozen records, and so is what an analyst asks it. Each field of each of them is replaced by
hostile content. Either a record refuses it, with an error of this package, or the mechanism made of it keeps its
promise: on frozen draws its neighbours are still no farther apart than it is charged for. What a relation says of a
table is what the data set beside it says: another word about it is always refused. Deterministic.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, islice
from typing import Any

import numpy as np

from dither.checks.violation import ContractViolation, require
from dither.data import Relation, Table
from dither.errors import DitherError
from dither.mechanisms import Composed, Example, Interactive, Mechanism
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.registry import Dialogue
from dither.privacy import Metric
from dither.testing import hostile
from dither.testing.replay import replay

Path = tuple[Any, ...]
#: What no field should take unless it says so.
HOSTILE: tuple[Any, ...] = (
    float("nan"),
    float("inf"),
    -1,
    0,
    2**50,
    -(2**70),
    2.5,
    True,
    "x",
    "",
    None,
    1j,
    (),
    [],
    {},
    object(),
    np.array([np.nan]),
    Fraction(-1, 3),
)
#: The same for mechanisms, whose own fields are converted where they are declared.
_FEW: tuple[Any, ...] = (float("nan"), -1, 2**50, "x", None, ())
_WEIGHTS = (2**50, -1, -(2**50), 0.5, 1e300)
#: Neighbours that are tried for content with entries; one pair for other content.
_PAIRS = 3


def check_records(example: Example, seen: set[Any] | None = None) -> None:
    """Try the constructors of all records in an example with hostile content; raise ContractViolation if one slips in.

    Args:
        example: a mechanism, and neighbours to try it on.
        seen: classes and fields that were tried already and are not tried again; those that are tried are added.

    >>> from dither.mechanisms import find
    >>> check_records(next(iter(find("pac-learner").examples())))

    """
    known: set[Any] = set() if seen is None else seen
    roots: list[tuple[Any, bool]] = [(example.mechanism, True)]
    if isinstance(example.data, Dialogue):
        roots.append((example.data.script, False))
    for root, is_mechanism in roots:
        for path, record in records_in(root):
            for field in dataclasses.fields(record):
                content = getattr(record, field.name)
                # Of people and of rows by themselves.
                aspect = content.person is not None if isinstance(content, Table) else None
                key = (type(example.mechanism), type(record), field.name, aspect)
                if field.init and key not in known:
                    known.add(key)
                    _check_field(example, root, path, field.name, is_mechanism=is_mechanism)


def records_in(thing: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Return all frozen records in a tree of records and tuples, with the way to each; mechanisms below one are not.

    They are registered themselves, and have their own examples.
    """
    if isinstance(thing, tuple):
        for place, part in enumerate(thing):
            yield from records_in(part, (*path, place))
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        if path and isinstance(thing, Mechanism):
            return
        yield path, thing
        for field in dataclasses.fields(thing):
            if field.init:
                yield from records_in(getattr(thing, field.name), (*path, field.name))


def hostile_contents(value: Any, plain: Sequence[Any] = HOSTILE) -> Iterator[Any]:
    """Return hostile content for a field: nonsense, and corrupted content of its kind."""
    if isinstance(value, PublicArray):
        for weight in _WEIGHTS:
            changed = value.values.astype(np.float64 if isinstance(weight, float) else np.int64)
            yield PublicArray(np.full(changed.shape, weight))
            changed.flat[0] = weight
            yield PublicArray(changed)
        yield from (PublicArray(value.values.reshape(-1)), PublicArray(value.values[None]), value.values)
        yield PublicArray(np.concatenate([value.values, value.values]))
    elif isinstance(value, Table):
        yield from forged_tables(value)
    elif isinstance(value, tuple):
        yield from (value + value, list(value))
        for content in hostile_contents(value[0], plain) if value else ():
            yield (content, *value[1:])
    yield from (content for content in plain if type(content) is not type(value) or content is not value)


def forged_tables(table: Table) -> Iterator[Table]:
    """Return tables with other claims about the same rows: whose they are, who may see them, what they hold."""
    columns = [column.name for column in table.columns]
    wider = tuple(dataclasses.replace(column, nullable=not column.nullable) for column in table.columns)
    changes: list[dict[str, Any]] = [{"person": name} for name in (*columns, None)]
    changes += [{"is_public": not table.is_public, "person": None, "key": key} for key in ((), tuple(columns[:1]))]
    changes += [{"name": f"{table.name}_2"}, {"columns": wider}, {"columns": table.columns[:1]}]
    for change in changes:
        with contextlib.suppress(DitherError):  # what contradicts itself
            forged = dataclasses.replace(table, **change)
            if forged != table:
                yield forged


def _check_field(example: Example, root: Any, path: Path, name: str, *, is_mechanism: bool) -> None:
    record = _at(root, path)
    plain = _FEW if isinstance(record, Mechanism) else HOSTILE
    for content in hostile_contents(getattr(record, name), plain):
        where = f"{type(record).__name__}.{name} given {content!r:.60}"
        try:
            changed = dataclasses.replace(record, **{name: content})
            made = _rebuilt(root, path, changed)
            mechanism = made if is_mechanism else example.mechanism
            hash(mechanism)
            mechanism.loss(1)
        except DitherError:
            continue
        except Exception as failure:
            raise ContractViolation(f"{where} raises {failure!r} in place of an error of dither's own") from failure
        require(
            not (isinstance(record, Relation) and isinstance(content, Table)),
            f"{where}: a table that is not the data set's own is taken",
        )
        script = None if is_mechanism else made
        if mechanism == example.mechanism and script is None:
            continue  # other words for what it was
        pairs = _PAIRS if isinstance(content, PublicArray | tuple) else 1
        _keeps_its_promise(Example(mechanism, example.data, example.neighbours), script, where, pairs)


def _keeps_its_promise(example: Example, script: Any, where: str, pairs: int) -> None:
    """Replay neighbours; if both are refused by name, that is not a difference between them."""
    mechanism = example.mechanism
    if not isinstance(mechanism, Composed | Interactive):
        return
    made = () if script is not None else hostile.pairs(mechanism, example.data)
    for here, there, apart in islice(chain(example.neighbours, made), pairs):
        distance: Any = apart
        if isinstance(mechanism.distance, Metric):
            # How far apart they are may itself depend on what was changed.
            opened = (here.data, there.data) if isinstance(here, Dialogue) else (here, there)
            distance = mechanism.distance.measure(*opened)
            if not distance:
                continue
        if script is not None:
            here, there = Dialogue(here.data, script), Dialogue(there.data, script)
        for violation in replay(mechanism, here, there, d_in=distance):
            require(violation.rule == "a run raised" and _is_ours(violation.detail), f"{where}: {violation}")


def _is_ours(detail: str) -> bool:
    """Whether an exception is an error of this package, by its name."""
    return detail.partition("(")[0] in _OURS


def _names(kind: type) -> set[str]:
    return {kind.__name__}.union(*map(_names, kind.__subclasses__()))


_OURS = _names(DitherError)


def _at(root: Any, path: Path) -> Any:
    for step in path:
        root = root[step] if isinstance(root, tuple) else getattr(root, step)
    return root


def _rebuilt(root: Any, path: Path, leaf: Any) -> Any:
    """Return the tree with one record changed; every record above it is rebuilt."""
    if not path:
        return leaf
    step, rest = path[0], path[1:]
    if isinstance(root, tuple):
        return (*root[:step], _rebuilt(root[step], rest, leaf), *root[step + 1 :])
    return dataclasses.replace(root, **{step: _rebuilt(getattr(root, step), rest, leaf)})
