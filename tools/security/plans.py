"""``python -m tools.security.plans``: analysts who have costly queries planned without end, and others who only read.

Each hostile analyst sends quotes of one query with a list of 16,000 numbers at 64 losses, on several connections, and
sends the next one as soon as one is answered. Meanwhile a third analyst asks for ``/readyz`` and their balance, one
after another. Exit 1 if one of these takes longer than ``--most`` seconds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final

from dither.errors import DitherError
from dither.privacy import PureDP
from dither.service.transport import Transport
from tools.faults.served import Served, made_for

PATHS: Final = (("readyz",), ("v1", "datasets", "clinic", "balance"))
_LISTED: Final = 16_000
_LOSSES: Final = 64


def body() -> dict[str, Any]:
    """Return what the hostile ones ask."""
    listed = ",".join(map(str, range(_LISTED)))
    text = f"SELECT COUNT(*) AS n FROM visits WHERE LENGTH(ward) IN ({listed})"  # noqa: S608 - for no engine
    losses = [PureDP(number + 1).to_dict() for number in range(_LOSSES)]
    return {"verb": "sql", "words": {"text": text}, "losses": losses}


def attack(url: str, token: str, connections: int) -> None:
    """Ask without end."""
    asked = body()

    def ask() -> None:
        while True:
            begun = time.monotonic()
            try:
                status = str(Transport(url, token).post("v1", "datasets", "clinic", "quotes", body=asked).status)
            except DitherError as refused:
                status = type(refused).__name__
            print(f"  a hostile quote took {time.monotonic() - begun:.2f} s: {status}", flush=True)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def times(url: str, token: str, seconds: float) -> dict[str, list[float]]:
    """Return how long each path took, time after time.

    Args:
        url: of the service.
        token: of one who reads.
        seconds: for how long it is asked.

    """
    found: dict[str, list[float]] = {"/".join(path): [] for path in PATHS}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for path in PATHS:
            begun = time.monotonic()
            Transport(url, token).get(*path)
            found["/".join(path)].append(time.monotonic() - begun)
    return found


def main() -> None:
    """Attack, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hostile", type=int, default=2, help="how many analysts plan without end")
    parser.add_argument("--connections", type=int, default=4, help="of each of them")
    parser.add_argument("--seconds", type=float, default=10, help="for how long the third one reads meanwhile")
    parser.add_argument("--most", type=float, default=5, help="seconds that one answer may take")
    asked = parser.parse_args()
    names = [f"hostile {number}" for number in range(asked.hostile)]
    with tempfile.TemporaryDirectory() as folder:
        tokens = made_for(Path(folder), dict.fromkeys([*names, "reader"], "1"))
        served = Served(Path(folder))
        served.start()
        told = [(served.url, tokens[name], asked.connections) for name in names]
        hostile = [multiprocessing.Process(target=attack, args=one, daemon=True) for one in told]
        try:
            alone = times(served.url, tokens["reader"], 2)
            for one in hostile:
                one.start()
            time.sleep(2)
            meanwhile = times(served.url, tokens["reader"], asked.seconds)
        finally:
            for one in hostile:
                if one.pid is not None:
                    one.kill()
            served.kill()
    for which, found in (("alone", alone), ("meanwhile", meanwhile)):
        for path, took in found.items():
            middle, most = 1000 * statistics.median(took), 1000 * max(took)
            print(f"{which}: /{path}, asked {len(took)} times: median {middle:.1f} ms, at most {most:.1f} ms")
    print(f"load {os.getloadavg()[0]:.1f}")
    sys.exit(0 if all(max(took) <= asked.most for took in meanwhile.values()) else 1)


if __name__ == "__main__":
    main()
