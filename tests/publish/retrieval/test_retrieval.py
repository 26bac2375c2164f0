"""Inner products of two noisy vectors: the printed example, exact variances, intervals that hold, and who pays."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dither import Budget, Curator, release
from dither.cli.app import app
from dither.data import Column, DataSet, Kind, Table
from dither.errors import BudgetExceeded, InvalidParameter
from dither.lift.cells import cells_of
from dither.lift.lifted import Lifted
from dither.lift.stored import read_value, write_value
from dither.mechanisms import PublicArray, to_spec
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ZCDP, PureDP
from dither.publish.interactive import PublishedModel
from dither.publish.retrieval import SentVector, SharedVector, inner_product, product_variance
from dither.publish.retrieval.haar import haar, inverse_haar, padded_size
from dither.publish.retrieval.products import moments, true_squared
from dither.publish.retrieval.shared_vector import sample_size, sampled_places

#: The printed example: people in six areas, and the three that are asked for.
AREAS = np.array([167, 182, 143, 135, 151, 109])
ASKED = np.array([1, 1, 0, 1, 0, 0])
ONE = Geometric(scale=1)
NONE = Geometric(scale="1/1000")


def whole(values: object, node: Geometric | DiscreteGaussian = ONE) -> SentVector:
    numbers = np.asarray(values, dtype=np.float64)
    return SentVector(len(numbers), None, numbers, 0.0, node)


def test_the_printed_example() -> None:
    assert AREAS @ ASKED == 484
    printed = inner_product(
        whole([172.13, 178.98, 125.03, 139.87, 140.10, 97.87]), whole([0.285, 1.875, 0.951, 2.871, -0.91, 0.123])
    )
    assert round(printed.value, 2) == 789.66
    # Continuous Laplace noise of scale 1 has variance 2.
    variance = product_variance(float(AREAS @ AREAS), float(ASKED @ ASKED), 6, 2, 2)
    assert round(math.sqrt(variance)) == 518
    assert printed.interval.low < 484 < printed.interval.high


def test_without_noise_the_product_is_exact_and_its_interval_is_short() -> None:
    spent = Budget(epsilon=4000, unit=ROW)
    server = release(SharedVector(shape=6, node=NONE), AREAS, budget=spent, stability=1).value
    for how in ({}, {"sent": "top", "kept": 8}, {"sent": "threshold", "factor": "1/1000000"}):
        client = release(SharedVector(shape=6, node=NONE, **how), ASKED, budget=spent, stability=1).value
        found = inner_product(server, client)
        assert math.isclose(found.value, 484, rel_tol=1e-12)
        # Noise of scale 1/1000 is nearly none, and its reach is stated as that of continuous noise.
        assert 480 < found.interval.low <= found.interval.high < 488


@pytest.mark.parametrize("cells", [1, 2, 3, 6, 8, 13])
def test_the_transform_is_a_rotation(cells: int) -> None:
    """Its columns, one for each cell, are orthonormal: the definition is written out beside it."""
    size = padded_size(cells)
    rows = np.array([haar(unit) for unit in np.eye(size)]).T
    twin = [np.full(size, size**-0.5)]
    for level in range(size.bit_length() - 1):
        for block in range(2**level):
            wave = np.zeros(size)
            width = size // 2**level
            wave[block * width : block * width + width // 2] = 1
            wave[block * width + width // 2 : (block + 1) * width] = -1
            twin.append(wave * (2**level / size) ** 0.5)
    assert np.allclose(rows, twin)
    assert np.allclose(rows @ rows.T, np.eye(size))
    some = np.arange(cells) ** 2 - 3.0
    assert np.allclose(inverse_haar(haar(some))[:cells], some)


def test_what_is_left_out_is_bounded_for_every_choice_of_coefficients() -> None:
    """All subsets of the coefficients of either side, noise apart: the bound holds for each pair of them."""
    mine, theirs = np.array([3.0, -1.0, 4.0, 1.0]), np.array([2.0, 7.0, 0.0, -2.0])
    truth = float(mine @ theirs)

    def parts(vector: np.ndarray) -> list[SentVector]:
        full = haar(vector)
        found = []
        for count in range(5):
            for places in itertools.combinations(range(4), count):
                left = float(np.linalg.norm(np.delete(full, places)))
                chosen = np.array(places, dtype=np.int64)
                found.append(SentVector(4, chosen, full[chosen], left, NONE))
        return found

    for first, second in itertools.product(parts(mine), parts(theirs)):
        found = inner_product(first, second)
        assert abs(found.value - truth) <= found.left_out + 1e-9


@pytest.mark.parametrize(
    "node", [Geometric(scale=2), Geometric(scale="1/3"), DiscreteGaussian(sigma=1), DiscreteGaussian(sigma=9)]
)
def test_moments_are_those_of_the_law(node: Geometric | DiscreteGaussian) -> None:
    values = np.arange(-400, 401, dtype=np.float64)
    if isinstance(node, Geometric):
        law = np.exp(-np.abs(values) / float(node.scale))
    else:
        law = np.exp(-(values**2) / (2 * float(node.sigma) ** 2))
    law /= law.sum()
    assert np.allclose(moments(node), (law @ values**2, law @ values**4), rtol=1e-9)


def test_the_variance_of_a_product_by_enumeration() -> None:
    """Noise of two values each way on two cells of both sides: the variance of all 4^4 outcomes."""
    values, weights = np.array([-1.0, 0.0, 2.0]), np.array([0.4, 0.4, 0.2])
    assert values @ weights == 0
    variance = float(weights @ values**2)
    x, y = np.array([3.0, -1.0]), np.array([2.0, 5.0])
    second = 0.0
    for places in itertools.product(range(3), repeat=4):
        noise = values[list(places)]
        chance = float(np.prod(weights[list(places)]))
        second += chance * ((x + noise[:2]) @ (y + noise[2:]) - x @ y) ** 2
    assert math.isclose(second, product_variance(float(x @ x), float(y @ y), 2, variance, variance))


@pytest.mark.statistical(n=400, false_alarm=1e-9, catches="intervals that hold less often than they say")
def test_intervals_hold_whatever_is_sent() -> None:
    """At confidence 0.6, of 400 at most 160 + sqrt(400 ln(1e9) / 2) = 225 miss (Hoeffding); a tenth of it is caught."""
    rng = np.random.default_rng()
    misses = narrow = bounds = 0
    for trial in range(400):
        x, y = rng.integers(0, 30, 16), rng.integers(0, 3, 16)
        how = ({}, {"sent": "top", "kept": 6}, {"sent": "threshold"}, {"sent": "threshold", "sampled": 5})[trial % 4]
        budget = Budget(rho=2, unit=ROW)
        server = release(SharedVector(shape=16, node=DiscreteGaussian(sigma=1)), x, budget=budget, stability=1).value
        client = release(SharedVector(shape=16, node=Geometric(scale=1), **how), y, budget=budget, stability=1).value
        found = inner_product(server, client, confidence="0.6")
        misses += not found.interval.low <= x @ y <= found.interval.high
        narrow += abs(found.value - x @ y) > (found.interval.high - found.value) / 10
        bounds += true_squared(client, 0.4) < y @ y
    assert misses <= 225
    assert bounds <= 225
    assert narrow > 225


def test_each_query_is_charged_to_the_client_and_the_server_pays_once() -> None:
    server_budget, client_budget = Budget(epsilon=1, unit=ROW), Budget(epsilon=1, unit=ROW)
    server = release(SharedVector.calibrated(PureDP(1), shape=6), AREAS, budget=server_budget, stability=1).value
    query = SharedVector.calibrated(PureDP("1/2"), shape=6, sent="top", kept=3)
    for _ in range(2):
        inner_product(server, release(query, ASKED, budget=client_budget, stability=1).value)
    with pytest.raises(BudgetExceeded):
        release(query, ASKED, budget=client_budget, stability=1)
    assert server_budget.spent.pure == client_budget.spent.pure == 1


@pytest.mark.statistical(
    n=1, false_alarm=1e-12, catches="a threshold that keeps most of the noise: 0.40 of the cells are sent, with 0.024"
)
def test_the_absolute_mean_leaves_out_what_the_signed_one_would_keep() -> None:
    """1,024 cells, ten keywords, noise of scale 1: the mean of signed coefficients is no threshold."""
    query = np.zeros(1024, dtype=np.int64)
    query[::103] = 1
    budget = Budget(epsilon=2, unit=ROW)
    whole_of_it = release(SharedVector(shape=1024, node=ONE), query, budget=budget, stability=1).value
    sent = release(SharedVector(shape=1024, node=ONE, sent="threshold"), query, budget=budget, stability=1).value
    sizes = np.abs(whole_of_it.coefficients)
    # For every draw: the signed mean is never above the other.
    assert (sizes >= whole_of_it.coefficients.mean()).sum() >= (sizes >= sizes.mean()).sum()
    assert len(sent.values) < 0.6 * 1024
    assert sent.payload == 12 * len(sent.values)
    assert whole_of_it.payload == 8 * 1024


def test_vectors_are_stored_exactly_and_torn_ones_are_refused() -> None:
    for how in ({}, {"sent": "top", "kept": 2}):
        method = SharedVector(shape=3, node=DiscreteGaussian(sigma="3/2"), **how)
        sent = release(method, [4, 0, 7], budget=Budget(rho=2, unit=ROW), stability=1).value
        again = read_value(write_value(sent))
        assert json.dumps(again.to_dict()) == json.dumps(sent.to_dict())
        assert np.array_equal(again.vector, sent.vector)
    record = sent.to_dict()
    for torn in (
        {"places": [1, 0]},
        {"places": [0, 9]},
        {"values": record["values"][:1]},
        {"dropped": "-0x1p0"},
        {"values": ["inf", "nan"]},
    ):
        with pytest.raises(InvalidParameter):
            SentVector.from_dict(record | torn)


def test_sampling_is_what_hoeffding_says() -> None:
    assert sample_size(2.0, 0.5, 0.05) == math.ceil(16 / 2 * math.log(40))
    places = sampled_places(np.arange(8.0), 4000)
    counted = np.bincount(places, minlength=8)
    # A fixed function of fixed numbers: no chance here.
    assert counted.min() > 400
    assert counted.max() < 600
    with pytest.raises(InvalidParameter):
        sample_size(1.0, 0.0, 0.05)
    with pytest.raises(InvalidParameter, match="cells"):
        inner_product(whole([1.0]), whole([1.0, 2.0]))


def test_losses() -> None:
    for within in (PureDP("1/3"), ZCDP("1/8")):
        made = SharedVector.calibrated(within, shape=(4, 4), sent="top", kept=3)
        assert made.loss(1) <= within
    assert SharedVector(shape=2, node=Geometric(scale=3)).loss(2) == PureDP(Fraction(2, 3))


def test_vectors_and_models_are_released_by_a_session_and_by_the_command(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(
        "\n".join(["area", *(str(area) for area in range(4) for _ in range(9 * area))])
    )
    table = Table("visits", (Column("area", Kind.INTEGER, lower=0, upper=3),), str(tmp_path / "visits.csv"))
    home, typed = tmp_path / "home", CliRunner(env={"DITHER_ANCHORS": str(tmp_path / "anchors")})
    with contextlib.closing(Curator.create(home, anchors=tmp_path / "anchors")) as curator:
        curator.add(DataSet("clinic", (table,), ROW), epsilon=10**5)
        session = curator.session("clinic")
        cells = cells_of(session.dataset, "visits", ("area",), {"area": 4})
        queries = PublicArray(np.tri(4, dtype=np.int64))
        methods = {
            "vector": SharedVector.calibrated(PureDP(10**4), shape=cells.shape, sent="top", kept=4),
            "model": PublishedModel.calibrated(PureDP(10**4), sensitivity=1, shape=cells.shape, queries=queries),
        }
        for key, method in methods.items():
            found = session.release(method, cells, key=key)
            values = found.vector if isinstance(found, SentVector) else found.answer(np.eye(4))
            assert np.allclose(values, [0, 9, 18, 27], atol=0.1)
            (tmp_path / f"{key}.json").write_text(json.dumps(to_spec(Lifted(source=cells, method=method))))
        session.close()
    for key in methods:
        told = typed.invoke(
            app, ["release", "clinic", str(tmp_path / f"{key}.json"), "--key", key, "--json", "--home", str(home)]
        )
        assert told.exit_code == 0, told.output


def test_an_interval_is_little_wider_than_a_normal_law_would_have_it() -> None:
    """Where everything was sent and the client's noise decides: 2.3 deviations at 95 %, not four."""
    server = SentVector(256, None, np.full(256, 150.0), 0.0, Geometric(scale="1/2"))
    client = SentVector(256, None, np.r_[np.ones(20), np.zeros(236)], 0.0, Geometric(scale="1/2"))
    found = inner_product(server, client)
    half = (float(found.interval.high) - float(found.interval.low)) / 2
    assert 1.96 * found.deviation <= half <= 2.4 * found.deviation


def test_a_deviation_holds_what_is_not_sent() -> None:
    """Of 64 equal cells one coefficient of another's vector is sent: most of the product is left out."""
    quiet = Geometric(scale="1/1000")
    server = SentVector(64, None, np.r_[np.full(32, 9.0), np.zeros(32)], 0.0, quiet)
    client = SentVector(64, np.array([1]), np.array([0.0]), 24.0, quiet)
    found = inner_product(server, client)
    assert found.left_out > 0
    assert found.deviation >= found.left_out
