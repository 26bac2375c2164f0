"""``dither disguise table`` and ``dither risk``: tables without a formal guarantee, and what they give away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli.console import print_json, say, words_of
from dither.cli.options import Force, Json, Report
from dither.cli.outputs import Output, check_outputs, keep_files, keep_known, write_whole
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.disguise import Disguise, Risk, Roles, Rules, Table

File = Annotated[Path, typer.Argument(metavar="FILE", help="Your table, as .csv or .parquet.")]
Quasi = Annotated[str | None, typer.Option(help="Quasi-identifiers: columns that others may know of people.")]
_Schema = Annotated[
    Path | None, typer.Option(help="A schema with a role for each column, in place of their names here.")
]
_InSchema = Annotated[str | None, typer.Option("--table", help="The table of the schema, if it has several.")]
_Earlier = Annotated[
    Path | None, typer.Option(help="For the report: another release of the same rows, in the same order.")
]
Sensitive = Annotated[str | None, typer.Option(help="Columns that others should not learn.")]
Null = Annotated[str | None, typer.Option(help="Strings that mean a missing value, for example n/a.")]
Dates = Annotated[
    str | None,
    typer.Option(help="How dates such as 03/04/2021 are written: day-first or month-first; otherwise they are text."),
]


def disguise(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the disguised table goes: .csv or .parquet.")],
    k: Annotated[int, typer.Option("--k", help="How many rows look alike, at least.", min=1)],
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifiers: Annotated[str | None, typer.Option(help="Columns that name people; they are dropped.")] = None,
    others: Annotated[
        str | None, typer.Option(help="Columns that stay as they are although every row has another value.")
    ] = None,
    schema: _Schema = None,
    in_schema: _InSchema = None,
    null: Null = None,
    dates: Dates = None,
    method: Annotated[
        str,
        typer.Option(
            help="mondrian (multidimensional), cell, k-member, c-means, set-partition, value-suppression, "
            "local-suppression; with --hierarchies optimal (full-domain), samarati, datafly, subtree, sibling, guided, "
            "guided-ordered; for numbers microaggregation, averages."
        ),
    ] = "mondrian",
    relaxed: Annotated[
        bool, typer.Option("--relaxed", help="For mondrian: equal values may come into different classes.")
    ] = False,
    hierarchies: Annotated[
        Path | None, typer.Option(help="A YAML file: for each column a tree, intervals, masks, or a CSV file of ARX's.")
    ] = None,
    suppression: Annotated[
        float,
        typer.Option(help="For methods with --hierarchies: the share of rows that may be suppressed.", min=0, max=1),
    ] = 0.0,
    objective: Annotated[
        str, typer.Option(help="For optimal, what is to be small: penalty, discernibility, entropy or height.")
    ] = "penalty",
    diverse: Annotated[
        float | None, typer.Option("--l", help="How diverse the sensitive values of a class are, at least.")
    ] = None,
    diversity: Annotated[str, typer.Option(help="How --l counts: distinct, entropy or recursive.")] = "distinct",
    c: Annotated[float, typer.Option("--c", help="Of recursive diversity.")] = 1.0,
    t: Annotated[
        float | None, typer.Option("--t", help="Largest distance of a class's sensitive values from the table's.")
    ] = None,
    distance: Annotated[str, typer.Option(help="For --t, between values: equal, ordered or hierarchical.")] = "equal",
    alpha: Annotated[float | None, typer.Option(help="The share of a sensitive value in a class, at most.")] = None,
    beta: Annotated[float | None, typer.Option(help="The relative gain of a value in a class, at most.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="|log| of a value's share in a class over that in the table, at most.")
    ] = None,
    keep_order: Annotated[
        bool,
        typer.Option(
            "--keep-order", help="Keep the order of rows, which reveals who is who; otherwise they are shuffled."
        ),
    ] = False,
    earlier: _Earlier = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--map", help="For the report: values of k to compare, such as 2,5,10,20, or of another rule: l=2,3,4."
        ),
    ] = None,
    report: Report = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make rows look alike (k-anonymity and its kin), and measure what is left to find. NO formal guarantee."""
    from dither.disguise import Rules, read_hierarchies
    from dither.disguise.plain_risk import plain_risk
    from dither.disguise.report import NOTHING, map_told, write_disguised
    from dither.disguise.tradeoff import tradeoff

    _check_earlier(earlier, report)
    if sizes is not None and report is None:
        raise InvalidParameter("map", sizes, "combined with --report, which draws it")
    check_files(file, [Output("out", out, (".csv", ".parquet")), *_report(report)], force=force)
    table, read = read_table(file, null, dates)
    typed = {"quasi": quasi, "sensitive": sensitive, "identifiers": identifiers}
    roles = _roles(typed, table.names, schema, in_schema)
    if schema is None:
        roles = replace(roles, others=words_of(others) or ())
    _check_left_in(table, roles, words_of(others) or (), schema)
    values = {name: table[name].values for name in (*roles.quasi, *roles.sensitive)}
    trees = {} if hierarchies is None else read_hierarchies(hierarchies, values)
    kinds: Any = {"diversity": diversity, "distance": distance}
    of_sensitive = {name: tree for name, tree in trees.items() if name in roles.sensitive}
    rules = Rules(k=k, l=diverse, c=c, t=t, alpha=alpha, beta=beta, delta=delta, trees=of_sensitive, **kinds)
    more: dict[str, Any] = {"hierarchies": {name: tree for name, tree in trees.items() if name in roles.quasi}}
    more |= {"relaxed": relaxed, "suppression": suppression, "objective": "" if objective == "penalty" else objective}
    by = _made(method, roles, rules, more)
    made, further = by.apply(table), NOTHING
    if report is not None:
        from dither.cli.disclosure import of_disguise

        before = None if earlier is None else read_table(earlier, null, dates)[0]
        further = of_disguise(made, table, by, of_sensitive, before).further()
        if sizes is not None:
            rule, compared = _mapped(sizes)
            further += map_told(tradeoff(by, table, compared, rule))
    written = {"table": str(write_whole(out, (made.table if keep_order else made.shuffled()).write))}
    if report is not None:
        written["report"] = str(write_whole(report, lambda path: write_disguised(path, made, further)))
    if as_json:
        print_json({**made.to_dict(), "read": list(read), **further.figures, "written": written})
        return
    say(made.warning, style="bold red")
    for sentence in (*read, *made.done):
        say(sentence)
    ncp = "" if made.blur.ncp is None else f"; penalty {made.blur.ncp:.4f} of 1"
    say(f"{made.risk.classes:,} classes, the smallest of {made.risk.smallest}{ncp}")
    say(f"{made.before.uniques:,} rows were unique before, {made.risk.uniques:,} are now")
    for sentence in plain_risk(made.risk, roles.quasi):
        say(sentence)
    for name, path in written.items():
        say(f"wrote the {name} to {path}")


