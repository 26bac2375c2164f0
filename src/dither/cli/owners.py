"""``dither datasets raise-budget | set-quota | rename | retire | history`` and ``dither answer``: a data set's life."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dither.cli.console import complain, print_json, say
from dither.cli.options import DataSetName, Delta, Force, Home, Json, Rho, Server
from dither.cli.outputs import check_outputs, keep_files, keep_sources, table_output
from dither.cli.remote import connection, named_elsewhere, record_with_address, with_address
from dither.cli.tables import new_table, print_table
from dither.curator.folder import Curator
from dither.curator.ledger import Balance
from dither.errors import InvalidParameter
from dither.privacy import Loss, stated_loss
from dither.publish.queries import QueryResult

if TYPE_CHECKING:
    from dither.service.client import Connection

Whole = Annotated[str | None, typer.Option("--epsilon", "--budget", help="The new whole: what is spent is part of it.")]
Share = Annotated[str | None, typer.Option(help="Total epsilon for all of the analyst's releases, for example 0.5.")]
Reason = Annotated[str, typer.Option(help="Why; the books keep it.")]
NewName = Annotated[str, typer.Argument(metavar="NAME", help="What it is to be called.")]
Who = Annotated[str, typer.Argument(metavar="ANALYST", help="Whose quota.")]
_SUFFIXES = (".csv", ".parquet", ".json", ".html")


def raise_budget(
    dataset: DataSetName,
    reason: Annotated[str, typer.Option(help="Why; the books and the release card show it.")],
    epsilon: Whole = None,
    delta: Delta = None,
    rho: Rho = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Give a data set a larger budget; the books and the card say when and why.

    What was promised to the people in the data is weaker from then on. A budget is never lowered.
    """
    asked = connection()
    if asked is not None:
        with asked:
            whole = asked.raise_budget(dataset, epsilon=epsilon, delta=delta, rho=rho, reason=reason)
        if as_json:
            print_json(record_with_address({"dataset": dataset, "budget": whole.to_dict()}))
        else:
            say(with_address(f"{dataset}: {whole} in all"))
        return
    with Curator.open(home) as curator:
        _show(curator.raise_budget(dataset, epsilon=epsilon, delta=delta, rho=rho, reason=reason), dataset, as_json)


