"""Random statements of the language of ``docs/sql.md``, answered privately with next to no noise and by plain DuckDB.

``world`` has the tables, ``words`` the functions, ``rows`` what stands in FROM and WHERE, ``statements`` what is asked,
``compare`` the judgement. ``python -m tools.grammar`` tries 2,000 statements; a few are tried by the tests.
"""
