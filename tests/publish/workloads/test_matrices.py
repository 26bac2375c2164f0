"""Matrices of queries: what is known by formula is compared with the same thing written out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from dither.errors import InvalidParameter
from dither.mechanisms.core.public import PublicArray
from dither.privacy import L1, L2, Relation
from dither.privacy.sensitivity import all_ranges, linear_sensitivity
from dither.publish.workloads import (
    AllRanges,
    Dense,
    Grouped,
    Haar,
    Hierarchy,
    Identity,
    Kron,
    Marginals,
    Matrix,
    NominalTree,
    PIdentity,
    Prefixes,
    Ranges,
    Sparse,
    Strategy,
    Total,
    Union,
    Weighted,
    Workload,
    register_matrix,
)
from dither.publish.workloads.matrices import Array, ColumnNorms
from dither.publish.workloads.record import _kinds

THIRD = Fraction(1, 3)
MATRICES: dict[str, Matrix] = {
    "identity": Identity(5),
    "total": Total(4),
    "one cell": Identity(1),
    "prefixes": Prefixes(6),
    "all ranges": AllRanges(5),
    "ranges": Ranges(6, PublicArray([0, 2, 2, 5]), PublicArray([3, 2, 5, 5])),
    "dense": Dense(PublicArray([[1, -2, 0], [3, 0, 4]])),
    "halves": Dense(PublicArray([[0.5, -1.25], [2.0, 0.0]])),
    "sparse": Sparse((3, 4), PublicArray([0, 1, 1]), PublicArray([3, 0, 3]), PublicArray([2, -1, 5])),
    "haar": Haar(8),
    "haar of one": Haar(1),
    "binary tree": Hierarchy(8, 2),
    "weighted tree": Hierarchy(9, 3, (2, 1, 5)),
    "ragged tree": Hierarchy(7, 3),
    "tree without leaves": Hierarchy(4, 2, (0, 1, 1)),
    "nominal": NominalTree((2, 3, (1, 2))),
    "p-identity": PIdentity(PublicArray([3, 4, 5]), PublicArray([[1, 1, 0], [0, 2, 2]])),
    "kron": Kron((Haar(2), Prefixes(3))),
    "three axes": Kron((Identity(2), Total(3), Hierarchy(3, 3))),
    "union": Union((Prefixes(4), Weighted(Identity(4), Fraction(3)))),
    "weighted": Weighted(Haar(4), THIRD),
    "marginals": Marginals((2, 3, 2), ((0, 1), (2,), ())),
    "weighted marginals": Marginals((2, 3), ((0,), (0, 1)), (THIRD, Fraction(2))),
}
NAMED = pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())


def written_out(matrix: Matrix) -> NDArray[np.float64]:
    """The obvious form: one column for each cell."""
    columns = [matrix.times(np.eye(matrix.cells)[:, [cell]])[:, 0] for cell in range(matrix.cells)]
    return np.stack(columns, axis=1)


@NAMED
def test_products_are_those_of_the_written_form(matrix: Matrix) -> None:
    dense = written_out(matrix)
    assert dense.shape == (matrix.queries, matrix.cells)
    rows = np.linspace(-1, 2, matrix.queries * 2).reshape(-1, 2)
    assert np.allclose(matrix.transposed_times(rows), dense.T @ rows)
    assert np.allclose(matrix.rows(np.arange(matrix.queries)), dense)
    assert np.allclose(matrix.gram(), dense.T @ dense)
    assert np.allclose(matrix.dense(), dense)


@pytest.mark.parametrize("entries", [[[-(2**63), 1]], [[-(2**63)], [5]], [[2**62, 1], [2**62, 1], [-(2**62), 3]]])
def test_norms_of_the_largest_integers_do_not_wrap_around(entries: list[list[int]]) -> None:
    """A sum of 64 bits would be negative, and so the noise too small."""
    matrix = Dense(PublicArray(np.array(entries, dtype=np.int64)))
    for power in (1, 2):
        assert matrix.norm(power) == max(
            sum(abs(row[cell]) ** power for row in entries) for cell in range(matrix.cells)
        )


def test_norms_of_products_too_large_to_list_are_bounded_by_their_parts() -> None:
    """The first cell is in all prefixes: there the bound is reached, in sums and multiples of such products, too."""
    product = Kron((Prefixes(2**14), Prefixes(2**13)))
    both = Union((product, Weighted(product, Fraction(-3))))
    assert product.column_norms(1) is None
    assert both.column_norms(1) is None
    assert Kron((both, Identity(2))).column_norms(2) is None
    assert [matrix.norm(1) for matrix in (product, both, Kron((both, Identity(2))))] == [2**27, 2**29, 2**29]
    assert [both.norm(2), Kron((both, Identity(2))).norm(2)] == [10 * 2**27] * 2


@NAMED
def test_norms_are_exact_by_brute_force(matrix: Matrix) -> None:
    dense = written_out(matrix)
    exact = [[Fraction(float(entry)).limit_denominator(1000) for entry in row] for row in dense]
    for power, metric in ((1, L1), (2, L2)):
        sums = [sum(abs(row[cell]) ** power for row in exact) for cell in range(matrix.cells)]
        assert matrix.norm(power) == max(sums)
        joint = linear_sensitivity(exact, metric, relation=Relation.ADD_REMOVE)
        assert Workload(matrix).sensitivity(metric) == joint
    assert matrix.is_exact
    assert matrix.row_bound >= max(sum(map(abs, row)) for row in exact)


@NAMED
def test_least_squares_is_that_of_the_pseudo_inverse(matrix: Matrix) -> None:
    dense = written_out(matrix)
    inverse = np.linalg.pinv(dense)
    noisy = np.cos(np.arange(matrix.queries * 2.0)).reshape(-1, 2)
    assert np.allclose(matrix.solve(noisy), inverse @ noisy)
    covariance = matrix.covariance()
    assert np.allclose(covariance.dense(), inverse @ inverse.T)
    assert np.allclose(covariance.diagonal(), np.diagonal(inverse @ inverse.T))


@NAMED
def test_records_survive_json(matrix: Matrix) -> None:
    workload = Workload(matrix)
    back = Workload.from_dict(json.loads(json.dumps(workload.to_dict())))
    assert back == workload
    assert hash(back) == hash(workload)


@pytest.mark.parametrize("strategy", ["haar", "binary tree", "p-identity", "kron", "marginals", "three axes", "dense"])
def test_variances_are_those_of_the_dense_formula(strategy: str) -> None:
    measured = MATRICES[strategy]
    cells, shape = measured.cells, measured.domain
    asked: list[Matrix] = [
        Identity(cells),
        Prefixes(cells),
        AllRanges(cells),
        Total(cells),
        Weighted(Prefixes(cells), THIRD),
    ]
    if len(shape) > 1:
        asked += [Kron(tuple(AllRanges(axis) for axis in shape)), Marginals(shape, ((0,), tuple(range(len(shape)))))]
    asked.append(Union(tuple(asked)))
    inverse = np.linalg.pinv(written_out(measured))
    for matrix in asked:
        workload, dense = Workload(matrix), written_out(matrix)
        expected = ((dense @ inverse) ** 2).sum(axis=1)
        assert np.allclose(workload.variance_factors(Strategy(measured)), expected)
        assert workload.total_variance_factor(Strategy(measured)) == pytest.approx(expected.sum())
        spans = np.allclose(dense @ inverse @ written_out(measured), dense)
        assert workload.supported_by(Strategy(measured)) == spans


def test_marginals_from_marginals_never_write_the_table_out() -> None:
    measured = Marginals((2, 3, 4), ((0, 1), (1, 2), (0,)), (Fraction(3), Fraction(2), Fraction(5)))
    asked = Marginals((2, 3, 4), ((0, 1), (1,), (), (2,)), (Fraction(1), Fraction(1, 2), Fraction(1), Fraction(2)))
    noisy = np.sin(np.arange(measured.queries))
    expected = written_out(asked) @ np.linalg.pinv(written_out(measured)) @ noisy
    assert np.allclose(Workload(asked).reconstruct(Strategy(measured), noisy), expected)


def test_a_grouped_strategy_answers_each_part_from_its_own_group() -> None:
    parts = (Kron((AllRanges(3), Total(2))), Kron((Total(3), Identity(2))))
    groups = (Weighted(Kron((Identity(3), Total(2))), Fraction(2)), Kron((Identity(3), Identity(2))))
    workload, strategy = Workload(Union(parts)), Strategy(Grouped(groups, ((0,), (1,))))
    noisy = np.cos(np.arange(strategy.queries))
    pieces = np.split(noisy, [3])
    inverses = [np.linalg.pinv(written_out(group)) for group in groups]
    expected = [
        written_out(part) @ inverse @ piece for part, inverse, piece in zip(parts, inverses, pieces, strict=True)
    ]
    assert np.allclose(workload.reconstruct(strategy, noisy), np.concatenate(expected))
    factors = [((written_out(part) @ inverse) ** 2).sum(axis=1) for part, inverse in zip(parts, inverses, strict=True)]
    assert np.allclose(workload.variance_factors(strategy), np.concatenate(factors))
    assert strategy.sensitivity(L1) == 3
    with pytest.raises(InvalidParameter, match="a union of 2 parts"):
        Workload.prefixes(6).variance_factors(strategy)


@pytest.mark.parametrize("cells", range(1, 12))
def test_the_joint_sensitivity_of_all_ranges(cells: int) -> None:
    """ceil(N/2) (floor(N/2) + 1): 6 for the ten ranges on four cells."""
    workload = Workload.all_ranges(cells)
    assert workload.sensitivity(L1) == -(-cells // 2) * (cells // 2 + 1)
    assert np.array_equal(workload.matrix.dense(), all_ranges(cells))


def test_a_thousand_million_cells_are_priced_and_never_written_out() -> None:
    big = 10**9
    assert Workload.all_ranges(big).sensitivity(L1) == (big // 2) * (big // 2 + 1)
    assert Workload.prefixes(big).sensitivity(L1) == big
    pairs = Workload.marginals((10,) * 9, 2)
    assert (pairs.cells, pairs.queries, pairs.sensitivity(L1)) == (big, 3600, 36)
    product = Workload.kron(Workload.prefixes(1000), Workload.all_ranges(1000), Workload.cells_of(1000))
    assert product.sensitivity(L1) == 1000 * 250500
    few = Workload.ranges(big, [(0, 10), (5, big - 1), (7, 9)])
    assert few.sensitivity(L1) == 3
    for call in (pairs.matrix.dense, Workload.prefixes(big).matrix.gram, lambda: Workload.all_ranges(big).answer([0])):
        with pytest.raises(InvalidParameter):
            call()
    with pytest.raises(InvalidParameter, match=r"implicit form \(kron, marginals\)"):
        pairs.matrix.dense()
    with pytest.raises(InvalidParameter, match=r"product of smaller ones \(kron\), marginals, or a Haar"):
        Workload.prefixes(big).matrix.gram()


def test_sparse_and_float_matrices() -> None:
    dense = np.array([[0, 2, 0], [1, 0, -3]])
    assert np.array_equal(Workload.matrix_of(sparse.csr_array(dense)).matrix.dense(), dense)
    assert Workload.matrix_of(sparse.coo_array(dense)).sensitivity(L1) == 3
    wide = sparse.coo_array(([1, 1, 1], ([0, 1, 1], [5, 5, 10**9 - 1])), shape=(2, 10**9))
    assert Workload.matrix_of(wide).sensitivity(L1) == 2
    # A tenth is no dyadic number: the bound is above the float itself, by less than one part in 2^40.
    tenth = Workload.matrix_of(np.array([[0.1, 2**-60], [0.1, 0.1]]))
    true = Fraction(0.1) * 2
    assert true <= tenth.sensitivity(L1) <= true * (1 + Fraction(1, 2**40))
    assert not tenth.matrix.is_exact
    far = Workload.matrix_of(np.array([[1e308], [5e-324]]))
    assert far.sensitivity(L1) >= Fraction(1e308) + Fraction(5e-324)
    assert not far.matrix.is_exact
    assert Workload.matrix_of(np.array([[0.5, 0.25]])).sensitivity(L1) == Fraction(1, 2)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Workload.all_ranges(0),
        lambda: Workload.prefixes(-1),
        lambda: Workload.cells_of(True),
        lambda: Workload.ranges(4, []),
        lambda: Workload.ranges(4, [(2, 1)]),
        lambda: Workload.ranges(4, [(0, 4)]),
        lambda: Workload.matrix_of(np.zeros((0, 3))),
        lambda: Workload.matrix_of(np.array([[1.0, np.nan]])),
        lambda: Workload.matrix_of(np.array([1, 2])),
        lambda: Workload.matrix_of(np.array([["a"]])),
        lambda: Workload.matrix_of(np.array([[2**63]], dtype=np.uint64)),
        lambda: Workload.marginals((), 0),
        lambda: Workload.marginals((2, 3), []),
        lambda: Workload.marginals((2, 3), [(0, 2)]),
        lambda: Workload.marginals((2, 3), [(0,), (0,)]),
        lambda: Workload.marginals((2, 0), 1),
        lambda: Workload.kron(),
        lambda: Workload.union(Workload.prefixes(2), Workload.prefixes(3)),
        lambda: Workload.prefixes(3).weighted(0),
        lambda: Workload.prefixes(3).weighted(float("nan")),
        lambda: Strategy(Weighted(Identity(2), THIRD)),
        lambda: Strategy(Dense(PublicArray([[0, 0]]))),
        lambda: Haar(6),
        lambda: Hierarchy(4, 1),
        lambda: NominalTree((3,)),
        lambda: Workload.from_dict({"kind": "unheard of"}),
        lambda: Workload.from_dict({"kind": "identity", "size": 1.5}),
        lambda: Workload.from_dict({"kind": "kron", "factors": [{"kind": "identity"}]}),
        lambda: Workload.prefixes(3).answer([1, 2]),
        lambda: Workload.prefixes(3).variance_factors(Strategy(Identity(4))),
    ],
)
def test_bad_input_is_refused_by_name(build: object) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        build()  # type: ignore[operator]


@dataclass(frozen=True)
class EveryOther(Matrix):
    """Every second cell: a kind of a user's own, with nothing but its products and its norms."""

    kind: ClassVar[str] = "every other"
    size: int

    @property
    def domain(self) -> tuple[int, ...]:
        return (self.size,)

    @property
    def queries(self) -> int:
        return (self.size + 1) // 2

    @property
    def row_bound(self) -> Fraction:
        return Fraction(1)

    def times(self, x: Array) -> Array:
        return x[::2]

    def transposed_times(self, y: Array) -> Array:
        wide = np.zeros((self.size, y.shape[1]), dtype=y.dtype)
        wide[::2] = y
        return wide

    def column_norms(self, power: int) -> ColumnNorms:
        return ColumnNorms(np.arange(1, self.size + 1) % 2, Fraction(1))


def test_a_kind_of_ones_own_has_everything_else() -> None:
    matrix = EveryOther(5)
    workload = Workload(matrix)
    with pytest.raises(InvalidParameter, match="register_matrix"):
        workload.to_dict()
    register_matrix(EveryOther)
    try:
        assert Workload.from_dict(json.loads(json.dumps(workload.to_dict()))) == workload
    finally:
        _kinds.pop("every other")
    dense = np.eye(5)[::2]
    assert np.array_equal(matrix.dense(), dense)
    assert np.allclose(matrix.covariance().dense(), np.linalg.pinv(dense.T @ dense))
    assert workload.sensitivity(L1) == 1
    assert workload.supported_by(Strategy(matrix))
    assert not Workload.prefixes(5).supported_by(Strategy(matrix))
