"""A session elsewhere gives what a session here gives: the same verbs, results, prices and errors, from one ledger."""

from __future__ import annotations

import inspect
import json
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.curator.access import rows_of_session
from dither.curator.request_json import write_words
from dither.curator.session import Session
from dither.errors import (
    BudgetExceeded,
    DitherError,
    InvalidParameter,
    KeyReused,
    LossNotStated,
    NotFound,
    QuotaExceeded,
    Unanswerable,
)
from dither.lift import cells_of
from dither.lift.verb import REGISTRY, verbs_of
from dither.mechanisms import Geometric
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.publish.queries.builder import col
from dither.publish.workloads import Workload
from dither.service.client import RemoteSession
from dither.service.desk import Desk, Wanted
from dither.verbs.graphs import Graph
from dither.verbs.offers import Offers
from dither.verbs.places import Places
from tests.service.conftest import Running

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


@pytest.fixture
def session(running: Running) -> RemoteSession:
    return running.connect("rich", quota=900_000).session("clinic")


def test_an_answer_from_elsewhere_is_the_one_the_ledger_keeps(running: Running, session: RemoteSession) -> None:
    found = session.sql(COUNT, epsilon=10_000, key="first")
    assert dict(found.rows) == {"heart": 133, "skin": 67}
    local = running.curator.session("clinic", analyst="rich").sql(COUNT, epsilon=10_000, key="first")
    assert local.to_json() == found.to_json()
    assert local.receipt == found.receipt


def test_asking_the_same_again_is_free_and_gives_the_same_bytes(running: Running) -> None:
    session = running.connect("again").session("clinic")
    first, second = session.sql(COUNT, epsilon="0.1"), session.sql(COUNT, epsilon="0.1")
    assert first.to_json() == second.to_json()
    assert session.balance().releases == 1
    assert session.sql(COUNT, epsilon="0.1", key="fresh").receipt != first.receipt
    assert str(session.balance().spent) == "epsilon = 0.2"


@pytest.mark.parametrize(
    "verb",
    [
        lambda session: session.ask(session.table("visits").where(col("waited") > 10).count(), epsilon=1),
        lambda session: session.bounds("visits", "waited", epsilon=1),
        lambda session: session.limits("visits", epsilon=1),
        lambda session: session.histogram("visits", "waited", 4, epsilon=1),
        lambda session: session.workload("visits", "waited", Workload.prefixes(4), 4, epsilon=1),
        lambda session: session.marginals("visits", [("ward",), ("waited", "ward")], {"waited": 2}, epsilon=1),
        lambda session: session.synthesize("visits", ["ward", "waited"], epsilon=1, bins={"waited": 3}),
        lambda session: session.anonymize("visits", ["ward", "waited"], epsilon=1, terms={"waited": ["short", "long"]}),
        lambda session: session.sql("SELECT SUM(CLAMP(waited, AUTO)) AS waited FROM visits", epsilon=1),
    ],
)
def test_every_verb_is_answered_elsewhere_as_here(running: Running, session: RemoteSession, verb: Any) -> None:
    before = running.curator.ledger.balance("clinic", "rich").releases
    found = verb(session)
    assert type(found).__name__ in ("QueryResult", "FoundBounds", "SyntheticTable", "AnonymizedTable", "dict")
    assert running.curator.ledger.balance("clinic", "rich").releases > before


def test_a_model_and_a_method_of_ones_own_are_released_elsewhere(session: RemoteSession) -> None:
    pytest.importorskip("sklearn")
    from dither import learn

    fitted = session.fit(learn.LogisticRegression(epsilon=1), "visits", target="ward", features=["waited"])
    assert set(fitted.classes_) == {"heart", "skin"}
    cells = cells_of(session.dataset, "visits", "ward")
    found = session.release(Geometric(shape=cells.shape, scale=cells.sensitivity.l1), cells)
    assert found.shape == (2,)


