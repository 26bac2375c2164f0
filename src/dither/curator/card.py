"""Release cards: what a deployment promises, in the sections of the public registry of deployments.

A card is made from public facts alone: the schema, the budget, what the ledger says was released. The sections are
those of the Differential Privacy Deployments Registry (basic, dp_variant, privacy_loss, deployment_model, accounting,
implementation); what only the curator can say is left as a question.
"""

from __future__ import annotations

from typing import Any, Final

import dither
from dither.curator.ledger import Ledger
from dither.data.schema import DataSet
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP

_ASK: Final = "to be said by the curator"
_VARIANTS: Final = {
    PureDP: "pure differential privacy",
    ApproxDP: "approximate differential privacy",
    ZCDP: "zero-concentrated differential privacy",
}


def release_card(dataset: DataSet, ledger: Ledger) -> dict[str, Any]:
    """Return the card of a data set as plain data."""
    balance = ledger.balance(dataset.name)
    verification = ledger.verify()
    answers = [entry for entry in ledger.entries(dataset.name) if entry.kind == "reserve"]
    return {
        "version": 1,
        "basic": {
            "name": dataset.name,
            "data_curator": _ASK,
            "intended_use": _ASK,
            "data_product": f"{balance.releases} private answers",
            "first_release": answers[0].time if answers else None,
            "last_release": answers[-1].time if answers else None,
        },
        "dp_variant": {
            "name": _VARIANTS[type(balance.budget)],
            "neighbours": str(dataset.unit),
            "is_relaxed": dataset.unit.is_relaxed,
            "data_domain": {
                table.name: {column.name: column.kind.value for column in table.columns} for table in dataset.tables
            },
            "unprotected": "schemas, bounds, categories, public tables, the text of requests, when they were made",
        },
        "privacy_loss": {
            "privacy_unit": dataset.unit.protects,
            "privacy_unit_description": str(dataset.unit),
            "contribution_limits": {
                "rows": dataset.rows,
                "groups": dataset.groups,
                "rows_per_group": dataset.rows_per_group,
            },
            "budget": _figures(balance.budget),
            "spent": _figures(balance.spent),
            "releases": balance.releases,
        },
        "deployment_model": {
            "model": "central: a trusted curator answers adaptive queries",
            "release_type": "dynamic",
            "access": "analysts with quotas inside one budget",
        },
        "accounting": {
            "composition": "a valid filter over adaptively chosen releases: sums of epsilon or of rho, deltas added",
            "post_processing": "outputs, ordering, HAVING and LIMIT act on released numbers only",
            "when": "debited durably before the first random bit is drawn; nothing is given back",
        },
        "implementation": {
            "software": f"dither {dither.__version__}",
            "noise": "exact samplers over integers; bits from AES-CTR keyed by the operating system",
            "engine": dataset.engine.split(":", 1)[0],
            "ledger": {
                "id": verification.ledger,
                "entries": verification.entries,
                "head": verification.head,
                "is_intact": verification.is_intact,
            },
        },
    }


def _figures(loss: Loss) -> dict[str, Any]:
    return {"text": str(loss), **loss.to_dict()}
