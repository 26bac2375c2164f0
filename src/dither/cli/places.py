"""``dither places``: heat maps, contour lines, flows between zones, and synthetic journeys."""

from __future__ import annotations

import json
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
from dither.errors import InvalidParameter
from dither.lift.places import declared, places_table
from dither.publish.places.by_region import RegionFile
from dither.publish.places.contours import checked_levels
from dither.publish.places.planning import FLOWS, HEATMAP
from dither.publish.places.shown import ENDINGS, JOURNEYS, PlaceMap
from dither.publish.queries import QueryResult

_TABLES = (".csv", ".parquet", ".json")
_CONTOUR = "contour"
_SYNTHESIZE = "synthesize"
_WISHES = (HEATMAP, _CONTOUR, FLOWS, _SYNTHESIZE)


def places(
    dataset: DataSetName,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="heatmap, contour, flows or synthesize.")],
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
        typer.Option(help="Of a heat map: add its cells up by the areas of this GeoJSON file, each with a name."),
    ] = None,
    length: Annotated[
        int | None, typer.Option(help="Of synthetic journeys: how many cells of a journey count.")
    ] = None,
    most: Annotated[int | None, typer.Option(help="Of synthetic journeys: how many are drawn at most.")] = None,
    times: Annotated[
        int | None,
        typer.Option(help="Of synthetic journeys: when they begin, by so many equal parts of the day, such as 24."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="auto; of counts a method for tables of two columns, see dither catalog; of synthetic journeys walks, "
            "markov, hierarchy or prefix-tree."
        ),
    ] = "auto",
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
    """Release a heat map, contour lines, flows or synthetic journeys of declared places, as a map or a table."""
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
        asked |= {"method": method, "grid": _grid(grid)}
        if regions is not None and wanted:
            raise InvalidParameter("levels", levels, "left out where regions are given")
        areas = _areas(what, regions, declared(found), out)
        kind = {FLOWS: FLOWS, _SYNTHESIZE: JOURNEYS}.get(what, HEATMAP)
        _left_out(what, kind == JOURNEYS, {"length": length, "most": most, "times": times}, {"cell": cell})
        if kind == JOURNEYS:
            offer = session.offer.place_journeys(length=length, most=most, times=times, **asked)
        else:
            offer = session.offer.place_counts(kind, cell=cell, **asked)
        if is_quoted:
            ask.say_price(session.quote(offer), as_json=as_json)
            bound = None if as_json or kind != HEATMAP else offer.mechanism.error("0.95")
            if bound is not None:
                say(f"{bound}, before negative counts are evened out")
            return
        with progress("drawing" if kind == JOURNEYS else "counting"):
            shown = PlaceMap(session.release(offer), kind, declared(found))
        with delivering(charged.name):
            if areas is not None:
                _deliver_regions(areas, shown, out, as_json=as_json)
                return
            if out is not None:
                _save(shown, out, wanted, only_lines=what == _CONTOUR)
                note(f"wrote {out}")
            is_sorted = kind != JOURNEYS and not as_json
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
    if what in (FLOWS, _SYNTHESIZE):
        raise InvalidParameter("levels", given, f"left out for {what}")
    try:
        numbers = [float(part) for part in given.split(",")]
    except ValueError:
        raise InvalidParameter("levels", given, "numbers separated by commas, such as 10,50,200") from None
    return checked_levels(numbers)


def _areas(what: str, given: Path | None, places: Places, out: Path | None) -> RegionFile | None:
    """Return the regions by which a heat map is added up, read before anything is charged."""
    if given is None:
        return None
    if what != HEATMAP:
        raise InvalidParameter("regions", str(given), f"left out for {what}")
    if out is not None and out.suffix.lower() not in (".geojson", *_TABLES):
        raise InvalidParameter("out", str(out), "with regions: .geojson, or a table (.csv, .parquet, .json)")
    return RegionFile.read(given, places)


def _deliver_regions(areas: RegionFile, shown: PlaceMap, out: Path | None, *, as_json: bool) -> None:
    counted = areas.counts(shown)
    if out is not None and out.suffix.lower() == ".geojson":
        text = json.dumps(areas.geojson(counted), allow_nan=False)
        write_whole(out, lambda draft: draft.write_text(text, encoding="utf-8") and None)
    elif out is not None:
        ask.save(counted, out)
    if out is not None:
        note(f"wrote {out}")
    ask.show(counted, as_json=as_json)


def _left_out(what: str, is_drawn: bool, of_journeys: dict[str, Any], of_counts: dict[str, Any]) -> None:
    """Refuse what has no meaning for a wish."""
    for name, value in (of_counts if is_drawn else of_journeys).items():
        if value is not None:
            raise InvalidParameter(name, value, f"left out for {what}")


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
