"""``dither places``: heat maps, contour lines, counts by region, flows, and synthetic journeys."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.console import note, say
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
)
from dither.cli.outputs import Output, delivering, table_output, write_whole
from dither.cli.progress import progress
from dither.data.place_tables import Places
from dither.data.places.regions import geojson_tree
from dither.errors import InvalidParameter
from dither.lift.places import declared, places_table
from dither.publish.places.by_region import RegionCounts, RegionFile
from dither.publish.places.contours import checked_levels
from dither.publish.places.planning import FLOWS, HEATMAP
from dither.publish.places.region_planning import REGIONS, Areas
from dither.publish.places.shown import ENDINGS, JOURNEYS, STOPS, PlaceMap
from dither.publish.queries import QueryResult

_TABLES = (".csv", ".parquet", ".json")
_CONTOUR = "contour"
_SYNTHESIZE = "synthesize"
#: For which wishes an option has a meaning; for all counts where nothing is said.
_MEANT = {
    **dict.fromkeys(("length", "most", "times"), (JOURNEYS,)),
    "count": (STOPS,),
    "questions": (HEATMAP,),
    "grid": (HEATMAP, REGIONS, FLOWS, JOURNEYS),
}
_WISHES = (HEATMAP, _CONTOUR, REGIONS, FLOWS, STOPS, _SYNTHESIZE)


def places(
    dataset: DataSetName,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="heatmap, contour, regions, flows, stops or synthesize.")],
    table: Annotated[
        str | None, typer.Option(help="The table that declares places; may be left out where there is one.")
    ] = None,
    grid: Annotated[
        str | None, typer.Option(help="How many cells there are along each side of the box, or two: 64 or 64x48.")
    ] = None,
    cell: Annotated[
        str | None, typer.Option(help="In place of a grid: how wide and high a cell is at most, in metres.")
    ] = None,
    levels: Annotated[
        str | None, typer.Option(help="Of a heat map: contour lines at these counts in a cell, such as 10,50,200.")
    ] = None,
    regions: Annotated[
        Path | None,
        typer.Option(
            help="A public GeoJSON file of areas, each with a name: 'regions' and 'flows' count by them, and the cells "
            "of a heat map are added up. Of flows between zones, a CSV file with a zone and its region in each line."
        ),
    ] = None,
    named: Annotated[str, typer.Option(help="The property of the GeoJSON file that names an area.")] = "name",
    within: Annotated[
        str | None,
        typer.Option(help="Of flows: the property that names the larger area; flows between these agree then."),
    ] = None,
    length: Annotated[
        int | None, typer.Option(help="Of synthetic journeys: how many cells of a journey count.")
    ] = None,
    most: Annotated[int | None, typer.Option(help="Of synthetic journeys: how many are drawn at most.")] = None,
    times: Annotated[
        int | None,
        typer.Option(
            help="Of synthetic journeys: the number of equal parts of the day that say when they begin, such as 24."
        ),
    ] = None,
    count: Annotated[int | None, typer.Option(help="Of stops: how many are looked for. By default 8.")] = None,
    method: Annotated[
        str,
        typer.Option(
            help="auto; of counts a method for tables of two columns, see dither catalog; of synthetic journeys walks, "
            "markov, hierarchy or prefix-tree; of stops an algorithm for clusters, such as refined or lloyd."
        ),
    ] = "auto",
    questions: Annotated[
        str | None,
        typer.Option(help="Of a heat map: what 'auto' chooses for, cells or rectangles. [default: cells]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write .geojson, .html or .svg, a map, or .csv, .parquet or .json, a table."),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    analyst: Analyst = "curator",
    key: Key = None,
    force: Force = False,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Release a heat map, contour lines, counts by region, flows, stops or journeys of declared places."""
    if what not in _WISHES:
        raise InvalidParameter("what", what, f"one of {', '.join(_WISHES)}")
    wanted = _levels(what, levels)
    charged = Charged(epsilon, delta, rho, None, analyst, key, home, as_json, is_quoted, force)
    with ask.charged_session(charged, dataset, _files(out)) as session:
        found = places_table(session.dataset, table)
        if out is not None and out.suffix.lower() in ENDINGS and not declared(found).box:
            raise InvalidParameter("out", str(out), "a table (.csv, .parquet, .json): zones have no place on a map")
        asked: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "rho": rho,
            "key": charged.key,
            "table": found.name,
        }
        given_grid = _grid(grid)
        if regions is not None and wanted:
            raise InvalidParameter("levels", levels, "left out where regions are given")
        area_file = _AreaFile(what, regions, named, within)
        areas, counted_by = area_file.read(declared(found), given_grid)
        kind = {FLOWS: FLOWS, _SYNTHESIZE: JOURNEYS, REGIONS: REGIONS, STOPS: STOPS}.get(what, HEATMAP)
        wish: dict[str, Any] = {"length": length, "most": most, "times": times}
        given: dict[str, Any] = {**wish, "count": count, "cell": cell, "grid": grid, "questions": questions}
        for name, value in given.items():
            if value is not None and kind not in _MEANT.get(name, (HEATMAP, REGIONS, FLOWS)):
                raise InvalidParameter(name, value, f"left out for {what}")
        if kind == JOURNEYS:
            offer = session.offer.place_journeys(method=method, grid=given_grid, **wish, **asked)
        elif kind == STOPS:
            offer = session.offer.place_stops(8 if count is None else count, algorithm=method, **asked)
        else:
            asked |= {"cell": cell, "method": method, "questions": questions, "grid": given_grid}
            offer = session.offer.place_counts(kind, **asked, **counted_by)
        if is_quoted:
            ask.say_price(session.quote(offer), as_json=as_json)
            bound = None if as_json or kind not in (HEATMAP, REGIONS) else offer.mechanism.error("0.95")
            if bound is not None:
                say(f"{bound}, before negative counts are evened out")
            return
        with progress("drawing" if kind == JOURNEYS else "counting"):
            released = session.release(offer)
        with delivering(charged.name):
            shown = PlaceMap(released, kind, declared(found), area_file.middles)
            if areas is not None:
                _deliver_regions(areas, shown, out, as_json=as_json)
                return
            if out is not None:
                _save(shown, out, wanted, only_lines=what == _CONTOUR)
                note(f"wrote {out}")
            is_sorted = kind not in (JOURNEYS, STOPS) and not as_json
            ask.show(_fullest_first(shown.result) if is_sorted else shown.result, as_json=as_json)


