"""What becomes of a release by what it is: which files its command writes, and what the screen shows.

The options that name files are the fields of a record. Files that cannot be written are refused before anything is
paid for.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeVar

import typer

from dither.cli import ask
from dither.cli.console import console, note, print_json, say
from dither.cli.options import Charged, Model, Plot, Report, TableOut
from dither.cli.outputs import Output, rows_output, table_output, write_whole
from dither.curator.owner_views import check_owner
from dither.curator.session import Session
from dither.errors import InvalidParameter
from dither.lift.verb import Typed, Verb
from dither.publish.queries import QueryResult

if TYPE_CHECKING:
    from dither.publish.microdata import AnonymizedTable
    from dither.publish.places.by_region import RegionCounts, RegionFile
    from dither.publish.places.shown import PlaceMap
    from dither.publish.synthetic import SyntheticFamilies, SyntheticTable

T = TypeVar("T")
_TABLES: Final = (".csv", ".parquet", ".json")
_PAGE: Final = ".html"
_MAPS: Final = (".geojson", ".html", ".svg")


@dataclass(frozen=True)
class Released:
    """How something was released.

    Args:
        session: in which it was.
        charged: the options of its charge.
        typed: the data set, and the arguments of the verb.

    """

    session: Session
    charged: Charged
    typed: Typed


@dataclass(eq=False)
class Delivery(Generic[T]):
    """The screen, and no files: what any result has."""

    def files(self, typed: Typed) -> list[Output]:
        """Return what is to be written; refuse what cannot be drawn or read.

        Args:
            typed: the data set, and the arguments of the verb.

        """
        return []

    def check(self, session: Session) -> None:
        """Refuse what this analyst may not see, before anything is paid for."""

    def deliver(self, result: T, released: Released) -> None:
        """Write the files, and show the result."""
        ask.show(result, as_json=released.charged.json)


@dataclass(eq=False)
class Table(Delivery[QueryResult]):
    """A table with intervals: a file, and a plot beside it."""

    out: TableOut = None
    plot: Plot = False

    def files(self, typed: Typed) -> list[Output]:
        """Return the table and its plot."""
        return self.several([""])

    def several(self, names: Sequence[str]) -> list[Output]:
        """Return a file for each name, and its plot beside it."""
        if self.plot and self.out is None:
            raise InvalidParameter("plot", True, "combined with --out: the plot is written beside the file, as HTML")
        found = []
        for path in [] if self.out is None else [beside(self.out, name) for name in names]:
            found.append(table_output("out", path, (*_TABLES, _PAGE)))
            if self.plot and path.suffix.lower() != _PAGE:
                found.append(table_output("plot", path.with_suffix(".html"), (".html",)))
        return found

    def deliver(self, result: QueryResult, released: Released) -> None:
        """Write the table and its plot, and show it."""
        self.write(result)
        super().deliver(result, released)

    def write(self, result: QueryResult, name: str = "") -> None:
        """Write one table and its plot."""
        if self.out is None:
            return
        path = beside(self.out, name)
        if path.suffix.lower() == _PAGE:
            self.draw(result, path)  # the table and the plot in one page
            return
        ask.save(result, path)
        if self.plot:
            self.draw(result, path.with_suffix(".html"))

    def draw(self, result: QueryResult, path: Path) -> None:
        """Write the plot."""
        ask.save(result, path)


class SyntheticEdges(Table):
    """The edges of a synthetic graph, whose plot is the graph."""

    def draw(self, result: QueryResult, path: Path) -> None:
        """Write a page with the graph."""
        from dither.publish.graphs.synthesis.pictures import synthetic_page

        ask.save_page(synthetic_page(result), path)


class Tables(Table):
    """Several tables, each in a file of its own: its name is put before the suffix."""

    def files(self, typed: Typed) -> list[Output]:
        """Return a file for each set of columns, which come in the order in which they were first named."""
        sets = typed.arguments["sets"]
        columns = list(dict.fromkeys(name for names in sets for name in names))
        return self.several(list(dict.fromkeys("-".join(sorted(names, key=columns.index)) for names in sets)))

    def deliver(self, result: Any, released: Released) -> None:
        """Write the tables and their plots, and show them."""
        tables: Mapping[str, QueryResult] = {"-".join(names): one for names, one in result.items()}
        for name, one in tables.items():
            self.write(one, name)
        if released.charged.json:
            print_json({name: json.loads(one.to_json()) for name, one in tables.items()})
            return
        for name, one in tables.items():
            console.print(name, style="bold", markup=False)
            ask.show(one, as_json=False)


def beside(path: Path, name: str) -> Path:
    """Return the path of one of several files."""
    # A path without a name is refused as a folder later on.
    return path if not name or not path.name else path.with_name(f"{path.stem}-{name}{path.suffix}")


@dataclass(eq=False)
class Map(Delivery[Any]):
    """A map of places: a map as GeoJSON, a page or a picture, or its table."""

    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write .geojson, .html or .svg, a map, or .csv, .parquet or .json, a table."),
    ] = None

    def files(self, typed: Typed) -> list[Output]:
        """Return the map; zones have none."""
        from dither.lift.places import declared, places_table

        if self.out is None:
            return []
        about = declared(places_table(typed.dataset, typed.arguments.get("table")))
        if self.out.suffix.lower() in _MAPS and not about.box:
            rule = "a table (.csv, .parquet, .json): zones have no place on a map"
            raise InvalidParameter("out", str(self.out), rule)
        return [table_output("out", self.out, (*_MAPS, *_TABLES))]

    def deliver(self, result: PlaceMap | RegionCounts, released: Released) -> None:
        """Write the map or the table, and show the table."""
        table = result.result
        if self.out is not None:
            if self.out.suffix.lower() in _MAPS:
                write_whole(self.out, lambda draft: self.draw(result, draft))
            else:
                ask.save(table, self.out)
            note(f"wrote {self.out}")
        ask.show(self.shown(table, released.charged), as_json=released.charged.json)

    def draw(self, result: Any, path: Path) -> None:
        """Write a map."""
        result.save(path)

    def shown(self, table: QueryResult, charged: Charged) -> QueryResult:
        """Return the table as a screen has it."""
        return table


class FlowMap(Map):
    """A map of counts whose screen begins with the largest."""

    def shown(self, table: QueryResult, charged: Charged) -> QueryResult:
        """Return the table for a screen, which has room for its first rows alone: the edge of a map says little."""
        if charged.json:
            return table
        counts = table.column("count")
        order = sorted(range(len(counts)), key=lambda place: -float(str(counts[place])))
        rows = [table.rows[place] for place in order]
        low, high = ([ends[place] for place in order] for ends in (table.low, table.high))
        notes = (*table.notes, "the largest counts are first")
        return replace(table, rows=rows, low=low, high=high, raw=(), notes=notes)


@dataclass(eq=False)
class ContourLines(FlowMap):
    """Contour lines of a heat map."""

    levels: Annotated[
        str | None, typer.Option(help="Contour lines at these counts in a cell, for example 10,50,200.")
    ] = None

    def __post_init__(self) -> None:
        #: At which counts lines are drawn.
        self.heights: tuple[float, ...] = ()

    def files(self, typed: Typed) -> list[Output]:
        """Return the map; lines have levels."""
        if self.levels is None:
            raise InvalidParameter("levels", None, "required for contour (counts in a cell, for example 10,50,200)")
        return self.with_heights(self.levels, typed)

    def with_heights(self, levels: str, typed: Typed) -> list[Output]:
        """Return the map, having read at which counts lines are drawn."""
        from dither.publish.places.contours import checked_levels

        try:
            self.heights = checked_levels([float(part) for part in levels.split(",")])
        except ValueError as problem:
            if isinstance(problem, InvalidParameter):
                raise
            raise InvalidParameter("levels", levels, "numbers separated by commas, such as 10,50,200") from None
        return super().files(typed)

    def draw(self, result: PlaceMap, path: Path) -> None:
        """Write the lines."""
        result.save(path, levels=self.heights)


@dataclass(eq=False)
class HeatMap(ContourLines):
    """A heat map: with contour lines, or with its cells added up by public areas."""

    regions: Annotated[
        Path | None, typer.Option(help="A public GeoJSON file of areas by which the cells are added up.")
    ] = None
    named: Annotated[str, typer.Option(help="The GeoJSON property that names an area.")] = "name"

    def __post_init__(self) -> None:
        super().__post_init__()
        #: By which the cells are added up.
        self.areas: RegionFile | None = None

    def files(self, typed: Typed) -> list[Output]:
        """Return the map; read the counts of lines, or the areas."""
        from dither.lift.places import declared, places_table
        from dither.publish.places.by_region import RegionFile

        if self.regions is not None:
            if self.levels is not None:
                raise InvalidParameter("levels", self.levels, "not allowed with regions")
            about = declared(places_table(typed.dataset, typed.arguments.get("table")))
            self.areas = RegionFile.read(self.regions, about, name=self.named)
        return Map.files(self, typed) if self.levels is None else self.with_heights(self.levels, typed)

    def deliver(self, result: PlaceMap | RegionCounts, released: Released) -> None:
        """Write and show the map, or the counts of areas."""
        from dither.publish.places.by_region import RegionCounts

        if self.areas is None or isinstance(result, RegionCounts):
            super().deliver(result, released)
        else:
            Map(self.out).deliver(RegionCounts(self.areas.counts(result), self.areas, result.places), released)

    def draw(self, result: PlaceMap, path: Path) -> None:
        """Write the map with its lines; as GeoJSON the cells alone."""
        result.save(path, levels=() if path.suffix.lower() == ".geojson" else self.heights)


@dataclass(eq=False)
class Rows(Delivery[T]):
    """Rows that are drawn from what was released: a file of them, what was released, and a report."""

    out: Annotated[Path, typer.Option("--out", "-o", help="Where rows go: .parquet, .csv or .json.")] = Path(
        "synthetic.parquet"
    )
    rows: Annotated[
        int | None, typer.Option(help="How many rows, or parents; by default the size of the table, with noise.", min=0)
    ] = None
    model: Model = None
    report: Report = None

    def files(self, typed: Typed) -> list[Output]:
        """Return the rows, what was released, and the report."""
        return self.several([""])

    def several(self, names: Sequence[str]) -> list[Output]:
        """Return the files; one of rows and one of a report for each name."""
        found = [rows_output("out", beside(self.out, name)) for name in names]
        if self.model is not None:
            found.append(Output("model", self.model))
        if self.report is not None:
            found += [Output("report", beside(self.report, name), (".html", ".json")) for name in names]
        return found


@dataclass(eq=False)
class SyntheticRows(Rows["SyntheticTable"]):
    """Rows of a synthetic table."""

    compare: Annotated[
        bool,
        typer.Option(
            "--compare-with-real", help="In the report, compare with the real rows: NOT private, never publish."
        ),
    ] = False

    def files(self, typed: Typed) -> list[Output]:
        """Return the files; of two tables, those of each."""
        if self.compare and self.report is None:
            raise InvalidParameter("compare_with_real", True, "combined with --report, which holds the figures")
        return super().files(typed)

    def check(self, session: Session) -> None:
        """Refuse a comparison that is not the curator's."""
        if self.compare:
            check_owner(session._account.analyst, "a comparison with real rows")

    def deliver(self, result: SyntheticTable, released: Released) -> None:
        """Draw rows, write the files and say what they are."""
        from dither.publish.synthetic.quality import quality_of
        from dither.publish.synthetic.report import write_report

        quality = None
        if self.compare:
            where = released.typed.arguments.get("where")
            quality = released.session.compare_synthetic(result, where=where)
        elif self.report is not None:
            quality = quality_of(result)
        drawn = result.sample(self.rows)
        written = {"rows": str(write_whole(self.out, drawn.write))}
        if self.model is not None:
            written["model"] = str(write_whole(self.model, result.save))
        if self.report is not None and quality is not None:
            shown = quality
            written["report"] = str(write_whole(self.report, lambda path: write_report(path, result, shown)))
        columns = [name for name, _ in result.columns]
        if released.charged.json:
            record = {"table": result.table, "rows": len(drawn), "columns": columns, "written": written}
            measured = {} if quality is None else {"quality": quality.to_dict()}
            print_json({**record, **self.told(result, released), **measured})
            return
        say(f"wrote {len(drawn):,} synthetic rows of {result.table} to {self.out}: {', '.join(columns)}")
        say(f"released: a private model of these columns, by {result.method}; its rows are synthetic and can be shared")
        self.say_files(written, ("rows",))
        self.say_cost(result, released)

    def told(self, result: SyntheticTable | SyntheticFamilies, released: Released) -> dict[str, Any]:
        """Return how the rows were made and what that cost."""
        made = {"method": result.method, "loss": str(result.loss), "unit": result.unit, "receipt": result.receipt}
        return {**made, "key": released.charged.name}

    def say_files(self, written: Mapping[str, str], rows: Collection[str]) -> None:
        """Say which files were written beside those of rows, and what must not be published."""
        for name, path in written.items():
            if name not in rows:
                say(f"wrote the {name} to {path}")
        if self.compare:
            say(f"{self.report} compares with the real rows: it is NOT PRIVATE, do not publish it", style="bold red")

    def say_cost(self, result: SyntheticTable | SyntheticFamilies, released: Released) -> None:
        """Say what it cost, and that more rows cost nothing."""
        # A service knows a request without a key by what it asks.
        name = released.charged.name
        again = f"--rows N --key {name}" if name else "the same command with --rows N"
        say(f"cost {result.loss}, for {result.unit}; draw more rows for free with {again}")


