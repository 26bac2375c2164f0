"""A kind of data is one module: a toy kind is declared, checked, sent and refused, and no module of data knows it."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from dither.data import Column, DataSet, Kind, Scan, Table, wire
from dither.data.contribution import contribution
from dither.data.files import dump_schema, loads
from dither.data.graphs import Graph
from dither.data.joins import check_relation
from dither.data.kinds import KINDS, Declaration, Slot, declares
from dither.data.place_tables import Places
from dither.data.relations import Limits
from dither.data.suggest import suggest
from dither.data.ticks import Ticks
from dither.errors import InvalidParameter, InvalidSchema
from dither.exact import typed
from dither.privacy import EDGE, RATING, ROW, Unit

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
@typed
class Likes(Declaration):
    """What people think of items."""

    item: str
    value: str
    most: int | None = None
    scale: tuple[float, ...] = ()

    kind: ClassVar[str] = "likes"
    called: ClassVar[str] = "likes"
    keys: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"item": "item", "value": "value", "scale": "scale", "rows per person": "most"}
    )
    units: ClassVar[Mapping[str, Unit]] = MappingProxyType({"rating": RATING})
    asked_with: ClassVar[str] = "a model of the ratings"
    hint: ClassVar[str] = "If rows say who likes what: 'likes: {item: COLUMN, value: COLUMN}' below."

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 1:
            raise InvalidParameter("most", self.most, "at least 1")

    def check(self, table: Table) -> None:
        """Refuse a value that is no number."""
        if not table.column(self.value).kind.is_number:
            raise InvalidParameter(f"likes of {table.name}", self.value, "a column of numbers")

    def check_in(self, table: Table, dataset: DataSet) -> None:
        """Refuse a limit of people where there are none."""
        if self.most is not None and not dataset.protects_persons:
            raise InvalidParameter(
                f"likes of {table.name}", self.most, "without rows per person: no person is protected"
            )

    def limits(self, table: Table) -> dict[str, Any]:
        """Return how many ratings of a person count."""
        return {f"ratings_of_{table.name}": self.most}


@pytest.fixture
def ratings() -> Iterator[None]:
    declares(Likes)
    yield
    del KINDS._parts["likes"]


SCHEMA = """
dataset: shop
unit: {unit}
{limits}
tables:
  stars:
    source: stars.csv
    {person}
    likes: {ratings}
    columns:
      who: text
      film: text
      stars: {{kind: integer, bounds: [1, 5]}}
