"""Words of a verb that travel mean the same where they arrive, and nothing else can be put into them."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from dither.curator.access import request_of
from dither.curator.remote_release import asked_of, usual_key
from dither.curator.request_json import public_view, read_words, write_words
from dither.curator.session import Session
from dither.errors import DitherError, InvalidParameter, NotSerialisable
from dither.lift import cells_of
from dither.mechanisms import Geometric
from dither.privacy import PureDP
from dither.publish.queries.builder import col, table
from dither.publish.workloads import Workload
from dither.verbs.offers import Offers, call_of


def of_clinic(offers: Offers) -> dict[str, Any]:
    """One offer for each verb that travels."""
    cells = cells_of(offers.dataset, "visits", "ward")
    return {
        "sql": offers.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=0.1, shares={"n": 1}),
        "ask": offers.ask(table("visits").where(col("waited") > 10).group("ward").count("n"), PureDP("1/3")),
        "ask_parts": offers.ask_parts(
            table("visits")
            .partition("ward", {"a": ["heart"], "b": ["skin"]})
            .ask(a=lambda rows: rows.count("n"), b=lambda rows: rows.count("m")),
            epsilon=1,
        ),
        "bounds": offers.bounds("visits", "waited", epsilon=Decimal("0.1")),
        "limits": offers.limits("visits", epsilon=Fraction(1, 3)),
        "histogram": offers.histogram("visits", ("ward", "waited"), {"waited": [0, 10.5, 100]}, epsilon=1),
        "workload": offers.workload("visits", "waited", Workload.prefixes(4), 4, epsilon=1),
        "marginals": offers.marginals("visits", [("ward",), ("waited", "ward")], {"waited": 2}, epsilon=1),
        "synthesize": offers.synthesize("visits", ["ward", "waited"], epsilon=1, bins={"waited": 3}),
        "anonymize": offers.anonymize("visits", ["ward"], epsilon=1),
        "ask_kept": offers.ask_kept("visits", {"ward": ["heart"]}, epsilon=1),
        "method": offers.method(Geometric(shape=cells.shape, scale=cells.sensitivity.l1), cells),
    }


def test_an_offer_made_elsewhere_is_the_same_request_here(session: Session) -> None:
    view = public_view(session.dataset)
    assert "visits.csv" not in str(view)
    there, here = Offers(view), session.offer
    made, wanted = of_clinic(there), of_clinic(here)
    for verb, offer in made.items():
        call = call_of(there, offer)
        assert call.verb == verb
        travelled = json.loads(json.dumps(write_words(call.arguments, view), allow_nan=False))
        planned = asked_of(session, verb, travelled)
        assert planned.request.digest == request_of(session, wanted[verb]).digest, verb
        assert planned.loss == wanted[verb].loss


def as_numbers(written: Any) -> Any:
    """Return words with JSON numbers in place of tagged floats, as a person writes them."""
    if isinstance(written, list):
        return [as_numbers(one) for one in written]
    if not isinstance(written, dict):
        return written
    return (
        float(written["real"]) if set(written) == {"real"} else {name: as_numbers(one) for name, one in written.items()}
    )


def test_words_with_plain_numbers_are_the_same_request(session: Session) -> None:
    view = public_view(session.dataset)
    there = Offers(view)
    changed = 0
    for verb, offer in of_clinic(there).items():
        written = write_words(call_of(there, offer).arguments, view)
        plain = as_numbers(written)
        changed += plain != written
        assert asked_of(session, verb, plain).request.digest == asked_of(session, verb, written).request.digest, verb
    assert changed


def test_an_estimator_travels_by_its_name(session: Session) -> None:
    pytest.importorskip("sklearn")
    from dither import learn

    view = public_view(session.dataset)
    there = Offers(view)
    offer = there.fit(learn.LogisticRegression(epsilon=1, C="1/2"), "visits", target="ward")
    written = write_words(call_of(there, offer).arguments, view)
    assert written["estimator"]["estimator"] == "LogisticRegression"
    local = session.offer.fit(learn.LogisticRegression(epsilon=1, C="1/2"), "visits", target="ward")
    assert asked_of(session, "fit", written).request.digest == request_of(session, local).digest


def test_plain_values_come_back_as_they_were(session: Session) -> None:
    moment = datetime.datetime(2024, 1, 31, 12)
    words = {
        "a": [1, True, None, "x", (2, 3)],
        "b": {"k": 0.5, 3: moment, "e": Fraction(1, 3)},
        "c": moment.date(),
        "d": 2**70,
    }
    found = read_words(json.loads(json.dumps(write_words(words, session.dataset))), session.dataset)
    assert found == {
        "a": [1, True, None, "x", [2, 3]],
        "b": {"k": 0.5, 3: moment, "e": Fraction(1, 3)},
        "c": moment.date(),
        "d": 2**70,
    }


@pytest.mark.parametrize(
    "written",
    [
        *(
            1,
            [],
            {"a": math.nan},
            {"a": math.inf},
            {"a": {"number": "nan"}},
            {"a": {"number": 1}},
            {"a": {"number": "1e9999"}},
        ),
        *({"a": {"date": "soon"}}, {"a": {"timestamp": "2024-01-31T12:00:00+01:00"}}, {"a": {"map": [[1]]}}),
        *({"a": {"map": [[[1], 2]]}}, {"a": {"map": [[1, 2], [1, 3]]}}, {"a": {"loss": 1}}, {"a": {"loss": {}}}),
        *({"a": {"spec": {"mechanism": "no", "version": 1, "parameters": {}}}}, {"a": {"eval": "1"}}, {"a": {}}),
        *({"a": {"estimator": "os", "parameters": {}}}, {"a": {"estimator": ["x"], "parameters": {}}}),
        *({"a": {"real": "inf"}}, {"a": {"real": "1e999"}}, {"a": {"real": 1}}),
        *({"a": {"spec": 0.5}}, {"a": {"_read": 1}}, {"a": {"spec": {"query": {"is": "Query"}}}}),
    ],
)
def test_what_has_no_place_in_words_is_refused(session: Session, written: Any) -> None:
    with pytest.raises(DitherError):
        read_words(written, session.dataset)


def test_a_deep_tree_is_refused_both_ways(session: Session) -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    with pytest.raises(NotSerialisable):
        write_words({"a": deep}, session.dataset)
    with pytest.raises(InvalidParameter):
        read_words({"a": deep}, session.dataset)
    for odd in (float("nan"), object(), lambda: 1):
        with pytest.raises(NotSerialisable):
            write_words({"a": odd}, session.dataset)


def test_a_query_about_another_declaration_is_refused(session: Session) -> None:
    from dataclasses import replace

    view = public_view(session.dataset)
    other = replace(view, rows=1, groups=None, rows_per_group=None)
    written = write_words({"query": table("visits").count("n").build(other), "epsilon": 1}, other)
    with pytest.raises(InvalidParameter, match="as it is declared now"):
        asked_of(session, "ask", written)


def test_the_usual_key_follows_question_and_edition(session: Session) -> None:
    written = {"text": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1}
    planned = asked_of(session, "sql", written)
    key = usual_key(planned.request, 1)
    assert key == usual_key(asked_of(session, "sql", dict(written)).request, 1)
    assert key != usual_key(asked_of(session, "sql", {**written, "epsilon": 2}).request, 1)
    assert key != usual_key(planned.request, 2)
    with pytest.raises(InvalidParameter, match="verb"):
        asked_of(session, "open", {})
    with pytest.raises(InvalidParameter, match="key"):
        asked_of(session, "sql", {**written, "key": "k"})


def test_a_recommender_is_sent_by_its_name_and_parameters() -> None:
    pytest.importorskip("sklearn")
    from dither.learn import Recommender
    from dither.learn.recommend.planning import rated_clinic

    clinic = rated_clinic()
    words = {"table": "visits", "estimator": Recommender(epsilon=1, delta="1e-5", method="covariance", people=9)}
    written = json.loads(json.dumps(write_words(words, clinic)))
    assert written["estimator"]["estimator"] == "Recommender"
    found = read_words(written, clinic)["estimator"]
    assert type(found) is Recommender
    assert found.get_params() == words["estimator"].get_params()  # type: ignore[attr-defined]
