"""TPC-H, asked privately: tables in the shape of the standard, its 22 queries, and a page of what becomes of them.

``python -m tools.tpch`` writes ``docs/tpch.md``. The tables are our own: in the columns, sizes and laws of the
standard, and not the bytes of its generator.
"""
