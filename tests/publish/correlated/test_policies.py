"""Policies: sensitivities against all edges, errors against covariances, losses against all small tables, a session."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.data import DataSet
from dither.data.files import dump_schema, loads
from dither.data.policies import Policy, policy_of
from dither.data.reference import ReferenceEngine
from dither.errors import InvalidParameter, InvalidSchema
from dither.lift.policies import PolicyQueries, PolicySums
from dither.privacy import L1, VALUE, ZCDP, PureDP
from dither.publish.correlated.policy_plans import RangeVariances, cells_of_sums, plan_policy_histogram
from dither.publish.histograms import HierarchicalHistogram
from dither.publish.queries.builder import col
from dither.publish.workloads import Workload
from dither.verbs.offers import Offers
from tests.one_importer import one_importer

LINE = "{columns: [wage], graph: line}"
STEPS = "{columns: [wage], graph: threshold, threshold: %d}"
FULL = "{columns: [wage], graph: full}"
BLOCKS = '{columns: [wage], graph: partition, starts: ["3", "8"]}'
BOTH = "{columns: [wage, age], graph: %s}"


@pytest.fixture(scope="module", autouse=True)
def importing() -> Iterator[None]:
    with one_importer():
        yield


def wages(policy: str, cells: int = 12) -> DataSet:
    return loads(f"""
dataset: wages
unit: value
tables:
  people:
    source: people.csv
    policy: {policy}
    columns: {{wage: {{kind: integer, bounds: [0, {cells - 1}]}}, age: {{kind: integer, bounds: [0, 3]}}}}
""")


def slow_edges(dataset: DataSet) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the edges of a policy by its definition: every pair of cells is looked at."""
    table, policy = policy_of(dataset)
    shape = policy.shape(table)
    found = set()
    for x, y in itertools.permutations(itertools.product(*map(range, shape)), 2):
        steps = [abs(a - b) for a, b in zip(x, y, strict=True)]
        block = [sum(a >= int(start) for start in policy.starts) for a in (x[0], y[0])]
        reach = {"line": 1, "threshold": policy.threshold, "grid": policy.threshold}.get(policy.graph) or max(shape)
        is_one_column = sum(map(bool, steps)) == 1
        joined = {
            "full": True,
            "attribute": is_one_column,
            "line": is_one_column and max(steps) <= reach,
            "threshold": is_one_column and max(steps) <= reach,
            "grid": sum(steps) <= reach,
            "partition": block[0] == block[1],
        }
        if joined[policy.graph]:
            found.add((x, y))
    return found


POLICIES = [
    *(LINE, STEPS % 3, FULL, BLOCKS),
    *(BOTH % "full", BOTH % "attribute", BOTH % "line", BOTH % "grid, threshold: 2", BOTH % "threshold, threshold: 2"),
]


@pytest.mark.parametrize("policy", POLICIES)
def test_edges_are_those_of_the_definition(policy: str) -> None:
    dataset = wages(policy, 10)
    table, declared = policy_of(dataset)
    shape, starts = declared.shape(table), tuple(declared.block_starts(table))
    places = list(itertools.product(*map(range, shape)))
    listed = [
        pair
        for here, there in declared.edges(shape, starts)
        for x, y in zip(here.tolist(), there.tolist(), strict=True)
        for pair in ((places[x], places[y]), (places[y], places[x]))
    ]
    assert len(listed) == len(set(listed))
    assert set(listed) == slow_edges(dataset)
    assert declared.count(shape, starts) >= len(listed) / 2


@pytest.mark.parametrize("policy", POLICIES)
def test_sensitivities_are_the_largest_differences_over_all_edges(policy: str) -> None:
    dataset = wages(policy)
    table, declared = policy_of(dataset)
    shape = declared.shape(table)
    places = {cell: number for number, cell in enumerate(itertools.product(*map(range, shape)))}
    edges = [(places[x], places[y]) for x, y in slow_edges(dataset)]
    one_column = [((), 2, 1), ((1, 1), 2, 3), ((2, 1, 1), 2, 0), ((1,), 4, 2), ((3, 1), 3, 2)]
    for weights, branching, ordered in [((1,), 2, 0), *(one_column if len(shape) == 1 else [])]:
        source = PolicySums(dataset, weights, branching, ordered)
        matrix = np.stack([source.of_counts(unit) for unit in np.eye(len(places), dtype=np.int64)])
        one = max(int(np.abs(matrix[x] - matrix[y]).sum()) for x, y in edges)
        two = max(int(((matrix[x] - matrix[y]) ** 2).sum()) for x, y in edges)
        assert source.moved_by_edge == (max(one, 1), max(two, 1))
        if len(matrix.T) <= 64:
            assert PolicyQueries(dataset, tuple(map(tuple, matrix.T.tolist()))).moved_by_edge == source.moved_by_edge


