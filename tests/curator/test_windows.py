"""Nothing public on a session leads to rows or to a receipt, and a receipt means that a mechanism drew noise.

Each attack of the first part succeeded when sessions had ``opened``, ``charged`` and a public ``curator``, and when
only ``release`` looked at who had made an offer.
"""

from __future__ import annotations

import ast
import collections.abc
import contextlib
import copy
import dataclasses
import functools
import importlib
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.curator.access import Run, charge, curator_of, receipt_of, request_of
from dither.curator.folder import Curator
from dither.curator.ledger import Account, Ledger
from dither.curator.ledger.interface import Receipt
from dither.curator.remote_release import asked_of
from dither.curator.session import Session
from dither.curator.timing_gate import held_back
from dither.data.engines import Engine
from dither.errors import DitherError, EngineFailure, InvalidParameter, ReleaseFailed
from dither.lift.offer import Offer
from dither.privacy import ApproxDP, PureDP
from dither.publish.queries import builder
from dither.service.client import RemoteSession
from tests.curator.conftest import SCHEMA

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
SMALL = PureDP("1e-6")
#: Internals are private; ``python -m tools.house_limits`` counts the data set besides.
MOST_PUBLIC_NAMES = 29


# The attacks.


def _by_opening(session: Any) -> Any:
    with session.opened() as engine:
        return engine


def _by_charging(session: Any) -> Any:
    offer = session.offer.sql(COUNT, epsilon=1, key="true")
    request = request_of(session, offer)
    return session.charged(request, SMALL, lambda engine: repr(engine.frames).encode(), "true")


def _by_the_ledger(session: Any) -> Any:
    ledger = session.curator.ledger
    held = ledger.reserve(session._account, "true", "digest", SMALL)
    return ledger.complete(held, b"199 rows")


@pytest.mark.parametrize("attack", [_by_opening, _by_charging, _by_the_ledger])
def test_a_session_gives_no_rows_and_no_ledger(session: Session, attack: Callable[[Any], Any]) -> None:
    with pytest.raises(AttributeError):
        attack(session)
    assert session.balance().releases == 0


