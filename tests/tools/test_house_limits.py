"""The figures of the project's shape stay within their limits, and what counts them counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType


def test_the_shape_stays_within_its_limits(load_tool: Callable[[str], ModuleType]) -> None:
    shape = load_tool("house_limits")
    for name, count in shape.counts().items():
        assert 0 < count <= shape.LIMITS[name], name


def test_a_spelled_loss_is_counted_but_in_an_estimator(load_tool: Callable[[str], ModuleType], tmp_path: Path) -> None:
    shape = load_tool("house_limits")
    for name in ("learn/model.py", "curator/door.py"):
        (tmp_path / name).parent.mkdir()
        text = "def ask(text, *, epsilon=None, delta=None, rho=None): ...\ndef other(epsilon): ...\n"
        (tmp_path / name).write_text(text)
    assert list(shape.spelled_losses(tmp_path)) == ["curator/door.py:ask"]
    assert shape.lines(tmp_path) == 4
