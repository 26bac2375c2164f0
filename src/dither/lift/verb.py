"""Verbs: what can be released, each declared once as a function from public arguments to an ``Offer``.

A verb is an attribute of a ``Group``. Its name, its arguments with their defaults, types and sentences, and what it
returns are read from that one function. A session, its offers, the command, HTTP, the client, reference pages and forms
are derived from it: nothing else spells a verb.

A declaration costs nothing to import. What plans a release is imported when the verb is called.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import (
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number, probability
from dither.lift.argument_schemas import schema_of
from dither.lift.offer import Offer
from dither.privacy import Loss, stated_loss

P = ParamSpec("P")
T = TypeVar("T")
_EMPTY: Final = inspect.Parameter.empty
LEVEL: Final = "0.95"


class Priced:
    """Mark of groups whose verbs return offers."""


class Released:
    """Mark of groups whose verbs return what they release."""


M = TypeVar("M", Priced, Released)


@dataclass(frozen=True)
class Typed:
    """What is known while a typed argument is read.

    Args:
        dataset: the declarations.
        arguments: those that were read before it.

    """

    dataset: DataSet
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Arg:
    """What an argument means and how people type it, for all verbs that have it: the metadata of an ``Annotated``.

    Args:
        text: one sentence without a capital and a full stop.
        read: makes the value of what was typed; None for a plain string or number.
        metavar: how it is typed, for a help text.
        is_repeated: whether its option may be typed several times.
        choices: the values that it may have, where its type does not list them.
        schema: its form over HTTP as JSON Schema, where its type does not say it.
        opens: makes the value that travels of what a caller in Python passes, such as a path. It runs where the caller
            is, and never where a service is.
        default: of an argument that a set of terms has.
        option: how it is typed, where that is not ``--`` and its name.

    """

    text: str
    read: Callable[[Any, Typed], Any] | None = None
    metavar: str | None = None
    is_repeated: bool = False
    choices: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    opens: Callable[[Any], Any] | None = None
    default: Any = None
    option: str | None = None


Epsilon = Annotated[
    Number | None,
    Arg(
        "the privacy loss of the release (epsilon), alone or with delta, for example 0.5 or 1/3; or rho instead of both"
    ),
]
Delta = Annotated[Number | None, Arg("the probability that the epsilon bound does not hold, for example 1e-6")]
Rho = Annotated[
    Number | None, Arg("the privacy loss in zero-concentrated differential privacy, with Gaussian noise; or epsilon")
]
LossRecord = Annotated[Loss | None, Arg("the privacy loss as a record, in place of epsilon, delta and rho")]
Key = Annotated[
    str | None, Arg("your name for this request: a retry with the same key returns the stored answer at no cost")
]
Confidence = Annotated[Number, Arg("the level at which all intervals hold together, for example 0.95", default=LEVEL)]


class Keyed(TypedDict, total=False):
    """Arguments of every release."""

    key: Key


class Figures(TypedDict, total=False):
    """Arguments that state a loss in figures."""

    epsilon: Epsilon
    delta: Delta
    rho: Rho


class Lossy(Figures, total=False):
    """Arguments that state a loss."""

    loss: LossRecord


class Terms(Lossy, Keyed, total=False):
    """Arguments of every release whose loss is stated: the loss and the key."""


class Measured(Terms, total=False):
    """Arguments of a release with intervals."""

    confidence: Confidence


#: The arguments that state a loss, and all that releases share.
LOSSES: Final = ("epsilon", "delta", "rho", "loss")
TERMS: Final = (*LOSSES, "key", "confidence")


def loss_of(terms: Lossy) -> Loss:
    """Return the stated loss.

    >>> str(loss_of({"epsilon": "1/2"}))
    'epsilon = 0.5'
    """
    return stated_loss(
        epsilon=terms.get("epsilon"), delta=terms.get("delta"), rho=terms.get("rho"), loss=terms.get("loss")
    )


def level_of(terms: Measured) -> Fraction:
    """Return the confidence level."""
    return probability("confidence", terms.get("confidence", LEVEL), open_below=True)


@dataclass(frozen=True)
class Argument:
    """One argument of a verb, as every door needs it."""

    name: str
    kind: Any
    default: Any
    about: Arg
    is_positional: bool

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is _EMPTY

    @property
    def is_term(self) -> bool:
        """Whether releases share it."""
        return self.name in TERMS

    @property
    def is_sequence(self) -> bool:
        """Whether it may be several of something."""
        return Sequence in (get_origin(part) for part in (self.kind, *get_args(self.kind)))

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have, where its declaration lists them."""
        literals = (
            one for part in (self.kind, *get_args(self.kind)) if get_origin(part) is Literal for one in get_args(part)
        )
        return tuple(literals) or self.about.choices

    @property
    def schema(self) -> dict[str, Any]:
        """Its form over HTTP as JSON Schema, as ``curator.request_json`` writes it."""
        found = dict(schema_of(self.kind) if self.about.schema is None else self.about.schema)
        if "title" in found:
            # What has a name of its own is described there.
            found = {"anyOf": [found]}
        if self.choices and found.get("type") in ("string", ["null", "string"]):
            found["enum"] = [*self.choices, *([None] if found["type"] != "string" else [])]
        if isinstance(self.default, bool | int | str):
            found["default"] = self.default
        return {**found, "description": self.about.text} if self.about.text else found


