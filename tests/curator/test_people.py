"""People: declared before they are let in, known by tokens of which nothing is kept, never called like the owner."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dither.curator.folder import Curator
from dither.curator.look_alikes import looks_like
from dither.curator.people import People, Role, Scope
from dither.errors import InvalidParameter, NotFound
from dither.privacy import PureDP


def test_a_token_lets_its_person_in_until_it_ends_or_is_revoked(curator: Curator) -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    people = People(curator, clock=lambda: now[0])
    people.add("ana", "analyst")
    token = people.new_token("ana", days=2, scopes=(Scope.READ,))
    found = people.authenticate(token)
    assert found is not None
    assert (found.person.name, found.person.role, found.scopes) == ("ana", Role.ANALYST, (Scope.READ,))
    (kept,) = people.tokens()
    assert kept.used == "2026-01-01"
    assert token.split("_", 2)[2] not in str(curator.ledger.token(kept.id))  # type: ignore[attr-defined]
    # A second opening of the same books knows it too, and that it is revoked.
    with Curator.open(curator.folder, anchors=curator.anchors) as other:
        again = People(other, clock=lambda: now[0])
        assert again.authenticate(token) is not None
        again.revoke_token(kept.id)
    assert people.authenticate(token) is None
    second = people.new_token("ana", days=2)
    now[0] += timedelta(days=2)
    assert people.authenticate(second) is None
    for wrong in ("", "dither", "dither_", "_".join(second.split("_")[:2]), second[::-1], "\udcff", "x" * 100_000):
        assert people.authenticate(wrong) is None


#: By how it is done. All but the forms of width and of figures, which no name may have anyway, are in normal form.
LIKE_THE_OWNER = {
    "case": "curator Curator CURATOR",
    "width and figures": "ｃｕｒａｔｏｒ 𝒸𝓊𝓇𝒶𝓉ℴ𝓇 ⓒⓤⓡⓐⓣⓞⓡ ᶜᵘʳᵃᵗᵒʳ 🅲🆄🆁🅰🆃🅾🆁 🇨🇺🇷🇦🇹🇴🇷",
    "marks": "cúrator ĉùřäţóŕ cu-rator c.u.r.a.t.o.r cur\u200dator curator\u3164",
    "digits and signs": "curat0r Curat٥r curat०r cur@tor ©u®ato® curat○r cura†or",
    "small capitals and other Latin": "ᴄᴜʀᴀᴛᴏʀ curɑtor cʋrator ȼʉɍⱥŧøɍ cuꭇatoꭇ ɔuɹɐʇoɹ",
    "Cyrillic": "сurator curаtor СURАТОR curaтor curatoг сцгатог CUЯATOЯ",
    "Greek": "curατοr ϲυratοr CURΛΤΟR ϹUЯΔΤΘЯ",
    "other scripts": "cսrator CՍRATՕR ᏟᏌᎡᎪᎢᎾᎡ ꓚꓴꓣꓮꓔꓳꓣ ⲥⲩⲅⲁⲧⲟⲅ 𐐽urat𐐬r CᑌᖇATOᖇ",
    # Of these signs nothing is known, but of all others.
    "unknown signs": "cur丫tor cuրatoր curat🜨r cuრator",
}


def test_nobody_is_called_like_the_owner(curator: Curator) -> None:
    people = People(curator)
    people.add("ana", "analyst")
    for name in " ".join(LIKE_THE_OWNER.values()).split():
        assert looks_like(name, "curator"), name
        with pytest.raises(InvalidParameter):
            people.add(name, "analyst")
        with pytest.raises(InvalidParameter):
            people.identify("ana", "https://login.example", name)
    assert [one.name for one in people.all()] == ["ana"]


def test_ordinary_names_are_not_taken_for_the_owner(curator: Curator) -> None:
    people = People(curator)
    for name in (
        *("caretaker", "curators", "Curatora", "the curator", "creator", "Curat", "Mercator", "Kurator"),
        # The same word in other languages, and names near it: what counts is how a name looks, not what it means.
        *("Куратор", "Куратов", "Суратов", "Саратов", "Сугатов", "Наталья", "Виктор", "Κουράτωρ"),
        *("Σωκράτης", "Γεωργία", "Þórður", "Søren", "Łukasz", "Nguyễn Văn", "محمدعلي", "東京都知事", "Մարտիրոս"),
    ):
        assert people.add(name, "analyst").name == name


def test_a_grant_is_a_quota_and_ends_with_its_person(curator: Curator) -> None:
    people = People(curator)
    people.add("ana", "analyst")
    people.grant("ana", "clinic", PureDP(1), most=PureDP("1/2"), usual=PureDP("1/4"))
    (grant,) = people.grants("ana")
    assert (grant.most, grant.usual) == (PureDP("1/2"), PureDP("1/4"))
    assert curator.ledger.balance("clinic", "ana").budget == PureDP(1)
    people.withdraw("ana", "clinic")
    assert people.grants() == ()
    people.grant("ana", "clinic", PureDP(1))
    token = people.new_token("ana")
    people.remove("ana")
    assert people.authenticate(token) is None
    assert people.grants() == ()
    for ask in (
        lambda: people.remove("ana"),
        lambda: people.new_token("ana"),
        lambda: people.grant("ana", "clinic", PureDP(1)),
        lambda: people.withdraw("ana", "clinic"),
        lambda: people.revoke_token("none"),
    ):
        with pytest.raises(NotFound):
            ask()
    assert [one.is_active for one in people.all()] == [False]
    # Declared again, they start with no grant and no token.
    people.add("ana", "analyst")
    assert people.authenticate(token) is None
    assert curator.ledger.verify().is_intact


def test_what_makes_no_sense_is_refused_by_name(curator: Curator) -> None:
    people = People(curator)
    people.add("ana", Role.ANALYST)
    for ask, word in (
        (lambda: people.add("bob", "king"), "role"),
        (lambda: people.add(" bob", "analyst"), "name"),
        (lambda: people.new_token("ana", days=0), "days"),
        (lambda: people.new_token("ana", scopes=()), "scopes"),
        (lambda: people.grant("ana", "clinic", PureDP(1), most=PureDP("1/4"), usual=PureDP("1/2")), "usual"),
        (lambda: people.grant("ana", "clinic", PureDP(100)), "quota"),
    ):
        with pytest.raises(InvalidParameter, match=word):
            ask()


def test_a_grant_that_meets_a_removal_leaves_nothing_to_whoever_comes_later(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = People(curator)
    people.add("cyd", "analyst")
    keep = people._books.keep_grant

    def meanwhile(person: str, dataset: str) -> bool:
        people.remove("cyd")
        return keep(person, dataset)

    monkeypatch.setattr(people._books, "keep_grant", meanwhile)
    with pytest.raises(NotFound):
        people.grant("cyd", "clinic", PureDP(1))
    people.add("cyd", "analyst")
    assert people.grants("cyd") == ()
    assert people._books.terms("clinic", "cyd").is_ended
    assert curator.ledger.verify().is_intact
