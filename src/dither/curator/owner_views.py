"""What the owner of rows may look at without noise: verbs of a session that are refused to everybody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, overload

from dither.curator.access import rows_of_session
from dither.curator.ledger import OWNER
from dither.errors import InvalidParameter
from dither.publish.queries.rows_named import rows_of

if TYPE_CHECKING:
    from dither.curator.session import Session
    from dither.publish.synthetic import SyntheticFamilies, SyntheticTable
    from dither.publish.synthetic.quality import Quality


class ForOwner:
    """The verbs of a session that read rows without a mechanism; only ``Session`` derives from it."""

    @overload
    def compare_synthetic(
        self, synthetic: SyntheticTable, *, where: str | None = None, target: str | None = None
    ) -> Quality: ...
    @overload
    def compare_synthetic(self, synthetic: SyntheticFamilies) -> tuple[Quality, Quality]: ...
    def compare_synthetic(
        self, synthetic: SyntheticTable | SyntheticFamilies, *, where: str | None = None, target: str | None = None
    ) -> Quality | tuple[Quality, Quality]:
        """Return how synthetic rows compare with the real rows. NOT PRIVATE: for the curator's eyes only.

        Nothing is charged because nothing here may be published. It reads rows without a mechanism, so it is refused
        to every analyst but the curator. Of families, both tables are compared.

        Args:
            synthetic: what ``synthesize`` or ``synthesize_families`` returned for this data set.
            where: the condition on the rows that it was made with.
            target: the column that a classifier is trained to predict.

        """
        from dither.curator.comparing import compare, compare_families
        from dither.publish.synthetic import SyntheticFamilies

        session = cast("Session", self)
        check_owner(session._account.analyst, "a comparison with real rows")
        if isinstance(synthetic, SyntheticFamilies):
            if where is not None or target is not None:
                raise InvalidParameter("where", where or target, "not allowed for families")
            with rows_of_session(session) as engine:
                return compare_families(engine, session.dataset, synthetic)
        source = rows_of(session.dataset, synthetic.table, where)
        with rows_of_session(session) as engine:
            return compare(engine, session.dataset, source, synthetic, target=target)


def check_owner(analyst: str, what: str) -> None:
    """Refuse what reads rows without a mechanism to everybody but the curator, who owns them.

    Args:
        analyst: who asks.
        what: is wanted, for the message.

    """
    if analyst != OWNER:
        rule = f"{OWNER!r}, who owns the rows: {what} reads them without noise and is never shown to an analyst"
        raise InvalidParameter("analyst", analyst, rule)