class Group(Generic[M]):
    """Attributes that are verbs. Its marks say whether calling one prices or releases."""

    dataset: DataSet

    def _do(self, verb: Verb[..., Any], arguments: dict[str, Any]) -> Any:
        """Price or release what a verb makes of arguments by name."""
        raise NotImplementedError


class About(Group[M]):
    """Verbs about one declared part of a data set, such as its graph, which is found by its table.

    Args:
        door: prices or releases.
        table: its name; may be omitted where there is one.

    """

    #: The word before the point of a verb's name, such as "graph".
    kind: ClassVar[str]

    def __init__(self, door: Group[M], table: str | None = None) -> None:
        self._door: Group[M] = door
        self.dataset = door.dataset
        #: The table that declares it.
        self.table: str = self.find(door.dataset, table).table.name

    @staticmethod
    def find(dataset: DataSet, table: str | None) -> Any:
        """Return what the verbs are about, with its ``table``; refuse a data set that declares no such part."""
        raise NotImplementedError

    def _do(self, verb: Verb[..., Any], arguments: dict[str, Any]) -> Any:
        return self._door._do(verb, {"table": self.table, **arguments})

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.table}: {', '.join(verb.attribute for verb in verbs_of(type(self)))}>"


@dataclass(frozen=True)
class How:
    """How a verb is typed as a command.

    Args:
        arguments: those that are words and no options, in their order.
        doing: what the command says while it works.

    """

    arguments: tuple[str, ...] = ()
    doing: str = "counting"


