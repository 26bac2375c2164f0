"""A receipt proves what was debited for an answer, to whoever has the key alone; whatever is changed, fails."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.receipts import Log, PublicKey, read_checkpoint, read_receipt, receipt_text, tree, verify_receipt
from dither.errors import DitherError, InvalidParameter, NotFound
from dither.privacy import PureDP

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


def slow_root(leaves: Sequence[bytes]) -> bytes:
    """The tree's hash as RFC 6962 defines it, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return hashlib.sha256(b"\1" + slow_root(leaves[:k]) + slow_root(leaves[k:])).digest()


def nodes_over(leaves: Sequence[bytes]) -> tree.Nodes:
    return lambda level, index: slow_root(leaves[index << level : (index + 1) << level])


def test_the_tree_of_rfc_6962_is_that_of_its_test_vector() -> None:
    # The leaves and the root of the test data of Certificate Transparency.
    texts = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    leaves = [bytes.fromhex(text) for text in texts]
    wanted = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
    assert tree.root_of(nodes_over(leaves), 8).hex() == slow_root(leaves).hex() == wanted
    assert tree.root_of(nodes_over(leaves), 0) == tree.EMPTY


@pytest.mark.parametrize("size", range(1, 18))
def test_every_leaf_and_every_earlier_tree_is_proved_and_nothing_else(size: int) -> None:
    leaves = [bytes([number]) for number in range(size)]
    nodes, root = nodes_over(leaves), slow_root(leaves)
    assert tree.root_of(nodes, size) == root
    for index in range(size):
        path = tree.inclusion(nodes, index, size)
        leaf = tree.leaf_hash(leaves[index])
        assert tree.is_included(leaf, index, size, path, root)
        assert not tree.is_included(tree.leaf_hash(b"other"), index, size, path, root)
        assert not tree.is_included(leaf, index, size, [*path, root], root)
        for other in range(size):
            assert other == index or not tree.is_included(leaf, other, size, path, root)
    for earlier in range(1, size + 1):
        first, path = slow_root(leaves[:earlier]), tree.consistency(nodes, earlier, size)
        assert tree.is_consistent(earlier, first, size, root, path)
        changed = slow_root([b"changed", *leaves[1:earlier]])
        assert not tree.is_consistent(earlier, changed, size, root, path)
        assert not tree.is_consistent(earlier, first, size, slow_root([*leaves[:-1], b"changed"]), path)
        for place in range(len(path)):
            assert not tree.is_consistent(earlier, first, size, root, path[:place] + path[place + 1 :])


@pytest.mark.parametrize("size", range(18))
def test_a_tree_grows_from_any_edge_by_any_number_of_leaves(size: int) -> None:
    leaves = [bytes([number]) for number in range(18)]
    nodes = nodes_over(leaves)
    for more in range(19 - size):
        edge = tree.Edge(nodes, size)
        assert edge.root == slow_root(leaves[:size])
        for level, (index, hashes) in enumerate(edge.add([tree.leaf_hash(one) for one in leaves[size : size + more]])):
            assert hashes == [nodes(level, index + place) for place in range(len(hashes))]
        assert (edge.size, edge.root) == (size + more, slow_root(leaves[: size + more]))


@pytest.fixture
def receipt(curator: Curator) -> tuple[Curator, Log, dict[str, Any], bytes]:
    with curator.session("clinic", analyst="ana") as session:
        session.sql(COUNT, epsilon="1/4", key="first")
        session.sql(COUNT, epsilon=1, key="second")
    log = Log(curator.ledger, curator.folder)
    (found,) = curator.ledger.find_answers("first")
    return curator, log, log.receipt(found.entry), found.answer


def test_a_receipt_says_what_was_debited_and_for_what(receipt: tuple[Curator, Log, dict[str, Any], bytes]) -> None:
    curator, log, made, answer = receipt
    found = verify_receipt(read_receipt(receipt_text(made)), log.public_key, answer)
    (stored,) = curator.ledger.find_answers("first")
    assert (found.dataset, found.analyst, found.key) == ("clinic", "ana", "first")
    assert (found.request, found.answer, found.entry) == (
        stored.request_digest,
        hashlib.sha256(answer).hexdigest(),
        stored.entry,
    )
    assert str(found.loss) == "epsilon = 0.25"
    assert "people" in found.unit
    assert found.edition == 1
    curator.ledger.begin_edition("clinic")
    with curator.session("clinic", analyst="ana") as session:
        session.sql(COUNT, epsilon="1/4", key="third")
    (later,) = curator.ledger.find_answers("third")
    assert verify_receipt(log.receipt(later.entry), log.public_key).edition == 2
    assert curator.ledger.verify().is_intact
    with pytest.raises(InvalidParameter, match="answer"):
        verify_receipt(made, log.public_key, answer + b" ")
    for number in (1, 2, 10**6):
        with pytest.raises(NotFound):
            log.receipt(number)


