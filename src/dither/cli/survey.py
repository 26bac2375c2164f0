"""``dither survey``, ``dither collect`` and ``dither estimate``: local reports, from a question to a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli.console import note, print_json, say, shown
from dither.cli.options import Force, Json
from dither.cli.outputs import Output, check_outputs, keep_files, write_whole
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.local.document import Document
    from dither.local.domains import Domain
    from dither.local.estimates import Estimate

_MOST_SHOWN = 40
Survey = Annotated[Path, typer.Argument(metavar="SURVEY", help="Protocol document that 'dither survey new' wrote.")]
Reports = Annotated[
    Path | None, typer.Option("--reports", help="File of reports. [default: the survey's name, with .reports]")
]


def new(
    survey: Annotated[Path, typer.Argument(metavar="SURVEY", help="Where the protocol document goes: .json.")],
    question: Annotated[str, typer.Option(help="Question of the survey.")],
    epsilon: Annotated[str, typer.Option(help="Privacy loss of one report (epsilon), for example 1 or 1/2.")],
    answers: Annotated[str | None, typer.Option(help="Answers, separated by commas.")] = None,
    other: Annotated[
        str | None, typer.Option(help="Category for unlisted answers; added if it is new. [default: other]")
    ] = None,
    numbers: Annotated[
        str | None, typer.Option("--range", help="LOW..HIGH: the answer is an integer, such as 0..120.")
    ] = None,
    method: Annotated[str, typer.Option(help="Randomiser, or auto for the least exact variance.")] = "auto",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the protocol document of a survey: question, answers, randomiser, privacy loss."""
    from dither.exact import positive
    from dither.local.frequencies.choose import ORACLES, choose_oracle
    from dither.local.quantities import OTHERS, law_named
    from dither.local.randomiser import Randomiser
    from dither.privacy import PureDP

    law: Randomiser
    output = Output("SURVEY", survey, (".json",))
    check_outputs([output])
    keep_files([output], force=force)
    domain, loss = _domain(answers, other, numbers), PureDP(positive("--epsilon", epsilon))
    if method == "auto":
        choice = choose_oracle(loss, domain.cells)
        law, why = choice.oracle, choice.why
    elif method in ORACLES:
        law = ORACLES[method](loss, categories=domain.cells)
        why = f"{method}, as requested"
    elif method in OTHERS:
        law = law_named(method, loss, domain)
        why = f"{method}, as requested"
    else:
        raise InvalidParameter("--method", method, f"auto or one of {', '.join((*ORACLES, *OTHERS))}")
    document = law.document(question, domain)
    write_whole(
        survey, lambda path: path.write_text(json.dumps(document.record(), indent=1, ensure_ascii=False) + "\n")
    )
    if as_json:
        print_json({**_facts(document), "why": why, "file": str(survey)})
        return
    _tell(document)
    say(f"Randomiser: {why}.")
    say(f"Wrote {shown(str(survey))}. Collect reports with: dither collect {shown(str(survey))}")


def show(survey: Survey, as_json: Json = False) -> None:
    """Show a survey: question, answers, privacy loss of a report, expected error."""
    document = read_survey(survey)
    if as_json:
        print_json(_facts(document))
        return
    _tell(document)


def answer(
    survey: Survey,
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="The answer; an unlisted one counts as other.")],
    book: Annotated[Path, typer.Option("--budget", help="File that counts what this device has spent.")] = Path(
        "dither-device.json"
    ),
    cap: Annotated[
        str | None, typer.Option(help="Total epsilon for all surveys of this device; required with the first.")
    ] = None,
    send: Annotated[str | None, typer.Option(help="Address of a collector that the report is posted to.")] = None,
    as_json: Json = False,
) -> None:
    """Answer a survey from this device: one randomised report, debited first, and repeated at no cost."""
    from dither.curator.device import report_answer

    document = read_survey(survey)
    made = report_answer(_typed(document, answer), document=document, book=book, cap=cap)
    if send is not None:
        _post(send, made.text)
    if as_json:
        record = {"report": made.text, "epsilon": str(made.epsilon), "spent": str(made.spent), "cap": str(made.cap)}
        print_json({**record, "is_new": made.is_new})
        return
    say(made.text)
    repeated = "" if made.is_new else " This is the stored report; it cost nothing more."
    note(f"Epsilon {float(made.epsilon):.4g}; {float(made.spent):.4g} of {float(made.cap):g} is spent.{repeated}")


