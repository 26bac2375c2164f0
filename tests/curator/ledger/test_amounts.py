"""Integer amounts: never less than the loss, never a unit more; and admission by certificates equals the filter."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.curator.ledger.admission import Certificates
from dither.curator.ledger.amounts import UNITS, WIDTH, ZERO, Amount
from dither.curator.ledger.chain import answer_text, canonical, debit_text
from dither.curator.ledger.transaction import limit_text
from dither.errors import InvalidParameter
from dither.privacy import ZCDP, ApproxDP, Filter, PureDP
from tests.rationals import rationals

FIGURES = rationals(0, 10, 10**12)
DELTAS = rationals(0, Fraction(1, 1000), 10**40)
LOSSES = st.one_of(
    FIGURES.map(PureDP),
    st.builds(ZCDP, FIGURES, DELTAS),
    st.builds(ApproxDP, FIGURES, DELTAS),
)


@given(LOSSES)
def test_an_amount_covers_its_loss_by_less_than_a_unit(loss) -> None:
    amount = Amount.of(loss)
    for units, figure in ((amount.epsilon, loss.pure), (amount.rho, loss.rho), (amount.delta, loss.delta)):
        if figure is None:
            assert units is None
        else:
            assert 0 <= Fraction(units, UNITS) - figure < Fraction(1, UNITS)
    back = amount.loss()
    # A rho that follows from epsilon is rounded up anew for the larger epsilon; either bounds the true one.
    assert back.rho >= (loss.rho if loss.pure is None else loss.rho * (1 - Fraction(1, 10**20)))
    assert back.delta >= loss.delta
    assert (back.pure is None) == (loss.pure is None)
    assert Amount.from_texts(*amount.texts()) == Amount.from_dict(amount.to_dict()) == amount


@given(st.lists(LOSSES, max_size=20))
def test_sums_of_amounts_cover_sums_of_losses(losses) -> None:
    total, exact = ZERO, (Fraction(0), Fraction(0))
    for loss in losses:
        total, exact = total + Amount.of(loss), (exact[0] + loss.rho, exact[1] + loss.delta)
    assert exact[0] <= Fraction(total.rho, UNITS) <= exact[0] + Fraction(len(losses), UNITS)
    assert exact[1] <= Fraction(total.delta, UNITS) <= exact[1] + Fraction(len(losses), UNITS)
    assert (total.epsilon is None) == any(loss.pure is None for loss in losses)


@given(st.integers(0, 10**WIDTH - 1), st.integers(0, 10**WIDTH - 1))
def test_texts_are_ordered_as_numbers(first, second) -> None:
    texts = [Amount(number, 0, 0).texts()[0] for number in (first, second)]
    assert (texts[0] < texts[1]) == (first < second)


def test_the_smallest_charges_add_up() -> None:
    """A million least charges take at least a million units: nothing is absorbed."""
    least = Amount.of(PureDP("1e-300"))
    assert least.epsilon == 1
    assert least.times(10**6).epsilon == 10**6


def test_a_sum_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        Amount(10**WIDTH, 0, 0).texts()


BUDGETS = st.sampled_from(
    [
        PureDP(1),
        PureDP(1, rho="0.1"),
        ZCDP("0.3"),
        ZCDP("0.3", "1e-4"),
        ApproxDP(1, "1e-4"),
        ApproxDP(1, "1e-4", rho="0.2"),
    ]
)
SMALL = st.one_of(
    st.sampled_from([ApproxDP("0.2", "9e-5"), ApproxDP("0.2", "6e-5"), ZCDP("0.02", "7e-5"), ApproxDP(1, "1e-4")]),
    rationals(0, Fraction(1, 5), 100).map(PureDP),
    st.builds(
        ZCDP,
        rationals(0, Fraction(1, 20), 1000),
        st.sampled_from([0, Fraction(1, 10**5)]),
    ),
)


@given(BUDGETS, st.lists(st.lists(SMALL, min_size=1, max_size=15), min_size=1, max_size=3))
def test_certificates_say_what_the_filter_says(budget, histories) -> None:
    """Also where data sets with equal budgets, of which each began in its own way, share the certificates."""
    certificates = Certificates()
    for losses in histories:
        asked, spent = Filter(budget), ZERO
        for loss in losses:
            charge = Amount.of(loss)
            fits = asked.admits(charge.loss())
            assert certificates.admits(limit_text(budget), spent, charge) == fits
            if fits:
                asked.spend(charge.loss())
                spent = spent + charge


def test_entries_are_written_as_canonical_texts() -> None:
    """The two records of a release have writers of their own; the chain knows one text of a record."""
    for text in ("plain", '"', "\\", "\n\u2028\x7f", "\N{SNOWMAN}\N{GRINNING FACE}", '","seq":0,"', ""):
        for charge in (Amount(1, 2, 3), Amount(None, 10**39, 0)):
            record = {"seq": 7, "time": text, "dataset": text, "analyst": text + "a", "key": text + "k"}
            debit = {"kind": "reserve", "digest": text + "d", "charge": charge.to_dict(), "description": text + "w"}
            debit["edition"] = 3
            whose = text, text + "a"
            written = debit_text(7, text, whose, text + "k", text + "d", charge.to_dict(), text + "w", 3)
            assert written == canonical(record | debit)
        answer = {"kind": "answer", "answer": text + "x"}
        assert answer_text(7, text, whose, text + "k", text + "x") == canonical(record | answer)
