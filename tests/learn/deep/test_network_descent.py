"""Networks of integers: gradients against floats, company that changes no bit, clips, and what is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.deep import NetworkDescent
from dither.learn.deep.integer_network import (
    ACTIVATION_STEPS,
    backward,
    contributions,
    entries_of,
    errors_of,
    first_weights,
    forward,
    layers_of,
    on_grid,
    stability_of,
    unit_of_gradients,
    whole_weights,
)
from dither.learn.models import Model
from dither.mechanisms.core.release import Budget, release
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import ROW, ApproxDP, PureDP

SIZES = (5, 7, 6, 3)


def examples(count: int, width: int = 5) -> tuple[np.ndarray, np.ndarray]:
    waves = np.sin(np.arange(count * width) * 12.9898) * 43758.5453
    inputs = np.rint((waves - np.floor(waves) - 0.5).reshape(count, width) * 2 * ACTIVATION_STEPS)
    return inputs, np.arange(count) % 3


def network(scale: float = 1.0) -> Any:
    return on_grid(layers_of(first_weights(SIZES) * scale, SIZES))


def plain_gradient(inputs: np.ndarray, label: int) -> np.ndarray:
    """The gradient of one example in floats, by differences of the loss."""
    weights = first_weights(SIZES)

    def loss(flat: np.ndarray) -> float:
        values = inputs / ACTIVATION_STEPS
        layers = layers_of(flat, SIZES)
        for number, (matrix, biases) in enumerate(layers):
            values = matrix @ values + biases
            if number < len(layers) - 1:
                values = np.maximum(values, 0)
        return float(np.log(np.exp(values - values.max()).sum()) - values[label] + values.max())

    step = 1e-5
    return np.array([(loss(weights + d) - loss(weights - d)) / (2 * step) for d in np.eye(len(weights)) * step])


def test_gradients_are_those_of_floats_up_to_the_grid() -> None:
    inputs, classes = examples(6)
    for place in range(6):
        one = slice(place, place + 1)
        found = contributions(network(), inputs[one], classes[one], 16) / unit_of_gradients()
        assert found == pytest.approx(plain_gradient(inputs[place], classes[place]), abs=0.02)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e9])
def test_company_changes_no_bit(scale: float) -> None:
    inputs, classes = examples(300)
    layers, order = network(scale), np.argsort(np.sin(np.arange(300)))
    whole = contributions(layers, inputs, classes, 1)
    assert (whole == contributions(layers, inputs[order], classes[order], 1)).all()
    parts = sum(contributions(layers, inputs[[row]], classes[[row]], 1) for row in range(300))
    assert (whole == parts).all()


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e9])
def test_no_contribution_is_longer_than_the_clip(scale: float) -> None:
    inputs, classes = examples(60)
    layers = network(scale)
    activations, scores = forward(layers, inputs)
    errors = backward(layers, activations, errors_of(scores, classes))
    weights = whole_weights(activations, errors, 1)
    longest = 0.0
    for row in range(60):
        found = contributions(layers, inputs[[row]], classes[[row]], 1)
        square = sum(int(entry) ** 2 for entry in found)
        assert square <= stability_of(1) ** 2
        longest = max(longest, square**0.5 / stability_of(1))
    assert longest > 0.95
    assert (weights == np.floor(weights)).all()


def made(**changed: Any) -> NetworkDescent:
    noise = {"count": Gaussian(sigma=5), "step": DiscreteGaussian(sigma=2**34)}
    public: dict[str, Any] = {"lower": [-1, -1], "upper": [1, 1], "classes": 2, "hidden": (8,), "steps": 40, **noise}
    return NetworkDescent(**{**public, "rate": "1/4", "delta": "1e-5", **changed})


def test_it_learns_what_no_linear_model_can_and_is_written_and_read() -> None:
    learner = made(step=DiscreteGaussian(sigma=2**32), clip=4, stride=1)
    places = np.stack(np.meshgrid(np.linspace(-1, 1, 40), np.linspace(-1, 1, 40)), axis=-1).reshape(-1, 2)
    labels = (places[:, 0] * places[:, 1] > 0).astype(float)
    rows = np.column_stack([places, labels])
    found = release(learner, rows, budget=Budget(loss=learner.loss(1), unit=ROW)).value
    assert (found.scores(places).argmax(axis=1) == labels).mean() > 0.8
    again = Model.from_dict(found.to_dict())
    assert isinstance(again, type(found))
    assert (again.scores(places) == found.scores(places)).all()


def test_calibrated_noise_is_within_the_stated_loss() -> None:
    stated = ApproxDP(2, "1e-5")
    public: dict[str, Any] = {"lower": [0], "upper": [1], "classes": 2, "hidden": (2,), "steps": 5, "rate": "1/10"}
    found = NetworkDescent.calibrated(stated, **public)
    assert found.loss(1) <= stated
    assert found.loss(1) > ApproxDP("19/10", "1e-5")
    assert entries_of(found.sizes) == 10


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"hidden": ()}, "hidden"), ({"hidden": (2**14, 2**14)}, "hidden"), ({"rate": 2}, "rate"), ({"clip": 17}, "clip")],
)
def test_bad_parameters_are_named(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=named):
        made(**changed)


def test_a_pure_loss_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="within"):
        NetworkDescent.calibrated(PureDP(1), lower=[0], upper=[1], classes=2, hidden=(2,))
