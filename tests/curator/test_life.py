"""The life of a data set in a curator's folder: made whole or not at all, renamed, re-added, retired, told again."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dither.curator import adding
from dither.curator.folder import Curator
from dither.curator.history import Answered
from dither.errors import (
    AnalystUnknown,
    DataSetRetired,
    DitherError,
    EarlierEdition,
    InvalidParameter,
    LedgerUnavailable,
    NotFound,
)
from dither.privacy import PureDP
from tests.curator.conftest import ROWS, SCHEMA

COUNT = "SELECT COUNT(*) AS n FROM visits"


def left_in(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


@pytest.mark.parametrize("ledger", ["mysql://nowhere/x", "missing/folder/ledger.sqlite", "postgresql://127.0.0.1:1/x"])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_that_is_refused_leaves_nothing(tmp_path: Path, ledger: str, is_there: bool) -> None:
    home = tmp_path / "deep" / "home"
    if is_there:
        home.mkdir(parents=True)
        (home / "mine.txt").write_text("kept")
    before = left_in(tmp_path)
    with pytest.raises(DitherError):
        Curator.create(home, ledger=ledger, anchors=tmp_path / "anchors")
    assert [path for path in left_in(tmp_path) if not path.startswith("anchors")] == before


def test_a_folder_that_is_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DitherError, match="cannot be made"):
        Curator.create(tmp_path / "file" / "home", anchors=tmp_path / "anchors")
    assert left_in(tmp_path) == ["file"]


def test_wherever_making_a_folder_fails_or_is_killed_it_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, is_over = 0, False
    while not is_over:
        for way in ("fails", "is killed"):
            place = tmp_path / f"{step} {way}"
            place.mkdir()
            with monkeypatch.context() as patch:
                was_stopped = stopped_at(patch, step, way)
                try:
                    Curator.create(place / "home", anchors=place / "anchors").close()
                    is_over = not was_stopped()
                except (KeyboardInterrupt, DitherError):
                    is_over = False
            if was_stopped() and way == "fails":
                assert left_in(place) in ([], ["anchors"])
            if was_stopped():
                Curator.create(place / "home", anchors=place / "anchors").close()
            with Curator.open(place / "home", anchors=place / "anchors") as curator:
                assert curator.datasets() == ()
                assert curator.ledger.verify().is_intact
        step += 1
    assert step > 3


def stopped_at(patch: pytest.MonkeyPatch, step: int, way: str) -> Callable[[], bool]:
    """Fail before a step of making a folder; one that is killed does not tidy up either."""
    done = [0]

    def before(real: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*given: Any, **named: Any) -> Any:
            done[0] += 1
            if done[0] == step + 1 or (way == "is killed" and done[0] > step):
                raise KeyboardInterrupt if way == "is killed" else OSError(28, "No space left on device")
            return real(*given, **named)

        return stepping

    patch.setattr(Path, "mkdir", before(Path.mkdir))
    patch.setattr(Path, "replace", before(Path.replace))
    patch.setattr(adding, "ledger_files", adding.ledger_files)
    if way == "is killed":
        patch.setattr(Path, "unlink", before(Path.unlink))
        patch.setattr(Path, "rmdir", before(Path.rmdir))
    return lambda: done[0] > step


def test_a_ledger_that_cannot_be_reached_is_said_so(tmp_path: Path) -> None:
    with pytest.raises((LedgerUnavailable, DitherError)):
        Curator.create(tmp_path / "home", ledger="missing/ledger.sqlite", anchors=tmp_path / "anchors")
    assert not (tmp_path / "home").exists()


def test_a_raised_budget_is_on_the_card_with_its_reason(curator: Curator) -> None:
    with pytest.raises(InvalidParameter, match="reason"):
        curator.raise_budget("clinic", epsilon=20, reason=" ")
    assert curator.raise_budget("clinic", epsilon=20, reason="the board agreed").budget == PureDP(20)
    told = curator.session("clinic").card()["privacy_loss"]["raised"]
    assert [(one["budget"], one["reason"]) for one in told] == [("epsilon = 20", "the board agreed")]
    with pytest.raises(InvalidParameter, match="never lowered"):
        curator.raise_budget("clinic", epsilon=5, reason="a slip")
    with pytest.raises(InvalidParameter, match="raise-budget clinic"):
        curator.add(curator.folder.parent / "clinic.yaml", budget=PureDP(10))


def test_quotas_let_nobody_else_spend(curator: Curator) -> None:
    assert curator.set_quota("clinic", "ana", epsilon=1).left == PureDP(1)
    with curator.session("clinic", analyst="eve") as eve, pytest.raises(AnalystUnknown):
        eve.sql(COUNT, epsilon=1)
    for analyst in ("ana", "curator"):
        with curator.session("clinic", analyst=analyst) as session:
            session.sql(COUNT, epsilon=1)
    assert curator.session("clinic").card()["deployment_model"]["access"].startswith("analysts with quotas")


def test_a_renamed_data_set_keeps_its_budget_answers_and_keys(curator: Curator, folder: Path) -> None:
    with curator.session("clinic", analyst="ana") as session:
        before = session.sql(COUNT, epsilon=1, key="k")
    curator.rename("clinic", "ward_visits", reason="clearer")
    with pytest.raises(NotFound, match="called ward_visits now"):
        curator.session("clinic")
    with curator.session("ward_visits", analyst="ana") as session:
        again = session.sql(COUNT, epsilon=1, key="k")
        assert (again, again.receipt) == (before, before.receipt)
        assert session.balance().spent == PureDP(1)
        assert "ward_visits" in repr(session)
        assert session.balance().dataset == session.card()["basic"]["name"] == "ward_visits"
    assert curator.ledger.verify().is_intact
    # The same rows again, under the new name only.
    (folder / "new.yaml").write_text(SCHEMA.replace("dataset: clinic", "dataset: ward_visits"))
    curator.add(folder / "new.yaml", budget=PureDP(10))
    assert curator.ledger.datasets() == ("clinic",)
    with pytest.raises(NotFound, match="called ward_visits now"):
        curator.add(folder / "clinic.yaml", budget=PureDP(10))
    (folder / "second.yaml").write_text(SCHEMA.replace("dataset: clinic", "dataset: third"))
    with pytest.raises(InvalidParameter, match="registered once"):
        curator.add(folder / "second.yaml", budget=PureDP(10))
    for bad in ("ward visits", "", "clinic;"):
        with pytest.raises(InvalidParameter):
            curator.rename("ward_visits", bad)


@pytest.mark.usefixtures("from_here")
def test_an_old_key_says_that_its_answer_is_about_rows_of_before(curator: Curator, folder: Path) -> None:
    with curator.session("clinic") as session:
        before = session.sql(COUNT, epsilon=1, key="k")
    curator.add(folder / "clinic.yaml", budget=PureDP(10))
    assert curator.standing("clinic").edition == 1, "the very same rows"
    (folder / "visits.csv").write_text(ROWS + "999,skin,5,n1\n")
    curator.add(folder / "clinic.yaml", budget=PureDP(10))
    assert curator.standing("clinic").edition == 2
    with curator.session("clinic") as session:
        with pytest.warns(EarlierEdition, match="before edition 2 of clinic"):
            assert session.sql(COUNT, epsilon=1, key="k") == before
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session.sql(COUNT, epsilon=1, key="l")
            session.sql(COUNT, epsilon=1, key="l")
    assert curator.answer("k").is_earlier
    assert not curator.answer("l").is_earlier
    assert [act.edition for act in curator.history("clinic") if act.price is not None] == [1, 2]


def test_a_retired_data_set_has_no_rows_and_keeps_its_books(curator: Curator, folder: Path) -> None:
    with curator.session("clinic") as session:
        before = session.sql(COUNT, epsilon=1, key="k")
    curator.retire("clinic", reason="the study is over")
    assert not list((curator.folder / "data" / "clinic").glob("*.parquet"))
    curator.retire("clinic", reason="again, where somebody died in between")
    for refused in (
        lambda: curator.session("clinic"),
        lambda: curator.add(folder / "clinic.yaml", budget=PureDP(10)),
        lambda: curator.raise_budget("clinic", epsilon=20, reason="more"),
    ):
        with pytest.raises(DataSetRetired):
            refused()
    assert curator.answer("k").value == before
    (folder / "second.yaml").write_text(SCHEMA.replace("dataset: clinic", "dataset: third"))
    with pytest.raises(InvalidParameter, match="registered once"):
        curator.add(folder / "second.yaml", budget=PureDP(10))
    assert curator.ledger.verify().is_intact


def test_history_tells_who_asked_what_at_which_price(curator: Curator) -> None:
    with curator.session("clinic", analyst="ana") as session:
        session.sql(COUNT, epsilon="0.5", key="k")
        with pytest.raises(DitherError):
            session.sql(COUNT, epsilon=100)
        session.histogram("visits", "ward", epsilon="0.25")
    curator.set_quota("clinic", "ana", epsilon=2)
    acts = curator.history("clinic")
    told = [(act.who, act.what, None if act.price is None else str(act.price), act.outcome) for act in acts]
    assert told[0] == ("curator", "registered with epsilon = 10", None, "")
    assert told[1] == ("ana", COUNT, "epsilon = 0.5", "answered")
    assert told[2][0] == "ana"
    assert told[2][2:] == ("epsilon = 0.25", "answered")
    assert [act.what for act in acts[3:]] == ["open to analysts with quotas only", "quota set for ana: epsilon = 2"]
    answers = [curator.answer(str(act.number)) for act in acts[1:3]]
    assert all(isinstance(one, Answered) for one in answers)
    assert answers[0].value.names == ("n",)
    with pytest.raises(NotFound, match="history"):
        curator.answer("nothing")
    assert os.listdir(curator.folder / "data" / "clinic")
