"""Matrices of linear queries in structured form: a row for each query, a column for each cell.

Workloads (what is asked) and strategies (what is measured) are both such matrices. A matrix is a frozen record of
public parameters; it is multiplied without being written out, so that a thousand million cells cost nothing until
somebody asks for their numbers. What is only possible written out is refused above public limits, before any budget is
spent.

Guaranteed: ``norm`` is the exact largest column sum of ``|entry|^power`` wherever ``is_exact``, and never less than it
otherwise; multiplication of integers by matrices of integers is exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.least_squares import least_squares
from dither.exact import typed, whole
from dither.mechanisms.core.public import PublicArray
from dither.publish.workloads.symmetric import DenseSymmetric, Multiple, Symmetric

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Up to this many cells, a square matrix over all cells is written out.
MOST_SQUARE = 4096
#: Up to this many numbers are written out at once.
MOST_ENTRIES = 2**26
#: The largest domain; domains are never written out.
MOST_CELLS = 2**60
_FITS = 2**62
_BLOCK = 2**22
_MOST_WORK = 2**32
#: So many variances are solved one by one, where a covariance is not known by formula.
_MOST_SOLUTIONS = 512


class ColumnNorms(NamedTuple):
    """The norms of columns: ``whole[c] * scale``; a single number stands for columns with equal norms."""

    whole: Array
    scale: Fraction

    @property
    def largest(self) -> Fraction:
        """The largest norm."""
        return int(max(self.whole.max(), 0)) * self.scale


class Matrix(ABC):
    """A matrix of linear queries."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def domain(self) -> tuple[int, ...]:
        """The shape of the counts that it multiplies."""

    @property
    @abstractmethod
    def queries(self) -> int:
        """The number of rows."""

    @property
    def cells(self) -> int:
        """The number of columns."""
        return math.prod(self.domain)

    @property
    def is_integer(self) -> bool:
        """Whether all entries are integers."""
        return True

    @property
    def is_exact(self) -> bool:
        """Whether ``norm`` is exact rather than an upper bound."""
        return True

    @abstractmethod
    def times(self, x: Array) -> Array:
        """Return the product with columns ``x``, an array of shape (cells, k)."""

    @abstractmethod
    def transposed_times(self, y: Array) -> Array:
        """Return the product of the transposed matrix with columns ``y``, an array of shape (queries, k)."""

    @abstractmethod
    def column_norms(self, power: int) -> ColumnNorms | None:
        """Return the sums of ``|entry|^power`` over columns; None if they differ and there are too many."""

    def norm(self, power: int) -> Fraction:
        """Return the largest column sum of ``|entry|^power``, or a bound on it."""
        norms = self.column_norms(power)
        return self._norm_bound(power) if norms is None else norms.largest

    def _norm_bound(self, power: int) -> Fraction:
        raise InvalidParameter("matrix", f"{self.cells} cells", "of a kind whose column norms are known")

    @property
    @abstractmethod
    def row_bound(self) -> Fraction:
        """At least the largest sum of ``|entry|`` over a row: the largest answer for counts from -1 to 1."""

    def rows(self, index: NDArray[np.int64]) -> Floats:
        """Return these rows, written out."""
        refuse_dense(len(index) * self.cells, "rows")
        unit = np.zeros((self.queries, len(index)))
        unit[index, np.arange(len(index))] = 1.0
        return np.ascontiguousarray(self.transposed_times(unit).T)

    def dense(self) -> Floats:
        """Return all entries."""
        refuse_dense(self.queries * self.cells, "the dense form")
        return np.asarray(self.times(np.eye(self.cells)), dtype=np.float64)

    def gram(self) -> Floats:
        """Return the transposed matrix times the matrix, cell by cell."""
        self.check_square()
        total = np.zeros((self.cells, self.cells))
        for block in self.blocks():
            total += block.T @ block
        return total

    def blocks(self) -> Any:
        """Yield all rows in order, one block at a time."""
        step = max(1, _BLOCK // max(1, self.cells))
        for start in range(0, self.queries, step):
            yield self.rows(np.arange(start, min(start + step, self.queries)))

    def variances(self, covariance: Symmetric) -> Floats:
        """Return the variance of every query when the counts have that covariance."""
        refuse_dense(self.queries, "the variance of every query")
        if self.queries * self.cells > _MOST_WORK:
            rule = (
                "of at most 2^32 entries where variances are made row by row; read ranges off a Haar strategy instead"
            )
            raise InvalidParameter("matrix", f"{self.queries} queries on {self.cells} cells", rule)
        if isinstance(covariance, ImplicitCovariance) and self.queries > _MOST_SOLUTIONS:
            # Refused at once, not after the first of many blocks.
            covariance.diagonal()
        parts = [np.einsum("ij,ji->i", block, covariance.apply(block.T)) for block in self.blocks()]
        return np.concatenate(parts)

    def total_variance(self, covariance: Symmetric) -> float:
        """Return the sum of the variances of all queries."""
        if isinstance(covariance, DenseSymmetric):
            return float(np.sum(self.gram() * covariance.values))
        return float(self.variances(covariance).sum())

    def covariance(self) -> Symmetric:
        """Return the covariance of ``solve``'s estimate when this matrix is measured with noise of variance 1."""
        if self.cells > MOST_SQUARE:
            return ImplicitCovariance(self)
        # Entries are of one size, more or less; what is small beside the rounding of the sum is not information.
        inverse = np.linalg.pinv(self.gram(), rcond=1e-12, hermitian=True)
        return DenseSymmetric(np.asarray(inverse, dtype=np.float64))

    def solve(self, y: Floats) -> Floats:
        """Return the least-squares estimate of the counts from noisy products, both as columns."""
        if self.cells > MOST_SQUARE:
            return np.stack([ImplicitCovariance(self).estimate(column) for column in y.T], axis=1)
        return self.covariance().apply(self.transposed_times(y))

    def check_square(self) -> None:
        """Reject operations that need a square matrix over all cells, if there are too many cells."""
        if self.cells > MOST_SQUARE:
            rule = (
                f"of at most {MOST_SQUARE} cells where covariances are written out; for more take a product of smaller "
                "ones (kron), marginals, or a Haar strategy on a power of two"
            )
            raise InvalidParameter("matrix", f"{self.kind} on {self.cells} cells", rule)


@dataclass(frozen=True, eq=False)
class ImplicitCovariance(Symmetric):
    """The covariance of least squares on a matrix too large to write out: solved query by query."""

    matrix: Matrix

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.matrix.cells

    def _products(self) -> tuple[Any, Any, tuple[int, int]]:
        matrix = self.matrix
        refuse_dense(max(matrix.cells, matrix.queries), "an estimate")
        return (
            lambda x: matrix.times(np.asarray(x).reshape(-1, 1))[:, 0],
            lambda y: matrix.transposed_times(np.asarray(y).reshape(-1, 1))[:, 0],
            (matrix.queries, matrix.cells),
        )

    def estimate(self, measured: Floats) -> Floats:
        """Return the least-squares estimate of the counts."""
        return least_squares(*self._products(), measured)

    def apply(self, x: Floats) -> Floats:
        """Return the product, two solutions per column."""
        if x.shape[1] > _MOST_SOLUTIONS:
            rule = f"at most {_MOST_SOLUTIONS} where each is solved separately; take kron, marginals or Haar instead"
            raise InvalidParameter("queries", x.shape[1], rule)
        times, transposed, shape = self._products()
        columns = [self.estimate(least_squares(transposed, times, shape[::-1], column)) for column in x.T]
        return np.stack(columns, axis=1)

    def diagonal(self) -> Floats:
        """Raise: one solution per cell would be too many."""
        return self.apply(np.broadcast_to(np.zeros(1), (self.size, self.size)))


def refuse_dense(entries: int, what: str) -> None:
    """Refuse to write out more numbers than the public limit."""
    if entries > MOST_ENTRIES:
        rule = f"at most 2^26 numbers where {what} is written out; ask for the implicit form (kron, marginals) instead"
        raise InvalidParameter("size", entries, rule)


def cell_count(name: str, cells: int) -> int:
    """Return a number of cells, or reject it by name."""
    return whole(name, cells, least=1, most=MOST_CELLS)


@dataclass(frozen=True)
class _OneAxis(Matrix):
    """A matrix over one axis that is determined by its number of cells."""

    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", cell_count("cells", self.size))

    @property
    def domain(self) -> tuple[int, ...]:
        """The one axis."""
        return (self.size,)


@dataclass(frozen=True)
class Identity(_OneAxis):
    """Every cell.

    >>> Identity(3).dense().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    kind: ClassVar[str] = "identity"

    @property
    def queries(self) -> int:
        """One per cell."""
        return self.size

    @property
    def row_bound(self) -> Fraction:
        """One cell per row."""
        return Fraction(1)

    def times(self, x: Array) -> Array:
        """Return x."""
        return x

    def transposed_times(self, y: Array) -> Array:
        """Return y."""
        return y

    def column_norms(self, power: int) -> ColumnNorms:
        """Return 1 for all."""
        return ColumnNorms(np.ones(1, dtype=np.int64), Fraction(1))

    def rows(self, index: NDArray[np.int64]) -> Floats:
        """Return unit rows."""
        refuse_dense(len(index) * self.cells, "rows")
        return np.asarray(index[:, None] == np.arange(self.size), dtype=np.float64)

    def gram(self) -> Floats:
        """Return the identity."""
        self.check_square()
        return np.eye(self.size)

    def variances(self, covariance: Symmetric) -> Floats:
        """Return the diagonal."""
        refuse_dense(self.queries, "the variance of every query")
        return covariance.diagonal()

    def covariance(self) -> Symmetric:
        """Return the identity."""
        return Multiple(self.size, 1.0)

    def solve(self, y: Floats) -> Floats:
        """Return y."""
        return y


@dataclass(frozen=True)
class Total(_OneAxis):
    """The sum of all cells."""

    kind: ClassVar[str] = "total"

    @property
    def queries(self) -> int:
        """One."""
        return 1

    @property
    def row_bound(self) -> Fraction:
        """All cells."""
        return Fraction(self.size)

    def times(self, x: Array) -> Array:
        """Return the sums."""
        return np.asarray(x.sum(axis=0, keepdims=True))

    def transposed_times(self, y: Array) -> Array:
        """Return that number in every cell."""
        return np.broadcast_to(y, (self.size, y.shape[1])).copy()

    def column_norms(self, power: int) -> ColumnNorms:
        """Return 1 for all."""
        return ColumnNorms(np.ones(1, dtype=np.int64), Fraction(1))

    def gram(self) -> Floats:
        """Return ones."""
        self.check_square()
        return np.ones((self.size, self.size))

    def covariance(self) -> Symmetric:
        """Return the covariance of the total spread evenly."""
        self.check_square()
        return DenseSymmetric(np.full((self.size, self.size), 1.0 / self.size**2))

    def solve(self, y: Floats) -> Floats:
        """Return the total spread evenly."""
        return self.transposed_times(y) / self.size


@dataclass(frozen=True)
@typed
class Dense(Matrix):
    """Entries written out: integers or floats, a row for each query."""

    kind: ClassVar[str] = "dense"
    entries: PublicArray

    def __post_init__(self) -> None:
        values = self.entries.values
        if values.ndim != 2:
            raise InvalidParameter(
                "matrix", f"an array of shape {values.shape}", "a table: a row a query, a column a cell"
            )
        if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
            raise InvalidParameter("matrix", str(values.dtype), "integers or floats")
        if values.dtype.kind == "u" and int(values.max()) >= 2**63:
            raise InvalidParameter("matrix", "a number of 2^63 or more", "integers that fit into 64 bits with a sign")
        if values.dtype.str not in ("<i8", "<f8"):
            object.__setattr__(
                self, "entries", PublicArray(values.astype(np.float64 if values.dtype.kind == "f" else np.int64))
            )
        refuse_dense(values.size, "the matrix")

    @property
    def domain(self) -> tuple[int, ...]:
        """One axis."""
        return (int(self.entries.values.shape[1]),)

    @property
    def queries(self) -> int:
        """The number of rows."""
        return int(self.entries.values.shape[0])

    @property
    def is_integer(self) -> bool:
        """Whether the entries are of an integer type."""
        return self.entries.values.dtype.kind == "i"

    @property
    def is_exact(self) -> bool:
        """Whether the norms' grid represents every entry exactly."""
        return grid_of(self.entries.values)[2]

    @property
    def row_bound(self) -> Fraction:
        """The largest row sum of absolute values, rounded up."""
        values, scale, _ = grid_of(self.entries.values)
        return int(_sums(values.T, 1).max()) * scale

    def times(self, x: Array) -> Array:
        """Return the product, exact for integers."""
        return np.asarray(self.entries.values @ x)

    def transposed_times(self, y: Array) -> Array:
        """Return the product with the transpose."""
        return np.asarray(self.entries.values.T @ y)

    def column_norms(self, power: int) -> ColumnNorms:
        """Return the sums, each entry rounded away from 0 to a grid that represents it exactly where possible."""
        values, scale, _ = grid_of(self.entries.values)
        return ColumnNorms(_sums(values, power), scale**power)

    def rows(self, index: NDArray[np.int64]) -> Floats:
        """Return these rows."""
        return self.entries.values[index].astype(np.float64)

    def dense(self) -> Floats:
        """Return the entries."""
        return self.entries.values.astype(np.float64)

    def gram(self) -> Floats:
        """Return the product in floats."""
        self.check_square()
        values = self.dense()
        return np.asarray(values.T @ values)


def grid_of(values: Array) -> tuple[Array, Fraction, bool]:
    """Return absolute values as multiples of a dyadic step, rounded up; and whether they are exact.

    >>> [part if isinstance(part, bool) else str(part) for part in grid_of(np.array([0.5, -1.75]))]
    ['[2 7]', '1/4', True]
    """
    if values.dtype.kind == "i":
        # The absolute value of the least int64 does not fit one.
        return (np.abs(values) if int(values.min()) > -_FITS else np.abs(values.astype(object))), Fraction(1), True
    largest = float(np.abs(values).max())
    power = 0 if largest == 0 else 52 - math.frexp(largest)[1]
    scaled = np.ldexp(np.abs(values), power)
    # What is too small for the step to be seen in floats still is not 0.
    rounded = np.where(values != 0, np.maximum(np.ceil(scaled), 1), 0).astype(np.int64)
    common = int(np.gcd.reduce(rounded, axis=None)) or 1
    shift = min((common & -common).bit_length() - 1, 52)
    return rounded >> shift, Fraction(2) ** (shift - power), bool((rounded == scaled).all())


def _sums(absolute: Array, power: int) -> Array:
    """Return the sums of powers over columns, in Python integers where they might overflow."""
    largest = int(absolute.max(initial=0))
    if largest**power * max(1, absolute.shape[0]) >= _FITS:
        absolute = absolute.astype(object)
    return np.asarray((absolute**power).sum(axis=0))


@dataclass(frozen=True)
@typed
class Sparse(Matrix):
    """Entries at coordinates; all others are 0."""

    kind: ClassVar[str] = "sparse"
    shape: tuple[int, int]
    row: PublicArray
    column: PublicArray
    value: PublicArray

    def __post_init__(self) -> None:
        queries, cells = self.shape
        whole("queries", queries, least=1, most=MOST_CELLS)
        cell_count("cells", cells)
        for name, most in (("row", queries), ("column", cells)):
            values = getattr(self, name).values
            is_place = values.ndim == 1 and values.dtype.str == "<i8" and values.min() >= 0 and values.max() < most
            if not is_place or values.shape != self.value.values.shape:
                raise InvalidParameter(
                    name, f"{values.dtype} of shape {values.shape}", f"one place below {most} an entry"
                )
        if self.value.values.dtype.str not in ("<i8", "<f8"):
            raise InvalidParameter("value", str(self.value.values.dtype), "int64 or float64")
        places = self.row.values.astype(object) * cells + self.column.values
        if len(set(places.tolist())) != places.size:
            raise InvalidParameter("row", "a place that occurs twice", "one entry a place")

    @property
    def domain(self) -> tuple[int, ...]:
        """One axis."""
        return (self.shape[1],)

    @property
    def queries(self) -> int:
        """The number of rows."""
        return self.shape[0]

    @property
    def is_integer(self) -> bool:
        """Whether the entries are of an integer type."""
        return self.value.values.dtype.kind == "i"

    @property
    def is_exact(self) -> bool:
        """Whether the norms' grid represents every entry exactly."""
        return grid_of(self.value.values)[2]

    @property
    def row_bound(self) -> Fraction:
        """The largest row sum of absolute values, rounded up."""
        values, scale, _ = grid_of(self.value.values)
        return int(_grouped(values, self.row.values, 1).max()) * scale

    def _scipy(self) -> Any:
        from scipy import sparse

        entries = (self.value.values, (self.row.values, self.column.values))
        return sparse.csr_array(entries, shape=self.shape)

    def times(self, x: Array) -> Array:
        """Return the product, exact for integers."""
        refuse_dense(self.queries * x.shape[1], "the product")
        return np.asarray(self._scipy() @ x)

    def transposed_times(self, y: Array) -> Array:
        """Return the product with the transpose."""
        refuse_dense(self.cells * y.shape[1], "the product")
        return np.asarray(self._scipy().T @ y)

    def column_norms(self, power: int) -> ColumnNorms | None:
        """Return the sums; 0 for columns without entries."""
        if self.cells > MOST_ENTRIES:
            return None
        values, scale, _ = grid_of(self.value.values)
        sums = np.zeros(self.cells, dtype=object)
        np.add.at(sums, self.column.values, values.astype(object) ** power)
        return ColumnNorms(sums, scale**power)

    def _norm_bound(self, power: int) -> Fraction:
        # Columns without entries have norm 0, so that the columns with entries are enough.
        values, scale, _ = grid_of(self.value.values)
        return int(_grouped(values, self.column.values, power).max()) * scale**power

    def rows(self, index: NDArray[np.int64]) -> Floats:
        """Return these rows, written out."""
        refuse_dense(len(index) * self.cells, "rows")
        return np.asarray(self._scipy()[index].toarray(), dtype=np.float64)


def _grouped(values: Array, places: Array, power: int) -> Array:
    """Return the sums of powers at every place that occurs."""
    _, inverse = np.unique(places, return_inverse=True)
    sums = np.zeros(int(inverse.max()) + 1, dtype=object)
    np.add.at(sums, inverse, values.astype(object) ** power)
    return sums
