"""Rewritten test files: the parts of all workers are all files, and what one writes is what pytest reads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from _pytest.assertion import rewrite


@pytest.fixture(scope="module")
def rewritten(load_tool: Callable[[str], ModuleType]) -> Any:
    return load_tool("rewritten")


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_the_parts_of_all_workers_are_all_files(rewritten: Any, workers: int) -> None:
    files = [Path(f"test_{number}.py") for number in range(20)]
    parts = [rewritten.part_of(files, f"gw{worker}", workers) for worker in range(workers)]
    assert sorted(itertools.chain.from_iterable(parts)) == sorted(files)


def test_what_is_written_is_what_pytest_reads(
    rewritten: Any, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the folder of modules is set from outside, or nothing may be written, all is as usual.
    monkeypatch.setattr("sys.pycache_prefix", None)
    file = tmp_path / "test_one.py"
    file.write_text("def test_one():\n    assert 1 + 1 == 3\n")
    rewritten.write(file, request.config)
    (kept,) = (tmp_path / "__pycache__").iterdir()
    code = rewrite._read_pyc(file, kept)
    assert code is not None
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the file of two lines above
    with pytest.raises(AssertionError, match=r"\(1 \+ 1\) == 3"):
        names["test_one"]()


def test_a_worker_shares_whatever_pytest_is_like(rewritten: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(rewrite, "PYC_TAIL")
    rewritten.share(SimpleNamespace(workerinput={"workerid": "gw0", "workercount": 1}, stash={}))
