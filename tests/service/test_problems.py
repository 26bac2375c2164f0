"""Errors over the wire: the class that was raised, with all that it carries, or a fixed text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dither import errors
from dither.errors import DitherError, InvalidParameter
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.service.problems import FAILED, error_of, problem_of
from tests.service.conftest import Running

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
LOSSES = PureDP("1/5"), ZCDP("1/10"), ApproxDP(1, "1e-6")
#: One of each class of the tree, with all that it carries.
ERRORS = (
    errors.InvalidParameter("k", 1, "required for stars: 2 or more"),
    errors.InvalidParameter("epsilon", -1, "positive"),
    errors.LossNotStated("epsilon", LOSSES[0]),
    errors.InvalidValue("rows", [1], "a table"),
    errors.InvalidSchema("unit", "cell", "row or person"),
    errors.IncompatibleDistance("unit", "rows", "people"),
    errors.NoGuarantee("none"),
    errors.BudgetExceeded(*LOSSES, "; ask for less"),
    errors.QuotaExceeded(*LOSSES, "ana"),
    errors.AllowanceExceeded(*LOSSES, "ana", "0.1 every 7 days", "2026-01-08T00:00:00+00:00"),
    errors.NotApproved("not yet"),
    errors.ApprovalPending("clinic", 7),
    errors.ApprovalDeclined("clinic", 7, "too fine"),
    errors.AnalystUnknown("ana", "clinic"),
    errors.DataSetNotOpen("clinic", "paused"),
    errors.DataSetRetired("clinic"),
    errors.RequestCancelled("k"),
    errors.KeyReused("k"),
    errors.RequestSealed("k", 3),
    errors.RequestUnderWay("k", 2.5),
    errors.StreamUnavailable("wards", "its book is not its own"),
    errors.UnknownMechanism("no such mechanism"),
    errors.NotSerialisable("a function"),
    errors.Unanswerable("no", "write another"),
    errors.NotFound("no such"),
    errors.MissingExtra("Parquet", "frames"),
)
#: Where and why is the curator's business: one text for each, and nothing else.
IN_FIXED_WORDS = (
    errors.LedgerUnavailable("/srv/books", "the disk is full"),
    errors.LedgerCorrupted("/srv/books", "an entry is missing"),
    errors.LedgerBehindAnchor("/srv/books", "a restored copy"),
    errors.EngineUnavailable("row 17 is odd"),
    errors.EngineFailure(),
    errors.ReleaseFailed(),
)
#: What nobody outside can do anything about.
INSIDE = (
    DitherError("cannot listen"),
    errors.PlanViolation("another draw"),
    errors.HandleMisuse("let go of"),
    errors.NotAnExample("a lot"),
    errors.EntropyFailure("no random bytes"),
    errors.NotDelivered("k", "the disk is full"),
    errors.NotFitted("fit"),
)


def told(error: BaseException) -> tuple[int, dict[str, Any], DitherError]:
    """Return the status of an error, what is told of it, and what a client makes of that."""
    problem = problem_of(error)
    record = json.loads(json.dumps(problem.to_dict(), allow_nan=False))
    assert not [value for value in record.values() if isinstance(value, float)]
    return problem.status, record, error_of(record)


def test_every_error_of_the_tree_is_told_in_one_of_three_ways() -> None:
    every = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DitherError)}
    assert {type(error) for error in (*ERRORS, *IN_FIXED_WORDS, *INSIDE)} == every


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_as_the_class_that_it_was_with_what_it_carried(error: DitherError) -> None:
    status, record, again = told(error)
    assert type(again) is type(error)
    assert record["type"].removeprefix("/problems/").replace("-", "") == type(error).__name__.lower()
    assert str(again) == str(error)
    assert vars(again) == vars(error) | ({"offender": None} if isinstance(error, InvalidParameter) else {})
    assert 400 <= status < 500 or isinstance(error, errors.MissingExtra)
    # As a service of before tells it: nothing is carried, and nothing is missing.
    bare = error_of({"title": record["title"], "detail": record["detail"]})
    assert vars(bare).keys() == vars(error).keys()


def test_what_follows_from_rows_or_places_is_told_in_fixed_words() -> None:
    found = [told(error) for error in IN_FIXED_WORDS]
    assert [type(again) for _, _, again in found] == [type(error) for error in IN_FIXED_WORDS]
    assert [status for status, _, _ in found] == [503, 503, 503, 503, 500, 500]
    assert not [record for _, record, _ in found if "srv" in str(record) or "17" in str(record) or len(record) != 4]
    # After the debit there is one text, whether noise was drawn or not.
    noted = errors.EngineFailure()
    noted.add_note("2 attempts are left")
    assert len({problem_of(error).detail for error in (*IN_FIXED_WORDS[-2:], noted, *INSIDE, KeyError("x"))}) == 1
    for error in INSIDE:
        assert problem_of(error) == FAILED


def test_a_limit_that_is_passed_is_told_in_figures_over_the_wire(running: Running) -> None:
    session = running.connect("figures", quota="1/5").session("clinic")
    session.sql(COUNT, epsilon="0.1")
    with pytest.raises(errors.QuotaExceeded) as refused:
        session.sql(COUNT, epsilon="0.15")
    here = running.curator.session("clinic", analyst="figures")
    with pytest.raises(errors.QuotaExceeded) as local:
        here.sql(COUNT, epsilon="0.15")
    assert vars(refused.value) == vars(local.value)
    assert refused.value.analyst == "figures"
    assert isinstance(refused.value.spent, PureDP)


def test_what_makes_no_sense_in_a_problem_is_left_as_it_is() -> None:
    odd = error_of({"title": "BudgetExceeded", "detail": "no", "spent": {"kind": "none"}, "requested": 3})
    assert isinstance(odd, errors.BudgetExceeded)
    assert (odd.spent, odd.requested, odd.budget) == ({"kind": "none"}, 3, None)
