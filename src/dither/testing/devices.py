"""Many simulated devices in one process: reports in blocks, for tests and experiments. No book is debited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dither.local.document import Document, Report
from dither.local.randomiser import randomiser_of
from dither.noise import system_noise


def simulated_reports(document: Document, answers: Sequence[Any]) -> list[str]:
    """Return one report for each answer, with the law of the client.

    Args:
        document: of the survey.
        answers: one for each device.

    >>> from dither.local.domains import Range
    >>> from dither.local.frequencies import KaryResponse
    >>> survey = KaryResponse(categories=3, truth=3, bits=2).document("How many?", Range(0, 2))
    >>> len(simulated_reports(survey, [0, 1, 2, 99]))
    4

    """
    law, noise = randomiser_of(document), system_noise()
    cells = np.array([document.domain.cell(answer) for answer in answers], dtype=np.int64)
    payloads = law.encode(law.draw_each(cells, noise))
    names = noise.uniform_below(2**16, 8 * len(cells)).astype(">u2").reshape(-1, 8)
    return [
        Report(document.digest, name.tobytes(), payload.tobytes()).text
        for name, payload in zip(names, payloads, strict=True)
    ]
