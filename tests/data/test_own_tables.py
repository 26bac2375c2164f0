"""A request reads the tables of its own data set as they are declared, whoever made it and wherever it is asked."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import dither
from dither.curator.folder import Curator
from dither.data import (
    Aggregation,
    Bounded,
    Column,
    CountRows,
    DataSet,
    Filter,
    JoinPersons,
    JoinPublic,
    Keep,
    Kind,
    Limits,
    Literal,
    Name,
    PerPerson,
    Project,
    Relation,
    Scan,
    Table,
    Window,
    wire,
)
from dither.data.engines import Engine
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.postgresql import PostgreSQLEngine
from dither.data.engines.spark import SparkEngine
from dither.data.expressions import OneOf
from dither.data.own_tables import check_tables, parts_of
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.learn.images.source import ImageRows
from dither.lift.axes import Axis
from dither.lift.cells import Cells, source_of
from dither.lift.items import ItemTable
from dither.lift.rows import Rows
from dither.mechanisms.core.spec import from_spec, to_spec
from dither.privacy import ROW, PureDP
from dither.publish.queries import plan_query
from dither.publish.queries.adaptive_parts import OpenPartition
from dither.publish.queries.partitioned import Part, Partitioned
from dither.publish.queries.query import Aggregate, Query

COLUMNS = (
    Column("id", Kind.INTEGER),
    Column("no", Kind.INTEGER, lower=0, upper=9),
    Column("ill", Kind.BOOLEAN),
    Column("ward", Kind.TEXT, categories=("a", "b")),
)
VISITS = Table("visits", COLUMNS, "visits.csv", person="id")
PATIENTS = Table("patients", (Column("id", Kind.INTEGER), Column("hiv", Kind.BOOLEAN)), "patients.csv", person="id")
WARDS = Table("wards", (Column("ward", Kind.TEXT), Column("floor", Kind.INTEGER)), "wards.csv", None, True, ("ward",))
CLINIC = DataSet("clinic", (VISITS, PATIENTS, WARDS), person_unit("id"), rows=1)
ROWS = DataSet("rows", (dataclasses.replace(VISITS, person=None),), ROW)
PUBLIC = Table("patients", PATIENTS.columns, PATIENTS.source, is_public=True, key=("id",))
OTHER_BOUNDS = dataclasses.replace(
    VISITS, columns=tuple(Column("no", Kind.INTEGER, lower=0, upper=1) if one.name == "no" else one for one in COLUMNS)
)
LONGER = dataclasses.replace(
    VISITS, columns=(*COLUMNS[:-1], Column("ward", Kind.TEXT, categories=("a", "b"), length=9))
)


class _Impostor(Table):
    """A table that calls itself equal to every other."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = Table.__hash__


def joined_to(table: Table) -> Relation:
    return JoinPublic(Scan(VISITS), table, (Literal(42, Kind.INTEGER),), False, "p_")


#: Relations that are not about the clinic as it is declared.
FORGED: dict[str, Relation] = {
    "another privacy id": Scan(dataclasses.replace(VISITS, person="no")),
    "no privacy id": Scan(dataclasses.replace(VISITS, person=None)),
    "other bounds": Scan(OTHER_BOUNDS),
    "other lengths": Scan(LONGER),
    "another name": Scan(dataclasses.replace(VISITS, name="others")),
    "upper case": Scan(dataclasses.replace(VISITS, name="VISITS")),
    "a private table as a public one": joined_to(PUBLIC),
    "another key": JoinPublic(
        Scan(VISITS), dataclasses.replace(WARDS, key=("floor",)), (Literal(1, Kind.INTEGER),), False, "w_"
    ),
    "equal by its own word": Scan(_Impostor("visits", COLUMNS, "visits.csv", person="no")),
}


def over(relation: Relation) -> dict[str, Relation]:
    """Return every relation of the closed tree over one."""
    name = next(iter(relation.columns))
    found: dict[str, Relation] = {
        "itself": relation,
        "filter": Filter(relation, Literal(True, Kind.BOOLEAN)),
        "project": Project(relation, (("x", Name(name)),)),
        "public": JoinPublic(relation, WARDS, (Literal("a", Kind.TEXT),), True, "q_"),
        "keep": Keep(relation, (Name(name),), ()),
    }
    if relation.has_persons:
        one = PerPerson(Scan(VISITS), (), (("n", CountRows()),))
        found["left"] = JoinPersons(relation, one, None, False, "j_")
        found["right"] = JoinPersons(one, relation, None, False, "j_")
        found["per person"] = PerPerson(relation, (), (("n", CountRows()),))
        found["window"] = Window(relation, "w", "count", None, (), ())
        found["bounded"] = Bounded(relation, (), Limits(rows=1), ())
    return found


