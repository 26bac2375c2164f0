"""Parents and children: distances, what one family moves, who gets which child, what is found without noise."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, InvalidValue
from dither.estimate.public_randomness import public_generator
from dither.lift.attributes import Attributes
from dither.mechanisms import perform
from dither.privacy import RECORDS, ZCDP, ApproxDP, PureDP
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.parent_child import FAMILIES, NUMBER, Families, FamilyModel, ParentChild, matched
from dither.publish.synthetic.privbayes import PrivBayes

HOUSE, PERSON = Attributes.of({"region": 3}), Attributes.of({"sex": 2, "age": 4})
STREET = Families([[0], [2], [2], [9]], [[0, 1], [1, 3], [1, 1], [0, 0], [1, 2], [0, 5]], [2, 0, 2, 2, 3, -1])


def one_more(families: Families, parent: list[int], children: list[list[int]]) -> Families:
    """Return the families and another one."""
    own = np.array(children, dtype=np.int64).reshape(-1, families.children.shape[1])
    return Families(
        np.vstack([families.parents, parent]),
        np.vstack([families.children, own]),
        np.concatenate([families.owners, np.full(len(own), len(families.parents))]),
    )


def test_families_are_counted_whatever_order_parents_are_in() -> None:
    assert STREET.numbers.tolist() == [1, 0, 3, 1]
    turned = Families(STREET.parents[::-1], STREET.children, 3 - STREET.owners)
    assert FAMILIES.measure(STREET, turned) == 0
    assert FAMILIES.measure(STREET, one_more(STREET, [1], [[0, 0]] * 5)) == 1
    # A child more makes another family: one goes, one comes.
    more = Families(STREET.parents, np.vstack([STREET.children, [[1, 1]]]), [*STREET.owners, 1])
    assert FAMILIES.measure(STREET, more) == 2
    assert FAMILIES.measure(STREET, STREET.parents) is None


def test_only_the_first_children_are_kept() -> None:
    kept = STREET.first(2)
    assert kept.listed() == [((0,), ((1, 3),)), ((2,), ()), ((2,), ((0, 1), (1, 1))), ((9,), ((1, 2),))]
    assert STREET.first(10).listed() == STREET.listed()


class Watching:
    """A run that keeps what it is handed."""

    def __init__(self) -> None:
        self.seen: list[tuple[np.ndarray, int]] = []

    def __call__(self, part: Any, value: Any, *, stability: int = 1) -> Any:
        self.seen.append((value, stability))
        return perform(part, value, stability=1)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_family_moves_both_tables_by_what_is_paid_for(most: int) -> None:
    method = ParentChild.calibrated(PureDP(1), parents=HOUSE, children=PERSON, most=most)
    farthest = [0, 0]
    for children in ([], [[0, 0]], [[1, 1]] * 3, [[0, 9], [1, -4], [0, 0], [1, 1], [0, 1], [1, 2], [0, 3]]):
        here, there = Watching(), Watching()
        method.release(STREET, here)
        method.release(one_more(STREET, [1], children), there)
        for place in (0, 1):
            (before, stability), (after, _) = here.seen[place], there.seen[place]
            apart = RECORDS.measure(before, after)
            assert apart is not None
            assert apart <= stability
            farthest[place] = max(farthest[place], int(apart))
    assert farthest == [1, most]


def test_prices() -> None:
    for target in (PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-9")):
        assert ParentChild.calibrated(target, parents=HOUSE, children=PERSON, most=4).loss(1) <= target
    method = ParentChild.calibrated(
        ZCDP("1/2"),
        parents=HOUSE,
        children=PERSON,
        most=4,
        build=lambda loss, attributes: PrivBayes.calibrated(loss, attributes=attributes),
    )
    assert method.parents.loss(1).rho == method.children.loss(4).rho == pytest.approx(0.25)


@pytest.mark.statistical(false_alarm=1e-9)
def test_drawn_children_belong_to_parents_of_their_kind() -> None:
    """600 parents, noise that is 0 but for a chance below e^-1000; children given to anybody would fit half of it."""
    generator = public_generator()
    region = generator.integers(0, 3, 600)
    owners = np.repeat(np.arange(600), region + 1)
    # Age says in which region a child lives, and the region how many there are.
    ages = region[owners] + generator.integers(0, 2, len(owners))
    street = Families(region[:, None], np.stack([generator.integers(0, 2, len(owners)), ages], axis=1), owners)
    method = ParentChild.calibrated(PureDP(10**8), parents=HOUSE, children=PERSON, most=3)
    model = perform(method, street, stability=1)
    drawn = model.sample()
    assert Counter(drawn.parents[:, 0].tolist()) == Counter(region.tolist())
    assert np.array_equal(drawn.numbers, drawn.parents[:, 0] + 1)
    apart = drawn.children[:, 1] - drawn.parents[drawn.owners, 0]
    # Without noise but for the smoothing of the fit, which lets a few through.
    assert np.isin(apart, (0, 1)).mean() > 0.97
    assert FamilyModel.from_dict(json.loads(json.dumps(model.to_dict()))) == model
    assert len(model.sample(7).parents) == 7
    assert len(model.sample(0).children) == 0


def test_matching_uses_every_row_once_and_the_nearest_first() -> None:
    wanted = np.array([[0, 1], [0, 1], [1, 0], [2, 2]])
    pool = np.array([[2, 0], [0, 1], [1, 0], [0, 0]])
    for _ in range(10):
        places = matched(wanted, pool, public_generator())
        assert sorted(places.tolist()) == [0, 1, 2, 3]
        # One of the first two gets the equal row, the other the one with the same first column.
        assert set(places[:2].tolist()) == {1, 3}
        assert places[2:].tolist() == [2, 0]
    assert matched(wanted[:0], pool[:0], public_generator()).size == 0


def test_bad_input() -> None:
    with pytest.raises(InvalidValue, match="owners"):
        Families([[0]], [[1], [1]], [0])
    with pytest.raises(InvalidValue, match="parents"):
        Families([[0.5]], [[1]], [0])
    method = ParentChild.calibrated(PureDP(1), parents=HOUSE, children=PERSON, most=2)
    for bad in (np.zeros((3, 2), dtype=np.int64), Families([[0, 1]], [[1, 1]], [0])):
        with pytest.raises(InvalidValue, match="data"):
            perform(method, bad, stability=1)
    above, below = method.parents.attributes, method.children.attributes
    assert above.names[-1] == NUMBER

    def independent(attributes: Attributes) -> IndependentMarginals:
        return IndependentMarginals.calibrated(PureDP(1), attributes=attributes)

    with pytest.raises(InvalidParameter, match="parents"):
        ParentChild(parents=independent(above), children=independent(below), most=3)
    with pytest.raises(InvalidParameter, match="children"):
        ParentChild(parents=independent(above), children=independent(PERSON), most=2)
    with pytest.raises(InvalidParameter, match="parents"):
        ParentChild(parents=independent(HOUSE), children=independent(below), most=2)
    with pytest.raises(InvalidParameter, match="record"):
        FamilyModel.from_dict({"families": 2})
    with pytest.raises(InvalidParameter, match="parents"):
        FamilyModel.from_dict(
            {
                "families": 1,
                "parents": perform(independent(HOUSE), STREET.parents, stability=1).to_dict(),
                "children": perform(independent(PERSON), STREET.children, stability=1).to_dict(),
            }
        )


def test_odd_families() -> None:
    method = ParentChild.calibrated(PureDP(1), parents=HOUSE, children=PERSON, most=2)
    nobody = Families(STREET.parents[:0], STREET.children[:0], STREET.owners[:0])
    childless = Families(STREET.parents, STREET.children[:0], STREET.owners[:0])
    for families in (nobody, childless, STREET):
        drawn = perform(method, families, stability=1).sample(5)
        assert drawn.numbers.max() <= 2
