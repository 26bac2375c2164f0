"""``dither predict``: what a released model says about the rows of a file of one's own."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dither.cli.console import print_json, say
from dither.cli.options import Force, Home, Json
from dither.cli.outputs import Output, check_outputs, keep_files, keep_known, write_whole
from dither.data.evaluation import cell as evaluated
from dither.data.expressions import Kind
from dither.data.hints import plain_names
from dither.errors import InvalidParameter

_DELIMITERS: Final = ",;\t|"


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that 'dither fit' wrote, as JSON.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Rows, as .csv or .parquet, with the columns of the table.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the rows go, with a prediction each, as .csv.")],
    column: Annotated[str, typer.Option(help="What the column of predictions is called.")] = "predicted",
    decimal: Annotated[str, typer.Option(help="Decimal separator of a CSV file: . or ,")] = ".",
    force: Force = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Predict with a released model, for the rows of a file of your own. Nothing is charged: the model is public.

    What is written has the rows of the file in it, and is as private as these. For a recommender the file has the
    ratings of one person, in two columns, item and value. Then every other item is written with its expected value.
    """
    from dither.learn import load_estimator

    outputs = [Output("out", out, (".csv",))]
    check_outputs(outputs)
    keep_known(outputs, home)
    keep_files(outputs, force=force)
    try:
        fitted: Any = load_estimator(model)
    except (OSError, InvalidParameter) as problem:
        if isinstance(problem, InvalidParameter) and problem.parameter != "text":
            raise  # what of it is wrong
        raise InvalidParameter("model", str(model), "a model that 'dither fit' wrote") from None
    recommends = hasattr(fitted, "for_person")
    if not recommends and not (hasattr(fitted, "predict") and hasattr(fitted, "encoding")):
        raise InvalidParameter("model", type(fitted).__name__, "an estimator that predicts")
    if decimal not in (".", ","):
        raise InvalidParameter("decimal", decimal, "'.' or ','")
    names, rows = read_rows(file)
    if column in names:
        raise InvalidParameter("column", column, "a name that no column of the file has")
    if recommends:
        best = _recommended(fitted, names, rows, decimal)
        _write(out, [names[0], column], best)
        if as_json:
            print_json({"model": type(fitted).__name__, "rows": len(best), "written": str(out)})
            return
        say(f"{len(best):,} items that the file does not rate, best first, by {type(fitted).__name__}, in {out}")
        return
    taken = _of_model(fitted, names, rows, decimal)
    if fitted.encoding() is None and hasattr(fitted, "feature_names_in_"):
        del fitted.feature_names_in_  # they were compared here
    told = fitted.predict(taken) if rows else []
    _write(out, [*names, column], [[*row, label] for row, label in zip(rows, told, strict=True)])
    if as_json:
        print_json({"model": type(fitted).__name__, "rows": len(rows), "written": str(out)})
        return
    say(f"{len(rows):,} rows with a prediction each, by {type(fitted).__name__}, in {out}")


def _write(out: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows below a line of names, all or nothing."""

    def write(draft: Path) -> None:
        with draft.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(names)
            writer.writerows(rows)

    write_whole(out, write)


def _recommended(fitted: Any, names: Sequence[str], rows: Sequence[Sequence[Any]], decimal: str) -> list[list[Any]]:
    """Return the items that one person has not rated, each with its expected value, best first.

    Args:
        fitted: the recommender.
        names: of the columns of the person's file: an item and its value.
        rows: the person's own ratings.
        decimal: what stands before the decimals of values.

    """
    if len(names) != 2:
        rule = "two columns, the item and its value: a recommender takes the ratings of one person"
        raise InvalidParameter("file", ", ".join(names), rule)
    own: dict[Any, Any] = {}
    for item, cell in rows:
        value = _number(_pointed(cell, decimal))
        if value is None:
            raise InvalidParameter("file", cell, f"a file with a number in {names[1]} for each item")
        own[item] = value
    person, labels = fitted.for_person(own), fitted.labels
    return [[labels[place], float(person.expected[place])] for place in person.best(len(labels)).tolist()]


def read_rows(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns of a file, and its rows; cells of CSV are texts, an empty one is missing."""
    rule = "a file with a line of names and rows, as .csv, or a .parquet file"
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            import duckdb

            with duckdb.connect() as engine:
                found = engine.execute("SELECT * FROM read_parquet(?)", [str(path)])
                return [part[0] for part in found.description], [list(row) for row in found.fetchall()]
        if kind == ".csv":
            with path.open(encoding="utf-8-sig", newline="") as stream:
                first = stream.readline()
                stream.seek(0)
                names, *rows = csv.reader(stream, strict=True, delimiter=max(_DELIMITERS, key=first.count))
            wide = len(names)
            return names, [[cell or None for cell in (row + [""] * wide)[:wide]] for row in rows if row]
    except Exception:  # of the owner's own file; what is wrong with it is for them to find
        raise InvalidParameter("file", str(path), rule) from None
    raise InvalidParameter("file", str(path), rule)


def _of_model(fitted: Any, names: Sequence[str], rows: Sequence[Sequence[Any]], decimal: str = ".") -> list[list[Any]]:
    """Return the columns that a model was learned from, in its order.

    A column is found by its name in the schema, or as its header becomes one.

    Args:
        fitted: the model.
        names: of the columns of the file.
        rows: of the file.
        decimal: what stands before the decimals of texts that are numbers.

    """
    wanted = getattr(fitted, "feature_names_in_", None)
    if wanted is None:
        if len(names) != fitted.n_features_in_:
            rule = f"{fitted.n_features_in_} columns wide: the model has no names of columns, and takes them in order"
            raise InvalidParameter("file", f"{len(names)} columns", rule)
        return [[_pointed(cell, decimal) for cell in row] for row in rows]
    plain = plain_names(names)
    places = []
    for name in map(str, wanted):
        found = [place for place, one in enumerate(names) if one == name] or [
            place for place, one in enumerate(plain) if one == name
        ]
        if len(found) != 1:
            rule = f"with each column of the model once: {', '.join(map(str, wanted))}"
            fault = "several times" if found else "not"
            raise InvalidParameter("file", ", ".join(names), f"{rule}; {name} is {fault} there")
        places += found
    declared = fitted.encoding()
    texts = {} if declared is None else declared.categories
    has_files = getattr(fitted, "form", "pixels") != "pixels"
    has_texts = [has_files or any(isinstance(label, str) for label in texts.get(str(name), ())) for name in wanted]
    picked = [[row[place] for place in places] for row in rows]
    return [
        [cell if is_text else _truth(_pointed(cell, decimal)) for cell, is_text in zip(row, has_texts, strict=True)]
        for row in picked
    ]


def _number(cell: Any) -> float | None:
    """Return the number that a cell spells; None for anything else."""
    try:
        found = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _pointed(cell: Any, decimal: str) -> Any:
    """Return a cell with a point before its decimals; one that has a point where none belongs is missing."""
    if decimal == "." or not isinstance(cell, str):
        return cell
    return None if "." in cell else cell.replace(decimal, ".")


def _truth(cell: Any) -> Any:
    """Return true or false where a text of a column of numbers spells it, as the tables of a data set read it."""
    found = evaluated(cell, Kind.BOOLEAN) if isinstance(cell, str) and not cell.strip().isdigit() else None
    return cell if found is None else found
