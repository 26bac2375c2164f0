"""An audit of everything, in several processes, within a given time.

Tasks are independent of each other: every instance of every mechanism, blocks of random compositions for the
accountants, blocks of hostile neighbours for the sensitivities of queries, the SQL that is printed for each engine,
blocks of the covering designs of parameters, the self-test of the noise, the law of perturbed minima, random neighbours
of every class, budgets watched from outside, correlations of noise over time, the specimens and the mutants. A task
that raises, or whose process dies, is named, and the others go on. So is what could not be begun in time: an audit that
was cut short never looks like one that passed.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, sleep
from traceback import extract_tb
from typing import Any

from dither.audit import designs, goodness, owned
from dither.audit.accountants import Agreement, audit_accountants
from dither.audit.accounts import SECONDS_COMPOSED, Account, account
from dither.audit.blackbox import FEWEST_SAMPLES
from dither.audit.budgets import Budgets, audit_budgets
from dither.audit.correlations import Correlated, correlation_test
from dither.audit.engines import PRINTED, EngineAudit, audit_engine
from dither.audit.minima import minima_test
from dither.audit.queries import Found, brute_force
from dither.audit.random_pairs import RandomPairs, random_subjects, try_random_pairs
from dither.audit.small import audited, ranked
from dither.audit.subjects import subjects_of
from dither.audit.unshown import holes
from dither.mechanisms import Composed, Example, Interactive, Mechanism, registered
from dither.testing.checkout import root, tool

#: What is audited beside mechanisms; each can be named alone.
PARTS = (
    "accountants",
    "queries",
    "engines",
    "designs",
    "noise",
    "minima",
    "budgets",
    "correlations",
    "neighbours",
    "specimens",
    "mutants",
)
_SECONDS_BETWEEN_LOOKS = 5.0
_COMPOSITIONS_AT_A_TIME = 250
_PAIRS_AT_A_TIME = 2500
#: Of so many pairs for the sensitivities of queries one is compared on each engine; Spark takes seconds for a pair.
_PAIRS_FOR_AN_ENGINE = {"duckdb": 250, "postgresql": 250, "spark": 5000}
#: Seconds for one engine, after which no further pair is begun.
_SECONDS_AN_ENGINE = 150.0
#: Seconds of a core for a pair of any further instance of a composed mechanism.
_SECONDS_OTHERS = 0.5
#: The probability that a specimen is refuted whose claim is true; no alarm of the run, which would be the contrary.
_FALSE_REFUTATION = 1e-6
#: The share of the false alarm that goes to the self-test of the noise, to perturbed minima, and to correlations.
_NOISE_SHARE = 0.1
_BY_CHANCE = ("noise", "minima", "correlations")
#: Correlations are seen well at the false alarm of a test of the suite.
_LEAST_ALARM = 1e-9
#: Seconds of a core for the random neighbours of one class, and how many conversations are held for one draw of noise.
_SECONDS_RANDOM = 6.0
_TALKS_SHARE = 0.06
#: Mechanisms kept as literature get a fifth of the outputs, seconds and replays in an audit of everything.
_REFERENCE_PART = 5
#: How many weights of each perturbed minimum are drawn for one draw of each law of the noise.
_MINIMA_SHARE = 0.3


@dataclass(frozen=True)
class Extent:
    """The size of an audit.

    Args:
        samples: outcomes a side of each pair in full.
        replays: hostile pairs replayed for each composed mechanism.
        compositions: random compositions for the accountants.
        pairs: hostile neighbours for the sensitivities of queries.
        draws: of each law of the noise.
        random: random neighbours for each class and each estimator, where there is time.
        false_alarm: of the whole run.
        minutes: after which nothing further is begun.
        processes: that work at the same time.

    """

    samples: int = 1_000_000
    replays: int = 1000
    compositions: int = 10_000
    pairs: int = 100_000
    draws: int = 1_000_000
    random: int = 3000
    false_alarm: float = 1e-6
    minutes: float = 55.0
    processes: int = 2


@dataclass(frozen=True)
class Task:
    """A task that is tried by itself; ``size`` of it."""

    kind: str
    name: str
    number: int = 0
    size: int = 0
    replays: int = 0
    seconds: float | None = None
    false_alarm: float = 0.0

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


@dataclass(frozen=True)
class Raised:
    """The end of a task that raised: a sentence that names the task, the error and the line."""

    complaint: str


@dataclass
class Run:
    """The findings of a whole run."""

    accounts: list[Account] = field(default_factory=list)
    agreement: Agreement | None = None
    moved: dict[str, Found] = field(default_factory=dict)
    engines: list[EngineAudit] = field(default_factory=list)
    fits: dict[str, tuple[goodness.Fit, float]] = field(default_factory=dict)
    random: list[RandomPairs] = field(default_factory=list)
    correlated: list[Correlated] = field(default_factory=list)
    budgets: list[Budgets] = field(default_factory=list)
    specimens: list[dict[str, Any]] = field(default_factory=list)
    mutants: list[dict[str, Any]] = field(default_factory=list)
    designs: list[designs.DesignBlock] = field(default_factory=list)
    pairs: int = 0
    false_alarm: float = 0.0
    unfinished: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    seconds: float = 0.0
    is_in_full: bool = False

    @property
    def complaints(self) -> list[str]:
        """The complaints, as sentences."""
        found = [complaint for account in self.accounts for complaint in account.complaints]
        found += [] if self.agreement is None else self.agreement.complaints
        found += [f"{name} moved by more than its sensitivity" for name, one in self.moved.items() if one.is_exceeded]
        found += [complaint for one in self.engines for complaint in one.complaints]
        found += [
            f"the noise does not follow its law: {name}" for name, (fit, _) in self.fits.items() if fit.is_refuted
        ]
        found += [complaint for one in self.random for complaint in one.complaints]
        found += [complaint for one in self.budgets for complaint in one.complaints]
        found += [f"noise of one tick serves another: {one}" for one in self.correlated if one.is_refuted]
        found += [f"specimen {one['name']} withstood the auditor" for one in self.specimens if not one["is_refuted"]]
        found += [
            f"mutant {one['number']}, {one['name']}: {one['outcome']}"
            for one in self.mutants
            if one["outcome"] != "killed"
        ]
        found += designs.complaints_of(self.designs)
        # With fewer outputs than usual little is shown of anything.
        silent = holes(self.accounts) if self.is_in_full else []
        found += [f"{name}: its small instance shows too little, and no reason is known" for name in silent]
        return found + self.raised + [f"not tried for lack of time: {name}" for name in self.unfinished]

    @property
    def notes(self) -> list[str]:
        """The other parts that were tried beside mechanisms, as sentences."""
        said = [] if self.agreement is None else [str(self.agreement)]
        if self.moved:
            least = min(found.tightness for found in self.moved.values())
            said.append(
                f"queries: hostile neighbours, {len(self.moved)} kinds of numbers; the largest change was at least "
                f"{least:.2f} of the declared sensitivity, of each kind"
            )
        said += [str(one) for one in self.engines]
        for name, (fit, error) in self.fits.items():
            said.append(
                f"noise, {name}: distance {fit.distance:.2g} from its law, {fit.critical:.2g} allowed in {fit.draws:,} "
                f"draws; a scale {error:.1%} too small would be seen"
            )
        said += designs.notes_of(self.designs)
        said += [f"{name}: not tried, because they are in the source checkout alone" for name in self.absent]
        return said


def absent_parts() -> list[str]:
    """Return the parts that an installation lacks: mutants are only in a source checkout."""
    return ["mutants"] if root() is None else []


def tasks_of(names: Sequence[str], extent: Extent) -> list[Task]:
    """Return the tasks on these mechanisms and ``PARTS``, or on everything if there are none, or ``all`` among them."""
    is_all = not names or "all" in names
    parts = [name for name in PARTS if name in names or (is_all and name not in absent_parts())]
    if "mutants" in parts:
        # They may not be here, and that is said before an hour of work.
        tool("mutants")
    wanted = list(registered()) if is_all else [name for name in names if name not in PARTS]
    found = {name: _listed(name) if is_all else audited(name) for name in wanted}
    total = sum(map(len, found.values()))
    share = extent.false_alarm * (1 - _NOISE_SHARE) / max(total, 1)
    tasks = []
    literature = {name for name, entry in registered().items() if entry.is_reference} if is_all else set()
    for name, subjects in found.items():
        fewer = _REFERENCE_PART if name in literature else 1
        for number, one in enumerate(subjects):
            mechanism: Mechanism[object, object] | None = one.mechanism if isinstance(one, Example) else None
            # Of a composed mechanism the last instance is made to tell: it gets the time. All share the pairs.
            is_planned = isinstance(mechanism, Composed | Interactive)
            is_last = number == len(subjects) - 1
            seconds = (SECONDS_COMPOSED if is_last else _SECONDS_OTHERS) / fewer if is_planned else None
            replays = math.ceil(extent.replays / len(subjects) / fewer) if is_planned else 0
            samples = max(math.ceil(extent.samples / fewer), min(extent.samples, FEWEST_SAMPLES))
            tasks.append(Task("mechanism", name, number, samples, replays, seconds, share))
    blocks = {
        "accountants": (extent.compositions, _COMPOSITIONS_AT_A_TIME),
        "queries": (extent.pairs, _PAIRS_AT_A_TIME),
        "designs": (designs.BLOCKS, 1),
        "noise": (extent.draws, extent.draws),
        "minima": (math.ceil(_MINIMA_SHARE * extent.draws),) * 2,
        "budgets": (1, 1),
        "correlations": (math.ceil(_TALKS_SHARE * extent.draws),) * 2,
        "specimens": (1, 1),
        "mutants": (1, 1),
    }
    # These are short, and what they find matters most: they come first.
    first = []
    for part in parts:
        if part == "neighbours":
            for name in random_subjects():
                fewer = _REFERENCE_PART if name in literature else 1
                size = math.ceil(extent.random / fewer)
                first.append(Task(part, name, size=size, seconds=_SECONDS_RANDOM / fewer))
            continue
        if part == "engines":
            sizes = (max(1, extent.pairs // _PAIRS_FOR_AN_ENGINE[engine]) for engine in PRINTED)
            first += [Task(part, part, number, size) for number, size in enumerate(sizes)]
            continue
        many, block = blocks[part]
        shared = extent.false_alarm * _NOISE_SHARE / len(_BY_CHANCE) if part in _BY_CHANCE else 0.0
        shared = min(shared, _LEAST_ALARM) if part == "correlations" else shared
        first += [
            Task(part, part, number, min(block, many - number * block), false_alarm=shared)
            for number in range(math.ceil(many / block))
        ]
    return first + tasks


def _listed(name: str) -> list[Any]:
    """Return everything to audit under a name; one thing if that raises, so that its task raises and is named."""
    try:
        return list(audited(name))
    except Exception:
        return [None]


def run_all(
    names: Sequence[str],
    extent: Extent,
    progress: Callable[[int, int, str], None] = lambda done, total, name: None,
    complain: Callable[[str], None] = lambda complaint: None,
) -> Run:
    """Audit these mechanisms, or everything, and return the findings.

    Args:
        names: of mechanisms or ``PARTS``; everything if there are none.
        extent: the size of the audit.
        progress: called with the number of tasks done, the number of all, and the last one.
        complain: called with each complaint about an instance at once, lest it be lost with the run.

    """
    start, run = perf_counter(), Run(false_alarm=extent.false_alarm, is_in_full=extent.samples >= Extent.samples)
    tasks = tasks_of(names, extent)
    if not names or "all" in names:
        run.absent = absent_parts()
    for done, (task, result) in enumerate(_results(tasks, extent, start), 1):
        if result is None:
            run.unfinished.append(str(task))
        elif isinstance(result, Raised):
            run.raised.append(result.complaint)
            complain(result.complaint)
        elif isinstance(result, Account):
            run.accounts.append(result)
            for complaint in result.complaints:
                complain(complaint)
        elif isinstance(result, EngineAudit):
            run.engines.append(result)
            for complaint in result.complaints:
                complain(complaint)
        elif isinstance(result, Agreement):
            run.agreement = result if run.agreement is None else _joined(run.agreement, result)
        elif isinstance(result, RandomPairs | Budgets):
            (run.random if isinstance(result, RandomPairs) else run.budgets).append(result)  # type: ignore[arg-type]
            for complaint in result.complaints:
                complain(complaint)
        elif task.kind == "correlations":
            run.correlated = result
        elif isinstance(result, designs.DesignBlock):
            run.designs.append(result)
            run.false_alarm += result.examples * designs.FALSE_ALARM
        elif task.kind == "specimens":
            run.specimens = result
        elif task.kind == "mutants":
            run.mutants = result
        elif task.kind == "queries":
            run.pairs += task.size
            for name, one in result.items():
                known = run.moved.get(name)
                run.moved[name] = one if known is None or one.tightness > known.tightness else known
        else:
            run.fits |= result
        progress(done, len(tasks), str(task))
    order = {(task.name, task.number): place for place, task in enumerate(tasks)}
    run.accounts.sort(key=lambda one: order[one.name, one.number])
    run.seconds = perf_counter() - start
    return run


def tried(task: Task) -> object:
    """Do one task and return its findings; if it raises, what it raised and where."""
    try:
        return work(task)
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
        return Raised(f"{task} raised {type(error).__name__} ({place}): {error}")


def work(task: Task) -> object:
    """Do one task and return its findings."""
    if task.kind == "mechanism":
        one = audited(task.name)[task.number]
        if isinstance(one, Example) and task.number >= len(subjects_of(task.name)):
            one = ranked(one)
        return account(
            task.name,
            task.number,
            one,
            samples=task.size,
            false_alarm=task.false_alarm,
            replays=task.replays,
            seconds=task.seconds,
        )
    if task.kind == "accountants":
        return audit_accountants(task.size)
    if task.kind == "queries":
        every = brute_force(task.size) | owned.brute_force(max(1, task.size // 4))
        return {name: found for name, (found,) in every.items()}
    if task.kind == "neighbours":
        return try_random_pairs(task.name, task.size, seconds=task.seconds)
    if task.kind == "budgets":
        return audit_budgets()
    if task.kind == "correlations":
        return correlation_test(task.size, false_alarm=task.false_alarm)
    if task.kind == "engines":
        return audit_engine(PRINTED[task.number], task.size, seconds=_SECONDS_AN_ENGINE)
    if task.kind == "designs":
        return designs.block_of(task.number)
    if task.kind == "specimens":
        return _refuted()
    if task.kind == "mutants":
        return _tried()
    if task.kind == "minima":
        return minima_test(task.size, false_alarm=task.false_alarm)
    return goodness.self_test(task.size, false_alarm=task.false_alarm)


def _refuted() -> list[dict[str, Any]]:
    """Refute every specimen; only this, the command and the tests load them."""
    from dither.audit.specimens import SPECIMENS, refute

    found = [refute(one, false_alarm=_FALSE_REFUTATION / len(SPECIMENS)) for one in SPECIMENS.values()]
    return [one.to_dict() | {"bound": one.bound, "claimed": str(one.specimen.claim)} for one in found]


def _tried() -> list[dict[str, Any]]:
    """Plant every mutant, one after the other, in this process alone."""
    found = tool("mutants")
    return [trial.to_dict() for trial in found.try_mutants(found.MUTANTS.values())]


def _results(tasks: Sequence[Task], extent: Extent, start: float) -> Iterator[tuple[Task, Any]]:
    """Return each task and its result as they arrive; None for tasks that were not started in time."""
    limit = start + 60 * extent.minutes
    if extent.processes == 1 or len(tasks) == 1:
        for task in tasks:
            yield task, tried(task) if perf_counter() < limit else None
        return
    left = [*tasks][::-1]
    while left:
        # A process that dies takes the whole pool with it. The tasks that were at work are tried once more, one by one.
        suspects = yield from _in_a_pool(left, extent.processes, limit)
        for task in suspects:
            alone = [task]
            if (yield from _in_a_pool(alone, 1, math.inf)):
                yield task, Raised(f"{task} ended its process without an error, as one that is out of memory does")


def _in_a_pool(left: list[Task], processes: int, limit: float) -> Generator[tuple[Task, Any], None, list[Task]]:
    """Take tasks from the end of a list and return their results; at the end those at work when a process died."""
    running: dict[Future[object], Task] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _leave_with_parent, (os.getpid(),)) as pool:
        try:
            while left or running:
                while left and len(running) < processes:
                    if perf_counter() >= limit:
                        yield left.pop(), None
                    else:
                        running[pool.submit(tried, left[-1])] = left[-1]
                        left.pop()
                for finished in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                    result = finished.result()
                    yield running.pop(finished), result
        except BrokenProcessPool:
            return list(running.values())
    return []


def _leave_with_parent(parent: int) -> None:
    """End this process when its parent is gone: it would wait for tasks forever."""

    def look() -> None:
        while os.getppid() == parent:
            sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def _joined(one: Agreement, other: Agreement) -> Agreement:
    return replace(
        one,
        compositions=one.compositions + other.compositions,
        understated=one.understated + other.understated,
        over=max(one.over, other.over),
        disagreement=max(one.disagreement, other.disagreement),
        below_laws=tuple(dict.fromkeys((*one.below_laws, *other.below_laws))),
    )
