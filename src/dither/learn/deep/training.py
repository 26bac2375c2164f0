"""Private training of a PyTorch module: a loop for the caller's code, or a trainer with the loop inside.

``PrivateTraining`` charges a budget when it begins, and answers every step with a noisy gradient: nothing else comes
back from the examples. What the optimiser makes of it costs nothing more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NoReturn, Self

from numpy.typing import NDArray

from dither.errors import HandleMisuse, InvalidParameter, NotAnExample
from dither.exact import Number, whole
from dither.learn.deep.examples import LazyExample, check_container, examples_of
from dither.learn.deep.lone_gradients import LoneGradients, trained_parameters
from dither.learn.deep.mixing import check_module, check_on_public_input
from dither.learn.deep.module_state import ModuleState
from dither.learn.deep.noisy_gradients import GradientSteps, NoisyGradients
from dither.learn.deep.torch_library import safetensors_for, torch_for
from dither.learn.saved import Privacy
from dither.learn.spending import budget_of
from dither.mechanisms.core.release import Budget, converse
from dither.mechanisms.core.spec import digest
from dither.privacy import ROW, Loss, Relation, Unit, stated_loss, unit_of

_NEEDS: Final = "private training"


@dataclass(frozen=True)
class Lot:
    """One step of a training: its number, from 1, and how many steps there are. The examples stay secret."""

    number: int
    of: int

    def __iter__(self) -> NoReturn:
        raise NotAnExample("a lot holds no examples: write 'for lot in training: training.step(lambda x, y: ...)'")


class PrivateTraining:
    """A loop over private steps: ``with PrivateTraining(...) as t: for lot in t: t.step(losses_of)``.

    Args:
        model: a PyTorch module; its parameters that require gradients are trained.
        data: the private examples: a tuple of arrays or tensors, or a map-style data set.
        optimizer: a PyTorch optimiser of the model's parameters; it sees noisy gradients alone.
        epsilon: the privacy loss of the whole training, at ``delta``.
        delta: the probability that the epsilon bound may be exceeded.
        steps: the number of steps.
        lot: the expected number of examples of a step. A noisy sum is divided by it.
        examples: the public number of examples from which the sampling rate follows, such as a round number near
            the size of the data. Required for unit "row", whose number of examples is private.
        clip: the gradient of an example is shortened to this length.
        unit: "row" or "row_replaced"; a row is an example.
        budget: what is charged; by default a budget of exactly this training.
        example: a made-up example of the form that the data set returns, on which a loss is tried; never a private one.

    Buffers of the model, such as running statistics, are not trained: they would say something about examples.

    """

    def __init__(
        self,
        model: Any,
        data: Any,
        *,
        optimizer: Any,
        epsilon: Number,
        delta: Number,
        steps: int,
        lot: int,
        examples: int | None = None,
        clip: Number = 1,
        unit: Unit | str = ROW,
        budget: Budget | None = None,
        example: Any = None,
    ) -> None:
        torch_for(_NEEDS)
        check_module(model)
        ModuleState([model])  # what cannot be put back between examples is refused here
        self._model, self._optimizer, self._budget = model, optimizer, budget
        self._data, self._public = examples_of(data, example)
        self._lot = whole("lot", lot, least=1)
        self.stated: Loss = stated_loss(epsilon=epsilon, delta=delta)
        self.mechanism = sums_for(
            model,
            self.stated,
            steps=steps,
            lot=self._lot,
            examples=known_examples(examples, unit_of(unit), len(self._data)),
            clip=clip,
            unit=unit_of(unit),
        )
        self._talk: GradientSteps | None = None
        self._gradients: LoneGradients | None = None
        self._number = 0

    @property
    def price(self) -> Loss:
        """The loss of the whole training for one unit: known before anything is charged."""
        return self.mechanism.loss(1)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the trained model."""
        made = self.mechanism
        return Privacy(self.price, self.stated, str(made.unit), made.numerics.value, made.name, digest(made))

    def __enter__(self) -> Self:
        if self._talk is not None:
            raise HandleMisuse("this training has begun: another one is charged on its own")
        budget = budget_of(self.mechanism) if self._budget is None else self._budget
        self._talk = converse(self.mechanism, self._data, budget=budget)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._number = self.mechanism.steps

    def __iter__(self) -> Iterator[Lot]:
        """Yield a lot for each step that is left."""
        while self._number < self.mechanism.steps:
            self._number += 1
            yield Lot(self._number, self.mechanism.steps)

    def try_loss(self, losses_of: Callable[..., Any]) -> None:
        """Try a loss on a public example of the declared form: nothing is charged, and nothing private is read.

        Call it before ``with`` to refuse a loss that fails before the training is charged.

        Args:
            losses_of: the loss that ``step`` will be called with.

        """
        if self._public is not None:
            with LoneGradients(self._model, losses_of).at_step(0):
                check_on_public_input(self._model, losses_of, self._public)

    def step(self, losses_of: Callable[..., Any]) -> None:
        """Take one noisy step.

        Args:
            losses_of: returns the loss of a batch that holds one example, such as ``lambda x, y:
                cross_entropy(model(x), y)``. An example for which it fails, or whose gradient is not finite, adds
                nothing and is not reported.

        """
        if self._talk is None:
            raise HandleMisuse("a step is taken inside 'with': there the training is charged")
        if self._number == 1 or self._gradients is None:
            self.try_loss(losses_of)
        found = LoneGradients(self._model, losses_of) if self._gradients is None else self._gradients
        found._loss_of = losses_of
        self._gradients = found
        if found.entries != self.mechanism.entries:
            raise HandleMisuse("the model has other parameters than the one whose training was priced")

        def gradient_of(example: Any) -> Any:
            return found.read(example.read) if isinstance(example, LazyExample) else found(example)

        with found.at_step(self._talk.left):
            noisy = self._talk.ask(gradient_of)
        self._take(noisy / self._lot)

    def _take(self, gradient: NDArray[Any]) -> None:
        """Hand a noisy gradient to the optimiser."""
        torch = torch_for(_NEEDS)
        parameters, start = trained_parameters(self._model), 0
        for parameter in parameters:
            piece = gradient[start : start + parameter.numel()]
            parameter.grad = torch.as_tensor(piece).to(parameter.dtype).reshape(parameter.shape)
            start += parameter.numel()
        self._optimizer.step()
        for parameter in parameters:
            parameter.grad = None