class SyntheticFamilyRows(SyntheticRows):
    """Rows of synthetic parents and of their children, each in a file of its own."""

    def files(self, typed: Typed) -> list[Output]:
        """Return the files of both tables."""
        super().files(typed)
        return self.several(list(dict.fromkeys((typed.arguments["parent"], typed.arguments["child"]))))

    def deliver(self, result: Any, released: Released) -> None:
        """Draw both tables, write the files and say what they are."""
        from dither.publish.synthetic.quality import quality_of
        from dither.publish.synthetic.report import write_report

        views, qualities = result.views(), []
        if self.report is not None:
            compared = released.session.compare_synthetic(result) if self.compare else map(quality_of, views)
            qualities = list(compared)
        drawn = result.sample(self.rows)
        written = {name: str(write_whole(beside(self.out, name), rows.write)) for name, rows in drawn.items()}
        if self.model is not None:
            written["model"] = str(write_whole(self.model, result.save))
        for view, quality in zip(views, qualities, strict=False):
            report = functools.partial(write_report, table=view, quality=quality)
            written[f"report on {view.table}"] = str(write_whole(beside(self.report or Path(), view.table), report))
        if released.charged.json:
            rows = {name: len(found) for name, found in drawn.items()}
            print_json({**self.told(result, released), "rows": rows, "written": written})
            return
        for name, found in drawn.items():
            say(f"wrote {len(found):,} synthetic rows of {name} to {written[name]}")
        say(
            f"released: private models of parents and of their children, by {result.method}; their rows are "
            "synthetic and can be shared"
        )
        self.say_files(written, drawn)
        self.say_cost(result, released)


