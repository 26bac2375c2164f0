"""Every verb takes a loss both ways: in the three words, or as a record."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dither
from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.data.examples import clinic
from dither.errors import InvalidParameter
from dither.lift.offer import Offer
from dither.lift.verb import REGISTRY
from dither.mechanisms.core.release import Budget
from dither.privacy import ROW, ZCDP, ApproxDP, GaussianDP, Loss, PureDP, person, stated_loss
from dither.privacy.distances import Relation
from dither.publish.choose import choose
from dither.publish.queries.builder import table
from dither.publish.synthetic import Synthesizer
from dither.publish.workloads import Workload
from dither.verbs.offers import Offers

WORDS = {"epsilon", "delta", "rho", "loss"}
#: The estimator, or the mechanism, states the loss.
STATED_INSIDE = {"fit", "method"}
BOTH_WAYS: list[tuple[dict[str, Any], Loss]] = [
    ({"epsilon": 2}, PureDP(2)),
    ({"epsilon": 1, "delta": "1e-6"}, ApproxDP(1, "1e-6")),
    ({"rho": "1/8"}, ZCDP("1/8")),
]


class Lying(PureDP):
    """Says one thing and compares as another."""

    def covers(self, other: Loss) -> bool:
        return True


BAD: list[dict[str, Any]] = [
    {},
    {"loss": PureDP(1), "epsilon": 1},
    {"loss": PureDP(1), "delta": "1e-6"},
    {"loss": ZCDP(1), "rho": 1},
    {"loss": 1},
    {"loss": "PureDP"},
    {"loss": PureDP(0)},
    {"loss": GaussianDP(1)},
    {"loss": Lying(1)},
]
VERBS: dict[str, Callable[..., Offer[Any]]] = {
    "sql": lambda offers, **stated: offers.sql("SELECT COUNT(*) AS n FROM visits", **stated),
    "ask": lambda offers, **stated: offers.ask(table("visits").count(), **stated),
    "histogram": lambda offers, **stated: offers.histogram("visits", "site", **stated),
    "workload": lambda offers, **stated: offers.workload("visits", "site", Workload.prefixes(2), **stated),
    "marginals": lambda offers, **stated: offers.marginals("visits", [["site"]], **stated),
    "synthesize": lambda offers, **stated: offers.synthesize("visits", ["site"], method="independent", **stated),
    "anonymize": lambda offers, **stated: offers.anonymize("visits", ["site"], **stated),
}


def signatures() -> dict[str, inspect.Signature]:
    return {name: verb.signature for name, verb in REGISTRY.items()}


def test_every_verb_has_the_three_words_and_a_record() -> None:
    found = signatures()
    assert {"sql", "ask", "ask_parts", "histogram", "synthesize", "anonymize"} <= set(found)
    for name, signature in found.items():
        named = WORDS & set(signature.parameters)
        assert named == (set() if name in STATED_INSIDE else WORDS), name
    for other in (Session.sql, Session.quote, Budget, Synthesizer, choose, stated_loss, dither.choose):
        assert set(inspect.signature(other).parameters) >= WORDS
    assert set(inspect.signature(Curator.add).parameters) >= WORDS - {"loss"} | {"budget"}


@pytest.mark.parametrize("verb", VERBS)
def test_both_ways_make_the_same_offer(verb: str) -> None:
    offers = Offers(clinic(ROW))
    for words, record in BOTH_WAYS:
        one, other = VERBS[verb](offers, **words), VERBS[verb](offers, loss=record)
        assert (one.mechanism, one.asked, one.stated) == (other.mechanism, other.asked, other.stated)
    for bad in BAD:
        with pytest.raises(InvalidParameter, match=r"loss|epsilon"):
            VERBS[verb](offers, **bad)


def test_a_quote_takes_both(session: Session) -> None:
    text = "SELECT COUNT(*) AS n FROM visits"
    assert session.quote(text, loss=PureDP(2)) == session.quote(text, epsilon=2)
    assert session.sql(f"EXPLAIN PRIVACY {text}", loss=PureDP(2)) == session.quote(text, epsilon=2)
    with pytest.raises(InvalidParameter, match="set alone"):
        session.quote(text, loss=PureDP(2), epsilon=2)


def test_budgets_and_choices_take_both() -> None:
    for words, record in BOTH_WAYS:
        assert Budget(**words, unit=ROW).total == Budget(loss=record, unit="row").total
        assert choose("cells", 4, **words) == choose("cells", 4, loss=record)
    for bad in BAD:
        with pytest.raises(InvalidParameter, match=r"loss|epsilon"):
            Budget(**bad, unit=ROW)


def test_a_unit_is_an_object_or_its_word() -> None:
    assert Budget(epsilon=1, unit="row").unit == ROW
    assert str(Budget(epsilon=1, unit="row_replaced")) == "epsilon = 0 of epsilon = 1 spent, for rows replaced"
    someone = person("id", Relation.ADD_REMOVE)
    assert Budget(epsilon=1, unit=someone).unit == someone
    columns = [dither.Column("sex", dither.Kind.TEXT, categories=("f", "m"))]
    for unit in (ROW, "row"):
        assert Synthesizer(columns, loss=PureDP(1), unit=unit).loss == Synthesizer(columns, epsilon=1).loss
    for bad in ("rows", "person", "", None, 1, ["row"], Relation.REPLACE):
        with pytest.raises(InvalidParameter, match="unit"):
            Budget(epsilon=1, unit=bad)  # type: ignore[arg-type]


def test_a_data_set_is_added_with_either(folder: Path) -> None:
    with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
        with pytest.raises(InvalidParameter, match="budget"):
            curator.add(folder / "clinic.yaml", budget=PureDP(1), epsilon=1)
        with pytest.raises(InvalidParameter, match="epsilon"):
            curator.add(folder / "clinic.yaml")
        curator.add(folder / "clinic.yaml", epsilon=3)
        assert curator.session("clinic").balance().budget == PureDP(3)
