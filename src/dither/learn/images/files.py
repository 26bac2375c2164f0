"""Image files: each is read alone, to the declared size; what cannot be read is a blank.

PNG without interlacing, binary PGM and PPM, and bare pixels. What a file holds decides neither how other files are read
nor whether anything is refused: a broken file, one of another size and one of another format are blanks alike.
"""

from __future__ import annotations

import base64
import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue
from dither.learn.rows import Floats

#: How images come: as pixels, as paths of files, or as the bytes of files (or their base64).
FORMS: Final = ("pixels", "paths", "bytes")
_PNG: Final = b"\x89PNG\r\n\x1a\n"
#: Samples of a pixel by the type of colour of a PNG; 3 is a palette.
_SAMPLES: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
#: More bytes than a file of this many pixels needs are not read.
_BYTES_A_PIXEL: Final = 16
_HEADER: Final = 2**16

Bytes = NDArray[np.uint8]


def pixels_of_files(cells: Any, height: int, width: int, channels: int, form: str) -> Floats:
    """Return a row of pixels for each image, NaN where it cannot be read.

    Args:
        cells: a sequence of paths, or of the bytes of files or their base64.
        height: the declared rows of pixels.
        width: the declared pixels in a row.
        channels: 1 for grey, 3 for colours.
        form: "paths" or "bytes".

    >>> pixels_of_files([b"P5 2 1 255 " + bytes([7, 9]), b"?"], 1, 2, 1, "bytes").tolist()
    [[7.0, 9.0], [nan, nan]]

    """
    if isinstance(cells, str | bytes) or not hasattr(cells, "__len__"):
        raise InvalidValue("X", cells, "a sequence of images")
    listed = cells.to_numpy().ravel() if hasattr(cells, "to_numpy") else cells
    found = np.full((len(listed), height * width * channels), np.nan)
    most = height * width * _BYTES_A_PIXEL + _HEADER
    for number, cell in enumerate(listed):
        content = _content(cell, form, most)
        if content is not None:
            # What goes wrong depends on the file, so that no failure may be seen.
            with suppress(Exception):
                found[number] = _decoded(content, height, width, channels).reshape(-1)
    return found


def _content(cell: Any, form: str, most: int) -> bytes | None:
    """Return the bytes of a file, or None where it has too many or cannot be read."""
    if isinstance(cell, list | tuple) and len(cell) == 1:
        (cell,) = cell  # a row of one column
    if form == "paths":
        if not isinstance(cell, str | os.PathLike):
            return None
        with suppress(OSError, ValueError, TypeError):
            path = Path(cell)
            # A pipe or a device would be waited for.
            if path.is_file() and path.stat().st_size <= most:
                return path.read_bytes()
        return None
    if isinstance(cell, str):
        with suppress(ValueError):
            return base64.b64decode(cell, validate=True) if len(cell) <= 2 * most else None
        return None
    return bytes(cell) if isinstance(cell, bytes | bytearray | memoryview) and len(cell) <= most else None


def _decoded(content: bytes, height: int, width: int, channels: int) -> Bytes:
    """Return pixels by row, place and colour; a broken file raises some error."""
    if content.startswith(_PNG):
        found = _png(content, height, width)
    elif content[:2] in (b"P5", b"P6"):
        found = _netpbm(content, height, width)
    else:
        return np.frombuffer(content, dtype=np.uint8).reshape(height, width, channels)
    samples = found.shape[2]
    if samples in (2, 4):
        found, samples = found[..., :-1], samples - 1
    if samples == channels:
        return found
    if channels == 1:
        # Integers: 77 + 150 + 29 = 256.
        grey: Bytes = ((found.astype(np.int64) @ np.array([77, 150, 29])) >> 8).astype(np.uint8)[..., None]
        return grey
    return np.broadcast_to(found, (height, width, channels))


def _netpbm(content: bytes, height: int, width: int) -> Bytes:
    """Return the pixels of a binary PGM or PPM of up to 255 grey levels."""
    place = 2
    numbers: list[int] = []
    while len(numbers) < 3:
        while content[place : place + 1].isspace():
            place += 1
        if content[place : place + 1] == b"#":
            place = content.index(b"\n", place)
            continue
        end = place
        while content[end : end + 1].isdigit():
            end += 1
        numbers.append(int(content[place:end]))
        place = end
    if (numbers[1], numbers[0]) != (height, width) or not 1 <= numbers[2] <= 255:
        raise ValueError
    samples = 1 if content[:2] == b"P5" else 3
    found = np.frombuffer(content, dtype=np.uint8, offset=place + 1, count=height * width * samples)
    return (
        (np.minimum(found, numbers[2]).astype(np.int64) * 255 // numbers[2])
        .astype(np.uint8)
        .reshape(height, width, samples)
    )


def _png(content: bytes, height: int, width: int) -> Bytes:
    """Return the samples of a PNG of 8 or 16 bits, its palette looked up."""
    place, packed, palette = len(_PNG), [], b""
    header = struct.unpack(">IIBBBBB", content[place + 8 : place + 21])
    depth, colour, rest = header[2], header[3], header[4:]
    if header[:2] != (width, height) or depth not in (8, 16) or rest != (0, 0, 0) or colour not in _SAMPLES:
        raise ValueError
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        kind, body = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        if kind == b"IDAT":
            packed.append(body)
        elif kind == b"PLTE":
            palette = body
        place += 12 + length
    each = _SAMPLES[colour] * depth // 8
    line = 1 + width * each
    # No more bytes than the declared size has.
    raw = zlib.decompressobj().decompress(b"".join(packed), height * line)
    lines = np.frombuffer(raw, dtype=np.uint8).reshape(height, line)
    found = _unfiltered(lines, each).reshape(height, width, _SAMPLES[colour], depth // 8)[..., 0]
    if colour == 3:
        return np.frombuffer(palette, dtype=np.uint8).reshape(-1, 3)[found[..., 0]]
    return found


def _unfiltered(lines: Bytes, each: int) -> Bytes:
    """Return the bytes of the lines of a PNG, with what was taken off before packing put back."""
    found = np.zeros((len(lines), lines.shape[1] - 1), dtype=np.uint8)
    above = bytes(lines.shape[1] - 1)
    for number, line in enumerate(lines.tolist()):
        kind, current = line[0], bytearray(line[1:])
        if kind > 4:
            raise ValueError
        for place in range(len(current)) if kind else ():
            left = current[place - each] if place >= each else 0
            corner = above[place - each] if place >= each else 0
            guess = (left, above[place], (left + above[place]) // 2, _nearest(left, above[place], corner))[kind - 1]
            current[place] = (current[place] + guess) & 255
        above = bytes(current)
        found[number] = current
    return found


def _nearest(left: int, above: int, corner: int) -> int:
    """Return the neighbour that is nearest to left + above - corner, as PNG says (Paeth)."""
    base = left + above - corner
    far = abs(base - left), abs(base - above), abs(base - corner)
    return left if far[0] <= far[1] and far[0] <= far[2] else above if far[1] <= far[2] else corner
