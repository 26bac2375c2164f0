"""What an attacker gets out of a disguised table, beside the same job done with differential privacy.

Only the verbs may join these rooms: a disguise knows no attack and no loss, and an attack knows no disguise. The
private table is made in memory from the same columns, for one reader, the owner of the table: the report is as secret
as the table itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.attack.learned import classified, definetti, foreground, freeform, speaking
from dither.attack.tables import (
    MOST_CELLS,
    Codes,
    Found,
    View,
    attacks_on,
    intersection,
    minimality,
)
from dither.data import Column, Kind
from dither.disguise import Disguise, Disguised, Hierarchy, Mondrian, Roles, Table
from dither.disguise.classes import classes_of
from dither.disguise.mondrian import refused_cuts
from dither.disguise.report import Further
from dither.disguise.rules import Trial, ordered_values
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.pages.page import bullets, note, paragraph, section, table
from dither.publish.synthetic import Synthesizer

#: What the private table may lose.
EPSILON: Final = 1
#: A column with more values is not compared.
_MOST_VALUES: Final = 1024
_BANDS: Final = 4
_QUERIES: Final = 200
#: An answer is off by a share of itself, or of one row in this many if it is smaller.
_SANITY: Final = 100


@dataclass(frozen=True)
class Compared:
    """The same attack on both tables: None where there is no figure."""

    column: str
    disguised: Found
    private: Found | None


@dataclass(frozen=True)
class Disclosed:
    """What was tried.

    Args:
        attacks: on every sensitive column.
        errors: of counts by the disguised and by the private table, relative, on average; None where not measured.
        accuracy: by sensitive column, the share of rows whose value a classifier tells that learned from the true, the
            disguised or the private rows; None where there is no private table.
        left_out: what was not tried, and why.

    """

    attacks: tuple[Compared, ...]
    errors: tuple[float, float | None]
    accuracy: Mapping[str, tuple[float, float, float | None]]
    left_out: tuple[str, ...]

    def further(self) -> Further:
        """Return what the report says of it."""
        rows = [
            (
                one.column,
                one.disguised.attack,
                one.disguised.measure,
                f"{one.disguised.share:.1%}",
                "" if one.private is None else f"{one.private.share:.1%}",
                f"{one.disguised.chance:.1%}",
            )
            for one in self.attacks
        ]
        private = "" if self.errors[1] is None else f"{self.errors[1]:.1%}"
        parts = (
            section(
                "What an attacker gets, and what differential privacy would have cost",
                paragraph(
                    "The attacks are run on this very table. The attacker knows the quasi-identifiers of everybody. "
                    f"For comparison there is a synthetic table of the same columns at epsilon = {EPSILON} for a row, "
                    "whose attacker reads what goes with what in it."
                ),
                table(("column", "attack", "share of", "this table", "with privacy", "by chance"), rows),
                table(
                    ("what it costs", "this table", "with privacy"),
                    [
                        (f"relative error of {_QUERIES} random counts", f"{self.errors[0]:.1%}", private),
                        *(
                            (
                                f"{name}, predicted by a classifier (by the true rows: {true:.1%})",
                                f"{mine:.1%}",
                                "" if theirs is None else f"{theirs:.1%}",
                            )
                            for name, (true, mine, theirs) in self.accuracy.items()
                        ),
                    ],
                ),
                bullets(self.left_out) if self.left_out else "",
                note(
                    "For the private table the values of columns and the number of rows count as public. Its attacker, "
                    "too, does better than by chance where quasi-identifiers and sensitive values go together: that is "
                    "what tables teach, and any one row changes little of it. All figures are of this one table and of "
                    "one draw."
                ),
            ),
        )
        figures = {
            "attacks": [
                {
                    "column": one.column,
                    "disguised": one.disguised.to_dict(),
                    "private": None if one.private is None else one.private.to_dict(),
                }
                for one in self.attacks
            ],
            "query_error": {"disguised": self.errors[0], "private": self.errors[1]},
            "accuracy": {
                name: {"true": true, "disguised": mine, "private": theirs}
                for name, (true, mine, theirs) in self.accuracy.items()
            },
            "epsilon": EPSILON,
            "left_out": list(self.left_out),
        }
        return Further(parts, figures)


def disclosed(
    original: Table,
    shown: Table,
    kept: Codes,
    roles: Roles,
    *,
    trees: Mapping[str, Hierarchy] | None = None,
    earlier: Table | None = None,
    made_by: Disguise | None = None,
) -> Disclosed:
    """Run every attack on a table and on a private one of the same rows.

    Args:
        original: the true rows.
        shown: the table to be attacked.
        kept: which of the true rows it has, in order.
        roles: of the columns.
        trees: hierarchies of sensitive columns, for the attack by similar values.
        earlier: another release of the rows of ``shown``, in the same order.
        made_by: the disguise, for the attack that asks why a class was left whole.

    """
    left_out: list[str] = []
    private = _private(original, roles, left_out)
    own = classes_of(shown, roles.quasi)
    before = None if earlier is None else classes_of(earlier, roles.quasi)
    if before is not None and len(before.of_row) != len(shown):
        raise InvalidParameter("earlier", len(before.of_row), f"{len(shown)} rows long, in the same order")
    compared: list[Compared] = []
    for name in roles.sensitive:
        column = original[name]
        size = len(column.values)
        if len(own) * size > MOST_CELLS:
            left_out.append(f"{name}: {size:,} values in {len(own):,} classes are too many to attack.")
            continue
        groups = _groups(original, name, (trees or {}).get(name))
        if groups is None:
            left_out.append(f"{name}: similarity needs numbers or a hierarchy that says which values are alike.")
        values = column.codes[kept]
        view = View.of_classes(own.of_row, values, size)
        there = attacks_on(view, values, groups)
        other = None if private is None else _view(original, private, roles, name)
        beside = [None] * len(there) if other is None else attacks_on(other, column.codes, groups)
        compared += [Compared(name, one, two) for one, two in zip(there, beside, strict=True)]
        if before is not None:
            second = View.of_classes(before.of_row, values, size)
            compared.append(Compared(name, intersection(view, second, values), None))
        known = [original[quasi].codes[kept] for quasi in roles.quasi]
        widths = [len(original[quasi].values) for quasi in roles.quasi]
        learned = [attack(view, values, known, widths) for attack in (definetti, foreground)]
        further = [*learned, _freeform(original, shown, kept, view, name, roles)]
        compared += [Compared(name, one, None) for one in further if one is not None]
        if (left := _minimality(original, own.of_row, view, values, made_by)) is not None:
            compared.append(Compared(name, left, None))
    if earlier is None:
        left_out.append("Intersection needs an earlier release of the same rows in the same order: --earlier.")
    if not any(one.disguised.attack == "minimality" for one in compared):
        left_out.append("Minimality: no class is known to have been left whole for its sensitive values.")
    if not any(one.disguised.attack == "freeform" for one in compared):
        left_out.append("Freeform needs another column besides quasi-identifiers, with few enough values.")
    told = {name: _accuracy(original, shown, kept, private, roles, name) for name in roles.sensitive}
    accuracy = {name: one for name, one in told.items() if one is not None}
    errors = _errors(original, shown, kept, private, roles)
    return Disclosed(tuple(compared), errors, accuracy, tuple(left_out))


def _freeform(original: Table, shown: Table, kept: Codes, view: View, name: str, roles: Roles) -> Found | None:
    """Return what is learned once another column is seen: the one that tells most."""
    others = [one for one in shown.names if one not in (*roles.quasi, name)]
    values = original[name].codes[kept]
    found = [
        one
        for other in others
        if len(shown[other].values) <= _MOST_VALUES
        and (one := freeform(view, values, shown[other].codes, other)) is not None
    ]
    return max(found, key=lambda one: one.share, default=None)


def _accuracy(
    original: Table, shown: Table, kept: Codes, private: Mapping[str, Codes] | None, roles: Roles, name: str
) -> tuple[float, float, float | None] | None:
    """Return how well naive Bayes tells a column, learned from half of the rows and asked about the other half.

    A classifier of disguised rows is asked about disguised rows, the others about true ones. None where rows are too
    few or too many.
    """
    size = len(original[name].values)
    mixed = public_generator().permutation(len(kept))
    first, second = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
    truth = original[name].codes[kept]
    if not len(first) or len(kept) * size > MOST_CELLS:
        return None
    right = []
    for one, rows in ((original, kept), (shown, np.arange(len(shown)))):
        columns = [one[quasi].codes[rows] for quasi in roles.quasi]
        widths = [len(one[quasi].values) for quasi in roles.quasi]
        learned = [codes[first] for codes in columns]
        told = classified(learned, widths, truth[first], size, [codes[second] for codes in columns])
        right.append(float(np.mean(told == truth[second])))
    if private is None:
        return right[0], right[1], None
    widths = [len(original[quasi].values) for quasi in roles.quasi]
    asked = [original[quasi].codes[kept][second] for quasi in roles.quasi]
    told = classified([private[quasi] for quasi in roles.quasi], widths, private[name], size, asked)
    return right[0], right[1], float(np.mean(told == truth[second]))


def _minimality(original: Table, of_row: Codes, view: View, values: Codes, made_by: Disguise | None) -> Found | None:
    """Return what is learned from classes being whole: known of strict cuts without hierarchies alone."""
    if not isinstance(made_by, Mondrian) or made_by.relaxed or made_by.hierarchies or not made_by.rules.about_values:
        return None
    trial = made_by.rules.over(original, made_by.roles.sensitive)
    groups = refused_cuts(original, made_by.roles.quasi, made_by.rules.k, of_row)
    return minimality(view, values, groups, lambda orders, is_right: refuses(trial, orders, is_right))


def refuses(trial: Trial, orders: Codes, is_right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for which orders of rows a cut breaks a rule."""
    count, rows = orders.shape
    halves = 2 * np.repeat(np.arange(count), rows) + np.tile(is_right, count)
    right = int(np.count_nonzero(is_right))
    sizes = np.tile(np.array([rows - right, right]), count)
    return np.asarray(~trial.holds(halves, sizes, orders.ravel()).reshape(count, 2).all(axis=1))


