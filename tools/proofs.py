"""Keep proofs and code together: every page of a proof carries a hash of the module that it proves, and of no other.

``python tools/proofs.py`` names what is not in order, and exits 1 if anything is:

- a page of a mechanism (``docs/algorithms``) or of a lemma (``docs/lemmas``) whose module has changed since the proof
  was read against it;
- a page whose line "Rests on" does not name the lemmas and mechanisms whose modules its own module imports;
- a module that a proof rests on and that no page proves, that ``docs/lemmas/post-processing.md`` does not list, and
  that is not plumbing (below);
- a listed module that is not there, or is listed twice; a module of post-processing that can draw.

``--update NAME...`` writes the present hash into pages: to be run after the proof was read again, never instead of
that. ``--links`` writes the lines "Rests on", which are a fact about imports and need no reading. ``--users NAME``
names the pages that rest on a lemma or a mechanism.

``--renamed REVISION OLD=NEW...`` writes the present hash into pages whose modules differ from a revision of the
repository, in which these pages were in order, by nothing but these names and by where names are imported from. The
tool compares the syntax trees, so such a change needs no reading either. ``--reworded REVISION`` does so where modules
differ by nothing but the texts of refusals and of the reasons why there is no error bar.

A hash is that of the module's syntax tree without comments, docstrings and layout, and without what a registration says
of where a mechanism is listed and how it is tried (``reference``, ``tasks``, ``wide``, ``made_for``, ``takes``), which
does not decide what the mechanism does.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType

from dither.mechanisms import registered

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PAGES = ROOT / "docs" / "algorithms"
LEMMAS = ROOT / "docs" / "lemmas"
POST_PROCESSING = "post-processing"
#: Where mechanisms and what they share live. What stands below them (exact, noise, privacy, data) is proved on the
#: pages of the theory; what stands above never touches a proof.
ROOMS = (
    "dither.mechanisms",
    "dither.publish",
    "dither.learn",
    "dither.local",
    "dither.federate",
    "dither.lift",
    "dither.data.contribution",
    "dither.data.joins",
    "dither.data.owners",
    "dither.data.meeting",
    "dither.data.returned",
    "dither.data.column_values",
    "dither.data.cell_values",
    "dither.data.graphs",
    "dither.data.place_tables",
    "dither.data.policies",
    "dither.data.personal",
    "dither.data.graph_relations",
    "dither.data.places.box",
    "dither.data.places.extent",
    "dither.data.places.region_map",
    "dither.data.places.projection",
    "dither.data.places.trips",
)
#: Modules that carry no step of a proof and are handed neither data nor releases: how things are declared and written.
PLUMBING: Mapping[str, str] = MappingProxyType(
    {
        "dither.mechanisms.core.mechanism": "abstract classes and records, without a line that runs on data",
        "dither.mechanisms.core.registry": "a table of names, and the examples that checks run on",
        "dither.mechanisms.core.spec": "public parameters as JSON and back",
        "dither.mechanisms.core.public": "a read-only array of public parameters",
        "dither.lift.over_data": "an abstract class: what a mechanism on a data set is",
        "dither.lift.source": "an abstract class: what a source is, without a line that runs on data",
        "dither.lift.planned_size": "refusals by public sizes, for those who plan for others",
        "dither.publish.queries.examples": "small queries for checks; no release reads it",
        "dither.publish.graphs.examples": "small graphs for checks; no release reads it",
    }
)
#: What draws, or hands out draws: no module of post-processing may import these names.
_DRAWS = frozenset({"Runner", "Handle", "Noise", "system_noise"})
#: Calls whose texts are read by people and decide nothing.
_REFUSALS = frozenset({"InvalidParameter", "Unanswerable", "NoGuarantee", "HandleMisuse", "refuse", "refusal"})
#: What a registration says for lists and tests.
_FOR_LISTS = frozenset({"reference", "tasks", "wide", "made_for", "takes"})
_DIGITS = 16

_PROVES = re.compile(r"<!-- proves: (?P<module>[\w.]+) code: (?P<hash>[0-9a-f]+) -->")
_FRONT = re.compile(r"(?:<!-- proves: [\w.]+ code: [0-9a-f]+ -->\n)+(?:\nProves: [^\n]*\n)?(?:\nRests on: [^\n]*\n)?")
_RESTS = re.compile(r"^Rests on: [^\n]*$", re.MULTILINE)
_LISTED = re.compile(r"^\| `(?P<module>dither[\w.]+)` \| (?P<handed>[^|]*\S[^|]*) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Library:
    """All pages of proofs, and the code that they speak about, as texts: so that a test can plant a violation.

    Args:
        mechanisms: the module of every registered mechanism, by the mechanism's name.
        pages: the pages of mechanisms, by name.
        lemmas: the pages of lemmas, by name.
        post_processing: the page that lists the modules which see public parameters and released values alone.
        sources: the text of every module of the rooms.
        plumbing: modules without a step of a proof, each with the reason.

    """

    mechanisms: Mapping[str, str]
    pages: Mapping[str, str]
    lemmas: Mapping[str, str]
    post_processing: str
    sources: Mapping[str, str]
    plumbing: Mapping[str, str]

    @classmethod
    def read(cls) -> Library:
        """Return the library as it stands on the disk; what others register is proved elsewhere."""
        found = {name: entry.mechanism.__module__ for name, entry in registered().items()}
        lemmas = _texts(LEMMAS)
        return cls(
            mechanisms={name: module for name, module in found.items() if module.startswith("dither.")},
            pages=_texts(PAGES),
            post_processing=lemmas.pop(POST_PROCESSING, ""),
            lemmas=lemmas,
            sources={_name_of(path): path.read_text(encoding="utf-8") for path in _modules()},
            plumbing=PLUMBING,
        )

    @cached_property
    def proved(self) -> Mapping[str, tuple[str, ...]]:
        """The modules that each page proves, by the page's place: ``algorithms/laplace``, ``lemmas/values``."""
        own = {f"algorithms/{name}": (module,) for name, module in self.mechanisms.items()}
        shared = {
            f"lemmas/{name}": tuple(module for module, _ in _recorded(text)) for name, text in self.lemmas.items()
        }
        return own | shared

    @cached_property
    def _places(self) -> Mapping[str, tuple[str, ...]]:
        """The pages that prove each module."""
        found: dict[str, list[str]] = {}
        for place, modules in self.proved.items():
            for module in modules:
                found.setdefault(module, []).append(place)
        return {module: tuple(sorted(places)) for module, places in found.items()}

    @cached_property
    def unproved(self) -> tuple[str, ...]:
        """The modules that are listed as post-processing."""
        return tuple(match["module"] for match in _LISTED.finditer(self.post_processing))

    def imports(self, module: str) -> frozenset[str]:
        """Return the modules of the rooms that a module imports; a name from a package is followed to its module."""
        found = set()
        for origin, name in _imported(self.sources[module]):
            if origin == "dither" or _is_of_rooms(origin):
                found.add(self._origin(origin, name))
        return frozenset(found - {module})

    def _origin(self, module: str, name: str | None) -> str:
        """Return the module in which a name is defined, through any number of packages that hand it on."""
        if name is None:
            return module
        if f"{module}.{name}" in self.sources:
            return f"{module}.{name}"
        if f"{module}.__init__" not in self.sources:
            return module
        for origin, handed, shown in _handed_on(self.sources[f"{module}.__init__"]):
            if shown == name:
                return self._origin(origin, handed)
        return module

    def rests_on(self, place: str) -> tuple[str, ...]:
        """Return the pages whose modules the modules of a page import: lemmas first."""
        imported = (other for module in self.proved[place] if module in self.sources for other in self.imports(module))
        found = {page for other in imported for page in self._places.get(other, ())}
        return tuple(sorted(found - {place}, key=lambda page: (page.startswith("algorithms/"), page)))

    def line(self, place: str) -> str:
        """Return the line that says what a page rests on."""
        folder = place.partition("/")[0]
        links = []
        for page in self.rests_on(place):
            there, _, name = page.partition("/")
            links.append(f"[{name}]({name}.md)" if there == folder else f"[{name}](../{there}/{name}.md)")
        return f"Rests on: {', '.join(links)}" if links else "Rests on: nothing beside the theory"

    def text(self, place: str) -> str | None:
        """Return the text of a page."""
        folder, _, name = place.partition("/")
        return (self.pages if folder == "algorithms" else self.lemmas).get(name)

    def stale(self) -> list[str]:
        """Return the places of pages that are missing, that prove other code than there is, or that prove nothing."""
        found = []
        for place, modules in self.proved.items():
            text = self.text(place)
            present = [(module, self.code_hash(module)) for module in modules if module in self.sources]
            if text is None or not modules or _recorded(text) != present:
                found.append(place)
        return sorted(found + [f"algorithms/{name}" for name in self.pages if name not in self.mechanisms])

    def code_hash(self, module: str) -> str:
        """Return 16 hexadecimal digits that change whenever the code of the module changes."""
        return _hash(self.sources[module])

    def complaints(self) -> list[str]:
        """Return what is not in order, a sentence each."""
        return [*self._stale_pages(), *self._listings(), *self._unlisted(), *self._links(), *self._draws()]

    def _stale_pages(self) -> Iterator[str]:
        for place in self.stale():
            name = place.partition("/")[2]
            yield f"stale: docs/{place}.md; read the proof against the code, then run --update {name}"

    def _listings(self) -> Iterator[str]:
        """Refuse modules that are not there or have two places, and names with two meanings."""
        listed = [*(module for name in self.lemmas for module in self.proved[f"lemmas/{name}"])]
        listed += [*self.unproved, *self.plumbing]
        for module, count in Counter([*listed, *set(self.mechanisms.values())]).items():
            if module not in self.sources:
                yield f"listed, and not there: {module}"
            if count > 1:
                yield f"listed twice: {module}"
        for name in self.lemmas.keys() & self.mechanisms.keys():
            yield f"docs/lemmas/{name}.md has the name of a mechanism"

    def _unlisted(self) -> Iterator[str]:
        """Refuse proofs that rest on what nobody has sorted."""
        known = {*self._places, *self.unproved, *self.plumbing}
        for place, modules in self.proved.items():
            for module in modules:
                for other in sorted(self.imports(module) - known) if module in self.sources else ():
                    yield (
                        f"docs/{place}.md rests on {other}, which no page proves: write a lemma, or list it in "
                        f"docs/lemmas/{POST_PROCESSING}.md if it sees public parameters and released values alone"
                    )

    def _links(self) -> Iterator[str]:
        for place in self.proved:
            text = self.text(place)
            if text is not None and _RESTS.findall(text) != [self.line(place)]:
                yield f"docs/{place}.md does not say what it rests on; run --links"

    def _draws(self) -> Iterator[str]:
        for module in self.unproved:
            if module in self.sources:
                for name in sorted({name or "" for _, name in _imported(self.sources[module])} & _DRAWS):
                    yield f"{module} is listed as post-processing, and imports {name}"

    def with_hashes(self, place: str) -> str:
        """Return the text of a page with the present hashes of its modules."""
        modules = self.proved[place]
        hashes = [self.code_hash(module) for module in modules]
        pairs = list(zip(modules, hashes, strict=True))
        hidden = "".join(f"<!-- proves: {module} code: {digits} -->\n" for module, digits in pairs)
        shown = "; ".join(f"`{module}` · code hash: `{digits}`" for module, digits in pairs)
        front = f"{hidden}\nProves: {shown}\n\n{self.line(place)}\n"
        text = self.text(place) or ""
        replaced, count = _FRONT.subn(lambda _: front, text, count=1)
        if count:
            return replaced
        # A new page: the lines go below its title.
        title, _, rest = text.partition("\n")
        return f"{title}\n\n{front}{rest}"

    def with_links(self, place: str) -> str:
        """Return the text of a page with the line that says what it rests on."""
        text, line = self.text(place) or "", self.line(place)
        if _RESTS.search(text):
            return _RESTS.sub(lambda _: line, text, count=1)
        return re.sub(r"^Proves: [^\n]*$", lambda match: f"{match[0]}\n\n{line}", text, count=1, flags=re.MULTILINE)


