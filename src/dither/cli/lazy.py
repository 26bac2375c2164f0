"""Groups of verbs whose modules are imported when a verb is typed, so that a list of them needs none.

A verb is a function with annotated parameters, in a module of its own or beside its kin. A table says where each is,
and the line that a list of verbs shows: the first of its docstring, which a test compares. The help of a verb ends with
examples.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from dither.cli.summaries import SUMMARIES
from dither.errors import InvalidParameter

#: Both words for help, everywhere.
HELP = {"help_option_names": ["-h", "--help"]}

#: A group of no more verbs lists them where another word was typed.
_FEW_VERBS: Final = 8


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
            """Return the remaining arguments; the usual verb is optional, and ``help`` shows a verb's help."""
            if args and args[0].lower() == "help" and "help" not in verbs:
                args = [*args[1:], HELP["help_option_names"][-1]]
            if usual_verb is not None and args and args[0] not in HELP["help_option_names"]:
                # An option, or a file with an ending: a verb has neither a hyphen before it nor a point.
                args = [usual_verb, *args] if args[0].startswith("-") or "." in args[0] else args
            with _with_hint(ctx, self.params, list(verbs)):
                found: list[str] = super().parse_args(ctx, args)
            return found

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            """Return the verb that was typed, and what is left for it."""
            if args and args[0] not in verbs and len(verbs) <= _FEW_VERBS and not args[0].startswith("-"):
                ctx.fail(f"No such command {args[0]!r}. Write one of {', '.join(verbs)} first.")
            name, found, rest = super().resolve_command(ctx, args)
            verb = verbs.get(name or "")
            return name, found if verb is None else _loaded(name or "", verb.place), rest

    usual = {"no_args_is_help": True, "add_completion": False, "context_settings": HELP}
    made = typer.Typer(cls=Group, **{**usual, **options})
    titles = {name: title for title, names in (panels or {}).items() for name in names}
    for name in sorted(verbs, key=[*titles, *verbs].index):
        made.command(name, help=verbs[name].summary, rich_help_panel=titles.get(name))(_stand_in)
    return made


class Choice:
    """Commands of one word that the second word behind the data set tells apart; each has options of its own.

    Args:
        listed: has the help of the word alone, and can be typed with the options of all.
        commands: by the second word.

    """

    def __init__(self, listed: Callable[..., None], commands: Mapping[str, Callable[..., None]]) -> None:
        self.listed, self.commands = listed, commands
        self.__doc__ = listed.__doc__


#: The module whose commands are made of declarations.
DERIVED: Final = "verbs"


def derived(name: str) -> Verb:
    """Return where the command of a declared verb is made; the tool that writes its line starts without one."""
    return Verb(f"{DERIVED}:{name}", SUMMARIES.get(name, ""))


def function_of(place: str) -> Any:
    """Return the function of a verb, or a choice among several."""
    module, _, name = place.partition(":")
    found = importlib.import_module(f"dither.cli.{module}")
    return found.command(name) if module == DERIVED else getattr(found, name)


class _Command(TyperCommand):
    """A verb whose help ends with examples, and whose refusals name what was typed."""

    #: Those of its examples that are shown have these.
    words: tuple[str, ...] = ()

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage; an argument that says itself what is optional or repeated is as it says."""
        pieces = super().collect_usage_pieces(ctx)[:1]
        one: Any
        for one in self.get_params(ctx):
            said = str(getattr(one, "metavar", None) or "")
            is_told = one.param_type_name == "argument" and (one.hidden or " " in said or said.endswith("..."))
            pieces += [said] if is_told else one.get_usage_pieces(ctx)
        return pieces

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the remaining arguments; an unknown option is refused with the one that is meant."""
        with _with_hint(ctx, self.params):
            found: list[str] = super().parse_args(ctx, args)
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; a failure that it raises remembers how its parameter is typed."""
        with _as_typed(self.params):
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and examples below it."""
        super().format_help(ctx, formatter)
        _write_examples(ctx, formatter, *self.words)


