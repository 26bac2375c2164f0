"""The tables of people, in a file and in a server: what one process writes, another reads at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dither.curator.ledger.people import GrantRow, TokenRow
from dither.privacy import PureDP
from tests.curator.ledger.conftest import Home


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_people_grants_and_tokens_are_kept_in_every_kind_of_ledger(new_home: Callable[[str], Home], kind: str) -> None:
    home = new_home(kind)
    one, other = home.open(), home.open()
    one.register("visits", budget=PureDP(1), unit="rows")
    assert one.keep_person("ana", "analyst")
    assert not other.keep_person("ana", "auditor")
    assert [(row.name, row.role) for row in one.people()] == [("ana", "auditor")]
    token = TokenRow("t1", "ana", "0" * 64, "ask", "2026-01-01", "2027-01-01", None, None)
    one.keep_token(token)
    assert other.token("t1") == token
    other.use_token("t1", "2026-01-02")
    assert one.tokens() == (token._replace(used="2026-01-02"),)
    one.set_quota("visits", "ana", PureDP("1/2"))
    one.keep_grant("ana", "visits")
    one.keep_grant("ana", "visits")
    assert other.grants("ana") == (GrantRow("ana", "visits", None, None, '{"epsilon":"1/2","kind":"pure"}'),)
    assert other.end_grant("ana", "visits")
    assert one.terms("visits", "ana").is_ended
    assert not one.end_grant("ana", "visits")
    assert other.end_person("ana")
    assert not other.end_person("ana")
    found = one.token("t1")
    assert found is not None
    assert found.revoked is not None
    assert other.person("nobody") is None
    assert other.token("none") is None
    assert one.verify().is_intact
    assert one.debit_of(1) is None