class Verb(Generic[P, T]):
    """One declaration. As an attribute of a group it is a method of that group.

    Args:
        make: a static function from what the verb is about, and its arguments, to an offer.
        how: it is typed.

    """

    def __init__(self, make: Callable[Concatenate[Any, P], Offer[T]], how: How) -> None:
        self.make, self.how = make, how
        self.attribute: str = getattr(make, "__name__", "")
        self.name, self.group = self.attribute, Group[Any]

    def __set_name__(self, owner: type[Group[Any]], attribute: str) -> None:
        self.attribute, self.group = attribute, owner
        self.name = f"{owner.kind}.{attribute}" if issubclass(owner, About) else attribute
        if self.name in REGISTRY:
            raise InvalidParameter("verb", self.name, "declared once")
        REGISTRY[self.name] = self

    @overload
    def __get__(self, door: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, door: Group[Priced], owner: type) -> Callable[P, Offer[T]]: ...
    @overload
    def __get__(self, door: Group[Released], owner: type) -> Callable[P, T]: ...
    def __get__(self, door: Any, owner: type) -> Any:
        if door is None:
            return self._method

        def call(*positional: Any, **named: Any) -> Any:
            return door._do(self, self.opened(self.bind(positional, named)))

        call.__name__, call.__qualname__, call.__doc__ = self.attribute, self.name, self.text
        call.__signature__ = self.signature  # type: ignore[attr-defined]
        return call

    @cached_property
    def _method(self) -> Callable[..., Any]:
        """What the class of a group shows: a function, as any class has."""

        def call(door: Any, /, *positional: Any, **named: Any) -> Any:
            return door._do(self, self.opened(self.bind(positional, named)))

        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        call.__name__, call.__qualname__, call.__doc__ = self.attribute, self.name, self.text
        call.__module__ = self._function.__module__
        call.__signature__ = self.signature.replace(  # type: ignore[attr-defined]
            parameters=[own, *self.signature.parameters.values()]
        )
        call.__wrapped_verb__ = self  # type: ignore[attr-defined]
        return call

    @property
    def _function(self) -> Any:
        return inspect.unwrap(self.make)

    @cached_property
    def summary(self) -> str:
        """The first sentence of the declaration."""
        return " ".join((inspect.getdoc(self._function) or "").split("\n\n")[0].split())

    @cached_property
    def text(self) -> str:
        """The help text: the docstring, and the sentence of each argument."""
        lines = [inspect.getdoc(self._function) or "", "", "Args:"]
        lines += [f"    {one.name}: {one.about.text}." for one in self.arguments if one.about.text]
        return "\n".join(lines) + "\n"

    @property
    def is_about_part(self) -> bool:
        """Whether the verb is about a declared part of a data set, which is found by its table."""
        return issubclass(self.group, About)

    @property
    def part(self) -> str:
        """The word for the part that the verb is about, such as "graph"; "" for verbs about tables."""
        group: Any = self.group
        return str(group.kind) if issubclass(group, About) else ""

    @property
    def gives(self) -> str:
        """The name of what is released."""
        return str(self._function.__annotations__.get("return", "")).removeprefix("Offer[").removesuffix("]")

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments in their order, those that releases share at the end."""
        return tuple(_arguments(self._function))

    def argument(self, name: str) -> Argument | None:
        """Return an argument by its name; None where the verb has no such argument."""
        return next((one for one in self.arguments if one.name == name), None)

    @cached_property
    def signature(self) -> inspect.Signature:
        """What a caller may write."""
        kinds = {True: inspect.Parameter.POSITIONAL_OR_KEYWORD, False: inspect.Parameter.KEYWORD_ONLY}
        found = [
            inspect.Parameter(one.name, kinds[one.is_positional], default=one.default, annotation=one.kind)
            for one in self.arguments
        ]
        return inspect.Signature(found, return_annotation=self.gives)

    def bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments by name; refuse those that the verb does not have, and name those that it has."""
        try:
            return dict(self.signature.bind(*positional, **named).arguments)
        except TypeError as error:
            wrong = str(error)
        known = ", ".join(one.name for one in self.arguments)
        given = [*(type(one).__name__ for one in positional), *(f"{name}=" for name in named)]
        stated = "; the estimator states the loss" if "estimator" in self.signature.parameters else ""
        raise InvalidParameter(self.attribute, ", ".join(given) or "nothing", f"called with {known} ({wrong}{stated})")

    def opened(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments as they travel: what names a file of the caller's is read."""
        for one in self.arguments:
            if one.about.opens is not None and arguments.get(one.name) is not None:
                arguments[one.name] = one.about.opens(arguments[one.name])
        return arguments

    def offer(self, dataset: DataSet, arguments: Mapping[str, Any]) -> Offer[T]:
        """Return the offer that arguments by name make; those of another verb are refused.

        Args:
            dataset: the schema.
            arguments: by name, with the table of what the verb is about.

        """
        given = dict(arguments)
        about: Any = dataset
        if self.is_about_part:
            about = self.group.find(dataset, given.pop("table", None))  # type: ignore[attr-defined]
        given = self.bind((), given)
        key = given.pop("key", None)
        made: Offer[T] = self.make(about, **given)  # type: ignore[call-arg]
        return made if key is None else replace(made, key=key)


#: Every declared verb by its name.
REGISTRY: Final[dict[str, Verb[..., Any]]] = {}


@overload
def verb(make: Callable[Concatenate[Any, P], Offer[T]], /) -> Verb[P, T]: ...
@overload
def verb(*, arguments: tuple[str, ...] = (), doing: str = "counting") -> _Declare: ...
def verb(
    make: Callable[Concatenate[Any, P], Offer[T]] | None = None,
    /,
    *,
    arguments: tuple[str, ...] = (),
    doing: str = "counting",
) -> Any:
    """Declare a verb: a static function of a group, from what it is about and its arguments to an offer.

    Args:
        make: the function.
        arguments: those that a command takes as words and not as options.
        doing: what a command says while it works.

    """
    declare = _Declare(How(arguments, doing))
    return declare if make is None else declare(make)


@dataclass(frozen=True)
class _Declare:
    how: How

    def __call__(self, make: Callable[Concatenate[Any, P], Offer[T]]) -> Verb[P, T]:
        return Verb(make, self.how)


def verbs_of(group: type[Group[Any]]) -> list[Verb[..., Any]]:
    """Return the verbs of a group and of those that it inherits from, in the order of their declaration."""
    return [one for one in REGISTRY.values() if issubclass(group, one.group)]


@functools.cache
def arguments_schema(verb: Verb[..., Any]) -> Mapping[str, Any]:
    """Return the arguments of a verb over HTTP as JSON Schema. The key is sent beside them."""
    found = {one.name: one.schema for one in verb.arguments if one.name != "key"}
    if verb.is_about_part:
        found = {"table": {"type": ["string", "null"], "description": "the table; may be omitted"}, **found}
    needed = [one.name for one in verb.arguments if one.is_required]
    plain = {"type": "object", "description": verb.summary, "properties": found, "additionalProperties": False}
    return {**plain, "required": needed} if needed else plain


def spelled_out(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function with ``**terms: Unpack[...]`` show each of these arguments in its signature and help text.

    Args:
        function: of a door, written by hand.

    """
    *others, last = inspect.signature(function).parameters.values()
    name = str(last.annotation).removeprefix("Unpack[").removesuffix("]")
    terms = vars(sys.modules[function.__module__])[name]
    found = list(_of_terms(terms))
    shown = [inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default) for one in found]
    function.__signature__ = inspect.signature(function).replace(parameters=[*others, *shown])  # type: ignore[attr-defined]
    lines = [f"    {one.name}: {one.about.text}." for one in found]
    function.__doc__ = "\n".join([inspect.getdoc(function) or "", *lines])
    return function


_OF_TERMS: Final = object()


class _Names(dict[str, Any]):
    """The names of a module; one that only the type checker sees is Any."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


def _arguments(make: Any) -> Iterator[Argument]:
    hints = get_type_hints(make, localns=_Names(vars(sys.modules[make.__module__])), include_extras=True)
    _, *parameters = inspect.signature(make).parameters.values()
    for one in parameters:
        annotation = hints.get(one.name, Any)
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            [terms] = get_args(annotation)
            yield from _of_terms(terms)
        else:
            yield _argument(one.name, annotation, one.default, one.kind is not inspect.Parameter.KEYWORD_ONLY)


def _of_terms(terms: Any) -> Iterator[Argument]:
    """Yield the arguments of a set of terms: its own first, those that all releases share at the end."""
    # Each field is read by the names of the module that wrote it.
    found = get_type_hints(terms, include_extras=True)
    for name in sorted(found, key=lambda name: TERMS.index(name) if name in TERMS else -1):
        yield _argument(name, found[name], _OF_TERMS, is_positional=False)


def _argument(name: str, annotation: Any, default: Any, is_positional: bool) -> Argument:
    about = Arg("")
    if get_origin(annotation) is Annotated:
        annotation, *extra = get_args(annotation)
        about = next((one for one in extra if isinstance(one, Arg)), about)
    return Argument(name, annotation, about.default if default is _OF_TERMS else default, about, is_positional)
