"""Quotes: the cost and the quality of an answer, without the data.

Everything in a quote is a function of the query, the schema and the loss: unit, limits, the mechanism of each column,
its share of the loss, the scale of its noise, the error to expect, what a person risks, and what would sharpen it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from dither.data import JoinPublic, Relation
from dither.data.joins import join_limit
from dither.data.own_tables import parts_of
from dither.data.owners import declared_rows
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, positive, round_up
from dither.mechanisms.notebook import decimals, html
from dither.pages.charts import Bars, bar_chart
from dither.pages.frame import Axis, Chart
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP
from dither.publish.queries.advice import Advice, advice_for
from dither.publish.queries.answer import Answer, plan_query
from dither.publish.queries.design import Design
from dither.publish.queries.expected_error import OWN_UNIT, ExpectedError, expected_error
from dither.publish.queries.outside_groups import outside_groups
from dither.publish.queries.present import estimand_of, is_selected
from dither.publish.queries.quantiles import Search
from dither.publish.queries.query import Aggregate, Query
from dither.publish.queries.rank_search import RankSearch
from dither.publish.queries.shown_groups import threshold_words
from dither.publish.queries.work import planning, step

_FAILURE: Final = 0.05
_MOST: Final = Fraction(2**40)
_DIGITS: Final = 48
#: A query that took more steps to price is not priced again for advice.
_MOST_STEPS_ADVISED: Final = 20_000
#: Of the advice, what people are shown.
MOST_ADVICE: Final = 3
#: Of affordable queries more are not counted.
_MOST_COUNTED: Final = 1024


@dataclass(frozen=True)
class QuotedColumn:
    """What is known in advance about one aggregate.

    Args:
        name: as the query calls it.
        mechanism: what draws its noise.
        share: of the loss; a part that several columns use counts in each of them.
        scale: of the noise of each measured part, in the steps of that part.
        error: how far it will be off at most, 95 % of the time; where groups are discovered, in each by itself.
        error_unit: of what: the column's own unit, or rows.
        estimand: what its interval will be about.
        bias: what no interval covers.
        error_words: the error as a sentence.
        group_rows: how many rows the group has that the sentence names; 1 where it names none.

    """

    name: str
    mechanism: str
    share: Fraction
    scale: tuple[float, ...]
    error: float
    error_unit: str
    estimand: str
    bias: str
    error_words: str = ""
    group_rows: int = 1


@dataclass(frozen=True)
class Quote:
    """The price of a query and what it buys.

    Args:
        dataset: whose budget pays.
        unit: what is protected, in words.
        limits: how much of one person counts, in words.
        loss: what it costs.
        columns: what is known of every aggregate.
        keys: how groups come to be shown, in words.
        rows: how many rows the answer has; None if that is not known.
        risk: the greatest probability of guessing a fifty-fifty question about one unit right, knowing all else.
        numerics: how the guarantee is known.
        is_simultaneous: whether all intervals hold at once.
        threshold: how many people a discovered group needs, noise included; None if groups are public.
        threshold_share: how much of the loss decides which groups are shown.
        advice: what would sharpen it.
        left: what the analyst may still spend, where a session quotes.
        affordable: about how many such queries that pays for, counted up to 1,024.
        after: what would be left after it, where its noise is counted by rho.

    """

    dataset: str
    unit: str
    limits: str
    loss: Loss
    columns: tuple[QuotedColumn, ...]
    keys: str
    rows: int | None
    risk: float
    numerics: str
    is_simultaneous: bool
    threshold: int | None = None
    threshold_share: Fraction = Fraction(0)
    advice: tuple[Advice, ...] = ()
    left: str | None = None
    affordable: int | None = None
    after: str | None = None

    def column(self, name: str) -> QuotedColumn:
        """Return the quote for one aggregate."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InvalidParameter("column", name, f"one of {', '.join(column.name for column in self.columns)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "quote": 1,
            "dataset": self.dataset,
            "unit": self.unit,
            "limits": self.limits,
            "loss": self.loss.to_dict(),
            "loss_decimals": decimals(self.loss),
            "columns": [
                {
                    **vars(column),
                    "share": str(column.share),
                    "share_decimal": float(column.share),
                    "scale": list(column.scale),
                }
                for column in self.columns
            ],
            "keys": self.keys,
            "rows": self.rows,
            "risk": self.risk,
            "numerics": self.numerics,
            "is_simultaneous": self.is_simultaneous,
            "threshold": self.threshold,
            "threshold_share": str(self.threshold_share),
            "advice": [{**vars(one), "text": str(one)} for one in self.advice],
            "left": self.left,
            "affordable": self.affordable,
            **({} if self.after is None else {"after": self.after}),
        }

    def picture(self, column: str | None = None) -> Chart:
        """Return how far a column will be off, as asked and with each advice, as a picture; by default the first one.

        Args:
            column: an aggregate of the query.

        """
        chosen = self.column(self.columns[0].name if column is None else column)
        advised = [one for one in self.advice if one.about == chosen.name]
        said = [f"{self.loss}, from the budget of {self.dataset}; {self.unit}; {self.limits}."]
        said += [f"Advice {place}: {one.change}." for place, one in enumerate(advised, 1)]
        errors = [ExpectedError(error, chosen.error_unit) for error in (chosen.error, *(one.after for one in advised))]
        many = chosen.group_rows
        where = f", in a group of {many:,} rows" if errors[0].is_divided else ""
        unit = "" if errors[0].is_divided or chosen.error_unit == OWN_UNIT else chosen.error_unit
        return bar_chart(
            f"{chosen.name}: off by at most, 95 times of 100{where}",
            ["as asked", *(f"advice {place}" for place in range(1, len(advised) + 1))],
            [Bars("error", [one.at(many) for one in errors])],
            across=Axis("query"),
            up=Axis(f"error of {chosen.name}", unit),
            width=480,
            area=150,
        ).captioned(" ".join(said))

    def to_json(self) -> str:
        """Return the quote as JSON text."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def __repr__(self) -> str:
        return f"<Quote: {self.loss} of {self.dataset} for {', '.join(column.name for column in self.columns)}>"

    def _repr_html_(self) -> str:
        return html(
            "Price of a query",
            facts=self.facts(),
            head=self.error_heads(),
            rows=((column.name, column.error_words, column.estimand) for column in self.columns),
            of_rows=len(self.columns),
            notes=[f"advice: {one}" for one in self.advice[:MOST_ADVICE]],
            picture=self.picture() if self.columns else None,
        )

    def facts(self) -> list[tuple[str, str]]:
        """Return the facts about the whole query, each with its name."""
        found = [("cost", f"{self.loss}, from the budget of {self.dataset}"), ("protects", self.unit)]
        found += [("limits", self.limits), ("groups", self.keys), ("risk", self._risk())]
        return [found[3], *found[:3], found[4]] if self.threshold is not None else found

    def error_heads(self) -> tuple[str, str, str]:
        """Return the headings of a table of its columns: name, error, and what it is about."""
        return "column", f"error, {self._error_heading()}", "what it is about"

    def __str__(self) -> str:
        return self.text()

    def text(self, *, verbose: bool = False) -> str:
        """Return the quote for people.

        Args:
            verbose: whether it names the law and scale of the noise of each column, its share of the loss, and what no
                interval covers.

        """
        rows = (
            "one row for each group that passes"
            if self.rows is None
            else f"{self.rows} {'row' if self.rows == 1 else 'rows'}"
        )
        groups = f"groups     {self.keys}{self._for_share if verbose else ''}; {rows}"
        is_discovered = self.threshold is not None
        lines = [
            *([groups] if is_discovered else []),
            f"cost       {self.loss}, from the budget of {self.dataset}",
            f"protects   {self.unit}",
            f"limits     {self.limits}",
            *([] if is_discovered else [groups]),
            f"risk       {self._risk()}",
            *([f"numerics   {self.numerics}"] if verbose else []),
            *([f"error      {self._error_heading()}:"] if self.columns else []),
        ]
        width = max((len(column.name) for column in self.columns), default=0)
        for column in self.columns:
            lines.append(f"  {column.name:<{width}}  {column.error_words}")
            lines += self._details(column, width) if verbose else [f"  {'':<{width}}  {column.estimand}"]
        if self.left is not None and self.affordable is not None:
            is_many = self.affordable >= _MOST_COUNTED
            many = f"more than {self.affordable - 1:,}" if is_many else f"about {self.affordable:,}"
            enough = f"{many} such {'query' if self.affordable == 1 else 'queries'}"
            lines.append(f"left       {self.left}: {enough if self.affordable else 'not enough for this query'}")
        if self.after is not None:
            lines.append(f"after it   {self.after} would be left: Gaussian noise is counted by rho")
        shown = self.advice if verbose else self.advice[:MOST_ADVICE]
        lines += [f"{'advice' if number == 0 else '':<11}{one}" for number, one in enumerate(shown)]
        return "\n".join(lines)

    def _details(self, column: QuotedColumn, width: int) -> list[str]:
        """Return how the noise of a column is drawn, and what it is about."""
        scale = ", ".join(f"{scale:.4g}" for scale in column.scale)
        share = f"{100 * float(column.share):.1f} % of the loss"
        law = f"{column.mechanism}, scale {scale} {'step' if scale == '1' else 'steps'}, {share}"
        exact = f"at most {column.error:.4g} {column.error_unit}"
        about = f"{column.estimand}{'; ' if column.bias else ''}{column.bias}"
        return [f"  {'':<{width}}  {line}" for line in (law, exact, about)]

    def _risk(self) -> str:
        """Return what a person risks, as a guess that a reader can picture."""
        noun = self.unit.split(" ", 1)[0]
        one = {"people": "one person", "rows": "one row"}.get(noun, f"one unit ({self.unit})")
        right = f"{100 * self.risk:.1f} %"
        return f"a 50:50 guess about {one} is right in at most {right} of cases, even if all other rows are known"

    def _error_heading(self) -> str:
        together = ", all simultaneously, because rows are chosen by what they show" if self.is_simultaneous else ""
        return f"at most, in 95 % of cases{together}"

    @property
    def _for_share(self) -> str:
        return "" if self.threshold is None else f", for {100 * float(self.threshold_share):.1f} % of the loss"


def quote(
    query: Query,
    loss: Loss,
    *,
    noise: str = "auto",
    shares: Mapping[str, Number] | None = None,
    threshold_share: Number | None = None,
    quantiles: str = "auto",
) -> Quote:
    """Return a query's cost and the quality of its answer; the data is not needed."""
    how: dict[str, Any] = {"shares": shares, "threshold_share": threshold_share, "quantiles": quantiles}
    with planning() as work:
        begun = work.steps
        return quote_of(plan_query(query, loss, noise=noise, **how), begun)


