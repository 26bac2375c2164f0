"""What ``tests/curator/test_pictures.py`` says of pictures, of a session elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.privacy import ZCDP, ApproxDP, PureDP
from tests.curator import test_pictures as file
from tests.service.elsewhere.conftest import shared_by

SCHEMA = """\
dataset: data
unit: person
contribution: {rows: 1}
tables:
  data:
    source: data.csv
    privacy id: who
    columns:
      who: integer
      ward: {kind: text, categories: [heart, skin]}
      waited: {kind: real, bounds: [0, 90]}
"""


@pytest.fixture(params=[PureDP(2), ApproxDP(2, "1e-5"), ZCDP("0.5")], ids=lambda budget: budget.kind)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """The same rows and budgets as there, of a frame: in a folder, which alone can be served."""
    rows = [f"{who},{'skin,40.0' if who % 2 else 'heart,12.5'}" for who in range(600)]
    (tmp_path / "data.csv").write_text("\n".join(["who,ward,waited", *rows]))
    (tmp_path / "data.yaml").write_text(SCHEMA)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        curator.add(tmp_path / "data.yaml", budget=request.param)
        with curator.session("data", analyst="ana") as opened:
            yield opened


globals().update(shared_by(file, {}))
