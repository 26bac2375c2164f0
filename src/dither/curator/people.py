"""People who ask from elsewhere: who they are, what they may ask, and the tokens by which they are known.

There are no passwords. A token has a public name and 256 random bits, of which only a SHA-256 is kept: nobody can read
one out of the database. Nobody is called ``curator``, in any spelling that looks like it, because that account of the
ledger may look at raw rows.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, overload

from dither.curator.keys import new_name, new_secret
from dither.curator.ledger import OWNER
from dither.curator.ledger.interface import checked_name
from dither.curator.ledger.people import GrantRow, PeopleBooks, TokenRow
from dither.curator.ledger.terms import Allowance, Approval, Terms, terms_of
from dither.curator.look_alikes import looks_like
from dither.errors import InvalidParameter, NotFound
from dither.privacy import Loss

if TYPE_CHECKING:
    from dither.curator.folder import Curator

PREFIX: Final = "dither"
USUAL_DAYS: Final = 90
_LONGEST_DAYS: Final = 3660
_NOBODY: Final = "0" * 64
#: Of the public name of a token.
_NAME_DIGITS: Final = 16


class Role(Enum):
    """What a person may do."""

    CURATOR = "curator"  # decides: data sets, budgets, grants
    ANALYST = "analyst"  # asks where that is granted
    AUDITOR = "auditor"  # reads the books, and spends nothing


class Scope(Enum):
    """What a token is good for; a person may do no more than their role whatever the token says."""

    ASK = "ask"
    READ = "read"
    DECIDE = "decide"


@dataclass(frozen=True)
class Person:
    """Somebody who is declared.

    Args:
        name: on whose quota they ask, and what the books call them.
        role: what they may do.
        since: when they were declared.
        is_active: whether they are let in.

    """

    name: str
    role: Role
    since: str
    is_active: bool = True


@dataclass(frozen=True)
class Grant:
    """What a person may ask of a data set, beside the quota that the ledger keeps.

    Args:
        person: who.
        dataset: the name that the data set is registered with.
        most: what one release may lose at most; None for as much as the quota has.
        usual: what a release loses where nothing is stated; None where it must be.
        allowance: how fast the quota may be spent; None for at once.
        approval: which releases others must agree to; None for none.

    """

    person: str
    dataset: str
    most: Loss | None = None
    usual: Loss | None = None
    allowance: Allowance | None = None
    approval: Approval | None = None


@dataclass(frozen=True)
class Token:
    """A token without its secret.

    Args:
        id: its public name, which stands in the token itself.
        person: whose.
        scopes: what it is good for.
        made: when.
        expires: when it ends by itself.
        used: on which day it was used last, if it was.
        is_revoked: whether it was ended before.

    """

    id: str
    person: str
    scopes: tuple[Scope, ...]
    made: str
    expires: str
    used: str | None
    is_revoked: bool


@dataclass(frozen=True)
class Bearer:
    """A person who has shown a token that holds.

    Args:
        person: who.
        scopes: what the token is good for.
        token: its public name.
        seen: how often something had been decided before the token was looked up.
        holds_until: when the token ends by itself.
        day: on which the token was looked up.

    """

    person: Person
    scopes: tuple[Scope, ...]
    token: str
    seen: int
    holds_until: datetime
    day: date


class People:
    """Who may ask a curator from elsewhere.

    Args:
        curator: whose data sets, and whose ledger keeps the tables.
        clock: tells the time.

    """

    def __init__(self, curator: Curator, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        if not isinstance(curator.ledger, PeopleBooks):
            raise InvalidParameter("curator", curator, "one whose ledger is a file or a database")
        self._curator, self._clock = curator, clock
        self._books: PeopleBooks = curator.ledger

    def add(self, name: str, role: Role | str) -> Person:
        """Declare a person, or give one another role.

        Args:
            name: what the books call them; nothing that looks like ``curator``.
            role: curator, analyst or auditor.

        """
        self._books.keep_person(checked_person(name), _role(role).value)
        return self.person(name)

    def person(self, name: str) -> Person:
        """Return a person who is let in."""
        # No database is asked for a name that none can keep.
        found = None if "\0" in str(name) else self._books.person(name)
        if found is None or found.until is not None:
            raise NotFound(f"no person is declared as {str(name)[:64]!r}; 'dither people list' shows who is")
        return Person(found.name, Role(found.role), found.since)

    def all(self) -> tuple[Person, ...]:
        """Return everybody who was ever declared."""
        return tuple(Person(row.name, Role(row.role), row.since, row.until is None) for row in self._books.people())

    def remove(self, name: str) -> None:
        """Let a person in no more: grants end, and so do all tokens, at once and everywhere."""
        if not self._books.end_person(name):
            raise NotFound(f"no person is declared as {str(name)[:64]!r}; 'dither people list' shows who is")

    def grant(
        self,
        name: str,
        dataset: str,
        quota: Loss,
        *,
        most: Loss | None = None,
        usual: Loss | None = None,
        allowance: Allowance | None = None,
        approval: Approval | None = None,
        by: str | None = None,
    ) -> Grant:
        """Let a person ask of a data set, within a quota of its budget.

        Args:
            name: who.
            dataset: what it is called.
            quota: what all their releases together may lose, those so far included.
            most: what one release may lose at most.
            usual: what a release loses where nothing is stated.
            allowance: how fast the quota may be spent, such as ``Allowance.of("0.1", days=7)``; what is not used stays.
            approval: which releases others must agree to.
            by: who decides it, where that is a person: others must agree to what they ask, and to asking without that.

        """
        person = self.person(name)
        if person.role is Role.AUDITOR:
            raise InvalidParameter("name", name, "an analyst or a curator: an auditor spends nothing")
        terms = Terms(most, usual, allowance, approval)
        registered = self._curator.dataset(dataset).name
        if by == name and self._books.terms(registered, name).approval is not None:
            raise InvalidParameter(
                "person", name, "a person other than the one who decides, where others must agree to releases"
            )
        self._books.set_quota(registered, name, quota, terms=terms)
        if not self._books.keep_grant(name, registered):
            self.person(name)
        return next(grant for grant in self.grants(name) if grant.dataset == registered)

    def withdraw(self, name: str, dataset: str) -> None:
        """Let a person ask no more of a data set; what they were answered stays theirs."""
        if not self._books.end_grant(name, self._curator.registered(dataset)):
            raise NotFound(f"{str(name)[:64]!r} is granted nothing of {str(dataset)[:64]!r}")

    def grants(self, name: str | None = None) -> tuple[Grant, ...]:
        """Return what a person may ask, or what everybody may."""
        rows = self._books.grants(name)
        return tuple(_grant(row) for row in rows)

    def identify(self, name: str, issuer: str, subject: str) -> None:
        """Say that whoever an issuer of OpenID Connect knows as a subject is a person who is declared.

        Args:
            name: who.
            issuer: its address, as its tokens have it.
            subject: whom it knows; nothing that looks like ``curator``.

        """
        self.person(name)
        checked_person(subject)
        checked_name("issuer", issuer)
        self._books.keep_identity(issuer, subject, name)

    def identified(self, issuer: str, subject: str) -> Person | None:
        """Return the person whom an issuer knows as a subject, if one is declared and let in."""
        name = self._books.identified(issuer, subject)
        row = None if name is None else self._books.person(name)
        return None if row is None or row.until is not None else Person(row.name, Role(row.role), row.since)

    @overload
    def new_token(self, name: str, *, days: int = ..., scopes: tuple[Scope, ...] = ..., proof: None = None) -> str: ...
    @overload
    def new_token(
        self, name: str, *, days: int = ..., scopes: tuple[Scope, ...] = ..., proof: str | None
    ) -> str | None: ...
    def new_token(
        self, name: str, *, days: int = USUAL_DAYS, scopes: tuple[Scope, ...] = tuple(Scope), proof: str | None = None
    ) -> str | None:
        """Return a new token of a person: shown once, and kept nowhere.

        Args:
            name: whose.
            days: after how many it ends by itself.
            scopes: what it is good for, at most.
            proof: a digest of what the token is given for, which serves once: None is returned where it served before,
                in whatever process.

        """
        self.person(name)
        if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= _LONGEST_DAYS:
            raise InvalidParameter("days", days, f"an integer from 1 to {_LONGEST_DAYS}")
        if not scopes:
            raise InvalidParameter("scopes", scopes, f"one or more of {', '.join(scope.value for scope in Scope)}")
        # The token that a proof gave has a name that follows from it, so that there is one, and nothing else is kept.
        public, secret = new_name() if proof is None else _digest(proof)[:_NAME_DIGITS], new_secret()
        now = self._clock()
        texts = ",".join(scope.value for scope in Scope if scope in scopes)
        expires = (now + timedelta(days=days)).isoformat(timespec="seconds")
        made = now.isoformat(timespec="seconds")
        is_new = self._books.keep_token(TokenRow(public, name, _digest(secret), texts, made, expires, None, None))
        return f"{PREFIX}_{public}_{secret}" if is_new else None

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, without their secrets."""
        return tuple(_token(row) for row in self._books.tokens())

    def revoke_token(self, name: str) -> None:
        """End a token, at once and everywhere.

        Args:
            name: its public name.

        """
        if not self._books.revoke_token(name):
            raise NotFound(f"no token is called {str(name)[:64]!r}; 'dither token list' has them")

    def authenticate(self, text: str, later: Callable[[Callable[[], None]], None] | None = None) -> Bearer | None:
        """Return who shows a token, or None: whatever is wrong with it, the same is done and said.

        Args:
            text: the token as it was shown.
            later: is handed what writes down on which day the token was used; None to write it here.

        """
        # Counted first: what is decided while the token is looked up makes the outcome one of before.
        seen = self._books.changes()
        prefix, _, rest = text.partition("_")
        public, _, secret = rest.partition("_")
        row = self._books.token(public) if prefix == PREFIX and len(public) == _NAME_DIGITS else None
        is_secret = hmac.compare_digest(_digest(secret), _NOBODY if row is None else row.digest)
        person = self._books.person(_NOBODY if row is None else row.person)
        now = self._clock()
        if row is None or not is_secret or row.revoked is not None or person is None or person.until is not None:
            return None
        until = datetime.fromisoformat(row.expires)
        if until <= now:
            return None
        today = now.date().isoformat()
        if row.used != today:
            note = functools.partial(self._books.use_token, public, today)
            note() if later is None else later(note)
        declared = Person(person.name, Role(person.role), person.since)
        return Bearer(declared, _token(row).scopes, public, seen, until, now.date())

    def changes(self) -> int:
        """Return how often something was decided, about people and all else, by any process."""
        return self._books.changes()

    def is_let_in(self, bearer: Bearer) -> bool:
        """Whether somebody who was let in before would be now: with the same token, and in the same role.

        Args:
            bearer: as ``authenticate`` returned it.

        """
        if bearer.seen == self._books.changes():
            return True
        row, person = self._books.token(bearer.token), self._books.person(bearer.person.name)
        is_token = row is not None and row.revoked is None
        return is_token and person is not None and person.until is None and person.role == bearer.person.role.value