CHANGED: dict[str, Callable[[Offer[Any]], Offer[Any]]] = {
    "spent": lambda offer: dataclasses.replace(offer, spent=lambda answer: SMALL),
    "present": lambda offer: dataclasses.replace(offer, present=lambda out: b"forged"),
    "nothing": copy.copy,
    "key": lambda offer: dataclasses.replace(offer, key="other"),
}
WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "release": lambda session, offer: session.release(offer),
    "receipt": lambda session, offer: (getattr(session, "receipt", None) or session._receipt)(offer),
    "receipt under a key": lambda session, offer: receipt_of(session, offer, key="mine"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", CHANGED)
def test_an_offer_that_a_caller_put_together_is_not_released(session: Session, change: str, way: str) -> None:
    """An equal one is refused as well: what is registered is the object."""
    offer = session.offer.count("visits", share="1/2", epsilon=1, key="k")
    with pytest.raises(InvalidParameter, match="own ``offer`` has made"):
        WAYS[way](session, CHANGED[change](offer))
    assert session.balance().releases == 0
    assert WAYS[way](session, offer)


def test_an_offer_of_another_session_is_not_released(session: Session, curator: Curator) -> None:
    with curator.session("clinic", analyst="bob") as other:
        offer = other.offer.sql(COUNT, epsilon=1)
        for way in WAYS.values():
            with pytest.raises(InvalidParameter, match="own ``offer`` has made"):
                way(session, offer)
    assert session.balance().releases == 0


def test_a_plan_is_carried_out_for_all_who_share_the_offers(session: Session, curator: Curator) -> None:
    """A service has one set of open tables for many people: what was planned for one is a plan of the other's too."""
    beside = copy.copy(session)
    beside._account = Account("clinic", "bob")
    words = {"text": COUNT, "epsilon": {"number": "1/2"}}
    first, second = asked_of(session, "sql", words), asked_of(beside, "sql", words)
    assert first.request is second.request
    assert first.carry_out("a").account.analyst == "ana"
    assert second.carry_out("b").account.analyst == "bob"
    with curator.session("clinic", analyst="eve") as apart:
        # Another set of offers has another plan, and carries out its own alone.
        third = asked_of(apart, "sql", words)
        assert third.request is not first.request
        assert third.carry_out("c").account.analyst == "eve"


def test_a_question_about_a_part_that_a_caller_put_together_is_not_asked(session: Session) -> None:
    wards = session.table("visits").partition("ward", {"h": ["heart"], "s": ["skin"]})
    with session.parts("wards", wards, epsilon=1) as account:
        planned = account.planned("h", lambda rows: rows.count(), PureDP("1/2"))
        other = account.planned("s", lambda rows: rows.count(), PureDP("1/2"))
        for forged in (copy.copy(planned), dataclasses.replace(planned, question=other.question)):
            with pytest.raises(InvalidParameter, match="a question that this account has planned"):
                account.carry_out(forged, "k")
        assert account.asked == 0
        assert account.carry_out(planned, "k").loss <= PureDP(0)


# What a receipt means.


def _run(session: Session, key: str = "k", **changes: Any) -> Run:
    offer = session.offer.sql(COUNT, epsilon=1, key=key)
    return dataclasses.replace(
        Run(request_of(session, offer), offer.loss, offer.mechanism, offer.present, offer.spent), **changes
    )


def _kinds(session: Session) -> list[str]:
    kinds = [entry.kind for entry in curator_of(session).ledger.entries("clinic")]
    return kinds[kinds.index("reserve") :]


def test_what_a_mechanism_draws_is_stored(session: Session) -> None:
    receipt = charge(session, _run(session), "k")
    assert receipt.loss.pure == 1
    assert charge(session, _run(session), "k").answer == receipt.answer
    assert _kinds(session) == ["reserve", "draw", "answer"]


def test_what_asked_for_no_noise_is_not_stored(session: Session) -> None:
    """The true counts, under the digest of a query that was priced and debited."""

    def true_counts(engine: Engine) -> Any:
        return repr(engine.files(session.dataset.tables[0]))

    run = _run(session, stored=str.encode, answered=true_counts)
    with pytest.raises(EngineFailure) as caught:
        charge(session, run, "k")
    assert caught.value.__context__ is None
    assert _kinds(session) == ["reserve"]
    # The charge stands, and the same key gives what the mechanism makes.
    assert session.balance().spent.pure == 1
    assert charge(session, _run(session), "k").loss.pure == 1
    assert session.balance().spent.pure == 1


def test_a_draw_that_was_told_beforehand_is_not_one(session: Session) -> None:
    """Under strict times the ledger is told of a draw before the rows are read; the mechanism still has to make it."""
    run = _run(session, stored=str.encode, answered=lambda engine: "true")
    with held_back(None, draws_first=True), pytest.raises(ReleaseFailed):
        charge(session, run, "k")
    assert _kinds(session)[:2] == ["reserve", "draw"]
    assert "answer" not in _kinds(session)
    with held_back(None, draws_first=True):
        assert charge(session, _run(session, "other"), "other").loss.pure == 1


def test_the_loss_of_a_mechanism_is_debited(session: Session) -> None:
    with pytest.raises(InvalidParameter, match="at least what the mechanism loses"):
        charge(session, _run(session, loss=SMALL), "k")
    with pytest.raises(InvalidParameter, match="of a registered class exactly"):
        charge(session, _run(session, mechanism=types.SimpleNamespace(loss=lambda _: SMALL)), "k")
    assert session.balance().releases == 0


EMPTY = {
    "groups that are discovered": lambda session: session.sql(
        "SELECT note, COUNT(*) AS n FROM visits GROUP BY note", epsilon=1, delta="1e-6", noise="gaussian"
    ),
    "groups that are declared": lambda session: session.sql(COUNT, epsilon=1),
    "a mean": lambda session: session.sql("SELECT AVG(waited) AS w, MEDIAN(waited) AS m FROM visits", epsilon=1),
    "histogram": lambda session: session.histogram("visits", "waited", 4, epsilon=1),
    "count": lambda session: session.count("visits", share="1/2", epsilon=1),
    "synthesize": lambda session: session.synthesize("visits", ["ward", "waited"], epsilon=1),
    "anonymize": lambda session: session.anonymize("visits", ["ward"], epsilon=1),
    "bounds": lambda session: session.bounds("visits", "waited", epsilon=1),
}


@pytest.mark.parametrize("source", ["frames", "visits.csv"])
def test_an_empty_table_is_answered_as_any(tmp_path: Path, source: str) -> None:
    """Whether there is anything to add noise to is private: a failure, or books without a draw, would show it."""
    names = ["patient", "ward", "waited", "note"]
    found = []
    for number, rows in enumerate(([], [(1, "heart", 5.0, "a"), (2, "skin", 7.0, "b")])):
        home = tmp_path / str(number)
        home.mkdir()
        (home / "clinic.yaml").write_text(SCHEMA.replace("visits.csv", source))
        lines = [",".join(map(str, row)) for row in (names, *rows)]
        (home / "visits.csv").write_text("\n".join(lines) + "\n")
        frames = None
        if source == "frames":
            pandas = pytest.importorskip("pandas")
            pytest.importorskip("pyarrow")
            frame = pandas.DataFrame(rows, columns=names)
            frames = {"visits": frame.astype({"patient": "int64", "waited": "float64"})}
        with contextlib.closing(Curator.create(home / "home", anchors=home / "anchors")) as curator:
            curator.add(home / "clinic.yaml", budget=ApproxDP(10, "0.1"))
            with curator.session("clinic", analyst="ana", frames=frames) as session:
                for verb in EMPTY.values():
                    verb(session)
                found.append(_kinds(session))
    assert found[0] == found[1]
    assert [kind for kind in found[0] if kind != "return"] == ["reserve", "draw", "answer"] * len(EMPTY)


# The architecture.

#: What no ledger that only tells has.
_WRITES = ("reserve", "complete", "begin_draw")
#: What a caller's function may be given: the builder of a query, and a receipt.
_GIVEN = (builder.Rows, Receipt)


def _public(thing: Any) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


@functools.cache
def _names(module: str) -> dict[str, Any]:
    """Return what the annotations of a module may name, with what it imports for type checkers alone."""
    home = importlib.import_module(module)
    found = dict(vars(home))
    for node in ast.parse(inspect.getsource(home)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for one in node.body:
                if isinstance(one, ast.ImportFrom) and one.module is not None:
                    there = importlib.import_module(one.module)
                    found |= {alias.asname or alias.name: getattr(there, alias.name) for alias in one.names}
    return found


def _hints(function: Any) -> dict[str, Any]:
    """Return the annotations of a function as types."""
    inner = inspect.unwrap(function)
    annotations = {**getattr(inner, "__annotations__", {}), **getattr(function, "__annotations__", {})}
    return {name: _read(one, inner.__module__) for name, one in annotations.items()}


def _read(hint: Any, module: str) -> Any:
    return eval(hint, _names(module)) if isinstance(hint, str) else hint  # noqa: S307 - annotations of this package


def _types_in(hint: Any) -> Iterator[type]:
    """Yield all classes that a type is made of."""
    origin = typing.get_origin(hint)
    yield from (one for one in (hint, origin) if isinstance(one, type))
    for part in typing.get_args(hint):
        for one in part if isinstance(part, list) else (part,):
            yield from _types_in(one)


def _callables_in(hint: Any) -> Iterator[Any]:
    if typing.get_origin(hint) is collections.abc.Callable:
        yield hint
    for part in typing.get_args(hint):
        if not isinstance(part, list):
            yield from _callables_in(part)


def _attributes(kind: type) -> Iterator[tuple[str, list[Any], Any]]:
    """Yield the public attributes of a class: what each takes, and what comes of it."""
    for name in _public(kind):
        found = inspect.getattr_static(kind, name)
        function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        if inspect.isfunction(function):
            hints = _hints(function)
            gives = hints.pop("return", None)
            yield name, list(hints.values()), gives
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            yield field.name, [], _read(field.type, kind.__module__)


def _is_window(kind: type) -> bool:
    return issubclass(kind, Engine | Ledger | Curator) or any(callable(getattr(kind, name, None)) for name in _WRITES)


def _windows(kind: type, depth: int = 2, path: str = "session") -> Iterator[str]:
    """Yield all ways from the public attributes of a class, down to a depth, to rows, to a ledger or to a curator."""
    for name, takes, gives in _attributes(kind):
        here = f"{path}.{name}"
        for one in (found for hint in takes for found in _callables_in(hint)):
            given = typing.get_args(one)[:1]
            if not given or given[0] is ... or any(type_ not in _GIVEN for type_ in given[0]):
                yield f"{here} takes {one}"
        for type_ in set(_types_in(gives)):
            if _is_window(type_):
                yield f"{here} gives {type_.__name__}"
            elif depth > 1 and type_.__module__.startswith("dither."):
                yield from _windows(type_, depth - 1, here)


def _live(thing: Any, path: str, depth: int = 2) -> Iterator[str]:
    """Yield all windows among the public attributes of an object, and among those of what they hold."""
    for name in _public(thing):
        value, here = None, f"{path}.{name}"
        with contextlib.suppress(DitherError, AttributeError):
            value = getattr(thing, name)
        if callable(value):
            continue
        if _is_window(type(value)):
            yield f"{here} is a {type(value).__name__}"
        elif depth > 1 and type(value).__module__.startswith("dither."):
            yield from _live(value, here, depth - 1)


@pytest.mark.parametrize("kind", [Session, RemoteSession])
def test_no_public_attribute_of_a_session_is_a_window(kind: type[Session]) -> None:
    assert sorted(set(_windows(kind))) == []


def test_no_public_attribute_of_an_open_session_is_a_window(session: Session) -> None:
    session.sql(COUNT, epsilon=1)
    wards = session.table("visits").partition("ward", {"h": ["heart"], "s": ["skin"]})
    with (
        session.conversation("talk", "visits", ["ward"], epsilon=1) as talk,
        session.parts("wards", wards, epsilon=1) as account,
    ):
        for name, thing in {"session": session, "conversation": talk, "parts": account}.items():
            assert list(_live(thing, name)) == []
        # What answers is given rows: it cannot be replaced.
        with pytest.raises(AttributeError):
            talk.planned = types.SimpleNamespace()  # type: ignore[misc, assignment]


class Wide:
    """What a session had, for the walk to find."""

    def __init__(self, curator: Any) -> None:
        self.curator = curator

    @contextlib.contextmanager
    def opened(self) -> Iterator[Engine]:
        """Give the rows."""
        raise NotImplementedError

    def charged(self, run: Callable[[Engine], bytes]) -> Receipt:
        """Run anything on the rows."""
        raise NotImplementedError

    def anything(self, run: Callable[..., bytes] | None = None) -> None:
        """Run anything on anything."""

    @property
    def ledger(self) -> Ledger | None:
        """Give a ledger."""
        return None

    @property
    def offer(self) -> Wider:
        """Give it in two steps."""
        return Wider()


class Wider:
    """What leads there."""

    def rows(self) -> tuple[Engine, ...]:
        """Give the rows."""
        raise NotImplementedError


def test_a_window_is_seen(monkeypatch: pytest.MonkeyPatch, curator: Curator) -> None:
    monkeypatch.setattr(Wider, "__module__", "dither.wider")
    assert {one.partition(" ")[0] + " " + one.split(" ")[1] for one in _windows(Wide)} == {
        "session.opened gives",
        "session.charged takes",
        "session.anything takes",
        "session.ledger gives",
        "session.offer.rows gives",
    }
    assert list(_live(Wide(curator), "session", 1)) == ["session.curator is a Curator"]
    assert list(_live(Wide(curator.ledger), "session", 1)) == [f"session.curator is a {type(curator.ledger).__name__}"]


def test_internals_of_a_session_are_private() -> None:
    assert len(_public(Session)) <= MOST_PUBLIC_NAMES
