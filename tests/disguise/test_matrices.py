"""Distorted matrices: closed forms, slow twins, the tables of the literature, and what is refused."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from dither.attack.matrices import angle_pairs, undone
from dither.disguise.matrices import (
    Distorted,
    FewFactors,
    FewFrequencies,
    FewRanks,
    MatrixDisguise,
    Perturbed,
    Restored,
    Wavelets,
    distortion,
    restored,
)
from dither.disguise.matrices.perturbation import haar
from dither.errors import InvalidParameter, MissingExtra
from dither.estimate.public_randomness import public_generator

SHAPES = [(8, 4), (7, 5), (1, 3), (5, 1), (3, 3), (2, 9)]


def some(rows: int, columns: int) -> np.ndarray:
    return public_generator().uniform(1.0, 10.0, size=(rows, columns))


def ranks_one_by_one(values: np.ndarray, ties: str) -> np.ndarray:
    """The definition, number by number."""
    out = np.empty(values.shape)
    for column in range(values.shape[1]):
        for row in range(len(values)):
            one = values[row, column]
            below = sum(other < one for other in values[:, column])
            equal_before = sum(other == one for other in values[:row, column])
            equal = sum(other == one for other in values[:, column])
            out[row, column] = below + (equal_before + 1 if ties == "ordinal" else (equal + 1) / 2)
    return out


@pytest.mark.parametrize("ties", ["ordinal", "mean"])
def test_the_measures_are_those_of_the_definitions(ties: str) -> None:
    drawn = public_generator()
    for _ in range(10):
        true, released = (drawn.integers(0, 4, size=(6, 3)).astype(float) + 1 for _ in range(2))
        told = distortion(true, released, ties=ties)  # type: ignore[arg-type]
        moved = np.abs(ranks_one_by_one(true, ties) - ranks_one_by_one(released, ties))
        means = [ranks_one_by_one(one.mean(axis=0)[:, None], ties) for one in (true, released)]
        assert told.vd == pytest.approx(math.sqrt(((true - released) ** 2).sum() / (true**2).sum()))
        assert told.rp == pytest.approx(moved.mean())
        assert told.rk == pytest.approx((moved == 0).mean())
        assert told.cp == pytest.approx(np.abs(means[0] - means[1]).mean())
        assert told.ck == pytest.approx((means[0] == means[1]).mean())


def test_an_unchanged_matrix_keeps_every_rank() -> None:
    one = some(9, 4)
    assert distortion(one, one).to_dict() == {"vd": 0.0, "rp": 0.0, "rk": 1.0, "cp": 0.0, "ck": 1.0}


def test_a_matrix_of_zeros_has_no_relative_change() -> None:
    zeros = np.zeros((2, 2))
    assert distortion(zeros, zeros).vd == 0
    assert distortion(zeros, zeros + 1).vd == math.inf


def test_the_table_of_the_diagnostic_data_is_met() -> None:
    """Table 3.2 of Liu's thesis, first row; its RP is the legacy one."""
    # The file alone: importing its library costs more than all tests here.
    library = find_spec("sklearn")
    if library is None or library.origin is None:
        pytest.skip("needs the file that scikit-learn brings")
    file = Path(library.origin).parent / "datasets" / "data" / "breast_cancer.csv"
    data = np.loadtxt(file, delimiter=",", skiprows=1)[:, :-1]
    made = FewRanks(15).apply(data)
    assert made.distortion is not None
    assert made.distortion.vd == pytest.approx(0.000035, abs=5e-7)
    assert made.distortion.rk == pytest.approx(0.3454, abs=5e-5)
    assert (made.distortion.cp, made.distortion.ck) == (0.0, 1.0)
    assert made.distortion.rp == pytest.approx(34.6, abs=0.05)
    assert distortion(data, made.values, legacy=True).rp == pytest.approx(121.3, abs=0.05)


@pytest.mark.parametrize("shape", SHAPES)
def test_fewer_ranks_leave_the_other_singular_values_behind(shape: tuple[int, int]) -> None:
    true = some(*shape)
    values = np.linalg.svd(true, compute_uv=False)
    for rank in range(1, min(shape) + 1):
        far = np.linalg.norm(FewRanks(rank).apply(true).values - true)
        assert far == pytest.approx(math.sqrt((values[rank:] ** 2).sum()), abs=1e-9)


def test_a_rotation_keeps_every_angle_and_is_new_each_time() -> None:
    true = some(6, 4)
    first, second = (Perturbed().apply(true).values for _ in range(2))
    assert np.allclose(first @ first.T, true @ true.T)
    assert not np.allclose(first, second)
    assert Perturbed().apply(true).distortion is None


def test_a_haar_matrix_is_orthogonal_and_of_either_sign() -> None:
    """Without the correction of signs, the first number of Q would always be negative: 60 draws of one sign, 2e-18."""
    drawn = public_generator()
    firsts = []
    for _ in range(60):
        turned = haar(3, drawn)
        assert np.allclose(turned @ turned.T, np.eye(3))
        firsts.append(turned[0, 0] > 0)
    assert any(firsts)
    assert not all(firsts)