def test_large_entries_do_not_overflow() -> None:
    dataset = wages(LINE, 3)
    far = PolicyQueries(dataset, ((2**32, -(2**32), 0), (-(2**32), 2**32, 0)))
    assert far.moved_by_edge == (2**34, 2 * 2**66)
    # Answers that do not fit are cut off at the same place on both sides: neighbours come no farther apart.
    answers = far.of_counts(np.array([2**40, 0, 0]))
    assert answers[0] == -answers[1] >= 2**59


@pytest.mark.parametrize("policy", [LINE, STEPS % 2, FULL, '{columns: [wage], graph: partition, starts: ["2"]}'])
@pytest.mark.parametrize("shape", [((), 2, 1), ((1,), 2, 0), ((1,), 2, 2)])
def test_the_loss_is_the_largest_ratio_over_all_small_tables(
    policy: str, shape: tuple[tuple[int, ...], int, int]
) -> None:
    # All tables of three rows over four values; the ratio of laws with independent noise on integers is a sum.
    dataset, epsilon = wages(policy, 4), 1.0
    source = PolicySums(dataset, *shape)
    allowed = slow_edges(dataset)
    scale = float(plan_scale(dataset, shape))
    worst = 0.0
    for rows in itertools.product(range(4), repeat=3):
        for value in range(4):
            if ((rows[0],), (value,)) in allowed:
                here = source.of_counts(np.bincount(rows, minlength=4))
                there = source.of_counts(np.bincount((value, *rows[1:]), minlength=4))
                # Reached by an answer that lies beyond both, entry by entry, on the side of one of them.
                worst = max(worst, float(np.abs(here - there).sum()) / scale)
    assert 0.9 * epsilon <= worst <= epsilon


def plan_scale(dataset: DataSet, shape: tuple[tuple[int, ...], int, int]) -> Fraction:
    """Return the scale at which a release loses epsilon 1."""
    from dither.mechanisms.core.purse import Purse

    source = PolicySums(dataset, *shape)
    return Purse.within(PureDP(1)).geometric_noise(source.moves()[L1]).scale


@pytest.mark.parametrize("cells", [16, 12])
@pytest.mark.parametrize(
    ("weights", "branching", "ordered"),
    [((1,), 2, 0), ((), 2, 1), ((1, 1), 2, 3), ((2, 1), 2, 0), ((1,), 4, 2), ((3, 1), 2, 2)],
)
def test_variances_of_ranges_are_those_of_the_estimate(
    cells: int, weights: tuple[int, ...], branching: int, ordered: int
) -> None:
    source = PolicySums(wages(STEPS % 3, cells), weights, branching, ordered)
    estimate = np.stack([cells_of_sums(source, row) for row in np.eye(source.size)])
    covariance, known = estimate.T @ estimate, RangeVariances(source, 1.0)
    found = []
    for first, last in itertools.combinations(range(cells + 1), 2):
        found.append(float(covariance[first:last, first:last].sum()))
        assert known.of_range(first, last) == pytest.approx(found[-1])
    assert known.mean == pytest.approx(np.mean(found))
    assert known.worst_cell >= np.diag(covariance).max() - 1e-9
    counts = np.arange(cells) ** 2 % 7
    assert cells_of_sums(source, source.of_counts(counts).astype(float)) == pytest.approx(counts)


