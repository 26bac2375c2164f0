"""``python -m tools.bench.ledger``: how many releases a second the ledger records on this machine's disk.

A release is two durable commits, which clients may share, so the disk's own rate is the measure. Both are taken in
turns, a second each, because disks that are shared change their speed by factors within minutes. Prints one line of
JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dither.curator.ledger import Account, Reservation, open_ledger
from dither.privacy import ApproxDP, PureDP

_BLOCK = b"\0" * 4096
_DATASET = "speed"
#: Releases per fsync of the same run, the slowest release in a hundred, and the slowest client's share of the mean.
GOALS = {"releases_per_fsync": 0.35, "p99_seconds": 1.0, "slowest_share": 0.25}


@dataclass(frozen=True)
class Speed:
    """The speed of the clients of one ledger, and of the disk alone in the same minutes."""

    processes: int
    releases: int
    releases_per_second: float
    fsyncs_per_second: float
    releases_per_fsync: float
    p50_seconds: float
    p99_seconds: float
    #: The rate of the slowest client as a share of the mean rate.
    slowest_share: float
    #: Seconds to open the ledger as it was left, and to verify it.
    open_seconds: float
    verify_seconds: float


def measure(folder: Path, *, processes: int = 8, rounds: int = 3, seconds: float = 1.0, place: str = "") -> Speed:
    """Let ``processes`` clients release as fast as they can, in turns with plain fsyncs on the same disk.

    Args:
        folder: on the disk to measure; must exist.
        processes: how many clients.
        rounds: how many turns.
        seconds: of each turn.
        place: another ledger than a new file in ``folder``.

    """
    ledger = place or str(folder / "speed.db")
    anchors = str(folder / "anchors")
    with open_ledger(ledger, anchors=anchors) as opened:
        opened.register(_DATASET, budget=ApproxDP(1000, "1e-6"), unit="row")
    spawn = multiprocessing.get_context("spawn")
    pipes: list[Connection[Any, Any]] = []
    clients = []
    for number in range(processes):
        ours, theirs = spawn.Pipe()
        client = spawn.Process(target=_client, args=(ledger, anchors, number, theirs), daemon=True)
        client.start()
        theirs.close()
        pipes.append(ours)
        clients.append(client)
    for pipe in pipes:
        pipe.recv()
    disk, counts, latencies, elapsed = [], [0] * processes, [], 0.0
    for _ in range(rounds):
        disk.append(fsyncs_per_second(folder, seconds / 2))
        start = time.monotonic()
        for pipe in pipes:
            pipe.send(start + seconds)
        for number, pipe in enumerate(pipes):
            taken = pipe.recv()
            counts[number] += len(taken)
            latencies.extend(taken)
        elapsed += time.monotonic() - start
        disk.append(fsyncs_per_second(folder, seconds / 2))
    for pipe in pipes:
        pipe.send(None)
    for client in clients:
        client.join()
    start = time.monotonic()
    with open_ledger(ledger, anchors=anchors) as opened:
        opening = time.monotonic() - start
        if not opened.verify().is_intact:
            raise SystemExit("the ledger does not verify")
    rate, raw = len(latencies) / elapsed, statistics.mean(disk)
    ordered = sorted(latencies)
    return Speed(
        processes=processes,
        releases=len(latencies),
        releases_per_second=rate,
        fsyncs_per_second=raw,
        releases_per_fsync=rate / raw,
        p50_seconds=_quantile(ordered, 0.5),
        p99_seconds=_quantile(ordered, 0.99),
        slowest_share=min(counts) * processes / max(1, len(latencies)),
        open_seconds=opening,
        verify_seconds=time.monotonic() - start - opening,
    )


def fsyncs_per_second(folder: Path, seconds: float) -> float:
    """Return how often one process can append a block to a file and force it to disk."""
    path = folder / "fsync.bin"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        start, count = time.monotonic(), 0
        while time.monotonic() < start + seconds:
            os.write(file, _BLOCK)
            os.fsync(file)
            count += 1
        return count / (time.monotonic() - start)
    finally:
        os.close(file)
        path.unlink()


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("inf")


def _client(place: str, anchors: str, number: int, pipe: Connection[Any, Any]) -> None:
    """Release until the agreed moment, whenever asked, and report how long each release took."""
    account, count = Account(_DATASET, f"client {number}"), 0
    loss, answer = PureDP("1/100000"), b"0" * 200
    with open_ledger(place, anchors=anchors) as ledger:
        # The first release of a process computes what the filter of this budget needs; it is not measured.
        ledger.would_admit(account, loss)
        pipe.send("ready")
        while (until := pipe.recv()) is not None:
            taken = []
            begun = time.monotonic()
            while begun < until:
                count += 1
                reservation = ledger.reserve(account, f"{os.getpid()}-{count}", "digest", loss)
                if isinstance(reservation, Reservation):
                    ledger.complete(reservation, answer)
                now = time.monotonic()
                taken.append(now - begun)
                begun = now
            pipe.send(taken)


def lines() -> list[str]:
    """Return what the ledger on the temporary folder's disk keeps up with, beside the goals."""
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), rounds=5)
    return [
        f"ledger, {found.processes} processes: {found.releases_per_second:.0f} releases a second at "
        f"{found.fsyncs_per_second:.0f} fsyncs a second: {found.releases_per_fsync:.2f} a fsync "
        f"(goal {GOALS['releases_per_fsync']})",
        f"ledger: p50 {found.p50_seconds * 1000:.1f} ms, p99 {found.p99_seconds * 1000:.1f} ms "
        f"(goal {GOALS['p99_seconds'] * 1000:.0f}); slowest client {found.slowest_share:.2f} of the mean rate "
        f"(goal {GOALS['slowest_share']})",
    ]


def main() -> None:
    """Measure in a temporary folder, and print."""
    parser = argparse.ArgumentParser(prog="tools.bench.ledger", description=__doc__)
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure; else the temporary one")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = measure(Path(folder), processes=given.processes, rounds=given.rounds, seconds=given.seconds)
    sys.stdout.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    main()
