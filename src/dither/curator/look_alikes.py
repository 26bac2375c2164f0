"""Names that look like a word: in any case, width or script, with marks, and with signs that nobody sees.

Unicode's list of signs that are taken for each other (Technical Standard 39, Unicode Security Mechanisms) says which
ones are drawn like the letters of a word; here are those that look like the letters of ``curator``. Forms that stand
for a Latin letter by their own name (small capitals, letters with strokes, hooks and tails, squared and circled ones)
need no line: they are known by that name. The list is never complete. So a name is also refused of which four letters
at least are known, each at its place, and all others are signs that nothing is known of.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: How many letters of a word must be seen at their places where the others are signs that nothing is known of.
_ENOUGH: Final = 4
_A: Final = (
    "αΑɑаАꭤᎪꓮᗅ\U00016f40\U000102a0"  # alpha; Cyrillic; Cherokee, Lisu, Canadian syllabics, Miao, Carian
    "ΛΔДЛ∀⍺⍶@"  # what stands for it in capitals of another alphabet, and signs
)
_C: Final = (
    "ɔϲςϹⲥⲤсСҫҪꮯᏟꓚᑕ"  # a turned c; lunate sigma; Coptic, Cyrillic, Cherokee, Lisu, Canadian syllabics
    "\U0001043d\U00010415\U000102a2\U00010302\U0001051c\U000118e9\U000118f2"  # Deseret, Carian, Italic, Elbasan, Warang
    "¢₡©⊂\U0001f74c\U0001f16e"
)
_O: Final = (
    "οΟσθΘоОөѳфФⲟⲞօՕჿס"  # Greek, Cyrillic, Coptic, Armenian, Georgian, Hebrew; zeros are known by their value
    "ەہھهۿ٥۵ഠ\u0c02\u0c82\u0d02\u0d82ଠဝတ"  # Arabic; Malayalam, Telugu, Kannada, Sinhala, Odia, Myanmar
    "ⵔⵁⴱዐꓳᎾᏫᎤꮎꮻꭴ"  # Tifinagh, Ethiopic, Lisu, Cherokee
    "\U000104ea\U000104c2\U000118c8\U000118d7\U000118b5\U0001042c\U00010404"  # Osage, Warang, Deseret
    "\U00010292\U000102ab\U00010516"  # Lycian, Carian, Elbasan
    "0〇○◯●⊖⊝⍬\U0001d21a\U0001f714"
)
_R: Final = (
    "гГғҐґяЯᴦΓⲅⲄꮁᎱᎡᏒꮢꭱꓣᖇ"  # Cyrillic, also turned; Greek, Coptic, Cherokee, Lisu, Canadian syllabics
    "\U000104b4\U00016f35\U0001d216®"  # Osage, Miao
)
_T: Final = (
    "τΤтТҭҬⲧⲦᎢꭲꓔ丅"  # Greek, Cyrillic, Coptic, Cherokee, Lisu
    "\U00016f0a\U000118bc\U00010297\U000102b1\U00010315"  # Miao, Warang, Lycian, Carian, Italic
    "⊤⟙⍡₮†+\U0001f768"
)
_U: Final = (
    "υμµսՍцЦиИџЏʊꞟʋᏌꮜꓴᑌሀ"  # Greek, Armenian, Cyrillic, Latin; Cherokee, Lisu, Canadian syllabics, Ethiopic
    "\U000104f6\U000104ce\U000118d8\U000118b8\U00016f42∪⋃"  # Osage, Warang, Miao
)


def _by_sign(tables: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return by sign, in either case, the letters that it looks like."""
    found: dict[str, set[str]] = {}
    for letter, signs in tables.items():
        for sign in signs:
            for form in (sign, sign.lower(), sign.upper(), sign.casefold()):
                found.setdefault(form, set()).add(letter)
    return {sign: frozenset(letters) for sign, letters in found.items()}


_LOOKS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    _by_sign({"a": _A, "c": _C, "o": _O, "r": _R, "t": _T, "u": _U})
)
#: Such as LATIN LETTER SMALL CAPITAL U, LATIN SMALL LETTER TURNED R WITH TAIL, NEGATIVE SQUARED LATIN CAPITAL LETTER C.
_LATIN: Final = re.compile(r".*\b(?:LATIN|INDICATOR)\b.*\bLETTER (?:[A-Z]{2,} )*([A-Z])\b")
#: The alphabets whose other letters are known to look like none of the word's: Greek, and Cyrillic as it is written.
_ALPHABETS: Final = (range(0x0370, 0x0400), range(0x0400, 0x0460))
#: Letters that are drawn as nothing at all.
_BLANK: Final = frozenset("\u115f\u1160\u3164\uffa0")
#: Signs of these kinds may be anything; letters are among them.
_OPEN: Final = ("L", "S", "Co", "Cn")


def looks_like(name: str, word: str) -> bool:
    """Whether a name can be taken for a word of the letters a, c, o, r, t and u.

    Marks, spaces, punctuation and invisible signs are passed over.

    Args:
        name: anything.
        word: in small letters.

    >>> looks_like("Сurаt0r", "curator"), looks_like("curators", "curator"), looks_like("Куратов", "curator")
    (True, False, False)

    """
    # How far the word has been read, and how many of its letters were seen: a sign may be read or passed over.
    read = {(0, 0)}
    for sign in _signs(name):
        looks, is_open, is_passed = _seen(sign)
        after = set(read) if is_passed else set()
        for place, known in read:
            if place < len(word):
                if word[place] in looks:
                    after.add((place + 1, known + 1))
                elif is_open:
                    after.add((place + 1, known))
        read = after
    return any(place == len(word) and known >= min(_ENOUGH, place) for place, known in read)


def _signs(name: str) -> list[str]:
    """Return what a name is made of: signs of the tables as they are, all others in their plain form."""
    found: list[str] = []
    for sign in name:
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", sign).casefold())
        found += [sign] if sign in _LOOKS or len(plain) < 2 else plain
    return found


@functools.lru_cache(maxsize=1024)
def _seen(sign: str) -> tuple[frozenset[str], bool, bool]:
    """Return the letters that a sign looks like, whether nothing is known of it, and whether it may be passed over."""
    looks: set[str] = set()
    for form in (sign, unicodedata.normalize("NFKC", sign).casefold()):
        bare = unicodedata.normalize("NFKD", form)[:1]
        for one in (form, bare):
            looks |= _LOOKS.get(one, frozenset()) | _named(one)
    kind = unicodedata.category(sign)
    is_blank = sign in _BLANK or kind == "Lm" or kind[0] not in "LN"
    is_known = bool(looks) or sign.isascii() or any(ord(sign) in letters for letters in _ALPHABETS)
    return frozenset(looks), kind.startswith(_OPEN) and not is_known, is_blank


def _named(sign: str) -> frozenset[str]:
    """Return the Latin letter that a sign is by its own value or name, in small: at most one."""
    if len(sign) != 1:
        return frozenset()
    if unicodedata.digit(sign, None) == 0:
        return frozenset("o")
    if sign.isascii():
        return frozenset(sign.lower())
    found = _LATIN.match(unicodedata.name(sign, ""))
    return frozenset(() if found is None else found[1].lower())
