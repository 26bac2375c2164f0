"""Bugs in histograms, workloads and marginals: what one row moves in a table of counts."""

from __future__ import annotations

import math

import numpy as np

from dither.lift.attributes import Attributes
from dither.mechanisms import DiscreteGaussian, Geometric
from dither.mechanisms.filtered_counts import FilteredCounts
from dither.privacy import ROW_EXCHANGED, ROW_REPLACED
from dither.publish.histograms.hierarchical import HierarchicalHistogram
from dither.publish.histograms.median_tree import MedianCuts
from dither.publish.histograms.structure_first import StructureFirst
from dither.publish.marginals.per_marginal import NoisyMarginals
from dither.publish.workloads.grouping import GroupingAndSmoothing
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import Written, exceeds, oversteps

_FAMILY = "histograms, workloads and marginals"


def _edges() -> str:
    """Five cells in blocks of two: one row more in the last cell."""
    tree = HierarchicalHistogram(cells=5, branching=2, levels=(Geometric(scale=2), Geometric(scale=2)))
    return oversteps(tree, np.array([1, 2, 3, 4, 5]), np.array([1, 2, 3, 4, 6]))


def _negative() -> str:
    """Try a count of minus a hundred, as noise or a difference may give: one less."""
    first = StructureFirst(cells=3, buckets=2, bound=5, choice=18, node=Geometric(scale=2))
    return oversteps(first, np.array([-100, 0, 0]), np.array([-101, 0, 0]))


def _cuts() -> str:
    """Four points on one side of a cut along the first axis: the rate of the choice that was asked for."""
    cuts = MedianCuts(shape=(3, 2), boxes=((0, 3, 0, 2),), axis=0, scale=2)
    noise, lost = Written(), 0.0
    cuts.draw_many(np.array([[4, 0], [0, 0], [0, 0]]), 1, noise)
    cuts.draw_many(np.array([[3, 0], [0, 0], [0, 0]]), 1, noise)
    (first, rate, _), (second, _, _) = (given for name, given, _ in noise.asked if name == "select")
    weights = [np.exp(float(rate) * np.asarray(scores)) for scores in (first, second)]
    laws = [weight / weight.sum() for weight in weights]
    lost = max(abs(math.log(a / b)) for a, b in zip(*laws, strict=True))
    # With a large count on one side the bound of two scores is reached; here the scores alone must keep it.
    moved = max(abs(int(a) - int(b)) for a, b in zip(first, second, strict=True))
    return exceeds(max(lost, 2 * moved * float(rate)), cuts.loss(1).pure, "one point less")


def _replaced_in_gaussian() -> str:
    """Try a replaced row leaves one cell of a marginal and enters another, in each of two marginals."""
    table = Attributes.of({"a": 2, "b": 2})
    release = NoisyMarginals(
        attributes=table,
        marginals=[["a"], ["a", "b"]],
        weights=(3, 1),
        node=DiscreteGaussian(sigma=2),
        unit=ROW_REPLACED,
    )
    return oversteps(release, np.array([[0, 0], [1, 1]]), np.array([[1, 1], [1, 1]]))


def _exchanged_total() -> str:
    """Try a row that comes or goes moves the total too; a marginal of no attribute is the total."""
    table = Attributes.of({"a": 2})
    release = NoisyMarginals(
        attributes=table, marginals=[[], ["a"]], weights=(5, 1), node=Geometric(scale=9), unit=ROW_EXCHANGED
    )
    return oversteps(release, np.array([[0], [1]]), np.array([[0], [1], [1]]))


def _overlap() -> str:
    """Five columns in groups of two, one of which has one column: one row more in the fourth column."""
    groups = GroupingAndSmoothing(columns=5, width=2, noise=Geometric(scale=1))
    found = (
        oversteps(groups, np.array([5, 4, 3, 2, 1]), np.array([5, 4, 3, 2, 1]) + np.eye(5, dtype=int)[k])
        for k in range(5)
    )
    return next((one for one in found if one), "")


def _empty_cells() -> str:
    """Try an empty cell passes with the chance of a cell whose count is 0: by the law of the noise, summed up."""
    counts = FilteredCounts(cells=4, scale=2, threshold=3)
    from dither.mechanisms import filtered_counts

    low, high = filtered_counts.chance_of_passing(counts.scale, counts.threshold, counts.sampled)
    decay = math.exp(-1 / 2)
    passes = [decay ** (3 - count) / (1 + decay) for count in (0, 1)]
    # A cell with one row passes with the second; without it with what the product uses.
    lost = max(abs(math.log(passes[1] / float(chance))) for chance in (low, high))
    return exceeds(lost, counts.loss(1).pure, "whether a cell is shown")


TABLES = (
    Plant(
        19,
        "blocks at the edge are padded with the last cell",
        _FAMILY,
        "where branching does not divide the cells, the last one counts twice",
        ("hierarchical-histogram",),
        edited(
            "dither.publish.histograms.hierarchical:HierarchicalHistogram.release",
            (
                "block_sums(blocks, (self.branching,)) if level",
                "block_sums(np.append(blocks, blocks[-1:]) if len(blocks) % self.branching else blocks, "
                "(self.branching,)) if level",
            ),
        ),
        _edges,
    ),
    Plant(
        20,
        "counts are cut off above alone",
        _FAMILY,
        "squares of counts below zero move without limit",
        ("structure-first",),
        edited(
            "dither.publish.histograms.structure_first:StructureFirst.release",
            ("np.clip(counts, 0, self.bound)", "np.minimum(counts, self.bound)"),
        ),
        _negative,
    ),
    Plant(
        21,
        "cuts along the first axis are twice as sharp",
        _FAMILY,
        "axis 0 loses twice what is charged",
        ("median-cuts", "median-tree"),
        edited(
            "dither.publish.histograms.median_tree:MedianCuts.draw_many",
            (
                "noise.select(scores, 1 / self.scale, count)",
                "noise.select(scores, (2 - self.axis) / self.scale, count)",
            ),
        ),
        _cuts,
    ),
    Plant(
        22,
        "weights of marginals count in L2 without their square",
        _FAMILY,
        "Gaussian noise for weighted marginals is too small",
        ("noisy-marginals",),
        edited(
            "dither.publish.marginals.common:stability_of",
            ("weight**power *", "weight *"),
        ),
        _replaced_in_gaussian,
    ),
    Plant(
        23,
        "a row that is exchanged never moves the total",
        _FAMILY,
        "the unit that also comes and goes is charged as one that is replaced",
        ("noisy-marginals",),
        edited("dither.publish.marginals.common:stability_of", ("1 if unit == ROW_EXCHANGED else 0", "0")),
        _exchanged_total,
    ),
    Plant(
        24,
        "groups of columns overlap in one column",
        _FAMILY,
        "a column counts in two sums where the width does not divide the columns",
        ("grouping-and-smoothing",),
        edited(
            "dither.publish.workloads.grouping:GroupingAndSmoothing.release",
            (
                "np.add.reduceat(counts[order], starts)",
                "np.add.reduceat(counts[order], starts) + (counts[order][np.minimum(starts + self.width, "
                "self.columns - 1)] if self.columns % self.width else 0)",
            ),
        ),
        _overlap,
    ),
    Plant(
        25,
        "an empty cell passes one step later",
        _FAMILY,
        "the threshold for cells without rows is off by one",
        ("sparse-histogram",),
        edited(
            "dither.mechanisms.filtered_counts:chance_of_passing",
            ("_power(threshold / scale, more)", "_power((threshold + 1) / scale, more)"),
        ),
        _empty_cells,
    ),
)
