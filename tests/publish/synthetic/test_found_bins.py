"""Found bins: what a record moves, heaps that are found, engines that count as memory does, and what is refused."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.data.wire import decode, encode
from dither.errors import InvalidParameter
from dither.estimate.mass_bins import level_sizes
from dither.lift.attributes import Attributes
from dither.lift.stored import read_value, write_value
from dither.mechanisms import perform
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, PureDP
from dither.publish.synthetic import Determined, FoundBins, FoundModel, Impossible, Synthesizer, SyntheticTable
from dither.publish.synthetic.columns import codings_of
from dither.publish.synthetic.found_bins import level_sums
from dither.publish.synthetic.found_columns import FOUND_BINS, FoundMargins, _runs, found_grid, wide_columns
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.synthesizer import plan_synthesis
from dither.verbs.offers import Offers

FINE, BINNED = Attributes.of({"sex": 2, "gain": 5000}), Attributes.of({"sex": 2, "gain": 12})
GAIN = Column("gain", Kind.INTEGER, lower=0, upper=99_999, nullable=True)
SEX = Column("sex", Kind.TEXT, categories=("f", "m"))
#: So much that noise is next to none: a draw of 100 has a chance of less than exp(-100).
PLENTY = PureDP(1000)


def made(noise: Any) -> FoundBins:
    return FoundBins(attributes=FINE, noise=noise, method=IndependentMarginals(attributes=BINNED, single=noise))


def test_blocks_are_sums_of_their_cells() -> None:
    counts = np.arange(3 * 64**2 + 5)
    levels = level_sums(counts)
    assert [level.size for level in levels] == list(level_sizes(counts.size)) == [counts.size, 193, 4]
    for depth, level in enumerate(levels):
        width = 64**depth
        assert level.tolist() == [int(counts[at : at + width].sum()) for at in range(0, counts.size, width)]


class Watching:
    """A run that keeps what it is handed."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any]] = []

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        self.seen.append((value, stability))
        return perform(part, value, stability=1)


@pytest.mark.parametrize("noise", [Geometric(scale=1), DiscreteGaussian(sigma=1)])
def test_one_record_moves_all_counts_by_what_is_declared(noise: Any) -> None:
    rows = np.array([[0, 0], [1, 4999], [0, 64], [1, 4096], [7, -3]])
    method = made(noise)
    for left_out in range(len(rows)):
        both = []
        for data in (rows, np.delete(rows, left_out, axis=0)):
            run = Watching()
            method.release(data, run)
            both.append(run.seen[0])
        (here, far), (there, _) = both
        moved = np.abs(here - there)
        reach = moved.sum() if isinstance(noise, Geometric) else np.sqrt((moved**2).sum())
        # A cell with weight 4, a block of 64 and one of 4,096.
        assert sorted(moved[moved > 0].tolist()) == [1, 1, 4]
        assert reach <= far <= reach + 1e-9


@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-9")])
def test_the_loss_is_that_of_the_counts_and_the_method_and_within_what_was_stated(loss: Loss) -> None:
    method = FoundBins.calibrated(
        loss, attributes=FINE, build=lambda each: IndependentMarginals.calibrated(each, attributes=BINNED)
    )
    assert method.loss(1) <= loss
    parts = method.counting.loss(method.stability), method.method.loss(1)
    kind = "pure" if isinstance(loss, PureDP) else "rho"
    assert getattr(method.loss(1), kind) == sum(getattr(part, kind) for part in parts)
    assert abs(float(getattr(parts[0], kind) / getattr(method.loss(1), kind)) - 0.05) < 1e-6


def test_the_method_sees_bins_that_were_released() -> None:
    rows = np.array([[0, 0]] * 300 + [[1, 4711]] * 200 + [[1, 4712]] * 100 + [[9, 10**9]])
    run = Watching()
    found = made(Geometric(scale=1)).release(rows, run)
    starts = found.starts["gain"]
    assert len(starts) == 12
    assert {0, 1, 4711, 4712} <= set(starts)
    assert starts[-1] == 4999
    binned = run.seen[1][0]
    # The slow way: the last bin that does not begin after the value.
    slow = [max(place for place, start in enumerate(starts) if start <= min(value, 4999)) for _, value in rows.tolist()]
    assert binned[:, 1].tolist() == slow
    assert binned[:, 0].tolist() == [min(value, 1) for value, _ in rows.tolist()]


