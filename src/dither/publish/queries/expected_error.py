"""The error to expect of a column, as a number for programs and as a sentence for people.

What is divided by the number of values of a group has an error that falls with that number, which is not public. So the
sentence names two sizes of groups: the first round number of rows with which the error is a twentieth of the declared
range, and half of it. All of it is a function of the query, the schema and the loss.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from dither.data import Name
from dither.pages.digits import two_digits
from dither.publish.queries.design import Design
from dither.publish.queries.query import Aggregate

#: Of what an error is where the column says it itself.
OWN_UNIT: Final = "in its own unit"
_DIVIDED: Final = "per value in the group"
PER_VALUE: Final = f"{_DIVIDED}: divide by their number"
PER_VALUE_SQUARED: Final = f"{_DIVIDED}, for the variance: divide by their number"
RANK: Final = "rows of rank"
FEWER: Final = "fewer than the commonest"
#: A group is named that is large enough for an error of this share of the range.
_SHARE: Final = 1 / 20
_FEWEST: Final = 100
#: Descriptions of columns that are units, and so stand behind a number.
_UNITS: Final = frozenset(
    {
        "seconds",
        "minutes",
        "hours",
        "days",
        "weeks",
        "months",
        "years",
        "metres",
        "meters",
        "kilometres",
        "kilometers",
        "km",
        "miles",
        "grams",
        "kilograms",
        "kg",
        "tonnes",
        "litres",
        "liters",
        "euros",
        "euro",
        "EUR",
        "dollars",
        "USD",
        "pounds",
        "GBP",
        "francs",
        "CHF",
        "yen",
        "JPY",
        "percent",
        "points",
        "degrees",
        "kWh",
    }
)


class ExpectedError(NamedTuple):
    """The largest error of a column, in 95 % of cases.

    Args:
        error: in the unit that is named.
        unit: of what the error is.
        size: the length of the declared range in the column's own unit; 0 where none is divided.
        word: the column's own unit as people write it behind a number, or "".

    """

    error: float
    unit: str
    size: float = 0.0
    word: str = ""

    @property
    def is_divided(self) -> bool:
        """Whether the error falls with the number of values in the group."""
        return self.unit.startswith(_DIVIDED)

    def words(self) -> str:
        """Return the error as a sentence.

        >>> ExpectedError(19920.0, PER_VALUE, 240.0, "minutes").words()
        '± 10 minutes in a group of 2,000 rows (± 20 in one of 1,000)'
        >>> ExpectedError(66.2, "rows").words(), ExpectedError(19920.0, OWN_UNIT, word="euros").words()
        ('± 67 rows', '± 20,000 euros')
        """
        if self.unit.endswith(FEWER):
            return f"at most {two_digits(self.error)} {self.unit}"
        if not self.is_divided:
            return f"{self._at(1)}{self._behind}"
        rows = self.rows()
        smaller = rows // 2
        return f"{self._at(rows)}{self._behind} in a group of {rows:,} rows ({self._at(smaller)} in one of {smaller:,})"

    def against(self, before: ExpectedError) -> str:
        """Return this error beside the one without a change, in the same group."""
        rows = before.rows()
        group = f" in a group of {rows:,} rows" if self.is_divided else ""
        return f"{self._at(rows)}{self._behind} instead of {before._at(rows)}{group}"

    def rows(self) -> int:
        """Return the first of 100, 200, 500, 1,000 and so on with which the error is small beside the range."""
        if not self.is_divided:
            return 1
        wanted = _SHARE * self.size
        enough = self.error / (wanted**2 if self.unit == PER_VALUE_SQUARED else wanted) if wanted > 0 else 0.0
        if not math.isfinite(enough) or enough <= _FEWEST:
            return _FEWEST
        power = 10 ** math.floor(math.log10(enough))
        return int(next(times * power for times in (1, 2, 5, 10) if times * power >= enough * (1 - 1e-9)))

    def at(self, rows: int) -> float:
        """Return the error in a group of this size; an error that does not fall with the size is unchanged."""
        error = self.error / rows
        # The square roots of two numbers differ by at most the square root of their difference.
        return math.sqrt(error) if self.unit == PER_VALUE_SQUARED else error

    def _at(self, rows: int) -> str:
        return f"± {two_digits(self.at(rows))}"

    @property
    def _behind(self) -> str:
        if self.is_divided or self.unit == OWN_UNIT:
            return f" {self.word}" if self.word else ""
        return " places in the sorted rows" if self.unit == RANK else f" {self.unit}"


def expected_error(design: Design, aggregate: Aggregate, relative: float) -> ExpectedError:
    """Return a column's error, given as a share of its range or as a number of rows.

    Args:
        design: of the query.
        aggregate: the column.
        relative: the bound on its error, as the design has it.

    """
    statistic = design.statistics.get(aggregate.name)
    units = "people" if design.has_persons else "rows"
    if statistic is None:
        unit = RANK if aggregate.name in design.searched else f"{units} {FEWER}"
        return ExpectedError(relative, unit)
    size, word = float(statistic.unit_of_error), _word(design, aggregate)
    if statistic.per_value and aggregate.function.endswith("deviation"):
        return ExpectedError(relative * size * size, PER_VALUE_SQUARED, size, word)
    if statistic.per_value:
        return ExpectedError(relative * size, PER_VALUE, size, word if aggregate.function == "mean" else "")
    if aggregate.function == "persons":
        return ExpectedError(relative * size, units)
    if aggregate.function.startswith("count"):
        return ExpectedError(relative * size, "rows")
    return ExpectedError(relative * size, OWN_UNIT, word=word)


def _word(design: Design, aggregate: Aggregate) -> str:
    """Return the unit that the schema describes a plain column with, if it is one that people write."""
    argument = aggregate.arguments[0] if len(aggregate.arguments) == 1 else None
    if not isinstance(argument, Name):
        return ""
    tables = design.query.dataset.tables
    found = {column.description for table in tables for column in table.columns if column.name == argument.name}
    word = found.pop().removeprefix("in ").strip() if len(found) == 1 else ""
    return word if word in _UNITS else ""
