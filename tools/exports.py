"""Keep the rooms' ``__init__`` in step with what registers: a mechanism is exported by being there.

Modules are read as text and nothing is imported, so that a room whose ``__init__`` does not know a module yet is
completed before the registry loads it. What stands in an ``__init__`` already stays; only what is missing is added:
the import, the name in ``__all__``, and its home where a room imports lazily.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src"
_WIDTH = 120
_LAZY = ("_HOMES", "_MODULES")


def completed(source: Path = SOURCE) -> dict[Path, str]:
    """Return the text of every ``__init__`` that lacks a registered class, with all of them."""
    found: dict[Path, str] = {}
    for module in sorted((source / "dither").rglob("*.py")):
        text = module.read_text(encoding="utf-8")
        if module.name == "__init__.py" or "\n@register(" not in text:
            continue
        room = module.parent / "__init__.py"
        for name in _registered(text):
            if not any(name in exports(above, found) for above in _rooms(module, source)):
                found[room] = with_export(found.get(room) or room.read_text(encoding="utf-8"), _dotted(module), name)
    return found


def _registered(text: str) -> Iterator[str]:
    """Yield the public classes of a module that are decorated with ``register``."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            calls = (one.func for one in node.decorator_list if isinstance(one, ast.Call))
            if any(isinstance(one, ast.Name) and one.id == "register" for one in calls):
                yield node.name


def _rooms(module: Path, source: Path) -> Iterator[Path]:
    """Yield the ``__init__`` of a module's room and of those around it."""
    for folder in module.parents:
        if folder in (source, source / "dither"):
            return
        yield folder / "__init__.py"


def _dotted(module: Path) -> str:
    parts = module.with_suffix("").parts
    return ".".join(parts[len(parts) - parts[::-1].index("dither") - 1 :])


def exports(room: Path, written: dict[Path, str]) -> frozenset[str]:
    """Return ``__all__`` of a room."""
    text = written.get(room) or room.read_text(encoding="utf-8")
    node = _assigned(ast.parse(text), "__all__")
    return frozenset() if node is None else frozenset(ast.literal_eval(node.value))


def with_export(text: str, module: str, name: str) -> str:
    """Return the text of an ``__init__`` that exports a name of a module besides."""
    lazy = next((word for word in _LAZY if _assigned(ast.parse(text), word) is not None), None)
    text = _with_import(text, module, name, is_lazy=lazy is not None)
    if lazy is not None:
        node = _assigned(ast.parse(text), lazy)
        homes = ast.literal_eval(node.value) | {name: module.rpartition(".")[2]}
        entries = [f'"{key}": "{homes[key]}"' for key in sorted(homes)]
        text = _replaced(text, node, _list(f"{lazy} = ", entries, "{}", is_open=True))
    node = _assigned(ast.parse(text), "__all__")
    if node is None:
        raise SystemExit(f"the room of {module} has no __all__")
    names = sorted({*ast.literal_eval(node.value), name}, key=_sorted_as)
    is_open = node.end_lineno != node.lineno
    return _replaced(text, node, _list("__all__ = ", [f'"{one}"' for one in names], "[]", is_open=is_open))


def _with_import(text: str, module: str, name: str, *, is_lazy: bool) -> str:
    """Return the text with an import, in the order of the others: those of type checkers where the room is lazy."""
    tree = ast.parse(text)
    blocks = [node.body for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    body = blocks[0] if is_lazy else tree.body
    indent = " " * 4 * is_lazy
    known = [one for one in body if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("dither.")]
    for one in known:
        if one.module == module:
            return _replaced(text, one, _import(module, [alias.name for alias in one.names] + [name], indent))
    lines, line = text.splitlines(keepends=True), f"{_import(module, [name], indent)}\n"
    later = next((one.lineno - 1 for one in known if (one.module or "") > module), None)
    place = later if later is not None else known[-1].end_lineno if known else _after_docstring(tree)
    return "".join([*lines[:place], line, *lines[place:]])


def _after_docstring(tree: ast.Module) -> int:
    return tree.body[0].end_lineno or 0 if ast.get_docstring(tree) else 0


def _import(module: str, names: list[str], indent: str) -> str:
    ordered = sorted(set(names), key=_sorted_as)
    line = f"{indent}from {module} import {', '.join(ordered)}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{indent}from {module} import (", *(f"{indent}    {one}," for one in ordered), f"{indent})"])


def _list(before: str, entries: list[str], around: str, *, is_open: bool) -> str:
    line = f"{before}{around[0]}{', '.join(entries)}{around[1]}"
    if not is_open and len(line) <= _WIDTH:
        return line
    return "\n".join([f"{before}{around[0]}", *(f"    {one}," for one in entries), around[1]])


def _sorted_as(name: str) -> tuple[int, str]:
    """Return the place of a name as formatters order them: constants, classes, functions."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def _assigned(tree: ast.Module, name: str) -> Any:
    """Return the statement that assigns a name, if there is one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == name for target in node.targets):
            return node
    return None


def _replaced(text: str, node: ast.stmt, with_text: str) -> str:
    """Return the text with other lines for a statement, which stands on lines of its own."""
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: node.lineno - 1], f"{with_text}\n", *lines[node.end_lineno :]])
