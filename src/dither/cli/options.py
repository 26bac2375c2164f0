"""Options and arguments that several verbs share, each said once; ``Charged`` holds those of a release."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, get_type_hints

import typer

from dither.cli.console import tell_owner
from dither.cli.outputs import new_key
from dither.cli.remote import is_elsewhere, served_demo, use, use_folder
from dither.curator.ledger.amounts import LARGEST
from dither.errors import DitherError, InvalidParameter
from dither.exact import positive
from dither.privacy import Loss, stated_loss


def home_above(ctx: typer.Context, value: Path | None) -> Path | None:
    """Return the curator's folder, where it was typed before the verb and not after it."""
    above: Any = ctx.parent
    while value is None and above is not None:
        value, above = above.params.get("home"), above.parent
    return value


def own_home(ctx: typer.Context, value: Path | None) -> Path | None:
    """Return the same; a folder that was typed goes before a service that a variable names, and beside none typed."""
    typed = home_above(ctx, value)
    if typed is not None and not ctx.resilient_parsing:
        use_folder(typed, is_server_typed=is_server_typed(ctx))
        if "server" in ctx.params:
            ctx.params["server"] = None
    return typed


def found_home(ctx: typer.Context, value: Path | None) -> Path | None:
    """Return the same; where no folder could be meant, that of a demonstration that is served from here, and say so."""
    typed = own_home(ctx, value)
    if typed is not None or is_elsewhere() or ctx.resilient_parsing:
        return typed
    found = served_demo()
    if found is not None:
        tell_owner(f"in {found}, the folder of the demonstration that is served from here; --home names another")
    return found


def is_server_typed(ctx: typer.Context) -> bool:
    """Whether the address of a service was typed with this verb, and is not from DITHER_SERVER."""
    source = ctx.get_parameter_source("server")
    return source is not None and source.name == "COMMANDLINE"


def used_server(value: str | None) -> str | None:
    """Remember the service that a verb was given."""
    use(value)
    return value