def collect(
    survey: Survey,
    reports: Reports = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free port.")] = 8078,
    rate: Annotated[float, typer.Option(help="Requests a second from one address, on average.")] = 20.0,
    as_json: Json = False,
) -> None:
    """Collect reports to a survey over HTTP, and serve the page that asks its question."""
    from dither.service.collector import Collector, Limits, serve
    from dither.service.report_store import ReportStore

    if not 0 < rate <= 1e6:
        raise InvalidParameter("--rate", rate, "above 0, at most 1000000")
    document = read_survey(survey)
    path = _reports(survey, reports)

    def ready(address: str) -> None:
        if as_json:
            print_json({"address": address, "survey": document.identifier, "reports": str(path)})
        else:
            say(f"Asking {shown(document.question)!r} at {address}/")
            say(f"Reports go to {shown(str(path))}. Stop with Ctrl-C; then: dither estimate {shown(str(survey))}")

    with ReportStore(path, document) as store:
        try:
            made = Collector(store, host=host, port=port, limits=Limits(rate, 10 * rate))
        except (OSError, OverflowError) as failure:
            raise InvalidParameter("--host, --port", f"{host}:{port}", f"free to listen on ({failure})") from None
        serve(made, ready)


def estimate(
    survey: Survey,
    reports: Reports = None,
    confidence: Annotated[str, typer.Option(help="Confidence of the intervals.")] = "0.95",
    together: Annotated[bool, typer.Option("--together", help="Intervals that hold for all answers together.")] = False,
    tidy: Annotated[
        str, typer.Option(help="none (unbiased), clip (no negative shares), simplex (sum 1), or base-cut (noise is 0).")
    ] = "none",
    plot: Annotated[Path | None, typer.Option("--plot", help="Where a page with a picture goes: .html.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Estimate the share of each answer, or means and quantiles, from the collected reports, with intervals."""
    from dither.cli.survey_quantities import quantity_page, quantity_table
    from dither.local.quantities import Quantities
    from dither.service.report_store import ReportStore

    document = read_survey(survey)
    outputs = [] if plot is None else [Output("--plot", plot, (".html",))]
    check_outputs(outputs)
    keep_files(outputs, force=force)
    path = _reports(survey, reports)
    if not path.is_file():
        raise InvalidParameter("--reports", str(path), "a file of reports that 'dither collect' wrote")
    with ReportStore(path, document) as store:
        found = store.estimator().estimate(confidence, together=together, tidy=tidy)
        dropped = store.dropped()
    if plot is not None:
        made = quantity_page(found, dropped) if isinstance(found, Quantities) else _page(found, dropped)
        write_whole(plot, lambda target: target.write_text(made, encoding="utf-8"))
    if as_json:
        print_json({**found.record(), "dropped": dict(dropped)})
        return
    if isinstance(found, Quantities):
        quantity_table(found)
    else:
        _table(found)
    say(f"{found.card}.")
    told = ", ".join(f"{number} {kind}" for kind, number in dropped.items() if number)
    if told:
        say(f"Dropped: {told}.")


def read_survey(path: Path) -> Document:
    """Return the protocol document of a file, its randomiser checked."""
    from dither.local.clients import half_of
    from dither.local.document import Document

    try:
        text = path.read_bytes()
    except OSError as failure:
        raise InvalidParameter(
            "SURVEY", str(path), f"a protocol document that can be read ({failure.strerror})"
        ) from None
    document = Document.parse(text)
    half_of(document)
    return document


def _reports(survey: Path, reports: Path | None) -> Path:
    return survey.with_suffix(".reports") if reports is None else reports


def _domain(answers: str | None, other: str | None, numbers: str | None) -> Domain:
    from dither.local.domains import Categories, Range

    if (answers is None) == (numbers is None):
        raise InvalidParameter("--answers, --range", answers, "exactly one of them is required")
    if answers is not None:
        names = [name.strip() for name in answers.split(",")]
        rest = "other" if other is None else other
        return Categories(tuple(names if rest in names else [*names, rest]), rest)
    if other is not None:
        raise InvalidParameter("--other", other, "not allowed with --range: a number outside counts as the nearest end")
    low, dots, high = (numbers or "").partition("..")
    try:
        return Range(int(low), int(high)) if dots else Range(0, 0)
    except ValueError as failure:
        if isinstance(failure, InvalidParameter):
            raise
        raise InvalidParameter("--range", numbers, "LOW..HIGH, two integers such as 0..120") from None


def _typed(document: Document, text: str) -> Any:
    """Return a typed answer as the domain takes it: a number, where it lists none."""
    if document.domain.kind == "categories":
        return text
    try:
        return float(text) if "." in text or "e" in text.lower() else int(text)
    except ValueError:
        return text


def _facts(document: Document) -> dict[str, Any]:
    from dither.local.clients.chains import Chain
    from dither.local.randomiser import randomiser_of
    from dither.local.weights import loss_of

    law = randomiser_of(document)
    facts = {
        "question": document.question,
        "document": document.identifier,
        "answers": document.domain.cells,
        "randomiser": document.randomiser,
        "epsilon": str(law.loss(1).epsilon),
        "bits": law.half.size,
    }
    if isinstance(law.half, Chain):
        facts["epsilon_of_all_rounds"] = str(loss_of(law.half.lasting_ratio).epsilon)
    error = getattr(law, "score_deviation", None)
    return facts if error is None else {**facts, "deviation_of_a_share_for_one_report": error}


def _tell(document: Document) -> None:
    from dither.local.clients.chains import Chain
    from dither.local.randomiser import randomiser_of
    from dither.local.weights import loss_of

    law = randomiser_of(document)
    cells = document.domain.cells
    names = [document.domain.name(cell) for cell in range(min(cells, 12))]
    say(f"Question: {shown(document.question)}")
    say(f"Answers: {shown(', '.join(names))}{f', ... ({cells} in all)' if cells > 12 else ''}")
    one = f"{float(law.loss(1).epsilon):.6g}"
    if isinstance(law.half, Chain):
        lasting = f"{float(loss_of(law.half.lasting_ratio).epsilon):.6g}"
        say(f"Privacy loss: epsilon {one} for a report, by {document.randomiser}; {lasting} for all rounds of a device")
        say("that stores its first permanent response. Answer with RoundsClient: 'dither survey answer' cannot.")
    else:
        say(f"Privacy loss: epsilon {one} for each person's answer, by {document.randomiser}.")
    error = getattr(law, "score_deviation", None)
    if error is not None:
        sizes = ", ".join(
            f"{100 * 1.96 * error / size**0.5:.2g} points from {size:,} reports" for size in (1000, 100_000)
        )
        say(f"Expected error: a small share is within {sizes} (95 %).")


def _table(found: Estimate) -> None:
    from rich.table import Table

    from dither.cli.console import console

    made = Table("answer", "share", "low", "high", box=None)
    for column in made.columns[1:]:
        column.justify = "right"
    order = sorted(range(len(found.shares)), key=lambda cell: -found.shares[cell])
    for cell in order[:_MOST_SHOWN]:
        numbers = (found.shares[cell], *_ends(found, cell))
        made.add_row(shown(found.document.domain.name(cell)), *(f"{100 * number:.2f} %" for number in numbers))
    say(shown(found.document.question))
    console.print(made, markup=False, highlight=False)
    if len(order) > _MOST_SHOWN:
        say(f"... and {len(order) - _MOST_SHOWN} more answers with smaller shares: --json has all.")
    how = "all together" if found.together else "each"
    say(f"Intervals hold with {float(found.confidence) * 100:g} % {how}, and are those of the unbiased shares.")


def _ends(found: Estimate, cell: int) -> tuple[float, float]:
    """Return the part of an interval where shares can be."""
    return tuple(min(max(float(end[cell]), 0.0), 1.0) for end in (found.low, found.high))  # type: ignore[return-value]


def _page(found: Estimate, dropped: Any) -> str:
    from dither.pages.charts import Bars, bar_chart
    from dither.pages.frame import Axis
    from dither.pages.page import figure, note, page, table

    order = sorted(range(len(found.shares)), key=lambda cell: -found.shares[cell])[:_MOST_SHOWN]
    names = [found.document.domain.name(cell) for cell in order]
    shares = [float(found.shares[cell]) for cell in order]
    low, high = ([_ends(found, cell)[end] for cell in order] for end in (0, 1))
    title = f"Shares, with {float(found.confidence) * 100:g} % intervals"
    up = Axis("share of people", is_share=True)
    chart = bar_chart(title, names, [Bars("estimated", shares, low, high)], across=Axis("answer"), up=up)
    rows = [
        (name, *(f"{100 * number:.2f} %" for number in numbers))
        for name, *numbers in zip(names, shares, low, high, strict=True)
    ]
    told = ", ".join(f"{number} {kind}" for kind, number in dropped.items())
    return page(
        found.document.question,
        figure(chart.markup()),
        table(("answer", "share", "low", "high"), rows),
        note(f"{found.card}. Dropped: {told}."),
    )


def _post(address: str, text: str) -> None:
    """Post a report to a collector."""
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    target = address.rstrip("/") + "/reports"
    if not target.startswith(("http://", "https://")):
        raise InvalidParameter("--send", address, "the address of a collector: http:// or https://")
    try:
        with urlopen(Request(target, data=text.encode(), method="POST"), timeout=30):  # noqa: S310 - http alone
            pass
    except (URLError, OSError, ValueError) as failure:
        raise InvalidParameter("--send", address, f"a collector that answers ({failure})") from None
