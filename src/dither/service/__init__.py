"""The curator over HTTP: people with tokens ask from elsewhere, and pay from the same ledger.

Belongs here: routes, tokens in headers, queues, deadlines, problems as HTTP tells them, and the client of all that.
Does not belong here: whatever decides about a loss, a budget or a row, which is the curator's.
"""