def renamed(library: Library, revision: str, names: Mapping[str, str] | None) -> list[str]:
    """Return the places of stale pages whose modules differ from a revision as ``_is_renamed`` says, and not more."""
    found = []
    for place in library.stale():
        before = _recorded(_shown(revision, f"docs/{place}.md"))
        present = [module for module in library.proved.get(place, ()) if module in library.sources]
        if len(before) != len(present) or not present:
            continue
        pairs = zip(before, present, strict=True)
        if all(_is_renamed(revision, old, digits, library.sources[new], names) for (old, digits), new in pairs):
            found.append(place)
    return found


def _is_renamed(revision: str, module: str, digits: str, present: str, names: Mapping[str, str] | None) -> bool:
    """Tell whether a module differs from a revision by names and imports alone; without names, by texts of refusals."""
    old = _shown(revision, f"src/{module.replace('.', '/')}.py")
    if not old or _hash(old) != digits:
        return False
    if names is None:
        return _written(_without_refusals(old)) == _written(_without_refusals(present))
    return _written(_without_imports(old, names)) == _written(_without_imports(present, {}))


def _without_refusals(text: str) -> ast.Module:
    """Return the syntax tree of a module with empty texts where it refuses, or says why there is no error bar."""
    tree = copy.deepcopy(_tree(text))
    for node in ast.walk(tree):
        is_reason = isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "").endswith("_because")
        called = node.func if isinstance(node, ast.Call) else None
        is_refusal = getattr(called, "id", getattr(called, "attr", "")) in _REFUSALS
        if isinstance(node, ast.Raise) or is_reason or is_refusal:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    part.value = ""
    return tree


