"""A kind of what lives longer than a call is one record: a jar is declared here alone, and found at every door."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Unpack

import pytest

pytest.importorskip("uvicorn", reason="the extra 'service' is not installed")

from dither.curator import long_lived
from dither.curator.long_lived import MODULES, Handle, LongLived, kind_of
from dither.curator.session import Session
from dither.curator.streams.book import PlainBook
from dither.data.schema import DataSet
from dither.errors import HandleMisuse, InvalidParameter, NotFound, StreamUnavailable
from dither.lift.offer import Offer, not_released
from dither.lift.verb import REGISTRY, Arg, Group, Lossy, M, loss_of, verb
from dither.privacy import Loss, PureDP
from dither.publish.queries.builder import table as rows_of
from dither.service import app, metrics, openapi, records, routes
from dither.service.long_lived_client import HANDLES, RemoteHandle
from dither.service.long_lived_kinds import SERVED, Served, Step, ending, public_of
from dither.verbs.answers import offer_of_query
from tests.service import told
from tests.service.conftest import Running

Table = Annotated[str | None, Arg("the table")]


class Jar(Handle[PlainBook]):
    """Something that is filled, spoon by spoon, until it is closed."""

    uncopied = "a jar cannot be copied"

    def __init__(self, name: str, loss: Loss, book: PlainBook, place: str) -> None:
        super().__init__(name, book, place)
        self.loss = loss

    def __str__(self) -> str:
        return f"{self.name}: {self._here().frozen} spoons"

    def to_dict(self) -> dict[str, Any]:
        """Return what is public about it."""
        book = self._here()
        told = {"name": self.name, "loss": self.loss.to_dict(), "receipt": self.receipt}
        return told | {"spoons": [one["what"] for one in book.numbers()], "closed": book.is_closed}

    def fill(self, what: str) -> None:
        """Put a spoon of something into it."""
        self._here().freeze([({"what": what}, {})])

    def end(self) -> None:
        """Close it for ever."""
        self._here().close_stream()


class Jars(LongLived[Jar]):
    """Jars."""

    verb = "jar"
    plural = "jars"
    called = "jar of"
    asked = opened_with = "table"
    others = "another table or loss"

    def held(self, session: Session, name: str, offer: Offer[Any], book: Any, place: str) -> Jar:
        return Jar(name, offer.loss, book, place)


LONG_LIVED: Final = Jars()


def _filled(jar: Jar, what: str) -> dict[str, Any]:
    jar.fill(what)
    return public_of(jar)


JAR: Final = records.record_of(
    name=records.TEXT,
    loss=records.LOSS,
    receipt=records.TEXT,
    spoons=records.array_of(records.TEXT),
    closed=records.TRUTH,
    said=records.TEXT,
)
JAR_OVER_HTTP: Final = Served(
    *("jar", "jars"),
    ("Your jars of it; a page of them.", "Pay for a jar, or find it open.", "One, with what is in it."),
    JAR,
    steps=(
        Step("fill", "POST", "spoons", "Put a spoon into it.", records.OBJECT, JAR, dict, _filled),
        ending("jar", "Close it.", JAR),
    ),
)


class RemoteJar(RemoteHandle):
    """A jar that is elsewhere."""

    verb = "jar"

    def fill(self, what: str) -> None:
        """Put a spoon of something into it."""
        self._step("fill", {"what": what})

    def end(self) -> None:
        """Close it for ever."""
        self._step("end_jar")


def declared() -> None:
    """Declare the verb that prices a jar."""

    class _Jars(Group[M]):
        @verb
        @staticmethod
        def jar(dataset: DataSet, table: Table = None, **terms: Unpack[Lossy]) -> Offer[Any]:
            """Price a jar."""
            query = rows_of(str(table)).count().build(dataset)
            stated = loss_of(terms)
            mechanism = offer_of_query(dataset, query, stated, description="a jar").mechanism
            words, asked = f"a jar of {table}", {"table": table}
            return Offer("jar", words, mechanism, asked, stated, not_released, not_released, opened_by="jar")


@pytest.fixture(scope="module", autouse=True)
def _jars() -> Iterator[None]:
    table = (*routes.ROUTES, *routes.routes_of(JAR_OVER_HTTP))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MODULES, "jar", __name__)
        patch.setitem(SERVED, "jar", JAR_OVER_HTTP)
        patch.setitem(HANDLES, "jar", RemoteJar)
        for module in (routes, app, openapi):
            patch.setattr(module, "ROUTES", table)
        for module in (routes, told):
            patch.setattr(module, "BY_NAME", {route.name: route for route in table})
        patch.setattr(metrics.Metrics, "count", lambda *_, **__: None)
        declared()
        yield
    del REGISTRY["jar"]


@pytest.fixture
def session(running: Running, request: pytest.FixtureRequest) -> Session:
    return running.curator.session("clinic", analyst=request.function.__name__[:60])


def opened(session: Session, name: str, *, only_read: bool = False, **words: Any) -> Any:
    """Open a jar, as a verb of a session would."""
    return session._open_long_lived("jar", name, words, only_read=only_read)


def test_a_jar_is_paid_for_once_listed_read_and_ended(session: Session) -> None:
    with opened(session, "plums", table="visits", epsilon="1/2") as jar:
        jar.fill("stones")
        assert jar.loss == PureDP("1/2")
        [paid] = session._curator.ledger.find_answers("jar plums", "clinic")
        assert jar.receipt.split(":")[1] == str(paid.entry)
        with pytest.raises(StreamUnavailable, match="open already"):
            opened(session, "plums")
    assert session.balance().spent == PureDP("1/2")
    assert session.long_lived()["jars"] == session.long_lived().jars == ("plums",)
    assert session.long_lived().streams == session.long_lived().parts == ()
    with opened(session, "plums", only_read=True) as jar:
        assert (str(jar), jar.to_dict()["spoons"]) == ("plums: 1 spoons", ["stones"])
        with pytest.raises(HandleMisuse, match="read only"):
            jar.fill("more")
    with opened(session, "plums", table="visits", epsilon="1/2") as jar:
        jar.end()
        assert jar.to_dict()["closed"]
    with pytest.raises(HandleMisuse, match="let go of"):
        jar.fill("more")
    assert session.balance().releases == 1


def test_a_jar_is_refused_before_it_costs_anything(session: Session) -> None:
    with pytest.raises(NotFound, match="no jar of clinic is called 'plums'; there is none"):
        opened(session, "plums")
    with pytest.raises(InvalidParameter, match="only_read"):
        opened(session, "plums", table="visits", epsilon=1, only_read=True)
    with pytest.raises(InvalidParameter, match="beginning with a letter"):
        opened(session, "../plums", table="visits", epsilon=1)
    assert (session.balance().releases, session.long_lived().jars) == (0, ())
    opened(session, "plums", table="visits", epsilon=1).close()
    with pytest.raises(InvalidParameter, match=r"another table or loss: .* 'a jar of visits'"):
        opened(session, "plums", table="visits", epsilon=2)


def test_a_jar_that_is_not_as_it_was_is_refused(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(session, "plums", table="visits", epsilon=1).close()
    monkeypatch.setattr(Jars, "changed", lambda *_, **__: "the plums are others")
    with pytest.raises(StreamUnavailable, match="the conversation plums cannot be used: the plums are others"):
        opened(session, "plums")
    with opened(session, "plums", only_read=True) as jar:
        assert jar.to_dict()["spoons"] == []
    with monkeypatch.context() as other:
        other.setattr(long_lived, "_commitment", lambda _: "of another key")
        with pytest.raises(StreamUnavailable, match="not the one that was paid for"):
            opened(session, "plums", only_read=True)
    path, _ = long_lived.book_paths(session, "jars", "plums")
    path.rename(path.with_suffix(".away"))
    with pytest.raises(StreamUnavailable, match="its book is gone"):
        opened(session, "plums", table="visits", epsilon=1)
    assert session.balance().releases == 1


def test_a_jar_is_opened_filled_read_and_ended_elsewhere(running: Running) -> None:
    session = running.connect("cook").session("clinic")
    jar = opened(session, "plums", table="visits", epsilon=1)
    assert (jar.name, jar.loss, session.balance().spent) == ("plums", PureDP(1), PureDP(1))
    jar.fill("stones")
    assert session.long_lived().jars == ("plums",)
    assert opened(session, "plums", only_read=True).to_dict()["spoons"] == ["stones"]
    assert str(jar) == "plums: 1 spoons"
    jar.end()
    assert jar.to_dict()["closed"]
    with pytest.raises(NotFound):
        opened(session, "pears")
    assert session.balance().releases == 1


def test_programs_are_told_of_a_jar() -> None:
    written = openapi.openapi("1")
    assert written["paths"]["/v1/datasets/{dataset}/jars/{name}"].keys() == {"get", "delete"}
    body = written["paths"]["/v1/datasets/{dataset}/jars"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"]["properties"]["words"] == {"$ref": "#/components/schemas/JarOpenedWords"}
    assert "table" in written["components"]["schemas"]["JarOpenedWords"]["properties"]


def test_each_kind_is_called_the_same_here_and_elsewhere() -> None:
    assert MODULES.keys() == SERVED.keys() == HANDLES.keys()
    for name, served in SERVED.items():
        kind = kind_of(name)
        assert (kind.verb, kind.plural) == (served.verb, served.plural)
        assert REGISTRY[name].argument(kind.asked) is not None
