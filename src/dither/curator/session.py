"""A session: one analyst asks about one data set, and every answer is paid for in the ledger.

The order never changes: read the request, price it without the data, open the tables (names and types only), debit the
ledger durably, run the mechanism, store the answer durably, return it. Whatever fails before the debit costs nothing;
whatever fails after it keeps the debit and says one fixed text.
"""

from __future__ import annotations

from dither.curator.verbs.anonymous_tables import AnonymousTables
from dither.curator.verbs.count_tables import CountTables
from dither.curator.verbs.models import Models
from dither.curator.verbs.synthetic_tables import SyntheticTables


class Session(AnonymousTables, CountTables, SyntheticTables, Models):
    """Private answers about one data set, charged to the ledger of its curator.

    ``sql`` and ``ask`` release answers, ``histogram``, ``workload`` and ``marginals`` tables of counts, ``synthesize``
    and ``anonymise`` tables of rows, ``fit`` models; ``quote`` prices without opening the data. Not shared between
    threads.
    """
