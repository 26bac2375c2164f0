"""The benchmark of accountants measures what it says it measures; no test asserts a time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools.bench.accountants import measure_accountants


def test_every_task_is_measured() -> None:
    figures = measure_accountants()
    assert len({(one.task, one.grid) for one in figures}) == len(figures) == 7
    assert all(one.seconds > 0 and one.rival_seconds is None for one in figures)
    by_task = {(one.task, one.grid): one.epsilon for one in figures}
    assert by_task["10,000 sampled Gaussian steps, noise 1", "as chosen"] == pytest.approx(6.1878, abs=1e-3)
    # The same question on two grids.
    assert by_task["200 different Laplace", "as chosen"] == pytest.approx(
        by_task["200 different Laplace", "2^-13"], rel=1e-4
    )
    assert set(figures[0].to_dict()) >= {"task", "grid", "seconds", "epsilon", "rival_seconds", "rival_epsilon"}


def test_accountants_are_imported_without_scipy() -> None:
    script = (
        "import sys, dither.privacy.accountants, dither.privacy.accountants.crosscheck; print('scipy' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
    )
