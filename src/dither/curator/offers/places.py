"""Places: heat maps, flows between zones, and synthetic journeys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter, MissingExtra
from dither.exact import Number, probability
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER, check_length
from dither.privacy import Loss, stated_loss
from dither.publish.queries import QueryResult

#: Bytes of a stored result beside its rows, and of a row of a flow.
_HEAD, _FLOW = 2**20, 2**8


def place_counts(
    dataset: DataSet,
    what: str,
    table: str | None = None,
    *,
    grid: Any = None,
    cell: Number | None = None,
    regions: Mapping[Any, Any] | None = None,
    named: str = "name",
    within: str | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    method: str = "auto",
    questions: str | None = None,
    key: str | None = None,
    confidence: Number = "0.95",
) -> Offer[QueryResult]:
    """Offer a heat map of positions, their counts by public regions, or the trips between zones or regions.

    Args:
        dataset: the schema.
        what: "heatmap", "regions" or "flows".
        table: which declares places; may be left out where there is one.
        grid: the cells along each side of the declared box, or two numbers; public. Where regions are given, the cells
            by which positions are given to them.
        cell: in place of a grid, how wide and high a cell is in metres at most; for boxes up to 200 km.
        regions: GeoJSON as an object, a collection of polygons: what positions, or ends of trips, are counted by. Where
            zones are declared, the region of every zone; then flows between regions are measured as well, and agree.
        named: the property that names a polygon.
        within: of flows between polygons, the property that names the larger region in which one lies; then flows
            between larger regions are measured as well, and agree.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: one of ``dither.publish.methods`` for two columns, or "auto".
        questions: of a heat map, what "auto" chooses for: "cells", as by default, or "rectangles" of them.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        confidence: at which all intervals hold at once.

    """
    from dither.lift.places import declared, places_table
    from dither.publish.count_tables import longest_row
    from dither.publish.places import planning, region_planning

    level = probability("confidence", confidence, open_below=True)
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    found = places_table(dataset, table)
    places = declared(found)
    if cell is not None:
        if grid is not None:
            raise InvalidParameter("cell", cell, "left out where a grid is given")
        grid = planning.grid_of_side(places, cell)
    # A path would be one of the machine that answers.
    if regions is not None and not isinstance(regions, Mapping):
        raise InvalidParameter("regions", type(regions).__name__, "an object: GeoJSON, or the region of every zone")
    areas = None
    if regions is not None and not places.zones and what != planning.HEATMAP:
        are_trips = what == planning.FLOWS
        areas = region_planning.Areas.read(regions, places, grid=grid, named=named, within=within, are_trips=are_trips)
    if within is not None and (areas is None or what != planning.FLOWS):
        raise InvalidParameter("within", within, "left out but for flows between polygons")
    if questions is not None and what != planning.HEATMAP:
        raise InvalidParameter("questions", questions, f"left out for {what}")
    if what == planning.HEATMAP:
        if regions is not None:
            raise InvalidParameter("regions", "given", f"left out for a heat map; ask for '{region_planning.REGIONS}'")
        planned = planning.plan_heat(dataset, found, stated, grid=grid, method=method, questions=questions)
    elif what == region_planning.REGIONS:
        if areas is None:
            raise InvalidParameter("regions", None, "given, for a table of positions: polygons as GeoJSON")
        planned = region_planning.plan_regions(dataset, found, stated, areas=areas, method=method)
    elif what == planning.FLOWS:
        groups = regions if areas is None else areas.groups
        drawn = None if areas is None else areas.drawn
        planned = planning.plan_flows(dataset, found, stated, grid=grid, method=method, regions=groups, areas=drawn)
    else:
        raise InvalidParameter("what", what, f"one of {planning.HEATMAP}, {region_planning.REGIONS}, {planning.FLOWS}")
    length = max(longest_row(planned.cells.axes), _FLOW if what == planning.FLOWS else 0)
    check_length("grid" if areas is None else "regions", math.prod(planned.cells.shape), length, _HEAD)
    asked: dict[str, Any] = {"what": what, "method": method, "confidence": str(level), "regions": None}
    if areas is None:
        asked["cells"] = wire.encode(planned.cells)
        asked["regions"] = None if regions is None else {str(zone): str(name) for zone, name in regions.items()}
    else:
        asked |= {"table": found.name, "areas": areas.record}
    if questions is not None:
        asked["questions"] = questions

    def present(out: Any) -> bytes:
        return planned.present(out, level).stored_within(LARGEST_ANSWER)[1].encode()

    words = {planning.HEATMAP: "a heat map", planning.FLOWS: "flows"}.get(what, "counts by region")
    return Offer(
        "places", f"{words} of {found.name}", planned.mechanism, asked, stated, present, QueryResult.stored, key
    )


def place_journeys(
    dataset: DataSet,
    table: str | None = None,
    *,
    grid: Any = None,
    length: int | None = None,
    most: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    method: str = "auto",
    times: int | None = None,
    key: str | None = None,
) -> Offer[QueryResult]:
    """Offer synthetic journeys: a table of points, like those of a declared table.

    Args:
        dataset: the schema, whose unit is a person.
        table: whose places declare trip and time; may be left out where there is one.
        grid: the cells along each side of the declared box, or two numbers, at most 48; public. By default 20.
        length: how many cells of a journey count; public. By default three times the longer side of the grid.
        most: how many journeys are drawn at most.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: "walks", "prefix-tree", "markov", "hierarchy", or "auto", which is the first.
        times: the number of equal parts of the day, or of the bounds of the column of times, in which journeys begin;
            24 for hours. A tenth of the loss is for these. By default points have an order and no times.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.

    """
    from fractions import Fraction

    from dither.lift.places import places_table
    from dither.publish.places import journey_planning

    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    found = places_table(dataset, table)
    planned = journey_planning.plan_journeys(
        dataset, found, stated, grid=grid, length=length, most=most, method=method, times=times
    )
    asked: dict[str, Any] = {"source": wire.encode(planned.mechanism.source), "method": method}
    asked |= {"length": planned.length, "most": most}

    def present(out: Any) -> bytes:
        return planned.present(out, Fraction(19, 20)).stored_within(LARGEST_ANSWER)[1].encode()

    words = f"synthetic journeys like {found.name}"
    return Offer("places", words, planned.mechanism, asked, stated, present, QueryResult.stored, key)


def place_stops(
    dataset: DataSet,
    count: int,
    table: str | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    algorithm: str = "auto",
    key: str | None = None,
) -> Offer[QueryResult]:
    """Offer where people stop: the centres of clusters of positions, and about how many rows each has.

    Args:
        dataset: the schema.
        count: how many clusters there are.
        table: which declares positions; may be left out where there is one.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        algorithm: of ``dither.learn.KMeans``.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.

    """
    from dither.learn.lifting import plan_fit
    from dither.lift.places import counted_rows, declared, places_table
    from dither.mechanisms.core.spec import digest
    from dither.publish.places.stops import present_stops, square_bounds

    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    found = places_table(dataset, table)
    places = declared(found)
    if not places.at:
        raise InvalidParameter("table", found.name, "a table that declares positions: this one has zones")
    try:
        from dither.learn import KMeans
    except ImportError:
        raise MissingExtra("clusters", "ml") from None
    estimator = KMeans(count, loss=stated, bounds=square_bounds(places), algorithm=algorithm)
    planned = plan_fit(dataset, counted_rows(dataset, found), estimator, features=places.at)
    asked = {
        "what": "stops",
        "source": wire.encode(planned.mechanism.source),
        "mechanism": digest(planned.mechanism.method),
    }

    def present(out: Any) -> bytes:
        shown = present_stops(places, out.places, out.weights.values, planned.mechanism)
        return shown.stored_within(LARGEST_ANSWER)[1].encode()

    words = f"stops of {found.name}"
    return Offer("places", words, planned.mechanism, asked, planned.stated, present, QueryResult.stored, key)
