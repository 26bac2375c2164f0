"""Arguments that several verbs have: each with its sentence, how it is typed, and its schema, once."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias

from dither.errors import InvalidParameter
from dither.exact import Number
from dither.lift.verb import Arg, Typed

#: The schema of what may be of many kinds over HTTP.
_ANY: Final[Mapping[str, Any]] = {}
_NAMES: Final[Mapping[str, Any]] = {"type": ["array", "null"], "items": {"type": "string"}}


def names(text: str, _: Typed) -> tuple[str, ...]:
    """Return names that are separated by commas.

    >>> names("age, site", Typed(None, {}))
    ('age', 'site')
    """
    return tuple(name for word in text.split(",") if (name := word.strip()))


def cells_along(text: str, _: Typed) -> int | tuple[int, int]:
    """Return the number of cells along both sides of a box, or along each.

    >>> cells_along("64x48", Typed(None, {}))
    (64, 48)
    """
    parts = text.lower().split("x")
    if not all(part.strip().isdigit() for part in parts) or len(parts) > 2:
        raise InvalidParameter("grid", text, "a number of cells along each side, such as 64, or two, such as 64x48")
    sides = tuple(int(part) for part in parts)
    return sides[0] if len(sides) == 1 else (sides[0], sides[1])


def integers(text: str, _: Typed) -> list[int]:
    """Return integers that are separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise InvalidParameter("worth", text, "integers, separated by commas, such as 1,2,3")
    return [int(part) for part in parts]


def labels(texts: Sequence[str], _: Typed) -> dict[str, str]:
    """Return labels by column."""
    found = {}
    for text in texts:
        name, has_value, value = text.partition("=")
        if not has_value or not value.strip():
            raise InvalidParameter("other", text, "COLUMN=LABEL")
        found[name.strip()] = value.strip()
    return found


def bins_by_column(texts: Sequence[str], known: Typed) -> dict[str, Any]:
    """Return bins by column, as the declared kinds of the columns say."""
    from dither.verbs.typed_bins import bins_of

    return bins_of(known.dataset, known.arguments, texts)


TableName: TypeAlias = Annotated[str, Arg("a private table")]
Where: TypeAlias = Annotated[str | None, Arg('a condition in SQL on the rows, for example "age >= 18"')]
Axes: TypeAlias = Annotated[
    str | Sequence[str],
    Arg(
        "a column, or several for a table of that many dimensions",
        schema={"type": ["string", "array"], "items": {"type": "string"}},
    ),
]
Columns: TypeAlias = Annotated[
    Sequence[str] | None, Arg("names of columns; by default all but the privacy id", read=names, schema=_NAMES)
]
Bins: TypeAlias = Annotated[
    Any,
    Arg(
        "COLUMN=10 for bins of equal width, COLUMN=0,18,65 for edges, COLUMN=a,b for values; in Python a number, "
        "edges or values, or a mapping of columns to these; by default all declared values",
        read=bins_by_column,
        metavar="COLUMN=BINS",
        is_repeated=True,
        schema=_ANY,
    ),
]
Labels: TypeAlias = Annotated[
    Mapping[str, Any] | None,
    Arg(
        "for columns with categories, COLUMN=LABEL: the label of rows whose value is not a category; such rows do "
        "not count otherwise",
        read=labels,
        metavar="COLUMN=LABEL",
        is_repeated=True,
    ),
]
Outside: TypeAlias = Annotated[
    str | None,
    Arg(
        'values beyond the bins: "ends" counts them in the end bins, "drop" does not count them; required only where '
        "bins do not cover all declared values",
        choices=("ends", "drop"),
    ),
]
Method: TypeAlias = Annotated[str, Arg('a method of the catalogue, or "auto" for the smallest predicted error')]
Noise: TypeAlias = Annotated[
    str,
    Arg(
        "laplace, gaussian, or auto for the smaller expected error",
        choices=("auto", "laplace", "gaussian"),
        default="auto",
    ),
]
Shares: TypeAlias = Annotated[
    Mapping[str, Number] | None,
    Arg("how the loss is divided among the aggregates, by output name"),
]
Description: TypeAlias = Annotated[str, Arg("one line for people, shown in the history")]
Grid: TypeAlias = Annotated[
    int | tuple[int, int] | None,
    Arg(
        "cells along each side of the declared box, or two numbers: 64 or 64x48; public",
        read=cells_along,
        metavar="N|NxM",
    ),
]
Moment: TypeAlias = str | datetime.date | None
