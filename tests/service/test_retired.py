"""A data set whose rows are gone: its books are told as before, and nothing is asked of it, in every process alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.people import Bearer, People
from dither.errors import DataSetRetired
from dither.privacy import PureDP
from dither.service.client import connect
from dither.service.desk import Desk, Wanted
from dither.service.long_lived_kinds import SERVED
from dither.service.settings import Settings
from tests.curator.conftest import ROWS, SCHEMA
from tests.service.conftest import serving

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
WORDS = {"text": COUNT, "epsilon": {"number": "1/10"}}
TALK = {"table": "visits", "columns": ["ward"], "epsilon": {"number": "1/10"}}
QUESTIONS = {"questions": ["ward = 'skin'"]}
CONVERSE = SERVED["conversation"].steps[0]


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as made:
        made.add(tmp_path / "clinic.yaml", budget=PureDP(10))
        People(made).add("ana", "analyst")
        People(made).grant("ana", "clinic", PureDP(5))
        yield made


def told(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except DataSetRetired as refusal:
        return str(refusal)


def looks(desk: Desk, ana: Bearer, entry: str) -> dict[str, Any]:
    """Return all that a desk tells about a data set, by what was asked."""
    return {
        "stored": told(lambda: desk.looked_up(ana, Wanted("clinic", "sql", WORDS, None)).stored),
        "named": told(lambda: desk.looked_up(ana, Wanted("clinic", "sql", WORDS, "mine")).stored),
        "answer": told(lambda: desk.answer(ana, "clinic", entry)),
        "receipt": told(lambda: desk.receipt(ana, "clinic", entry)),
        "releases": told(lambda: desk.releases(ana, "clinic", 0)),
        "balance": told(lambda: desk.balance(ana, "clinic")),
        "card": told(lambda: desk.card(ana, "clinic")),
        "dataset": told(lambda: desk.dataset(ana, "clinic")),
        "datasets": told(lambda: desk.datasets(ana)),
    }


def asks(desk: Desk, ana: Bearer) -> dict[str, Any]:
    """Return what a desk says to whoever asks for something new."""
    fresh, one = Wanted("clinic", "sql", WORDS, "fresh"), {"kind": "pure", "epsilon": "1"}
    opened: dict[str, Any] = {"name": "x", "words": TALK}
    return {
        "quote": told(lambda: desk.quote(ana, "clinic", {"verb": "sql", "words": WORDS})),
        "room": told(lambda: desk.room(ana, "clinic", {"loss": one})),
        "looked up": told(lambda: desk.looked_up(ana, fresh)),
        "release": told(lambda: desk.release(ana, fresh)),
        "conversations": told(lambda: desk.names_of(ana, "clinic", "conversation")),
        "conversation": told(lambda: desk.long_lived(ana, "clinic", "conversation", "talk", {})),
        "open_conversation": told(lambda: desk.open_long_lived(ana, "clinic", "conversation", opened)),
        "converse": told(lambda: desk.go_on(ana, "clinic", "conversation", CONVERSE, "talk", QUESTIONS)),
        "streams": told(lambda: desk.names_of(ana, "clinic", "stream")),
        "open_stream": told(
            lambda: desk.open_long_lived(ana, "clinic", "stream", {"name": "x", "words": {"query": COUNT}})
        ),
        "partitions": told(lambda: desk.names_of(ana, "clinic", "parts")),
        "open_parts": told(lambda: desk.open_long_lived(ana, "clinic", "parts", {"name": "x", "words": {}})),
    }


def test_every_process_tells_the_books_of_a_retired_data_set_and_asks_it_nothing(curator: Curator) -> None:
    people = People(curator)
    ana = people.authenticate(people.new_token("ana"))
    assert ana is not None
    with Curator.open(curator.folder, anchors=curator.anchors) as elsewhere:
        before, after = Desk(curator), Desk(elsewhere)
        stored = before.release(ana, Wanted("clinic", "sql", WORDS, None))
        named = before.release(ana, Wanted("clinic", "sql", WORDS, "mine"))
        before.open_long_lived(ana, "clinic", "conversation", {"name": "talk", "words": TALK})
        known = looks(before, ana, str(stored.entry))
        assert known["datasets"]["datasets"][0]["stage"] == known["dataset"]["stage"] == "open"
        elsewhere.retire("clinic", reason="the study is over")
        found = [looks(desk, ana, str(stored.entry)) for desk in (before, after)]
        assert found[0] == found[1]
        assert (found[0]["stored"], found[0]["named"], found[0]["answer"]) == (stored, named, stored)
        assert found[0]["releases"] == known["releases"]
        assert found[0]["balance"]["spent"] == known["balance"]["spent"]
        assert found[0]["card"]["basic"]["is_retired"]
        assert found[0]["datasets"]["datasets"][0]["stage"] == found[0]["dataset"]["stage"] == "retired"
        for desk in (before, after):
            assert set(asks(desk, ana).values()) == {str(DataSetRetired("clinic"))}
            # Nothing of the rows is left open.
            assert not any(session._tables for kept in desk._kept for session in kept.values())
            desk.close()


def test_a_stored_answer_is_sent_again_after_the_end_and_a_new_one_is_gone(curator: Curator) -> None:
    for served in serving(curator, Settings(port=0, timing="off", requests_per_second=10_000)):
        client = connect(served.url, served.people.new_token("ana"))
        session = client.session("clinic")
        found = session.sql(COUNT, epsilon="0.1")
        curator.retire("clinic", reason="the study is over")
        for _ in range(3):
            assert session.sql(COUNT, epsilon="0.1").to_json() == found.to_json()
        for ask, epsilon in ((session.sql, "0.2"), (session.quote, "0.1")):
            with pytest.raises(DataSetRetired):
                ask(COUNT, epsilon=epsilon)
        assert client.listed()[0]["stage"] == "retired"
        assert client.session("clinic").balance().releases == 1
