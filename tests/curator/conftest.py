"""A clinic with few visits, its curator's folder, and a session."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
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


#: Stands in a ready-made anchor for the folder that it is copied to.
PLACE = b"/where/the/ledger/is"


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


@cache
def files_of_clinic(csv: str, schema: str, budget: int) -> dict[str, bytes]:
    """Return the files of a curator's folder and its anchors, as they are once the clinic was added."""
    with tempfile.TemporaryDirectory() as kept:
        place = Path(kept).resolve()
        (place / "visits.csv").write_text(csv)
        (place / "clinic.yaml").write_text(schema)
        with Curator.create(place / "home", anchors=place / "anchors") as made:
            made.add(place / "clinic.yaml", budget=PureDP(budget))
        files = [file for part in ("home", "anchors") for file in (place / part).rglob("*") if file.is_file()]
        return {str(file.relative_to(place)): _placeless(file, bytes(place / "home")) for file in files}


def _placeless(file: Path, home: bytes) -> bytes:
    content = file.read_bytes()
    return content.replace(home, PLACE) if file.suffix == ".place" else content


def ready_made(folder: Path, budget: int, home: str = "home", anchors: str = "anchors") -> Curator:
    """Return a curator of the clinic in a folder, like one that is made there, out of files that were made once."""
    csv, schema = ((folder / name).read_text() for name in ("visits.csv", "clinic.yaml"))
    named, place = {"home": home, "anchors": anchors}, bytes(folder.resolve())
    for name, content in files_of_clinic(csv, schema, budget).items():
        part, _, rest = name.partition("/")
        file = folder / named[part] / rest
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # An anchor knows where its ledger is. Where rows came from is in an edition's digest, and stays as it was.
        file.write_bytes(content.replace(PLACE, place + b"/" + home.encode()) if part == "anchors" else content)
        file.chmod(0o600)
    return Curator.open(folder / home, anchors=folder / anchors)


@pytest.fixture
def from_here() -> None:
    """Let the clinic of a test be made where it is: its rows are read again, and come from the same file as before."""


@pytest.fixture
def curator(folder: Path, request: pytest.FixtureRequest) -> Iterator[Curator]:
    if "from_here" not in request.fixturenames:
        with ready_made(folder, 10) as made:
            yield made
        return
    with Curator.create(folder / "home", anchors=folder / "anchors") as made:
        made.add(folder / "clinic.yaml", budget=PureDP(10))
        yield made


@pytest.fixture
def session(curator: Curator) -> Iterator[Session]:
    opened = curator.session("clinic", analyst="ana")
    yield opened
    opened.close()


@pytest.fixture
def noiseless(folder: Path) -> Iterator[Session]:
    """A session that can spend so much on a release that noise is 0 but for odds of e^-1000."""
    with (
        ready_made(folder, 1_000_000, "rich", "rich anchors") as made,
        made.session("clinic", analyst="ana") as opened,
    ):
        yield opened
