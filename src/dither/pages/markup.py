"""Markup that cannot be forged: whatever is not ``Markup`` is text, and is escaped where it enters an element.

Names of data sets, columns and categories, and the texts of errors, come from people. They reach a page only through
``tag``, so that escaping stands in one place.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

#: What XML 1.0 does not admit, and what UTF-8 cannot write: one such character in a name would spoil a whole page.
_UNFIT: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")
_VOID: Final = frozenset({"br", "meta", "wbr"})
#: Shorter words stay whole, however narrow a column is.
LONGEST_WORD: Final = 24
#: A longer one may end a line behind a mark, or after so many letters; a name of several parts behind each of them.
_PIECE: Final = re.compile(r".{1,11}?[_./:,=&?+-]+|.{1,12}")
_PART: Final = re.compile(r"_*[^_]+_*|_+")
_LONG: Final = re.compile(rf"\S{{{LONGEST_WORD + 1},}}|(?=\S{{13}})[^\s_]+_\S+")


class Markup(str):
    """Text that is markup already; only ``tag`` and this room's own constants make it."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return a value as text within markup; markup stays as it is.

    >>> text("<b> & c"), text(tag("b", "d"))
    ('&lt;b&gt; &amp; c', '<b>d</b>')

    """
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(_UNFIT.sub("\N{REPLACEMENT CHARACTER}", str(value)), quote=True))


def breakable(value: object) -> Markup:
    """Return a value as markup in which long words and names of several parts may break; markup is unchanged.

    >>> breakable("north-west 0123456789abcdef0123456789abcdef age_of_patients")
    'north-west 0123456789ab<wbr>cdef01234567<wbr>89abcdef age_<wbr>of_<wbr>patients'

    """
    shown = text(value)
    if isinstance(value, Markup) or not _LONG.search(words := str(value)):
        return shown
    parts, end = [], 0
    for long in _LONG.finditer(words):
        pieces = (_PIECE if len(long[0]) > LONGEST_WORD else _PART).findall(long[0])
        parts += [text(words[end : long.start()]), joined(pieces, Markup("<wbr>"))]
        end = long.end()
    return joined([*parts, text(words[end:])])


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Return parts one after the other; those that are not markup are escaped, and so is what stands between them."""
    return Markup(text(between).join(text(part) for part in parts))


def tag(name: str, /, *inside: object, **attributes: object) -> Markup:
    """Return an element around texts and markup.

    Args:
        name: of the element.
        inside: texts, which are escaped, and markup.
        attributes: by name; ``class_`` means class, ``text_anchor`` text-anchor. None leaves one out, True writes it
            without a value, and a float is written with two decimals.

    >>> tag("td", "1 < 2", class_="number")
    '<td class="number">1 &lt; 2</td>'

    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        word = key.removesuffix("_").replace("_", "-")
        shown = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
        words.append(word if value is True else f'{word}="{text(str(shown))}"')
    if not all(_NAME.fullmatch(word.partition("=")[0]) for word in words):
        raise AssertionError(f"{name} is not an element with these attributes: {', '.join(attributes)}")
    opened = f"<{' '.join(words)}>"
    return Markup(opened if name in _VOID else f"{opened}{joined(inside)}</{name}>")