def risk(
    file: File,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    schema: _Schema = None,
    in_schema: _InSchema = None,
    population: Annotated[
        Path | None, typer.Option(help="A register of everybody with the same columns, as .csv or .parquet.")
    ] = None,
    fraction: Annotated[
        float | None, typer.Option(help="The share of the population in the table: estimates who is alone there.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="A column of sampling weights: how many people each row represents.")
    ] = None,
    household: Annotated[str | None, typer.Option(help="A column that says who lives together.")] = None,
    hierarchies: Annotated[
        Path | None, typer.Option(help="For the report, a YAML file: which sensitive values are of one kind.")
    ] = None,
    null: Null = None,
    dates: Dates = None,
    missing: Annotated[
        str, typer.Option(help="How a missing cell counts: own (a separate value) or wildcard (fits any value).")
    ] = "own",
    earlier: _Earlier = None,
    report: Report = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also show the figures by their names in the literature.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Say what any table gives away: who can be found again, and what is learned of them. NO formal guarantee."""
    from dither.disguise import WARNING, k_anonymity, presence, read_hierarchies, risk_of
    from dither.disguise.odd import odd_columns
    from dither.disguise.plain_risk import listed, plain_risk
    from dither.disguise.report import (
        Further,
        guess_words,
        odd_told,
        presence_told,
        risk_rows,
        uniques_told,
        weights_told,
        write_risk,
    )
    from dither.disguise.uniques import household_risk, population_uniques, special_uniques
    from dither.disguise.weighted import weighted_risk

    _check_earlier(earlier, report)
    check_files(file, _report(report), force=force)
    everybody = None if population is None else read_table(population, null, dates)[0]
    table, read = read_table(file, null, dates)
    roles = _roles({"quasi": quasi, "sensitive": sensitive}, table.names, schema, in_schema)
    odd = [*read, *odd_columns(table, roles)]
    if hierarchies is not None and report is None:
        raise InvalidParameter("hierarchies", str(hierarchies), "combined with --report, whose attacks use them")
    secrets = {name: table[name].values for name in roles.sensitive}
    trees = {} if hierarchies is None else read_hierarchies(hierarchies, secrets)
    found: Risk = risk_of(table, roles.quasi, roles.sensitive, everybody)
    alone = special_uniques(table, roles.quasi)
    if fraction is not None and weights is not None:
        raise InvalidParameter("fraction", fraction, "not allowed with --weights, which state it")
    heavy = None if weights is None else weighted_risk(table, roles.quasi, weights)
    how: Any = missing
    there = None if everybody is None else presence(table, everybody, roles.quasi)
    fits = None if missing == "own" else k_anonymity(table, roles.quasi, missing=how)
    if heavy is not None:
        fraction = len(table) / heavy.population
    of_all = None if fraction is None else population_uniques(table, roles.quasi, fraction)
    of_row = None if heavy is None else heavy.rows
    at_home = None if household is None else household_risk(table, roles.quasi, household, of_row)
    further = uniques_told(alone, of_all, at_home)
    if heavy is not None:
        further += weights_told(heavy)
    if fits is not None:
        further += Further((), {"fitting": fits})
    if there is not None:
        further += presence_told(there)
    if report is not None:
        from dither.cli.disclosure import of_table

        before = None if earlier is None else read_table(earlier, null, dates)[0]
        further += of_table(table, roles, before, trees).further() + odd_told(odd)
        write_whole(report, lambda path: write_risk(path, found, further, known=roles.quasi))
    if as_json:
        print_json({"warning": WARNING, "read": odd, "risk": found.to_dict(), **further.figures})
        return
    say(WARNING, style="bold red")
    for sentence in odd:
        say(sentence)
    for sentence in plain_risk(found, roles.quasi):
        say(sentence)
    if there is not None:
        likely = f"{there.least:.1%} to {there.most:.1%}"
        say(f"A person is known to be in the table with probability {likely}.")
    if fits is not None:
        say(f"With missing cells as wildcards, at least {fits:,} rows fit each row.")
    if len(roles.quasi) > len(alone.rows):
        say(f"{alone.any_row:,} rows are unique by {len(alone.rows)} or fewer of {listed(roles.quasi)}.")
    if of_all is not None:
        low, high = sorted((of_all.zayatz, of_all.pitman))
        say(f"Of {of_all.population:,} people in the population, an estimated {low:,.0f} to {high:,.0f} are unique.")
        if of_all.dis is not None:
            say(f"A match with a unique row is the right person in an estimated {of_all.dis:.1%} of cases.")
    if heavy is not None:
        say(f"By the weights, {heavy.found:,.1f} rows are found, and {heavy.alone:,.1f} are unique in the population.")
    if "household" in further.figures:
        say(f"Someone of a household is found with probability {further.figures['household']:.1%} at most.")
    if verbose:
        for name, figure in risk_rows(found):
            say(f"{name}: {figure}")
        if of_all is not None:
            say(f"unique in the population: {of_all.zayatz:,.0f} (Zayatz), {of_all.pitman:,.0f} (Pitman)")
        for one in found.guesses:
            say(guess_words(one))
    if report is not None:
        say(f"wrote the report to {report}")


def _roles(typed: Mapping[str, str | None], there: Sequence[str], schema: Path | None, name: str | None) -> Roles:
    """Return the roles as they are typed, or as a schema states them; columns that it does not name are dropped."""
    from dither.data.files import load_schema
    from dither.disguise import Roles

    said = [option for option, text in typed.items() if text is not None]
    if schema is None:
        if name is not None:
            raise InvalidParameter("table", name, "combined with --schema")
        return Roles(**{option: words_of(text) or () for option, text in typed.items() if text or option == "quasi"})
    if said:
        raise InvalidParameter(said[0], typed[said[0]], "not allowed with --schema, which states the roles")
    dataset = load_schema(schema)
    names = [one.name for one in dataset.tables]
    if name is None and len(names) > 1:
        raise InvalidParameter("table", None, f"one of {', '.join(names)}")
    columns = dataset.table(names[0] if name is None else name).columns
    silent = [one.name for one in columns if one.role is None]
    if silent:
        raise InvalidParameter("schema", silent[0], "a schema with a role for every column, such as 'role: other'")
    quasi, sensitive, identifiers, others = (
        tuple(one.stored_name for one in columns if one.role == role)
        for role in ("quasi", "sensitive", "identifier", "other")
    )
    named = {one.stored_name for one in columns}
    return Roles(quasi, sensitive, (*identifiers, *(one for one in there if one not in named)), others)


def _check_left_in(table: Table, roles: Roles, others: Sequence[str], schema: Path | None) -> None:
    """Refuse a column that may name people and that nobody spoke of; a schema speaks of all."""
    from dither.disguise.odd import left_in

    for name in others:
        table[name]
    # Columns that are missing are told before.
    for name in (*roles.quasi, *roles.sensitive, *roles.identifiers):
        table[name]
    silent = [name for name in left_in(table, roles) if name not in others]
    if silent and schema is None:
        rule = f"a list with {', '.join(silent)}, where every row has another value; or list it under --others"
        raise InvalidParameter("identifiers", ",".join(roles.identifiers) or None, rule)


def read_table(file: Path, null: str | None, dates: str | None) -> tuple[Table, tuple[str, ...]]:
    """Return the table of a file as it is meant, and what that changed, a sentence each."""
    from dither.disguise import Reading, Table

    how: Any = dates
    return Reading(words_of(null) or (), how).told(Table.read(file))


def _mapped(text: str) -> tuple[Any, list[float]]:
    """Return a rule and several values of it; of k, where none is named."""
    from dither.disguise.tradeoff import MAPPED

    name, stands, after = text.partition("=")
    rule, words = (name.strip(), words_of(after) or ()) if stands else ("k", words_of(text) or ())
    if rule not in MAPPED:
        raise InvalidParameter("map", text, f"values of one of {', '.join(MAPPED)}, such as 2,5,10 or l=2,3")
    try:
        values = [int(word) if rule == "k" else float(word) for word in words]
    except ValueError:
        kind = "integers" if rule == "k" else "numbers"
        raise InvalidParameter("map", text, f"{kind} with commas between, such as 2,5,10,20 or l=2,3") from None
    return rule, values


def _check_earlier(earlier: Path | None, report: Path | None) -> None:
    if earlier is not None and report is None:
        raise InvalidParameter(
            "earlier", str(earlier), "combined with --report, which shows what both releases reveal together"
        )


def _report(report: Path | None) -> list[Output]:
    return [] if report is None else [Output("report", report, (".html", ".json"))]


def check_files(file: Path, outputs: Sequence[Output], *, force: bool) -> None:
    """Refuse outputs that cannot be written, that are the table itself, or that are there already without force."""
    check_outputs(outputs)
    keep_known(outputs)
    for output in outputs:
        if file.exists() and output.path.exists() and output.path.samefile(file):
            raise InvalidParameter(output.option, str(output.path), "another file than the table itself")
    keep_files(outputs, force=force)


def _made(method: str, roles: Roles, rules: Rules, more: dict[str, Any]) -> Disguise:
    """Return the disguise of a name with those of the parameters that it has."""
    from dataclasses import fields

    from dither.disguise import find_disguise

    kind: Any = find_disguise(method)
    taken = {one.name for one in fields(kind)}
    unheard = [name for name, value in more.items() if value and name not in taken]
    if unheard:
        raise InvalidParameter(unheard[0], more[unheard[0]], f"not allowed with {method}")
    made: Disguise = kind(roles, rules, **{name: value for name, value in more.items() if name in taken and value})
    return made