@dataclass(eq=False)
class AnonymizedRows(Rows["AnonymizedTable"]):
    """Rows of an anonymized table."""

    out: Annotated[
        Path, typer.Option("--out", "-o", show_default=False, help="Where rows go: .parquet, .csv or .json.")
    ] = Path()
    rows: Annotated[
        int | None, typer.Option(help="How many rows; required for perturbed-rows, from public knowledge.", min=0)
    ] = None

    def deliver(self, result: AnonymizedTable, released: Released) -> None:
        """Draw rows, write the files and say what they are."""
        from dither.publish.microdata.report import write_anonymized_report

        # The rows themselves are released where their number is an argument.
        drawn = result.rows(None if "rows" in released.typed.arguments else self.rows)
        written = {"rows": str(write_whole(self.out, drawn.write))}
        if self.model is not None:
            written["model"] = str(write_whole(self.model, result.save))
        if self.report is not None:
            report = write_whole(self.report, lambda path: write_anonymized_report(path, result))
            written["report"] = str(report)
        key = released.charged.name
        if released.charged.json:
            made = {"table": result.table, "method": result.method, "rows": len(drawn), "columns": list(drawn.columns)}
            cost = {"loss": str(result.loss), "unit": result.unit, "receipt": result.receipt, "key": key}
            print_json({**made, **cost, "notes": list(result.notes), "written": written})
            return
        say(f"wrote {len(drawn):,} anonymized rows of {result.table} to {self.out}, by {result.method}")
        for one in result.notes:
            say(one)
        for name, path in written.items():
            if name != "rows":
                say(f"wrote the {name} to {path}")
        say(f"cost {result.loss}, for {result.unit}; the same again costs nothing: --key {key}")


