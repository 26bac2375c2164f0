"""``dither people`` and ``dither token``: who may ask from elsewhere."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dither.cli.console import print_json, say, words_of
from dither.cli.options import DataSetName, Delta, Home, Json, Rho, Server
from dither.cli.remote import connection, named_elsewhere, with_address
from dither.cli.tables import new_table, print_table
from dither.curator.folder import Curator
from dither.curator.ledger.terms import Allowance, Approval
from dither.curator.people import USUAL_DAYS, Grant, People, Scope
from dither.errors import DataSetRetired, InvalidParameter
from dither.privacy import Loss, stated_loss
from dither.service.settings import stated_settings

if TYPE_CHECKING:
    from dither.service.client import Connection
    from dither.service.governance_client import Granted

#: What is typed to lift a limit.
_NONE: Final = "none"
Who = Annotated[str, typer.Argument(metavar="PERSON", help="What the books call them.")]


def add(
    person: Who,
    role: Annotated[str, typer.Option(help="analyst, who asks; auditor, who reads the books; curator, who decides.")],
    subject: Annotated[
        str | None, typer.Option(help="Whom the issuer of OpenID Connect knows them as, to sign in there.")
    ] = None,
    issuer: Annotated[
        str | None, typer.Option(help="Its address. Defaults to the one in the settings of the service.")
    ] = None,
    home: Home = None,
) -> None:
    """Declare a person: analyst, auditor or curator."""
    with Curator.open(home) as curator:
        # Read as the service reads it: from the file in any spelling, and from variables.
        place = issuer or stated_settings(curator.settings.service, {}).get("oidc_issuer")
        if subject is not None and (not place or not isinstance(place, str)):
            raise InvalidParameter(
                "issuer", place, "required, unless the settings of the service name an 'oidc issuer'"
            )
        declared = People(curator).add(person, role)
        if subject is not None:
            People(curator).identify(person, str(place), subject)
    say(f"{declared.name} is declared as {declared.role.value}; 'dither people grant' lets them ask")


def grant(
    person: Who,
    dataset: DataSetName,
    quota: Annotated[str | None, typer.Option("--quota", help="The epsilon of all their releases together.")] = None,
    delta: Delta = None,
    rho: Rho = None,
    most: Annotated[
        str | None,
        typer.Option(
            help="Largest privacy loss of one release, as epsilon or rho; 'none' for no limit. Unchanged by default."
        ),
    ] = None,
    usual: Annotated[
        str | None,
        typer.Option(
            help="Default loss of a request over HTTP that states none; 'none' removes it. Unchanged by default."
        ),
    ] = None,
    allowance: Annotated[
        str | None,
        typer.Option(help="How fast the quota may be spent: '0.1 every 7 days'; what is not used stays. Or 'none'."),
    ] = None,
    approval: Annotated[
        str | None,
        typer.Option(help="Which releases others must agree to first: 'each', 'above 0.1', or 'none'."),
    ] = None,
    approvers: Annotated[int | None, typer.Option(help="How many must agree, 1 or 2.")] = None,
    home: Home = None,
    server: Server = None,
) -> None:
    """Let a person ask of a data set, within a quota of its budget."""
    if (quota is None) == (rho is None):
        raise InvalidParameter("quota", quota, "required, unless --rho is set")
    kind = "epsilon" if rho is None else "rho"
    said = {"most": most, "usual": usual}
    limits: dict[str, Any] = {name: _loss(kind, text) for name, text in said.items()}
    said |= {"allowance": allowance, "approval": approval}
    limits |= {"allowance": _allowance(allowance), "approval": _approval(kind, approval, approvers)}
    whole = stated_loss(epsilon=quota, delta=delta, rho=rho)

    def kept(before: Grant) -> dict[str, Any]:
        """Return the limits with those that were set before: a new quota alone lifts none of them."""
        both = limits | {name: getattr(before, name) for name, text in said.items() if text is None}
        if approval is None and approvers is not None and before.approval is not None:
            both["approval"] = Approval(before.approval.above, approvers)
        return both

    asked = connection()
    if asked is not None:
        with asked:
            for one in asked.grants(dataset):
                limits = kept(one.grant) if one.grant.person == person else limits
            given = asked.grant(person, dataset, whole, **limits)
        granted = f"{dataset} for {person}: {given.quota} in all; {given.left} is left"
    else:
        with Curator.open(home) as curator:
            registered = curator.registered(dataset)
            for before in People(curator).grants(person):
                limits = kept(before) if before.dataset == registered else limits
            People(curator).grant(person, dataset, whole, **limits)
            granted = str(curator.ledger.balance(registered, person))
    bounds = [] if limits["most"] is None else [f"at most {limits['most']} a release"]
    bounds += [str(limits[name]) for name in ("allowance", "approval") if limits[name] is not None]
    say(with_address("; ".join([granted, *bounds])))


def revoke(
    person: Who,
    dataset: Annotated[str | None, typer.Argument(metavar="[DATASET]", help="One data set; else everything.")] = None,
    home: Home = None,
    server: Server = None,
) -> None:
    """Let a person ask no more: of one data set, or at all.

    At a service one data set has to be named: people are declared and removed where the folder is.
    """
    asked = connection()
    if asked is not None:
        with asked:
            asked.end_grant(person, named_elsewhere(dataset))
        say(with_address(f"{person} may ask no more of {dataset}; what was spent stays spent"))
        return
    with Curator.open(home) as curator:
        people = People(curator)
        if dataset is None:
            people.remove(person)
            say(f"{person} is let in no more, and their tokens are revoked; what was spent stays spent")
        else:
            people.withdraw(person, dataset)
            say(f"{person} may ask no more of {dataset}; what was spent stays spent")


def show(home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """List who is declared, and what they may ask.

    A service tells curators who is granted something; who is declared is known where the folder is.
    """
    asked = connection()
    if asked is not None:
        with asked:
            _show_granted(asked, as_json=as_json)
        return
    with Curator.open(home) as curator:
        people = People(curator)
        granted = people.grants()
        rows: list[dict[str, Any]] = [
            {
                "name": one.name,
                "role": one.role.value,
                "active": one.is_active,
                "grants": {
                    curator.called(each.dataset): str(curator.ledger.balance(each.dataset, one.name).left)
                    for each in granted
                    if each.person == one.name
                },
            }
            for one in people.all()
        ]
        terms = {(each.person, curator.called(each.dataset)): _terms(each) for each in granted}
    if as_json:
        print_json(rows)
        return
    bounds = {place: f" ({bound})" for place, bound in terms.items() if bound}
    table = new_table("person", "role", "may still spend")
    for row in rows:
        left = ", ".join(f"{name}: {left}{bounds.get((row['name'], name), '')}" for name, left in row["grants"].items())
        table.add_row(str(row["name"]), str(row["role"]), left if row["active"] else "let in no more")
    print_table(table)


def _show_granted(asked: Connection, *, as_json: bool) -> None:
    """List who is granted something at a service, and what they may still spend."""
    found: dict[str, dict[str, Granted]] = {}
    for one in asked.listed():
        # Nothing is left to anybody of one that is retired.
        with suppress(DataSetRetired):
            for granted in asked.grants(one["name"]):
                found.setdefault(granted.grant.person, {})[one["name"]] = granted
    people = sorted(found.items())
    if as_json:
        print_json(
            [{"name": name, "grants": {of: str(one.left) for of, one in grants.items()}} for name, grants in people]
        )
        return
    table = new_table("person", "may still spend")
    for name, grants in people:
        told = [(of, one.left, _terms(one.grant)) for of, one in grants.items()]
        table.add_row(name, ", ".join(f"{of}: {left}{f' ({terms})' if terms else ''}" for of, left, terms in told))
    print_table(table)


def new_token(
    person: Who,
    days: Annotated[int, typer.Option(help="The number of days after which it expires.")] = USUAL_DAYS,
    scopes: Annotated[str, typer.Option(help="What it is good for: ask, read, decide.")] = "ask,read,decide",
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Make a token of a person; it is printed once and not stored."""
    named = words_of(scopes) or ()
    known = {scope.value: scope for scope in Scope}
    if unknown := [name for name in named if name not in known]:
        raise InvalidParameter("scopes", unknown[0], f"made of {', '.join(known)}")
    with Curator.open(home) as curator:
        token = People(curator).new_token(person, days=days, scopes=tuple(known[name] for name in named))
    if as_json:
        print_json({"token": token})
    else:
        say(token)


