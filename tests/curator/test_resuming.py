"""A release that is killed between draw and store: the same noise on the same values, or none at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import dither
from dither.curator import access, hour_secrets, resuming
from dither.curator.access import Run, curator_of, receipt_of, request_of
from dither.curator.folder import Curator
from dither.curator.hour_secrets import HourSecrets
from dither.curator.ledger import accept_restored
from dither.curator.session import Session
from dither.curator.timing_gate import held_back
from dither.data.engines.duckdb import DuckDBEngine
from dither.errors import DitherError, LedgerBehindAnchor, LedgerCorrupted, LedgerUnavailable, ReleaseFailed
from dither.lift.offer import Offer
from dither.noise import derived_words
from dither.noise.derived_words import DerivedWords
from dither.privacy import ApproxDP
from dither.publish.workloads import Workload
from tests.curator.conftest import ROWS, SCHEMA

BUDGET = ApproxDP(20, "1/1000")
COUNT = "SELECT ward, COUNT(*) AS n, AVG(waited) AS mean FROM visits GROUP BY ward"
OFFERS: dict[str, Callable[[Session], Offer[Any]]] = {
    "sql": lambda session: session.offer.sql(COUNT, epsilon=1, key="k"),
    "discovered": lambda session: session.offer.sql(
        "SELECT note, COUNT(*) AS n FROM visits GROUP BY note", epsilon=1, delta="1e-6", key="k"
    ),
    "quantiles": lambda session: session.offer.sql("SELECT MEDIAN(waited) AS m FROM visits", epsilon=1, key="k"),
    "ask": lambda session: session.offer.ask(session.table("visits").count(), epsilon=1, key="k"),
    "histogram": lambda session: session.offer.histogram("visits", "waited", bins=8, epsilon=1, key="k"),
    "workload": lambda session: session.offer.workload("visits", "waited", Workload.prefixes(8), 8, epsilon=1, key="k"),
    "marginals": lambda session: session.offer.marginals(
        "visits", [["ward"], ["ward", "waited"]], {"waited": 4}, epsilon=1, key="k"
    ),
}


class Killed(BaseException):
    """Ends a release as a signal would, in a process that lives."""


@contextmanager
def killed(session: Session) -> Iterator[list[bytes]]:
    """End releases of a session just before their answers are stored; gives the answers that nobody got."""
    ledger, lost = curator_of(session).ledger, list[bytes]()

    def die(held: object, answer: bytes, **_: object) -> None:
        lost.append(answer)
        raise Killed

    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        patch.setattr(ledger, "complete", die)
        yield lost
    assert lost


def kinds(session: Session) -> list[str]:
    return [entry.kind for entry in curator_of(session).ledger.entries("clinic")]


def proofs(session: Session) -> list[str]:
    entries = curator_of(session).ledger.entries("clinic")
    return [entry.record.get("witness", "") for entry in entries if entry.kind == "draw"]


@pytest.fixture
def curator(folder: Path) -> Iterator[Curator]:
    made = Curator.create(folder / "home", anchors=folder / "anchors")
    made.add(folder / "clinic.yaml", budget=BUDGET)
    yield made
    made.close()


@pytest.fixture
def asked(session: Session) -> Offer[Any]:
    return OFFERS["sql"](session)


@pytest.mark.parametrize("verb", OFFERS)
def test_what_was_killed_gives_the_answer_that_it_had(session: Session, verb: str) -> None:
    offer = OFFERS[verb](session)
    with killed(session) as lost:
        receipt_of(session, offer)
    receipt = receipt_of(session, OFFERS[verb](session))
    assert [receipt.answer] == lost
    assert session.balance().releases == 1
    assert kinds(session)[-4:] == ["reserve", "draw", "renew", "answer"]
    assert curator_of(session).ledger.verify().is_intact


def test_a_process_that_is_killed_is_resumed_by_another(folder: Path, curator: Curator) -> None:
    """With SIGKILL, at the moment at which the answer is on its way into the ledger."""
    curator.close()
    child = os.fork()
    if not child:
        try:
            with Curator.open(folder / "home", anchors=folder / "anchors") as here:
                here.ledger._reach = lambda step: (  # type: ignore[attr-defined]
                    os.kill(os.getpid(), signal.SIGKILL) if step == "complete: written" else None
                )
                here.ledger._is_watched = True  # type: ignore[attr-defined]
                here.session("clinic", analyst="ana").sql(COUNT, epsilon=1, key="k")
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    with Curator.open(folder / "home", anchors=folder / "anchors") as again:
        session = again.session("clinic", analyst="ana")
        answer = session.sql(COUNT, epsilon=1, key="k")
        assert session.sql(COUNT, epsilon=1, key="k").to_stored() == answer.to_stored()
        assert kinds(session)[1:] == ["reserve", "draw", "renew", "answer"]
        assert again.ledger.verify().is_intact


def test_there_are_three_attempts_in_all(session: Session, asked: Offer[Any]) -> None:
    answers = set()
    for _ in range(3):
        with killed(session) as lost:
            receipt_of(session, asked)
        answers.update(lost)
    assert len(answers) == 1
    for _ in range(2):
        with pytest.raises(ReleaseFailed):
            receipt_of(session, asked)
    assert kinds(session)[1:] == ["reserve", "draw", "renew", "renew", "seal"]
    assert curator_of(session).ledger.verify().is_intact


def test_an_exception_after_the_draw_seals_at_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise ValueError("after the draw")

    offer = OFFERS["histogram"](session)
    object.__setattr__(offer, "present", fail)
    with pytest.raises(ReleaseFailed):
        receipt_of(session, offer)
    assert kinds(session)[1:] == ["reserve", "draw", "seal"]
    with pytest.raises(ReleaseFailed):
        receipt_of(session, OFFERS["histogram"](session))


def test_an_engine_that_fails_before_the_draw_is_drawn_again_leaves_the_attempts(
    session: Session, asked: Offer[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed(session) as lost:
        receipt_of(session, asked)

    def fail(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(session._tables[0], "aggregate", fail)
        with pytest.raises(DitherError, match="the query engine failed") as caught:
            receipt_of(session, asked)
        assert "1 attempt is left" in caught.value.__notes__[0]
    assert [receipt_of(session, asked).answer] == lost


def test_a_ledger_that_could_not_be_reached_is_no_failure_of_the_release(
    session: Session, asked: Offer[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = []

    def refuse(held: object, answer: bytes, **_: object) -> None:
        lost.append(answer)
        raise LedgerUnavailable("here", "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(curator_of(session).ledger, "complete", refuse)
        with pytest.raises(LedgerUnavailable):
            receipt_of(session, asked)
    assert receipt_of(session, asked).answer == lost[0] == lost[1]


# Another context.


def sealed(session: Session) -> None:
    with pytest.raises(ReleaseFailed):
        receipt_of(session, OFFERS["sql"](session))
    assert kinds(session)[-1] == "seal"
    assert curator_of(session).ledger.verify().is_intact


def test_other_rows_are_not_drawn_for(folder: Path, curator: Curator, session: Session, asked: Offer[Any]) -> None:
    with killed(session):
        receipt_of(session, asked)
    (folder / "visits.csv").write_text(ROWS + "999,skin,3,n1\n")
    curator.add(folder / "clinic.yaml", budget=BUDGET)
    sealed(curator.session("clinic", analyst="ana"))


def test_an_announced_edition_is_another_context(curator: Curator, session: Session, asked: Offer[Any]) -> None:
    with killed(session):
        receipt_of(session, asked)
    curator.ledger.begin_edition("clinic")
    sealed(session)


def test_bytes_that_were_changed_under_their_name_are_read_again(
    folder: Path, session: Session, asked: Offer[Any]
) -> None:
    """Size and times are as they were: only reading the file finds it out."""
    with killed(session):
        receipt_of(session, asked)
    [copy] = (folder / "home" / "data" / "clinic").glob("*.parquet")
    before = copy.stat()
    content = bytearray(copy.read_bytes())
    place = content.rindex(b"created_by") if b"created_by" in content else len(content) // 2
    content[place] ^= 1
    with open(copy, "r+b") as file:
        file.write(content)
    os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
    again = curator_of(session).session("clinic", analyst="ana")
    run = Run(request_of(again, asked), asked.loss, asked.mechanism, bytes)
    noise = resuming.ResumableNoise(curator_of(again), again.dataset, run)
    held = curator_of(again).ledger.reserve(again._account, "k", run.request.digest, asked.loss, resumes=True)
    assert held.proof
    assert noise.again(held) is None


@pytest.mark.parametrize("what", ["package", "machine", "mechanism", "engine", "declaration"])
def test_other_versions_and_declarations_are_another_context(
    session: Session, asked: Offer[Any], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    with killed(session):
        receipt_of(session, asked)
    if what == "package":
        monkeypatch.setattr(dither, "__version__", "99")
        resuming.computed_by.cache_clear()
    elif what == "machine":
        monkeypatch.setattr(resuming, "computed_by", lambda: ("another",))
    elif what == "declaration":
        # Bounds change without a new edition of the rows.
        monkeypatch.setattr(resuming, "_declared", lambda dataset: "other bounds")
    elif what == "engine":
        monkeypatch.setattr(resuming, "release_of", lambda dataset: "duckdb 99")
    else:
        monkeypatch.setattr(type(asked.mechanism), "version", 99)
    sealed(session)
    monkeypatch.undo()
    resuming.computed_by.cache_clear()


def test_without_its_secret_nothing_resumes(folder: Path, session: Session, asked: Offer[Any]) -> None:
    with killed(session):
        receipt_of(session, asked)
    for path in (folder / "anchors").glob("*.secret"):
        path.unlink()
    sealed(session)


# What never resumes.


def test_frames_do_not_resume(curator: Curator) -> None:
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"patient": [1, 2], "ward": ["skin", "skin"], "waited": [1.0, 2.0], "note": ["a", "b"]})
    session = curator.session("clinic", analyst="ana", frames={"visits": rows})
    with killed(session):
        receipt_of(session, OFFERS["sql"](session))
    assert proofs(session) == [""]
    sealed(session)


def test_files_in_place_do_not_resume(folder: Path, curator: Curator) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"patient": [1, 2], "ward": ["skin", "skin"], "waited": [1.0, 2.0], "note": ["a", "b"]}
    parquet.write_table(pyarrow.table(columns), folder / "there.parquet")
    text = SCHEMA.replace("visits.csv", "there.parquet").replace("dataset: clinic", "dataset: other")
    (folder / "other.yaml").write_text(text)
    curator.add(folder / "other.yaml", budget=BUDGET, in_place=True)
    session = curator.session("other", analyst="ana")
    with killed(session):
        receipt_of(session, OFFERS["sql"](session))
    with pytest.raises(ReleaseFailed):
        receipt_of(session, OFFERS["sql"](session))


def test_what_is_not_listed_does_not_resume(session: Session) -> None:
    offer = session.offer.synthesize("visits", ["ward"], epsilon=1, key="k")
    with killed(session):
        receipt_of(session, offer)
    assert proofs(session) == [""]
    with pytest.raises(ReleaseFailed):
        receipt_of(session, session.offer.synthesize("visits", ["ward"], epsilon=1, key="k"))


def test_under_strict_times_nothing_resumes(session: Session, asked: Offer[Any]) -> None:
    with held_back(None, draws_first=True), killed(session):
        receipt_of(session, asked)
    assert proofs(session) == [""]
    sealed(session)


def test_what_was_drawn_at_other_times_does_not_resume_under_strict_ones(session: Session, asked: Offer[Any]) -> None:
    with killed(session):
        receipt_of(session, asked)
    with held_back(None, draws_first=True), pytest.raises(ReleaseFailed):
        receipt_of(session, asked)


def test_a_release_that_draws_from_elsewhere_does_not_resume(
    session: Session, asked: Offer[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word of the system's generator after the first derived one: it could not be drawn again."""
    real = access.perform_derived

    def more(*given: Any) -> Any:
        found = real(*given)
        dither.noise.bernoulli("1/2", 1)
        return found

    monkeypatch.setattr(access, "perform_derived", more)
    with pytest.raises(ReleaseFailed):
        receipt_of(session, asked)
    assert kinds(session)[-2:] == ["draw", "seal"]


