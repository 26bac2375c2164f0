"""What curators decide from elsewhere, and what everybody may see, without a word of HTTP.

Nothing here decides about a loss: grants, approvals, stages and publications are entries of the ledger, made by the
curator's verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dither.curator.folder import Curator
from dither.curator.ledger import Account, Ledger, Receipt
from dither.curator.ledger.rules import too_much
from dither.curator.ledger.terms import Allowance, Approval
from dither.curator.named_rows import NamedRows, refuse_other_people
from dither.curator.people import Bearer, Grant, People
from dither.data.schema import DataSet
from dither.errors import DataSetRetired, DitherError, InvalidParameter, NotFound
from dither.privacy import Loss
from dither.service.body import check_fields

#: What ends a data set for ever, and removes its rows; beside the stages that the ledger has.
RETIRED: Final = "retired"
_GRANT: Final = ("person", "quota", "most", "usual", "allowance", "approval")


class NotYours(NotFound):
    """A data set that is absent, or not the caller's to ask."""


class Deciding:
    """The part of a desk at which curators decide; what else it uses is the desk's."""

    curator: Curator
    people: People
    _named_rows: NamedRows

    # Data sets.

    def add(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Add a data set, or other rows of one, that are named and found where the service is.

        Why rows were not taken is said by ``dither add`` beside them: it follows from the rows.
        """
        declared, budget = self.named(body)
        registered = self.curator.registered(declared.name)
        try:
            roots = self._named_rows.roots
            self.curator.add(declared, budget=budget, is_draft=body.get("draft", False), within=roots)
        except DitherError:
            rule = "rows that can be imported: 'dither add' with this schema, where they are, says why they cannot"
            raise InvalidParameter("schema", declared.name, rule) from None
        standing = self.curator.standing(registered)
        said = {"dataset": self.curator.called(registered), "unit": str(declared.protected), "budget": budget.to_dict()}
        return {**said, "edition": standing.edition, "stage": standing.stage}

    def named(self, body: Mapping[str, Any]) -> tuple[DataSet, Loss]:
        """Return the data set that a body names, and its budget, from public facts and names of files alone."""
        check_fields(body, ("schema", "budget", "draft"))
        if not isinstance(body.get("draft", False), bool):
            raise InvalidParameter("draft", type(body["draft"]).__name__, "true or false")
        declared = self._named_rows.declared(body.get("schema"))
        registered = self.curator.registered(declared.name)
        budget = self._budget(registered, str(declared.protected), body.get("budget"))
        if registered in self.curator.ledger.datasets():
            refuse_other_people(self.curator.dataset(self.curator.called(registered)), declared)
        return declared, budget

    def _budget(self, registered: str, unit: str, record: Any) -> Loss:
        """Return the budget of a data set: one that is there keeps its own, and its unit."""
        if registered not in self.curator.ledger.datasets():
            return read_loss(record)
        if self.curator.standing(registered).is_retired:
            raise DataSetRetired(self.curator.called(registered))
        known = self.curator.ledger.balance(registered)
        if known.unit != unit:
            raise InvalidParameter("schema.unit", unit, f"{known.unit}, which the data set has")
        if record is not None and read_loss(record) != known.budget:
            rule = f"the budget of the data set, {known.budget}, or omitted; to raise it, state a reason"
            raise InvalidParameter("budget", read_loss(record), rule)
        return known.budget

    # Grants.

    def grants(self, name: str, after: str = "") -> dict[str, Any]:
        """Return who is granted what of a data set, a page of them."""
        registered = self._registered(name)
        found = {grant.person: grant for grant in self.people.grants() if grant.dataset == registered}
        return paged_by_name("grants", found, after, self._grant_record)

    def grant(self, bearer: Bearer, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Let a person ask of a data set, on terms."""
        self._registered(name)
        check_fields(body, _GRANT)
        person = body.get("person")
        if not isinstance(person, str):
            raise InvalidParameter("person", type(person).__name__, "the name of a declared person")
        losses = {word: read_loss(body[word]) for word in ("most", "usual") if body.get(word) is not None}
        grant = self.people.grant(
            person,
            name,
            read_loss(body.get("quota")),
            allowance=read_allowance(body.get("allowance")),
            approval=read_approval(body.get("approval")),
            by=bearer.person.name,
            **losses,
        )
        return self._grant_record(grant)

    def end_grant(self, name: str, person: str) -> dict[str, Any]:
        """Let a person ask no more of a data set."""
        self._registered(name)
        self.people.withdraw(person, name)
        return {"person": person, "dataset": name}

    # Stages and budgets.

    def stage(self, bearer: Bearer, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Open, pause, close or retire a data set."""
        registered = self._registered(name)
        check_fields(body, ("stage", "reason"))
        stage, reason = str(body.get("stage")), body.get("reason", "")
        if stage == RETIRED:
            self.curator.retire(name, reason=_said(bearer, _given_reason(reason)))
            return {"dataset": name, "stage": RETIRED}
        self.curator.set_stage(name, stage, reason=_said(bearer, reason))
        return {"dataset": name, "stage": self.curator.standing(registered).stage}

    def budget(self, bearer: Bearer, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Give a data set a larger budget, with a reason."""
        self._registered(name)
        check_fields(body, ("budget", "reason"))
        reason = _said(bearer, _given_reason(body.get("reason")))
        self.curator.raise_budget(name, read_loss(body.get("budget")), reason=reason)
        return {"dataset": name, "budget": self.curator.ledger.balance(self._registered(name)).budget.to_dict()}

    # Approvals.

    def questions(self, after: int) -> dict[str, Any]:
        """Return the releases that others were asked to agree to, a page of them, from the oldest."""
        found = [one.to_dict() for one in self.curator.questions() if one.number > after]
        return paged("questions", found)

    def answer_question(self, bearer: Bearer, question: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Agree to a release, or do not."""
        check_fields(body, ("decision", "because"))
        by, decision = bearer.person.name, body.get("decision")
        if decision == "approve":
            return self.curator.approve(question, by=by).to_dict()
        if decision == "decline":
            return self.curator.decline(question, by=by, because=_text("because", body.get("because", ""))).to_dict()
        raise InvalidParameter("decision", decision, "approve or decline")

    # Publications.

    def publish(self, bearer: Bearer, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Let everybody see an answer."""
        self._registered(name)
        check_fields(body, ("release", "title"))
        title = _text("title", body.get("title", ""))
        shown = self.curator.publish(str(body.get("release")), dataset=name, title=title, by=bearer.person.name)
        return shown.to_dict()

    def withdraw(self, bearer: Bearer, name: str, release: str, because: str) -> dict[str, Any]:
        """Show a published answer no more."""
        self._registered(name)
        self.curator.withdraw(release, dataset=name, because=because, by=bearer.person.name)
        return {"dataset": name, "release": release}

    def published(self, after: int) -> dict[str, Any]:
        """Return what everybody may see, a page of it, from the oldest."""
        found = [{**one.to_dict(), "number": one.entry} for one in self.curator.published() if one.entry > after]
        return paged("published", found)

    def published_answer(self, number: str) -> Receipt:
        """Return an answer that everybody may see."""
        return self.curator.published_answer(published_number(number))

    def _registered(self, name: str) -> str:
        """Return the name that a data set is registered with; one that is absent is told as one that is not theirs."""
        try:
            return self.curator.dataset(name).name
        except NotFound:
            raise NotYours(name) from None

    def _grant_record(self, grant: Grant) -> dict[str, Any]:
        balance = self.curator.ledger.balance(grant.dataset, grant.person)
        said = {"person": grant.person, "dataset": self.curator.called(grant.dataset)}
        return {**said, "quota": balance.budget.to_dict(), "left": balance.left.to_dict(), **terms_record(grant)}


def published_number(text: str) -> int:
    """Return the number of a published answer that a text is."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise NotFound(f"no published answer has the number {text[:20]!r}")
    return int(text)


def terms_record(grant: Grant) -> dict[str, Any]:
    """Return what a grant says beside its quota, as plain data."""
    allowance, approval = grant.allowance, grant.approval
    return {
        "most": None if grant.most is None else grant.most.to_dict(),
        "usual": None if grant.usual is None else grant.usual.to_dict(),
        "allowance": None if allowance is None else {"each": str(allowance.each), "days": allowance.days},
        "approval": None if approval is None else approval.to_dict(),
    }


#: How many lines of a list are told at once.
PAGE: Final = 100


def paged(name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first lines of a list, and after which number the next page begins, if there is one.

    Numbers are those of entries, which only grow: a page stays what it was while entries are added.
    """
    page = found[:PAGE]
    return {name: page, "after": page[-1]["number"] if len(found) > PAGE else None}


def paged_by_name(
    name: str, found: Mapping[str, Any], after: str, told: Callable[[Any], Any] = lambda one: one
) -> dict[str, Any]:
    """Return the lines of a list that come behind a name, as many as are told at once, and where the next page begins.

    They stand in the order of their names: what is added meanwhile moves none of them to another page.

    Args:
        name: of the list.
        found: what it lists, by name.
        after: the last name of the page before; "" for the first page.
        told: makes a line of what is listed.

    """
    behind = sorted(one for one in found if one > after)
    page = behind[:PAGE]
    return {name: [told(found[one]) for one in page], "after": page[-1] if len(behind) > PAGE else None}


def check_most(ledger: Ledger, grant: Grant, loss: Loss) -> None:
    """Refuse a loss that is more than a grant allows for one release; those of before keep that beside the ledger."""
    if grant.most is not None and not loss <= grant.most:
        raise too_much(ledger, Account(grant.dataset, grant.person), loss, grant.most)


def read_loss(record: Any) -> Loss:
    """Return a loss as it is written on the wire."""
    if not isinstance(record, dict):
        raise InvalidParameter("loss", type(record).__name__, 'an object such as {"kind": "pure", "epsilon": "1/10"}')
    return Loss.from_dict(record)


def read_allowance(record: Any) -> Allowance | None:
    """Return an allowance as it is written on the wire."""
    if record is None:
        return None
    if not isinstance(record, dict) or set(record) != {"each", "days"}:
        raise InvalidParameter("allowance", type(record).__name__, 'an object such as {"each": "1/10", "days": 7}')
    return Allowance.of(record["each"], record["days"])


def read_approval(record: Any) -> Approval | None:
    """Return which releases need an approval, as it is written on the wire."""
    if record is None:
        return None
    if not isinstance(record, dict) or set(record) - {"above", "approvers"}:
        raise InvalidParameter("approval", type(record).__name__, 'an object such as {"above": null, "approvers": 1}')
    above = record.get("above")
    return Approval(None if above is None else read_loss(above), record.get("approvers", 1))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidParameter(name, type(value).__name__, "a string")
    return value


def _given_reason(reason: Any) -> str:
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidParameter("reason", reason, "a string that is not empty: everybody who reads the books can see it")
    return reason


def _said(bearer: Bearer, reason: Any) -> str:
    """Return a reason with whose it is."""
    text = _text("reason", reason)
    return f"{text} ({bearer.person.name})" if text else f"({bearer.person.name})"
