"""Workers share what a fresh checkout costs before its first test: pytest rewrites the assertions of every test file.

Each worker would do so for all files, at the same time as the others. Here each does its part of them first, and finds
the rest done. Nothing is shared where the modules of pytest that this uses are not as they are now: every worker then
rewrites everything, as without this.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1] / "tests"


def part_of(files: Sequence[Path], worker: str, workers: int) -> Sequence[Path]:
    """Return the files that a worker rewrites: every one that is as many places apart as there are workers.

    >>> [path.name for path in part_of([Path("a"), Path("b"), Path("c")], "gw0", 2)]
    ['a', 'c']
    """
    return files[int(worker.removeprefix("gw")) :: workers]


def write(file: Path, config: pytest.Config) -> None:
    """Write the compiled form of a test file with its assertions rewritten, unless there is one."""
    from _pytest.assertion import rewrite

    kept = rewrite.get_cache_dir(file) / (file.name[: -len(file.suffix)] + rewrite.PYC_TAIL)
    if not kept.exists() and rewrite.try_makedirs(kept.parent):
        source, code = rewrite._rewrite_test(file, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source, kept)


def share(config: pytest.Config) -> None:
    """Write the part of this worker, where there are workers."""
    given = getattr(config, "workerinput", None)
    if given is not None:
        # A file that cannot be read or compiled is for pytest to complain about.
        with contextlib.suppress(ImportError, AttributeError, KeyError, TypeError, OSError, SyntaxError):
            for file in part_of(sorted(TESTS.rglob("test_*.py")), given["workerid"], given["workercount"]):
                write(file, config)
