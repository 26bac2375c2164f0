"""Application cards: eleven fields about every registered mechanism and every verb that releases, from declarations.

The fields are those of Differential Privacy and Applications (Zhu, Li, Zhou, Yu 2017), table 8.2. Nothing is written by
hand but the challenges of a room: the rest is what mechanisms, their examples and the tasks declare, so that a card
cannot say another thing than the code. It is about a method; ``card`` is about a data set.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dither.curator.session import Session
from dither.errors import NotFound
from dither.mechanisms import Entry, Interactive, InteractivePrimitive, Primitive, find, registered
from dither.mechanisms.core.mechanism import Composite
from dither.mechanisms.core.tasks import TASKS, all_tasks, tasks_of
from dither.privacy import Metric, Plan


@dataclass(frozen=True)
class ApplicationCard:
    """What a method is for and how it is known to work.

    Args:
        application: what it does.
        input_data: what it reads, and what counts as one step between two inputs.
        output_data: what is released.
        setting: one release or a conversation, and who is trusted.
        challenges: what makes it hard.
        solutions: how that is met.
        selected_mechanism: what draws the noise, with its parameters in an example.
        utility_measure: what an error is, and whether it is known before the release.
        utility_analysis: the bound on it, in an example.
        privacy_analysis: the loss, in an example, what it rests on, and where its proof is.
        evaluation: where it was measured and is audited, and its source.

    """

    application: str
    input_data: str
    output_data: str
    setting: str
    challenges: str
    solutions: str
    selected_mechanism: str
    utility_measure: str
    utility_analysis: str
    privacy_analysis: str
    evaluation: str

    def to_dict(self) -> dict[str, str]:
        """Return the fields by name, in the order of the table."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class Room(NamedTuple):
    """What the mechanisms of a room have in common."""

    challenges: tuple[str, ...]
    benchmark: str = ""


_SENSITIVITY: Final = "High sensitivity: one person may move the answer far."
_SPARSITY: Final = "Sparsity: most cells or columns hold little, and noise drowns it."
_CORRELATED: Final = "Correlated records: a person may have many rows."
_STREAM: Final = "A large set of queries: an answer is wanted after every step."
_MANY: Final = "A large set of queries: each of them costs, or their noise adds up."
_LOCAL: Final = "No trusted curator: each report is noisy, so that an estimate needs thousands of people."
_SEARCH: Final = "Cost of computing: what there is to choose from grows without end."
#: By module; the longest name that fits.
ROOMS: Final[Mapping[str, Room]] = MappingProxyType(
    {
        "dither.mechanisms": Room((_SENSITIVITY,)),
        "dither.lift": Room((_CORRELATED,)),
        "dither.publish.queries": Room((_SENSITIVITY, _CORRELATED)),
        "dither.publish.histograms": Room((_SPARSITY, _MANY), "histograms"),
        "dither.publish.workloads": Room((_MANY,), "workloads"),
        "dither.publish.marginals": Room((_MANY, _SPARSITY), "marginals"),
        "dither.publish.synthetic": Room((_SPARSITY, _SEARCH), "synthetic"),
        "dither.publish.graphs": Room((_SENSITIVITY, _CORRELATED)),
        "dither.publish.graphs.synthesis": Room((_SENSITIVITY, _SPARSITY), "graphs-synthesis"),
        "dither.publish.places": Room((_SPARSITY, _CORRELATED), "places"),
        "dither.publish.interactive": Room((_MANY,)),
        "dither.publish.retrieval": Room((_SPARSITY, _MANY)),
        "dither.publish.microdata": Room((_SENSITIVITY, _SPARSITY), "microdata"),
        "dither.publish.streams": Room((_STREAM, _CORRELATED)),
        "dither.publish.correlated": Room((_CORRELATED,)),
        "dither.learn.images": Room((_SENSITIVITY, _MANY), "images"),
        "dither.learn.linear": Room((_SENSITIVITY, _MANY), "others"),
        "dither.learn.sparse": Room((_SPARSITY, _SENSITIVITY)),
        "dither.learn.trees": Room((_SPARSITY, _SEARCH), "others"),
        "dither.learn.bayes": Room((_SENSITIVITY, _MANY), "others"),
        "dither.learn.clusters": Room((_SENSITIVITY, _SEARCH), "clusters"),
        "dither.learn.decompose": Room((_SENSITIVITY, _MANY)),
        "dither.learn.deep": Room((_SENSITIVITY, _MANY)),
        "dither.learn.recommend": Room((_SPARSITY, _SENSITIVITY)),
        "dither.learn.itemsets": Room((_SENSITIVITY, _SEARCH)),
        "dither.learn.selection": Room((_MANY,)),
        "dither.learn.preparing": Room((_MANY,)),
        "dither.learn.streams": Room((_STREAM,)),
        "dither.learn.theory": Room((_SENSITIVITY, _SEARCH)),
        "dither.local": Room((_LOCAL, _SPARSITY)),
    }
)
_CONFIDENCE: Final = "0.95"
#: A verb of a session; what one device does alone has a hyphen in its name.
_VERB: Final = re.compile(r"dither ((?:publish )?[a-z]+)(?![a-z-])")
#: What devices and a collector do: no session opens a data set for it, and none pays.
_OUTSIDE: Final = frozenset({"survey", "collect", "estimate"})
#: The tasks in which each person randomises at home.
_AT_HOME: Final = frozenset({"report", "local"})
#: What runs by these verbs, whichever methods their tasks have besides; the last two belong to no task.
_RUN: Final = MappingProxyType({"sql": ("query", "report"), "bounds": ("query",), "limits": ("query",)})
_PART: Final = "As a part:"
_MOST_SHOWN: Final = 300