def test_what_is_released_goes_through_json_and_odd_records_are_refused() -> None:
    found = made(Geometric(scale=1)).release(np.array([[0, 17]] * 50), Watching())
    record = json.loads(json.dumps(found.to_dict()))
    assert FoundModel.from_dict(record) == found == read_value(write_value(found))
    gain = list(found.starts["gain"])
    for odd in (
        {"gain": gain[:-1]},
        {"gain": [1, *gain[1:]]},
        {"gain": [*gain[:-2], gain[-1], gain[-2]]},
        {"gain": [0.5, *gain[1:]]},
        {"age": gain},
        {"gain": "0"},
        None,
    ):
        with pytest.raises(InvalidParameter):
            FoundModel.from_dict({**record, "starts": odd})
    with pytest.raises(InvalidParameter):
        FoundModel.from_dict([])


def test_methods_for_other_attributes_are_refused() -> None:
    one = Geometric(scale=1)
    for binned in (FINE, Attributes.of({"gain": 8, "sex": 2}), Attributes.of({"sex": 3, "gain": 8})):
        with pytest.raises(InvalidParameter):
            FoundBins(attributes=FINE, noise=one, method=IndependentMarginals(attributes=binned, single=one))
    with pytest.raises(InvalidParameter):
        FoundBins(attributes=FINE, noise=one, method=one)


def some_rows() -> Iterator[dict[str, Any]]:
    for number in range(3000):
        heap = (0, 15_024, 7688, None, 99_998)[number % 5]
        yield {"sex": "fm"[heap == 7688], "gain": heap}


def test_heaps_are_kept_in_a_synthetic_table() -> None:
    fitted = Synthesizer([SEX, GAIN], loss=PLENTY, bins={"gain": "found"}).fit(list(some_rows()))
    assert fitted.loss <= PLENTY
    drawn = fitted.sample(1000)
    values = Counter(drawn.columns["gain"].tolist())
    # The two largest values share a cell.
    values[99_998] += values.pop(99_999, 0)
    assert sum(values[heap] for heap in (0, 15_024, 7688, None, 99_998)) >= 900
    assert min(values[heap] for heap in (0, 15_024, 7688, None, 99_998)) >= 50
    again = SyntheticTable.from_json(fitted.table.to_json())
    assert again.codings == fitted.table.codings
    edges = fitted.table.codings[1].edges
    assert edges is not None
    assert len(edges) == FOUND_BINS + 1
    assert {0, 1, 7688, 7689, 15_024, 15_025, 99_998, 99_999} <= set(edges)


@pytest.mark.parametrize(
    ("column", "heap", "other"),
    [
        (
            Column("x", Kind.DATE, lower=datetime.date(1900, 1, 1), upper=datetime.date(2020, 1, 1)),
            datetime.date(1970, 1, 1),
            datetime.date(2001, 9, 9),
        ),
        (Column("x", Kind.REAL, lower=0.0, upper=65536.0), 40_000.25, 3.0),
        (Column("x", Kind.INTEGER, lower=-(2**40), upper=2**40), 5, -(2**39)),
    ],
)
def test_dates_reals_and_huge_ranges(column: Column, heap: Any, other: Any) -> None:
    rows = [{"x": heap}] * 600 + [{"x": other}] * 300
    fitted = Synthesizer([column], loss=PLENTY, bins={"x": "found"}).fit(rows)
    edges: Any = fitted.table.codings[0].edges
    place = max(place for place, edge in enumerate(edges) if edge <= heap)
    assert edges[place + 1] - edges[place] <= (edges[-1] - edges[0]) / 2**14
    drawn = fitted.sample(900).columns["x"].tolist()
    assert sum(edges[place] <= value < edges[place + 1] for value in drawn) >= 500


@pytest.mark.parametrize("unit", [ROW, person_unit("who")])
def test_an_engine_counts_by_bins_as_memory_does(unit: Any) -> None:
    """The slow twin: every row's bin looked for among the edges, one by one."""
    rows = [{"who": number, **row} for number, row in enumerate(some_rows()) if number % 50 < 5]
    rows += [{"who": 10**6, "sex": "f", "gain": gain} for gain in (-5, 10**9)]
    table = Table("people", (Column("who", Kind.INTEGER), SEX, GAIN), "p.csv", None if unit is ROW else "who")
    dataset = DataSet("town", (table,), unit, rows=None if unit is ROW else 2)
    cells, _ = codings_of(dataset, "people", ["sex", "gain"], bins={"gain": FOUND_BINS})
    source = FoundMargins(cells, ("gain",))
    assert decode(encode(source)) == source
    records: Any = source.read(ReferenceEngine(dataset, {"people": rows}))
    fine = records.count((1,))
    assert fine.sum() == len(rows)
    assert fine[15_024] == sum(row["gain"] == 15_024 for row in rows)
    assert fine[-1] == sum(row["gain"] is None for row in rows)
    # 99,999 cells, of which the last holds two values, and NULL.
    assert records.attributes.sizes == (2, 100_000)
    starts = (*range(0, 256 * 390, 390), 99_999)
    by_bins = records.grouped({"gain": starts}).count((0, 1))
    slow = np.zeros((2, 257), dtype=np.int64)
    for row in rows:
        held = None if row["gain"] is None else min(max(row["gain"], 0), 99_998)
        place = 256 if held is None else max(at for at, start in enumerate(starts[:-1]) if start <= held)
        slow["fm".index(row["sex"]), place] += 1
    assert by_bins.tolist() == slow.tolist()


