"""The price of a report: what all its queries cost together, and how far each of their numbers may be off."""

from __future__ import annotations

from dataclasses import replace

from dither.publish.queries.quote import Quote, plain_quote
from dither.publish.queries.reports.mechanism import ReportAnswer
from dither.publish.queries.reports.report import shown_rows


def quote_report(answer: ReportAnswer) -> Quote:
    """Return the cost of a report and the quality of its parts; the data is not needed.

    Columns are those of its queries, each as ``query.column`` where there are several queries; what is computed from
    them afterwards has no price.
    """
    from dither.privacy.accountants import success

    loss, many = answer.loss(1), len(answer.answers)
    quotes = [plain_quote(one) for one in answer.answers]
    columns = tuple(
        replace(column, name=column.name if many == 1 else f"{name}.{column.name}", share=column.share * weight)
        for (name, _), quote, weight in zip(answer.queries, quotes, answer.weights, strict=True)
        for column in quote.columns
    )
    keys = [f"{name}: {quote.keys}" for (name, _), quote in zip(answer.queries, quotes, strict=True)]
    limits = dict.fromkeys(quote.limits for quote in quotes)
    return Quote(
        answer.report.dataset.name,
        str(answer.distance),
        "; ".join(limits) or "nothing private is read",
        loss,
        columns,
        "; ".join(keys) or "only public rows",
        shown_rows(answer.report),
        float(success(loss)),
        answer.numerics.value,
        False,
    )
