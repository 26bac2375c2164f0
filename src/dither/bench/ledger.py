"""How many releases a second the curator's ledger keeps, beside what its disk can do.

The ledger is measured from outside, as a process of its own: this room lies below the curator's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

#: Releases per fsync of the same run, the slowest release in a hundred, and the slowest client's share of the mean.
GOALS = {"releases_per_fsync": 0.35, "p99_seconds": 1.0, "slowest_share": 0.25}


def measure_ledger(folder: Path | None = None, *, processes: int = 8, rounds: int = 5) -> SimpleNamespace:
    """Let ``processes`` clients release as fast as they can, in turns with plain fsyncs.

    Args:
        folder: on the disk to measure; else the temporary one.
        processes: how many clients.
        rounds: how many turns, of a second each.

    """
    command = [sys.executable, "-m", "dither.curator.ledger.speed"]
    command += ["--processes", str(processes), "--rounds", str(rounds)]
    command += ["--folder", str(folder)] if folder is not None else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # The fields are those of ``dither.curator.ledger.speed.Speed``, which stands above this room.
    return SimpleNamespace(**json.loads(done.stdout))
