"""Streams and conversations elsewhere: paid for once, the same answers as where the rows are."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.curator.folder import Curator
from dither.curator.request_json import public_view, write_words
from dither.curator.session import Session
from dither.errors import BudgetExceeded, DitherError, EngineFailure, InvalidParameter, LossNotStated, NotFound
from dither.privacy import PureDP
from dither.publish.queries.builder import table
from dither.publish.streams.examples import clinic_stream
from dither.service.governance import NotYours
from dither.service.long_lived_kinds import SERVED
from dither.service.pace import Timing
from dither.service.settings import Settings
from tests.service.conftest import Running, serving

HUGE = 10**5
START = datetime.datetime(2025, 1, 1)
COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(params=["here", "elsewhere"])
def session(request: pytest.FixtureRequest, running: Running) -> Session:
    """The same tests for a session where the rows are and for one elsewhere."""
    name = f"{request.param} {request.function.__name__}"[:60]
    found = running.connect(name, quota=900_000).session("clinic")
    return found if request.param == "elsewhere" else running.curator.session("clinic", analyst=name)


def test_a_conversation_is_paid_for_once_and_its_answers_stay(session: Session) -> None:
    talk = session.conversation("wards", "visits", ["ward"], epsilon=HUGE)
    assert talk.ask("ward = 'heart'").count == 133
    assert talk.ask("SELECT COUNT(*) FROM visits WHERE ward = 'skin'").count == 67
    assert talk.ask("ward = 'heart'").count == 133
    assert (talk.asked, talk.loss.pure) == (2, HUGE)
    talk.close()
    assert session.long_lived().conversations == ("wards",)
    again = session.conversation("wards")
    assert [one.count for one in again.answers()] == [133, 67]
    assert "2 asked so far" in str(again)
    assert again.to_dict()["columns"] == ["ward"]
    again.close()
    assert session.balance().releases == 1


def test_other_kinds_of_conversations_go_on_elsewhere_as_well(session: Session) -> None:
    """Of 200 rows 133 are of one ward: that one is the candidate that fewer rows are not of."""
    how: dict[str, Any] = {"kind": "minimisers", "epsilon": HUGE, "candidates": 2, "top": 1}
    with session.conversation("most", "visits", ["ward"], **how) as talk:
        found = talk.ask("[[0, 1], [1, 0]]")
        assert talk.answers() == (found,)
        wards = session.dataset.table("visits").column("ward").categories
        assert wards is not None
        assert wards[found.candidate] == "heart"
    with session.conversation("far", "visits", ["ward"], kind="distances", epsilon=HUGE) as talk:
        assert talk.ask("heart").count == 67


def test_what_is_wrong_with_a_conversation_is_told_before_it_costs_anything(session: Session) -> None:
    for words, error in (
        ({"table": "visits", "columns": ["nothing"], "epsilon": 1}, DitherError),
        ({"table": "visits", "columns": ["ward"]}, LossNotStated),
        ({"table": "visits", "columns": ["ward"], "epsilon": 10**6}, BudgetExceeded),
    ):
        with pytest.raises(error):
            session.conversation("wrong", **words)
    with pytest.raises(NotFound):
        session.conversation("never-opened")
    assert session.balance().releases == 0
    with session.conversation("right", "visits", ["ward"], epsilon=HUGE) as talk, pytest.raises(DitherError):
        talk.ask("waited > 3")


def test_words_that_no_conversation_has_are_refused(running: Running) -> None:
    transport = running.connect("wordy")._transport
    for body in (
        {"name": 3, "words": {}},
        {"name": "x", "words": {"table": "visits", "columns": ["ward"], "epsilon": 1, "colour": 1}},
        {"name": "x", "words": {"only_read": True}},
        {"name": "x", "words": {"table": True, "columns": ["ward"], "epsilon": {"number": "1"}}},
        {"name": "x", "words": {"table": "visits", "columns": ["ward"], "epsilon": {"number": "1"}, "bins": "x"}},
        {"name": "../x", "words": {"table": "visits", "columns": ["ward"], "epsilon": 1}},
        {"name": "x"},
    ):
        with pytest.raises(DitherError) as refused:
            transport.post("v1", "datasets", "clinic", "conversations", body=body)
        assert not isinstance(refused.value, EngineFailure)
    for questions in ([], "ward = 'heart'", [3], ["x"] * 1001):
        with pytest.raises(InvalidParameter):
            transport.post("v1", "datasets", "clinic", "conversations", "x", "questions", body={"questions": questions})


def test_what_a_conversation_was_told_is_not_seen_before_its_time(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of the book sees an answer when it is stored: after 0.8 of the time that was set, whatever it took."""
    transport = running.connect("peeping")._transport
    place = ("v1", "datasets", "clinic", "conversations")
    words = {"table": "visits", "columns": ["ward"], "epsilon": {"number": "1"}}
    transport.post(*place, body={"name": "early", "words": words})
    transport.post(*place, "early", "questions", body={"questions": ["ward = 'skin'"]})
    monkeypatch.setattr(running.service, "_timing", Timing.read("strict 2s"))
    with ThreadPoolExecutor(1) as pool:
        begun = time.monotonic()
        asking = pool.submit(transport.post, *place, "early", "questions", body={"questions": ["ward = 'heart'"] * 2})
        while len(transport.get(*place, "early").json()["answers"]) < 2:
            assert time.monotonic() - begun < 30
        assert time.monotonic() - begun >= 1.6
        assert len(asking.result(timeout=30).json()["answers"]) == 2
    assert time.monotonic() - begun >= 2


