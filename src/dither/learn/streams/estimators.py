"""Estimators that are fed by ``partial_fit``: a regression of a stream."""

# scikit-learn calls rows X.
# ruff: noqa: N803

from __future__ import annotations

from typing import Any, NoReturn, Self

from dither.errors import HandleMisuse, InvalidParameter
from dither.learn.base import PrivateRegressor, bounds_of
from dither.learn.conventions import in_words
from dither.learn.spending import budget_of
from dither.learn.streams.incremental import IncrementalRegression, RunningRegression
from dither.mechanisms.core.release import Budget, converse


class IncrementalLinearRegression(PrivateRegressor):
    """Linear regression of a stream: each ``partial_fit`` adds a batch and updates the model, for one price.

    Guarantee: all calls together, up to ``batches`` of them, lose at most the stated loss for one row of the stream
    added or removed (event level: a person with several rows loses it for each of them); see ``privacy_``.

    Args:
        epsilon: the privacy loss, alone or with ``delta``; or give ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: the loss in zero-concentrated differential privacy.
        loss: the loss as a record, in place of these three.
        bounds: (lower, upper) for all columns, or a pair for each.
        target_bounds: (lower, upper) of the target; targets beyond them are clipped.
        batches: how many batches there will be at most; charged at the first of them.
        alpha: the penalty on squared weights of columns scaled by their bounds, beside what the noise asks for.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn.streams.estimators import IncrementalLinearRegression
    >>> model = IncrementalLinearRegression(rho=1, bounds=(-1, 1), target_bounds=(-2, 2), batches=4)
    >>> for _ in range(4):
    ...     X = np.linspace(-1, 1, 2000)[:, None]
    ...     model = model.partial_fit(X, 1.5 * X[:, 0])
    >>> bool(abs(model.coef_[0] - 1.5) < 0.3), model.privacy_.unit
    (True, 'events added or removed')

    """

    n_batches_seen_: int
    _stream: RunningRegression | None

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        target_bounds: Any = None,
        batches: int = 16,
        alpha: Any = 0,
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.target_bounds, self.batches, self.alpha = bounds, target_bounds, batches, alpha
        self.budget = budget

    @in_words(penalty="alpha")
    def mechanism(self, columns: int) -> Any:
        """Return the conversation that the first batch opens."""
        lower, upper = self.box(columns)
        low, high = bounds_of(self.target_bounds, 1, "target_bounds")
        return IncrementalRegression.calibrated(
            self._target(),
            lower=lower,
            upper=upper,
            target_lower=float(low[0]),
            target_upper=float(high[0]),
            batches=self.batches,
            penalty=self.alpha,
        )

    def fit(self, X: Any, y: Any, *, columns: int | None = None, budget: Budget | None = None) -> Self:
        """Begin a new stream, paid for anew, with these rows as its first batch.

        Args:
            X: rows of numbers. NaN, infinities and numbers beyond the bounds have a declared meaning.
            y: a target for each row.
            columns: the number of columns of a list of rows; by default as ``bounds`` declares.
            budget: the budget to charge; by default a budget of exactly this stream.

        """
        self._stream = None
        if hasattr(self, "model_"):
            del self.model_
        return self.partial_fit(X, y, columns=columns, budget=budget)

    def partial_fit(self, X: Any, y: Any, *, columns: int | None = None, budget: Budget | None = None) -> Self:
        """Add a batch; the first one charges the whole stream.

        Args:
            X: rows of numbers, none of which was in an earlier batch.
            y: a target for each row.
            columns: the number of columns of a list of rows; by default as ``bounds`` declares.
            budget: the budget that the first batch charges; by default a budget of exactly this stream.

        """
        is_first = not hasattr(self, "model_")
        records = self.private_rows(X, y, reset=is_first, columns=columns)
        mechanism = self.mechanism(self.n_features_in_)
        if is_first:
            stated = self.budget if budget is None else budget
            self._stream = converse(mechanism, None, budget=budget_of(mechanism) if stated is None else stated)
        elif budget is not None:
            raise InvalidParameter("budget", budget, "not allowed after the first batch, which paid for all of them")
        stream = getattr(self, "_stream", None)
        if stream is None:
            raise HandleMisuse("a copied or saved stream predicts and takes no more batches: start a new one with fit")
        if stream.stream != mechanism:
            raise InvalidParameter("parameters", type(self).__name__, "left as they are while a stream runs")
        model = stream.feed(records)
        self.n_batches_seen_ = stream.fed
        if is_first:
            self._tally.add(mechanism.loss(1))
        return self.adopt(model, mechanism, self._tally.receipt())

    def prepare(self, X: Any, y: Any, *, columns: int | None = None) -> NoReturn:
        """Refuse: a stream is not a single release."""
        raise InvalidParameter("estimator", type(self).__name__, "one of a single release; this one is fed in batches")

    def __getstate__(self) -> dict[str, Any]:
        # A conversation is never copied: both copies would answer for one price.
        return {name: part for name, part in super().__getstate__().items() if name != "_stream"}
