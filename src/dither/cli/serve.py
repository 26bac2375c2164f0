"""``dither serve``: a folder over HTTP."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from dither.cli.console import print_json, say
from dither.cli.exits import ANSWER_IS_NO, record_of, words_of_failure
from dither.cli.options import Json, OwnHome
from dither.cli.remote import DEMO
from dither.curator.folder import Curator
from dither.errors import DitherError, InvalidParameter, MissingExtra, NotFound

_BUDGET: Final = 10


def serve(
    demo: Annotated[bool, typer.Option("--demo", help="Serve a generated folder.")] = False,
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 for any free port. [default: 8077]")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes that share the work. [default: 1]")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only print the settings in force.")] = False,
    home: OwnHome = None,
    as_json: Json = False,
) -> None:
    """Serve this curator folder over HTTP; tokens, budgets and quotas apply."""
    from dither.service.settings import read_settings

    folder, given = demo_folder() if demo else home, {"host": host, "port": port, "workers": workers}
    if check:
        _check(folder, given, as_json=as_json)
        return
    with Curator.open(folder) as curator:
        settings = read_settings(curator.settings.service, given)
        try:
            from dither.service.server import serve as run
        except ModuleNotFoundError:
            raise MissingExtra("a service", "service") from None

        def ready(address: str, link: Any) -> None:
            where = f"{address}/sign-in/{link.code}"
            if as_json:
                from dither.service.shell_lines import sign_in_line

                curl = sign_in_line(address, where)
                print_json({"address": address, "sign_in": where, "folder": str(curator.folder), "curl": curl})
            else:
                _tell(address, where, curator.folder, example)

        # Before requests are taken: where several processes share the work, the ledger is theirs from then on.
        example = None if as_json else _example(curator)
        run(curator, settings, ready=ready)


def demo_folder() -> Path:
    """Return the folder of the demonstration, made in a process of its own where it is not there.

    Its rows come from a sequence that everybody knows, and what makes that must not be loaded where noise is drawn.
    """
    home = DEMO / "home"
    if not (home / "dither.yaml").exists():
        code = "import sys, pathlib; from dither.cli.serve import make_demo; make_demo(pathlib.Path(sys.argv[1]))"
        made = subprocess.run(  # noqa: S603 - this very program
            [sys.executable, "-c", code, str(DEMO)], check=False, stderr=subprocess.PIPE, text=True
        )
        if made.returncode:
            # Of the trace its last line alone, which says why.
            why = (made.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise NotFound(f"{DEMO} could not be made: {why.removeprefix('dither.errors.').partition(': ')[2] or why}")
    return home


def make_demo(folder: Path) -> None:
    """Write the visits of a generated clinic, and register them as the data set ``visits``."""
    from dither.cli.demo.clinic import write

    write(folder)
    schema = folder / "visits.yaml"
    schema.write_text((folder / "clinic.yaml").read_text().replace("dataset: clinic", "dataset: visits"))
    with Curator.create(folder / "home") as curator:
        curator.add(schema, epsilon=_BUDGET)


def _check(folder: Path | None, given: dict[str, Any], *, as_json: bool) -> None:
    """Print the settings in force, or what is wrong with them: then no service could start, and the answer is no."""
    from dither.service.settings import read_settings
    from dither.service.starting import check_settings

    try:
        with Curator.open(folder) as curator:
            settings = read_settings(curator.settings.service, given)
        check_settings(settings)
    except (InvalidParameter, MissingExtra) as problem:
        if as_json:
            record = record_of(problem)
            print_json({"error": record["error"] | {"exit_code": ANSWER_IS_NO}})
        else:
            say(words_of_failure(problem))
        raise typer.Exit(ANSWER_IS_NO) from None
    _show(settings.to_dict(), as_json=as_json)


def _show(settings: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(settings)
        return
    for name, value in settings.items():
        say(f"{name.replace('_', ' ')}: {value}".rstrip())


class _Example(NamedTuple):
    """What can be asked first of a folder: the name of a data set, and a query where it answers one."""

    dataset: str
    query: str | None


def _example(curator: Curator) -> _Example | None:
    """Return what can be asked first, by what is declared alone; None in a folder without data sets."""
    found = {curator.called(one.name): one for one in curator.datasets()}
    for name in sorted(found, key=lambda one: one != "visits"):
        for table in found[name].tables:
            query = f"SELECT COUNT(*) AS n FROM {table.name}"  # noqa: S608 - a plain name, as a schema has it
            with contextlib.suppress(DitherError):
                curator.session(name).offer.sql(query, epsilon="0.1")
                return _Example(name, query)
    return _Example(next(iter(found)), None) if found else None


def _tell(address: str, link: str, folder: Path, example: _Example | None) -> None:
    """Say where the service is, and how somebody asks the first data set of the folder."""
    from dither.service.shell_lines import asking_line, reading_line, sign_in_line

    say(f"serving {folder} at {address}")
    say(f"sign in once, within ten minutes: {link}")
    say("or sign in from a shell, with the same link:")
    say(f"  {sign_in_line(address, link)}")
    if example is None:
        say("add a data set, in another terminal: dither add SCHEMA.yaml --budget 1")
    else:
        name, query = example
        say("let an analyst query it, in another terminal:")
        say(f"  export DITHER_HOME={shlex.quote(str(folder))}")
        say(f"  dither people add ana --role analyst && dither people grant ana {name} --quota 0.5")
        say("  export DITHER_TOKEN=$(dither token new ana)")
        asking = f"dither card {name}" if query is None else f'dither sql {name} "{query}" --epsilon 0.1'
        say(f"  {asking} --server {address}")
        say(f"  {reading_line(address, name) if query is None else asking_line(address, name, query)}")
    # Whoever reads this through a pipe waits for it.
    sys.stdout.flush()
