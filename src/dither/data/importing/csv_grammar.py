"""The accepted CSV grammar: RFC 4180 with one delimiter and one kind of line end, nothing else.

::

    file   = row { end row } [ end ]
    row    = field { delimiter field }          as many fields in every row as in the first
    field  = '"' { any byte but '"' | '""' } '"'  |  { any byte but '"', delimiter, LF }
    end    = LF in all the file, or CR LF in all the file, as the first row has it

A carriage return is content, as pandas writes it, unless it stands directly before an end: there it belongs to the
end, and in a file whose lines end in LF it is refused, because it is ambiguous. As the last byte of a
file it is always refused for the same reason: it may be half of a line end that was cut. A blank line
is a row of one empty field: in a file of one column a row, in a file of several an error, except that blank lines at
the very end of such a file are nothing. NUL occurs nowhere, and the bytes are UTF-8.

**Why a count of quotes is enough.** In a file of this grammar every quote opens a field, closes one, or is half of a
pair within one, and both halves change inside to outside and back: a byte is inside a quoted field exactly when an odd
number of quotes stands before it. The other way round, let quotes number 1, 3, ... stand behind a delimiter, behind a
line end, at the beginning, or directly behind another quote, and quotes number 2, 4, ... before a delimiter, a line end
or another quote. Then what lies between two separators that are outside has no quote at all, or begins with one, ends
with one, and has in between only pairs. So the checks below, each of which looks at the two neighbours of a quote,
accept the grammar and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.data.endings import DELIMITERS as DELIMITERS

_LF, _CR, _QUOTE = ord("\n"), ord("\r"), ord('"')
_DELIMITER_CLASS, _LF_CLASS, _QUOTE_CLASS, _NUL_CLASS = range(1, 5)
_Places = NDArray[np.int64]


class MalformedError(Exception):
    """A text is not CSV: the place of the offender in the block, and the reason. Carries no content."""

    def __init__(self, place: int, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class Dialect:
    """How a file is written.

    Args:
        delimiter: the character between fields.
        is_crlf: whether lines end in CR LF instead of LF.

    """

    delimiter: str
    is_crlf: bool = False

    @property
    def end(self) -> bytes:
        """The line end."""
        return b"\r\n" if self.is_crlf else b"\n"


@dataclass(frozen=True)
class Rows:
    """Whole rows of a block: where each field begins and ends, quotes included.

    Args:
        block: the bytes.
        starts: the first byte of each field, rows by columns.
        ends: the byte behind each field.
        dropped: the second quotes of pairs, which are not content.
        size: the number of bytes of the block that the rows take.
        lines: the number of line feeds in them.

    """

    block: NDArray[np.uint8]
    starts: _Places
    ends: _Places
    dropped: _Places
    size: int
    lines: int

    def column(self, place: int) -> tuple[NDArray[np.uint8], _Places]:
        """Return the contents of a column, concatenated, and the length of each.

        A quoted field keeps its opening quote, so that an empty field (NULL) and a quoted empty one (an empty text)
        differ; no other content begins with a quote.
        """
        starts, ends = self.starts[:, place], self.ends[:, place]
        # Where a field is empty the byte at its start is a separator.
        is_quoted = self.block[starts] == _QUOTE
        lengths = ends - starts - is_quoted
        before = np.cumsum(lengths) - lengths
        places = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
        if not self.dropped.size or not is_quoted.any():
            return self.block[places], lengths
        is_kept = np.ones(self.block.size, dtype=bool)
        is_kept[self.dropped] = False
        fewer = np.searchsorted(self.dropped, ends) - np.searchsorted(self.dropped, starts)
        return self.block[places[is_kept[places]]], lengths - fewer


def scan(data: bytes, dialect: Dialect, width: int, *, is_last: bool) -> Rows | None:
    """Return the whole rows at the beginning of a block, or None if it holds none; raise MalformedError.

    Args:
        data: bytes that begin where a row does.
        dialect: how the file is written.
        width: the number of fields of a row.
        is_last: whether nothing follows; the block then went through ``last_block``.

    """
    block = np.frombuffer(data, dtype=np.uint8)
    classes = _classes(dialect)[block]
    places = np.flatnonzero(classes)
    kinds = classes[places]
    is_inside = (np.cumsum(kinds == _QUOTE_CLASS) & 1) == 1
    size = len(data) if is_last else _whole(places[(kinds == _LF_CLASS) & ~is_inside], dialect, width)
    if size == 0:
        return None
    here = int(np.searchsorted(places, size))
    places, kinds, is_inside = places[:here], kinds[:here], is_inside[:here]
    quotes = places[kinds == _QUOTE_CLASS]
    opening, closing = quotes[0::2], quotes[1::2]
    before, behind = np.where(opening > 0, block[opening - 1], _LF), block[closing + 1]
    is_end = (kinds == _LF_CLASS) & ~is_inside
    delimiter, ends_in = ord(dialect.delimiter), dialect.end[0]
    is_opened = (before == delimiter) | (before == _LF) | (before == _QUOTE)
    is_closed = (behind == delimiter) | (behind == ends_in) | (behind == _QUOTE)
    if dialect.is_crlf:
        is_closed &= (behind != _CR) | (block[np.minimum(closing + 2, size - 1)] == _LF)
    _refuse(
        (places[kinds == _NUL_CLASS], "a NUL character"),
        (opening[~is_opened], "a quote within a field that does not begin with one"),
        (closing[~is_closed], "something between the closing quote of a field and the next delimiter or line end"),
        _other_ends(block, places[is_end], dialect),
    )
    _refuse((opening[closing.size :], "a quote is opened and never closed"))
    is_separator = is_end | ((kinds == _DELIMITER_CLASS) & ~is_inside)
    separators = places[is_separator]
    ends = _fields(separators, is_end[is_separator], width)
    starts = np.concatenate(([0], separators[:-1] + 1)).reshape(-1, width)
    if dialect.is_crlf:
        ends[:, -1] -= 1
    dropped = opening[(opening > 0) & (before == _QUOTE)]
    return Rows(block, starts, ends, dropped, size, int(np.count_nonzero(kinds == _LF_CLASS)))


def last_block(data: bytes, dialect: Dialect, width: int) -> bytes:
    """Return the last block of a file, with a line end added if its last row lacks one, without trailing blank lines.

    In a file of one column blank lines are rows, and stay.
    """
    end = dialect.end
    if data and not data.endswith(b"\n"):
        return data + end
    size = len(data)
    while width > 1 and data.endswith(end, 0, size):
        size -= len(end)
    return data if size == len(data) else data[: size + len(end)] if size else b""


def first_row(data: bytes, delimiter: str) -> tuple[Dialect, tuple[str, ...], int] | None:
    """Return how a file is written, the fields of its first row and their bytes; None if that row does not end here.

    Args:
        data: the beginning of the file, in valid UTF-8 as far as the row goes.
        delimiter: the assumed character between fields.

    """
    block = np.frombuffer(data, dtype=np.uint8)
    is_outside = (np.cumsum(block == _QUOTE) & 1) == 0
    ends = np.flatnonzero((block == _LF) & is_outside)
    if not ends.size:
        return None
    end = int(ends[0])
    dialect = Dialect(delimiter, is_crlf=end > 0 and block[end - 1] == _CR)
    row = data[: end + 1]
    width = 1 + int(np.count_nonzero((block[:end] == ord(delimiter)) & is_outside[:end]))
    rows = scan(row, dialect, width, is_last=True)
    if rows is None:  # not reached: the row has its line end
        return None
    fields = []
    for place in range(width):
        content, _ = rows.column(place)
        fields.append(content.tobytes().decode().removeprefix('"'))
    return dialect, tuple(fields), end + 1


def _classes(dialect: Dialect) -> NDArray[np.uint8]:
    table = np.zeros(256, dtype=np.uint8)
    table[ord(dialect.delimiter)] = _DELIMITER_CLASS
    table[[_LF, _QUOTE, 0]] = _LF_CLASS, _QUOTE_CLASS, _NUL_CLASS
    return table


def _whole(ends: _Places, dialect: Dialect, width: int) -> int:
    """Return the number of bytes of whole rows; blank lines after them may be the end of the file, and wait."""
    if width > 1 and ends.size:
        ends = ends[np.diff(ends, prepend=-1) > len(dialect.end)]
    return int(ends[-1]) + 1 if ends.size else 0


def _other_ends(block: NDArray[np.uint8], ends: _Places, dialect: Dialect) -> tuple[_Places, str]:
    """Return line ends of another kind than the file's."""
    is_crlf = (ends > 0) & (block[ends - 1] == _CR)
    kinds = ("CR LF", "LF") if dialect.is_crlf else ("LF", "CR LF")
    return ends[is_crlf != dialect.is_crlf], f"a line that ends in {kinds[1]}, while the first one ends in {kinds[0]}"


def _refuse(*offenders: tuple[_Places, str]) -> None:
    """Refuse the first of the offenders."""
    found = [(int(places[0]), reason) for places, reason in offenders if places.size]
    if found:
        raise MalformedError(*min(found))


def _fields(separators: _Places, is_end: NDArray[np.bool_], width: int) -> _Places:
    """Return separators as rows by columns; refuse a row of another width."""
    if separators.size % width == 0:
        shaped = is_end.reshape(-1, width)
        if shaped[:, -1].all() and not shaped[:, :-1].any():
            return separators.copy().reshape(-1, width)
    ends = np.flatnonzero(is_end)
    counts = np.diff(ends, prepend=-1)
    first = int(np.flatnonzero(counts != width)[0])
    start = 0 if first == 0 else int(separators[ends[first - 1]]) + 1
    fields = "1 field" if counts[first] == 1 else f"{counts[first]} fields"
    if counts[first] == 1 and int(separators[ends[first]]) == start:
        fields = "a blank line"
    raise MalformedError(start, f"{fields}, while the first line has {width} fields")
