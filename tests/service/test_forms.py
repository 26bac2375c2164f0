"""What is rows is told as rows in every form, no cell of a sheet is run, and a model says what it is."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.curator.access import receipt_of
from dither.curator.request_json import write_words
from dither.pages.spreadsheet import safe
from dither.service.client import connect
from dither.service.forms import CSV, _csv, written
from dither.service.problems import Refused
from dither.service.tables import columns_of
from dither.service.transport import Transport
from tests.service.conftest import Running
from tests.service.test_door import ask, bearer

SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66"
PASSED_OVER = " \t\r\n\v\f\0\x1f\x7f\x85\xa0\u2003\u3000\u200b\ufeff"
TEXTS = st.text(st.sampled_from(f"{SIGNS}{PASSED_OVER};,\"'|a1"), max_size=12)


def is_passed_over(sign: str) -> bool:
    return sign.isspace() or unicodedata.category(sign) in ("Cc", "Cf")


def begins_formula(cell: str) -> bool:
    return "".join(itertools.dropwhile(is_passed_over, cell))[:1] in {*SIGNS}


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_no_cell_is_run_however_lines_are_split(texts: list[str]) -> None:
    content = _csv({"text": texts, "number": [-1.5] * len(texts)}).decode()
    head, *rows = csv.reader(io.StringIO(content, newline=""))
    assert head == ["text", "number"]
    assert [row[1] for row in rows] == ["-1.5"] * len(texts)
    for (cell, _), text in zip(rows, texts, strict=True):
        # Apart from the marks it is the text.
        left = list(cell)
        for sign in text:
            while left[0] != sign:
                assert left.pop(0) == "'"
            left.pop(0)
        assert not left
        assert not [part for part in re.split(r"[;\t\r\n]", cell) if begins_formula(part)], (cell, text)
    assert content.startswith('"text","number"\r\n"')


def test_texts_and_numbers_are_told_apart() -> None:
    told = _csv({"=a": ["a;=1+1", " =2+2", "", None], "b": [-1, -2.5, None, True]}).decode()
    assert told == '"\'=a","b"\r\n"a;\'=1+1",-1\r\n"\' =2+2",-2.5\r\n"",\r\n,True\r\n'
    assert safe("a-1, -2") == "a-1, -2"


def test_no_cell_of_an_answer_is_a_formula(running: Running) -> None:
    token = running.token("sheets")
    place, _ = answered(running, token, "sql", text='SELECT COUNT(*) AS "=f()" FROM visits')
    head, row, *_ = ask(running, "GET", f"{place}.csv", None, bearer(token))[2].decode().splitlines()
    assert head == '"\'=f()","\'=f()_low","\'=f()_high"'
    assert len(row.split(",")) == 3
    for cell in (
        "=1",
        "+1",
        "-1",
        "@a",
        "\0=1",
        "\u3000=1",
        "\t",
        "\ra",
        "\n",
        "\uff1d1",
        "\uff0b1",
        "\uff0d1",
        "\uff20a",
    ):
        assert safe(cell) == f"'{cell}"
    assert [safe(cell) for cell in ("a=1", "")] == ["a=1", ""]


def answered(running: Running, token: str, verb: str, **words: Any) -> tuple[str, bytes]:
    """Release an answer, and return where it is, and the stored bytes."""
    said = {"epsilon": {"number": "1"}, **words}
    body = {"verb": verb, "words": said}
    reply = Transport(running.url, token).post("v1", "datasets", "clinic", "releases", body=body)
    return reply.headers["location"], reply.content


def told(running: Running, token: str, place: str) -> list[dict[str, str]]:
    status, _, content = ask(running, "GET", f"{place}.csv", None, bearer(token))
    assert status == 200, content
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_what_is_rows_is_told_as_rows(running: Running) -> None:
    token = running.token("rows", quota=100)
    place, stored = answered(
        running, token, "marginals", table="visits", sets=[["ward"], ["waited", "ward"]], bins={"map": [["waited", 2]]}
    )
    rows = told(running, token, place)
    assert [row["set"] for row in rows] == ["ward"] * 2 + ["ward, waited"] * 4
    assert [row["waited_from"] for row in rows[:2]] == ["", ""]
    results = {", ".join(names): json.loads(text)["rows"] for names, text in json.loads(stored)}
    assert [float(row["count"]) for row in rows] == [line[-1] for lines in results.values() for line in lines]

    place, stored = answered(running, token, "bounds", table="visits", column="waited")
    [row] = told(running, token, place)
    found = json.loads(stored)
    assert (row["column"], float(row["lower"]), int(row["outside"])) == ("waited", found["lower"], found["outside"])

    session = connect(running.url, token).session("clinic")
    parts = session.table("visits").partition("ward", {"h": ["heart"], "s": ["skin"]})
    asked = parts.ask(h=lambda part: part.count("n"), s=lambda part: part.group("ward").count("m"))
    words = write_words({"parts": asked}, session.dataset)
    place, stored = answered(running, token, "ask_parts", **words)
    rows = told(running, token, place)
    assert [row["part"] for row in rows] == ["h", *"s" * (len(rows) - 1)]
    assert (rows[0]["m"], rows[1]["n"]) == ("", "")
    assert int(rows[0]["n"]) == json.loads(json.loads(stored)["h"])["rows"][0][0]

    for verb in ("count", "limits"):
        place, _ = answered(running, token, verb, table="visits")
        assert len(told(running, token, place)) == 1
    for ending in (".arrow", ".parquet"):
        pytest.importorskip("pyarrow", reason="the extra 'frames' is not installed")
        assert ask(running, "GET", place + ending, None, bearer(token))[0] == 200


def test_an_anonymised_table_is_told_as_it_was_released(running: Running) -> None:
    token = running.token("anonymous", quota=100)
    words: dict[str, Any] = {"table": "visits", "columns": ["ward", "waited"], "bins": {"map": [["waited", 2]]}}
    place, stored = answered(running, token, "anonymize", **words, method="perturbed-rows", rows=20)
    rows = told(running, token, place)
    codes = json.loads(stored)["released"]["rows"]
    meanings = ("heart", "skin"), ("[0, 50)", "[50, 100]")
    assert [(row["ward"], row["waited"]) for row in rows] == [(meanings[0][a], meanings[1][b]) for a, b in codes]
    # Nothing is drawn when it is told: the tag is true.
    assert ask(running, "GET", f"{place}.csv", None, bearer(token))[2] == ask(
        running, "GET", f"{place}.csv", None, bearer(token)
    )[2]  # fmt: skip

    place, stored = answered(running, token, "anonymize", **words, method="diffgen", target="ward")
    counts = json.loads(stored)["released"]["counts"]
    assert sorted(int(row["count"]) for row in told(running, token, place)) == sorted(_flat(counts))

    place, _ = answered(running, token, "anonymize", table="visits", columns=["ward"])
    status, _, content = ask(running, "GET", f"{place}.csv", None, bearer(token))
    assert (status, "a model of rows" in json.loads(content)["detail"]) == (406, True)


def _flat(counts: Any) -> list[int]:
    return [counts] if isinstance(counts, int) else [one for part in counts for one in _flat(part)]


def test_sets_of_items_are_told_with_their_counts() -> None:
    from dither.data import Kind
    from dither.privacy import PureDP
    from dither.publish.microdata import AnonymizedTable, ItemSets
    from dither.publish.synthetic.columns import Coding

    coding = Coding("item", Kind.TEXT, ("bread", "milk"), None, nullable=False)
    columns = (("person", Kind.INTEGER), ("item", Kind.TEXT))
    sets = ItemSets(("bread", "milk"), ((0, 1), (1,)), (3, 2))
    table = AnonymizedTable("bought", "diffpart", sets, (coding,), columns, PureDP(1), "people")
    found = columns_of(table.to_json().encode())
    assert found == {"set": [1, 1, 2], "item": ["bread", "milk", "milk"], "count": [3, 3, 2]}


@pytest.mark.parametrize(
    ("verb", "words", "said"),
    [
        ("synthesize", {"table": "visits", "columns": ["ward"]}, "a model of rows"),
        ("fit", {}, "a fitted model"),
        ("method", {}, "released for later use"),
    ],
)
def test_a_model_says_what_it_is(running: Running, verb: str, words: dict[str, Any], said: str) -> None:
    session = running.connect("models", quota=10).session("clinic")
    if verb == "fit":
        learn = pytest.importorskip("dither.learn", reason="the extra 'ml' is not installed")
        offer = session.offer.fit(learn.LogisticRegression(epsilon=1), "visits", target="ward", features=["waited"])
    elif verb == "method":
        from dither.lift import cells_of
        from dither.mechanisms import Geometric

        cells = cells_of(session.dataset, "visits", "ward")
        offer = session.offer.method(Geometric(shape=cells.shape, scale=cells.sensitivity.l1), cells)
    else:
        offer = getattr(session.offer, verb)(**words, epsilon=1)
    with pytest.raises(Refused) as refused:
        written(receipt_of(session, offer), CSV)
    problem = refused.value.problem
    assert problem.status == 406
    assert problem.detail.startswith("this answer is no table, but ")
    assert said in problem.detail
    assert problem.detail.endswith("application/json (.json) has it")


def test_a_column_has_one_kind_and_a_value_that_arrow_lacks_is_refused() -> None:
    from dither.service.forms import _arrow
    from dither.service.tables import _free, _of_one_kind

    pytest.importorskip("pyarrow", reason="the extra 'frames' is not installed")
    assert _of_one_kind([1, 2.5, None]) == [1, 2.5, None]
    assert _of_one_kind([1, "a", None]) == ["1", "a", None]
    assert _free("set", ["set", "set_"]) == "set__"
    with pytest.raises(Refused, match="no place"):
        _arrow({"n": [10**30]})