# Copies.


def test_two_copies_of_everything_give_one_answer(folder: Path, curator: Curator, session: Session) -> None:
    with killed(session) as lost:
        receipt_of(session, OFFERS["discovered"](session))
    session.close()
    curator.close()
    for number in range(2):
        for name in ("home", "anchors"):
            shutil.copytree(folder / name, folder / f"copy {number}" / name, copy_function=shutil.copy2)
    answers = set(lost)
    for number in range(2):
        place = folder / f"copy {number}"
        with (
            Curator.open(place / "home", anchors=place / "anchors") as copied,
            copied.session("clinic", analyst="ana") as again,
        ):
            answers.add(receipt_of(again, OFFERS["discovered"](again)).answer)
    assert len(answers) == 1


def test_a_copy_without_its_anchors_is_sealed(folder: Path, curator: Curator, session: Session) -> None:
    with killed(session):
        receipt_of(session, OFFERS["sql"](session))
    session.close()
    curator.close()
    with Curator.open(folder / "home", anchors=folder / "other anchors") as copied:
        sealed(copied.session("clinic", analyst="ana"))


def test_a_restored_ledger_resumes_nothing(folder: Path, curator: Curator, session: Session) -> None:
    with killed(session):
        receipt_of(session, OFFERS["sql"](session))
    source, ledger = sqlite3.connect(folder / "home" / "ledger.sqlite"), folder / "backup.sqlite"
    with sqlite3.connect(ledger) as copy:
        source.backup(copy)
    source.close()
    session.sql(COUNT, epsilon=1, key="later")
    session.close()
    curator.close()
    for path in (folder / "home").glob("ledger.sqlite*"):
        path.unlink()
    shutil.copy(ledger, folder / "home" / "ledger.sqlite")
    with pytest.raises(LedgerBehindAnchor):
        Curator.open(folder / "home", anchors=folder / "anchors").session("clinic")
    accept_restored(folder / "home" / "ledger.sqlite", anchors=folder / "anchors", reason="a test").close()
    with Curator.open(folder / "home", anchors=folder / "anchors") as again, pytest.raises(ReleaseFailed):
        again.session("clinic", analyst="ana").sql(COUNT, epsilon=1, key="k")


