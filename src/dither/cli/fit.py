"""``dither fit``: a private model of a table, charged to the ledger and written as JSON."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dither.cli import ask
from dither.cli.console import console, print_json
from dither.errors import InvalidParameter


def fit(
    home: Path | None,
    dataset: str,
    table: str,
    target: str,
    *,
    model: str,
    features: str | None,
    options: list[str],
    loss: ask.Stated,
    analyst: str,
    key: str | None,
    where: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Learn a model and write it."""
    from dither import learn

    if model not in learn.ESTIMATORS:
        raise InvalidParameter("model", model, f"one of {', '.join(sorted(learn.ESTIMATORS))}")
    if out.suffix.lower() != ".json" or not out.resolve().parent.is_dir():
        raise InvalidParameter("out", str(out), "a file ending in .json, in a folder that exists")
    kind = getattr(learn, model)
    given = dict(map(_option, options))
    known = kind().get_params(deep=False)
    if unknown := sorted(set(given) - set(known)):
        raise InvalidParameter("option", unknown[0], f"one of {', '.join(sorted(known))}")
    estimator = kind(epsilon=loss.epsilon, delta=loss.delta, rho=loss.rho, **given)
    names = None if features is None else [word.strip() for word in features.split(",") if word.strip()]
    progress = console.status("learning", spinner="dots") if sys.stderr.isatty() else nullcontext()
    with ask.session(home, dataset, analyst) as session, progress:
        fitted: Any = session.fit(estimator, table, target=target, features=names, where=where, key=key)
    fitted.save(out)
    said = {"model": model, "target": target, "loss": str(fitted.privacy_.loss), "unit": fitted.privacy_.unit}
    if as_json:
        print_json({**said, "receipt": fitted.privacy_.receipt, "written": str(out)})
        return
    console.print(f"{model} of {target} in {out}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"cost {said['loss']}, for {said['unit']}", markup=False, highlight=False, soft_wrap=True)


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
