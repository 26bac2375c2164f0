"""Groups of verbs whose modules are imported when a verb is typed, so that a list of them needs none.

A verb is a function with annotated parameters, in a module of its own or beside its kin. A table says where each is,
and the line that a list of verbs shows: the first of its docstring, which a test compares. The help of a verb ends with
examples.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from dither.errors import InvalidParameter

#: Both words for help, everywhere.
HELP = {"help_option_names": ["-h", "--help"]}


class Verb(NamedTuple):
    """Where a verb is, as ``module:function`` of this room, and what it does, in a line."""

    place: str
    summary: str


def group(
    verbs: Mapping[str, Verb],
    panels: Mapping[str, Sequence[str]] | None = None,
    *,
    usual_verb: str | None = None,
    **options: Any,
) -> typer.Typer:
    """Return a group of verbs, none of which is imported before it is typed.

    Args:
        verbs: by the words that are typed, in the order in which they are listed.
        panels: under which title verbs are listed, those of a title in their order; None for one list.
        usual_verb: what is meant where the first word is an option or a file with an ending; none if not given.
        options: of the group, as Typer takes them.

    """

    class Group(_Group):
        """Puts the verb itself in the place of what stands for it in the list."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Return what is left of the words; the usual verb may be left out."""
            if usual_verb is not None and args and args[0] not in HELP["help_option_names"]:
                # An option, or a file with an ending: a verb has neither a hyphen before it nor a point.
                args = [usual_verb, *args] if args[0].startswith("-") or "." in args[0] else args
            found: list[str] = super().parse_args(ctx, args)
            return found

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            """Return the verb that was typed, and what is left for it."""
            name, found, rest = super().resolve_command(ctx, args)
            verb = verbs.get(name or "")
            return name, found if verb is None else _loaded(name or "", verb.place), rest

    usual = {"no_args_is_help": True, "add_completion": False, "context_settings": HELP}
    made = typer.Typer(cls=Group, **{**usual, **options})
    titles = {name: title for title, names in (panels or {}).items() for name in names}
    for name in sorted(verbs, key=[*titles, *verbs].index):
        made.command(name, help=verbs[name].summary, rich_help_panel=titles.get(name))(_stand_in)
    return made


def function_of(place: str) -> Any:
    """Return the function of a verb."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"dither.cli.{module}"), name)


class _Command(TyperCommand):
    """A verb whose help ends with examples, and whose refusals name what was typed."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage; an argument that says itself what is optional or repeated is as it says."""
        pieces = super().collect_usage_pieces(ctx)[:1]
        for one in self.get_params(ctx):
            said = str(getattr(one, "metavar", None) or "")
            is_told = one.param_type_name == "argument" and (" " in said or said.endswith("..."))
            pieces += [said] if is_told else one.get_usage_pieces(ctx)
        return pieces

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; a failure that it raises remembers how its parameter is typed."""
        try:
            return super().invoke(ctx)
        except InvalidParameter as failure:
            from dither.cli.as_typed import remember_typed

            remember_typed(failure, self.params)
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and examples below it."""
        super().format_help(ctx, formatter)
        _write_examples(ctx, formatter)


class _Group(TyperGroup):
    """A group whose help ends with examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and examples below it."""
        super().format_help(ctx, formatter)
        _write_examples(ctx, formatter)


def _write_examples(ctx: Any, formatter: Any) -> None:
    """Write examples of what was typed, as they are typed: no line is broken, and no bracket is markup."""
    from dither.cli.examples import EXAMPLES

    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, ctx.info_name)
        ctx = ctx.parent
    lines = EXAMPLES.get(" ".join(words), ())
    if lines:
        formatter.write("Examples:\n" + "".join(f"  {line}\n" for line in lines))


@functools.cache
def _loaded(name: str, place: str) -> Any:
    """Return a verb as a command."""
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    function = function_of(place)
    settings = {**HELP, **getattr(function, "context_settings", {})}
    made.command(name, cls=_Command, context_settings=settings)(function)
    return typer.main.get_command(made)


def _stand_in() -> None:
    """Stand for a verb in a list; never called."""
