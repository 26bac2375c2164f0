"""scikit-learn's conventions for estimators: refusals that name their parameters, and the number of steps taken."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sklearn.utils.validation import check_is_fitted

from dither.errors import InvalidParameter

P = ParamSpec("P")
T = TypeVar("T")


def in_words(**said: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a method name the estimator's parameters in its refusals, where the mechanism has other names.

    Args:
        said: the estimator's word for each of the mechanism's.

    """

    def worded(build: Callable[P, T]) -> Callable[P, T]:
        @wraps(build)
        def built(*words: P.args, **options: P.kwargs) -> T:
            try:
                return build(*words, **options)
            except InvalidParameter as refusal:
                if type(refusal) is not InvalidParameter or refusal.parameter not in said:
                    raise
                known = refusal
            raise InvalidParameter(said[known.parameter], known.offender, known.rule)

        return built

    return worded


class Iterated:
    """An estimator with a ``max_iter``: all steps are always taken, so that their number is public."""

    mechanism: Any
    n_features_in_: int

    @property
    def n_iter_(self) -> int:
        """The number of steps taken; 1 where the model is found in one step."""
        check_is_fitted(self, "model_")
        learner = self.mechanism(self.n_features_in_)
        # A learner may be guarded, and it may choose columns, or change them, before it steps.
        if learner.name == "guarded-classifier":
            learner = learner.learner
        for part in (learner, getattr(learner, "select", None), getattr(learner, "learner", None)):
            steps = getattr(part, "steps", None)
            if isinstance(steps, int):
                return steps
        # Clusters have the noise of each step.
        parts = getattr(learner, "parts", None)
        return max(1, len(parts)) if isinstance(parts, tuple) else 1
