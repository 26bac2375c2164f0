"""``python -m tools.security.timing``: what the time of an answer tells about its noise, and about the number of rows.

A service on this machine has two data sets, one of 1,000 rows and one of 100,000, and is asked for one count after the
other, turn by turn. The first attacker correlates the ranks of times and of noise. The second is shown half of the
times, picks the time below which it says "the small one", on whichever side is better, and is tried on the other half.
Under ``strict`` both must fail; under ``off`` the second must succeed, so that the test is known to see.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import os
import secrets
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import numpy as np

from dither.curator.folder import Curator
from dither.curator.people import People
from dither.privacy import PureDP
from tools.faults.served import Served

#: The seconds and the value of each answer, by data set; no value where it was not in time.
Times: TypeAlias = dict[str, list[tuple[float, float | None]]]
SIZES: Final = {"small": 1_000, "large": 100_000}
CORRELATION: Final = 0.03
ACCURACY: Final = 0.52
#: What the second attacker must reach where nothing is held back.
SEEN: Final = 0.65
#: The goals are for so many answers of each side: four standard deviations of chance, and somewhat more. Fewer are
#: granted six of them besides.
_ENOUGH: Final = 10_000
_CHANCE: Final = 6.0
_SCHEMA: Final = """\
dataset: {name}
unit: person
contribution: {{rows: 1, groups: 1, rows per group: 1}}
tables:
  visits:
    source: {name}.csv
    privacy id: person
    columns:
      person: integer
      ward: {{kind: text, categories: [heart, skin]}}
      waited: {{kind: integer, bounds: [0, 100]}}