def _groups(original: Table, name: str, tree: Hierarchy | None) -> Codes | None:
    """Return the group of each value: by the first level of a hierarchy, or four bands of a number."""
    column = original[name]
    if tree is not None and tree.height >= 1:
        return np.asarray(tree.levels(column)[1].codes, dtype=np.int64)
    if column.scale() is None or len(column.values) < 2 * _BANDS:
        return None
    order = ordered_values(column)
    counts = np.bincount(column.codes, minlength=len(order))[order]
    groups = np.empty(len(order), dtype=np.int64)
    # Where the middle of a value's rows lies among all rows, in order.
    groups[order] = ((np.cumsum(counts) - counts / 2) * _BANDS / max(int(counts.sum()), 1)).astype(np.int64)
    return groups


def _private(original: Table, roles: Roles, left_out: list[str]) -> dict[str, Codes] | None:
    """Return the columns of as many private rows, by the numbers of their values."""
    names = (*roles.quasi, *roles.sensitive)
    wide = [name for name in names if len(original[name].values) > _MOST_VALUES]
    if wide:
        left_out.append(f"No private table beside it: {wide[0]} has more than {_MOST_VALUES:,} values.")
        return None
    texts = {f"c{place}": [str(code) for code in original[name].codes.tolist()] for place, name in enumerate(names)}
    columns = [
        Column(f"c{place}", Kind.TEXT, categories=tuple(str(code) for code in range(len(original[name].values))))
        for place, name in enumerate(names)
    ]
    rows = [dict(zip(texts, cells, strict=True)) for cells in zip(*texts.values(), strict=True)]
    drawn = Synthesizer(columns, epsilon=EPSILON).fit(rows).table.sample(len(original)).columns
    return {
        name: np.array([int(cell) for cell in drawn[f"c{place}"]], dtype=np.int64) for place, name in enumerate(names)
    }


