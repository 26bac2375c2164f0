"""Release cards: what a deployment promises, in the sections of the public registry of deployments.

A card is made from public facts alone: the schema, the budget, what the ledger says was released. The sections are
those of the Differential Privacy Deployments Registry (basic, dp_variant, privacy_loss, deployment_model, accounting,
implementation), and what a released number claims; what only the curator can say is left as a question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import dither
from dither.curator.history import raises
from dither.curator.ledger import Ledger
from dither.data.schema import DataSet
from dither.mechanisms.claims import claims
from dither.mechanisms.notebook import MOST_ROWS, decimals, html
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP

if TYPE_CHECKING:
    from dither.pages.frame import Chart

_ASK: Final = "to be completed by the curator"
_VARIANTS: Final = {
    PureDP: "pure differential privacy",
    ApproxDP: "approximate differential privacy",
    ZCDP: "zero-concentrated differential privacy",
}


class Card(dict[str, Any]):
    """A release card: plain data by section, which notebooks show as a table.

    Args:
        record: the sections.
        spending: draws the losses of all releases.

    """

    def __init__(self, record: Mapping[str, Any], spending: Callable[[], Chart]) -> None:
        super().__init__(record)
        self._spending = spending

    def spending(self) -> Chart:
        """Return the losses of all releases of the data set, added up in their order, as a picture."""
        return self._spending()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as YAML takes it."""
        return dict(self)

    def __repr__(self) -> str:
        loss = self["privacy_loss"]
        spent, budget = loss["spent"]["text"], loss["budget"]["text"]
        return f"<Card of {self['basic']['name']}: {spent} of {budget} spent in {loss['releases']} releases>"

    def _repr_html_(self) -> str:
        sections = [(name, part) for name, part in self.items() if isinstance(part, Mapping)]
        rows = [(name, key, _told(value)) for name, part in sections for key, value in part.items()]
        title, head = f"Release card of {self['basic']['name']}", ("section", "field", "what is known")
        # All of it: a card has as many fields as the registry.
        parts = [rows[place : place + MOST_ROWS] for place in range(0, len(rows), MOST_ROWS)]
        return "".join(html(title if not place else "", head=head, rows=part) for place, part in enumerate(parts))


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_told(part)}" for key, part in value.items() if part is not None)
    if isinstance(value, list):
        return "; ".join(map(_told, value)) or "never"
    return "not yet" if value is None else str(value)


def release_card(dataset: DataSet, ledger: Ledger) -> dict[str, Any]:
    """Return the card of a data set as plain data."""
    balance = ledger.balance(dataset.name)
    standing = ledger.standings()[dataset.name]
    verification = ledger.verify()
    answers = [entry for entry in ledger.entries(dataset.name) if entry.kind == "reserve"]
    return {
        "version": 1,
        "basic": {
            "name": standing.name(dataset.name),
            "registered_as": dataset.name,
            "edition": standing.edition,
            "is_retired": standing.is_retired,
            "data_curator": _ASK,
            "intended_use": _ASK,
            "data_product": f"{balance.releases} private answers",
            "first_release": answers[0].time if answers else None,
            "last_release": answers[-1].time if answers else None,
        },
        "dp_variant": {
            "name": _VARIANTS[type(balance.budget)],
            "neighbours": str(dataset.protected),
            "is_relaxed": dataset.protected.is_relaxed,
            "data_domain": {
                table.name: {column.name: column.kind.value for column in table.columns} for table in dataset.tables
            },
            "unprotected": "schemas, bounds, categories, public tables, the text of requests, when they were made",
        },
        "privacy_loss": {
            "privacy_unit": dataset.protected.protects,
            "privacy_unit_description": str(dataset.protected),
            "contribution_limits": {
                "rows": dataset.rows,
                "groups": dataset.groups,
                "rows_per_group": dataset.rows_per_group,
            }
            | (
                {"dropped_share": dataset.dropped, "dropped_up_to": dataset.dropped_up_to}
                if dataset.dropped is not None
                else {}
            )
            | {
                f"rows_of_{table.name}": table.rows_per_person
                for table in dataset.tables
                if table.rows_per_person is not None
            }
            | {
                name: own
                for table in dataset.tables
                for one in table.declared
                for name, own in one.limits(table).items()
            },
            "budget": _figures(balance.budget),
            "raised": raises(ledger, dataset.name),
            "spent": _figures(balance.spent),
            "releases": balance.releases,
        },
        "deployment_model": {
            "model": "central: a trusted curator answers adaptive queries",
            "release_type": "dynamic",
            "access": "analysts with quotas inside one budget"
            if standing.is_closed
            else "any analyst, inside one budget",
        },
        "claims": claims()._asdict(),
        "accounting": {
            "composition": "a valid filter over adaptively chosen releases: sums of epsilon or of rho, deltas added",
            "post_processing": "outputs, ordering, HAVING and LIMIT act on released numbers only",
            "when": "debited durably before the first random bit is drawn; nothing that fails is given back, and a "
            "budget of a pure epsilon is charged what an answer lost that stopped early",
        },
        "implementation": {
            "software": f"dither {dither.__version__}",
            "noise": "exact samplers over integers; bits from AES-CTR keyed by the operating system",
            "engine": dataset.engine.split(":", 1)[0],
            "ledger": {
                "id": verification.ledger,
                "is_durable": ledger.is_durable,
                "entries": verification.entries,
                "head": verification.head,
                "is_intact": verification.is_intact,
            },
        },
    }


def _figures(loss: Loss) -> dict[str, Any]:
    return {"text": str(loss), **loss.to_dict(), "decimals": decimals(loss)}
