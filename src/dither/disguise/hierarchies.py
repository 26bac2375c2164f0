"""Hierarchies: what each value of a quasi-identifier becomes, level by level, until nothing is left of it.

Level 0 is the value itself, and the last level is one label for all. A hierarchy is a table with a line for each value,
as ARX has it in CSV files, a tree, intervals of numbers, or masks of codes. Two values with the same label on a level
have the same labels on all levels above it: a label has one parent.
"""

from __future__ import annotations

import csv
import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.disguise.table import Column
from dither.errors import InvalidParameter

#: What is left of a value on the last level.
ANYTHING: Final = "*"
_MASK: Final = "*"
_STEPS: Final = ("month", "quarter", "year", "decade")


@dataclass(frozen=True)
class Hierarchy:
    """The labels of every value, from level 1 up.

    Args:
        labels: by value, as a text; the same number of labels for each. If the last level has more than one label, a
            level with the one label ``*`` is added.

    >>> ward = Hierarchy({"a": ("front",), "b": ("front",), "c": ("back",)})
    >>> ward.height, ward.label("b", 1), ward.label("b", 2)
    (2, 'front', '*')

    """

    labels: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        lines = {str(value): tuple(map(str, labels)) for value, labels in self.labels.items()}
        heights = {len(labels) for labels in lines.values()}
        if len(heights) != 1:
            rule = "one or more lines with the same number of labels each: a gap would leave a value without a parent"
            short = min(lines, key=lambda value: len(lines[value]), default=None)
            raise InvalidParameter("hierarchy", short, rule)
        height = heights.pop()
        empty = [value for value, labels in lines.items() if not all(labels)]
        if empty:
            raise InvalidParameter("hierarchy", empty[0], "without gaps: this value has an empty label")
        for level in range(height - 1):
            above: dict[str, str] = {}
            for labels in lines.values():
                if above.setdefault(labels[level], labels[level + 1]) != labels[level + 1]:
                    rule = f"one parent for every label; on level {level + 1} this one has two"
                    raise InvalidParameter("hierarchy", labels[level], rule)
        _check_levels(lines, height)
        if height == 0 or len({labels[-1] for labels in lines.values()}) > 1:
            lines = {value: (*labels, ANYTHING) for value, labels in lines.items()}
        object.__setattr__(self, "labels", lines)

    @property
    def height(self) -> int:
        """The number of the last level."""
        return len(next(iter(self.labels.values())))

    def label(self, value: object, level: int) -> str:
        """Return what is left of a value on a level."""
        name = "" if value is None else str(value)
        if name not in self.labels:
            raise InvalidParameter("value", value, "one that its hierarchy has a line for")
        return self.labels[name][level - 1] if level else name

    def covers(self, name: str, column: Column) -> Hierarchy:
        """Return the hierarchy itself, if it has a line for every value of a column; the error names both."""
        lacking = [value for value in column.values if _text(value) not in self.labels]
        if lacking:
            raise InvalidParameter(name, lacking[0], "a value that its hierarchy has a line for")
        return self

    @classmethod
    def flat(cls, values: Iterable[object]) -> Hierarchy:
        """Return the hierarchy that keeps values or gives them up."""
        return cls({_text(value): (ANYTHING,) for value in values})

    @classmethod
    def masks(cls, values: Iterable[object]) -> Hierarchy:
        """Return the hierarchy that strikes out one character after another, from the right.

        >>> Hierarchy.masks(["1253", "1268"]).labels["1253"]
        ('125*', '12**', '1***', '****')

        """
        texts = [_text(value) for value in values]
        width = max(map(len, texts), default=0)
        padded = {text: text.ljust(width) for text in texts}
        return cls(
            {
                text: tuple(full[: width - cut] + _MASK * cut for cut in range(1, width + 1))
                for text, full in padded.items()
            }
        )

    @classmethod
    def intervals(cls, values: Iterable[object], widths: Sequence[float]) -> Hierarchy:
        """Return the hierarchy of intervals, closed at the left, that begin at multiples of each width.

        Args:
            values: numbers; None is missing, and stays so until the last level.
            widths: of the intervals, each a multiple of the one before.

        >>> Hierarchy.intervals([7, 12], [5, 10]).labels["12"]
        ('[10, 15)', '[10, 20)', '*')

        """
        for before, after in zip([None, *widths[:-1]], widths, strict=True):
            if not after > 0 or (before is not None and (after / before) % 1):
                raise InvalidParameter("widths", list(widths), "positive, each a multiple of the one before")
        column = Column.of(values)
        numbers = column.numbers()
        if numbers is None:
            offender = next((value for value in column.values if Column.of([value]).numbers() is None), None)
            raise InvalidParameter("values", offender, "numbers, if there are to be intervals of them")
        lines = {}
        for value, number in zip(column.values, numbers.tolist(), strict=True):
            labels = [_interval(number, width) for width in widths] if value is not None else ["?"] * len(widths)
            lines[_text(value)] = (*labels, ANYTHING)
        return cls(lines)

    @classmethod
    def dates(cls, values: Iterable[object], steps: Sequence[str]) -> Hierarchy:
        """Return the hierarchy of dates by months, quarters, years and decades, as far as they are named.

        Args:
            values: dates, or texts that begin with one, such as 2024-05-17; None is missing, and stays so.
            steps: from ``month``, ``quarter``, ``year``, ``decade``, in this order.

        >>> Hierarchy.dates(["2024-05-17"], ["month", "year"]).labels["2024-05-17"]
        ('2024-05', '2024', '*')

        """
        places = [_STEPS.index(step) if step in _STEPS else -1 for step in steps]
        if not places or -1 in places or places != sorted(set(places)):
            raise InvalidParameter("dates", list(steps), f"one or more of {', '.join(_STEPS)}, in this order")
        lines = {}
        for value in values:
            shown = ["?"] * len(places) if value is None else [_dated(value, _STEPS[place]) for place in places]
            lines[_text(value)] = (*shown, ANYTHING)
        return cls(lines)

    @classmethod
    def tree(cls, tree: Mapping[str, Any] | Sequence[Any]) -> Hierarchy:
        """Return the hierarchy of nested mappings and lists of values; one that is less deep stays as it is longer.

        >>> Hierarchy.tree({"fruit": {"pome": ["apple"]}, "other": ["milk"]}).labels["milk"]
        ('milk', 'other', '*')

        """
        lines: dict[str, tuple[str, ...]] = {}

        def add(below: Any, path: tuple[str, ...]) -> None:
            if isinstance(below, Mapping):
                for label, more in below.items():
                    add(more, (str(label), *path))
            elif isinstance(below, list | tuple):
                for leaf in below:
                    if _text(leaf) in lines:
                        raise InvalidParameter("hierarchy", leaf, "a tree with each value once")
                    lines[_text(leaf)] = path
            else:
                raise InvalidParameter("hierarchy", below, "mappings from labels to what is below, or lists of values")

        add(tree, (ANYTHING,))
        deepest = max(map(len, lines.values()), default=0)
        return cls({leaf: (*(leaf,) * (deepest - len(path)), *path) for leaf, path in lines.items()})

    @classmethod
    def read(cls, path: Path | str) -> Hierarchy:
        """Return the hierarchy in a CSV file with a line for each value: the value, then its labels, without a head."""
        file = Path(path)
        if not file.is_file():
            raise InvalidParameter("hierarchy", str(path), "an existing file")
        try:
            with file.open(encoding="utf-8-sig", newline="") as stream:
                first = stream.readline()
                stream.seek(0)
                lines = [line for line in csv.reader(stream, delimiter=";" if ";" in first else ",") if line]
        except (UnicodeDecodeError, csv.Error):
            raise InvalidParameter("hierarchy", str(path), "rows of cells in UTF-8, a value and its labels") from None
        if len({line[0] for line in lines}) != len(lines):
            raise InvalidParameter("hierarchy", str(path), "one line for every value")
        return cls({line[0]: tuple(line[1:]) for line in lines})

    def levels(self, column: Column) -> list[Level]:
        """Return what a column becomes on every level, from 0 up."""
        return [self._level(column, level) for level in range(self.height + 1)]

    def _level(self, column: Column, level: int) -> Level:
        shown = [self.label(value, level) for value in column.values]
        places: dict[str, int] = {}
        codes = np.array([places.setdefault(label, len(places)) for label in shown], dtype=np.int64)
        sizes: dict[str, int] = {}
        for value in self.labels:
            label = self.label(value, level)
            sizes[label] = sizes.get(label, 0) + 1
        most = max(len(self.labels) - 1, 1)
        widths = np.array([(sizes[label] - 1) / most for label in places])
        return Level(tuple(places), codes, widths)


