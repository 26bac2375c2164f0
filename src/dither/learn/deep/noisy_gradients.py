"""Noisy sums of gradients, one after another: what every private training of a network by a caller's code is made of.

For any model and any loss: whoever trains says how the gradient of one example is computed, and gets a noisy sum over
a secret sample of the examples. Cost: what the gradients cost, one call an example, and one draw for each entry and
step. Corrections: in print a batch of floats is summed; there what an example adds depends on the examples beside it.
Here each gradient is computed alone and becomes integers before anything is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import HandleMisuse, InvalidParameter, InvalidValue
from dither.exact import Number, Of, Positive, Probability, Whole, positive, round_up, whole
from dither.learn.deep.clipping import MOST_ENTRIES, ExactSum, Grid
from dither.learn.deep.noise_multiple import checked, noise_multiple, unsampled_multiple
from dither.learn.rows import Floats
from dither.mechanisms.core.accounted import Accounted
from dither.mechanisms.core.mechanism import Interactive, Numerics
from dither.mechanisms.core.purse import one_number
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Repeat, Sampled, Unit, Use
from dither.privacy.fields import RowUnit

#: Computes the gradient of one example, as an array with an entry for each parameter.
GradientOf = Callable[[Any], Any]
_MOST_STEPS: Final = 2**24
_LARGEST_CLIP: Final = 2**64
#: Of a large instance for checks.
_WIDE_ROWS, _WIDE_ENTRIES = 64, 512


def towards_zero(example: Any) -> Any:
    """Return the gradient of half the squared distance from 0: an example is its own gradient."""
    return example


def _towards_one(example: Any) -> Any:
    if example[0] > 3:
        raise ValueError("a model may fail on an example")
    return example - 1.0


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.2]])
    more = np.vstack([rows, [1e300, -4.0]])
    script = (towards_zero, _towards_one)
    pairs = tuple((Dialogue(rows, script), Dialogue(other, script), 1) for other in (rows[1:], more))
    public: dict[str, Any] = {"entries": 2, "clip": "3/2", "delta": "1/1000"}
    yield Example(
        NoisyGradients(**public, steps=2, rate="1/2", noise=DiscreteGaussian(sigma=2**37)),
        Dialogue(rows, script),
        pairs,
    )
    swapped = ((Dialogue(rows, script), Dialogue(np.vstack([rows[1:], [[0.9, 0.2]]]), script), 1),)
    replaced: dict[str, Any] = {"noise": DiscreteGaussian(sigma=2**36), "unit": ROW_REPLACED}
    yield Example(NoisyGradients(**public, steps=3, rate="1/4", **replaced), Dialogue(rows, script), swapped)


def _wide(sums: Any, talk: Any) -> tuple[Any, Any]:
    """Return sums of many entries over many examples."""
    rows = np.resize(talk.data, (_WIDE_ROWS, _WIDE_ENTRIES))
    return replace(sums, entries=_WIDE_ENTRIES), Dialogue(rows, talk.script)


@register(
    examples=_examples,
    source="Deep Learning with Differential Privacy (Abadi et al. 2016), algorithm 1; Differential Privacy and "
    "Applications (Zhu et al. 2017), chapter 7",
    made_for={"entries": 2, "steps": 2, "rate": "1/2"},
    takes="delta",
    tasks={"classifier": "For a PyTorch network, trained by a loop of your own."},
    wide=_wide,
)
@dataclass(frozen=True, kw_only=True)
class NoisyGradients(Interactive[Any, "GradientSteps"]):
    """Answer a fixed number of steps with the noisy sum of the gradients of a secret sample of the examples.

    Guarantee: data ``d_in`` rows apart loses over all steps epsilon at ``delta``, that of the loss distribution of
    ``steps`` Poisson-sampled draws. A row is an example.

    Args:
        entries: the number of entries of a gradient.
        clip: gradients longer than this are shortened to it.
        steps: the number of steps.
        rate: the probability that an example is in the sample of a step.
        noise: the noise of an entry, in steps of a public grid.
        delta: the delta at which epsilon is stated.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> sums = NoisyGradients.calibrated(ApproxDP(1, "1e-5"), entries=1000, steps=100, rate="1/50")
    >>> sums.loss(1) <= ApproxDP(1, "1e-5"), round(sums.deviation, 2)
    (True, 1.16)

    """

    name: ClassVar[str] = "noisy-gradients"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "how much of the gradients is clipped depends on the examples"
    no_interval_because: ClassVar[str] = "how much of the gradients is clipped depends on the examples"

    entries: Whole = Whole(least=1, most=MOST_ENTRIES)
    clip: Positive = Positive()
    steps: Whole = Whole(least=1, most=_MOST_STEPS)
    rate: Positive = Positive()
    noise: Of[DiscreteGaussian] = Of(DiscreteGaussian, **one_number(DiscreteGaussian))
    delta: Probability = Probability()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if not self.rate <= 1:
            raise InvalidParameter("rate", str(self.rate), "a number in (0, 1]")
        if not Fraction(1, _LARGEST_CLIP) <= self.clip <= _LARGEST_CLIP:
            raise InvalidParameter("clip", str(self.clip), "between 2^-64 and 2^64")
        self.plan().check(self.unit)

    @classmethod
    def calibrated(
        cls, within: Loss, *, entries: int, steps: int, rate: Number, clip: Number = 1, unit: Unit = ROW
    ) -> Self:
        """Return the sums of least noise, up to a third of a percent, whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed: an epsilon at a delta.
            entries: the number of entries of a gradient.
            steps: the number of steps.
            rate: the probability that an example is in the sample of a step.
            clip: gradients longer than this are shortened to it.
            unit: ROW or ROW_REPLACED.

        """
        stated, chance = checked(within), positive("rate", rate, at_most=1)
        many, long = whole("steps", steps, least=1, most=_MOST_STEPS), whole("entries", entries, least=1)
        whom = RowUnit().convert("unit", unit)
        times = noise_multiple(stated.epsilon, stated.delta, chance, many, whom)
        moved = whom.touched * Grid(long).length
        found = cls(
            entries=long,
            clip=clip,
            steps=many,
            rate=chance,
            noise=DiscreteGaussian(sigma=round_up(times * moved, bits=64)),
            delta=stated.delta,
            unit=whom,
        )
        if found.loss(1) <= stated:
            return found
        # At an epsilon of 30 or more the grid is too coarse for the law of the loss; rho is known on any grid.
        times = unsampled_multiple(stated.epsilon, stated.delta, many)
        return replace(found, noise=DiscreteGaussian(sigma=round_up(times * moved, bits=64)))

    @property
    def distance(self) -> Unit:
        """The declared unit."""
        return self.unit

    @property
    def stability(self) -> int:
        """The largest change of a sum by one unit, in steps of the grid."""
        return self.unit.touched * Grid(self.entries).length

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of an entry, in units of the gradient."""
        return float(self.noise.sigma / Grid(self.entries).length * self.clip)

    def plan(self) -> Plan:
        """Return the draws of all steps, each on a sample."""
        part = replace(self.noise, shape=(self.entries,))
        return Accounted(Repeat(Sampled(Use(part, self.stability), self.rate), self.steps), self.unit, self.delta)

    def open(self, data: Any, run: Runner) -> GradientSteps:
        """Return the steps over these examples: an array with one element, or one row, for each example."""
        if not (isinstance(data, np.ndarray) and data.ndim >= 1):
            raise InvalidValue("data", data, "an array with one element, or one row, for each example")
        return GradientSteps(self, data, run)