"""
_TEXT: Final = "SELECT COUNT(*) AS n FROM (SELECT person, SUM(waited) AS w FROM visits GROUP BY person) WHERE w > 50"


@dataclass(frozen=True)
class Found:
    """What the attackers found.

    Args:
        answers: from each side.
        late: of those, how many were not in time.
        correlation: of the ranks of times and noise, in the answers of both sides together.
        accuracy: the share of times that the second attacker has told apart.
        spread: the standard deviation of times, in milliseconds.

    """

    answers: int
    late: int
    correlation: float
    accuracy: float
    spread: float

    def problems(self, *, is_strict: bool) -> list[str]:
        """Return what is not as it should be; chance is granted to few answers."""
        chance = 0.0 if self.answers >= _ENOUGH else _CHANCE / math.sqrt(self.answers)
        if not is_strict:
            return (
                [] if self.accuracy > SEEN else [f"where nothing is held back, only {self.accuracy:.3f} is told apart"]
            )
        found = []
        if self.correlation > CORRELATION + chance:
            found.append(f"times and noise correlate by {self.correlation:.3f}")
        if self.accuracy > ACCURACY + chance / 2:
            found.append(f"{self.accuracy:.3f} of the times tell how many rows there are")
        return found


def made(folder: Path) -> str:
    """Make a folder with a small and a large data set, and return a token of one who may ask both."""
    dice = np.random.default_rng(3)
    with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
        people = People(curator)
        people.add("ana", "analyst")
        for name, size in SIZES.items():
            wards, waited = dice.integers(0, 2, size), dice.integers(0, 101, size)
            pairs = enumerate(zip(wards, waited, strict=True))
            rows = "".join(f"{person},{'heart' if ward else 'skin'},{value}\n" for person, (ward, value) in pairs)
            (folder / f"{name}.csv").write_text("person,ward,waited\n" + rows)
            (folder / f"{name}.yaml").write_text(_SCHEMA.format(name=name))
            curator.add(folder / f"{name}.yaml", epsilon=1_000_000)
            people.grant("ana", name, PureDP(1_000_000))
        return people.new_token("ana")


def measured(url: str, token: str, answers: int, clients: int, label: str, seconds: float = math.inf) -> Times:
    """Return the time and the value of answers about both data sets, asked turn by turn.

    Args:
        url: of the service.
        token: of one who may ask.
        answers: about each.
        clients: how many connections ask at once.
        label: begins the keys of the requests.
        seconds: after which nothing more is asked.

    """
    until = time.monotonic() + seconds
    found: Times = {name: [] for name in SIZES}
    # In an order drawn anew for each pair: connections keep step with each other, so that with a fixed order each of
    # them would ask about one data set only, and its place in the line would be taken for the number of rows.
    turns = iter(
        [(name, number) for number in range(answers) for name in secrets.SystemRandom().sample(list(SIZES), len(SIZES))]
    )
    guard = threading.Lock()

    def ask() -> None:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        body = json.dumps({"verb": "sql", "words": {"text": _TEXT, "epsilon": {"number": "1/100"}}}).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        while True:
            with guard:
                turn = next(turns, None) if time.monotonic() < until else None
            if turn is None:
                connection.close()
                return
            name, number = turn
            begun = time.perf_counter()
            connection.request(
                "POST", f"/v1/datasets/{name}/releases", body, headers | {"Idempotency-Key": f"{label} {number}"}
            )
            reply = connection.getresponse()
            content = reply.read()
            took = time.perf_counter() - begun
            with guard:
                found[name].append((took, _value(json.loads(content)) if reply.status == 200 else None))

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _value(record: Any) -> float:
    return float(str(record["rows"][0][0])) if "rows" in record else float("nan")


def attacked(found: Times) -> Found:
    """Return what both attackers find.

    Args:
        found: times and values of both data sets.

    """
    from scipy.stats import spearmanr

    in_time = {name: [(took, value) for took, value in pairs if value is not None] for name, pairs in found.items()}
    late = sum(len(pairs) for pairs in found.values()) - sum(len(pairs) for pairs in in_time.values())
    # The noise of an answer is what it differs by from the middle of its side.
    noise = np.concatenate([_noise(pairs) for pairs in in_time.values()])
    took = np.concatenate([np.array([time for time, _ in pairs]) for pairs in in_time.values()])
    times = {name: np.array([took for took, _ in pairs]) for name, pairs in found.items()}
    return Found(
        min(len(pairs) for pairs in found.values()),
        late,
        abs(float(spearmanr(took, noise).statistic)),
        told_apart(times["small"], times["large"]),
        1000 * float(np.std(np.concatenate(list(times.values())))),
    )


def _noise(pairs: list[tuple[float, float]]) -> np.ndarray:
    values: np.ndarray = np.array([value for _, value in pairs])
    middle = float(np.median(values))
    return values - middle


def told_apart(small: np.ndarray, large: np.ndarray) -> float:
    """Return the share of times that a threshold, learned on every second one, tells apart among the others.

    >>> round(told_apart(np.arange(100.0), np.arange(50.0, 150.0)), 2)
    0.75

    """
    learned = np.concatenate([small[::2], large[::2]])
    sides = np.concatenate([np.zeros(len(small[::2])), np.ones(len(large[::2]))])
    order = np.argsort(learned, kind="stable")
    below = np.cumsum(1 - sides[order]) / len(small[::2]) - np.cumsum(sides[order]) / len(large[::2])
    place = int(np.argmax(np.abs(below)))
    threshold, is_small_below = learned[order][place], below[place] >= 0
    right = np.concatenate([small[1::2] <= threshold, large[1::2] > threshold])
    return float(np.mean(right if is_small_below else ~right))


def run(timing: str, answers: int, clients: int, seconds: float) -> Found:
    """Start a service, ask it, and attack.

    Args:
        timing: the setting.
        answers: about each data set.
        clients: how many connections ask at once.
        seconds: after which nothing more is asked.

    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        token = made(folder)
        # One person has half of the places: as many as there are connections.
        served = Served(folder, timing=timing, releasing=clients)
        served.start()
        try:
            # Tables are opened and modules loaded first.
            measured(served.url, token, 2 * clients, clients, "first")
            return attacked(measured(served.url, token, answers, clients, "then", seconds))
        finally:
            served.kill()


def main() -> None:
    """Attack, and say what was found; exit 1 if the attackers succeed, or fail where they must not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=10_000, help="about each data set")
    parser.add_argument("--control", type=int, default=300, help="answers about each where nothing is held back")
    parser.add_argument("--timing", default="strict 500ms", help="the setting that is attacked")
    parser.add_argument("--clients", type=int, default=12, help="connections that ask at once")
    parser.add_argument("--minutes", type=float, default=16, help="stop after this, however many there were")
    asked = parser.parse_args()
    problems: list[str] = []
    for timing, answers, clients in ((asked.timing, asked.answers, asked.clients), ("off", asked.control, 1)):
        found = run(timing, answers, clients, 60 * asked.minutes)
        problems += found.problems(is_strict=timing != "off")
        if found.answers < answers:
            problems.append(f"only {found.answers} answers a side of {answers} in {asked.minutes:g} minutes")
        print(
            f"{timing}: {found.answers} answers a side, {found.late} not in time, rank correlation with the noise "
            f"{found.correlation:.4f}, told apart {found.accuracy:.4f}, standard deviation of times "
            f"{found.spread:.2f} ms, load {os.getloadavg()[0]:.1f}"
        )
    for problem in problems:
        print(f"  {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
