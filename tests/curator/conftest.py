"""A clinic with few visits, its curator's folder, and a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.privacy import PureDP
from tests.one_importer import one_importer

SCHEMA = """\
dataset: clinic
unit: person
contribution: {rows: 2, groups: 2, rows per group: 2}
tables:
  visits:
    source: visits.csv
    privacy id: patient
    columns:
      patient: integer
      ward: {kind: text, categories: [heart, skin]}
      waited: {kind: real, bounds: [0, 100]}
      note: text
"""
ROWS = "patient,ward,waited,note\n" + "".join(
    f"{person},{'heart' if person % 3 else 'skin'},{person % 50},n{person % 4}\n" for person in range(200)
)


@pytest.fixture(scope="module", autouse=True)
def importing() -> Iterator[None]:
    """Start one database to import with instead of one for each file."""
    with one_importer():
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def curator(folder: Path) -> Iterator[Curator]:
    made = Curator.create(folder / "home", anchors=folder / "anchors")
    made.add(folder / "clinic.yaml", budget=PureDP(10))
    yield made
    made.close()


@pytest.fixture
def session(curator: Curator) -> Iterator[Session]:
    opened = curator.session("clinic", analyst="ana")
    yield opened
    opened.close()


@pytest.fixture
def noiseless(folder: Path) -> Iterator[Session]:
    """A session that can spend so much on a release that noise is 0 but for odds of e^-1000."""
    made = Curator.create(folder / "rich", anchors=folder / "rich anchors")
    made.add(folder / "clinic.yaml", budget=PureDP(1_000_000))
    opened = made.session("clinic", analyst="ana")
    yield opened
    opened.close()
    made.close()