def _view(original: Table, private: Mapping[str, Codes], roles: Roles, name: str) -> View | None:
    """Return what private rows say of people: each quasi-identifier speaks for values by how often they go together."""
    own = classes_of(original, roles.quasi)
    size = len(original[name].values)
    if len(own) * size > MOST_CELLS:
        return None
    first = np.zeros(len(own), dtype=np.int64)
    first[own.of_row] = np.arange(len(original))
    soft = np.eye(size)[private[name]]
    scores = np.tile(np.log(soft.sum(axis=0) + 1.0), (len(own), 1))
    widths = [len(original[quasi].values) for quasi in roles.quasi]
    for quasi, spoken in zip(roles.quasi, speaking([private[one] for one in roles.quasi], widths, soft), strict=True):
        scores += spoken[original[quasi].codes[first]]
    return View(own.of_row, np.exp(scores - scores.max(axis=1, keepdims=True)))


def _errors(
    original: Table, shown: Table, kept: Codes, private: Mapping[str, Codes] | None, roles: Roles
) -> tuple[float, float | None]:
    """Return the relative error of random counts: about half the values of one or two columns, and a sensitive value.

    A generalised cell is read as any of the true values that it stands for, each as likely as the others.
    """
    drawn = public_generator()
    spread = {name: _Spread.of(original, shown, kept, name) for name in roles.quasi}
    off: list[tuple[float, float]] = []
    for _ in range(_QUERIES):
        asked = {
            name: _some(original, name, drawn)
            for name in drawn.choice(np.array(roles.quasi), size=min(2, len(roles.quasi)), replace=False).tolist()
        }
        true, mine, theirs = np.ones(len(original)), np.ones(len(shown)), np.ones(len(original))
        for name, wanted in asked.items():
            true *= wanted[original[name].codes]
            mine *= spread[name].shares(wanted)[shown[name].codes]
            theirs *= 0.0 if private is None else wanted[private[name]]
        if roles.sensitive:
            name = str(drawn.choice(np.array(roles.sensitive)))
            value = original[name].codes[drawn.integers(len(original))]
            true *= original[name].codes == value
            mine *= original[name].codes[kept] == value
            theirs *= 0.0 if private is None else private[name] == value
        answer = float(true.sum())
        least = max(answer, len(original) / _SANITY)
        off.append((abs(float(mine.sum()) - answer) / least, abs(float(theirs.sum()) - answer) / least))
    mean = np.mean(np.array(off), axis=0)
    return float(mean[0]), None if private is None else float(mean[1])


