"""What people see of an object: short texts and small tables, everything escaped, nothing opened."""

from __future__ import annotations

import inspect
import json
import re
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any, get_type_hints

import pandas as pd
import pytest

import dither
from dither.curator.access import curator_of
from dither.curator.card import release_card
from dither.curator.session import Session
from dither.errors import HandleMisuse
from dither.lift.verb import REGISTRY
from dither.mechanisms.notebook import MOST_ROWS, decimals, html
from dither.privacy import ROW, ZCDP, ApproxDP, PureDP

EVIL = "<script>alert('x')</script>&\"'"


PICTURE = re.compile("<svg.*?</svg>", re.DOTALL)
DRAWN = ("rect", "line", "path", "text", "circle")


def _tags(picture: str) -> list[str]:
    return [part.tag for part in ElementTree.fromstring(picture).iter()]  # noqa: S314 - our own


class Tags(HTMLParser):
    """Reads HTML and keeps its tags and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "wbr":
            self.open.append(tag)
        assert {name for name, _ in attrs} <= {"tabindex", "role", "aria-label", "style"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """Every object that people see, of a data set with hostile names and values."""
    rows = 400
    frame = pd.DataFrame({"id": range(rows), EVIL: ["a", EVIL] * (rows // 2), "age": [33, 44] * (rows // 2)})
    session = dither.private(
        frame, budget=50, person="id", rows=1, categories={EVIL: ["a", EVIL]}, bounds={"age": (0, 99)}
    )
    name = session.dataset.tables[0].columns[1].name
    query = f"SELECT {name}, COUNT(*) AS n FROM data GROUP BY {name}"  # noqa: S608 - made of a plain name
    budget = dither.Budget(epsilon=1, unit=ROW)
    return {
        "result": session.sql(query, epsilon=1),
        "ages": session.sql("SELECT age, COUNT(*) AS n FROM data GROUP BY age", epsilon=1),
        "quote": session.quote(query, epsilon=1),
        "price": session.quote(session.offer.histogram("data", "age", epsilon=1)),
        "balance": session.balance(),
        "session": session,
        "curator": curator_of(session),
        "release": dither.release(dither.Geometric(scale=2), 10, budget=budget, stability=1),
        "synthetic": session.synthesize("data", epsilon=1, columns=[name, "age"]),
        "card": session.card(),
    }


NAMES = ["result", "ages", "quote", "price", "balance", "session", "curator", "release", "synthetic", "card"]


@pytest.mark.parametrize("name", NAMES)
def test_html_is_well_formed_and_everything_in_it_is_text(shown, name):
    text = shown[name]._repr_html_()
    # A picture is of a closed set of tags of its own, whose texts are escaped by the room that draws.
    around, pictures = PICTURE.sub("", text), PICTURE.findall(text)
    assert len(pictures) == (name in ("result", "ages", "quote", "balance"))
    for picture in pictures:
        assert {tag.rpartition("}")[2] for tag in _tags(picture)} <= {"svg", "title", "desc", "style", *DRAWN}
    read = Tags(around)
    assert not read.open
    assert set(read.tags) <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "wbr"}
    assert len(around) < 40_000
    assert len(text) < 100_000
    if name in ("result", "session"):
        assert EVIL in "".join(read.texts)


@pytest.mark.parametrize("name", NAMES)
def test_a_repr_is_one_short_line(shown, name):
    text = repr(shown[name])
    assert text.startswith("<")
    assert text.endswith(">")
    assert "\n" not in text
    assert len(text) < 300


def test_tables_are_cut_and_say_so(shown):
    text = shown["ages"]._repr_html_()
    assert text.count("<tr>") == MOST_ROWS + 1
    assert f"... and {100 - MOST_ROWS} more" in text
    assert "..." not in html("t", head=["a"], rows=[[1]] * MOST_ROWS)
    assert "... and more" in html("t", head=["a"], rows=[[1]] * (MOST_ROWS + 1))


def test_a_session_in_memory_says_so_and_can_be_shown_when_closed():
    session = dither.private(pd.DataFrame({"a": [1]}), budget=1, unit="row")
    assert "in memory: unledgered" in session._repr_html_()
    assert session.card()["implementation"]["ledger"]["is_durable"] is False
    session.close()
    assert "the ledger is closed" in session._repr_html_()
    assert "Session of curator on data" in repr(session)
    with pytest.raises(HandleMisuse):
        session.balance()


def test_completion_finds_the_door():
    assert {"private", "open", "Session", "Curator"} <= set(dir(dither))
    verbs = {"sql", "ask", "quote", "offer", "histogram", "workload", "marginals", "synthesize", "anonymize", "fit"}
    session = dither.private(pd.DataFrame({"a": [1]}), budget=1, unit="row")
    assert verbs | {"balance", "card", "release", "table"} <= set(dir(session))
    assert verbs - {"quote", "offer"} <= set(dir(session.offer))
    for verb in verbs - {"offer"}:
        assert inspect.getdoc(getattr(session, verb)), verb


def test_an_answer_has_the_type_of_an_answer():
    """So that a checker accepts ``session.sql(...).to_pandas()``: no union to take apart."""
    assert REGISTRY["sql"].gives == "QueryResult"
    assert get_type_hints(dither.private)["return"] is Session
    session = dither.private(pd.DataFrame({"a": [1]}), budget=1, unit="row")
    assert list(session.sql("SELECT COUNT(*) AS n FROM data", epsilon="0.1").to_pandas()) == ["n", "n_low", "n_high"]
    assert str(session.sql("EXPLAIN PRIVACY SELECT COUNT(*) AS n FROM data", epsilon="0.1")).startswith("cost")


def test_json_has_decimals_beside_the_exact_figures(shown):
    for name in ("quote", "price", "release"):
        record = shown[name].to_dict()
        assert json.loads(json.dumps(record)) == record
        assert set(record["loss_decimals"]) == set(record["loss"]) - {"kind"}
    for loss in (PureDP("1/3"), ApproxDP("1/7", "1e-7"), ZCDP("1/10")):
        exact = loss.to_dict()
        # Rounded towards more loss.
        assert all(Fraction(repr(found)) >= Fraction(exact[name]) for name, found in decimals(loss).items())
    assert isinstance(shown["card"], dict)
    assert shown["card"].to_dict() == release_card(shown["session"].dataset, shown["curator"].ledger)
