"""A verb that is declared is there: a toy is declared here alone, and found at every door.

The command has a test of its own, which needs a process that has declared the verb.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Unpack

import jsonschema
import pytest

pytest.importorskip("starlette", reason="the extra 'service' is not installed")

from dither.curator.remote_release import asked_of, quoted, quoted_verbs, released_verbs
from dither.curator.session import Session
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.forms import form_of, typed_arguments
from dither.lift.offer import Offer
from dither.lift.verb import REGISTRY, About, Arg, Group, M, Measured, level_of, loss_of, verb, verbs_of
from dither.privacy import PureDP
from dither.publish.queries import QueryResult
from dither.publish.queries.builder import col
from dither.publish.queries.builder import table as rows_of
from dither.service.client import RemoteSession
from dither.service.desk import wanted_of
from dither.service.openapi import openapi
from dither.service.pace import Timing
from dither.verbs.answers import offer_of_query
from dither.verbs.every_verb import EveryVerb
from dither.verbs.offers import Offers
from tests.curator import conftest as curators
from tests.service.elsewhere import conftest as service
from tools import verb_pages
from tools.security import verb_bodies

folder, curator, importing = curators.folder, curators.curator, curators.importing
loop, elsewhere, here = service.loop, service.elsewhere, service.here

By = Annotated[str, Arg("the column by which is counted", choices=("ward", "drug"), default="ward")]
Least = Annotated[int | None, Arg("the least number that is waited for")]
WORDS = {"by": "ward", "least": 3, "epsilon": {"number": "1/2"}}


class Toying(Measured, total=False):
    """Arguments of a toy."""

    by: By


@dataclass(frozen=True)
class ToyTable:
    """A data set and one of its tables."""

    dataset: DataSet
    table: Any


def declared() -> type[Group[Any]]:
    """Declare one verb, in a group of its own: all that a verb needs."""

    class Toys(About[M]):
        kind = "toy"

        @staticmethod
        def find(dataset: DataSet, table: str | None) -> ToyTable:
            return ToyTable(dataset, dataset.table(table or dataset.tables[0].name))

        @verb
        @staticmethod
        def total(toy: ToyTable, least: Least = None, **terms: Unpack[Toying]) -> Offer[QueryResult]:
            """Count the rows of a toy.

            More is said of it here.
            """
            rows = rows_of(toy.table.name)
            rows = rows if least is None else rows.where(col("waited") >= least)
            query = rows.group(terms.get("by", "ward")).count("n").build(toy.dataset)
            return offer_of_query(toy.dataset, query, loss_of(terms), description="toy rows", level=level_of(terms))

    return Toys


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Group[Any]]]:
    made = declared()
    monkeypatch.setattr(EveryVerb, "toy", lambda door, table=None: made(door, table), raising=False)
    yield made
    del REGISTRY["toy.total"]


@pytest.mark.usefixtures("toys")
class TestToy:
    """A declared verb at every door."""

    def test_it_is_an_attribute_of_a_session_and_of_its_offers(self, here: Session) -> None:
        toy: Any = here
        offer = toy.offer.toy().total(3, epsilon="1/2", key="k")
        assert here.quote(offer).loss == PureDP("1/2")
        assert here.balance().releases == 0
        found = toy.toy("visits").total(3, epsilon="1/2", key="k")
        assert found.names == ("ward", "n")
        assert here.release(offer) == found
        assert here.balance().releases == 1
        assert "More is said of it here." in toy.toy().total.__doc__
        assert repr(toy.toy()) == "<toy of visits: total>"
        with pytest.raises(InvalidParameter, match="colour"):
            toy.toy().total(colour="red", epsilon=1)

    def test_it_is_asked_and_priced_over_http(self, here: Session) -> None:
        offers: Any = here.offer
        asked = asked_of(here, "toy.total", WORDS)
        again = offers.toy().total(3, by="ward", epsilon="1/2")
        assert asked.request.asked == again.asked
        assert asked.loss == quoted(here, "toy.total", WORDS).price.loss == PureDP("1/2")
        assert wanted_of("clinic", {"verb": "toy.total", "words": WORDS}, None).verb == "toy.total"
        for wrong, place in (({"colour": 1}, "words.colour"), ({"least": "3"}, "words.least")):
            with pytest.raises(InvalidParameter) as refused:
                asked_of(here, "toy.total", {**WORDS, **wrong})
            assert refused.value.parameter == place
        assert Timing.read("strict 2s, toy.total 3s").seconds("toy.total") == 3

    def test_it_has_a_type_in_openapi(self) -> None:
        schemas = openapi("1")["components"]["schemas"]
        assert schemas["Release"]["discriminator"]["mapping"]["toy.total"] == "#/components/schemas/ToyTotalRelease"
        words = schemas["ToyTotalWords"]
        assert words["properties"]["by"]["enum"] == ["ward", "drug"]
        assert words["properties"]["least"]["type"] == ["integer", "null"]
        whole = jsonschema.Draft202012Validator({**schemas["Release"], "components": {"schemas": schemas}})
        assert whole.is_valid({"verb": "toy.total", "words": WORDS})
        assert not whole.is_valid({"verb": "toy.total", "words": {**WORDS, "colour": 1}})
        assert not whole.is_valid({"verb": "sql", "words": WORDS})

    def test_a_session_elsewhere_has_it(self, here: Session, elsewhere: Callable[[Session], RemoteSession]) -> None:
        session: Any = elsewhere(here)
        found = session.toy().total(least=3, epsilon="1/2", key="k")
        local: Any = here
        assert local.toy().total(3, epsilon="1/2", key="k").receipt == found.receipt
        assert session.quote(session.offer.toy().total(epsilon=1)).loss == PureDP(1)
        job = session.begin(session.offer.toy().total(3, epsilon="1/2", key="k"))
        assert job.result().receipt == found.receipt

    def test_it_is_written_down(self) -> None:
        page = "\n".join(verb_pages.reference_page())
        assert "## toy.total { #toy-total }" in page
        assert "session.toy().total(" in page
        assert "- `least`: the least number that is waited for." in page
        wire = "\n".join(verb_pages.wire_lines())
        assert "### toy.total\n\nCount the rows of a toy." in wire
        assert '| `by` | "ward" or "drug" | the column by which is counted. |' in wire

    def test_it_has_a_form(self, here: Session) -> None:
        form = form_of(REGISTRY["toy.total"])
        assert form.title == "Count the rows of a toy."
        kinds = {one.name: one.kind for one in form.fields}
        assert kinds == {"table": "text", "least": "text", "by": "choice"} | dict.fromkeys(
            ("epsilon", "delta", "rho", "key", "confidence"), "text"
        )
        typed = {"table": "", "least": "3", "by": "ward", "epsilon": "1/2"}
        found = typed_arguments(REGISTRY["toy.total"], here.dataset, typed)
        assert here.offer.named("toy.total", found).asked == asked_of(here, "toy.total", WORDS).request.asked

    def test_without_a_body_it_is_missed(self) -> None:
        assert verb_bodies.unsampled() == {"toy.total"}

    def test_it_is_declared_once(self) -> None:
        with pytest.raises((InvalidParameter, RuntimeError)) as refused:
            declared()
        assert "declared once" in str(refused.value.__cause__ or refused.value)


def test_the_toy_is_gone() -> None:
    assert "toy.total" not in REGISTRY
    assert "toy.total" not in released_verbs()
    assert not hasattr(EveryVerb, "toy")


# What holds of all of them.


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_declaration_says_all_that_doors_need(name: str) -> None:
    one = REGISTRY[name]
    assert one.name == name == (f"{one.part}.{one.attribute}" if one.part else one.attribute)
    assert one.summary.endswith((".", "``"))
    assert one.summary[0].isupper()
    assert one.gives
    names = [argument.name for argument in one.arguments]
    assert len(names) == len(set(names))
    assert {"table"}.isdisjoint(names) or not one.is_about_part
    for argument in one.arguments:
        assert argument.about.text, argument.name
        assert not argument.about.text.endswith("."), argument.name
    assert {*one.how.arguments} <= {*names}
    # What may be omitted comes behind what may not, where arguments are given by place.
    placed = [argument.is_required for argument in one.arguments if argument.is_positional]
    assert placed == sorted(placed, reverse=True)


def test_shared_arguments_are_declared_once() -> None:
    for name in ("epsilon", "delta", "rho", "loss", "key", "confidence"):
        found = {one.argument(name) for one in REGISTRY.values()} - {None}
        assert len({argument.about.text for argument in found if argument is not None}) == 1, name


def test_every_verb_is_of_a_session_or_of_a_part_of_it() -> None:
    groups = {one.group for one in REGISTRY.values()}
    parts = {one for one in groups if issubclass(one, About)}
    names = {one.part for one in REGISTRY.values()} - {""}
    assert names == {"graph", "places"}
    assert len(parts) == len(names)
    assert {one.name for one in verbs_of(Offers)} == {one.name for one in REGISTRY.values() if not one.is_about_part}
    for name in names:
        assert callable(getattr(Session, name)), name
    assert set(quoted_verbs()) == set(REGISTRY)


def test_two_verbs_that_make_the_same_digest_present_the_same() -> None:
    """What decides a digest is the offer's verb and parameters: verbs that share these share what makes the bytes."""
    found: dict[tuple[Any, ...], dict[str, str]] = {}
    for name in verb_bodies.SAMPLES:
        dataset, arguments = verb_bodies.called(name)
        offer = Offers(dataset).named(name, arguments)
        asked = json.loads(json.dumps(offer.asked))
        mark = offer.verb, tuple(sorted(asked)), asked.get("what")
        made: Any = offer.present
        found.setdefault(mark, {})[name] = f"{made.__module__}.{made.__qualname__}"
    for mark, presents in found.items():
        assert len(set(presents.values())) == 1, (mark, presents)
    alike = {frozenset(presents) for presents in found.values() if len(presents) > 1}
    assert alike == {frozenset({"sql", "ask", "ask_kept", "limits"})}
