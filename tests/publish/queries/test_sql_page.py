"""The examples of docs/sql.md run: aggregates, joins, joins along references, reports."""

# ruff: noqa: S608 - statements are read from the page
from __future__ import annotations

import re
from pathlib import Path

import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.schema import person_unit
from dither.publish.queries.reports.report import Report
from dither.publish.queries.sql import parse_request, parse_sql
from tests.publish.queries.exact import CLINIC, answer_of_duckdb, exact, same_rows
from tests.publish.queries.test_owned import SHOP

PAGE = (Path(__file__).parents[3] / "docs" / "sql.md").read_text()
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
WARD = Column("ward", Kind.TEXT, categories=("A", "B", "C"))
DAY = Column("day", Kind.DATE)
WARDS = DataSet(
    "clinic",
    (
        Table("visits", (Column("id", Kind.INTEGER), WARD, DAY), "visits.csv", person="id"),
        Table("tests", (Column("id", Kind.INTEGER), DAY), "tests.csv", person="id"),
        Table(
            "wards",
            (WARD, Column("beds", Kind.INTEGER, lower=0, upper=500)),
            "wards.csv",
            is_public=True,
            key=("ward",),
            rows=3,
        ),
    ),
    person_unit("id"),
    rows=5,
)


def examples(heading: str, column: int = 0) -> list[str]:
    """Return what is written as code in a column of the first table below a heading."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0].split("| --- |")[1].split("\n\n")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("| ")]
    return [example for row in rows for example in CODE.findall(row[column])]


@pytest.mark.parametrize("example", examples("Aggregates"))
def test_an_aggregate_of_the_page_is_understood(example: str) -> None:
    """AUTO is found by a session: there is a page of tests about it."""
    assert parse_sql(f"SELECT {example.replace('AUTO', '-5, 5')} FROM visits", CLINIC).aggregates


def test_the_other_names_of_aggregates_are_understood() -> None:
    (line,) = re.findall(r"Names that other systems have are understood: (.*?)\. What", PAGE, re.DOTALL)
    found = CODE.findall(line)
    assert len(found) > 8
    for example in found:
        assert parse_sql(f"SELECT {example} FROM visits", CLINIC).aggregates, example


@pytest.mark.parametrize("example", examples("Groups"))
def test_groups_of_the_page_are_public_where_it_says_so(example: str) -> None:
    query = parse_sql(f"SELECT COUNT(*) AS n FROM visits {example}", CLINIC)
    assert all(key.values is not None for key in query.keys) == ("note" not in example)


@pytest.mark.parametrize("example", examples("Rows"))
def test_rows_of_the_page_are_understood(example: str) -> None:
    text = example if example.startswith("WITH") else f"SELECT COUNT(*) {example}"
    query = parse_sql(text, CLINIC)
    assert same_rows(exact(query), answer_of_duckdb(text))


def lists_of_the_page() -> list[str]:
    """Return the lists of the second table about rows."""
    section = PAGE.split("| list, after")[1].split("\n\n")[0]
    return [example for line in section.splitlines()[2:] for example in CODE.findall(line.split(" | ")[0])]


@pytest.mark.parametrize("example", lists_of_the_page())
def test_lists_of_the_page_are_understood(example: str) -> None:
    text = f"SELECT COUNT(*) FROM visits{'' if example.startswith(',') else ' '}{example}"
    assert same_rows(exact(parse_sql(text, CLINIC)), answer_of_duckdb(text))


@pytest.mark.parametrize("example", examples("Joins"))
def test_a_join_of_the_page_is_understood(example: str) -> None:
    assert parse_sql(f"SELECT COUNT(*) {example}", WARDS).aggregates


@pytest.mark.parametrize("example", examples("Joins along foreign keys"))
def test_a_join_along_a_reference_of_the_page_is_understood(example: str) -> None:
    assert parse_sql(f"SELECT COUNT(*) {example}", SHOP).aggregates


@pytest.mark.parametrize("example", examples("Several releases, public tables and totals", 1))
def test_a_report_of_the_page_is_understood(example: str) -> None:
    assert isinstance(parse_request(example, CLINIC), Report)
