"""Keep proofs and code together: every page of an algorithm carries a hash of the code that it proves.

``python tools/proofs.py`` names the pages whose code has changed since the proof was read against it, and exits 1 if
there are any. ``python tools/proofs.py --update NAME...`` writes the present hash into pages: to be run after the proof
was read again, never instead of that.

The hash covers the mechanism's module and the modules that it stands on of the rooms that hold mechanisms, without
comments, docstrings and layout. The core and the registry are left out: they carry no step of a proof.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

from dither.mechanisms import registered

PAGES = Path(__file__).resolve().parents[1] / "docs" / "algorithms"
_ROOMS = ("dither.mechanisms.", "dither.publish.", "dither.learn.", "dither.local.", "dither.federate.")
_PLUMBING = frozenset({"dither.mechanisms.core", "dither.mechanisms.registry"})
_DIGITS = 16
_FRONT = re.compile(
    r"<!-- proves: (?P<module>[\w.]+) code: (?P<hash>[0-9a-f]+) -->\n\nProves: `[\w.]+` · code hash: `[0-9a-f]+`"
)


def code_hash(module_name: str) -> str:
    """Return 16 hexadecimal digits that change whenever the code that a proof speaks about changes.

    >>> len(code_hash("dither.mechanisms.laplace"))
    16
    """
    text = "\n".join(f"{name} {_own_hash(name)}" for name in sorted(_stands_on(module_name)))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def stale_pages() -> list[str]:
    """Return the names of all mechanisms whose page is missing or proves other code, and of pages without mechanism."""
    modules = _modules()
    recorded = {path.stem: _recorded(path) for path in PAGES.glob("*.md") if path.stem != "index"}
    stale = {name for name, module in modules.items() if recorded.get(name) != (module, code_hash(module))}
    return sorted(stale | (recorded.keys() - modules.keys()))


def front(module_name: str) -> str:
    """Return the lines that tie a page to its code: one for this tool, one for the reader."""
    digits = code_hash(module_name)
    return f"<!-- proves: {module_name} code: {digits} -->\n\nProves: `{module_name}` · code hash: `{digits}`"


def update(name: str) -> None:
    """Write the present hash of the mechanism's code into its page."""
    path = PAGES / f"{name}.md"
    text, lines = path.read_text(encoding="utf-8"), front(_modules()[name])
    replaced, count = _FRONT.subn(lambda _: lines, text, count=1)
    if not count:
        # A new page: the lines go below its title.
        title, _, rest = text.partition("\n")
        replaced = f"{title}\n\n{lines}\n{rest}"
    path.write_text(replaced, encoding="utf-8")


def _modules() -> dict[str, str]:
    """Return the module of every mechanism of this package; what others register is proved elsewhere."""
    found = {name: entry.mechanism.__module__ for name, entry in registered().items()}
    return {name: module for name, module in found.items() if module.startswith("dither.")}


def _recorded(page: Path) -> tuple[str, str] | None:
    match = _FRONT.search(page.read_text(encoding="utf-8"))
    return None if match is None else (match["module"], match["hash"])


def _stands_on(module_name: str) -> set[str]:
    """Return the module and, through any number of imports, the modules of the room that it stands on."""
    found: set[str] = set()
    waiting = [module_name]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += (other for other in _imports(name) if other not in _PLUMBING)
    return found


@cache
def _imports(module_name: str) -> frozenset[str]:
    nodes = list(ast.walk(_tree(module_name)))
    whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return frozenset(name for name in whole | named if name.startswith(_ROOMS))


@cache
def _own_hash(module_name: str) -> str:
    return hashlib.sha256(_written(_tree(module_name)).encode()).hexdigest()


@cache
def _tree(module_name: str) -> ast.Module:
    """Return the syntax tree of a module without its docstrings."""
    spec = importlib.util.find_spec(module_name)
    if spec is None or spec.origin is None:
        raise LookupError(f"there is no module {module_name}")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return tree


def _written(node: object) -> str:
    """Return a syntax tree as text: ``ast.dump`` without empty fields, so that it is the same on every Python."""
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
        return f"{type(node).__name__}({', '.join(f'{name}={_written(value)}' for name, value in fields)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_written, node))}]"
    return repr(node)


def main(arguments: list[str]) -> int:
    """Check all pages, or update those named."""
    parser = argparse.ArgumentParser(description="Check that every proof page speaks about the present code.")
    parser.add_argument("--update", nargs="+", metavar="NAME", help="write the present hash into these pages")
    names: list[str] = parser.parse_args(arguments).update or []
    unknown = [name for name in names if name not in _modules() or not (PAGES / f"{name}.md").is_file()]
    if unknown:
        print("no such mechanism, or no page for it: " + ", ".join(unknown))
        return 1
    for name in names:
        update(name)
    stale = stale_pages()
    for name in stale:
        print(f"stale: docs/algorithms/{name}.md; read the proof against the code, then run --update {name}")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