def tokens(home: Home = None, as_json: Json = False) -> None:
    """List tokens without their secrets: whose, until when, used when."""
    with Curator.open(home) as curator:
        found = People(curator).tokens()
    if as_json:
        print_json([{**vars(one), "scopes": [scope.value for scope in one.scopes]} for one in found])
        return
    table = new_table("token", "person", "scopes", "until", "used")
    for one in found:
        until = "revoked" if one.is_revoked else one.expires[:10]
        table.add_row(one.id, one.person, ", ".join(scope.value for scope in one.scopes), until, one.used or "never")
    print_table(table)


def revoke_token(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its public name, the middle part of the token.")],
    home: Home = None,
) -> None:
    """Revoke a token immediately, on every server."""
    with Curator.open(home) as curator:
        People(curator).revoke_token(token)
    say(f"{token} is no longer valid")


def _terms(grant: Grant) -> str:
    most = None if grant.most is None else f"at most {grant.most} a release"
    return "; ".join(str(term) for term in (most, grant.allowance, grant.approval) if term is not None)


def _allowance(text: str | None) -> Allowance | None:
    """Return what was typed: '0.1 every 7 days'."""
    if text is None or text == _NONE:
        return None
    words = text.split()
    if len(words) == 3 and words[1:] == ["every", "day"]:
        words[2:] = ["1", "days"]
    if len(words) != 4 or words[1] != "every" or words[3] not in ("day", "days") or not words[2].isdecimal():
        raise InvalidParameter("allowance", text, "such as '0.1 every 7 days', or 'none'")
    return Allowance.of(words[0], int(words[2]))


def _approval(kind: str, text: str | None, approvers: int | None) -> Approval | None:
    """Return what was typed: 'each', or 'above 0.1'."""
    if text is None or text == _NONE:
        return None
    words = text.split()
    if words != ["each"] and (len(words) != 2 or words[0] != "above"):
        raise InvalidParameter("approval", text, "'each', 'above 0.1' or 'none'")
    return Approval(None if words == ["each"] else _loss(kind, words[1]), approvers or 1)


def _loss(kind: str, text: str | None) -> Loss | None:
    if text is None or text == _NONE:
        return None
    return stated_loss(epsilon=text) if kind == "epsilon" else stated_loss(rho=text)