"""


def schema(said: str = "{item: film, value: stars}", *, unit: str = "person") -> str:
    people = {"limits": "contribution: {rows: 9}", "person": "privacy id: who"}
    return SCHEMA.format(unit=unit, ratings=said, **(people if unit == "person" else dict.fromkeys(people, "")))


@pytest.mark.usefixtures("ratings")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (schema(), Likes("film", "stars")),
        (schema("{item: film, value: stars, rows per person: 20}"), Likes("film", "stars", 20)),
        (schema("{item: film, value: stars, scale: [0, 2.5]}", unit="row"), Likes("film", "stars", scale=(0.0, 2.5))),
        (schema(unit="rating"), Likes("film", "stars")),
    ],
)
def test_a_toy_kind_is_read_from_a_schema_written_back_and_sent(text: str, wanted: Likes) -> None:
    found = loads(text)
    assert Likes.of(found.table("stars")) == wanted
    assert (found.table("stars").graph, found.table("stars").places) == (None, None)
    assert found.table("stars") == replace(found.table("stars"), declared=(), likes=wanted)  # type: ignore[call-arg]
    assert loads(dump_schema(found)) == found
    assert wire.loads(wire.dumps(found)) == found
    sent = wire.encode(found.table("stars"))
    assert sent["likes"]["is"] == "Likes"
    assert "declared" not in sent


@pytest.mark.usefixtures("ratings")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (schema("{item: film}"), "tables.stars.likes.value (line 9) must be given"),
        (schema("{item: film, value: stars, colour: red}"), "tables.stars.likes.colour"),
        (schema("{item: film, value: stars, rows per person: 0}"), "tables.stars.likes.rows per person (line 9)"),
        (schema("{item: film, value: stars, rows per person: many}"), "an integer"),
        (schema("{item: film, value: who}"), "tables.stars.likes (line 9) must be a column of numbers"),
        (schema("{item: film, value: stars, rows per person: 2}", unit="row"), "no person is protected"),
        (schema("[film, stars]"), "tables.stars.likes (line 9) must be likes"),
        (schema(unit="stars"), "edge, node, weight, value, personal, rating"),
        (
            schema(unit="rating").replace("    likes: {item: film, value: stars}\n", ""),
            "declared: the unit is rating",
        ),
    ],
)
def test_what_is_wrong_with_it_is_refused_with_its_place(text: str, shown: str) -> None:
    with pytest.raises(InvalidSchema) as refusal:
        loads(text)
    assert shown in str(refusal.value)


@pytest.mark.usefixtures("ratings")
def test_where_its_own_unit_is_protected_rows_are_not_asked() -> None:
    shop = loads(schema(unit="rating"))
    assert shop.own_kind is Likes
    with pytest.raises(InvalidParameter, match="here it is likes"):
        contribution(shop, Limits(), None)
    with pytest.raises(InvalidParameter, match="a model of the ratings"):
        check_relation(Scan(shop.table("stars")), shop)


@pytest.mark.usefixtures("ratings")
def test_a_draft_of_a_schema_mentions_it(tmp_path: Path) -> None:
    (tmp_path / "stars.csv").write_text("who,film,stars\n")
    assert f"  # {Likes.hint}\n" in suggest(tmp_path / "stars.csv").text


@pytest.mark.usefixtures("ratings")
def test_on_the_wire_nothing_but_the_declaration_of_the_kind_stands_under_its_name() -> None:
    table = wire.encode(loads(schema()).table("stars"))
    for wrong in (
        {"is": "Graph", **dict.fromkeys(("directed", "edges", "degree", "weight", "time", "nodes"))},
        3,
        [],
        None,
    ):
        with pytest.raises(InvalidParameter):
            wire.decode({**table, "likes": wrong})
    places = {**wire.encode(Places(zones=("who", "film")))}
    with pytest.raises(InvalidParameter, match="likes must be of type Likes"):
        wire.decode({**table, "likes": places})
    with pytest.raises(InvalidParameter):
        wire.decode({**table, "declared": [table["likes"]]})


def test_a_kind_that_is_not_registered_is_unknown_everywhere() -> None:
    with pytest.raises(InvalidSchema, match="one of the keys"):
        loads(schema())
    columns = (Column("film", Kind.TEXT), Column("stars", Kind.INTEGER, 1, 5))
    with pytest.raises(TypeError, match="unexpected keyword argument 'likes'"):
        Table("stars", columns, "stars.csv", likes=Likes("film", "stars"))
    with pytest.raises(InvalidParameter, match="declared"):
        Table("stars", columns, "stars.csv", declared=(Likes("film", "stars"),))
    with pytest.raises(InvalidParameter, match="a kind of data: stream, graph, places, ratings"):
        Slot[str]().add("likes", "what is asked")


def test_a_table_takes_a_kind_by_its_name_and_nothing_else_under_it() -> None:
    ends = tuple(Column(end, Kind.INTEGER, 0, 9) for end in ("one", "other"))
    graph = Graph(("one", "other"))
    table = Table("friends", ends, "friends.csv", graph=graph)
    assert table == Table("friends", ends, "friends.csv", declared=(graph,))
    assert hash(table) == hash(Table("friends", ends, "friends.csv", declared=(graph,)))
    assert replace(table, graph=None).declared == ()  # type: ignore[call-arg]
    assert replace(table, name="others").graph == graph
    assert replace(table, graph=replace(graph, directed=True)).graph == replace(graph, directed=True)  # type: ignore[call-arg]
    for wrong in (Places(zones=("one", "other")), "graph", 3):
        with pytest.raises(InvalidParameter, match="of type Graph"):
            Table("friends", ends, "friends.csv", graph=wrong)  # type: ignore[arg-type]
    for many in ((graph, graph), ("graph",), (None,), graph, [graph], 3, None):
        with pytest.raises(InvalidParameter, match="one declaration of a kind"):
            Table("friends", ends, "friends.csv", declared=many)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="not allowed for a table of edges"):
        Table("friends", ends, "friends.csv", graph=graph, places=Places(zones=("one", "other")))
    assert DataSet("friends", (table,), EDGE).own_kind is Graph
    assert DataSet("rows", (replace(table, declared=()),), ROW).own_kind is None


def test_what_a_table_declares_has_one_order() -> None:
    columns = (*(Column(name, Kind.REAL) for name in ("y", "x")), Column("at", Kind.TIMESTAMP))
    both = (Places(("y", "x"), (0.0, 0.0, 9.0, 9.0)), Ticks("at", 60, datetime.datetime(2025, 1, 1)))
    here, there = (Table("t", columns, "t.csv", declared=some) for some in (both, both[::-1]))
    assert here == there
    assert [one.kind for one in here.declared] == ["stream", "places"]
    assert (here.places, here.stream) == both


def test_what_a_room_above_registers_stands_under_the_kind_and_once() -> None:
    groups: Slot[str] = Slot()
    groups.add("places", "heat maps")
    groups.add("graph", "triangles")
    assert groups["graph"] == "triangles"
    assert "stream" not in groups
    with pytest.raises(InvalidParameter, match="registered once"):
        groups.add("graph", "stars")


def test_the_module_of_a_part_is_imported_when_the_part_is_wanted() -> None:
    lazy: Slot[Any] = Slot({"graph": "dither.no_such_module"})
    assert lazy.names == ("graph",)
    assert "dither.no_such_module" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        lazy["graph"]