def test_an_offer_states_one_price_and_its_answer_is_read_back() -> None:
    table = Table("people", (SEX, GAIN), "p.csv")
    dataset = DataSet("town", (table,), ROW)
    offer = Offers(dataset).synthesize("people", loss=PLENTY, bins={"gain": "found"})
    assert offer.mechanism.loss(1) <= PLENTY
    assert json.dumps(offer.asked)
    released = perform(offer.mechanism, ReferenceEngine(dataset, {"people": list(some_rows())[:500]}))
    found: Any = offer.read(offer.present(released), "a receipt")
    assert {7688, 7689, 15_024, 15_025} <= set(found.codings[1].edges)


def test_the_grid_is_fine_and_public() -> None:
    grid: Any = found_grid(GAIN)
    assert grid.edges == tuple(range(100_000))
    for column in (
        SEX,
        Column("x", Kind.BOOLEAN),
        Column("x", Kind.INTEGER),
        Column("x", Kind.INTEGER, lower=0, upper=255),
        Column("x", Kind.INTEGER, lower=0, upper=2**46),
        Column("x", Kind.INTEGER, categories=(1, 2)),
    ):
        with pytest.raises(InvalidParameter, match="bins of"):
            found_grid(column)


@pytest.mark.parametrize("loss", [PureDP(1), ApproxDP(1, "1e-9")])
def test_wide_columns_have_their_bins_found_unless_something_is_said(loss: Any) -> None:
    hours, day = Column("hours", Kind.INTEGER, 0, 999), datetime.date(2000, 1, 1)
    columns = (SEX, GAIN, hours, Column("born", Kind.DATE, lower=day, upper=datetime.date(2005, 1, 1)))
    dataset = DataSet("town", (Table("people", columns, "p.csv"),), ROW)

    def found(**said: Any) -> set[str]:
        source = plan_synthesis(dataset, "people", loss, **said).mechanism.source
        return set(source.found) if isinstance(source, FoundMargins) else set()

    assert found() == {"gain", "born"}
    assert found(columns=["sex", "gain"]) == {"gain"}
    assert found(bins={"gain": 256}) == {"born"}
    assert found(bins={"gain": [0, 10, 100_000], "born": 40}) == set()
    assert found(bins={"hours": "found"}) == {"hours", "gain", "born"}
    # Methods that do not merge have few cells, and know nothing of bins.
    assert found(method="privbayes") == set()
    # As many as can be counted together.
    huge = [Column(f"x{number}", Kind.INTEGER, 0, 2**20 - 1) for number in range(20)]
    assert wide_columns(huge) == tuple(column.name for column in huge[:4])
    for span in (2000, 2**20 + 1):
        assert found_grid(Column("x", Kind.INTEGER, 1, span)).size == sum(bins for _, bins in _runs(span))
    assert plan_synthesis(dataset, "people", loss).mechanism.loss(1) <= loss


def test_requests_that_cannot_be_are_refused_before_anything_is_paid_for() -> None:
    dataset = DataSet("town", (Table("people", (SEX, GAIN), "p.csv"),), ROW)
    for columns, constraints in (
        (None, (Impossible(("sex", "gain"), (("f", 0),)),)),
        (None, (Determined("sex", "gain", ((0, "f"),)),)),
        (None, (Determined("gain", "sex", (("f", 0), ("m", 1))),)),
        (["sex"], ()),
    ):
        with pytest.raises(InvalidParameter, match=r"constraints|bins"):
            plan_synthesis(
                dataset, "people", PureDP(1), columns=columns, bins={"gain": "found"}, constraints=constraints
            )
    with pytest.raises(InvalidParameter, match="bins of sex"):
        plan_synthesis(dataset, "people", PureDP(1), bins={"sex": "found"})
