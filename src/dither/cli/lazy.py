"""Groups of verbs whose modules are imported when a verb is typed, so that a list of them needs none.

A verb is a function with annotated parameters, in a module of its own or beside its kin. A table says where each is,
and the line that a list of verbs shows: the first of its docstring, which a test compares.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup


class Verb(NamedTuple):
    """Where a verb is, as ``module:function`` of this room, and what it does, in a line."""

    place: str
    summary: str


def group(verbs: Mapping[str, Verb], **options: Any) -> typer.Typer:
    """Return a group of verbs, none of which is imported before it is typed.

    Args:
        verbs: by the words that are typed, in the order in which they are listed.
        options: of the group, as Typer takes them.

    """

    class Group(TyperGroup):
        """Puts the verb itself in the place of what stands for it in the list."""

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            """Return the verb that was typed, and what is left for it."""
            name, found, rest = super().resolve_command(ctx, args)
            verb = verbs.get(name or "")
            return name, found if verb is None else _loaded(name or "", verb.place), rest

    made = typer.Typer(cls=Group, **{"no_args_is_help": True, "add_completion": False, **options})
    for name, verb in verbs.items():
        made.command(name, help=verb.summary)(_stand_in)
    return made


def function_of(place: str) -> Any:
    """Return the function of a verb."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"dither.cli.{module}"), name)


@functools.cache
def _loaded(name: str, place: str) -> Any:
    """Return a verb as a command."""
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    made.command(name)(function_of(place))
    return typer.main.get_command(made)


def _stand_in() -> None:
    """Stand for a verb in a list; never called."""
