"""Registration: a mechanism registers once, and the contract suite, the auditor, the docs and the CLI find it.

Examples are part of registering, so nothing can be registered and left unchecked. So is what tables and tests need to
know of a class beyond its examples: a new mechanism is a module, a page and a test, and no list elsewhere.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, get_args

from dither.errors import InvalidParameter, UnknownMechanism
from dither.mechanisms.core.mechanism import Mechanism

AnyMechanism = Mechanism[Any, Any]
M = TypeVar("M", bound=type[AnyMechanism])
#: A mechanism and its data, and neighbours where they are not made as usual.
Made = tuple[Any, ...]
#: Makes a large instance from the mechanism and the data of an example; or says, as a sentence, why there is none.
Wide = Callable[[Any, Any], Made] | str
#: Which losses ``calibrated`` takes: any, a pure epsilon alone, whatever states a rho or a delta, or a delta alone.
Takes = Literal["any", "pure", "gaussian", "delta"]
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True)
class Dialogue:
    """A test conversation for an interactive mechanism: the data it opens with, and its questions or values."""

    data: Any
    script: tuple[Any, ...]

    def lead(self, conversation: Any) -> list[Any]:
        """Return the conversation's answers to the script, through its ``ask`` or ``feed``."""
        speak = getattr(conversation, "ask", None) or conversation.feed
        return [speak(value) for value in self.script]


@dataclass(frozen=True)
class Example:
    """A small instance to check, and data for it.

    Args:
        mechanism: the instance; small enough that its outcomes can be enumerated or drawn a million times.
        data: an input; for an interactive primitive a list of values, for an interactive mechanism a ``Dialogue``.
        neighbours: pairs of inputs and how far apart they are, beyond those that the checks make for the input's type.

    """

    mechanism: AnyMechanism
    data: Any
    neighbours: tuple[tuple[Any, Any, int], ...] = ()


@dataclass(frozen=True)
class Entry:
    """A registered class.

    Args:
        mechanism: the class.
        examples: gives the instances that every check runs on.
        source: where the algorithm is described.
        is_reference: whether it is there as literature: released by its name, and never chosen or listed in short.
        tasks: when to take it, by the word of the task; ``core.tasks`` has those that are told in an order.
        wide: a large instance, or why there is none; ``testing.widened`` has rules for whole kinds of mechanisms.
        made_for: the parameters with which tests call ``calibrated``, where the first example does not have them; or a
            sentence on where that is tested instead.
        takes: which losses ``calibrated`` takes.

    """

    mechanism: type[AnyMechanism]
    examples: Callable[[], Iterable[Example]]
    source: str
    is_reference: bool = False
    tasks: Mapping[str, str] = field(default_factory=dict)
    wide: Wide | None = None
    made_for: Mapping[str, Any] | str = field(default_factory=dict)
    takes: Takes = "any"

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        return self.mechanism.name

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (inspect.getdoc(self.mechanism) or "").split("\n", 1)[0]


_entries: dict[str, Entry] = {}
#: Examples that rooms above give of a mechanism below them, by its name.
_further: dict[str, list[Callable[[], Iterable[Example]]]] = {}
#: Rooms above this one that register. By name, and only when somebody asks for all there is: nothing here depends on
#: them, and an import of the primitives stays light.
_ROOMS_ABOVE = (
    "dither.publish.queries",
    "dither.publish.histograms",
    "dither.publish.workloads",
    "dither.publish.marginals",
    "dither.lift.lifted",
    "dither.publish.lifting",
    "dither.publish.synthetic",
    "dither.learn.images",
    "dither.learn.linear",
    "dither.learn.bayes",
    "dither.learn.itemsets",
    "dither.publish.graphs",
    "dither.publish.graphs.synthesis",
    "dither.publish.places",
    "dither.publish.places.report",
    "dither.publish.places.paths",
    "dither.publish.microdata",
    "dither.publish.streams",
    "dither.publish.interactive",
    "dither.publish.correlated",
    "dither.publish.retrieval",
    "dither.learn.trees",
    "dither.learn.clusters",
    "dither.learn.decompose",
    "dither.learn.sparse",
    "dither.learn.streams",
    "dither.publish.streams",
    "dither.learn.selection",
    "dither.learn.preparing",
    "dither.learn.recommend",
    "dither.learn.recommend.planning",
    "dither.learn.theory",
    "dither.learn.deep",
    "dither.learn.lifting",
    "dither.local.frequencies",
    "dither.local.numbers",
    "dither.local.rounds",
    "dither.local.hitters",
)