def test_ordered_sums_are_far_better_than_a_tree_for_a_line() -> None:
    # Rows replaced on the other side: a value may become any other.
    tree = HierarchicalHistogram.calibrated(PureDP("1/2"), cells=4096).mean_range_variance
    line = plan_policy_histogram(wages(LINE, 4096), PureDP(1))
    assert line.shape.method == "ordered"
    assert math.sqrt(line.variances.mean / tree) <= 0.075


@pytest.mark.parametrize("threshold", [1, 4, 14, 15, 16, 64, 1024, 4096])
def test_auto_is_as_good_as_the_better_of_sums_and_tree(threshold: int) -> None:
    dataset = wages(STEPS % threshold, 4096)
    best = plan_policy_histogram(dataset, PureDP(1)).variances.mean
    tree = HierarchicalHistogram.calibrated(PureDP("1/2"), cells=4096).mean_range_variance
    ordered = plan_policy_histogram(dataset, PureDP(1), method="ordered").variances.mean
    assert math.sqrt(best) <= 1.02 * math.sqrt(min(tree, ordered))


def test_rows_are_counted_by_their_declared_values() -> None:
    dataset = wages(BOTH % "grid, threshold: 2", 4)
    source = PolicySums(dataset, (1,))
    rows = [{"wage": wage, "age": age} for wage, age in ((0, 0), (0, 0), (3, 3), (9, 1), (-5, 2), (None, 1), (1, None))]
    counts = source.counts(ReferenceEngine(dataset, {"people": rows})).reshape(4, 4)
    assert (counts.sum(), counts[0, 0], counts[3, 3], counts[3, 1], counts[0, 2]) == (5, 2, 1, 1, 1)


@pytest.mark.parametrize("policy", POLICIES)
def test_schemas_with_policies_are_written_and_read_back(policy: str) -> None:
    dataset = wages(policy)
    assert loads(dump_schema(dataset)) == dataset
    assert dataset.unit == VALUE
    assert dataset.unit.is_relaxed


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        ("{columns: [wage], graph: circle}", "one of full"),
        ("{columns: [wage], graph: threshold}", "required for threshold"),
        ("{columns: [wage], graph: line, threshold: 2}", "not allowed otherwise"),
        ("{columns: [wage], graph: threshold, threshold: 0}", "threshold"),
        ("{columns: [wage], graph: partition}", "required for a partition"),
        ('{columns: [wage], graph: partition, starts: ["0"]}', "without the first one"),
        ('{columns: [wage], graph: partition, starts: ["8", "3"]}', "in its order"),
        ('{columns: [wage], graph: partition, starts: ["99"]}', "a declared value"),
        ("{columns: [wage, wage], graph: line}", "different columns"),
        ("{columns: [size], graph: line}", "a column with categories"),
    ],
)
def test_policies_that_are_not_declared_rightly_are_refused(policy: str, rule: str) -> None:
    with pytest.raises(InvalidSchema, match=rule):
        wages(policy)


def test_a_policy_is_never_the_unit_of_rows() -> None:
    text = dump_schema(wages(LINE))
    with pytest.raises(InvalidSchema, match="the unit of the data set is value"):
        loads(text.replace("unit: value", "unit: row"))
    with pytest.raises(InvalidSchema, match="policy"):
        loads(text.replace("    policy:\n      columns: [wage]\n      graph: line\n", ""))


def test_parts_that_no_path_connects_are_named() -> None:
    offer = Offers(wages(BLOCKS)).histogram("people", "wage", epsilon=1)
    assert offer.unit == "values moved (along the declared policy): partition of 3 blocks over wage"
    # The number of rows of a block never moves; it is released with noise nevertheless.
    block = [1] * 3 + [0] * 9
    assert PolicyQueries(wages(BLOCKS), (tuple(block),)).moves()[L1] == 1


def test_too_many_pairs_are_refused_before_anything_is_read() -> None:
    with pytest.raises(InvalidParameter, match="ask for a histogram instead"):
        PolicyQueries(wages(FULL, 2**15), ((1,) * 2**15,))
    assert Policy(("wage",), "full").count((2**14,)) == 2**13 * (2**14 - 1)


