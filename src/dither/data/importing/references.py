# ruff: noqa: S608 - every name and path in a statement is quoted or made up here
"""How well the references of a table fit the keys that they refer to. For owners only.

**Not private.** Like ``fit``: counts without noise, for the screen of the person who owns the rows.

A key that several people have gives each of them the rows that refer to it. One such row would move a count by all of
them, while noise hides one person. So files in which a row refers to such a key are refused when they are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dither.data.engines.spill import SpillFolder
from dither.data.expressions import Kind
from dither.data.importing.conversion import importing_connection, printed_cells
from dither.data.importing.duckdb_tables import Source
from dither.data.importing.fit import asked, opened
from dither.data.schema import Owner, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class ReferenceFit:
    """How the references of one table fit.

    Args:
        owner: what is declared.
        dangling: how many rows refer to a key that does not exist: they do not exist for any answer.
        repeated: how many keys occur in more than one row: in a join one of a person's rows counts.
        beyond: how many rows are more than may refer to one key.
        shared: how many keys that rows refer to belong to more than one person: they are refused when they are added.
            None where not all tables up to the privacy id could be read.

    """

    owner: Owner
    dangling: int
    repeated: int
    beyond: int
    shared: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every row refers to a key that occurs once, and no more do than are declared."""
        return not (self.dangling or self.repeated or self.beyond or self.shared)


@dataclass(frozen=True)
class Shared:
    """Keys of a table that rows refer to and that belong to more than one person.

    Args:
        keys: how many there are.
        people: how many people have one of them, at most.

    """

    keys: int
    people: int


#: A table and its CSV or Parquet files, resolved.
Filed = tuple[Table, Sequence[str]]


def reference_of(chain: Sequence[Filed]) -> ReferenceFit | None:
    """Return how the references of a table fit the table that they refer to; None for a table without owner.

    Args:
        chain: the table, then the tables through which its rows belong to people, the next one first. Where it ends
            before the privacy id, it is not looked at whose the keys are.

    Raises:
        EngineUnavailable: a file cannot be read to its end, or lacks a column.

    """
    table = chain[0][0]
    owner = table.owner
    if owner is None:
        return None
    with closing(SpillFolder()) as folder, importing_connection(folder.path) as connection:
        read = _Reading(connection, folder.path)
        mine, theirs = read.cells(chain[0], owner.columns), read.cells(chain[1], owner.keys)
        names = _names(owner)
        keys = f"SELECT {names}, count(*) AS n FROM ({theirs}) GROUP BY {names}"
        # A key without a value equals nothing, and does not repeat.
        refers = f"SELECT {names}, count(*) AS n FROM ({mine}) WHERE {_whole(owner)} GROUP BY {names}"
        beyond = "0" if owner.rows is None else f"sum(greatest(m.n - {owner.rows}, 0))"
        told = f"sum(m.n) FILTER (t.n IS NULL), {beyond} FROM ({refers}) AS m LEFT JOIN ({keys}) AS t USING ({names})"
        dangling, more = asked(connection, f"SELECT {told}", table)[0]
        (repeated,) = asked(connection, f"SELECT count(*) FROM ({keys}) WHERE n > 1 AND {_whole(owner)}", chain[1][0])[
            0
        ]
        shared = read.shared(chain, owner).keys if chain[-1][0].owner is None else None
    return ReferenceFit(owner, int(dangling or 0), int(repeated or 0), int(more or 0), shared)


def shared_keys(chain: Sequence[Filed]) -> Shared:
    """Return how many keys that the rows of a table refer to belong to more than one person. NOT PRIVATE.

    Which rows are beyond ``Owner.rows`` is not looked at: a key that is shared through one of these counts as well.

    Args:
        chain: the table, then all tables through which its rows belong to people, to the one with the privacy id.

    Raises:
        EngineUnavailable: a file cannot be read to its end, or lacks a column.

    """
    owner = chain[0][0].owner
    if owner is None:
        return Shared(0, 0)
    with closing(SpillFolder()) as folder, importing_connection(folder.path) as connection:
        return _Reading(connection, folder.path).shared(chain, owner)


@dataclass(frozen=True)
class _Reading:
    """Files that are read together, each opened once."""

    connection: DuckDBPyConnection
    folder: Path
    opened: dict[str, list[Source]] = field(default_factory=dict)

    def shared(self, chain: Sequence[Filed], owner: Owner) -> Shared:
        """Return the keys of several people that rows refer to."""
        names = _names(owner)
        refers = f"SELECT DISTINCT {names} FROM ({self.cells(chain[0], owner.columns)}) WHERE {_whole(owner)}"
        people = f"SELECT {names}, count(*) AS n FROM ({self.people(chain[1:], owner.keys)}) GROUP BY {names}"
        told = f"count(*), max(t.n) FROM ({refers}) AS m JOIN ({people}) AS t USING ({names}) WHERE t.n > 1"
        keys, most = asked(self.connection, f"SELECT {told}", chain[0][0])[0]
        return Shared(int(keys or 0), int(most or 0))

    def people(self, chain: Sequence[Filed], keys: Sequence[str]) -> str:
        """Return a SELECT of the different pairs of a key, as k0, k1, ..., and a person p who has a row with it."""
        table, owner, size = chain[0][0], chain[0][0].owner, len(keys)
        rows = self.cells(chain[0], (*keys, *table.identifying))
        listed = ", ".join(f"m.k{place}" for place in range(size))
        if owner is None:
            return f"SELECT DISTINCT {listed}, m.k{size} AS p FROM ({rows}) AS m WHERE m.k{size} IS NOT NULL"
        meets = " AND ".join(f"m.k{size + place} = o.k{place}" for place in range(len(owner.keys)))
        above = self.people(chain[1:], owner.keys)
        return f"SELECT DISTINCT {listed}, o.p FROM ({rows}) AS m JOIN ({above}) AS o ON {meets}"

    def cells(self, filed: Filed, names: Sequence[str]) -> str:
        """Return a SELECT of some columns of a table's files, as k0, k1, ..."""
        table, files = filed
        if table.name not in self.opened:
            self.opened[table.name] = [
                opened(self.connection, table, file, self.folder / f"{table.name}-{place}.parquet")
                for place, file in enumerate(files)
            ]
        # As in every answer, an id, key or reference that is longer than declared is none.
        longest = {one.name: one.longest for one in table.columns if one.kind is Kind.TEXT}
        parts = []
        for source in self.opened[table.name]:
            cells = printed_cells(table, source)
            whole = [
                f"(CASE WHEN length({cells[name]}) <= {longest[name]} THEN {cells[name]} END)"
                if name in longest
                else cells[name]
                for name in names
            ]
            listed = ", ".join(f"{cell} AS k{number}" for number, cell in enumerate(whole))
            parts.append(f"SELECT {listed} FROM {source[0]} AS s")
        return " UNION ALL ".join(parts)


def _names(owner: Owner) -> str:
    return ", ".join(f"k{place}" for place in range(len(owner.keys)))


def _whole(owner: Owner) -> str:
    return " AND ".join(f"k{place} IS NOT NULL" for place in range(len(owner.keys)))
