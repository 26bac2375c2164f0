"""Choosing a method: compare predicted errors, without data, and give the reason for the choice.

For methods whose noise alone decides (identity, hierarchical, privelet, HDMM) the root mean square error of a workload
is exact. Of those that look at the counts it depends on the counts: they are tried on public shapes that are generated
here, at a total that the caller guesses from public knowledge, and the figure says so; without a guess they have none.
No private number is looked at, so choosing is free.

The errors of a pruned histogram and of DAWA depend on the counts as well, but those of their plain estimates are exact,
and every cell has an interval: both are tried where the number of rows is given. Where it is not, a pruned histogram is
chosen for ranges unless its plain estimates are much worse than the best there are, because with few rows or even
counts it errs several times less; DAWA, which does not measure the total, does not where rows are fewest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, positive, whole
from dither.lift.axes import MOST_CELLS
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.release import perform
from dither.pages.digits import two_digits
from dither.privacy import Loss, PureDP, stated_loss
from dither.publish.histograms import HierarchicalHistogram, PrunedHistogram
from dither.publish.histograms.common import mean_prefix_variance, variance_of
from dither.publish.methods import METHODS, Method, build_method
from dither.publish.workloads import AllRanges, Hdmm, Identity, Kron, Prefixes, Privelet, Strategy, Workload
from dither.publish.workloads.ranges import Ranges
from dither.publish.workloads.tails import variance_of_noise

EXACT, TRIED = "exact", "tried on public shapes"
PLAIN = "exact for plain estimates; less where rows are few or even"
PRUNED = "pruned"
#: Methods that average what looks alike: every cell has an interval, and errors depend on the counts.
_AVERAGED: Final = (PRUNED, "dawa")
#: Beyond these a figure takes longer than it is worth.
_MOST_SEARCHED: Final = 128
_MOST_WAVELET: Final = 1024
_MOST_ROWS: Final = 4096
_TRIALS: Final = 2
_CARE: Final = 1.15
#: A pruned histogram is chosen from this many cells on, and up to this multiple of the least error.
_LEAST_PRUNED: Final = 128
_WORTH: Final = 1.75


@dataclass(frozen=True)
class Candidate:
    """One method: its predicted root mean square error per query, the basis of that, or why there is none."""

    method: str
    error: float | None
    basis: str


@dataclass(frozen=True)
class Choice:
    """The method chosen, all candidates with the best first, the loss for counts 1 apart, and the reason.

    Args:
        method: the name of the method.
        candidates: what was compared, best first, those without a figure last.
        loss: what it may lose when one count moves by 1.
        shape: of the table of counts.
        because: one line for people.

    """

    method: str
    candidates: tuple[Candidate, ...]
    loss: Loss
    shape: tuple[int, ...]
    because: str

    @property
    def error(self) -> float:
        """The predicted root mean square error of the chosen method."""
        return next(one.error for one in self.candidates if one.method == self.method and one.error is not None)

    def build(self) -> Any:
        """Return the mechanism on counts."""
        return build_method(self.method, self.loss, self.shape)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        rows = [{"method": one.method, "error": one.error, "basis": one.basis} for one in self.candidates]
        return {"method": self.method, "because": self.because, "loss": self.loss.to_dict(), "candidates": rows}

    def __str__(self) -> str:
        width = max(len(one.method) for one in self.candidates)
        lines = [f"{self.method}: {self.because}"]
        for one in self.candidates:
            figure = "-" if one.error is None else f"{one.error:.4g}"
            lines.append(f"  {one.method.ljust(width)}  {figure.rjust(9)}  {one.basis}")
        return "\n".join(lines)


def choose(
    workload: Workload | str,
    domain: int | Sequence[int],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    target_error: Number | None = None,
    data_dependent: bool = False,
    rows: int | None = None,
) -> Choice:
    """Return the method with the least predicted error for a workload on a table of counts.

    Args:
        workload: what will be asked: "ranges", "cells", "prefixes", or a ``Workload`` over the domain.
        domain: how many cells, or how many along each axis.
        epsilon: what the release may lose when one count moves by 1; with ``delta``, or ``rho`` in place of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: the same as a record.
        target_error: instead of a loss, the root mean square error wanted: then the least epsilon at which a method
            that is exactly predicted has it.
        data_dependent: whether methods may be chosen that look at the counts and give no intervals.
        rows: how many rows there are about, from public knowledge: methods whose error depends on the counts are then
            tried on public shapes of that size.

    >>> found = choose("ranges", 64, epsilon=1)
    >>> found.method, found.candidates[-1].method == found.method
    ('hdmm', False)
    >>> choose("cells", 64, epsilon=1).method
    'identity'
    >>> choose("ranges", 1024, epsilon=1).method
    'pruned'

    """
    shape = _shape(domain)
    asked = _workload(workload, shape)
    total = None if rows is None else whole("rows", rows, least=1)
    if target_error is not None:
        if any(given is not None for given in (epsilon, delta, rho, loss)):
            raise InvalidParameter("target_error", target_error, "set without epsilon, rho and loss")
        return _for_error(asked, shape, positive("target_error", target_error))
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    found = _candidates(asked, shape, Purse.within(stated).loss, data_dependent=data_dependent, rows=total)
    return _pruned_if_worth_it(found, asked)


def _candidates(
    asked: Workload, shape: tuple[int, ...], loss: Loss, *, data_dependent: bool, rows: int | None
) -> Choice:
    """Return all candidates, and the best of those whose figure covers their whole error."""
    found = []
    for method in METHODS.values():
        if method.fits(shape):
            found.append(_candidate(method, asked, shape, loss, data_dependent=data_dependent, rows=rows))
    found.sort(key=lambda one: (one.error is None, one.error or 0.0))
    known = [one for one in found if one.error is not None and one.basis != PLAIN]
    if not known:
        raise InvalidParameter("workload", asked.matrix.kind, "one for which some method has a predicted error")
    # Synthetic shapes promise nothing: only a clear gain counts.
    best = min(known, key=lambda one: (one.error or 0.0) * (1 if one.basis == EXACT else _CARE))
    second = next((one for one in known if one is not best), None)
    beside = "" if second is None else f"; beside it {second.method} with {two_digits(second.error or 0.0)}"
    because = f"the least predicted error, {two_digits(best.error or 0.0)} a query ({best.basis}){beside}"
    return Choice(best.method, tuple(found), loss, shape, because)


def _pruned_if_worth_it(best: Choice, asked: Workload) -> Choice:
    """Return a pruned histogram as the choice, if its plain estimates are not much worse than the best."""
    plain = next((one for one in best.candidates if one.method == PRUNED and one.basis == PLAIN), None)
    if plain is None or plain.error is None or not isinstance(asked.matrix, AllRanges | Prefixes):
        return best
    if asked.cells < _LEAST_PRUNED or plain.error > _WORTH * best.error:
        return best
    because = (
        f"few rows or many, its error is small: at most {two_digits(plain.error)} a query by its noise, and several "
        f"times less where rows are few or evenly spread; {best.method} has {two_digits(best.error)} always, and is "
        "better with many rows"
    )
    return replace(best, method=PRUNED, because=because)


def _for_error(asked: Workload, shape: tuple[int, ...], wanted: Fraction) -> Choice:
    """Return the choice at the least epsilon, to one part in a thousand, with an exactly predicted error of ``wanted``.

    Errors fall as epsilon grows, so that halving finds it.
    """
    low, high = Fraction(1, 2**20), Fraction(1)
    found = _candidates(asked, shape, PureDP(high), data_dependent=False, rows=None)
    while found.error > wanted:
        low, high = high, high * 2
        if high > 2**10:
            raise InvalidParameter("target_error", str(wanted), "an error that some epsilon up to 1,024 reaches")
        found = _candidates(asked, shape, PureDP(high), data_dependent=False, rows=None)
    for _ in range(12):
        if high - low <= low / 1000:
            break
        middle = Fraction(math.sqrt(float(low * high))).limit_denominator(10**6)
        trial = _candidates(asked, shape, PureDP(middle), data_dependent=False, rows=None)
        low, high, found = (low, middle, trial) if trial.error <= wanted else (middle, high, found)
    return found


def _candidate(
    method: Method, asked: Workload, shape: tuple[int, ...], loss: Loss, *, data_dependent: bool, rows: int | None
) -> Candidate:
    if method.is_data_dependent and not data_dependent:
        return Candidate(method.name, None, "looks at the counts; not allowed here")
    if rows is not None and (method.is_data_dependent or method.name in _AVERAGED):
        try:
            return Candidate(method.name, _tried(method, asked, shape, loss, rows), TRIED)
        except InvalidParameter:
            return Candidate(method.name, None, "is not made for this shape")
    if method.is_data_dependent:
        return Candidate(method.name, None, "depends on the counts; say about how many rows there are")
    error = _exact(method.name, asked, shape, loss)
    basis = PLAIN if method.name in _AVERAGED else EXACT
    return Candidate(method.name, error, basis if error is not None else "has no quick figure for this workload")


def _exact(name: str, asked: Workload, shape: tuple[int, ...], loss: Loss) -> float | None:
    """Return the root mean square error of answers computed from the published cells; None if it takes too long."""
    cells = math.prod(shape)
    if name == "identity":
        noise = variance_of(build_method(name, loss, shape).node)
        if isinstance(asked.matrix, AllRanges):
            # The mean length of a range.
            return math.sqrt(noise * (cells + 2) / 3)
        strategy = Strategy(Identity(cells) if len(shape) == 1 else Kron(tuple(map(Identity, shape))))
        return math.sqrt(noise * asked.total_variance_factor(strategy) / asked.queries)
    if name in ("hierarchical", PRUNED):
        return _of_tree(build_method(name, loss, shape), asked)
    if name == "dawa":
        return _of_tree(build_method(name, loss, shape).tree, asked)
    if name == "privelet" and cells <= _MOST_WAVELET:
        table: Privelet = build_method(name, loss, shape)
        noise = variance_of_noise(table.noise)
        return math.sqrt(noise * asked.matrix.total_variance(table.covariance) / asked.queries)
    if name == "hdmm" and cells <= _MOST_SEARCHED and (len(shape) > 1 or isinstance(asked.matrix, AllRanges)):
        searched: Hdmm = build_method(name, loss, shape)
        total = asked.total_variance_factor(searched.strategy)
        return math.sqrt(variance_of_noise(searched.noise) * total / asked.queries)
    return None


def _of_tree(tree: HierarchicalHistogram | PrunedHistogram, asked: Workload) -> float | None:
    matrix = asked.matrix
    if isinstance(matrix, AllRanges):
        return math.sqrt(tree.mean_range_variance)
    if isinstance(matrix, Identity):
        return math.sqrt(float(tree.variances.cells.mean()))
    if isinstance(matrix, Prefixes):
        return math.sqrt(mean_prefix_variance(tree.variances))
    if asked.queries > _MOST_ROWS:
        return None
    if isinstance(matrix, Ranges):
        ends = zip(matrix.first.values.tolist(), matrix.last.values.tolist(), strict=True)
        every = [tree.range_variance(first, last + 1) for first, last in ends]
    elif asked.queries * asked.cells <= _MOST_ROWS**2:
        every = [tree.variances.of_query(row) for row in matrix.dense()]
    else:
        return None
    return math.sqrt(sum(every) / len(every))


def _tried(method: Method, asked: Workload, shape: tuple[int, ...], loss: Loss, rows: int) -> float:
    """Return the root mean square error over public shapes: the noise is real, the counts are synthetic."""
    mechanism, errors = method.build(loss, shape), []
    for share in public_shapes(shape):
        counts = np.floor(share * rows + 0.5).astype(np.int64)
        errors += [_mean_square(asked, perform(mechanism, counts, stability=1) - counts) for _ in range(_TRIALS)]
    return math.sqrt(sum(errors) / len(errors))


def _mean_square(asked: Workload, off: NDArray[np.float64]) -> float:
    if isinstance(asked.matrix, AllRanges):
        # The sum of (P_j - P_i)^2 over all pairs of prefix sums, of which the empty one is the first.
        sums = np.concatenate([[0.0], np.cumsum(off)])
        return float((sums.size * (sums**2).sum() - sums.sum() ** 2) / asked.queries)
    return float(np.mean(asked.answer(off) ** 2))


def public_shapes(shape: tuple[int, ...]) -> tuple[NDArray[np.float64], ...]:
    """Return synthetic distributions over a table of that shape: flat, smooth, skewed, clustered, sparse, stepped.

    They are functions of the shape alone; along several axes products of those of one.

    >>> [round(float(share.sum()), 6) for share in public_shapes((8,))]
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    found = []
    for profile in _PROFILES:
        share = np.ones(shape)
        for axis, size in enumerate(shape):
            line = profile((np.arange(size) + 0.5) / size, np.arange(size))
            share *= line.reshape([-1 if place == axis else 1 for place in range(len(shape))])
        found.append(share / share.sum())
    return tuple(found)


