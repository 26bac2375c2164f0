"""``dither bench learn``: learn private models, print how good they are, and draw a page of scores over epsilon."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table

from dither.bench.learn import MODELS, LearningFigures, contests, measure_learning
from dither.bench.learning_data import public_facts
from dither.cli.console import console, print_json, words_of
from dither.cli.options import Epsilons, Json
from dither.cli.outputs import Output, keep_known
from dither.cli.progress import share
from dither.errors import InvalidParameter
from dither.exact import positive
from dither.pages.charts import Line, line_chart
from dither.pages.frame import Axis, Chart
from dither.pages.page import figure, figures, note, section, table
from dither.pages.page import page as whole_page
from dither.testing.checkout import tool

_TITLES = (
    "data",
    "model",
    "epsilon",
    "score",
    "low tenth",
    "goal",
    "plain",
    "rival",
    "fit, s",
    "to plain",
)
_MEANING = (
    "low tenth: what a tenth of the fits stay below; plain: scikit-learn without privacy, and how many times as long a "
    "fit takes as its; rival: diffprivlib"
)


def run(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of results.")] = Path("bench-learn"),
    epsilons: Epsilons = "0.1,1,10",
    models: Annotated[
        str | None, typer.Option(help="Of logistic, naive Bayes, trees, k-means; separated by commas.")
    ] = None,
    splits: Annotated[int, typer.Option(help="Fits at each epsilon; on Adult 5 at most.", min=2)] = 50,
    rivals: Annotated[
        Path | None, typer.Option(help="A folder for environments of others: diffprivlib is installed there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare private models with scikit-learn's; Adult is taken from the folder in DITHER_DATA, if it is there."""
    chosen = list(MODELS if models is None else words_of(models) or ())
    unknown = [name for name in chosen if name not in MODELS]
    if unknown or not chosen:
        raise InvalidParameter("models", models, f"some of {', '.join(MODELS)}")
    losses = words_of(epsilons) or ()
    for text in losses:
        positive("epsilons", text)
    if not losses:
        raise InvalidParameter("epsilons", epsilons, "numbers separated by commas")
    rival = None if rivals is None else tool("rivals.learning").diffprivlib(rivals)
    given = contests(models=chosen)
    keep_known([Output("out", out / name) for name in ("results.json", "index.html")])
    out.mkdir(parents=True, exist_ok=True)
    measured = measure_learning(rival, given=given, epsilons=losses, splits=splits)
    if sys.stderr.isatty() and not as_json:
        with share() as progress:
            found = list(progress.track(measured, total=len(given), description="models"))
    else:
        found = list(measured)
    (out / "results.json").write_text(json.dumps([asdict(one) for one in found], indent=1), encoding="utf-8")
    (out / "index.html").write_text(page(found), encoding="utf-8")
    if as_json:
        print_json([asdict(one) for one in found])
        return
    told = Table(box=SIMPLE, pad_edge=False, caption=_MEANING, caption_justify="left")
    for place, text in enumerate(_TITLES):
        told.add_column(text, justify="right" if place > 1 else "left")
    for one in found:
        for row in _rows(one):
            told.add_row(*row, end_section=row[2] == losses[-1])
    console.print(told)
    console.print(f"wrote {out / 'results.json'} and {out / 'index.html'}", highlight=False, markup=False)


def page(found: Sequence[LearningFigures]) -> str:
    """Return the page: what is public, the table, and scores over epsilon."""
    about = (
        "Median scores over fits to random four fifths of the rows (accuracy on the rest; for clusters, found in all "
        "rows, the adjusted Rand index against the classes"
        + "".join(f"; centres drawn without data have {one.without_data:.3f}" for one in found if one.without_data)
        + f"). Public bounds: {'; '.join(public_facts())}. Delta is "
        + ", ".join(sorted({f"{one.delta} for {one.task}" for one in found}))
        + f". {_MEANING.capitalize()}."
    )
    return whole_page(
        "Private models",
        note(about),
        table(_TITLES, [row for one in found for row in _rows(one)]),
        section("Scores over epsilon", figures(figure(_chart(one).markup()) for one in found)),
    )


def _rows(one: LearningFigures) -> list[list[str]]:
    """Return a row for each epsilon; what is the same for all stands in the first."""
    found = []
    for place, epsilon in enumerate(one.epsilons):
        first = place == 0
        found.append(
            [
                one.task if first else "",
                one.model if first else "",
                epsilon,
                f"{one.ours[place]:.3f}",
                f"{one.low[place]:.3f}",
                "" if one.goals is None else f"{one.goals[place]:.3f}",
                f"{one.without_privacy:.3f}" if first else "",
                "" if one.rival is None else f"{one.rival[place]:.3f}",
                f"{one.seconds:.3f}" if first else "",
                f"{one.seconds / max(one.seconds_without, 1e-9):.1f}" if first else "",
            ]
        )
    return found


def _chart(one: LearningFigures) -> Chart:
    epsilons = [float(epsilon) for epsilon in one.epsilons]
    lines = [
        Line("dither", epsilons, one.ours),
        Line("without privacy", epsilons, [one.without_privacy] * len(epsilons)),
        *([] if one.rival is None else [Line("diffprivlib", epsilons, one.rival)]),
    ]
    across, up = Axis("epsilon", is_log=True), Axis("score")
    return line_chart(f"{one.task}: {one.model}", lines, across=across, up=up, width=320, area=170)
