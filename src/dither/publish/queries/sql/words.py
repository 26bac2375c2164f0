"""What other dialects write that the reader of SQL does not know: read here, before it, word by word.

Names in backticks and square brackets become names in double quotes. ``SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (...)``
is taken out, and its options are kept. ``TOP n`` becomes ``LIMIT n``. ``ANON_SUM(x CLAMPED BETWEEN 0 AND 10)`` and
``SUM(x, contribution_bounds_per_group => (0, 10))`` become a call that holds the aggregate and its bounds. A function
whose arguments the reader would rearrange gets a name that it leaves alone. Every word keeps its place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from dither.errors import InvalidParameter, Unanswerable

#: The call that holds an aggregate and what one person may add to a group.
BOUNDED: Final = "~BOUNDED"
#: What is not closed goes to the end, so that every character is looked at once.
_PIECE: Final = re.compile(
    r"[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|\$(\w*)\$.*?(?:\$\1\$|\Z)|`(?:[^`]|``)*`|\[[^\[\]]*\]",
    re.DOTALL,
)
_MOST_TOPS: Final = 64
_NAME: Final = re.compile(r"[A-Za-z_][\w $#@.-]*")
_TIGHT: Final = re.compile(r"[\w)\]\"`]")
#: What ends an operand: an operator follows, and not a function.
_OPERANDS: Final = frozenset(("VAR", "IDENTIFIER", "NUMBER", "STRING", "R_PAREN", "R_BRACKET"))
_CLAUSES: Final = ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION")
_ANONYMOUS: Final = re.compile(r"ANON_(COUNT|SUM|AVG|VAR_POP|STDDEV_POP|PERCENTILE_CONT)", re.IGNORECASE)
_PER_PERSON: Final = frozenset(("COUNT", "SUM", "AVG"))
_BOUNDS: Final = ("CONTRIBUTION_BOUNDS_PER_GROUP", "CONTRIBUTION_BOUNDS_PER_ROW")


@dataclass
class Read:
    """The words of a query for the reader, and the options of its privacy clause: name, text and place of each."""

    tokens: list[Any]
    options: dict[str, tuple[str, int]] = field(default_factory=dict)


def plain_names(text: str) -> tuple[str, frozenset[int]]:
    r"""Return a text of the same length with all quoted names in double quotes, and where backticks began.

    >>> plain_names("SELECT `a b`, [c d], x[1], '`' FROM t")[0]
    'SELECT "a b", "c d", x[1], \'`\' FROM t'
    """
    ticks: set[int] = set()

    def changed(found: re.Match[str]) -> str:
        piece, inner = found.group(), found.group()[1:-1]
        if piece[0] == "`" and '"' not in inner and "`" not in inner:
            ticks.add(found.start())
            return f'"{inner}"'
        before = text[found.start() - 1 : found.start()]
        if piece[0] == "[" and _NAME.fullmatch(inner) and not (before and _TIGHT.match(before)):
            return f'"{inner}"'
        return piece

    return _PIECE.sub(changed, text), frozenset(ticks)


def read_words(tokens: Sequence[Any], kept: frozenset[str], ticks: frozenset[int]) -> Read:
    """Return the words that the reader gets.

    Args:
        tokens: the words of the text.
        kept: functions whose arguments must stay in order.
        ticks: where names in backticks begin; such a name may have several parts.

    """
    reader = _Reader(list(tokens), kept, ticks)
    reader.run()
    return Read(reader.out, reader.options)


class _Reader:
    def __init__(self, tokens: list[Any], kept: frozenset[str], ticks: frozenset[int]) -> None:
        self.tokens, self.kept, self.ticks = tokens, kept, ticks
        self.out: list[Any] = []
        self.options: dict[str, tuple[str, int]] = {}
        self.place = self.tops = 0
        self._closing = _brackets(tokens)
        #: Words to put before the closing bracket at a place, or at the end.
        self._later: dict[int, list[Any]] = {}

    def run(self) -> None:
        while self.place < len(self.tokens):
            self.out += self._later.pop(self.place, [])
            self._one()
        self.out += self._later.pop(len(self.tokens), [])

    def _word(self, ahead: int = 0) -> str:
        """Return a word in capitals, empty for a quoted name or a text."""
        place = self.place + ahead
        if place >= len(self.tokens) or self.tokens[place].token_type.name in ("STRING", "IDENTIFIER"):
            return ""
        return str(self.tokens[place].text).upper()

    def _one(self) -> None:
        token, word = self.tokens[self.place], self._word()
        if word == "SELECT":
            self.out.append(token)
            self.place += 1
            self._after_select()
        elif word == "SAFE" and self._word(1) == "." and self._word(3) == "(":
            self.place += 2  # every function gives NULL where others raise
        elif word and self._word(1) == "(" and self._is_called(word):
            self._function(word)
        elif token.token_type.name == "IDENTIFIER" and token.start in self.ticks and "." in token.text:
            self._split(token)
            self.place += 1
        else:
            self.out.append(token)
            self.place += 1

    def _is_called(self, word: str) -> bool:
        if word in _PER_PERSON or _ANONYMOUS.fullmatch(word) or self._bounds() is not None:
            return True
        if word.lower() not in self.kept:
            return False
        before = self.out[-1].token_type.name if self.out else ""
        return not (word == "DIV" and before in _OPERANDS)

    def _split(self, token: Any) -> None:
        for number, part in enumerate(str(token.text).split(".")):
            if number:
                self.out.append(_like(token, "DOT", "."))
            self.out.append(_like(token, "IDENTIFIER", part))

    # SELECT WITH DIFFERENTIAL_PRIVACY, SELECT TOP.

    def _after_select(self) -> None:
        if self._word() == "WITH" and self._word(1) in _CLAUSES:
            self.place += 2
            if self._word() == "OPTIONS" and self._word(1) == "(":
                self._read_options(self.place + 1)
        while self._word() in ("DISTINCT", "ALL"):
            self.out.append(self.tokens[self.place])
            self.place += 1
        if self._word() == "TOP" and (self._word(1) == "(" or self._word(1).isdigit()):
            self._top()

    def _top(self) -> None:
        self.tops += 1
        if self.tops > _MOST_TOPS:
            raise Unanswerable(f"TOP more than {_MOST_TOPS} times", "write LIMIT")
        start, self.place = self.tokens[self.place], self.place + 1
        if self._word() == "(":
            end = self._closing.get(self.place, self.place)
            number = self.tokens[self.place + 1 : end]
            self.place = end + 1
        else:
            number = [self.tokens[self.place]]
            self.place += 1
        if self._word() in ("PERCENT", "WITH"):
            raise Unanswerable(f"TOP with {self._word()}", "write TOP 10, or LIMIT 10")
        self._later.setdefault(self._end_of_select(), []).extend([_like(start, "LIMIT", "LIMIT"), *number])

    def _end_of_select(self) -> int:
        """Return where the brackets around this place close, or the text ends."""
        around = [end for start, end in self._closing.items() if start < self.place <= end]
        if around:
            return min(around)
        for place in range(self.place, len(self.tokens)):
            if self.tokens[place].text == ";":
                return place
        return len(self.tokens)

    def _read_options(self, opening: int) -> None:
        closing = self._closing.get(opening)
        if closing is None:
            raise InvalidParameter("sql", "OPTIONS (", "closed by a bracket")
        for part in _parts(self.tokens[opening + 1 : closing]):
            words = [str(token.text) for token in part]
            if len(words) < 3 or words[1] not in ("=", "=>"):
                _refuse_option(" ".join(words)[:60])
            name = words[0].lower()
            if name in self.options:
                raise InvalidParameter("OPTIONS", name, "an option that is set once")
            self.options[name] = "".join(words[2:]), int(part[0].start)
        self.place = closing + 1

    # Functions.

    def _function(self, word: str) -> None:
        token, opening = self.tokens[self.place], self.place + 1
        found = _ANONYMOUS.fullmatch(word)
        name = found.group(1).upper() if found else word
        bounds = self._bounds()
        if bounds is None:
            text = f"~{token.text}" if word.lower() in self.kept else name if found else token.text
            self.out.append(_like(token, "VAR", text) if text != token.text else token)
            self.place += 1
            return
        start, end, low, high, per_row = bounds
        closing = self._closing[opening]
        if end != closing:
            raise Unanswerable(f"an argument after the bounds of {name}", "put the bounds last")
        inside = self._inner(opening + 1, start)
        if per_row or name not in _PER_PERSON:
            self._clamped(token, name, inside, low, high)
        else:
            self.out += [
                *(_like(token, "VAR", BOUNDED), _like(token, "L_PAREN", "(")),
                *(_like(token, "VAR", name), _like(token, "L_PAREN", "("), *inside, _like(token, "R_PAREN", ")")),
                *(_like(token, "COMMA", ","), *low, _like(token, "COMMA", ","), *high),
                self.tokens[closing],
            ]
        self.place = closing + 1

    def _inner(self, start: int, end: int) -> list[Any]:
        """Return the words of an argument, read in turn."""
        below = _Reader(self.tokens[start:end], self.kept, self.ticks)
        below.run()
        return below.out

    def _clamped(self, token: Any, name: str, inside: list[Any], low: list[Any], high: list[Any]) -> None:
        """Write the aggregate of a clamped value; a row that is counted counts once, whatever its bounds."""
        if name == "COUNT":
            self.out += [_like(token, "VAR", name), _like(token, "L_PAREN", "("), *inside]
        else:
            parts = _parts(inside)
            self.out += [
                *(_like(token, "VAR", name), _like(token, "L_PAREN", "(")),
                *(_like(token, "VAR", "CLAMP"), _like(token, "L_PAREN", "("), *parts[0], _like(token, "COMMA", ",")),
                *(*low, _like(token, "COMMA", ","), *high, _like(token, "R_PAREN", ")")),
            ]
            for part in parts[1:]:
                self.out += [_like(token, "COMMA", ","), *part]
        self.out.append(_like(token, "R_PAREN", ")"))

    def _bounds(self) -> tuple[int, int, list[Any], list[Any], bool] | None:
        """Return where the bounds of the call at this place begin and end, both of them, and if they are of a row."""
        opening = self.place + 1
        closing = self._closing.get(opening)
        place = opening + 1
        while closing is not None and place < closing:
            words = [self._word(place - self.place + ahead) for ahead in range(3)]
            if words[:2] == ["CLAMPED", "BETWEEN"]:
                middle = next((at for at in range(place, closing) if self._word(at - self.place) == "AND"), closing)
                ends = self.tokens[place + 2 : middle], self.tokens[middle + 1 : closing]
                return place, closing, *ends, False
            if words[0] in _BOUNDS and words[1] == "=>":
                end = self._closing.get(place + 2)
                pair = [] if end is None else _parts(self.tokens[place + 3 : end])
                if end is None or len(pair) != 2 or self._word(place - 1 - self.place) != ",":
                    raise Unanswerable(f"{words[0].lower()} without two bounds", f"write {words[0].lower()} => (0, 10)")
                return place - 1, end + 1, pair[0], pair[1], words[0].endswith("ROW")
            place = self._closing.get(place, place) + 1
        return None


def _refuse_option(name: str) -> NoReturn:
    raise Unanswerable(
        f"{name} is not an option of the privacy clause that is understood",
        "write OPTIONS (epsilon = 1, delta = 1e-6, max_groups_contributed = 2, privacy_unit_column = id)",
    )


def _parts(tokens: Sequence[Any]) -> list[list[Any]]:
    """Return words between the commas that are in no brackets."""
    found: list[list[Any]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and depth == 0 and token.token_type.name == "COMMA":
            found.append([])
        else:
            found[-1].append(token)
    return found


def _brackets(tokens: Sequence[Any]) -> dict[int, int]:
    """Return where each opening bracket is closed."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for place, token in enumerate(tokens):
        if token.token_type.name == "L_PAREN":
            stack.append(place)
        elif token.token_type.name == "R_PAREN" and stack:
            found[stack.pop()] = place
    return found


def _like(token: Any, kind: str, text: str) -> Any:
    """Return a word at the place of another."""
    made = type(token)
    return made(
        getattr(type(token.token_type), kind),
        text,
        line=token.line,
        col=token.col,
        start=token.start,
        end=token.end,
        comments=[],
    )
