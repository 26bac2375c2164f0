"""Two streams never share a random word, also over the same rows and the same query."""

from __future__ import annotations

import contextlib
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.curator.folder import Curator
from dither.curator.streams.seal import Seal
from dither.mechanisms.core import kept
from dither.noise.kept import KeptEntropy
from dither.privacy import PureDP
from dither.publish.streams.examples import clinic_stream
from dither.testing.words import repeated


class Recorded(KeptEntropy):
    """Words that follow from a key, on record."""

    seen: list[Any]

    def words(self, count: int) -> Any:
        found = super().words(count)
        Recorded.seen.append(found)
        return found


def released(home: Path) -> Any:
    """Return the random words of two streams of one session, all ticks of which are released."""
    Recorded.seen = []
    rows = [
        {"person": "ann", "at": datetime.datetime(2025, 1, 1, hour), "site": "east", "cost": 1} for hour in range(3)
    ]
    with contextlib.closing(Curator.create(home / "home", anchors=home / "anchors")) as curator:
        curator.add(clinic_stream(persons=False), budget=PureDP(9))
        session = curator.session("clinic", analyst="ana")
        for name in ("one", "other"):
            with contextlib.closing(session.stream(name, "SELECT COUNT(*) AS n FROM visits", epsilon=1)) as stream:
                stream.feed(rows)
                stream.release()
    return np.concatenate(Recorded.seen)


def test_two_streams_have_their_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "KeptEntropy", Recorded)
    words = released(tmp_path)
    assert len(words) >= 16
    assert repeated(words) == 0


def test_one_key_for_both_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin."""
    monkeypatch.setattr(kept, "KeptEntropy", Recorded)
    monkeypatch.setattr(Seal, "derived", lambda self, purpose: bytes(32))
    assert repeated(released(tmp_path)) > 0
