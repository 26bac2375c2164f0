"""Image files: read alone to a declared size, blank where they cannot be read; learned from in a session."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dither
from dither.cli.app import app
from dither.errors import InvalidParameter
from dither.learn.images.files import pixels_of_files

pandas = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from dither.learn import ImageClassifier  # noqa: E402


def pgm(pixels: np.ndarray) -> bytes:
    height, width = pixels.shape[:2]
    kind = "P5" if pixels.ndim == 2 else "P6"
    return f"{kind}\n# by hand\n{width} {height}\n255\n".encode() + pixels.astype(np.uint8).tobytes()


def predicted(kind: int, left: int, above: int, corner: int) -> int:
    """What PNG's filter of this type takes off a byte."""
    if kind < 4:
        return (0, left, above, (left + above) // 2)[kind]
    base = left + above - corner
    return min((left, above, corner), key=lambda one: abs(base - one))


def png(pixels: np.ndarray, colour: int = 0, depth: int = 8, filters: tuple[int, ...] = (0,)) -> bytes:
    """A PNG of rows of samples, each line with the next filter."""
    height, width = pixels.shape[:2]
    samples = pixels.reshape(height, -1).astype(np.uint8)
    if depth == 16:
        samples = np.repeat(samples, 2, axis=1)
    each = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] * depth // 8
    lines, above = b"", np.zeros(samples.shape[1], dtype=int)
    for number, line in enumerate(samples.astype(int)):
        kind = filters[number % len(filters)]
        off = [
            predicted(kind, line[at - each] if at >= each else 0, above[at], above[at - each] if at >= each else 0)
            for at in range(len(line))
        ]
        lines += bytes([kind]) + ((line - np.array(off)) & 255).astype(np.uint8).tobytes()
        above = line

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    table = chunk(b"PLTE", bytes(range(48))) if colour == 3 else b""
    packed = zlib.compress(lines)
    return b"\x89PNG\r\n\x1a\n" + head + table + chunk(b"IDAT", packed[:5]) + chunk(b"IDAT", packed[5:])


def grey(height: int, width: int, samples: int = 0) -> np.ndarray:
    shape = (height, width, samples) if samples else (height, width)
    return np.random.default_rng().integers(0, 256, shape)


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("filters", [(0,), (1, 2), (3, 4)], ids=str)
def test_a_png_is_read_with_every_filter(depth: int, filters: tuple[int, ...]) -> None:
    pixels = grey(5, 4)
    assert pixels_of_files([png(pixels, 0, depth, filters)], 5, 4, 1, "bytes").tolist() == [pixels.ravel().tolist()]
    colours = grey(5, 4, 3)
    found = pixels_of_files([png(colours, 2, depth, filters)], 5, 4, 3, "bytes")
    assert found.tolist() == [colours.ravel().tolist()]


