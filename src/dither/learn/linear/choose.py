"""The choice of the learner of a linear model: by name, or by public facts alone."""

# scikit-learn calls the strength of a fit C.
# ruff: noqa: N803

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.functional import FunctionalMechanism
from dither.learn.linear.genetic import GeneticClassifier
from dither.learn.linear.minibatch import MinibatchDescent
from dither.learn.linear.moment_classifier import MomentClassifier
from dither.learn.linear.moments import MOST_COLUMNS, MomentRegression
from dither.learn.linear.newton import NewtonDescent
from dither.learn.linear.objective import ObjectivePerturbation
from dither.learn.linear.output import OutputPerturbation
from dither.learn.linear.parameter_grid import ParameterGrid
from dither.learn.linear.penalised import LEAST_PENALTY, MOST_PENALTY
from dither.learn.linear.perturbed_minimum import MOST_PENALTY as MOST_PERTURBED_PENALTY
from dither.learn.linear.perturbed_minimum import MOST_WEIGHTS
from dither.mechanisms.core.mechanism import Composed
from dither.mechanisms.core.purse import Purse
from dither.privacy import Loss, Unit

AUTO: Final = "auto"
SOLVERS: Final = (
    AUTO,
    "gradient",
    "output",
    "objective",
    "moments",
    "functional",
    "newton",
    "minibatch",
    "grid",
    "gene",
)
#: Those of them that minimise the rounded hinge of a support vector machine.
HINGE_SOLVERS: Final = (AUTO, "gradient", "output", "objective", "minibatch", "grid", "gene")
REGRESSION_SOLVERS: Final = ("moments", "functional", "grid")
_WITH_STEPS: Final = ("gradient", "newton", "minibatch")
_WITH_PENALTY: Final = ("output", "objective")


def chosen(solver: str, within: Loss, classes: int, columns: int = 1, loss_name: str = "logistic") -> str:
    """Return the name of the solver to use.

    Gradient descent wherever noise may be Gaussian, because many draws then cost little more than one. Where the loss
    is pure: objective perturbation for two classes, or output perturbation for more columns than that takes; and the
    functional mechanism for more classes, which share one matrix there.
    """
    if solver != AUTO:
        return solver
    if not Purse.within(within).is_pure:
        return "gradient"
    if classes == 2 and columns < MOST_WEIGHTS:
        return "objective"
    if loss_name == "hinge" or columns > MOST_COLUMNS:
        return "gradient"
    return "output" if classes == 2 else "functional"


def classifier(
    within: Loss,
    *,
    solver: str,
    lower: Any,
    upper: Any,
    classes: int,
    max_iter: int | None = None,
    C: Any = None,
    unit: Unit,
    loss_name: str = "logistic",
) -> Composed[Any, Any]:
    """Return the learner of a classifier for a solver, refusing options that belong to another solver."""
    known = SOLVERS if loss_name == "logistic" else HINGE_SOLVERS
    _check(solver, known)
    used = chosen(solver, within, classes, len(np.atleast_1d(np.asarray(lower))), loss_name)
    if max_iter is not None and used not in _WITH_STEPS:
        raise InvalidParameter("max_iter", max_iter, f"not allowed: solver {used!r} takes no steps")
    if C is not None and used not in _WITH_PENALTY:
        raise InvalidParameter("C", C, f"not allowed: solver {used!r} has no such parameter")
    steps, penalty = max_iter, None if C is None else _penalty(C, used)
    box: dict[str, Any] = {"lower": lower, "upper": upper, "unit": unit}
    if used == "grid":
        if classes != 2:
            raise InvalidParameter("solver", solver, "another one: a grid of parameters is for two classes")
        return ParameterGrid.calibrated(within, objective=loss_name, **box)
    if used == "gene":
        if classes != 2:
            raise InvalidParameter("solver", solver, "another one: a genetic search is for two classes")
        return GeneticClassifier.calibrated(within, loss_name=loss_name, **box)
    public = box | {"classes": classes}
    if used == "objective":
        return ObjectivePerturbation.calibrated(within, loss_name=loss_name, penalty=penalty, **public)
    if used == "minibatch":
        return MinibatchDescent.calibrated(within, loss_name=loss_name, steps=steps, **public)
    if used == "gradient":
        return GradientDescent.calibrated(within, loss_name=loss_name, steps=steps, **public)
    if used == "newton":
        return NewtonDescent.calibrated(within, steps=steps, **public)
    if used == "output":
        return OutputPerturbation.calibrated(within, loss_name=loss_name, penalty=penalty, **public)
    if used == "functional":
        return FunctionalMechanism.calibrated(within, objective="logistic", **public)
    return MomentClassifier.calibrated(within, **public)


def regression(
    within: Loss,
    *,
    solver: str,
    lower: Any,
    upper: Any,
    target_lower: float,
    target_upper: float,
    penalty: Any,
    unit: Unit,
) -> Composed[Any, Any]:
    """Return the learner of a regression for a solver."""
    _check(solver, REGRESSION_SOLVERS)
    public: dict[str, Any] = {
        "lower": lower,
        "upper": upper,
        "target_lower": target_lower,
        "target_upper": target_upper,
        "penalty": penalty,
        "unit": unit,
    }
    if solver == "functional":
        return FunctionalMechanism.calibrated(within, objective="squared", **public)
    if solver == "grid":
        return ParameterGrid.calibrated(within, objective="squared", **public)
    return MomentRegression.calibrated(within, **public)


def _penalty(C: Number, used: str) -> Fraction:
    """Return the penalty on half the squared length of the weights that corresponds to C, for records of length 1."""
    strength = 1 / positive("C", C)
    if used == "objective" and strength > MOST_PERTURBED_PENALTY:
        raise InvalidParameter("C", C, f"at least 1/{MOST_PERTURBED_PENALTY}")
    if used == "output" and not LEAST_PENALTY <= strength <= MOST_PENALTY:
        raise InvalidParameter("C", C, f"from 1/{MOST_PENALTY} to {1 / LEAST_PENALTY}")
    return strength


def _check(solver: str, known: tuple[str, ...]) -> None:
    if solver not in known:
        raise InvalidParameter("solver", solver, f"one of {', '.join(known)}")
