"""What a curator decides at a service from elsewhere, and what an auditor reads there: the client's half of it.

The verbs are those of ``Curator`` and ``People``. Who may decide is known to the service by its token, so that none of
them says who decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, Final

from dither.curator.governing import AskedFor, Published
from dither.curator.ledger import Balance, Verification
from dither.curator.ledger.terms import Allowance, Approval
from dither.curator.people import Grant
from dither.data.files import schema_text
from dither.data.yaml_tree import read, to_plain
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.privacy import Loss, stated_loss
from dither.service.governance import read_allowance, read_approval, terms_record
from dither.service.routes import path_to
from dither.service.transport import Transport


class Kept(Enum):
    """What a grant says of a term that stays as it was."""

    KEPT = "unchanged"


KEPT: Final = Kept.KEPT


@dataclass(frozen=True)
class Granted:
    """What a person is granted of a data set, and how it stands.

    Args:
        grant: the terms; its data set is named as it is called now.
        quota: what all their releases together may lose.
        left: the largest release that still fits.

    """

    grant: Grant
    quota: Loss
    left: Loss


class DecidingElsewhere:
    """The part of a connection by which curators decide and auditors read; what else it uses is the connection's."""

    _transport: Transport

    # Data sets.

    def add(
        self,
        schema: str | Path | Mapping[str, Any],
        *,
        budget: Loss | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        is_draft: bool = False,
    ) -> dict[str, Any]:
        """Add a data set, or other rows of one, and return how it stands. The rows are named, and never sent.

        Args:
            schema: a file of this machine, or what it says. Sources are paths below the roots of the service, or tables
                of the database that is named as the engine.
            budget: the loss that all releases together may have, for ever; or the three words below. A data set that is
                there keeps its own.
            epsilon: the budget's epsilon, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a budget in zero-concentrated differential privacy.
            is_draft: whether a new data set can only be priced until ``set_stage`` opens it.

        """
        said = dict(schema) if isinstance(schema, Mapping) else to_plain(read(schema_text(Path(schema))))
        is_stated = any(word is not None for word in (budget, epsilon, delta, rho))
        whole = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=budget) if is_stated else None
        body = {"schema": said, "draft": is_draft} | ({} if whole is None else {"budget": whole.to_dict()})
        return dict(self._transport.post(*path_to("add"), body=body).json())

    # Grants.

    def grants(self, dataset: str) -> tuple[Granted, ...]:
        """Return who is granted what of a data set.

        Args:
            dataset: what it is called.

        """
        return tuple(_granted(one) for one in pages(self._transport, "grants", dataset=dataset))

    def grant(
        self,
        person: str,
        dataset: str,
        quota: Loss,
        *,
        most: Loss | Kept | None = KEPT,
        usual: Loss | Kept | None = KEPT,
        allowance: Allowance | Kept | None = KEPT,
        approval: Approval | Kept | None = KEPT,
    ) -> Granted:
        """Let a person ask of a data set, within a quota of its budget; terms that are not said stay as they were.

        Args:
            person: who; declared where the service is.
            dataset: what it is called.
            quota: what all their releases together may lose, those so far included.
            most: what one release may lose at most; None for any.
            usual: what a release over HTTP loses where nothing is stated; None for nothing.
            allowance: how fast the quota may be spent; None for at once.
            approval: which releases others must agree to; None for none.

        """
        if not isinstance(quota, Loss):
            raise InvalidParameter("quota", quota, "a loss, such as dither.privacy.PureDP(1)")
        said: dict[str, Any] = {"most": most, "usual": usual, "allowance": allowance, "approval": approval}
        if KEPT in said.values():
            before = next(
                (one.grant for one in self.grants(dataset) if one.grant.person == person), Grant(person, dataset)
            )
            said = {name: getattr(before, name) if value is KEPT else value for name, value in said.items()}
        terms = terms_record(Grant(person, dataset, **said))
        body = {"person": person, "quota": quota.to_dict(), **{k: v for k, v in terms.items() if v is not None}}
        return _granted(self._transport.post(*path_to("grant", dataset=dataset), body=body).json())

    def end_grant(self, person: str, dataset: str) -> None:
        """Let a person ask no more of a data set; what was spent stays spent.

        Args:
            person: who.
            dataset: what it is called.

        """
        self._transport.delete(self._transport.address(*path_to("end_grant", dataset=dataset, person=person)))

    # Stages and budgets.

    def set_stage(self, dataset: str, stage: str, *, reason: str = "") -> None:
        """Open, pause, close or retire a data set; see ``Curator.set_stage`` and ``Curator.retire``.

        Args:
            dataset: what it is called.
            stage: "open", "paused", "closed", or "retired", which also removes its copied rows.
            reason: why, for the books.

        """
        self._transport.post(*path_to("stage", dataset=dataset), body={"stage": stage, "reason": reason})

    def raise_budget(
        self,
        dataset: str,
        budget: Loss | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        reason: str,
    ) -> Loss:
        """Give a data set a larger budget of the same kind, and return it; see ``Curator.raise_budget``.

        Args:
            dataset: what it is called.
            budget: what all releases together may lose from now on, those so far included; or in words:
            epsilon: its epsilon, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a budget in zero-concentrated differential privacy.
            reason: why, for everybody who reads the books or the card.

        """
        whole = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=budget)
        body = {"budget": whole.to_dict(), "reason": reason}
        told = self._transport.post(*path_to("budget", dataset=dataset), body=body).json()
        return Loss.from_dict(told["budget"])

    # Approvals.

    def questions(self, *, is_waiting: bool = False) -> tuple[AskedFor, ...]:
        """Return the releases that others were asked to agree to, from the oldest.

        Args:
            is_waiting: whether only those are wanted that nobody has settled.

        """
        found = (AskedFor.from_dict(one) for one in pages(self._transport, "questions"))
        return tuple(one for one in found if not is_waiting or one.state == "waiting")

    def approve(self, question: int) -> AskedFor:
        """Agree to a release, for seven days and one debit; never to one's own.

        Args:
            question: its number.

        """
        return self._answered_question(question, {"decision": "approve"})

    def decline(self, question: int, *, because: str = "") -> AskedFor:
        """Do not agree to a release.

        Args:
            question: its number.
            because: why, for the one who asks.

        """
        return self._answered_question(question, {"decision": "decline", "because": because})

    def _answered_question(self, question: int, body: dict[str, str]) -> AskedFor:
        place = path_to("answer_question", question=str(question))
        return AskedFor.from_dict(self._transport.post(*place, body=body).json())

    # Publications.

    def published(self) -> tuple[Published, ...]:
        """Return what everybody may see, from the oldest."""
        return tuple(Published.from_dict(one) for one in pages(self._transport, "published"))

    def publish(self, dataset: str, name: int | str, *, title: str = "") -> Published:
        """Let everybody see a stored answer; nothing is charged.

        Args:
            dataset: about which.
            name: the number of its entry, the key it was asked with, or the place that a receipt tells.
            title: in public words.

        """
        body = {"release": str(name), "title": title}
        return Published.from_dict(self._transport.post(*path_to("publish", dataset=dataset), body=body).json())

    def withdraw(self, dataset: str, name: int | str, *, because: str = "") -> None:
        """Show a published answer no more; it was released, and nothing is given back.

        Args:
            dataset: about which.
            name: as for ``publish``.
            because: why, for the books.

        """
        said = {"because": because} if because else {}
        place = path_to("withdraw", dataset=dataset, entry=str(name))
        self._transport.delete(self._transport.address(*place, **said))

    # The books.

    def balances(self) -> tuple[Balance, ...]:
        """Return what was spent of every data set, and what is left."""
        return tuple(read_balance(one) for one in pages(self._transport, "balances"))

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield the entries of the ledger's chain, from the oldest: number, hash, and what the hash covers."""
        yield from pages(self._transport, "entries")

    def verify(self) -> Verification:
        """Let the service walk its whole chain, and say whether anything contradicts itself.

        A ledger that lies would lie here, too: ``dither witness`` compares what it signs with what it signed before.
        """
        found = self._transport.get(*path_to("verification")).json()
        said: dict[str, Any] = {field.name: found[field.name] for field in fields(Verification)}
        return Verification(**{**said, "problems": tuple(said["problems"])})


