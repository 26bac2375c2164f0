"""Histogram methods side by side: the protocol of DPBench (Hay et al. 2016, sections 5 and 6), resumable and parallel.

A *trial* is one method on one data set brought to a scale (rows, drawn afresh from its shape) and a domain (cells,
neighbours merged), at one epsilon, run several times. Its *scaled error per query* is the L2 norm of the error of all
prefix queries over the scale and the number of queries. Every finished trial is one line of a file, so that a run that
was stopped goes on where it was. Shapes come from the folder in ``DITHER_DATA`` where that is set, else they are made
up.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import multiprocessing
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.mechanisms import perform
from dither.privacy import PureDP
from dither.publish.choose import Choice, choose, public_shapes
from dither.publish.methods import METHODS, build_method, without_negatives

_FULL: Final = 4096
_MADE_UP: Final = ("flat", "smooth", "skewed", "clustered", "sparse", "stepped")
AUTO, LOOKING = "auto", "auto-looking"


@dataclass(frozen=True)
class Trial:
    """One method on one data set at one scale, domain and epsilon, and how often it is run."""

    shape: str
    scale: int
    cells: int
    epsilon: str
    method: str
    repeats: int

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Outcome:
    """The mean scaled error per query of a trial, and the standard error of that mean."""

    trial: Trial
    error: float
    standard_error: float

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps({**asdict(self.trial), "error": self.error, "standard_error": self.standard_error})

    @staticmethod
    def from_json(line: str) -> Outcome:
        """Return what ``to_json`` wrote."""
        record = json.loads(line)
        figures = record.pop("error"), record.pop("standard_error")
        return Outcome(Trial(**record), *figures)


def shapes(cells: int = _FULL) -> dict[str, NDArray[np.float64]]:
    """Return the distributions to be tried, over so many cells."""
    return _shapes(os.environ.get("DITHER_DATA"), cells)


@lru_cache(maxsize=16)
def _shapes(folder: str | None, cells: int) -> dict[str, NDArray[np.float64]]:
    if not folder:
        return dict(zip(_MADE_UP, public_shapes((cells,)), strict=True))
    path = Path(folder) / "histograms" / "dpbench_1d.csv.gz"
    if not path.is_file():
        raise InvalidParameter("DITHER_DATA", folder, "a folder with histograms/dpbench_1d.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        names = stream.readline().strip().split(",")
        table = np.loadtxt(stream, delimiter=",", ndmin=2)
    if table.shape[0] % cells:
        raise InvalidParameter("domains", cells, f"a divisor of {table.shape[0]}")
    merged = table.reshape(cells, -1, table.shape[1]).sum(axis=1)
    return {name: merged[:, place] / merged[:, place].sum() for place, name in enumerate(names)}


def trials(
    scales: Sequence[int],
    domains: Sequence[int],
    epsilons: Sequence[str],
    *,
    methods: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    repeats: int = 5,
) -> Iterator[Trial]:
    """Yield every trial of a grid, cheap ones first."""
    fitting = [name for name, method in METHODS.items() if method.fits((2,)) and name not in ("hdmm", "privelet")]
    chosen = [*fitting, AUTO, LOOKING] if methods is None else list(methods)
    for name in chosen:
        if name not in METHODS and name not in (AUTO, LOOKING):
            raise InvalidParameter("methods", name, f"one of {', '.join([*METHODS, AUTO, LOOKING])}")
    known = shapes()
    if unknown := [name for name in names or () if name not in known]:
        raise InvalidParameter("shapes", unknown, f"among {', '.join(known)}")
    for cells in sorted(domains):
        for scale in sorted(scales):
            for epsilon in epsilons:
                for shape in names or known:
                    for name in chosen:
                        if name not in METHODS or METHODS[name].fits((cells,)):
                            yield Trial(shape, scale, cells, epsilon, name, repeats)


def run_trial(trial: Trial) -> Outcome:
    """Return the error of a trial.

    The rows are drawn by a generator that the trial's data decides: all methods get the same counts, and so does a run
    that is resumed.
    """
    share = shapes(trial.cells)[trial.shape]
    errors = []
    run = _runner(trial)
    for repeat in range(trial.repeats):
        data = f"{trial.shape} {trial.scale} {trial.cells} {repeat}"
        seed = int.from_bytes(hashlib.sha256(data.encode()).digest()[:8], "big")
        counts = np.random.default_rng(seed).multinomial(trial.scale, share)
        off = np.cumsum(run(counts) - counts)
        errors.append(float(np.linalg.norm(off)) / (trial.scale * trial.cells))
    spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
    return Outcome(trial, float(np.mean(errors)), spread / len(errors) ** 0.5)


def _runner(trial: Trial) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    loss, shape = PureDP(trial.epsilon), (trial.cells,)
    if trial.method in METHODS:
        plain = build_method(trial.method, loss, shape)
        return lambda counts: np.asarray(perform(plain, counts))
    # What a session does with "auto", and with "auto" where methods that look at the counts are allowed.
    chosen = _chosen(trial.cells, trial.epsilon, trial.scale if trial.method == LOOKING else None).build()
    return lambda counts: without_negatives(np.asarray(perform(chosen, counts)), is_ordered=True)


@lru_cache(maxsize=256)
def _chosen(cells: int, epsilon: str, rows: int | None) -> Choice:
    return choose("ranges", cells, loss=PureDP(epsilon), data_dependent=rows is not None, rows=rows)


def compare(
    wanted: Sequence[Trial], record: Path, *, processes: int = 1, progress: Callable[[int, int], None] | None = None
) -> list[Outcome]:
    """Run what the record does not have yet, line by line, and return all outcomes that were asked for.

    Args:
        wanted: the trials.
        record: a file of one JSON line for each finished trial; made if it is not there.
        processes: how many trials at a time.
        progress: told how many of how many are done.

    """
    keys = {trial.key for trial in wanted}
    done = {outcome.trial.key: outcome for outcome in _read(record)}
    left = [trial for trial in wanted if trial.key not in done]
    with record.open("a", encoding="utf-8") as stream:
        for outcome in _outcomes(left, processes):
            stream.write(outcome.to_json() + "\n")
            stream.flush()
            done[outcome.trial.key] = outcome
            if progress is not None:
                progress(len(keys & done.keys()), len(keys))
    return [done[trial.key] for trial in wanted]


def _outcomes(left: Sequence[Trial], processes: int) -> Iterator[Outcome]:
    if processes == 1:
        yield from map(run_trial, left)
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for finished in as_completed([pool.submit(run_trial, trial) for trial in left]):
            yield finished.result()


def _read(record: Path) -> list[Outcome]:
    if not record.exists():
        return []
    found = []
    for line in record.read_text(encoding="utf-8").splitlines():
        try:
            found.append(Outcome.from_json(line))
        except (ValueError, KeyError, TypeError):
            continue  # a line that was cut off when a run was stopped: its trial is run again
    return found


@dataclass(frozen=True)
class Standing:
    """A method beside the best single method in hindsight, over all settings: error ratios."""

    method: str
    median_ratio: float
    worst_ratio: float
    to_identity: float
    wins: int
    settings: int


def standings(outcomes: Sequence[Outcome]) -> list[Standing]:
    """Return every method's ratios to the best plain method of each setting, best median first."""
    settings: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for outcome in outcomes:
        trial = outcome.trial
        settings[trial.shape, trial.scale, trial.cells, trial.epsilon][trial.method] = outcome.error
    ratios: dict[str, list[float]] = defaultdict(list)
    beside: dict[str, list[float]] = defaultdict(list)
    wins: dict[str, int] = defaultdict(int)
    for errors in settings.values():
        plain = {name: error for name, error in errors.items() if name in METHODS}
        best = min(plain or errors, key=errors.__getitem__)
        wins[best] += 1
        for name, error in errors.items():
            ratios[name].append(error / errors[best])
            if "identity" in errors:
                beside[name].append(error / errors["identity"])
    found = [
        Standing(name, median(each), max(each), max(beside[name], default=float("nan")), wins[name], len(each))
        for name, each in ratios.items()
    ]
    return sorted(found, key=lambda standing: standing.median_ratio)
