"""Small instances tell: they claim enough to be seen, on true neighbours, and outputs of every kind become numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.audit import audit
from dither.audit.accounts import account
from dither.audit.everything import Run
from dither.audit.figures import unshown_of
from dither.audit.outcomes import Rows, numbers_in
from dither.audit.recipes import RECIPES
from dither.audit.small import audited, ranked, small_instance
from dither.audit.unshown import REASONS, holes
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


def test_recipes_are_for_composed_mechanisms_and_make_claims_that_can_be_seen() -> None:
    assert set(RECIPES) <= set(PLANNED)
    for name in sorted(RECIPES)[::6]:
        recipe = RECIPES[name]
        made = small_instance(list(find(name).examples())[recipe.example], recipe)
        assert made is not None, name
        loss = made.mechanism.loss(1)
        told = loss.pure if loss.pure is not None else 2 * loss.rho
        assert Fraction(1, 2) <= told / recipe.claim <= 2, name
        assert type(made.mechanism) is find(name).mechanism


def test_loud_parts_get_nearly_all_of_the_loss() -> None:
    made = small_instance(next(iter(find("small-database").examples())), RECIPES["small-database"])
    assert made is not None
    mechanism: Any = made.mechanism
    assert mechanism.total.loss(1).epsilon > Fraction(4, 5) * mechanism.loss(1).epsilon


def test_a_mechanism_without_a_recipe_is_made_as_before() -> None:
    example = next(iter(find("identity-histogram").examples()))
    assert "identity-histogram" not in RECIPES
    one, other = small_instance(example), audited("identity-histogram")[-1]
    assert one is not None
    assert isinstance(other, Example)
    assert one.mechanism == other.mechanism


@pytest.mark.statistical(n=1500, false_alarm=1e-9, miss=1e-9, catches="recipes that tell nothing")
def test_a_recipe_shows_what_dividing_all_scales_does_not() -> None:
    """The threshold hides a single person; without it 0.6 of the claim is shown, with it nothing."""
    made = audited("lifted")[-1]
    assert isinstance(made, Example)
    shown = [
        audit(made.mechanism, here, there, d_in=apart, samples=1500, false_alarm=5e-10)
        for here, there, apart in islice(ranked(made).neighbours, 2)
    ]
    assert not any(verdict.is_refuted for verdict in shown)
    assert max(verdict.tightness or 0.0 for verdict in shown) > 0.3


def test_what_shows_little_has_a_reason() -> None:
    assert set(REASONS) <= set(PLANNED)
    assert all(len(reason) > 40 for reason in REASONS.values())


def test_a_silent_hole_is_a_complaint() -> None:
    line = account("poisson-sample", 0, small("poisson-sample"), samples=500, false_alarm=1e-9, seconds=0.1)
    silent, telling = replace(line, name="a", share=0.1), replace(line, name="b", share=0.29)
    known = [replace(line, name=name, share=0.0) for name in list(REASONS)[:1]]
    again = replace(silent, share=0.31, number=1)
    assert holes([silent, telling, *known]) == ["a"]
    # The best instance counts, and primitives are none of it.
    assert holes([silent, again]) == [] == holes([replace(silent, kind="primitive")])
    run = Run(accounts=[silent, telling, *known], is_in_full=True)
    assert sum("shows too little" in complaint for complaint in run.complaints) == 1
    assert not any("shows too little" in complaint for complaint in replace(run, is_in_full=False).complaints)
    sheet = unshown_of(run)
    assert {sheet.rows[place][0] for place in sheet.bad} == {"a"}
    assert {row[0] for row in sheet.rows} == {"a", "b", *list(REASONS)[:1]}


def test_the_audit_page_lists_the_reasons() -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    for name, reason in REASONS.items():
        assert f"| `{name}` | {reason} |" in page, name


def test_outcomes_of_different_lengths_become_rows() -> None:
    rows = Rows()
    ragged = rows.of([np.array([[1, 2]]), np.array([[3, 4], [5, 6]])])
    assert ragged[:, 0].tolist() == [2, 4]
    assert ragged[1, 1:5].tolist() == [3, 4, 5, 6]
    later = rows.of([np.array([[7, 8]])])
    assert later.shape[1] == ragged.shape[1]


def test_later_outcomes_take_the_shape_of_the_first() -> None:
    rows = Rows()
    assert rows.of([np.array([1, 2]), np.array([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert rows.of([np.array([5, 6, 7]), np.array([8])])[:, 0].tolist() == [5, 8]