def test_a_price_from_elsewhere_is_the_price_here(running: Running, session: RemoteSession) -> None:
    local = running.curator.session("clinic", analyst="rich")
    assert session.quote(COUNT, epsilon="0.1").to_dict() == local.quote(COUNT, epsilon="0.1").to_dict()
    offer, here = (one.offer.histogram("visits", "ward", epsilon=1) for one in (session, local))
    assert session.quote(offer) == local.quote(here)
    assert session.balance() == local.balance()
    assert session.loss_for_error(COUNT, "visits", 50) == local.loss_for_error(COUNT, "visits", 50)
    assert session.card().to_dict().keys() == local.card().to_dict().keys()


def test_a_quote_may_be_a_curve(running: Running) -> None:
    client = running.connect("curious")
    body = {"verb": "sql", "words": {"text": COUNT}, "losses": [{"kind": "pure", "epsilon": "1/10"}] * 2}
    reply = client._transport.post("v1", "datasets", "clinic", "quotes", body=body).json()
    assert [one["loss"]["epsilon"] for one in reply["quotes"]] == ["1/10", "1/10"]


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda session: session.sql("SELECT nothing FROM visits", epsilon=1), DitherError),
        (lambda session: session.sql("SELECT waited FROM visits", epsilon=1), Unanswerable),
        (lambda session: session.sql(COUNT), LossNotStated),
        (lambda session: session.sql(COUNT, epsilon=-1), InvalidParameter),
        (lambda session: session.histogram("visits", "ward", colour="red"), InvalidParameter),
        (lambda session: session.sql(COUNT, epsilon=6), QuotaExceeded),
    ],
)
def test_what_is_refused_here_is_refused_elsewhere(running: Running, ask: Any, error: type[Exception]) -> None:
    session = running.connect("poor").session("clinic")
    with pytest.raises(error):
        ask(session)
    assert session.balance().releases == 0


def test_a_key_belongs_to_one_request(running: Running) -> None:
    session = running.connect("keys").session("clinic")
    session.sql(COUNT, epsilon="0.1", key="mine")
    with pytest.raises(KeyReused):
        session.sql(COUNT, epsilon="0.2", key="mine")
    assert session.balance().spent == PureDP("1/10")


def test_a_grant_bounds_one_release_and_may_say_what_is_usual(running: Running) -> None:
    terms: dict[str, Any] = {"most": PureDP("1/2"), "usual": PureDP("1/4")}
    client = running.connect("granted", **terms)
    session = client.session("clinic")
    with pytest.raises(InvalidParameter, match=r"at most epsilon = 0\.5"):
        session.sql(COUNT, epsilon=1)
    body = {"verb": "sql", "words": {"text": COUNT}}
    client._transport.post("v1", "datasets", "clinic", "releases", body=body)
    assert session.balance().spent == PureDP("1/4")


def test_a_data_set_that_is_absent_and_one_of_others_are_told_apart_by_nothing(running: Running) -> None:
    client = running.connect("outside")
    told = []
    for name in ("hidden", "nowhere"):
        with pytest.raises(NotFound) as refused:
            client.session(name)
        told.append(str(refused.value))
    assert told[0] == told[1]
    assert client.datasets() == ("clinic",)


def test_many_callers_with_one_request_are_debited_once(running: Running) -> None:
    token = running.token("crowd")
    answers: list[str] = []

    def ask() -> None:
        from dither.service.client import connect

        answers.append(connect(running.url, token).session("clinic").sql(COUNT, epsilon="0.3").to_json())

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 16
    assert len(set(answers)) == 1
    balance = running.curator.ledger.balance("clinic", "crowd")
    assert (balance.releases, balance.sealed, balance.spent) == (1, 0, PureDP("3/10"))


def test_releases_and_receipts_are_found_again(running: Running) -> None:
    client = running.connect("keeper")
    session = client.session("clinic")
    found = session.sql(COUNT, epsilon="0.1")
    (told,) = client.releases("clinic")
    assert told["price"] == {"kind": "pure", "epsilon": "1/10"}
    number = found.receipt.split(":")[1]
    assert client._transport.get("v1", "datasets", "clinic", "releases", number).content.decode() == found.to_stored()
    other = running.connect("reader")
    with pytest.raises(NotFound):
        other.receipt("clinic", number)


