"""Places: heat maps, flows between zones, and synthetic journeys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
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
    regions: Mapping[Any, str] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    method: str = "auto",
    key: str | None = None,
    confidence: Number = "0.95",
) -> Offer[QueryResult]:
    """Offer a heat map of positions, or the trips between zones.

    Args:
        dataset: the schema.
        what: "heatmap" or "flows".
        table: which declares places; may be left out where there is one.
        grid: the cells along each side of the declared box, or two numbers; public.
        cell: in place of a grid, how wide and high a cell is in metres at most; for boxes up to 200 km.
        regions: of flows, the region of every zone; then flows between regions are measured as well, and agree.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: one of ``dither.publish.methods`` for two columns, or "auto".
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        confidence: at which all intervals hold at once.

    """
    from dither.lift.places import declared, places_table
    from dither.publish.count_tables import longest_row
    from dither.publish.places import planning

    level = probability("confidence", confidence, open_below=True)
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    found = places_table(dataset, table)
    if cell is not None:
        if grid is not None:
            raise InvalidParameter("cell", cell, "left out where a grid is given")
        grid = planning.grid_of_side(declared(found), cell)
    if what == planning.HEATMAP:
        if regions is not None:
            raise InvalidParameter("regions", "given", "left out for a heat map")
        planned = planning.plan_heat(dataset, found, stated, grid=grid, method=method)
        check_length("grid", math.prod(planned.cells.shape), longest_row(planned.cells.axes), _HEAD)
    elif what == planning.FLOWS:
        planned = planning.plan_flows(dataset, found, stated, grid=grid, method=method, regions=regions)
        check_length("grid", math.prod(planned.cells.shape), _FLOW, _HEAD)
    else:
        raise InvalidParameter("what", what, f"one of {planning.HEATMAP}, {planning.FLOWS}")
    asked: dict[str, Any] = {
        "what": what,
        "cells": wire.encode(planned.cells),
        "method": method,
        "confidence": str(level),
        "regions": None if regions is None else {str(zone): str(name) for zone, name in regions.items()},
    }

    def present(out: Any) -> bytes:
        return planned.present(out, level).stored_within(LARGEST_ANSWER)[1].encode()

    words = f"{'a heat map' if what == planning.HEATMAP else 'flows'} of {found.name}"
    return Offer("places", words, planned.mechanism, asked, stated, present, QueryResult.stored, key)


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
        times: in which of so many equal parts of the day, or of the bounds of the column of times, journeys begin; 24
            for hours. A tenth of the loss is for these. By default points have an order and no times.
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
