"""A perceptron, trained by noisy sums of the clipped gradients of secret samples: DP-SGD in integers.

For tables and small images with a few thousand examples or more, where a linear model is too simple. Cost: about twice
a plain pass of floats over each sample, and one draw for each weight and step. Corrections: in print and in other
libraries a batch of floats is clipped and summed, where what an example adds depends on the examples beside it. Here
the network itself is made of integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, Of, Positive, Probability, TupleOf, Whole, positive, round_up, whole
from dither.learn.declared import DeclaredClasses
from dither.learn.deep.integer_network import (
    MOST_CLIP,
    MOST_UNITS,
    contributions,
    entries_of,
    first_weights,
    inputs_of,
    layers_of,
    on_grid,
    stability_of,
    unit_of_gradients,
)
from dither.learn.deep.network_model import NetworkModel
from dither.learn.deep.noise_multiple import COUNT, checked, noise_multiple, unsampled_multiple
from dither.learn.rows import BoundField, Floats, labelled, records_of
from dither.mechanisms.core.accounted import Accounted
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Repeat, Sampled, Unit, Use
from dither.privacy.fields import RowUnit

_MOST_CLASSES: Final = 2**10
_MOST_LAYERS: Final = 8
_MOST_WEIGHTS: Final = 2**24
_MOST_STEPS: Final = 2**20
USUAL_STEPS: Final = 300
USUAL_RATE: Final = Fraction(1, 60)
_USUAL_STRIDE: Final = Fraction(1, 2)
_MOMENTUM: Final = 0.9
#: Weights stay below this.
_LARGEST_WEIGHT: Final = 8.0


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "delta": "1/1000"}
    noise: dict[str, Any] = {"count": Gaussian(sigma=16), "step": DiscreteGaussian(sigma=2**34)}
    yield Example(NetworkDescent(**box, classes=2, hidden=(3,), steps=2, rate="1/2", **noise), rows, others)
    replaced: dict[str, Any] = {"unit": ROW_REPLACED, "clip": 2, **noise}
    yield Example(NetworkDescent(**box, classes=3, hidden=(2, 2), steps=3, rate="1/4", **replaced), rows)


@register(
    examples=_examples,
    source="Deep Learning with Differential Privacy (Abadi et al. 2016), algorithm 1; Differential Privacy and "
    "Applications (Zhu et al. 2017), chapter 7",
    made_for={"lower": [-1, 0], "upper": [1, 8], "classes": 2, "hidden": (3,), "steps": 3},
    takes="delta",
    tasks={"classifier": "For a perceptron of a few layers, in exact arithmetic, where a linear model is not enough."},
)
@dataclass(frozen=True, kw_only=True)
class NetworkDescent(DeclaredClasses, Composed[Any, NetworkModel]):
    """Learn a perceptron in a fixed number of noisy gradient steps, each over a secret sample of the records.

    Guarantee: data ``d_in`` rows apart loses epsilon at ``delta``, that of the loss distribution of a count and of
    ``steps`` Poisson-sampled draws.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are not used.
        hidden: the number of units of each hidden layer.
        steps: the number of steps.
        rate: the probability that a record is in the sample of a step.
        count: the noise of the number of records.
        step: the noise of an entry of a gradient, in steps of a public grid.
        delta: the delta at which epsilon is stated.
        clip: gradients longer than this are shortened to it.
        stride: the length of a step, as a multiple of a mean gradient.
        unit: ROW or ROW_REPLACED.

    >>> noise = {"count": Gaussian(sigma=20), "step": DiscreteGaussian(sigma=2**34)}
    >>> public = {"lower": [0, 0], "upper": [1, 10], "classes": 2, "hidden": (8,)}
    >>> learner = NetworkDescent(**public, steps=30, rate="1/60", delta="1e-5", **noise)
    >>> print(learner.sizes, learner.loss(1))
    (2, 8, 2) epsilon = 0.850614, delta = 1e-05

    """

    name: ClassVar[str] = "network-descent"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "the distance between noisy steps and the best network depends on the records"
    no_interval_because: ClassVar[str] = "the best network has no known distance from a noisy one"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    classes: Whole = Whole(least=2, most=_MOST_CLASSES)
    hidden: TupleOf = TupleOf(
        Whole(least=1, most=MOST_UNITS), most=_MOST_LAYERS, rule=f"1 to {_MOST_LAYERS} sizes, each 1 to {MOST_UNITS}"
    )
    steps: Whole = Whole(least=1, most=_MOST_STEPS)
    rate: Positive = Positive()
    count: Of[Gaussian] = Of(Gaussian, **one_number(Gaussian))
    step: Of[DiscreteGaussian] = Of(DiscreteGaussian, **one_number(DiscreteGaussian))
    delta: Probability = Probability()
    clip: Whole = Whole(1, least=1, most=MOST_CLIP)
    stride: Positive = Positive(_USUAL_STRIDE)
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if entries_of(self.sizes) > _MOST_WEIGHTS:
            raise InvalidParameter("hidden", self.hidden, "so few that there are at most 2^24 weights")
        if not self.rate <= 1:
            raise InvalidParameter("rate", str(self.rate), "a number in (0, 1]")
        if not self.stride <= 2**20:
            raise InvalidParameter("stride", str(self.stride), "at most 2^20")
        self.plan().check(self.unit)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        classes: int,
        hidden: Any,
        steps: int = USUAL_STEPS,
        rate: Number = USUAL_RATE,
        clip: int = 1,
        stride: Number = _USUAL_STRIDE,
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner of least noise, up to a third of a percent, whose loss for one unit is within ``within``.

        A rho and a pure epsilon are refused: samples do not lessen them.
        """
        stated, chance = checked(within), positive("rate", rate, at_most=1)
        many, whom = whole("steps", steps, least=1, most=_MOST_STEPS), RowUnit().convert("unit", unit)
        moved = whom.touched * stability_of(whole("clip", clip, least=1, most=MOST_CLIP))

        def noise(times: Fraction) -> dict[str, Any]:
            return {
                "count": Gaussian(sigma=round_up(COUNT * whom.touched * times, bits=64)),
                "step": DiscreteGaussian(sigma=round_up(times * moved, bits=64)),
            }

        found = cls(
            **noise(noise_multiple(stated.epsilon, stated.delta, chance, many, whom, counted=True)),
            lower=lower,
            upper=upper,
            classes=classes,
            hidden=hidden,
            steps=many,
            rate=chance,
            delta=stated.delta,
            clip=clip,
            stride=stride,
            unit=whom,
        )

        if found.loss(1) <= stated:
            return found
        # At an epsilon of 30 or more the grid is too coarse for the law of the loss; rho is known on any grid.
        return replace(found, **noise(unsampled_multiple(stated.epsilon, stated.delta, many + 1)))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of columns, of units and of classes."""
        return (self.box.columns, *self.hidden, self.classes)

    @property
    def stability(self) -> int:
        """The largest change of a gradient by one unit, in steps."""
        return self.unit.touched * stability_of(self.clip)

    def plan(self) -> Plan:
        """Return a count and the gradients of samples."""
        part = replace(self.step, shape=(entries_of(self.sizes),))
        rounds = Repeat(Sampled(Use(part, self.stability), self.rate), self.steps)
        return Accounted(InOrder.of(Use(self.count, self.unit.touched), rounds), self.unit, self.delta)

    def release(self, data: Any, run: Runner) -> NetworkModel:
        """Return the average of the later half of the weights."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        table = np.column_stack([inputs_of(self.box.steps(values)), classes])
        seen = float(run(self.count, float(len(table)), stability=self.unit.touched))
        lot = max(seen * float(self.rate), 1.0)
        part = replace(self.step, shape=(entries_of(self.sizes),))

        def gradient(weights: Floats) -> Floats:
            sample, inner = run.sampled(table, self.rate)
            layers = on_grid(layers_of(weights, self.sizes))
            exact = contributions(layers, sample[:, :-1], sample[:, -1].astype(np.int64), self.clip)
            noisy = inner(part, exact, stability=self.stability)
            return np.asarray(noisy, dtype=np.float64) / (unit_of_gradients() * lot)

        weights = first_weights(self.sizes)
        momentum, total = np.zeros_like(weights), np.zeros_like(weights)
        for number in range(self.steps):
            momentum = _MOMENTUM * momentum + gradient(weights)
            weights = np.clip(weights - float(self.stride) * momentum, -_LARGEST_WEIGHT, _LARGEST_WEIGHT)
            if number >= self.steps // 2:
                total += weights
        average = PublicArray(total / (self.steps - self.steps // 2))
        return NetworkModel(self.lower, self.upper, self.sizes, average)
