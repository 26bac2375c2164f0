"""Methods side by side: the protocol of DPBench (Hay et al. 2016, sections 5 and 6), resumable and parallel.

A *trial* is one method on one set of queries and one data set, brought to a scale (rows) and a domain (cells), at one
loss, run several times; an *outcome* is its error. Every finished trial is one line of a file, so that a run that was
stopped goes on where it was. What is tried and how errors are measured is said by the modules of ``compared``, one for
histograms, one for grids, one for workloads and one for marginals.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from math import inf, nan
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dither.errors import InvalidParameter
from dither.privacy import ApproxDP, Loss, PureDP


@dataclass(frozen=True)
class Trial:
    """One method in one setting, and the number of its runs.

    Args:
        shape: the name of the data, whose distribution the rows are drawn from.
        scale: the number of rows.
        cells: the size of the domain: how many cells, or how many attributes where tables are concerned.
        epsilon: the loss.
        method: the name of the method.
        repeats: how often.
        asked: the name of the queries whose error is measured.
        delta: the probability that the epsilon bound may be exceeded; 0 for a pure loss.

    """

    shape: str
    scale: int
    cells: int
    epsilon: str
    method: str
    repeats: int
    asked: str = "prefixes"
    delta: str = "0"

    @property
    def key(self) -> str:
        """The text that identifies the trial."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def setting(self) -> tuple[Any, ...]:
        """All but the method: the setting in which methods are compared."""
        return self.asked, self.shape, self.scale, self.cells, self.epsilon, self.delta

    @property
    def loss(self) -> Loss:
        """The loss of the method when one row is added or removed."""
        return PureDP(self.epsilon) if self.delta == "0" else ApproxDP(self.epsilon, self.delta)

    def generator(self, repeat: int) -> np.random.Generator:
        """Return the generator that draws the rows: decided by the data alone.

        All methods get the same counts, and so does a run that is resumed. It draws data, never noise.
        """
        data = f"{self.shape} {self.scale} {self.cells} {repeat}"
        return np.random.default_rng(int.from_bytes(hashlib.sha256(data.encode()).digest()[:8], "big"))


@dataclass(frozen=True)
class Outcome:
    """The mean error of a trial, and the standard error of that mean: 0 where the error is known exactly."""

    trial: Trial
    error: float
    standard_error: float

    @staticmethod
    def of(trial: Trial, errors: Sequence[float]) -> Outcome:
        """Return the mean of the errors of all runs."""
        spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
        return Outcome(trial, float(np.mean(errors)), spread / len(errors) ** 0.5)

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps({**asdict(self.trial), "error": self.error, "standard_error": self.standard_error})

    @staticmethod
    def from_json(line: str) -> Outcome:
        """Return the outcome that ``to_json`` wrote."""
        record = json.loads(line)
        figures = float(record.pop("error")), float(record.pop("standard_error"))
        return Outcome(Trial(**record), *figures)


@dataclass(frozen=True)
class Grid:
    """The range of a comparison: every combination is a setting.

    Args:
        scales: numbers of rows.
        domains: sizes of the domain.
        epsilons: losses.
        deltas: for each of which every epsilon is tried; "0" for pure losses.
        methods: names; all that fit where None.
        shapes: names of data; all where None.
        asked: names of sets of queries; all where None.
        repeats: the number of runs of each.

    """

    scales: Sequence[int]
    domains: Sequence[int]
    epsilons: Sequence[str]
    deltas: Sequence[str] = ("0",)
    methods: Sequence[str] | None = None
    shapes: Sequence[str] | None = None
    asked: Sequence[str] | None = None
    repeats: int = 5

    def trials(
        self,
        *,
        methods: Collection[str],
        shapes: Collection[str],
        asked: Collection[str],
        fits: Callable[[Trial], bool],
    ) -> list[Trial]:
        """Return all trials that fit, cheap ones first; an unknown name is refused."""
        chosen = named("methods", self.methods, methods)
        data, questions = named("shapes", self.shapes, shapes), named("asked", self.asked, asked)
        every = (
            Trial(shape, scale, cells, epsilon, method, self.repeats, question, delta)
            for cells in sorted(self.domains)
            for scale in sorted(self.scales)
            for question in questions
            for epsilon in self.epsilons
            for delta in self.deltas
            for shape in data
            for method in chosen
        )
        return [trial for trial in every if fits(trial)]


def named(parameter: str, wanted: Sequence[str] | None, known: Collection[str]) -> list[str]:
    """Return the wanted names, all known ones if None, or refuse an unknown one."""
    for name in wanted or ():
        if name not in known:
            raise InvalidParameter(parameter, name, f"one of {', '.join(known)}")
    return list(known if wanted is None else wanted)


