"""Marginals: exact stabilities by brute force, variances against dense algebra, the best plan against a search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from dither.errors import InvalidParameter, InvalidValue, NoGuarantee
from dither.mechanisms import DiscreteGaussian, Geometric, from_spec, to_spec
from dither.privacy import L1, L2, ROW, ROW_REPLACED, ZCDP, PureDP
from dither.publish.histograms.common import variance_of
from dither.publish.marginals import (
    Attributes,
    ContingencyTable,
    DataCubes,
    FourierMarginals,
    NoisyMarginals,
    PriView,
    ResidualPlanner,
    agree,
    best_plan,
    choose_cuboids,
    choose_most_precise,
    covering_views,
)
from dither.publish.marginals.fourier import nearest_table
from dither.publish.marginals.interactions import cell_variance
from dither.publish.marginals.planes import ORDERS, affine_plane, projective_plane
from dither.publish.marginals.residual_planner import squared_move
from dither.testing import record
from dither.testing.looks import covers

#: Noise so narrow that it is 0 but for a probability of e^-(2^39).
STILL: dict[type, Any] = {
    Geometric: Geometric(scale=Fraction(1, 2**40)),
    DiscreteGaussian: DiscreteGaussian(sigma=Fraction(1, 2**40)),
}
MIXED = Attributes.of({"a": 2, "b": 3, "c": 2, "one": 1})
BITS = Attributes(("p", "q", "r"), (2, 2, 2))
ASKED = [["a", "b"], ["c", "b"], ["a"], ["one", "c"], []]


def _built(unit: Any, noise: type) -> dict[str, Any]:
    node: Any = noise(scale=5) if noise is Geometric else noise(sigma=5)
    shared: dict[str, Any] = {"attributes": MIXED, "unit": unit}
    built = {
        "each": NoisyMarginals(marginals=ASKED, weights=(1, 3, 2, 1, 5), node=node, **shared),
        "apart": NoisyMarginals(marginals=ASKED, weights=(1, 3, 2, 1, 5), node=node, agreeing=False, **shared),
        "table": ContingencyTable(marginals=ASKED, node=node, **shared),
        "views": PriView(marginals=ASKED[:2], node=node, **shared),
        "cubes": DataCubes(marginals=ASKED, cuboids=[["a", "b", "c"], ["one", "c"], ["b"]], node=node, **shared),
        "fourier": FourierMarginals(attributes=BITS, marginals=[["p", "q"], ["r", "q"]], unit=unit, node=node),
    }
    if noise is DiscreteGaussian:
        built["planner"] = ResidualPlanner(marginals=ASKED, weights=tuple(range(1, 7)), node=node, **shared)
    return built


CASES = [
    pytest.param(mechanism, id=f"{title}-{unit.relation.name}-{noise.__name__}")
    for unit in (ROW, ROW_REPLACED)
    for noise in (Geometric, DiscreteGaussian)
    for title, mechanism in _built(unit, noise).items()
]


def _still(mechanism: Any) -> Any:
    from dataclasses import replace

    return replace(mechanism, node=STILL[type(mechanism.node)])


def _handed_over(mechanism: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    _, tape, _ = record(_still(mechanism), rows)
    return np.asarray(tape.events[0].value).astype(object)


def _everybody(attributes: Attributes) -> list[tuple[int, ...]]:
    return list(product(*map(range, attributes.sizes)))


def _dense(attributes: Attributes, sets: Any) -> NDArray[np.float64]:
    """Return the marginals as a matrix on the cells of the full table."""
    blocks = []
    for axes in sets:
        block: NDArray[Any] = np.ones((1, 1))
        for axis, size in enumerate(attributes.sizes):
            block = np.kron(block, np.eye(size) if axis in axes else np.ones((1, size)))
        blocks.append(block)
    return np.concatenate(blocks)


@pytest.mark.parametrize("mechanism", CASES)
def test_nothing_moves_farther_than_the_stability(mechanism: Any) -> None:
    people = _everybody(mechanism.attributes)
    alone = [_handed_over(mechanism, np.array([row])) for row in people]
    metric = L1 if isinstance(mechanism.node, Geometric) else L2
    if mechanism.unit == ROW:
        nobody = _handed_over(mechanism, np.zeros((0, len(mechanism.attributes.names)), dtype=np.int64))
        moves = [metric.measure(nobody, one) for one in alone]
    else:
        moves = [metric.measure(one, other) for one, other in combinations(alone, 2)]
    farthest = max(move for move in moves if move is not None)
    stability = mechanism.fixed_plan.stability
    assert farthest <= stability
    # Bounds over replaced rows add up what several sets can do, which no one pair of rows need attain.
    if mechanism.unit == ROW or not isinstance(mechanism, FourierMarginals | ResidualPlanner):
        assert float(farthest) == pytest.approx(float(stability), rel=1e-9)
    else:
        assert float(farthest) >= 0.6 * float(stability)


@pytest.mark.parametrize("mechanism", CASES)
def test_without_noise_the_marginals_are_true(mechanism: Any) -> None:
    generator = np.random.default_rng()
    attributes = mechanism.attributes
    rows = np.column_stack([generator.integers(0, size, 40) for size in attributes.sizes])
    flat = np.zeros(attributes.cells)
    for row in rows:
        flat[np.ravel_multi_index(tuple(row), attributes.sizes)] += 1
    out, _, _ = record(_still(mechanism), rows)
    np.testing.assert_allclose(out, _dense(attributes, mechanism.sets) @ flat, atol=1e-9)
    tables = mechanism.tables(out)
    assert [table.shape for table in tables.values()] == [attributes.shape_of(axes) for axes in mechanism.sets]


@pytest.mark.parametrize("mechanism", CASES)
def test_variances_are_those_of_dense_least_squares(mechanism: Any) -> None:
    # What is released is linear in the noise: unit noise in each draw shows its coefficients.
    from dataclasses import replace

    empty = np.zeros((0, len(mechanism.attributes.names)), dtype=np.int64)
    _, tape, _ = record(mechanism, empty)
    entries = np.asarray(tape.events[0].out).size

    class Pushed:
        """A runner that answers with one fixed vector."""

        def __init__(self, answer: NDArray[np.int64]) -> None:
            self.answer = answer

        def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
            return self.answer

    big = 2**20
    columns = [
        mechanism.release(empty, Pushed(np.eye(entries, dtype=np.int64)[entry] * big)) / big for entry in range(entries)
    ]
    coefficients = np.array(columns).T
    np.testing.assert_allclose(
        mechanism.variances, (coefficients**2).sum(axis=1) * variance_of(mechanism.node), rtol=1e-9
    )
    measurement = getattr(mechanism, "measurement", None)
    if measurement is None or not getattr(mechanism, "agreeing", True) or isinstance(mechanism, ContingencyTable):
        return
    strategy = _dense(mechanism.attributes, measurement.sets)
    weights = np.repeat(np.array(measurement.weights, dtype=float), measurement.sizes)
    answers = _dense(mechanism.attributes, mechanism.sets)
    inverse = np.linalg.pinv((strategy * weights[:, None]).T @ (strategy * weights[:, None]))
    slow = np.einsum("ij,jk,ik->i", answers, inverse, answers) * variance_of(mechanism.node)
    np.testing.assert_allclose(mechanism.variances, slow, rtol=1e-8)
    assert replace(mechanism) == mechanism


@pytest.mark.parametrize("mechanism", CASES)
def test_records_survive_json(mechanism: Any) -> None:
    assert from_spec(to_spec(mechanism)) == mechanism


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=["row", "replaced"])
@pytest.mark.parametrize("target", [PureDP(1), ZCDP("1/3")], ids=["pure", "zcdp"])
def test_calibrated_uses_the_target_up(unit: Any, target: Any) -> None:
    shared: dict[str, Any] = {"attributes": BITS, "unit": unit}
    built: list[Any] = [
        NoisyMarginals.calibrated(target, marginals=BITS.every(2), **shared),
        ContingencyTable.calibrated(target, marginals=BITS.every(1), **shared),
        FourierMarginals.calibrated(target, marginals=BITS.every(2), **shared),
        PriView.calibrated(target, largest=2, **shared),
        DataCubes.calibrated(target, marginals=BITS.every(1), **shared),
    ]
    if isinstance(target, ZCDP):
        built.append(ResidualPlanner.calibrated(target, marginals=BITS.every(2), **shared))
    for mechanism in built:
        assert mechanism.loss(1) <= target
        assert float(mechanism.loss(1).rho) >= 0.999 * float(target.rho)


def test_agreeing_marginals_agree_and_are_never_worse() -> None:
    generator = np.random.default_rng()
    tables = {("a", "b"): generator.normal(size=(2, 3)), ("b", "c"): generator.normal(size=(3, 2)), ("b",): np.ones(3)}
    variances = {("a", "b"): 1.0, ("b", "c"): 2.0, ("b",): 0.5}
    agreed = agree(MIXED, tables, variances)
    np.testing.assert_allclose(agreed.tables["a", "b"].sum(axis=0), agreed.tables["b", "c"].sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(agreed.tables["a", "b"].sum(axis=0), agreed.tables["b",], atol=1e-12)
    assert all(agreed.variances[names] <= variances[names] for names in variances)
    again = agree(MIXED, agreed.tables, variances)
    for names in tables:
        np.testing.assert_allclose(again.tables[names], agreed.tables[names], atol=1e-12)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), (0, 1, 2), (3,)])
def test_squared_moves_of_one_interaction_are_exact(axes: tuple[int, ...]) -> None:
    attributes = Attributes(("a", "b", "c", "d"), (2, 3, 4, 5))
    matrix: NDArray[Any] = np.ones((1, 1))
    for axis in axes:
        size = attributes.sizes[axis]
        matrix = np.kron(matrix, size * np.eye(size) - 1)
    assert squared_move(attributes, axes, ROW) == round(max((matrix**2).sum(axis=0)))
    apart = [((one - other) ** 2).sum() for one, other in combinations(matrix.T, 2)]
    assert squared_move(attributes, axes, ROW_REPLACED) == round(max(apart))


def test_the_best_plan_is_what_a_search_finds() -> None:
    from scipy.optimize import minimize

    attributes = Attributes(("a", "b", "c"), (2, 3, 4))
    sets, importance = ((0, 1), (1, 2), (0,)), (1, 5, 2)
    plan = best_plan(attributes, sets, ROW, importance)
    measured = list(plan.spreads)
    moves = [squared_move(attributes, axes, ROW) / attributes.cells_of(axes) ** 2 for axes in measured]

    def product_of_sums(logarithms: NDArray[np.float64]) -> float:
        spreads = dict(zip(measured, np.exp(logarithms).tolist(), strict=True))
        total = sum(
            each * attributes.cells_of(axes) * cell_variance(attributes, spreads, axes)
            for axes, each in zip(sets, importance, strict=True)
        )
        return float(total * sum(move / spreads[axes] for move, axes in zip(moves, measured, strict=True)))

    found = minimize(product_of_sums, np.zeros(len(measured)), method="BFGS", options={"gtol": 1e-9})
    assert plan.total == pytest.approx(found.fun, rel=1e-6)
    planner = ResidualPlanner.calibrated(
        ZCDP("1/2"), attributes=attributes, marginals=[attributes.named(axes) for axes in sets], importance=importance
    )
    spent = sum(v * n * i for v, n, i in zip(planner.marginal_variances, planner.sizes, importance, strict=True))
    assert plan.total <= spent * (1 + 1e-9) <= plan.total * (1 + 1e-6)


def test_the_planner_attains_the_bound_of_all_gaussian_strategies() -> None:
    # For one marginal family on a symmetric domain the bound by singular values is attained.
    attributes = Attributes(("a", "b", "c"), (2, 3, 4))
    sets = tuple(combinations(range(3), 2))
    rows = _dense(attributes, sets)
    bound = np.linalg.svd(rows, compute_uv=False).sum() ** 2 / attributes.cells
    assert best_plan(attributes, sets).total == pytest.approx(bound, rel=1e-9)


@pytest.mark.statistical(n=2000, false_alarm=1e-10, catches="intervals that cover less often than they say")
def test_intervals_cover_all_cells_at_once() -> None:
    planner = ResidualPlanner.calibrated(ZCDP(1), attributes=MIXED, marginals=ASKED)
    rows = np.array([[0, 1, 1, 0], [1, 2, 0, 0]] * 3)
    truth, _, _ = record(_still(planner), rows)

    def trials() -> Iterator[bool]:
        while True:
            out, _, _ = record(planner, rows)
            interval = planner.interval(out, "0.9")
            assert interval is not None
            yield bool(((interval.low <= truth) & (truth <= interval.high)).all())

    assert covers(trials(), 0.9, most=2000, false_alarm=1e-10)


@pytest.mark.statistical(n=2000, false_alarm=1e-9, catches="variances that are off by a half")
def test_variances_are_those_of_releases() -> None:
    cubes = DataCubes.calibrated(PureDP(1), attributes=MIXED, marginals=[["a", "b"], ["c"], []])
    rows = np.zeros((5, 4), dtype=np.int64)
    truth, _, _ = record(_still(cubes), rows)
    errors = np.array([record(cubes, rows)[0] - truth for _ in range(2000)])
    # The mean square of 2,000 draws has a relative standard error of at most sqrt(5 / 2000) = 0.05: 1/2 is ten
    # of it, which the skewness of squares of Laplace noise leaves at e^-25 a cell.
    np.testing.assert_allclose((errors**2).mean(axis=0), cubes.variances, rtol=1 / 2)


def test_the_linear_programme_finds_a_non_negative_table_within_twice_the_noise() -> None:
    generator = np.random.default_rng()
    mechanism = FourierMarginals.calibrated(PureDP(1), attributes=BITS, marginals=BITS.every(2), non_negative=True)
    rows = generator.integers(0, 2, (20, 3))
    truth, _, _ = record(_still(FourierMarginals(attributes=BITS, marginals=BITS.every(2), node=mechanism.node)), rows)
    for _ in range(20):
        out, tape, _ = record(mechanism, rows)
        noise = np.abs(np.asarray(tape.events[0].out) - np.asarray(tape.events[0].value)).max()
        assert out.min() >= 0
        assert np.abs(out - truth).max() <= 2 * noise + 1e-5
        tables = mechanism.tables(out)
        np.testing.assert_allclose(tables["p", "q"].sum(axis=0), tables["q", "r"].sum(axis=1), atol=1e-6)
    with pytest.raises(NoGuarantee):
        _ = mechanism.variances
    assert nearest_table({(): -5.0}, ()).tolist() == 0.0


@pytest.mark.parametrize("loss", [PureDP(1), ZCDP(1)], ids=["pure", "zcdp"])
def test_no_other_weights_of_coefficients_give_less_variance(loss: Any) -> None:
    """Against a numerical minimum of the sum of all variances over all weights."""
    attributes = Attributes(tuple("abcd"), (2,) * 4)
    asked = [("a", "b"), ("a", "c", "d"), ("a",), ("b", "d")]
    mechanism = FourierMarginals.calibrated(loss, attributes=attributes, marginals=asked)
    power = 1 if isinstance(loss, PureDP) else 2
    needs = [
        sum(2.0 ** -len(axes) for axes in mechanism.sets if set(chosen) <= set(axes))
        for chosen in mechanism.coefficients
    ]

    def variance(logarithms: Any) -> float:
        weights = np.exp(logarithms)
        return float((weights**power).sum() ** (2 / power) * (np.array(needs) / weights**2).sum())

    least = minimize(variance, np.zeros(len(needs))).fun
    assert variance(np.log(mechanism.weights)) == pytest.approx(least, rel=1e-4)
    even = FourierMarginals.calibrated(loss, attributes=attributes, marginals=asked, even=True)
    assert mechanism.variances.sum() < 0.97 * even.variances.sum()
    assert even.weights == (1,) * len(needs)


@pytest.mark.parametrize(("count", "strength", "largest"), [(7, 2, 3), (12, 2, 4), (9, 3, 5), (40, 2, 8)])
def test_views_cover_every_group(count: int, strength: int, largest: int) -> None:
    attributes = Attributes(tuple(f"x{number}" for number in range(count)), (2,) * count)
    views = covering_views(attributes, strength=strength, largest=largest)
    covered = {group for view in views for group in combinations(view, strength)}
    assert covered == set(combinations(attributes.names, strength))
    assert max(map(len, views)) <= largest
    fewest = math.comb(count, strength) / math.comb(largest, strength)
    assert len(views) <= 2.5 * fewest + 1


@pytest.mark.parametrize(("count", "largest"), [(16, 4), (25, 8), (32, 8), (64, 8)])
def test_there_is_no_design_of_fewer_views(count: int, largest: int) -> None:
    """By the bound of Schönheim, which these reach."""
    attributes = Attributes(tuple(f"x{number}" for number in range(count)), (2,) * count)
    bound = math.ceil(count / largest * math.ceil((count - 1) / (largest - 1)))
    views = covering_views(attributes, largest=largest)
    assert len(views) == bound
    assert {pair for view in views for pair in combinations(view, 2)} == set(combinations(attributes.names, 2))


@pytest.mark.parametrize("order", ORDERS)
def test_two_points_of_a_plane_lie_on_one_line(order: int) -> None:
    for plane, points in ((affine_plane(order), order**2), (projective_plane(order), order**2 + order + 1)):
        pairs = [pair for line in plane for pair in combinations(sorted(line), 2)]
        assert sorted(pairs) == list(combinations(range(points), 2))


def test_an_unseen_marginal_is_that_of_largest_entropy() -> None:
    views = PriView(attributes=BITS, marginals=[["p", "q"], ["q", "r"]], node=STILL[Geometric])
    rows = np.array([[0, 0, 0]] * 6 + [[1, 0, 1]] * 2 + [[0, 1, 1]] * 4 + [[1, 1, 0]] * 4)
    out, _, _ = record(views, rows)
    left, right = views.tables(out).values()
    middle = left.sum(axis=0)
    # Given q, p and r are independent in the table of largest entropy.
    expected = left[:, :, None] * right[None, :, :] / middle[None, :, None]
    np.testing.assert_allclose(views.reconstruct(out, ["p", "q", "r"]), expected, atol=1e-6)
    np.testing.assert_allclose(views.reconstruct(out, ["p", "q"]), left)
    bounds = views.bounds(out, ["p", "q", "r"], "0.9")
    truth = np.zeros((2, 2, 2))
    np.add.at(truth, tuple(rows.T), 1)
    assert (bounds.low <= truth).all()
    assert (truth <= bounds.high + 1e-9).all()


def test_cuboids_minimise_the_largest_noise() -> None:
    attributes = Attributes(("a", "b", "c"), (2, 3, 4))
    asked = [(0,), (1,), (0, 1), (1, 2)]
    lattice = [axes for size in range(4) for axes in combinations(range(3), size)]

    def worst(chosen: Any) -> float:
        ratios = [
            min((attributes.cells_of(s) / attributes.cells_of(q) for s in chosen if set(q) <= set(s)), default=math.inf)
            for q in asked
        ]
        return max(ratios) * len(chosen) ** 2

    best = min(worst(chosen) for size in range(1, 5) for chosen in combinations(lattice, size))
    assert worst(choose_cuboids(attributes, asked)) == pytest.approx(best)


@pytest.mark.parametrize("most", [0.5, 1.0, 4.0, 10.0, 50.0, 300.0])
def test_cuboids_make_most_requested_ones_precise(most: float) -> None:
    """Within a factor of 1 - 1/e of the best of all choices, as greed promises; here nearly always the best."""
    attributes = Attributes(("a", "b", "c"), (2, 3, 40))
    asked = [(0,), (1,), (2,), (0, 1), (0, 2), (0, 1, 2)]
    lattice = [axes for size in range(4) for axes in combinations(range(3), size)]

    def precise(chosen: Any) -> int:
        ratios = [
            min((attributes.cells_of(s) / attributes.cells_of(q) for s in chosen if set(q) <= set(s)), default=math.inf)
            for q in asked
        ]
        return -1 if math.inf in ratios else sum(ratio * len(chosen) ** 2 <= most for ratio in ratios)

    best = max(precise(chosen) for size in range(1, 7) for chosen in combinations(lattice, size))
    found = choose_most_precise(attributes, asked, most)
    assert precise(found) >= (1 - 1 / math.e) * best
    assert precise(found) >= precise(choose_cuboids(attributes, asked))
    loss = PureDP(1)
    variance = 2 * math.exp(-1) / (1 - math.exp(-1)) ** 2 * most
    names = [attributes.named(axes) for axes in asked]
    cubes = DataCubes.calibrated(loss, attributes=attributes, marginals=names, precise_below=variance)
    assert set(cubes.counted) == set(found)


def test_a_hundred_attributes_need_no_table() -> None:
    attributes = Attributes(tuple(f"x{number}" for number in range(100)), (2, 3, 4, 5) * 25)
    asked = attributes.every(2)[::25]
    planner = ResidualPlanner.calibrated(ZCDP(1), attributes=attributes, marginals=asked)
    rows = np.random.default_rng().integers(0, 5, (500, 100)).astype(np.int8)
    out, _, _ = record(_still(planner), rows)
    codes = attributes.codes(rows)
    truth = np.concatenate([attributes.count(codes, axes).ravel() for axes in planner.sets])
    np.testing.assert_allclose(out, truth, atol=1e-6)


def _refused(call: Any, *words: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        call()
    assert all(word in str(refusal.value) for word in words)


def test_bad_input_is_refused_by_name() -> None:
    _refused(lambda: Attributes((), ()), "names")
    _refused(lambda: Attributes.of({"a": 0}), "sizes")
    _refused(lambda: Attributes(("a", "a"), (2, 2)), "names")
    _refused(lambda: Attributes.of([("a", 2)]), "sizes")  # type: ignore[arg-type]
    for unknown in (["z"], ["a", "a"]):
        _refused(lambda unknown=unknown: NoisyMarginals.calibrated(PureDP(1), attributes=MIXED, marginals=[unknown]))
    _refused(lambda: NoisyMarginals.calibrated(PureDP(1), attributes=MIXED, marginals=[]), "marginals")
    _refused(lambda: NoisyMarginals.calibrated(PureDP(1), attributes=MIXED, marginals=[["a"], ["a"]]), "differ")
    _refused(lambda: NoisyMarginals(attributes=MIXED, marginals=[["a"]], weights=(1, 2), node=Geometric(scale=1)))
    billion = Attributes(tuple("abcdefghi"), (10,) * 9)
    _refused(lambda: ContingencyTable.calibrated(PureDP(1), attributes=billion, marginals=[["a"]]), "residual-planner")
    _refused(lambda: ResidualPlanner.calibrated(ZCDP(1), attributes=billion, marginals=[billion.names]), "fewer")
    _refused(lambda: FourierMarginals.calibrated(PureDP(1), attributes=MIXED, marginals=[["a"]]), "all 2")
    wide = Attributes(tuple("abcdefghijk"), (2,) * 11)
    programme = {"attributes": wide, "marginals": wide.every(1), "non_negative": True}
    _refused(lambda: FourierMarginals.calibrated(PureDP(1), **programme), "non_negative")  # type: ignore[arg-type]
    narrow = {"attributes": MIXED, "marginals": [["a", "b"]], "cuboids": [["a"], ["b"]]}
    _refused(lambda: DataCubes.calibrated(PureDP(1), **narrow), "cuboids")  # type: ignore[arg-type]
    _refused(lambda: DataCubes.calibrated(PureDP(1), precise_below=2, **narrow), "precise_below")  # type: ignore[arg-type]
    with pytest.raises(NoGuarantee):
        ResidualPlanner.calibrated(PureDP(1), attributes=MIXED, marginals=[["a"]])


def test_data_of_another_shape_is_refused_and_no_content_is() -> None:
    for data in (np.zeros((3, 2), dtype=int), np.zeros(4, dtype=int), np.zeros((3, 4)), [[0] * 4], None):
        with pytest.raises(InvalidValue):
            MIXED.codes(data)
    largest = np.array([[2**64 - 1, 0, 7, 2**63]], dtype=np.uint64)
    assert MIXED.codes(largest)[:, 0].tolist() == [1, 0, 1, 0]
    assert MIXED.codes(np.array([[-128, 127, 0, -1]], dtype=np.int8))[:, 0].tolist() == [0, 2, 0, 0]


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=["row", "replaced"])
def test_plans_of_the_largest_marginals_leave_room_for_counts(unit: Any) -> None:
    for size, together in ((2, 14), (4, 7), (50, 2)):
        attributes = Attributes(tuple(f"x{number}" for number in range(together)), (size,) * together)
        planner = ResidualPlanner.calibrated(ZCDP(1), attributes=attributes, marginals=[attributes.names], unit=unit)
        assert planner.loss(1) <= ZCDP(1)
    with pytest.raises(InvalidParameter, match="weights"):
        ResidualPlanner(attributes=attributes, marginals=[["x0", "x1"]], weights=(2**30,) * 4, node=planner.node)


def test_counts_beyond_all_numbers_are_cut_off_and_do_not_overflow() -> None:
    class Many(Attributes):
        """Attributes whose counts are as large as they get."""

        def count(self, codes: Any, axes: Any) -> NDArray[np.int64]:
            return np.full(self.shape_of(axes), 2**62, dtype=np.int64)

    many = Many(("a", "b"), (2, 3))
    planner = ResidualPlanner.calibrated(ZCDP(1), attributes=many, marginals=[["a", "b"]])
    each = NoisyMarginals.calibrated(PureDP(1), attributes=many, marginals=[["a"], ["a", "b"]])
    for mechanism in (planner, each):
        _, tape, _ = record(mechanism, np.zeros((1, 2), dtype=np.int64))
        assert np.abs(np.asarray(tape.events[0].value)).max() <= 2**60
