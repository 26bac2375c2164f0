"""Who may come through the door from elsewhere: people, what they are granted, and the tokens they show.

Tables of their own in the ledger's database, so that all processes and machines that share the ledger know at once whom
a curator has let in and whose token is revoked. Budgets and quotas are the ledger's own; nothing here can add to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dither.curator.ledger.governed import GovernedBooks, retract_all
from dither.curator.ledger.interface import Account
from dither.curator.ledger.owners import enter_end
from dither.curator.ledger.transaction import Page, moment


class PersonRow(NamedTuple):
    """A person, as the table has it."""

    name: str
    role: str
    since: str
    until: str | None


class GrantRow(NamedTuple):
    """What a person is granted of a data set: the quota with its terms, and what stood in their place before those."""

    person: str
    dataset: str
    most: str | None
    usual: str | None
    quota: str | None


class TokenRow(NamedTuple):
    """A token, without its secret."""

    id: str
    person: str
    digest: str
    scopes: str
    made: str
    expires: str
    used: str | None
    revoked: str | None


#: The role of those who agree to releases.
_DECIDES = "curator"
_SHOWN = "SELECT id, person, digest, scopes, made, expires, used, revoked FROM tokens"


_GRANTS = (
    "SELECT person, grants.dataset, most, usual, quota FROM grants "
    "LEFT JOIN analysts ON analysts.dataset = grants.dataset AND analyst = person"
)
_KEEP = "INSERT INTO tokens (id, person, digest, scopes, made, expires, used, revoked) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class PeopleBooks(GovernedBooks):
    """The part of a ledger's database that says who may come in."""

    def keep_person(self, name: str, role: str) -> bool:
        """Add a person, or give one another role; return whether they are new."""

        def work(page: Page) -> bool:
            known = page.rows.one("SELECT name FROM people WHERE name = ?", name)
            if known is None:
                page.rows.do("INSERT INTO people (name, role, since) VALUES (?, ?, ?)", name, role, moment(self._clock))
            else:
                page.rows.do("UPDATE people SET role = ?, until = NULL WHERE name = ?", role, name)
                if role != _DECIDES:
                    retract_all(page, name)
            return known is None

        return self._change("people", work)

    def end_person(self, name: str) -> bool:
        """Let a person in no more, nor any token of theirs; return whether there was one."""

        def work(page: Page) -> bool:
            known = page.rows.one("SELECT name FROM people WHERE name = ? AND until IS NULL", name)
            now = moment(self._clock)
            page.rows.do("UPDATE people SET until = ? WHERE name = ? AND until IS NULL", now, name)
            page.rows.do("UPDATE tokens SET revoked = ? WHERE person = ? AND revoked IS NULL", now, name)
            for (dataset,) in page.rows.all("SELECT dataset FROM grants WHERE person = ?", name):
                enter_end(page, Account(str(dataset), name))
            page.rows.do("DELETE FROM grants WHERE person = ?", name)
            page.rows.do("DELETE FROM identities WHERE person = ?", name)
            retract_all(page, name)
            return known is not None

        return self._change("people", work)

    def people(self) -> tuple[PersonRow, ...]:
        """Return all people, those who are let in no more included."""
        rows = self._read_rows("SELECT name, role, since, until FROM people ORDER BY name")
        return tuple(PersonRow(*row) for row in rows)

    def person(self, name: str) -> PersonRow | None:
        """Return one person."""
        rows = self._read_rows("SELECT name, role, since, until FROM people WHERE name = ?", name)
        return PersonRow(*rows[0]) if rows else None

    def keep_grant(self, person: str, dataset: str) -> bool:
        """Let a person ask of a data set, on the terms of their quota; return False where they were removed meanwhile.

        Their quota then ends as well: whoever is declared by the same name later is granted nothing by this.
        """

        def work(page: Page) -> bool:
            page.rows.do("DELETE FROM grants WHERE person = ? AND dataset = ?", person, dataset)
            if page.rows.one("SELECT name FROM people WHERE name = ? AND until IS NULL", person) is None:
                enter_end(page, Account(dataset, person))
                return False
            page.rows.do("INSERT INTO grants (person, dataset) VALUES (?, ?)", person, dataset)
            return True

        return self._change("grant", work)

    def end_grant(self, person: str, dataset: str) -> bool:
        """Let a person ask no more of a data set; return whether they could."""

        def work(page: Page) -> bool:
            values = (person, dataset)
            known = page.rows.one("SELECT person FROM grants WHERE person = ? AND dataset = ?", *values)
            if known is not None:
                enter_end(page, Account(dataset, person))
            page.rows.do("DELETE FROM grants WHERE person = ? AND dataset = ?", *values)
            return known is not None

        return self._change("grant", work)

    def grants(self, person: str | None = None) -> tuple[GrantRow, ...]:
        """Return what is granted, to one person or to all."""
        if person is None:
            rows = self._read_rows(f"{_GRANTS} ORDER BY person, grants.dataset")
        else:
            rows = self._read_rows(f"{_GRANTS} WHERE person = ? ORDER BY grants.dataset", person)
        return tuple(GrantRow(*row) for row in rows)

    def keep_identity(self, issuer: str, subject: str, person: str) -> None:
        """Say whom an issuer knows as a subject; whoever was known so before is no more."""

        def work(page: Page) -> None:
            page.rows.do("DELETE FROM identities WHERE issuer = ? AND subject = ?", issuer, subject)
            page.rows.do("INSERT INTO identities (issuer, subject, person) VALUES (?, ?, ?)", issuer, subject, person)

        self._change("people", work)

    def identified(self, issuer: str, subject: str) -> str | None:
        """Return who is known to an issuer as a subject."""
        statement = "SELECT person FROM identities WHERE issuer = ? AND subject = ?"
        rows = self._read_rows(statement, issuer, subject)
        return str(rows[0][0]) if rows else None

    def identities(self) -> Sequence[tuple[Any, ...]]:
        """Return all issuers, subjects and people."""
        return self._read_rows("SELECT issuer, subject, person FROM identities ORDER BY person, issuer, subject")

    def keep_token(self, token: TokenRow) -> bool:
        """Keep a new token; return False, and keep nothing, where there is one of its name."""

        def work(page: Page) -> bool:
            if page.rows.one("SELECT id FROM tokens WHERE id = ?", token.id) is not None:
                return False
            page.rows.do(_KEEP, *token)
            return True

        return self._change("token", work)

    def token(self, name: str) -> TokenRow | None:
        """Return one token by its public name."""
        rows = self._read_rows(f"{_SHOWN} WHERE id = ?", name)
        return TokenRow(*rows[0]) if rows else None

    def tokens(self) -> tuple[TokenRow, ...]:
        """Return all tokens, without their secrets."""
        return tuple(TokenRow(*row) for row in self._read_rows(f"{_SHOWN} ORDER BY made, id"))

    def use_token(self, name: str, day: str) -> None:
        """Note on which day a token was used last."""
        self._change("token", lambda page: page.rows.do("UPDATE tokens SET used = ? WHERE id = ?", day, name))

    def revoke_token(self, name: str) -> bool:
        """Let nobody in with a token any more; return whether there is one."""

        def work(page: Page) -> bool:
            known = page.rows.one("SELECT id FROM tokens WHERE id = ?", name)
            page.rows.do("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", moment(self._clock), name)
            return known is not None

        return self._change("token", work)

    def _read_rows(self, statement: str, *values: Any) -> Sequence[tuple[Any, ...]]:
        return self._look(lambda page: page.rows.all(statement, *values))
