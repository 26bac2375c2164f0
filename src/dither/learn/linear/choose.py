"""Which learner of a linear classifier is used: by name, or by public facts alone."""

from __future__ import annotations

from typing import Any, Final

from dither.errors import InvalidParameter
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.moment_classifier import MomentClassifier
from dither.learn.linear.output import OutputPerturbation
from dither.learn.noise_parts import amount_within
from dither.mechanisms.core import Composed
from dither.privacy import Loss, Unit

AUTO: Final = "auto"
SOLVERS: Final = (AUTO, "gradient", "output", "moments")


def chosen(solver: str, target: Loss, classes: int) -> str:
    """Return the name of the solver that is used.

    Gradient descent wherever noise may be Gaussian, because many draws then cost little more than one, and for many
    classes; output perturbation for two classes where the loss is pure.
    """
    if solver != AUTO:
        return solver
    return "output" if amount_within(target)[1] and classes == 2 else "gradient"


def classifier(
    target: Loss,
    *,
    solver: str,
    lower: Any,
    upper: Any,
    classes: int,
    steps: int | None,
    penalty: Any,
    unit: Unit,
) -> Composed[Any, Any]:
    """Return the learner that a solver stands for, refusing options that are another's."""
    used = chosen(solver, target, classes)
    if steps is not None and used != "gradient":
        raise InvalidParameter("steps", steps, f"left out: solver {used!r} takes no steps")
    if penalty is not None and used != "output":
        raise InvalidParameter("penalty", penalty, f"left out: solver {used!r} has none")
    public: dict[str, Any] = {"lower": lower, "upper": upper, "classes": classes, "unit": unit}
    if used == "output":
        return OutputPerturbation.calibrated(target, penalty=penalty, **public)
    if used == "moments":
        return MomentClassifier.calibrated(target, **public)
    return GradientDescent.calibrated(target, steps=steps, **public)
