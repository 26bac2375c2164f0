"""Arguments that are not typed as their declaration says: several options make one, or declarations decide.

A workload is made of ranges or of the name of a kind, an estimator of its name and parameters, two tables are typed as
one option, and the columns of a synthetic table are those that can be modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from dither.cli.console import complain, tell_owner
from dither.cli.options import Option
from dither.cli.table_choice import say_what_counts
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter
from dither.lift.verb import Typed
from dither.verbs.arguments import names

#: Parameters of estimators that are stated by options of their own, come from the schema, or are the ledger's.
_NOT_TYPED: Final = ("epsilon", "delta", "rho", "loss", "categories", "budget")
#: Estimators that a command of one line cannot state: one is fed in batches, one has another inside.
_OTHERWISE: Final = ("IncrementalLinearRegression", "PrivateSearch")
_QUERIES: Final = ("ranges", "prefixes", "cells")

Given = Mapping[str, Any]


@dataclass(frozen=True)
class Special:
    """How one argument is typed.

    Args:
        read: makes it of all options as they were typed; None where it is omitted.
        options: in place of the one that its declaration gives; None for that one.

    """

    read: Callable[[Given, Typed], Any]
    options: tuple[Option, ...] | None = None


def _workload(given: Given, typed: Typed) -> Any:
    """Return the queries: ranges of one column, or all of a kind."""
    from dither.lift.cells import cells_of
    from dither.publish.workloads import Workload

    known, ranges, kind = typed.arguments, given["range"], given["queries"]
    outside = known.get("outside")
    shape = cells_of(typed.dataset, known["table"], known["columns"], known.get("bins"), outside=outside).shape
    if ranges:
        if len(shape) != 1:
            raise InvalidParameter("range", ranges, "combined with a single column")
        return Workload.ranges(shape[0], [_ends(text) for text in ranges])
    if kind not in _QUERIES:
        raise InvalidParameter("queries", kind, f"one of {', '.join(_QUERIES)}")
    makers = {"ranges": Workload.all_ranges, "prefixes": Workload.prefixes, "cells": Workload.cells_of}
    parts = [makers[kind](size) for size in shape]
    return parts[0] if len(parts) == 1 else Workload.kron(*parts)


def _ends(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    try:
        return int(first), int(last)
    except ValueError:
        raise InvalidParameter("range", text, "FIRST:LAST, the numbers of two cells") from None


def _estimator(given: Given, typed: Typed) -> Any:
    """Return an estimator that states the loss; by the declaration of its target where none is named."""
    known, model = typed.arguments, given["model"]
    target = known.get("target")
    chosen = model or _usual_model(typed.dataset.table(known["table"]), target)
    found = _made(chosen, given["option"] or [], {name: given[name] for name in ("epsilon", "delta", "rho")})
    if model is None and not given["json"]:
        tell_owner(f"{chosen}, because of how {target} is declared; --model names another")
    return found


def _usual_model(table: Table, target: str | None) -> str:
    """Return the estimator for a column by its declaration: a number is estimated, one of a few values is told.

    An integer of two values, such as 0 and 1, is told as a class.
    """
    if target is None:
        rule = "a column to predict, unless --model names an estimator that predicts none, such as KMeans"
        raise InvalidParameter("target", None, rule)
    column = table.column(target)
    is_class = column.categories is not None or len(column.public_values or (0, 1, 2)) <= 2
    return "LinearRegression" if column.kind.is_number and not is_class else "LogisticRegression"


def _made(model: str, options: Sequence[str], stated: Mapping[str, Any]) -> Any:
    """Return an estimator of which a session can release a model, or say which there are."""
    from dither import learn
    from dither.learn.base import PrivateEstimator

    def is_fitted(name: str) -> bool:
        is_kind = name in learn.RECOMMENDERS or issubclass(getattr(learn, name), PrivateEstimator)
        return is_kind and name not in _OTHERWISE

    known_models = (*learn.ESTIMATORS, *learn.RECOMMENDERS)
    # Typed in any case: no two names differ in case alone.
    model = {name.lower(): name for name in known_models}.get(model.lower(), model)
    if model not in known_models or not is_fitted(model):
        raise InvalidParameter("model", model, f"one of {', '.join(filter(is_fitted, sorted(known_models)))}")
    kind = getattr(learn, model)
    given = dict(map(_parameter, options))
    known = {name for name in kind().get_params(deep=False) if name not in _NOT_TYPED}
    if unknown := sorted(set(given) - known):
        raise InvalidParameter("option", unknown[0], f"one of {', '.join(sorted(known))}")
    return kind(**stated, **given)


def _parameter(text: str) -> tuple[str, Any]:
    """Return a name and an integer, a number or a string."""
    name, has_value, value = text.partition("=")
    if not has_value or not name:
        raise InvalidParameter("option", text, "NAME=VALUE")
    for read in (int, float):
        try:
            return name, read(value)
        except ValueError:
            continue
    return name, value


def _columns(given: Given, typed: Typed) -> tuple[str, ...]:
    """Return the columns of a synthetic table, and say before anything is paid for which rows do not count."""
    table = typed.dataset.table(typed.arguments["table"])
    found = names(given["columns"] or "", typed)
    if not found:
        # Bins of a column are refused as they were typed.
        binned = {text.partition("=")[0].strip() for text in given["bins"] or ()}
        found, unused = usable_columns(typed.dataset, table, binned)
        if unused and not given["json"]:
            complain(f"omitted, because neither categories nor bounds are declared: {', '.join(unused)}")
    if not given["json"]:
        say_what_counts(table, found)
    return found


def usable_columns(dataset: DataSet, table: Table, binned: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of which a model can be made, by what is declared, and those that are left out.

    Where none can be, all are returned, so that the refusal says what is missing.

    Args:
        dataset: whose table.
        table: a private table.
        binned: the columns with stated bins.

    """
    from dither.publish.synthetic.columns import codings_of

    usable, left_out = [], []
    for name in table.kinds:
        if name in table.identifying:
            continue
        try:
            if name not in binned:
                codings_of(dataset, table.name, (name,))
        except InvalidParameter:
            left_out.append(name)
        else:
            usable.append(name)
    return (tuple(usable), tuple(left_out)) if usable else (tuple(left_out), ())


