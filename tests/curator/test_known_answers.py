"""What a person was answered before to the same question, at any loss and under any key of theirs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.remote_release import Asked, asked_of, known_answers, usual_key
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP
from tests.curator.conftest import ROWS, SCHEMA

COUNT = {"text": "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"}
FOUND_FIRST = {"text": "SELECT SUM(CLAMP(waited, AUTO)) AS waited FROM visits"}
LOSSES = (
    *(PureDP("1/10"), PureDP("1/3"), PureDP("1e-10"), ApproxDP("1/3", "1e-6"), ApproxDP("0.7", "1e-9")),
    *(ZCDP("1/10"), ZCDP("1/3")),
)


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as made:
        made.add(tmp_path / "clinic.yaml", budget=ApproxDP(1000, "1/10"))
        yield made


def asked(curator: Curator, verb: str, words: dict[str, Any], loss: Loss, who: str = "ana") -> Asked:
    return asked_of(curator.session("clinic", analyst=who), verb, words | {"loss": {"loss": loss.to_dict()}})


def keys(curator: Curator, verb: str, words: dict[str, Any], who: str = "ana", **how: Any) -> set[str]:
    """Return the keys of what is known to somebody who would ask at a loss at which nobody did."""
    request = asked(curator, verb, words, PureDP(7), who).request
    return {one.key for one in known_answers(curator.ledger, request, who, curator.standing("clinic"), **how)}


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("sql", COUNT),
        ("sql", FOUND_FIRST),
        ("marginals", {"table": "visits", "sets": [["ward"]]}),
        ("bounds", {"table": "visits", "column": "waited"}),
    ],
)
def test_an_answer_under_a_key_of_ones_own_is_known_at_whatever_loss_it_was_asked(
    curator: Curator, verb: str, words: dict[str, Any]
) -> None:
    for number, loss in enumerate(LOSSES):
        asked(curator, verb, words, loss).carry_out(f"key {number}")
    # Another question, and one that nobody has chosen a key for.
    asked(curator, "sql", {"text": "SELECT COUNT(*) AS n FROM visits"}, PureDP("1/10")).carry_out("another")
    usual = asked(curator, verb, words, PureDP("1/5"))
    usual.carry_out(usual_key(usual.request, 1))
    own = {f"key {number}" for number in range(len(LOSSES))}
    assert keys(curator, verb, words) == own | {usual_key(usual.request, 1)}


def test_what_somebody_has_named_is_known_to_them_alone_and_about_these_rows_alone(
    curator: Curator, tmp_path: Path
) -> None:
    asked(curator, "sql", COUNT, PureDP("1/10")).carry_out("mine")
    usual = asked(curator, "sql", COUNT, PureDP("1/5"))
    usual.carry_out(usual_key(usual.request, 1))
    assert keys(curator, "sql", COUNT, "ben", is_shared=True) == {usual_key(usual.request, 1)}
    assert keys(curator, "sql", COUNT, "ben") == set()
    (tmp_path / "visits.csv").write_text(ROWS.replace("heart", "skin"))
    curator.add(tmp_path / "clinic.yaml", budget=ApproxDP(1000, "1/10"))
    assert keys(curator, "sql", COUNT) == set()
    asked(curator, "sql", COUNT, PureDP("1/10")).carry_out("mine again")
    assert keys(curator, "sql", COUNT) == {"mine again"}