def _without_imports(text: str, names: Mapping[str, str]) -> ast.Module:
    """Return the syntax tree of a module without imports and docstrings, with other names."""
    tree = copy.deepcopy(_tree(text))
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [one for one in value if not isinstance(one, ast.Import | ast.ImportFrom)])
            elif isinstance(value, str) and not isinstance(node, ast.Constant):
                setattr(node, field, names.get(value, value))
    return tree


@cache
def _shown(revision: str, path: str) -> str:
    """Return a file of the repository at a revision; nothing where it was not there."""
    asked = ["git", "-C", str(ROOT), "show", f"{revision}:{path}"]
    done = subprocess.run(asked, capture_output=True, check=False, text=True)
    return done.stdout if done.returncode == 0 else ""


def _texts(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md") if path.stem != "index"}


def _modules() -> Iterator[Path]:
    for room in ROOMS:
        path = SOURCE.joinpath(*room.split("."))
        yield from path.rglob("*.py")
        if path.with_suffix(".py").is_file():
            yield path.with_suffix(".py")


def _name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def _is_within(module: str, rooms: tuple[str, ...]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def _is_of_rooms(module: str) -> bool:
    return _is_within(module, ROOMS)


def _recorded(text: str) -> list[tuple[str, str]]:
    """Return the modules that a page proves, each with the hash that the page carries."""
    return [(match["module"], match["hash"]) for match in _PROVES.finditer(text)]


@cache
def _tree(text: str) -> ast.Module:
    """Return the syntax tree of a module without docstrings, and without what registrations say for lists and tests."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "register":
            node.keywords = [one for one in node.keywords if one.arg not in _FOR_LISTS]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return tree


@cache
def _imported(text: str) -> tuple[tuple[str, str | None], ...]:
    """Return every import, wherever it stands: the module, and the name that is taken from it."""
    return tuple((origin, name) for origin, name, _ in _import_nodes(text))


def _handed_on(text: str) -> Iterator[tuple[str, str | None, str]]:
    return (found for found in _import_nodes(text) if found[1] is not None)


def _import_nodes(text: str) -> Iterator[tuple[str, str | None, str]]:
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None, alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name, alias.asname or alias.name) for alias in node.names)


@cache
def _hash(text: str) -> str:
    return hashlib.sha256(_written(_tree(text)).encode()).hexdigest()[:_DIGITS]


def _written(node: object) -> str:
    """Return a syntax tree as text: ``ast.dump`` without empty fields, so that it is the same on every Python."""
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
        return f"{type(node).__name__}({', '.join(f'{name}={_written(value)}' for name, value in fields)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_written, node))}]"
    return repr(node)


def _write(place: str, text: str) -> None:
    (ROOT / "docs" / f"{place}.md").write_text(text, encoding="utf-8")


def _place(library: Library, name: str) -> str | None:
    """Return the place of the page of that name, if there is one."""
    places = (f"algorithms/{name}", f"lemmas/{name}")
    return next((place for place in places if place in library.proved and library.text(place) is not None), None)


def main(arguments: list[str]) -> int:
    """Check all pages, or write into those named."""
    parser = argparse.ArgumentParser(description="Check that every proof page speaks about the present code.")
    parser.add_argument(
        "--update", nargs="+", metavar="NAME", default=[], help="write the present hash into these pages"
    )
    parser.add_argument("--links", action="store_true", help="write into every page what it rests on")
    parser.add_argument("--users", metavar="NAME", help="name the pages that rest on this one")
    parser.add_argument(
        "--renamed",
        nargs="+",
        metavar=("REVISION", "OLD=NEW"),
        default=[],
        help="write the present hash into pages whose modules differ from a revision by these names and imports alone",
    )
    parser.add_argument(
        "--reworded",
        metavar="REVISION",
        help="write the present hash into pages whose modules differ from a revision by texts of refusals alone",
    )
    options = parser.parse_args(arguments)
    library = Library.read()
    named: list[str] = [*options.update, *([options.users] if options.users else [])]
    places = {name: _place(library, name) for name in named}
    if unknown := [name for name, place in places.items() if place is None]:
        print("no such mechanism or lemma, or no page for it: " + ", ".join(unknown))
        return 1
    if options.users:
        print("\n".join(place for place in library.proved if places[options.users] in library.rests_on(place)))
        return 0
    for place in map(places.get, options.update):
        if place is not None:
            _write(place, library.with_hashes(place))
    if options.renamed:
        revision, *pairs = options.renamed
        for place in renamed(library, revision, dict(pair.split("=", 1) for pair in pairs)):
            _write(place, library.with_hashes(place))
    if options.reworded:
        for place in renamed(library, options.reworded, None):
            _write(place, library.with_hashes(place))
    if options.links:
        library = Library.read()
        for place in library.proved:
            if library.text(place) is not None:
                _write(place, library.with_links(place))
    is_written = named or options.links or options.renamed or options.reworded
    complaints = Library.read().complaints() if is_written else library.complaints()
    for complaint in complaints:
        print(complaint)
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