# One noise meets one value.


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> dict[bytes, set[bytes]]:
    """For which descriptions each key of words was used."""
    found: dict[bytes, set[bytes]] = {}
    real, current = DerivedWords.noise, list[bytes]()

    class Recorded(derived_words.KeyedTapes):
        def __init__(self, key: bytes) -> None:
            super().__init__(key)
            found.setdefault(key, set()).add(current[-1])

    def noise(self: DerivedWords, description: bytes) -> Any:
        current.append(description)
        return real(self, description)

    monkeypatch.setattr(derived_words, "KeyedTapes", Recorded)
    monkeypatch.setattr(DerivedWords, "noise", noise)
    return found


def test_no_word_of_noise_serves_two_values(
    folder: Path, curator: Curator, session: Session, used: dict[bytes, set[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every check is made to lie: other rows come under the same context, and the noise is other noise."""
    with killed(session) as lost:
        receipt_of(session, OFFERS["histogram"](session))
    first = set(used)
    files = resuming._imported(folder / "home", "clinic")
    (folder / "visits.csv").write_text(ROWS + "999,skin,3,n1\n")
    curator.add(folder / "clinic.yaml", budget=BUDGET)
    monkeypatch.setattr(resuming, "_imported", lambda *_, **__: files)
    monkeypatch.setattr(resuming.ResumableNoise, "_is_same_edition", lambda self, held: True)
    again = curator.session("clinic", analyst="ana")
    receipt = receipt_of(again, OFFERS["histogram"](again))
    assert receipt.answer != lost[0]
    assert first.isdisjoint(set(used) - first)
    assert len(used) > len(first)
    assert all(len(descriptions) == 1 for descriptions in used.values())


def test_equal_values_have_equal_words(session: Session, used: dict[bytes, set[bytes]]) -> None:
    """The twin of the test above: it would not notice a noise that is always other noise."""
    offer = OFFERS["histogram"](session)
    with killed(session):
        receipt_of(session, offer)
    first = set(used)
    receipt_of(session, OFFERS["histogram"](session))
    assert set(used) == first


def test_two_requests_share_no_words(session: Session, used: dict[bytes, set[bytes]]) -> None:
    """The same question under two keys, on the same rows: two debits, and two noises."""
    for key in ("one", "other"):
        session.histogram("visits", "waited", bins=8, epsilon=1, key=key)
    assert len(used) == 2


# What is where.


def test_nothing_from_which_noise_follows_is_in_the_ledger(folder: Path, session: Session, asked: Offer[Any]) -> None:
    receipt_of(session, asked)
    [secret] = (folder / "anchors").glob("*.secret")
    assert secret.stat().st_mode & 0o777 == 0o600
    content = secret.read_bytes()
    [proof] = proofs(session)
    run = Run(request_of(session, asked), asked.loss, asked.mechanism, bytes)
    context = resuming.ResumableNoise(curator_of(session), session.dataset, run)._context(
        resuming._imported(folder / "home", "clinic")
    )
    assert context is not None
    for path in (folder / "home").rglob("*"):
        held = path.read_bytes() if path.is_file() else b""
        for hidden in (content, context, hashlib.sha256(context).digest()):
            assert hidden not in held
            assert hidden.hex().encode() not in held
    assert len(proof.partition(":")[2]) == 64


def test_a_release_waits_for_the_disk_no_more_often_than_before(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[int] = []
    real = os.fsync
    session.sql(COUNT, epsilon="0.1", key="first")
    monkeypatch.setattr(hour_secrets.os, "fsync", lambda file: (forced.append(file), real(file)))
    for number in range(5):
        session.sql(COUNT, epsilon="0.1", key=f"k{number}")
    assert proofs(session)[-1]
    assert not forced


def test_a_proof_that_was_edited_is_found_out(folder: Path, session: Session, asked: Offer[Any]) -> None:
    with killed(session):
        receipt_of(session, asked)
    database = sqlite3.connect(folder / "home" / "ledger.sqlite")
    database.execute("DROP TRIGGER entries_stay")
    database.execute("UPDATE entries SET record = replace(record, 'witness', 'witnesz')")
    database.commit()
    database.close()
    with pytest.raises(DitherError) as caught:
        receipt_of(session, asked)
    assert isinstance(caught.value, LedgerCorrupted | ReleaseFailed)
    assert not curator_of(session).ledger.verify().is_intact


# Secrets of the hour.


class Clock:
    def __init__(self) -> None:
        self.hour = 500_000.5

    def __call__(self) -> float:
        return self.hour * 3600


def test_a_secret_is_on_the_disk_before_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[str] = []
    real = os.fsync

    def fsync(file: int) -> None:
        forced.append(os.readlink(f"/proc/self/fd/{file}"))
        real(file)

    monkeypatch.setattr(hour_secrets.os, "fsync", fsync)
    for _ in range(2):
        # A second process finds it made, and cannot know whether it is on the disk.
        forced.clear()
        found = HourSecrets(tmp_path / "anchors", "l", clock=Clock())
        hour, secret = found.current()
        assert forced[-2:] == [str(tmp_path / "anchors" / f"l-noise-{hour}.secret"), str(tmp_path / "anchors")]
        forced.clear()
        assert found.current() == (hour, secret)
        assert not forced
    assert [path.name for path in (tmp_path / "anchors").iterdir()] == [f"l-noise-{hour}.secret"]


def test_each_hour_has_its_secret_and_those_that_have_served_are_erased(tmp_path: Path) -> None:
    clock = Clock()
    secrets = HourSecrets(tmp_path, "l", clock=clock)
    first = secrets.current()
    clock.hour += 1
    second = secrets.current()
    assert first[1] != second[1]
    assert secrets.is_due
    secrets.erase(set)
    assert secrets.of(first[0]) == first[1], "its hour has just ended"
    clock.hour += 1
    secrets.erase(lambda: {first[0]})
    assert secrets.of(first[0]) == first[1], "a request needs it"
    link = tmp_path / "link"
    os.link(tmp_path / f"l-noise-{first[0]}.secret", link)
    secrets.erase(set)
    assert secrets.of(first[0]) is None
    assert link.read_bytes() == bytes(32), "it is written over, and not only without a name"
    assert secrets.of(second[0]) == second[1]
    clock.hour += 30
    secrets.erase(lambda: {second[0]})
    assert secrets.of(second[0]) is None, "a day is the longest"


def test_a_secret_that_was_erased_under_a_process_is_made_anew(tmp_path: Path) -> None:
    secrets = HourSecrets(tmp_path, "l", clock=Clock())
    hour, secret = secrets.current()
    (tmp_path / f"l-noise-{hour}.secret").unlink()
    assert secrets.current()[1] != secret


def test_what_a_process_left_that_died_while_it_made_a_secret_is_erased(tmp_path: Path) -> None:
    clock = Clock()
    secrets = HourSecrets(tmp_path, "l", clock=clock)
    draft = tmp_path / f"l-noise-{secrets.hour}.secret.draft"
    draft.write_bytes(b"x" * 32)
    for age, is_there in ((0, True), (7200, False)):
        os.utime(draft, (clock() - age, clock() - age))
        secrets.erase(set)
        assert draft.exists() is is_there


def test_a_draft_that_became_a_secret_takes_nothing_with_it(tmp_path: Path) -> None:
    """A process that is killed between the two names of a new secret leaves both."""
    clock = Clock()
    secrets = HourSecrets(tmp_path, "l", clock=clock)
    hour, secret = secrets.current()
    draft = tmp_path / f"l-noise-{hour}.secret.draft"
    os.link(tmp_path / f"l-noise-{hour}.secret", draft)
    os.utime(draft, (clock() - 7200, clock() - 7200))
    secrets.erase(lambda: {hour})
    assert not draft.exists()
    assert secrets.of(hour) == secret


def test_what_cannot_be_erased_keeps_no_secret(tmp_path: Path) -> None:
    clock = Clock()
    secrets = HourSecrets(tmp_path, "l", clock=clock)
    hours = []
    for _ in range(3):
        hours.append(secrets.current()[0])
        clock.hour += 1
    (tmp_path / "l-noise-1.secret").symlink_to(tmp_path / "nowhere")
    (tmp_path / "l-noise-2.secret").mkdir()
    clock.hour += 48
    secrets.erase(set)
    assert all(secrets.of(hour) is None for hour in hours)


def test_a_secret_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever put it there knows it, and with it the noise of that hour."""
    secrets = HourSecrets(tmp_path, "l", clock=Clock())
    hour, _ = secrets.current()
    monkeypatch.setattr(hour_secrets.os, "geteuid", lambda: 65534)
    assert secrets.of(hour) is None
    with pytest.raises(OSError, match="only this user"):
        HourSecrets(tmp_path, "l", clock=Clock()).current()


def test_a_ledger_that_is_away_for_a_moment_seals_nothing(
    session: Session, asked: Offer[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed(session) as lost:
        receipt_of(session, asked)

    def away(*_: Any, **__: Any) -> Any:
        raise LedgerUnavailable("there", "gone")

    with monkeypatch.context() as patch:
        patch.setattr(resuming.ResumableNoise, "_is_same_edition", away)
        with pytest.raises(LedgerUnavailable):
            receipt_of(session, asked)
    assert receipt_of(session, asked).answer == lost[0]


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33, bytes(32)])
def test_what_is_no_secret_is_not_used(tmp_path: Path, content: bytes) -> None:
    secrets = HourSecrets(tmp_path, "l", clock=Clock())
    path = tmp_path / f"l-noise-{secrets.hour}.secret"
    path.write_bytes(content)
    path.chmod(0o600)
    assert secrets.of(secrets.hour) is None
    with pytest.raises(OSError, match="not a secret"):
        secrets.current()


def test_a_secret_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    secrets = HourSecrets(tmp_path, "l", clock=Clock())
    hour, _ = secrets.current()
    (tmp_path / f"l-noise-{hour}.secret").chmod(0o640)
    assert secrets.of(hour) is None


def test_where_no_secret_can_be_kept_a_release_is_made_as_before(
    session: Session, asked: Offer[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: HourSecrets) -> tuple[int, bytes]:
        raise OSError

    monkeypatch.setattr(HourSecrets, "current", refuse)
    assert receipt_of(session, asked).answer
    assert proofs(session) == [""]


def test_secrets_go_when_the_requests_that_use_them_have_ended(
    folder: Path, session: Session, asked: Offer[Any]
) -> None:
    clock = Clock()
    curator_of(session)._secrets = HourSecrets(folder / "anchors", curator_of(session).ledger.id, clock=clock)
    with killed(session) as lost:
        receipt_of(session, asked)
    clock.hour += 3
    session.sql(COUNT, epsilon="0.1", key="later")
    assert len(list((folder / "anchors").glob("*.secret"))) == 2, "the first is still needed"
    assert receipt_of(session, asked).answer == lost[0]
    clock.hour += 3
    session.sql(COUNT, epsilon="0.1", key="last")
    assert len(list((folder / "anchors").glob("*.secret"))) == 1


# Threads, order, and requests of several releases.


def test_a_query_with_ranges_found_first_resumes_as_a_whole(session: Session) -> None:
    """Its ranges are stored by then; what was drawn for the query itself is drawn again."""
    text = "SELECT SUM(CLAMP(waited, AUTO)) AS total FROM visits"
    real, lost = curator_of(session).ledger.complete, list[bytes]()

    def die(held: Any, answer: bytes, **how: Any) -> Any:
        if held.key == "k":
            lost.append(answer)
            raise Killed
        return real(held, answer, **how)

    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        patch.setattr(curator_of(session).ledger, "complete", die)
        session.sql(text, epsilon=1, key="k")
    answer = session.sql(text, epsilon=1, key="k")
    assert answer.to_stored().encode() == lost[0]
    assert curator_of(session).ledger.verify().is_intact


def test_an_engine_with_other_threads_gives_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than one thread takes at once, in groups that are discovered: their order is the engine's own."""
    rows = "".join(f"{number},n{number * 7919 % 300}\n" for number in range(140_000))
    (tmp_path / "many.csv").write_text("patient,note\n" + rows)
    (tmp_path / "many.yaml").write_text(
        "dataset: clinic\nunit: row\ntables:\n  visits:\n    source: many.csv\n"
        "    columns: {patient: {kind: integer, bounds: [0, 140000]}, note: text}\n"
    )
    text, answers = "SELECT note, COUNT(*) AS n, SUM(patient) AS s FROM visits GROUP BY note", list[bytes]()
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        curator.add(tmp_path / "many.yaml", budget=BUDGET)
        for threads in (1, 4):
            monkeypatch.setattr(
                "dither.curator.session.connect", lambda one, n=threads, **_: DuckDBEngine(one, threads=n)
            )
            with curator.session("clinic") as session, killed(session) as lost:
                receipt_of(session, session.offer.sql(text, epsilon=1, delta="1e-6", key="k"))
            answers += lost
    assert len(answers) == 2
    assert answers[0] == answers[1]
