"""Two machines, one ledger in PostgreSQL: what one declares the other can ask, on the same budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dither.curator.folder import Curator
from dither.errors import NotFound, QuotaExceeded
from dither.privacy import PureDP
from dither.testing.postgres import PostgresAbsent, PostgresServer, temporary_postgres
from tests.curator.conftest import ROWS, SCHEMA

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg", reason="the optional part 'postgres' is not installed")
    try:
        with temporary_postgres() as running:
            yield running
    except PostgresAbsent as absent:
        pytest.skip(f"no PostgreSQL server: {absent}")


def test_what_one_machine_declares_the_other_can_ask(server: PostgresServer, tmp_path: Path) -> None:
    import psycopg

    rows, books = server.new_database(), server.new_database()
    with psycopg.connect(rows, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (patient BIGINT, ward TEXT, waited FLOAT8, note TEXT)")
        with connection.cursor() as cursor:
            values = [line.split(",") for line in ROWS.splitlines()[1:]]
            cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s, %s)", values)
    schema = f'engine: "{rows}"\n' + SCHEMA.replace("source: visits.csv", "source: visits")
    (tmp_path / "clinic.yaml").write_text(schema)
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "files.yaml").write_text(SCHEMA.replace("dataset: clinic", "dataset: files"))
    with (
        Curator.create(tmp_path / "one", ledger=books, anchors=tmp_path / "anchors one") as one,
        Curator.create(tmp_path / "two", ledger=books, anchors=tmp_path / "anchors two") as two,
    ):
        one.add(tmp_path / "clinic.yaml", budget=PureDP(10**6))
        one.add(tmp_path / "files.yaml", budget=PureDP(1))
        assert [dataset.name for dataset in two.datasets()] == ["clinic"]
        with pytest.raises(NotFound):
            two.dataset("files")
        assert two.dataset("clinic") == one.dataset("clinic")
        two.set_quota("clinic", "ana", PureDP(2 * 10**5))
        with closing(two.session("clinic", analyst="ana")) as session:
            assert session.sql(COUNT, epsilon=10**5).rows[0][0] == 200
        assert one.ledger.balance("clinic").releases == 1
        with closing(one.session("clinic", analyst="ana")) as session, pytest.raises(QuotaExceeded):
            session.sql(COUNT, epsilon=1.5 * 10**5)
        # Declared otherwise by the other machine: both say the same again.
        (tmp_path / "clinic.yaml").write_text(schema.replace("bounds: [0, 100]", "bounds: [0, 200]"))
        two.add(tmp_path / "clinic.yaml", budget=PureDP(10**6))
        assert one.dataset("clinic") == two.dataset("clinic")
        assert one.standing("clinic").edition == two.standing("clinic").edition
        assert one.ledger.verify().is_intact
        one.retire("clinic", reason="over")
        assert two.ledger.standings()["clinic"].is_retired
