"""Bugs in tables, synthetic data, learners, queries and draws: one column of several, one end of a range."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from dither.data import Column, Kind, Limits, Scan, Table
from dither.data.engines import bounding
from dither.data.expressions import Name
from dither.data.relations import Bounded
from dither.learn.bayes.categorical import CategoricalNaiveBayes
from dither.learn.linear import moments
from dither.learn.trees.random_forest import RandomForest
from dither.lift.attributes import Attributes
from dither.mechanisms import BoundedGeometric, Geometric
from dither.mechanisms.grouped_exponential import GroupedExponential
from dither.publish.histograms.median_tree import MedianCuts
from dither.publish.histograms.structure_first import StructureFirst
from dither.publish.queries import person_bounds
from dither.publish.synthetic import privbayes
from dither.publish.synthetic.boosting import BoostedQueries
from dither.publish.synthetic.dual_query import DualQuery
from dither.publish.synthetic.found_bins import FoundBins
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.parent_child import Families
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import Written, exceeds, laplace_tail, oversteps

_TABLES, _SYNTHETIC, _LEARNERS = "histograms, workloads and marginals", "synthetic data", "learners"
_QUERIES, _PRIMITIVES = "queries and emitted SQL", "primitives"
_SMALL = Attributes.of({"a": 2, "b": 2})


def _cuts() -> str:
    """Put counts on a line, with a point more: the law of each cut, written out."""

    def law(counts: list[int]) -> list[float]:
        total = sum(counts)
        weights = [math.exp(-abs(2 * sum(counts[:cut]) - total)) for cut in range(1, len(counts))]
        return [weight / sum(weights) for weight in weights]

    here, there = law([9, 0, 0, 0, 0, 1]), law([9, 0, 0, 0, 0, 0])
    far = law([0, 20, 0, 0, 0, 5]), law([0, 20, 0, 0, 0, 6])
    lost = max(abs(math.log(a / b)) for one, other in ((here, there), far) for a, b in zip(one, other, strict=True))
    charged = MedianCuts(shape=(1, 6), boxes=((0, 1, 0, 6),), axis=1, scale=1).loss(1).pure
    return exceeds(lost, charged, "one point more")


def _errors() -> str:
    """One cell at its bound among empty ones, and one below it."""
    made = StructureFirst(cells=8, buckets=2, bound=2, choice=18, node=Geometric(scale=2))
    return oversteps(made, np.array([0, 2, 0, 0, 0, 0, 0, 0]), np.array([0, 1, 0, 0, 0, 0, 0, 0]))


def _below() -> str:
    """Take a point more from a cell that has fewer than none: its square moves by 19."""
    made = StructureFirst(cells=4, buckets=2, bound=2, choice=18, node=Geometric(scale=2))
    return oversteps(made, np.array([0, -9, 0, 0]), np.array([0, -10, 0, 0]))


def _rate() -> str:
    """Two blocks of one candidate, at the rate that was asked for: the law of the one far behind."""
    made, noise = GroupedExponential(candidates=2, scale=2, multiplicities=(1, 1)), Written("rate")
    made.draw_many(np.array([0, 60]), 1, noise)
    rate = float(next(given[2] for name, given, _ in noise.asked if name == "select_block"))
    lost = math.log((1 + math.exp(60 * rate)) / (1 + math.exp(58 * rate)))
    return exceeds(lost, made.loss(1).pure, "the block far behind")


def _two_columns() -> str:
    """One record more, where bins of two columns are found."""
    fine, binned = Attributes.of({"a": 70, "b": 70}), Attributes.of({"a": 4, "b": 4})
    method = IndependentMarginals(attributes=binned, single=Geometric(scale=2))
    made = FoundBins(attributes=fine, noise=Geometric(scale=2), method=method)
    return oversteps(made, np.array([[1, 2]]), np.array([[1, 2], [9, 9]]))


def _opposite() -> str:
    """One record more: a query rises and its negation falls."""
    made = DualQuery(attributes=_SMALL, workload=(("a",),), total=Geometric(scale=2), scale=4, rounds=2, samples=1)
    return oversteps(made, np.array([[0, 1]]), np.array([[0, 1], [1, 1]]))


def _ramp() -> str:
    """Take a count one higher: its weight may move by 2."""
    noise = Geometric(scale=2)
    made = BoostedQueries(
        attributes=_SMALL,
        workload=(("a",),),
        total=noise,
        single=noise,
        scale=8,
        tolerance=2,
        ramp=9,
        rounds=2,
        samples=1,
    )
    answers = np.array([3.0])
    moved = max(
        abs(int(made.moved(np.array([count + 1]), answers)[0]) - int(made.moved(np.array([count]), answers)[0]))
        for count in range(30)
    )
    return f"a weight moves by {moved}, and 2 is stated" if moved > 2 else ""


def _halves() -> str:
    """All tables of two by two with few records, and one record more."""
    worst = 0
    for code in range(3**4):
        table = np.array([code // 3**place % 3 for place in range(4)]).reshape(2, 2) * 9
        for place in range(4):
            more = table.copy()
            more[place // 2, place % 2] += 1
            worst = max(worst, abs(privbayes.half_distance(more, 64) - privbayes.half_distance(table, 64)))
    return f"a score moves by {worst}, and 128 is stated" if worst > privbayes.SCORE_STABILITY else ""


def _children() -> str:
    """One parent of five, of whom two count."""
    family = Families(np.array([[0]]), np.arange(5)[:, None], np.zeros(5, dtype=np.int64))
    kept = len(family.first(2).children)
    return f"{kept} children of one parent are kept, and 2 is stated" if kept > 2 else ""


def _class_count() -> str:
    """One row more: a class and a cell of each of two columns."""
    made = CategoricalNaiveBayes(sizes=(2, 3), classes=2, part=Geometric(scale=3))
    return oversteps(made, np.array([[0.0, 1.0, 1.0]]), np.array([[0.0, 1.0, 1.0], [1.0, 2.0, 0.0]]))


def _forest() -> str:
    """Twelve different rows without the first of them."""
    public: dict[str, Any] = {"lower": [0, 0], "upper": [4, 3], "bins": [4, 3], "unordered": [0, 0], "classes": 2}
    rows = np.array([[place % 4 + 0.5, place // 4 + 0.5, place % 2] for place in range(12)])
    return oversteps(RandomForest(**public, trees=4, depth=2, part=Geometric(scale=2)), rows, rows[1:])


def _squares() -> str:
    """One record along one column, with a target as long."""
    length = 2**14
    found = moments.counted(np.array([[float(length), 0.0]]), np.array([[float(length)]])).astype(float)
    far, stated = float(np.linalg.norm(found)), float(moments.STABILITY)
    return f"a record moves moments by {far:.6g}, and {stated:.6g} is stated" if far > stated * (1 + 1e-9) else ""


def _own_total() -> str:
    """Four rows of one person, each of -5: their sum."""
    low, _ = person_bounds.of_sum((Fraction(-5), Fraction(3)), SimpleNamespace(has_persons=False), 4)  # type: ignore[arg-type]
    return f"a person's sum is said to be at least {low}, and may be -20" if low > -20 else ""


def _kept(keys: tuple[Any, ...], limits: Limits, most: int) -> str:
    visits = Table("visits", (Column("id", Kind.TEXT), Column("site", Kind.TEXT)), "visits.csv", person="id")
    left = bounding.effective_limits(Bounded(Scan(visits), keys, limits, ("site",) if keys else ()))
    in_groups = math.inf if left.groups is None or left.rows_per_group is None else left.groups * left.rows_per_group
    found = min(in_groups, math.inf if left.rows is None else left.rows)
    return f"{found} rows of one person are kept, and {most} is the limit" if found > most else ""


def _in_groups() -> str:
    """Three groups of three rows, of which five count."""
    return _kept((Name("site"),), Limits(rows=5, groups=3, rows_per_group=3), 5)


def _without_keys() -> str:
    """No groups: the smaller of two limits."""
    return _kept((), Limits(rows=5, rows_per_group=2), 2)


def _both_ends() -> str:
    """Two numbers that both go from the least to the largest: the chance that both are shown as the largest."""
    lost = 2 * math.log(laplace_tail(1, 0) / laplace_tail(1, 4))
    return exceeds(lost, BoundedGeometric(scale=1, low=0, high=4, shape=(2,)).loss(8).pure, "two numbers")


def _divergence() -> str:
    """Two blocks of one candidate, of which one rises by 1 and one falls: what their laws are apart."""
    loss = GroupedExponential(candidates=2, scale=10, multiplicities=(1, 1)).loss(1)
    rise = 1 / (1 + math.exp(-0.2))
    found = rise * math.log(2 * rise) + (1 - rise) * math.log(2 * (1 - rise))
    return f"a divergence of {found:.6g}, and rho {float(loss.rho):.6g}" if found > float(loss.rho) else ""


def _plant(number: int, name: str, family: str, breaks: str, names: tuple[str, ...], patch: Any, witness: Any) -> Plant:
    return Plant(number, name, family, breaks, names, patch, witness)


TABLES = (
    _plant(
        130,
        "cuts at a median are charged for one direction",
        _TABLES,
        "candidates on both sides of a point move in opposite ways",
        ("median-cuts", "median-tree"),
        edited(
            "dither.publish.histograms.median_tree:MedianCuts.loss",
            ('2 * non_negative("d_in", d_in)', 'non_negative("d_in", d_in)'),
        ),
        _cuts,
    ),
    _plant(
        131,
        "a squared error at the bound moves as one below it",
        _TABLES,
        "scores of boundaries move by one more than stated",
        ("structure-first",),
        edited(
            "dither.publish.histograms.structure_first:StructureFirst.stability",
            ("2 * self.bound - 1", "2 * (self.bound - 1) + (self.bound == 1)"),
        ),
        _errors,
    ),
    _plant(
        132,
        "blocks of several columns count as those of one",
        _SYNTHETIC,
        "with two columns whose bins are found, blocks of one are free",
        ("found-bins",),
        edited(
            "dither.publish.synthetic.found_bins:FoundBins._moved",
            ("sum(len(levels) - 1 for", "max(len(levels) - 1 for"),
        ),
        _two_columns,
    ),
    _plant(
        133,
        "queries and their negations are said to move one way",
        _SYNTHETIC,
        "scores move in both directions under a one-way price",
        ("dual-query",),
        edited(
            "dither.publish.synthetic.dual_query:DualQuery.sampler",
            ("scale=2 * self.scale", "scale=2 * self.scale, one_way=True"),
        ),
        _opposite,
    ),
    _plant(
        134,
        "weights of queries jump at the tolerance",
        _SYNTHETIC,
        "one record moves a weight by twice the ramp",
        ("boosting",),
        edited(
            "dither.publish.synthetic.boosting:BoostedQueries.moved",
            (
                "np.clip(2 * (errors - self.tolerance) - self.ramp, -self.ramp, self.ramp)",
                "np.where(errors > self.tolerance, self.ramp, -self.ramp)",
            ),
        ),
        _ramp,
    ),
    _plant(
        135,
        "half a distance is a whole one",
        _SYNTHETIC,
        "scores of parents move by nearly twice what is stated",
        ("privbayes",),
        edited("dither.publish.synthetic.privbayes:half_distance", ("// (2 * total)", "// total")),
        _halves,
    ),
    _plant(
        136,
        "a family keeps one child more",
        _SYNTHETIC,
        "a parent has one child more than tables are priced for",
        ("parent-child",),
        edited("dither.publish.synthetic.parent_child:Families.first", ("rank < most", "rank <= most")),
        _children,
    ),
    _plant(
        137,
        "the count of a class is free",
        _LEARNERS,
        "a row moves one count more than stated",
        ("categorical-naive-bayes",),
        edited(
            "dither.learn.bayes.categorical:_moves", ("Moves(touched * (columns + 1), ", "Moves(touched * columns, ")
        ),
        _class_count,
    ),
    _plant(
        138,
        "rows are dealt to trees by their place",
        _LEARNERS,
        "a row less deals all rows behind it to other trees",
        ("random-forest",),
        edited(
            "dither.learn.trees.random_forest:tree_of",
            ("np.arange(len(records)) - np.repeat(np.cumsum(sizes) - sizes, sizes)", "order"),
        ),
        _forest,
    ),
    _plant(
        139,
        "squares count as often as products",
        _LEARNERS,
        "a record along one column moves moments farther than stated",
        ("moment-regression", "moment-classifier"),
        edited(
            "dither.learn.linear.moments:counted",
            ("np.where(first == second, COUNTED, PAIRS_COUNTED)", "PAIRS_COUNTED"),
        ),
        _squares,
    ),
    _plant(
        140,
        "the least sum of a person is that of one row",
        _QUERIES,
        "sums of several negative numbers lie below their bound",
        ("query",),
        edited("dither.publish.queries.person_bounds:of_sum", ("else rows * low)", "else low)")),
        _own_total,
    ),
    _plant(
        141,
        "a limit on rows is dropped beside smaller ones",
        _QUERIES,
        "several groups with several rows each exceed the limit on rows",
        ("query",),
        edited(
            "dither.data.engines.bounding:effective_limits",
            ("rows >= groups * rows_per_group", "rows >= max(groups, rows_per_group)"),
        ),
        _in_groups,
    ),
    _plant(
        142,
        "without keys the larger limit holds",
        _QUERIES,
        "rows beyond the limit of the one group count",
        ("query",),
        edited(
            "dither.data.engines.bounding:effective_limits", ("min(given, default=None)", "max(given, default=None)")
        ),
        _without_keys,
    ),
    _plant(
        143,
        "several bounded numbers are as far apart as one",
        _PRIMITIVES,
        "the farthest distance of an array is that of one entry",
        ("bounded-geometric",),
        edited(
            "dither.mechanisms.bounded_geometric:BoundedGeometric.farthest",
            ("(self.high - self.low) * math.prod(self.draw_shape)", "self.high - self.low"),
        ),
        _both_ends,
    ),
    _plant(
        144,
        "rho of a grouped choice is half of what it is",
        _PRIMITIVES,
        "the concentrated price is below the divergence",
        ("grouped-exponential",),
        edited("dither.mechanisms.grouped_exponential:GroupedExponential.loss", ("epsilon**2 / 8", "epsilon**2 / 16")),
        _divergence,
    ),
    _plant(
        145,
        "counts are clamped from above alone",
        _TABLES,
        "squared errors of counts below 0 move farther than stated",
        ("structure-first",),
        edited(
            "dither.publish.histograms.structure_first:StructureFirst.release",
            ("np.clip(counts, 0, self.bound)", "np.minimum(counts, self.bound)"),
        ),
        _below,
    ),
    _plant(
        146,
        "a grouped choice is drawn at twice its rate",
        _PRIMITIVES,
        "blocks are chosen by scores counted twice",
        ("grouped-exponential",),
        edited(
            "dither.mechanisms.grouped_exponential:GroupedExponential.draw_many",
            ("self.multiplicities, self.rate, count", "self.multiplicities, 2 * self.rate, count"),
        ),
        _rate,
    ),
)
