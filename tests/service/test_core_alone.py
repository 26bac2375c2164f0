"""A client, and a service, with nothing but what their extras say: no library of models is loaded for a query."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["sklearn"] = None  # as if it were not installed
from dither.curator.request_json import public_view, read_words, write_words
from dither.data.files import loads
from dither.publish.queries.builder import table
from dither.publish.workloads import Workload

clinic = loads('''
dataset: clinic
unit: row
tables: {visits: {source: visits.csv, columns: {ward: {kind: text, categories: [heart, skin]}}}}
''')
view = public_view(clinic)
rows = table("visits")
words = {"query": rows.count("n"), "partition": rows.partition("ward", {"a": ["heart"]}), "how": Workload.prefixes(2)}
assert set(read_words(write_words(words, view), clinic)) == set(words)
"""


def test_queries_parts_and_workloads_are_written_without_a_library_of_models() -> None:
    assert subprocess.run([sys.executable, "-c", SCRIPT], check=False).returncode == 0
