"""Decisions over HTTP, what everybody may see, the forms of an answer, and what a quote knows."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from dither.curator.ledger.terms import Allowance
from dither.curator.receipts import read_receipt, verify_receipt, verify_statement
from dither.errors import (
    AllowanceExceeded,
    AnalystUnknown,
    BudgetExceeded,
    DataSetNotOpen,
    InvalidParameter,
    LossNotStated,
)
from dither.privacy import PureDP
from dither.service.forms import wanted_form
from dither.service.problems import Refused
from dither.service.transport import Transport
from tests.service.conftest import Running
from tests.service.test_door import ask, bearer

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
SET = "/v1/datasets/clinic"
PURE = {"kind": "pure", "epsilon": "1/10"}


def curator(running: Running, name: str = "boss") -> dict[str, Any]:
    return bearer(running.token(name, "curator", quota=None))


def said(running: Running, method: str, path: str, body: Any, who: dict[str, Any]) -> tuple[int, Any]:
    status, _, content = ask(running, method, path, body, who)
    return status, json.loads(content)


def test_a_grant_is_made_with_its_terms_and_ended(running: Running) -> None:
    boss = curator(running)
    running.people.add("granted", "analyst")
    body = {"person": "granted", "quota": {"kind": "pure", "epsilon": "1"}, "most": PURE}
    body |= {"allowance": {"each": "1/5", "days": 7}, "approval": {"above": PURE, "approvers": 2}}
    status, made = said(running, "POST", f"{SET}/grants", body, boss)
    assert (status, made["allowance"], made["approval"]["approvers"]) == (200, {"each": "1/5", "days": 7}, 2)
    _, listed = said(running, "GET", f"{SET}/grants", None, boss)
    assert made in listed["grants"]
    grant = next(one for one in running.people.grants("granted"))
    assert (grant.most, grant.allowance and grant.allowance.days) == (PureDP("1/10"), 7)
    assert said(running, "DELETE", f"{SET}/grants/granted", None, boss)[0] == 200
    assert said(running, "DELETE", f"{SET}/grants/granted", None, boss)[0] == 404
    with pytest.raises(AnalystUnknown):
        running.curator.session("clinic", analyst="granted").sql(COUNT, epsilon="0.1")


@pytest.mark.parametrize(
    "wrong",
    [
        {"person": 3},
        {"person": "nobody", "quota": PURE},
        {"person": "boss", "quota": PURE, "allowance": {"each": True, "days": 7}},
        {"person": "boss", "quota": PURE, "allowance": {"each": "1/10", "days": "7"}},
        {"person": "boss", "quota": PURE, "allowance": {"each": "x", "days": 7}},
        {"person": "boss", "quota": PURE, "approval": {"approvers": 9}},
        {"person": "boss", "quota": PURE, "approval": "each"},
        {"person": "boss", "quota": "1"},
        {"person": "boss", "quota": PURE, "more": 1},
    ],
)
def test_wrong_terms_are_refused(running: Running, wrong: dict[str, Any]) -> None:
    status, told = said(running, "POST", f"{SET}/grants", wrong, curator(running))
    assert status in (400, 404), told
    assert not running.people.grants("boss")


def test_an_allowance_is_told_with_the_moment_from_which_there_is_more(running: Running) -> None:
    session = running.connect("paced", allowance=Allowance.of("0.1", 7)).session("clinic")
    session.sql(COUNT, epsilon="0.1")
    with pytest.raises(AllowanceExceeded, match="more from 20") as early:
        session.sql(COUNT, epsilon="0.1", key="fresh")
    assert early.value.more_from is not None
    with pytest.raises(BudgetExceeded, match=r"epsilon = 0 is left; epsilon is short: nothing would fit$"):
        session.conversation("wards", "visits", ["ward"], epsilon="0.05")
    assert session.sql(COUNT, epsilon="0.1") is not None


def test_curators_agree_over_http_and_never_to_their_own(running: Running) -> None:
    boss = curator(running)
    body = {"person": "asker", "quota": PURE, "approval": {"above": None, "approvers": 1}}
    token = running.token("asker", "curator", quota=None)
    assert said(running, "POST", f"{SET}/grants", body, boss)[0] == 200
    client = Transport(running.url, token)
    words = {"verb": "sql", "words": {"text": COUNT, "epsilon": {"number": "1/10"}}}
    reply = client.post("v1", "datasets", "clinic", "releases", body=words, wait=30)
    assert (reply.status, reply.json()["state"]) == (202, "waiting for approval")
    number = reply.json()["question"]
    _, listed = said(running, "GET", "/v1/approvals", None, boss)
    [asked] = [one for one in listed["questions"] if one["number"] == number]
    assert (asked["analyst"], asked["what"], asked["state"]) == ("asker", COUNT, "waiting")
    path, agree = f"/v1/approvals/{number}", {"decision": "approve"}
    status, told = said(running, "POST", path, agree, bearer(token))
    assert (status, "another than the one who asks" in told["detail"]) == (400, True)
    # Nor do they free themselves of it, on the spot or by way of an end.
    without = {"person": "asker", "quota": PURE}
    status, told = said(running, "POST", f"{SET}/grants", without, bearer(token))
    assert (status, "a person other than the one who decides" in told["detail"]) == (400, True)
    assert said(running, "DELETE", f"{SET}/grants/asker", None, bearer(token))[0] == 200
    assert said(running, "POST", f"{SET}/grants", without, bearer(token))[0] == 400
    assert said(running, "POST", f"{SET}/grants", body, boss)[0] == 200
    assert said(running, "POST", path, {"decision": "perhaps"}, boss)[0] == 400
    assert said(running, "POST", "/v1/approvals/1", agree, boss)[0] == 404
    assert said(running, "POST", path, agree, boss)[1]["state"] == "approved"
    assert client.told(reply.headers["location"], wait=30).json()["state"] == "answered"
    assert said(running, "POST", path, {"decision": "decline"}, boss)[0] == 400


def test_a_paused_data_set_is_priced_and_answers_again_what_it_has(running: Running) -> None:
    boss = curator(running)
    session = running.connect("before").session("clinic")
    found = session.sql(COUNT, epsilon="0.1")
    assert said(running, "POST", f"{SET}/stage", {"stage": "paused", "reason": "a complaint"}, boss)[0] == 200
    try:
        with pytest.raises(DataSetNotOpen, match="paused"):
            session.sql(COUNT, epsilon="0.2")
        assert session.quote(COUNT, epsilon="0.2").loss == PureDP("0.2")
        assert session.sql(COUNT, epsilon="0.1").to_json() == found.to_json()
        assert said(running, "POST", f"{SET}/stage", {"stage": "draft"}, boss)[0] == 400
    finally:
        assert said(running, "POST", f"{SET}/stage", {"stage": "open"}, boss)[0] == 200
    assert session.sql(COUNT, epsilon="0.2") is not None
    assert said(running, "POST", "/v1/datasets/none/stage", {"stage": "open"}, boss)[0] == 404
    budget = {"budget": {"kind": "pure", "epsilon": "2"}, "reason": "agreed"}
    assert said(running, "POST", "/v1/datasets/hidden/budget", budget, boss)[0] == 200
    assert said(running, "POST", "/v1/datasets/hidden/budget", {**budget, "reason": " "}, boss)[0] == 400
    assert running.curator.ledger.verify().is_intact


def test_everybody_sees_what_is_published_and_nothing_else(running: Running) -> None:
    boss = curator(running)
    session = running.connect("author").session("clinic")
    found = session.sql(COUNT, epsilon="0.1")
    entry = int(found.receipt.split(":")[1])
    assert ask(running, "GET", f"/v1/published/{entry}", None, {})[0] == 404
    body = {"release": entry, "title": "Visits by ward"}
    status, shown = said(running, "POST", f"{SET}/published", body, boss)
    assert (status, shown["answer"], shown["by"]) == (200, entry, "boss")
    _, listed = said(running, "GET", "/v1/published", None, {})
    assert [one["title"] for one in listed["published"] if one["answer"] == entry] == ["Visits by ward"]
    status, _, content = ask(running, "GET", f"/v1/published/{entry}", None, {})
    assert (status, content.decode()) == (200, found.to_json())
    assert ask(running, "GET", f"/v1/published/{entry}.csv", None, {})[2].startswith(b'"ward","visits"')
    receipt = ask(running, "GET", f"/v1/published/{entry}/receipt", None, {})[2].decode()
    proved = verify_receipt(read_receipt(receipt), running.service.desk.receipts.public_key, content)
    assert (proved.entry, proved.loss, proved.dataset) == (entry, PureDP("0.1"), "clinic")
    assert (proved.budget, proved.spent is not None) == (running.curator.ledger.balance("clinic").budget, True)
    number = running.curator.state("clinic")
    stated = read_receipt(ask(running, "GET", f"/v1/published/{number}/receipt", None, {})[2].decode())
    sums = verify_statement(stated, running.service.desk.receipts.public_key)
    assert (sums.spent, sums.entry) == (running.curator.ledger.balance("clinic").spent, number)
    assert said(running, "GET", "/v1/published", None, {})[1]["published"][-1]["stated"] == number
    # Who asked, in which words and under which key is nobody's business.
    mine = running.service.desk.receipts.receipt(entry)
    secret = [json.loads(mine["debit"]["entry"])[name] for name in ("analyst", "key", "digest", "description")]
    assert {"author", COUNT} <= set(secret)
    for told in (receipt, content.decode(), json.dumps(listed)):
        assert not [one for one in secret if one in told]
    with pytest.raises(InvalidParameter, match="other bytes"):
        verify_receipt(read_receipt(receipt), running.service.desk.receipts.public_key, content + b" ")
    wrong = mine | {"receipt": 2}, {"receipt": 2, "published": mine["answer"], "checkpoint": mine["checkpoint"]}
    for one in (*wrong, json.loads(receipt) | {"receipt": 1}):
        with pytest.raises(InvalidParameter):
            verify_receipt(one, running.service.desk.receipts.public_key)
    assert said(running, "DELETE", f"{SET}/published/{entry}", None, boss)[0] == 200
    for path in (f"/v1/published/{entry}", f"/v1/published/{entry}/receipt", "/v1/published/x", "/v1/published/-1"):
        assert ask(running, "GET", path, None, {})[0] == 404
    assert session.sql(COUNT, epsilon="0.1").to_json() == found.to_json()


def test_everybody_is_told_how_a_budget_was_raised(running: Running) -> None:
    boss, held = curator(running), "/v1/datasets/hidden"
    elsewhere = running.connect("raised")
    running.people.grant("raised", "hidden", PureDP("1/5"))
    session = elsewhere.session("hidden")
    entry = int(session.sql(COUNT, epsilon="0.1").receipt.split(":")[1])
    before, earlier = running.curator.ledger.balance("hidden").budget, len(running.curator.books.raises("hidden"))
    larger = PureDP((before.pure or 0) + 1).to_dict()
    body = {"budget": larger, "reason": "a second study"}
    assert said(running, "POST", f"{held}/budget", body, boss)[0] == 200
    _, shown = said(running, "POST", f"{held}/published", {"release": entry}, boss)
    assert shown["raises"][-1].items() >= {"from": before.to_dict(), "to": larger}.items()
    assert (len(shown["raises"]), shown["raises"][-1]["reason"]) == (earlier + 1, "a second study (boss)")
    # The list tells the figures of now; the receipt proves those of the moment when it was published.
    session.sql(COUNT, epsilon="0.1", key="later")
    spent = running.curator.ledger.balance("hidden").spent.to_dict()
    [listed] = [
        one for one in said(running, "GET", "/v1/published", None, {})[1]["published"] if one["answer"] == entry
    ]
    assert (listed["budget"], listed["spent"], listed["raises"]) == (larger, spent, shown["raises"])
    assert shown["spent"] != spent
    receipt = ask(running, "GET", f"/v1/published/{entry}/receipt", None, {})[2].decode()
    proved = verify_receipt(read_receipt(receipt), running.service.desk.receipts.public_key)
    assert list(proved.raises) == shown["raises"]
    assert f"its budget was raised from {before} to" in str(proved)
    assert running.curator.ledger.verify().is_intact
    assert said(running, "DELETE", f"{held}/published/{entry}", None, boss)[0] == 200


def test_an_answer_has_four_forms_and_a_tag_for_each(running: Running) -> None:
    token = running.token("forms")
    client = Transport(running.url, token)
    words = {"verb": "sql", "words": {"text": COUNT, "epsilon": {"number": "1/10"}}}
    reply = client.post("v1", "datasets", "clinic", "releases", body=words)
    place = reply.headers["location"]
    who = bearer(token)
    kinds = {".json": "application/json", ".csv": "text/csv", ".arrow": "application/vnd.apache.arrow.stream"}
    kinds[".parquet"] = "application/vnd.apache.parquet"
    tags, contents = set(), {}
    for ending, kind in kinds.items():
        by_name = ask(running, "GET", place + ending, None, who)
        by_header = ask(running, "GET", place, None, {**who, "Accept": kind})
        assert by_name[0] == by_header[0] == 200
        assert by_name[1]["content-type"].startswith(kind)
        assert by_name[2] == by_header[2]
        tag = by_name[1]["etag"]
        assert ask(running, "GET", place + ending, None, {**who, "If-None-Match": tag})[0] == 304
        tags.add(tag)
        contents[ending] = by_name[2]
    assert len(tags) == 4
    assert contents[".json"] == reply.content
    assert ask(running, "GET", place, None, {**who, "Accept": "image/png"})[0] == 406
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'frames' is not installed")
    import pyarrow

    stream = pyarrow.ipc.open_stream(io.BytesIO(contents[".arrow"])).read_all()
    assert stream.equals(parquet.read_table(io.BytesIO(contents[".parquet"])))
    assert stream.column("ward").to_pylist() == ["heart", "skin"]


def test_a_form_that_no_answer_has_is_refused_before_it_is_paid_for(running: Running) -> None:
    token = running.token("picky")
    words = {"verb": "sql", "words": {"text": COUNT, "epsilon": {"number": "1/10"}}}
    assert ask(running, "POST", f"{SET}/releases", words, {**bearer(token), "Accept": "image/png"})[0] == 406
    assert running.curator.ledger.balance("clinic", "picky").releases == 0


@pytest.mark.parametrize(
    ("accept", "ending"),
    [
        ("*/*", ".json"),
        ("text/*", ".csv"),
        ("text/csv, application/json;q=0.9", ".csv"),
        ("application/json;q=0.1, application/vnd.apache.parquet;q=0.2", ".parquet"),
        ("image/png, */*;q=0.1", ".json"),
        ("application/json;q=0, text/csv", ".csv"),
    ],
)
def test_accept_names_the_form_that_is_liked_best(accept: str, ending: str) -> None:
    assert wanted_form(accept).ending == ending
    with pytest.raises(Refused):
        wanted_form("application/json;q=0")


def test_a_quote_names_the_answers_that_there_are_at_any_loss(running: Running) -> None:
    client = running.connect("thrifty")
    session, transport = client.session("clinic"), client._transport
    first, second = session.sql(COUNT, epsilon="0.1"), session.sql(COUNT, epsilon="0.3")
    session.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.1")
    third = session.sql(COUNT, epsilon="0.5", key="my own")
    words = {"text": COUNT}
    body = {"verb": "sql", "words": words, "losses": [PURE, {"kind": "pure", "epsilon": "1"}]}
    told = transport.post("v1", "datasets", "clinic", "quotes", body=body).json()
    assert [one["entry"] for one in told["stored"]] == [
        int(one.receipt.split(":")[1]) for one in (first, second, third)
    ]
    assert [one["loss"]["epsilon"] for one in told["stored"]] == ["1/10", "3/10", "1/2"]
    assert len(told["quotes"]) == 2
    one = {"verb": "sql", "words": {**words, "epsilon": {"number": "2"}}}
    assert len(transport.post("v1", "datasets", "clinic", "quotes", body=one).json()["stored"]) == 3
    other = running.connect("other thrifty")._transport
    assert other.post("v1", "datasets", "clinic", "quotes", body=one).json()["stored"] == []


def test_an_answer_under_a_key_of_before_is_found_again(running: Running) -> None:
    from dither.curator.remote_release import asked_of, former_key

    session = running.connect("old").session("clinic")
    local = running.curator.session("clinic", analyst="old")
    planned = asked_of(local, "sql", {"text": COUNT, "epsilon": {"real": "0.1"}})
    stored = planned.carry_out(former_key(planned.request, 1))
    assert session.sql(COUNT, epsilon=0.1).receipt.split(":")[1] == str(stored.entry)
    assert session.balance().releases == 1


def test_a_table_that_takes_long_to_plan_is_refused_at_once(running: Running) -> None:
    """By every verb that makes bins, before any are made."""
    session = running.connect("greedy").session("clinic")
    words: tuple[tuple[str, dict[str, Any]], ...] = (
        ("histogram", {"table": "visits", "columns": "waited", "bins": 10**12}),
        ("count", {"table": "visits", "columns": "waited", "bins": 2**24}),
        ("marginals", {"table": "visits", "sets": [["waited"]], "bins": {"map": [["waited", 2**24]]}}),
    )
    for verb, said in words:
        body = {"verb": verb, "words": said | {"epsilon": {"number": "1"}}}
        for path in ("quotes", "releases"):
            with pytest.raises(InvalidParameter, match="at most 262144 cells, the limit of this service"):
                session._transport.post("v1", "datasets", "clinic", path, body=body)


def test_figures_of_refusals_are_those_of_who_asks_over_http_as_well(running: Running) -> None:
    session = running.connect("bounded", quota=6, most=PureDP("0.5")).session("clinic")
    assert session.balance() == running.curator.ledger.balance("clinic", "bounded")
    with pytest.raises(
        LossNotStated, match=r"remaining budget: epsilon = 6, at most epsilon = 0\.5 for one release"
    ) as refused:
        session.sql(COUNT)
    assert refused.value.most == PureDP("0.5")
    body = {"verb": "histogram", "words": {"table": "visits", "columns": "ward"}}
    token = bearer(running.people.new_token("bounded"))
    _, _, content = ask(running, "POST", f"{SET}/releases", body, token)
    assert json.loads(content)["most"] == {"kind": "pure", "epsilon": "1/2"}
    quote = session.quote(session.offer.histogram("visits", "ward", epsilon="0.6"))
    assert not quote.fits
    running.people.grant("bounded", "clinic", PureDP(6), most=PureDP("0.5"), allowance=Allowance.of("0.1", 7))
    with pytest.raises(InvalidParameter, match=r"at most epsilon = 0\.5 .* at most epsilon = 0\.1 would fit"):
        session.sql(COUNT, epsilon=1)
