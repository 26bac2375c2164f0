"""The method for a count is chosen by public facts, and predicted errors are those that are measured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dither.data import DataSet
from dither.data.files import schema_from
from dither.errors import InvalidParameter
from dither.lift.edges import EdgeWeights
from dither.lift.offer import Offer
from dither.mechanisms import Geometric, SmoothCauchy
from dither.noise import system_noise
from dither.privacy import NODE, ROW, ZCDP, ApproxDP, PureDP
from dither.publish.choose_graph import choose_graph
from dither.publish.graphs import LadderCount, LocalCount
from dither.publish.graphs.choosing import choose_count
from dither.publish.graphs.further_plans import plan_weights
from dither.publish.graphs.node_planning import node_method
from dither.verbs.offers import Offers


def test_edges_and_tiny_graphs_take_noise_for_the_worst_case_and_others_a_ladder() -> None:
    assert choose_count(PureDP(1), nodes=1000, pattern="edges").method == "laplace"
    assert choose_count(PureDP(1), nodes=4, pattern="triangles").method == "laplace"
    choice = choose_count(PureDP(1), nodes=1000, pattern="cliques", k=4)
    assert choice.method == "ladder"
    assert choice.errors["ladder"] is None
    # Where one edge may move the count by nearly everything, the worst case is the better bet.
    assert choose_count(PureDP(1), nodes=1000, pattern="triangles", moves=998).method == "laplace"
    with pytest.raises(InvalidParameter, match="moves"):
        choose_count(PureDP(1), nodes=1000, pattern="triangles", moves=999)


def test_few_nodes_take_noise_for_the_worst_case_where_the_narrowest_ladder_is_wider() -> None:
    found = choose_count(PureDP("0.1"), nodes=6, pattern="triangles")
    assert found.method == "laplace"
    assert "so few nodes" in found.because
    assert choose_count(PureDP(10), nodes=60, pattern="triangles").method == "ladder"


def test_a_tree_is_released_by_the_method_that_errs_less_in_the_worst_graph() -> None:
    """Widths are private: what is compared is a ladder as wide as the declared weights, and noise for them."""
    for nodes in (20, 400):
        source = EdgeWeights(described("weight", nodes=nodes), "friends")
        taken = {
            epsilon: plan_weights(source, PureDP(epsilon), "spanning-tree", start=None, end=None).method.name
            for epsilon in ("0.1", 1, 4, 10, 50)
        }
        assert [taken[each] for each in ("0.1", 1, 4)] == ["weighted-length"] * 3
        assert [taken[each] for each in (10, 50)] == ["spanning-tree-cost"] * 2
    for method, name in (("ladder", "spanning-tree-cost"), ("laplace", "weighted-length")):
        for epsilon in (1, 50):
            made = plan_weights(source, PureDP(epsilon), "spanning-tree", start=None, end=None, method=method)
            assert made.method.name == name
    gaussian = plan_weights(source, ZCDP("1/8"), "spanning-tree", start=None, end=None)
    assert gaussian.method.name == "weighted-length"


@pytest.mark.statistical(n=20_001, false_alarm=1e-12, catches="a choice of the method that errs more")
def test_in_the_worst_graph_the_chosen_method_of_a_tree_errs_less() -> None:
    """On a path every edge is a bridge. Medians differ by more than a fifth at both losses."""
    source = EdgeWeights(described("weight", nodes=20, longest=999), "friends")
    for epsilon in (1, 20):
        errors, chosen = {}, plan_weights(source, PureDP(epsilon), "spanning-tree", start=None, end=None)
        for method in ("ladder", "laplace"):
            made: Any = plan_weights(source, PureDP(epsilon), "spanning-tree", start=None, end=None, method=method)
            part = made.method.part if method == "ladder" else made.method.noise
            value = np.concatenate([[0], np.full(part.rungs, 999)]) if method == "ladder" else 0
            drawn = part.draw_many(value, 20_001, system_noise())
            errors[made.method.name] = float(np.median(np.abs(np.asarray(drawn, dtype=np.float64))))
        assert chosen.method.name == min(errors, key=lambda name: errors[name])


@pytest.mark.statistical(n=20_001, false_alarm=1e-12, catches="a prediction that is off by a tenth")
def test_predicted_medians_are_those_of_the_noise() -> None:
    """A median of n draws has ranks within 0.5 +- 0.026 but with a chance of 1e-12: less than a tenth in value."""
    nodes, moves, draws = 1000, 40, 20_001
    facts: dict[str, Any] = {"nodes": nodes, "pattern": "triangles"}
    errors = choose_count(ApproxDP(1, "1e-6"), **facts, moves=moves).errors
    part = LadderCount.calibrated(PureDP(1), **facts).part
    widths = np.minimum(moves + np.arange(part.rungs), nodes - 2)
    local = LocalCount.calibrated(ApproxDP(1, "1e-6"), **facts).part
    drawn = {
        "ladder": part.draw_many(np.concatenate([[0], widths]), draws, system_noise()),
        "noisy-local": local.draw_many([0, moves, 0], draws, system_noise())[:, 0],
        "smooth": SmoothCauchy.calibrated(PureDP(1), least=1).draw_many([0, moves], draws, system_noise()),
    }
    for method, out in drawn.items():
        median = float(np.median(np.abs(np.asarray(out, dtype=np.float64))))
        assert errors[method] == pytest.approx(median, rel=0.15)


@pytest.mark.parametrize(
    ("what", "given", "method"),
    [
        ("edges", {}, "laplace"),
        ("triangles", {"moves": 50}, "ladder"),
        ("degrees", {}, "degree-tail"),
        ("synthesize", {"edges": 10**4}, "clustered"),
        ("edges", {"unit": NODE, "degree": 100}, "chosen-edges"),
        ("degrees", {"unit": NODE, "degree": 100}, "chosen-degrees"),
        ("stars", {"unit": NODE, "degree": 100, "k": 2}, "chosen-stars"),
        ("triangles", {"unit": NODE, "degree": 100}, "chosen-triangles"),
    ],
)
def test_any_release_of_a_graph_is_chosen_by_public_facts(what: str, given: dict[str, Any], method: str) -> None:
    found = choose_graph(what, 5000, epsilon=1, **given)
    assert found.method == method
    assert found.because


def test_what_is_chosen_is_what_auto_takes() -> None:
    for nodes, degree in ((5000, 100), (50_000, 4000)):
        source: Any = SimpleNamespace(nodes=nodes)
        for what in ("edges", "degrees", "triangles", "stars"):
            k = 2 if what == "stars" else 0
            taken = node_method(PureDP(1), source, degree, what, k, "auto")
            assert choose_graph(what, nodes, epsilon=1, unit=NODE, degree=degree, k=k).method == taken.name
    few: Any = SimpleNamespace(nodes=60)
    for what, k in (("k-triangles", 2), ("cliques", 4), ("degree-sum", 0)):
        taken = node_method(PureDP(1), few, 20, what, k, "auto", (1, 2))
        assert choose_graph(what, 60, epsilon=1, unit=NODE, degree=20, k=k).method == taken.name


def test_what_cannot_be_chosen_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="what"):
        choose_graph("assortativity", 5000, epsilon=1, unit=NODE)
    with pytest.raises(InvalidParameter, match="nodes"):
        choose_graph("cliques", 5000, epsilon=1, unit=NODE, k=4)
    with pytest.raises(InvalidParameter, match="what"):
        choose_graph("paths", 5000, epsilon=1)
    with pytest.raises(InvalidParameter, match="unit"):
        choose_graph("edges", 5000, epsilon=1, unit=ROW)


def described(unit: str, *, nodes: int = 500, longest: int = 9, **graph: Any) -> DataSet:
    columns: dict[str, Any] = {name: {"kind": "integer", "bounds": [0, nodes - 1]} for name in ("one", "other")}
    facts: dict[str, Any] = {"ends": ["one", "other"], **graph}
    if unit == "weight":
        columns["long"], facts["weight"] = {"kind": "integer", "bounds": [0, longest]}, "long"
    table = {"source": "absent.csv", "graph": facts, "columns": columns}
    return schema_from({"dataset": "friends", "unit": unit, "tables": {"friends": table}})


def answered(dataset: DataSet, what: str, **arguments: Any) -> Offer[Any]:
    """Return the offer of a verb about a graph."""
    found: Offer[Any] = getattr(Offers(dataset).graph(), what)(**arguments)
    return found


def test_an_offer_says_how_far_it_may_be_off_and_the_file_need_not_be_there() -> None:
    edges, people = described("edge"), described("node", degree=50)
    noise = Geometric(scale=1).error("0.95")
    assert answered(edges, "edges", epsilon=1).expected == (
        f"the absolute error is at most {noise.value:g} in 95 % of cases"
    )
    # Where one edge may push out another everything is off by twice as much.
    for what, limited in (("edges", "at most 6 "), ("triangles", "median about 34 if")):
        assert limited in answered(described("edge", edges=1000), what, epsilon=1).expected
    for method in ("ladder", "smooth", "noisy-local"):
        said = answered(edges, "triangles", epsilon=1, delta="1e-6", method=method).expected
        assert said.count("if one edge moves the count by") == 3
        assert said.endswith("498, the most in any graph")
    for what, more in (("edges", {}), ("triangles", {}), ("stars", {"k": 2}), ("degree_sum", {"worth": [1]})):
        said = answered(people, what, epsilon=1, **more).expected
        assert said.startswith("median of the noise")
    for what, method in (("degrees", "auto"), ("triangles", "race"), ("triangles", "recursive")):
        assert answered(people, what, epsilon=1, method=method).expected.startswith("not known before: ")
    assert "not known before" in answered(edges, "clustering", epsilon=1).expected
    assert "not known before" in Offers(edges).graph().synthesize(epsilon=1).expected
    assert "median" in answered(edges, "degrees", epsilon=1).expected


def test_a_delta_beside_an_epsilon_never_makes_a_length_worse() -> None:
    roads = described("weight")
    for what, ends in (("spanning_tree", {}), ("path", {"start": 0, "end": 9})):
        pure, with_delta = (
            answered(roads, what, epsilon=1, delta=delta, **ends).mechanism.error("0.95") for delta in (None, "1e-6")
        )
        assert with_delta.value <= pure.value