_PROFILES: Final[tuple[Callable[[Any, Any], Any], ...]] = (
    lambda x, k: np.ones_like(x),
    lambda x, k: np.exp(-((x - 0.4) ** 2) / 0.02) + 0.3 * np.exp(-((x - 0.75) ** 2) / 0.005),
    lambda x, k: 1 / (k + 1.0) ** 1.2,
    lambda x, k: np.exp(-((x - 0.2) ** 2) / 0.0005) + np.exp(-((x - 0.6) ** 2) / 0.0002) + 1e-4,
    lambda x, k: np.where(k * 37 % 101 < 4, 1.0 / (1 + k * 53 % 17), 0.0) + (k == 0),
    lambda x, k: 1.0 + np.floor(x * 8) * 5 % 7,
)


def _shape(domain: int | Sequence[int]) -> tuple[int, ...]:
    sizes = (domain,) if isinstance(domain, int) else tuple(domain)
    if not sizes:
        raise InvalidParameter("domain", domain, "at least one axis")
    shape = tuple(whole("domain", size, least=1) for size in sizes)
    if math.prod(shape) > MOST_CELLS:
        rule = f"at most {MOST_CELLS} cells; for more take marginals, whose tables are never written out together"
        raise InvalidParameter("domain", f"{math.prod(shape)} cells", rule)
    return shape


def _workload(workload: Workload | str, shape: tuple[int, ...]) -> Workload:
    if isinstance(workload, Workload):
        if workload.domain != shape and workload.domain != (math.prod(shape),):
            raise InvalidParameter("workload", workload.domain, f"over the domain {shape}")
        return workload
    makers = {"ranges": Workload.all_ranges, "cells": Workload.cells_of, "prefixes": Workload.prefixes}
    if workload not in makers:
        raise InvalidParameter("workload", workload, f"{', '.join(makers)}, or a Workload")
    parts = [makers[workload](size) for size in shape]
    return parts[0] if len(parts) == 1 else Workload.kron(*parts)


__all__ = ["Candidate", "Choice", "choose", "public_shapes"]