def test_a_projection_keeps_fewer_columns() -> None:
    made = Perturbed(columns=2).apply(some(6, 4))
    assert made.values.shape == (6, 2)
    assert made.distortion is None


def test_noise_alone_keeps_the_columns() -> None:
    true = some(30, 4)
    made = Perturbed(blur=1e-3, rotate=False).apply(true)
    # 120 draws within ten deviations: false alarm 2e-21.
    assert np.abs(made.values - true).max() < 1e-2
    assert made.distortion is not None
    assert made.distortion.vd > 0


@pytest.mark.parametrize("shape", [(8, 4), (7, 5), (3, 3), (2, 9)])
def test_restored_columns_have_the_true_means_and_deviations(shape: tuple[int, int]) -> None:
    true = some(*shape)
    for inner in (FewRanks(1), Perturbed(blur=1.0, rotate=False)):
        made = Restored(inner).apply(true).values
        assert np.allclose(made.mean(axis=0), true.mean(axis=0))
        assert np.allclose(made.std(axis=0, ddof=1), true.std(axis=0, ddof=1))


def test_no_other_column_with_these_moments_is_nearer() -> None:
    true, distorted = some(5, 1), some(5, 1)
    best = np.linalg.norm(restored(true, distorted)[0] - distorted)
    for _ in range(50):
        other = restored(true, some(5, 1))[0]
        assert np.linalg.norm(other - distorted) >= best - 1e-9


def test_a_flattened_column_is_said_to_be_one() -> None:
    true = np.array([[1.0, 5.0, 2.0], [2.0, 5.0, 4.0], [4.0, 5.0, 9.0]])

    class Flat(FewRanks):
        def distort(self, matrix: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
            return np.where([True, True, False], 7.0, matrix), ()

    made = Restored(Flat(1)).apply(true)
    assert made.values[:, 0] == pytest.approx(7 / 3)
    assert made.values[:, 1] == pytest.approx(5)
    said = " ".join(made.done)
    assert "Column 0 had become constant" in said
    assert "Column 1" not in said


@pytest.mark.parametrize("along", ["both", "rows"])
@pytest.mark.parametrize("basis", ["haar", "db2"])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if min(shape) > 1])
def test_wavelets_without_a_threshold_give_the_matrix_back(shape: tuple[int, int], basis: str, along: str) -> None:
    pytest.importorskip("pywt")
    true = some(*shape)
    made = Wavelets(0.0, (basis,), along=along).apply(true)  # type: ignore[arg-type]
    assert np.allclose(made.values, true)


def test_one_level_of_haar_by_hand() -> None:
    """Pairs of columns: the halved sum stays, the halved difference shrinks by half of the row's largest."""
    pytest.importorskip("pywt")
    true = np.array([[1.0, 5.0, 2.0, 3.0], [8.0, 2.0, 0.0, 0.0]])
    made = Wavelets(0.5, scope="row", along="rows", levels=1).apply(true).values
    assert made == pytest.approx(np.array([[2.0, 4.0, 2.5, 2.5], [6.5, 3.5, 0.0, 0.0]]))


def test_a_negative_largest_detail_counts_by_its_size() -> None:
    pytest.importorskip("pywt")
    rows = np.array([[1.0, 9.0], [1.0, 9.0]])
    made = Wavelets(1.0, scope="row", along="rows").apply(rows).values
    assert made == pytest.approx(np.full((2, 2), 5.0))


@pytest.mark.parametrize("split", ["columns", "rows"])
def test_each_block_has_a_basis_of_its_own(split: str) -> None:
    pytest.importorskip("pywt")
    true = some(7, 5)
    made = Wavelets(0.3, ("haar", "db2"), split=split).apply(true).values  # type: ignore[arg-type]
    axis = 1 if split == "columns" else 0
    first, second = np.array_split(true, 2, axis=axis)
    twin = [Wavelets(0.3, (basis,)).apply(one).values for basis, one in (("haar", first), ("db2", second))]
    assert made == pytest.approx(np.concatenate(twin, axis=axis))


@pytest.mark.parametrize("scope", ["band", "level", "all"])
def test_more_threshold_changes_more(scope: str) -> None:
    pytest.importorskip("pywt")
    true = some(12, 7)
    far = [Wavelets(share, scope=scope).apply(true).distortion for share in (0.0, 0.3, 0.6, 1.0)]  # type: ignore[arg-type]
    sizes = [one.vd for one in far if one is not None]
    assert sizes == sorted(sizes)
    assert len(sizes) == 4


def test_wavelets_say_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pywt", None)
    with pytest.raises(MissingExtra, match=r"dither\[disguise\]"):
        Wavelets().apply(some(2, 2))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_baselines_give_the_matrix_back_at_full_size(shape: tuple[int, int]) -> None:
    true = some(*shape)
    assert np.allclose(FewFrequencies(1.0).apply(true).values, true)
    factors = np.outer(some(1, shape[0])[0], some(1, shape[1])[0])
    assert np.allclose(FewFactors(1).apply(factors).values, factors)


