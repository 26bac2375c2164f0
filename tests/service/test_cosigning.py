"""A witness signs what it has seen; a key hands over to the next; what was changed, cut or forked is found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.curator.folder import Curator
from dither.curator.keys import SigningKey
from dither.curator.receipts import (
    FOLDER,
    Log,
    PublicKey,
    WitnessKey,
    begin_anew,
    cosigned,
    cosigned_at,
    read_checkpoint,
    read_receipt,
    receipt_text,
    successor,
    take_key,
    verify_receipt,
)
from dither.curator.receipts.succession import key_change
from dither.errors import DitherError, InvalidParameter
from dither.privacy import PureDP
from dither.service.client import KeyChanged
from dither.service.starting import in_use
from dither.service.witness import Cosigner, visit
from tests.service.conftest import Running
from tools import receipts
from tools.security.__main__ import PARTS

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_a_witness_signs_a_head_and_nobody_else_can(running: Running, home: Path) -> None:
    cosigner = Cosigner("observer", SigningKey(b"w" * 32))
    found = visit(running.url, home / "kept", cosigner, now=lambda: 1_800_000_000.9)
    key = Log(running.curator.ledger, running.curator.folder).public_key
    head = read_checkpoint(found.note, key)
    assert cosigned_at(found.note, head, cosigner.public) == 1_800_000_000
    assert WitnessKey.read(str(cosigner.public)) == cosigner.public
    other = WitnessKey("observer", SigningKey(b"v" * 32).public)
    for note, witness in (
        (found.note, other),
        (found.note, WitnessKey("another", cosigner.key.public)),
        (found.note.rsplit("\u2014", 1)[0], cosigner.public),
    ):
        with pytest.raises(InvalidParameter, match="cosigned by"):
            cosigned_at(note, head, witness)
    # A line is about one head: it does not pass for that of another.
    later = visit(running.url, home / "kept").note
    assert cosigned(later, head, "observer", cosigner.key, 1_800_000_000).endswith(found.note.rsplit("\n", 2)[1] + "\n")
    # What was cosigned is compared at the next visit like any other head.
    assert visit(running.url, home / "kept", cosigner).is_consistent


@pytest.mark.parametrize("bit", range(0, 8 * 60, 7))
def test_a_changed_cosignature_is_none(bit: int) -> None:
    tried = receipts.Tree([bytes([number]) * 32 for number in range(5)])
    key, witness = SigningKey(b"k" * 32), SigningKey(b"w" * 32)
    public = PublicKey(receipts.ORIGIN, key.public)
    note = tried.note(key)
    head = read_checkpoint(note, public)
    signed = cosigned(note, head, "observer", witness, 7)
    content = bytearray(signed.encode())
    place = 8 * (len(content) - 70) + bit
    content[place // 8] ^= 1 << place % 8
    with pytest.raises(InvalidParameter):
        cosigned_at(content.decode("utf-8", "replace"), head, WitnessKey("observer", witness.public))


def test_names_and_keys_of_witnesses_are_read_in_one_way() -> None:
    good = str(WitnessKey("observer", b"k" * 32))
    for text in ("", "observer", good[:-1], good.replace("observer", "other"), good.replace("+", " ")):
        with pytest.raises(InvalidParameter):
            WitnessKey.read(text)
    for name in ("", "a b", "a+b", "x" * 101, "a\n"):
        with pytest.raises(InvalidParameter):
            WitnessKey(name, b"k" * 32)


def test_a_key_hands_over_and_old_receipts_stay_true(running: Running, home: Path, tmp_path: Path) -> None:
    client = running.connect("handed")
    found = client.session("clinic").sql(COUNT, epsilon="0.1")
    number = found.receipt.split(":")[1]
    folder, keep = running.curator.folder, home / "kept"
    log = Log(running.curator.ledger, folder)
    old, before = log.public_key, receipt_text(log.receipt(int(number)))
    client.receipt("clinic", number)
    visit(running.url, keep)
    with in_use(folder), pytest.raises(InvalidParameter, match="stop the service"):
        CliRunner().invoke(app, ["receipt", "new-key", "--home", str(folder)], catch_exceptions=False)
    for _ in range(2):
        typed = CliRunner().invoke(app, ["receipt", "new-key", "--home", str(folder)], catch_exceptions=False)
        assert str(old) in typed.stdout or "checked with" in typed.stdout
    running.service.desk._log = None  # as after the restart of a service
    new = Log(running.curator.ledger, folder).public_key
    assert new != old
    # Old receipts with the old key, new ones of the same entry with the new key, and neither with the other.
    again = receipt_text(running.service.desk.receipts.receipt(int(number)))
    for text, key, other in ((before, old, new), (again, new, old)):
        assert verify_receipt(read_receipt(text), key).entry == int(number)
        with pytest.raises(InvalidParameter):
            verify_receipt(read_receipt(text), other)
    seen = visit(running.url, keep)
    assert (seen.is_consistent, seen.is_changed) == (True, True)
    assert "key was changed" in str(seen)
    assert not visit(running.url, keep).is_changed
    with pytest.warns(KeyChanged):
        client.receipt("clinic", number)
    client.receipt("clinic", number)


def test_a_change_that_was_cut_short_is_finished_or_never_was(tmp_path: Path) -> None:
    with Curator.create(tmp_path / "curator", anchors=tmp_path / "anchors") as curator:
        folder, ledger = curator.folder, curator.ledger
        log = Log(ledger, folder)
        old, first = log.public_key, SigningKey.kept(folder / "receipts" / "key")
        os.link(folder / "receipts" / "key", folder / "receipts" / "first-key")
        new = SigningKey.kept(folder / "receipts" / "next-key")
        assert Log(ledger, folder).public_key == old
        with (folder / "receipts" / "changes").open("w") as file:
            file.write(json.dumps(key_change(log.origin, first, new)) + "\n")
        again = Log(ledger, folder)
        assert again.public_key == PublicKey(log.origin, new.public)
        # The ledger knows it, too: whoever still has the old key signs no more.
        assert curator.books.signing()[0] == str(again.public_key)
        with pytest.raises(InvalidParameter, match="import-key"):
            log.checkpoint()


def test_machines_that_share_a_ledger_sign_with_one_key(tmp_path: Path) -> None:
    with Curator.create(tmp_path / "one", anchors=tmp_path / "anchors") as curator:
        ledger, books, other = curator.ledger, curator.books, tmp_path / "two"
        other.mkdir()
        ledger.register("clinic", budget=PureDP(1), unit="rows")
        log = Log(ledger, curator.folder)
        with pytest.raises(InvalidParameter, match="export-key"):
            Log(ledger, other)
        assert not (other / FOLDER / "key").exists()
        # A key of its own, as machines had before the ledger said which one signs.
        SigningKey.kept(other / FOLDER / "key")
        with pytest.raises(InvalidParameter, match="export-key"):
            Log(ledger, other)
        (other / FOLDER / "level-00").write_bytes(b"leaves with other salts")
        sealed, code = log.sealed_key()
        for secret in (SigningKey.kept(curator.folder / FOLDER / "key").secret, code.encode()):
            assert secret not in sealed
            assert secret.hex().encode() not in sealed
        assert take_key(books, other / FOLDER, sealed, f" {code}\n") == log.public_key
        assert Log(ledger, other).checkpoint() == log.checkpoint()
        assert (other / FOLDER / "key").stat().st_mode & 0o777 == 0o600
        # One changes its key: the other signs no more until it is brought.
        two = Log(ledger, other)
        two.change_key()
        with pytest.raises(InvalidParameter, match="import-key"):
            log.checkpoint()
        with pytest.raises(InvalidParameter, match="the key that signs this ledger now"):
            take_key(books, curator.folder / FOLDER, sealed, code)
        take_key(books, curator.folder / FOLDER, *two.sealed_key())
        one = Log(ledger, curator.folder)
        assert (one.checkpoint(), one.changes) == (two.checkpoint(), two.changes)
        # Lost everywhere: a new origin of trust, with salts of its own.
        new = begin_anew(books, curator.folder / FOLDER)
        assert Log(ledger, curator.folder).public_key == new
        assert Log(ledger, curator.folder).changes == []
        with pytest.raises(InvalidParameter):
            two.checkpoint()


def test_a_sealed_key_opens_with_its_code_and_for_its_ledger_alone(tmp_path: Path) -> None:
    with Curator.create(tmp_path / "one", anchors=tmp_path / "anchors") as curator:
        books, folder = curator.books, curator.folder / FOLDER
        with pytest.raises(InvalidParameter, match="nothing has signed"):
            begin_anew(books, folder)
        sealed, code = Log(curator.ledger, curator.folder).sealed_key()
        kept = (folder / "key").read_bytes()
        lines = sealed.decode().splitlines()
        flipped = lines[2][:-6] + ("A" if lines[2][-6] != "A" else "B") + lines[2][-5:]
        for wrong, said in (
            ((sealed, code + "x"), "the one that was shown"),
            ((sealed, ""), "the one that was shown"),
            (("\n".join([*lines[:2], flipped]).encode(), code), "the one that was shown"),
            (("\n".join([*lines[:2], "no base64!"]).encode(), code), "the one that was shown"),
            (("\n".join([lines[0], "dither/another", lines[2]]).encode(), code), "about this ledger"),
            ((b"something else", code), "export-key"),
        ):
            with pytest.raises(InvalidParameter, match=said):
                take_key(books, folder, *wrong)
        assert (folder / "key").read_bytes() == kept


def test_a_key_is_carried_by_two_commands(tmp_path: Path) -> None:
    with Curator.create(tmp_path / "one", anchors=tmp_path / "anchors") as curator:
        words = ["--home", str(curator.folder)]
    run = CliRunner(env={"DITHER_ANCHORS": str(tmp_path / "anchors")})
    told = run.invoke(app, ["receipt", "export-key", str(tmp_path / "sealed"), *words], catch_exceptions=False)
    code = told.stdout.split()[-1]
    brought = run.invoke(
        app, ["receipt", "import-key", str(tmp_path / "sealed"), *words], input=f"{code}\n", catch_exceptions=False
    )
    assert "checked with" in brought.stdout
    assert code not in brought.stdout
    lost = run.invoke(app, ["receipt", "new-key", "--lost", *words], catch_exceptions=False)
    assert "no old key has signed it" in lost.stdout


def test_a_key_is_followed_by_changes_that_both_have_signed() -> None:
    keys = [SigningKey(bytes([number]) * 32) for number in range(1, 5)]
    public = [PublicKey(receipts.ORIGIN, key.public) for key in keys]
    first, second = (key_change(receipts.ORIGIN, *keys[place : place + 2]) for place in range(2))
    assert successor([first, second], public[0]) == successor([second], public[1]) == public[2]
    assert successor([second], public[0]) == public[0]
    assert successor([], public[3]) == public[3]
    stranger = key_change(receipts.ORIGIN, keys[3], keys[1])
    forged = stranger.replace(str(public[3]), str(public[0]))
    for note in (forged, first.rsplit("\u2014", 1)[0], first.replace("key change", "key"), ""):
        with pytest.raises(DitherError):
            successor([note], public[0])


def test_bits_ledgers_and_proofs_in_short(tmp_path: Path) -> None:
    changed, shown = receipts.flips(2, 150), receipts.ledgers(12)
    assert (changed.passed, shown.passed) == ([], [])
    assert (changed.tried > 200, shown.tried) == (True, 24)
    timed = receipts.proofs(5000, tmp_path, count=10)
    assert timed.entries > 5000
    assert len(timed.waited) == len(timed.worked) == 10
    assert (timed.proof < 2048, timed.receipt < 3 * 2048) == (True, True)
    assert "on a processor" in str(timed)


def test_receipts_are_attacked_with_all_else_within_45_minutes() -> None:
    assert sum(minutes for _, _, minutes in PARTS) <= 45
    assert [command[2:4] for _, command, _ in PARTS if "tools.receipts" in command] == [("--receipts", "40")]


def test_a_cosigned_head_is_checked_by_who_has_both_keys(running: Running, home: Path) -> None:
    words = ["witness", running.url, "--keep", str(home / "kept"), "--cosign", str(home / "w"), "--name", "observer"]
    typed = CliRunner().invoke(app, [*words, "-o", str(home / "note.txt")], catch_exceptions=False)
    key = typed.stdout.split("cosigned by ")[1].splitlines()[0]
    (home / "witness.pub").write_text(key)
    (home / "curator.pub").write_text(str(Log(running.curator.ledger, running.curator.folder).public_key))
    check = ["receipt", "cosigned", str(home / "note.txt"), "--key", str(home / "curator.pub"), "--witness"]
    found = CliRunner().invoke(app, [*check, str(home / "witness.pub")], catch_exceptions=False)
    assert "observer has cosigned" in found.stdout
    (home / "other.pub").write_text(str(WitnessKey("observer", b"k" * 32)))
    assert CliRunner().invoke(app, [*check, str(home / "other.pub"), "--json"]).exit_code == 1
    assert (home / "w").stat().st_mode & 0o777 == 0o600


def test_a_folder_keeps_its_tree_when_the_key_changes(curator_folder: Curator) -> None:
    log = Log(curator_folder.ledger, curator_folder.folder)
    before = read_checkpoint(log.checkpoint(), log.public_key)
    log.change_key()
    assert read_checkpoint(log.checkpoint(), log.public_key).root == before.root
    for path in (curator_folder.folder / "receipts").glob("level-*"):
        path.unlink()
    again = Log(curator_folder.ledger, curator_folder.folder)
    assert read_checkpoint(again.checkpoint(), again.public_key).root == before.root


@pytest.fixture
def curator_folder(tmp_path: Path) -> Iterator[Curator]:
    from tests.curator.conftest import ROWS, SCHEMA

    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    made = Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")
    made.add(tmp_path / "clinic.yaml", epsilon=1)
    yield made
    made.close()
