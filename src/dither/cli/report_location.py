"""``dither report-location LAT LON``: one device tells roughly where it is, and a file says what all reports cost."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.console import note, print_json, say
from dither.cli.options import Json
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.data.places import Box


def report(
    latitude: Annotated[str | None, typer.Argument(metavar="[LAT]", help="Where the device is, in degrees.")] = None,
    longitude: Annotated[str | None, typer.Argument(metavar="[LON]", help="Where the device is, in degrees.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon-per-metre", help="The loss for each metre; 0.01 is about 200 metres of noise."),
    ] = None,
    box: Annotated[
        str | None,
        typer.Option(help="SOUTH,WEST,NORTH,EAST: the public area of the device, with the first report; up to 200 km."),
    ] = None,
    limit: Annotated[
        str | None, typer.Option(help="The most epsilon per metre that all reports may cost together.")
    ] = None,
    book: Annotated[Path, typer.Option("--budget", help="The file that counts what this device has spent.")] = Path(
        "dither-location.json"
    ),
    again: Annotated[bool, typer.Option("--again", help="Show the last report again, at no cost.")] = False,
    as_json: Json = False,
) -> None:
    """Report the approximate position of this device, with noise, and add up the cost of all its reports."""
    from dither.curator.device import read_book, report_location

    if again:
        known = read_book(book)
        if known.last is None:
            raise InvalidParameter("--again", str(book), "not allowed before the first report")
        north, east, price, reach = *known.last, None, None
    else:
        if latitude is None or longitude is None or epsilon is None:
            rule = "required: a report needs LAT, LON and --epsilon-per-metre, such as 48.8584 2.2945 and 0.005"
            given = {"LAT": latitude, "LON": longitude, "--epsilon-per-metre": epsilon}
            raise InvalidParameter(next(name for name, value in given.items() if value is None), None, rule)
        made = report_location(
            latitude, longitude, epsilon=epsilon, book=book, box=None if box is None else _box(box), limit=limit
        )
        north, east, price, reach, known = made.latitude, made.longitude, made.epsilon, made.reach, made.book
        area = known.box
        if not (area.south <= Fraction(latitude) <= area.north and area.west <= Fraction(longitude) <= area.east):
            swapped = area.south <= Fraction(longitude) <= area.north and area.west <= Fraction(latitude) <= area.east
            hint = " Are latitude and longitude swapped, here or in the box?" if swapped else ""
            note(f"The place is outside of the box, and was taken for the nearest place inside.{hint}")
    if as_json:
        print_json(
            {
                "latitude": north,
                "longitude": east,
                "epsilon_per_metre": None if price is None else str(price),
                "within_95": reach,
                "reports": known.reports,
                "spent_per_metre": str(known.spent),
                "limit_per_metre": None if known.limit is None else str(known.limit),
                "guarantee": "geo-indistinguishability, not plain differential privacy",
            }
        )
        return
    say(f"{north:.6f} {east:.6f}")
    if price is not None and reach is not None:
        note(f"95 % of such reports are within {reach:.0f} m of the true place.")
    left = "" if known.limit is None else f" of {float(known.limit):g}"
    total = float(known.spent)
    say(
        f"{known.reports} {'report' if known.reports == 1 else 'reports'} of this device cost {total:g}{left} per "
        f"metre together: two places 100 m apart lose epsilon = {100 * total:g}."
    )


def _box(text: str) -> Box:
    from dither.data.places import Box

    parts = text.split(",")
    if len(parts) != 4:
        raise InvalidParameter("--box", text, "four numbers: SOUTH,WEST,NORTH,EAST")
    south, west, north, east = (part.strip() for part in parts)
    return Box.of(south, west, north, east)


# A longitude may begin with a minus, which is no option.
report.context_settings = {"ignore_unknown_options": True}  # type: ignore[attr-defined]
