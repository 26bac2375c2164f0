"""The pictures of the documentation that show the product as it looks.

``make screenshots`` writes them, ``docs/pictures/screen-*.png``.

All data is generated, and the noise is fresh: no two runs write the same figures. Pictures are light, of a fixed width,
and have at most 256 colours, so that they are small.
"""

from __future__ import annotations

import base64
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tools.browser import terminal
from tools.browser.everything import WARDS, Maker, dice_of
from tools.browser.looking import Browser, absent, browser

PICTURES: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
WIDTH: Final = 960
COLUMNS: Final = 112
#: Kinds of pages, how wide the window is, and how much of each is shown; 0 is all.
PAGES: Final = {
    "report": ("demo", 960, 850),
    "query": ("one measure", 760, 0),
    "histogram": ("histogram", 760, 372),
    "map": ("heat map", 760, 0),
    "disguise": ("disguise", 760, 0),
    "service": ("home", 760, 0),
}
_TALLEST: Final = 900
_QUERY: Final = "SELECT ward, COUNT(*) AS n, AVG(waited) AS waited FROM visits GROUP BY ward"

Scene = Callable[[Maker], str]


def wizard(maker: Maker) -> str:
    """Return the screen on which an owner declares a file."""
    dice, folder = dice_of(7), maker.folder
    rows = (
        f"{dice.randrange(2200)},2025-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02},{dice.choice(WARDS)},"
        f"{dice.randrange(18, 95)},{min(int(dice.expovariate(1 / 30)), 240)},{dice.choice(('public', 'private'))}"
        for _ in range(5000)
    )
    maker.written("export.csv", "\n".join(["patient,admitted,ward,age,waited,insurer", *rows]))
    home = maker.home
    command = ("dither", "--home", str(home), "add", str(folder / "export.csv"))
    shown = terminal.typed(
        command, ["public 3 5 6"], folder=folder, columns=COLUMNS, DITHER_ANCHORS=str(folder / "anchors")
    )
    # To where the owner has typed what may be known.
    asked, typed, _ = shown.partition("public 3 5 6\n")
    return f"$ dither add export.csv\n{asked}{typed}".replace(f"{folder}/", "")


def answer(maker: Maker) -> str:
    """Return a quote and an answer."""
    parts = []
    for words in (("quote",), ("sql",)):
        command = ("dither", "--home", str(maker.home), *words, maker.visits, _QUERY, "--epsilon", "1")
        shown = terminal.typed(
            command, folder=maker.folder, columns=COLUMNS, DITHER_ANCHORS=str(maker.folder / "anchors")
        )
        parts.append(f'$ dither {words[0]} visits "{_QUERY}" --epsilon 1\n{shown}')
    return "\n".join(parts)


SCENES: Final[dict[str, Scene]] = {"wizard": wizard, "answer": answer}


def write(names: list[str], folder: Path = PICTURES) -> None:
    """Write pictures.

    Args:
        names: which of them; all where there is none.
        folder: where they are put.

    """
    with browser() as window, tempfile.TemporaryDirectory(prefix="dither-pictures-") as temporary:
        maker = Maker(Path(temporary))
        for name in names or [*SCENES, *PAGES]:
            if name in SCENES:
                window.show(terminal.page(SCENES[name](maker), columns=COLUMNS))
                width, height = WIDTH, 0
            else:
                kind, width, height = PAGES[name]
                window.open(maker.make(kind))
            height = height or min(window.height(width) + 20, _TALLEST)
            file = window.picture(folder / f"screen-{name}.png", width=width, height=height)
            file.write_bytes(small(window, file.read_bytes()))
            print(f"{file.name}: {file.stat().st_size:,} bytes", flush=True)


def small(window: Browser, picture: bytes) -> bytes:
    """Return a PNG of at most 256 colours: the most frequent ones, and for the others the nearest of these.

    Args:
        window: what reads the picture.
        picture: a PNG.

    """
    colours = pixels(window, picture)
    height, width, _ = colours.shape
    codes = colours.astype(np.int64) @ np.array([65536, 256, 1])
    found, places, many = np.unique(codes, return_inverse=True, return_counts=True)
    taken = np.sort(found[np.argsort(-many)[:256]])
    parts, chosen = (np.stack([one >> 16, one >> 8 & 255, one & 255], axis=1) for one in (found, taken))
    nearest = np.concatenate(
        [np.argmin(((some[:, None] - chosen) ** 2).sum(axis=2), axis=1) for some in np.array_split(parts, 64)]
    )
    lines = np.zeros((height, width + 1), dtype=np.uint8)
    lines[:, 1:] = nearest[places].reshape(height, width)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    body = [(b"IHDR", head), (b"PLTE", chosen.astype(np.uint8).tobytes()), (b"IDAT", zlib.compress(lines.tobytes(), 9))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in [*body, (b"IEND", b"")])


def pixels(window: Browser, picture: bytes) -> NDArray[np.uint8]:
    """Return the red, green and blue of every pixel of a PNG, which the browser reads.

    Args:
        window: the browser.
        picture: a PNG.

    """
    read = """async source => {
      const image = new Image(); image.src = source; await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
      canvas.drawImage(image, 0, 0);
      const data = canvas.getImageData(0, 0, image.width, image.height).data;
      let text = ""; for (let at = 0; at < data.length; at += 32768)
        text += String.fromCharCode(...data.subarray(at, at + 32768));
      return [image.width, image.height, btoa(text)];
    }"""
    window.show("<!doctype html><title>a picture</title>")
    width, height, data = window.page.evaluate(read, f"data:image/png;base64,{base64.b64encode(picture).decode()}")
    return np.frombuffer(base64.b64decode(data), dtype=np.uint8).reshape(height, width, 4)[:, :, :3]


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


if __name__ == "__main__":
    if (reason := absent()) is not None:
        sys.exit(f"nothing was written: {reason}")
    write(sys.argv[1:])
