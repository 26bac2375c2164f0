"""Small instances tell: they claim enough to be seen, on true neighbours, and outputs of every kind become numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest

from dither.audit import audit
from dither.audit.outcomes import Rows, numbers_in
from dither.audit.small import audited, ranked, small_instance
from dither.mechanisms import Composed, Example, Interactive, find, registered

PLANNED = [name for name, entry in registered().items() if issubclass(entry.mechanism, Composed | Interactive)]


def small(name: str) -> Example:
    made = small_instance(next(iter(find(name).examples())))
    assert made is not None
    return made


def test_most_classes_have_an_instance_that_claims_enough() -> None:
    claims = []
    for name in PLANNED[::3]:
        made = small_instance(next(iter(find(name).examples())))
        if made is not None:
            loss = made.mechanism.loss(1)
            claims.append(loss.pure if loss.pure is not None else 2 * loss.rho)
            assert type(made.mechanism) is find(name).mechanism
    assert len(claims) >= 0.95 * len(PLANNED[::3])
    assert sum(Fraction(4) <= claim <= Fraction(9) for claim in claims) >= 0.9 * len(claims)


@pytest.mark.statistical(n=1500, false_alarm=1e-9, miss=1e-9, catches="small instances that tell nothing")
def test_a_small_instance_shows_a_third_of_its_claim() -> None:
    """It loses all it claims, and shows 0.7 of that; half of it would need deviations that never come."""
    made = ranked(small("identity-histogram"))
    shown = []
    for here, there, apart in islice(made.neighbours, 2):
        verdict = audit(made.mechanism, here, there, d_in=apart, samples=1500, false_alarm=5e-10)
        assert not verdict.is_refuted, str(verdict)
        shown.append(verdict.tightness or 0.0)
    assert max(shown) > 0.3


def test_a_small_instance_comes_after_the_examples() -> None:
    examples = list(find("identity-histogram").examples())
    assert len(audited("identity-histogram")) == len(examples) + 1
    assert len(audited("laplace")) == len(list(find("laplace").examples()))


def test_outputs_of_one_sampler_have_one_width() -> None:
    rows = Rows()
    first = rows.of([{"a": 1.0}, {"a": 2.0, "b": 3.0}])
    again = rows.of([{"b": 5.0}, {}, {str(number): 1.0 for number in range(50)}])
    assert first.shape[1] == again.shape[1]
    place = int(np.flatnonzero(first[0, 1:])[0])
    assert first[1, 1 + place] == 2.0 or first[1, 1 + place] == 5.0


def test_numbers_and_arrays_stay_as_they_are() -> None:
    assert Rows().of([1, 2]).tolist() == [1, 2]
    assert Rows().of([np.array([1.5, 2.0])]).tolist() == [[1.5, 2.0]]
    model: Any = next(iter(find("gradient-descent").examples()))
    assert all(isinstance(number, float) for number in numbers_in(model.mechanism))