def test_what_reads_rows_is_refused_as_to_any_analyst(session: RemoteSession) -> None:
    with pytest.raises(InvalidParameter, match=r"analyst must be 'curator', who owns the rows"):
        session.compare_synthetic("x")  # type: ignore[call-overload]
    with pytest.raises(InvalidParameter, match="not allowed over HTTP"), rows_of_session(session):
        pass


def test_a_count_is_typed_elsewhere(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_TOKEN", running.token("typist"))
    words = ["publish", "count", "clinic", "visits", "--epsilon", "1/2", "--server", running.url]
    typed = CliRunner().invoke(app, words, catch_exceptions=False)
    assert "the number of rows" in typed.stdout


def test_ranges_and_limits_are_found_elsewhere_under_no_key_of_ones_own(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DITHER_TOKEN", running.token("finder", quota=9))
    for words in (["bounds", "clinic", "visits", "waited"], ["limits", "clinic"]):
        typed = CliRunner().invoke(app, [*words, "--epsilon", "1", "--server", running.url], catch_exceptions=False)
        assert typed.exit_code == 0, typed.output


def test_what_was_answered_is_fetched_and_proved_elsewhere(
    running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Card, history, answer, receipt and key, typed by somebody without the folder."""
    monkeypatch.setenv("DITHER_TOKEN", running.token("fetching"))
    monkeypatch.setenv("DITHER_SERVER", running.url)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def typed(*words: str) -> str:
        return CliRunner().invoke(app, list(words), catch_exceptions=False).stdout

    typed("sql", "clinic", COUNT, "--epsilon", "1/4", "--key", "mine")
    assert json.loads(typed("card", "clinic", "--json"))["basic"]["name"] == "clinic"
    (act,) = json.loads(typed("datasets", "history", "clinic", "--json"))
    assert (act["who"], act["price"]) == ("fetching", {"kind": "pure", "epsilon": "1/4"})
    assert "epsilon = 0.25" in typed("datasets", "history", "clinic")
    assert "not charged" in typed("answer", "mine", "--dataset", "clinic")
    typed("answer", "mine", "--dataset", "clinic", "-o", str(tmp_path / "again.csv"))
    assert (tmp_path / "again.csv").read_text().startswith('"ward",')
    with pytest.raises(InvalidParameter, match="dataset is required"):
        typed("answer", "mine")
    typed("receipt", "show", "mine", "--dataset", "clinic", "-o", str(tmp_path / "receipt.json"))
    typed("receipt", "key", "-o", str(tmp_path / "curator.pub"))
    monkeypatch.delenv("DITHER_SERVER")
    proved = typed("receipt", "verify", str(tmp_path / "receipt.json"), "--key", str(tmp_path / "curator.pub"))
    assert "epsilon = 0.25 was debited to fetching" in proved


def test_the_list_of_people_says_what_one_release_may_lose(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    running.token("bounded", most=PureDP("1/5"))
    listed = CliRunner().invoke(app, ["people", "list", "--home", str(running.curator.folder)], catch_exceptions=False)
    assert "(at most epsilon = 0.2 a release)" in listed.stdout


def test_every_verb_of_a_session_is_on_the_wire_or_named_as_not(session: RemoteSession) -> None:
    from dither.curator.remote_release import quoted_verbs, released_verbs

    verbs = {one.name for one in verbs_of(Offers)}
    groups = {one.name for kind in (Graph, Places) for one in verbs_of(kind)}
    assert verbs | groups == set(quoted_verbs()) == set(REGISTRY)
    assert set(quoted_verbs()) - set(released_verbs()) == {"stream", "conversation", "parts"}
    assert all(inspect.isfunction(getattr(Session, verb)) for verb in verbs - {"method"})


def test_ranges_that_are_found_first_are_free_the_second_time_too(running: Running) -> None:
    session = running.connect("ranges").session("clinic")
    text = "SELECT SUM(CLAMP(waited, AUTO)) AS waited FROM visits"
    assert session.sql(text, epsilon=1).to_json() == session.sql(text, epsilon=1).to_json()
    assert session.balance().spent <= PureDP(1)
    assert session.sql(text, epsilon=1, key="fresh").receipt
    assert not session.balance().spent <= PureDP(1)


@pytest.mark.parametrize("key", ["\u043a\u043b\u044e\u0447", '"k"', "k", "a b", '"'])
def test_a_key_is_the_same_here_and_elsewhere(running: Running, key: str) -> None:
    session = running.connect("named", quota=100).session("clinic")
    found = session.sql(COUNT, epsilon=1, key=key)
    assert running.curator.session("clinic", analyst="named").sql(COUNT, epsilon=1, key=key).receipt == found.receipt


@pytest.mark.parametrize("key", ["", " k", "a\nb", "k" * 201, 5])
def test_a_key_that_is_refused_here_is_refused_elsewhere(running: Running, key: Any) -> None:
    session = running.connect("unnamed").session("clinic")
    local = running.curator.session("clinic", analyst="unnamed")
    told = []
    for one in (session, local):
        with pytest.raises(InvalidParameter) as refused:
            one.sql(COUNT, epsilon=1, key=key)
        told.append(str(refused.value))
    assert told[0] == told[1]


def test_a_session_elsewhere_is_shown_in_a_notebook(session: RemoteSession) -> None:
    assert "ward" in session._repr_html_()


def test_a_team_shares_what_nobody_has_named_and_nothing_else(running: Running) -> None:
    desk = Desk(running.curator, shares_answers=True)
    one, other = (running.people.authenticate(running.token(name)) for name in ("teammate one", "teammate two"))
    assert one is not None
    assert other is not None
    words = {"text": COUNT, "epsilon": 1}
    shared = desk.release(one, Wanted("clinic", "sql", words, None))
    assert desk.looked_up(other, Wanted("clinic", "sql", words, None))[1] == shared
    assert desk.answer(other, "clinic", str(shared.entry)) == shared
    own = desk.release(one, Wanted("clinic", "sql", words, "a project of mine"))
    for name in (str(own.entry), "a project of mine", f"{own.ledger}:{own.entry}:{own.hash}"):
        assert desk.answer(one, "clinic", name) == own
        with pytest.raises(NotFound):
            desk.answer(other, "clinic", name)
    desk.close()


def test_what_is_usual_holds_for_verbs_that_name_a_method(running: Running) -> None:
    client = running.connect("usual", usual=PureDP("1/4"))
    body = {"verb": "histogram", "words": {"table": "visits", "columns": "ward", "method": "auto"}}
    client._transport.post("v1", "datasets", "clinic", "releases", body=body)
    assert client.session("clinic").balance().spent == PureDP("1/4")


def test_a_budget_that_is_too_small_is_said_as_here(running: Running) -> None:
    running.people.add("both", "analyst")
    running.people.grant("both", "hidden", PureDP(1))
    from dither.service.client import connect

    session = connect(running.url, running.people.new_token("both")).session("hidden")
    with pytest.raises(BudgetExceeded):
        session.sql(COUNT, epsilon=2)


def test_people_share_opened_tables_and_plans_and_nothing_else(running: Running) -> None:
    desk = Desk(running.curator)
    bearers = [running.people.authenticate(running.token(f"sharing {number}", quota=2)) for number in range(2)]
    sessions = [desk._session(bearer, "clinic") for bearer in bearers if bearer is not None]
    assert not sessions[0]._tables  # a price is told with the rows away
    wanted = [Wanted("clinic", "sql", {"text": COUNT, "epsilon": 1}, "shared") for _ in bearers]
    given = [desk.release(bearer, one) for bearer, one in zip(bearers, wanted, strict=True) if bearer is not None]
    assert sessions[0]._tables is sessions[1]._tables
    assert [one.account.analyst for one in given] == ["sharing 0", "sharing 1"]
    assert given[0].entry != given[1].entry
    for number in range(2):
        assert str(running.curator.ledger.balance("clinic", f"sharing {number}").spent) == "epsilon = 1"
    desk.close()


def test_the_least_loss_for_an_error_is_told_elsewhere_as_here(running: Running, session: RemoteSession) -> None:
    local = running.curator.session("clinic", analyst="rich")
    query = session.table("visits").count().build(session.dataset)
    for asked, column in ((COUNT, "visits"), (query, query.aggregates[0].name)):
        body = {"words": write_words({"query": asked, "column": column, "error": 50}, session.dataset)}
        told = session._transport.post("v1", "datasets", "clinic", "losses", body=body).json()
        assert told == {"loss": local.loss_for_error(COUNT if asked is COUNT else query, column, 50).to_dict()}
    for words in (
        {"query": COUNT, "column": "visits"},
        {"query": COUNT, "column": "nothing", "error": 50},
        {"query": COUNT, "column": "visits", "error": {"number": "0"}},
        {"query": COUNT, "column": "visits", "error": 50, "colour": "red"},
        {"query": {"map": []}, "column": "visits", "error": 50},
    ):
        with pytest.raises(InvalidParameter):
            session._transport.post("v1", "datasets", "clinic", "losses", body={"words": words})


FIT: dict[str, Any] = {"table": "visits", "target": "ward", "features": ["waited"]}


def estimator(**parameters: Any) -> dict[str, Any]:
    return {"estimator": {"estimator": "LogisticRegression", "parameters": parameters}}


def test_a_model_is_quoted_as_a_curve_and_a_mechanism_is_not(session: RemoteSession) -> None:
    pytest.importorskip("sklearn")
    losses = [PureDP("1/10"), ApproxDP("1/5", "1e-6"), ZCDP("1/20")]
    body: dict[str, Any] = {"verb": "fit", "words": FIT | estimator(), "losses": [one.to_dict() for one in losses]}
    place = ("v1", "datasets", "clinic", "quotes")
    curve = session._transport.post(*place, body=body).json()["quotes"]
    for loss, quote in zip(losses, curve, strict=True):
        one = {"verb": "fit", "words": FIT | estimator(loss={"loss": loss.to_dict()})}
        assert session._transport.post(*place, body=one).json()["quote"] == quote
    with pytest.raises(InvalidParameter, match="where 'words' states a loss"):
        session._transport.post(*place, body=body | {"words": FIT | estimator(epsilon=1)})
    with pytest.raises(InvalidParameter, match="an estimator"):
        session._transport.post(*place, body=body | {"words": FIT | {"estimator": {"estimator": "x"}}})
    cells = cells_of(session.dataset, "visits", "ward")
    method = {"method": Geometric(shape=cells.shape, scale=cells.sensitivity.l1), "source": cells}
    with pytest.raises(InvalidParameter, match="the parameters of a mechanism determine its loss"):
        session._transport.post(*place, body=body | {"verb": "method", "words": write_words(method, session.dataset)})


def test_what_is_usual_holds_for_models_and_yields_to_what_a_text_states(running: Running) -> None:
    pytest.importorskip("sklearn")
    client = running.connect("learner", usual=PureDP("1/4"), most=PureDP("1/3"))
    place, session = ("v1", "datasets", "clinic", "releases"), client.session("clinic")
    client._transport.post(*place, body={"verb": "fit", "words": FIT | estimator()})
    assert session.balance().spent.pure == pytest.approx(Fraction(1, 4))
    with pytest.raises(InvalidParameter, match="for one release"):
        client._transport.post(*place, body={"verb": "fit", "words": FIT | estimator(epsilon=1)})
    stating = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.125) COUNT(*) AS n FROM visits"
    reply = client._transport.post(*place, body={"verb": "sql", "words": {"text": stating}})
    assert running.service.desk.curator.answer(reply.headers["dither-entry"]).receipt.loss.pure == Fraction(1, 8)