@pytest.mark.parametrize("forged", FORGED)
def test_a_table_that_is_not_the_data_sets_own_is_found_wherever_it_stands(forged: str) -> None:
    for place, relation in over(FORGED[forged]).items():
        for anywhere in (False, True):
            with pytest.raises(InvalidParameter, match="as it is declared there"):
                check_tables(relation, CLINIC, anywhere=anywhere)
        assert any(part is FORGED[forged] for part in parts_of(relation)), place


def test_the_tables_of_a_data_set_are_its_own_and_a_copy_is_read_from_anywhere() -> None:
    for relation in over(joined_to(dataclasses.replace(WARDS, key=("floor",)))).values():
        dataset = dataclasses.replace(CLINIC, tables=(VISITS, PATIENTS, dataclasses.replace(WARDS, key=("floor",))))
        if "q_ward" not in relation.columns:
            check_tables(relation, dataset)
    for relation in over(Scan(VISITS)).values():
        check_tables(relation, CLINIC)
    moved = Scan(dataclasses.replace(VISITS, source="elsewhere.parquet"))
    check_tables(moved, CLINIC, anywhere=True)
    with pytest.raises(InvalidParameter):
        check_tables(moved, CLINIC)


def test_a_relation_outside_of_the_closed_tree_is_refused() -> None:
    class Mine(Scan):
        """A scan of my own."""

    for relation in (Mine(VISITS), Filter(Mine(VISITS), Literal(True, Kind.BOOLEAN)), Relation()):
        with pytest.raises(InvalidParameter, match="closed tree"):
            check_tables(relation, CLINIC)


# Records.

AXIS = Axis("no", Name("no"), None, tuple(range(11)), True, True)


def query(relation: Relation, dataset: DataSet = CLINIC) -> Query:
    return Query(dataset, relation, (), (Aggregate("n", "count"),), (("n", Name("n")),), Limits())


def partitioned(relation: Relation) -> Partitioned:
    part = Filter(relation, OneOf(Name("ill"), (Literal(True, Kind.BOOLEAN),)))
    return Partitioned(CLINIC, relation, Name("ill"), (Part("ill", (True,), query(part)),))


MAKERS: dict[type, Any] = {
    Query: query,
    Partitioned: partitioned,
    OpenPartition: lambda relation: OpenPartition(CLINIC, relation, Name("ill"), (("ill", (True,)),)),
    Cells: lambda relation: Cells(CLINIC, relation, (AXIS,)),
    ItemTable: lambda relation: ItemTable(CLINIC, relation, AXIS),
    ImageRows: lambda relation: ImageRows(CLINIC, relation, ("ward",), "ill", (False, True)),
    Rows: lambda relation: Rows(CLINIC, relation, ("no",)),
}


def records() -> set[type]:
    """Return every record of the package that holds a data set and a relation."""
    found = set()
    for module in pkgutil.walk_packages(dither.__path__, "dither."):
        if module.name.startswith(("dither.data", "dither.lift", "dither.publish", "dither.curator", "dither.learn")):
            for thing in vars(importlib.import_module(module.name)).values():
                if isinstance(thing, type) and dataclasses.is_dataclass(thing):
                    words = set(re.findall(r"\w+", " ".join(str(field.type) for field in dataclasses.fields(thing))))
                    if {"DataSet", "Relation"} <= words:
                        found.add(thing)
    return found


def test_every_record_of_a_data_set_and_a_relation_compares_them() -> None:
    """A record that is new has no maker here, and fails."""
    assert records() == set(MAKERS)
    for record, make in MAKERS.items():
        assert isinstance(make(Scan(VISITS)), record)
        for name, relation in FORGED.items():
            with pytest.raises(InvalidParameter, match=r"as it is declared there|about a data set whose unit"):
                make(relation)
            if record is Partitioned and name != "no privacy id":
                honest = partitioned(Scan(VISITS))
                with pytest.raises(InvalidParameter):
                    dataclasses.replace(honest, relation=relation)


def test_a_row_is_no_person_by_a_querys_own_word() -> None:
    one = Bounded(Scan(dataclasses.replace(ROWS.tables[0], person="no")), (), Limits(rows=100), COLUMN_NAMES)
    for relation in (one, JoinPersons(one, one, None, False, "b_")):
        with pytest.raises(InvalidParameter, match="as it is declared there"):
            query(relation, ROWS)


COLUMN_NAMES = tuple(column.name for column in COLUMNS)


def test_rows_given_in_place_of_a_name_are_the_data_sets_own() -> None:
    for relation in FORGED.values():
        with pytest.raises(InvalidParameter, match="as it is declared there"):
            source_of(CLINIC, relation)
    assert source_of(CLINIC, Scan(VISITS))[0] == Scan(VISITS)


