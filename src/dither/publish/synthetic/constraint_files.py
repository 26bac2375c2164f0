"""Files of public facts that every synthetic row keeps, as people write them in YAML."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml

from dither.errors import InvalidParameter
from dither.publish.synthetic.constraints import Constraint, Determined, Impossible

_UNREADABLE: Final = object()


def read_constraints(path: Path | str) -> tuple[Constraint, ...]:
    """Return the constraints of a YAML file.

    ``impossible`` is a list of ``{columns: [sex, pregnant], values: [[male, true]]}``, ``determined`` a list of
    ``{column: state, by: city, values: {Turin: Italy}}``.
    """
    record: Any = _UNREADABLE
    with suppress(OSError, ValueError, yaml.YAMLError):
        record = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if record is _UNREADABLE:
        raise InvalidParameter("constraints", str(path), "a readable file of YAML")
    if not isinstance(record, dict) or not set(record) <= {"impossible", "determined"}:
        raise InvalidParameter("constraints", str(path), "a file with the lists `impossible` and `determined`")
    found = _constraints(record)
    if found is None:
        rule = "entries with `columns` and `values`, or with `column`, `by` and `values`"
        raise InvalidParameter("constraints", str(path), rule)
    return found


def _constraints(record: dict[str, Any]) -> tuple[Constraint, ...] | None:
    """Return the constraints of a record; None where an entry has other keys."""
    found: list[Constraint] = []
    try:
        for entry in record.get("impossible") or []:
            found.append(Impossible(tuple(entry["columns"]), tuple(tuple(row) for row in entry["values"])))
        for entry in record.get("determined") or []:
            found.append(Determined(entry["column"], entry["by"], tuple(dict(entry["values"]).items())))
    except (KeyError, TypeError, AttributeError):
        return None
    return tuple(found)
