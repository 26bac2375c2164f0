"""The eight tables in the shape of the standard, at any scale: sizes, keys, ranges and words as it prescribes.

Not the standard's generator: the numbers are drawn by NumPy from a seed, and comments are words in a row. Everything
that the 22 queries look for occurs.
"""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

Columns = dict[str, Sequence[Any]]
_FIRST, _LAST = datetime.date(1992, 1, 1), datetime.date(1998, 8, 2)
_TODAY: Final = (datetime.date(1995, 6, 17) - _FIRST).days
REGIONS: Final = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
#: Each nation with the number of its region.
NATIONS: Final = (
    *(("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3)),
    *(("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4)),
    *(("KENYA", 0), ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3)),
    *(("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1)),
)
SEGMENTS: Final = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
PRIORITIES: Final = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES: Final = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
INSTRUCTIONS: Final = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
TYPES: Final = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
CONTAINERS: Final = (
    ("SM", "LG", "MED", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
)
_COLOURS: Final = (
    *("almond", "antique", "aquamarine", "azure", "beige", "bisque", "black", "blanched", "blue", "blush", "brown"),
    *("burlywood", "burnished", "chartreuse", "chiffon", "chocolate", "coral", "cornflower", "cornsilk", "cream"),
    *("cyan", "dark", "deep", "dim", "dodger", "drab", "firebrick", "floral", "forest", "frosted", "gainsboro"),
    *("ghost", "goldenrod", "green", "grey", "honeydew", "hot", "indian", "ivory", "khaki", "lace", "lavender"),
    *("lawn", "lemon", "light", "lime", "linen", "magenta", "maroon", "medium", "metallic", "midnight", "mint"),
    *("misty", "moccasin", "navajo", "navy", "olive", "orange", "orchid", "pale", "papaya", "peach", "peru", "pink"),
    *("plum", "powder", "puff", "purple", "red", "rose", "rosy", "royal", "saddle", "salmon", "sandy", "seashell"),
    *("sienna", "sky", "slate", "smoke", "snow", "spring", "steel", "tan", "thistle", "tomato", "turquoise"),
    *("violet", "wheat", "white", "yellow"),
)
_WORDS: Final = (
    *("foxes", "ideas", "theodolites", "pinto beans", "instructions", "dependencies", "excuses", "platelets"),
    *("asymptotes", "courts", "dolphins", "multipliers", "accounts", "packages", "deposits", "sleep", "wake"),
    *("haggle", "nag", "cajole", "boost", "quickly", "slowly", "carefully", "furiously", "ironic", "final", "bold"),
)


def tables(scale: float, seed: int = 1) -> dict[str, Columns]:
    """Return the columns of the eight tables by name.

    Args:
        scale: 1 is 150,000 customers, 1,500,000 orders and about 6,000,000 lines.
        seed: of the pseudo-random numbers.

    """
    pick = np.random.default_rng(seed)
    sizes = {
        name: max(least, round(size * scale))
        for name, size, least in (("supplier", 10_000, 8), ("part", 200_000, 40), ("customer", 150_000, 30))
    }
    made: dict[str, Columns] = {
        "region": {"r_regionkey": range(5), "r_name": REGIONS, "r_comment": _comments(pick, 5)},
        "nation": {
            "n_nationkey": range(25),
            "n_name": [name for name, _ in NATIONS],
            "n_regionkey": [region for _, region in NATIONS],
            "n_comment": _comments(pick, 25),
        },
        "supplier": _suppliers(pick, sizes["supplier"]),
        "part": _parts(pick, sizes["part"]),
    }
    made["partsupp"] = _offers(pick, sizes["part"], sizes["supplier"])
    made["customer"] = _customers(pick, sizes["customer"])
    made["orders"], made["lineitem"] = _orders(pick, sizes, made["part"]["p_retailprice"])
    return made


def write(folder: Path, made: Mapping[str, Columns]) -> None:
    """Write every table as a CSV file of its name."""
    for name, columns in made.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))


def _suppliers(pick: np.random.Generator, many: int) -> Columns:
    nations, comments = pick.integers(25, size=many), _comments(pick, many)
    # Five in ten thousand complain and five recommend; here at least one each.
    odd = pick.permutation(many)
    for place in odd[: max(1, many // 2000)]:
        comments[place] = f"{comments[place]} Customer {comments[place][:9]} Complaints"
    for place in odd[-max(1, many // 2000) :]:
        comments[place] = f"{comments[place]} Customer {comments[place][:9]} Recommends"
    keys = range(1, many + 1)
    return {
        "s_suppkey": keys,
        "s_name": [f"Supplier#{key:09}" for key in keys],
        "s_address": _addresses(pick, many),
        "s_nationkey": nations.tolist(),
        "s_phone": _phones(pick, nations),
        "s_acctbal": _money(pick.integers(-99_999, 1_000_000, size=many)),
        "s_comment": comments,
    }


def _parts(pick: np.random.Generator, many: int) -> Columns:
    keys = np.arange(1, many + 1)
    makers, brands = pick.integers(1, 6, size=many), pick.integers(1, 6, size=many)
    prices = 90_000 + keys // 10 % 20_001 + 100 * (keys % 1000)
    return {
        "p_partkey": keys.tolist(),
        "p_name": [" ".join(pick.choice(_COLOURS, 5, replace=False)) for _ in range(many)],
        "p_mfgr": [f"Manufacturer#{maker}" for maker in makers],
        "p_brand": [f"Brand#{maker}{brand}" for maker, brand in zip(makers, brands, strict=True)],
        "p_type": _phrases(pick, TYPES, many),
        "p_size": pick.integers(1, 51, size=many).tolist(),
        "p_container": _phrases(pick, CONTAINERS, many),
        "p_retailprice": _money(prices),
        "p_comment": _comments(pick, many),
    }


def _supplier_of(part: Any, turn: Any, suppliers: int) -> Any:
    """Return the supplier of a part: one of four, as the standard spreads them where there are enough."""
    spread = (part - 1) // suppliers if suppliers >= 100 else 0
    return (part + turn * (suppliers // 4 + spread)) % suppliers + 1


def _offers(pick: np.random.Generator, parts: int, suppliers: int) -> Columns:
    part, turn = np.repeat(np.arange(1, parts + 1), 4), np.tile(np.arange(4), parts)
    return {
        "ps_partkey": part.tolist(),
        "ps_suppkey": _supplier_of(part, turn, suppliers).tolist(),
        "ps_availqty": pick.integers(1, 10_000, size=4 * parts).tolist(),
        "ps_supplycost": _money(pick.integers(100, 100_001, size=4 * parts)),
        "ps_comment": _comments(pick, 4 * parts),
    }


def _customers(pick: np.random.Generator, many: int) -> Columns:
    nations, keys = pick.integers(25, size=many), range(1, many + 1)
    return {
        "c_custkey": keys,
        "c_name": [f"Customer#{key:09}" for key in keys],
        "c_address": _addresses(pick, many),
        "c_nationkey": nations.tolist(),
        "c_phone": _phones(pick, nations),
        "c_acctbal": _money(pick.integers(-99_999, 1_000_000, size=many)),
        "c_mktsegment": pick.choice(SEGMENTS, many).tolist(),
        "c_comment": _comments(pick, many),
    }


def _orders(pick: np.random.Generator, sizes: Mapping[str, int], prices: Sequence[str]) -> tuple[Columns, Columns]:
    many = 10 * sizes["customer"]
    numbers = np.arange(many)
    keys = numbers // 8 * 32 + numbers % 8 + 1  # eight of every thirty-two are used
    # A third of the customers has no order.
    buyers = np.array([key for key in range(1, sizes["customer"] + 1) if key % 3])[
        pick.integers(sizes["customer"] - sizes["customer"] // 3, size=many)
    ]
    days = pick.integers((_LAST - _FIRST).days + 1, size=many)
    lines = pick.integers(1, 8, size=many)
    of = np.repeat(numbers, lines)
    total = len(of)
    part = pick.integers(1, sizes["part"] + 1, size=total)
    quantity = pick.integers(1, 51, size=total)
    cents = np.array([round(100 * float(price)) for price in prices])[part - 1] * quantity
    discount, tax = pick.integers(11, size=total), pick.integers(9, size=total)
    shipped = days[of] + pick.integers(1, 122, size=total)
    committed = days[of] + pick.integers(30, 91, size=total)
    received = shipped + pick.integers(1, 31, size=total)
    is_open = shipped > _TODAY
    returned = np.where(received <= _TODAY, pick.choice(("R", "A"), total), "N")
    charged = np.rint(cents * (1 - discount / 100) * (1 + tax / 100))
    opened = np.bincount(of, weights=is_open, minlength=many)
    comments = _comments(pick, many)
    for place in np.flatnonzero(pick.random(many) < 0.012):
        comments[place] = f"special {comments[place]} requests"
    orders: Columns = {
        "o_orderkey": keys.tolist(),
        "o_custkey": buyers.tolist(),
        "o_orderstatus": np.where(opened == 0, "F", np.where(opened == lines, "O", "P")).tolist(),
        "o_totalprice": _money(np.bincount(of, weights=charged, minlength=many)),
        "o_orderdate": _dates(days),
        "o_orderpriority": pick.choice(PRIORITIES, many).tolist(),
        "o_clerk": [f"Clerk#{clerk:09}" for clerk in pick.integers(1, max(2, sizes["supplier"] // 10), size=many)],
        "o_shippriority": [0] * many,
        "o_comment": comments,
    }
    first = np.repeat(np.cumsum(lines) - lines, lines)
    items: Columns = {
        "l_orderkey": keys[of].tolist(),
        "l_partkey": part.tolist(),
        "l_suppkey": _supplier_of(part, pick.integers(4, size=total), sizes["supplier"]).tolist(),
        "l_linenumber": (np.arange(total) - first + 1).tolist(),
        "l_quantity": quantity.tolist(),
        "l_extendedprice": _money(cents),
        "l_discount": [f"{each / 100:.2f}" for each in discount],
        "l_tax": [f"{each / 100:.2f}" for each in tax],
        "l_returnflag": returned.tolist(),
        "l_linestatus": np.where(is_open, "O", "F").tolist(),
        "l_shipdate": _dates(shipped),
        "l_commitdate": _dates(committed),
        "l_receiptdate": _dates(received),
        "l_shipinstruct": pick.choice(INSTRUCTIONS, total).tolist(),
        "l_shipmode": pick.choice(MODES, total).tolist(),
        "l_comment": _comments(pick, total),
    }
    return orders, items


def _comments(pick: np.random.Generator, many: int) -> list[str]:
    return [" ".join(words) for words in pick.choice(_WORDS, (many, 4))]


def _phrases(pick: np.random.Generator, parts: Iterable[Sequence[str]], many: int) -> list[str]:
    return [" ".join(words) for words in zip(*(pick.choice(part, many) for part in parts), strict=True)]


def _addresses(pick: np.random.Generator, many: int) -> list[str]:
    return [f"{number} {name}" for number, name in zip(pick.integers(1, 999, many), _comments(pick, many), strict=True)]


def _phones(pick: np.random.Generator, nations: Any) -> list[str]:
    rest = pick.integers((100, 100, 1000), (1000, 1000, 10_000), size=(len(nations), 3))
    return [f"{10 + nation}-{a}-{b}-{c}" for nation, (a, b, c) in zip(nations, rest, strict=True)]


def _money(cents: Any) -> list[str]:
    return [f"{cent / 100:.2f}" for cent in cents]


def _dates(days: Any) -> list[str]:
    first = _FIRST.toordinal()
    return [datetime.date.fromordinal(first + int(day)).isoformat() for day in days]
