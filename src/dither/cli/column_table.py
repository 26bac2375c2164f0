"""The wizard's screen: all columns with their proposals, who sees them, and what they cost. For the owner's eyes."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from rich.markup import escape
from rich.table import Table as Grid

from dither.cli.column_choices import Choices, Limits, Standing
from dither.cli.column_commands import too_many
from dither.cli.console import console, say, shown
from dither.cli.prompts import DECIMAL_POINT
from dither.data.expressions import Kind
from dither.data.facts import Facts
from dither.data.files import schema_from
from dither.data.hints import hint
from dither.errors import DitherError
from dither.privacy import Loss, PureDP, stated_loss

#: At which errors are shown.
_EPSILON: Final = PureDP("1")
_WITH_DELTA: Final = stated_loss(epsilon=1, delta="1e-6")
#: Narrower screens get lines in place of a table.
_NARROW: Final = 72
_WIDE: Final = 112
_MOST_SHOWN: Final = 40
_PLACES: Final = 3


def show_file(facts: Facts) -> None:
    """Show the file itself, and what of it no schema can have."""
    say("NOT PRIVATE: the figures below are for the owner of the rows. dither stores none of them.", style="bold")
    say(f"{facts.path}: {facts.rows:,} rows" + ("" if facts.rows else "; only the names of columns, if any"))
    if facts.decimal is not None:
        say(
            f"numbers are read with {facts.decimal!r} before their decimals, because cells look so: "
            f"'{DECIMAL_POINT}' if that is wrong"
        )
    for why in facts.left_out:
        say(f"not declared: {why}")


def show_columns(choices: Choices, names: Sequence[str] | None = None) -> None:
    """Show columns, all by default.

    Args:
        choices: what is decided about them.
        names: those to show.

    """
    listed = [one for one in choices if names is None or one.facts.name in names]
    if console.width < _NARROW:
        for one in listed:
            _show_lines(one, choices.number(one.facts.name))
    else:
        _show_grid(listed, choices)
    if names is None:
        for one in listed:
            if one.facts.note:
                say(f"{one.facts.name}: {one.facts.note}")


def show_legend(choices: Choices) -> None:
    """Say what the screen means, and what may be typed."""
    if choices.marked:
        say("* read from your rows, seen by you alone. 'public 3 5' declares those of columns 3 and 5, if anyone may")
        say("  know them. Enter never takes one.")
    say("Errors are for epsilon 1 and 1 row a person. A declared kind, range or list of categories is public.")
    say("Change columns by number: '3 range 0..500', '4-9 out', 'undo'. '3' shows more, 'help' all. Enter continues.")


def show_details(choices: Choices, names: Iterable[str]) -> None:
    """Show all about some columns."""
    for name in names:
        one = choices[name]
        facts = one.facts
        _show_lines(one, choices.number(name))
        if facts.stored_name != name:
            say(f"    called {shown(facts.stored_name)!r} in the file")
        say(f"    in your rows: {_in_rows(one)}")
        if facts.values:
            say(f"    values: {shown(', '.join(facts.values))}")
        if facts.note:
            say(f"    {shown(facts.note)}")


def _show_grid(listed: Sequence[Standing], choices: Choices) -> None:
    is_wide = console.width >= _WIDE
    grid = Grid()
    grid.add_column("#", justify="right", no_wrap=True)
    grid.add_column("column", overflow="fold")
    grid.add_column("kind", overflow="fold")
    grid.add_column("range or categories", overflow="fold")
    grid.add_column("seen by", no_wrap=True)
    grid.add_column("error or cost", overflow="fold")
    if is_wide:
        grid.add_column("in your rows", overflow="fold")
    for one in listed:
        cells = [
            f"{choices.number(one.facts.name)}",
            shown(one.facts.name),
            _kind(one),
            _limits(one),
            _seen_by(one),
            shown(cost(one)),
            *([_in_rows(one)] if is_wide else []),
        ]
        grid.add_row(*map(escape, cells))
    console.print(grid)


def _show_lines(one: Standing, number: int) -> None:
    """Show a column where a table does not fit."""
    parts = [part for part in (_kind(one), _limits(one)) if part not in ("", "-")]
    say(f"{number:>2} {shown(one.facts.name)}")
    say(f"    {', '.join(parts)}")
    say(f"    seen by {_seen_by(one)}" + (f"; {shown(said)}" if (said := cost(one)) else ""))


def _kind(one: Standing) -> str:
    if one.choice.is_out:
        return "-"
    form = f" as {' or '.join(one.shown_form)}" if one.shown_form else ""
    return shown(one.shown_kind.value + form) + "*" * one.is_kind_open


def _limits(one: Standing) -> str:
    if one.choice.is_out:
        return "-"
    said = _listed(one.shown_limits) + "*" * one.are_limits_open
    if one.choice.nullable:
        return f"{said} or missing".lstrip()
    return f"{said} or missing*".lstrip() if one.is_missing_open else said or "-"


def _listed(limits: Limits | None) -> str:
    if limits is None:
        return ""
    if limits.ends is not None:
        return f"{limits.ends[0]}..{limits.ends[1]}"
    whole = shown(", ".join(limits.values))
    if len(whole) <= _MOST_SHOWN:
        return whole
    fitting: list[str] = []
    for value in limits.values:
        if len(", ".join([*fitting, value])) > _MOST_SHOWN - 9:
            break
        fitting.append(value)
    return shown(", ".join([*fitting, f"… ({len(limits.values)})"]))


def _seen_by(one: Standing) -> str:
    if one.choice.is_out:
        return "no one"
    return "you*" if one.is_marked else "everyone"


def _in_rows(one: Standing) -> str:
    facts = one.facts
    found = []
    if facts.least is not None:
        found.append(f"{facts.least} to {facts.largest}")
    if facts.distinct:
        found.append(f"{facts.distinct:,} different")
    if facts.missing:
        found.append(f"{facts.missing:.1%} missing")
    return shown("; ".join(found)) or "empty"


def cost(one: Standing) -> str:
    """Return what a column is good for and the error of an answer, as it is proposed or decided."""
    if one.choice.is_out:
        return "not declared"
    limits, kind = one.shown_limits, one.shown_kind
    count = _figure(_count_error())
    if kind is Kind.BOOLEAN:
        return f"2 groups, each ± {count} rows"
    if one.is_person and limits is None:
        return "may identify people"
    if kind is Kind.TEXT:
        if limits is not None:
            return f"{len(limits.values)} groups, each ± {count} rows"
        said = f"groups from about {_threshold()} people, with a delta"
        is_category = one.facts.distinct and not one.facts.values and hint(one.facts.name).is_category
        return f"{too_many(one)}; {said}" if is_category else said
    if limits is None or limits.ends is None:
        return "no sums and no groups without a range"
    if kind.is_number:
        error = _sum_error(kind, limits.ends)
        return "no error can be computed for this range" if error is None else f"a sum ± {_figure(error)}"
    days = _days(limits.ends)
    return f"{days:,} days as groups, each ± {count} rows" if days else ""


def _figure(value: float) -> str:
    """Return a number to two digits, as people write it.

    >>> _figure(1497.866), _figure(3.0), _figure(0.0312)
    ('1,500', '3', '0.031')
    """
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 or rounded == int(rounded) else f"{rounded:g}"


def _days(ends: tuple[str, str]) -> int:
    first, last = (datetime.date.fromisoformat(end[:10]) for end in ends)
    return (last - first).days + 1


@lru_cache(maxsize=512)
def _quoted(kind: str, ends: tuple[Any, ...], what: str) -> float | None:
    """Return an error, or the threshold for groups, of one row a person; None where none is known."""
    from dither.publish.queries import quote
    from dither.publish.queries.builder import table

    column: dict[str, Any] = {"kind": kind} | ({"bounds": list(ends)} if ends else {})
    columns = {"id": "integer", "x": column}
    tables = {"t": {"source": "t.csv", "privacy id": "id", "columns": columns}}
    rows = table("t")
    asked = rows.sum("x", name="n") if what == "sum" else rows.group("x").count("n") if what == "group" else None
    loss: Loss = _WITH_DELTA if what == "group" else _EPSILON
    try:
        dataset = schema_from({"dataset": "d", "unit": "person", "contribution": {"rows": 1}, "tables": tables})
        priced = quote((asked or rows.count("n")).build(dataset), loss)
    except DitherError:
        return None
    found = priced.threshold if what == "group" else priced.columns[-1].error
    return None if found is None else float(found)


def _count_error() -> float:
    return _quoted("integer", (), "count") or 0.0


def _threshold() -> str:
    found = _quoted("text", (), "group")
    return "20" if found is None else f"{found:,.0f}"


def _sum_error(kind: Kind, ends: tuple[str, str]) -> float | None:
    try:
        return _quoted(
            kind.value, tuple(float(end) if "." in end or "e" in end.lower() else int(end) for end in ends), "sum"
        )
    except ValueError:
        return None
