"""Write the reference of the public names, ``docs/reference/*.md``, from their docstrings.

``python -m tools.reference`` writes a page for every room; with ``--check`` it writes nothing and exits 1 when a
committed page is stale. Examples are shown without prompts: they run as tests where they stand, in the package.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dither.learn import ESTIMATORS, RECOMMENDERS
from dither.lift.verb import Group, verbs_of
from tools import verb_pages
from tools.surface import public_names

PAGES = Path(__file__).resolve().parents[1] / "docs" / "reference"
#: What releases and questions give back: nobody imports these by name, and everybody meets them.
RESULTS = (
    "dither.publish.queries.QueryResult",
    "dither.publish.queries.Quote",
    "dither.curator.price.Price",
    "dither.curator.ledger.Balance",
    "dither.curator.card.Card",
    "dither.publish.synthetic.SyntheticTable",
    "dither.pages.frame.Chart",
)
_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):\s*$")
_ITEM = re.compile(r"^(\*{0,2}[A-Za-z_][\w.]*):\s*(.*)$")
_WIDTH = 100


def pages() -> dict[str, str]:
    """Return the text of every page, by its file name."""
    rooms: dict[str, list[str]] = {}
    for name in public_names():
        room, _, short = name.rpartition(".")
        rooms.setdefault(room, []).append(short)
    rooms["dither.learn"] += [*ESTIMATORS, *RECOMMENDERS]
    found = {f"{_file(room)}.md": _page(room, names) for room, names in rooms.items()}
    return {"index.md": _index(rooms), "results.md": _results(), "verbs.md": _verbs(), **found}


def _verbs() -> str:
    """Return the page of the declared verbs, which are no functions: code is left as it is."""
    lines, is_code = [], False
    for line in verb_pages.reference_page():
        is_code ^= line.startswith("```")
        is_table = line.startswith("| ")
        lines.append(line if is_code or is_table or line.startswith("```") else _plain(line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)) + "\n"


def _results() -> str:
    parts = [name.rpartition(".") for name in RESULTS]
    found = {name: getattr(importlib.import_module(home), name) for home, _, name in parts}
    return _written(["# What comes back", "", "What sessions return, and what can be done with it."], found, "dither")


def _file(room: str) -> str:
    return room.removeprefix("dither.")


def _index(rooms: dict[str, list[str]]) -> str:
    lines = [
        "# Python names",
        "",
        "The names that the package promises, room by room. `python -m tools.reference` writes them from docstrings.",
        "Most people need a [session](dither.md#Session) and its [verbs](verbs.md); what these return is under",
        "[what comes back](results.md).",
        "",
        "| room | what is in it | names |",
        "| --- | --- | --- |",
    ]
    for room, names in rooms.items():
        said = (inspect.getdoc(importlib.import_module(room)) or "").split("\n", 1)[0]
        lines.append(f"| [`{room}`]({_file(room)}.md) | {_cell(said)} | {len(names)} |")
    return "\n".join(lines) + "\n"


def _page(room: str, names: list[str]) -> str:
    module = importlib.import_module(room)
    found = {name: getattr(module, name) for name in sorted(names, key=str.lower)}
    return _written([f"# {room}", "", *_words(inspect.getdoc(module) or "")], found, room)


def _written(head: list[str], found: dict[str, Any], room: str) -> str:
    lines = [*head, "", "| name | what it is |", "| --- | --- |"]
    lines += [f"| [`{name}`](#{name}) | {_cell(_first(thing))} |" for name, thing in found.items()]
    for name, thing in found.items():
        lines += ["", f"## {name} {{ #{name} }}", "", *_entry(name, thing, room)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)) + "\n"


def _first(thing: Any) -> str:
    if isinstance(thing, types.ModuleType) or _is_documented(thing):
        return (inspect.getdoc(thing) or "").split("\n\n", 1)[0].replace("\n", " ")
    return f"a constant: {_constant(thing)}"


def _constant(thing: Any) -> str:
    """Return what a constant says of itself, if that is short; else its type."""
    said = str(thing)
    return said if len(said) <= 80 and " at 0x" not in said else f"a {type(thing).__name__}"


def _is_documented(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isroutine(thing)


def _entry(name: str, thing: Any, room: str) -> Iterator[str]:
    home = getattr(thing, "__module__", room) or room
    if isinstance(thing, types.ModuleType):
        yield from _words(inspect.getdoc(thing) or "")
        return
    if not _is_documented(thing):
        yield f"A constant: {_plain(_constant(thing))}."
        return
    if home.split(".")[:2] != room.split(".")[:2] and room != "dither":
        yield f"From `{home}`."
        yield ""
    yield from _signed(name, thing)
    yield from _words(inspect.getdoc(thing) or "")
    if inspect.isclass(thing):
        yield from _members(name, thing)


def _signed(name: str, thing: Any) -> Iterator[str]:
    if inspect.isclass(thing) and issubclass(thing, enum.Enum | BaseException):
        if issubclass(thing, enum.Enum):
            yield from ("", "One of " + ", ".join(f"`{one.name}`" for one in thing) + ".", "")
        return
    text = _signature(thing)
    if text is None:
        return
    line = f"{name}{text}"
    yield from ("```python", *(_broken(name, thing) if len(line) > _WIDTH else [line]), "```", "")


def _signature(thing: Any) -> str | None:
    parts = _parameters(thing)
    return None if parts is None else f"({', '.join(parts[0])}){parts[1]}"


def _broken(name: str, thing: Any) -> list[str]:
    parts, returned = _parameters(thing) or ([], "")
    return [f"{name}(", *(f"    {part}," for part in parts), f"){returned}"]


def _parameters(thing: Any) -> tuple[list[str], str] | None:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    found, is_starred = [], False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            is_starred = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not is_starred:
            found.append("*")
            is_starred = True
        mark = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        mark = "**" if parameter.kind is parameter.VAR_KEYWORD else mark
        text = f"{mark}{parameter.name}"
        if parameter.annotation is not parameter.empty:
            text += f": {_annotation(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            text += f" = {_shown(parameter.default)}"
        found.append(text)
    returned = signature.return_annotation
    is_said = returned is not signature.empty and not inspect.isclass(thing)
    return found, f" -> {_annotation(returned)}" if is_said else ""


def _annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation.strip("'\"")
    return getattr(annotation, "__name__", None) or str(annotation).replace("typing.", "")


def _shown(value: Any) -> str:
    """Return a default or a constant, the same text in every run."""
    if inspect.isroutine(value) or inspect.isclass(value):
        return str(value.__name__)
    text = repr(value)
    return "..." if " at 0x" in text or "factory" in text or len(text) > 80 else text


def _members(owner: str, thing: type) -> Iterator[str]:
    """List the public methods and properties of a class, its own with all their words, inherited ones by a line."""
    inherited = []
    for name, found in _named(thing):
        defined = next((base for base in thing.__mro__ if name in vars(base)), thing)
        is_property = isinstance(found, property) or not callable(getattr(thing, name, None))
        words = _doc(found, thing, name)
        if defined is not thing:
            inherited.append(f"`{name}`")
            continue
        yield from ("", f"**`{owner}.{name}`**", "")
        if not is_property:
            yield from _signed(name, getattr(thing, name))
        yield from _words(words)
    if inherited:
        yield from ("", f"Inherited: {', '.join(inherited)}.")
    if issubclass(thing, Group):
        verbs = sorted(verbs_of(thing), key=lambda one: one.name)
        linked = (f"[`{one.name}`](verbs.md#{verb_pages.anchor(one)})" for one in verbs)
        yield from ("", f"Declared verbs: {', '.join(linked)}.")


def _named(thing: type) -> Iterator[tuple[str, Any]]:
    fields = {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    for name in dir(thing):
        if name.startswith("_") or name in fields:
            continue
        found = inspect.getattr_static(thing, name)
        base = next((base for base in thing.__mro__ if name in vars(base)), object)
        # What scikit-learn puts into every estimator is described there, in other words in every version.
        is_ours = base.__module__.startswith("dither") and not type(found).__module__.startswith("sklearn.")
        if is_ours and (inspect.isroutine(found) or _has_words(found)):
            yield name, found


def _has_words(found: Any) -> bool:
    return isinstance(found, property | staticmethod | classmethod) or type(found).__name__ == "cached_property"


def _doc(found: Any, thing: type, name: str) -> str:
    return inspect.getdoc(found) or inspect.getdoc(getattr(thing, name, None)) or ""


def _words(text: str) -> Iterator[str]:
    """Return a docstring as Markdown: lists for arguments, plain code for examples."""
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        if line.lstrip().startswith(">>>"):
            block: list[str] = []
            while place < len(lines) and lines[place].strip():
                block.append(lines[place])
                place += 1
            yield from ("", "```python", *_code(block), "```", "")
            continue
        if found := _SECTION.match(line):
            yield from ("", f"*{found[1]}*", "")
            place += 1
            items: list[str] = []
            while place < len(lines) and (not lines[place].strip() or lines[place].startswith(" ")):
                said = lines[place].strip()
                is_item = _ITEM.match(said) if len(lines[place]) - len(lines[place].lstrip()) == 4 else None
                if is_item:
                    items.append(f"- `{is_item[1]}`: {is_item[2]}")
                elif said and items:
                    items[-1] += f" {said}"
                elif said:
                    items.append(f"- {said}")
                place += 1
            yield from (*(_plain(item) for item in items), "")
            continue
        yield _plain(line) if not line.startswith("    ") else line
        place += 1


def _code(block: list[str]) -> Iterator[str]:
    for line in block:
        said = line.strip()
        if said.startswith((">>> ", "... ")) or said in (">>>", "..."):
            yield line.lstrip()[4:]
        else:
            yield f"# {said}"


def _plain(text: str) -> str:
    """Return a line in which double backticks are single ones and HTML is text."""
    parts = re.split(r"(``[^`]*``|`[^`]*`)", text)
    return "".join(
        f"`{part.strip('`')}`" if place % 2 else part.replace("<", "&lt;").replace("*", "\\*") if part else part
        for place, part in enumerate(parts)
    ).replace("`&lt;", "`<")


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def main(arguments: list[str]) -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="Write the reference of the public names from their docstrings.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a committed page is stale")
    is_check: bool = parser.parse_args(arguments).check
    fresh = pages()
    old = {path.name for path in PAGES.glob("*.md")} - fresh.keys()
    stale = sorted(
        name
        for name, text in fresh.items()
        if not (PAGES / name).is_file() or (PAGES / name).read_text("utf-8") != text
    )
    for name in (*sorted(old), *stale):
        if is_check:
            print(f"stale: docs/reference/{name}; run python -m tools.reference")
        elif name in old:
            (PAGES / name).unlink()
        else:
            PAGES.mkdir(exist_ok=True)
            (PAGES / name).write_text(fresh[name], encoding="utf-8")
    return int(is_check and bool(old or stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
