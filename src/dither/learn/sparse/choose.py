"""The choice of the learner of a sparse model: by name, or by public facts alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.exact import Number, whole
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.moment_classifier import MomentClassifier
from dither.learn.linear.moments import MomentRegression
from dither.learn.sparse.entropy_descent import EntropyDescent
from dither.learn.sparse.frank_wolfe import FrankWolfe
from dither.learn.sparse.selected import SelectedColumns
from dither.learn.sparse.support import USUAL_BLOCKS, SupportSelection
from dither.mechanisms.core.mechanism import Composed
from dither.mechanisms.core.purse import Purse
from dither.privacy import Loss, Unit

#: One stage: frank-wolfe, entropy. Two: columns by Frank-Wolfe or by votes, then a fit.
SOLVERS: Final = ("auto", "frank-wolfe", "entropy", "refit", "votes")
USUAL_KEPT: Final = 6
#: Residuals beyond this share of half the target's range pull no more: few targets lie near their bounds.
USUAL_CLIP: Final = Fraction(1, 4)
#: What the choice of columns takes of the budget.
SELECT_SHARE: Final = Fraction(1, 2)


def learner(
    within: Loss,
    *,
    solver: str,
    lower: Any,
    upper: Any,
    loss_name: str,
    unit: Unit,
    n_nonzero_coefs: int | None = None,
    max_iter: int | None = None,
    radius: Number | None = None,
    blocks: int | None = None,
    target_lower: Number = 0,
    target_upper: Number = 1,
) -> Composed[Any, Any]:
    """Return the learner for a solver, refusing options that belong to another solver."""
    if solver not in SOLVERS:
        raise InvalidParameter("solver", solver, f"one of {', '.join(SOLVERS)}")
    used = "refit" if solver == "auto" else solver
    given = {"n_nonzero_coefs": n_nonzero_coefs, "max_iter": max_iter, "radius": radius}
    one_stage = ["n_nonzero_coefs"]
    unused = {"frank-wolfe": one_stage, "entropy": one_stage, "refit": []}.get(used, ["max_iter", "radius"])
    for name in unused:
        if given[name] is not None:
            raise InvalidParameter(name, given[name], f"not allowed: solver {used!r} does not use it")
    if blocks is not None and used != "votes":
        raise InvalidParameter("blocks", blocks, f"not allowed: solver {used!r} has no blocks")
    targets = {"target_lower": target_lower, "target_upper": target_upper}
    clip = USUAL_CLIP if loss_name == "squared" else 1
    public: dict[str, Any] = {"lower": lower, "upper": upper, "loss_name": loss_name, "unit": unit, **targets}
    if used == "frank-wolfe":
        return FrankWolfe.calibrated(within, steps=max_iter, radius=radius, clip=clip, **public)
    if used == "entropy":
        return EntropyDescent.calibrated(within, steps=max_iter, radius=radius, clip=clip, **public)
    count = min(USUAL_KEPT, len(lower))
    if n_nonzero_coefs is not None:
        count = whole("n_nonzero_coefs", n_nonzero_coefs, least=1, most=len(lower))
    purse = Purse.within(within)
    first, second = purse.share(SELECT_SHARE).loss, purse.share(1 - SELECT_SHARE).loss
    select: FrankWolfe | SupportSelection
    if used == "refit":
        # The constant may take a step too.
        walked = count + 1 if max_iter is None else max_iter
        select = FrankWolfe.calibrated(first, steps=walked, radius=radius, clip=clip, distinct=True, **public)
    else:
        divided = USUAL_BLOCKS if blocks is None else blocks
        select = SupportSelection.calibrated(first, kept=count, blocks=divided, **public)
    return SelectedColumns(select=select, fit=_fitter(second, loss_name, count, unit, targets), kept=count)


def _fitter(
    within: Loss, loss_name: str, kept: int, unit: Unit, targets: dict[str, Any]
) -> MomentRegression | GradientDescent | MomentClassifier:
    box: dict[str, Any] = {"lower": [-1] * kept, "upper": [1] * kept, "unit": unit}
    if loss_name == "squared":
        return MomentRegression.calibrated(within, **box, **targets)
    if Purse.within(within).is_pure:
        return MomentClassifier.calibrated(within, classes=2, **box)
    return GradientDescent.calibrated(within, classes=2, **box)