def session_of(folder: Path) -> Session:
    rows = [f"{number % 13},{number % 4}" for number in range(260)]
    (folder / "people.csv").write_text("\n".join(["wage,age", *rows]) + "\n")
    (folder / "wages.yaml").write_text(dump_schema(wages(LINE)))
    curator = Curator.create(folder / "home", anchors=folder / "anchors")
    curator.add(folder / "wages.yaml", budget=PureDP(10**6))
    return curator.session("wages", analyst="ana")


def test_a_session_answers_under_a_policy_and_names_it(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    said = "values moved (along the declared policy): line over wage"
    text = "SELECT COUNT(*) AS n, SUM(wage) AS total FROM people WHERE wage BETWEEN 3 AND 5"
    assert session.quote(text, epsilon=10_000).unit == said
    result = session.sql(text, epsilon=10_000, key="one")
    assert (result.rows[0], result.unit, str(result.loss)) == ((60, 240), said, "epsilon = 10000")
    assert session.sql(text, epsilon=10_000, key="one").receipt == result.receipt
    grouped = session.sql("SELECT wage, COUNT(*) AS n FROM people GROUP BY wage", epsilon=10_000)
    assert [row[1] for row in grouped.rows] == [20] * 11 + [40]
    counted = session.histogram("people", "wage", epsilon=10_000)
    assert np.allclose([row[1] for row in counted.rows], [20] * 11 + [40], atol=0.1)
    assert any("Not hidden: the number of rows" in note for note in counted.notes)
    asked = session.workload("people", "wage", Workload.prefixes(12), epsilon=10_000)
    assert asked.rows[0][1] == 20
    built = session.ask(session.table("people").where(col("wage") < 2).count("n"), epsilon=10_000)
    assert built.rows[0][0] == 40
    assert str(session.balance().spent) == "epsilon = 50000"
    assert session.balance().unit == "values moved (along the declared policy)"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT COUNT(*) FROM people WHERE age = 1", "a condition on age"),
        ("SELECT age, COUNT(*) FROM people GROUP BY age", "groups of age"),
        ("SELECT SUM(age) FROM people", "the sum of age"),
        ("SELECT AVG(wage) FROM people", "MEAN"),
        ("SELECT COUNT(*) + 1 FROM people", "computed columns"),
    ],
)
def test_what_a_policy_does_not_protect_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidParameter, match=why):
        Offers(wages(LINE)).sql(text, epsilon=1)


def test_other_verbs_and_options_are_refused_under_a_policy() -> None:
    offers = Offers(wages(LINE))
    with pytest.raises(InvalidParameter, match="others have no price under it"):
        offers.synthesize("people", epsilon=1)
    with pytest.raises(InvalidParameter, match="those of the policy"):
        offers.histogram("people", "age", epsilon=1)
    with pytest.raises(InvalidParameter, match="not allowed where the data set declares a policy"):
        offers.histogram("people", "wage", bins=3, epsilon=1)
    with pytest.raises(InvalidParameter, match="method"):
        offers.histogram("people", "wage", method="dawa", epsilon=1)
    with pytest.raises(InvalidParameter, match="integer weights"):
        offers.workload("people", "wage", Workload.matrix_of([[0.5] * 12]), epsilon=1)
    # As a command passes them: what is the default says nothing.
    assert str(offers.histogram("people", "wage", epsilon=1, non_negative=True).loss) == "epsilon = 1"
    assert str(offers.histogram("people", "wage", rho="1/2").loss) == str(ZCDP("1/2"))


def test_the_price_of_several_aggregates_shows_the_error_of_each_alone() -> None:
    wages = loads("""
dataset: wages
unit: value
tables:
  people:
    source: people.csv
    policy: {columns: [wage], graph: threshold, threshold: 100}
    columns: {wage: {kind: integer, bounds: [0, 4095]}, town: text}
""")
    offer = Offers(wages).sql("SELECT COUNT(*) AS n, SUM(wage) AS total FROM people", epsilon=1)
    assert callable(offer.expected)
    assert "alone, at the whole of it, n ± 3, total ± 300" in offer.expected()
    for text, reach in (
        ("SELECT COUNT(*) AS n FROM people", "at most 3 "),
        ("SELECT SUM(wage) AS total FROM people", "at most 300 "),
    ):
        alone = Offers(wages).sql(text, epsilon=1).expected
        assert reach in (alone if isinstance(alone, str) else alone())