def _fullest_first(result: QueryResult) -> QueryResult:
    """Return the table for a screen, which has room for its first rows alone: those at the edge of a map say little."""
    counts = result.column("count")
    order = sorted(range(len(counts)), key=lambda place: -float(str(counts[place])))
    rows = [result.rows[place] for place in order]
    low, high = ([ends[place] for place in order] for ends in (result.low, result.high))
    return replace(result, rows=rows, low=low, high=high, raw=(), notes=(*result.notes, "the largest counts are first"))


def _files(out: Path | None) -> list[Output]:
    return [] if out is None else [table_output("out", out, (*ENDINGS, *_TABLES))]


def _levels(what: str, given: str | None) -> tuple[float, ...]:
    if given is None:
        if what == _CONTOUR:
            raise InvalidParameter("levels", None, "given for contour lines: counts in a cell, such as 10,50,200")
        return ()
    if what in (REGIONS, FLOWS, STOPS, _SYNTHESIZE):
        raise InvalidParameter("levels", given, f"left out for {what}")
    try:
        numbers = [float(part) for part in given.split(",")]
    except ValueError:
        raise InvalidParameter("levels", given, "numbers separated by commas, such as 10,50,200") from None
    return checked_levels(numbers)


class _AreaFile:
    """The public file of areas, read before anything is charged."""

    def __init__(self, what: str, given: Path | None, named: str, within: str | None) -> None:
        self._what, self._given, self._named, self._within = what, given, named, within
        #: Where each area lies, of flows between them.
        self.middles: dict[str, tuple[float, float]] | None = None

    def read(self, places: Places, grid: Any) -> tuple[RegionFile | None, dict[str, Any]]:
        """Return the areas by which a result is shown, and the words that say what is counted by."""
        what, given = self._what, self._given
        if given is None:
            if what == REGIONS:
                raise InvalidParameter("regions", None, "given: a GeoJSON file of areas")
            if self._within is not None:
                raise InvalidParameter("within", self._within, "left out where no areas are given")
            return None, {}
        if what not in (HEATMAP, REGIONS, FLOWS):
            raise InvalidParameter("regions", str(given), f"left out for {what}")
        if self._within is not None and (what != FLOWS or places.zones):
            raise InvalidParameter("within", self._within, "left out but for flows between areas")
        if what == FLOWS and places.zones:
            return None, {"regions": _regions_of_zones(given)}
        if what == FLOWS:
            tree = geojson_tree(given)
            words: dict[str, Any] = {"named": self._named, "within": self._within}
            self.middles = Areas.read(tree, places, grid=grid, are_trips=True, **words).middles(places)
            return None, {"regions": tree, **words}
        file = RegionFile.read(given, places, name=self._named)
        return file, {"regions": file.tree, "named": self._named} if what == REGIONS else {}


def _regions_of_zones(path: Path) -> dict[str, str]:
    """Return the region of each zone: a CSV file without a header, a zone and its region in each line."""
    rule = "a CSV file in UTF-8 with a zone and its region in each line, each zone once"
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.reader(stream, strict=True) if row]
    except (OSError, ValueError, csv.Error):
        raise InvalidParameter("regions", str(path), rule) from None
    if not rows or any(len(row) != 2 for row in rows) or len({zone for zone, _ in rows}) != len(rows):
        raise InvalidParameter("regions", str(path), rule)
    return dict(rows)


def _deliver_regions(areas: RegionFile, shown: PlaceMap, out: Path | None, *, as_json: bool) -> None:
    counted = areas.counts(shown) if shown.kind == HEATMAP else shown.result
    if out is not None and out.suffix.lower() in ENDINGS:
        drawn = RegionCounts(counted, areas, shown.places)
        write_whole(out, lambda draft: drawn.save(draft) and None)
    elif out is not None:
        ask.save(counted, out)
    if out is not None:
        note(f"wrote {out}")
    ask.show(counted, as_json=as_json)


def _grid(given: str | None) -> Any:
    if given is None:
        return None
    parts = given.lower().split("x")
    if not all(part.strip().isdigit() for part in parts) or len(parts) > 2:
        raise InvalidParameter("grid", given, "a number of cells along each side, such as 64, or two, such as 64x48")
    sides = tuple(int(part) for part in parts)
    return sides[0] if len(sides) == 1 else sides


def _save(shown: PlaceMap, out: Path, levels: tuple[float, ...], *, only_lines: bool) -> None:
    if out.suffix.lower() in _TABLES:
        ask.save(shown.result, out)
    elif only_lines or out.suffix.lower() != ".geojson":
        write_whole(out, lambda draft: shown.save(draft, levels=levels) and None)
    else:
        write_whole(out, lambda draft: shown.save(draft) and None)
