"""Learners over a data set: from an estimator and declared columns to a release that a session can price.

What is public comes from the schema: bounds and categories of columns, classes of a label. Of each person as many rows
count as the limits leave. The loss that an estimator states is, as everywhere, that of one unit of the data set: a
person with k rows. A learner of that loss for k rows protects one row at less. Where the loss is stated for one row,
what k rows lose is charged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from dither import learn
from dither.data import DataSet, Kind, Relation
from dither.data.examples import clinic
from dither.data.expressions import as_real
from dither.data.schema import Column, person_unit
from dither.errors import InvalidParameter, MissingExtra
from dither.learn.images.mechanism import ImageFeatures
from dither.learn.images.source import ImageRows
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.moments import MomentRegression
from dither.learn.models import Model
from dither.learn.selection.errors_of import scores_rows
from dither.learn.selection.model import ScoredModel
from dither.learn.selection.scored import HeldOutScore, Score
from dither.lift.cells import source_of
from dither.lift.lifted import Lifted, example_of
from dither.lift.rows import NUMBERS, Rows
from dither.lift.trusted import DEEPEST, plain_value
from dither.mechanisms.core.registry import Example, add_examples
from dither.mechanisms.core.spec import digest
from dither.privacy import ROW, ROW_REPLACED, ZCDP, Loss, PureDP


def _examples() -> Iterator[Example]:
    person, swapped = person_unit("person"), person_unit("person", replaced=True)
    common: dict[str, Any] = {"lower": [0.0, 0.0], "upper": [10.0, 128.0], "classes": 2, "steps": 1}
    for unit, loss in ((person, PureDP(1)), (swapped, ZCDP("1/8")), (ROW_REPLACED, PureDP(1))):
        dataset = clinic(unit)
        relation, _ = source_of(dataset, "visits")
        rows = Rows(dataset, relation, ("cost", "age"), "site", ("north", "south"))
        row_unit = ROW_REPLACED if unit == ROW_REPLACED else ROW
        yield example_of(rows, GradientDescent.calibrated(loss, **common, unit=row_unit))
    dataset = clinic(person)
    relation, _ = source_of(dataset, "visits")
    coded = Rows(dataset, relation, ("cost", "site"), "age", None, None, (None, ("north", "south")))
    target: dict[str, Any] = {"target_lower": 0.0, "target_upper": 128.0}
    learner = MomentRegression.calibrated(ZCDP("1/8"), lower=[0.0] * 3, upper=[10.0, 1.0, 1.0], **target)
    yield example_of(coded, HeldOutScore.calibrated(ZCDP("1/8"), learner=learner, **target))
    images = ImageRows(dataset, relation, ("site",), "age", (20, 30), size=(1, 2, 1))
    pixels: dict[str, Any] = {"height": 1, "width": 2, "lower": [0, 0], "upper": [255, 255], "classes": 2}
    yield example_of(images, ImageFeatures.calibrated(ZCDP("1/8"), **pixels, public=[[0, 9], [9, 0]], steps=1))


add_examples(Lifted.name, _examples)


#: Whom a stated loss is for: a unit of the data set, or one row.
PER: Final = ("person", "row")
#: More categories are not made columns by themselves.
_MOST_CATEGORIES: Final = 100
_STATED: Final = ("epsilon", "delta", "rho")


@dataclass(frozen=True)
class PlannedFit:
    """An estimator, and the release of its model.

    Args:
        estimator: what is fitted, with what the schema declares.
        mechanism: what would be released.
        loss: what that would lose for one unit of the data set.
        stated: what was asked for.
        skipped: columns that are not used though nobody left them out, and why.

    """

    estimator: Any
    mechanism: Lifted
    loss: Loss
    stated: Loss
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def rows(self) -> int:
        """How many rows of one unit come, go or are replaced at most."""
        return int(self.mechanism.stability)

    @property
    def words(self) -> str:
        """What would be released, for people: from which columns, at what for one row, what is not used."""
        source: Any = self.mechanism.source
        name = type(self.estimator).__name__
        said = f"{name} of {source.label}" if source.label is not None else name
        said += f" from {', '.join(source.columns)}"
        if self.rows > 1:
            said += f"; {self._counted()}, each protected at {self.mechanism.method.loss(1)}"
        if self.skipped:
            said += f"; not used: {', '.join(f'{one} ({why})' for one, why in self.skipped)}"
        return said

    def _counted(self) -> str:
        """Return how many rows of one unit count."""
        source: Any = self.mechanism.source
        if not source.dataset.protects_persons:
            return f"a row that is replaced counts as {self.rows}"
        total = source.contribution.total
        twice = "" if total == self.rows else f" (one comes, another goes: {self.rows} where a person is replaced)"
        return f"up to {total} {'row' if total == 1 else 'rows'} of a person count{twice}"

    def adopt(self, record: dict[str, Any], receipt: str) -> Any:
        """Return the estimator with the released model; what follows is post-processing."""
        model, method = Model.from_dict(record), self.mechanism.method
        score: Score | None = None
        if isinstance(model, ScoredModel) and isinstance(method, HeldOutScore):
            source: Any = self.mechanism.source
            is_of_people = source.dataset.protects_persons
            score = method.score(model, alike=source.contribution.total if is_of_people else 1)
            fitted = self.estimator.adopt(model.inner, method.learner, receipt)
        else:
            fitted = self.estimator.adopt(model, method, receipt)
        fitted.held_out_score_, fitted.released_as_ = score, self.words
        told = {"loss": self.loss, "stated": self.stated, "unit": str(self.mechanism.distance)}
        released_by = {"mechanism": method.name, "request_digest": digest(method)}
        fitted.privacy_ = replace(fitted.privacy_, **told, **released_by, numerics=method.numerics.value)
        return fitted


def plan_fit(
    dataset: DataSet,
    table: str | Relation,
    estimator: Any,
    target: str | None = None,
    features: Sequence[str] | None = None,
    *,
    per: str = "person",
    score: bool = False,
) -> PlannedFit:
    """Return what an estimator would release and cost, from public facts alone.

    Args:
        dataset: the schema.
        table: the name of a private table, or its rows, filtered.
        estimator: one of ``dither.learn``; what it leaves out (bounds, categories, classes) is taken from the schema.
        target: the column to predict; None for an estimator that predicts none.
        features: the columns to learn from; where None all that can be used: with bounds, or with categories.
        per: whom the stated loss is for: "person", a unit of the data set with all rows that count, or "row".
        score: whether a fifth of the rows is held out, and the model scored on it.

    """
    try:
        from dither.learn.base import PrivateEstimator, RowsEstimator
    except ImportError:
        raise MissingExtra("an estimator", "ml") from None
    if not isinstance(estimator, PrivateEstimator):
        raise InvalidParameter("estimator", type(estimator).__name__, "one of dither.learn that learns from rows")
    if per not in PER:
        raise InvalidParameter("per", per, f"one of {', '.join(PER)}")
    learns_rows = isinstance(estimator, RowsEstimator)
    if learns_rows != (target is None):
        rule = "not allowed: this estimator predicts no column" if learns_rows else "a column to predict"
        raise InvalidParameter("target", target, rule)
    if score and learns_rows:
        raise InvalidParameter("score", score, "not allowed: this estimator predicts no column")
    relation, declared = source_of(dataset, table)
    copied: Any = trusted_estimator(estimator)
    if getattr(copied, "form", "pixels") != "pixels":
        return _plan_images(dataset, relation, declared, copied, target, features, per=per, score=score)
    # Of a search the estimator that is tuned declares what is public.
    part: Any = getattr(copied, "estimator", None) or copied
    if getattr(part, "bounds", None) is None and hasattr(part, "usual_bounds"):
        part.set_params(bounds=part.usual_bounds)
    persons = dataset.identifying
    others = [name for name in relation.columns if name != target and name not in persons]
    skipped = _declare(part, declared, others, features, target, persons)
    if target is not None:
        _declare_target(part, declared(target))
    stated = copied._target()
    encoding = part.encoding()
    names = tuple(others if features is None else features)
    names = encoding.names if encoding is not None else tuple(n for n in names if n not in dict(skipped))
    for name in names:
        declared(name)
    # No rows yet: this sets how many columns there are, and refuses what is not declared.
    copied.prepare(np.empty((0, len(names))), np.empty(0, dtype=object))
    copied.feature_names_in_ = np.array(names, dtype=object)
    known_classes = copied.declared_classes()
    classes = None if known_classes is None else tuple(known_classes.tolist())
    labels = None if encoding is None else encoding.labels
    as_codes = None if labels is None else encoding.as_codes
    rows = Rows(dataset, relation, names, target, classes, copied.threshold_of_numbers(), labels, as_codes)

    return _planned(rows, copied, part, len(names), stated, classes, skipped, per=per, score=score)


def _plan_images(
    dataset: DataSet,
    relation: Relation,
    declared: Any,
    copied: Any,
    target: str | None,
    features: Sequence[str] | None,
    *,
    per: str,
    score: bool,
) -> PlannedFit:
    """Return the plan of an estimator of images whose bytes are in one column."""
    if copied.form != "bytes":
        raise InvalidParameter("form", copied.form, "'bytes' or 'pixels': a session opens no file that a row names")
    if isinstance(features, str) or features is None or len(features) != 1:
        raise InvalidParameter("features", features, "the one column that has the images")
    _declare_target(copied, declared(target))
    classes, size = tuple(copied.declared_classes().tolist()), copied.image_size()
    rows = ImageRows(dataset, relation, tuple(features), target, classes, size=size)
    stated = copied._target()
    copied.prepare(np.empty(0, dtype=object), np.empty(0, dtype=object))
    copied.feature_names_in_ = np.array(features, dtype=object)
    return _planned(rows, copied, copied, rows.width, stated, classes, (), per=per, score=score)


def _planned(
    rows: Rows,
    copied: Any,
    part: Any,
    columns: int,
    stated: Loss,
    classes: tuple[Any, ...] | None,
    skipped: tuple[tuple[str, str], ...],
    *,
    per: str,
    score: bool,
) -> PlannedFit:
    """Return the release of an estimator whose columns are declared, calibrated for whom the loss is stated."""

    def build(loss: Loss) -> Any:
        copied.set_params(**dict.fromkeys(_STATED), loss=loss)
        method = copied.mechanism(columns)
        return _scored(method, loss, part, classes) if score else method

    mechanism = Lifted(source=rows, method=build(stated))
    if per == "person" and mechanism.stability != 1:
        mechanism = Lifted.calibrated(stated, source=rows, build=build)
    # A loss that was stated for one row says nothing of a person: what is charged does.
    loss = mechanism.loss(1)
    return PlannedFit(copied, mechanism, loss, stated if per == "person" else loss, skipped)


def trusted_estimator(estimator: Any, depth: int = DEEPEST) -> Any:
    """Return a fresh estimator with the parameters of one whose class is registered in ``dither.learn``.

    Args:
        estimator: of a registered class exactly, with plain parameters.
        depth: how deep its parameters may be nested.

    """
    kind = type(estimator)
    if not _is_registered(kind):
        raise InvalidParameter("estimator", kind.__name__, "an instance of a class of dither.learn, and of no subclass")
    given = vars(estimator)
    if given.get("budget") is not None:
        raise InvalidParameter("budget", kind.__name__, "not allowed: a session charges the ledger")

    def other(value: Any, left: int) -> Any:
        return trusted_estimator(value, left) if type(value).__name__ in learn.ESTIMATORS else None

    # What was set on the object beside its parameters, methods for example, stays behind.
    return kind(**{name: plain_value(name, given.get(name), other, depth - 1) for name in kind._get_param_names()})


def _is_registered(kind: Any) -> bool:
    name = kind.__name__
    return (name in learn.ESTIMATORS or name in learn.RECOMMENDERS) and getattr(learn, name) is kind


def _scored(learner: Any, loss: Loss, part: Any, classes: tuple[Any, ...] | None) -> HeldOutScore:
    """Return a learner with its score on rows held out."""
    if learner.distance != ROW:
        raise InvalidParameter(
            "score",
            True,
            "not allowed where rows are replaced: a row may be held out before its replacement, or only after it",
        )
    if not scores_rows(type(learner)):
        raise InvalidParameter("score", True, f"not allowed: what {learner.name} releases scores no rows")
    if classes is not None:
        return HeldOutScore.calibrated(loss, learner=learner, classes=len(classes))
    from dither.learn.base import bounds_of

    low, high = bounds_of(part.target_bounds, 1, "target_bounds")
    return HeldOutScore.calibrated(loss, learner=learner, target_lower=float(low[0]), target_upper=float(high[0]))


def _declare(
    part: Any,
    declared: Any,
    others: Sequence[str],
    features: Sequence[str] | None,
    target: str | None,
    persons: frozenset[str],
) -> tuple[tuple[str, str], ...]:
    """Tell an estimator what the schema says about columns; return those that cannot be used, and why."""
    names = list(others if features is None else features)
    if isinstance(features, str) or not names or len(set(names)) != len(names) or target in names:
        raise InvalidParameter("features", features, "different columns, at least one, without the target")
    for name in (*names, *([] if target is None else [target])):
        if name in persons:
            raise InvalidParameter("features", name, "without the privacy id: it says who a row is about")
    known = part.get_params(deep=False)
    takes_bounds, takes_labels = "bounds" in known, "categories" in known
    if known.get("bounds") is not None or known.get("categories") is not None:
        # What the caller declares is what is used.
        encoding = part.encoding()
        named = set(names) if encoding is None else set(encoding.names)
        if features is not None and named != set(names):
            raise InvalidParameter("features", features, "the columns that the estimator declares by name")
        takes_bounds = takes_labels = False
        if encoding is not None:
            return ()
    bounds: dict[str, tuple[float, float]] = {}
    labels: dict[str, list[Any]] = {}
    unused: dict[str, str] = {}
    for name in names:
        column = declared(name)
        reason = _reason(column, takes_bounds=takes_bounds, takes_labels=takes_labels, is_asked=features is not None)
        if reason is not None:
            if features is not None:
                raise InvalidParameter(
                    "features", name, f"numbers with bounds, or columns with categories; it has {reason}"
                )
            unused[name] = reason
        elif takes_labels and (column.kind not in NUMBERS or not takes_bounds):
            labels[name] = _classes(column)
        elif takes_bounds:
            bounds[name] = _bounds(column)
    if len(unused) == len(names):
        why = ", ".join(f"{name} ({reason})" for name, reason in unused.items())
        raise InvalidParameter("features", None, f"columns of which one can be used at least; not used: {why}")
    if takes_bounds:
        part.set_params(bounds=bounds or None)
    if takes_labels:
        part.set_params(categories=labels or None)
    return tuple(unused.items())


def _reason(column: Column, *, takes_bounds: bool, takes_labels: bool, is_asked: bool) -> str | None:
    """Return why a column cannot be used, or None: columns of numbers need bounds, all others categories."""
    if column.kind in NUMBERS and (takes_bounds or not takes_labels):
        has_range = column.kind is Kind.BOOLEAN or column.lower is not None or column.categories is not None
        if takes_bounds and not has_range:
            return "no bounds"
        is_wide = not takes_bounds or _bounds(column)[0] < _bounds(column)[1]
        return None if is_wide else "one value alone"
    if column.kind not in NUMBERS and not takes_labels:
        return "no numbers"
    if column.kind not in (*NUMBERS, Kind.TEXT) or column.public_values is None:
        return "no categories"
    if not is_asked and column.kind is not Kind.BOOLEAN and column.categories is None:
        return "no categories"
    if not is_asked and len(column.public_values) > _MOST_CATEGORIES:
        return f"more than {_MOST_CATEGORIES} categories"
    return None


def _declare_target(part: Any, wanted: Column) -> None:
    """Tell an estimator what the schema says about the column to predict."""
    known = part.get_params(deep=False)
    if "target_bounds" in known and wanted.kind not in NUMBERS:
        raise InvalidParameter("target", wanted.name, "columns of numbers, or true and false, for a regression")
    if "target_bounds" in known and known["target_bounds"] is None:
        part.set_params(target_bounds=_bounds(wanted))
    if "classes" in known and known["classes"] is None:
        part.set_params(classes=_classes(wanted))


def _bounds(column: Column) -> tuple[float, float]:
    if column.kind is Kind.BOOLEAN:
        return 0.0, 1.0
    if column.categories is not None and column.lower is None:
        values = [as_real(value) for value in column.categories]
        return min(values), max(values)
    if column.lower is None:
        raise InvalidParameter(f"bounds of {column.name}", None, "declared in the schema, or given to the estimator")
    return as_real(column.lower), as_real(column.upper)


def _classes(column: Column) -> list[Any]:
    values = column.public_values
    if values is None:
        raise InvalidParameter(f"categories of {column.name}", None, "declared, or classes given to the estimator")
    return [value for value in values if value is not None]
