"""The curator's folder: made once, found from below, one name for one source, and a card that says what is promised."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml

from dither.curator.card import release_card
from dither.curator.folder import Curator
from dither.errors import InvalidParameter, LedgerBehindAnchor, NotFound
from dither.privacy import ApproxDP, PureDP


def test_a_folder_is_made_once_and_for_its_owner(folder: Path) -> None:
    Curator.create(folder / "home", anchors=folder / "anchors").close()
    for path in (folder / "home").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    with pytest.raises(InvalidParameter, match="new"):
        Curator.create(folder / "home")


def test_a_folder_is_found_from_below_and_by_name(
    curator: Curator, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = folder / "home" / "data"
    monkeypatch.chdir(below)
    monkeypatch.delenv("DITHER_HOME", raising=False)
    assert Curator.open().folder == folder / "home"
    monkeypatch.chdir(folder)
    with pytest.raises(NotFound, match="dither init"):
        Curator.open()
    monkeypatch.setenv("DITHER_HOME", str(folder / "home"))
    assert Curator.open().folder == folder / "home"
    with pytest.raises(NotFound):
        Curator.open(folder / "elsewhere")


@pytest.mark.parametrize(
    "text",
    ["", "version: 2\n", "version: 1\nunknown: 3\n", "version: 1\nledger: 5\n", "]", "version: 1\nallow idealised: 2"],
)
def test_broken_settings_are_refused(curator: Curator, text: str) -> None:
    (curator.folder / "dither.yaml").write_text(text)
    with pytest.raises(InvalidParameter, match="settings"):
        Curator.open(curator.folder)


def test_adding_again_inherits_what_was_spent(curator: Curator, folder: Path) -> None:
    session = curator.session("clinic")
    session.sql("SELECT COUNT(*) FROM visits", epsilon=1)
    session.close()
    curator.add(folder / "clinic.yaml", budget=PureDP(10))
    assert curator.ledger.balance("clinic").spent == PureDP(1)
    with pytest.raises(InvalidParameter, match="budget"):
        curator.add(folder / "clinic.yaml", budget=PureDP(11))


@pytest.mark.parametrize("way", ["same path", "other spelling", "link"])
def test_a_second_name_for_the_same_rows_is_refused(curator: Curator, folder: Path, way: str) -> None:
    source = {"same path": "visits.csv", "other spelling": "home/../visits.csv", "link": "link.csv"}[way]
    (folder / "link.csv").symlink_to(folder / "visits.csv")
    schema = (folder / "clinic.yaml").read_text().replace("dataset: clinic", "dataset: fresh")
    (folder / "fresh.yaml").write_text(schema.replace("visits.csv", source))
    with pytest.raises(InvalidParameter, match="clinic"):
        curator.add(folder / "fresh.yaml", budget=PureDP(10))
    assert [dataset.name for dataset in curator.datasets()] == ["clinic"]


def test_an_unknown_data_set_names_the_known_ones(curator: Curator) -> None:
    for name in ("other", "../clinic", "", "clinic.yaml"):
        with pytest.raises(NotFound, match="clinic"):
            curator.dataset(name)


def test_a_restored_backup_is_noticed(curator: Curator, folder: Path) -> None:
    session = curator.session("clinic")
    session.sql("SELECT COUNT(*) FROM visits", epsilon=1)
    curator.close()
    kept = {path.name: path.read_bytes() for path in curator.folder.glob("ledger.sqlite*")}
    again = Curator.open(curator.folder, anchors=folder / "anchors")
    again.session("clinic").sql("SELECT COUNT(*) FROM visits", epsilon=1)
    again.close()
    for path in curator.folder.glob("ledger.sqlite*"):
        path.unlink()
    for name, content in kept.items():
        (curator.folder / name).write_bytes(content)
    restored = Curator.open(curator.folder, anchors=folder / "anchors")
    with pytest.raises(LedgerBehindAnchor):
        _ = restored.ledger


def test_the_card_says_what_the_ledger_says(curator: Curator) -> None:
    session = curator.session("clinic")
    session.sql("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon="0.5")
    card = release_card(curator.dataset("clinic"), curator.ledger)
    assert list(card)[1:] == [
        "basic",
        "dp_variant",
        "privacy_loss",
        "deployment_model",
        "claims",
        "accounting",
        "implementation",
    ]
    assert card["privacy_loss"]["spent"]["text"] == "epsilon = 0.5"
    assert card["privacy_loss"]["releases"] == 1
    assert card["implementation"]["ledger"]["is_intact"]
    assert yaml.safe_load(yaml.safe_dump(card)) == card


def test_an_approximate_budget_is_kept_as_such(folder: Path) -> None:
    curator = Curator.create(folder / "two", anchors=folder / "anchors")
    curator.add(folder / "clinic.yaml", budget=ApproxDP(1, "1e-5"))
    session = curator.session("clinic")
    session.sql("SELECT note, COUNT(*) AS n FROM visits GROUP BY note", epsilon="0.5", delta="1e-6")
    assert 0 < curator.ledger.balance("clinic").spent.delta <= ApproxDP(1, "1e-6").delta
    session.close()
    curator.close()
