"""How a budget came to be what it is: every time that it was made larger, to what and why, as the chain tells it.

A restored ledger takes the budget that its anchor remembers. Where that is another one, the restore is told like a
raise, with its own reason: nothing that made a budget larger is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dither.curator.ledger.admission import limit_of
from dither.curator.ledger.chain import canonical
from dither.curator.ledger.transaction import Page, guarded

#: In the order of a canonical text, in which no text of a person's can be taken for it: its quotes would be escaped.
_ENTRIES: Final = (
    "SELECT seq FROM entries WHERE (dataset = ? AND (record LIKE ? OR record LIKE ?)) "
    "OR (dataset IS NULL AND record LIKE ?) ORDER BY seq"
)
_KINDS: Final = ('%"kind":"register","seq":%', '%"kind":"raise","reason":%', '%"kind":"restore","problem":%')


@guarded
def raises_of(page: Page, dataset: str) -> list[dict[str, Any]]:
    """Return when the budget of a data set was raised, from what, to what and why, from the first."""
    found: list[dict[str, Any]] = []
    before: str | None = None
    for row in page.rows.all(_ENTRIES, dataset, *_KINDS):
        record, _ = page.linked(int(row[0]))
        sets = record["datasets"] if record["kind"] == "restore" else [record]
        for one in sets:
            if one["dataset"] == dataset:
                after = canonical(one["budget"])
                found += raised(record, before, after)
                before = after
    return found


def raised(record: Mapping[str, Any], before: str | None, after: str | None) -> list[dict[str, Any]]:
    """Return what an entry says of a budget that it made another one; nothing where it did not.

    Args:
        record: the entry.
        before: the text of the budget before it; None for none.
        after: and after it.

    """
    if before is None or after is None:
        return []
    first, second = limit_of(before), limit_of(after)
    if first == second and record["kind"] != "raise":
        return []
    reason = str(record.get("reason", ""))
    return [{"time": record["time"], "from": first.to_dict(), "to": second.to_dict(), "reason": reason}]
