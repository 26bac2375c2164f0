"""What a text asks for: one private query, or a report of several and of public tables."""

from __future__ import annotations

from dither.data import DataSet
from dither.errors import Unanswerable
from dither.publish.queries.person_bounds import limited_to
from dither.publish.queries.query import Query
from dither.publish.queries.reports.report import Report
from dither.publish.queries.sizes import check_query
from dither.publish.queries.sql.natures import Natures
from dither.publish.queries.sql.options import discovered, without_option
from dither.publish.queries.sql.parse import Parsed, check_text
from dither.publish.queries.sql.privacy_clause import with_options
from dither.publish.queries.sql.rows import AcrossPersons
from dither.publish.queries.sql.select import Outermost
from dither.publish.queries.sql.views import Asked, Views
from dither.publish.queries.work import once, planning


def parse_request(text: str, dataset: DataSet) -> Query | Report:
    """Return what an SQL text asks of a data set, or reject it with the reason and an alternative.

    Nothing is read but the text and the schema. A text that one private query answers, with what it shows of its own
    answer, is that query; any other is a report. Within one ``planning`` a text is parsed once.

    >>> from dither.data.examples import clinic
    >>> from dither.privacy import ROW
    >>> asked = parse_request("SELECT AVG(n) FROM (SELECT site, COUNT(*) AS n FROM visits GROUP BY site)", clinic(ROW))
    >>> [name for name, _ in asked.queries], list(asked.view.columns)
    (['release_1'], ['measure'])

    Raises:
        InvalidParameter: the text is not SQL, or names something that does not exist or does not fit.
        Unanswerable: it cannot be answered privately as asked.

    """
    check_text(text)
    with planning():
        return once("request", text, dataset, lambda: _parsed(text, dataset))


def _parsed(text: str, dataset: DataSet) -> Query | Report:
    text, are_discovered = without_option(text)
    parsed = Parsed(text)
    try:
        with limited_to(dataset):
            return _requested(parsed, dataset, are_discovered)
    except AcrossPersons as error:
        raise Unanswerable(error.reason, error.instead) from None
    except RecursionError:
        raise Unanswerable("the query is nested too deep", "split it, or use WITH") from None


def _requested(parsed: Parsed, dataset: DataSet, are_discovered: bool) -> Query | Report:
    natures = Natures(parsed, dataset)
    outermost = Outermost(parsed, dataset)
    if natures.is_one_query(parsed.tree, {}):
        query = with_options(outermost.query(parsed.tree, {}), parsed)
        query = discovered(query) if are_discovered else query
        check_query(query, "sql")
        return query
    if are_discovered:
        raise Unanswerable(
            "OPTION (GROUPS = DISCOVERED) of SQL that needs several private queries", "ask them one by one"
        )
    asked = Asked(outermost.query, outermost.label, outermost.limit, outermost.measured)
    views = Views(parsed, dataset, natures, asked)
    view = views.view(parsed.tree, {})
    for query in views.queries:
        check_query(query, "sql")
    queries = tuple((name, with_options(query, parsed)) for query, name in views.queries.items())
    return Report(dataset, queries, view)