def test_a_receipt_of_what_was_paid_for_before_does_not_say_that_nothing_is_lost(curator: Curator) -> None:
    with curator.session("clinic", analyst="ana") as session:
        wards = session.table("visits").partition("ward", {"first": ["heart"], "rest": ["skin"]})
        with session.parts("wards", wards, epsilon=1) as account:
            account.ask("first", lambda rows: rows.count(), epsilon=1)
    opened, asked = (entry.number for entry in curator.ledger.entries() if entry.kind == "answer")
    curator.publish(asked, title="count")
    log = Log(curator.ledger, curator.folder)
    (shown,) = (one.entry for one in curator.published())
    for made, whose in ((log.receipt(asked), " to ana"), (log.published_receipt(shown), "")):
        found = verify_receipt(made, log.public_key)
        assert found.loss.is_zero
        words = f"paid for by an earlier debit{whose}, which this receipt does not show, and not by a separate debit:"
        assert str(found).startswith(f"{words} an answer about clinic")
        assert "epsilon = 0" not in str(found)
    assert "was debited to ana for an answer about clinic" in str(verify_receipt(log.receipt(opened), log.public_key))


def test_a_receipt_with_any_bit_flipped_proves_nothing(receipt: tuple[Curator, Log, dict[str, Any], bytes]) -> None:
    _, log, made, _ = receipt
    content = receipt_text(made).encode()
    key = log.public_key
    # Each byte once, with a bit that moves along: eight receipts of the nightly run flip them all.
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << (place % 8)
        with pytest.raises(DitherError):
            verify_receipt(read_receipt(bytes(flipped).decode("utf-8", "replace")), key)


@pytest.mark.parametrize("version", [True, 1.0, "1", 2])
def test_a_receipt_of_another_version_proves_nothing(
    receipt: tuple[Curator, Log, dict[str, Any], bytes], version: Any
) -> None:
    _, log, found, _ = receipt
    with pytest.raises(InvalidParameter):
        verify_receipt({**found, "receipt": version}, log.public_key)


def test_a_receipt_tells_nothing_of_its_neighbours(receipt: tuple[Curator, Log, dict[str, Any], bytes]) -> None:
    curator, _, made, _ = receipt
    shown = set(made["answer"]["path"]) | set(made["debit"]["path"]) | set(made["registered"]["path"])
    for entry in curator.ledger.entries():
        text = json.dumps(entry.record, sort_keys=True, separators=(",", ":")).encode()
        assert hashlib.sha256(b"\0" + text).hexdigest() not in shown
        assert entry.hash not in receipt_text(made)


def test_the_tree_grows_with_the_ledger_and_old_receipts_hold(
    receipt: tuple[Curator, Log, dict[str, Any], bytes],
) -> None:
    curator, log, made, _ = receipt
    early = read_checkpoint(log.checkpoint(), log.public_key)
    with curator.session("clinic", analyst="ana") as session:
        session.sql(COUNT, epsilon=1, key="third")
    # Another process, which has no files of before in memory, continues the same tree with the same key.
    other = Log(curator.ledger, curator.folder)
    late = read_checkpoint(other.checkpoint(), log.public_key)
    assert late.size > early.size
    path = [bytes.fromhex(one) for one in other.consistency(early.size, late.size)]
    assert tree.is_consistent(early.size, early.root, late.size, late.root, path)
    verify_receipt(made, other.public_key)
    for wrong in (0, late.size + 1):
        with pytest.raises(InvalidParameter):
            other.consistency(wrong, late.size)


def test_files_of_another_ledger_are_made_anew(receipt: tuple[Curator, Log, dict[str, Any], bytes]) -> None:
    curator, log, _, _ = receipt
    wanted = log.checkpoint()
    folder = curator.folder / "receipts"
    (folder / "heads").write_text("3 " + "0" * 64 + "\n")
    (folder / "level-00").write_bytes(b"x" * 320)
    assert Log(curator.ledger, curator.folder).checkpoint() == wanted
    assert (folder / "key").stat().st_mode & 0o777 == 0o600
    (folder / "key").chmod(0o644)
    with pytest.raises(InvalidParameter, match="owner alone"):
        Log(curator.ledger, curator.folder)


def test_another_key_has_signed_nothing(receipt: tuple[Curator, Log, dict[str, Any], bytes], tmp_path: Path) -> None:
    _, log, made, _ = receipt
    other = Curator.create(tmp_path / "other", anchors=tmp_path / "others anchors")
    other.ledger.register("clinic", budget=PureDP(1), unit="rows")
    stranger = Log(other.ledger, other.folder).public_key
    for key in (stranger, PublicKey(log.public_key.name, stranger.key)):
        with pytest.raises(InvalidParameter):
            verify_receipt(made, key)
    other.close()
    text = str(log.public_key)
    assert PublicKey.read(f"{text}\n") == log.public_key
    for place in range(0, len(text), 7):
        with pytest.raises(InvalidParameter):
            verify_text(made, text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :])


def verify_text(receipt: dict[str, Any], key: str) -> None:
    """Check a receipt with a key as it is written."""
    verify_receipt(receipt, PublicKey.read(key))