def compare(
    wanted: Sequence[Trial],
    record: Path,
    *,
    run: Callable[[Trial], Outcome],
    processes: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Run the trials that the record lacks, line by line, and return all requested outcomes.

    Args:
        wanted: the trials.
        record: a file of one JSON line for each finished trial; made if it is not there.
        run: measures one trial; a function of a module, so that other processes find it.
        processes: the number of trials at a time.
        progress: told how many of how many are done.

    """
    keys = {trial.key for trial in wanted}
    done = {outcome.trial.key: outcome for outcome in _read(record)}
    left = [trial for trial in wanted if trial.key not in done]
    with record.open("a", encoding="utf-8") as stream:
        for outcome in _outcomes(left, run, processes):
            stream.write(outcome.to_json() + "\n")
            stream.flush()
            done[outcome.trial.key] = outcome
            if progress is not None:
                progress(len(keys & done.keys()), len(keys))
    return [done[trial.key] for trial in wanted]


def _outcomes(left: Sequence[Trial], run: Callable[[Trial], Outcome], processes: int) -> Iterator[Outcome]:
    if processes == 1:
        yield from map(run, left)
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for finished in as_completed([pool.submit(run, trial) for trial in left]):
            yield finished.result()


def _read(record: Path) -> list[Outcome]:
    if not record.exists():
        return []
    found = []
    for line in record.read_text(encoding="utf-8").splitlines():
        try:
            found.append(Outcome.from_json(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # a line that was cut off when a run was stopped: its trial is run again
    return found


@dataclass(frozen=True)
class Standing:
    """A method beside the best single method in hindsight, over all settings of one kind it was tried in.

    Args:
        asked: the queries.
        delta: of the loss; 0 for pure ones.
        method: its name.
        median_ratio: the median over settings of its error over that of the best.
        worst_ratio: the largest of these ratios.
        to_baseline: the largest ratio of its error to that of the baseline.
        wins: the number of settings in which it was the best.
        settings: the number of settings in which it was tried.

    """

    asked: str
    delta: str
    method: str
    median_ratio: float
    worst_ratio: float
    to_baseline: float
    wins: int
    settings: int


def standings(
    outcomes: Sequence[Outcome], *, baseline: str = "identity", choosers: Collection[str] = ()
) -> list[Standing]:
    """Return every method's ratios to the best plain method of each setting, kind by kind, best median first.

    Args:
        outcomes: of all trials.
        baseline: the method that all others are also compared with.
        choosers: methods that pick one of the others, and are not the best in hindsight themselves.

    """
    kinds: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        kinds[outcome.trial.asked, outcome.trial.delta].append(outcome)
    return [standing for kind, part in kinds.items() for standing in _of_kind(*kind, part, baseline, choosers)]


def _of_kind(
    asked: str, delta: str, outcomes: Sequence[Outcome], baseline: str, choosers: Collection[str]
) -> list[Standing]:
    settings: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for outcome in outcomes:
        settings[outcome.trial.setting][outcome.trial.method] = outcome.error
    ratios: dict[str, list[float]] = defaultdict(list)
    beside: dict[str, list[float]] = defaultdict(list)
    wins: dict[str, int] = defaultdict(int)
    for errors in settings.values():
        best = min([name for name in errors if name not in choosers] or errors, key=errors.__getitem__)
        wins[best] += 1
        for name, error in errors.items():
            ratios[name].append(_ratio(error, errors[best]))
            if baseline in errors:
                beside[name].append(_ratio(error, errors[baseline]))
    found = [
        Standing(asked, delta, name, median(each), max(each), max(beside[name], default=nan), wins[name], len(each))
        for name, each in ratios.items()
    ]
    return sorted(found, key=lambda standing: standing.median_ratio)


def _ratio(error: float, other: float) -> float:
    if error == other:
        return 1.0
    return error / other if other else inf


@dataclass(frozen=True)
class Comparison:
    """A kind of comparison: its trials, and how one is measured.

    Args:
        name: as the command has it.
        title: for the page.
        about: what the figures are, in a sentence or two.
        trials: from a grid to all trials that fit.
        run: measures one trial; a function of a module, so that other processes find it.
        baseline: the method that all others are also compared with.
        choosers: methods that pick one of the others.

    """

    name: str
    title: str
    about: str
    trials: Callable[[Grid], list[Trial]]
    run: Callable[[Trial], Outcome]
    baseline: str
    choosers: tuple[str, ...] = ()
