"""Many rounds: what reports lose together, by enumeration of stored responses and of all reports."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import BudgetExceeded, InvalidParameter
from dither.local.clients.chains import Chain, filter_of
from dither.local.clients.rounds import RoundsClient
from dither.local.rounds import ChainOracle, MemoisedHashing, MemoisedKary, RapporResponse
from dither.noise import system_noise
from dither.noise.client_words import Words
from dither.privacy import PureDP
from dither.testing.client_laws import client_law, worst_ratio
from dither.testing.entropy import ScriptExhausted
from tests.local.midst import asked_by_two_threads, refuses_what_would_draw_twice

#: Small instances: the width of the words, how many are tried for one report, and how many rounds are listed.
SMALL: list[tuple[ChainOracle, int, int, int]] = [
    (MemoisedKary(categories=2, hold=3, show=3, bits=2), 2, 2, 3),
    (MemoisedKary(categories=3, hold=2, show=3, bits=2), 2, 4, 2),
    (MemoisedHashing(categories=2, group_bits=1, hold=3, show=3, bits=2, width=2), 2, 4, 2),
    (RapporResponse(categories=3, cohorts=1, filter_bits=3, hashes=0, hold=3, zero=1, one=3, bits=2), 2, 6, 2),
    (RapporResponse(categories=4, cohorts=2, filter_bits=3, hashes=1, hold=3, zero=1, one=2, bits=2), 2, 7, 1),
]
_IDS = [f"{law.name}-{place}" for place, (law, *_) in enumerate(SMALL)]


def law_of(draw: Any, width: int, most: int) -> dict[Any, Fraction]:
    """Return the law of a function of random bits, by all scripts of up to ``most`` parts, less undecided ones."""

    def script(parts: tuple[int, ...]) -> Any:
        yield from parts
        raise ScriptExhausted

    found: dict[Any, Fraction] = defaultdict(Fraction)
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        parts = waiting.pop()
        try:
            outcome = draw(Words(script(parts), width))
        except ScriptExhausted:
            waiting += [(*parts, part) for part in range(2**width)] if len(parts) < most else []
            continue
        found[outcome] += Fraction(1, 2 ** (width * len(parts)))
    total = sum(found.values())
    return {outcome: mass / total for outcome, mass in found.items()}


def rounds_law(half: Chain, cell: int, own: tuple[int, ...], width: int, rounds: int) -> dict[Any, Fraction]:
    """Return the law of the reports of all rounds about one value, given what a device drew once."""
    states = law_of(lambda words: half.permanent(cell, own, words), width, 6)
    found: dict[Any, Fraction] = defaultdict(Fraction)
    for state, mass in states.items():
        one = law_of(lambda words, state=state: half.instant(state, own, words), width, 6)
        for several in itertools.product(one.items(), repeat=rounds):
            found[tuple(report for report, _ in several)] += mass * math.prod(part for _, part in several)
    return found


def worst(laws: list[dict[Any, Fraction]]) -> Fraction:
    return max(a[at] / b[at] for a, b in itertools.permutations(laws, 2) for at in a)


@pytest.mark.parametrize(("law", "width", "words", "rounds"), SMALL, ids=_IDS)
def test_one_report_loses_what_is_claimed(law: ChainOracle, width: int, words: int, rounds: int) -> None:
    found, undecided = worst_ratio(law.half, word_bits=width, max_words=words)
    assert found == law.half.ratio
    assert undecided < Fraction(1, 4)


@pytest.mark.parametrize(("law", "width", "words", "rounds"), SMALL, ids=_IDS)
def test_several_rounds_lose_what_is_claimed_and_never_more_than_the_stored_response(
    law: ChainOracle, width: int, words: int, rounds: int
) -> None:
    owns = law_of(law.chain.start, width, 2)
    found = Fraction(1)
    for own in owns:
        found = max(found, worst([rounds_law(law.chain, cell, own, width, rounds) for cell in range(law.half.cells)]))
    assert found == law.chain.ratio_of(rounds)
    stored = [
        law_of(lambda words, cell=cell, own=own: law.chain.permanent(cell, own, words), width, 6)
        for own in [next(iter(owns))]
        for cell in range(law.half.cells)
    ]
    assert worst(stored) <= law.chain.lasting_ratio
    assert law.chain.ratio_of(rounds) < law.chain.ratio_of(rounds + 1) < law.chain.lasting_ratio
    assert float(law.chain.ratio_of(60)) == pytest.approx(float(law.chain.lasting_ratio), rel=1e-3)


def test_both_epsilons_of_rappor_are_those_of_the_literature() -> None:
    """A12: eps_perm = 2h ln((1-f/2)/(f/2)); one report: h ln(q* (1-p*) / (p* (1-q*)))."""
    f, p, q, hashes = Fraction(1, 2), Fraction(1, 2), Fraction(3, 4), 2
    law = RapporResponse(categories=100, cohorts=4, filter_bits=16, hashes=hashes, hold=3, zero=2, one=3, bits=2)
    assert law.chain.lasting_ratio == ((1 - f / 2) / (f / 2)) ** (2 * hashes)
    set_, clear = f / 2 * (p + q) + (1 - f) * q, f / 2 * (p + q) + (1 - f) * p
    assert (law.set_share, law.clear_share) == (set_, clear)
    assert law.half.ratio == (set_ * (1 - clear) / (clear * (1 - set_))) ** hashes
    # Its estimator of set bits: (c - (p + f (q - p) / 2) n) / ((1 - f) (q - p)).
    totals = np.array([[100, *range(30, 46)]] * 4)
    printed = (totals[:, 1:] - float(p + f * (q - p) / 2) * 100) / float((1 - f) * (q - p)) / 100
    assert law.set_bits(totals) == pytest.approx(printed)


def test_filters_depend_on_the_cohort_and_set_at_most_so_many_bits() -> None:
    filters = [filter_of(cell, cohort, 16, 2) for cell in range(50) for cohort in range(8)]
    assert max(map(int.bit_count, filters)) == 2
    assert len({tuple(filter_of(cell, cohort, 16, 2) for cohort in range(8)) for cell in range(50)}) == 50
    assert [filter_of(cell, 0, 4, 0) for cell in range(4)] == [8, 4, 2, 1]


@pytest.mark.parametrize(("law", "width", "words", "rounds"), SMALL, ids=_IDS)
def test_blocks_have_the_law_of_the_client(law: ChainOracle, width: int, words: int, rounds: int) -> None:
    cell = law.half.cells - 1
    known = client_law(law.half, cell, word_bits=width, max_words=words)
    drawn = law.draw_many(cell, 40_000, system_noise())
    counts: dict[Any, int] = defaultdict(int)
    for report in drawn.reshape(len(drawn), -1).tolist():
        counts[tuple(report)] += 1
    assert set(counts) <= set(known.mass)
    decoded, valid = law.decode(law.encode(drawn[:50]))
    assert valid.all()
    assert (decoded == drawn[:50]).all()
    # n = 40,000, seven deviations: a false alarm has a chance below 1e-10; catches a probability off by .02.
    for fields, mass in known.mass.items():
        part = float(mass / (1 - known.undecided))
        assert abs(counts[fields] - 40_000 * part) < 7 * (40_000 * part * (1 - part)) ** 0.5 + 1


@pytest.mark.parametrize(("law", "width", "words", "rounds"), SMALL[:3], ids=_IDS[:3])
def test_scores_have_the_stated_mean(law: Any, width: int, words: int, rounds: int) -> None:
    for own in range(law.half.cells):
        known = client_law(law.half, own, word_bits=width, max_words=words)
        for other in range(law.half.cells):
            mean = sum(
                mass * int(law.totals(np.array([fields]).reshape(1, *law.draw_shape))[other])
                for fields, mass in known.mass.items()
            ) / (1 - known.undecided)
            assert mean == law.base + (law.slope if other == own else 0)


def memos_of(half: Chain, history: tuple[int, ...], own: tuple[int, ...], most: int) -> list[tuple[int, int]]:
    """Return what the response that each round uses is stored under, and the value that it is drawn from."""
    found: dict[int, int] = {}
    used = []
    for cell in history:
        memo = half.memo(cell, own)
        if memo not in found and len(found) < most:
            found[memo] = cell
        memo = memo if memo in found else next(reversed(found))
        used.append((memo, found[memo]))
    return used


def history_law(
    half: Chain, history: tuple[int, ...], own: tuple[int, ...], most: int, width: int
) -> dict[Any, Fraction]:
    """Return the law of the reports of a history of values, by stored responses and the reports that follow them."""
    used = memos_of(half, history, own, most)
    stored = [law_of(lambda words, cell=cell: half.permanent(cell, own, words), width, 6) for _, cell in set(used)]
    places = {memo: place for place, (memo, _) in enumerate(set(used))}
    one = {
        state: law_of(lambda words, state=state: half.instant(state, own, words), width, 6)
        for state in set().union(*stored)
    }
    found: dict[Any, Fraction] = defaultdict(Fraction)
    for states in itertools.product(*(law.items() for law in stored)):
        mass = math.prod(part for _, part in states)
        rounds = [one[states[places[memo]][0]].items() for memo, _ in used]
        for several in itertools.product(*rounds):
            found[tuple(report for report, _ in several)] += mass * math.prod(part for _, part in several)
    return found


def histories_of(half: Chain, rounds: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(half.cells), repeat=rounds))


#: Instances, the width of their words, and the rounds whose histories are all listed: changing ones, and back.
HISTORIES: list[tuple[ChainOracle, int, int]] = [
    (MemoisedKary(categories=2, hold=3, show=3, bits=2), 2, 4),
    (MemoisedKary(categories=3, hold=2, show=3, bits=2), 2, 3),
    (MemoisedHashing(categories=2, group_bits=1, hold=3, show=3, bits=2, width=2), 2, 3),
    (MemoisedHashing(categories=4, group_bits=1, hold=3, show=3, bits=2, width=3), 2, 2),
    (RapporResponse(categories=2, cohorts=1, filter_bits=2, hashes=0, hold=3, zero=1, one=3, bits=2), 2, 3),
    (RapporResponse(categories=3, cohorts=1, filter_bits=3, hashes=1, hold=3, zero=1, one=2, bits=2), 2, 2),
]
_HISTORY_IDS = [f"{law.name}-{place}" for place, (law, *_) in enumerate(HISTORIES)]


def owns_of(law: ChainOracle, width: int) -> list[tuple[int, ...]]:
    """Return what a device may draw once, one for each way to share stored responses."""
    owns = law_of(law.chain.start, max(width, law.half.widths[0]), 2)
    cells = range(law.half.cells)
    if isinstance(law, RapporResponse):
        return list(owns)
    return list({tuple(law.chain.memo(cell, own) for cell in cells): own for own in owns}.values())


def worst_of_histories(law: ChainOracle, most: int, width: int, rounds: int) -> Fraction:
    return max(
        worst([history_law(law.chain, history, own, most, width) for history in histories_of(law.chain, rounds)])
        for own in owns_of(law, width)
    )


@pytest.mark.parametrize(("law", "width", "rounds"), HISTORIES, ids=_HISTORY_IDS)
def test_a_client_that_keeps_its_first_value_loses_the_same_under_any_two_histories(
    law: ChainOracle, width: int, rounds: int
) -> None:
    found = worst_of_histories(law, 1, width, rounds)
    assert found <= law.chain.ratio_of(rounds) < law.chain.lasting_ratio
    if not isinstance(law, RapporResponse) or not law.hashes:
        assert found == law.chain.ratio_of(rounds)


@pytest.mark.parametrize(("law", "width", "rounds"), HISTORIES, ids=_HISTORY_IDS)
def test_values_that_change_lose_no_more_than_is_stated_under_any_two_histories(
    law: ChainOracle, width: int, rounds: int
) -> None:
    found = worst_of_histories(law, law.half.cells, width, rounds)
    assert law.chain.ratio_of(rounds) <= found <= law.chain.ratio_of_changes(rounds)
    assert law.chain.ratio_of_changes(1) == law.chain.ratio


def test_the_pattern_of_changes_leaks_without_bound_and_the_stated_loss_covers_it() -> None:
    """ABAB.. against AAAA..: in closed form, since each stored response has two states."""
    for law in (MemoisedKary.calibrated(PureDP(1), categories=2), MemoisedHashing.calibrated(PureDP(1), categories=9)):
        hold, show = (Fraction(weight, 2**law.bits) for weight in (law.hold, law.show))
        assert law.without_hiding_changes(values=2) <= PureDP(2)
        for rounds in (2, 10, 100):
            half = rounds // 2
            # Reports 0101..: from one response for each value, and from a single one.
            each = hold * show**half + (1 - hold) * (1 - show) ** half
            ratio = each**2 / (show * (1 - show)) ** half
            loss = math.log(ratio)
            assert loss <= float(law.losses(rounds=rounds, values=2).changed.epsilon)  # type: ignore[attr-defined]
        # What two stored responses would lose together, 2, is no bound at all.
        assert loss > 50
        assert law.losses(rounds=100).changed == law.losses(rounds=100).rounds <= PureDP(1)


def test_a_round_cannot_be_charged_at_the_price_of_a_single_one() -> None:
    """A second report comes from a response that the first has told of: it says more than a first one."""
    law = MemoisedKary(categories=2, hold=9, show=15, bits=4)
    laws = [history_law(law.chain, history, (), 2, 4) for history in histories_of(law.chain, 4)]
    assert law.chain.ratio**4 < worst(laws) <= law.chain.ratio_of_changes(4)


@pytest.mark.parametrize(("law", "width", "rounds"), HISTORIES, ids=_HISTORY_IDS)
def test_histories_of_one_pattern_lose_what_was_stored_for_them(law: ChainOracle, width: int, rounds: int) -> None:
    own = owns_of(law, width)[-1]
    alike: dict[Any, list[Any]] = defaultdict(list)
    for history in histories_of(law.chain, rounds):
        memos = [memo for memo, _ in memos_of(law.chain, history, own, law.half.cells)]
        pattern = tuple(memos.index(memo) for memo in memos)
        alike[pattern].append(history_law(law.chain, history, own, law.half.cells, width))
    for pattern, laws in alike.items():
        flat = law.without_hiding_changes(values=len(set(pattern)))
        assert math.log(worst(laws) if len(laws) > 1 else 1) <= float(flat.epsilon)  # type: ignore[attr-defined]


def test_a_hashed_chain_stores_no_more_than_a_response_a_group_and_states_each_round() -> None:
    law = MemoisedHashing.calibrated(PureDP(1), categories=1000)
    assert law.without_hiding_changes(values=900) == law.without_hiding_changes(values=2) <= PureDP(2)
    client = RoundsClient(law.chain, 9, 200)
    for at in range(200):
        client.report(at * 5 % 1000, at)
    assert len(client.memory["states"]) == 2
    stated = law.losses(rounds=200, values=9).changed
    assert math.log(client.spent) <= float(stated.epsilon) < math.log(client.spent) + 1e-6  # type: ignore[attr-defined]


def test_a_client_as_it_is_keeps_its_first_value_and_its_loss_for_ever() -> None:
    """The event that told ABAB.. from AAAA..: reports that follow both groups. n = 300, by a stored response alone."""
    law = MemoisedKary(categories=2, hold=2**30 * 3, show=2**32 - 1)
    client = RoundsClient(law.chain)
    reports = {client.report(at % 2, at) for at in range(300)}
    # A report is not the stored response with a chance of 2^-32.
    assert len(reports) == 1
    assert client.spent == law.chain.lasting_ratio
    assert len(client.memory["states"]) == 1


def test_a_client_of_values_that_change_stops_after_its_rounds() -> None:
    half = MemoisedKary.calibrated(PureDP(1), categories=4).chain
    client = RoundsClient(half, 3, 2)
    first, second = client.report(0, 7), client.report(1, 9)
    with pytest.raises(BudgetExceeded):
        client.report(2, 10)
    assert (client.report(3, 7), client.report(3, 9)) == (first, second)
    assert client.spent == half.ratio * half.shown_ratio
    with pytest.raises(InvalidParameter, match="memory"):
        RoundsClient(half, 1, memory=client.memory)
    with pytest.raises(InvalidParameter, match="memory"):
        RoundsClient(half, 3, 5, client.memory)
    again = RoundsClient(half, 3, 2, client.memory)
    with pytest.raises(BudgetExceeded):
        again.report(2, 10)


@pytest.mark.parametrize("cell", [9, 10**400, np.int64(7)])
def test_a_cell_beyond_the_domain_counts_as_the_last_one(cell: Any) -> None:
    # With these weights a report is another cell with a chance below 2^-30.
    half = MemoisedKary(categories=4, hold=2**32 - 1, show=2**32 - 1).chain
    assert RoundsClient(half).report(cell, 0) == (3,)
    assert RoundsClient(half).report(-5, 0) == RoundsClient(half).report("?", 0) == (0,)


def test_a_round_is_drawn_once_by_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    half, where = MemoisedHashing.calibrated(PureDP(1), categories=1000).chain, "dither.local.clients.rounds"
    one = RoundsClient(half)
    assert len(asked_by_two_threads(monkeypatch, where, lambda: one.report(1, 0))) == 1
    other = RoundsClient(half)
    refuses_what_would_draw_twice(monkeypatch, where, other, lambda: other.report(1, 0))


@pytest.mark.parametrize("kind", [MemoisedKary, MemoisedHashing, RapporResponse])
@pytest.mark.parametrize("epsilon", ["0.5", 2, 8])
def test_calibration_keeps_both_targets(kind: Any, epsilon: Any) -> None:
    law = kind.calibrated(PureDP(epsilon), categories=30, first=PureDP(Fraction(epsilon) / 4))
    losses = law.losses(rounds=1000)
    assert losses.lasting <= PureDP(epsilon)
    assert float(losses.lasting.epsilon) > 0.999 * float(epsilon)
    assert losses.one <= PureDP(Fraction(epsilon) / 4)
    assert losses.one <= losses.rounds <= losses.lasting


def test_a_client_remembers_over_rounds_and_over_restarts() -> None:
    law = RapporResponse.calibrated(PureDP(2), categories=1000)
    client = RoundsClient(law.chain, 2, 50)
    assert client.spent == 1
    first = client.report(5, 0)
    assert client.report(7, 0) == first
    for at in range(1, 40):
        client.report(5, at)
    again = RoundsClient(law.chain, 2, 50, json.loads(json.dumps(client.memory)))
    assert again.report(9, 0) == first
    again.report(9, 40)
    again.report(11, 41)
    # A third value is reported as the last one that has a stored response.
    assert len(again.memory["states"]) == 2
    assert again.spent == law.chain.ratio_of_changes(42)


def test_averages_of_fresh_responses_give_a_value_away_and_those_of_a_stored_one_do_not() -> None:
    """The attack: the most frequent report of 200 rounds is the value, unless the response was stored."""
    law = MemoisedKary.calibrated(PureDP(1), categories=4)
    devices, rounds = np.repeat(np.arange(4), 100), 200
    own, states = law.draw_states(devices, system_noise())
    kept = np.stack([law.draw_round(own, states, system_noise()) for _ in range(rounds)])
    fresh = np.stack([law.draw_each(devices, system_noise()) for _ in range(rounds)])

    def guessed(reports: Any) -> float:
        votes = np.stack([(reports == answer).sum(axis=0) for answer in range(4)])
        return float((votes.argmax(axis=0) == devices).mean())

    # The best guess from a stored response is right with its own probability, hold / 2^bits, here .475; n = 400, so
    # seven deviations are .18. Fresh ones: the chance of a wrong guess is below .05.
    assert guessed(kept) < law.hold / 2**law.bits + 0.18
    assert guessed(fresh) > 0.8


def test_decoding_finds_what_many_devices_hold() -> None:
    law = RapporResponse.calibrated(PureDP(8), categories=2**40, first=PureDP(6), cohorts=8, filter_bits=32)
    held = np.repeat([11, 22, 33], [3000, 2000, 1000])
    totals = law.totals(law.draw_each(held, system_noise()))
    found = law.find(totals, [11, 22, 33, *range(1000, 1040)], "0.999999")
    assert set(found.cells[:3].tolist()) == {11, 22, 33}
    truth = {11: 0.5, 22: 1 / 3, 33: 1 / 6}
    for cell, low, high in zip(found.cells[:3].tolist(), found.low, found.high, strict=False):
        assert low < truth[cell] < high
    assert (law.totals(law.draw_each(held[:0], system_noise())) == 0).all()
    assert law.find(np.zeros_like(totals), [1, 2]).cells.size == 0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: MemoisedKary(categories=3, hold=1, show=3, bits=2), "hold"),
        (lambda: MemoisedKary(categories=3, hold=3, show=1, bits=2), "show"),
        (
            lambda: RapporResponse(categories=3, cohorts=2, filter_bits=3, hashes=0, hold=3, zero=1, one=3, bits=2),
            "hashes",
        ),
        (
            lambda: RapporResponse(categories=3, cohorts=1, filter_bits=3, hashes=1, hold=3, zero=3, one=3, bits=2),
            "one",
        ),
        (
            lambda: RapporResponse(categories=3, cohorts=1, filter_bits=3, hashes=1, hold=2, zero=1, one=3, bits=3),
            "hold",
        ),
        (lambda: MemoisedHashing(categories=9, group_bits=1, hold=3, show=3, bits=2, width=4), "categories"),
        (lambda: MemoisedKary.calibrated(PureDP(1), categories=3).losses(rounds=0), "rounds"),
        (lambda: MemoisedKary.calibrated(PureDP(1), categories=3).losses(rounds=2, values=0), "values"),
        (lambda: RoundsClient(MemoisedKary.calibrated(PureDP(1), categories=3).chain, 0), "most_values"),
        (lambda: RoundsClient(MemoisedKary.calibrated(PureDP(1), categories=3).chain, 2), "most_rounds"),
        (lambda: RoundsClient(MemoisedKary.calibrated(PureDP(1), categories=3).chain, 2, 0), "most_rounds"),
        (lambda: RoundsClient(MemoisedKary.calibrated(PureDP(1), categories=3).chain).report(1, "one"), "at"),
        (
            lambda: RapporResponse.calibrated(PureDP(1), categories=9).find(np.zeros((64, 33), dtype=np.int64), [9]),
            "candidates",
        ),
    ],
)
def test_odd_parameters_are_refused_by_name(call: Any, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()