def _check_levels(lines: Mapping[str, tuple[str, ...]], height: int) -> None:
    """Refuse a label that stands on two levels and is not above itself there: it would be above what it is below."""
    paths = [(value, *labels) for value, labels in lines.items()]
    for level in range(1, height + 1):
        labels = {path[level] for path in paths}
        for path in paths:
            for below in range(level):
                if path[below] in labels and path[level] != path[below]:
                    rule = f"without cycles: this label is also on level {level}, with another meaning"
                    raise InvalidParameter("hierarchy", path[below], rule)


@dataclass(frozen=True, eq=False)
class Level:
    """A column on one level.

    Args:
        labels: of the level, as far as the column has them.
        codes: which of them each value of the column becomes.
        widths: the share of other values that each label stands for as well: 0 for a value itself, 1 for anything.

    """

    labels: tuple[str, ...]
    codes: NDArray[np.int64]
    widths: NDArray[np.float64]


def read_hierarchies(path: Path | str, columns: Mapping[str, Iterable[object]]) -> dict[str, Hierarchy]:
    """Return the hierarchies that a YAML file describes, by column.

    Each is a tree, ``{intervals: [5, 10]}``, ``{dates: [month, year]}``, ``{masks: true}``, ``{flat: true}`` or
    ``{file: wards.csv}``.

    Args:
        path: of the file.
        columns: the values of each column: intervals and masks are made for them.

    """
    import yaml

    file = Path(path)
    if not file.is_file():
        raise InvalidParameter("hierarchies", str(path), "an existing file")
    try:
        # The base loader makes texts, lists and mappings and nothing else: a code such as 0471 keeps its zero.
        text = file.read_text(encoding="utf-8")
        _check_keys(yaml.compose(text, Loader=yaml.BaseLoader), ())
        found = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        raise InvalidParameter("hierarchies", str(path), "a file of YAML") from None
    if not isinstance(found, Mapping) or not set(found) <= set(columns):
        other = next((str(name) for name in found if name not in columns), None) if isinstance(found, Mapping) else None
        raise InvalidParameter("hierarchies", other or str(path), f"a mapping from columns: {', '.join(columns)}")
    made = {}
    for name, said in found.items():
        try:
            made[name] = _described(said, columns[name], file.parent)
        except InvalidParameter as failure:
            raise InvalidParameter(f"hierarchy of {name}", failure.offender, failure.rule) from None
    return made