def pages(transport: Transport, route: str, /, **names: str) -> Iterator[Any]:
    """Yield the lines of a list, which a service tells page by page.

    Args:
        transport: to the service.
        route: the name of the route that lists them.
        names: what stands in its path.

    """
    behind: dict[str, Any] = {}
    while True:
        page = transport.get(*path_to(route, **names), **behind).json()
        after = page.pop("after")
        # What is left of a page is the list.
        (lines,) = page.values()
        yield from lines
        if after is None:
            return
        behind = {"after": after}


def read_balance(record: Mapping[str, Any]) -> Balance:
    """Return a balance as it is written on the wire."""
    losses = {name: Loss.from_dict(record[name]) for name in ("budget", "spent", "reserved", "left")}
    most = None if record.get("most") is None else Loss.from_dict(record["most"])
    return Balance(**{**record, **losses, "most": most})


def _granted(record: dict[str, Any]) -> Granted:
    most, usual = (None if record[name] is None else Loss.from_dict(record[name]) for name in ("most", "usual"))
    allowance, approval = read_allowance(record["allowance"]), read_approval(record["approval"])
    grant = Grant(record["person"], record["dataset"], most, usual, allowance, approval)
    return Granted(grant, Loss.from_dict(record["quota"]), Loss.from_dict(record["left"]))
