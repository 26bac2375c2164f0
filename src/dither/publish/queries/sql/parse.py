"""From text to a syntax tree, and from a node of it back to its place in the text.

sqlglot reads the text (DuckDB's spelling of SQL); nothing else of it is used. What it cannot read is one error with
line and column. Length and depth are capped before anything recursive starts.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dither.errors import InvalidParameter, Unanswerable
from dither.publish.queries.sql.column_lists import with_column_lists
from dither.publish.queries.sql.decimals import with_exact_constants
from dither.publish.queries.sql.quantile_lists import with_quantile_lists
from dither.publish.queries.sql.shown_lists import lists_to_from
from dither.publish.queries.sql.spelling import KEPT, nearest, word_of
from dither.publish.queries.sql.words import plain_names, read_words
from dither.publish.queries.work import step

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST: Final = 100_000
DEEPEST: Final = 100
LONGEST_INTERVAL: Final = 40
_STEPS_OF_TOKEN: Final = 2
#: What reading a token again takes: each makes parts of a tree anew.
_STEPS_AGAIN: Final = 16
_DIALECT: Final = "duckdb"
#: What has matched is not tried again: else a comment could also go on to the end of the next one, in 2^n ways for n.
_GAP: Final = r"(?>\s|--[^\n]*(?:\n|$)|/\*.*?\*/)"
_EXPLAIN: Final = re.compile(rf"{_GAP}*+EXPLAIN\b(?:{_GAP}++(PRIVACY)\b)?", re.IGNORECASE | re.DOTALL)
_HIDDEN: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_OPTION: Final = re.compile(r"OPTION\s*\(\s*THRESHOLD_SHARE\s*=\s*([0-9./]+)\s*\)[\s;]*", re.IGNORECASE)
#: Statements that show what there is.
_SHOWING: Final = frozenset(("SHOW", "DESCRIBE", "DESC", "TABLES", "SUMMARIZE", "HELP"))
#: How the reader begins an error, and what is said of it.
_MISREAD: Final = (
    ("Required keyword", "something is missing"),
    ("Expecting )", "expecting )"),
    ("Expecting (", "expecting ("),
    ("Invalid expression / Unexpected token", "not expected here"),
    ("Expected table name", "the name of a table is missing"),
    ("Expected AND after BETWEEN", "BETWEEN has no AND"),
    ("Expecting BY", "expecting BY"),
    ("Expected THEN", "a WHEN has no THEN"),
    ("Expected END", "a CASE has no END"),
    ("The number of provided arguments", "a function has too many arguments"),
)
_OPENING: Final = frozenset(("(", "[", "{"))
_CLOSING: Final = frozenset((")", "]", "}"))


@dataclass(frozen=True)
class Statement:
    """A statement: the query, whether only its privacy is explained, and the threshold's share if stated."""

    sql: str
    is_explained: bool
    threshold_share: str | None = None


def parse_statement(text: str) -> Statement:
    """Return the query, whether it is under ``EXPLAIN PRIVACY``, and the options after it.

    >>> parse_statement("EXPLAIN PRIVACY SELECT COUNT(*) FROM visits").is_explained
    True
    >>> parse_statement("SELECT city, COUNT(*) FROM visits GROUP BY city OPTION (THRESHOLD_SHARE = 0.4)")
    Statement(sql='SELECT city, COUNT(*) FROM visits GROUP BY city', is_explained=False, threshold_share='0.4')
    """
    check_text(text)
    text, share = _without_option(text)
    found = _EXPLAIN.match(text)
    if found is None:
        return Statement(text.strip(), False, share)
    if found.group(1) is None:
        raise Unanswerable(
            "EXPLAIN would show how an engine runs a query, which depends on private rows",
            "write EXPLAIN PRIVACY <query>: unit, bounds, mechanisms, cost and expected error",
        )
    return Statement(text[found.end() :].strip(), True, share)


