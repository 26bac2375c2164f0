"""Clamps that are found: ``CLAMP(x, AUTO)`` in a query, the ranges that have to be found for it, and who pays for them.

A query with such clamps is several releases. First the range of each column is found under privacy, for a stated share
of the loss (see ``finding``); what is found stands then in the place of AUTO, and the query is asked for the rest. The
query depends on the rows through what was released alone, so that the losses add up: at most what was stated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from dither.data.expressions import Kind
from dither.data.schema import Column, DataSet
from dither.errors import InvalidParameter, Unanswerable
from dither.exact import Number, probability
from dither.privacy import ZCDP, ApproxDP, GaussianDP, Loss, PureDP
from dither.publish.queries.finding import FoundBounds

#: Of the loss, what finds the ranges where nothing is said.
USUAL_SHARE: Final = Fraction(1, 10)
#: The clamp where no range was found and none is declared: whatever it gives, it is stated beside the answer.
_NO_RANGE: Final = (-1, 1)
#: And powers of ten for wider ones, where the query cannot be asked with it.
_WIDER: Final = (3, 6, 9, 12, 15)
_INSTEAD: Final = "write CLAMP(x, AUTO) with a column x of a private table"
#: A column, as its table and its declared name.
Place = tuple[str, str]
Range = tuple[int | float, int | float]


@dataclass(frozen=True)
class FoundClamps:
    """A query with clamps that are to be found.

    Args:
        text: of the query.
        spans: where AUTO stands, and the column that it is about.
        usual: of each column the clamp that counts where no range is found: declared bounds, or [-1, 1].
        undeclared: the columns of which no bounds are declared.

    """

    text: str
    spans: tuple[tuple[int, int, Place], ...]
    usual: Mapping[Place, Range]
    undeclared: frozenset[Place] = frozenset()

    @property
    def places(self) -> tuple[Place, ...]:
        """The columns, each once."""
        return tuple(self.usual)

    def widened(self) -> Iterator[FoundClamps]:
        """Yield the query with the clamps that count where no range is found, those that nobody declared ever wider.

        Within [-1, 1] ``WHERE CLAMP(x, AUTO) > 35`` can never be true, and within [-1000, 1000] it can.
        """
        yield self
        for power in _WIDER if self.undeclared else ():
            reach = {place: (-type(low)(10**power), type(low)(10**power)) for place, (low, _) in self.usual.items()}
            yield replace(self, usual={**self.usual, **{place: reach[place] for place in self.undeclared}})

    def filled(self, found: Mapping[Place, Range]) -> str:
        """Return the query with ranges in the places of AUTO; the rest of the text is as it was.

        Args:
            found: of each column.

        """
        text = self.text
        for start, end, place in sorted(self.spans, reverse=True):
            low, high = found[place]
            text = f"{text[:start]}{low!r}, {high!r}{text[end:]}"
        return text

    def range_of(self, place: Place, found: FoundBounds) -> tuple[Range, str]:
        """Return the clamp that a released range leads to, and what the reader of the answer is told of it."""
        _, name = place
        if found.lower is None or found.upper is None:
            low, high = self.usual[place]
            said = f"no range of {name} was found, so that it was clamped to [{low:g}, {high:g}]"
        else:
            low, high = found.lower, found.upper
            if not low < high:
                high = low + 1
            said = f"{name} was clamped to [{low:g}, {high:g}], which was found for another {found.loss}"
        return (low, high), said

    def unused(self, place: Place, found: Range) -> tuple[Range, str]:
        """Return the clamp where the query cannot be asked with the range that was found, and what is said of it."""
        (_, name), (low, high) = place, self.usual[place]
        said = (
            f"{name} was clamped to [{low:g}, {high:g}]: with the range that was found for it, [{found[0]:g}, "
            f"{found[1]:g}], the query is not supported"
        )
        return (low, high), said


def found_clamps(text: str, dataset: DataSet) -> FoundClamps | None:
    """Return a query's clamps that are to be found; None where it has none.

    Args:
        text: SQL.
        dataset: the schema.

    >>> from dither.data.examples import clinic
    >>> from dither.privacy import ROW
    >>> clamps = found_clamps("SELECT SUM(CLAMP(cost, AUTO)) AS s FROM visits", clinic(ROW))
    >>> clamps.places, clamps.filled({("visits", "cost"): (0, 64)})
    ((('visits', 'cost'),), 'SELECT SUM(CLAMP(cost, 0, 64)) AS s FROM visits')

    """
    if not isinstance(text, str) or "auto" not in text.lower():
        return None
    tokens = _tokens(text)
    spans, usual, undeclared = [], {}, set()
    # What stands before each parenthesis that is open.
    before: list[str] = []
    for at, token in enumerate(tokens):
        if token.text == "(":
            before.append(tokens[at - 1].text.upper() if at else "")
        elif token.text == ")" and before:
            before.pop()
        if token.token_type.name != "VAR" or token.text.upper() != "AUTO" or at < 1 or at + 1 >= len(tokens):
            continue
        if (tokens[at - 1].text, tokens[at + 1].text) != (",", ")"):
            continue
        first = at - 4 if at >= 4 and tokens[at - 3].text == "." else at - 2
        if first < 2 or tokens[first - 1].text != "(" or tokens[first - 2].text.upper() != "CLAMP":
            if before and before[-1] == "CLAMP":
                raise Unanswerable("AUTO finds the range of a column, and of nothing else", _INSTEAD)
            continue
        place, column = _column(dataset, tokens[at - 2].text)
        spans.append((token.start, token.end + 1, place))
        declared = _declared(column)
        usual[place] = _no_range(column) if declared is None else declared
        undeclared |= {place} if declared is None else set()
    return FoundClamps(text, tuple(spans), usual, frozenset(undeclared)) if spans else None


def split_loss(stated: Loss, share: Number, columns: int) -> tuple[Loss, Loss]:
    """Return what finding the range of each column may lose, and what the query may lose; in all what was stated.

    Args:
        stated: PureDP, ApproxDP, whose delta is for the query, or ZCDP.
        share: of it, for all ranges together.
        columns: how many ranges are found.

    """
    part = probability("auto_share", share, open_below=True)
    each, rest = part / columns, 1 - part
    if not rest:
        raise InvalidParameter("auto_share", share, "below 1: the query needs the rest")
    if isinstance(stated, ZCDP) and not isinstance(stated, GaussianDP):
        return ZCDP(stated.rho * each), ZCDP(stated.rho * rest, stated.delta)
    if isinstance(stated, PureDP):
        return PureDP(stated.epsilon * each), PureDP(stated.epsilon * rest)
    if isinstance(stated, ApproxDP):
        return PureDP(stated.epsilon * each), ApproxDP(stated.epsilon * rest, stated.delta)
    raise InvalidParameter("loss", stated, "PureDP, ApproxDP or ZCDP, which can be divided for CLAMP(x, AUTO)")


def _tokens(text: str) -> list[Any]:
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import TokenError

    try:
        return list(Dialect.get_or_raise("duckdb").tokenize(text))
    except TokenError:
        return []  # the parser says what is wrong


def _column(dataset: DataSet, word: str) -> tuple[Place, Column]:
    """Return the one column of a private table that a word means."""
    columns = [
        ((table.name, one.name), one) for table in dataset.tables if not table.is_public for one in table.columns
    ]
    for is_meant in (
        lambda one: one.name == word,
        lambda one: one.stored_name == word,
        lambda one: word.lower() in (one.name.lower(), one.stored_name.lower()),
    ):
        found = [(place, one) for place, one in columns if is_meant(one)]
        if len(found) == 1:
            return found[0]
    raise InvalidParameter("column of CLAMP(x, AUTO)", word, "a column of one private table")


def _declared(column: Column) -> Range | None:
    if isinstance(column.lower, int | float) and isinstance(column.upper, int | float) and column.lower < column.upper:
        return column.lower, column.upper
    return None


def _no_range(column: Column) -> Range:
    return _NO_RANGE if column.kind is Kind.INTEGER else (float(_NO_RANGE[0]), float(_NO_RANGE[1]))