def set_quota(
    dataset: DataSetName,
    analyst: Who,
    epsilon: Share = None,
    delta: Delta = None,
    rho: Rho = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Limit what one analyst may spend; from then on, those without a quota spend nothing.

    The owner, who is the analyst "curator", needs no quota. At a service analysts are people who are declared there,
    and the other terms of their grants stay.
    """
    asked = connection()
    if asked is not None:
        with asked:
            _set_quota_elsewhere(
                asked, dataset, analyst, stated_loss(epsilon=epsilon, delta=delta, rho=rho), as_json=as_json
            )
        return
    with Curator.open(home) as curator:
        _show(curator.set_quota(dataset, analyst, epsilon=epsilon, delta=delta, rho=rho), dataset, as_json)


def _set_quota_elsewhere(asked: Connection, dataset: str, analyst: str, quota: Loss, *, as_json: bool) -> None:
    """Set the quota of a person at a service, on the terms that they have there."""
    terms: dict[str, Any] = {}
    for one in asked.grants(dataset):
        if one.grant.person == analyst:
            terms = {name: getattr(one.grant, name) for name in ("most", "usual", "allowance", "approval")}
    given = asked.grant(analyst, dataset, quota, **terms)
    if as_json:
        losses = {"budget": given.quota.to_dict(), "left": given.left.to_dict()}
        print_json(record_with_address({"dataset": dataset, "analyst": analyst, **losses}))
        return
    say(with_address(f"{analyst} in {dataset}: {given.quota} in all, {given.left} is left"))


def rename(dataset: DataSetName, name: NewName, reason: Reason = "", home: Home = None) -> None:
    """Call a data set otherwise; its budget, answers and receipts stay.

    Receipts keep the name that it was registered with, and no other data set can be called so.
    """
    with Curator.open(home) as curator:
        curator.rename(dataset, name, reason=reason)
    say(f"{dataset} is called {name} now; what was spent stays spent, and its keys and receipts stay valid")


def retire(
    dataset: DataSetName,
    reason: Annotated[str, typer.Option(help="Why; the books keep it.")],
    home: Home = None,
    server: Server = None,
) -> None:
    """Retire a data set: it takes no more requests, and its copied rows are removed.

    There is no way back. Your own files stay. Answers that were given can still be fetched.
    """
    asked = connection()
    if asked is not None:
        with asked:
            asked.set_stage(dataset, "retired", reason=reason)
    else:
        with Curator.open(home) as curator:
            curator.retire(dataset, reason=reason)
    say(with_address(f"{dataset} is retired: its books and answers stay, its copied rows are removed"))


def history(dataset: DataSetName, home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Show who asked what, when, at which price, and what the owner decided.

    The first column is what 'dither answer' takes. A service tells you what you have asked yourself.
    """
    asked = connection()
    if asked is not None:
        with asked:
            acts = asked.releases(dataset)
    else:
        with Curator.open(home) as curator:
            acts = [act.to_dict() for act in curator.history(dataset)]
    if as_json:
        print_json(acts)
        return
    table = new_table("entry", "when (UTC)", "who", "what", "price", "outcome", "edition")
    for act in acts:
        price = "" if act["price"] is None else str(Loss.from_dict(act["price"]))
        table.add_row(
            str(act["number"]), str(act["time"])[:19].replace("T", " "), escape(str(act["who"])),
            escape(" ".join(str(act["what"]).split())), price, str(act["outcome"]), str(act["edition"]),
        )  # fmt: skip
    print_table(table, or_list=True)


def answer(
    name: Annotated[str, typer.Argument(metavar="ID", help="An entry's number from the history, a key, or a receipt.")],
    dataset: Annotated[str | None, typer.Option(help="Whose answer, where a key was used with several.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write CSV, Parquet, JSON or HTML.")] = None,
    force: Force = False,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Fetch a stored answer again, at no cost.

    A service has to be told with --dataset whose answer it is.
    """
    outputs = () if out is None else (table_output("out", out, _SUFFIXES),)
    check_outputs(outputs)
    asked = connection()
    if asked is not None:
        with asked:
            keep_files(outputs, force=force)
            _answer_elsewhere(asked.answer(named_elsewhere(dataset), name), out, as_json=as_json)
        return
    with Curator.open(home) as curator:
        keep_sources(outputs, curator)
        keep_files(outputs, force=force)
        found = curator.answer(name, dataset=dataset)
        called = curator.called(found.receipt.account.dataset)
    value = found.value
    _save(value, out)
    receipt = found.receipt
    if as_json or not isinstance(value, QueryResult):
        print_json({"receipt": receipt.to_dict(), "is_earlier_edition": found.is_earlier, "answer": _plain(value)})
        return
    say(str(value))
    whose = f"asked by {receipt.account.analyst} of {called} with key {receipt.key}"
    say(f"{whose}; receipt at entry {receipt.entry}; not charged")
    if found.is_earlier:
        complain(escape(f"other rows of {called} were added since: this answer is about those before"))


def _answer_elsewhere(value: Any, out: Path | None, *, as_json: bool) -> None:
    """Show an answer that a service has stored."""
    _save(value, out)
    if as_json or not isinstance(value, QueryResult):
        print_json({"answer": _plain(value)})
        return
    say(str(value))
    say(f"receipt {value.receipt}; not charged")


def _save(value: object, out: Path | None) -> None:
    if out is None:
        return
    if not isinstance(value, QueryResult):
        raise InvalidParameter("out", str(out), "not allowed: this answer is not a table; --json prints it")
    from dither.cli.ask import save

    save(value, out)


def _plain(value: object) -> object:
    if not isinstance(value, QueryResult):
        return value
    import json

    return json.loads(value.to_json())


def _show(balance: Balance, called: str, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "dataset": called,
                "analyst": balance.analyst,
                "budget": balance.budget.to_dict(),
                "spent": balance.spent.to_dict(),
                "left": balance.left.to_dict(),
            }
        )
        return
    whose = called if balance.analyst is None else f"{balance.analyst} in {called}"
    say(f"{whose}: {balance.budget} in all, {balance.spent} is spent, {balance.left} is left")
