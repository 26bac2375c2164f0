"""How the names of data files end, by the kind of the file, and what may separate the fields of a CSV file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

#: How the names of CSV files end.
CSV_ENDINGS: Final = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
#: How the names of files of JSON lines end, and those of workbooks.
JSON_ENDINGS: Final = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
EXCEL_ENDINGS: Final = (".xlsx", ".xlsm")
#: Files whose cells are read as they are declared to be written, and copied when they are added.
TEXT_ENDINGS: Final = (*CSV_ENDINGS, *JSON_ENDINGS, *EXCEL_ENDINGS)
PARQUET_ENDINGS: Final = (".parquet", ".pq", ".parq")
#: What may be declared to separate the fields of a CSV file.
DELIMITERS: Final = (",", ";", "\t", "|")


def may_end_in(sources: Iterable[str], endings: tuple[str, ...]) -> bool:
    """Return whether all files of a table may have such names; those of a folder or a pattern may have any.

    Args:
        sources: paths, patterns and folders.
        endings: the names.

    >>> may_end_in(["a.CSV", "b/"], CSV_ENDINGS), may_end_in(["a.csv", "b.parquet"], CSV_ENDINGS)
    (True, False)

    """
    return all(one.lower().endswith((*endings, "/", "*")) for one in sources)
