"""What people see has a picture with axes and a caption, made of public facts and released values, without an extra."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
import pytest

import dither
from dither.errors import InvalidParameter
from dither.pages.frame import Chart
from dither.privacy import ZCDP, ApproxDP

SQL = "SELECT ward, COUNT(*) AS visits, SUM(waited) AS minutes FROM data GROUP BY ward"


@pytest.fixture(params=[dither.PureDP(2), ApproxDP(2, "1e-5"), ZCDP("0.5")], ids=lambda budget: budget.kind)
def session(request: pytest.FixtureRequest) -> Iterator[dither.Session]:
    frame = pandas.DataFrame({"who": range(600), "ward": ["heart", "skin"] * 300, "waited": [12.5, 40.0] * 300})
    declared = {"bounds": {"waited": (0, 90)}, "categories": {"ward": ["heart", "skin"]}}
    with dither.private(frame, budget=request.param, person="who", rows=1, **declared) as opened:
        yield opened


def texts(chart: Chart) -> list[str]:
    """Return what is written in a picture, which is well-formed."""
    found = ElementTree.fromstring(chart.svg())  # noqa: S314 - our own
    return ["".join(part.itertext()) for part in found.iter("{http://www.w3.org/2000/svg}text")]


def asked(session: dither.Session) -> dict[str, str]:
    return {"rho": "0.02"} if isinstance(session.balance().budget, ZCDP) else {"epsilon": "0.5"}


def test_answers_quotes_and_budgets_are_drawn_with_axes_and_captions(session: dither.Session) -> None:
    answer, quote = session.sql(SQL, **asked(session)), session.quote(SQL, **asked(session))
    balance = session.balance()
    figure = "rho" if isinstance(balance.budget, ZCDP) else "epsilon"
    for chart, axes, said in (
        (answer.picture(), ("ward", "visits"), str(answer.loss)),
        (answer.picture("minutes", unit="min"), ("ward", "minutes (min)"), str(answer.loss)),
        (quote.picture(), ("query", "error of visits (rows)"), "from the budget of data"),
        (balance.picture(), ("part of the budget", f"loss ({figure})"), "people added or removed"),
        (session.card().spending(), ("release", f"loss ({figure})"), str(balance.spent)),
    ):
        written = texts(chart)
        assert set(axes) <= set(written), written
        # A caption is broken into lines.
        assert said in " ".join(written), written
        assert said in chart.description
    for shown in (answer, quote, balance):
        assert shown._repr_html_().count("<svg") == 1


def test_a_quote_draws_each_advice(session: dither.Session) -> None:
    quote = session.quote(SQL, **asked(session))
    advised = [one for one in quote.advice if one.about == "minutes"]
    assert advised
    assert quote.picture("minutes").svg().count("<rect") == 2 + len(advised)
    with pytest.raises(InvalidParameter, match="one of visits, minutes"):
        quote.picture("ward")


def test_spending_adds_up(session: dither.Session) -> None:
    assert "Nothing is shown" in session.card().spending().description
    for key in ("first", "second"):
        session.sql(SQL, **asked(session), key=key)
    assert ("1: 0.02; 2: 0.04" if "rho" in asked(session) else "1: 0.5; 2: 1") in session.card().spending().description


def test_many_releases_are_a_line() -> None:
    frame = pandas.DataFrame({"who": range(10)})
    with dither.private(frame, budget=2, unit="row") as session:
        for _ in range(25):
            session.sql("SELECT COUNT(*) AS n FROM data", epsilon="0.01")
        assert "from 0.01 to 0.25" in session.card().spending().description


def test_a_release_of_several_numbers_is_drawn() -> None:
    budget = dither.Budget(epsilon=1, unit=dither.ROW)
    found = dither.release(
        dither.Laplace(scale=4, shape=(3,)), np.array([10.0, 20.0, 30.0]), budget=budget, stability=1
    )
    assert {"number", "released value"} <= set(texts(found.picture()))
    assert {"town", "Ash"} <= set(texts(found.picture(["Ash", "Birch", "Elm"], across="town")))
    assert "<svg" in found._repr_html_()
    with pytest.raises(InvalidParameter, match="one for each number: 3"):
        found.picture(["Ash"])


def test_pictures_are_written_as_svg_html_and_png(session: dither.Session, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    chart = session.balance().picture()
    assert chart.save(tmp_path / "a.svg").read_text(encoding="utf-8") == chart.svg()
    assert chart.save(tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert chart.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidParameter, match=r"a file ending in \.svg or \.html or \.png"):
        chart.save(tmp_path / "a.gif")