def _family(given: Given, typed: Typed) -> tuple[str, str]:
    """Return the names of a parent and its child."""
    named = names(given["tables"], typed)
    if len(named) != 2:
        raise InvalidParameter("tables", given["tables"], "PARENT,CHILD: two tables with one privacy id")
    return typed.dataset.table(named[0]).name, typed.dataset.table(named[1]).name


#: By verb and argument.
SPECIAL: Final[Mapping[tuple[str, str], Special]] = {
    ("workload", "workload"): Special(
        _workload,
        (
            Option("queries", Annotated[str, typer.Option(help="ranges (all of them), prefixes or cells.")], "ranges"),
            Option(
                "range",
                Annotated[
                    list[str] | None,
                    typer.Option(metavar="FIRST:LAST", help="Numbers of cells: these ranges instead of all."),
                ],
                None,
            ),
        ),
    ),
    ("fit", "estimator"): Special(
        _estimator,
        (
            Option(
                "model",
                Annotated[
                    str | None,
                    typer.Option(
                        help="An estimator of dither.learn; by default LinearRegression for numbers, and "
                        "LogisticRegression for other columns."
                    ),
                ],
                None,
            ),
            Option(
                "option",
                Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the estimator.")],
                None,
            ),
        ),
    ),
    ("synthesize", "columns"): Special(_columns),
    ("synthesize_families", "parent"): Special(
        lambda given, typed: _family(given, typed)[0],
        (
            Option(
                "tables",
                Annotated[
                    str | None,
                    typer.Option(
                        metavar="PARENT,CHILD",
                        help="Two tables with one privacy id instead of one; a file is written for each.",
                    ),
                ],
                None,
            ),
        ),
    ),
    ("synthesize_families", "child"): Special(lambda given, typed: _family(given, typed)[1], ()),
    ("anonymize", "method"): Special(
        lambda given, _: given["method"],
        (
            Option(
                "method",
                Annotated[
                    str,
                    typer.Option(
                        help="priv-fuzzy (columns in groups, rebuilt from noisy histograms), diffgen (values "
                        "generalised along taxonomies), diffpart (sets of items, one per person), "
                        "perturbed-rows (every row randomised: to see what that costs), or kept-table (answers "
                        "--ask about the rows)."
                    ),
                ],
                "priv-fuzzy",
            ),
        ),
    ),
    # By any other method it is how many rows are drawn of what was released: an option of those rows.
    ("anonymize", "rows"): Special(lambda given, _: given["rows"] if given["method"] == "perturbed-rows" else None, ()),
}