class GradientSteps:
    """Noisy sums of gradients. Bound to thread and process by its runner."""

    def __init__(self, sums: NoisyGradients, examples: NDArray[Any], run: Runner) -> None:
        self._sums, self._examples, self._run = sums, examples, run
        self._part = replace(sums.noise, shape=(sums.entries,))
        self._taken = 0

    @property
    def left(self) -> int:
        """The number of steps left."""
        return self._sums.steps - self._taken

    @quietly
    def ask(self, gradient_of: GradientOf) -> Floats:
        """Return the noisy sum of the clipped gradients of a secret sample of the examples.

        Args:
            gradient_of: returns the gradient of one example. It sees one example a call, and may keep nothing of it.
                An example for which it raises an error, or returns anything but ``entries`` finite numbers, adds
                nothing, and is not reported: that would tell about the example.

        """
        if not callable(gradient_of):
            raise InvalidParameter("gradient_of", gradient_of, "a function of one example")
        if not self.left:
            raise HandleMisuse(f"all {self._sums.steps} steps are taken, as the price allows")
        self._taken += 1
        sample, inner = self._run.sampled(self._examples, self._sums.rate)
        clip, entries = float(self._sums.clip), self._sums.entries
        total = ExactSum(entries)
        block = np.zeros((Grid(entries).rows, entries))
        for start in range(0, len(sample), len(block)):
            count = 0
            for example in sample[start : start + len(block)]:
                block[count] = _gradient(gradient_of, example, entries)
                count += 1
            total.add(block[:count], clip)
        return total.in_units(inner(self._part, total.total(), stability=self._sums.stability), clip)


def _gradient(gradient_of: GradientOf, example: Any, entries: int) -> Any:
    """Return the gradient of one example, or 0 in place of an error."""
    try:
        found = gradient_of(example)
    except Exception:  # whether an example fails is private
        return 0.0
    # Anything else is not read: an object may have a length without end, or code of its own that runs where it is asked
    # for its class.
    if not issubclass(type(found), np.ndarray):
        return 0.0
    plain = np.ndarray.view(found, np.ndarray)
    return plain if plain.shape == (entries,) and plain.dtype.kind in "biuf" else 0.0