@dataclass(frozen=True, eq=False)
class _Spread:
    """Which true values stand behind each cell that is shown: pairs of both."""

    cells: Codes
    values: Codes

    @classmethod
    def of(cls, original: Table, shown: Table, kept: Codes, name: str) -> _Spread:
        size = len(original[name].values)
        pairs = np.unique(shown[name].codes * size + original[name].codes[kept])
        return cls(pairs // size, pairs % size)

    def shares(self, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of wanted values behind each cell."""
        return np.asarray(np.bincount(self.cells, wanted[self.values]) / np.maximum(np.bincount(self.cells), 1))


def _some(original: Table, name: str, drawn: Any) -> NDArray[np.float64]:
    """Return which values of a column a question is about: about half of them, next to each other in order."""
    order = ordered_values(original[name])
    half = max(len(order) // 2, 1)
    wanted = np.zeros(len(order))
    wanted[np.roll(order, -int(drawn.integers(len(order))))[:half]] = 1
    return wanted


def of_disguise(
    made: Disguised, original: Table, by: Disguise, trees: Mapping[str, Hierarchy], earlier: Table | None
) -> Disclosed:
    """Return what an attacker gets out of a disguised table."""
    return disclosed(original, made.table, made.kept, by.roles, trees=trees, earlier=earlier, made_by=by)


def of_table(
    given: Table, roles: Roles, earlier: Table | None, trees: Mapping[str, Hierarchy] | None = None
) -> Disclosed:
    """Return what an attacker gets out of a table as it is."""
    return disclosed(given, given, np.arange(len(given)), roles, trees=trees, earlier=earlier)