def quote_of(answer: Answer, begun: int = 0) -> Quote:
    """Return the quote of a planned answer, with advice unless pricing took long.

    Args:
        answer: what was planned.
        begun: how many steps were counted before that.

    """
    with planning() as work:
        found = plain_quote(answer)
        is_short = work.steps - begun <= _MOST_STEPS_ADVISED
    return replace(found, advice=advice_for(answer, _errors)) if is_short else found


def _errors(answer: Answer) -> dict[str, ExpectedError]:
    errors = answer.design.errors(_each_failure(answer))
    return {
        aggregate.name: expected_error(answer.design, aggregate, errors[aggregate.name])
        for aggregate in answer.query.aggregates
    }


def plain_quote(answer: Answer) -> Quote:
    """Return the quote of a planned answer, without advice."""
    from dither.privacy.accountants import success

    design, query = answer.design, answer.query
    errors = design.errors(_each_failure(answer))
    if design.groups is None:
        keys = threshold_words(answer)
    else:
        keys = "public: every one is shown, empty or not" if query.keys else "none"
        outside = outside_groups(query)
        keys += "" if outside is None else f"; {outside}"
    rows = None if design.groups is None or query.having is not None else len(design.groups)
    return Quote(
        query.dataset.name,
        str(answer.distance),
        _limits(design),
        answer.loss(1),
        tuple(_column(design, aggregate, errors[aggregate.name]) for aggregate in query.aggregates),
        keys,
        rows if rows is None or query.limit is None else min(rows, query.limit),
        float(success(answer.loss(1))),
        answer.numerics.value,
        is_selected(answer),
        None if design.discovery is None else design.discovery.threshold,
        Fraction(0) if design.discovery is None else design.split[-1],
    )


