"""``dither release``: any registered method over any declared source, as a file describes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dither.cli import ask
from dither.cli.console import print_json, say
from dither.cli.options import Analyst, Charged, DataSetName, Force, Home, Json, Key, Quoted, Server
from dither.cli.outputs import Output, delivering, write_whole
from dither.cli.progress import progress
from dither.errors import InvalidParameter
from dither.lift.lifted import Lifted
from dither.lift.stored import write_value
from dither.mechanisms.core.spec import from_spec


def release(
    dataset: DataSetName,
    description: Annotated[
        Path, typer.Argument(metavar="FILE", help="A method over a source, as JSON: see docs/extend.md.")
    ],
    analyst: Analyst = "curator",
    key: Key = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write what was released, as .json.")] = None,
    force: Force = False,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Release what any registered method makes of any declared source, as a file describes them."""
    lifted = read_description(description)
    charged = Charged(analyst=analyst, key=key, home=home, json=as_json, is_quoted=is_quoted, force=force)
    name = charged.name
    outputs = [] if out is None else [Output("out", out, (".json",))]
    with ask.charged_session(charged, dataset, outputs) as session:
        offer = session.offer.method(lifted.method, lifted.source, key=name)
        if is_quoted:
            ask.say_price(session.quote(offer), as_json=as_json)
            return
        with progress("releasing"):
            found = session.release(offer)
        with delivering(name):
            if out is not None:
                write_whole(out, lambda draft: draft.write_bytes(write_value(found)))
            shown = _plain(found)
            if as_json:
                print_json({"release": offer.words, "loss": offer.loss.to_dict(), "key": name, "value": shown})
            else:
                say(f"{offer.words}, for {offer.loss}")
                say(json.dumps(shown))


def read_description(path: Path) -> Lifted:
    """Return the mechanism that a file describes, as ``dither.mechanisms.to_spec`` writes it."""
    rule = "a JSON file that describes a method over a source, as json.dumps(to_spec(Lifted(...))) writes it"
    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidParameter("description", str(path), rule) from None
    found = from_spec(spec)
    if not isinstance(found, Lifted):
        raise InvalidParameter("description", found.name, rule)
    return found


def _plain(value: Any) -> Any:
    """Return a released value as people read it in JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float | str) else json.loads(write_value(value))
