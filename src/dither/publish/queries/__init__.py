"""Queries: private answers to SQL and to its Python counterpart, each number with an error bar.

``query`` is the record of what is asked; ``sql`` and ``builder`` make it; ``answer`` turns it into a mechanism with a
plan, a price and intervals that are known before the data is opened; ``present`` makes a table of what was released.
``reports`` answers what needs several queries, or public tables alone.
"""

from dither.publish.queries.adaptive_parts import AdaptiveParts, OpenPartition, ask_part
from dither.publish.queries.answer import Answer, Answered, plan_query
from dither.publish.queries.partition import PartitionedAnswer, plan_partitioned, present_partitioned
from dither.publish.queries.present import present
from dither.publish.queries.query import AGGREGATES, Aggregate, Key, Query
from dither.publish.queries.quote import Quote, loss_for_error, quote, quote_of
from dither.publish.queries.reports.mechanism import ReportAnswer, plan_report
from dither.publish.queries.reports.presenting import present_report
from dither.publish.queries.reports.report import Report
from dither.publish.queries.result import QueryResult, ResultColumn

__all__ = [
    "AGGREGATES",
    "AdaptiveParts",
    "Aggregate",
    "Answer",
    "Answered",
    "Key",
    "OpenPartition",
    "PartitionedAnswer",
    "Query",
    "QueryResult",
    "Quote",
    "Report",
    "ReportAnswer",
    "ResultColumn",
    "ask_part",
    "loss_for_error",
    "plan_partitioned",
    "plan_query",
    "plan_report",
    "present",
    "present_partitioned",
    "present_report",
    "quote",
    "quote_of",
]