def _without_option(text: str) -> tuple[str, str | None]:
    """Return a text without ``OPTION (THRESHOLD_SHARE = ...)`` at its end, and that share."""
    # Texts in quotes and comments say nothing here.
    seen = _HIDDEN.sub(lambda hidden: (" " if hidden.group()[0] in "-/" else "?") * len(hidden.group()), text)
    start = seen.lower().rfind("option")
    found = None if start < 0 or seen[start - 1 : start].isalnum() else _OPTION.fullmatch(seen, start)
    return (text, None) if found is None else (text[:start].rstrip(), found.group(1))


def check_text(text: object) -> None:
    """Reject anything that is not a text, or is too long."""
    if not isinstance(text, str):
        raise InvalidParameter("sql", type(text).__name__, "a string")
    if len(text) > LONGEST:
        raise InvalidParameter("sql", f"{len(text)} characters", f"at most {LONGEST} characters long")


class Parsed:
    """A parsed query with its text, so that refusals can state the place."""

    def __init__(self, text: str) -> None:
        check_text(text)
        self.text = text
        self.options: dict[str, tuple[str, int]] = {}
        #: Trees made of parts of the text; they are kept, since what is known of a tree is known by its identity.
        self.made: list[exp.Expression] = []
        try:
            self.tree = self._parse()
            self._check_depth(self.tree)
            with_quantile_lists(self, self.tree)
            lists_to_from(self.tree)
            with_column_lists(self.tree)
            with_exact_constants(self.tree)
        except RecursionError:
            raise self._too_deep() from None

    def place(self, node: exp.Expression | None) -> str:
        """Return a node's line and column, and the beginning of its text."""
        spans = [] if node is None else [part.meta for part in node.walk() if "start" in part.meta]
        if not spans:
            return ""
        start = min(int(span["start"]) for span in spans)
        end = max(int(span["end"]) for span in spans) + 1
        while self.text[start:end].count("(") > self.text[start:end].count(")") and self.text[end : end + 1] == ")":
            end += 1
        shown = " ".join(self.text[start:end].split())
        return f"{self._line_and_column(start)}: {shown if len(shown) <= 60 else shown[:59] + '…'}"

    def word(self, node: exp.Expression) -> str:
        """Return what a node is called in SQL."""
        return word_of(self.text, node)

    def refuse(self, node: exp.Expression | None, reason: str, instead: str) -> NoReturn:
        """Raise the refusal of a construct at its place."""
        raise self.refusal(node, reason, instead)

    def refusal(self, node: exp.Expression | None, reason: str, instead: str) -> Unanswerable:
        """Return the refusal of a construct at its place."""
        place = self.place(node)
        return Unanswerable(f"{reason} ({place})" if place else reason, instead)

    def _parse(self) -> Any:
        from sqlglot.dialects.dialect import Dialect
        from sqlglot.errors import ParseError, TokenError

        if not self.text.strip():
            raise InvalidParameter("sql", self.text, "a query, such as SELECT COUNT(*) FROM a_table")
        dialect = Dialect.get_or_raise(_DIALECT)
        try:
            text, ticks = plain_names(self.text)
            tokens = dialect.tokenize(text)
            # Numbers, names, texts and the commas of lists: each is read several times.
            step(_STEPS_OF_TOKEN * len(tokens))
            self._check_tokens(tokens)
            read = read_words(tokens, KEPT, ticks)
            self.options, tokens = read.options, read.tokens
            trees = [tree for tree in _reader()(dialect=dialect).parse(tokens, self.text) if tree is not None]
        except (InvalidParameter, Unanswerable, RecursionError):
            raise
        except TokenError:
            raise self._unfinished() from None
        except ParseError as error:
            raise self._misread(error.errors[0] if error.errors else {}) from None
        except Exception:
            # The text alone decides what goes wrong here; a reader's own slips must not look like anything else.
            raise InvalidParameter("sql", self.text, "SQL that can be read") from None
        if len(trees) != 1:
            raise Unanswerable(f"the text has {len(trees)} statements", "send them one by one")
        return trees[0]

    def _check_tokens(self, tokens: list[Any]) -> None:
        """Reject deep nesting before the recursive parser starts, and everything but one query."""
        depth, ended, before = 0, False, ""
        for token in tokens:
            if before == "INTERVAL" and len(token.text) > LONGEST_INTERVAL:
                # The reader looks for numbers in it from every place of it, in time that grows with its square.
                raise Unanswerable("an interval that is not a number of one unit", "write INTERVAL 30 DAY")
            before = token.token_type.name
            if ended and token.text != ";":
                raise Unanswerable("the text has several statements", "send them one by one")
            ended = ended or token.token_type.name == "SEMICOLON"
            if token.token_type.name not in ("STRING", "IDENTIFIER"):
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
            if depth > DEEPEST:
                raise self._too_deep()
        first = next((token for token in tokens if token.text != "("), None)
        word = first.text.upper() if first is not None else ""
        if word == "EXPLAIN":
            parse_statement(self.text)
            raise Unanswerable("EXPLAIN PRIVACY is a statement about a query", "quote the query instead of running it")
        if word in _SHOWING:
            raise Unanswerable(
                f"{word} is not a query about the data",
                ".tables and .columns in 'dither shell' show the declared tables; in Python session.dataset does",
            )
        if word not in ("SELECT", "WITH", "FROM"):
            like = nearest(word, ("SELECT", "WITH", "FROM", "EXPLAIN"))
            instead = "write SELECT with an aggregate, such as SELECT region, COUNT(*) FROM visits GROUP BY region"
            raise Unanswerable(
                f"{word[:40] or 'nothing'} is not a query: only queries of the data are supported",
                instead if like is None else f"did you mean {like}? Else {instead}",
            )

    def _check_depth(self, tree: exp.Expression) -> None:
        """Reject a tree that is too deep; chains of AND and OR are flat."""
        stack = [(tree, 0)]
        while stack:
            node, depth = stack.pop()
            if depth > DEEPEST:
                raise self._too_deep()
            for child in node.iter_expressions():
                is_chain = type(child) is type(node) and node.key in ("and", "or")
                stack.append((child, depth if is_chain else depth + 1))

    def _too_deep(self) -> Unanswerable:
        return Unanswerable(f"the query is nested more than {DEEPEST} deep", "split it, or use WITH")

    def _line_and_column(self, start: int) -> str:
        before = self.text[:start]
        return f"line {before.count(chr(10)) + 1}, column {start - (before.rfind(chr(10)) + 1) + 1}"

    def _unfinished(self) -> InvalidParameter:
        """Return the error for an unterminated text, quoted name or comment."""
        start = _last_open(self.text)
        near = self.text[start : start + 20].split("\n")[0]
        return InvalidParameter("sql", near, f"closed at its end ({self._line_and_column(start)})")

    def _misread(self, error: dict[str, Any]) -> InvalidParameter:
        highlight = str(error.get("highlight") or "")
        line, column = error.get("line"), error.get("col")
        said = str(error.get("description") or "")
        # The reader's own words name its classes: only what is known to be plain is said again.
        what = next((plain for start, plain in _MISREAD if said.startswith(start)), "it cannot be read from here on")
        where = ""
        if isinstance(line, int) and isinstance(column, int):
            where = f", line {line}, column {max(column - len(highlight) + 1, 1)}"
        return InvalidParameter("sql", highlight, f"valid SQL ({what}{where})")


@functools.cache
def _reader() -> Any:
    """Return sqlglot's parser, whose steps count as work of planning.

    It tries some constructs, goes back, and reads the same tokens as something else, also within one another: without
    an end of its own, nested types or joins without ON take it a time that doubles with each of them.
    """
    from sqlglot.dialects.dialect import Dialect

    known: Any = Dialect.get_or_raise(_DIALECT).parser_class

    class Reader(known):  # type: ignore[misc]
        def _advance(self, times: int = 1) -> None:
            step(times if times > 0 else -times * _STEPS_AGAIN)
            super()._advance(times)

    return Reader


def _last_open(text: str) -> int:
    """Return where the unterminated quotation or comment begins."""
    position, pattern = 0, re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|['\"]|/\*", re.DOTALL)
    for found in pattern.finditer(text):
        if found.group() in ("'", '"', "/*"):
            return found.start()
        position = found.end()
    return min(position, max(len(text) - 1, 0))
