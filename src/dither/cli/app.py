"""The command ``dither``: its verbs, and where each of them is."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final

import typer

import dither
from dither.cli.lazy import Verb, derived, group
from dither.cli.process_exit import look_seldom_for_garbage
from dither.cli.remote import use
from dither.errors import DitherError, EarlierEdition, InvalidParameter

VERBS: Final = MappingProxyType(
    {
        "catalog": Verb(
            "catalog:show", "List the mechanisms by task: what each is for, what it promises, how the promise is known."
        ),
        "explain": Verb("explain:show", "Say what a mechanism promises and why: guarantee, proof, source, figures."),
        "audit": Verb("audit:audit", "Try to refute a mechanism's promise from its outputs; exit 1 if that succeeds."),
        "specimens": Verb(
            "specimens:show",
            "Refute what was printed with a promise that it does not keep; exit 1 if a claim withstands.",
        ),
        "demo": Verb("demo:run", "Publish private answers from a generated table, and write a report with a picture."),
        "attack": Verb(
            "attack:run", "Attack generated data, and say what was recovered without protection and with it."
        ),
        "init": Verb("curate:init", "Make a curator's folder: data sets, settings, and an empty ledger."),
        "add": Verb(
            "curate:add",
            "Register a data set with its budget: from a schema, or from a data file, with a wizard.",
        ),
        "check": Verb(
            "check:check",
            "Say whether a data set's rows still fit its schema, for its owner's eyes; exit 1 if they do not.",
        ),
        "answer": Verb("owners:answer", "Fetch a stored answer again, at no cost."),
        "card": Verb(
            "curate:card",
            "Write the release card of a data set, in the sections of the public registry of deployments.",
        ),
        "witness": Verb(
            "receipts:witness",
            "Check that the ledger of a service was never rewritten since the last visit; exit 1 if it was.",
        ),
        "login": Verb("login:login", "Sign in to a service, and keep its token for the commands that ask it."),
        "serve": Verb("serve:serve", "Serve this curator folder over HTTP; tokens, budgets and quotas apply."),
        "sql": Verb("ask:sql", "Answer a query privately, every number with its error bar, and charge the ledger."),
        "ask": Verb(
            "conversation:converse", "Ask any number of questions about some columns or a graph, for one price."
        ),
        "shell": Verb("shell:shell", "Ask many queries at a prompt: each is priced, and asked if you say yes."),
        "quote": Verb("ask:quote", "Show the price and expected error of a query without opening the data."),
        "bounds": derived("bounds"),
        "limits": derived("limits"),
        "synthesize": derived("synthesize"),
        "anonymize": derived("anonymize"),
        "risk": Verb(
            "disguise:risk",
            "Say what any table gives away: who can be found again, and what is learned of them. NO formal guarantee.",
        ),
        "fit": derived("fit"),
        "predict": Verb(
            "predict:predict",
            "Predict with a released model, for the rows of a file of your own. Nothing is charged: the model is "
            "public.",
        ),
        "graph": derived("graph"),
        "places": derived("places"),
        "report-location": Verb(
            "report_location:report",
            "Report the approximate position of this device, with noise, and add up the cost of all its reports.",
        ),
        "collect": Verb(
            "survey:collect", "Collect reports to a survey over HTTP, and serve the page that asks its question."
        ),
        "estimate": Verb(
            "survey:estimate",
            "Estimate the share of each answer, or means and quantiles, from the collected reports, with intervals.",
        ),
        "release": Verb(
            "release:release",
            "Release what any registered method makes of any declared source, as a file describes them.",
        ),
    }
)
PUBLISH: Final = MappingProxyType(
    {
        "histogram": derived("histogram"),
        "count": derived("count"),
        "workload": derived("workload"),
        "marginals": derived("marginals"),
    }
)
DISGUISE: Final = MappingProxyType(
    {
        "table": Verb(
            "disguise:disguise",
            "Make rows look alike (k-anonymity and its kin), and measure what is left to find. NO formal guarantee.",
        ),
        "cells": Verb(
            "disguise_tables:cells", "Change cells: swaps, noise, coding, or values drawn again. NO formal guarantee."
        ),
        "anatomy": Verb(
            "disguise_tables:anatomy",
            "Publish quasi-identifiers and sensitive values in two tables, joined by groups. NO formal guarantee.",
        ),
        "slices": Verb(
            "disguise_tables:slices", "Shuffle groups of columns separately within buckets. NO formal guarantee."
        ),
        "totals": Verb(
            "disguise_totals:totals",
            "Suppress or round cells of a table of sums, with an attacker's intervals. NO formal guarantee.",
        ),
        "baskets": Verb(
            "disguise_tables:baskets",
            "Make kinds of items until no basket is found by a few of them. NO formal guarantee.",
        ),
        "join": Verb(
            "disguise_parties:join",
            "Join two owners' columns only if every class has k rows, neither showing its rows. NO formal guarantee.",
        ),
        "releases": Verb(
            "disguise_parties:releases", "Measure what several releases of the same people reveal together."
        ),
        "guards": Verb(
            "disguise_checks:guards",
            "Measure how surely any person's value is known to be below the node that they guard. NO formal guarantee.",
        ),
        "freeform": Verb(
            "disguise_checks:freeform",
            "Say what follows most surely from values that can be seen to one that cannot. NO formal guarantee.",
        ),
        "matrix": Verb(
            "disguise_numbers:matrix", "Distort rows of numbers, and say what known rows undo. NO formal guarantee."
        ),
        "network": Verb(
            "disguise_numbers:network",
            "Change the weights of a network's edges, and say what stays. NO formal guarantee.",
        ),
        "walks": Verb(
            "disguise_numbers:walks",
            "Say how long random walks that prefer short edges are, beside the shortest paths. NO formal guarantee.",
        ),
    }
)
STREAM: Final = MappingProxyType(
    {
        "open": Verb(
            "stream:open_stream", "Pay for a query on a stream, for all of its ticks; nothing is released yet."
        ),
        "feed": Verb("stream:feed", "Take rows that have arrived; they count when their ticks are released."),
        "release": Verb(
            "stream:release", "Release the ticks that have ended; what was released before stays as it was."
        ),
        "show": Verb(
            "stream:show", "Show what a stream has released, and what kind it is; nothing is released by this."
        ),
        "close": Verb("stream:close", "End a stream permanently; what was paid for and not released is not refunded."),
    }
)
PEOPLE: Final = MappingProxyType(
    {
        "add": Verb("people:add", "Declare a person: analyst, auditor or curator."),
        "grant": Verb("people:grant", "Let a person ask of a data set, within a quota of its budget."),
        "revoke": Verb("people:revoke", "Let a person ask no more: of one data set, or at all."),
        "list": Verb("people:show", "List who is declared, and what they may ask."),
    }
)
RECEIPT: Final = MappingProxyType(
    {
        "show": Verb("receipts:show", "Write the receipt of a stored answer, which anybody can check."),
        "verify": Verb("receipts:verify", "Check a receipt without a folder or a server; exit 1 if it proves nothing."),
        "key": Verb("receipts:key", "Print the key with which receipts of this folder are checked."),
        "checkpoint": Verb("receipts:checkpoint", "Print the signed head of the ledger."),
        "cosigned": Verb(
            "receipts:cosigned", "Check that a curator and a witness have signed a head; exit 1 if one has not."
        ),
        "new-key": Verb(
            "receipts:new_key",
            "Sign with a new key from now on, which the old one signs; old receipts are checked with the old key.",
        ),
        "export-key": Verb(
            "receipts:export_key",
            "Write the key that signs into a sealed file, for another machine that shares the ledger; print its code.",
        ),
        "import-key": Verb(
            "receipts:import_key",
            "Sign with the key of another machine that shares the ledger, from its sealed file.",
        ),
    }
)
APPROVALS: Final = MappingProxyType(
    {
        "list": Verb(
            "govern:questions", "List the releases that others must agree to: analyst, request and privacy loss."
        ),
        "approve": Verb("govern:approve", "Approve a release and its privacy loss, for seven days and one debit."),
        "decline": Verb("govern:decline", "Do not agree to a release; nothing was debited for it."),
    }
)
PUBLISHED: Final = MappingProxyType(
    {
        "list": Verb("govern:published", "List the answers that everybody may see."),
        "add": Verb("govern:publish", "Let everybody see a stored answer; nothing is charged."),
        "withdraw": Verb(
            "govern:withdraw", "Show a published answer no more; it was released, and nothing is given back."
        ),
        "state": Verb(
            "receipts:state",
            "Update the public statement of a data set's budget and what is spent of it; with -o, write the receipt.",
        ),
    }
)
TOKEN: Final = MappingProxyType(
    {
        "new": Verb("people:new_token", "Make a token of a person; it is printed once and not stored."),
        "list": Verb("people:tokens", "List tokens without their secrets: whose, until when, used when."),
        "revoke": Verb("people:revoke_token", "Revoke a token immediately, on every server."),
    }
)
DATASETS: Final = MappingProxyType(
    {
        "raise-budget": Verb(
            "owners:raise_budget", "Give a data set a larger budget; the books and the card say when and why."
        ),
        "set-quota": Verb(
            "owners:set_quota", "Limit what one analyst may spend; from then on, those without a quota spend nothing."
        ),
        "open": Verb("govern:open_dataset", "Accept requests for a draft or a paused data set."),
        "pause": Verb("govern:pause", "Debit nothing to a data set until it is opened again; stored answers stay."),
        "close": Verb(
            "govern:close", "Close a data set permanently: it takes no more charges; rows and stored answers stay."
        ),
        "rename": Verb("owners:rename", "Call a data set otherwise; its budget, answers and receipts stay."),
        "retire": Verb(
            "owners:retire", "Retire a data set: it takes no more requests, and its copied rows are removed."
        ),
        "history": Verb("owners:history", "Show who asked what, when, at which price, and what the owner decided."),
    }
)
BENCH: Final = MappingProxyType(
    {
        "histograms": Verb(
            "compare:histograms",
            "Measure the error of every histogram method; real data from the folder in DITHER_DATA, else generated.",
        ),
        "workloads": Verb(
            "compare:workloads",
            "Compare strategies for batches of queries: expected errors, exact, and measured ones where counts decide.",
        ),
        "marginals": Verb(
            "compare:marginals",
            "Measure the error of published marginals of one, two and three attributes.",
        ),
        "learn": Verb(
            "compare_learning:run",
            "Compare private models with scikit-learn's; Adult is taken from the folder in DITHER_DATA, if it is "
            "there.",
        ),
    }
)
LEDGER: Final = MappingProxyType(
    {
        "show": Verb("books:show", "Show what is spent, reserved and left; with a loss, exit 1 if it would not fit."),
        "verify": Verb("books:verify", "Walk the whole chain of entries; exit 1 if anything contradicts itself."),
        "export": Verb("books:export", "Write every entry as one line of JSON."),
    }
)

SURVEY: Final = MappingProxyType(
    {
        "new": Verb(
            "survey:new", "Write the protocol document of a survey: question, answers, randomiser, privacy loss."
        ),
        "show": Verb("survey:show", "Show a survey: question, answers, privacy loss of a report, expected error."),
        "answer": Verb(
            "survey:answer",
            "Answer a survey from this device: one randomised report, debited first, and repeated at no cost.",
        ),
    }
)

#: The verbs by who uses them; a test finds each in one place.
EVERYBODY: Final = "Everybody: see it work"
OWNER: Final = "Owner: declare data, set a budget, watch the books"
ANALYST: Final = "Analyst: price a question, ask it, publish"
RESEARCHER: Final = "Researcher: find an algorithm, read its proof, try to refute it"
PANELS: Final = MappingProxyType(
    {
        EVERYBODY: ("demo", "login", "witness", "report-location", "collect", "estimate"),
        OWNER: ("init", "add", "check", "bounds", "limits", "card", "serve", "risk"),
        ANALYST: (
            *("quote", "sql", "ask", "shell", "answer", "synthesize", "anonymize"),
            *("fit", "predict", "graph", "places", "release"),
        ),
        RESEARCHER: ("catalog", "explain", "audit", "specimens", "attack"),
    }
)
GROUPS: Final = MappingProxyType(
    {
        "datasets": (DATASETS, OWNER, "List the data sets, or decide about one: budget, quotas, name, end."),
        "people": (PEOPLE, OWNER, "People who may use the service, and their rights."),
        "approvals": (APPROVALS, OWNER, "The releases that others must agree to before they are debited."),
        "published": (PUBLISHED, OWNER, "The stored answers that everybody may see."),
        "receipt": (RECEIPT, EVERYBODY, "Receipts that anybody can check: what was debited for an answer."),
        "survey": (SURVEY, EVERYBODY, "Surveys in which each person randomises an answer: no one has to be trusted."),
        "token": (TOKEN, OWNER, "The tokens by which people are known to a service."),
        "disguise": (
            DISGUISE,
            OWNER,
            "Tables, numbers and networks that look alike or changed, and what is left to find. NO formal guarantee.",
        ),
        "ledger": (LEDGER, OWNER, "What was spent, by whom, and whether the books are true."),
        "publish": (PUBLISH, ANALYST, "Publish tables of counts: histograms, many queries in one release, marginals."),
        "stream": (STREAM, ANALYST, "Continual release: one query, answered at every tick, for one price."),
        "bench": (BENCH, RESEARCHER, "Compare methods by their error, on generated or real data."),
    }
)
_AnyHome = Annotated[
    Path | None, typer.Option("--home", help="Curator folder, here or after the verb. Defaults to DITHER_HOME.")
]

app = group(
    VERBS,
    PANELS,
    name="dither",
    help="Differential privacy that is exact, priced before it looks, and checked by trial.",
    pretty_exceptions_enable=False,
    add_completion=True,
)


def _with_home(home: _AnyHome = None) -> None:
    """Take the curator's folder between the two words of a verb."""