def register(
    *,
    examples: Callable[[], Iterable[Example]],
    source: str,
    reference: bool = False,
    tasks: Mapping[str, str] = _NOTHING,
    wide: Wide | None = None,
    made_for: Mapping[str, Any] | str = _NOTHING,
    takes: Takes = "any",
) -> Callable[[M], M]:
    """Return a decorator that registers a mechanism class.

    Args:
        examples: gives the instances that every check runs on; called when a check runs, not before.
        source: where the algorithm is described, by title and section.
        reference: whether it is there as literature: something else here is better for nearly every purpose. It is
            checked like all others, and left out of choices, short lists and the longest trials.
        tasks: a sentence on when to take it for each task that it serves, by the word of the task, such as ``count``;
            it is listed there after the mechanisms that ``core.tasks`` puts in an order.
        wide: where checks cannot make a large instance from an example by themselves: a function of the mechanism and
            its data that returns both, larger, and neighbours if they are special; or a sentence on why there is none.
        made_for: where the first example does not have the parameters of ``calibrated``: those to test it with.
        takes: which losses ``calibrated`` takes: ``"any"``, ``"pure"``, ``"gaussian"`` (a rho or a delta), ``"delta"``.

    """
    if takes not in get_args(Takes):
        raise InvalidParameter("takes", takes, f"one of {', '.join(get_args(Takes))}")
    for word in tasks:
        _check_task(word)

    def add(mechanism: M) -> M:
        name = getattr(mechanism, "name", None)
        if not (isinstance(name, str) and name and name == name.lower() and " " not in name):
            raise InvalidParameter("name", name, "a lower-case name without blanks")
        if not getattr(getattr(mechanism, "__dataclass_params__", None), "frozen", False):
            raise InvalidParameter("mechanism", mechanism, "a frozen dataclass of public parameters")
        known = _entries.get(name)
        if known is not None and known.mechanism.__qualname__ != mechanism.__qualname__:
            raise InvalidParameter("name", name, f"new, and not that of {known.mechanism.__qualname__}")
        # Made once: some search for a strategy, and many checks ask for them.
        every = cache(lambda: tuple(_all_examples(name, examples)))
        _entries[name] = Entry(mechanism, every, source, reference, tasks, wide, made_for, takes)
        return mechanism

    return add


def _check_task(word: str) -> None:
    # Imported here: most mechanisms name no task, and their import stays light.
    from dither.mechanisms.core.tasks import TASKS

    if word not in TASKS:
        raise InvalidParameter("tasks", word, f"one of {', '.join(TASKS)}")


def add_examples(name: str, examples: Callable[[], Iterable[Example]]) -> None:
    """Add examples to a mechanism that a lower room registers; they are checked like its own.

    Args:
        name: of the mechanism.
        examples: called when a check runs, not before.

    """
    _further.setdefault(name, []).append(examples)


def _all_examples(name: str, own: Callable[[], Iterable[Example]]) -> Iterator[Example]:
    yield from own()
    _load()
    for others in sorted(_further.get(name, ()), key=_room):
        yield from others()


def _room(examples: Callable[[], Iterable[Example]]) -> tuple[int, str]:
    """Return the place of the room that gives examples: their order must not hang on what was imported first."""
    module = examples.__module__
    places = (place for place, room in enumerate(_ROOMS_ABOVE) if f"{module}.".startswith(f"{room}."))
    return next(places, len(_ROOMS_ABOVE)), module


def registered() -> Mapping[str, Entry]:
    """Return all registered mechanisms by name."""
    _load()
    return MappingProxyType(dict(sorted(_entries.items())))


def find(name: str) -> Entry:
    """Return the entry registered under ``name``."""
    if name not in _entries:
        _load()
    try:
        return _entries[name]
    except KeyError:
        near = difflib.get_close_matches(name[:64], _entries, n=3) or sorted(_entries)[:3]
        hint = f"such as {', '.join(near)}; 'dither catalog' lists all {len(_entries)}"
        raise UnknownMechanism(f"no mechanism is registered as {name[:64]!r}; there are others, {hint}") from None


def entry_of(name: str) -> Entry | None:
    """Return the entry of a class that was imported, and None for one that never registered: nothing is loaded."""
    return _entries.get(name)


def _load() -> None:
    """Import, once, the rooms and the installed packages that register mechanisms."""
    _load_primitives()
    for room in _ROOMS_ABOVE:
        importlib.import_module(room)
    _load_packages()


@cache
def _load_primitives() -> None:
    """Import every module of this room: a primitive registers by being there."""
    room = importlib.import_module("dither.mechanisms")
    for found in pkgutil.iter_modules(room.__path__, "dither.mechanisms."):
        if not found.ispkg:
            importlib.import_module(found.name)


@cache
def _load_packages() -> None:
    """Import the modules that installed packages list under the entry point ``dither.mechanisms``."""
    # Imported here: it takes as long as a tenth of this package, and a query needs none of it.
    from importlib.metadata import entry_points

    for point in entry_points(group="dither.mechanisms"):
        point.load()
