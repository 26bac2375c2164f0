"""Replay on a thousand hostile pairs: a test that a composed mechanism reads data through draws alone.

Each pair is two runs with the outputs of all draws frozen: a different path, a value that moved farther than declared,
too many parts touched, another output, anything seen beside it is a leak, shown with the line of code that asked for
the draw. Among the pairs are large ones and ones two and three units apart; every third pair is frozen with outputs
that no honest draw reaches. No statistics: what is found is there. What is not found on the pairs tried may still be
there on others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from time import process_time
from typing import Any

from dither.audit.neighbours import Pair, neighbours
from dither.errors import InvalidValue
from dither.exact import positive, whole
from dither.mechanisms import Composed, Example, Interactive
from dither.noise import system_noise
from dither.testing.replay import Violation, replay, run_watched
from dither.testing.sizes import far_pairs, large_pairs
from dither.testing.wild import WildRunner, canned

_MOST_FOUND = 3
_LONGEST_TEXT = 240


@dataclass(frozen=True)
class Leak:
    """Two neighbours that were told apart, how, and where in the code."""

    violation: Violation
    value: str
    neighbour: str

    def __str__(self) -> str:
        return f"{self.violation} on {self.value} and {self.neighbour}"


@dataclass(frozen=True)
class GreyBox:
    """The number of pairs replayed and the findings; ``is_whole`` unless the time ran out before all were done."""

    pairs: int
    leaks: tuple[Leak, ...]
    is_whole: bool
    seconds: float

    @property
    def is_clean(self) -> bool:
        """Whether no pair was told apart."""
        return not self.leaks

    def __str__(self) -> str:
        told = "; ".join(map(str, self.leaks)) or "0 differences"
        return f"{self.pairs:,} pairs replayed in {self.seconds:.1f} seconds: {told}"


def grey_box(
    example: Example,
    *,
    pairs: int = 1000,
    seconds: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> GreyBox:
    """Return what replaying hostile pairs of neighbours shows; a few leaks are enough to stop.

    Args:
        example: a composed or interactive mechanism, and data for it.
        pairs: the number of pairs to replay.
        seconds: of this process's time after which no further pair is begun.
        progress: called with the number of pairs done.

    >>> from dither.mechanisms import find
    >>> example = next(iter(find("poisson-sample").examples()))
    >>> grey_box(example, pairs=20).is_clean
    True

    """
    count, start = whole("pairs", pairs, least=1), process_time()
    mechanism, leaks, done = example.mechanism, list[Leak](), 0
    if not isinstance(mechanism, Composed | Interactive):
        # A primitive makes one draw of one value: there is nothing to replay.
        return GreyBox(0, (), True, 0.0)
    for number, pair in enumerate(islice(_pairs(example), count)):
        if seconds is not None and process_time() - start > seconds and done:
            break
        leaks += _told_apart(mechanism, pair, number)
        done += 1
        if progress is not None:
            progress(done)
        if len(leaks) >= _MOST_FOUND:
            break
    is_whole = done == count or bool(leaks)
    return GreyBox(done, tuple(leaks[:_MOST_FOUND]), is_whole, process_time() - start)


def _pairs(example: Example) -> Iterator[Pair]:
    """Return pairs that are far apart or large, where there are any, and then endless neighbours."""
    mechanism: Any = example.mechanism
    for pair in (*far_pairs(example), *large_pairs(example)):
        # Where the number of rows is public, other numbers are refused for both alike.
        if not isinstance(run_watched(mechanism, pair[0], canned(mechanism.plan())).failure, InvalidValue):
            yield pair
    yield from neighbours(example)


def _told_apart(mechanism: Composed[Any, Any] | Interactive[Any, Any], pair: Pair, number: int) -> list[Leak]:
    """Replay a pair; every third one with outputs that no honest draw reaches."""
    value, neighbour, apart = pair
    is_wild, turn = number % 3 == 2, number // 3
    runner = WildRunner(mechanism.plan(), system_noise(), turn=turn, d_in=positive("d_in", apart)) if is_wild else None
    found = replay(mechanism, value, neighbour, d_in=apart, runner=runner)
    return [Leak(violation, shown(value), shown(neighbour)) for violation in found]


def shown(data: Any) -> str:
    """Return data as a short text; audited data is made up, so this reveals nothing private."""
    frames = getattr(data, "frames", None)
    text = repr(data.tolist() if hasattr(data, "tolist") else data if frames is None else dict(frames))
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