def dataset_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the data sets whose names begin so, for a shell that completes them: they are public."""
    from dither.curator.folder import find_folder

    try:
        folder = find_folder(home_above(ctx, ctx.params.get("home")))
    except DitherError:
        return []
    return sorted(path.stem for path in (folder / "datasets").glob("*.yaml") if path.stem.startswith(incomplete))


def known_search(value: str) -> str:
    """Return the way to find quantiles that was typed, if there is such."""
    if value not in ("tree", "exponential", "auto"):
        raise InvalidParameter("--quantiles", value, "tree, exponential or auto")
    return value


def known_noise(value: str) -> str:
    """Return the noise that was typed, if there is such."""
    if value not in ("laplace", "gaussian", "auto"):
        raise InvalidParameter("--noise", value, "laplace, gaussian or auto")
    return value


Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
_FOLDER: Final = "Curator folder. Defaults to DITHER_HOME, then the nearest parent folder that is one."
Home = Annotated[Path | None, typer.Option("--home", callback=found_home, help=_FOLDER)]
#: Of verbs that bring something into a folder, or serve it: nobody means that of a demonstration without naming it.
OwnHome = Annotated[Path | None, typer.Option("--home", callback=own_home, help=_FOLDER)]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        callback=used_server,
        is_eager=True,  # whether a folder is looked for depends on it
        envvar="DITHER_SERVER",
        help="Address of a dither service to use instead of a folder; the token is read from DITHER_TOKEN.",
    ),
]
DataSetName = Annotated[
    str,
    typer.Argument(
        metavar="DATASET", help="Name of a data set; 'dither datasets' lists them.", autocompletion=dataset_names
    ),
]
Epsilon = Annotated[str | None, typer.Option(help="Privacy loss of this release (epsilon), for example 0.5 or 1/3.")]
Epsilons = Annotated[str, typer.Option(help="Privacy losses (epsilon), separated by commas.")]
Delta = Annotated[
    str | None, typer.Option(help="The probability that the epsilon bound may be exceeded, such as 1e-6.")
]
Rho = Annotated[str | None, typer.Option(help="A zero-concentrated loss instead of epsilon and delta.")]
Analyst = Annotated[str, typer.Option(help="Analyst whose quota is charged.")]
Noise = Annotated[
    str, typer.Option(callback=known_noise, help="laplace, gaussian, or auto (the smaller expected error).")
]
Quantiles = Annotated[
    str,
    typer.Option(
        "--quantiles",
        callback=known_search,
        help="tree, exponential, or auto (the shorter intervals of quantiles).",
    ),
]
ThresholdShare = Annotated[
    str | None,
    typer.Option(
        "--threshold-share",
        help="Where groups are discovered: the share of the loss, 0 to 1, that decides which are shown.",
    ),
]
LikelyEmpty = Annotated[
    bool,
    typer.Option(
        "--likely-empty",
        help="Ask also where hardly any group can be shown, by the number of people that the schema declares.",
    ),
]
AutoShare = Annotated[
    str,
    typer.Option("--auto-share", help="With CLAMP(x, AUTO) in the query: the share of the loss that finds the ranges."),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Key = Annotated[str | None, typer.Option(help="Your name for this request: a retry with it returns the stored answer.")]
TableOut = Annotated[
    Path | None, typer.Option("--out", "-o", help="Also write .csv, .parquet, .json or .html (with a plot).")
]
Plot = Annotated[bool, typer.Option("--plot", help="With --out, also write a plot beside it, as HTML.")]
OnlyTable = Annotated[
    str | None, typer.Argument(metavar="TABLE", help="A private table; optional if it is the only one.")
]
Model = Annotated[Path | None, typer.Option(help="Also write what was released, as JSON.")]
Quoted = Annotated[
    bool, typer.Option("--quote", help="Show price and expected error without opening the data or charging anything.")
]
Report = Annotated[Path | None, typer.Option(help="Also write a report on the quality, .html or .json.")]


class Option(NamedTuple):
    """An option of a command: the name of its parameter, its annotation as Typer reads it, its default."""

    name: str
    annotation: Any
    default: Any


def options_of(record: type[Any]) -> tuple[Option, ...]:
    """Return the options that the fields of a record are."""
    hints = get_type_hints(record, include_extras=True)
    return tuple(Option(one.name, hints[one.name], one.default) for one in fields(record))


@dataclass(frozen=True, kw_only=True)
class Charged:
    """The options of every command that makes a release: its loss, whose quota is charged, where and how it answers."""

    epsilon: Epsilon = None
    delta: Delta = None
    rho: Rho = None
    analyst: Analyst = "curator"
    key: Key = None
    force: Force = False
    is_quoted: Quoted = False
    home: Home = None
    json: Json = False

    def __post_init__(self) -> None:
        check_figures(epsilon=self.epsilon, rho=self.rho)
        # A request that nobody has named gets a name, so that its answer can be asked for again. A service has a name
        # for it of its own, by which the same question is answered the same.
        if self.key is None and not is_elsewhere():
            object.__setattr__(self, "key", new_key())

    @property
    def name(self) -> str:
        """The key; one was made where none was given."""
        return self.key or ""


def check_figures(*, epsilon: str | None, rho: str | None) -> None:
    """Refuse what no ledger takes, before anything is planned for it: so much is no protection.

    Args:
        epsilon: as it was typed, if it was.
        rho: as it was typed, if it was.

    """
    for name, text in (("epsilon", epsilon), ("rho", rho)):
        if text is not None:
            positive(name, text, at_most=LARGEST)


def loss_asked(*, epsilon: str | None, delta: str | None, rho: str | None) -> Loss | None:
    """Return the loss that was typed; None where neither epsilon nor rho was."""
    is_asked = epsilon is not None or rho is not None
    return stated_loss(epsilon=epsilon, delta=delta, rho=rho) if is_asked else None
