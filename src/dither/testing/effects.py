"""Effects of a run beside its return value: warnings, logs, texts, files, processes, settings, changes of its input.

A caller of a mechanism sees all of these, so none of them may depend on data; in this project none of them is there.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dither.testing.outside import outside
from dither.testing.sameness import portrait, unlike


@dataclass
class Effects:
    """The effects that were seen beside an output, each as a text."""

    seen: list[str] = field(default_factory=list)


class _Listener(logging.Handler):
    """Keeps every record as a text."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(f"log: {record.levelname} {record.name}: {record.getMessage()}")


@contextmanager
def watched(*given: Any, outlined: Any = None, allowed: Sequence[Path] = ()) -> Iterator[Effects]:
    """Watch a block; its ``given`` objects must be unchanged at the end, and files may be written if ``allowed``.

    Args:
        given: objects that must not be changed.
        outlined: large data, of which only numbers in an array and rows of a list are compared, which is quick.
        allowed: folders in which files may be written, such as the owner's own.

    """
    effects, before, outline = Effects(), [portrait(one) for one in given], _outline(outlined)
    listener, root = _Listener(), logging.getLogger()
    level = root.level
    out, err = io.StringIO(), io.StringIO()
    root.addHandler(listener)
    root.setLevel(logging.NOTSET)
    try:
        with (
            outside(allowed) as done,
            warnings.catch_warnings(record=True) as warned,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            warnings.simplefilter("always")
            yield effects
    finally:
        root.setLevel(level)
        root.removeHandler(listener)
        effects.seen += [f"warning: {one.category.__name__}: {one.message}" for one in warned]
        effects.seen += [*listener.records, *done]
        effects.seen += [
            f"{name}: {text.getvalue()!r}" for name, text in (("stdout", out), ("stderr", err)) if text.tell()
        ]
        for one, portrayed in zip(given, before, strict=True):
            change = unlike(portrayed, portrait(one))
            if change is not None:
                effects.seen.append(f"the input was changed {change}")
        if _outline(outlined) != outline:
            effects.seen.append("the input was changed")


def _outline(rows: Any) -> Any:
    """Return the bytes of an array, or the identities of a list's rows."""
    if type(rows) is np.ndarray and not rows.dtype.hasobject:
        return rows.tobytes(), rows.dtype, rows.shape
    return [id(row) for row in rows] if isinstance(rows, list) else None
