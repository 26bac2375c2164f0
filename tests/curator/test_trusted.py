"""A session runs the code of registered classes beside rows, and nobody else's; what is asked may be long."""

from __future__ import annotations

import hashlib
from typing import Any, NoReturn

import numpy as np
import pytest

pytest.importorskip("sklearn")

from dither import learn
from dither.curator.access import curator_of
from dither.curator.request import Request
from dither.curator.session import Session
from dither.errors import DitherError, InvalidParameter
from dither.learn.lifting import trusted_estimator
from dither.learn.selection.estimators import PrivateSearch
from dither.lift.trusted import checked_mechanism
from dither.mechanisms import Geometric
from dither.privacy import PureDP
from dither.publish.queries.builder import Groups, table
from dither.publish.workloads import Workload

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
seen: list[Any] = []


class Watching(learn.LogisticRegression):  # type: ignore[misc]
    """Looks at what it learns from, and says what its parent says about the price."""

    def private_rows(self, X: Any, y: Any, **more: Any) -> Any:  # noqa: N803
        if len(X):
            seen.append(X)
        return super().private_rows(X, y, **more)


class Lying(Geometric):
    """Says that it loses nothing."""

    def loss(self, d_in: Any = 1) -> Any:
        return PureDP(0)


def disguised() -> Any:
    """Return an estimator of a known class that copies itself as another one."""
    made = learn.LogisticRegression(epsilon=1)
    made.__sklearn_clone__ = lambda: Watching(epsilon=1)
    made.private_rows = lambda *rows, **_: seen.append(rows)
    return made


def tuned(inner: Any) -> Any:
    return PrivateSearch(inner, {"max_iter": [1, 2]}, epsilon=1, delta="1e-6")


class Named(str):
    """A text of a class of its own."""

    __slots__ = ()


@pytest.mark.parametrize(
    "estimator",
    [
        Watching(epsilon=1),
        tuned(Watching()),
        PrivateSearch(learn.LogisticRegression(), {"max_iter": [1, Watching()]}, epsilon=1),
        learn.LogisticRegression(epsilon=Lying(scale=1)),
        learn.LogisticRegression(epsilon=1, unit=Named("row")),
        learn.LogisticRegression(epsilon=1, bounds=np.array([(0, Named("1"))], dtype=object)),
    ],
    ids=["own class", "inside a search", "inside a grid", "as a parameter", "a text", "in an array"],
)
def test_a_class_of_ones_own_is_refused_before_the_charge(session: Session, estimator: Any) -> None:
    with pytest.raises(InvalidParameter) as refused:
        session.fit(estimator, "visits", target="ward", features=["waited"])
    assert "subclass" in str(refused.value) or "plain" in str(refused.value)
    assert (session.balance().releases, seen) == (0, [])


def test_what_was_set_on_an_object_stays_behind(session: Session) -> None:
    session.fit(disguised(), "visits", target="ward", features=["waited"])
    assert (session.balance().releases, seen) == (1, [])


def test_parameters_are_copied() -> None:
    bounds = [[0.0, 1.0]]
    made = tuned(learn.LogisticRegression(bounds=bounds, classes=np.array(["a", "b"])))
    copied = trusted_estimator(made)
    bounds[0][1] = 9.0
    assert copied.estimator.bounds == [[0.0, 1.0]]
    assert copied.estimator is not made.estimator
    assert copied.param_grid == made.param_grid
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(InvalidParameter, match="nested at most"):
        trusted_estimator(learn.LogisticRegression(bounds=nested))


@pytest.mark.parametrize("name", sorted(learn.ESTIMATORS))
def test_every_registered_estimator_is_trusted(name: str) -> None:
    kind = getattr(learn, name)
    assert type(trusted_estimator(kind())) is kind


def test_only_the_registered_class_of_a_name_is_a_mechanism() -> None:
    checked_mechanism(Geometric(scale=1))
    for other in (Lying(scale=1), object(), None):
        with pytest.raises(InvalidParameter, match="registered"):
            checked_mechanism(other)


class OwnWorkload(Workload):
    """Would be asked for its answers."""

    def to_dict(self) -> NoReturn:
        raise AssertionError


class OwnGroups(Groups):
    """Builds a query of its own."""

    def build(self, dataset: Any) -> Any:
        built = super().build(dataset)
        return type("OwnQuery", (type(built),), {})(**vars(built))


def test_own_workloads_and_queries_are_refused_before_the_charge(session: Session) -> None:
    with pytest.raises(InvalidParameter, match="Workload"):
        session.workload("visits", "ward", OwnWorkload(Workload.prefixes(2).matrix), epsilon=1)
    groups = table("visits").count()
    own = object.__new__(OwnGroups)
    own.__dict__.update(vars(groups))
    with pytest.raises(DitherError, match="OwnQuery"):
        session.ask(own, PureDP(1))
    assert session.balance().releases == 0


@pytest.mark.parametrize("length", [19_000, 30_000, 99_000])
def test_a_long_query_is_answered_and_its_beginning_is_kept(session: Session, length: int) -> None:
    text = COUNT + " " * length
    key = f"of {length}"
    first, again = (session.sql(text, epsilon="0.1", key=key) for _ in range(2))
    assert first == again
    described = next(one.record["description"] for one in curator_of(session).ledger.entries() if one.key == key)
    assert described.startswith(COUNT)
    if len(text) > 20_000:
        assert described.endswith(f"{len(text)} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()}")
        assert len(described) < 2_200
    else:
        assert described == text


def test_a_description_is_a_text_that_a_ledger_can_keep() -> None:
    assert Request("d", "query", {}, PureDP(1), "a\0b\ud800").summary == "a\\0b\\ud800"
    with pytest.raises(InvalidParameter, match="description must be a string"):
        Request("d", "query", {}, PureDP(1), 5)  # type: ignore[arg-type]
