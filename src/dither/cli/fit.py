"""``dither fit``: a private model of a table, charged to the ledger and written as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.console import print_json, say, words_of
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
    PrivateTable,
    Quoted,
    Rho,
    Where,
)
from dither.cli.outputs import Output, delivering, write_whole
from dither.cli.progress import progress
from dither.errors import InvalidParameter


def fit(
    dataset: DataSetName,
    table: PrivateTable,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The column to predict.")],
    model: Annotated[str, typer.Option(help="An estimator of dither.learn.")] = "LogisticRegression",
    features: Annotated[str | None, typer.Option(help="Columns, separated by commas; else all numeric ones.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="NAME=VALUE: a parameter of the estimator.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes, as JSON.")] = Path("model.json"),
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    force: Force = False,
    is_quoted: Quoted = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Learn a private model of a table: linear, logistic, naive Bayes, and what else dither.learn has."""
    from dither import learn

    charged = Charged(epsilon, delta, rho, where, analyst, key, home, as_json, is_quoted, force)
    if model not in learn.ESTIMATORS:
        raise InvalidParameter("model", model, f"one of {', '.join(sorted(learn.ESTIMATORS))}")
    files = [Output("out", out, (".json",))]
    kind = getattr(learn, model)
    given = dict(map(_option, option or ()))
    known = {name for name in kind().get_params(deep=False) if name not in ("epsilon", "delta", "rho", "loss")}
    if unknown := sorted(set(given) - known):
        raise InvalidParameter("option", unknown[0], f"one of {', '.join(sorted(known))}")
    estimator = kind(epsilon=charged.epsilon, delta=charged.delta, rho=charged.rho, **given)
    with ask.charged_session(charged, dataset, files) as session:
        names = words_of(features)
        offer = session.offer.fit(estimator, table, target=target, features=names, where=charged.where, key=charged.key)
        if is_quoted:
            ask.say_price(session.quote(offer), as_json=as_json)
            return
        with progress("learning"):
            fitted: Any = session.release(offer)
        with delivering(charged.name):
            write_whole(out, fitted.save)
            said = {"model": model, "target": target, "loss": str(fitted.privacy_.loss), "unit": fitted.privacy_.unit}
            if charged.json:
                print_json({**said, "receipt": fitted.privacy_.receipt, "key": charged.name, "written": str(out)})
                return
            say(f"{model} of {target} in {out}")
            say(f"cost {said['loss']}, for {said['unit']}; the same again costs nothing: --key {charged.name}")


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
