"""Two declarations of the eight tables: the customer is protected, or the supplier.

The tables are declared as they are, with their foreign keys. What is not about the protected people is public here,
which is a matter of the example: a real owner may have no public orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tools.tpch.generate import CONTAINERS, INSTRUCTIONS, MODES, NATIONS, PRIORITIES, REGIONS, SEGMENTS


def _listed(values: Sequence[str]) -> str:
    return "{kind: text, categories: [" + ", ".join(f'"{value}"' for value in values) + "]}"


_DAYS: Final = "{kind: date, bounds: [1992-01-01, 1998-12-31]}"
_COLUMNS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "region": {"r_regionkey": "integer", "r_name": _listed(REGIONS), "r_comment": "text"},
        "nation": {
            "n_nationkey": "{kind: integer, bounds: [0, 24]}",
            "n_name": _listed([name for name, _ in NATIONS]),
            "n_regionkey": "{kind: integer, bounds: [0, 4]}",
            "n_comment": "text",
        },
        "supplier": {
            "s_suppkey": "integer",
            "s_name": "text",
            "s_address": "text",
            "s_nationkey": "{kind: integer, bounds: [0, 24]}",
            "s_phone": "text",
            "s_acctbal": "{kind: real, bounds: [-1000, 10000]}",
            "s_comment": "text",
        },
        "part": {
            "p_partkey": "integer",
            "p_name": "text",
            "p_mfgr": _listed([f"Manufacturer#{maker}" for maker in range(1, 6)]),
            "p_brand": _listed([f"Brand#{maker}{brand}" for maker in range(1, 6) for brand in range(1, 6)]),
            "p_type": "text",
            "p_size": "{kind: integer, bounds: [1, 50]}",
            "p_container": _listed([f"{size} {what}" for size in CONTAINERS[0] for what in CONTAINERS[1]]),
            "p_retailprice": "{kind: real, bounds: [900, 2100]}",
            "p_comment": "text",
        },
        "partsupp": {
            "ps_partkey": "integer",
            "ps_suppkey": "integer",
            "ps_availqty": "{kind: integer, bounds: [1, 9999]}",
            "ps_supplycost": "{kind: real, bounds: [1, 1000]}",
            "ps_comment": "text",
        },
        "customer": {
            "c_custkey": "integer",
            "c_name": "text",
            "c_address": "text",
            "c_nationkey": "{kind: integer, bounds: [0, 24]}",
            "c_phone": "{kind: text, length: 15}",
            "c_acctbal": "{kind: real, bounds: [-1000, 10000]}",
            "c_mktsegment": _listed(SEGMENTS),
            "c_comment": "text",
        },
        "orders": {
            "o_orderkey": "integer",
            "o_custkey": "integer",
            "o_orderstatus": _listed("FOP"),
            "o_totalprice": "{kind: real, bounds: [0, 600000]}",
            "o_orderdate": _DAYS,
            "o_orderpriority": _listed(PRIORITIES),
            "o_clerk": "text",
            "o_shippriority": "{kind: integer, bounds: [0, 0]}",
            "o_comment": "{kind: text, length: 79}",
        },
        "lineitem": {
            "l_orderkey": "integer",
            "l_partkey": "integer",
            "l_suppkey": "integer",
            "l_linenumber": "{kind: integer, bounds: [1, 7]}",
            "l_quantity": "{kind: integer, bounds: [1, 50]}",
            "l_extendedprice": "{kind: real, bounds: [900, 105000]}",
            "l_discount": "{kind: real, bounds: [0, 0.1]}",
            "l_tax": "{kind: real, bounds: [0, 0.08]}",
            "l_returnflag": _listed("ANR"),
            "l_linestatus": _listed("FO"),
            "l_shipdate": _DAYS,
            "l_commitdate": _DAYS,
            "l_receiptdate": _DAYS,
            "l_shipinstruct": _listed(INSTRUCTIONS),
            "l_shipmode": _listed([*MODES, "AIR REG"]),  # query 19 asks for it too, though no line has it
            "l_comment": "{kind: text, length: 44}",
        },
    }
)
_PUBLIC: Final[Mapping[str, str]] = MappingProxyType(
    {
        "region": "key: r_regionkey",
        "nation": "key: n_nationkey",
        "supplier": "key: s_suppkey",
        "part": "key: p_partkey",
        "partsupp": "key: [ps_partkey, ps_suppkey]",
        "customer": "key: c_custkey",
        "orders": "key: o_orderkey",
    }
)
#: For each protected one: how much of a person counts, and whose the rows of each private table are.
PROTECTED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = MappingProxyType(
    {
        "customer": (
            "{rows: 100}",
            {
                "customer": "privacy id: c_custkey\n    rows per person: 1",
                "orders": "owner: {o_custkey: customer.c_custkey}\n    rows per owner: 30",
                "lineitem": "owner: {l_orderkey: orders.o_orderkey}\n    rows per owner: 7",
            },
        ),
        "supplier": (
            "{rows: 700}",
            {
                "supplier": "privacy id: s_suppkey\n    rows per person: 1",
                "partsupp": "owner: {ps_suppkey: supplier.s_suppkey}\n    rows per owner: 80",
                "lineitem": "owner: {l_partkey: partsupp.ps_partkey, l_suppkey: partsupp.ps_suppkey}",
            },
        ),
    }
)


def _of_public_suppliers(scale: float) -> dict[tuple[str, str], str]:
    """Return what is known of suppliers where they are public: their numbers and names, so that groups are public."""
    many = max(1, round(10_000 * scale))
    names = _listed([f"Supplier#{number:09d}" for number in range(1, many + 1)])
    return {("lineitem", "l_suppkey"): f"{{kind: integer, bounds: [1, {many}]}}", ("supplier", "s_name"): names}


def schema(person: str, scale: float) -> str:
    """Return the schema in which the customer, or the supplier, is protected, of tables of a scale."""
    limits, whose = PROTECTED[person]
    known = {} if "supplier" in whose else _of_public_suppliers(scale)
    lines = [f"dataset: tpch_{person}", "unit: person", f"contribution: {limits}", "tables:"]
    for table, columns in _COLUMNS.items():
        said = f"    {whose[table]}" if table in whose else f"    public: true\n    {_PUBLIC[table]}"
        lines += [f"  {table}:", f"    source: {table}.csv", said, "    columns:"]
        lines += [f"      {name}: {known.get((table, name), kind)}" for name, kind in columns.items()]
    return "\n".join(lines) + "\n"
