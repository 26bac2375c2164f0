"""Disguises: every maker followed by the definitions, our checkers beside pycanon's, and times.

No figure here is a promise about people. Tables are generated and small, so that rules are hard to fulfil.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from dither.disguise import (
    Mondrian,
    Optimal,
    Roles,
    Rules,
    Table,
    alpha_k,
    beta_likeness,
    delta_disclosure,
    disguises,
    k_anonymity,
    l_diversity,
    t_closeness,
)
from tools.bench.anonymity import (
    PEOPLE,
    RULES,
    Columns,
    broken,
    drawn,
    gains,
    in_classes,
    least_penalty,
    trees_of,
)
from tools.bench.clock import best_seconds
from tools.rivals.environments import ask_rival, environment

#: Methods that take averages, which need a number in every row.
AVERAGING: Final = ("microaggregation", "averages")
_QUASI: Final = ("a", "b")


def violations(tables: int, names: Sequence[str] | None = None) -> dict[str, tuple[int, int]]:
    """Return for each maker how many tables it made and how many of them have a class that breaks a rule.

    Args:
        tables: generated for each maker; rules change from one to the next, and those that the whole table breaks are
            left out.
        names: of makers; all if not given.

    """
    found = {}
    for name in names or disguises():
        made = wrong = 0
        for number in range(tables):
            rules = RULES[number % len(RULES)]
            table = drawn(missing=name not in AVERAGING)
            if broken({**table, "all": [0] * len(table["ill"])}, ("all",), rules):
                continue
            method = disguises()[name].example(Table.of(table), PEOPLE, rules)
            shown = method.apply(table).frame()
            made += 1
            wrong += bool(broken(shown, method.roles.quasi, rules))
        found[name] = (made, wrong)
    return found


def optima(lattices: int) -> int:
    """Return on how many small tables the optimal levels have the penalty that trying all levels finds."""
    numbers = np.random.default_rng()
    same = 0
    for _ in range(lattices):
        table = drawn(int(numbers.integers(10, 30)))
        trees = trees_of(table)
        k, diverse, share = (
            int(numbers.integers(1, 5)),
            int(numbers.integers(1, 4)),
            float(numbers.choice([0, 0.1, 0.3])),
        )
        made = Optimal(PEOPLE, Rules(k=k, l=diverse), trees, share).apply(table)
        best = least_penalty(table, trees, k, diverse, int(share * len(table["ill"]) + 1e-9))
        same += math.isclose(made.blur.ncp or 0, best, abs_tol=1e-9)
    return same


def small_tables(count: int) -> list[Columns]:
    """Return tables with two quasi-identifiers and a sensitive column, of numbers or of texts."""
    numbers = np.random.default_rng()
    found: list[Columns] = []
    for place in range(count):
        rows = int(numbers.integers(6, 240))
        secret = numbers.choice(list("qruvw"), rows) if place % 2 else numbers.integers(0, 6, rows)
        quasi = {"a": numbers.integers(0, 3, rows).tolist(), "b": numbers.choice(list("xyz"), rows).tolist()}
        found.append({**quasi, "s": secret.tolist()})
    return found


def ours(table: Columns) -> dict[str, Any]:
    """Return the figures of our checkers that pycanon has, too; its distance is by order for numbers."""
    distance: Any = "equal" if isinstance(table["s"][0], str) else "ordered"
    return {
        "k": k_anonymity(table, _QUASI),
        "distinct": int(l_diversity(table, _QUASI, "s")),
        "entropy": math.floor(l_diversity(table, _QUASI, "s", diversity="entropy") + 1e-9),
        "alpha": alpha_k(table, _QUASI, "s")[0],
        "t": t_closeness(table, _QUASI, "s", distance=distance),
        "beta": beta_likeness(table, _QUASI, "s"),
        "delta": delta_disclosure(table, _QUASI, "s"),
    }


def finite_delta(table: Columns) -> float:
    """Return the largest |log| of gains over values that a class has, which is not delta-disclosure."""
    whole = Counter(table["s"])
    ratios = [one for seen in in_classes(table, _QUASI, "s") for one in gains(seen, whole) if one]
    return max(abs(math.log(one)) for one in ratios)


def beside_pycanon(tables: Sequence[Columns], theirs: Sequence[dict[str, Any]]) -> list[str]:
    """Return how often each figure is the same, and what explains the others."""
    same: Counter[str] = Counter()
    explained: Counter[str] = Counter()
    strict = 0
    for table, other in zip(tables, theirs, strict=True):
        for name, figure in ours(table).items():
            agrees = math.isclose(figure, other[name], rel_tol=1e-6, abs_tol=1e-6)
            same[name] += agrees
            if name == "delta" and not agrees and math.isinf(figure):
                explained[name] += math.isclose(finite_delta(table), other[name], rel_tol=1e-6)
            if name == "entropy" and not agrees:
                explained[name] += figure == other[name] + 1
        c, diverse = other["recursive"]
        # Theirs holds if, with their c, the l that the definition gives is at least theirs.
        strict += math.isnan(c) or l_diversity(table, _QUASI, "s", diversity="recursive", c=c) >= diverse
    lines = [f"{len(tables)} random tables, figures that are the same as pycanon's:"]
    lines += [f"{name} | {same[name]} | explained: {explained[name]}" for name in ours(tables[0])]
    return [*lines, f"recursive (c, l) of pycanon that holds by the definition, or is none: {strict}"]


def rival_lines(folder: Path | None, count: int = 50) -> list[str]:
    """Return our checkers beside pycanon's, if it can be installed below a folder."""
    python = None
    if folder is not None:
        python = environment(folder / "pycanon", modules="pycanon", packages=["pycanon"])
    if python is None:
        return ["checkers beside pycanon: it cannot be installed here"]
    tables = small_tables(count)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "tables.json"
        file.write_text(json.dumps(tables))
        return beside_pycanon(tables, ask_rival(python, "pycanon_checkers.py", str(file)))


def people(rows: int) -> Table:
    """Return a generated table of six quasi-identifiers and a sensitive column."""
    numbers = np.random.default_rng()
    tops = {"age": 74, "sex": 2, "race": 5, "education": 16, "region": 1000, "status": 7, "ill": 12}
    return Table.of({name: numbers.integers(0, top, rows) for name, top in tops.items()})


def time_lines(rows: int) -> list[str]:
    """Return processor seconds of Mondrian and of nine checkers on a generated table."""
    table = people(rows)
    quasi = table.names[:-1]

    def checked() -> None:
        k_anonymity(table, quasi)
        for diversity in ("distinct", "entropy", "recursive"):
            l_diversity(table, quasi, "ill", diversity=diversity)
        for distance in ("equal", "ordered"):
            t_closeness(table, quasi, "ill", distance=distance)
        alpha_k(table, quasi, "ill")
        beta_likeness(table, quasi, "ill")
        delta_disclosure(table, quasi, "ill")

    cut = best_seconds(lambda: Mondrian(Roles(quasi, ("ill",)), Rules(k=5)).apply(table), 1)
    return [f"{rows:,} rows, six quasi-identifiers: Mondrian {cut:.2f} s, checkers {best_seconds(checked, 1):.2f} s"]


def lines(folder: Path | None, tables: int = 1000, rows: int = 10**6) -> list[str]:
    """Return all figures for people."""
    made = violations(tables)
    told = [
        f"{name} | {count} tables | {wrong} with a class that breaks a rule" for name, (count, wrong) in made.items()
    ]
    told.append(f"optimal: {optima(200)} of 200 small lattices have the optimum that exhaustion finds")
    return [*told, *rival_lines(folder), *time_lines(rows)]
