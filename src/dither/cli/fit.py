"""``dither fit``: a private model of a table, charged to the ledger and written as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dither.cli import ask
from dither.cli.console import print_json, say, tell_owner, words_of
from dither.cli.options import (
    Analyst,
    Charged,
    DataSetName,
    Delta,
    Epsilon,
    Force,
    Home,
    Json,
    Key,
    Quoted,
    Rho,
    Server,
    Where,
)
from dither.cli.outputs import Output, delivering, write_whole
from dither.cli.progress import progress
from dither.cli.which import table_and_column
from dither.data.schema import Table
from dither.errors import InvalidParameter

#: What is stated by options of their own, comes from the schema, or is the ledger's.
_NOT_TYPED: Final = ("epsilon", "delta", "rho", "loss", "categories", "budget")
#: Estimators that a command of one line cannot state: one is fed in batches, one has another inside.
_OTHERWISE: Final = ("IncrementalLinearRegression", "PrivateSearch")


def fit(
    dataset: DataSetName,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE] [TARGET]",
            help=(
                "A private table (optional if it is the only one) and the column to predict (none for KMeans and "
                "similar)."
            ),
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="An estimator of dither.learn; else LinearRegression for numbers, LogisticRegression else."),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Columns, separated by commas; else all that have bounds or categories in the schema."),
    ] = None,
    option: Annotated[list[str] | None, typer.Option(help="NAME=VALUE: a parameter of the estimator.")] = None,
    per: Annotated[
        str, typer.Option(help="Whom the loss is for: a person, with all rows that count, or one row of theirs.")
    ] = "person",
    score: Annotated[
        bool, typer.Option("--score", help="Hold a fifth of the rows out, and score the model on it; the same price.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes, as JSON.")] = Path("model.json"),
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    force: Force = False,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Learn a private model of a table: linear, logistic, naive Bayes, and what else dither.learn has."""
    charged = Charged(epsilon, delta, rho, where, analyst, key, home, as_json, is_quoted, force)
    table, target = table_and_column(home, dataset, words or (), "target", is_optional=True)
    stated = {"epsilon": epsilon, "delta": delta, "rho": rho}
    checked = None if model is None else _estimator(model, option or [], stated)
    with ask.charged_session(charged, dataset, [Output("out", out, (".json",))]) as session:
        chosen = model or _usual_model(session.dataset.table(table), target)
        estimator = checked or _estimator(chosen, option or [], stated)
        if model is None and not as_json:
            tell_owner(f"{chosen}, because of how {target} is declared; --model names another")
        asked: dict[str, Any] = {"target": target, "features": words_of(features), "per": per, "score": score}
        asked |= {"where": charged.where, "key": charged.key}
        offer = session.offer.fit(estimator, table, **asked)
        if is_quoted:
            ask.say_price(session.quote(offer), as_json=as_json)
            return
        with progress("learning"):
            fitted: Any = session.release(offer)
        with delivering(charged.name):
            write_whole(out, fitted.save)
            privacy, scored = fitted.privacy_, fitted.held_out_score_
            if charged.json:
                said = {"model": chosen, "target": target, "loss": str(privacy.loss), "unit": privacy.unit}
                said |= {"release": fitted.released_as_, "receipt": privacy.receipt, "key": charged.name}
                print_json({**said, "written": str(out), "score": None if scored is None else vars(scored)})
                return
            say(fitted.released_as_)
            say(f"written to {out}")
            if scored is not None:
                say(str(scored))
            say(f"cost {privacy.loss}, for {privacy.unit}; the same again costs nothing: --key {charged.name}")


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


def _estimator(model: str, options: Sequence[str], stated: Mapping[str, Any]) -> Any:
    """Return an estimator of which a session can release a model, or say which there are."""
    from dither import learn
    from dither.learn.base import PrivateEstimator

    def is_fitted(name: str) -> bool:
        kind = getattr(learn, name)
        return issubclass(kind, PrivateEstimator) and name not in _OTHERWISE

    if model not in learn.ESTIMATORS or not is_fitted(model):
        raise InvalidParameter("model", model, f"one of {', '.join(filter(is_fitted, sorted(learn.ESTIMATORS)))}")
    kind = getattr(learn, model)
    given = dict(map(_option, options))
    known = {name for name in kind().get_params(deep=False) if name not in _NOT_TYPED}
    if unknown := sorted(set(given) - known):
        raise InvalidParameter("option", unknown[0], f"one of {', '.join(sorted(known))}")
    return kind(**stated, **given)


def _option(text: str) -> tuple[str, Any]:
    """Return a name and a whole number, a number or a text."""
    name, has_value, value = text.partition("=")
    if not has_value or not name:
        raise InvalidParameter("option", text, "NAME=VALUE")
    for read in (int, float):
        try:
            return name, read(value)
        except ValueError:
            continue
    return name, value
