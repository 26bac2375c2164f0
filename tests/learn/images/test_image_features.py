"""Features of images: against slow twins in Python's integers, in any company, and learned from end to end."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.images import EXTRACTORS, ImageFeatures, feature_count, features_of, public_shapes
from dither.learn.images.convolutions import random_bank
from dither.learn.images.features import ImageSize, levels
from dither.learn.images.filters import LARGEST, TOP, WEIGHT, averaged, convolved, enlarged, grid_of, halved
from dither.learn.images.mechanism import packed, unpacked
from dither.learn.images.scattering import lengths, wavelets
from dither.learn.images.whitening import public_map
from dither.learn.models import Model
from dither.learn.rows import STEPS, Box
from dither.mechanisms import PublicArray, perform
from dither.mechanisms.core.release import Budget
from dither.privacy import ROW, ROW_REPLACED, ZCDP, PureDP

SIZES = [ImageSize(1, 2, 1), ImageSize(8, 8, 1), ImageSize(9, 30, 2), ImageSize(28, 28, 1)]


def box(size: ImageSize, low: float = 0.0, high: float = 255.0) -> Box:
    return Box(PublicArray([low] * size.pixels), PublicArray([high] * size.pixels))


def images(count: int, size: ImageSize) -> np.ndarray:
    return np.random.default_rng().integers(0, 256, (count, size.pixels)).astype(float)


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_an_image_has_the_same_features_alone_and_in_any_company(extractor: str, size: ImageSize) -> None:
    rows = images(7, size)
    found = features_of(extractor, size, box(size), rows)
    assert found.shape == (7, feature_count(extractor, size))
    assert (found == np.floor(found)).all()
    assert 0 <= found.min() <= found.max() <= LARGEST
    for place in range(7):
        assert (features_of(extractor, size, box(size), rows[place : place + 1]) == found[place]).all()
    order = np.random.default_rng().permutation(7)
    assert (features_of(extractor, size, box(size), rows[order]) == found[order]).all()


@pytest.mark.parametrize("bank", [wavelets(), random_bank()], ids=["wavelets", "random"])
def test_filters_are_whole_and_sums_stay_exact(bank: np.ndarray) -> None:
    assert (bank == np.rint(bank)).all()
    assert (np.abs(bank).sum(axis=1) <= WEIGHT).all()
    assert WEIGHT * TOP < 2**24


def test_convolutions_are_those_of_python_integers() -> None:
    maps = np.random.default_rng().integers(0, TOP + 1, (2, 5, 4)).astype(np.float32)
    found = convolved(maps, wavelets(), 9)
    for number, weights in enumerate(wavelets().reshape(-1, 9, 9).astype(int).tolist()[:3]):
        for image in range(2):
            for row in range(5):
                for column in range(4):
                    total = 0
                    for down in range(9):
                        for across in range(9):
                            high, wide = row + down - 4, column + across - 4
                            if 0 <= high < 5 and 0 <= wide < 4:
                                total += weights[down][across] * int(maps[image, high, wide])
                    assert found[number, image, row, column] == total


def test_lengths_averages_and_sizes_are_those_of_a_slow_twin() -> None:
    maps = np.random.default_rng().integers(0, 256, (1, 6, 6)).astype(np.float32)
    real, imaginary = convolved(maps, wavelets(), 9)[:2].astype(object).reshape(2, -1)
    for one, two, seen in zip(real, imaginary, lengths(maps)[0].reshape(-1), strict=True):
        # Rounding of a square, a sum and a root is a relative 2^-22 together.
        exact = min(math.isqrt(int(one) ** 2 + int(two) ** 2) / 2**11, TOP)
        assert abs(seen - exact) <= 1 + exact * 2**-20
    assert (averaged(np.full((1, 8, 8), TOP, dtype=np.float32), (2, 2)) >= LARGEST - 64).all()
    assert (halved(np.full((1, 3, 3), 8, dtype=np.float32)) == [[[8, 4], [4, 2]]]).all()
    assert (enlarged(np.full((1, 2, 3), 200, dtype=np.float32), 3) == 200).all()
    assert enlarged(maps, 2).shape == (1, 12, 12)
    assert grid_of(28, 28, 81, 4096) == (7, 7)
    assert grid_of(32, 32, 243, 4096) == (4, 4)
    assert grid_of(100, 8, 81, 81) == (1, 1)


def test_pixels_are_read_alone_and_blank_where_they_are_no_numbers() -> None:
    size = ImageSize(1, 6, 1)
    seen = levels(box(size, -1, 1), np.array([[np.nan, -np.inf, -1, 0, 1, 9e300]]))
    assert seen.tolist() == [[0, 0, 0, 128, 255, 255]]


@pytest.mark.parametrize("extractor", [*EXTRACTORS, "columns"])
def test_coordinates_are_whole_and_those_of_one_record_alone(extractor: str) -> None:
    size = ImageSize(1, 12, 1) if extractor == "columns" else ImageSize(3, 4, 1)
    public = PublicArray(np.random.default_rng().uniform(0, 255, (40, 12)))
    change = public_map(extractor, size, box(size), 5, public)
    features = features_of(extractor, size, box(size), images(30, size))
    found = change.steps(features)
    assert (found == np.rint(found)).all()
    assert np.abs(found).max() <= STEPS
    centre, matrix = change.centre.astype(int).tolist(), change.matrix.astype(int).tolist()
    for place in (0, 13, 29):
        assert (change.steps(features[place : place + 1]) == found[place]).all()
        for row, seen in zip(matrix, found[place], strict=True):
            total = sum(w * (int(f) - c) for w, f, c in zip(row, features[place], centre, strict=True))
            assert seen == min(max(total // 2**16, -STEPS), STEPS)


def test_loud_coordinates_of_public_records_are_alike_and_unrelated() -> None:
    """Of public records themselves, so that nothing is random but these: a rotation and scales undo their spread."""
    size = ImageSize(1, 4, 1)
    drawn = np.random.default_rng(5).normal(size=(4000, 4)) @ np.diag([60, 30, 15, 8])
    public = np.clip(drawn + 127, 0, 255)
    change = public_map("columns", size, box(size), 4, PublicArray(public))
    seen = change.steps(features_of("columns", size, box(size), public)) / (STEPS / 4)
    spread = seen.T @ seen / len(seen)
    assert np.abs(spread - np.diag(np.diag(spread))).max() < 0.05
    assert np.diag(spread)[:3] == pytest.approx([1, 1, 1], abs=0.15)


def test_shapes_are_varied_and_no_place_is_always_blank() -> None:
    shapes = public_shapes(300, 12, 10)
    assert shapes.shape == (300, 12, 10)
    assert len({shape.tobytes() for shape in shapes}) > 270
    assert (shapes[:, 3:-3, 3:-3].mean(axis=0) > 10).all()


def test_a_matrix_is_read_back_and_strings_of_other_sizes_are_refused() -> None:
    matrix = np.array([[1.0, -(2.0**22)], [0, 7], [3, 4]])
    assert (unpacked(packed(matrix), 3, 2) == matrix).all()
    for text, rows in ((packed(matrix), 2), (packed(np.zeros((1000, 1000))), 3), ("x", 3), ("aaaa", 3), ("é", 3)):
        with pytest.raises(InvalidParameter, match="matrix"):
            unpacked(text, rows, 2)


PUBLIC: dict[str, Any] = {"lower": [0] * 16, "upper": [255] * 16, "height": 4, "width": 4, "classes": 3}


def few() -> np.ndarray:
    return images(30, ImageSize(4, 4, 1))


@pytest.mark.parametrize("target", [PureDP("1/3"), ZCDP("1/7")], ids=str)
def test_a_calibrated_learner_loses_no_more_than_its_target(target: Any) -> None:
    found = ImageFeatures.calibrated(target, components=4, public=few(), unit=ROW_REPLACED, **PUBLIC)
    assert found.loss(1) <= target
    assert found.distance == ROW_REPLACED


def test_there_are_no_more_coordinates_than_public_records() -> None:
    for public in (few(), PublicArray(few()), few().tolist()):
        assert ImageFeatures.calibrated(ZCDP(1), public=public, **PUBLIC).components == 30
    assert ImageFeatures.calibrated(ZCDP(1), **PUBLIC).components == 500


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"height": 5}, "lower"),
        ({"public": 5, "components": None}, "public"),
        ({"public": [[1], [1, 2]], "components": None}, "public"),
        ({"components": 0}, "public"),
        ({"public": few()[:, :3]}, "public"),
        ({"components": 9999}, "components"),
        ({"components": 1297}, "components"),
        ({"extractor": "wavelets"}, "extractor"),
        ({"extractor": "columns"}, "height"),
        ({"extractor": "columns", "height": 1, "width": 16, "public": None}, "public"),
    ],
    ids=[
        "height",
        "no array",
        "ragged",
        "no components",
        "columns of public",
        "many components",
        "too many components",
        "no extractor",
        "no height",
        "no public",
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{parameter} "):
        ImageFeatures.calibrated(ZCDP(1), **{"components": 4, "public": few(), **PUBLIC, **change})


def sides(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of four by four whose left or right half, or nothing, is light."""
    labels = np.arange(count) % 3
    light = np.array([[200, 200, 20, 20], [20, 20, 200, 200], [20, 20, 20, 20]])[labels]
    return np.tile(light, 4) + np.random.default_rng().normal(0, 15, (count, 16)), labels


