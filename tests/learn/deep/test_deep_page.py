"""The programs of the page about networks run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="networks need the extra 'deep'")
pytest.importorskip("safetensors", reason="networks need the extra 'deep'")

PAGE = Path(__file__).parents[3] / "docs" / "deep.md"


def test_the_programs_of_the_page_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 2
    assert blocks[0].count("\n") <= 25
    names: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102
    said = capsys.readouterr().out
    assert "epsilon = " in said
    assert "step 20 of 20" in said
    assert (tmp_path / "model.safetensors").stat().st_size > 0