@dataclass(eq=False)
class FittedModel(Delivery[Any]):
    """A model, as JSON."""

    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes, as JSON.")] = Path("model.json")

    def files(self, typed: Typed) -> list[Output]:
        """Return the model."""
        return [Output("out", self.out, (".json",))]

    def deliver(self, result: Any, released: Released) -> None:
        """Write the model, and say what it is."""
        write_whole(self.out, result.save)
        privacy, scored, key = result.privacy_, result.held_out_score_, released.charged.name
        if released.charged.json:
            made = {"model": type(result).__name__, "target": released.typed.arguments.get("target")}
            cost = {"loss": str(privacy.loss), "unit": privacy.unit, "receipt": privacy.receipt, "key": key}
            score = None if scored is None else vars(scored)
            print_json({**made, **cost, "release": result.released_as_, "written": str(self.out), "score": score})
            return
        say(result.released_as_)
        say(f"written to {self.out}")
        if scored is not None:
            say(str(scored))
        say(f"cost {privacy.loss}, for {privacy.unit}; the same again costs nothing: --key {key}")


#: By what a verb gives.
_OF_RESULTS: Final[Mapping[str, type[Delivery[Any]]]] = {
    "QueryResult": Table,
    "dict[tuple[str, ...], QueryResult]": Tables,
    "FoundBounds": Delivery,
    "PlaceMap": Map,
    "RegionCounts": Map,
    "SyntheticTable": SyntheticRows,
    "SyntheticFamilies": SyntheticFamilyRows,
    "AnonymizedTable": AnonymizedRows,
    "Any": FittedModel,
}
#: By verb, where results of one type are of several kinds.
_OF_VERBS: Final[Mapping[str, type[Delivery[Any]]]] = {
    "graph.synthesize": SyntheticEdges,
    "places.heatmap": HeatMap,
    "places.flows": FlowMap,
}


def delivery_of(verb: Verb[..., Any]) -> type[Delivery[Any]]:
    """Return what becomes of what a verb gives."""
    return _OF_VERBS.get(verb.name, _OF_RESULTS[verb.gives])
