"""The accountants' audit: it counts what it says, and complains when a route is wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dither.audit import accountants
from dither.privacy.accountants import crosscheck


def test_all_routes_agree() -> None:
    seen: list[int] = []
    agreement = accountants.audit_accountants(5, progress=seen.append)
    assert seen == [0, 1, 2, 3, 4]
    assert agreement.complaints == []
    assert "5 random compositions, 0 understated" in str(agreement)


@pytest.mark.parametrize(("factor", "complaint"), [("99/100", "below the truth"), ("102/100", "above the truth")])
def test_a_wrong_accountant_is_found(monkeypatch: pytest.MonkeyPatch, factor: str, complaint: str) -> None:
    def wrong(draw: crosscheck.Draw) -> crosscheck.Verdict:
        verdict = crosscheck.cross_check(draw)
        return replace(verdict, epsilon=verdict.epsilon * Fraction(factor))

    monkeypatch.setattr(accountants, "cross_check", wrong)
    assert any(complaint in text for text in accountants.audit_accountants(3).complaints)
