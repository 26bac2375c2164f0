"""``dither bounds`` and ``dither limits``: a range and a limit that nobody knew, priced, found and charged once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dither.noise import Noise

from .test_publish import record, run

SCHEMA = """\
dataset: shop
unit: person
contribution: {rows: 8}
tables:
  sales:
    source: sales.csv
    privacy id: customer
    columns: {customer: integer, price: {kind: real, bounds: [0, 1000000]}}
"""
BOUNDS = ("bounds", "shop", "sales", "price")
LIMITS = ("limits", "shop", "sales")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("finds")
    rows = "".join(f"{n // 3},{100 + n % 20}\n" for n in range(6000))
    (folder / "sales.csv").write_text("customer,price\n" + rows)
    (folder / "shop.yaml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DITHER_ANCHORS", str(folder / "anchors"))
        patch.setenv("DITHER_HOME", str(folder / "home"))
        patch.chdir(folder)
        run("init", "home")
        run("add", "shop.yaml", "--budget", "1000")
        yield folder


def spent() -> str:
    return str(record("ledger", "show", "shop")[0]["spent"])


@pytest.mark.parametrize("words", [BOUNDS, LIMITS], ids=" ".join)
def test_what_is_found_is_priced_first_and_charged_once(words: tuple[str, ...], place: Path) -> None:
    before = spent()
    assert record(*words, "--epsilon", "8", "--quote")["loss"]["epsilon"] == "8"
    assert spent() == before
    first = record(*words, "--epsilon", "8", "--key", words[0])
    after = spent()
    assert after != before
    assert record(*words, "--epsilon", "8", "--key", words[0]) == first
    assert spent() == after


@pytest.mark.statistical(n=1, false_alarm=1e-9, catches="a range that is not the column's, a limit that drops people")
def test_what_is_found_fits_the_rows(place: Path) -> None:
    """With 2,000 people in one magnitude an epsilon of 100 leaves no doubt."""
    found = record(*BOUNDS, "--epsilon", "100")
    assert (found["lower"], found["upper"]) == (64, 128)
    limit = record(*LIMITS, "--epsilon", "100")
    assert limit["rows"][0][0] == 3
    assert "declare contribution: {rows: 3}" in limit["notes"][-1]
    assert "CLAMP(price, 64, 128)" in run(*BOUNDS, "--epsilon", "100")


def test_a_wide_interval_says_how_to_narrow_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand people at an epsilon of 1/10,000: of limits up to 1,024 nothing is told apart.

    What noise may do decides on the interval. What it does is 0 here: now and then it would say 1,024 with certainty.
    """
    monkeypatch.setattr(Noise, "discrete_laplace", lambda self, scale, size: np.zeros(size, dtype=np.int64))
    wide = record(*LIMITS, "--epsilon", "0.0001")
    assert "--most 16" in wide["notes"][-1]
    assert "--most 16" in run(*LIMITS, "--epsilon", "0.0001")
    assert not any("--most 16" in note for note in record(*LIMITS, "--epsilon", "100")["notes"])
    assert not any("--most 16" in note for note in record(*LIMITS, "--epsilon", "0.0001", "--most", "3")["notes"])


def test_the_only_table_may_be_left_out(place: Path) -> None:
    for words in (BOUNDS, LIMITS):
        said = [record(*typed, "--epsilon", "1", "--quote") for typed in (words, [*words[:2], *words[3:]])]
        assert said[0]["release"] == said[1]["release"]
