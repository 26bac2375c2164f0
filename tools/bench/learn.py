"""Private models beside scikit-learn and diffprivlib, one model a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dither.bench.learn import SPLITS, measure_learning
from dither.bench.learning_data import public_facts
from tools.rivals.learning import diffprivlib


def lines(rivals: Path | None = None, *, splits: int = SPLITS) -> Iterator[str]:
    """Yield the figures for people, one model a line."""
    yield from public_facts()
    yield (
        "data, model | delta | score at epsilon 0.1 / 1 / 10 | a tenth of the fits below | goal | without privacy | "
        "diffprivlib | fit, seconds | over scikit-learn"
    )
    rival = None if rivals is None else diffprivlib(rivals)
    for one in measure_learning(rival, splits=splits):
        goal = "" if one.goals is None else shown(one.goals)
        theirs = "absent" if one.rival is None else shown(one.rival)
        blind = "" if one.without_data is None else f" (a start without data {one.without_data:.3f})"
        ratio = f"{one.seconds / max(one.seconds_without, 1e-9):.1f}"
        yield (
            f"{one.task}, {one.model} | {one.delta} | {shown(one.ours)} | {shown(one.low)} | {goal} | "
            f"{one.without_privacy:.3f}{blind} | {theirs} | {one.seconds:.3f} | {ratio}"
        )


def shown(scores: Sequence[float]) -> str:
    """Return scores with three digits each."""
    return " / ".join(f"{score:.3f}" for score in scores)
