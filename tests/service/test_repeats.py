"""Repeats are read and not planned again, and whatever is decided anywhere ends what was remembered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.people import People
from dither.privacy import PureDP
from dither.service.desk import Desk
from dither.service.settings import Settings
from tests.curator.conftest import ROWS, SCHEMA
from tests.service.conftest import Running, serving
from tests.service.test_door import ask, bearer

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
BODY: dict[str, Any] = {"verb": "sql", "words": {"text": COUNT, "epsilon": {"number": "1/10"}}}
PATH = "/v1/datasets/clinic/releases"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        curator.add(tmp_path / "clinic.yaml", budget=PureDP(1000))
        yield from serving(curator, Settings(port=0, timing="off", requests_per_second=10_000))


@pytest.fixture
def other(served: Running) -> Iterator[Curator]:
    """The same books, opened by somebody else: what another process decides."""
    with Curator.open(served.curator.folder, anchors=served.curator.anchors) as curator:
        yield curator


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who went the whole way."""
    found: list[str] = []
    whole = Desk.looked_up

    def counted(desk: Desk, who: Any, wanted: Any) -> Any:
        found.append(who.person.name)
        return whole(desk, who, wanted)

    monkeypatch.setattr(Desk, "looked_up", counted)
    return found


def repeated(served: Running, token: str, body: dict[str, Any] = BODY) -> tuple[int, Any, bytes]:
    """Ask until the answer is remembered: it is drawn, found, and then known."""
    for _ in range(2):
        ask(served, "POST", PATH, body, bearer(token))
    return ask(served, "POST", PATH, body, bearer(token))


def test_a_repeat_is_one_read_with_the_headers_and_the_line_of_any_answer(
    served: Running, looked_up: list[str]
) -> None:
    token = served.token("ana")
    first = ask(served, "POST", PATH, BODY, bearer(token))
    second = ask(served, "POST", PATH, BODY, bearer(token))
    went, before = len(looked_up), list(served.curator.ledger.entries())
    third = ask(served, "POST", PATH, BODY, bearer(token))
    assert len(looked_up) == went
    assert first[2] == second[2] == third[2]
    ours = [
        {name: value for name, value in one[1].items() if name not in ("x-request-id", "date")}
        for one in (second, third)
    ]
    assert ours[0] == ours[1]
    assert list(served.curator.ledger.entries()) == before
    lines = [line.split('"status"')[1].split('"seconds"')[0] for line in served.log.getvalue().splitlines()[-2:]]
    assert lines[0] == lines[1]
    assert '"digest"' in lines[1]


def test_other_bytes_keys_forms_and_people_are_not_that_repeat(served: Running, looked_up: list[str]) -> None:
    token, stranger = served.token("ana"), served.token("ben")
    repeated(served, token)
    went = len(looked_up)
    asked = (
        (BODY | {"words": BODY["words"] | {"confidence": {"number": "9/10"}}}, {}, token),
        (BODY, {"Idempotency-Key": "mine"}, token),
        (BODY, {"Accept": "text/csv"}, token),
        (BODY, {}, stranger),
    )
    for body, headers, whose in asked:
        assert ask(served, "POST", PATH, body, bearer(whose) | headers)[0] == 200
    assert len(looked_up) == went + len(asked)


@pytest.mark.parametrize(
    ("decide", "status"),
    [
        (lambda people: people.revoke_token(people.tokens()[0].id), 401),
        (lambda people: people.remove("ana"), 401),
        (lambda people: people.add("ana", "auditor"), 403),
        (lambda people: people.withdraw("ana", "clinic"), 404),
        (lambda people: people.grant("ana", "clinic", PureDP(5), most=PureDP("1/100")), 400),
    ],
)
def test_what_another_process_decides_holds_at_once(served: Running, other: Curator, decide: Any, status: int) -> None:
    token = served.token("ana")
    assert repeated(served, token)[0] == 200
    decide(People(other))
    assert ask(served, "POST", PATH, BODY, bearer(token))[0] == status


def test_other_rows_are_another_question(served: Running, other: Curator, tmp_path: Path) -> None:
    token = served.token("ana")
    _, _, before = repeated(served, token)
    (tmp_path / "visits.csv").write_text(ROWS.replace("heart", "skin"))
    other.add(tmp_path / "clinic.yaml", budget=PureDP(1000))
    assert other.standing("clinic").edition == 2
    assert repeated(served, token)[2] != before
    assert served.curator.ledger.balance("clinic", "ana").releases == 2


def test_a_token_is_looked_up_anew_on_another_day_and_ends_when_it_ends(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, admissions = served.token("ana"), served.service.desk.admissions
    assert [admissions.admitted(token) is None for _ in range(2)] == [False, False]
    found = admissions.known(token)
    assert found is not None
    for later in (found.holds_until, found.holds_until.replace(year=found.holds_until.year - 1)):
        monkeypatch.setattr(admissions, "_clock", lambda later=later: later)
        assert admissions.known(token) is None
        monkeypatch.undo()
        assert admissions.admitted(token) is not None
        assert admissions.known(token) is not None


def test_an_answer_that_was_edited_is_not_sent(served: Running) -> None:
    import sqlite3

    token = served.token("ana")
    repeated(served, token)
    plain = sqlite3.connect(served.curator.folder / "ledger.sqlite")
    plain.execute("DROP TRIGGER answers_stay")
    plain.execute("UPDATE requests SET answer = ?", (b'{"forged": true}',))
    plain.commit()
    plain.close()
    status, _, content = ask(served, "POST", PATH, BODY, bearer(token))
    assert status >= 500
    assert b"forged" not in content
