"""Rows are named from elsewhere and never sent: what can be named, by whom, and what is told of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.curator.folder import Curator
from dither.curator.named_rows import NamedRows
from dither.data.files import schema_from
from dither.data.importing.sources import files_of
from dither.data.yaml_tree import from_plain, read, to_plain
from dither.errors import DataSetRetired, DitherError, InvalidParameter, InvalidSchema
from dither.privacy import PureDP
from dither.service.client import Connection, connect
from dither.service.desk import Desk
from dither.service.settings import Settings, read_settings
from tests.curator.conftest import ROWS, SCHEMA
from tests.service.conftest import Running, serving
from tools.security.payloads import paths

DECLARED: dict[str, Any] = to_plain(read(SCHEMA))


def named(source: str, name: str = "clinic") -> dict[str, Any]:
    visits = {**DECLARED["tables"]["visits"], "source": source}
    return {**DECLARED, "dataset": name, "tables": {"visits": visits}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rooted")
    for inner in ("root/2026", "other", "secret"):
        (folder / inner).mkdir(parents=True)
    (folder / "root" / "2026" / "visits.csv").write_text(ROWS)
    (folder / "root" / "2026" / "other.csv").write_text(ROWS.replace("heart", "skin"))
    (folder / "root" / "broken.csv").write_text(ROWS + "kanarienvogel,heart,1,2,3\n")
    (folder / "root" / "notes.doc").write_text(ROWS)
    (folder / "secret" / "visits.csv").write_text(ROWS)
    (folder / "root" / "link.csv").symlink_to(folder / "secret" / "visits.csv")
    (folder / "root" / "away").symlink_to(folder / "secret")
    return folder


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Running]:
    with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
        roots = [str(folder / "root"), str(folder / "other")]
        yield from serving(curator, Settings(port=0, timing="off", requests_per_second=10_000, roots=roots))


@pytest.fixture(scope="module")
def boss(service: Running) -> Connection:
    return connect(service.url, service.token("boss", "curator", quota=None))


def test_a_data_set_is_added_asked_given_other_rows_and_retired(
    service: Running, boss: Connection, folder: Path
) -> None:
    added = boss.add(named("2026/visits.csv"), epsilon=1000, is_draft=True)
    assert (added["dataset"], added["edition"], added["stage"]) == ("clinic", 1, "draft")
    boss.set_stage("clinic", "open")
    service.people.add("ana", "analyst")
    boss.grant("ana", "clinic", PureDP(1000))
    ana = service.people.new_token("ana")
    session = connect(service.url, ana).session("clinic")
    # Where the rows are is told to nobody.
    assert str(folder) not in json.dumps(connect(service.url, ana)._transport.get("v1", "datasets", "clinic").json())
    first = session.sql("SELECT COUNT(*) AS n FROM visits WHERE ward = 'heart'", epsilon=100)
    assert abs(float(first.rows[0][0]) - 133) < 10
    # Other rows keep name and budget, and what was spent stays spent.
    assert boss.add(named("2026/other.csv"))["edition"] == 2
    assert boss.add(named("2026/other.csv"))["edition"] == 2
    with pytest.raises(InvalidParameter, match="the budget of the data set"):
        boss.add(named("2026/other.csv"), epsilon=3)
    with pytest.raises(InvalidParameter, match=r"schema\.unit"):
        boss.add({**named("2026/other.csv"), "unit": "person replaced"})
    session = connect(service.url, ana).session("clinic")
    again = session.sql("SELECT COUNT(*) AS n FROM visits WHERE ward = 'heart'", epsilon=100)
    assert abs(float(again.rows[0][0])) < 10
    assert service.curator.ledger.balance("clinic").spent.pure == 200
    with pytest.raises(InvalidParameter, match="reason"):
        boss.set_stage("clinic", "retired")
    boss.set_stage("clinic", "retired", reason="the study is over")
    assert not list((folder / "home" / "data" / "clinic").glob("*.parquet"))
    with pytest.raises(DataSetRetired):
        boss.add(named("2026/other.csv"))
    assert (folder / "root" / "2026" / "other.csv").exists()


@pytest.mark.parametrize(
    "source",
    [
        *("/etc/passwd", "../secret/visits.csv", "2026/../../secret/visits.csv", "link.csv", "away/visits.csv"),
        *("away/*.csv", "*.doc", "notes.doc", "2026", "absent.csv", "file:2026/visits.csv", "frames", "~/visits.csv"),
        *("http://127.0.0.1/x.csv", "2026\\visits.csv", "2026/visits.csv\x00", "${HOME}/x.csv", "//host/share/x.csv"),
        *paths(),
    ],
)
def test_no_path_leads_beyond_the_roots(folder: Path, source: str) -> None:
    reach = NamedRows((folder / "root", folder / "other"))
    with pytest.raises(DitherError):
        reach.declared(named(source))


def test_patterns_and_the_second_root_are_found(folder: Path) -> None:
    reach = NamedRows((folder / "root", folder / "other"))
    (folder / "other" / "late.csv").write_text(ROWS)
    [table] = reach.declared(named("late.csv")).tables
    assert table.source == str((folder / "other" / "late.csv").resolve())
    [table] = reach.declared(named("2026/*.csv")).tables
    assert table.source.endswith("root/2026/*.csv")
    with pytest.raises(DitherError):
        NamedRows().declared(named("late.csv"))


@pytest.mark.parametrize("source", ["visits.csv", "*.csv", "link.csv"])
def test_names_that_read_like_patterns_lead_to_themselves(tmp_path: Path, source: str) -> None:
    """A root that is called [ab] is not a and b, nor is a file behind a link."""
    for inner in ("[ab]", "a"):
        (tmp_path / inner).mkdir()
        for name in ("visits.csv", "x[12].csv", "x1.csv"):
            (tmp_path / inner / name).write_text(ROWS)
    own = tmp_path.resolve() / "[ab]"
    (own / "link.csv").symlink_to(own / "x[12].csv")
    [table] = NamedRows((tmp_path / "[ab]",)).declared(named(source)).tables
    wanted = {"visits.csv": ["visits.csv"], "link.csv": ["x[12].csv"]}
    found = files_of(table, tmp_path)
    assert {Path(file).parent for file in found} == {own}
    assert source not in wanted or [Path(file).name for file in found] == wanted[source]
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        if source == "visits.csv":
            curator.add(NamedRows((own,)).declared(named(source)), budget=PureDP(1), within=(own,))
            assert [check.note for check in curator.check("clinic")] == [""]


@pytest.mark.parametrize("source", ["now.csv", "n*.csv"])
def test_a_file_that_became_a_link_is_not_followed(folder: Path, tmp_path: Path, source: str) -> None:
    """Found below the root, and a link to elsewhere when it is read: nothing of it is registered."""
    (tmp_path / "root").mkdir()
    file = tmp_path / "root" / "now.csv"
    file.write_text(ROWS)
    reach = NamedRows((tmp_path / "root",))
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        desk = Desk(curator, named=reach)
        found = desk.named
        body = {"schema": named(source), "budget": PureDP(1).to_dict()}

        def swapped(said: Any) -> Any:
            told = found(said)
            file.unlink()
            file.symlink_to(folder / "secret" / "visits.csv")
            return told

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(desk, "named", swapped)
            with pytest.raises(InvalidParameter, match="says why they cannot"):
                desk.add(body)
        assert curator.ledger.datasets() == ()
        assert not (tmp_path / "home" / "data" / "clinic").exists()
        file.unlink()
        file.write_text(ROWS)
        assert desk.add(body)["edition"] == 1
        desk.close()


def test_other_rows_are_of_the_same_people(tmp_path: Path) -> None:
    """The column of the privacy id keeps its name in the source, which its declared name does not say."""
    (tmp_path / "v.csv").write_text("who,visit,cost\n" + "".join(f"1,{n},10\n" for n in range(50)))
    (tmp_path / "lines.csv").write_text("visit,other,price\n" + "".join(f"{n},{n},1\n" for n in range(50)))
    cost = {"kind": "integer", "bounds": [0, 10]}

    def schema(who: str, *, refers: str = "visit", name: str = "v") -> dict[str, Any]:
        number = {"kind": "integer", "from": "visit"}
        columns = {"who": {"kind": "integer", "from": who}, "cost": cost} | ({"no": number} if who != "visit" else {})
        tables = {name: {"source": "v.csv", "privacy id": "who", "columns": columns}}
        if "no" in columns:
            columns = {"no": {"kind": "integer", "from": refers}, "price": cost}
            tables["lines"] = {"source": "lines.csv", "owner": {"no": f"{name}.no"}, "columns": columns}
        return {"dataset": "v", "unit": "person", "contribution": {"rows": 1}, "tables": tables}

    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        desk = Desk(curator, named=NamedRows((tmp_path,)))
        desk.add({"schema": schema("who"), "budget": PureDP(1).to_dict()})
        # Another id, another reference, and another id under a new name of the table.
        for other in (schema("visit"), schema("who", refers="other"), schema("visit", name="w")):
            with pytest.raises(InvalidParameter, match="people that it was before"):
                desk.add({"schema": other})
        assert desk.add({"schema": schema("who")})["edition"] == 1
        desk.close()


@pytest.mark.parametrize("source", ["x" * 5000 + ".csv", "loop.csv", "loop.csv/x.csv", "*/" * 200 + "x.csv"])
def test_what_cannot_be_looked_up_is_refused_as_what_is_absent(tmp_path: Path, source: str) -> None:
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(InvalidParameter, match="none is there"):
        NamedRows((tmp_path,)).declared(named(source))


def test_why_rows_were_not_taken_is_told_beside_them_alone(boss: Connection, service: Running) -> None:
    with pytest.raises(InvalidParameter, match="says why they cannot") as refused:
        boss.add(named("broken.csv", "broken"), epsilon=1)
    assert "kanarienvogel" not in str(refused.value)
    assert "broken" not in service.curator.ledger.datasets()
    assert "kanarienvogel" not in service.log.getvalue()


def test_a_server_is_named_and_never_addressed() -> None:
    reach = NamedRows(databases={"records": "postgresql://reader:${PASSWORD}@db/records"})
    for engine in ("postgresql://x@127.0.0.1/y", "spark", "spark://x", "other", 3, None):
        with pytest.raises(InvalidParameter, match=r"schema\.engine"):
            reach.declared({**named("visits"), "engine": engine})
    found = reach.declared({**named("public.visits"), "engine": "records"})
    assert (found.engine, found.tables[0].source) == ("postgresql://reader:${PASSWORD}@db/records", "public.visits")


def test_nodes_are_not_read_off_files_from_elsewhere(folder: Path) -> None:
    """Declared nodes are told to everybody who may ask: a file that was named as theirs would be read aloud."""
    (folder / "root" / "nodes.csv").write_text("name\nkanarienvogel\n")
    (folder / "root" / "edges.csv").write_text("a,b\nx,y\n")
    nodes = {"source": "nodes.csv", "public": True, "key": "name", "columns": {"name": "text"}}
    edges = {
        "source": "edges.csv",
        "graph": {"ends": ["a", "b"], "nodes": "people"},
        "columns": {"a": "text", "b": "text"},
    }
    schema = {"dataset": "friends", "unit": "edge", "tables": {"people": nodes, "edges": edges}}
    with pytest.raises(InvalidSchema) as refused:
        NamedRows((folder / "root",)).declared(schema)
    assert "kanarienvogel" not in str(refused.value)


@pytest.mark.parametrize("body", [None, 3, [], "x", {}, {"tables": 3}, {"tables": {"visits": 3}}, {"dataset": None}])
def test_what_is_no_schema_is_refused(body: Any, folder: Path) -> None:
    with pytest.raises((InvalidSchema, InvalidParameter)):
        NamedRows((folder / "root",)).declared(body)


def test_a_schema_as_texts_declares_the_same() -> None:
    assert schema_from(to_plain(read(SCHEMA))) == schema_from(to_plain(from_plain(to_plain(read(SCHEMA)))))
    with pytest.raises(InvalidSchema, match="decided by the curator"):
        to_plain(read("dataset: ???\n"))


def test_a_schema_is_added_as_it_is_typed(service: Running, folder: Path, tmp_path: Path) -> None:
    environment = {"DITHER_TOKEN": service.token("typist", "curator", quota=None)}
    (tmp_path / "typed.yaml").write_text(
        SCHEMA.replace("dataset: clinic", "dataset: typed").replace("visits.csv", "typed.csv")
    )
    (folder / "root" / "typed.csv").write_text(ROWS.replace("skin", "heart"))
    words = ["add", str(tmp_path / "typed.yaml"), "--server", service.url]
    found = CliRunner().invoke(app, [*words, "--budget", "2", "--draft"], env=environment)
    assert found.exit_code == 0, found.output
    assert "typed: edition 1; epsilon = 2" in found.output
    assert f"done at {service.url}" in found.output
    again = CliRunner().invoke(app, [*words, "--json"], env=environment)
    assert json.loads(again.output)["server"] == service.url
    assert "datasets open typed" in found.output
    for more in (["--in-place", "--budget", "2"], ["--allow-empty", "--budget", "2"]):
        assert CliRunner().invoke(app, [*words, *more], env=environment).exit_code != 0
    data = ["add", str(folder / "root" / "typed.csv"), "--budget", "2", "--server", service.url]
    refused = CliRunner().invoke(app, data, env=environment)
    assert isinstance(refused.exception, InvalidParameter)
    assert "never sent" in str(refused.exception)


def test_roots_and_databases_are_set_in_the_settings(folder: Path) -> None:
    said = read_settings({"roots": [str(folder)], "databases": {"records": "postgresql://x@db/y"}}, {}, {})
    assert said.to_dict()["databases"] == {"records": "postgresql://x@db/y"}
    variables = {
        "DITHER_SERVICE_ROOTS": os.pathsep.join([str(folder / "root"), str(folder / "other")]),
        "DITHER_SERVICE_DATABASES": "records=postgresql://x:${SECRET}@db/y",
    }
    said = read_settings({}, {}, variables)
    assert (len(said.roots), list(said.databases)) == (2, ["records"])
    for wrong in (
        {"roots": str(folder)},
        {"roots": ["here"]},
        {"roots": [str(folder / "absent")]},
        {"roots": [3]},
        {"databases": "x"},
        {"databases": {"records": "postgresql://x:secret@db/y"}},
        {"databases": {"records": "mysql://x@db/y"}},
        {"databases": {"a b": "postgresql://x@db/y"}},
        {"databases": {"records": 3}},
    ):
        with pytest.raises(InvalidParameter) as refused:
            read_settings(wrong, {}, {})
        assert "secret" not in str(refused.value)