def application_card(name: str) -> ApplicationCard:
    """Return the card of a registered mechanism, or of a verb that releases, such as "publish histogram".

    Args:
        name: of either.

    >>> card = application_card("geometric")
    >>> card.setting
    'Non-interactive: one release, made for one value, by a trusted curator.'
    >>> application_card("sql").output_data
    'A count, a sum, an average, or a table of them by groups. A median, a quantile, or ...

    """
    if name in releasing_verbs():
        return _of_verb(name)
    if name not in registered():
        verbs = ", ".join(releasing_verbs())
        raise NotFound(f"no mechanism is registered as {name[:64]!r}, and no such verb releases; verbs are: {verbs}")
    return _of_mechanism(find(name))


def releasing_verbs() -> tuple[str, ...]:
    """Return the verbs of the command that release something, as typed after ``dither``.

    >>> releasing_verbs()[:3]
    ('sql', 'publish count', 'publish histogram')
    """
    named = [verb for task in TASKS.values() for verb in _VERB.findall(task.door) if verb not in _OUTSIDE]
    return tuple(dict.fromkeys([*named, *_RUN]))


def room_of(entry: Entry) -> Room | None:
    """Return the room of a mechanism; None for one that another package registers."""
    module = entry.mechanism.__module__
    known = [name for name in ROOMS if f"{module}.".startswith(f"{name}.")]
    return ROOMS[max(known, key=len)] if known else None


def _of_mechanism(entry: Entry) -> ApplicationCard:
    mechanism = next(iter(entry.examples())).mechanism
    room = room_of(entry)
    tasks = [TASKS[word] for word in tasks_of(entry.name)]
    bound = mechanism.error(_CONFIDENCE)
    why_not = mechanism.no_error_because or "its error depends on the data"
    distance = mechanism.distance
    reads = "Values computed from data; distance:" if isinstance(distance, Metric) else "Data; neighbours:"
    return ApplicationCard(
        application=f"{entry.name}: {_plain(entry.summary)}",
        input_data=f"{reads} {distance}.",
        output_data=" ".join(_sentence(task.wish) for task in tasks) or f"{_plain(entry.summary)} There as literature.",
        setting=_setting(mechanism, is_local=bool(_AT_HOME.intersection(tasks_of(entry.name)))),
        challenges="Not declared." if room is None else " ".join(room.challenges),
        solutions=_how(entry),
        selected_mechanism=f"{_drawn(mechanism)} For example {_shown(mechanism)}.",
        utility_measure=f"No single bound before the release: {why_not}."
        if bound is None
        else _sentence(bound.meaning),
        utility_analysis=f"None before the release: {why_not}." if bound is None else _sentence(str(bound)),
        privacy_analysis=f"The example loses {mechanism.loss(1)} at distance 1 ({distance}). Numerics: "
        f"{mechanism.numerics.value}. Proof: docs/algorithms/{entry.name}.md, 'dither explain {entry.name}'.",
        evaluation=_evaluation(entry, room),
    )


