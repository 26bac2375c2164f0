"""Bugs in synthetic data: what one record, or one family, moves."""

from __future__ import annotations

from itertools import product

import numpy as np

from dither.lift.attributes import Attributes
from dither.mechanisms import DiscreteGaussian, Geometric
from dither.publish.synthetic import privbayes
from dither.publish.synthetic.copula import GRID, GaussianCopula
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.measuring import STEPS
from dither.publish.synthetic.mst import MaximumSpanningTree
from dither.publish.synthetic.parent_child import NUMBER, Families, ParentChild
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import oversteps

_FAMILY = "synthetic data"
_THREE = Attributes.of({"a": 2, "b": 2, "c": 2})
_ROWS = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0]])


def _corner() -> str:
    """Three attributes: a record in a corner where no others are moves all three products by the grid squared."""
    copula = GaussianCopula(attributes=_THREE, single=Geometric(scale=2), product=Geometric(scale=GRID**2))
    others = np.ones((500, 3), dtype=np.int64)
    return oversteps(copula, others, np.vstack([others, [[0, 0, 0]]]))


def _children() -> str:
    """Try a parent with four children where two count."""
    parents, children = Attributes.of({"a": 2, NUMBER: 3}), Attributes.of({"a": 2, "b": 2})
    made = ParentChild(
        parents=IndependentMarginals(attributes=parents, single=Geometric(scale=4)),
        children=IndependentMarginals(attributes=children, single=Geometric(scale=4)),
        most=2,
    )
    alone = Families([[1], [0]], [[1], [1], [0], [0], [1]], [0, 0, 0, 0, 1])
    return oversteps(made, alone, Families([[0]], [[1]], [0]))


def _score() -> str:
    """All tables of two by two cells with at most two records in each, and one record more."""
    for cells in product(range(3), repeat=4):
        table = np.array(cells).reshape(2, 2)
        for place in range(4):
            more = table.copy()
            more.flat[place] += 1
            moved = abs(privbayes.half_distance(more, STEPS) - privbayes.half_distance(table, STEPS))
            if moved > privbayes.SCORE_STABILITY:
                return f"{table.tolist()}: one record moves the score by {moved}, beyond {privbayes.SCORE_STABILITY}"
    return ""


def _survey() -> str:
    """Three attributes: a record moves one cell of each, a Euclidean length of the root of 3."""
    made = IndependentMarginals(attributes=_THREE, single=DiscreteGaussian(sigma=2))
    return oversteps(made, _ROWS, _ROWS[1:])


def _distances() -> str:
    """Two attributes that always agree, of four values: one record more moves the score of the pair by one step."""
    table = Attributes.of({"a": 4, "b": 4})
    noise = DiscreteGaussian(sigma=2)
    made = MaximumSpanningTree(attributes=table, single=noise, choice=256, pair=noise)
    rows = np.repeat(np.arange(4), 40)[:, None].repeat(2, axis=1)
    return oversteps(made, rows, rows[1:])


SYNTHETIC = (
    Plant(
        26,
        "products of ranks are bounded in L1 by the bound in L2",
        _FAMILY,
        "with three or more attributes geometric noise for products is too small",
        ("gaussian-copula",),
        edited(
            "dither.publish.synthetic.copula:_moved",
            ("return GRID**2 * Fraction(pairs),", "return GRID**2 * sqrt_up(Fraction(pairs)),"),
        ),
        _corner,
    ),
    Plant(
        27,
        "one child more than declared counts",
        _FAMILY,
        "a fencepost in the bound on the children of a parent",
        ("parent-child",),
        edited("dither.publish.synthetic.parent_child:Families.first", ("kept = rank < most", "kept = rank <= most")),
        _children,
    ),
    Plant(
        28,
        "the score of a dependence is not halved",
        _FAMILY,
        "one record moves it twice as far as stated",
        ("privbayes",),
        edited("dither.publish.synthetic.privbayes:half_distance", ("steps // (2 * total)", "2 * steps // total")),
        _score,
    ),
    Plant(
        29,
        "a survey of attributes is charged as one of them in L2",
        _FAMILY,
        "Gaussian noise for all single attributes is too small where there are several",
        ("independent", "mst", "all-pairs"),
        edited(
            "dither.publish.synthetic.measuring:_moved", ("return width, sqrt_up(width)", "return width, Fraction(1)")
        ),
        _survey,
    ),
    Plant(
        30,
        "expected counts follow the number of records",
        _FAMILY,
        "the model that scores are taken against is rescaled to the exact total",
        ("mst", "aim", "mwem-graphical"),
        edited(
            "dither.publish.synthetic.measuring:Seen.distance",
            (
                "np.rint(np.minimum(expected, limit) * STEPS)",
                "np.rint(np.minimum(expected / max(expected.sum(), 1e-9) * counts.sum(), limit) * STEPS)",
            ),
        ),
        _distances,
    ),
)