class _Chooser(_Command):
    """A command whose second word behind the data set chooses one of several."""

    commands: Mapping[str, Callable[..., None]] = MappingProxyType({})

    def choose_among(self, commands: Mapping[str, Callable[..., None]]) -> None:
        """Take the commands by their words; the options of all are known before the word is, and shown with it."""
        self.commands = commands
        one: Any
        for one in self.params:
            if one.param_type_name == "option":
                one.hidden, one.callback = True, None

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the command that is meant; of the list where none is."""
        trial = self.context_class(self, info_name=info_name, parent=parent, **extra, **self.context_settings)
        typed, _, _ = self.make_parser(trial).parse_args(args=list(args))
        what = str(typed.get("what") or "")
        if what not in self.commands and (not what or trial.resilient_parsing):
            return super().make_context(info_name, args, parent, **extra)
        with _as_typed(self.params):
            if what not in self.commands:
                raise InvalidParameter("what", what, f"one of {', '.join(self.commands)}")
            known = {name: {"help", *inspect.signature(one).parameters} for name, one in self.commands.items()}
            for name in (name for name in typed if name not in known[what]):
                others = ", ".join(other for other in known if name in known[other])
                raise InvalidParameter(name, typed[name], f"not allowed for {what}: an option of {others}")
        return self.chosen(what).make_context(info_name, args, parent, **extra)

    @functools.cache  # noqa: B019 - each is made once in a process
    def chosen(self, what: str) -> _Command:
        """Return the command of a word."""
        found: _Command = _made(str(self.name), self.commands[what], _Command)
        found.words = (what,)
        return found

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, the words with what each does, and examples."""
        TyperCommand.format_help(self, ctx, formatter)
        with formatter.section("WHAT is one of"):
            formatter.write_dl([(name, one.__doc__ or "") for name, one in self.commands.items()])
        formatter.write("\n")
        _write_examples(ctx, formatter)


class _Group(TyperGroup):
    """A group whose help ends with examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and examples below it."""
        super().format_help(ctx, formatter)
        _write_examples(ctx, formatter)


@contextlib.contextmanager
def _with_hint(ctx: Any, params: Sequence[Any], verbs: Sequence[str] = ()) -> Iterator[None]:
    """Put into the refusal of an unknown option what to type in its place."""
    try:
        yield
    except Exception as failure:
        # The parser's classes are Typer's own, and in no public module.
        if hasattr(failure, "option_name") and hasattr(failure, "possibilities"):
            from dither.cli.guessed_options import correct

            correct(failure, str(ctx.info_name), [name for one in params for name in one.opts], verbs)
        raise


@contextlib.contextmanager
def _as_typed(params: Sequence[Any]) -> Iterator[None]:
    """Let a failure remember how its parameter is typed."""
    try:
        yield
    except InvalidParameter as failure:
        from dither.cli.option_errors import remember_typed

        remember_typed(failure, params)
        raise


def _write_examples(ctx: Any, formatter: Any, *shown: str) -> None:
    """Write examples of what was typed, as they are typed: no line is broken, and no bracket is markup.

    Args:
        ctx: of the command.
        formatter: that writes.
        shown: words that an example has, so that it is shown.

    """
    from dither.cli.examples import EXAMPLES

    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, ctx.info_name)
        ctx = ctx.parent
    lines = [line for line in EXAMPLES.get(" ".join(words), ()) if {*shown} <= {*line.split()}]
    if lines:
        formatter.write("Examples:\n" + "".join(f"  {line}\n" for line in lines))


@functools.cache
def _loaded(name: str, place: str) -> Any:
    """Return a verb as a command."""
    function = function_of(place)
    if not isinstance(function, Choice):
        return _made(name, function, _Command)
    found = _made(name, function.listed, _Chooser)
    found.choose_among(function.commands)
    return found


def _made(name: str, function: Any, kind: type[_Command]) -> Any:
    """Return a function as a command."""
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    settings = {**HELP, **getattr(function, "context_settings", {})}
    made.command(name, cls=kind, context_settings=settings)(function)
    return typer.main.get_command(made)


def _stand_in() -> None:
    """Stand for a verb in a list; never called."""