def test_a_grant_of_before_bounds_what_goes_on_as_well(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one release may lose stood beside the ledger once, which then does not know of it."""
    transport = running.connect("of old")._transport
    place = ("v1", "datasets", "clinic", "conversations")
    granted = running.service.desk._grant
    monkeypatch.setattr(
        running.service.desk, "_grant", lambda *words: dataclasses.replace(granted(*words), most=PureDP("0.1"))
    )
    words: dict[str, Any] = {"table": "visits", "columns": ["ward"], "epsilon": {"number": "1"}}
    with pytest.raises(InvalidParameter, match="for one release"):
        transport.post(*place, body={"name": "dear", "words": words})
    assert running.curator.ledger.balance("clinic", "of old").releases == 0
    words["epsilon"] = {"number": "1/10"}
    transport.post(*place, body={"name": "cheap", "words": words})
    transport.post(*place, body={"name": "cheap", "words": {}})
    assert running.curator.ledger.balance("clinic", "of old").releases == 1


def test_what_is_usual_holds_for_what_goes_on_and_the_most_for_what_is_usual(running: Running) -> None:
    """Where nothing is stated, and only where something is opened."""
    transport = running.connect("of habit", usual=PureDP("1/4"), most=PureDP("1/2"))._transport
    place = ("v1", "datasets", "clinic")
    talk: dict[str, Any] = {"name": "talk", "words": {"table": "visits", "columns": ["ward"]}}
    dataset = running.curator.dataset("clinic")
    wards = table("visits").partition("ward", {"heart": ["heart"], "skin": ["skin"]}).open(public_view(dataset))
    parts = {"name": "parts", "words": write_words({"partition": wards}, dataset)}
    # Of parts it is what one part may lose, and a person is in two of them.
    for kind, body, loses in (("conversations", talk, "1/4"), ("parts", parts, "1/2")):
        assert transport.post(*place, kind, body=body).json()["loss"]["epsilon"] == loses
        transport.post(*place, kind, body={"name": body["name"], "words": {}})
    assert running.curator.ledger.balance("clinic", "of habit").spent.pure == Fraction(3, 4)
    stated = {"name": "dear", "words": talk["words"] | {"epsilon": 1}}
    with pytest.raises(InvalidParameter, match="for one release"):
        transport.post(*place, "conversations", body=stated)
    running.people.grant("of habit", "clinic", PureDP(5), usual=PureDP("1/2"), most=PureDP("1/2"))
    with pytest.raises(InvalidParameter, match="for one release"):
        transport.post(*place, "parts", body=parts | {"name": "another"})


def test_what_goes_on_is_priced_elsewhere(running: Running) -> None:
    client = running.connect("pricing")
    words: dict[str, Any] = {"table": "visits", "columns": ["ward"], "epsilon": {"number": "1"}}
    told = client._transport.post("v1", "datasets", "clinic", "quotes", body={"verb": "conversation", "words": words})
    assert told.json()["stored"] == []
    session = client.session("clinic")
    assert session.quote(session.offer.conversation("visits", ["ward"], epsilon=1)).loss.pure == 1
    with pytest.raises(InvalidParameter, match="verb"):
        client._transport.post("v1", "datasets", "clinic", "releases", body={"verb": "conversation", "words": words})


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("streaming")
    with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
        curator.add(clinic_stream(persons=False), budget=PureDP(9 * HUGE))
        yield from serving(curator, Settings(port=0, timing="off", requests_per_second=10_000))


def test_a_stream_is_fed_where_it_is_and_released_elsewhere(streaming: Running) -> None:
    [dataset] = streaming.curator.datasets()
    streaming.people.add("ana", "analyst")
    streaming.people.grant("ana", dataset.name, PureDP(5 * HUGE))
    from dither.service.client import connect

    session = connect(streaming.url, streaming.people.new_token("ana")).session(dataset.name)
    assert session.quote(session.offer.stream(COUNT, epsilon=3)).loss == PureDP(3)
    stream = session.stream("hourly", COUNT, epsilon=HUGE)
    assert session.balance().spent.pure == HUGE
    with streaming.curator.session(dataset.name, analyst="ana").stream("hourly") as here:
        here.feed([{"person": "ann", "at": START, "site": "east", "cost": 1}])
    with pytest.raises(InvalidParameter, match="rows never travel"):
        stream.feed([])
    found = stream.release(2)
    assert list(found.column("n", raw=True)) == [1, 1]
    assert (stream.released, stream.is_closed, session.long_lived().streams) == (2, False, ("hourly",))
    assert stream.answers(1).to_json() == session.stream("hourly").answers(1).to_json()
    assert "2 of" in str(stream)
    stream.end()
    assert stream.is_closed
    with pytest.raises(InvalidParameter):
        stream.release(3)
    with pytest.raises(NotFound):
        session.stream("daily")
    assert session.balance().releases == 1


def test_a_conversation_is_typed_elsewhere(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_TOKEN", running.token("talker", quota=900_000))
    words = ["ask", "clinic", "typed", "ward = 'heart'", "--columns", "ward", "--epsilon", str(HUGE)]
    assert "133" in CliRunner().invoke(app, [*words, "--server", running.url], catch_exceptions=False).stdout
    words = ["ask", "clinic", "typed", "--answers", "--server", running.url]
    assert "133" in CliRunner().invoke(app, words, catch_exceptions=False).stdout


def test_a_stream_is_typed_elsewhere(streaming: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    [dataset] = streaming.curator.datasets()
    streaming.people.add("typist", "analyst")
    streaming.people.grant("typist", dataset.name, PureDP(3 * HUGE))
    monkeypatch.setenv("DITHER_TOKEN", streaming.people.new_token("typist"))
    monkeypatch.setenv("DITHER_SERVER", streaming.url)
    for words, told in (
        (["open", dataset.name, "mine", COUNT, "--epsilon", "1"], "0 of"),
        (["release", dataset.name, "mine", "--until", "1"], "n"),
        (["show", dataset.name, "mine"], "1 of"),
        (["show", dataset.name], "mine"),
        (["close", dataset.name, "mine"], "closed after 1 of"),
    ):
        assert told in CliRunner().invoke(app, ["stream", *words], catch_exceptions=False).stdout


def test_a_token_that_was_revoked_in_line_pays_for_nothing_and_asks_nothing(running: Running) -> None:
    """The bearer was let in when the request came, and is let in no more when its turn comes."""
    desk, token = running.service.desk, running.token("robbed of books")
    bearer = running.people.authenticate(token)
    assert bearer is not None
    epsilon = {"number": "1"}
    talk = {"table": "visits", "columns": ["ward"], "epsilon": epsilon}
    converse, release = SERVED["conversation"].steps[0], SERVED["stream"].steps[0]
    desk.open_long_lived(bearer, "clinic", "conversation", {"name": "mine", "words": talk})
    running.people.revoke_token(token.split("_")[1])
    for refused in (
        lambda: desk.open_long_lived(bearer, "clinic", "conversation", {"name": "late", "words": talk}),
        lambda: desk.go_on(bearer, "clinic", "conversation", converse, "mine", {"questions": ["ward = 'heart'"]}),
        lambda: desk.open_long_lived(bearer, "clinic", "parts", {"name": "mine", "words": {"epsilon": epsilon}}),
        lambda: desk.ask_part(bearer, "clinic", "mine", {"words": {}}, None),
        lambda: desk.open_long_lived(bearer, "clinic", "stream", {"name": "mine", "words": {"epsilon": epsilon}}),
        lambda: desk.go_on(bearer, "clinic", "stream", release, "mine", {}),
    ):
        with pytest.raises(NotYours):
            refused()
    assert running.curator.ledger.balance("clinic", "robbed of books").releases == 1