def _datasets(
    ctx: typer.Context,
    home: _AnyHome = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            envvar="DITHER_SERVER",
            help="List those that you may see at this address, with the token in DITHER_TOKEN.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """List the data sets, or decide about one: budget, quotas, name, end."""
    from dither.cli.options import found_home, is_server_typed

    if ctx.invoked_subcommand is not None and is_server_typed(ctx):
        # The verb would act in a folder that nobody has named.
        raise InvalidParameter("--server", server, f"typed after the verb: dither datasets {ctx.invoked_subcommand}")
    if ctx.invoked_subcommand is None:
        from dither.cli.curate import datasets as listed

        use(server)
        listed(found_home(ctx, home), as_json)


for _name, (_verbs, _title, _help) in GROUPS.items():
    _lists = _verbs is DATASETS
    _usual = "table" if _verbs is DISGUISE else None
    _made = group(_verbs, usual_verb=_usual, help=_help, no_args_is_help=not _lists, invoke_without_command=_lists)
    if _usual is None:
        _made.callback()(_datasets if _lists else _with_home)
    app.add_typer(_made, name=_name, help=_help, rich_help_panel=_title)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dither {dither.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    home: _AnyHome = None,
) -> None:
    """Differential privacy that is exact, priced before it looks, and checked by trial."""
    # What a command of before was told in this process does not hold for this one.
    use(None)


#: As shells have it; the parser makes it of an interruption.
_INTERRUPTED: Final = 130


def _let_go() -> None:
    """Drop what standard output could not take: the interpreter would try again, and exit with a code of its own."""
    try:
        sys.stdout.flush()
    except (OSError, AttributeError):
        with contextlib.suppress(OSError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command; an error of dither's own becomes one line, or JSON where that was asked, and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without UTF-8 shows other signs by their codes.
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="backslashreplace")
    before = gc.get_threshold()
    look_seldom_for_garbage()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", EarlierEdition)
            warnings.showwarning = _told(warnings.showwarning)
            _run(as_json="--json" in sys.argv[1:])
    finally:
        gc.set_threshold(*before)


def _run(*, as_json: bool) -> None:
    try:
        # Where a program reads, wrong usage is told as JSON as well, and not by the parser.
        sys.exit(app(standalone_mode=not as_json))
    except SystemExit as left:
        if left.code == _INTERRUPTED:
            from dither.cli.interrupted import tell_once

            tell_once()
        raise
    except DitherError as failure:
        from dither.cli.console import complain_in_json, complain_of
        from dither.cli.exits import code_of, record_of

        if as_json:
            complain_in_json(record_of(failure))
        else:
            complain_of(failure)
        _let_go()
        sys.exit(code_of(failure))
    except RuntimeError as failure:
        # DuckDB takes the signal while it reads, and raises this in place of a KeyboardInterrupt.
        if str(failure) != "Query interrupted":
            raise
        from dither.cli.interrupted import tell_once

        tell_once()
        _let_go()
        sys.exit(_INTERRUPTED)
    except Exception as misuse:
        # What the parser refuses has no public class that all its versions share.
        if not (as_json and hasattr(misuse, "format_message") and hasattr(misuse, "exit_code")):
            raise
        from dither.cli.console import complain_in_json

        said = {"kind": "Usage", "message": misuse.format_message(), "exit_code": misuse.exit_code}
        complain_in_json({"error": said})
        sys.exit(misuse.exit_code)


def _told(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Return what shows warnings: those of dither's own in one line, others as before."""

    def tell(message: Warning | str, category: type[Warning], *place: Any, **rest: Any) -> None:
        if not issubclass(category, EarlierEdition):
            otherwise(message, category, *place, **rest)
            return
        from dither.cli.console import complain_of

        complain_of(EarlierEdition(str(message)))

    return tell
