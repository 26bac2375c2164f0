"""``dither catalog --sources``: what the literature describes, where it is here, and what differs from print.

One row for each item of five works, written by hand in ``sources.yaml``. A test holds every name in it against what
there is. A registered mechanism that is in no row is from later works, a baseline or a part: it is listed at the end.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, get_args

from rich.markup import escape

from dither.cli.console import print_json, say
from dither.cli.tables import new_table, print_table
from dither.mechanisms import registered

State = Literal["there", "partly", "not yet"]
STATES: Final[tuple[State, ...]] = get_args(State)
#: How rows name the works, and their titles.
WORKS: Final = {
    "book": "Differential Privacy and Applications (Zhu, Li, Zhou, Yu 2017)",
    "survey": "Differentially Private Data Publishing and Analysis: A Survey (Zhu, Li, Zhou, Yu 2017)",
    "Kentucky": "Privacy preserving data mining for numerical matrices, social networks, and big data "
    "(Liu, doctoral thesis, University of Kentucky 2015)",
    "Adelaide": "Differentially Private Data Analytics (Lu, doctoral thesis, University of Adelaide 2021)",
    "Saskatchewan": "A study on privacy preserving data publishing with differential privacy "
    "(Kar, master's thesis, University of Saskatchewan 2017)",
}


@dataclass(frozen=True)
class Item:
    """One thing that the works describe.

    Args:
        id: a letter or two for the subject, and a number.
        subject: what it belongs to.
        name: what it is.
        printed: the works that describe it, with chapters and sections.
        state: whether it is there.
        differs: how it differs from what is printed, in a sentence.
        page: of the documentation, or nothing.
        mechanisms: registered names.
        code: modules, functions and classes, as named below ``dither``.
        specimens: what of it is refuted by the audit.
        attacks: that show it.
        tools: of the checkout, which measure it.

    """

    id: str
    subject: str
    name: str
    printed: str
    state: State
    differs: str
    page: str = ""
    mechanisms: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    specimens: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Where it is, in words: mechanisms first."""
        return "; ".join(
            [
                *self.mechanisms,
                *(f"dither.{name}" for name in self.code),
                *(f"specimen {name}" for name in self.specimens),
                *(f"attack {name}" for name in self.attacks),
                *self.tools,
            ]
        )


@cache
def _file() -> dict[str, list[Any]]:
    import yaml

    text = files("dither.cli").joinpath("sources.yaml").read_text(encoding="utf-8")
    # The loader in C takes a tenth of the time, and not every build has it.
    return dict(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506 - both are safe


@cache
def items() -> tuple[Item, ...]:
    """Return all items, subject by subject.

    >>> items()[0].name, items()[0].state
    ('Pure and (eps,delta) loss types', 'there')
    """
    lists = ("mechanisms", "code", "specimens", "attacks", "tools")
    found = []
    for subject, rows in _file().items():
        for row in rows:
            found.append(Item(subject=subject, **row | {key: tuple(row.get(key, ())) for key in lists}))
    return tuple(found)


@cache
def elsewhere() -> tuple[str, ...]:
    """Return the names of mechanisms that none of the works describes; the registry has their sources."""
    in_rows = {name for item in items() for name in item.mechanisms}
    own = (name for name, entry in registered().items() if entry.mechanism.__module__.startswith("dither."))
    return tuple(name for name in own if name not in in_rows)


def found(text: str | None) -> list[Item]:
    """Return the items that say a text, in any of their fields; all without one.

    >>> [item.id for item in found("generalised CAUCHY noise")]
    ['N02']
    """
    if text is None:
        return list(items())
    word = text.casefold()
    return [item for item in items() if any(word in str(field).casefold() for field in asdict(item).values())]


def row(item: Item) -> dict[str, Any]:
    """Return an item as plain data."""
    return asdict(item) | {"where": item.where}


def show(text: str | None, *, as_json: bool) -> None:
    """Print the items that say a text, or all of them."""
    shown = found(text)
    if as_json:
        print_json([row(item) for item in shown])
        return
    if not shown:
        say("no entry matches")
        return
    table = new_table("id", "what", "state", "where", "what differs from print")
    for item in shown:
        table.add_row(*map(escape, (item.id, item.name, item.state, item.where, item.differs)))
    print_table(table)
    counts = [f"{sum(item.state == state for item in shown)} {state}" for state in STATES]
    say(f"{len(shown)} item{'' if len(shown) == 1 else 's'}: {', '.join(counts)}. --json has works and pages as well.")
