"""Texts written as Parquet: columns of byte strings, stored plainly, so that no parser reads them again.

A page is, for each text, four bytes of length and the text itself. One block is one group of rows. This is the smallest
part of the Parquet format that holds texts: required columns, no compression, no levels, no statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

_MAGIC: Final = b"PAR1"
_BYTE_ARRAY, _REQUIRED, _UTF8, _PLAIN, _RLE, _UNCOMPRESSED, _DATA_PAGE = 6, 0, 0, 0, 3, 0, 0
#: Types of Thrift's compact protocol.
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


class TextWriter:
    """Writes columns of texts to a stream, block by block.

    Args:
        stream: where to.
        names: the columns.

    """

    def __init__(self, stream: BinaryIO, names: Sequence[str]) -> None:
        self._stream = stream
        self._names = tuple(names)
        self._groups: list[bytes] = []
        #: How many were written.
        self.rows = 0
        self._place = stream.write(_MAGIC)

    def write(self, columns: Sequence[tuple[NDArray[np.uint8], NDArray[np.int64]]], rows: int) -> None:
        """Write a block.

        Args:
            columns: for each column its texts, one behind the other, and the length of each.
            rows: the number of texts of each column.

        """
        chunks, total = [], 0
        for name, (texts, lengths) in zip(self._names, columns, strict=True):
            page = _page(texts, lengths)
            header = _struct(
                (1, _I32, _number(_DATA_PAGE)),
                (2, _I32, _number(len(page))),
                (3, _I32, _number(len(page))),
                (5, _STRUCT, _struct(*((field, _I32, _number(value)) for field, value in _page_fields(rows)))),
            )
            start, size = self._place, len(header) + len(page)
            self._place += self._stream.write(header) + self._stream.write(page)
            described = _struct(
                (1, _I32, _number(_BYTE_ARRAY)),
                (2, _LIST, _list(_I32, [_number(_PLAIN), _number(_RLE)])),
                (3, _LIST, _list(_BINARY, [_binary(name)])),
                (4, _I32, _number(_UNCOMPRESSED)),
                (5, _I64, _number(rows)),
                (6, _I64, _number(size)),
                (7, _I64, _number(size)),
                (9, _I64, _number(start)),
            )
            chunks.append(_struct((2, _I64, _number(start)), (3, _STRUCT, described)))
            total += size
        self._groups.append(
            _struct((1, _LIST, _list(_STRUCT, chunks)), (2, _I64, _number(total)), (3, _I64, _number(rows)))
        )
        self.rows += rows

    def finish(self) -> None:
        """Write the footer."""
        root = _struct((4, _BINARY, _binary("rows")), (5, _I32, _number(len(self._names))))
        leaves = [
            _struct(
                (1, _I32, _number(_BYTE_ARRAY)),
                (3, _I32, _number(_REQUIRED)),
                (4, _BINARY, _binary(name)),
                (6, _I32, _number(_UTF8)),
            )
            for name in self._names
        ]
        footer = _struct(
            (1, _I32, _number(1)),
            (2, _LIST, _list(_STRUCT, [root, *leaves])),
            (3, _I64, _number(self.rows)),
            (4, _LIST, _list(_STRUCT, self._groups)),
        )
        self._stream.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)


def _page(texts: NDArray[np.uint8], lengths: NDArray[np.int64]) -> bytes:
    """Return each text after its length in four bytes."""
    page = np.empty(texts.size + 4 * lengths.size, dtype=np.uint8)
    before = np.cumsum(lengths + 4) - lengths - 4
    places = before[:, None] + np.arange(4)
    is_text = np.ones(page.size, dtype=bool)
    is_text[places] = False
    page[places] = lengths.astype("<u4").view(np.uint8).reshape(-1, 4)
    page[is_text] = texts
    return page.tobytes()


def _page_fields(rows: int) -> tuple[tuple[int, int], ...]:
    return (1, rows), (2, _PLAIN), (3, _RLE), (4, _RLE)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _number(value: int) -> bytes:
    return _varint(2 * value)  # all numbers here are at least 0


def _binary(text: str) -> bytes:
    content = text.encode()
    return _varint(len(content)) + content


def _list(kind: int, entries: Sequence[bytes]) -> bytes:
    size = len(entries)
    head = bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + _varint(size)
    return head + b"".join(entries)


def _struct(*fields: tuple[int, int, bytes]) -> bytes:
    """Return fields in ascending order, each with its distance from the previous one."""
    parts, last = [], 0
    for number, kind, content in fields:
        parts += [bytes([(number - last) << 4 | kind]), content]
        last = number
    return b"".join([*parts, b"\x00"])