def test_other_forms_mean_the_same_pixels(tmp_path: Path) -> None:
    pixels, colours = grey(3, 4), grey(3, 4, 3)
    both = np.dstack([pixels, grey(3, 4)])
    places = grey(3, 4) % 16
    light = (colours @ np.array([77, 150, 29])) >> 8
    looked_up = (np.arange(48).reshape(16, 3)[places] @ np.array([77, 150, 29])) >> 8
    expected = [pixels, pixels, pixels, light, light, looked_up]
    files = [pgm(pixels), bytes(pixels.ravel().tolist()), png(both, 4), pgm(colours), png(colours, 2), png(places, 3)]
    found = pixels_of_files(files, 3, 4, 1, "bytes")
    assert found.tolist() == [one.ravel().tolist() for one in expected]
    text = [base64.b64encode(one).decode() for one in files]
    assert (pixels_of_files(text, 3, 4, 1, "bytes") == found).all()
    paths = [tmp_path / str(number) for number in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        path.write_bytes(content)
    assert (pixels_of_files(paths, 3, 4, 1, "paths") == found).all()
    assert (pixels_of_files(list(map(str, paths)), 3, 4, 1, "paths") == found).all()
    assert pixels_of_files([pgm(pixels)], 3, 4, 3, "bytes").reshape(3, 4, 3)[..., 2].tolist() == pixels.tolist()


BOMB = png(np.zeros((3, 4)))[:33] + struct.pack(">I", 1100) + b"IDAT" + zlib.compress(bytes(10**6)) + bytes(9)


@pytest.mark.parametrize(
    "broken",
    [
        None,
        b"",
        b"?",
        "no base64!",
        "é",
        3,
        [1],
        float("nan"),
        pgm(grey(4, 3)),
        png(grey(4, 3)),
        png(grey(3, 4))[:40],
        png(grey(3, 4)).replace(b"IDAT", b"IDAX"),
        pgm(grey(3, 4))[:-1],
        b"P5 4 3 0 " + bytes(12),
        b"P5 " + b"9" * 5000,
        b"P5 #",
        png(grey(3, 4) % 16 + 16, 3),
        b"\xff\xd8\xff\xe0 a JPEG",
        bytes(10**5),
    ],
    ids=range(19),
)
def test_what_cannot_be_read_is_a_blank_and_changes_no_other_image(broken: Any, tmp_path: Path) -> None:
    good = pgm(grey(3, 4))
    alone = pixels_of_files([good], 3, 4, 1, "bytes")
    found = pixels_of_files([broken, good], 3, 4, 1, "bytes")
    assert np.isnan(found[0]).all()
    assert (found[1] == alone[0]).all()
    missing: list[Any] = [str(tmp_path), str(tmp_path / "none"), "a\x00b", 7, None]
    assert np.isnan(pixels_of_files(missing, 3, 4, 1, "paths")).all()


def test_a_packed_file_is_unpacked_to_its_declared_size_at_most() -> None:
    assert pixels_of_files([BOMB], 3, 4, 1, "bytes").tolist() == [[0.0] * 12]


def bars(count: int) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(count) % 2
    pixels = np.random.default_rng().integers(0, 60, (count, 4, 4))
    pixels[labels == 1, 1:3] += 150
    return pixels, labels


PUBLIC = (np.arange(40 * 16).reshape(40, 16) * 37 % 256).tolist()
SIZE: dict[str, Any] = {"height": 4, "width": 4, "n_components": 4, "public": PUBLIC, "max_iter": 9}


def predict_a_file(fitted: Any, frame: Any, folder: Path) -> None:
    """The command finds the column of images by its name."""
    fitted.save(folder / "model.json")
    frame[["kind", "scan"]].to_csv(folder / "mine.csv", index=False)
    out = folder / "out.csv"
    told = CliRunner().invoke(app, ["predict", str(folder / "model.json"), str(folder / "mine.csv"), "-o", str(out)])
    assert told.exit_code == 0, told.output
    assert pandas.read_csv(out)["predicted"].tolist() == fitted.predict(frame["scan"]).tolist()


def test_files_are_learned_from_in_one_column_of_a_session(tmp_path: Path) -> None:
    """All images were told right in each of 20 runs; the price is known before the table is opened."""
    pixels, labels = bars(600)
    text = [base64.b64encode(pgm(one)).decode() for one in pixels]
    text[7] = "broken"
    frame = pandas.DataFrame({"who": np.arange(600), "scan": text, "kind": np.where(labels, "bar", "none")})
    declared: dict[str, Any] = {"categories": {"kind": ["bar", "none"]}}
    with dither.private(frame, budget=20, person="who", rows=1, **declared) as session:
        estimator = ImageClassifier(epsilon=8, form="bytes", **SIZE)
        fitted = session.fit(estimator, "data", target="kind", features=["scan"])
        assert str(fitted.privacy_.loss) == "epsilon = 8"
        assert (fitted.predict(text[8:]) == frame["kind"][8:]).mean() > 0.9
        assert fitted.released_as_ == "ImageClassifier of kind from scan"
        assert fitted.feature_names_in_.tolist() == ["scan"]
        predict_a_file(fitted, frame, tmp_path)
        scored = session.fit(estimator, "data", target="kind", features=["scan"], score=True)
        assert scored.held_out_score_.kind == "accuracy"
        for change, features, parameter in (
            ({"form": "paths"}, ["scan"], "form"),
            ({"form": "bytes"}, None, "features"),
            ({"form": "bytes"}, ["kind", "scan"], "features"),
            ({"form": "bytes"}, ["who"], "columns"),
            ({"form": "bytes", "channels": 2}, ["scan"], "channels"),
            ({"form": "bytes", "height": None}, ["scan"], "height"),
        ):
            wrong = ImageClassifier(**{"epsilon": 1, **SIZE, **change})
            with pytest.raises(InvalidParameter, match=f"^{parameter} "):
                session.fit(wrong, "data", target="kind", features=features)


def test_pixels_are_learned_from_by_columns_of_a_session() -> None:
    pixels, labels = bars(600)
    names = [f"p{number:02}" for number in range(16)]
    frame = pandas.DataFrame(pixels.reshape(600, 16), columns=names)
    frame["kind"], frame["who"] = np.where(labels, "bar", "none"), np.arange(600)
    declared: dict[str, Any] = {"categories": {"kind": ["bar", "none"]}, "bounds": dict.fromkeys(names, (0, 255))}
    with dither.private(frame, budget=9, person="who", rows=1, **declared) as session:
        fitted = session.fit(ImageClassifier(epsilon=8, **SIZE), "data", target="kind")
        assert fitted.score(frame[names], frame["kind"]) > 0.9


def test_files_are_learned_from_by_their_paths(tmp_path: Path) -> None:
    pixels, labels = bars(200)
    paths = []
    for number, one in enumerate(pixels):
        path = tmp_path / f"{number}.pgm"
        path.write_bytes(pgm(one))
        paths.append(path)
    fitted = ImageClassifier(rho=100, classes=[0, 1], form="paths", **SIZE).fit(paths, labels)
    assert fitted.score(paths, labels) > 0.9
    assert (fitted.predict(pandas.Series(map(str, paths))) == fitted.predict(paths)).all()
