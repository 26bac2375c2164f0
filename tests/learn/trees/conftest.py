"""Runners for tests of trees: they add no noise, and keep what they were given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dither.mechanisms.core.candidates import Choice


class Silent:
    """Answers with the value itself, or with the best candidate, and remembers parts, values and stabilities."""

    def __init__(self, answers: list[Any] | None = None) -> None:
        self.seen: list[tuple[Any, Any, Any]] = []
        self._answers = list(answers or [])

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        self.seen.append((part, np.array(value), stability))
        if self._answers:
            return self._answers.pop(0)
        return int(np.argmax(value)) if isinstance(part, Choice) else np.array(value)

    def parallel(self, siblings: int) -> list[Silent]:
        return [self] * siblings


@pytest.fixture
def silent() -> type[Silent]:
    return Silent