def _of_verb(verb: str) -> ApplicationCard:
    tasks = [task for task in all_tasks().values() if verb in _VERB.findall(task.door)]
    methods = [name for task in tasks for name, said in task.methods.items() if not said.startswith(_PART)]
    entries = [find(name) for name in _RUN.get(verb, dict.fromkeys(methods))]
    rooms = [room for entry in entries if (room := room_of(entry)) is not None]
    told = {entry.name: next(iter(entry.examples())).mechanism.error(_CONFIDENCE) for entry in entries}
    known = [name for name, bound in told.items() if bound is not None]
    unknown = [name for name, bound in told.items() if bound is None]
    summary = _first_line(getattr(Session, verb.rsplit(" ", 1)[-1], None))
    benchmarks = sorted({f"docs/benchmarks/{room.benchmark}.md" for room in rooms if room.benchmark})
    return ApplicationCard(
        application=f"dither {verb}: {summary}",
        input_data="Tables of a data set that a schema describes; neighbours are those of its unit: rows or people, "
        "added and removed, or replaced.",
        output_data=" ".join(_sentence(task.wish) for task in tasks) or summary,
        setting="Interactive: a session prices, debits, draws and stores; each answer is by a trusted curator.",
        challenges=" ".join(dict.fromkeys(said for room in rooms for said in room.challenges)),
        solutions=" ".join(f"{entry.name}: {_plain(entry.summary)}" for entry in entries[:3]),
        selected_mechanism=f"{'Runs' if verb in _RUN else 'Methods of its tasks'}: {', '.join(told)}.",
        utility_measure="An interval beside each number where the method has one.",
        utility_analysis=" ".join(
            [
                *([f"One bound for all, before the release: {', '.join(known)}."] if known else []),
                *([f"No single one; see the quote, or the page: {', '.join(unknown)}."] if unknown else []),
            ]
        ),
        privacy_analysis="Debited to the ledger before the first draw, under a valid filter: epsilons or rhos add up. "
        "Each method has a proof on its page.",
        evaluation=f"Measured on {', '.join(benchmarks)}. " * bool(benchmarks) + "Each method is audited by name.",
    )


def _setting(mechanism: Any, *, is_local: bool) -> str:
    whose = "by each person alone" if is_local else "by a trusted curator"
    if isinstance(mechanism, Interactive | InteractivePrimitive):
        return f"Interactive: a conversation, which is priced as a whole, {whose}."
    made = "for one value" if isinstance(mechanism, Primitive) else "by a plan of draws that is fixed in advance"
    return f"Non-interactive: one release, made {made}, {whose}."


def _drawn(mechanism: Any) -> str:
    """Return the mechanisms whose noise is drawn."""
    if not isinstance(mechanism, Composite):
        return "It draws its own noise."
    parts = list(dict.fromkeys(_parts(mechanism.fixed_plan)))
    return f"Draws by {', '.join(parts)}." if parts else "Draws nothing in its example."


def _parts(plan: Any) -> Iterator[str]:
    """Yield how every part of a plan moves, by name."""
    for field in fields(plan):
        content = getattr(plan, field.name)
        for one in content if isinstance(content, tuple) else (content,):
            if isinstance(one, Plan):
                yield from _parts(one)
            elif isinstance(getattr(one, "name", None), str):
                stability = getattr(plan, "stability", None)
                yield one.name if stability is None else f"{one.name} at stability {float(stability):.6g}"


def _how(entry: Entry) -> str:
    """Return what the module of a mechanism says below its first line."""
    said = inspect.getdoc(inspect.getmodule(entry.mechanism)) or ""
    paragraphs = [" ".join(part.split()) for part in said.split("\n\n")]
    return _plain(paragraphs[1] if len(paragraphs) > 1 else paragraphs[0]) or "Not declared."


def _evaluation(entry: Entry, room: Room | None) -> str:
    measured = f"docs/benchmarks/{room.benchmark}.md, and " if room is not None and room.benchmark else ""
    return (
        f"Measured on {measured}its own page. 'dither audit {entry.name}' tries to refute it; the contract suite runs "
        f"all its examples. Source: {entry.source}."
    )


def _shown(mechanism: Any) -> str:
    """Return a mechanism with its parameters, or with their names where they are long."""
    whole = repr(mechanism)
    if len(whole) <= _MOST_SHOWN:
        return whole
    return f"{type(mechanism).__name__} with {', '.join(field.name for field in fields(mechanism))}"


def _first_line(documented: Any) -> str:
    return _plain((inspect.getdoc(documented) or "").split("\n", 1)[0])


def _plain(text: str) -> str:
    return text.replace("``", "").replace("**", "")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
