"""Commands of declared verbs: options, help and the one body that all of them have, from the declaration.

``dither graph DATASET WHAT`` and ``dither places DATASET WHAT`` have a command for each verb about a declared part. Two
verbs of one command are told apart by an option.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, get_args

import typer

from dither.cli import ask
from dither.cli.deliveries import ContourLines, Delivery, Released, delivery_of
from dither.cli.lazy import Choice
from dither.cli.options import Charged, DataSetName, OnlyTable, Option, Server, options_of
from dither.cli.outputs import delivering
from dither.cli.progress import progress
from dither.cli.remote import declared
from dither.cli.special_arguments import SPECIAL, Special
from dither.cli.table_choice import check_words, only_table, table_and_words
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.forms import Reading
from dither.lift.verb import REGISTRY, Argument, Typed, Verb
from dither.verbs import every_verb  # noqa: F401 - declares the verbs

#: Stated by options that every release has.
_CHARGED: Final = ("epsilon", "delta", "rho", "loss", "key")
#: What a sentence says to callers in Python alone.
_FOR_PYTHON: Final = re.compile(r"; in Python [^;]*")
_INTEGERS: Final = {int, int | None, type(None)}
_PART_TABLE: Final = Option(
    "table",
    Annotated[str | None, typer.Option(help="The table that is meant; may be omitted where there is one.")],
    None,
)


class When(NamedTuple):
    """The option by which one of two verbs is meant, and its value; None for any."""

    option: str
    value: str | None = None

    def is_met(self, given: Mapping[str, Any]) -> bool:
        """Whether the option was typed so."""
        typed = given[self.option]
        return typed is not None if self.value is None else bool(typed == self.value)

    def __str__(self) -> str:
        return f"--{self.option}" if self.value is None else f"--{self.option} {self.value}"


#: The commands that are made here.
DERIVED: Final = (
    *("bounds", "limits", "synthesize", "anonymize", "fit", "graph", "places"),
    *("histogram", "count", "workload", "marginals"),
)
_PARTS: Final[Mapping[str, str]] = {
    "graph": "Release a count of a graph, its degrees, clustering or assortativity, or a synthetic graph.",
    "places": "Release a heat map, contour lines, counts by region, flows, stops or journeys of declared places.",
}
_CONTOUR: Final = "Release contour lines of a heat map, at counts in a cell."
#: Verbs that one word stands for besides that of its name: what becomes of the result, and when they are meant.
_OTHERS: Final[Mapping[str, tuple[tuple[str, type[Delivery[Any]] | None, When], ...]]] = {
    "synthesize": (("synthesize_families", None, When("tables")),),
    "anonymize": (("ask_kept", Delivery, When("method", "kept-table")),),
}


@dataclass(frozen=True)
class Command:
    """How one verb is typed.

    Args:
        verb: what it releases.
        delivery: what becomes of that.
        what: its second word, of a verb about a declared part.
        when: it is meant, of two verbs of one command.
        text: what it does, in place of what its verb does.

    """

    verb: Verb[..., Any]
    delivery: type[Delivery[Any]]
    what: str = ""
    when: When | None = None
    text: str = ""

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return self.text or self.verb.summary.replace("``", "'")

    @property
    def behind_table(self) -> Argument | None:
        """The argument that is typed as words behind the table."""
        typed = self.verb.how.arguments
        return self.verb.argument(typed[1]) if len(typed) > 1 else None

    def options(self) -> tuple[list[Option], ...]:
        """Return all that can be typed: words, arguments, files, and what every release has."""
        words = [Option("dataset", DataSetName, inspect.Parameter.empty), *self._words()]
        own = [option for one in self._named() for option in self._options_of(one)]
        files, charged = list(options_of(self.delivery)), list(options_of(Charged))
        charged.insert(-2, Option("server", Server, None))
        return words, own, files, [one for one in charged if files or one.name != "force"]

    def run(self, given: Mapping[str, Any]) -> None:
        """Price or release: the body of every command of a verb."""
        charged = Charged(**{one.name: given[one.name] for one in fields(Charged) if one.name in given})
        dataset = declared(charged.home, given["dataset"])
        arguments = Reading(dataset, self._readers(dataset, given))
        named = self.verb.opened(dict(arguments))
        delivery = self.delivery(**{name: given[name] for name, *_ in options_of(self.delivery)})
        if self.verb.argument("epsilon") is not None:
            named |= {name: given[name] for name in ("epsilon", "delta", "rho") if given[name] is not None}
        with ask.charged_session(charged, given["dataset"], delivery.files(arguments.typed)) as session:
            delivery.check(session)
            offer = session.offer.named(self.verb.name, {**named, "key": charged.key})
            if charged.is_quoted:
                ask.say_price(session.quote(offer), as_json=charged.json)
                return
            with progress(self.verb.how.doing):
                result = session.release(offer)
            with delivering(charged.name):
                delivery.deliver(result, Released(session, charged, arguments.typed))

    def _words(self) -> Iterator[Option]:
        """Return what is typed without the name of an option, behind the data set."""
        if self.what:
            yield Option(
                "what", Annotated[str, typer.Argument(metavar=self.what, hidden=True)], inspect.Parameter.empty
            )
        if self.verb.is_about_part:
            yield _PART_TABLE
        elif self.behind_table is None:
            if self.verb.how.arguments:
                yield Option("table", OnlyTable, None)
        else:
            one = self.behind_table
            word = one.name.removesuffix("s").upper() if one.is_sequence else one.name.upper()
            word = (word if one.is_required else f"[{word}]") + ("..." if one.is_sequence else "")
            text = f"A private table, which may be omitted if it is the only one; and {one.about.text}."
            kind = typer.Argument(metavar=f"[TABLE] {word}", help=text)
            if one.is_required:
                yield Option("words", Annotated[list[str], kind], inspect.Parameter.empty)
            else:
                yield Option("words", Annotated[list[str] | None, kind], None)

    def _named(self) -> Iterator[Argument]:
        """Return the arguments that are typed as options."""
        for one in self.verb.arguments:
            if one.name not in (*_CHARGED, *self.verb.how.arguments):
                yield one

    def _special(self, argument: Argument) -> Special:
        """Return how an argument is typed."""
        usual = Special(lambda given, typed: self._read(argument, given[_name(argument)], typed))
        return SPECIAL.get((self.verb.name, argument.name), usual)

    def _options_of(self, argument: Argument) -> Sequence[Option]:
        special = self._special(argument).options
        return [_option(argument, self.when)] if special is None else special

    def _readers(self, dataset: DataSet, given: Mapping[str, Any]) -> dict[str, Callable[[Typed], Any]]:
        """Return what makes each argument of what was typed."""
        found: dict[str, Callable[[Typed], Any]] = {}
        if self.behind_table is not None:
            table, words = table_and_words(dataset, given["words"] or ())
            check_words(words, table, self.behind_table)
            found["table"] = lambda _: table
            found[self.behind_table.name] = partial(self._behind_table, self.behind_table, words)
        elif self.verb.how.arguments:
            found["table"] = lambda _: dataset.table(given["table"] or only_table(dataset)).name
        elif self.verb.is_about_part:
            found["table"] = lambda _: given["table"]
        return found | {one.name: partial(self._special(one).read, given) for one in self._named()}

    def _behind_table(self, argument: Argument, words: Sequence[str], typed: Typed) -> Any:
        if not argument.is_sequence or not words:
            return words[0] if words else None
        return words if argument.about.read is None else argument.about.read(words, typed)

    def _read(self, argument: Argument, value: Any, typed: Typed) -> Any:
        """Return an argument that was typed as its declaration says."""
        if value is None or value == []:
            if argument.is_required:
                label = self.what or (self.when and self.when.value) or self.verb.attribute
                raise InvalidParameter(_name(argument), None, f"required for {label} ({argument.about.text})")
            return None
        if argument.about.read is not None:
            return argument.about.read(value, typed)
        return None if value == argument.default else value


def _name(argument: Argument) -> str:
    """Return the name of the option of an argument."""
    return (argument.about.option or argument.name).removeprefix("--").replace("-", "_")


def _option(argument: Argument, when: When | None) -> Option:
    """Return the option of an argument: how it is typed, its default and its help.

    Args:
        argument: of a verb.
        when: that verb is meant, of several.

    """
    about, name = argument.about, _name(argument)
    typed = f"--{name.replace('_', '-')}"
    default = None if argument.is_required or about.read is not None else argument.default
    kind: Any = str | None if default is None else str
    if argument.kind is bool:
        kind, typed = bool, f"{typed}/--no-{typed.removeprefix('--')}" if default else typed
    elif about.is_repeated:
        kind = list[str] | None
    elif about.read is None and {*get_args(argument.kind)} | {argument.kind} <= _INTEGERS:
        kind = int | None if default is None else int
    listed = "|".join(argument.choices)
    metavar = about.metavar or (listed if 0 < len(listed) <= 24 else None)
    text = _FOR_PYTHON.sub("", about.text)
    if when is not None or argument.is_required:
        text = f"{'Required' if when is None else f'With {when}'}: {text}"
    elif text.partition(",")[0] not in (argument.default, *argument.choices):
        text = f"{text[:1].upper()}{text[1:]}"
    return Option(name, Annotated[kind, typer.Option(typed, help=f"{text}.", metavar=metavar)], default)


def _with_options(run: Callable[..., None], options: Collection[Option], text: str) -> Callable[..., None]:
    """Return a function with a signature and a text, as Typer reads them."""
    run.__doc__, run.__annotations__ = text, {one.name: one.annotation for one in options}
    keyword = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(one.name, keyword, annotation=one.annotation, default=one.default) for one in options]
    )
    return run


def _function(*commands: Command) -> Callable[..., None]:
    """Return the function of what one word stands for: one command, or several that an option tells apart."""
    found = _all_options(commands)

    def run(**given: Any) -> None:
        meant = next((one for one in commands if one.when is not None and one.when.is_met(given)), commands[0])
        for one in commands:
            _refuse_others(meant, one, given)
        meant.run(given)

    return _with_options(run, found.values(), commands[0].summary)


def _all_options(commands: Iterable[Command], first: Iterable[Option] = ()) -> dict[str, Option]:
    """Return the options of commands by name: first words, then arguments, files, and what every release has."""
    found = {one.name: one for one in first}
    for group in zip(*(one.options() for one in commands), strict=True):
        for option in itertools.chain(*group):
            found.setdefault(option.name, option)
    return found


def _refuse_others(meant: Command, other: Command, given: Mapping[str, Any]) -> None:
    """Refuse options of another command than the one that is meant."""
    own = {one.name for one in itertools.chain(*meant.options())}
    rule = f"not allowed except with {other.when}" if meant.when is None else f"not allowed with {meant.when}"
    for one in itertools.chain(*other.options()):
        is_free = one.name in own or (meant.when is not None and one.name == meant.when.option)
        if not is_free and given[one.name] not in (None, [], one.default):
            raise InvalidParameter(one.name, given[one.name], rule)


def _choice(text: str, commands: Mapping[str, Command]) -> Choice:
    """Return the commands that a second word tells apart."""

    def listed(**_: Any) -> None:
        """Never run: it has the help that lists the words."""

    what = typer.Argument(metavar="WHAT", help="Type --help behind it for its options.", autocompletion=lambda: known)
    known = list(commands)
    needed = inspect.Parameter.empty
    words = [Option("dataset", DataSetName, needed), Option("what", Annotated[str, what], needed)]
    options = _all_options(commands.values(), words).values()
    return Choice(_with_options(listed, options, text), {name: _function(one) for name, one in commands.items()})


def _parts(kind: str) -> dict[str, Command]:
    """Return the commands of a declared part, by the words that are typed."""
    verbs = {verb.attribute.replace("_", "-"): verb for verb in REGISTRY.values() if verb.part == kind}
    found = {name: Command(verb, delivery_of(verb), what=name) for name, verb in verbs.items()}
    if kind == "places":
        lines = replace(found["heatmap"], what="contour", delivery=ContourLines, text=_CONTOUR)
        found = {"heatmap": found.pop("heatmap"), "contour": lines, **found}
    return found


def command(name: str) -> Callable[..., None] | Choice:
    """Return the command that a word stands for.

    Args:
        name: one of ``DERIVED``.

    """
    if name in _PARTS:
        return _choice(_PARTS[name], _parts(name))
    usual = REGISTRY[name]
    others = [
        Command(REGISTRY[verb], shows or delivery_of(REGISTRY[verb]), when=when)
        for verb, shows, when in _OTHERS.get(name, ())
    ]
    return _function(Command(usual, delivery_of(usual)), *others)