def test_a_query_that_was_changed_on_its_way_is_refused() -> None:
    answer = plan_query(query(Scan(VISITS)), PureDP(1))
    text = json.dumps(to_spec(answer))
    wired = wire.dumps(query(Scan(VISITS)))
    assert from_spec(json.loads(text)) == answer
    assert wire.loads(wired) == query(Scan(VISITS))
    for sent, read in ((text, lambda given: from_spec(json.loads(given))), (wired, wire.loads)):
        changed, places = "", 0
        start = sent.find('"id"')
        while start >= 0:
            if sent[:start].rstrip(' :"').endswith("person"):
                changed, places = sent[:start] + '"no"' + sent[start + 4 :], places + 1
                with pytest.raises(InvalidParameter):
                    read(changed)
            start = sent.find('"id"', start + 1)
        assert places >= 2  # of the data set's tables and of the relation


# Engines.

ENGINES: dict[type[Engine], Any] = {
    ReferenceEngine: lambda: ReferenceEngine(CLINIC, {"visits": [], "patients": [], "wards": []}),
    DuckDBEngine: lambda: DuckDBEngine(CLINIC),
    PostgreSQLEngine: lambda: PostgreSQLEngine(dataclasses.replace(CLINIC, engine="postgresql://nobody.invalid/x")),
    SparkEngine: lambda: SparkEngine(dataclasses.replace(CLINIC, engine="spark")),
}


def test_every_engine_of_the_package_is_tried() -> None:
    own = {one for one in Engine.__subclasses__() if one.__module__.startswith("dither.data")}
    assert own == set(ENGINES)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
def test_every_engine_refuses_tables_that_are_not_its_own_before_it_opens_anything(engine: type[Engine]) -> None:
    opened = ENGINES[engine]()
    for relation in FORGED.values():
        asked = Aggregation(relation, (), (CountRows(),))
        for ask in (opened.prepare, opened.aggregate):
            with pytest.raises(InvalidParameter, match="as it is declared there"):
                ask(asked)


# The session.


def test_a_session_answers_about_its_own_tables_alone(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("id,no,ill,ward\n" + "7,1,true,a\n" * 5)
    (tmp_path / "patients.csv").write_text("id,hiv\n7,true\n")
    (tmp_path / "wards.csv").write_text("ward,floor\na,1\n")
    tables = tuple(dataclasses.replace(one, source=str(tmp_path / one.source)) for one in CLINIC.tables)
    dataset = dataclasses.replace(CLINIC, tables=tables)
    with contextlib.closing(Curator.create(tmp_path / "curator", anchors=tmp_path / "anchors")) as curator:
        curator.add(dataset, budget=PureDP(9))
        session = curator.session("clinic", analyst="eve")
        asked = query(Scan(session.dataset.table("visits")), session.dataset)
        assert session.ask(asked, PureDP(1)).names == ("n",)
        # Past the record's own check, as if one had forgotten it.
        object.__setattr__(asked, "relation", Scan(dataclasses.replace(session.dataset.table("visits"), person="no")))
        with pytest.raises(InvalidParameter, match="as it is declared there"):
            session.ask(asked, PureDP(1))
        scan: Any = Scan(session.dataset.table("visits"))
        for refused in (
            lambda: session.histogram(scan, ["ill"], epsilon=1),
            lambda: session.marginals(scan, [("ill",)], epsilon=1),
            lambda: session.synthesize(scan, epsilon=1),
            lambda: session.anonymize(scan, epsilon=1),
            lambda: session.synthesize(scan, where="ill", epsilon=1),
            lambda: session.synthesize_families(scan, "patients", epsilon=1),
            lambda: session.synthesize_families("visits", scan, epsilon=1),
            lambda: session.fit(object(), scan, target="ill"),
        ):
            with pytest.raises(InvalidParameter, match="the name of a table"):
                refused()
        assert session.balance().spent.pure == 1
        session.close()


# What else a tree may say of the tables that it joins.


def test_keys_of_another_kind_than_the_public_tables_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        JoinPublic(Scan(VISITS), WARDS, (Name("no"),), False, "w_")
    with pytest.raises(InvalidParameter):
        JoinPublic(Scan(VISITS), WARDS, (Name("nothing"),), False, "w_")


def test_a_join_has_a_condition_that_is_true_or_false() -> None:
    one = PerPerson(Scan(VISITS), (), (("n", CountRows()),))
    for condition in (Name("ward"), Name("nothing"), Literal(1, Kind.INTEGER)):
        with pytest.raises(InvalidParameter):
            JoinPersons(Scan(VISITS), one, condition, False, "j_")
    JoinPersons(Scan(VISITS), one, Name("ill"), False, "j_")
