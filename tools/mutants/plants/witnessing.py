"""What witnesses are made of: runs that draw nothing, noise that is written down, and laws computed by hand.

None of this is shared with the checks: it is slow, obvious and independent of them.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dither.mechanisms import Composed, Primitive
from dither.noise import Noise


class Steady:
    """Words from a hash of a public text: the same on every run."""

    word_bits = 16

    def __init__(self, text: str = "") -> None:
        self._text, self._place = text, 0

    def words(self, count: int) -> Any:
        """Return the next words."""
        blocks = -(-count // 16)
        found = b"".join(
            hashlib.sha256(f"{self._text}:{self._place + block}".encode()).digest() for block in range(blocks)
        )
        self._place += blocks
        return np.frombuffer(found, dtype=np.uint16)[:count].copy()


class Written(Noise):
    """Noise that writes down which law was asked for, with which numbers."""

    def __init__(self, text: str = "") -> None:
        super().__init__(Steady(text))
        self.asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name == "asked" or not callable(found):
            return found

        def written(*given: Any, **named: Any) -> Any:
            self.asked.append((name, given, named))
            return found(*given, **named)

        return written


class Sheet:
    """Stands in for a runner: writes down what each draw is handed, and answers as the first run did.

    Args:
        answers: of an earlier run, in order; fresh ones are drawn from steady noise where there are none.

    """

    def __init__(self, answers: list[Any] | None = None, *, factor: Fraction = Fraction(1), top: Sheet | None = None):
        self._top = self if top is None else top
        self._factor = factor
        if top is None:
            self.handed: list[tuple[Any, Any, Fraction]] = []
            self.answers: list[Any] = []
            self.samples: list[Any] = []
            self._frozen = iter(answers or ())

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        """Write down one draw."""
        far = self._factor * Fraction(stability)
        self._top.handed.append((part, copy.deepcopy(value), far))
        if isinstance(part, Composed):
            return part.release(value, Sheet(factor=far, top=self._top))  # type: ignore[arg-type]
        return self._answer(lambda: part.draw(value, Noise(Steady(str(len(self._top.answers))))))

    def _answer(self, draw: Callable[[], Any]) -> Any:
        found = next(self._top._frozen, None)
        if found is None:
            found = draw()
        self._top.answers.append(found)
        return copy.deepcopy(found)

    def open(self, part: Any, *, stability: Any = 1) -> Any:
        """Return a conversation whose every value is written down."""
        return _Talk(self, part, self._factor * Fraction(stability))

    def converse(self, part: Any, data: Any, *, stability: Any = 1) -> Any:
        """Open an interactive mechanism."""
        return part.open(data, Sheet(factor=self._factor * Fraction(stability), top=self._top))

    def parallel(self, siblings: int) -> list[Sheet]:
        """Return a sheet for each sibling."""
        return [Sheet(factor=self._factor, top=self._top) for _ in range(siblings)]

    def sampled(self, data: Any, rate: Any) -> tuple[Any, Sheet]:
        """Return the rows of a sample that leaves out a different row each time."""
        number = len(self._top.samples)
        kept = np.arange(len(data)) != number % max(len(data), 1)
        rows = (
            data[kept] if isinstance(data, np.ndarray) else [row for row, keep in zip(data, kept, strict=True) if keep]
        )
        self._top.samples.append(rows)
        return rows, Sheet(factor=self._factor, top=self._top)

    def sampled_exactly(self, data: Any, kept: int, of: int) -> tuple[Any, Sheet]:
        """Return the first rows."""
        return data[:kept], Sheet(factor=self._factor, top=self._top)

    def within(self) -> Sheet:
        """Return this sheet."""
        return self

    def best(self, part: Any, data: Any, repeats: Any) -> Any:
        """Run once."""
        return part.release(data, Sheet(factor=self._factor, top=self._top))[1]


class _Talk:
    def __init__(self, sheet: Sheet, part: Any, far: Fraction) -> None:
        self._sheet, self.part, self._far = sheet, part, far
        self._noise = Noise(Steady(part.name))
        self._state = part.begin(self._noise)
        self.is_over, self._values = False, list[Any]()
        sheet._top.handed.append((part, self._values, far))

    def ask(self, value: Any, *, call: int | None = None) -> Any:
        self._values.append(copy.deepcopy(value))

        def draw() -> Any:
            return self.part.reply(self._state, value, self._noise)

        answer, self.is_over = self._sheet._answer(draw)
        return answer


def oversteps(mechanism: Any, here: Any, there: Any, apart: int = 1) -> str:
    """Say which draw moves farther than stated between two inputs, with all answers alike; or nothing.

    Args:
        mechanism: a composed mechanism.
        here: data.
        there: data that many units away.
        apart: how many units.

    """
    first = Sheet()
    mechanism.release(copy.deepcopy(here), first)
    second = Sheet(first.answers)
    mechanism.release(copy.deepcopy(there), second)
    if len(first.handed) != len(second.handed):
        return f"{len(first.handed)} draws here and {len(second.handed)} there"
    for (part, value, far), (other, moved, stated) in zip(first.handed, second.handed, strict=True):
        if part != other or far != stated:
            return f"{part!r:.80} here and {other!r:.80} there"
        found = distance(part, value, moved)
        slack = part.slack if isinstance(part, Primitive) else 0
        if found is not None and found > apart * far + slack:
            return f"what {part.name} is given moves by {float(found):.6g}, and {float(apart * far):.6g} is stated"
    return ""


def distance(part: Any, here: Any, there: Any) -> Fraction | None:
    """Return how far two values are apart, in the distance that a part declares, computed here for plain norms."""
    kind = getattr(part.distance, "name", str(part.distance))
    if kind not in ("L1", "L2", "LARGEST", "ONE_WAY"):
        return part.distance.measure(here, there)  # type: ignore[no-any-return]
    moves = [_exact(b) - _exact(a) for a, b in zip(_flat(here), _flat(there), strict=True)]
    if kind == "L1":
        return sum(map(abs, moves), Fraction(0))
    if kind == "L2":
        squared = sum((move * move for move in moves), Fraction(0))
        # A root, rounded down by less than 2^-40: enough to tell a claim from its half.
        return Fraction(math.isqrt(int(squared * 2**80)), 2**40)
    if kind == "ONE_WAY" and moves and min(moves) < 0 < max(moves):
        return max(map(abs, moves)) * 2
    return max(map(abs, moves), default=Fraction(0))


def _exact(number: Any) -> Fraction:
    return Fraction(number.item() if isinstance(number, np.generic) else number)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) > 0:
        for entry in value:
            yield from _flat(entry)
    else:
        yield value


def discrete_laplace(scale: float, x: int) -> float:
    """Return the probability of an integer under noise proportional to e^(-|x| / scale)."""
    decay = math.exp(-1 / scale)
    return (1 - decay) / (1 + decay) * decay ** abs(x)


def laplace_tail(scale: float, least: int) -> float:
    """Return P[X >= least] of the discrete Laplace law."""
    return math.fsum(discrete_laplace(scale, x) for x in range(least, max(least, 0) + math.ceil(60 * scale)))


def exceeds(epsilon: float, price: Any, what: str) -> str:
    """Say that an epsilon that was found is above the one that is charged, or nothing."""
    charged = float(price)
    return f"{what}: epsilon {epsilon:.6g} is lost, and {charged:.6g} is charged" if epsilon > charged + 1e-9 else ""


def normal_cdf(x: float) -> float:
    """Return P[Z <= x] for a standard normal Z."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta of Gaussian noise at an epsilon, where values are mu standard deviations apart."""
    return normal_cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)
