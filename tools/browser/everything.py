"""One page of every kind that the product writes, from generated data, by the commands that a person types.

``Maker(folder).make("demo")`` writes a page and returns its path; ``KINDS`` has all names. A new room adds a function
here: whatever writes HTML is looked at by ``make browser``.
"""

from __future__ import annotations

import functools
import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

Page = Callable[["Maker"], Path]
KINDS: Final[dict[str, Page]] = {}

WARDS: Final = ("cardiology", "dermatology", "neurology", "oncology", "orthopaedics", "paediatrics")
_QUERY: Final = (
    "SELECT ward, COUNT(*) AS visits, AVG(waited) AS waited, STDDEV(waited) AS spread FROM visits GROUP BY ward"
)
_HOURLY: Final = "SELECT ward, COUNT(*) AS n FROM arrivals GROUP BY ward"
#: Names as people have them: long, accented, without spaces.
_BOROUGHS: Final = ("Saint-Étienne-du-Rouvray", "Hafen", "Mitte (Altstadt)", "Ørestad", "Llanfairpwllgwyngyll", "北区")


def page(make: Page) -> Page:
    """Register a kind of page by the name of its function."""
    KINDS[make.__name__.replace("_", " ")] = make
    return make


class Maker:
    """Writes pages into a folder; what several pages need is made once.

    Args:
        folder: an empty one.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, kind: str) -> Path:
        """Write a page of a kind, and return its path."""
        with _within(self.folder):
            return KINDS[kind](self).absolute()

    def run(self, *words: str) -> str:
        """Run a command, and return what it printed."""
        from typer.testing import CliRunner

        from dither.cli.app import app

        done = CliRunner().invoke(app, list(words), env={"DITHER_ANCHORS": str(self.folder / "anchors")})
        if done.exit_code:
            raise RuntimeError(f"dither {' '.join(words)}: {done.output} {done.exception}")
        return done.output

    def ask(self, *words: str) -> str:
        """Run a command in the folder of the curator."""
        return self.run("--home", str(self.home), *words)

    @functools.cached_property
    def home(self) -> Path:
        """The folder of a curator."""
        self.run("init", str(self.folder / "home"))
        return self.folder / "home"

    def add(self, name: str, schema: dict[str, Any], rows: Iterator[str]) -> str:
        """Register a table once, and return its name."""
        file, written = self.folder / f"{name}.csv", self.folder / f"{name}.yaml"
        if not written.exists():
            file.write_text("\n".join(rows), encoding="utf-8")
            table = {"source": file.name, **schema.pop("table")}
            written.write_text(json.dumps({"dataset": name, **schema, "tables": {name: table}}))
            self.ask("add", str(written), "--budget", "1000", "--delta", "0.001")
        return name

    @property
    def visits(self) -> str:
        """A table of visits."""
        dice = dice_of(1)
        rows = (
            f"{dice.randrange(3000)},{ward},{min(int(dice.expovariate(1 / (12 + 6 * WARDS.index(ward)))), 240)},"
            f"{min(max(int(dice.gauss(56, 19)), 18), 94)},{dice.choice(_BOROUGHS)},{dice.choice(('0', '1'))}"
            for ward in dice.choices(WARDS, (5, 4, 2, 2, 4, 3), k=6000)
        )
        columns = {
            "patient": "integer",
            "ward": {"kind": "text", "categories": list(WARDS)},
            "waited": {"kind": "integer", "bounds": [0, 240]},
            "age": {"kind": "integer", "bounds": [18, 95]},
            "borough": {"kind": "text", "categories": list(_BOROUGHS)},
            "admitted": {"kind": "integer", "bounds": [0, 1]},
        }
        table = {"privacy id": "patient", "columns": columns}
        head = iter(["patient,ward,waited,age,borough,admitted"])
        # Rows and groups of one person.
        limits = {"rows": 4}
        return self.add("visits", {"unit": "person", "contribution": limits, "table": table}, _both(head, rows))

    @property
    def friends(self) -> str:
        """A graph in which each new node joins some of the older ones."""
        dice, nodes = dice_of(2), 200
        rows = (f"{node},{other}" for node in range(1, nodes) for other in sorted({dice.randrange(node) for _ in "ab"}))
        columns = {name: {"kind": "integer", "bounds": [0, nodes]} for name in ("one", "other")}
        table = {"graph": {"ends": ["one", "other"]}, "columns": columns}
        return self.add("friends", {"unit": "edge", "table": table}, _both(iter(["one,other"]), rows))

    @property
    def town(self) -> str:
        """Points of journeys through a town with two crowds."""
        dice = dice_of(3)
        rows = (
            f"{who},{when},{52 + 0.1 * _crowded(dice, middle):.5f},{12.9 + 0.3 * _crowded(dice, middle):.5f}"
            for who in range(1500)
            for middle in (0.3 if who % 3 else 0.7,)
            for when in range(3)
        )
        columns = {"who": "integer", "when": "integer", "lat": "real", "lon": "real"}
        places = {
            "at": ["lat", "lon"],
            "box": [52.0, 12.9, 52.1, 13.2],
            "trip": "who",
            "time": "when",
            "trips per person": 1,
            "points per trip": 3,
        }
        table = {"privacy id": "who", "places": places, "columns": columns}
        schema = {"unit": "person", "contribution": {"rows": 3}, "table": table}
        return self.add("town", schema, _both(iter(["who,when,lat,lon"]), rows))

    @property
    def rides(self) -> str:
        """Trips through the town, each with where it began and ended."""
        dice, ends = dice_of(6), ("south", "west", "north", "east")
        rows = (
            ",".join([str(who), *(f"{at + 0.1 * _crowded(dice, 0.5):.5f}" for at in (52, 13, 52, 13))])
            for who in range(2000)
        )
        places = {"at": list(ends[:2]), "to": list(ends[2:]), "box": [52.0, 13.0, 52.1, 13.1]}
        columns = {"who": "integer", **dict.fromkeys(ends, "real")}
        table = {"privacy id": "who", "places": places, "columns": columns}
        schema = {"unit": "person", "contribution": {"rows": 1}, "table": table}
        return self.add("rides", schema, _both(iter([",".join(["who", *ends])]), rows))

    @property
    def regions(self) -> Path:
        """The areas of the town."""
        file = self.folder / "areas.geojson"
        areas = []
        for place, name in enumerate(_BOROUGHS):
            west, south = 12.9 + 0.15 * (place % 2), 52 + 0.0333 * (place // 2)
            east, north = west + 0.15, south + 0.0333
            ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
            kind = {"type": "Polygon", "coordinates": [ring]}
            areas.append({"type": "Feature", "properties": {"name": name}, "geometry": kind})
        file.write_text(json.dumps({"type": "FeatureCollection", "features": areas}), encoding="utf-8")
        return file

    @functools.cached_property
    def people(self) -> Path:
        """A table to be disguised."""
        dice, file = dice_of(4), self.folder / "people.csv"
        rows = (
            f"{dice.randrange(18, 90)},{dice.choice(_BOROUGHS)},{dice.choice(WARDS)},{dice.randrange(900, 6000, 50)}"
            for _ in range(400)
        )
        file.write_text("\n".join(["age,borough,ward,paid", *rows]), encoding="utf-8")
        return file

    def written(self, name: str, text: str) -> Path:
        """Write a text, and return its path."""
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        return file


@page
def demo(maker: Maker) -> Path:
    """Return the report of the demonstration."""
    maker.run("demo", "--out", "report.html")
    return Path("report.html")


@page
def query(maker: Maker) -> Path:
    """Return the answer to a query, with its pictures."""
    maker.ask("sql", maker.visits, _QUERY, "--epsilon", "2", "-o", "query.html")
    return Path("query.html")


@page
def one_measure(maker: Maker) -> Path:
    """Return the answer to a query of one number a group."""
    counted = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
    maker.ask("sql", maker.visits, counted, "--epsilon", "0.5", "-o", "counted.html")
    return Path("counted.html")


@page
def wide_query(maker: Maker) -> Path:
    """Return the answer to a query with two groups and long names."""
    wide = (
        "SELECT borough, ward, COUNT(*) AS number_of_visits, SUM(waited) AS minutes_waited_altogether, "
        "AVG(age) AS average_age_of_patients FROM visits GROUP BY borough, ward"
    )
    maker.ask("sql", maker.visits, wide, "--epsilon", "3", "-o", "wide.html")
    return Path("wide.html")


@page
def single_number(maker: Maker) -> Path:
    """Return the answer to a query without groups."""
    maker.ask("sql", maker.visits, "SELECT COUNT(*) AS n FROM visits", "--epsilon", "1", "-o", "one.html")
    return Path("one.html")


@page
def histogram(maker: Maker) -> Path:
    """Return a histogram of a number."""
    how = ("--bins", "20", "--epsilon", "1", "-o", "ages.csv", "--plot")
    maker.ask("publish", "histogram", maker.visits, maker.visits, "age", *how)
    return Path("ages.html")


@page
def histogram_of_two(maker: Maker) -> Path:
    """Return a histogram of two columns."""
    how = ("--epsilon", "1", "-o", "two.csv", "--plot")
    maker.ask("publish", "histogram", maker.visits, maker.visits, "borough", "ward", *how)
    return Path("two.html")


@page
def workload(maker: Maker) -> Path:
    """Return the answers to many ranges."""
    how = ("--bins", "12", "--queries", "prefixes", "--epsilon", "1", "-o", "prefixes.csv", "--plot")
    maker.ask("publish", "workload", maker.visits, maker.visits, "waited", *how)
    return Path("prefixes.html")


@page
def marginals(maker: Maker) -> Path:
    """Return one of several tables of counts."""
    maker.ask(
        "publish", "marginals", maker.visits, maker.visits, "ward", "ward,borough",
        "--epsilon", "1", "-o", "tables.csv", "--plot",
    )  # fmt: skip
    return Path("tables-ward-borough.html")


@page
def limits(maker: Maker) -> Path:
    """Return how many people have all their rows within each limit."""
    maker.ask("limits", maker.visits, maker.visits, "--epsilon", "1", "-o", "limits.csv", "--plot")
    return Path("limits.html")


@page
def heat_map(maker: Maker) -> Path:
    """Return a map with contour lines."""
    how = ("--epsilon", "2", "--grid", "32", "--levels", "5,15,30", "-o", "map.html")
    maker.ask("places", maker.town, "heatmap", *how)
    return Path("map.html")


@page
def regions(maker: Maker) -> Path:
    """Return counts by region."""
    how = ("--epsilon", "1", "--regions", str(maker.regions), "-o", "regions.html")
    maker.ask("places", maker.town, "regions", *how)
    return Path("regions.html")


@page
def flows(maker: Maker) -> Path:
    """Return flows between regions."""
    maker.ask("places", maker.rides, "flows", "--epsilon", "4", "--regions", str(maker.regions), "-o", "flows.html")
    return Path("flows.html")


@page
def stops(maker: Maker) -> Path:
    """Return where people are most."""
    maker.ask("places", maker.town, "stops", "--epsilon", "1", "--count", "5", "-o", "stops.html")
    return Path("stops.html")


@page
def journeys(maker: Maker) -> Path:
    """Return synthetic journeys."""
    maker.ask("places", maker.town, "synthesize", "--epsilon", "2", "--grid", "6", "-o", "journeys.html")
    return Path("journeys.html")


@page
def graph(maker: Maker) -> Path:
    """Return the degrees of a graph."""
    maker.ask("graph", maker.friends, "degrees", "--epsilon", "2", "-o", "degrees.csv", "--plot")
    return Path("degrees.html")


@page
def synthetic_graph(maker: Maker) -> Path:
    """Return a synthetic graph."""
    how = ("--method", "top-edges", "--epsilon", "5", "-o", "drawn.csv", "--plot")
    maker.ask("graph", maker.friends, "synthesize", *how)
    return Path("drawn.html")


@page
def synthetic_table(maker: Maker) -> Path:
    """Return the report on a synthetic table."""
    how = ("--columns", "age,ward,borough,admitted", "--epsilon", "2", "-o", "made.csv", "--report", "made.html")
    maker.ask("synthesize", maker.visits, maker.visits, *how)
    return Path("made.html")


@page
def card(maker: Maker) -> Path:
    """Return how a notebook shows a session, its books and a card with a model on it."""
    from dither.curator.folder import Curator
    from dither.learn import GaussianNB

    name = maker.visits
    with Curator.open(maker.home, anchors=maker.folder / "anchors") as curator, curator.session(name) as session:
        session.fit(GaussianNB(epsilon=2), name, target="ward", features=["age", "waited"])
        return _notebook(maker, "card", session, session.balance(), session.card(), curator)


@page
def notebook(maker: Maker) -> Path:
    """Return how a notebook shows a quote and an answer."""
    from dither.curator.folder import Curator

    name = maker.visits
    with Curator.open(maker.home, anchors=maker.folder / "anchors") as curator, curator.session(name) as session:
        quote = session.quote(_QUERY, epsilon=1)
        return _notebook(maker, "notebook", quote, session.sql(_QUERY, epsilon=1), session.offer)


@page
def stream(maker: Maker) -> Path:
    """Return the course of a stream."""
    return _stream(maker)


@page
def anonymized_table(maker: Maker) -> Path:
    """Return the report on an anonymized table."""
    how = ("--columns", "borough,ward", "--epsilon", "2", "-o", "rows.csv", "--report", "rows.html")
    maker.ask("anonymize", maker.visits, maker.visits, *how)
    return Path("rows.html")


@page
def risk(maker: Maker) -> Path:
    """Return what a table gives away."""
    maker.run("risk", str(maker.people), "--quasi", "age,borough", "--sensitive", "ward", "--report", "risk.html")
    return Path("risk.html")


@page
def disguise(maker: Maker) -> Path:
    """Return the report on a disguised table."""
    how = ("--quasi", "age,borough", "--sensitive", "ward", "--k", "5", "--l", "2", "--map", "2,5,10")
    maker.run("disguise", "table", str(maker.people), *how, "-o", "shown.csv", "--report", "shown.html")
    return Path("shown.html")


@page
def audit(maker: Maker) -> Path:
    """Return the evidence of an audit."""
    maker.run("audit", "randomised-response", "--samples", "20000", "--report", "evidence.html")
    return Path("evidence.html")


@page
def attack(maker: Maker) -> Path:
    """Return the page of an attack."""
    maker.run("attack", "differencing", "-o", "attack.html")
    return Path("attack.html")


@page
def comparison(maker: Maker) -> Path:
    """Return a comparison of methods."""
    how = ("--scales", "1000", "--domains", "64", "--epsilons", "0.1,1", "--repeats", "2", "--shapes", "smooth")
    maker.run("bench", "histograms", *how, "-o", "compared")
    return Path("compared/index.html")


@page
def comparison_of_models(maker: Maker) -> Path:
    """Return a comparison of models with those of others."""
    maker.run("bench", "learn", "--models", "naive Bayes", "--epsilons", "1", "--splits", "2", "-o", "learned")
    return Path("learned/index.html")


@page
def survey(maker: Maker) -> Path:
    """Return the shares of the answers to a survey."""
    return _survey(maker, "commute", ("--answers", "bus,bike,car,foot"), ["bike", "bus", "bus", "car", "foot"] * 400)


@page
def survey_of_numbers(maker: Maker) -> Path:
    """Return the mean of the answers to a survey."""
    dice = dice_of(6)
    ages = [min(max(int(dice.gauss(48, 18)), 0), 120) for _ in range(2000)]
    return _survey(maker, "ages", ("--range", "0..120", "--method", "piecewise-number"), ages)


@page
def saved_picture(maker: Maker) -> Path:
    """Return a picture that was saved as a page of its own."""
    from dither.pages.charts import Line, line_chart
    from dither.pages.frame import Axis

    years = list(range(2015, 2026))
    lines = [
        Line(name, years, [100 * (1 + place) + 30 * math.sin(year) for year in years])
        for place, name in enumerate(WARDS)
    ]
    return line_chart("Visits by year", lines, across=Axis("year"), up=Axis("visits")).save(Path("saved.html"))


@page
def home(maker: Maker) -> Path:
    """Return the first page of a service."""
    from dither.service.front import home_page

    return maker.written("home.html", home_page("https://data.example.org", has_issuer=True))


@page
def api(maker: Maker) -> Path:
    """Return the table of routes of a service."""
    from dither.service.front import docs_page

    return maker.written("api.html", docs_page())


@page
def signed_in(maker: Maker) -> Path:
    """Return the page that shows a token."""
    from dither.service.sign_in import link_page

    return maker.written(
        "link.html", link_page("dither_0123456789abcdef_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst")
    )


def _stream(maker: Maker) -> Path:
    dice = dice_of(5)
    moments = (f"2025-01-01 {dice.randrange(24):02}:{dice.randrange(60):02}:00" for _ in range(3000))
    rows = (f"{moment},{dice.choice(WARDS[:3])}" for moment in moments)
    table = {
        "stream": {"time": "at", "tick": "1 hour", "start": "2025-01-01", "horizon": 24},
        "columns": {"at": "timestamp", "ward": {"kind": "text", "categories": list(WARDS[:3])}},
    }
    name = maker.add("arrivals", {"unit": "row", "table": table}, _both(iter(["at,ward"]), rows))
    maker.ask("stream", "open", name, "hourly", _HOURLY, "--epsilon", "1")
    maker.ask("stream", "release", name, "hourly")
    maker.ask("stream", "show", name, "hourly", "-o", "hourly.html")
    return Path("hourly.html")


def _survey(maker: Maker, name: str, how: tuple[str, ...], answers: Sequence[Any]) -> Path:
    """Return the estimates from the reports of devices to a survey."""
    from dither.cli.survey import read_survey
    from dither.service.report_store import ReportStore
    from dither.testing.devices import simulated_reports

    file, shown = Path(f"{name}.json"), Path(f"{name}.html")
    maker.run("survey", "new", str(file), "--question", f"Your {name}: what do you <say>?", "--epsilon", "2", *how)
    document = read_survey(file)
    with ReportStore(file.with_suffix(".reports"), document) as store:
        store.add([*simulated_reports(document, answers), "nonsense"])
    maker.run("estimate", str(file), "--plot", str(shown))
    return shown


def _notebook(maker: Maker, name: str, *shown: Any) -> Path:
    """Return the views of a notebook within a page."""
    parts = [one._repr_html_() for one in shown if hasattr(one, "_repr_html_")]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Notebook</title>'
    # As Jupyter shows outputs.
    style = "<style>:root { color-scheme: light dark } body { font: 14px sans-serif } table { font-size: 12px }</style>"
    body = "\n".join(f'<div tabindex="0" role="group" aria-label="Output">{part}</div>' for part in parts)
    page = f"<body><main><h1>Notebook</h1>{body}</main></body>"
    return maker.written(f"{name}.html", f'<!doctype html><html lang="en"><head>{head}{style}</head>{page}</html>')


def dice_of(number: int) -> random.Random:
    """Return what a generated table is drawn with, the same in every run."""
    return random.Random(number)  # noqa: S311 - nothing private


def _crowded(dice: random.Random, middle: float) -> float:
    return min(max(dice.gauss(middle, 0.08), 0.001), 0.999)


def _both(head: Iterator[str], rows: Iterator[str]) -> Iterator[str]:
    yield from head
    yield from rows


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    """Work in a folder."""
    import os

    before = Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    for kind in sys.argv[2:] or KINDS:
        print(kind, Maker(Path(sys.argv[1])).make(kind))
