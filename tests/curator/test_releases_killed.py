"""Real releases in real processes, really killed: a few here, hundreds in ``make faults``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_TRIAL = """
import sys
from pathlib import Path
from tools.faults.releases import Tally, Trial, _reckon, made
folder, tally = Path(sys.argv[1]), Tally()
made(folder)
# The first is after the draw is durable, the second before the answer is.
points = "drawn", "complete: written"
trials = [Trial(folder, n, tally, clients=1, requests=2, point=point) for n, point in enumerate(points)]
for trial in trials:
    trial.run()
_reckon(folder, trials, tally)
assert tally.is_clean, tally.failures
assert tally.kills >= 3, tally
assert tally.requests == 4
assert tally.resumed >= 2, tally
"""


def test_releases_that_are_killed_after_their_draw_are_answered(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TRIAL, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 0, done.stdout + done.stderr