def known_examples(stated: int | None, unit: Unit, held: int) -> int:
    """Return the public number of examples: as stated, or where they are only replaced, the number there is."""
    if stated is not None:
        return whole("examples", stated, least=1)
    if unit.relation is Relation.REPLACE and held:
        return held
    raise InvalidParameter("examples", stated, "required: a public number near that of the examples, which is private")


def _held(data: Any) -> int:
    """Return the number of examples of a tuple of arrays, which is public where examples are only replaced."""
    return len(data[0]) if isinstance(data, tuple) and hasattr(data[0], "__len__") else 0


def sums_for(
    model: Any, within: Loss, *, steps: int, lot: int, examples: int, clip: Number, unit: Unit
) -> NoisyGradients:
    """Return the noisy sums that train a module."""
    if not lot <= examples:
        raise InvalidParameter("lot", lot, f"at most {examples}, the number of examples")
    entries = sum(parameter.numel() for parameter in trained_parameters(model))
    return NoisyGradients.calibrated(
        within, entries=entries, steps=steps, rate=Fraction(lot, examples), clip=clip, unit=unit
    )


class PrivateTrainer:
    """Train a PyTorch module privately: priced first, charged once, one call.

    Args:
        model: a PyTorch module; its parameters that require gradients are trained.
        loss: the loss of predictions and targets, such as ``torch.nn.CrossEntropyLoss()``; it sees one example.
        epsilon: the privacy loss of the whole training, at ``delta``.
        delta: the probability that the epsilon bound may be exceeded.
        examples: the public number of examples from which the sampling rate follows; required for unit "row".
        epochs: the expected number of times that an example is used.
        lot: the expected number of examples of a step.
        optimizer: a function from parameters to a PyTorch optimiser; by default descent with momentum 0.9.
        clip: the gradient of an example is shortened to this length.
        unit: "row" or "row_replaced"; a row is an example.
        budget: what is charged; by default a budget of exactly one training.
        progress: called with each ``Lot`` after its step.
        example: a made-up example (features, target) of the form that a map-style data set returns, on which the loss
            is tried before the charge; never a private one.

    """

    def __init__(
        self,
        model: Any,
        loss: Callable[[Any, Any], Any],
        *,
        epsilon: Number,
        delta: Number,
        examples: int | None = None,
        epochs: Number = 5,
        lot: int = 256,
        optimizer: Callable[[Any], Any] | None = None,
        clip: Number = 1,
        unit: Unit | str = ROW,
        budget: Budget | None = None,
        progress: Callable[[Lot], None] | None = None,
        example: Any = None,
    ) -> None:
        check_module(model)
        if not callable(loss):
            raise InvalidParameter("loss", loss, "a function of predictions and targets")
        if progress is not None and not callable(progress):
            raise InvalidParameter("progress", progress, "a function of a lot")
        self.model, self.loss, self.epsilon, self.delta = model, loss, epsilon, delta
        self.examples, self.epochs, self.lot, self.clip = examples, epochs, lot, clip
        self.optimizer, self.unit, self.budget, self.progress = optimizer, unit_of(unit), budget, progress
        self.example = example
        self.privacy_: Privacy | None = None
        self._first: dict[str, Any] | None = None

    def mechanism(self, held: int = 0) -> NoisyGradients:
        """Return the mechanism that ``fit`` will run: priced without data.

        Args:
            held: the number of examples, where it is public.

        """
        known = known_examples(self.examples, self.unit, held)
        return sums_for(
            self.model,
            stated_loss(epsilon=self.epsilon, delta=self.delta),
            steps=self._steps(known),
            lot=whole("lot", self.lot, least=1),
            examples=known,
            clip=self.clip,
            unit=self.unit,
        )

    def fit(self, data: Any) -> Self:
        """Train on private examples; every call is a new release, and begins from the parameters of the first call.

        What another call learned is forgotten, so that the guarantee of a trained model is that of one training. A call
        that does not end leaves no guarantee: its parameters cannot be saved.

        Args:
            data: a tuple of features and targets, as arrays or tensors of one length; or a map-style data set of pairs.

        """
        torch = torch_for(_NEEDS)
        check_container(data, pairs=True)
        parameters = trained_parameters(self.model)
        self._begin_anew()
        made = (
            torch.optim.SGD(parameters, lr=0.1, momentum=0.9) if self.optimizer is None else self.optimizer(parameters)
        )

        def losses_of(features: Any, targets: Any) -> Any:
            return self.loss(self.model(features), targets)

        known = known_examples(self.examples, self.unit, _held(data))
        training = PrivateTraining(
            self.model,
            data,
            optimizer=made,
            epsilon=self.epsilon,
            delta=self.delta,
            steps=self._steps(known),
            lot=self.lot,
            examples=known,
            clip=self.clip,
            unit=self.unit,
            budget=self.budget,
            example=self.example,
        )
        training.try_loss(losses_of)
        with training:
            for lot in training:
                training.step(losses_of)
                if self.progress is not None:
                    self.progress(lot)
        self.privacy_ = training.privacy
        return self

    def _begin_anew(self) -> None:
        """Set parameters and buffers to those of the first call, and forget the guarantee."""
        self.privacy_ = None
        held = {**dict(self.model.named_parameters()), **dict(self.model.named_buffers())}
        if self._first is None:
            self._first = {name: one.detach().clone() for name, one in held.items()}
        if {name: one.shape for name, one in held.items()} != {name: one.shape for name, one in self._first.items()}:
            raise HandleMisuse("the model has other parameters than when it was first trained: make another trainer")
        for name, one in held.items():
            one.detach().copy_(self._first[name])

    def _steps(self, examples: int) -> int:
        return max(1, math.ceil(Fraction(str(self.epochs)) * examples / whole("lot", self.lot, least=1)))

    def save(self, path: Path | str) -> Path:
        """Write the parameters as safetensors, with the guarantee in their header, and return the path."""
        if self.privacy_ is None:
            raise HandleMisuse("a model is saved after it was trained, to the last step")
        target = Path(path)
        tensors = {name: value.detach().contiguous().numpy() for name, value in self.model.state_dict().items()}
        header = {"format": "dither-network", "version": "1", "privacy": json.dumps(self.privacy_.to_dict())}
        safetensors_for("saving a network").save_file(tensors, target, metadata=header)
        return target