def _check_keys(node: Any, above: tuple[int, ...]) -> None:
    """Refuse a label that stands twice below one node, of which YAML would keep the last, and one below itself."""
    if node is None or isinstance(node.value, str):
        return
    if id(node) in above:
        raise InvalidParameter("hierarchies", None, "without cycles: a part of the file is below itself")
    inside = (*above, id(node))
    seen: set[str] = set()
    for part in node.value:
        if not isinstance(part, tuple):
            _check_keys(part, inside)
            continue
        label = str(part[0].value)
        if label in seen:
            raise InvalidParameter("hierarchies", label, "with each label once below its node")
        seen.add(label)
        _check_keys(part[1], inside)


def _described(said: Any, values: Iterable[object], folder: Path) -> Hierarchy:
    if isinstance(said, Mapping) and len(said) == 1:
        ((kind, what),) = said.items()
        if kind == "intervals" and isinstance(what, list) and Column.of(what).numbers() is not None:
            return Hierarchy.intervals(values, [float(one) for one in what])
        if kind == "dates" and isinstance(what, list):
            return Hierarchy.dates(values, what)
        if kind in ("masks", "flat") and what == "true":
            return Hierarchy.masks(values) if kind == "masks" else Hierarchy.flat(values)
        if kind == "file" and isinstance(what, str):
            return Hierarchy.read(folder / what)
    return Hierarchy.tree(said)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _dated(value: object, step: str) -> str:
    """Return the month, quarter, year or decade of a date."""
    try:
        day = datetime.date.fromisoformat(_text(value)[:10])
    except ValueError:
        raise InvalidParameter("values", value, "dates, such as 2024-05-17, if there are to be spans of them") from None
    return {
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04} Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
        "decade": f"{day.year // 10 * 10:04}s",
    }[step]


def _interval(number: float, width: float) -> str:
    start = math.floor(number / width) * width
    return f"[{start:g}, {start + width:g})"