def checked_person(name: Any) -> str:
    """Return a name that a person may have.

    >>> checked_person("ana")
    'ana'
    >>> checked_person("Curat0r")
    Traceback (most recent call last):
        ...
    dither.errors.InvalidParameter: name must be another than 'curator', the owner of the rows, in any spelling that \
looks like it, got 'Curat0r'
    """
    checked_name("name", name)
    if looks_like(name, OWNER):
        rule = f"another than {OWNER!r}, the owner of the rows, in any spelling that looks like it"
        raise InvalidParameter("name", name, rule)
    return str(name)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _role(role: Any) -> Role:
    try:
        return Role(role)
    except ValueError:
        raise InvalidParameter("role", role, f"one of {', '.join(one.value for one in Role)}") from None


def _token(row: TokenRow) -> Token:
    scopes = tuple(Scope(text) for text in row.scopes.split(","))
    return Token(row.id, row.person, scopes, row.made, row.expires, row.used, row.revoked is not None)


def _grant(row: GrantRow) -> Grant:
    terms = terms_of(row.quota)
    # What was granted before terms stood beside the quota is in a table of its own.
    most, usual = terms.most or _read(row.most), terms.usual or _read(row.usual)
    return Grant(row.person, row.dataset, most, usual, terms.allowance, terms.approval)


def _read(text: str | None) -> Loss | None:
    return None if text is None else Loss.from_dict(json.loads(text))
