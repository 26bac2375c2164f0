"""Try the whole contract and the whole audit on planted bugs, as they are, and count how many of them die.

Each plant is tried in a process of its own, because what a patch has touched may be remembered by caches. The contract
runs first, since it is short; the audit of the same mechanisms follows for plants that withstood it. A crash is not a
kill, and neither is a refusal of a bad parameter or a missing docstring: only a check of privacy counts.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from dither.audit.bounds import lower_limit, upper_limit
from dither.audit.budgets import audit_budgets
from dither.audit.everything import PARTS, Extent, run_all
from dither.audit.random_pairs import random_subjects, try_random_pairs
from dither.checks import ContractViolation, check_mechanism, checks, run_design
from dither.checks.designs import check_thousands
from tools.ledgers import audit_ledger
from tools.mutants.plants import FAMILIES, NOT_LIVE, PLANTS, Plant

KILLED, SURVIVED, CRASHED, LATE, NOT_LIVE_ANY_MORE = "killed", "survived", "crashed", "out of time", "not live"
#: The least share of live plants that must die.
GOAL = 0.9
#: Seconds for one plant: beyond, it counts as having survived.
SECONDS = 400.0
#: What is audited beside the mechanisms of a plant, by family, where the audit has such a part.
_PARTS_OF = {
    "composition and prices": ("accountants",),
    "queries and emitted SQL": ("queries", "engines"),
}
#: Families on which the audit of the ledger runs: what it admits follows the filters of prices.
_WITH_LEDGER = ("ledger arithmetic and stored answers", "composition and prices")
_LEDGER_ROUNDS = 400
#: Families whose budgets are watched from outside.
_WITH_BUDGETS = ("composition and prices", "streams and conversations")
#: As the audit of everything has them, for each class.
_SECONDS_OF_DESIGN, _SECONDS_OF_PAIRS, _RANDOM_PAIRS = 90.0, 6.0, 3000
#: Checks of form: the record, its documentation, its intervals. What fails there says nothing about privacy.
_OF_FORM = (
    "check_public_record",
    "check_refuses_bad_numbers",
    "check_refuses_bad_parameters",
    "check_json_round_trip",
    "check_says_why_not",
    "check_intervals_cover",
)
#: Complaints of an audit about itself or about usefulness, and crashes that a check turned into complaints.
_NO_REFUTATION = re.compile(
    r"not tried for lack of time|replayed in time|the audit has no power|shows too little|above the truth|"
    r"no pair of neighbours|no random neighbours were replayed|were tried in time|raised [A-Z]\w*[(:]|"
    r"ended before its plan"
)
#: A part of the usual extent, which is for an hour: outputs a side, and pairs that are replayed.
SAMPLES, REPLAYS = 20_000, 60


@dataclass(frozen=True)
class Tried:
    """The outcome for one plant."""

    number: int
    outcome: str
    killed_by: str
    said: str
    seconds: float

    @property
    def is_killed(self) -> bool:
        """Whether a check of privacy failed."""
        return self.outcome == KILLED


def extent_of(samples: int, replays: int) -> Extent:
    """Return the extent of an audit for one plant, with the other figures in proportion."""
    return Extent(
        samples=samples, replays=replays, compositions=200, pairs=20 * replays, draws=samples, minutes=5.0, processes=1
    )


def try_plant(plant: Plant, extent: Extent) -> Tried:
    """Switch a plant on in this process and run contract and audit; nothing is undone for caches."""
    start = perf_counter()

    def told(outcome: str, killed_by: str = "", said: str = "") -> Tried:
        return Tried(plant.number, outcome, killed_by, " ".join(said.split())[:400], perf_counter() - start)

    with plant.patch():
        if not plant.witness():
            return told(NOT_LIVE_ANY_MORE)
        crash = ""
        looks = (("contract", _by_contract), ("audit", partial(_by_audit, extent=extent)))
        for where, look in looks:
            try:
                said = look(plant)
            except Exception as failure:  # a crash is no kill: the next look may still find it
                crash = crash or f"{where}: {type(failure).__name__}: {failure}"
                continue
            if said:
                return told(KILLED, where, said)
    return told(CRASHED if crash else SURVIVED, said=crash)


def _by_contract(plant: Plant) -> str:
    for name in plant.mechanisms:
        try:
            check_mechanism(name)
        except ContractViolation as violation:
            if _is_of_privacy(str(violation)):
                return str(violation)
            said = _later_checks(name)
            if said:
                return said
    return ""


def _later_checks(name: str) -> str:
    """Return the first violation of privacy among all checks, where the first of any kind is one of form."""
    for title, check in checks(name):
        try:
            check()
        except ContractViolation as violation:
            if _is_of_privacy(f"{title}: {violation}"):
                return f"{title}: {violation}"
    return ""


def _is_of_privacy(said: str) -> bool:
    return not any(form in said for form in _OF_FORM) and not _NO_REFUTATION.search(said)


def _by_audit(plant: Plant, extent: Extent) -> str:
    # The shortest part comes first.
    found = next(iter(audit_ledger(_LEDGER_ROUNDS)), "") if plant.family in _WITH_LEDGER else ""
    if found:
        return found
    for look in (_by_budgets, _by_design, _by_random_pairs, partial(_by_whole_audit, extent=extent)):
        found = next((said for said in look(plant) if not _NO_REFUTATION.search(said)), "")
        if found:
            return found
    return ""


def _by_budgets(plant: Plant) -> Iterator[str]:
    """Yield what budgets that are watched from outside show, of the families that have any."""
    if plant.family in _WITH_BUDGETS:
        yield from audit_budgets().complaints


def _by_design(plant: Plant) -> Iterator[str]:
    """Yield what the covering design of each mechanism shows, and a pair of ten thousand rows."""
    for name in plant.mechanisms:
        yield from run_design(name, seconds=_SECONDS_OF_DESIGN).complaints
        try:
            check_thousands(name)
        except ContractViolation as violation:
            yield str(violation)


def _by_random_pairs(plant: Plant) -> Iterator[str]:
    """Yield what random neighbours of each mechanism show, and of the estimators that fit it."""
    known = random_subjects()
    for name in plant.mechanisms:
        if name in known:
            yield from try_random_pairs(name, _RANDOM_PAIRS, seconds=_SECONDS_OF_PAIRS).complaints


def _by_whole_audit(plant: Plant, extent: Extent) -> Iterator[str]:
    for name in (*(part for part in _PARTS_OF.get(plant.family, ()) if part in PARTS), *plant.mechanisms):
        yield from run_all([name], extent).complaints


def try_plants(
    plants: Sequence[Plant],
    *,
    processes: int = 2,
    seconds: float = SECONDS,
    minutes: float | None = None,
    samples: int = SAMPLES,
    replays: int = REPLAYS,
    progress: Callable[[Tried], None] = lambda tried: None,
) -> list[Tried]:
    """Try plants, each in a process of its own, and return the outcomes in their order.

    Args:
        plants: the planted bugs.
        processes: how many work at the same time.
        seconds: for one plant.
        minutes: after which no further plant is begun; those left are out of time.
        samples: outputs a side in the audit.
        replays: hostile pairs replayed in the audit.
        progress: called with each outcome as it comes.

    """
    limit = None if minutes is None else perf_counter() + 60 * minutes

    def one(plant: Plant) -> Tried:
        if limit is not None and perf_counter() > limit:
            return Tried(plant.number, LATE, "", "not begun", 0.0)
        return _apart(plant, seconds, samples, replays)

    found = {}
    with ThreadPoolExecutor(processes) as pool:
        for future in as_completed([pool.submit(one, plant) for plant in plants]):
            tried = future.result()
            found[tried.number] = tried
            progress(tried)
    return [found[plant.number] for plant in plants]


def _apart(plant: Plant, seconds: float, samples: int, replays: int) -> Tried:
    """Try one plant in a new process, which is ended when its time is over."""
    start = perf_counter()
    command = [sys.executable, "-m", "tools.mutants.plants.trial", *map(str, (plant.number, samples, replays))]
    quiet = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    root = Path(__file__).resolve().parents[3]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, cwd=root, env=os.environ | quiet, check=False
        )
        return Tried(**json.loads(done.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        return Tried(plant.number, LATE, "", f"after {seconds:.0f} seconds", perf_counter() - start)
    except (ValueError, IndexError, TypeError):
        return Tried(plant.number, CRASHED, "", done.stderr.strip()[-400:], perf_counter() - start)


def rate_line(name: str, tried: Sequence[Tried]) -> str:
    """Return a kill rate with its 95 % interval of Clopper and Pearson, as a line."""
    killed, all_of_them = sum(one.is_killed for one in tried), len(tried)
    low, high = lower_limit(killed, all_of_them, 0.025), upper_limit(killed, all_of_them, 0.025)
    share = killed / all_of_them
    return f"{name:42} {killed:3} of {all_of_them:3} killed, {share:4.0%} (95 % interval {low:.0%} to {high:.0%})"


def report(tried: Sequence[Tried]) -> tuple[list[str], int]:
    """Return the lines of a report, and the exit status: 1 where fewer than the goal die."""
    live = [one for one in tried if one.outcome != NOT_LIVE_ANY_MORE]
    families = {name: [one for one in live if PLANTS[one.number].family == name] for name in FAMILIES}
    lines = [rate_line(name, those) for name, those in families.items() if those]
    if live:
        lines.append(rate_line("all live plants", live))
    by = {where: sum(one.killed_by == where for one in live) for where in ("contract", "audit")}
    lines.append(f"killed by the contract: {by['contract']}; by the audit alone: {by['audit']}")
    lines += [
        f"{one.outcome}: {one.number}. {PLANTS[one.number].name} ({PLANTS[one.number].breaks})"
        + (f"; {one.said}" if one.said else "")
        for one in live
        if not one.is_killed
    ]
    lines += [f"not live, not counted: {number}. {PLANTS[number].name}" for number in sorted(NOT_LIVE)]
    lines += [
        f"not live, not counted: {one.number}. {PLANTS[one.number].name}"
        for one in tried
        if one.outcome == NOT_LIVE_ANY_MORE and one.number not in NOT_LIVE
    ]
    killed = sum(one.is_killed for one in live)
    return lines, int(killed < GOAL * len(live))


def main(arguments: list[str]) -> int:
    """Try one plant in this process, and print the outcome as JSON."""
    number, samples, replays = map(int, arguments)
    print(json.dumps(asdict(try_plant(PLANTS[number], extent_of(samples, replays)))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
