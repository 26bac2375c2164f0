"""Name the tests that a change can reach, or run them: ``make quick``.

Imports go downwards only, so that a change to a module reaches the modules that import it, and the tests that import
any of these. ``python tools/quick.py`` compares the working tree with the branch ``main`` (``--since REVISION`` with
another revision) and prints what to run; ``--run`` runs it. A module that is named in a text counts as imported. Two
modules name rooms above them, which are loaded when somebody asks: the registry reaches the tests that ask it for all
there is, and the top level those that take such a name from it. What the graph cannot see (data files, the Makefile,
pyproject.toml) asks for the whole suite. ``make test`` decides whether a change is right; this is for the way there.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Quick, and about the tree as a whole.
ALWAYS = ("tests/test_architecture.py", "tests/test_proofs.py")
_READ = (".py", ".md")
#: Modules whose texts name rooms above them.
_ABOVE = ("dither", "dither.mechanisms.core.registry", "dither.mechanisms.core.tasks")
#: Rooms that hold mechanisms; their tests, and the folders of tests that go through all mechanisms there are.
_ROOMS = tuple(f"dither.{room}" for room in ("learn", "lift", "mechanisms", "publish"))
_THROUGH_ALL = ("tests/audit/", "tests/checks/")
#: A test that takes one of these from the registry asks for all mechanisms.
_ALL = frozenset({"registered", "find", "from_spec", "check_mechanism"})


def changed_files(since: str) -> list[str]:
    """Return the files that differ from a revision, those that git does not know yet included."""
    asked = (["git", "diff", "--name-only", since], ["git", "ls-files", "--others", "--exclude-standard"])
    found: set[str] = set()
    for words in asked:
        found.update(subprocess.run(words, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\n"))
    return sorted(found - {""})


def module_of(path: str) -> str:
    """Return the module of a source file, or of a tool."""
    parts = Path(path).with_suffix("").parts
    parts = parts if parts[0] == "tools" else parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules() -> dict[str, str]:
    """Return the text of every module of the package and of the tools, by its name."""
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
    return {module_of(str(path.relative_to(ROOT))): path.read_text(encoding="utf-8") for path in paths}


def imported(text: str, known: Mapping[str, str], module: str = "") -> set[str]:
    """Return the modules that a text imports or names; only tests reach all mechanisms by asking for them."""
    with_texts, is_test = module not in _ABOVE, not module
    later = _later(known.get("dither", ""))
    found = set()
    for name in _named(text, with_texts=with_texts):
        origin, _, taken = name.rpartition(".")
        found.add(name)
        if origin == "dither" and taken in later:
            found.add(later[taken])
        if is_test and taken in _ALL and origin.startswith(("dither.mechanisms", "dither.checks")):
            found.update(other for other in known if other.startswith(_ROOMS))
    return found & set(known)


@cache
def _later(top: str) -> dict[str, str]:
    """Return where the names of the top level are that are loaded when they are first asked for."""
    for node in ast.walk(ast.parse(top)):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_LATER":
            return {name: module for name, (module, _) in ast.literal_eval(node.value).items()}
    return {}


@cache
def _named(text: str, *, with_texts: bool) -> frozenset[str]:
    """Return what a text imports, and the texts in it that may name a module."""
    found: set[str] = set()
    for node in _run(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif with_texts and isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Tools are asked for by their names alone.
            found.update((node.value, node.value.partition(":")[0], f"tools.{node.value}"))
    return frozenset(found)


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """Return all nodes but those that are for type checkers alone."""
    left = [node]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        # As ast.iter_child_nodes, without a generator for each node: all sources and tests are walked.
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, list):
                left.extend(one for one in part if isinstance(one, ast.AST))
            elif isinstance(part, ast.AST) and part._fields:
                left.append(part)


def reached(changed: Iterable[str], graph: Mapping[str, set[str]]) -> set[str]:
    """Return the modules that import one of these, directly or through others, and these themselves.

    A package is its own ``__init__``: an import of one of its modules imports it too, but does not count as using it.
    """
    users: dict[str, set[str]] = {}
    for module, used in graph.items():
        for other in used:
            users.setdefault(other, set()).add(module)
    found, fresh = set(changed), list(changed)
    while fresh:
        for user in users.get(fresh.pop(), ()):
            if user not in found:
                found.add(user)
                fresh.append(user)
    return found


def selected(changed: list[str]) -> list[str] | None:
    """Return what to run for changed files; None for the whole suite."""
    sources = modules()
    if any(Path(path).suffix not in _READ and not path.startswith(("docs/", ".github/")) for path in changed):
        return None
    graph = {module: imported(text, sources, module) for module, text in sources.items()}
    touched = {module_of(path) for path in changed if path.startswith(("src/", "tools/")) and path.endswith(".py")}
    hit = reached(touched, graph)
    is_of_rooms = any(module.startswith(_ROOMS) for module in hit)
    pages = (path for path in changed if path.endswith(".md") and not path.startswith(("CHANGELOG", "changelog.d/")))
    paths = {path for path in pages if (ROOT / path).exists()}
    paths.update(f"src/{module.replace('.', '/')}.py" for module in touched if module.startswith("dither"))
    for path in sorted((ROOT / "tests").rglob("*.py")):
        place = str(path.relative_to(ROOT))
        if path.name == "conftest.py" and place in changed:
            paths.add(str(path.parent.relative_to(ROOT)))
        elif path.name.startswith("test_") and (
            place in changed
            or (is_of_rooms and place.startswith(_THROUGH_ALL))
            or imported(path.read_text(encoding="utf-8"), sources) & hit
        ):
            paths.add(place)
    return sorted({*(path for path in paths if (ROOT / path).exists()), *ALWAYS})


def main(arguments: list[str]) -> int:
    """Print what a change reaches, or run it."""
    parser = argparse.ArgumentParser(description="Run the tests that a change can reach.")
    parser.add_argument("--since", default="main", help="the revision to compare with")
    parser.add_argument("--run", action="store_true", help="run them")
    options = parser.parse_args(arguments)
    chosen = selected(changed_files(options.since))
    if not options.run:
        print("\n".join(chosen if chosen is not None else ["everything"]))
        return 0
    words = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", *(chosen or [])]
    return subprocess.run(words, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
