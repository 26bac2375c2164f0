"""Every registered mechanism that is made for a loss is within it, or refuses it with an error of ours, at extremes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dither.errors import DitherError, InvalidParameter
from dither.learn.clusters.bootstrap import BootstrapMeans
from dither.learn.linear import MomentClassifier
from dither.learn.linear.minibatch import MinibatchDescent
from dither.learn.selection.disjoint import DisjointTuning
from dither.learn.selection.repeated import RepeatedTuning
from dither.mechanisms import find
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP
from dither.publish.histograms import PrivTree
from dither.publish.workloads import Privelet
from dither.testing.calibrations import calibrated_names, calibrated_with

LOSSES: tuple[Loss, ...] = (
    *(PureDP(epsilon) for epsilon in ("1e-12", 1000, 2**60)),
    *(ApproxDP(epsilon, "1e-9") for epsilon in ("1e-12", 2**60)),
    *(ZCDP(rho) for rho in ("1e-12", 2**60)),
)
#: What is made of a method that is built for the rest of a loss says so: the method is tried by itself.
MADE = calibrated_names()


@pytest.mark.parametrize("room", sorted({find(name).mechanism.__module__.rpartition(".")[0] for name in MADE}))
def test_what_is_made_for_an_extreme_loss_is_within_it(room: str) -> None:
    made = 0
    for name in MADE:
        mechanism: Any = find(name).mechanism
        if mechanism.__module__.rpartition(".")[0] != room:
            continue
        given = calibrated_with(name)
        for loss in LOSSES:
            try:
                lost = mechanism.calibrated(loss, **given).loss(1)
            except DitherError:
                continue
            assert lost <= loss, (name, loss)
            made += 1
    assert made


def test_a_large_epsilon_of_bootstrapped_means() -> None:
    for epsilon in (499, 501, 1000, 2**60):
        made = BootstrapMeans.calibrated(PureDP(epsilon), lower=[0], upper=[1], centres=[[0.5]])
        assert made.loss(1) <= PureDP(epsilon)
        # Where noise is not the least there is: its scale is a whole number of 2^-20 steps.
        assert epsilon > 1000 or made.loss(1).epsilon > epsilon - 1


def test_a_large_epsilon_of_minibatches_ends_soon() -> None:
    made = MinibatchDescent.calibrated(PureDP(2**60), lower=[0], upper=[1], classes=2)
    assert 1000 < made.loss(1).epsilon <= 1024


@pytest.mark.parametrize("epsilon", ["1e-9", 1, 100, 499, 5000])
def test_a_sample_so_rare_that_its_price_is_rounded_is_within_the_loss(epsilon: Any) -> None:
    target = PureDP(epsilon)
    box: dict[str, Any] = {"lower": [0], "upper": [1]}
    for rate in (Fraction(1, 2**50), Fraction(1, 10**28), Fraction(1, 10**100), Fraction(1, 10**400)):
        assert MinibatchDescent.calibrated(target, **box, classes=2, rate=rate).loss(1) <= target
        if rate >= Fraction(1, 2**500):
            assert BootstrapMeans.calibrated(target, **box, centres=[[0.5]], rate=rate, bags=3).loss(1) <= target
    # Its weights are divided by the rate, in floats.
    with pytest.raises(InvalidParameter, match="rate must be a number between"):
        BootstrapMeans.calibrated(target, **box, centres=[[0.5]], rate=rate, bags=3)


def test_the_coefficients_of_a_table_move_farther_than_its_cells() -> None:
    made = Privelet.calibrated(PureDP(2**41), sensitivity=1, shape=(5,))
    assert Fraction(2**40) < made.loss(1).epsilon <= 2**41
    with pytest.raises(InvalidParameter, match=r"within must be an epsilon of at most 2\^40 times the distance"):
        Privelet.calibrated(PureDP(2**60), sensitivity=1, shape=(5,))


@pytest.mark.parametrize("share", [0, 1, -1, 2, "x"])
def test_a_tree_needs_a_part_and_leaves_one(share: Any) -> None:
    with pytest.raises(InvalidParameter, match="share must be"):
        PrivTree.calibrated(PureDP(1), side=4, share=share)


@pytest.mark.parametrize("search", [DisjointTuning, RepeatedTuning])
def test_learners_that_are_dearer_than_their_search_are_refused(search: Any) -> None:
    fits = [MomentClassifier.calibrated(PureDP(1), lower=[0], upper=[1], classes=2) for _ in range(2)]
    with pytest.raises(InvalidParameter, match="candidates must be learners that"):
        search.calibrated(PureDP("1/2"), candidates=fits, classes=2)
    assert search.calibrated(PureDP(3), candidates=fits, classes=2).loss(1) <= PureDP(3)