def loss_for_error(
    query: Query,
    column: str,
    target_error: Number,
    *,
    rows: int | None = None,
    delta: Number | None = None,
    concentrated: bool = False,
    shares: Mapping[str, Number] | None = None,
) -> Loss:
    """Return the least loss, to one part in a thousand, at which a column's absolute error stays within a bound.

    Args:
        query: what is asked.
        column: which aggregate.
        target_error: how far off it may be, 95 % of the time, in the unit that its quote names.
        rows: for a mean, a variance or another statistic that is divided by the number of values: for groups of how
            many values. They are not public, so a magnitude must be said.
        delta: for an (epsilon, delta) loss; needed where groups are discovered.
        concentrated: whether to find a rho instead of an epsilon.
        shares: as for ``plan_query``.

    >>> from dither.publish.queries.examples import clinic_query
    >>> print(loss_for_error(clinic_query("count"), "count", 10))
    epsilon = 0.2844...

    """
    wanted = positive("target_error", target_error)

    def built(amount: Fraction) -> Loss:
        if concentrated:
            return ZCDP(amount) if delta is None else ZCDP(amount, delta)
        return PureDP(amount) if delta is None else ApproxDP(amount, delta)

    def does(amount: Fraction) -> bool:
        try:
            with planning():
                found = plain_quote(plan_query(query, built(amount), shares=shares)).column(column)
        except NoGuarantee:
            return False
        error = found.error
        if "per value" in found.error_unit:
            if rows is None:
                rule = "required for what is divided by the number of values, which is not public"
                raise InvalidParameter("rows", rows, rule)
            error /= positive("rows", rows)
        return error <= wanted

    high = Fraction(1)
    while not does(high):
        high *= 2
        if high > _MOST:
            raise InvalidParameter("target_error", target_error, f"larger: no loss gives {column} so small an error")
    low = high / 2
    while does(low):
        low, high = low / 2, low
        if high * _MOST < 1:
            return built(high)
    while high - low > low / 1000:
        middle = round_up((low + high) / 2, bits=_DIGITS)
        low, high = (low, middle) if does(middle) else (middle, high)
    return built(high)


