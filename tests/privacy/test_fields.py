"""Records that are not mechanisms keep to the fields they declare, too; the contract tries those of mechanisms."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

from dither.errors import InvalidParameter
from dither.estimate.accuracy import GaussianLaw, LaplaceLaw
from dither.exact import Field
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, PureDP, Relation
from dither.privacy.accountants.pairs import GaussianPair, LaplacePair
from dither.privacy.fields import RowUnit
from dither.privacy.sensitivity import Universe
from dither.publish.microdata import OrderedCells

RECORDS = [
    PureDP(1),
    PureDP(1, rho="1/8"),
    ZCDP(1),
    ApproxDP(1, "1e-6"),
    Universe((1, 2), range(3), relation=Relation.ADD_REMOVE),
    OrderedCells((0, 1, 2)),
    GaussianPair(sigma=1, contribution=1, relation=Relation.REPLACE),
    LaplacePair(scale=1, contribution=1, relation=Relation.METRIC),
    GaussianLaw(sigma=1),
    LaplaceLaw(scale="1/2"),
]


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_a_declared_field_refuses_what_it_must_not_hold_and_is_named(record: Any) -> None:
    tried = 0
    for field in dataclasses.fields(record):
        declared = inspect.getattr_static(type(record), field.name, None)
        for bad in declared.offenders() if isinstance(declared, Field) else ():
            with pytest.raises(InvalidParameter) as refusal:
                dataclasses.replace(record, **{field.name: bad})
            assert refusal.value.parameter == field.name
            tried += 1
    assert tried


def test_a_row_unit_has_no_default_unless_one_is_stated() -> None:
    @dataclasses.dataclass(frozen=True)
    class Stated:
        unit: RowUnit = RowUnit(ROW)

    @dataclasses.dataclass(frozen=True)
    class Asked:
        unit: RowUnit = RowUnit()

    assert Stated().unit == ROW
    assert Asked(unit=ROW_REPLACED).unit == ROW_REPLACED
    with pytest.raises(TypeError, match="unit"):
        Asked()  # type: ignore[call-arg]
