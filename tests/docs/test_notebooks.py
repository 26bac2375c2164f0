"""The notebooks run from the first cell to the last, without Jupyter, and are kept without outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
NEEDS = {"ask-a-table": "pandas", "synthetic-table": "pandas", "private-model": "sklearn"}


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def run(path: Path) -> dict[str, Any]:
    """Run every cell, and show what a notebook would show: the value of its last line."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells(path)):
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, f"{path.name}, cell {number}", "exec"), names)  # noqa: S102 - our own notebook
            if isinstance(last, ast.Expr):
                shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names)  # noqa: S307 - likewise
                show = getattr(shown, "_repr_html_", None) or getattr(shown, "_repr_svg_", None) or shown.__repr__
                assert show()
    return names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(NEEDS[path.stem])
    monkeypatch.chdir(tmp_path)
    names = run(path)
    assert not list(tmp_path.iterdir()), "a notebook leaves nothing behind"
    if "session" in names:
        names["session"].close()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_is_linked(path: Path) -> None:
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells(path))
    assert f"notebooks/{path.name}" in (DOCS / "notebooks.md").read_text(encoding="utf-8")


def test_there_are_three() -> None:
    assert {path.stem for path in NOTEBOOKS} == NEEDS.keys()
