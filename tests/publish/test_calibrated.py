"""Whatever a target is stated in, the method that is made for it is within it, or the target is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, NoGuarantee
from dither.lift.attributes import Attributes
from dither.mechanisms import PrefixSums, PublicArray, registered
from dither.mechanisms.core.mechanism import Mechanism
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.release import perform
from dither.privacy import ROW, ZCDP, ApproxDP, GaussianDP, Loss, PureDP
from dither.privacy.losses import states_rho
from dither.publish import (
    graphs,
    histograms,
    interactive,
    marginals,
    microdata,
    places,
    retrieval,
    streams,
    synthetic,
    workloads,
)
from dither.publish.graphs import synthesis
from dither.publish.microdata.taxonomy import Taxonomy
from dither.publish.workloads.matrices import Identity
from dither.publish.workloads.workload import Strategy, Workload

Method = Mechanism[Any, Any]
BITS = Attributes.of({"a": 2, "b": 2, "c": 2})
LINE = PublicArray([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
TREE = Taxonomy.balanced(["x", "y", "z"])
ASKED = Workload.prefixes(3)
TARGETS: tuple[Loss, ...] = (
    PureDP(1),
    PureDP(1, rho="1/100"),
    ZCDP("1/10"),
    ApproxDP(1, "1e-6"),
    ApproxDP(1, "1e-6", rho="1/1000"),
    # Rationals that do not fit into a scale of 64 bits, and roots that do not end.
    PureDP("314159265358979/1000000000000000"),
    ZCDP("314159265358979/10000000000000000"),
)

_H, _M, _D, _S, _W = histograms, marginals, microdata, synthetic, workloads
_PAIRS: dict[str, Any] = {"attributes": BITS, "marginals": BITS.every(2)}
_QUERIES: dict[str, Any] = {"workload": ASKED, "sensitivity": 1}
#: What each method is made for, at distance 1.
METHODS: dict[type[Method], dict[str, Any]] = {
    PrefixSums: {"steps": 9, "sensitivity": 1},
    graphs.ChosenCopies: {"nodes": 6, "bounds": (1, 2)},
    graphs.ChosenDegreeSum: {"nodes": 6, "worth": (1, 2), "bounds": (1, 2)},
    graphs.ChosenDegrees: {"nodes": 6, "bounds": (1, 2)},
    graphs.ChosenEdges: {"nodes": 6, "bounds": (1, 2)},
    graphs.ChosenStars: {"nodes": 6, "k": 2, "bounds": (2, 3)},
    graphs.ChosenTriangles: {"nodes": 6, "bounds": (1, 2)},
    graphs.DegreeHistogram: {"nodes": 6},
    graphs.DegreeSequence: {"nodes": 6},
    graphs.DegreeTail: {"nodes": 6},
    graphs.DegreeVector: {"nodes": 6},
    graphs.FlowEdges: {"nodes": 6, "degree": 2},
    graphs.GraphRace: {"nodes": 6, "pattern": "edges", "bounds": (1, 2)},
    graphs.GraphRatio: {"nodes": 6, "ratio": "clustering"},
    graphs.LadderCount: {"nodes": 6, "pattern": "triangles"},
    graphs.LaplaceCount: {"nodes": 6, "pattern": "triangles"},
    graphs.LocalCount: {"nodes": 6, "pattern": "triangles"},
    graphs.ProjectedDegrees: {"nodes": 6, "degree": 2},
    graphs.ProjectedEdges: {"nodes": 6, "degree": 2},
    graphs.SpanningTreeCost: {"nodes": 6, "high": 4},
    graphs.WeightedLength: {"nodes": 6, "high": 4},
    graphs.TruncatedCount: {"nodes": 6, "degree": 2},
    graphs.TruncatedEdges: {"nodes": 6, "degree": 2},
    graphs.QuickTriangles: {"nodes": 6, "bounds": (1, 2)},
    graphs.RecursiveCount: {"nodes": 6},
    graphs.RestrictedCount: {"nodes": 6, "pattern": "triangles", "degree": 3},
    graphs.SmoothCount: {"nodes": 6, "pattern": "triangles"},
    interactive.CutConversation: {"nodes": 6},
    interactive.DisjunctionConversation: {"attributes": BITS},
    interactive.DistanceConversation: {"metric": LINE},
    synthesis.ClusteredGraph: {"nodes": 6},
    synthesis.CommunityGraph: {"nodes": 6},
    synthesis.DegreeGraph: {"nodes": 6},
    synthesis.DensityGraph: {"nodes": 6},
    synthesis.ErgmStatistics: {"nodes": 6},
    synthesis.GrownHierarchy: {"nodes": 6},
    synthesis.HierarchicalGraph: {"nodes": 6},
    synthesis.JointDegreeGraph: {"nodes": 6},
    synthesis.KroneckerGraph: {"nodes": 6},
    synthesis.TopEdgesGraph: {"nodes": 6},
    synthesis.WeightedQuery: {"nodes": 6, "query": "triangles"},
    synthesis.GraphUpdate: {"nodes": 6, "asked": PublicArray([0, 3])},
    interactive.IterativeConstruction: {"attributes": BITS},
    interactive.MinimisingConversation: {"cells": 4, "candidates": 3, "top": 2},
    interactive.ModelFirst: {"attributes": BITS},
    interactive.ProductFirst: {"attributes": BITS},
    interactive.PublishedModel: {"shape": 3, "queries": PublicArray(np.eye(3, dtype=int)), "sensitivity": 1},
    places.FlowTable: {"shape": (3, 3)},
    places.GridJourneys: {"shape": (2, 3), "length": 3},
    places.JourneySynthesis: {"shape": (2, 3), "length": 3},
    places.MarkovJourneys: {"shape": (2, 3), "length": 3},
    places.PrefixJourneys: {"shape": (2, 3), "length": 3},
    places.RegionCentres: {"side": 4},
    places.TimedJourneys: {
        "build": lambda loss: places.MarkovJourneys.calibrated(loss, shape=(2, 3), length=3),
        "times": 2,
    },
    retrieval.SharedVector: {"shape": (2, 3)},
    streams.DriftPublisher: {"drift": 3, "republications": 2, "steps": 9, "sensitivity": 1},
    streams.FourierSeries: {"steps": 9, "waves": 2, "sensitivity": 1},
    streams.SlidingWindow: {"steps": 9, "width": 3, "sensitivity": 1},
    _H.AdaptiveGrid: {"shape": (4, 4)},
    _H.BisectedHistogram: {"cells": 5},
    _H.ClusteredHistogram: {"shape": 5},
    _H.Dawa: {"cells": 5},
    _H.DpCube: {"shape": (3, 3)},
    _H.EquiWidthHistogram: {"shape": 6, "widths": 2},
    _H.HierarchicalHistogram: {"cells": 9},
    _H.IdentityHistogram: {"shape": (2, 3)},
    _H.MedianTree: {"shape": (4, 4), "depth": 2},
    _H.MergedHistogram: {"cells": 5},
    _H.MostLikelyHistogram: {"cells": 5},
    _H.PrivTree: {"side": 4},
    _H.PrunedHistogram: {"cells": 9},
    _H.PrunedPlane: {"shape": (4, 4)},
    _H.QuadTree: {"shape": (4, 4)},
    _H.SortedHistogram: {"cells": 5},
    _H.SparseHistogram: {"cells": 100},
    _H.StabilityHistogram: {"unit": ROW, "width": 1},
    _H.StructureFirst: {"cells": 5, "buckets": 2, "bound": 10},
    _H.UniformGrid: {"shape": (4, 4)},
    _H.UniformHistogram: {"shape": 5},
    _M.ContingencyTable: _PAIRS,
    _M.DataCubes: _PAIRS,
    _M.FourierMarginals: _PAIRS,
    _M.NoisyMarginals: _PAIRS,
    _M.PriView: {"attributes": BITS},
    _M.ResidualPlanner: _PAIRS,
    _D.DiffGen: {"attributes": Attributes.of({"t": 3, "class": 2}), "trees": [TREE], "class_attribute": "class"},
    _D.DiffPart: {"taxonomy": TREE},
    _D.MomentGrouping: {"attributes": BITS},
    _D.PerturbedRows: {"attributes": BITS, "rows": 5},
    _D.PrivFuzzy: {"attributes": BITS},
    _S.AdaptiveIterative: {"attributes": BITS},
    _S.AllPairs: {"attributes": BITS},
    _S.BoostedQueries: {"attributes": BITS},
    _S.DualQuery: {"attributes": BITS},
    _S.GaussianCopula: {"attributes": BITS},
    _S.GraphicalMwem: {"attributes": BITS},
    _S.IndependentMarginals: {"attributes": BITS},
    _S.JunctionTreeSynthesis: {"attributes": BITS},
    _S.MaximumSpanningTree: {"attributes": BITS},
    _S.Mwem: {"attributes": BITS},
    _S.ParentChild: {"parents": Attributes.of({"a": 2}), "children": Attributes.of({"b": 2, "c": 2}), "most": 3},
    _S.PrivBayes: {"attributes": BITS},
    _S.SmallDatabase: {"attributes": BITS},
    _W.EigenDesign: _QUERIES,
    _W.GaussianFactorisation: _QUERIES,
    _W.GroupingAndSmoothing: {"columns": 6, "width": 2, "sensitivity": 1},
    _W.Hdmm: {**_QUERIES, "iterations": 2},
    _W.IReduct: {**_QUERIES, "floor": 1},
    _W.LowRank: _QUERIES,
    _W.MatrixMechanism: {**_QUERIES, "strategy": Strategy(Identity(3))},
    _W.OrthogonalMechanism: _QUERIES,
    _W.Privelet: {"shape": (5,), "sensitivity": 1},
    _W.TwoPhase: {**_QUERIES, "floor": 1},
    _W.WeightedMarginals: {"workload": Workload.marginals((2, 2, 2), 2), "sensitivity": 1},
}
#: Registered methods that are made for cells of an engine, with tests of their own.
OVER_ENGINES = {"CountedMarginals", "CountedSparse", "LiftedConversation", "PerturbedTable"}
#: Whose epsilon is one of a metre, a pair or a visit, and not of counts: tested in their rooms.
BY_OTHER_UNITS = {"PairResponse", "ReplacedVisit"}
#: Made for a method that is built within, with tests of its own.
AROUND_OTHERS = {"FoundBins"}
ONLY_GAUSSIAN = {_M.ResidualPlanner, _S.AllPairs, _W.EigenDesign, _W.GaussianFactorisation}
ONLY_PURE = {_W.IReduct, _W.TwoPhase}
ONLY_WITH_DELTA = {_H.StabilityHistogram, graphs.LocalCount}
#: Methods that spend a budget step by step, the name of the field, and data.
SPENDERS: dict[type[Any], tuple[str, Any]] = {
    **{
        method: ("budget", np.array([[0, 1, 1], [1, 1, 0], [5, -3, 0]]))
        for method in (_S.AdaptiveIterative, _S.Mwem, _S.GraphicalMwem, _S.PrivBayes, _D.PrivFuzzy)
    },
    _S.JunctionTreeSynthesis: ("clusters", np.array([[0, 1, 1], [1, 1, 0]])),
    _D.DiffGen: ("budget", np.array([[0, 1], [2, 0]])),
    _D.DiffPart: ("budget", np.array([[1, 0, 1], [0, 0, 0]])),
}


def made(method: type[Any], target: Loss) -> Any:
    return method.calibrated(target, **METHODS[method])


def is_for(method: type[Method], target: Loss) -> bool:
    if method in ONLY_WITH_DELTA:
        return isinstance(target, ApproxDP)
    is_pure = Purse.within(target).is_pure
    return not (method in ONLY_GAUSSIAN and is_pure) and not (method in ONLY_PURE and not is_pure)


def test_every_method_that_is_made_for_a_target_is_tried() -> None:
    published = {
        entry.mechanism.__name__
        for entry in registered().values()
        if entry.mechanism.__module__.startswith("dither.publish.") and hasattr(entry.mechanism, "calibrated")
    }
    assert published - OVER_ENGINES - BY_OTHER_UNITS - AROUND_OTHERS == {method.__name__ for method in METHODS} - {
        "PrefixSums"
    }


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_a_method_is_within_the_target_it_was_made_for_and_uses_half_of_it(method: type[Any]) -> None:
    for target in TARGETS:
        if not is_for(method, target):
            with pytest.raises((NoGuarantee, InvalidParameter)):
                made(method, target)
            continue
        found = made(method, target)
        assert found.loss(1) <= target
        # Many small epsilons have less rho together than their sum: where both are stated, some of either is left.
        assert states_rho(target) or not found.loss(2) <= target
    # Neither an epsilon nor a rho promises the curve of Gaussian noise.
    with pytest.raises((NoGuarantee, InvalidParameter)):
        made(method, GaussianDP(1))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
def test_a_method_is_within_a_loss_of_very_long_fractions(method: type[Any]) -> None:
    """Sums of fractions of more than 2048 bits are rounded up, so that shares of the whole may be more than it."""
    target = PureDP(Fraction(3**950 + 1, 2**1507 + 7**530))
    if is_for(method, target):
        found = made(method, target)
        assert found.loss(1) <= target
        assert not found.loss(2) <= target


@pytest.mark.parametrize("method", SPENDERS, ids=lambda method: method.__name__)
def test_a_rho_beside_the_epsilon_of_a_budget_is_kept_while_it_is_spent(method: type[Any]) -> None:
    name, data = SPENDERS[method]
    budget = PureDP(3, rho="1/100")
    assert perform(replace(made(method, PureDP(3)), **{name: budget}), data, stability=1) is not None
