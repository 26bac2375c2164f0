"""CSV of released tables: the command, the service and drawn rows write texts by one rule."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from dither.data import Kind
from dither.pages.spreadsheet import safe, write_csv
from dither.publish.synthetic.result import Rows
from dither.service.forms import _csv

HOSTILE = ['=HYPERLINK("http://x","a")', "+1", "-1", "@SUM(1)", " =1", "a;=1", "\t=1", "\uff1d1", 'say "hi"', "plain"]


def test_a_file_and_the_service_have_the_same_bytes(tmp_path: Path) -> None:
    columns = {"=ward": [*HOSTILE, None], "visits": [*range(-5, 5), 1.5]}
    write_csv(tmp_path / "a.csv", list(columns), zip(*columns.values(), strict=True))
    assert (tmp_path / "a.csv").read_bytes() == _csv(columns)


def test_rows_that_are_drawn_have_no_formula(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="drawn rows are written with the extra 'frames'")
    texts = np.array([*HOSTILE, None], dtype=object)
    drawn = Rows({"=ward": texts, "age": np.arange(len(texts)) - 5}, {"=ward": Kind.TEXT, "age": Kind.INTEGER})
    head, *rows = csv.reader(io.StringIO(drawn.write(tmp_path / "rows.csv").read_text("utf-8"), newline=""))
    assert head == ["'=ward", "age"]
    assert [row[0] for row in rows] == [*map(safe, HOSTILE), ""]
    assert [int(row[1]) for row in rows] == list(range(-5, len(texts) - 5))
    assert drawn.to_arrow().column("=ward").to_pylist() == [*HOSTILE, None]
