"""Modules that know a kind of data although they are not its own: counted, and the number only falls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.kinds import MOST, knowing


@pytest.mark.parametrize("kind", sorted(MOST))
def test_no_further_module_knows_a_kind_of_data(kind: str) -> None:
    found = knowing(kind)
    assert len(found) == MOST[kind], f"lower MOST in tools/kinds.py, or ask the registry of kinds: {', '.join(found)}"


@pytest.mark.parametrize(
    "text",
    [
        "from dither.data.graphs import Graph",
        "from dither.data import graphs",
        "from dither.lift.edges import Edges",
        "def f():\n    from dither.privacy import NODE",
        "def f(table):\n    return table.graph is None",
        "def f(dataset):\n    return dataset.is_graph",
        "UNITS = ('row', 'edge')",
    ],
)
def test_every_way_to_know_graphs_is_seen(text: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "graph_files.py").write_text(text)
    assert knowing("graph", tmp_path) == []
    (tmp_path / "data" / "files.py").write_text(text)
    assert knowing("graph", tmp_path) == ["data/files.py"]
    (tmp_path / "data" / "files.py").write_text("from dither.data.kinds import KINDS\n")
    assert knowing("graph", tmp_path) == []