def _each_failure(answer: Answer) -> float:
    """Return one number's failure probability: shared by all if rows are chosen by their values."""
    groups = len(answer.design.groups or ()) or 1
    numbers = sum(aggregate.function not in ("mode", "top") for aggregate in answer.query.aggregates) or 1
    return _FAILURE / (groups * numbers) if is_selected(answer) else _FAILURE


def _column(design: Design, aggregate: Aggregate, relative: float) -> QuotedColumn:
    step(sum(argument.size for argument in aggregate.arguments) + 1)
    estimand, bias = estimand_of(design, aggregate)
    name, expected = aggregate.name, expected_error(design, aggregate, relative)
    said = (expected.error, expected.unit, estimand, bias, expected.words(), expected.rows())
    noise = "discrete Gaussian" if design.is_gaussian else "discrete Laplace"
    if name in design.statistics:
        parts = [design.parts[number] for number in design.numbers[name]]
        share, scales = sum((part.share for part in parts), Fraction(0)), tuple(float(part.scale) for part in parts)
        return QuotedColumn(name, noise, share, scales, *said)
    if name in design.searched:
        number, _ = design.searched[name]
        search, level = design.searches[number], design.levels[number]
        law, scales = _search_law(search, level, noise)
        return QuotedColumn(name, law, level.share, scales, *said)
    pick = design.picked[name]
    return QuotedColumn(name, pick.drawn.name, pick.share, (float(pick.drawn.scale),), *said)


def _search_law(search: Search | RankSearch, level: Any, noise: str) -> tuple[str, tuple[float, ...]]:
    """Return how quantiles are found, in words, and the scales in rows."""
    if isinstance(search, Search):
        return f"{noise} on {search.levels} levels of a tree of {search.cells} cells", (float(level.scale),)
    scales = tuple(
        float(choice.scale / parts)
        for (choice, _), parts in zip(search.draws(level, 1), search.recursion.parts, strict=False)
    )
    return f"exponential mechanism on {search.cells} cells, {search.levels} choices", scales


def _limits(design: Design) -> str:
    if not design.has_persons:
        return "every row counts separately"
    limits = design.limits
    named = {"rows": limits.rows, "groups": limits.groups, "rows in a group": limits.rows_per_group}
    named["rows on each side of a join"] = join_limit(design.query.relation)
    said = "of one person at most " + ", ".join(
        _many(count, name) for name, count in named.items() if count is not None
    )
    return "; ".join([said, *_declared(design.query.relation), *_met(design.query.relation)])


def _declared(relation: Relation) -> Iterator[str]:
    """Yield how many rows of a person a table has, where it declares that; further ones do not count."""
    for name, most in declared_rows(relation).items():
        yield f"{name} has at most {_many(most, 'rows')} of a person (as declared)"


def _met(relation: Relation) -> Iterator[str]:
    """Yield how many rows of a public table a row meets where it is joined on less than its key; further ones drop."""
    met = {part.table: part.most for part in parts_of(relation) if isinstance(part, JoinPublic) and part.most}
    for table, most in met.items():
        why = "as declared" if table.rows is not None else "its declaration says no number of rows"
        yield f"a row meets at most {_many(most, 'rows')} of {table.name} ({why}); others are dropped"


def _many(count: int, what: str) -> str:
    return f"{count} {what.replace('rows', 'row', 1).replace('groups', 'group', 1) if count == 1 else what}"
