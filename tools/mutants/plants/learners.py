"""Bugs in learners: gradients, moments, scores and votes, for one loss, one unit or one label."""

from __future__ import annotations

from typing import Any

import numpy as np

from dither.learn.bayes.categorical import CategoricalNaiveBayes
from dither.learn.clusters.lloyd import LloydClusters
from dither.learn.linear.descent import GradientDescent
from dither.learn.selection.scored import HeldOutScore
from dither.learn.sparse.support import SupportSelection
from dither.learn.theory.concepts import Concepts
from dither.learn.theory.labels import LabelLearner
from dither.mechanisms import DiscreteGaussian
from dither.privacy import ROW_REPLACED
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import oversteps

_FAMILY = "learners"
_ROWS = np.array([[0.5, 3.0, 1.0], [0.9, 2.0, 0.0], [-0.5, 1.0, 1.0], [0.1, 8.0, 2.0]])
_BOX: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}
_NOISE: dict[str, Any] = {"survey": DiscreteGaussian(sigma=2**13), "step": DiscreteGaussian(sigma=2**26)}


def _three_sides() -> str:
    """Three classes under the hinge loss: one row pulls all three scores."""
    learner = GradientDescent(**_BOX, classes=3, loss_name="hinge", steps=2, **_NOISE)
    return oversteps(learner, _ROWS, np.vstack([_ROWS, [1.0, 8.0, 2.0]]))


def _flipped() -> str:
    """One row, at the far corner, whose label alone is another."""
    learner = GradientDescent(**_BOX, classes=2, loss_name="hinge", steps=1, unit=ROW_REPLACED, **_NOISE)
    here, there = (np.vstack([_ROWS[:3], [1.0, 8.0, label]]) for label in (0.0, 1.0))
    return oversteps(learner, here, there)


def _bayes() -> str:
    """Try a replaced row with another class leaves all its counts and enters as many others."""
    learner = CategoricalNaiveBayes(sizes=(2, 3), classes=2, part=DiscreteGaussian(sigma=4), unit=ROW_REPLACED)
    return oversteps(learner, np.array([[0.0, 0.0, 0.0]]), np.array([[1.0, 2.0, 1.0]]))


def _labels() -> str:
    """Try a label of seven, which stands for one."""
    learner = LabelLearner(concepts=Concepts.thresholds(8), points=[0, 1, 3], scale=2)
    return oversteps(learner, np.array([[0, 0], [1, 1], [3, 0]]), np.array([[0, 0], [1, 1], [3, 7]]))


def _votes() -> str:
    """Six rows that lie in three of six blocks each, and five of them."""
    learner = SupportSelection(
        lower=[-1, -1], upper=[1, 1], kept=1, scale=4, loss_name="squared", votes="columns", blocks=6, overlap=3
    )
    rows = np.random.default_rng(48).uniform(-1, 1, (6, 3)).round(2)
    return oversteps(learner, rows, rows[1:])


def _wide_clusters() -> str:
    """Try a point at a corner of the box, of five columns, where points are shortened to a ball."""
    public: dict[str, Any] = {"lower": [-1] * 5, "upper": [1] * 5, "clusters": 2}
    learner = LloydClusters(**public, survey=DiscreteGaussian(sigma=2**13), parts=(DiscreteGaussian(sigma=2**14),))
    rows = np.zeros((40, 5))
    return oversteps(learner, rows, np.vstack([rows, [[1.0] * 5]]))


def _held_out() -> str:
    """Try a row whose target lies beyond the bounds."""
    from dither.learn.linear.moments import MomentRegression

    frame: dict[str, Any] = {"target_lower": 0, "target_upper": 2}
    fit = MomentRegression(**_BOX, **frame, survey=DiscreteGaussian(sigma=2**13), part=DiscreteGaussian(sigma=2**29))
    score = HeldOutScore(learner=fit, part=DiscreteGaussian(sigma=2**24), **frame)
    for target in (-1e9, 1e9, -5.0):
        for first in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
            found = oversteps(score, _ROWS, np.vstack([_ROWS, [first, 1.0, target]]))
            if found:
                return found
    return ""


LEARNERS = (
    Plant(
        31,
        "hinge pulls of three classes are not shortened",
        _FAMILY,
        "with three or more classes and the hinge loss one row moves a gradient too far",
        ("gradient-descent", "minibatch-descent"),
        edited(
            "dither.learn.linear.gradients:pulls",
            ("if found.shape[1] > 1 else found", "if found.shape[1] > 3 else found"),
        ),
        _three_sides,
    ),
    Plant(
        32,
        "a replaced row moves a hinge gradient once",
        _FAMILY,
        "a flipped label under the hinge loss moves the gradient from one side to the other",
        ("gradient-descent",),
        edited(
            "dither.learn.linear.descent:GradientDescent.stability",
            ("self.unit.touched * LENGTH", "(1 if self.loss_name == 'hinge' else self.unit.touched) * LENGTH"),
        ),
        _flipped,
    ),
    Plant(
        33,
        "a replaced row enters where it left, in L2",
        _FAMILY,
        "Gaussian noise for replaced rows is that for added ones",
        ("categorical-naive-bayes",),
        edited(
            "dither.learn.bayes.categorical:_moves",
            ("touched * (columns + 1), touched * (columns + 1)", "touched * (columns + 1), columns + 1"),
        ),
        _bayes,
        is_known_kind=True,
    ),
    Plant(
        34,
        "labels are cut off below alone",
        _FAMILY,
        "a label above 1 counts as many times",
        ("label-learner", "label-response"),
        edited(
            "dither.learn.theory.labels:OpenPoints.labels_of",
            ("np.clip(rows[:, 1], 0, 1)", "np.maximum(rows[:, 1], 0)"),
        ),
        _labels,
    ),
    Plant(
        35,
        "a row lies in two blocks at most",
        _FAMILY,
        "votes of three or more overlapping blocks are charged as two",
        ("support-selection",),
        edited(
            "dither.learn.sparse.support:SupportSelection.stability",
            ("self.unit.touched * self.overlap *", "self.unit.touched * min(self.overlap, 2) *"),
        ),
        _votes,
    ),
    Plant(
        36,
        "points are shortened to a ball by their largest entry",
        _FAMILY,
        "a point at a corner of many columns is longer than the radius",
        ("lloyd-clusters", "gradient-descent", "gaussian-naive-bayes"),
        edited(
            "dither.learn.rows:into_ball",
            ("np.sqrt(squared_lengths(whole))", "np.abs(whole).max(axis=1, initial=0)"),
        ),
        _wide_clusters,
    ),
    Plant(
        37,
        "targets below the bounds are not cut off",
        _FAMILY,
        "the squares of targets in a held-out score move without limit",
        ("held-out-score",),
        edited(
            "dither.learn.selection.scored:HeldOutScore.sums",
            (
                "np.clip(np.where(np.isnan(labels), middle, labels), low, high)",
                "np.minimum(np.where(np.isnan(labels), middle, labels), high)",
            ),
            ("np.clip((targets - middle) / span, -0.5, 0.5)", "np.minimum((targets - middle) / span, 0.5)"),
        ),
        _held_out,
    ),
)