def test_factors_are_never_negative_and_more_rounds_come_nearer() -> None:
    true = some(10, 6)
    made = FewFactors(2).apply(true)
    assert made.values.min() >= 0
    assert made.distortion is not None
    best = FewRanks(2).apply(true).distortion
    assert best is not None
    assert best.vd <= made.distortion.vd + 1e-12


@pytest.mark.parametrize("made", [FewRanks(2), Perturbed(0.1), FewFactors(2), FewFrequencies(0.5)])
def test_every_release_says_that_it_promises_nothing(made: MatrixDisguise) -> None:
    out = made.apply(some(5, 4))
    assert isinstance(out, Distorted)
    assert "No formal guarantee" in out.to_json()
    assert not any(word in out.to_json() for word in ("epsilon", "delta"))
    assert made.attacks


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: FewRanks(0), "rank"),
        (lambda: FewRanks(3).apply([[1.0, 2.0]]), "rank"),
        (lambda: FewRanks(1).apply([[1.0, math.nan]]), "row 0, column 1"),
        (lambda: FewRanks(1).apply([["a", "b"]]), "values"),
        (lambda: FewRanks(1).apply([[1.0], [1.0, 2.0]]), "values"),
        (lambda: FewRanks(1).apply([]), "values"),
        (lambda: FewFactors(1).apply([[-1.0, 2.0]]), "values"),
        (lambda: FewFactors(0), "rank"),
        (lambda: FewFactors(1, rounds=0), "rounds"),
        (lambda: FewFactors(2).apply([[1.0, 2.0]]), "rank"),
        (lambda: FewFrequencies(0.0), "share"),
        (lambda: Perturbed(blur=-1.0), "blur"),
        (lambda: Perturbed(blur=math.nan), "blur"),
        (lambda: Perturbed(blur=1.0, columns=1, rotate=False), "columns"),
        (lambda: Perturbed(rotate=False), "nothing is changed"),
        (lambda: Perturbed(columns=3).apply([[1.0, 2.0]]), "columns"),
        (lambda: Wavelets(share=1.5), "share"),
        (lambda: Wavelets(bases="haar"), "bases"),  # type: ignore[arg-type]
        (lambda: Wavelets(split="both"), "split"),  # type: ignore[arg-type]
        (lambda: Wavelets(scope="none"), "scope"),  # type: ignore[arg-type]
        (lambda: Wavelets(scope="row"), "scope"),
        (lambda: Wavelets(along="columns"), "along"),  # type: ignore[arg-type]
        (lambda: Wavelets(levels=0), "levels"),
        (lambda: Restored(Perturbed()), "inner"),
        (lambda: restored(np.ones((1, 2)), np.ones((1, 2))), "rows"),
        (lambda: restored(np.ones((2, 2)), np.ones((2, 1))), "released"),
        (lambda: distortion(np.ones((2, 2)), np.ones((2, 1))), "released"),
        (lambda: distortion(np.ones((2, 2)), np.ones((2, 2)), ties="none"), "ties"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_refused_by_name(call: object, word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("shape", "bases", "word"),
    [
        ((2, 2), ("nobody",), "bases"),
        ((3, 1), ("haar", "db2"), "bases"),
        ((1, 3), ("haar",), "two or more lines"),
        ((3, 3), ("haar", "db2"), "two or more lines"),
    ],
)
def test_bases_that_do_not_fit_are_refused(shape: tuple[int, int], bases: tuple[str, ...], word: str) -> None:
    pytest.importorskip("pywt")
    with pytest.raises(InvalidParameter, match=word):
        Wavelets(bases=bases).apply(some(*shape))


def test_the_attacks_undo_a_rotation() -> None:
    true = some(40, 4)
    told = undone(true, Perturbed().apply(true).values, known=range(6))
    assert told.angle_pairs == 1
    assert told.known_set == pytest.approx(0, abs=1e-6)
    assert told.to_dict()["angle_pairs"] == 1
    assert (told.known, told.span) == (6, 4)


def test_the_attacks_take_fewer_columns_too() -> None:
    true = some(40, 4)
    told = undone(true, Perturbed(columns=2).apply(true).values, known=range(10))
    assert 0 <= told.angle_pairs <= 1
    # Half of the directions are gone, so that not all comes back.
    assert told.known_set > 1e-6
    inside = undone(true[:, :1] * [1.0, 2.0, 3.0, 4.0], true[:, :1] * 9.0, known=range(2))
    assert inside.known_set == pytest.approx(0, abs=1e-9)


def test_angle_pairs_leave_out_rows_of_zeros() -> None:
    true = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert angle_pairs(true, true, within=0.01) == 1
    assert angle_pairs(true, np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), within=0.01) == 0
    with pytest.raises(InvalidParameter, match="rows"):
        angle_pairs(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(InvalidParameter, match="known"):
        undone(true, true, known=())
    with pytest.raises(InvalidParameter, match="known"):
        undone(true, true, known=range(3))
    with pytest.raises(InvalidParameter, match="released"):
        undone(true, true[:2], known=(0,))