def test_a_released_model_tells_images_apart_and_is_read_back() -> None:
    """0.99 or more were told right in each of 30 runs."""
    values, labels = sides(600)
    learner = ImageFeatures.calibrated(ZCDP(8), components=4, public=few(), steps=20, **PUBLIC)
    found = perform(learner, np.column_stack([values, labels]))
    scores = found.scores(values)
    assert (scores.argmax(axis=1) == labels).mean() > 0.9
    again = Model.from_dict(found.to_dict())
    assert (again.scores(values) == scores).all()
    for name, other in (("extractor", "x"), ("height", 3), ("matrix", ""), ("extractor", "columns")):
        with pytest.raises(InvalidParameter):
            Model.from_dict({**found.to_dict(), name: other})


sklearn = pytest.importorskip("sklearn")

from dither.learn import FeatureClassifier, ImageClassifier, load_estimator  # noqa: E402
from dither.learn.images.frozen import extracted  # noqa: E402

DECLARED: dict[str, Any] = {"rho": 8, "classes": [0, 1, 2], "max_iter": 20}


def classifier(**more: Any) -> Any:
    return ImageClassifier(
        **{**DECLARED, "height": 4, "width": 4, "n_components": 4, "public": few(), "bounds": (0, 255), **more}
    )


def test_the_estimator_takes_images_by_their_axes_and_is_saved(tmp_path: Path) -> None:
    """0.99 or more were told right in each of 30 runs."""
    values, labels = sides(600)
    fitted = classifier().fit(values.reshape(-1, 4, 4), labels)
    assert fitted.score(values, labels) > 0.9
    assert fitted.n_iter_ == 20
    assert fitted.privacy_.numerics == "exact"
    chances = fitted.predict_proba(values)
    assert chances.sum(axis=1) == pytest.approx(np.ones(600))
    again = load_estimator(fitted.save(tmp_path / "model.json"))
    for other in (again, copy.deepcopy(fitted)):
        assert (other.predict_proba(values) == chances).all()
        assert other.privacy_ == fitted.privacy_
    # Public images are not written: their digest is, and nothing else is learned in silence.
    assert again.public.startswith("sha256:")
    assert load_estimator(again.save(tmp_path / "again.json")).public == again.public
    with pytest.raises(InvalidParameter, match="public"):
        again.fit(values, labels)


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"height": None}, "height"),
        ({"width": 0}, "width"),
        ({"channels": 1.5}, "channels"),
        ({"height": 3}, "height"),
        ({"extractor": "columns"}, "extractor"),
        ({"n_components": 1297}, "n_components"),
        ({"public": [[1, 2]]}, "public"),
        ({"public": "mine"}, "public"),
        ({"public": [["x"] * 16]}, "public"),
        ({"max_iter": 0}, "max_iter"),
        ({"bounds": (3, 3)}, "bounds"),
    ],
    ids=str,
)
def test_what_is_declared_wrongly_is_refused_before_anything_is_charged(change: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{parameter} "):
        classifier(**change).fit(*sides(9))


@pytest.mark.parametrize(
    ("X", "more", "rule"),
    [
        (["a.png", "b.png"], {}, "form='paths'"),
        (np.array(["a.png", "b.png"]), {}, "form='paths'"),
        (np.array([None, None]), {}, "form='paths'"),
        ([np.zeros((4, 4))] * 2, {}, r"axes \(images, 4, 4\), such as numpy.stack"),
        (np.zeros((2, 3, 4, 4), int), {"channels": 3}, "4 by 4 by 3, channels last, which 3 by 4 by 4 is not"),
        (np.zeros((2, 2, 8), int), {}, "4 by 4, channels last"),
        (np.zeros((2, 16)), {"bounds": None}, r"^bounds is required for floats: bounds=\(0, 1\)"),
        (np.zeros((2, 16), int), {"public": np.zeros((9, 2, 8))}, "^public must be images of 4 by 4"),
    ],
    ids=range(8),
)
def test_images_that_would_be_read_as_noise_are_refused(X: Any, more: dict[str, Any], rule: str) -> None:  # noqa: N803
    budget = Budget(rho=8, unit=ROW)
    with pytest.raises(InvalidParameter, match=rule):
        classifier(budget=budget, **more).fit(X, [0, 1])
    assert str(budget.spent) == str(Budget(rho=8, unit=ROW).spent)


def test_a_list_of_rows_is_taken_where_its_width_is_stated() -> None:
    values, labels = sides(9)
    listed = classifier().private_rows(values.tolist(), labels, columns=16)
    assert (listed == classifier().private_rows(values, labels)).all()


def test_integers_need_no_bounds_and_ranges_are_saved(tmp_path: Path) -> None:
    values = sides(90)[0].astype(int).reshape(-1, 4, 4, 1)
    for classes in (range(3), {0, 1, 2}, {0: "a", 1: "b", 2: "c"}.keys()):
        fitted = classifier(bounds=None, classes=classes).fit(values, sides(90)[1])
        again = load_estimator(fitted.save(tmp_path / "model.json"))
        assert again.classes == [0, 1, 2]
        assert (again.predict(values) == fitted.predict(values)).all()


def test_an_extractor_is_tried_on_zeros_before_the_charge() -> None:
    def failing(record: Any) -> Any:
        raise KeyError("weights")

    budget = Budget(rho=8, unit=ROW)
    for extractor, rule in (
        (lambda image: image[:2], "n_outputs must be 2, the number of features .* got 4"),
        (failing, r"extractor must be .* zeros, float64 \[16\], got .KeyError"),
    ):
        model = FeatureClassifier(**DECLARED, extractor=extractor, n_outputs=4, bounds=(0, 255), budget=budget)
        with pytest.raises(InvalidParameter, match=rule):
            model.fit(*sides(9))
    assert str(budget.spent) == str(Budget(rho=8, unit=ROW).spent)


def test_an_extractor_sees_one_record_a_call_and_failures_are_blank() -> None:
    seen = []

    def halves(record: Any) -> Any:
        seen.append(np.array(record))
        return [record[:8].sum(), record[8:].sum()] if record[0] >= 0 else [1 / 0]

    values, labels = images(40, ImageSize(4, 4, 1)), np.arange(40) % 2
    values[3, 0] = -1
    model = FeatureClassifier(rho=1, extractor=halves, n_outputs=2, bounds=(0, 2040), classes=[0, 1])
    _, rows = model.prepare(values, labels)
    assert len(seen) == 41
    assert not seen.pop(0).any()
    assert all(one.shape == (16,) for one in seen)
    assert np.isnan(rows[3, :2]).all()
    assert rows[:3, 0].tolist() == values[:3, :8].sum(axis=1).tolist()
    assert np.isnan(extracted(lambda _: [1, 2, 3], ["a"], 2)).all()
    for bad in ({"extractor": 3}, {"n_outputs": None}, {"n_outputs": 0}, {"public": values[3:4]}):
        with pytest.raises(InvalidParameter, match=r"extractor|n_outputs"):
            model.set_params(**{"extractor": halves, "n_outputs": 2, "public": None, **bad}).fit(values, labels)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_extractor_is_not_given_frames_and_sees_each_cell_of_a_column_by_itself(library: str) -> None:
    """As one array a column with a gap would be floats, or objects, for all: here the others stay as they are."""
    frames = pytest.importorskip(library, reason="frames need the extra 'frames'")
    seen: list[Any] = []

    def kinds(record: Any) -> Any:
        seen.append(record)
        return [len(repr(record))]

    model = FeatureClassifier(rho=1, extractor=kinds, n_outputs=1, bounds=(0, 99), classes=[0, 1])
    make = frames.table if library == "pyarrow" else frames.DataFrame
    typed = {"dtype": "Int64"} if library == "pandas" else {}
    for cells in ([5, 6, 7], [5, 6, None]):
        frame = make({"id": cells}, **typed)
        with pytest.raises(InvalidParameter, match=r"^X .*such as a column"):
            model.fit(frame, [0, 1, 0])
        with pytest.raises(InvalidParameter, match=r"^public .*such as a column"):
            model.set_params(public=frame).fit([1, 2, 3], [0, 1, 0])
        seen.clear()
        model.set_params(public=None).prepare(frame["id"], [0, 1, 0])
        assert [(type(one), one) for one in seen[:2]] == [(int, 5), (int, 6)]


def test_a_frozen_extractor_is_learned_on_and_given_again_after_loading(tmp_path: Path) -> None:
    """All rows were told right in each of 30 runs."""
    values, labels = sides(600)

    def columns(image: Any) -> Any:
        return image.reshape(4, 4).sum(axis=0)

    public = few()
    for more in ({}, {"public": public, "n_components": 3}):
        model = FeatureClassifier(**DECLARED, extractor=columns, n_outputs=4, bounds=(0, 1020), **more)
        fitted = model.fit(values, labels)
        found = fitted.predict(values)
        assert (found == labels).mean() > 0.9
        again = load_estimator(fitted.save(tmp_path / "model.json"))
        with pytest.raises(InvalidParameter, match=r"set_params\(extractor"):
            again.predict(values)
        again.set_params(extractor=columns)
        assert (again.predict(values) == found).all()


def test_a_module_is_called_on_one_record_without_gradients_and_is_left_as_it_was() -> None:
    torch = pytest.importorskip("torch")

    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.drop = torch.nn.Linear(16, 3), torch.nn.Dropout(0.5)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, batch: Any) -> Any:
            assert batch.shape == (1, 16)
            assert not torch.is_grad_enabled()
            self.calls += 1
            return self.drop(self.linear(batch)) + self.calls

    module = Counting().train()
    values = images(5, ImageSize(4, 4, 1))
    found = extracted(module, values, 3)
    assert module.training
    assert float(module.calls) == 0
    for place in range(5):
        assert (extracted(module, values[place:], 3)[0] == found[place]).all()
