"""``dither ledger show | verify | export``: what was spent, by whom, and whether the books are true."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from dither.cli.console import console, print_json
from dither.cli.options import Delta, Force, Home, Json, Out, Rho, Server, dataset_names, loss_asked
from dither.cli.outputs import Output, check_outputs, keep_files, keep_sources, write_whole
from dither.cli.remote import connection
from dither.cli.tables import new_table, print_table
from dither.curator.folder import Curator
from dither.curator.ledger import Account, Balance, Verification
from dither.curator.people import Role
from dither.errors import InvalidParameter
from dither.privacy import Loss

OneDataSet = Annotated[
    str | None, typer.Argument(metavar="DATASET", help="One data set; else all.", autocompletion=dataset_names)
]


def show(
    dataset: OneDataSet = None,
    analyst: Annotated[str | None, typer.Option(help="One analyst's quota and spending.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Check whether one more release of this size fits.")] = None,
    delta: Delta = None,
    rho: Rho = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Show what is spent, reserved and left; with a loss, exit 1 if it would not fit.

    A service tells curators and auditors about every data set, and others what they may spend themselves; so it does
    with a loss.
    """
    would = loss_asked(epsilon=epsilon, delta=delta, rho=rho)
    balances, fits = _looked_up(home, dataset, analyst, would)
    if as_json:
        print_json([_record(balance, fits.get(balance.dataset)) for balance in balances])
    else:
        print_balances(balances)
        for each, does_fit in fits.items():
            console.print(f"a release of {would} {'fits' if does_fit else 'does not fit'} into {each}", highlight=False)
    raise typer.Exit(0 if all(fits.values()) else 1)


def _looked_up(
    home: Path | None, dataset: str | None, analyst: str | None, would: Loss | None
) -> tuple[list[Balance], dict[str, bool]]:
    """Return what was spent and is left, and whether a loss would fit into each, here or elsewhere."""
    asked = connection()
    if asked is not None:
        from dither.curator.access import room_of

        if analyst is not None:
            raise InvalidParameter(
                "analyst", analyst, "not allowed with --server: a service only returns your own balance"
            )
        with asked:
            if would is None and asked.me()["role"] != Role.ANALYST.value:
                found = asked.balances()
                return [one for one in found if dataset is None or one.dataset == dataset], {}
            granted = [one["name"] for one in asked.listed() if one["is_granted"]] if dataset is None else [dataset]
            sessions = [asked.session(name) for name in granted]
            balances = [session.balance() for session in sessions]
            if would is None:
                return balances, {}
            return balances, {session.dataset.name: room_of(session, would).fits for session in sessions}
    with Curator.open(home) as curator:
        ledger = curator.ledger
        names = [curator.registered(dataset)] if dataset is not None else list(ledger.datasets())
        balances = [ledger.balance(each, analyst) for each in names]
        if would is None:
            return balances, {}
        return balances, {each: ledger.would_admit(Account(each, analyst or "curator"), would) for each in names}


def _record(balance: Balance, would_fit: bool | None) -> dict[str, Any]:
    return {
        "dataset": balance.dataset,
        "unit": balance.unit,
        "budget": balance.budget.to_dict(),
        "spent": balance.spent.to_dict(),
        "reserved": balance.reserved.to_dict(),
        "left": balance.left.to_dict(),
        "releases": balance.releases,
        "waiting": balance.waiting,
        "sealed": balance.sealed,
        "would_fit": would_fit,
    }


def print_balances(balances: Sequence[Balance]) -> None:
    """Print a table of what is spent and left, a row for each data set."""
    table = new_table("data set", "unit", "budget", "spent", "waiting", "remaining", "releases")
    for balance in balances:
        table.add_row(
            balance.dataset, balance.unit, str(balance.budget), str(balance.spent),
            f"{balance.reserved} in {balance.waiting}", str(balance.left), str(balance.releases),
        )  # fmt: skip
    print_table(table, or_list=True)


def print_verdict(found: Verification) -> None:
    """Print in one line whether a ledger is intact."""
    verdict = "[green]intact[/]" if found.is_intact else "[bold red]not intact[/]"
    console.print(f"{verdict}: {found.entries} entries, {found.releases} releases, head {found.head[:16]}")


def verify(home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Walk the whole chain of entries; exit 1 if anything contradicts itself.

    A service walks its own chain and says what it found; 'dither witness' needs not believe it.
    """
    asked = connection()
    if asked is not None:
        with asked:
            found = asked.verify()
    else:
        with Curator.open(home) as curator:
            found = curator.ledger.verify()
    if as_json:
        print_json(
            {
                "ledger": found.ledger,
                "entries": found.entries,
                "datasets": found.datasets,
                "releases": found.releases,
                "head": found.head,
                "is_intact": found.is_intact,
                "problems": list(found.problems),
            }
        )
    else:
        print_verdict(found)
        for problem in found.problems:
            console.print(f"  {problem}", highlight=False, markup=False)
    raise typer.Exit(0 if found.is_intact else 1)


def export(
    dataset: OneDataSet = None, out: Out = None, force: Force = False, home: Home = None, server: Server = None
) -> None:
    """Write every entry as one line of JSON."""
    outputs = [] if out is None else [Output("out", out)]
    check_outputs(outputs)
    asked = connection()
    if asked is not None:
        with asked:
            keep_files(outputs, force=force)
            _export(({"kind": one["record"]["kind"], **one} for one in asked.entries()), dataset, out)
        return
    with Curator.open(home) as curator:
        keep_sources(outputs, curator)
        keep_files(outputs, force=force)
        entries = curator.ledger.entries(None if dataset is None else curator.registered(dataset))
        plain = (
            {"number": one.number, "kind": one.kind, "hash": one.hash, "record": dict(one.record)} for one in entries
        )
        _export(plain, None, out)


def _export(entries: Iterator[Mapping[str, Any]], dataset: str | None, out: Path | None) -> None:
    """Write entries line by line; of one data set where it is named."""

    def write(stream: TextIO) -> None:
        for entry in entries:
            if dataset is None or entry["record"].get("dataset") == dataset:
                stream.write(json.dumps(entry, sort_keys=True, ensure_ascii=False) + "\n")

    def write_file(draft: Path) -> None:
        with draft.open("w", encoding="utf-8") as stream:
            write(stream)

    if out is None:
        write(sys.stdout)
    else:
        write_whole(out, write_file)
